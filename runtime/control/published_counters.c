/* SPDX-License-Identifier: MIT */
#include <runtime/control/published_counters.h>

#include <stdlib.h>

#include <runtime/control/runtime_state.h>

/* What is true now, of this run. */
static void take(const struct pto_runtime *rt, uint64_t values[PTO_SOFTWARE_EVENT_COUNT]) {
  uint64_t heap_bytes = 0;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) heap_bytes += pto_heap_ring_used(&rt->rings.rings[i].heap);
  values[PTO_SOFTWARE_EVENT_tasks] = rt->task_count;
  values[PTO_SOFTWARE_EVENT_edges] = rt->hazards.edges;
  values[PTO_SOFTWARE_EVENT_ready] = rt->scheduler.ready_count;
  values[PTO_SOFTWARE_EVENT_heap_bytes] = heap_bytes;
  values[PTO_SOFTWARE_EVENT_stalls] = rt->stall_count;
  values[PTO_SOFTWARE_EVENT_transfers] = rt->move_count;
  values[PTO_SOFTWARE_EVENT_transfer_bytes] = rt->moved_bytes;
}

void pto_published_counters_update(struct pto_published_counters *counters) {
  uint64_t now[PTO_SOFTWARE_EVENT_COUNT];
  take(counters->rt, now);
  for (uint32_t i = 0; i < PTO_SOFTWARE_EVENT_COUNT; i++)
    atomic_store_explicit(&counters->values[i], counters->before[i] + now[i], memory_order_relaxed);
}

void pto_published_counters_next_run(struct pto_published_counters *counters) {
  uint64_t now[PTO_SOFTWARE_EVENT_COUNT];
  take(counters->rt, now);
#define X(name, is_sum, text)                                                                                          \
  if (is_sum) counters->before[PTO_SOFTWARE_EVENT_##name] += now[PTO_SOFTWARE_EVENT_##name];
  PTO_SOFTWARE_EVENT_LIST(X)
#undef X
}

void pto_published_counters_set_control(struct pto_published_counters *counters, bool is_control) {
  if (is_control) atomic_store_explicit(&counters->control_thread, pthread_self(), memory_order_relaxed);
  atomic_store_explicit(&counters->has_control_thread, is_control, memory_order_relaxed);
}

/* Another thread finds its own number there only if it has been the control thread, and has said that it is not since.
 */
static bool is_control_thread(const struct pto_published_counters *counters) {
  return atomic_load_explicit(&counters->has_control_thread, memory_order_relaxed) &&
         pthread_equal(atomic_load_explicit(&counters->control_thread, memory_order_relaxed), pthread_self());
}

static uint64_t read_counter(void *context, enum pto_software_event event) {
  struct pto_published_counters *counters = context;
  if (is_control_thread(counters)) pto_published_counters_update(counters);
  return atomic_load_explicit(&counters->values[event], memory_order_relaxed);
}

int pto_published_counters_create(struct pto_runtime *rt, struct pto_published_counters **out) {
  struct pto_published_counters *counters = calloc(1, sizeof *counters);
  if (!counters) return PTO_ENOMEM;
  counters->rt = rt;
  const int status = pto_software_events_register(&counters->events, read_counter, counters);
  if (status) {
    free(counters);
    return status;
  }
  *out = counters;
  return PTO_OK;
}

void pto_published_counters_destroy(struct pto_published_counters *counters) {
  if (!counters) return;
  pto_software_events_unregister(&counters->events);
  free(counters);
}
