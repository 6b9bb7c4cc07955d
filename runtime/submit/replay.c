/* SPDX-License-Identifier: MIT */
#include <runtime/submit/replay.h>

#include <runtime/submit/submit.h>

static const struct pto_task *tasks_of(const struct pto_runtime *rt, struct pto_recording *recording,
                                       const struct pto_recorded_step *step) {
  const struct pto_task *recorded =
      (const struct pto_task *)recording->arrays[PTO_RECORDED_AFTER].items + step->first_after;
  for (uint32_t i = 0; i < step->launch.after_count; i++) {
    const uint64_t ring = recorded[i].id >> PTO_RECORDED_RING_SHIFT,
                   sequence = recording->heads[ring] + (recorded[i].id & PTO_RECORDED_SEQUENCE_MASK);
    recording->tasks[i] = (struct pto_task){ring << PTO_RECORDED_RING_SHIFT | (sequence & PTO_RECORDED_SEQUENCE_MASK),
                                            rt->task_generation};
  }
  return recording->tasks;
}

static int submit_step(struct pto_runtime *rt, struct pto_recording *recording, const struct pto_recorded_step *step) {
  struct pto_tensor *tensors = (struct pto_tensor *)recording->arrays[PTO_RECORDED_TENSORS].items + step->first_tensor;
  const uint32_t *buffer_indices =
      (const uint32_t *)recording->arrays[PTO_RECORDED_BUFFER_INDICES].items + step->first_tensor;
  const struct pto_buffer *buffers = recording->arrays[PTO_RECORDED_BUFFERS].items;
  const struct pto_param *params =
      (const struct pto_param *)recording->arrays[PTO_RECORDED_PARAMS].items + step->first_param;
  for (uint32_t i = 0; i < step->tensor_count; i++) tensors[i].buffer = buffers[buffer_indices[i]];
  struct pto_launch launch = step->launch;
  if (launch.after_count) launch.after = tasks_of(rt, recording, step);
  if (launch.initial_count)
    launch.initial = (const struct pto_initial *)recording->arrays[PTO_RECORDED_INITIALS].items + step->first_initial;
  if (step->has_predicate) launch.predicate.tensor = &tensors[step->tensor_count - 1];
  const struct pto_submit_request request = {&launch,           params,          step->call,
                                             step->param_count, step->task_kind, step->is_single};
  return pto_submit_request(rt, &request, NULL);
}

int pto_recording_replay(struct pto_runtime *rt, struct pto_recording *recording, const struct pto_tensor *given,
                         uint32_t given_count) {
  struct pto_buffer *buffers = recording->arrays[PTO_RECORDED_BUFFERS].items;
  const struct pto_recorded_step *step = recording->arrays[PTO_RECORDED_STEPS].items,
                                 *end = step + recording->arrays[PTO_RECORDED_STEPS].count;
  int status = PTO_OK;
  PTO_ASSERT(!recording->is_unusable && given_count == recording->given_count &&
             rt->scope_depth == recording->scope_depth);
  for (uint32_t i = 0; i < given_count; i++) buffers[i] = given[i].buffer;
  buffers += given_count;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) recording->heads[r] = rt->rings.rings[r].head;
  for (; step < end && PTO_LIKELY(status == PTO_OK); step++) {
    switch ((enum pto_recorded_kind)step->kind) {
    case PTO_RECORDED_SUBMIT:
      status = submit_step(rt, recording, step);
      break;
    case PTO_RECORDED_BUFFER:
      *buffers = pto_create_buffer(rt, step->buffer_bytes);
      if (PTO_UNLIKELY(buffers++->id == 0)) status = rt->error.status;
      break;
    case PTO_RECORDED_SCOPE_BEGIN:
      status = pto_scope_begin(rt, step->scope_kind);
      break;
    case PTO_RECORDED_SCOPE_END:
      status = pto_scope_end(rt);
      break;
    }
  }
  return status;
}
