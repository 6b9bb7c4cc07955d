/* SPDX-License-Identifier: MIT */
#include <runtime/base/software_events.h>

#include <pthread.h>
#include <stdio.h>

#if PTO_HAVE_SDE
#include <sde_lib.h>

#define NAME_COUNT 8u

static const struct {
  const char *name;
  bool is_sum;
} list[] = {
#define X(name, is_sum, text) {#name, is_sum},
    PTO_SOFTWARE_EVENT_LIST(X)
#undef X
};
_Static_assert(PTO_ARRAY_LENGTH(list) == PTO_SOFTWARE_EVENT_COUNT, "a line an event");

/* The events of one name, "pto" or "pto2" or …, with or without an owner.  libsde 7.0 touches freed memory where an
 * event is registered that has been before, so each name is registered once a process and stays; without an owner its
 * events stand still. */
static struct name {
  struct pto_software_events *owner; /* NULL: free */
  bool is_registered;
  uint64_t before[PTO_SOFTWARE_EVENT_COUNT]; /* of earlier owners, for what only grows */
  struct reader {
    struct name *name;
    uint32_t event;
  } readers[PTO_SOFTWARE_EVENT_COUNT];
} names[NAME_COUNT];

/* Of `names`, and held while an owner is asked, so that it is there. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t value_of(const struct name *name, uint32_t event) {
  const struct pto_software_events *owner = name->owner;
  const uint64_t now = owner ? owner->read(owner->context, event) : 0;
  return list[event].is_sum ? name->before[event] + now : now;
}

static long long read_one(void *parameter) {
  const struct reader *reader = parameter;
  pthread_mutex_lock(&mutex);
  const uint64_t value = value_of(reader->name, reader->event);
  pthread_mutex_unlock(&mutex);
  return (long long)value;
}

static bool enter(struct name *name) {
  char text[16];
  const uint32_t number = (uint32_t)(name - names) + 1;
  if (number > 1)
    snprintf(text, sizeof text, "pto%u", number);
  else
    snprintf(text, sizeof text, "pto");
  void *library = papi_sde_init(text);
  if (!library) return false;
  for (uint32_t i = 0; i < PTO_SOFTWARE_EVENT_COUNT; i++) {
    const int mode = PAPI_SDE_RO | (list[i].is_sum ? PAPI_SDE_DELTA : PAPI_SDE_INSTANT);
    name->readers[i] = (struct reader){name, i};
    /* no papi_sde_describe_counter: in 7.0 it loses the text that was there before */
    if (papi_sde_register_counter_cb(library, list[i].name, mode, PAPI_SDE_long_long, read_one, &name->readers[i]) !=
        SDE_OK)
      return false;
  }
  return true;
}

int pto_software_events_register(struct pto_software_events *events,
                                 uint64_t (*read)(void *context, enum pto_software_event event), void *context) {
  struct name *name = NULL;
  bool is_new = false;
  *events = (struct pto_software_events){.read = read, .context = context};
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < NAME_COUNT && !name; i++)
    if (!names[i].owner) name = &names[i];
  if (name) {
    name->owner = events;
    is_new = !name->is_registered;
    name->is_registered = true;
  }
  pthread_mutex_unlock(&mutex); /* libsde holds its own lock while it reads */
  if (!name) return PTO_ENOTSUP;
  events->name = name;
  if (!is_new || enter(name)) return PTO_OK;
  pto_software_events_unregister(events);
  return PTO_ENOMEM;
}

void pto_software_events_unregister(struct pto_software_events *events) {
  struct name *name = events->name;
  if (!name) return;
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < PTO_SOFTWARE_EVENT_COUNT; i++) name->before[i] = value_of(name, i);
  name->owner = NULL;
  pthread_mutex_unlock(&mutex);
  events->name = NULL;
}
#else
int pto_software_events_register(struct pto_software_events *events,
                                 uint64_t (*read)(void *context, enum pto_software_event event), void *context) {
  *events = (struct pto_software_events){.read = read, .context = context};
  return PTO_ENOTSUP;
}
void pto_software_events_unregister(struct pto_software_events *events) {}
#endif
