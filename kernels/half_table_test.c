/* SPDX-License-Identifier: MIT */
/*
 * Tables of 16-bit results: whole kernels on tensors that are large enough for them, against the same kernels on pieces
 * that are not, bit for bit, at every instruction set.  Oracle: the loops without a table, whose results
 * elementwise_exhaustive_test holds against the references on the same 65536 values.
 */
#include <kernels/half_table.h>
#include <kernels/kernel_level.h>
#include <kernels/kernel_loops.h>
#include <kernels/kernel_test_support.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ELEMS (PTO_HALF_TABLE_FROM_ELEMS + 77) /* not a multiple of any vector */
#define PIECE 4096
#define THREADS 4

static uint16_t x[ELEMS], with_table[ELEMS + 1], without[ELEMS + 1];
static const uint32_t halves[] = {PTO_FLOAT16, PTO_BFLOAT16};

/* y = the kernel of x, `count` elements. */
static void run(uint32_t op, uint32_t dtype, const uint16_t *from, uint16_t *to, uint64_t count) {
  static const uint64_t stride = 1;
  struct pto_kernel_tensor tensors[2];
  for (uint32_t i = 0; i < 2; i++)
    tensors[i] = (struct pto_kernel_tensor){
        .addr = i == 0 ? (void *)(uintptr_t)from : to, .shape = &count, .strides = &stride, .ndims = 1, .dtype = dtype};
  const struct pto_kernel_args args = {.tensors = tensors, .tensor_count = 2};
  assert_int_equal(pto_test_call_run(pto_kernel_at(op), &args), PTO_OK);
}

static bool has_table(uint32_t op) { return pto_half_table(op, PTO_FLOAT16, ELEMS) != NULL; }

/* `step` is odd: a permutation of all values.  With 1, neighbours are alike, and with MIXED they are not. */
#define MIXED 40503
static void fill_with_every_value(uint32_t step) {
  for (uint64_t i = 0; i < ELEMS; i++) x[i] = (uint16_t)(i * step);
}

static bool is_nan(uint32_t dtype, uint16_t bits) { return (bits & 0x7fff) > (dtype == PTO_FLOAT16 ? 0x7c00 : 0x7f80); }

static void test_a_large_tensor_gets_the_bits_of_its_pieces_at_every_level(void **state) {
  (void)state;
  uint32_t checked = 0;
  for (uint32_t op = 0; op < PTO_OP_COUNT; op++) {
    for (uint32_t h = 0; has_table(op) && h < PTO_ARRAY_LENGTH(halves); h++)
      for (uint32_t turn = 0; turn < 2 * PTO_LEVEL_COUNT; turn++) {
        const enum pto_level level = turn / 2;
        if (!pto_level_is_supported(level)) continue;
        fill_with_every_value(turn % 2 == 0 ? 1 : MIXED);
        pto_level_limit(level);
        memset(with_table, 0x5a, sizeof with_table);
        memset(without, 0x5a, sizeof without);
        run(op, halves[h], x, with_table, ELEMS);
        for (uint64_t i = 0; i < ELEMS; i += PIECE)
          run(op, halves[h], x + i, without + i, pto_min_u64(PIECE, ELEMS - i));
        for (uint64_t i = 0; i <= ELEMS; i++)
          if (with_table[i] != without[i] &&
              !(i < ELEMS && is_nan(halves[h], with_table[i]) && is_nan(halves[h], without[i])))
            fail_msg("%s of %s %04x at element %" PRIu64 ", %s: %04x in a large tensor, %04x in a small one",
                     pto_kernel_at(op)->name, pto_dtype_name(halves[h]), x[i % ELEMS], i, pto_level_name(level),
                     with_table[i], without[i]);
        checked++;
      }
  }
  pto_level_limit(PTO_LEVEL_COUNT - 1);
  print_message("%" PRIu32 " cases\n", checked);
  assert_true(checked > 20);
}

static void test_a_lookup_takes_every_count_and_alignment_and_writes_nothing_else(void **state) {
  (void)state;
  static uint16_t table[PTO_HALF_VALUES];
  for (uint32_t i = 0; i < PTO_HALF_VALUES; i++) table[i] = (uint16_t) ~(i * 7);
  fill_with_every_value(MIXED);
  for (uint32_t level = 0; pto_loops_at(level) != NULL; level++)
    for (uint64_t count = 0; count < 70; count++)
      for (uint64_t offset = 0; offset < 9; offset++) {
        memset(with_table, 0x5a, 200 * sizeof *with_table);
        const struct pto_chunk chunk = {
            .count = count, .a = x + 100 + offset, .b = table, .out = with_table + 8 + offset};
        pto_loops_at(level)->lookup(&chunk);
        for (uint64_t i = 0; i < 200; i++) {
          const bool is_inside = i >= 8 + offset && i < 8 + offset + count;
          assert_int_equal(with_table[i], is_inside ? (uint16_t) ~(x[100 + i - 8] * 7) : 0x5a5a);
        }
      }
}

static void test_only_long_operations_on_large_16_bit_tensors_have_tables(void **state) {
  (void)state;
  assert_non_null(pto_half_table(PTO_OP_gelu, PTO_BFLOAT16, ELEMS));
  assert_null(pto_half_table(PTO_OP_gelu, PTO_BFLOAT16, PTO_HALF_TABLE_FROM_ELEMS - 1));
  assert_null(pto_half_table(PTO_OP_gelu, PTO_FLOAT32, ELEMS));
  assert_null(pto_half_table(PTO_OP_relu, PTO_FLOAT16, ELEMS)); /* rounded once */
  assert_null(pto_half_table(PTO_OP_elu, PTO_FLOAT16, ELEMS));  /* a scalar besides */
  assert_null(pto_half_table(PTO_OP_pow, PTO_FLOAT16, ELEMS));
}

/* Of the threads that ask at once one makes the table; what any of them gets is the whole of it, or nothing. */
static void *ask(void *found) {
  const uint16_t *table = pto_half_table(PTO_OP_exp, PTO_FLOAT16, ELEMS);
  *(bool *)found = table == NULL || (table[0] == 0x3c00 && table[0x3c00] == 0x4170 && table[0xfc00] == 0);
  return NULL;
}
static void test_threads_that_ask_at_once_get_a_whole_table_or_none(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  bool is_right[THREADS] = {false};
  for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask, &is_right[i]), 0);
  for (uint32_t i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(is_right[i]);
  }
  assert_non_null(pto_half_table(PTO_OP_exp, PTO_FLOAT16, ELEMS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads_that_ask_at_once_get_a_whole_table_or_none),
      cmocka_unit_test(test_only_long_operations_on_large_16_bit_tensors_have_tables),
      cmocka_unit_test(test_a_lookup_takes_every_count_and_alignment_and_writes_nothing_else),
      cmocka_unit_test(test_a_large_tensor_gets_the_bits_of_its_pieces_at_every_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
