/* SPDX-License-Identifier: MIT */
/* The events of the machine: those of a thread from the system, all others from PAPI. */
#include <cli/measure/event_source.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <runtime/base/base.h>
#include <runtime/base/clock.h>

#define PREFIX "thread::"

static const char *const thread_names[] = {
#define X(name, value, text) PREFIX #name,
    PTO_THREAD_EVENT_LIST(X)
#undef X
};
#define THREAD_EVENTS PTO_ARRAY_LENGTH(thread_names)

struct set {
  uint32_t count, papi_count;
  uint32_t events[PTO_EVENTS_MAX];      /* by place in the list of names: index in thread_names, or THREAD_EVENTS */
  uint32_t papi_places[PTO_EVENTS_MAX]; /* the places of PAPI's */
  void *papi;                           /* NULL: none of them */
};

static uint32_t find_event(const char *name) {
  uint32_t event = 0;
  while (event < THREAD_EVENTS && strcmp(thread_names[event], name) != 0) event++;
  return event;
}

static int refuse(const char *name, struct pto_error *error) {
  pto_error_set(error, PTO_EINVAL, "no event of a thread is called \"%s\"; there are", name);
  for (uint32_t i = 0; i < THREAD_EVENTS; i++) pto_error_append(error, "%s %s", i ? "," : "", thread_names[i]);
  return PTO_EINVAL;
}

static void close_set(void *argument) {
  struct set *set = argument;
  if (set->papi) pto_papi_events.close(set->papi);
  free(set);
}

static int open_set(const char *const *names, uint32_t count, void **set_out, struct pto_error *error) {
  const char *papi_names[PTO_EVENTS_MAX];
  int status = PTO_OK;
  if (count > PTO_EVENTS_MAX)
    return pto_error_set(error, PTO_EINVAL, "more than %u events: %s", PTO_EVENTS_MAX, names[PTO_EVENTS_MAX]);
  struct set *set = calloc(1, sizeof *set);
  if (!set) return pto_error_set(error, PTO_ENOMEM, "no memory for events");
  set->count = count;
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) {
    set->events[i] = find_event(names[i]);
    if (set->events[i] < THREAD_EVENTS) continue;
    if (strncmp(names[i], PREFIX, strlen(PREFIX)) == 0) status = refuse(names[i], error);
    papi_names[set->papi_count] = names[i];
    set->papi_places[set->papi_count++] = i;
  }
  if (status == PTO_OK && set->papi_count)
    status = pto_papi_events.open(papi_names, set->papi_count, &set->papi, error);
  if (status)
    close_set(set);
  else
    *set_out = set;
  return status;
}

/* Reads a clock, or what getrusage said, which is asked once a reading and only where an event of it is counted. */
static int64_t read_event(uint32_t event, struct rusage *usage, bool *has_usage) {
  enum {
#define X(name, value, text) EVENT_##name,
    PTO_THREAD_EVENT_LIST(X)
#undef X
  };
  int64_t number = 0;
  if (!*has_usage && event != EVENT_cpu_ns && event != EVENT_wall_ns) *has_usage = getrusage(RUSAGE_THREAD, usage) == 0;
  switch (event) {
#define X(name, value, text)                                                                                           \
  case EVENT_##name:                                                                                                   \
    number = (value);                                                                                                  \
    break;
    PTO_THREAD_EVENT_LIST(X)
#undef X
  }
  return number;
}

static int read_set(void *argument, int64_t *values) {
  const struct set *set = argument;
  int64_t counted[PTO_EVENTS_MAX];
  struct rusage usage = {0};
  bool has_usage = false;
  const int status = set->papi ? pto_papi_events.read(set->papi, counted) : PTO_OK;
  if (status) return status;
  for (uint32_t i = 0; i < set->papi_count; i++) values[set->papi_places[i]] = counted[i];
  for (uint32_t i = 0; i < set->count; i++)
    if (set->events[i] < THREAD_EVENTS) values[i] = read_event(set->events[i], &usage, &has_usage);
  return PTO_OK;
}

static void leave_thread(void) { pto_papi_events.leave_thread(); }

const struct pto_event_source pto_machine_events = {open_set, read_set, close_set, leave_thread};
