/* SPDX-License-Identifier: MIT */
/*
 * The reference of cast, by exact integers where a double does not hold what a pair of dtypes does.  Constants; any
 * thread.
 */
#include <kernels/reference/support.h>

static bool cast_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  return pto_reference_same_shapes(sizes, tensors, 2);
}

/* The nearest number of `digits` binary digits, of two equally near ones the even; what reaches 2^limit is infinite. */
static double rounded(wide whole, int digits, int limit) {
  const wide magnitude = whole < 0 ? -whole : whole;
  int dropped = 0;
  while (magnitude >> dropped >= (wide)1 << digits) dropped++;
  wide kept = magnitude >> dropped;
  const wide rest = magnitude - (kept << dropped), half = dropped == 0 ? 1 : (wide)1 << (dropped - 1);
  if (rest > half || (dropped > 0 && rest == half && kept % 2 != 0)) kept++;
  const double value = ldexp((double)(int64_t)kept, dropped);
  const double finite = value >= ldexp(1, limit) ? INFINITY : value;
  return whole < 0 ? -finite : finite;
}

static wide truncated(double value) {
  if (isnan(value)) return 0;
  const double outermost = 0x1p100; /* beyond all dtypes */
  return (wide)trunc(fmin(fmax(value, -outermost), outermost));
}

static void cast_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const bool from_float = pto_reference_is_float(x), to_float = pto_reference_is_float(y);
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const double real = from_float ? pto_reference_element(x, i) : 0;
    const bool to_small =
        pto_dtype_is_small_float(y->dtype) && x->dtype != y->dtype; /* the same bits where it is one */
    const wide whole = from_float ? truncated(real) : pto_reference_wide(x, i);
    if (to_small)
      golden[1].value[i] = pto_reference_within(y->dtype, from_float ? real : (double)whole);
    else if (to_float)
      golden[1].value[i] = from_float                ? real
                           : y->dtype == PTO_FLOAT16 ? rounded(whole, 11, 16)
                                                     : rounded(whole, y->dtype == PTO_FLOAT32 ? 24 : 8, 128);
    else if (y->dtype == PTO_BOOL)
      golden[1].whole[i] = from_float ? real != 0 : whole != 0; /* NaN is not 0 */
    else
      golden[1].whole[i] = (uint64_t)pto_reference_saturated(y->dtype, whole);
  }
}
PTO_REFERENCE(cast, .shapes = cast_shapes, .golden = cast_golden, .ulps = 0.5, .values = PTO_VALUES_ANY);
