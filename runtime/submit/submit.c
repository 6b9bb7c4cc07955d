/* SPDX-License-Identifier: MIT */
#include <runtime/submit/submit.h>

#include <stdio.h>

#include <runtime/base/call_stack.h>
#include <runtime/base/probe.h>
#include <runtime/submit/record.h>
#include <runtime/submit/recorded.h>
#include <runtime/submit/template.h>
#include <runtime/trace/place.h>

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

/* What a parameter touches; false where it is no access: in place with an output, or what the rules do not look at. */
static bool find_access(const struct pto_submit_work *submit, const struct pto_param_work *work,
                        struct pto_access *access_out) {
  for (uint32_t i = 0; i < submit->access_count; i++)
    if ((submit->accesses[i].tag & PTO_TAG_PARAM_MASK) == work->index) {
      *access_out = submit->accesses[i];
      return true;
    }
  if (work->mode != PTO_HOLD) return false;
  *access_out = (struct pto_access){.buffer_number = work->record->id, .tag = work->index};
  pto_region_from_tensor(work->tensor, work->record->addr, &access_out->region);
  return true;
}

/* The rule creator-edges: of every parameter but those allocated now. */
static PTO_COLD void add_creators(struct pto_runtime *rt, const struct pto_submit_work *submit) {
  for (uint32_t i = 0; i < submit->work_count; i++) {
    const struct pto_param_work *work = &submit->params[i];
    struct pto_access access;
    if (work->record->kind != PTO_BUFFER_MANAGED || work->is_empty || work->is_allocated_now) continue;
    if (find_access(submit, work, &access)) pto_hazards_creator(&rt->hazards, work->record->owner_slot, &access);
  }
}

/* ---- one task ---- */

/* Outputs get their memory: one piece of the heap ring, each aligned, in the order of the parameters. */
static int give_memory(struct pto_runtime *rt, struct pto_submit_work *submit, uint32_t slot, char *piece) {
  for (uint32_t i = 0; i < submit->tensor_count; i++) {
    struct pto_param_work *work = &submit->params[i];
    if (!work->is_allocated_now) continue;
    if (!pto_buffers_set_memory(rt, work->tensor, work->record, piece, slot)) {
      pto_space_note_table(rt, PTO_DOING_SUBMIT, "address spaces of the map", rt->map.space_capacity, submit);
      return pto_runtime_fail(rt, PTO_ECAPACITY, "live buffers fill the map's %u address spaces",
                              rt->map.space_capacity);
    }
    if (work->initial && !rt->config.no_compute) /* without kernels, none reads it */
      pto_buffers_fill(rt, work->record, work->tensor->dtype, work->initial->bits);
    piece += pto_align_up(work->record->size_bytes, PTO_OUTPUT_ALIGN) << rt->arena.spread_log2;
    if (work->is_empty) continue;
    struct pto_access *access = &submit->accesses[submit->access_count++];
    pto_region_from_tensor(work->tensor, work->record->addr, &access->region);
    pto_access_set_region(access);
    submit->has_fuzzy |= access->region.is_fuzzy;
    access->space = work->record->space;
    access->buffer_number = work->record->id;
    access->tag = (uint16_t)(work->index | PTO_TAG_WRITE | PTO_TAG_CREATES);
  }
  return PTO_OK;
}

static void advance_versions(struct pto_runtime *rt, const struct pto_submit_work *submit) {
  for (uint32_t i = 0; i < submit->tensor_count; i++) {
    const struct pto_param_work *work = &submit->params[i];
    if (work->mode == PTO_OUTPUT && work->tensor->version > work->record->version)
      work->record->version = work->tensor->version;
  }
  pto_buffer_registry_note_change(&rt->buffers);
}

static PTO_COLD int fail_map(struct pto_runtime *rt, const struct pto_submit_work *submit) {
  pto_space_note_table(rt, PTO_DOING_SUBMIT, "region map", rt->map.entry_capacity, submit);
  return pto_runtime_fail(rt, PTO_ECAPACITY, "accesses of live tasks fill the region map of %u entries",
                          rt->map.entry_capacity);
}
static PTO_COLD int fail_chunks(struct pto_runtime *rt, const struct pto_submit_work *submit) {
  pto_space_note_table(rt, PTO_DOING_SUBMIT, "list chunks", rt->chunks.capacity, submit);
  return pto_runtime_fail(rt, PTO_ECAPACITY, "edges and accesses of live tasks fill the %u list chunks",
                          rt->chunks.capacity);
}

/* What of a submit the optional prices make another: the difference to those that they stand for.  And edges that a
 * scheduler wires. */
static PTO_NOINLINE void charge_more(struct pto_runtime *rt, const struct pto_submit_work *submit, bool is_alloc,
                                     uint32_t lookups, uint64_t edges) {
  struct pto_port *port = rt->port;
  const uint64_t *ps = port->work_ps;
  if (is_alloc) port->clock += ps[PTO_WORK_ALLOC_TENSORS] - ps[PTO_WORK_SUBMIT];
  if (rt->task_count == 1) port->clock += ps[PTO_WORK_FIRST_SUBMIT];
  if (rt->hazards.is_manual) {
    port->clock += (ps[PTO_WORK_MANUAL_LOOKUP] - ps[PTO_WORK_LOOKUP]) * lookups;
  } else if (ps[PTO_WORK_LOOKUP_ENTRY]) {
    for (uint32_t i = 0; i < submit->access_count; i++)
      port->clock += ps[PTO_WORK_LOOKUP_ENTRY] * rt->map.spaces[submit->accesses[i].space].entry_count;
  }
  if (port->ops->wire && edges) port->ops->wire(port, edges);
}

static void charge_submit(struct pto_runtime *rt, const struct pto_submit_work *submit,
                          const struct pto_submit_request *request, uint64_t edges) {
  struct pto_port *port = rt->port;
  uint32_t allocated = 0;
  for (uint32_t i = 0; submit->allocates && i < submit->tensor_count; i++)
    allocated += submit->params[i].is_allocated_now;
  const uint32_t lookups = pto_hazards_looks_nothing_up(&rt->hazards) ? 0 : submit->access_count;
  PTO_ASSERT(!port->is_scheduler); /* the clock is the orchestrator's, which pays for all five */
  const uint64_t *ps = port->work_ps, begin = port->clock;
  port->clock += ps[PTO_WORK_SUBMIT] + ps[PTO_WORK_PARAM] * request->count + ps[PTO_WORK_LOOKUP] * lookups +
                 ps[PTO_WORK_ALLOC] * allocated + ps[PTO_WORK_EDGE] * edges;
  if (PTO_UNLIKELY(port->has_more_prices)) charge_more(rt, submit, request->kind == PTO_TASK_ALLOC, lookups, edges);
  if (pto_trace_has_segments(&rt->trace)) pto_record_charges(rt, request, begin, allocated, edges);
}

static PTO_COLD void set_predicate(struct pto_runtime *rt, const struct pto_submit_work *submit,
                                   const struct pto_predicate *predicate, uint32_t slot_index) {
  const struct pto_param_work *work = &submit->params[submit->work_count - 1];
  struct pto_task_cold *cold = &rt->rings.cold[slot_index];
  rt->rings.slots[slot_index].flags |= PTO_TASK_HAS_PREDICATE;
  cold->predicate_addr =
      (const char *)(uintptr_t)work->record->addr + work->tensor->start_offset * pto_dtype_size(work->tensor->dtype);
  cold->predicate_dtype = (uint16_t)work->tensor->dtype;
  cold->predicate_compare = (uint16_t)predicate->compare;
  cold->predicate_value = predicate->value;
}

/* The handle of the task that was given the ring's last slot. */
static struct pto_task newest_task(const struct pto_runtime *rt, uint32_t ring) {
  return (struct pto_task){((uint64_t)ring << 62) | (rt->rings.rings[ring].head - 1), rt->task_generation};
}

static PTO_INLINE void fill_slot(struct pto_task_slot *slot, const struct pto_submit_work *submit, uint64_t number) {
  slot->shape = submit->shape;
  slot->flags = submit->slot_flags;
  slot->block_count = slot->blocks_left = submit->block_count;
  slot->messages_left = submit->message_count;
  if (PTO_LIKELY(submit->payload != NULL))
    submit->payload->task_number = number;
  else
    slot->number = (uint32_t)number;
}

/* The edges that are known without a look at bytes. */
static PTO_NOINLINE void add_known(struct pto_runtime *rt, const struct pto_submit_work *submit,
                                   const struct pto_launch *launch) {
  add_explicit(rt, launch->after, launch->after_count);
  if (rt->hazards.has_creator_edges && submit->held_count) add_creators(rt, submit);
}

/* What few submits need beside a slot and edges. */
struct more {
  uint64_t begin_time;
  char *piece;                /* memory of its outputs */
  uint64_t first_edge, edges; /* of the record, of the run: before its own */
};

static PTO_NOINLINE int reserve(struct pto_runtime *rt, const struct pto_submit_work *submit, uint32_t *slot_out,
                                struct more *more) {
  pto_record_part_begin(rt, more->begin_time);
  if (rt->trace.record) pto_record_part_end(rt, PTO_SUBMIT_PARAMS, pto_record_kernels(rt));
  return pto_space_reserve(rt, submit, slot_out, &more->piece);
}

static PTO_COLD void keep_label(struct pto_runtime *rt, uint32_t slot_index, const char *label) {
  struct pto_task_cold *cold = &rt->rings.cold[slot_index];
  cold->label = label;
  cold->label_number = (uint32_t)(rt->task_count - 1);
  cold->label_run = (uint32_t)(rt->task_generation >> 32);
}

static PTO_NOINLINE int before_edges(struct pto_runtime *rt, struct pto_submit_work *submit,
                                     const struct pto_submit_request *request, uint32_t slot_index, struct more *more) {
  const struct pto_launch *launch = request->launch;
  if (launch->label) keep_label(rt, slot_index, launch->label);
  if (request->kind == PTO_TASK_EMPTY) rt->rings.slots[slot_index].number = (uint32_t)(rt->task_count - 1);
  const int status = submit->allocates ? give_memory(rt, submit, slot_index, more->piece) : PTO_OK;
  if (rt->trace.record) pto_record_part_end(rt, PTO_SUBMIT_ALLOCATION, pto_record_kernels(rt));
  if (launch->predicate.compare != PTO_ALWAYS) set_predicate(rt, submit, &launch->predicate, slot_index);
  if (pto_trace_has_tasks(&rt->trace))
    more->first_edge = pto_record_task(rt, submit, request, slot_index, more->begin_time);
  more->edges = rt->hazards.edges;
  pto_record_part_begin(rt, pto_progress_now(rt));
  return status;
}

static void poll(struct pto_runtime *rt) {
  const uint64_t kernels = pto_record_kernels(rt);
  pto_record_part_begin(rt, pto_progress_now(rt));
  if (!rt->port->is_virtual || rt->port->clock >= rt->port->quiet_until) pto_progress_poll(rt);
  if (rt->trace.record) pto_record_part_end(rt, PTO_SUBMIT_COMPLETIONS, kernels);
}

/* The task is handed on, too. */
static PTO_NOINLINE int after_edges(struct pto_runtime *rt, struct pto_submit_work *submit,
                                    const struct pto_submit_request *request, uint32_t slot_index, struct more *more) {
  const uint64_t number = rt->task_count - 1;
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  if (rt->trace.record) pto_record_part_end(rt, PTO_SUBMIT_LOOKUPS, pto_record_kernels(rt));
  if (pto_trace_has_graph(&rt->trace)) pto_record_edges(rt, number, more->first_edge);
  if (submit->advances) advance_versions(rt, submit);
  pto_params_settle(rt, submit, slot_index);
  if (rt->call_list) pto_call_list_add_submit(rt->call_list, request);
  if (rt->port->is_virtual) charge_submit(rt, submit, request, rt->hazards.edges - more->edges);
  if (rt->trace.record) pto_record_part_begin(rt, pto_record_time(rt, slot, more->begin_time, number));
  if (--slot->pending == 0) {
    const uint64_t kernels = pto_record_kernels(rt);
    pto_progress_submitted(rt, slot_index);
    if (rt->trace.record) pto_record_part_end(rt, PTO_SUBMIT_DISPATCH, kernels);
  }
  if (rt->port->asks_behind) poll(rt);
  return PTO_OK;
}

/* Whether the run goes on; takes in what has completed. */
static PTO_NOINLINE int check_and_poll(struct pto_runtime *rt) {
  rt->since_poll = PTO_POLL_INTERVAL;
  const int status = pto_runtime_check(rt);
  if (status) return status;
  if (PTO_UNLIKELY(rt->config.stop != NULL) && pto_runtime_stops(rt)) return rt->error.status;
  poll(rt);
  return rt->has_failed ? rt->error.status : PTO_OK;
}

static PTO_INLINE int submit_one(struct pto_runtime *rt, const struct pto_submit_request *request,
                                 struct pto_task *task_out) {
  const struct pto_launch *launch = request->launch;
  struct pto_template *template = pto_template_of(rt, request);
  struct pto_submit_work *submit = &template->work;
  bool has_more = (launch->after_count | (uintptr_t)launch->label) != 0;
  if (PTO_UNLIKELY(++rt->since_poll >= PTO_POLL_INTERVAL)) {
    const int status = check_and_poll(rt);
    if (status) return status;
  }
  struct more more;
  more.begin_time = pto_progress_now(rt);
  int status = pto_template_prepare(rt, template, request);
  if (PTO_UNLIKELY(status)) return status;
  /* explicit dependencies, outputs, predicate, recording, …: one test for all of them (bench/notes/submit-path.md: 11
   * of 86 ns a task) */
  has_more |= submit->has_more | rt->has_listeners;
  if (PTO_UNLIKELY(has_more)) {
    if (rt->recorded) return pto_recorded_keep(rt, submit, request, task_out);
    status = check_after(rt, launch->after, launch->after_count);
  }
  uint32_t slot_index;
  if (PTO_UNLIKELY(has_more || pto_task_ring_is_full(rt->ring))) {
    if (!status) status = reserve(rt, submit, &slot_index, &more);
    if (status) return pto_params_drop(rt, submit, status);
  } else {
    slot_index = pto_task_ring_alloc(&rt->rings, rt->ring);
  }
  struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  const uint64_t number = rt->task_count++;
  fill_slot(slot, submit, number);
  if (PTO_UNLIKELY(has_more)) status = before_edges(rt, submit, request, slot_index, &more);
  if (PTO_UNLIKELY(status)) return pto_params_drop(rt, submit, status);
  if (PTO_UNLIKELY(!pto_access_map_make_room(&rt->map, submit->access_count)))
    return pto_params_drop(rt, submit, fail_map(rt, submit));
  pto_hazards_begin(&rt->hazards, slot);
  if (PTO_UNLIKELY(has_more)) add_known(rt, submit, launch);
  pto_hazards_enter(&rt->hazards, submit->accesses, submit->access_count, submit->has_fuzzy);
  if (PTO_UNLIKELY(!pto_hazards_end(&rt->hazards, slot))) return pto_params_drop(rt, submit, fail_chunks(rt, submit));
  slot->payload = submit->payload;
  if (task_out) *task_out = newest_task(rt, slot_index >> rt->rings.window_log2);
  PTO_PROBE2(submit, number, slot_index);
  if (PTO_UNLIKELY(has_more)) return after_edges(rt, submit, request, slot_index, &more);
  if (--slot->pending == 0) pto_progress_submitted(rt, slot_index);
  return PTO_OK;
}

/* ---- refused ---- */

static void describe_task(const struct pto_launch *launch, char *text, size_t size) {
  const struct pto_kernel *kernel = launch->aic ? launch->aic : launch->aiv0 ? launch->aiv0 : launch->aiv1;
  snprintf(text, size, "%s%s%s%s", kernel ? kernel->name : "no kernel", launch->label ? " \"" : "",
           launch->label ? launch->label : "", launch->label ? "\"" : "");
}

static void describe_tensors(const struct pto_runtime *rt, const struct pto_submit_request *request, char *text,
                             size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; request->params && i < request->count && i < PTO_MAX_PARAMS && used < size; i++) {
    const struct pto_tensor *t = request->params[i].value.tensor;
    if (request->params[i].mode == PTO_SCALAR || !t) continue;
    const struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
    const char *label = record ? pto_buffer_registry_label(&rt->buffers, record) : NULL;
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", label ? label : "buffer ");
    if (!label && used < size)
      used += (size_t)snprintf(text + used, size - used, "%llu", (unsigned long long)t->buffer.id);
  }
}

/* Counts a submit that was refused while the run goes on, and keeps what is to be told of the first.  Its status. */
static PTO_COLD int refused(struct pto_runtime *rt, const struct pto_submit_request *request, int status) {
  struct pto_refusals *refusals = &rt->refusals;
  if (rt->has_failed || !rt->is_running || refusals->count++) return status;
  refusals->task_number = rt->task_count;
  refusals->call = request->call;
  refusals->outer_call = pto_place_of(request->call) ? NULL : pto_call_stack_outer(request->call);
  refusals->error = rt->error;
  describe_task(request->launch, refusals->task, sizeof refusals->task);
  describe_tensors(rt, request, refusals->tensors, sizeof refusals->tensors);
  return status;
}

static PTO_INLINE int submit(struct pto_runtime *rt, const struct pto_submit_request *request,
                             struct pto_task *task_out) {
  const int status = submit_one(rt, request, task_out);
  return PTO_UNLIKELY(status) ? refused(rt, request, status) : PTO_OK;
}

/* ---- the public calls ---- */

void pto_call_from(struct pto_runtime *rt, const struct pto_place *place) { rt->place = pto_place_call(place); }

int pto_submit_request(struct pto_runtime *rt, const struct pto_submit_request *request, struct pto_task *task_out) {
  return submit(rt, request, task_out);
}

int pto_submit(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params, uint32_t count,
               struct pto_task *task_out) {
  if (PTO_UNLIKELY(!launch)) return PTO_REFUSE(rt, PTO_EINVAL, "no launch");
  if (PTO_UNLIKELY(launch->size > sizeof *launch))
    return PTO_REFUSE(rt, PTO_EINVAL, "launch.size is %zu and this library knows %zu bytes of it", launch->size,
                      sizeof *launch);
  const bool is_empty = launch->no_kernel;
  const struct pto_submit_request request = {launch,
                                             params,
                                             PTO_CALLER(rt),
                                             count,
                                             is_empty ? PTO_TASK_EMPTY : PTO_TASK_KERNEL,
                                             !is_empty && pto_launch_is_single(launch)};
  return pto_submit_request(rt, &request, task_out);
}

struct pto_task pto_submit_from(struct pto_submission *submission) {
  struct pto_runtime *rt = submission->rt;
  struct pto_task task = {0};
  submission->status = PTO_ESTALE;
  if (PTO_UNLIKELY(!rt)) return task;
  if (PTO_UNLIKELY(rt->is_running && !pthread_equal(rt->control_thread, pthread_self()))) {
    submission->status = PTO_REFUSE(rt, PTO_EINVAL, "a submit by another thread than that of the orchestration");
    return task;
  }
  const void *place = rt->place;
  if (submission->place) rt->place = pto_place_call(submission->place);
  submission->status = pto_submit(rt, submission->launch, submission->params, submission->count, &task);
  rt->place = place;
  return task;
}

/* A launch of one kernel alone, field by field: gcc clears a struct of this size by `rep stos`, which takes longer than
 * all of its stores. */
static inline void set_single(struct pto_launch *launch, const struct pto_kernel *aic, const struct pto_kernel *aiv0) {
  launch->size = 0;
  launch->aic = aic;
  launch->aiv0 = aiv0;
  launch->aiv1 = NULL;
  launch->block_count = 0;
  launch->sync_start = launch->no_kernel = false;
  launch->after = NULL;
  launch->after_count = launch->initial_count = 0;
  launch->predicate.tensor = NULL;
  launch->predicate.compare = PTO_ALWAYS;
  launch->initial = NULL;
  launch->label = NULL;
}

/* These two are the compiler's own copies of submit(), without the questions that they answer
 * (bench/notes/submit-path.md: 2.8 of 77 ns a task). */

int pto_submit_aic(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                   uint32_t count) {
  struct pto_launch launch;
  set_single(&launch, kernel, NULL);
  const struct pto_submit_request request = {&launch, params, PTO_CALLER(rt), count, PTO_TASK_KERNEL, kernel != NULL};
  return submit(rt, &request, NULL);
}

int pto_submit_aiv(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_param *params,
                   uint32_t count) {
  struct pto_launch launch;
  set_single(&launch, NULL, kernel);
  const struct pto_submit_request request = {&launch, params, PTO_CALLER(rt), count, PTO_TASK_KERNEL, kernel != NULL};
  return submit(rt, &request, NULL);
}

int pto_submit_barrier(struct pto_runtime *rt, const struct pto_task *after, uint32_t count,
                       struct pto_task *task_out) {
  const struct pto_launch launch = {.after = after, .after_count = count};
  const struct pto_submit_request request = {.launch = &launch, .call = PTO_CALLER(rt), .kind = PTO_TASK_BARRIER};
  return pto_submit_request(rt, &request, task_out);
}

int pto_alloc_tensors(struct pto_runtime *rt, const struct pto_tensor *tensors, uint32_t count,
                      struct pto_task *task_out) {
  const int status = pto_runtime_check(rt);
  if (status) return status;
  if (count > PTO_MAX_TENSORS)
    return PTO_REFUSE(rt, PTO_EINVAL, "alloc_tensors: more than %u tensors", PTO_MAX_TENSORS);
  if (count && !tensors) return PTO_REFUSE(rt, PTO_EINVAL, "alloc_tensors: %u tensors at a null pointer", count);
  struct pto_param params[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < count; i++) params[i] = pto_output(&tensors[i]);
  const struct pto_launch launch = {0};
  const struct pto_submit_request request = {&launch, params, PTO_CALLER(rt), count, PTO_TASK_ALLOC, false};
  return pto_submit_request(rt, &request, task_out);
}
