/* SPDX-License-Identifier: MIT */
/* `ptosim check --advise` from outside: what it says of real programs holds when they are run with those rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

static const char *const programs[] = {"bgemm", "paged_attention", "softmax_layernorm_mlp", "vector_example"};

static json_t *advise(const char *program) {
  assert_int_equal(pto_ptosim_run("check %s --advise --chip a2a3 --json -", program), 0);
  assert_string_equal(pto_ptosim_last.err, "");
  return pto_ptosim_parse(pto_ptosim_last.out);
}

/* What `ptosim run` comes to with these rings; virtual_us through *us where it completes. */
static int run_with(const char *program, json_int_t window, json_int_t heap, double *us) {
  const int code = pto_ptosim_run("run %s --engine virtual --chip a2a3 --window %lld --heap %lld --json -", program,
                                  (long long)window, (long long)heap);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  if (us) *us = json_number_value(json_object_get(root, "virtual_us"));
  json_decref(root);
  return code;
}

static void test_the_least_rings_complete_and_the_next_smaller_do_not(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(programs); i++) {
    json_t *root = advise(programs[i]), *largest = json_object_get(root, "largest");
    const json_int_t window = pto_json_integer(root, "least_window"), heap = pto_json_integer(root, "least_heap_bytes");
    const json_int_t most_window = pto_json_integer(largest, "window"), most = pto_json_integer(largest, "heap_bytes");
    assert_int_equal(run_with(programs[i], window, most, NULL), 0);
    assert_int_equal(run_with(programs[i], most_window, heap, NULL), 0);
    if (window > 4) assert_int_equal(run_with(programs[i], window / 2, most, NULL), 3);
    if (heap > 1024) assert_int_equal(run_with(programs[i], most_window, heap - 1024, NULL), 3);
    json_decref(root);
  }
}

static void test_the_pair_advised_runs_in_the_time_that_is_told(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(programs); i++) {
    double us = 0, largest_us = 0;
    json_t *root = advise(programs[i]), *pair = json_object_get(root, "advice");
    json_t *largest = json_object_get(root, "largest");
    assert_int_equal(run_with(programs[i], pto_json_integer(pair, "window"), pto_json_integer(pair, "heap_bytes"), &us),
                     0);
    assert_true(us == json_number_value(json_object_get(pair, "virtual_us")));
    assert_int_equal(run_with(programs[i], pto_json_integer(largest, "window"), pto_json_integer(largest, "heap_bytes"),
                              &largest_us),
                     0);
    assert_true(us < 1.05 * largest_us);
    json_decref(root);
  }
}

/* 16 tasks of one scope, with outputs of 1024 bytes. */
static void test_a_program_that_fails_with_its_own_rings_is_told_what_it_needs(void **state) {
  json_t *root = advise("errors/scope");
  assert_int_equal(pto_json_integer(root, "least_window"), 32);
  assert_int_equal(pto_json_integer(root, "tasks"), 16);
  json_t *live = json_array_get(json_object_get(root, "live"), 0), *curve = json_object_get(live, "curve_bytes");
  assert_int_equal(pto_json_integer(live, "heap_high_water_bytes"), 16384);
  assert_int_equal(pto_json_integer(live, "peak_task"), 15);
  assert_string_equal(pto_json_text(live, "peak_kernels"), "mark");
  assert_int_equal(json_array_size(curve), 16);
  for (size_t i = 0; i < 16; i++)
    assert_int_equal(json_integer_value(json_array_get(curve, i)), (json_int_t)(i + 1) * 1024);
  json_t *first = json_array_get(json_object_get(root, "windows"), 0);
  assert_int_equal(pto_json_integer(first, "window"), 4);
  assert_true(json_is_false(json_object_get(first, "completes")));
  assert_string_equal(pto_json_text(first, "status"), "PTO_ESCOPE");
  assert_true(json_is_null(json_object_get(first, "virtual_us")));
  json_decref(root);
}

static void test_people_get_tables_and_the_line_to_add(void **state) {
  assert_int_equal(pto_ptosim_run("check errors/scope --advise"), 0);
  static const char *const parts[] = {
      "compared with --window 16384 --heap 268435456", "PTO_ESCOPE",
      "at most 16384 bytes at task 15 (mark)",         "  least    --window 32 alone",
      "  advice   --window 32 --heap 16384",           ".window = 32, .heap_bytes = 16384}"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(parts); i++)
    if (!strstr(pto_ptosim_last.out, parts[i])) fail_msg("no \"%s\" in\n%s", parts[i], pto_ptosim_last.out);
  assert_null(strstr(pto_ptosim_last.out, "not monotonic"));
}

static void test_rings_that_were_asked_for_are_the_largest(void **state) {
  assert_int_equal(pto_ptosim_run("check bgemm --advise --window 64 --heap 1M --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *windows = json_object_get(root, "windows");
  assert_int_equal(pto_json_integer(json_object_get(root, "largest"), "window"), 64);
  assert_int_equal(pto_json_integer(json_object_get(root, "largest"), "heap_bytes"), 1 << 20);
  assert_int_equal(pto_json_integer(json_array_get(windows, json_array_size(windows) - 1), "window"), 64);
  json_decref(root);
}

static void test_what_cannot_be_advised_says_why(void **state) {
  assert_int_equal(pto_ptosim_run("check errors/kernel --advise"), 3);
  pto_ptosim_assert_complaint(3, "kernel check_positive failed");
  assert_int_equal(pto_ptosim_run("check errors/scope --advise --window 16"), 3);
  pto_ptosim_assert_complaint(3, "use a window of at least 32");
  assert_int_equal(pto_ptosim_run("check no_such --advise"), 2);
  assert_int_equal(pto_ptosim_run("check --advise"), 2);
  const char *path = pto_ptosim_path("advice.json");
  assert_int_equal(pto_ptosim_run("check errors/user --advise --json %s", path), 3);
  json_t *root = pto_ptosim_load(path);
  assert_string_equal(pto_json_text(root, "status"), "PTO_EUSER");
  assert_int_equal(pto_json_integer(root, "exit"), 3);
  assert_null(json_object_get(root, "windows"));
  json_decref(root);
}

/* Of their runs in contexts; a context fails as its program does, and what it prints is printed by none of the runs. */
static void test_programs_that_drive_contexts_are_advised_as_well(void **state) {
  assert_int_equal(pto_ptosim_run("check kv_cache --set steps=8 --advise --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  const int window = (int)pto_json_integer(root, "least_window"),
            heap = (int)pto_json_integer(root, "least_heap_bytes");
  assert_int_equal(pto_json_integer(root, "tasks"), 128);
  assert_int_equal(pto_json_integer(root, "wrong"), 0);
  json_decref(root);
  assert_int_equal(pto_ptosim_run("run kv_cache --set steps=8 --engine virtual --window %d", window), 0);
  assert_int_equal(pto_ptosim_run("run kv_cache --set steps=8 --engine virtual --window %d", window / 2), 3);
  assert_int_equal(pto_ptosim_run("run kv_cache --set steps=8 --engine virtual --heap %d", heap), 0);
  assert_int_equal(pto_ptosim_run("run kv_cache --set steps=8 --engine virtual --heap %d", heap - 1024), 3);
  assert_int_equal(pto_ptosim_run("check llm --set steps=4 --advise"), 0);
  assert_int_equal(strncmp(pto_ptosim_last.out, "llm on tiny, virtual engine, ", 29), 0);
}

static void test_the_same_advice_every_time(void **state) {
  json_t *first = advise("bgemm"), *second = advise("bgemm");
  assert_true(json_equal(first, second));
  json_decref(first);
  json_decref(second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_least_rings_complete_and_the_next_smaller_do_not),
      cmocka_unit_test(test_the_pair_advised_runs_in_the_time_that_is_told),
      cmocka_unit_test(test_a_program_that_fails_with_its_own_rings_is_told_what_it_needs),
      cmocka_unit_test(test_people_get_tables_and_the_line_to_add),
      cmocka_unit_test(test_rings_that_were_asked_for_are_the_largest),
      cmocka_unit_test(test_what_cannot_be_advised_says_why),
      cmocka_unit_test(test_programs_that_drive_contexts_are_advised_as_well),
      cmocka_unit_test(test_the_same_advice_every_time),
  };
  return cmocka_run_group_tests_name("check_advise", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
