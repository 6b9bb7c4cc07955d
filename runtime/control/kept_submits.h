/* SPDX-License-Identifier: MIT */
/*
 * Kept submits: what one orchestration asked of the runtime, kept so that it can be asked again without calling it.
 *
 * Owns copies of every submit, buffer and scope between begin and end, in their order: descriptors, scalars, launches,
 * explicit dependencies.  Of a run it keeps nothing: a tensor names its buffer by place (the given tensors first, then
 * those that the orchestration created), a task by how many submits to its ring later than the beginning it came.  So
 * the same calls mean the same in another run, with other given tensors of the same descriptions.
 *
 * Always true: to repeat them makes, call by call, the submits that were kept, through the same functions as any
 * orchestration's; there is no second way into the runtime.  Refused calls are not kept, as they changed nothing.
 *
 * What cannot be kept makes them *unusable*: elements read or written, addresses asked for, tensors of host
 * memory and of other buffers and tasks from outside, more than PTO_KEPT_SUBMITS_BYTES, no memory.
 *
 * Control thread only.  While nothing is being kept a submit asks one flag, which it asks for the record of the graph
 * too (pto_runtime.is_noted).
 */
#ifndef PTO_KEPT_SUBMITS_H
#define PTO_KEPT_SUBMITS_H

#include <pto/runtime.h>

/* What the submits of one orchestration may take: some 60 000 tasks of four tensors. */
#define PTO_KEPT_SUBMITS_BYTES (UINT64_C(64) << 20)

struct pto_kept_submits;

/* ---- for whoever keeps them ---- */

/* Everything that the runtime is asked for from now on belongs to new kept submits.  `given` are the tensors that the
 * orchestration is about to get, all made in the current scope.  NULL where there is no memory; then nothing is kept.
 */
struct pto_kept_submits *pto_kept_submits_begin(struct pto_runtime *rt, const struct pto_tensor *given,
                                                uint32_t given_count);
/* The end of what belongs to them.  Whether they can be repeated; else they are good for destroying alone.  Takes NULL.
 */
bool pto_kept_submits_end(struct pto_runtime *rt, struct pto_kept_submits *submits);
/* Submits all of them, at the same depth of scopes; `given` as in the call to begin, but for their buffers.  PTO_OK, or
 * what the first call that is refused returns. */
PTO_MUST_CHECK int pto_kept_submits_repeat(struct pto_runtime *rt, struct pto_kept_submits *submits,
                                           const struct pto_tensor *given, uint32_t given_count);
/* Memory that they take. */
uint64_t pto_kept_submits_bytes(const struct pto_kept_submits *submits);
/* Takes NULL too. */
void pto_kept_submits_destroy(struct pto_kept_submits *submits);

/* ---- for the calls of the runtime, each once it has succeeded ---- */

/* Which of the calls that submit. */
enum pto_submit_call { PTO_CALL_SUBMIT, PTO_CALL_AIC, PTO_CALL_AIV, PTO_CALL_BARRIER, PTO_CALL_ALLOC };

struct pto_noted_submit {
  enum pto_submit_call which;
  const void *call; /* where the orchestration made it */
  const struct pto_launch *launch;
  const struct pto_param *params;   /* NULL: tensors */
  const struct pto_tensor *tensors; /* of PTO_CALL_ALLOC */
  uint32_t count;                   /* of either */
};

void pto_kept_submits_add_submit(struct pto_kept_submits *submits, const struct pto_noted_submit *noted);
void pto_kept_submits_add_buffer(struct pto_kept_submits *submits, struct pto_buffer buffer);
void pto_kept_submits_add_scope_begin(struct pto_kept_submits *submits, uint32_t kind);
void pto_kept_submits_add_scope_end(struct pto_kept_submits *submits);
/* Something has been asked for that cannot be kept. */
void pto_kept_submits_spoil(struct pto_kept_submits *submits);

#endif
