/* SPDX-License-Identifier: MIT */
#include <graph/reference/sums.h>

#include <graph/reference/support.h>
#include <stdlib.h>

/* ---- which operations ---- */

/* How many terms an element has, a bias among them; 0 of other operations. */
static uint64_t terms_of(const struct pto_graph_node *node, const struct pto_reference_tensor *const *operands,
                         const struct pto_reference_tensor *result) {
  const struct pto_graph_desc *in = &operands[0]->desc;
  switch (node->op) {
  case PTO_GRAPH_OP_matmul:
    return in->shape[in->ndims - 1];
  case PTO_GRAPH_OP_gemm: { /* and alpha, beta and C */
    const struct pto_gemm_options *options = node->options;
    return in->shape[pto_option_flag(options->a_transpose, false) ? 0 : 1] + 3;
  }
  case PTO_GRAPH_OP_conv2d: {
    const struct pto_conv2d_options *options = node->options;
    const bool is_last = options->input_layout == PTO_LAYOUT_NHWC;
    return pto_reference_numel(operands[1]) / result->desc.shape[is_last ? 3 : 1] + 1;
  }
  case PTO_GRAPH_OP_conv_transpose2d: { /* a filter has input channels × output channels of a group × window */
    const struct pto_conv_transpose2d_options *options = node->options;
    const bool is_last = options->input_layout == PTO_LAYOUT_NHWC;
    return pto_reference_numel(operands[1]) / result->desc.shape[is_last ? 3 : 1] + 1;
  }
  case PTO_GRAPH_OP_average_pool2d:
  case PTO_GRAPH_OP_l2_pool2d: {
    const struct pto_pool2d_options *options = node->options;
    const bool is_last = options->layout == PTO_LAYOUT_NHWC;
    const struct pto_u32_list size = options->window_dimensions;
    return 1 + (size.values ? (uint64_t)size.values[0] * size.values[1]
                            : in->shape[is_last ? 1 : 2] * in->shape[is_last ? 2 : 3]);
  }
  case PTO_GRAPH_OP_cumulative_sum: {
    const struct pto_cumulative_sum_options *options = node->options;
    return in->shape[options->axis];
  }
  case PTO_GRAPH_OP_global_average_pool:
  case PTO_GRAPH_OP_reduce_l1:
  case PTO_GRAPH_OP_reduce_l2:
  case PTO_GRAPH_OP_reduce_mean:
  case PTO_GRAPH_OP_reduce_product:
  case PTO_GRAPH_OP_reduce_sum:
  case PTO_GRAPH_OP_reduce_sum_square:
    return pto_reference_numel(operands[0]) / pto_reference_numel(result) + 1;
  default:
    return 0;
  }
}

/* Results that are no sums of signed terms: of terms of one sign, or products, which have the error of as many
 * roundings; a root halves it.  Their magnitude is what they are. */
static bool is_of_one_sign(uint32_t op) {
  return op == PTO_GRAPH_OP_reduce_l1 || op == PTO_GRAPH_OP_reduce_l2 || op == PTO_GRAPH_OP_reduce_product ||
         op == PTO_GRAPH_OP_reduce_sum_square || op == PTO_GRAPH_OP_l2_pool2d;
}
static bool is_mean(uint32_t op) {
  return op == PTO_GRAPH_OP_reduce_mean || op == PTO_GRAPH_OP_average_pool2d || op == PTO_GRAPH_OP_global_average_pool;
}

/* ---- operands that are replaced for a while ---- */

static double magnitude_of(double x) { return fabs(x); }
static double square_of(double x) { return x * x; }
static double as_magnitude(double x) { return x; }
/* Exact: an operand has at most 24 bits, so its square is a double, and the root of that is it. */
static double as_square(double x) { return sqrt(x); }

struct replacement {
  double (*replace)(double);
  double (*undo)(double); /* gives the magnitude */
};
static const struct replacement magnitudes = {magnitude_of, as_magnitude}, squares = {square_of, as_square};

/* A bit an element: whether it has a sign. */
struct replaced {
  double *values;
  uint64_t numel;
  uint8_t *signs;
};

static bool replace(struct replaced *replaced, const struct pto_reference_tensor *operand,
                    const struct replacement *by) {
  *replaced = (struct replaced){.values = operand ? operand->values : NULL};
  if (!replaced->values) return true;
  replaced->numel = pto_reference_numel(operand);
  replaced->signs = calloc(replaced->numel / 8 + 1, 1);
  for (uint64_t i = 0; replaced->signs && i < replaced->numel; i++) {
    if (signbit(replaced->values[i])) replaced->signs[i / 8] |= (uint8_t)(1u << i % 8);
    replaced->values[i] = by->replace(replaced->values[i]);
  }
  return replaced->signs != NULL;
}

static void undo(struct replaced *replaced, const struct replacement *by) {
  for (uint64_t i = 0; replaced->signs && i < replaced->numel; i++) {
    const double value = by->undo(replaced->values[i]);
    replaced->values[i] = replaced->signs[i / 8] >> i % 8 & 1 ? -value : value;
  }
  free(replaced->signs);
}

/* An operand that is given twice is replaced once. */
static bool is_repeated(const struct pto_reference_tensor *const *operands, uint32_t k) {
  for (uint32_t i = 0; i < k; i++)
    if (operands[i] == operands[k]) return true;
  return false;
}

static struct pto_number number_by(struct pto_number number, const struct replacement *by) {
  return number.kind ? pto_number_f64(by->replace(pto_reference_factor(number, 1))) : number;
}

static int compute(const struct pto_graph_node *node, const struct pto_reference_tensor *const *operands,
                   pto_reference_function *function, const struct replacement *by,
                   struct pto_reference_tensor *result) {
  struct replaced replaced[PTO_REFERENCE_PARAMETERS] = {{0}};
  struct pto_graph_node with = *node;
  struct pto_gemm_options options;
  if (node->op == PTO_GRAPH_OP_gemm) {
    options = *(const struct pto_gemm_options *)node->options;
    options.alpha = number_by(options.alpha, by);
    options.beta = number_by(options.beta, by);
    with.options = &options;
  }
  int status = PTO_OK;
  for (uint32_t k = 0; k < PTO_REFERENCE_PARAMETERS && status == PTO_OK; k++)
    if (!is_repeated(operands, k) && !replace(&replaced[k], operands[k], by)) status = PTO_ENOMEM;
  if (status == PTO_OK) status = function(&with, operands, result);
  for (uint32_t k = 0; k < PTO_REFERENCE_PARAMETERS; k++) undo(&replaced[k], by);
  return status;
}

/* ---- sums ---- */

static void take_results(struct pto_reference_tensor *to, const struct pto_reference_tensor *results, bool is_squared) {
  for (uint64_t i = 0; i < pto_reference_numel(results); i++)
    to->values[i] = is_squared ? results->values[i] * results->values[i] : fabs(results->values[i]);
}

int pto_reference_sums_init(struct pto_reference_sums *sums, const struct pto_graph_node *node,
                            const struct pto_reference_tensor *const *operands,
                            const struct pto_reference_tensor *results, pto_reference_function *function) {
  *sums = (struct pto_reference_sums){0};
  const uint64_t terms = pto_reference_is_float(results) ? terms_of(node, operands, results) : 0;
  if (terms == 0) return PTO_OK;
  bool has_room = pto_reference_tensor_init(&sums->magnitudes, &results->desc);
  has_room = has_room && pto_reference_tensor_init(&sums->squares, &results->desc);
  int status = has_room ? PTO_OK : PTO_ENOMEM;
  if (status == PTO_OK && is_of_one_sign(node->op)) {
    take_results(&sums->magnitudes, results, false);
    take_results(&sums->squares, results, true);
  } else if (status == PTO_OK) {
    status = compute(node, operands, function, &magnitudes, &sums->magnitudes);
    if (status == PTO_OK) status = compute(node, operands, function, &squares, &sums->squares);
  }
  for (uint64_t i = 0; status == PTO_OK && is_mean(node->op) && i < pto_reference_numel(results); i++)
    sums->squares.values[i] /= (double)(terms - 1); /* (x/n)² is divided by n once more */
  sums->terms = terms;
  if (status) pto_reference_sums_fini(sums);
  return status;
}

void pto_reference_sums_fini(struct pto_reference_sums *sums) {
  pto_reference_tensor_fini(&sums->magnitudes);
  pto_reference_tensor_fini(&sums->squares);
  *sums = (struct pto_reference_sums){0};
}
