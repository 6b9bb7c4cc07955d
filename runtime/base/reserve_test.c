/* SPDX-License-Identifier: MIT */
/* Reservations: of the size asked for, zeroed, writable from end to end; with large pages or without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <runtime/base/reserve.h>

#define LARGE (UINT64_C(1) << 21)

static void check(const struct pto_reserve *reserve, uint64_t size_bytes) {
  char *bytes = reserve->addr;
  assert_int_equal(reserve->size_bytes, pto_align_up(size_bytes, 4096));
  assert_int_equal((uintptr_t)bytes % 4096, 0);
  for (uint64_t i = 0; i < reserve->size_bytes; i += 1000) {
    assert_int_equal(bytes[i], 0);
    bytes[i] = 1;
  }
  assert_int_equal(bytes[reserve->size_bytes - 1] & ~1, 0);
  bytes[reserve->size_bytes - 1] = 1;
}

static void test_a_log_is_as_large_as_asked_for_zeroed_and_writable_to_its_end(void **state) {
  static const uint64_t sizes[] = {1, 5000, LARGE, LARGE + 4097, 3 * LARGE - 1, 5 * LARGE};
  static const uint64_t small[] = {0, 1, 4096, 100000, LARGE, LARGE + 1};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sizes); i++)
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(small); k++) {
      struct pto_reserve reserve = {0};
      assert_true(pto_reserve_init_large(&reserve, sizes[i], small[k]));
      check(&reserve, sizes[i]);
      pto_reserve_fini(&reserve);
      assert_null(reserve.addr);
    }
}

static void test_the_large_pages_of_a_log_begin_where_the_small_ones_end(void **state) {
  struct pto_reserve reserve = {0};
  assert_true(pto_reserve_init_large(&reserve, 4 * LARGE, 100000));
  assert_int_equal(((uintptr_t)reserve.addr + pto_align_up(100000, 4096)) % LARGE, 0);
  pto_reserve_fini(&reserve);
}

/* Whether the system was asked for large pages at an address: the flag hg of its mapping. */
static bool is_large(const void *addr) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  assert_non_null(maps);
  char line[512];
  bool is_inside = false, is_large = false;
  while (fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) is_inside = begin <= (uintptr_t)addr && (uintptr_t)addr < end;
    if (is_inside && strncmp(line, "VmFlags:", 8) == 0) is_large = strstr(line, " hg") != NULL;
  }
  fclose(maps);
  return is_large;
}

static void test_only_where_a_large_page_fits_it_is_asked_for(void **state) {
  struct pto_reserve reserve = {0};
  assert_true(pto_reserve_init(&reserve, 5 * LARGE));
  char *const page = (void *)pto_align_up((uintptr_t)reserve.addr, LARGE);
  if (madvise(page, LARGE, MADV_HUGEPAGE) != 0) skip(); /* a system without them */
  madvise(page, LARGE, MADV_NOHUGEPAGE);
  pto_ask_for_large_pages(page + 4096, 3 * LARGE - 8192);
  assert_false(is_large(page + 4096));
  assert_true(is_large(page + LARGE));
  assert_true(is_large(page + 2 * LARGE - 1));
  assert_false(is_large(page + 2 * LARGE));
  pto_reserve_fini(&reserve);
}

static void test_moved_pages_are_read_at_their_new_place(void **state) {
  struct pto_reserve reserve = {0};
  const uint64_t part = 16384;
  assert_true(pto_reserve_init(&reserve, 3 * part));
  char *const from = reserve.addr, *const to = from + 2 * part;
  for (uint64_t i = 0; i < part; i++) from[i] = (char)(i * 7 + 1), from[part + i] = 5;
  const bool has_moved = pto_reserve_move(to, from, part);
  for (uint64_t i = 0; i < part; i++) {
    assert_int_equal(has_moved ? to[i] : from[i], (char)(i * 7 + 1));
    assert_int_equal(has_moved ? from[i] : to[i], 0);
    assert_int_equal(from[part + i], 5);
  }
  from[0] = to[0] = 1; /* both can be written */
  pto_reserve_fini(&reserve);
}

static void test_where_no_pages_can_go_can_be_written(void **state) {
  struct pto_reserve reserve = {0};
  assert_true(pto_reserve_init(&reserve, 8 * 4096));
  char *const from = reserve.addr, *const to = from + 4 * 4096;
  assert_int_equal(munmap(from, 2 * 4096), 0);
  assert_false(pto_reserve_move(to, from, 2 * 4096));
  to[0] = to[4096] = 1;
  pto_reserve_fini(&reserve);
}

static void test_what_is_too_large_or_nothing_is_refused(void **state) {
  struct pto_reserve reserve = {0};
  assert_false(pto_reserve_init(&reserve, 0));
  assert_false(pto_reserve_init_large(&reserve, 0, 0));
  assert_false(pto_reserve_init_large(&reserve, UINT64_MAX, 0));
  assert_false(pto_reserve_init_large(&reserve, UINT64_MAX / 2, 4096));
  assert_null(reserve.addr);
  pto_reserve_fini(&reserve);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_log_is_as_large_as_asked_for_zeroed_and_writable_to_its_end),
      cmocka_unit_test(test_the_large_pages_of_a_log_begin_where_the_small_ones_end),
      cmocka_unit_test(test_only_where_a_large_page_fits_it_is_asked_for),
      cmocka_unit_test(test_moved_pages_are_read_at_their_new_place),
      cmocka_unit_test(test_where_no_pages_can_go_can_be_written),
      cmocka_unit_test(test_what_is_too_large_or_nothing_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
