/* SPDX-License-Identifier: MIT */
/*
 * Kernel guard: what a tool that watches memory is told around each kernel call, so that it reports the kernel's line.
 *
 * Owns a copy of the port's operations whose dispatch and run send every message to a function of the guard, which
 * calls the kernel; made only where something watches (memory_checker.h), so that other runs have nothing of it. Around
 * a call:
 *
 *   before   what the kernel writes of the arena is no longer fresh, to tools that cannot see that themselves;
 *            what it only reads and no task has written is hidden;
 *            where kernels run one at a time, up to PTO_GUARD_MARGIN_BYTES in front of and behind each run of bytes of
 *            each parameter are hidden, as far as the buffer or the external range goes and no parameter has them
 *   after    all that is shown again as it was
 *
 * So reading a fresh output, or past a view into the rest of its buffer, is reported where it happens.  Kernels that
 * wait for other cores are in the middle of their call while others run: for them nothing is hidden.
 *
 * Made on the control thread; afterwards on the thread of the core, which reads what the control thread wrote before
 * the dispatch, and the registry only where that is the same thread.
 */
#ifndef PTO_RUNTIME_WATCH_KERNEL_GUARD_H
#define PTO_RUNTIME_WATCH_KERNEL_GUARD_H

#include <runtime/base/memory_checker.h>
#include <runtime/memory/buffer_registry.h>
#include <runtime/memory/gm_arena.h>
#include <runtime/port/port.h>

#define PTO_GUARD_MARGIN_BYTES 64u
/* A guard's address is a multiple: payloads carry it above their count of held memory. */
#define PTO_GUARD_ALIGN 64u

struct pto_kernel_guard {
  struct pto_port_ops ops; /* first: the port's `ops` points here */
  const struct pto_port_ops *engine_ops;
  const struct pto_gm_arena *arena;
  const struct pto_buffer_registry *buffers;
  bool is_sequential;              /* one kernel at a time, on the control thread */
  struct pto_hidden_piece *pieces; /* sequential: for what is hidden around the one kernel that runs */
  struct pto_reserve memory;       /* the guard and its pieces */
};

/* A guard between the runtime and its port; NULL where the system refuses memory.  Arena and registry are borrowed
 * until the port is destroyed. */
struct pto_kernel_guard *pto_kernel_guard_create(struct pto_port *port, const struct pto_gm_arena *arena,
                                                 const struct pto_buffer_registry *buffers);
/* After the port is destroyed.  NULL is allowed. */
void pto_kernel_guard_destroy(struct pto_kernel_guard *guard);

#endif
