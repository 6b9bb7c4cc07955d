/* SPDX-License-Identifier: MIT */
#include <device/context_calls.h>

/* ---- the queue ---- */

/* Under `lock`. */
static int failure_status(const struct pto_context *context) {
  return context->has_failed ? context->failure.status : PTO_OK;
}

int pto_context_wait(struct pto_context *context) {
  if (!context->has_thread && context->queued != context->done) pto_executor_run(context);
  pto_context_lock(context);
  while (context->done != context->queued) pthread_cond_wait(&context->is_done, &context->lock);
  int status = failure_status(context);
  pto_context_unlock(context);
  return status;
}

/* Under `lock`: what is queued is of the state after it. */
static void take_effect(const struct pto_command *command) {
  if (command->kind == PTO_COMMAND_WRITE || command->kind == PTO_COMMAND_COPY) command->record->is_undefined = false;
  if (command->kind != PTO_COMMAND_DISPATCH) return;
  for (uint32_t i = 0; i < command->input_count; i++)
    if (command->bound[i]->is_consumed) command->bound[i]->is_undefined = true;
  for (uint32_t i = 0; i < command->output_count; i++) command->bound[command->input_count + i]->is_undefined = false;
}

int pto_context_enqueue(struct pto_context *context, struct pto_command *command) {
  if (!context->has_thread && context->queued - context->done == PTO_CONTEXT_QUEUE) pto_executor_run(context);
  pto_context_lock(context);
  while (!context->has_failed && context->queued - context->done == PTO_CONTEXT_QUEUE)
    pthread_cond_wait(&context->is_done, &context->lock);
  int status = failure_status(context);
  if (status == PTO_OK) {
    if (context->first_ns == 0) context->first_ns = pto_clock_ns();
    take_effect(command);
    context->queue[context->queued++ % PTO_CONTEXT_QUEUE] = *command;
    pthread_cond_signal(&context->is_queued);
  } else {
    pto_command_fini(command);
  }
  pto_context_unlock(context);
  if (context->has_thread && status == PTO_OK) pto_host_call(context->rt); /* it may be waiting for a kernel */
  return status;
}

/* ---- the turn ---- */

/* Begins a call: its turn, and the lock, which protects the tensors that it looks at.  PTO_OK, or the failure that is
 * kept. */
int pto_context_begin_call(struct pto_context *context) {
  pthread_mutex_lock(&context->turn);
  pto_context_lock(context);
  while (context->is_failing) pthread_cond_wait(&context->is_done, &context->lock);
  pto_error_clear(&context->refusal);
  return failure_status(context);
}

int pto_context_end_call(struct pto_context *context, int status) {
  pthread_mutex_unlock(&context->turn);
  return status;
}

int pto_context_refuse(struct pto_context *context, const char *what, const struct pto_error *error) {
  (void)pto_context_begin_call(context);
  PTO_CONTEXT_REFUSE(context, error->status, "%s: %s", what, error->sentence);
  pto_context_unlock(context);
  return pto_context_end_call(context, error->status);
}

int pto_context_check_defined(struct pto_context *context, const char *what, const struct pto_device_record *record) {
  if (!record->is_undefined) return PTO_OK;
  return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "%s: %s is undefined: what was to write it failed, or it was consumed",
                            what, pto_device_record_name(record).text);
}
