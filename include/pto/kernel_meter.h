/* SPDX-License-Identifier: MIT */
/*
 * Kernel meters: what a profiler is told of kernel calls, on the thread that makes them, so that whatever it counts for
 * a thread falls to the kernel that was running.
 *
 * A runtime whose configuration has one (pto_config.meter) calls `begin` right before a kernel runs and `end` right
 * behind it.  A kernel that waits for other cores is told of in stretches: `end` when it begins to wait, and `begin`
 * when it goes on, so that what its thread does meanwhile is not its own.  A runtime without one pays nothing for it.
 *
 * Always true: on each thread calls of begin and end take turns, with one kernel between the two.
 *
 * Threads: both are called on every thread that runs kernels, at the same time.  They submit nothing, and fail nothing.
 * The engines "threads" and "virtual" have meters.
 */
#ifndef PTO_KERNEL_METER_H
#define PTO_KERNEL_METER_H

#include <pto/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_kernel_meter {
  void *context;
  void (*begin)(void *context);
  /* The kernel that has been running since begin, and the kind of the core that it ran on (PTO_AIC or PTO_AIV).
   * `has_returned`: the call is over; else it waits, and another begin will follow for it. */
  void (*end)(void *context, const struct pto_kernel *kernel, enum pto_core_kind kind, bool has_returned);
};

#ifdef __cplusplus
}
#endif

#endif
