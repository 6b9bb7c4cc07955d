/* SPDX-License-Identifier: MIT */
/* Oracle: the sum of products in double, within the bound of an f32 chain of that length. */
#include <kernels/gemm.h>
#include <kernels/kernel_test_support.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define MAX_SIZE 300

static float a[MAX_SIZE * MAX_SIZE], b[MAX_SIZE * MAX_SIZE], c[MAX_SIZE * MAX_SIZE], d[MAX_SIZE * MAX_SIZE];

static void fill(struct pto_rng *rng) {
  for (uint32_t i = 0; i < MAX_SIZE * MAX_SIZE; i++) {
    a[i] = (float)(pto_rng_unit(rng) * 2 - 1);
    b[i] = (float)(pto_rng_unit(rng) * 2 - 1);
    c[i] = d[i] = (float)(pto_rng_unit(rng) * 2 - 1);
  }
}

static struct pto_matrix matrix(float *addr, uint64_t rows, uint64_t cols) {
  return (struct pto_matrix){addr, rows, cols, cols, 1, PTO_FLOAT32};
}

static void test_every_set_is_within_the_bound_of_the_exact_product(void **state) {
  (void)state;
  static const uint64_t sizes[][3] = {{1, 1, 1},     {6, 128, 16},   {7, 129, 17},   {5, 127, 15},
                                      {48, 128, 64}, {49, 1, 65},    {101, 150, 33}, {47, 300, 63},
                                      {97, 40, 129}, {13, 257, 300}, {300, 3, 5}};
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(sizes); s++) {
    const uint64_t m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
    for (uint32_t set = 0;; set++) {
      const struct pto_gemm gemm = {matrix(a, m, k), matrix(b, k, n), matrix(c, m, n), 0.75f, s % 2 != 0};
      memcpy(c, d, sizeof c);
      if (!pto_gemm_run_at(set, &gemm)) {
        assert_true(set > 0);
        break;
      }
      for (uint64_t i = 0; i < m * n; i++) {
        double sum = 0, magnitude = 0;
        for (uint64_t p = 0; p < k; p++) {
          const double term = 0.75 * (double)a[i / n * k + p] * (double)b[p * n + i % n];
          sum += term;
          magnitude += fabs(term);
        }
        const double old = gemm.is_added ? (double)d[i] : 0;
        const double bound = ((double)k + 3) * 0x1p-24 * (magnitude + fabs(old));
        if (fabs((double)c[i] - sum - old) > bound)
          fail_msg("set %u, %" PRIu64 "×%" PRIu64 "×%" PRIu64 ": element %" PRIu64 " is %g, exact %g", set, m, k, n, i,
                   (double)c[i], sum + old);
      }
      for (uint64_t i = m * n; i < MAX_SIZE * MAX_SIZE; i++) assert_true(c[i] == d[i]);
    }
  }
}

/* Rows and columns from the middle of a product, computed by themselves. */
static void test_an_element_depends_on_its_row_and_column_alone(void **state) {
  (void)state;
  enum { M = 101, K = 200, N = 150, ROW = 47, COL = 59, ROWS = 3, COLS = 20 };
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t set = 0;; set++) {
    const struct pto_gemm whole = {matrix(a, M, K), matrix(b, K, N), matrix(c, M, N), 1, false};
    struct pto_gemm part = whole;
    part.a.addr = a + ROW * K;
    part.b.addr = b + COL;
    part.c = matrix(d, ROWS, COLS);
    part.a.rows = ROWS;
    part.b.cols = COLS;
    if (!pto_gemm_run_at(set, &whole)) break;
    assert_true(pto_gemm_run_at(set, &part));
    for (uint32_t i = 0; i < ROWS; i++)
      assert_memory_equal(d + i * COLS, c + (ROW + i) * N + COL, COLS * sizeof(float));
  }
}

/* Transposed operands, 16-bit ones of the same values, few rows and many: each goes its own way through packing. */
static void test_layout_dtype_and_number_of_rows_do_not_change_a_bit(void **state) {
  (void)state;
  enum { K = 150, N = 40, M = 70 };
  static float a_turned[K * M], b_turned[N * K];
  static uint16_t a_half[M * K], b_half[K * N];
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t i = 0; i < M * K; i++) {
    a_half[i] = pto_bf16_from_f32(a[i]);
    a_turned[i % K * M + i / K] = a[i] = pto_bf16_to_f32(a_half[i]);
  }
  for (uint32_t i = 0; i < K * N; i++) {
    b_half[i] = pto_bf16_from_f32(b[i]);
    b_turned[i % N * K + i / N] = b[i] = pto_bf16_to_f32(b_half[i]);
  }
  const struct pto_matrix as[] = {
      matrix(a, M, K), pto_matrix_transpose(matrix(a_turned, K, M)), {a_half, M, K, K, 1, PTO_BFLOAT16}};
  const struct pto_matrix bs[] = {
      matrix(b, K, N), pto_matrix_transpose(matrix(b_turned, N, K)), {b_half, K, N, N, 1, PTO_BFLOAT16}};
  const struct pto_gemm plain = {as[0], bs[0], matrix(d, M, N), 1, false};
  for (uint32_t set = 0; pto_gemm_run_at(set, &plain); set++)
    for (uint32_t way = 0; way < 9; way++)
      for (uint64_t rows = 1; rows <= M; rows += 1 + rows / 3) {
        struct pto_gemm gemm = {as[way / 3], bs[way % 3], matrix(c, rows, N), 1, false};
        gemm.a.rows = rows;
        memset(c, 0, M * N * sizeof(float));
        assert_true(pto_gemm_run_at(set, &gemm));
        if (memcmp(c, d, rows * N * sizeof(float)) != 0)
          fail_msg("set %u, a %u, b %u, %" PRIu64 " rows: other bits than the whole product of dense f32", set, way / 3,
                   way % 3, rows);
      }
}

/* Products from few columns to many: a narrower set must not round differently. */
static void test_the_choice_of_a_set_does_not_change_a_bit(void **state) {
  (void)state;
  enum { M = 5, K = 200, N = 100 };
  struct pto_rng rng = {SEED};
  fill(&rng);
  const struct pto_gemm whole = {matrix(a, M, K), matrix(b, K, N), matrix(d, M, N), 1, false};
  pto_gemm_run(&whole);
  for (uint64_t cols = 1; cols <= N; cols++) {
    struct pto_gemm part = whole;
    part.b.cols = cols;
    part.c = matrix(c, M, cols);
    pto_gemm_run(&part);
    for (uint32_t i = 0; i < M; i++) assert_memory_equal(c + i * cols, d + i * N, cols * sizeof(float));
  }
}

static void test_the_best_set_is_what_kernels_get(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  fill(&rng);
  struct pto_gemm gemm = {matrix(a, 50, 60), matrix(b, 60, 70), matrix(c, 50, 70), 1, false};
  uint32_t set = 0;
  while (pto_gemm_run_at(set, &gemm)) set++;
  memcpy(d, c, sizeof d);
  memset(c, 0, sizeof c);
  pto_gemm_run(&gemm);
  assert_memory_equal(c, d, 50 * 70 * sizeof(float));
}

/* A NaN or ∞ reaches its own row or column and nothing that merely shares a tile with it. */
static void test_nan_and_infinity_stay_in_their_row_and_column(void **state) {
  (void)state;
  enum { M = 9, K = 11, N = 19 };
  struct pto_rng rng = {SEED};
  fill(&rng);
  a[4 * K + 3] = NAN;
  b[5 * N + 7] = INFINITY;
  for (uint32_t set = 0;; set++) {
    const struct pto_gemm gemm = {matrix(a, M, K), matrix(b, K, N), matrix(c, M, N), 1, false};
    if (!pto_gemm_run_at(set, &gemm)) break;
    for (uint32_t i = 0; i < M; i++)
      for (uint32_t j = 0; j < N; j++) {
        if (i == 4)
          assert_true(isnan(c[i * N + j]));
        else
          assert_int_equal(isfinite(c[i * N + j]) != 0, j != 7);
      }
  }
}

static void test_an_empty_inner_size_gives_zero_or_the_old_value(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  fill(&rng);
  struct pto_gemm gemm = {matrix(a, 5, 0), matrix(b, 0, 6), matrix(c, 5, 6), 1, true};
  pto_gemm_run(&gemm);
  assert_memory_equal(c, d, 30 * sizeof(float));
  gemm.is_added = false;
  pto_gemm_run(&gemm);
  for (uint32_t i = 0; i < 30; i++) assert_true(c[i] == 0);
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_set_is_within_the_bound_of_the_exact_product),
      cmocka_unit_test(test_an_element_depends_on_its_row_and_column_alone),
      cmocka_unit_test(test_layout_dtype_and_number_of_rows_do_not_change_a_bit),
      cmocka_unit_test(test_the_choice_of_a_set_does_not_change_a_bit),
      cmocka_unit_test(test_the_best_set_is_what_kernels_get),
      cmocka_unit_test(test_nan_and_infinity_stay_in_their_row_and_column),
      cmocka_unit_test(test_an_empty_inner_size_gives_zero_or_the_old_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
