/* SPDX-License-Identifier: MIT */
/*
 * What a context remarks on where a tool asks for it: how often, and what the first of its kind says.  The tool's
 * words on planted programs are those of tests/device/context_findings_test.c.
 */
#include <device/context_watch.h>
#include <tests/support/context_fixture.h>

static struct pto_context_remark remarks[PTO_REMARK_COUNT];
static struct pto_context_hurry hurry;

static int take_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                        struct pto_error *error) {
  return PTO_OK;
}
static void take_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_end *end) {
  memcpy(remarks, end->remarks, sizeof remarks);
}
static const struct pto_context_watch watch = {take_created, take_destroyed, NULL, true, &hurry};

/* Callers are recorded, so that a remark has the place of what it is about. */
static void open_watched(const struct backend *backend) {
  struct pto_context_options options = options_of(backend);
  options.runtime.record = PTO_RECORD_GRAPH | PTO_RECORD_CALLERS;
  options.runtime.context_watch = &watch;
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
}

#define WATCHED_ON_EACH_BACKEND                                                                                        \
  for (const struct backend *backend = backends;                                                                       \
       backend < backends + PTO_ARRAY_LENGTH(backends) && (open_watched(backend), true); backend++)

static void says(enum pto_context_remark_kind kind, const char *part) {
  if (!strstr(remarks[kind].sentence, part)) fail_msg("\"%s\" does not say \"%s\"", remarks[kind].sentence, part);
}

/* ---- reads before there are values ---- */

static void test_of_many_tensors_that_are_read_too_early_the_first_is_told_and_all_are_counted(void **state) {
  WATCHED_ON_EACH_BACKEND {
    float seen[NUMEL];
    struct pto_device_tensor t[5];
    for (int i = 0; i < 5; i++) t[i] = host_tensor();
    for (int i = 0; i < 2; i++) dispatch1(&times_2, t[i], t[4]);
    for (int i = 0; i < 2; i++) write4(t[i], 1, 2, 3, 4);
    for (int i = 2; i < 4; i++) assert_int_equal(pto_device_tensor_read(context, t[i], seen, BYTES), PTO_OK);
    close_context();
    assert_int_equal(remarks[PTO_REMARK_READ_EARLY].count, 2);
    says(PTO_REMARK_READ_EARLY, "tensor 1 is the input of a dispatch before");
    assert_int_equal(remarks[PTO_REMARK_READ_BACK].count, 2);
    says(PTO_REMARK_READ_BACK, "the host reads tensor 3 before");
    assert_int_equal(remarks[PTO_REMARK_REPEATS].count, 0);
  }
}

/* A state that begins as zeros. */
static void test_what_a_dispatch_has_read_may_be_read_back_without_a_remark(void **state) {
  WATCHED_ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    dispatch1(&times_2, a, b);
    reads4(a, 0, 0, 0, 0);
    close_context();
    for (int kind = 0; kind < PTO_REMARK_COUNT; kind++) assert_int_equal(remarks[kind].count, 0);
  }
}

/* ---- programs that say that they repeat ---- */

/* What it submits is another thing from call to call. */
static struct varying {
  uint32_t tasks; /* that scale */
  bool has_wait;  /* a task without a kernel behind them */
  bool reads;     /* an element of its output, which cannot be repeated */
} varying;

static int submit_varying(struct pto_runtime *rt, const struct pto_bound *bound) {
  float seen;
  int status = PTO_OK;
  for (uint32_t i = 0; i < varying.tasks && !status; i++) {
    const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]), pto_scalar_f32(2)};
    status = pto_submit_aiv(rt, &scale, params, 3);
  }
  if (!status && varying.has_wait) {
    const struct pto_param param = pto_input(&bound->outputs[0]);
    status =
        pto_submit(rt, &(struct pto_launch){.size = sizeof(struct pto_launch), .no_kernel = true}, &param, 1, NULL);
  }
  if (!status && varying.reads) status = pto_read_element(rt, &bound->outputs[0], (const uint64_t[]){0, 0}, &seen);
  return status;
}

static struct pto_device_program repeating(const char *name) {
  struct pto_device_program program = times_2;
  program.name = name;
  program.orchestrate = submit_varying;
  program.context = &varying;
  program.repeats = 1;
  return program;
}

static void repeat(const struct pto_device_program *program, const struct pto_device_tensor t[2], struct varying as) {
  varying = as;
  dispatch1(program, t[0], t[1]);
  assert_int_equal(pto_context_sync(context), PTO_OK);
}

static void test_a_dispatch_that_would_submit_less_is_told_without_a_task(void **state) {
  const struct pto_device_program program = repeating("shrinking");
  WATCHED_ON_EACH_BACKEND {
    const struct pto_device_tensor t[2] = {host_tensor(), host_tensor()};
    write4(t[0], 1, 2, 3, 4);
    repeat(&program, t, (struct varying){2, false, false});
    repeat(&program, t, (struct varying){1, false, false});
    repeat(&program, t, (struct varying){3, false, false}); /* counted, not told */
    close_context();
    const struct pto_context_remark *remark = &remarks[PTO_REMARK_REPEATS];
    assert_int_equal(remark->count, 2);
    assert_true(remark->task == UINT64_MAX && !remark->calls[0][0] && remark->calls[1][0]);
    assert_string_equal(remark->kernel, "");
    says(PTO_REMARK_REPEATS,
         "dispatch 2 of the context, of \"shrinking\", would submit no more calls; what was kept of "
         "an earlier one has a submit of scale, and by");
  }
}

static void test_a_task_without_a_kernel_of_a_program_without_a_name_is_told_by_its_number(void **state) {
  const struct pto_device_program program = repeating(NULL);
  WATCHED_ON_EACH_BACKEND {
    const struct pto_device_tensor t[2] = {host_tensor(), host_tensor()};
    write4(t[0], 1, 2, 3, 4);
    repeat(&program, t, (struct varying){1, false, false});
    repeat(&program, t, (struct varying){1, true, false});
    close_context();
    const struct pto_context_remark *remark = &remarks[PTO_REMARK_REPEATS];
    assert_int_equal(remark->count, 1);
    assert_true(remark->task == 2 && remark->calls[0][0]);
    assert_string_equal(remark->kernel, "");
    says(PTO_REMARK_REPEATS, "of \"\", would submit task 1 of its own () with a submit of no kernel; what was kept of "
                             "an earlier one has no more calls");
  }
}

/* Then there is nothing to compare with what was kept. */
static void test_a_dispatch_that_comes_to_submit_what_cannot_be_kept_is_carried_out_without_a_remark(void **state) {
  const struct pto_device_program program = repeating("looking");
  WATCHED_ON_EACH_BACKEND {
    const struct pto_device_tensor t[2] = {host_tensor(), host_tensor()};
    write4(t[0], 1, 2, 3, 4);
    repeat(&program, t, (struct varying){1, false, false});
    repeat(&program, t, (struct varying){2, false, true});
    assert_int_equal(counters().tasks, 3);
    reads4(t[1], 2, 4, 6, 8);
    close_context();
    assert_int_equal(remarks[PTO_REMARK_REPEATS].count, 0);
  }
}

/* ---- dispatches that are carried out at once ---- */

static void test_a_hurried_dispatch_of_a_program_without_a_name_is_told_without_one(void **state) {
  struct pto_device_program program = times_2;
  program.name = NULL;
  WATCHED_ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor();
    write4(a, 1, 2, 3, 4);
    hurry = (struct pto_context_hurry){.left = 1, .program = "before"};
    dispatch1(&program, a, b);
    assert_int_equal(counters().tasks, 1); /* without a sync */
    assert_true(hurry.left == 0 && hurry.made == 1 && hurry.call);
    assert_string_equal(hurry.program, "");
    reads4(b, 2, 4, 6, 8);
    close_context();
  }
}

/* The queue is full when the dispatch is to be hurried, and fails when room is made for that. */
static void test_a_failure_that_a_hurried_dispatch_comes_upon_is_told_by_the_next_call(void **state) {
  open_watched(&backends[1]); /* which carries out nothing before it has to */
  struct pto_device_tensor a = host_tensor(), b = host_tensor();
  assert_int_equal(pto_context_sync(context), PTO_OK);
  dispatch1(&failing, a, b);
  for (uint32_t i = 2; i < 256; i++) write4(a, 1, 2, 3, 4);
  hurry = (struct pto_context_hurry){.left = 1};
  dispatch1(&times_2, a, b);
  assert_true(hurry.left == 0 && hurry.made == 1);
  refused(pto_context_sync(context), PTO_EKERNEL, "fail");
  assert_int_equal(pto_context_clear_error(context), PTO_OK);
  close_context();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_of_many_tensors_that_are_read_too_early_the_first_is_told_and_all_are_counted),
      cmocka_unit_test(test_what_a_dispatch_has_read_may_be_read_back_without_a_remark),
      cmocka_unit_test(test_a_dispatch_that_would_submit_less_is_told_without_a_task),
      cmocka_unit_test(test_a_task_without_a_kernel_of_a_program_without_a_name_is_told_by_its_number),
      cmocka_unit_test(test_a_dispatch_that_comes_to_submit_what_cannot_be_kept_is_carried_out_without_a_remark),
      cmocka_unit_test(test_a_hurried_dispatch_of_a_program_without_a_name_is_told_without_one),
      cmocka_unit_test(test_a_failure_that_a_hurried_dispatch_comes_upon_is_told_by_the_next_call),
  };
  return cmocka_run_group_tests_name("context_remarks", tests, NULL, NULL);
}
