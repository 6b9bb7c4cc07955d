/* SPDX-License-Identifier: MIT */
/* `ptosim run --no-compute` from outside: times without kernels, memory that is not there, elements that files give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static void put(const char *name, const char *text) {
  FILE *file = fopen(pto_ptosim_path(name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
}

/* A file of values, with these entries. */
#define VALUES(entries) "{\"format\":\"pto-values\",\"version\":1,\"values\":[" entries "]}"

static json_t *run(const char *options) {
  const int code = pto_ptosim_run("run %s --quiet --json -", options);
  if (code) fail_msg("%s: exit %d: %s%s", options, code, pto_ptosim_last.out, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

/* The peak of all children so far: this test comes first. */
static void test_a_heap_of_gigabytes_costs_no_pages(void **state) {
  /* 4096 tasks on tiles of 1 MiB, a gigabyte of inputs besides. */
  json_t *result = run("bgemm --no-compute --set task_num=2048 --set tile=512 --heap 2G");
  assert_int_equal(pto_json_integer(result, "tasks"), 4096);
  assert_true(pto_json_integer(result, "heap_high_water_bytes") > INT64_C(1) << 30);
  json_decref(result);
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
  if (pto_ptosim_reports_faults) assert_true(usage.ru_maxrss < 200 * 1024); /* KB; a sanitizer's shadow is its own */
}

static void test_times_are_those_of_the_run_with_kernels(void **state) {
  static const char *const programs[] = {"bgemm",       "vector_example",  "mixed_example", "spmd",
                                         "scalar_data", "spmd_sync_start", "barriers",      "model:gpt2"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    char options[128];
    snprintf(options, sizeof options, "%s --engine virtual --chip a2a3", programs[i]);
    json_t *with = run(options);
    snprintf(options, sizeof options, "%s --no-compute --assume-zero --chip a2a3", programs[i]);
    json_t *without = run(options);
    assert_string_equal(pto_json_text(without, "engine"), "virtual");
    assert_string_equal(pto_json_text(with, "trace_digest"), pto_json_text(without, "trace_digest"));
    json_decref(with);
    json_decref(without);
  }
}

static void test_the_report_says_that_nothing_was_verified(void **state) {
  json_t *result = run("bgemm --no-compute");
  assert_true(json_is_null(json_object_get(result, "verified")));
  assert_true(json_is_null(json_object_get(result, "output_digest")));
  json_t *part = json_object_get(result, "no_compute");
  assert_int_equal(pto_json_integer(part, "calls"), 128);
  assert_int_equal(pto_json_integer(part, "assumed_prices"), 0);
  json_decref(result);
  assert_int_equal(pto_ptosim_run("run bgemm --no-compute"), 0);
  assert_non_null(
      strstr(pto_ptosim_last.out, "not verified: kernels were not run; of 128 calls 0 cost what their bytes"));
  /* A kernel of a program of ours that states no price: its bytes are it. */
  result = run("war_reuse --no-compute --case short");
  assert_true(pto_json_integer(json_object_get(result, "no_compute"), "assumed_prices") > 0);
  json_decref(result);
  result = run("bgemm");
  assert_true(json_is_null(json_object_get(result, "no_compute")));
  json_decref(result);
}

static void test_a_predicate_without_its_element_is_refused_by_task_and_line(void **state) {
  assert_int_equal(pto_ptosim_run("run predicated --no-compute --quiet"), 2);
  const char *said = pto_ptosim_last.err;
  assert_non_null(strstr(said, "the predicate of task 1 (fill_int), predicated.c:"));
  assert_non_null(strstr(said, "which task 0 (count) writes as element 0 of param 0"));
  assert_non_null(strstr(said, "give it with --values, or --assume-zero"));
}

static void test_the_orchestration_without_its_element_is_refused_by_line(void **state) {
  assert_int_equal(pto_ptosim_run("run paged_attention --no-compute --quiet"), 2);
  const char *place = strstr(pto_ptosim_last.err, "the orchestration, paged_");
  assert_true(place && strstr(place, "paged_tiles.h:")); /* clang: inlined in paged_attention.c */
  assert_non_null(strstr(pto_ptosim_last.err, "reads element 0 of context_lens"));
}

static void test_values_of_a_task_decide_predicates(void **state) {
  char options[512];
  json_t *with = run("predicated --engine virtual");
  /* What task 0 (count) leaves: 0, 1, 2. */
  put("v", VALUES("{\"task\":0,\"param\":0,\"first\":1,\"values\":[1,2]},{\"task\":0,\"param\":0,\"values\":[0]}"));
  snprintf(options, sizeof options, "predicated --no-compute --values %s", pto_ptosim_path("v"));
  json_t *without = run(options);
  assert_string_equal(pto_json_text(with, "trace_digest"), pto_json_text(without, "trace_digest"));
  assert_int_equal(pto_json_integer(json_object_get(without, "no_compute"), "given_values"), 18);
  json_decref(without);
  put("v", VALUES("{\"task\":0,\"param\":0,\"values\":[0,1,2]},{\"task\":999,\"param\":0,\"values\":[1]}"));
  assert_int_equal(pto_ptosim_run("run %s", options), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "--values gave 1 element that nothing read"));
  /* All 0: other tasks run. */
  without = run("predicated --no-compute --assume-zero");
  assert_string_not_equal(pto_json_text(with, "trace_digest"), pto_json_text(without, "trace_digest"));
  assert_int_equal(pto_json_integer(json_object_get(without, "no_compute"), "assumed_values"), 18);
  json_decref(without);
  json_decref(with);
}

static void test_values_of_an_array_are_read_by_the_orchestration(void **state) {
  char options[512];
  json_t *with = run("paged_attention --engine virtual --case 1x16x16x16x33");
  put("v", VALUES("{\"array\":\"context_lens\",\"values\":[33]},{\"array\":\"block_table\",\"values\":[0,1,2]}"));
  snprintf(options, sizeof options, "paged_attention --no-compute --case 1x16x16x16x33 --values %s",
           pto_ptosim_path("v"));
  json_t *without = run(options);
  assert_int_equal(pto_json_integer(with, "tasks"), pto_json_integer(without, "tasks"));
  assert_int_equal(pto_json_integer(with, "edges"), pto_json_integer(without, "edges"));
  json_decref(with);
  json_decref(without);
}

static void test_what_the_host_wrote_it_reads_again(void **state) {
  /* scalar_data reads elements that it wrote, and such that tasks wrote: these alone are assumed. */
  json_t *result = run("scalar_data --no-compute --assume-zero");
  json_t *part = json_object_get(result, "no_compute");
  assert_true(pto_json_integer(part, "assumed_values") > 0);
  json_decref(result);
}

static void test_check_and_why_take_it(void **state) {
  assert_int_equal(pto_ptosim_run("check inplace_update --no-compute --deps pto"), 1);
  assert_non_null(strstr(pto_ptosim_last.out, " [all orders]\n"));
  /* Of values that were read and not computed: others may lead to other tasks. */
  assert_int_equal(pto_ptosim_run("check %s/planted/planted_pto.so --case predicate_early --deps pto --no-compute "
                                  "--assume-zero",
                                  pto_ptosim_build()),
                   1);
  assert_non_null(strstr(pto_ptosim_last.out,
                         "; add `after` task 0 to task 1: `.after = &task_0, .after_count = 1` [this order]\n"));
  assert_null(strstr(pto_ptosim_last.out, " [all orders]\n"));
  assert_int_equal(pto_ptosim_run("why bgemm 0 1 --no-compute"), 0);
}

static void test_what_has_no_meaning_is_refused(void **state) {
  static const struct {
    const char *options, *part;
  } cases[] = {{"bgemm --no-compute --engine threads", "--no-compute is for engine virtual"},
               {"bgemm --no-compute --poison", "--poison fills memory, and with --no-compute"},
               {"bgemm --no-compute --rounds 2", "rounds have nothing to compare"},
               {"bgemm --no-compute --output c=x.npy", "with --no-compute there are no outputs: none can be written"},
               {"bgemm --no-compute --expect c=x.npy", "none is compared with a file"},
               {"bgemm --assume-zero", "--values and --assume-zero need --no-compute"},
               {"kv_cache --no-compute", "--no-compute is for programs with"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pto_ptosim_run("run %s", cases[i].options);
    pto_ptosim_assert_complaint(2, cases[i].part);
  }
  pto_ptosim_run("explore bgemm --no-compute");
  pto_ptosim_assert_complaint(2, "--no-compute is for several ranks, of which it compares how runs end");
  pto_ptosim_run("suite bgemm --no-compute");
  pto_ptosim_assert_complaint(2, "--no-compute is for run, check, why, adopt and explore of several ranks");
  pto_ptosim_run("predict bgemm --no-compute");
  pto_ptosim_assert_complaint(2, "predict: it prices kernels by itself: leave --no-compute out");
}

static void test_hostile_values_are_refused_with_a_sentence(void **state) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"{", "v: line 1"},
      {"[]", "holds no JSON object"},
      {"{\"format\":\"x\",\"version\":1,\"values\":[]}", "\"format\" is not \"pto-values\""},
      {"{\"format\":\"pto-values\",\"version\":2,\"values\":[]}", "version 2, and 1 was expected"},
      {VALUES("7"), "values[0]: item 0 is no object"},
      {VALUES("{\"values\":[1]}"), "values[0]: \"task\""},
      {VALUES("{\"array\":\"a\",\"values\":[\"x\"]}"), "values[0]: \"values\"[0] is no number"},
      {VALUES("{\"array\":\"nosuch\",\"values\":[1]}"), "values[0]: bgemm has no array \"nosuch\"; it has a, b, c"},
      {VALUES("{\"task\":0,\"param\":-1,\"values\":[]}"), "values[0]: \"param\""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    put("v", cases[i].text);
    pto_ptosim_run("run bgemm --no-compute --values %s", pto_ptosim_path("v"));
    pto_ptosim_assert_complaint(2, cases[i].part);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_heap_of_gigabytes_costs_no_pages),
      cmocka_unit_test(test_times_are_those_of_the_run_with_kernels),
      cmocka_unit_test(test_the_report_says_that_nothing_was_verified),
      cmocka_unit_test(test_a_predicate_without_its_element_is_refused_by_task_and_line),
      cmocka_unit_test(test_the_orchestration_without_its_element_is_refused_by_line),
      cmocka_unit_test(test_values_of_a_task_decide_predicates),
      cmocka_unit_test(test_values_of_an_array_are_read_by_the_orchestration),
      cmocka_unit_test(test_what_the_host_wrote_it_reads_again),
      cmocka_unit_test(test_check_and_why_take_it),
      cmocka_unit_test(test_what_has_no_meaning_is_refused),
      cmocka_unit_test(test_hostile_values_are_refused_with_a_sentence),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
