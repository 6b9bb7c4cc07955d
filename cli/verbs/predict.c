/* SPDX-License-Identifier: MIT */
/*
 * `ptosim predict PROGRAM`: what a program takes on a chip, in virtual time, and how sure that is.
 *
 * Exit status 0; 2 for bad arguments or a program that cannot run there; 3 where a run failed.
 */
#include <cli/main/verb.h>

#include <stdio.h>

#include <check/predict/predict.h>
#include <check/ranks/ranks.h>
#include <cli/main/progress_line.h>
#include <cli/run/at_once.h>
#include <cli/run/judgement.h>
#include <cli/run/options.h>
#include <cli/run/request.h>
#include <world/exchange.h>

#define MOST_AT_ONCE 64u

struct predict {
  struct pto_run_options options;
  uint32_t runs, jitter_ppm, at_once;
};

static int set_jitter(void *target, const char *value, struct pto_error *error) {
  return pto_parse_jitter(value, target, error);
}

static const struct pto_option_spec own_options[] = {
    {"runs", "N", "with jitter, each of another seed (default 15)",
     PTO_OPTION_NUMBER(struct predict, runs, 0, PTO_PREDICT_MOST_RUNS)},
    {"jitter", "PERCENT", "that kernels vary by, as a standard deviation (default 5%)", .set = set_jitter,
     .field = offsetof(struct predict, jitter_ppm)},
    {"jobs", "N", "runs at a time (default: the CPUs)", PTO_OPTION_NUMBER(struct predict, at_once, 1, MOST_AT_ONCE)},
    {"chip", "CHIP", "a chip's name or file (default " PTO_HARDWARE_CHIP ")", .set = NULL},
    {"values", "FILE.json", "elements that the orchestration or a predicate reads", .set = NULL},
    {"assume-zero", NULL, "such elements are 0 where no file gives them", .set = NULL},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim predict PROGRAM [--runs N] [--jitter PERCENT] [OPTION...]\n\n"
       "What PROGRAM takes on a chip, in virtual time: one run without jitter, N with jitter of other seeds, and what\n"
       "bounds it.  Kernels are priced and not run, where the program allows that.  With --ranks N, or of a program "
       "for\n"
       "several ranks, each run is of all ranks.\n");
  pto_run_options_help(PTO_VERB_predict, own_options);
  puts("\nExit status 0; 2 for bad arguments or a program that cannot run there; 3 where a run failed.");
}

struct told {
  const struct predict *predict;
  const struct pto_prediction *prediction;
  const struct pto_error *error;
  int exit_code;
};

static void put(struct pto_json_writer *w, const void *context) {
  const struct told *told = context;
  const struct pto_run_options *options = &told->predict->options;
  pto_json_put_format(w, "pto-predict", 1);
  pto_json_put_string(w, "program", options->programs.items[0]);
  pto_json_put_string(w, "case", options->case_name);
  pto_json_put_u64(w, "seed", options->seed);
  struct pto_coverage coverage = {.is_known = false};
  if (pto_json_try_key(w, "prediction", told->exit_code == PTO_EXIT_OK || told->prediction->is_interrupted)) {
    pto_json_object_begin(w);
    pto_prediction_put(told->prediction, w);
    pto_json_object_end(w);
    coverage = pto_prediction_coverage(told->prediction, options->subject);
  }
  pto_coverage_put_json(&coverage, w);
  pto_put_end(w, told->error, told->exit_code);
}

static int predict(const struct predict *p) {
  const struct pto_run_options *options = &p->options;
  struct pto_config config;
  struct pto_session_options asked = pto_run_options_session(options, &config);
  struct pto_prediction prediction;
  struct pto_error error = {.status = PTO_OK};
  if (!config.chip) config.chip = PTO_HARDWARE_CHIP;
  asked.text = NULL;
  const struct pto_prediction_asked question = {.options = &asked,
                                                .ranks = options->ranks ? options->ranks : pto_ranks_wanted(&asked),
                                                .runs = p->runs,
                                                .jitter_ppm = p->jitter_ppm,
                                                .at_once = p->at_once};
  if (question.ranks && pto_exchange_process_count() > 1)
    return pto_complain(PTO_EXIT_USAGE, "predict: ranks are judged in one process, not in several");
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  const int status = pto_predict(&question, &prediction, &error);
  pto_progress_line_end();
  int code = prediction.chip[0] ? pto_exit_of_run(status) : pto_exit_of_setup(status); /* behind the chip, runs fail */
  if (status == PTO_OK) code = prediction.plain.exit_code;
  if (status == PTO_OK && code != PTO_EXIT_OK)
    pto_error_set(&error, prediction.plain.status, "%s", prediction.plain.sentence);
  if (code != PTO_EXIT_OK) {
    pto_complain(code, "predict: %s", error.sentence);
  } else if (!options->quiet && !pto_run_options_take_stdout(options)) {
    printf("%s%s%s\n", options->programs.items[0], options->case_name ? ", case " : "",
           options->case_name ? options->case_name : "");
    const struct pto_coverage coverage = pto_prediction_coverage(&prediction, options->subject);
    pto_prediction_print(&prediction, stdout);
    pto_coverage_print(&coverage, stdout);
  }
  if (code == PTO_EXIT_OK && prediction.is_interrupted) {
    pto_error_set(&error, PTO_EINTERRUPTED, "interrupted after %u of %u runs with jitter", prediction.runs, p->runs);
    code = pto_complain(PTO_EXIT_INTERRUPTED, "predict: %s", error.sentence);
  }
  const struct told told = {p, &prediction, &error, code};
  const struct pto_judgement judgement = {.verb = "predict",
                                          .program = options->programs.items[0],
                                          .case_name = options->case_name,
                                          .error = code == PTO_EXIT_OK ? NULL : error.sentence,
                                          .exit_code = pto_write_report(options->json_path, put, &told, code)};
  return pto_write_judgement(options, &judgement);
}

int pto_cmd_predict(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_predict, own_options, help, true};
  struct predict p = {.runs = PTO_PREDICT_RUNS, .jitter_ppm = PTO_PREDICT_JITTER_PPM, .at_once = pto_at_once_default()};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &p, &p.options, &code)) {
    code = pto_complain_unwritable(p.options.json_path);
    if (code == PTO_EXIT_OK) code = predict(&p);
  }
  pto_run_options_fini(&p.options);
  return code;
}
