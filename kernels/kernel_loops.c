/* SPDX-License-Identifier: MIT */
#include <kernels/kernel_loops.h>

#include <kernels/kernel_level_sets.h>
#include <kernels/kernel_loops_build.h>

static const struct pto_loops *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(pto_loops);

const struct pto_loops *pto_loops_at(uint32_t index) {
  return index < PTO_LEVEL_COUNT && pto_level_is_supported((enum pto_level)index) ? sets[index] : NULL;
}

const struct pto_loops *pto_loops_best(void) { return sets[pto_level_best()]; }

float pto_sum_lanes(const float lanes[PTO_SUM_LANES]) {
  float sums[PTO_SUM_LANES];
  for (uint32_t i = 0; i < PTO_SUM_LANES; i++) sums[i] = lanes[i];
  for (uint32_t half = PTO_SUM_LANES / 2; half > 0; half /= 2)
    for (uint32_t i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

enum pto_class pto_class_of(uint32_t dtype) {
  static const enum pto_class classes[PTO_DTYPE_COUNT] = {
      [PTO_FLOAT32] = PTO_CLASS_F32,
      [PTO_FLOAT16] = PTO_CLASS_F32,
      [PTO_BFLOAT16] = PTO_CLASS_F32,
#define X(constant, suffix, type, unsigned_type, smallest, largest, dtype) [dtype] = PTO_CLASS_##constant,
      PTO_INTEGER_CLASS_LIST(X)
#undef X
          [PTO_INT4] = PTO_CLASS_I8,
      [PTO_UINT4] = PTO_CLASS_U8,
  };
  return classes[dtype];
}

uint32_t pto_class_dtype(enum pto_class class_) {
  static const uint32_t dtypes[PTO_CLASS_COUNT] = {[PTO_CLASS_F32] = PTO_FLOAT32,
#define X(constant, suffix, type, unsigned_type, smallest, largest, dtype) [PTO_CLASS_##constant] = dtype,
                                                   PTO_INTEGER_CLASS_LIST(X)
#undef X
  };
  return dtypes[class_];
}
