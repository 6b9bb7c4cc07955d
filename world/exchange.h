/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a world tell each other: at a rendezvous each gives a number and bytes, and all get the least
 * number and everyone's bytes, in order of parts.
 *
 *   exchange.c      of threads of this process
 *   processes.c     whether there are several processes, and what joins them
 *   exchange_mpi.c  of processes: all that calls MPI, a plug-in (libpto_mpi.so)
 *
 * Owned by the caller that made it.  All parts come to each one; it orders what one did before it before what another
 * does after it.  Each part calls with its own index, on its own thread; of processes, that which made it.
 */
#ifndef PTO_WORLD_EXCHANGE_H
#define PTO_WORLD_EXCHANGE_H

#include <stdlib.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>

/* Owned by the part that holds it; zeroed at first. */
struct pto_exchange_bytes {
  unsigned char *data;
  size_t count, capacity;
};
/* Room for `count` more bytes, behind what is there; NULL: no memory. */
static inline void *pto_exchange_bytes_add(struct pto_exchange_bytes *bytes, size_t count) {
  if (bytes->capacity - bytes->count < count) {
    const size_t capacity = 2 * (bytes->count + count);
    unsigned char *data = realloc(bytes->data, capacity);
    if (!data) return NULL;
    bytes->data = data;
    bytes->capacity = capacity;
  }
  bytes->count += count;
  return bytes->data + bytes->count - count;
}
void pto_exchange_bytes_fini(struct pto_exchange_bytes *bytes);

/* What a part brings to a rendezvous, and has afterwards. */
struct pto_exchange_visit {
  uint32_t part;
  uint64_t value;                      /* then the least of all */
  struct pto_exchange_bytes *out, *in; /* `out` is empty then, and `in` has everyone's */
};

struct pto_exchange {
  uint32_t part_count, first, end; /* in this process: first to end - 1 */
  bool is_shared;                  /* parts have one memory: what one tells may be a pointer */
  bool (*meet)(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well);
  void (*destroy)(struct pto_exchange *exchange);
};

/* Of threads in this process; NULL: no memory. */
struct pto_exchange *pto_exchange_create(uint32_t part_count);

/* How many processes the launcher says that it has started; 1: there is none. */
uint32_t pto_exchange_process_count(void);
/* Of the processes that a launcher has started this one among, a part each; NULL through *exchange_out: it is alone.
 * Else the sentence.  Where one of them ends without destroying it, the launcher ends all. */
PTO_MUST_CHECK int pto_exchange_join(struct pto_exchange **exchange_out, struct pto_error *error);
/* The plug-in's only symbol.  NULL, with the sentence: they are not `process_count`, or there is no memory. */
#define PTO_EXCHANGE_OF_MPI "pto_exchange_of_mpi"
typedef struct pto_exchange *pto_exchange_of_mpi_function(uint32_t process_count, const char **sentence);

static inline void pto_exchange_destroy(struct pto_exchange *exchange) { /* NULL is allowed */
  if (exchange) exchange->destroy(exchange);
}
/* False where a part is not well, or is out of memory: the same for all. */
static inline bool pto_exchange_meet(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well) {
  return exchange->meet(exchange, visit, is_well);
}

#endif
