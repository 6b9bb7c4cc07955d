/* SPDX-License-Identifier: MIT */
/*
 * Programs that repeat: when their orchestration is called, what is submitted without it, and when what was kept goes;
 * on each backend.
 */
#include <tests/support/context_fixture.h>

#include <stdlib.h>

#include <device/lowering_cache.h>

/* ---- programs that count how often they are called ---- */

static int calls; /* the executor's; read by tests after a sync */

static int submit_scale_counted(struct pto_runtime *rt, const struct pto_bound *bound) {
  calls++;
  return submit_scale(rt, bound);
}

/* c = (a + a) + a·factor, through two buffers of its own, in a scope. */
static int submit_chain_counted(struct pto_runtime *rt, const struct pto_bound *bound) {
  const float factor = *(const float *)bound->context;
  const uint64_t shape[] = {ROWS, COLUMNS};
  const struct pto_tensor *a = &bound->inputs[0];
  calls++;
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status) return status;
  const struct pto_tensor twice = pto_managed_tensor(rt, pto_create_buffer(rt, BYTES), PTO_FLOAT32, 2, shape);
  const struct pto_tensor scaled = pto_managed_tensor(rt, pto_create_buffer(rt, BYTES), PTO_FLOAT32, 2, shape);
  const struct pto_param to_twice[] = {pto_input(a), pto_input(a), pto_output(&twice)};
  const struct pto_param to_scaled[] = {pto_input(a), pto_output(&scaled), pto_scalar_f32(factor)};
  const struct pto_param to_c[] = {pto_input(&twice), pto_input(&scaled), pto_output(&bound->outputs[0])};
  struct pto_task first;
  status = pto_submit(rt, &(struct pto_launch){.aiv0 = &sum}, to_twice, 3, &first);
  if (status == PTO_OK)
    status =
        pto_submit(rt, &(struct pto_launch){.aiv0 = &scale, .after = &first, .after_count = 1}, to_scaled, 3, NULL);
  if (status == PTO_OK) status = pto_submit_aiv(rt, &sum, to_c, 3);
  return status ? status : pto_scope_end(rt);
}

/* Reads an element of its input, so that what it submits cannot be kept: c = a · a[0][0]. */
static int submit_by_element(struct pto_runtime *rt, const struct pto_bound *bound) {
  const uint64_t index[] = {0, 0};
  float factor;
  calls++;
  int status = pto_read_element(rt, &bound->inputs[0], index, &factor);
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]),
                                     pto_scalar_f32(factor)};
  return status ? status : pto_submit_aiv(rt, &scale, params, 3);
}

static int submit_fail_counted(struct pto_runtime *rt, const struct pto_bound *bound) {
  calls++;
  return submit_fail(rt, bound);
}

static struct pto_device_program repeating(int (*orchestrate)(struct pto_runtime *, const struct pto_bound *),
                                           float *factor) {
  struct pto_device_program program = times_2;
  program.orchestrate = orchestrate;
  program.context = factor;
  program.repeats = 1;
  return program;
}

/* After everything queued: how often orchestrations were called since the last time. */
static int take_calls(void) {
  assert_int_equal(pto_context_sync(context), PTO_OK);
  const int taken = calls;
  calls = 0;
  return taken;
}

/* ---- hits and misses ---- */

static void test_ping_pong_calls_the_orchestration_twice(void **state) {
  const struct pto_device_program program = repeating(submit_chain_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor t[2] = {host_tensor(), host_tensor()};
    write4(t[0], 1, 0, -1, 0.5f);
    for (int i = 0; i < 10; i++) dispatch1(&program, t[i % 2], t[1 - i % 2]);
    reads4(t[0], 1048576, 0, -1048576, 524288); /* 4¹⁰ */
    reads4(t[1], 262144, 0, -262144, 131072);
    assert_int_equal(take_calls(), 2);
    const struct pto_context_counters all = counters();
    assert_int_equal(all.lowering_cache_misses, 2);
    assert_int_equal(all.lowering_cache_hits, 8);
    assert_int_equal(all.lowering_cache_unusable, 0);
    assert_int_equal(all.lowering_cache_entries, 2);
    assert_true(all.lowering_cache_bytes > 0);
    assert_int_equal(all.dispatches, 10);
    assert_int_equal(all.tasks, 30);
  }
}

static void test_a_program_that_does_not_repeat_is_called_each_time(void **state) {
  struct pto_device_program program = repeating(submit_scale_counted, &factor_2);
  program.repeats = 0;
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    for (int i = 0; i < 5; i++) dispatch1(&program, in, out);
    assert_int_equal(take_calls(), 5);
    const struct pto_context_counters all = counters();
    assert_int_equal(all.lowering_cache_misses + all.lowering_cache_hits + all.lowering_cache_entries, 0);
  }
}

static void test_what_cannot_be_repeated_is_called_each_time_and_counted(void **state) {
  const struct pto_device_program program = repeating(submit_by_element, NULL);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    for (int i = 1; i <= 4; i++) {
      write4(in, (float)i, 1, 2, 3);
      dispatch1(&program, in, out);
      reads4(out, (float)(i * i), (float)i, (float)(2 * i), (float)(3 * i));
    }
    assert_int_equal(take_calls(), 4);
    assert_int_equal(counters().lowering_cache_misses, 4);
    assert_int_equal(counters().lowering_cache_unusable, 4);
    assert_int_equal(counters().lowering_cache_hits, 0);
  }
}

static void test_the_cache_takes_no_virtual_time_and_saves_none(void **state) {
  uint64_t virtual_ps[2];
  for (uint64_t repeats = 0; repeats < 2; repeats++) {
    struct pto_device_program program = repeating(submit_chain_counted, &factor_2);
    program.repeats = repeats;
    open_context(&backends[1]);
    struct pto_device_tensor t[2] = {host_tensor(), host_tensor()};
    for (int i = 0; i < 20; i++) dispatch1(&program, t[i % 2], t[1 - i % 2]);
    assert_int_equal(take_calls(), repeats ? 2 : 20);
    virtual_ps[repeats] = counters().virtual_ps;
    close_context();
  }
  assert_int_equal(virtual_ps[0], virtual_ps[1]);
}

/* ---- what tells programs and tensors apart ---- */

static void test_another_context_number_or_orchestration_is_another_program(void **state) {
  const struct pto_device_program by_2 = repeating(submit_scale_counted, &factor_2);
  const struct pto_device_program by_3 = repeating(submit_scale_counted, &factor_3);
  const struct pto_device_program chain = repeating(submit_chain_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    float factor = 5;
    struct pto_device_program changing = repeating(submit_scale_counted, &factor);
    write4(in, 1, 2, 3, 4);
    for (int i = 0; i < 3; i++) {
      dispatch1(&by_2, in, out);
      reads4(out, 2, 4, 6, 8);
      dispatch1(&by_3, in, out);
      reads4(out, 3, 6, 9, 12);
      dispatch1(&chain, in, out);
      reads4(out, 4, 8, 12, 16);
    }
    assert_int_equal(take_calls(), 3);
    dispatch1(&changing, in, out);
    reads4(out, 5, 10, 15, 20);
    factor = 6;
    changing.repeats = pto_device_program_serial(); /* it submits something else from now on */
    dispatch1(&changing, in, out);
    reads4(out, 6, 12, 18, 24);
    assert_int_equal(take_calls(), 2);
  }
  assert_true(pto_device_program_serial() != pto_device_program_serial());
  assert_true(pto_device_program_serial() > UINT32_MAX);
}

static void test_a_copy_of_a_program_at_another_address_is_the_same_program(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    struct pto_device_program programs[4];
    write4(in, 1, 2, 3, 4);
    for (int i = 0; i < 4; i++) {
      programs[i] = repeating(submit_scale_counted, &factor_2);
      dispatch1(&programs[i], in, out);
    }
    reads4(out, 2, 4, 6, 8);
    assert_int_equal(take_calls(), 1);
  }
}

static int submit_sum_counted(struct pto_runtime *rt, const struct pto_bound *bound) {
  calls++;
  return submit_sum(rt, bound);
}

static void test_tensors_in_another_order_are_other_tensors(void **state) {
  struct pto_device_program program = plus;
  program.orchestrate = submit_sum_counted;
  program.repeats = 1;
  ON_EACH_BACKEND {
    struct pto_device_tensor x = host_tensor(), y = host_tensor(), z = host_tensor();
    write4(x, 1, 2, 3, 4);
    write4(y, 10, 20, 30, 40);
    dispatch2(&program, x, y, z); /* z = x + y */
    dispatch2(&program, z, y, x); /* x = z + y */
    dispatch2(&program, y, x, z);
    reads4(x, 21, 42, 63, 84);
    reads4(z, 31, 62, 93, 124);
    assert_int_equal(take_calls(), 3);
  }
}

static int submit_sum_constant_counted(struct pto_runtime *rt, const struct pto_bound *bound) {
  calls++;
  return submit_sum_constant(rt, bound);
}

static void test_other_constants_are_another_set_of_tensors(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor constants[2], in = host_tensor(), out = host_tensor();
    struct pto_device_program programs[2];
    write4(in, 1, 2, 3, 4);
    for (int i = 0; i < 2; i++) {
      const float values[NUMEL] = {100.0f * (float)(i + 1)};
      assert_int_equal(pto_device_tensor_create_constant(context, &matrix, values, BYTES, &constants[i]), PTO_OK);
      programs[i] = repeating(submit_sum_constant_counted, NULL);
      programs[i].constants = &constants[i];
      programs[i].constant_count = 1;
    }
    for (int i = 0; i < 4; i++) {
      dispatch1(&programs[i % 2], in, out);
      reads4(out, i % 2 ? 201 : 101, 2, 3, 4);
    }
    assert_int_equal(take_calls(), 2);
  }
}

/* Programs of one orchestration and context that differ in how many tensors they take; by the cache itself, as a
 * program that takes tensors of one kind for another does not run. */
static void test_the_same_tensors_in_other_places_are_another_key(void **state) {
  static struct pto_lowering_cache cache;
  static const uint64_t ids[3] = {1, 2, 3};
  static const uint32_t counts[][3] = {{1, 1, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {3, 0, 0}, {1, 1, 0}};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(counts); i++) {
    struct pto_device_program program = repeating(submit_scale_counted, &factor_2);
    program.input_count = counts[i][0], program.output_count = counts[i][1], program.constant_count = counts[i][2];
    const struct pto_lowering_key key = {&program, ids};
    assert_null(pto_lowering_cache_find(&cache, &key));
    pto_lowering_cache_insert(&cache, &key, NULL);
    assert_non_null(pto_lowering_cache_find(&cache, &key));
    assert_int_equal(cache.count, i + 1);
  }
  pto_lowering_cache_fini(&cache);
  assert_int_equal(cache.bytes, 0);
}

/* ---- when it goes ---- */

static void test_a_destroyed_tensor_takes_its_own_entries_along_and_no_others(void **state) {
  const struct pto_device_program program = repeating(submit_scale_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), kept = host_tensor(), gone = host_tensor();
    dispatch1(&program, in, gone);
    dispatch1(&program, in, kept);
    assert_int_equal(take_calls(), 2);
    assert_int_equal(pto_device_tensor_destroy(context, gone), PTO_OK);
    assert_int_equal(take_calls(), 0);
    assert_int_equal(counters().lowering_cache_entries, 1);
    dispatch1(&program, in, kept);
    assert_int_equal(take_calls(), 0);
  }
}

static void test_a_tensor_in_the_place_of_a_destroyed_one_is_another(void **state) {
  const struct pto_device_program program = repeating(submit_scale_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor out = host_tensor();
    for (int i = 1; i <= 5; i++) {
      struct pto_device_tensor in = host_tensor();
      write4(in, (float)i, 0, 0, 0);
      dispatch1(&program, in, out);
      dispatch1(&program, in, out);
      assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
      reads4(out, (float)(2 * i), 0, 0, 0);
      assert_int_equal(counters().lowering_cache_entries, 0);
    }
    assert_int_equal(take_calls(), 5);
    assert_int_equal(counters().lowering_cache_bytes, 0);
  }
}

static void test_the_least_recently_used_goes_first(void **state) {
  const struct pto_device_program program = repeating(submit_scale_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor in[PTO_LOWERING_ENTRIES + 1], out = host_tensor();
    for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(in); i++) in[i] = host_tensor();
    for (uint32_t i = 0; i < PTO_LOWERING_ENTRIES; i++) dispatch1(&program, in[i], out);
    dispatch1(&program, in[0], out); /* used again: now the second one is the oldest */
    assert_int_equal(take_calls(), PTO_LOWERING_ENTRIES);
    dispatch1(&program, in[PTO_LOWERING_ENTRIES], out);
    assert_int_equal(take_calls(), 1);
    assert_int_equal(counters().lowering_cache_entries, PTO_LOWERING_ENTRIES);
    dispatch1(&program, in[0], out);
    dispatch1(&program, in[2], out);
    dispatch1(&program, in[PTO_LOWERING_ENTRIES], out);
    assert_int_equal(take_calls(), 0);
    dispatch1(&program, in[1], out);
    assert_int_equal(take_calls(), 1);
  }
}

/* Entries of many tensors, so that their ids alone are large. */
static void test_what_is_large_makes_room_by_the_oldest_and_what_is_larger_than_all_is_not_kept(void **state) {
  enum { COUNT = PTO_CALL_LIST_BYTES / 3 / sizeof(uint64_t) }; /* two fit, three do not */
  static struct pto_lowering_cache cache;
  uint64_t *ids = calloc(PTO_CALL_LIST_BYTES / sizeof *ids + 1, sizeof *ids);
  assert_non_null(ids);
  struct pto_device_program program = repeating(submit_scale_counted, &factor_2);
  const struct pto_lowering_key key = {&program, ids};
  program.input_count = COUNT;
  for (ids[0] = 1; ids[0] <= 3; ids[0]++) {
    pto_lowering_cache_insert(&cache, &key, NULL);
    assert_true(cache.bytes <= PTO_CALL_LIST_BYTES);
    assert_int_equal(cache.count, ids[0] == 1 ? 1 : 2);
  }
  for (ids[0] = 1; ids[0] <= 3; ids[0]++) assert_int_equal(pto_lowering_cache_find(&cache, &key) != NULL, ids[0] > 1);
  program.input_count = PTO_CALL_LIST_BYTES / sizeof *ids;
  pto_lowering_cache_insert(&cache, &key, NULL);
  assert_null(pto_lowering_cache_find(&cache, &key));
  assert_int_equal(cache.count, 2);
  pto_lowering_cache_fini(&cache);
  free(ids);
}

static void test_a_program_is_forgotten_and_others_are_not(void **state) {
  const struct pto_device_program by_2 = repeating(submit_scale_counted, &factor_2);
  const struct pto_device_program by_3 = repeating(submit_scale_counted, &factor_3);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor(), other = host_tensor();
    dispatch1(&by_2, in, out);
    dispatch1(&by_2, in, other);
    dispatch1(&by_3, in, out);
    assert_int_equal(pto_context_forget_program(context, &by_2), PTO_OK);
    assert_int_equal(counters().lowering_cache_entries, 1);
    assert_int_equal(take_calls(), 3);
    dispatch1(&by_3, in, out);
    assert_int_equal(take_calls(), 0);
    dispatch1(&by_2, in, out);
    assert_int_equal(take_calls(), 1);
    struct pto_device_program by_another_number = by_2;
    by_another_number.repeats = 2;
    assert_int_equal(pto_context_forget_program(context, &by_another_number), PTO_OK);
    assert_int_equal(counters().lowering_cache_entries, 2);
    refused(pto_context_forget_program(context, NULL), PTO_EINVAL, "no program");
  }
}

/* ---- failures ---- */

static void test_a_kernel_that_fails_from_the_cache_is_a_failure_like_any_other(void **state) {
  const struct pto_device_program wrong = repeating(submit_fail_counted, NULL);
  const struct pto_device_program good = repeating(submit_scale_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), bad = host_tensor(), out = host_tensor();
    float values[NUMEL];
    calls = 0;
    write4(in, 1, 2, 3, 4);
    dispatch1(&good, in, out);
    for (int i = 0; i < 3; i++) {
      dispatch1(&wrong, in, bad);
      refused(pto_context_sync(context), PTO_EKERNEL, "fail");
      assert_int_equal(pto_context_clear_error(context), PTO_OK);
      refused(pto_device_tensor_read(context, bad, values, BYTES), PTO_EINVAL, "is undefined");
      dispatch1(&good, in, out);
      reads4(out, 2, 4, 6, 8);
    }
    /* the orchestration itself did not fail, unless its tasks had before it returned */
    assert_in_range(take_calls(), 2, 4);
    assert_true(counters().lowering_cache_hits >= 3);
  }
}

static void test_an_orchestration_that_gives_up_is_not_kept(void **state) {
  const struct pto_device_program program = repeating(give_up, NULL);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    for (int i = 0; i < 2; i++) {
      dispatch1(&program, in, out);
      refused(pto_context_sync(context), PTO_EUSER, "returned -1");
      assert_int_equal(counters().lowering_cache_entries, 0);
      assert_int_equal(pto_context_clear_error(context), PTO_OK);
    }
    assert_int_equal(counters().lowering_cache_misses, 2);
  }
}

static void test_tensors_destroyed_while_a_failure_is_kept_take_their_entries_along(void **state) {
  const struct pto_device_program good = repeating(submit_scale_counted, &factor_2);
  ON_EACH_BACKEND {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    dispatch1(&good, in, out);
    dispatch1(&failing, in, out);
    assert_int_equal(pto_context_sync(context), PTO_EKERNEL);
    assert_int_equal(pto_context_forget_program(context, &failing), PTO_EKERNEL);
    assert_int_equal(counters().lowering_cache_entries, 1);
    assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
    assert_int_equal(counters().lowering_cache_entries, 0);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    calls = 0;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ping_pong_calls_the_orchestration_twice),
      cmocka_unit_test(test_a_program_that_does_not_repeat_is_called_each_time),
      cmocka_unit_test(test_what_cannot_be_repeated_is_called_each_time_and_counted),
      cmocka_unit_test(test_the_cache_takes_no_virtual_time_and_saves_none),
      cmocka_unit_test(test_another_context_number_or_orchestration_is_another_program),
      cmocka_unit_test(test_a_copy_of_a_program_at_another_address_is_the_same_program),
      cmocka_unit_test(test_tensors_in_another_order_are_other_tensors),
      cmocka_unit_test(test_other_constants_are_another_set_of_tensors),
      cmocka_unit_test(test_the_same_tensors_in_other_places_are_another_key),
      cmocka_unit_test(test_a_destroyed_tensor_takes_its_own_entries_along_and_no_others),
      cmocka_unit_test(test_a_tensor_in_the_place_of_a_destroyed_one_is_another),
      cmocka_unit_test(test_the_least_recently_used_goes_first),
      cmocka_unit_test(test_what_is_large_makes_room_by_the_oldest_and_what_is_larger_than_all_is_not_kept),
      cmocka_unit_test(test_a_program_is_forgotten_and_others_are_not),
      cmocka_unit_test(test_a_kernel_that_fails_from_the_cache_is_a_failure_like_any_other),
      cmocka_unit_test(test_an_orchestration_that_gives_up_is_not_kept),
      cmocka_unit_test(test_tensors_destroyed_while_a_failure_is_kept_take_their_entries_along),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
