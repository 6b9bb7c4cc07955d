/* SPDX-License-Identifier: MIT */
#include <cli/kernel_counters_report.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/base/base.h>

/* ---- ratios ---- */

/* What an event is, by PAPI's presets (PAPI_list_events(3)) and by the names of libpfm4 behind their "::". */
static const char *const cycles_names[] = {
    "PAPI_TOT_CYC", "CYCLES", "CPU_CYCLES", "CPU_CLK_UNHALTED", "CPU_CLK_UNHALTED:THREAD_P", "UNHALTED_CORE_CYCLES"};
static const char *const instruction_names[] = {"PAPI_TOT_INS",       "INSTRUCTIONS",        "INST_RETIRED",
                                                "INST_RETIRED:ANY_P", "INSTRUCTION_RETIRED", "RETIRED_INSTRUCTIONS"};

/* Behind "perf::" or "skl::". */
static const char *own_name(const char *event) {
  const char *colons = strstr(event, "::");
  return colons ? colons + 2 : event;
}

static bool is_among(const char *event, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(own_name(event), names[i]) == 0) return true;
  return false;
}

/* PAPI_L1_DCM, PAPI_L2_TCM, PAPI_TLB_DM, PAPI_BR_MSP; CACHE-MISSES, L1-DCACHE-LOAD-MISSES, MEM_LOAD_RETIRED:L3_MISS. */
static bool counts_misses(const char *event) {
  const size_t length = strlen(event);
  const char *end = event + length;
  if (strncmp(event, "PAPI_", 5) != 0) return strstr(event, "MISS") != NULL;
  if (length < 10) return false;
  return strncmp(event, "PAPI_TLB_", 9) == 0 || strcmp(event, "PAPI_BR_MSP") == 0 ||
         (strncmp(event, "PAPI_L", 6) == 0 && strcmp(end - 2, "CM") == 0);
}

/* Index of the event, UINT32_MAX where it was not counted. */
static uint32_t find_event(const char *const *names, uint32_t count, const char *const *wanted, size_t wanted_count) {
  for (uint32_t i = 0; i < count; i++)
    if (is_among(names[i], wanted, wanted_count)) return i;
  return UINT32_MAX;
}

struct ratios {
  uint32_t cycles, instructions; /* indices of events; UINT32_MAX: there is none */
};

static struct ratios find_ratios(const struct pto_kernel_counters_table *table, const char *const *names) {
  return (struct ratios){find_event(names, table->event_count, cycles_names, PTO_ARRAY_LENGTH(cycles_names)),
                         find_event(names, table->event_count, instruction_names, PTO_ARRAY_LENGTH(instruction_names))};
}

static bool has_instructions(const struct ratios *ratios, const struct pto_kernel_counters_row *row) {
  return ratios->instructions != UINT32_MAX && row->counts[ratios->instructions] > 0;
}
static bool has_ipc(const struct ratios *ratios, const struct pto_kernel_counters_row *row) {
  return has_instructions(ratios, row) && ratios->cycles != UINT32_MAX && row->counts[ratios->cycles] > 0;
}
static double ipc(const struct ratios *ratios, const struct pto_kernel_counters_row *row) {
  return (double)row->counts[ratios->instructions] / (double)row->counts[ratios->cycles];
}
static double per_1000(const struct ratios *ratios, const struct pto_kernel_counters_row *row, uint32_t event) {
  return 1000.0 * (double)row->counts[event] / (double)row->counts[ratios->instructions];
}
static double per_call(const struct pto_kernel_counters_row *row, uint32_t event) {
  return row->calls ? (double)row->counts[event] / (double)row->calls : 0;
}

/* ---- sums ---- */

static struct pto_kernel_counters_row sum_of(const struct pto_kernel_counters_table *table, uint32_t kinds) {
  struct pto_kernel_counters_row sum = {.kind = PTO_CLUSTER};
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

static const char *kind_name(enum pto_core_kind kind) { return kind == PTO_AIC ? "AIC" : "AIV"; }

static void print_ratios(const struct pto_kernel_counters_table *table, const char *const *names,
                         const struct ratios *ratios, const struct pto_kernel_counters_row *row, FILE *to) {
  if (has_ipc(ratios, row)) fprintf(to, "        %-34s %20.2f\n", "instructions a cycle", ipc(ratios, row));
  for (uint32_t i = 0; i < table->event_count && has_instructions(ratios, row); i++)
    if (counts_misses(names[i])) fprintf(to, "        %-34s %20.3f\n", own_name(names[i]), per_1000(ratios, row, i));
}

static void print_row(const struct pto_kernel_counters_table *table, const char *const *names, const char *title,
                      const struct pto_kernel_counters_row *row, const struct pto_kernel_counters_row *all, FILE *to) {
  const struct ratios ratios = find_ratios(table, names);
  fprintf(to, "    %s, %" PRIu64 " calls", title, row->calls);
  if (row->stretches != row->calls) fprintf(to, " in %" PRIu64 " stretches", row->stretches);
  fprintf(to, "\n");
  for (uint32_t i = 0; i < table->event_count; i++) {
    fprintf(to, "      %-36s %20" PRId64 " %14.1f", names[i], row->counts[i], per_call(row, i));
    if (all->counts[i] > 0) fprintf(to, " %6.1f%%", 100.0 * (double)row->counts[i] / (double)all->counts[i]);
    fprintf(to, "\n");
  }
  print_ratios(table, names, &ratios, row, to);
}

void pto_kernel_counters_print(const struct pto_kernel_counters_table *table, const char *const *names, FILE *to) {
  const struct pto_kernel_counters_row all = sum_of(table, PTO_AIC | PTO_AIV);
  if (table->event_count == 0) return;
  fprintf(to, "  counted by kernel, on %u threads %31s %14s %7s\n", table->thread_count, "events", "a call", "of all");
  for (uint32_t r = 0; r < table->row_count; r++) {
    char title[160];
    snprintf(title, sizeof title, "%s (%s)", table->rows[r].kernel->name, kind_name(table->rows[r].kind));
    print_row(table, names, title, &table->rows[r], &all, to);
  }
  for (uint32_t kind = PTO_AIC; kind <= PTO_AIV; kind++) {
    const struct pto_kernel_counters_row sum = sum_of(table, kind);
    if (sum.stretches) print_row(table, names, kind == PTO_AIC ? "all on AIC" : "all on AIV", &sum, &all, to);
  }
  for (uint32_t i = 0; i < table->event_count; i++)
    fprintf(to, "%s%s about %" PRId64, i ? ", " : "    of it the reading, in each stretch: ", names[i],
            table->reading[i]);
  fprintf(to, "\n");
  if (table->uncounted_calls)
    fprintf(to, "    %" PRIu64 " calls are not counted: %s\n", table->uncounted_calls, table->sentence);
}

/* ---- JSON ---- */

static void put_counts(const struct pto_kernel_counters_table *table, const char *const *names, const char *key,
                       const int64_t *counts, struct pto_json_writer *w) {
  pto_json_key(w, key);
  pto_json_object_begin(w);
  for (uint32_t i = 0; i < table->event_count; i++) pto_json_put_u64(w, names[i], (uint64_t)counts[i]);
  pto_json_object_end(w);
}

static void put_ratios(const struct pto_kernel_counters_table *table, const char *const *names,
                       const struct pto_kernel_counters_row *row, struct pto_json_writer *w) {
  const struct ratios ratios = find_ratios(table, names);
  if (has_ipc(&ratios, row)) pto_json_put_double(w, "instructions_per_cycle", ipc(&ratios, row));
  if (!has_instructions(&ratios, row)) return;
  pto_json_key(w, "misses_per_1000_instructions");
  pto_json_object_begin(w);
  for (uint32_t i = 0; i < table->event_count; i++)
    if (counts_misses(names[i])) pto_json_put_double(w, names[i], per_1000(&ratios, row, i));
  pto_json_object_end(w);
}

/* `kernel` NULL: the sum of a kind. */
static void put_row(const struct pto_kernel_counters_table *table, const char *const *names, const char *kernel,
                    const struct pto_kernel_counters_row *row, struct pto_json_writer *w) {
  pto_json_object_begin(w);
  if (kernel) pto_json_put_string(w, "kernel", kernel);
  pto_json_put_string(w, "core_kind", row->kind == PTO_AIC ? "aic" : "aiv");
  pto_json_put_u64(w, "calls", row->calls);
  pto_json_put_u64(w, "stretches", row->stretches);
  put_counts(table, names, "events", row->counts, w);
  pto_json_key(w, "events_per_call");
  pto_json_object_begin(w);
  for (uint32_t i = 0; i < table->event_count; i++) pto_json_put_double(w, names[i], per_call(row, i));
  pto_json_object_end(w);
  put_ratios(table, names, row, w);
  pto_json_object_end(w);
}

void pto_kernel_counters_write_json(const struct pto_kernel_counters_table *table, const char *const *names,
                                    struct pto_json_writer *w) {
  pto_json_key(w, "kernel_counters");
  pto_json_object_begin(w);
  pto_json_key(w, "kernels");
  pto_json_array_begin(w);
  for (uint32_t r = 0; r < table->row_count; r++)
    put_row(table, names, table->rows[r].kernel->name, &table->rows[r], w);
  pto_json_array_end(w);
  pto_json_key(w, "core_kinds");
  pto_json_array_begin(w);
  for (uint32_t kind = PTO_AIC; kind <= PTO_AIV; kind++) {
    struct pto_kernel_counters_row sum = sum_of(table, kind);
    sum.kind = (enum pto_core_kind)kind;
    if (sum.stretches) put_row(table, names, NULL, &sum, w);
  }
  pto_json_array_end(w);
  put_counts(table, names, "reading", table->reading, w);
  pto_json_put_u64(w, "threads", table->thread_count);
  pto_json_put_u64(w, "uncounted_calls", table->uncounted_calls);
  pto_json_object_end(w);
}
