/* SPDX-License-Identifier: MIT */
/*
 * For tests of dispatch on the serial port: what was sent where, one step of the run, and the shapes that a task can
 * have.
 */
#ifndef PTO_DISPATCH_CHECKS_H
#define PTO_DISPATCH_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static inline const struct pto_serial_sent *sent_of(struct pto_runtime *rt, uint32_t *count) {
  return pto_serial_port_sent(pto_runtime_port(rt), count);
}

/* Runs one kernel and takes its completion in. */
static inline void finish_one(struct pto_runtime *rt) {
  fixture_step(rt);
  pto_progress_poll(rt);
}

static const struct shape {
  const char *name;
  uint32_t roles, aiv_count;
  bool needs_aic;
} shapes[] = {{"AIC", FIXTURE_AIC, 0, true},
              {"AIV", FIXTURE_AIV1, 1, false},
              {"AIV×2", FIXTURE_AIV0 | FIXTURE_AIV1, 2, false},
              {"MIX of AIC and one AIV", FIXTURE_AIC | FIXTURE_AIV1, 1, true},
              {"MIX of AIC and two AIV", FIXTURE_AIC | FIXTURE_AIV0 | FIXTURE_AIV1, 2, true}};

#endif
