/* SPDX-License-Identifier: MIT */
/*
 * `ptosim explore`: runs a program in many orders, and says where its outputs depend on the order
 * (check/explore/explore.h).
 *
 * Findings go to standard output, a line each, before a line that counts and what was judged; then the JSON.  A kernel
 * that crashes or does not come back ends in last_words, on another thread: under a schedule that is a finding too, for
 * in sequence it came back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check/predict/enough_rings.h>
#include <check/ranks/ranks.h>
#include <check/session/explored.h>
#include <cli/check/check.h>
#include <formats/units.h>
#include <cli/run/judgement.h>
#include <cli/main/fault_report.h>
#include <report/findings/coverage.h>
#include <report/findings/findings.h>
#include <report/file/output_file.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <cli/run/shared.h>
#include <runtime/base/text.h>
#include <cli/main/verb.h>

#define DEFAULT_SCHEDULES 200u
#define DEFAULT_ALL 10000u
#define MOST_LINES 20u

struct explore_command {
  struct pto_run_options options;
  bool is_threads, all;
  uint64_t schedules; /* 0: the default */
  const char *replay, *save, *page;
  struct pto_explored explored;
  struct pto_schedule_name replay_name;
  struct pto_explore_holds replay_holds;
  bool has_replay_name;
  int exit_code; /* for the report */
};

/* ---- options of its own ---- */

static const struct pto_option_spec extra[] = {
    {"schedules", "N", "how many orders (default 200; with --all, at most: 10000)",
     PTO_OPTION_NUMBER(struct explore_command, schedules, 1, 1000000000)},
    {"all", NULL, "every order that may matter, each once", PTO_OPTION_FLAG(struct explore_command, all)},
    {"replay", "NAME|FILE", "one schedule alone: random:7, delay:4, 7 (random), or a file of --save",
     PTO_OPTION_TEXT(struct explore_command, replay)},
    {"save", "FILE", "writes the first difference, shrunk, for --replay",
     PTO_OPTION_TEXT(struct explore_command, save)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim explore PROGRAM [OPTION...]\n\n"
       "Runs the program in many orders of its kernel calls, one thread, and compares each with sequential execution, "
       "to\n"
       "the bit.  --engine threads runs it on threads with delays planted instead.\n\n"
       "Schedules:");
  for (uint32_t kind = 0; kind < PTO_STRATEGY_COUNT; kind++)
    printf("  %-12s %s\n", pto_strategy_name(kind), pto_strategy_meaning(kind));
  puts("");
  pto_run_options_help(PTO_VERB_explore, extra);
  puts("\nExit status 0 where no order differs, 1 where one does, 2 for bad arguments, 3 where the sequential run "
       "failed, "
       "or a\nlater one for want of memory, threads or files.");
}

static int check_options(struct explore_command *c) {
  const struct pto_run_options *o = &c->options;
  if (o->engine && strcmp(o->engine, "threads") != 0)
    return pto_complain(PTO_EXIT_USAGE, "explore: --engine \"%s\": threads, or an engine of its own without --engine",
                        o->engine);
  c->is_threads = o->engine != NULL;
  if (c->is_threads + c->all + (c->replay != NULL) > 1)
    return pto_complain(PTO_EXIT_USAGE, "explore: one of --engine threads, --all and --replay at a time");
  if (pto_share_is_part(&o->share) && (c->all || c->replay))
    return pto_complain(PTO_EXIT_USAGE, "explore: --%s has no shards: %s", c->all ? "all" : "replay",
                        c->all ? "each order is found from those before" : "it is one schedule");
  return PTO_EXIT_OK;
}

/* A name, else a file. */
static int read_replay(struct explore_command *c) {
  struct pto_error reason;
  if (!c->replay) return PTO_EXIT_OK;
  c->has_replay_name = pto_schedule_name_parse(c->replay, &c->replay_name);
  if (c->has_replay_name) return PTO_EXIT_OK;
  FILE *stream = pto_text_file_open(c->replay, &reason);
  if (!stream)
    return pto_complain(PTO_EXIT_USAGE, "explore: --replay: \"%s\" is no schedule and no file that can be read: %s",
                        c->replay, reason.sentence);
  const int status = pto_explore_holds_read(stream, &c->replay_holds, &reason);
  fclose(stream);
  return status ? pto_complain(PTO_EXIT_USAGE, "explore: --replay %s: %s", c->replay, reason.sentence) : PTO_EXIT_OK;
}

/* ---- the end of a process whose kernel is stuck or gone ---- */

static void last_words(void *context, int status, const char *sentence) {
  const struct explore_command *c = context;
  char line[PTO_SENTENCE_SIZE + 256], schedule[64];
  int length;
  if (c->explored.explore.has_reference)
    length = snprintf(line, sizeof line, "ptosim: schedule %s: %s: %s; the sequential run came back\n",
                      c->is_threads ? "with delays"
                                    : pto_schedule_name_format(c->explored.explore.current, schedule, sizeof schedule),
                      pto_status_name(status), sentence);
  else
    length = snprintf(line, sizeof line, "ptosim: %s\n", sentence);
  if (length > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  _exit(c->explored.explore.has_reference ? PTO_EXIT_FINDINGS : PTO_EXIT_FAILED);
}

/* ---- the exploration ---- */

static void show_progress(uint64_t done, uint64_t count) {
  pto_progress_line_stage("exploring", (unsigned)(done + 1), (unsigned)count);
}

static int open_explored(struct explore_command *c) {
  struct pto_config config;
  struct pto_error error;
  const struct pto_session_options asked = pto_run_options_session(&c->options, &config);
  const int code = pto_explored_open(&c->explored, &asked, c->is_threads);
  c->explored.findings.command = c->is_threads ? NULL : c->options.again; /* threads are another way each time */
  if (code) return pto_complain(code, "%s", c->explored.error.sentence);
  return pto_output_probe(c->save, &error) ? pto_complain(PTO_EXIT_USAGE, "%s", error.sentence) : PTO_EXIT_OK;
}

static int explore(struct explore_command *c, uint64_t count) {
  struct pto_explore *x = &c->explored.explore;
  const uint64_t seed = c->options.seed;
  x->share = &c->options.share;
  if (c->is_threads) return pto_explore_threads(x, c->explored.threads, count, seed, &c->explored.error);
  if (c->all) return pto_explore_all(x, c->schedules ? c->schedules : DEFAULT_ALL, &c->explored.error);
  if (c->replay)
    return pto_explore_replay(x, c->has_replay_name ? &c->replay_name : NULL, &c->replay_holds, &c->explored.error);
  return pto_explore_schedules(x, count, seed, &c->explored.error);
}

/* ---- reports ---- */

/* Nothing is known without the sequential run. */
static struct pto_coverage coverage_of(const struct explore_command *c) {
  struct pto_coverage coverage = {.subject = c->options.subject};
  const struct pto_explore_counts *n = &c->explored.explore.counts;
  if (!c->explored.explore.has_reference) return coverage;
  pto_coverage_add(&coverage, PTO_COVERAGE_OUTPUTS, n->outputs);
  pto_coverage_add(&coverage, PTO_COVERAGE_RUNS, n->thread_runs);
  pto_coverage_add(&coverage, PTO_COVERAGE_ORDERS, c->is_threads ? 0 : c->all ? n->orders : n->distinct_orders);
  if (!(c->all && n->is_complete))
    pto_coverage_leave(&coverage, PTO_COVERAGE_ORDERS, PTO_COVERAGE_UNCOUNTED,
                       c->all                                            ? "explore --all --schedules N"
                       : n->calls + n->tasks < PTO_EXPLORE_ALL_MAX_STEPS ? "explore --all"
                                                                         : "explore --schedules N");
  if (c->all) /* which orders may matter is what tasks declare */
    pto_coverage_leave(&coverage, PTO_COVERAGE_CALLS, n->calls - n->later_pieces, "check --observe");
  if (c->all && pto_session_has_orchestration(&c->explored.session))
    pto_coverage_leave_because(&coverage, PTO_COVERAGE_BY_POINTER, n->external_buffers,
                               "its own reads and writes are not seen");
  if (!c->is_threads) pto_coverage_leave(&coverage, PTO_COVERAGE_PIECES, n->later_pieces, "check --observe");
  pto_coverage_add(&coverage, PTO_COVERAGE_CONTEXTS, n->contexts);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_CONTEXTS, n->contexts_left_out, PTO_COVERAGE_ONE_CONTEXT);
  if (n->outputs)
    pto_coverage_add(&coverage, PTO_COVERAGE_BORROWED, c->explored.dispatches);
  else
    pto_coverage_leave_because(&coverage, PTO_COVERAGE_BORROWED, c->explored.dispatches,
                               "the program declares no output to compare");
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, 1);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "explore --seed N");
  pto_session_cover_seeds(&c->explored.session, &coverage);
  return coverage;
}

static void print_counts(const struct explore_command *c) {
  const struct pto_coverage coverage = coverage_of(c);
  const struct pto_explore_counts *n = &c->explored.explore.counts;
  printf("%s, rules %s: %" PRIu64 " task%s, %" PRIu64 " call%s; ", c->explored.session.result.program,
         c->explored.session.result.deps, n->tasks, pto_plural(n->tasks), n->calls, pto_plural(n->calls));
  if (c->is_threads)
    printf("%" PRIu64 " run%s on threads with delays, ", n->thread_runs, pto_plural(n->thread_runs));
  else if (c->all)
    printf("%" PRIu64 " of %s%" PRIu64 " orders%s (%" PRIu64 " runs repeated one), ", n->orders,
           n->is_complete ? "" : "at least ", n->is_complete ? n->orders : n->at_least, n->is_complete ? ", all" : "",
           n->redundant_orders);
  else
    printf("%" PRIu64 " schedule%s, %" PRIu64 " distinct order%s, %" PRIu64 " decision%s, ", n->schedules,
           pto_plural(n->schedules), n->distinct_orders, pto_plural(n->distinct_orders), n->decisions,
           pto_plural(n->decisions));
  printf("%" PRIu64 " differ\n", n->differing);
  if (!n->outputs) puts("  the program declares no output, so nothing was compared but how a run ends");
  pto_coverage_print(&coverage, stdout);
}

static void put_schedules(const struct explore_command *c, struct pto_json_writer *w) {
  const struct pto_explore_counts *n = &c->explored.explore.counts;
  pto_json_put_object(w, "strategies");
  for (uint32_t kind = 0; kind < PTO_STRATEGY_COUNT; kind++)
    if (n->by_strategy[kind]) pto_json_put_u64(w, pto_strategy_name(kind), n->by_strategy[kind]);
  pto_json_object_end(w);
  pto_json_put_u64(w, "schedules", n->schedules);
  pto_json_put_u64(w, "distinct_orders", n->distinct_orders);
  pto_json_put_u64(w, "decisions", n->decisions);
  pto_json_put_u64(w, "thread_runs", n->thread_runs);
  pto_json_put_u64(w, "differing", n->differing);
  if (!pto_json_try_key(w, "all", c->all)) return;
  pto_json_object_begin(w);
  pto_json_put_u64(w, "orders", n->orders);
  pto_json_put_u64(w, "at_least", n->is_complete ? n->orders : n->at_least);
  pto_json_put_bool(w, "is_complete", n->is_complete);
  pto_json_put_u64(w, "repeated", n->redundant_orders);
  pto_json_object_end(w);
}

static void put_differences(const struct explore_command *c, struct pto_json_writer *w) {
  pto_json_put_array(w, "differences");
  for (uint32_t i = 0; i < c->explored.explore.difference_count; i++) {
    const struct pto_explore_difference *difference = &c->explored.explore.differences[i];
    char schedule[64], hold[PTO_EXPLORE_HOLD_TEXT];
    pto_json_object_begin(w);
    pto_json_put_string(w, "schedule", pto_schedule_name_format(difference->name, schedule, sizeof schedule));
    pto_json_put_u64(w, "decisions", difference->decisions);
    pto_json_put_u64(w, "runs", difference->runs);
    pto_json_put_array(w, "holds");
    for (uint32_t k = 0; k < difference->holds.count; k++)
      pto_json_string(w, pto_explore_hold_format(&difference->holds.items[k], hold, sizeof hold));
    pto_json_array_end(w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct explore_command *c = context;
  const struct pto_run_result *result = &c->explored.session.result;
  const struct pto_coverage coverage = coverage_of(c);
  pto_json_put_format(w, "pto-explore", 1);
  pto_json_put_string(w, "program", result->program);
  pto_json_put_string(w, "case", result->case_name);
  pto_json_put_string(w, "engine", c->is_threads ? "threads" : "explore");
  pto_json_put_string(w, "chip", result->chip);
  pto_json_put_string(w, "deps", result->deps_list);
  pto_json_put_u64(w, "seed", result->seed);
  pto_json_put_u64(w, "tasks", c->explored.explore.counts.tasks);
  pto_json_put_u64(w, "calls", c->explored.explore.counts.calls);
  pto_json_put_u64(w, "contexts", c->explored.explore.counts.contexts);
  pto_json_put_u64(w, "contexts_left_out", c->explored.explore.counts.contexts_left_out);
  pto_json_put_u64(w, "outputs", c->explored.explore.counts.outputs);
  pto_json_put_u64(w, "later_pieces", c->explored.explore.counts.later_pieces);
  put_schedules(c, w);
  put_differences(c, w);
  pto_findings_put_json(&c->explored.findings, w);
  pto_coverage_put_json(&coverage, w);
  pto_json_put_u64(w, "exit", (uint64_t)c->exit_code);
  pto_json_put_string(w, "error", c->explored.error.sentence[0] ? c->explored.error.sentence : NULL);
}

/* The first difference, shrunk; or, of a replay of a file that does not differ, nothing. */
static int save(const struct explore_command *c, struct pto_error *error) {
  FILE *stream;
  if (!c->save || c->explored.explore.difference_count == 0 || c->explored.explore.differences[0].holds.count == 0)
    return PTO_OK;
  int status = pto_output_open_stream(c->save, &stream, error);
  if (status) return status;
  const struct pto_explore_difference *first = &c->explored.explore.differences[0];
  char schedule[64], hold[PTO_EXPLORE_HOLD_TEXT];
  fprintf(stream, "# ptosim explore: %s, rules %s: schedule %s, shrunk\n", c->explored.session.result.program,
          c->explored.session.result.deps, pto_schedule_name_format(first->name, schedule, sizeof schedule));
  for (uint32_t k = 0; k < first->holds.count; k++)
    fprintf(stream, "%s\n", pto_explore_hold_format(&first->holds.items[k], hold, sizeof hold));
  return pto_output_close_stream(c->save, stream, PTO_OK, error);
}

static int report(struct explore_command *c, int exit_code) {
  struct pto_error reason;
  if (!c->options.quiet && !pto_run_options_take_stdout(&c->options) &&
      (exit_code <= PTO_EXIT_FINDINGS || exit_code == PTO_EXIT_INTERRUPTED)) {
    pto_findings_print(&c->explored.findings, stdout, MOST_LINES);
    print_counts(c);
  }
  fflush(stdout);
  if (exit_code == PTO_EXIT_INTERRUPTED && !c->explored.error.sentence[0])
    pto_error_set(&c->explored.error, PTO_EINTERRUPTED, "explore: interrupted, and not all has been tried");
  if (c->explored.error.sentence[0]) pto_complain(0, "%s", c->explored.error.sentence);
  /* where it failed, the first difference may be one that is not shrunk */
  if (exit_code != PTO_EXIT_FAILED && save(c, &reason))
    exit_code = pto_complain(PTO_EXIT_FAILED, "%s", reason.sentence);
  c->exit_code = exit_code;
  const struct pto_report_page_document document = {"explore", put_report, c};
  exit_code = pto_write_page(c->page, &document, exit_code);
  const struct pto_judgement judgement = {.verb = "explore",
                                          .program = c->explored.session.result.program,
                                          .case_name = c->explored.session.result.case_name,
                                          .findings = &c->explored.findings,
                                          .error = c->explored.error.sentence,
                                          .exit_code =
                                              pto_write_report(c->options.json_path, put_report, c, exit_code)};
  return pto_write_judgement(&c->options, &judgement);
}

/* A shard tells nothing but why it failed. */
static int end_part(struct explore_command *c, int exit_code) {
  if (c->explored.error.sentence[0]) pto_complain(0, "%s", c->explored.error.sentence);
  return pto_shared_end(&c->options, exit_code);
}

static int explore_program(struct explore_command *c) {
  const uint64_t count = c->schedules ? c->schedules : DEFAULT_SCHEDULES;
  pto_fault_report_take(last_words, c);
  pto_fault_report_set_describer(pto_describe_call, &c->explored.session);
  pto_progress_line_begin(c->options.programs.items[0], !c->options.quiet);
  int code = open_explored(c);
  const bool is_open = code == PTO_EXIT_OK;
  if (code == PTO_EXIT_OK) code = pto_explored_begin(&c->explored, show_progress);
  if (is_open) pto_enough_rings_say(&c->explored.session, &c->explored.error);
  if (code == PTO_EXIT_OK) code = pto_shared_begin(&c->options, count, pto_explore_digest(&c->explored.explore));
  if (code == PTO_EXIT_OK) code = pto_explored_exit(&c->explored, explore(c, count));
  if (is_open) pto_session_name_nodes(&c->explored.session, &c->explored.findings);
  pto_progress_line_end();
  pto_fault_report_give_back(); /* a fault is none of a schedule from here on */
  if (is_open) code = pto_share_is_part(&c->options.share) ? end_part(c, code) : report(c, code);
  pto_explored_close(&c->explored);
  pto_explore_holds_fini(&c->replay_holds);
  return code;
}

/* What is of one chip alone, and given; NULL: nothing is. */
static const char *find_of_one_chip(const struct explore_command *c) {
  if (c->options.engine) return "--engine";
  if (c->all) return "--all";
  if (c->replay) return "--replay";
  return c->save ? "--save" : NULL;
}

/* On several ranks delays are tried, not orders of calls, which follow from when messages come. */
static int explore_any(struct explore_command *c) {
  struct pto_config config;
  struct pto_error error;
  const struct pto_run_options *o = &c->options;
  if (pto_run_files_probe(o, &error)) return pto_complain(PTO_EXIT_USAGE, "%s", error.sentence);
  c->page = o->exports[PTO_EXPORT_page];
  c->options.exports[PTO_EXPORT_page] = NULL; /* it shows no run: no timeline is recorded for it */
  const struct pto_session_options asked = pto_run_options_session(o, &config);
  const uint32_t rank_count = o->ranks ? o->ranks : pto_ranks_wanted(&asked);
  if (!rank_count && o->no_compute)
    return pto_complain(PTO_EXIT_USAGE,
                        "explore: --no-compute is for several ranks, of which it compares how runs end: "
                        "orders of one chip are compared by outputs, and there are none");
  if (!rank_count) return explore_program(c);
  const char *of_one_chip = find_of_one_chip(c);
  if (of_one_chip) return pto_complain(PTO_EXIT_USAGE, "explore: with several ranks there is no %s", of_one_chip);
  return pto_explore_ranks(&c->options, &asked, rank_count, c->schedules ? c->schedules : DEFAULT_SCHEDULES, c->page);
}

int pto_cmd_explore(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_explore, extra, help, false};
  static struct explore_command c; /* last_words reads it while other threads run */
  int code;
  memset(&c, 0, sizeof c);
  if (pto_run_options_begin(&form, argc, argv, &c, &c.options, &code)) {
    if (c.options.programs.count != 1)
      code = pto_complain(PTO_EXIT_USAGE, "explore: one program, please; `ptosim list programs` names them");
    else if ((code = check_options(&c)) == PTO_EXIT_OK && (code = read_replay(&c)) == PTO_EXIT_OK)
      code = explore_any(&c);
  }
  pto_run_options_fini(&c.options);
  return code;
}
