/* SPDX-License-Identifier: MIT */
/* The loops of kernels/levels/loops.h for what the compiler makes of the plainest target.  A constant table; any
 * thread. */
#include <kernels/levels/loops_build.h>

#define PTO_LOOPS pto_loops_plain
#define PTO_LOOPS_NAME "plain"
#define PTO_LOOPS_LEVEL 0
#include <kernels/levels/loops.inc>
