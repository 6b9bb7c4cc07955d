/* SPDX-License-Identifier: MIT */
/* Sheets of chip files: each number with its tag and source, written and read again; and numbers that are set behind
 * the name of a chip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/chips/chip.h>

#include <stdio.h>
#include <string.h>

#include <tests/support/chip_text.h>
#include <tests/support/failing_malloc.h>

static void test_a_sheet_has_each_number_with_its_tag_and_source(void **state) {
  char text[TEXT_SIZE], path[64];
  struct pto_chip_sheet sheet;
  struct pto_chip chip;
  struct pto_error error;
  char tiny[TEXT_SIZE];
  shipped_text("tiny", tiny);
  snprintf(text, sizeof text,
           "; a head\n; of two lines\n[chip]\n; no head\nname = x ; assumed\nclusters = 1\n"
           "schedulers = 1 ;measured:  a clock, 2026 \nslots_per_core = 2 ; public: a page\n%s",
           strstr(tiny, "[memory]"));
  assert_int_equal(load_sheet(text, strlen(text), &chip, &sheet, &error, path), PTO_OK);
  assert_string_equal(sheet.about, "; a head\n; of two lines\n");
  static const struct {
    const char *key, *value, *source;
    enum pto_chip_tag tag;
  } expected[] = {{"name", "x", "", PTO_CHIP_ASSUMED},
                  {"clusters", "1", "", PTO_CHIP_UNTAGGED},
                  {"schedulers", "1", "a clock, 2026", PTO_CHIP_MEASURED},
                  {"slots_per_core", "2", "a page", PTO_CHIP_VENDOR},
                  {"kernel_start_ps", "100000", "100 ns", PTO_CHIP_UNTAGGED}};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(expected); i++) {
    const struct pto_chip_note *note = pto_chip_sheet_find(&sheet, expected[i].key);
    assert_non_null(note);
    assert_string_equal(note->value, expected[i].value);
    assert_string_equal(note->source, expected[i].source);
    assert_int_equal(note->tag, expected[i].tag);
  }
  assert_null(pto_chip_sheet_find(&sheet, "era"));
}

/* What is written is the same chip and the same sheet; a key that is set stands in its section. */
static void test_a_written_sheet_is_the_same_chip(void **state) {
  struct pto_chip_sheet sheet, again;
  struct pto_chip chip, loaded;
  struct pto_error error;
  const char *name;
  char path[64];
  for (uint32_t i = 0; (name = pto_chip_name_at(i)) != NULL; i++) {
    for (uint32_t set = 0; set < 2; set++) {
      char text[TEXT_SIZE] = "";
      assert_int_equal(pto_chip_load_sheet(name, &chip, &sheet, &error), PTO_OK);
      const struct pto_chip_note note = {
          .key = "first_submit", .value = "6900000", .tag = PTO_CHIP_MEASURED, .source = "a capture, 2026"};
      if (set) assert_int_equal(pto_chip_sheet_set(&sheet, &note, &error), PTO_OK);
      FILE *stream = fmemopen(text, sizeof text - 1, "w");
      assert_true(pto_chip_sheet_write(&sheet, stream));
      fclose(stream);
      assert_int_equal(load_sheet(text, strlen(text), &loaded, &again, &error, path), PTO_OK);
      if (set) chip.work_ps[PTO_WORK_FIRST_SUBMIT] = 6900000;
      assert_memory_equal(&chip, &loaded, sizeof chip);
      assert_memory_equal(&sheet, &again, sizeof sheet);
      assert_int_equal(pto_chip_sheet_load(&sheet, name, &loaded, &error), PTO_OK);
      assert_memory_equal(&chip, &loaded, sizeof chip);
    }
  }
  assert_int_equal(pto_chip_sheet_set(&sheet, &(struct pto_chip_note){.key = "speed", .value = "1"}, &error),
                   PTO_EINVAL);
  assert_string_equal(error.sentence, "a chip file has no key speed");
}

static void test_kernels_in_half_the_time_add_up(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny,half_kernel=add,submit=1,half_kernel=mul,half_kernel=add", &chip, &error),
                   PTO_OK);
  assert_string_equal(chip.half_kernel, "add+mul+add");
  assert_int_equal(pto_chip_load("tiny,half_kernel=abcdefghijklmnopqrstuvwxyz0123456789,"
                                 "half_kernel=abcdefghijklmnopqrstuvwxyz0123456789",
                                 &chip, &error),
                   PTO_EINVAL);
  assert_string_equal(error.sentence, "half_kernel = abcdefghijklmnopqrstuvwxyz0123456789+"
                                      "abcdefghijklmnopqrstuvwxyz0123456789: longer than 63 characters");
  assert_int_equal(pto_chip_load("tiny,half_kernl=a", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "a chip file has no key half_kernl; did you mean \"half_kernel\"?");
}

static void test_what_is_set_behind_commas_is_key_and_value(void **state) {
  static const char *const wrong[] = {"submit", "submit,poll=1", "",
                                      "a_key_that_is_longer_than_any_that_a_chip_file_can_have_at_all_in_it=1",
                                      "submit=a_value_that_is_longer_than_any_that_a_chip_file_can_have_at_all_in_it_"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    char text[256], said[256];
    struct pto_chip chip;
    struct pto_error error;
    snprintf(text, sizeof text, "tiny,%s", wrong[i]);
    snprintf(said, sizeof said, "chip: '%.*s' is not KEY=VALUE", (int)strcspn(wrong[i], ","), wrong[i]);
    assert_int_equal(pto_chip_load(text, &chip, &error), PTO_EINVAL);
    assert_string_equal(error.sentence, said);
  }
}

static void test_a_source_that_fits_no_line_is_refused(void **state) {
  struct pto_chip_sheet sheet;
  struct pto_chip chip;
  struct pto_error error;
  struct pto_chip_note note = {.key = "submit", .value = "1"};
  memset(note.source, 'x', sizeof note.source - 1);
  assert_int_equal(pto_chip_load_sheet("tiny", &chip, &sheet, &error), PTO_OK);
  assert_int_equal(pto_chip_sheet_set(&sheet, &note, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "is too long for a line"));
}

static void test_semicolons_within_a_value_begin_no_comment(void **state) {
  struct pto_chip_sheet sheet;
  struct pto_chip chip;
  struct pto_error error;
  char text[TEXT_SIZE], path[64];
  shipped_text("tiny", text);
  replace(text, "clusters = 1 ", "clusters = 1 ; measured: a;b;c ");
  assert_int_equal(load_sheet(text, strlen(text), &chip, &sheet, &error, path), PTO_OK);
  assert_memory_equal(pto_chip_sheet_find(&sheet, "clusters")->source, "a;b;c", 5);
}

static void test_a_comment_may_be_empty_and_a_value_have_a_semicolon(void **state) {
  struct pto_chip_sheet sheet;
  struct pto_chip chip;
  struct pto_error error;
  char text[TEXT_SIZE], path[64];
  shipped_text("tiny", text);
  replace(text, "clusters = 1 ", "clusters = 1 ;  \n; clusters = 1");
  assert_int_equal(load_sheet(text, strlen(text), &chip, &sheet, &error, path), PTO_OK);
  assert_string_equal(pto_chip_sheet_find(&sheet, "clusters")->source, "");
  shipped_text("tiny", text);
  replace(text, "clusters = 1 ", "clusters = 1;2 ; measured: ");
  assert_int_equal(load_sheet(text, strlen(text), &chip, &sheet, &error, path), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "clusters = '1;2' is not a whole number"));
}

static void test_a_head_that_is_too_long_is_cut_after_a_line(void **state) {
  struct pto_chip_sheet sheet;
  struct pto_chip chip;
  struct pto_error error;
  char text[TEXT_SIZE] = "", tiny[TEXT_SIZE], path[64];
  const char line[] = "; a line of twenty\n";
  shipped_text("tiny", tiny);
  size_t used = 0;
  while (used + strlen(line) < sizeof sheet.about + 100) used += (size_t)sprintf(text + used, "%s", line);
  strcpy(text + used, tiny);
  assert_int_equal(load_sheet(text, strlen(text), &chip, &sheet, &error, path), PTO_OK);
  assert_int_equal(strlen(sheet.about), (sizeof sheet.about - 1) / strlen(line) * strlen(line));
}

/* Where there is none once, and where there is none from then on. */
static void test_a_chip_with_numbers_that_are_set_may_find_no_memory(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  for (int stays = 0; stays < 2; stays++) {
    bool is_over = false;
    uint32_t refused = 0;
    for (uint32_t n = 1; !is_over; n++) {
      struct pto_chip chip = {.name = "none"};
      struct pto_error error;
      assert_true(n < 1000);
      fail_stays = stays;
      fail_countdown = n;
      const int status = pto_chip_load("tiny,clusters=2", &chip, &error);
      is_over = status == PTO_OK && fail_countdown != 0;
      fail_countdown = 0;
      fail_stays = false;
      refused += status != PTO_OK;
      if (status == PTO_OK)
        assert_int_equal(chip.cluster_count, 2);
      else
        assert_true(status == PTO_ENOMEM && error.sentence[0]);
    }
    assert_true(refused >= 3); /* the name, the sheet, and the text that it is written to */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_sheet_has_each_number_with_its_tag_and_source),
      cmocka_unit_test(test_a_written_sheet_is_the_same_chip),
      cmocka_unit_test(test_kernels_in_half_the_time_add_up),
      cmocka_unit_test(test_what_is_set_behind_commas_is_key_and_value),
      cmocka_unit_test(test_a_source_that_fits_no_line_is_refused),
      cmocka_unit_test(test_semicolons_within_a_value_begin_no_comment),
      cmocka_unit_test(test_a_comment_may_be_empty_and_a_value_have_a_semicolon),
      cmocka_unit_test(test_a_head_that_is_too_long_is_cut_after_a_line),
      cmocka_unit_test(test_a_chip_with_numbers_that_are_set_may_find_no_memory),
  };
  return cmocka_run_group_tests_name("chip_sheet", tests, NULL, NULL);
}
