/* SPDX-License-Identifier: MIT */
/* Files of text: which are opened, and why others are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/text.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/temporary_path.h>

static char path[TEMPORARY_PATH_BYTES];

static void open_with_size(uint64_t bytes, int status, const char *sentence) {
  struct pto_error error;
  pto_error_clear(&error);
  assert_int_equal(truncate(path, (off_t)bytes), 0); /* it takes no room on a disk */
  FILE *file = pto_text_file_open(path, &error);
  assert_int_equal(file != NULL, status == PTO_OK);
  assert_int_equal(error.status, status);
  if (sentence && !strstr(error.sentence, sentence)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, sentence);
  if (file) fclose(file);
}

static void a_file_that_is_too_large_is_refused_with_its_size(void **state) {
  open_with_size(0, PTO_OK, NULL);
  open_with_size(PTO_TEXT_FILE_BYTES, PTO_OK, NULL);
  open_with_size(PTO_TEXT_FILE_BYTES + 1, PTO_EINVAL, ": 1073741825 bytes, at most 1073741824 are read");
}

static void without_memory_it_is_told_and_closed(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  const int next = dup(0); /* the descriptor that an open gets */
  close(next);
  fail_countdown = 1;
  open_with_size(0, PTO_ENOMEM, "Cannot allocate memory");
  assert_int_equal(dup(0), next);
  close(next);
}

static void a_text_ends_with_its_last_bytes_alone(void **state) {
  (void)state;
  assert_true(pto_text_ends_with("a.json", ".json"));
  assert_true(pto_text_ends_with(".json", ".json"));
  assert_true(pto_text_ends_with("a", ""));
  assert_false(pto_text_ends_with("json", ".json"));
  assert_false(pto_text_ends_with("a.json.gz", ".json"));
  assert_false(pto_text_ends_with("a.JSON", ".json"));
}

static int make_file(void **state) {
  temporary_template(path, "text");
  const int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}
static int remove_file(void **state) { return unlink(path); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_that_is_too_large_is_refused_with_its_size),
      cmocka_unit_test(without_memory_it_is_told_and_closed),
      cmocka_unit_test(a_text_ends_with_its_last_bytes_alone),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
