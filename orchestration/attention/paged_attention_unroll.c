/* SPDX-License-Identifier: MIT */
/*
 * paged_attention_unroll: paged attention with many cache blocks a task.
 *
 * A task handles up to `unroll` blocks of a tile: its kernels walk the block table themselves, over pools that they
 * read whole. Coarser tasks cost less of the control thread and leave less to overlap: with 64 blocks a task, 8192
 * tokens are four tasks and an allocation instead of 257.
 *
 *     QK (AIC)  s = q·[k₀ k₁ …]ᵀ·scale  →  SOFTMAX (AIV) over all columns at once  →  PV (AIC)  o = Σ pᵢ·vᵢ  →  UPDATE
 * (AIV)
 *
 * With T tiles and G groups of blocks over all tiles:  tasks = T + 4·G,  edges = 5·G.  Under --deps pto, creator edges
 * make them 6·G − T.
 *
 * scope=group: a group has a scope in that of its tile, so its memory comes back before the tile ends.  scope=tile: it
 * has none, as the benchmark on the hardware (cases C1, C2: bf16, a pool block for every block of every request).
 * scope=manual: a tile's scope is manual, and each task names the tasks it comes after; the edges are the same.
 */
#include <orchestration/support/general_call.h>
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_tiles.h>

#include <stdio.h>

/* ---- kernels: the general ones, block by block ---- */

/* Block `index` of a pool of tokens, blocks having shape[0] rows; the i-th strip of shape[1] columns. */
static struct pto_kernel_tensor pool_block(const struct pto_kernel_tensor *pool, uint64_t index,
                                           const uint64_t *shape) {
  return general_view(pool, index * shape[0] * pool->strides[0], shape);
}
static struct pto_kernel_tensor columns(const struct pto_kernel_tensor *matrix, uint64_t i, const uint64_t *shape) {
  return general_view(matrix, i * shape[1] * matrix->strides[1], shape);
}

/* Entry i of the table, if it is a block of the pool; else -1, and the kernel's error is set. */
static int64_t table_entry(const struct pto_kernel_args *args, uint64_t i, uint64_t block_rows) {
  const struct pto_kernel_tensor *pool = &args->tensors[1], *table = &args->tensors[2];
  int64_t entry = ((const int32_t *)table->addr)[i * table->strides[0]];
  uint64_t pool_blocks = pool->shape[0] / block_rows;
  if (entry >= 0 && (uint64_t)entry < pool_blocks) return entry;
  (void)pto_kernel_error(args, "block table entry %lld is outside the pool of %llu blocks", (long long)entry,
                         (unsigned long long)pool_blocks);
  return -1;
}

/* The part of a task that one entry of its table stands for, as a call of a general kernel. */
struct part {
  uint64_t left_shape[2], pool_shape[2], right_shape[2];
  struct pto_kernel_tensor tensors[3];
};

/* q, k_pool, table → s:  s[:, i·block …] = q·k[entry]ᵀ·scale */
static struct general_call qk_part(const struct pto_kernel_args *args, uint64_t i, uint64_t entry, struct part *part) {
  const struct pto_kernel_tensor *q = &args->tensors[0], *table = &args->tensors[2], *s = &args->tensors[3];
  uint64_t block_rows = s->shape[1] / table->shape[0];
  *part = (struct part){.pool_shape = {block_rows, q->shape[1]}, .right_shape = {s->shape[0], block_rows}};
  part->tensors[0] = *q;
  part->tensors[1] = pool_block(&args->tensors[1], entry, part->pool_shape);
  part->tensors[2] = columns(s, i, part->right_shape);
  return (struct general_call){"qk", args->core, part->tensors, args->scalars, 3, 1};
}

/* p, v_pool, table → o:  o = p[:, i·block …]·v[entry] for the first entry, o += … for the others */
static struct general_call pv_part(const struct pto_kernel_args *args, uint64_t i, uint64_t entry, struct part *part) {
  const struct pto_kernel_tensor *p = &args->tensors[0], *table = &args->tensors[2], *o = &args->tensors[3];
  uint64_t block_rows = p->shape[1] / table->shape[0];
  *part = (struct part){.left_shape = {p->shape[0], block_rows}, .pool_shape = {block_rows, o->shape[1]}};
  part->tensors[0] = columns(p, i, part->left_shape);
  part->tensors[1] = pool_block(&args->tensors[1], entry, part->pool_shape);
  part->tensors[2] = *o;
  return (struct general_call){i == 0 ? "pv" : "matmul_accumulate", args->core, part->tensors, NULL, 3, 0};
}

typedef struct general_call (*find_part)(const struct pto_kernel_args *args, uint64_t i, uint64_t entry,
                                         struct part *part);

/* All entries, in the order of the table; `tokens` are the columns of the matrix of scores. */
static int run_blocks(const struct pto_kernel_args *args, find_part part_of_table, uint64_t tokens) {
  uint64_t count = args->tensors[2].shape[0];
  int status = 0;
  for (uint64_t i = 0; status == 0 && i < count; i++) {
    struct part part;
    int64_t entry = table_entry(args, i, tokens / count);
    if (entry < 0) return PTO_EKERNEL;
    const struct general_call call = part_of_table(args, i, (uint64_t)entry, &part);
    status = general_run(&call);
  }
  return status;
}

/* The blocks that the table names, not the pool that they are in; one block at a time in local memory. */
static struct pto_cost blocks_cost(const struct pto_kernel_args *args, find_part part_of_table) {
  uint64_t count = args->tensors[2].shape[0];
  struct pto_cost cost = {0};
  for (uint64_t i = 0; i < count; i++) {
    struct part part;
    const struct general_call call = part_of_table(args, i, 0, &part);
    const struct pto_cost one = general_cost(&call);
    cost.bytes_in += one.bytes_in;
    cost.bytes_out += one.bytes_out;
    cost.multiply_adds += one.multiply_adds;
    cost.l0a_bytes += one.l0a_bytes;
    cost.l0b_bytes += one.l0b_bytes;
    cost.dtype = one.dtype;
    if (one.local_bytes > cost.local_bytes) cost.local_bytes = one.local_bytes;
  }
  return cost;
}

static int run_qk_blocks(const struct pto_kernel_args *args) {
  return run_blocks(args, qk_part, args->tensors[3].shape[1]);
}
static int run_pv_blocks(const struct pto_kernel_args *args) {
  return run_blocks(args, pv_part, args->tensors[0].shape[1]);
}
static struct pto_cost qk_blocks_cost(const struct pto_kernel_args *args) { return blocks_cost(args, qk_part); }
/* o stays in the core from the first block to the last, and is written once. */
static struct pto_cost pv_blocks_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *o = &args->tensors[3];
  struct pto_cost cost = blocks_cost(args, pv_part);
  const uint64_t kept_bytes = (args->tensors[2].shape[0] - 1) * o->shape[0] * o->shape[1] * pto_dtype_size(o->dtype);
  cost.bytes_in -= kept_bytes;
  cost.bytes_out -= kept_bytes;
  return cost;
}

/* "16x128x128 bf16 n64": query rows, tokens of a block, elements of a head, and the blocks. */
static int blocks_key(const struct pto_kernel_args *args, uint64_t rows, uint64_t tokens, uint64_t dim, char *text,
                      uint32_t size) {
  const uint64_t count = args->tensors[2].shape[0];
  return snprintf(text, size, "%llux%llux%llu %s n%llu", (unsigned long long)rows, (unsigned long long)(tokens / count),
                  (unsigned long long)dim, pto_dtype_name(args->tensors[1].dtype), (unsigned long long)count);
}
static int qk_blocks_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const uint64_t *q = args->tensors[0].shape, *s = args->tensors[3].shape;
  return blocks_key(args, q[0], s[1], q[1], text, size);
}
static int pv_blocks_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const uint64_t *p = args->tensors[0].shape, *o = args->tensors[3].shape;
  return blocks_key(args, p[0], p[1], o[1], text, size);
}

static const struct pto_kernel_param qk_params[] = {
    TENSOR("q", PTO_INPUT, PTO_DTYPES_FLOAT, 2),
    TENSOR("k_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 2),
    TENSOR("table", PTO_INPUT, I32, 1),
    TENSOR("s", PTO_OUTPUT, F32, 2),
    SCALAR("scale", PTO_SCALAR_F32),
};
static const struct pto_kernel_param pv_params[] = {
    TENSOR("p", PTO_INPUT, PTO_DTYPES_FLOAT, 2),
    TENSOR("v_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 2),
    TENSOR("table", PTO_INPUT, I32, 1),
    TENSOR("o", PTO_OUTPUT, F32, 2),
};
KERNEL(qk_blocks, qk_params, .name = "qk_blocks", .cores = PTO_AIC, .run = run_qk_blocks, .cost = qk_blocks_cost,
       .key = qk_blocks_key);
KERNEL(pv_blocks, pv_params, .name = "pv_blocks", .cores = PTO_AIC, .run = run_pv_blocks, .cost = pv_blocks_cost,
       .key = pv_blocks_key);

/* ---- the program ---- */

static const struct pto_option options[] = {
    PTO_PAGED_OPTIONS,
    {"unroll", PTO_OPTION_INT, "64", "cache blocks a task"},
    {"scope", PTO_OPTION_TEXT, "group", "group: a scope for each group in that of its tile; tile; manual: of the tile"},
    {0},
};

static const struct pto_case cases[] = {
    {"small", "heads=16 dim=16 block=16 lens=33,64,128,15 unroll=4", "groups of four blocks and less", 24, 25, false},
    {"grouped", "batch=2 heads=16 kv_heads=4 dim=32 block=16 ctx=40 unroll=2", "grouped queries", 72, 80, false},
    {"var2", "heads=16 dim=16 block=16 lens=33,17 unroll=2", "a last group of one block", 14, 15, false},
    {"repeated", "batch=4 heads=16 dim=16 block=16 ctx=128 pool_blocks=3 unroll=4",
     "32 table entries over three blocks", 36, 40, false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 unroll=4 dtype=fp16", NULL, 24, 25, false},
    {"bf16", "heads=16 dim=16 block=16 lens=33,64,128,15 unroll=4 dtype=bf16", NULL, 24, 25, false},
    {"4x16x128x128x1024", "batch=4 heads=16 dim=128 block=128 ctx=1024 unroll=64", "all of a request in four tasks", 20,
     20, false},
    {"tile", "heads=16 dim=16 block=16 lens=33,64,128,15 unroll=4 scope=tile", "a scope a tile", 24, 25, false},
    {"manual", "heads=16 dim=16 block=16 lens=33,64,128,15 unroll=4 scope=manual", "explicit edges", 24, 25, false},
    {"64x16x128x128x8192", "batch=64 heads=16 dim=128 block=128 ctx=8192 unroll=64", NULL, 320, 320, true},
    {"256x16x128x128x8192", "batch=256 heads=16 dim=128 block=128 ctx=8192 unroll=64", NULL, 1280, 1280, true},
    {"C1", "batch=256 heads=16 dim=128 block=128 ctx=8192 unroll=64 dtype=bf16 scope=tile pool_blocks=16384",
     "as measured on the hardware: pools of 1 GB", 1280, 1280, true},
    {"C2", "batch=64 heads=64 dim=128 block=64 ctx=8192 unroll=64 dtype=bf16 scope=tile pool_blocks=8192",
     "as measured on the hardware; --deps pto: 704 edges", 576, 640, true},
    {0},
};

enum scope { SCOPE_GROUP, SCOPE_TILE, SCOPE_MANUAL };

struct unroll {
  struct paged p; /* first: a plan's p is this, and the state that paged_expect finds */
  uint64_t unroll;
  enum scope scope;
};

static int read_scope(struct pto_program_run *run, enum scope *scope) {
  static const char *const words[] = {"group", "tile", "manual"};
  const char *word = pto_option_text(run, "scope");
  for (size_t i = 0; i < LENGTH(words); i++) {
    *scope = (enum scope)i;
    if (strcmp(word, words[i]) == 0) return PTO_OK;
  }
  return pto_program_fail(run, "scope \"%s\" is not group, tile or manual", word);
}

static int prepare(struct pto_program_run *run) {
  struct unroll *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  int status = READ_WHOLE_OPTIONS(run, {"unroll", 1, 4096, &state->unroll});
  if (status == PTO_OK) status = read_scope(run, &state->scope);
  return status == PTO_OK ? paged_prepare(run, &state->p) : status;
}

/* One group: the blocks first_block … first_block + count − 1 of a tile.  In a manual scope *carried is the task that
 * wrote o, l and m last, and afterwards this group's update; else NULL. */
static int submit_group(struct pto_runtime *rt, const struct paged_plan *plan, const struct paged_tile *tile,
                        uint64_t first_block, uint64_t count, struct pto_task *carried) {
  const struct paged *p = plan->p;
  uint64_t table_size = p->batch * p->max_blocks, entry = tile->request * p->max_blocks + first_block;
  struct pto_tensor flat_table = pto_tensor_reshape(&plan->block_table, 1, &table_size);
  struct pto_tensor table = rows_of(&flat_table, entry, count);
  uint64_t head = tile->kv_head * p->dim;
  struct pto_tensor k_pool = pto_tensor_slice(&plan->k_pool, 1, head, head + p->dim, 1);
  struct pto_tensor v_pool = pto_tensor_slice(&plan->v_pool, 1, head, head + p->dim, 1);
  struct paged_block group;
  paged_make_temporaries(rt, p, tile, first_block, count, &group);
  struct pto_task qk, softmax, pv;
  const struct pto_launch qk_launch = {.aic = &qk_blocks};
  int status = pto_submit(rt, &qk_launch,
                          PARAMS(pto_input(&tile->q), pto_input(&k_pool), pto_input(&table), pto_output(&group.s),
                                 pto_scalar_f32(p->scale)),
                          &qk);
  if (status == PTO_OK)
    status = paged_submit_softmax(rt, plan, &group, (struct paged_after){&qk, carried != NULL}, &softmax);
  const struct pto_launch pv_launch = {.aic = &pv_blocks, .after = &softmax, .after_count = carried != NULL};
  if (status == PTO_OK)
    status = pto_submit(
        rt, &pv_launch,
        PARAMS(pto_input(&group.weights), pto_input(&v_pool), pto_input(&table), pto_output(&group.o_ij)), &pv);
  if (status != PTO_OK) return status;
  if (!carried) return paged_submit_update(rt, plan, tile, &group, paged_after_nothing, NULL);
  const struct pto_task before_update[] = {softmax, pv, *carried};
  return paged_submit_update(rt, plan, tile, &group, (struct paged_after){before_update, 3}, carried);
}

/* The groups of a tile, in its scope. */
static int submit_groups(struct pto_runtime *rt, const struct paged_plan *plan, struct paged_tile *tile) {
  const struct unroll *state = (const struct unroll *)plan->p;
  struct pto_task carried;
  int status = paged_alloc_carried(rt, plan, tile, &carried);
  for (uint64_t first = 0, count; status == PTO_OK && first < tile->block_count; first += count) {
    const uint64_t left = tile->block_count - first;
    count = left < state->unroll ? left : state->unroll;
    if (state->scope == SCOPE_GROUP) status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK)
      status = submit_group(rt, plan, tile, first, count, state->scope == SCOPE_MANUAL ? &carried : NULL);
    if (status == PTO_OK && state->scope == SCOPE_GROUP) status = pto_scope_end(rt);
  }
  return status;
}

static int submit_tile(struct pto_runtime *rt, const struct paged_plan *plan, struct paged_tile *tile) {
  const bool is_manual = ((const struct unroll *)plan->p)->scope == SCOPE_MANUAL;
  int status = pto_scope_begin(rt, is_manual ? PTO_SCOPE_MANUAL : PTO_SCOPE_AUTO);
  if (status == PTO_OK) status = submit_groups(rt, plan, tile);
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  return paged_orchestrate(rt, run, submit_tile);
}

PROGRAM("paged_attention_unroll", "paged attention with up to 64 cache blocks a task; the kernels walk the block table",
        .rtol = 1e-3, .atol = 1e-3);
