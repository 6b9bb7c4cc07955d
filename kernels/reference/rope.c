/* SPDX-License-Identifier: MIT */
/*
 * The references of the rotary position embeddings, pair by pair in double precision.  Constants; any thread.
 */
#include <kernels/reference/support.h>

static bool tables_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors) {
  if (sizes->rank < 2) return false;
  const uint64_t dim = sizes->extents[sizes->rank - 1], tokens = sizes->rank == 2 ? 1 : sizes->extents[sizes->rank - 3];
  (void)pto_reference_same_shapes(sizes, tensors, 1);
  pto_reference_set_matrix(&tensors[1], tokens + sizes->draw % 5, sizes->draw / 8 % 4 == 0 ? dim / 4 : dim / 2);
  tensors[2] = tensors[1];
  return true;
}

/* A table's elements are cosines and sines: no products overflow that the double-precision ones do not. */
static bool tables_fill(const struct pto_kernel_args *args, uint32_t i, struct pto_rng *rng) {
  const struct pto_kernel_tensor *t = &args->tensors[i];
  if (i == 0) return false;
  for (uint64_t j = 0; j < pto_reference_numel(t); j++) {
    if (i == 3)
      pto_reference_set_whole(t, j, pto_rng_below(rng, args->tensors[1].shape[0]));
    else
      pto_reference_set(t, j, pto_rng_unit(rng) * 2 - 1);
  }
  return true;
}

/* Element i of y, of row `position` of the tables. */
static void turn(const struct pto_kernel_args *args, const struct pto_golden *golden, uint64_t i, uint64_t position) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  const uint64_t layout = args->scalars[args->scalar_count - 1].u64;
  const uint64_t dim = pto_reference_cols(x), pairs = pto_reference_cols(&args->tensors[1]), at = i % dim;
  if (at >= 2 * pairs) {
    golden->value[i] = pto_reference_element(x, i);
    return;
  }
  const bool is_second = layout == 0 ? at % 2 != 0 : at >= pairs;
  const uint64_t pair = layout == 0 ? at / 2 : at % pairs, apart = layout == 0 ? 1 : pairs;
  const double a = pto_reference_element(x, is_second ? i - apart : i);
  const double b = pto_reference_element(x, is_second ? i : i + apart);
  const double c = pto_reference_at(&args->tensors[1], position, pair);
  const double s = pto_reference_at(&args->tensors[2], position, pair);
  const double first = is_second ? a * s : a * c, second = is_second ? b * c : -b * s;
  golden->value[i] = first + second;
  /* Each product is rounded to f32, and so is the sum, which is what the reference's half a unit is for. */
  golden->slack[i] =
      0.5 * (pto_reference_ulp(PTO_FLOAT32, first) + pto_reference_ulp(PTO_FLOAT32, second)) * (1 + 0x1p-20);
}

static bool rope_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  if (!tables_shapes(sizes, tensors)) return false;
  const uint64_t tokens = sizes->rank == 2 ? 1 : sizes->extents[sizes->rank - 3];
  scalars[0].u64 = sizes->draw / 64 % (tensors[1].shape[0] - tokens + 1);
  scalars[1].u64 = sizes->draw / 512 % 2;
  tensors[3] = tensors[0];
  return true;
}
static void rope_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const uint64_t token = i / pto_reference_cols(x) / x->shape[x->ndims - 2];
    const uint64_t index = x->ndims == 2 ? 0 : token % x->shape[x->ndims - 3];
    turn(args, &golden[3], i, args->scalars[0].u64 + index);
  }
}
PTO_REFERENCE(rope, .shapes = rope_shapes, .golden = rope_golden, .ulps = 0.5, .values = PTO_VALUES_ANY,
              .flags = PTO_REFERENCE_MOVES_LESS, .fill = tables_fill);

static bool rope_positions_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                  union pto_scalar *scalars) {
  if (!tables_shapes(sizes, tensors)) return false;
  tensors[1].shape[0] = tensors[2].shape[0] += 1;
  scalars[0].u64 = sizes->draw / 512 % 2;
  tensors[3] = tensors[4] = tensors[0];
  tensors[3].ndims -= 2;
  return true;
}
static void rope_positions_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const uint64_t token = i / pto_reference_cols(x) / x->shape[x->ndims - 2];
    turn(args, &golden[4], i, pto_reference_whole(&args->tensors[3], token));
  }
}
PTO_REFERENCE(rope_positions, .shapes = rope_positions_shapes, .golden = rope_positions_golden, .ulps = 0.5,
              .values = PTO_VALUES_ANY, .flags = PTO_REFERENCE_MOVES_LESS, .fill = tables_fill);
