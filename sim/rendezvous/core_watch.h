/* SPDX-License-Identifier: MIT */
/*
 * What a tool is told of cores that wait for each other: each call of pto/core.h as what it hands over or takes, and
 * when a core runs at all.
 *
 * Told on the core's own stack, at the moment that counts: what hands over (a signal, an element, coming to a barrier,
 * returning) before others can see it, what takes after it was there.  So all that a core touches lies between two of
 * its events; copies into and out of a FIFO too.  A call that is answered with a status tells nothing more.
 *
 * One thread, that of the engine.  Nothing is told where no tool listens.
 */
#ifndef PTO_SIM_RENDEZVOUS_CORE_WATCH_H
#define PTO_SIM_RENDEZVOUS_CORE_WATCH_H

#include <runtime/port/port.h>

#define PTO_ELEMENT_HEADER_BYTES 8u /* an element's length, in front of it */
/* What an element takes of a FIFO's PTO_CORE_FIFO_BYTES. */
static inline uint64_t pto_core_footprint_bytes(uint64_t size_bytes) { return PTO_ELEMENT_HEADER_BYTES + size_bytes; }

enum pto_core_event_kind {
  PTO_CORE_RESUMED = 1, /* the core runs from here on, */
  PTO_CORE_SUSPENDED,   /* and not any more; both by the engine */
  PTO_CORE_BEGUN,
  PTO_CORE_RETURNED,
  PTO_CORE_SIGNALS,  /* subject: the flag; of `roles` of block_index */
  PTO_CORE_TOOK,     /* a signal of flag `subject` */
  PTO_CORE_HAS_ROOM, /* for size_bytes in the FIFO to role `subject` */
  PTO_CORE_PUSHES,   /* an element of size_bytes to role `subject` */
  PTO_CORE_POPPED,   /* the same from role `subject` */
  PTO_CORE_RELEASES, /* its room */
  PTO_CORE_COMES,    /* to the barrier */
  PTO_CORE_PASSED,   /* it */
  PTO_CORE_HAS_TURN,
  PTO_CORE_POLLED,    /* it looked at memory, what it looked for was not there, and it lets others run */
  PTO_CORE_YIELDS,    /* the same, having worked */
  PTO_CORE_GOES_ON,   /* after either */
  PTO_CORE_HAS_SHARED /* memory of size_bytes, of `key` */
};

struct pto_core_event {
  const struct pto_message *message; /* of the core's kernel */
  uint8_t kind;                      /* enum pto_core_event_kind */
  uint8_t subject, roles;
  uint32_t block_index;
  uint64_t size_bytes, key;
  void *memory;
  const void *call; /* the kernel's last call of pto/core.h returns to; NULL: it made none */
};

struct pto_core_watch {
  void (*told)(void *context, const struct pto_core_event *event);
  void *context;
};

#endif
