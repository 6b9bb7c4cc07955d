/* SPDX-License-Identifier: MIT */
/* Tests of reading `perf script`'s lines; the first ones are its own output. */
#include <cli/measure/perf_recording.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct pto_perf_sample sample;

static void test_a_line_gives_thread_time_period_event_symbol_and_module(void **state) {
  assert_true(pto_perf_sample_parse(" 4229  6528.091258637:     817623   cycles:      7f539f4fdc3f "
                                    "_PyEval_EvalFrameDefault (/usr/lib/libpython3.so)\n",
                                    &sample));
  assert_int_equal(sample.tid, 4229);
  assert_int_equal(sample.time_ns, UINT64_C(6528091258637));
  assert_int_equal(sample.period, 817623);
  assert_string_equal(sample.event, "cycles");
  assert_string_equal(sample.symbol, "_PyEval_EvalFrameDefault");
  assert_string_equal(sample.module, "/usr/lib/libpython3.so");
}

static void test_an_event_may_have_modifiers_and_a_pmu(void **state) {
  assert_true(pto_perf_sample_parse("1 2.000000003: 1 cpu-clock:u: ff f (/a)\n", &sample));
  assert_string_equal(sample.event, "cpu-clock:u");
  assert_true(pto_perf_sample_parse("1 2.000000003: 1 cpu_core/cycles/: ff f (/a)", &sample));
  assert_string_equal(sample.event, "cpu_core/cycles/");
}

static void test_times_are_exact_with_any_number_of_digits(void **state) {
  assert_true(pto_perf_sample_parse("1 9007199254.740993001: 1 cycles: ff f (/a)", &sample));
  assert_int_equal(sample.time_ns, UINT64_C(9007199254740993001));
  assert_true(pto_perf_sample_parse("1 0.000012: 1 cycles: ff f (/a)", &sample));
  assert_int_equal(sample.time_ns, 12000);
}

static void test_symbols_and_modules_may_hold_blanks_and_parentheses(void **state) {
  static const struct {
    const char *rest, *symbol, *module;
  } cases[] = {
      {"operator new(unsigned long) (/usr/lib/libstdc++.so.6)", "operator new(unsigned long)",
       "/usr/lib/libstdc++.so.6"},
      {"f(int) (.cold) (/a/b)", "f(int) (.cold)", "/a/b"},
      {"main (/tmp/with blank/x (deleted))", "main", "/tmp/with blank/x (deleted)"},
      {"[unknown] ([unknown])", "[unknown]", "[unknown]"},
      {"__schedule ([kernel.kallsyms])", "__schedule", "[kernel.kallsyms]"},
      {"f (inlined)", "f", "inlined"},
      {"f", "f", ""},
      {"(/a/b)", "(/a/b)", ""}, /* no symbol printed: what is there is kept */
      {"", "[unknown]", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char line[256] = "7  1.000000001:  5 cycles:  7f00a1 ";
    strcat(line, cases[i].rest);
    strcat(line, "\n");
    assert_true(pto_perf_sample_parse(line, &sample));
    assert_string_equal(sample.symbol, cases[i].symbol);
    assert_string_equal(sample.module, cases[i].module);
  }
}

static void test_names_that_are_too_long_are_cut(void **state) {
  char line[1024] = "7  1.000000001:  5 cycles:  7f00a1 ";
  size_t begin = strlen(line);
  memset(line + begin, 's', 400);
  strcpy(line + begin + 400, " (/");
  memset(line + begin + 403, 'm', 400);
  strcpy(line + begin + 803, ")");
  assert_true(pto_perf_sample_parse(line, &sample));
  assert_int_equal(strlen(sample.symbol), sizeof sample.symbol - 1);
  assert_int_equal(strlen(sample.module), sizeof sample.module - 1);
}

static void test_other_lines_are_no_samples(void **state) {
  static const char *const lines[] = {"",
                                      "\n",
                                      "# captured on",
                                      "ptosim 12 1.000000001: 1 cycles: ff f (/a)",
                                      "12",
                                      "12 13",
                                      "12 1.000000001 1 cycles: ff f (/a)",
                                      "12 1: 1 cycles: ff f (/a)",
                                      "12 1.: 1 cycles: ff f (/a)",
                                      "12 1.000000001: cycles: ff f (/a)",
                                      "12 1.000000001: 1 cycles ff f (/a)",
                                      "12 1.000000001: 1 : ff f (/a)",
                                      "12 1.000000001: 1 cycles: main (/a)",
                                      "12 1.000000001: 1 cycles:",
                                      "99999999999 1.000000001: 1 cycles: ff f (/a)",
                                      "12 99999999999999.0: 1 cycles: ff f (/a)",
                                      "12 1.000000001: 99999999999999999999 cycles: ff f (/a)"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) assert_false(pto_perf_sample_parse(lines[i], &sample));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_line_gives_thread_time_period_event_symbol_and_module),
      cmocka_unit_test(test_an_event_may_have_modifiers_and_a_pmu),
      cmocka_unit_test(test_times_are_exact_with_any_number_of_digits),
      cmocka_unit_test(test_symbols_and_modules_may_hold_blanks_and_parentheses),
      cmocka_unit_test(test_names_that_are_too_long_are_cut),
      cmocka_unit_test(test_other_lines_are_no_samples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
