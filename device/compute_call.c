/* SPDX-License-Identifier: MIT */
/*
 * pto_context_compute: a dispatch with tensors that are made for it alone.
 *
 * Owns nothing beyond the call.  It is made of the public calls, so it waits and is refused as they do; other threads'
 * calls may come between them, and see nothing of its tensors.
 */
#include <device/context_calls.h>

#include <stdlib.h>
#include <string.h>

/* The tensors of one call, as bindings: inputs, then outputs. */
struct computed {
  struct pto_context *context;
  const struct pto_compute_arrays *arrays;
  struct pto_binding *bindings;
  uint32_t made; /* of them */
};

static int refuse(struct pto_context *context, int status, const char *format, const char *name) {
  (void)pto_context_begin_call(context);
  pto_error_set(&context->refusal, status, format, name ? name : "");
  pto_context_unlock(context);
  return pto_context_end_call(context, status);
}

/* A tensor for one array; the dispatch refuses what is missing or named twice. */
static int make(struct computed *c, const struct pto_host_array *arrays, uint32_t array_index,
                const struct pto_operand *operands, uint32_t operand_count, uint32_t flags) {
  const struct pto_host_array *array = &arrays[array_index];
  const uint32_t index = pto_context_find_operand(operands, operand_count, array->name, array_index);
  if (index == operand_count)
    return refuse(c->context, PTO_EINVAL,
                  flags == PTO_TENSOR_WRITABLE ? "compute: no input is called \"%s\""
                                               : "compute: no output is called \"%s\"",
                  array->name);
  const struct pto_operand *operand = &operands[index];
  struct pto_device_tensor_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims, .flags = flags};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  struct pto_binding *binding = &c->bindings[c->made];
  binding->name = array->name;
  const int status = pto_device_tensor_create(c->context, &desc, &binding->tensor);
  if (status) return status;
  c->made++;
  if (pto_device_tensor_size(c->context, binding->tensor) == array->size_bytes && (array->data || !array->size_bytes))
    return PTO_OK;
  return refuse(c->context, PTO_EINVAL, "compute: the array %s has not the bytes of its operand", array->name);
}

static int compute(struct computed *c, const struct pto_device_program *program) {
  const struct pto_compute_arrays *arrays = c->arrays;
  int status = PTO_OK;
  for (uint32_t i = 0; i < arrays->input_count && status == PTO_OK; i++)
    status = make(c, arrays->inputs, i, program->inputs, program->input_count, PTO_TENSOR_WRITABLE);
  for (uint32_t i = 0; i < arrays->output_count && status == PTO_OK; i++)
    status = make(c, arrays->outputs, i, program->outputs, program->output_count, PTO_TENSOR_READABLE);
  for (uint32_t i = 0; i < arrays->input_count && status == PTO_OK; i++)
    status = pto_device_tensor_write(c->context, c->bindings[i].tensor, arrays->inputs[i].data,
                                     arrays->inputs[i].size_bytes);
  if (status) return status;
  const struct pto_dispatch_bindings bindings = {.inputs = c->bindings,
                                                 .outputs = c->bindings + arrays->input_count,
                                                 .input_count = arrays->input_count,
                                                 .output_count = arrays->output_count};
  struct pto_device_program once = *program;
  once.repeats = 0; /* these tensors will not come again */
  status = pto_context_dispatch(c->context, &once, &bindings);
  if (status == PTO_OK) status = pto_context_sync(c->context); /* no command uses `once` after this */
  for (uint32_t i = 0; i < arrays->output_count && status == PTO_OK; i++)
    status = pto_device_tensor_read(c->context, bindings.outputs[i].tensor, arrays->outputs[i].data,
                                    arrays->outputs[i].size_bytes);
  return status;
}

/* Gives the tensors back; the sentence of a refusal stays. */
static void give_back(struct computed *c) {
  pto_context_lock(c->context);
  const struct pto_error refusal = c->context->refusal;
  pto_context_unlock(c->context);
  for (uint32_t i = 0; i < c->made; i++) (void)pto_device_tensor_destroy(c->context, c->bindings[i].tensor);
  pto_context_lock(c->context);
  c->context->refusal = refusal;
  pto_context_unlock(c->context);
}

int pto_context_compute(struct pto_context *context, const struct pto_device_program *program,
                        const struct pto_compute_arrays *arrays) {
  struct computed c = {.context = context, .arrays = arrays};
  if (!program || !program->orchestrate || !arrays)
    return refuse(context, PTO_EINVAL, "compute: no program, or no arrays%s", NULL);
  c.bindings = calloc((size_t)arrays->input_count + arrays->output_count + 1, sizeof *c.bindings);
  if (!c.bindings) return refuse(context, PTO_ENOMEM, "compute: no memory for the bindings%s", NULL);
  const int status = compute(&c, program);
  give_back(&c);
  free(c.bindings);
  return status;
}
