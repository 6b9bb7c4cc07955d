/* SPDX-License-Identifier: MIT */
/* Oracle: softmax attention over the whole context at once, in double; and the definition of each piece. */
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(9001)

static struct pto_rng rng;

static void make(struct pto_test_tensor *t, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_reference_shape s = {.ndims = ndims};
  memcpy(s.shape, shape, ndims * sizeof *shape);
  pto_test_tensor_init(t, dtype, &s, PTO_TEST_CONTIGUOUS, true, &rng);
}
static void make_matrix(struct pto_test_tensor *t, uint32_t dtype, uint64_t rows, uint64_t cols) {
  make(t, dtype, 2, (uint64_t[]){rows, cols});
}
static void make_vector(struct pto_test_tensor *t, uint64_t rows) { make(t, PTO_FLOAT32, 1, &rows); }

static double get(const struct pto_test_tensor *t, uint64_t index) { return pto_reference_element(&t->t, index); }

static void call(const char *name, const struct pto_kernel_tensor *tensors, const union pto_scalar *scalars) {
  static struct pto_test_call c;
  const struct pto_kernel *kernel = pto_kernel_find(name);
  assert_non_null(kernel);
  pto_test_call_init(&c, kernel);
  memcpy(c.tensors, tensors, c.args.tensor_count * sizeof *tensors);
  if (c.args.scalar_count > 0) memcpy(c.scalars, scalars, c.args.scalar_count * sizeof *scalars);
  if (kernel->check(&c.args) != 0) fail_msg("%s refused: %s", name, c.message);
  assert_int_equal(pto_test_call_run(kernel, &c.args), 0);
}

/* l is the sum of what p holds, which for 16-bit p differs from the sum of the exponentials by far more than rounding.
 */
static void test_the_row_sum_adds_the_rounded_weights(void **state) {
  (void)state;
  static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_BFLOAT16};
  for (uint32_t d = 0; d < PTO_ARRAY_LENGTH(dtypes); d++) {
    struct pto_test_tensor s, p, m, l;
    make_matrix(&s, PTO_FLOAT32, 7, 300);
    make_matrix(&p, dtypes[d], 7, 320);
    make_vector(&m, 7);
    make_vector(&l, 7);
    pto_test_fill(&s, false, &rng);
    call("softmax_prepare", (struct pto_kernel_tensor[]){s.t, p.t, m.t, l.t}, NULL);
    for (uint64_t row = 0; row < 7; row++) {
      double sum = 0;
      for (uint64_t col = 0; col < 320; col++) {
        sum += get(&p, row * 320 + col);
        assert_true(col < 300 ? get(&p, row * 320 + col) > 0 : get(&p, row * 320 + col) == 0);
      }
      if (fabs(sum - get(&l, row)) > sum * 300 * 0x1p-24)
        fail_msg("%s: row %" PRIu64 ": l is %.9g, its weights sum to %.9g", pto_dtype_name(dtypes[d]), row,
                 get(&l, row), sum);
    }
    struct pto_test_tensor *all[] = {&s, &p, &m, &l};
    for (uint32_t i = 0; i < 4; i++) pto_test_tensor_fini(all[i]);
  }
}

static void test_a_nan_score_makes_its_row_nan_and_no_other(void **state) {
  (void)state;
  struct pto_test_tensor s, p, m, l;
  make_matrix(&s, PTO_FLOAT32, 3, 20);
  make_matrix(&p, PTO_FLOAT32, 3, 20);
  make_vector(&m, 3);
  make_vector(&l, 3);
  pto_test_fill(&s, false, &rng);
  pto_test_set(&s, 25, NAN);
  call("softmax_prepare", (struct pto_kernel_tensor[]){s.t, p.t, m.t, l.t}, NULL);
  for (uint64_t row = 0; row < 3; row++) {
    assert_int_equal(isnan(get(&m, row)) != 0, row == 1);
    assert_int_equal(isnan(get(&l, row)) != 0, row == 1);
  }
  pto_test_tensor_fini(&s);
  pto_test_tensor_fini(&p);
  pto_test_tensor_fini(&m);
  pto_test_tensor_fini(&l);
}

struct attention {
  uint64_t rows, dim, block, context, kv_heads, head;
  uint32_t dtype;
  double tolerance;
};

/* k or v of block `number`, as a view [1, block, 1, dim] of a pool [blocks, block, kv_heads, dim]. */
static struct pto_kernel_tensor pool_view(const struct attention *a, const struct pto_test_tensor *pool,
                                          uint64_t number, const uint64_t *shape) {
  struct pto_kernel_tensor t = pool->t;
  t.addr = (char *)t.addr + (number * pool->strides[0] + a->head * pool->strides[2]) * pto_dtype_size(t.dtype);
  t.shape = shape;
  return t;
}

static void run_attention(const struct attention *a) {
  const uint64_t blocks = (a->context + a->block - 1) / a->block;
  const uint64_t pool_shape[] = {blocks, a->block, a->kv_heads, a->dim}, view_shape[] = {1, a->block, 1, a->dim};
  const float scale = 1 / sqrtf((float)a->dim);
  struct pto_test_tensor q, k, v, s, p, m_ij, l_ij, o_new, m, l, o, out;
  struct pto_test_tensor *all[] = {&q, &k, &v, &s, &p, &m_ij, &l_ij, &o_new, &m, &l, &o, &out};
  make_matrix(&q, a->dtype, a->rows, a->dim);
  make(&k, a->dtype, 4, pool_shape);
  make(&v, a->dtype, 4, pool_shape);
  make_matrix(&s, PTO_FLOAT32, a->rows, a->block);
  make_matrix(&p, a->dtype, a->rows, a->block);
  make_matrix(&o_new, PTO_FLOAT32, a->rows, a->dim);
  make_matrix(&o, PTO_FLOAT32, a->rows, a->dim);
  make_matrix(&out, a->dtype, a->rows, a->dim);
  make_vector(&m_ij, a->rows);
  make_vector(&l_ij, a->rows);
  make_vector(&m, a->rows);
  make_vector(&l, a->rows);
  pto_test_fill(&q, false, &rng);
  pto_test_fill(&k, false, &rng);
  pto_test_fill(&v, false, &rng);

  for (uint64_t b = 0; b < blocks; b++) {
    const uint64_t valid = pto_min_u64(a->block, a->context - b * a->block), valid_shape[] = {a->rows, valid};
    struct pto_kernel_tensor s_valid = s.t;
    s_valid.shape = valid_shape;
    call("qk", (struct pto_kernel_tensor[]){q.t, pool_view(a, &k, b, view_shape), s.t},
         (union pto_scalar[]){{.f32 = scale}});
    call("softmax_prepare", (struct pto_kernel_tensor[]){s_valid, p.t, m_ij.t, l_ij.t}, NULL);
    call("pv", (struct pto_kernel_tensor[]){p.t, pool_view(a, &v, b, view_shape), o_new.t}, NULL);
    call("online_update", (struct pto_kernel_tensor[]){m_ij.t, l_ij.t, o_new.t, m.t, l.t, o.t, out.t},
         (union pto_scalar[]){{.i64 = b == 0}, {.i64 = b + 1 == blocks}});
  }

  for (uint64_t row = 0; row < a->rows; row++)
    for (uint64_t col = 0; col < a->dim; col++) {
      double weights = 0, sum = 0;
      for (uint64_t token = 0; token < a->context; token++) {
        const uint64_t at = ((token / a->block * a->block + token % a->block) * a->kv_heads + a->head) * a->dim;
        double score = 0;
        for (uint64_t i = 0; i < a->dim; i++) score += get(&q, row * a->dim + i) * get(&k, at + i);
        const double weight = exp(score * (double)scale);
        weights += weight;
        sum += weight * get(&v, at + col);
      }
      const double got = get(&out, row * a->dim + col);
      if (!(fabs(got - sum / weights) <= a->tolerance * (1 + fabs(sum / weights))))
        fail_msg("%s: row %" PRIu64 " column %" PRIu64 ": %.9g, exact %.9g", pto_dtype_name(a->dtype), row, col, got,
                 sum / weights);
    }
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(all); i++) pto_test_tensor_fini(all[i]);
}

/* Tolerances of the workloads: 1e-3 in f32, 1e-2 in 16 bits (the weights of 4 × 4 values reach e^32, so 16-bit rounding
 * of p and of the output is what counts). */
static void test_the_four_kernels_together_are_attention_over_a_paged_cache(void **state) {
  (void)state;
  run_attention(&(struct attention){5, 16, 16, 33, 1, 0, PTO_FLOAT32, 1e-5});
  run_attention(&(struct attention){16, 16, 16, 128, 3, 2, PTO_FLOAT32, 1e-5});
  run_attention(&(struct attention){3, 7, 300, 601, 2, 1, PTO_FLOAT32, 1e-5});
  run_attention(&(struct attention){16, 16, 16, 15, 2, 1, PTO_FLOAT16, 1e-2});
  run_attention(&(struct attention){16, 16, 16, 65, 1, 0, PTO_FLOAT16, 1e-2});
  run_attention(&(struct attention){4, 32, 8, 9, 1, 0, PTO_BFLOAT16, 3e-2});
}

static void refused(const char *name, const struct pto_kernel_tensor *tensors, const char *sentence) {
  static struct pto_test_call c;
  const struct pto_kernel *kernel = pto_kernel_find(name);
  pto_test_call_init(&c, kernel);
  memcpy(c.tensors, tensors, c.args.tensor_count * sizeof *tensors);
  assert_int_equal(kernel->check(&c.args), PTO_EKERNEL);
  assert_string_equal(c.message, sentence);
}

static struct pto_kernel_tensor shaped(uint32_t ndims, const uint64_t *shape) {
  return (struct pto_kernel_tensor){.shape = shape, .strides = shape, .ndims = ndims, .dtype = PTO_FLOAT32};
}
#define SHAPED(...) shaped(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static void test_refusals_name_kernel_parameters_and_values(void **state) {
  (void)state;
  refused("matmul", (struct pto_kernel_tensor[]){SHAPED(128, 64), SHAPED(32, 128), SHAPED(128, 128)},
          "matmul: inner sizes 64 and 32 differ (params 0 and 1)");
  refused("matmul", (struct pto_kernel_tensor[]){SHAPED(2, 128, 64), SHAPED(64, 128), SHAPED(128, 128)},
          "matmul: rank 3 exceeds rank 2 of the product (params 0 and 2)");
  refused("matmul_accumulate", (struct pto_kernel_tensor[]){SHAPED(8, 4), SHAPED(4, 9), SHAPED(8, 8)},
          "matmul_accumulate: columns 9 and 8 differ (params 1 and 2)");
  refused("add", (struct pto_kernel_tensor[]){SHAPED(4, 8), SHAPED(4, 9), SHAPED(4, 8)},
          "add: shapes [4,9] and [4,8] differ (params 1 and 2)");
  refused("qk", (struct pto_kernel_tensor[]){SHAPED(4, 8), SHAPED(1, 16, 2, 8), SHAPED(4, 16)},
          "qk: shape [1,16,2,8] is neither [block, d] nor [1, block, 1, d] (param 1)");
  refused("qk", (struct pto_kernel_tensor[]){SHAPED(4, 8), SHAPED(1, 16, 1, 8), SHAPED(4, 15)},
          "qk: columns 16 and 15 differ (params 1 and 2)");
  refused("softmax_prepare", (struct pto_kernel_tensor[]){SHAPED(4, 17), SHAPED(4, 16), SHAPED(4), SHAPED(4)},
          "softmax_prepare: 17 columns of s exceed 16 of p (params 0 and 1)");
  refused("softmax_prepare", (struct pto_kernel_tensor[]){SHAPED(4, 0), SHAPED(4, 16), SHAPED(4), SHAPED(4)},
          "softmax_prepare: s has no columns (param 0)");
  refused("online_update",
          (struct pto_kernel_tensor[]){SHAPED(4), SHAPED(5), SHAPED(4, 16), SHAPED(4), SHAPED(4), SHAPED(4, 16),
                                       SHAPED(4, 16)},
          "online_update: rows 4 and 5 differ (params 5 and 1)");
}

static void test_scalars_and_tensors_mix_only_among_floats(void **state) {
  (void)state;
  struct pto_kernel_tensor x = SHAPED(4), y = SHAPED(4);
  x.dtype = PTO_INT32;
  refused("neg", (struct pto_kernel_tensor[]){x, y}, "neg: dtypes i32 and f32 do not mix (params 0 and 1)");
  y.dtype = PTO_INT16;
  refused("neg", (struct pto_kernel_tensor[]){x, y}, "neg: dtypes i32 and i16 do not mix (params 0 and 1)");
  refused("copy", (struct pto_kernel_tensor[]){x, y}, "copy: dtypes i32 and i16 differ (params 0 and 1)");
}

int main(void) {
  rng.state = SEED;
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_row_sum_adds_the_rounded_weights),
      cmocka_unit_test(test_a_nan_score_makes_its_row_nan_and_no_other),
      cmocka_unit_test(test_the_four_kernels_together_are_attention_over_a_paged_cache),
      cmocka_unit_test(test_refusals_name_kernel_parameters_and_values),
      cmocka_unit_test(test_scalars_and_tensors_mix_only_among_floats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
