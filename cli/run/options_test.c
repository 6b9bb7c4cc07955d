/* SPDX-License-Identifier: MIT */
/* Tests of the options of `ptosim run`. */
#include <cli/run/options.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pto_run_options options;
static struct pto_error error;

/* Parses the words up to NULL after "run". */
static int parse(const char *first, ...) {
  char *argv[32] = {(char *)"run"};
  int argc = 1;
  va_list words;
  va_start(words, first);
  for (const char *word = first; word; word = va_arg(words, const char *)) argv[argc++] = (char *)word;
  va_end(words);
  pto_run_options_fini(&options);
  pto_error_clear(&error);
  return pto_run_options_parse(PTO_VERB_run, argc, argv, NULL, NULL, &options, &error);
}

static int teardown(void **state) {
  pto_run_options_fini(&options);
  return 0;
}

static void test_nothing_given_leaves_the_defaults(void **state) {
  assert_int_equal(parse("bgemm", NULL), PTO_OK);
  assert_int_equal(options.programs.count, 1);
  assert_string_equal(options.programs.items[0], "bgemm");
  assert_null(options.engine);
  assert_int_equal(options.rounds, 1);
  assert_int_equal(options.timeout_ms, 60000);
  assert_false(options.has_deps || options.has_rtol || options.poison || options.quiet || options.stats);
}

static void test_every_option_arrives_wherever_the_program_stands(void **state) {
  assert_int_equal(parse("--engine", "virtual", "--chip=a2a3", "--workers", "3", "bgemm", "--deps", "pto", "--policy",
                         "random:7", "--case", "small", "--seed=18446744073709551615", "--rtol", "1e-3", "--atol=0",
                         "--rounds", "5", NULL),
                   PTO_OK);
  assert_string_equal(options.programs.items[0], "bgemm");
  assert_string_equal(options.engine, "virtual");
  assert_string_equal(options.chip, "a2a3");
  assert_int_equal(options.workers, 3);
  assert_true(options.has_deps && options.deps == PTO_DEPS_PTO);
  assert_string_equal(options.policy, "random:7");
  assert_string_equal(options.case_name, "small");
  assert_true(options.seed == UINT64_MAX);
  assert_true(options.has_rtol && options.rtol == 1e-3 && options.has_atol && options.atol == 0);
  assert_int_equal(options.rounds, 5);
  assert_int_equal(parse("x", "--window", "64", "--heap", "4M", "--timeout", "0.5", "--poison", "--trace", "t.json",
                         "--dot", "d", "--deps-json", "e", "--stats", "--json", "-", "--quiet", NULL),
                   PTO_OK);
  assert_int_equal(options.window, 64);
  assert_int_equal(options.heap_bytes, 4 << 20);
  assert_int_equal(options.timeout_ms, 500);
  assert_int_equal(options.ring_window[0] | options.ring_heap_bytes[3], 0);
  assert_int_equal(parse("x", "--window", "8,64,16", "--heap", "1M,4K", NULL), PTO_OK);
  const uint64_t windows[PTO_RINGS] = {8, 64, 16, 16}, heaps[PTO_RINGS] = {1 << 20, 4096, 4096, 4096};
  assert_memory_equal(options.ring_window, windows, sizeof windows);
  assert_memory_equal(options.ring_heap_bytes, heaps, sizeof heaps);
  assert_true(options.window == 64 && options.heap_bytes == 1 << 20);
  assert_int_equal(parse("x", "--window", "64", "--heap", "4M", "--poison", "--trace", "t.json", "--dot", "d",
                         "--deps-json", "e", "--stats", "--json", "-", "--quiet", NULL),
                   PTO_OK);
  assert_true(options.poison && options.stats && options.quiet);
  assert_string_equal(options.exports[PTO_EXPORT_trace], "t.json");
  assert_string_equal(options.exports[PTO_EXPORT_dot], "d");
  assert_string_equal(options.exports[PTO_EXPORT_deps_json], "e");
  assert_string_equal(options.json_path, "-");
}

static void test_a_report_on_standard_output_takes_it(void **state) {
  static const char *const taking[][2] = {
      {"--json", "-"}, {"--trace", "-"}, {"--dot", "-"}, {"--deps-json", "-"}, {"--waits-dot", "-"}};
  for (size_t i = 0; i < sizeof taking / sizeof taking[0]; i++) {
    assert_int_equal(parse("p", taking[i][0], taking[i][1], NULL), PTO_OK);
    assert_true(pto_run_options_take_stdout(&options));
  }
  assert_int_equal(parse("p", "--json", "a-", "--dot", "./-", "--set", "k=-", NULL), PTO_OK);
  assert_false(pto_run_options_take_stdout(&options));
}

static void test_repeatable_options_keep_their_order(void **state) {
  char words[20][16];
  char *argv[48] = {(char *)"run", (char *)"p"};
  int argc = 2;
  for (int i = 0; i < 20; i++) {
    snprintf(words[i], sizeof words[i], "k%d=v", i);
    argv[argc++] = (char *)"--set";
    argv[argc++] = words[i];
  }
  pto_run_options_fini(&options);
  assert_int_equal(pto_run_options_parse(PTO_VERB_run, argc, argv, NULL, NULL, &options, &error), PTO_OK);
  assert_int_equal(options.settings.count, 20);
  for (int i = 0; i < 20; i++) assert_string_equal(options.settings.items[i], words[i]);
}

static void test_a_bad_value_is_refused_with_option_and_value(void **state) {
  static const char *const rows[][2] = {
      {"--workers", "0"},         {"--workers", "-1"},
      {"--workers", "2x"},        {"--deps", "loose"},
      {"--set", "novalue"},       {"--input", "=f.npy"},
      {"--rtol", "nan"},          {"--rtol", "-1"},
      {"--atol", "big"},          {"--rounds", "0"},
      {"--seed", "-1"},           {"--seed", "18446744073709551616"},
      {"--window", "1000"},       {"--window", "0"},
      {"--heap", "1500"},         {"--heap", "0"},
      {"--heap", "4T"},           {"--heap", "4MB"},
      {"--heap", "99999999999G"}, {"--timeout", "-3"},
      {"--timeout", "1e12"},      {"--seed", ""},
      {"--workers", " 3"},        {"--window", "8,"},
      {"--window", "8,9"},        {"--heap", "1K,1K,1K,1K,1K"},
      {"--heap", "1K,1"},         {"--workers", "3074"},
      {"--window", "2"},          {"--window", "33554432"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (parse("p", rows[i][0], rows[i][1], NULL) != PTO_EINVAL) fail_msg("%s %s is taken", rows[i][0], rows[i][1]);
    assert_non_null(strstr(error.sentence, rows[i][0]));
    assert_non_null(strstr(error.sentence, rows[i][1]));
  }
}

static void test_limits_are_told_as_they_are(void **state) {
  assert_int_equal(parse("p", "--workers", "0", NULL), PTO_EINVAL);
  assert_string_equal(error.sentence, "--workers: \"0\" is no number from 1 to 3073");
  assert_int_equal(parse("p", "--workers", "3073", NULL), PTO_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(parse("p", "--window", i ? "5" : "1", NULL), PTO_EINVAL);
    assert_non_null(strstr(error.sentence, " is no power of two from 4 to 16777216"));
  }
}

static void test_a_bad_value_changes_nothing(void **state) {
  assert_int_equal(parse("p", "--deps", "loose", NULL), PTO_EINVAL);
  assert_false(options.has_deps);
  assert_int_equal(parse("p", "--window", "8", "--window", "1000", NULL), PTO_EINVAL);
  assert_int_equal(options.window, 8);
  assert_int_equal(parse("p", "--rtol", "nan", "--timeout", "1e12", NULL), PTO_EINVAL);
  assert_false(options.has_rtol || options.has_timeout);
}

static int parse_for(enum pto_verb_id verb, const char *option, const char *value) {
  char *argv[] = {(char *)"verb", (char *)"p", (char *)option, (char *)value};
  pto_run_options_fini(&options);
  return pto_run_options_parse(verb, value ? 4 : 3, argv, NULL, NULL, &options, &error);
}

static void test_a_verb_refuses_what_it_does_not_take(void **state) {
  static const struct {
    enum pto_verb_id verb;
    const char *option, *value, *sentence;
  } rows[] = {
      {PTO_VERB_check, "--stats", NULL, "--stats is for `ptosim run`"},
      {PTO_VERB_why, "--stats", NULL, "--stats is for `ptosim run`"},
      {PTO_VERB_task, "--deps", "pto", "--deps is for `ptosim run`"},
      {PTO_VERB_graph, "--waits-dot", "w", "--waits-dot is for `ptosim run`"},
      {PTO_VERB_graph, "--policy", "lifo", "--policy is for `ptosim run`"},
      {PTO_VERB_explore, "--trace", "t", "--trace is for one run: `ptosim run`"},
      {PTO_VERB_suite, "--case", "c", "--case is for one run: `ptosim run`"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(parse_for(rows[i].verb, rows[i].option, rows[i].value), PTO_EINVAL);
    assert_string_equal(error.sentence, rows[i].sentence);
    assert_int_equal(parse_for(PTO_VERB_run, rows[i].option, rows[i].value), PTO_OK);
  }
  assert_int_equal(parse_for(PTO_VERB_graph, "--trace", "t"), PTO_OK);
  assert_int_equal(parse_for(PTO_VERB_list, "--json", "-"), PTO_EINVAL); /* takes none of them */
  assert_int_equal(parse_for(PTO_VERB_check, "--rounds", "3"), PTO_OK);
  assert_null(pto_run_options_refused(&options, PTO_TAKER_OBSERVE));
  assert_string_equal(pto_run_options_refused(&options, PTO_TAKER_ADVISE), "rounds");
}

static void test_unknown_and_incomplete_options_are_named(void **state) {
  assert_int_equal(parse("p", "--speed", NULL), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "--speed"));
  assert_int_equal(parse("p", "--seed", NULL), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "--seed needs a value"));
  assert_int_equal(parse("p", "--quiet=yes", NULL), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "--quiet takes no value"));
  assert_int_equal(parse("p", "-x", NULL), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "-x"));
  assert_int_equal(parse("p", "--de", "pto", NULL), PTO_EINVAL); /* deps, deps-json */
}

static void test_bytes_have_suffixes(void **state) {
  uint64_t bytes;
  assert_int_equal(pto_parse_bytes("1024", &bytes, &error), PTO_OK);
  assert_int_equal(bytes, 1024);
  assert_int_equal(pto_parse_bytes("3K", &bytes, &error), PTO_OK);
  assert_int_equal(bytes, 3072);
  assert_int_equal(pto_parse_bytes("2G", &bytes, &error), PTO_OK);
  assert_true(bytes == UINT64_C(2) << 30);
  assert_int_equal(pto_parse_bytes("17179869184G", &bytes, &error), PTO_EINVAL);
}

static void test_a_timeout_that_is_not_zero_is_never_never(void **state) {
  assert_int_equal(parse("p", "--timeout", "0.0001", NULL), PTO_OK);
  assert_int_equal(options.timeout_ms, 1);
  assert_int_equal(parse("p", "--timeout", "0", NULL), PTO_OK);
  assert_int_equal(options.timeout_ms, 0);
}

static int set_flag(void *target, const char *value, struct pto_error *e) {
  *(const char **)target = value;
  return PTO_OK;
}

static void test_a_verb_adds_options_of_its_own(void **state) {
  static const struct pto_option_spec extra[] = {{"depth", "N", "how deep", .set = set_flag}, {0}};
  char *argv[] = {(char *)"explore", (char *)"p", (char *)"--depth", (char *)"4", (char *)"--seed", (char *)"9"};
  const char *depth = NULL;
  pto_run_options_fini(&options);
  assert_int_equal(pto_run_options_parse(PTO_VERB_explore, 6, argv, extra, &depth, &options, &error), PTO_OK);
  assert_string_equal(depth, "4");
  assert_int_equal(options.seed, 9);
}

static void test_an_option_of_a_verb_takes_the_place_of_a_common_one(void **state) {
  static const struct pto_option_spec extra[] = {{"dot", "FILE", "another picture", .set = pto_option_set_text},
                                                 {"deps", "RULES", "other words", .set = NULL},
                                                 {0}};
  char *argv[] = {(char *)"graph", (char *)"p", (char *)"--dot", (char *)"-", (char *)"--deps=pto"};
  const char *path = NULL;
  pto_run_options_fini(&options);
  assert_int_equal(pto_run_options_parse(PTO_VERB_graph, 5, argv, extra, &path, &options, &error), PTO_OK);
  assert_string_equal(path, "-");
  assert_null(options.exports[PTO_EXPORT_dot]);
  assert_true(options.has_deps);
}

int main(void) {
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_nothing_given_leaves_the_defaults),
      TEST(test_every_option_arrives_wherever_the_program_stands),
      TEST(test_repeatable_options_keep_their_order),
      TEST(test_a_bad_value_is_refused_with_option_and_value),
      TEST(test_unknown_and_incomplete_options_are_named),
      TEST(test_bytes_have_suffixes),
      TEST(test_a_timeout_that_is_not_zero_is_never_never),
      TEST(test_a_verb_adds_options_of_its_own),
      TEST(test_a_report_on_standard_output_takes_it),
      TEST(test_limits_are_told_as_they_are),
      TEST(test_a_bad_value_changes_nothing),
      TEST(test_a_verb_refuses_what_it_does_not_take),
      TEST(test_an_option_of_a_verb_takes_the_place_of_a_common_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
