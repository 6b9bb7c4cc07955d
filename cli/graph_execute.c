/* SPDX-License-Identifier: MIT */
#include <cli/graph_command.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <formats/npy.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>

/* Integers of inputs that no file gives: small, so that they may be indices. */
#define MOST_WHOLE 8u

/* ---- engines ---- */

static int run_reference(const struct pto_graph_job *job, struct pto_error *error) {
  return pto_graph_reference_run(job->graph, job->inputs, job->outputs, job->observe, job->observe_context, error);
}

static const struct pto_graph_engine engines[] = {
    {"threads", pto_graph_run_on_device}, {"virtual", pto_graph_run_on_device}, {"reference", run_reference}};

const struct pto_graph_engine *pto_graph_engine_find(const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++)
    if (strcmp(engines[i].name, name) == 0) return &engines[i];
  return NULL;
}

/* ---- arrays ---- */

static struct pto_graph_desc desc_of(const struct pto_operand *operand) {
  struct pto_graph_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  return desc;
}

static uint64_t bytes_of(const struct pto_graph_desc *desc) {
  return (pto_graph_desc_numel(desc) * pto_dtype_bits(desc->dtype) + 7) / 8;
}

/* Floats within ±1, integers below MOST_WHOLE, from a stream of the input's name. */
static void fill(const struct pto_operand *operand, uint64_t seed, void *data) {
  const struct pto_graph_desc desc = desc_of(operand);
  struct pto_reference_tensor tensor;
  struct pto_rng rng = {pto_xxh64(operand->name, strlen(operand->name), seed)};
  if (!pto_reference_tensor_init(&tensor, &desc)) return;
  for (uint64_t i = 0; i < pto_graph_desc_numel(&desc); i++) {
    if (tensor.values)
      tensor.values[i] = 2 * pto_rng_unit(&rng) - 1;
    else
      tensor.whole[i] = (int64_t)pto_rng_below(&rng, MOST_WHOLE);
  }
  pto_reference_tensor_round(&tensor);
  pto_reference_tensor_store(&tensor, data);
  pto_reference_tensor_fini(&tensor);
}

static int read_input(const struct pto_operand *operand, const char *path, void *data, struct pto_error *error) {
  struct pto_npy npy = {0};
  char format[128];
  int status = pto_npy_read(path, &npy, error);
  if (status) return status == PTO_ESYSTEM ? error->status = PTO_EINVAL : status; /* it was asked for */
  bool is_same = npy.ndims == operand->ndims;
  for (uint32_t d = 0; d < npy.ndims && is_same; d++) is_same = npy.shape[d] == operand->shape[d];
  if (!is_same)
    status = pto_error_set(error, PTO_EINVAL, "%.300s holds %s, input \"%.60s\" has another shape", path,
                           pto_npy_format(&npy, format, sizeof format), operand->name);
  else
    status = pto_npy_copy(&npy, operand->dtype, data, error);
  pto_npy_fini(&npy);
  return status;
}

/* The file given for an input; NULL: none.  `used` counts. */
static const char *file_of(const struct pto_graph_command *command, const char *name, uint32_t *used) {
  const char *path = NULL;
  const size_t length = strlen(name);
  for (uint32_t i = 0; i < command->options.inputs.count; i++) {
    const char *pair = command->options.inputs.items[i];
    if (strncmp(pair, name, length) != 0 || pair[length] != '=') continue;
    path = pair + length + 1;
    ++*used;
  }
  return path;
}

static int refuse_input(struct pto_graph_command *command) {
  char name[128], question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  for (uint32_t i = 0; i < command->options.inputs.count; i++) {
    const char *pair = command->options.inputs.items[i];
    bool is_known = false;
    snprintf(name, sizeof name, "%.*s", (int)pto_min_u64(strcspn(pair, "="), sizeof name - 1), pair);
    pto_closest_begin(&closest, name);
    for (uint32_t k = 0; k < command->graph->input_count; k++) {
      is_known |= strcmp(command->graph->input_operands[k].name, name) == 0;
      pto_closest_consider(&closest, command->graph->input_operands[k].name);
    }
    if (!is_known)
      return pto_error_set(&command->error, PTO_EINVAL, "the graph has no input \"%s\"%s", name,
                           pto_closest_question(&closest, question));
  }
  return pto_error_set(&command->error, PTO_EINVAL, "an input is given twice");
}

int pto_graph_command_arrays(struct pto_graph_command *command) {
  const struct pto_graph *graph = command->graph;
  uint32_t used = 0;
  int status = PTO_OK;
  command->inputs = calloc(graph->input_count + 1u, sizeof *command->inputs);
  command->outputs = calloc(graph->output_count + 1u, sizeof *command->outputs);
  if (!command->inputs || !command->outputs) return pto_error_set(&command->error, PTO_ENOMEM, "out of memory");
  for (uint32_t i = 0; i < graph->output_count; i++) {
    const struct pto_graph_desc desc = desc_of(&graph->output_operands[i]);
    if (!(command->outputs[i] = calloc(1, bytes_of(&desc) + 1)))
      return pto_error_set(&command->error, PTO_ENOMEM, "no memory for output \"%.60s\"",
                           graph->output_operands[i].name);
  }
  for (uint32_t i = 0; i < graph->input_count && status == PTO_OK; i++) {
    const struct pto_operand *operand = &graph->input_operands[i];
    const struct pto_graph_desc desc = desc_of(operand);
    const char *path = file_of(command, operand->name, &used);
    if (!(command->inputs[i] = calloc(1, bytes_of(&desc) + 1)))
      return pto_error_set(&command->error, PTO_ENOMEM, "no memory for input \"%.60s\"", operand->name);
    if (path)
      status = read_input(operand, path, command->inputs[i], &command->error);
    else
      fill(operand, command->options.seed, command->inputs[i]);
  }
  return status == PTO_OK && used != command->options.inputs.count ? refuse_input(command) : status;
}

void pto_graph_command_fini(struct pto_graph_command *command) {
  for (uint32_t i = 0; command->inputs && i < command->graph->input_count; i++) free(command->inputs[i]);
  for (uint32_t i = 0; command->outputs && i < command->graph->output_count; i++) free(command->outputs[i]);
  free(command->inputs);
  free(command->outputs);
  pto_graph_explanation_fini(&command->explanation);
  pto_graph_records_fini(&command->records);
  free(command->steps.pairs.items);
  free(command->stepped.tokens);
  pto_graph_destroy(command->graph);
  pto_run_options_fini(&command->options);
}

/* ---- files ---- */

int pto_graph_write_npy(const char *dir, const char *name, const char *ending, const struct pto_graph_desc *desc,
                        const void *data, struct pto_error *error) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  char path[PATH_MAX];
  size_t used = (size_t)snprintf(path, sizeof path, "%s/", dir);
  for (; *name && used + 8 < sizeof path; name++)
    used +=
        (size_t)snprintf(path + used, sizeof path - used, strchr(plain, *name) ? "%c" : "%%%02X", (unsigned char)*name);
  if (used + strlen(ending) + 8 >= sizeof path)
    return pto_error_set(error, PTO_EINVAL, "%.200s: a path in it is too long", dir);
  snprintf(path + used, sizeof path - used, "%s.npy", ending);
  if (mkdir(dir, 0777) != 0 && errno != EEXIST)
    return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", dir, strerror(errno));
  return pto_npy_write(path, desc->dtype, desc->ndims, desc->shape, data, error);
}

/* ---- the run ---- */

struct pto_config pto_graph_command_config(const struct pto_graph_command *command) {
  const struct pto_run_options *o = &command->options;
  return (struct pto_config){.size = sizeof(struct pto_config),
                             .engine = o->engine ? o->engine : "threads",
                             .chip = o->chip ? o->chip : "tiny",
                             .workers = o->workers,
                             .deps = o->has_deps ? o->deps : PTO_DEPS_EXACT,
                             .window = o->window,
                             .heap_bytes = o->heap_bytes,
                             .poison = o->poison};
}

int pto_graph_command_run(struct pto_graph_command *command, const struct pto_graph_engine *engine) {
  struct pto_config config = pto_graph_command_config(command);
  config.record = pto_graph_records_wanted(&command->options, command->dot_tasks_path, command->check);
  const struct pto_graph_job job = {.graph = command->graph,
                                    .inputs = (const void *const *)command->inputs,
                                    .outputs = command->outputs,
                                    .config = &config,
                                    .record = &command->record,
                                    .records = config.record ? &command->records : NULL};
  command->records = (struct pto_graph_records){.options = &command->options,
                                                .dot_tasks_path = command->dot_tasks_path,
                                                .check = {.is_wanted = command->check, .rules = config.deps},
                                                .program = command->model ? command->model : command->path};
  int status = command->steps.count ? pto_graph_command_steps(command) : engine->run(&job, &command->error);
  command->has_run = status == PTO_OK;
  for (uint32_t i = 0; i < command->graph->output_count && status == PTO_OK && command->output_dir; i++) {
    const struct pto_operand *operand = &command->graph->output_operands[i];
    const struct pto_graph_desc desc = desc_of(operand);
    status = pto_graph_write_npy(command->output_dir, operand->name, "", &desc, command->outputs[i], &command->error);
  }
  return status;
}
