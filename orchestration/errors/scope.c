/* SPDX-License-Identifier: MIT */
/*
 * A scope with more tasks than the window holds: its tasks give their slots back only when it has ended, and it cannot
 * end before its last submit, which finds no slot.
 */
#include <orchestration/support/mark.h>

/* N − 1 of a window's N slots can be used. */
static const struct pto_config config = {.size = sizeof config, .window = 16};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  int status = PTO_OK;
  for (int i = 0; i < 16 && status == PTO_OK; i++) status = submit_mark(rt, 64);
  return status;
}

ERROR_PROGRAM("errors/scope", "PTO_ESCOPE: 16 tasks in one scope, in a window of 16", PTO_ESCOPE, .config = &config);
