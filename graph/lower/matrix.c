/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* alpha · a · b + beta · c, or without c where that is NULL: then the product is scaled where alpha is not 1. */
struct product {
  struct pto_tensor a, b; /* in the rank of y */
  const struct pto_tensor *c;
  float alpha, beta;
};

static void submit_tile(struct pto_graph_lowering *l, const struct product *p, const struct pto_tiles *tiles,
                        uint64_t index, const struct pto_tensor *whole) {
  const struct pto_tensor a = pto_tiles_part(tiles, index, &p->a, 1u << (whole->ndims - 1)),
                          b = pto_tiles_part(tiles, index, &p->b, 1u << (whole->ndims - 2)),
                          y = pto_tiles_view(tiles, index, whole);
  if (p->c != NULL) {
    const struct pto_tensor all = pto_tensor_broadcast(p->c, whole->ndims, whole->shape),
                            c = pto_tiles_view(tiles, index, &all);
    pto_graph_lowering_product(l, &a, &b, &c, p->alpha, p->beta, &y);
  } else if (p->alpha == 1.0f) {
    pto_graph_lowering_product(l, &a, &b, NULL, 1, 0, &y);
  } else {
    const struct pto_tensor product = pto_graph_lowering_temporary(l, PTO_FLOAT32, y.ndims, y.shape);
    pto_graph_lowering_product(l, &a, &b, NULL, 1, 0, &product);
    PTO_LOWER_TASK(l, &pto_general_mul_scalar, pto_input(&product), pto_output(&y), pto_scalar_f32(p->alpha));
  }
}

static void multiply(struct pto_graph_lowering *l, const struct product *p, const struct pto_tensor *y) {
  struct pto_tiles tiles;
  pto_tiles_make_product(&tiles, y->ndims, y->shape, p->a.shape[y->ndims - 1]);
  if (tiles.count > 1) pto_graph_lowering_allocate(l, y);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    if (tiles.count > 1) pto_graph_lowering_tile(l);
    submit_tile(l, p, &tiles, i, y);
  }
  pto_graph_lowering_tiles_end(l);
}

/* A third operand, which fusion gives, is added. */
void pto_lower_matmul(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct product product = {.a = pto_tiles_in_rank(pto_graph_lowering_operand(l, node, 0), y.ndims),
                                  .b = pto_tiles_in_rank(pto_graph_lowering_operand(l, node, 1), y.ndims),
                                  .c = pto_graph_lowering_operand(l, node, 2),
                                  .alpha = 1,
                                  .beta = 1};
  multiply(l, &product, &y);
}

void pto_lower_gemm(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_gemm_options *options = node->options;
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct product product = {.a = *pto_graph_lowering_operand(l, node, 0),
                            .b = *pto_graph_lowering_operand(l, node, 1),
                            .c = pto_graph_lowering_operand(l, node, 2),
                            .alpha = (float)pto_option_f64(options->alpha, 1),
                            .beta = (float)pto_option_f64(options->beta, 1)};
  if (pto_option_flag(options->a_transpose, false)) product.a = pto_tensor_transpose(&product.a, 0, 1);
  if (pto_option_flag(options->b_transpose, false)) product.b = pto_tensor_transpose(&product.b, 0, 1);
  multiply(l, &product, &y);
}
