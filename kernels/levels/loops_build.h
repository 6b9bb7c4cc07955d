/* SPDX-License-Identifier: MIT */
/*
 * What the files that compile the loops, one an instruction set, have in common; only they and
 * kernels/levels/loops.c include it.  The tables are theirs; no code here looks at floating-point
 * exceptions.
 */
#ifndef PTO_KERNELS_LEVELS_LOOPS_BUILD_H
#define PTO_KERNELS_LEVELS_LOOPS_BUILD_H

#pragma GCC diagnostic ignored "-Wtype-limits" /* one expression serves signed and unsigned types */

#include <kernels/levels/loops.h>
#include <kernels/levels/scalar.h>
#include <runtime/base/base.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

extern const struct pto_loops pto_loops_plain;
#if defined(__x86_64__)
extern const struct pto_loops pto_loops_avx2, pto_loops_avx512;
#endif

/* The loops are worth vectorising at every -O level, and without the promise of no trap a select cannot be.  GCC's -O3
 * would unroll the leftovers of each loop as well, which doubles the code and is no faster.  A strided loop of one
 * load and one store gains nothing from vectors. */
#if defined(__clang__)
#define PTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define PTO_LANES _Pragma("clang loop vectorize(assume_safety) unroll(disable)")
#define PTO_SCALAR_LOOP _Pragma("clang loop vectorize(disable)")
#pragma clang diagnostic ignored "-Wpass-failed" /* 64-bit division has no vector form */
#elif defined(__GNUC__)
#define PTO_INDEPENDENT _Pragma("GCC ivdep")
#define PTO_LANES _Pragma("GCC ivdep")
#define PTO_SCALAR_LOOP
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic", "no-trapping-math")
#endif

/* Of the operands that a form has, an expression uses those that it names. */
#define PTO_MAYBE_UNUSED __attribute__((unused))

#endif
