/* SPDX-License-Identifier: MIT */
/*
 * The kernels of collectives (pto/collectives.h): what each rank's task does, block by block.
 *
 * Tensors: in, out (each dense) and the own window; a barrier has the window alone; those of MoE have others between
 * (moe.c).  Scalars: those below.
 *
 * The window has two halves, which collectives take in turn.  Signals, a set each of as many as there are ranks, the
 * one at place p notified by rank p alone: DATA says how far its puts of this collective are, DONE how many collectives
 * it has finished.  A rank puts into another one's half only after that one has finished the collective before the
 * last, which used the same half.
 *
 * A step is a number that grows: epoch · PTO_COLLECTIVE_STEPS + step of the collective, so signals are never reset.
 *
 * Blocks share the peers: block b has those at distance b + 1, b + 1 + blocks, …; of rings, block 0 goes forward and
 * block 1 back.
 */
#ifndef PTO_KERNELS_COLLECTIVE_H
#define PTO_KERNELS_COLLECTIVE_H

#include <pto/kernel.h>
#include <runtime/base/base.h>

/* X(kind, name of the kernel) */
#define PTO_COLLECTIVE_LIST(X)                                                                                         \
  X(PTO_COLLECTIVE_ALL_REDUCE_ONE_PHASE, "all_reduce_one_phase")                                                       \
  X(PTO_COLLECTIVE_ALL_REDUCE_TWO_PHASE, "all_reduce_two_phase")                                                       \
  X(PTO_COLLECTIVE_ALL_REDUCE_RING, "all_reduce_ring")                                                                 \
  X(PTO_COLLECTIVE_ALL_REDUCE_BIDIRECTIONAL_RING, "all_reduce_bidirectional_ring")                                     \
  X(PTO_COLLECTIVE_REDUCE_SCATTER, "reduce_scatter")                                                                   \
  X(PTO_COLLECTIVE_ALL_GATHER, "all_gather")                                                                           \
  X(PTO_COLLECTIVE_BROADCAST, "broadcast")                                                                             \
  X(PTO_COLLECTIVE_ALL_TO_ALL, "all_to_all")                                                                           \
  X(PTO_COLLECTIVE_BARRIER, "barrier")
enum pto_collective {
#define X(kind, name) kind,
  PTO_COLLECTIVE_LIST(X)
#undef X
      PTO_COLLECTIVE_COUNT
};

enum pto_collective_scalar {
  PTO_COLLECTIVE_KIND, /* enum pto_collective; PTO_COLLECTIVE_COUNT in those of MoE */
  PTO_COLLECTIVE_COMM,
  PTO_COLLECTIVE_SIZE,      /* ranks */
  PTO_COLLECTIVE_PLACE,     /* of this one */
  PTO_COLLECTIVE_EPOCH,     /* how many collectives of the communicator came before, and 1 */
  PTO_COLLECTIVE_HALF,      /* bytes of a half of the window */
  PTO_COLLECTIVE_REDUCTION, /* enum pto_reduction */
  PTO_COLLECTIVE_ROOT,
  PTO_COLLECTIVE_SCALARS
};
/* Of moe_dispatch_meta, behind those. */
enum pto_moe_scalar { PTO_MOE_CAPACITY = PTO_COLLECTIVE_SCALARS, PTO_MOE_ROW_ELEMS, PTO_MOE_DTYPE, PTO_MOE_SCALARS };

#define PTO_COLLECTIVE_SCALAR_PARAM(name_)                                                                             \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define PTO_COLLECTIVE_SCALAR_PARAMS                                                                                   \
  PTO_COLLECTIVE_SCALAR_PARAM("kind"), PTO_COLLECTIVE_SCALAR_PARAM("comm"), PTO_COLLECTIVE_SCALAR_PARAM("size"),       \
      PTO_COLLECTIVE_SCALAR_PARAM("place"), PTO_COLLECTIVE_SCALAR_PARAM("epoch"), PTO_COLLECTIVE_SCALAR_PARAM("half"), \
      PTO_COLLECTIVE_SCALAR_PARAM("reduction"), PTO_COLLECTIVE_SCALAR_PARAM("root")

enum pto_collective_signals { PTO_COLLECTIVE_DATA, PTO_COLLECTIVE_DONE, PTO_COLLECTIVE_SIGNAL_SETS };
#define PTO_COLLECTIVE_STEPS 256u

extern const struct pto_kernel *const pto_collective_kernels[PTO_COLLECTIVE_COUNT];

/* moe.c */
extern const struct pto_kernel pto_moe_dispatch_meta_kernel, pto_moe_dispatch_data_kernel, pto_moe_combine_kernel;

/* None: what they do, they state as they do it. */
struct pto_cost pto_collective_cost(const struct pto_kernel_args *args);
/* Where part `index` of `count` begins, of elements of the dtype. */
uint64_t pto_collective_part(uint64_t elements, uint32_t dtype, uint64_t index, uint64_t count);
/* Bytes that a half of a window needs for collectives of tensors of at most `max_bytes` on so many ranks. */
uint64_t pto_collective_half_bytes(uint64_t max_bytes, uint32_t size);
/* Bytes that a rank says in a dispatch_meta. */
uint64_t pto_collective_moe_meta_bytes(uint64_t experts);

#endif
