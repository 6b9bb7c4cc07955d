/* SPDX-License-Identifier: MIT */
/*
 * The oracle's cores: how the blocks and kernels of one task are executed.
 *
 * Kernels that do not wait run to their end where their turn comes: block after block, AIC, AIV0, AIV1.  A task with a
 * kernel that waits (pto/core.h) runs in groups, all blocks of a sync_start task together, else block after block.  The
 * cores of a group are coroutines and go on one at a time: always the lowest one, by block and then by role, that can.
 * Where none can and some have not returned, they wait for each other for ever.
 *
 * A kernel that waits for other ranks alone runs on its rank's stack, and other ranks go on (oracle_world.h).
 *
 * Each core of a group has a stack and local memories of its own.  Signals are counted by core and flag; a FIFO is a
 * list of elements, and 8 bytes for each are counted beside its own.  An accumulating block's turn has come when the
 * cores that the contract names have returned; work takes no time.
 *
 * One thread.
 */
#ifndef PTO_ORACLE_CORES_H
#define PTO_ORACLE_CORES_H

#include <runtime/port/core_port.h>
#include <tests/oracle/oracle_runtime.h>

#define PTO_ORACLE_LOCAL_BYTES (4 * PTO_ORACLE_AIC_BYTES) /* of one core: L1, L0A, L0B and L0C; or UB */

/* A task that has been found good.  Borrowed for the call. */
struct oracle_task {
  const struct pto_kernel *kernels[PTO_ROLE_COUNT]; /* NULL where a role has none */
  uint32_t block_count;
  bool is_sync_start;
  const struct pto_kernel_tensor *tensors;
  const union pto_scalar *scalars;
  uint32_t tensor_count, scalar_count;
};

/* The core that runs a role of a block, over PTO_ORACLE_LOCAL_BYTES of local memory; without a port. */
struct pto_core oracle_core_describe(const struct pto_runtime *rt, const struct oracle_task *task, uint32_t role,
                                     uint32_t block, unsigned char *local);
struct pto_kernel_args oracle_core_args(const struct oracle_task *task, const struct pto_core *core);
/* Runs all of it: PTO_OK, or the error that ends the run. */
int oracle_task_execute(struct pto_runtime *rt, const struct oracle_task *task);

#endif
