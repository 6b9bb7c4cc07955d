/* SPDX-License-Identifier: MIT */
/*
 * What every kernel of the list says that it costs, against its descriptors and the chips.
 *
 * No kernel is named here.  The cost is asked for as the runtime asks, before there is memory.  The bytes that it
 * states are those of the distinct elements of what the parameters' modes read and write, no less and no more (a
 * reference may say that the kernel moves less than all); work on nothing costs nothing; and a tile of the device's
 * size fits the local memory of the smallest chip, in every dtype.
 */
#include <check/trial/trial.h>
#include <tests/support/trial_help.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sim/chips/chip.h>
#include <sim/chips/timing.h>

#define MAX_TUPLES 64
#define DRAWS 3          /* of scalars and shapes from the same sizes */
#define MOST_ELEMS 40000 /* of a tensor */

static struct pto_trial_case c;

static const struct pto_reference_sizes sizes[] = {
    {0, {0}, 0},
    {1, {0}, 0},
    {1, {1}, 0},
    {1, {1031}, 0},
    {2, {7, 13}, 0},
    {2, {0, 5}, 0},
    {2, {5, 0}, 0},
    {3, {3, 5, 7}, 0},
    {3, {0, 4, 4}, 0},
    {3, {4, 0, 4}, 0},
    {3, {4, 4, 0}, 0},
    {3, {64, 3, 65}, 0},
    {4, {2, 3, 4, 5}, 0},
    {5, {2, 3, 1, 5, 4}, 0},
    {8, {2, 1, 2, 1, 2, 1, 2, 3}, 0},
};
static const struct pto_reference_sizes tiles[] = {
    {1, {16384}, 0},      {2, {128, 128}, 0},     {2, {32, 1024}, 0},     {3, {128, 128, 128}, 0},
    {3, {16, 32, 64}, 0}, {3, {64, 128, 256}, 0}, {4, {2, 8, 32, 64}, 0},
};

static uint64_t distinct_bytes(const struct pto_trial_tensor *tensor) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < tensor->t.ndims; d++)
    numel *= tensor->strides[d] == 0 && tensor->shape[d] != 0 ? 1 : tensor->shape[d];
  return (numel * pto_dtype_bits(tensor->t.dtype) + 7) / 8;
}

/* The kernel's cost with a trial's descriptors, which have no address while it is asked. */
static struct pto_cost cost_of(struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) trial->views[i].addr = NULL;
  const struct pto_cost cost = trial->kernel->cost(&trial->args);
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) trial->views[i].addr = trial->tensors[i].t.addr;
  return cost;
}

/* Beyond a tile. */
static bool is_large(const struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    uint64_t numel = 1;
    for (uint32_t d = 0; d < c.shapes[i].ndims; d++) numel *= c.shapes[i].shape[d];
    if (numel > MOST_ELEMS) return true;
  }
  return false;
}

/* Calls `each` for every kernel, size of the list and uniform combination of dtypes that the kernel takes. */
static void for_each(const struct pto_reference_sizes *list, size_t count, uint32_t layout,
                     void (*each)(struct pto_trial *, const char *text)) {
  static struct pto_trial trial;
  static struct pto_dtype_tuple tuples[MAX_TUPLES];
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    uint32_t case_count = 0;
    for (size_t s = 0; s < count * DRAWS; s++) {
      struct pto_reference_sizes free_sizes = list[s / DRAWS];
      uint32_t uniform_count;
      c.seed = free_sizes.draw = pto_mix64(k * 1009 + s);
      c.layout = layout;
      pto_trial_init(&trial, k);
      if (!pto_trial_sizes(&trial, &free_sizes, &c) || is_large(&trial)) continue;
      (void)pto_trial_dtype_tuples(&trial, &c, tuples, MAX_TUPLES, &uniform_count);
      for (uint32_t t = 0; t < uniform_count; t++) {
        char text[256];
        for (uint32_t i = 0; i < trial.args.tensor_count; i++) c.dtypes[i] = tuples[t].dtypes[i];
        pto_trial_describe(&trial, &c, text, sizeof text);
        assert_int_equal(pto_trial_alloc(&trial, &c), PTO_OK);
        each(&trial, text);
        case_count++;
      }
      pto_trial_fini(&trial);
    }
    if (case_count == 0) fail_msg("%s: no size of the list is a case of it", pto_kernel_at(k)->name);
  }
}

/* ---- bytes ---- */

static void moves_its_bytes(struct pto_trial *trial, const char *text) {
  const struct pto_cost cost = cost_of(trial);
  uint64_t read = 0, written = 0;
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    const uint64_t bytes = distinct_bytes(&trial->tensors[i]);
    read += pto_trial_is_read(trial->params[i]) ? bytes : 0;
    written += pto_trial_is_written(trial->params[i]) ? bytes : 0;
  }
  const bool moves_less = (trial->reference->flags & PTO_REFERENCE_MOVES_LESS) != 0;
  if (cost.bytes_in > read || cost.bytes_out > written ||
      (!moves_less && (cost.bytes_in != read || cost.bytes_out != written)))
    fail_msg("%s: the cost says %" PRIu64 " bytes in of %" PRIu64 ", %" PRIu64 " out of %" PRIu64, text, cost.bytes_in,
             read, cost.bytes_out, written);
}

static void test_every_kernel_states_the_bytes_of_its_distinct_elements_by_mode(void **state) {
  (void)state;
  for_each(sizes, PTO_ARRAY_LENGTH(sizes), PTO_LAYOUT_CONTIGUOUS, moves_its_bytes);
  for_each(sizes, PTO_ARRAY_LENGTH(sizes), PTO_LAYOUT_BROADCAST, moves_its_bytes);
  for_each(sizes, PTO_ARRAY_LENGTH(sizes), PTO_LAYOUT_MIXED, moves_its_bytes);
}

static void costs_nothing_without_elements(struct pto_trial *trial, const char *text) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++)
    if (distinct_bytes(&trial->tensors[i]) > 0) return;
  const struct pto_cost cost = cost_of(trial);
  if (cost.bytes_in + cost.bytes_out + cost.vector_elems + cost.multiply_adds > 0)
    fail_msg("%s: the cost says %" PRIu64 " bytes in, %" PRIu64 " out, %" PRIu64 " elements, %" PRIu64
             " multiply-adds for no elements at all",
             text, cost.bytes_in, cost.bytes_out, cost.vector_elems, cost.multiply_adds);
}

static void test_work_on_no_elements_costs_nothing(void **state) {
  (void)state;
  for_each(sizes, PTO_ARRAY_LENGTH(sizes), PTO_LAYOUT_CONTIGUOUS, costs_nothing_without_elements);
}

/* ---- local memory ---- */

static uint64_t smallest_ub = UINT64_MAX, smallest_l1 = UINT64_MAX;

static void fits_the_smallest_chip(struct pto_trial *trial, const char *text) {
  const uint64_t local_bytes = cost_of(trial).local_bytes;
  const uint64_t most = (trial->kernel->cores & PTO_AIV) != 0 ? smallest_ub : smallest_l1;
  if (local_bytes > most)
    fail_msg("%s: %" PRIu64 " bytes of local memory, the smallest chip has %" PRIu64, text, local_bytes, most);
}

static void test_a_tile_fits_the_local_memory_of_the_smallest_chip_in_every_dtype(void **state) {
  (void)state;
  for (uint32_t i = 0; pto_chip_name_at(i) != NULL; i++) {
    struct pto_chip chip;
    struct pto_error error;
    assert_int_equal(pto_chip_load(pto_chip_name_at(i), &chip, &error), PTO_OK);
    smallest_ub = pto_min_u64(smallest_ub, chip.ub_bytes);
    smallest_l1 = pto_min_u64(smallest_l1, chip.l1_bytes);
  }
  for_each(tiles, PTO_ARRAY_LENGTH(tiles), PTO_LAYOUT_CONTIGUOUS, fits_the_smallest_chip);
}

/* ---- one place ---- */

static void is_what_virtual_time_counts(struct pto_trial *trial, const char *text) {
  const struct pto_cost stated = cost_of(trial), timed = pto_timing_cost(trial->kernel, &trial->args);
  if (stated.bytes_in != timed.bytes_in || stated.bytes_out != timed.bytes_out ||
      stated.vector_elems != timed.vector_elems || stated.multiply_adds != timed.multiply_adds ||
      stated.local_bytes != timed.local_bytes || stated.dtype != timed.dtype)
    fail_msg("%s: virtual time counts something else", text);
}

static void test_virtual_time_counts_what_the_kernel_states(void **state) {
  (void)state;
  for_each(sizes, PTO_ARRAY_LENGTH(sizes), PTO_LAYOUT_MIXED, is_what_virtual_time_counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kernel_states_the_bytes_of_its_distinct_elements_by_mode),
      cmocka_unit_test(test_work_on_no_elements_costs_nothing),
      cmocka_unit_test(test_a_tile_fits_the_local_memory_of_the_smallest_chip_in_every_dtype),
      cmocka_unit_test(test_virtual_time_counts_what_the_kernel_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
