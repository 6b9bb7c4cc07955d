/* SPDX-License-Identifier: MIT */
#include <device/context_recording.h>

#include <device/context_calls.h>

int pto_context_recording(struct pto_context *context, const struct pto_trace **recording_out) {
  struct pto_command command = {.kind = PTO_COMMAND_END_RUN};
  pthread_mutex_lock(&context->turn);
  int status = pto_context_enqueue(context, &command);
  if (status == PTO_OK) status = pto_context_wait(context);
  pto_context_lock(context);
  *recording_out = context->recording.record ? &context->recording : NULL;
  if (status == PTO_OK && context->recording_dropped) status = PTO_ENOMEM;
  pto_context_unlock(context);
  return pto_context_end_call(context, status);
}
