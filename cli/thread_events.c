/* SPDX-License-Identifier: MIT */
#include <cli/thread_events.h>

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char *const names[] = {
#define X(name, value, text) PTO_THREAD_EVENT_PREFIX #name,
    PTO_THREAD_EVENT_LIST(X)
#undef X
};

const char *pto_thread_event_name(enum pto_thread_event event) { return names[event]; }

enum pto_thread_event pto_thread_event_find(const char *name) {
  enum pto_thread_event event = 0;
  while (event < PTO_THREAD_EVENT_COUNT && strcmp(names[event], name) != 0) event++;
  return event;
}

static int64_t clock_of(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t value_of(enum pto_thread_event event, const struct rusage *usage) {
  int64_t number = 0;
  switch (event) {
#define X(name, value, text)                                                                                           \
  case PTO_THREAD_EVENT_##name:                                                                                        \
    number = (value);                                                                                                  \
    break;
    PTO_THREAD_EVENT_LIST(X)
#undef X
  case PTO_THREAD_EVENT_COUNT:
    break;
  }
  return number;
}

static bool is_clock(enum pto_thread_event event) {
  return event == PTO_THREAD_EVENT_cpu_ns || event == PTO_THREAD_EVENT_wall_ns;
}

void pto_thread_events_read(const enum pto_thread_event *events, uint32_t count, int64_t *values) {
  struct rusage usage = {0};
  bool has_usage = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!has_usage && !is_clock(events[i])) has_usage = getrusage(RUSAGE_THREAD, &usage) == 0;
    values[i] = value_of(events[i], &usage);
  }
}
