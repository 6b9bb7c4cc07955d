/* SPDX-License-Identifier: MIT */
#include <kernels/rows/loops.h>

#include <kernels/levels/level_sets.h>
#include <kernels/api/math.h>
#include <runtime/base/base.h>

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define FIND_AT_ONCE 64 /* elements compared between two looks at the result */

/* The loops are worth vectorising at every -O level; no code here looks at floating-point exceptions, and without
 * that promise a select cannot be vectorised. */
#if defined(__clang__)
#define PTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define PTO_LANES PTO_INDEPENDENT
#elif defined(__GNUC__)
#define PTO_LANES PTO_INDEPENDENT _Pragma("GCC unroll 1") /* unrolled before it is vectorised, it stays scalar */
#define PTO_INDEPENDENT _Pragma("GCC ivdep")
#pragma GCC optimize("O3", "no-trapping-math")
#endif

/* Of the operands of a loop, an expression uses those that it names. */
#define PTO_MAYBE_UNUSED __attribute__((unused))

#define PTO_LEVEL_LOOPS <kernels/levels/row_loops.inc>
#include <kernels/levels/each_level.inc>

static const struct pto_row_loops *const levels[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(row_loops);

const struct pto_row_loops *pto_row_loops_at(enum pto_level level) {
  return level < PTO_LEVEL_COUNT && pto_level_is_supported(level) ? levels[level] : NULL;
}

const struct pto_row_loops *pto_row_loops_best(void) { return levels[pto_level_best()]; }

float pto_fold_neutral(enum pto_fold fold) {
  static const float neutral[PTO_FOLD_COUNT] = {
#define X(name, neutral_, ...) [PTO_FOLD_##name] = neutral_,
      PTO_FOLD_LIST(X)
#undef X
  };
  return neutral[fold];
}
