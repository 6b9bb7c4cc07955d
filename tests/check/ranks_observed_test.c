/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses on ranks: an observer changes no time and no byte of a run; what it finds of a program that does
 * not know of ranks is what is found on one chip, also of tasks whose cores wait for each other; and what it finds of
 * windows (tests/cli/planted_ranks_test.sh has the sentences).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <check/ranks/ranks_observed.h>
#include <check/session/observed.h>
#include <pto/core.h>
#include <tests/planted/planted_list.h>

static char build[4096];

static int find_build(void **state) {
  const char *given = getenv("PTO_BUILD_DIR");
  const ssize_t length = given ? 0 : readlink("/proc/self/exe", build, sizeof build - 1);
  if (given) snprintf(build, sizeof build, "%s", given);
  if (given) return 0;
  assert_true(length > 0);
  build[length] = '\0';
  for (int up = 0; up < 3; up++) *strrchr(build, '/') = '\0';
  return 0;
}

static const struct pto_observe_options all;

/* ---- the run is the same ---- */

static void assert_same_run(const char *program, const char *case_name, const char *setting, uint32_t rank_count) {
  static struct pto_ranks plain;
  static struct pto_ranks_observed observed;
  const struct pto_config config = {.size = sizeof config, .chip = "a2a3"};
  const struct pto_session_options options = {.size = sizeof options,
                                              .program = program,
                                              .case_name = case_name,
                                              .config = &config,
                                              .settings = {.items = &setting, .count = setting ? 1 : 0}};
  assert_int_equal(pto_ranks_init_judged(&plain, &options, rank_count), PTO_EXIT_OK);
  assert_int_equal(pto_ranks_execute(&plain), PTO_EXIT_OK);
  if (pto_ranks_observed_open(&observed, &options, rank_count, &all) != PTO_EXIT_OK)
    fail_msg("%s: %s", program, observed.ranks.error.sentence);
  if (pto_ranks_observed_run(&observed) != PTO_EXIT_OK) fail_msg("%s: %s", program, observed.ranks.error.sentence);
  if (observed.findings.count) fail_msg("%s is accused: %s", program, observed.findings.items[0].sentence);
  assert_int_equal(observed.ranks.virtual_ps, plain.virtual_ps);
  assert_int_equal(observed.ranks.trace_digest, plain.trace_digest);
  assert_int_equal(observed.ranks.output_digest, plain.output_digest);
  assert_int_equal(observed.ranks.verified, plain.verified);
  const struct pto_observe_summary summary = pto_ranks_observed_summary(&observed);
  assert_true(summary.is_watched_by_tool || summary.calls > 0);
  assert_int_equal(summary.calls_waiting + summary.calls_left_out + summary.calls_too_large, 0);
  pto_ranks_observed_close(&observed);
  pto_ranks_fini(&plain);
}

static void test_times_and_bytes_are_those_without_an_observer(void **state) {
  assert_same_run("tensor_parallel_mlp", NULL, NULL, 4);
  assert_same_run("expert_parallel_moe", NULL, NULL, 4);
  assert_same_run("pipeline", NULL, NULL, 4);
  assert_same_run("bgemm", NULL, "task_num=32", 2);
}

static void test_so_are_those_of_cores_that_wait_for_each_other(void **state) {
  assert_same_run("core_fifo", NULL, NULL, 2);
  /* Blocks that take turns, of which the chip has no room for all at once. */
  assert_same_run("split_k", "48", NULL, 2);
  assert_same_run("split_k", "aiv48", NULL, 2);
}

/* The program drives contexts, one after another on each rank. */
static void test_so_are_those_of_contexts(void **state) { assert_same_run("kv_cache", NULL, "steps=3", 2); }

/* ---- what is found is the same ---- */

static struct pto_observed on_chip;
static struct pto_ranks_observed on_rank;

/* Of the one rank; and, without a mistake, the same bytes in the end. */
static void assert_same_findings(const struct pto_session_options *options, bool is_buggy) {
  const char *name = options->case_name ? options->case_name : options->made ? options->made->name : "";
  if (pto_observed_open(&on_chip, options, &all) != PTO_EXIT_OK) fail_msg("%s", on_chip.session.result.error.sentence);
  (void)pto_observed_run(&on_chip);
  if (pto_ranks_observed_open(&on_rank, options, 1, &all) != PTO_EXIT_OK) fail_msg("%s", on_rank.ranks.error.sentence);
  (void)pto_ranks_observed_run(&on_rank);
  if (on_rank.findings.count != on_chip.findings.count)
    fail_msg("%s: %zu findings, %zu on one chip", name, on_rank.findings.count, on_chip.findings.count);
  for (size_t i = 0; i < on_rank.findings.count; i++) {
    const struct pto_finding *a = &on_rank.findings.items[i], *b = &on_chip.findings.items[i];
    if (a->kind != b->kind || a->tasks[0] != b->tasks[0] || a->params[0] != b->params[0] || !a->has_ranks ||
        a->ranks[0] != 0)
      fail_msg("%s: %s; on one chip %s", name, a->sentence, b->sentence);
  }
  const struct pto_observe_summary a = pto_ranks_observed_summary(&on_rank), b = pto_observed_summary(&on_chip);
  if (a.calls != b.calls || a.waiting_units != b.waiting_units || a.units_judged != b.units_judged)
    fail_msg("%s: %u calls and %u of cores that wait, %u and %u on one chip", name, (uint32_t)a.calls,
             (uint32_t)a.units_judged, (uint32_t)b.calls, (uint32_t)b.units_judged);
  const uint64_t digest = on_rank.ranks.sessions[0].result.output_digest;
  if (!is_buggy && digest != on_chip.session.result.output_digest) fail_msg("%s: other bytes than on one chip", name);
  pto_ranks_observed_close(&on_rank);
  pto_observed_close(&on_chip);
}

static void assert_same_pair_on(const char *name, const char *bug, uint32_t clusters) {
  const bool polls = strcmp(bug, "poll_first") == 0;
  const struct pto_config config = {.size = sizeof config, .clusters = clusters, .timeout_ms = polls ? 300 : 0};
  char program[4200];
  snprintf(program, sizeof program, "%s/planted/%s.so", build, name);
  for (int is_buggy = 0; is_buggy <= 1; is_buggy++) {
    const char *setting = is_buggy ? "bug=1" : "bug=0";
    const struct pto_session_options options = {.size = sizeof options,
                                                .program = program,
                                                .case_name = bug,
                                                .config = &config,
                                                .settings = {.items = &setting, .count = 1}};
    assert_same_findings(&options, is_buggy);
  }
}
static void assert_same_pair(const char *name, const char *bug) { assert_same_pair_on(name, bug, 0); }

static void test_mistakes_between_cores_are_found_as_on_one_chip(void **state) {
  static const char *const bugs[] = {
#define X(bug, ...) #bug,
      PLANTED_CORES_LIST(X)
#undef X
  };
  if (pto_observation_is_left_to_tool()) skip();
  for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
    if (strcmp(bugs[i], "poll_alone") != 0) /* what polls in some orders alone goes on when it has been told */
      assert_same_pair("planted_cores", bugs[i]);
}

/* Five blocks add to 16 elements in turn, and the last one to the next element, too. */
static int add_in_turn(const struct pto_kernel_args *args) {
  float *sum = args->tensors[0].addr;
  const uint32_t last = args->core->block_count - 1, count = args->core->block_index == last ? 17 : 16;
  const int status = pto_core_turn(args);
  for (uint32_t i = 0; i < count && status == 0; i++) sum[i] += 1;
  return status;
}

static int put_turns(struct pto_runtime *rt, struct pto_program_run *run) {
  static const struct pto_kernel_param params[] = {{.name = "sum", .mode = PTO_ACCUMULATE}};
  static const struct pto_kernel kernel = {.name = "add_in_turn",
                                           .cores = PTO_AIV,
                                           .flags = PTO_KERNEL_TURNS,
                                           .params = params,
                                           .param_count = 1,
                                           .run = add_in_turn};
  const uint64_t first[] = {0}, shape[] = {16};
  const struct pto_tensor whole = pto_array_tensor(rt, pto_program_find(run, "x"));
  const struct pto_tensor part = pto_tensor_view(&whole, first, shape);
  const struct pto_param param = pto_accumulate(&part);
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &kernel, .block_count = 5};
  return pto_submit(rt, &launch, &param, 1, NULL);
}

static int prepare_turns(struct pto_program_run *run) {
  static const uint64_t shape[] = {32};
  return pto_program_array(run, "x", PTO_ARRAY_INOUT, PTO_FLOAT32, 1, shape) ? PTO_OK : PTO_ENOMEM;
}

static void assert_the_last_block_is_observed(void) {
  static const struct pto_program program = {
      .abi = PTO_PROGRAM_ABI, .name = "turns", .prepare = prepare_turns, .orchestrate = put_turns};
  static const struct pto_config config = {.size = sizeof config, .clusters = 1};
  const struct pto_session_options options = {.size = sizeof options, .made = &program, .config = &config};
  assert_same_findings(&options, true);
  assert_int_equal(pto_ranks_observed_open(&on_rank, &options, 2, &all), PTO_EXIT_OK);
  assert_int_equal(pto_ranks_observed_run(&on_rank), PTO_EXIT_OK);
  assert_int_equal(on_rank.findings.by_kind[PTO_FINDING_WRITE_OUTSIDE], 2);
  pto_ranks_observed_close(&on_rank);
}

/* On one cluster, so that their blocks have no room at once. */
static void test_so_are_those_of_blocks_that_wait_for_a_core(void **state) {
  if (pto_observation_is_left_to_tool()) skip();
  assert_the_last_block_is_observed();
  assert_same_pair_on("planted_cores", "early_add", 1);
  assert_same_pair_on("planted_cores", "early_look", 1);
}

static int look(const struct pto_kernel_args *args) { return args->tensors[0].addr ? 0 : 1; }

/* A tensor with more elements than its array has; then a submit without its tensor, which is refused. */
static int register_and_submit(struct pto_runtime *rt, struct pto_program_run *run) {
  static const struct pto_kernel_param params[] = {{.name = "x", .mode = PTO_INPUT}};
  static const struct pto_kernel kernel = {
      .name = "look", .cores = PTO_AIV, .params = params, .param_count = 1, .run = look};
  const uint64_t shape[] = {33};
  const struct pto_tensor x = pto_external_tensor(rt, pto_program_find(run, "x")->data, PTO_FLOAT32, 1, shape);
  const struct pto_param param = pto_input(&x);
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &kernel};
  const int status = pto_submit(rt, &launch, &param, 1, NULL);
  if (status == PTO_OK) (void)!pto_submit(rt, &launch, NULL, 0, NULL);
  return status;
}

static void test_so_are_those_of_a_run_that_touch_nothing(void **state) {
  static const struct pto_program program = {
      .abi = PTO_PROGRAM_ABI, .name = "beyond", .prepare = prepare_turns, .orchestrate = register_and_submit};
  static const struct pto_config config = {.size = sizeof config};
  const struct pto_session_options options = {.size = sizeof options, .made = &program, .config = &config};
  if (pto_observation_is_left_to_tool()) skip();
  assert_same_findings(&options, true);
  assert_int_equal(pto_ranks_observed_open(&on_rank, &options, 2, &all), PTO_EXIT_OK);
  assert_int_equal(pto_ranks_observed_run(&on_rank), PTO_EXIT_FINDINGS);
  assert_int_equal(on_rank.findings.by_kind[PTO_FINDING_BEYOND], 2);
  assert_int_equal(on_rank.findings.by_kind[PTO_FINDING_REFUSED], 2);
  pto_ranks_observed_close(&on_rank);
}

static void test_mistakes_of_kernels_are_found_as_on_one_chip(void **state) {
  static const char *const of_kernels[] = {"output_read",    "inout_as_output", "tail_left", "stride_left",
                                           "predicate_left", "uninitialised",   "sum_lost",  "not_in_place"};
  static const char *const of_blocks[] = {"same_row", "added_blocks", "mixed_cores"};
  if (pto_observation_is_left_to_tool()) skip();
  for (size_t i = 0; i < sizeof of_kernels / sizeof *of_kernels; i++)
    assert_same_pair("planted_kernels", of_kernels[i]);
  for (size_t i = 0; i < sizeof of_blocks / sizeof *of_blocks; i++) assert_same_pair("planted_blocks", of_blocks[i]);
}

/* ---- windows ---- */

static void test_mistakes_in_windows_are_found_on_each_rank_and_no_clean_twin_is_accused(void **state) {
  static const struct {
    const char *bug;
    uint32_t kind, count;
  } rows[] = {{"peer_slot", PTO_FINDING_READ_OUTSIDE, 4},    {"whole_window", PTO_FINDING_READ_OUTSIDE, 4},
              {"beyond_part", PTO_FINDING_WRITE_OUTSIDE, 4}, {"through_input", PTO_FINDING_WRITE_INPUT, 4},
              {"left_part", PTO_FINDING_NOT_WRITTEN, 4},     {"left_for_reader", PTO_FINDING_READ_UNWRITTEN, 4},
              {"old_sum", PTO_FINDING_READ_OUTPUT, 4},       {"other_rank", PTO_FINDING_READ_OUTSIDE, 1}};
  char program[4200];
  if (pto_observation_is_left_to_tool()) skip();
  snprintf(program, sizeof program, "%s/planted/planted_touches.so", build);
  for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
    const bool is_buggy = i % 2 == 0;
    const char *bug = rows[i / 2].bug, *setting = is_buggy ? "bug=1" : "bug=0";
    const struct pto_session_options options = {
        .size = sizeof options, .program = program, .case_name = bug, .settings = {.items = &setting, .count = 1}};
    assert_int_equal(pto_ranks_observed_open(&on_rank, &options, 4, &all), PTO_EXIT_OK);
    assert_int_equal(pto_ranks_observed_run(&on_rank), PTO_EXIT_OK);
    const struct pto_findings *findings = &on_rank.findings;
    if (!is_buggy && findings->count) fail_msg("%s: the clean twin is accused: %s", bug, findings->items[0].sentence);
    if (is_buggy && findings->by_kind[rows[i / 2].kind] != rows[i / 2].count)
      fail_msg("%s: found %u times", bug, (uint32_t)findings->by_kind[rows[i / 2].kind]);
    pto_ranks_observed_close(&on_rank);
  }
}

/* Tasks 0 to 4 of 8 of each rank; and of calls that are alike the first. */
static void test_options_ask_for_less(void **state) {
  static const struct pto_observe_options few = {.has_tasks = true, .last_task = 4}, first = {.calls_a_form = 1};
  const char *program = "core_fifo";
  const struct pto_session_options options = {.size = sizeof options, .program = program};
  if (pto_observation_is_left_to_tool()) skip();
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pto_ranks_observed_open(&on_rank, &options, 2, i ? &first : &few), PTO_EXIT_OK);
    assert_int_equal(pto_ranks_observed_run(&on_rank), PTO_EXIT_OK);
    const struct pto_observe_summary summary = pto_ranks_observed_summary(&on_rank);
    assert_true(summary.calls > 0 && summary.calls_left_out > 0 && summary.calls_waiting == 0);
    pto_ranks_observed_close(&on_rank);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times_and_bytes_are_those_without_an_observer),
      cmocka_unit_test(test_so_are_those_of_cores_that_wait_for_each_other),
      cmocka_unit_test(test_so_are_those_of_contexts),
      cmocka_unit_test(test_mistakes_between_cores_are_found_as_on_one_chip),
      cmocka_unit_test(test_so_are_those_of_blocks_that_wait_for_a_core),
      cmocka_unit_test(test_mistakes_of_kernels_are_found_as_on_one_chip),
      cmocka_unit_test(test_so_are_those_of_a_run_that_touch_nothing),
      cmocka_unit_test(test_mistakes_in_windows_are_found_on_each_rank_and_no_clean_twin_is_accused),
      cmocka_unit_test(test_options_ask_for_less),
  };
  return cmocka_run_group_tests_name("ranks_observed", tests, find_build, NULL);
}
