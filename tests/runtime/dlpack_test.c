/* SPDX-License-Identifier: MIT */
/*
 * Tensors from and to DLPack: every dtype and layout comes back as the same bytes, and what cannot be a tensor is
 * refused with its values.  Where dlpack.h is installed, our structs are held against its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <runtime/base/base.h>
#include <tests/support/failing_malloc.h>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define SAME(ours, field, theirs, their_field)                                                                         \
  _Static_assert(offsetof(struct ours, field) == offsetof(theirs, their_field), #ours " " #field)
_Static_assert(sizeof(struct pto_dlpack_tensor) == sizeof(DLTensor), "a DLTensor");
SAME(pto_dlpack_tensor, data, DLTensor, data);
SAME(pto_dlpack_tensor, device_type, DLTensor, device);
SAME(pto_dlpack_tensor, ndim, DLTensor, ndim);
SAME(pto_dlpack_tensor, code, DLTensor, dtype);
SAME(pto_dlpack_tensor, shape, DLTensor, shape);
SAME(pto_dlpack_tensor, strides, DLTensor, strides);
SAME(pto_dlpack_tensor, byte_offset, DLTensor, byte_offset);
_Static_assert(sizeof(struct pto_dlpack_managed) == sizeof(DLManagedTensor), "a DLManagedTensor");
SAME(pto_dlpack_managed, context, DLManagedTensor, manager_ctx);
SAME(pto_dlpack_managed, deleter, DLManagedTensor, deleter);
_Static_assert(kDLCPU == 1 && kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLBfloat == 4, "codes");
#endif

static _Alignas(64) uint8_t memory[4096];
static struct pto_runtime *rt;

static int open_runtime(void **state) {
  (void)state;
  return pto_runtime_create(NULL, &rt);
}
static int close_runtime(void **state) {
  (void)state;
  pto_runtime_destroy(rt);
  return 0;
}

static void count(void *context) { ++*(int *)context; }

/* A random view of a random tensor over `memory`. */
static struct pto_tensor random_view(struct pto_rng *rng, uint32_t dtype) {
  uint64_t shape[3] = {1 + pto_rng_below(rng, 4), 1 + pto_rng_below(rng, 4), 2 + 2 * pto_rng_below(rng, 3)};
  struct pto_tensor t = pto_external_tensor(rt, memory, dtype, 1 + (uint32_t)pto_rng_below(rng, 3), shape);
  if (pto_dtype_bits(dtype) < 8) return t;
  if (t.ndims > 1 && pto_rng_below(rng, 2)) t = pto_tensor_transpose(&t, 0, 1);
  const uint32_t dim = (uint32_t)pto_rng_below(rng, t.ndims);
  const uint64_t start = pto_rng_below(rng, t.shape[dim]);
  return pto_tensor_slice(&t, dim, start, t.shape[dim], 1 + pto_rng_below(rng, 2));
}

static void test_a_tensor_comes_back_as_the_same_bytes(void **state) {
  (void)state;
  struct pto_rng rng = {5};
  for (uint32_t i = 0; i < 300; i++) {
    const struct pto_tensor t = random_view(&rng, i % PTO_DTYPE_COUNT);
    struct pto_dlpack_managed *managed;
    int released = 0;
    assert_int_equal(pto_tensor_status(&t), PTO_OK);
    assert_int_equal(pto_tensor_to_dlpack(&t, count, &released, &managed), PTO_OK);
    struct pto_tensor again = pto_tensor_from_dlpack(rt, &managed->tensor);
    assert_int_equal(pto_tensor_status(&again), PTO_OK);
    assert_int_equal(again.dtype, t.dtype);
    assert_int_equal(again.ndims, t.ndims);
    for (uint32_t d = 0; d < t.ndims; d++) {
      assert_int_equal(again.shape[d], t.shape[d]);
      if (t.shape[d] > 1) assert_int_equal(again.strides[d], t.strides[d]);
    }
    assert_int_equal(again.buffer.base, t.buffer.base + t.start_offset * pto_dtype_bits(t.dtype) / 8);
    assert_int_equal(released, 0);
    managed->deleter(managed);
    assert_int_equal(released, 1);
  }
}

static void test_layouts_of_other_producers(void **state) {
  (void)state;
  int64_t shape[] = {2, 1, 3}, strides[] = {6, -77, 2};
  struct pto_dlpack_tensor shown = {.data = memory,
                                    .device_type = 1,
                                    .ndim = 3,
                                    .code = 2,
                                    .bits = 32,
                                    .lanes = 1,
                                    .shape = shape,
                                    .byte_offset = 64};
  struct pto_tensor t = pto_tensor_from_dlpack(rt, &shown);
  assert_int_equal(t.status, PTO_OK);
  assert_true(pto_tensor_is_contiguous(&t));
  assert_int_equal(t.buffer.base, (uintptr_t)memory + 64);
  shown.strides = strides; /* that of an extent of 1 says nothing */
  t = pto_tensor_from_dlpack(rt, &shown);
  assert_int_equal(t.status, PTO_OK);
  assert_int_equal(t.strides[0], 6);
  assert_int_equal(t.strides[2], 2);
  assert_int_equal(t.buffer.size_bytes, 4 * (1 + 6 + 4));
  shape[0] = 0, shown.data = NULL, shown.byte_offset = 0;
  t = pto_tensor_from_dlpack(rt, &shown);
  assert_int_equal(t.status, PTO_OK);
  assert_int_equal(pto_tensor_numel(&t), 0);
  shown = (struct pto_dlpack_tensor){.data = memory, .device_type = 1, .code = 6, .bits = 8, .lanes = 1};
  t = pto_tensor_from_dlpack(rt, &shown);
  assert_int_equal(t.status, PTO_OK);
  assert_int_equal(pto_tensor_numel(&t), 1);
}

static void refused(struct pto_dlpack_tensor shown, const char *sentence) {
  const struct pto_tensor t = pto_tensor_from_dlpack(rt, &shown);
  char text[256];
  assert_int_equal(t.status, PTO_EINVAL);
  pto_tensor_explain(&t, text, sizeof text);
  assert_string_equal(text, sentence);
}

static void test_what_is_no_tensor_is_refused_with_its_values(void **state) {
  (void)state;
  int64_t shape[9] = {2, 3}, backward[] = {-3, 1}, far[] = {INT64_MAX, 1}, four[] = {4, 1};
  int64_t four_by_four[] = {4, 4}, over[] = {INT64_MAX, 1}, cube[] = {2, 2, 2},
          sums_over[] = {INT64_MAX, INT64_MAX, INT64_MAX};
  const struct pto_dlpack_tensor good = {
      .data = memory, .device_type = 1, .ndim = 2, .code = 0, .bits = 32, .lanes = 1, .shape = shape};
#define REFUSED(sentence, ...)                                                                                         \
  do {                                                                                                                 \
    struct pto_dlpack_tensor bad = good;                                                                               \
    __VA_ARGS__;                                                                                                       \
    refused(bad, sentence);                                                                                            \
  } while (0)
  REFUSED("tensor of DLPack: device type 2 is not the CPU, which is 1", bad.device_type = 2);
  REFUSED("tensor of DLPack: elements of type code 5, 64 bits and 1 lanes are no dtype", bad.code = 5, bad.bits = 64);
  REFUSED("tensor of DLPack: elements of type code 0, 32 bits and 4 lanes are no dtype", bad.lanes = 4);
  REFUSED("tensor of DLPack: rank 9 exceeds 8", bad.ndim = 9);
  REFUSED("tensor of DLPack: rank 4294967295 exceeds 8", bad.ndim = -1);
  REFUSED("tensor of DLPack: no list of 2 numbers given", bad.shape = NULL);
  REFUSED("tensor of DLPack: dimension 0: a stride of -3 goes backward", bad.strides = backward);
  REFUSED("external tensor: the address is NULL", bad.data = NULL);
  REFUSED("external tensor: address 0x1 is not aligned to the 4 bytes of i32", bad.data = (void *)1);
  REFUSED("external tensor: shape [9223372036854775810] of i32 has 2^62 bytes or more", bad.strides = far);
  REFUSED("external tensor: shape [18446744073709551615] of i32 has 2^62 bytes or more", bad.shape = four_by_four,
          bad.strides = over);
  REFUSED("external tensor: shape [18446744073709551615] of i32 has 2^62 bytes or more", bad.ndim = 3, bad.shape = cube,
          bad.strides = sums_over);
  REFUSED("tensor: i4 holds two elements a byte: shape [2,3] has to be contiguous from a whole byte on", bad.bits = 4,
          bad.strides = four);
}

static void test_only_external_memory_is_shown(void **state) {
  (void)state;
  struct pto_dlpack_managed *managed = NULL;
  const uint64_t four = 4;
  const struct pto_tensor whole = pto_external_tensor(rt, memory, PTO_FLOAT32, 1, &four);
  struct pto_tensor inside = whole;
  inside.buffer.base = 0;
  assert_int_equal(pto_tensor_status(&inside), PTO_OK);
  const struct pto_tensor invalid = pto_tensor_slice(&whole, 0, 3, 9, 1);
  assert_int_equal(pto_tensor_to_dlpack(&inside, NULL, NULL, &managed), PTO_EINVAL);
  assert_int_equal(pto_tensor_to_dlpack(&invalid, NULL, NULL, &managed), PTO_EINVAL);
  assert_null(managed);
#if PTO_HAS_FAILING_MALLOC
  fail_countdown = 1;
  assert_int_equal(pto_tensor_to_dlpack(&whole, NULL, NULL, &managed), PTO_ENOMEM);
  assert_null(managed);
#endif
  assert_int_equal(pto_tensor_to_dlpack(&whole, NULL, NULL, &managed), PTO_OK);
  managed->deleter(managed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_tensor_comes_back_as_the_same_bytes),
      cmocka_unit_test(test_layouts_of_other_producers),
      cmocka_unit_test(test_what_is_no_tensor_is_refused_with_its_values),
      cmocka_unit_test(test_only_external_memory_is_shown),
  };
  return cmocka_run_group_tests_name("dlpack", tests, open_runtime, close_runtime);
}
