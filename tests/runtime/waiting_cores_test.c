/* SPDX-License-Identifier: MIT */
/*
 * Cores that wait for each other, as pto/core.h says: signals, FIFOs and barriers, within a block and across the blocks
 * of a sync_start task, on both engines.  Turns: waiting_turns_test.c; what goes wrong: waiting_errors_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/waiting_fixture.h>

#define AIC PTO_ROLE_BIT(PTO_ROLE_AIC)
#define AIV0 PTO_ROLE_BIT(PTO_ROLE_AIV0)
#define AIV1 PTO_ROLE_BIT(PTO_ROLE_AIV1)

static bool is_role(const struct pto_kernel_args *args, uint32_t role) { return args->core->role == role; }

/* ---- signals ---- */

/* What was written before a signal is there after the wait, whichever of the two comes first: once down the roles, once
 * up. */
static int tell_each_other(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  if (is_role(args, PTO_ROLE_AIC)) {
    cells[0] = 11;
    int status = pto_core_signal(args, AIV0 | AIV1, 3);
    if (status == 0) status = pto_core_wait(args, 7);
    if (status == 0) status = pto_core_wait(args, 8);
    if (status == 0) cells[3] = cells[1] + cells[2];
    return status;
  }
  int status = pto_core_wait(args, 3);
  if (status != 0) return status;
  cells[args->core->role] = 10 * cells[0] + args->core->role;
  return pto_core_signal(args, AIC, 6 + args->core->role);
}
static void check_told(const int64_t *cells) {
  assert_int_equal(cells[1], 111);
  assert_int_equal(cells[2], 112);
  assert_int_equal(cells[3], 223);
}

/* Signals are counted: of 500 not one is lost, and flags do not mix. */
static int count_signals(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  int status = 0;
  for (int i = 0; i < 500 && status == 0; i++) {
    uint32_t flag = i % 5 ? 4 : 15;
    if (is_role(args, PTO_ROLE_AIC))
      status = pto_core_signal(args, AIV1, flag);
    else if ((status = pto_core_wait(args, i < 400 ? 4 : 15)) == 0)
      cells[0]++;
  }
  return status;
}
static void check_500(const int64_t *cells) { assert_int_equal(cells[0], 500); }

/* A core may signal itself. */
static int signal_oneself(const struct pto_kernel_args *args) {
  int status = pto_core_signal(args, PTO_ROLE_BIT(args->core->role), 0);
  if (status == 0) status = pto_core_signal(args, PTO_ROLE_BIT(args->core->role), 0);
  if (status == 0) status = pto_core_wait(args, 0);
  if (status == 0) status = pto_core_wait(args, 0);
  waiting_cells(args)[args->core->role] = 1;
  return status;
}
static void check_one_each(const int64_t *cells) {
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) assert_int_equal(cells[role], 1);
}

/* Signals to cores that have returned, or have not begun, are no error; none takes them, and no later task sees them:
 * every task waits for one signal and must see what was written before its own. */
static int signal_who_has_returned(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  int status = 0;
  if (is_role(args, PTO_ROLE_AIC)) {
    if ((status = pto_core_wait(args, 5)) == 0) cells[0] = cells[1];
    return status != 0 ? status : pto_core_signal(args, AIV1, 2);
  }
  if (is_role(args, PTO_ROLE_AIV0)) {
    cells[1] = 77;
    status = pto_core_signal(args, AIC, 5);
    for (int i = 0; i < 3 && status == 0; i++) status = pto_core_signal(args, AIC | AIV1, 9);
    return status;
  }
  status = pto_core_wait(args, 2);
  for (uint32_t flag = 0; flag < PTO_CORE_FLAGS && status == 0; flag++)
    status = pto_core_signal(args, AIC | AIV0, flag);
  return status;
}
static void check_77(const int64_t *cells) { assert_int_equal(cells[0], 77); }

/* Around the blocks of a sync_start task: each signals the next one's cores. */
static int signal_around(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  uint32_t block = args->core->block_index, count = args->core->block_count, role = args->core->role;
  int status = 0;
  for (uint32_t round = 0; round < 20 && status == 0; round++) {
    if (block != 0 || round != 0) status = pto_core_wait(args, 1);
    if (status != 0) return status;
    cells[role] = cells[role] * 3 % 1000003 + block;
    bool is_last = round == 19 && block + 1 == count;
    if (!is_last) status = pto_core_signal_block(args, (block + 1) % count, PTO_ROLE_BIT(role), 1);
  }
  return status;
}
static void expect_around(const int64_t *cells, uint32_t blocks, uint32_t role) {
  int64_t expected = 0;
  for (uint32_t i = 0; i < 20 * blocks; i++) expected = expected * 3 % 1000003 + i % blocks;
  assert_int_equal(cells[role], expected);
}
static void check_around_2(const int64_t *cells) { expect_around(cells, 2, PTO_ROLE_AIV0); }
static void check_around_24(const int64_t *cells) {
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) expect_around(cells, 24, role);
}

/* ---- FIFOs ---- */

static uint64_t size_of_element(uint64_t i) { return 1 + i * i % 3001; }

/* 300 elements of many sizes, together more than a FIFO holds: their order and their bytes. */
static int stream(const struct pto_kernel_args *args) {
  uint8_t bytes[3001];
  int status = 0;
  for (uint64_t i = 0; i < 300 && status == 0; i++) {
    uint64_t size = size_of_element(i);
    if (is_role(args, PTO_ROLE_AIV0)) {
      memset(bytes, (int)(i % 251), size);
      status = pto_core_push(args, PTO_ROLE_AIC, bytes, size);
      memset(bytes, 255, size); /* the FIFO has a copy */
      continue;
    }
    if ((status = pto_core_pop(args, PTO_ROLE_AIV0, bytes, size)) != 0) break;
    for (uint64_t k = 0; k < size; k++)
      if (bytes[k] != i % 251) return pto_kernel_error(args, "element %u has a wrong byte", (unsigned)i);
    waiting_cells(args)[0]++;
  }
  return status;
}
static void check_300(const int64_t *cells) { assert_int_equal(cells[0], 300); }

static uint8_t large[PTO_CORE_FIFO_BYTES];

/* `count` elements of `size` bytes are pushed before the other core is told to pop the first: they must fit. */
static int fill_first(const struct pto_kernel_args *args, uint64_t count, uint64_t size) {
  static uint8_t sinks[3][PTO_CORE_FIFO_BYTES]; /* for each task in flight */
  int status = 0;
  for (uint64_t i = 0; i < count && status == 0; i++)
    if (is_role(args, PTO_ROLE_AIC)) status = pto_core_push(args, PTO_ROLE_AIV1, large, size);
  if (status == 0) status = is_role(args, PTO_ROLE_AIC) ? pto_core_signal(args, AIV1, 0) : pto_core_wait(args, 0);
  for (uint64_t i = 0; i < count && status == 0; i++)
    if (is_role(args, PTO_ROLE_AIV1)) status = pto_core_pop(args, PTO_ROLE_AIC, sinks[waiting_task(args) % 3], size);
  waiting_cells(args)[args->core->role] = status == 0;
  return status;
}
static int fill_exactly(const struct pto_kernel_args *args) { return fill_first(args, 32, 8184); }
static int fill_with_one(const struct pto_kernel_args *args) { return fill_first(args, 1, PTO_CORE_FIFO_BYTES - 8); }
static int fill_with_bytes(const struct pto_kernel_args *args) { return fill_first(args, PTO_CORE_FIFO_BYTES / 9, 1); }
static int fill_beyond(const struct pto_kernel_args *args) { return fill_first(args, 33, 8184); }
static int fill_beyond_by_a_byte(const struct pto_kernel_args *args) { return fill_first(args, 2, 131065); }
static void check_pair(const int64_t *cells) {
  assert_int_equal(cells[PTO_ROLE_AIC], 1);
  assert_int_equal(cells[PTO_ROLE_AIV1], 1);
}

/* All six FIFOs of a block at once. */
static int push_everywhere(const struct pto_kernel_args *args) {
  uint32_t role = args->core->role;
  int status = 0;
  for (int64_t i = 0; i < 200 && status == 0; i++)
    for (uint32_t step = 1; step < PTO_ROLE_COUNT && status == 0; step++) {
      uint32_t to = (role + step) % PTO_ROLE_COUNT, from = (role + PTO_ROLE_COUNT - step) % PTO_ROLE_COUNT;
      int64_t number = 1000 * i + 10 * role + to, received = 0;
      status = pto_core_push(args, to, &number, sizeof number);
      if (status == 0) status = pto_core_pop(args, from, &received, sizeof received);
      if (status == 0 && received != 1000 * i + 10 * from + role)
        return pto_kernel_error(args, "got %lld from role %u in round %lld", (long long)received, from, (long long)i);
    }
  waiting_cells(args)[role] = 1;
  return status;
}

/* Many tasks share the clusters; each one's elements and signals are its own. */
static int push_own_number(const struct pto_kernel_args *args) {
  uint64_t number = 1000 * waiting_task(args) + args->core->block_index, received = 0;
  uint32_t role = args->core->role, next = (role + 1) % PTO_ROLE_COUNT;
  int status = 0;
  for (int i = 0; i < 5 && status == 0; i++) {
    status = pto_core_push(args, next, &number, sizeof number);
    if (status == 0) status = pto_core_signal(args, PTO_ROLE_BIT(next), (uint32_t)(waiting_task(args) % 16));
    if (status == 0) status = pto_core_wait(args, (uint32_t)(waiting_task(args) % 16));
    if (status == 0) status = pto_core_pop(args, (role + 2) % PTO_ROLE_COUNT, &received, sizeof received);
    if (status == 0 && received != number)
      return pto_kernel_error(args, "got %u instead of %u", (unsigned)received, (unsigned)number);
  }
  waiting_cells(args)[3 * args->core->block_index + role] = (int64_t)number + 1;
  return status;
}
static void check_own_numbers(const int64_t *cells) {
  for (uint32_t i = 0; i < 3 * 4; i++) {
    assert_int_equal(cells[i] % 1000, i / 3 + 1);
    assert_int_equal(cells[i] / 1000, cells[0] / 1000);
  }
}

/* ---- barriers ---- */

/* Each core raises its own number and sees after the barrier that all have; a second barrier keeps the fast ones from
 * raising theirs again while the slow ones look.  Roles do unequal work before. */
static int meet(const struct pto_kernel_args *args, uint32_t rounds, uint32_t roles) {
  int64_t *cells = waiting_cells(args);
  uint32_t cores = args->core->block_count * PTO_ROLE_COUNT;
  int status = 0;
  for (uint32_t i = 1; i <= rounds && status == 0; i++) {
    const struct pto_cost work = {.vector_elems = 1000 * (i * (args->core->role + 1) % 7)};
    status = pto_core_work(args, &work);
    cells[args->core->block_index * PTO_ROLE_COUNT + args->core->role] = i;
    if (status == 0) status = pto_core_barrier(args);
    for (uint32_t k = 0; k < cores && status == 0; k++)
      if ((roles & PTO_ROLE_BIT(k % PTO_ROLE_COUNT)) && cells[k] != i)
        return pto_kernel_error(args, "core %u has come %d times to barrier %u", k, (int)cells[k], i);
    if (status == 0) status = pto_core_barrier(args);
  }
  return status;
}
static int meet_alone(const struct pto_kernel_args *args) { return meet(args, 30, AIV0); }
static int meet_in_pairs(const struct pto_kernel_args *args) { return meet(args, 30, AIC | AIV1); }
static int meet_all(const struct pto_kernel_args *args) { return meet(args, 30, WAITING_ALL); }
static int meet_often(const struct pto_kernel_args *args) { return meet(args, 1000, WAITING_ALL); }
/* AIV0's kernel does not wait, and is not waited for. */
static int meet_without_left(const struct pto_kernel_args *args) {
  return is_role(args, PTO_ROLE_AIV0) ? 0 : meet(args, 10, AIC | AIV1);
}

/* Barriers, FIFOs and signals of all kinds at once, in every block, and different ones in each role. */
static int mix_all(const struct pto_kernel_args *args) {
  uint32_t role = args->core->role, block = args->core->block_index, count = args->core->block_count;
  int64_t sum = 0, number = 0;
  int status = 0;
  for (int64_t i = 0; i < 20 && status == 0; i++) {
    number = i * (block + 1);
    if (role == PTO_ROLE_AIC) status = pto_core_push(args, PTO_ROLE_AIV0, &number, sizeof number);
    if (role == PTO_ROLE_AIV0) status = pto_core_pop(args, PTO_ROLE_AIC, &number, sizeof number);
    if (role == PTO_ROLE_AIV0 && status == 0) status = pto_core_signal_block(args, (block + 1) % count, AIV1, 3);
    if (role == PTO_ROLE_AIV1) status = pto_core_wait(args, 3);
    sum += number;
    if (status == 0 && i % 4 == 3) status = pto_core_barrier(args);
  }
  waiting_cells(args)[block * PTO_ROLE_COUNT + role] = sum;
  return status;
}
static void check_mixed(const int64_t *cells) {
  for (uint32_t i = 0; i < 12 * PTO_ROLE_COUNT; i++) assert_int_equal(cells[i], 190 * (i / PTO_ROLE_COUNT + 1));
}

/* ---- with others ---- */

/* Waiting tasks between ordinary ones, in a chain over the same cells: order and results. */
static int add_plainly(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  cells[0] = cells[0] * 7 % 1000003 + 1;
  return 0;
}
static int add_together(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  int64_t number = cells[0];
  int status = pto_core_barrier(args);
  if (status != 0 || !is_role(args, PTO_ROLE_AIV1)) return status;
  cells[0] = number * 5 % 1000003 + 2;
  return 0;
}
static int submit_chain(struct pto_runtime *rt, const struct waiting_case *c) {
  static const struct waiting_case plain = {.run = add_plainly};
  static const struct pto_kernel_param params[] = {{.name = "cells", .mode = PTO_INOUT},
                                                   {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
  static const struct pto_kernel kernel = {
      .name = "plain", .cores = PTO_AIV, .params = params, .param_count = 2, .run = add_plainly};
  int status = PTO_OK;
  for (uint32_t i = 0; i < 200 && status == PTO_OK; i++) {
    struct pto_launch launch = i % 3 == 1 ? waiting_launch(c) : (struct pto_launch){.aiv0 = &kernel};
    status = waiting_submit(rt, i % 3 == 1 ? c : &plain, &launch, i % 4 == 0);
  }
  return status;
}
static int64_t chain_of(uint32_t task) {
  int64_t number = 0;
  for (uint32_t i = 0; i < 200; i++)
    if ((i % 4 == 0) == (task == 1)) number = i % 3 == 1 ? number * 5 % 1000003 + 2 : number * 7 % 1000003 + 1;
  return number;
}
static void check_chain(const int64_t *cells) {
  if (cells[0] != chain_of(0)) assert_int_equal(cells[0], chain_of(1));
}

/* A kernel that uses nearly all of its stack, and waits down there. */
static PTO_NOINLINE void fill(uint8_t *bytes, size_t size, uint32_t start) {
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i / 7 + start);
}
static PTO_NOINLINE bool is_filled(const uint8_t *bytes, size_t size, uint32_t start) {
  for (size_t i = 0; i < size; i++)
    if (bytes[i] != (uint8_t)(i / 7 + start)) return false;
  return true;
}
static int use_stack(const struct pto_kernel_args *args) {
  uint8_t deep[200 << 10];
  fill(deep, sizeof deep, args->core->role);
  int status = pto_core_barrier(args);
  if (!is_filled(deep, sizeof deep, args->core->role)) return pto_kernel_error(args, "the stack has changed");
  waiting_cells(args)[args->core->role] = 1;
  return status;
}

static int hand_over(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args), number = (int64_t)waiting_task(args);
  if (is_role(args, PTO_ROLE_AIC)) return pto_core_push(args, PTO_ROLE_AIV0, &number, sizeof number);
  int status = pto_core_pop(args, PTO_ROLE_AIC, &number, sizeof number);
  cells[0] = number == (int64_t)waiting_task(args);
  return status;
}
static void check_handed_over(const int64_t *cells) { assert_int_equal(cells[0], 1); }

static const struct waiting_case cases[] = {
    {.name = "what was written before a signal is there after the wait", .run = tell_each_other, .check = check_told},
    {.name = "signals are counted, flag by flag", .run = count_signals, .roles = AIC | AIV1, .check = check_500},
    {.name = "a core may signal itself", .run = signal_oneself, .check = check_one_each},
    {.name = "signals to cores that have returned or not begun do no harm",
     .run = signal_who_has_returned,
     .tasks = 40,
     .check = check_77},
    {.name = "two AIV blocks that start together signal each other",
     .run = signal_around,
     .roles = AIV0,
     .blocks = 2,
     .is_sync_start = true,
     .check = check_around_2},
    {.name = "24 MIX blocks that start together signal around",
     .run = signal_around,
     .blocks = 24,
     .is_sync_start = true,
     .clusters = 24,
     .check = check_around_24},
    {.name = "a FIFO keeps order and bytes", .run = stream, .roles = AIC | AIV0, .check = check_300},
    {.name = "a FIFO holds 32 elements of 8184 bytes", .run = fill_exactly, .roles = AIC | AIV1, .check = check_pair},
    {.name = "a FIFO holds one element of all its bytes but 8",
     .run = fill_with_one,
     .roles = AIC | AIV1,
     .check = check_pair},
    {.name = "a FIFO holds 29127 elements of a byte",
     .run = fill_with_bytes,
     .roles = AIC | AIV1,
     .tasks = 1,
     .check = check_pair},
    {.name = "a FIFO does not hold 33 elements of 8184 bytes",
     .run = fill_beyond,
     .roles = AIC | AIV1,
     .tasks = 1,
     .status = PTO_EDEADLOCK,
     .words = {"AIC", "AIV1", "cube_part", "right_part"}},
    {.name = "a FIFO does not hold two elements of half its bytes",
     .run = fill_beyond_by_a_byte,
     .roles = AIC | AIV1,
     .tasks = 1,
     .status = PTO_EDEADLOCK,
     .words = {"AIC", "AIV1", "cube_part", "right_part"}},
    {.name = "the six FIFOs of a block work side by side", .run = push_everywhere, .check = check_one_each},
    {.name = "tasks and blocks in flight do not mix up elements and signals",
     .run = push_own_number,
     .blocks = 4,
     .tasks = 40,
     .check = check_own_numbers},
    {.name = "a single core waits for itself alone", .run = meet_alone, .roles = AIV0},
    {.name = "two cores meet", .run = meet_in_pairs, .roles = AIC | AIV1},
    {.name = "three cores meet", .run = meet_all},
    {.name = "three cores meet two thousand times in a row", .run = meet_often, .tasks = 1},
    {.name = "who does not wait is not waited for", .run = meet_without_left, .plain_roles = AIV0},
    {.name = "two AIV blocks meet", .run = meet_alone, .roles = AIV0, .blocks = 2, .is_sync_start = true},
    {.name = "every AIV of 24 clusters comes to one barrier",
     .run = meet_alone,
     .roles = AIV0,
     .blocks = 48,
     .is_sync_start = true,
     .clusters = 24},
    {.name = "seven blocks of two cores meet",
     .run = meet_in_pairs,
     .roles = AIC | AIV1,
     .blocks = 7,
     .is_sync_start = true,
     .clusters = 7},
    {.name = "every core of 24 clusters comes to one barrier",
     .run = meet_all,
     .blocks = 24,
     .is_sync_start = true,
     .clusters = 24},
    {.name = "barriers, FIFOs and signals work side by side",
     .run = mix_all,
     .blocks = 12,
     .is_sync_start = true,
     .clusters = 12,
     .check = check_mixed},
    {.name = "waiting tasks keep their order among ordinary ones",
     .run = add_together,
     .tasks = 2,
     .submit = submit_chain,
     .check = check_chain},
    {.name = "a kernel that waits has 200 KiB of stack", .run = use_stack, .tasks = 6, .check = check_one_each},
    {.name = "a thousand waiting tasks follow each other",
     .run = hand_over,
     .roles = AIC | AIV0,
     .tasks = 1000,
     .check = check_handed_over},
};

int main(void) { return waiting_run_cases("waiting cores", cases, PTO_ARRAY_LENGTH(cases)); }
