/* SPDX-License-Identifier: MIT */
/*
 * Messages between chips, as SimGrid times them on the same links: a process of bench/peers/fabric_simgrid.cpp.
 *
 * A schedule is an array of messages, the caller's.  A message begins when both its ranks have done all messages of the
 * steps before, and not before its own time.  Where SimGrid is not there (scripts/deps --bench), which is a normal
 * state, it is said once and nothing is run.  One thread.
 */
#ifndef PTO_LINKS_PEER_H
#define PTO_LINKS_PEER_H

#include <sim/chips/chip.h>

struct pto_bench_message {
  uint32_t step, source, target;
  uint64_t begin_ps, bytes;
};

/* Finds the program: in the folder PTO_BENCH_PEERS of the environment, else in peers/ beside this one. */
bool pto_links_peer_is_there(const char *bench);
/* "s4u": when each message arrives; "smpi": when the last process is done, one time.  Picoseconds since all ranks
 * began. False: it failed, as was said on stderr. */
bool pto_links_peer_run(const char *how, const struct pto_chip *chip, uint32_t ranks,
                        const struct pto_bench_message *messages, uint32_t count, double *times_ps);

#endif
