/* SPDX-License-Identifier: MIT */
#include <runtime/control/published_counters.h>

#include <stdio.h>
#include <stdlib.h>

#include <runtime/control/runtime_state.h>

static const struct {
  const char *name;
  bool is_sum;
} list[] = {
#define X(name, is_sum, text) {#name, is_sum},
    PTO_PUBLISHED_COUNTER_LIST(X)
#undef X
};

/* What is true now, of this run. */
static void take(const struct pto_runtime *rt, uint64_t values[PTO_PUBLISHED_COUNTER_COUNT]) {
  uint64_t heap_bytes = 0;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) heap_bytes += pto_heap_ring_used(&rt->rings.rings[i].heap);
  values[PTO_PUBLISHED_COUNTER_tasks] = rt->task_count;
  values[PTO_PUBLISHED_COUNTER_edges] = rt->hazards.edges;
  values[PTO_PUBLISHED_COUNTER_ready] = rt->scheduler.ready_count;
  values[PTO_PUBLISHED_COUNTER_heap_bytes] = heap_bytes;
  values[PTO_PUBLISHED_COUNTER_stalls] = rt->stall_count;
  values[PTO_PUBLISHED_COUNTER_transfers] = rt->move_count;
  values[PTO_PUBLISHED_COUNTER_transfer_bytes] = rt->moved_bytes;
}

void pto_published_counters_update(struct pto_published_counters *counters) {
  uint64_t now[PTO_PUBLISHED_COUNTER_COUNT];
  take(counters->rt, now);
  for (uint32_t i = 0; i < PTO_PUBLISHED_COUNTER_COUNT; i++)
    atomic_store_explicit(&counters->values[i], counters->before[i] + now[i], memory_order_relaxed);
}

void pto_published_counters_next_run(struct pto_published_counters *counters) {
  uint64_t now[PTO_PUBLISHED_COUNTER_COUNT];
  take(counters->rt, now);
  for (uint32_t i = 0; i < PTO_PUBLISHED_COUNTER_COUNT; i++)
    if (list[i].is_sum) counters->before[i] += now[i];
}

void pto_published_counters_set_control(struct pto_published_counters *counters, bool is_control) {
  if (is_control) atomic_store_explicit(&counters->control_thread, pthread_self(), memory_order_relaxed);
  atomic_store_explicit(&counters->has_control_thread, is_control, memory_order_relaxed);
}

/* ---- names ---- */

#if PTO_HAVE_SDE
#include <sde_lib.h>

#define NAME_COUNT 8u

/* The events of one name, "pto" or "pto2" or …, with or without an owner.  libsde 7.0 touches freed memory where an
 * event is registered that has been before, so each name is registered once a process and stays; without an owner its
 * events stand still. */
static struct pto_counter_name {
  struct pto_published_counters *owner; /* NULL: free */
  bool is_registered;
  uint64_t before[PTO_PUBLISHED_COUNTER_COUNT]; /* of earlier owners, for what only grows */
  struct reader {
    struct pto_counter_name *name;
    uint32_t event;
  } readers[PTO_PUBLISHED_COUNTER_COUNT];
} names[NAME_COUNT];

/* Of `names`, and held while an owner is asked, so that it is there. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Another thread finds its own number there only if it has been the control thread, and has said that it is not since.
 */
static bool is_control_thread(const struct pto_published_counters *counters) {
  return atomic_load_explicit(&counters->has_control_thread, memory_order_relaxed) &&
         pthread_equal(atomic_load_explicit(&counters->control_thread, memory_order_relaxed), pthread_self());
}

static uint64_t read_counter(struct pto_published_counters *counters, uint32_t event) {
  if (is_control_thread(counters)) pto_published_counters_update(counters);
  return atomic_load_explicit(&counters->values[event], memory_order_relaxed);
}

static uint64_t value_of(const struct pto_counter_name *name, uint32_t event) {
  const uint64_t now = name->owner ? read_counter(name->owner, event) : 0;
  return list[event].is_sum ? name->before[event] + now : now;
}

static long long read_one(void *parameter) {
  const struct reader *reader = parameter;
  pthread_mutex_lock(&mutex);
  const uint64_t value = value_of(reader->name, reader->event);
  pthread_mutex_unlock(&mutex);
  return (long long)value;
}

static bool enter(struct pto_counter_name *name) {
  char text[16];
  const uint32_t number = (uint32_t)(name - names) + 1;
  if (number > 1)
    snprintf(text, sizeof text, "pto%u", number);
  else
    snprintf(text, sizeof text, "pto");
  void *library = papi_sde_init(text);
  if (!library) return false;
  for (uint32_t i = 0; i < PTO_PUBLISHED_COUNTER_COUNT; i++) {
    const int mode = PAPI_SDE_RO | (list[i].is_sum ? PAPI_SDE_DELTA : PAPI_SDE_INSTANT);
    name->readers[i] = (struct reader){name, i};
    /* no papi_sde_describe_counter: in 7.0 it loses the text that was there before */
    if (papi_sde_register_counter_cb(library, list[i].name, mode, PAPI_SDE_long_long, read_one, &name->readers[i]) !=
        SDE_OK)
      return false;
  }
  return true;
}

static int take_name(struct pto_published_counters *counters) {
  struct pto_counter_name *name = NULL;
  bool is_new = false;
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < NAME_COUNT && !name; i++)
    if (!names[i].owner) name = &names[i];
  if (name) {
    name->owner = counters;
    is_new = !name->is_registered;
    name->is_registered = true;
  }
  pthread_mutex_unlock(&mutex); /* libsde holds its own lock while it reads */
  counters->name = name;
  if (!name) return PTO_ENOTSUP;
  return !is_new || enter(name) ? PTO_OK : PTO_ENOMEM;
}

static void leave_name(struct pto_published_counters *counters) {
  struct pto_counter_name *name = counters->name;
  if (!name) return;
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < PTO_PUBLISHED_COUNTER_COUNT; i++) name->before[i] = value_of(name, i);
  name->owner = NULL;
  pthread_mutex_unlock(&mutex);
}
#else
static int take_name(struct pto_published_counters *counters) { return PTO_ENOTSUP; }
static void leave_name(struct pto_published_counters *counters) {}
#endif

int pto_published_counters_create(struct pto_runtime *rt, struct pto_published_counters **out) {
  struct pto_published_counters *counters = calloc(1, sizeof *counters);
  if (!counters) return PTO_ENOMEM;
  counters->rt = rt;
  const int status = take_name(counters);
  if (status)
    pto_published_counters_destroy(counters);
  else
    *out = counters;
  return status;
}

void pto_published_counters_destroy(struct pto_published_counters *counters) {
  if (!counters) return;
  leave_name(counters);
  free(counters);
}
