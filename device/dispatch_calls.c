/* SPDX-License-Identifier: MIT */
#include <device/context_calls.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <device/context_watch.h>

/* ---- bindings ---- */

static int check_operand(struct pto_context *context, const struct pto_operand *operand,
                         const struct pto_device_record *record) {
  if (operand->dtype == record->dtype && operand->ndims == record->ndims &&
      memcmp(operand->shape, record->shape, record->ndims * sizeof *record->shape) == 0)
    return PTO_OK;
  pto_error_set(&context->refusal, PTO_EINVAL, "dispatch: %s is %s [", operand->name, pto_dtype_name(operand->dtype));
  for (uint32_t d = 0; d < operand->ndims; d++)
    pto_error_append(&context->refusal, d ? ", %" PRIu64 : "%" PRIu64, operand->shape[d]);
  pto_error_append(&context->refusal, "], %s is %s [", pto_device_record_name(record).text,
                   pto_dtype_name(record->dtype));
  for (uint32_t d = 0; d < record->ndims; d++)
    pto_error_append(&context->refusal, d ? ", %" PRIu64 : "%" PRIu64, record->shape[d]);
  pto_error_append(&context->refusal, "]");
  return PTO_EINVAL;
}

/* One direction of a dispatch. */
struct side {
  const char *what;
  const struct pto_operand *operands;
  uint32_t operand_count;
  const struct pto_binding *bindings;
  uint32_t binding_count;
  bool is_output;
  const char *const *consumed;
  uint32_t consumed_count;
};

uint32_t pto_context_find_operand(const struct pto_operand *operands, uint32_t count, const char *name,
                                  uint32_t likely) {
  if (name && likely < count && strcmp(operands[likely].name, name) == 0) return likely;
  uint32_t i = 0;
  while (i < count && (!name || strcmp(operands[i].name, name) != 0)) i++;
  return i;
}

static bool is_consumed(const struct side *side, const char *name) {
  for (uint32_t i = 0; i < side->consumed_count; i++)
    if (strcmp(side->consumed[i], name) == 0) return true;
  return false;
}

static int find_operand(struct pto_context *context, const struct side *side, const char *name, uint32_t likely,
                        uint32_t *index_out) {
  *index_out = pto_context_find_operand(side->operands, side->operand_count, name, likely);
  if (*index_out < side->operand_count) return PTO_OK;
  return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: no %s is called \"%s\"", side->what, name ? name : "");
}

/* Fills records[operand]; every name once, no tensor twice. */
static int bind_side(struct pto_context *context, const struct side *side, struct pto_device_record **records) {
  struct pto_device_tensors *tensors = &context->tensors;
  for (uint32_t i = 0; i < side->binding_count; i++) {
    struct pto_device_record *record;
    uint32_t index = 0;
    int status = find_operand(context, side, side->bindings[i].name, i, &index);
    if (status == PTO_OK)
      status = pto_device_tensors_lookup(tensors, side->bindings[i].tensor, side->bindings[i].name, &record,
                                         &context->refusal);
    if (status) return status;
    const char *name = side->bindings[i].name;
    if (records[index])
      return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: %s %s is bound twice", side->what, name);
    if (record->bound_serial == tensors->bound_serial && !(side->is_output && record->is_consumed))
      return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: %s is bound to %s and to another operand%s",
                                pto_device_record_name(record).text, name,
                                side->is_output ? "; only an input that is `consumed` may share its tensor" : "");
    if (record->is_constant)
      return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: %s: %s is constant", name,
                                pto_device_record_name(record).text);
    status = side->is_output ? PTO_OK : pto_context_check_defined(context, name, record);
    if (status == PTO_OK) status = check_operand(context, &side->operands[index], record);
    if (status) return status;
    record->bound_serial = tensors->bound_serial;
    record->is_consumed = is_consumed(side, name);
    records[index] = record;
  }
  for (uint32_t i = 0; i < side->operand_count; i++)
    if (!records[i])
      return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: %s %s is not bound", side->what,
                                side->operands[i].name);
  return PTO_OK;
}

static int bind_constants(struct pto_context *context, const struct pto_device_program *program,
                          struct pto_device_record **records) {
  for (uint32_t i = 0; i < program->constant_count; i++) {
    int status = pto_device_tensors_lookup(&context->tensors, program->constants[i], "dispatch: constant", &records[i],
                                           &context->refusal);
    if (status == PTO_OK && !records[i]->is_constant)
      status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: %s is not constant",
                                  pto_device_record_name(records[i]).text);
    if (status == PTO_OK) status = pto_context_check_defined(context, "dispatch: constant", records[i]);
    if (status) return status;
  }
  return PTO_OK;
}

/* Under `lock`. */
static int bind_all(struct pto_context *context, const struct pto_device_program *program,
                    const struct pto_dispatch_bindings *bindings, struct pto_device_record **records) {
  const struct side inputs = {.what = "input",
                              .operands = program->inputs,
                              .operand_count = program->input_count,
                              .bindings = bindings->inputs,
                              .binding_count = bindings->input_count,
                              .consumed = bindings->consumed,
                              .consumed_count = bindings->consumed_count};
  const struct side outputs = {.what = "output",
                               .operands = program->outputs,
                               .operand_count = program->output_count,
                               .bindings = bindings->outputs,
                               .binding_count = bindings->output_count,
                               .is_output = true};
  uint32_t index;
  int status = PTO_OK;
  if (++context->tensors.bound_serial == 0) context->tensors.bound_serial = 1;
  for (uint32_t i = 0; i < bindings->consumed_count && status == PTO_OK; i++)
    status = find_operand(context, &inputs, bindings->consumed[i], i, &index);
  if (status == PTO_OK) status = bind_side(context, &inputs, records);
  if (status == PTO_OK) status = bind_side(context, &outputs, records + program->input_count);
  if (status == PTO_OK)
    status = bind_constants(context, program, records + program->input_count + program->output_count);
  return status;
}

/* What is queued so far is done when it returns; a failure is for the calls to come. */
static void hurry(struct pto_context *context, const struct pto_command *dispatch) {
  struct pto_context_hurry *hurry = context->is_watched ? context->config.context_watch->hurry : NULL;
  struct pto_command sync = {.kind = PTO_COMMAND_SYNC};
  if (!hurry || !hurry->left) return;
  hurry->left--;
  hurry->made++;
  hurry->call = dispatch->call;
  hurry->outer_call = dispatch->outer_call;
  snprintf(hurry->program, sizeof hurry->program, "%s", dispatch->program->name ? dispatch->program->name : "");
  if (pto_context_enqueue(context, &sync) == PTO_OK) (void)!pto_context_wait(context);
}

int pto_context_dispatch(struct pto_context *context, const struct pto_device_program *program,
                         const struct pto_dispatch_bindings *bindings) {
  int status = pto_context_begin_call(context, "dispatch");
  if (program) context->call_of = program->name;
  if (status == PTO_OK && (!program || !program->orchestrate || !bindings))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "dispatch: no program, or no bindings");
  struct pto_command command = {.kind = PTO_COMMAND_DISPATCH, .program = program};
  if (status == PTO_OK) {
    command.input_count = program->input_count;
    command.output_count = program->output_count;
    command.bound = calloc((size_t)program->input_count + program->output_count + program->constant_count + 1,
                           sizeof *command.bound);
    status = command.bound ? bind_all(context, program, bindings, command.bound)
                           : PTO_CONTEXT_REFUSE(context, PTO_ENOMEM, "dispatch: no memory for the bindings");
  }
  pto_context_unlock(context);
  if (status == PTO_OK)
    status = pto_context_enqueue(context, &command);
  else
    pto_command_fini(&command);
  if (status == PTO_OK) hurry(context, &command);
  return pto_context_end_call(context, status);
}

int pto_context_forget_program(struct pto_context *context, const struct pto_device_program *program) {
  int status = pto_context_begin_call(context, "forget");
  if (!program) status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "forget: no program");
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_SYNC};
  if (status == PTO_OK) status = pto_context_enqueue(context, &command);
  if (status == PTO_OK) status = pto_context_wait(context);
  pto_context_lock(context);
  while (context->is_failing) pthread_cond_wait(&context->is_done, &context->lock);
  if (program) pto_lowering_cache_drop_program(&context->lowerings, program);
  pto_context_unlock(context);
  return pto_context_end_call(context, status);
}
