/* SPDX-License-Identifier: MIT */
/*
 * The usual submit, in one pass: one kernel in one block without a predicate, whose list has nothing against the
 * parameters, and tensors with memory, of a whole-byte dtype, neither empty nor huge, that share no byte of which one
 * is written.
 *
 * Says no to everything else, refusals included, and then has changed nothing but rt->work: params.c goes through such
 * a submit from its beginning, and has the sentences.  So whatever is accepted here, params.c would accept with the same
 * outcome.
 */
#include <runtime/control/params_make.h>

#include <runtime/port/core_port.h>

/* Extents, strides and offsets below this make no product or sum overflow here. */
#define SMALL (UINT64_C(1) << 30)

static inline void set_run(struct pto_region *r, uint64_t start, uint64_t bytes) {
  r->start = start;
  r->end = start + bytes;
  r->run_bytes = bytes;
  r->ndims = 0;
}

/* The region of a valid tensor of rank 1 or 2 with dense rows that do not meet; in elements, all below SMALL. */
static inline bool set_rows(const struct pto_tensor *t, uint32_t shift, uint64_t addr, uint64_t size_bytes,
                            struct pto_region *r) {
  const uint64_t offset = t->start_offset, start = addr + (offset << shift);
  if (t->ndims == 1) {
    const uint64_t n = t->shape[0];
    if (PTO_UNLIKELY(t->strides[0] != 1 || (n | offset) >= SMALL || n == 0)) return false;
    if (PTO_UNLIKELY((offset + n) << shift > size_bytes)) return false;
    set_run(r, start, n << shift);
    return true;
  }
  const uint64_t rows = t->shape[0], n = t->shape[1], pitch = t->strides[0];
  if (PTO_UNLIKELY(t->strides[1] != 1 || (rows | n | pitch | offset) >= SMALL || rows == 0 || n == 0 || pitch < n))
    return false;
  const uint64_t span = (rows - 1) * pitch + n;
  if (PTO_UNLIKELY((offset + span) << shift > size_bytes)) return false;
  set_run(r, start, span << shift);
  if (pitch == n || rows == 1) return true;
  r->run_bytes = n << shift;
  r->ndims = 1;
  r->extents[0] = rows;
  r->strides[0] = pitch << shift;
  return true;
}

/* Any other; one that is written must have as many bytes as its elements in a region that has each byte once. */
static PTO_NOINLINE bool set_other(const struct pto_tensor *t, uint32_t shift, uint64_t addr, bool is_written,
                                   struct pto_region *r) {
  uint64_t numel;
  if (!pto_tensor_is_usual(t, &numel)) return false;
  pto_region_from_tensor(t, addr, r);
  if (!is_written) return true;
  return r->ndims <= 1 ? r->run_bytes * (r->ndims ? r->extents[0] : 1) == numel << shift : !pto_tensor_shares_bytes(t);
}

/* Whether no byte of the access is one of an earlier access of the task, but where both read. */
static inline bool is_apart(const struct pto_submit_work *submit, const struct pto_access *access) {
  for (const struct pto_access *other = submit->accesses; other < access; other++)
    if (PTO_UNLIKELY(other->space == access->space && pto_region_ranges_meet(&other->region, &access->region) &&
                     ((other->tag | access->tag) & PTO_TAG_WRITE)))
      return false;
  return true;
}

static inline bool resolve(struct pto_runtime *rt, const struct pto_kernel_param *expected,
                           const struct pto_param *param, uint32_t index, struct pto_param_work *work,
                           struct pto_access *access) {
  const struct pto_tensor *t = param->value.tensor;
  if (PTO_UNLIKELY(!t || t->status != PTO_OK || t->dtype >= PTO_INT4 || t->ndims > PTO_MAX_DIMS)) return false;
  if (PTO_UNLIKELY(expected->dtypes && !(expected->dtypes >> t->dtype & 1))) return false;
  if (PTO_UNLIKELY(t->ndims < expected->min_rank || (expected->max_rank && t->ndims > expected->max_rank)))
    return false;
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (PTO_UNLIKELY(!record || record->size_bytes != t->buffer.size_bytes || record->version != t->version))
    return false;
  const uint64_t addr = record->addr;
  const uint32_t shift = pto_dtype_shift(t->dtype);
  if (PTO_UNLIKELY(!addr || (addr & ((UINT64_C(1) << shift) - 1)) || (t->buffer.base != addr && t->buffer.base != 0)))
    return false;
  if (PTO_LIKELY(t->ndims - 1 < 2 && t->overlap == PTO_OVERLAP_EXACT)) {
    if (PTO_UNLIKELY(!set_rows(t, shift, addr, record->size_bytes, &access->region))) goto other;
    access->region.is_fuzzy = 0;
  } else {
  other:
    if (!set_other(t, shift, addr, param->mode & PTO_OUTPUT, &access->region)) return false;
  }
  pto_params_set_access(access, record, index, param->mode);
  *work = (struct pto_param_work){.tensor = t, .record = record, .mode = param->mode, .index = (uint16_t)index};
  rt->work.held_count += record->kind == PTO_BUFFER_MANAGED;
  return is_apart(&rt->work, access);
}

static inline bool resolve_params(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                  const struct pto_param *params, uint32_t count) {
  struct pto_submit_work *submit = &rt->work;
  const struct pto_kernel_param *expected = kernel->params;
  uint32_t tensor_count = 0, dim_count = 0;
  for (uint32_t i = 0; i < count; i++, expected++) {
    const struct pto_param *param = &params[i];
    const uint32_t mode = param->mode;
    if (PTO_UNLIKELY(expected->mode != mode)) return false;
    if (mode == PTO_SCALAR) {
      if (PTO_UNLIKELY(expected->scalar && expected->scalar != param->scalar_type)) return false;
      continue;
    }
    if (PTO_UNLIKELY(tensor_count == PTO_MAX_TENSORS || !(mode & PTO_INOUT) || mode > PTO_INOUT)) return false;
    if (PTO_UNLIKELY(!resolve(rt, expected, param, i, &submit->params[tensor_count], &submit->accesses[tensor_count])))
      return false;
    dim_count += submit->params[tensor_count++].tensor->ndims;
  }
  submit->tensor_count = submit->work_count = submit->access_count = tensor_count;
  submit->scalar_count = count - tensor_count;
  submit->dim_count = dim_count;
  return count - tensor_count <= PTO_MAX_SCALARS;
}

/* The one kernel of a plain launch; NULL where there is more to it. */
static inline const struct pto_kernel *only_kernel(const struct pto_launch *launch, enum pto_shape *shape_out) {
  const struct pto_kernel *kernel = launch->aic;
  *shape_out = PTO_SHAPE_AIC;
  if (!kernel) {
    kernel = launch->aiv0;
    *shape_out = PTO_SHAPE_AIV;
  } else if (launch->aiv0) {
    return NULL;
  }
  if (PTO_UNLIKELY(!kernel || launch->aiv1 || launch->block_count > 1 || launch->sync_start ||
                   launch->predicate.tensor || launch->predicate.compare != PTO_ALWAYS))
    return NULL;
  const uint32_t cores = *shape_out == PTO_SHAPE_AIC ? PTO_AIC : PTO_AIV;
  return PTO_LIKELY((kernel->cores & cores) && kernel->run && !pto_kernel_waits(kernel)) ? kernel : NULL;
}

bool pto_params_prepare_usual(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                              uint32_t count, enum pto_shape *shape_out, int *status_out) {
  const struct pto_kernel *kernel = only_kernel(launch, shape_out);
  if (PTO_UNLIKELY(!kernel || kernel->param_count != count || (count && !params))) return false;
  pto_params_begin(&rt->work);
  if (PTO_UNLIKELY(!resolve_params(rt, kernel, params, count))) return false;
  int status = pto_params_build_payload(rt, launch, params, count);
  if (!status && (kernel->check || kernel->cost))
    status = pto_params_ask_kernel(rt, kernel, *shape_out == PTO_SHAPE_AIC);
  if (PTO_UNLIKELY(status)) pto_params_drop(rt);
  *status_out = status;
  return true;
}
