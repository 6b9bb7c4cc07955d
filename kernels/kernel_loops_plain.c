/* SPDX-License-Identifier: MIT */
/* The loops of kernel_loops.h for what the compiler makes of the plainest target.  A constant table; any thread. */
#include <kernels/kernel_loops_build.h>

#define PTO_LOOPS pto_loops_plain
#define PTO_LOOPS_NAME "plain"
#define PTO_LOOPS_LEVEL 0
#include <kernels/kernel_loops.inc>
