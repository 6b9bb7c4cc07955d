/* SPDX-License-Identifier: MIT */
/*
 * Cores that wait for each other: signals, FIFOs, barriers, turns and polls, called by a kernel while it runs.
 *
 * A kernel that waits says so (PTO_KERNEL_WAITS) and gets a stack of its own, of PTO_CORE_STACK_BYTES: waiting suspends
 * the simulated core, not the thread that it lives on.  Who may wait for whom: the kernels of one block of a MIX task
 * for each other; all blocks of a sync_start task for each other; and, in its turn, a block of an accumulating task for
 * the blocks before it.  No other kernels may wait, for no others are certain to run at the same time.
 *
 * A core is named by its role in the task, the place of its kernel in the launch: PTO_ROLE_AIC, PTO_ROLE_AIV0,
 * PTO_ROLE_AIV1 (args->core->role is one's own).  On which physical core a role runs is the scheduler's business.
 *
 * Order of memory: what a core wrote before it signalled, pushed, came to a barrier or returned may be read by the core
 * that has waited for that.  Results depend on nothing but the kernels where a flag of a core is signalled by one core
 * only: signals are counted, not addressed.
 *
 * Every function answers 0, or a status which the kernel returns at once without touching its tensors again: its own
 * mistake (a role without a kernel, an element larger than the FIFO: PTO_EKERNEL with the sentence), a core of its task
 * that failed, or cores that wait for ever (PTO_EDEADLOCK; the run's error says who waits for whom).
 *
 * Time on the virtual engine: a kernel that waits says what it has done before it lets others know (pto_core_work);
 * what its cost function states beyond that is spent when it returns.  Waiting, and signals and FIFO traffic as the
 * chip file prices them, are added.  On threads pto_core_work does nothing.
 */
#ifndef PTO_CORE_H
#define PTO_CORE_H

#include <stdbool.h>

#include <pto/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTO_CORE_FLAGS 16u                /* a core's flags: 0 … 15 */
#define PTO_CORE_STACK_BYTES (256u << 10) /* of a kernel that waits, and of those beside it in its task */
#define PTO_CORE_FIFO_BYTES (256u << 10)  /* that lie in a FIFO at most, 8 an element included */

/* A kernel's place in the launch. */
enum pto_role { PTO_ROLE_AIC = 0, PTO_ROLE_AIV0 = 1, PTO_ROLE_AIV1 = 2, PTO_ROLE_COUNT = 3 };
#define PTO_ROLE_BIT(role) (1u << (role))

/* Adds 1 to `flag` of the cores of this block in `roles`, a set of PTO_ROLE_BIT. */
PTO_API PTO_MUST_CHECK int pto_core_signal(const struct pto_kernel_args *args, uint32_t roles, uint32_t flag);
/* The same in another block of a sync_start task. */
PTO_API PTO_MUST_CHECK int pto_core_signal_block(const struct pto_kernel_args *args, uint32_t block_index,
                                                 uint32_t roles, uint32_t flag);
/* Waits until `flag` of this core is above 0, and takes 1 from it. */
PTO_API PTO_MUST_CHECK int pto_core_wait(const struct pto_kernel_args *args, uint32_t flag);

/* Appends an element, a copy of `size_bytes` > 0 bytes, to the FIFO from this core to the one of `role` in its block;
 * waits while there is no room.  There is one FIFO for each ordered pair of roles. */
PTO_API PTO_MUST_CHECK int pto_core_push(const struct pto_kernel_args *args, uint32_t role, const void *data,
                                         uint64_t size_bytes);
/* Takes the oldest element of the FIFO from `role` to this core; waits while there is none.  One of another size than
 * `size_bytes` is an error that names both. */
PTO_API PTO_MUST_CHECK int pto_core_pop(const struct pto_kernel_args *args, uint32_t role, void *data,
                                        uint64_t size_bytes);

/* Waits until every core of the task whose kernel declares PTO_KERNEL_WAITS has come to the barrier as many times as
 * this one.  Tasks of one block, and sync_start tasks: there all blocks meet. */
PTO_API PTO_MUST_CHECK int pto_core_barrier(const struct pto_kernel_args *args);

/* For kernels with PTO_KERNEL_TURNS, before they touch what they accumulate into: waits until the blocks before this
 * one have returned, and of this block the roles before this one that take turns.  The second call in a block does
 * nothing.  A core that waits for another one of its block, which has its turn, need not call it.  So sums have the
 * bits of block order, whatever ran at the same time before. */
PTO_API PTO_MUST_CHECK int pto_core_turn(const struct pto_kernel_args *args);

/* For a kernel that polls memory which other cores write: it looks, and calls this where what it looks for is not
 * there. Returns after something has happened that may have changed memory: a core began a kernel, returned, called
 * what this header offers, or the orchestration went on; perhaps sooner.  In virtual time it lets time pass up to then.
 * Where all that run do nothing but poll again and again, they wait for ever.  `has_worked`: the core has done
 * something since its last call, and is not known to wait: others run first, and then it goes on, at the same time. */
PTO_API PTO_MUST_CHECK int pto_core_yield(const struct pto_kernel_args *args, bool has_worked);

/* Memory that the kernels of one block of the task share, zeroed before the first one sees it: the one of that `key`,
 * made where there is none yet.  Until all kernels of the block have returned.  All name the same size.
 * What atomic operations on it order, `ptosim check --observe` does not know: it leaves alone words that
 * read-modify-write operations alone change, on x86-64. */
PTO_API PTO_MUST_CHECK int pto_core_shared(const struct pto_kernel_args *args, uint64_t key, uint64_t size_bytes,
                                           void **memory);
/* Memory of this core alone, zeroed when it is made, that kernels which run on the core later find again, as they find
 * its local memory.  One a core: all name the same size.  It goes with the runtime, after `drop`, which may be NULL. */
PTO_API PTO_MUST_CHECK int pto_core_private(const struct pto_kernel_args *args, uint64_t size_bytes,
                                            void (*drop)(void *memory), void **memory);
/* The time on this core: virtual, since the run began, or real, since some moment. */
PTO_API PTO_MUST_CHECK int pto_core_now(const struct pto_kernel_args *args, uint64_t *now_ns);

/* States work done since the last call of this header, in virtual time: the call returns when it is over. */
PTO_API PTO_MUST_CHECK int pto_core_work(const struct pto_kernel_args *args, const struct pto_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
