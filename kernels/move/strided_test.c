/* SPDX-License-Identifier: MIT */
/* Oracle: memcpy of one row after the other.  Both sides end at pages that may not be touched, so that a read outside
 * the rows ends the test as much as a write does. */
#include <kernels/move/strided.h>
#include <runtime/base/base.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define SEED UINT64_C(4099)
#define PAGE UINT64_C(4096)
#define PAGES 24 /* that may be touched, between two that may not */
#define SPACE (PAGES * PAGE)
#define GAP 0x5a

/* SPACE bytes between two pages without access; ends the test where there are none. */
static char *guarded_memory(void) {
  char *memory = mmap(NULL, SPACE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  assert_int_equal(mprotect(memory + PAGE, SPACE, PROT_READ | PROT_WRITE), 0);
  return memory + PAGE;
}

static void free_guarded(char *memory) { assert_int_equal(munmap(memory - PAGE, SPACE + 2 * PAGE), 0); }

static uint64_t magnitude(int64_t step) { return (uint64_t)(step < 0 ? -step : step); }

/* From the first byte of all rows to behind the last, where they are `step` and lines `line` apart. */
static uint64_t span(const struct pto_strided *rows, int64_t step, int64_t line) {
  return (rows->count - 1) * magnitude(step) + (rows->lines - 1) * magnitude(line) + rows->piece_bytes;
}

/* Where row 0 of line 0 is, when the lowest byte of all is at `lowest`. */
static char *first_row(char *lowest, const struct pto_strided *rows, int64_t step, int64_t line) {
  if (step < 0) lowest += (rows->count - 1) * magnitude(step);
  if (line < 0) lowest += (rows->lines - 1) * magnitude(line);
  return lowest;
}

static void copy_plainly(const struct pto_strided *rows) {
  for (uint64_t k = 0; k < rows->lines; k++)
    for (uint64_t i = 0; i < rows->count; i++)
      memcpy(rows->to + (int64_t)k * rows->to_line + (int64_t)i * rows->to_step,
             rows->from + (int64_t)k * rows->from_line + (int64_t)i * rows->from_step, rows->piece_bytes);
}

struct memories {
  char *from, *to, *wanted;
};

/* Steps and sizes of `rows`, both sides at the low end of their memory or at its high one. */
static void check_rows(const struct memories *m, struct pto_strided *rows, bool is_to_high, bool is_from_high) {
  const uint64_t to_span = span(rows, rows->to_step, rows->to_line);
  const uint64_t from_span = span(rows, rows->from_step, rows->from_line);
  assert_true(to_span <= SPACE && from_span <= SPACE);
  const uint64_t to_at = is_to_high ? SPACE - to_span : 0, from_at = is_from_high ? SPACE - from_span : 0;
  rows->from = first_row(m->from + from_at, rows, rows->from_step, rows->from_line);
  memset(m->wanted, GAP, SPACE);
  rows->to = first_row(m->wanted + to_at, rows, rows->to_step, rows->to_line);
  copy_plainly(rows);
  rows->to = first_row(m->to + to_at, rows, rows->to_step, rows->to_line);
  memset(m->to, GAP, SPACE);
  pto_strided_copy(rows);
  if (memcmp(m->to, m->wanted, SPACE) != 0)
    fail_msg("%lu lines of %lu rows of %lu bytes, to steps of %ld from steps of %ld", (unsigned long)rows->lines,
             (unsigned long)rows->count, (unsigned long)rows->piece_bytes, (long)rows->to_step, (long)rows->from_step);
}

static void make_memories(struct memories *m) {
  struct pto_rng rng = {SEED};
  *m = (struct memories){guarded_memory(), guarded_memory(), guarded_memory()};
  for (uint64_t i = 0; i < SPACE; i++) m->from[i] = (char)pto_rng_next(&rng);
}

static void free_memories(struct memories *m) {
  free_guarded(m->from);
  free_guarded(m->to);
  free_guarded(m->wanted);
}

static void test_rows_of_any_size_and_step_arrive_and_no_byte_beside_them_is_touched(void **state) {
  (void)state;
  static const int64_t gaps[] = {0, 1, 2, 5, 27, 64, 130};
  static const uint64_t counts[] = {1, 2, 3, 4, 7, 16, 17, 129};
  struct memories m;
  uint32_t turn = 0;
  make_memories(&m);
  for (uint64_t size = 1; size <= 132; size += size < 70 ? 1 : 31)
    for (uint32_t a = 0; a < PTO_ARRAY_LENGTH(gaps); a++)
      for (uint32_t b = 0; b < PTO_ARRAY_LENGTH(gaps); b++, turn++) {
        struct pto_strided rows = {.to_step = (int64_t)size + gaps[a],
                                   .from_step = (int64_t)size + gaps[b],
                                   .piece_bytes = size,
                                   .count = counts[turn % PTO_ARRAY_LENGTH(counts)],
                                   .lines = 1};
        check_rows(&m, &rows, turn % 2 != 0, turn / 2 % 2 != 0);
      }
  free_memories(&m);
}

/* Steps of `from` of either sign and 0, steps of `to` of either sign, lines between rows and rows between lines. */
static void test_lines_of_random_steps_arrive_and_no_byte_beside_them_is_touched(void **state) {
  (void)state;
  struct pto_rng rng = {SEED + 1};
  struct memories m;
  make_memories(&m);
  for (uint32_t turn = 0; turn < 3000; turn++) {
    const uint64_t size = 1 + pto_rng_below(&rng, pto_rng_below(&rng, 2) == 0 ? 6 : 40);
    struct pto_strided rows = {
        .piece_bytes = size, .count = 1 + pto_rng_below(&rng, 80), .lines = 1 + pto_rng_below(&rng, 9)};
    const uint64_t gap = pto_rng_below(&rng, 20);
    const bool is_interleaved = pto_rng_below(&rng, 3) == 0;
    rows.to_step = (int64_t)((is_interleaved ? rows.lines * size : size) + gap);
    rows.to_line = (int64_t)(is_interleaved ? size : rows.count * (size + gap) + pto_rng_below(&rng, 30));
    if (pto_rng_below(&rng, 4) == 0) rows.to_step = -rows.to_step;
    if (pto_rng_below(&rng, 4) == 0) rows.to_line = -rows.to_line;
    rows.from_step = (int64_t)pto_rng_below(&rng, 60) - 10;
    rows.from_line = (int64_t)pto_rng_below(&rng, 400) - 100;
    check_rows(&m, &rows, pto_rng_below(&rng, 2) == 0, pto_rng_below(&rng, 2) == 0);
  }
  free_memories(&m);
}

int main(void) {
  print_message("seed %lu\n", (unsigned long)SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_of_any_size_and_step_arrive_and_no_byte_beside_them_is_touched),
      cmocka_unit_test(test_lines_of_random_steps_arrive_and_no_byte_beside_them_is_touched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
