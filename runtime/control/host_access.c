/* SPDX-License-Identifier: MIT */
#include <runtime/control/runtime_state.h>

#include <string.h>

#include <runtime/base/probe.h>
#include <runtime/control/value_source.h>
#include <runtime/tensor/region_runs.h>
#include <runtime/tensor/tensor_make.h>

/* Bytes that the host is about to read or write, of a tensor or all of it. */
struct host_bytes {
  const struct pto_buffer_record *record;
  const struct pto_region *region, *tensor;
  bool is_write, is_move;
};

static PTO_COLD void record_access(struct pto_runtime *rt, const struct host_bytes *bytes, const void *call) {
  const struct pto_buffer_record *record = bytes->record;
  struct pto_trace_host_access *access = pto_trace_log_append(&rt->trace.host_accesses);
  if (!access) return;
  *access = (struct pto_trace_host_access){.begin = bytes->region->start,
                                           .end = bytes->region->end,
                                           .tensor_begin = bytes->tensor->start,
                                           .tensor_end = bytes->tensor->end,
                                           .buffer_base = record->addr,
                                           .buffer_number = record->id,
                                           .task_count = rt->task_count,
                                           .call = bytes->is_move ? rt->move_call : call,
                                           .outer_call = bytes->is_move ? rt->move_outer_call : NULL,
                                           .is_write = bytes->is_write,
                                           .is_move = bytes->is_move,
                                           .is_managed = record->kind == PTO_BUFFER_MANAGED,
                                           .is_released = record->is_released,
                                           .buffer_label = pto_buffer_registry_label(&rt->buffers, record)};
}

/* For the wait picture. */
static void note_access(struct pto_runtime *rt, const struct host_bytes *bytes, uint32_t slot) {
  rt->doing = (struct pto_doing){.kind = bytes->is_write ? PTO_DOING_HOST_WRITE : PTO_DOING_HOST_READ,
                                 .task_number = rt->task_count,
                                 .buffer_number = bytes->record->id,
                                 .begin = bytes->region->start - bytes->record->addr,
                                 .end = bytes->region->end - bytes->record->addr,
                                 .awaited_slot = slot};
}

static void begin_waiting(struct pto_runtime *rt) {
  rt->stall_count++;
  PTO_PROBE2(stall_begin, PTO_STALL_host_access, rt->task_count);
}

static void record_host_access(struct pto_runtime *rt, uint64_t begin, bool has_waited) {
  if (has_waited) PTO_PROBE1(stall_end, PTO_STALL_host_access);
  pto_progress_record(rt, (struct pto_trace_control){.begin = begin,
                                                     .activity = PTO_CONTROL_HOST_ACCESS,
                                                     .stall = has_waited ? PTO_STALL_host_access : PTO_STALL_none,
                                                     .task = (uint32_t)rt->task_count});
}

/* The rule creator-edges, for the host as for tasks. */
static uint32_t unfinished_creator(const struct pto_runtime *rt, const struct pto_buffer_record *record) {
  if (record->kind != PTO_BUFFER_MANAGED || !(rt->hazards.table.named & PTO_DEPS_NAMED_CREATOR_EDGES))
    return UINT32_MAX;
  const bool has_finished = pto_task_state_has_finished(rt->rings.slots[record->owner_slot].state);
  return has_finished ? UINT32_MAX : record->owner_slot;
}

static bool touches(const struct pto_payload *payload, const struct pto_region *bytes) {
  for (uint32_t i = 0; i < payload->tensor_count; i++) {
    struct pto_region region;
    pto_region_from_kernel_tensor(&payload->tensors[i], &region);
    if (pto_region_intersects(&region, bytes, NULL)) return true;
  }
  return false;
}

/* The rule host-waits-for-readers: an unfinished task on the bytes that was submitted after the tensor's allocation or
 * first writer.  The map has no readers under these rules, so the tasks are asked: a write by the host is rare. */
static uint32_t unfinished_reader(struct pto_runtime *rt, const struct host_bytes *bytes) {
  const struct pto_buffer_record *record = bytes->record;
  const uint32_t named = rt->hazards.table.named;
  if (!bytes->is_write || !(named & PTO_DEPS_NAMED_HOST_WAITS_FOR_READERS)) return UINT32_MAX;
  const bool has_creator = record->kind == PTO_BUFFER_MANAGED && (named & PTO_DEPS_NAMED_CREATOR_EDGES);
  const uint32_t first =
      has_creator ? record->owner_slot : pto_hazards_first_writer(&rt->hazards, record->space, bytes->tensor);
  if (first == UINT32_MAX) return UINT32_MAX;
  const uint32_t number = pto_task_slot_number(&rt->rings.slots[first]);
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &rt->rings.rings[r];
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      const uint32_t index = pto_task_slot_index(&rt->rings, r, s);
      const struct pto_task_slot *slot = &rt->rings.slots[index];
      if (pto_task_slot_has_payload(slot) && (int32_t)(pto_task_slot_number(slot) - number) > 0 &&
          touches(slot->payload, bytes->region))
        return index;
    }
  }
  return UINT32_MAX;
}

static uint32_t find_unfinished(struct pto_runtime *rt, const struct host_bytes *bytes) {
  uint32_t slot = unfinished_creator(rt, bytes->record);
  if (slot == UINT32_MAX)
    slot = pto_hazards_find_unfinished(&rt->hazards, bytes->record->space, bytes->region, bytes->is_write);
  return slot == UINT32_MAX ? unfinished_reader(rt, bytes) : slot;
}

/* Waits for every task on these bytes that the rules make the host wait for. */
static int wait_for_bytes(struct pto_runtime *rt, const struct host_bytes *bytes) {
  pto_progress_poll(rt);
  bool has_waited = false;
  const uint64_t begin_time = pto_progress_now(rt);
  for (;;) {
    if (rt->has_failed) return rt->error.status;
    const uint32_t slot = find_unfinished(rt, bytes);
    if (slot == UINT32_MAX) break;
    note_access(rt, bytes, slot);
    if (!has_waited) begin_waiting(rt);
    has_waited = true;
    /* the scope is open or not, the slot cannot be given to another task while the host waits */
    while (!pto_task_state_has_finished(rt->rings.slots[slot].state)) {
      int status = pto_progress_wait(rt);
      if (status) return status;
    }
  }
  if (has_waited) {
    rt->doing = pto_doing_nothing;
    pto_progress_resume(rt);
  }
  const uint64_t clock = pto_orchestrator_clock(rt); /* 0 where time is real */
  if (rt->port->is_virtual) pto_port_charge(rt->port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_HOST_ACCESS, 1);
  if (pto_trace_has_segments(&rt->trace)) {
    if (has_waited)
      pto_trace_add_segment(&rt->trace.segments, (struct pto_trace_segment){.begin = begin_time,
                                                                            .end = clock,
                                                                            .task = PTO_SEGMENT_NO_TASK,
                                                                            .core = PTO_SEGMENT_NO_CORE,
                                                                            .activity = PTO_ACTIVITY_wait_host_access});
    pto_add_segment(rt, PTO_ACTOR_ORCHESTRATOR, PTO_ACTIVITY_host_access, clock, PTO_SEGMENT_NO_TASK);
  }
  record_host_access(rt, begin_time, has_waited);
  return PTO_OK;
}

/* Once the host has touched the bytes. */
static void ask_behind(struct pto_runtime *rt) {
  if (PTO_UNLIKELY(rt->port->asks_behind)) pto_progress_poll(rt);
}

/* An element that the orchestration asks for. */
struct host_element {
  const void *call;
  const char *what; /* the call, for sentences */
  const struct pto_tensor *tensor;
  const uint64_t *index;
  const void *value;
  bool is_write;
};

/* The element as a tensor of rank 0; its address, and for 4-bit types which nibble. */
static int locate(struct pto_runtime *rt, const struct host_element *wanted, char **addr, uint32_t *shift) {
  const char *what = wanted->what;
  const struct pto_tensor *t = wanted->tensor;
  const uint64_t *index = wanted->index;
  int status = pto_runtime_check(rt);
  if (status) return status;
  status = pto_runtime_check_unrecorded(rt, what);
  if (status) return status;
  if (rt->call_list) pto_call_list_spoil(rt->call_list); /* what follows may depend on the element */
  if (!t || !wanted->value) return PTO_REFUSE(rt, PTO_EINVAL, "%s: null %s", what, t ? "value" : "tensor");
  status = pto_tensor_check(t);
  if (status) {
    char text[256];
    struct pto_tensor refused = pto_tensor_refused(t, PTO_MAKER_TENSOR);
    pto_tensor_explain(&refused, text, sizeof text);
    return PTO_REFUSE(rt, status, "%s: %s", what, text);
  }
  const struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (!record)
    return PTO_REFUSE(rt, PTO_ESTALE, "%s: buffer %llu is used after its scope has ended, or in another runtime", what,
                      (unsigned long long)t->buffer.id);
  if (!record->addr)
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: nothing has written buffer %llu yet", what, (unsigned long long)record->id);
  if (wanted->is_write && pto_tensor_shares_bytes(t))
    return PTO_REFUSE(rt, PTO_EINVAL, "%s: elements of the tensor share bytes; such a tensor may be read, not written",
                      what);
  if (t->ndims && !index) return PTO_REFUSE(rt, PTO_EINVAL, "%s: a tensor of rank %u needs an index", what, t->ndims);
  uint64_t element = t->start_offset;
  for (uint32_t d = 0; d < t->ndims; d++) {
    if (index[d] >= t->shape[d])
      return PTO_REFUSE(rt, PTO_EINVAL, "%s: index %llu of dimension %u is beyond its extent %llu", what,
                        (unsigned long long)index[d], d, (unsigned long long)t->shape[d]);
    element += index[d] * t->strides[d];
  }
  bool is_nibble = pto_dtype_bits(t->dtype) == 4;
  uint64_t size = pto_dtype_size(t->dtype);
  uint64_t offset = is_nibble ? element / 2 : element * size;
  *shift = is_nibble ? 4 * (uint32_t)(element & 1) : UINT32_MAX;
  *addr = (char *)(uintptr_t)(record->addr + offset);
  struct pto_region region = {.start = record->addr + offset, .end = record->addr + offset + size, .run_bytes = size};
  struct pto_region tensor;
  pto_region_from_tensor(t, record->addr, &tensor);
  const struct host_bytes bytes = {record, &region, &tensor, wanted->is_write, false};
  if (pto_trace_has_tasks(&rt->trace)) record_access(rt, &bytes, wanted->call);
  return wait_for_bytes(rt, &bytes);
}

/* ---- whole tensors ---- */

static int acquire(struct pto_runtime *rt, const struct pto_tensor *t, bool is_write, bool is_going) {
  int status = pto_runtime_check(rt);
  if (status == PTO_OK) status = pto_tensor_check(t);
  if (status) return status;
  const struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &t->buffer);
  if (!record || (!record->addr && record->size_bytes))
    return PTO_REFUSE(rt, PTO_ESTALE, "acquire: buffer %llu has no memory", (unsigned long long)t->buffer.id);
  if (pto_tensor_is_empty(t)) return PTO_OK;
  struct pto_region region;
  pto_region_from_tensor(t, record->addr, &region);
  const struct host_bytes bytes = {record, &region, &region, is_write, true};
  if (pto_trace_has_tasks(&rt->trace) && region.ndims == 0) /* with gaps it orders less than its range */
    record_access(rt, &bytes, NULL);
  status = wait_for_bytes(rt, &bytes);
  if (status || !is_going) return status;
  pto_hazards_forget(&rt->hazards, record->space, &region);
  ask_behind(rt);
  return PTO_OK;
}

int pto_host_acquire(struct pto_runtime *rt, const struct pto_tensor *t, bool is_write) {
  return acquire(rt, t, is_write, false);
}

int pto_host_release(struct pto_runtime *rt, const struct pto_tensor *t) { return acquire(rt, t, true, true); }

void pto_host_call_from(struct pto_runtime *rt, const void *call, const void *outer_call, uint64_t dispatch,
                        bool has_tasks) {
  rt->dispatch = dispatch;
  rt->move_call = call;
  rt->move_outer_call = outer_call;
  rt->place = has_tasks ? call : NULL;
}

bool pto_host_help(struct pto_runtime *rt) {
  return !rt->has_failed && rt->completed_count < rt->task_count && pto_progress_wait(rt) == PTO_OK;
}

void pto_host_resume(struct pto_runtime *rt) { pto_progress_resume(rt); }

void pto_host_wait_until(struct pto_runtime *rt, uint64_t ps) {
  if (!rt->port->is_virtual) return;
  const uint64_t begin = pto_orchestrator_clock(rt);
  rt->port->ops->resume(rt->port, ps);
  if (pto_trace_has_segments(&rt->trace))
    pto_add_segment(rt, PTO_ACTOR_ORCHESTRATOR, PTO_ACTIVITY_wait_event, begin, PTO_SEGMENT_NO_TASK);
  pto_progress_poll(rt);
}

void pto_host_place(struct pto_runtime *rt, const uint16_t *core_of_task, uint64_t count) {
  rt->scheduler.core_of_task = core_of_task;
  rt->scheduler.placed_count = count;
}

void pto_host_finish_tasks(struct pto_runtime *rt) {
  struct pto_stall stall = {0};
  if (rt->completed_count < rt->task_count) pto_stall_for(rt, &stall, PTO_STALL_sync);
  while (pto_host_help(rt)) {
  }
  pto_stall_end(rt, &stall);
  struct pto_trace_host_access *sync =
      pto_trace_has_tasks(&rt->trace) ? pto_trace_log_append(&rt->trace.host_accesses) : NULL;
  if (sync) *sync = (struct pto_trace_host_access){.task_count = rt->task_count, .is_sync = true};
}

void pto_host_call(struct pto_runtime *rt) {
  if (rt->port->call) rt->port->call(rt->port);
}

bool pto_host_has_failed(const struct pto_runtime *rt) { return rt->has_failed; }

uint32_t pto_host_rules(const struct pto_runtime *rt) { return rt->config.deps; }

uint32_t pto_host_scope_depth(const struct pto_runtime *rt) { return rt->scope_depth; }

void pto_host_move(struct pto_runtime *rt, const struct pto_host_move *move) {
  const uint64_t begin = pto_progress_now(rt);
  memcpy(move->to, move->from, move->size_bytes);
  rt->move_count++;
  rt->moved_bytes += move->size_bytes;
  if (rt->port->is_virtual) rt->port->clock += move->ps;
  if (pto_trace_has_segments(&rt->trace))
    pto_add_segment(rt, PTO_ACTOR_CURRENT,
                    (enum pto_activity)(PTO_ACTIVITY_to_device + (move->activity - PTO_CONTROL_TO_DEVICE)), begin,
                    PTO_SEGMENT_NO_TASK);
  pto_progress_record(rt, (struct pto_trace_control){.begin = begin,
                                                     .moved_bytes = move->size_bytes,
                                                     .activity = (uint16_t)move->activity,
                                                     .task = (uint32_t)rt->task_count});
  ask_behind(rt);
}

_Static_assert(PTO_ARRAY_LENGTH(((struct pto_host_mark *)NULL)->heads) == PTO_RING_COUNT, "a place a ring");

void pto_host_mark(const struct pto_runtime *rt, struct pto_host_mark *mark) {
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) mark->heads[r] = rt->rings.rings[r].head;
}

bool pto_host_has_finished(const struct pto_runtime *rt, const struct pto_host_mark *from,
                           const struct pto_host_mark *to) {
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const uint64_t tail = rt->rings.rings[r].tail;
    uint64_t s = (int64_t)(from->heads[r] - tail) > 0 ? from->heads[r] : tail; /* what was retired has completed */
    for (; (int64_t)(to->heads[r] - s) > 0; s++)
      if (!pto_task_state_has_finished(rt->rings.slots[pto_task_slot_index(&rt->rings, r, s)].state)) return false;
  }
  return true;
}

/* ---- elements ---- */

int pto_read_element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index, void *value) {
  char *addr;
  uint32_t shift;
  struct host_element wanted = {PTO_CALLER(rt), "read_element", t, index, value, false};
  int status = locate(rt, &wanted, &addr, &shift);
  if (status) return status;
  if (PTO_UNLIKELY(rt->watch != NULL))
    rt->watch->host_reads(rt->watch->context, (uint64_t)(uintptr_t)addr, pto_dtype_size(t->dtype), wanted.call);
  if (PTO_UNLIKELY(rt->config.no_compute)) {
    const struct pto_value_question question = {
        .addr = addr, .dtype = t->dtype, .task = rt->task_count, .call = wanted.call};
    return pto_value_ask(rt, &question, value);
  }
  if (shift == UINT32_MAX) {
    memcpy(value, addr, pto_dtype_size(t->dtype));
  } else {
    uint8_t nibble = (uint8_t)(*(uint8_t *)addr >> shift & 15);
    *(int8_t *)value = t->dtype == PTO_INT4 && nibble > 7 ? (int8_t)(nibble - 16) : (int8_t)nibble;
  }
  ask_behind(rt);
  return PTO_OK;
}

static PTO_COLD void report_written(const struct pto_runtime *rt, char *addr, uint64_t size_bytes) {
  uint64_t lo = (uint64_t)(uintptr_t)addr;
  if (rt->arena.is_checked && pto_gm_arena_overlaps(&rt->arena, lo, lo + size_bytes))
    pto_memory_mark_written(addr, size_bytes);
  if (rt->watch) rt->watch->host_writes(rt->watch->context, lo, size_bytes);
}

int pto_write_element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index, const void *value) {
  char *addr;
  uint32_t shift;
  struct host_element wanted = {PTO_CALLER(rt), "write_element", t, index, value, true};
  int status = locate(rt, &wanted, &addr, &shift);
  if (status) return status;
  if (PTO_UNLIKELY(rt->is_memory_watched)) report_written(rt, addr, pto_dtype_size(t->dtype));
  if (shift == UINT32_MAX)
    memcpy(addr, value, pto_dtype_size(t->dtype));
  else
    *(uint8_t *)addr = (uint8_t)((*(uint8_t *)addr & (0xf0 >> shift)) | ((*(const uint8_t *)value & 15) << shift));
  ask_behind(rt);
  return PTO_OK;
}
