/* SPDX-License-Identifier: MIT */
/*
 * Recorded tasks: what a launch comes after and what comes after it, the order within, temporaries, what is frozen and
 * what is patched, limits.  tests/runtime/recorded_mistakes_test.c has each mistake;
 * tests/runtime/recorded_random_test.c holds launches against the submits themselves.
 *
 * Labels say which kernels ran in which order.  To add a case: an orchestration and a line in `cases`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/recorded_fork.h>

static const struct pto_trace_task *task_at(struct pto_runtime *rt, uint64_t number) {
  return pto_trace_log_at(&rt->trace.tasks, number);
}

/* ---- order ---- */

static int nothing_runs_while_it_is_recorded(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  assert_int_equal(fixture_tasks(rt), 0);
  assert_int_equal(fixture_call_count, 0);
  assert_int_equal(rt->scope_depth, 0);
  pto_recorded_destroy(recorded);
  pto_recorded_destroy(NULL);
  return 0;
}

static int is_one_task_for_the_rest(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64),
                          other = fixture_bytes(f, 128, 8);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  struct pto_task launch;
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&in});                    /* 0 */
  FIXTURE_DO(rt, .label = 2, .modes = "i", .tensors = {&out});                   /* 1 */
  FIXTURE_DO(rt, .label = 3, .modes = "o", .tensors = {&other});                 /* 2 */
  fixture_expect(rt, launch_fork(rt, recorded, &in, &out, 10, &launch), PTO_OK); /* 3, tasks 4 to 6, 7 */
  FIXTURE_DO(rt, .label = 4, .modes = "i", .tensors = {&out});                   /* 8 */
  FIXTURE_DO(rt, .label = 5, .modes = "o", .tensors = {&in});                    /* 9 */
  FIXTURE_DO(rt, .label = 6, .launch = {.after = &launch, .after_count = 1});    /* 10 */
  for (uint64_t end = 3; end <= 7; end += 4) { /* its begin and its end come after both, and not after the third */
    assert_int_equal(fixture_reasons(rt, 0, end), PTO_EDGE_RAW);
    assert_int_equal(fixture_reasons(rt, 1, end), PTO_EDGE_WAR);
    assert_int_equal(fixture_reasons(rt, 2, end), 0);
  }
  assert_int_equal(fixture_reasons(rt, 3, 4), PTO_EDGE_EXPLICIT);
  assert_int_equal(fixture_reasons(rt, 4, 5) & fixture_reasons(rt, 4, 6), PTO_EDGE_EXPLICIT);
  assert_int_equal(fixture_reasons(rt, 5, 7) & fixture_reasons(rt, 6, 7), PTO_EDGE_EXPLICIT);
  assert_int_equal(fixture_reasons(rt, 4, 7) | fixture_reasons(rt, 5, 6), 0);
  assert_int_equal(fixture_reasons(rt, 7, 8), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(rt, 7, 9), PTO_EDGE_WAR);
  assert_int_equal(fixture_reasons(rt, 7, 10), PTO_EDGE_EXPLICIT);
  for (uint64_t t = 0; t < 11; t++) assert_int_equal(task_at(rt, t)->part_of, t >= 3 && t <= 6 ? 7 : 0);
  /* 0, 1 → begin; begin → 4 → 5, 6 → end; 0, 1 → end; end → 8, 9, 10; 0 → 9 is replaced */
  assert_int_equal(fixture_edges(rt),
                   2 + 1 + 2 + 2 + 2 + 3 + (fixture_reasons(rt, 0, 9) != 0) + (fixture_reasons(rt, 4, 9) != 0));
  fixture_drain(rt);
  assert_true(fixture_position(1) < fixture_position(10) && fixture_position(2) < fixture_position(10));
  assert_true(fixture_position(10) < fixture_position(11) && fixture_position(10) < fixture_position(12));
  assert_true(fixture_position(12) < fixture_position(4) && fixture_position(11) < fixture_position(6));
  pto_recorded_destroy(recorded);
  return 0;
}

static int looks_nothing_up_within(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  const uint64_t candidates = rt->map.candidates;
  fixture_expect(rt, launch_fork(rt, recorded, &in, &out, 10, NULL), PTO_OK);
  assert_int_equal(rt->map.live_entries, 2); /* of the boundary */
  assert_true(rt->map.candidates - candidates <= 4);
  pto_recorded_destroy(recorded);
  return 0;
}

/* In a manual scope a launch has explicit dependencies alone, and its own tasks their order. */
static int in_a_manual_scope(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  struct pto_task before;
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&in});
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  FIXTURE_DO(rt, .label = 2, .out = &before);
  const struct pto_param boundary[] = {pto_input(&in), pto_output(&out)};
  const struct pto_recorded_launch launch = {
      .size = sizeof launch, .params = boundary, .count = 2, .after = &before, .after_count = 1};
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  assert_int_equal(fixture_reasons(rt, 0, 2), 0);
  assert_int_equal(fixture_reasons(rt, 1, 2), PTO_EDGE_EXPLICIT);
  assert_int_equal(fixture_reasons(rt, 3, 4), PTO_EDGE_EXPLICIT);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  pto_recorded_destroy(recorded);
  return 0;
}

/* Explicit dependencies, barriers, allocations and scopes of a recording; a manual scope's tasks have no order. */
static int what_else_is_recorded(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor out = fixture_bytes(f, 0, 64);
  const struct pto_param boundary[] = {pto_inout(&out)};
  struct pto_recorded *recorded;
  struct pto_task first, second, barrier, alloc;
  fixture_expect(rt, pto_recorded_begin(rt, boundary, 1), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .out = &first);                                                           /* 1 */
  FIXTURE_DO(rt, .label = 2, .launch = {.after = &first, .after_count = 1}, .out = &second);           /* 2 */
  fixture_expect(rt, pto_submit_barrier(rt, (struct pto_task[]){first, second}, 2, &barrier), PTO_OK); /* 3 */
  const struct pto_tensor t = fixture_managed(rt, 64);
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, &alloc), PTO_OK); /* 4 */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  FIXTURE_DO(rt, .label = 5, .modes = "b", .tensors = {&t}); /* 5 */
  FIXTURE_DO(rt, .label = 6, .modes = "b", .tensors = {&t}); /* 6 */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  FIXTURE_DO(rt, .label = 7, .modes = "b", .tensors = {&t}, .launch = {.after = &barrier, .after_count = 1}); /* 7 */
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 1};
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  static const uint8_t edges[][2] = {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {0, 4}, {0, 5},
                                     {0, 6}, {3, 7}, {5, 7}, {6, 7}, {4, 7}, {7, 8}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(edges); i++)
    assert_int_equal(fixture_reasons(rt, edges[i][0], edges[i][1]), PTO_EDGE_EXPLICIT);
  assert_int_equal(fixture_reasons(rt, 5, 6) | fixture_reasons(rt, 3, 8), 0);
  assert_int_equal(fixture_edges(rt), PTO_ARRAY_LENGTH(edges));
  pto_recorded_destroy(recorded);
  return 0;
}

static int nothing_recorded(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_param boundary[] = {pto_inout(&t)};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, boundary, 1), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 1};
  for (int i = 0; i < 2; i++) fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  assert_int_equal(rt->completed_count, 4);
  pto_recorded_destroy(recorded);
  return 0;
}

/* ---- memory ---- */

static uint64_t written_at[2];
static int write_label(const struct pto_kernel_args *args) {
  const uint64_t label = args->scalars[0].u64;
  memset(args->tensors[0].addr, (int)label, args->tensors[0].shape[0]);
  written_at[label & 1] = (uintptr_t)args->tensors[0].addr;
  return 0;
}
static int add_one(const struct pto_kernel_args *args) {
  const uint8_t *from = args->tensors[0].addr;
  uint8_t *to = args->tensors[1].addr;
  for (uint64_t i = 0; i < args->tensors[1].shape[0]; i++) to[i] = (uint8_t)(from[i] + 1);
  return 0;
}
/* label → temporary → any part of the boundary */
static int each_launch_has_temporaries_of_its_own(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel write, add;
  write = fixture_kernel_with("so", 0, write_label);
  add = fixture_kernel_with("io", 0, add_one);
  const struct pto_tensor out = fixture_bytes(f, 0, 64), places[] = {fixture_bytes(f, 1024, 64), out};
  const struct pto_tensor last = pto_tensor_slice(&out, 0, 32, 64, 1);
  struct pto_param boundary = pto_output(&out);
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  const struct pto_tensor filled = fixture_managed(rt, 40), t = fixture_managed(rt, 32);
  const struct pto_param of_write[] = {pto_scalar_u64(2), pto_output(&t)},
                         of_add[] = {pto_input(&t), pto_output(&last)};
  const struct pto_initial initial = {.param = 0, .bits = 9};
  const struct pto_param fills = pto_output(&filled);
  const struct pto_launch launch_of_fill = {.no_kernel = true, .initial = &initial, .initial_count = 1};
  fixture_expect(rt, pto_submit(rt, &launch_of_fill, &fills, 1, NULL), PTO_OK);
  fixture_expect(rt, pto_submit_aiv(rt, &write, of_write, 2), PTO_OK);
  fixture_expect(rt, pto_submit_aiv(rt, &add, of_add, 2), PTO_OK);
  const struct pto_tensor head = pto_tensor_slice(&out, 0, 0, 32, 1), part = pto_tensor_slice(&filled, 0, 8, 40, 1);
  const struct pto_param of_copy[] = {pto_input(&part), pto_output(&head)};
  fixture_expect(rt, pto_submit_aiv(rt, &add, of_copy, 2), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  for (uint32_t i = 0; i < 2; i++) {
    const struct pto_recorded_scalar label = {.task = 1, .value.u64 = 4 + i};
    boundary = pto_output(&places[i]);
    const struct pto_recorded_launch launch = {
        .size = sizeof launch, .params = &boundary, .count = 1, .scalars = &label, .scalar_count = 1};
    fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  }
  fixture_drain(rt);
  assert_true(written_at[0] != written_at[1]);
  assert_int_equal(f->memory[1024 + 31], 10);
  assert_int_equal(f->memory[1024 + 32], 5);
  assert_int_equal(f->memory[0], 10);
  assert_int_equal(f->memory[63], 6);
  /* what is not patched is what was recorded */
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = &boundary, .count = 1};
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  fixture_drain(rt);
  assert_int_equal(f->memory[63], 3);
  pto_recorded_destroy(recorded);
  return 0;
}

/* A launch holds one task slot of the scope that it is in, and the memory of temporaries until it is done. */
/* ---- four bits, and nothing at all ---- */

static int copy_nibbles(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *from = &args->tensors[0], *to = &args->tensors[1];
  memcpy(to->addr, from->addr, from->shape[0] / 2);
  return 0;
}
static int elements_of_four_bits(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel copy;
  const uint64_t shape[] = {32}, whole[] = {128};
  copy = fixture_kernel_with("io", 0, copy_nibbles);
  const struct pto_tensor memory = pto_external_tensor(rt, f->memory, PTO_INT4, 1, whole);
  const struct pto_tensor in = pto_tensor_slice(&memory, 0, 32, 64, 1), out = pto_tensor_slice(&memory, 0, 64, 96, 1);
  const struct pto_param boundary[] = {pto_input(&in), pto_output(&out)};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, boundary, 2), PTO_OK);
  const struct pto_tensor t = pto_managed_tensor(rt, pto_create_buffer(rt, 16), PTO_INT4, 1, shape);
  fixture_expect(rt, pto_submit_aiv(rt, &copy, (struct pto_param[]){pto_input(&in), pto_output(&t)}, 2), PTO_OK);
  for (uint64_t half = 0; half < 2; half++) {
    const struct pto_tensor from = pto_tensor_slice(&t, 0, 16 * half, 16 * half + 16, 1),
                            to = pto_tensor_slice(&out, 0, 16 * half, 16 * half + 16, 1);
    fixture_expect(rt, pto_submit_aiv(rt, &copy, (struct pto_param[]){pto_input(&from), pto_output(&to)}, 2), PTO_OK);
  }
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  for (int other = 0; other < 2; other++) { /* and from elsewhere to elsewhere */
    const struct pto_tensor from = pto_tensor_slice(&memory, 0, other ? 64 : 32, other ? 96 : 64, 1),
                            to = pto_tensor_slice(&memory, 0, other ? 96 : 64, other ? 128 : 96, 1);
    const struct pto_param params[] = {pto_input(&from), pto_output(&to)};
    const struct pto_recorded_launch launch = {.size = sizeof launch, .params = params, .count = 2};
    if (!other)
      for (uint8_t i = 0; i < 16; i++) f->memory[16 + i] = (uint8_t)(7 * i + 3);
    fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
    fixture_drain(rt);
  }
  assert_memory_equal(f->memory + 32, f->memory + 16, 16);
  assert_memory_equal(f->memory + 48, f->memory + 16, 16);
  pto_recorded_destroy(recorded);
  return 0;
}

static int tensors_without_elements(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), none = pto_tensor_slice(&in, 0, 64, 64, 1);
  const struct pto_param boundary = pto_input(&in);
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = &boundary, .count = 1};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  const struct pto_tensor t = fixture_managed(rt, 64), of_t = pto_tensor_slice(&t, 0, 8, 8, 1),
                          empty = fixture_managed(rt, 0);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ioo", &none, &t, &empty), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ii", &of_t, &empty), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  for (int i = 0; i < 2; i++) fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
  fixture_drain(rt);
  assert_int_equal(fixture_tasks(rt), 2 * 4);
  pto_recorded_destroy(recorded);
  return 0;
}

static int many_launches_in_one_scope(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 4096), out = fixture_bytes(f, 8192, 4096);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  for (int i = 0; i < 30; i++) fixture_expect(rt, launch_fork(rt, recorded, &in, &out, 10, NULL), PTO_OK);
  assert_int_equal(fixture_tasks(rt), 150);
  pto_recorded_destroy(recorded);
  return 0;
}
static int too_many_launches_in_one_scope(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  int status = PTO_OK;
  for (int i = 0; i < 40 && !status; i++) status = launch_fork(rt, recorded, &in, &out, 10, NULL);
  pto_recorded_destroy(recorded);
  return status;
}
static int in_a_deep_scope(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  struct pto_recorded *recorded = fork_of(rt, &in, &out);
  for (uint32_t i = 0; i < PTO_MAX_SCOPE_DEPTH; i++) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  fixture_expect(rt, launch_fork(rt, recorded, &in, &out, 10, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "scopes nest 64 deep at most, and a launch has one");
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  for (int i = 0; i < 4; i++) fixture_expect(rt, launch_fork(rt, recorded, &in, &out, 10, NULL), PTO_OK);
  for (uint32_t i = 1; i < PTO_MAX_SCOPE_DEPTH; i++) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_drain(rt);
  pto_recorded_destroy(recorded);
  return 0;
}

/* ---- what a task may be ---- */

/* A predicate of the boundary, one of a temporary; MIX; blocks; sync_start. */
static int any_task(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor gates[] = {fixture_bytes(f, 0, 1), fixture_bytes(f, 1, 1)}, out = fixture_bytes(f, 64, 64);
  static struct pto_kernel write;
  write = fixture_kernel_with("so", 0, write_label);
  struct pto_param boundary[] = {pto_input(&gates[0]), pto_inout(&out)};
  struct pto_recorded *recorded;
  f->memory[0] = 0;
  f->memory[1] = 1;
  fixture_expect(rt, pto_recorded_begin(rt, boundary, 2), PTO_OK);
  const struct pto_tensor own = fixture_managed(rt, 1);
  const struct pto_param of_write[] = {pto_scalar_u64(7), pto_output(&own)};
  fixture_expect(rt, pto_submit_aiv(rt, &write, of_write, 2), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .modes = "b", .tensors = {&out}, .launch = {.predicate = {&gates[0], PTO_IF_EQ, 1}});
  FIXTURE_DO(rt, .label = 2, .modes = "b", .tensors = {&out}, .launch = {.predicate = {&own, PTO_IF_EQ, 7}});
  FIXTURE_DO(rt, .label = 3, .roles = FIXTURE_AIC | FIXTURE_AIV0 | FIXTURE_AIV1,
             .launch = {.block_count = pto_core_count(rt, PTO_CLUSTER), .sync_start = true});
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  for (int i = 0; i < 2; i++) {
    fixture_call_count = 0;
    boundary[0] = pto_input(&gates[i]);
    const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
    fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
    fixture_drain(rt);
    assert_int_equal(fixture_position(1) < FIXTURE_MAX_CALLS, i);
    assert_true(fixture_position(2) < FIXTURE_MAX_CALLS);
    assert_int_equal(fixture_call_count, 3 * pto_core_count(rt, PTO_CLUSTER) + 1 + (uint32_t)i);
  }
  pto_recorded_destroy(recorded);
  return 0;
}

/* ---- limits ---- */

static int larger_than_the_window(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_param boundary = pto_input(&t);
  struct pto_recorded *recorded = NULL;
  struct fixture_state before;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  for (int i = 0; i < 14; i++) FIXTURE_DO(rt, .modes = "i", .tensors = {&t});
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_EFIT);
  fixture_expect_sentence(rt, "a launch of the recording takes 16 task slots, a window of 16 has 15");
  assert_null(recorded);
  fixture_state_take(rt, &before);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_EINVAL);
  fixture_expect_sentence(rt, "no recording has begun");
  fixture_state_expect(rt, &before);
  return 0;
}
static int larger_than_the_heap(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_param boundary = pto_input(&t);
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  const struct pto_tensor a = fixture_managed(rt, 40000), b = fixture_managed(rt, 40000);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&a});
  assert_int_equal(FIXTURE_SUBMIT(rt, "o", &b), PTO_EFIT);
  fixture_expect_sentence(rt, "temporaries take 81920 bytes, a heap has 65536");
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  pto_recorded_destroy(recorded);
  return 0;
}

/* ---- runs ---- */

static struct pto_recorded *of_last_run;
static int recorded_in_one_run(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  of_last_run = fork_of(rt, &in, &out);
  return 0;
}
static int launched_in_another(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 2048, 64), out = fixture_bytes(f, 512, 64);
  fixture_expect(rt, launch_fork(rt, of_last_run, &in, &out, 20, NULL), PTO_OK);
  fixture_drain(rt);
  assert_true(fixture_position(20) < fixture_position(21));
  return 0;
}
static int launched_elsewhere(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 512, 64);
  fixture_expect(rt, launch_fork(rt, of_last_run, &in, &out, 20, NULL), PTO_ESTALE);
  fixture_expect_sentence(rt, "the recording belongs to another runtime");
  return 0;
}
static void test_a_recording_outlives_the_run_and_not_the_runtime(void **state) {
  (void)state;
  static struct fixture f, other;
  memset(&f, 0, sizeof f);
  memset(&other, 0, sizeof other);
  fixture_open(&f);
  fixture_open(&other);
  fixture_run(&f, recorded_in_one_run, PTO_OK);
  fixture_run(&f, launched_in_another, PTO_OK);
  fixture_run(&other, launched_elsewhere, PTO_OK);
  pto_recorded_destroy(of_last_run);
  fixture_close(&other);
  fixture_close(&f);
}

static int returns_within_a_recording(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_param boundary = pto_input(&t);
  fixture_expect(rt, pto_recorded_begin(rt, &boundary, 1), PTO_OK);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&t});
  return PTO_OK;
}

static int refuse_label_5(const struct pto_kernel_args *args) {
  return args->scalars[0].u64 == 5 ? pto_kernel_error(args, "five is wrong") : 0;
}
static int a_patched_scalar_that_the_kernel_refuses(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  static struct pto_kernel kernel;
  kernel = fixture_kernel_with("s", 0, refuse_label_5);
  kernel.check = refuse_label_5;
  const struct pto_param param = pto_scalar_u64(1);
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, NULL, 0), PTO_OK);
  for (int i = 0; i < 2; i++) fixture_expect(rt, pto_submit_aiv(rt, &kernel, &param, 1), PTO_OK);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  const struct pto_recorded_scalar five = {.task = 1, .value.u64 = 5};
  const struct pto_recorded_launch launch = {.size = sizeof launch, .scalars = &five, .scalar_count = 1};
  const int status = pto_submit_recorded(rt, recorded, &launch, NULL);
  pto_recorded_destroy(recorded);
  return status;
}

static const struct fixture_case cases[] = {
    {.name = "nothing runs while it is recorded", .body = nothing_runs_while_it_is_recorded},
    {.name = "a launch is one task for the rest", .body = is_one_task_for_the_rest},
    {.name = "a launch looks nothing up within", .body = looks_nothing_up_within},
    {.name = "a launch in a manual scope", .body = in_a_manual_scope},
    {.name = "explicit dependencies, barriers, allocations, scopes", .body = what_else_is_recorded},
    {.name = "a recording of nothing", .body = nothing_recorded},
    {.name = "temporaries, parts, initial values, scalars", .body = each_launch_has_temporaries_of_its_own},
    {.name = "temporaries with poison", .body = each_launch_has_temporaries_of_its_own, .poison = true},
    {.name = "elements of four bits", .body = elements_of_four_bits},
    {.name = "tensors without elements", .body = tensors_without_elements},
    {.name = "many launches in one scope", .body = many_launches_in_one_scope},
    {.name = "too many launches in one scope",
     .body = too_many_launches_in_one_scope,
     .status = PTO_ESCOPE,
     .window = 16,
     .sentence = "the scope holds 15 tasks"},
    {.name = "a launch in a deep scope", .body = in_a_deep_scope},
    {.name = "predicates, MIX, blocks that start together", .body = any_task, .engine = "virtual"},
    {.name = "the same on threads", .body = any_task, .engine = "threads"},
    {.name = "the same on two clusters", .body = any_task, .clusters = 2},
    {.name = "larger than the window", .body = larger_than_the_window, .window = 16},
    {.name = "larger than the heap", .body = larger_than_the_heap},
    {.name = "a return within a recording",
     .body = returns_within_a_recording,
     .status = PTO_EUSER,
     .sentence = "the orchestration returned within a recording"},
    {.name = "a kernel that refuses a patched scalar",
     .body = a_patched_scalar_that_the_kernel_refuses,
     .status = PTO_EINVAL,
     .sentence = "task 1 of a recording: five is wrong"},
};

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_recording_outlives_the_run_and_not_the_runtime),
  };
  const int failed = fixture_run_cases("recorded", cases, PTO_ARRAY_LENGTH(cases));
  return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
