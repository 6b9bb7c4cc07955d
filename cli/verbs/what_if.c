/* SPDX-License-Identifier: MIT */
/*
 * `ptosim what-if PROGRAM`: what it would take with each number of the chip halved and doubled, and with other clusters
 * and windows.
 *
 * Exit status 0; 2 for bad arguments or a program that cannot run there; 3 where a run failed; 130 after ^C.
 */
#include <cli/main/verb.h>

#include <stdio.h>

#include <check/ranks/ranks.h>
#include <check/what_if/what_if.h>
#include <cli/main/progress_line.h>
#include <cli/run/at_once.h>
#include <cli/run/options.h>
#include <cli/run/request.h>
#include <cli/run/shared.h>
#include <report/file/output_file.h>

#define MOST_AT_ONCE 64u

struct what_if {
  struct pto_run_options options;
  uint32_t at_once;
};

static const struct pto_option_spec own_options[] = {
    {"jobs", "N", "runs at a time (default: the CPUs)", PTO_OPTION_NUMBER(struct what_if, at_once, 1, MOST_AT_ONCE)},
    {"chip", "CHIP", "a chip's name or file (default " PTO_HARDWARE_CHIP ")", .set = NULL},
    {"values", "FILE.json", "elements that the orchestration or a predicate reads", .set = NULL},
    {"assume-zero", NULL, "such elements are 0 where no file gives them", .set = NULL},
    {"report", "FILE.html", "the tables and curves as a page", .set = NULL},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim what-if PROGRAM [--jobs N] [OPTION...]\n\n"
       "What PROGRAM would take in virtual time with each part of the run in half the time, as a verdict of --stats\n"
       "proposes it, and with each number of the chip halved and doubled, one at a time, largest effect first; and\n"
       "with 1 to all clusters and 16 to 16384 slots of a task ring.  Each is a run, exact; kernels\n"
       "are priced and not run, where the program allows that.  `ptosim run --chip-set KEY=VALUE` is one of them.\n"
       "With --ranks N, or of a program for several ranks, each run is of all ranks.\n"
       "The heap stays as it is: `ptosim check --advise` tries windows and heaps.\n");
  pto_run_options_help(PTO_VERB_what_if, own_options);
  puts("\nExit status 0; 2 for bad arguments or a program that cannot run there; 3 where a run failed.");
}

struct told {
  const struct what_if *what_if;
  const struct pto_what_if *asked;
  const struct pto_error *error;
  int exit_code;
};

static void put(struct pto_json_writer *w, const void *context) {
  const struct told *told = context;
  const struct pto_run_options *options = &told->what_if->options;
  pto_json_put_format(w, "pto-what-if", 1);
  pto_json_put_string(w, "program", options->programs.items[0]);
  pto_json_put_string(w, "case", options->case_name);
  if (pto_json_try_key(w, "what_if", told->asked->run_count > 0)) {
    pto_json_object_begin(w);
    pto_what_if_put(told->asked, w);
    pto_json_object_end(w);
  }
  pto_put_end(w, told->error, told->exit_code);
}

static int what_if(struct what_if *v) {
  struct pto_run_options *options = &v->options;
  struct pto_config config;
  struct pto_session_options session = pto_run_options_session(options, &config);
  struct pto_what_if asked;
  struct pto_error error = {.status = PTO_OK};
  if (!config.chip) config.chip = PTO_HARDWARE_CHIP;
  session.text = NULL;
  const uint32_t ranks = options->ranks ? options->ranks : pto_ranks_wanted(&session);
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  int shared = PTO_EXIT_OK, status = pto_what_if_begin(&session, ranks, &asked, &error);
  if (status == PTO_OK && asked.plain.exit_code == PTO_EXIT_OK) {
    shared = pto_shared_begin(options, asked.planned_count, asked.digest);
    if (shared == PTO_EXIT_OK) status = pto_what_if_run(&asked, v->at_once, &options->share, &error);
  }
  pto_progress_line_end();
  if (shared) {
    pto_what_if_fini(&asked);
    return shared;
  }
  int code = asked.chip[0] ? pto_exit_of_run(status) : pto_exit_of_setup(status); /* behind the chip, runs fail */
  if (status == PTO_OK) code = asked.plain.exit_code;
  if (status == PTO_OK && code != PTO_EXIT_OK) pto_error_set(&error, asked.plain.status, "%s", asked.plain.sentence);
  if (code != PTO_EXIT_OK) {
    pto_complain(code, "what-if: %s", error.sentence);
  } else if (pto_share_is_part(&options->share)) {
    code = pto_shared_end(options, PTO_EXIT_OK);
  } else if (!options->quiet && !pto_json_takes_stdout(options->json_path)) {
    printf("%s%s%s on ", options->programs.items[0], options->case_name ? ", case " : "",
           options->case_name ? options->case_name : "");
    pto_what_if_print(&asked, stdout);
  }
  if (code == PTO_EXIT_OK && asked.is_interrupted) code = PTO_EXIT_INTERRUPTED;
  const struct told told = {v, &asked, &error, code};
  const struct pto_report_page_document document = {"what_if", put, &told};
  if (!pto_share_is_part(&options->share)) code = pto_write_report(options->json_path, put, &told, code);
  code = pto_write_page(options->exports[PTO_EXPORT_page], &document, code);
  pto_what_if_fini(&asked);
  return code;
}

int pto_cmd_what_if(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_what_if, own_options, help, true};
  struct what_if v = {.at_once = pto_at_once_default()};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &v, &v.options, &code)) {
    struct pto_error error;
    if (pto_output_probe(v.options.json_path, &error) ||
        pto_report_page_probe(v.options.exports[PTO_EXPORT_page], &error))
      code = pto_complain(PTO_EXIT_USAGE, "what-if: %s", error.sentence);
    else
      code = what_if(&v);
  }
  pto_run_options_fini(&v.options);
  return code;
}
