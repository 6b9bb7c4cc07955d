/* SPDX-License-Identifier: MIT */
/*
 * General kernels whose work is spread over the blocks of a task (SPMD): block i of n has its share of one dimension of
 * each tensor, and runs the general kernel on that.
 *
 *     struct pto_launch launch = {.aic = &spread_matmul, .block_count = width};
 *
 * Along a dimension of e units block i has those from ⌊e·i / n⌋ to ⌊e·(i + 1) / n⌋: shares differ by one at most, and a
 * block without any has nothing to do.  A unit is an index, or 16 columns: a core's copies to memory are of whole units
 * of 32 bytes, so that two blocks must not write into one.  A share is always of whole rows, columns or heads that the
 * kernel would compute alike beside others, so a task gives the same bytes for any number of blocks.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_SPREAD_H
#define PTO_ORCHESTRATION_SUPPORT_SPREAD_H

#include <orchestration/support/general_call.h>
#include <orchestration/support/kernel.h>

#include <string.h>

enum { SPREAD_TENSORS = 6 };
enum { WHOLE = -1 }; /* each block has all of the tensor */

struct spread {
  const char *kernel;          /* the general one */
  int8_t dims[SPREAD_TENSORS]; /* of each tensor, the dimension that is shared out, or WHOLE */
};

enum { SPREAD_COLUMNS = 16 }; /* of fp16 in 32 bytes */

/* Where the share of block `index` of `count` begins. */
static inline uint64_t spread_begin(uint64_t extent, uint64_t unit, uint64_t index, uint64_t count) {
  const uint64_t first = (extent + unit - 1) / unit * index / count * unit;
  return first < extent ? first : extent;
}

/* A block's share, as a call of the general kernel. */
struct spread_share {
  struct pto_kernel_tensor tensors[SPREAD_TENSORS];
  uint64_t shapes[SPREAD_TENSORS][PTO_MAX_DIMS];
  struct general_call call;
  bool is_empty;
};

static inline void spread_find_share(const struct pto_kernel_args *args, const struct spread *spread,
                                     struct spread_share *share) {
  const uint64_t index = args->core->block_index, count = args->core->block_count;
  share->is_empty = false;
  share->call = (struct general_call){spread->kernel, args->core,         share->tensors,
                                      args->scalars,  args->tensor_count, args->scalar_count};
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &args->tensors[i];
    share->tensors[i] = *t;
    if (spread->dims[i] == WHOLE) continue;
    const uint32_t d = (uint32_t)spread->dims[i];
    const uint64_t unit = d + 1 == t->ndims ? SPREAD_COLUMNS : 1;
    const uint64_t first = spread_begin(t->shape[d], unit, index, count);
    const uint64_t end = spread_begin(t->shape[d], unit, index + 1, count);
    memcpy(share->shapes[i], t->shape, t->ndims * sizeof *t->shape);
    share->shapes[i][d] = end - first;
    share->tensors[i] = general_view(t, first * t->strides[d], share->shapes[i]);
    share->is_empty = share->is_empty || first == end;
  }
}
static inline int spread_run(const struct pto_kernel_args *args, const struct spread *spread) {
  struct spread_share share;
  spread_find_share(args, spread, &share);
  return share.is_empty ? 0 : general_run(&share.call);
}
static inline struct pto_cost spread_cost(const struct pto_kernel_args *args, const struct spread *spread) {
  struct spread_share share;
  spread_find_share(args, spread, &share);
  return share.is_empty ? (struct pto_cost){0} : general_cost(&share.call);
}

/* ---- the kernels ---- */

#define SPREAD_FLOATS(name_, mode_) TENSOR(name_, mode_, PTO_DTYPES_FLOAT, 2)

/* c = a·b, by columns of b and c. */
static const struct spread spread_of_matmul = {"matmul", {WHOLE, 1, 1}};
static inline int spread_matmul_run(const struct pto_kernel_args *args) { return spread_run(args, &spread_of_matmul); }
static inline struct pto_cost spread_matmul_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_matmul);
}
static const struct pto_kernel_param spread_matmul_params[] = {
    SPREAD_FLOATS("a", PTO_INPUT), SPREAD_FLOATS("b", PTO_INPUT), SPREAD_FLOATS("c", PTO_OUTPUT)};
KERNEL(spread_matmul, spread_matmul_params, .name = "spread_matmul", .cores = PTO_AIC, .run = spread_matmul_run,
       .cost = spread_matmul_cost);

/* y = rmsnorm(x)·weight, by rows. */
static const struct spread spread_of_rmsnorm = {"rmsnorm", {0, WHOLE, 0}};
static inline int spread_rmsnorm_run(const struct pto_kernel_args *args) {
  return spread_run(args, &spread_of_rmsnorm);
}
static inline struct pto_cost spread_rmsnorm_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_rmsnorm);
}
static const struct pto_kernel_param spread_rmsnorm_params[] = {
    SPREAD_FLOATS("x", PTO_INPUT), TENSOR("weight", PTO_INPUT, PTO_DTYPES_FLOAT, 1), SPREAD_FLOATS("y", PTO_OUTPUT),
    SCALAR("eps", PTO_SCALAR_F32)};
KERNEL(spread_rmsnorm, spread_rmsnorm_params, .name = "spread_rmsnorm", .cores = PTO_AIV, .run = spread_rmsnorm_run,
       .cost = spread_rmsnorm_cost);

/* y = x [tokens, heads, dim], turned by positions, by heads. */
static const struct spread spread_of_rope = {"rope_positions", {1, WHOLE, WHOLE, WHOLE, 1}};
static inline int spread_rope_run(const struct pto_kernel_args *args) { return spread_run(args, &spread_of_rope); }
static inline struct pto_cost spread_rope_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_rope);
}
static const struct pto_kernel_param spread_rope_params[] = {TENSOR("x", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
                                                             SPREAD_FLOATS("cos", PTO_INPUT),
                                                             SPREAD_FLOATS("sin", PTO_INPUT),
                                                             TENSOR("positions", PTO_INPUT, I32, 1),
                                                             TENSOR("y", PTO_OUTPUT, PTO_DTYPES_FLOAT, 3),
                                                             SCALAR("layout", PTO_SCALAR_U64)};
KERNEL(spread_rope, spread_rope_params, .name = "spread_rope", .cores = PTO_AIV, .run = spread_rope_run,
       .cost = spread_rope_cost);

/* cache[slots[i]] = rows[i], by columns. */
static const struct spread spread_of_write = {"scatter_nd_inplace", {1, WHOLE, 1}};
static inline int spread_write_run(const struct pto_kernel_args *args) { return spread_run(args, &spread_of_write); }
static inline struct pto_cost spread_write_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_write);
}
static const struct pto_kernel_param spread_write_params[] = {
    SPREAD_FLOATS("cache", PTO_INOUT), TENSOR("slots", PTO_INPUT, I32, 2), SPREAD_FLOATS("rows", PTO_INPUT)};
KERNEL(spread_write, spread_write_params, .name = "spread_write", .cores = PTO_AIV, .run = spread_write_run,
       .cost = spread_write_cost);

/* y = a + b, y = a ⊙ b and y = silu(x), by columns. */
static const struct spread spread_of_add = {"add", {1, 1, 1}}, spread_of_mul = {"mul", {1, 1, 1}};
static const struct spread spread_of_silu = {"silu", {1, 1}};
static inline int spread_add_run(const struct pto_kernel_args *args) { return spread_run(args, &spread_of_add); }
static inline int spread_mul_run(const struct pto_kernel_args *args) { return spread_run(args, &spread_of_mul); }
static inline int spread_silu_run(const struct pto_kernel_args *args) { return spread_run(args, &spread_of_silu); }
static inline struct pto_cost spread_add_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_add);
}
static inline struct pto_cost spread_mul_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_mul);
}
static inline struct pto_cost spread_silu_cost(const struct pto_kernel_args *args) {
  return spread_cost(args, &spread_of_silu);
}
static const struct pto_kernel_param spread_pair_params[] = {
    SPREAD_FLOATS("a", PTO_INPUT), SPREAD_FLOATS("b", PTO_INPUT), SPREAD_FLOATS("y", PTO_OUTPUT)};
static const struct pto_kernel_param spread_one_params[] = {SPREAD_FLOATS("x", PTO_INPUT),
                                                            SPREAD_FLOATS("y", PTO_OUTPUT)};
KERNEL(spread_add, spread_pair_params, .name = "spread_add", .cores = PTO_AIV, .run = spread_add_run,
       .cost = spread_add_cost);
KERNEL(spread_mul, spread_pair_params, .name = "spread_mul", .cores = PTO_AIV, .run = spread_mul_run,
       .cost = spread_mul_cost);
KERNEL(spread_silu, spread_one_params, .name = "spread_silu", .cores = PTO_AIV, .run = spread_silu_run,
       .cost = spread_silu_cost);

#endif
