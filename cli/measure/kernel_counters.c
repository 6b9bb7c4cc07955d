/* SPDX-License-Identifier: MIT */
#include <cli/measure/kernel_counters.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define EMPTY_READINGS 32u /* the least of so many is what a reading costs */

/* A thread that has run a kernel.  Written by it alone; read by take, when no kernel runs. */
struct counting_thread {
  struct counting_thread *next; /* under the mutex */
  struct pto_kernel_counters *all;
  void *set; /* NULL: it cannot count, or has ended */
  int64_t at_begin[PTO_KERNEL_COUNTERS_EVENTS];
  bool has_begun; /* at_begin is of the stretch that runs */
  uint64_t uncounted_calls;
  struct pto_error error;
  struct pto_kernel_counters_row rows[PTO_KERNEL_COUNTERS_ROWS];
  uint32_t row_count;
};
struct pto_kernel_counters {
  struct pto_kernel_meter meter;
  const struct pto_event_source *source;
  const char *names[PTO_KERNEL_COUNTERS_EVENTS];
  uint32_t event_count; /* 0: nothing is counted */
  int64_t reading[PTO_KERNEL_COUNTERS_EVENTS];
  pthread_key_t key; /* the calling thread's struct counting_thread */
  pthread_mutex_t mutex;
  struct counting_thread *threads;
};

/* ---- threads ---- */

static void close_set(struct counting_thread *thread) {
  if (thread->set) thread->all->source->close(thread->set);
  thread->set = NULL;
}

/* On a thread that ends. */
static void end_thread(void *argument) {
  struct counting_thread *thread = argument;
  close_set(thread);
  if (thread->all->source->leave_thread) thread->all->source->leave_thread();
}

static PTO_COLD struct counting_thread *begin_thread(struct pto_kernel_counters *counters) {
  struct counting_thread *thread = calloc(1, sizeof *thread);
  if (!thread) return NULL;
  thread->all = counters;
  if (pthread_setspecific(counters->key, thread) != 0) {
    free(thread);
    return NULL;
  }
  pthread_mutex_lock(&counters->mutex);
  thread->next = counters->threads;
  counters->threads = thread;
  pthread_mutex_unlock(&counters->mutex);
  if (counters->source->open(counters->names, counters->event_count, &thread->set, &thread->error)) thread->set = NULL;
  return thread;
}

static struct counting_thread *this_thread(struct pto_kernel_counters *counters) {
  struct counting_thread *thread = pthread_getspecific(counters->key);
  return PTO_LIKELY(thread != NULL) ? thread : begin_thread(counters);
}

/* ---- rows ---- */

/* The row of that kernel, or a fresh one for it; NULL where all are taken.  Kernels are few. */
static struct pto_kernel_counters_row *row_of(struct pto_kernel_counters_row *rows, uint32_t *row_count,
                                              const struct pto_kernel *kernel, enum pto_core_kind kind) {
  for (uint32_t i = 0; i < *row_count; i++)
    if (rows[i].kernel == kernel && rows[i].kind == kind) return &rows[i];
  if (*row_count == PTO_KERNEL_COUNTERS_ROWS) return NULL;
  rows[*row_count] = (struct pto_kernel_counters_row){.kernel = kernel, .kind = kind};
  return &rows[(*row_count)++];
}

/* ---- the meter ---- */

static void meter_begin(void *context) {
  struct pto_kernel_counters *counters = context;
  if (!counters->event_count) return;
  struct counting_thread *thread = this_thread(counters);
  if (!thread || !thread->set) return;
  thread->has_begun = counters->source->read(thread->set, thread->at_begin) == PTO_OK;
}

static void meter_end(void *context, const struct pto_kernel *kernel, enum pto_core_kind kind, bool has_returned) {
  struct pto_kernel_counters *counters = context;
  int64_t at_end[PTO_KERNEL_COUNTERS_EVENTS];
  if (!counters->event_count) return;
  struct counting_thread *thread = pthread_getspecific(counters->key);
  if (!thread) return;
  const bool is_read = thread->has_begun && counters->source->read(thread->set, at_end) == PTO_OK;
  struct pto_kernel_counters_row *row = is_read ? row_of(thread->rows, &thread->row_count, kernel, kind) : NULL;
  thread->has_begun = false;
  if (!row) {
    thread->uncounted_calls += has_returned;
    return;
  }
  for (uint32_t i = 0; i < counters->event_count; i++) row->counts[i] += at_end[i] - thread->at_begin[i];
  row->stretches++;
  row->calls += has_returned;
}

/* ---- life ---- */

int pto_kernel_counters_create(const struct pto_event_source *source, struct pto_kernel_counters **out,
                               struct pto_error *error) {
  struct pto_kernel_counters *counters = calloc(1, sizeof *counters);
  if (!counters) return pto_error_set(error, PTO_ENOMEM, "no memory for counters of kernels");
  if (pthread_key_create(&counters->key, end_thread) != 0) {
    free(counters);
    return pto_error_set(error, PTO_ENOMEM, "no key for what each thread counts");
  }
  pthread_mutex_init(&counters->mutex, NULL);
  counters->source = source;
  counters->meter = (struct pto_kernel_meter){.context = counters, .begin = meter_begin, .end = meter_end};
  *out = counters;
  return PTO_OK;
}

const struct pto_kernel_meter *pto_kernel_counters_meter(const struct pto_kernel_counters *counters) {
  return &counters->meter;
}

/* What two readings with nothing between them differ by, at least. */
static void measure_reading(struct pto_kernel_counters *counters, void *set) {
  int64_t before[PTO_KERNEL_COUNTERS_EVENTS], after[PTO_KERNEL_COUNTERS_EVENTS];
  for (uint32_t i = 0; i < counters->event_count; i++) counters->reading[i] = INT64_MAX;
  for (uint32_t n = 0; n < EMPTY_READINGS; n++) {
    if (counters->source->read(set, before) || counters->source->read(set, after)) break;
    for (uint32_t i = 0; i < counters->event_count; i++)
      if (after[i] - before[i] < counters->reading[i]) counters->reading[i] = after[i] - before[i];
  }
  for (uint32_t i = 0; i < counters->event_count; i++)
    if (counters->reading[i] == INT64_MAX) counters->reading[i] = 0;
}

int pto_kernel_counters_events(struct pto_kernel_counters *counters, const char *const *names, uint32_t count,
                               struct pto_error *error) {
  PTO_ASSERT(count <= PTO_KERNEL_COUNTERS_EVENTS && !counters->event_count);
  memcpy(counters->names, names, count * sizeof *names);
  counters->event_count = count;
  const struct counting_thread *thread = count ? this_thread(counters) : NULL;
  if (thread && thread->set) {
    measure_reading(counters, thread->set);
    return PTO_OK;
  }
  counters->event_count = 0;
  if (!count) return PTO_OK;
  if (!thread) return pto_error_set(error, PTO_ENOMEM, "no memory for counters of a thread");
  *error = thread->error;
  return error->status;
}

/* ---- the table ---- */

static int order_rows(const void *left, const void *right) {
  const struct pto_kernel_counters_row *a = left, *b = right;
  if (a->counts[0] != b->counts[0]) return a->counts[0] < b->counts[0] ? 1 : -1;
  const int order = strcmp(a->kernel->name, b->kernel->name);
  return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static void add_row(struct pto_kernel_counters_table *table, const struct pto_kernel_counters_row *added) {
  struct pto_kernel_counters_row *row = row_of(table->rows, &table->row_count, added->kernel, added->kind);
  if (!row) {
    table->uncounted_calls += added->calls;
    return;
  }
  row->calls += added->calls;
  row->stretches += added->stretches;
  for (uint32_t i = 0; i < table->event_count; i++) row->counts[i] += added->counts[i];
}

static void add_thread(struct pto_kernel_counters_table *table, const struct counting_thread *thread) {
  table->thread_count += thread->row_count > 0;
  table->uncounted_calls += thread->uncounted_calls;
  for (uint32_t i = 0; i < thread->row_count; i++) add_row(table, &thread->rows[i]);
  if (thread->uncounted_calls && !table->sentence[0])
    snprintf(table->sentence, sizeof table->sentence, "%s",
             thread->error.sentence[0] ? thread->error.sentence
                                       : "events could not be read, or there are too many kernels");
}

void pto_kernel_counters_take(struct pto_kernel_counters *counters, struct pto_kernel_counters_table *table) {
  *table = (struct pto_kernel_counters_table){.event_count = counters->event_count};
  memcpy(table->reading, counters->reading, sizeof table->reading);
  pthread_mutex_lock(&counters->mutex);
  for (const struct counting_thread *thread = counters->threads; thread; thread = thread->next)
    add_thread(table, thread);
  pthread_mutex_unlock(&counters->mutex);
  if (table->row_count) qsort(table->rows, table->row_count, sizeof *table->rows, order_rows);
}

void pto_kernel_counters_destroy(struct pto_kernel_counters *counters) {
  if (!counters) return;
  struct counting_thread *own = pthread_getspecific(counters->key);
  if (own) close_set(own);
  pthread_key_delete(counters->key);
  while (counters->threads) {
    struct counting_thread *thread = counters->threads;
    counters->threads = thread->next;
    free(thread);
  }
  pthread_mutex_destroy(&counters->mutex);
  free(counters);
}

/* ---- the report ---- */

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
