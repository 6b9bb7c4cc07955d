/* SPDX-License-Identifier: MIT */
#include <runtime/submit/template.h>

#include <string.h>

/* ---- matching ---- */

/* Whether the tensor has the type of `like`: all but offset, buffer and version. */
static bool has_type(const struct pto_tensor *t, const struct pto_tensor *like) {
  uint64_t difference =
      (t->ndims ^ like->ndims) | (t->dtype ^ like->dtype) | (t->overlap ^ like->overlap) | (uint32_t)t->status;
  for (uint32_t i = 0; i < like->ndims; i++)
    difference |= (t->shape[i] ^ like->shape[i]) | (t->strides[i] ^ like->strides[i]);
  return difference == 0;
}

/* Which tensors may not share a byte, and lie where they could; how many hold memory. */
static void find_pairs(struct pto_template *template) {
  const struct pto_access *accesses = template->work.accesses;
  uint32_t held_count = 0, pair_count = 0;
  for (uint32_t i = 0; i < template->work.tensor_count; i++) {
    held_count += template->tensors[i].is_held;
    for (uint32_t k = 0; k < i; k++)
      if (((accesses[i].tag | accesses[k].tag) & PTO_TAG_WRITE) && accesses[i].space == accesses[k].space)
        template->pairs[pair_count++] = (struct pto_template_pair){(uint8_t)k, (uint8_t)i};
  }
  template->work.held_count = held_count;
  template->work.has_more = held_count != 0;
  template->pair_count = pair_count;
}

bool pto_template_know_buffer(const struct pto_runtime *rt, struct pto_template *template, size_t index,
                              const struct pto_tensor *t) {
  struct pto_template_tensor *known = &template->tensors[index];
  struct pto_access *access = &template->work.accesses[index];
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (!has_type(t, &known->like) || !record || !record->addr || record->version != t->version ||
      record->size_bytes != t->buffer.size_bytes)
    return false;
  const uint64_t not_in_base = ((UINT64_C(1) << known->shift) - 1) | ~(PTO_ADDRESS_LIMIT - 1);
  const uint64_t elements = record->size_bytes >> known->shift, span = known->span_bytes >> known->shift;
  if ((t->buffer.base & not_in_base) || span > elements) return false;
  known->like.buffer = t->buffer;
  known->like.version = t->version;
  known->is_held = record->kind == PTO_BUFFER_MANAGED;
  known->addr = record->addr;
  known->last_offset = elements - span;
  template->work.params[index].record = record;
  access->space = record->space;
  access->buffer_number = record->id;
  find_pairs(template);
  return true;
}

struct pto_payload *pto_template_make_payload(struct pto_runtime *rt, const struct pto_template *template) {
  const uint32_t tensor_count = template->work.tensor_count, scalar_count = template->work.scalar_count;
  struct pto_payload *payload = pto_payload_pool_alloc(
      &rt->payloads, pto_params_payload_bytes(tensor_count, scalar_count, template->work.dim_count));
  if (!payload) return NULL;
  pto_params_begin_payload(payload, &template->launch, tensor_count, scalar_count);
  payload->template_id = template->id;
  uint64_t *dims = (uint64_t *)(void *)(pto_payload_scalars(payload) + scalar_count);
  for (uint32_t i = 0; i < tensor_count; i++)
    dims = pto_params_fill_tensor(&payload->tensors[i], &template->tensors[i].like, 0, dims);
  payload->held = (uint32_t *)(void *)dims;
  return payload;
}

/* ---- making one ---- */

static void remember_tensor(const struct pto_runtime *rt, struct pto_template *template, uint32_t index) {
  const struct pto_tensor *t = template->work.params[index].tensor;
  const struct pto_region *region = &template->work.accesses[index].region;
  template->tensors[index] = (struct pto_template_tensor){
      .like = *t, .span_bytes = region->end - region->start, .shift = pto_dtype_shift(t->dtype)};
  const bool is_known = pto_template_know_buffer(rt, template, index, t);
  PTO_ASSERT(is_known); /* the submit has been accepted */
  (void)is_known;
}

/* Whether all of the submit but what a match looks at is the kernel's alone to say. */
static bool is_plain(const struct pto_submit_work *work) {
  if (work->allocates || work->advances || work->has_waiting || work->access_count != work->tensor_count) return false;
  for (uint32_t i = 0; i < work->tensor_count; i++)
    if (pto_dtype_is_four_bit(work->params[i].tensor->dtype)) return false;
  return true;
}

static PTO_NOINLINE void remember(struct pto_runtime *rt, struct pto_template *template,
                                  const struct pto_submit_request *request) {
  const struct pto_launch *launch = request->launch;
  if (!is_plain(&template->work)) return;
  template->launch = (struct pto_launch){.aic = launch->aic, .aiv0 = launch->aiv0};
  template->param_count = request->count;
  for (uint32_t i = 0; i < request->count; i++)
    template->params[i] = (struct pto_template_param){request->params[i].mode, request->params[i].scalar_type};
  for (uint32_t i = 0; i < template->work.tensor_count; i++) remember_tensor(rt, template, i);
  template->buffer_changes = rt->buffers.changes;
  const uint32_t index = (uint32_t)(template - rt->templates);
  rt->templates_used |= UINT32_C(1) << index;
  template->id = pto_payload_pool_begin_template(&rt->payloads, index);
  template->work.payload->template_id = template->id;
}

int pto_template_prepare_anew(struct pto_runtime *rt, struct pto_template *template,
                              const struct pto_submit_request *request) {
  template->launch = (struct pto_launch){0};
  const int status = pto_params_prepare(rt, &template->work, request);
  if (request->is_single && PTO_LIKELY(status == PTO_OK)) remember(rt, template, request);
  return status;
}

void pto_templates_forget(struct pto_runtime *rt) {
  for (; rt->templates_used; rt->templates_used &= rt->templates_used - 1)
    rt->templates[__builtin_ctz(rt->templates_used)].launch = (struct pto_launch){0};
}
