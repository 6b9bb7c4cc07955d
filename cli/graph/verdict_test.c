/* SPDX-License-Identifier: MIT */
/*
 * What `ptosim graph --compare` says of mistakes that are planted at chosen elements: which is beyond tolerance, by how
 * little, and which of several is told.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cli/graph/command.h>

#define MOST 2u

/* An engine that is the reference, with something added to elements of results. */
static struct plant {
  uint32_t node;
  uint64_t element;
  double added;
} plants[MOST];
static uint32_t plant_count;

struct observer {
  pto_reference_observer *observe;
  void *context;
};

static int observe_with_plants(void *context, uint32_t node, const struct pto_reference_tensor *results) {
  const struct observer *to = context;
  for (uint32_t i = 0; i < plant_count; i++) {
    if (plants[i].node != node) continue;
    if (results->whole)
      results->whole[plants[i].element] += (int64_t)plants[i].added;
    else
      results->values[plants[i].element] += plants[i].added;
  }
  return to->observe(to->context, node, results);
}

static int run_with_plants(const struct pto_graph_job *job, struct pto_error *error) {
  struct observer to = {job->observe, job->observe_context};
  return pto_graph_reference_run(job->graph, job->inputs, job->outputs, observe_with_plants, &to, error);
}

static struct pto_graph_divergence compare(struct pto_graph *graph, const struct pto_run_options *options,
                                           const struct plant *planted, uint32_t count) {
  static const struct pto_graph_engine engine = {"planted", run_with_plants};
  struct pto_graph_command command = {.graph = graph};
  if (options) command.options = *options;
  plant_count = count;
  for (uint32_t i = 0; i < count; i++) plants[i] = planted[i];
  assert_int_equal(pto_graph_command_open(&command), PTO_OK);
  if (pto_graph_command_compare(&command, &engine)) fail_msg("%s", command.error.sentence);
  const struct pto_graph_divergence divergence = command.divergence;
  pto_graph_command_fini(&command);
  return divergence;
}

/* abs x and exp x, nodes 0 and 1, each an output. */
static struct pto_graph *build_two(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {5}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc);
  const struct pto_graph_output outputs[] = {{"a", pto_graph_builder_abs(b, x, NULL)},
                                             {"b", pto_graph_builder_exp(b, x, NULL)}};
  assert_int_equal(pto_graph_builder_build(b, outputs, 2, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

/* Of int64, beyond what a double tells apart. */
static struct pto_graph *build_whole(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc desc = {PTO_INT64, 1, {3}};
  const int64_t large[] = {INT64_C(1) << 60, (INT64_C(1) << 61) + 5, 7};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_constant(b, &desc, large, sizeof large);
  const struct pto_graph_output output = {"y", pto_graph_builder_identity(b, x, NULL)};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

static double tolerance_at(uint32_t node, uint64_t element) {
  const struct plant plant = {node, element, 1};
  const struct pto_graph_divergence d = compare(build_two(), NULL, &plant, 1);
  assert_true(d.is_found);
  assert_true(fabs(d.tolerance - (1e-5 + 1.3e-6 * fabs(d.expected))) < 1e-12);
  return d.tolerance;
}

static void test_a_fifth_more_than_tolerance_diverges_and_a_fifth_less_does_not(void **state) {
  (void)state;
  for (uint64_t element = 0; element < 5; element++) {
    const double tolerance = tolerance_at(1, element);
    for (int sign = -1; sign <= 1; sign += 2) {
      const struct plant over = {1, element, 1.2 * sign * tolerance}, under = {1, element, 0.8 * sign * tolerance};
      assert_true(compare(build_two(), NULL, &over, 1).is_found);
      assert_false(compare(build_two(), NULL, &under, 1).is_found);
    }
  }
}

static void test_of_elements_beyond_tolerance_the_worst_is_told_wherever_it_is(void **state) {
  (void)state;
  for (uint32_t worst = 0; worst < 2; worst++) {
    const struct plant pair[] = {{1, 1, worst == 0 ? 10 : 0.01}, {1, 3, worst == 1 ? 10 : 0.01}};
    const struct pto_graph_divergence d = compare(build_two(), NULL, pair, 2);
    assert_int_equal(d.element, worst == 0 ? 1 : 3);
    assert_int_equal(d.node_elements, 2);
    assert_int_equal(d.diverging_elements, 2);
  }
}

static void test_of_nodes_beyond_tolerance_the_first_is_told_however_bad_the_others_are(void **state) {
  (void)state;
  const struct plant pair[] = {{0, 4, 0.01}, {1, 2, 1000}};
  const struct pto_graph_divergence d = compare(build_two(), NULL, pair, 2);
  assert_int_equal(d.node, 0);
  assert_int_equal(d.element, 4);
  assert_int_equal(d.diverging_nodes, 2);
}

static void test_whole_numbers_that_one_double_stands_for_differ(void **state) {
  (void)state;
  for (uint64_t element = 0; element < 3; element++) {
    const struct plant plant = {0, element, 1};
    const struct pto_graph_divergence d = compare(build_whole(), NULL, &plant, 1);
    assert_true(d.is_found);
    assert_int_equal(d.element, element);
    assert_true(d.ulps >= 1);
  }
  assert_false(compare(build_whole(), NULL, NULL, 0).is_found);
}

static void test_a_tolerance_that_is_given_stands_above_all_else(void **state) {
  (void)state;
  const struct plant plant = {1, 2, 0.01};
  struct pto_run_options options = {.has_atol = true, .atol = 0.02};
  assert_false(compare(build_two(), &options, &plant, 1).is_found);
  options.atol = 0.001;
  assert_true(compare(build_two(), &options, &plant, 1).is_found);
  options = (struct pto_run_options){.has_rtol = true, .rtol = 0.5}; /* of numbers of at least e⁻² */
  assert_false(compare(build_two(), &options, &plant, 1).is_found);
  options = (struct pto_run_options){.has_rtol = true, .rtol = 1e-9, .has_atol = true, .atol = 1e-9};
  const struct plant little = {1, 2, 1e-6};
  assert_true(compare(build_two(), &options, &little, 1).is_found);
}

static void test_the_error_in_the_end_is_the_largest_of_all_outputs(void **state) {
  (void)state;
  for (uint32_t node = 0; node < 2; node++) {
    const struct plant plant = {node, 0, 0.5};
    assert_true(compare(build_two(), NULL, &plant, 1).end_error > 0.01);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_fifth_more_than_tolerance_diverges_and_a_fifth_less_does_not),
      cmocka_unit_test(test_of_elements_beyond_tolerance_the_worst_is_told_wherever_it_is),
      cmocka_unit_test(test_of_nodes_beyond_tolerance_the_first_is_told_however_bad_the_others_are),
      cmocka_unit_test(test_whole_numbers_that_one_double_stands_for_differ),
      cmocka_unit_test(test_a_tolerance_that_is_given_stands_above_all_else),
      cmocka_unit_test(test_the_error_in_the_end_is_the_largest_of_all_outputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
