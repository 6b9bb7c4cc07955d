/* SPDX-License-Identifier: MIT */
/*
 * Submits that repeat: a *form* is what a submit of one kernel had to say but for the offsets, buffers and versions of
 * its tensors and the values of its scalars.  Orchestrations submit the same kernel on tile after tile, so most submits
 * have the form of the last one of their kernel; what depends on the form alone (dtypes and ranks against the kernel's
 * list, sizes, canonical regions, geometry hashes, payloads filled in but for addresses and scalars) is then known.
 *
 * A form is made of a submit that pto_params_prepare has accepted, and what is accepted here it would accept with the
 * same outcome: every check that depends on more than the form is made again.  Whatever does not match, refusals
 * included, is left to it.  Of the buffers too, which mostly are those of the last time, what was found out is kept for
 * as long as the registry says that it stays true.
 *
 * A form keeps the payload of its next task.  A task that is run within its submit is done with it when the submit
 * returns, so the next one finds it in the cache; with a task that waits it goes, and comes back through the pool.
 *
 * Always true: rt->work is the work of the form that the submit's kernel belongs to, or of the last one, which belongs
 * to no kernel; a form with a kernel has in its work the counts, flags, modes, and accesses but for their places.
 */
#ifndef PTO_SUBMIT_FORM_H
#define PTO_SUBMIT_FORM_H

#include <string.h>

#include <runtime/control/params_make.h>

/* What a tensor must be again, and what follows from it. */
struct pto_form_tensor {
  struct pto_tensor like; /* the last one; all of it but the offset, the buffer and the version belongs to the form */
  /* of the form */
  uint32_t mode;
  uint32_t shift;      /* log2 of the bytes of an element */
  uint64_t span_bytes; /* from the first byte to the last, both counted */
  /* of the buffer of `like`, while the form's buffer_changes are the registry's */
  bool is_held;         /* managed: its memory has to be held */
  uint64_t addr;        /* of its first byte */
  uint64_t last_offset; /* up to which the tensor lies within it */
};

/* Mode and scalar type of a parameter as one number, and which of its bits are looked at. */
struct pto_form_param {
  uint64_t like, mask;
};

/* Two tensors of a task that may not share a byte, and lie where they could. */
struct pto_form_pair {
  uint8_t first, second;
};

struct pto_submit_form {
  struct pto_submit_work work;
  const struct pto_kernel *kernel;            /* NULL: nothing is remembered */
  const struct pto_kernel *unrecorded_kernel; /* the same, but NULL where the graph is recorded */
  struct pto_launch launch;                   /* its kernels alone */
  enum pto_shape shape;                       /* one AIC, or one AIV */
  uint32_t param_count, misses;
  bool asks;       /* the kernel has a check, or a cost that says what local memory it needs */
  bool is_watched; /* submits have a place on a timeline, or in virtual time */
  uint32_t payload_form;
  struct pto_payload *payload; /* of the next task, taken from the pool; NULL: none */
  bool is_mixed;               /* some scalar stands before a tensor */
  bool has_old_pairs;          /* a tensor has come to another buffer since `pairs` were found */
  uint64_t buffer_changes;     /* of the registry, when what is known of buffers was found out */
  uint32_t pair_count;
  struct pto_form_pair pairs[PTO_MAX_TENSORS * (PTO_MAX_TENSORS - 1) / 2];
  struct pto_form_param params[PTO_MAX_PARAMS];
  struct pto_form_tensor tensors[PTO_MAX_TENSORS];
};

/* ---- for the short way alone ---- */

/* For a tensor that differs from the last one: whether it differs in the buffer alone, and may be used with that. */
bool pto_submit_form_is_elsewhere(const struct pto_runtime *rt, struct pto_submit_form *form, uint32_t index,
                                  const struct pto_tensor *t);
/* What follows from the buffers of all tensors: how many have to be held, and which may meet. */
void pto_submit_form_find_pairs(struct pto_submit_form *form);
/* pto_submit_form_match_params where scalars stand before tensors, or the registry has changed. */
bool pto_submit_form_match_mixed(const struct pto_runtime *rt, struct pto_submit_form *form,
                                 struct pto_payload *payload, const struct pto_param *params);
/* Gives the form, which has none, a payload with all that it says, parked or new; NULL where the pool has none. */
struct pto_payload *pto_submit_form_take_payload(struct pto_runtime *rt, struct pto_submit_form *form);

_Static_assert(offsetof(struct pto_param, scalar_type) == offsetof(struct pto_param, mode) + 4 &&
                   offsetof(struct pto_tensor, dtype) == offsetof(struct pto_tensor, ndims) + 4 &&
                   offsetof(struct pto_tensor, overlap) == offsetof(struct pto_tensor, version) + 4,
               "each pair is compared as one number");
static inline uint64_t pto_form_two_at(const void *first) {
  uint64_t both;
  memcpy(&both, first, sizeof both);
  return both;
}

/* 0 where the tensor has the type of `like`: all but offset, buffer and version. */
static inline uint64_t pto_form_type_difference(const struct pto_tensor *t, const struct pto_tensor *like) {
  const uint32_t ndims = like->ndims;
  uint64_t difference =
      (pto_form_two_at(&t->ndims) ^ pto_form_two_at(&like->ndims)) | (uint32_t)t->status | (t->overlap ^ like->overlap);
  for (uint32_t i = 0; i < ndims; i++)
    difference |= (t->shape[i] ^ like->shape[i]) | (t->strides[i] ^ like->strides[i]);
  return difference;
}

/* 0 where the two differ in nothing but the offset. */
static inline uint64_t pto_form_difference(const struct pto_tensor *t, const struct pto_tensor *like) {
  const uint64_t difference = (t->buffer.id ^ like->buffer.id) | (t->buffer.generation ^ like->buffer.generation) |
                              (t->buffer.base ^ like->buffer.base) | (t->buffer.size_bytes ^ like->buffer.size_bytes) |
                              (pto_form_two_at(&t->ndims) ^ pto_form_two_at(&like->ndims)) |
                              (pto_form_two_at(&t->version) ^ pto_form_two_at(&like->version)) | (uint32_t)t->status;
  if (PTO_LIKELY(like->ndims == 1))
    return difference | (t->shape[0] ^ like->shape[0]) | (t->strides[0] ^ like->strides[0]);
  return difference | pto_form_type_difference(t, like);
}

/* Moves the access to the tensor's offset; false where it would not lie within its buffer. */
static inline bool pto_form_move(const struct pto_form_tensor *f, uint64_t offset, struct pto_access *access) {
  const uint64_t start = f->addr + (offset << f->shift);
  access->region.start = start;
  access->region.end = start + f->span_bytes;
  return offset <= f->last_offset;
}

/* Whether no two accesses share a byte of which one is written. */
static inline bool pto_submit_form_is_apart(struct pto_submit_form *form) {
  const struct pto_access *accesses = form->work.accesses;
  if (PTO_UNLIKELY(form->has_old_pairs)) pto_submit_form_find_pairs(form);
  for (const struct pto_form_pair *pair = form->pairs, *end = pair + form->pair_count; pair < end; pair++)
    if (PTO_UNLIKELY(pto_region_ranges_meet(&accesses[pair->first].region, &accesses[pair->second].region)))
      return false;
  return true;
}

/* Whether the parameter, of the right mode, is the form's `index`-th tensor; fills in address and access.
 * `buffer_changes`: other than 0 where buffers have to be looked at again. */
static inline bool pto_submit_form_match_tensor(const struct pto_runtime *rt, struct pto_submit_form *form,
                                                size_t index, uint64_t buffer_changes, const struct pto_param *param,
                                                struct pto_kernel_tensor *out) {
  const struct pto_form_tensor *f = &form->tensors[index];
  struct pto_access *access = &form->work.accesses[index];
  const struct pto_tensor *t = param->value.tensor;
  if (PTO_UNLIKELY(!t)) return false;
  if (PTO_UNLIKELY(pto_form_difference(t, &f->like) | buffer_changes) &&
      !pto_submit_form_is_elsewhere(rt, form, (uint32_t)index, t))
    return false;
  if (PTO_UNLIKELY(!pto_form_move(f, t->start_offset, access))) return false;
  out->addr = (void *)(uintptr_t)access->region.start;
  return true;
}
static inline bool pto_form_param_is(const struct pto_form_param *p, const struct pto_param *param) {
  return PTO_LIKELY(((pto_form_two_at(&param->mode) ^ p->like) & p->mask) == 0);
}

/* Whether the parameters are of the form; fills in payload and accesses. */
static inline bool pto_submit_form_match_params(const struct pto_runtime *rt, struct pto_submit_form *form,
                                                struct pto_payload *payload, const struct pto_param *params) {
  if (PTO_UNLIKELY((form->buffer_changes ^ rt->buffers.changes) | form->is_mixed))
    return pto_submit_form_match_mixed(rt, form, payload, params);
  const size_t tensor_count = form->work.tensor_count;
  for (size_t i = 0; i < tensor_count; i++)
    if (PTO_UNLIKELY(params[i].mode != form->tensors[i].mode) ||
        !pto_submit_form_match_tensor(rt, form, i, 0, &params[i], &payload->tensors[i]))
      return false;
  union pto_scalar *scalar = (union pto_scalar *)(void *)&payload->tensors[tensor_count];
  const struct pto_form_param *p = &form->params[tensor_count];
  params += tensor_count;
  for (size_t i = 0; i < form->work.scalar_count; i++) {
    if (PTO_UNLIKELY(!pto_form_param_is(&p[i], &params[i]))) return false;
    scalar[i] = params[i].value.scalar;
  }
  return pto_submit_form_is_apart(form);
}

/* The payload of a submit whose kernel and count are the form's, in rt->work too; NULL where its parameters are not of
 * the form.  It stays the form's: whoever keeps it for longer than the submit takes it from there. */
static inline struct pto_payload *pto_submit_form_match(struct pto_runtime *rt, struct pto_submit_form *form,
                                                        const struct pto_param *params) {
  struct pto_payload *payload = form->payload;
  if (PTO_UNLIKELY(!payload)) payload = pto_submit_form_take_payload(rt, form);
  if (PTO_UNLIKELY(!payload || !pto_submit_form_match_params(rt, form, payload, params))) return NULL;
  payload->reserved[1] = 0;
  form->work.payload = payload;
  form->misses = 0;
  rt->work = &form->work;
  return payload;
}

/* What the kernel says of a submit that has matched. */
static inline int pto_submit_form_ask(struct pto_runtime *rt, const struct pto_submit_form *form) {
  return form->asks ? pto_params_ask_kernel(rt, form->kernel, form->shape == PTO_SHAPE_AIC) : PTO_OK;
}

/* Where the form of a kernel is, if it has one. */
static inline struct pto_submit_form *pto_submit_form_at(const struct pto_runtime *rt,
                                                         const struct pto_kernel *kernel) {
  return &rt->forms[(uint64_t)(uintptr_t)kernel * UINT64_C(0x9e3779b97f4a7c15) >> 59];
}
_Static_assert(PTO_PAYLOAD_FORMS == 1u << (64 - 59), "the hash is an index");

#endif
