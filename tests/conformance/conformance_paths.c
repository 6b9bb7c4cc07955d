/* SPDX-License-Identifier: MIT */
#include <tests/conformance/conformance_run.h>

#include <jansson.h>

#include <graph/build/sizes.h>
#include <graph/reference/reference.h>
#include <runtime/base/base.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run_reference(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                         struct pto_error *error) {
  return pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, error);
}

/* ---- through files ---- */

static int make_file(char path[static sizeof "/tmp/conformance_XXXXXX.webnn"], const char *ending,
                     struct pto_error *error) {
  strcpy(path, "/tmp/conformance_XXXXXX");
  strcat(path, ending);
  const int fd = mkstemps(path, (int)strlen(ending));
  if (fd < 0) return pto_error_set(error, PTO_ESYSTEM, "%s cannot be made", path);
  close(fd);
  return PTO_OK;
}

/* With what is beside it, where there are many constants. */
static void remove_file(const char *path) {
  char weights[64];
  unlink(path);
  snprintf(weights, sizeof weights, "%.*s.safetensors", (int)(strrchr(path, '.') - path), path);
  unlink(weights);
}

static int run_text(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                    struct pto_error *error) {
  char path[sizeof "/tmp/conformance_XXXXXX.webnn"];
  struct pto_graph *read = NULL;
  int status = make_file(path, ".webnn", error);
  if (status) return status;
  status = pto_graph_save(graph, path, NULL, error->sentence, sizeof error->sentence);
  if (status == PTO_OK) status = pto_graph_load(NULL, path, NULL, &read, error->sentence, sizeof error->sentence);
  if (status == PTO_OK) status = run_reference(read, inputs, outputs, error);
  pto_graph_destroy(read);
  remove_file(path);
  return status;
}

/* ---- open sizes ---- */

/* In place of a number that is an extent of an input: a size of that number, with `room` times as much as its most. */
static void open_sizes(json_t *numbers, const struct pto_graph *graph, uint64_t room) {
  for (size_t i = 0; i < json_array_size(numbers); i++) {
    const json_int_t number = json_integer_value(json_array_get(numbers, i));
    bool is_extent = false;
    char name[32];
    for (uint32_t k = 0; k < graph->input_count; k++)
      for (uint32_t d = 0; d < graph->input_operands[k].ndims; d++)
        is_extent |= graph->input_operands[k].shape[d] == (uint64_t)number;
    if (number < 2 || !is_extent) continue;
    snprintf(name, sizeof name, "size_%lld", (long long)number);
    json_array_set_new(numbers, i, json_pack("{s:s, s:I}", "name", name, "maxSize", number * (json_int_t)room));
  }
}

static void open_document(json_t *document, const struct pto_graph *graph, uint64_t room) {
  static const char *const lists[] = {"newShape", "sizes", "repetitions", "splits"};
  const char *name;
  json_t *item;
  size_t i;
  json_object_foreach(json_object_get(document, "inputs"), name, item)
    open_sizes(json_object_get(item, "shape"), graph, room);
  json_array_foreach(json_object_get(document, "nodes"), i, item)
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(lists); k++)
      open_sizes(json_object_get(json_object_get(item, "options"), lists[k]), graph, room);
}

/* The graph with open sizes in place of its inputs' extents, through its file: PTO_CONFORMANCE_SKIPPED where it has
 * none, or is none with the most. */
static int make_open(const struct pto_graph *graph, uint64_t room, struct pto_graph **open_out,
                     struct pto_error *error) {
  char path[sizeof "/tmp/conformance_XXXXXX.webnn"];
  int status = make_file(path, ".json", error);
  if (status) return status;
  status = pto_graph_save(graph, path, NULL, error->sentence, sizeof error->sentence);
  json_t *document = status ? NULL : json_load_file(path, 0, NULL);
  if (document) {
    open_document(document, graph, room);
    if (json_dump_file(document, path, 0)) status = pto_error_set(error, PTO_ESYSTEM, "%s cannot be written", path);
  }
  if (status == PTO_OK) status = pto_graph_load(NULL, path, NULL, open_out, error->sentence, sizeof error->sentence);
  if (status == PTO_EINVAL && room > 1) status = PTO_CONFORMANCE_SKIPPED;
  json_decref(document);
  remove_file(path);
  if (status || pto_graph_is_open(*open_out)) return status;
  pto_graph_destroy(*open_out);
  return PTO_CONFORMANCE_SKIPPED;
}

/* Each size is what it is called. */
static int bind(struct pto_graph *open, struct pto_graph **bound_out, struct pto_error *error) {
  struct pto_graph_size sizes[PTO_GRAPH_MAX_SIZES];
  const uint32_t count = pto_graph_size_count(open);
  for (uint32_t i = 0; i < count; i++) {
    sizes[i] = pto_graph_size_at(open, i);
    sizes[i].value = strtoull(sizes[i].name + strlen("size_"), NULL, 10);
  }
  return pto_graph_bind(open, sizes, count, bound_out, error->sentence, sizeof error->sentence);
}

static int run_open(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                    struct pto_error *error) {
  struct pto_graph *open, *bound = NULL;
  int status = make_open(graph, 1, &open, error);
  if (status) return status;
  status = bind(open, &bound, error);
  if (status == PTO_OK) status = run_reference(bound, inputs, outputs, error);
  pto_graph_destroy(bound);
  pto_graph_destroy(open);
  return status;
}

/* ---- lowered ---- */

static uint64_t operand_bytes(const struct pto_operand *operand) {
  uint64_t bits = pto_dtype_bits(operand->dtype);
  for (uint32_t d = 0; d < operand->ndims; d++) bits *= operand->shape[d];
  return (bits + 7) / 8;
}

static struct pto_host_array *arrays_of(const struct pto_operand *operands, uint32_t count, void *const *data) {
  struct pto_host_array *arrays = calloc(count + 1, sizeof *arrays);
  for (uint32_t i = 0; arrays && i < count; i++)
    arrays[i] = (struct pto_host_array){operands[i].name, data[i], operand_bytes(&operands[i])};
  return arrays;
}

static int run_lowered(struct pto_context *context, const struct pto_graph *graph, const void *const *inputs,
                       void *const *outputs, struct pto_error *error) {
  struct pto_graph *run = (struct pto_graph *)(uintptr_t)graph; /* its list of contexts alone changes */
  struct pto_host_array *in = arrays_of(graph->input_operands, graph->input_count, (void *const *)(uintptr_t)inputs);
  struct pto_host_array *out = arrays_of(graph->output_operands, graph->output_count, outputs);
  int status = in && out ? PTO_OK : PTO_ENOMEM;
  if (status == PTO_OK)
    status =
        pto_graph_compute(run, context, &(struct pto_compute_arrays){in, out, graph->input_count, graph->output_count});
  if (status != PTO_OK) {
    pto_error_set(error, status, "%s", pto_context_error(context));
  }
  pto_graph_forget(run, context);
  free(in);
  free(out);
  return status;
}

static struct pto_context *open_context(const char *engine, const char *chip) {
  struct pto_context_options options = {.size = sizeof options, .runtime = {.engine = engine, .chip = chip}};
  struct pto_context *context = NULL;
  char sentence[PTO_SENTENCE_SIZE];
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) abort();
  return context;
}

static int run_on(const char *engine, const char *chip, const struct pto_graph *graph, const void *const *inputs,
                  void *const *outputs, struct pto_error *error) {
  struct pto_context *context = open_context(engine, chip);
  const int status = run_lowered(context, graph, inputs, outputs, error);
  pto_context_destroy(context);
  return status;
}

/* Inputs are tensors, whose shapes say the sizes. */
static int call_open(struct pto_context *context, struct pto_graph *open, const struct pto_graph *graph,
                     const void *const *inputs, void *const *outputs) {
  struct pto_argument *in = calloc(graph->input_count + 1u, sizeof *in);
  struct pto_argument *out = calloc(graph->output_count + 1u, sizeof *out);
  int status = in && out ? PTO_OK : PTO_ENOMEM;
  for (uint32_t i = 0; i < graph->input_count && status == PTO_OK; i++) {
    const struct pto_operand *operand = &graph->input_operands[i];
    struct pto_device_tensor_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
    memcpy(desc.shape, operand->shape, sizeof desc.shape);
    in[i].name = operand->name;
    status = pto_device_tensor_create_host(context, &desc, &in[i].tensor);
    if (status == PTO_OK) status = pto_device_tensor_write(context, in[i].tensor, inputs[i], operand_bytes(operand));
  }
  for (uint32_t i = 0; i < graph->output_count && status == PTO_OK; i++)
    out[i] = (struct pto_argument){.name = graph->output_operands[i].name,
                                   .data = outputs[i],
                                   .size_bytes = operand_bytes(&graph->output_operands[i])};
  struct pto_call call = {.size = sizeof call,
                          .inputs = in,
                          .outputs = out,
                          .input_count = graph->input_count,
                          .output_count = graph->output_count};
  if (status == PTO_OK) status = pto_graph_call(open, context, &call);
  free(in);
  free(out);
  return status;
}

static int run_doubled(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                       struct pto_error *error) {
  struct pto_graph *open;
  int status = make_open(graph, 2, &open, error);
  if (status) return status;
  struct pto_context *context = open_context("threads", "tiny");
  status = call_open(context, open, graph, inputs, outputs);
  if (status) pto_error_set(error, status, "%s", pto_context_error(context));
  pto_graph_destroy(open);
  pto_context_destroy(context);
  return status;
}

static int run_threads(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                       struct pto_error *error) {
  return run_on("threads", "tiny", graph, inputs, outputs, error);
}

static int run_virtual(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                       struct pto_error *error) {
  return run_on("virtual", "a2a3", graph, inputs, outputs, error);
}

const struct pto_conformance_path pto_conformance_paths[] = {
    {"reference", run_reference},   {"text", run_text},       {"open sizes", run_open},
    {"doubled sizes", run_doubled}, {"threads", run_threads}, {"virtual", run_virtual}};
const uint32_t pto_conformance_path_count = PTO_ARRAY_LENGTH(pto_conformance_paths);
_Static_assert(PTO_ARRAY_LENGTH(pto_conformance_paths) == PTO_CASE_PATHS, "a path more: reports count it");
