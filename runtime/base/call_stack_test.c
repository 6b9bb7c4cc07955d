/* SPDX-License-Identifier: MIT */
/* Which functions are this library's own; whose calls are on a stack is in tests of records and of faults. */
#include <runtime/base/call_stack.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_a_function_is_own_where_its_file_is(void **state) {
  (void)state;
  const int on_stack = 0;
  assert_true(pto_call_stack_is_own((const void *)(uintptr_t)&pto_call_stack_is_own));
  assert_false(pto_call_stack_is_own((const void *)(uintptr_t)&div)); /* which no sanitizer replaces */
  assert_false(pto_call_stack_is_own(&on_stack));                     /* no file has it */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_function_is_own_where_its_file_is)};
  return cmocka_run_group_tests_name("call_stack", tests, NULL, NULL);
}
