/* SPDX-License-Identifier: MIT */
#include <tests/conformance/conformance_run.h>

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

/* ---- through a file in text form ---- */

static int run_text(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                    struct pto_error *error) {
  char path[] = "/tmp/conformance_XXXXXX.webnn", weights[sizeof path + sizeof ".safetensors"];
  struct pto_graph *read = NULL;
  const int fd = mkstemps(path, (int)strlen(".webnn"));
  if (fd < 0) return pto_error_set(error, PTO_ESYSTEM, "%s cannot be made", path);
  close(fd);
  int status = pto_graph_save(graph, path, NULL, error->sentence, sizeof error->sentence);
  if (status == PTO_OK) status = pto_graph_load(NULL, path, NULL, &read, error->sentence, sizeof error->sentence);
  if (status == PTO_OK) status = run_reference(read, inputs, outputs, error);
  pto_graph_destroy(read);
  unlink(path);
  /* Beside it, where there are many. */
  snprintf(weights, sizeof weights, "%.*s.safetensors", (int)(strlen(path) - strlen(".webnn")), path);
  unlink(weights);
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

static int run_threads(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                       struct pto_error *error) {
  return run_on("threads", "tiny", graph, inputs, outputs, error);
}

static int run_virtual(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                       struct pto_error *error) {
  return run_on("virtual", "a2a3", graph, inputs, outputs, error);
}

const struct pto_conformance_path pto_conformance_paths[] = {
    {"reference", run_reference}, {"text", run_text}, {"threads", run_threads}, {"virtual", run_virtual}};
const uint32_t pto_conformance_path_count = PTO_ARRAY_LENGTH(pto_conformance_paths);
