/* SPDX-License-Identifier: MIT */
/*
 * `ptosim diff A.json B.json`: what differs between the graphs of two runs, from the files of --deps-json.
 */
#include <stdio.h>

#include <cli/run/request.h>

static void help(const struct pto_run_options *options) {
  puts("ptosim diff A.json B.json [OPTION...]\n\n"
       "What differs between the task graphs of two runs, each a file of `ptosim run --deps-json`.\n");
  pto_run_options_help(PTO_VERB_diff, NULL);
  puts("\nLeaves with 0 where the graphs are the same, 1 where they differ, 2 for bad arguments or files.");
}

static int compare(const struct pto_run_options *options) {
  const char *const *paths = options->programs.items;
  char sentence[PTO_SENTENCE_SIZE];
  struct pto_report *report;
  const int status = pto_tools_diff(paths[0], paths[1], &report, sentence, sizeof sentence);
  if (status) return pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "diff: %s", sentence);
  const int code = pto_tell_report(report, options, pto_report_is_clean(report) ? PTO_EXIT_OK : PTO_EXIT_FINDINGS);
  pto_report_destroy(report);
  return code;
}

int pto_cmd_diff(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_diff, NULL, help, false};
  struct pto_run_options options;
  int code;
  if (pto_run_options_begin(&form, argc, argv, NULL, &options, &code)) {
    if (options.programs.count != 2)
      code =
          pto_complain(PTO_EXIT_USAGE, "diff: two files of --deps-json are compared, not %zu", options.programs.count);
    else if ((code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = compare(&options);
  }
  pto_run_options_fini(&options);
  return code;
}
