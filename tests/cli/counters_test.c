/* SPDX-License-Identifier: MIT */
/*
 * `ptosim run --counters-by kernel` from outside, with events of threads, which every machine has: a planted program's
 * kernel that is the first to touch its pages has the page faults, and the other one has not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

#define CALLS 40
#define PAGES 64 /* a call of the planted kernel */

static json_t *element_called(json_t *array, const char *key, const char *name) {
  json_t *element;
  size_t i;
  json_array_foreach(array, i, element)
    if (strcmp(pto_json_text(element, key), name) == 0) return element;
  fail_msg("no %s \"%s\"", key, name);
  return NULL;
}

static json_t *kernel_counters(json_t *root) {
  json_t *counted = json_object_get(root, "kernel_counters");
  assert_true(json_is_object(counted));
  assert_int_equal(pto_json_integer(counted, "uncounted_calls"), 0);
  return counted;
}

static json_int_t event_of(json_t *row, const char *event) {
  return pto_json_integer(json_object_get(row, "events"), event);
}

static void expect_planted(const char *more) {
  assert_int_equal(pto_ptosim_run("run %s/planted/planted_hot.so --set calls=%d %s --json - --counters "
                                  "thread::page_faults,thread::cpu_ns --counters-by kernel",
                                  pto_ptosim_build(), CALLS, more),
                   0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *counted = kernel_counters(root);
  json_t *hot = element_called(json_object_get(counted, "kernels"), "kernel", "hot");
  json_t *mild = element_called(json_object_get(counted, "kernels"), "kernel", "mild");
  assert_int_equal(json_array_size(json_object_get(counted, "kernels")), 2);
  assert_int_equal(pto_json_integer(hot, "calls"), CALLS);
  assert_int_equal(pto_json_integer(mild, "calls"), CALLS);
  assert_string_equal(pto_json_text(hot, "core_kind"), "aiv");
  assert_string_equal(pto_json_text(mild, "core_kind"), "aic");
  assert_true(event_of(hot, "thread::page_faults") >= CALLS * PAGES);
  assert_true(event_of(mild, "thread::page_faults") < CALLS * PAGES / 8);
  assert_true(event_of(hot, "thread::cpu_ns") > event_of(mild, "thread::cpu_ns"));
  json_t *aiv = element_called(json_object_get(counted, "core_kinds"), "core_kind", "aiv");
  assert_int_equal(event_of(aiv, "thread::page_faults"), event_of(hot, "thread::page_faults"));
  assert_int_equal(pto_json_integer(json_object_get(root, "counters"), "thread::page_faults"),
                   event_of(hot, "thread::page_faults") + event_of(mild, "thread::page_faults"));
  json_decref(root);
}

static void test_page_faults_fall_to_the_kernel_that_touches_pages_on_any_engine(void **state) {
  expect_planted("--workers 1");
  expect_planted("--workers 3 --chip a2a3");
  expect_planted("--engine virtual");
}

static void test_every_call_of_a_program_is_counted_once(void **state) {
  static const char *const lines[] = {"core_fifo", "core_fifo --engine virtual", "bgemm --workers 3 --rounds 2",
                                      "split_k --chip a2a3"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    assert_int_equal(pto_ptosim_run("run %s --stats --json - --counters thread::cpu_ns --counters-by kernel", lines[i]),
                     0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *counted = kernel_counters(root), *row;
    json_int_t calls = 0, of_kernels = 0, all = pto_json_integer(json_object_get(root, "counters"), "thread::cpu_ns");
    size_t k;
    json_array_foreach(json_object_get(counted, "kernels"), k, row) {
      calls += pto_json_integer(row, "calls");
      of_kernels += event_of(row, "thread::cpu_ns");
      assert_true(pto_json_integer(row, "stretches") >= pto_json_integer(row, "calls"));
    }
    assert_int_equal(calls,
                     pto_json_integer(root, "rounds") * pto_json_integer(json_object_get(root, "stats"), "calls"));
    assert_int_equal(of_kernels, all);
    json_decref(root);
  }
}

static void test_the_text_has_each_kernel_with_its_events_and_what_reading_costs(void **state) {
  assert_int_equal(pto_ptosim_run("run bgemm --counters thread::cpu_ns --counters-by kernel"), 0);
  static const char *const parts[] = {"counted by kernel", "matmul (AIC), 64 calls", "add_inplace (AIV), 64 calls",
                                      "all on AIV, 64 calls", "of it the reading"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) assert_non_null(strstr(pto_ptosim_last.out, parts[i]));
}

/* Events of the hardware, which a machine may have none of: what it does not count is named once, and the rest is
 * counted. */
static void test_what_is_not_counted_is_named_once_and_the_rest_is_counted(void **state) {
  const int code = pto_ptosim_run("run bgemm --json - --counters-by kernel --counters "
                                  "PAPI_TOT_CYC,thread::wall_ns,PAPI_TOT_INS");
  if (code == 2) {
    assert_non_null(strstr(pto_ptosim_last.err, "PAPI")); /* a build without it, or a PAPI without these */
    skip();
  }
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *counters = json_object_get(root, "counters");
  assert_true(pto_json_integer(counters, "thread::wall_ns") > 0);
  const bool is_null = json_is_null(json_object_get(counters, "PAPI_TOT_CYC"));
  const char *said = strstr(pto_ptosim_last.err, "--counters: ");
  json_decref(root);
  if (!is_null) skip();
  assert_non_null(said);
  assert_true(strstr(said, "PAPI_TOT_CYC") || strstr(said, "is built without PAPI"));
  assert_null(strstr(said + 1, "--counters: "));
}

/* PAPI alone takes some of these names and counts 0. */
static void test_a_name_of_no_event_is_refused_with_the_nearest_one(void **state) {
  static const struct {
    const char *events, *part;
  } cases[] = {{"pto::nope", "no counter of a runtime is called"},
               {"pto::", "no counter of a runtime is called"},
               {"pto2::task", "no counter of a runtime is called"},
               {"sde:::pto::nope", "no counter of a runtime is called"},
               {"thread::wall_ns,pto::task", "called \"pto::task\"; there are pto::tasks, pto::edges"},
               {"pto::task", "did you mean \"pto::tasks\"?"},
               {"thread::cpu", "thread::cpu_ns, thread::wall_ns"},
               {"thread::wal_ns", "did you mean \"thread::wall_ns\"?"},
               {"foo", "foo"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pto_ptosim_run("run vector_example --counters %s", cases[i].events);
    if (strcmp(cases[i].events, "foo") == 0 && strstr(pto_ptosim_last.err, "without PAPI")) continue;
    pto_ptosim_assert_complaint(2, cases[i].part);
  }
}

static void test_bad_arguments_leave_with_2(void **state) {
  static const struct {
    const char *line, *part;
  } cases[] = {{"run bgemm --counters-by kernel", "counts the events of --counters"},
               {"run bgemm --counters thread::cpu_ns --counters-by core", "neither kernel nor run"},
               {"run bgemm --counters thread::cpu_ns,a,thread::cpu_ns", "thread::cpu_ns stands there twice"},
               {"run bgemm --counters a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "more than 16 events, of which q is one"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pto_ptosim_run("%s", cases[i].line);
    pto_ptosim_assert_complaint(2, cases[i].part);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_page_faults_fall_to_the_kernel_that_touches_pages_on_any_engine),
      cmocka_unit_test(test_every_call_of_a_program_is_counted_once),
      cmocka_unit_test(test_the_text_has_each_kernel_with_its_events_and_what_reading_costs),
      cmocka_unit_test(test_what_is_not_counted_is_named_once_and_the_rest_is_counted),
      cmocka_unit_test(test_a_name_of_no_event_is_refused_with_the_nearest_one),
      cmocka_unit_test(test_bad_arguments_leave_with_2),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
