/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph`: what it says of a graph and of a run, for people and as JSON.
 */
#include <cli/graph/command.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/order_coverage.h>
#include <formats/units.h>
#include <graph/build/outside.h>
#include <kernels/reference/reference.h>
#include <report/findings/findings.h>
#include <report/run/alike_tasks.h>
#include <report/run/result.h>
#include <cli/main/verb.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>

/* Lines of findings for people; --json has all. */
#define MOST_FINDINGS 20u

/* ---- the summary ---- */

struct summary {
  uint32_t ops[PTO_OP_NUMBERS];
  uint32_t constants;
  uint64_t constant_bytes;
};

static struct summary summarise(const struct pto_graph *graph) {
  struct summary s = {{0}, 0, 0};
  for (uint32_t i = 0; i < graph->node_count; i++) s.ops[graph->nodes[i].op]++;
  for (uint32_t v = 1; v < graph->value_count; v++) {
    if (graph->values[v].kind != PTO_VALUE_CONSTANT) continue;
    s.constants++;
    s.constant_bytes += graph->values[v].size_bytes;
  }
  return s;
}

/* Those of a model, unless --set file names a file that has them. */
static bool has_random_weights(const struct pto_graph_command *command) {
  bool is_random = command->model != NULL;
  for (size_t i = 0; i < command->options.settings.count; i++)
    is_random &= strncmp(command->options.settings.items[i], "file=", strlen("file=")) != 0;
  return is_random;
}

static void print_shape(const struct pto_operand *operand) {
  printf("%s [", pto_graph_dtype_name(operand->dtype));
  for (uint32_t d = 0; d < operand->ndims; d++) printf("%s%" PRIu64, d ? ", " : "", operand->shape[d]);
  putchar(']');
}

/* ---- operands that are alike, such as caches: one line for all that differ by the number behind their name ---- */

#define LEAST_FOLDED 3u

static size_t stem_of(const char *name) {
  size_t length = strlen(name);
  while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9') length--;
  return length;
}

static bool are_alike(const struct pto_operand *a, const struct pto_operand *b) {
  const size_t stem = stem_of(a->name);
  return a->name[stem] && b->name[stem_of(b->name)] && stem == stem_of(b->name) && !memcmp(a->name, b->name, stem) &&
         a->dtype == b->dtype && a->ndims == b->ndims && !memcmp(a->shape, b->shape, a->ndims * sizeof a->shape[0]);
}

/* Operands that operand `first` tells of: itself, or all that are like it; 0 where an earlier one has told of it. */
static uint32_t count_alike(const struct pto_operand *operands, uint32_t count, uint32_t first, uint32_t *last_out) {
  uint32_t before = 0, alike = 0;
  *last_out = first;
  for (uint32_t i = 0; i < count; i++) {
    if (!are_alike(&operands[first], &operands[i])) continue;
    before += i < first;
    alike++;
    if (i > first) *last_out = i;
  }
  if (alike >= LEAST_FOLDED) return before ? 0 : alike;
  *last_out = first;
  return 1;
}

/* "past_key0 … past_key11 (12)"; returns `text`. */
static const char *folded_name(const struct pto_operand *operands, uint32_t first, uint32_t last, uint32_t count,
                               char *text, size_t size) {
  if (count == 1)
    snprintf(text, size, "%s", operands[first].name);
  else
    snprintf(text, size, "%s to %s (%" PRIu32 ")", operands[first].name, operands[last].name, count);
  return text;
}

static void print_operands(const char *title, const struct pto_operand *operands, uint32_t count) {
  char text[256];
  uint32_t last;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t alike = count_alike(operands, count, i, &last);
    if (alike == 0) continue;
    printf("%-10s %-32s ", i ? "" : title, folded_name(operands, i, last, alike, text, sizeof text));
    print_shape(&operands[i]);
    putchar('\n');
  }
}

static void print_summary(const struct pto_graph_command *command) {
  const struct pto_graph *graph = command->graph;
  const struct summary s = summarise(graph);
  const char *separator = "";
  print_operands("inputs", graph->input_operands, graph->input_count);
  print_operands("outputs", graph->output_operands, graph->output_count);
  for (uint32_t i = 0; i < pto_graph_size_count(graph); i++) {
    const struct pto_graph_size size = pto_graph_size_at(graph, i);
    printf("%-10s %-32s 1 to %" PRIu64 "\n", i ? "" : "sizes", size.name, size.value);
  }
  printf("constants  %" PRIu32 ", %" PRIu64 " bytes%s\n", s.constants, s.constant_bytes,
         has_random_weights(command) ? ", random" : "");
  printf("nodes      %" PRIu32 ": ", graph->node_count);
  for (uint32_t op = 0; op < PTO_OP_NUMBERS; op++) {
    if (s.ops[op] == 0) continue;
    printf("%s%s %" PRIu32, separator, pto_op_info(op)->name, s.ops[op]);
    separator = ", ";
  }
  putchar('\n');
}

/* ---- results ---- */

struct range {
  double least, most, mean;
  uint64_t not_finite;
};

static struct range range_of(const struct pto_operand *operand, const void *bytes) {
  const uint64_t stride = 1;
  uint64_t count = 1, finite = 0;
  for (uint32_t d = 0; d < operand->ndims; d++) count *= operand->shape[d];
  const struct pto_kernel_tensor flat = {(void *)(uintptr_t)bytes, &count, &stride, 1, operand->dtype};
  struct range range = {INFINITY, -INFINITY, 0, 0};
  for (uint64_t i = 0; i < count; i++) {
    const double x = pto_reference_element(&flat, i);
    if (!isfinite(x)) {
      range.not_finite++;
      continue;
    }
    range.least = fmin(range.least, x);
    range.most = fmax(range.most, x);
    range.mean += (x - range.mean) / (double)++finite;
  }
  return range;
}

/* Of all outputs that are like `first`: those of one size, so that the mean is that of the means. */
static struct range range_of_alike(const struct pto_graph_command *command, uint32_t first, uint32_t alike) {
  const struct pto_operand *operands = command->graph->output_operands;
  struct range all = range_of(&operands[first], command->outputs[first]);
  uint32_t taken = 1;
  for (uint32_t i = first + 1; taken < alike; i++) {
    if (!are_alike(&operands[first], &operands[i])) continue;
    const struct range range = range_of(&operands[i], command->outputs[i]);
    all.least = fmin(all.least, range.least);
    all.most = fmax(all.most, range.most);
    all.mean += (range.mean - all.mean) / ++taken;
    all.not_finite += range.not_finite;
  }
  return all;
}

static void print_results(const struct pto_graph_command *command) {
  const struct pto_graph *graph = command->graph;
  char text[256];
  uint32_t last;
  for (uint32_t i = 0; i < graph->output_count; i++) {
    const uint32_t alike = count_alike(graph->output_operands, graph->output_count, i, &last);
    if (alike == 0) continue;
    const struct range range = range_of_alike(command, i, alike);
    printf("%-10s %-32s %.6g to %.6g, mean %.6g", i ? "" : "result",
           folded_name(graph->output_operands, i, last, alike, text, sizeof text), range.least, range.most, range.mean);
    if (range.not_finite) printf("; %" PRIu64 " are not finite", range.not_finite);
    putchar('\n');
  }
}

static const char *node_name(const struct pto_graph *graph, uint32_t node, char *text, size_t size) {
  const struct pto_graph_node *n = &graph->nodes[node];
  const bool has_label = n->label && n->label[0];
  snprintf(text, size, "node %" PRIu32 ", %s%s%.80s%s", node, pto_op_info(n->op)->name, has_label ? " \"" : "",
           has_label ? n->label : "", has_label ? "\"" : "");
  return text;
}

static void print_divergence(const struct pto_graph_command *command) {
  const struct pto_graph_divergence *d = &command->divergence;
  char name[160], fused[64] = "";
  printf("compared   %s: ", d->is_found ? "beyond tolerance" : "within tolerance");
  if (d->worst_of_tolerance > 0 || d->worst_ulps == 0) /* else nothing is allowed */
    printf("at worst %.2g of what is allowed, ", d->worst_of_tolerance);
  printf("%" PRIu64 " nodes, ", d->nodes);
  if (d->fused_nodes) printf("and %" PRIu64 " inside them, ", d->fused_nodes);
  printf("%" PRIu64 " elements, up to %.4g ulp off", d->elements, d->worst_ulps);
  if (!d->is_found || !command->first_divergence) printf("; outputs come apart by %.3g of their size", d->end_error);
  putchar('\n');
  if (!d->is_found) return;
  if (d->fused) snprintf(fused, sizeof fused, ", fused (%s)", d->fused);
  printf("diverges   %s%s, result %" PRIu32 ": %" PRIu64 " elements are beyond tolerance, element %" PRIu64
         " is %.9g for %.9g, %.4g ulp off, %.3g allowed\n",
         node_name(command->graph, d->node, name, sizeof name), fused, d->result, d->node_elements, d->element, d->got,
         d->expected, d->ulps, d->tolerance);
}

/* ---- the run ---- */

static void print_record(const struct pto_graph_record *record, const char *engine) {
  const struct pto_context_counters *c = &record->counters;
  char text[32];
  printf("on         %s, %s engine, %" PRIu32 " %s\n", record->chip, engine, record->workers,
         record->workers == 1 ? "thread" : "threads");
  printf("tasks      %" PRIu64 ", %" PRIu64 " edge%s\n", c->tasks, c->edges, pto_plural(c->edges));
  printf("time       %s", pto_format_seconds(record->wall_seconds, text, sizeof text));
  if (record->is_virtual)
    printf(", %s on the chip, %s transfers", pto_format_seconds((double)c->virtual_ps * 1e-12, text, sizeof text),
           c->h2d_bytes | c->d2h_bytes | c->d2d_bytes ? "with" : "without");
  printf("\nmoved      %" PRIu64 " bytes to the device, %" PRIu64 " back, %" PRIu64 " on it\n", c->h2d_bytes,
         c->d2h_bytes, c->d2d_bytes);
  if (c->lowering_cache_hits == 0 && c->lowering_cache_misses == 0) return; /* nothing was there to repeat */
  printf("lowered    %" PRIu64 " dispatch%s made %s tasks anew, %" PRIu64 " reused kept ones\n",
         c->lowering_cache_misses, c->lowering_cache_misses == 1 ? "" : "es",
         c->lowering_cache_misses == 1 ? "its" : "their", c->lowering_cache_hits);
}

static uint64_t output_digest(const struct pto_graph_command *command) {
  uint64_t digest = 0;
  for (uint32_t i = 0; i < command->graph->output_count; i++)
    digest = pto_xxh64(command->outputs[i], command->graph->values[command->graph->outputs[i]].size_bytes, digest);
  return digest;
}

/* Which tasks there are is the graph's, whatever the data. */
static struct pto_coverage coverage_of(const struct pto_graph_command *command) {
  struct pto_coverage coverage = {.subject = command->options.subject};
  pto_order_cover(pto_session_trace(&command->session), false, &coverage);
  memset(&coverage.rows[PTO_COVERAGE_SEEDS], 0, sizeof coverage.rows[PTO_COVERAGE_SEEDS]);
  return coverage;
}

/* Of --compare. */
static struct pto_coverage coverage_of_nodes(const struct pto_graph_command *command) {
  struct pto_coverage coverage = {.subject = command->options.subject};
  const struct pto_graph_divergence *d = &command->divergence;
  const bool is_cut = d->is_found && command->first_divergence;
  pto_coverage_add(&coverage, PTO_COVERAGE_NODES, d->nodes);
  if (is_cut)
    pto_coverage_leave(&coverage, PTO_COVERAGE_NODES, PTO_COVERAGE_UNCOUNTED, "graph --compare reference");
  else
    pto_coverage_leave(&coverage, PTO_COVERAGE_NODES, d->fused_nodes, "graph --compare reference --no-fusion");
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, 1);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "graph --compare reference --seed N");
  return coverage;
}

static void print_check(const struct pto_graph_command *command) {
  const struct pto_coverage coverage = coverage_of(command);
  const struct pto_order_counts *n = &command->counts;
  pto_findings_print(&command->findings, stdout, MOST_FINDINGS);
  printf("checked    %" PRIu64 " task%s, %" PRIu64 " edge%s and %" PRIu64 " pair%s under rules %s, %" PRIu64
         " finding%s\n",
         n->tasks, pto_plural(n->tasks), n->edges, pto_plural(n->edges), n->pairs, pto_plural(n->pairs),
         pto_deps_rules_name(command->session.rules).text, command->findings.total,
         pto_plural(command->findings.total));
  pto_coverage_print(&coverage, stdout);
}

void pto_graph_report_print(const struct pto_graph_command *command) {
  if (command->validate) {
    printf("valid      %" PRIu32 " nodes, %" PRIu32 " inputs, %" PRIu32 " outputs\n", command->graph->node_count,
           command->graph->input_count, command->graph->output_count);
    return;
  }
  /* The verdicts first. */
  if (command->has_checked) print_check(command);
  if (command->has_compared) print_divergence(command);
  if (command->record.has_device) print_record(&command->record, command->engine);
  if (command->has_stepped) pto_graph_steps_print(command);
  if (command->has_run) {
    printf("digest     %016" PRIx64 "\n", output_digest(command));
    print_results(command);
  }
  print_summary(command);
  if (command->options.stats && command->has_run) {
    pto_timeline_stats_print(&command->session.timeline, &command->session.result.stats, stdout);
    pto_group_times_print(&command->session.node_times, "nodes", stdout);
  }
  if (command->has_explained) pto_graph_explain_print(command);
  if (!command->has_compared) return;
  const struct pto_coverage coverage = coverage_of_nodes(command);
  pto_coverage_print(&coverage, stdout);
}

/* ---- JSON ---- */

static void put_operands(struct pto_json_writer *w, const char *key, const struct pto_operand *operands, uint32_t count,
                         void *const *results) {
  pto_json_put_array(w, key);
  for (uint32_t i = 0; i < count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", operands[i].name);
    pto_json_put_string(w, "dtype", pto_graph_dtype_name(operands[i].dtype));
    pto_json_put_array(w, "shape");
    for (uint32_t d = 0; d < operands[i].ndims; d++) pto_json_u64(w, operands[i].shape[d]);
    pto_json_array_end(w);
    if (results) {
      const struct range range = range_of(&operands[i], results[i]);
      pto_json_put_double(w, "least", range.least);
      pto_json_put_double(w, "most", range.most);
      pto_json_put_double(w, "mean", range.mean);
      pto_json_put_u64(w, "not_finite", range.not_finite);
    }
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_graph(struct pto_json_writer *w, const struct pto_graph_command *command) {
  static const char *const keys[] = {"inputs", "outputs", "sizes", "constants", "constant_bytes", "nodes", "ops"};
  const struct pto_graph *graph = command->graph;
  for (size_t i = 0; !graph && i < PTO_ARRAY_LENGTH(keys); i++) pto_json_put_null(w, keys[i]);
  if (!graph) return;
  const struct summary s = summarise(graph);
  put_operands(w, "inputs", graph->input_operands, graph->input_count, NULL);
  put_operands(w, "outputs", graph->output_operands, graph->output_count, command->has_run ? command->outputs : NULL);
  pto_json_put_array(w, "sizes");
  for (uint32_t i = 0; i < pto_graph_size_count(graph); i++) {
    const struct pto_graph_size size = pto_graph_size_at(graph, i);
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", size.name);
    pto_json_put_u64(w, "most", size.value);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_u64(w, "constants", s.constants);
  pto_json_put_u64(w, "constant_bytes", s.constant_bytes);
  pto_json_put_u64(w, "nodes", graph->node_count);
  pto_json_put_object(w, "ops");
  for (uint32_t op = 0; op < PTO_OP_NUMBERS; op++)
    if (s.ops[op]) pto_json_put_u64(w, pto_op_info(op)->name, s.ops[op]);
  pto_json_object_end(w);
}

/* Null where no chip ran it. */
static void put_count(struct pto_json_writer *w, const struct pto_graph_record *record, const char *key,
                      uint64_t value) {
  if (pto_json_try_key(w, key, record->has_device)) pto_json_u64(w, value);
}

static void put_record(struct pto_json_writer *w, const struct pto_graph_command *command) {
  const struct pto_graph_record *record = &command->record;
  const struct pto_context_counters *c = &record->counters;
  pto_json_put_string(w, "chip", record->has_device ? record->chip : NULL);
  put_count(w, record, "workers", record->workers);
  put_count(w, record, "tasks", c->tasks);
  put_count(w, record, "edges", c->edges);
  if (pto_json_try_key(w, "wall_seconds", record->has_device)) pto_json_double(w, record->wall_seconds);
  if (pto_json_try_key(w, "virtual_us", record->is_virtual)) pto_json_decimal(w, c->virtual_ps, 6);
  put_count(w, record, "h2d_bytes", c->h2d_bytes);
  put_count(w, record, "d2h_bytes", c->d2h_bytes);
  put_count(w, record, "d2d_bytes", c->d2d_bytes);
  put_count(w, record, "allocations", c->allocations);
  put_count(w, record, "peak_bytes", c->peak_bytes);
  put_count(w, record, "window_high_water", c->window_high_water);
  put_count(w, record, "heap_high_water_bytes", c->heap_high_water_bytes);
  put_count(w, record, "dispatches", c->dispatches);
  put_count(w, record, "lowering_cache_hits", c->lowering_cache_hits);
  put_count(w, record, "lowering_cache_misses", c->lowering_cache_misses);
  if (pto_json_try_key(w, "output_digest", command->has_run)) pto_json_hex(w, output_digest(command));
  if (pto_json_try_key(w, "trace_digest", command->session.result.has_trace_digest))
    pto_json_hex(w, command->session.result.trace_digest);
}

static void put_divergence(struct pto_json_writer *w, const struct pto_graph_command *command) {
  const struct pto_graph_divergence *d = &command->divergence;
  const struct pto_coverage coverage = coverage_of_nodes(command);
  if (!pto_json_try_key(w, "compared", command->has_compared)) return;
  pto_json_object_begin(w);
  pto_json_put_u64(w, "nodes", d->nodes);
  pto_json_put_u64(w, "fused_nodes", d->fused_nodes);
  pto_json_put_u64(w, "elements", d->elements);
  pto_json_put_double(w, "worst_ulps", d->worst_ulps);
  pto_json_put_double(w, "worst_of_tolerance", d->worst_of_tolerance);
  pto_json_put_double(w, "end_error", d->end_error);
  pto_json_put_u64(w, "diverging_nodes", d->diverging_nodes);
  pto_json_put_u64(w, "diverging_elements", d->diverging_elements);
  if (pto_json_try_key(w, "first", d->is_found)) {
    pto_json_object_begin(w);
    pto_json_put_u64(w, "node", d->node);
    pto_json_put_string(w, "op", pto_op_info(command->graph->nodes[d->node].op)->name);
    pto_json_put_string(w, "label", command->graph->nodes[d->node].label);
    pto_json_put_string(w, "fused", d->fused);
    pto_json_put_u64(w, "result", d->result);
    pto_json_put_u64(w, "element", d->element);
    pto_json_put_u64(w, "elements", d->node_elements);
    pto_json_put_double(w, "got", d->got);
    pto_json_put_double(w, "expected", d->expected);
    pto_json_put_double(w, "ulps", d->ulps);
    pto_json_put_double(w, "tolerance", d->tolerance);
    pto_json_object_end(w);
  }
  pto_coverage_put_json(&coverage, w);
  pto_json_object_end(w);
}

static void put_check(struct pto_json_writer *w, const struct pto_graph_command *command) {
  struct pto_coverage coverage;
  if (!pto_json_try_key(w, "check", command->has_checked)) return;
  pto_json_object_begin(w);
  pto_json_put_string(w, "deps", pto_deps_rules_list(command->session.rules).text);
  pto_json_put_u64(w, "tasks", command->counts.tasks);
  pto_json_put_u64(w, "edges", command->counts.edges);
  pto_json_put_u64(w, "pairs", command->counts.pairs);
  pto_findings_put_json(&command->findings, w);
  coverage = coverage_of(command);
  pto_coverage_put_json(&coverage, w);
  pto_json_object_end(w);
}

void pto_graph_report_put(struct pto_json_writer *w, const void *context) {
  const struct pto_graph_command *command = context;
  pto_json_put_format(w, "pto-graph", 1);
  pto_json_put_string(w, "graph", command->model ? command->model : command->path);
  pto_json_put_string(w, "engine", command->engine);
  put_record(w, command);
  pto_json_put_u64(w, "seed", command->options.seed);
  put_graph(w, command);
  put_divergence(w, command);
  pto_graph_steps_put(w, command);
  pto_graph_explain_put(w, command);
  if (command->options.stats && command->has_run) {
    pto_timeline_stats_write_json(&command->session.timeline, &command->session.result.stats, w);
    pto_group_times_put(&command->session.node_times, w);
    if (command->session.result.alike) pto_alike_tasks_put(command->session.result.alike, w);
  }
  put_check(w, command);
  pto_put_end(w, &command->error, command->exit_code);
}
