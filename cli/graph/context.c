/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph` on a simulated chip: a context of its own, host arrays in and out.
 */
#include <cli/graph/command.h>

#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <graph/run/watched.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>

#define MIB (UINT64_C(1) << 20)

/* ---- the context ---- */

/* Device memory for every value twice, since caches take turns; a heap for all results, which live until the end of a
 * dispatch.  Both are address space until they are used. */
int pto_graph_open_context(const struct pto_graph *graph, const struct pto_config *config,
                           struct pto_context **context_out, struct pto_error *error) {
  struct pto_context_options options = {.size = sizeof options, .runtime = *config};
  uint64_t all_bytes = 0;
  for (uint32_t v = 1; v < graph->value_count; v++) all_bytes += pto_align_up(graph->values[v].size_bytes, 1024);
  options.memory_bytes = pto_max_u64(2 * all_bytes + 64 * MIB, 1024 * MIB);
  options.tensor_count = (uint32_t)pto_min_u64(2 * (uint64_t)graph->value_count + 1024, UINT32_MAX);
  if (!options.runtime.heap_bytes) options.runtime.heap_bytes = pto_graph_program_heap_bytes(graph);
  error->sentence[0] = '\0';
  const int status = pto_context_create(&options, context_out, error->sentence, sizeof error->sentence);
  error->status = status == PTO_ESYSTEM ? PTO_EINVAL : status; /* a chip file that was asked for */
  return error->status;
}

void pto_graph_record_take(struct pto_graph_record *record, struct pto_context *context) {
  const struct pto_context_info info = pto_context_info(context);
  record->has_device = true;
  record->is_virtual = strcmp(info.backend, "npu-virtual") == 0;
  record->workers = info.workers;
  snprintf(record->chip, sizeof record->chip, "%s", info.chip);
  record->counters = (struct pto_context_counters){.size = sizeof record->counters};
  pto_context_counters(context, &record->counters);
}

/* ---- arrays ---- */

static uint64_t bytes_of(const struct pto_operand *operand) {
  uint64_t bits = pto_dtype_bits(operand->dtype);
  for (uint32_t d = 0; d < operand->ndims; d++) bits *= operand->shape[d];
  return (bits + 7) / 8;
}

/* Of the program run, which frees them. */
static struct pto_host_array *arrays_of(struct pto_program_run *run, const struct pto_operand *operands, uint32_t count,
                                        void *const *data) {
  struct pto_host_array *arrays = pto_program_alloc(run, (count + 1u) * sizeof *arrays);
  for (uint32_t i = 0; arrays && i < count; i++)
    arrays[i] = (struct pto_host_array){operands[i].name, data[i], bytes_of(&operands[i])};
  return arrays;
}

double pto_graph_element(const struct pto_reference_tensor *tensor, uint64_t i) {
  if (tensor->values) return tensor->values[i];
  return tensor->desc.dtype == PTO_UINT64 ? (double)(uint64_t)tensor->whole[i] : (double)tensor->whole[i];
}

bool pto_graph_distance(const struct pto_graph_desc *desc, const void *got_bytes, const void *expected_bytes,
                        bool counts_nan, double *distance_out) {
  struct pto_reference_tensor got = {0}, expected = {0};
  double difference = 0, magnitude = 0;
  const bool has_room = pto_reference_tensor_init(&got, desc) && pto_reference_tensor_init(&expected, desc);
  if (has_room) {
    pto_reference_tensor_load(&got, got_bytes);
    pto_reference_tensor_load(&expected, expected_bytes);
  }
  for (uint64_t i = 0; has_room && i < pto_graph_desc_numel(desc); i++) {
    const double a = pto_graph_element(&got, i), b = pto_graph_element(&expected, i);
    if (isnan(a) != isnan(b))
      difference = counts_nan ? (double)INFINITY : difference;
    else if (a != b)
      difference = fmax(difference, fabs(a - b));
    if (isfinite(b)) magnitude = fmax(magnitude, fabs(b));
  }
  pto_reference_tensor_fini(&got);
  pto_reference_tensor_fini(&expected);
  *distance_out = difference > 0 && magnitude > 0 ? difference / magnitude : difference;
  return has_room;
}

/* The graph once; what it had on the context is given back. */
static int compute(const struct pto_graph_job *job, struct pto_graph *graph, struct pto_context *context,
                   void *const *outputs, struct pto_error *error) {
  struct pto_host_array *in = arrays_of(job->run, graph->input_operands, graph->input_count,
                                        (void *const *)(uintptr_t)job->inputs); /* read alone */
  struct pto_host_array *out = arrays_of(job->run, graph->output_operands, graph->output_count, outputs);
  const struct pto_compute_arrays arrays = {in, out, graph->input_count, graph->output_count};
  int status = in && out ? pto_graph_compute(graph, context, &arrays) : PTO_ENOMEM;
  if (status) {
    const char *sentence = pto_context_error(context);
    (void)pto_error_set(error, status, "%s", sentence[0] ? sentence : pto_strerror(status));
  }
  pto_graph_forget(graph, context);
  return status;
}

/* ---- every node ---- */

struct watch {
  const struct pto_graph_job *job;
  struct pto_watched_graph watched;
  void **results; /* by output of the watched graph */
};

/* Results that are outputs, as the plain run made them. */
static void take_outputs(struct watch *watch) {
  const struct pto_graph *graph = watch->job->graph, *watched = &watch->watched.graph;
  for (uint32_t o = 0; o < graph->output_count; o++)
    for (uint32_t i = 0; i < watched->output_count; i++)
      if (watched->outputs[i] == graph->outputs[o])
        memcpy(watch->results[i], watch->job->outputs[o], graph->values[graph->outputs[o]].size_bytes);
}

static int tell_node(struct watch *watch, uint32_t node, uint32_t first_output) {
  const struct pto_graph_node *n = &watch->job->graph->nodes[node];
  struct pto_reference_tensor *results = calloc(n->result_count + 1u, sizeof *results);
  int status = results ? PTO_OK : PTO_ENOMEM;
  for (uint32_t r = 0; r < n->result_count && status == PTO_OK; r++) {
    if (pto_reference_tensor_init(&results[r], &watch->job->graph->values[n->first_result + r].desc))
      pto_reference_tensor_load(&results[r], watch->results[first_output + r]);
    else
      status = PTO_ENOMEM;
  }
  if (status == PTO_OK) status = watch->job->observe(watch->job->observe_context, node, results);
  for (uint32_t r = 0; results && r < n->result_count; r++) pto_reference_tensor_fini(&results[r]);
  free(results);
  return status;
}

/* Nodes inside a fused group have no results to tell.  Results of a node are consecutive values, and outputs of the
 * watched graph stand in the order of values. */
static int tell_nodes(struct watch *watch) {
  const struct pto_graph *graph = watch->job->graph, *watched = &watch->watched.graph;
  int status = PTO_OK;
  for (uint32_t n = 0; n < graph->node_count && status == PTO_OK; n++) {
    uint32_t first = 0;
    while (first < watched->output_count && watched->outputs[first] != graph->nodes[n].first_result) first++;
    if (first < watched->output_count) status = tell_node(watch, n, first);
  }
  return status;
}

static int run_watched(struct watch *watch, struct pto_context *context, struct pto_error *error) {
  const struct pto_graph *graph = &watch->watched.graph;
  watch->results = pto_program_alloc(watch->job->run, (graph->output_count + 1u) * sizeof *watch->results);
  bool has_room = watch->results != NULL;
  for (uint32_t i = 0; has_room && i < graph->output_count; i++)
    has_room = (watch->results[i] =
                    pto_program_alloc(watch->job->run, graph->values[graph->outputs[i]].size_bytes + 1)) != NULL;
  if (!has_room) return pto_error_set(error, PTO_ENOMEM, "no memory for the results of all nodes");
  int status = compute(watch->job, &watch->watched.graph, context, watch->results, error);
  if (status) return status;
  take_outputs(watch);
  return tell_nodes(watch);
}

static int observe_all(const struct pto_graph_job *job, struct pto_context *context, struct pto_error *error) {
  struct watch watch = {.job = job};
  int status = pto_watched_graph_init(&watch.watched, job->graph);
  if (status) return pto_error_set(error, status, "out of memory");
  status = run_watched(&watch, context, error);
  pto_watched_graph_fini(&watch.watched);
  return status;
}

int pto_graph_run_on_device(const struct pto_graph_job *job, struct pto_error *error) {
  struct pto_graph_record *record = &job->command->record;
  struct pto_graph_program *program = job->command->program;
  struct pto_context *context = NULL;
  int status = pto_graph_open_context(job->graph, pto_program_config(job->run), &context, error);
  if (status) return status;
  pto_graph_program_begin(program);
  job->graph->watch = &program->watch;
  const double begin = pto_clock_seconds();
  status = compute(job, job->graph, context, job->outputs, error);
  record->wall_seconds = pto_clock_seconds() - begin;
  job->graph->watch = NULL;
  pto_program_report(job->run, context); /* where anything is recorded its run ends, and all that is in it counts */
  pto_graph_record_take(record, context);
  if (status == PTO_OK && job->observe) status = observe_all(job, context, error);
  pto_context_destroy(context);
  return status;
}
