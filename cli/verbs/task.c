/* SPDX-License-Identifier: MIT */
/*
 * `ptosim task DIR/N`: runs one task that `ptosim run --dump` kept again, alone, and compares what it leaves.
 *
 * A plain process: no recording, no watchdog unless --timeout asks for one, so that gdb, perf and valgrind see the
 * kernel and little else.
 */
#include <stdio.h>

#include <cli/main/fault_report.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <report/findings/report.h>

#define MOST_REPEATS 1000000u

static const struct pto_option_spec extra[] = {
    {"kernel", "FILE.so", "runs the kernels of the same names of this library",
     PTO_OPTION_TEXT(struct pto_replay_request, library)},
    {"repeat", "N", "runs it N times, each from the bytes that were kept (default 1)",
     PTO_OPTION_NUMBER(struct pto_replay_request, runs, 1, MOST_REPEATS)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts(
      "ptosim task DIR/N [OPTION...]\n\n"
      "Runs task N that `ptosim run PROGRAM --dump N DIR` kept again, alone, and compares what it leaves with what "
      "was\n"
      "kept: bit by bit, or with --kernel within --rtol and --atol (default: by dtype).  Engine and chip are those of\n"
      "the run unless given.\n");
  pto_run_options_help(PTO_VERB_task, extra);
  puts("\nExit status 0 where the results are the same, 1 where they differ, 2 for bad arguments, folders or kernels,\n"
       "3 where the task failed, 130 after ^C.");
}

static int run_task(const struct pto_run_options *o, struct pto_replay_request *request) {
  const struct pto_config config = {.size = sizeof config,
                                    .engine = o->engine,
                                    .chip = o->chip,
                                    .workers = o->workers,
                                    .policy = o->policy,
                                    .timeout_ms = o->has_timeout ? o->timeout_ms : 0,
                                    .on_timeout = pto_fault_report_on_timeout,
                                    .stop = pto_interrupt_stop()};
  struct pto_report *report = NULL;
  struct pto_error error;
  request->folder = o->programs.items[0];
  request->has_tolerance = o->has_rtol || o->has_atol;
  request->rtol = o->rtol;
  request->atol = o->atol;
  request->config = &config;
  int code = PTO_EXIT_FAILED;
  pto_fault_report_set_describer(pto_describe_nearest, NULL);
  pto_progress_line_begin(request->folder, !o->quiet);
  const int status = pto_tools_replay(request, &report, error.sentence, sizeof error.sentence);
  pto_progress_line_end();
  if (report) code = pto_tell_report("task", report, o, report->exit_code);
  if (status) pto_complain(0, "task: %s", error.sentence);
  pto_report_destroy(report);
  return code;
}

int pto_cmd_task(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_task, extra, help, false};
  struct pto_replay_request request = {.size = sizeof request};
  struct pto_run_options options;
  int code;
  if (pto_run_options_begin(&form, argc, argv, &request, &options, &code)) {
    if (options.programs.count != 1)
      code = pto_complain(PTO_EXIT_USAGE, "task: one folder that `ptosim run --dump` made, not %zu",
                          options.programs.count);
    else if ((code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = run_task(&options, &request);
  }
  pto_run_options_fini(&options);
  return code;
}
