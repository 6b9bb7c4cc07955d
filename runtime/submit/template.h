/* SPDX-License-Identifier: MIT */
/*
 * Templates: a *template* is what a submit of one kernel had to say but for the offsets, buffers and versions of its
 * tensors and the values of its scalars.  Orchestrations submit the same kernel on tile after tile, so most submits
 * have the template of the last one of their kernel; what depends on it alone (dtypes and ranks against the kernel's
 * list, sizes, canonical regions, geometry hashes, payloads filled in but for addresses and scalars) is then known.
 *
 * A shortcut in front of pto_params_prepare (bench_instructions: some 700 of 1 900 instructions a task, in the mean of
 * the six patterns).  A template is made of a submit that pto_params_prepare has accepted, and what matches it,
 * pto_params_prepare would accept with the same outcome: every check that depends on more than the template is made
 * again.  Whatever does not match, refusals included, is left to that.
 *
 * Owned by the runtime, one for each of PTO_TEMPLATES hashes of kernels, and one more, which is only written, for tasks
 * that have none.  Always true: a template with a kernel has in its work the counts, flags, modes, and accesses but for
 * their places.  Control thread only.
 */
#ifndef PTO_RUNTIME_SUBMIT_TEMPLATE_H
#define PTO_RUNTIME_SUBMIT_TEMPLATE_H

#include <string.h>

#include <runtime/submit/params.h>

#define PTO_TEMPLATES PTO_PAYLOAD_TEMPLATES

/* What a tensor must be again, and what follows from it. */
struct pto_template_tensor {
  struct pto_tensor
      like;            /* the last one; all of it but the offset, the buffer and the version belongs to the template */
  uint32_t shift;      /* log2 of the bytes of an element */
  uint64_t span_bytes; /* from the first byte to the last, both counted */
  /* of the buffer of `like`, while the template's buffer_changes are the registry's */
  bool is_held;         /* managed: its memory has to be held */
  uint64_t addr;        /* of its first byte */
  uint64_t last_offset; /* up to which the tensor lies within it */
};

/* The first two fields of a pto_param. */
struct pto_template_param {
  uint32_t mode, scalar_type;
};
_Static_assert(offsetof(struct pto_param, scalar_type) == offsetof(struct pto_template_param, scalar_type) &&
                   offsetof(struct pto_param, value) == sizeof(struct pto_template_param),
               "both are compared at once");

/* Two tensors that may not share a byte, and lie where they could. */
struct pto_template_pair {
  uint8_t first, second;
};

struct pto_template {
  struct pto_submit_work work; /* first: a submit's work is that of its template */
  struct pto_launch launch;    /* its one kernel alone; none: nothing is remembered */
  uint32_t param_count;
  uint32_t id;
  uint64_t buffer_changes; /* of the registry, when what is known of buffers was found out */
  uint32_t pair_count;
  struct pto_template_pair pairs[PTO_MAX_TENSORS * (PTO_MAX_TENSORS - 1) / 2];
  struct pto_template_param params[PTO_MAX_PARAMS];
  struct pto_template_tensor tensors[PTO_MAX_TENSORS];
};

/* At the begin of a run: kernels of the last one may be gone. */
void pto_templates_forget(struct pto_runtime *rt);

/* ---- the steps of pto_template_prepare that not every submit takes ---- */

/* For a tensor that differs from the last one, or where the registry has changed: whether it has that one's type, and
 * may be used with its buffer, which has memory; what is known of that buffer is then so. */
bool pto_template_know_buffer(const struct pto_runtime *rt, struct pto_template *template, size_t index,
                              const struct pto_tensor *t);
/* A payload with all that the template says; NULL where the pool has none. */
struct pto_payload *pto_template_make_payload(struct pto_runtime *rt, const struct pto_template *template);
/* For a submit that does not match. */
int pto_template_prepare_anew(struct pto_runtime *rt, struct pto_template *template,
                              const struct pto_submit_request *request);

/* ---- matching ---- */

/* Whether the tensor differs from the last one in more than the offset. */
static PTO_INLINE bool pto_template_differs(const struct pto_tensor *t, const struct pto_tensor *like) {
  if (t->buffer.id != like->buffer.id || t->buffer.generation != like->buffer.generation ||
      t->buffer.base != like->buffer.base || t->buffer.size_bytes != like->buffer.size_bytes ||
      t->ndims != like->ndims || t->dtype != like->dtype || t->version != like->version ||
      t->overlap != like->overlap || t->status)
    return true;
  for (uint32_t i = 0; i < like->ndims; i++)
    if (t->shape[i] != like->shape[i] || t->strides[i] != like->strides[i]) return true;
  return false;
}

/* Whether the parameters are the template's; fills in payload and accesses. */
static PTO_INLINE bool pto_template_match_params(const struct pto_runtime *rt, struct pto_template *template,
                                                 struct pto_payload *payload, const struct pto_param *param) {
  const bool has_old_buffers = template->buffer_changes != rt->buffers.changes;
  union pto_scalar *scalar = pto_payload_scalars(payload);
  const struct pto_param *const end = param + template->param_count;
  const struct pto_template_param *expected = template->params;
  struct pto_template_tensor *known = template->tensors;
  struct pto_access *access = template->work.accesses;
  for (struct pto_kernel_tensor *out = payload->tensors; param < end; param++) {
    if (PTO_UNLIKELY(memcmp(param, expected++, sizeof *expected) != 0)) return false;
    if (param->mode == PTO_SCALAR) {
      *scalar++ = param->value.scalar;
      continue;
    }
    const struct pto_tensor *t = param->value.tensor;
    if (PTO_UNLIKELY(!t)) return false;
    if (PTO_UNLIKELY(has_old_buffers || pto_template_differs(t, &known->like)) &&
        !pto_template_know_buffer(rt, template, (size_t)(known - template->tensors), t))
      return false;
    const uint64_t start = known->addr + (t->start_offset << known->shift);
    if (PTO_UNLIKELY(t->start_offset > known->last_offset)) return false;
    access->region.start = start;
    access->region.end = start + known->span_bytes;
    out++->addr = (void *)(uintptr_t)start;
    known++;
    access++;
  }
  template->buffer_changes = rt->buffers.changes;
  return true;
}

/* Whether no two accesses share a byte of which one is written. */
static inline bool pto_template_is_apart(const struct pto_template *template) {
  const struct pto_access *accesses = template->work.accesses;
  for (const struct pto_template_pair *pair = template->pairs, *end = pair + template->pair_count; pair < end; pair++)
    if (PTO_UNLIKELY(pto_region_ranges_overlap(&accesses[pair->first].region, &accesses[pair->second].region)))
      return false;
  return true;
}

/* False leaves nothing behind. */
static PTO_INLINE bool pto_template_match(struct pto_runtime *rt, struct pto_template *template,
                                          const struct pto_submit_request *request) {
  const struct pto_launch *launch = request->launch;
  if (launch->aic != template->launch.aic || launch->aiv0 != template->launch.aiv0 ||
      request->count != template->param_count || !request->params)
    return false;
  struct pto_payload *payload = pto_payload_pool_take(&rt->payloads, template->id);
  if (PTO_UNLIKELY(!payload)) payload = pto_template_make_payload(rt, template);
  if (PTO_UNLIKELY(!payload)) return false;
  if (PTO_UNLIKELY(!pto_template_match_params(rt, template, payload, request->params) ||
                   !pto_template_is_apart(template))) {
    pto_payload_pool_free(&rt->payloads, payload);
    return false;
  }
  payload->held_count_and_guard = 0;
  template->work.payload = payload;
  return true;
}

/* Where the template of a launch is, if it has one. */
static inline struct pto_template *pto_template_of(const struct pto_runtime *rt,
                                                   const struct pto_submit_request *request) {
  const struct pto_launch *launch = request->launch;
  const uint64_t kernel = (uint64_t)(uintptr_t)(launch->aic ? launch->aic : launch->aiv0);
  if (PTO_UNLIKELY(!request->is_single)) return &rt->templates[PTO_TEMPLATES];
  return &rt->templates[kernel * UINT64_C(0x9e3779b97f4a7c15) >> 59];
}
_Static_assert(PTO_TEMPLATES == 1u << (64 - 59) && PTO_TEMPLATES <= 32, "the hash is an index, and one of a bit");

/* What the submit asks for, checked and ready for its slot, in the work of its template, until the next submit; a
 * refusal leaves nothing behind. */
static PTO_INLINE int pto_template_prepare(struct pto_runtime *rt, struct pto_template *template,
                                           const struct pto_submit_request *request) {
  if (PTO_UNLIKELY(!request->is_single || !pto_template_match(rt, template, request)))
    return pto_template_prepare_anew(rt, template, request);
  return PTO_UNLIKELY(template->work.queries) ? pto_params_query_kernels(rt, &template->work, request->launch) : PTO_OK;
}

#endif
