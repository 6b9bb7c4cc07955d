/* SPDX-License-Identifier: MIT */
#include <graph/file/load.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <graph/file/json.h>
#include <runtime/base/base.h>

/* ---- names ---- */

static void describe_origin(const struct pto_graph_loader *loader, uint32_t value, char *text, size_t size) {
  const uint32_t node = loader->values[value].node;
  char other[64];
  if (node) {
    pto_graph_load_other_node(loader, node - 1, other, sizeof other);
    snprintf(text, size, "a result of %s \"%.60s\"", other, pto_graph_load_node_id(loader, node - 1));
    return;
  }
  snprintf(text, size, "%s", value < json_object_size(loader->inputs) ? "an input" : "a constant");
}

static void add_name(struct pto_graph_loader *loader, const char *name, uint32_t node) {
  struct pto_json_reader *reader = &loader->reader;
  char origin[160];
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
  if (json_object_set_new_nocheck(loader->names, name, json_integer(loader->value_count)) != 0)
    pto_graph_load_refuse_memory(loader);
  loader->value_count++;
}

static void add_node_names(struct pto_graph_loader *loader, json_t *ids, uint32_t index) {
  struct pto_json_reader *reader = &loader->reader;
  pto_json_read_at(reader, "nodes[%" PRIu32 "]", index);
  json_t *node = pto_json_read_item(reader, loader->nodes, index);
  const char *id = pto_json_read_string(reader, node, "id");
  if (reader->status) return;
  pto_graph_load_at(loader, PTO_GRAPH_FILE_NODES, index, id, NULL);
  json_t *first = json_object_get(ids, id);
  char other[64];
  if (first) {
    pto_graph_load_other_node(loader, (uint32_t)json_integer_value(first), other, sizeof other);
    pto_json_read_refuse(reader, "%s has the same id", other);
  } else if (json_object_set_new_nocheck(ids, id, json_integer(index)) != 0) {
    pto_graph_load_refuse_memory(loader);
  }
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

static void add_declared_names(struct pto_graph_loader *loader, enum pto_graph_file_list list, json_t *declared) {
  const char *name;
  json_t *item;
  uint32_t index = 0;
  json_object_foreach(declared, name, item) {
    pto_graph_load_at(loader, list, index++, name, NULL);
    add_name(loader, name, 0);
  }
}

static void add_names(struct pto_graph_loader *loader) {
  json_t *ids = json_object();
  const size_t count = count_values(loader);
  loader->names = json_object();
  loader->referred = json_object();
  loader->values = count < UINT32_MAX ? calloc(count + 1, sizeof *loader->values) : NULL;
  if (!ids || !loader->names || !loader->referred || !loader->values) pto_graph_load_refuse_memory(loader);
  add_declared_names(loader, PTO_GRAPH_FILE_INPUTS, loader->inputs);
  add_declared_names(loader, PTO_GRAPH_FILE_CONSTS, loader->consts);
  for (uint32_t i = 0; !loader->reader.status && i < json_array_size(loader->nodes); i++)
    add_node_names(loader, ids, i);
  json_decref(ids);
}

/* ---- the document ---- */

static void read_document(struct pto_graph_loader *loader) {
  struct pto_json_reader *reader = &loader->reader;
  const char *format = pto_json_read_string(reader, loader->document, "format");
  if (strcmp(format, PTO_GRAPH_FORMAT) != 0)
    pto_json_read_refuse(reader, "\"format\" is \"%.40s\", " PTO_GRAPH_FORMAT " is read", format);
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
    pto_graph_load_at(loader, PTO_GRAPH_FILE_INPUTS, *next, name, NULL);
    const struct pto_graph_desc desc = pto_graph_load_desc(loader, item, true);
    if (loader->reader.status) return;
    const struct pto_graph_operand operand = pto_graph_builder_input(loader->builder, name, &desc);
    loader->values[(*next)++].operand = operand;
    if (!operand.index) pto_graph_load_refuse_as_builder(loader);
    pto_graph_load_set_sizes(loader, operand, NULL, json_object_get(item, "shape"));
  }
}

static void make_consts(struct pto_graph_loader *loader, uint32_t *next) {
  const char *name;
  json_t *item;
  json_object_foreach(loader->consts, name, item) {
    pto_graph_load_at(loader, PTO_GRAPH_FILE_CONSTS, *next - (uint32_t)json_object_size(loader->inputs), name, NULL);
    pto_graph_load_const(loader, item, (*next)++);
    if (loader->reader.status) return;
  }
}

static void make_nodes(struct pto_graph_loader *loader, uint32_t next) {
  json_t *node;
  size_t i;
  json_array_foreach(loader->nodes, i, node) {
    pto_graph_load_at(loader, PTO_GRAPH_FILE_NODES, (uint32_t)i, pto_graph_load_node_id(loader, (uint32_t)i), NULL);
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
    pto_graph_load_at(loader, PTO_GRAPH_FILE_OUTPUTS, count, name, NULL);
    if (!json_is_string(item)) pto_json_read_refuse(reader, "is no string");
    const struct pto_graph_file_value *value =
        reader->status ? NULL : pto_graph_load_use(loader, json_string_value(item), UINT32_MAX);
    if (!value) return NULL;
    outputs[count++] = (struct pto_graph_output){name, value->operand};
  }
  return outputs;
}

/* A node whose results are all unused. */
static void check_uses(struct pto_graph_loader *loader) {
  for (uint32_t i = 0; i < loader->value_count && !loader->reader.status;) {
    const uint32_t node = loader->values[i].node;
    bool is_used = node == 0;
    uint32_t end = i;
    for (; end < loader->value_count && loader->values[end].node == node; end++) is_used |= loader->values[end].is_used;
    if (!is_used) {
      pto_graph_load_at(loader, PTO_GRAPH_FILE_NODES, node - 1, pto_graph_load_node_id(loader, node - 1), NULL);
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
  pto_graph_places_fini(&loader->places);
  free(loader->values);
  free(loader->numbered);
}

/* The first bytes of a file, which say what it is. */
#define FIRST_BYTES 4096

static void refuse_read(struct pto_graph_loader *loader) {
  loader->reader.status =
      pto_error_set(loader->reader.error, PTO_ESYSTEM, "%.400s: %s", loader->reader.path, strerror(errno));
}

static json_t *read_text(struct pto_graph_loader *loader, FILE *stream) {
  struct pto_json_reader *reader = &loader->reader;
  char *text = NULL;
  json_t *document = NULL;
  const long size = fseek(stream, 0, SEEK_END) == 0 ? ftell(stream) : -1;
  rewind(stream);
  if (size < 0)
    refuse_read(loader);
  else if (!(text = malloc((size_t)size + 1)))
    pto_graph_load_refuse_memory(loader);
  const size_t got = text ? fread(text, 1, (size_t)size, stream) : 0;
  if (text && ferror(stream))
    refuse_read(loader);
  else if (text)
    document = pto_graph_text_read(reader, reader->path, text, got, &loader->places, reader->error);
  free(text);
  return document;
}

/* The document of a file in either form: text by its name or its first word, else JSON. */
static json_t *read_file(struct pto_graph_loader *loader, const char *path, struct pto_error *error) {
  char first[FIRST_BYTES];
  json_t *document = NULL;
  FILE *stream = pto_json_read_open(&loader->reader, path, PTO_GRAPH_FILE_MAX_BYTES, error);
  if (!stream) return NULL;
  const size_t size = fread(first, 1, sizeof first, stream);
  if (ferror(stream)) {
    refuse_read(loader);
  } else if (pto_graph_text_is_name(path) || pto_graph_text_is_content(first, size)) {
    document = read_text(loader, stream);
  } else {
    rewind(stream);
    document = pto_json_read_stream(&loader->reader, stream);
  }
  fclose(stream);
  return document;
}

int pto_graph_json_load(struct pto_context *context, const char *path, const struct pto_graph_file_options *options,
                        struct pto_graph **graph_out, struct pto_error *error) {
  struct pto_graph_loader loader = {0};
  loader.weights.graph_path = path;
  loader.weights.weights_path = options->weights_path;
  loader.weights.manifest_path = options->manifest_path;
  loader.document = read_file(&loader, path, error);
  if (!loader.reader.status && pto_graph_builder_create(context, &loader.builder))
    pto_graph_load_refuse_memory(&loader);
  if (!loader.reader.status) read_document(&loader);
  if (!loader.reader.status) build(&loader, graph_out);
  fini(&loader);
  return loader.reader.status;
}
