/* SPDX-License-Identifier: MIT */
/*
 * What of a kernel call's bytes the L2 cache by use (l2_cache.h) has, and what it makes move beside them.
 *
 * A call uses the ranges of its tensors, in their order, each for its mode and from its first to its last byte; block i
 * of n the i-th of n equal parts of each.  A range that has gaps counts for the bytes of its elements: of what is
 * missed that part.  A range that is larger than the cache goes past it.  Where the tensors have more bytes than the
 * call's cost says, so much of the cost is missed as of the tensors; where they have less, the rest is read again and
 * is there.  A call without bytes uses nothing.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_L2_SHARE_H
#define PTO_SIM_VIRTUAL_L2_SHARE_H

#include <sim/chips/timing.h>
#include <sim/virtual/l2_cache.h>

struct pto_l2_share {
  uint64_t bytes;        /* of the call */
  uint64_t missed;       /* of these, between cache and global memory */
  uint64_t written_back; /* what went so that they have room */
};

struct pto_l2_share pto_l2_share(struct pto_l2_cache *cache, const struct pto_kernel *kernel,
                                 const struct pto_kernel_args *args, uint64_t bytes);

#endif
