/* SPDX-License-Identifier: MIT */
#include <graph/run/open_dispatch.h>

#include <stdlib.h>
#include <string.h>

#include <device/context_calls.h>
#include <runtime/base/grow.h>

struct pto_open_input pto_open_binding(const void *item) {
  const struct pto_binding *binding = item;
  return (struct pto_open_input){binding->name, binding->tensor, 0};
}
struct pto_open_input pto_open_argument(const void *item) {
  const struct pto_argument *argument = item;
  return (struct pto_open_input){argument->name, argument->tensor, argument->size_bytes};
}
struct pto_open_input pto_open_array(const void *item) {
  const struct pto_host_array *array = item;
  return (struct pto_open_input){.name = array->name, .size_bytes = array->size_bytes};
}

/* ---- values ---- */

/* What is bound to the inputs.  A name that is unknown, or there twice, is the dispatch's to refuse. */
static int look(const struct pto_graph *graph, struct pto_context *context, const struct pto_open_inputs *inputs,
                struct pto_graph_extent *extents, struct pto_device_tensor_info *infos) {
  for (uint32_t i = 0; i < inputs->count; i++) {
    const struct pto_open_input given = inputs->look((const char *)inputs->items + i * inputs->item_bytes);
    const uint32_t index = given.name
                               ? pto_context_find_operand(graph->input_operands, graph->input_count, given.name, i)
                               : graph->input_count;
    if (index == graph->input_count) continue;
    struct pto_device_tensor_info *info = &infos[index];
    info->size = sizeof *info;
    const int status = given.tensor.id ? pto_device_tensor_describe(context, given.tensor, info) : PTO_OK;
    if (status) return status;
    extents[index] = (struct pto_graph_extent){true, given.tensor.id != 0, info->ndims, info->shape, given.size_bytes};
  }
  return PTO_OK;
}

static int find_values(const struct pto_graph *graph, struct pto_context *context, const struct pto_open_inputs *inputs,
                       uint64_t *values) {
  struct pto_graph_extent *extents = calloc(graph->input_count + 1u, sizeof *extents);
  struct pto_device_tensor_info *infos = calloc(graph->input_count + 1u, sizeof *infos);
  struct pto_error error;
  int status = PTO_ENOMEM;
  if (!extents || !infos) {
    pto_error_set(&error, PTO_ENOMEM, "no memory for the shapes of its inputs");
    pto_context_refuse(context, inputs->what, &error);
  } else {
    status = look(graph, context, inputs, extents, infos);
    if (status == PTO_OK && pto_graph_match_sizes(graph, extents, values, &error))
      status = pto_context_refuse(context, inputs->what, &error);
  }
  free(extents);
  free(infos);
  return status;
}

/* ---- plain graphs: under the lock ---- */

static struct pto_graph_bound *find(const struct pto_graph *graph, const uint64_t *values) {
  struct pto_graph_instances *of = graph->instances;
  for (size_t i = 0; i < of->bound_count; i++)
    if (memcmp(of->bound[i].values, values, graph->sizes.count * sizeof *values) == 0) return &of->bound[i];
  return NULL;
}

/* Takes out the one used least recently where there are too many; NULL: there are not, or all are being dispatched. */
static struct pto_graph *take_surplus(struct pto_graph_instances *of) {
  struct pto_graph_bound *oldest = NULL;
  if (of->bound_count <= PTO_OPEN_GRAPHS) return NULL;
  for (size_t i = 0; i < of->bound_count; i++)
    if (of->bound[i].users == 0 && (!oldest || of->bound[i].last_use < oldest->last_use)) oldest = &of->bound[i];
  if (!oldest) return NULL;
  struct pto_graph *graph = oldest->graph;
  free(oldest->values);
  *oldest = of->bound[--of->bound_count];
  return graph;
}

static int make(const struct pto_graph *graph, const uint64_t *values, struct pto_graph_bound **bound_out,
                struct pto_error *error) {
  struct pto_graph_instances *of = graph->instances;
  struct pto_graph *plain = NULL;
  const int status = pto_graph_bind_values(graph, values, &plain, error);
  if (status) return status;
  uint64_t *copy = malloc(graph->sizes.count * sizeof *copy);
  struct pto_graph_bound *bound =
      copy ? pto_grow(&of->bound, &of->bound_count, &of->bound_capacity, sizeof *bound) : NULL;
  if (!bound) {
    free(copy);
    pto_graph_destroy(plain);
    return pto_error_set(error, PTO_ENOMEM, "no memory for the graph of these sizes");
  }
  memcpy(copy, values, graph->sizes.count * sizeof *copy);
  *bound = (struct pto_graph_bound){.values = copy, .graph = plain};
  of->bound_made++;
  *bound_out = bound;
  return PTO_OK;
}

int pto_open_graph_begin(struct pto_graph *graph, struct pto_context *context, const struct pto_open_inputs *inputs,
                         struct pto_graph **plain_out) {
  uint64_t values[PTO_GRAPH_MAX_SIZES];
  struct pto_error error;
  int status = find_values(graph, context, inputs, values);
  if (status) return status;
  pthread_mutex_lock(&graph->instances->lock);
  struct pto_graph_bound *bound = find(graph, values);
  if (!bound) status = make(graph, values, &bound, &error);
  if (status == PTO_OK) {
    bound->users++;
    bound->last_use = ++graph->instances->bound_uses;
    *plain_out = bound->graph;
  }
  for (struct pto_graph *surplus; (surplus = take_surplus(graph->instances)) != NULL;) {
    pthread_mutex_unlock(&graph->instances->lock);
    pto_graph_destroy(surplus); /* waits for its dispatches, and other threads' calls do not */
    pthread_mutex_lock(&graph->instances->lock);
  }
  pthread_mutex_unlock(&graph->instances->lock);
  return status ? pto_context_refuse(context, inputs->what, &error) : PTO_OK;
}

void pto_open_graph_end(struct pto_graph *graph, const struct pto_graph *plain) {
  struct pto_graph_instances *of = graph->instances;
  pthread_mutex_lock(&of->lock);
  size_t i = 0;
  while (of->bound[i].graph != plain) i++;
  of->bound[i].users--;
  pthread_mutex_unlock(&of->lock);
}
