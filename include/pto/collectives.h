/* SPDX-License-Identifier: MIT */
/*
 * Collectives: what all ranks of a communicator do together, as a task of AIV kernels on each.
 *
 * Every rank of the communicator submits the same collectives in the same order, each a group (pto_submit_group); the
 * communicator is one of pto_comm_create_for_collectives, and is used for nothing else.  Tensors are dense; `in` and
 * `out` may be the same bytes where both have the same size.  Ranks stand in the order of their places.
 *
 * Bits depend on the algorithm, on the number of ranks and on the order of the elements' owners, and on nothing else:
 * each says below in which order it adds.  Every operation rounds to the dtype, as the general kernels add, mul,
 * maximum and minimum do, whose dtypes these are.
 *
 * Cut in parts: of n elements and p ranks, part i is the elements from i·n/p up to (i+1)·n/p, rounded down (of 4-bit
 * dtypes, of pairs).  4-bit elements are an
 * even number.  Parts may be empty.
 *
 * Each returns what pto_submit does; PTO_EINVAL where sizes do not fit each other or the communicator.
 */
#ifndef PTO_COLLECTIVES_H
#define PTO_COLLECTIVES_H

#include <pto/world.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pto_reduction { PTO_REDUCE_SUM = 0, PTO_REDUCE_PRODUCT, PTO_REDUCE_MAXIMUM, PTO_REDUCE_MINIMUM };

enum pto_all_reduce {
  /* Each rank sends all of its elements to each; each adds all, in order of ranks. */
  PTO_ALL_REDUCE_ONE_PHASE = 0,
  /* Each sends part i to rank i, which adds it in order of ranks, and sends the sum to all. */
  PTO_ALL_REDUCE_TWO_PHASE,
  /* Part i goes once round, from rank i + 1 on to the next, each adding its own to what came; then the sum goes round.
   */
  PTO_ALL_REDUCE_RING,
  /* The first half of the elements as RING, the second one the other way round, at the same time. */
  PTO_ALL_REDUCE_BIDIRECTIONAL_RING
};

/* A communicator (pto_comm_create) for collectives of tensors of at most `max_bytes`, the larger of in and out. */
PTO_API PTO_MUST_CHECK int pto_comm_create_for_collectives(struct pto_runtime *rt, const uint32_t *ranks,
                                                           uint32_t count, uint64_t max_bytes,
                                                           struct pto_comm *comm_out);

/* out = reduction over ranks of in; equal sizes. */
PTO_API PTO_MUST_CHECK int pto_submit_all_reduce(struct pto_runtime *rt, struct pto_comm comm,
                                                 const struct pto_tensor *in, const struct pto_tensor *out,
                                                 enum pto_reduction reduction, enum pto_all_reduce algorithm);
/* out = part `place` of the reduction over ranks of in, in order of ranks. */
PTO_API PTO_MUST_CHECK int pto_submit_reduce_scatter(struct pto_runtime *rt, struct pto_comm comm,
                                                     const struct pto_tensor *in, const struct pto_tensor *out,
                                                     enum pto_reduction reduction);
/* out = the in of all ranks, one behind the other. */
PTO_API PTO_MUST_CHECK int pto_submit_all_gather(struct pto_runtime *rt, struct pto_comm comm,
                                                 const struct pto_tensor *in, const struct pto_tensor *out);
/* out = the in of the rank at place `root`; equal sizes. */
PTO_API PTO_MUST_CHECK int pto_submit_broadcast(struct pto_runtime *rt, struct pto_comm comm,
                                                const struct pto_tensor *in, const struct pto_tensor *out,
                                                uint32_t root);
/* in is p equal parts, out too: part i of out = part `place` of the in of rank i. */
PTO_API PTO_MUST_CHECK int pto_submit_all_to_all(struct pto_runtime *rt, struct pto_comm comm,
                                                 const struct pto_tensor *in, const struct pto_tensor *out);
/* Completes after all ranks have begun theirs.  It orders nothing of this rank but its own groups: tasks that are to
 * come after it name it by `task_out` as an explicit dependency. */
PTO_API PTO_MUST_CHECK int pto_submit_comm_barrier(struct pto_runtime *rt, struct pto_comm comm,
                                                   struct pto_task *task_out);

/*
 * Mixture of experts (MoE).  Of p ranks each has E / p experts, the rank at place i those from i · E / p on; E is what
 * recv_x has, times p, so that p divides it.  Each rank has T tokens, rows of H elements, and sends each to the experts
 * of its line in topk_idx, of which there are K: 0 ≤ index < E.  T may be another on each rank, the rest may not.  The
 * communicator's max_bytes is the larger of recv_x (or y) and of T · K rows, and of 4 · E + 16.
 *
 * Capacity is how many rows of all ranks an expert takes.  Where it gets more, the dispatch fails on every rank with
 * the sentence that names expert, rows and capacity: nothing is dropped.  Enough for any choice without repetition: the
 * tokens of all ranks.
 *
 * A dispatch is two groups: moe_dispatch_meta, in which each rank tells all others how many rows it sends to each
 * expert, and moe_dispatch_data, the rows; a combine is one, moe_combine.  Each packs the rows for a peer side by side,
 * and puts them at once into the peer's window.  Bits depend on nothing but the tensors.
 *
 * Where kernels are priced alone (config.no_compute) there are no indices.  There rows go as evenly as can be: of all
 * ranks' rows, one behind the other, row i to expert i mod E; each rank is taken to have as many tokens as the caller.
 */

/* What a dispatch leaves for its combines.  Its tensors live in the scope of the dispatch. */
struct pto_moe_handle {
  struct pto_tensor counts; /* i32 [p, E]: rows from each rank to each expert */
  struct pto_tensor order;  /* i32 [T, K]: where each row stands among those of its rank, by expert, token, k */
  uint64_t capacity;
  struct pto_task dispatch; /* moe_dispatch_data: what predicates that read recv_count come after */
};

/* x [T, H], of any dtype, and topk_idx, i32 [T, K], to recv_x [E / p, capacity, H] and recv_count, i32 [E / p]: row
 * recv_x[e, i] is the i-th of expert e, in order of ranks, tokens, and k.  Rows from recv_count[e] on stay what they
 * were: recv_x is read and written (PTO_INOUT), so it has been written or allocated before. */
PTO_API PTO_MUST_CHECK int pto_submit_moe_dispatch(struct pto_runtime *rt, struct pto_comm comm,
                                                   const struct pto_tensor *x, const struct pto_tensor *topk_idx,
                                                   const struct pto_tensor *recv_x, const struct pto_tensor *recv_count,
                                                   struct pto_moe_handle *handle);
/* y [E / p, capacity, H], of f32, fp16 or bf16, whose rows answer those of recv_x (H may be another), and topk_weights,
 * f32 [T, K], to out [T, H], of f32 or y's dtype: the sum of weight · row in the order of k, in f32, rounded once. */
PTO_API PTO_MUST_CHECK int pto_submit_moe_combine(struct pto_runtime *rt, struct pto_comm comm,
                                                  const struct pto_tensor *y, const struct pto_tensor *topk_weights,
                                                  const struct pto_moe_handle *handle, const struct pto_tensor *out);

#ifdef __cplusplus
}
#endif
#endif
