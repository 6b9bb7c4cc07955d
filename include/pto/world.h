/* SPDX-License-Identifier: MIT */
/*
 * A world: several chips in one virtual time, and what their programs tell each other over the links between them.
 *
 * Each chip is a rank.  A rank runs a program of its own, or the same one with its number: it makes runtimes or
 * contexts (pto/device.h) with config.rank, whose runs come one after another, and nothing of two ranks is shared.  The
 * rank's time goes on from one run to the next; a context's run is from its first call that waits until it is
 * destroyed, so a rank has one at a time.  Communicators outlast runs.  Ranks meet in communicators: an ordered set of
 * ranks, with a window of memory and an array of signals on each.  A kernel on a core of one rank writes to and reads
 * from the window of another, and sets and awaits signals (pto/remote.h).
 *
 * Order.  A rank's tasks are ordered by what they access of its own memory, its own window counted; of a window of
 * another rank, by what they declare of it.  Between ranks nothing orders but a signal: what a kernel has put before it
 * notifies a signal, the kernel that has waited for that may read.  Who waits is of a group (pto_submit_group), and
 * kernels that wait for each other are of one, as no others are certain to run at the same time.  Any task may notify:
 * one that does not wait comes to it, where nothing before it waits for that, and those who wait leave it a core.
 *
 * Time.  One clock: what happens first on any chip is done first, at one instant the lower rank's, and messages take
 * what the chip's [fabric] says.  So a world gives the same bytes and the same timelines on every machine.
 *
 * Threads: that of pto_world_run and, where config.threads says so, others; each rank has a stack of its own on one of
 * them, or with config.rank_threads a thread.  Ownership: the world's until it is destroyed, which is after all
 * runtimes of its ranks; windows are the world's.
 */
#ifndef PTO_WORLD_H
#define PTO_WORLD_H

#include <pto/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTO_MAX_RANKS 64u
#define PTO_COMM_MAX_SIGNALS 65536u

struct pto_world;

/* Zeroed fields mean the default in brackets. */
struct pto_world_config {
  size_t size;
  uint32_t ranks;                   /* 1 … what the chip's [fabric] holds [1] */
  const char *chip;                 /* whose [fabric] joins the ranks ["tiny"] */
  const struct pto_chip *made_chip; /* of ptosim's own: instead of what `chip` says; borrowed while it is made */
  uint32_t threads;  /* that ranks run on, side by side; the same bytes and times as on one.  At most one a rank [1] */
  bool rank_threads; /* each rank has a thread of its own, and those of one of `threads` run one at a time: for a `main`
                        that does not go on on another stack, as an interpreter's does not [false] */
};

/* PTO_OK; PTO_EINVAL with the sentence where the fabric does not hold so many ranks, or the chip is unknown;
 * PTO_ENOMEM. `sentence` may be NULL. */
PTO_API PTO_MUST_CHECK int pto_world_create(const struct pto_world_config *config, struct pto_world **world_out,
                                            char *sentence, size_t sentence_size);
/* NULL is allowed. */
PTO_API void pto_world_destroy(struct pto_world *world);

/* Runs `main` for each rank, all from the same time on.  PTO_OK, or the status of the lowest rank whose main has failed
 * for a reason of its own, else of the lowest that waited for ever.  Once a world. */
PTO_API PTO_MUST_CHECK int pto_world_run(struct pto_world *world, int (*main)(struct pto_rank *rank, void *context),
                                         void *context);
/* "rank 3: …" of the last run; "" where it went well. */
PTO_API const char *pto_world_last_error(const struct pto_world *world);

/* The rank of that index, for the configuration of its runtimes. */
PTO_API struct pto_rank *pto_world_rank(struct pto_world *world, uint32_t index);
/* 0 ≤ index < count. */
PTO_API uint32_t pto_rank_index(const struct pto_rank *rank);
PTO_API uint32_t pto_rank_count(const struct pto_rank *rank);
/* Of the rank that a runtime belongs to; 0 of 1 where its chip is alone. */
PTO_API uint32_t pto_runtime_rank(const struct pto_runtime *rt);
PTO_API uint32_t pto_runtime_rank_count(const struct pto_runtime *rt);
/* Virtual time of the rank's runs that have ended. */
PTO_API uint64_t pto_rank_clock_ps(const struct pto_rank *rank);
/* What `main` failed with, for pto_world_last_error. */
PTO_API void pto_rank_set_error(struct pto_rank *rank, const char *sentence);

/* ---- communicators: for the orchestration, within a run ---- */

/* Kernels get `id` as a scalar.  It is good until the world is destroyed.  Ids count from 0, in the order in which this
 * rank makes communicators: 0 is the first one's, and no communicator's before that. */
struct pto_comm {
  uint64_t id;
};

/* All ranks of `ranks` (NULL: all of the world) call it, in the same order and with the same sizes, as their n-th
 * communicator of these ranks; returns when all have.  The window is zeroed, and so are the signals, before any of them
 * goes on.  PTO_EINVAL: the caller is not among the ranks, a rank is out of range or twice there, the sizes differ from
 * another rank's; PTO_EDEADLOCK, with who is missing; PTO_ENOTSUP where the chip is alone (not in a world). */
PTO_API PTO_MUST_CHECK int pto_comm_create(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count,
                                           uint64_t window_bytes, uint32_t signal_count, struct pto_comm *comm_out);
/* This rank's place in it, 0 ≤ place < size: what `peer` means everywhere; UINT32_MAX and 0 where there is no such
 * communicator. */
PTO_API uint32_t pto_comm_place(const struct pto_runtime *rt, struct pto_comm comm);
PTO_API uint32_t pto_comm_size(const struct pto_runtime *rt, struct pto_comm comm);
/* Dense tensor at the start of the own window, or of a peer's, as pto_external_tensor registers it.  A peer's is for
 * pto_core_put (as an OUTPUT) and pto_core_get (as an INPUT) alone: no kernel can touch its elements.  Invalid where it
 * does not fit the window, or there is no such peer. */
PTO_API struct pto_tensor pto_comm_window(struct pto_runtime *rt, struct pto_comm comm, uint32_t dtype, uint32_t ndims,
                                          const uint64_t *shape);
PTO_API struct pto_tensor pto_comm_peer(struct pto_runtime *rt, struct pto_comm comm, uint32_t peer, uint32_t dtype,
                                        uint32_t ndims, const uint64_t *shape);

/* Submits this rank's task of a group: what the ranks of the communicator submit as their n-th group of it may wait for
 * each other's signals.  Its blocks start together, after the rank's group before it is done; so it must fit the chip's
 * cores.  Otherwise as pto_submit; `launch` has no `after` list beyond 15 entries. */
PTO_API PTO_MUST_CHECK int pto_submit_group(struct pto_runtime *rt, struct pto_comm comm,
                                            const struct pto_launch *launch, const struct pto_param *params,
                                            uint32_t count, struct pto_task *task_out);

#ifdef __cplusplus
}
#endif
#endif
