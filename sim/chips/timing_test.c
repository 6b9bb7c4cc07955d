/* SPDX-License-Identifier: MIT */
/* Durations: by hand, against long double within its precision, and at the ends of the ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/chips/timing.h>

#include <math.h>

static struct pto_chip a_chip(void) {
  return (struct pto_chip){.aic_clock_khz = 1800000,
                           .aiv_clock_khz = 1500000,
                           .cube_macs_per_cycle = 1024,
                           .cube_macs_per_cycle_16bit = 4096,
                           .cube_macs_per_cycle_8bit = 8192,
                           .vector_elems_per_cycle = 64,
                           .vector_elems_per_cycle_16bit = 128,
                           .vector_elems_per_cycle_8bit = 256,
                           .core_bandwidth_mbps = 115200,
                           .chip_bandwidth_mbps = 1600000};
}

static uint64_t work(struct pto_cost cost, uint32_t kind, uint32_t sharers) {
  struct pto_chip chip = a_chip();
  struct pto_timing timing;
  pto_timing_init(&timing, &chip);
  struct pto_timing_load load = pto_timing_load(&timing, &cost, kind);
  return pto_timing_work_ps(&timing, &load, sharers);
}

static void test_each_bound_alone(void **state) {
  /* 192000 elements: 3000 cycles of 64 at 1.5 GHz = 2 µs */
  assert_int_equal(work((struct pto_cost){.vector_elems = 192000}, PTO_AIV, 1), 2000000);
  /* 1843200 multiply-adds: 1800 cycles of 1024 at 1.8 GHz = 1 µs */
  assert_int_equal(work((struct pto_cost){.multiply_adds = 1843200}, PTO_AIC, 1), 1000000);
  /* 1152 bytes at 115.2 GB/s = 10 ns, in and out alike */
  assert_int_equal(work((struct pto_cost){.bytes_in = 1152}, PTO_AIC, 1), 10000);
  assert_int_equal(work((struct pto_cost){.bytes_in = 1000, .bytes_out = 152}, PTO_AIV, 1), 10000);
  assert_int_equal(work((struct pto_cost){0}, PTO_AIC, 1), 0);
}

static void test_the_largest_bound_decides(void **state) {
  struct pto_cost cost = {.bytes_in = 1152, .vector_elems = 192000, .multiply_adds = 1843200};
  assert_int_equal(work(cost, PTO_AIC, 1), 2000000);
  cost.bytes_out = 1152 * 1000;
  assert_int_equal(work(cost, PTO_AIC, 1), 10010000);
}

static void test_bandwidth_is_the_cores_own_until_the_chip_is_full(void **state) {
  const struct pto_cost cost = {.bytes_in = 1600000};
  const uint64_t alone = 13888889; /* ⌈1600000 · 10⁶ / 115200⌉ */
  assert_int_equal(work(cost, PTO_AIV, 1), alone);
  assert_int_equal(work(cost, PTO_AIV, 13), alone);    /* 13 · 115.2 < 1600 */
  assert_int_equal(work(cost, PTO_AIV, 14), 14000000); /* 14 · 115.2 > 1600 */
  assert_int_equal(work(cost, PTO_AIV, 72), 72000000);
}

static void test_a_vector_core_multiplies_at_its_vector_rate(void **state) {
  assert_int_equal(work((struct pto_cost){.multiply_adds = 192000}, PTO_AIV, 1), 2000000);
  assert_int_equal(work((struct pto_cost){.multiply_adds = 96000, .vector_elems = 96000}, PTO_AIV, 1), 2000000);
}

static void test_each_dtype_has_its_rate(void **state) {
  static const struct {
    uint32_t dtype;
    uint64_t cube_ps, vector_ps;
  } cases[] = {
      {PTO_FLOAT32, 8000000, 8000000},     {PTO_INT32, 8000000, 8000000},         {PTO_INT64, 8000000, 8000000},
      {PTO_FLOAT16, 2000000, 4000000},     {PTO_INT16, 2000000, 4000000},         {PTO_BFLOAT16, 2000000, 8000000},
      {PTO_INT8, 1000000, 2000000},        {PTO_UINT4, 1000000, 2000000},         {PTO_BOOL, 1000000, 2000000},
      {PTO_FLOAT8_E5M2, 1000000, 2000000}, {PTO_FLOAT4_E2M1FN, 1000000, 2000000}, {31, 8000000, 8000000},
      {1 << 20, 8000000, 8000000}};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const struct pto_cost cube = {.multiply_adds = 8 * 1843200, .dtype = cases[i].dtype};
    const struct pto_cost vector = {.vector_elems = 4 * 192000, .dtype = cases[i].dtype};
    assert_int_equal(work(cube, PTO_AIC, 1), cases[i].cube_ps);
    assert_int_equal(work(vector, PTO_AIV, 1), cases[i].vector_ps);
    assert_int_equal(work(vector, PTO_AIC, 1), cases[i].vector_ps);
  }
}

static void test_quotients_round_up(void **state) {
  assert_int_equal(work((struct pto_cost){.vector_elems = 1}, PTO_AIV, 1), 11); /* 10.41… */
  assert_int_equal(work((struct pto_cost){.bytes_in = 1}, PTO_AIV, 1), 9);      /* 8.68… */
  assert_int_equal(work((struct pto_cost){.bytes_in = 1}, PTO_AIV, 16), 10);    /* 16 / 1.6, exactly */
}

static void test_impossible_sizes_saturate(void **state) {
  assert_int_equal(work((struct pto_cost){.bytes_in = UINT64_MAX, .bytes_out = UINT64_MAX}, PTO_AIV, 3072),
                   PTO_TIMING_MAX_PS);
  assert_int_equal(work((struct pto_cost){.vector_elems = UINT64_MAX, .multiply_adds = 5}, PTO_AIV, 1),
                   PTO_TIMING_MAX_PS);
}

static void test_random_sizes_agree_with_long_double(void **state) {
  struct pto_rng rng = {5};
  print_message("seed 5\n");
  for (uint32_t i = 0; i < 100000; i++) {
    uint64_t bytes = pto_rng_next(&rng) >> (16 + pto_rng_below(&rng, 48)),
             elems = pto_rng_next(&rng) >> (16 + pto_rng_below(&rng, 48));
    uint32_t sharers = 1 + (uint32_t)pto_rng_below(&rng, 108);
    long double memory = fmaxl((long double)bytes * 1e6L / 115200.0L, (long double)bytes * 1e6L * sharers / 1600000.0L);
    long double expected =
        fminl(fmaxl(memory, (long double)elems * 1e9L / (64.0L * 1500000.0L)), (long double)PTO_TIMING_MAX_PS);
    uint64_t got = work((struct pto_cost){.bytes_in = bytes, .vector_elems = elems}, PTO_AIV, sharers);
    long double slack = expected * 1e-17L + 1e-6L;
    assert_true((long double)got >= expected - slack && (long double)got <= expected + 1 + slack);
  }
}

/* A product just below, at and above a multiple of the divisor, as large as 64 bits hold, and beyond. */
static void test_division_by_multiplication_is_exact(void **state) {
  struct pto_rng rng = {23};
  print_message("seed 23\n");
  for (uint32_t i = 0; i < 300000; i++) {
    uint64_t divisor = 1 + (pto_rng_next(&rng) >> (7 + pto_rng_below(&rng, 57)));
    if (i % 8 == 0) divisor = UINT64_C(1) << pto_rng_below(&rng, 57);
    const struct pto_timing_rate rate = {.divisor = divisor, .reciprocal = UINT64_MAX / divisor};
    uint64_t a = pto_rng_next(&rng) >> pto_rng_below(&rng, 64), b = 1;
    if (i % 4 == 0) a = a / divisor * divisor + pto_rng_below(&rng, 3) - 1;
    if (i % 16 == 1) a = UINT64_MAX - pto_rng_below(&rng, 3);
    if (i % 3 == 0) b = 1 + pto_rng_below(&rng, 3072000000);
    const unsigned __int128 product = (unsigned __int128)a * b;
    unsigned __int128 expected = product / divisor + (product % divisor != 0);
    if (expected > PTO_TIMING_MAX_PS) expected = PTO_TIMING_MAX_PS;
    assert_int_equal(pto_timing_scale(a, b, &rate), (uint64_t)expected);
  }
}

/* f32[10,6] in, i4[3,5] in and out, scalar, f16[7] out */
static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT},  {.mode = PTO_SCALAR}, {.mode = PTO_INOUT},
                                                 {.mode = PTO_UNUSED}, {.mode = PTO_SCALAR}, {.mode = PTO_OUTPUT}};
static const uint64_t shapes[4][2] = {{10, 6}, {3, 5}, {100, 100}, {7, 1}};
static const struct pto_kernel_tensor tensors[] = {{.shape = shapes[0], .ndims = 2, .dtype = PTO_FLOAT32},
                                                   {.shape = shapes[1], .ndims = 2, .dtype = PTO_INT4},
                                                   {.shape = shapes[2], .ndims = 2, .dtype = PTO_FLOAT32},
                                                   {.shape = shapes[3], .ndims = 1, .dtype = PTO_FLOAT16}};

static struct pto_cost default_cost(const struct pto_kernel *kernel, uint32_t tensor_count, uint32_t block_count) {
  const struct pto_core core = {.kind = PTO_AIV, .block_count = block_count};
  const struct pto_kernel_args args = {
      .tensors = tensors, .core = &core, .tensor_count = tensor_count, .scalar_count = 2};
  return pto_timing_cost(kernel, &args);
}

static void test_a_kernel_without_a_cost_moves_its_parameters_once(void **state) {
  const struct pto_kernel kernel = {.params = params, .param_count = PTO_ARRAY_LENGTH(params)};
  struct pto_cost cost = default_cost(&kernel, 4, 1);
  assert_int_equal(cost.bytes_in, 240 + 8); /* 15 elements of 4 bits take 8 bytes */
  assert_int_equal(cost.bytes_out, 8 + 14);
  assert_int_equal(cost.vector_elems, 15 + 7);
  assert_int_equal(cost.multiply_adds + cost.local_bytes, 0);
}

static void test_blocks_divide_the_default_cost(void **state) {
  const struct pto_kernel kernel = {.params = params, .param_count = PTO_ARRAY_LENGTH(params)};
  struct pto_cost cost = default_cost(&kernel, 4, 10);
  assert_int_equal(cost.bytes_in, 25); /* ⌈248 / 10⌉ */
  assert_int_equal(cost.bytes_out, 3);
  assert_int_equal(cost.vector_elems, 3);
}

static void test_a_kernel_without_a_list_is_charged_for_its_largest_tensor(void **state) {
  const struct pto_kernel kernel = {0};
  struct pto_cost cost = default_cost(&kernel, 2, 1);
  assert_int_equal(cost.bytes_in, 248);
  assert_int_equal(cost.bytes_out, 0);
  assert_int_equal(cost.vector_elems, 60);
}

static void test_a_tensor_of_impossible_extents_saturates(void **state) {
  static const uint64_t shape[2] = {UINT64_MAX, 2};
  static const struct pto_kernel_tensor tensor = {.shape = shape, .ndims = 2, .dtype = PTO_UINT8};
  const struct pto_core core = {.kind = PTO_AIV, .block_count = 1};
  const struct pto_kernel_args args = {.tensors = &tensor, .core = &core, .tensor_count = 1};
  const struct pto_kernel kernel = {0};
  assert_true(pto_timing_cost(&kernel, &args).bytes_in == UINT64_MAX);
}

static struct pto_cost fixed_cost(const struct pto_kernel_args *args) { return (struct pto_cost){.bytes_in = 77}; }

static void test_a_kernel_with_a_cost_is_asked(void **state) {
  const struct pto_kernel kernel = {.params = params, .param_count = PTO_ARRAY_LENGTH(params), .cost = fixed_cost};
  assert_int_equal(default_cost(&kernel, 4, 10).bytes_in, 77);
}

static void test_a_bound_is_the_work_of_one_core_and_names_its_resource(void **state) {
  (void)state;
  struct pto_chip chip;
  struct pto_error error;
  struct pto_timing timing;
  assert_int_equal(pto_chip_load("a2a3", &chip, &error), PTO_OK);
  pto_timing_init(&timing, &chip);
  static const struct {
    const char *resource;
    struct pto_cost cost;
    uint32_t core_kind;
  } cases[] = {{"nothing", {0}, PTO_AIV},
               {"memory", {.bytes_in = 1 << 20, .vector_elems = 1}, PTO_AIV},
               {"vector", {.bytes_out = 1, .vector_elems = 1 << 20}, PTO_AIV},
               {"vector", {.multiply_adds = 1 << 20}, PTO_AIV},
               {"cube", {.bytes_in = 1, .multiply_adds = 1 << 30, .vector_elems = 5}, PTO_AIC},
               {"vector", {.multiply_adds = 1024, .vector_elems = 1 << 20}, PTO_AIC}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const struct pto_timing_bound bound = pto_timing_bound(&timing, &cases[i].cost, cases[i].core_kind);
    const struct pto_timing_load load = pto_timing_load(&timing, &cases[i].cost, cases[i].core_kind);
    assert_string_equal(bound.resource, cases[i].resource);
    assert_int_equal(bound.ps, pto_timing_work_ps(&timing, &load, 1));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_bound_alone),
      cmocka_unit_test(test_the_largest_bound_decides),
      cmocka_unit_test(test_a_bound_is_the_work_of_one_core_and_names_its_resource),
      cmocka_unit_test(test_bandwidth_is_the_cores_own_until_the_chip_is_full),
      cmocka_unit_test(test_a_vector_core_multiplies_at_its_vector_rate),
      cmocka_unit_test(test_each_dtype_has_its_rate),
      cmocka_unit_test(test_quotients_round_up),
      cmocka_unit_test(test_impossible_sizes_saturate),
      cmocka_unit_test(test_random_sizes_agree_with_long_double),
      cmocka_unit_test(test_division_by_multiplication_is_exact),
      cmocka_unit_test(test_a_kernel_without_a_cost_moves_its_parameters_once),
      cmocka_unit_test(test_blocks_divide_the_default_cost),
      cmocka_unit_test(test_a_kernel_without_a_list_is_charged_for_its_largest_tensor),
      cmocka_unit_test(test_a_tensor_of_impossible_extents_saturates),
      cmocka_unit_test(test_a_kernel_with_a_cost_is_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
