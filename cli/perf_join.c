/* SPDX-License-Identifier: MIT */
#include <cli/perf_join.h>

#include <stdlib.h>
#include <string.h>

#include <cli/trace_view.h>
#include <runtime/base/base.h>

static const char *const work_names[] = {
#define X(name, meaning) #name,
    PTO_PERF_WORK_LIST(X)
#undef X
};
static const char *const work_meanings[] = {
#define X(name, meaning) meaning,
    PTO_PERF_WORK_LIST(X)
#undef X
};

const char *pto_perf_work_name(enum pto_perf_work work) { return work_names[work]; }
const char *pto_perf_work_meaning(enum pto_perf_work work) { return work_meanings[work]; }

/* Work that is the same whatever it is done within: functions by name, a * at the end standing for the rest.  All
 * others belong to what the control thread was doing.  What no kernel can be in the middle of counts as control work
 * also within a call: of a kernel that waits, whose call is open while the thread does other things. */
static const struct {
  const char *pattern;
  enum pto_perf_work work;
  bool is_never_in_kernel;
} functions[] = {
    {"pto_scheduler_*", PTO_PERF_WORK_dispatch, true},
    {"pto_core_tracker_*", PTO_PERF_WORK_dispatch, true},
    {"place", PTO_PERF_WORK_dispatch, false},
    {"place_block", PTO_PERF_WORK_dispatch, false},
    {"place_single", PTO_PERF_WORK_dispatch, false},
    {"fill_message", PTO_PERF_WORK_dispatch, false},
    {"pick_in_word", PTO_PERF_WORK_dispatch, false},
    {"cluster_in", PTO_PERF_WORK_dispatch, false},
    {"least_loaded", PTO_PERF_WORK_dispatch, false},
    {"send", PTO_PERF_WORK_dispatch, false},
    {"send_or_push", PTO_PERF_WORK_dispatch, false},
    {"offer_to_cores", PTO_PERF_WORK_dispatch, false},
    {"take", PTO_PERF_WORK_dispatch, false},
    {"threads_dispatch", PTO_PERF_WORK_dispatch, true},
    {"threads_claim", PTO_PERF_WORK_dispatch, true},
    {"threads_flush", PTO_PERF_WORK_dispatch, true},
    {"publish", PTO_PERF_WORK_dispatch, false},
    {"threads_poll", PTO_PERF_WORK_completion, true},
    {"take_in", PTO_PERF_WORK_completion, false},
    {"finish", PTO_PERF_WORK_completion, false},
    {"run_own", PTO_PERF_WORK_completion, false},
    {"tell_chunks", PTO_PERF_WORK_completion, false},
    {"release_held", PTO_PERF_WORK_completion, false},
    {"pto_progress_wait", PTO_PERF_WORK_completion, true},
    {"pto_progress_poll", PTO_PERF_WORK_completion, true},
    {"pto_space_retire", PTO_PERF_WORK_completion, true},
    {"pto_task_ring_retire", PTO_PERF_WORK_completion, true},
    {"pto_wait_*", PTO_PERF_WORK_idle, true},
    {"pto_futex_*", PTO_PERF_WORK_idle, true},
    {"worker_is_ready", PTO_PERF_WORK_idle, true},
    {"control_is_ready", PTO_PERF_WORK_idle, true},
    {"control_may_go_on", PTO_PERF_WORK_idle, true},
    {"pto_progress_record", PTO_PERF_WORK_recording, true},
    {"pto_progress_now", PTO_PERF_WORK_recording, true},
    {"pto_trace_*", PTO_PERF_WORK_recording, false},
    {"pto_threads_append_span", PTO_PERF_WORK_recording, false},
    {"run_recorded", PTO_PERF_WORK_recording, false},
    {"record_task", PTO_PERF_WORK_recording, false},
    {"record", PTO_PERF_WORK_recording, false},
    {"pto_hazards_group_records", PTO_PERF_WORK_recording, false},
    {"record_params", PTO_PERF_WORK_recording, false},
    {"record_edges", PTO_PERF_WORK_recording, false},
    {"clock_gettime", PTO_PERF_WORK_recording, false},
    {"__vdso_clock_gettime", PTO_PERF_WORK_recording, false},
};

/* ---- lists that grow ---- */

/* The list with room for one more of `size` bytes, moved where it had to; NULL, and nothing changed, where there is
 * none. */
static void *with_room(void *list, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return list;
  size_t wanted = *capacity ? 2 * *capacity : 64;
  void *larger = realloc(list, wanted * size);
  if (larger) *capacity = wanted;
  return larger;
}

static void add_interval(struct pto_perf_join *join, struct pto_perf_intervals *list,
                         const struct pto_perf_interval *interval) {
  void *items = with_room(list->items, list->count, &list->capacity, sizeof *list->items);
  if (!items) {
    join->is_out_of_memory = true;
    return;
  }
  list->items = items;
  list->items[list->count++] = *interval;
}

static int order_intervals(const void *left, const void *right) {
  const struct pto_perf_interval *a = left, *b = right;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return (a->end < b->end) - (a->end > b->end); /* the inner one later */
}

static bool sort_intervals(struct pto_perf_intervals *list) {
  if (list->count == 0) return true;
  list->latest_end = malloc(list->count * sizeof *list->latest_end);
  if (!list->latest_end) return false;
  qsort(list->items, list->count, sizeof *list->items, order_intervals);
  uint64_t latest = 0;
  for (size_t i = 0; i < list->count; i++) list->latest_end[i] = latest = pto_max_u64(latest, list->items[i].end);
  return true;
}

/* The one that began last among those that hold `time`; NULL for none. */
static const struct pto_perf_interval *find_interval(const struct pto_perf_intervals *list, uint64_t time) {
  size_t least = 0, most = list->count; /* the first that begins later is in [least, most] */
  while (least < most) {
    size_t middle = least + (most - least) / 2;
    if (list->items[middle].begin <= time)
      least = middle + 1;
    else
      most = middle;
  }
  for (size_t i = least; i-- > 0 && list->latest_end[i] > time;)
    if (list->items[i].end > time) return &list->items[i];
  return NULL;
}

/* ---- rounds ---- */

int pto_perf_join_init(struct pto_perf_join *join, uint32_t core_count, struct pto_error *error) {
  memset(join, 0, sizeof *join);
  join->core_count = core_count;
  join->cores = calloc(core_count + 1, sizeof *join->cores);
  if (join->cores) return PTO_OK;
  return pto_error_set(error, PTO_ENOMEM, "no memory for %u cores", core_count);
}

/* NULL where nothing is known of it. */
static struct pto_perf_thread *find_thread(const struct pto_perf_join *join, uint32_t tid) {
  for (uint32_t i = 0; i < join->thread_count; i++)
    if (join->threads[i].tid == tid) return &join->threads[i];
  return NULL;
}

/* The same, made where there is none; NULL where there is no memory for it. */
static struct pto_perf_thread *thread_of(struct pto_perf_join *join, uint32_t tid) {
  struct pto_perf_thread *thread = find_thread(join, tid);
  if (thread) return thread;
  size_t capacity = join->thread_capacity;
  void *threads = with_room(join->threads, join->thread_count, &capacity, sizeof *join->threads);
  if (!threads) {
    join->is_out_of_memory = true;
    return NULL;
  }
  join->threads = threads;
  join->thread_capacity = (uint32_t)capacity;
  thread = &join->threads[join->thread_count++];
  *thread = (struct pto_perf_thread){.tid = tid};
  return thread;
}

void pto_perf_join_add_thread(struct pto_perf_join *join, uint32_t tid, bool is_control) {
  struct pto_perf_thread *thread = thread_of(join, tid);
  if (thread) thread->is_control |= is_control;
}

/* The row's index; UINT32_MAX where there is no memory for it. */
static uint32_t kernel_row(struct pto_perf_join *join, const struct pto_kernel *kernel) {
  for (uint32_t i = 0; i < join->kernel_count; i++)
    if (join->kernels[i].kernel == kernel) return i;
  size_t capacity = join->kernel_capacity;
  void *kernels = with_room(join->kernels, join->kernel_count, &capacity, sizeof *join->kernels);
  if (!kernels) return UINT32_MAX;
  join->kernels = kernels;
  join->kernel_capacity = (uint32_t)capacity;
  join->kernels[join->kernel_count] = (struct pto_perf_row){.kernel = kernel};
  return join->kernel_count++;
}

static void add_call(struct pto_perf_join *join, const struct pto_trace *trace, uint64_t first_task,
                     struct pto_perf_thread *thread, const struct pto_trace_span *span) {
  const uint64_t took = span->end - span->begin;
  uint32_t row = kernel_row(join, pto_trace_task_kernel(trace, span->task, span->role));
  if (row == UINT32_MAX) {
    join->is_out_of_memory = true;
    return;
  }
  join->kernels[row].calls++;
  join->kernels[row].call_ns += took;
  if (span->core < join->core_count) {
    join->cores[span->core].calls++;
    join->cores[span->core].call_ns += took;
  }
  add_interval(join, &thread->calls,
               &(struct pto_perf_interval){.begin = trace->start_ns + span->begin,
                                           .end = trace->start_ns + span->end,
                                           .task = (uint32_t)first_task + span->task,
                                           .row = row,
                                           .core = span->core});
}

static void add_control(struct pto_perf_join *join, const struct pto_trace *trace) {
  struct pto_perf_thread *thread = thread_of(join, trace->control.writer_tid);
  if (!thread) return;
  thread->is_control = true;
  for (uint64_t i = 0; i < trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&trace->control, i);
    add_interval(join, &thread->control,
                 &(struct pto_perf_interval){.begin = trace->start_ns + control->begin,
                                             .end = trace->start_ns + control->end,
                                             .task = control->task,
                                             .row = control->activity});
  }
}

void pto_perf_join_add_round(struct pto_perf_join *join, const struct pto_trace *trace, uint64_t first_task,
                             uint64_t end_ns) {
  PTO_ASSERT(!trace->is_virtual && !join->is_sorted);
  add_interval(join, &join->round_spans, &(struct pto_perf_interval){.begin = trace->start_ns, .end = end_ns});
  for (uint32_t worker = 0; worker < trace->span_log_count; worker++) {
    const struct pto_trace_log *log = &trace->spans[worker];
    struct pto_perf_thread *thread = log->count ? thread_of(join, log->writer_tid) : NULL;
    for (uint64_t i = 0; i < log->count && thread; i++)
      add_call(join, trace, first_task, thread, pto_trace_log_at(log, i));
  }
  add_control(join, trace);
  join->dropped += pto_trace_dropped(trace);
}

static void sort_all(struct pto_perf_join *join) {
  bool is_complete = sort_intervals(&join->round_spans);
  for (uint32_t i = 0; i < join->thread_count && is_complete; i++)
    is_complete = sort_intervals(&join->threads[i].calls) && sort_intervals(&join->threads[i].control);
  join->is_sorted = true;
  if (!is_complete) join->is_out_of_memory = true;
}

/* ---- samples ---- */

/* "f.isra.0" and "f.cold" are parts of f, "f@@GLIBC_2.17" is its version.  strchr finds the end of the string too. */
static bool matches(const char *pattern, const char *symbol) {
  size_t length = strlen(pattern);
  if (pattern[length - 1] == '*') return strncmp(pattern, symbol, length - 1) == 0;
  return strncmp(pattern, symbol, length) == 0 && (strchr(".@", symbol[length]) != NULL);
}

/* Index of the function's entry; the table's length where it has none. */
static size_t find_function(const char *symbol) {
  size_t i = 0;
  while (i < PTO_ARRAY_LENGTH(functions) && !matches(functions[i].pattern, symbol)) i++;
  return i;
}

/* Of a sample in no kernel. */
static enum pto_perf_work work_of(const struct pto_perf_thread *thread, const struct pto_perf_sample *sample) {
  size_t function = find_function(sample->symbol);
  if (strncmp(sample->module, "[kernel", 7) == 0 || strncmp(sample->module, "[guest.kernel", 13) == 0)
    return PTO_PERF_WORK_system;
  if (function < PTO_ARRAY_LENGTH(functions)) return functions[function].work;
  if (!thread->is_control) return PTO_PERF_WORK_worker;
  const struct pto_perf_interval *control = find_interval(&thread->control, sample->time_ns);
  if (!control) return PTO_PERF_WORK_orchestration;
  switch (control->row) {
  case PTO_CONTROL_SUBMIT:
    return PTO_PERF_WORK_submit;
  case PTO_CONTROL_SCOPE:
    return PTO_PERF_WORK_scope;
  case PTO_CONTROL_HOST_ACCESS:
  case PTO_CONTROL_TO_DEVICE:
  case PTO_CONTROL_TO_HOST:
  case PTO_CONTROL_ON_DEVICE:
    return PTO_PERF_WORK_host_access;
  default:
    return PTO_PERF_WORK_waiting;
  }
}

/* The kernel call that a thread's sample is of; NULL for control work. */
static const struct pto_perf_interval *call_of(const struct pto_perf_thread *thread,
                                               const struct pto_perf_sample *sample) {
  size_t function = find_function(sample->symbol);
  if (function < PTO_ARRAY_LENGTH(functions) && functions[function].is_never_in_kernel) return NULL;
  return find_interval(&thread->calls, sample->time_ns);
}

static void add_weight(struct pto_perf_weight *weight, const struct pto_perf_sample *sample) {
  weight->samples++;
  weight->period += sample->period;
}

static bool add_to_row(struct pto_perf_row *row, const struct pto_perf_sample *sample) {
  add_weight(&row->weight, sample);
  for (uint32_t i = 0; i < row->symbol_count; i++) {
    struct pto_perf_symbol *symbol = &row->symbols[i];
    if (strcmp(symbol->name, sample->symbol) != 0 || strcmp(symbol->module, sample->module) != 0) continue;
    add_weight(&symbol->weight, sample);
    return true;
  }
  size_t capacity = row->symbol_capacity;
  void *symbols = with_room(row->symbols, row->symbol_count, &capacity, sizeof *row->symbols);
  if (!symbols) return false;
  row->symbols = symbols;
  row->symbol_capacity = (uint32_t)capacity;
  struct pto_perf_symbol *symbol = &row->symbols[row->symbol_count];
  *symbol = (struct pto_perf_symbol){.name = strdup(sample->symbol), .module = strdup(sample->module)};
  add_weight(&symbol->weight, sample);
  row->symbol_count++; /* fini frees what there is of it */
  return symbol->name && symbol->module;
}

/* One entry a sample; finish makes them one a task. */
static bool add_to_task(struct pto_perf_join *join, const struct pto_perf_interval *call,
                        const struct pto_perf_sample *sample) {
  void *tasks = with_room(join->tasks, join->task_count, &join->task_capacity, sizeof *join->tasks);
  if (!tasks) return false;
  join->tasks = tasks;
  struct pto_perf_task *task = &join->tasks[join->task_count++];
  *task = (struct pto_perf_task){.task = call->task, .kernel = join->kernels[call->row].kernel};
  add_weight(&task->weight, sample);
  return true;
}

void pto_perf_join_add_sample(struct pto_perf_join *join, const struct pto_perf_sample *sample) {
  if (!join->is_sorted) sort_all(join);
  if (join->is_out_of_memory) return;
  if (!join->event[0]) memcpy(join->event, sample->event, sizeof join->event);
  if (!find_interval(&join->round_spans, sample->time_ns)) {
    add_weight(&join->outside, sample);
    return;
  }
  add_weight(&join->rounds, sample);
  const struct pto_perf_thread *thread = find_thread(join, sample->tid);
  if (!thread) {
    add_weight(&join->strangers, sample);
    return;
  }
  bool has_room;
  const struct pto_perf_interval *call = call_of(thread, sample);
  if (call) {
    if (call->core < join->core_count) add_weight(&join->cores[call->core].weight, sample);
    has_room = add_to_row(&join->kernels[call->row], sample) && add_to_task(join, call, sample);
  } else {
    has_room = add_to_row(&join->works[work_of(thread, sample)], sample);
  }
  if (!has_room) join->is_out_of_memory = true;
}

/* ---- order ---- */

static int order_weights(const struct pto_perf_weight *a, const struct pto_perf_weight *b) {
  return (a->period < b->period) - (a->period > b->period);
}
static int order_symbols(const void *left, const void *right) {
  const struct pto_perf_symbol *a = left, *b = right;
  int order = order_weights(&a->weight, &b->weight);
  return order ? order : strcmp(a->name, b->name);
}
static int order_rows(const void *left, const void *right) {
  const struct pto_perf_row *a = left, *b = right;
  int order = order_weights(&a->weight, &b->weight);
  return order ? order : (a->call_ns < b->call_ns) - (a->call_ns > b->call_ns);
}
static int order_by_number(const void *left, const void *right) {
  const struct pto_perf_task *a = left, *b = right;
  if (a->task != b->task) return a->task < b->task ? -1 : 1;
  return ((uintptr_t)a->kernel > (uintptr_t)b->kernel) - ((uintptr_t)a->kernel < (uintptr_t)b->kernel);
}
static int order_tasks(const void *left, const void *right) {
  const struct pto_perf_task *a = left, *b = right;
  int order = order_weights(&a->weight, &b->weight);
  return order ? order : (a->task > b->task) - (a->task < b->task);
}

/* One entry a task and kernel: a MIX task has up to three. */
static void merge_tasks(struct pto_perf_join *join) {
  size_t kept = 0;
  if (join->task_count == 0) return;
  qsort(join->tasks, join->task_count, sizeof *join->tasks, order_by_number);
  for (size_t i = 1; i < join->task_count; i++) {
    if (order_by_number(&join->tasks[kept], &join->tasks[i]) != 0) {
      join->tasks[++kept] = join->tasks[i];
      continue;
    }
    join->tasks[kept].weight.samples += join->tasks[i].weight.samples;
    join->tasks[kept].weight.period += join->tasks[i].weight.period;
  }
  join->task_count = kept + 1;
  qsort(join->tasks, join->task_count, sizeof *join->tasks, order_tasks);
}

static void sort_symbols(struct pto_perf_row *row) {
  if (row->symbol_count) qsort(row->symbols, row->symbol_count, sizeof *row->symbols, order_symbols);
}

int pto_perf_join_finish(struct pto_perf_join *join, struct pto_error *error) {
  if (join->is_out_of_memory) return pto_error_set(error, PTO_ENOMEM, "no memory for the samples");
  for (uint32_t i = 0; i < join->kernel_count; i++) sort_symbols(&join->kernels[i]);
  for (uint32_t i = 0; i < PTO_PERF_WORK_COUNT; i++) sort_symbols(&join->works[i]);
  if (join->kernel_count) qsort(join->kernels, join->kernel_count, sizeof *join->kernels, order_rows);
  merge_tasks(join);
  return PTO_OK;
}

static void free_row(struct pto_perf_row *row) {
  for (uint32_t i = 0; i < row->symbol_count; i++) {
    free(row->symbols[i].name);
    free(row->symbols[i].module);
  }
  free(row->symbols);
}

static void free_intervals(struct pto_perf_intervals *list) {
  free(list->items);
  free(list->latest_end);
}

void pto_perf_join_fini(struct pto_perf_join *join) {
  for (uint32_t i = 0; i < join->kernel_count; i++) free_row(&join->kernels[i]);
  for (uint32_t i = 0; i < PTO_PERF_WORK_COUNT; i++) free_row(&join->works[i]);
  for (uint32_t i = 0; i < join->thread_count; i++) {
    free_intervals(&join->threads[i].calls);
    free_intervals(&join->threads[i].control);
  }
  free(join->threads);
  free_intervals(&join->round_spans);
  free(join->kernels);
  free(join->tasks);
  free(join->cores);
  memset(join, 0, sizeof *join);
}
