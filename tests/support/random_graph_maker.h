/* SPDX-License-Identifier: MIT */
/*
 * The maker of random graphs: operands to choose from, and calls with what must come of them.
 *
 * Owned by random_graph_open for as long as it runs.  Only random_graph*.c include it.
 */
#ifndef PTO_RANDOM_GRAPH_MAKER_H
#define PTO_RANDOM_GRAPH_MAKER_H

#include <graph/reference/reference.h>
#include <runtime/base/base.h>
#include <tests/support/random_graph.h>

struct random_operand {
  struct pto_graph_operand operand;
  struct pto_graph_desc desc;
  bool is_exact; /* no computation of floats has touched it */
  bool is_tame;  /* floats lie in [−2, 2] */
  bool is_result, is_used;
};

struct random_maker {
  struct random_graph *g;
  struct pto_graph_builder *builder;
  struct pto_rng rng;
  struct random_graph_form form;
  struct random_operand operands[RANDOM_GRAPH_OPERANDS];
  uint32_t count;
};

#define F32 PTO_DTYPE_BIT(PTO_FLOAT32)
#define HALF PTO_DTYPE_BIT(PTO_FLOAT16)
#define FLOATS (F32 | HALF)
#define SIGNED (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_INT64))
#define BYTE PTO_DTYPE_BIT(PTO_UINT8)
#define WIDE                                                                                                           \
  (PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_INT64) | PTO_DTYPE_BIT(PTO_UINT32) | PTO_DTYPE_BIT(PTO_UINT64))
#define INTEGERS (SIGNED | WIDE | BYTE)
#define ALL (FLOATS | INTEGERS)

static inline uint32_t random_below(struct random_maker *m, uint32_t n) { return (uint32_t)pto_rng_below(&m->rng, n); }
static inline bool random_chance(struct random_maker *m) { return pto_rng_below(&m->rng, 2) != 0; }
/* An extent: 1 … `small`, or where graphs are large 1 … their most. */
static inline uint32_t random_extent(struct random_maker *m, uint32_t small) {
  return 1 + random_below(m, m->form.extent > RANDOM_GRAPH_EXTENT ? m->form.extent : small);
}
/* The same of images and of what a network takes and has, where a few of them multiply. */
static inline uint32_t random_side(struct random_maker *m, uint32_t small) {
  return 1 + random_below(m, m->form.extent > RANDOM_GRAPH_EXTENT ? RANDOM_GRAPH_SIDE : small);
}
/* enum pto_graph_flag: not given, no or yes; and what that is where `otherwise` is the default. */
static inline uint32_t random_flag(struct random_maker *m) { return random_below(m, 3); }
static inline bool random_flag_is(uint32_t flag, bool otherwise) {
  return flag == PTO_FLAG_DEFAULT ? otherwise : flag == PTO_FLAG_YES;
}
static inline bool random_is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }

/* One dtype of a set. */
uint32_t random_dtype(struct random_maker *m, uint32_t dtypes);
/* A desc with these extents, or with drawn ones of 1 … the form's extent. */
struct pto_graph_desc random_desc(uint32_t dtype, uint32_t ndims, const uint64_t *shape);
struct pto_graph_desc random_shape(struct random_maker *m, uint32_t dtype, uint32_t min_rank, uint32_t max_rank);
/* The same extents with another dtype. */
struct pto_graph_desc random_as(const struct pto_graph_desc *desc, uint32_t dtype);

/* A new input or constant: floats multiples of 1/16 in [−2, 2], integers anything from low to high. */
struct random_operand random_fresh(struct random_maker *m, const struct pto_graph_desc *desc);
struct random_operand random_fresh_whole(struct random_maker *m, const struct pto_graph_desc *desc, int64_t low,
                                         int64_t high);
/* An operand that is there, with such a dtype and rank, or a new one, or a view of one; floats of it are tame. `exact`:
 * only those that no computation of floats has touched. */
struct random_operand random_pick(struct random_maker *m, uint32_t dtypes, uint32_t min_rank, uint32_t max_rank,
                                  bool exact);
/* Floats clamped to [low, high]; integers as they are. */
struct random_operand random_within(struct random_maker *m, struct random_operand x, double low, double high);
static inline struct random_operand random_positive(struct random_maker *m, struct random_operand x) {
  return random_within(m, x, 0.5, 2);
}
/* One that broadcasts with `x`: dimensions dropped at the front, extents made 1. */
struct random_operand random_broadcastable(struct random_maker *m, const struct random_operand *x);
struct pto_graph_desc random_broadcast(const struct pto_graph_desc *a, const struct pto_graph_desc *b, uint32_t dtype);

/* What is known of the results of a call. */
struct random_results {
  struct pto_graph_desc descs[8];
  uint32_t count;
  bool is_exact, is_tame;
};
/* Makes the call; operands with ndims of UINT32_MAX (random_absent) are absent. */
void random_call(struct random_maker *m, uint32_t op, const void *options, const struct random_operand *operands,
                 uint32_t operand_count, const struct random_results *results);
static inline struct random_operand random_absent(void) { return (struct random_operand){.desc.ndims = UINT32_MAX}; }
/* The usual: one result. */
static inline void random_call_one(struct random_maker *m, uint32_t op, const void *options,
                                   const struct random_operand *operands, uint32_t operand_count,
                                   struct pto_graph_desc desc, bool is_exact) {
  const struct random_results results = {.descs = {desc}, .count = 1, .is_exact = is_exact};
  random_call(m, op, options, operands, operand_count, &results);
}

/* What calls of the builder alone have made of `operands`: it is kept as a result. */
void random_made(struct random_maker *m, const struct random_operand *operands, uint32_t operand_count,
                 struct pto_graph_operand result);
/* One of graph/fuse/fusion.h written out (random_graph_patterns.c), sometimes with something inside it that is read. */
void random_pattern(struct random_maker *m);

typedef void random_graph_maker(struct random_maker *m, uint32_t op);
/* By operation, in random_graph_makers.c; the functions are in random_graph_elementwise.c, _rows.c, _moving.c and
 * _window.c. */
extern random_graph_maker *const random_graph_makers[PTO_GRAPH_OP_COUNT];
random_graph_maker random_unary, random_unary_exact, random_factor, random_arithmetic, random_compare, random_logic,
    random_where, random_clamp, random_cast, random_quantize, random_dequantize, random_reduce, random_arg,
    random_cumulative_sum, random_softmax, random_matmul, random_gemm, random_batch_normalization,
    random_instance_normalization, random_layer_normalization, random_conv2d, random_conv_transpose2d, random_pool,
    random_global_pool, random_resample2d, random_expand, random_reshape, random_squeeze, random_unsqueeze,
    random_transpose, random_reverse, random_slice, random_pad, random_tile, random_triangular, random_concat,
    random_split, random_gather, random_gather_elements, random_gather_nd, random_scatter_elements, random_scatter_nd,
    random_gru, random_gru_cell, random_lstm, random_lstm_cell;

#endif
