/* SPDX-License-Identifier: MIT */
#include <runtime/submit/params.h>

#include <stdio.h>
#include <string.h>

#include <runtime/tensor/tensor_make.h>

/* What sentences call a parameter: "param 3", or "predicate". */
struct label {
  char text[24];
};
static struct label label_of(uint32_t index) {
  struct label label;
  if (index == PTO_TAG_PREDICATE)
    snprintf(label.text, sizeof label.text, "predicate");
  else
    snprintf(label.text, sizeof label.text, "param %u", index);
  return label;
}

/* ---- tensors ---- */

static PTO_COLD int refuse_tensor(struct pto_runtime *rt, const char *what, uint32_t index, const struct pto_tensor *t,
                                  int status) {
  char text[256];
  struct pto_tensor refused = pto_tensor_refused(t, PTO_MAKER_TENSOR);
  pto_tensor_explain(&refused, text, sizeof text);
  return PTO_REFUSE(rt, status, "%s: %s: %s", what, label_of(index).text, text);
}

static PTO_COLD int refuse_stale(struct pto_runtime *rt, const char *what, uint32_t index, const struct pto_tensor *t) {
  if (t->buffer.id == 0) return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s has no buffer", what, label_of(index).text);
  if ((uint16_t)(t->buffer.generation >> 48) != rt->tag)
    return PTO_REFUSE(rt, PTO_ESTALE, "%s: %s: buffer %llu belongs to another runtime", what, label_of(index).text,
                      (unsigned long long)t->buffer.id);
  return PTO_REFUSE(rt, PTO_ESTALE, "%s: %s: buffer %llu is used after its scope has ended%s", what,
                    label_of(index).text, (unsigned long long)t->buffer.id,
                    rt->config.keep_released ? ", and its memory was given back since" : "");
}

static uint64_t dense_bytes(const struct pto_tensor *t) {
  uint64_t numel = pto_tensor_numel(t); /* 2^62 bytes are no overflow, their bits are */
  return pto_dtype_is_four_bit(t->dtype) ? (numel + 1) / 2 : numel * pto_dtype_size(t->dtype);
}

/* The version rule: inputs name the current version, outputs that or the next. */
static int check_other_version(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                               const struct pto_param_work *work) {
  int32_t named = work->tensor->version, current = work->record->version;
  if (work->mode == PTO_OUTPUT && current != INT32_MAX && named == current + 1) {
    submit->advances = true;
    return PTO_OK;
  }
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s (%s) names version %d of buffer %llu, which is at version %d", what,
                    label_of(work->index).text, pto_param_mode_name(work->mode), named,
                    (unsigned long long)work->record->id, current);
}

static int check_allocation(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                            struct pto_param_work *work) {
  const struct pto_tensor *t = work->tensor;
  if (work->mode != PTO_OUTPUT && !(work->initial && (work->mode & PTO_OUTPUT)))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s (%s) uses buffer %llu, which nothing has written yet", what,
                      label_of(work->index).text, pto_param_mode_name(work->mode),
                      (unsigned long long)work->record->id);
  if (t->start_offset || !pto_tensor_is_contiguous(t) || dense_bytes(t) != work->record->size_bytes)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "%s: param %u would allocate buffer %llu (%llu bytes) through a tensor that is not the whole of "
                      "it, dense: offset "
                      "%llu, %llu bytes%s",
                      what, work->index, (unsigned long long)work->record->id,
                      (unsigned long long)work->record->size_bytes, (unsigned long long)t->start_offset,
                      (unsigned long long)dense_bytes(t), pto_tensor_is_contiguous(t) ? "" : ", strided");
  for (const struct pto_param_work *other = submit->params; other < work; other++)
    if (other->record == work->record)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: params %u and %u both mean buffer %llu, which has no memory yet", what,
                        other->index, work->index, (unsigned long long)work->record->id);
  work->is_allocated_now = true;
  submit->allocates = true;
  submit->slot_flags |= PTO_TASK_HAS_HEAP;
  if (work->record->size_bytes > UINT64_MAX / 2 - submit->heap_bytes - PTO_OUTPUT_ALIGN)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u: %llu bytes are too many", what, work->index,
                      (unsigned long long)work->record->size_bytes);
  submit->heap_bytes += pto_align_up(work->record->size_bytes, PTO_OUTPUT_ALIGN);
  return PTO_OK;
}

static PTO_COLD int refuse_size(struct pto_runtime *rt, const char *what, const struct pto_param_work *work) {
  const struct pto_buffer_record *record = work->record;
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s says that buffer %llu has %llu bytes; it has %llu", what,
                    label_of(work->index).text, (unsigned long long)record->id,
                    (unsigned long long)work->tensor->buffer.size_bytes, (unsigned long long)record->size_bytes);
}

static int check_shared_bytes(struct pto_runtime *rt, const char *what, const struct pto_param_work *work) {
  if (!pto_tensor_shares_bytes(work->tensor)) return PTO_OK;
  return PTO_REFUSE(rt, PTO_EINVAL,
                    "%s: param %u (%s) has elements that share bytes; such a tensor may be read, not written", what,
                    work->index, pto_param_mode_name(work->mode));
}

/* Checks work->tensor and fills in the rest of `work`, and the access where there is one. */
static int resolve(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                   struct pto_param_work *work) {
  const struct pto_tensor *t = work->tensor;
  int status = pto_tensor_check(t);
  if (status) return refuse_tensor(rt, what, work->index, t, status);
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (!record) return refuse_stale(rt, what, work->index, t);
  work->record = record;
  work->is_allocated_now = false;
  work->is_empty = pto_tensor_is_empty(t);
  if (record->size_bytes != t->buffer.size_bytes) return refuse_size(rt, what, work);
  if (t->version != record->version) status = check_other_version(rt, submit, what, work);
  if (!status && (work->mode & PTO_OUTPUT)) status = check_shared_bytes(rt, what, work);
  if (status) return status;
  /* empty external memory may be at NULL, and has all that it needs */
  if (!record->addr && record->kind == PTO_BUFFER_MANAGED && (!work->is_empty || work->mode == PTO_OUTPUT))
    return check_allocation(rt, submit, what, work);
  submit->held_count += !work->is_empty && work->mode == PTO_HOLD && record->kind == PTO_BUFFER_MANAGED;
  if (work->is_empty || work->mode == PTO_HOLD) return PTO_OK;
  struct pto_access *access = &submit->accesses[submit->access_count++];
  pto_region_from_tensor(t, record->addr, &access->region);
  pto_params_set_access(access, record, work->index, work->mode);
  submit->has_fuzzy |= access->region.is_fuzzy;
  submit->held_count += record->kind == PTO_BUFFER_MANAGED;
  return PTO_OK;
}

/* ---- aliasing ---- */

static bool has_equal_layout(const struct pto_tensor *a, const struct pto_tensor *b) {
  if (a->ndims != b->ndims || pto_dtype_bits(a->dtype) != pto_dtype_bits(b->dtype)) return false;
  for (uint32_t i = 0; i < a->ndims; i++)
    if (a->shape[i] != b->shape[i] || (a->strides[i] != b->strides[i] && a->shape[i] > 1)) return false;
  return true;
}

static struct pto_param_work *param_of_access(struct pto_submit_work *submit, const struct pto_access *access) {
  struct pto_param_work *work = submit->params;
  while (work->index != (access->tag & PTO_TAG_PARAM_MASK)) work++;
  PTO_ASSERT(work < submit->params + submit->work_count);
  return work;
}

/* An INPUT and an OUTPUT of equal bytes and layout, where the kernels are in-place safe, are one INOUT: the output's.
 */
static bool merge_in_place(struct pto_submit_work *submit, const struct pto_launch *launch, struct pto_access *a,
                           struct pto_access *b) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  struct pto_param_work *x = param_of_access(submit, a), *y = param_of_access(submit, b);
  if (x->mode == PTO_OUTPUT) {
    struct pto_param_work *swap = x;
    x = y;
    y = swap;
    struct pto_access *other = a;
    a = b;
    b = other;
  }
  if (x->mode != PTO_INPUT || y->mode != PTO_OUTPUT || x->index == PTO_TAG_PREDICATE) return false;
  for (int k = 0; k < 3; k++)
    if (kernels[k] && !(kernels[k]->flags & PTO_KERNEL_IN_PLACE)) return false;
  if (a->region.start != b->region.start || !has_equal_layout(x->tensor, y->tensor)) return false;
  a->region.run_bytes = 0; /* empty: leaves the list of accesses below */
  a->region.end = a->region.start;
  b->tag |= PTO_TAG_READ;
  return true;
}

static int check_pair(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                      const struct pto_launch *launch, struct pto_access *a, struct pto_access *b) {
  uint32_t fuzzy_a = a->region.is_fuzzy, fuzzy_b = b->region.is_fuzzy;
  a->region.is_fuzzy = b->region.is_fuzzy = 0;
  bool meet = pto_region_intersects(&a->region, &b->region, &rt->map.budget_exhausted);
  a->region.is_fuzzy = fuzzy_a;
  b->region.is_fuzzy = fuzzy_b;
  if (!meet || (!rt->is_boundary && merge_in_place(submit, launch, a, b))) return PTO_OK;
  const struct pto_param_work *x = param_of_access(submit, a), *y = param_of_access(submit, b);
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s (%s) and %s (%s) share bytes of buffer %llu and one of them is written",
                    what, label_of(x->index).text, pto_param_mode_name(x->mode), label_of(y->index).text,
                    pto_param_mode_name(y->mode), (unsigned long long)y->record->id);
}

static int check_aliasing(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                          const struct pto_launch *launch) {
  bool has_merged = false;
  for (uint32_t i = 1; i < submit->access_count; i++)
    for (uint32_t j = 0; j < i; j++) {
      struct pto_access *a = &submit->accesses[j], *b = &submit->accesses[i];
      if (a->space != b->space || !pto_region_ranges_overlap(&a->region, &b->region) ||
          !((a->tag | b->tag) & PTO_TAG_WRITE))
        continue;
      int status = check_pair(rt, submit, what, launch, a, b);
      if (PTO_UNLIKELY(status)) return status;
      has_merged |= pto_region_is_empty(&a->region) || pto_region_is_empty(&b->region);
    }
  if (PTO_LIKELY(!has_merged)) return PTO_OK;
  uint32_t used = 0;
  for (uint32_t i = 0; i < submit->access_count; i++)
    if (!pto_region_is_empty(&submit->accesses[i].region)) submit->accesses[used++] = submit->accesses[i];
  submit->access_count = used;
  return PTO_OK;
}

/* ---- what the kernel says ---- */

/* What the kernel itself refuses, and the local memory that it needs. */
static int query_kernel(struct pto_runtime *rt, const struct pto_payload *payload, const struct pto_kernel *kernel,
                        bool is_aic) {
  struct pto_core *core = &rt->probed[is_aic];
  const struct pto_kernel_args args = {payload->tensors,
                                       (const union pto_scalar *)(const void *)&payload->tensors[payload->tensor_count],
                                       core, payload->tensor_count, payload->scalar_count};
  const uint64_t local_bytes = core->local.size_bytes;
  core->block_count = payload->block_count;
  rt->refusal[0] = '\0';
  if (kernel->check && kernel->check(&args) != 0)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s%s", rt->refusal[0] ? "" : kernel->name,
                      rt->refusal[0] ? rt->refusal : " refuses its parameters");
  if (!kernel->cost) return PTO_OK;
  const struct pto_cost cost = kernel->cost(&args);
  if (PTO_LIKELY(cost.local_bytes <= local_bytes)) return PTO_OK;
  return PTO_REFUSE(rt, PTO_EFIT, "%s needs %llu KiB of %s, %s has %llu", kernel->name,
                    (unsigned long long)((cost.local_bytes + 1023) / 1024), is_aic ? "L1" : "UB",
                    rt->port->chip_name ? rt->port->chip_name : "the chip", (unsigned long long)(local_bytes / 1024));
}

int pto_params_query_kernels(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_launch *launch) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  int status = PTO_OK;
  for (int k = 0; k < 3 && !status; k++)
    if (kernels[k]) status = query_kernel(rt, submit->payload, kernels[k], k == 0);
  return status ? pto_params_drop(rt, submit, status) : PTO_OK;
}

/* ---- the payload ---- */

/* From the counts and tensors in the work and the scalars of the parameters. */
static int build_payload(struct pto_runtime *rt, struct pto_submit_work *submit,
                         const struct pto_submit_request *request) {
  const uint32_t tensor_count = submit->tensor_count, scalar_count = submit->scalar_count;
  struct pto_payload *payload =
      pto_payload_pool_alloc(&rt->payloads, pto_params_payload_bytes(tensor_count, scalar_count, submit->dim_count));
  if (PTO_UNLIKELY(!payload)) {
    pto_space_note_table(rt, PTO_DOING_SUBMIT, "payload pool", rt->payloads.unit_capacity, submit);
    return pto_runtime_fail(rt, PTO_ECAPACITY, "the payloads of live tasks fill their pool");
  }
  submit->payload = payload;
  pto_params_begin_payload(payload, request->launch, tensor_count, scalar_count);
  union pto_scalar *scalars = pto_payload_scalars(payload);
  uint64_t *at = (uint64_t *)(void *)(scalars + scalar_count);
  for (uint32_t i = 0; i < tensor_count; i++)
    at = pto_params_fill_tensor(&payload->tensors[i], submit->params[i].tensor, submit->params[i].record->addr, at);
  for (uint32_t i = 0; i < request->count; i++)
    if (request->params[i].mode == PTO_SCALAR) *scalars++ = request->params[i].value.scalar;
  payload->held = (uint32_t *)(void *)at;
  return PTO_OK;
}

/* ---- the whole ---- */

/* What a parameter is to begin with; NULL: nothing is said. */
static const struct pto_initial *initial_of(const struct pto_launch *launch, uint32_t param) {
  for (uint32_t i = 0; i < launch->initial_count; i++)
    if (launch->initial[i].param == param) return &launch->initial[i];
  return NULL;
}

static PTO_COLD int check_initial(struct pto_runtime *rt, const char *what, const struct pto_submit_request *request) {
  const struct pto_launch *launch = request->launch;
  if (!launch->initial) return PTO_REFUSE(rt, PTO_EINVAL, "%s: initial values at a null pointer", what);
  for (uint32_t i = 0; i < launch->initial_count; i++) {
    const uint32_t param = launch->initial[i].param;
    if (param >= request->count || request->params[param].mode == PTO_SCALAR)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: initial %u is for param %u, which is no tensor", what, i, param);
  }
  return PTO_OK;
}

static int resolve_params(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                          const struct pto_submit_request *request) {
  const struct pto_param *params = request->params;
  struct pto_param_work *work = submit->params;
  for (uint32_t i = 0; i < request->count; i++) {
    if (params[i].mode == PTO_SCALAR) continue;
    work->tensor = params[i].value.tensor;
    work->mode = params[i].mode;
    work->index = (uint16_t)i;
    work->initial = initial_of(request->launch, i);
    int status = resolve(rt, submit, what, work);
    if (status) return status;
    if (work->initial && !work->is_allocated_now)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u has an initial value, but it does not get its memory now", what,
                        i);
    if (request->kind == PTO_TASK_ALLOC && work->record->addr)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u: buffer %llu has memory already", what, i,
                        (unsigned long long)work->record->id);
    work++;
  }
  submit->work_count = submit->tensor_count;
  return PTO_OK;
}

static int resolve_predicate(struct pto_runtime *rt, struct pto_submit_work *submit, const char *what,
                             const struct pto_predicate *predicate) {
  const struct pto_tensor *t = predicate->tensor;
  if (predicate->compare > PTO_IF_GE)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: predicate: %u is no comparison", what, predicate->compare);
  if (!t) return PTO_REFUSE(rt, PTO_EINVAL, "%s: the predicate compares a null tensor", what);
  struct pto_param_work *work = &submit->params[submit->work_count++];
  work->tensor = t;
  work->mode = PTO_INPUT;
  work->initial = NULL;
  work->index = PTO_TAG_PREDICATE;
  int status = resolve(rt, submit, what, work);
  if (status) return status;
  if (pto_tensor_numel(t) != 1 || (PTO_DTYPE_BIT(t->dtype) & (PTO_DTYPES_INTEGER | PTO_DTYPES_BOOL)) == 0)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: the predicate is one integer element, not %llu of %s", what,
                      (unsigned long long)pto_tensor_numel(t), pto_dtype_name(t->dtype));
  return PTO_OK;
}

/* The rule predicate-orders-nothing: its element is no access; its memory is held. */
static void drop_predicate(struct pto_submit_work *submit) {
  const uint32_t last = submit->access_count - 1;
  if (submit->access_count && (submit->accesses[last].tag & PTO_TAG_PARAM_MASK) == PTO_TAG_PREDICATE)
    submit->access_count = last;
}

static int prepare(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_submit_request *request) {
  const struct pto_launch *launch = request->launch;
  const char *what = "";
  if (request->count && !request->params)
    return PTO_REFUSE(rt, PTO_EINVAL, "%u parameters at a null pointer", request->count);
  int status = pto_launch_check(rt, submit, request, &what);
  if (!status && launch->initial_count) status = check_initial(rt, what, request);
  if (!status) status = resolve_params(rt, submit, what, request);
  if (!status && (launch->predicate.tensor || launch->predicate.compare != PTO_ALWAYS))
    status = resolve_predicate(rt, submit, what, &launch->predicate);
  if (!status) status = check_aliasing(rt, submit, what, launch);
  if (!status && pto_hazards_ignores_predicates(&rt->hazards)) drop_predicate(submit);
  if (!status && (request->kind == PTO_TASK_KERNEL || request->kind == PTO_TASK_EMPTY))
    status = build_payload(rt, submit, request);
  submit->has_more = (request->kind == PTO_TASK_EMPTY) | submit->allocates | submit->advances |
                     (submit->held_count != 0) | (launch->predicate.compare != PTO_ALWAYS);
  return status;
}

int pto_params_prepare(struct pto_runtime *rt, struct pto_submit_work *submit,
                       const struct pto_submit_request *request) {
  memset(submit, 0, offsetof(struct pto_submit_work, params));
  const int status = prepare(rt, submit, request);
  if (status) return pto_params_drop(rt, submit, status);
  return submit->queries ? pto_params_query_kernels(rt, submit, request->launch) : PTO_OK;
}

int pto_params_drop(struct pto_runtime *rt, struct pto_submit_work *submit, int status) {
  if (submit->payload) pto_payload_pool_free(&rt->payloads, submit->payload);
  submit->payload = NULL;
  return status;
}

void pto_params_settle(struct pto_runtime *rt, struct pto_submit_work *submit, uint32_t slot_index) {
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  struct pto_payload *payload = submit->payload;
  if (payload && submit->allocates)
    for (uint32_t i = 0; i < submit->tensor_count; i++)
      if (submit->params[i].is_allocated_now)
        payload->tensors[i].addr = (void *)(uintptr_t)submit->params[i].record->addr;
  if (!submit->held_count) return;
  PTO_ASSERT(payload);
  uint32_t *held = payload->held, held_count = 0;
  for (uint32_t i = 0; i < submit->work_count; i++) {
    const struct pto_buffer_record *record = submit->params[i].record;
    if (record->kind != PTO_BUFFER_MANAGED || submit->params[i].is_empty || record->owner_slot == slot_index) continue;
    held[held_count++] = record->owner_slot;
    rt->rings.slots[record->owner_slot].holders++;
  }
  PTO_ASSERT(held_count > 0);
  payload->held_count_and_guard = held_count;
  slot->flags |= PTO_TASK_HAS_HELD;
}
