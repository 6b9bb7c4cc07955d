/* SPDX-License-Identifier: MIT */
/*
 * Reference: elementwise operations, operands broadcast to one shape, and activations with numbers among their options.
 *
 * What a kernel does as well is the kernel's reference: kernels/api/list.h has the formulas.  Here are those that
 * differ from it: max and min of zeros, of which +0 is the larger; and linear and hardSigmoid, which round once.
 * Constants; any thread.
 */
#include <graph/reference/call.h>
#include <kernels/reference/math.h>

static int elementwise(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results,
                       const struct pto_kernel_reference *reference, const float *factor) {
  struct pto_reference_call call = {0};
  for (; operands[call.view_count]; call.view_count++)
    call.views[call.view_count] = pto_reference_view_broadcast(operands[call.view_count], &results->desc);
  call.views[call.view_count++] = pto_reference_view(results);
  if (factor) call.scalars[call.scalar_count++].f32 = *factor;
  return pto_reference_call(reference, &call);
}

static void extremes(const struct pto_kernel_args *args, const struct pto_golden *golden,
                     double (*extreme)(double, double)) {
  for (uint64_t i = 0; i < pto_kernel_numel(&args->tensors[2]); i++)
    golden[2].value[i] =
        extreme(pto_reference_element(&args->tensors[0], i), pto_reference_element(&args->tensors[1], i));
}
static void max_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  if (args->tensors[2].dtype == PTO_REFERENCE_DOUBLE)
    extremes(args, golden, pto_exact_max);
  else
    pto_reference_maximum.golden(args, golden);
}
static void min_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  if (args->tensors[2].dtype == PTO_REFERENCE_DOUBLE)
    extremes(args, golden, pto_exact_min);
  else
    pto_reference_minimum.golden(args, golden);
}
static const struct pto_kernel_reference pto_reference_max = {.golden = max_golden},
                                         pto_reference_min = {.golden = min_golden};

/* The kernels that have other names. */
#define pto_reference_identity pto_reference_copy
#define pto_reference_greater_or_equal pto_reference_greater_equal
#define pto_reference_lesser_or_equal pto_reference_lesser_equal
#define X(id, ...)                                                                                                     \
  PTO_REFERENCE_OPERATION(id) { return elementwise(operands, results, &pto_reference_##id, NULL); }
PTO_UNARY_OP_LIST(X)
PTO_BINARY_OP_LIST(X)
X(prelu)
#undef X

/* Picked, not computed: a NaN that is not picked is not seen. */
PTO_REFERENCE_OPERATION(where) { return elementwise(operands, results, &pto_reference_select, NULL); }

PTO_REFERENCE_OPERATION(elu) {
  const float alpha = (float)pto_reference_factor(((const struct pto_elu_options *)node->options)->alpha, 1);
  return elementwise(operands, results, &pto_reference_elu, &alpha);
}
PTO_REFERENCE_OPERATION(leaky_relu) {
  const float alpha = (float)pto_reference_factor(((const struct pto_leaky_relu_options *)node->options)->alpha, 0.01);
  return elementwise(operands, results, &pto_reference_leaky_relu, &alpha);
}

/* min(max(x, minValue), maxValue), each where it was given; integers by the bounds truncated and saturated. */
PTO_REFERENCE_OPERATION(clamp) {
  const struct pto_clamp_options *options = node->options;
  const uint32_t dtype = results->desc.dtype;
  const uint64_t count = pto_reference_numel(results);
  const bool has_min = options->min_value.kind != PTO_NUMBER_ABSENT,
             has_max = options->max_value.kind != PTO_NUMBER_ABSENT;
  if (pto_reference_is_float(results)) {
    const double low = pto_reference_option(dtype, options->min_value, 0),
                 high = pto_reference_option(dtype, options->max_value, 0);
    for (uint64_t i = 0; i < count; i++) {
      double x = operands[0]->values[i];
      if (has_min) x = pto_exact_max(x, low);
      if (has_max) x = pto_exact_min(x, high);
      results->values[i] = x;
    }
    return PTO_OK;
  }
  const int64_t low = pto_option_whole(options->min_value, dtype, 0),
                high = pto_option_whole(options->max_value, dtype, 0);
  for (uint64_t i = 0; i < count; i++) {
    int64_t x = operands[0]->whole[i];
    if (has_min && pto_reference_is_less(dtype, x, low)) x = low;
    if (has_max && pto_reference_is_less(dtype, high, x)) x = high;
    results->whole[i] = x;
  }
  return PTO_OK;
}

/* max(0, min(1, alpha · x + beta)) */
PTO_REFERENCE_OPERATION(hard_sigmoid) {
  const struct pto_hard_sigmoid_options *options = node->options;
  const double alpha = pto_reference_factor(options->alpha, 0.2), beta = pto_reference_factor(options->beta, 0.5);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++)
    results->values[i] = pto_exact_max(0, pto_exact_min(1, alpha * operands[0]->values[i] + beta));
  return PTO_OK;
}

/* alpha · x + beta */
PTO_REFERENCE_OPERATION(linear) {
  const struct pto_linear_options *options = node->options;
  const double alpha = pto_reference_factor(options->alpha, 1), beta = pto_reference_factor(options->beta, 0);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) results->values[i] = alpha * operands[0]->values[i] + beta;
  return PTO_OK;
}
