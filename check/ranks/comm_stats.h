/* SPDX-License-Identifier: MIT */
/*
 * --comm-stats: what the ranks of a world moved and waited for, in the words of nccl-tests.
 *
 *   time     of a collective call: from the begin of the last rank to begin, to the end of the last one to end: what
 *            nccl-tests measures, where all ranks begin at once
 *   skew     from the begin of the first rank to that of the last: time in which others waited for it
 *   bytes    of the larger tensor
 *   algbw    bytes / time
 *   busbw    algbw times what a rank's links carry of each byte at least: 2(n-1)/n of an all-reduce, (n-1)/n of a
 *            reduce-scatter, an all-gather and an all-to-all, 1 of a broadcast
 *
 * A group's task that is no collective has the bytes that its ranks put and got, and no bandwidths.  One of MoE has the
 * same bytes, as routing decides how many there are.  busbw is what a rank puts on average, by time; algbw is that
 * times n/(n-1), as of an all-to-all that puts as much: with even routing, all rows of a rank by time, its own too.
 *
 * Made of what the ranks recorded (runtime/trace/remote.h), the same in each process.  Owns its arrays until fini.
 */
#ifndef PTO_CHECK_RANKS_COMM_STATS_H
#define PTO_CHECK_RANKS_COMM_STATS_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <pto/world.h>
#include <runtime/base/error.h>

struct pto_comm_sum {
  uint64_t count, bytes;
};

struct pto_comm_row {
  uint64_t uid;                 /* of the communicator; 0 is none's */
  uint64_t ranks, window_bytes; /* ranks: a bit each */
  struct pto_comm_sum puts, gets, signals;
};

/* Calls of one kind and size. */
struct pto_comm_calls {
  uint32_t comm;       /* index */
  uint32_t collective; /* enum pto_collective; PTO_COLLECTIVE_COUNT: none */
  bool is_moe;         /* a dispatch's meta or data, or a combine */
  char kernel[48];
  uint64_t calls, bytes; /* bytes of one call; where it is no collective, of all */
  uint64_t ps, skew_ps;  /* of all */
  uint64_t unfinished;   /* calls that not all ranks have ended; not among `calls` */
};

struct pto_comm_wait {
  uint32_t rank, peer;
  uint64_t count, ps;
};

struct pto_comm_stats {
  struct pto_comm_row *comms;
  size_t comm_count, comm_capacity;
  struct pto_comm_calls *calls;
  size_t call_count, call_capacity;
  struct pto_comm_wait *waits; /* the longest first */
  size_t wait_count, wait_capacity;
};

struct pto_ranks;

/* Of a run that has ended; each process calls it.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_comm_stats_init(const struct pto_ranks *ranks, struct pto_comm_stats *stats,
                                       struct pto_error *error);
/* A zeroed one is allowed. */
void pto_comm_stats_fini(struct pto_comm_stats *stats);

void pto_comm_stats_print(const struct pto_comm_stats *stats, FILE *to);
/* The key "comm_stats" and its object. */
void pto_comm_stats_put(const struct pto_comm_stats *stats, struct pto_json_writer *w);

#endif
