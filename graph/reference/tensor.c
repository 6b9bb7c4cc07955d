/* SPDX-License-Identifier: MIT */
/*
 * Tensors of the reference executor: memory, bytes, and numbers as a dtype has them.
 *
 * A tensor owns its elements.  Any thread.
 */
#include <graph/reference/support.h>
#include <kernels/reference/reference.h>

/* ---- numbers ---- */

_Static_assert(PTO_DTYPE_COUNT == 18, "a dtype more: its digits and whether it is signed go here");

/* x with `digits` significant bits, where the smallest normal number is 2^smallest: the quantum is that of x's binade,
 * or of the smallest one.  Scaling by powers of two is exact, so nearbyint is the only rounding. */
static double narrowed(double x, int digits, int smallest, double largest) {
  if (x == 0 || !isfinite(x)) return x;
  const int exponent = ilogb(x) < smallest ? smallest : ilogb(x), quantum = exponent - (digits - 1);
  const double rounded = ldexp(nearbyint(ldexp(x, -quantum)), quantum);
  return fabs(rounded) > largest ? copysign(INFINITY, x) : rounded;
}

double pto_reference_round_to(uint32_t dtype, double x) {
  switch (dtype) {
  case PTO_FLOAT16:
    return narrowed(x, 11, -14, 65504);
  case PTO_BFLOAT16:
    return narrowed(x, 8, -126, 0x1.fep127);
  default:
    return (double)(float)x;
  }
}

int64_t pto_reference_wrap_to(uint32_t dtype, int64_t x) {
  const uint32_t bits = pto_dtype_bits(dtype);
  if (dtype == PTO_BOOL) return x != 0;
  if (bits == 64) return x;
  const uint64_t low = (uint64_t)x & ((UINT64_C(1) << bits) - 1), sign = UINT64_C(1) << (bits - 1);
  return pto_dtype_is_signed(dtype) ? (int64_t)((low ^ sign) - sign) : (int64_t)low;
}

int64_t pto_reference_smallest(uint32_t dtype) {
  return pto_dtype_is_signed(dtype) ? -(int64_t)((UINT64_C(1) << (pto_dtype_bits(dtype) - 1)) - 1) - 1 : 0;
}

int64_t pto_reference_largest(uint32_t dtype) {
  if (dtype == PTO_BOOL) return 1;
  if (dtype == PTO_UINT64) return -1;
  return (int64_t)((UINT64_C(1) << (pto_dtype_bits(dtype) - (pto_dtype_is_signed(dtype) ? 1 : 0))) - 1);
}

int64_t pto_reference_saturate_to(uint32_t dtype, double x) {
  if (isnan(x)) return 0;
  const int digits = (int)pto_dtype_bits(dtype) - (pto_dtype_is_signed(dtype) ? 1 : 0);
  if (x >= ldexp(1, dtype == PTO_BOOL ? 1 : digits)) return pto_reference_largest(dtype);
  if (x <= (double)pto_reference_smallest(dtype)) return pto_reference_smallest(dtype);
  return dtype == PTO_UINT64 ? (int64_t)(uint64_t)x : (int64_t)x;
}

double pto_reference_option(uint32_t dtype, struct pto_number number, double default_value) {
  return pto_reference_round_to(dtype, pto_option_f64(number, default_value));
}

/* ---- memory ---- */

bool pto_reference_tensor_init(struct pto_reference_tensor *tensor, const struct pto_graph_desc *desc) {
  const uint64_t room = pto_max_u64(pto_graph_desc_numel(desc), 1);
  *tensor = (struct pto_reference_tensor){.desc = *desc};
  if (pto_dtype_is_float(desc->dtype))
    tensor->values = calloc(room, sizeof *tensor->values);
  else
    tensor->whole = calloc(room, sizeof *tensor->whole);
  return tensor->values || tensor->whole;
}

void pto_reference_tensor_fini(struct pto_reference_tensor *tensor) {
  free(tensor->values);
  free(tensor->whole);
  tensor->values = NULL;
  tensor->whole = NULL;
}

/* ---- bytes ---- */

/* All elements as a kernel's reference reads and sets them. */
static struct pto_kernel_tensor bytes_of(const struct pto_reference_tensor *tensor, const uint64_t *count,
                                         const void *bytes) {
  static const uint64_t one = 1;
  return (struct pto_kernel_tensor){(void *)(uintptr_t)bytes, count, &one, 1, tensor->desc.dtype};
}

void pto_reference_tensor_load(struct pto_reference_tensor *tensor, const void *bytes) {
  const uint64_t count = pto_reference_numel(tensor);
  const struct pto_kernel_tensor from = bytes_of(tensor, &count, bytes);
  for (uint64_t i = 0; i < count; i++) {
    if (tensor->values)
      tensor->values[i] = pto_reference_element(&from, i);
    else
      tensor->whole[i] = pto_reference_wrap_to(from.dtype, (int64_t)pto_reference_whole(&from, i));
  }
}

void pto_reference_tensor_store(const struct pto_reference_tensor *tensor, void *bytes) {
  const uint64_t count = pto_reference_numel(tensor);
  const struct pto_kernel_tensor to = bytes_of(tensor, &count, bytes);
  if (count > 0) memset((char *)bytes + (count * pto_dtype_bits(to.dtype) - 1) / 8, 0, 1); /* an odd one's other half */
  for (uint64_t i = 0; i < count; i++) {
    if (tensor->values)
      pto_reference_set(&to, i, tensor->values[i]);
    else
      pto_reference_set_whole(&to, i, (uint64_t)tensor->whole[i]);
  }
}

void pto_reference_tensor_round(struct pto_reference_tensor *tensor) {
  const uint64_t count = pto_reference_numel(tensor);
  for (uint64_t i = 0; i < count; i++) {
    if (tensor->values)
      tensor->values[i] = pto_reference_round_to(tensor->desc.dtype, tensor->values[i]);
    else
      tensor->whole[i] = pto_reference_wrap_to(tensor->desc.dtype, tensor->whole[i]);
  }
}
