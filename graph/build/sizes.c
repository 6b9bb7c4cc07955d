/* SPDX-License-Identifier: MIT */
#include <graph/build/sizes.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/data.h>
#include <graph/build/op_attributes.h>
#include <runtime/base/grow.h>
#include <runtime/base/utf8.h>

/* ---- naming a place ---- */

#define REFUSE(...) pto_builder_refuse(builder, PTO_EINVAL, "set_size: " __VA_ARGS__)

/* The number at an item of an option. */
static int find_item(struct pto_graph_builder *builder, const struct pto_graph_node *node, const char *name,
                     uint32_t item, uint32_t *attribute_out, uint64_t *number_out) {
  const struct pto_op_info *info = pto_op_info(node->op);
  const struct pto_op_attribute *attribute = pto_op_attribute_find(info, name);
  if (!attribute) return REFUSE("%s has no option \"%.60s\"", info->name, name);
  const void *field = (const char *)node->options + attribute->offset;
  const struct pto_u32_list one = {field, 1}, *list = &one;
  const bool is_list = attribute->kind == PTO_ATTRIBUTE_U32_LIST || attribute->kind == PTO_ATTRIBUTE_SPLITS;
  if (is_list) list = field;
  if (!is_list && attribute->kind != PTO_ATTRIBUTE_U32)
    return REFUSE("option %s of %s has no sizes", attribute->name, info->name);
  if (item >= list->count || !list->values)
    return REFUSE("%s of %s has %u items, and no item %u", attribute->name, info->name, list->count, item);
  *attribute_out = (uint32_t)(attribute - info->attributes) + 1;
  *number_out = list->values[item];
  return PTO_OK;
}

/* The place that a call means, and the number there. */
static int find_place(struct pto_graph_builder *builder, struct pto_graph_operand operand, const char *attribute,
                      struct pto_graph_size_place *place, uint64_t *number_out) {
  struct pto_error error;
  const int status = pto_builder_value(builder, operand, &place->value, &error);
  if (status) return pto_builder_refuse(builder, status, "set_size: the operand %s", error.sentence);
  const struct pto_graph_value *value = &builder->values[place->value];
  if (attribute) {
    if (value->kind != PTO_VALUE_RESULT) return REFUSE("the operand is no result, and has no \"%.60s\"", attribute);
    const struct pto_graph_node *node = &builder->nodes[value->producer - 1];
    place->value = node->first_result;
    return find_item(builder, node, attribute, place->item, &place->attribute, number_out);
  }
  if (value->kind != PTO_VALUE_INPUT) return REFUSE("the operand is no input: shapes of others follow from inputs");
  if (place->item >= value->desc.ndims)
    return REFUSE("input \"%.60s\" has %u dimensions, and none is %u", value->name, value->desc.ndims, place->item);
  place->attribute = PTO_SIZE_IN_SHAPE;
  *number_out = value->desc.shape[place->item];
  return PTO_OK;
}

/* The size of this name, made where there is none. */
static int find_size(struct pto_graph_builder *builder, const char *name, uint64_t most, uint32_t *size_out) {
  struct pto_graph_sizes *sizes = &builder->sizes;
  uint32_t i = 0;
  while (i < sizes->count && strcmp(sizes->sizes[i].name, name) != 0) i++;
  *size_out = i;
  if (i < sizes->count) {
    if (sizes->sizes[i].most == most) return PTO_OK;
    return REFUSE("size \"%.60s\" is at most %" PRIu64 " at one place and %" PRIu64 " at another", name,
                  sizes->sizes[i].most, most);
  }
  if (i == PTO_GRAPH_MAX_SIZES) return REFUSE("a graph has at most %u open sizes", PTO_GRAPH_MAX_SIZES);
  const char *copy = pto_graph_arena_string(&builder->arena, name);
  if (!copy || !pto_builder_grow((void **)&sizes->sizes, &sizes->capacity, i, 1, sizeof *sizes->sizes))
    return pto_builder_refuse(builder, PTO_ENOMEM, "set_size: out of memory");
  sizes->sizes[sizes->count++] = (struct pto_graph_open_size){.name = copy, .most = most};
  return PTO_OK;
}

int pto_graph_builder_set_size(struct pto_graph_builder *builder, struct pto_graph_operand operand,
                               const char *attribute, uint32_t item, const char *name) {
  struct pto_graph_size_place place = {.item = item};
  uint64_t most = 0;
  int status = pto_builder_begin_call(builder, "set_size");
  if (status) return status;
  if (!name || !name[0]) return REFUSE("the name is empty");
  if (!pto_utf8_is_valid(name)) return REFUSE("the name \"%.60s\" is no UTF-8", name);
  status = find_place(builder, operand, attribute, &place, &most);
  if (status) return status;
  if (most == 0) return REFUSE("size \"%.60s\" is at most 0", name);
  struct pto_graph_sizes *sizes = &builder->sizes;
  if (!pto_builder_grow((void **)&sizes->places, &sizes->place_capacity, sizes->place_count, 1, sizeof *sizes->places))
    return pto_builder_refuse(builder, PTO_ENOMEM, "set_size: out of memory");
  status = find_size(builder, name, most, &place.size);
  if (status == PTO_OK) sizes->places[sizes->place_count++] = place;
  return status;
}

/* ---- build ---- */

static int compare_places(const void *a, const void *b) {
  const struct pto_graph_size_place *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  if (x->attribute != y->attribute) return x->attribute < y->attribute ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static const char *name_at(const struct pto_graph_builder *builder, uint32_t place) {
  return builder->sizes.sizes[builder->sizes.places[place].size].name;
}

/* Whether the first place of a size without an input is one that the elements of a reshape decide. */
static bool follows(const struct pto_graph_builder *builder, const struct pto_graph_size_place *place) {
  const struct pto_graph_node *node = &builder->nodes[builder->values[place->value].producer - 1];
  return node->op == PTO_GRAPH_OP_reshape;
}

int pto_builder_check_sizes(struct pto_graph_builder *builder, const uint32_t *numbers) {
  struct pto_graph_sizes *sizes = &builder->sizes;
  bool is_known[PTO_GRAPH_MAX_SIZES] = {false};
  uint32_t decided_by = 0, decided = 0; /* the reshape that has decided a size, and that size */
  if (sizes->place_count == 0) return PTO_OK;
  qsort(sizes->places, sizes->place_count, sizeof *sizes->places, compare_places);
  for (uint32_t p = 0; p < sizes->place_count; p++)
    is_known[sizes->places[p].size] |= sizes->places[p].attribute == PTO_SIZE_IN_SHAPE;
  for (uint32_t p = 0; p < sizes->place_count; p++) {
    const struct pto_graph_size_place *place = &sizes->places[p];
    if (p > 0 && compare_places(place - 1, place) == 0)
      return pto_builder_refuse(builder, PTO_EINVAL, "build: one place has two sizes, \"%.60s\" and \"%.60s\"",
                                name_at(builder, p - 1), name_at(builder, p));
    if (decided_by && decided_by == place->value && decided == place->size)
      return pto_builder_refuse(builder, PTO_EINVAL,
                                "build: size \"%.60s\" is in no input's shape, and stands twice in its reshape",
                                name_at(builder, p));
    if (!numbers[place->value] || is_known[place->size]) continue;
    if (!follows(builder, place) || decided_by == place->value)
      return pto_builder_refuse(
          builder, PTO_EINVAL, "build: size \"%.60s\" is in no input's shape, and %s", name_at(builder, p),
          decided_by == place->value ? "its reshape has another such size" : "does not follow from a reshape");
    decided_by = place->value;
    decided = place->size;
    is_known[place->size] = sizes->sizes[place->size].follows = true;
  }
  return PTO_OK;
}

void pto_builder_hand_on_sizes(struct pto_graph_builder *builder, const uint32_t *numbers, struct pto_graph *graph) {
  struct pto_graph_sizes *sizes = &graph->sizes;
  uint32_t kept = 0;
  *sizes = builder->sizes;
  builder->sizes = (struct pto_graph_sizes){0};
  for (uint32_t p = 0; p < sizes->place_count; p++) {
    struct pto_graph_size_place place = sizes->places[p];
    place.value = numbers[place.value];
    if (place.value) sizes->places[kept++] = place;
  }
  sizes->place_count = kept;
  /* One that only calls named which nothing needs is none. */
  for (uint32_t s = 0; s < sizes->count; s++) {
    bool is_used = false;
    for (uint32_t p = 0; p < kept && !is_used; p++) is_used = sizes->places[p].size == s;
    sizes->sizes[s].follows |= !is_used;
  }
}

/* ---- graphs ---- */

const struct pto_graph_open_size *pto_graph_size_in(const struct pto_graph *graph, uint32_t value, uint32_t attribute,
                                                    uint32_t item) {
  const struct pto_graph_size_place key = {value, attribute, item, 0};
  if (graph->sizes.place_count == 0) return NULL;
  const struct pto_graph_size_place *place =
      bsearch(&key, graph->sizes.places, graph->sizes.place_count, sizeof key, compare_places);
  return place ? &graph->sizes.sizes[place->size] : NULL;
}

uint32_t pto_graph_size_count(const struct pto_graph *graph) {
  uint32_t count = 0;
  for (uint32_t s = 0; s < graph->sizes.count; s++) count += !graph->sizes.sizes[s].follows;
  return count;
}

struct pto_graph_size pto_graph_size_at(const struct pto_graph *graph, uint32_t index) {
  for (uint32_t s = 0; s < graph->sizes.count; s++)
    if (!graph->sizes.sizes[s].follows && index-- == 0)
      return (struct pto_graph_size){graph->sizes.sizes[s].name, graph->sizes.sizes[s].most};
  return (struct pto_graph_size){0};
}

bool pto_graph_is_open(const struct pto_graph *graph) { return pto_graph_size_count(graph) != 0; }

/* ---- values from what is bound ---- */

/* The index of the size at a dimension of an input; PTO_GRAPH_MAX_SIZES: a number. */
static uint32_t size_of(const struct pto_graph *graph, uint32_t input, uint32_t dimension) {
  const struct pto_graph_open_size *size = pto_graph_size_in(graph, graph->inputs[input], PTO_SIZE_IN_SHAPE, dimension);
  return size ? (uint32_t)(size - graph->sizes.sizes) : PTO_GRAPH_MAX_SIZES;
}

/* from[s] is the input that gave a size its value. */
static int match_shape(const struct pto_graph *graph, uint32_t input, const struct pto_graph_extent *extent,
                       uint64_t *values, uint32_t *from, struct pto_error *error) {
  const struct pto_operand *operand = &graph->input_operands[input];
  if (extent->ndims != operand->ndims)
    return pto_error_set(error, PTO_EINVAL, "input \"%.60s\" has %u dimensions, and %u are bound to it", operand->name,
                         operand->ndims, extent->ndims);
  for (uint32_t d = 0; d < extent->ndims; d++) {
    const uint32_t s = size_of(graph, input, d);
    if (s == PTO_GRAPH_MAX_SIZES) continue;
    if (values[s] && values[s] != extent->shape[d])
      return pto_error_set(
          error, PTO_EINVAL, "size \"%.60s\" is %" PRIu64 " in input \"%.60s\" and %" PRIu64 " in input \"%.60s\"",
          graph->sizes.sizes[s].name, values[s], graph->input_operands[from[s]].name, extent->shape[d], operand->name);
    values[s] = extent->shape[d];
    from[s] = input;
  }
  return PTO_OK;
}

/* Bytes tell the one size of an input that is not known and stands there once.  False: they do not, yet. */
static bool match_bytes(const struct pto_graph *graph, uint32_t input, const struct pto_graph_extent *extent,
                        uint64_t *values) {
  const struct pto_operand *operand = &graph->input_operands[input];
  uint64_t known = pto_dtype_size(operand->dtype);
  uint32_t unknown = PTO_GRAPH_MAX_SIZES;
  if (pto_dtype_bits(operand->dtype) < 8) return false; /* the last byte may be half full */
  for (uint32_t d = 0; d < operand->ndims; d++) {
    const uint32_t s = size_of(graph, input, d);
    const bool is_known = s == PTO_GRAPH_MAX_SIZES || values[s];
    if (!is_known && unknown != PTO_GRAPH_MAX_SIZES) return false;
    if (!is_known)
      unknown = s;
    else if (__builtin_mul_overflow(known, s == PTO_GRAPH_MAX_SIZES ? operand->shape[d] : values[s], &known))
      return false;
  }
  if (unknown == PTO_GRAPH_MAX_SIZES || extent->size_bytes == 0 || extent->size_bytes % known != 0) return false;
  values[unknown] = extent->size_bytes / known;
  return true;
}

/* Which input would have given a size, and did not. */
static int refuse_unknown(const struct pto_graph *graph, const struct pto_graph_extent *inputs, uint32_t size,
                          struct pto_error *error) {
  const char *name = graph->sizes.sizes[size].name, *missing = NULL;
  for (uint32_t i = 0; i < graph->input_count; i++)
    for (uint32_t d = 0; d < graph->input_operands[i].ndims; d++) {
      const char *input = graph->input_operands[i].name;
      if (size_of(graph, i, d) != size) continue;
      if (inputs[i].is_given)
        return pto_error_set(error, PTO_EINVAL,
                             "size \"%.60s\" cannot be told from the %" PRIu64
                             " bytes of input \"%.60s\": bind a tensor to it, or the graph to its sizes",
                             name, inputs[i].size_bytes, input);
      if (!missing) missing = input;
    }
  return pto_error_set(error, PTO_EINVAL, "size \"%.60s\" is not known, as nothing is bound to input \"%.60s\"", name,
                       missing ? missing : "");
}

int pto_graph_match_sizes(const struct pto_graph *graph, const struct pto_graph_extent *inputs, uint64_t *values,
                          struct pto_error *error) {
  uint32_t from[PTO_GRAPH_MAX_SIZES] = {0};
  memset(values, 0, graph->sizes.count * sizeof *values);
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const int status = inputs[i].has_shape ? match_shape(graph, i, &inputs[i], values, from, error) : PTO_OK;
    if (status) return status;
  }
  /* Each round but the last tells a size. */
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (uint32_t i = 0; i < graph->input_count; i++)
      if (inputs[i].is_given && !inputs[i].has_shape) goes_on |= match_bytes(graph, i, &inputs[i], values);
  }
  for (uint32_t s = 0; s < graph->sizes.count; s++)
    if (!graph->sizes.sizes[s].follows && !values[s]) return refuse_unknown(graph, inputs, s, error);
  return PTO_OK;
}
