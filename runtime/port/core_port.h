/* SPDX-License-Identifier: MIT */
/*
 * What a waiting kernel's calls (pto/core.h) arrive at: implemented by every engine, and by the sequential executor.
 *
 * An implementer embeds a pto_core_port and puts its address into the core's description for the length of the kernel.
 * core_calls.c has checked the arguments as far as description and payload can tell: roles have kernels, flags are
 * below PTO_CORE_FLAGS, sizes fit.  Called on the kernel's own stack, on the thread of its core; may suspend it.  Each
 * answers 0 or what the call of pto/core.h answers, with the sentence left by pto_kernel_error where it is a mistake.
 */
#ifndef PTO_CORE_PORT_H
#define PTO_CORE_PORT_H

#include <pto/core.h>
#include <runtime/base/base.h>

struct pto_core_port {
  const struct pto_core_port_ops *ops;
  const struct pto_kernel *kernels[PTO_ROLE_COUNT]; /* of the task that runs; NULL where a role has none */
  bool is_sync_start;
  const void *call; /* what the kernel's last call of pto/core.h or pto/remote.h returns to; NULL: it has made none */
  void *rank;       /* of a world, to which the calls of pto/remote.h go; NULL: the chip is alone */
};

struct pto_core_port_ops {
  /* Before each of the others: the kernel is about to make a call; `polls`: it has looked at memory alone since its
   * last.  NULL: nothing is done. */
  void (*step)(const struct pto_kernel_args *args, bool polls);
  int (*signal)(const struct pto_kernel_args *args, uint32_t block_index, uint32_t roles, uint32_t flag);
  int (*wait)(const struct pto_kernel_args *args, uint32_t flag);
  int (*push)(const struct pto_kernel_args *args, uint32_t role, const void *data, uint64_t size_bytes);
  int (*pop)(const struct pto_kernel_args *args, uint32_t role, void *data, uint64_t size_bytes);
  int (*barrier)(const struct pto_kernel_args *args);
  int (*turn)(const struct pto_kernel_args *args);
  int (*work)(const struct pto_kernel_args *args, const struct pto_cost *cost);
  int (*yield)(const struct pto_kernel_args *args, bool has_worked);
  int (*shared)(const struct pto_kernel_args *args, uint64_t key, uint64_t size_bytes, void **memory);
  int (*private_memory)(const struct pto_kernel_args *args, uint64_t size_bytes, void (*drop)(void *memory),
                        void **memory);
  int (*now)(const struct pto_kernel_args *args, uint64_t *now_ns);
};

/* Whether a kernel needs a stack of its own. */
static inline bool pto_kernel_waits(const struct pto_kernel *kernel) {
  return (kernel->flags & (PTO_KERNEL_WAITS | PTO_KERNEL_TURNS | PTO_KERNEL_REMOTE)) != 0;
}
/* "AIC", "AIV0", "AIV1". */
const char *pto_role_name(uint32_t role);

#endif
