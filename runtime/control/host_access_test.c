/* SPDX-License-Identifier: MIT */
/* What the host reads and writes of tensors: elements of each width, whole tensors, and what it is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <runtime/tensor/tensor_make.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static void run(int (*body)(struct pto_runtime *, struct fixture *)) {
  memset(&fixture, 0, sizeof fixture);
  fixture_open(&fixture);
  fixture_run(&fixture, body, PTO_OK);
  fixture_close(&fixture);
}

/* ---- elements of four bits ---- */

static int nibbles(struct pto_runtime *rt, struct fixture *f) {
  static const uint32_t dtypes[] = {PTO_INT4, PTO_UINT4};
  const uint64_t shape[] = {4, 4};
  for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(dtypes); k++) {
    const bool is_signed = dtypes[k] == PTO_INT4;
    struct pto_tensor t = pto_external_tensor(rt, f->memory, dtypes[k], 2, shape);
    memset(f->memory, 0xa5, 16);
    for (uint64_t i = 0; i < 16; i++) {
      const uint64_t index[] = {i / 4, i % 4};
      const int8_t written = (int8_t)(is_signed ? (int)i - 8 : (int)i);
      fixture_expect(rt, pto_write_element(rt, &t, index, &written), PTO_OK);
      /* beside it the other half of the byte, and all behind it, are as they were */
      assert_int_equal(f->memory[i / 2] >> 4, i % 2 ? written & 15 : 0xa);
      assert_int_equal(f->memory[i / 2 + 1], 0xa5);
    }
    for (uint64_t i = 0; i < 16; i++) {
      const uint64_t index[] = {i / 4, i % 4};
      int8_t read = 99;
      assert_int_equal(f->memory[i / 2] >> 4 * (i % 2) & 15, (is_signed ? i - 8 : i) & 15);
      fixture_expect(rt, pto_read_element(rt, &t, index, &read), PTO_OK);
      assert_int_equal(read, is_signed ? (int)i - 8 : (int)i);
    }
  }
  return 0;
}
static void elements_of_four_bits_have_their_sign_and_leave_their_neighbour(void **state) { run(nibbles); }

static int ranks(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = pto_external_tensor(rt, f->memory + 64, PTO_INT64, 0, NULL);
  int64_t value = -7, read = 0;
  fixture_expect(rt, pto_write_element(rt, &t, NULL, &value), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &t, NULL, &read), PTO_OK);
  assert_int_equal(read, -7);
  return 0;
}
static void a_tensor_without_dimensions_needs_no_index(void **state) { run(ranks); }

/* ---- whole tensors ---- */

static int whole(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t none[] = {4, 0}, some[] = {16};
  const struct pto_tensor fresh = fixture_managed(rt, 64), bytes = fixture_bytes(f, 0, 64),
                          wrong = pto_tensor_slice(&bytes, 0, 60, 70, 1),
                          empty = pto_external_tensor(rt, NULL, PTO_FLOAT32, 2, none);
  struct pto_buffer unknown = fresh.buffer;
  unknown.generation++;
  const struct pto_tensor stale = pto_tensor_dense(unknown, PTO_FLOAT32, 1, some);
  fixture_expect(rt, pto_host_acquire(rt, &bytes, true), PTO_OK);
  fixture_expect(rt, pto_host_acquire(rt, &empty, true), PTO_OK);
  assert_int_equal(pto_host_acquire(rt, &wrong, false), PTO_EINVAL);
  assert_int_equal(pto_host_acquire(rt, &fresh, false), PTO_ESTALE);
  fixture_expect_sentence(rt, "has no memory");
  assert_int_equal(pto_host_release(rt, &stale), PTO_ESTALE);
  fixture_expect_sentence(rt, "has no memory");
  return 0;
}
static void of_a_tensor_without_memory_nothing_is_acquired(void **state) {
  run(whole);
  fixture_open(&fixture);
  const struct pto_tensor bytes = fixture_bytes(&fixture, 0, 64);
  assert_int_equal(pto_host_acquire(fixture.rt, &bytes, false), PTO_EINVAL); /* no run */
  fixture_close(&fixture);
}

/* What counters publish of a run. */
static int moves(struct pto_runtime *rt, struct fixture *f) {
  struct pto_host_move move = {.to = f->memory, .from = f->memory + 64, .size_bytes = 24};
  pto_host_move(rt, &move);
  move.size_bytes = 40;
  pto_host_move(rt, &move);
  assert_int_equal(rt->move_count, 2);
  assert_int_equal(rt->moved_bytes, 64);
  return 0;
}
static void transfers_are_counted_anew_in_each_run(void **state) {
  run(moves);
  run(moves);
}

/* ---- memory that is registered ---- */

static int wrong_memory(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t shape[] = {64};
  const struct pto_tensor own = fixture_managed(rt, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &own), PTO_OK);
  char *inside = (char *)(uintptr_t)pto_buffer_registry_lookup(&rt->buffers, &own.buffer)->addr;
  const struct {
    void *addr;
    const char *sentence;
  } cases[] = {{inside, "runtime"},
               {(void *)(uintptr_t)(UINT64_C(1) << 62), "reach beyond 2^62"},
               {(void *)(uintptr_t)(UINT64_MAX - 31), "reach beyond 2^62"},
               {NULL, "the address is NULL"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char text[256];
    const struct pto_tensor t = pto_external_tensor(rt, cases[i].addr, PTO_UINT8, 1, shape);
    if (pto_tensor_status(&t) != PTO_EINVAL) fail_msg("case %zu: %d", i, pto_tensor_status(&t));
    pto_tensor_explain(&t, text, sizeof text);
    if (!strstr(text, cases[i].sentence)) fail_msg("\"%s\" does not say \"%s\"", text, cases[i].sentence);
  }
  /* Time that passes and calls that are asked for are an engine's, and this one has neither. */
  pto_host_wait_until(rt, 1000);
  pto_host_call(rt);
  /* A label for what is no buffer any more is none. */
  struct pto_buffer gone = own.buffer;
  gone.generation++;
  pto_buffer_label(rt, gone, "gone");
  return 0;
}
static void memory_that_is_no_host_memory_is_refused(void **state) { run(wrong_memory); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_of_four_bits_have_their_sign_and_leave_their_neighbour),
      cmocka_unit_test(a_tensor_without_dimensions_needs_no_index),
      cmocka_unit_test(of_a_tensor_without_memory_nothing_is_acquired),
      cmocka_unit_test(transfers_are_counted_anew_in_each_run),
      cmocka_unit_test(memory_that_is_no_host_memory_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
