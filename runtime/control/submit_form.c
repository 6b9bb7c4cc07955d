/* SPDX-License-Identifier: MIT */
/*
 * Submits that repeat: a *form* is what a submit of one kernel had to say but for the offsets, buffers and versions of
 * its tensors and the values of its scalars.  Orchestrations submit the same kernel on tile after tile, so most submits
 * have the form of the last one of their kernel; what depends on the form alone (dtypes and ranks against the kernel's
 * list, sizes, canonical regions, geometry hashes, payloads filled in but for addresses and scalars) is then known.
 *
 * A form is made of a submit that pto_params_prepare has accepted, and what is accepted here it would accept with the
 * same outcome: every check that depends on more than the form is made again.  Whatever does not match, refusals
 * included, is left to it.
 *
 * Always true: rt->work is the work of the form that the submit's kernel belongs to, or of the last one, which belongs
 * to no kernel; a form with a kernel has in its work the counts, flags, modes, and accesses but for place and buffer.
 */
#include <runtime/control/params_make.h>

#include <string.h>

/* After so many submits without a repetition a form is made of only every so manieth. */
#define PATIENCE 16u

/* What a tensor must be again, and what follows from it. */
struct form_tensor {
  uint32_t ndims, dtype; /* in the order of struct pto_tensor */
  uint32_t overlap;
  uint32_t shift;       /* log2 of the bytes of an element */
  uint64_t not_in_base; /* bits that its buffer's base must not have */
  uint64_t span;        /* elements from the first to the last, both counted */
  uint64_t geometry_hash;
  uint64_t dims[2 * PTO_MAX_DIMS]; /* shape, then strides */
};

struct form_param {
  uint32_t mode;
  uint32_t scalar_type; /* 0 where any will do */
};

struct pto_submit_form {
  struct pto_submit_work work;
  const struct pto_kernel *kernel; /* NULL: nothing is remembered */
  struct pto_launch launch;        /* its kernels alone */
  uint32_t param_count, misses;
  uint32_t payload_form;
  struct form_param params[PTO_MAX_PARAMS];
  struct form_tensor tensors[PTO_MAX_TENSORS];
};

_Static_assert(offsetof(struct pto_tensor, dtype) == offsetof(struct pto_tensor, ndims) + 4,
               "the pair is compared as one number");
static inline uint64_t type_of(const uint32_t *ndims_and_dtype) {
  uint64_t type;
  memcpy(&type, ndims_and_dtype, sizeof type);
  return type;
}

/* ---- making one ---- */

static void remember_params(struct pto_submit_form *form, const struct pto_param *params, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const bool is_typed = params[i].mode == PTO_SCALAR && form->kernel->params[i].scalar;
    form->params[i] = (struct form_param){params[i].mode, is_typed ? params[i].scalar_type : 0};
  }
}

static void remember_tensor(struct form_tensor *out, const struct pto_tensor *t, const struct pto_region *region) {
  const uint32_t shift = pto_dtype_shift(t->dtype);
  *out = (struct form_tensor){.ndims = t->ndims,
                              .dtype = t->dtype,
                              .overlap = t->overlap,
                              .shift = shift,
                              .not_in_base = ((UINT64_C(1) << shift) - 1) | ~(PTO_ADDRESS_LIMIT - 1),
                              .span = (region->end - region->start) >> shift,
                              .geometry_hash = pto_access_map_geometry_hash(region)};
  memcpy(out->dims, t->shape, t->ndims * sizeof t->shape[0]);
  memcpy(out->dims + t->ndims, t->strides, t->ndims * sizeof t->strides[0]);
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
  for (uint32_t i = 0; i < work->tensor_count; i++)
    remember_tensor(&form->tensors[i], work->params[i].tensor, &work->accesses[i].region);
  form->payload_form = pto_payload_pool_begin_form(&rt->payloads, (uint32_t)(form - rt->forms));
  work->payload->form = form->payload_form;
}

/* ---- repeating it ---- */

static inline bool is_same_type(const struct form_tensor *f, const struct pto_tensor *t) {
  uint64_t difference = (type_of(&f->ndims) ^ type_of(&t->ndims)) | (f->overlap ^ t->overlap) | (uint32_t)t->status;
  const uint32_t ndims = f->ndims;
  if (PTO_UNLIKELY(difference)) return false;
  if (PTO_LIKELY(ndims == 1)) return f->dims[0] == t->shape[0] && f->dims[1] == t->strides[0];
  for (uint32_t i = 0; i < ndims; i++) difference |= (f->dims[i] ^ t->shape[i]) | (f->dims[ndims + i] ^ t->strides[i]);
  return difference == 0;
}

/* Moves the access to where the tensor is now; false where the tensor may not be used, or its buffer has no memory. */
static inline bool move_access(const struct pto_runtime *rt, const struct form_tensor *f, struct pto_param_work *work,
                               struct pto_access *access) {
  const struct pto_tensor *t = work->tensor;
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (PTO_UNLIKELY(!record || !record->addr || record->version != t->version)) return false;
  const uint64_t size = record->size_bytes, elements = size >> f->shift, offset = t->start_offset;
  if (PTO_UNLIKELY(size != t->buffer.size_bytes || (t->buffer.base & f->not_in_base))) return false;
  if (PTO_UNLIKELY(f->span > elements || offset > elements - f->span)) return false;
  const uint64_t start = record->addr + (offset << f->shift);
  access->region.end += start - access->region.start;
  access->region.start = start;
  access->hash = pto_access_map_hash_at(f->geometry_hash, start);
  access->space = record->space;
  access->buffer_number = record->id;
  pto_access_map_prefetch(&rt->map, access->hash); /* the kernel is asked first, and a slot taken */
  work->record = record;
  return true;
}

/* Whether no byte of the access is one of an earlier access of the task, but where both read. */
static inline bool is_apart(const struct pto_access *first, const struct pto_access *access) {
  for (; first < access; first++)
    if (((first->tag | access->tag) & PTO_TAG_WRITE) && first->space == access->space &&
        PTO_UNLIKELY(pto_region_ranges_meet(&first->region, &access->region)))
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
    payload->tensors[i] = (struct pto_kernel_tensor){NULL, dims, dims + f->ndims, f->ndims, f->dtype};
    memcpy(dims, f->dims, 2 * f->ndims * sizeof *dims);
    dims += 2 * f->ndims;
  }
  payload->reserved[0] = (uint64_t)(uintptr_t)dims;
  return payload;
}

/* Whether modes and scalar types are the form's; fills in the scalars, and finds the tensors. */
static inline bool match_params(struct pto_submit_form *form, struct pto_payload *payload,
                                const struct pto_param *params, uint32_t count) {
  struct pto_param_work *work = form->work.params;
  union pto_scalar *scalar = pto_payload_scalars(payload);
  const struct form_param *p = form->params;
  for (const struct pto_param *end = params + count; params < end; params++, p++) {
    if (PTO_UNLIKELY(params->mode != p->mode)) return false;
    if (p->mode == PTO_SCALAR) {
      if (PTO_UNLIKELY(p->scalar_type && params->scalar_type != p->scalar_type)) return false;
      *scalar++ = params->value.scalar;
    } else {
      work++->tensor = params->value.tensor;
    }
  }
  return true;
}

/* Whether the tensors are the form's; fills in addresses and accesses. */
static inline bool match_tensors(const struct pto_runtime *rt, struct pto_submit_form *form,
                                 struct pto_payload *payload) {
  struct pto_access *access = form->work.accesses;
  struct pto_param_work *work = form->work.params;
  struct pto_kernel_tensor *tensor = payload->tensors;
  const struct form_tensor *f = form->tensors;
  uint32_t held_count = 0;
  for (const struct form_tensor *end = f + form->work.tensor_count; f < end; f++) {
    if (PTO_UNLIKELY(!work->tensor || !is_same_type(f, work->tensor) || !move_access(rt, f, work, access)))
      return false;
    if (PTO_UNLIKELY(!is_apart(form->work.accesses, access))) return false;
    held_count += work++->record->kind == PTO_BUFFER_MANAGED;
    tensor++->addr = (void *)(uintptr_t)access++->region.start;
  }
  form->work.held_count = held_count;
  return true;
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
  if (PTO_UNLIKELY(!match_params(form, payload, params, count) || !match_tensors(rt, form, payload))) {
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
