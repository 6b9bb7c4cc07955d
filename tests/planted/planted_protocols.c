/* SPDX-License-Identifier: MIT */
/*
 * Protocols between cores of a task that a glance takes for right: one that only some calls keep to, one that leans on
 * another core's turn, a wait for more than comes, a signal that goes to another core, two locks.
 *
 * Kernels have the parameters of planted_rows.h, and those of several calls the number of a tile.
 */
#include <tests/planted/planted_rows.h>

#define TILES 8u

#define BUGS(X)                                                                                                        \
  X(last_tile, "the last of eight calls takes the branch without a signal")                                            \
  X(turn_of_other, "AIV1 adds behind a signal of AIV0, which comes before that one's turn")                            \
  X(drained, "AIV0 waits for one answer more than AIV1 gives")                                                         \
  X(own_flag, "AIV0 signals a flag of its own, not AIV1's")                                                            \
  X(two_locks, "the cores take two locks in opposite order")

static int last_tile_run(const struct pto_kernel_args *a) {
  const uint64_t tile = a->scalars[1].u64;
  const bool tells = !BUG || tile + 1 < TILES;
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    write_row(a, tile, 5);
    return tells ? TELL(AIV1, 0) : 0;
  }
  if (tells) TRY(TAKE(0));
  return status != 0 ? status : say(a, 0, sum_row(a, tile));
}

/* Each adds to every other element: the turn of AIV0 is the block's. */
static int turn_of_other_run(const struct pto_kernel_args *a) {
  uint32_t *sum = a->tensors[0].addr;
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1;
  int status = 0;
  if (BUG && !own) TRY(TELL(AIV1, 0));
  if (!own) TRY(pto_core_turn(a));
  if (!BUG && !own) TRY(TELL(AIV1, 0));
  if (own) TRY(TAKE(0));
  for (uint32_t j = own; j < COLUMNS && status == 0; j += 2) sum[j] += 7 * a->core->block_index + 1;
  return status;
}

/* Two rows in turn; at the end AIV0 takes the answers that are left. */
static int drained_run(const struct pto_kernel_args *a) {
  enum { COUNT = 5, ROWS = 2 };
  uint32_t sum = 0;
  int status = 0;
  for (uint32_t i = 0; i < COUNT && status == 0; i++)
    if (role_of(a) == PTO_ROLE_AIV0) {
      if (i >= ROWS) TRY(TAKE(1));
      if (status == 0) write_row(a, i % ROWS, 10 * i);
      TRY(TELL(AIV1, 0));
    } else {
      TRY(TAKE(0));
      if (status == 0) sum = 3 * sum + sum_row(a, i % ROWS);
      TRY(TELL(AIV0, 1));
    }
  for (uint32_t i = 0; i < (BUG ? ROWS + 1 : ROWS) && role_of(a) == PTO_ROLE_AIV0; i++) TRY(TAKE(1));
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

static int own_flag_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    write_row(a, 0, 5);
    return BUG ? TELL(AIV0, 0) : TELL(AIV1, 0);
  }
  TRY(TAKE(0));
  return status != 0 ? status : say(a, 0, sum_row(a, 0));
}

static int take_lock(const struct pto_kernel_args *a, uint32_t *lock) {
  int status = 0;
  while (status == 0 && __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0) status = pto_core_yield(a, false);
  return status;
}
static int two_locks_run(const struct pto_kernel_args *a) {
  static const struct pto_cost some = {.vector_elems = 16};
  uint32_t *locks;
  int status = pto_core_shared(a, 1, 3 * sizeof *locks, (void **)&locks);
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1, first = BUG ? own : 0;
  TRY(take_lock(a, &locks[first]));
  TRY(pto_core_work(a, &some));
  TRY(take_lock(a, &locks[!first]));
  if (status != 0) return status;
  locks[2] += 1 + own;
  __atomic_store_n(&locks[!first], 0, __ATOMIC_RELEASE);
  __atomic_store_n(&locks[first], 0, __ATOMIC_RELEASE);
  return own ? say(a, 0, 1) : 0;
}

/* ---- submits ---- */

static const struct pto_kernel_param of_rows[] = {ANY("x", PTO_INOUT), ANY("z", PTO_OUTPUT), U64("mistake")};
static const struct pto_kernel_param of_tile[] = {ANY("x", PTO_INOUT), ANY("z", PTO_OUTPUT), U64("mistake"),
                                                  U64("tile")};
static const struct pto_kernel_param of_sum[] = {ANY("sum", PTO_ACCUMULATE), U64("mistake")};

#define KERNEL(name_, flags_, list)                                                                                    \
  {                                                                                                                    \
    .name = #name_, .cores = PTO_AIV, .flags = flags_, .params = list, .param_count = sizeof(list) / sizeof *(list),   \
    .run = name_##_run                                                                                                 \
  }
#define OF_CLUSTER(name)                                                                                               \
  static const struct pto_kernel name##_kernel = KERNEL(name, PTO_KERNEL_WAITS, of_rows);                              \
  static void name(struct planted *p) {                                                                                \
    struct pto_tensor x = array_x(p), z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));                      \
    const struct pto_launch launch = {.aiv0 = &name##_kernel, .aiv1 = &name##_kernel};                                 \
    put(p, launch, PARAMS(pto_inout(&x), pto_output(&z), pto_scalar_u64(p->is_buggy)));                                \
  }
OF_CLUSTER(drained)
OF_CLUSTER(own_flag)
OF_CLUSTER(two_locks)

static const struct pto_kernel last_tile_kernel = KERNEL(last_tile, PTO_KERNEL_WAITS, of_tile);
static void last_tile(struct planted *p) {
  const struct pto_launch launch = {.aiv0 = &last_tile_kernel, .aiv1 = &last_tile_kernel};
  for (uint32_t tile = 0; tile < TILES; tile++) {
    struct pto_tensor x = array_x(p), z = slot(p, tile);
    put(p, launch, PARAMS(pto_inout(&x), pto_output(&z), pto_scalar_u64(p->is_buggy), pto_scalar_u64(tile)));
  }
}

static const struct pto_kernel turn_of_other_kernel =
    KERNEL(turn_of_other, PTO_KERNEL_TURNS | PTO_KERNEL_WAITS, of_sum);
static void turn_of_other(struct planted *p) {
  struct pto_tensor x = array_x(p), first = row_of(&x, 0);
  const struct pto_launch launch = {.aiv0 = &turn_of_other_kernel, .aiv1 = &turn_of_other_kernel, .block_count = 4};
  put(p, launch, PARAMS(pto_accumulate(&first), pto_scalar_u64(p->is_buggy)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_protocols", .summary = "protocols between cores that are not kept everywhere");
