/* SPDX-License-Identifier: MIT */
/*
 * Arrays: declaration, elements of every dtype against the nearest value found by looking at all of them, reproducible
 * fills.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <orchestration/loader/array_memory.h>
#include <orchestration/loader/program_run.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/memory_checker.h>
#include <runtime/base/reserve.h>
#include <runtime/base/sanitizer.h>

#define SEED 20240607u

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return PTO_OK; }
static const struct pto_program program = {.abi = PTO_PROGRAM_ABI, .name = "test", .orchestrate = orchestrate};

static struct pto_program_run *run_new(uint64_t seed) {
  struct pto_program_run *run = NULL;
  struct pto_error error;
  const struct pto_program_request request = {.seed = seed};
  assert_int_equal(pto_program_run_create(&program, &request, &run, &error), PTO_OK);
  return run;
}

static struct pto_array *array(struct pto_program_run *run, const char *name, uint32_t dtype, uint64_t numel) {
  struct pto_array *made = pto_program_array(run, name, PTO_ARRAY_INOUT, dtype, 1, &numel);
  assert_non_null(made);
  return made;
}

/* ---- declaration ---- */

static void test_an_array_is_zeroed_aligned_and_found_by_its_name(void **state) {
  struct pto_program_run *run = run_new(0);
  const uint64_t shape[] = {3, 5, 7};
  char name[] = "x"; /* the run keeps a copy */
  struct pto_array *x = pto_program_array(run, name, PTO_ARRAY_INPUT, PTO_FLOAT16, 3, shape);
  name[0] = 'y';
  assert_int_equal(x->numel, 105);
  assert_int_equal(x->size_bytes, 210);
  assert_int_equal((uintptr_t)x->data % 64, 0);
  for (int i = 0; i < 210; i++) assert_int_equal(((unsigned char *)x->data)[i], 0);
  assert_ptr_equal(pto_program_find(run, "x"), x);
  assert_null(pto_program_find(run, "y"));
  assert_ptr_equal(pto_program_run_array(run, 0), x);
  assert_null(pto_program_run_array(run, 1));
  assert_string_equal(x->name, "x");
  pto_program_run_destroy(run);
}

static bool is_zero(const void *data, uint64_t size_bytes) {
  const unsigned char *bytes = data;
  return size_bytes == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size_bytes - 1) == 0);
}

static void test_what_is_large_is_zeroed_and_begins_with_a_large_page(void **state) {
  struct pto_program_run *run = run_new(0);
  struct pto_array *large = array(run, "large", PTO_INT8, 2 * PTO_LARGE_PAGE_BYTES + 1);
  struct pto_array *half = array(run, "half", PTO_FLOAT32, PTO_LARGE_PAGE_BYTES / 4); /* its golden alone is large */
  assert_int_equal((uintptr_t)large->data % PTO_LARGE_PAGE_BYTES, 0);
  assert_true(is_zero(large->data, large->size_bytes));
  assert_int_equal((uintptr_t)half->data % 64, 0);
  assert_true(is_zero(half->data, half->size_bytes));
  const double *golden = pto_array_golden(run, half);
  assert_int_equal((uintptr_t)golden % PTO_LARGE_PAGE_BYTES, 0);
  assert_true(is_zero(golden, half->numel * sizeof *golden));
  pto_program_run_destroy(run);
}

static void test_sizes_count_bits_and_empty_arrays_are_legal(void **state) {
  struct pto_program_run *run = run_new(0);
  const uint64_t empty[] = {1000, 0, 3};
  struct pto_array *packed = array(run, "packed", PTO_INT4, 7), *none;
  assert_int_equal(packed->size_bytes, 4);
  none = pto_program_array(run, "none", PTO_ARRAY_OUTPUT, PTO_INT64, 3, empty);
  assert_true(none && none->data && none->numel == 0 && none->size_bytes == 0);
  struct pto_array *scalar = pto_program_array(run, "scalar", PTO_ARRAY_OUTPUT, PTO_INT64, 0, NULL);
  assert_int_equal(scalar->numel, 1);
  pto_program_run_digest(run);
  pto_program_run_destroy(run);
}

/* ---- who runs off an array ---- */

/* Whether a child that writes there ends by SIGSEGV. */
static bool faults(char *at) {
  int status;
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* not cmocka's */
    *at = 1;
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_behind_a_small_array_and_around_a_large_one_are_guards(void **state) {
  if (pto_memory_is_checked() || PTO_HAS_SANITIZER) skip();
  struct pto_program_run *run = run_new(0);
  struct pto_array *small = array(run, "small", PTO_FLOAT32, 16), *none = array(run, "none", PTO_FLOAT32, 0);
  struct pto_array *large = array(run, "large", PTO_INT8, 2 * PTO_LARGE_PAGE_BYTES);
  assert_true(faults((char *)small->data + 64));
  assert_false(faults((char *)small->data + 63));
  assert_false(faults((char *)small->data - 1)); /* slack */
  assert_true(faults((char *)small->data + 64 - sysconf(_SC_PAGESIZE) - 1));
  assert_true(faults(none->data));
  assert_false(faults((char *)none->data - 1));
  assert_true(faults((char *)large->data - 1));
  assert_true(faults((char *)large->data + large->size_bytes));
  assert_ptr_equal(pto_program_run_array_beside(run, (uintptr_t)small->data + 64), small);
  assert_ptr_equal(pto_program_run_array_beside(run, (uintptr_t)small->data - 1), small);
  assert_ptr_equal(pto_program_run_array_beside(run, (uintptr_t)large->data - 1), large);
  assert_null(pto_program_run_array_beside(run, (uintptr_t)small->data));
  assert_null(pto_program_run_array_beside(run, (uintptr_t)small->data + 63));
  assert_null(pto_program_run_array_beside(run, 64));
  assert_ptr_equal(pto_program_run_array_beside(run, (uintptr_t)none->data - sysconf(_SC_PAGESIZE)), none);
  pto_program_run_destroy(run);
}

static void expect_written(struct pto_array_memory *memory, int64_t lo, int64_t hi) {
  int64_t found_lo, found_hi;
  assert_true(pto_array_memory_take_written(memory, &found_lo, &found_hi));
  assert_int_equal(found_lo, lo);
  assert_int_equal(found_hi, hi);
  assert_false(pto_array_memory_take_written(memory, &found_lo, &found_hi)); /* it is as before */
}

static void test_what_is_written_beside_an_array_is_found_to_the_byte(void **state) {
  for (int is_fenced = 0; is_fenced < 2; is_fenced++) {
    struct pto_array_pool pool = {.count = is_fenced ? PTO_GUARDED_ARRAYS : 0};
    struct pto_array_memory memory;
    int64_t lo, hi;
    assert_true(pto_array_memory_init(&memory, PTO_ARRAY_GUARDED, 100, 0, &pool));
    assert_int_equal(memory.block != NULL, is_fenced);
    assert_int_equal((uintptr_t)memory.data % 64, 0);
    assert_true(is_zero(memory.data, 100));
    memset(memory.data, 1, 100);
    assert_false(pto_array_memory_take_written(&memory, &lo, &hi));
    memory.data[100] = 0;
    expect_written(&memory, 100, 101);
    memset(memory.data + 104, 0, 8);
    expect_written(&memory, 104, 112);
    memset(memory.data - 8, 0, 4);
    expect_written(&memory, -8, -4);
    memory.data[101] = memory.data[-1] = 0; /* the nearer side is told */
    expect_written(&memory, -1, 0);
    memory.data[100] = memory.data[-1] = 0;
    expect_written(&memory, 100, 101);
    pto_array_memory_fini(&memory);
    pto_array_pool_fini(&pool);
  }
}

static void test_unwritten_slack_is_no_number(void **state) {
  struct pto_array_pool pool = {0};
  struct pto_array_memory memory;
  float value;
  assert_true(pto_array_memory_init(&memory, PTO_ARRAY_GUARDED, 4, 0, &pool));
  memcpy(&value, memory.data + 4, sizeof value);
  assert_true(isnan(value));
  assert_true(isnan(pto_fp16_to_f32(*(uint16_t *)(void *)(memory.data + 4))));
  assert_true(isnan(pto_bf16_to_f32(*(uint16_t *)(void *)(memory.data - 2))));
  pto_array_memory_fini(&memory);
  pto_array_pool_fini(&pool);
}

static void test_an_array_whose_guards_are_refused_is_fenced(void **state) {
  struct pto_array_pool pool = {0};
  struct pto_array_memory memory;
  pto_reserve_fail_countdown = 1;
  assert_true(pto_array_memory_init(&memory, PTO_ARRAY_GUARDED, 100, 0, &pool));
  assert_int_equal(pto_reserve_fail_countdown, 0);
  assert_int_equal(memory.guard_bytes, 0);
  assert_true(is_zero(memory.data, 100));
  memory.data[100] = 0;
  expect_written(&memory, 100, 101);
  pto_array_memory_fini(&memory);
}

/* Of very many the later ones are fenced: they lie in the heap, and what is beside them is still told. */
static void test_of_very_many_arrays_each_is_watched(void **state) {
  if (pto_memory_is_checked()) skip();
  struct pto_program_run *run = run_new(0);
  struct pto_array *last = NULL;
  char name[16];
  for (int i = 0; i < (int)PTO_GUARDED_ARRAYS + 1; i++) {
    if (last) assert_ptr_equal(pto_program_run_array_beside(run, (uintptr_t)last->data + 64), last);
    snprintf(name, sizeof name, "x%d", i);
    last = array(run, name, PTO_INT8, 64);
  }
  assert_ptr_equal(pto_program_run_array_beside(run, (uintptr_t)last->data + 127), last);
  assert_null(pto_program_run_array_beside(run, (uintptr_t)last->data + 128));
  pto_program_run_destroy(run);
}

/* The declaration fails, and so does the run, with a sentence that has `words` in it. */
static void refuses(const char *name, uint32_t role, uint32_t dtype, uint32_t ndims, const uint64_t *shape,
                    const char *words) {
  struct pto_program_run *run = run_new(0);
  array(run, "taken", PTO_INT8, 1);
  assert_null(pto_program_array(run, name, role, dtype, ndims, shape));
  const struct pto_error *error = pto_program_run_error(run);
  assert_int_equal(error->status, PTO_EINVAL);
  if (!strstr(error->sentence, words)) fail_msg("\"%s\" does not say \"%s\"", error->sentence, words);
  assert_null(pto_program_run_array(run, 1));
  pto_program_run_destroy(run);
}

static void test_impossible_arrays_are_refused_with_the_reason(void **state) {
  const uint64_t one[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, huge[] = {UINT64_C(1) << 32, UINT64_C(1) << 32};
  const uint64_t large[] = {UINT64_C(1) << 61};
  refuses("taken", PTO_ARRAY_INPUT, PTO_INT8, 1, one, "array taken is declared twice");
  refuses("x", 0, PTO_INT8, 1, one, "0 is no role");
  refuses("x", 5, PTO_INT8, 1, one, "5 is no role");
  refuses("x", PTO_ARRAY_INPUT, PTO_DTYPE_COUNT, 1, one, "18 is no dtype");
  refuses("x", PTO_ARRAY_INPUT, PTO_INT8, 9, one, "rank 9 exceeds 8");
  refuses("x", PTO_ARRAY_INPUT, PTO_INT8, 2, huge, "its size overflows");
  refuses("x", PTO_ARRAY_INPUT, PTO_INT64, 1, large, "its size overflows");
  refuses("", PTO_ARRAY_INPUT, PTO_INT8, 1, one, "without a name");
}

static void test_what_was_not_declared_is_harmless_to_fill(void **state) {
  struct pto_program_run *run = run_new(0);
  pto_array_fill(NULL, 1);
  pto_array_fill_uniform(run, NULL, 0, 1);
  assert_null(pto_array_golden(run, NULL));
  const struct pto_tensor none = pto_array_tensor(NULL, NULL);
  assert_int_equal(pto_tensor_status(&none), PTO_EINVAL);
  pto_program_run_destroy(run);
}

/* ---- elements ---- */

/* Of all 2¹⁶ values of a 16-bit float, the bits of the nearest to `value`; ties go to the even one, NaN and ∞ apart. */
static uint16_t nearest(float (*decode)(uint16_t), double value) {
  double best = INFINITY;
  uint16_t winner = 0;
  for (uint32_t bits = 0; bits < 0x8000; bits++) {
    double candidate = decode((uint16_t)bits);
    if (!isfinite(candidate)) break;
    double distance = fabs(fabs(value) - candidate);
    if (distance < best || (distance == best && bits % 2 == 0)) {
      best = distance;
      winner = (uint16_t)bits;
    }
  }
  return (uint16_t)(winner | (signbit(value) ? 0x8000 : 0));
}

/* Random values, and those next to a tie by less than a float can tell. */
static double awkward(struct pto_rng *rng, float (*decode)(uint16_t), uint32_t largest_bits) {
  uint16_t bits = (uint16_t)pto_rng_below(rng, largest_bits);
  double low = decode(bits), high = decode((uint16_t)(bits + 1)), middle = (low + high) / 2;
  switch (pto_rng_below(rng, 5)) {
  case 0:
    return middle;
  case 1:
    return nextafter(middle, high);
  case 2:
    return nextafter(middle, low);
  case 3:
    return -nextafter(middle, high);
  default:
    return low + (high - low) * pto_rng_unit(rng);
  }
}

static void check_narrow_float(uint32_t dtype, float (*decode)(uint16_t), uint32_t largest_bits) {
  struct pto_program_run *run = run_new(0);
  struct pto_array *x = array(run, "x", dtype, 1);
  struct pto_rng rng = {SEED};
  for (int i = 0; i < 300; i++) {
    double value = awkward(&rng, decode, largest_bits);
    pto_array_set(x, 0, value);
    uint16_t want = nearest(decode, value), got = *(uint16_t *)x->data;
    if (got != want) fail_msg("%a becomes %04x, the nearest is %04x (seed %u)", value, got, want, SEED);
    assert_true(pto_array_get(x, 0) == (double)decode(want));
  }
  pto_program_run_destroy(run);
}

static void test_narrow_floats_are_rounded_once_to_the_nearest(void **state) {
  check_narrow_float(PTO_FLOAT16, pto_fp16_to_f32, 0x7bff);
  check_narrow_float(PTO_BFLOAT16, pto_bf16_to_f32, 0x7f7f);
}

static void test_narrow_floats_overflow_to_infinity_where_rounding_says_so(void **state) {
  struct pto_program_run *run = run_new(0);
  struct pto_array *half = array(run, "half", PTO_FLOAT16, 1), *bf16 = array(run, "bf16", PTO_BFLOAT16, 1);
  const double half_cases[][2] = {
      {65504, 65504}, {65519.999999999, 65504}, {65520, INFINITY}, {1e300, INFINITY}, {-1e300, -INFINITY}};
  for (int i = 0; i < 5; i++) {
    pto_array_set(half, 0, half_cases[i][0]);
    assert_true(pto_array_get(half, 0) == half_cases[i][1]);
  }
  pto_array_set(bf16, 0, 1e300);
  assert_true(isinf(pto_array_get(bf16, 0)));
  pto_array_set(bf16, 0, 3.3895313892515354759e38); /* the largest finite one */
  assert_true(isfinite(pto_array_get(bf16, 0)));
  pto_array_set(half, 0, 1e-300);
  assert_true(pto_array_get(half, 0) == 0);
  pto_array_set(half, 0, NAN);
  assert_true(isnan(pto_array_get(half, 0)));
  pto_program_run_destroy(run);
}

static void test_integers_round_to_even_and_saturate(void **state) {
  static const struct {
    uint32_t dtype;
    double low, high;
  } kinds[] = {{PTO_INT4, -8, 7},
               {PTO_UINT4, 0, 15},
               {PTO_INT8, -128, 127},
               {PTO_UINT8, 0, 255},
               {PTO_INT16, -32768, 32767},
               {PTO_UINT16, 0, 65535},
               {PTO_INT32, -0x1p31, 2147483647.0},
               {PTO_UINT32, 0, 4294967295.0},
               {PTO_INT64, -0x1p63, 0x1p63},
               {PTO_UINT64, 0, 0x1p64}};
  struct pto_program_run *run = run_new(0);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    char name[8];
    snprintf(name, sizeof name, "x%zu", i);
    struct pto_array *x = array(run, name, kinds[i].dtype, 3);
    const double cases[][2] = {{2.5, 2},
                               {3.5, 4},
                               {1.4999, 1},
                               {kinds[i].low - 0.5, kinds[i].low},
                               {-1e300, kinds[i].low},
                               {1e300, kinds[i].high},
                               {-INFINITY, kinds[i].low},
                               {INFINITY, kinds[i].high},
                               {kinds[i].high + 1, kinds[i].high},
                               {kinds[i].low, kinds[i].low},
                               {NAN, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
      pto_array_set(x, 1, cases[k][0]);
      if (pto_array_get(x, 1) != cases[k][1])
        fail_msg("%s: %g becomes %g, not %g", pto_dtype_name(x->dtype), cases[k][0], pto_array_get(x, 1), cases[k][1]);
      assert_true(pto_array_get(x, 0) == 0 && pto_array_get(x, 2) == 0);
    }
  }
  pto_program_run_destroy(run);
}

static void test_packed_elements_do_not_touch_their_neighbours(void **state) {
  struct pto_program_run *run = run_new(0);
  struct pto_array *x = array(run, "x", PTO_INT4, 9);
  for (int i = 0; i < 9; i++) pto_array_set(x, (uint64_t)i, i - 4);
  for (int i = 0; i < 9; i++) assert_true(pto_array_get(x, (uint64_t)i) == i - 4);
  assert_int_equal(((unsigned char *)x->data)[0], 0xdc); /* −4 in the low nibble, −3 in the high one */
  pto_program_run_destroy(run);
}

static void test_anything_but_zero_is_true(void **state) {
  struct pto_program_run *run = run_new(0);
  struct pto_array *x = array(run, "x", PTO_BOOL, 1);
  const double values[][2] = {{0, 0}, {-0.0, 0}, {0.25, 1}, {-7, 1}};
  for (int i = 0; i < 4; i++) {
    pto_array_set(x, 0, values[i][0]);
    assert_true(pto_array_get(x, 0) == values[i][1]);
  }
  pto_program_run_destroy(run);
}

/* ---- fills ---- */

static void test_a_fill_is_splitmix64_of_the_seed_and_the_name(void **state) {
  struct pto_program_run *run = run_new(SEED);
  struct pto_array *x = array(run, "weights", PTO_FLOAT32, 4);
  pto_array_fill_uniform(run, x, -1, 3);
  uint64_t stream = pto_xxh64("weights", 7, SEED);
  for (uint64_t i = 0; i < 4; i++) { /* Steele, Lea and Flood 2014, written out */
    uint64_t z = stream += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    float want = (float)(-1 + 4 * ((double)(z >> 11) / 9007199254740992.0));
    assert_true(pto_array_get(x, i) == (double)want);
  }
  pto_program_run_destroy(run);
}

static void test_a_fill_depends_on_seed_and_name_and_nothing_else(void **state) {
  struct pto_program_run *run = run_new(1), *again = run_new(1), *other = run_new(2);
  struct pto_array *x = array(run, "x", PTO_INT32, 100), *y = array(run, "y", PTO_INT32, 100);
  array(again, "something", PTO_INT32, 5);
  struct pto_array *x_again = array(again, "x", PTO_INT32, 100), *x_other = array(other, "x", PTO_INT32, 100);
  pto_array_fill_uniform(run, y, 0, 1e9);
  pto_array_fill_uniform(run, x, 0, 1e9);
  pto_array_fill_uniform(again, x_again, 0, 1e9);
  pto_array_fill_uniform(other, x_other, 0, 1e9);
  assert_memory_equal(x->data, x_again->data, x->size_bytes);
  assert_memory_not_equal(x->data, y->data, x->size_bytes);
  assert_memory_not_equal(x->data, x_other->data, x->size_bytes);
  pto_program_run_destroy(run);
  pto_program_run_destroy(again);
  pto_program_run_destroy(other);
}

static void test_filled_integers_take_every_value_from_lo_to_below_hi(void **state) {
  struct pto_program_run *run = run_new(SEED);
  struct pto_array *x = array(run, "x", PTO_INT8, 1000), *truths = array(run, "truths", PTO_BOOL, 100);
  uint32_t seen[8] = {0};
  pto_array_fill_uniform(run, x, -3, 4);
  for (uint64_t i = 0; i < 1000; i++) {
    double value = pto_array_get(x, i);
    assert_true(value >= -3 && value < 4);
    seen[(int)value + 3]++;
  }
  for (int i = 0; i < 7; i++) assert_in_range(seen[i], 100, 190); /* 143 on average */
  pto_array_fill_uniform(run, truths, 0, 2);
  double sum = 0;
  for (uint64_t i = 0; i < 100; i++) sum += pto_array_get(truths, i);
  assert_true(sum > 25 && sum < 75);
  pto_array_fill_uniform(run, x, 5, 5);
  assert_true(pto_array_get(x, 17) == 5);
  pto_program_run_destroy(run);
}

static void test_a_fill_gives_one_value_to_all(void **state) {
  struct pto_program_run *run = run_new(0);
  struct pto_array *x = array(run, "x", PTO_BFLOAT16, 33);
  pto_array_fill(x, 2.5);
  for (uint64_t i = 0; i < 33; i++) assert_true(pto_array_get(x, i) == 2.5);
  pto_program_run_destroy(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_array_is_zeroed_aligned_and_found_by_its_name),
      cmocka_unit_test(test_what_is_large_is_zeroed_and_begins_with_a_large_page),
      cmocka_unit_test(test_sizes_count_bits_and_empty_arrays_are_legal),
      cmocka_unit_test(test_behind_a_small_array_and_around_a_large_one_are_guards),
      cmocka_unit_test(test_what_is_written_beside_an_array_is_found_to_the_byte),
      cmocka_unit_test(test_unwritten_slack_is_no_number),
      cmocka_unit_test(test_an_array_whose_guards_are_refused_is_fenced),
      cmocka_unit_test(test_of_very_many_arrays_each_is_watched),
      cmocka_unit_test(test_impossible_arrays_are_refused_with_the_reason),
      cmocka_unit_test(test_what_was_not_declared_is_harmless_to_fill),
      cmocka_unit_test(test_narrow_floats_are_rounded_once_to_the_nearest),
      cmocka_unit_test(test_narrow_floats_overflow_to_infinity_where_rounding_says_so),
      cmocka_unit_test(test_integers_round_to_even_and_saturate),
      cmocka_unit_test(test_packed_elements_do_not_touch_their_neighbours),
      cmocka_unit_test(test_anything_but_zero_is_true),
      cmocka_unit_test(test_a_fill_is_splitmix64_of_the_seed_and_the_name),
      cmocka_unit_test(test_a_fill_depends_on_seed_and_name_and_nothing_else),
      cmocka_unit_test(test_filled_integers_take_every_value_from_lo_to_below_hi),
      cmocka_unit_test(test_a_fill_gives_one_value_to_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
