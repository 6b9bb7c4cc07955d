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
 * Always true: rt->work is the work of the form that the submit's kernel belongs to, or of the last one, which belongs
 * to no kernel; a form with a kernel has in its work the counts, flags, modes, and accesses but for their places.
 */
#include <runtime/control/params_make.h>

#include <string.h>

/* After so many submits without a repetition a form is made of only every so manieth. */
#define PATIENCE 16u

/* What a tensor must be again, and what follows from it. */
struct form_tensor {
  struct pto_tensor like; /* the last one; all of it but the offset, the buffer and the version belongs to the form */
  /* of the form */
  uint64_t geometry_hash;
  uint64_t span;  /* elements from the first to the last, both counted */
  uint32_t shift; /* log2 of the bytes of an element */
  /* of the buffer of `like`, while the form's buffer_changes are the registry's */
  bool is_held;         /* managed: its memory has to be held */
  uint64_t addr;        /* of its first byte */
  uint64_t last_offset; /* up to which the tensor lies within it */
};

struct form_param {
  uint32_t mode;
  uint32_t scalar_type; /* 0 where any will do */
};

/* Two tensors of a task that may not share a byte, and lie where they could. */
struct form_pair {
  uint8_t first, second;
};

struct pto_submit_form {
  struct pto_submit_work work;
  const struct pto_kernel *kernel; /* NULL: nothing is remembered */
  struct pto_launch launch;        /* its kernels alone */
  uint32_t param_count, misses;
  uint32_t payload_form;
  bool has_old_pairs;      /* a tensor has come to another buffer since `pairs` were found */
  uint64_t buffer_changes; /* of the registry, when what is known of buffers was found out */
  uint32_t pair_count;
  struct form_pair pairs[PTO_MAX_TENSORS * (PTO_MAX_TENSORS - 1) / 2];
  struct form_param params[PTO_MAX_PARAMS];
  struct form_tensor tensors[PTO_MAX_TENSORS];
};

/* ---- making one ---- */

static void remember_params(struct pto_submit_form *form, const struct pto_param *params, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const bool is_typed = params[i].mode == PTO_SCALAR && form->kernel->params[i].scalar;
    form->params[i] = (struct form_param){params[i].mode, is_typed ? params[i].scalar_type : 0};
  }
}

/* Whether the tensor may be used with its buffer, which has memory; what is known of that buffer is then so. */
static bool know_buffer(const struct pto_runtime *rt, struct pto_submit_form *form, uint32_t index,
                        const struct pto_tensor *t) {
  struct form_tensor *f = &form->tensors[index];
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (!record || !record->addr || record->version != t->version || record->size_bytes != t->buffer.size_bytes)
    return false;
  const uint64_t not_in_base = ((UINT64_C(1) << f->shift) - 1) | ~(PTO_ADDRESS_LIMIT - 1);
  const uint64_t elements = record->size_bytes >> f->shift;
  if ((t->buffer.base & not_in_base) || f->span > elements) return false;
  f->like.buffer = t->buffer;
  f->like.version = t->version;
  f->is_held = record->kind == PTO_BUFFER_MANAGED;
  f->addr = record->addr;
  f->last_offset = elements - f->span;
  form->work.params[index].record = record;
  form->work.accesses[index].space = record->space;
  form->work.accesses[index].buffer_number = record->id;
  form->has_old_pairs = true;
  return true;
}

static void remember_tensor(const struct pto_runtime *rt, struct pto_submit_form *form, uint32_t index) {
  const struct pto_tensor *t = form->work.params[index].tensor;
  const struct pto_region *region = &form->work.accesses[index].region;
  const uint32_t shift = pto_dtype_shift(t->dtype);
  form->tensors[index] = (struct form_tensor){.like = *t,
                                              .geometry_hash = pto_access_map_geometry_hash(region),
                                              .span = (region->end - region->start) >> shift,
                                              .shift = shift};
  const bool is_known = know_buffer(rt, form, index, t);
  PTO_ASSERT(is_known); /* the submit has been accepted */
  (void)is_known;
}

/* Whether all of the submit but what a repetition looks at is the kernel's alone to say. */
static bool is_plain(const struct pto_launch *launch, const struct pto_submit_work *work) {
  if ((launch->aic != NULL) + (launch->aiv0 != NULL) + (launch->aiv1 != NULL) != 1 || launch->aiv1) return false;
  if (launch->block_count > 1 || launch->sync_start || launch->predicate.tensor) return false;
  if (work->allocates || work->advances || work->has_waiting || work->access_count != work->tensor_count) return false;
  for (uint32_t i = 0; i < work->tensor_count; i++)
    if (pto_dtype_is_four_bit(work->params[i].tensor->dtype)) return false;
  return true;
}

static PTO_NOINLINE void remember(struct pto_runtime *rt, struct pto_submit_form *form, const struct pto_launch *launch,
                                  const struct pto_param *params, uint32_t count) {
  struct pto_submit_work *work = &form->work;
  if (!is_plain(launch, work) || (++form->misses > PATIENCE && form->misses % PATIENCE)) return;
  form->kernel = launch->aic ? launch->aic : launch->aiv0;
  form->launch = (struct pto_launch){.aic = launch->aic, .aiv0 = launch->aiv0};
  form->param_count = count;
  remember_params(form, params, count);
  for (uint32_t i = 0; i < work->tensor_count; i++) remember_tensor(rt, form, i);
  form->buffer_changes = rt->buffers.changes;
  form->payload_form = pto_payload_pool_begin_form(&rt->payloads, (uint32_t)(form - rt->forms));
  work->payload->form = form->payload_form;
}

/* ---- repeating it ---- */

_Static_assert(offsetof(struct pto_tensor, dtype) == offsetof(struct pto_tensor, ndims) + 4 &&
                   offsetof(struct pto_tensor, overlap) == offsetof(struct pto_tensor, version) + 4,
               "each pair is compared as one number");
static inline uint64_t pair_at(const void *first) {
  uint64_t both;
  memcpy(&both, first, sizeof both);
  return both;
}

/* 0 where the tensor has the type of `like`: all but offset, buffer and version. */
static inline uint64_t type_difference(const struct pto_tensor *t, const struct pto_tensor *like) {
  const uint32_t ndims = like->ndims;
  uint64_t difference = (pair_at(&t->ndims) ^ pair_at(&like->ndims)) | (uint32_t)t->status;
  difference |= t->overlap ^ like->overlap;
  if (PTO_LIKELY(ndims == 1)) return difference | (t->shape[0] ^ like->shape[0]) | (t->strides[0] ^ like->strides[0]);
  for (uint32_t i = 0; i < ndims; i++)
    difference |= (t->shape[i] ^ like->shape[i]) | (t->strides[i] ^ like->strides[i]);
  return difference;
}

/* 0 where the two are in the same version of one buffer, and know the same of it. */
static inline uint64_t buffer_difference(const struct pto_tensor *t, const struct pto_tensor *like) {
  return (t->buffer.id ^ like->buffer.id) | (t->buffer.generation ^ like->buffer.generation) |
         (t->buffer.base ^ like->buffer.base) | (t->buffer.size_bytes ^ like->buffer.size_bytes) |
         (uint32_t)(t->version ^ like->version);
}

/* For a tensor that differs from the last one: whether it differs in the buffer alone, and may be used with that. */
static PTO_NOINLINE bool is_of_form_elsewhere(const struct pto_runtime *rt, struct pto_submit_form *form,
                                              uint32_t index, const struct pto_tensor *t) {
  return type_difference(t, &form->tensors[index].like) == 0 && know_buffer(rt, form, index, t);
}

/* Moves the access to where the tensor is now; false where the tensor is none of the form, or lies nowhere. */
static inline bool move_access(const struct pto_runtime *rt, struct pto_submit_form *form, uint32_t index,
                               const struct pto_tensor *t, uint64_t buffer_changes) {
  struct form_tensor *f = &form->tensors[index];
  struct pto_access *access = &form->work.accesses[index];
  if (PTO_UNLIKELY(!t)) return false;
  if (PTO_UNLIKELY(type_difference(t, &f->like) | buffer_difference(t, &f->like) | buffer_changes) &&
      !is_of_form_elsewhere(rt, form, index, t))
    return false;
  const uint64_t offset = t->start_offset;
  if (PTO_UNLIKELY(offset > f->last_offset)) return false;
  const uint64_t start = f->addr + (offset << f->shift);
  access->region.start = start;
  access->region.end = start + (f->span << f->shift);
  access->hash = pto_access_map_hash_at(f->geometry_hash, start);
  pto_access_map_prefetch(&rt->map, access->hash); /* the kernel is asked first, and a slot taken */
  form->work.params[index].tensor = t;
  return true;
}

/* What follows from the buffers of all tensors: how many have to be held, and which may meet. */
static PTO_NOINLINE void find_pairs(struct pto_submit_form *form) {
  const struct pto_access *accesses = form->work.accesses;
  uint32_t held_count = 0, pair_count = 0;
  for (uint32_t i = 0; i < form->work.tensor_count; i++) {
    held_count += form->tensors[i].is_held;
    for (uint32_t k = 0; k < i; k++)
      if (((accesses[i].tag | accesses[k].tag) & PTO_TAG_WRITE) && accesses[i].space == accesses[k].space)
        form->pairs[pair_count++] = (struct form_pair){(uint8_t)k, (uint8_t)i};
  }
  form->work.held_count = held_count;
  form->pair_count = pair_count;
  form->has_old_pairs = false;
}

/* Whether no two accesses share a byte of which one is written. */
static inline bool are_apart(struct pto_submit_form *form) {
  const struct pto_access *accesses = form->work.accesses;
  if (PTO_UNLIKELY(form->has_old_pairs)) find_pairs(form);
  for (const struct form_pair *pair = form->pairs, *end = pair + form->pair_count; pair < end; pair++)
    if (PTO_UNLIKELY(pto_region_ranges_meet(&accesses[pair->first].region, &accesses[pair->second].region)))
      return false;
  return true;
}

/* A payload with all that the form says. */
static PTO_NOINLINE struct pto_payload *make_payload(struct pto_runtime *rt, const struct pto_submit_form *form) {
  const uint32_t tensor_count = form->work.tensor_count, scalar_count = form->work.scalar_count;
  struct pto_payload *payload =
      pto_payload_pool_alloc(&rt->payloads, pto_params_payload_bytes(tensor_count, scalar_count, form->work.dim_count));
  if (!payload) return NULL;
  pto_params_begin_payload(payload, &form->launch, tensor_count, scalar_count);
  payload->form = form->payload_form;
  uint64_t *dims = (uint64_t *)(void *)(pto_payload_scalars(payload) + scalar_count);
  for (uint32_t i = 0; i < tensor_count; i++) {
    const struct form_tensor *f = &form->tensors[i];
    const uint32_t ndims = f->like.ndims;
    payload->tensors[i] = (struct pto_kernel_tensor){NULL, dims, dims + ndims, ndims, f->like.dtype};
    memcpy(dims, f->like.shape, ndims * sizeof *dims);
    memcpy(dims + ndims, f->like.strides, ndims * sizeof *dims);
    dims += 2 * ndims;
  }
  payload->reserved[0] = (uint64_t)(uintptr_t)dims;
  return payload;
}

/* Whether the parameters are of the form; fills in payload and accesses. */
static inline bool match_params(const struct pto_runtime *rt, struct pto_submit_form *form, struct pto_payload *payload,
                                const struct pto_param *params, uint32_t count) {
  const uint64_t buffer_changes = form->buffer_changes ^ rt->buffers.changes;
  union pto_scalar *scalar = pto_payload_scalars(payload);
  const struct form_param *p = form->params;
  uint32_t index = 0;
  for (const struct pto_param *end = params + count; params < end; params++, p++) {
    if (PTO_UNLIKELY(params->mode != p->mode)) return false;
    if (p->mode == PTO_SCALAR) {
      if (PTO_UNLIKELY(p->scalar_type && params->scalar_type != p->scalar_type)) return false;
      *scalar++ = params->value.scalar;
    } else {
      if (PTO_UNLIKELY(!move_access(rt, form, index, params->value.tensor, buffer_changes))) return false;
      payload->tensors[index].addr = (void *)(uintptr_t)form->work.accesses[index].region.start;
      index++;
    }
  }
  form->buffer_changes = rt->buffers.changes;
  return are_apart(form);
}

static inline bool is_same_launch(const struct pto_submit_form *form, const struct pto_launch *launch) {
  return launch->aic == form->launch.aic && launch->aiv0 == form->launch.aiv0 && !launch->aiv1 &&
         launch->block_count <= 1 && !launch->sync_start && !launch->predicate.tensor &&
         launch->predicate.compare == PTO_ALWAYS;
}

/* True where the submit had the form, and is prepared or refused by its kernel. */
static inline bool repeat(struct pto_runtime *rt, struct pto_submit_form *form, const struct pto_launch *launch,
                          const struct pto_param *params, uint32_t count, int *status) {
  if (PTO_UNLIKELY(!form->kernel || form->param_count != count || !params || !is_same_launch(form, launch)))
    return false;
  struct pto_payload *payload = pto_payload_pool_take(&rt->payloads, form->payload_form);
  if (PTO_UNLIKELY(!payload)) payload = make_payload(rt, form);
  if (PTO_UNLIKELY(!payload)) return false;
  if (PTO_UNLIKELY(!match_params(rt, form, payload, params, count))) {
    pto_payload_pool_free(&rt->payloads, payload);
    return false;
  }
  payload->reserved[1] = 0;
  form->work.payload = payload;
  form->misses = 0;
  const struct pto_kernel *kernel = form->kernel;
  *status = kernel->check || kernel->cost ? pto_params_ask_kernel(rt, kernel, launch->aic != NULL) : PTO_OK;
  if (PTO_UNLIKELY(*status)) pto_params_drop(rt);
  return true;
}

/* ---- the whole ---- */

static inline uint32_t form_of(const struct pto_launch *launch) {
  const uintptr_t kernel = (uintptr_t)(launch->aic ? launch->aic : launch->aiv0);
  return (uint32_t)((uint64_t)kernel * UINT64_C(0x9e3779b97f4a7c15) >> 59);
}
_Static_assert(PTO_PAYLOAD_FORMS == 1u << (64 - 59), "the hash is an index");

int pto_submit_prepare(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                       uint32_t count, enum pto_shape *shape_out) {
  if (PTO_UNLIKELY(!shape_out)) {
    rt->work = &rt->forms[PTO_PAYLOAD_FORMS].work;
    return pto_params_prepare(rt, launch, params, count, NULL);
  }
  struct pto_submit_form *form = &rt->forms[form_of(launch)];
  int status;
  rt->work = &form->work;
  *shape_out = launch->aic ? PTO_SHAPE_AIC : PTO_SHAPE_AIV;
  if (PTO_LIKELY(repeat(rt, form, launch, params, count, &status))) return status;
  form->kernel = NULL;
  status = pto_params_prepare(rt, launch, params, count, shape_out);
  if (PTO_LIKELY(status == PTO_OK)) remember(rt, form, launch, params, count);
  return status;
}

bool pto_submit_forms_init(struct pto_runtime *rt) {
  if (!pto_reserve_init(&rt->forms_memory, (PTO_PAYLOAD_FORMS + 1) * sizeof *rt->forms)) return false;
  rt->forms = rt->forms_memory.addr;
  rt->work = &rt->forms[PTO_PAYLOAD_FORMS].work;
  for (int is_aic = 0; is_aic <= 1; is_aic++)
    rt->asking[is_aic] =
        (struct pto_core){.kind = is_aic ? PTO_AIC : PTO_AIV,
                          .local = {NULL, is_aic ? rt->port->aic_local_bytes : rt->port->aiv_local_bytes},
                          .message = rt->answer,
                          .message_size = sizeof rt->answer};
  return true;
}

void pto_submit_forms_forget(struct pto_runtime *rt) {
  for (uint32_t i = 0; i < PTO_PAYLOAD_FORMS; i++) {
    rt->forms[i].kernel = NULL;
    rt->forms[i].misses = 0;
  }
}
