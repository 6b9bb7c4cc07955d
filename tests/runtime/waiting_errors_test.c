/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong among cores that wait: a core that fails releases those that wait for it, and the error is its own;
 * cores that wait for ever are found at once and named; a wrong call is its kernel's error.  After each, the same
 * runtime runs on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/sanitizer.h>
#include <tests/support/waiting_fixture.h>

#define AIC PTO_ROLE_BIT(PTO_ROLE_AIC)
#define AIV0 PTO_ROLE_BIT(PTO_ROLE_AIV0)
#define AIV1 PTO_ROLE_BIT(PTO_ROLE_AIV1)

static uint8_t bytes[PTO_CORE_FIFO_BYTES];

/* What a released core makes of the answer: none of it may replace the error of the core that failed. */
static int answer(const struct pto_kernel_args *args, int status) {
  if (status == 0) waiting_cells(args)[900 + args->core->block_index] = 1;
  switch (args->core->block_index % 3) {
  case 0:
    return status;
  case 1:
    return 0; /* takes no notice */
  default:
    return pto_kernel_error(args, "complains");
  }
}

static void check_none_went_on(const int64_t *cells) {
  for (uint32_t block = 0; block < 40; block++) assert_int_equal(cells[900 + block], 0);
}

/* ---- a core that fails ---- */

static int give_up(const struct pto_kernel_args *args) { return pto_kernel_error(args, "gives up on purpose"); }

static int fail_under_waits(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIV1) return give_up(args);
  return answer(args, args->core->role == PTO_ROLE_AIC ? pto_core_wait(args, 1)
                                                       : pto_core_pop(args, PTO_ROLE_AIV1, bytes, 8));
}
static int fail_before_the_others(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIC) return give_up(args);
  return answer(args, pto_core_barrier(args));
}
static int fail_after_a_push(const struct pto_kernel_args *args) {
  int status = 0;
  if (args->core->role == PTO_ROLE_AIV1) {
    status = pto_core_pop(args, PTO_ROLE_AIV0, bytes, 100000);
    return status != 0 ? status : give_up(args);
  }
  static const uint8_t zeroes[100000];
  for (int i = 0; i < 10 && status == 0; i++) status = pto_core_push(args, PTO_ROLE_AIV1, zeroes, sizeof zeroes);
  return answer(args, status);
}
/* A kernel without waits fails beside one that waits for its return. */
static int fail_plainly(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIC) return give_up(args);
  return answer(args, pto_core_wait(args, 0));
}
/* Silently, and with a number of its own. */
static int fail_with_42(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIV0) return 42;
  return answer(args, pto_core_barrier(args));
}
static int fail_in_block_1(const struct pto_kernel_args *args) {
  if (args->core->block_index == 1) return give_up(args);
  return answer(args, pto_core_barrier(args));
}
static int fail_in_turn_3(const struct pto_kernel_args *args) {
  int status = pto_core_turn(args);
  if (status != 0) return answer(args, status);
  return args->core->block_index == 3 ? give_up(args) : 0;
}
/* Peers that would wait for ever once more, after having been released. */
static int wait_again(const struct pto_kernel_args *args) {
  if (args->core->role == PTO_ROLE_AIV0) return give_up(args);
  for (int i = 0; i < 100; i++)
    if (pto_core_wait(args, 2) == 0 || pto_core_barrier(args) == 0) return answer(args, 0);
  return 0;
}

/* Statuses are the kernel's own: this one is no verdict of the runtime's. */
static int fail_with_a_status(const struct pto_kernel_args *args) {
  (void)pto_kernel_error(args, "gives up on purpose");
  return PTO_EDEADLOCK;
}

/* ---- waiting for ever ---- */

static int wait_for_each_other(const struct pto_kernel_args *args) {
  int status = pto_core_wait(args, args->core->role);
  return status != 0 ? status : pto_core_signal(args, WAITING_ALL, 1 - args->core->role);
}
static int wait_in_a_circle(const struct pto_kernel_args *args) {
  uint32_t role = args->core->role;
  int status = pto_core_pop(args, (role + 2) % PTO_ROLE_COUNT, bytes + 8 * (size_t)role, 8);
  return status != 0 ? status : pto_core_push(args, (role + 1) % PTO_ROLE_COUNT, bytes + 8 * (size_t)role, 8);
}
static int stay_away(const struct pto_kernel_args *args) {
  return args->core->role == PTO_ROLE_AIV1 ? 0 : pto_core_barrier(args);
}
static int stay_away_the_third_time(const struct pto_kernel_args *args) {
  int times = args->core->role == PTO_ROLE_AIC ? 2 : 3, status = 0;
  for (int i = 0; i < times && status == 0; i++) status = pto_core_barrier(args);
  return status;
}
static int pop_from_who_has_returned(const struct pto_kernel_args *args) {
  uint8_t byte = 0;
  if (args->core->role == PTO_ROLE_AIC) return pto_core_push(args, PTO_ROLE_AIV0, &byte, 1);
  int status = pto_core_pop(args, PTO_ROLE_AIC, &byte, 1);
  return status != 0 ? status : pto_core_pop(args, PTO_ROLE_AIC, &byte, 1);
}
static int push_to_who_has_returned(const struct pto_kernel_args *args) {
  static const uint8_t half[PTO_CORE_FIFO_BYTES / 2];
  int status = 0;
  if (args->core->role == PTO_ROLE_AIV1) return 0;
  for (int i = 0; i < 2 && status == 0; i++) status = pto_core_push(args, PTO_ROLE_AIV1, half, sizeof half);
  return status;
}
/* Block 0 returns when block 1 has told it to, and block 1 tells it in its turn. */
static int turn_in_a_circle(const struct pto_kernel_args *args) {
  if (args->core->block_index == 0) return pto_core_wait(args, 4);
  int status = pto_core_turn(args);
  return status != 0 ? status : pto_core_signal_block(args, 0, WAITING_ALL & AIV0, 4);
}
/* No core comes to a barrier while it has the turn that another needs to come. */
static int meet_after_the_turn(const struct pto_kernel_args *args) {
  int status = pto_core_turn(args);
  return status != 0 ? status : pto_core_barrier(args);
}
static int block_1_stays_away(const struct pto_kernel_args *args) {
  return args->core->block_index == 1 ? 0 : pto_core_barrier(args);
}
static int last_block_stays_away(const struct pto_kernel_args *args) {
  return args->core->block_index == 11 && args->core->role == PTO_ROLE_AIV0 ? 0 : pto_core_barrier(args);
}
static int turn_never_comes(const struct pto_kernel_args *args) {
  int status = pto_core_turn(args);
  if (status != 0 || args->core->block_index != 5) return status;
  return pto_core_wait(args, 0);
}

/* The orchestration waits for what will never be written, among tasks that have nothing to do with it. */
static int plain_run(const struct pto_kernel_args *args) {
  waiting_cells(args)[1]++;
  return 0;
}
static int read_what_never_comes(struct pto_runtime *rt, const struct waiting_case *c) {
  static const struct pto_kernel_param params[] = {{.name = "cells", .mode = PTO_INOUT},
                                                   {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
  static const struct pto_kernel kernel = {
      .name = "plain", .cores = PTO_AIV, .params = params, .param_count = 2, .run = plain_run};
  const struct pto_launch plain = {.aiv0 = &kernel};
  struct pto_launch waiting = waiting_launch(c);
  struct pto_tensor cells = waiting_cells_tensor(rt, 3);
  const uint64_t origin[] = {0};
  int64_t value = 77;
  int status = waiting_submit(rt, c, &plain, 1);
  if (status == PTO_OK) status = waiting_submit(rt, c, &waiting, 3);
  for (uint32_t i = 0; i < 8 && status == PTO_OK; i++) status = waiting_submit(rt, c, &plain, 4 + i);
  if (status == PTO_OK) status = pto_read_element(rt, &cells, origin, &value);
  if (value != 77) fail_msg("it was read");
  if (status != PTO_EDEADLOCK) fail_msg("the read answered %s", pto_status_name(status));
  return status;
}
static int poll_what_never_comes(struct pto_runtime *rt, const struct waiting_case *c) {
  const struct pto_launch launch = waiting_launch(c);
  int status = waiting_submit(rt, c, &launch, 0);
  while (status == PTO_OK) status = pto_poll(rt);
  return status;
}

/* ---- wrong calls ---- */

#define WRONG(name, call)                                                                                              \
  static int name(const struct pto_kernel_args *args) { return call; }
#define WRONG_AIC(name, call)                                                                                          \
  static int name(const struct pto_kernel_args *args) {                                                                \
    int status = args->core->role == PTO_ROLE_AIC ? (call) : 0;                                                        \
    return status;                                                                                                     \
  }
WRONG(flag_16, pto_core_wait(args, 16))
WRONG(signal_flag_99, pto_core_signal(args, AIC, 99))
WRONG(signal_no_core_there, pto_core_signal(args, AIC | AIV1, 0))
WRONG(signal_role_7, pto_core_signal(args, PTO_ROLE_BIT(7), 0))
WRONG(signal_block_9, pto_core_signal_block(args, 9, AIC, 0))
WRONG(signal_other_block, pto_core_signal_block(args, 1 - args->core->block_index, AIC, 0))
WRONG(meet_blocks, pto_core_barrier(args))
WRONG(push_to_no_core, pto_core_push(args, PTO_ROLE_AIV1, bytes, 8))
WRONG(push_to_oneself, pto_core_push(args, args->core->role, bytes, 8))
WRONG_AIC(push_nothing, pto_core_push(args, PTO_ROLE_AIV1, bytes, 0))
WRONG_AIC(push_too_much, pto_core_push(args, PTO_ROLE_AIV1, bytes, PTO_CORE_FIFO_BYTES - 7))
WRONG(pop_from_3, pto_core_pop(args, 3, bytes, 8))
WRONG(turn_unasked, pto_core_turn(args))
static int private_of_another_size(const struct pto_kernel_args *args) {
  void *memory, *again;
  int status = pto_core_private(args, 8, NULL, &memory);
  if (status == 0) status = pto_core_private(args, 8, NULL, &again);
  if (status != 0 || memory != again) return status;
  return pto_core_private(args, 16, NULL, &memory);
}
static __attribute__((unused)) int private_too_large(const struct pto_kernel_args *args) {
  void *memory;
  return pto_core_private(args, UINT64_C(1) << 61, NULL, &memory);
}
static int shared_too_large(const struct pto_kernel_args *args) {
  void *memory;
  return pto_core_shared(args, 5, UINT64_MAX, &memory);
}
WRONG_AIC(plain_wait, pto_core_wait(args, 0))
WRONG_AIC(plain_signal, pto_core_signal(args, AIV0, 0))
WRONG_AIC(plain_push, pto_core_push(args, PTO_ROLE_AIV0, bytes, 8))
WRONG_AIC(plain_barrier, pto_core_barrier(args))
WRONG_AIC(plain_work, pto_core_work(args, &(struct pto_cost){.vector_elems = 1}))
WRONG_AIC(plain_signal_block, pto_core_signal_block(args, 0, AIV0, 0))
WRONG_AIC(plain_turn, pto_core_turn(args))
WRONG_AIC(plain_yield, pto_core_yield(args, false))
WRONG_AIC(plain_now, pto_core_now(args, &(uint64_t){0}))
static int plain_shared(const struct pto_kernel_args *args) {
  void *memory;
  return args->core->role == PTO_ROLE_AIC ? pto_core_shared(args, 1, 8, &memory) : 0;
}
static int plain_private(const struct pto_kernel_args *args) {
  void *memory;
  return args->core->role == PTO_ROLE_AIC ? pto_core_private(args, 8, NULL, &memory) : 0;
}

static int pop_another_size(const struct pto_kernel_args *args) {
  uint8_t element[24] = {0};
  if (args->core->role == PTO_ROLE_AIC) return pto_core_push(args, PTO_ROLE_AIV1, element, 24);
  return pto_core_pop(args, PTO_ROLE_AIC, element, 16);
}

#define FAILED(...) .tasks = 1, .status = PTO_EKERNEL, .check = check_none_went_on, .words = {__VA_ARGS__}
#define DEADLOCK(...) .tasks = 1, .status = PTO_EDEADLOCK, .words = {"wait", __VA_ARGS__}

static const struct waiting_case cases[] = {
    {.name = "a core that fails releases those that wait for a signal and an element",
     .run = fail_under_waits,
     FAILED("right_part", "AIV1", "gives up on purpose")},
    {.name = "a core that fails first releases those that come to a barrier",
     .run = fail_before_the_others,
     FAILED("cube_part", "gives up on purpose")},
    {.name = "a core that fails releases who waits for room",
     .run = fail_after_a_push,
     .roles = AIV0 | AIV1,
     FAILED("right_part", "gives up on purpose")},
    {.name = "a kernel without waits that fails releases its peers",
     .run = fail_plainly,
     .plain_roles = AIC,
     FAILED("cube_part", "gives up on purpose")},
    {.name = "a core that fails without a word releases its peers", .run = fail_with_42, FAILED("left_part", "42")},
    {.name = "released cores are not kept a second time",
     .run = wait_again,
     FAILED("left_part", "gives up on purpose")},
    {.name = "a block that fails releases the other",
     .run = fail_in_block_1,
     .roles = AIV0,
     .blocks = 2,
     .is_sync_start = true,
     FAILED("left_part", "gives up on purpose")},
    {.name = "a block that fails releases eleven others",
     .run = fail_in_block_1,
     .roles = AIC | AIV1,
     .blocks = 12,
     .is_sync_start = true,
     .clusters = 12,
     FAILED("gives up on purpose")},
    {.name = "a block that fails in its turn releases the blocks behind it",
     .run = fail_in_turn_3,
     .roles = AIV0,
     .blocks = 40,
     .flags = PTO_KERNEL_TURNS,
     .mode = PTO_ACCUMULATE,
     FAILED("left_part", "gives up on purpose")},

    {.name = "a status of a waiting kernel is its own", .run = fail_with_a_status, FAILED("gives up on purpose")},
    {.name = "a status of a kernel without waits is its own",
     .run = fail_with_a_status,
     .roles = AIV0,
     .plain_roles = AIV0,
     FAILED("left_part", "gives up on purpose")},

    {.name = "two cores that wait for each other are named",
     .run = wait_for_each_other,
     .roles = AIC | AIV0,
     DEADLOCK("task 0", "cube_part", "AIC", "flag 0", "left_part", "AIV0", "flag 1")},
    {.name = "three cores that wait in a circle are named",
     .run = wait_in_a_circle,
     DEADLOCK("cube_part", "left_part", "right_part", "AIV1")},
    {.name = "a barrier with one absent is never passed",
     .run = stay_away,
     DEADLOCK("barrier", "cube_part", "left_part")},
    {.name = "a barrier with one absent is never passed the third time",
     .run = stay_away_the_third_time,
     DEADLOCK("barrier", "left_part", "right_part")},
    {.name = "a core that has returned pushes no more",
     .run = pop_from_who_has_returned,
     .roles = AIC | AIV0,
     DEADLOCK("left_part", "AIC")},
    {.name = "a core that has returned makes no room",
     .run = push_to_who_has_returned,
     .roles = AIC | AIV1,
     DEADLOCK("cube_part", "AIV1")},
    {.name = "a turn that needs what comes after it never comes",
     .run = turn_in_a_circle,
     .roles = AIV0,
     .blocks = 2,
     .is_sync_start = true,
     .flags = PTO_KERNEL_TURNS | PTO_KERNEL_WAITS,
     .mode = PTO_ACCUMULATE,
     DEADLOCK("left_part", "block 0", "block 1", "turn")},
    {.name = "a barrier within a turn is never passed",
     .run = meet_after_the_turn,
     .roles = AIV0,
     .blocks = 2,
     .is_sync_start = true,
     .flags = PTO_KERNEL_TURNS | PTO_KERNEL_WAITS,
     .mode = PTO_ACCUMULATE,
     DEADLOCK("left_part", "turn", "barrier")},
    {.name = "a block that stays away keeps the other",
     .run = block_1_stays_away,
     .roles = AIV0,
     .blocks = 2,
     .is_sync_start = true,
     DEADLOCK("left_part", "block 0", "barrier")},
    {.name = "a core that stays away keeps eleven blocks",
     .run = last_block_stays_away,
     .blocks = 12,
     .is_sync_start = true,
     .clusters = 12,
     DEADLOCK("cube_part", "block 0", "barrier")},
    {.name = "those of one kernel at one barrier are told once, and counted",
     .run = last_block_stays_away,
     .blocks = 24,
     .is_sync_start = true,
     .clusters = 24,
     DEADLOCK("cube_part", "left_part", "right_part", "22 more cores of it likewise")},
    {.name = "a block that keeps its turn keeps those behind it",
     .run = turn_never_comes,
     .roles = AIV0,
     .blocks = 40,
     .flags = PTO_KERNEL_TURNS | PTO_KERNEL_WAITS,
     .mode = PTO_ACCUMULATE,
     DEADLOCK("left_part", "block 5", "flag 0")},
    {.name = "the orchestration's read of what never comes answers too",
     .run = wait_for_each_other,
     .roles = AIC | AIV0,
     .submit = read_what_never_comes,
     DEADLOCK("cube_part", "left_part")},

    {.name = "the orchestration's polls of memory that no task changes end with the cores that wait for ever",
     .run = wait_for_each_other,
     .roles = AIC | AIV0,
     .submit = poll_what_never_comes,
     DEADLOCK("cube_part", "left_part")},

    {.name = "a wait for flag 16 is refused", .run = flag_16, .roles = AIC, FAILED("cube_part", "pto_core_wait", "16")},
    {.name = "a signal to flag 99 is refused", .run = signal_flag_99, .roles = AIC, FAILED("pto_core_signal", "99")},
    {.name = "a signal to a role without a kernel is refused",
     .run = signal_no_core_there,
     .roles = AIC | AIV0,
     FAILED("pto_core_signal", "AIV1", "no kernel")},
    {.name = "a signal to role 7 is refused", .run = signal_role_7, .roles = AIC, FAILED("pto_core_signal", "role 7")},
    {.name = "a signal to block 9 of 2 is refused",
     .run = signal_block_9,
     .roles = AIC,
     .blocks = 2,
     FAILED("pto_core_signal_block", "block 9 of 2")},
    {.name = "a signal to a block that need not run is refused",
     .run = signal_other_block,
     .roles = AIC,
     .blocks = 2,
     FAILED("pto_core_signal_block", "not sync_start")},
    {.name = "a barrier of blocks that need not run at once is refused",
     .run = meet_blocks,
     .roles = AIC,
     .blocks = 2,
     FAILED("pto_core_barrier", "2 blocks", "not sync_start")},
    {.name = "a push to a role without a kernel is refused",
     .run = push_to_no_core,
     .roles = AIC,
     FAILED("pto_core_push", "AIV1", "no kernel")},
    {.name = "a push to oneself is refused", .run = push_to_oneself, FAILED("pto_core_push", "itself")},
    {.name = "an element without bytes is refused",
     .run = push_nothing,
     .roles = AIC | AIV1,
     FAILED("pto_core_push", " 0 bytes")},
    {.name = "an element larger than its FIFO is refused",
     .run = push_too_much,
     .roles = AIC | AIV1,
     FAILED("pto_core_push", "262137 bytes", "262136")},
    {.name = "a pop from role 3 is refused", .run = pop_from_3, FAILED("pto_core_pop", "role 3")},
    {.name = "a pop of another size names both",
     .run = pop_another_size,
     .roles = AIC | AIV1,
     FAILED("right_part", "pto_core_pop", "24", "16")},
    {.name = "a turn in a kernel that declares none is refused",
     .run = turn_unasked,
     .roles = AIC,
     FAILED("pto_core_turn", "PTO_KERNEL_TURNS")},
    {.name = "a wait in a kernel that does not declare it is refused",
     .run = plain_wait,
     .plain_roles = WAITING_ALL,
     FAILED("cube_part", "pto_core_wait", "PTO_KERNEL_WAITS")},
    {.name = "a signal of a kernel that does not declare it is refused, beside one that waits",
     .run = plain_signal,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_signal", "PTO_KERNEL_WAITS")},
    {.name = "a push of a kernel that does not declare it is refused",
     .run = plain_push,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_push", "PTO_KERNEL_WAITS")},
    {.name = "a barrier of a kernel that does not declare it is refused",
     .run = plain_barrier,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_barrier", "PTO_KERNEL_WAITS")},
    {.name = "work of a kernel that does not declare it is refused",
     .run = plain_work,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_work", "PTO_KERNEL_WAITS")},
    {.name = "memory of a core has one size",
     .run = private_of_another_size,
     .roles = AIC,
     FAILED("cube_part", "pto_core_private: no 16 bytes")},
#if !PTO_HAS_SANITIZER /* so much is a mistake for one */
    {.name = "memory of a core that cannot be had is told",
     .run = private_too_large,
     .roles = AIC,
     FAILED("cube_part", "pto_core_private: no 2305843009213693952 bytes")},
#endif
    {.name = "memory of a block that cannot be had is told",
     .run = shared_too_large,
     .roles = AIC,
     FAILED("cube_part", "pto_core_shared: no 18446744073709551615 bytes for key 5")},
    {.name = "a signal to a block of a kernel that does not declare it is refused",
     .run = plain_signal_block,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_signal_block", "PTO_KERNEL_WAITS")},
    {.name = "a turn of a kernel that does not declare it is refused",
     .run = plain_turn,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_turn", "PTO_KERNEL_WAITS")},
    {.name = "a yield of a kernel that does not declare it is refused",
     .run = plain_yield,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_yield", "PTO_KERNEL_WAITS")},
    {.name = "a question for the time of a kernel that does not declare it is refused",
     .run = plain_now,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_now", "PTO_KERNEL_WAITS")},
    {.name = "memory of the block of a kernel that does not declare it is refused",
     .run = plain_shared,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_shared", "PTO_KERNEL_WAITS")},
    {.name = "memory of its own of a kernel that does not declare it is refused",
     .run = plain_private,
     .plain_roles = AIC,
     FAILED("cube_part", "pto_core_private", "PTO_KERNEL_WAITS")},
};

int main(void) { return waiting_run_cases("waiting errors", cases, PTO_ARRAY_LENGTH(cases)); }
