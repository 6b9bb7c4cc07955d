/* SPDX-License-Identifier: MIT */
#include <graph/graph_load.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <graph/graph_json.h>
#include <runtime/base/base.h>

/* ---- shared by the parts ---- */

static int refuse_memory(struct pto_graph_loader *loader) {
  if (loader->reader.status) return loader->reader.status;
  return loader->reader.status =
             pto_error_set(loader->reader.error, PTO_ENOMEM, "%.400s: out of memory", loader->reader.path);
}

void *pto_graph_load_alloc(struct pto_graph_loader *loader, uint64_t size_bytes) {
  void *memory = pto_graph_arena_alloc(&loader->scratch, size_bytes);
  if (!memory) refuse_memory(loader);
  return memory;
}

void pto_graph_load_refuse_as_builder(struct pto_graph_loader *loader) {
  struct pto_json_reader *reader = &loader->reader;
  if (reader->status) return;
  reader->status =
      pto_error_set(reader->error, pto_graph_builder_status(loader->builder), "%.300s: %s%s%.500s", reader->path,
                    reader->place, reader->place[0] ? ": " : "", pto_graph_builder_error(loader->builder));
}

struct pto_graph_desc pto_graph_load_desc(struct pto_graph_loader *loader, json_t *object) {
  struct pto_json_reader *reader = &loader->reader;
  struct pto_graph_desc desc = {0};
  const char *name = pto_json_read_string(reader, object, "dataType");
  json_t *shape = pto_json_read_array(reader, object, "shape", PTO_MAX_DIMS), *size;
  size_t i;
  json_array_foreach(shape, i, size) {
    if (json_is_object(size) || json_is_string(size))
      pto_json_read_refuse(reader, "sizes that are known later only are not supported");
  }
  pto_json_read_u64s(reader, object, "shape", PTO_MAX_DIMS, UINT32_MAX, desc.shape, &desc.ndims);
  const int dtype = pto_graph_dtype_find(name);
  desc.dtype = (uint32_t)dtype;
  if (dtype < 0)
    pto_json_read_refuse(reader, "\"%.40s\" is no data type of graphs, which have %s", name, pto_graph_dtype_names());
  return reader->status ? (struct pto_graph_desc){0} : desc;
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

static const char *node_id(const struct pto_graph_loader *loader, uint32_t index) {
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
  size_t used = (size_t)snprintf(text, size, "; it is a circle: \"%.40s\"", node_id(loader, node));
  uint32_t at = search->from[node] - 1;
  for (uint32_t shown = 0; at != node && shown < most && used < size; at = search->from[at] - 1, shown++)
    used += (size_t)snprintf(text + used, size - used, ", which is used by \"%.40s\"", node_id(loader, at));
  if (used < size)
    snprintf(text + used, size - used, at == node ? ", which is used by the first" : ", which is used by others");
}

static void refuse_order(struct pto_graph_loader *loader, const char *name, uint32_t node, uint32_t producer) {
  const size_t count = json_array_size(loader->nodes);
  struct search search = {calloc(count + 1, sizeof(uint32_t)), calloc(count + 1, sizeof(uint32_t)), 0};
  char circle[400] = "";
  if (!search.from || !search.queue)
    refuse_memory(loader);
  else
    describe_circle(loader, &search, node, producer, circle, sizeof circle);
  pto_json_read_refuse(&loader->reader, "uses \"%.60s\" before nodes[%" PRIu32 "] \"%.60s\" makes it%s", name, producer,
                       node_id(loader, producer), circle);
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

/* ---- names ---- */

static void describe_origin(const struct pto_graph_loader *loader, uint32_t value, char *text, size_t size) {
  const uint32_t node = loader->values[value].node;
  if (node)
    snprintf(text, size, "a result of nodes[%" PRIu32 "] \"%.60s\"", node - 1, node_id(loader, node - 1));
  else
    snprintf(text, size, "%s", value < json_object_size(loader->inputs) ? "an input" : "a constant");
}

static void add_name(struct pto_graph_loader *loader, const char *name, uint32_t node) {
  struct pto_json_reader *reader = &loader->reader;
  char origin[120];
  if (reader->status) return;
  if (name[0] == '\0') {
    pto_json_read_refuse(reader, "a name is empty");
    return;
  }
  json_t *index = json_object_get(loader->names, name);
  if (index) {
    describe_origin(loader, (uint32_t)json_integer_value(index), origin, sizeof origin);
    pto_json_read_refuse(reader, "\"%.60s\" is %s already", name, origin);
    return;
  }
  loader->values[loader->value_count] = (struct pto_graph_file_value){.name = name, .node = node};
  if (json_object_set_new_nocheck(loader->names, name, json_integer(loader->value_count)) != 0) refuse_memory(loader);
  loader->value_count++;
}

static void add_node_names(struct pto_graph_loader *loader, json_t *ids, uint32_t index) {
  struct pto_json_reader *reader = &loader->reader;
  pto_json_read_at(reader, "nodes[%" PRIu32 "]", index);
  json_t *node = pto_json_read_item(reader, loader->nodes, index);
  const char *id = pto_json_read_string(reader, node, "id");
  if (reader->status) return;
  pto_json_read_at(reader, "nodes[%" PRIu32 "] \"%.60s\"", index, id);
  json_t *other = json_object_get(ids, id);
  if (other)
    pto_json_read_refuse(reader, "nodes[%" JSON_INTEGER_FORMAT "] has the same id", json_integer_value(other));
  else if (json_object_set_new_nocheck(ids, id, json_integer(index)) != 0)
    refuse_memory(loader);
  if (pto_json_has(node, "outputs")) (void)pto_json_read_array(reader, node, "outputs", PTO_GRAPH_MAX_RESULTS);
  for (uint32_t i = 0; !reader->status && i < pto_graph_load_result_count(node); i++) {
    const char *name = pto_graph_load_result_name(node, i);
    if (!name)
      pto_json_read_refuse(reader, "\"outputs\" item %" PRIu32 " is no string", i);
    else
      add_name(loader, name, index + 1);
  }
}

static size_t count_values(const struct pto_graph_loader *loader) {
  size_t count = json_object_size(loader->inputs) + json_object_size(loader->consts), i;
  json_t *node;
  json_array_foreach(loader->nodes, i, node) count += pto_graph_load_result_count(node);
  return count;
}

static void add_names(struct pto_graph_loader *loader) {
  const char *name;
  json_t *ids = json_object(), *item;
  const size_t count = count_values(loader);
  loader->names = json_object();
  loader->referred = json_object();
  loader->values = count < UINT32_MAX ? calloc(count + 1, sizeof *loader->values) : NULL;
  if (!ids || !loader->names || !loader->referred || !loader->values) refuse_memory(loader);
  pto_json_read_at(&loader->reader, "inputs");
  json_object_foreach(loader->inputs, name, item) add_name(loader, name, 0);
  pto_json_read_at(&loader->reader, "consts");
  json_object_foreach(loader->consts, name, item) add_name(loader, name, 0);
  for (uint32_t i = 0; !loader->reader.status && i < json_array_size(loader->nodes); i++)
    add_node_names(loader, ids, i);
  json_decref(ids);
}

/* ---- the document ---- */

static void read_document(struct pto_graph_loader *loader) {
  struct pto_json_reader *reader = &loader->reader;
  const char *format = pto_json_read_string(reader, loader->document, "format");
  if (strcmp(format, "webnn-graph-json") != 0)
    pto_json_read_refuse(reader, "\"format\" is \"%.40s\", webnn-graph-json is read", format);
  const uint64_t version = pto_json_read_u64(reader, loader->document, "version", INT64_MAX);
  if (version != 1 && version != 2)
    pto_json_read_refuse(reader, "\"version\" is %" PRIu64 ", 1 and 2 are read", version);
  loader->inputs = pto_json_read_object(reader, loader->document, "inputs");
  if (pto_json_has(loader->document, "consts"))
    loader->consts = pto_json_read_object(reader, loader->document, "consts");
  loader->nodes = pto_json_read_array(reader, loader->document, "nodes", PTO_GRAPH_FILE_MAX_NODES);
  loader->outputs = pto_json_read_object(reader, loader->document, "outputs");
  if (!reader->status) add_names(loader);
}

/* The names that save leaves of the files beside the graph, so that others there are not taken for them. */
static void read_weights_names(struct pto_graph_loader *loader) {
  static const char *const keys[] = {"data", "manifest"};
  const char **paths[] = {&loader->weights.weights_path, &loader->weights.manifest_path};
  json_t *names = json_object_get(loader->document, "weights");
  if (!json_is_object(names) || *paths[0] || *paths[1]) return;
  pto_json_read_at(&loader->reader, "weights");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys) && !loader->reader.status; i++) {
    const char *name = pto_json_has(names, keys[i]) ? pto_json_read_string(&loader->reader, names, keys[i]) : NULL;
    char *path = name ? pto_graph_load_alloc(loader, PATH_MAX) : NULL;
    if (!path) continue;
    if (strchr(name, '/') || !pto_graph_weights_path(loader->reader.path, false, name, path))
      pto_json_read_refuse(&loader->reader, "\"%s\" is no name of a file beside it: \"%.60s\"", keys[i], name);
    else
      *paths[i] = path;
  }
}

static void make_inputs(struct pto_graph_loader *loader, uint32_t *next) {
  const char *name;
  json_t *item;
  json_object_foreach(loader->inputs, name, item) {
    pto_json_read_at(&loader->reader, "inputs \"%.60s\"", name);
    const struct pto_graph_desc desc = pto_graph_load_desc(loader, item);
    if (loader->reader.status) return;
    loader->values[*next].operand = pto_graph_builder_input(loader->builder, name, &desc);
    if (!loader->values[(*next)++].operand.index) pto_graph_load_refuse_as_builder(loader);
  }
}

static void make_consts(struct pto_graph_loader *loader, uint32_t *next) {
  const char *name;
  json_t *item;
  json_object_foreach(loader->consts, name, item) {
    pto_json_read_at(&loader->reader, "consts \"%.60s\"", name);
    pto_graph_load_const(loader, item, (*next)++);
    if (loader->reader.status) return;
  }
}

static void make_nodes(struct pto_graph_loader *loader, uint32_t next) {
  json_t *node;
  size_t i;
  json_array_foreach(loader->nodes, i, node) {
    pto_json_read_at(&loader->reader, "nodes[%zu] \"%.60s\"", i, node_id(loader, (uint32_t)i));
    pto_graph_load_node(loader, node, (uint32_t)i, next);
    if (loader->reader.status) return;
    next += pto_graph_load_result_count(node);
  }
}

/* The outputs, named; NULL where refused. */
static struct pto_graph_output *use_outputs(struct pto_graph_loader *loader) {
  struct pto_json_reader *reader = &loader->reader;
  const char *name;
  json_t *item;
  uint32_t count = 0;
  if (reader->status) return NULL;
  struct pto_graph_output *outputs =
      pto_graph_load_alloc(loader, (json_object_size(loader->outputs) + 1) * sizeof *outputs);
  json_object_foreach(loader->outputs, name, item) {
    pto_json_read_at(reader, "outputs \"%.60s\"", name);
    if (!json_is_string(item)) pto_json_read_refuse(reader, "is no string");
    const struct pto_graph_file_value *value =
        reader->status ? NULL : pto_graph_load_use(loader, json_string_value(item), UINT32_MAX);
    if (!value) return NULL;
    outputs[count++] = (struct pto_graph_output){name, value->operand};
  }
  return outputs;
}

/* A node all of whose results are there for nobody. */
static void check_uses(struct pto_graph_loader *loader) {
  for (uint32_t i = 0; i < loader->value_count && !loader->reader.status;) {
    const uint32_t node = loader->values[i].node;
    bool is_used = node == 0;
    uint32_t end = i;
    for (; end < loader->value_count && loader->values[end].node == node; end++) is_used |= loader->values[end].is_used;
    if (!is_used) {
      pto_json_read_at(&loader->reader, "nodes[%" PRIu32 "] \"%.60s\"", node - 1, node_id(loader, node - 1));
      pto_json_read_refuse(&loader->reader, "nothing uses %s \"%.60s\"", end == i + 1 ? "its result" : "its results",
                           loader->values[i].name);
    }
    i = end;
  }
}

static void build(struct pto_graph_loader *loader, struct pto_graph **graph_out) {
  uint32_t next = 0;
  read_weights_names(loader);
  if (!loader->reader.status) make_inputs(loader, &next);
  if (!loader->reader.status) make_consts(loader, &next);
  if (!loader->reader.status) make_nodes(loader, next);
  const struct pto_graph_output *outputs = use_outputs(loader);
  check_uses(loader);
  pto_json_read_at(&loader->reader, "%s", "");
  if (!loader->reader.status &&
      pto_graph_builder_build(loader->builder, outputs, (uint32_t)json_object_size(loader->outputs), graph_out))
    pto_graph_load_refuse_as_builder(loader);
}

static void fini(struct pto_graph_loader *loader) {
  pto_graph_weights_fini(&loader->weights);
  pto_graph_arena_fini(&loader->scratch);
  pto_graph_builder_destroy(loader->builder);
  json_decref(loader->names);
  json_decref(loader->referred);
  json_decref(loader->document);
  free(loader->values);
  free(loader->numbered);
}

int pto_graph_json_load(struct pto_context *context, const char *path, const struct pto_graph_file_options *options,
                        struct pto_graph **graph_out, struct pto_error *error) {
  struct pto_graph_loader loader = {0};
  loader.weights.graph_path = path;
  loader.weights.weights_path = options->weights_path;
  loader.weights.manifest_path = options->manifest_path;
  loader.document = pto_json_read_file(&loader.reader, path, PTO_GRAPH_FILE_MAX_BYTES, error);
  if (!loader.reader.status && pto_graph_builder_create(context, &loader.builder)) refuse_memory(&loader);
  if (!loader.reader.status) read_document(&loader);
  if (!loader.reader.status) build(&loader, graph_out);
  fini(&loader);
  return loader.reader.status;
}
