/* SPDX-License-Identifier: MIT */
/* Oracle: the same elements in contiguous tensors, on the plainest level.  Rows of every length up to a vector and
 * more, in tensors of several chunks, which the registry's test has few of. */
#include <kernels/levels/level.h>
#include <kernels/move/operand.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(271828)
#define LARGE_BYTES (UINT64_C(1) << 20)
#define MOST_ELEMS 12000

static struct pto_trial laid_out, plain;

static void find(struct pto_trial *trial, const char *name) {
  for (uint32_t k = 0; k < pto_kernel_count(); k++)
    if (strcmp(pto_kernel_at(k)->name, name) == 0) {
      pto_trial_init(trial, k);
      return;
    }
  fail_msg("there is no kernel %s", name);
}

/* Rows of up to 70 elements, in up to three dimensions more. */
static void draw_shape(struct pto_reference_shape *shape, struct pto_rng *rng) {
  shape->ndims = 1 + (uint32_t)pto_rng_below(rng, 4);
  uint64_t left = MOST_ELEMS;
  for (uint32_t d = shape->ndims; d-- > 0;) {
    const bool is_last = d == 0, is_row = d + 1 == shape->ndims && shape->ndims > 1;
    shape->shape[d] = 1 + pto_rng_below(rng, is_row ? 70 : is_last ? left : 12);
    left = pto_max_u64(left / shape->shape[d], 1);
  }
}

static void keep(struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) pto_test_tensor_snapshot(&trial->tensors[i]);
}

static void assert_same_output(const struct pto_trial_tensor *got, const struct pto_trial_case *c, const char *what) {
  const struct pto_trial_tensor *wanted = &plain.tensors[plain.args.tensor_count - 1];
  char text[256];
  for (uint64_t i = 0; i < pto_trial_numel(wanted); i++) {
    if (pto_trial_same_element(got, wanted, i)) continue;
    pto_trial_describe(&laid_out, c, text, sizeof text);
    fail_msg("%s: element %" PRIu64 " is not that of contiguous tensors, %s", text, i, what);
  }
}

/* One case on every level, over its own output and, where `is_in_place`, over its first input. */
static void check_case(const char *kernel, struct pto_trial_case *c, bool is_in_place) {
  find(&laid_out, kernel);
  find(&plain, kernel);
  assert_int_equal(pto_trial_check(&laid_out, c), PTO_OK);
  assert_int_equal(pto_trial_make(&laid_out, c), PTO_OK);
  assert_int_equal(pto_trial_make_contiguous(&plain, &laid_out), PTO_OK);
  pto_level_limit(PTO_LEVEL_PLAIN);
  assert_int_equal(pto_trial_run(&plain), PTO_OK);
  const uint32_t last = laid_out.args.tensor_count - 1;
  keep(&laid_out);
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
    pto_level_limit((enum pto_level)level);
    pto_trial_restore(&laid_out);
    assert_int_equal(pto_trial_run(&laid_out), PTO_OK);
    assert_int_equal(pto_trial_stray(&laid_out), -1);
    assert_same_output(&laid_out.tensors[last], c, pto_level_name((enum pto_level)level));
    if (!is_in_place) continue;
    pto_trial_restore(&laid_out);
    laid_out.views[last] = laid_out.views[0];
    assert_int_equal(pto_trial_run(&laid_out), PTO_OK);
    laid_out.views[last] = laid_out.tensors[last].t;
    assert_true(pto_trial_tensor_is_unchanged(&laid_out.tensors[0], true));
    assert_same_output(&laid_out.tensors[0], c, "in place");
  }
  pto_level_limit(PTO_LEVEL_COUNT - 1);
  pto_trial_fini(&laid_out);
  pto_trial_fini(&plain);
}

struct subject {
  const char *kernel;
  uint32_t dtypes[4];
  bool is_in_place;
};

static void test_rows_of_any_length_give_the_bits_of_contiguous_tensors_on_every_level(void **state) {
  (void)state;
  static const struct subject subjects[] = {
      {"add", {PTO_INT8, PTO_INT8, PTO_INT8}, true},
      {"add", {PTO_FLOAT16, PTO_FLOAT16, PTO_FLOAT16}, true},
      {"add", {PTO_FLOAT32, PTO_FLOAT32, PTO_FLOAT32}, true},
      {"add", {PTO_BFLOAT16, PTO_FLOAT32, PTO_FLOAT16}, false},
      {"maximum", {PTO_INT64, PTO_INT64, PTO_INT64}, true},
      {"add_inplace", {PTO_INT16, PTO_INT16}, false},
      {"add_inplace", {PTO_FLOAT32, PTO_BFLOAT16}, false},
      {"select", {PTO_BOOL, PTO_FLOAT32, PTO_FLOAT32, PTO_FLOAT32}, false},
      {"select", {PTO_BOOL, PTO_UINT8, PTO_UINT8, PTO_UINT8}, false},
      {"sub", {PTO_FLOAT32, PTO_FLOAT32, PTO_FLOAT32}, true},
      {"sub", {PTO_INT8, PTO_INT8, PTO_INT8}, true},
      {"div", {PTO_INT16, PTO_INT16, PTO_INT16}, true},
      {"prelu", {PTO_INT64, PTO_INT64, PTO_INT64}, false},
      {"logical_xor", {PTO_BOOL, PTO_BOOL, PTO_BOOL}, true},
      {"round_even", {PTO_FLOAT32, PTO_FLOAT32}, true},
      {"linear", {PTO_FLOAT32, PTO_FLOAT32}, true},
      {"add_inplace", {PTO_INT32, PTO_INT32}, false},
      {"relu", {PTO_FLOAT16, PTO_FLOAT16}, true},
      {"cast", {PTO_INT8, PTO_FLOAT32}, false},
      {"cast", {PTO_FLOAT32, PTO_FLOAT16}, false},
      {"cast", {PTO_UINT8, PTO_UINT8}, true},
      {"copy", {PTO_UINT8, PTO_UINT8}, true},
      {"copy", {PTO_FLOAT16, PTO_FLOAT16}, true},
      {"copy", {PTO_INT64, PTO_INT64}, true},
  };
  struct pto_rng rng = {SEED};
  for (uint32_t turn = 0; turn < 4; turn++)
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(subjects); s++)
      for (uint32_t layout = 0; layout < PTO_LAYOUT_COUNT; layout++) {
        struct pto_trial_case c = {.seed = pto_rng_next(&rng), .layout = layout};
        struct pto_reference_shape shape;
        draw_shape(&shape, &rng);
        for (uint32_t i = 0; i < 4; i++) c.shapes[i] = shape;
        memcpy(c.dtypes, subjects[s].dtypes, sizeof subjects[s].dtypes);
        check_case(subjects[s].kernel, &c, subjects[s].is_in_place && layout != PTO_LAYOUT_BROADCAST);
      }
}

static void test_empty_tensors_of_any_layout_are_left_alone(void **state) {
  (void)state;
  for (uint32_t layout = 0; layout < PTO_LAYOUT_COUNT; layout++) {
    struct pto_trial_case c = {.seed = SEED, .layout = layout, .dtypes = {PTO_INT8, PTO_INT8, PTO_INT8}};
    for (uint32_t i = 0; i < 3; i++) c.shapes[i] = (struct pto_reference_shape){3, {5, 0, 7}};
    check_case("add", &c, layout != PTO_LAYOUT_BROADCAST);
  }
}

/* y = the kernel of a, and of b where it takes two, `count` elements that lie side by side; a is b's dtype. */
static void run_contiguous(const struct pto_kernel *kernel, uint32_t dtype, char *a, char *b, char *y, uint64_t count) {
  static const uint64_t stride = 1;
  struct pto_kernel_tensor tensors[3];
  uint32_t tensor_count = 0;
  for (; tensor_count < kernel->param_count; tensor_count++) {
    const struct pto_kernel_param *param = &kernel->params[tensor_count];
    const bool is_output = param->mode == PTO_OUTPUT;
    tensors[tensor_count] =
        (struct pto_kernel_tensor){.addr = is_output           ? y
                                           : tensor_count == 0 ? a
                                                               : b,
                                   .shape = &count,
                                   .strides = &stride,
                                   .ndims = 1,
                                   .dtype = is_output && param->dtypes == PTO_DTYPES_BOOL ? PTO_BOOL : dtype};
  }
  const struct pto_kernel_args args = {.tensors = tensors, .tensor_count = tensor_count};
  assert_int_equal(pto_test_call_run(kernel, &args), PTO_OK);
}

/* Large outputs, beginning anywhere in a cache line and
 * ending anywhere, against pieces. */
static void test_a_large_output_at_any_address_has_the_bits_of_its_pieces_and_nothing_around_it(void **state) {
  (void)state;
  static const struct {
    const char *kernel;
    uint32_t dtype, out_bytes;
  } subjects[] = {{"gelu", PTO_FLOAT32, 4},   {"exp", PTO_BFLOAT16, 2},    {"erf", PTO_FLOAT16, 2},
                  {"add", PTO_FLOAT16, 2},    {"lesser", PTO_BFLOAT16, 1}, {"sqrt", PTO_FLOAT16, 2},
                  {"lesser", PTO_FLOAT32, 1}, {"add", PTO_FLOAT32, 4}};
  const uint64_t space = LARGE_BYTES + 8192, piece = 1000;
  struct pto_rng rng = {SEED};
  char *got = aligned_alloc(64, space);
  assert_non_null(got);
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(subjects); s++) {
    const struct pto_kernel *kernel = pto_kernel_find(subjects[s].kernel);
    const uint64_t in_bytes = pto_dtype_size(subjects[s].dtype), out_bytes = subjects[s].out_bytes;
    const uint64_t count = LARGE_BYTES / out_bytes + pto_rng_below(&rng, 100);
    const uint64_t at = out_bytes * (1 + pto_rng_below(&rng, 100));
    char *inputs = malloc(2 * count * in_bytes), wanted[1000 * 4];
    assert_non_null(inputs);
    for (uint64_t i = 0; i < 2 * count * in_bytes; i++) inputs[i] = (char)(pto_mix64(i) & 0x3f);
    for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
      pto_level_limit((enum pto_level)level);
      memset(got, 0x5a, space);
      run_contiguous(kernel, subjects[s].dtype, inputs, inputs + count * in_bytes, got + at, count);
      for (uint64_t i = 0; i < count; i += piece) {
        const uint64_t some = pto_min_u64(piece, count - i);
        run_contiguous(kernel, subjects[s].dtype, inputs + i * in_bytes, inputs + (count + i) * in_bytes, wanted, some);
        if (memcmp(got + at + i * out_bytes, wanted, some * out_bytes) != 0)
          fail_msg("%s of %s, %s: elements from %" PRIu64 " on", kernel->name, pto_dtype_name(subjects[s].dtype),
                   pto_level_name((enum pto_level)level), i);
      }
      for (uint64_t i = 0; i < space; i++)
        if ((i < at || i >= at + count * out_bytes) && got[i] != 0x5a)
          fail_msg("%s writes beside its output, at byte %" PRIu64, kernel->name, i - at);
    }
    free(inputs);
  }
  free(got);
  pto_level_limit(PTO_LEVEL_COUNT - 1);
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_of_any_length_give_the_bits_of_contiguous_tensors_on_every_level),
      cmocka_unit_test(test_empty_tensors_of_any_layout_are_left_alone),
      cmocka_unit_test(test_a_large_output_at_any_address_has_the_bits_of_its_pieces_and_nothing_around_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
