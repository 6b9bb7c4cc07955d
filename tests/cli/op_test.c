/* SPDX-License-Identifier: MIT */
/*
 * `ptosim op` from outside: what it prints, its JSON, its exit status, and that docs/tables/kernels.txt holds its
 * table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/build/operation.h>
#include <pto/kernel.h>
#include <tests/support/ptosim_child.h>

/* ---- test ---- */

static void test_op_test_names_the_worst_error_of_each_combination_of_dtypes(void **state) {
  assert_int_equal(pto_ptosim_run("op test exp --dtype fp16,f32 --shape 33x7 --seed 3 --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *results = json_object_get(root, "results");
  assert_int_equal(json_array_size(results), 1);
  json_t *row = json_array_get(results, 0);
  assert_string_equal(pto_json_text(row, "dtypes"), "fp16 → f32");
  assert_string_equal(pto_json_text(row, "shapes"), "33x7 → 33x7");
  assert_int_equal(pto_json_integer(row, "wrong"), 0);
  assert_int_equal(pto_json_integer(row, "elements"), 33 * 7 * 7); /* in each of seven layouts */
  const double worst = json_number_value(json_object_get(row, "worst_ulps"));
  assert_true(worst > 0.4 && worst <= json_number_value(json_object_get(row, "allowed_ulps")));
  json_decref(root);
  assert_int_equal(pto_ptosim_run("op test exp --dtype fp16,f32 --shape 33x7 --seed 3"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "1 right, 0 wrong, 0 failed\n"));
}

static void test_op_test_runs_every_kernel_of_the_list(void **state) {
  char line[128];
  assert_int_equal(pto_ptosim_run("op test all --layout mixed"), 0);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    snprintf(line, sizeof line, "%s ", pto_kernel_at(k)->name);
    if (strstr(pto_ptosim_last.out, line) == NULL) fail_msg("no line of %s", pto_kernel_at(k)->name);
  }
}

static void test_op_test_gives_the_same_bytes_again_and_others_for_another_seed(void **state) {
  assert_int_equal(pto_ptosim_run("op test log --dtype f32 --shape 1000 --seed 1"), 0);
  char *first = strdup(pto_ptosim_last.out);
  assert_int_equal(pto_ptosim_run("op test log --dtype f32 --shape 1000 --seed 1"), 0);
  assert_string_equal(first, pto_ptosim_last.out);
  assert_int_equal(pto_ptosim_run("op test log --dtype f32 --shape 1000 --seed 2"), 0);
  assert_string_not_equal(first, pto_ptosim_last.out);
  free(first);
}

static void test_op_takes_shapes_scalars_and_levels(void **state) {
  assert_int_equal(pto_ptosim_run("op test matmul --shape 5x7x9 --dtype f32"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "5x7 7x9 → 5x9"));
  assert_int_equal(pto_ptosim_run("op test equal --shape 5x7 --dtype bool"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "bool bool → bool"));
  assert_int_equal(pto_ptosim_run("op test quantize_linear --shape 4x64 --dtype i8"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "→ i8"));
  assert_int_equal(pto_ptosim_run("op test matmul --shape 2x3,3x4,2x4 --dtype f32 --level plain"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "2x3 3x4 → 2x4"));
  assert_int_equal(pto_ptosim_run("op test add_scalar --scalar -2.5 --dtype f32 --shape scalar"), 0);
  assert_int_equal(pto_ptosim_run("op test add_scalar_int --scalar -3 --dtype i8 --shape 0x4"), 0);
}

/* ---- perf ---- */

static void test_op_perf_measures_and_says_what_bounds_the_kernel(void **state) {
  assert_int_equal(
      pto_ptosim_run("op perf matmul --dtype f32 --shape 64x32x16 --chip tests/regress/plain.ini --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *row = json_array_get(json_object_get(root, "results"), 0);
  assert_int_equal(pto_json_integer(row, "multiply_adds"), 64 * 32 * 16);
  assert_int_equal(pto_json_integer(row, "bytes_in"), (64 * 32 + 32 * 16) * 4);
  assert_int_equal(pto_json_integer(row, "bytes_out"), 64 * 16 * 4);
  assert_true(json_number_value(json_object_get(row, "median_ns")) > 0);
  assert_true(json_number_value(json_object_get(row, "minimum_ns")) <=
              json_number_value(json_object_get(row, "median_ns")));
  /* 14 336 bytes at 115.2 GB/s take 124.4 ns; 32 768 multiply-adds at 1024 a cycle of 1.8 GHz take 17.8. */
  assert_string_equal(pto_json_text(row, "bound"), "memory");
  assert_true(json_number_value(json_object_get(row, "chip_ns")) > 124.4 &&
              json_number_value(json_object_get(row, "chip_ns")) < 124.5);
  json_decref(root);
}

static void test_op_perf_names_the_layout_of_each_row(void **state) {
  static const char *const layouts[] = {" contiguous ", " transposed ", " stepped ", " sub-box "};
  assert_int_equal(pto_ptosim_run("op perf add --dtype f32 --shape 3x4 --layout all"), 0);
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
    assert_non_null(strstr(pto_ptosim_last.out, layouts[i]));
}

/* ---- support ---- */

static void test_op_support_lists_every_kernel_with_what_it_takes(void **state) {
  assert_int_equal(pto_ptosim_run("op support --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *kernels = json_object_get(root, "kernels");
  assert_int_equal(json_array_size(kernels), pto_kernel_count());
  for (uint32_t k = 0; k < pto_kernel_count(); k++)
    assert_string_equal(pto_json_text(json_array_get(kernels, k), "kernel"), pto_kernel_at(k)->name);
  json_decref(root);
  assert_int_equal(pto_ptosim_run("op support matmul"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "| matmul | AIC | in a[2+], in b[2+], out c[2+] | floats |"));
}

static void test_op_support_says_whether_a_kernel_takes_what_is_asked_for(void **state) {
  assert_int_equal(pto_ptosim_run("op support add --dtype i8 --shape 0x7"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "| add | AIV |"));
  pto_ptosim_run("op support add --dtype bool");
  pto_ptosim_assert_complaint(2, "add does not take bool");
  pto_ptosim_run("op support matmul --shape 3x4,5x6,3x6");
  pto_ptosim_assert_complaint(2, "matmul: inner sizes 4 and 5 differ (params 0 and 1)");
  assert_int_equal(pto_ptosim_run("op support logical* --dtype bool"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "| logical_not |"));
  assert_int_equal(pto_ptosim_run("op support --dtype i4"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "| copy |"));
  assert_null(strstr(pto_ptosim_last.out, "| add |"));
  pto_ptosim_run("op support e* --dtype i4");
  pto_ptosim_assert_complaint(2, "no kernel that \"e*\" means takes that");
}

static void test_op_refuses_options_that_the_action_would_ignore(void **state) {
  static const char *const ignored[][2] = {{"support exp --layout stepped", "--layout"},
                                           {"support exp --level plain", "--level"},
                                           {"support exp --seed 3", "--seed"},
                                           {"support exp --chip tiny", "--chip"},
                                           {"test exp --chip tiny", "--chip"}};
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
    pto_ptosim_run("op %s", ignored[i][0]);
    pto_ptosim_assert_complaint(2, ignored[i][1]);
    assert_non_null(strstr(pto_ptosim_last.err, "means nothing to op"));
  }
}

static void test_the_table_of_kernels_in_the_documents_is_that_of_the_list(void **state) {
  char *page = pto_ptosim_read_file("docs/tables/kernels.txt");
  assert_int_equal(pto_ptosim_run("op support"), 0);
  if (strstr(page, pto_ptosim_last.out) == NULL)
    fail_msg("docs/tables/kernels.txt is not what `ptosim op support` prints; scripts/update_kernels writes it");
  free(page);
}

/* ---- operations of graphs ---- */

static void test_op_test_holds_an_operation_against_the_reference_with_each_dtype(void **state) {
  assert_int_equal(pto_ptosim_run("op test conv2d --shape 1x3x8x8,4x3x3x3 --set strides=2,1 --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *rows = json_object_get(root, "results");
  assert_int_equal(json_array_size(rows), 2);
  json_t *row = json_array_get(rows, 0);
  assert_string_equal(pto_json_text(row, "operands"), "float32[1,3,8,8] float32[4,3,3,3]");
  assert_string_equal(pto_json_text(row, "results"), "float32[1,4,3,6]");
  assert_int_equal(pto_json_integer(row, "elements"), 72);
  assert_int_equal(pto_json_integer(row, "wrong"), 0);
  assert_true(pto_json_integer(row, "tasks") > 0);
  assert_string_equal(pto_json_text(json_array_get(rows, 1), "operands"), "float16[1,3,8,8] float16[4,3,3,3]");
  json_decref(root);
  assert_int_equal(pto_ptosim_run("op test graph:softmax --set axis=1 --shape 5x7 --dtype float16"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "float16[5,7] → float16[5,7]"));
  assert_int_equal(pto_ptosim_run("op test concat --set axis=1 --shape 3x4,3x5,3x1 --dtype i8"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "→ int8[3,10]"));
}

static void test_op_perf_of_an_operation_says_what_its_tasks_cost(void **state) {
  assert_int_equal(pto_ptosim_run("op perf graph:matmul --shape 64x32,32x16 --dtype f32 --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *row = json_array_get(json_object_get(root, "results"), 0);
  assert_int_equal(pto_json_integer(row, "multiply_adds"), 64 * 32 * 16);
  assert_int_equal(pto_json_integer(row, "bytes_out"), 64 * 16 * 4);
  const double least_ns = json_number_value(json_object_get(row, "least_dispatch_ns"));
  assert_true(least_ns > 0 && least_ns <= json_number_value(json_object_get(row, "dispatch_ns")));
  assert_true(json_number_value(json_object_get(row, "chip_ns")) > 0);
  json_decref(root);
}

static void test_op_support_knows_every_operation_of_graphs(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) {
    assert_int_equal(pto_ptosim_run("op support graph:%s", pto_op_info(op)->name), 0);
    assert_non_null(strstr(pto_ptosim_last.out, pto_op_info(op)->parameters[0].name));
  }
  assert_int_equal(pto_ptosim_run("op support split --set splits=3,4 --shape 7x2 --dtype u8"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "uint8[7,2] → uint8[3,2] uint8[4,2]"));
}

#define SIXTEEN "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"

static void test_op_refuses_what_an_operation_does_not_take(void **state) {
  static const struct {
    const char *words, *part;
  } refusals[] = {{"test conv2d", "conv2d: input of shape [128, 128] has 2 dimensions, not 4"},
                  {"test conv2d --dtype i8", "conv2d does not take i8"},
                  {"test conv2d --shape 1x3x8x8,4x3x3x3,4,4", "conv2d has 2 to 3 operands, --shape gives 4"},
                  {"test conv2d --dtype f32,f32,f32", "conv2d has 2 operands here, --dtype gives 3"},
                  {"test conv2d --shape 1x3x8x8,4x3x3x3 --set strides=a,b", "strides[0] is \"a\""},
                  {"test conv2d --shape 1x3x8x8,4x3x3x3 --set what=1", "there is no attribute \"what\""},
                  {"test conv2d --set what", "\"what\" is not of the form name=value"},
                  {"test split --dtype u8 --shape 65x1 --set splits=" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "1",
                   "splits has more than 64 items"},
                  {"test split", "split: splits is missing"},
                  {"test graph:nope", "no operation is called \"nope\""},
                  {"test isNaN --layout stepped", "--layout means nothing to op test of an operation of graphs"},
                  {"test exp --set a=1", "of a kernel; the operation of graphs is graph:exp"},
                  {"support conv2d --dtype f32 --shape 1x3x8x8,4x2x3x3", "conv2d: "}};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    pto_ptosim_run("op %s", refusals[i].words);
    pto_ptosim_assert_complaint(2, refusals[i].part);
  }
}

/* ---- bad arguments ---- */

static void test_op_refuses_what_it_does_not_understand_or_the_kernel_does_not_take(void **state) {
  static const struct {
    const char *words, *part;
  } refusals[] = {{"op", "which of test, perf, support"},
                  {"op fix exp", "\"fix\" is none of test, perf, support"},
                  {"op test", "which kernel"},
                  {"op test nope", "no kernel \"nope\", and no operation"},
                  {"op test conv2", "did you mean \"conv2d\"?"},
                  {"op test exp log", "not also \"log\""},
                  {"op test exp --dtype i32", "exp does not take i32"},
                  {"op test greater --dtype bool", "greater does not take bool"},
                  {"op test is_nan --dtype bool", "is_nan does not take bool"},
                  {"op test exp --dtype f33", "\"f33\" is no dtype; there are f32, fp16"},
                  {"op test exp --dtype f32,f32,f32", "exp has 2 tensors, --dtype gives 3"},
                  {"op test exp --shape 3xy", "no shape"},
                  {"op test exp --shape 3x4,3x5", "exp: shapes [3,4] and [3,5] differ (params 0 and 1)"},
                  {"op test matmul --shape 4x4", "give 3 to 8, none too large, or a shape for each of its 3 tensors"},
                  {"op test exp --shape 1x2x3x4x5x6x7x8x9", "\"1x2x3x4x5x6x7x8x9\" is no shape"},
                  {"op test matmul --shape 64x32,32x16", "matmul has 3 tensors, --shape gives 2 shapes"},
                  {"op test exp --layout skewed", "\"skewed\" is none of contiguous, transposed, permuted"},
                  {"op test exp --level sse", "\"sse\" is none of plain, avx2, avx512"},
                  {"op test exp --seed x", "--seed"},
                  {"op test exp --json", "needs a value"},
                  {"op test exp --what", "no option --what"},
                  {"op test fill --scalar 1,2", "has 1 scalar, --scalar gives more"},
                  {"op perf exp --chip nope", "nope"}};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    pto_ptosim_run("%s", refusals[i].words);
    pto_ptosim_assert_complaint(2, refusals[i].part);
  }
  assert_int_equal(pto_ptosim_run("op --help"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_op_test_names_the_worst_error_of_each_combination_of_dtypes),
      cmocka_unit_test(test_op_test_runs_every_kernel_of_the_list),
      cmocka_unit_test(test_op_test_gives_the_same_bytes_again_and_others_for_another_seed),
      cmocka_unit_test(test_op_takes_shapes_scalars_and_levels),
      cmocka_unit_test(test_op_perf_measures_and_says_what_bounds_the_kernel),
      cmocka_unit_test(test_op_perf_names_the_layout_of_each_row),
      cmocka_unit_test(test_op_support_lists_every_kernel_with_what_it_takes),
      cmocka_unit_test(test_op_support_says_whether_a_kernel_takes_what_is_asked_for),
      cmocka_unit_test(test_op_refuses_options_that_the_action_would_ignore),
      cmocka_unit_test(test_op_test_holds_an_operation_against_the_reference_with_each_dtype),
      cmocka_unit_test(test_op_perf_of_an_operation_says_what_its_tasks_cost),
      cmocka_unit_test(test_op_support_knows_every_operation_of_graphs),
      cmocka_unit_test(test_op_refuses_what_an_operation_does_not_take),
      cmocka_unit_test(test_the_table_of_kernels_in_the_documents_is_that_of_the_list),
      cmocka_unit_test(test_op_refuses_what_it_does_not_understand_or_the_kernel_does_not_take),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
