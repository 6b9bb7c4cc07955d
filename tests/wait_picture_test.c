/* SPDX-License-Identifier: MIT */
/*
 * Who waited for whom when a run stopped: each error of semantics section 5 that ends a run, in a tiny program, and
 * what must be in its picture.  The path is written as the names of its nodes: the last one is a node of the path where
 * there is a circle.  One file, because the cases share the ways of asking.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <cli/stopped.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static const struct pto_wait_picture *picture; /* of the case that has run */

/* ---- what must hold ---- */

static const char *name_of(struct pto_picture_node node, char *text, size_t size) {
  return pto_picture_node_name(picture, node, text, size);
}

static void check_node(struct pto_picture_node node) {
  const uint32_t counts[PTO_NODE_KIND_COUNT] = {
      1, 1, PTO_RING_COUNT, PTO_RING_COUNT, 1, picture->task_places, picture->scope_count, picture->core_places};
  assert_true(node.kind < PTO_NODE_KIND_COUNT);
  assert_true(node.index < counts[node.kind]);
}

/* Links name nodes that are there, once each; the path's follow each other and are the marked ones. */
static void check_whole(void) {
  uint32_t marked = 0;
  for (uint32_t i = 0; i < picture->link_count; i++) {
    check_node(picture->links[i].from);
    check_node(picture->links[i].to);
    marked += picture->links[i].is_marked;
    assert_true(picture->links[i].is_marked || !picture->links[i].is_in_circle);
    for (uint32_t j = 0; j < i; j++)
      assert_true(memcmp(&picture->links[i].from, &picture->links[j].from, 2 * sizeof picture->links[i].from) != 0);
  }
  assert_int_equal(marked, picture->path_length);
  for (uint32_t i = 1; i < picture->path_length; i++)
    assert_memory_equal(&picture->links[picture->path[i - 1]].to, &picture->links[picture->path[i]].from,
                        sizeof picture->links[0].to);
}

static void take(struct fixture *f, int status) {
  picture = pto_runtime_wait_picture(f->rt);
  assert_non_null(picture);
  assert_int_equal(picture->status, status);
  check_whole();
}

/* "orchestration>ring0>task0", and "*" in front where it ends in a circle. */
static void expect_path(const char *expected) {
  char text[512] = "", name[64];
  size_t used = 0;
  for (uint32_t i = 0; i < picture->path_length; i++) {
    const struct pto_picture_link *link = &picture->links[picture->path[i]];
    if (i == 0) used += (size_t)snprintf(text + used, sizeof text - used, "%s", name_of(link->from, name, sizeof name));
    used += (size_t)snprintf(text + used, sizeof text - used, ">%s", name_of(link->to, name, sizeof name));
  }
  const bool is_circle = picture->path_length && picture->links[picture->path[picture->path_length - 1]].is_in_circle;
  if (expected[0] != '*' || !is_circle) assert_true(!is_circle && expected[0] != '*');
  assert_string_equal(text, expected + is_circle);
}

static const struct pto_picture_link *find_link(const char *from, const char *to) {
  char name[64];
  for (uint32_t i = 0; i < picture->link_count; i++)
    if (strcmp(name_of(picture->links[i].from, name, sizeof name), from) == 0 &&
        strcmp(name_of(picture->links[i].to, name, sizeof name), to) == 0)
      return &picture->links[i];
  return NULL;
}
static void expect_link(const char *from, const char *to, const char *reason) {
  const struct pto_picture_link *link = find_link(from, to);
  if (!link) fail_msg("%s does not wait for %s", from, to);
  assert_string_equal(pto_picture_reason_name(link->reason), reason);
}

static const struct pto_picture_task *task_of(uint64_t number) {
  for (uint32_t i = 0; i < picture->task_places; i++)
    if (picture->tasks[i].number == number) return &picture->tasks[i];
  fail_msg("task %llu is not in the picture", (unsigned long long)number);
  return NULL;
}
static void expect_task(uint64_t number, const char *kernels, uint32_t state) {
  assert_string_equal(task_of(number)->kernels, kernels);
  assert_string_equal(pto_task_state_name(task_of(number)->state), pto_task_state_name(state));
}

static void expect_text(const char *part) {
  static char text[PTO_STOPPED_TEXT_BYTES];
  assert_true(pto_stopped_has_waits(picture));
  pto_stopped_format(picture, text, sizeof text);
  if (!strstr(text, part)) fail_msg("no \"%s\" in\n%s", part, text);
}

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
    status = FIXTURE_TRY(rt, .label = i);
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
  expect_text("its oldest, task 1 (logged, COMPLETED)");
  expect_text("waits for the end of scope 1 (depth 1, manual, keeps 3 tasks and 0 bytes of ring 1)");
  assert_null(find_link("task0", "scope0")); /* nobody waits for it */
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
  assert_int_equal(task_of(0)->block_bytes, 1024);
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
  assert_int_equal(task_of(1)->block_bytes, 2048);
  assert_string_equal(picture->doing_kernels, "alloc");
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

static int fail_run(const struct pto_kernel_args *args) { return pto_kernel_error(args, "on purpose"); }

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
static int fail_alone(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  failing = fixture_kernel_with("", 0, fail_run);
  const struct pto_launch launch = {.aiv0 = &failing};
  return pto_submit(rt, &launch, NULL, 0, NULL);
}
static void after_failure_alone(struct fixture *f) {
  take(f, PTO_EKERNEL);
  assert_false(pto_stopped_has_waits(picture));
}

/* ---- cores that wait for ever ---- */

static int pop_from_the_one_before(const struct pto_kernel_args *args, uint32_t count) {
  const uint32_t role = args->core->role;
  int32_t word = 0;
  int status = pto_core_pop(args, (role + count - 1) % count, &word, sizeof word);
  return status ? status : pto_core_push(args, (role + 1) % count, &word, sizeof word);
}
static int two_in_a_circle(const struct pto_kernel_args *args) { return pop_from_the_one_before(args, 2); }
static int three_in_a_circle(const struct pto_kernel_args *args) { return pop_from_the_one_before(args, 3); }
static int signals_in_a_circle(const struct pto_kernel_args *args) { return pto_core_wait(args, args->core->role); }
static int one_stays_away(const struct pto_kernel_args *args) {
  return args->core->block_index == 1 ? 0 : pto_core_barrier(args);
}
static int nobody_is_left(const struct pto_kernel_args *args) {
  return args->core->role == PTO_ROLE_AIC ? pto_core_wait(args, 3) : 0;
}

static int pops_too_often(const struct pto_kernel_args *args) {
  int32_t word = 0;
  return args->core->role == PTO_ROLE_AIC ? pto_core_pop(args, PTO_ROLE_AIV0, &word, sizeof word) : 0;
}

static struct pto_kernel waiting_kernel(int (*run)(const struct pto_kernel_args *)) {
  struct pto_kernel kernel = fixture_kernel_with("o", PTO_KERNEL_WAITS, run);
  kernel.name = "waiter";
  return kernel;
}

static int submit_waiting(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_tensor *t) {
  return pto_submit(rt, launch, (struct pto_param[]){pto_output(t)}, 1, NULL);
}

/* context: the kernel's function; the roles are the first `count`. */
struct waiting {
  int (*run)(const struct pto_kernel_args *);
  uint32_t roles;
  uint32_t blocks;
};
static int submit_case(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  const struct waiting *waiting = fixture_current->context;
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  kernel = waiting_kernel(waiting->run);
  struct pto_launch launch = {.block_count = waiting->blocks, .sync_start = waiting->blocks > 1};
  if (waiting->roles & 1) launch.aic = &kernel;
  if (waiting->roles & 2) launch.aiv0 = &kernel;
  if (waiting->roles & 4) launch.aiv1 = &kernel;
  return submit_waiting(rt, &launch, &x);
}
static const struct waiting two = {two_in_a_circle, 3, 1}, three = {three_in_a_circle, 7, 1},
                            by_signals = {signals_in_a_circle, 3, 1}, absent = {one_stays_away, 2, 2},
                            alone = {nobody_is_left, 3, 1}, from_returned = {pops_too_often, 7, 1};

static void after_two(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task0>core0>core1>core0");
  expect_link("orchestration", "task0", "end");
  expect_link("task0", "core0", "kernel");
  expect_link("core0", "core1", "element");
  expect_task(0, "waiter+waiter", PTO_TASK_RUNNING);
  assert_false(task_of(0)->has_failed); /* nobody did: they wait */
  assert_true(picture->cores[0].waits && picture->cores[1].waits);
  assert_int_equal(picture->cores[0].wait.waits_for, PTO_WAITS_FOR_ELEMENT);
  expect_text("AIC on core 0 waits for an element from AIV0 on core 1, which waits");
}
static void after_three(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task0>core0>core2>core1>core0");
}
static void after_signals(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task0>core0>core1>core0");
  expect_link("core0", "core1", "signal");
  expect_text("waits for a signal at flag 0, perhaps of core 1");
}
static void after_absent(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  assert_int_equal(picture->core_places, 1);
  assert_int_equal(picture->cores[0].wait.waits_for, PTO_WAITS_FOR_BARRIER);
  assert_int_equal(picture->cores[0].wait.arrived, 1);
  assert_int_equal(picture->cores[0].wait.expected, 2);
  assert_int_equal(picture->path_length, 3);
  assert_int_equal(picture->links[picture->path[2]].to.kind, PTO_NODE_NONE);
  expect_text("waits at barrier 1 with 1 of 2");
}
static void after_alone(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("orchestration>task0>core0>nobody");
  expect_text("waits for a signal at flag 3, and nobody is left to give it");
}

/* AIV1 has returned too, or the meeting would be over. */
static void after_returned(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("orchestration>task0>core0>nobody");
  assert_int_equal(picture->cores[0].wait.other.state, PTO_SEAT_RETURNED);
  expect_text("waits for an element from AIV0 on core 1, which has returned");
}

/* The orchestration reads what a task would write that waits for ever, and others wait for that task. */
static int read_what_never_comes(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  const uint64_t index = 3;
  uint8_t value;
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 1024, 64);
  kernel = waiting_kernel(two_in_a_circle);
  const struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel};
  fixture_expect(rt, submit_waiting(rt, &launch, &x), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .modes = "io", .tensors = {&x, &y});
  return pto_read_element(rt, &y, &index, &value);
}
static void after_read(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task1>task0>core0>core1>core0");
  assert_int_equal(picture->doing.kind, PTO_DOING_HOST_READ);
  assert_int_equal(picture->doing.begin, 3);
  assert_int_equal(picture->doing.end, 4);
  expect_link("orchestration", "task1", "host_access");
  expect_link("task1", "task0", "producer");
  expect_text("the orchestration, reading bytes [3, 4) of buffer ");
}

/* A full ring whose oldest task is done, its memory in use by one that waits for cores that wait for ever. */
static int memory_in_use(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  int status = PTO_OK;
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  kernel = waiting_kernel(two_in_a_circle);
  const struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel};
  fixture_expect(rt, submit_waiting(rt, &launch, &x), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 64);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&t});
  FIXTURE_DO(rt, .label = 2, .modes = "ii", .tensors = {&t, &x});
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  for (uint64_t i = 3; i < 20 && status == PTO_OK; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    status = FIXTURE_TRY(rt, .label = i);
    if (status == PTO_OK) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  assert_int_equal(status, PTO_EDEADLOCK);
  return status;
}
static void after_memory(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>ring1>task1>task2>task0>core0>core1>core0");
  expect_link("task1", "task2", "memory");
  expect_task(1, "logged", PTO_TASK_COMPLETED);
  assert_int_equal(task_of(1)->scope, PTO_PICTURE_NONE);
  assert_true(task_of(1)->is_held);
}

/* A task that could run finds its cores taken by two that wait for each other. */
static int no_core_is_free(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  const uint64_t index = 0;
  uint8_t value;
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 1024, 64);
  kernel = waiting_kernel(two_in_a_circle);
  const struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel}, aic = {.aic = &kernel};
  fixture_expect(rt, submit_waiting(rt, &launch, &x), PTO_OK);
  /* the AIC's slots are full before the last one comes */
  for (uint32_t i = 0; i < 20; i++) {
    struct pto_tensor z = fixture_bytes(f, 2048 + 64 * i, 64);
    fixture_expect(rt, submit_waiting(rt, &aic, &z), PTO_OK);
  }
  FIXTURE_DO(rt, .label = 1, .roles = FIXTURE_AIC, .modes = "o", .tensors = {&y});
  return pto_read_element(rt, &y, &index, &value);
}
static void after_no_core(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task21>core0>core1>core0");
  expect_link("task21", "core0", "core");
  expect_task(21, "logged", PTO_TASK_READY);
}

static int write_under_a_reader(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  const uint64_t index = 9;
  const uint8_t value = 1;
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 1024, 64);
  kernel = waiting_kernel(two_in_a_circle);
  const struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel};
  fixture_expect(rt, submit_waiting(rt, &launch, &x), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .modes = "ii", .tensors = {&x, &y});
  return pto_write_element(rt, &y, &index, &value);
}
static void after_write(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task1>task0>core0>core1>core0");
  assert_int_equal(picture->doing.kind, PTO_DOING_HOST_WRITE);
  expect_text("the orchestration, writing bytes [9, 10) of buffer ");
}

/* A kernel fails while a submit waits for a slot: the picture is that of the submit. */
static int fail_under_a_full_ring(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  int status = PTO_OK;
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  failing = fixture_kernel_with("o", 0, fail_run);
  const struct pto_launch launch = {.aiv0 = &failing};
  for (uint64_t i = 0; i < 9 && status == PTO_OK; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    if (i == 0)
      status = pto_submit(rt, &launch, (struct pto_param[]){pto_output(&x)}, 1, NULL);
    else
      status = FIXTURE_TRY(rt, .label = i, .modes = "i", .tensors = {&x});
    if (status == PTO_OK) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return status;
}
static void after_full_ring(struct fixture *f) {
  take(f, PTO_EKERNEL);
  expect_path("orchestration>ring1>task0");
  assert_int_equal(picture->doing.kind, PTO_DOING_SUBMIT);
  assert_int_equal(picture->doing.task_number, 7);
  assert_true(task_of(0)->has_failed);
}

/* Submits have waited for slots, a read for bytes, before the failure: none of that is in the picture. */
static int fail_after_waiting(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  const uint64_t index = 0;
  uint8_t value;
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 1024, 64);
  failing = fixture_kernel_with("o", 0, fail_run);
  const struct pto_launch launch = {.aiv0 = &failing};
  for (uint64_t i = 0; i < 20; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    FIXTURE_DO(rt, .label = i, .modes = "b", .tensors = {&x});
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  assert_true(rt->submit_waits > 0);
  const struct pto_doing after_submits = rt->doing;
  assert_int_equal(after_submits.kind, PTO_DOING_OWN_WORK);
  assert_false(after_submits.needs_slot);
  if (f->config.heap_bytes == 4096) fixture_expect(rt, pto_read_element(rt, &x, &index, &value), PTO_OK);
  return pto_submit(rt, &launch, (struct pto_param[]){pto_output(&y)}, 1, NULL);
}
static void after_waiting(struct fixture *f) {
  take(f, PTO_EKERNEL);
  expect_path("orchestration>task20");
  assert_int_equal(picture->doing.kind, PTO_DOING_END);
  assert_int_equal(picture->doing.awaited_slot, PTO_PICTURE_NONE);
}

/* ---- bounds ---- */

static int a_long_chain(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  failing = fixture_kernel_with("b", 0, fail_run);
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  const struct pto_launch launch = {.aiv0 = &failing};
  fixture_expect(rt, pto_submit(rt, &launch, (struct pto_param[]){pto_inout(&x)}, 1, NULL), PTO_OK);
  for (uint64_t i = 1; i < 500; i++) FIXTURE_DO(rt, .label = i, .modes = i % 100 ? "i" : "b", .tensors = {&x});
  return PTO_OK;
}
static void after_chain(struct fixture *f) {
  take(f, PTO_EKERNEL);
  assert_true(picture->task_places <= PTO_PICTURE_TASKS);
  assert_int_equal(picture->rings[0].by_state[PTO_TASK_WAITING] + picture->rings[0].by_state[PTO_TASK_RUNNING], 500);
  assert_true(task_of(0)->has_failed);
  expect_link("task1", "task0", "producer");
}

/* More than a slot and one chunk of its list hold. */
static int many_behind_one(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel failing;
  failing = fixture_kernel_with("o", 0, fail_run);
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  const struct pto_launch launch = {.aiv0 = &failing};
  fixture_expect(rt, pto_submit(rt, &launch, (struct pto_param[]){pto_output(&x)}, 1, NULL), PTO_OK);
  for (uint64_t i = 1; i <= 40; i++) FIXTURE_DO(rt, .label = i, .modes = "i", .tensors = {&x});
  return PTO_OK;
}
static void after_many(struct fixture *f) {
  take(f, PTO_EKERNEL);
  for (uint64_t i = 1; i <= 40; i++) assert_int_equal(task_of(i)->state, PTO_TASK_WAITING);
}

static int a_deadlock_deep_in_a_graph(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  struct pto_tensor x = fixture_bytes(f, 0, 64);
  kernel = waiting_kernel(two_in_a_circle);
  const struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel};
  fixture_expect(rt, submit_waiting(rt, &launch, &x), PTO_OK);
  uint64_t index = 0;
  uint8_t value;
  for (uint64_t i = 1; i < 300; i++) FIXTURE_DO(rt, .label = i, .modes = "b", .tensors = {&x});
  return pto_read_element(rt, &x, &index, &value);
}
static void after_deep(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  assert_true(picture->tasks_more > 0);
  expect_link("core0", "core1", "element");
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
static void after_the_same(struct fixture *f) {
  static char first[PTO_STOPPED_TEXT_BYTES], second[PTO_STOPPED_TEXT_BYTES];
  take(f, PTO_EDEADLOCK);
  pto_stopped_format(picture, first, sizeof first);
  fixture_run(f, memory_in_use, PTO_EDEADLOCK);
  take(f, PTO_EDEADLOCK);
  pto_stopped_format(picture, second, sizeof second);
  assert_string_equal(first, second);
  assert_null(strstr(first, "0x"));
}

#define ON_BOTH(sentence, ...)                                                                                         \
  {.name = sentence " (virtual)", .engine = "virtual", __VA_ARGS__}, {                                                 \
    .name = sentence " (threads)", .engine = "threads", __VA_ARGS__                                                    \
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
    {.name = "outputs that no heap could hold wait for nobody",
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
    {.name = "a kernel that failed alone has nothing to say",
     .body = fail_alone,
     .status = PTO_EKERNEL,
     .after = after_failure_alone},
    ON_BOTH("two cores that wait for each other are a circle", .body = submit_case, .context = &two,
            .status = PTO_EDEADLOCK, .after = after_two),
    ON_BOTH("three cores are one too", .body = submit_case, .context = &three, .status = PTO_EDEADLOCK,
            .after = after_three),
    ON_BOTH("so are signals that both wait for", .body = submit_case, .context = &by_signals, .status = PTO_EDEADLOCK,
            .after = after_signals),
    ON_BOTH("a core of a block that never comes ends the path", .body = submit_case, .context = &absent,
            .status = PTO_EDEADLOCK, .after = after_absent),
    ON_BOTH("a signal that nobody can give ends it too", .body = submit_case, .context = &alone,
            .status = PTO_EDEADLOCK, .after = after_alone),
    ON_BOTH("an element from a core that has returned ends it as well", .body = submit_case, .context = &from_returned,
            .status = PTO_EDEADLOCK, .after = after_returned),
    ON_BOTH("a host read leads over tasks to the cores", .body = read_what_never_comes, .status = PTO_EDEADLOCK,
            .after = after_read),
    ON_BOTH("a full ring leads over memory in use to the cores", .body = memory_in_use, .status = PTO_EDEADLOCK,
            .window = 8, .after = after_memory),
    {.name = "a task that finds no core leads to those that hold them",
     .body = no_core_is_free,
     .engine = "virtual",
     .status = PTO_EDEADLOCK,
     .after = after_no_core},
    ON_BOTH("a host write waits for readers", .body = write_under_a_reader, .status = PTO_EDEADLOCK,
            .after = after_write),
    {.name = "a failure under a full ring shows the submit",
     .body = fail_under_a_full_ring,
     .status = PTO_EKERNEL,
     .window = 8,
     .after = after_full_ring},
    {.name = "submits that have waited before are forgotten",
     .body = fail_after_waiting,
     .status = PTO_EKERNEL,
     .window = 8,
     .after = after_waiting},
    {.name = "and so are host reads",
     .body = fail_after_waiting,
     .status = PTO_EKERNEL,
     .window = 8,
     .heap_bytes = 4096,
     .after = after_waiting},
    {.name = "a graph larger than the picture is cut",
     .body = a_long_chain,
     .status = PTO_EKERNEL,
     .window = 1024,
     .after = after_chain},
    {.name = "all who wait for a failed task are in the picture, however many",
     .body = many_behind_one,
     .status = PTO_EKERNEL,
     .window = 1024,
     .after = after_many},
    {.name = "a path longer than the picture is cut, and the circle is there",
     .body = a_deadlock_deep_in_a_graph,
     .engine = "virtual",
     .status = PTO_EDEADLOCK,
     .window = 512,
     .after = after_deep},
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
    {.name = "runs that stop alike have the same picture, without addresses",
     .body = memory_in_use,
     .engine = "virtual",
     .status = PTO_EDEADLOCK,
     .window = 8,
     .after = after_the_same},
};

int main(void) { return fixture_run_cases("wait_picture", cases, PTO_ARRAY_LENGTH(cases)); }
