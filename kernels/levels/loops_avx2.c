/* SPDX-License-Identifier: MIT */
/* The loops of kernels/levels/loops.h for AVX2 and F16C.  A constant table; any thread. */
#include <kernels/levels/loops_build.h>

#if defined(__x86_64__)
PTO_TARGET_PUSH(PTO_AVX2_TARGET)
#define PTO_LOOPS pto_loops_avx2
#define PTO_LOOPS_NAME "avx2"
#define PTO_LOOPS_LEVEL 1
#include <kernels/levels/loops.inc>
PTO_TARGET_POP
#endif
