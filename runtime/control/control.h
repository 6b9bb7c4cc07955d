/* SPDX-License-Identifier: MIT */
/*
 * The control thread: joins memory, task, deps and sched behind the public calls of pto/runtime.h, over any port.
 *
 * pto_control_create builds a runtime over an engine that the caller made; pto_runtime_create (runtime/join) makes the
 * engine that the configuration names and calls it.
 */
#ifndef PTO_CONTROL_H
#define PTO_CONTROL_H

#include <pto/runtime.h>
#include <runtime/base/error.h>
#include <runtime/port/port.h>
#include <runtime/trace/trace.h>

/* Takes `port`: destroyed with the runtime, or here on failure.  `config` is complete (no NULL, size as compiled). */
int pto_control_create(const struct pto_config *config, struct pto_port *port, struct pto_runtime **rt_out,
                       struct pto_error *error);

/* What was recorded of the last run; borrowed until the next run.  NULL where the configuration recorded nothing. */
const struct pto_trace *pto_runtime_trace(const struct pto_runtime *rt);
/* Between runs: whether the runs from now on are recorded, as the configuration asked for. */
void pto_runtime_set_recording(struct pto_runtime *rt, bool is_on);
/* Whether an address is in the runtime's own memory: that of managed buffers, not of external ones. */
bool pto_runtime_owns_address(const struct pto_runtime *rt, uint64_t address);
/* The engine under a runtime, for reports. */
struct pto_port *pto_runtime_port(struct pto_runtime *rt);

#endif
