/* SPDX-License-Identifier: MIT */
/*
 * A call list: the calls of one orchestration to the runtime, to be made again without it.
 *
 * Owns copies of every submit, buffer and scope between begin and end, in their order: descriptors, scalars, launches,
 * explicit dependencies.  Of a run it keeps nothing: a tensor names its buffer by place (the given tensors first, then
 * those that the orchestration created), a task by how many submits to its ring later than the beginning it came.  So
 * the same calls mean the same in another run, with other given tensors of the same descriptions.
 *
 * Always true: a call list listens, and changes nothing that is done; to replay it (runtime/submit/replay.h) makes the
 * submits that it has through the same function as any orchestration's.  Refused calls are not in it, as they changed
 * nothing.
 *
 * What cannot be made again makes it *unusable*: elements read or written, addresses got, tensors of host memory
 * and of other buffers and tasks from outside, more than PTO_CALL_LIST_BYTES, no memory.
 *
 * It is no recorded graph (include/pto/recorded.h), which is one task for the rest of the run, and has edges of its
 * own.  A graph has to fit the window and has at most 31 tensors from outside; its temporaries are held from its begin
 * to its end, and it costs more than the submits where tasks work in place (bench/bench_recorded.c).  A program of a
 * context has none of these limits, and the next program may begin while it runs.
 *
 * Control thread only.
 */
#ifndef PTO_CALL_LIST_H
#define PTO_CALL_LIST_H

#include <pto/runtime.h>

/* What the calls of one orchestration may take: some 60 000 tasks of four tensors. */
#define PTO_CALL_LIST_BYTES (UINT64_C(64) << 20)

struct pto_call_list;
struct pto_submit_request;

/* ---- for the code that records ---- */

/* All calls from now on belong to a new list.  `given` are the tensors that the
 * orchestration is about to get, all made in the current scope.  NULL where there is no memory; then nothing is
 * recorded. */
struct pto_call_list *pto_call_list_begin(struct pto_runtime *rt, const struct pto_tensor *given, uint32_t given_count);
/* The end of what belongs to it.  Whether it can be replayed; else it can only be destroyed.  NULL is allowed. */
bool pto_call_list_end(struct pto_runtime *rt, struct pto_call_list *list);
/* Memory that it takes. */
uint64_t pto_call_list_bytes(const struct pto_call_list *list);
/* NULL is allowed. */
void pto_call_list_destroy(struct pto_call_list *list);

/* ---- for the calls of the runtime, each once it has succeeded ---- */

void pto_call_list_add_submit(struct pto_call_list *list, const struct pto_submit_request *request);
void pto_call_list_add_buffer(struct pto_call_list *list, struct pto_buffer buffer);
void pto_call_list_add_scope_begin(struct pto_call_list *list, uint32_t kind);
void pto_call_list_add_scope_end(struct pto_call_list *list);
/* A call cannot be recorded. */
void pto_call_list_spoil(struct pto_call_list *list);

/* ---- for the replay ---- */

enum pto_listed_kind { PTO_LISTED_SUBMIT, PTO_LISTED_BUFFER, PTO_LISTED_SCOPE_BEGIN, PTO_LISTED_SCOPE_END };

struct pto_listed_step {
  uint8_t kind;      /* enum pto_listed_kind */
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
struct pto_listed_array {
  void *items;
  uint64_t item_bytes, count, capacity;
};

enum {
  PTO_LISTED_STEPS,          /* struct pto_listed_step */
  PTO_LISTED_PARAMS,         /* struct pto_param; a tensor's number until the end, then a pointer into the tensors */
  PTO_LISTED_TENSORS,        /* struct pto_tensor; the buffers are those of the last submit */
  PTO_LISTED_BUFFER_INDICES, /* uint32_t, of each tensor: which of the buffers is its own */
  PTO_LISTED_AFTER,          /* struct pto_task: ring, and submits since the beginning */
  PTO_LISTED_BUFFERS,        /* struct pto_buffer: the given ones, then those that were created */
  PTO_LISTED_INITIALS,       /* struct pto_initial */
  PTO_LISTED_ARRAYS
};

#define PTO_LISTED_RING_SHIFT 62u
#define PTO_LISTED_SEQUENCE_MASK (UINT64_MAX >> 2)

struct pto_call_list {
  bool is_unusable;
  uint32_t given_count, scope_depth, most_after;
  uint64_t heads[4]; /* of the rings at the beginning: of the recording, then of each replay */
  struct pto_listed_array arrays[PTO_LISTED_ARRAYS];
  struct pto_task *tasks; /* most_after of them, for a submit */
};

#endif
