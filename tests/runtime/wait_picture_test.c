/* SPDX-License-Identifier: MIT */
/*
 * Who waited for whom when a run stopped: each error of semantics section 5 that ends a run for want of room or because
 * a kernel failed, in a tiny program, and what must be in its picture. The path is written as the names of its nodes:
 * the last one is a node of the path where there is a circle. Cores that wait for ever are in
 * wait_picture_cores_test.c.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <report/stopped/stopped.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>
#include <tests/support/wait_picture_checks.h>

/* ---- rings ---- */

static int more_tasks_than_slots(struct pto_runtime *rt, struct fixture *f) {
  int status = PTO_OK;
  for (uint64_t i = 0; i < 4 && status == PTO_OK; i++) status = FIXTURE_TRY(rt, .label = i);
  assert_int_equal(status, PTO_ESCOPE);
  return status;
}
static void after_scope(struct fixture *f) {
  take(f, PTO_ESCOPE);
  expect_path("*orchestration>ring0>task0>scope0>orchestration");
  expect_link("orchestration", "ring0", "slot");
  expect_link("ring0", "task0", "retire");
  expect_link("task0", "scope0", "scope");
  expect_link("scope0", "orchestration", "submits");
  assert_int_equal(picture->doing.kind, PTO_DOING_SUBMIT);
  assert_int_equal(picture->doing.task_number, 3);
  assert_string_equal(picture->doing_kernels, "logged");
  assert_true(picture->doing.needs_slot && !picture->doing.needs_heap);
  assert_int_equal(picture->rings[0].head - picture->rings[0].tail, 3);
  assert_int_equal(picture->rings[0].slots, 3);
  assert_int_equal(picture->scopes[0].tasks, 3);
  assert_false(picture->scopes[0].is_manual);
  expect_text("in the submit of task 3 (logged), waits for a free slot of ring 0 (3 of 3 slots");
  expect_text("the circle closes");
}

static int a_manual_scope_too_many(struct pto_runtime *rt, struct fixture *f) {
  int status = PTO_OK;
  FIXTURE_DO(rt, .label = 0);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  for (uint64_t i = 1; i < 5 && status == PTO_OK; i++) {
    status = FIXTURE_TRY(rt, .label = i, .launch = {.label = i == 1 ? "first layer" : NULL});
    if (i == 1) fixture_drain(rt);
  }
  return status;
}
static void after_manual_scope(struct fixture *f) {
  take(f, PTO_ESCOPE);
  expect_path("*orchestration>ring1>task1>scope1>orchestration");
  assert_true(picture->scopes[1].is_manual);
  assert_int_equal(picture->scopes[1].depth, 1);
  assert_int_equal(picture->scopes[1].tasks, 3);
  expect_task(1, "logged", PTO_TASK_COMPLETED); /* its number and kernel outlive its payload */
  assert_int_equal(task_of(1)->calls_left, 0);
  assert_string_equal(task_of(1)->label, "first layer");
  assert_null(task_of(2)->label);
  expect_text("its oldest, task 1 (logged \"first layer\", COMPLETED)");
  expect_text("waits for the end of scope 1 (depth 1, manual, keeps 3 tasks and 0 bytes of ring 1)");
  assert_null(find_link("task0", "scope0"));                            /* no task waits for it */
  assert_int_equal(picture->tasks[picture->rings[0].oldest].number, 0); /* but it is the oldest of its ring */
}

static int nested_scopes(struct pto_runtime *rt, struct fixture *f) {
  for (uint32_t i = 0; i < 4; i++) fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  /* depths 4 and 5 share ring 3; task 0 is of ring 3's depth 3 no more: that scope has no task */
  FIXTURE_DO(rt, .label = 0);
  FIXTURE_DO(rt, .label = 1);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  FIXTURE_DO(rt, .label = 2);
  return FIXTURE_TRY(rt, .label = 3);
}
static void after_nested(struct fixture *f) {
  take(f, PTO_EWINDOW);
  expect_path("*orchestration>ring3>task0>scope4>orchestration");
  assert_int_equal(picture->scope_count, 6);
  assert_int_equal(picture->scopes[4].tasks, 2);
  assert_int_equal(picture->scopes[5].tasks, 1);
  assert_int_equal(picture->scopes[3].tasks, 0);
}

/* ---- heaps ---- */

static int too_large(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 8192);
  return FIXTURE_TRY(rt, .modes = "o", .tensors = {&t});
}
static void after_too_large(struct fixture *f) {
  take(f, PTO_EHEAP);
  expect_path("orchestration>heap0");
  assert_int_equal(picture->doing.heap_bytes, 8192);
  assert_int_equal(picture->rings[0].heap_size_bytes, 4096);
  expect_text("outputs of 8192 bytes), waits for room in heap ring 0 (0 of 4096 bytes)");
}

static int held_by_a_scope(struct pto_runtime *rt, struct fixture *f) {
  int status = PTO_OK;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  for (uint64_t i = 0; i < 3 && status == PTO_OK; i++) {
    struct pto_tensor t = fixture_managed(rt, 1000 + 1000 * i);
    status = FIXTURE_TRY(rt, .label = i, .modes = "o", .tensors = {&t});
  }
  return status;
}
static void after_held(struct fixture *f) {
  take(f, PTO_EHEAP);
  expect_path("*orchestration>heap1>task0>scope1>orchestration");
  assert_true(picture->doing.needs_heap && !picture->doing.needs_slot);
  assert_int_equal(picture->doing.heap_bytes, 3072);
  assert_int_equal(picture->rings[1].heap_used_bytes, 3072);
  assert_int_equal(picture->scopes[1].bytes, 3072);
  assert_int_equal(task_of(0)->heap_bytes, 1024);
}

static int alloc_too_much(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 2048), b = fixture_managed(rt, 4096);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  FIXTURE_DO(rt, .label = 0);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, pto_alloc_tensors(rt, &a, 1, NULL), PTO_OK);
  return pto_alloc_tensors(rt, &b, 1, NULL);
}
static void after_alloc(struct fixture *f) {
  take(f, PTO_EHEAP);
  expect_path("*orchestration>heap0>task1>scope0>orchestration");
  expect_task(1, "alloc", PTO_TASK_COMPLETED);
  assert_int_equal(task_of(1)->heap_bytes, 2048);
  assert_string_equal(picture->doing_kernels, "alloc");
}

/* Each core of 50 clusters has a task that has not run. */
enum { MANY_CLUSTERS = 50 };
static int more_cores_than_a_picture(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 3 * MANY_CLUSTERS; i++)
    FIXTURE_DO(rt, .label = i, .roles = i < MANY_CLUSTERS ? FIXTURE_AIC : FIXTURE_AIV0);
  return too_large(rt, f);
}
static void after_many_cores(struct fixture *f) {
  take(f, PTO_EHEAP);
  assert_int_equal(picture->listed_core_count, PTO_PICTURE_CORES);
  assert_int_equal(picture->cores_more, 3 * MANY_CLUSTERS - PTO_PICTURE_CORES);
}

/* ---- capacities ---- */

static int more_regions_than_room(struct pto_runtime *rt, struct fixture *f) {
  int status = PTO_OK;
  for (uint64_t i = 0; i < 60 && status == PTO_OK; i++) {
    struct pto_tensor t = fixture_bytes(f, 16 * i, 8);
    status = FIXTURE_SUBMIT(rt, "o", &t);
  }
  return status;
}
static void after_regions(struct fixture *f) {
  take(f, PTO_ECAPACITY);
  expect_path("*orchestration>table>ring0>task0>scope0>orchestration");
  assert_string_equal(picture->doing.table, "region map");
  assert_int_equal(picture->doing.table_capacity, f->config.map_entries);
  assert_int_equal(picture->doing.task_number, picture->task_count - 1);
  expect_link("table", "ring0", "live");
  expect_text("waits for room in the region map (of 16)");
}
static int more_lists_than_room(struct pto_runtime *rt, struct fixture *f) {
  int status = PTO_OK;
  struct pto_tensor all = fixture_bytes(f, 0, 64);
  for (uint64_t i = 0; i < 60 && status == PTO_OK; i++) status = FIXTURE_SUBMIT(rt, "i", &all);
  return status;
}
static void after_lists(struct fixture *f) {
  take(f, PTO_ECAPACITY);
  expect_path("*orchestration>table>ring0>task0>scope0>orchestration");
  assert_string_equal(picture->doing.table, "list chunks");
}

/* ---- kernels that fail ---- */

static int fail_with_consumers(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  failing = fixture_kernel_with("o", 0, fail_run);
  failing.name = "failing";
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 1024, 64);
  const struct pto_launch launch = {.aiv0 = &failing};
  fixture_expect(rt, pto_submit(rt, &launch, (struct pto_param[]){pto_output(&x)}, 1, NULL), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .modes = "io", .tensors = {&x, &y});
  FIXTURE_DO(rt, .label = 2, .modes = "i", .tensors = {&y});
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
  return PTO_OK;
}
static void after_failure(struct fixture *f) {
  take(f, PTO_EKERNEL);
  expect_path("orchestration>task0");
  assert_int_equal(picture->doing.kind, PTO_DOING_END);
  assert_true(task_of(0)->has_failed);
  expect_task(0, "failing", PTO_TASK_RUNNING);
  expect_task(1, "logged", PTO_TASK_WAITING);
  assert_int_equal(task_of(1)->producers, 1);
  expect_link("task1", "task0", "producer");
  expect_text("task 0 (failing, FAILED");
}
/* More wait for it than its slot lists: the rest stand in a chunk, which is the only one in use. */
static int fail_with_many_consumers(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  failing = fixture_kernel_with("o", 0, fail_run);
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  const struct pto_launch launch = {.aiv0 = &failing};
  fixture_expect(rt, pto_submit(rt, &launch, (struct pto_param[]){pto_output(&x)}, 1, NULL), PTO_OK);
  for (uint64_t i = 1; i <= PTO_INLINE_CONSUMERS + 2; i++) FIXTURE_DO(rt, .label = i, .modes = "i", .tensors = {&x});
  return PTO_OK;
}
static void after_failure_of_many(struct fixture *f) {
  take(f, PTO_EKERNEL);
  for (uint32_t i = 1; i <= PTO_INLINE_CONSUMERS + 2; i++) {
    char consumer[16];
    snprintf(consumer, sizeof consumer, "task%" PRIu32, i);
    expect_link(consumer, "task0", "producer");
  }
}
static int fail_alone(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  failing = fixture_kernel_with("", 0, fail_run);
  const struct pto_launch launch = {.aiv0 = &failing};
  return pto_submit(rt, &launch, NULL, 0, NULL);
}
static void check_what_is_none(void) {
  assert_string_equal(pto_picture_reason_name(PTO_PICTURE_REASON_COUNT), "?");
  assert_string_equal(pto_picture_reason_text(PTO_PICTURE_REASON_COUNT), "?");
  assert_string_equal(pto_task_state_name(99), "?");
}
static void after_failure_alone(struct fixture *f) {
  take(f, PTO_EKERNEL);
  check_what_is_none();
  assert_false(pto_stopped_has_waits(picture));
}

/* ---- no picture ---- */

static int nothing_wrong(struct pto_runtime *rt, struct fixture *f) {
  assert_null(pto_runtime_wait_picture(rt));
  return FIXTURE_TRY(rt, .label = 1);
}
static int the_user_says_so(struct pto_runtime *rt, struct fixture *f) { return pto_report_error(rt, "enough"); }
static void after_nothing(struct fixture *f) { assert_null(pto_runtime_wait_picture(f->rt)); }
static void after_again(struct fixture *f) {
  take(f, PTO_ESCOPE);
  fixture_run(f, nothing_wrong, PTO_OK);
  assert_null(pto_runtime_wait_picture(f->rt));
}

static const struct fixture_case cases[] = {
    {.name = "a scope with more tasks than slots waits for itself",
     .body = more_tasks_than_slots,
     .status = PTO_ESCOPE,
     .window = 4,
     .after = after_scope},
    {.name = "rings begin wherever they begin",
     .body = more_tasks_than_slots,
     .status = PTO_ESCOPE,
     .window = 4,
     .first_sequence = UINT64_MAX - 1,
     .after = after_scope},
    {.name = "a manual scope is named as one, with the oldest task that it keeps",
     .body = a_manual_scope_too_many,
     .status = PTO_ESCOPE,
     .window = 4,
     .after = after_manual_scope},
    {.name = "nested scopes that hold a window are told apart",
     .body = nested_scopes,
     .status = PTO_EWINDOW,
     .window = 4,
     .after = after_nested},
    {.name = "of more cores than a picture has room for the rest is counted",
     .body = more_cores_than_a_picture,
     .status = PTO_EHEAP,
     .after = after_many_cores,
     .window = 512,
     .heap_bytes = 4096,
     .clusters = MANY_CLUSTERS},
    {.name = "outputs that no heap could hold wait for no task",
     .body = too_large,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .after = after_too_large},
    {.name = "a heap held by a scope has its bytes",
     .body = held_by_a_scope,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .after = after_held},
    {.name = "allocations are told from kernels",
     .body = alloc_too_much,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .after = after_alloc},
    {.name = "a full map is named with what lives",
     .body = more_regions_than_room,
     .status = PTO_ECAPACITY,
     .map_entries = 16,
     .after = after_regions},
    {.name = "full lists are named",
     .body = more_lists_than_room,
     .status = PTO_ECAPACITY,
     .list_chunks = 1,
     .after = after_lists},
    {.name = "a kernel that failed is marked, and who waits for it is there",
     .body = fail_with_consumers,
     .status = PTO_EKERNEL,
     .after = after_failure},
    {.name = "all who wait for one that failed are there",
     .body = fail_with_many_consumers,
     .status = PTO_EKERNEL,
     .after = after_failure_of_many},
    {.name = "a kernel that failed alone has nothing to say",
     .body = fail_alone,
     .status = PTO_EKERNEL,
     .after = after_failure_alone},
    {.name = "a run that ends well has no picture", .body = nothing_wrong, .after = after_nothing},
    {.name = "nor has one that the orchestration ends",
     .body = the_user_says_so,
     .status = PTO_EUSER,
     .after = after_nothing},
    {.name = "the next run forgets it",
     .body = more_tasks_than_slots,
     .status = PTO_ESCOPE,
     .window = 4,
     .after = after_again},
};

int main(void) { return fixture_run_cases("wait_picture", cases, PTO_ARRAY_LENGTH(cases)); }
