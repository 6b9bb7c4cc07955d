/* SPDX-License-Identifier: MIT */
#include <cli/measure/kernel_counters_report.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/base/base.h>

/* A table with the names of its events, and which of these are cycles and instructions: UINT32_MAX where none is. */
struct report {
  const struct pto_kernel_counters_table *table;
  const char *const *names;
  uint32_t cycles, instructions;
};

/* Behind "perf::" or "skl::". */
static const char *own_name(const char *event) {
  const char *colons = strstr(event, "::");
  return colons ? colons + 2 : event;
}

/* PAPI_L1_DCM, PAPI_L2_TCM, PAPI_TLB_DM, PAPI_BR_MSP; CACHE-MISSES, L1-DCACHE-LOAD-MISSES, MEM_LOAD_RETIRED:L3_MISS. */
static bool counts_misses(const char *event) {
  const size_t length = strlen(event);
  if (strncmp(event, "PAPI_", 5) != 0) return strstr(event, "MISS") != NULL;
  if (length < 10) return false;
  return strncmp(event, "PAPI_TLB_", 9) == 0 || strcmp(event, "PAPI_BR_MSP") == 0 ||
         (strncmp(event, "PAPI_L", 6) == 0 && strcmp(event + length - 2, "CM") == 0);
}

static uint32_t find_event(const struct report *report, const char *const *wanted, size_t count) {
  for (uint32_t i = 0; i < report->table->event_count; i++)
    for (size_t k = 0; k < count; k++)
      if (strcmp(own_name(report->names[i]), wanted[k]) == 0) return i;
  return UINT32_MAX;
}

static struct report make_report(const struct pto_kernel_counters_table *table, const char *const *names) {
  /* By PAPI's presets (PAPI_list_events(3)), and by the names of libpfm4 behind their "::". */
  static const char *const cycles[] = {
      "PAPI_TOT_CYC", "CYCLES", "CPU_CYCLES", "CPU_CLK_UNHALTED", "CPU_CLK_UNHALTED:THREAD_P", "UNHALTED_CORE_CYCLES"};
  static const char *const instructions[] = {"PAPI_TOT_INS",       "INSTRUCTIONS",        "INST_RETIRED",
                                             "INST_RETIRED:ANY_P", "INSTRUCTION_RETIRED", "RETIRED_INSTRUCTIONS"};
  struct report report = {.table = table, .names = names};
  report.cycles = find_event(&report, cycles, PTO_ARRAY_LENGTH(cycles));
  report.instructions = find_event(&report, instructions, PTO_ARRAY_LENGTH(instructions));
  return report;
}

static double count_of(const struct pto_kernel_counters_row *row, uint32_t event) {
  return event == UINT32_MAX ? 0 : (double)row->counts[event];
}
static double per_call(const struct pto_kernel_counters_row *row, uint32_t event) {
  return row->calls ? count_of(row, event) / (double)row->calls : 0;
}

static struct pto_kernel_counters_row sum_of(const struct pto_kernel_counters_table *table, uint32_t kinds) {
  struct pto_kernel_counters_row sum = {.kind = (enum pto_core_kind)kinds};
  for (uint32_t r = 0; r < table->row_count; r++) {
    const struct pto_kernel_counters_row *row = &table->rows[r];
    if (!((uint32_t)row->kind & kinds)) continue;
    sum.calls += row->calls;
    sum.stretches += row->stretches;
    for (uint32_t i = 0; i < table->event_count; i++) sum.counts[i] += row->counts[i];
  }
  return sum;
}

/* ---- text ---- */

static void print_row(const struct report *report, const char *title, const struct pto_kernel_counters_row *row,
                      const struct pto_kernel_counters_row *all, FILE *to) {
  const double cycles = count_of(row, report->cycles), instructions = count_of(row, report->instructions);
  fprintf(to, "    %s, %" PRIu64 " calls", title, row->calls);
  if (row->stretches != row->calls) fprintf(to, " in %" PRIu64 " stretches", row->stretches);
  fprintf(to, "\n");
  for (uint32_t i = 0; i < report->table->event_count; i++) {
    fprintf(to, "      %-36s %20" PRId64 " %14.1f", report->names[i], row->counts[i], per_call(row, i));
    if (all->counts[i] > 0) fprintf(to, " %6.1f%%", 100.0 * (double)row->counts[i] / (double)all->counts[i]);
    fprintf(to, "\n");
  }
  if (instructions > 0 && cycles > 0)
    fprintf(to, "        %-34s %20.2f\n", "instructions a cycle", instructions / cycles);
  for (uint32_t i = 0; i < report->table->event_count && instructions > 0; i++)
    if (counts_misses(report->names[i]))
      fprintf(to, "        %-34s %20.3f\n", own_name(report->names[i]), 1000.0 * count_of(row, i) / instructions);
}

void pto_kernel_counters_print(const struct pto_kernel_counters_table *table, const char *const *names, FILE *to) {
  const struct report report = make_report(table, names);
  const struct pto_kernel_counters_row all = sum_of(table, PTO_AIC | PTO_AIV);
  if (table->event_count == 0) return;
  fprintf(to, "  counted by kernel, on %u threads %31s %14s %7s\n", table->thread_count, "events", "a call", "of all");
  for (uint32_t r = 0; r < table->row_count; r++) {
    char title[160];
    snprintf(title, sizeof title, "%s (%s)", table->rows[r].kernel->name,
             table->rows[r].kind == PTO_AIC ? "AIC" : "AIV");
    print_row(&report, title, &table->rows[r], &all, to);
  }
  for (uint32_t kind = PTO_AIC; kind <= PTO_AIV; kind++) {
    const struct pto_kernel_counters_row sum = sum_of(table, kind);
    if (sum.stretches) print_row(&report, kind == PTO_AIC ? "all on AIC" : "all on AIV", &sum, &all, to);
  }
  for (uint32_t i = 0; i < table->event_count; i++)
    fprintf(to, "%s%s about %" PRId64, i ? ", " : "    of it the reading, in each stretch: ", names[i],
            table->reading[i]);
  fprintf(to, "\n");
  if (table->uncounted_calls)
    fprintf(to, "    %" PRIu64 " calls are not counted: %s\n", table->uncounted_calls, table->sentence);
}

/* ---- JSON ---- */

static void put_counts(const struct report *report, const char *key, const int64_t *counts, struct pto_json_writer *w) {
  pto_json_put_object(w, key);
  for (uint32_t i = 0; i < report->table->event_count; i++) pto_json_put_u64(w, report->names[i], (uint64_t)counts[i]);
  pto_json_object_end(w);
}

/* `kernel` NULL: the sum of a kind. */
static void put_row(const struct report *report, const char *kernel, const struct pto_kernel_counters_row *row,
                    struct pto_json_writer *w) {
  const double cycles = count_of(row, report->cycles), instructions = count_of(row, report->instructions);
  pto_json_object_begin(w);
  if (kernel) pto_json_put_string(w, "kernel", kernel);
  pto_json_put_string(w, "core_kind", row->kind == PTO_AIC ? "aic" : "aiv");
  pto_json_put_u64(w, "calls", row->calls);
  pto_json_put_u64(w, "stretches", row->stretches);
  put_counts(report, "events", row->counts, w);
  pto_json_put_object(w, "events_per_call");
  for (uint32_t i = 0; i < report->table->event_count; i++) pto_json_put_double(w, report->names[i], per_call(row, i));
  pto_json_object_end(w);
  if (instructions > 0 && cycles > 0) pto_json_put_double(w, "instructions_per_cycle", instructions / cycles);
  if (instructions > 0) {
    pto_json_put_object(w, "misses_per_1000_instructions");
    for (uint32_t i = 0; i < report->table->event_count; i++)
      if (counts_misses(report->names[i]))
        pto_json_put_double(w, report->names[i], 1000.0 * count_of(row, i) / instructions);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

void pto_kernel_counters_write_json(const struct pto_kernel_counters_table *table, const char *const *names,
                                    struct pto_json_writer *w) {
  const struct report report = make_report(table, names);
  pto_json_put_object(w, "kernel_counters");
  pto_json_put_array(w, "kernels");
  for (uint32_t r = 0; r < table->row_count; r++) put_row(&report, table->rows[r].kernel->name, &table->rows[r], w);
  pto_json_array_end(w);
  pto_json_put_array(w, "core_kinds");
  for (uint32_t kind = PTO_AIC; kind <= PTO_AIV; kind++) {
    const struct pto_kernel_counters_row sum = sum_of(table, kind);
    if (sum.stretches) put_row(&report, NULL, &sum, w);
  }
  pto_json_array_end(w);
  put_counts(&report, "reading", table->reading, w);
  pto_json_put_u64(w, "threads", table->thread_count);
  pto_json_put_u64(w, "uncounted_calls", table->uncounted_calls);
  pto_json_object_end(w);
}
