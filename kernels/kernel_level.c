/* SPDX-License-Identifier: MIT */
#include <kernels/kernel_level.h>

#include <stdatomic.h>

/* Relaxed: the levels differ in speed, and what a kernel reads does not hang on the limit. */
static _Atomic uint32_t limit = PTO_LEVEL_COUNT - 1;

bool pto_level_is_supported(enum pto_level level) {
  switch (level) {
  case PTO_LEVEL_PLAIN:
    return true;
#if defined(__x86_64__)
  case PTO_LEVEL_AVX2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  case PTO_LEVEL_AVX512:
    return pto_level_is_supported(PTO_LEVEL_AVX2) && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  default:
    return false;
  }
}

enum pto_level pto_level_best(void) {
  for (enum pto_level level = atomic_load_explicit(&limit, memory_order_relaxed); level > PTO_LEVEL_PLAIN; level--)
    if (pto_level_is_supported(level)) return level;
  return PTO_LEVEL_PLAIN;
}

void pto_level_limit(enum pto_level highest) { atomic_store_explicit(&limit, highest, memory_order_relaxed); }

const char *pto_level_name(enum pto_level level) {
  static const char *const names[PTO_LEVEL_COUNT] = {
#define X(constant, name) [constant] = name,
      PTO_LEVEL_LIST(X)
#undef X
  };
  return level < PTO_LEVEL_COUNT ? names[level] : "?";
}
