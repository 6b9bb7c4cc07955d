/* SPDX-License-Identifier: MIT */
/* Events that PAPI counts; the one user of papi.h.  PAPI has one state a process, made at the first open, which loads
 * the library: libpfm below it takes as long to load as all else of ptosim twice. */
#include <cli/measure/event_source.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PTO_HAVE_PAPI
#include <dlfcn.h>
#include <papi.h>
#include <pthread.h>

#define CALL_LIST(X)                                                                                                   \
  X(library_init);                                                                                                     \
  X(thread_init);                                                                                                      \
  X(register_thread);                                                                                                  \
  X(unregister_thread);                                                                                                \
  X(strerror);                                                                                                         \
  X(get_component_info);                                                                                               \
  X(num_cmp_hwctrs);                                                                                                   \
  X(create_eventset);                                                                                                  \
  X(event_name_to_code);                                                                                               \
  X(get_event_component);                                                                                              \
  X(add_event);                                                                                                        \
  X(start);                                                                                                            \
  X(read);                                                                                                             \
  X(stop);                                                                                                             \
  X(cleanup_eventset);                                                                                                 \
  X(destroy_eventset)

/* PAPI_NAME of each call; set once, by load(). */
static struct {
#define X(name) __typeof__(PAPI_##name) *name
  CALL_LIST(X);
#undef X
} papi;

#define MOST_SETS 8

/* PAPI counts together what one of its components knows. */
struct component_set {
  int handle, component;
  uint32_t count;
  uint32_t places[PTO_EVENTS_MAX]; /* in the list of names */
  bool is_running;
};

struct papi_set {
  struct component_set sets[MOST_SETS];
  uint32_t set_count;
};

static int library_status;
static char load_error[256]; /* why the library or one of its calls is not there; "": it is */
static _Thread_local bool is_registered;

static bool find(void *library, const char *name, void *call_out) {
  void *found = dlsym(library, name);
  memcpy(call_out, &found, sizeof found);
  return found != NULL;
}

/* It stays until the process ends. */
static void load(void) {
  void *library = dlopen(PTO_PAPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  bool has_all = library != NULL;
#define X(name) has_all = has_all && find(library, "PAPI_" #name, &papi.name)
  CALL_LIST(X);
#undef X
  if (!has_all) snprintf(load_error, sizeof load_error, "%s", dlerror());
}

static void init_library(void) {
  load();
  if (load_error[0]) return;
  library_status = papi.library_init(PAPI_VER_CURRENT);
  if (library_status == PAPI_VER_CURRENT) library_status = papi.thread_init(pthread_self);
}

/* Once: later calls say the same. */
static int init(struct pto_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_library);
  if (load_error[0]) return pto_error_set(error, PTO_ENOTSUP, "PAPI is not here (package libpapi-dev): %s", load_error);
  is_registered = library_status == PAPI_OK && papi.register_thread() == PAPI_OK; /* 7.0 wants to know of each first */
  if (is_registered) return PTO_OK;
  return pto_error_set(error, PTO_ENOTSUP, "PAPI does not start here: %s", papi.strerror(library_status));
}

/* Why PAPI has no events of the hardware; NULL where it has. */
static const char *no_hardware(void) {
  const PAPI_component_info_t *cpu = papi.get_component_info(0);
  if (cpu && !cpu->disabled && papi.num_cmp_hwctrs(0) > 0) return NULL;
  return cpu && cpu->disabled_reason[0] ? cpu->disabled_reason : "it has no counters";
}

/* Of its own names, PAPI_…, it does not say which are none and which this machine has not. */
static int refuse(const char *name, int status, struct pto_error *error) {
  const char *reason = no_hardware();
  if (strncmp(name, "PAPI_", 5) == 0)
    return pto_error_set(error, PTO_ENOTSUP, "PAPI does not count %s on this machine (%s)", name,
                         reason ? reason : papi.strerror(status));
  return pto_error_set(error, PTO_EINVAL, "PAPI has no event \"%s\" here: %s", name, papi.strerror(status));
}

/* PAPI knows the event but cannot count it together with those in the set. */
static int refuse_beside(const char *name, const struct component_set *set, int status, struct pto_error *error) {
  if (status != PAPI_ECNFLCT && status != PAPI_ECOUNT) return refuse(name, status, error);
  const int limit = papi.num_cmp_hwctrs(set->component);
  pto_error_set(error, PTO_EINVAL, "%s cannot be counted beside the %u of its kind before it", name, set->count);
  if (limit > 0) pto_error_append(error, "; this machine counts %d at once", limit);
  return PTO_EINVAL;
}

static struct component_set *set_of(struct papi_set *events, int component) {
  for (uint32_t i = 0; i < events->set_count; i++)
    if (events->sets[i].component == component) return &events->sets[i];
  if (events->set_count == MOST_SETS) return NULL;
  struct component_set *set = &events->sets[events->set_count];
  *set = (struct component_set){.handle = PAPI_NULL, .component = component};
  if (papi.create_eventset(&set->handle) != PAPI_OK) return NULL;
  events->set_count++;
  return set;
}

static int add(struct papi_set *events, const char *name, uint32_t place, struct pto_error *error) {
  char full[128];
  int code;
  /* a runtime's by the name of its library alone, too */
  snprintf(full, sizeof full, "%s%s", strncmp(name, "pto", 3) == 0 ? "sde:::" : "", name);
  int status = papi.event_name_to_code(full, &code);
  if (status != PAPI_OK) return refuse(name, status, error);
  struct component_set *set = set_of(events, papi.get_event_component(code));
  if (!set) return pto_error_set(error, PTO_ENOMEM, "PAPI has no room for events of a further kind (%s)", name);
  status = papi.add_event(set->handle, code);
  if (status != PAPI_OK) return refuse_beside(name, set, status, error);
  set->places[set->count++] = place;
  return PTO_OK;
}

static void close_set(void *argument) {
  struct papi_set *events = argument;
  for (uint32_t i = 0; i < events->set_count; i++) {
    struct component_set *set = &events->sets[i];
    long long counted[PTO_EVENTS_MAX];
    if (set->is_running) (void)papi.stop(set->handle, counted);
    (void)papi.cleanup_eventset(set->handle);
    (void)papi.destroy_eventset(&set->handle);
  }
  free(events);
}

static int start(struct papi_set *events, struct pto_error *error) {
  for (uint32_t i = 0; i < events->set_count; i++) {
    const int status = papi.start(events->sets[i].handle);
    if (status != PAPI_OK)
      return pto_error_set(error, PTO_ESYSTEM, "PAPI does not count these events: %s", papi.strerror(status));
    events->sets[i].is_running = true;
  }
  return PTO_OK;
}

static int open_set(const char *const *names, uint32_t count, void **set_out, struct pto_error *error) {
  int status = init(error);
  if (status) return status;
  if (count > PTO_EVENTS_MAX) return pto_error_set(error, PTO_EINVAL, "more than %u events", PTO_EVENTS_MAX);
  struct papi_set *events = calloc(1, sizeof *events);
  if (!events) return pto_error_set(error, PTO_ENOMEM, "no memory for events");
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) status = add(events, names[i], i, error);
  if (status == PTO_OK) status = start(events, error);
  if (status)
    close_set(events);
  else
    *set_out = events;
  return status;
}

static int read_set(void *argument, int64_t *values) {
  const struct papi_set *events = argument;
  for (uint32_t i = 0; i < events->set_count; i++) {
    const struct component_set *set = &events->sets[i];
    long long counted[PTO_EVENTS_MAX];
    if (papi.read(set->handle, counted) != PAPI_OK) return PTO_ESYSTEM;
    for (uint32_t k = 0; k < set->count; k++) values[set->places[k]] = counted[k];
  }
  return PTO_OK;
}

static void leave_thread(void) {
  if (is_registered) (void)papi.unregister_thread();
  is_registered = false;
}
#else
static int open_set(const char *const *names, uint32_t count, void **set_out, struct pto_error *error) {
  return pto_error_set(error, PTO_ENOTSUP, "ptosim is built without PAPI (package libpapi-dev)");
}
static int read_set(void *argument, int64_t *values) { return PTO_ENOTSUP; }
static void close_set(void *argument) {}
static void leave_thread(void) {}
#endif

const struct pto_event_source pto_papi_events = {open_set, read_set, close_set, leave_thread};
