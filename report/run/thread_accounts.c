/* SPDX-License-Identifier: MIT */
/*
 * Accounts of a run in real time: what each thread did, and what for it did nothing.
 *
 * A worker without a kernel waits for its next one: first for the end of its submit, then for the last of its
 * producers, then to be given it.  That follows from what is recorded, so it costs the run nothing.
 */
#include <report/run/accounts.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/run/critical_path.h>
#include <report/run/run_path.h>
#include <report/run/trace_view.h>
#include <runtime/base/base.h>

#define NO_TASK UINT32_MAX

struct maker {
  const struct pto_trace *trace;
  struct pto_accounts *accounts;
  uint64_t *submitted, *produced; /* by task: the end of its submit, and of the last kernel of its producers */
};

/* Something that a thread did, perhaps within something else. */
struct interval {
  uint64_t begin, end;
  uint32_t activity, task; /* of a kernel; else NO_TASK */
};

static int order_intervals(const void *left, const void *right) {
  const struct interval *a = left, *b = right;
  if (a->begin != b->begin) return (a->begin > b->begin) - (a->begin < b->begin);
  return (a->end < b->end) - (a->end > b->end); /* the outer one first */
}

/* ---- when a task could have begun ---- */

static void find_submits(const struct maker *m) {
  for (uint64_t i = 0; i < m->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&m->trace->control, i);
    if (control->activity == PTO_CONTROL_SUBMIT && control->task < m->trace->tasks.count)
      m->submitted[control->task] = control->end;
  }
}

static bool find_producers(const struct maker *m) {
  const uint64_t count = m->trace->tasks.count;
  uint64_t *ended = calloc(count + 1, sizeof *ended);
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; ended && (span = pto_trace_next_span(m->trace, &walk)) != NULL;)
    if (span->task < count) ended[span->task] = pto_max_u64(ended[span->task], span->end);
  for (uint64_t i = 0; ended && i < m->trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&m->trace->edges, i);
    if (edge->consumer < count && edge->producer < count)
      m->produced[edge->consumer] = pto_max_u64(m->produced[edge->consumer], ended[edge->producer]);
  }
  free(ended);
  return ended != NULL;
}

/* ---- a thread ---- */

/* The first one is that which the orchestration runs on. */
static bool is_control(const struct maker *m, const struct pto_account *account) {
  return account == m->accounts->items;
}

/* From `at` to `end` a thread did nothing that is recorded, and then a kernel of the task; NO_TASK: none. */
static void take_rest(const struct maker *m, struct pto_account *account, uint64_t at, uint64_t end, uint32_t task) {
  const bool is_known = task < m->trace->tasks.count;
  const struct {
    uint32_t activity;
    uint64_t end;
  } causes[] = {{PTO_ACTIVITY_wait_orchestrator, is_known ? m->submitted[task] : 0},
                {PTO_ACTIVITY_wait_dependency, is_known ? m->produced[task] : 0},
                {PTO_ACTIVITY_wait_scheduler, is_known ? end : 0}};
  for (size_t i = 0; !is_control(m, account) && i < PTO_ARRAY_LENGTH(causes); i++) {
    const uint64_t until = pto_min_u64(causes[i].end, end);
    if (until <= at) continue;
    account->times[causes[i].activity] += until - at;
    at = until;
  }
  account->times[is_control(m, account) ? PTO_ACTIVITY_own_code : PTO_ACTIVITY_no_work] += end - at;
}

/* Each moment counts for the innermost of the intervals that it is in. */
static bool take_intervals(const struct maker *m, struct pto_account *account, struct interval *items, uint64_t count) {
  uint64_t at = 0;
  if (count) qsort(items, count, sizeof *items, order_intervals);
  /* The open intervals are a list from the innermost outwards: each item's place holds its outer one. */
  uint64_t *outer = malloc((count + 1) * sizeof *outer), open = UINT64_MAX;
  for (uint64_t i = 0; outer && i <= count; i++) {
    const uint64_t begin = i < count ? items[i].begin : m->accounts->makespan;
    while (open != UINT64_MAX && items[open].end <= begin) { /* it ends before */
      if (items[open].end > at) {
        account->times[items[open].activity] += items[open].end - at;
        at = items[open].end;
      }
      open = outer[open];
    }
    if (begin > at) {
      if (open == UINT64_MAX)
        take_rest(m, account, at, begin, i < count ? items[i].task : NO_TASK);
      else
        account->times[items[open].activity] += begin - at;
      at = begin;
    }
    if (i == count) break;
    if (open != UINT64_MAX) items[i].end = pto_min_u64(items[i].end, items[open].end);
    outer[i] = open;
    open = i;
  }
  const bool has_memory = outer != NULL;
  free(outer);
  return has_memory;
}

static bool account_thread(const struct maker *m, uint32_t thread) {
  const struct pto_trace_log *spans = &m->trace->spans[thread], *controls = &m->trace->control;
  const uint64_t control_count = thread == 0 ? controls->count : 0;
  struct interval *items = malloc((spans->count + control_count + 1) * sizeof *items);
  struct pto_account *account = &m->accounts->items[m->accounts->count++];
  uint64_t count = 0;
  *account = (struct pto_account){.kind = "thread", .count = 1, .used = spans->count + control_count > 0};
  snprintf(account->name, sizeof account->name, "thread %u", thread);
  if (!items) return false;
  for (uint64_t i = 0; i < spans->count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(spans, i);
    items[count++] = (struct interval){span->begin, span->end, PTO_ACTIVITY_kernel, span->task};
  }
  for (uint64_t i = 0; i < control_count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(controls, i);
    items[count++] = (struct interval){control->begin, control->end, pto_control_activity(control), NO_TASK};
  }
  const bool has_memory = take_intervals(m, account, items, count);
  free(items);
  return has_memory;
}

/* Of what counted as one activity, `time` counts as another. */
static void move_time(struct pto_account *account, uint32_t from, uint32_t to, uint64_t time) {
  time = pto_min_u64(time, account->times[from]);
  account->times[from] -= time;
  account->times[to] += time;
}

/* Submits by their parts; and what follows a submit or comes before one is not the orchestration's own code. */
static void split_submits(const struct maker *m) {
  const uint64_t *parts = m->trace->submit_parts;
  struct pto_account *account = m->accounts->items;
  const uint64_t waits = account->times[PTO_ACTIVITY_wait_window] + account->times[PTO_ACTIVITY_wait_heap];
  const uint64_t allocation = parts[PTO_SUBMIT_ALLOCATION];
  move_time(account, PTO_ACTIVITY_submit, PTO_ACTIVITY_params, parts[PTO_SUBMIT_PARAMS]);
  move_time(account, PTO_ACTIVITY_submit, PTO_ACTIVITY_lookups, parts[PTO_SUBMIT_LOOKUPS]);
  move_time(account, PTO_ACTIVITY_submit, PTO_ACTIVITY_allocation, allocation - pto_min_u64(waits, allocation));
  move_time(account, PTO_ACTIVITY_own_code, PTO_ACTIVITY_dispatch, parts[PTO_SUBMIT_DISPATCH]);
  move_time(account, PTO_ACTIVITY_own_code, PTO_ACTIVITY_completion, parts[PTO_SUBMIT_COMPLETIONS]);
}

static uint64_t last_end(const struct pto_trace *trace) {
  uint64_t last = 0;
  for (uint64_t i = 0; i < trace->control.count; i++)
    last = pto_max_u64(last, ((const struct pto_trace_control *)pto_trace_log_at(&trace->control, i))->end);
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(trace, &walk)) != NULL;)
    last = pto_max_u64(last, span->end);
  return last;
}

int pto_accounts_of_threads(const struct pto_trace *trace, struct pto_accounts *accounts, struct pto_error *error) {
  struct maker m = {.trace = trace, .accounts = accounts};
  accounts->makespan = last_end(trace);
  accounts->items = calloc(trace->span_log_count + 1, sizeof *accounts->items);
  m.submitted = calloc(trace->tasks.count + 1, sizeof *m.submitted);
  m.produced = calloc(trace->tasks.count + 1, sizeof *m.produced);
  bool has_memory = accounts->items && m.submitted && m.produced && find_producers(&m);
  if (has_memory) find_submits(&m);
  for (uint32_t i = 0; has_memory && i < trace->span_log_count; i++) has_memory = account_thread(&m, i);
  if (has_memory && accounts->count) split_submits(&m);
  free(m.submitted);
  free(m.produced);
  if (!has_memory) return pto_error_set(error, PTO_ENOMEM, "no memory for where the time went");
  struct pto_critical_path chain = {0};
  const int status = pto_critical_path_find(trace, &chain, error);
  accounts->chain = chain.length;
  return status;
}

/* ---- what bounds the run ---- */

bool pto_accounts_find_bound(const struct pto_accounts *accounts, struct pto_thread_bound *bound) {
  uint64_t kernels = 0, control = 0, handed = 0;
  if (accounts->is_virtual || !accounts->count || !accounts->makespan) return false;
  for (uint32_t i = 0; i < accounts->count; i++) {
    kernels += accounts->items[i].times[PTO_ACTIVITY_kernel];
    handed += accounts->items[i].times[PTO_ACTIVITY_wait_scheduler];
  }
  for (uint32_t i = PTO_ACTIVITY_submit; i <= PTO_ACTIVITY_dispatch; i++) control += accounts->items[0].times[i];
  const double makespan = (double)accounts->makespan, others = makespan * (accounts->count - 1);
  const struct pto_thread_bound found[] = {
      {"kernels", "all threads", (double)kernels / (makespan * accounts->count)},
      {"what the orchestration does", "its thread", (double)control / makespan},
      {"the longest chain of kernels", "the run", (double)accounts->chain / makespan},
      {"the way of ready tasks to threads", "the other threads", others > 0 ? (double)handed / others : 0}};
  *bound = found[0];
  for (size_t i = 1; i < PTO_ARRAY_LENGTH(found); i++)
    if (found[i].share > bound->share) *bound = found[i];
  return bound->share >= PTO_BOUND_LEAST;
}
