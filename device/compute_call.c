/* SPDX-License-Identifier: MIT */
/*
 * pto_context_call and pto_context_compute: a dispatch with tensors that are made for it.
 *
 * Owns nothing beyond the call.  It is made of the public calls, so it waits and is refused as they do; other threads'
 * calls may come between them, and see nothing of its tensors.
 */
#include <device/context_calls.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/sized.h>

/* The tensors of one call, as bindings: inputs, then outputs. */
struct called {
  struct pto_context *context;
  const char *what; /* the call, for sentences */
  const struct pto_call *call;
  struct pto_binding *bindings;
  uint32_t bound; /* of them, so far */
};

static int refuse(const struct called *c, int status, const char *format, const char *name) {
  struct pto_error error;
  pto_error_set(&error, status, "%s", "");
  pto_error_append(&error, format, name ? name : "");
  return pto_context_refuse(c->context, c->what, &error);
}

static const struct pto_argument *argument_of(const struct called *c, uint32_t i) {
  return i < c->call->input_count ? &c->call->inputs[i] : &c->call->outputs[i - c->call->input_count];
}
static bool is_output(const struct called *c, uint32_t i) { return i >= c->call->input_count; }
/* Whether its tensor is made, and goes with the call. */
static bool is_host(const struct called *c, uint32_t i) {
  return !argument_of(c, i)->tensor.id && (argument_of(c, i)->data || !is_output(c, i));
}

/* The tensor of an argument that is none, of its operand's type. */
static int make(struct called *c, uint32_t i, const struct pto_operand *operand) {
  const struct pto_argument *argument = argument_of(c, i);
  struct pto_device_tensor_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
  desc.flags = !is_host(c, i)    ? (uint32_t)PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE
               : is_output(c, i) ? PTO_TENSOR_READABLE
                                 : PTO_TENSOR_WRITABLE;
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  struct pto_binding *binding = &c->bindings[i];
  const int status = pto_device_tensor_create(c->context, &desc, &binding->tensor);
  if (status) return status;
  c->bound++;
  if (!is_host(c, i)) return PTO_OK;
  if (pto_device_tensor_size(c->context, binding->tensor) == argument->size_bytes &&
      (argument->data || !argument->size_bytes))
    return PTO_OK;
  return refuse(c, PTO_EINVAL, "the array %s has not the bytes of its operand", argument->name);
}

/* The dispatch refuses what is missing or named twice. */
static int bind(struct called *c, const struct pto_device_program *program, uint32_t i) {
  const struct pto_argument *argument = argument_of(c, i);
  const bool is_out = is_output(c, i);
  const struct pto_operand *operands = is_out ? program->outputs : program->inputs;
  const uint32_t count = is_out ? program->output_count : program->input_count;
  const uint32_t index =
      pto_context_find_operand(operands, count, argument->name, is_out ? i - c->call->input_count : i);
  if (index == count)
    return refuse(c, PTO_EINVAL, is_out ? "no output is called \"%s\"" : "no input is called \"%s\"", argument->name);
  c->bindings[i].name = argument->name;
  if (!argument->tensor.id) return make(c, i, &operands[index]);
  if (argument->data) return refuse(c, PTO_EINVAL, "%s is a tensor and host memory", argument->name);
  c->bindings[i].tensor = argument->tensor;
  c->bound++;
  return PTO_OK;
}

static int dispatch(struct called *c, const struct pto_device_program *program) {
  const struct pto_call *call = c->call;
  const uint32_t count = call->input_count + call->output_count;
  bool waits = false;
  int status = PTO_OK;
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) status = bind(c, program, i);
  for (uint32_t i = 0; i < call->input_count && status == PTO_OK; i++)
    if (is_host(c, i))
      status =
          pto_device_tensor_write(c->context, c->bindings[i].tensor, call->inputs[i].data, call->inputs[i].size_bytes);
  for (uint32_t i = call->input_count; i < count; i++) waits |= is_host(c, i);
  if (status) return status;
  const struct pto_dispatch_bindings bindings = {.inputs = c->bindings,
                                                 .outputs = c->bindings + call->input_count,
                                                 .input_count = call->input_count,
                                                 .output_count = call->output_count,
                                                 .consumed = call->consumed,
                                                 .consumed_count = call->consumed_count};
  struct pto_device_program once = *program;
  once.repeats = 0; /* these tensors will not come again */
  status = pto_context_dispatch(c->context, waits ? &once : program, &bindings);
  if (status == PTO_OK && waits) status = pto_context_sync(c->context); /* no command uses `once` after this */
  for (uint32_t i = call->input_count; i < count && status == PTO_OK; i++)
    if (is_host(c, i))
      status = pto_device_tensor_read(c->context, c->bindings[i].tensor, argument_of(c, i)->data,
                                      argument_of(c, i)->size_bytes);
  return status;
}

/* Gives back what goes with the call, or all that was made; the sentence of a refusal stays. */
static void give_back(struct called *c, bool has_failed) {
  pto_context_lock(c->context);
  const struct pto_error refusal = c->context->refusal;
  pto_context_unlock(c->context);
  for (uint32_t i = 0; i < c->bound; i++)
    if (is_host(c, i) || (has_failed && !argument_of(c, i)->tensor.id))
      (void)pto_device_tensor_destroy(c->context, c->bindings[i].tensor);
  pto_context_lock(c->context);
  c->context->refusal = refusal;
  pto_context_unlock(c->context);
}

static int run(struct called *c, const struct pto_device_program *program) {
  const struct pto_call *call = c->call;
  c->bindings = calloc((size_t)call->input_count + call->output_count + 1, sizeof *c->bindings);
  if (!c->bindings) return refuse(c, PTO_ENOMEM, "no memory for the bindings%s", NULL);
  const int status = dispatch(c, program);
  give_back(c, status != PTO_OK);
  for (uint32_t i = 0; i < call->output_count && status == PTO_OK; i++)
    if (!call->outputs[i].tensor.id && !call->outputs[i].data)
      call->outputs[i].tensor = c->bindings[call->input_count + i].tensor;
  free(c->bindings);
  return status;
}

int pto_context_call(struct pto_context *context, const struct pto_device_program *program,
                     const struct pto_call *given) {
  struct pto_call call;
  struct pto_error error;
  struct called c = {.context = context, .what = "call", .call = &call};
  if (!program || !program->orchestrate || !given) return refuse(&c, PTO_EINVAL, "no program, or no arguments%s", NULL);
  memset(&call, 0, sizeof call);
  if (pto_sized_take(&call, sizeof call, given, "call", &error)) return refuse(&c, PTO_EINVAL, "%s", error.sentence);
  return run(&c, program);
}

/* Host memory alone. */
static void take_array(struct pto_argument *argument, const struct pto_host_array *array) {
  static char nothing; /* what has no bytes is memory all the same */
  const bool is_missing = !array->data && array->size_bytes;
  argument->name = array->name;
  argument->data = array->data ? array->data : &nothing;
  argument->size_bytes = is_missing ? UINT64_MAX : array->size_bytes;
}

int pto_context_compute(struct pto_context *context, const struct pto_device_program *program,
                        const struct pto_compute_arrays *arrays) {
  struct pto_call call = {.size = sizeof call};
  struct called c = {.context = context, .what = "compute", .call = &call};
  if (!program || !program->orchestrate || !arrays) return refuse(&c, PTO_EINVAL, "no program, or no arrays%s", NULL);
  const size_t count = (size_t)arrays->input_count + arrays->output_count;
  struct pto_argument *arguments = calloc(count + 1, sizeof *arguments);
  if (!arguments) return refuse(&c, PTO_ENOMEM, "no memory for the bindings%s", NULL);
  for (uint32_t i = 0; i < arrays->input_count; i++) take_array(&arguments[i], &arrays->inputs[i]);
  for (uint32_t i = 0; i < arrays->output_count; i++)
    take_array(&arguments[arrays->input_count + i], &arrays->outputs[i]);
  call.inputs = arguments;
  call.outputs = arguments + arrays->input_count;
  call.input_count = arrays->input_count;
  call.output_count = arrays->output_count;
  int status = run(&c, program);
  if (status == PTO_OK && !call.output_count) status = pto_context_sync(context);
  free(arguments);
  return status;
}
