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
/* Who waited for whom when the last run stopped by an error; borrowed until the next run.  NULL where it did not, or
 * the orchestration itself said so (PTO_EUSER). */
struct pto_wait_picture;
const struct pto_wait_picture *pto_runtime_wait_picture(const struct pto_runtime *rt);
/* The same of a run that goes on, as it is now: for a process forked because of a kernel that crashed or does not come
 * back, where no other thread is left.  `status` is what the run ends with.  NULL where no run goes on. */
const struct pto_wait_picture *pto_runtime_picture_now(struct pto_runtime *rt, int status);
/* The engine under a runtime, for reports. */
struct pto_port *pto_runtime_port(struct pto_runtime *rt);

#endif
