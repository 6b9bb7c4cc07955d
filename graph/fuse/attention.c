/* SPDX-License-Identifier: MIT */
/*
 * Fused: attention.
 *
 *   scores = (query · keys) · scale       scale: a factor or a divisor, or none
 *   masked = scores + mask                 or where(mask, scores, other), either way round, or neither
 *   result = softmax(masked, last axis) · values
 *
 * softmax is the operation, or written out.  Leading dimensions are broadcast as matmul has it, those of the scores are
 * those of the result.
 *
 * Lowered tile by tile: some rows of a head, or the rows of several small heads, with all their scores in float32.  The
 * scores live as long as the tile does.  A scale goes to the product: beforehand, to the query, it could overflow what
 * the scores do not.  The kernel that scales adds something, too: where no mask is added, zero times the number that
 * stands for scores which do not count, if that is finite, or else a zero.
 */
#include <graph/fuse/match.h>

#include <float.h>
#include <kernels/api/list.h>
#include <math.h>
#include <string.h>

#include <graph/build/op_options.h>

enum { QUERY, KEYS, VALUES, MASK, OTHER, ATTENTION_OPERANDS, SCORES = ATTENTION_OPERANDS };
enum { IS_DIVIDED, IS_INVERTED }; /* notes */

/* ---- the pattern ---- */

#define AT(place) PTO_VALUE_AT(place)
#define PRODUCT PTO_OP_OF(matmul, AT(QUERY), AT(KEYS))
#define SCALED                                                                                                         \
  PTO_EITHER(PRODUCT, PTO_OP_LIKE(0, mul, PRODUCT, PTO_A_CONSTANT),                                                    \
             PTO_NOTED(IS_DIVIDED, PTO_OP_LIKE(0, div, PRODUCT, PTO_A_CONSTANT)))
#define MASKED                                                                                                         \
  PTO_EITHER(PTO_OP_LIKE(0, add, SCALED, AT(MASK)), PTO_OP_LIKE(1, where, AT(MASK), SCALED, AT(OTHER)),                \
             PTO_NOTED(IS_INVERTED, PTO_OP_LIKE(2, where, AT(MASK), AT(OTHER), SCALED)), SCALED)
#define WEIGHTS PTO_EITHER(PTO_OP_OF(softmax, PTO_VALUE_OF(SCORES, MASKED)), PTO_SOFTMAX_OF(SCORES, MASKED))

static const struct pto_form *const attention = PTO_OP_OF(matmul, WEIGHTS, AT(VALUES));

static bool has_note(const struct pto_fusion_match *m, uint32_t note) { return (m->notes >> note & 1) != 0; }

bool pto_match_attention(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  double other;
  if (!pto_match_form(m, index, attention, SCORES + 1)) return false;
  const struct pto_graph_desc *y = pto_match_desc(m, m->graph->nodes[index].first_result),
                              *s = pto_match_desc(m, g->operands[SCORES]);
  g->operands[SCORES] = 0;
  g->operand_count = ATTENTION_OPERANDS;
  g->options.scale = has_note(m, IS_DIVIDED) ? 1 / m->number : m->number;
  g->options.is_inverted = has_note(m, IS_INVERTED);
  g->options.is_other_finite =
      g->operands[OTHER] != 0 && pto_match_constant(m, g->operands[OTHER], &other) && isfinite(other);
  const bool is_along_keys = m->axes == 1u << (s->ndims - 1), has_scale = fabs(g->options.scale) <= (double)FLT_MAX;
  return is_along_keys && has_scale && s->ndims == y->ndims &&
         memcmp(s->shape, y->shape, (y->ndims - 2) * sizeof *y->shape) == 0;
}

/* ---- tiles ---- */

/* Rows of a head that are worth a task of the cube; keys of a tile, 128 KiB in f32, which one core of a2a3 reads in
 * about the time that the control thread takes for the tile's tasks: with half and with twice as many, decoders of
 * graph/models are slower there (docs/lowering.md, "Fusion"); scores of a tile, 512 KiB. */
#define TILE_ROWS UINT64_C(64)
#define TILE_KEY_ELEMS UINT64_C(32768)
#define TILE_SCORES UINT64_C(131072)

static void make_tiles(struct pto_tiles *tiles, const struct pto_tensor *y, const struct pto_tensor *keys) {
  const uint32_t rows = y->ndims - 2;
  const uint64_t of_head = pto_max_u64(keys->shape[rows] * keys->shape[rows + 1], 1);
  pto_tiles_make_one(tiles, y->ndims, y->shape);
  pto_tiles_cut(tiles, rows, pto_min_u64(TILE_ROWS, pto_max_u64(TILE_SCORES / keys->shape[rows + 1], 1)));
  uint64_t heads = pto_min_u64(TILE_KEY_ELEMS / of_head, TILE_SCORES / (tiles->step[rows] * keys->shape[rows + 1]));
  for (uint32_t d = rows; d-- > 0;) {
    pto_tiles_cut(tiles, d, pto_max_u64(heads, 1));
    heads /= tiles->step[d];
  }
}

/* ---- tasks ---- */

struct attention {
  struct pto_tensor query, keys, values, y; /* in one rank */
  uint64_t shape[PTO_MAX_DIMS];             /* of the scores */
  struct pto_tensor addend;                 /* of the scores, in their shape, times addend_scale */
  struct pto_tensor mask, other;            /* in their shape: which scores count, and what stands for the others */
  bool has_addend, has_other, is_inverted;
  float scale, addend_scale;
  struct pto_tiles tiles;
};

/* Of the rows of a part of the result. */
static struct pto_tensor scores_of(struct pto_graph_lowering *l, const struct attention *a,
                                   const struct pto_tensor *y) {
  uint64_t shape[PTO_MAX_DIMS];
  memcpy(shape, y->shape, sizeof shape);
  shape[y->ndims - 1] = a->shape[y->ndims - 1];
  return pto_graph_lowering_temporary(l, PTO_FLOAT32, y->ndims, shape);
}

/* Bits of the dimensions of a product's operands that the result has not. */
static uint32_t rows_bit(const struct attention *a) { return 1u << (a->y.ndims - 2); }
static uint32_t columns_bit(const struct attention *a) { return 1u << (a->y.ndims - 1); }

/* query · keys, scaled, and what is added. */
static void submit_scores(struct pto_graph_lowering *l, const struct attention *a, uint64_t index,
                          const struct pto_tensor *scores) {
  const struct pto_tensor query = pto_tiles_part(&a->tiles, index, &a->query, columns_bit(a)),
                          keys = pto_tiles_part(&a->tiles, index, &a->keys, rows_bit(a)),
                          addend = a->has_addend ? pto_tiles_view(&a->tiles, index, &a->addend) : keys;
  pto_graph_lowering_product(l, &query, &keys, a->has_addend ? &addend : NULL, a->scale, a->addend_scale, scores);
}

/* The scores that count, and what stands for the others. */
static struct pto_tensor choose(struct pto_graph_lowering *l, const struct attention *a, uint64_t index,
                                const struct pto_tensor *y, const struct pto_tensor *scores) {
  const struct pto_tensor masked = scores_of(l, a, y), mask = pto_tiles_view(&a->tiles, index, &a->mask),
                          other = pto_tiles_view(&a->tiles, index, &a->other);
  PTO_LOWER_TASK(l, &pto_general_select, pto_input(&mask), pto_input(a->is_inverted ? &other : scores),
                 pto_input(a->is_inverted ? scores : &other), pto_output(&masked));
  return masked;
}

static void submit_tile(struct pto_graph_lowering *l, const struct attention *a, uint64_t index) {
  const struct pto_tensor y = pto_tiles_view(&a->tiles, index, &a->y),
                          values = pto_tiles_part(&a->tiles, index, &a->values, rows_bit(a));
  struct pto_tensor scores = scores_of(l, a, &y);
  submit_scores(l, a, index, &scores);
  if (a->has_other) scores = choose(l, a, index, &y, &scores);
  const struct pto_tensor weights = scores_of(l, a, &y);
  PTO_LOWER_TASK(l, &pto_general_softmax, pto_input(&scores), pto_output(&weights), pto_scalar_i64(a->y.ndims - 1));
  pto_graph_lowering_product(l, &weights, &values, NULL, 1, 0, &y);
}

/* What is added to the scores, in their shape: a mask; or beside a scale zero times a number that is there, or a zero.
 */
static void take_addend(struct pto_graph_lowering *l, const struct pto_graph_node *group, struct attention *a) {
  const struct pto_fused_options *options = group->options;
  const struct pto_tensor *mask = a->has_other ? NULL : pto_graph_lowering_operand(l, group, MASK);
  struct pto_tensor zero;
  a->has_addend = mask != NULL || a->scale != 1;
  a->addend_scale = mask == NULL && options->is_other_finite ? 0 : 1;
  if (!a->has_addend) return;
  if (a->addend_scale == 0) {
    a->addend = a->other;
    return;
  }
  if (mask == NULL) {
    zero = pto_graph_lowering_temporary(l, a->query.dtype, 0, NULL);
    pto_graph_lowering_fill(l, (struct pto_number){0}, &zero);
    mask = &zero;
  }
  a->addend = pto_tensor_broadcast(mask, a->y.ndims, a->shape);
}

void pto_lower_fused_attention(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_fused_options *options = group->options;
  struct attention a = {.y = pto_graph_lowering_result(l, group, 0, PTO_IN_PLACE_NONE),
                        .has_other = group->operands[OTHER] != 0,
                        .is_inverted = options->is_inverted,
                        .scale = (float)options->scale};
  a.query = pto_tiles_in_rank(pto_graph_lowering_operand(l, group, QUERY), a.y.ndims);
  a.keys = pto_tiles_in_rank(pto_graph_lowering_operand(l, group, KEYS), a.y.ndims);
  a.values = pto_tiles_in_rank(pto_graph_lowering_operand(l, group, VALUES), a.y.ndims);
  memcpy(a.shape, a.y.shape, sizeof a.shape);
  a.shape[a.y.ndims - 1] = a.keys.shape[a.y.ndims - 1];
  if (a.has_other) {
    const struct pto_tensor mask = pto_graph_lowering_as_bool(pto_graph_lowering_operand(l, group, MASK));
    a.mask = pto_tensor_broadcast(&mask, a.y.ndims, a.shape);
    a.other = pto_tensor_broadcast(pto_graph_lowering_operand(l, group, OTHER), a.y.ndims, a.shape);
  }
  make_tiles(&a.tiles, &a.y, &a.keys);
  pto_graph_lowering_allocate(l, &a.y);
  take_addend(l, group, &a);
  for (uint64_t i = 0; i < a.tiles.count && l->status == PTO_OK; i++) {
    pto_graph_lowering_tile(l);
    submit_tile(l, &a, i);
  }
  pto_graph_lowering_tiles_end(l);
}
