/* SPDX-License-Identifier: MIT */
/*
 * To add an instruction set: include kernel_loops.inc once more between a push and a pop, and add its line to `sets`.
 *
 * The choice is explicit and not by target_clones: an ifunc's resolver runs before a sanitizer is ready, and a test can
 * call each set by itself.
 */
#include <kernels/kernel_loops.h>

#include <kernels/kernel_math.h>
#include <runtime/base/base.h>

/* The loops are worth vectorising at every -O level; no code here looks at floating-point exceptions, and without
 * that promise a select cannot be vectorised. */
#if defined(__clang__)
#define PTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* integer division has no vector form */
#elif defined(__GNUC__)
#define PTO_INDEPENDENT _Pragma("GCC ivdep")
#pragma GCC optimize("O3", "no-trapping-math")
#endif

/* Of the operands that a form has, an expression uses those that it names. */
#define PTO_MAYBE_UNUSED __attribute__((unused))

#define PTO_LEVEL(name) name##_plain
#define PTO_LEVEL_NAME "plain"
#include <kernels/kernel_loops.inc>

#if defined(__x86_64__)
#define PTO_HAS_AVX2_LOOPS 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define PTO_LEVEL(name) name##_avx2
#define PTO_LEVEL_NAME "avx2"
#include <kernels/kernel_loops.inc>
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

static bool is_always(void) { return true; }

static const struct loop_set {
  const struct pto_loops *loops;
  bool (*is_supported)(void);
} sets[] = {
    {&loops_plain, is_always},
#ifdef PTO_HAS_AVX2_LOOPS
    {&loops_avx2, has_avx2},
#endif
};

const struct pto_loops *pto_loops_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(sets) && sets[index].is_supported() ? sets[index].loops : NULL;
}

const struct pto_loops *pto_loops_best(void) {
  uint32_t i = PTO_ARRAY_LENGTH(sets) - 1;
  while (!sets[i].is_supported()) i--;
  return sets[i].loops;
}

float pto_sum_lanes(const float lanes[PTO_SUM_LANES]) {
  float sums[PTO_SUM_LANES];
  for (uint32_t i = 0; i < PTO_SUM_LANES; i++) sums[i] = lanes[i];
  for (uint32_t half = PTO_SUM_LANES / 2; half > 0; half /= 2)
    for (uint32_t i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

enum pto_class pto_class_of(uint32_t dtype) {
  if ((PTO_DTYPES_FLOAT & PTO_DTYPE_BIT(dtype)) != 0) return PTO_CLASS_F32;
  return dtype == PTO_UINT64 ? PTO_CLASS_U64 : PTO_CLASS_I64;
}

uint32_t pto_class_dtype(enum pto_class class_) {
  static const uint32_t dtypes[PTO_CLASS_COUNT] = {
      [PTO_CLASS_F32] = PTO_FLOAT32, [PTO_CLASS_I64] = PTO_INT64, [PTO_CLASS_U64] = PTO_UINT64};
  return dtypes[class_];
}
