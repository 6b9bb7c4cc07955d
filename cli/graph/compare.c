/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --compare`: the results of every node on an engine against those of the reference.
 *
 * The engine runs first, and its results are kept as dense bytes by value; the reference runs then, and each of its
 * nodes is compared when it has been computed.  After that the reference goes on from the engine's result: every node
 * is computed of the very operands that the engine had, so that one mistake is one node, and rounding of earlier nodes
 * is no difference.  Nodes inside a fused group, of which the engine tells nothing, are computed in double precision
 * from the group's operands on, and the group is compared at its last node.  How far the outputs have come apart in the
 * end, with the reference left alone, is a number beside it and no verdict.
 *
 * An element a of reference r is within tolerance where |a − r| is at most
 *
 *   max(min(atol, worst) + rtol·|r|, expected)
 *
 * with atol and rtol by dtype, as torch.testing.assert_close has them, and for sums of known terms what rounding can
 * make of them at the worst and what is to be expected of it (graph/reference/rounding_bound.h).  So a sum of few or
 * small terms is held to what it can be, and one of many large terms is not held to more.  Other nodes have atol +
 * rtol·|r|, and so have groups, but those of a product and what makes no error larger: they have the bounds of the
 * product.
 */
#include <cli/graph/command.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <graph/fuse/fusion.h>
#include <graph/file/json.h>
#include <graph/reference/rounding_bound.h>
#include <runtime/base/base.h>

/* What ends the reference's run at the first node beyond tolerance; no function of the library answers it. */
#define ENDED 1

/* The distance of the smallest numbers of float16. */
#define HALF_LEAST 0x1p-24

/* Two bounds of the rounding of one element; infinite and 0 where it is no sum of known terms. */
struct rounding {
  double worst, expected;
};

struct comparison {
  struct pto_graph_command *command;
  const struct pto_graph_engine *engine;
  void **kept;     /* by value: what the engine made */
  void **expected; /* by output: what the reference makes */
  struct pto_fusion_plan plan;
  bool *is_inside;              /* by node: of a group, and the engine told nothing */
  struct rounding **bounds;     /* by group, and element: of the product within it; NULL: there is none, or not yet */
  const struct rounding *bound; /* those of the current node, where it ends such a group */
  struct pto_graph_names *names;
  struct pto_error error;
};

/* ---- distances ---- */

/* The place of a value among those of its dtype: neighbours differ by one, −0 and +0 are one. */
static int64_t place_of(uint32_t dtype, double value) {
  if (dtype == PTO_FLOAT16) {
    const uint16_t bits = pto_fp16_from_f32((float)value);
    return bits & 0x8000 ? -(int64_t)(bits & 0x7fff) : bits;
  }
  const float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return bits >> 31 ? -(int64_t)(bits & 0x7fffffff) : bits;
}

double pto_graph_ulps(uint32_t dtype, double a, double b) {
  if (dtype != PTO_FLOAT32 && dtype != PTO_FLOAT16) return fabs(a - b);
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? 0 : INFINITY;
  return fabs((double)place_of(dtype, a) - (double)place_of(dtype, b));
}

/* Sums whose partial sums may overflow say nothing. */
static struct rounding rounding_of(const struct pto_reference_sums *sums, uint32_t dtype, double expected, uint64_t i) {
  struct rounding none = {(double)INFINITY, 0};
  if (!sums || sums->terms == 0 || !isfinite(expected) || !(sums->magnitudes.values[i] < (double)FLT_MAX)) return none;
  double worst = pto_rounding_bound_worst(sums->terms, sums->magnitudes.values[i]);
  const double likely = pto_rounding_bound_expected(sums->terms, expected, sums->squares.values[i], worst);
  if (dtype == PTO_FLOAT16) worst += HALF_LEAST; /* float32 until it is stored: within rtol, but for the smallest */
  return (struct rounding){worst, likely};
}

/* --rtol and --atol stand above all else. */
static double tolerance_of(const struct pto_run_options *options, uint32_t dtype, double expected,
                           const struct rounding *rounding) {
  const bool is_given = options->has_rtol || options->has_atol;
  double rtol = dtype == PTO_FLOAT32 ? 1.3e-6 : dtype == PTO_FLOAT16 ? 1e-3 : 0;
  double atol = dtype == PTO_FLOAT32 || dtype == PTO_FLOAT16 ? 1e-5 : 0;
  if (options->has_rtol) rtol = options->rtol;
  if (options->has_atol) atol = options->atol;
  if (is_given) return atol + rtol * fabs(expected);
  return fmax(fmin(atol, rounding->worst) + rtol * fabs(expected), rounding->expected);
}

static bool is_beyond(double got, double expected, double tolerance) {
  if (isnan(got) || isnan(expected)) return !(isnan(got) && isnan(expected));
  return got != expected && !(fabs(got - expected) <= tolerance);
}

/* ---- one result ---- */

struct worst {
  uint64_t element, beyond; /* the worst element beyond tolerance; how many are */
  double got, expected, ulps, tolerance;
  double ulps_of_all, of_tolerance; /* the largest of all elements */
};

static void compare_elements(const struct comparison *c, const struct pto_reference_tensor *got,
                             const struct pto_reference_tensor *expected, const struct pto_reference_sums *sums,
                             struct worst *worst) {
  const uint32_t dtype = expected->desc.dtype;
  const uint64_t numel = pto_graph_desc_numel(&expected->desc);
  for (uint64_t i = 0; i < numel; i++) {
    const double a = pto_graph_element(got, i), b = pto_graph_element(expected, i);
    /* 64-bit integers that one double stands for may differ. */
    const bool is_other = got->whole ? got->whole[i] != expected->whole[i] : a != b;
    const double ulps = got->whole && is_other ? fmax(1, fabs(a - b)) : pto_graph_ulps(dtype, a, b);
    const struct rounding rounding = c->bound ? c->bound[i] : rounding_of(sums, dtype, b, i);
    const double tolerance = tolerance_of(&c->command->options, dtype, b, &rounding);
    const bool is_far = got->whole && a == b ? is_other : is_beyond(a, b, tolerance);
    worst->ulps_of_all = fmax(worst->ulps_of_all, ulps);
    if (a != b && isfinite(a - b) && tolerance > 0)
      worst->of_tolerance = fmax(worst->of_tolerance, fabs(a - b) / tolerance);
    if (is_far && (worst->beyond++ == 0 || ulps > worst->ulps)) {
      worst->element = i;
      worst->got = a;
      worst->expected = b;
      worst->ulps = ulps;
      worst->tolerance = tolerance;
    }
  }
}

static int compare_result(struct comparison *c, uint32_t node, uint32_t result,
                          const struct pto_reference_tensor *expected, const struct pto_reference_sums *sums,
                          struct worst *worst) {
  struct pto_reference_tensor got;
  const uint32_t value = c->command->graph->nodes[node].first_result + result;
  *worst = (struct worst){0};
  if (!c->kept[value])
    return pto_error_set(&c->error, PTO_ENOTSUP, "engine %s has not told the result of node %" PRIu32, c->engine->name,
                         node);
  if (!pto_reference_tensor_init(&got, &expected->desc)) return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
  pto_reference_tensor_load(&got, c->kept[value]);
  compare_elements(c, &got, expected, sums, worst);
  pto_reference_tensor_fini(&got);
  return PTO_OK;
}

/* ---- the tensors of the first divergence ---- */

static int write_operand(struct comparison *c, uint32_t value) {
  const struct pto_graph *graph = c->command->graph;
  const void *data = c->kept[value] ? c->kept[value] : graph->values[value].data;
  for (uint32_t i = 0; i < graph->input_count; i++)
    if (graph->inputs[i] == value) data = c->command->inputs[i];
  if (!data) return PTO_OK;
  return pto_graph_write_npy(c->command->output_dir, pto_graph_name_of(c->names, value), ".operand",
                             &graph->values[value].desc, data, &c->error);
}

/* Of a group all of its nodes'; what is between them is nowhere. */
static int write_operands(struct comparison *c, uint32_t node) {
  const struct pto_fused_group *group = pto_fusion_group_at(&c->plan, node);
  int status = PTO_OK;
  for (uint32_t i = 0; i < (group ? group->node_count : 1); i++) {
    const struct pto_graph_node *n = &c->command->graph->nodes[group ? group->nodes[i] : node];
    for (uint32_t k = 0; k < n->operand_count && status == PTO_OK; k++)
      if (n->operands[k]) status = write_operand(c, n->operands[k]);
  }
  return status;
}

static int write_tensors(struct comparison *c, uint32_t node, const struct pto_reference_tensor *expected) {
  const struct pto_graph_node *n = &c->command->graph->nodes[node];
  int status = write_operands(c, node);
  for (uint32_t r = 0; r < n->result_count && status == PTO_OK; r++) {
    const char *name = pto_graph_name_of(c->names, n->first_result + r);
    const struct pto_graph_desc *desc = &expected[r].desc;
    void *bytes = calloc(1, c->command->graph->values[n->first_result + r].size_bytes + 1);
    if (!bytes) return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
    pto_reference_tensor_store(&expected[r], bytes);
    status = pto_graph_write_npy(c->command->output_dir, name, ".reference", desc, bytes, &c->error);
    free(bytes);
    if (status == PTO_OK)
      status =
          pto_graph_write_npy(c->command->output_dir, name, ".engine", desc, c->kept[n->first_result + r], &c->error);
  }
  return status;
}

/* ---- the two runs ---- */

static void find_inside(const struct comparison *c) {
  for (uint32_t n = 0; n < c->command->graph->node_count; n++)
    c->is_inside[n] = pto_fusion_is_inside(&c->plan, n) && !c->kept[c->command->graph->nodes[n].first_result];
}

static int keep_results(void *context, uint32_t node, const struct pto_reference_tensor *results) {
  struct comparison *c = context;
  const struct pto_graph_node *n = &c->command->graph->nodes[node];
  for (uint32_t r = 0; r < n->result_count; r++) {
    const uint32_t value = n->first_result + r;
    if (!c->kept[value])
      c->kept[value] = pto_program_alloc(c->command->session.run, c->command->graph->values[value].size_bytes + 1);
    if (!c->kept[value]) return pto_error_set(&c->error, PTO_ENOMEM, "no memory to keep the results of all nodes");
    pto_reference_tensor_store(&results[r], c->kept[value]);
  }
  return PTO_OK;
}

static void go_on_from_engine(const struct comparison *c, uint32_t node, const struct pto_reference_tensor *results) {
  const struct pto_graph_node *n = &c->command->graph->nodes[node];
  for (uint32_t r = 0; r < n->result_count; r++) {
    struct pto_reference_tensor result = results[r]; /* the elements behind it are the run's */
    pto_reference_tensor_load(&result, c->kept[n->first_result + r]);
  }
}

static int compare_ends(struct comparison *c) {
  const struct pto_graph *graph = c->command->graph;
  for (uint32_t o = 0; o < graph->output_count; o++) {
    const uint32_t value = graph->outputs[o];
    double error;
    if (!pto_graph_distance(&graph->values[value].desc, c->kept[value], c->expected[o], false, &error))
      return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
    c->command->divergence.end_error = fmax(c->command->divergence.end_error, error);
  }
  return PTO_OK;
}

/* Of a group that the engine lowered as one. */
static const char *pattern_name(const struct comparison *c, uint32_t node) {
  const struct pto_fused_group *group = pto_fusion_group_at(&c->plan, node);
  return group != NULL && c->is_inside[group->nodes[0]] ? pto_fusion_name(group->pattern) : NULL;
}

/* Nodes whose every element is one of their first operand, plus something or within bounds. */
static bool has_bounds_of_product(const struct pto_fused_group *group) {
  return group->pattern == PTO_FUSION_product_sum || group->pattern == PTO_FUSION_conv2d_clamp;
}

/* Those of the group that the node is in; NULL where it is in none. */
static struct rounding **bounds_of(const struct comparison *c, uint32_t node) {
  return c->plan.group_of[node] == 0 ? NULL : &c->bounds[c->plan.group_of[node] - 1];
}

/* What rounding makes of a product within a group, for the group's end: other nodes may come before that. */
static int keep_bounds(struct comparison *c, uint32_t node, const struct pto_reference_tensor *result,
                       const struct pto_reference_sums *sums) {
  if (!has_bounds_of_product(pto_fusion_group_at(&c->plan, pto_fusion_place(&c->plan, node)))) return PTO_OK;
  const uint64_t numel = pto_graph_desc_numel(&result->desc);
  struct rounding *bounds = calloc(numel, sizeof *bounds);
  if (!bounds) return pto_error_set(&c->error, PTO_ENOMEM, "out of memory");
  for (uint64_t i = 0; i < numel; i++)
    bounds[i] = rounding_of(sums, result->desc.dtype, pto_graph_element(result, i), i);
  *bounds_of(c, node) = bounds;
  return PTO_OK;
}

static int compare_node(struct comparison *c, uint32_t node, const struct pto_reference_tensor *results,
                        const struct pto_reference_sums *sums) {
  struct pto_graph_divergence *d = &c->command->divergence;
  bool is_beyond_any = false;
  for (uint32_t r = 0; r < c->command->graph->nodes[node].result_count; r++) {
    struct worst worst;
    const int status = compare_result(c, node, r, &results[r], r ? NULL : sums, &worst);
    if (status) return status;
    d->elements += pto_graph_desc_numel(&results[r].desc);
    d->diverging_elements += worst.beyond;
    d->worst_ulps = fmax(d->worst_ulps, worst.ulps_of_all);
    d->worst_of_tolerance = fmax(d->worst_of_tolerance, worst.of_tolerance);
    is_beyond_any |= worst.beyond > 0;
    if (worst.beyond == 0 || d->is_found) continue;
    d->is_found = true;
    d->node = node;
    d->fused = pattern_name(c, node);
    d->result = r;
    d->element = worst.element;
    d->node_elements = worst.beyond;
    d->got = worst.got;
    d->expected = worst.expected;
    d->ulps = worst.ulps;
    d->tolerance = worst.tolerance;
  }
  d->nodes++;
  d->diverging_nodes += is_beyond_any;
  if (!is_beyond_any || !c->command->first_divergence) {
    go_on_from_engine(c, node, results);
    return PTO_OK;
  }
  const int status = c->command->output_dir ? write_tensors(c, node, results) : PTO_OK;
  return status ? status : ENDED;
}

static int compare_results(void *context, uint32_t node, const struct pto_reference_tensor *results,
                           const struct pto_reference_sums *sums) {
  struct comparison *c = context;
  pto_progress_line_stage("comparing nodes", node + 1, c->command->graph->node_count);
  if (pto_interrupted())
    return pto_error_set(&c->error, PTO_EINTERRUPTED, "interrupted after %" PRIu32 " of %" PRIu32 " nodes", node,
                         c->command->graph->node_count);
  if (c->is_inside[node]) {
    c->command->divergence.fused_nodes++;
    return keep_bounds(c, node, results, sums);
  }
  struct rounding **bounds = bounds_of(c, node);
  c->bound = bounds ? *bounds : NULL;
  const int status = compare_node(c, node, results, pattern_name(c, node) ? NULL : sums);
  if (!bounds) return status;
  free(*bounds);
  *bounds = NULL;
  return status;
}

static int run_both(struct comparison *c) {
  struct pto_graph_command *command = c->command;
  const void *const *inputs = (const void *const *)command->inputs;
  command->job.observe = keep_results;
  command->job.observe_context = c;
  int status = pto_graph_command_run(command, c->engine);
  if (status)
    c->error = command->error;
  else
    find_inside(c);
  if (status == PTO_OK)
    status = pto_graph_reference_run_judged(command->graph, c->is_inside, inputs, c->expected, compare_results, c,
                                            &c->error);
  if (status == ENDED) return PTO_OK;
  if (status == PTO_OK) status = pto_graph_reference_run(command->graph, inputs, c->expected, NULL, NULL, &c->error);
  return status == PTO_OK ? compare_ends(c) : status;
}

/* Of the program run, which frees them, but for the bounds, which come and go. */
static int alloc_arrays(struct comparison *c) {
  const struct pto_graph *graph = c->command->graph;
  struct pto_program_run *run = c->command->session.run;
  c->kept = pto_program_alloc(run, graph->value_count * sizeof *c->kept);
  c->expected = pto_program_alloc(run, graph->output_count * sizeof *c->expected);
  c->is_inside = pto_program_alloc(run, (graph->node_count + 1u) * sizeof *c->is_inside);
  bool has_room = c->kept && c->expected && c->is_inside && pto_fusion_plan_init(&c->plan, graph) == PTO_OK;
  has_room = has_room && (c->bounds = calloc(c->plan.group_count + 1u, sizeof *c->bounds)) != NULL;
  for (uint32_t o = 0; has_room && o < graph->output_count; o++)
    has_room = (c->expected[o] = pto_program_alloc(run, graph->values[graph->outputs[o]].size_bytes + 1)) != NULL;
  return has_room ? pto_graph_names_create(graph, &c->names) : PTO_ENOMEM;
}

int pto_graph_command_compare(struct pto_graph_command *command, const struct pto_graph_engine *engine) {
  struct comparison c = {.command = command, .engine = engine};
  int status = alloc_arrays(&c);
  if (status)
    (void)pto_error_set(&c.error, status, "out of memory");
  else
    status = run_both(&c);
  for (uint32_t g = 0; c.bounds && g < c.plan.group_count; g++) free(c.bounds[g]);
  free(c.bounds);
  pto_fusion_plan_fini(&c.plan);
  pto_graph_names_destroy(c.names);
  command->has_compared = status == PTO_OK;
  if (status) command->error = c.error;
  return status;
}
