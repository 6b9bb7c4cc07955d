/* SPDX-License-Identifier: MIT */
/*
 * `ptosim regress`: runs a list of cases, a process each, some at a time, and tells what is not as a baseline has it.
 *
 * Exit status 0 if every case is right and, where there is a baseline, as it says; 1 if not; 2 for bad arguments, a bad
 * list or a bad baseline; 3 if no process or file could be had.  A baseline is written by --update alone, with the
 * cases that are right; those that are not keep what it said.
 *
 * The main thread starts the others, which take cases in turn; what they found is read once all have ended.  Then it
 * runs the timed cases again, one after the other, so that nothing of these runs disturbs them.
 */
#include <cli/main/verb.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/compare/clock.h>
#include <check/compare/shift.h>
#include <check/regress/list.h>
#include <check/regress/outcome.h>
#include <check/regress/one_result.h>
#include <cli/main/child_process.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/run/options.h>
#include <cli/run/request.h>
#include <cli/run/shared.h>
#include <formats/json_text.h>
#include <formats/units.h>
#include <report/file/colour.h>
#include <report/file/junit.h>
#include <report/file/output_file.h>
#include <report/findings/coverage.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>

#define DEFAULT_ROW_TIMEOUT_S 300u
#define MOST_JOBS 256u
#define DEFAULT_REPEATS 9u /* as of compare */
#define SENTENCE_BYTES 1024
#define PS_DIGITS 6 /* of a microsecond */

enum verdict {
  NOT_RUN = 0,
  SAME,
  NEW,     /* right, and not in the baseline */
  CHANGED, /* right, and not as in the baseline */
  FAILED   /* not right: wrong output, failed, crashed, took too long, or did not fail as it must */
};

struct result {
  enum verdict verdict;
  struct pto_regress_outcome outcome;
  json_t *parts; /* of its virtual time, where the baseline wants them; NULL: not known */
  json_t *clock; /* times of a timed case; NULL: none */
  double seconds;
  char *sentence; /* why not SAME; NULL: nothing to say */
};

struct regress {
  struct pto_run_options options; /* of them --help, and the list, which is no option */
  const char *program, *list_path, *filter, *baseline_path;
  char *own_baseline_path; /* LIST.baseline */
  bool is_update, is_quiet;
  struct pto_regress_allowed allowed;
  uint32_t jobs, row_timeout_s, repeats;
  struct pto_regress_list list;
  struct pto_baseline *baseline;
  bool has_baseline;
  struct result *results; /* by case */
  int exit_code;          /* for the report */
  pthread_mutex_t mutex;  /* of what follows */
  size_t next;
  struct pto_error error; /* of the first case that could not be started */
  bool is_no_command;     /* the error: that it is none */
};

/* ---- one case ---- */

static bool is_compared(const struct pto_regress_case *c) {
  for (size_t i = 0; i < c->word_count; i++)
    if (strncmp(c->words[i], "--compare", strlen("--compare")) == 0) return true;
  return false;
}

static bool gave_wrong_result(const struct pto_regress_case *c, const struct pto_child_result *child, json_t *object) {
  return child->exit_code == PTO_EXIT_FINDINGS &&
         (is_compared(c) || json_is_false(json_object_get(object, "verified")));
}

/* What the run itself says is wrong, if anything. */
static bool is_right(const struct pto_regress_case *c, const struct pto_child_result *child, json_t *object,
                     const struct pto_regress_outcome *outcome, char *sentence) {
  const char *error = json_string_value(json_object_get(object, "error"));
  const char *said = error ? error : child->text;
  const int length = (int)strcspn(said, "\n");
  const bool is_wrong_wanted = c->expected && strcmp(c->expected, PTO_REGRESS_WRONG) == 0;
  if (child->is_timed_out)
    snprintf(sentence, SENTENCE_BYTES, "took too long");
  else if (child->signal)
    snprintf(sentence, SENTENCE_BYTES, "crashed: %s", strsignal(child->signal));
  else if (is_wrong_wanted && !gave_wrong_result(c, child, object))
    snprintf(sentence, SENTENCE_BYTES, "did not give a wrong result but left with %d%s%.*s", child->exit_code,
             length ? ": " : "", length, said);
  else if (c->expected && !is_wrong_wanted && strcmp(outcome->status, c->expected) != 0)
    snprintf(sentence, SENTENCE_BYTES, "did not fail with %s but %s%s%.*s", c->expected,
             outcome->status[0] ? outcome->status : "left without a result", length ? ": " : "", length, said);
  else if (!c->expected && child->exit_code != PTO_EXIT_OK)
    snprintf(sentence, SENTENCE_BYTES, "%s%s%.*s", child->exit_code == PTO_EXIT_FINDINGS ? "wrong" : "failed",
             length ? ": " : "", length, said);
  else if (!object)
    snprintf(sentence, SENTENCE_BYTES, "left no result");
  else
    return true;
  return false;
}

/* A line that is no command: what a run leaves is there from where its words are read. */
static bool is_refused(const struct pto_child_result *child) {
  json_t *object = pto_json_load(child->json, strlen(child->json), 0, NULL);
  json_decref(object);
  return !object && child->exit_code == PTO_EXIT_USAGE;
}

static int say_refused(const struct regress *r, const struct pto_regress_case *c, const char *said,
                       struct pto_error *error) {
  static const char begin[] = "ptosim: ";
  if (strncmp(said, begin, strlen(begin)) == 0) said += strlen(begin);
  return pto_error_set(error, PTO_EINVAL, "%s:%" PRIu32 ": %.*s", r->list_path, c->line, (int)strcspn(said, "\n"),
                       said);
}

static void judge(const struct regress *r, const struct pto_regress_case *c, const struct pto_child_result *child,
                  struct result *result) {
  char sentence[SENTENCE_BYTES] = "";
  struct pto_error error = {.status = PTO_OK};
  json_t *object = pto_one_result(pto_json_load(child->json, strlen(child->json), 0, NULL));
  pto_regress_outcome_of_run(object, is_compared(c), &result->outcome);
  if (result->outcome.has_virtual_time) result->parts = pto_regress_parts_of_run(object);
  if (!is_right(c, child, object, &result->outcome, sentence))
    result->verdict = FAILED;
  else if (!r->has_baseline ||
           pto_regress_compare(r->baseline, c->text, &result->outcome, result->parts, &r->allowed, &error) == PTO_OK)
    result->verdict = SAME;
  else
    result->verdict = error.status == PTO_ENOTSUP ? NEW : CHANGED;
  if (result->verdict == NEW) pto_error_append(&error, " (--update puts it there)");
  if (sentence[0] || error.status) result->sentence = strdup(sentence[0] ? sentence : error.sentence);
  json_decref(object);
}

/* The words of the case, and where its result goes. */
static int run_words(const struct regress *r, const struct pto_regress_case *c, bool with_stats,
                     struct pto_child_result *child, struct pto_error *error) {
  static char name[] = "ptosim", quiet[] = "--quiet", json[] = "--json", json_path[] = PTO_CHILD_JSON_PATH,
              stats[] = "--stats", no_gains[] = "--no-gains";
  char *words[PTO_REGRESS_WORDS + 7] = {name};
  size_t count = 1;
  for (size_t i = 0; i < c->word_count; i++) words[count++] = c->words[i];
  if (with_stats) words[count++] = stats;
  if (with_stats) words[count++] = no_gains;
  words[count++] = quiet;
  words[count++] = json;
  words[count++] = json_path;
  return pto_child_run(words, 1000 * r->row_timeout_s, child, error);
}

/* What is kept of a case: its run, with --stats where the baseline has parts; and for a baseline that has none yet one
 * more, with --stats: only a run in virtual time has parts. */
enum { FIRST, FOR_PARTS, RUN_COUNT };

/* Here, or by a shard. */
static int make_run(const struct regress *r, size_t index, int which, struct pto_child_result *child,
                    struct pto_error *error) {
  json_t *result = pto_share_result(&r->options.share, index, NULL);
  const struct pto_regress_case *c = &r->list.cases[index];
  if (!result) return run_words(r, c, which == FOR_PARTS || pto_regress_has_parts(r->baseline, c->text), child, error);
  return pto_child_result_unpack(json_array_get(json_object_get(result, "runs"), (size_t)which), child, error);
}

/* Runs the case once more where its parts go into a baseline, and tells those of one that has changed. */
static int find_parts(const struct regress *r, size_t index, struct pto_child_result *child, struct pto_error *error) {
  const struct pto_regress_case *c = &r->list.cases[index];
  struct result *result = &r->results[index];
  char parts[SENTENCE_BYTES / 2], *sentence;
  if (result->outcome.has_virtual_time && !result->parts && r->is_update) {
    const int status = make_run(r, index, FOR_PARTS, child, error);
    if (status) return status;
    json_t *object = pto_one_result(pto_json_load(child->json, strlen(child->json), 0, NULL));
    result->parts = pto_regress_parts_of_run(object);
    json_decref(object);
  }
  if (result->verdict != CHANGED) return PTO_OK;
  pto_regress_say_parts(r->baseline, c->text, result->parts, parts, sizeof parts);
  if (parts[0] && result->sentence && asprintf(&sentence, "%s%s", result->sentence, parts) >= 0) {
    free(result->sentence);
    result->sentence = sentence;
  }
  return PTO_OK;
}

static void put_runs(struct regress *r, size_t index, const struct pto_child_result *runs) {
  json_t *list = json_array();
  int missing = 0; /* then the line is not whole */
  for (int i = 0; i < RUN_COUNT && runs[i].json; i++)
    missing |= json_array_append_new(list, pto_child_result_pack(&runs[i]));
  pthread_mutex_lock(&r->mutex);
  pto_share_put(&r->options.share, index, r->results[index].seconds, missing ? NULL : json_pack("{s:O}", "runs", list));
  json_decref(list);
  pthread_mutex_unlock(&r->mutex);
}

static void run_case(struct regress *r, size_t index) {
  struct pto_child_result runs[RUN_COUNT] = {{0}};
  struct result *result = &r->results[index];
  struct pto_error error;
  const double begin = pto_clock_seconds();
  int status = make_run(r, index, FIRST, &runs[FIRST], &error);
  result->seconds = pto_clock_seconds() - begin;
  (void)pto_share_result(&r->options.share, index, &result->seconds);
  const bool is_no_command = !status && is_refused(&runs[FIRST]);
  if (is_no_command) status = say_refused(r, &r->list.cases[index], runs[FIRST].text, &error);
  if (!status && !(pto_interrupted() && runs[FIRST].exit_code == PTO_EXIT_INTERRUPTED)) {
    judge(r, &r->list.cases[index], &runs[FIRST], result);
    status = find_parts(r, index, &runs[FOR_PARTS], &error);
    if (!status && pto_share_is_part(&r->options.share)) put_runs(r, index, runs);
  }
  if (status) {
    pthread_mutex_lock(&r->mutex);
    if (!r->error.status) r->is_no_command = is_no_command;
    if (!r->error.status) r->error = error;
    pthread_mutex_unlock(&r->mutex);
  }
  for (int i = 0; i < RUN_COUNT; i++) pto_child_result_fini(&runs[i]);
}

/* ---- timed cases ---- */

/* One more run of a case that is right. */
static int add_run(struct regress *r, size_t index, struct pto_error *error) {
  const struct pto_regress_case *c = &r->list.cases[index];
  struct result *result = &r->results[index];
  struct pto_child_result child;
  char sentence[SENTENCE_BYTES] = "";
  struct pto_error why;
  const int status = run_words(r, c, true, &child, error);
  if (status) return status;
  if (pto_interrupted()) { /* which ends the child too, at whatever it was */
    result->verdict = NOT_RUN;
    pto_child_result_fini(&child);
    return PTO_OK;
  }
  json_t *object = pto_one_result(pto_json_load(child.json, strlen(child.json), 0, NULL));
  if (is_right(c, &child, object, &result->outcome, sentence) && pto_clock_add(result->clock, object, &why))
    snprintf(sentence, sizeof sentence, "%.*s", (int)sizeof why.sentence - 1, why.sentence);
  if (sentence[0]) {
    result->verdict = FAILED;
    free(result->sentence);
    result->sentence = strdup(sentence);
  }
  json_decref(object);
  pto_child_result_fini(&child);
  return PTO_OK;
}

/* Of a case that is otherwise as in the baseline. */
static void judge_clock(struct regress *r, size_t index) {
  const struct pto_regress_case *c = &r->list.cases[index];
  struct result *result = &r->results[index];
  struct pto_error error;
  const int status =
      r->has_baseline ? pto_clock_compare(r->baseline, c->text, result->clock, &r->allowed, &error) : PTO_OK;
  if (!status) return;
  result->verdict = status == PTO_ENOTSUP ? NEW : CHANGED;
  free(result->sentence);
  result->sentence = strdup(error.sentence);
}

static int time_case(struct regress *r, size_t index, struct pto_error *error) {
  struct result *result = &r->results[index];
  int status = PTO_OK;
  result->clock = json_object();
  for (uint32_t i = 0; i < r->repeats && !status && result->verdict != FAILED && result->verdict != NOT_RUN; i++) {
    if (pto_interrupted())
      result->verdict = NOT_RUN;
    else
      status = add_run(r, index, error);
  }
  if (!status && result->verdict == SAME) judge_clock(r, index);
  return status;
}

static void time_cases(struct regress *r) {
  unsigned count = 0, done = 0;
  for (size_t i = 0; i < r->list.count; i++) count += r->list.cases[i].is_timed;
  for (size_t i = 0; i < r->list.count && !r->error.status; i++) {
    const enum verdict verdict = r->results[i].verdict;
    if (!r->list.cases[i].is_timed) continue;
    pto_progress_line_stage("timing cases", ++done, count);
    if (verdict == FAILED || verdict == NOT_RUN) continue;
    struct pto_error error;
    if (time_case(r, i, &error)) r->error = error;
  }
}

static void *run_cases(void *argument) {
  struct regress *r = argument;
  for (;;) {
    pthread_mutex_lock(&r->mutex);
    while (r->next < r->list.count && !pto_share_has(&r->options.share, r->next)) r->next++;
    const size_t index = r->error.status || pto_interrupted() ? r->list.count : r->next++;
    if (index < r->list.count) pto_progress_line_stage("running cases", (unsigned)index + 1, (unsigned)r->list.count);
    pthread_mutex_unlock(&r->mutex);
    if (index >= r->list.count) return NULL;
    run_case(r, index);
  }
}

/* What cases are, and what they are compared with. */
static uint64_t digest_of(const struct regress *r) {
  uint64_t digest = 0;
  for (size_t i = 0; i < r->list.count; i++) {
    const struct pto_regress_case *c = &r->list.cases[i];
    digest = pto_xxh64(c->text, strlen(c->text), digest);
    if (c->expected) digest = pto_xxh64(c->expected, strlen(c->expected), digest);
  }
  char *baseline = pto_json_dump(r->baseline->cases, JSON_COMPACT | JSON_SORT_KEYS);
  if (baseline) digest = pto_xxh64(baseline, strlen(baseline), digest);
  free(baseline);
  return digest;
}

/* The main thread is one of them. */
static int run_all(struct regress *r) {
  pthread_t threads[MOST_JOBS];
  uint32_t started = 1;
  pthread_mutex_init(&r->mutex, NULL);
  while (started < r->jobs && started < r->list.count && pthread_create(&threads[started], NULL, run_cases, r) == 0)
    started++;
  run_cases(r);
  for (uint32_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
  pthread_mutex_destroy(&r->mutex);
  time_cases(r);
  if (!r->error.status) return PTO_EXIT_OK;
  return pto_complain(r->is_no_command ? PTO_EXIT_USAGE : PTO_EXIT_FAILED, "regress: %s", r->error.sentence);
}

/* ---- rows ---- */

static const char *verdict_name(enum verdict verdict) {
  static const char *const names[] = {"not run", "same", "new", "changed", "failed"};
  return names[verdict];
}

static const char *verdict_key(enum verdict verdict) { return verdict == NOT_RUN ? "not_run" : verdict_name(verdict); }

/* "ptosim run bgemm": what is typed to do the case alone. */
static void print_command(FILE *to, const char *program, const struct pto_regress_case *c) {
  const bool is_run = strcmp(c->words[0], "run") == 0;
  fprintf(to, "%s %s%s", program, is_run ? "run " : "", c->text);
}

/* One row: verdict, case and sentence, and the command that does it again.  `program` is how ptosim was called. */
static void print_row(FILE *to, const char *program, const struct pto_regress_case *c, const struct result *result) {
  char verdict[16];
  snprintf(verdict, sizeof verdict, "%-8s", verdict_name(result->verdict));
  pto_colour_put(to, result->verdict == NEW ? PTO_COLOUR_NOTE : PTO_COLOUR_BAD, verdict);
  fprintf(to, " %s\n", c->text);
  if (result->sentence) fprintf(to, "         %s\n", result->sentence);
  if (result->verdict == NEW) return;
  fputs("         ", to);
  print_command(to, program, c);
  fputc('\n', to);
}

/* ---- JUnit ---- */

static bool is_failure(const struct result *result, bool is_new_wrong) {
  return result->verdict == FAILED || result->verdict == CHANGED || (result->verdict == NEW && is_new_wrong);
}

static void put_case(const void *context, size_t index, struct pto_junit_case *one) {
  const struct regress *r = context;
  const struct pto_regress_case *c = &r->list.cases[index];
  const struct result *result = &r->results[index];
  const bool is_run = strcmp(c->words[0], "run") == 0;
  one->of = is_run && c->words[1] ? c->words[1] : c->words[0];
  one->name = c->text;
  one->seconds = result->seconds;
  if (!is_failure(result, !r->is_update)) return;
  one->outcome = PTO_JUNIT_FAILURE;
  one->type = verdict_name(result->verdict);
  one->message = result->sentence;
  snprintf(one->text, sizeof one->text, "ptosim %s%s", is_run ? "run " : "", c->text);
}

/* ---- afterwards ---- */

static size_t count_of(const struct regress *r, enum verdict verdict) {
  size_t count = 0;
  for (size_t i = 0; i < r->list.count; i++) count += r->results[i].verdict == verdict;
  return count;
}

static struct pto_coverage coverage_of(const struct regress *r) {
  struct pto_coverage coverage = {.subject = r->options.subject};
  const size_t not_run = count_of(r, NOT_RUN), failed = count_of(r, FAILED);
  const size_t compared = r->has_baseline ? count_of(r, SAME) + count_of(r, CHANGED) : 0;
  pto_coverage_add(&coverage, PTO_COVERAGE_CASES, r->list.count - not_run);
  pto_coverage_leave(&coverage, PTO_COVERAGE_CASES, not_run, "regress");
  pto_coverage_add(&coverage, PTO_COVERAGE_BASELINES, compared);
  pto_coverage_leave(&coverage, PTO_COVERAGE_BASELINES, r->is_update ? 0 : r->list.count - not_run - failed - compared,
                     "regress --update");
  return coverage;
}

static void print(const struct regress *r) {
  const struct pto_coverage coverage = coverage_of(r);
  for (size_t i = 0; i < r->list.count; i++)
    if (r->results[i].verdict != SAME && r->results[i].verdict != NOT_RUN &&
        !(r->is_update && r->results[i].verdict == NEW))
      print_row(stdout, r->program, &r->list.cases[i], &r->results[i]);
  if (r->has_baseline)
    printf("%zu case%s: %zu as in %s, %zu changed, %zu new, %zu failed\n", r->list.count, pto_plural(r->list.count),
           count_of(r, SAME), r->baseline_path, count_of(r, CHANGED), count_of(r, NEW), count_of(r, FAILED));
  else
    printf("%zu case%s: %zu right, %zu failed; there is no baseline %s%s\n", r->list.count, pto_plural(r->list.count),
           count_of(r, SAME), count_of(r, FAILED), r->baseline_path, r->is_update ? " yet" : " (--update makes one)");
  pto_coverage_print(&coverage, stdout);
}

static int update(struct regress *r) {
  char sentence[PTO_SENTENCE_SIZE];
  int status = PTO_OK;
  size_t put = 0, dropped = 0;
  for (size_t i = 0; i < r->list.count && status == PTO_OK; i++) {
    if (r->results[i].verdict == FAILED) continue;
    status = pto_regress_put(r->baseline, r->list.cases[i].text, &r->results[i].outcome, r->results[i].parts);
    if (!status && r->results[i].clock) status = pto_clock_put(r->baseline, r->list.cases[i].text, r->results[i].clock);
    put++;
  }
  if (!r->filter) dropped = pto_regress_keep(r->baseline, &r->list);
  if (status) return pto_complain(PTO_EXIT_FAILED, "regress: no memory for the baseline");
  if (pto_baseline_write(r->baseline, r->baseline_path, sentence, sizeof sentence))
    return pto_complain(PTO_EXIT_FAILED, "regress: %s", sentence);
  if (!r->is_quiet) printf("%s: %zu case%s written, %zu dropped\n", r->baseline_path, put, pto_plural(put), dropped);
  return PTO_EXIT_OK;
}

/* ---- JSON ---- */

static void put_time(struct pto_json_writer *w, const char *key, const struct pto_regress_outcome *outcome) {
  if (pto_json_try_key(w, key, outcome->has_virtual_time)) pto_json_decimal(w, outcome->virtual_ps, PS_DIGITS);
}

static void put_result(const struct regress *r, size_t index, struct pto_json_writer *w) {
  const struct pto_regress_case *c = &r->list.cases[index];
  const struct result *result = &r->results[index];
  struct pto_regress_outcome before = {0};
  if (r->has_baseline) (void)pto_regress_find(r->baseline, c->text, &before);
  pto_json_object_begin(w);
  pto_json_put_string(w, "case", c->text);
  pto_json_put_u64(w, "line", c->line);
  pto_json_put_string(w, "verdict", verdict_name(result->verdict));
  pto_json_put_double(w, "seconds", result->seconds);
  if (pto_json_try_key(w, "tasks", result->outcome.has_counts)) pto_json_u64(w, result->outcome.tasks);
  put_time(w, "virtual_us", &result->outcome);
  put_time(w, "baseline_virtual_us", &before);
  if (pto_json_try_key(w, "window", result->outcome.has_memory)) pto_json_u64(w, result->outcome.window);
  if (pto_json_try_key(w, "heap_bytes", result->outcome.has_memory)) pto_json_u64(w, result->outcome.heap_bytes);
  pto_json_put_string(w, "sentence", result->sentence);
  pto_json_object_end(w);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct regress *r = context;
  const struct pto_coverage coverage = coverage_of(r);
  pto_json_put_format(w, "pto-regress", 1);
  pto_json_put_string(w, "list", r->list_path);
  pto_json_put_string(w, "baseline", r->has_baseline ? r->baseline_path : NULL);
  pto_json_put_object(w, "counts");
  for (enum verdict verdict = NOT_RUN; verdict <= FAILED; verdict++)
    pto_json_put_u64(w, verdict_key(verdict), count_of(r, verdict));
  pto_json_object_end(w);
  pto_json_put_array(w, "results");
  for (size_t i = 0; i < r->list.count; i++) put_result(r, i, w);
  pto_json_array_end(w);
  pto_coverage_put_json(&coverage, w);
  pto_json_put_u64(w, "exit", (uint64_t)r->exit_code);
}

static int exit_of(const struct regress *r) {
  if (pto_interrupted()) return PTO_EXIT_INTERRUPTED;
  const bool is_fine = r->is_update ? count_of(r, FAILED) == 0 : count_of(r, SAME) == r->list.count;
  return is_fine ? PTO_EXIT_OK : PTO_EXIT_FINDINGS;
}

static int complain_interrupted(const struct regress *r) {
  return pto_complain(PTO_EXIT_INTERRUPTED, "regress: interrupted after %zu of %zu cases",
                      r->list.count - count_of(r, NOT_RUN),
                      (size_t)pto_shard_size(&r->options.share.shard, r->list.count));
}

static int report(struct regress *r) {
  struct pto_error error;
  const bool has_text = !r->is_quiet && !pto_run_options_take_stdout(&r->options);
  if (has_text) print(r);
  fflush(stdout);
  const char *junit_path = r->options.junit_path;
  if (junit_path && pto_junit_write(junit_path, r->list_path, r->list.count, put_case, r, &error))
    return pto_complain(PTO_EXIT_FAILED, "regress: %s", error.sentence);
  r->exit_code = exit_of(r);
  const struct pto_report_page_document document = {"regress", put_report, r};
  int code = pto_write_report(r->options.json_path, put_report, r, r->exit_code);
  code = pto_write_page(r->options.exports[PTO_EXPORT_page], &document, code);
  if (pto_interrupted()) return complain_interrupted(r);
  const int updated = r->is_update ? update(r) : PTO_EXIT_OK;
  return updated ? updated : code;
}

/* ---- the verb ---- */

static int set_tolerance(void *target, const char *value, struct pto_error *error) {
  struct pto_regress_allowed *allowed = target;
  char number[32];
  const size_t length = strlen(value);
  snprintf(number, sizeof number, "%.*s", (int)(length && value[length - 1] == '%' ? length - 1 : length), value);
  return pto_parse_double(number, &allowed->percent, error);
}

#define TEXT(field) PTO_OPTION_TEXT(struct regress, field)
#define FLAG(field) PTO_OPTION_FLAG(struct regress, field)
static const struct pto_option_spec own_options[] = {
    {"baseline", "FILE", "compare with this file (default: LIST.baseline, where it is there)", TEXT(baseline_path)},
    {"update", NULL, "write the baseline anew, with what is right", FLAG(is_update)},
    {"tolerance", "PERCENT", "of times, each kernel's and memory, up or down, that is no change (default 0)",
     .set = set_tolerance, .field = offsetof(struct regress, allowed)},
    {"less-is-fine", NULL, "no change where a case or a kernel is faster, or needs less memory",
     FLAG(allowed.is_less_fine)},
    {"repeats", "N", "more runs of a timed case (default 9)",
     PTO_OPTION_NUMBER(struct regress, repeats, 1, PTO_SHIFT_MOST)},
    {"filter", "REGEX", "only cases whose line matches", TEXT(filter)},
    {"jobs", "N", "at a time (default 1)", PTO_OPTION_NUMBER(struct regress, jobs, 1, MOST_JOBS)},
    {"row-timeout", "SECONDS", "that a case may take (default 300; 0: for ever)",
     PTO_OPTION_NUMBER(struct regress, row_timeout_s, 0, 1000000)},
    {"quiet", NULL, "no table", FLAG(is_quiet)},
    {"help", NULL, "this text", .set = NULL},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim regress LIST [OPTION...]\n\n"
       "Runs each case of the list, a line each, and compares its results, counts and virtual times with a baseline.\n"
       "Paths in a line count from the folder in which ptosim is started.\n");
  pto_run_options_help(PTO_VERB_regress, own_options);
}

static int read_files(struct regress *r) {
  struct pto_error error;
  const bool is_asked = r->baseline_path != NULL;
  if (!is_asked) {
    if (asprintf(&r->own_baseline_path, "%s.baseline", r->list_path) < 0) r->own_baseline_path = NULL;
    if (!r->own_baseline_path) return pto_complain(PTO_EXIT_FAILED, "regress: no memory");
    r->baseline_path = r->own_baseline_path;
  }
  int status = pto_regress_list_read(r->list_path, &r->list, &error);
  if (status == PTO_OK && r->filter) status = pto_regress_list_filter(&r->list, r->filter, &error);
  if (status == PTO_OK)
    status = pto_baseline_open(r->baseline_path, !is_asked || r->is_update, &r->baseline, error.sentence,
                               sizeof error.sentence);
  if (status == PTO_OK) {
    r->has_baseline = json_object_size(r->baseline->cases) > 0;
    return PTO_EXIT_OK;
  }
  return pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "regress: %s", error.sentence);
}

static int regress(struct regress *r) {
  int code = read_files(r);
  if (code) return code;
  if (r->list.count == 0)
    return pto_complain(PTO_EXIT_USAGE, "regress: %s has no case%s%s", r->list_path, r->filter ? " that matches " : "",
                        r->filter ? r->filter : "");
  for (size_t i = 0; i < r->list.count; i++)
    if (r->list.cases[i].is_timed && (pto_share_is_part(&r->options.share) || r->options.share.lines))
      return pto_complain(PTO_EXIT_USAGE, "regress: line %u is timed, on the clock of one machine: not with shards",
                          r->list.cases[i].line);
  r->results = calloc(r->list.count, sizeof *r->results);
  if (!r->results) return pto_complain(PTO_EXIT_FAILED, "regress: no memory for %zu results", r->list.count);
  const char *page = r->options.exports[PTO_EXPORT_page];
  struct pto_error error;
  if (pto_output_probe(r->options.json_path, &error) || pto_report_page_probe(page, &error))
    return pto_complain(PTO_EXIT_USAGE, "regress: %s", error.sentence);
  code = pto_shared_begin(&r->options, r->list.count, digest_of(r));
  if (code) return code;
  pto_progress_line_begin("regress", !r->is_quiet);
  code = run_all(r);
  pto_progress_line_end();
  if (!pto_share_is_part(&r->options.share)) return code ? code : report(r);
  return pto_shared_end(&r->options, code == PTO_EXIT_OK && pto_interrupted() ? complain_interrupted(r) : code);
}

static void fini(struct regress *r) {
  for (size_t i = 0; r->results && i < r->list.count; i++) {
    free(r->results[i].sentence);
    json_decref(r->results[i].parts);
    json_decref(r->results[i].clock);
  }
  free(r->results);
  free(r->own_baseline_path);
  pto_run_options_fini(&r->options);
  pto_regress_list_fini(&r->list);
  pto_baseline_close(r->baseline);
}

int pto_cmd_regress(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_regress, own_options, help, false};
  struct regress r = {
      .program = "ptosim", .jobs = 1, .row_timeout_s = DEFAULT_ROW_TIMEOUT_S, .repeats = DEFAULT_REPEATS};
  const struct pto_string_list *lists = &r.options.programs;
  int code;
  if (pto_run_options_begin(&form, argc, argv, &r, &r.options, &code)) {
    if (lists->count != 1) {
      code = pto_complain(PTO_EXIT_USAGE, "regress: one list of cases is wanted, not %zu", lists->count);
    } else {
      r.list_path = lists->items[0];
      code = regress(&r);
    }
  }
  fini(&r);
  return code;
}
