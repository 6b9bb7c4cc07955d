/* SPDX-License-Identifier: MIT */
#include <runtime/control/submit_form.h>

#include <string.h>

/* After so many submits without a repetition a form is made of only every so manieth. */
#define PATIENCE 16u

/* ---- making one ---- */

static void remember_params(struct pto_submit_form *form, const struct pto_param *params, uint32_t count) {
  form->is_mixed = false;
  for (uint32_t i = 0; i < count; i++) {
    const bool is_typed = params[i].mode == PTO_SCALAR && form->kernel->params[i].scalar;
    struct pto_param mask = {UINT32_MAX, is_typed ? UINT32_MAX : 0, {0}};
    form->params[i] = (struct pto_form_param){pto_form_two_at(&params[i].mode), pto_form_two_at(&mask.mode)};
    form->is_mixed |= (params[i].mode == PTO_SCALAR) != (i >= form->work.tensor_count);
  }
}

/* Whether the tensor may be used with its buffer, which has memory; what is known of that buffer is then so. */
static bool know_buffer(const struct pto_runtime *rt, struct pto_submit_form *form, uint32_t index,
                        const struct pto_tensor *t) {
  struct pto_form_tensor *f = &form->tensors[index];
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (!record || !record->addr || record->version != t->version || record->size_bytes != t->buffer.size_bytes)
    return false;
  const uint64_t not_in_base = ((UINT64_C(1) << f->shift) - 1) | ~(PTO_ADDRESS_LIMIT - 1);
  const uint64_t elements = record->size_bytes >> f->shift, span = f->span_bytes >> f->shift;
  if ((t->buffer.base & not_in_base) || span > elements) return false;
  f->like.buffer = t->buffer;
  f->like.version = t->version;
  f->is_held = record->kind == PTO_BUFFER_MANAGED;
  f->addr = record->addr;
  f->last_offset = elements - span;
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
  form->tensors[index] = (struct pto_form_tensor){
      .like = *t, .mode = form->work.params[index].mode, .span_bytes = region->end - region->start, .shift = shift};
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
  form->unrecorded_kernel = pto_trace_has_graph(&rt->trace) ? NULL : form->kernel;
  form->shape = launch->aic ? PTO_SHAPE_AIC : PTO_SHAPE_AIV;
  form->asks = form->kernel->check || form->kernel->cost;
  form->is_watched = rt->port->is_virtual || rt->trace.record;
  form->launch = (struct pto_launch){.aic = launch->aic, .aiv0 = launch->aiv0};
  form->param_count = count;
  remember_params(form, params, count);
  for (uint32_t i = 0; i < work->tensor_count; i++) remember_tensor(rt, form, i);
  form->buffer_changes = rt->buffers.changes;
  form->payload_form = pto_payload_pool_begin_form(&rt->payloads, (uint32_t)(form - rt->forms));
  work->payload->form = form->payload_form;
}

/* ---- repeating it ---- */

bool pto_submit_form_is_elsewhere(const struct pto_runtime *rt, struct pto_submit_form *form, uint32_t index,
                                  const struct pto_tensor *t) {
  return pto_form_type_difference(t, &form->tensors[index].like) == 0 && know_buffer(rt, form, index, t);
}

bool pto_submit_form_match_mixed(const struct pto_runtime *rt, struct pto_submit_form *form,
                                 struct pto_payload *payload, const struct pto_param *params) {
  const uint64_t buffer_changes = form->buffer_changes ^ rt->buffers.changes;
  union pto_scalar *scalar = pto_payload_scalars(payload);
  struct pto_kernel_tensor *out = payload->tensors;
  for (uint32_t i = 0; i < form->param_count; i++) {
    if (!pto_form_param_is(&form->params[i], &params[i])) return false;
    if (params[i].mode == PTO_SCALAR)
      *scalar++ = params[i].value.scalar;
    else if (!pto_submit_form_match_tensor(rt, form, (size_t)(out - payload->tensors), buffer_changes, &params[i], out))
      return false;
    else
      out++;
  }
  form->buffer_changes = rt->buffers.changes;
  return pto_submit_form_is_apart(form);
}

void pto_submit_form_find_pairs(struct pto_submit_form *form) {
  const struct pto_access *accesses = form->work.accesses;
  uint32_t held_count = 0, pair_count = 0;
  for (uint32_t i = 0; i < form->work.tensor_count; i++) {
    held_count += form->tensors[i].is_held;
    for (uint32_t k = 0; k < i; k++)
      if (((accesses[i].tag | accesses[k].tag) & PTO_TAG_WRITE) && accesses[i].space == accesses[k].space)
        form->pairs[pair_count++] = (struct pto_form_pair){(uint8_t)k, (uint8_t)i};
  }
  form->work.held_count = held_count;
  form->pair_count = pair_count;
  form->has_old_pairs = false;
}

static struct pto_payload *make_payload(struct pto_runtime *rt, const struct pto_submit_form *form) {
  const uint32_t tensor_count = form->work.tensor_count, scalar_count = form->work.scalar_count;
  struct pto_payload *payload =
      pto_payload_pool_alloc(&rt->payloads, pto_params_payload_bytes(tensor_count, scalar_count, form->work.dim_count));
  if (!payload) return NULL;
  pto_params_begin_payload(payload, &form->launch, tensor_count, scalar_count);
  payload->form = form->payload_form;
  uint64_t *dims = (uint64_t *)(void *)(pto_payload_scalars(payload) + scalar_count);
  for (uint32_t i = 0; i < tensor_count; i++) {
    const struct pto_form_tensor *f = &form->tensors[i];
    const uint32_t ndims = f->like.ndims;
    payload->tensors[i] = (struct pto_kernel_tensor){NULL, dims, dims + ndims, ndims, f->like.dtype};
    memcpy(dims, f->like.shape, ndims * sizeof *dims);
    memcpy(dims + ndims, f->like.strides, ndims * sizeof *dims);
    dims += 2 * ndims;
  }
  payload->reserved[0] = (uint64_t)(uintptr_t)dims;
  return payload;
}

struct pto_payload *pto_submit_form_take_payload(struct pto_runtime *rt, struct pto_submit_form *form) {
  form->payload = pto_payload_pool_take(&rt->payloads, form->payload_form);
  if (!form->payload) form->payload = make_payload(rt, form);
  return form->payload;
}

/* A failed run gives all payloads back at once, and its reports still read that of its task. */
static void give_payload_back(struct pto_runtime *rt, struct pto_submit_form *form) {
  if (form->payload && !rt->has_failed) pto_payload_pool_free(&rt->payloads, form->payload);
  form->payload = NULL;
}

/* For the record of the task. */
static void keep_tensors(struct pto_submit_form *form, const struct pto_param *params, uint32_t count) {
  struct pto_param_work *work = form->work.params;
  for (uint32_t i = 0; i < count; i++)
    if (params[i].mode != PTO_SCALAR) work++->tensor = params[i].value.tensor;
}

static inline bool is_same_launch(const struct pto_submit_form *form, const struct pto_launch *launch) {
  return launch->aic == form->launch.aic && launch->aiv0 == form->launch.aiv0 && !launch->aiv1 &&
         launch->block_count <= 1 && !launch->sync_start && !launch->predicate.tensor &&
         launch->predicate.compare == PTO_ALWAYS;
}

/* ---- the whole ---- */

int pto_submit_prepare(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                       uint32_t count, enum pto_shape *shape_out) {
  if (PTO_UNLIKELY(!shape_out)) {
    rt->work = &rt->forms[PTO_PAYLOAD_FORMS].work;
    return pto_params_prepare(rt, launch, params, count, NULL);
  }
  struct pto_submit_form *form = pto_submit_form_at(rt, launch->aic ? launch->aic : launch->aiv0);
  *shape_out = form->shape;
  if (form->kernel && form->param_count == count && params && is_same_launch(form, launch) &&
      pto_submit_form_match(rt, form, params)) {
    keep_tensors(form, params, count);
    form->payload = NULL; /* it goes with the task */
    const int status = pto_submit_form_ask(rt, form);
    if (PTO_UNLIKELY(status)) pto_params_drop(rt);
    return status;
  }
  give_payload_back(rt, form);
  form->kernel = form->unrecorded_kernel = NULL;
  rt->work = &form->work;
  const int status = pto_params_prepare(rt, launch, params, count, shape_out);
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
    rt->forms[i].kernel = rt->forms[i].unrecorded_kernel = NULL;
    rt->forms[i].misses = 0;
    give_payload_back(rt, &rt->forms[i]);
  }
}
