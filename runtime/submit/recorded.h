/* SPDX-License-Identifier: MIT */
/*
 * Recorded tasks (include/pto/recorded.h): what a recording keeps, for recorded.c, which makes it, and launch.c, which
 * submits it.
 *
 * While one is being made, a submit is checked as any, and then kept instead of entered: temporaries have addresses
 * that are none, so that regions of theirs can be compared; what a task comes after is found by comparing its accesses
 * with those that are kept, by the rules of the run; what a write replaces in the map, it replaces there.
 *
 * A launch is submits through the same function as any orchestration's: a task without kernels that has the boundary's
 * dependencies and all temporaries in one piece; the recorded tasks, behind it and each other by explicit dependencies;
 * and, in the enclosing scope, a task without kernels that enters the boundary's accesses.
 *
 * Always true of one that has ended: what launches point to lies in its own arrays, so a launch changes buffers,
 * offsets and handles in place, and allocates nothing.  Control thread only.
 */
#ifndef PTO_RUNTIME_SUBMIT_RECORDED_H
#define PTO_RUNTIME_SUBMIT_RECORDED_H

#include <pto/recorded.h>
#include <runtime/submit/params.h>

#define PTO_RECORDED_TEMPORARY UINT32_MAX

struct pto_recorded_task {
  struct pto_submit_request request;
  struct pto_launch launch;
  uint32_t first_param, first_tensor, first_after, first_scalar, scalar_count;
  uint32_t last_consumer; /* 1 more than its number; 0: nothing comes after it */
};

/* Which memory a tensor means. */
struct pto_recorded_place {
  uint32_t source;       /* of the boundary; PTO_RECORDED_TEMPORARY */
  uint64_t offset_bytes; /* from the first byte of that tensor, or of the temporaries */
};

/* Made while it is recorded alone. */
struct pto_recorded_access {
  struct pto_region region;
  uint64_t base; /* address of the buffer's first byte */
  uint32_t task;
  uint16_t tag;
};
struct pto_recorded_initial {
  uint64_t offset_bytes, size_bytes; /* of a temporary */
  uint64_t bits;
  uint32_t dtype;
};

/* Arrays that grow together. */
enum {
  PTO_RECORDED_ARRAY_TASKS,    /* struct pto_recorded_task */
  PTO_RECORDED_ARRAY_PARAMS,   /* struct pto_param; of tensors: a pointer to their own */
  PTO_RECORDED_ARRAY_TENSORS,  /* struct pto_tensor; a predicate's too */
  PTO_RECORDED_ARRAY_PLACES,   /* struct pto_recorded_place, one a tensor */
  PTO_RECORDED_ARRAY_BEFORE,   /* uint32_t: 0 the begin of a launch, else 1 more than a task's number */
  PTO_RECORDED_ARRAY_SCALARS,  /* struct pto_recorded_kept_scalar */
  PTO_RECORDED_ARRAY_INITIALS, /* struct pto_recorded_initial */
  PTO_RECORDED_ARRAY_ACCESSES, /* struct pto_recorded_access, until its end */
  PTO_RECORDED_ARRAY_COUNT
};
struct pto_recorded_list {
  void *items;
  uint64_t count, capacity;
};
struct pto_recorded_kept_scalar {
  uint32_t param;
  union pto_scalar value; /* as it was recorded */
};

/* A boundary argument, and what a launch makes of it. */
struct pto_recorded_boundary {
  uint32_t mode;
  uint32_t align_bytes; /* what the tensors in it need */
  struct pto_tensor like;
  uint64_t offset_bytes;
};

struct pto_recorded {
  uint64_t generation; /* of the handles that its submits give */
  uint32_t rt_tag;     /* of the runtime */
  uint32_t boundary_count;
  uint32_t first_last; /* in BEFORE, to its end: the tasks that nothing comes after */
  struct pto_recorded_boundary boundary[PTO_MAX_TENSORS - 1];
  struct pto_recorded_list lists[PTO_RECORDED_ARRAY_COUNT];
  uint64_t temporary_bytes;
  struct pto_task *handles; /* of BEFORE, in the last launch */
};

/* A submit that is ready for its slot, kept instead; what it holds is given back. */
PTO_COLD int pto_recorded_keep(struct pto_runtime *rt, struct pto_submit_work *submit,
                               const struct pto_submit_request *request, struct pto_task *task_out);
/* At the end of a run: one that has not ended is dropped, and fails the run. */
void pto_recorded_abandon(struct pto_runtime *rt);

#endif
