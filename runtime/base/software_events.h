/* SPDX-License-Identifier: MIT */
/*
 * Software-defined events: counters of a runtime that PAPI reads as it reads those of the hardware, by the names
 * sde:::pto::tasks, sde:::pto::edges and so on (pto::tasks in what follows).  Those of a second runtime that registers
 * while the first one's are there are called pto2::tasks, and so on up to pto8.
 *
 * The one user of libsde (package libpapi-dev), which is optional.  It has one table of names a process, and entries
 * that were made stay in it: events of a name without an owner keep their values, and count on with the next owner.
 *
 * Owns the names and their owners.  Any thread may register; `read` is called on whatever thread reads by PAPI, and
 * not any more after unregister.
 *
 * A further event is a line of the list, and its value where the counters are made
 * (runtime/control/published_counters.c).
 */
#ifndef PTO_SOFTWARE_EVENTS_H
#define PTO_SOFTWARE_EVENTS_H

#include <pto/status.h>
#include <runtime/base/base.h>

/* X(name, whether it only grows, what it counts).  PAPI gives what one that only grows has grown by since PAPI_start,
 * and of the others the value at that moment. */
#define PTO_SOFTWARE_EVENT_LIST(X)                                                                                     \
  X(tasks, true, "tasks submitted")                                                                                    \
  X(edges, true, "dependent pairs of tasks found")                                                                     \
  X(ready, false, "tasks that are ready and have not been sent to a core")                                             \
  X(heap_bytes, false, "bytes in use of the heap rings")                                                               \
  X(stalls, true, "times that the orchestration had to wait before it could go on")                                    \
  X(transfers, true, "tensors moved between host and device, or on the device")                                        \
  X(transfer_bytes, true, "bytes of these tensors")

enum pto_software_event {
#define X(name, is_sum, text) PTO_SOFTWARE_EVENT_##name,
  PTO_SOFTWARE_EVENT_LIST(X)
#undef X
      PTO_SOFTWARE_EVENT_COUNT
};

struct pto_software_events {
  uint64_t (*read)(void *context, enum pto_software_event event);
  void *context;
  void *name; /* NULL: nothing is registered */
};

/* PTO_OK, PTO_ENOTSUP where libsde is not there or all names are taken, PTO_ENOMEM.  `events` stays where it is until
 * unregister, which takes zeroed ones too. */
PTO_MUST_CHECK int pto_software_events_register(struct pto_software_events *events,
                                                uint64_t (*read)(void *context, enum pto_software_event event),
                                                void *context);
void pto_software_events_unregister(struct pto_software_events *events);

#endif
