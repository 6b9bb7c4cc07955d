/* SPDX-License-Identifier: MIT */
/*
 * `ptosim explore`: runs a program in many orders, and says where its outputs depend on the order (check/explore.h).
 *
 * Findings go to standard output, a line each, before a line that counts; then the JSON.  A kernel that crashes or does
 * not come back ends in last_words, on another thread: under a schedule that is a finding too, for in sequence it came
 * back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check/explore.h>
#include <cli/fault_report.h>
#include <cli/findings_report.h>
#include <cli/output_file.h>
#include <cli/progress_line.h>
#include <cli/run_session.h>
#include <cli/verb.h>

#define DEFAULT_SCHEDULES 200u
#define DEFAULT_ALL 10000u
#define DEFAULT_WORKERS 3u /* more than most machines for a build have to spare, so that threads are interrupted */
#define MOST_LINES 20u

struct explore_command {
  struct pto_run_options options;
  bool is_threads, all;
  uint64_t schedules; /* 0: the default */
  const char *replay, *save;
  struct pto_run_session session;
  struct pto_runtime *threads;
  struct pto_explore explore;
  struct pto_findings findings;
  struct pto_schedule_name replay_name;
  struct pto_explore_holds replay_holds;
  bool has_replay_name;
  struct pto_error error; /* what the exploration failed with; sentence "" where it did not */
};

/* ---- options of its own ---- */

#define COMMAND ((struct explore_command *)target)

static int set_schedules(void *target, const char *value, struct pto_error *error) {
  return pto_parse_u64(value, 1, 1000000000, &COMMAND->schedules, error);
}
static int set_all(void *target, const char *value, struct pto_error *error) {
  COMMAND->all = true;
  return PTO_OK;
}
static int set_replay(void *target, const char *value, struct pto_error *error) {
  COMMAND->replay = value;
  return PTO_OK;
}
static int set_save(void *target, const char *value, struct pto_error *error) {
  COMMAND->save = value;
  return PTO_OK;
}
static const struct pto_option_spec extra[] = {
    {"schedules", "N", "how many orders (default 200; with --all, at most: 10000)", set_schedules, false},
    {"all", NULL, "every order that may matter, each once", set_all, false},
    {"replay", "NAME|FILE", "one schedule alone: random:7, delay:4, 7 (random), or a file of --save", set_replay,
     false},
    {"save", "FILE", "writes the first difference, shrunk, for --replay", set_save, false},
    {0}};

/* Of one run. */
static const char *const refused[] = {"trace", "dot",    "deps-json", "dump", "waits-dot",
                                      "stats", "output", "rounds",    NULL};

static int help(void) {
  puts("ptosim explore PROGRAM [OPTION...]\n\n"
       "Runs the program in many orders of its kernel calls, one thread, and compares each with sequential execution, "
       "to\n"
       "the bit.  --engine threads runs it on threads with delays planted instead.\n\n"
       "Schedules:");
  for (uint32_t kind = 0; kind < PTO_STRATEGY_COUNT; kind++)
    printf("  %-12s %s\n", pto_strategy_name(kind), pto_strategy_meaning(kind));
  puts("");
  pto_run_options_help(extra, true, refused);
  puts("\nLeaves with 0 where no order differs, 1 where one does, 2 for bad arguments, 3 where the sequential run "
       "failed.");
  return PTO_EXIT_OK;
}

static int check_options(struct explore_command *c) {
  const struct pto_run_options *o = &c->options;
  const char *given = pto_run_options_given_of(o, refused);
  if (given) return pto_complain(PTO_EXIT_USAGE, "explore: --%s is for one run: `ptosim run`", given);
  if (o->engine && strcmp(o->engine, "threads") != 0)
    return pto_complain(PTO_EXIT_USAGE, "explore: --engine \"%s\": threads, or an engine of its own without --engine",
                        o->engine);
  c->is_threads = o->engine != NULL;
  if (c->is_threads + c->all + (c->replay != NULL) > 1)
    return pto_complain(PTO_EXIT_USAGE, "explore: one of --engine threads, --all and --replay at a time");
  return PTO_EXIT_OK;
}

/* A name, else a file. */
static int read_replay(struct explore_command *c) {
  struct pto_error reason;
  if (!c->replay) return PTO_EXIT_OK;
  c->has_replay_name = pto_schedule_name_parse(c->replay, &c->replay_name);
  if (c->has_replay_name) return PTO_EXIT_OK;
  FILE *stream = fopen(c->replay, "r");
  if (!stream)
    return pto_complain(PTO_EXIT_USAGE, "explore: --replay: \"%s\" is no schedule and no file that can be read",
                        c->replay);
  const int status = pto_explore_holds_read(stream, &c->replay_holds, &reason);
  fclose(stream);
  return status ? pto_complain(PTO_EXIT_USAGE, "explore: --replay %s: %s", c->replay, reason.sentence) : PTO_EXIT_OK;
}

/* ---- the end of a process whose kernel is stuck or gone ---- */

static void last_words(void *context, int status, const char *sentence) {
  const struct explore_command *c = context;
  char line[PTO_SENTENCE_SIZE + 256], schedule[64];
  int length;
  if (c->explore.has_reference)
    length = snprintf(line, sizeof line, "ptosim: schedule %s: %s: %s; the sequential run came back\n",
                      c->is_threads ? "with delays"
                                    : pto_schedule_name_format(c->explore.current, schedule, sizeof schedule),
                      pto_status_name(status), sentence);
  else
    length = snprintf(line, sizeof line, "ptosim: %s\n", sentence);
  if (length > 0) (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
  _exit(c->explore.has_reference ? PTO_EXIT_FINDINGS : PTO_EXIT_FAILED);
}

/* ---- the exploration ---- */

static void show_progress(void *context, uint64_t done, uint64_t count) {
  (void)context;
  pto_progress_line_stage("exploring", (unsigned)(done + 1), (unsigned)count);
}

static int open_threads(struct explore_command *c) {
  struct pto_config config = c->session.config;
  if (!c->is_threads) return PTO_EXIT_OK;
  config.engine = "delayed threads";
  config.record = 0;
  if (!config.workers) config.workers = DEFAULT_WORKERS;
  const int status = pto_runtime_create_explained(&config, &c->threads, c->error.sentence, sizeof c->error.sentence);
  return status ? pto_complain(PTO_EXIT_FAILED, "%s", c->error.sentence) : PTO_EXIT_OK;
}

/* Program and runtimes. */
static int open_session(struct explore_command *c) {
  struct pto_run_session *session = &c->session;
  c->options.engine = "explore";
  c->options.poison = true; /* or what one run leaves in memory is right for the next */
  int code = pto_run_session_open(session, &c->options, c->options.programs.items[0], PTO_RECORD_GRAPH);
  if (code) return pto_complain(code, "%s", session->result.error.sentence);
  if (pto_output_probe(c->save, &c->error)) return pto_complain(PTO_EXIT_USAGE, "%s", c->error.sentence);
  if (!session->rt)
    return pto_complain(PTO_EXIT_USAGE, "explore: %s drives contexts of its own, whose orders are not explored",
                        session->loaded->name);
  return open_threads(c);
}

/* The sequential run, held against the golden. */
static int make_reference(struct explore_command *c) {
  static const struct pto_finding wrong = {.kind = PTO_FINDING_WRONG,
                                           .tasks = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                           .params = {PTO_FINDING_NONE, PTO_FINDING_NONE}};
  struct pto_run_session *session = &c->session;
  c->explore =
      (struct pto_explore){.run = session->run, .rt = session->rt, .findings = &c->findings, .progress = show_progress};
  pto_progress_line_stage("running in sequence", 0, 0);
  if (pto_explore_init(&c->explore, &c->error)) return PTO_EXIT_FAILED;
  session->result.stats.size = sizeof session->result.stats;
  pto_runtime_stats(session->rt, &session->result.stats);
  session->result.has_run = true; /* a case may state counts */
  const int code = pto_run_session_verify(session);
  if (code != PTO_EXIT_OK && code != PTO_EXIT_FINDINGS) {
    c->error = session->result.error;
    return PTO_EXIT_FAILED;
  }
  if (code == PTO_EXIT_FINDINGS)
    pto_findings_add(&c->findings, &wrong, NULL, "the sequential run already: %s", session->result.error.sentence);
  return PTO_EXIT_OK;
}

static int explore(struct explore_command *c) {
  struct pto_explore *x = &c->explore;
  const uint64_t seed = c->options.seed, count = c->schedules ? c->schedules : DEFAULT_SCHEDULES;
  if (c->is_threads) return pto_explore_threads(x, c->threads, count, seed, &c->error);
  if (c->all) return pto_explore_all(x, c->schedules ? c->schedules : DEFAULT_ALL, &c->error);
  if (c->replay) return pto_explore_replay(x, c->has_replay_name ? &c->replay_name : NULL, &c->replay_holds, &c->error);
  return pto_explore_schedules(x, count, seed, &c->error);
}

/* ---- reports ---- */

static void print_counts(const struct explore_command *c) {
  const struct pto_explore_counts *n = &c->explore.counts;
  printf("%s, rules %s: %" PRIu64 " tasks, %" PRIu64 " calls; ", c->session.result.program, c->session.result.deps,
         n->tasks, n->calls);
  if (c->is_threads)
    printf("%" PRIu64 " runs on threads with delays, ", n->thread_runs);
  else if (c->all)
    printf("%" PRIu64 " of %s%" PRIu64 " orders%s (%" PRIu64 " runs repeated one), ", n->orders,
           n->is_complete ? "" : "at least ", n->is_complete ? n->orders : n->at_least, n->is_complete ? ", all" : "",
           n->redundant_orders);
  else
    printf("%" PRIu64 " schedule%s, %" PRIu64 " distinct orders, %" PRIu64 " decisions, ", n->schedules,
           n->schedules == 1 ? "" : "s", n->distinct_orders, n->decisions);
  printf("%" PRIu64 " differ\n", n->differing);
}

static void put_schedules(const struct explore_command *c, struct pto_json_writer *w) {
  const struct pto_explore_counts *n = &c->explore.counts;
  pto_json_key(w, "strategies");
  pto_json_object_begin(w);
  for (uint32_t kind = 0; kind < PTO_STRATEGY_COUNT; kind++)
    if (n->by_strategy[kind]) pto_json_put_u64(w, pto_strategy_name(kind), n->by_strategy[kind]);
  pto_json_object_end(w);
  pto_json_put_u64(w, "schedules", n->schedules);
  pto_json_put_u64(w, "distinct_orders", n->distinct_orders);
  pto_json_put_u64(w, "decisions", n->decisions);
  pto_json_put_u64(w, "thread_runs", n->thread_runs);
  pto_json_put_u64(w, "differing", n->differing);
  pto_json_key(w, "all");
  if (!c->all) {
    pto_json_null(w);
    return;
  }
  pto_json_object_begin(w);
  pto_json_put_u64(w, "orders", n->orders);
  pto_json_put_u64(w, "at_least", n->is_complete ? n->orders : n->at_least);
  pto_json_put_bool(w, "is_complete", n->is_complete);
  pto_json_put_u64(w, "repeated", n->redundant_orders);
  pto_json_object_end(w);
}

static void put_hold(const struct pto_explore_hold *hold, struct pto_json_writer *w) {
  char text[192] = "";
  FILE *stream = fmemopen(text, sizeof text, "w");
  const struct pto_explore_holds one = {(struct pto_explore_hold *)(uintptr_t)hold, 1, 1};
  if (stream) {
    pto_explore_holds_write(&one, stream);
    fclose(stream);
  }
  text[strcspn(text, "\n")] = '\0';
  pto_json_string(w, text);
}

static void put_differences(const struct explore_command *c, struct pto_json_writer *w) {
  pto_json_key(w, "differences");
  pto_json_array_begin(w);
  for (uint32_t i = 0; i < c->explore.difference_count; i++) {
    const struct pto_explore_difference *difference = &c->explore.differences[i];
    char schedule[64];
    pto_json_object_begin(w);
    pto_json_put_string(w, "schedule", pto_schedule_name_format(difference->name, schedule, sizeof schedule));
    pto_json_put_u64(w, "decisions", difference->decisions);
    pto_json_put_u64(w, "runs", difference->runs);
    pto_json_key(w, "holds");
    pto_json_array_begin(w);
    for (uint32_t k = 0; k < difference->holds.count; k++) put_hold(&difference->holds.items[k], w);
    pto_json_array_end(w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static int write_json(const struct explore_command *c, int exit_code, struct pto_error *error) {
  static struct pto_json_writer w;
  const struct pto_run_result *result = &c->session.result;
  int fd, status = pto_output_open(c->options.json_path, &fd, error);
  if (status) return status;
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  pto_json_put_string(&w, "program", result->program);
  pto_json_put_string(&w, "case", result->case_name);
  pto_json_put_string(&w, "engine", c->is_threads ? "threads" : "explore");
  pto_json_put_string(&w, "chip", result->chip);
  pto_json_put_string(&w, "deps", result->deps);
  pto_json_put_u64(&w, "seed", result->seed);
  pto_json_put_u64(&w, "tasks", c->explore.counts.tasks);
  pto_json_put_u64(&w, "calls", c->explore.counts.calls);
  put_schedules(c, &w);
  put_differences(c, &w);
  pto_findings_put_json(&c->findings, &w);
  pto_json_put_u64(&w, "exit", (uint64_t)exit_code);
  pto_json_put_string(&w, "error", c->error.sentence[0] ? c->error.sentence : NULL);
  pto_json_object_end(&w);
  return pto_output_close(c->options.json_path, fd, pto_json_finish(&w), error);
}

/* The first difference, shrunk; or, of a replay of a file that does not differ, nothing. */
static int save(const struct explore_command *c, struct pto_error *error) {
  FILE *stream;
  if (!c->save || c->explore.difference_count == 0 || c->explore.differences[0].holds.count == 0) return PTO_OK;
  int status = pto_output_open_stream(c->save, &stream, error);
  if (status) return status;
  const struct pto_explore_difference *first = &c->explore.differences[0];
  char schedule[64];
  fprintf(stream, "# ptosim explore: %s, rules %s: schedule %s, shrunk\n", c->session.result.program,
          c->session.result.deps, pto_schedule_name_format(first->name, schedule, sizeof schedule));
  pto_explore_holds_write(&first->holds, stream);
  return pto_output_close_stream(c->save, stream, error);
}

static int report(struct explore_command *c, int exit_code) {
  struct pto_error reason;
  const bool has_text = !c->options.quiet && !(c->options.json_path && strcmp(c->options.json_path, "-") == 0) &&
                        exit_code <= PTO_EXIT_FINDINGS;
  if (has_text) {
    pto_findings_print(&c->findings, stdout, MOST_LINES);
    print_counts(c);
  }
  fflush(stdout);
  if (c->error.sentence[0]) pto_complain(0, "%s", c->error.sentence);
  if (save(c, &reason)) exit_code = pto_complain(PTO_EXIT_FAILED, "%s", reason.sentence);
  if (c->options.json_path && write_json(c, exit_code, &reason))
    exit_code = pto_complain(PTO_EXIT_FAILED, "%s", reason.sentence);
  return exit_code;
}

static int exit_of(struct explore_command *c, int status) {
  if (status == PTO_EINVAL) return PTO_EXIT_USAGE;
  if (status) return PTO_EXIT_FAILED;
  return pto_findings_is_clean(&c->findings) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS;
}

static int explore_program(struct explore_command *c) {
  struct pto_error error;
  if (pto_fault_report_init(last_words, c, &error)) return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  pto_findings_init(&c->findings);
  pto_progress_line_begin(c->options.programs.items[0], !c->options.quiet);
  int code = open_session(c);
  const bool is_open = code == PTO_EXIT_OK;
  if (code == PTO_EXIT_OK) code = make_reference(c);
  if (code == PTO_EXIT_OK) code = exit_of(c, explore(c));
  pto_progress_line_end();
  if (is_open) code = report(c, code);
  pto_explore_fini(&c->explore);
  pto_runtime_destroy(c->threads);
  pto_findings_fini(&c->findings);
  pto_explore_holds_fini(&c->replay_holds);
  pto_run_session_close(&c->session);
  pto_fault_report_fini();
  return code;
}

int pto_cmd_explore(int argc, char **argv) {
  static struct explore_command c; /* last_words reads it while other threads run */
  struct pto_error error;
  int code;
  memset(&c, 0, sizeof c);
  if (pto_run_options_parse(argc, argv, extra, &c, &c.options, &error))
    code = pto_complain(PTO_EXIT_USAGE, "explore: %s", error.sentence);
  else if (c.options.help)
    code = help();
  else if (c.options.programs.count != 1)
    code = pto_complain(PTO_EXIT_USAGE, "explore: one program, please; `ptosim list programs` names them");
  else if ((code = check_options(&c)) == PTO_EXIT_OK && (code = read_replay(&c)) == PTO_EXIT_OK)
    code = explore_program(&c);
  pto_run_options_fini(&c.options);
  return code;
}
