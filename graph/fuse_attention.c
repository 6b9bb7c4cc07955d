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
 * scores live as long as the tile does.  A scale goes to the product, with a zero where no mask is added: beforehand,
 * to the query, it could overflow what the scores do not.
 */
#include <graph/fusion_match.h>

#include <float.h>
#include <kernels/kernel_list.h>
#include <math.h>
#include <string.h>

#include <graph/op_options.h>

enum { QUERY, KEYS, VALUES, MASK, OTHER, ATTENTION_OPERANDS };

/* ---- the pattern ---- */

static bool is_softmax(struct pto_fusion_match *m, uint32_t value, uint32_t *scores_out) {
  uint32_t axis;
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_softmax);
  if (node == NULL && !pto_match_softmax_written_out(m, value, scores_out, &axis)) return false;
  if (node != NULL) {
    *scores_out = node->operands[0];
    axis = ((const struct pto_softmax_options *)node->options)->axis;
  }
  return axis + 1 == pto_match_desc(m, value)->ndims;
}

static bool is_product(struct pto_fusion_match *m, uint32_t value) {
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_matmul);
  if (node == NULL) return false;
  m->group.operands[QUERY] = node->operands[0];
  m->group.operands[KEYS] = node->operands[1];
  return true;
}

/* Whether kernels can have it. */
static bool take_scale(struct pto_fusion_match *m, double scale) {
  m->group.options.scale = scale;
  return fabs(scale) <= (double)FLT_MAX;
}

static bool is_scaled_product(struct pto_fusion_match *m, uint32_t value) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t x;
  double number;
  m->group.options.scale = 1;
  if (is_product(m, value)) return true;
  if (pto_match_with_constant(m, value, PTO_GRAPH_OP_mul, &x, &number) && take_scale(m, number) && is_product(m, x))
    return true;
  pto_match_rewind(m, mark);
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_div);
  if (node != NULL && pto_match_constant(m, node->operands[1], &number) && take_scale(m, 1 / number) &&
      pto_match_same_shape(m, value, node->operands[0]) && is_product(m, node->operands[0]))
    return true;
  pto_match_rewind(m, mark);
  return false;
}

static bool are_masked_scores(struct pto_fusion_match *m, uint32_t value) {
  const uint32_t mark = pto_match_mark(m);
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_add);
  for (uint32_t i = 0; node != NULL && i < 2; i++) {
    m->group.operands[MASK] = node->operands[1 - i];
    if (pto_match_same_shape(m, value, node->operands[i]) && is_scaled_product(m, node->operands[i])) return true;
  }
  pto_match_rewind(m, mark);
  node = pto_match_node(m, value, PTO_GRAPH_OP_where);
  for (uint32_t i = 0; node != NULL && i < 2; i++) {
    m->group.operands[MASK] = node->operands[0];
    m->group.operands[OTHER] = node->operands[2 - i];
    m->group.options.is_inverted = i == 1;
    if (pto_match_same_shape(m, value, node->operands[1 + i]) && is_scaled_product(m, node->operands[1 + i]))
      return true;
  }
  pto_match_rewind(m, mark);
  m->group.operands[MASK] = m->group.operands[OTHER] = 0;
  return is_scaled_product(m, value);
}

bool pto_match_attention(struct pto_fusion_match *m, uint32_t index) {
  const struct pto_graph_node *node = pto_match_last(m, index, PTO_GRAPH_OP_matmul);
  uint32_t scores;
  if (node == NULL || !is_softmax(m, node->operands[0], &scores) || !are_masked_scores(m, scores)) return false;
  const struct pto_graph_desc *y = pto_match_desc(m, node->first_result), *s = pto_match_desc(m, scores);
  m->group.operands[VALUES] = node->operands[1];
  m->group.operand_count = ATTENTION_OPERANDS;
  return s->ndims == y->ndims && memcmp(s->shape, y->shape, (y->ndims - 2) * sizeof *y->shape) == 0;
}

/* ---- tiles ---- */

/* Rows of a head that are worth a task of the cube; keys of a tile, 128 KiB in f32, which one core of a2a3 reads in
 * about the time that the control thread takes for the tile's tasks: with half and with twice as many, decoders of
 * graph/models are slower there (docs/graph.md, "Fusion"); scores of a tile, 512 KiB. */
#define TILE_ROWS UINT64_C(64)
#define TILE_KEY_ELEMS UINT64_C(32768)
#define TILE_SCORES UINT64_C(131072)

static void cut(struct pto_tiles *tiles, uint32_t d, uint64_t most) {
  const uint64_t parts = (tiles->shape[d] + most - 1) / most;
  tiles->step[d] = (tiles->shape[d] + parts - 1) / parts;
  tiles->counts[d] = (tiles->shape[d] + tiles->step[d] - 1) / tiles->step[d];
  tiles->count *= tiles->counts[d];
}

static void make_tiles(struct pto_tiles *tiles, const struct pto_tensor *y, const struct pto_tensor *keys) {
  const uint32_t rows = y->ndims - 2;
  const uint64_t of_head = pto_max_u64(keys->shape[rows] * keys->shape[rows + 1], 1);
  pto_tiles_make_one(tiles, y->ndims, y->shape);
  cut(tiles, rows, pto_min_u64(TILE_ROWS, pto_max_u64(TILE_SCORES / keys->shape[rows + 1], 1)));
  uint64_t heads = pto_min_u64(TILE_KEY_ELEMS / of_head, TILE_SCORES / (tiles->step[rows] * keys->shape[rows + 1]));
  for (uint32_t d = rows; d-- > 0;) {
    cut(tiles, d, pto_max_u64(heads, 1));
    heads /= tiles->step[d];
  }
}

/* The part of `t`, in the rank of y, that a tile needs: of the last two dimensions the rows are cut where `has_rows`.
 */
static struct pto_tensor part_of(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t,
                                 bool has_rows) {
  uint64_t offsets[PTO_MAX_DIMS] = {0}, shape[PTO_MAX_DIMS];
  const uint32_t cut_dims = tiles->ndims - (has_rows ? 1 : 2);
  for (uint32_t d = 0; d < tiles->ndims; d++) {
    const bool is_whole = d >= cut_dims || (t->shape[d] == 1 && tiles->shape[d] != 1);
    offsets[d] = is_whole ? 0 : pto_tiles_offset(tiles, index, d);
    shape[d] = is_whole ? t->shape[d] : pto_min_u64(tiles->step[d], tiles->shape[d] - offsets[d]);
  }
  return pto_tensor_view(t, offsets, shape);
}

/* Leading extents of 1 in front, up to the rank of y. */
static struct pto_tensor in_rank(const struct pto_tensor *t, uint32_t ndims) {
  uint64_t shape[PTO_MAX_DIMS];
  const uint32_t missing = ndims - t->ndims;
  for (uint32_t d = 0; d < ndims; d++) shape[d] = d < missing ? 1 : t->shape[d - missing];
  return pto_tensor_broadcast(t, ndims, shape);
}

/* ---- tasks ---- */

struct attention {
  struct pto_tensor query, keys, values, y; /* in one rank */
  struct pto_tensor addend;                 /* of the scores, in their shape: a mask, or zero where they are scaled */
  struct pto_tensor mask, other;            /* in their shape: which scores count, and what stands for the others */
  bool has_addend, has_other, is_inverted;
  float scale;
  struct pto_tiles tiles;
};

static struct pto_tensor scores_of(struct pto_graph_lowering *l, const struct pto_tensor *y, uint64_t keys) {
  uint64_t shape[PTO_MAX_DIMS];
  memcpy(shape, y->shape, sizeof shape);
  shape[y->ndims - 1] = keys;
  return pto_graph_lowering_temporary(l, PTO_FLOAT32, y->ndims, shape);
}

/* query · keys, scaled, and what is added. */
static int submit_scores(struct pto_graph_lowering *l, const struct attention *a, uint64_t index,
                         const struct pto_tensor *scores) {
  const struct pto_tensor query = part_of(&a->tiles, index, &a->query, true),
                          keys = part_of(&a->tiles, index, &a->keys, false);
  if (!a->has_addend) {
    const struct pto_param params[] = {pto_input(&query), pto_input(&keys), pto_output(scores)};
    return pto_graph_lowering_submit(l, &pto_general_matmul, params, 3);
  }
  const struct pto_tensor addend = part_of(&a->tiles, index, &a->addend, true);
  const struct pto_param params[] = {pto_input(&query),  pto_input(&keys),         pto_input(&addend),
                                     pto_output(scores), pto_scalar_f32(a->scale), pto_scalar_f32(1)};
  return pto_graph_lowering_submit(l, &pto_general_gemm, params, 6);
}

static int submit_choice(struct pto_graph_lowering *l, const struct attention *a, uint64_t index,
                         const struct pto_tensor *scores, const struct pto_tensor *masked) {
  const struct pto_tensor mask = part_of(&a->tiles, index, &a->mask, true),
                          other = part_of(&a->tiles, index, &a->other, true);
  const struct pto_param params[] = {pto_input(&mask), pto_input(a->is_inverted ? &other : scores),
                                     pto_input(a->is_inverted ? scores : &other), pto_output(masked)};
  return pto_graph_lowering_submit(l, &pto_general_select, params, 4);
}

static int submit_tile(struct pto_graph_lowering *l, const struct attention *a, uint64_t index) {
  const uint32_t ndims = a->y.ndims;
  const uint64_t keys = a->keys.shape[ndims - 1];
  const struct pto_tensor y = part_of(&a->tiles, index, &a->y, true),
                          values = part_of(&a->tiles, index, &a->values, false);
  struct pto_tensor scores = scores_of(l, &y, keys);
  int status = submit_scores(l, a, index, &scores);
  if (status == PTO_OK && a->has_other) {
    const struct pto_tensor masked = scores_of(l, &y, keys);
    status = submit_choice(l, a, index, &scores, &masked);
    scores = masked;
  }
  const struct pto_tensor weights = scores_of(l, &y, keys);
  const struct pto_param shares[] = {pto_input(&scores), pto_output(&weights), pto_scalar_i64(ndims - 1)};
  const struct pto_param sums[] = {pto_input(&weights), pto_input(&values), pto_output(&y)};
  if (status == PTO_OK) status = pto_graph_lowering_submit(l, &pto_general_softmax, shares, 3);
  return status ? status : pto_graph_lowering_submit(l, &pto_general_matmul, sums, 3);
}

/* What is added to the scores, in their shape: a mask, or a zero beside a scale. */
static int take_addend(struct pto_graph_lowering *l, const struct pto_graph_node *group, const uint64_t *shape,
                       struct attention *a) {
  const struct pto_tensor *mask = a->has_other ? NULL : pto_graph_lowering_operand(l, group, MASK);
  struct pto_tensor zero;
  int status = PTO_OK;
  a->has_addend = mask != NULL || a->scale != 1;
  if (!a->has_addend) return PTO_OK;
  if (mask == NULL) {
    zero = pto_graph_lowering_temporary(l, a->query.dtype, 0, NULL);
    status = pto_graph_lowering_fill(l, (struct pto_number){0}, &zero);
    mask = &zero;
  }
  a->addend = pto_tensor_broadcast(mask, a->y.ndims, shape);
  return status;
}

int pto_lower_fused_attention(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_fused_options *options = group->options;
  struct attention a = {.y = pto_graph_lowering_result(l, group, 0, PTO_IN_PLACE_NONE),
                        .has_other = group->operands[OTHER] != 0,
                        .is_inverted = options->is_inverted,
                        .scale = (float)options->scale};
  uint64_t shape[PTO_MAX_DIMS]; /* of the scores */
  a.query = in_rank(pto_graph_lowering_operand(l, group, QUERY), a.y.ndims);
  a.keys = in_rank(pto_graph_lowering_operand(l, group, KEYS), a.y.ndims);
  a.values = in_rank(pto_graph_lowering_operand(l, group, VALUES), a.y.ndims);
  memcpy(shape, a.y.shape, sizeof shape);
  shape[a.y.ndims - 1] = a.keys.shape[a.y.ndims - 1];
  if (a.has_other) {
    const struct pto_tensor mask = pto_graph_lowering_as_bool(pto_graph_lowering_operand(l, group, MASK));
    a.mask = pto_tensor_broadcast(&mask, a.y.ndims, shape);
    a.other = pto_tensor_broadcast(pto_graph_lowering_operand(l, group, OTHER), a.y.ndims, shape);
  }
  make_tiles(&a.tiles, &a.y, &a.keys);
  int status = pto_graph_lowering_allocate(l, &a.y);
  if (status == PTO_OK) status = take_addend(l, group, shape, &a);
  for (uint64_t i = 0; i < a.tiles.count && status == PTO_OK; i++) {
    status = pto_graph_lowering_tile(l);
    if (status == PTO_OK) status = submit_tile(l, &a, i);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}
