/* SPDX-License-Identifier: MIT */
#include <runtime/submit/recorded.h>

#include <string.h>

#include <runtime/submit/submit.h>

#define LIST(recorded, type, which) ((type *)(recorded)->lists[PTO_RECORDED_ARRAY_##which].items)

/* ---- what is asked for ---- */

static bool has_type(const struct pto_tensor *t, const struct pto_tensor *like) {
  if (t->status || t->ndims != like->ndims || t->dtype != like->dtype || t->overlap != like->overlap) return false;
  const size_t bytes = like->ndims * sizeof like->shape[0];
  return memcmp(t->shape, like->shape, bytes) == 0 && memcmp(t->strides, like->strides, bytes) == 0;
}

static int check_argument(struct pto_runtime *rt, struct pto_recorded *recorded, const struct pto_param *param,
                          uint32_t index) {
  struct pto_recorded_boundary *boundary = &recorded->boundary[index];
  if (param->mode != boundary->mode || !param->value.tensor)
    return PTO_REFUSE(rt, PTO_EINVAL, "boundary argument %u is a tensor passed as %s in the recording", index,
                      pto_param_mode_name(boundary->mode));
  const struct pto_tensor *t = param->value.tensor;
  if (!has_type(t, &boundary->like)) {
    char given[160], wanted[160];
    pto_tensor_format(t, given, sizeof given);
    pto_tensor_format(&boundary->like, wanted, sizeof wanted);
    return PTO_REFUSE(rt, PTO_EINVAL, "boundary argument %u is %s, and was %s in the recording", index, given, wanted);
  }
  const struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (record && record->kind == PTO_BUFFER_MANAGED && !record->addr)
    return PTO_REFUSE(rt, PTO_EINVAL, "boundary argument %u: nothing has written buffer %llu yet", index,
                      (unsigned long long)record->id);
  boundary->offset_bytes =
      pto_dtype_is_four_bit(t->dtype) ? t->start_offset / 2 : t->start_offset << pto_dtype_shift(t->dtype);
  if ((t->buffer.base + boundary->offset_bytes) % boundary->align_bytes)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "boundary argument %u begins %llu bytes into its buffer; its tasks read %u at once", index,
                      (unsigned long long)boundary->offset_bytes, boundary->align_bytes);
  return PTO_OK;
}

static int check_scalars(struct pto_runtime *rt, const struct pto_recorded *recorded,
                         const struct pto_recorded_launch *launch) {
  const struct pto_recorded_task *tasks = LIST(recorded, const struct pto_recorded_task, TASKS);
  const uint64_t task_count = recorded->lists[PTO_RECORDED_ARRAY_TASKS].count;
  for (uint32_t i = 0; i < launch->scalar_count; i++) {
    const struct pto_recorded_scalar *scalar = &launch->scalars[i];
    if (scalar->task >= task_count || scalar->scalar >= tasks[scalar->task].scalar_count)
      return PTO_REFUSE(rt, PTO_EINVAL, "scalar %u is for scalar %u of task %u, which is none of the recording", i,
                        scalar->scalar, scalar->task);
  }
  return PTO_OK;
}

static int check(struct pto_runtime *rt, struct pto_recorded *recorded, const struct pto_recorded_launch *launch) {
  int status = pto_runtime_check(rt);
  if (!status) status = pto_runtime_check_unrecorded(rt, "pto_submit_recorded");
  if (status) return status;
  if (!recorded || !launch) return PTO_REFUSE(rt, PTO_EINVAL, "pto_submit_recorded: no recording, or no launch");
  if (launch->size > sizeof *launch)
    return PTO_REFUSE(rt, PTO_EINVAL, "launch.size is %zu and this library knows %zu bytes of it", launch->size,
                      sizeof *launch);
  if (recorded->rt_tag != rt->tag) return PTO_REFUSE(rt, PTO_ESTALE, "the recording belongs to another runtime");
  if (launch->count != recorded->boundary_count || (launch->count && !launch->params))
    return PTO_REFUSE(rt, PTO_EINVAL, "the recording has %u boundary arguments, %u were passed",
                      recorded->boundary_count, launch->count);
  if (launch->scalar_count && !launch->scalars)
    return PTO_REFUSE(rt, PTO_EINVAL, "%u scalars at a null pointer", launch->scalar_count);
  if (rt->scope_depth == PTO_MAX_SCOPE_DEPTH)
    return PTO_REFUSE(rt, PTO_EINVAL, "scopes nest %u deep at most, and a launch has one", PTO_MAX_SCOPE_DEPTH);
  for (uint32_t i = 0; i < launch->count && !status; i++) status = check_argument(rt, recorded, &launch->params[i], i);
  return status ? status : check_scalars(rt, recorded, launch);
}

/* ---- what the recording's own arrays say in this launch ---- */

static void set_tensors(struct pto_recorded *recorded, const struct pto_recorded_launch *launch,
                        const struct pto_buffer *temporaries) {
  const struct pto_recorded_place *place = LIST(recorded, const struct pto_recorded_place, PLACES);
  struct pto_tensor *tensor = LIST(recorded, struct pto_tensor, TENSORS),
                    *end = tensor + recorded->lists[PTO_RECORDED_ARRAY_TENSORS].count;
  for (; tensor < end; tensor++, place++) {
    uint64_t bytes = place->offset_bytes;
    if (place->source == PTO_RECORDED_TEMPORARY) {
      tensor->buffer = *temporaries;
    } else {
      const struct pto_tensor *given = launch->params[place->source].value.tensor;
      tensor->buffer = given->buffer;
      tensor->version = given->version;
      bytes += recorded->boundary[place->source].offset_bytes;
    }
    tensor->start_offset = pto_dtype_is_four_bit(tensor->dtype) ? 2 * bytes : bytes >> pto_dtype_shift(tensor->dtype);
  }
}

/* The begin of the launch has this sequence in its ring, its tasks the next ones. */
static void set_handles(const struct pto_runtime *rt, struct pto_recorded *recorded, uint32_t ring, uint64_t sequence) {
  const uint32_t *before = LIST(recorded, const uint32_t, BEFORE);
  const uint64_t count = recorded->lists[PTO_RECORDED_ARRAY_BEFORE].count;
  for (uint64_t i = 0; i < count; i++)
    recorded->handles[i] = (struct pto_task){(uint64_t)ring << 62 | (sequence + before[i]), rt->task_generation};
}

static union pto_scalar *scalar_of(struct pto_recorded *recorded, const struct pto_recorded_scalar *scalar,
                                   union pto_scalar *recorded_value_out) {
  const struct pto_recorded_task *task = &LIST(recorded, const struct pto_recorded_task, TASKS)[scalar->task];
  const struct pto_recorded_kept_scalar *kept =
      &LIST(recorded, const struct pto_recorded_kept_scalar, SCALARS)[task->first_scalar + scalar->scalar];
  *recorded_value_out = kept->value;
  return &LIST(recorded, struct pto_param, PARAMS)[kept->param].value.scalar;
}

/* As the launch says, or back to what was recorded. */
static void set_scalars(struct pto_recorded *recorded, const struct pto_recorded_launch *launch, bool is_patched) {
  for (uint32_t i = 0; i < launch->scalar_count; i++) {
    union pto_scalar value, *place = scalar_of(recorded, &launch->scalars[i], &value);
    *place = is_patched ? launch->scalars[i].value : value;
  }
}

/* ---- the tasks ---- */

/* A task without kernels over the boundary and, where there are any, the temporaries. */
static int submit_end(struct pto_runtime *rt, const struct pto_recorded_launch *launch, const struct pto_launch *ours,
                      const struct pto_tensor *temporaries, const void *call, struct pto_task *task_out) {
  struct pto_param params[PTO_MAX_TENSORS];
  uint32_t count = launch->count;
  if (count) memcpy(params, launch->params, count * sizeof *params);
  if (temporaries) params[count++] = pto_output(temporaries);
  const struct pto_submit_request request = {ours, params, call, count, PTO_TASK_EMPTY, false};
  rt->is_boundary = true;
  const int status = pto_submit_request(rt, &request, task_out);
  rt->is_boundary = false;
  return status;
}

static void fill_initials(struct pto_runtime *rt, const struct pto_recorded *recorded,
                          const struct pto_buffer *temporaries) {
  const struct pto_recorded_initial *initial = LIST(recorded, const struct pto_recorded_initial, INITIALS);
  const struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, temporaries);
  for (uint64_t i = 0; i < recorded->lists[PTO_RECORDED_ARRAY_INITIALS].count; i++, initial++) {
    struct pto_buffer_record part = *record;
    part.addr += initial->offset_bytes;
    part.size_bytes = initial->size_bytes;
    if (!rt->config.no_compute) pto_buffers_fill(rt, &part, initial->dtype, initial->bits);
  }
}

/* What comes before anything of the launch runs, in the scope of the launch: its first task. */
static int begin(struct pto_runtime *rt, const struct pto_recorded *recorded, const struct pto_recorded_launch *launch,
                 const void *call, struct pto_buffer *temporaries) {
  const struct pto_launch first = {.no_kernel = true, .after = launch->after, .after_count = launch->after_count};
  struct pto_tensor bytes;
  if (recorded->temporary_bytes) {
    *temporaries = pto_create_buffer(rt, recorded->temporary_bytes);
    if (!temporaries->id) return rt->error.status;
    bytes = pto_managed_tensor(rt, *temporaries, PTO_UINT8, 1, &recorded->temporary_bytes);
  }
  const int status = submit_end(rt, launch, &first, recorded->temporary_bytes ? &bytes : NULL, call, NULL);
  if (!status && recorded->temporary_bytes) fill_initials(rt, recorded, temporaries);
  return status;
}

/* A refusal here would leave half a launch. */
static PTO_COLD int fail(struct pto_runtime *rt, int status, uint32_t task) {
  char refused[PTO_SENTENCE_SIZE];
  if (rt->has_failed) return status;
  memcpy(refused, rt->error.sentence, sizeof refused);
  return pto_runtime_fail(rt, status, "task %u of a recording: %.900s", task, refused);
}

static int submit_tasks(struct pto_runtime *rt, const struct pto_recorded *recorded) {
  const struct pto_recorded_task *tasks = LIST(recorded, const struct pto_recorded_task, TASKS);
  const uint32_t count = (uint32_t)recorded->lists[PTO_RECORDED_ARRAY_TASKS].count;
  for (uint32_t i = 0; i < count; i++) {
    const int status = pto_submit_request(rt, &tasks[i].request, NULL);
    if (PTO_UNLIKELY(status)) return fail(rt, status, i);
  }
  return PTO_OK;
}

static void end_scope(struct pto_runtime *rt) {
  pto_scopes_pop(rt);
  if (rt->port->ops->flush) rt->port->ops->flush(rt->port); /* as the end of any scope */
}

int pto_submit_recorded(struct pto_runtime *rt, struct pto_recorded *recorded, const struct pto_recorded_launch *launch,
                        struct pto_task *task_out) {
  const void *call = PTO_CALLER(rt);
  int status = check(rt, recorded, launch);
  if (status) return status;
  const bool is_manual = rt->hazards.is_manual;
  struct pto_buffer temporaries = {0};
  if (rt->call_list) pto_call_list_spoil(rt->call_list);
  pto_scopes_push(rt, rt->scope_depth + 1, PTO_SCOPE_MANUAL);
  pto_hazards_set_entering_nothing(&rt->hazards, is_manual);
  rt->part_of = rt->task_count + recorded->lists[PTO_RECORDED_ARRAY_TASKS].count + 1;
  const uint64_t sequence = rt->ring->head;
  status = begin(rt, recorded, launch, call, &temporaries);
  if (!status) {
    set_tensors(recorded, launch, &temporaries);
    set_handles(rt, recorded, rt->scopes[rt->scope_depth].ring, sequence);
    set_scalars(recorded, launch, true);
    pto_hazards_set_entering_nothing(&rt->hazards, true);
    status = submit_tasks(rt, recorded);
    set_scalars(recorded, launch, false);
  }
  rt->part_of = 0;
  end_scope(rt);
  if (status) return status;
  const uint64_t last_count = recorded->lists[PTO_RECORDED_ARRAY_BEFORE].count - recorded->first_last;
  const struct pto_launch last = {
      .no_kernel = true, .after = &recorded->handles[recorded->first_last], .after_count = (uint32_t)last_count};
  return submit_end(rt, launch, &last, NULL, call, task_out);
}
