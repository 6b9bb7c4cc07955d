/* SPDX-License-Identifier: MIT */
#include <cli/measure/perf_join.h>

#include <stdlib.h>
#include <string.h>

#include <report/run/trace_view.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

static const struct {
  const char *name, *meaning;
} works[] = {
#define X(name, meaning) {#name, meaning},
    PTO_PERF_WORK_LIST(X)
#undef X
};

const char *pto_perf_work_name(enum pto_perf_work work) { return works[work].name; }
const char *pto_perf_work_meaning(enum pto_perf_work work) { return works[work].meaning; }

/* Functions whose work is the same wherever they are called from, by name; a * at the end stands for the rest.  All
 * others count as what the control thread was doing.  is_never_in_kernel: counts as control work also within a call,
 * which is open while a kernel that waits lets its thread do other things. */
static const struct {
  enum pto_perf_work work;
  bool is_never_in_kernel;
  const char *names; /* with a blank between them */
} functions[] = {
    {PTO_PERF_WORK_dispatch, true,
     "pto_scheduler_* pto_core_tracker_* threads_dispatch dispatch_to_core pto_threads_share pto_threads_offer "
     "threads_flush"},
    {PTO_PERF_WORK_dispatch, false, "place place_block pto_scheduler_message cluster_in send publish"},
    {PTO_PERF_WORK_completion, true,
     "threads_poll take_completions pto_progress_wait pto_progress_poll pto_space_retire pto_task_ring_retire"},
    {PTO_PERF_WORK_completion, false,
     "complete_done take_in finish_all finish_without_kernel run_own notify_chunks release_held"},
    {PTO_PERF_WORK_idle, true, "pto_wait_* pto_futex_* control_is_ready control_may_go_on"},
    {PTO_PERF_WORK_idle, false, "has_messages has_work has_work_or_pause"},
    {PTO_PERF_WORK_recording, true, "pto_progress_record pto_progress_now"},
    {PTO_PERF_WORK_recording, false,
     "pto_trace_* pto_threads_append_span run_recorded pto_record_* record_edge sort_edges record_params "
     "clock_gettime __vdso_clock_gettime"},
};

/* ---- intervals ---- */

static void add_interval(struct pto_perf_join *join, struct pto_perf_intervals *list,
                         const struct pto_perf_interval *interval) {
  struct pto_perf_interval *item = pto_grow(&list->items, &list->count, &list->capacity, sizeof *item);
  if (item)
    *item = *interval;
  else
    join->is_out_of_memory = true;
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

/* Of those that hold `time` the one that began last; NULL: none. */
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
  thread = pto_grow(&join->threads, &join->thread_count, &join->thread_capacity, sizeof *thread);
  if (thread)
    thread->tid = tid;
  else
    join->is_out_of_memory = true;
  return thread;
}

void pto_perf_join_add_thread(struct pto_perf_join *join, uint32_t tid, bool is_control) {
  struct pto_perf_thread *thread = thread_of(join, tid);
  if (thread) thread->is_control |= is_control;
}

/* NULL where there is no memory for it. */
static struct pto_perf_row *kernel_row(struct pto_perf_join *join, const struct pto_kernel *kernel) {
  for (uint32_t i = 0; i < join->kernel_count; i++)
    if (join->kernels[i].kernel == kernel) return &join->kernels[i];
  struct pto_perf_row *row = pto_grow(&join->kernels, &join->kernel_count, &join->kernel_capacity, sizeof *row);
  if (row)
    row->kernel = kernel;
  else
    join->is_out_of_memory = true;
  return row;
}

static void add_call(struct pto_perf_join *join, const struct pto_trace *trace, uint64_t first_task,
                     struct pto_perf_thread *thread, const struct pto_trace_span *span) {
  struct pto_perf_row *row = kernel_row(join, pto_trace_task_kernel(trace, span->task, span->role));
  if (!row) return;
  row->calls++;
  row->call_ns += span->end - span->begin;
  if (span->core < join->core_count) {
    join->cores[span->core].calls++;
    join->cores[span->core].call_ns += span->end - span->begin;
  }
  add_interval(join, &thread->calls,
               &(struct pto_perf_interval){.begin = trace->start_ns + span->begin,
                                           .end = trace->start_ns + span->end,
                                           .task = (uint32_t)first_task + span->task,
                                           .row = (uint32_t)(row - join->kernels),
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

/* "f.isra.0" and "f.cold" are parts of f, "f@@GLIBC_2.17" is its version. */
static bool is_among(const char *names, const char *symbol) {
  for (size_t length; *names; names += length + (names[length] == ' ')) {
    length = strcspn(names, " ");
    if (names[length - 1] == '*' ? strncmp(names, symbol, length - 1) == 0
                                 : strncmp(names, symbol, length) == 0 && strchr(".@", symbol[length]))
      return true; /* strchr finds the end of the symbol too */
  }
  return false;
}

/* Index of the function's entry; the table's length where it has none. */
static size_t find_function(const char *symbol) {
  size_t i = 0;
  while (i < PTO_ARRAY_LENGTH(functions) && !is_among(functions[i].names, symbol)) i++;
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
  struct pto_perf_symbol *symbol = row->symbols;
  add_weight(&row->weight, sample);
  for (size_t i = 0; i < row->symbol_count; i++, symbol++)
    if (strcmp(symbol->name, sample->symbol) == 0 && strcmp(symbol->module, sample->module) == 0) {
      add_weight(&symbol->weight, sample);
      return true;
    }
  symbol = pto_grow(&row->symbols, &row->symbol_count, &row->symbol_capacity, sizeof *symbol);
  if (!symbol) return false;
  *symbol = (struct pto_perf_symbol){.name = strdup(sample->symbol), .module = strdup(sample->module)};
  add_weight(&symbol->weight, sample);
  return symbol->name && symbol->module; /* fini frees what there is of it */
}

/* One entry a sample; finish makes them one a task. */
static bool add_to_task(struct pto_perf_join *join, const struct pto_perf_interval *call,
                        const struct pto_perf_sample *sample) {
  struct pto_perf_task *task = pto_grow(&join->tasks, &join->task_count, &join->task_capacity, sizeof *task);
  if (!task) return false;
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
