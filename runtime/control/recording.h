/* SPDX-License-Identifier: MIT */
/*
 * A recording: the calls of one orchestration to the runtime, to be made again without it.
 *
 * Owns copies of every submit, buffer and scope between begin and end, in their order: descriptors, scalars, launches,
 * explicit dependencies.  Of a run it keeps nothing: a tensor names its buffer by place (the given tensors first, then
 * those that the orchestration created), a task by how many submits to its ring later than the beginning it came.  So
 * the same calls mean the same in another run, with other given tensors of the same descriptions.
 *
 * Always true: a recording listens, and changes nothing that is done; to replay it (runtime/submit/replay.h) makes the
 * submits that were recorded through the same function as any orchestration's.  Refused calls are not recorded, as they
 * changed nothing.
 *
 * What cannot be recorded makes it *unusable*: elements read or written, addresses got, tensors of host memory
 * and of other buffers and tasks from outside, more than PTO_RECORDING_BYTES, no memory.
 *
 * Control thread only.
 */
#ifndef PTO_RECORDING_H
#define PTO_RECORDING_H

#include <pto/runtime.h>

/* What the calls of one orchestration may take: some 60 000 tasks of four tensors. */
#define PTO_RECORDING_BYTES (UINT64_C(64) << 20)

struct pto_recording;
struct pto_submit_request;

/* ---- for the code that records ---- */

/* All calls from now on belong to a new recording.  `given` are the tensors that the
 * orchestration is about to get, all made in the current scope.  NULL where there is no memory; then nothing is
 * recorded. */
struct pto_recording *pto_recording_begin(struct pto_runtime *rt, const struct pto_tensor *given, uint32_t given_count);
/* The end of what belongs to it.  Whether it can be replayed; else it is good for destroying alone.  Takes NULL. */
bool pto_recording_end(struct pto_runtime *rt, struct pto_recording *recording);
/* Memory that it takes. */
uint64_t pto_recording_bytes(const struct pto_recording *recording);
/* Takes NULL too. */
void pto_recording_destroy(struct pto_recording *recording);

/* ---- for the calls of the runtime, each once it has succeeded ---- */

void pto_recording_add_submit(struct pto_recording *recording, const struct pto_submit_request *request);
void pto_recording_add_buffer(struct pto_recording *recording, struct pto_buffer buffer);
void pto_recording_add_scope_begin(struct pto_recording *recording, uint32_t kind);
void pto_recording_add_scope_end(struct pto_recording *recording);
/* A call cannot be recorded. */
void pto_recording_spoil(struct pto_recording *recording);

/* ---- for the replay ---- */

enum pto_recorded_kind { PTO_RECORDED_SUBMIT, PTO_RECORDED_BUFFER, PTO_RECORDED_SCOPE_BEGIN, PTO_RECORDED_SCOPE_END };

struct pto_recorded_step {
  uint8_t kind;      /* enum pto_recorded_kind */
  uint8_t task_kind; /* enum pto_task_kind */
  bool is_single;
  bool has_predicate;
  uint32_t scope_kind;
  const void *call;
  uint32_t param_count, tensor_count; /* the predicate's tensor, which is the last one, counted */
  uint32_t first_param, first_tensor, first_after, first_initial;
  union {
    struct pto_launch launch; /* what it points to is filled in at each submit */
    uint64_t buffer_bytes;
  };
};

/* An array that grows while calls are recorded. */
struct pto_recorded_array {
  void *items;
  uint64_t item_bytes, count, capacity;
};

enum {
  PTO_RECORDED_STEPS,          /* struct pto_recorded_step */
  PTO_RECORDED_PARAMS,         /* struct pto_param; a tensor's number until the end, then a pointer into the tensors */
  PTO_RECORDED_TENSORS,        /* struct pto_tensor; the buffers are those of the last submit */
  PTO_RECORDED_BUFFER_INDICES, /* uint32_t, of each tensor: which of the buffers is its own */
  PTO_RECORDED_AFTER,          /* struct pto_task: ring, and submits since the beginning */
  PTO_RECORDED_BUFFERS,        /* struct pto_buffer: the given ones, then those that were created */
  PTO_RECORDED_INITIALS,       /* struct pto_initial */
  PTO_RECORDED_ARRAYS
};

#define PTO_RECORDED_RING_SHIFT 62u
#define PTO_RECORDED_SEQUENCE_MASK (UINT64_MAX >> 2)

struct pto_recording {
  bool is_unusable;
  uint32_t given_count, scope_depth, most_after;
  uint64_t heads[4]; /* of the rings at the beginning: of the recording, then of each replay */
  struct pto_recorded_array arrays[PTO_RECORDED_ARRAYS];
  struct pto_task *tasks; /* most_after of them, for a submit */
};

#endif
