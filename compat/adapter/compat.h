/* SPDX-License-Identifier: MIT */
/*
 * Runs an orchestration that was written in C++ for the existing runtime, over include/pto.
 *
 * An orchestration is a shared object: compat/entry.cpp compiled with one source against compat/include.  A binding
 * says what stands behind its func_ids and its arguments.  Both are made of strings and memory of the caller's.
 *
 *   pto_compat_create(orchestration, binding)
 *     pto_run(rt, → pto_compat_orchestrate(compat, rt))      once or more, on a runtime at a time
 *   pto_compat_destroy                                       after the runtime, and whatever was recorded of the run
 *
 * The adapter adds no edges of its own: what orders tasks is what include/pto says.  The kernels of a task get pointers
 * to descriptors, so these live until the next orchestrate or the destroy.
 *
 * Owns its copy of what the binding says, tasks' records, and the struct pto_kernel of each use of a func_id. Borrowed:
 * the orchestration, and names, memory and contexts of the binding.
 *
 * Threads: the one that calls pto_run; kernels are called on the cores of the engine.  Which run a C++ call is of is
 * known by the thread that it is made on, since those calls name no runtime.
 */
#ifndef PTO_COMPAT_H
#define PTO_COMPAT_H

#include <compat/include/pto_compat/calls.h>
#include <pto/runtime.h>
#include <runtime/base/error.h>

struct pto_compat;

/* ---- kernels ---- */

#define PTO_COMPAT_ARGS 50           /* what a kernel's argument list has */
#define PTO_COMPAT_LOCAL_CONTEXT 48  /* index of a pointer to struct pto_compat_local_context */
#define PTO_COMPAT_GLOBAL_CONTEXT 49 /* of struct pto_compat_global_context */

/* As kernels read them.  The rest is zero: no asynchronous completion, no workspace of a DMA engine. */
struct pto_compat_local_context {
  int32_t block_index, block_count;
  uint64_t async_context[5];
};
struct pto_compat_global_context {
  int32_t sub_block; /* 1 on AIV1, else 0 */
  uint64_t dma_workspace[2];
};

typedef void pto_compat_entry(int64_t *args);

/* One call of a kernel on a core.  All of it lasts for the call. */
struct pto_compat_call {
  const struct pto_compat_kernel *kernel;
  /* Pointers to struct pto_compat_tensor, copies for this call; then scalars; both contexts, which may be changed. */
  int64_t *args;
  struct pto_compat_local_context *local;
  struct pto_compat_global_context *global;
  const struct pto_kernel_args *core_args; /* .core: role, block, port; for pto_kernel_error and core.h */
  uint64_t task;  /* of the run, in order of submission: with the block, whose pipes these are */
  uint32_t roles; /* set of PTO_ROLE_BIT: the task's kernels */
};

/* What stands behind a func_id on a kind of core. */
struct pto_compat_kernel {
  int32_t func_id;
  uint32_t core;           /* PTO_AIC or PTO_AIV */
  uint32_t flags;          /* enum pto_kernel_flags: PTO_KERNEL_WAITS where it waits for other cores */
  const char *name;        /* for reports; NULL: "func 3" */
  pto_compat_entry *entry; /* NULL: nothing runs, and the task costs what it costs */
  /* NULL, or called instead of the entry, which it then calls with call->args.  0, or as pto_kernel_error. */
  int (*call)(void *context, const struct pto_compat_call *call);
  void *context;
  struct pto_cost (*cost)(const struct pto_kernel_args *args); /* as in struct pto_kernel */
};

/* ---- arguments ---- */

/* A tensor in memory of the caller's, dense; or a scalar of 64 bits.  Tensors stand before scalars. */
struct pto_compat_argument {
  bool is_scalar;
  uint64_t scalar;
  void *data;     /* aligned for the dtype; lasts until the run ends */
  uint32_t dtype; /* their code */
  uint32_t ndims;
  uint32_t shape[PTO_COMPAT_DIMS];
};

/* Ours for their code, or -1; the 8-bit and 4-bit floats are PTO_UINT8.  And back; -1 where they have none. */
int pto_compat_dtype(uint32_t code);
int pto_compat_dtype_code(uint32_t dtype);
/* "FLOAT32" → 0, or -1. */
int pto_compat_dtype_find(const char *name);

/* ---- a binding ---- */

struct pto_compat_binding {
  const struct pto_compat_kernel *kernels; /* a func_id may stand once for each kind of core */
  uint32_t kernel_count;
  const struct pto_compat_argument *arguments;
  uint32_t argument_count;
  uint64_t window; /* of the configuration that the runtime is made of: older dependencies have ended; 0: its default */
  /* What the orchestration logs, a line a call, and warnings of the adapter's own; NULL: dropped. */
  void (*log)(void *context, uint32_t level, const struct pto_compat_place *place, const char *text);
  void *log_context;
};

/* PTO_OK, or with the sentence in `error`: PTO_EINVAL (an orchestration of another abi, arguments that do not match, a
 * func_id that stands twice), PTO_ENOMEM. */
PTO_MUST_CHECK int pto_compat_create(const struct pto_compat_orchestration *orchestration,
                                     const struct pto_compat_binding *binding, struct pto_compat **compat_out,
                                     struct pto_error *error);
/* NULL is allowed. */
void pto_compat_destroy(struct pto_compat *compat);

/* The whole of an orchestration, within a run of `rt`: PTO_OK, or the status to return.  A mistake of it ends the run
 * with PTO_EUSER, and the sentence begins with the existing runtime's number: "error 5 (INVALID_ARGS): …". */
PTO_MUST_CHECK int pto_compat_orchestrate(struct pto_compat *compat, struct pto_runtime *rt);

/* The existing runtime's number for what the last run came to: of its first mistake, else for `status`, what pto_run
 * returned; 0 where that is PTO_OK. */
int32_t pto_compat_error_code(const struct pto_compat *compat, int status);

/* Their id of task `number` of the last run (in order of submission), PTO_COMPAT_NO_TASK past the end. */
uint64_t pto_compat_task_id(const struct pto_compat *compat, uint64_t number);

#endif
