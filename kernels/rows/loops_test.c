/* SPDX-License-Identifier: MIT */
/* Oracles: the plainest instruction set for the others, and each loop along rows for the one across them; bit for bit.
 */
#include <kernels/api/math.h>
#include <kernels/rows/loops.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SEED UINT64_C(77001)
enum { ROWS = 21, COUNT = 75 };

static struct pto_rng rng;
static float x[ROWS * COUNT], x_across[COUNT * ROWS], p[ROWS * COUNT], p_across[COUNT * ROWS], a[ROWS], b[ROWS];
static int64_t w[ROWS * COUNT], w_across[COUNT * ROWS];

static const struct pto_panel along = {x, COUNT, COUNT, ROWS}, across = {x_across, ROWS, COUNT, ROWS};
static const struct pto_panel whole_across = {w_across, ROWS, COUNT, ROWS};

static float drawn(void) {
  static const float specials[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-40f, -3e38f, 3e38f, 88.8f};
  if (pto_rng_below(&rng, 40) == 0) return specials[pto_rng_below(&rng, PTO_ARRAY_LENGTH(specials))];
  return (float)(pto_rng_unit(&rng) * 8 - 4);
}

static void draw(void) {
  for (uint64_t j = 0; j < ROWS; j++) {
    a[j] = drawn();
    b[j] = drawn();
    for (uint64_t i = 0; i < COUNT; i++) {
      x_across[i * ROWS + j] = x[j * COUNT + i] = drawn();
      p_across[i * ROWS + j] = p[j * COUNT + i] = drawn();
      w_across[i * ROWS + j] = w[j * COUNT + i] = (int64_t)(pto_rng_next(&rng) >> pto_rng_below(&rng, 64));
    }
  }
}

/* The same bits, or a NaN for a NaN. */
static void assert_same(const float *got, const float *expected, uint64_t count, const char *what, uint32_t index) {
  for (uint64_t i = 0; i < count; i++)
    if (bits_of_f32(got[i]) != bits_of_f32(expected[i]) && !(isnan(got[i]) && isnan(expected[i])))
      fail_msg("%s %u: element %" PRIu64 " is %a, expected %a", what, index, i, (double)got[i], (double)expected[i]);
}

/* In two parts, between which the lanes are kept, or in one. */
static void fold_across(const struct pto_row_loops *loops, uint32_t fold, uint64_t first_count, float *results) {
  static float lanes[PTO_SUM_LANES * (ROWS + PTO_SUM_LANES)];
  struct pto_fold_part part = {.x = across, .a = a, .begins = true, .lanes = lanes, .results = results};
  for (uint64_t i = 0; i < PTO_ARRAY_LENGTH(lanes); i++) lanes[i] = NAN;
  part.x.count = first_count;
  if (first_count > 0) loops->fold_across[fold](&part);
  part.begins = first_count == 0;
  part.ends = true;
  part.x.data = x_across + first_count * ROWS;
  part.x.count = COUNT - first_count;
  loops->fold_across[fold](&part);
}

static void test_every_fold_gives_the_same_bits_along_across_and_on_every_level(void **state) {
  (void)state;
  float expected[ROWS], got[ROWS];
  for (uint32_t round = 0; round < 20; round++) {
    draw();
    for (uint32_t fold = 0; fold < PTO_FOLD_COUNT; fold++) {
      pto_row_loops_at(PTO_LEVEL_PLAIN)->fold_along[fold](expected, &along, a);
      for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
        const struct pto_row_loops *loops = pto_row_loops_at(level);
        if (loops == NULL) continue;
        loops->fold_along[fold](got, &along, a);
        assert_same(got, expected, ROWS, "fold along", fold);
        for (uint64_t first_count = 0; first_count < COUNT; first_count += 2 * PTO_SUM_LANES) {
          fold_across(loops, fold, first_count, got);
          assert_same(got, expected, ROWS, "fold across", fold);
        }
      }
    }
  }
}

static void test_every_map_gives_the_same_bits_along_across_and_on_every_level(void **state) {
  (void)state;
  static float expected[ROWS * COUNT], got[ROWS * COUNT], turned[ROWS * COUNT];
  draw();
  for (uint32_t map = 0; map < PTO_MAP_COUNT; map++) {
    struct pto_map_panel rows = {.x = along, .p = p, .q = x, .a = a, .b = b, .out = expected, COUNT, COUNT, COUNT};
    pto_row_loops_at(PTO_LEVEL_PLAIN)->map_along[map](&rows);
    rows.out = got;
    struct pto_map_panel panel = {
        .x = across, .p = p_across, .q = x_across, .a = a, .b = b, .out = turned, ROWS, ROWS, ROWS};
    for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
      const struct pto_row_loops *loops = pto_row_loops_at(level);
      if (loops == NULL) continue;
      loops->map_along[map](&rows);
      assert_same(got, expected, ROWS * COUNT, "map along", map);
      loops->map_across[map](&panel);
      for (uint64_t j = 0; j < ROWS; j++)
        for (uint64_t i = 0; i < COUNT; i++) got[j * COUNT + i] = turned[i * ROWS + j];
      assert_same(got, expected, ROWS * COUNT, "map across", map);
    }
  }
}

static void test_means_and_inverse_roots_give_the_same_bits_on_every_level(void **state) {
  (void)state;
  float means[ROWS * COUNT], roots[ROWS * COUNT], got[ROWS * COUNT];
  draw();
  for (uint64_t i = 0; i < ROWS * COUNT; i++) {
    means[i] = (float)((double)x[i] / 129);
    roots[i] = (float)(1 / sqrt((double)(float)((double)x[i] / 129) + 1e-5));
  }
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
    const struct pto_row_loops *loops = pto_row_loops_at(level);
    if (loops == NULL) continue;
    memcpy(got, x, sizeof got);
    loops->divide_values(got, ROWS * COUNT, 129);
    assert_same(got, means, ROWS * COUNT, "mean", level);
    memcpy(got, x, sizeof got);
    loops->invert_roots(got, ROWS * COUNT, 129, 1e-5);
    assert_same(got, roots, ROWS * COUNT, "inverse root", level);
  }
}

/* Operands that all rows share: along with a pitch of 0, across by their own loop. */
static void test_shared_operands_are_those_of_every_row(void **state) {
  (void)state;
  static float expected[ROWS * COUNT], turned[ROWS * COUNT];
  draw();
  for (uint32_t map = 0; map < PTO_MAP_COUNT; map++)
    for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
      const struct pto_row_loops *loops = pto_row_loops_at(level);
      if (loops == NULL) continue;
      loops->map_along[map](&(struct pto_map_panel){
          .x = along, .p = p, .q = p + COUNT, .a = a, .b = b, .out = expected, .out_pitch = COUNT});
      loops->map_lines[map](&(struct pto_map_panel){.x = across,
                                                    .p = p,
                                                    .q = p + COUNT,
                                                    .a = a,
                                                    .b = b,
                                                    .out = turned,
                                                    .p_pitch = 1,
                                                    .q_pitch = 1,
                                                    .out_pitch = ROWS});
      for (uint64_t j = 0; j < ROWS; j++)
        for (uint64_t i = 0; i < COUNT; i++)
          assert_same(&turned[i * ROWS + j], &expected[j * COUNT + i], 1, "map", map);
    }
}

static void test_integer_folds_wrap_alike_along_across_and_on_every_level(void **state) {
  (void)state;
  draw();
  for (uint32_t class_ = PTO_CLASS_I64; class_ <= PTO_CLASS_U64; class_++)
    for (uint32_t fold = 0; fold < PTO_FOLD_COUNT; fold++)
      for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
        const struct pto_row_loops *loops = pto_row_loops_at(level), *plain = pto_row_loops_at(PTO_LEVEL_PLAIN);
        int64_t results[ROWS];
        if (loops == NULL || plain->whole_along[class_][fold] == NULL) continue;
        for (uint64_t j = 0; j < ROWS; j++) results[j] = 1;
        loops->whole_across[class_][fold](results, &whole_across);
        for (uint64_t j = 0; j < ROWS; j++) {
          assert_int_equal(results[j], plain->whole_along[class_][fold](w + j * COUNT, COUNT, 1));
          assert_int_equal(results[j], loops->whole_along[class_][fold](w + j * COUNT, COUNT, 1));
        }
      }
}

static void test_the_first_of_equals_is_found_along_and_across(void **state) {
  (void)state;
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
    const struct pto_row_loops *loops = pto_row_loops_at(level);
    if (loops == NULL) continue;
    draw();
    for (uint64_t i = 0; i < COUNT; i++) {
      float values[ROWS];
      uint32_t at[ROWS];
      for (uint64_t j = 0; j < ROWS; j++) {
        values[j] = x[j * COUNT + i];
        at[j] = UINT32_MAX;
      }
      loops->find_across[PTO_CLASS_F32](at, &across, values);
      for (uint64_t j = 0; j < ROWS; j++) {
        uint64_t first = 0;
        while (!(x[j * COUNT + first] == values[j] || (isnan(x[j * COUNT + first]) && isnan(values[j])))) first++;
        assert_int_equal(at[j], first);
        assert_int_equal(loops->find_along[PTO_CLASS_F32](x + j * COUNT, COUNT, (union pto_scalar){.f32 = values[j]}),
                         first);
      }
    }
    assert_int_equal(loops->find_along[PTO_CLASS_F32](x, COUNT, (union pto_scalar){.f32 = 123.5f}), COUNT);
  }
}

/* Written out: groups of 16, four doubling steps, then what there is so far. */
static float joined(float l, float r, bool is_product) { return is_product ? l * r : l + r; }
static void scan_one(const float *row, float *out, bool is_product) {
  float carry = is_product;
  for (uint64_t first = 0; first < COUNT; first += 16) {
    const uint64_t count = pto_min_u64(16, COUNT - first);
    memcpy(out + first, row + first, count * sizeof(float));
    for (uint64_t step = 1; step < 16; step *= 2)
      for (uint64_t i = count; i-- > step;) out[first + i] = joined(out[first + i], out[first + i - step], is_product);
    for (uint64_t i = 0; i < count; i++) out[first + i] = joined(out[first + i], carry, is_product);
    carry = out[first + count - 1];
  }
}

static void test_running_sums_and_products_go_in_groups_of_sixteen(void **state) {
  (void)state;
  static float expected[COUNT], got[COUNT], panel[COUNT * ROWS];
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT * PTO_SCAN_COUNT; level++) {
    const enum pto_scan scan = level % PTO_SCAN_COUNT;
    const bool is_product = scan == PTO_SCAN_product;
    const struct pto_row_loops *loops = pto_row_loops_at(level / PTO_SCAN_COUNT);
    if (loops == NULL) continue;
    draw();
    float carries[ROWS];
    for (uint64_t j = 0; j < ROWS; j++) carries[j] = is_product;
    loops->scan_across[scan][PTO_CLASS_F32](panel, &across, carries);
    for (uint64_t j = 0; j < ROWS; j++) {
      float carry = is_product;
      scan_one(x + j * COUNT, expected, is_product);
      loops->scan_along[scan][PTO_CLASS_F32](got, x + j * COUNT, COUNT, &carry);
      assert_same(got, expected, COUNT, "scan along", level);
      assert_same(&carry, &expected[COUNT - 1], 1, "carry", level);
      assert_same(&carries[j], &expected[COUNT - 1], 1, "carry", level);
      for (uint64_t i = 0; i < COUNT; i++) assert_same(&panel[i * ROWS + j], &expected[i], 1, "scan across", level);
    }
  }
}

int main(void) {
  rng.state = SEED;
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_fold_gives_the_same_bits_along_across_and_on_every_level),
      cmocka_unit_test(test_every_map_gives_the_same_bits_along_across_and_on_every_level),
      cmocka_unit_test(test_means_and_inverse_roots_give_the_same_bits_on_every_level),
      cmocka_unit_test(test_shared_operands_are_those_of_every_row),
      cmocka_unit_test(test_integer_folds_wrap_alike_along_across_and_on_every_level),
      cmocka_unit_test(test_the_first_of_equals_is_found_along_and_across),
      cmocka_unit_test(test_running_sums_and_products_go_in_groups_of_sixteen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
