/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a world tell each other: at a rendezvous each gives a number and bytes, and all get the least
 * number and everyone's bytes, in order of parts.
 *
 * Owned by the world.  All parts come to each one; it orders what one did before it
 * before what another does after it.  Each part calls with its own index, on its own thread.
 */
#ifndef PTO_WORLD_EXCHANGE_H
#define PTO_WORLD_EXCHANGE_H

#include <runtime/base/base.h>

/* Owned by the part that holds it; zeroed at first. */
struct pto_exchange_bytes {
  unsigned char *data;
  size_t count, capacity;
};
/* Room for `bytes` more, behind what is there; NULL: no memory. */
void *pto_exchange_bytes_add(struct pto_exchange_bytes *bytes, size_t count);
void pto_exchange_bytes_fini(struct pto_exchange_bytes *bytes);

struct pto_exchange;

/* Of threads in this process; NULL: no memory. */
struct pto_exchange *pto_exchange_create(uint32_t part_count);
void pto_exchange_destroy(struct pto_exchange *exchange); /* takes NULL */

/* What a part brings to a rendezvous, and has afterwards. */
struct pto_exchange_visit {
  uint32_t part;
  uint64_t value;                      /* then the least of all */
  struct pto_exchange_bytes *out, *in; /* `out` is empty then, and `in` has everyone's */
};
/* False where a part is not well, or is out of memory: the same for all. */
bool pto_exchange_meet(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well);

#endif
