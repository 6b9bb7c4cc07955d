/* SPDX-License-Identifier: MIT */
#include <runtime/submit/record.h>

static void record_params(struct pto_runtime *rt, const struct pto_submit_work *submit,
                          const struct pto_submit_request *request) {
  for (uint32_t i = 0; i < submit->work_count; i++) {
    const struct pto_param_work *work = &submit->params[i];
    struct pto_trace_param *param = pto_trace_log_append(&rt->trace.params);
    if (!param) return;
    const bool is_predicate = work->index == PTO_TAG_PREDICATE;
    param->index = is_predicate ? UINT32_MAX : work->index;
    param->mode = work->mode;
    param->tensor = is_predicate ? *request->launch->predicate.tensor : *request->params[work->index].value.tensor;
    param->tensor.buffer.base = work->record->addr;
    param->buffer_number = work->record->id;
    param->is_managed = work->record->kind == PTO_BUFFER_MANAGED;
  }
}

uint64_t pto_record_task(struct pto_runtime *rt, const struct pto_submit_work *submit,
                         const struct pto_submit_request *request, uint32_t slot_index, uint64_t begin_time) {
  const struct pto_launch *launch = request->launch;
  const struct pto_scope *scope = &rt->scopes[rt->scope_depth];
  const struct pto_task_ring *ring = &rt->rings.rings[scope->ring];
  const struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  const uint64_t number = rt->task_count - 1, first_edge = rt->trace.edges.count;
  rt->rings.cold[slot_index].number = number;
  struct pto_trace_task *task = pto_trace_log_append(&rt->trace.tasks);
  if (!task) return first_edge;
  *task = (struct pto_trace_task){.number = number,
                                  .kernels = {launch->aic, launch->aiv0, launch->aiv1},
                                  .kind = request->kind,
                                  .block_count = slot->block_count,
                                  .scope_depth = rt->scope_depth,
                                  .scope_serial = scope->serial,
                                  .ring = scope->ring,
                                  .param_count = submit->work_count,
                                  .first_param = rt->trace.params.count,
                                  .first_edge = first_edge,
                                  .submit_time = begin_time,
                                  .is_sync_start = launch->sync_start,
                                  .is_serial = (slot->flags & PTO_TASK_SERIAL_BLOCKS) != 0,
                                  .has_predicate = launch->predicate.tensor != NULL,
                                  .call = rt->call,
                                  .ring_heap_used_bytes = pto_heap_ring_used(&ring->heap),
                                  .ring_slots_used = ring->head - ring->tail};
  record_params(rt, submit, request);
  return first_edge;
}

void pto_record_edges(struct pto_runtime *rt, uint64_t number, uint64_t first_edge) {
  struct pto_trace_log *tasks = &rt->trace.tasks;
  pto_edge_record_sort(&rt->edge_record, first_edge);
  if (number >= tasks->count) return; /* the full log has dropped the task */
  struct pto_trace_task *task = pto_trace_log_at(tasks, number);
  task->edge_count = rt->trace.edges.count - first_edge;
}

/* The kernel of a task that is run at once begins where its submit ends. */
void pto_record_time(struct pto_runtime *rt, const struct pto_task_slot *slot, uint64_t begin_time, uint64_t number) {
  const uint64_t end_time = pto_progress_record(rt, PTO_CONTROL_SUBMIT, begin_time, number);
  rt->trace.control.last_time = slot->pending == 1 && (slot->flags & PTO_TASK_SINGLE) ? end_time : 0;
}
