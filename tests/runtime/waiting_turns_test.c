/* SPDX-License-Identifier: MIT */
/*
 * Blocks that accumulate: what they do before their turn may overlap, what they do in it has the order of blocks, so
 * sums have its bits whatever the engine, the policy, the number of workers and the length of each block's work.
 *
 * Numbers are added as doubles into cells[0]; cells[1] counts who has had a turn.
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

/* Of such sizes that hardly two orders have a sum in common. */
static double number_of(uint32_t block, uint32_t role) {
  return (double)(UINT64_C(1) << (block * 7 + role * 5) % 23) / (3.0 + block + role);
}

static double sum_at(const int64_t *cells) {
  double sum;
  memcpy(&sum, cells, sizeof sum);
  return sum;
}

/* cells[0] += the block's number, and it must be this one's turn among those that take turns. */
static int add_in_turn(const struct pto_kernel_args *args, int64_t turn) {
  int64_t *cells = waiting_cells(args);
  double sum = sum_at(cells) + number_of(args->core->block_index, args->core->role);
  memcpy(cells, &sum, sizeof sum);
  if (cells[1]++ == turn) return 0;
  return pto_kernel_error(args, "block %u role %u has turn %d instead of %d", args->core->block_index, args->core->role,
                          (int)cells[1] - 1, (int)turn);
}

/* Takes time, in a way that no compiler shortens. */
static int spin(const struct pto_kernel_args *args, uint32_t rounds) {
  double x = 1;
  for (uint32_t i = 0; i < rounds; i++) x = x * 0.5 + 1;
  return x > 3 ? pto_kernel_error(args, "arithmetic is broken") : 0;
}

/* Of another length in each block, and in virtual time too. */
static int work_unequally(const struct pto_kernel_args *args) {
  uint32_t length = (args->core->block_index * 37 + args->core->role * 11) % 53;
  const struct pto_cost work = {.vector_elems = 2000 * length, .multiply_adds = 2000 * length};
  int status = spin(args, 500 * length);
  return status != 0 ? status : pto_core_work(args, &work);
}

static void expect_sum(const int64_t *cells, uint32_t tasks, uint32_t blocks, uint32_t roles) {
  double sum = 0;
  uint32_t turns = 0;
  for (uint32_t task = 0; task < tasks; task++)
    for (uint32_t block = 0; block < blocks; block++)
      for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
        if (!(roles & PTO_ROLE_BIT(role))) continue;
        sum += number_of(block, role);
        turns++;
      }
  assert_int_equal(cells[1], turns);
  assert_memory_equal(cells, &sum, sizeof sum);
}

/* ---- blocks of one core ---- */

static int sum_alone(const struct pto_kernel_args *args) {
  int status = work_unequally(args);
  if (status == 0) status = pto_core_turn(args);
  return status != 0 ? status : add_in_turn(args, args->core->block_index);
}
static void check_alone_1(const int64_t *cells) { expect_sum(cells, 1, 1, AIC); }
static void check_alone_2(const int64_t *cells) { expect_sum(cells, 1, 2, AIV0); }
static void check_alone_7(const int64_t *cells) { expect_sum(cells, 1, 7, AIV1); }
static void check_alone_48(const int64_t *cells) { expect_sum(cells, 1, 48, AIV0); }
static void check_alone_100(const int64_t *cells) { expect_sum(cells, 1, 100, AIC); }

/* The second call in a block does nothing. */
static int ask_three_times(const struct pto_kernel_args *args) {
  int status = pto_core_turn(args);
  if (status == 0) status = add_in_turn(args, args->core->block_index);
  if (status == 0) status = pto_core_turn(args);
  return status != 0 ? status : pto_core_turn(args);
}

/* Blocks that have nothing to add need not ask. */
static int every_third_asks(const struct pto_kernel_args *args) {
  int status = work_unequally(args);
  if (status != 0 || args->core->block_index % 3 != 0) return status;
  status = pto_core_turn(args);
  return status != 0 ? status : add_in_turn(args, args->core->block_index / 3);
}
static void check_thirds(const int64_t *cells) {
  double sum = 0;
  for (uint32_t block = 0; block < 48; block += 3) sum += number_of(block, PTO_ROLE_AIV0);
  assert_int_equal(cells[1], 16);
  assert_memory_equal(cells, &sum, sizeof sum);
}

/* A kernel that knows nothing of turns: its blocks run one after another. */
static int add_plainly(const struct pto_kernel_args *args) { return add_in_turn(args, args->core->block_index); }

/* Successive tasks into the same cells: all of one before any of the next. */
static int sum_successively(const struct pto_kernel_args *args) {
  int status = work_unequally(args);
  if (status == 0) status = pto_core_turn(args);
  return status != 0 ? status : add_in_turn(args, (int64_t)waiting_task(args) * 9 + args->core->block_index);
}
static int submit_successors(struct pto_runtime *rt, const struct waiting_case *c) {
  struct pto_tensor cells = waiting_cells_tensor(rt, 0);
  struct pto_launch launch = waiting_launch(c);
  int status = PTO_OK;
  for (uint32_t i = 0; i < 30 && status == PTO_OK; i++) {
    const struct pto_param params[] = {pto_accumulate(&cells), pto_scalar_u64(i)};
    status = pto_submit(rt, &launch, params, 2, NULL);
  }
  return status;
}
static void check_successors(const int64_t *cells) { expect_sum(cells, 30, 9, AIV0); }

/* ---- blocks of several cores ---- */

/* Within a block the roles take turns too. */
static int sum_in_roles(const struct pto_kernel_args *args) {
  int status = work_unequally(args);
  if (status == 0) status = pto_core_turn(args);
  return status != 0 ? status : add_in_turn(args, 3 * (int64_t)args->core->block_index + args->core->role);
}
static void check_roles_12(const int64_t *cells) { expect_sum(cells, 1, 12, WAITING_ALL); }

/* AIV1 alone takes turns: it comes after every core of the blocks before.  Tensor 1 says who is done. */
static int sum_after_all(const struct pto_kernel_args *args) {
  int64_t *done = args->tensors[1].addr;
  uint32_t role = args->core->role, block = args->core->block_index;
  int status = 0;
  if (role != PTO_ROLE_AIV1) {
    status = spin(args, 20000);
    done[block * PTO_ROLE_COUNT + role] = 1;
    return status;
  }
  status = pto_core_turn(args);
  for (uint32_t i = 0; i < block && status == 0; i++)
    for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++)
      if (!done[i * PTO_ROLE_COUNT + k]) return pto_kernel_error(args, "block %u has not returned", i);
  done[block * PTO_ROLE_COUNT + role] = 1;
  return status != 0 ? status : add_in_turn(args, block);
}
static int submit_before_turns(struct pto_runtime *rt, const struct waiting_case *c) {
  static const struct pto_kernel_param plain_params[] = {{.name = "sum", .mode = PTO_UNUSED},
                                                         {.name = "done", .mode = PTO_INOUT}},
                                       params[] = {{.name = "sum", .mode = PTO_ACCUMULATE},
                                                   {.name = "done", .mode = PTO_INOUT}};
  static const struct pto_kernel plain = {
      .name = "plain", .cores = PTO_AIC | PTO_AIV, .params = plain_params, .param_count = 2, .run = sum_after_all};
  static const struct pto_kernel last = {.name = "last",
                                         .cores = PTO_AIV,
                                         .flags = PTO_KERNEL_TURNS,
                                         .params = params,
                                         .param_count = 2,
                                         .run = sum_after_all};
  const struct pto_launch launch = {.aic = &plain, .aiv0 = &plain, .aiv1 = &last, .block_count = c->blocks};
  int status = PTO_OK;
  for (uint32_t i = 0; i < c->tasks && status == PTO_OK; i++) {
    struct pto_tensor cells = waiting_cells_tensor(rt, i), done = waiting_cells_tensor(rt, 100 + i);
    status = pto_submit(rt, &launch, (struct pto_param[]){pto_accumulate(&cells), pto_inout(&done)}, 2, NULL);
  }
  return status;
}
static void check_last_12(const int64_t *cells) { expect_sum(cells, 1, 12, AIV1); }

/* The AIC makes a product, an AIV adds it in its turn. */
static int push_and_sum(const struct pto_kernel_args *args) {
  double product = 0;
  int status = 0;
  if (args->core->role == PTO_ROLE_AIC) {
    product = number_of(args->core->block_index, PTO_ROLE_AIV0);
    status = work_unequally(args);
    return status != 0 ? status : pto_core_push(args, PTO_ROLE_AIV0, &product, sizeof product);
  }
  status = pto_core_pop(args, PTO_ROLE_AIC, &product, sizeof product);
  if (status == 0) status = pto_core_turn(args);
  if (status != 0) return status;
  if (product == number_of(args->core->block_index, PTO_ROLE_AIV0)) return add_in_turn(args, args->core->block_index);
  return pto_kernel_error(args, "another block's product");
}
static int submit_products(struct pto_runtime *rt, const struct waiting_case *c) {
  static const struct pto_kernel_param params[] = {{.name = "cells", .mode = PTO_UNUSED},
                                                   {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
  static const struct pto_kernel maker = {.name = "maker",
                                          .cores = PTO_AIC,
                                          .flags = PTO_KERNEL_WAITS,
                                          .params = params,
                                          .param_count = 2,
                                          .run = push_and_sum};
  struct pto_launch launch = waiting_launch(c);
  launch.aic = &maker;
  int status = PTO_OK;
  for (uint32_t i = 0; i < c->tasks && status == PTO_OK; i++) status = waiting_submit(rt, c, &launch, i);
  return status;
}
static void check_products(const int64_t *cells) { expect_sum(cells, 1, 20, AIV0); }

/* The AIC reads the sum before its AIV adds to it, and knows of no turns: so it must see the sums of the blocks before,
 * and its block cannot begin before they are over. */
static int read_and_sum(const struct pto_kernel_args *args) {
  uint32_t block = args->core->block_index;
  if (args->core->role == PTO_ROLE_AIC) {
    int64_t turns = waiting_cells(args)[1];
    if (turns != block) return pto_kernel_error(args, "block %u sees %d turns", block, (int)turns);
    return pto_core_push(args, PTO_ROLE_AIV0, &turns, sizeof turns);
  }
  int64_t turns = 0;
  int status = pto_core_pop(args, PTO_ROLE_AIC, &turns, sizeof turns);
  if (status == 0) status = pto_core_turn(args);
  return status != 0 ? status : add_in_turn(args, turns);
}
static int submit_readers(struct pto_runtime *rt, const struct waiting_case *c) {
  static const struct pto_kernel_param params[] = {{.name = "cells", .mode = PTO_INPUT},
                                                   {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
  static const struct pto_kernel reader = {.name = "reader",
                                           .cores = PTO_AIC,
                                           .flags = PTO_KERNEL_WAITS,
                                           .params = params,
                                           .param_count = 2,
                                           .run = read_and_sum};
  struct pto_launch launch = waiting_launch(c);
  launch.aic = &reader;
  int status = PTO_OK;
  for (uint32_t i = 0; i < c->tasks && status == PTO_OK; i++) status = waiting_submit(rt, c, &launch, i);
  return status;
}

/* Blocks that start together meet first, then take turns; each sees what the one before it left. */
static int meet_and_sum(const struct pto_kernel_args *args) {
  int64_t *cells = waiting_cells(args);
  int64_t cores = args->core->block_count * (args->core->block_count == 2 ? 1 : PTO_ROLE_COUNT);
  int64_t place = cores == args->core->block_count ? args->core->block_index
                                                   : 3 * (int64_t)args->core->block_index + args->core->role;
  cells[16 + place] = 1;
  int status = pto_core_barrier(args);
  for (int64_t i = 0; i < cores && status == 0; i++)
    if (!cells[16 + i]) return pto_kernel_error(args, "core %d has not come", (int)i);
  if (status == 0) status = pto_core_turn(args);
  return status != 0 ? status : add_in_turn(args, place);
}
static void check_roles_24(const int64_t *cells) { expect_sum(cells, 1, 24, WAITING_ALL); }

#define ALONE(blocks_, roles_)                                                                                         \
  .run = sum_alone, .roles = roles_, .flags = PTO_KERNEL_TURNS, .mode = PTO_ACCUMULATE, .blocks = blocks_,             \
  .check = check_alone_##blocks_

static const struct waiting_case cases[] = {
    {.name = "a single block has its turn", ALONE(1, AIC)},
    {.name = "two blocks take turns", ALONE(2, AIV0)},
    {.name = "seven blocks of twenty tasks take turns", ALONE(7, AIV1), .tasks = 20},
    {.name = "48 blocks take turns", ALONE(48, AIV0), .tasks = 6},
    {.name = "a hundred blocks take turns", ALONE(100, AIC)},
    {.name = "the second call in a block does nothing",
     .run = ask_three_times,
     .roles = AIV0,
     .flags = PTO_KERNEL_TURNS,
     .mode = PTO_ACCUMULATE,
     .blocks = 48,
     .check = check_alone_48},
    {.name = "blocks that do not ask hold up none",
     .run = every_third_asks,
     .roles = AIV0,
     .flags = PTO_KERNEL_TURNS,
     .mode = PTO_ACCUMULATE,
     .blocks = 48,
     .check = check_thirds},
    {.name = "blocks that know of no turns accumulate in order",
     .run = add_plainly,
     .roles = AIV0,
     .plain_roles = AIV0,
     .mode = PTO_ACCUMULATE,
     .blocks = 48,
     .check = check_alone_48},
    {.name = "blocks that wait but know of no turns accumulate in order",
     .run = add_plainly,
     .roles = AIV0,
     .mode = PTO_ACCUMULATE,
     .blocks = 48,
     .check = check_alone_48},
    {.name = "successive tasks accumulate in order",
     .run = sum_successively,
     .roles = AIV0,
     .flags = PTO_KERNEL_TURNS,
     .mode = PTO_ACCUMULATE,
     .blocks = 9,
     .tasks = 1,
     .submit = submit_successors,
     .check = check_successors},
    {.name = "the roles of a block take turns",
     .run = sum_in_roles,
     .flags = PTO_KERNEL_TURNS,
     .mode = PTO_ACCUMULATE,
     .blocks = 12,
     .tasks = 10,
     .check = check_roles_12},
    {.name = "a turn comes after all cores of the blocks before",
     .run = sum_after_all,
     .blocks = 12,
     .tasks = 5,
     .submit = submit_before_turns,
     .check = check_last_12},
    {.name = "what one core made another one adds in its turn",
     .run = push_and_sum,
     .roles = AIV0,
     .flags = PTO_KERNEL_TURNS | PTO_KERNEL_WAITS,
     .mode = PTO_ACCUMULATE,
     .blocks = 20,
     .tasks = 5,
     .submit = submit_products,
     .check = check_products},
    {.name = "who reads what is accumulated sees the sums of the blocks before",
     .run = read_and_sum,
     .roles = AIV0,
     .flags = PTO_KERNEL_TURNS,
     .mode = PTO_ACCUMULATE,
     .blocks = 20,
     .tasks = 5,
     .submit = submit_readers,
     .check = check_products},
    {.name = "two blocks that start together take turns",
     .run = meet_and_sum,
     .roles = AIV0,
     .flags = PTO_KERNEL_TURNS | PTO_KERNEL_WAITS,
     .mode = PTO_ACCUMULATE,
     .blocks = 2,
     .is_sync_start = true,
     .check = check_alone_2},
    {.name = "24 blocks of three cores that start together take turns",
     .run = meet_and_sum,
     .flags = PTO_KERNEL_TURNS | PTO_KERNEL_WAITS,
     .mode = PTO_ACCUMULATE,
     .blocks = 24,
     .is_sync_start = true,
     .clusters = 24,
     .check = check_roles_24},
};

int main(void) { return waiting_run_cases("waiting turns", cases, PTO_ARRAY_LENGTH(cases)); }
