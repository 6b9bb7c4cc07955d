/* SPDX-License-Identifier: MIT */
#include <device/context_calls.h>

#include <stdio.h>

#include <runtime/base/call_stack.h>

/* ---- the queue ---- */

/* Under `lock`. */
static int failure_status(const struct pto_context *context) {
  return context->has_failed ? context->failure.status : PTO_OK;
}

int pto_context_wait(struct pto_context *context) {
  if (!context->has_thread) pto_executor_run(context);
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
  if (context->config.record & PTO_RECORD_CALLERS) {
    command->call = pto_call_stack_entry();
    command->outer_call = command->call ? pto_call_stack_outer(command->call) : NULL;
  }
  if (!context->has_thread && context->queued - context->done == PTO_CONTEXT_QUEUE) pto_executor_run(context);
  pto_context_lock(context);
  while (!context->has_failed && context->queued - context->done == PTO_CONTEXT_QUEUE)
    pthread_cond_wait(&context->is_done, &context->lock);
  int status = failure_status(context);
  if (status == PTO_OK) {
    if (context->first_ns == 0) context->first_ns = pto_clock_ns();
    if (pto_context_asks(context)) pto_context_remark_queued(context, command);
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

int pto_context_begin_call(struct pto_context *context, const char *call) {
  pthread_mutex_lock(&context->turn);
  pto_context_lock(context);
  while (context->is_failing) pthread_cond_wait(&context->is_done, &context->lock);
  pto_error_clear(&context->refusal);
  context->call = call;
  context->call_of = NULL;
  return failure_status(context);
}

/* Counts it, and keeps what is to be told of the first. */
static PTO_COLD void keep_refusal(struct pto_context *context) {
  struct pto_refusals *refusals = &context->refusals;
  if (refusals->count++) return;
  refusals->is_of_context = true;
  refusals->error = context->refusal;
  refusals->call = pto_call_stack_entry();
  refusals->outer_call = refusals->call ? pto_call_stack_outer(refusals->call) : NULL;
  snprintf(refusals->task, sizeof refusals->task, context->call_of ? "%s \"%.40s\"" : "%s", context->call,
           context->call_of);
}

int pto_context_end_call(struct pto_context *context, int status) {
  if (PTO_UNLIKELY(status) && context->refusal.status && context->call) keep_refusal(context);
  pthread_mutex_unlock(&context->turn);
  return status;
}

int pto_context_refuse(struct pto_context *context, const char *what, const struct pto_error *error) {
  (void)pto_context_begin_call(context, what);
  PTO_CONTEXT_REFUSE(context, error->status, "%s: %s", what, error->sentence);
  pto_context_unlock(context);
  return pto_context_end_call(context, error->status);
}

int pto_context_check_defined(struct pto_context *context, const char *what, const struct pto_device_record *record) {
  if (!record->is_undefined) return PTO_OK;
  return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "%s: %s is undefined: what was to write it failed, or it was consumed",
                            what, pto_device_record_name(record).text);
}
