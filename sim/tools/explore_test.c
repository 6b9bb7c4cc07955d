/* SPDX-License-Identifier: MIT */
/* The explore engine under a runtime: what a chooser is offered, and what a run leaves. */
#include <sim/tools/explore.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <runtime/base/reserve.h>
#include <runtime/control/control.h>

#define TASKS 100u
static uint32_t ran[TASKS], ran_count;

static int note_run(const struct pto_kernel_args *args) {
  ran[ran_count++] = (uint32_t)args->scalars[0].u64;
  return 0;
}
/* Leaves a mark in local memory, and says whether it found one. */
static bool was_found;
static int mark_run(const struct pto_kernel_args *args) {
  uint8_t *local = args->core->local.addr;
  was_found |= local[args->core->local.size_bytes - 1] == 42;
  local[args->core->local.size_bytes - 1] = 42;
  return note_run(args);
}
static int fail_run(const struct pto_kernel_args *args) {
  return args->scalars[0].u64 == 7 ? pto_kernel_error(args, "seven") : note_run(args);
}
static const struct pto_kernel_param params[] = {{.mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel note = {"note", PTO_AIV, 0, params, 1, note_run, NULL, NULL, NULL};
static const struct pto_kernel mark = {"mark", PTO_AIV, 0, params, 1, mark_run, NULL, NULL, NULL};
static const struct pto_kernel failing = {"failing", PTO_AIV, 0, params, 1, fail_run, NULL, NULL, NULL};

static int submit_all(struct pto_runtime *rt, const struct pto_kernel *kernel) {
  int status = PTO_OK;
  for (uint64_t i = 0; i < TASKS && status == PTO_OK; i++)
    status = pto_submit_aiv(rt, kernel, (struct pto_param[]){pto_scalar_u64(i)}, 1);
  return status;
}
static int many(struct pto_runtime *rt, void *context) { return submit_all(rt, &note); }
static int many_marks(struct pto_runtime *rt, void *context) { return submit_all(rt, &mark); }
static int many_failing(struct pto_runtime *rt, void *context) { return submit_all(rt, &failing); }

/* Every second task comes after the one before it, so that it is ready when later ones have been for long. */
static int many_in_pairs(struct pto_runtime *rt, void *context) {
  struct pto_task before = {0};
  int status = PTO_OK;
  for (uint64_t i = 0; i < TASKS && status == PTO_OK; i++) {
    const struct pto_launch launch = {.aiv0 = &note, .after = &before, .after_count = i % 2};
    status = pto_submit(rt, &launch, (struct pto_param[]){pto_scalar_u64(i)}, 1, &before);
  }
  return status;
}

/* ---- a chooser that looks ---- */

struct watcher {
  struct pto_rng rng; /* state 0: the orchestration where it can go on, else the first */
  uint32_t most_offered;
  uint64_t last_position;
};

static uint32_t watch(void *context, const struct pto_explore_event *candidates, uint32_t count, uint64_t position) {
  struct watcher *w = context;
  for (uint32_t i = 1; i < count; i++) assert_true(pto_explore_event_compare(&candidates[i - 1], &candidates[i]) < 0);
  for (uint32_t i = 0; i + 1 < count; i++) assert_int_equal(candidates[i].kind, PTO_EXPLORE_CALL);
  assert_true(position >= w->last_position);
  w->last_position = position;
  if (count > w->most_offered) w->most_offered = count;
  if (w->rng.state) return (uint32_t)pto_rng_below(&w->rng, count);
  return candidates[count - 1].kind == PTO_EXPLORE_GO_ON ? count - 1 : 0;
}

static struct pto_explore_log made;

static struct pto_runtime *open_runtime(void) {
  const struct pto_config config = {.size = sizeof config, .engine = "explore", .chip = "tiny", .window = 256};
  struct pto_runtime *rt;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  pto_explore_log_begin(&made, NULL);
  assert_true(pto_engine_explore_set_log(pto_runtime_port(rt), &made));
  return rt;
}

static void run_under(struct pto_runtime *rt, struct watcher *w, int (*orchestration)(struct pto_runtime *, void *)) {
  const struct pto_explore_chooser chooser = {watch, w};
  pto_explore_log_begin(&made, w ? &chooser : NULL);
  ran_count = 0;
  if (w) w->last_position = 0;
  assert_int_equal(pto_run(rt, orchestration, NULL), PTO_OK);
  assert_int_equal(ran_count, TASKS);
}

/* ---- the tests ---- */

static void test_every_ready_task_is_offered_at_once_whatever_the_chip(void **state) {
  struct pto_runtime *rt = open_runtime();
  struct watcher ahead = {{0}, 0, 0};
  run_under(rt, &ahead, many);
  assert_int_equal(ahead.most_offered, TASKS + 1);
  for (uint32_t i = 0; i < TASKS; i++) assert_int_equal(ran[i], i);
  assert_int_equal(pto_explore_submits(made.position), TASKS);
  assert_int_equal(pto_explore_accesses(made.position), 0);
  pto_runtime_destroy(rt);
}

static void test_what_becomes_ready_late_stands_in_its_natural_place(void **state) {
  struct pto_runtime *rt = open_runtime();
  struct watcher ahead = {{0}, 0, 0};
  run_under(rt, &ahead, many_in_pairs);
  assert_int_equal(ahead.most_offered, TASKS / 2 + 1);
  for (uint32_t i = 0; i < TASKS; i++) assert_int_equal(ran[i], i);
  for (uint64_t seed = 1; seed < 20; seed++) {
    struct watcher random = {{seed}, 0, 0};
    run_under(rt, &random, many_in_pairs);
  }
  pto_runtime_destroy(rt);
}

static void test_without_a_chooser_each_task_runs_before_the_next_is_submitted(void **state) {
  struct pto_runtime *rt = open_runtime();
  uint64_t count, call = 0;
  run_under(rt, NULL, many);
  const struct pto_explore_step *steps = made.steps;
  count = made.step_count;
  for (uint64_t i = 0; i < count; i++) {
    if (steps[i].event.kind != PTO_EXPLORE_CALL) continue;
    assert_int_equal(steps[i].event.task, call++);
    assert_int_equal(pto_explore_submits(steps[i].position), call);
  }
  assert_int_equal(call, TASKS);
  pto_runtime_destroy(rt);
}

static void test_the_same_choices_give_the_same_steps(void **state) {
  static struct pto_explore_step first[4 * TASKS];
  struct pto_runtime *rt = open_runtime();
  uint64_t first_count = 0, differing = 0;
  for (uint64_t seed = 1; seed <= 10; seed++)
    for (int round = 0; round < 2; round++) {
      struct watcher random = {{seed}, 0, 0};
      uint64_t count;
      run_under(rt, &random, many);
      const struct pto_explore_step *steps = made.steps;
      count = made.step_count;
      assert_true(count <= 4 * TASKS);
      const bool is_same = count == first_count && memcmp(steps, first, count * sizeof *steps) == 0;
      if (round) assert_true(is_same);
      differing += !round && !is_same;
      first_count = count;
      memcpy(first, steps, count * sizeof *steps);
    }
  assert_int_equal(differing, 10);
  pto_runtime_destroy(rt);
}

static int ask_for_cores(struct pto_runtime *rt, void *context) {
  const struct pto_launch too_many = {.aiv0 = &note, .block_count = 3, .sync_start = true};
  assert_int_equal(pto_core_count(rt, PTO_AIC), 1);
  assert_int_equal(pto_core_count(rt, PTO_AIV), 2);
  assert_int_equal(pto_submit(rt, &too_many, (struct pto_param[]){pto_scalar_u64(0)}, 1, NULL), PTO_EFIT);
  assert_non_null(strstr(pto_last_error(rt), "tiny has 1 cluster"));
  return PTO_OK;
}

static void test_programs_are_told_of_the_chips_own_cores(void **state) {
  struct pto_runtime *rt = open_runtime();
  assert_int_equal(pto_run(rt, ask_for_cores, NULL), PTO_OK);
  pto_runtime_destroy(rt);
}

static void test_local_memory_is_shared_by_kernels_that_do_not_wait(void **state) {
  struct pto_runtime *rt = open_runtime();
  struct watcher ahead = {{0}, 0, 0};
  was_found = false;
  run_under(rt, &ahead, many_marks); /* a hundred cores, and memory for two of them is resident */
  assert_true(was_found);
  pto_runtime_destroy(rt);
}

static void test_a_kernel_that_fails_ends_the_run_with_its_sentence_and_the_next_run_is_whole(void **state) {
  struct pto_runtime *rt = open_runtime();
  for (uint64_t seed = 0; seed < 20; seed++) {
    struct watcher random = {{seed}, 0, 0};
    const struct pto_explore_chooser chooser = {watch, &random};
    pto_explore_log_begin(&made, &chooser);
    ran_count = 0;
    assert_int_equal(pto_run(rt, many_failing, NULL), PTO_EKERNEL);
    assert_non_null(strstr(pto_last_error(rt), "task 7: kernel failing failed"));
    assert_non_null(strstr(pto_last_error(rt), "seven"));
    run_under(rt, &random, many);
  }
  pto_runtime_destroy(rt);
}

static uint8_t cell[64];
static int read_back(struct pto_runtime *rt, void *context) {
  const uint64_t shape[] = {64}, index[] = {0};
  const struct pto_tensor t = pto_external_tensor(rt, cell, PTO_UINT8, 1, shape);
  uint8_t value = 0;
  int status = submit_all(rt, &note);
  if (status == PTO_OK) status = pto_read_element(rt, &t, index, &value);
  return status ? status : pto_write_element(rt, &t, index, &value);
}

static void test_the_position_counts_submits_and_host_accesses(void **state) {
  struct pto_runtime *rt = open_runtime();
  run_under(rt, NULL, read_back);
  const uint64_t position = made.position;
  assert_int_equal(pto_explore_submits(position), TASKS);
  assert_int_equal(pto_explore_accesses(position), 2);
  pto_runtime_destroy(rt);
}

/* What it sees by itself of the task before it. */
static uint32_t seen[2];
static int look_behind(struct pto_runtime *rt, void *context) {
  const uint64_t shape[] = {64}, index[] = {0};
  const struct pto_tensor t = pto_external_tensor(rt, cell, PTO_UINT8, 1, shape);
  uint8_t value = 0;
  int status = submit_all(rt, &note);
  seen[0] = ran_count;
  if (status == PTO_OK) status = pto_read_element(rt, &t, index, &value);
  seen[1] = ran_count;
  return status;
}

static void test_kernels_run_before_what_the_orchestration_does_behind_a_submit_or_an_access(void **state) {
  struct pto_runtime *rt = open_runtime();
  run_under(rt, NULL, look_behind);
  assert_int_equal(seen[0], TASKS);
  struct watcher ahead = {{0}, 0, 0};
  run_under(rt, &ahead, look_behind);
  assert_int_equal(seen[0] + seen[1], 0);
  assert_int_equal(made.steps[TASKS].event.kind, PTO_EXPLORE_GO_ON); /* behind the read; what is left, at the end */
  assert_int_equal(made.steps[TASKS].position, pto_explore_position(TASKS, 1));
  assert_int_equal(made.steps[TASKS + 1].event.kind, PTO_EXPLORE_CALL);
  assert_int_equal(made.steps[TASKS + 1].position, pto_explore_position(TASKS, 1) | PTO_EXPLORE_WAITS);
  assert_int_equal(made.decisions, TASKS + 1 + TASKS);
  pto_runtime_destroy(rt);
}

static void test_runs_that_share_a_log_are_numbered_on_from_one_to_the_next(void **state) {
  struct pto_runtime *first = open_runtime(), *second = open_runtime();
  struct watcher random = {{7}, 0, 0};
  run_under(first, &random, read_back);
  const uint64_t steps = made.step_count, decisions = made.decisions;
  ran_count = 0;
  assert_int_equal(pto_run(second, many, NULL), PTO_OK); /* the watcher sees that positions go up */
  assert_int_equal(pto_explore_submits(made.position), 2 * TASKS);
  assert_int_equal(pto_explore_accesses(made.position), 2);
  assert_true(made.step_count > steps && made.decisions > decisions);
  for (uint64_t i = 0; i < made.step_count; i++)
    if (made.steps[i].event.kind == PTO_EXPLORE_CALL)
      assert_true(made.steps[i].event.task / TASKS == (i >= steps) && made.steps[i].event.task < 2 * TASKS);
  pto_runtime_destroy(second);
  pto_runtime_destroy(first);
}

static void test_without_a_log_calls_are_made_in_sequence_and_other_engines_take_none(void **state) {
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "tiny"};
  struct pto_runtime *rt = open_runtime(), *other;
  assert_true(pto_engine_explore_set_log(pto_runtime_port(rt), NULL));
  ran_count = 0;
  assert_int_equal(pto_run(rt, many, NULL), PTO_OK);
  for (uint32_t i = 0; i < TASKS; i++) assert_int_equal(ran[i], i);
  assert_int_equal(pto_runtime_create(&config, &other), PTO_OK);
  assert_false(pto_engine_explore_set_log(pto_runtime_port(other), &made));
  pto_runtime_destroy(other);
  pto_runtime_destroy(rt);
}

/* As after very many of them. */
static void test_steps_that_a_log_has_no_room_for_are_counted_and_made(void **state) {
  struct pto_runtime *rt = open_runtime();
  struct watcher w = {.rng = {5}};
  const struct pto_explore_chooser chooser = {watch, &w};
  pto_explore_log_begin(&made, &chooser);
  made.step_count = PTO_EXPLORE_MAX_STEPS - 2;
  ran_count = 0;
  assert_int_equal(pto_run(rt, many, NULL), PTO_OK);
  assert_int_equal(ran_count, TASKS);
  assert_int_equal(made.step_count, PTO_EXPLORE_MAX_STEPS);
  assert_true(made.decisions > 2);
  pto_runtime_destroy(rt);
}

static void test_a_log_without_memory_is_refused_and_a_poll_for_nothing_takes_nothing(void **state) {
  struct pto_explore_log log;
  struct pto_completion completion;
  pto_reserve_fail_countdown = 1;
  assert_false(pto_explore_log_init(&log));
  assert_true(pto_explore_log_init(&log));
  pto_explore_log_fini(&log);
  struct pto_runtime *rt = open_runtime();
  struct pto_port *port = pto_runtime_port(rt);
  assert_int_equal(port->ops->poll(port, &completion, 0), 0);
  pto_runtime_destroy(rt);
}

static int make_log(void **state) { return !pto_explore_log_init(&made); }
static int drop_log(void **state) {
  pto_explore_log_fini(&made);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_ready_task_is_offered_at_once_whatever_the_chip),
      cmocka_unit_test(test_what_becomes_ready_late_stands_in_its_natural_place),
      cmocka_unit_test(test_without_a_chooser_each_task_runs_before_the_next_is_submitted),
      cmocka_unit_test(test_the_same_choices_give_the_same_steps),
      cmocka_unit_test(test_programs_are_told_of_the_chips_own_cores),
      cmocka_unit_test(test_local_memory_is_shared_by_kernels_that_do_not_wait),
      cmocka_unit_test(test_a_kernel_that_fails_ends_the_run_with_its_sentence_and_the_next_run_is_whole),
      cmocka_unit_test(test_the_position_counts_submits_and_host_accesses),
      cmocka_unit_test(test_kernels_run_before_what_the_orchestration_does_behind_a_submit_or_an_access),
      cmocka_unit_test(test_runs_that_share_a_log_are_numbered_on_from_one_to_the_next),
      cmocka_unit_test(test_steps_that_a_log_has_no_room_for_are_counted_and_made),
      cmocka_unit_test(test_a_log_without_memory_is_refused_and_a_poll_for_nothing_takes_nothing),
      cmocka_unit_test(test_without_a_log_calls_are_made_in_sequence_and_other_engines_take_none),
  };
  return cmocka_run_group_tests_name("engine_explore", tests, make_log, drop_log);
}
