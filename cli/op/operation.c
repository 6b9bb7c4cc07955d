/* SPDX-License-Identifier: MIT */
/*
 * `ptosim op` of an operation of graphs: a graph of one node, on the chip beside the reference, timed, or asked about.
 *
 * What the node must compute, its tolerance and what bounds it are those of `ptosim graph` (cli/graph/command.h).
 */
#include <cli/op/op.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cli/graph/command.h>
#include <cli/main/verb.h>
#include <formats/units.h>
#include <graph/build/operation.h>
#include <runtime/base/text.h>

#define NAME_COLUMN 26
#define STEPS 20 /* dispatches of perf */
#define PREFIX "graph:"

/* ---- what an operation takes ---- */

static void print_dtypes(uint32_t dtypes) {
  const char *separator = "";
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    if (!(dtypes & PTO_DTYPE_BIT(dtype)) || !pto_graph_dtype_name(dtype)) continue;
    printf("%s%s", separator, pto_graph_dtype_name(dtype));
    separator = " ";
  }
}

static void print_operand(const struct pto_op_info *info, const struct pto_op_parameter *parameter) {
  printf("    %-24s ", parameter->name);
  if (parameter->same_dtype)
    printf("of %s's dtype", info->parameters[parameter->same_dtype - 1].name);
  else
    print_dtypes(parameter->dtypes);
  printf(", rank %" PRIu32, parameter->min_rank);
  if (parameter->max_rank != parameter->min_rank) printf(" to %" PRIu32, parameter->max_rank);
  printf("%s%s\n", parameter->is_optional ? ", optional" : "", parameter->is_list ? ", one or more" : "");
}

void pto_op_print_line(char *text) {
  const bool is_wide = strlen(text) > PTO_OP_COLUMNS;
  if (is_wide) text[PTO_OP_COLUMNS - 2] = '\0';
  char *space = is_wide ? strrchr(text, ' ') : NULL;
  if (space) *space = '\0';
  printf("%s%s\n", text, is_wide ? " …" : "");
}

void pto_op_print_operation(uint32_t op, bool with_operands) {
  const struct pto_op_info *info = pto_op_info(op);
  char text[1024];
  snprintf(text, sizeof text, "%-*s", NAME_COLUMN, info->name);
  for (uint32_t i = 0; i < info->parameter_count; i++)
    pto_text_append(text, sizeof text, info->parameters[i].is_optional ? " [%s]" : " %s", info->parameters[i].name);
  for (uint32_t i = 0; i < info->attribute_count; i++)
    pto_text_append(text, sizeof text, "%s %s", i ? "" : " |", info->attributes[i].name);
  if (with_operands)
    puts(text);
  else
    pto_op_print_line(text);
  for (uint32_t i = 0; with_operands && i < info->parameter_count; i++) print_operand(info, &info->parameters[i]);
}

uint32_t pto_op_operation_of(const struct pto_op_options *options) {
  const char *name = options->name;
  if (name == NULL) return PTO_GRAPH_OP_COUNT;
  if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) return pto_op_find(name + strlen(PREFIX));
  return pto_kernel_find(name) != NULL ? PTO_GRAPH_OP_COUNT : pto_op_find(name);
}

/* ---- one row ---- */

/* What one combination of dtypes came to. */
struct outcome {
  const char *name;
  char operands[512], results[512];
  struct pto_graph_divergence divergence;
  uint64_t tasks;
  double dispatch_seconds; /* of perf: the mean, and the fastest */
  double least_dispatch_seconds;
  struct pto_explained_node cost;    /* of perf */
  char error[PTO_SENTENCE_SIZE + 1]; /* "": none */
};

static void format_operands(const struct pto_operand *operands, uint32_t count, char *text, size_t size) {
  text[0] = '\0';
  for (uint32_t i = 0; i < count; i++) {
    pto_text_append(text, size, "%s%s[", i ? " " : "", pto_graph_dtype_name(operands[i].dtype));
    pto_text_append_numbers(text, size, ",", operands[i].shape, operands[i].ndims);
    pto_text_append(text, size, "]");
  }
}

static void describe(const struct pto_graph *graph, const char *name, struct outcome *outcome) {
  *outcome = (struct outcome){.name = name};
  format_operands(graph->input_operands, graph->input_count, outcome->operands, sizeof outcome->operands);
  format_operands(graph->output_operands, graph->output_count, outcome->results, sizeof outcome->results);
}

/* On the chip and on the reference. */
static int compare(struct pto_graph_command *command, struct outcome *outcome) {
  command->compare = "reference";
  int status = pto_graph_command_open(command);
  if (status == PTO_OK) status = pto_graph_command_compare(command, pto_graph_engine_find("threads"));
  outcome->divergence = command->divergence;
  outcome->tasks = command->record.counters.tasks;
  return status;
}

/* What the chip takes for the node, and what this machine takes for a dispatch, the first, which lowers, left out. */
static int measure(struct pto_graph_command *command, struct outcome *outcome) {
  int status = pto_graph_command_explain(command);
  if (status == PTO_OK) status = pto_graph_command_open(command);
  command->steps.count = STEPS + 1;
  if (status == PTO_OK) status = pto_graph_command_run(command, pto_graph_engine_find("threads"));
  if (status != PTO_OK) return status;
  outcome->cost = command->explanation.nodes[0];
  outcome->tasks = outcome->cost.tasks;
  outcome->dispatch_seconds = command->stepped.later_seconds / STEPS;
  outcome->least_dispatch_seconds = command->stepped.least_later_seconds;
  return PTO_OK;
}

/* ---- text ---- */

static void print_tested(const struct outcome *o) {
  const struct pto_graph_divergence *d = &o->divergence;
  printf("%-20s %s → %s  ", o->name, o->operands, o->results);
  if (o->error[0] != '\0')
    printf("FAILED: %s\n", o->error);
  else if (d->is_found)
    printf("WRONG: %" PRIu64 " elements, the worst of result %" PRIu32 " at %" PRIu64 ": %.9g for %.9g, %.3g allowed\n",
           d->diverging_elements, d->result, d->element, d->got, d->expected, d->tolerance);
  else
    printf("%.4g ulp, %.2g of what is allowed; %" PRIu64 " task%s\n", d->worst_ulps, d->worst_of_tolerance, o->tasks,
           pto_plural(o->tasks));
}

static void print_measured(const struct outcome *o) {
  printf("%-20s %s → %s  ", o->name, o->operands, o->results);
  if (o->error[0] != '\0')
    printf("FAILED: %s\n", o->error);
  else
    printf("%.1f us a dispatch, at least %.1f, %" PRIu64
           " task%s; on one core of the chip %.1f us, bound by %s; %" PRIu64 " bytes, %" PRIu64 " elements, %" PRIu64
           " macs, %" PRIu64 " local\n",
           o->dispatch_seconds * 1e6, o->least_dispatch_seconds * 1e6, o->tasks, pto_plural(o->tasks),
           (double)pto_explained_ps(&o->cost) * 1e-6, pto_explained_bound_name(pto_explained_bound(&o->cost)),
           o->cost.bytes_in + o->cost.bytes_out, o->cost.vector_elems, o->cost.multiply_adds, o->cost.local_bytes);
}

static void print_taken(const struct outcome *o) {
  printf("    takes                    %s → %s\n", o->operands, o->results);
}

/* ---- JSON ---- */

static void put_outcome(struct pto_json_writer *w, const struct pto_op_options *options, const struct outcome *o) {
  const bool has_figures = o->error[0] == '\0';
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "operation", o->name);
  pto_json_put_string(w, "operands", o->operands);
  pto_json_put_string(w, "results", o->results);
  if (has_figures && strcmp(options->action, "test") == 0) {
    pto_json_put_u64(w, "tasks", o->tasks);
    pto_json_put_u64(w, "elements", o->divergence.elements);
    pto_json_put_u64(w, "wrong", o->divergence.diverging_elements);
    pto_json_put_double(w, "worst_ulps", o->divergence.worst_ulps);
    pto_json_put_double(w, "worst_of_tolerance", o->divergence.worst_of_tolerance);
  }
  if (has_figures && strcmp(options->action, "perf") == 0) {
    pto_json_put_u64(w, "tasks", o->tasks);
    pto_json_put_double(w, "dispatch_ns", o->dispatch_seconds * 1e9);
    pto_json_put_double(w, "least_dispatch_ns", o->least_dispatch_seconds * 1e9);
    pto_json_key(w, "chip_ns");
    pto_json_decimal(w, pto_explained_ps(&o->cost), 3);
    pto_json_put_string(w, "bound", pto_explained_bound_name(pto_explained_bound(&o->cost)));
    pto_json_put_u64(w, "bytes_in", o->cost.bytes_in);
    pto_json_put_u64(w, "bytes_out", o->cost.bytes_out);
    pto_json_put_u64(w, "vector_elems", o->cost.vector_elems);
    pto_json_put_u64(w, "multiply_adds", o->cost.multiply_adds);
    pto_json_put_u64(w, "local_bytes", o->cost.local_bytes);
  }
  pto_json_put_string(w, "error", has_figures ? NULL : o->error);
  pto_json_object_end(w);
}

/* ---- the actions ---- */

static const struct {
  const char *name;
  int (*run)(struct pto_graph_command *command, struct outcome *outcome); /* NULL: being there is all */
  void (*print)(const struct outcome *outcome);
} actions[] = {{"test", compare, print_tested}, {"perf", measure, print_measured}, {"support", NULL, print_taken}};

/* Takes the graph.  An enum pto_exit. */
static int try_graph(const struct pto_op_options *options, uint32_t op, struct pto_graph *graph,
                     struct pto_coverage *coverage, struct pto_json_writer *w) {
  struct pto_graph_command command = {.graph = graph,
                                      .options = {.seed = options->common.seed, .chip = options->common.chip}};
  struct outcome outcome;
  size_t action = 0;
  describe(graph, pto_op_info(op)->name, &outcome);
  while (strcmp(actions[action].name, options->action) != 0) action++;
  const int status = actions[action].run != NULL ? actions[action].run(&command, &outcome) : PTO_OK;
  if (status != PTO_OK) snprintf(outcome.error, sizeof outcome.error, "%s", command.error.sentence);
  if (!pto_json_takes_stdout(options->common.json_path)) actions[action].print(&outcome);
  if (w != NULL) put_outcome(w, options, &outcome);
  fflush(stdout);
  pto_coverage_add(coverage, PTO_COVERAGE_ELEMENTS, outcome.divergence.elements);
  pto_coverage_add(coverage, PTO_COVERAGE_DTYPES, status == PTO_OK);
  pto_coverage_leave_because(coverage, PTO_COVERAGE_DTYPES, status != PTO_OK, "they failed");
  pto_graph_command_fini(&command);
  if (status != PTO_OK) return pto_complain(PTO_EXIT_FAILED, "op: %s: %s", outcome.name, outcome.error);
  if (outcome.divergence.is_found) return pto_complain(PTO_EXIT_FINDINGS, "op: %s is wrong", outcome.name);
  return PTO_EXIT_OK;
}

/* With the dtypes that are given, or with each that the first operand may have and the others go with. */
static int try_dtypes(const struct pto_op_options *options, uint32_t op, struct pto_coverage *coverage,
                      struct pto_json_writer *w) {
  const uint32_t set = options->dtypes != NULL ? 1 : pto_op_info(op)->parameters[0].dtypes;
  struct pto_error error, reason = {0};
  int code = PTO_EXIT_OK;
  uint32_t count = 0;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    struct pto_graph *graph;
    if ((set & PTO_DTYPE_BIT(dtype)) == 0) continue;
    if (pto_op_node_create(options, op, dtype, &graph, &error) != PTO_OK) {
      if (reason.status == PTO_OK) reason = error;
      continue;
    }
    const int one = try_graph(options, op, graph, coverage, w);
    if (one > code) code = one;
    count++;
  }
  return count > 0 ? code : pto_complain(PTO_EXIT_USAGE, "op: %s", reason.sentence);
}

int pto_op_operation(const struct pto_op_options *options, uint32_t op, struct pto_json_writer *w) {
  if (strcmp(options->action, "support") == 0) {
    if (!pto_json_takes_stdout(options->common.json_path)) pto_op_print_operation(op, true);
    if (w == NULL && options->dtypes == NULL && options->shapes == NULL && options->common.settings.count == 0)
      return PTO_EXIT_OK;
  }
  if (w != NULL) pto_json_put_array(w, "results");
  struct pto_coverage coverage = {0};
  const int code = try_dtypes(options, op, &coverage, w);
  if (w != NULL) pto_json_array_end(w);
  if (!coverage.is_known || strcmp(options->action, "test") != 0) return code;
  pto_coverage_add(&coverage, PTO_COVERAGE_SHAPES, 1);
  pto_op_cover(options, &coverage, w);
  return code;
}
