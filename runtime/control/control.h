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

/* ---- for whoever moves bytes to and from memory that tasks use; on the control thread, within a run ---- */

/* Waits until the host may read all bytes of `t`, or write them, as pto_read_element and pto_write_element do for one
 * element. */
PTO_MUST_CHECK int pto_host_acquire(struct pto_runtime *rt, const struct pto_tensor *t, bool is_write);
/* Takes in what has completed and helps the machine one step along.  False where no task is unfinished, or the run has
 * failed. */
bool pto_host_help(struct pto_runtime *rt);
/* Whether the run has failed: all calls refuse, and the orchestration had best return. */
bool pto_host_has_failed(const struct pto_runtime *rt);
/* So much of the orchestrator's virtual time passes; nothing where time is real. */
void pto_host_charge(struct pto_runtime *rt, uint64_t ps);

/* A place in the order of submits: how far each ring has come. */
struct pto_host_mark {
  uint64_t heads[4];
};
void pto_host_mark(const struct pto_runtime *rt, struct pto_host_mark *mark);
/* Whether all tasks submitted between two marks have completed. */
bool pto_host_has_finished(const struct pto_runtime *rt, const struct pto_host_mark *from,
                           const struct pto_host_mark *to);

/* What was recorded of the last run; borrowed until the next run.  NULL where the configuration recorded nothing. */
const struct pto_trace *pto_runtime_trace(const struct pto_runtime *rt);
/* The engine under a runtime, for reports. */
struct pto_port *pto_runtime_port(struct pto_runtime *rt);

#endif
