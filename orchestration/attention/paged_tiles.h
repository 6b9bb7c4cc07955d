/* SPDX-License-Identifier: MIT */
/*
 * How the paged attention programs walk their work, and the four tasks of a cache block that most of them submit.
 *
 * A tile is at most q_tile query rows of one request that share a KV head; it carries o, l and m, the running sum,
 * weight and maximum, from block to block.  paged_each_tile calls the program's own function for each tile in order.
 * What a program then decides is how many tasks a tile takes, what orders them, and when their memory comes back.
 */
#ifndef PTO_ORCHESTRATION_ATTENTION_PAGED_TILES_H
#define PTO_ORCHESTRATION_ATTENTION_PAGED_TILES_H

#include <orchestration/attention/paged_inputs.h>

/* Everything that every tile uses. */
struct paged_plan {
  const struct paged *p;
  struct pto_program_run *run;
  const struct pto_kernel *qk, *softmax_prepare, *pv, *online_update;
  struct pto_tensor q, out;         /* [batch · heads, dim] */
  struct pto_tensor k_pool, v_pool; /* [pool_blocks · block, kv_heads · dim] */
  struct pto_tensor block_table, context_lens;
};

struct paged_tile {
  uint64_t request, kv_head, rows;
  uint64_t len, block_count; /* tokens and blocks of the request */
  uint64_t first_token;      /* that its rows see: those before it have no tasks */
  struct pto_tensor q, out;  /* [rows, dim] */
  struct pto_tensor o;       /* f32[rows, dim] */
  struct pto_tensor l, m;    /* f32[rows] */
};

/* One block of a tile, and the tensors between its tasks. */
struct paged_block {
  uint64_t number;              /* which of the request's blocks */
  bool is_first, is_last;       /* of those that the tile's rows see */
  struct pto_tensor k, v;       /* T[block, dim]; of the first, from the first token on that is seen */
  struct pto_tensor s;          /* f32[rows, block], or as many as k has */
  struct pto_tensor s_valid;    /* f32[rows, tokens in the block]: narrower than s where it is not full */
  struct pto_tensor weights;    /* T[rows, columns of s] */
  struct pto_tensor m_ij, l_ij; /* f32[rows] */
  struct pto_tensor o_ij;       /* f32[rows, dim] */
};

/* A pool as a matrix of tokens: row = pool block · block + token, column = KV head · dim + element. */
static inline struct pto_tensor paged_pool_matrix(struct pto_runtime *rt, struct pto_program_run *run,
                                                  const struct paged *p, const char *name) {
  struct pto_tensor pool = tensor_of(rt, run, name);
  return pto_tensor_reshape(&pool, 2, (uint64_t[]){p->pool_blocks * p->block, p->kv_heads * p->dim});
}

static inline struct paged_plan paged_make_plan(struct pto_runtime *rt, struct pto_program_run *run,
                                                const struct paged *p) {
  return (struct paged_plan){
      .p = p,
      .run = run,
      .qk = pto_kernel_find("qk"),
      .softmax_prepare = pto_kernel_find("softmax_prepare"),
      .pv = pto_kernel_find("pv"),
      .online_update = pto_kernel_find("online_update"),
      .q = tensor_of(rt, run, "q"),
      .out = tensor_of(rt, run, "out"),
      .k_pool = paged_pool_matrix(rt, run, p, "k_pool"),
      .v_pool = paged_pool_matrix(rt, run, p, "v_pool"),
      .block_table = tensor_of(rt, run, "block_table"),
      .context_lens = tensor_of(rt, run, "context_lens"),
  };
}

/* Reads context_lens[request]; refuses what a replaced input may hold and the block table does not. */
static inline int paged_read_len(struct pto_runtime *rt, const struct paged_plan *plan, uint64_t request,
                                 uint64_t *len) {
  int32_t value = 0;
  int status = pto_read_element(rt, &plan->context_lens, &request, &value);
  if (status != PTO_OK) return status;
  if (value < 1 || (uint64_t)value > plan->p->max_blocks * plan->p->block)
    return pto_program_fail(plan->run, "context_lens[%llu]: %d is not in 1 … %llu", (unsigned long long)request, value,
                            (unsigned long long)(plan->p->max_blocks * plan->p->block));
  *len = (uint64_t)value;
  return PTO_OK;
}

/* Reads block_table[request, number]; refuses a block outside the pool. */
static inline int paged_read_block(struct pto_runtime *rt, const struct paged_plan *plan, uint64_t request,
                                   uint64_t number, uint64_t *index) {
  int32_t value = 0;
  int status = pto_read_element(rt, &plan->block_table, (uint64_t[]){request, number}, &value);
  if (status != PTO_OK) return status;
  if (value < 0 || (uint64_t)value >= plan->p->pool_blocks)
    return pto_program_fail(plan->run, "block_table[%llu,%llu]: %d is not in 0 … %llu", (unsigned long long)request,
                            (unsigned long long)number, value, (unsigned long long)(plan->p->pool_blocks - 1));
  *index = (uint64_t)value;
  return PTO_OK;
}

/* Calls `submit` for every tile: requests, their KV heads, and the query rows of those, in order; stops at the first
 * error. */
static inline int paged_each_tile(struct pto_runtime *rt, const struct paged_plan *plan,
                                  int (*submit)(struct pto_runtime *, const struct paged_plan *, struct paged_tile *)) {
  const struct paged *p = plan->p;
  uint64_t row_count = p->batch * p->heads, len = 0;
  for (uint64_t first = 0, rows; first < row_count; first += rows) {
    uint64_t request = first / p->heads, row_in_group = first % p->group_heads;
    uint64_t left = p->group_heads - row_in_group;
    rows = left < p->q_tile ? left : p->q_tile;
    int status = first % p->heads == 0 ? paged_read_len(rt, plan, request, &len) : PTO_OK;
    if (status != PTO_OK) return status;
    struct paged_tile tile = {
        .request = request,
        .kv_head = first % p->heads / p->group_heads,
        .rows = rows,
        .len = len,
        .block_count = paged_divide_up(len, p->block),
        .first_token = paged_first_token(p, len),
        .q = rows_of(&plan->q, first, rows),
        .out = rows_of(&plan->out, first, rows),
    };
    status = submit(rt, plan, &tile);
    if (status != PTO_OK) return status;
  }
  return PTO_OK;
}

/* o, l and m of a tile, in memory that one allocating task gives them. */
static inline int paged_alloc_carried(struct pto_runtime *rt, const struct paged_plan *plan, struct paged_tile *tile,
                                      struct pto_task *task_out) {
  tile->o = temporary_matrix(rt, PTO_FLOAT32, tile->rows, plan->p->dim);
  tile->l = temporary_vector(rt, PTO_FLOAT32, tile->rows);
  tile->m = temporary_vector(rt, PTO_FLOAT32, tile->rows);
  struct pto_tensor carried[] = {tile->o, tile->l, tile->m};
  return pto_alloc_tensors(rt, carried, 3, task_out);
}

/* How many tokens at the begin of cache block `number` are not seen: of the first block alone, any. */
static inline uint64_t paged_unseen(const struct paged *p, const struct paged_tile *tile, uint64_t number) {
  return number == tile->first_token / p->block ? tile->first_token % p->block : 0;
}

/* Makes the temporaries of a block: of cache block `number` of a tile, or of `count` of them from there on. */
static inline void paged_make_temporaries(struct pto_runtime *rt, const struct paged *p, const struct paged_tile *tile,
                                          uint64_t number, uint64_t count, struct paged_block *block) {
  const uint64_t unseen = paged_unseen(p, tile, number), tokens = count * p->block - unseen;
  block->number = number;
  block->is_first = number == tile->first_token / p->block;
  block->is_last = number + count == tile->block_count;
  block->s = temporary_matrix(rt, PTO_FLOAT32, tile->rows, tokens);
  block->s_valid =
      pto_tensor_slice(&block->s, 1, 0, block->is_last ? tile->len - number * p->block - unseen : tokens, 1);
  block->weights = temporary_matrix(rt, p->dtype, tile->rows, tokens);
  block->m_ij = temporary_vector(rt, PTO_FLOAT32, tile->rows);
  block->l_ij = temporary_vector(rt, PTO_FLOAT32, tile->rows);
  block->o_ij = temporary_matrix(rt, PTO_FLOAT32, tile->rows, p->dim);
}

/* Finds block `number` of a tile and makes its temporaries. */
static inline int paged_make_block(struct pto_runtime *rt, const struct paged_plan *plan, const struct paged_tile *tile,
                                   uint64_t number, struct paged_block *block) {
  const struct paged *p = plan->p;
  uint64_t index = 0;
  int status = paged_read_block(rt, plan, tile->request, number, &index);
  if (status != PTO_OK) return status;
  const uint64_t unseen = paged_unseen(p, tile, number);
  uint64_t offsets[] = {index * p->block + unseen, tile->kv_head * p->dim}, tokens[] = {p->block - unseen, p->dim};
  block->k = pto_tensor_view(&plan->k_pool, offsets, tokens);
  block->v = pto_tensor_view(&plan->v_pool, offsets, tokens);
  paged_make_temporaries(rt, p, tile, number, 1, block);
  return PTO_OK;
}

/* What a task waits for beyond what its regions say. */
struct paged_after {
  const struct pto_task *tasks;
  uint32_t count;
};
static const struct paged_after paged_after_nothing = {0};

static inline int paged_submit_qk(struct pto_runtime *rt, const struct paged_plan *plan, const struct paged_tile *tile,
                                  const struct paged_block *block, struct pto_task *task_out) {
  struct pto_launch launch = {.aic = plan->qk};
  return pto_submit(
      rt, &launch,
      PARAMS(pto_input(&tile->q), pto_input(&block->k), pto_output(&block->s), pto_scalar_f32(plan->p->scale)),
      task_out);
}

static inline int paged_submit_softmax(struct pto_runtime *rt, const struct paged_plan *plan,
                                       const struct paged_block *block, struct paged_after after,
                                       struct pto_task *task_out) {
  struct pto_launch launch = {.aiv0 = plan->softmax_prepare, .after = after.tasks, .after_count = after.count};
  return pto_submit(rt, &launch,
                    PARAMS(pto_input(&block->s_valid), pto_output(&block->weights), pto_output(&block->m_ij),
                           pto_output(&block->l_ij)),
                    task_out);
}

static inline int paged_submit_pv(struct pto_runtime *rt, const struct paged_plan *plan,
                                  const struct paged_block *block, struct paged_after after,
                                  struct pto_task *task_out) {
  struct pto_launch launch = {.aic = plan->pv, .after = after.tasks, .after_count = after.count};
  return pto_submit(rt, &launch, PARAMS(pto_input(&block->weights), pto_input(&block->v), pto_output(&block->o_ij)),
                    task_out);
}

static inline int paged_submit_update(struct pto_runtime *rt, const struct paged_plan *plan,
                                      const struct paged_tile *tile, const struct paged_block *block,
                                      struct paged_after after, struct pto_task *task_out) {
  struct pto_launch launch = {.aiv0 = plan->online_update, .after = after.tasks, .after_count = after.count};
  return pto_submit(rt, &launch,
                    PARAMS(pto_input(&block->m_ij), pto_input(&block->l_ij), pto_input(&block->o_ij),
                           pto_inout(&tile->m), pto_inout(&tile->l), pto_inout(&tile->o), pto_output(&tile->out),
                           pto_scalar_i64(block->is_first), pto_scalar_i64(block->is_last)),
                    task_out);
}

/* A tile as most programs have it: o, l and m in a scope, and in it a scope of four tasks for each block. */
static inline int paged_submit_tile(struct pto_runtime *rt, const struct paged_plan *plan, struct paged_tile *tile) {
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status == PTO_OK) status = paged_alloc_carried(rt, plan, tile, NULL);
  const uint64_t first = tile->first_token / plan->p->block;
  for (uint64_t number = first; status == PTO_OK && number < tile->block_count; number++) {
    struct paged_block block;
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = paged_make_block(rt, plan, tile, number, &block);
    if (status == PTO_OK) status = paged_submit_qk(rt, plan, tile, &block, NULL);
    if (status == PTO_OK) status = paged_submit_softmax(rt, plan, &block, paged_after_nothing, NULL);
    if (status == PTO_OK) status = paged_submit_pv(rt, plan, &block, paged_after_nothing, NULL);
    if (status == PTO_OK) status = paged_submit_update(rt, plan, tile, &block, paged_after_nothing, NULL);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

/* The `orchestrate` of programs that submit tile by tile; their state begins with a struct paged. */
static inline int paged_orchestrate(struct pto_runtime *rt, struct pto_program_run *run,
                                    int (*submit)(struct pto_runtime *, const struct paged_plan *,
                                                  struct paged_tile *)) {
  struct paged_plan plan = paged_make_plan(rt, run, pto_program_state(run, sizeof(struct paged)));
  return paged_each_tile(rt, &plan, submit);
}

#endif
