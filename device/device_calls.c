/* SPDX-License-Identifier: MIT */
#include <device/context_state.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- queueing ---- */

void pto_command_fini(struct pto_command *command) {
  if (command->kind == PTO_COMMAND_WRITE) free(command->data);
  free(command->bound);
  *command = (struct pto_command){0};
}

/* Under `lock`. */
static int kept_failure(const struct pto_context *context) {
  return context->has_failed ? context->failure.status : PTO_OK;
}

int pto_context_wait(struct pto_context *context) {
  if (!context->has_thread && context->queued != context->done) pto_executor_run(context);
  pto_context_lock(context);
  while (context->done != context->queued) pthread_cond_wait(&context->is_done, &context->lock);
  int status = kept_failure(context);
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
  int status = kept_failure(context);
  if (status == PTO_OK) {
    if (context->first_ns == 0) context->first_ns = pto_context_now_ns();
    take_effect(command);
    context->queue[context->queued++ % PTO_CONTEXT_QUEUE] = *command;
    pthread_cond_signal(&context->is_queued);
  } else {
    pto_command_fini(command);
  }
  pto_context_unlock(context);
  return status;
}

/* ---- calls ---- */

/* Begins a call: its turn, and the lock, which protects the tensors that it looks at.  PTO_OK, or the failure that is
 * kept. */
static int begin_call(struct pto_context *context) {
  pthread_mutex_lock(&context->turn);
  pto_context_lock(context);
  while (context->is_failing) pthread_cond_wait(&context->is_done, &context->lock);
  pto_error_clear(&context->refusal);
  return kept_failure(context);
}

static int end_call(struct pto_context *context, int status) {
  pthread_mutex_unlock(&context->turn);
  return status;
}

#define REFUSE(context, ...) pto_error_set(&(context)->refusal, __VA_ARGS__)

static int check_size(struct pto_context *context, const char *what, const struct pto_device_record *record,
                      const void *data, uint64_t size_bytes) {
  if (size_bytes != record->size_bytes)
    return REFUSE(context, PTO_EINVAL, "%s: %" PRIu64 " bytes given, tensor %" PRIu32 " has %" PRIu64, what, size_bytes,
                  pto_device_record_number(record), record->size_bytes);
  if (!data && size_bytes) return REFUSE(context, PTO_EINVAL, "%s: no data", what);
  return PTO_OK;
}

/* ---- create ---- */

/* Memory whose destruction is queued comes back when that has been carried out. */
static int insert(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                  struct pto_device_record **record_out) {
  int status = pto_device_tensors_insert(&context->tensors, desc, record_out, &context->refusal);
  if (status != PTO_ENOMEM || context->queued == context->done) return status;
  pto_context_unlock(context);
  status = pto_context_wait(context);
  pto_context_lock(context);
  return status ? status : pto_device_tensors_insert(&context->tensors, desc, record_out, &context->refusal);
}

/* With `data` a constant tensor that keeps it. */
static int create(struct pto_context *context, const struct pto_device_tensor_desc *desc, uint32_t more_flags,
                  const void *data, uint64_t size_bytes, struct pto_device_tensor *tensor_out) {
  struct pto_device_record *record = NULL;
  struct pto_device_tensor_desc wanted;
  int status = begin_call(context);
  if (status == PTO_OK && (!desc || !tensor_out)) status = REFUSE(context, PTO_EINVAL, "tensor: no description");
  if (status == PTO_OK) {
    wanted = *desc;
    wanted.flags |= more_flags;
    status = insert(context, &wanted, &record);
  }
  if (status == PTO_OK) *tensor_out = pto_device_record_handle(&context->tensors, record);
  pto_context_unlock(context);
  return end_call(context, status);
}

int pto_device_tensor_create(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                             struct pto_device_tensor *tensor_out) {
  return create(context, desc, 0, NULL, 0, tensor_out);
}

int pto_device_tensor_create_host(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                                  struct pto_device_tensor *tensor_out) {
  return create(context, desc, PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE, NULL, 0, tensor_out);
}

/* Under `lock`, which it gives up. */
static int queue_write(struct pto_context *context, struct pto_device_record *record, const void *data) {
  struct pto_command command = {.kind = PTO_COMMAND_WRITE, .record = record};
  command.data = malloc(record->size_bytes + 1);
  if (!command.data) {
    int status = REFUSE(context, PTO_ENOMEM, "write: no memory for a copy of %" PRIu64 " bytes", record->size_bytes);
    pto_context_unlock(context);
    return status;
  }
  if (record->size_bytes) memcpy(command.data, data, record->size_bytes);
  pto_context_unlock(context);
  return pto_context_enqueue(context, &command);
}

int pto_device_tensor_create_constant(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                                      const void *data, uint64_t size_bytes, struct pto_device_tensor *tensor_out) {
  struct pto_device_record *record = NULL;
  int status = begin_call(context);
  if (status == PTO_OK && (!desc || !tensor_out)) status = REFUSE(context, PTO_EINVAL, "constant: no description");
  if (status == PTO_OK && desc->flags)
    status =
        REFUSE(context, PTO_EINVAL, "constant: flags 0x%" PRIx32 "; the host neither reads nor writes it", desc->flags);
  if (status == PTO_OK) status = insert(context, desc, &record);
  if (status == PTO_OK) {
    status = check_size(context, "constant", record, data, size_bytes);
    if (status) pto_device_tensors_remove(&context->tensors, record);
  }
  if (status) {
    pto_context_unlock(context);
    return end_call(context, status);
  }
  record->is_constant = true;
  const struct pto_device_tensor tensor = pto_device_record_handle(&context->tensors, record);
  status = queue_write(context, record, data);
  if (status == PTO_OK) {
    *tensor_out = tensor;
  } else {
    pto_context_lock(context);
    pto_device_tensors_remove(&context->tensors, record);
    pto_context_unlock(context);
  }
  return end_call(context, status);
}

uint64_t pto_device_tensor_size(struct pto_context *context, struct pto_device_tensor tensor) {
  struct pto_device_record *record;
  (void)begin_call(context);
  int status = pto_device_tensors_lookup(&context->tensors, tensor, "size", &record, &context->refusal);
  uint64_t size_bytes = status ? 0 : record->size_bytes;
  pto_context_unlock(context);
  (void)end_call(context, status);
  return size_bytes;
}

/* ---- write, read, copy, destroy ---- */

int pto_device_tensor_write(struct pto_context *context, struct pto_device_tensor tensor, const void *data,
                            uint64_t size_bytes) {
  struct pto_device_record *record = NULL;
  int status = begin_call(context);
  if (status == PTO_OK)
    status = pto_device_tensors_lookup(&context->tensors, tensor, "write", &record, &context->refusal);
  if (status == PTO_OK && !(record->flags & PTO_TENSOR_WRITABLE))
    status = REFUSE(context, PTO_EINVAL, "write: tensor %" PRIu32 " is not writable by the host",
                    pto_device_record_number(record));
  if (status == PTO_OK) status = check_size(context, "write", record, data, size_bytes);
  if (status == PTO_OK)
    status = queue_write(context, record, data);
  else
    pto_context_unlock(context);
  return end_call(context, status);
}

static int check_defined(struct pto_context *context, const char *what, const struct pto_device_record *record) {
  if (!record->is_undefined) return PTO_OK;
  return REFUSE(context, PTO_EINVAL,
                "%s: tensor %" PRIu32 " is undefined: what was to write it failed, or it was consumed", what,
                pto_device_record_number(record));
}

int pto_device_tensor_read(struct pto_context *context, struct pto_device_tensor tensor, void *data,
                           uint64_t size_bytes) {
  struct pto_device_record *record = NULL;
  int status = begin_call(context);
  if (status == PTO_OK)
    status = pto_device_tensors_lookup(&context->tensors, tensor, "read", &record, &context->refusal);
  if (status == PTO_OK && !(record->flags & PTO_TENSOR_READABLE))
    status = REFUSE(context, PTO_EINVAL, "read: tensor %" PRIu32 " is not readable by the host",
                    pto_device_record_number(record));
  if (status == PTO_OK) status = check_size(context, "read", record, data, size_bytes);
  if (status == PTO_OK) status = check_defined(context, "read", record);
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_READ, .record = record, .data = data};
  if (status == PTO_OK) status = pto_context_enqueue(context, &command);
  if (status == PTO_OK) status = pto_context_wait(context);
  return end_call(context, status);
}

int pto_device_tensor_copy(struct pto_context *context, struct pto_device_tensor from, struct pto_device_tensor to) {
  struct pto_device_record *source = NULL, *target = NULL;
  int status = begin_call(context);
  if (status == PTO_OK)
    status = pto_device_tensors_lookup(&context->tensors, from, "copy from", &source, &context->refusal);
  if (status == PTO_OK)
    status = pto_device_tensors_lookup(&context->tensors, to, "copy to", &target, &context->refusal);
  if (status == PTO_OK) status = check_defined(context, "copy from", source);
  if (status == PTO_OK && (source == target || target->is_constant))
    status = REFUSE(context, PTO_EINVAL, "copy: tensor %" PRIu32 " is %s", pto_device_record_number(target),
                    source == target ? "both source and target" : "constant");
  if (status == PTO_OK && (source->dtype != target->dtype || source->ndims != target->ndims ||
                           memcmp(source->shape, target->shape, source->ndims * sizeof *source->shape)))
    status = REFUSE(context, PTO_EINVAL, "copy: tensors %" PRIu32 " and %" PRIu32 " differ in dtype or shape",
                    pto_device_record_number(source), pto_device_record_number(target));
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_COPY, .record = target, .from = source};
  if (status == PTO_OK) status = pto_context_enqueue(context, &command);
  return end_call(context, status);
}

int pto_device_tensor_destroy(struct pto_context *context, struct pto_device_tensor tensor) {
  struct pto_device_record *record = NULL;
  const bool has_failed = begin_call(context) != PTO_OK;
  int status = pto_device_tensors_lookup(&context->tensors, tensor, "destroy", &record, &context->refusal);
  if (status && tensor.id && tensor.context == context->tensors.context) {
    pto_error_clear(&context->refusal); /* a second time */
    pto_context_unlock(context);
    return end_call(context, PTO_OK);
  }
  if (status == PTO_OK) record->is_destroyed = true;
  if (status == PTO_OK && has_failed) pto_device_tensors_remove(&context->tensors, record); /* nothing runs */
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_DESTROY, .record = record};
  if (status == PTO_OK && !has_failed && pto_context_enqueue(context, &command)) {
    /* It failed in between, and what was queued has been dropped. */
    pto_context_lock(context);
    pto_device_tensors_remove(&context->tensors, record);
    pto_context_unlock(context);
  }
  return end_call(context, status);
}

/* ---- dispatch ---- */

static int check_operand(struct pto_context *context, const struct pto_operand *operand,
                         const struct pto_device_record *record) {
  if (operand->dtype == record->dtype && operand->ndims == record->ndims &&
      memcmp(operand->shape, record->shape, record->ndims * sizeof *record->shape) == 0)
    return PTO_OK;
  pto_error_set(&context->refusal, PTO_EINVAL, "dispatch: %s is %s [", operand->name, pto_dtype_name(operand->dtype));
  for (uint32_t d = 0; d < operand->ndims; d++)
    pto_error_append(&context->refusal, d ? ", %" PRIu64 : "%" PRIu64, operand->shape[d]);
  pto_error_append(&context->refusal, "], tensor %" PRIu32 " is %s [", pto_device_record_number(record),
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

static bool is_consumed(const struct side *side, const char *name) {
  for (uint32_t i = 0; i < side->consumed_count; i++)
    if (strcmp(side->consumed[i], name) == 0) return true;
  return false;
}

static int find_operand(struct pto_context *context, const struct side *side, const char *name, uint32_t *index_out) {
  for (uint32_t i = 0; name && i < side->operand_count; i++)
    if (strcmp(side->operands[i].name, name) == 0) {
      *index_out = i;
      return PTO_OK;
    }
  return REFUSE(context, PTO_EINVAL, "dispatch: no %s is called \"%s\"", side->what, name ? name : "");
}

/* Fills records[operand]; every name once, no tensor twice. */
static int bind_side(struct pto_context *context, const struct side *side, struct pto_device_record **records) {
  struct pto_device_tensors *tensors = &context->tensors;
  for (uint32_t i = 0; i < side->binding_count; i++) {
    struct pto_device_record *record;
    uint32_t index = 0;
    int status = find_operand(context, side, side->bindings[i].name, &index);
    if (status == PTO_OK)
      status = pto_device_tensors_lookup(tensors, side->bindings[i].tensor, side->bindings[i].name, &record,
                                         &context->refusal);
    if (status) return status;
    const char *name = side->bindings[i].name;
    if (records[index]) return REFUSE(context, PTO_EINVAL, "dispatch: %s %s is bound twice", side->what, name);
    if (record->bound_serial == tensors->bound_serial && !(side->is_output && record->is_consumed))
      return REFUSE(context, PTO_EINVAL, "dispatch: tensor %" PRIu32 " is bound to %s and to another operand",
                    pto_device_record_number(record), name);
    if (record->is_constant)
      return REFUSE(context, PTO_EINVAL, "dispatch: %s: tensor %" PRIu32 " is constant", name,
                    pto_device_record_number(record));
    status = side->is_output ? PTO_OK : check_defined(context, name, record);
    if (status == PTO_OK) status = check_operand(context, &side->operands[index], record);
    if (status) return status;
    record->bound_serial = tensors->bound_serial;
    record->is_consumed = is_consumed(side, name);
    records[index] = record;
  }
  for (uint32_t i = 0; i < side->operand_count; i++)
    if (!records[i])
      return REFUSE(context, PTO_EINVAL, "dispatch: %s %s is not bound", side->what, side->operands[i].name);
  return PTO_OK;
}

static int bind_constants(struct pto_context *context, const struct pto_device_program *program,
                          struct pto_device_record **records) {
  for (uint32_t i = 0; i < program->constant_count; i++) {
    int status = pto_device_tensors_lookup(&context->tensors, program->constants[i], "dispatch: constant", &records[i],
                                           &context->refusal);
    if (status == PTO_OK && !records[i]->is_constant)
      status = REFUSE(context, PTO_EINVAL, "dispatch: tensor %" PRIu32 " is not constant",
                      pto_device_record_number(records[i]));
    if (status == PTO_OK) status = check_defined(context, "dispatch: constant", records[i]);
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
    status = find_operand(context, &inputs, bindings->consumed[i], &index);
  if (status == PTO_OK) status = bind_side(context, &inputs, records);
  if (status == PTO_OK) status = bind_side(context, &outputs, records + program->input_count);
  if (status == PTO_OK)
    status = bind_constants(context, program, records + program->input_count + program->output_count);
  return status;
}

int pto_context_dispatch(struct pto_context *context, const struct pto_device_program *program,
                         const struct pto_dispatch_bindings *bindings) {
  int status = begin_call(context);
  if (status == PTO_OK && (!program || !program->orchestrate || !bindings))
    status = REFUSE(context, PTO_EINVAL, "dispatch: no program, or no bindings");
  struct pto_command command = {.kind = PTO_COMMAND_DISPATCH, .program = program};
  if (status == PTO_OK) {
    command.input_count = program->input_count;
    command.output_count = program->output_count;
    command.bound = calloc((size_t)program->input_count + program->output_count + program->constant_count + 1,
                           sizeof *command.bound);
    status = command.bound ? bind_all(context, program, bindings, command.bound)
                           : REFUSE(context, PTO_ENOMEM, "dispatch: no memory for the bindings");
  }
  pto_context_unlock(context);
  if (status == PTO_OK)
    status = pto_context_enqueue(context, &command);
  else
    pto_command_fini(&command);
  return end_call(context, status);
}
