/* SPDX-License-Identifier: MIT */
#include <kernels/levels/loops.h>

#include <kernels/levels/level_sets.h>
#include <kernels/levels/loops_build.h>

static const struct pto_loops *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(pto_loops);

const struct pto_loops *pto_loops_at(uint32_t index) {
  return index < PTO_LEVEL_COUNT && pto_level_is_supported((enum pto_level)index) ? sets[index] : NULL;
}

const struct pto_loops *pto_loops_best(void) { return sets[pto_level_best()]; }

enum pto_class pto_class_of(uint32_t dtype) {
#define X(constant, ...) ((PTO_CLASS_DTYPES_##constant) & PTO_DTYPE_BIT(dtype)) != 0 ? PTO_CLASS_##constant:
  return PTO_INTEGER_CLASS_LIST(X) PTO_CLASS_F32;
#undef X
}

uint32_t pto_class_dtype(enum pto_class class_) {
  static const uint32_t dtypes[PTO_CLASS_COUNT] = {[PTO_CLASS_F32] = PTO_FLOAT32,
#define X(constant, suffix, type, unsigned_type, smallest, largest, dtype) [PTO_CLASS_##constant] = dtype,
                                                   PTO_INTEGER_CLASS_LIST(X)
#undef X
  };
  return dtypes[class_];
}
