/* SPDX-License-Identifier: MIT */
/*
 * Who waited for whom when a run stopped: cores that wait for ever, for each other, for no core, or for what never
 * comes, each in a tiny program, and what must be in its picture; and pictures of graphs that are larger than they may
 * be. The path is written as the names of its nodes: the last one is a node of the path where there is a circle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <report/stopped/stopped.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>
#include <tests/support/wait_picture_checks.h>

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
static int no_core_is_left(const struct pto_kernel_args *args) {
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
                            alone = {no_core_is_left, 3, 1}, from_returned = {pops_too_often, 7, 1},
                            all_of_50 = {three_in_a_circle, 7, 50};

static void after_two(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_path("*orchestration>task0>core0>core1>core0");
  expect_link("orchestration", "task0", "end");
  expect_link("task0", "core0", "kernel");
  expect_link("core0", "core1", "element");
  expect_task(0, "waiter+waiter", PTO_TASK_RUNNING);
  assert_false(task_of(0)->has_failed); /* none did: they wait */
  assert_true(picture->cores[0].waits && picture->cores[1].waits);
  assert_ptr_equal(&picture->tasks[picture->cores[0].task], task_of(0));
  assert_ptr_equal(&picture->tasks[picture->cores[1].task], task_of(0));
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
/* Each core waits and is busy. */
static void after_all_of_50(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  assert_int_equal(picture->listed_core_count, PTO_PICTURE_CORES);
  assert_true(picture->cores[PTO_PICTURE_CORES - 1].waits);
  assert_int_equal(picture->cores_more, 3 * 50 - PTO_PICTURE_CORES);
}
static void after_absent(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  assert_int_equal(picture->listed_core_count, 1);
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

/* AIV1 has returned too, or the rendezvous would be over. */
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

/* The first block of a task is behind one AIV, and no AIV has a place for the second. */
static int a_block_is_left(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  const uint64_t index = 0;
  uint8_t value;
  struct pto_tensor x = fixture_bytes(f, 0, 64), y = fixture_bytes(f, 1024, 64), z = fixture_bytes(f, 2048, 64);
  kernel = waiting_kernel(three_in_a_circle);
  const struct pto_launch launch = {.aic = &kernel, .aiv0 = &kernel, .aiv1 = &kernel}, aiv = {.aiv0 = &kernel},
                          two_blocks = {.aiv0 = &kernel, .block_count = 2};
  fixture_expect(rt, submit_waiting(rt, &launch, &x), PTO_OK);
  fixture_expect(rt, submit_waiting(rt, &aiv, &y), PTO_OK);
  fixture_expect(rt, submit_waiting(rt, &two_blocks, &z), PTO_OK);
  return pto_read_element(rt, &z, &index, &value);
}
static void after_a_block(struct fixture *f) {
  take(f, PTO_EDEADLOCK);
  expect_task(2, "waiter", PTO_TASK_RUNNING);
  expect_link("task1", "core1", "kernel");
  expect_link("task2", "core2", "kernel");
  expect_link("task2", "core1", "core");
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
  assert_true(picture->listed_task_count <= PTO_PICTURE_TASKS);
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

static const struct fixture_case cases[] = {
    ON_BOTH("two cores that wait for each other are a circle", .body = submit_case, .context = &two,
            .status = PTO_EDEADLOCK, .after = after_two),
    ON_BOTH("three cores are one too", .body = submit_case, .context = &three, .status = PTO_EDEADLOCK,
            .after = after_three),
    ON_BOTH("so are signals that both wait for", .body = submit_case, .context = &by_signals, .status = PTO_EDEADLOCK,
            .after = after_signals),
    ON_BOTH("a core of a block that never comes ends the path", .body = submit_case, .context = &absent,
            .status = PTO_EDEADLOCK, .after = after_absent),
    {.name = "of more cores than the picture holds each is counted once",
     .body = submit_case,
     .context = &all_of_50,
     .engine = "virtual",
     .chip = "tiny,clusters=50",
     .status = PTO_EDEADLOCK,
     .after = after_all_of_50},
    ON_BOTH("a signal that no core can give ends it too", .body = submit_case, .context = &alone,
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
    {.name = "a task leads to the core that has one of its blocks and to those that have no place for the others",
     .body = a_block_is_left,
     .engine = "virtual",
     .status = PTO_EDEADLOCK,
     .after = after_a_block},
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
    {.name = "runs that stop alike have the same picture, without addresses",
     .body = memory_in_use,
     .engine = "virtual",
     .status = PTO_EDEADLOCK,
     .window = 8,
     .after = after_the_same},
};

int main(void) { return fixture_run_cases("wait_picture_cores", cases, PTO_ARRAY_LENGTH(cases)); }
