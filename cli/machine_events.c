/* SPDX-License-Identifier: MIT */
#include <cli/machine_events.h>

#include <stdlib.h>
#include <string.h>

#include <cli/papi_events.h>
#include <cli/thread_events.h>

struct machine_set {
  enum pto_thread_event events[PTO_MACHINE_EVENTS_MAX];
  uint32_t event_places[PTO_MACHINE_EVENTS_MAX], papi_places[PTO_MACHINE_EVENTS_MAX]; /* in the list of names */
  uint32_t event_count, papi_count;
  struct pto_papi_events *papi; /* NULL: none of them */
};

static int refuse(const char *name, struct pto_error *error) {
  pto_error_set(error, PTO_EINVAL, "no event of a thread is called \"%s\"; there are", name);
  for (enum pto_thread_event i = 0; i < PTO_THREAD_EVENT_COUNT; i++)
    pto_error_append(error, "%s %s", i ? "," : "", pto_thread_event_name(i));
  return PTO_EINVAL;
}

static void close_set(void *argument) {
  struct machine_set *set = argument;
  pto_papi_events_close(set->papi);
  free(set);
}

static int open_papi(struct machine_set *set, const char *const *names, struct pto_error *error) {
  int status = set->papi_count ? pto_papi_events_open(names, set->papi_count, &set->papi, error) : PTO_OK;
  return status == PTO_OK && set->papi ? pto_papi_events_start(set->papi, error) : status;
}

static int open_set(const char *const *names, uint32_t count, void **set_out, struct pto_error *error) {
  const char *papi_names[PTO_MACHINE_EVENTS_MAX];
  int status = PTO_OK;
  if (count > PTO_MACHINE_EVENTS_MAX)
    return pto_error_set(error, PTO_EINVAL, "more than %u events: %s", PTO_MACHINE_EVENTS_MAX,
                         names[PTO_MACHINE_EVENTS_MAX]);
  struct machine_set *set = calloc(1, sizeof *set);
  if (!set) return pto_error_set(error, PTO_ENOMEM, "no memory for events");
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) {
    if (strncmp(names[i], PTO_THREAD_EVENT_PREFIX, strlen(PTO_THREAD_EVENT_PREFIX)) != 0) {
      papi_names[set->papi_count] = names[i];
      set->papi_places[set->papi_count++] = i;
      continue;
    }
    const enum pto_thread_event event = pto_thread_event_find(names[i]);
    if (event == PTO_THREAD_EVENT_COUNT) status = refuse(names[i], error);
    set->events[set->event_count] = event;
    set->event_places[set->event_count++] = i;
  }
  if (status == PTO_OK) status = open_papi(set, papi_names, error);
  if (status)
    close_set(set);
  else
    *set_out = set;
  return status;
}

static int read_set(void *argument, int64_t *values) {
  const struct machine_set *set = argument;
  int64_t counted[PTO_MACHINE_EVENTS_MAX];
  struct pto_error error;
  const int status = set->papi ? pto_papi_events_read(set->papi, counted, &error) : PTO_OK;
  if (status) return status;
  for (uint32_t i = 0; i < set->papi_count; i++) values[set->papi_places[i]] = counted[i];
  pto_thread_events_read(set->events, set->event_count, counted);
  for (uint32_t i = 0; i < set->event_count; i++) values[set->event_places[i]] = counted[i];
  return PTO_OK;
}

const struct pto_event_source pto_machine_events = {
    .open = open_set, .read = read_set, .close = close_set, .leave_thread = pto_papi_events_leave_thread};
