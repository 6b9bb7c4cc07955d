/* SPDX-License-Identifier: MIT */
/* Oracle: the general way of row_fold.h, which the same rows with gaps between them go. */
#include <kernels/dense_rows.h>
#include <kernels/kernel_math.h>
#include <kernels/kernel_test_support.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(90210)
#define GAP 3

static struct pto_rng rng;

/* x and y of a row kernel, dense or with gaps and one row more, for one row has no gap, and for normalisations scale
 * and bias, which both share. */
enum { X, SCALE, BIAS, Y, ROLES };
static float *dense[ROLES], *gapped[ROLES];

static const struct {
  const char *name;
  uint32_t roles[4], count;
} kernels[] = {{"softmax", {X, Y}, 2}, {"layernorm", {X, SCALE, BIAS, Y}, 4}, {"rmsnorm", {X, SCALE, Y}, 3}};

static float *floats(uint64_t count) {
  float *x = malloc(count * sizeof *x);
  if (x == NULL) abort();
  return x;
}

/* One in eight elements is a value that a sum or a maximum might treat in a way of its own. */
static float draw(bool is_odd) {
  static const float values[] = {-0.0f, 0.0f, -INFINITY, 3e38f, -3e38f, 0x1p-149f, NAN, INFINITY};
  const uint64_t bits = pto_rng_next(&rng);
  if (is_odd && bits % 8 == 0) return values[bits / 8 % (bits % 64 == 0 ? 8 : 6)];
  return (float)(pto_rng_unit(&rng) * 20 - 10);
}

static void make(uint64_t rows, uint64_t length, bool is_odd) {
  for (uint32_t r = 0; r < ROLES; r++) {
    const bool is_one = r == SCALE || r == BIAS;
    dense[r] = floats((is_one ? 1 : rows) * length);
    gapped[r] = is_one ? dense[r] : floats((rows + 1) * (length + GAP));
  }
  for (uint64_t j = 0; j < rows; j++) {
    const bool is_zero = is_odd && pto_rng_next(&rng) % 4 == 0; /* a row of −0 has the sum +0 */
    for (uint64_t i = 0; i < length; i++)
      dense[X][j * length + i] = gapped[X][j * (length + GAP) + i] = is_zero ? -0.0f : draw(is_odd);
  }
  for (uint64_t i = 0; i < length; i++) {
    gapped[X][rows * (length + GAP) + i] = draw(false);
    dense[SCALE][i] = draw(is_odd);
    dense[BIAS][i] = draw(false);
  }
}
static void drop(void) {
  for (uint32_t r = 0; r < ROLES; r++) {
    if (gapped[r] != dense[r]) free(gapped[r]);
    free(dense[r]);
  }
}

static void run(uint32_t k, float **memory, uint64_t rows, uint64_t length, uint64_t pitch) {
  const struct pto_kernel *kernel = pto_kernel_find(kernels[k].name);
  uint64_t shape[2] = {rows, length}, strides[2] = {pitch, 1};
  struct pto_test_call call;
  pto_test_call_init(&call, kernel);
  for (uint32_t i = 0; i < kernels[k].count; i++) {
    const uint32_t role = kernels[k].roles[i], skipped = role == SCALE || role == BIAS ? 1 : 0;
    call.tensors[i] = (struct pto_kernel_tensor){.addr = memory[role],
                                                 .shape = shape + skipped,
                                                 .strides = strides + skipped,
                                                 .ndims = 2 - skipped,
                                                 .dtype = PTO_FLOAT32};
  }
  if (k == 0)
    call.scalars[0].i64 = -1;
  else
    call.scalars[0].f32 = 1e-5f;
  struct pto_dense_rows made;
  assert_int_equal(pto_dense_rows_make(&call.args, 1, &made),
                   pitch == length && length > 0 && length <= PTO_DENSE_ROW_LONGEST);
  assert_int_equal(pto_test_call_run(kernel, &call.args), 0);
}

static void check(uint32_t k, uint64_t rows, uint64_t length, bool in_place) {
  float *const y = dense[Y];
  if (in_place) {
    memcpy(dense[Y], dense[X], rows * length * sizeof(float));
    dense[X] = dense[Y];
  }
  run(k, dense, rows, length, length);
  run(k, gapped, rows + 1, length, length + GAP);
  for (uint64_t j = 0; j < rows; j++)
    for (uint64_t i = 0; i < length; i++) {
      const float got = y[j * length + i], wanted = gapped[Y][j * (length + GAP) + i];
      if (bits_of_f32(got) != bits_of_f32(wanted) && !(isnan(got) && isnan(wanted)))
        fail_msg("%s of [%" PRIu64 ", %" PRIu64 "] at [%" PRIu64 ", %" PRIu64 "]: %a and not %a", kernels[k].name, rows,
                 length, j, i, (double)got, (double)wanted);
    }
}

static void test_dense_rows_have_the_bits_of_rows_with_gaps_on_every_instruction_set(void **state) {
  (void)state;
  static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33};
  static const uint64_t lengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   12,  15,  16,
                                     17, 23, 31, 32, 33, 47, 64, 100, 127, 128, 129};
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
    pto_level_limit((enum pto_level)level);
    for (uint32_t c = 0; c < PTO_ARRAY_LENGTH(counts); c++)
      for (uint32_t l = 0; l < PTO_ARRAY_LENGTH(lengths); l++)
        for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(kernels); k++) {
          float *x;
          make(counts[c], lengths[l], (c + l) % 2 == 0);
          x = dense[X];
          check(k, counts[c], lengths[l], (c + l + k) % 3 == 0);
          dense[X] = x;
          drop();
        }
  }
}

static void test_rows_of_another_dtype_or_with_gaps_are_not_dense(void **state) {
  (void)state;
  uint64_t shape[3] = {4, 1, 6}, strides[3] = {6, 77, 1}; /* the stride of an extent of 1 has no meaning */
  struct pto_kernel_tensor t[2];
  struct pto_kernel_args args = {.tensors = t, .tensor_count = 2};
  struct pto_dense_rows rows;
  float x[64] = {0};
  for (uint32_t i = 0; i < 2; i++)
    t[i] = (struct pto_kernel_tensor){.addr = x, .shape = shape, .strides = strides, .ndims = 3, .dtype = PTO_FLOAT32};
  assert_true(pto_dense_rows_make(&args, 1, &rows));
  assert_true(rows.count == 4 && rows.length == 6);
  assert_true(pto_dense_rows_make(&args, 3, &rows));
  assert_true(rows.count == 1 && rows.length == 24);
  t[1].dtype = PTO_FLOAT16;
  assert_false(pto_dense_rows_make(&args, 1, &rows));
  t[1].dtype = PTO_FLOAT32;
  strides[0] = 7;
  assert_false(pto_dense_rows_make(&args, 1, &rows));
  strides[0] = 0;
  assert_false(pto_dense_rows_make(&args, 1, &rows));
  strides[0] = 6;
  strides[2] = 2;
  assert_false(pto_dense_rows_make(&args, 1, &rows));
}

int main(void) {
  rng = (struct pto_rng){SEED};
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dense_rows_have_the_bits_of_rows_with_gaps_on_every_instruction_set),
      cmocka_unit_test(test_rows_of_another_dtype_or_with_gaps_are_not_dense),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
