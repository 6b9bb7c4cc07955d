/* SPDX-License-Identifier: MIT */
/* Tests of rooflines by hand-made costs. */
#include <report/run/roofline.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct pto_kernel matmul = {.name = "matmul"};

/* 1000 multiply-adds of 400 bytes at 2 multiply-adds a ps and 1 byte a ps: 500 ps and 400 ps. */
static const struct pto_trace_cost on_cube = {.kernel = &matmul,
                                              .calls = 1,
                                              .bytes = 400,
                                              .multiply_adds = 1000,
                                              .memory_ps = 400,
                                              .compute_ps = 500,
                                              .least_ps = 500,
                                              .cube_mops = 2000000,
                                              .vector_mops = 100000,
                                              .core_kind = PTO_AIC,
                                              .dtype = PTO_FLOAT16};
/* The same on an AIV, which has no cube: 10 000 ps. */
static const struct pto_trace_cost on_vector = {.kernel = &matmul,
                                                .calls = 1,
                                                .bytes = 400,
                                                .multiply_adds = 1000,
                                                .memory_ps = 400,
                                                .compute_ps = 10000,
                                                .least_ps = 10000,
                                                .cube_mops = 2000000,
                                                .vector_mops = 100000,
                                                .core_kind = PTO_AIV,
                                                .dtype = PTO_FLOAT32};

static const struct pto_trace_rates without_l2 = {.core_mbps = 2};

static void assert_near(double a, double b) { assert_true(fabs(a - b) <= 1e-9 * fabs(b)); }

static void test_a_multiply_add_is_two_operations_of_the_cube_and_one_of_the_vector_unit(void **state) {
  struct pto_roofline cube = {0}, vector = {0};
  char text[32];
  (void)state;
  pto_roofline_add(&cube, &on_cube, &without_l2);
  pto_roofline_add(&vector, &on_vector, &without_l2);
  assert_int_equal(cube.operations, 2000);
  assert_int_equal(vector.operations, 1000);
  assert_near(pto_roofline_intensity(&cube), 5);
  assert_near(pto_roofline_gops(&cube, 1000), 2000); /* 2000 operations in a nanosecond */
  assert_string_equal(pto_roofline_bound(&cube, text, sizeof text), "cube fp16");
  assert_string_equal(pto_roofline_bound(&vector, text, sizeof text), "vector f32");
}

static void test_costs_of_one_kernel_add_up_and_the_longer_side_bounds(void **state) {
  struct pto_roofline all = {0}, none = {0};
  struct pto_trace_cost slow = on_cube;
  char text[32];
  (void)state;
  slow.memory_ps = slow.least_ps = 600;
  pto_roofline_add(&all, &on_cube, &without_l2);
  pto_roofline_add(&all, &slow, &without_l2);
  assert_int_equal(all.bytes, 800);
  assert_int_equal(all.least_ps, 1100); /* of each call the longer one */
  assert_string_equal(pto_roofline_bound(&all, text, sizeof text), "memory");
  pto_roofline_add(&all, &slow, &(struct pto_trace_rates){.core_mbps = 2, .l2_core_mbps = 3});
  assert_string_equal(pto_roofline_bound(&all, text, sizeof text), "L2");
  assert_null(pto_roofline_bound(&none, text, sizeof text));
  assert_near(pto_roofline_intensity(&none) + pto_roofline_gops(&none, 0), 0);
}

static void test_roofs_are_those_of_the_chip_and_of_units_in_use(void **state) {
  struct pto_trace trace;
  struct pto_roofs roofs;
  (void)state;
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS, 1), PTO_OK);
  pto_roofs_init(&roofs, &trace, 3);
  assert_int_equal(roofs.count, 0);
  *(struct pto_trace_cost *)pto_trace_log_append(&trace.costs) = on_cube;
  *(struct pto_trace_cost *)pto_trace_log_append(&trace.costs) = on_cube;
  trace.rates = (struct pto_trace_rates){.core_mbps = 70000, .chip_mbps = 150000};
  pto_roofs_init(&roofs, &trace, 3);
  assert_int_equal(roofs.count, 3);
  assert_string_equal(roofs.items[0].name, "memory");
  assert_near(roofs.items[0].most, 70);
  assert_string_equal(roofs.items[1].name, "memory, all cores at once");
  assert_near(roofs.items[1].most, 50);
  assert_string_equal(roofs.items[2].name, "cube fp16");
  assert_false(roofs.items[2].is_memory);
  assert_near(roofs.items[2].most, 4000);
  pto_roofs_init(&roofs, &trace, 2); /* two cores have all that they can take */
  assert_int_equal(roofs.count, 2);
  pto_trace_fini(&trace);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_multiply_add_is_two_operations_of_the_cube_and_one_of_the_vector_unit),
      cmocka_unit_test(test_costs_of_one_kernel_add_up_and_the_longer_side_bounds),
      cmocka_unit_test(test_roofs_are_those_of_the_chip_and_of_units_in_use)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
