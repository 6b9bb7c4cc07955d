/* SPDX-License-Identifier: MIT */
#include <runtime/control/submit_form.h>

#include <runtime/base/probe.h>

/* ---- explicit dependencies ---- */

static int check_after(struct pto_runtime *rt, const struct pto_task *after, uint32_t count) {
  if (count && !after) return PTO_REFUSE(rt, PTO_EINVAL, "%u explicit dependencies at a null pointer", count);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t ring = (uint32_t)(after[i].id >> 62);
    uint64_t sequence = after[i].id & (UINT64_MAX >> 2);
    if (after[i].generation == 0)
      return PTO_REFUSE(rt, PTO_EINVAL, "explicit dependency %u is not a task of this runtime", i);
    if ((uint16_t)(after[i].generation >> 48) != rt->tag)
      return PTO_REFUSE(rt, PTO_ESTALE, "explicit dependency %u is a task of another runtime", i);
    if (after[i].generation != rt->task_generation)
      return PTO_REFUSE(rt, PTO_ESTALE, "explicit dependency %u is a task of an earlier run", i);
    /* the submit takes a slot itself: what its own would replace is stale already */
    uint64_t head = rt->rings.rings[ring].head + (ring == rt->scopes[rt->scope_depth].ring);
    if (sequence >= rt->rings.rings[ring].head || head - sequence > rt->rings.window)
      return PTO_REFUSE(rt, PTO_ESTALE, "explicit dependency %u: task %llu of ring %u is more than %u submits old", i,
                        (unsigned long long)sequence, ring, rt->rings.window);
  }
  return PTO_OK;
}

static void add_explicit(struct pto_runtime *rt, const struct pto_task *after, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    pto_hazards_explicit(&rt->hazards,
                         pto_task_ref_make(&rt->rings, (uint32_t)(after[i].id >> 62), after[i].id & (UINT64_MAX >> 2)));
}

/* ---- records ---- */

static PTO_COLD void record_params(struct pto_runtime *rt) {
  for (uint32_t i = 0; i < rt->work->work_count; i++) {
    const struct pto_param_work *work = &rt->work->params[i];
    struct pto_trace_param *param = pto_trace_log_append(&rt->trace.params);
    if (!param) return;
    param->index = work->index == PTO_TAG_PREDICATE ? UINT32_MAX : work->index;
    param->mode = work->mode;
    param->tensor = *work->tensor;
    param->tensor.buffer.base = work->record->addr;
    param->buffer_number = work->record->id;
    param->is_managed = work->record->kind == PTO_BUFFER_MANAGED;
  }
}

static PTO_COLD void record_task(struct pto_runtime *rt, const struct pto_launch *launch, uint32_t slot_index,
                                 enum pto_task_kind kind, uint64_t number, uint64_t begin_time) {
  rt->rings.cold[slot_index].number = number;
  struct pto_trace_task *task = pto_trace_log_append(&rt->trace.tasks);
  if (!task) return;
  const struct pto_task_ring *ring = &rt->rings.rings[rt->scopes[rt->scope_depth].ring];
  *task = (struct pto_trace_task){.number = number,
                                  .kernels = {launch->aic, launch->aiv0, launch->aiv1},
                                  .kind = kind,
                                  .block_count = rt->rings.slots[slot_index].block_count,
                                  .scope_depth = rt->scope_depth,
                                  .scope_serial = rt->scopes[rt->scope_depth].serial,
                                  .ring = rt->scopes[rt->scope_depth].ring,
                                  .param_count = rt->work->work_count,
                                  .first_param = rt->trace.params.count,
                                  .first_edge = rt->trace.edges.count,
                                  .submit_time = begin_time,
                                  .is_sync_start = launch->sync_start,
                                  .is_serial = (rt->rings.slots[slot_index].flags & PTO_TASK_SERIAL_BLOCKS) != 0,
                                  .has_predicate = launch->predicate.tensor != NULL,
                                  .call = rt->call,
                                  .ring_heap_used_bytes = pto_heap_ring_used(&ring->heap),
                                  .ring_slots_used = ring->head - ring->tail};
  record_params(rt);
}

static PTO_COLD void record_edges(struct pto_runtime *rt, uint64_t number, uint64_t first_edge) {
  struct pto_trace_log *tasks = &rt->trace.tasks;
  if (number >= tasks->count) return; /* the full log has dropped the task */
  struct pto_trace_task *task = pto_trace_log_at(tasks, number);
  task->first_edge = first_edge;
  task->edge_count = rt->trace.edges.count - first_edge;
}

/* ---- one task ---- */

/* Outputs get their memory: one block, each aligned, in the order of the parameters. */
static int give_memory(struct pto_runtime *rt, uint32_t slot, char *block) {
  struct pto_submit_work *submit = rt->work;
  for (uint32_t i = 0; i < submit->tensor_count; i++) {
    struct pto_param_work *work = &submit->params[i];
    if (!work->is_allocated_now) continue;
    if (!pto_buffers_set_memory(rt, work->tensor, work->record, block, slot)) {
      pto_space_note_table(rt, PTO_DOING_SUBMIT, "address spaces of the map", rt->map.space_capacity);
      return pto_runtime_fail(rt, PTO_ECAPACITY, "live buffers fill the map's %u address spaces",
                              rt->map.space_capacity);
    }
    block += pto_align_up(work->record->size_bytes, PTO_OUTPUT_ALIGN) << rt->arena.spread_log2;
    if (work->is_empty) continue;
    struct pto_access *access = &submit->accesses[submit->access_count++];
    pto_region_from_tensor(work->tensor, work->record->addr, &access->region);
    pto_access_set_region(access);
    access->space = work->record->space;
    access->buffer_number = work->record->id;
    access->tag = (uint16_t)(work->index | PTO_TAG_WRITE);
  }
  return PTO_OK;
}

static void advance_versions(struct pto_runtime *rt) {
  for (uint32_t i = 0; i < rt->work->tensor_count; i++) {
    const struct pto_param_work *work = &rt->work->params[i];
    if (work->mode == PTO_OUTPUT && work->tensor->version > work->record->version)
      work->record->version = work->tensor->version;
  }
  pto_buffer_registry_note_change(&rt->buffers);
}

static PTO_COLD int fail_map(struct pto_runtime *rt) {
  pto_space_note_table(rt, PTO_DOING_SUBMIT, "region map", rt->map.entry_capacity);
  return pto_runtime_fail(rt, PTO_ECAPACITY, "accesses of live tasks fill the region map of %u entries",
                          rt->map.entry_capacity);
}
static PTO_COLD int fail_chunks(struct pto_runtime *rt) {
  pto_space_note_table(rt, PTO_DOING_SUBMIT, "list chunks", rt->chunks.capacity);
  return pto_runtime_fail(rt, PTO_ECAPACITY, "edges and accesses of live tasks fill the %u list chunks",
                          rt->chunks.capacity);
}

/* Puts the task behind `after` and behind what its accesses meet. */
static inline int enter(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_task *after,
                        uint32_t after_count, uint32_t slot_index) {
  struct pto_hazards *hazards = &rt->hazards;
  if (PTO_UNLIKELY(!pto_access_map_make_room(&rt->map, submit->access_count))) return fail_map(rt);
  pto_hazards_begin(hazards, slot_index);
  if (after_count) add_explicit(rt, after, after_count);
  pto_hazards_enter(hazards, submit->accesses, submit->access_count);
  return PTO_LIKELY(pto_hazards_end(hazards, &rt->rings.slots[slot_index])) ? PTO_OK : fail_chunks(rt);
}

static int wire(struct pto_runtime *rt, const struct pto_launch *launch, uint32_t slot_index) {
  const uint64_t first_edge = rt->trace.edges.count;
  const int status = enter(rt, rt->work, launch->after, launch->after_count, slot_index);
  if (PTO_UNLIKELY(status)) return status;
  if (!pto_trace_has_graph(&rt->trace)) return PTO_OK;
  pto_hazards_group_records(&rt->hazards);
  record_edges(rt, rt->rings.cold[slot_index].number, first_edge);
  return PTO_OK;
}

static void charge_submit(struct pto_runtime *rt, uint32_t param_count) {
  const struct pto_submit_work *work = rt->work;
  struct pto_port *port = rt->port;
  uint32_t allocated = 0;
  for (uint32_t i = 0; work->allocates && i < work->tensor_count; i++) allocated += work->params[i].is_allocated_now;
  PTO_ASSERT(!port->is_scheduler); /* so the five go to one clock */
  const uint64_t *ps = port->work_ps;
  port->clock += ps[PTO_WORK_SUBMIT] + ps[PTO_WORK_PARAM] * param_count + ps[PTO_WORK_LOOKUP] * work->access_count +
                 ps[PTO_WORK_ALLOC] * allocated + ps[PTO_WORK_EDGE] * pto_hazards_task_edges(&rt->hazards);
}

/* One kernel on one core. */
static inline void describe_single(struct pto_task_slot *slot, enum pto_shape shape) {
  slot->shape = (uint8_t)shape;
  slot->block_count = slot->blocks_left = slot->messages_left = 1;
  slot->flags |= PTO_TASK_SINGLE;
}

static void describe_blocks(struct pto_runtime *rt, const struct pto_launch *launch, uint32_t slot_index,
                            enum pto_shape shape) {
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  slot->shape = (uint8_t)shape;
  slot->block_count = slot->blocks_left = launch->block_count ? launch->block_count : 1;
  slot->messages_left = slot->block_count * pto_shape_message_count(shape);
  if (launch->sync_start) slot->flags |= PTO_TASK_SYNC_START;
  if (rt->work->is_serial) slot->flags |= PTO_TASK_SERIAL_BLOCKS;
  if (rt->work->has_waiting) slot->flags |= PTO_TASK_MEETS;
  if (shape <= PTO_SHAPE_AIV && slot->block_count == 1 && !launch->sync_start && !rt->work->has_waiting)
    slot->flags |= PTO_TASK_SINGLE;
  if (launch->predicate.tensor && launch->predicate.compare != PTO_ALWAYS) {
    const struct pto_param_work *work = &rt->work->params[rt->work->work_count - 1];
    struct pto_task_cold *cold = &rt->rings.cold[slot_index];
    slot->flags |= PTO_TASK_HAS_PREDICATE;
    cold->predicate_addr =
        (const char *)(uintptr_t)work->record->addr + work->tensor->start_offset * pto_dtype_size(work->tensor->dtype);
    cold->predicate_dtype = (uint16_t)work->tensor->dtype;
    cold->predicate_compare = (uint16_t)launch->predicate.compare;
    cold->predicate_value = launch->predicate.value;
  }
}

/* Its price in virtual time, and its place on the timeline.  Gives the end. */
static inline uint64_t note_submit(struct pto_runtime *rt, uint32_t param_count, uint64_t begin_time, uint64_t number) {
  if (rt->port->is_virtual) charge_submit(rt, param_count);
  return PTO_UNLIKELY(rt->trace.record) ? pto_progress_record(rt, PTO_CONTROL_SUBMIT, begin_time, number) : 0;
}

/* The handle of the task that was given the ring's last slot. */
static struct pto_task newest_task(const struct pto_runtime *rt, uint32_t ring) {
  return (struct pto_task){((uint64_t)ring << 62) | (rt->rings.rings[ring].head - 1), rt->task_generation};
}

/* Gives back what a submit holds that has no slot yet. */
static PTO_COLD int give_up(struct pto_runtime *rt, int status) {
  pto_params_drop(rt);
  return status;
}

static int submit_task(struct pto_runtime *rt, enum pto_task_kind kind, const struct pto_launch *launch,
                       const struct pto_param *params, uint32_t count, struct pto_task *task_out) {
  int status = pto_runtime_check(rt);
  if (PTO_UNLIKELY(status)) return status;
  if (pto_runtime_has_to_poll(rt, true)) {
    pto_progress_poll(rt);
    if (PTO_UNLIKELY(rt->has_failed)) return rt->error.status;
  }
  uint64_t begin_time = pto_progress_now(rt);
  enum pto_shape shape = PTO_SHAPE_AIC;
  status = pto_submit_prepare(rt, launch, params, count, kind == PTO_TASK_KERNEL ? &shape : NULL);
  if (PTO_UNLIKELY(status)) return status;
  if (PTO_UNLIKELY(launch->after_count)) {
    status = check_after(rt, launch->after, launch->after_count);
    if (status) return give_up(rt, status);
  }
  uint32_t slot_index;
  char *block = NULL;
  const uint32_t ring = rt->scopes[rt->scope_depth].ring;
  if (PTO_LIKELY(!rt->work->allocates && !pto_task_ring_is_full(&rt->rings, ring))) {
    slot_index = pto_task_ring_alloc(&rt->rings, ring);
  } else {
    status = pto_space_reserve(rt, rt->work->allocates, rt->work->block_bytes, &slot_index, &block);
    if (PTO_UNLIKELY(status)) return give_up(rt, status);
  }
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  const uint64_t number = rt->task_count++;
  if (rt->work->payload) rt->work->payload->task_number = number;
  if (rt->work->allocates) {
    status = give_memory(rt, slot_index, block);
    if (PTO_UNLIKELY(status)) return give_up(rt, status);
  }
  if (PTO_LIKELY(kind == PTO_TASK_KERNEL)) {
    describe_blocks(rt, launch, slot_index, shape);
  } else {
    slot->flags |= PTO_TASK_NO_KERNEL;
    slot->number = (uint32_t)number;
  }
  if (pto_trace_has_graph(&rt->trace)) record_task(rt, launch, slot_index, kind, number, begin_time);
  status = wire(rt, launch, slot_index);
  if (PTO_UNLIKELY(status)) return give_up(rt, status);
  if (PTO_UNLIKELY(rt->work->advances)) advance_versions(rt);
  slot->payload = rt->work->payload;
  if (PTO_UNLIKELY(rt->work->allocates || rt->work->held_count)) pto_params_settle(rt, slot_index);
  if (task_out) *task_out = newest_task(rt, slot_index >> rt->rings.window_log2);
  note_submit(rt, count, begin_time, number);
  PTO_PROBE2(submit, number, slot_index);
  if (--slot->pending == 0) pto_progress_submitted(rt, slot_index);
  return PTO_OK;
}

/* ---- one task that repeats a form ---- */

/* No form, or none that these parameters have. */
static PTO_NOINLINE int submit_first(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                     const struct pto_param *params, uint32_t count, enum pto_shape shape) {
  const struct pto_launch launch = {.aic = shape == PTO_SHAPE_AIC ? kernel : NULL,
                                    .aiv0 = shape == PTO_SHAPE_AIV ? kernel : NULL};
  return submit_task(rt, PTO_TASK_KERNEL, &launch, params, count, NULL);
}
static PTO_NOINLINE int submit_otherwise(struct pto_runtime *rt, const struct pto_submit_form *form,
                                         const struct pto_param *params) {
  return submit_first(rt, form->kernel, params, form->param_count, form->shape);
}

/* What follows where a task has memory to hold, or its submit a place on a timeline. */
static PTO_NOINLINE void add_rest(struct pto_runtime *rt, const struct pto_submit_form *form, uint32_t slot_index,
                                  uint64_t begin_time, uint64_t number) {
  if (form->work.held_count) pto_params_settle(rt, slot_index);
  if (!form->is_watched) return;
  const uint64_t end_time = note_submit(rt, form->param_count, begin_time, number);
  rt->trace.control.last_time = rt->rings.slots[slot_index].pending == 1 ? end_time : 0; /* its kernel may begin here */
}

static PTO_NOINLINE int wait_for_slot(struct pto_runtime *rt, uint32_t *slot_out) {
  char *no_block = NULL;
  return pto_space_reserve(rt, false, 0, slot_out, &no_block);
}

/* A task of one kernel on one core, with nothing else said.  What submit_task does for such a task whose form is known,
 * where the graph is not recorded: then it allocates nothing, advances no version and has no predicate.  A form that is
 * known says that a run goes on and has not failed. */
static int submit_single(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                         uint32_t count, enum pto_shape shape) {
  struct pto_submit_form *form = pto_submit_form_at(rt, kernel);
  if (PTO_UNLIKELY(form->unrecorded_kernel != kernel || form->shape != shape || form->param_count != count || !params ||
                   !kernel))
    return submit_first(rt, kernel, params, count, shape);
  if (pto_runtime_has_to_poll(rt, form->is_watched)) {
    pto_progress_poll(rt);
    if (PTO_UNLIKELY(rt->has_failed)) return rt->error.status;
  }
  const uint64_t begin_time = form->is_watched ? pto_progress_now(rt) : 0;
  struct pto_payload *payload = pto_submit_form_match(rt, form, params);
  if (PTO_UNLIKELY(!payload)) return submit_otherwise(rt, form, params);
  int status = pto_submit_form_ask(rt, form);
  if (PTO_UNLIKELY(status)) return status;
  uint32_t slot_index;
  if (PTO_LIKELY(!pto_task_ring_has_no_slot(&rt->rings, rt->ring))) {
    slot_index = pto_task_ring_alloc_in(&rt->rings, rt->ring);
  } else {
    status = wait_for_slot(rt, &slot_index);
    if (PTO_UNLIKELY(status)) return status;
  }
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  const uint64_t number = rt->task_count++;
  payload->task_number = number;
  describe_single(slot, form->shape);
  status = enter(rt, &form->work, NULL, 0, slot_index);
  if (PTO_UNLIKELY(status)) return status;
  slot->payload = payload;
  if (PTO_UNLIKELY(form->work.held_count | form->is_watched)) add_rest(rt, form, slot_index, begin_time, number);
  PTO_PROBE2(submit, number, slot_index);
  if (--slot->pending == 0)
    pto_progress_start(rt, slot_index, &form->payload);
  else
    form->payload = NULL; /* it goes with the task */
  return PTO_OK;
}

static inline bool is_single(const struct pto_launch *launch) {
  return (launch->aic != NULL) != (launch->aiv0 != NULL) && !launch->aiv1 && launch->block_count <= 1 &&
         !launch->sync_start && !launch->after_count && !launch->predicate.tensor &&
         launch->predicate.compare == PTO_ALWAYS;
}

static inline int submit(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                         uint32_t count, struct pto_task *task_out) {
  if (!is_single(launch)) return submit_task(rt, PTO_TASK_KERNEL, launch, params, count, task_out);
  const int status = launch->aic ? submit_single(rt, launch->aic, params, count, PTO_SHAPE_AIC)
                                 : submit_single(rt, launch->aiv0, params, count, PTO_SHAPE_AIV);
  if (task_out && PTO_LIKELY(status == PTO_OK)) *task_out = newest_task(rt, rt->scopes[rt->scope_depth].ring);
  return status;
}

static int alloc_tensors(struct pto_runtime *rt, const struct pto_tensor *tensors, uint32_t count,
                         struct pto_task *task_out) {
  int status = pto_runtime_check(rt);
  if (status) return status;
  if (count > PTO_MAX_TENSORS)
    return PTO_REFUSE(rt, PTO_EINVAL, "alloc_tensors: more than %u tensors", PTO_MAX_TENSORS);
  if (count && !tensors) return PTO_REFUSE(rt, PTO_EINVAL, "alloc_tensors: %u tensors at a null pointer", count);
  struct pto_param params[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < count; i++) {
    struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &tensors[i].buffer);
    if (record && record->addr)
      return PTO_REFUSE(rt, PTO_EINVAL, "alloc_tensors: param %u: buffer %llu has memory already", i,
                        (unsigned long long)record->id);
    params[i] = pto_output(&tensors[i]);
  }
  struct pto_launch launch = {0};
  return submit_task(rt, PTO_TASK_ALLOC, &launch, params, count, task_out);
}

/* ---- the public calls ---- */

static int submit_by_kind(struct pto_runtime *rt, const struct pto_noted_submit *noted, struct pto_task *task_out) {
  switch (noted->which) {
  case PTO_CALL_SUBMIT:
    return submit(rt, noted->launch, noted->params, noted->count, task_out);
  case PTO_CALL_AIC:
    return submit_single(rt, noted->launch->aic, noted->params, noted->count, PTO_SHAPE_AIC);
  case PTO_CALL_AIV:
    return submit_single(rt, noted->launch->aiv0, noted->params, noted->count, PTO_SHAPE_AIV);
  case PTO_CALL_BARRIER:
    return submit_task(rt, PTO_TASK_BARRIER, noted->launch, NULL, 0, task_out);
  case PTO_CALL_ALLOC:
    return alloc_tensors(rt, noted->tensors, noted->count, task_out);
  }
  return PTO_EINVAL;
}

PTO_COLD int pto_submit_noted(struct pto_runtime *rt, const struct pto_noted_submit *noted, struct pto_task *task_out) {
  rt->call = noted->call;
  const int status = submit_by_kind(rt, noted, task_out);
  if (status == PTO_OK && rt->kept_submits) pto_kept_submits_add_submit(rt->kept_submits, noted);
  return status;
}

static PTO_COLD int note_single(struct pto_runtime *rt, const struct pto_launch *launch, const void *call,
                                const struct pto_param *params, uint32_t count) {
  return pto_submit_noted(rt,
                          &(struct pto_noted_submit){.which = launch->aic ? PTO_CALL_AIC : PTO_CALL_AIV,
                                                     .call = call,
                                                     .launch = launch,
                                                     .params = params,
                                                     .count = count},
                          NULL);
}

int pto_submit(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params, uint32_t count,
               struct pto_task *task_out) {
  if (PTO_UNLIKELY(!launch)) return PTO_REFUSE(rt, PTO_EINVAL, "no launch");
  if (PTO_LIKELY(!rt->is_noted)) return submit(rt, launch, params, count, task_out);
  const struct pto_noted_submit noted = {PTO_CALL_SUBMIT, PTO_CALLER(), launch, params, NULL, count};
  return pto_submit_noted(rt, &noted, task_out);
}

int pto_submit_aic(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                   uint32_t count) {
  if (PTO_LIKELY(!rt->is_noted)) return submit_single(rt, kernel, params, count, PTO_SHAPE_AIC);
  return note_single(rt, &(struct pto_launch){.aic = kernel}, PTO_CALLER(), params, count);
}

int pto_submit_aiv(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                   uint32_t count) {
  if (PTO_LIKELY(!rt->is_noted)) return submit_single(rt, kernel, params, count, PTO_SHAPE_AIV);
  return note_single(rt, &(struct pto_launch){.aiv0 = kernel}, PTO_CALLER(), params, count);
}

int pto_submit_barrier(struct pto_runtime *rt, const struct pto_task *after, uint32_t count,
                       struct pto_task *task_out) {
  const struct pto_launch launch = {.after = after, .after_count = count};
  if (PTO_LIKELY(!rt->is_noted)) return submit_task(rt, PTO_TASK_BARRIER, &launch, NULL, 0, task_out);
  const struct pto_noted_submit noted = {.which = PTO_CALL_BARRIER, .call = PTO_CALLER(), .launch = &launch};
  return pto_submit_noted(rt, &noted, task_out);
}

int pto_alloc_tensors(struct pto_runtime *rt, const struct pto_tensor *tensors, uint32_t count,
                      struct pto_task *task_out) {
  if (PTO_LIKELY(!rt->is_noted)) return alloc_tensors(rt, tensors, count, task_out);
  const struct pto_launch launch = {0};
  const struct pto_noted_submit noted = {PTO_CALL_ALLOC, PTO_CALLER(), &launch, NULL, tensors, count};
  return pto_submit_noted(rt, &noted, task_out);
}
