/* SPDX-License-Identifier: MIT */
/*
 * Explore on small programs with one mistake each, and on the same without it: what is found, in which words, and what
 * is left of the schedule that found it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/explore/explore.h>
#include <pto/core.h>
#include <runtime/base/sanitizer.h>

#define CELLS 4u

/* ---- kernels ---- */

static int32_t *cells(const struct pto_kernel_args *a, uint32_t i) { return a->tensors[i].addr; }

static int fill_run(const struct pto_kernel_args *a) {
  for (uint32_t i = 0; i < CELLS; i++) cells(a, 0)[i] = (int32_t)(a->scalars[0].i64 + i);
  return 0;
}
static int copy_run(const struct pto_kernel_args *a) {
  memcpy(cells(a, 1), cells(a, 0), CELLS * sizeof(int32_t));
  return 0;
}
static int step_run(const struct pto_kernel_args *a) {
  for (uint32_t i = 0; i < CELLS; i++) cells(a, 0)[i] = cells(a, 0)[i] * 3 + (int32_t)a->core->block_index + 1;
  return 0;
}
/* As fill, and a cell that it has only the address of. */
static int32_t *secret;
static int sloppy_run(const struct pto_kernel_args *a) {
  secret[0] = 77;
  return fill_run(a);
}
static int sloppy_copy_run(const struct pto_kernel_args *a) {
  secret[0] = 77;
  return copy_run(a);
}
static int32_t calls_so_far;
static int counting_run(const struct pto_kernel_args *a) {
  cells(a, 0)[0] = calls_so_far++;
  return 0;
}
/* Right for as often as the reference and its twin need it. */
static int tiring_run(const struct pto_kernel_args *a) {
  cells(a, 0)[0] = calls_so_far++ < 3;
  return 0;
}
static int add_run(const struct pto_kernel_args *a) {
  for (uint32_t i = 0; i < CELLS; i++) cells(a, 1)[i] = cells(a, 1)[i] * 5 + cells(a, 0)[i];
  return 0;
}
/* A copy, but of garbage something else each time. */
static int fickle_run(const struct pto_kernel_args *a) {
  copy_run(a);
  if (cells(a, 0)[0] < 0) cells(a, 1)[0] = calls_so_far++;
  return 0;
}
static int careful_run(const struct pto_kernel_args *a) {
  if (cells(a, 0)[0] < 0) return pto_kernel_error(a, "%d is negative", cells(a, 0)[0]);
  return copy_run(a);
}

/* One core of a block says that x is there before it writes it; the other one waits and copies it. */
static int early_signal_run(const struct pto_kernel_args *a) {
  const int status = pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0);
  for (uint32_t i = 0; i < CELLS && status == 0; i++) cells(a, 0)[i] = (int32_t)(50 + i);
  return status;
}
static int waiting_copy_run(const struct pto_kernel_args *a) {
  const int status = pto_core_wait(a, 0);
  return status ? status : copy_run(a);
}

#define CELLS_OF(mode_)                                                                                                \
  { .mode = mode_, .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1 }
static const struct pto_kernel_param fill_params[] = {CELLS_OF(PTO_OUTPUT),
                                                      {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64}};
static const struct pto_kernel_param copy_params[] = {CELLS_OF(PTO_INPUT), CELLS_OF(PTO_OUTPUT)};
static const struct pto_kernel_param step_params[] = {CELLS_OF(PTO_INOUT)};
static const struct pto_kernel_param add_params[] = {CELLS_OF(PTO_INPUT), CELLS_OF(PTO_INOUT)};
static const struct pto_kernel sloppy_copy = {"sloppy copy",   PTO_AIV, 0,    copy_params, 2,
                                              sloppy_copy_run, NULL,    NULL, NULL};
static const struct pto_kernel add = {"add", PTO_AIV, 0, add_params, 2, add_run, NULL, NULL, NULL};
static const struct pto_kernel tiring = {"tiring", PTO_AIV, 0, step_params, 1, tiring_run, NULL, NULL, NULL};
static const struct pto_kernel fill = {"fill", PTO_AIV, 0, fill_params, 2, fill_run, NULL, NULL, NULL};
static const struct pto_kernel sloppy = {"sloppy", PTO_AIV, 0, fill_params, 2, sloppy_run, NULL, NULL, NULL};
static const struct pto_kernel copy = {"copy", PTO_AIV, 0, copy_params, 2, copy_run, NULL, NULL, NULL};
static const struct pto_kernel careful = {"careful", PTO_AIV, 0, copy_params, 2, careful_run, NULL, NULL, NULL};
static const struct pto_kernel fickle = {"fickle", PTO_AIV, 0, copy_params, 2, fickle_run, NULL, NULL, NULL};
static const struct pto_kernel step = {"step", PTO_AIV, 0, step_params, 1, step_run, NULL, NULL, NULL};
static const struct pto_kernel_param pair_params[] = {CELLS_OF(PTO_INOUT), CELLS_OF(PTO_OUTPUT)};
static const struct pto_kernel early_signal = {
    "early signal", PTO_AIV, PTO_KERNEL_WAITS, pair_params, 2, early_signal_run, NULL, NULL, NULL};
static const struct pto_kernel waiting_copy = {
    "waiting copy", PTO_AIV, PTO_KERNEL_WAITS, pair_params, 2, waiting_copy_run, NULL, NULL, NULL};
static const struct pto_kernel counting = {"counting", PTO_AIV, 0, step_params, 1, counting_run, NULL, NULL, NULL};

/* ---- programs ---- */

static const uint64_t shape[] = {CELLS};

static int submit_fill(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *x,
                       int64_t value, struct pto_task *task) {
  const struct pto_launch launch = {.aiv0 = kernel};
  return pto_submit(rt, &launch, (struct pto_param[]){pto_output(x), pto_scalar_i64(value)}, 2, task);
}
static int submit_copy(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *x,
                       const struct pto_tensor *y, const struct pto_task *after) {
  const struct pto_launch launch = {.aiv0 = kernel, .after = after, .after_count = after != NULL};
  return pto_submit(rt, &launch, (struct pto_param[]){pto_input(x), pto_output(y)}, 2, NULL);
}
static struct pto_tensor array_of(struct pto_runtime *rt, struct pto_program_run *run, const char *name) {
  return pto_array_tensor(rt, pto_program_find(run, name));
}

/* A manual scope without the edge from the task that fills a fresh buffer to the one that reads it. */
static int read_early(struct pto_runtime *rt, struct pto_program_run *run, const struct pto_kernel *reader,
                      bool is_clean) {
  const struct pto_tensor y = array_of(rt, run, "y");
  struct pto_task filled;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  const struct pto_tensor fresh =
      pto_managed_tensor(rt, pto_create_buffer(rt, CELLS * sizeof(int32_t)), PTO_INT32, 1, shape);
  if (status == PTO_OK) status = submit_fill(rt, &fill, &fresh, 5, &filled);
  if (status == PTO_OK) status = submit_copy(rt, reader, &fresh, &y, is_clean ? &filled : NULL);
  return status ? status : pto_scope_end(rt);
}
static int missing_edge(struct pto_runtime *rt, struct pto_program_run *run) {
  return read_early(rt, run, &copy, false);
}
static int with_edge(struct pto_runtime *rt, struct pto_program_run *run) { return read_early(rt, run, &copy, true); }
static int failing_early(struct pto_runtime *rt, struct pto_program_run *run) {
  return read_early(rt, run, &careful, false);
}

static int fickle_early(struct pto_runtime *rt, struct pto_program_run *run) {
  return read_early(rt, run, &fickle, false);
}

static int undeclared(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  secret = pto_program_find(run, "x")->data;
  int status = submit_copy(rt, &copy, &x, &y, NULL);
  return status ? status : submit_fill(rt, &sloppy, &z, 1, NULL);
}

/* Both read x, and the second also writes a cell of y, which it does not declare. */
static int undeclared_beside_an_input(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  secret = pto_program_find(run, "y")->data;
  int status = submit_copy(rt, &copy, &x, &y, NULL);
  return status ? status : submit_copy(rt, &sloppy_copy, &x, &z, NULL);
}

/* The orchestration writes what the next task reads by its pointer, and has not waited for the last one. */
static int staging_by_pointer(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  int32_t *staging = pto_program_find(run, "x")->data;
  int status = PTO_OK;
  for (int32_t i = 0; i < 3 && !status; i++) {
    staging[0] = i;
    status = submit_copy(rt, &copy, &x, i ? &z : &y, NULL);
  }
  return status;
}

/* Each run finds w as the one before has left it. */
static int stepping_an_input(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor w = array_of(rt, run, "w"), y = array_of(rt, run, "y");
  const struct pto_launch launch = {.aiv0 = &step};
  const int status = pto_submit(rt, &launch, (struct pto_param[]){pto_inout(&w)}, 1, NULL);
  return status ? status : submit_copy(rt, &copy, &w, &y, NULL);
}

static int with_memory_of_its_own(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor y = array_of(rt, run, "y");
  return pto_submit_aiv(rt, &counting, (struct pto_param[]){pto_inout(&y)}, 1);
}

static int in_blocks(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor y = array_of(rt, run, "y");
  const struct pto_launch launch = {.aiv0 = &step, .block_count = 3};
  return pto_submit(rt, &launch, (struct pto_param[]){pto_inout(&y)}, 1, NULL);
}

/* The orchestration looks at memory that a task writes, without waiting for it. */
static int peeking(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  int status = submit_fill(rt, &fill, &x, 5, NULL);
  if (status == PTO_OK) status = submit_fill(rt, &fill, &z, 6, NULL);
  const int32_t seen = *(const int32_t *)pto_program_find(run, "x")->data;
  return status ? status : submit_fill(rt, &fill, &y, seen, NULL);
}

/* Reads and writes of one cell by the host between tasks, which wait as they have to. */
static int with_host(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  const uint64_t first[] = {0};
  int32_t seen = 0;
  int status = submit_fill(rt, &fill, &x, 5, NULL);
  if (status == PTO_OK) status = submit_copy(rt, &copy, &x, &y, NULL);
  if (status == PTO_OK) status = pto_read_element(rt, &x, first, &seen);
  seen++;
  if (status == PTO_OK) status = pto_write_element(rt, &x, first, &seen);
  return status ? status : submit_copy(rt, &copy, &x, &z, NULL);
}

/* Ten tasks, of which two have no order under the rules pto: a read of x, and later a write of it. */
static int write_after_read(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  int status = PTO_OK;
  for (int i = 0; i < 4 && status == PTO_OK; i++)
    status = pto_submit_aiv(rt, &step, (struct pto_param[]){pto_inout(&z)}, 1);
  if (status == PTO_OK) status = submit_copy(rt, &copy, &x, &y, NULL);
  for (int i = 0; i < 4 && status == PTO_OK; i++)
    status = pto_submit_aiv(rt, &step, (struct pto_param[]){pto_inout(&z)}, 1);
  return status ? status : submit_fill(rt, &fill, &x, 9, NULL);
}

/* Three times a fill and an add of what it filled, with the edge between these two, but none from add to add. */
static int adding(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor y = array_of(rt, run, "y");
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  for (int i = 0; i < 3 && status == PTO_OK; i++) {
    const struct pto_tensor fresh =
        pto_managed_tensor(rt, pto_create_buffer(rt, CELLS * sizeof(int32_t)), PTO_INT32, 1, shape);
    struct pto_task filled;
    const struct pto_launch launch = {.aiv0 = &add, .after = &filled, .after_count = 1};
    status = submit_fill(rt, &fill, &fresh, i, &filled);
    if (status == PTO_OK)
      status = pto_submit(rt, &launch, (struct pto_param[]){pto_input(&fresh), pto_inout(&y)}, 2, NULL);
  }
  return status ? status : pto_scope_end(rt);
}

static int tiring_soon(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor y = array_of(rt, run, "y");
  return pto_submit_aiv(rt, &tiring, (struct pto_param[]){pto_inout(&y)}, 1);
}

/* The orchestration submits a task more where it sees what a task wrote, without waiting for it. */
static int submitting_as_it_sees(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  int status = submit_fill(rt, &fill, &x, 5, NULL);
  if (status == PTO_OK) status = submit_fill(rt, &fill, &z, 6, NULL);
  if (status == PTO_OK && *(const int32_t *)pto_program_find(run, "x")->data == 5)
    status = submit_fill(rt, &fill, &y, 7, NULL);
  return status;
}

/* The third task runs where the first has written its element. */
/* Two cores that race, and a task that has nothing to do with them. */
static int racing_cores(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  const struct pto_launch launch = {.aiv0 = &early_signal, .aiv1 = &waiting_copy};
  const int status = pto_submit(rt, &launch, (struct pto_param[]){pto_inout(&x), pto_output(&y)}, 2, NULL);
  return status ? status : submit_fill(rt, &fill, &z, 6, NULL);
}

static int predicated(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  const struct pto_tensor element = pto_tensor_slice(&x, 0, 0, 1, 1);
  const struct pto_launch launch = {.aiv0 = &fill, .predicate = {&element, PTO_IF_EQ, 5}};
  int status = submit_fill(rt, &fill, &x, 5, NULL);
  if (status == PTO_OK) status = submit_fill(rt, &fill, &z, 6, NULL);
  return status ? status : pto_submit(rt, &launch, (struct pto_param[]){pto_output(&y), pto_scalar_i64(7)}, 2, NULL);
}

/* The host's element is written in a manual scope, which orders nothing under pto. */
static int submitting_by_element(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor x = array_of(rt, run, "x"), y = array_of(rt, run, "y"), z = array_of(rt, run, "z");
  const uint64_t first = 0;
  int32_t seen = 0;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  if (status == PTO_OK) status = submit_fill(rt, &fill, &x, 5, NULL);
  if (status == PTO_OK) status = pto_scope_end(rt);
  if (status == PTO_OK) status = submit_fill(rt, &fill, &z, 6, NULL);
  if (status == PTO_OK) status = pto_read_element(rt, &x, &first, &seen);
  return status == PTO_OK && seen == 5 ? submit_fill(rt, &fill, &y, 7, NULL) : status;
}

/* A dozen tasks over x, y and z in a manual scope, with some of the edges that they need. */
#define RANDOM_TASKS 12u
static uint64_t random_seed;
static int at_random(struct pto_runtime *rt, struct pto_program_run *run) {
  static const char *const names[] = {"x", "y", "z"};
  struct pto_rng rng = {random_seed};
  struct pto_task tasks[RANDOM_TASKS];
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  for (uint32_t i = 0; i < RANDOM_TASKS && status == PTO_OK; i++) {
    const uint64_t from = pto_rng_below(&rng, 3), to = (from + 1 + pto_rng_below(&rng, 2)) % 3;
    const struct pto_tensor a = array_of(rt, run, names[from]), b = array_of(rt, run, names[to]);
    struct pto_task after[3];
    struct pto_launch launch = {.aiv0 = pto_rng_below(&rng, 2) ? &add : &copy, .after = after};
    for (uint32_t k = 0; i && k < 3; k++)
      if (pto_rng_below(&rng, 4)) after[launch.after_count++] = tasks[i - 1 - pto_rng_below(&rng, i < 4 ? i : 4)];
    const struct pto_param b_param = launch.aiv0 == &add ? pto_inout(&b) : pto_output(&b);
    status = pto_submit(rt, &launch, (struct pto_param[]){pto_input(&a), b_param}, 2, &tasks[i]);
  }
  return status ? status : pto_scope_end(rt);
}

/* The reference and its twin end well, and the first schedule does not. */
static int without_memory(struct pto_runtime *rt, struct pto_program_run *run) {
  const int status = write_after_read(rt, run);
  return status == PTO_OK && calls_so_far++ == 2 ? PTO_ENOMEM : status;
}
static int without_files(struct pto_runtime *rt, struct pto_program_run *run) {
  const int status = without_memory(rt, run);
  return status == PTO_ENOMEM ? pto_program_fail_as(run, PTO_ESYSTEM, "no file") : status;
}

static int prepare(struct pto_program_run *run) {
  static const char *const names[] = {"x", "y", "z"};
  for (int i = 0; i < 3; i++)
    pto_array_fill(pto_program_array(run, names[i], PTO_ARRAY_INOUT, PTO_INT32, 1, shape), i + 1);
  pto_array_fill(pto_program_array(run, "w", PTO_ARRAY_INPUT, PTO_INT32, 1, shape), 4);
  return PTO_OK;
}

/* ---- exploring one ---- */

struct explored {
  struct pto_program program;
  struct pto_program_run *run;
  struct pto_runtime *rt;
  struct pto_findings findings;
  struct pto_explore explore;
  struct pto_error error;
  int status; /* of the reference */
};

static void open_program(struct explored *e, int (*orchestrate)(struct pto_runtime *, struct pto_program_run *),
                         uint32_t deps) {
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "explore",
                                    .deps = deps,
                                    .window = 64,
                                    .poison = true,
                                    .record = PTO_RECORD_GRAPH};
  memset(e, 0, sizeof *e);
  e->program =
      (struct pto_program){.abi = PTO_PROGRAM_ABI, .name = "test", .prepare = prepare, .orchestrate = orchestrate};
  pto_findings_init(&e->findings);
  assert_int_equal(pto_program_run_create(&e->program, NULL, &e->run, &e->error), PTO_OK);
  assert_int_equal(pto_program_run_prepare(e->run), PTO_OK);
  assert_int_equal(pto_runtime_create(&config, &e->rt), PTO_OK);
  e->explore = (struct pto_explore){.run = e->run, .rt = e->rt, .findings = &e->findings};
  e->status = pto_explore_init(&e->explore, &e->error);
}

static void close_program(struct explored *e) {
  pto_explore_fini(&e->explore);
  pto_runtime_destroy(e->rt);
  pto_program_run_destroy(e->run);
  pto_findings_fini(&e->findings);
}

static void explore_some(struct explored *e, int (*orchestrate)(struct pto_runtime *, struct pto_program_run *),
                         uint32_t deps) {
  open_program(e, orchestrate, deps);
  assert_int_equal(e->status, PTO_OK);
  assert_int_equal(pto_explore_schedules(&e->explore, 50, 0, &e->error), PTO_OK);
}

static void assert_says(const struct explored *e, uint32_t kind, const char *part) {
  for (uint32_t i = 0; i < e->findings.count; i++)
    if (e->findings.items[i].kind == kind && strstr(e->findings.items[i].sentence, part)) return;
  fail_msg("nothing of kind %s says \"%s\"; the first of %zu: %s", pto_finding_kind_name(kind), part, e->findings.count,
           e->findings.count ? e->findings.items[0].sentence : "");
}

/* ---- the tests ---- */

static void test_a_missing_edge_is_one_hold_between_the_two_tasks(void **state) {
  struct explored e;
  explore_some(&e, missing_edge, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER, "output y[0]: -1 instead of 5");
  assert_says(&e, PTO_FINDING_ORDER, "task 1 (copy) ran before task 0 (fill); submitted at ");
  assert_says(&e, PTO_FINDING_ORDER, "; no edge between them; both touch buffer");
  assert_says(&e, PTO_FINDING_ORDER, "(param 0 reads, param 0 writes); add `after` task 0 to task 1");
  assert_int_equal(e.explore.differences[0].holds.count, 1);
  assert_int_equal(e.findings.items[0].tasks[0], 0);
  assert_int_equal(e.findings.items[0].tasks[1], 1);
  close_program(&e);
}

static void test_what_has_its_edges_is_not_accused(void **state) {
  int (*const clean[])(struct pto_runtime *, struct pto_program_run *) = {with_edge, with_host, write_after_read};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(clean); i++) {
    struct explored e;
    explore_some(&e, clean[i], PTO_DEPS_EXACT);
    assert_true(pto_findings_is_clean(&e.findings));
    assert_int_equal(e.explore.counts.schedules, 50);
    assert_int_equal(pto_explore_all(&e.explore, 10000, &e.error), PTO_OK);
    assert_true(e.explore.counts.is_complete);
    assert_true(pto_findings_is_clean(&e.findings));
    close_program(&e);
  }
}

static void test_a_run_that_fails_in_one_order_alone_is_a_difference(void **state) {
  struct explored e;
  explore_some(&e, failing_early, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER, "the run ended with PTO_EKERNEL");
  assert_says(&e, PTO_FINDING_ORDER, "-1 is negative");
  assert_says(&e, PTO_FINDING_ORDER, "task 1 (careful) ran before task 0 (fill)");
  close_program(&e);
}

static void test_a_kernel_that_writes_what_it_does_not_declare_is_told_so(void **state) {
  struct explored e;
  explore_some(&e, undeclared, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER, "task 1 (sloppy) ran before task 0 (copy)");
  assert_says(&e, PTO_FINDING_ORDER, "neither declares to write a byte that the other declares");
  assert_says(&e, PTO_FINDING_ORDER, "(`ptosim check --observe` tells whether one does), or the orchestration");
  close_program(&e);
}

static void test_an_orchestration_that_writes_by_pointer_is_told_before_kernels(void **state) {
  struct explored e;
  explore_some(&e, staging_by_pointer, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER,
              "task 0 (copy) ran after task 1 was submitted, and that alone makes the difference: calls came in the "
              "order of the sequential run. So the orchestration changes, frees or reads memory by itself");
  close_program(&e);
}

static void test_a_kernel_that_remembers_is_unstable(void **state) {
  struct explored e;
  open_program(&e, with_memory_of_its_own, PTO_DEPS_EXACT);
  assert_int_equal(e.status, PTO_OK);
  assert_says(&e, PTO_FINDING_UNSTABLE, "two sequential runs in the same order differ: output y[0]: ");
  assert_says(&e, PTO_FINDING_UNSTABLE, "; a kernel or the orchestration keeps state from one run to the next");
  close_program(&e);
}

static void test_an_input_that_is_written_is_named(void **state) {
  struct explored e;
  open_program(&e, stepping_an_input, PTO_DEPS_EXACT);
  assert_int_equal(e.status, PTO_OK);
  assert_says(&e, PTO_FINDING_UNSTABLE, "; array w, an input, is written, and inputs are not put back between runs");
  close_program(&e);
}

static void test_an_order_that_does_not_repeat_itself_is_unstable(void **state) {
  struct explored e;
  explore_some(&e, fickle_early, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_UNSTABLE, "gave another result when it was made again: output y[0]: ");
  assert_int_equal(e.findings.by_kind[PTO_FINDING_ORDER], 0);
  close_program(&e);
}

/* Delaying the reader brings the write of the host before it, and the task behind that as well. */
static void test_the_host_is_told_even_where_a_task_came_between(void **state) {
  struct explored e;
  const struct pto_schedule_name delay = {PTO_STRATEGY_DELAY, 1};
  open_program(&e, with_host, PTO_DEPS_PTO | PTO_DEPS_SWITCH_HOST_WAITS_FOR_READERS);
  assert_int_equal(pto_explore_replay(&e.explore, &delay, NULL, &e.error), PTO_OK);
  assert_says(&e, PTO_FINDING_ORDER, "task 1 (copy) ran after host access 1 of the orchestration");
  close_program(&e);
}

static void test_blocks_whose_order_matters_are_told_as_blocks(void **state) {
  struct explored e;
  explore_some(&e, in_blocks, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER, "of task 0 (step); blocks of a task have no order");
  close_program(&e);
}

/* What AIV0 does behind its signal is held until both tasks are submitted; or until AIV1 has copied, beside a hold of
 * the orchestration that comes first in the list. */
static void test_cores_that_race_are_told_though_the_orchestration_went_on(void **state) {
  const struct pto_explore_event signalled = {.role = PTO_ROLE_AIV0, .piece = 2, .kind = PTO_EXPLORE_CALL};
  const struct pto_explore_event copied = {.role = PTO_ROLE_AIV1, .piece = 1, .kind = PTO_EXPLORE_CALL};
  const struct pto_explore_event began = {.role = PTO_ROLE_AIV0, .kind = PTO_EXPLORE_CALL};
  struct pto_explore_hold items[] = {
      {.event = began, .until = {.kind = PTO_EXPLORE_GO_ON}, .position = pto_explore_position(1, 0)},
      {.event = signalled, .until = copied}};
  struct pto_explore_hold alone = {
      .event = signalled, .until = {.kind = PTO_EXPLORE_GO_ON}, .position = pto_explore_position(2, 0)};
  const struct pto_explore_holds both = {.items = items, .count = 2, .capacity = 2};
  const struct pto_explore_holds one = {.items = &alone, .count = 1, .capacity = 1};
  struct explored e;
  open_program(&e, racing_cores, PTO_DEPS_EXACT);
  assert_int_equal(pto_explore_replay(&e.explore, NULL, &both, &e.error), PTO_OK);
  assert_says(&e, PTO_FINDING_ORDER, "piece 1 of AIV1 of block 0 ran before piece 2 of AIV0 of block 0 of task 0");
  close_program(&e);
  open_program(&e, racing_cores, PTO_DEPS_EXACT);
  assert_int_equal(pto_explore_replay(&e.explore, NULL, &one, &e.error), PTO_OK);
  assert_says(
      &e, PTO_FINDING_ORDER,
      "piece 2 of AIV0 of block 0 of task 0 (early signal+waiting copy) ran after piece 1 of AIV1 of block 0; ");
  close_program(&e);
}

static void test_an_orchestration_that_does_not_wait_is_told_so(void **state) {
  struct explored e;
  explore_some(&e, peeking, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER,
              "task 0 (fill) ran after task 2 was submitted, and that alone makes the difference");
  close_program(&e);
}

static void test_a_write_of_the_host_that_does_not_wait_for_readers_is_told_so(void **state) {
  struct explored e;
  explore_some(&e, with_host, PTO_DEPS_PTO | PTO_DEPS_SWITCH_HOST_WAITS_FOR_READERS);
  assert_says(&e, PTO_FINDING_ORDER, "task 1 (copy) ran after host access 1 of the orchestration");
  close_program(&e);
}

static void test_a_difference_is_shrunk_to_the_two_tasks_however_far_apart(void **state) {
  struct explored e;
  explore_some(&e, write_after_read, PTO_DEPS_PTO);
  assert_says(&e, PTO_FINDING_ORDER, "task 9 (fill) ran before task 4 (copy)");
  assert_int_equal(e.explore.differences[0].holds.count, 1);
  const struct pto_explore_hold *hold = &e.explore.differences[0].holds.items[0];
  assert_int_equal(hold->event.task, 4);
  assert_int_equal(hold->until.task, 9);
  close_program(&e);
}

/* Two orders: of a chain of eight and two more tasks only the read and the write have none. */
static void test_all_orders_of_one_race_are_two(void **state) {
  struct explored e;
  open_program(&e, write_after_read, PTO_DEPS_PTO);
  assert_int_equal(pto_explore_all(&e.explore, 1000, &e.error), PTO_OK);
  assert_true(e.explore.counts.is_complete);
  assert_int_equal(e.explore.counts.orders, 2);
  assert_int_equal(e.explore.counts.differing, 1);
  assert_says(&e, PTO_FINDING_ORDER, "task 9 (fill) ran before task 4 (copy)");
  close_program(&e);
}

static void test_the_limit_of_all_is_kept_and_said(void **state) {
  struct explored e;
  open_program(&e, in_blocks, PTO_DEPS_EXACT);
  assert_int_equal(pto_explore_all(&e.explore, 2, &e.error), PTO_OK);
  assert_false(e.explore.counts.is_complete);
  assert_int_equal(e.explore.counts.orders, 2);
  assert_true(e.explore.counts.at_least > 2);
  close_program(&e);
}

static void test_a_schedule_is_made_again_by_its_name_and_by_its_holds(void **state) {
  struct explored e;
  struct pto_schedule_name name;
  struct pto_explore_holds holds = {0};
  assert_true(pto_schedule_name_parse("delay:4", &name));
  open_program(&e, write_after_read, PTO_DEPS_PTO);
  assert_int_equal(pto_explore_replay(&e.explore, &name, NULL, &e.error), PTO_OK);
  assert_int_equal(e.findings.total, 1);
  assert_true(pto_explore_holds_copy(&e.explore.differences[0].holds, &holds));
  close_program(&e);
  open_program(&e, write_after_read, PTO_DEPS_PTO);
  assert_int_equal(pto_explore_replay(&e.explore, NULL, &holds, &e.error), PTO_OK);
  assert_says(&e, PTO_FINDING_ORDER, "schedule file: ");
  close_program(&e);
  pto_explore_holds_fini(&holds);
}

static void test_threads_with_delays_are_held_against_the_same_reference(void **state) {
  struct explored e;
  const struct pto_config config = {.size = sizeof config, .engine = "delayed threads", .workers = 3, .poison = true};
  struct pto_runtime *threads;
  assert_int_equal(pto_runtime_create(&config, &threads), PTO_OK);
  open_program(&e, with_host, PTO_DEPS_EXACT);
  assert_int_equal(pto_explore_threads(&e.explore, threads, 30, 0, &e.error), PTO_OK);
  assert_int_equal(e.explore.counts.thread_runs, 30);
  assert_true(pto_findings_is_clean(&e.findings));
  close_program(&e);
  pto_runtime_destroy(threads);
}

/* What is told happened: the two have no path in the graph, and declare a byte in common. */
static uint32_t assert_pairs_have_no_path(const struct explored *e) {
  uint32_t pairs = 0;
  for (uint32_t i = 0; i < e->findings.count; i++) {
    const struct pto_finding *finding = &e->findings.items[i];
    const struct pto_explore_touch *a, *b;
    assert_int_equal(finding->kind, PTO_FINDING_ORDER);
    assert_true(finding->tasks[0] < finding->tasks[1] && finding->tasks[1] < e->explore.graph.task_count);
    if (pto_explore_graph_is_before(&e->explore.graph, finding->tasks[0], finding->tasks[1]))
      fail_msg("there is a path between the two: %s", finding->sentence);
    assert_true(pto_explore_graph_shares_bytes(&e->explore.graph, finding->tasks[0], finding->tasks[1], &a, &b));
    assert_non_null(finding->remedy);
    pairs++;
  }
  return pairs;
}

/* "output …: A instead of B", which stands between the schedule's name and how it was shrunk. */
static void take_result(const struct pto_finding *finding, char *text, size_t size) {
  const char *begin = strstr(finding->sentence, ": "), *end = strstr(finding->sentence, "; shrunk");
  assert_true(begin && end && begin < end);
  snprintf(text, size, "%.*s", (int)(end - begin), begin);
}

/* Its holds, in a session of their own as --replay has one, give what was told of it, and stay as they are. */
static void assert_made_again(const struct explored *e, uint32_t which,
                              int (*orchestrate)(struct pto_runtime *, struct pto_program_run *)) {
  struct explored again;
  char told[512], now[512];
  const struct pto_explore_holds *holds = &e->explore.differences[which].holds;
  open_program(&again, orchestrate, PTO_DEPS_EXACT);
  assert_int_equal(pto_explore_replay(&again.explore, NULL, holds, &again.error), PTO_OK);
  assert_int_equal(again.findings.count, 1);
  take_result(&e->findings.items[which], told, sizeof told);
  take_result(&again.findings.items[0], now, sizeof now);
  assert_string_equal(now, told);
  assert_int_equal(again.explore.differences[0].holds.count, holds->count);
  for (int i = 0; i < 2; i++) assert_int_equal(again.findings.items[0].tasks[i], e->findings.items[which].tasks[i]);
  close_program(&again);
}

static void test_of_tasks_in_a_row_the_two_without_an_edge_are_told(void **state) {
  struct explored e;
  explore_some(&e, adding, PTO_DEPS_EXACT);
  assert_true(assert_pairs_have_no_path(&e) > 0);
  for (uint32_t i = 0; i < e.findings.count; i++) {
    assert_int_equal(e.findings.items[i].tasks[0] % 2, 1);
    assert_int_equal(e.findings.items[i].tasks[1] % 2, 1);
    assert_made_again(&e, i, adding);
  }
  close_program(&e);
}

static void test_of_random_programs_pairs_without_a_path_are_told_and_made_again(void **state) {
  uint32_t pairs = 0;
  const uint64_t count = PTO_HAS_SANITIZER ? 20 : 60;
  for (random_seed = 1; random_seed <= count; random_seed++) {
    struct explored e;
    explore_some(&e, at_random, PTO_DEPS_EXACT);
    pairs += assert_pairs_have_no_path(&e);
    for (uint32_t i = 0; i < e.findings.count; i++) assert_made_again(&e, i, at_random);
    close_program(&e);
  }
  print_message("%u pairs\n", pairs);
  assert_true(pairs > count);
}

static void test_a_kernel_that_soon_gives_something_else_is_unstable_and_not_an_order(void **state) {
  for (int all = 0; all < 2; all++) {
    struct explored e;
    calls_so_far = 0;
    open_program(&e, tiring_soon, PTO_DEPS_EXACT);
    assert_int_equal(e.status, PTO_OK);
    assert_true(pto_findings_is_clean(&e.findings));
    assert_int_equal(
        all ? pto_explore_all(&e.explore, 10, &e.error) : pto_explore_schedules(&e.explore, 20, 0, &e.error), PTO_OK);
    if (!all) {
      assert_says(&e, PTO_FINDING_UNSTABLE, "the sequential order gave another result when it was made again");
      assert_int_equal(e.findings.count, 1);
    }
    assert_int_equal(e.findings.by_kind[PTO_FINDING_ORDER], 0);
    close_program(&e);
  }
}

static void test_an_orchestration_that_submits_by_what_it_sees_is_told_so(void **state) {
  struct explored e;
  explore_some(&e, submitting_as_it_sees, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER, "it made 2 calls instead of 3: the orchestration reads by itself");
  assert_null(strstr(e.findings.items[0].sentence, "a kernel touches"));
  close_program(&e);
}

/* Nor is one accused that uses no memory by itself. */
static void test_other_tasks_by_a_predicate_or_an_element_are_told_so(void **state) {
  struct explored e;
  explore_some(&e, predicated, PTO_DEPS_PTO);
  assert_says(&e, PTO_FINDING_ORDER, "it made 2 calls instead of 3: the same tasks were submitted, and a predicate");
  assert_null(strstr(e.findings.items[0].sentence, "orchestration"));
  close_program(&e);
  explore_some(&e, submitting_by_element, PTO_DEPS_PTO);
  assert_says(&e, PTO_FINDING_ORDER,
              "it made 2 calls instead of 3: the orchestration submits other tasks, by an element");
  close_program(&e);
}

static void test_two_tasks_that_read_one_input_are_not_said_to_declare_nothing_in_common(void **state) {
  struct explored e;
  explore_some(&e, undeclared_beside_an_input, PTO_DEPS_EXACT);
  assert_says(&e, PTO_FINDING_ORDER,
              "; no edge between them; neither declares to write a byte that the other declares");
  assert_null(strstr(e.findings.items[0].sentence, "no byte in common"));
  close_program(&e);
}

static void test_a_run_that_the_machine_has_not_enough_for_ends_it_and_is_no_difference(void **state) {
  static const struct {
    int (*orchestrate)(struct pto_runtime *, struct pto_program_run *);
    int status;
  } wants[] = {{without_memory, PTO_ENOMEM}, {without_files, PTO_ESYSTEM}};
  for (size_t i = 0; i < 4; i++) {
    struct explored e;
    calls_so_far = 0;
    open_program(&e, wants[i / 2].orchestrate, PTO_DEPS_EXACT);
    assert_int_equal(e.status, PTO_OK);
    assert_int_equal(i % 2 ? pto_explore_all(&e.explore, 10, &e.error)
                           : pto_explore_schedules(&e.explore, 10, 0, &e.error),
                     wants[i / 2].status);
    assert_int_equal(e.error.status, wants[i / 2].status);
    assert_true(e.error.sentence[0]);
    assert_int_equal(e.findings.total, 0);
    close_program(&e);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_other_tasks_by_a_predicate_or_an_element_are_told_so),
      cmocka_unit_test(test_two_tasks_that_read_one_input_are_not_said_to_declare_nothing_in_common),
      cmocka_unit_test(test_a_missing_edge_is_one_hold_between_the_two_tasks),
      cmocka_unit_test(test_what_has_its_edges_is_not_accused),
      cmocka_unit_test(test_a_run_that_fails_in_one_order_alone_is_a_difference),
      cmocka_unit_test(test_a_run_that_the_machine_has_not_enough_for_ends_it_and_is_no_difference),
      cmocka_unit_test(test_a_kernel_that_writes_what_it_does_not_declare_is_told_so),
      cmocka_unit_test(test_an_orchestration_that_writes_by_pointer_is_told_before_kernels),
      cmocka_unit_test(test_a_kernel_that_remembers_is_unstable),
      cmocka_unit_test(test_an_input_that_is_written_is_named),
      cmocka_unit_test(test_an_order_that_does_not_repeat_itself_is_unstable),
      cmocka_unit_test(test_the_host_is_told_even_where_a_task_came_between),
      cmocka_unit_test(test_blocks_whose_order_matters_are_told_as_blocks),
      cmocka_unit_test(test_cores_that_race_are_told_though_the_orchestration_went_on),
      cmocka_unit_test(test_an_orchestration_that_does_not_wait_is_told_so),
      cmocka_unit_test(test_a_write_of_the_host_that_does_not_wait_for_readers_is_told_so),
      cmocka_unit_test(test_of_tasks_in_a_row_the_two_without_an_edge_are_told),
      cmocka_unit_test(test_of_random_programs_pairs_without_a_path_are_told_and_made_again),
      cmocka_unit_test(test_a_kernel_that_soon_gives_something_else_is_unstable_and_not_an_order),
      cmocka_unit_test(test_an_orchestration_that_submits_by_what_it_sees_is_told_so),
      cmocka_unit_test(test_a_difference_is_shrunk_to_the_two_tasks_however_far_apart),
      cmocka_unit_test(test_all_orders_of_one_race_are_two),
      cmocka_unit_test(test_the_limit_of_all_is_kept_and_said),
      cmocka_unit_test(test_a_schedule_is_made_again_by_its_name_and_by_its_holds),
      cmocka_unit_test(test_threads_with_delays_are_held_against_the_same_reference),
  };
  return cmocka_run_group_tests_name("explore_orders", tests, NULL, NULL);
}
