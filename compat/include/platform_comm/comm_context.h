/* SPDX-License-Identifier: MIT */
/* What kernels that talk to other chips are given: who they are, and where the windows of all ranks lie. */
#ifndef PTO_COMPAT_COMM_CONTEXT_H
#define PTO_COMPAT_COMM_CONTEXT_H

#include <cstddef>
#include <cstdint>

static constexpr std::uint32_t COMM_MAX_RANK_NUM = 64;

struct CommContext {
  std::uint64_t workSpace, workSpaceSize;
  std::uint32_t rankId, rankNum;
  std::uint64_t winSize;
  std::uint64_t windowsIn[COMM_MAX_RANK_NUM];
  std::uint64_t windowsOut[COMM_MAX_RANK_NUM];
};
static_assert(sizeof(CommContext) == 1056 && offsetof(CommContext, windowsOut) == 544, "as pto-isa has it");

#endif
