/* SPDX-License-Identifier: MIT */
/*
 * `ptosim task DIR/N`: runs one task that `ptosim run --dump` kept again, alone, and compares what it leaves.
 *
 * A plain process: no recording, no watchdog unless --timeout asks for one, so that gdb, perf and valgrind see the
 * kernel and little else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/task/replay.h>
#include <formats/units.h>
#include <cli/main/fault_report.h>
#include <report/findings/findings.h>
#include <cli/run/options.h>
#include <report/run/result.h>
#include <cli/main/verb.h>

#define MOST_REPEATS 1000000u

struct task {
  struct pto_run_options options;
  const char *library_path;
  uint64_t repeat;
  struct pto_task_replay replay;
  struct pto_findings findings;
  uint64_t runs, differing, differing_run; /* the first run that differed, from 1 */
  uint64_t least_ns;
  int exit_code;
  struct pto_error error;
};

/* ---- options ---- */

static const struct pto_option_spec extra[] = {
    {"kernel", "FILE.so", "runs the kernels of the same names of this library",
     PTO_OPTION_TEXT(struct task, library_path)},
    {"repeat", "N", "runs it N times, each from the bytes that were kept (default 1)",
     PTO_OPTION_NUMBER(struct task, repeat, 1, MOST_REPEATS)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts(
      "ptosim task DIR/N [OPTION...]\n\n"
      "Runs task N that `ptosim run PROGRAM --dump N DIR` kept again, alone, and compares what it leaves with what "
      "was\n"
      "kept: bit by bit, or with --kernel within --rtol and --atol (default: by dtype).  Engine and chip are those of\n"
      "the run unless given.\n");
  pto_run_options_help(PTO_VERB_task, extra);
  puts("\nLeaves with 0 where the results are the same, 1 where they differ, 2 for bad arguments, folders or kernels,\n"
       "3 where the task failed.");
}

/* ---- report ---- */

static void print_kernels(const struct task *t, FILE *stream) {
  const char *separator = "";
  for (int role = 0; role < 3; role++)
    if (t->replay.folder.kernels[role].name) {
      fprintf(stream, "%s%s", separator, t->replay.folder.kernels[role].name);
      separator = " + ";
    }
}

static void print(const struct task *t) {
  const struct pto_task_folder *folder = &t->replay.folder;
  char time[32];
  printf("task       %" PRIu64 " of %s: ", folder->number, folder->program);
  print_kernels(t, stdout);
  printf(", %" PRIu32 " block%s\n", folder->block_count, folder->block_count == 1 ? "" : "s");
  printf("runs       %" PRIu64 ", the fastest in %s\n", t->runs,
         pto_format_seconds((double)t->least_ns * 1e-9, time, sizeof time));
  pto_findings_print(&t->findings, stdout, 0);
  if (!folder->has_ended)
    puts("result     nothing to compare with: the run ended before the task did");
  else if (t->differing)
    printf("result     different in run %" PRIu64 "\n", t->differing_run);
  else
    puts(t->replay.is_replaced ? "result     the same within tolerance" : "result     the same, bit by bit");
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct task *t = context;
  const struct pto_task_folder *folder = &t->replay.folder;
  pto_json_put_string(w, "folder", t->options.programs.count ? t->options.programs.items[0] : NULL);
  pto_json_put_string(w, "program", folder->program);
  pto_json_put_u64(w, "task", folder->number);
  pto_json_put_array(w, "kernels");
  for (int role = 0; role < 3; role++)
    if (folder->kernels[role].name) pto_json_string(w, folder->kernels[role].name);
  pto_json_array_end(w);
  pto_json_put_string(w, "kernel_library", t->library_path);
  pto_json_put_u64(w, "runs", t->runs);
  pto_json_put_u64(w, "least_ns", t->least_ns);
  pto_json_put_bool(w, "compared", folder->has_ended && t->runs);
  pto_json_put_u64(w, "differing_elements", t->differing);
  pto_findings_put_json(&t->findings, w);
  pto_put_end(w, &t->error, t->exit_code);
}

static int finish(struct task *t) {
  if (!t->options.quiet && !pto_json_takes_stdout(t->options.json_path) && t->runs) print(t);
  fflush(stdout);
  if (t->error.sentence[0]) pto_complain(0, "task: %s", t->error.sentence);
  return pto_write_report(t->options.json_path, put_report, t, t->exit_code);
}

/* ---- the runs ---- */

static int exit_of(int status) {
  return status == PTO_ENOMEM || status == PTO_ESYSTEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE;
}

static int open_replay(struct task *t) {
  const struct pto_run_options *o = &t->options;
  struct pto_config config = {.size = sizeof config,
                              .engine = o->engine,
                              .chip = o->chip,
                              .workers = o->workers,
                              .policy = o->policy,
                              .timeout_ms = o->has_timeout ? o->timeout_ms : 0,
                              .on_timeout = pto_fault_report_on_timeout};
  int status = pto_task_replay_open(&t->replay, o->programs.items[0], t->library_path, &config, &t->error);
  return status ? t->exit_code = exit_of(status) : PTO_EXIT_OK;
}

static void run_once(struct task *t) {
  struct pto_task_tolerance given = {t->options.rtol, t->options.atol};
  const bool has_tolerance = t->options.has_rtol || t->options.has_atol;
  struct pto_stats stats = {.size = sizeof stats};
  int status = pto_task_replay_run(&t->replay, &t->error);
  if (status) {
    t->exit_code = t->replay.refusal.status ? PTO_EXIT_USAGE : PTO_EXIT_FAILED;
    return;
  }
  pto_runtime_stats(t->replay.rt, &stats);
  if (t->runs == 0 || stats.wall_ns < t->least_ns) t->least_ns = stats.wall_ns;
  t->runs++;
  if (!t->replay.folder.has_ended) return;
  t->differing = pto_task_replay_compare(&t->replay, has_tolerance ? &given : NULL, &t->findings);
  if (!t->differing) return;
  t->differing_run = t->runs;
  t->exit_code = PTO_EXIT_FINDINGS;
}

static int run_task(struct task *t) {
  pto_findings_init(&t->findings);
  if (pto_fault_report_init(pto_fault_report_say, NULL, &t->error))
    return pto_complain(PTO_EXIT_FAILED, "task: %s", t->error.sentence);
  int code = open_replay(t);
  for (uint64_t i = 0; i < t->repeat && t->exit_code == PTO_EXIT_OK && code == PTO_EXIT_OK; i++) run_once(t);
  code = finish(t);
  pto_task_replay_close(&t->replay);
  pto_findings_fini(&t->findings);
  pto_fault_report_fini();
  return code;
}

int pto_cmd_task(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_task, extra, help, false};
  static struct task task;
  int code;
  task = (struct task){.repeat = 1};
  if (pto_run_options_begin(&form, argc, argv, &task, &task.options, &code)) {
    if (task.options.programs.count != 1)
      code = pto_complain(PTO_EXIT_USAGE, "task: one folder that `ptosim run --dump` made, not %zu",
                          task.options.programs.count);
    else if ((code = pto_complain_unwritable(task.options.json_path)) == PTO_EXIT_OK)
      code = run_task(&task);
  }
  pto_run_options_fini(&task.options);
  return code;
}
