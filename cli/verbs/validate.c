/* SPDX-License-Identifier: MIT */
/*
 * `ptosim validate ROWS.csv`: predictions beside measurements of whole runs, and the errors as a page.
 *
 * Exit status 0 where every row, change and kernel is within its limit, 1 where one is not, 2 for bad arguments or a
 * bad file, 3 where memory or a process fails or the page cannot be written.
 */
#include <cli/run/judgement.h>
#include <cli/main/about.h>
#include <cli/main/verb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/predict/benchmarks.h>
#include <check/regress/list.h>
#include <check/validate/page.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/run/at_once.h>
#include <cli/run/options.h>
#include <cli/run/request.h>
#include <report/file/output_file.h>
#include <report/findings/coverage.h>

#define MOST_AT_ONCE 64u

struct validate {
  struct pto_run_options options; /* of them --help, --json, --quiet and the file */
  const char *page_path;
  uint32_t runs, jitter_ppm, at_once;
  bool is_lost; /* the machine, not the row, failed a prediction */
  struct pto_rows rows;
  struct pto_validated_kernels kernels;
  struct pto_parameters parameters;
  struct pto_validated *items; /* by row */
};

static int set_jitter(void *target, const char *value, struct pto_error *error) {
  return pto_parse_jitter(value, target, error);
}

static const struct pto_option_spec own_options[] = {
    {"to", "PAGE.md", "-o: where the page goes (default: standard output)",
     PTO_OPTION_TEXT(struct validate, page_path)},
    {"runs", "N", "of each row with jitter, each of another seed (default 15)",
     PTO_OPTION_NUMBER(struct validate, runs, 0, PTO_PREDICT_MOST_RUNS)},
    {"jitter", "PERCENT", "that kernels vary by, as a standard deviation (default 5%)", .set = set_jitter,
     .field = offsetof(struct validate, jitter_ppm)},
    {"jobs", "N", "runs at a time (default: the CPUs)", PTO_OPTION_NUMBER(struct validate, at_once, 1, MOST_AT_ONCE)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim validate ROWS.csv [-o PAGE.md] [OPTION...]\n\n"
       "Predicts every row of the file and tells the errors as a page, failures first.\n");
  pto_run_options_help(PTO_VERB_validate, own_options);
  puts("\nExit status 0 where every row, change and kernel is within its limit, 1 where one is not, 2 for bad "
       "arguments or a "
       "bad "
       "file,\n3 where memory or a process fails or the page cannot be written.");
}

/* ---- one row ---- */

static void say_problem(struct pto_validated *v, const char *sentence) {
  snprintf(v->problem, sizeof v->problem, "%.*s", (int)sizeof v->problem - 1, sentence);
}

/* The same run on the same chip, predicted before. */
static struct pto_prediction *find_same(const struct validate *v, const struct pto_validated *item) {
  for (const struct pto_validated *other = v->items; other < item; other++)
    if (other->prediction && strcmp(other->run, item->run) == 0 && strcmp(other->place.chip, item->place.chip) == 0 &&
        other->place.is_prebuilt == item->place.is_prebuilt)
      return other->prediction;
  return NULL;
}

static int predict(struct validate *v, struct pto_validated *item, const struct pto_run_options *options,
                   struct pto_error *error) {
  struct pto_config config;
  struct pto_session_options asked = pto_run_options_session(options, &config);
  struct pto_prediction *prediction = calloc(1, sizeof *prediction);
  if (!prediction) return pto_error_set(error, PTO_ENOMEM, "no memory for a prediction");
  config.chip = item->place.chip;
  config.engine = NULL;
  asked.text = NULL;
  asked.progress = NULL;
  if (!options->has_deps) {
    asked.has_deps = true;
    config.deps = pto_benchmark_deps(item->place.is_prebuilt);
  }
  const struct pto_prediction_asked question = {.options = &asked,
                                                .runs = v->runs,
                                                .jitter_ppm = v->jitter_ppm,
                                                .at_once = v->at_once,
                                                .is_prebuilt = item->place.is_prebuilt};
  const struct pto_forecast *plain = &prediction->plain;
  int status = pto_predict(&question, prediction, error);
  if (status == PTO_OK && plain->exit_code == PTO_EXIT_OK) {
    item->prediction = prediction;
    return PTO_OK;
  }
  if (status == PTO_OK && plain->exit_code == PTO_EXIT_FAILED && pto_forecast_find_lost(plain, 1))
    status = pto_error_set(error, plain->status, "%s", plain->sentence);
  say_problem(item, status ? error->sentence : plain->sentence);
  free(prediction);
  v->is_lost = pto_status_is_shortage(status);
  return v->is_lost ? status : PTO_OK;
}

/* A window that the run has not is no prediction. */
static void drop_missing_window(struct pto_validated *item, bool is_shared) {
  if (item->row->metric != PTO_ROW_orchestrator || !item->prediction || item->prediction->plain.window_ps) return;
  say_problem(item, "the run has no orchestrator's window: its graph is prebuilt, or it drives contexts of its own");
  if (!is_shared) free(item->prediction);
  item->prediction = NULL;
}

/* Splits the row's program and options; PTO_EINVAL with file and line where it is none. */
static int take_words(const struct validate *v, const struct pto_validated *item, char *text, char **words, int *count,
                      struct pto_error *error) {
  char *rest = text, *word;
  size_t length;
  bool is_open = false;
  *count = 0;
  words[(*count)++] = (char *)(uintptr_t) "run";
  while ((word = pto_regress_next_word(&rest, &length, &is_open)) != NULL && *count < (int)PTO_REGRESS_WORDS)
    words[(*count)++] = word;
  words[*count] = NULL;
  if (!is_open && !word) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s:%u: run: %s", v->options.programs.items[0], item->row->line,
                       is_open ? "a quotation mark at its end was expected" : "fewer words were expected");
}

static int take_run(struct validate *v, struct pto_validated *item, char *text, struct pto_error *error) {
  char *words[PTO_REGRESS_WORDS + 1];
  struct pto_run_options options;
  struct pto_chip chip;
  struct pto_error reason;
  int count;
  int status = take_words(v, item, text, words, &count, error);
  if (status) return status;
  status = pto_run_options_parse(PTO_VERB_run, count, words, NULL, NULL, &options, &reason);
  if (status == PTO_OK && options.programs.count != 1)
    status = pto_error_set(&reason, PTO_EINVAL, "one program was expected, not %zu", options.programs.count);
  if (status == PTO_OK && options.chip_settings.count && !pto_run_options_given(&options, NULL, "chip"))
    status = pto_error_set(&reason, PTO_EINVAL, "--chip-set goes with --chip, here too");
  if (status) {
    pto_error_set(error, PTO_EINVAL, "%s:%u: run: %.800s", v->options.programs.items[0], item->row->line,
                  reason.sentence);
  } else {
    pto_row_place_find(item->row, v->options.programs.items[0], options.chip, &item->place);
    item->prediction = find_same(v, item);
    if (pto_chip_load(item->place.chip, &chip, &reason))
      status = pto_error_set(error, PTO_EINVAL, "%s:%u: %.800s", v->options.programs.items[0], item->row->line,
                             reason.sentence);
    else
      status = pto_parameters_add(&v->parameters, item->place.chip, &chip, error);
    if (status == PTO_OK) status = pto_validated_kernels_add(&v->kernels, &chip, error);
    const bool is_shared = item->prediction != NULL;
    if (status == PTO_OK && !is_shared) status = predict(v, item, &options, error);
    drop_missing_window(item, is_shared);
  }
  pto_run_options_fini(&options);
  return status;
}

static int take_row(struct validate *v, struct pto_validated *item, struct pto_error *error) {
  const struct pto_benchmark *benchmark = pto_benchmark_find(item->row->row);
  item->run = item->row->run;
  if (!*item->run) item->run = benchmark ? pto_benchmark_words(benchmark, item->words, sizeof item->words) : NULL;
  if (!item->run) {
    say_problem(item, "neither its column run nor the list of benchmarks says which program it is");
    return PTO_OK;
  }
  char *text = strdup(item->run);
  if (!text) return pto_error_set(error, PTO_ENOMEM, "no memory for a row");
  const int status = take_run(v, item, text, error);
  free(text);
  return status;
}

/* ---- all of them ---- */

static int write_page(const struct validate *v, const struct pto_page *page) {
  struct pto_error error;
  FILE *to = stdout;
  const bool has_page = v->page_path || !(v->options.quiet || pto_run_options_take_stdout(&v->options));
  if (!has_page) return PTO_EXIT_OK;
  const char *path = v->page_path ? v->page_path : "-";
  if (pto_output_open_stream(path, &to, &error)) return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  pto_page_write(page, to);
  if (pto_output_close_stream(path, to, PTO_OK, &error)) return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  return PTO_EXIT_OK;
}

struct told {
  const struct pto_page *page;
  struct pto_coverage coverage;
  int exit_code;
};

static struct pto_coverage coverage_of(const struct validate *v, const struct pto_page_counts *counts) {
  struct pto_coverage coverage = {.subject = v->options.subject};
  pto_coverage_add(&coverage, PTO_COVERAGE_ROWS, v->rows.count - counts->unknown);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_ROWS, counts->unknown,
                             "there is no prediction: the page says why");
  return coverage;
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct told *told = context;
  const struct pto_error none = {.status = PTO_OK};
  pto_json_put_format(w, "pto-validate", 1);
  pto_page_put(told->page, w);
  pto_coverage_put_json(&told->coverage, w);
  pto_put_end(w, &none, told->exit_code);
}

static int validate(struct validate *v) {
  struct pto_error error;
  const char *path = v->options.programs.items[0];
  int status = pto_rows_read(path, &v->rows, &error);
  if (status == PTO_OK && !(v->items = calloc(v->rows.count, sizeof *v->items)))
    status = pto_error_set(&error, PTO_ENOMEM, "no memory for %zu rows", v->rows.count);
  pto_progress_line_begin("validate", !v->options.quiet);
  for (size_t i = 0; i < v->rows.count && status == PTO_OK; i++) {
    pto_progress_line_stage("predicting rows", (unsigned)i + 1, (unsigned)v->rows.count);
    v->items[i].row = &v->rows.rows[i];
    status = take_row(v, &v->items[i], &error);
    if (pto_interrupted())
      status = pto_error_set(&error, PTO_EINTERRUPTED, "interrupted after %zu of %zu rows", i, v->rows.count);
  }
  pto_progress_line_end();
  if (status == PTO_EINTERRUPTED) return pto_complain(PTO_EXIT_INTERRUPTED, "validate: %s", error.sentence);
  if (status)
    return pto_complain(v->is_lost ? PTO_EXIT_FAILED : pto_exit_of_setup(status), "validate: %s", error.sentence);
  const struct pto_page page = {.rows_path = path,
                                .items = v->items,
                                .count = v->rows.count,
                                .kernels = &v->kernels,
                                .parameters = &v->parameters,
                                .runs = v->runs,
                                .jitter_ppm = v->jitter_ppm};
  const struct pto_page_counts counts = pto_page_count(&page);
  const bool is_good = pto_page_is_good(&counts);
  const int written = write_page(v, &page);
  const struct told told = {&page, coverage_of(v, &counts),
                            written   ? written
                            : is_good ? PTO_EXIT_OK
                                      : PTO_EXIT_FINDINGS};
  if (v->page_path && !v->options.quiet && !pto_run_options_take_stdout(&v->options))
    pto_coverage_print(&told.coverage, stdout);
  fflush(stdout);
  char sentence[200];
  snprintf(sentence, sizeof sentence, "%zu rows failed, %zu unknown, %zu changes, %zu means and %zu kernels failed",
           counts.failed, counts.unknown, counts.changes_failed, counts.means_failed, counts.kernels_failed);
  const struct pto_judgement judgement = {.verb = "validate",
                                          .program = path,
                                          .error = is_good ? NULL : sentence,
                                          .exit_code =
                                              pto_write_report(v->options.json_path, put, &told, told.exit_code)};
  return pto_write_judgement(&v->options, &judgement);
}

static void fini(struct validate *v) {
  for (size_t i = 0; v->items && i < v->rows.count; i++) {
    bool is_shared = false;
    for (size_t k = 0; k < i; k++) is_shared |= v->items[k].prediction == v->items[i].prediction;
    if (!is_shared) free(v->items[i].prediction);
  }
  free(v->items);
  pto_rows_fini(&v->rows);
  pto_validated_kernels_fini(&v->kernels);
  pto_parameters_fini(&v->parameters);
  pto_run_options_fini(&v->options);
}

int pto_cmd_validate(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_validate, own_options, help, false};
  struct validate v = {
      .runs = PTO_PREDICT_RUNS, .jitter_ppm = PTO_PREDICT_JITTER_PPM, .at_once = pto_at_once_default()};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &v, &v.options, &code)) {
    if (v.options.programs.count != 1)
      code = pto_complain(PTO_EXIT_USAGE, "validate: one file of rows is wanted, not %zu", v.options.programs.count);
    else if ((code = pto_complain_unwritable(v.options.json_path)) == PTO_EXIT_OK &&
             (code = pto_complain_unwritable(v.page_path)) == PTO_EXIT_OK)
      code = validate(&v);
  }
  fini(&v);
  return code;
}
