/* SPDX-License-Identifier: MIT */
/*
 * Oracle: the sum of products in double, within the bound of an f32 chain of that length; integers modulo 2^64.  All of
 * it with L0 memories of the chips' sizes, and again with the least ones, which put the block borders elsewhere.
 */
#include <kernels/matmul/gemm.h>
#include <kernels/matmul/gemm_block.h>
#include <kernels/api/list.h>
#include <kernels/levels/loops.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define MAX_SIZE 300

static float a[MAX_SIZE * MAX_SIZE], b[MAX_SIZE * MAX_SIZE], c[MAX_SIZE * MAX_SIZE], d[MAX_SIZE * MAX_SIZE];
static int8_t bytes_a[MAX_SIZE * MAX_SIZE], bytes_b[MAX_SIZE * MAX_SIZE];

static void fill(struct pto_rng *rng) {
  for (uint32_t i = 0; i < MAX_SIZE * MAX_SIZE; i++) {
    a[i] = (float)(pto_rng_unit(rng) * 2 - 1);
    b[i] = (float)(pto_rng_unit(rng) * 2 - 1);
    c[i] = d[i] = (float)(pto_rng_unit(rng) * 2 - 1);
    bytes_a[i] = (int8_t)pto_rng_below(rng, 256);
    bytes_b[i] = (int8_t)pto_rng_below(rng, 256);
  }
}

/* A core whose L0 memories have guards behind them. */
struct test_core {
  struct pto_core core;
  struct pto_kernel_args args;
  char message[128];
};
static const uint64_t least[3] = {PTO_GEMM_LEAST_BYTES, PTO_GEMM_LEAST_BYTES, PTO_GEMM_LEAST_BYTES};
static const uint64_t shipped[3] = {64 << 10, 64 << 10, 128 << 10};
static const uint64_t uneven[3] = {9000, 20000, 8200};
static const uint64_t narrow[3] = {PTO_GEMM_LEAST_BYTES, 64 << 10, 128 << 10};
static const uint64_t *const core_sizes[] = {shipped, least, uneven, narrow};

#define GUARD_BYTES 256
static void core_init(struct test_core *core, const uint64_t *sizes) {
  memset(core, 0, sizeof *core);
  core->core = (struct pto_core){
      .kind = PTO_AIC, .block_count = 1, .message = core->message, .message_size = sizeof core->message};
  struct pto_local_memory *memories[3] = {&core->core.l0a, &core->core.l0b, &core->core.l0c};
  for (uint32_t i = 0; i < 3; i++) {
    char *addr = aligned_alloc(PTO_CACHE_LINE, pto_align_up(sizes[i] + GUARD_BYTES, PTO_CACHE_LINE));
    assert_non_null(addr);
    memset(addr, 0xa5, sizes[i] + GUARD_BYTES);
    *memories[i] = (struct pto_local_memory){addr, sizes[i]};
  }
  core->args.core = &core->core;
}
static void core_fini(struct test_core *core) {
  const struct pto_local_memory *memories[3] = {&core->core.l0a, &core->core.l0b, &core->core.l0c};
  for (uint32_t i = 0; i < 3; i++) {
    const unsigned char *guard = (unsigned char *)memories[i]->addr + memories[i]->size_bytes;
    for (uint32_t j = 0; j < GUARD_BYTES; j++) assert_int_equal(guard[j], 0xa5);
    free(memories[i]->addr);
  }
}

static void run_on(const uint64_t *sizes, uint32_t set, const struct pto_gemm *gemm) {
  struct test_core core;
  core_init(&core, sizes);
  assert_int_equal(pto_gemm_run_set(set, &core.args, gemm), 0);
  core_fini(&core);
}
static void run(uint32_t set, const struct pto_gemm *gemm) { run_on(shipped, set, gemm); }
static void run_best(const struct pto_gemm *gemm) {
  struct test_core core;
  core_init(&core, shipped);
  assert_int_equal(pto_gemm_run(&core.args, gemm), 0);
  core_fini(&core);
}

static struct pto_matrix matrix(float *addr, uint64_t rows, uint64_t cols) {
  return (struct pto_matrix){addr, rows, cols, cols, 1, PTO_FLOAT32};
}
static struct pto_gemm product(struct pto_matrix x, struct pto_matrix y, struct pto_matrix z) {
  return (struct pto_gemm){.kernel = "matmul", .a = x, .b = y, .c = z, .alpha = 1};
}

#define EACH_SET(set, dtype)                                                                                           \
  for (uint32_t set = 0; set <= PTO_LEVEL_COUNT; set++)                                                                \
    if (pto_gemm_has_set(set, dtype))

static const uint64_t awkward[][3] = {{1, 1, 1},     {6, 128, 16},   {7, 129, 17},  {5, 127, 15},  {48, 128, 64},
                                      {49, 1, 65},   {101, 150, 33}, {47, 300, 63}, {97, 40, 129}, {13, 257, 300},
                                      {300, 3, 5},   {300, 7, 1},    {2, 130, 79},  {4, 17, 112},  {29, 255, 31},
                                      {300, 300, 4}, {16, 16, 16},   {225, 2, 128}, {42, 300, 40}};

/* Elements of c against the chain's bound. */
static void compare(const struct pto_gemm *gemm, const char *what) {
  const uint64_t m = gemm->c.rows, n = gemm->c.cols, k = gemm->a.cols;
  for (uint64_t i = 0; i < m * n; i++) {
    double sum = 0, magnitude = 0;
    for (uint64_t p = 0; p < k; p++) {
      const double term = (double)gemm->alpha * (double)a[i / n * k + p] * (double)b[p * n + i % n];
      sum += term;
      magnitude += fabs(term);
    }
    const double old = gemm->is_added ? (double)gemm->beta * (double)d[i] : 0;
    const double bound = ((double)k + 3) * 0x1p-24 * (magnitude + fabs(old));
    if (!(fabs((double)c[i] - sum - old) <= bound))
      fail_msg("%s, %" PRIu64 "×%" PRIu64 "×%" PRIu64 ": element %" PRIu64 " is %g, exact %g", what, m, k, n, i,
               (double)c[i], sum + old);
  }
  for (uint64_t i = m * n; i < MAX_SIZE * MAX_SIZE; i++) assert_true(c[i] == d[i]);
}

static void test_every_set_is_within_the_bound_of_the_exact_product_on_every_core(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(awkward); s++) {
    const uint64_t m = awkward[s][0], k = awkward[s][1], n = awkward[s][2];
    EACH_SET(set, PTO_FLOAT32)
    for (uint32_t size = 0; size < PTO_ARRAY_LENGTH(core_sizes); size++)
      for (uint32_t way = 0; way < 3; way++) {
        struct pto_gemm gemm = product(matrix(a, m, k), matrix(b, k, n), matrix(c, m, n));
        gemm.alpha = way == 0 ? 1 : 0.75f;
        gemm.is_added = way == 2;
        gemm.beta = 0.5f;
        gemm.added = matrix(d, m, n);
        memcpy(c, d, sizeof c);
        run_on(core_sizes[size], set, &gemm);
        compare(&gemm, pto_level_name(set));
      }
  }
}

/* One chain of fused multiply-adds, or of rounded products and sums, over k in ascending order: bit for bit. */
static void test_an_element_is_one_chain_in_ascending_order(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(awkward); s++) {
    const uint64_t m = awkward[s][0], k = awkward[s][1], n = awkward[s][2];
    EACH_SET(set, PTO_FLOAT32)
    for (uint32_t size = 0; size < PTO_ARRAY_LENGTH(core_sizes); size++) {
      const struct pto_gemm gemm = product(matrix(a, m, k), matrix(b, k, n), matrix(c, m, n));
      run_on(core_sizes[size], set, &gemm);
      uint64_t fused = 0, rounded = 0;
      for (uint64_t i = 0; i < m * n; i++) {
        float one = 0, two = 0;
        for (uint64_t p = 0; p < k; p++) {
          const float x = a[i / n * k + p], y = b[p * n + i % n];
          one = fmaf(x, y, one);
          const float term = x * y;
          two = two + term;
        }
        fused += memcmp(&one, &c[i], sizeof one) == 0;
        rounded += memcmp(&two, &c[i], sizeof two) == 0;
      }
      if (fused != m * n && (rounded != m * n || set != PTO_LEVEL_PLAIN))
        fail_msg("set %u, %" PRIu64 "×%" PRIu64 "×%" PRIu64 ": %" PRIu64 " fused and %" PRIu64
                 " rounded chains of %" PRIu64,
                 set, m, k, n, fused, rounded, m * n);
    }
  }
}

/* Rows and columns from the middle of a product, computed by themselves. */
static void test_an_element_depends_on_its_row_and_column_alone(void **state) {
  (void)state;
  enum { M = 101, K = 200, N = 150, ROW = 47, COL = 59 };
  struct pto_rng rng = {SEED};
  fill(&rng);
  EACH_SET(set, PTO_FLOAT32) {
    const struct pto_gemm whole = product(matrix(a, M, K), matrix(b, K, N), matrix(c, M, N));
    run(set, &whole);
    for (uint64_t rows = 1; rows <= M - ROW; rows += 1 + rows / 2)
      for (uint64_t cols = 1; cols <= N - COL; cols += 1 + cols / 3) {
        struct pto_gemm part = whole;
        part.a.addr = a + ROW * K;
        part.b.addr = b + COL;
        part.c = matrix(d, rows, cols);
        part.a.rows = rows;
        part.b.cols = cols;
        run(set, &part);
        for (uint64_t i = 0; i < rows; i++)
          assert_memory_equal(d + i * cols, c + (ROW + i) * N + COL, cols * sizeof(float));
      }
  }
}

/* Transposed and stepped operands, 16-bit ones of the same values, few rows and many: each goes its own way through
 * packing. */
static void test_layout_dtype_and_number_of_rows_do_not_change_a_bit(void **state) {
  (void)state;
  enum { K = 150, N = 140, M = 70 };
  static float a_turned[K * M], b_turned[N * K], a_stepped[3 * K * M], b_stepped[3 * N * K];
  static uint16_t a_half[M * K], b_half[K * N], a_half_turned[M * K], b_half_turned[K * N];
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t i = 0; i < M * K; i++) {
    a_half[i] = a_half_turned[i % K * M + i / K] = pto_bf16_from_f32(a[i]);
    a_stepped[3 * i] = a_turned[i % K * M + i / K] = a[i] = pto_bf16_to_f32(a_half[i]);
  }
  for (uint32_t i = 0; i < K * N; i++) {
    const float value = b[i];
    b_half[i] = b_half_turned[i % N * K + i / N] = pto_fp16_from_f32(value);
    b_stepped[3 * i] = b_turned[i % N * K + i / N] = b[i] = pto_fp16_to_f32(b_half[i]);
  }
  const struct pto_matrix as[] = {matrix(a, M, K),
                                  pto_matrix_transpose(matrix(a_turned, K, M)),
                                  {a_half, M, K, K, 1, PTO_BFLOAT16},
                                  {a_half_turned, M, K, 1, M, PTO_BFLOAT16},
                                  {a_stepped, M, K, 3 * K, 3, PTO_FLOAT32}};
  const struct pto_matrix bs[] = {matrix(b, K, N),
                                  pto_matrix_transpose(matrix(b_turned, N, K)),
                                  {b_half, K, N, N, 1, PTO_FLOAT16},
                                  {b_half_turned, K, N, 1, K, PTO_FLOAT16},
                                  {b_stepped, K, N, 3 * N, 3, PTO_FLOAT32}};
  const struct pto_gemm plain = product(as[0], bs[0], matrix(d, M, N));
  EACH_SET(set, PTO_FLOAT32) {
    run(set, &plain);
    for (uint32_t way = 0; way < 25; way++)
      for (uint64_t rows = 1; rows <= M; rows += 1 + rows / 2)
        for (uint64_t cols = N; cols > 0; cols = cols * 2 / 3) {
          struct pto_gemm gemm = product(as[way / 5], bs[way % 5], matrix(c, rows, cols));
          gemm.a.rows = rows;
          gemm.b.cols = cols;
          gemm.c.row_stride = N;
          memset(c, 0, M * N * sizeof(float));
          run(set, &gemm);
          for (uint64_t i = 0; i < rows; i++)
            if (memcmp(c + i * N, d + i * N, cols * sizeof(float)) != 0)
              fail_msg("set %u, a %u, b %u, %" PRIu64 " × %" PRIu64 ": other bits than the whole product of dense f32",
                       set, way / 5, way % 5, rows, cols);
        }
  }
}

static void test_the_best_set_is_what_kernels_get(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  fill(&rng);
  struct pto_gemm gemm = product(matrix(a, 50, 60), matrix(b, 60, 70), matrix(c, 50, 70));
  EACH_SET(set, PTO_FLOAT32) {
    pto_level_limit(set);
    run(set, &gemm);
    memcpy(d, c, sizeof d);
    memset(c, 0, sizeof c);
    run_best(&gemm);
    assert_memory_equal(c, d, 50 * 70 * sizeof(float));
  }
  pto_level_limit(PTO_LEVEL_COUNT - 1);
}

/* A NaN or ∞ reaches its own row or column and nothing that merely shares a tile with it; 0 · ∞ is NaN. */
static void test_nan_and_infinity_stay_in_their_row_and_column(void **state) {
  (void)state;
  enum { M = 9, K = 11, N = 19 };
  struct pto_rng rng = {SEED};
  fill(&rng);
  a[4 * K + 3] = NAN;
  b[5 * N + 7] = INFINITY;
  a[2 * K + 5] = 0;
  EACH_SET(set, PTO_FLOAT32) {
    const struct pto_gemm gemm = product(matrix(a, M, K), matrix(b, K, N), matrix(c, M, N));
    run(set, &gemm);
    for (uint32_t i = 0; i < M; i++)
      for (uint32_t j = 0; j < N; j++) {
        if (i == 4 || (i == 2 && j == 7))
          assert_true(isnan(c[i * N + j]));
        else
          assert_int_equal(isfinite(c[i * N + j]) != 0, j != 7);
      }
  }
}

static void test_an_empty_inner_size_gives_zero_or_the_added_value(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  fill(&rng);
  struct pto_gemm gemm = product(matrix(NULL, 5, 0), matrix(NULL, 0, 16), matrix(c, 5, 16));
  gemm.is_added = true;
  gemm.beta = 1;
  gemm.added = gemm.c;
  EACH_SET(set, PTO_FLOAT32) {
    memcpy(c, d, sizeof c);
    gemm.is_added = true;
    run(set, &gemm);
    assert_memory_equal(c, d, 80 * sizeof(float));
    gemm.is_added = false;
    run(set, &gemm);
    for (uint32_t i = 0; i < 80; i++) assert_true(c[i] == 0);
    assert_true(c[80] == d[80]);
  }
}

/* The oracle is the clamp of elements, whatever stands in sums and bounds. */
static void test_bounds_are_those_of_clamp_in_every_set(void **state) {
  (void)state;
  static const float values[] = {NAN, INFINITY, -INFINITY, 0, 1, -1, 0.5f, 6, 7, -0.25f, 1e-40f};
  static const float bounds[][2] = {{0, 6}, {-0.0f, 0}, {-1, 0.5f}, {-INFINITY, INFINITY}, {NAN, 1}, {0, NAN}, {1, -1}};
  const uint64_t m = 29, n = 33;
  for (uint64_t i = 0; i < m; i++) a[i] = values[i % PTO_ARRAY_LENGTH(values)];
  for (uint64_t j = 0; j < n; j++) b[j] = 1;
  EACH_SET(set, PTO_FLOAT32)
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(bounds); k++) {
    struct pto_gemm gemm = product(matrix(a, m, 1), matrix(b, 1, n), matrix(c, m, n));
    gemm.is_clamped = true;
    gemm.least = bounds[k][0];
    gemm.most = bounds[k][1];
    run(set, &gemm);
    struct pto_chunk chunk = {
        .count = m, .a = a, .out = d, .scalar = {.f32 = gemm.least}, .scalar2 = {.f32 = gemm.most}};
    pto_loops_best()->op[PTO_OP_clamp][PTO_CLASS_F32](&chunk);
    for (uint64_t i = 0; i < m * n; i++)
      if (memcmp(&c[i], &d[i / n], sizeof *c) != 0 && !(isnan(c[i]) && isnan(d[i / n])))
        fail_msg("set %u, %g between %g and %g is %g, not %g", set, (double)a[i / n], (double)gemm.least,
                 (double)gemm.most, (double)c[i], (double)d[i / n]);
  }
}

/* All four pairs of signs, both ways that an operand may lie, on every core. */
static void test_integer_products_are_exact_in_every_set(void **state) {
  (void)state;
  static uint32_t sums[MAX_SIZE * MAX_SIZE];
  struct pto_rng rng = {SEED};
  fill(&rng);
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(awkward); s++)
    for (uint32_t way = 0; way < 16; way++) {
      const uint64_t m = awkward[s][0], k = awkward[s][1], n = awkward[s][2];
      const uint32_t a_dtype = way & 1 ? PTO_UINT8 : PTO_INT8, b_dtype = way & 2 ? PTO_UINT8 : PTO_INT8;
      struct pto_gemm gemm =
          product((struct pto_matrix){bytes_a, m, k, k, 1, a_dtype}, (struct pto_matrix){bytes_b, k, n, n, 1, b_dtype},
                  (struct pto_matrix){sums, m, n, n, 1, PTO_INT32});
      if ((way & 4) != 0) gemm.a.row_stride = 1, gemm.a.col_stride = m;
      if ((way & 8) != 0) gemm.b.row_stride = 1, gemm.b.col_stride = k;
      EACH_SET(set, PTO_INT8)
      for (uint32_t size = 0; size < PTO_ARRAY_LENGTH(core_sizes); size++) {
        memset(sums, 0xff, sizeof sums);
        gemm.is_added = (set + s) % 2 != 0;
        gemm.added = gemm.c;
        run_on(core_sizes[size], set, &gemm);
        for (uint64_t i = 0; i < m * n; i++) {
          int64_t sum = gemm.is_added ? -1 : 0;
          for (uint64_t p = 0; p < k; p++) {
            const int8_t x = bytes_a[i / n * gemm.a.row_stride + p * gemm.a.col_stride];
            const int8_t y = bytes_b[p * gemm.b.row_stride + i % n * gemm.b.col_stride];
            sum += (a_dtype == PTO_UINT8 ? (uint8_t)x : x) * (b_dtype == PTO_UINT8 ? (uint8_t)y : y);
          }
          if (sums[i] != (uint32_t)sum)
            fail_msg("set %u, way %u, %" PRIu64 "×%" PRIu64 "×%" PRIu64 ": element %" PRIu64 " is %d, exact %" PRId64,
                     set, way, m, k, n, i, (int)sums[i], sum);
        }
        assert_int_equal(sums[m * n], UINT32_MAX);
      }
    }
}

/* 2^31 is passed by 140 000 products of −128 · −128. */
static void test_integer_sums_wrap(void **state) {
  (void)state;
  enum { K = 140000 };
  static int8_t ones[K];
  memset(ones, 0x80, sizeof ones);
  EACH_SET(set, PTO_INT8) {
    uint32_t sum = 0;
    const struct pto_gemm gemm =
        product((struct pto_matrix){ones, 1, K, K, 1, PTO_INT8}, (struct pto_matrix){ones, K, 1, 1, 1, PTO_INT8},
                (struct pto_matrix){&sum, 1, 1, 1, 1, PTO_INT32});
    run(set, &gemm);
    assert_int_equal(sum, UINT32_C(16384) * K);
  }
}

static void test_a_core_with_too_little_memory_is_an_error_with_values(void **state) {
  (void)state;
  struct test_core core;
  core_init(&core, shipped);
  core.core.l0b.size_bytes = PTO_GEMM_LEAST_BYTES - 1;
  const struct pto_gemm gemm = product(matrix(a, 2, 2), matrix(b, 2, 2), matrix(c, 2, 2));
  assert_int_equal(pto_gemm_run(&core.args, &gemm), PTO_EKERNEL);
  assert_string_equal(core.message, "matmul: L0B of the core has 8191 bytes, a product needs 8192");
  core.core.l0b.size_bytes = shipped[1];
  core_fini(&core);
}

static struct pto_kernel_tensor shaped(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  return (struct pto_kernel_tensor){.shape = shape, .strides = shape, .ndims = ndims, .dtype = dtype};
}
#define SHAPED(...) shaped(PTO_FLOAT32, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static void refused(const struct pto_kernel *kernel, const struct pto_kernel_tensor *tensors, const char *sentence) {
  static struct pto_test_call call;
  pto_test_call_init(&call, kernel);
  memcpy(call.tensors, tensors, call.args.tensor_count * sizeof *tensors);
  assert_int_equal(kernel->check(&call.args), PTO_EKERNEL);
  assert_string_equal(call.message, sentence);
}

static void test_batches_that_do_not_match_are_refused_with_values(void **state) {
  (void)state;
  refused(&pto_general_matmul, (struct pto_kernel_tensor[]){SHAPED(3, 4, 5), SHAPED(2, 5, 6), SHAPED(3, 4, 6)},
          "matmul: batch sizes 2 and 3 differ (params 1 and 2)");
  refused(&pto_general_matmul, (struct pto_kernel_tensor[]){SHAPED(4, 5), SHAPED(1, 5, 6), SHAPED(3, 4, 6)},
          "matmul: batch size 3 of the product is neither that of a nor of b (param 2)");
  refused(&pto_general_matmul, (struct pto_kernel_tensor[]){SHAPED(2, 4, 5), SHAPED(5, 6), SHAPED(4, 6)},
          "matmul: rank 3 exceeds rank 2 of the product (params 0 and 2)");
  refused(&pto_general_matmul_int8, (struct pto_kernel_tensor[]){SHAPED(4, 5), SHAPED(6, 6), SHAPED(4, 6)},
          "matmul_int8: inner sizes 5 and 6 differ (params 0 and 1)");
  refused(&pto_general_gemm, (struct pto_kernel_tensor[]){SHAPED(4, 5), SHAPED(5, 6), SHAPED(1, 6), SHAPED(4, 6)},
          "gemm: rows 1 and 4 differ (params 2 and 3)");
}

static void test_the_cost_of_a_batch_is_that_of_its_products(void **state) {
  (void)state;
  static struct pto_test_call call;
  pto_test_call_init(&call, &pto_general_matmul_accumulate);
  const struct pto_kernel_tensor tensors[] = {SHAPED(3, 2, 4, 5), SHAPED(2, 5, 6), SHAPED(3, 2, 4, 6)};
  memcpy(call.tensors, tensors, sizeof tensors);
  const struct pto_cost cost = pto_general_matmul_accumulate.cost(&call.args);
  assert_int_equal(cost.multiply_adds, 6 * 4 * 5 * 6);
  assert_int_equal(cost.bytes_in, 4 * (3 * 2 * 4 * 5 + 2 * 5 * 6 + 3 * 2 * 4 * 6));
  assert_int_equal(cost.bytes_out, 4 * 3 * 2 * 4 * 6);
  assert_int_equal(cost.vector_elems, 0);
  assert_int_equal(cost.local_bytes, 4 * (4 * 5 + 5 * 6));
}

/* beta · c is a term like any other: of a finite c it leaves nothing, of ∞ it is NaN. */
static void test_a_beta_of_zero_takes_nothing_of_c_but_keeps_its_infinities(void **state) {
  (void)state;
  static struct pto_test_call call;
  float x[6] = {1, 2, 3, 4, 5, 6}, w[6] = {1, 0, 0, 1, 1, 1}, old[4] = {100, INFINITY, -7, NAN}, y[4];
  const uint64_t x_shape[] = {2, 3}, x_strides[] = {3, 1}, w_shape[] = {3, 2}, w_strides[] = {2, 1};
  const uint64_t y_shape[] = {2, 2}, y_strides[] = {2, 1};
  pto_test_call_init(&call, &pto_general_gemm);
  call.tensors[0] = (struct pto_kernel_tensor){.addr = x, .shape = x_shape, .strides = x_strides, .ndims = 2};
  call.tensors[1] = (struct pto_kernel_tensor){.addr = w, .shape = w_shape, .strides = w_strides, .ndims = 2};
  call.tensors[2] = (struct pto_kernel_tensor){.addr = old, .shape = y_shape, .strides = y_strides, .ndims = 2};
  call.tensors[3] = (struct pto_kernel_tensor){.addr = y, .shape = y_shape, .strides = y_strides, .ndims = 2};
  call.scalars[0].f32 = 2;
  call.scalars[1].f32 = 0;
  assert_int_equal(pto_test_call_run(&pto_general_gemm, &call.args), 0);
  assert_true(y[0] == 2 * (1 + 3) && y[2] == 2 * (4 + 6));
  assert_true(isnan(y[1]) && isnan(y[3]));
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_set_is_within_the_bound_of_the_exact_product_on_every_core),
      cmocka_unit_test(test_an_element_is_one_chain_in_ascending_order),
      cmocka_unit_test(test_an_element_depends_on_its_row_and_column_alone),
      cmocka_unit_test(test_layout_dtype_and_number_of_rows_do_not_change_a_bit),
      cmocka_unit_test(test_the_best_set_is_what_kernels_get),
      cmocka_unit_test(test_nan_and_infinity_stay_in_their_row_and_column),
      cmocka_unit_test(test_an_empty_inner_size_gives_zero_or_the_added_value),
      cmocka_unit_test(test_bounds_are_those_of_clamp_in_every_set),
      cmocka_unit_test(test_a_beta_of_zero_takes_nothing_of_c_but_keeps_its_infinities),
      cmocka_unit_test(test_integer_products_are_exact_in_every_set),
      cmocka_unit_test(test_integer_sums_wrap),
      cmocka_unit_test(test_a_core_with_too_little_memory_is_an_error_with_values),
      cmocka_unit_test(test_batches_that_do_not_match_are_refused_with_values),
      cmocka_unit_test(test_the_cost_of_a_batch_is_that_of_its_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
