/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

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
  const struct pto_tensor a = pto_tiles_in_rank(pto_graph_lowering_operand(l, node, 0), y.ndims);
  const struct pto_tensor b = pto_tiles_in_rank(pto_graph_lowering_operand(l, node, 1), y.ndims);
  const struct pto_tensor *given_c = pto_graph_lowering_operand(l, node, 2);
  const struct pto_tensor c = given_c != NULL ? pto_tensor_broadcast(given_c, y.ndims, y.shape) : y;
  struct pto_tiles tiles;
  pto_tiles_make_product(&tiles, y.ndims, y.shape, a.shape[y.ndims - 1]);
  int status = tiles.count > 1 ? pto_graph_lowering_allocate(l, &y) : PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_tensor rows = pto_tiles_part(&tiles, i, &a, 1u << (y.ndims - 1)),
                            columns = pto_tiles_part(&tiles, i, &b, 1u << (y.ndims - 2));
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
  pto_tiles_make_product(&tiles, y.ndims, y.shape, a.shape[1]);
  int status = tiles.count > 1 ? pto_graph_lowering_allocate(l, &y) : PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_tensor rows = pto_tiles_part(&tiles, i, &a, 1u << 1),
                            columns = pto_tiles_part(&tiles, i, &b, 1u << 0);
    const struct pto_tensor tile = pto_tiles_view(&tiles, i, &y);
    const struct pto_tensor addend = given_c != NULL ? pto_tiles_view(&tiles, i, &c) : c;
    if (tiles.count > 1) status = pto_graph_lowering_tile(l);
    if (status == PTO_OK)
      status = submit_gemm_tile(l, &rows, &columns, given_c != NULL ? &addend : NULL, &tile, options);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}
