/* SPDX-License-Identifier: MIT */
/*
 * Several ranks of the oracle, in their sequential order: each in its own order, the lowest first, and where one waits,
 * the next.
 *
 * A rank is a coroutine over a runtime of its own (oracle_runtime.h).  Windows of all ranks are plain memory, and a put
 * is a copy.  What all ranks of a communicator do together, the last that comes does for all (oracle_collectives.c): so
 * no line is shared with the kernels of collectives, their windows and their signals.
 *
 * One thread; one world in a process, which keeps its communicators to its end.
 */
#ifndef PTO_ORACLE_WORLD_H
#define PTO_ORACLE_WORLD_H

#include <pto/world.h>
#include <tests/oracle/oracle_runtime.h>

struct oracle_comm {
  uint32_t ranks[PTO_MAX_RANKS], size, joined, signal_count;
  uint64_t window_bytes;
  char *windows[PTO_MAX_RANKS];
  int32_t *signals[PTO_MAX_RANKS];
  const struct pto_kernel_args *args[PTO_MAX_RANKS]; /* of those that have come to meet, by place */
  uint32_t come;
  uint64_t met; /* how often all have */
};

struct oracle_rendezvous {
  const uint64_t *met;
  uint64_t turn;
};

/* Runs `its` once for each rank.  False: no memory, or ranks that wait for each other for ever. */
bool oracle_world_run(uint32_t count, void (*its)(uint32_t rank, void *context), void *context);
/* Of the rank that runs; NULL: there is none. */
struct oracle_comm *oracle_comm_at(uint64_t id);
uint32_t oracle_comm_place(const struct oracle_comm *comm);
/* For a kernel: waits until all ranks of it have called this.  The last calls `all`, with the arguments of each by
 * place; its status is the last one's. */
int oracle_comm_meet(struct oracle_comm *comm, const struct pto_kernel_args *args,
                     int (*all)(struct oracle_comm *comm, const struct pto_kernel_args *const *args));

#endif
