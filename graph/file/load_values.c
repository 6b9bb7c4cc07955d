/* SPDX-License-Identifier: MIT */
#include <graph/file/load.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

int pto_graph_load_refuse_memory(struct pto_graph_loader *loader) {
  if (loader->reader.status) return loader->reader.status;
  return loader->reader.status =
             pto_error_set(loader->reader.error, PTO_ENOMEM, "%.400s: out of memory", loader->reader.path);
}

void *pto_graph_load_alloc(struct pto_graph_loader *loader, uint64_t size_bytes) {
  void *memory = pto_graph_arena_alloc(&loader->scratch, size_bytes);
  if (!memory) pto_graph_load_refuse_memory(loader);
  return memory;
}

void pto_graph_load_refuse_as_builder(struct pto_graph_loader *loader) {
  struct pto_json_reader *reader = &loader->reader;
  if (reader->status) return;
  reader->status =
      pto_error_set(reader->error, pto_graph_builder_status(loader->builder), "%.300s: %s%s%.500s", reader->path,
                    reader->place, reader->place[0] ? ": " : "", pto_graph_builder_error(loader->builder));
}

void pto_graph_load_at(struct pto_graph_loader *loader, enum pto_graph_file_list list, uint32_t index, const char *name,
                       const char *option) {
  static const char *const lists[] = {"inputs", "consts", "nodes", "outputs"};
  const struct pto_graph_place *places = loader->places.of[list].items;
  char item[32] = "";
  if (places)
    snprintf(item, sizeof item, "line %" PRIu32 ", column %" PRIu32 ":", places[index].line, places[index].column);
  else if (list == PTO_GRAPH_FILE_NODES)
    snprintf(item, sizeof item, "nodes[%" PRIu32 "]", index);
  if (option)
    pto_json_read_at(&loader->reader, "%s \"%.36s\", option \"%.24s\"", item, name, option);
  else
    pto_json_read_at(&loader->reader, "%s \"%.60s\"", item[0] ? item : lists[list], name);
}

void pto_graph_load_other_node(const struct pto_graph_loader *loader, uint32_t index, char *text, size_t size) {
  const struct pto_graph_place *places = loader->places.of[PTO_GRAPH_FILE_NODES].items;
  if (places)
    snprintf(text, size, "the node of line %" PRIu32 ", column %" PRIu32, places[index].line, places[index].column);
  else
    snprintf(text, size, "nodes[%" PRIu32 "]", index);
}

const char *pto_graph_load_open_size(json_t *size, uint64_t *most_out) {
  json_t *most = json_object_get(size, "maxSize");
  const char *name = json_string_value(json_object_get(size, "name"));
  if (!json_is_integer(most) || json_integer_value(most) < 0) return NULL;
  *most_out = (uint64_t)json_integer_value(most);
  return name;
}

/* A number, or the most that a size with a name may be. */
static uint64_t load_size(struct pto_graph_loader *loader, json_t *size, size_t index, bool may_be_open) {
  struct pto_json_reader *reader = &loader->reader;
  uint64_t number = 0;
  const bool is_open = json_is_object(size) && pto_graph_load_open_size(size, &number);
  if (is_open && !may_be_open)
    pto_json_read_refuse(reader, "size %zu has a name (%.40s), and is a number only later: it has to be one now", index,
                         json_string_value(json_object_get(size, "name")));
  else if (json_is_object(size) && !is_open)
    pto_json_read_refuse(reader, "size %zu is no {\"name\": TEXT, \"maxSize\": NUMBER}", index);
  else if (json_is_string(size))
    pto_json_read_refuse(reader, "size %zu has a name (%.40s), but not the most that it may be", index,
                         json_string_value(size));
  else if (!is_open && (!json_is_integer(size) || json_integer_value(size) < 0))
    pto_json_read_refuse(reader, "\"shape\" item %zu is no whole number", index);
  if (!is_open) number = (uint64_t)json_integer_value(size);
  if (!reader->status && number > UINT32_MAX)
    pto_json_read_refuse(reader, "\"shape\" item %zu is %" PRIu64 ", more than %u", index, number, UINT32_MAX);
  return number;
}

struct pto_graph_desc pto_graph_load_desc(struct pto_graph_loader *loader, json_t *object, bool may_be_open) {
  struct pto_json_reader *reader = &loader->reader;
  struct pto_graph_desc desc = {0};
  const char *name = pto_json_read_string(reader, object, "dataType");
  json_t *shape = pto_json_read_array(reader, object, "shape", PTO_MAX_DIMS), *size;
  size_t i;
  json_array_foreach(shape, i, size)
    if (!reader->status) desc.shape[desc.ndims++] = load_size(loader, size, i, may_be_open);
  const int dtype = pto_graph_dtype_find(name);
  desc.dtype = (uint32_t)dtype;
  if (dtype < 0)
    pto_json_read_refuse(reader, "\"%.40s\" is no data type of graphs, which have %s", name, pto_graph_dtype_names());
  return reader->status ? (struct pto_graph_desc){0} : desc;
}

void pto_graph_load_set_sizes(struct pto_graph_loader *loader, struct pto_graph_operand operand, const char *attribute,
                              json_t *sizes) {
  const size_t count = json_is_array(sizes) ? json_array_size(sizes) : 1;
  uint64_t most;
  for (size_t i = 0; i < count && !loader->reader.status; i++) {
    json_t *size = json_is_array(sizes) ? json_array_get(sizes, i) : sizes;
    const char *name = json_is_object(size) ? pto_graph_load_open_size(size, &most) : NULL;
    if (name && pto_graph_builder_set_size(loader->builder, operand, attribute, (uint32_t)i, name))
      pto_graph_load_refuse_as_builder(loader);
  }
}

uint32_t pto_graph_load_result_count(json_t *node) {
  json_t *outputs = json_object_get(node, "outputs");
  return json_is_array(outputs) ? (uint32_t)json_array_size(outputs) : 1;
}

const char *pto_graph_load_result_name(json_t *node, uint32_t index) {
  json_t *outputs = json_object_get(node, "outputs");
  json_t *name = json_is_array(outputs) ? json_array_get(outputs, index) : json_object_get(node, "id");
  return json_is_string(name) ? json_string_value(name) : NULL;
}

const char *pto_graph_load_node_id(const struct pto_graph_loader *loader, uint32_t index) {
  return json_string_value(json_object_get(json_array_get(loader->nodes, index), "id"));
}

/* ---- names that are not there yet ---- */

static struct pto_graph_file_value *find_value(const struct pto_graph_loader *loader, const char *name) {
  json_t *index = json_object_get(loader->names, name);
  return index ? &loader->values[json_integer_value(index)] : NULL;
}

struct search {
  uint32_t *from; /* by node: 1 + the node that was left for it; 0: not visited */
  uint32_t *queue;
  uint32_t count;
};

static void visit(const struct pto_graph_loader *loader, struct search *search, uint32_t node, json_t *name) {
  const struct pto_graph_file_value *value = json_is_string(name) ? find_value(loader, json_string_value(name)) : NULL;
  if (!value || !value->node || search->from[value->node - 1]) return;
  search->from[value->node - 1] = node + 1;
  search->queue[search->count++] = value->node - 1;
}

/* What makes the operands of `node`: those listed, and those that options name. */
static void visit_producers(const struct pto_graph_loader *loader, struct search *search, uint32_t node) {
  json_t *object = json_array_get(loader->nodes, node), *options = json_object_get(object, "options"), *item;
  const char *name = json_string_value(json_object_get(object, "op"));
  const uint32_t op = name ? pto_op_find(name) : PTO_GRAPH_OP_COUNT;
  size_t i;
  json_array_foreach(json_object_get(object, "inputs"), i, item) visit(loader, search, node, item);
  if (op == PTO_GRAPH_OP_COUNT) return;
  const struct pto_op_info *info = pto_op_info(op);
  for (uint32_t k = 0; k < info->parameter_count; k++)
    if (info->parameters[k].is_optional)
      visit(loader, search, node, json_object_get(options, info->parameters[k].name));
}

/* "a → b → a": the nodes by which `node` needs its own result through `producer`; empty where it does not. */
static void describe_circle(const struct pto_graph_loader *loader, struct search *search, uint32_t node,
                            uint32_t producer, char *text, size_t size) {
  const uint32_t most = 6;
  search->queue[search->count++] = producer;
  search->from[producer] = node + 1;
  for (uint32_t next = 0; next < search->count && !search->from[node]; next++)
    visit_producers(loader, search, search->queue[next]);
  if (!search->from[node]) return;
  size_t used = (size_t)snprintf(text, size, "; it is a circle: \"%.40s\"", pto_graph_load_node_id(loader, node));
  uint32_t at = search->from[node] - 1;
  for (uint32_t shown = 0; at != node && shown < most && used < size; at = search->from[at] - 1, shown++)
    used +=
        (size_t)snprintf(text + used, size - used, ", which is used by \"%.40s\"", pto_graph_load_node_id(loader, at));
  if (used < size)
    snprintf(text + used, size - used, at == node ? ", which is used by the first" : ", which is used by others");
}

static void refuse_order(struct pto_graph_loader *loader, const char *name, uint32_t node, uint32_t producer) {
  const size_t count = json_array_size(loader->nodes);
  struct search search = {calloc(count + 1, sizeof(uint32_t)), calloc(count + 1, sizeof(uint32_t)), 0};
  char circle[400] = "", other[64];
  pto_graph_load_other_node(loader, producer, other, sizeof other);
  if (!search.from || !search.queue)
    pto_graph_load_refuse_memory(loader);
  else
    describe_circle(loader, &search, node, producer, circle, sizeof circle);
  pto_json_read_refuse(&loader->reader, "uses \"%.60s\" before %s \"%.60s\" makes it%s", name, other,
                       pto_graph_load_node_id(loader, producer), circle);
  free(search.from);
  free(search.queue);
}

struct pto_graph_file_value *pto_graph_load_use(struct pto_graph_loader *loader, const char *name, uint32_t node) {
  struct pto_graph_file_value *value = find_value(loader, name);
  if (loader->reader.status) return NULL;
  if (!value) {
    pto_json_read_refuse(&loader->reader, "there is no \"%.60s\" among inputs, constants and results", name);
    return NULL;
  }
  if (!value->operand.index) {
    refuse_order(loader, name, node, value->node - 1);
    return NULL;
  }
  value->is_used = true;
  return value;
}
