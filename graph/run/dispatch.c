/* SPDX-License-Identifier: MIT */
/*
 * What a graph has on each context that it was dispatched on: its constants as device tensors, and the program that
 * lowers it.
 *
 * Owns those tensors and programs; made at the first dispatch on a context, freed with the graph or with the context,
 * whichever goes first.  The plain graphs of a template (graph/run/open_dispatch.c) use the tensors of the template.
 *
 * Always true: one instance a context; a constant is moved to the device once; the program has a number of its own, so
 * that the context keeps the lowered tasks of each set of bindings and lowers nothing twice.
 *
 * Any thread: the list is under a lock.
 */
#include <graph/run/open_dispatch.h>

#include <stdlib.h>
#include <string.h>

#include <device/context_calls.h>
#include <graph/run/lower_graph.h>

struct pto_graph_instance {
  struct pto_context_user user; /* of the context; the first member */
  struct pto_graph_instances *all;
  struct pto_graph_instance *next;
  struct pto_context *context;
  struct pto_device_program program;
  struct pto_device_tensor *constants; /* in the order of the graph's constant values */
  bool *is_ours;                       /* which of them were made here */
  uint32_t constant_count;
};

static void instance_free(struct pto_graph_instance *instance) {
  free(instance->constants);
  free(instance->is_ours);
  free(instance);
}

static void instance_destroy(struct pto_graph_instance *instance) {
  for (uint32_t i = 0; instance->is_ours && i < instance->constant_count; i++)
    if (instance->is_ours[i]) pto_device_tensor_destroy(instance->context, instance->constants[i]);
  instance_free(instance);
}

/* With the context its tensors have gone, and what it kept of the program. */
static void context_gone(struct pto_context_user *user) {
  struct pto_graph_instance *instance = (struct pto_graph_instance *)user;
  pthread_mutex_lock(&instance->all->lock);
  struct pto_graph_instance **link = &instance->all->first;
  while (*link != instance) link = &(*link)->next;
  *link = instance->next;
  pthread_mutex_unlock(&instance->all->lock);
  instance_free(instance);
}

static void instance_close(struct pto_graph_instance *instance) {
  pto_context_remove_user(instance->context, &instance->user);
  pto_context_forget_program(instance->context, &instance->program);
  instance_destroy(instance);
}

static void close_all(struct pto_graph_instance *first) {
  for (struct pto_graph_instance *instance = first, *next; instance; instance = next) {
    next = instance->next;
    instance_close(instance);
  }
}

void pto_graph_forget(struct pto_graph *graph, struct pto_context *context) {
  struct pto_graph_instances *instances = graph->instances;
  pthread_mutex_lock(&instances->lock);
  for (size_t i = 0; i < instances->bound_count; i++) pto_graph_forget(instances->bound[i].graph, context);
  struct pto_graph_instance **link = &instances->first;
  while (*link && (*link)->context != context) link = &(*link)->next;
  struct pto_graph_instance *instance = *link;
  if (instance) *link = instance->next;
  pthread_mutex_unlock(&instances->lock);
  if (instance) instance_close(instance);
}

int pto_graph_set_fusion(struct pto_graph *graph, int is_fused) {
  pthread_mutex_lock(&graph->instances->lock);
  const int status = graph->instances->first == NULL ? PTO_OK : PTO_ESTALE;
  if (status == PTO_OK) {
    graph->is_unfused = !is_fused;
    for (size_t i = 0; i < graph->instances->bound_count; i++) graph->instances->bound[i].graph->is_unfused = !is_fused;
  }
  pthread_mutex_unlock(&graph->instances->lock);
  return status;
}

static int orchestrate(struct pto_runtime *rt, const struct pto_bound *bound) {
  return pto_graph_lower(bound->context, rt, bound->inputs, bound->outputs, bound->constants);
}

static int add_constant(struct pto_graph_instance *instance, const struct pto_graph_value *value) {
  const uint32_t index = instance->constant_count++;
  if (value->data == NULL) {
    instance->constants[index] = value->tensor;
    return PTO_OK;
  }
  struct pto_graph_desc laid;
  const void *bytes = pto_graph_constant(value, &laid);
  struct pto_device_tensor_desc desc = {.dtype = laid.dtype, .ndims = laid.ndims};
  for (uint32_t d = 0; d < desc.ndims; d++) desc.shape[d] = laid.shape[d];
  const int status = pto_device_tensor_create_constant(instance->context, &desc, bytes, value->size_bytes,
                                                       &instance->constants[index]);
  instance->is_ours[index] = status == PTO_OK;
  return status;
}

/* Those of the template, which has the same constants in the same order. */
static void lend_constants(struct pto_graph_instance *instance, const struct pto_graph_instance *lender) {
  instance->constant_count = lender->constant_count;
  memcpy(instance->constants, lender->constants, lender->constant_count * sizeof *lender->constants);
}

static int refuse_memory(struct pto_context *context) {
  struct pto_error error;
  pto_error_set(&error, PTO_ENOMEM, "no memory for the graph's constants on the context");
  return pto_context_refuse(context, "dispatch", &error);
}

/* What was made goes; the sentence of the refusal stays. */
static void give_up(struct pto_graph_instance *instance) {
  struct pto_context *context = instance->context;
  pto_context_lock(context);
  const struct pto_error refusal = context->refusal;
  pto_context_unlock(context);
  instance_destroy(instance);
  pto_context_lock(context);
  context->refusal = refusal;
  pto_context_unlock(context);
}

static int instance_create(const struct pto_graph *graph, struct pto_context *context,
                           const struct pto_graph_instance *lender, struct pto_graph_instance **instance_out) {
  struct pto_graph_instance *instance = calloc(1, sizeof *instance);
  if (!instance) return refuse_memory(context);
  instance->context = context;
  instance->constants = calloc(graph->value_count, sizeof *instance->constants);
  instance->is_ours = calloc(graph->value_count, sizeof *instance->is_ours);
  int status = instance->constants && instance->is_ours ? PTO_OK : refuse_memory(context);
  if (status == PTO_OK && lender) lend_constants(instance, lender);
  for (uint32_t v = 1; v < graph->value_count && status == PTO_OK && !lender; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) status = add_constant(instance, &graph->values[v]);
  if (status != PTO_OK) {
    give_up(instance);
    return status;
  }
  instance->program = (struct pto_device_program){.name = "graph",
                                                  .inputs = graph->input_operands,
                                                  .outputs = graph->output_operands,
                                                  .input_count = graph->input_count,
                                                  .output_count = graph->output_count,
                                                  .constants = instance->constants,
                                                  .constant_count = instance->constant_count,
                                                  .orchestrate = orchestrate,
                                                  .context = (void *)(uintptr_t)graph,
                                                  .repeats = pto_device_program_serial()};
  *instance_out = instance;
  return PTO_OK;
}

/* The instance on `context`, made where there is none, with the constants of `lender` unless it is NULL. */
static int find_instance(struct pto_graph *graph, struct pto_context *context, const struct pto_graph_instance *lender,
                         struct pto_graph_instance **instance_out) {
  struct pto_graph_instances *instances = graph->instances;
  int status = PTO_OK;
  pthread_mutex_lock(&instances->lock);
  struct pto_graph_instance *instance = instances->first;
  while (instance && instance->context != context) instance = instance->next;
  if (!instance) {
    status = instance_create(graph, context, lender, &instance);
    if (status == PTO_OK) {
      instance->user.gone = context_gone;
      pto_context_add_user(context, &instance->user);
      instance->all = instances;
      instance->next = instances->first;
      instances->first = instance;
      instances->close_all = close_all;
    }
  }
  pthread_mutex_unlock(&instances->lock);
  *instance_out = instance;
  return status;
}

/* ---- the calls ---- */

/* A dispatch of whichever call. */
typedef int run_program(struct pto_context *context, const struct pto_device_program *program, const void *given);

static int run_dispatch(struct pto_context *context, const struct pto_device_program *program, const void *given) {
  return pto_context_dispatch(context, program, given);
}
static int run_call(struct pto_context *context, const struct pto_device_program *program, const void *given) {
  return pto_context_call(context, program, given);
}
static int run_compute(struct pto_context *context, const struct pto_device_program *program, const void *given) {
  return pto_context_compute(context, program, given);
}

static int run_plain(struct pto_graph *graph, struct pto_context *context, run_program *run, const void *given) {
  struct pto_graph_instance *instance = NULL;
  const int status = find_instance(graph, context, NULL, &instance);
  return status ? status : run(context, &instance->program, given);
}

/* By the plain graph of the sizes that the inputs have. */
static int run_open(struct pto_graph *graph, struct pto_context *context, const struct pto_open_inputs *inputs,
                    run_program *run, const void *given) {
  struct pto_graph_instance *lender = NULL, *instance = NULL;
  struct pto_graph *plain = NULL;
  int status = pto_open_graph_begin(graph, context, inputs, &plain);
  if (status) return status;
  status = find_instance(graph, context, NULL, &lender);
  if (status == PTO_OK) status = find_instance(plain, context, lender, &instance);
  if (status == PTO_OK) status = run(context, &instance->program, given);
  pto_open_graph_end(graph, plain);
  return status;
}

int pto_graph_dispatch(struct pto_graph *graph, struct pto_context *context,
                       const struct pto_dispatch_bindings *bindings) {
  if (!pto_graph_is_open(graph) || !bindings) return run_plain(graph, context, run_dispatch, bindings);
  const struct pto_open_inputs inputs = {"dispatch", bindings->inputs, sizeof *bindings->inputs, bindings->input_count,
                                         pto_open_binding};
  return run_open(graph, context, &inputs, run_dispatch, bindings);
}

int pto_graph_call(struct pto_graph *graph, struct pto_context *context, const struct pto_call *call) {
  if (!pto_graph_is_open(graph) || !call) return run_plain(graph, context, run_call, call);
  const struct pto_open_inputs inputs = {"call", call->inputs, sizeof *call->inputs, call->input_count,
                                         pto_open_argument};
  return run_open(graph, context, &inputs, run_call, call);
}

int pto_graph_compute(struct pto_graph *graph, struct pto_context *context, const struct pto_compute_arrays *arrays) {
  if (!pto_graph_is_open(graph) || !arrays) return run_plain(graph, context, run_compute, arrays);
  const struct pto_open_inputs inputs = {"compute", arrays->inputs, sizeof *arrays->inputs, arrays->input_count,
                                         pto_open_array};
  return run_open(graph, context, &inputs, run_compute, arrays);
}
