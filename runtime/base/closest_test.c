/* SPDX-License-Identifier: MIT */
#include <runtime/base/closest.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *ask(const char *wanted) {
  static const char *const words[] = {"a name that is longer than any that is near to what was asked for is none",
                                      "bgemm",
                                      "moe",
                                      "run",
                                      "suite",
                                      "paged_attention",
                                      "paged_attention_unroll"};
  static char text[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, wanted);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) pto_closest_consider(&closest, words[i]);
  return pto_closest_question(&closest, text);
}

static void test_a_letter_more_less_other_or_swapped_is_near(void **state) {
  assert_string_equal(ask("bgem"), "; did you mean \"bgemm\"?");
  assert_string_equal(ask("bgemmm"), "; did you mean \"bgemm\"?");
  assert_string_equal(ask("bgemn"), "; did you mean \"bgemm\"?");
  assert_string_equal(ask("bgmem"), "; did you mean \"bgemm\"?");
  assert_string_equal(ask("rum"), "; did you mean \"run\"?");
}

static void test_capitals_are_no_distance(void **state) {
  assert_string_equal(ask("BGEMM"), "; did you mean \"bgemm\"?");
  assert_string_equal(ask("Run"), "; did you mean \"run\"?");
  assert_string_equal(ask("RUM"), "; did you mean \"run\"?");
  assert_string_equal(ask("PagedAttentionUnroll"), "; did you mean \"paged_attention_unroll\"?");
}

static void test_long_words_may_differ_in_a_third(void **state) {
  assert_string_equal(ask("page_atention"), "; did you mean \"paged_attention\"?");
  assert_string_equal(ask("pagedattentionunrol"), "; did you mean \"paged_attention_unroll\"?");
}

static void test_what_is_far_from_everything_is_asked_for_nothing(void **state) {
  assert_string_equal(ask("softmax"), "");
  assert_string_equal(ask("rnnn"), "");
  assert_string_equal(ask(""), "");
  assert_string_equal(ask("a word of more letters than any name of anything in this whole tree has"), "");
}

static void test_the_nearest_of_several_is_meant(void **state) {
  assert_string_equal(ask("paged_attentio"), "; did you mean \"paged_attention\"?");
  assert_string_equal(ask("paged_attention_unrol"), "; did you mean \"paged_attention_unroll\"?");
}

static void test_one_of_a_list_is_asked_for_by_its_first_letters(void **state) {
  static const struct {
    int number;
    const char *name;
  } all[] = {{1, "bgemm"}, {2, "paged_attention"}};
  char text[PTO_CLOSEST_TEXT], far[200];
  for (size_t i = 0; i + 1 < sizeof far; i++) far[i] = 'a';
  far[sizeof far - 1] = '\0';
  assert_string_equal(pto_closest_among("bgemn=3", 5, &all[0].name, 2, sizeof all[0], text),
                      "; did you mean \"bgemm\"?");
  assert_string_equal(pto_closest_among(far, sizeof far - 1, &all[0].name, 2, sizeof all[0], text), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_letter_more_less_other_or_swapped_is_near),
      cmocka_unit_test(test_capitals_are_no_distance),
      cmocka_unit_test(test_long_words_may_differ_in_a_third),
      cmocka_unit_test(test_what_is_far_from_everything_is_asked_for_nothing),
      cmocka_unit_test(test_the_nearest_of_several_is_meant),
      cmocka_unit_test(test_one_of_a_list_is_asked_for_by_its_first_letters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
