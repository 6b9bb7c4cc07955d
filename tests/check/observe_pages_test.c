/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses where the system opens or closes no more pages one by one (vm.max_map_count): this program's
 * mprotect refuses so. What a case is: tests/support/observe_fixture.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <check/observe/observe.h>
#include <sim/host/local_memory.h>
#include <tests/support/observe_fixture.h>

/* ---- what is refused ---- */

static enum { REFUSES_NOTHING, REFUSES_TO_OPEN_A_PAGE, REFUSES_TO_CLOSE_A_PAGE, REFUSES_TO_CLOSE } refuses, will_refuse;

PTO_API int mprotect(void *addr, size_t size, int protection) {
  const bool closes = protection == PROT_NONE && size != PTO_LOCAL_GUARD_BYTES; /* a core's guards it gets */
  if ((refuses == REFUSES_TO_OPEN_A_PAGE && !closes && size == PAGE) ||
      (refuses == REFUSES_TO_CLOSE_A_PAGE && closes && size == PAGE) || (refuses == REFUSES_TO_CLOSE && closes)) {
    errno = ENOMEM;
    return -1;
  }
  return (int)syscall(SYS_mprotect, addr, size, protection);
}

static void run_refused(const struct planted *planted, uint64_t mistake, struct run *result) {
  run(planted, mistake, &(struct pto_observe_options){0}, result);
  refuses = REFUSES_NOTHING;
}

/* ---- kernels and orchestrations ---- */

enum { LOOKS_BESIDE = 1, LOOKS_BESIDE_WHERE_Z_WAS_NOT_0 };

RUN(look_beside) { /* z = x; by a mistake an element of b is added, in all runs or in repeated ones */
  const bool looks = MISTAKE(a) == LOOKS_BESIDE || (MISTAKE(a) && X(a, 1)[0] != 0);
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = X(a, 0)[i];
  if (looks) X(a, 1)[0] += w.b[0];
  return 0;
}
KERNEL(look_beside, 3, IN, OUT);

BODY(looks_and_goes_on) {
  refuses = will_refuse;
  FIRST(two(rt, &look_beside_kernel, &w.ta, &w.tout, w.mistake));
  return status ? status : two(rt, &copy_kernel, &w.tout, &w.tb, 0);
}
BODY(fills_and_looks) {
  struct pto_tensor some = part(&w.tb, 0, 16, 1);
  refuses = will_refuse;
  FIRST(one(rt, &fill_kernel, &some, 0));
  return status ? status : two(rt, &look_beside_kernel, &w.ta, &w.tout, w.mistake);
}

/* ---- tests ---- */

static void a_call_that_touches_more_than_opens_goes_on_and_is_not_looked_at(void **state) {
  const struct planted looks = {.body = looks_and_goes_on};
  struct run result;
  will_refuse = REFUSES_TO_OPEN_A_PAGE;
  run_refused(&looks, LOOKS_BESIDE, &result);
  assert_int_equal(result.status, PTO_OK);
  assert_int_equal(result.findings.total, 0);
  assert_int_equal(result.summary.calls_too_large, 1);
  assert_int_equal(result.summary.calls, 1); /* the one behind it */
  assert_false(result.summary.is_short);
  assert_true(w.out[0] == 6 && w.b[0] == 6 && w.b[1] == 2);
  pto_findings_fini(&result.findings);
}

static void a_declared_page_that_does_not_open_makes_the_call_too_large(void **state) {
  const struct planted fills = {.body = fills_and_looks};
  struct run result;
  will_refuse = REFUSES_TO_OPEN_A_PAGE;
  run_refused(&fills, 0, &result);
  assert_int_equal(result.status, PTO_OK);
  assert_int_equal(result.findings.total, 0);
  assert_int_equal(result.summary.calls_too_large, 1);
  assert_int_equal(result.summary.calls, 1);
  pto_findings_fini(&result.findings);
}

static void where_a_repeated_run_alone_touches_more_the_search_has_no_room(void **state) {
  const struct planted looks = {.body = looks_and_goes_on};
  struct run result;
  will_refuse = REFUSES_TO_OPEN_A_PAGE;
  run_refused(&looks, LOOKS_BESIDE_WHERE_Z_WAS_NOT_0, &result);
  assert_int_equal(result.status, PTO_OK);
  assert_true(result.summary.is_short);
  assert_true(w.out[0] == 1 && w.b[0] == 1);
  pto_findings_fini(&result.findings);
}

static void where_a_page_does_not_close_all_memory_does(void **state) {
  const struct planted looks = {.body = fills_and_looks};
  struct run result;
  will_refuse = REFUSES_TO_CLOSE_A_PAGE;
  run_refused(&looks, LOOKS_BESIDE, &result);
  assert_int_equal(result.status, PTO_OK);
  assert_int_equal(result.findings.total, 1);
  assert_true(is_told(&result.findings, (const char *[]){"read outside", "reads bytes [0, 4) of array b", NULL}));
  assert_false(result.summary.is_short);
  pto_findings_fini(&result.findings);
}

static void where_nothing_closes_the_search_is_short(void **state) {
  const struct planted looks = {.body = fills_and_looks};
  struct run result;
  will_refuse = REFUSES_TO_CLOSE;
  run_refused(&looks, LOOKS_BESIDE, &result);
  assert_int_equal(result.status, PTO_OK);
  assert_true(result.summary.is_short);
  pto_findings_fini(&result.findings);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_that_touches_more_than_opens_goes_on_and_is_not_looked_at),
                                     cmocka_unit_test(a_declared_page_that_does_not_open_makes_the_call_too_large),
                                     cmocka_unit_test(where_a_repeated_run_alone_touches_more_the_search_has_no_room),
                                     cmocka_unit_test(where_a_page_does_not_close_all_memory_does),
                                     cmocka_unit_test(where_nothing_closes_the_search_is_short)};
  return run_planted("observe_pages", NULL, 0, tests, PTO_ARRAY_LENGTH(tests));
}
