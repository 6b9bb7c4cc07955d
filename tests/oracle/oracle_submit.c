/* SPDX-License-Identifier: MIT */
/*
 * Submitting is executing: checks that a task is one that the runtime must accept, then runs it.  Part of
 * oracle_runtime.h.
 */
#include <tests/oracle/oracle_runtime.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>
#include <tests/oracle/oracle_cores.h>

/* A task while its submit lasts. */
struct submission {
  struct pto_runtime *rt;
  const struct pto_kernel *kernels[3];
  uint32_t kernel_count, block_count;
  bool is_sync_start;
  const struct pto_initial *initial;
  uint32_t initial_count;
  const struct pto_param *params;
  uint32_t count;
  const char *name;
  struct pto_kernel_tensor tensors[PTO_MAX_TENSORS];
  union pto_scalar scalars[PTO_MAX_SCALARS];
  uint32_t tensor_count, scalar_count;
  char message[512];
};

static int refuse_param(struct submission *s, uint32_t index, int status, const char *reason) {
  return oracle_refuse(s->rt, status, "task %llu (%s): param %u: %s", (unsigned long long)s->rt->task_count, s->name,
                       index, reason);
}

static bool is_tensor(const struct pto_param *param) { return param->mode != PTO_SCALAR; }

/* ---- one parameter ---- */

static bool is_whole_and_dense(const struct pto_tensor *t) {
  if (t->start_offset != 0 || !pto_tensor_is_contiguous(t)) return false;
  uint64_t bits = pto_tensor_numel(t) * pto_dtype_bits(t->dtype);
  return (bits + 7) / 8 == t->buffer.size_bytes;
}

static bool repeats_bytes(const struct pto_tensor *t) {
  bool repeats = false;
  for (uint32_t i = 0; i < t->ndims; i++) {
    if (t->shape[i] == 0) return false;
    if (t->shape[i] > 1 && t->strides[i] == 0) repeats = true;
  }
  return repeats;
}

static int check_version(struct submission *s, uint32_t index, uint32_t mode, const struct pto_tensor *t,
                         const struct oracle_buffer *buffer) {
  if (t->version == buffer->version || (mode == PTO_OUTPUT && t->version == buffer->version + 1)) return PTO_OK;
  char reason[96];
  snprintf(reason, sizeof reason, "names version %d, the buffer is at version %d", t->version, buffer->version);
  return refuse_param(s, index, PTO_EINVAL, reason);
}

static const struct pto_initial *initial_of(const struct submission *s, uint32_t index) {
  for (uint32_t i = 0; i < s->initial_count; i++)
    if (s->initial[i].param == index) return &s->initial[i];
  return NULL;
}

static int check_tensor(struct submission *s, uint32_t index, uint32_t mode, const struct pto_tensor *t) {
  if (!t) return refuse_param(s, index, PTO_EINVAL, "no tensor");
  int status = pto_tensor_status(t);
  if (status != PTO_OK) {
    char reason[256];
    (void)pto_tensor_explain(t, reason, sizeof reason);
    return refuse_param(s, index, status, reason);
  }
  const struct oracle_buffer *buffer = oracle_buffer_find(s->rt, t->buffer);
  if (!buffer) return refuse_param(s, index, PTO_ESTALE, "stale tensor");
  if ((mode & PTO_OUTPUT) && repeats_bytes(t))
    return refuse_param(s, index, PTO_EINVAL, "a tensor whose elements share bytes is written");
  const bool begins = (mode & PTO_OUTPUT) && initial_of(s, index);
  if (begins && buffer->memory) return refuse_param(s, index, PTO_EINVAL, "an initial value of what has memory");
  if (!buffer->memory && mode != PTO_OUTPUT && !begins)
    return refuse_param(s, index, PTO_EINVAL, "reads a buffer that nothing has written");
  if (!buffer->memory && !is_whole_and_dense(t))
    return refuse_param(s, index, PTO_EINVAL, "only a whole, dense tensor can be allocated");
  return check_version(s, index, mode, t, buffer);
}

static int check_params(struct submission *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    const struct pto_param *param = &s->params[i];
    if (param->mode == PTO_SCALAR) {
      if (++s->scalar_count > PTO_MAX_SCALARS) return refuse_param(s, i, PTO_EINVAL, "too many scalars");
      continue;
    }
    if (param->mode != PTO_INPUT && param->mode != PTO_OUTPUT && param->mode != PTO_INOUT &&
        param->mode != PTO_ACCUMULATE && param->mode != PTO_HOLD)
      return refuse_param(s, i, PTO_EINVAL, "no such mode");
    if (++s->tensor_count > PTO_MAX_TENSORS) return refuse_param(s, i, PTO_EINVAL, "too many tensors");
    int status = check_tensor(s, i, param->mode, param->value.tensor);
    if (status != PTO_OK) return status;
  }
  return PTO_OK;
}

/* ---- parameters against each other and against the kernels ---- */

static bool has_equal_layout(const struct pto_tensor *a, const struct pto_tensor *b) {
  if (a->ndims != b->ndims || a->dtype != b->dtype) return false;
  for (uint32_t i = 0; i < a->ndims; i++)
    if (a->shape[i] != b->shape[i] || (a->shape[i] > 1 && a->strides[i] != b->strides[i])) return false;
  return true;
}

static int check_aliasing(struct submission *s) {
  const struct pto_kernel *only = s->kernels[0] ? s->kernels[0] : s->kernels[1] ? s->kernels[1] : s->kernels[2];
  bool in_place = only && s->kernel_count == 1 && (only->flags & PTO_KERNEL_IN_PLACE);
  for (uint32_t i = 0; i < s->count; i++)
    for (uint32_t j = i + 1; j < s->count; j++) {
      const struct pto_param *a = &s->params[i], *b = &s->params[j];
      if (!is_tensor(a) || !is_tensor(b) || !((a->mode | b->mode) & PTO_OUTPUT)) continue;
      if (a->mode == PTO_HOLD || b->mode == PTO_HOLD) continue;
      struct pto_tensor left = pto_tensor_with_overlap(a->value.tensor, PTO_OVERLAP_EXACT);
      struct pto_tensor right = pto_tensor_with_overlap(b->value.tensor, PTO_OVERLAP_EXACT);
      enum pto_overlap relation = pto_tensor_overlap(&left, &right);
      if (relation == PTO_DISJOINT) continue;
      bool is_pair = (a->mode == PTO_INPUT && b->mode == PTO_OUTPUT) || (a->mode == PTO_OUTPUT && b->mode == PTO_INPUT);
      if (in_place && is_pair && relation == PTO_EQUAL && has_equal_layout(&left, &right)) continue;
      return refuse_param(s, j, PTO_EINVAL, "shares bytes with an earlier parameter, and one of them is written");
    }
  return PTO_OK;
}

static int check_against_kernel(struct submission *s, const struct pto_kernel *kernel, uint32_t kind) {
  struct pto_runtime *rt = s->rt;
  if (!(kernel->cores & kind))
    return oracle_refuse(rt, PTO_EINVAL, "%s does not run on an %s", kernel->name, kind == PTO_AIC ? "AIC" : "AIV");
  if (s->block_count > 1 && kernel->flags & PTO_KERNEL_ONE_BLOCK)
    return oracle_refuse(rt, PTO_EINVAL, "%s runs as one block, not %u", kernel->name, s->block_count);
  if (kernel->param_count != s->count)
    return oracle_refuse(rt, PTO_EINVAL, "%s takes %u parameters, not %u", kernel->name, kernel->param_count, s->count);
  for (uint32_t i = 0; i < s->count; i++) {
    const struct pto_kernel_param *want = &kernel->params[i];
    const struct pto_param *got = &s->params[i];
    if (want->mode == PTO_UNUSED && s->kernel_count > 1) continue;
    bool fits = got->mode == PTO_HOLD  ? want->mode != PTO_SCALAR
                : s->kernel_count == 1 ? want->mode == got->mode
                                       : (want->mode & ~got->mode & 11u) == 0 || got->mode == PTO_OUTPUT;
    if (!fits) return refuse_param(s, i, PTO_EINVAL, "of another mode than the kernel states");
    if (got->mode == PTO_SCALAR) {
      if (want->scalar != got->scalar_type) return refuse_param(s, i, PTO_EINVAL, "scalar of another type");
      continue;
    }
    const struct pto_tensor *t = got->value.tensor;
    if (want->dtypes && !(want->dtypes & PTO_DTYPE_BIT(t->dtype)))
      return refuse_param(s, i, PTO_EINVAL, "dtype that the kernel does not take");
    if (t->ndims < want->min_rank || (want->max_rank && t->ndims > want->max_rank))
      return refuse_param(s, i, PTO_EINVAL, "rank that the kernel does not take");
  }
  return PTO_OK;
}

/* ---- execution ---- */

/* Descriptors as kernels see them, addresses where there are any. */
static void resolve(struct submission *s) {
  uint32_t tensors = 0, scalars = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    if (!is_tensor(&s->params[i])) {
      s->scalars[scalars++] = s->params[i].value.scalar;
      continue;
    }
    const struct pto_tensor *t = s->params[i].value.tensor;
    const struct oracle_buffer *buffer = oracle_buffer_find(s->rt, t->buffer);
    uint64_t offset = pto_dtype_bits(t->dtype) == 4 ? t->start_offset / 2 : t->start_offset * pto_dtype_size(t->dtype);
    s->tensors[tensors++] = (struct pto_kernel_tensor){.addr = buffer->memory ? buffer->memory + offset : NULL,
                                                       .shape = t->shape,
                                                       .strides = t->strides,
                                                       .ndims = t->ndims,
                                                       .dtype = t->dtype};
  }
}

static struct oracle_task task_of(const struct submission *s) {
  struct oracle_task task = {.block_count = s->block_count,
                             .is_sync_start = s->is_sync_start,
                             .tensors = s->tensors,
                             .scalars = s->scalars,
                             .tensor_count = s->tensor_count,
                             .scalar_count = s->scalar_count};
  memcpy(task.kernels, s->kernels, sizeof task.kernels);
  return task;
}

/* What the kernels themselves say to the shapes, and the local memory that they need. */
static int query_kernels(struct submission *s) {
  const struct oracle_task task = task_of(s);
  for (uint32_t lane = 0; lane < 3; lane++) {
    const struct pto_kernel *kernel = s->kernels[lane];
    if (!kernel) continue;
    struct pto_core core = oracle_core_describe(s->rt, &task, lane, 0, s->rt->local);
    core.message = s->message;
    core.message_size = sizeof s->message;
    struct pto_kernel_args args = oracle_core_args(&task, &core);
    if (kernel->check && kernel->check(&args) != 0) return oracle_refuse(s->rt, PTO_EINVAL, "%s", s->message);
    if (!kernel->cost) continue;
    uint64_t needed = kernel->cost(&args).local_bytes;
    if (needed > core.local.size_bytes)
      return oracle_refuse(s->rt, PTO_EFIT, "%s needs %llu bytes of local memory, the core has %llu", kernel->name,
                           (unsigned long long)needed, (unsigned long long)core.local.size_bytes);
  }
  return PTO_OK;
}

/* Every element begins with the same bits. */
static void begin_with(struct oracle_buffer *buffer, uint32_t dtype, uint64_t bits) {
  const uint64_t size = pto_dtype_bits(dtype) == 4 ? 1 : pto_dtype_size(dtype);
  if (pto_dtype_bits(dtype) == 4) bits = (bits & 15) | (bits & 15) << 4;
  for (uint64_t at = 0; at + size <= buffer->size_bytes; at += size) memcpy(buffer->memory + at, &bits, size);
}

/* Memory for fresh outputs, and their versions. */
static int take_outputs(struct submission *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    const struct pto_initial *initial = initial_of(s, i);
    if (s->params[i].mode != PTO_OUTPUT && !initial) continue;
    const struct pto_tensor *t = s->params[i].value.tensor;
    struct oracle_buffer *buffer = oracle_buffer_find(s->rt, t->buffer);
    if (!buffer->memory && oracle_buffer_allocate(s->rt, buffer) != PTO_OK)
      return oracle_refuse(s->rt, PTO_EHEAP, "no memory for %llu bytes", (unsigned long long)buffer->size_bytes);
    if (initial) begin_with(buffer, t->dtype, initial->bits);
    buffer->version = t->version;
  }
  return PTO_OK;
}

/* ---- predicates ---- */

/* An element of any integer dtype, as pto_read_element leaves it. */
union cell {
  int64_t i64;
  uint64_t u64;
  int32_t i32;
  uint32_t u32;
  int16_t i16;
  uint16_t u16;
  int8_t i8;
  uint8_t u8;
};

_Static_assert(PTO_DTYPE_COUNT == 18, "a dtype more: how a predicate's element is read goes here");
/* Its value, of every dtype but UINT64. */
static int64_t value_of(const union cell *cell, uint32_t dtype) {
  switch (dtype) {
  case PTO_INT64:
    return cell->i64;
  case PTO_INT32:
    return cell->i32;
  case PTO_UINT32:
    return cell->u32;
  case PTO_INT16:
    return cell->i16;
  case PTO_UINT16:
    return cell->u16;
  case PTO_INT8:
  case PTO_INT4:
    return cell->i8;
  default:
    return cell->u8;
  }
}

/* −1, 0 or 1 as the element is below, at or above the value; with UINT64 the value's bits count as unsigned too. */
static int order_of(const union cell *cell, uint32_t dtype, int64_t value) {
  if (dtype == PTO_UINT64) return (cell->u64 > (uint64_t)value) - (cell->u64 < (uint64_t)value);
  int64_t x = value_of(cell, dtype);
  return (x > value) - (x < value);
}

static bool holds_of(int order, uint32_t compare) {
  switch (compare) {
  case PTO_IF_EQ:
    return order == 0;
  case PTO_IF_NE:
    return order != 0;
  case PTO_IF_LT:
    return order < 0;
  case PTO_IF_LE:
    return order <= 0;
  case PTO_IF_GT:
    return order > 0;
  default:
    return order >= 0;
  }
}

static int evaluate(struct submission *s, const struct pto_predicate *predicate, bool *holds) {
  *holds = true;
  if (predicate->compare == PTO_ALWAYS) return PTO_OK;
  if (predicate->compare > PTO_IF_GE)
    return oracle_refuse(s->rt, PTO_EINVAL, "%u is no comparison", predicate->compare);
  const struct pto_tensor *t = predicate->tensor;
  int status = check_tensor(s, s->count, PTO_INPUT, t);
  if (status != PTO_OK) return status;
  if (PTO_DTYPE_BIT(t->dtype) & (PTO_DTYPES_FLOAT | PTO_DTYPES_SMALL_FLOAT) || pto_tensor_numel(t) != 1)
    return oracle_refuse(s->rt, PTO_EINVAL, "a predicate is one element of an integer or bool dtype");
  const uint64_t origin[PTO_MAX_DIMS] = {0};
  union cell cell = {0};
  status = pto_read_element(s->rt, t, origin, &cell);
  if (status == PTO_OK) *holds = holds_of(order_of(&cell, t->dtype, predicate->value), predicate->compare);
  return status;
}

/* ---- submits ---- */

static int check_after(struct pto_runtime *rt, const struct pto_task *after, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (after[i].generation != (rt->serial << 32 | rt->run_number) || after[i].id >= rt->task_count)
      return oracle_refuse(rt, PTO_ESTALE, "after[%u]: stale task", i);
  return PTO_OK;
}

static int task_done(struct pto_runtime *rt, struct pto_task *task_out) {
  if (task_out) *task_out = (struct pto_task){rt->task_count, rt->serial << 32 | rt->run_number};
  rt->task_count++;
  return PTO_OK;
}

static int check_launch(struct submission *s, const struct pto_launch *launch) {
  static const uint32_t kinds[3] = {PTO_AIC, PTO_AIV, PTO_AIV};
  if ((s->kernel_count == 0) != launch->no_kernel) return oracle_refuse(s->rt, PTO_EINVAL, "submit: no kernel");
  if (s->count > PTO_MAX_PARAMS) return oracle_refuse(s->rt, PTO_EINVAL, "submit: %u parameters", s->count);
  int status = check_after(s->rt, launch->after, launch->after_count);
  if (status == PTO_OK) status = check_params(s);
  for (uint32_t lane = 0; lane < 3 && status == PTO_OK; lane++)
    if (s->kernels[lane]) status = check_against_kernel(s, s->kernels[lane], kinds[lane]);
  if (status == PTO_OK) status = check_aliasing(s);
  if (status != PTO_OK) return status;
  uint32_t rooms = s->rt->clusters * (!s->kernels[0] && s->kernel_count == 1 ? 2u : 1u);
  if (launch->sync_start && s->block_count > rooms)
    return oracle_refuse(s->rt, PTO_EFIT, "%u blocks can never start together: there is room for %u", s->block_count,
                         rooms);
  resolve(s);
  return query_kernels(s);
}

int pto_submit(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params, uint32_t count,
               struct pto_task *task_out) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (rt->recorded) return oracle_recorded_keep(rt, launch, params, count, task_out);
  struct submission s = {.rt = rt, .params = params, .count = count};
  s.kernels[0] = launch->aic;
  s.kernels[1] = launch->aiv0;
  s.kernels[2] = launch->aiv1;
  s.block_count = launch->block_count ? launch->block_count : 1;
  s.is_sync_start = launch->sync_start;
  s.initial = launch->initial;
  s.initial_count = launch->initial_count;
  s.name = "no_kernel";
  for (uint32_t lane = 3; lane-- > 0;)
    if (s.kernels[lane]) {
      s.kernel_count++;
      s.name = s.kernels[lane]->name;
    }
  bool holds = true;
  status = check_launch(&s, launch);
  if (status == PTO_OK) status = evaluate(&s, &launch->predicate, &holds);
  if (status == PTO_OK) status = take_outputs(&s);
  if (status != PTO_OK) return status;
  resolve(&s);
  const struct oracle_task task = task_of(&s);
  if (holds && s.kernel_count && (status = oracle_task_execute(rt, &task)) != PTO_OK) return status;
  return task_done(rt, task_out);
}

/* All that was submitted has run: who polls on waits for ever, and has the runtime's error only there. */
int pto_poll(struct pto_runtime *rt) { return oracle_enter(rt); }

int pto_submit_aic(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                   uint32_t count) {
  return pto_submit(rt, &(struct pto_launch){.aic = kernel}, params, count, NULL);
}

int pto_submit_aiv(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                   uint32_t count) {
  return pto_submit(rt, &(struct pto_launch){.aiv0 = kernel}, params, count, NULL);
}

int pto_submit_barrier(struct pto_runtime *rt, const struct pto_task *after, uint32_t count,
                       struct pto_task *task_out) {
  int status = oracle_enter(rt);
  if (status == PTO_OK && rt->recorded)
    return oracle_recorded_keep(rt, &(struct pto_launch){.no_kernel = true}, NULL, 0, task_out);
  if (status == PTO_OK) status = check_after(rt, after, count);
  return status == PTO_OK ? task_done(rt, task_out) : status;
}

int pto_alloc_tensors(struct pto_runtime *rt, const struct pto_tensor *tensors, uint32_t count,
                      struct pto_task *task_out) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (count > PTO_MAX_TENSORS) return oracle_refuse(rt, PTO_EINVAL, "alloc_tensors: %u tensors", count);
  struct pto_param params[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < count; i++) params[i] = pto_output(&tensors[i]);
  if (rt->recorded) return oracle_recorded_keep(rt, &(struct pto_launch){.no_kernel = true}, params, count, task_out);
  struct submission s = {.rt = rt, .params = params, .count = count, .name = "alloc_tensors"};
  status = check_params(&s);
  if (status == PTO_OK) status = check_aliasing(&s);
  if (status == PTO_OK) status = take_outputs(&s);
  return status == PTO_OK ? task_done(rt, task_out) : status;
}
