/* SPDX-License-Identifier: MIT */
#include <runtime/base/sized.h>
#include <runtime/control/runtime_state.h>

static PTO_COLD void record_begin(struct pto_runtime *rt, const struct pto_scope *scope, uint32_t depth) {
  struct pto_trace_scope *record = pto_trace_log_append(&rt->trace.scopes);
  if (!record) return;
  *record = (struct pto_trace_scope){.serial = scope->serial,
                                     .parent = depth ? rt->scopes[depth - 1].serial : UINT32_MAX,
                                     .kind = scope->kind,
                                     .depth = depth,
                                     .label = scope->label,
                                     .first_task = rt->task_count,
                                     .end_task = UINT64_MAX};
}

static PTO_COLD void record_end(struct pto_runtime *rt, const struct pto_scope *scope) {
  if (scope->serial >= rt->trace.scopes.count) return; /* the full log has dropped it */
  struct pto_trace_scope *record = pto_trace_log_at(&rt->trace.scopes, scope->serial);
  record->end_task = rt->task_count;
}

void pto_scopes_push(struct pto_runtime *rt, uint32_t depth, uint32_t kind) {
  uint32_t ring_index = pto_task_ring_of_depth(depth);
  struct pto_task_ring *ring = &rt->rings.rings[ring_index];
  rt->scopes[depth] = (struct pto_scope){.kind = kind,
                                         .serial = rt->scope_serial++,
                                         .ring = ring_index,
                                         .buffers = PTO_NONE,
                                         .begin_sequence = ring->head,
                                         .begin_heap = ring->heap.head};
  PTO_ASSERT((depth && rt->scopes[depth - 1].ring == ring_index) || ring->open_begin == ring->head);
  rt->scope_depth = depth;
  rt->ring = ring;
  if (pto_trace_has_tasks(&rt->trace)) record_begin(rt, &rt->scopes[depth], depth);
  pto_hazards_set_manual(&rt->hazards, kind == PTO_SCOPE_MANUAL);
}

/* What was submitted since the scope began belongs to it or to scopes that ended within it; so where no open scope has
 * an older task in the ring, all of the ring's tasks belong to scopes that have ended now. */
void pto_scopes_pop(struct pto_runtime *rt) {
  struct pto_scope *scope = &rt->scopes[rt->scope_depth];
  struct pto_task_ring *ring = &rt->rings.rings[scope->ring];
  if (pto_trace_has_tasks(&rt->trace)) record_end(rt, scope);
  pto_buffers_end_scope(rt, &scope->buffers);
  if ((int64_t)(ring->open_begin - scope->begin_sequence) >= 0) {
    ring->open_begin = ring->head;
    if (PTO_LIKELY(!rt->config.keep_released)) ring->released_end = ring->open_begin;
    pto_task_ring_retire(&rt->rings, scope->ring);
  }
  if (rt->scope_depth) rt->scope_depth--;
  rt->ring = &rt->rings.rings[rt->scopes[rt->scope_depth].ring];
  pto_hazards_set_manual(&rt->hazards, rt->scopes[rt->scope_depth].kind == PTO_SCOPE_MANUAL);
}

static void charge_scope(struct pto_runtime *rt) {
  uint64_t begin_time = pto_progress_now(rt);
  const uint64_t clock = pto_orchestrator_clock(rt); /* 0 where time is real */
  if (rt->port->is_virtual) pto_port_charge(rt->port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SCOPE, 1);
  if (pto_trace_has_segments(&rt->trace))
    pto_add_segment(rt, PTO_ACTOR_ORCHESTRATOR, PTO_ACTIVITY_scope, clock, PTO_SEGMENT_NO_TASK);
  pto_progress_record(rt, (struct pto_trace_control){
                              .begin = begin_time, .activity = PTO_CONTROL_SCOPE, .task = (uint32_t)rt->task_count});
}

void pto_scope_label(struct pto_runtime *rt, const char *label) {
  if (pto_runtime_check(rt)) return;
  struct pto_scope *scope = &rt->scopes[rt->scope_depth];
  scope->label = label;
  if (pto_trace_has_tasks(&rt->trace) && scope->serial < rt->trace.scopes.count)
    ((struct pto_trace_scope *)pto_trace_log_at(&rt->trace.scopes, scope->serial))->label = label;
}

void pto_scope_statistics(const struct pto_runtime *rt, struct pto_scope_stats *stats) {
  const struct pto_scope *scope = &rt->scopes[rt->scope_depth];
  const struct pto_task_ring *ring = &rt->rings.rings[scope->ring];
  struct pto_scope_stats all = {.size = sizeof all};
  if (rt->is_running)
    all = (struct pto_scope_stats){.size = sizeof all,
                                   .depth = rt->scope_depth,
                                   .ring = scope->ring,
                                   .tasks = ring->head - scope->begin_sequence,
                                   .heap_bytes = ring->heap.head - scope->begin_heap,
                                   .window_used = ring->head - ring->tail,
                                   .window = ring->capacity + 1,
                                   .heap_used_bytes = pto_heap_ring_used(&ring->heap),
                                   .heap_size_bytes = ring->heap.size_bytes};
  pto_sized_give(stats, &all, sizeof all);
}

int pto_scope_begin(struct pto_runtime *rt, uint32_t kind) {
  int status = pto_runtime_check(rt);
  if (status) return status;
  if (kind != PTO_SCOPE_AUTO && kind != PTO_SCOPE_MANUAL)
    return PTO_REFUSE(rt, PTO_EINVAL, "scope kind %u is none", kind);
  if (kind == PTO_SCOPE_AUTO && rt->scopes[rt->scope_depth].kind == PTO_SCOPE_MANUAL)
    return PTO_REFUSE(rt, PTO_EINVAL, "an automatic scope cannot be inside a manual one (scope %u, depth %u)",
                      rt->scopes[rt->scope_depth].serial, rt->scope_depth);
  if (rt->scope_depth == PTO_MAX_SCOPE_DEPTH)
    return PTO_REFUSE(rt, PTO_EINVAL, "scopes nest %u deep at most", PTO_MAX_SCOPE_DEPTH);
  charge_scope(rt);
  pto_scopes_push(rt, rt->scope_depth + 1, kind);
  rt->scopes[rt->scope_depth].call = PTO_CALLER(rt);
  if (PTO_UNLIKELY(rt->call_list != NULL)) pto_call_list_add_scope_begin(rt->call_list, kind);
  return PTO_OK;
}

int pto_scope_end(struct pto_runtime *rt) {
  int status = pto_runtime_check(rt);
  if (status) return status;
  if (rt->scope_depth == 0) return PTO_REFUSE(rt, PTO_EINVAL, "no scope is open but the run's own");
  if (rt->scope_depth == rt->recorded_depth)
    return PTO_REFUSE(rt, PTO_EINVAL, "no scope of the recording is open; pto_recorded_end ends it");
  charge_scope(rt);
  pto_scopes_pop(rt);
  if (PTO_UNLIKELY(rt->call_list != NULL)) pto_call_list_add_scope_end(rt->call_list);
  /* what was held back for a batch goes out: the orchestration may be busy elsewhere now */
  if (rt->port->ops->flush) rt->port->ops->flush(rt->port);
  return PTO_OK;
}
