/* SPDX-License-Identifier: MIT */
/*
 * Program runs: options from their three sources, the steps and what they come to, rounds, and creation without memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <orchestration/loader/program_run.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/memory_checker.h>
#include <tests/support/failing_malloc.h>

/* ---- a program to run ---- */

static int answer_of_prepare, answer_of_orchestrate, answer_of_expect, calls_of_orchestrate;

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {4};
  if (answer_of_prepare) return answer_of_prepare;
  pto_program_array(run, "in", PTO_ARRAY_INPUT, PTO_INT32, 1, shape);
  pto_array_fill(pto_program_array(run, "inout", PTO_ARRAY_INOUT, PTO_INT32, 1, shape), 5);
  pto_program_array(run, "out", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape);
  return PTO_OK;
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  calls_of_orchestrate++;
  return answer_of_orchestrate;
}
static int expect(struct pto_program_run *run) { return answer_of_expect; }

static const struct pto_option options[] = {{"tile", PTO_OPTION_INT, "128", "a size"},
                                            {"scale", PTO_OPTION_FLOAT, "0.5", "a factor"},
                                            {"causal", PTO_OPTION_BOOL, "false", "a switch"},
                                            {"dtype", PTO_OPTION_TEXT, "f32", "a name"},
                                            {0}};
static const struct pto_case cases[] = {{.name = "small", .settings = "tile=16 dtype=fp16"},
                                        {.name = "spaced", .settings = "  causal=true   scale=-2 "},
                                        {.name = "broken", .settings = "tile=many"},
                                        {0}};
static const struct pto_program program = {.abi = PTO_PROGRAM_ABI,
                                           .name = "test",
                                           .options = options,
                                           .cases = cases,
                                           .prepare = prepare,
                                           .orchestrate = orchestrate,
                                           .expect = expect};

static struct pto_program_run *run_of(const struct pto_program *of, const char *case_name, const char *setting) {
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  const struct pto_program_request request = {
      .case_name = case_name, .settings = &setting, .setting_count = setting ? 1 : 0, .seed = 7};
  if (pto_program_run_create(of, &request, &run, &error) != PTO_OK) fail_msg("%s", error.sentence);
  return run;
}

static int reset(void **state) {
  answer_of_prepare = answer_of_orchestrate = answer_of_expect = calls_of_orchestrate = 0;
  return 0;
}

/* ---- options ---- */

static void test_an_option_has_its_default_unless_case_or_set_say_otherwise(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  assert_int_equal(pto_option_int(run, "tile"), 128);
  assert_true(pto_option_float(run, "scale") == 0.5);
  assert_false(pto_option_bool(run, "causal"));
  assert_string_equal(pto_option_text(run, "dtype"), "f32");
  assert_int_equal(pto_program_seed(run), 7);
  pto_program_run_destroy(run);
}

static void test_a_set_beats_the_case_and_the_case_the_default(void **state) {
  struct pto_program_run *run = run_of(&program, "small", "tile=32");
  assert_int_equal(pto_option_int(run, "tile"), 32);
  assert_true(pto_option_float(run, "scale") == 0.5);
  assert_false(pto_option_bool(run, "causal"));
  assert_string_equal(pto_option_text(run, "dtype"), "fp16");
  assert_string_equal(pto_program_run_case(run)->name, "small");
  pto_program_run_destroy(run);
}

static void test_of_two_sets_the_later_one_wins(void **state) {
  struct pto_program_run *run = NULL;
  struct pto_error error;
  const char *settings[] = {"tile=1", "scale=3", "tile=2"};
  const struct pto_program_request request = {.settings = settings, .setting_count = 3};
  assert_int_equal(pto_program_run_create(&program, &request, &run, &error), PTO_OK);
  assert_int_equal(pto_option_int(run, "tile"), 2);
  assert_true(pto_option_float(run, "scale") == 3);
  pto_program_run_destroy(run);
}

static void test_a_case_may_have_any_spaces_between_its_settings(void **state) {
  struct pto_program_run *run = run_of(&program, "spaced", NULL);
  assert_true(pto_option_bool(run, "causal"));
  assert_true(pto_option_float(run, "scale") == -2);
  pto_program_run_destroy(run);
}

static void test_values_are_read_in_all_their_spellings(void **state) {
  static const struct {
    const char *setting;
    int64_t integer;
  } integers[] = {{"tile=-5", -5}, {"tile=0x10", 16}, {"tile=9223372036854775807", INT64_MAX}, {"tile=+3", 3}};
  for (size_t i = 0; i < 4; i++) {
    struct pto_program_run *run = run_of(&program, NULL, integers[i].setting);
    assert_int_equal(pto_option_int(run, "tile"), integers[i].integer);
    pto_program_run_destroy(run);
  }
  static const char *const truths[][2] = {{"causal=false", "causal=true"},
                                          {"causal=0", "causal=1"},
                                          {"causal=no", "causal=yes"},
                                          {"causal=off", "causal=on"}};
  for (size_t i = 0; i < 8; i++) {
    struct pto_program_run *run = run_of(&program, NULL, truths[i / 2][i % 2]);
    assert_int_equal(pto_option_bool(run, "causal"), i % 2);
    pto_program_run_destroy(run);
  }
  struct pto_program_run *run = run_of(&program, NULL, "dtype=a=b"), *empty = run_of(&program, NULL, "dtype=");
  assert_string_equal(pto_option_text(run, "dtype"), "a=b");
  assert_string_equal(pto_option_text(empty, "dtype"), "");
  pto_program_run_destroy(run);
  pto_program_run_destroy(empty);
}

/* The request is refused with exactly this sentence. */
static void refuses(const struct pto_program *of, const char *case_name, const char *setting, const char *sentence) {
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  const struct pto_program_request request = {
      .case_name = case_name, .settings = &setting, .setting_count = setting ? 1 : 0};
  assert_int_equal(pto_program_run_create(of, &request, &run, &error), PTO_EINVAL);
  assert_null(run);
  assert_string_equal(error.sentence, sentence);
}

static void test_a_wrong_value_is_refused_with_option_value_and_type(void **state) {
  refuses(&program, NULL, "tile=12x", "test: option tile: \"12x\" is not an integer");
  refuses(&program, NULL, "tile=", "test: option tile: \"\" is not an integer");
  refuses(&program, NULL, "tile=1.5", "test: option tile: \"1.5\" is not an integer");
  refuses(&program, NULL, "tile=9223372036854775808", "test: option tile: \"9223372036854775808\" is not an integer");
  refuses(&program, NULL, "scale=big", "test: option scale: \"big\" is not a number");
  refuses(&program, NULL, "scale=nan", "test: option scale: \"nan\" is not a number");
  refuses(&program, NULL, "scale=1e999", "test: option scale: \"1e999\" is not a number");
  refuses(&program, NULL, "causal=maybe", "test: option causal: \"maybe\" is not true or false");
  refuses(&program, "broken", NULL, "test: option tile: \"many\" is not an integer");
}

static void test_an_unknown_option_or_case_is_refused_with_those_there_are(void **state) {
  static const struct pto_program bare = {.abi = PTO_PROGRAM_ABI, .name = "bare", .orchestrate = orchestrate};
  refuses(&program, NULL, "size=3", "test has no option \"size\"; it has tile, scale, causal, dtype");
  refuses(&program, NULL, "til=3",
          "test has no option \"til\"; it has tile, scale, causal, dtype; did you mean \"tile\"?");
  refuses(&program, NULL, "tile", "test: \"tile\" is not key=value");
  refuses(&program, NULL, "=3", "test: \"=3\" is not key=value");
  refuses(&program, "large", NULL, "test has no case \"large\"; it has small, spaced, broken");
  refuses(&bare, NULL, "tile=3", "bare has no option \"tile\"; it has no options");
  refuses(&bare, "small", NULL, "bare has no case \"small\"");
}

static void test_a_default_that_is_not_of_its_type_is_refused(void **state) {
  static const struct pto_option wrong[] = {{"n", PTO_OPTION_INT, "ten", ""}, {0}};
  static const struct pto_option unknown[] = {{"n", 9, "1", ""}, {0}};
  struct pto_program of = program;
  of.cases = NULL;
  of.options = wrong;
  refuses(&of, NULL, NULL, "test: option n: its default \"ten\" is not of its type (integer)");
  of.options = unknown;
  refuses(&of, NULL, NULL, "test: option n: its default \"1\" is not of its type (?)");
}

static void test_asking_for_an_unlisted_option_or_another_type_fails_the_run(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  assert_int_equal(pto_option_int(run, "size"), 0);
  assert_string_equal(pto_program_run_error(run)->sentence, "test: asks for an option size that it does not list");
  assert_int_equal(pto_program_run_prepare(run), PTO_EINVAL);
  pto_program_run_destroy(run);
  run = run_of(&program, NULL, NULL);
  assert_true(pto_option_float(run, "tile") == 0);
  assert_string_equal(pto_program_run_error(run)->sentence,
                      "test: asks for its option tile as number, but lists it as integer");
  assert_string_equal(pto_option_text(run, "size"), "");
  assert_false(pto_option_bool(run, "size"));
  assert_string_equal(pto_program_run_error(run)->sentence,
                      "test: asks for its option tile as number, but lists it as integer");
  pto_program_run_destroy(run);
}

/* ---- steps ---- */

static struct pto_runtime *runtime_new(void) {
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .window = 64, .heap_bytes = 1 << 20};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  return rt;
}

static void test_a_run_that_nothing_goes_wrong_in_is_ok_at_every_step(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  struct pto_runtime *rt = runtime_new();
  assert_int_equal(pto_program_run_prepare(run), PTO_OK);
  assert_int_equal(pto_program_run_orchestrate(run, rt), PTO_OK);
  assert_int_equal(pto_program_run_orchestrate(run, rt), PTO_OK);
  assert_int_equal(calls_of_orchestrate, 2);
  assert_int_equal(pto_program_run_expect(run), PTO_OK);
  assert_string_equal(pto_program_run_error(run)->sentence, "");
  assert_false(pto_program_run_is_host(run));
  pto_runtime_destroy(rt);
  pto_program_run_destroy(run);
}

static void test_the_first_failure_is_kept_and_stops_every_later_step(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  assert_int_equal(pto_program_fail(run, "no block for %d", 3), PTO_EINVAL);
  assert_int_equal(pto_program_fail(run, "and more"), PTO_EINVAL);
  assert_int_equal(pto_program_run_prepare(run), PTO_EINVAL);
  assert_int_equal(pto_program_run_orchestrate(run, NULL), PTO_EINVAL);
  assert_int_equal(pto_program_run_expect(run), PTO_EINVAL);
  assert_int_equal(pto_program_run_remember(run), PTO_EINVAL);
  assert_string_equal(pto_program_run_error(run)->sentence, "no block for 3");
  assert_int_equal(calls_of_orchestrate, 0);
  pto_program_run_destroy(run);
}

static void test_a_step_that_fails_without_a_reason_gets_one(void **state) {
  answer_of_prepare = PTO_ESYSTEM;
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  assert_int_equal(pto_program_run_prepare(run), PTO_ESYSTEM);
  assert_string_equal(pto_program_run_error(run)->sentence, "test: its prepare returned -13 and gave no reason");
  pto_program_run_destroy(run);
  run = run_of(&program, NULL, NULL);
  answer_of_expect = 4;
  assert_int_equal(pto_program_run_expect(run), PTO_EUSER);
  assert_string_equal(pto_program_run_error(run)->sentence, "test: its expect returned 4 and gave no reason");
  pto_program_run_destroy(run);
}

static int report(struct pto_runtime *rt, struct pto_program_run *run) {
  return pto_report_error(rt, "as the runtime says");
}
static int fail_itself(struct pto_runtime *rt, struct pto_program_run *run) {
  return pto_program_fail(run, "as it says itself");
}
static int fail_silently(struct pto_runtime *rt, struct pto_program_run *run) {
  (void)pto_option_int(run, "no such");
  return PTO_OK;
}

static void test_an_orchestration_fails_with_the_runtime_s_sentence_or_its_own(void **state) {
  static const struct {
    int (*orchestrate)(struct pto_runtime *, struct pto_program_run *);
    int status;
    const char *sentence;
  } rows[] = {{report, PTO_EUSER, "as the runtime says"},
              {fail_itself, PTO_EINVAL, "as it says itself"},
              {fail_silently, PTO_EINVAL, "test: asks for an option no such that it does not list"}};
  struct pto_runtime *rt = runtime_new();
  for (size_t i = 0; i < 3; i++) {
    struct pto_program of = program;
    of.orchestrate = rows[i].orchestrate;
    struct pto_program_run *run = run_of(&of, NULL, NULL);
    assert_int_equal(pto_program_run_orchestrate(run, rt), rows[i].status);
    assert_int_equal(pto_program_run_error(run)->status, rows[i].status);
    assert_string_equal(pto_program_run_error(run)->sentence, rows[i].sentence);
    pto_program_run_destroy(run);
  }
  pto_runtime_destroy(rt);
}

static int host(struct pto_program_run *run) { return pto_program_fail(run, "host was called"); }

static void test_a_host_program_needs_no_runtime(void **state) {
  struct pto_program of = program;
  of.orchestrate = NULL;
  of.host = host;
  struct pto_program_run *run = run_of(&of, NULL, NULL);
  assert_true(pto_program_run_is_host(run));
  assert_int_equal(pto_program_run_orchestrate(run, NULL), PTO_EINVAL);
  assert_string_equal(pto_program_run_error(run)->sentence, "host was called");
  pto_program_run_destroy(run);
}

/* ---- memory of the program, rounds ---- */

static void test_state_is_one_zeroed_block_and_alloc_a_new_one_each_time(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  unsigned char *first = pto_program_state(run, 100), *other = pto_program_alloc(run, 100);
  for (int i = 0; i < 100; i++) assert_int_equal(first[i] | other[i], 0);
  assert_ptr_equal(pto_program_state(run, 100), first);
  assert_ptr_equal(pto_program_state(run, 50), first);
  assert_ptr_not_equal(pto_program_alloc(run, 100), other);
  assert_int_equal((uintptr_t)other % 64, 0);
  assert_null(pto_program_state(run, 101));
  assert_int_equal(pto_program_run_error(run)->status, PTO_EINVAL);
  pto_program_run_destroy(run);
}

static void test_an_allocation_beyond_all_memory_fails_the_run(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  assert_null(pto_program_alloc(run, UINT64_MAX));
  assert_int_equal(pto_program_run_error(run)->status, PTO_ENOMEM);
  pto_program_run_destroy(run);
}

static void test_a_rewind_puts_back_all_but_the_inputs(void **state) {
  struct pto_program_run *run = run_of(&program, NULL, NULL);
  assert_int_equal(pto_program_run_prepare(run), PTO_OK);
  int *memory = pto_program_state(run, sizeof *memory);
  *memory = 11;
  pto_array_fill(pto_program_find(run, "in"), 3); /* as a file would */
  assert_int_equal(pto_program_run_remember(run), PTO_OK);
  for (int round = 0; round < 2; round++) {
    pto_array_fill(pto_program_find(run, "inout"), 100 + round);
    pto_array_fill(pto_program_find(run, "out"), 200 + round);
    pto_array_fill(pto_program_find(run, "in"), 400 + round);
    *memory = 300;
    pto_program_run_rewind(run);
    assert_true(pto_array_get(pto_program_find(run, "inout"), 3) == 5);
    assert_true(pto_array_get(pto_program_find(run, "out"), 3) == 0);
    assert_true(pto_array_get(pto_program_find(run, "in"), 3) == 400 + round);
    assert_int_equal(*memory, 11);
  }
  pto_program_run_destroy(run);
}

/* ---- creation and preparation without memory ---- */

static void test_whichever_allocation_fails_nothing_is_lost(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    assert_true(failures < 1000);
    struct pto_program_run *run = NULL;
    static struct pto_error error;
    const char *setting = "scale=4";
    const struct pto_program_request request = {.case_name = "small", .settings = &setting, .setting_count = 1};
    int64_t before = live_blocks;
    fail_countdown = failures + 1;
    int status = pto_program_run_create(&program, &request, &run, &error);
    if (status == PTO_OK) status = pto_program_run_prepare(run);
    if (status == PTO_OK) pto_program_state(run, 10);
    if (status == PTO_OK) pto_array_golden(run, pto_program_find(run, "out"));
    if (status == PTO_OK) status = pto_program_run_remember(run);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    const int final = run && status == PTO_OK ? pto_program_run_error(run)->status : status;
    pto_program_run_destroy(run);
    assert_int_equal(live_blocks, before);
    assert_int_equal(final, is_done ? PTO_OK : PTO_ENOMEM);
  }
  assert_true(failures > 15);
}

static int writes_beside(struct pto_program_run *run) {
  struct pto_array *inout = pto_program_find(run, "inout");
  if (answer_of_orchestrate) ((int32_t *)inout->data)[4] = 0; /* of 4 */
  return PTO_OK;
}
static void test_what_an_orchestration_writes_beside_an_array_fails_the_run(void **state) {
  const struct pto_program off = {
      .abi = PTO_PROGRAM_ABI, .name = "off", .prepare = prepare, .host = writes_beside, .expect = expect};
  if (pto_memory_is_checked()) skip();
  struct pto_program_run *run = run_of(&off, NULL, NULL);
  assert_int_equal(pto_program_run_prepare(run), PTO_OK);
  answer_of_orchestrate = 1;
  assert_int_equal(pto_program_run_orchestrate(run, NULL), PTO_EKERNEL);
  const char *sentence = pto_program_run_error(run)->sentence;
  assert_non_null(strstr(sentence, "bytes [16, 20) of array inout were written, which has 16"));
  assert_non_null(strstr(sentence, "--observe"));
  pto_program_run_retry(run);
  answer_of_orchestrate = 0;
  assert_int_equal(pto_program_run_orchestrate(run, NULL), PTO_OK); /* told once */
  pto_program_run_destroy(run);
}

static void test_destroying_nothing_is_harmless(void **state) { pto_program_run_destroy(NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_an_option_has_its_default_unless_case_or_set_say_otherwise, reset),
      cmocka_unit_test_setup(test_a_set_beats_the_case_and_the_case_the_default, reset),
      cmocka_unit_test_setup(test_of_two_sets_the_later_one_wins, reset),
      cmocka_unit_test_setup(test_a_case_may_have_any_spaces_between_its_settings, reset),
      cmocka_unit_test_setup(test_values_are_read_in_all_their_spellings, reset),
      cmocka_unit_test_setup(test_a_wrong_value_is_refused_with_option_value_and_type, reset),
      cmocka_unit_test_setup(test_an_unknown_option_or_case_is_refused_with_those_there_are, reset),
      cmocka_unit_test_setup(test_a_default_that_is_not_of_its_type_is_refused, reset),
      cmocka_unit_test_setup(test_asking_for_an_unlisted_option_or_another_type_fails_the_run, reset),
      cmocka_unit_test_setup(test_a_run_that_nothing_goes_wrong_in_is_ok_at_every_step, reset),
      cmocka_unit_test_setup(test_the_first_failure_is_kept_and_stops_every_later_step, reset),
      cmocka_unit_test_setup(test_a_step_that_fails_without_a_reason_gets_one, reset),
      cmocka_unit_test_setup(test_an_orchestration_fails_with_the_runtime_s_sentence_or_its_own, reset),
      cmocka_unit_test_setup(test_a_host_program_needs_no_runtime, reset),
      cmocka_unit_test_setup(test_state_is_one_zeroed_block_and_alloc_a_new_one_each_time, reset),
      cmocka_unit_test_setup(test_an_allocation_beyond_all_memory_fails_the_run, reset),
      cmocka_unit_test_setup(test_a_rewind_puts_back_all_but_the_inputs, reset),
      cmocka_unit_test_setup(test_whichever_allocation_fails_nothing_is_lost, reset),
      cmocka_unit_test_setup(test_what_an_orchestration_writes_beside_an_array_fails_the_run, reset),
      cmocka_unit_test_setup(test_destroying_nothing_is_harmless, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
