/* SPDX-License-Identifier: MIT */
#include <graph/graph_lowering.h>
#include <graph/op_options.h>
#include <kernels/kernel_list.h>

/* Rows and columns of a product's tile, where there are more: a panel of each fits the device's L1, and 64 Ki
 * multiply-adds an element of depth 64 are several times what a task costs. */
#define TILE_ROWS UINT64_C(64)
#define TILE_COLUMNS UINT64_C(128)
/* Multiply-adds of a tile of whole products, where these are small: some µs of a host core, and cores of a simulated
 * chip enough for the heads of a decoder (gpt2, a2a3: 658 µs one by one, 647 so, 683 with eight times as many). */
#define TILE_WORK UINT64_C(65536)

static void cut_into_steps(struct pto_tiles *tiles, uint32_t d, uint64_t most) {
  const uint64_t parts = (tiles->shape[d] + most - 1) / most;
  tiles->step[d] = (tiles->shape[d] + parts - 1) / parts;
  tiles->counts[d] = (tiles->shape[d] + tiles->step[d] - 1) / tiles->step[d];
  tiles->count *= tiles->counts[d];
}

/* Cuts rows and columns of y [.., m, n] into panels; of leading dimensions the innermost stay together as far as that
 * is little work: `depth` products an element. */
static void make_product_tiles(struct pto_tiles *tiles, const struct pto_tensor *y, uint64_t depth) {
  const uint32_t row = y->ndims - 2, column = y->ndims - 1;
  pto_tiles_make_one(tiles, y->ndims, y->shape);
  tiles->step[row] = pto_min_u64(TILE_ROWS, y->shape[row]);
  tiles->step[column] = pto_min_u64(TILE_COLUMNS, y->shape[column]);
  for (uint32_t d = row; d <= column; d++) {
    tiles->counts[d] = (y->shape[d] + tiles->step[d] - 1) / tiles->step[d];
    tiles->count *= tiles->counts[d];
  }
  uint64_t left = tiles->count > 1 ? 1 : TILE_WORK / pto_max_u64(1, y->shape[row] * y->shape[column] * depth);
  for (uint32_t d = row; d-- > 0; left = tiles->counts[d] > 1 ? 1 : left / y->shape[d])
    cut_into_steps(tiles, d, pto_max_u64(1, left));
}

/* The part of an operand that a tile needs: `t` has the rank of y; where `whole` is dimension d, all of it. */
static struct pto_tensor part(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t,
                              uint32_t whole) {
  uint64_t offsets[PTO_MAX_DIMS] = {0}, shape[PTO_MAX_DIMS] = {0};
  for (uint32_t d = 0; d < tiles->ndims; d++) {
    const uint64_t at = pto_tiles_offset(tiles, index, d);
    const bool is_whole = d == whole || (t->shape[d] == 1 && tiles->shape[d] != 1);
    offsets[d] = is_whole ? 0 : at;
    shape[d] = is_whole ? t->shape[d] : pto_min_u64(tiles->step[d], tiles->shape[d] - at);
  }
  return pto_tensor_view(t, offsets, shape);
}

/* The operand in the rank of y, leading extents of 1 in front. */
static struct pto_tensor in_rank(const struct pto_tensor *t, const struct pto_tensor *y) {
  uint64_t shape[PTO_MAX_DIMS] = {0};
  const uint32_t missing = y->ndims - t->ndims;
  for (uint32_t d = 0; d < y->ndims; d++) shape[d] = d < missing ? 1 : t->shape[d - missing];
  return pto_tensor_broadcast(t, y->ndims, shape);
}

/* One tile of a · b, + c where there is one. */
static int submit_product_tile(struct pto_graph_lowering *l, const struct pto_tensor *a, const struct pto_tensor *b,
                               const struct pto_tensor *c, const struct pto_tensor *y) {
  const struct pto_param product[] = {pto_input(a), pto_input(b), pto_output(y)};
  if (c == NULL) return pto_graph_lowering_submit(l, &pto_general_matmul, product, 3);
  const struct pto_param sum[] = {pto_input(a),  pto_input(b),      pto_input(c),
                                  pto_output(y), pto_scalar_f32(1), pto_scalar_f32(1)};
  return pto_graph_lowering_submit(l, &pto_general_gemm, sum, 6);
}

/* A third operand, which fusion gives, is added. */
int pto_lower_matmul(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_tensor a = in_rank(pto_graph_lowering_operand(l, node, 0), &y);
  const struct pto_tensor b = in_rank(pto_graph_lowering_operand(l, node, 1), &y);
  const struct pto_tensor *given_c = pto_graph_lowering_operand(l, node, 2);
  const struct pto_tensor c = given_c != NULL ? pto_tensor_broadcast(given_c, y.ndims, y.shape) : y;
  struct pto_tiles tiles;
  make_product_tiles(&tiles, &y, a.shape[y.ndims - 1]);
  int status = tiles.count > 1 ? pto_graph_lowering_allocate(l, &y) : PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_tensor rows = part(&tiles, i, &a, y.ndims - 1), columns = part(&tiles, i, &b, y.ndims - 2);
    const struct pto_tensor tile = pto_tiles_view(&tiles, i, &y), addend = pto_tiles_view(&tiles, i, &c);
    if (tiles.count > 1) status = pto_graph_lowering_tile(l);
    if (status == PTO_OK) status = submit_product_tile(l, &rows, &columns, given_c != NULL ? &addend : NULL, &tile);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

/* One tile of alpha · A · B + beta · C; without C the product is scaled where alpha is not 1. */
static int submit_gemm_tile(struct pto_graph_lowering *l, const struct pto_tensor *a, const struct pto_tensor *b,
                            const struct pto_tensor *c, const struct pto_tensor *y,
                            const struct pto_gemm_options *options) {
  const float alpha = (float)pto_option_f64(options->alpha, 1), beta = (float)pto_option_f64(options->beta, 1);
  if (c == NULL && alpha == 1.0f) {
    const struct pto_param params[] = {pto_input(a), pto_input(b), pto_output(y)};
    return pto_graph_lowering_submit(l, &pto_general_matmul, params, 3);
  }
  if (c == NULL) {
    const struct pto_tensor product = pto_graph_lowering_temporary(l, PTO_FLOAT32, y->ndims, y->shape);
    const struct pto_param params[] = {pto_input(a), pto_input(b), pto_output(&product)};
    const struct pto_param scale[] = {pto_input(&product), pto_output(y), pto_scalar_f32(alpha)};
    const int status = pto_graph_lowering_submit(l, &pto_general_matmul, params, 3);
    return status ? status : pto_graph_lowering_submit(l, &pto_general_mul_scalar, scale, 3);
  }
  const struct pto_param params[] = {pto_input(a),  pto_input(b),          pto_input(c),
                                     pto_output(y), pto_scalar_f32(alpha), pto_scalar_f32(beta)};
  return pto_graph_lowering_submit(l, &pto_general_gemm, params, 6);
}

int pto_lower_gemm(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_gemm_options *options = node->options;
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor a = *pto_graph_lowering_operand(l, node, 0), b = *pto_graph_lowering_operand(l, node, 1), c = {0};
  const struct pto_tensor *given_c = pto_graph_lowering_operand(l, node, 2);
  if (pto_option_flag(options->a_transpose, false)) a = pto_tensor_transpose(&a, 0, 1);
  if (pto_option_flag(options->b_transpose, false)) b = pto_tensor_transpose(&b, 0, 1);
  if (given_c != NULL) c = pto_tensor_broadcast(given_c, 2, y.shape);
  struct pto_tiles tiles;
  make_product_tiles(&tiles, &y, a.shape[1]);
  int status = tiles.count > 1 ? pto_graph_lowering_allocate(l, &y) : PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_tensor rows = part(&tiles, i, &a, 1), columns = part(&tiles, i, &b, 0);
    const struct pto_tensor tile = pto_tiles_view(&tiles, i, &y);
    const struct pto_tensor addend = given_c != NULL ? pto_tiles_view(&tiles, i, &c) : c;
    if (tiles.count > 1) status = pto_graph_lowering_tile(l);
    if (status == PTO_OK)
      status = submit_gemm_tile(l, &rows, &columns, given_c != NULL ? &addend : NULL, &tile, options);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}
