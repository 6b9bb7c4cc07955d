/* SPDX-License-Identifier: MIT */
#include <runtime/submit/replay.h>

#include <runtime/submit/submit.h>

static const struct pto_task *tasks_of(const struct pto_runtime *rt, struct pto_call_list *list,
                                       const struct pto_listed_step *step) {
  const struct pto_task *recorded = (const struct pto_task *)list->arrays[PTO_LISTED_AFTER].items + step->first_after;
  for (uint32_t i = 0; i < step->launch.after_count; i++) {
    const uint64_t ring = recorded[i].id >> PTO_LISTED_RING_SHIFT,
                   sequence = list->heads[ring] + (recorded[i].id & PTO_LISTED_SEQUENCE_MASK);
    list->tasks[i] =
        (struct pto_task){ring << PTO_LISTED_RING_SHIFT | (sequence & PTO_LISTED_SEQUENCE_MASK), rt->task_generation};
  }
  return list->tasks;
}

static int submit_step(struct pto_runtime *rt, struct pto_call_list *list, const struct pto_listed_step *step) {
  struct pto_tensor *tensors = (struct pto_tensor *)list->arrays[PTO_LISTED_TENSORS].items + step->first_tensor;
  const uint32_t *buffer_indices = (const uint32_t *)list->arrays[PTO_LISTED_BUFFER_INDICES].items + step->first_tensor;
  const struct pto_buffer *buffers = list->arrays[PTO_LISTED_BUFFERS].items;
  const struct pto_param *params = (const struct pto_param *)list->arrays[PTO_LISTED_PARAMS].items + step->first_param;
  for (uint32_t i = 0; i < step->tensor_count; i++) tensors[i].buffer = buffers[buffer_indices[i]];
  struct pto_launch launch = step->launch;
  if (launch.after_count) launch.after = tasks_of(rt, list, step);
  if (launch.initial_count)
    launch.initial = (const struct pto_initial *)list->arrays[PTO_LISTED_INITIALS].items + step->first_initial;
  if (step->has_predicate) launch.predicate.tensor = &tensors[step->tensor_count - 1];
  const struct pto_submit_request request = {&launch,           params,          rt->place ? rt->place : step->call,
                                             step->param_count, step->task_kind, step->is_single};
  return pto_submit_request(rt, &request, NULL);
}

int pto_call_list_replay(struct pto_runtime *rt, struct pto_call_list *list, const struct pto_tensor *given,
                         uint32_t given_count) {
  struct pto_buffer *buffers = list->arrays[PTO_LISTED_BUFFERS].items;
  const struct pto_listed_step *step = list->arrays[PTO_LISTED_STEPS].items,
                               *end = step + list->arrays[PTO_LISTED_STEPS].count;
  int status = PTO_OK;
  PTO_ASSERT(!list->is_unusable && given_count == list->given_count && rt->scope_depth == list->scope_depth);
  for (uint32_t i = 0; i < given_count; i++) buffers[i] = given[i].buffer;
  buffers += given_count;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) list->heads[r] = rt->rings.rings[r].head;
  for (; step < end && PTO_LIKELY(status == PTO_OK); step++) {
    switch ((enum pto_listed_kind)step->kind) {
    case PTO_LISTED_SUBMIT:
      status = submit_step(rt, list, step);
      break;
    case PTO_LISTED_BUFFER:
      *buffers = pto_create_buffer(rt, step->buffer_bytes);
      if (PTO_UNLIKELY(buffers++->id == 0)) status = rt->error.status;
      break;
    case PTO_LISTED_SCOPE_BEGIN:
      status = pto_scope_begin(rt, step->scope_kind);
      break;
    case PTO_LISTED_SCOPE_END:
      status = pto_scope_end(rt);
      break;
    }
  }
  return status;
}
