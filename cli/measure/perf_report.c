/* SPDX-License-Identifier: MIT */
#include <cli/measure/perf_report.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <formats/json_writer.h>
#include <formats/units.h>
#include <cli/main/verb.h>
#include <pto/kernel.h>

#define LANES 3u
/* Fewer samples than this say little: the error of a share of one half is then more than five points. */
#define FEW_SAMPLES 100u

static const char *const kind_names[] = {"AIC", "AIV"};
static uint32_t kind_of(uint32_t core) { return core % LANES == 0 ? 0 : 1; }

static const char *kernel_name(const struct pto_kernel *kernel) { return kernel ? kernel->name : "?"; }

static double share(const struct pto_perf_join *join, uint64_t period) {
  return join->rounds.period ? (double)period / (double)join->rounds.period : 0;
}

static void add_weight(struct pto_perf_weight *sum, const struct pto_perf_weight *weight) {
  sum->samples += weight->samples;
  sum->period += weight->period;
}

/* Of the cores of a kind. */
struct kind_sum {
  struct pto_perf_weight weight;
  uint64_t call_ns;
  uint32_t core_count, used_count, heaviest;
};

static struct kind_sum sum_kind(const struct pto_perf_join *join, uint32_t kind) {
  struct kind_sum sum = {.heaviest = UINT32_MAX};
  for (uint32_t core = 0; core < join->core_count; core++) {
    const struct pto_perf_core *c = &join->cores[core];
    if (kind_of(core) != kind) continue;
    sum.core_count++;
    add_weight(&sum.weight, &c->weight);
    sum.call_ns += c->call_ns;
    if (c->calls == 0) continue;
    sum.used_count++;
    if (sum.heaviest == UINT32_MAX || c->weight.period > join->cores[sum.heaviest].weight.period) sum.heaviest = core;
  }
  return sum;
}

static double share_of_rows(const struct pto_perf_join *join, const struct pto_perf_row *rows, size_t count) {
  struct pto_perf_weight sum = {0};
  for (size_t i = 0; i < count; i++) add_weight(&sum, &rows[i].weight);
  return share(join, sum.period);
}

/* Indices of the kinds of work, heaviest first. */
static void order_works(const struct pto_perf_join *join, uint32_t order[PTO_PERF_WORK_COUNT]) {
  for (uint32_t i = 0; i < PTO_PERF_WORK_COUNT; i++) {
    uint32_t k = i;
    for (; k > 0 && join->works[order[k - 1]].weight.period < join->works[i].weight.period; k--)
      order[k] = order[k - 1];
    order[k] = i;
  }
}

/* ---- for people ---- */

static const char *module_name(const char *module) {
  const char *slash = strrchr(module, '/');
  return slash ? slash + 1 : module;
}

/* The columns that all tables have: what, its share, its samples. */
static void print_weight(const struct pto_perf_join *join, const char *name, const struct pto_perf_weight *weight) {
  printf("    %-34.34s %7.1f%% %8" PRIu64, name, 100 * share(join, weight->period), weight->samples);
}

static void print_symbols(const struct pto_perf_report *report, const struct pto_perf_row *row) {
  for (size_t i = 0; i < row->symbol_count && i < report->top; i++)
    printf("      %5.1f%%  %-44.44s %s\n", 100 * share(report->join, row->symbols[i].weight.period),
           row->symbols[i].name, module_name(row->symbols[i].module));
  if (row->symbol_count > report->top) printf("              … and %zu more\n", row->symbol_count - report->top);
}

static void print_kernels(const struct pto_perf_report *report) {
  char total[32], mean[32];
  printf("\n  %-36s %8s %8s %10s %12s %12s\n", "kernels, and symbols within", "share", "samples", "calls", "total",
         "mean");
  for (size_t i = 0; i < report->join->kernel_count; i++) {
    const struct pto_perf_row *row = &report->join->kernels[i];
    const double seconds = (double)row->call_ns * 1e-9;
    print_weight(report->join, kernel_name(row->kernel), &row->weight);
    printf(" %10" PRIu64 " %12s %12s\n", row->calls, pto_format_seconds(seconds, total, sizeof total),
           pto_format_seconds(seconds / (double)row->calls, mean, sizeof mean));
    print_symbols(report, row);
  }
}

static void print_works(const struct pto_perf_report *report) {
  uint32_t order[PTO_PERF_WORK_COUNT];
  order_works(report->join, order);
  printf("\n  %-36s %8s %8s\n", "control work, and symbols within", "share", "samples");
  for (uint32_t i = 0; i < PTO_PERF_WORK_COUNT; i++) {
    const struct pto_perf_row *row = &report->join->works[order[i]];
    if (row->weight.samples == 0) continue;
    print_weight(report->join, pto_perf_work_name(order[i]), &row->weight);
    printf("   %s\n", pto_perf_work_meaning(order[i]));
    print_symbols(report, row);
  }
}

static void print_cores(const struct pto_perf_join *join) {
  char used[32], text[32];
  printf("\n  %-36s %8s %8s %10s %12s\n", "cores", "share", "samples", "used", "total");
  for (uint32_t kind = 0; kind < 2; kind++) {
    const struct kind_sum sum = sum_kind(join, kind);
    snprintf(used, sizeof used, "%u of %u", sum.used_count, sum.core_count);
    print_weight(join, kind_names[kind], &sum.weight);
    printf(" %10s %12s", used, pto_format_seconds((double)sum.call_ns * 1e-9, text, sizeof text));
    if (sum.heaviest != UINT32_MAX)
      printf("   most: core %u with %.1f%%", sum.heaviest, 100 * share(join, join->cores[sum.heaviest].weight.period));
    putchar('\n');
  }
}

static void print_tasks(const struct pto_perf_report *report) {
  const struct pto_perf_join *join = report->join;
  if (join->task_count == 0) return;
  printf("\n  %-36s %8s %8s\n", "tasks", "share", "samples");
  for (size_t i = 0; i < join->task_count && i < report->top; i++) {
    char name[48];
    snprintf(name, sizeof name, "%-10u %.23s", join->tasks[i].task, kernel_name(join->tasks[i].kernel));
    print_weight(join, name, &join->tasks[i].weight);
    putchar('\n');
  }
}

void pto_perf_report_print(const struct pto_perf_report *report) {
  const struct pto_perf_join *join = report->join;
  const struct pto_run_result *result = report->result;
  const uint64_t all = join->rounds.samples + join->outside.samples;
  printf("\n%" PRIu64 " samples of %s at %u Hz, %" PRIu64 " of them within %u round%s of %s on %s with %u threads\n",
         all, join->event[0] ? join->event : "nothing", report->frequency_hz, join->rounds.samples, result->rounds,
         result->rounds == 1 ? "" : "s", result->program, result->chip, result->workers);
  printf("  kernels %.1f%%, control work %.1f%%, other threads %.1f%%\n",
         100 * share_of_rows(join, join->kernels, join->kernel_count),
         100 * share_of_rows(join, join->works, PTO_PERF_WORK_COUNT), 100 * share(join, join->strangers.period));
  if (join->rounds.samples < FEW_SAMPLES)
    printf("  too few samples for shares to mean much: take more rounds (--rounds %u)\n",
           join->rounds.samples ? (uint32_t)(10 * FEW_SAMPLES * result->rounds / join->rounds.samples)
                                : 1000 * result->rounds);
  if (join->dropped)
    printf("  (%" PRIu64 " records of the timeline did not fit; kernels without one count as control work)\n",
           join->dropped);
  print_kernels(report);
  print_works(report);
  print_cores(join);
  print_tasks(report);
}

/* ---- JSON ---- */

static void put_weight(struct pto_json_writer *w, const struct pto_perf_join *join,
                       const struct pto_perf_weight *weight) {
  pto_json_put_double(w, "share", share(join, weight->period));
  pto_json_put_u64(w, "samples", weight->samples);
  pto_json_put_u64(w, "events", weight->period);
}

static void put_calls(struct pto_json_writer *w, uint64_t calls, uint64_t call_ns) {
  pto_json_put_u64(w, "calls", calls);
  pto_json_put_double(w, "call_seconds", (double)call_ns * 1e-9);
}

/* A kernel, or a kind of control work, which has no calls. */
static void put_row(struct pto_json_writer *w, const struct pto_perf_join *join, const char *name,
                    const struct pto_perf_row *row, bool is_kernel) {
  pto_json_object_begin(w);
  pto_json_put_string(w, "name", name);
  put_weight(w, join, &row->weight);
  if (is_kernel) put_calls(w, row->calls, row->call_ns);
  pto_json_put_array(w, "symbols");
  for (size_t i = 0; i < row->symbol_count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", row->symbols[i].name);
    pto_json_put_string(w, "module", row->symbols[i].module);
    put_weight(w, join, &row->symbols[i].weight);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_rows(struct pto_json_writer *w, const struct pto_perf_join *join) {
  pto_json_put_array(w, "kernels");
  for (size_t i = 0; i < join->kernel_count; i++)
    put_row(w, join, kernel_name(join->kernels[i].kernel), &join->kernels[i], true);
  pto_json_array_end(w);
  pto_json_put_array(w, "control");
  for (uint32_t i = 0; i < PTO_PERF_WORK_COUNT; i++) put_row(w, join, pto_perf_work_name(i), &join->works[i], false);
  pto_json_array_end(w);
}

static void put_cores(struct pto_json_writer *w, const struct pto_perf_join *join) {
  pto_json_put_array(w, "core_kinds");
  for (uint32_t kind = 0; kind < 2; kind++) {
    const struct kind_sum sum = sum_kind(join, kind);
    pto_json_object_begin(w);
    pto_json_put_string(w, "kind", kind_names[kind]);
    pto_json_put_u64(w, "cores", sum.core_count);
    pto_json_put_u64(w, "used", sum.used_count);
    put_weight(w, join, &sum.weight);
    pto_json_put_double(w, "call_seconds", (double)sum.call_ns * 1e-9);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_array(w, "cores");
  for (uint32_t core = 0; core < join->core_count; core++) {
    if (join->cores[core].calls == 0) continue;
    pto_json_object_begin(w);
    pto_json_put_u64(w, "core", core);
    pto_json_put_string(w, "kind", kind_names[kind_of(core)]);
    put_weight(w, join, &join->cores[core].weight);
    put_calls(w, join->cores[core].calls, join->cores[core].call_ns);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_tasks(struct pto_json_writer *w, const struct pto_perf_report *report) {
  const struct pto_perf_join *join = report->join;
  pto_json_put_array(w, "tasks");
  for (size_t i = 0; i < join->task_count && i < report->top; i++) {
    pto_json_object_begin(w);
    pto_json_put_u64(w, "task", join->tasks[i].task);
    pto_json_put_string(w, "kernel", kernel_name(join->tasks[i].kernel));
    put_weight(w, join, &join->tasks[i].weight);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_samples(struct pto_json_writer *w, const struct pto_perf_report *report) {
  const struct pto_perf_join *join = report->join;
  pto_json_put_string(w, "event", join->event[0] ? join->event : NULL);
  pto_json_put_u64(w, "frequency_hz", report->frequency_hz);
  pto_json_put_u64(w, "samples", join->rounds.samples + join->outside.samples);
  pto_json_put_u64(w, "round_samples", join->rounds.samples);
  pto_json_put_u64(w, "round_events", join->rounds.period);
  pto_json_put_u64(w, "other_thread_samples", join->strangers.samples);
  pto_json_put_u64(w, "dropped_records", join->dropped);
  put_rows(w, join);
  put_cores(w, join);
  put_tasks(w, report);
}

void pto_perf_report_put(struct pto_json_writer *w, const void *context) {
  const struct pto_perf_report *report = context;
  const struct pto_run_result *result = report->result;
  pto_json_put_format(w, "pto-perf", 1);
  pto_json_put_string(w, "program", result->program);
  pto_json_put_string(w, "case", result->case_name);
  pto_json_put_string(w, "engine", result->engine);
  pto_json_put_string(w, "chip", result->chip);
  pto_json_put_u64(w, "workers", result->workers);
  pto_json_put_u64(w, "rounds", result->rounds);
  if (pto_json_try_key(w, "wall_seconds", result->has_time)) pto_json_double(w, result->wall_seconds);
  if (report->join) put_samples(w, report);
  pto_put_end(w, &result->error, result->exit_code);
}
