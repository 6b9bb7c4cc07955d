/* SPDX-License-Identifier: MIT */
/*
 * Recorded tasks: a graph of tasks that is recorded once, and launched again and again as one task of the run.
 *
 *   pto_recorded_begin(rt, boundary, count)      what is submitted from here on goes to the recording and does not run
 *     pto_submit(…), pto_create_buffer, scopes
 *   pto_recorded_end(rt, &recorded)
 *   pto_submit_recorded(rt, recorded, &launch, &task)     once or more, in this run or in a later one of `rt`
 *   pto_recorded_destroy(recorded)
 *
 * A task in between may use the *boundary*, tensors that each launch gives anew, and *temporaries*, buffers that are
 * created in between and have other memory in each launch.  Of the boundary it may use any part, as any view.
 *
 * Always true: a launch counts for what comes before and after it as one task with the boundary as its parameters.  It
 * begins when all that this task would come after is done, and is done when all of its tasks are.  The order of its own
 * tasks is found once, by the rules of the runtime, as in an automatic scope (manual scopes in between are heeded): at
 * a launch nothing is looked up for them.  So it gives the bytes that the same submits would give.
 *
 * In the run a launch is one task more than it has recorded at its begin, and one at its end, both without kernels.
 * All but the last live in a scope of their own, so the enclosing scope holds one.  What is frozen: kernels, blocks,
 * predicates' values, scalars but for those that a launch patches.  Each boundary tensor of a launch has the mode,
 * dtype, shape, strides and overlap mode of the recording's.
 *
 * Ownership: the caller's, until destroy, before or after the runtime's; kernels must outlive it.  Threads: as
 * runtime.h, the control thread within a run.  Recording allocates memory, a launch does not.
 */
#ifndef PTO_RECORDED_H
#define PTO_RECORDED_H

#include <pto/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_recorded;

/* What a scalar is in one launch; in the next it is the recorded one again. */
struct pto_recorded_scalar {
  uint32_t task;   /* of the recording, counted from 0 */
  uint32_t scalar; /* among the scalars of that task, counted from 0 */
  union pto_scalar value;
};

struct pto_recorded_launch {
  size_t size;
  const struct pto_param *params; /* the boundary */
  uint32_t count;
  uint32_t scalar_count;
  const struct pto_recorded_scalar *scalars;
  const struct pto_task *after; /* explicit dependencies */
  uint32_t after_count;
};

/* Begins a recording with this boundary: tensors with memory, at most PTO_MAX_TENSORS - 1.  A task may write what its
 * mode here writes, or what is held.  PTO_OK, or a refusal: PTO_EINVAL (within a recording too), PTO_ESTALE,
 * PTO_ENOMEM.
 *
 * Until its end a submit that is not possible in a recording is refused with PTO_EINVAL: a tensor that lies in no
 * boundary argument, an explicit dependency on a task from before, an output that names the next version.  So are
 * elements read or written, polls and launches.  A task's handle is for dependencies in the recording; an address of a
 * temporary means nothing. */
PTO_API PTO_MUST_CHECK int pto_recorded_begin(struct pto_runtime *rt, const struct pto_param *boundary, uint32_t count);
/* Gives the recording to the caller.  PTO_EINVAL while a scope of it is open; PTO_EFIT, and there is none, where its
 * tasks do not fit into the window; the run's error, where that has failed. */
PTO_API PTO_MUST_CHECK int pto_recorded_end(struct pto_runtime *rt, struct pto_recorded **recorded_out);
/* NULL is allowed. */
PTO_API void pto_recorded_destroy(struct pto_recorded *recorded);

/* Submits all of it.  The statuses of pto_submit; nothing has been submitted where it is refused.  A kernel that
 * refuses what a patched scalar makes of its task ends the run.  *task_out stands for all of it. */
PTO_API PTO_MUST_CHECK int pto_submit_recorded(struct pto_runtime *rt, struct pto_recorded *recorded,
                                               const struct pto_recorded_launch *launch, struct pto_task *task_out);

#ifdef __cplusplus
}
#endif
#endif
