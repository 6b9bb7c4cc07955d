/* SPDX-License-Identifier: MIT */
/*
 * What the virtual engine of one rank knows of the others: up to when its time may go on.
 *
 * Owned by the world (world/); an engine that has one was made with it.  Times here are the engine's, of the run that
 * goes on.  Always true: no event of the engine is taken at `horizon` or later; and what another rank does to this one,
 * it does in `sync`, on the rank's own stack, at a time that no event of the engine has passed.
 *
 * The rank's control thread.
 */
#ifndef PTO_SIM_VIRTUAL_RANK_CLOCK_H
#define PTO_SIM_VIRTUAL_RANK_CLOCK_H

#include <runtime/base/base.h>

struct pto_chip;
struct pto_port;
struct pto_virtual_cores;

enum pto_rank_verdict {
  PTO_RANK_GOES_ON,     /* the horizon is another one, or a message came */
  PTO_RANK_LOOKS_AGAIN, /* nothing will happen on any rank, unless a core that polls memory finds something */
  PTO_RANK_IS_STUCK     /* nothing will ever happen; `sentence` says why */
};

struct pto_rank_clock {
  uint64_t horizon;
  const struct pto_chip *chip;     /* the world's; borrowed */
  uint32_t most_workers;           /* of the engine, as other ranks run beside; 0: as many as it likes */
  struct pto_virtual_cores *cores; /* the engine's, while a run goes on; else NULL */
  const char *sentence;
  /* The rank does nothing before `next_at`, PTO_VIRTUAL_NEVER for nothing at all, unless another one makes it: the
   * others go on up to then. */
  enum pto_rank_verdict (*sync)(struct pto_rank_clock *rank, uint64_t next_at);
  /* Around a run: its time begins at 0, and has come to `elapsed_ps`.  False: another run of the rank goes on. */
  bool (*begin_run)(struct pto_rank_clock *rank, struct pto_virtual_cores *cores);
  void (*end_run)(struct pto_rank_clock *rank, uint64_t elapsed_ps);
};

/* For the engine, whose port and cores these are: `sync`, and what its verdict does to the cores.  False: the rank is
 * stuck, and what waited has been told so. */
bool pto_rank_clock_sync(struct pto_rank_clock *rank, struct pto_port *port, struct pto_virtual_cores *cores,
                         uint64_t next_at);

#endif
