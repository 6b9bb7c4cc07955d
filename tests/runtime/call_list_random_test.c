/* SPDX-License-Identifier: MIT */
/*
 * Random orchestrations whose submits are kept and submitted again, on both engines: the bytes are those of the plain
 * interpreter both times, also behind other tasks and on other memory; in virtual time the timeline is the same to the
 * picosecond, so nothing was submitted that the orchestration did not submit, nor in another order.
 * PTO_RANDOM_PROGRAMS sets how many programs, PTO_SEED the first seed.  A failing program is shrunk and printed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <runtime/control/runtime_state.h>
#include <runtime/trace/trace_digest.h>
#include <tests/support/random_program.h>

static struct random_program program;
static struct random_plan plan;
static struct random_result expected, actual;

static void draw_config(uint64_t seed, bool is_virtual, struct pto_config *config) {
  static const uint64_t windows[] = {16, 64, 512, 512, 4096};
  struct pto_rng rng = {seed ^ 0x10ae};
  *config = (struct pto_config){.size = sizeof *config,
                                .engine = is_virtual ? "virtual" : "threads",
                                .chip = pto_rng_below(&rng, 2) ? "tiny" : "a2a3",
                                .workers = 1 + (uint32_t)pto_rng_below(&rng, 3),
                                .policy = pto_rng_below(&rng, 2) ? "fifo" : "random:7",
                                .deps = is_virtual && pto_rng_below(&rng, 6) == 0 ? random_program_weak_rules(&rng)
                                                                                  : PTO_DEPS_EXACT,
                                .window = windows[pto_rng_below(&rng, PTO_ARRAY_LENGTH(windows))],
                                .heap_bytes = pto_rng_below(&rng, 3) ? 1 << 20 : 16384,
                                .poison = pto_rng_below(&rng, 2),
                                .record = is_virtual ? PTO_RECORD_TIMELINE : pto_rng_below(&rng, 2)};
}

/* Elements that the host touches cannot be kept; and external memory is one tensor each here, while the interpreter
 * takes every use of it for a registration of its own, with a version of its own. */
static void fit_to_given_tensors(void) {
  program.is_given = true;
  for (uint32_t i = 0; i < program.op_count; i++) {
    struct random_op *op = &program.ops[i];
    op->is_dropped |= op->kind == OP_READ || op->kind == OP_WRITE;
    for (uint32_t k = 0; k < op->param_count; k++)
      if (op->params[k].view.buffer < RANDOM_EXTERNALS) op->params[k].advances = false;
  }
}

static const char *wrong_outcome(const struct pto_config *config, uint32_t before) {
  if (actual.status) return actual.sentence;
  if (actual.tasks != expected.tasks + before) return "number of tasks";
  if (before == 0 && actual.edges != expected.edges) return "number of edges";
  if (config->deps != PTO_DEPS_EXACT) return NULL; /* may be wrong in its bytes, and that is the point of it */
  return memcmp(actual.externals, expected.externals, sizeof actual.externals) ? "bytes of external memory" : NULL;
}

/* What the record of the graph says of the tasks, where one is kept: also from where they were submitted. */
static uint64_t record_digest(struct pto_runtime *rt) {
  const struct pto_trace *trace = pto_runtime_trace(rt);
  uint64_t digest = 0;
  if (!pto_trace_has_graph(trace)) return 0;
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    digest = pto_mix64(digest + (uint64_t)(uintptr_t)task->call);
    for (int k = 0; k < 3; k++) digest = pto_mix64(digest + (uint64_t)(uintptr_t)task->kernels[k]);
    digest = pto_mix64(digest + task->kind + 16 * task->block_count + 1024 * (uint64_t)task->scope_serial);
    digest = pto_mix64(digest + task->param_count + 64 * task->edge_count);
  }
  return digest;
}

static const char *difference_of(struct random_kept *kept, struct pto_runtime *rt, const struct pto_config *config) {
  const bool is_timed = config->record & PTO_RECORD_TIMELINE;
  const uint64_t timeline = is_timed ? pto_trace_digest(pto_runtime_trace(rt)) : 0, record = record_digest(rt);
  const char *wrong = NULL;
  for (int round = 0; round < 2 && !wrong; round++) {
    random_kept_run(kept, rt, 0, &actual);
    wrong = wrong_outcome(config, 0);
    if (!wrong && is_timed && pto_trace_digest(pto_runtime_trace(rt)) != timeline) wrong = "timeline";
    if (!wrong && record_digest(rt) != record) wrong = "record of the graph";
  }
  if (wrong || config->window < 512) return wrong; /* what comes before takes slots */
  random_kept_run(kept, rt, 3, &actual);
  return wrong_outcome(config, 3);
}

/* What differs, or NULL.  Programs that do not fit their rings are left out. */
static const char *difference(const struct pto_config *config, bool *fitted) {
  struct pto_runtime *rt = NULL;
  random_program_interpret(&program, config->deps, (uint32_t)config->window, &plan, &expected);
  assert_int_equal(pto_runtime_create(config, &rt), PTO_OK);
  struct random_kept *kept = random_program_keep(&program, &plan, rt, &actual);
  *fitted = kept != NULL;
  const bool is_too_small = actual.status == PTO_ESCOPE || actual.status == PTO_EWINDOW || actual.status == PTO_EHEAP;
  const char *wrong = is_too_small ? NULL : wrong_outcome(config, 0);
  if (!wrong && !is_too_small && !kept) wrong = "it could not be kept";
  if (!wrong && kept) wrong = difference_of(kept, rt, config);
  if (kept) random_kept_destroy(kept);
  pto_runtime_destroy(rt);
  return wrong;
}

static bool still_fails(void *context) {
  bool fitted;
  return difference(context, &fitted) != NULL;
}

static void run_programs(bool is_virtual) {
  const struct random_seeds seeds = random_program_seeds(400, 10000);
  uint64_t fitted_count = 0, tasks = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
    struct pto_config config;
    bool fitted;
    draw_config(seed, is_virtual, &config);
    random_program_make(&program, seed);
    fit_to_given_tensors();
    const char *what = difference(&config, &fitted);
    fitted_count += fitted;
    tasks += expected.tasks;
    if (!what) continue;
    random_program_shrink(&program, still_fails, &config);
    what = difference(&config, &fitted);
    printf("seed %llu on %s: %s differs; shrunk to\n", (unsigned long long)seed, config.engine, what ? what : "?");
    random_program_print(&program);
    fail();
  }
  printf("seeds %llu to %llu: %llu programs were kept and submitted again, %llu tasks\n",
         (unsigned long long)seeds.first, (unsigned long long)(seeds.first + seeds.count - 1),
         (unsigned long long)fitted_count, (unsigned long long)tasks);
  assert_true(fitted_count > seeds.count / 2);
}

static void test_what_is_kept_on_threads_leaves_the_bytes_of_the_orchestration(void **state) { run_programs(false); }
static void test_what_is_kept_in_virtual_time_has_the_timeline_of_the_orchestration(void **state) {
  run_programs(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_kept_on_threads_leaves_the_bytes_of_the_orchestration),
      cmocka_unit_test(test_what_is_kept_in_virtual_time_has_the_timeline_of_the_orchestration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
