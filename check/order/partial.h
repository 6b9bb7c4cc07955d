/* SPDX-License-Identifier: MIT */
/*
 * Device tensors that the host reads and tasks write in part: what no task writes of them is as they were made, zeros.
 *
 * Only those that nothing else gives values: the host never writes them, and no task reads or holds a byte of them, as
 * tasks do of a state that begins as zeros.  By what tasks declare, in the whole run.
 *
 * Owns nothing after the call.  One thread.
 */
#ifndef PTO_CHECK_ORDER_PARTIAL_H
#define PTO_CHECK_ORDER_PARTIAL_H

#include <check/order/access_graph.h>

/* Tensors that are looked at, and bytes of one; others are left out. */
#define PTO_PARTIAL_TENSORS 256u
#define PTO_PARTIAL_BYTES (UINT64_C(1) << 26)

/* Calls `tell` for each, with its first read by the host and the first range [lo, hi) of addresses that no task writes.
 * PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_partial_find(const struct pto_access_graph *graph,
                                    void (*tell)(void *context, uint32_t access, uint64_t lo, uint64_t hi),
                                    void *context);

#endif
