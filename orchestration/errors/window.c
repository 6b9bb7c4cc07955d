/* SPDX-License-Identifier: MIT */
/*
 * Nested scopes that together hold a whole window, though none of them holds more than a few tasks: rings are kept
 * apart by depth, four of them, and the scopes from the fourth depth on share the last.
 */
#include <orchestration/support/mark.h>

static const struct pto_config config = {.size = sizeof config, .window = 16};

/* 4 tasks a scope: the ring that the inner scopes share is full in the fourth of them. */
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  int status = PTO_OK;
  for (int depth = 0; depth < 16 && status == PTO_OK; depth++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    for (int i = 0; i < 4 && status == PTO_OK; i++) status = submit_mark(rt, 64);
  }
  return status;
}

ERROR_PROGRAM("errors/window", "PTO_EWINDOW: nested scopes hold the whole window of 16", PTO_EWINDOW,
              .config = &config);
