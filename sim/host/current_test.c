/* SPDX-License-Identifier: MIT */
#include <sim/host/current.h>
#include <sim/host/local_memory.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/thread.h>

static const struct pto_kernel kernel = {.name = "matmul"};
static const uint64_t shape[] = {64, 512}, strides[] = {512, 1};
static const struct pto_core core;
static union {
  struct pto_payload payload;
  uint64_t words[64];
} body;
static struct pto_message message;

static const char expected[] =
    "task 17 (matmul) block 3 on core 5 (cluster 1 AIV1): tensor 0 at 0x7f00dead f32[64,512] "
    "strides [512,1]; tensor 1 at 0x0 i4[] strides []; scalar 0 0x3f800000; "
    "scalar 1 0xffffffffffffffff";

static int setup(void **state) {
  memset(&body, 0, sizeof body);
  body.payload.task_number = 17;
  body.payload.kernels[2] = &kernel;
  body.payload.tensor_count = 2;
  body.payload.scalar_count = 2;
  body.payload.tensors[0] = (struct pto_kernel_tensor){
      .addr = (void *)UINT64_C(0x7f00dead), .shape = shape, .strides = strides, .ndims = 2, .dtype = PTO_FLOAT32};
  body.payload.tensors[1] = (struct pto_kernel_tensor){.dtype = PTO_INT4};
  pto_payload_scalars(&body.payload)[0].f32 = 1.0f;
  pto_payload_scalars(&body.payload)[1].i64 = -1;
  message = (struct pto_message){
      .payload = &body.payload, .block_index = 3, .core = 5, .role = 2, .tensor_count = 2, .scalar_count = 2};
  pto_engine_current_clear();
  return 0;
}

static void test_outside_a_kernel_there_is_nothing_to_describe(void **state) {
  char text[16] = "untouched";
  assert_false(pto_engine_describe_current(text, sizeof text));
  assert_string_equal(text, "untouched");
  pto_engine_current_set(&message, &core);
  assert_false(pto_engine_describe_current(text, 0));
  pto_engine_current_clear();
  assert_false(pto_engine_describe_current(text, sizeof text));
}

static void test_a_kernel_is_described_with_task_core_and_parameters(void **state) {
  char text[512];
  pto_engine_current_set(&message, &core);
  assert_true(pto_engine_describe_current(text, sizeof text));
  assert_string_equal(text, expected);
}

static void test_a_kernel_without_a_name_and_of_too_many_parameters_is_described(void **state) {
  static const struct pto_kernel nameless;
  static union {
    struct pto_payload payload;
    uint64_t words[1024];
  } large;
  static char text[8192];
  large.payload.kernels[2] = &nameless;
  message.payload = &large.payload;
  message.tensor_count = PTO_MAX_TENSORS + 3; /* damaged: no more are looked at than there can be */
  message.scalar_count = PTO_MAX_SCALARS + 3;
  pto_engine_describe_message(&message, text, sizeof text);
  assert_non_null(strstr(text, "task 0 (kernel without a name) block 3"));
  assert_non_null(strstr(text, "tensor 31 at"));
  assert_null(strstr(text, "tensor 32 at"));
  assert_non_null(strstr(text, "scalar 31 0x0"));
  assert_null(strstr(text, "scalar 32 "));
  message.role = 3;
  pto_engine_describe_message(&message, text, sizeof text);
  assert_non_null(strstr(text, "task 0 (kernel without a name)"));
}

/* Addresses beside a local memory, up to a guard away. */
static void expect_local(const struct pto_core *where, const void *address, const char *wanted) {
  char text[128] = "";
  pto_engine_current_set(&message, where);
  pto_engine_describe_local(address, text, sizeof text);
  assert_string_equal(text, wanted);
}
static void test_an_address_beside_a_local_memory_is_described(void **state) {
  static char memory[6 * PTO_LOCAL_GUARD_BYTES];
  char *const at = memory + 300000, *const l0a = at + 400000, *const l0c = at + 800000;
  const struct pto_core vector = {.kind = PTO_AIV, .local = {at, 1000}};
  const struct pto_core cube = {
      .kind = PTO_AIC, .local = {at, 1000}, .l0a = {l0a, 300}, .l0b = {NULL, 0}, .l0c = {l0c, 10}};
  expect_local(&vector, at + 1000, ", 0 bytes behind the end of its UB (1000 bytes of local memory),");
  expect_local(&vector, at + 263143, ", 262143 bytes behind the end of its UB (1000 bytes of local memory),");
  expect_local(&vector, at - 1, ", 1 bytes before its UB (1000 bytes of local memory),");
  expect_local(&vector, at - 262144, ", 262144 bytes before its UB (1000 bytes of local memory),");
  expect_local(&vector, at - 262145, "");
  expect_local(&vector, at + 263144, "");
  expect_local(&vector, l0a + 300, ""); /* it has no other */
  expect_local(&vector, NULL, "");
  expect_local(NULL, at, "");
  expect_local(&cube, at + 1001, ", 1 bytes behind the end of its L1 (1000 bytes of local memory),");
  expect_local(&cube, l0a + 302, ", 2 bytes behind the end of its L0A (300 bytes of local memory),");
  expect_local(&cube, l0c - 2, ", 2 bytes before its L0C (10 bytes of local memory),");
  char text[16] = "other";
  pto_engine_current_clear();
  pto_engine_describe_local(at, text, sizeof text);
  assert_string_equal(text, "");
}

static void test_a_description_is_cut_to_any_size(void **state) {
  char text[sizeof expected + 8];
  pto_engine_current_set(&message, &core);
  for (size_t size = 1; size <= sizeof expected; size++) {
    memset(text, '#', sizeof text);
    assert_true(pto_engine_describe_current(text, size));
    assert_memory_equal(text, expected, size - 1);
    assert_int_equal(text[size - 1], '\0');
    assert_int_equal(text[size], '#');
  }
}

static void test_damaged_descriptors_are_described_as_far_as_they_make_sense(void **state) {
  char text[512];
  body.payload.tensors[0].ndims = 1000000;
  body.payload.tensors[0].dtype = 99;
  body.payload.kernels[2] = NULL;
  message.scalar_count = 0;
  message.tensor_count = 1;
  pto_engine_current_set(&message, &core);
  assert_true(pto_engine_describe_current(text, sizeof text));
  assert_string_equal(text, "task 17 (kernel without a name) block 3 on core 5 (cluster 1 AIV1): "
                            "tensor 0 at 0x7f00dead ? of impossible rank");
}

static char from_handler[512];
static void handler(int number) {
  if (!pto_engine_describe_current(from_handler, sizeof from_handler)) from_handler[0] = '\0';
}
static void test_a_signal_handler_can_describe_the_kernel_that_it_interrupts(void **state) {
  struct sigaction action = {.sa_handler = handler}, before;
  sigaction(SIGUSR1, &action, &before);
  pto_engine_current_set(&message, &core);
  raise(SIGUSR1);
  assert_string_equal(from_handler, expected);
  pto_engine_current_clear();
  raise(SIGUSR1);
  assert_string_equal(from_handler, "");
  sigaction(SIGUSR1, &before, NULL);
}

static void *look_from_elsewhere(void *argument) {
  char text[8];
  *(bool *)argument = pto_engine_describe_current(text, sizeof text);
  return NULL;
}
static void test_another_thread_sees_its_own_kernel_only(void **state) {
  pthread_t thread;
  bool is_seen = true;
  int error;
  pto_engine_current_set(&message, &core);
  assert_true(pto_thread_start(&thread, look_from_elsewhere, &is_seen, &error));
  pthread_join(thread, NULL);
  assert_false(is_seen);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_outside_a_kernel_there_is_nothing_to_describe, setup),
      cmocka_unit_test_setup(test_a_kernel_is_described_with_task_core_and_parameters, setup),
      cmocka_unit_test_setup(test_a_kernel_without_a_name_and_of_too_many_parameters_is_described, setup),
      cmocka_unit_test_setup(test_an_address_beside_a_local_memory_is_described, setup),
      cmocka_unit_test_setup(test_a_description_is_cut_to_any_size, setup),
      cmocka_unit_test_setup(test_damaged_descriptors_are_described_as_far_as_they_make_sense, setup),
      cmocka_unit_test_setup(test_a_signal_handler_can_describe_the_kernel_that_it_interrupts, setup),
      cmocka_unit_test_setup(test_another_thread_sees_its_own_kernel_only, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
