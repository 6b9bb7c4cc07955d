/* SPDX-License-Identifier: MIT */
/*
 * Instruction sets that the inner loops are compiled for, from the plainest up, and which of them this processor has.
 *
 * The loops of a family are one text, which kernels/levels/each_level.inc compiles once a level; PTO_LEVEL_SETS of
 * kernels/levels/level_sets.h is a table of the results, and pto_level_best() the index: chosen here alone.  The choice
 * is explicit and not by target_clones: an ifunc's resolver runs before a sanitizer is ready, and a test can call each
 * level by itself.
 *
 * Owns the limit, one atomic that is read wherever a level is chosen; the rest is constant.  Any thread.
 */
#ifndef PTO_KERNELS_LEVELS_LEVEL_H
#define PTO_KERNELS_LEVELS_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

/* X(constant, name) */
#define PTO_LEVEL_LIST(X)                                                                                              \
  X(PTO_LEVEL_PLAIN, "plain")                                                                                          \
  X(PTO_LEVEL_AVX2, "avx2")     /* avx2, fma, f16c, bmi2: x86-64-v3 */                                                 \
  X(PTO_LEVEL_AVX512, "avx512") /* and avx512f, bw, cd, dq, vl: x86-64-v4 */

enum pto_level {
#define X(constant, name) constant,
  PTO_LEVEL_LIST(X)
#undef X
      PTO_LEVEL_COUNT
};

/* What to put between the push and the pop. */
#define PTO_AVX2_TARGET "avx2,fma,f16c,bmi2"
#if defined(__clang__)
#define PTO_AVX512_TARGET "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#else
#define PTO_AVX512_TARGET "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512"
#endif

/* The push and the pop: PTO_TARGET_PUSH(PTO_AVX2_TARGET) … PTO_TARGET_POP. */
#define PTO_PRAGMA_TEXT(text) _Pragma(#text)
#define PTO_PRAGMA(text) PTO_PRAGMA_TEXT(text)
#if defined(__clang__)
#define PTO_TARGET_PUSH(features)                                                                                      \
  PTO_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define PTO_TARGET_POP PTO_PRAGMA(clang attribute pop)
#else
#define PTO_TARGET_PUSH(features) PTO_PRAGMA(GCC push_options) PTO_PRAGMA(GCC target(features))
#define PTO_TARGET_POP PTO_PRAGMA(GCC pop_options)
#endif

/* Before a loop of constant bounds over an array that is to be registers: all of it is unrolled. */
#if defined(__clang__)
#define PTO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PTO_UNROLL _Pragma("GCC unroll 16")
#endif

bool pto_level_is_supported(enum pto_level level);
/* The highest that is supported, and not above the limit: what every kernel asks whenever it chooses loops. */
enum pto_level pto_level_best(void);
/* For tests and for `ptosim op`: nothing above `highest` is chosen from now on, by any thread.  Without a call there is
 * no limit; PTO_LEVEL_COUNT − 1 lifts it. */
void pto_level_limit(enum pto_level highest);
const char *pto_level_name(enum pto_level level);

#endif
