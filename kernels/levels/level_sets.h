/* SPDX-License-Identifier: MIT */
/*
 * The table of one set of loops a level, of which a kernel takes one by pto_level_best(): PTO_LEVEL_SETS(loops) is what
 * initialises an array of PTO_LEVEL_COUNT pointers with &loops_plain, and on x86-64 &loops_avx2 and &loops_avx512.
 *
 * Always true: each level that pto_level_best() answers has an entry.  A constant; any thread.
 */
#ifndef PTO_KERNELS_LEVELS_LEVEL_SETS_H
#define PTO_KERNELS_LEVELS_LEVEL_SETS_H

#include <kernels/levels/level.h>

#if defined(__x86_64__)
#define PTO_LEVEL_SETS(loops)                                                                                          \
  { [PTO_LEVEL_PLAIN] = &loops##_plain, [PTO_LEVEL_AVX2] = &loops##_avx2, [PTO_LEVEL_AVX512] = &loops##_avx512 }
#else
#define PTO_LEVEL_SETS(loops)                                                                                          \
  { [PTO_LEVEL_PLAIN] = &loops##_plain }
#endif

#endif
