/* SPDX-License-Identifier: MIT */
/*
 * pto_tools_replay of pto/tools.h: one captured task, run again and compared, as a report.
 *
 * The report owns the replay.  The control thread of its runs.
 */
#include <pto/tools.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <check/task/replay.h>
#include <formats/units.h>
#include <report/findings/report.h>
#include <report/run/exit.h>
#include <runtime/base/sized.h>
#include <runtime/port/core_port.h>

struct task {
  struct pto_report report;
  struct pto_replay_request asked;
  struct pto_task_replay replay;
  uint64_t runs, differing, differing_run; /* the first run that differed, from 1 */
  uint64_t least_ns;
  struct pto_error error;
};

/* ---- the report ---- */

static void print_kernels(const struct task *t, FILE *stream) {
  const char *separator = "";
  for (int role = 0; role < 3; role++)
    if (t->replay.folder.kernels[role].name) {
      fprintf(stream, "%s%s", separator, t->replay.folder.kernels[role].name);
      separator = " + ";
    }
}

static void print(const struct pto_report *report, FILE *to) {
  const struct task *t = (const struct task *)report;
  const struct pto_task_folder *folder = &t->replay.folder;
  char time[32];
  if (!t->runs) return;
  fprintf(to, "task       %" PRIu64 " of %s: ", folder->number, folder->program);
  print_kernels(t, to);
  fprintf(to, ", %" PRIu32 " block%s\n", folder->block_count, folder->block_count == 1 ? "" : "s");
  fprintf(to, "runs       %" PRIu64 ", the fastest in %s\n", t->runs,
          pto_format_seconds((double)t->least_ns * 1e-9, time, sizeof time));
  pto_findings_print(&report->findings, to, 0);
  if (!folder->has_ended)
    fputs("result     nothing to compare with: the run ended before the task did\n", to);
  else if (t->differing)
    fprintf(to, "result     different in run %" PRIu64 "\n", t->differing_run);
  else
    fprintf(to, "result     the same%s\n", t->replay.is_replaced ? " within tolerance" : ", bit by bit");
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct task *t = context;
  const struct pto_task_folder *folder = &t->replay.folder;
  pto_json_put_format(w, "pto-task-run", 1);
  pto_json_put_string(w, "folder", t->asked.folder);
  pto_json_put_string(w, "program", folder->program);
  pto_json_put_u64(w, "task", folder->number);
  pto_json_put_array(w, "kernels");
  for (int role = 0; role < 3; role++)
    if (folder->kernels[role].name) pto_json_string(w, folder->kernels[role].name);
  pto_json_array_end(w);
  pto_json_put_string(w, "kernel_library", t->asked.library);
  pto_json_put_u64(w, "runs", t->runs);
  pto_json_put_u64(w, "least_ns", t->least_ns);
  pto_json_put_bool(w, "compared", folder->has_ended && t->runs);
  pto_json_put_u64(w, "differing_elements", t->differing);
  pto_findings_put_json(&t->report.findings, w);
  pto_json_put_string(w, "status", pto_status_name(t->error.status));
  pto_json_put_u64(w, "exit", (uint64_t)t->report.exit_code);
  pto_json_put_string(w, "error", t->error.sentence[0] ? t->error.sentence : NULL);
}

static void fini(struct pto_report *report) { pto_task_replay_close(&((struct task *)report)->replay); }

/* Of the kernels that ran. */
static bool waits(const struct task *t) {
  bool is_so = false;
  for (int role = 0; role < 3; role++) is_so |= t->replay.kernels[role] && pto_kernel_waits(t->replay.kernels[role]);
  return is_so;
}

static void cover(struct task *t) {
  struct pto_coverage *coverage = &t->report.coverage;
  const struct pto_task_folder *folder = &t->replay.folder;
  uint64_t outputs = 0;
  for (uint32_t i = 0; i < folder->param_count; i++)
    outputs += folder->params[i].memory != PTO_TASK_NO_MEMORY && folder->params[i].mode != PTO_INPUT;
  if (folder->has_ended)
    pto_coverage_add(coverage, PTO_COVERAGE_OUTPUTS, outputs);
  else
    pto_coverage_leave_because(coverage, PTO_COVERAGE_OUTPUTS, outputs, "the run ended before them");
  coverage->subject = "PROGRAM"; /* the folder does not say it with all options */
  pto_coverage_leave(coverage, PTO_COVERAGE_TOUCHED, 1, "check --observe");
  pto_coverage_leave(coverage, PTO_COVERAGE_WAITING_TASKS, waits(t), "check --observe");
}

/* ---- the runs ---- */

static int open_replay(struct task *t) {
  struct pto_config config = {.size = sizeof config};
  int status = pto_sized_take(&config, sizeof config, t->asked.config, "request.config", &t->error);
  if (!status) status = pto_task_replay_open(&t->replay, t->asked.folder, t->asked.library, &config, &t->error);
  if (status) t->report.exit_code = pto_exit_of_setup(status);
  return status;
}

static int run_once(struct task *t) {
  const struct pto_task_tolerance given = {t->asked.rtol, t->asked.atol};
  struct pto_stats stats = {.size = sizeof stats};
  const int status = pto_task_replay_run(&t->replay, &t->error);
  if (status) {
    t->report.exit_code = status == PTO_EINTERRUPTED ? PTO_EXIT_INTERRUPTED
                          : t->replay.refusal.status ? PTO_EXIT_USAGE
                                                     : PTO_EXIT_FAILED;
    return status;
  }
  pto_runtime_stats(t->replay.rt, &stats);
  if (t->runs == 0 || stats.wall_ns < t->least_ns) t->least_ns = stats.wall_ns;
  t->runs++;
  if (!t->replay.folder.has_ended) return PTO_OK;
  t->differing = pto_task_replay_compare(&t->replay, t->asked.has_tolerance ? &given : NULL, &t->report.findings);
  if (t->report.findings.is_short) {
    t->report.exit_code = PTO_EXIT_FAILED;
    return pto_error_set(&t->error, PTO_ENOMEM, "no memory to compare what the task leaves");
  }
  if (!t->differing) return PTO_OK;
  t->differing_run = t->runs;
  t->report.exit_code = PTO_EXIT_FINDINGS;
  return PTO_OK;
}

int pto_tools_replay(const struct pto_replay_request *request, struct pto_report **report_out, char *sentence,
                     size_t sentence_size) {
  struct pto_error error = {.status = PTO_ENOMEM, .sentence = "out of memory"};
  struct task *t = calloc(1, sizeof *t);
  if (!t || pto_sized_take(&t->asked, sizeof t->asked, request, "request", &error)) {
    free(t);
    return pto_error_tell(&error, sentence, sentence_size);
  }
  t->report = (struct pto_report){.print = print, .put = put_report, .fini = fini};
  if (!t->asked.runs) t->asked.runs = 1;
  int status = open_replay(t);
  for (uint64_t i = 0; i < t->asked.runs && !status && !t->differing; i++) status = run_once(t);
  if (t->runs) cover(t);
  t->report.is_clean = t->report.exit_code == PTO_EXIT_OK;
  *report_out = &t->report;
  return status ? pto_error_tell(&t->error, sentence, sentence_size) : PTO_OK;
}
