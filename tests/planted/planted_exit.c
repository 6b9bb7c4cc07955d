/* SPDX-License-Identifier: MIT */
/* A program that ends its own process, with exit status 0 and in the middle of its orchestration: no run of it is one
 * that ended well. */
#include <orchestration/support/program.h>

#include <stdlib.h>

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  (void)temporary_vector(rt, PTO_UINT32, 16);
  exit(0);
}

ERROR_PROGRAM("planted_exit", "ends its own process", PTO_EKERNEL);
