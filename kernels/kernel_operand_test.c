/* SPDX-License-Identifier: MIT */
/* Oracle: the same elements in contiguous tensors, on the plainest level.  Rows of every length up to a vector and
 * more, in tensors of several chunks, which the registry's test has few of. */
#include <kernels/kernel_level.h>
#include <kernels/kernel_operand.h>
#include <kernels/kernel_test_support.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(271828)
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
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) pto_test_tensor_keep(&trial->tensors[i]);
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
    assert_true(pto_trial_tensor_is_kept(&laid_out.tensors[0], true));
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

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_of_any_length_give_the_bits_of_contiguous_tensors_on_every_level),
      cmocka_unit_test(test_empty_tensors_of_any_layout_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
