/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --check`: graphs of all kinds are clean under both rules; one that is lowered under rules exact, which
 * hand memory of dead values on, and judged by rules pto, which do not order that, is not, and the nodes are named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <check/session/graph_program.h>
#include <check/session/session.h>
#include <report/findings/findings.h>
#include <tests/support/ptosim_child.h>

#define NUMEL 6u

/* y = −|x| + exp x + cos x + sin x, the latter three in nodes 2 to 4: |x| is dead behind node 1, and memory is handed
 * on some nodes later. */
static struct pto_graph *build(void) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {NUMEL}};
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc);
  const struct pto_graph_operand size = pto_graph_builder_abs(b, x, NULL);
  const struct pto_graph_operand less = pto_graph_builder_neg(b, size, &(struct pto_graph_options){"less"});
  struct pto_graph_operand sum = pto_graph_builder_exp(b, x, NULL);
  const struct pto_graph_operand cosine = pto_graph_builder_cos(b, x, NULL);
  const struct pto_graph_operand last = pto_graph_builder_sin(b, x, &(struct pto_graph_options){"last"});
  sum = pto_graph_builder_add(b, pto_graph_builder_add(b, less, sum, NULL),
                              pto_graph_builder_add(b, cosine, last, NULL), NULL);
  const struct pto_graph_output output = {"y", sum};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  graph->reuses_at_once = true;
  return graph;
}

/* Lowered and run under some rules, judged by others. */
static struct pto_findings run(uint32_t rules, uint32_t judged_by, struct pto_order_counts *counts) {
  struct pto_graph *graph = build();
  struct pto_graph_program *program = NULL;
  struct pto_session session;
  struct pto_findings findings;
  struct pto_error error;
  assert_int_equal(pto_graph_program_create(graph, "six", &program, &error), PTO_OK);
  const struct pto_config config = {
      .size = sizeof config, .engine = "virtual", .deps = rules, .record = PTO_RECORD_GRAPH};
  const struct pto_session_options asked = {
      .size = sizeof asked, .made = &program->program, .has_deps = true, .config = &config};
  pto_findings_init(&findings);
  if (pto_session_init(&session, &asked) || pto_session_execute(&session))
    fail_msg("%s", session.result.error.sentence);
  if (pto_session_check_order(&session, judged_by, &findings, counts, &error)) fail_msg("%s", error.sentence);
  pto_session_fini(&session);
  pto_graph_program_destroy(program);
  pto_graph_destroy(graph);
  return findings;
}

static void test_memory_that_is_handed_on_under_rules_that_do_not_order_it_is_found_with_its_nodes(void **state) {
  (void)state;
  struct pto_order_counts counts;
  struct pto_findings findings = run(PTO_DEPS_EXACT, PTO_DEPS_PTO, &counts);
  assert_int_equal(findings.total, 1);
  assert_int_equal(findings.items[0].kind, PTO_FINDING_WAR);
  const char *sentence = findings.items[0].sentence;
  if (!strstr(sentence, "; of node 1 neg less and node 4 sin last; no path under rules pto; ") ||
      strstr(sentence, "submitted at"))
    fail_msg("%s", sentence);
  pto_findings_fini(&findings);
}

static void test_what_is_judged_by_the_rules_that_it_was_lowered_under_is_clean(void **state) {
  (void)state;
  for (uint32_t rules = PTO_DEPS_EXACT; rules <= PTO_DEPS_PTO; rules++) {
    struct pto_order_counts counts;
    struct pto_findings findings = run(rules, rules, &counts);
    assert_true(pto_findings_is_clean(&findings));
    assert_true(counts.tasks >= 4 && counts.pairs > 0);
    pto_findings_fini(&findings);
  }
}

static void test_models_are_clean_under_both_rules_once_and_step_after_step(void **state) {
  (void)state;
  static const char *const lines[] = {
      "--model llama --engine virtual --chip a2a3", "--model llama --engine virtual --steps 3",
      "--model gpt2 --set layers=2 --set width=32 --set heads=4 --set window=8 --set vocabulary=50 --no-fusion"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    for (int is_pto = 0; is_pto < 2; is_pto++) {
      const char *rules = is_pto ? "pto" : "exact";
      assert_int_equal(pto_ptosim_run("graph %s --check --deps %s", lines[i], rules), 0);
      char wanted[64];
      snprintf(wanted, sizeof wanted, " pairs under rules %s, 0 findings\n", rules);
      if (!strstr(pto_ptosim_last.out, wanted)) fail_msg("%s", pto_ptosim_last.out);
    }
}

static void test_json_has_the_counts_and_the_findings(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("graph --model llama --check --deps pto --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *check = json_object_get(root, "check");
  assert_string_equal(
      pto_json_text(check, "deps"),
      "pto,creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address");
  assert_true(pto_json_integer(check, "tasks") >= pto_json_integer(root, "tasks"));
  assert_true(pto_json_integer(check, "pairs") > 0);
  assert_int_equal(pto_json_integer(check, "finding_count"), 0);
  assert_int_equal(json_array_size(json_object_get(check, "findings")), 0);
  json_t *coverage = json_object_get(check, "coverage"), *touched = json_object_get(coverage, "touched_by_tasks");
  assert_true(pto_json_integer(json_object_get(coverage, "accesses"), "judged") > 0);
  assert_int_equal(pto_json_integer(touched, "judged"), 0);
  assert_true(pto_json_integer(touched, "not_judged") > 0);
  assert_string_equal(pto_json_text(touched, "command"), "ptosim check --model llama --deps pto --observe");
  assert_null(json_object_get(coverage, "seeds"));
  json_decref(root);
  assert_int_equal(pto_ptosim_run("graph --model llama --run --json -"), 0);
  root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_null(json_object_get(root, "check")));
  json_decref(root);
}

static void test_wrong_arguments_leave_with_2(void **state) {
  (void)state;
  assert_int_equal(pto_ptosim_run("graph --model llama --run --deps pto"), 2);
  pto_ptosim_assert_complaint(2, "--deps is for --check");
  assert_int_equal(pto_ptosim_run("graph --model llama --check --engine reference"), 2);
  pto_ptosim_assert_complaint(2, "--check is not for --engine reference");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_that_is_handed_on_under_rules_that_do_not_order_it_is_found_with_its_nodes),
      cmocka_unit_test(test_what_is_judged_by_the_rules_that_it_was_lowered_under_is_clean),
      cmocka_unit_test(test_models_are_clean_under_both_rules_once_and_step_after_step),
      cmocka_unit_test(test_json_has_the_counts_and_the_findings),
      cmocka_unit_test(test_wrong_arguments_leave_with_2),
  };
  return cmocka_run_group_tests_name("cli_graph_check", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
