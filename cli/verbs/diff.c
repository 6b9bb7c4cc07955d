/* SPDX-License-Identifier: MIT */
/*
 * `ptosim diff A B`: what differs between the graphs of two runs, of files of --deps-json, captures or programs.
 */
#include <stdio.h>

#include <cli/main/progress_line.h>
#include <cli/run/request.h>

static void help(const struct pto_run_options *options) {
  puts("ptosim diff A B [OPTION...]\n\n"
       "What differs between the task graphs of two runs, each a file of `ptosim run --deps-json` (A.json B.json), a\n"
       "capture of `ptosim import`, or a program, which is run.  With a capture edges alone are compared.  Options are "
       "for\nprograms that are no captures.\n");
  pto_run_options_help(PTO_VERB_diff, NULL);
  puts("\nExit status 0 where the graphs are the same, 1 where they differ, 2 for bad arguments or files.");
}

static int compare(const struct pto_run_options *options) {
  const char *const *paths = options->programs.items;
  char sentence[PTO_SENTENCE_SIZE];
  struct pto_report *report;
  struct pto_config config = {.size = sizeof config, .chip = options->chip, .deps = options->deps};
  struct pto_session_options sides[2];
  for (int i = 0; i < 2; i++)
    sides[i] = (struct pto_session_options){.size = sizeof sides[i],
                                            .program = paths[i],
                                            .case_name = options->case_name,
                                            .settings = {options->settings.items, (uint32_t)options->settings.count},
                                            .seed = options->seed,
                                            .has_deps = options->has_deps,
                                            .config = &config};
  pto_progress_line_begin("diff", !options->quiet);
  pto_progress_line_stage("comparing", 0, 0);
  const int status = pto_tools_diff_programs(&sides[0], &sides[1], &report, sentence, sizeof sentence);
  pto_progress_line_end();
  if (status) return pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "diff: %s", sentence);
  const int code =
      pto_tell_report("diff", report, options, pto_report_is_clean(report) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS);
  pto_report_destroy(report);
  return code;
}

int pto_cmd_diff(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_diff, NULL, help, false};
  struct pto_run_options options;
  int code;
  if (pto_run_options_begin(&form, argc, argv, NULL, &options, &code)) {
    if (options.programs.count != 2)
      code = pto_complain(PTO_EXIT_USAGE, "diff: two files of --deps-json, or programs, are compared, not %zu",
                          options.programs.count);
    else if ((code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = compare(&options);
  }
  pto_run_options_fini(&options);
  return code;
}
