/* SPDX-License-Identifier: MIT */
/*
 * The steps of paged attention as tasks of many items, of which each block has its share (SPMD): the general kernels,
 * on the tensors of one item at a time.
 *
 * An item is a tile of query rows of one request that share a KV head; all of a task have as many rows.  A task does
 * one step, for one cache block number, for all its items; block i of n does items i, i + n, …  Items of one request
 * stand next to each other: with t of them to a request, item i is of request ⌊i / t⌋ and of the KV head to which its
 * place among the t corresponds.  An item whose request has no such cache block has nothing to do, and what the update
 * leaves of `out` is what an earlier step wrote: it is an inout.
 *
 * Every kernel here has lens i32[requests] as its first tensor and the number of the cache block and the tokens of a
 * full one as its first two scalars; what has an item's part has the items as its outermost dimension.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_ATTENTION_PAGED_PARTS_H
#define PTO_ORCHESTRATION_ATTENTION_PAGED_PARTS_H

#include <orchestration/support/general_call.h>
#include <orchestration/attention/paged_tiles.h>

#include <pto/core.h>

#include <stdio.h>

/* What a block of a task works on at a time. */
struct step {
  uint64_t item;    /* of the task */
  uint64_t request; /* whose item it is */
  uint64_t kv_head; /* of the pools */
  uint64_t number;  /* of the cache block in its request */
  uint64_t entry;   /* of the block table: where in the pool */
  uint64_t tokens;  /* in this cache block; 0: the request has no such block */
  bool is_last;
};

/* The first tensor that has an item's part: behind the lengths and, where it is read, the block table. */
static inline uint64_t items_of_task(const struct pto_kernel_args *args, bool has_table) {
  return args->tensors[has_table ? 2 : 1].shape[0];
}

/* All but the entry and the KV head. */
static inline struct step read_step(const struct pto_kernel_args *args, uint64_t item, bool has_table) {
  const struct pto_kernel_tensor *lens = &args->tensors[0];
  const uint64_t tiles = items_of_task(args, has_table) / lens->shape[0];
  struct step step = {.item = item, .request = item / tiles, .number = args->scalars[0].u64};
  uint64_t block = args->scalars[1].u64, first = step.number * block;
  int64_t len = ((const int32_t *)lens->addr)[step.request * lens->strides[0]];
  if (len < 1 || (uint64_t)len <= first) return step;
  step.is_last = (uint64_t)len <= first + block;
  step.tokens = step.is_last ? (uint64_t)len - first : block;
  return step;
}

/* The entry, from tensors 1 and 3: `table` i32[requests, blocks], `pool` T[pool_blocks, block, kv_heads, dim]; and the
 * KV head. */
static inline int read_entry(const struct pto_kernel_args *args, struct step *step) {
  const struct pto_kernel_tensor *table = &args->tensors[1], *pool = &args->tensors[3];
  if (step->number >= table->shape[1])
    return pto_kernel_error(args, "request %llu has more blocks than the table's %llu",
                            (unsigned long long)step->request, (unsigned long long)table->shape[1]);
  int64_t entry = ((const int32_t *)table->addr)[step->request * table->strides[0] + step->number * table->strides[1]];
  if (entry < 0 || (uint64_t)entry >= pool->shape[0])
    return pto_kernel_error(args, "block table entry %lld is outside the pool of %llu blocks", (long long)entry,
                            (unsigned long long)pool->shape[0]);
  const uint64_t tiles = items_of_task(args, true) / args->tensors[0].shape[0];
  step->entry = (uint64_t)entry;
  step->kv_head = step->item % tiles * pool->shape[2] / tiles;
  return 0;
}

/* One item's part of a task, as a call of a general kernel. */
struct part {
  struct pto_kernel_tensor tensors[7];
  uint64_t half_shapes[7][2];
  uint64_t shape[2], strides[2]; /* of a tensor that is no slice */
  union pto_scalar ends[2];
};

/* A cache block of a pool as a matrix [block, dim]. */
static inline struct pto_kernel_tensor pool_block(const struct pto_kernel_tensor *pool, const struct step *step,
                                                  struct part *part) {
  struct pto_kernel_tensor block = general_part(pool, step->entry);
  block = general_view(&block, step->kv_head * block.strides[1], block.shape);
  part->shape[0] = block.shape[0];
  part->shape[1] = block.shape[2];
  part->strides[0] = block.strides[0];
  part->strides[1] = block.strides[2];
  block.shape = part->shape;
  block.strides = part->strides;
  block.ndims = 2;
  return block;
}

/* lens, table, q, k_pool → s */
static inline struct general_call qk_part(const struct pto_kernel_args *args, const struct step *step,
                                          struct part *part) {
  part->tensors[0] = general_part(&args->tensors[2], step->item);
  part->tensors[1] = pool_block(&args->tensors[3], step, part);
  part->tensors[2] = general_part(&args->tensors[4], step->item);
  return (struct general_call){"qk", args->core, part->tensors, &args->scalars[2], 3, 1};
}

/* lens, s → p, m_ij, l_ij: of s the columns that are tokens, of the last two the rows of s. */
static inline struct general_call softmax_part(const struct pto_kernel_args *args, const struct step *step,
                                               struct part *part) {
  for (int i = 0; i < 4; i++) part->tensors[i] = general_part(&args->tensors[1 + i], step->item);
  part->shape[0] = part->tensors[0].shape[0];
  part->shape[1] = step->tokens;
  part->tensors[0].shape = part->tensors[2].shape = part->tensors[3].shape = part->shape;
  return (struct general_call){"softmax_prepare", args->core, part->tensors, NULL, 4, 0};
}

/* lens, table, p, v_pool → o_ij */
static inline struct general_call pv_part(const struct pto_kernel_args *args, const struct step *step,
                                          struct part *part) {
  part->tensors[0] = general_part(&args->tensors[2], step->item);
  part->tensors[1] = pool_block(&args->tensors[3], step, part);
  part->tensors[2] = general_part(&args->tensors[4], step->item);
  return (struct general_call){"pv", args->core, part->tensors, NULL, 3, 0};
}

/* lens, m_ij, l_ij, o_ij → m, l, o, out: of m and l the rows of o. */
static inline struct general_call update_part(const struct pto_kernel_args *args, const struct step *step,
                                              struct part *part) {
  for (int i = 0; i < 7; i++) part->tensors[i] = general_part(&args->tensors[1 + i], step->item);
  for (int i = 0; i < 5; i++) part->tensors[i].shape = part->tensors[2].shape;
  part->ends[0].i64 = step->number == 0;
  part->ends[1].i64 = step->is_last;
  return (struct general_call){"online_update", args->core, part->tensors, part->ends, 7, 2};
}

typedef struct general_call (*find_part)(const struct pto_kernel_args *args, const struct step *step,
                                         struct part *part);

/* Which rows of an item a vector core has: all, or its half of them where both of a cluster do the task.  Rows are the
 * outermost dimension of all that softmax and update touch, and no row depends on another. */
enum share { ALL_ROWS, HALF_OF_ROWS };

/* A core's copies to memory are of whole units of 32 bytes, so two cores must not write into one: rows of f32. */
enum { UNIT_ROWS = 8 };

/* AIV0 has the first half, rounded up to rows whose f32 make whole units of memory: of 8 rows it has all. */
static inline void take_half(struct part *part, const struct general_call *call, uint32_t role) {
  for (uint32_t i = 0; i < call->tensor_count; i++) {
    struct pto_kernel_tensor *t = &part->tensors[i];
    const uint64_t rows = t->shape[0], wanted = (rows / 2 + UNIT_ROWS - 1) / UNIT_ROWS * UNIT_ROWS;
    const uint64_t first = wanted == 0 || wanted > rows ? rows : wanted;
    uint64_t *shape = part->half_shapes[i];
    shape[0] = role == PTO_ROLE_AIV1 ? rows - first : first;
    shape[1] = t->ndims > 1 ? t->shape[1] : 0;
    *t = general_view(t, role == PTO_ROLE_AIV1 ? first * t->strides[0] : 0, shape);
  }
}

static inline int run_item(const struct pto_kernel_args *args, uint64_t item, find_part part_of_task, bool has_table,
                           enum share share) {
  struct step step = read_step(args, item, has_table);
  struct part part;
  if (step.tokens == 0) return 0;
  int status = has_table ? read_entry(args, &step) : 0;
  if (status != 0) return status;
  const struct general_call call = part_of_task(args, &step, &part);
  if (share == HALF_OF_ROWS) take_half(&part, &call, args->core->role);
  return part.tensors[0].shape[0] == 0 ? 0 : general_run(&call);
}

static inline int run_part(const struct pto_kernel_args *args, find_part part_of_task, bool has_table,
                           enum share share) {
  const uint64_t items = items_of_task(args, has_table), stride = args->core->block_count;
  int status = 0;
  for (uint64_t item = args->core->block_index; status == 0 && item < items; item += stride)
    status = run_item(args, item, part_of_task, has_table, share);
  return status;
}

/* Of the task's items, those of this block. */
static inline uint64_t items_of(const struct pto_kernel_args *args, bool has_table) {
  const uint64_t stride = args->core->block_count;
  return (items_of_task(args, has_table) - args->core->block_index + stride - 1) / stride;
}

/* Rows of fewer columns than 16 are taken side by side, which takes more local memory; of these the longest take most.
 */
enum { SHORT_TOKENS = 15 };

/* The same where a cache block has so few tokens. */
static inline uint64_t short_local_bytes(const struct pto_kernel_args *args, find_part part_of_task, enum share share) {
  const struct step step = {.tokens = SHORT_TOKENS};
  struct part part;
  const struct general_call call = part_of_task(args, &step, &part);
  if (share == HALF_OF_ROWS) take_half(&part, &call, PTO_ROLE_AIV0);
  return general_cost(&call).local_bytes;
}

/* Told before lengths can be read: as if each item had a full cache block. */
static inline struct pto_cost part_cost(const struct pto_kernel_args *args, find_part part_of_task, bool has_table,
                                        enum share share) {
  const struct step step = {.tokens = args->scalars[1].u64};
  const uint64_t items = items_of(args, has_table);
  struct part part;
  const struct general_call call = part_of_task(args, &step, &part);
  if (share == HALF_OF_ROWS) take_half(&part, &call, PTO_ROLE_AIV0);
  struct pto_cost cost = general_cost(&call);
  if (args->core->kind == PTO_AIV && step.tokens > SHORT_TOKENS) {
    const uint64_t short_bytes = short_local_bytes(args, part_of_task, share);
    if (short_bytes > cost.local_bytes) cost.local_bytes = short_bytes;
  }
  cost.bytes_in *= items;
  cost.bytes_out *= items;
  cost.multiply_adds *= items;
  cost.vector_elems *= items;
  cost.l0a_bytes *= items;
  cost.l0b_bytes *= items;
  /* a vector core loads and stores for each item; a cube core loads the next one meanwhile */
  if (args->core->kind == PTO_AIV) cost.trips = (uint32_t)(2 * items);
  return cost;
}

/* "16x128x128 bf16 n16": query rows, tokens of a cache block, elements of a head, and the items of a block. */
static inline int product_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *left = &args->tensors[2], *pool = &args->tensors[3];
  return snprintf(text, size, "%llux%llux%llu %s n%llu", (unsigned long long)left->shape[1],
                  (unsigned long long)pool->shape[1], (unsigned long long)pool->shape[3], pto_dtype_name(pool->dtype),
                  (unsigned long long)items_of(args, true));
}
/* "16x128 bf16 n16": query rows, tokens of a cache block. */
static inline int softmax_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *p = &args->tensors[2];
  return snprintf(text, size, "%llux%llu %s n%llu", (unsigned long long)p->shape[1], (unsigned long long)p->shape[2],
                  pto_dtype_name(p->dtype), (unsigned long long)items_of(args, false));
}
/* "16x128 n16": query rows, elements of a head. */
static inline int update_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *o = &args->tensors[6];
  return snprintf(text, size, "%llux%llu n%llu", (unsigned long long)o->shape[1], (unsigned long long)o->shape[2],
                  (unsigned long long)items_of(args, false));
}

static const struct pto_kernel_param qk_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("table", PTO_INPUT, I32, 2),
    TENSOR("q", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("k_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 4),
    TENSOR("s", PTO_OUTPUT, F32, 3),
    SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
    SCALAR("scale", PTO_SCALAR_F32),
};
static const struct pto_kernel_param softmax_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("s", PTO_INPUT, F32, 3),
    TENSOR("p", PTO_OUTPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("m_ij", PTO_OUTPUT, F32, 2),
    TENSOR("l_ij", PTO_OUTPUT, F32, 2),
    SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
};
static const struct pto_kernel_param pv_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("table", PTO_INPUT, I32, 2),
    TENSOR("p", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("v_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 4),
    TENSOR("o_ij", PTO_OUTPUT, F32, 3),
    SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
};
static const struct pto_kernel_param update_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1), TENSOR("m_ij", PTO_INPUT, F32, 2), TENSOR("l_ij", PTO_INPUT, F32, 2),
    TENSOR("o_ij", PTO_INPUT, F32, 3), TENSOR("m", PTO_INOUT, F32, 2),    TENSOR("l", PTO_INOUT, F32, 2),
    TENSOR("o", PTO_INOUT, F32, 3),    TENSOR("out", PTO_INOUT, F32, 3),  SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
};

static inline int run_qk(const struct pto_kernel_args *args) { return run_part(args, qk_part, true, ALL_ROWS); }
static inline int run_softmax(const struct pto_kernel_args *args) {
  return run_part(args, softmax_part, false, ALL_ROWS);
}
static inline int run_pv(const struct pto_kernel_args *args) { return run_part(args, pv_part, true, ALL_ROWS); }
static inline int run_update(const struct pto_kernel_args *args) {
  return run_part(args, update_part, false, ALL_ROWS);
}
static inline struct pto_cost qk_cost(const struct pto_kernel_args *args) {
  return part_cost(args, qk_part, true, ALL_ROWS);
}
static inline struct pto_cost softmax_cost(const struct pto_kernel_args *args) {
  return part_cost(args, softmax_part, false, ALL_ROWS);
}
static inline struct pto_cost pv_cost(const struct pto_kernel_args *args) {
  return part_cost(args, pv_part, true, ALL_ROWS);
}
static inline struct pto_cost update_cost(const struct pto_kernel_args *args) {
  return part_cost(args, update_part, false, ALL_ROWS);
}
KERNEL(batch_qk, qk_params, .name = "batch_qk", .cores = PTO_AIC, .run = run_qk, .cost = qk_cost, .key = product_key);
KERNEL(batch_softmax, softmax_params, .name = "batch_softmax", .cores = PTO_AIV, .run = run_softmax,
       .cost = softmax_cost, .key = softmax_key);
KERNEL(batch_pv, pv_params, .name = "batch_pv", .cores = PTO_AIC, .run = run_pv, .cost = pv_cost, .key = product_key);
KERNEL(batch_update, update_params, .name = "batch_update", .cores = PTO_AIV, .run = run_update, .cost = update_cost,
       .key = update_key);

static inline int run_half_softmax(const struct pto_kernel_args *args) {
  return run_part(args, softmax_part, false, HALF_OF_ROWS);
}
static inline int run_half_update(const struct pto_kernel_args *args) {
  return run_part(args, update_part, false, HALF_OF_ROWS);
}
static inline struct pto_cost half_softmax_cost(const struct pto_kernel_args *args) {
  return part_cost(args, softmax_part, false, HALF_OF_ROWS);
}
static inline struct pto_cost half_update_cost(const struct pto_kernel_args *args) {
  return part_cost(args, update_part, false, HALF_OF_ROWS);
}
KERNEL(half_softmax, softmax_params, .name = "half_softmax", .cores = PTO_AIV, .run = run_half_softmax,
       .cost = half_softmax_cost);
KERNEL(half_update, update_params, .name = "half_update", .cores = PTO_AIV, .run = run_half_update,
       .cost = half_update_cost);

/* ---- the four tasks of a cache block number ---- */

/* How tasks are launched: blocks of each, and whether both vector cores of a cluster share its rows. */
struct parts_launch {
  uint32_t block_count;
  bool has_both_lanes;
};

/* The tensors that all tasks share. */
struct parts {
  const struct paged *p;
  uint64_t items, rows, block_count; /* cache block numbers of the longest request */
  struct pto_tensor lens, table;     /* i32[requests], i32[requests, blocks] */
  struct pto_tensor q, out;          /* [items, rows, dim] */
  struct pto_tensor k_pool, v_pool;  /* T[pool_blocks, block, kv_heads, dim] */
  struct pto_tensor o, l, m;         /* f32[items, rows, dim], [items, rows or more] */
};

/* For who orders tasks by hand: what those of a step come after besides each other.  `carried` wrote o, l and m last;
 * afterwards it is this step's update. */
struct parts_order {
  struct pto_task q, k; /* made what qk reads */
  struct pto_task v;    /* made what pv reads */
  struct pto_task carried;
};

/* f32 [items, rows or more]: no two items in one unit of memory. */
static inline struct pto_tensor parts_row_values(struct pto_runtime *rt, const struct parts *parts) {
  return temporary_matrix(rt, PTO_FLOAT32, parts->items, (parts->rows + UNIT_ROWS - 1) / UNIT_ROWS * UNIT_ROWS);
}

static inline void parts_make_carried(struct pto_runtime *rt, struct parts *parts) {
  const uint64_t rows[] = {parts->items, parts->rows, parts->p->dim};
  parts->o = temporary(rt, PTO_FLOAT32, 3, rows);
  parts->l = parts_row_values(rt, parts);
  parts->m = parts_row_values(rt, parts);
}

/* One task, after `count` others where there is an order by hand. */
static inline int parts_submit(struct pto_runtime *rt, struct pto_launch launch, const struct pto_task *after,
                               uint32_t count, const struct pto_param *params, uint32_t param_count,
                               struct pto_task *task_out) {
  launch.after = after;
  launch.after_count = after ? count : 0;
  return pto_submit(rt, &launch, params, param_count, task_out);
}

/* order: NULL, or the scope is manual. */
static inline int parts_submit_step(struct pto_runtime *rt, const struct parts *parts, struct parts_launch launch,
                                    uint64_t number, struct parts_order *order) {
  const struct paged *p = parts->p;
  const uint64_t scores[] = {parts->items, parts->rows, p->block}, rows[] = {parts->items, parts->rows, p->dim};
  struct pto_tensor s = temporary(rt, PTO_FLOAT32, 3, scores), weights = temporary(rt, p->dtype, 3, scores);
  struct pto_tensor m_ij = parts_row_values(rt, parts), l_ij = parts_row_values(rt, parts);
  struct pto_tensor o_ij = temporary(rt, PTO_FLOAT32, 3, rows);
  const struct pto_param n = pto_scalar_u64(number), block = pto_scalar_u64(p->block);
  const struct pto_kernel *softmax_kernel = launch.has_both_lanes ? &half_softmax : &batch_softmax;
  const struct pto_kernel *update_kernel = launch.has_both_lanes ? &half_update : &batch_update;
  const struct pto_launch qk = {.aic = &batch_qk, .block_count = launch.block_count};
  const struct pto_launch pv = {.aic = &batch_pv, .block_count = launch.block_count};
  const struct pto_launch softmax = {
      .aiv0 = softmax_kernel, .aiv1 = launch.has_both_lanes ? softmax_kernel : NULL, .block_count = launch.block_count};
  const struct pto_launch update = {
      .aiv0 = update_kernel, .aiv1 = launch.has_both_lanes ? update_kernel : NULL, .block_count = launch.block_count};
  struct pto_task tasks[4];
  int status = parts_submit(rt, qk, order ? (const struct pto_task[]){order->q, order->k} : NULL, 2,
                            PARAMS(pto_input(&parts->lens), pto_input(&parts->table), pto_input(&parts->q),
                                   pto_input(&parts->k_pool), pto_output(&s), n, block, pto_scalar_f32(p->scale)),
                            &tasks[0]);
  if (status == PTO_OK)
    status = parts_submit(rt, softmax, order ? tasks : NULL, 1,
                          PARAMS(pto_input(&parts->lens), pto_input(&s), pto_output(&weights), pto_output(&m_ij),
                                 pto_output(&l_ij), n, block),
                          &tasks[1]);
  if (status == PTO_OK)
    status = parts_submit(rt, pv, order ? (const struct pto_task[]){tasks[1], order->v} : NULL, 2,
                          PARAMS(pto_input(&parts->lens), pto_input(&parts->table), pto_input(&weights),
                                 pto_input(&parts->v_pool), pto_output(&o_ij), n, block),
                          &tasks[2]);
  if (status == PTO_OK)
    status = parts_submit(rt, update, order ? (const struct pto_task[]){tasks[1], tasks[2], order->carried} : NULL, 3,
                          PARAMS(pto_input(&parts->lens), pto_input(&m_ij), pto_input(&l_ij), pto_input(&o_ij),
                                 pto_inout(&parts->m), pto_inout(&parts->l), pto_inout(&parts->o),
                                 pto_inout(&parts->out), n, block),
                          &tasks[3]);
  if (status == PTO_OK && order) order->carried = tasks[3];
  return status;
}

#endif
