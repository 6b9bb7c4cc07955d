/* SPDX-License-Identifier: MIT */
/*
 * What a kernel does to other ranks of its world: puts, gets, and signals.
 *
 *   here                                    in PTO's instruction set
 *   pto_core_put                            TPUT
 *   pto_core_get                            TGET
 *   pto_core_notify                         TNOTIFY
 *   pto_core_wait_signal, pto_core_test_signal   TWAIT, TTEST
 *
 * A kernel that calls these declares PTO_KERNEL_REMOTE, which implies PTO_KERNEL_WAITS.  `comm` is the id of a
 * communicator (pto/world.h), passed as a scalar; a peer is a rank's place in it.
 *
 * Order of memory: a put has landed when the call returns; a peer that waits for a signal which is notified after that
 * sees its bytes.  Signals of one rank to another arrive in the order in which they were sent.
 *
 * Every function answers 0, or a status which the kernel returns at once, as those of pto/core.h do.
 *
 * Time on the virtual engine.  A put takes the way to the peer and its bytes' share of the links; the core is busy
 * until they have landed.  A get takes the way there, and then the same back.  A signal takes the way to the peer;
 * having waited for one takes the chip's signal price.  What is put or got counts as stated work (pto_core_work), so
 * that the kernel's cost function pays for the rest alone.
 */
#ifndef PTO_REMOTE_H
#define PTO_REMOTE_H

#include <pto/core.h>
#include <pto/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies `from`, of this rank's memory, to `to`, of a peer's window: a tensor parameter or a part of one, each.  Equal
 * dtypes and shapes. */
PTO_API PTO_MUST_CHECK int pto_core_put(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                                        const struct pto_kernel_tensor *from);
/* Copies `from`, of a peer's window, to `to`, of this rank's memory. */
PTO_API PTO_MUST_CHECK int pto_core_get(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                                        const struct pto_kernel_tensor *from);

/* Where the window of a peer begins, or the own one: for tensors of put and get that are no parameters.  Only the own
 * one's bytes are there to be touched. */
PTO_API PTO_MUST_CHECK int pto_core_window(const struct pto_kernel_args *args, uint64_t comm, uint32_t peer,
                                           void **window);
/* Whether tensors have memory.  They have not where kernels are priced alone (config.no_compute): there a kernel that
 * declares PTO_KERNEL_REMOTE, and stands alone in its task, is run all the same for what it tells other ranks, and
 * leaves the elements alone. */
PTO_API bool pto_core_computes(const struct pto_kernel_args *args);

enum pto_notify { PTO_NOTIFY_SET = 0, PTO_NOTIFY_ADD };
/* Sets a peer's signal, or adds to it, modulo 2^32.  Does not wait. */
PTO_API PTO_MUST_CHECK int pto_core_notify(const struct pto_kernel_args *args, uint64_t comm, uint32_t peer,
                                           uint32_t signal, enum pto_notify notify, int32_t value);
/* Whether a signal of this rank is now at least `value` (PTO_IF_GE), or equal to it (PTO_IF_EQ).  One that holds orders
 * memory as a wait for that does.  A kernel may test in a loop: where it does nothing else, and nothing has happened
 * since it asked the same, the call first waits until something has, as pto_core_yield does. */
PTO_API PTO_MUST_CHECK int pto_core_test_signal(const struct pto_kernel_args *args, uint64_t comm, uint32_t signal,
                                                enum pto_compare compare, int32_t value, bool *holds);
/* Waits until a signal of this rank is at least `value` (PTO_IF_GE), or equal to it (PTO_IF_EQ).  Tasks of groups
 * alone; who notifies may be any task (pto/world.h). */
PTO_API PTO_MUST_CHECK int pto_core_wait_signal(const struct pto_kernel_args *args, uint64_t comm, uint32_t signal,
                                                enum pto_compare compare, int32_t value);

#ifdef __cplusplus
}
#endif
#endif
