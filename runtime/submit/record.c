/* SPDX-License-Identifier: MIT */
#include <runtime/submit/record.h>

#include <runtime/base/call_stack.h>
#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>
#include <runtime/trace/place.h>

#define LEAST_ADDRESS 4096u /* no system maps the first page, and most scalars are small */

/* Those of the last task.  Without the graph, what it writes alone. */
static void record_params(struct pto_runtime *rt, const struct pto_submit_work *submit,
                          const struct pto_submit_request *request, struct pto_trace_task *task) {
  const bool has_graph = pto_trace_has_graph(&rt->trace);
  for (uint32_t i = 0; i < submit->work_count; i++) {
    const struct pto_param_work *work = &submit->params[i];
    if (!has_graph && !(work->mode & PTO_OUTPUT)) continue;
    struct pto_trace_param *param = pto_trace_log_append(&rt->trace.params);
    task->param_count++; /* also of those that did not fit */
    if (!param) continue;
    const bool is_predicate = work->index == PTO_TAG_PREDICATE;
    param->index = is_predicate ? UINT32_MAX : work->index;
    param->mode = work->mode;
    param->tensor = is_predicate ? *request->launch->predicate.tensor : *request->params[work->index].value.tensor;
    param->tensor.buffer.base = work->record->addr;
    param->buffer_number = work->record->id;
    param->is_managed = work->record->kind == PTO_BUFFER_MANAGED;
    param->is_on_stack = !param->is_managed && pto_call_stack_has(work->record->addr);
    param->is_released = (uint16_t)work->record->is_released;
    param->has_initial = work->initial != NULL;
    param->initial_bits = work->initial ? work->initial->bits : 0;
    param->buffer_label = pto_buffer_registry_label(&rt->buffers, work->record);
  }
}

static bool is_declared(const struct pto_trace *trace, const struct pto_trace_task *task, uint64_t addr) {
  for (uint64_t i = task->first_param; i < trace->params.count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    struct pto_region region;
    if (pto_tensor_is_empty(&param->tensor)) continue;
    pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
    if (addr >= region.start && addr < region.end) return true;
  }
  return false;
}

/* Of the task whose parameters have just been recorded. */
static uint16_t count_addresses(const struct pto_runtime *rt, const struct pto_trace_task *task,
                                const struct pto_submit_request *request) {
  const uint64_t arena = (uintptr_t)rt->arena.memory.addr;
  uint64_t lo, hi;
  uint16_t count = 0;
  for (uint32_t i = 0; i < request->count; i++) {
    const struct pto_param *param = &request->params[i];
    const uint64_t addr = param->value.scalar.u64;
    if (param->mode != PTO_SCALAR || addr < LEAST_ADDRESS) continue;
    const bool is_memory =
        addr - arena < rt->arena.memory.size_bytes || pto_buffer_registry_find_extent(&rt->buffers, addr, &lo, &hi);
    count += is_memory && !is_declared(&rt->trace, task, addr);
  }
  return count;
}

uint64_t pto_record_task(struct pto_runtime *rt, const struct pto_submit_work *submit,
                         const struct pto_submit_request *request, uint32_t slot_index, uint64_t begin_time) {
  const struct pto_launch *launch = request->launch;
  const struct pto_scope *scope = &rt->scopes[rt->scope_depth];
  const struct pto_task_ring *ring = &rt->rings.rings[scope->ring];
  const struct pto_task_slot *slot = &rt->rings.slots[slot_index];
  const uint64_t number = rt->task_count - 1, first_edge = rt->trace.edges.count;
  const bool has_callers = (rt->trace.record & PTO_RECORD_CALLERS) && !pto_place_of(request->call);
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
                                  .first_param = rt->trace.params.count,
                                  .first_edge = first_edge,
                                  .submit_time = begin_time,
                                  .is_sync_start = launch->sync_start,
                                  .is_sequential = (slot->flags & PTO_TASK_SEQUENTIAL_BLOCKS) != 0,
                                  .has_predicate = launch->predicate.tensor != NULL,
                                  .part_of = rt->part_of,
                                  .call = request->call,
                                  .outer_call = !has_callers                     ? NULL
                                                : request->call == rt->move_call ? rt->move_outer_call
                                                                                 : pto_call_stack_outer(request->call),
                                  .dispatch = rt->dispatch,
                                  .label = launch->label,
                                  .ring_heap_used_bytes = pto_heap_ring_used(&ring->heap),
                                  .ring_slots_used = ring->head - ring->tail};
  record_params(rt, submit, request, task);
  if (pto_trace_has_graph(&rt->trace)) task->address_count = count_addresses(rt, task, request);
  return first_edge;
}

/* ---- edges ---- */

static uint32_t param_of(uint16_t tag) {
  uint32_t param = tag & PTO_TAG_PARAM_MASK;
  return param == PTO_TAG_PREDICATE ? UINT32_MAX : param;
}

/* Writes one record for each reason of an edge. */
static void record_edge(void *context, const struct pto_edge *edge) {
  struct pto_runtime *rt = context;
  const struct pto_task_cold *cold = rt->rings.cold;
  const bool is_explicit = edge->reasons & PTO_EDGE_EXPLICIT, is_creator = edge->reasons & PTO_EDGE_CREATOR;
  for (uint32_t reason = PTO_EDGE_RAW; reason <= PTO_EDGE_CREATOR; reason <<= 1) {
    if (!(edge->reasons & reason)) continue;
    struct pto_trace_edge *written = pto_trace_log_append(&rt->trace.edges);
    if (!written) return;
    *written =
        (struct pto_trace_edge){.producer = cold[edge->producer].number,
                                .consumer = cold[edge->consumer].number,
                                .reason = reason,
                                .producer_param = is_explicit || is_creator ? UINT32_MAX : param_of(edge->producer_tag),
                                .consumer_param = is_explicit ? UINT32_MAX : param_of(edge->consumer_tag),
                                .begin = edge->begin,
                                .end = edge->end,
                                .buffer_number = edge->buffer_number};
  }
}

void pto_record_listen(struct pto_runtime *rt) {
  rt->hazards.listener = pto_trace_has_graph(&rt->trace) ? record_edge : NULL;
  rt->hazards.listener_context = rt;
}

static bool comes_before(const struct pto_trace_edge *x, const struct pto_trace_edge *y) {
  if (x->producer != y->producer) return x->producer < y->producer;
  if (x->consumer_param != y->consumer_param) return x->consumer_param < y->consumer_param;
  if (x->producer_param != y->producer_param) return x->producer_param < y->producer_param;
  return x->reason < y->reason;
}

/* Shell's sort with Ciura's gaps (2001): in place, as a run allocates nothing, and the order of equals has no meaning.
 */
static void sort_edges(struct pto_trace_edge *edges, uint64_t count) {
  static const uint64_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  for (size_t g = 0; g < PTO_ARRAY_LENGTH(gaps); g++)
    for (uint64_t i = gaps[g]; i < count; i++) {
      struct pto_trace_edge edge = edges[i];
      uint64_t k = i;
      for (; k >= gaps[g] && comes_before(&edge, &edges[k - gaps[g]]); k -= gaps[g]) edges[k] = edges[k - gaps[g]];
      edges[k] = edge;
    }
}

/* Takes back what reduce-implied has dropped. */
static void remove_dropped(struct pto_runtime *rt, uint64_t first_edge) {
  struct pto_trace_log *log = &rt->trace.edges;
  struct pto_trace_edge *edges = log->memory.addr;
  uint64_t kept = first_edge;
  for (uint64_t i = first_edge; i < log->count; i++)
    if (!pto_hazards_has_dropped(&rt->hazards, edges[i].producer, edges[i].consumer)) edges[kept++] = edges[i];
  log->count = kept;
}

void pto_record_edges(struct pto_runtime *rt, uint64_t number, uint64_t first_edge) {
  struct pto_trace_log *tasks = &rt->trace.tasks, *log = &rt->trace.edges;
  struct pto_trace_edge *edges = log->memory.addr;
  if (rt->hazards.dropped) remove_dropped(rt, first_edge);
  sort_edges(edges + first_edge, log->count - first_edge);
  for (uint64_t i = first_edge; i < log->count; i++)
    edges[i].is_first = i == first_edge || edges[i].producer != edges[i - 1].producer;
  if (number >= tasks->count) return; /* the full log has dropped the task */
  struct pto_trace_task *task = pto_trace_log_at(tasks, number);
  task->edge_count = log->count - first_edge;
}

/* ---- times ---- */

/* Lookups have several prices: they are what the others leave. */
void pto_record_charges(struct pto_runtime *rt, const struct pto_submit_request *request, uint64_t begin,
                        uint32_t allocated, uint64_t edges) {
  const uint64_t *ps = rt->port->work_ps, end = rt->port->clock;
  const bool is_first = rt->task_count == 1;
  const uint64_t fixed_ps = ps[request->kind == PTO_TASK_ALLOC ? PTO_WORK_ALLOC_TENSORS : PTO_WORK_SUBMIT] +
                            (is_first ? ps[PTO_WORK_FIRST_SUBMIT] : 0);
  const uint64_t params_ps = ps[PTO_WORK_PARAM] * request->count, edges_ps = ps[PTO_WORK_EDGE] * edges;
  const uint64_t allocation_ps = ps[PTO_WORK_ALLOC] * allocated;
  const struct {
    enum pto_activity activity;
    uint64_t ps;
  } parts[] = {{PTO_ACTIVITY_submit, fixed_ps},
               {PTO_ACTIVITY_params, params_ps},
               {PTO_ACTIVITY_lookups, end - begin - fixed_ps - params_ps - edges_ps - allocation_ps},
               {PTO_ACTIVITY_edges, edges_ps},
               {PTO_ACTIVITY_allocation, allocation_ps}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(parts); begin += parts[i++].ps)
    if (parts[i].ps || i == 0)
      pto_trace_add_segment(&rt->trace.segments, (struct pto_trace_segment){.begin = begin,
                                                                            .end = begin + parts[i].ps,
                                                                            .task = (uint32_t)(rt->task_count - 1),
                                                                            .core = PTO_SEGMENT_NO_CORE,
                                                                            .activity = (uint8_t)parts[i].activity});
}

void pto_record_part_end(struct pto_runtime *rt, enum pto_submit_part part, uint64_t kernels) {
  struct pto_trace *trace = &rt->trace;
  if (!pto_trace_has_submit_parts(trace)) return;
  const uint64_t now = pto_trace_now(trace), time = now - trace->part_begin;
  uint64_t in_kernels = 0;
  for (uint64_t i = kernels; i < pto_record_kernels(rt); i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[0], i);
    in_kernels += span->end - span->begin;
  }
  trace->submit_parts[part] += time - pto_min_u64(in_kernels, time);
  trace->part_begin = now;
}

/* The kernel of a task that is run at once begins where its submit ends. */
uint64_t pto_record_time(struct pto_runtime *rt, const struct pto_task_slot *slot, uint64_t begin_time,
                         uint64_t number) {
  const uint64_t end_time = pto_progress_record(
      rt, (struct pto_trace_control){.begin = begin_time, .activity = PTO_CONTROL_SUBMIT, .task = (uint32_t)number});
  pto_progress_sample(rt);
  rt->trace.control.last_time = slot->pending == 1 && (slot->flags & PTO_TASK_SINGLE) ? end_time : 0;
  return end_time;
}
