/* SPDX-License-Identifier: MIT */
#include <tests/support/waiting_fixture.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>

static const struct waiting_place places[] = {
    {"virtual", "tiny", "fifo", 1},      {"virtual", "a2a3", "lifo", 1},     {"virtual", "a5", "random:7", 1},
    {"threads", "tiny", "fifo", 1},      {"threads", "tiny", "random:1", 2}, {"threads", "tiny", "lifo", 3},
    {"threads", "a2a3", "random:20", 1}, {"threads", "a2a3", "fifo", 2},     {"threads", "a2a3", "lifo", 3},
    {"threads", "a5", "random:3", 5},    {"observe", "tiny", "fifo", 1},     {"observe", "a2a3", "random:5", 1},
    {"explore", "a2a3", "lifo", 1},
};
const struct waiting_place *waiting_here;

/* ---- the kernels of a case ---- */

#define MAX_TASKS 1024u
static _Alignas(64) int64_t memory[MAX_TASKS * WAITING_CELLS];
static struct pto_kernel kernels[PTO_ROLE_COUNT];
static struct pto_kernel_param kernel_params[] = {
    {.name = "cells", .dtypes = PTO_DTYPE_BIT(PTO_INT64), .min_rank = 1, .max_rank = 1},
    {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
};

static void make_kernels(const struct waiting_case *c) {
  static const char *const names[PTO_ROLE_COUNT] = {"cube_part", "left_part", "right_part"};
  kernel_params[0].mode = c->mode ? c->mode : PTO_INOUT;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
    bool is_plain = (c->plain_roles & PTO_ROLE_BIT(role)) != 0;
    kernels[role] = (struct pto_kernel){.name = names[role],
                                        .cores = PTO_AIC | PTO_AIV,
                                        .flags = is_plain   ? 0
                                                 : c->flags ? c->flags
                                                            : PTO_KERNEL_WAITS,
                                        .params = kernel_params,
                                        .param_count = 2,
                                        .run = c->run};
  }
}

struct pto_launch waiting_launch(const struct waiting_case *c) {
  uint32_t roles = c->roles ? c->roles : WAITING_ALL;
  struct pto_launch launch = {.block_count = c->blocks, .sync_start = c->is_sync_start};
  if (roles & PTO_ROLE_BIT(PTO_ROLE_AIC)) launch.aic = &kernels[PTO_ROLE_AIC];
  if (roles & PTO_ROLE_BIT(PTO_ROLE_AIV0)) launch.aiv0 = &kernels[PTO_ROLE_AIV0];
  if (roles & PTO_ROLE_BIT(PTO_ROLE_AIV1)) launch.aiv1 = &kernels[PTO_ROLE_AIV1];
  return launch;
}

struct pto_tensor waiting_cells_tensor(struct pto_runtime *rt, uint32_t task) {
  const uint64_t count = WAITING_CELLS;
  return pto_external_tensor(rt, memory + (size_t)task * WAITING_CELLS, PTO_INT64, 1, &count);
}

int waiting_submit(struct pto_runtime *rt, const struct waiting_case *c, const struct pto_launch *launch,
                   uint32_t task) {
  /* A scope for each, so that the window comes round. */
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  struct pto_tensor cells = waiting_cells_tensor(rt, task);
  const struct pto_param params[] = {pto_param_tensor(c->mode ? c->mode : PTO_INOUT, &cells), pto_scalar_u64(task)};
  status = pto_submit(rt, launch, params, 2, NULL);
  return status != PTO_OK ? status : pto_scope_end(rt);
}

static uint32_t tasks_of(const struct waiting_case *c) { return c->tasks ? c->tasks : 3; }

static int submit_tasks(struct pto_runtime *rt, void *context) {
  const struct waiting_case *c = context;
  const struct pto_launch launch = waiting_launch(c);
  int status = PTO_OK;
  if (c->submit) return c->submit(rt, c);
  for (uint32_t i = 0; i < tasks_of(c) && status == PTO_OK; i++) status = waiting_submit(rt, c, &launch, i);
  return status;
}

/* ---- the task after it ---- */

/* Each role passes a number on to the next with all that there is. */
static int relay_run(const struct pto_kernel_args *args) {
  uint32_t role = args->core->role, next = (role + 1) % PTO_ROLE_COUNT, previous = (role + 2) % PTO_ROLE_COUNT;
  int64_t number = (int64_t)role + 1, received = 0;
  int status = 0;
  for (int i = 0; i < 3 && status == 0; i++) {
    for (uint32_t flag = 0; flag < PTO_CORE_FLAGS && status == 0; flag++)
      status = pto_core_signal(args, PTO_ROLE_BIT(next), flag);
    for (uint32_t flag = 0; flag < PTO_CORE_FLAGS && status == 0; flag++) status = pto_core_wait(args, flag);
    if (status == 0) status = pto_core_push(args, next, &number, sizeof number);
    if (status == 0) status = pto_core_pop(args, previous, &received, sizeof received);
    number = 10 * received + number;
    if (status == 0) status = pto_core_barrier(args);
  }
  waiting_cells(args)[role] = number;
  return status;
}

static const struct waiting_case relay = {.run = relay_run, .tasks = 1};

static void run_relay(struct pto_runtime *rt) {
  int64_t numbers[PTO_ROLE_COUNT] = {1, 2, 3};
  make_kernels(&relay);
  memset(memory, 0, sizeof *memory * WAITING_CELLS);
  int status = pto_run(rt, submit_tasks, (void *)(uintptr_t)&relay);
  if (status != PTO_OK) fail_msg("the task after it: %s", pto_last_error(rt));
  for (int i = 0; i < 3; i++) {
    const int64_t before[PTO_ROLE_COUNT] = {numbers[0], numbers[1], numbers[2]};
    for (int role = 0; role < 3; role++) numbers[role] += 10 * before[(role + 2) % 3];
  }
  for (int role = 0; role < 3; role++)
    if (memory[role] != numbers[role])
      fail_msg("the task after it: role %d has %lld instead of %lld", role, (long long)memory[role],
               (long long)numbers[role]);
}

/* ---- a case ---- */

static void judge(struct pto_runtime *rt, const struct waiting_case *c, int status) {
  const char *sentence = pto_last_error(rt);
  if (status != c->status)
    fail_msg("%s instead of %s: %s", pto_status_name(status), pto_status_name(c->status), sentence);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(c->words) && c->words[i]; i++)
    if (!strstr(sentence, c->words[i])) fail_msg("\"%s\" does not say \"%s\"", sentence, c->words[i]);
  for (uint32_t i = 0; i < tasks_of(c) && c->check; i++) c->check(memory + (size_t)i * WAITING_CELLS);
}

static void run_here(const struct waiting_case *c) {
  struct pto_config config = {.size = sizeof config,
                              .engine = waiting_here->engine,
                              .chip = waiting_here->chip,
                              .policy = waiting_here->policy,
                              .workers = waiting_here->workers,
                              .poison = waiting_here->workers == 2,
                              .timeout_ms = waiting_here->workers == 3 ? 60000 : 0,
                              .window = 64,
                              .heap_bytes = 1 << 20};
  char sentence[256];
  struct pto_runtime *rt = NULL;
  if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence) != PTO_OK) fail_msg("%s", sentence);
  if (pto_core_count(rt, PTO_CLUSTER) >= c->clusters) {
    for (int round = 0; round < 2; round++) {
      make_kernels(c);
      memset(memory, 0, sizeof memory);
      judge(rt, c, pto_run(rt, submit_tasks, (void *)(uintptr_t)c));
      run_relay(rt);
    }
  }
  pto_runtime_destroy(rt);
}

static void run_case(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(places); i++) {
    waiting_here = &places[i];
    run_here(*state);
  }
  waiting_here = NULL;
}

/* Where a case has failed. */
static int say_where(void **state) {
  (void)state;
  if (waiting_here)
    printf("  that was on %s %s, %u workers, %s\n", waiting_here->engine, waiting_here->chip, waiting_here->workers,
           waiting_here->policy);
  waiting_here = NULL;
  return 0;
}

int waiting_run_cases(const char *name, const struct waiting_case *cases, size_t count) {
  struct CMUnitTest *tests = calloc(count, sizeof *tests);
  if (!tests) return -1;
  for (size_t i = 0; i < count; i++)
    tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                   .test_func = run_case,
                                   .teardown_func = say_where,
                                   .initial_state = (void *)(uintptr_t)&cases[i]};
  int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
  free(tests);
  return failed;
}
