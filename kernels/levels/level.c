/* SPDX-License-Identifier: MIT */
#include <kernels/levels/level.h>

#include <runtime/base/base.h>

#include <stdatomic.h>

/* The answer of pto_level_best, PTO_LEVEL_COUNT before it was asked for: kernels ask several times a call.  Relaxed:
 * the levels differ in speed, and what a kernel reads does not hang on them; threads that ask at once find the same. */
static _Atomic uint32_t best = PTO_LEVEL_COUNT;

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

static enum pto_level best_below(enum pto_level highest) {
  for (enum pto_level level = highest; level > PTO_LEVEL_PLAIN; level--)
    if (pto_level_is_supported(level)) return level;
  return PTO_LEVEL_PLAIN;
}

enum pto_level pto_level_best(void) {
  const uint32_t found = atomic_load_explicit(&best, memory_order_relaxed);
  if (found < PTO_LEVEL_COUNT) return (enum pto_level)found;
  /* Unless a limit was set meanwhile. */
  uint32_t none = PTO_LEVEL_COUNT;
  atomic_compare_exchange_strong_explicit(&best, &none, best_below(PTO_LEVEL_COUNT - 1), memory_order_relaxed,
                                          memory_order_relaxed);
  return (enum pto_level)atomic_load_explicit(&best, memory_order_relaxed);
}

void pto_level_limit(enum pto_level highest) {
  atomic_store_explicit(&best, best_below(pto_min_u64(highest, PTO_LEVEL_COUNT - 1)), memory_order_relaxed);
}

const char *pto_level_name(enum pto_level level) {
  static const char *const names[PTO_LEVEL_COUNT] = {
#define X(constant, name) [constant] = name,
      PTO_LEVEL_LIST(X)
#undef X
  };
  return level < PTO_LEVEL_COUNT ? names[level] : "?";
}
