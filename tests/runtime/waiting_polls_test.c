/* SPDX-License-Identifier: MIT */
/*
 * Cores that poll memory (pto_core_yield), and what they share: they see what others write, whichever worker they live
 * on, and let those run that they wait for; cores that poll for ever are found and named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <runtime/base/atomic.h>
#include <runtime/base/base.h>
#include <tests/support/waiting_fixture.h>

#define AIC PTO_ROLE_BIT(PTO_ROLE_AIC)
#define AIV0 PTO_ROLE_BIT(PTO_ROLE_AIV0)
#define AIV1 PTO_ROLE_BIT(PTO_ROLE_AIV1)

static int64_t load(const int64_t *cell) { return __atomic_load_n(cell, __ATOMIC_ACQUIRE); }
static void store(int64_t *cell, int64_t value) { __atomic_store_n(cell, value, __ATOMIC_RELEASE); }

static int poll_until(const struct pto_kernel_args *args, const int64_t *cell, int64_t value) {
  int status = 0;
  while (status == 0 && load(cell) < value) status = pto_core_yield(args, false);
  return status;
}

/* A number goes round the roles through memory alone. */
static int pass_round(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  const int64_t role = args->core->role;
  int status = 0;
  for (int64_t turn = role; turn < 300 && status == 0; turn += 3) {
    status = poll_until(args, &cells[0], turn);
    if (status == 0) store(&cells[0], turn + 1);
  }
  return status;
}
static void check_passed(const int64_t *cells) { assert_int_equal(cells[0], 300); }

/* A barrier by hand, over all cores of a task: none leaves before all have come. */
static int meet_in_memory(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  const int64_t all = 3 * args->core->block_count;
  int status = 0;
  for (int64_t round = 1; round <= 5 && status == 0; round++) {
    __atomic_fetch_add(&cells[round], 1, __ATOMIC_ACQ_REL);
    status = poll_until(args, &cells[round], all);
    if (status == 0 && round > 1 && load(&cells[round - 1]) != all) return pto_kernel_error(args, "left too early");
  }
  return status;
}
static void check_met(const int64_t *cells) {
  for (int round = 1; round <= 5; round++) assert_int_equal(cells[round], 72);
}

/* One that works, and says so, keeps none waiting that polls for what it writes on its way. */
static int work_on(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  int status = 0;
  if (args->core->role == PTO_ROLE_AIV1) {
    for (int64_t i = 1; i <= 100 && status == 0; i++) status = poll_until(args, &cells[0], i);
    if (status == 0) store(&cells[1], 1);
    return status;
  }
  for (int64_t i = 1; i <= 100 && status == 0; i++) {
    store(&cells[0], i);
    status = pto_core_yield(args, true);
  }
  return status == 0 ? poll_until(args, &cells[1], 1) : status;
}
static void check_worked(const int64_t *cells) { assert_int_equal(cells[1], 1); }

/* By what a core does that others wait for, and by its return. */
static int poll_for_the_end(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  int status;
  if (args->core->role == PTO_ROLE_AIC) {
    if ((status = pto_core_wait(args, 2)) == 0) store(&cells[0], 1);
    return status;
  }
  if (args->core->role == PTO_ROLE_AIV0) {
    if ((status = poll_until(args, &cells[0], 1)) == 0) store(&cells[1], 7);
    return status;
  }
  status = pto_core_signal(args, AIC, 2);
  return status != 0 ? status : poll_until(args, &cells[1], 7);
}
static void check_seven(const int64_t *cells) { assert_int_equal(cells[1], 7); }

/* A kernel that does not wait, of another task, writes what is polled: it must run beside the one that polls. */
static int poll_for_a_task(const struct pto_kernel_args *args) { return poll_until(args, waiting_cells(args), 5); }
static int write_five(const struct pto_kernel_args *args) {
  store(waiting_cells(args), 5);
  return 0;
}
static const struct pto_kernel_param write_params[] = {
    {.name = "cells", .mode = PTO_INOUT},
    {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
};
static const struct pto_kernel writer = {
    .name = "writer", .cores = PTO_AIV, .params = write_params, .param_count = 2, .run = write_five};
static int submit_both(struct pto_runtime *rt, const struct waiting_case *c) {
  const struct pto_launch polls = waiting_launch(c), writes = {.aiv0 = &writer};
  struct pto_tensor cells = waiting_cells_tensor(rt, 0);
  const struct pto_param params[] = {pto_param_tensor(PTO_INOUT, &cells), pto_scalar_u64(0)};
  /* An observer runs one task at a time. */
  const bool is_one_by_one = strcmp(waiting_here->engine, "observe") == 0;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL); /* nothing orders them */
  if (status == PTO_OK) status = pto_submit(rt, is_one_by_one ? &writes : &polls, params, 2, NULL);
  if (status == PTO_OK) status = pto_submit(rt, is_one_by_one ? &polls : &writes, params, 2, NULL);
  return status != PTO_OK ? status : pto_scope_end(rt);
}
static void check_five(const int64_t *cells) { assert_int_equal(cells[0], 5); }

/* ---- for ever ---- */

static int poll_for_ever(const struct pto_kernel_args *args) { return poll_until(args, &waiting_cells(args)[3], 1); }
static int poll_and_wait(const struct pto_kernel_args *args) {
  return args->core->role == PTO_ROLE_AIC ? poll_for_ever(args) : pto_core_wait(args, 1);
}
static void check_nothing(const int64_t *cells) { assert_int_equal(cells[3], 0); }

/* ---- what cores share ---- */

static int share(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args), *mine, *other;
  void *memory;
  int status = pto_core_shared(args, 77, 4096, &memory);
  if (status != 0) return status;
  mine = memory;
  status = pto_core_shared(args, 78, 64, &memory);
  if (status != 0) return status;
  other = memory;
  if (((uintptr_t)mine | (uintptr_t)other) % PTO_CACHE_LINE != 0) return pto_kernel_error(args, "not aligned");
  if (load(&other[0]) != 0 || load(&mine[511]) != 0) return pto_kernel_error(args, "not zero");
  __atomic_fetch_add(&mine[0], 1, __ATOMIC_ACQ_REL);
  status = poll_until(args, &mine[0], 3);
  if (status == 0) cells[3 * args->core->block_index + args->core->role] = load(&mine[0]);
  return status;
}
static void check_shared(const int64_t *cells) {
  for (int i = 0; i < 12; i++) assert_int_equal(cells[i], 3); /* of its own block alone */
}
static int share_wrongly(const struct pto_kernel_args *args) {
  void *memory;
  const int status = pto_core_shared(args, 1, 64, &memory);
  return status != 0 ? status : pto_core_shared(args, 1, 65, &memory);
}

static uint32_t dropped_count;
static void drop(void *memory) {
  (void)memory;
  __atomic_fetch_add(&dropped_count, 1, __ATOMIC_RELAXED);
}

/* Kernels of the same core find what earlier ones left there; no other core does. */
static int count_own_calls(const struct pto_kernel_args *args) {
  int64_t *own;
  void *memory;
  const int status = pto_core_private(args, 64, drop, &memory);
  if (status != 0) return status;
  own = memory;
  if (own[0] == 0) own[1] = 1 + args->core->index;
  if (own[1] != 1 + (int64_t)args->core->index) return pto_kernel_error(args, "the memory of another core");
  own[0]++;
  waiting_cells(args)[args->core->index] = own[0];
  return 0;
}
static void check_counted(const int64_t *cells) {
  int64_t most = 0;
  for (uint32_t i = 0; i < 256; i++) most = cells[i] > most ? cells[i] : most;
  assert_in_range(most, 1, 1000);
}

static int read_the_time(const struct pto_kernel_args *args) {
  uint64_t before = 0, after = 0;
  const struct pto_cost work = {.vector_elems = 1000000};
  int status = pto_core_now(args, &before);
  if (status == 0) status = pto_core_work(args, &work);
  if (status == 0) status = pto_core_now(args, &after);
  if (status != 0) return status;
  const bool is_virtual = strcmp(waiting_here->engine, "virtual") == 0;
  if (after < before || (is_virtual && after == before)) return pto_kernel_error(args, "time goes backwards");
  return 0;
}
static void check_any(const int64_t *cells) { (void)cells; }

static const struct waiting_case cases[] = {
    {.name = "a number goes round the roles", .run = pass_round, .check = check_passed},
    {.name = "a barrier in memory over 24 blocks",
     .run = meet_in_memory,
     .blocks = 24,
     .is_sync_start = true,
     .clusters = 24,
     .check = check_met},
    {.name = "what one writes who works on", .run = work_on, .roles = AIV0 | AIV1, .check = check_worked},
    {.name = "until another returns", .run = poll_for_the_end, .check = check_seven},
    {.name = "a task that does not wait writes it",
     .run = poll_for_a_task,
     .roles = AIV0,
     .tasks = 1,
     .submit = submit_both,
     .check = check_five},
    {.name = "all poll for ever",
     .run = poll_for_ever,
     .tasks = 1,
     .check = check_nothing,
     .status = PTO_EDEADLOCK,
     .words = {"cores wait for ever", "block 0 AIV1 on core", "waits for a change of memory that it polls"}},
    {.name = "one polls, the others wait",
     .run = poll_and_wait,
     .tasks = 1,
     .check = check_nothing,
     .status = PTO_EDEADLOCK,
     .words = {"AIC on core", "for a change of memory", "for a signal at flag 1"}},
    {.name = "memory that a block shares", .run = share, .blocks = 4, .check = check_shared},
    {.name = "another size of shared memory",
     .run = share_wrongly,
     .roles = AIV0,
     .tasks = 1,
     .check = check_any,
     .status = PTO_EKERNEL,
     .words = {"pto_core_shared: no 65 bytes for key 1"}},
    {.name = "memory of a core alone", .run = count_own_calls, .tasks = 20, .check = check_counted},
    {.name = "the time on a core", .run = read_the_time, .check = check_any},
};

/* ---- beside kernels that other threads compute ---- */

/* In virtual time it takes long; in real time too, so that a thread beside would still be in it. */
static int write_late(const struct pto_kernel_args *args) {
  (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  return write_five(args);
}
static struct pto_cost long_cost(const struct pto_kernel_args *args) {
  (void)args;
  return (struct pto_cost){.vector_elems = 1000000};
}
static int tell_when(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  uint64_t now = 0;
  int status = poll_until(args, &cells[0], 5);
  if (status == 0) status = pto_core_now(args, &now);
  cells[1] = (int64_t)now;
  return status;
}
static const struct pto_kernel late = {
    .name = "late", .cores = PTO_AIV, .params = write_params, .param_count = 2, .run = write_late, .cost = long_cost};
static const struct pto_kernel teller = {.name = "teller",
                                         .cores = PTO_AIV,
                                         .flags = PTO_KERNEL_WAITS,
                                         .params = write_params,
                                         .param_count = 2,
                                         .run = tell_when};

static int submit_late(struct pto_runtime *rt, void *context) {
  const uint64_t shape[] = {2};
  const struct pto_tensor cells = pto_external_tensor(rt, context, PTO_INT64, 1, shape);
  const struct pto_param params[] = {pto_param_tensor(PTO_INOUT, &cells), pto_scalar_u64(0)};
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL); /* nothing orders them */
  if (status == PTO_OK) status = pto_submit_aiv(rt, &late, params, 2);
  if (status == PTO_OK) status = pto_submit_aiv(rt, &teller, params, 2);
  return status != PTO_OK ? status : pto_scope_end(rt);
}

static void test_what_is_polled_comes_at_the_same_time_however_many_workers(void **state) {
  int64_t seen[2];
  (void)state;
  for (uint32_t workers = 1; workers <= 2; workers++) {
    _Alignas(64) int64_t cells[2] = {0};
    const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "a2a3", .workers = workers};
    struct pto_runtime *rt;
    assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
    assert_int_equal(pto_run(rt, submit_late, cells), PTO_OK);
    pto_runtime_destroy(rt);
    seen[workers - 1] = cells[1];
  }
  assert_true(seen[0] > 0);
  assert_int_equal(seen[0], seen[1]);
}

static void test_own_memory_goes_with_the_runtime(void **state) {
  (void)state;
  assert_true(__atomic_load_n(&dropped_count, __ATOMIC_RELAXED) > 0);
}

int main(void) {
  const struct CMUnitTest after[] = {
      cmocka_unit_test(test_own_memory_goes_with_the_runtime),
      cmocka_unit_test(test_what_is_polled_comes_at_the_same_time_however_many_workers),
  };
  const int failed = waiting_run_cases("polls", cases, PTO_ARRAY_LENGTH(cases));
  return failed + cmocka_run_group_tests(after, NULL, NULL);
}
