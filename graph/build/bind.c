/* SPDX-License-Identifier: MIT */
#include <graph/build/sizes.h>

#include <inttypes.h>
#include <string.h>

#include <graph/build/op_attributes.h>

/* One binding on its way. */
struct binding {
  const struct pto_graph *graph;
  uint64_t values[PTO_GRAPH_MAX_SIZES]; /* by size; 0: it follows, and is not known yet */
  struct pto_graph_builder *builder;
  struct pto_graph_arena scratch;
  struct pto_error *error;
};

/* ---- calls ---- */

static int check_range(const struct binding *b, uint32_t size) {
  const struct pto_graph_open_size *open = &b->graph->sizes.sizes[size];
  if (b->values[size] >= 1 && b->values[size] <= open->most) return PTO_OK;
  return pto_error_set(b->error, PTO_EINVAL, "size \"%.60s\" is %" PRIu64 ", not 1 to %" PRIu64, open->name,
                       b->values[size], open->most);
}

/* The first place of value `value`, or the number of places. */
static uint32_t first_place(const struct pto_graph *graph, uint32_t value) {
  uint32_t low = 0, high = graph->sizes.place_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (graph->sizes.places[middle].value < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct pto_graph_operand make_input(struct binding *b, uint32_t v) {
  const struct pto_graph_sizes *sizes = &b->graph->sizes;
  struct pto_graph_desc desc = b->graph->values[v].desc;
  for (uint32_t p = first_place(b->graph, v); p < sizes->place_count && sizes->places[p].value == v; p++)
    desc.shape[sizes->places[p].item] = b->values[sizes->places[p].size];
  return pto_graph_builder_input(b->builder, b->graph->values[v].name, &desc);
}

/* What the elements of a reshape leave for the size at `place`, the one that is not known yet. */
static int decide(struct binding *b, const struct pto_graph_node *node, const struct pto_u32_list *list,
                  const struct pto_graph_size_place *place) {
  const struct pto_graph_desc *input = &b->builder->values[node->operands[0]].desc;
  const struct pto_graph_open_size *open = &b->graph->sizes.sizes[place->size];
  uint64_t left = pto_graph_desc_numel(input);
  for (uint32_t i = 0; i < list->count; i++) {
    const struct pto_graph_open_size *size = pto_graph_size_in(b->graph, place->value, place->attribute, i);
    const uint64_t extent = size ? b->values[size - b->graph->sizes.sizes] : list->values[i];
    if (i == place->item) continue;
    if (extent == 0 || left % extent != 0)
      return pto_error_set(b->error, PTO_EINVAL,
                           "size \"%.60s\" does not follow from the %" PRIu64 " elements of reshape \"%.60s\"",
                           open->name, pto_graph_desc_numel(input), node->label ? node->label : "");
    left /= extent;
  }
  b->values[place->size] = left;
  return check_range(b, place->size);
}

/* Sizes become numbers in options, whose lists are in scratch. */
static int set_numbers(struct binding *b, const struct pto_graph_node *node, char *options) {
  const struct pto_graph_sizes *sizes = &b->graph->sizes;
  const struct pto_op_info *info = pto_op_info(node->op);
  uint32_t copied = 0; /* the attribute whose list is a copy */
  for (uint32_t p = first_place(b->graph, node->first_result);
       p < sizes->place_count && sizes->places[p].value == node->first_result; p++) {
    const struct pto_graph_size_place *place = &sizes->places[p];
    const struct pto_op_attribute *attribute = &info->attributes[place->attribute - 1];
    void *field = options + attribute->offset;
    struct pto_u32_list *list = field;
    uint32_t *items = field;
    if (attribute->kind != PTO_ATTRIBUTE_U32) {
      if (copied != place->attribute)
        list->values = pto_graph_arena_copy(&b->scratch, list->values, list->count, sizeof *list->values);
      if (!list->values) return pto_error_set(b->error, PTO_ENOMEM, "out of memory");
      copied = place->attribute;
      items = (uint32_t *)(uintptr_t)list->values; /* of scratch */
    }
    const int status = b->values[place->size] ? PTO_OK : decide(b, node, list, place);
    if (status) return status;
    items[place->item] = (uint32_t)b->values[place->size];
  }
  return PTO_OK;
}

static int make_node(struct binding *b, const struct pto_graph_node *node) {
  _Alignas(16) char options[PTO_OPTIONS_BYTES];
  const struct pto_graph_arena_mark mark = pto_graph_arena_mark(&b->scratch);
  memcpy(options, node->options, pto_op_info(node->op)->options_size);
  *(const char **)(void *)options = node->label;
  int status = set_numbers(b, node, options);
  struct pto_graph_operand *operands =
      pto_graph_arena_alloc(&b->scratch, (node->operand_count + UINT64_C(1)) * sizeof *operands);
  struct pto_graph_operand *results = pto_graph_arena_alloc(&b->scratch, node->result_count * sizeof *results);
  const struct pto_graph_call call = {.op = node->op,
                                      .operands = operands,
                                      .operand_count = node->operand_count,
                                      .options = options,
                                      .result_count = node->result_count};
  uint32_t count = 0;
  if (status == PTO_OK && (!operands || !results)) status = pto_error_set(b->error, PTO_ENOMEM, "out of memory");
  for (uint32_t i = 0; status == PTO_OK && i < node->operand_count; i++)
    if (node->operands[i]) operands[i] = (struct pto_graph_operand){node->operands[i], b->builder->id};
  if (status == PTO_OK) {
    status = pto_graph_builder_call(b->builder, &call, results, node->result_count, &count);
    if (status) pto_error_set(b->error, status, "%s", pto_graph_builder_error(b->builder));
  }
  pto_graph_arena_release(&b->scratch, mark);
  return status;
}

/* Values in their order, so that each gets the number that it has in the template. */
static int make_values(struct binding *b) {
  int status = PTO_OK;
  for (uint32_t v = 1; v < b->graph->value_count && status == PTO_OK; v++) {
    const struct pto_graph_value *value = &b->graph->values[v];
    if (value->kind == PTO_VALUE_INPUT)
      (void)make_input(b, v);
    else if (value->kind == PTO_VALUE_CONSTANT)
      (void)pto_builder_borrow_constant(b->builder, value);
    else if (b->graph->nodes[value->producer - 1].first_result == v)
      status = make_node(b, &b->graph->nodes[value->producer - 1]);
    if (status == PTO_OK && pto_graph_builder_status(b->builder))
      status = pto_error_set(b->error, pto_graph_builder_status(b->builder), "%s", pto_graph_builder_error(b->builder));
    if (status == PTO_OK && value->kind == PTO_VALUE_RESULT) b->builder->values[v].name = value->name;
  }
  return status;
}

static int build(struct binding *b, struct pto_graph **bound_out) {
  const struct pto_graph *graph = b->graph;
  struct pto_graph_output *outputs = pto_graph_arena_alloc(&b->scratch, graph->output_count * sizeof *outputs);
  if (!outputs) return pto_error_set(b->error, PTO_ENOMEM, "out of memory");
  for (uint32_t i = 0; i < graph->output_count; i++)
    outputs[i] = (struct pto_graph_output){graph->output_operands[i].name, {graph->outputs[i], b->builder->id}};
  const int status = pto_graph_builder_build(b->builder, outputs, graph->output_count, bound_out);
  return status ? pto_error_set(b->error, status, "%s", pto_graph_builder_error(b->builder)) : PTO_OK;
}

/* What the sizes were, behind a call's sentence. */
static void append_values(const struct binding *b) {
  bool is_first = true;
  for (uint32_t s = 0; s < b->graph->sizes.count; s++) {
    if (!b->values[s]) continue;
    pto_error_append(b->error, "%s%.60s = %" PRIu64, is_first ? " (with " : ", ", b->graph->sizes.sizes[s].name,
                     b->values[s]);
    is_first = false;
  }
  if (!is_first) pto_error_append(b->error, ")");
}

int pto_graph_bind_values(const struct pto_graph *graph, const uint64_t *values, struct pto_graph **bound_out,
                          struct pto_error *error) {
  struct binding b = {.graph = graph, .error = error};
  memcpy(b.values, values, graph->sizes.count * sizeof *values);
  for (uint32_t s = 0; s < graph->sizes.count; s++) {
    const int status = graph->sizes.sizes[s].follows ? PTO_OK : check_range(&b, s);
    if (status) return status;
  }
  int status = pto_graph_builder_create(NULL, &b.builder);
  if (status) return pto_error_set(error, status, "no memory for a builder");
  status = make_values(&b);
  if (status == PTO_OK) status = build(&b, bound_out);
  if (status == PTO_OK) (*bound_out)->is_unfused = graph->is_unfused;
  if (status && graph->sizes.count) append_values(&b);
  pto_graph_arena_fini(&b.scratch);
  pto_graph_builder_destroy(b.builder);
  return status;
}

/* ---- by name ---- */

static int take_values(const struct pto_graph *graph, const struct pto_graph_size *given, uint32_t given_count,
                       uint64_t *values, struct pto_error *error) {
  const struct pto_graph_sizes *sizes = &graph->sizes;
  for (uint32_t i = 0; i < given_count; i++) {
    const char *name = given[i].name ? given[i].name : "";
    uint32_t s = 0;
    while (s < sizes->count && strcmp(sizes->sizes[s].name, name) != 0) s++;
    if (s == sizes->count) return pto_error_set(error, PTO_EINVAL, "the graph has no size \"%.60s\"", name);
    if (sizes->sizes[s].follows)
      return pto_error_set(error, PTO_EINVAL,
                           "size \"%.60s\" is not given: a reshape decides it, or no output needs it", name);
    if (values[s]) return pto_error_set(error, PTO_EINVAL, "size \"%.60s\" is given twice", name);
    if (given[i].value == 0)
      return pto_error_set(error, PTO_EINVAL, "size \"%.60s\" is 0, not 1 to %" PRIu64, name, sizes->sizes[s].most);
    values[s] = given[i].value;
  }
  for (uint32_t s = 0; s < sizes->count; s++)
    if (!sizes->sizes[s].follows && !values[s])
      return pto_error_set(error, PTO_EINVAL, "size \"%.60s\" is not given; it is 1 to %" PRIu64, sizes->sizes[s].name,
                           sizes->sizes[s].most);
  return PTO_OK;
}

int pto_graph_bind(struct pto_graph *graph, const struct pto_graph_size *given, uint32_t given_count,
                   struct pto_graph **bound_out, char *sentence, size_t sentence_size) {
  struct pto_error error = {0};
  uint64_t values[PTO_GRAPH_MAX_SIZES] = {0};
  int status = take_values(graph, given, given_count, values, &error);
  pthread_mutex_lock(&graph->instances->lock); /* of fusion */
  if (status == PTO_OK) status = pto_graph_bind_values(graph, values, bound_out, &error);
  pthread_mutex_unlock(&graph->instances->lock);
  if (status == PTO_OK) {
    (*bound_out)->origin = graph;
    atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed); /* the caller has one */
    return PTO_OK;
  }
  return pto_error_tell(&error, sentence, sentence_size);
}
