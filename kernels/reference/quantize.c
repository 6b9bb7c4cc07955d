/* SPDX-License-Identifier: MIT */
/*
 * The references of quantisation, element by element.  Constants; any thread.
 */
#include <kernels/reference/support.h>

/* Scales of a random number of the dimensions, in blocks of a random divisor of each extent. */
static bool blocks_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          union pto_scalar *scalars) {
  uint64_t draw = sizes->draw;
  (void)pto_reference_same_shapes(sizes, tensors, 1);
  tensors[3] = tensors[0];
  tensors[1].ndims = (uint32_t)(sizes->rank - draw % 3 % (sizes->rank + 1));
  for (uint32_t d = 0; d < tensors[1].ndims; d++) {
    const uint64_t extent = sizes->extents[sizes->rank - tensors[1].ndims + d];
    uint64_t block = extent;
    draw = pto_mix64(draw + 1);
    if (draw % 3 == 0) block = 1;
    for (uint64_t n = 2; draw % 3 == 1 && n < extent; n++)
      if (extent % n == 0 && (block == extent || draw / 3 % 2 == 0)) block = n;
    tensors[1].shape[d] = extent == 0 ? draw / 8 % 2 : extent / block;
  }
  tensors[2] = tensors[1];
  return true;
}

/* Half of the scales are powers of two, so that quotients are ties; some are as odd as floats can be. */
static bool scales_fill(const struct pto_kernel_args *args, uint32_t i, struct pto_rng *rng) {
  static const double odd[] = {0.0, INFINITY, NAN, 1e-40, 65504.0, -0.5};
  const struct pto_kernel_tensor *t = &args->tensors[i];
  if (i != 1) return false;
  for (uint64_t j = 0; j < pto_reference_numel(t); j++) {
    const uint64_t kind = pto_rng_below(rng, 16);
    const double power = ldexp(1, -(int)pto_rng_below(rng, 7)), any = 0.001 + pto_rng_unit(rng) / 10;
    pto_reference_set(t, j, kind == 0 ? odd[pto_rng_below(rng, 6)] : kind % 2 == 0 ? power : any);
  }
  return true;
}

/* The number of the scale of element `number` of x. */
static uint64_t scale_of(const struct pto_kernel_args *args, uint64_t number) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *scale = &args->tensors[1];
  const struct place place = pto_reference_place(x, number);
  uint64_t result = 0;
  for (uint32_t d = 0; d < scale->ndims; d++) {
    const uint32_t of_x = x->ndims - scale->ndims + d;
    result = result * scale->shape[d] + place.at[of_x] / (x->shape[of_x] / scale->shape[d]);
  }
  return result;
}

static double zero_of(const struct pto_kernel_args *args, uint64_t number) {
  return (double)(int64_t)pto_reference_whole(&args->tensors[2], scale_of(args, number));
}

static void quantize_linear_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[3];
  const double count = ldexp(1, (int)pto_dtype_bits(y->dtype));
  const double least = pto_dtype_is_signed(y->dtype) ? -count / 2 : 0;
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const double scale = pto_reference_element(&args->tensors[1], scale_of(args, i));
    const double quotient = (float)(pto_reference_element(x, i) / scale); /* to f32: once, see Figueroa 1995 */
    const double sum = (isnan(quotient) ? 0 : nearbyint(quotient)) + zero_of(args, i);
    golden[3].whole[i] = pto_reference_modulo(fmin(fmax(sum, least), least + count - 1));
  }
}
PTO_REFERENCE(quantize_linear, .shapes = blocks_shapes, .golden = quantize_linear_golden, .ulps = 0,
              .values = PTO_VALUES_ANY, .fill = scales_fill);

static void dequantize_linear_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const double difference = (float)((double)(int64_t)pto_reference_whole(x, i) - zero_of(args, i));
    golden[3].value[i] = difference * pto_reference_element(&args->tensors[1], scale_of(args, i));
  }
}
PTO_REFERENCE(dequantize_linear, .shapes = blocks_shapes, .golden = dequantize_linear_golden, .ulps = 0.5,
              .values = PTO_VALUES_ANY, .fill = scales_fill);

/* ---- microscaling ---- */

/* Blocks of 32 along the last dimension: of as many as it would take to hold the size. */
static bool mx_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *x,
                      struct pto_reference_shape *scale) {
  if (sizes->rank == 0) return false;
  (void)pto_reference_same_shapes(sizes, x, 1);
  *scale = *x;
  scale->shape[sizes->rank - 1] = (x->shape[sizes->rank - 1] + 31) / 32;
  x->shape[sizes->rank - 1] = scale->shape[sizes->rank - 1] * 32;
  return true;
}
static bool quantize_mx_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                               union pto_scalar *scalars) {
  if (!mx_shapes(sizes, &tensors[0], &tensors[2])) return false;
  tensors[1] = tensors[0];
  return true;
}
static bool dequantize_mx_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                 union pto_scalar *scalars) {
  if (!mx_shapes(sizes, &tensors[0], &tensors[1])) return false;
  tensors[2] = tensors[0];
  return true;
}

/* 2^(floor(log2 largest) - exponent of the largest number), of OCP MX 1.0, 6.3; an infinity counts as 2^128. */
static double mx_scale(const struct pto_kernel_tensor *x, uint64_t block, uint32_t dtype) {
  double largest = 0;
  for (uint64_t i = 0; i < 32; i++) {
    const double magnitude = fabs(pto_reference_element(x, block * 32 + i));
    if (isnan(magnitude)) return NAN;
    largest = fmax(largest, magnitude);
  }
  const int most = dtype == PTO_FLOAT8_E4M3FN ? 8 : dtype == PTO_FLOAT8_E5M2 ? 15 : 2;
  if (largest == 0) return 0x1p-127;
  return fmax(ldexp(1, (isinf(largest) ? 128 : ilogb(largest)) - most), 0x1p-127);
}

static void quantize_mx_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1], *scale = &args->tensors[2];
  for (uint64_t b = 0; b < pto_reference_numel(scale); b++) {
    const double power = golden[2].value[b] = mx_scale(x, b, y->dtype);
    for (uint64_t i = b * 32; i < b * 32 + 32; i++)
      golden[1].value[i] = pto_reference_within(y->dtype, pto_reference_element(x, i) / power);
  }
}
PTO_REFERENCE(quantize_mx, .shapes = quantize_mx_shapes, .golden = quantize_mx_golden, .ulps = 0,
              .values = PTO_VALUES_ANY);

static void dequantize_mx_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[0]); i++)
    golden[2].value[i] = pto_reference_element(&args->tensors[0], i) * pto_reference_element(&args->tensors[1], i / 32);
}
PTO_REFERENCE(dequantize_mx, .shapes = dequantize_mx_shapes, .golden = dequantize_mx_golden, .ulps = 0.5,
              .values = PTO_VALUES_ANY);
