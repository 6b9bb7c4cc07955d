/* SPDX-License-Identifier: MIT */
/*
 * Digest and comparison: XXH64 against values published with its implementations, the tolerance at its very edge.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <orchestration/loader/program_run.h>

#include <math.h>
#include <string.h>

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return PTO_OK; }
static const struct pto_program program = {.abi = PTO_PROGRAM_ABI, .name = "test", .orchestrate = orchestrate};

static struct pto_program_run *run_new(void) {
  struct pto_program_run *run = NULL;
  struct pto_error error;
  assert_int_equal(pto_program_run_create(&program, NULL, &run, &error), PTO_OK);
  return run;
}

static struct pto_array *array(struct pto_program_run *run, const char *name, uint32_t role, uint32_t dtype,
                               uint64_t numel) {
  struct pto_array *made = pto_program_array(run, name, role, dtype, 1, &numel);
  assert_non_null(made);
  return made;
}

/* ---- XXH64 ---- */

static void test_the_hash_gives_the_published_values(void **state) {
  static const char long_text[] = "Nobody inspects the spammish repetition";
  assert_int_equal(pto_xxh64("", 0, 0), UINT64_C(0xef46db3751d8e999));
  assert_int_equal(pto_xxh64("a", 1, 0), UINT64_C(0xd24ec4f1a98c6e5b));
  assert_int_equal(pto_xxh64("abc", 3, 0), UINT64_C(0x44bc2cf5ad770999));
  assert_int_equal(pto_xxh64("xxhash", 6, 20141025), UINT64_C(13067679811253438005));
  assert_int_equal(pto_xxh64(long_text, strlen(long_text), 0), UINT64_C(0xfbcea83c8a378bf1));
}

/* Sizes at which no byte is left after the stripes; the values are those of a second implementation, in Python. */
static void test_the_hash_takes_whole_stripes(void **state) {
  static const char text[] = "Call me Ishmael. Some years ago--never mind how long precisely--";
  assert_int_equal(pto_xxh64(text, 63, 0), UINT64_C(0x2a2e85470d6fd96)); /* published */
  assert_int_equal(pto_xxh64(text, 32, 0), UINT64_C(0xce0d12f5fe4d4fb9));
  assert_int_equal(pto_xxh64(text, 64, 0), UINT64_C(0xb0942b8fa6c448ab));
}

static void test_the_hash_does_not_depend_on_alignment(void **state) {
  unsigned char bytes[200], shifted[201];
  for (int i = 0; i < 200; i++) bytes[i] = shifted[i + 1] = (unsigned char)(i * 37);
  for (uint64_t size = 0; size <= 200; size++)
    assert_int_equal(pto_xxh64(bytes, size, 5), pto_xxh64(shifted + 1, size, 5));
}

static void test_the_digest_chains_the_outputs_in_order_of_declaration(void **state) {
  struct pto_program_run *run = run_new();
  struct pto_array *first = array(run, "first", PTO_ARRAY_OUTPUT, PTO_INT32, 7);
  struct pto_array *input = array(run, "input", PTO_ARRAY_INPUT, PTO_INT32, 7);
  struct pto_array *second = array(run, "second", PTO_ARRAY_INOUT, PTO_INT8, 3);
  struct pto_array *scratch = array(run, "scratch", PTO_ARRAY_SCRATCH, PTO_INT32, 7);
  pto_array_fill(first, 1);
  pto_array_fill(second, 2);
  uint64_t digest = pto_program_run_digest(run);
  assert_int_equal(digest, pto_xxh64(second->data, 3, pto_xxh64(first->data, 28, 0)));
  pto_array_fill(input, 9);
  pto_array_fill(scratch, 9);
  assert_int_equal(pto_program_run_digest(run), digest);
  for (int byte = 0; byte < 28; byte++) {
    ((unsigned char *)first->data)[byte] ^= 1;
    assert_int_not_equal(pto_program_run_digest(run), digest);
    ((unsigned char *)first->data)[byte] ^= 1;
  }
  pto_program_run_destroy(run);
}

/* ---- comparison ---- */

/* Compares one element of `dtype` that holds `actual` with the golden. */
static struct pto_comparison compare_one(uint32_t dtype, double actual, double golden, double rtol, double atol) {
  struct pto_program_run *run = run_new();
  struct pto_array *out = array(run, "out", PTO_ARRAY_OUTPUT, dtype, 1);
  struct pto_comparison comparison;
  pto_array_set(out, 0, actual);
  pto_array_golden(run, out)[0] = golden;
  pto_program_run_compare(run, rtol, atol, &comparison);
  pto_program_run_destroy(run);
  return comparison;
}

static bool is_equal(uint32_t dtype, double actual, double golden, double rtol, double atol) {
  return compare_one(dtype, actual, golden, rtol, atol).is_verified;
}

static void test_the_tolerance_is_absolute_plus_relative_to_the_golden(void **state) {
  assert_true(is_equal(PTO_FLOAT32, 10.0 + 0.5 + 1.25, 10.0, 0.125, 0.5));
  assert_false(is_equal(PTO_FLOAT32, 10.0 + 0.5 + 1.25 + 0x1p-16, 10.0, 0.125, 0.5));
  assert_true(is_equal(PTO_FLOAT32, -10.0 - 0.5 - 1.25, -10.0, 0.125, 0.5));
  /* Relative to the golden, not to the actual value. */
  assert_true(is_equal(PTO_FLOAT32, 9.0, 8.0, 0.125, 0));
  assert_false(is_equal(PTO_FLOAT32, 8.0, 9.0 + 0.25, 0.125, 0));
  assert_true(is_equal(PTO_INT32, 5, 6, 0, 1));
  assert_false(is_equal(PTO_INT32, 5, 7, 0, 1));
}

static void test_a_run_has_the_tolerance_of_its_program_until_it_asks_for_its_own(void **state) {
  struct pto_program tolerant = program;
  tolerant.rtol = 0.25;
  tolerant.atol = 0.5;
  struct pto_program_run *run = NULL, *other = NULL;
  struct pto_error error;
  double rtol = -1, atol = -1;
  assert_int_equal(pto_program_run_create(&tolerant, NULL, &run, &error), PTO_OK);
  assert_int_equal(pto_program_run_create(&tolerant, NULL, &other, &error), PTO_OK);
  pto_program_run_tolerance(run, &rtol, &atol);
  assert_true(rtol == 0.25 && atol == 0.5);
  pto_program_tolerance(run, 0, 0);
  pto_program_run_tolerance(run, &rtol, &atol);
  assert_true(rtol == 0 && atol == 0);
  pto_program_run_tolerance(other, &rtol, &atol);
  assert_true(rtol == 0.25 && atol == 0.5);
  pto_program_run_destroy(run);
  pto_program_run_destroy(other);
}

static void test_without_tolerance_the_bits_decide(void **state) {
  assert_true(is_equal(PTO_FLOAT32, 0.1, 0.1, 0, 0)); /* the golden rounds to the same float */
  assert_false(is_equal(PTO_FLOAT32, 0.1, 0.1 + 1e-8, 0, 0));
  assert_true(is_equal(PTO_FLOAT16, 0.1, 0.1, 0, 0));
  assert_false(is_equal(PTO_FLOAT32, 0.0, -0.0, 0, 0));
  assert_true(is_equal(PTO_FLOAT32, 0.0, -0.0, 0, 1e-30));
  assert_true(is_equal(PTO_INT8, -128, -128, 0, 0));
  assert_true(is_equal(PTO_UINT32, 4294967295.0, 4294967295.0, 0, 0));
}

static void test_infinities_and_nans_match_themselves_alone(void **state) {
  for (int with_tolerance = 0; with_tolerance < 2; with_tolerance++) {
    double tolerance = with_tolerance ? 1e30 : 0;
    assert_true(is_equal(PTO_FLOAT32, NAN, NAN, tolerance, tolerance));
    assert_true(is_equal(PTO_FLOAT32, INFINITY, INFINITY, tolerance, tolerance));
    assert_false(is_equal(PTO_FLOAT32, INFINITY, -INFINITY, tolerance, tolerance));
    assert_false(is_equal(PTO_FLOAT32, NAN, 1, tolerance, tolerance));
    assert_false(is_equal(PTO_FLOAT32, 1, NAN, tolerance, tolerance));
    assert_false(is_equal(PTO_FLOAT32, 1, INFINITY, tolerance, tolerance));
    assert_false(is_equal(PTO_FLOAT32, INFINITY, 1, tolerance, tolerance));
  }
  assert_true(isinf(compare_one(PTO_FLOAT32, NAN, 1, 1, 1).max_abs_error));
  assert_true(isinf(compare_one(PTO_FLOAT32, INFINITY, -INFINITY, 1, 1).max_abs_error));
  assert_true(compare_one(PTO_FLOAT32, NAN, NAN, 1, 1).max_abs_error == 0);
  assert_int_equal(compare_one(PTO_FLOAT32, NAN, NAN, 1, 1).nans, 1);
  assert_int_equal(compare_one(PTO_FLOAT32, NAN, 1, 1, 1).nans, 0);
}

static void test_the_first_mismatch_is_named_with_index_and_values(void **state) {
  struct pto_program_run *run = run_new();
  const uint64_t shape[] = {3, 4, 5};
  struct pto_array *good = array(run, "good", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 8);
  struct pto_array *bad = pto_program_array(run, "bad", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 3, shape);
  pto_array_golden(run, good);
  double *golden = pto_array_golden(run, bad);
  golden[1 * 20 + 2 * 5 + 3] = 7;
  golden[2 * 20 + 0 * 5 + 4] = -9;
  struct pto_comparison comparison;
  pto_program_run_compare(run, 1e-3, 1e-3, &comparison);
  assert_true(comparison.has_golden);
  assert_false(comparison.is_verified);
  assert_int_equal(comparison.mismatches, 2);
  assert_int_equal(comparison.compared, 68);
  assert_ptr_equal(comparison.array, bad);
  assert_int_equal(comparison.index, 33);
  assert_true(comparison.max_abs_error == 9 && comparison.golden == 7 && comparison.actual == 0);
  assert_string_equal(comparison.sentence, "output bad[1,2,3]: 0 instead of 7 (2 of 68 elements differ, by 9 at most)");
  pto_program_run_destroy(run);
}

static void test_the_sentence_names_a_nan_without_a_sign(void **state) {
  struct pto_program_run *run = run_new();
  struct pto_array *out = array(run, "out", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2);
  pto_array_golden(run, out)[1] = copysign(NAN, -1);
  struct pto_comparison comparison;
  pto_program_run_compare(run, 1e-3, 1e-3, &comparison);
  assert_string_equal(comparison.sentence, "output out[1]: 0 instead of nan (1 of 2 elements differ, by inf at most)");
  pto_program_run_destroy(run);
}

static void test_only_outputs_with_a_golden_are_compared(void **state) {
  struct pto_program_run *run = run_new();
  struct pto_array *input = array(run, "input", PTO_ARRAY_INPUT, PTO_FLOAT32, 4);
  struct pto_array *out = array(run, "out", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 4);
  struct pto_array *inout = array(run, "inout", PTO_ARRAY_INOUT, PTO_FLOAT32, 4);
  struct pto_comparison comparison;
  pto_array_golden(run, input)[0] = 1;
  pto_array_fill(out, 5);
  pto_program_run_compare(run, 0, 0, &comparison);
  assert_false(comparison.has_golden);
  assert_false(comparison.is_verified);
  pto_array_golden(run, inout);
  pto_program_run_compare(run, 0, 0, &comparison);
  assert_true(comparison.has_golden && comparison.is_verified);
  assert_int_equal(comparison.compared, 4);
  assert_string_equal(comparison.sentence, "");
  pto_program_run_destroy(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_hash_gives_the_published_values),
      cmocka_unit_test(test_the_hash_takes_whole_stripes),
      cmocka_unit_test(test_the_hash_does_not_depend_on_alignment),
      cmocka_unit_test(test_the_digest_chains_the_outputs_in_order_of_declaration),
      cmocka_unit_test(test_the_tolerance_is_absolute_plus_relative_to_the_golden),
      cmocka_unit_test(test_a_run_has_the_tolerance_of_its_program_until_it_asks_for_its_own),
      cmocka_unit_test(test_without_tolerance_the_bits_decide),
      cmocka_unit_test(test_infinities_and_nans_match_themselves_alone),
      cmocka_unit_test(test_the_first_mismatch_is_named_with_index_and_values),
      cmocka_unit_test(test_the_sentence_names_a_nan_without_a_sign),
      cmocka_unit_test(test_only_outputs_with_a_golden_are_compared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
