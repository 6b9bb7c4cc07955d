/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <runtime/base/utf8.h>

/* A character by RFC 3629, written down from its number. */
static size_t write_character(uint32_t number, char *text) {
  size_t length = number < 0x80 ? 1 : number < 0x800 ? 2 : number < 0x10000 ? 3 : 4;
  for (size_t k = length; k-- > 1; number >>= 6) text[k] = (char)(0x80 | (number & 0x3f));
  static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  text[0] = (char)(heads[length] | number);
  text[length] = '\0';
  return length;
}

static bool is_shown(uint32_t number) {
  return number >= 0x20 && (number < 0x7f || number > 0x9f) && (number < 0x2028 || number > 0x202e) &&
         (number < 0x2066 || number > 0x2069);
}

static void test_every_character_is_known_by_its_length_and_shown_unless_it_disturbs(void **state) {
  for (uint32_t number = 1; number < 0x110000; number++) {
    char text[8], shown[8];
    const size_t length = write_character(number, text);
    const bool is_surrogate = number >= 0xd800 && number < 0xe000;
    if (pto_utf8_length(text) != (is_surrogate ? 0 : length)) fail_msg("U+%04X", number);
    if (pto_utf8_is_valid(text) != !is_surrogate) fail_msg("U+%04X", number);
    strcpy(shown, text);
    pto_utf8_make_printable(shown);
    const char *wanted = is_surrogate ? "???" : is_shown(number) ? text : "?";
    if (strcmp(shown, wanted) != 0) fail_msg("U+%04X is shown as %s", number, shown);
  }
}

static void test_bytes_that_are_no_character_are_marked_each(void **state) {
  static const char *const texts[][2] = {
      {"", ""},
      {"a\xffz", "a?z"},
      {"cut \xe2\x82", "cut ??"},
      {"cut \xf0\x9f\x98", "cut ???"},
      {"\xc0\x80", "??"},           /* overlong */
      {"\xf4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
      {"a\x1b[31m\xe2\x80\xaegnp.b\xc2\x9b", "a?[31m?gnp.b?"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++) {
    char text[32];
    strcpy(text, texts[i][0]);
    assert_int_equal(pto_utf8_is_valid(text), i == 0 || i == 6);
    for (int round = 0; round < 2; round++) {
      pto_utf8_make_printable(text);
      assert_string_equal(text, texts[i][1]);
    }
  }
}

static void test_a_sentence_is_one_line_of_characters_however_it_is_cut(void **state) {
  struct pto_error error;
  char text[4];
  assert_int_equal(pto_error_set(&error, PTO_EINVAL, "\"%.5s\"", "a\n\x1b\xe2\x82\xac"), PTO_EINVAL);
  assert_string_equal(error.sentence, "\"a??"
                                      "??\"");
  pto_error_append(&error, " (%s)", "\r\xe2\x82\xac");
  assert_string_equal(error.sentence, "\"a??"
                                      "??\" (?\xe2\x82\xac)");
  (void)pto_error_set(&error, PTO_EINVAL, "a\xe2\x82\xac");
  assert_int_equal(pto_error_tell(&error, text, sizeof text), PTO_EINVAL);
  assert_string_equal(text, "a??");
  assert_int_equal(pto_error_tell(&error, text, 0), PTO_EINVAL);
  assert_int_equal(pto_error_tell(&error, NULL, sizeof text), PTO_EINVAL);
  assert_string_equal(text, "a??");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_character_is_known_by_its_length_and_shown_unless_it_disturbs),
      cmocka_unit_test(test_bytes_that_are_no_character_are_marked_each),
      cmocka_unit_test(test_a_sentence_is_one_line_of_characters_however_it_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
