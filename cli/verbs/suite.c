/* SPDX-License-Identifier: MIT */
/*
 * `ptosim suite`: many programs, a row each case and engine, a process each row, one table.
 *
 * A row is as expected if its run left with 0; or, of a program that is there to fail, with 3 and the status that it
 * announces; or if it was skipped because the chip is too small.  Exit status 0 if all rows are, else 1.
 */
#include <cli/main/verb.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/regress/one_result.h>
#include <formats/json_text.h>
#include <formats/units.h>
#include <cli/main/child_process.h>
#include <cli/main/interrupt.h>
#include <report/file/colour.h>
#include <report/file/junit.h>
#include <report/file/output_file.h>
#include <report/findings/coverage.h>
#include <cli/main/progress_line.h>
#include <cli/run/options.h>
#include <cli/run/shared.h>
#include <report/run/result.h>
#include <check/session/subject.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/grow.h>
#include <runtime/deps/rules.h>
#include <sim/chips/chip.h>
#include <sim/engine/engine.h>

#define DEFAULT_ROW_TIMEOUT_S 300u
#define MOST_WORDS 40

struct suite {
  struct pto_run_options options;
  bool with_long;
  uint32_t row_timeout_s;
  struct pto_chip chip;
  const char *chip_name;
  struct row *rows;
  size_t row_count, row_capacity;
  int program_width, case_width;
  json_t *results;                                              /* one object a row */
  uint32_t ok, without_golden, expected_failures, skipped, bad; /* without_golden: of ok */
};

/* One run to do.  Strings are the suite's. */
struct row {
  char *program, *case_name; /* case_name NULL: none */
  const char *engine;
  int expected_status;
  uint32_t min_clusters;
  double seconds;
  enum pto_junit_outcome outcome;
  char *why; /* of what is not right; NULL: nothing is known */
};

/* ---- options of its own ---- */

static const struct pto_option_spec extra[] = {
    {"long", NULL, "the long cases too", PTO_OPTION_FLAG(struct suite, with_long)},
    {"row-timeout", "SECONDS", "that a row may take in all (default 300; 0: for ever)",
     PTO_OPTION_NUMBER(struct suite, row_timeout_s, 0, 1000000)},
    {0}};

static const char *const engines[] = {
#define X(id, name, is_virtual, meaning) name,
    PTO_ENGINE_LIST(X)
#undef X
};

/* Whether a row of `engine` is asked for. */
static bool takes_engine(const struct pto_run_options *o, const char *engine) {
  return !o->engine || strcmp(o->engine, "both") == 0 || strcmp(o->engine, engine) == 0;
}

static int check_options(const struct pto_run_options *o) {
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++)
    if (takes_engine(o, engines[e])) return PTO_EXIT_OK;
  return pto_complain(PTO_EXIT_USAGE, "suite: --engine \"%s\" is none of both" PTO_ENGINE_NAMES, o->engine);
}

/* ---- the rows ---- */

static int add_row(struct suite *suite, const char *program, const char *case_name, const char *engine,
                   const struct pto_program *about) {
  struct row *row = pto_grow(&suite->rows, &suite->row_count, &suite->row_capacity, sizeof *row);
  if (!row) return PTO_ENOMEM;
  *row = (struct row){.program = strdup(program),
                      .case_name = case_name ? strdup(case_name) : NULL,
                      .engine = engine,
                      .expected_status = about->expected_status,
                      .min_clusters = about->min_clusters};
  if (!row->program || (case_name && !row->case_name)) return PTO_ENOMEM;
  if ((int)strlen(program) > suite->program_width) suite->program_width = (int)strlen(program);
  if (case_name && (int)strlen(case_name) > suite->case_width) suite->case_width = (int)strlen(case_name);
  return PTO_OK;
}

/* The program's default, or its cases, on each engine that was asked for. */
static int add_program(struct suite *suite, const char *name, const char *path) {
  const struct pto_session_options asked = {.size = sizeof asked, .program = path};
  struct pto_subject subject;
  struct pto_error error;
  int status = pto_subject_init(&subject, &asked, &error);
  if (status) return pto_complain(PTO_EINVAL, "suite: %s", error.sentence);
  const struct pto_case *cases = subject.program->cases;
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines) && status == PTO_OK; e++) {
    if (!takes_engine(&suite->options, engines[e])) continue;
    /* Several ranks have no other time. */
    if ((suite->options.ranks || subject.program->ranks) && !pto_engine_is_virtual(engines[e])) continue;
    if (!cases || !cases->name) status = add_row(suite, name, NULL, engines[e], subject.program);
    for (const struct pto_case *c = cases; c && c->name && status == PTO_OK; c++)
      if (!c->is_long || suite->with_long) status = add_row(suite, name, c->name, engines[e], subject.program);
  }
  pto_subject_fini(&subject);
  return status;
}

static int visit_program(void *context, const char *name, const char *path) { return add_program(context, name, path); }

static int collect_rows(struct suite *suite) {
  const struct pto_string_list *programs = &suite->options.programs;
  if (programs->count == 0) return pto_program_list(visit_program, suite);
  int status = PTO_OK;
  for (uint32_t i = 0; i < programs->count && status == PTO_OK; i++)
    status = add_program(suite, programs->items[i], programs->items[i]);
  return status;
}

/* What rows are. */
static uint64_t digest_of(const struct suite *suite) {
  uint64_t digest = 0;
  for (size_t i = 0; i < suite->row_count; i++) {
    const struct row *row = &suite->rows[i];
    const char *const words[] = {row->program, row->case_name ? row->case_name : "", row->engine};
    const uint32_t needs[] = {(uint32_t)row->expected_status, row->min_clusters};
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(words); k++) digest = pto_xxh64(words[k], strlen(words[k]) + 1, digest);
    digest = pto_xxh64(needs, sizeof needs, digest);
  }
  return digest;
}

/* ---- one row ---- */

struct words {
  char *items[MOST_WORDS + 1];
  size_t count;
  struct pto_deps_name deps;
  char numbers[8][32];
  size_t number_count;
};

static void add_word(struct words *words, const char *word) {
  PTO_ASSERT(words->count < MOST_WORDS);
  words->items[words->count++] = (char *)(uintptr_t)word;
}
static void add_option(struct words *words, const char *name, const char *value) {
  if (!value) return;
  add_word(words, name);
  add_word(words, value);
}
static void add_number(struct words *words, const char *name, uint64_t value) {
  char *text = words->numbers[words->number_count++];
  snprintf(text, sizeof words->numbers[0], "%" PRIu64, value);
  add_option(words, name, text);
}

static void make_words(const struct suite *suite, const struct row *row, struct words *words) {
  const struct pto_run_options *o = &suite->options;
  char *timeout = words->numbers[0];
  words->count = 0;
  words->number_count = 1;
  snprintf(timeout, sizeof words->numbers[0], "%u.%03u", o->timeout_ms / 1000, o->timeout_ms % 1000);
  add_word(words, "ptosim");
  add_word(words, "run");
  add_word(words, row->program);
  add_option(words, "--case", row->case_name);
  add_option(words, "--engine", row->engine);
  add_option(words, "--chip", row->expected_status ? "tiny" : suite->chip_name);
  add_option(words, "--policy", o->policy);
  add_option(words, "--json", PTO_CHILD_JSON_PATH);
  add_word(words, "--quiet");
  words->deps = pto_deps_rules_name(o->deps);
  if (o->has_deps) add_option(words, "--deps", words->deps.text);
  if (o->has_timeout) add_option(words, "--timeout", timeout);
  if (o->ranks) add_number(words, "--ranks", o->ranks);
  if (o->workers) add_number(words, "--workers", o->workers);
  if (o->window) add_number(words, "--window", o->window);
  if (o->heap_bytes) add_number(words, "--heap", o->heap_bytes);
  add_number(words, "--rounds", o->rounds);
  add_number(words, "--seed", o->seed);
  if (o->poison) add_word(words, "--poison");
  words->items[words->count] = NULL;
}

static void count_text(json_t *object, const char *key, char *text, size_t size) {
  json_t *value = json_object_get(object, key);
  snprintf(text, size, json_is_integer(value) ? "%" JSON_INTEGER_FORMAT : "-", json_integer_value(value));
}

/* The columns between the engine and the verdict. */
static void print_figures(json_t *object) {
  char tasks[24], edges[24], wall[32] = "-", chip[32] = "-", error[32] = "-";
  json_t *value = json_object_get(object, "wall_seconds");
  if (json_is_number(value)) pto_format_seconds(json_number_value(value), wall, sizeof wall);
  value = json_object_get(object, "virtual_us");
  if (json_is_number(value)) snprintf(chip, sizeof chip, "%.1f us", json_number_value(value));
  value = json_object_get(object, "max_abs_error");
  if (json_is_number(value)) snprintf(error, sizeof error, "%.2g", json_number_value(value));
  count_text(object, "tasks", tasks, sizeof tasks);
  count_text(object, "edges", edges, sizeof edges);
  printf(" %7s %7s %10s %13s %9s  ", tasks, edges, wall, chip, error);
}

/* Says what became of the row; the JSON object is NULL where the child wrote none. */
static void judge(struct suite *suite, struct row *row, const struct pto_child_result *child, json_t *object) {
  const char *status = json_string_value(json_object_get(object, "status"));
  const char *sentence = json_string_value(json_object_get(object, "error"));
  bool is_expected = row->expected_status && child->exit_code == PTO_EXIT_FAILED && status &&
                     strcmp(status, pto_status_name(row->expected_status)) == 0;
  if (is_expected) {
    suite->expected_failures++;
    printf("failed as expected (%s)\n", status);
    return;
  }
  if (child->exit_code == PTO_EXIT_OK && object && !row->expected_status) {
    const bool has_golden = !json_is_null(json_object_get(object, "verified"));
    suite->ok++;
    suite->without_golden += !has_golden;
    pto_colour_put(stdout, PTO_COLOUR_GOOD, "ok");
    puts(has_golden ? "" : " (no golden)");
    return;
  }
  suite->bad++;
  row->outcome = child->exit_code == PTO_EXIT_FINDINGS ? PTO_JUNIT_FAILURE : PTO_JUNIT_ERROR;
  row->why = strdup(child->is_timed_out ? "timed out" : sentence ? sentence : child->text);
  pto_colour_put(stdout, PTO_COLOUR_BAD,
                 child->is_timed_out                     ? "TIMED OUT"
                 : child->signal                         ? "CRASHED: "
                 : child->exit_code == PTO_EXIT_FINDINGS ? "WRONG"
                                                         : "FAILED");
  puts(child->signal && !child->is_timed_out ? strsignal(child->signal) : "");
  if (sentence) printf("    %s\n", sentence);
  if (child->text[0]) printf("    %.2000s%s", child->text, child->text[strlen(child->text) - 1] == '\n' ? "" : "\n");
}

static void print_row_head(const struct suite *suite, const struct row *row) {
  printf("%-*s  %-*s  %-7s", suite->program_width, row->program, suite->case_width,
         row->case_name ? row->case_name : "", row->engine);
}

/* Here, or by a shard. */
static int make_run(struct suite *suite, struct row *row, struct pto_child_result *child, struct pto_error *error) {
  struct words words;
  json_t *result = pto_share_result(&suite->options.share, (uint64_t)(row - suite->rows), &row->seconds);
  if (result) return pto_child_result_unpack(json_array_get(json_object_get(result, "runs"), 0), child, error);
  make_words(suite, row, &words);
  pto_progress_line_begin("suite", !suite->options.quiet);
  pto_progress_line_stage(row->program, (unsigned)(row - suite->rows) + 1, (unsigned)suite->row_count);
  const double begin = pto_clock_seconds();
  const int status = pto_child_run(words.items, 1000 * suite->row_timeout_s, child, error);
  row->seconds = pto_clock_seconds() - begin;
  pto_progress_line_end();
  return status;
}

static void put_row(struct suite *suite, const struct row *row, const struct pto_child_result *child) {
  json_t *runs = json_array();
  const bool is_whole = !child || json_array_append_new(runs, pto_child_result_pack(child)) == 0;
  pto_share_put(&suite->options.share, (uint64_t)(row - suite->rows), row->seconds,
                is_whole ? json_pack("{s:O}", "runs", runs) : NULL);
  json_decref(runs);
}

static void tell_row(struct suite *suite, struct row *row, const struct pto_child_result *child) {
  json_t *object = pto_json_load(child->json, strlen(child->json), 0, NULL);
  json_t *one = pto_one_result(json_incref(object));
  print_row_head(suite, row);
  print_figures(one);
  json_decref(one);
  judge(suite, row, child, object);
  fflush(stdout);
  json_array_append_new(suite->results, object ? object : json_null());
}

static void tell_skipped(struct suite *suite, struct row *row) {
  suite->skipped++;
  row->outcome = PTO_JUNIT_SKIPPED;
  print_row_head(suite, row);
  print_figures(NULL);
  printf("skipped: needs %" PRIu32 " clusters\n", row->min_clusters);
}

static int run_row(struct suite *suite, struct row *row) {
  struct pto_child_result child;
  struct pto_error error;
  const bool is_part = pto_share_is_part(&suite->options.share);
  const uint32_t clusters = row->expected_status ? 1 : suite->chip.cluster_count;
  if (clusters < row->min_clusters) {
    is_part ? put_row(suite, row, NULL) : tell_skipped(suite, row);
    return PTO_OK;
  }
  const int status = make_run(suite, row, &child, &error);
  if (pto_interrupted()) { /* the row was cut short */
    pto_child_result_fini(&child);
    return PTO_OK;
  }
  if (status) return pto_complain(status, "suite: %s", error.sentence);
  is_part ? put_row(suite, row, &child) : tell_row(suite, row, &child);
  pto_child_result_fini(&child);
  return PTO_OK;
}

/* ---- the table ---- */

static void print_head(const struct suite *suite) {
  printf("%zu runs on %s\n\n", suite->row_count, suite->chip.name);
  printf("%-*s  %-*s  %-7s %7s %7s %10s %13s %9s  %s\n", suite->program_width, "program", suite->case_width, "case",
         "engine", "tasks", "edges", "time", "on the chip", "max error", "result");
}

static struct pto_coverage coverage_of(const struct suite *suite) {
  struct pto_coverage coverage = {.is_known = true};
  pto_coverage_add(&coverage, PTO_COVERAGE_CASES, suite->ok + suite->expected_failures + suite->bad);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_WITHOUT_GOLDEN, suite->without_golden,
                             "that it ended well is all that is known");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_SKIPPED, suite->skipped, "the chip has too few clusters");
  return coverage;
}

struct results {
  const struct suite *suite;
  const char *rows; /* JSON */
};

static void put_results(struct pto_json_writer *w, const void *context) {
  const struct results *results = context;
  const struct suite *suite = results->suite;
  const struct pto_coverage coverage = coverage_of(suite);
  pto_json_put_format(w, "pto-suite", 1);
  pto_json_key(w, "rows");
  pto_json_raw(w, results->rows, strlen(results->rows));
  pto_json_put_u64(w, "ok", suite->ok);
  pto_json_put_u64(w, "failed_as_expected", suite->expected_failures);
  pto_json_put_u64(w, "skipped", suite->skipped);
  pto_json_put_u64(w, "bad", suite->bad);
  pto_coverage_put_json(&coverage, w);
}

static int write_results(struct suite *suite, const char *path) {
  struct pto_error error;
  char *rows = pto_json_dump(suite->results, JSON_INDENT(1));
  const struct results results = {suite, rows};
  const int status = rows ? pto_output_json(path, put_results, &results, &error)
                          : pto_error_set(&error, PTO_ENOMEM, "no memory for the results");
  free(rows);
  return status ? pto_complain(PTO_EXIT_FAILED, "suite: %s", error.sentence) : PTO_EXIT_OK;
}

static void put_case(const void *context, size_t index, struct pto_junit_case *one) {
  const struct row *row = &((const struct suite *)context)->rows[index];
  one->of = row->program;
  snprintf(one->text, sizeof one->text, "%s%s%s", row->engine, row->case_name ? " " : "",
           row->case_name ? row->case_name : "");
  one->name = one->text;
  one->seconds = row->seconds;
  one->outcome = row->outcome;
  one->type = row->outcome == PTO_JUNIT_FAILURE ? "wrong" : "failed";
  one->message = row->outcome == PTO_JUNIT_SKIPPED ? "the chip is too small" : row->why;
}

static int run_suite(struct suite *suite) {
  struct pto_error error;
  suite->chip_name = suite->options.chip ? suite->options.chip : "tiny";
  if (pto_chip_load(suite->chip_name, &suite->chip, &error))
    return pto_complain(PTO_EXIT_USAGE, "suite: %s", error.sentence);
  suite->program_width = (int)strlen("program");
  suite->case_width = (int)strlen("case");
  const int status = collect_rows(suite);
  if (status == PTO_EINVAL) return PTO_EXIT_USAGE; /* which has had its sentence */
  if (status)
    return pto_complain(PTO_EXIT_FAILED, "suite: %s",
                        status == PTO_ENOMEM ? "no memory for the rows" : "a folder of programs cannot be read");
  if (suite->row_count == 0) return pto_complain(PTO_EXIT_USAGE, "suite: there are no programs");
  suite->results = json_array();
  const bool is_part = pto_share_is_part(&suite->options.share);
  int code = pto_shared_begin(&suite->options, suite->row_count, digest_of(suite));
  if (code) return code;
  if (!is_part) print_head(suite);
  for (size_t i = 0; i < suite->row_count && !pto_interrupted(); i++)
    if (pto_share_has(&suite->options.share, i) && run_row(suite, &suite->rows[i])) return PTO_EXIT_FAILED;
  if (is_part) return pto_shared_end(&suite->options, pto_interrupted() ? PTO_EXIT_INTERRUPTED : PTO_EXIT_OK);
  printf("\n%" PRIu32 " right, %" PRIu32 " failed as expected, %" PRIu32 " skipped, %" PRIu32 " not as expected\n",
         suite->ok, suite->expected_failures, suite->skipped, suite->bad);
  const struct pto_coverage coverage = coverage_of(suite);
  pto_coverage_print(&coverage, stdout);
  fflush(stdout);
  const char *junit_path = suite->options.junit_path;
  if (junit_path && pto_junit_write(junit_path, "ptosim suite", suite->row_count, put_case, suite, &error))
    return pto_complain(PTO_EXIT_FAILED, "suite: %s", error.sentence);
  code = suite->options.json_path ? write_results(suite, suite->options.json_path) : PTO_EXIT_OK;
  if (pto_interrupted()) return PTO_EXIT_INTERRUPTED;
  return code ? code : suite->bad ? PTO_EXIT_FINDINGS : PTO_EXIT_OK;
}

static void help(const struct pto_run_options *options) {
  puts("ptosim suite [PROGRAM...] [OPTION...]\n\n"
       "Runs all programs, or those named: each case that is not long, on both engines.  Options as of `ptosim run`, "
       "but for\n"
       "those that mean one run.  --json writes the results of all rows.\n");
  pto_run_options_help(PTO_VERB_suite, extra);
}

int pto_cmd_suite(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_suite, extra, help, false};
  struct suite suite = {.row_timeout_s = DEFAULT_ROW_TIMEOUT_S};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &suite, &suite.options, &code)) {
    code = check_options(&suite.options);
    if (code == PTO_EXIT_OK) code = pto_complain_unwritable(suite.options.json_path);
    if (code == PTO_EXIT_OK) code = run_suite(&suite);
  }
  for (size_t i = 0; i < suite.row_count; i++) {
    free(suite.rows[i].program);
    free(suite.rows[i].case_name);
    free(suite.rows[i].why);
  }
  free(suite.rows);
  json_decref(suite.results);
  pto_run_options_fini(&suite.options);
  return code;
}
