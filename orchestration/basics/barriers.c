/* SPDX-License-Identifier: MIT */
/*
 * Barriers and explicit dependencies, in a manual scope where nothing else orders the tasks:
 *   chain       step → barrier → step → … → step, `n` barriers; every step computes x = 3·x + 1 in one cell
 *   fan_in      `n` writers → barrier → one task that sums what they wrote
 *   all_to_all  `n` writers, `n` readers that each name all writers: n² edges
 */
#include <orchestration/support/program.h>

#include <string.h>

#define MAX_N 4096

/* z[0] = value: a writer leaves its own number. */
static int set_run(const struct pto_kernel_args *a) {
  *(int32_t *)a->tensors[0].addr = (int32_t)a->scalars[0].i64;
  return 0;
}
/* x[0] = 3·x[0] + 1, modulo 2³² */
static int step_run(const struct pto_kernel_args *a) {
  uint32_t *x = a->tensors[0].addr;
  *x = 3u * *x + 1u;
  return 0;
}
/* z[0] = factor · Σ x[i] */
static int sum_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int64_t sum = 0;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) sum += x[i];
  *(int32_t *)a->tensors[1].addr = (int32_t)(sum * a->scalars[0].i64);
  return 0;
}

static const struct pto_kernel_param set_params[] = {TENSOR("z", PTO_OUTPUT, I32 | U32, 1),
                                                     SCALAR("value", PTO_SCALAR_I64)};
static const struct pto_kernel_param step_params[] = {TENSOR("x", PTO_INOUT, I32 | U32, 1)};
static const struct pto_kernel_param sum_params[] = {
    TENSOR("x", PTO_INPUT, I32 | U32, 1), TENSOR("z", PTO_OUTPUT, I32 | U32, 1), SCALAR("factor", PTO_SCALAR_I64)};
KERNEL(set, set_params, .name = "set", .cores = PTO_AIV, .run = set_run);
KERNEL(step, step_params, .name = "step", .cores = PTO_AIV, .run = step_run);
KERNEL(sum, sum_params, .name = "sum", .cores = PTO_AIV, .run = sum_run);

struct state {
  struct pto_tensor cells, results;
  uint32_t n;
  struct pto_task tasks[MAX_N];
};

/* ---- the patterns ---- */

static int submit_step(struct pto_runtime *rt, struct state *s, const struct pto_task *after, uint32_t after_count,
                       struct pto_task *task) {
  struct pto_tensor x = rows_of(&s->results, 0, 1);
  struct pto_launch launch = {.aiv0 = &step, .after = after, .after_count = after_count};
  return pto_submit(rt, &launch, PARAMS(pto_inout(&x)), task);
}

static int chain(struct pto_runtime *rt, struct state *s) {
  struct pto_task last, barrier;
  int status = submit_step(rt, s, NULL, 0, &last);
  for (uint32_t i = 0; i < s->n && status == PTO_OK; i++) {
    status = pto_submit_barrier(rt, &last, 1, &barrier);
    if (status == PTO_OK) status = submit_step(rt, s, &barrier, 1, &last);
  }
  return status;
}

static int writers(struct pto_runtime *rt, struct state *s) {
  int status = PTO_OK;
  for (uint32_t i = 0; i < s->n && status == PTO_OK; i++) {
    struct pto_tensor z = rows_of(&s->cells, i, 1);
    struct pto_launch launch = {.aiv0 = &set};
    status = pto_submit(rt, &launch, PARAMS(pto_output(&z), pto_scalar_i64(i + 1)), &s->tasks[i]);
  }
  return status;
}

static int submit_sum(struct pto_runtime *rt, struct state *s, uint32_t index, const struct pto_task *after,
                      uint32_t after_count) {
  struct pto_tensor z = rows_of(&s->results, index, 1);
  struct pto_launch launch = {.aiv0 = &sum, .after = after, .after_count = after_count};
  return pto_submit(rt, &launch, PARAMS(pto_input(&s->cells), pto_output(&z), pto_scalar_i64(index + 1)), NULL);
}

static int fan_in(struct pto_runtime *rt, struct state *s) {
  struct pto_task barrier;
  int status = writers(rt, s);
  if (status == PTO_OK) status = pto_submit_barrier(rt, s->tasks, s->n, &barrier);
  return status == PTO_OK ? submit_sum(rt, s, 0, &barrier, 1) : status;
}

static int all_to_all(struct pto_runtime *rt, struct state *s) {
  int status = writers(rt, s);
  for (uint32_t i = 0; i < s->n && status == PTO_OK; i++) status = submit_sum(rt, s, i, s->tasks, s->n);
  return status;
}

static const struct {
  const char *name;
  int (*submit)(struct pto_runtime *rt, struct state *s);
} patterns[] = {{"chain", chain}, {"fan_in", fan_in}, {"all_to_all", all_to_all}};
enum { CHAIN, FAN_IN, ALL_TO_ALL, PATTERNS };

static int pattern_of(struct pto_program_run *run) {
  const char *name = pto_option_text(run, "pattern");
  int i = 0;
  while (i < PATTERNS && strcmp(patterns[i].name, name) != 0) i++;
  return i;
}

/* ---- the program ---- */

static int prepare(struct pto_program_run *run) {
  int64_t n = pto_option_int(run, "n");
  int pattern = pattern_of(run);
  if (pattern == PATTERNS)
    return pto_program_fail(run, "pattern is \"%s\", not chain, fan_in or all_to_all", pto_option_text(run, "pattern"));
  if (n < 1 || n > MAX_N) return pto_program_fail(run, "n is %lld, not 1 to %d", (long long)n, MAX_N);
  pto_program_state(run, sizeof(struct state));
  return DECLARE_ARRAYS(run, SCRATCH("cells", PTO_INT32, (uint64_t)n),
                        OUTPUT("results", PTO_UINT32, pattern == ALL_TO_ALL ? (uint64_t)n : 1));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct state *s = pto_program_state(run, sizeof *s);
  s->n = (uint32_t)pto_option_int(run, "n");
  s->cells = tensor_of(rt, run, "cells");
  s->results = tensor_of(rt, run, "results");
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  if (status == PTO_OK) status = patterns[pattern_of(run)].submit(rt, s);
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int expect(struct pto_program_run *run) {
  struct pto_array *results = pto_program_find(run, "results");
  double *golden = pto_array_golden(run, results);
  uint64_t n = (uint64_t)pto_option_int(run, "n"), power = 1;
  if (!golden) return PTO_OK;
  if (pattern_of(run) == CHAIN) {
    /* n + 1 steps from 0 give (3ⁿ⁺¹ − 1)/2; modulo 2³³ before the halving, so that 32 bits of it are right. */
    for (uint64_t i = 0; i < n + 1; i++) power = 3 * power % (UINT64_C(1) << 33);
    golden[0] = (double)((power - 1) / 2);
    return PTO_OK;
  }
  for (uint64_t i = 0; i < results->numel; i++) golden[i] = (double)(uint32_t)((i + 1) * (n * (n + 1) / 2));
  return PTO_OK;
}

/* chain: n + 1 steps, n barriers, 2·n edges.  fan_in: n + 2 tasks, n + 1 edges.  all_to_all: 2·n tasks, n² edges. */
const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "barriers",
    .summary = "barriers and explicit dependencies: chains, fan-in up to 391, 64×64",
    .options = (const struct pto_option[]){{"pattern", PTO_OPTION_TEXT, "fan_in", "chain, fan_in or all_to_all"},
                                           {"n", PTO_OPTION_INT, "8", "barriers of a chain, writers otherwise"},
                                           {0}},
    .cases =
        (const struct pto_case[]){
            {.name = "single", .settings = "pattern=fan_in n=1", .tasks = 3, .edges = 2},
            {.name = "chain4", .settings = "pattern=chain n=4", .tasks = 9, .edges = 8},
            {.name = "fan_in8", .settings = "pattern=fan_in n=8", .tasks = 10, .edges = 9},
            {.name = "fan_in64", .settings = "pattern=fan_in n=64", .tasks = 66, .edges = 65},
            {.name = "fan_in65", .settings = "pattern=fan_in n=65", .tasks = 67, .edges = 66},
            {.name = "fan_in200", .settings = "pattern=fan_in n=200", .tasks = 202, .edges = 201},
            {.name = "fan_in391", .settings = "pattern=fan_in n=391", .tasks = 393, .edges = 392},
            {.name = "explicit64x64", .settings = "pattern=all_to_all n=64", .tasks = 128, .edges = 4096},
            {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
