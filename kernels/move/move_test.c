/* SPDX-License-Identifier: MIT */
/*
 * Moves against plain index loops: random boxes of every element size, with gaps, permutations, repeated and reversed
 * sources;
 * not a byte beside the box changes.
 */
#include <kernels/move/move.h>
#include <runtime/base/base.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED UINT64_C(71)
#define MAX_ELEMS 60000

static const uint32_t dtypes[] = {PTO_UINT8, PTO_BFLOAT16, PTO_FLOAT32, PTO_INT64, PTO_INT4};

struct box {
  uint32_t ndims, dtype;
  uint64_t extent[PTO_MOVE_DIMS];
  int64_t to_step[PTO_MOVE_DIMS], from_step[PTO_MOVE_DIMS];
  int64_t to_first, from_first;
  uint64_t to_elems, from_elems; /* that lie between the first and the last, and the margins */
};

static uint64_t numel_of(const struct box *box) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < box->ndims; d++) numel *= box->extent[d];
  return numel;
}

/* Steps for the dimensions in a random order, each beyond all that is inside it; `gap` in 1/8: how often it is wider.
 */
static uint64_t draw_steps(const struct box *box, int64_t *steps, uint64_t gap, struct pto_rng *rng) {
  uint32_t order[PTO_MOVE_DIMS];
  uint64_t elems = 1;
  for (uint32_t d = 0; d < box->ndims; d++) order[d] = d;
  for (uint32_t d = box->ndims; d > 1; d--) {
    const uint64_t other = pto_rng_below(rng, d);
    const uint32_t swapped = order[d - 1];
    order[d - 1] = order[other];
    order[other] = swapped;
  }
  for (uint32_t i = 0; i < box->ndims; i++) {
    const uint32_t d = order[i];
    if (pto_rng_below(rng, 8) < gap) elems += pto_rng_below(rng, i == 0 ? 3 : 40);
    steps[d] = (int64_t)elems;
    elems *= box->extent[d];
  }
  return elems;
}

static void draw_box(struct box *box, struct pto_rng *rng) {
  const uint64_t gap = pto_rng_below(rng, 4) * 2, odd = pto_rng_below(rng, 3);
  do {
    box->ndims = (uint32_t)pto_rng_below(rng, 6);
    for (uint32_t d = 0; d < box->ndims; d++)
      box->extent[d] = pto_rng_below(rng, 4) == 0 ? 1 + pto_rng_below(rng, 400) : 1 + pto_rng_below(rng, 9);
    if (box->ndims == 2 && pto_rng_below(rng, 2) == 0)
      for (uint32_t d = 0; d < 2; d++) box->extent[d] = 60 + pto_rng_below(rng, 180);
  } while (numel_of(box) > MAX_ELEMS);
  box->to_elems = draw_steps(box, box->to_step, gap, rng);
  box->from_elems = draw_steps(box, box->from_step, gap, rng);
  box->to_first = (int64_t)pto_rng_below(rng, 5);
  box->from_first = (int64_t)pto_rng_below(rng, 5);
  for (uint32_t d = 0; d < box->ndims && odd == 0; d++) {
    const uint64_t kind = pto_rng_below(rng, 3);
    if (kind == 0) box->from_step[d] = 0;
    if (kind == 1) {
      box->from_first += (int64_t)(box->extent[d] - 1) * box->from_step[d];
      box->from_step[d] = -box->from_step[d];
    }
  }
  box->to_elems += 16;
  box->from_elems += 16;
}

static void copy_elem(char *to, int64_t i, const char *from, int64_t j, uint32_t dtype) {
  if (pto_dtype_bits(dtype) < 8) {
    const int value = from[j / 2] >> (j % 2 * 4) & 15;
    to[i / 2] = (char)(i % 2 == 0 ? (to[i / 2] & 0xf0) | value : (to[i / 2] & 0x0f) | value << 4);
    return;
  }
  const int64_t size = (int64_t)pto_dtype_size(dtype);
  memcpy(to + i * size, from + j * size, (size_t)size);
}

static void move_plainly(const struct box *box, char *to, const char *from) {
  for (uint64_t n = 0; n < numel_of(box); n++) {
    int64_t i = box->to_first, j = box->from_first;
    uint64_t rest = n;
    for (uint32_t d = box->ndims; d-- > 0; rest /= box->extent[d]) {
      i += (int64_t)(rest % box->extent[d]) * box->to_step[d];
      j += (int64_t)(rest % box->extent[d]) * box->from_step[d];
    }
    copy_elem(to, i, from, j, box->dtype);
  }
}

static void run_box(const struct box *box, char *to, const char *from) {
  struct pto_move move;
  pto_move_init(&move, box->dtype);
  for (uint32_t d = 0; d < box->ndims; d++) pto_move_dim(&move, box->extent[d], box->to_step[d], box->from_step[d]);
  pto_move_plan(&move);
  pto_move_run(&move, (struct pto_place){to, box->to_first},
               (struct pto_place){(void *)(uintptr_t)from, box->from_first});
}

static void check_box(const struct box *box, struct pto_rng *rng) {
  const uint64_t size = pto_dtype_size(box->dtype), bytes = box->to_elems * size;
  char *to = malloc(bytes), *expected = malloc(bytes), *from = malloc(box->from_elems * size);
  assert_true(to != NULL && expected != NULL && from != NULL);
  for (uint64_t i = 0; i < box->from_elems * size; i++) from[i] = (char)pto_rng_next(rng);
  memset(expected, 0x5a, bytes);
  move_plainly(box, expected, from);
  memset(to, 0x5a, bytes);
  run_box(box, to, from);
  if (memcmp(to, expected, bytes) != 0) {
    for (uint32_t d = 0; d < box->ndims; d++)
      print_message("extent %lu to %ld from %ld\n", (unsigned long)box->extent[d], (long)box->to_step[d],
                    (long)box->from_step[d]);
    fail_msg("%s: the move differs from the plain loops", pto_dtype_name(box->dtype));
  }
  free(to);
  free(expected);
  free(from);
}

static void test_moves_of_random_boxes_give_what_plain_loops_give_and_touch_nothing_else(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  print_message("seed %lu\n", (unsigned long)SEED);
  for (uint32_t i = 0; i < 1500; i++) {
    struct box box = {.dtype = dtypes[i % PTO_ARRAY_LENGTH(dtypes)]};
    draw_box(&box, &rng);
    check_box(&box, &rng);
  }
}

/* Of many pieces, and no multiple of anything. */
static void test_large_transpositions_are_right(void **state) {
  (void)state;
  struct pto_rng rng = {SEED + 1};
  static const uint64_t shapes[][2] = {{512, 512}, {517, 389}, {1000, 17}, {16, 5003}, {9, 9001}, {65, 2049}};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(dtypes); i++)
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(shapes); s++) {
      const uint64_t rows = shapes[s][0], cols = shapes[s][1];
      struct box box = {.ndims = 2,
                        .dtype = dtypes[i],
                        .extent = {rows, cols},
                        .to_step = {(int64_t)cols + s % 2, 1},
                        .from_step = {1, (int64_t)rows + 3 * (s % 2)},
                        .to_elems = rows * (cols + 1),
                        .from_elems = (rows + 3) * cols};
      check_box(&box, &rng);
    }
}

static void test_an_empty_box_moves_nothing(void **state) {
  (void)state;
  struct box box = {.ndims = 2, .dtype = PTO_FLOAT32, .extent = {3, 0}, .to_step = {1, 1}, .from_step = {1, 1}};
  run_box(&box, NULL, NULL);
}

static void test_neighbours_on_both_sides_become_one_dimension(void **state) {
  (void)state;
  struct pto_move move;
  pto_move_init(&move, PTO_FLOAT32);
  for (uint32_t d = 0; d < PTO_MOVE_DIMS; d++) {
    const int64_t step = INT64_C(1) << (PTO_MOVE_DIMS - 1 - d);
    pto_move_dim(&move, 2, step, step);
  }
  pto_move_plan(&move);
  assert_int_equal(move.ndims, 1);
  assert_int_equal(move.extent[0], 1 << PTO_MOVE_DIMS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moves_of_random_boxes_give_what_plain_loops_give_and_touch_nothing_else),
      cmocka_unit_test(test_large_transpositions_are_right),
      cmocka_unit_test(test_an_empty_box_moves_nothing),
      cmocka_unit_test(test_neighbours_on_both_sides_become_one_dimension),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
