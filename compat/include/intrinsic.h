/* SPDX-License-Identifier: MIT */
/*
 * What a kernel is told of its place: which block of its task it is, and which of the two AIVs of a cluster.
 *
 * The last two of the 50 arguments point to both contexts, whose layout is that of compat/adapter/compat.h.
 * Asynchronous completion is not offered: the context is empty.  The workspaces of DMA engines are what the caller
 * gives: `ptosim adopt` some memory that nothing uses, others null.
 */
#ifndef PTO_COMPAT_INTRINSIC_H
#define PTO_COMPAT_INTRINSIC_H

#include <stdint.h>

#include "common/dma_workspace.h"
#include "pto_task_id.h"

#ifndef __gm__
#define __gm__
#endif
#ifndef __aicore__
#define __aicore__
#endif

static constexpr int32_t PTO2_EXT_PARAMS_COUNT = 2;
static constexpr int32_t SPMD_LOCAL_CONTEXT_INDEX = 48;
static constexpr int32_t SPMD_GLOBAL_CONTEXT_INDEX = 49;
static constexpr int32_t PAYLOAD_LOCAL_CONTEXT_INDEX = SPMD_LOCAL_CONTEXT_INDEX;
static constexpr int32_t PAYLOAD_GLOBAL_CONTEXT_INDEX = SPMD_GLOBAL_CONTEXT_INDEX;

struct GlobalContext {
  int32_t sub_block_id; /* 1 on AIV1 of a MIX task, else 0 */
  uint64_t dma_workspace[DMA_WORKSPACE_KIND_COUNT];
};

struct DeferredCompletionEntry;
struct AsyncCtx {
  __gm__ uint32_t *completion_count;
  __gm__ int32_t *completion_error_code;
  __gm__ DeferredCompletionEntry *completion_entries;
  uint32_t completion_capacity;
  PTO2TaskId task_token;
};

/* On a5 the compiler for the hardware has the plain names to itself. */
#if PTO_COMPAT_ARCHITECTURE == 2
#define PTO_COMPAT_LOCAL(name) s_##name
#else
#define PTO_COMPAT_LOCAL(name) name
#endif
struct LocalContext {
  int32_t PTO_COMPAT_LOCAL(block_idx), PTO_COMPAT_LOCAL(block_num);
  AsyncCtx async_ctx;
};
static_assert(sizeof(GlobalContext) == 24 && sizeof(LocalContext) == 48, "as the caller has them");

static __aicore__ inline __gm__ GlobalContext *pto_compat_global(__gm__ int64_t *args) {
  return reinterpret_cast<__gm__ GlobalContext *>(static_cast<uint64_t>(args[SPMD_GLOBAL_CONTEXT_INDEX]));
}
static __aicore__ inline __gm__ LocalContext *pto_compat_local(__gm__ int64_t *args) {
  return reinterpret_cast<__gm__ LocalContext *>(static_cast<uint64_t>(args[SPMD_LOCAL_CONTEXT_INDEX]));
}

static __aicore__ inline int32_t get_sub_block_id(__gm__ int64_t *args) {
  return pto_compat_global(args)->sub_block_id;
}
static __aicore__ inline int32_t get_block_idx(__gm__ int64_t *args) {
  return pto_compat_local(args)->PTO_COMPAT_LOCAL(block_idx);
}
static __aicore__ inline int32_t get_block_num(__gm__ int64_t *args) {
  return pto_compat_local(args)->PTO_COMPAT_LOCAL(block_num);
}
/* Null where there is no such engine. */
static __aicore__ inline __gm__ uint8_t *get_dma_workspace(__gm__ int64_t *args, int kind) {
  if (kind < 0 || kind >= DMA_WORKSPACE_KIND_COUNT) return nullptr;
  return reinterpret_cast<__gm__ uint8_t *>(pto_compat_global(args)->dma_workspace[kind]);
}

#endif
