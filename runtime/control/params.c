/* SPDX-License-Identifier: MIT */
#include <runtime/control/runtime_state.h>

#include <stdio.h>
#include <string.h>

#include <runtime/port/core_port.h>
#include <runtime/tensor/tensor_make.h>

static const char *mode_name(uint32_t mode) {
  switch (mode) {
  case PTO_UNUSED:
    return "unused";
  case PTO_INPUT:
    return "input";
  case PTO_OUTPUT:
    return "output";
  case PTO_INOUT:
    return "inout";
  case PTO_ACCUMULATE:
    return "accumulate";
  case PTO_SCALAR:
    return "scalar";
  default:
    return "?";
  }
}

static const char *scalar_name(uint32_t type) {
  static const char *const names[] = {"?", "f32", "i64", "u64"};
  return type < PTO_ARRAY_LENGTH(names) ? names[type] : "?";
}

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

/* ---- launch ---- */

static int check_kernels(struct pto_runtime *rt, const struct pto_launch *launch) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  for (int i = 0; i < 3; i++) {
    const struct pto_kernel *kernel = kernels[i];
    if (!kernel) continue;
    if (PTO_UNLIKELY(!(kernel->cores & (i == 0 ? PTO_AIC : PTO_AIV))))
      return PTO_REFUSE(rt, PTO_EINVAL, "kernel %s does not run on %s cores", kernel->name, i == 0 ? "AIC" : "AIV");
    if (PTO_UNLIKELY(!kernel->run)) return PTO_REFUSE(rt, PTO_EINVAL, "kernel %s has no function to run", kernel->name);
    rt->work.has_waiting |= pto_kernel_waits(kernel);
  }
  return PTO_OK;
}

static int check_launch(struct pto_runtime *rt, const struct pto_launch *launch, enum pto_shape *shape_out) {
  uint32_t aiv_count = (launch->aiv0 != NULL) + (launch->aiv1 != NULL);
  if (!launch->aic && !aiv_count)
    return PTO_REFUSE(rt, PTO_EINVAL, "a task needs a kernel (pto_kernel_find gives NULL for an unknown name)");
  int status = check_kernels(rt, launch);
  if (status) return status;
  enum pto_shape shape = launch->aic ? (aiv_count == 2   ? PTO_SHAPE_MIX_X2
                                        : aiv_count == 1 ? PTO_SHAPE_MIX_X1
                                                         : PTO_SHAPE_AIC)
                                     : (aiv_count == 2 ? PTO_SHAPE_AIV_X2 : PTO_SHAPE_AIV);
  uint32_t block_count = launch->block_count ? launch->block_count : 1;
  if (PTO_UNLIKELY(block_count > UINT32_MAX / 3))
    return PTO_REFUSE(rt, PTO_EINVAL, "%u blocks are too many", block_count);
  if (launch->sync_start && !pto_scheduler_can_ever_fit(&rt->scheduler, shape, block_count))
    return PTO_REFUSE(rt, PTO_EFIT, "sync_start: %u blocks can never start together, %s has %u cluster%s", block_count,
                      rt->port->chip_name ? rt->port->chip_name : "the chip", rt->port->cluster_count,
                      rt->port->cluster_count == 1 ? "" : "s");
  *shape_out = shape;
  return PTO_OK;
}

/* ---- parameters against the kernels' lists ---- */

static PTO_COLD int refuse_dtype(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                 const struct pto_kernel_param *expected, uint32_t dtype, uint32_t index) {
  int status = PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) has dtype %s, the kernel takes", kernel->name, index,
                          expected->name ? expected->name : "", pto_dtype_name(dtype));
  const char *separator = " ";
  for (uint32_t d = 0; d < PTO_DTYPE_COUNT; d++)
    if (expected->dtypes & PTO_DTYPE_BIT(d)) {
      pto_error_append(&rt->error, "%s%s", separator, pto_dtype_name(d));
      separator = ", ";
    }
  return status;
}

static PTO_COLD int refuse_rank(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                const struct pto_kernel_param *expected, uint32_t rank, uint32_t index) {
  uint32_t most = expected->max_rank ? expected->max_rank : PTO_MAX_DIMS;
  const char *name = expected->name ? expected->name : "";
  if (expected->min_rank == most)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) has rank %u, %u is expected", kernel->name, index, name, rank,
                      most);
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) has rank %u, %u to %u is expected", kernel->name, index, name,
                    rank, expected->min_rank, most);
}

static int check_param(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_kernel_param *expected,
                       const struct pto_param *param, uint32_t index) {
  const char *name = expected->name ? expected->name : "";
  if (param->mode == PTO_SCALAR) {
    if (PTO_UNLIKELY(expected->scalar && expected->scalar != param->scalar_type))
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) is a scalar of type %s, %s is expected", kernel->name, index,
                        name, scalar_name(param->scalar_type), scalar_name(expected->scalar));
    return PTO_OK;
  }
  const struct pto_tensor *t = param->value.tensor;
  if (PTO_UNLIKELY(!t))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) is a null tensor", kernel->name, index, name);
  if (PTO_UNLIKELY(t->status)) return PTO_OK; /* refused with its own reason */
  if (PTO_UNLIKELY(expected->dtypes && !(t->dtype < PTO_DTYPE_COUNT && (expected->dtypes & PTO_DTYPE_BIT(t->dtype)))))
    return refuse_dtype(rt, kernel, expected, t->dtype, index);
  if (PTO_UNLIKELY(t->ndims < expected->min_rank || (expected->max_rank && t->ndims > expected->max_rank)))
    return refuse_rank(rt, kernel, expected, t->ndims, index);
  return PTO_OK;
}

static PTO_COLD int refuse_mode(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                const struct pto_kernel_param *expected, const struct pto_param *param, uint32_t index,
                                uint32_t mode) {
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u (%s) is passed as %s, %s is expected", kernel->name, index,
                    expected->name ? expected->name : "", mode_name(param->mode), mode_name(mode));
}

/* Whether check_param has nothing against it: the usual case in a few instructions. */
static inline bool fits(const struct pto_kernel_param *expected, const struct pto_param *param) {
  if (param->mode == PTO_SCALAR) return expected->scalar == 0 || expected->scalar == param->scalar_type;
  const struct pto_tensor *t = param->value.tensor;
  uint32_t dtypes = expected->dtypes ? expected->dtypes : UINT32_MAX;
  uint32_t max_rank = expected->max_rank ? expected->max_rank : UINT32_MAX;
  return t && !t->status && (dtypes >> (t->dtype & 31) & 1) && t->dtype < 32 && t->ndims >= expected->min_rank &&
         t->ndims <= max_rank;
}

static int check_against_kernel(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                                uint32_t count) {
  if (PTO_UNLIKELY(kernel->param_count != count))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s takes %u parameters, %u were passed", kernel->name, kernel->param_count,
                      count);
  for (uint32_t i = 0; i < count; i++) {
    const struct pto_kernel_param *expected = &kernel->params[i];
    if (PTO_UNLIKELY(expected->mode != params[i].mode))
      return refuse_mode(rt, kernel, expected, &params[i], i, expected->mode);
    if (PTO_LIKELY(fits(expected, &params[i]))) continue;
    int status = check_param(rt, kernel, expected, &params[i], i);
    if (PTO_UNLIKELY(status)) return status;
  }
  return PTO_OK;
}

/* Kernels of a MIX list all parameters; the task's mode is the union of what they do. */
static int check_against_mix(struct pto_runtime *rt, const struct pto_kernel *const kernels[3],
                             const struct pto_param *params, uint32_t count) {
  for (int k = 0; k < 3; k++)
    if (kernels[k] && kernels[k]->param_count != count)
      return PTO_REFUSE(rt, PTO_EINVAL, "%s takes %u parameters, %u were passed", kernels[k]->name,
                        kernels[k]->param_count, count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t mode = PTO_UNUSED;
    const struct pto_kernel *last = NULL;
    for (int k = 0; k < 3; k++) {
      if (!kernels[k] || kernels[k]->params[i].mode == PTO_UNUSED) continue;
      if (mode == PTO_ACCUMULATE && kernels[k]->params[i].mode == PTO_ACCUMULATE &&
          !(last->flags & kernels[k]->flags & PTO_KERNEL_TURNS))
        return PTO_REFUSE(rt, PTO_EINVAL,
                          "param %u: %s and %s both accumulate into it, the cores of a task run at once, and not both "
                          "declare PTO_KERNEL_TURNS",
                          i, last->name, kernels[k]->name);
      last = kernels[k];
      mode |= last->params[i].mode;
      int status = check_param(rt, last, &last->params[i], &params[i], i);
      if (status) return status;
    }
    if (!last) return PTO_REFUSE(rt, PTO_EINVAL, "param %u is used by no kernel of the task", i);
    if (mode != params[i].mode) return refuse_mode(rt, last, &last->params[i], &params[i], i, mode);
  }
  return PTO_OK;
}

/* Whether every kernel that touches what is accumulated into puts itself in order. */
static bool take_turns(const struct pto_launch *launch, uint32_t count) {
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  for (uint32_t i = 0; i < count; i++) {
    bool is_sum = false, has_order = true;
    for (int k = 0; k < 3; k++) {
      if (!kernels[k] || kernels[k]->params[i].mode == PTO_UNUSED) continue;
      is_sum |= kernels[k]->params[i].mode == PTO_ACCUMULATE;
      has_order &= (kernels[k]->flags & PTO_KERNEL_TURNS) != 0;
    }
    if (is_sum && !has_order) return false;
  }
  return true;
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
  return PTO_REFUSE(rt, PTO_ESTALE, "%s: %s: buffer %llu is used after its scope has ended", what, label_of(index).text,
                    (unsigned long long)t->buffer.id);
}

static uint64_t dense_bytes(const struct pto_tensor *t) {
  uint64_t numel = pto_tensor_numel(t); /* 2^62 bytes are no overflow, their bits are */
  return pto_dtype_is_four_bit(t->dtype) ? (numel + 1) / 2 : numel * pto_dtype_size(t->dtype);
}

/* The version rule of semantics §2: inputs name the current version, outputs that or the next. */
static int check_version(struct pto_runtime *rt, const char *what, const struct pto_param_work *work) {
  int32_t named = work->tensor->version, current = work->record->version;
  if (PTO_LIKELY(named == current)) return PTO_OK;
  if (work->mode == PTO_OUTPUT && current != INT32_MAX && named == current + 1) return PTO_OK;
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s (%s) names version %d of buffer %llu, which is at version %d", what,
                    label_of(work->index).text, mode_name(work->mode), named, (unsigned long long)work->record->id,
                    current);
}

static int check_allocation(struct pto_runtime *rt, const char *what, struct pto_param_work *work) {
  const struct pto_tensor *t = work->tensor;
  struct pto_submit_work *submit = &rt->work;
  if (work->mode != PTO_OUTPUT)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s (%s) uses buffer %llu, which nothing has written yet", what,
                      label_of(work->index).text, mode_name(work->mode), (unsigned long long)work->record->id);
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
  if (work->record->size_bytes > UINT64_MAX / 2 - submit->block_bytes - PTO_OUTPUT_ALIGN)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u: %llu bytes are too many", what, work->index,
                      (unsigned long long)work->record->size_bytes);
  submit->block_bytes += pto_align_up(work->record->size_bytes, PTO_OUTPUT_ALIGN);
  return PTO_OK;
}

static int check_tensor(struct pto_runtime *rt, const char *what, struct pto_param_work *work) {
  const struct pto_tensor *t = work->tensor;
  struct pto_submit_work *submit = &rt->work;
  int status = pto_tensor_check(t);
  if (PTO_UNLIKELY(status)) return refuse_tensor(rt, what, work->index, t, status);
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (PTO_UNLIKELY(!record)) return refuse_stale(rt, what, work->index, t);
  if (PTO_UNLIKELY(record->size_bytes != t->buffer.size_bytes))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s says that buffer %llu has %llu bytes; it has %llu", what,
                      label_of(work->index).text, (unsigned long long)record->id,
                      (unsigned long long)t->buffer.size_bytes, (unsigned long long)record->size_bytes);
  work->record = record;
  work->is_allocated_now = false;
  work->is_empty = pto_tensor_is_empty(t);
  status = check_version(rt, what, work);
  if (PTO_UNLIKELY(status)) return status;
  if (PTO_UNLIKELY((work->mode & PTO_OUTPUT) && pto_tensor_shares_bytes(t)))
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "%s: param %u (%s) has elements that share bytes; such a tensor may be read, not written", what,
                      work->index, mode_name(work->mode));
  /* empty external memory may be at NULL, and has all that it needs */
  if (!record->addr && record->kind == PTO_BUFFER_MANAGED && (!work->is_empty || work->mode == PTO_OUTPUT))
    return check_allocation(rt, what, work);
  if (work->is_empty) return PTO_OK;
  struct pto_access *access = &submit->accesses[submit->access_count++];
  pto_region_from_tensor(t, record->addr, &access->region);
  access->space = record->space;
  access->buffer_number = record->id;
  access->tag = (uint16_t)(work->index | ((work->mode & PTO_INPUT) ? PTO_TAG_READ : 0) |
                           ((work->mode & PTO_OUTPUT) ? PTO_TAG_WRITE : 0));
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
  for (uint32_t i = 0; i < submit->work_count; i++)
    if (submit->params[i].index == (access->tag & PTO_TAG_PARAM_MASK)) return &submit->params[i];
  return NULL;
}

/* An INPUT and an OUTPUT of equal bytes and layout, where the kernels are in-place safe, are one INOUT: the output's.
 */
static bool merge_in_place(struct pto_runtime *rt, const struct pto_launch *launch, struct pto_access *a,
                           struct pto_access *b) {
  struct pto_submit_work *submit = &rt->work;
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

static PTO_NOINLINE int check_pair(struct pto_runtime *rt, const char *what, const struct pto_launch *launch,
                                   struct pto_access *a, struct pto_access *b) {
  uint32_t fuzzy_a = a->region.is_fuzzy, fuzzy_b = b->region.is_fuzzy;
  a->region.is_fuzzy = b->region.is_fuzzy = 0;
  bool meet = pto_region_intersects(&a->region, &b->region, &rt->map.budget_exhausted);
  a->region.is_fuzzy = fuzzy_a;
  b->region.is_fuzzy = fuzzy_b;
  if (!meet || merge_in_place(rt, launch, a, b)) return PTO_OK;
  const struct pto_param_work *x = param_of_access(&rt->work, a), *y = param_of_access(&rt->work, b);
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: %s (%s) and %s (%s) share bytes of buffer %llu and one of them is written",
                    what, label_of(x->index).text, mode_name(x->mode), label_of(y->index).text, mode_name(y->mode),
                    (unsigned long long)y->record->id);
}

static int check_aliasing(struct pto_runtime *rt, const char *what, const struct pto_launch *launch) {
  struct pto_submit_work *submit = &rt->work;
  bool has_merged = false;
  for (uint32_t i = 1; i < submit->access_count; i++)
    for (uint32_t j = 0; j < i; j++) {
      struct pto_access *a = &submit->accesses[j], *b = &submit->accesses[i];
      if (!((a->tag | b->tag) & PTO_TAG_WRITE) || a->space != b->space ||
          !pto_region_ranges_meet(&a->region, &b->region))
        continue;
      int status = check_pair(rt, what, launch, a, b);
      if (PTO_UNLIKELY(status)) return status;
      has_merged |= pto_region_is_empty(&a->region) || pto_region_is_empty(&b->region);
    }
  if (PTO_LIKELY(!has_merged)) return PTO_OK;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < submit->access_count; i++)
    if (!pto_region_is_empty(&submit->accesses[i].region)) submit->accesses[kept++] = submit->accesses[i];
  submit->access_count = kept;
  return PTO_OK;
}

/* ---- payload ---- */

static void fill_tensor(struct pto_kernel_tensor *out, const struct pto_tensor *t, uint64_t base, uint64_t **dims) {
  uint64_t *shape = *dims, *strides = shape + t->ndims;
  uint64_t offset =
      pto_dtype_is_four_bit(t->dtype) ? t->start_offset / 2 : t->start_offset << pto_dtype_shift(t->dtype);
  out->addr = base ? (char *)(uintptr_t)base + offset : NULL;
  out->shape = shape;
  out->strides = strides;
  out->ndims = t->ndims;
  out->dtype = t->dtype;
  for (uint32_t i = 0; i < t->ndims; i++) {
    shape[i] = t->shape[i];
    strides[i] = t->strides[i];
  }
  *dims = strides + t->ndims;
}

static int build_payload(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                         uint32_t count) {
  struct pto_submit_work *submit = &rt->work;
  uint32_t tensor_count = submit->tensor_count, dims = 0;
  for (uint32_t i = 0; i < tensor_count; i++) dims += submit->params[i].tensor->ndims;
  uint32_t scalar_count = count - tensor_count;
  uint32_t size = (uint32_t)(sizeof(struct pto_payload) + tensor_count * sizeof(struct pto_kernel_tensor) +
                             scalar_count * 8 + dims * 16 + submit->work_count * sizeof(uint32_t));
  struct pto_payload *payload = pto_payload_pool_alloc(&rt->payloads, size);
  if (PTO_UNLIKELY(!payload)) return pto_runtime_fail(rt, PTO_ECAPACITY, "the payloads of live tasks fill their pool");
  payload->block_count = launch->block_count ? launch->block_count : 1;
  payload->tensor_count = tensor_count;
  payload->scalar_count = scalar_count;
  payload->kernels[0] = launch->aic;
  payload->kernels[1] = launch->aiv0;
  payload->kernels[2] = launch->aiv1;
  union pto_scalar *scalars = pto_payload_scalars(payload);
  uint64_t *at = (uint64_t *)(void *)(scalars + scalar_count);
  for (uint32_t i = 0; i < tensor_count; i++)
    fill_tensor(&payload->tensors[i], submit->params[i].tensor, submit->params[i].record->addr, &at);
  if (scalar_count)
    for (uint32_t i = 0; i < count; i++)
      if (params[i].mode == PTO_SCALAR) *scalars++ = params[i].value.scalar;
  payload->reserved[0] = (uint64_t)(uintptr_t)at;
  payload->reserved[1] = 0;
  submit->payload = payload;
  return PTO_OK;
}

/* What the kernel itself refuses, and the local memory that it needs. */
static int ask_kernel(struct pto_runtime *rt, const struct pto_kernel *kernel, bool is_aic) {
  if (PTO_LIKELY(!kernel || (!kernel->check && !kernel->cost))) return PTO_OK;
  const struct pto_payload *payload = rt->work.payload;
  char message[256] = "";
  uint64_t local_bytes = is_aic ? rt->port->aic_local_bytes : rt->port->aiv_local_bytes;
  struct pto_core core = {.kind = is_aic ? PTO_AIC : PTO_AIV,
                          .block_count = payload->block_count,
                          .local = {NULL, local_bytes},
                          .message = message,
                          .message_size = sizeof message};
  struct pto_kernel_args args = {payload->tensors, pto_payload_scalars(rt->work.payload), &core, payload->tensor_count,
                                 payload->scalar_count};
  if (kernel->check && kernel->check(&args) != 0)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s%s", message[0] ? "" : kernel->name,
                      message[0] ? message : " refuses its parameters");
  if (!kernel->cost) return PTO_OK;
  struct pto_cost cost = kernel->cost(&args);
  if (cost.local_bytes > local_bytes)
    return PTO_REFUSE(rt, PTO_EFIT, "%s needs %llu KiB of %s, %s has %llu", kernel->name,
                      (unsigned long long)((cost.local_bytes + 1023) / 1024), is_aic ? "L1" : "UB",
                      rt->port->chip_name ? rt->port->chip_name : "the chip", (unsigned long long)(local_bytes / 1024));
  return PTO_OK;
}

static int ask_kernels(struct pto_runtime *rt, const struct pto_launch *launch) {
  int status = ask_kernel(rt, launch->aic, true);
  if (!status) status = ask_kernel(rt, launch->aiv0, false);
  if (!status) status = ask_kernel(rt, launch->aiv1, false);
  if (PTO_UNLIKELY(status)) pto_payload_pool_free(&rt->payloads, rt->work.payload);
  return status;
}

/* ---- the whole ---- */

static int collect_tensors(struct pto_runtime *rt, const char *what, const struct pto_param *params, uint32_t count) {
  struct pto_submit_work *submit = &rt->work;
  uint32_t scalar_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t mode = params[i].mode;
    if (mode == PTO_SCALAR) {
      if (PTO_UNLIKELY(++scalar_count > PTO_MAX_SCALARS))
        return PTO_REFUSE(rt, PTO_EINVAL, "%s: more than %u scalars", what, PTO_MAX_SCALARS);
      continue;
    }
    if (PTO_UNLIKELY(!(mode == PTO_INPUT || mode == PTO_OUTPUT || mode == PTO_INOUT || mode == PTO_ACCUMULATE)))
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u has mode %u, which is none", what, i, mode);
    if (PTO_UNLIKELY(submit->tensor_count == PTO_MAX_TENSORS))
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: more than %u tensors", what, PTO_MAX_TENSORS);
    if (PTO_UNLIKELY(!params[i].value.tensor))
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: param %u is a null tensor", what, i);
    submit->accumulates |= mode == PTO_ACCUMULATE;
    struct pto_param_work *work = &submit->params[submit->tensor_count++];
    work->tensor = params[i].value.tensor;
    work->mode = mode;
    work->index = (uint16_t)i;
    int status = check_tensor(rt, what, work);
    if (PTO_UNLIKELY(status)) return status;
  }
  submit->work_count = submit->tensor_count;
  return PTO_OK;
}

static int collect_predicate(struct pto_runtime *rt, const char *what, const struct pto_predicate *predicate) {
  struct pto_submit_work *submit = &rt->work;
  const struct pto_tensor *t = predicate->tensor;
  if (predicate->compare > PTO_IF_GE)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: predicate: %u is no comparison", what, predicate->compare);
  if (!t) return PTO_REFUSE(rt, PTO_EINVAL, "%s: the predicate compares a null tensor", what);
  struct pto_param_work *work = &submit->params[submit->work_count++];
  work->tensor = t;
  work->mode = PTO_INPUT;
  work->index = PTO_TAG_PREDICATE;
  int status = check_tensor(rt, what, work);
  if (status) return status;
  if (pto_tensor_numel(t) != 1 || (PTO_DTYPE_BIT(t->dtype) & PTO_DTYPES_FLOAT) || pto_dtype_bits(t->dtype) < 8)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: the predicate is one integer element, not %llu of %s", what,
                      (unsigned long long)pto_tensor_numel(t), pto_dtype_name(t->dtype));
  return PTO_OK;
}

int pto_params_prepare(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                       uint32_t count, enum pto_shape *shape_out) {
  struct pto_submit_work *submit = &rt->work;
  submit->tensor_count = submit->work_count = submit->access_count = submit->held_count = 0;
  submit->block_bytes = 0;
  submit->allocates = submit->accumulates = submit->has_waiting = false;
  submit->payload = NULL;
  if (PTO_UNLIKELY(count && !params)) return PTO_REFUSE(rt, PTO_EINVAL, "%u parameters at a null pointer", count);
  const struct pto_kernel *kernels[3] = {launch->aic, launch->aiv0, launch->aiv1};
  const char *what = "alloc_tensors";
  int status = PTO_OK;
  if (shape_out) {
    status = check_launch(rt, launch, shape_out);
    if (PTO_UNLIKELY(status)) return status;
    const struct pto_kernel *one = kernels[0] ? kernels[0] : kernels[1] ? kernels[1] : kernels[2];
    what = one->name;
    bool is_mix = pto_shape_message_count(*shape_out) > 1;
    status = PTO_UNLIKELY(is_mix) ? check_against_mix(rt, kernels, params, count)
                                  : check_against_kernel(rt, one, params, count);
    if (PTO_UNLIKELY(status)) return status;
  }
  status = collect_tensors(rt, what, params, count);
  if (PTO_UNLIKELY(status)) return status;
  if (PTO_UNLIKELY(launch->predicate.tensor || launch->predicate.compare != PTO_ALWAYS)) {
    status = collect_predicate(rt, what, &launch->predicate);
    if (status) return status;
  }
  submit->is_serial = PTO_UNLIKELY(submit->accumulates) && launch->block_count > 1 && !take_turns(launch, count);
  if (PTO_UNLIKELY(submit->is_serial && launch->sync_start))
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "%s: the blocks of an accumulating task whose kernel does not declare PTO_KERNEL_TURNS run one "
                      "after another, sync_start wants them together",
                      what);
  status = check_aliasing(rt, what, launch);
  if (PTO_UNLIKELY(status) || !shape_out) return status;
  status = build_payload(rt, launch, params, count);
  if (PTO_UNLIKELY(status)) return status;
  return ask_kernels(rt, launch);
}

void pto_params_settle(struct pto_runtime *rt, uint32_t slot_index) {
  struct pto_submit_work *submit = &rt->work;
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  struct pto_payload *payload = submit->payload;
  slot->payload = payload;
  if (payload && submit->allocates)
    for (uint32_t i = 0; i < submit->tensor_count; i++)
      if (submit->params[i].is_allocated_now)
        payload->tensors[i].addr = (void *)(uintptr_t)submit->params[i].record->addr;
  if (!submit->held_count || !payload) return;
  uint32_t *held = pto_payload_held(payload), held_count = 0;
  for (uint32_t i = 0; i < submit->work_count; i++) {
    const struct pto_buffer_record *record = submit->params[i].record;
    if (record->kind != PTO_BUFFER_MANAGED || submit->params[i].is_empty || record->owner_slot == slot_index) continue;
    held[held_count++] = record->owner_slot;
    rt->rings.slots[record->owner_slot].holders++;
  }
  payload->reserved[1] = held_count;
  if (held_count) slot->flags |= PTO_TASK_HAS_HELD;
}

void pto_params_describe(const struct pto_payload *payload, struct pto_error *error) {
  for (uint32_t i = 0; i < payload->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &payload->tensors[i];
    pto_error_append(error, "%stensor %u %s[", i ? ", " : "", i, pto_dtype_name(t->dtype));
    for (uint32_t d = 0; d < t->ndims; d++)
      pto_error_append(error, "%s%llu", d ? "," : "", (unsigned long long)t->shape[d]);
    pto_error_append(error, "]");
  }
  const union pto_scalar *scalars = (const union pto_scalar *)(const void *)&payload->tensors[payload->tensor_count];
  for (uint32_t j = 0; j < payload->scalar_count; j++)
    pto_error_append(error, "%sscalar %u 0x%llx", payload->tensor_count || j ? ", " : "", j,
                     (unsigned long long)scalars[j].u64);
}
