/* SPDX-License-Identifier: MIT */
/* What a rank has written into memory, as it goes to other processes: behind a header, and whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <check/ranks/ranks_state.h>

#define HEADER_BYTES 12

static int file_of(const char *text) {
  const int fd = memfd_create("told", MFD_CLOEXEC);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  return fd;
}

static void test_files_lie_one_after_another_each_behind_its_header(void **state) {
  (void)state;
  static const char *const texts[] = {"four", "", "thirteen text"};
  static const size_t ends[] = {16, 32, 64}; /* of header and text, up to a multiple of 8 */
  struct pto_exchange_bytes out = {0};
  for (size_t i = 0; i < 3; i++) {
    const int fd = file_of(texts[i]);
    uint64_t bytes = 99;
    const char *header = pto_ranks_add_file(&out, fd, HEADER_BYTES, &bytes);
    assert_non_null(header);
    assert_int_equal(bytes, strlen(texts[i]));
    assert_int_equal(out.count, ends[i]);
    assert_ptr_equal(header, out.data + (i ? ends[i - 1] : 0));
    assert_memory_equal(header + HEADER_BYTES, texts[i], bytes);
    close(fd);
  }
  pto_exchange_bytes_fini(&out);
}

static void test_what_has_no_size_adds_nothing(void **state) {
  (void)state;
  struct pto_exchange_bytes out = {0};
  uint64_t bytes = 99;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_null(pto_ranks_add_file(&out, ends[0], HEADER_BYTES, &bytes));
  assert_int_equal(out.count, 0);
  assert_int_equal(bytes, 99);
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_files_lie_one_after_another_each_behind_its_header),
                                     cmocka_unit_test(test_what_has_no_size_adds_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
