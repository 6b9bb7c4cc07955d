/* SPDX-License-Identifier: MIT */
/*
 * More mistakes between ranks: signals that are set back, answers that are counted wrong, what is told before it is
 * there or of other bytes.  For tests/cli/planted_ranks_test.sh, as planted_windows.c.
 */
#include <tests/planted/planted_talk.h>

#define BUGS(X)                                                                                                        \
  X(set_back, "a rank sets its signal back to 0, and does not say so before the next rank notifies it again")          \
  X(set_behind, "a rank sets its signal back to 0 behind the answer that it has")                                      \
  X(tell_beside, "the task that notifies is not behind the one that puts")                                             \
  X(told_before, "a rank fills its part of a window in a task behind the one that tells of it")                        \
  X(early_relay, "a rank tells another one before it puts to a third, which that one tells")                           \
  X(one_answer_more, "a rank waits for one answer more than come, and two ranks have no part in it")                   \
  X(host_beside, "the host reads a slot that the task which waits for it does not declare")                            \
  X(peer_by_rank, "a peer of a communicator of some ranks is named by its rank, not by its place")                     \
  X(window_before, "who waits reads the window of the communicator before")                                            \
  X(counted_self, "each tells all and itself, and waits for the others alone")                                         \
  X(few_by_weight, "ranks add 1, 2 and 3, and a wait is for 5: it comes after the last two alone, if they are first")  \
  X(ring_again, "a ring that adds up in one kernel is begun again with its slots, which the next rank may still read") \
  X(one_of_blocks, "both blocks of a task put and notify, and the wait is for the first")                              \
  X(block_for_both, "the first block notifies for both of its task, with no barrier between")

/* Each step: a put to the next rank, and a signal that is 1 then and 0 behind it.  The answer comes behind that. */
static void exchange_and_reset(struct planted *p, bool answers, bool resets_first) {
  const struct talk t = begin_talk(p);
  const uint32_t before = (t.rank + t.ranks - 1) % t.ranks;
  const uint64_t answer = answers ? ADD(before, 1, 1) : DO_NOTHING, reset = SET(t.rank, 0, 0);
  for (uint32_t s = 0; s < 3; s++) {
    talk(&t, "exchange", own_slots(&t, s, 1), NULL,
         DO(PUT(t.next, s), ADD(t.next, 0, 1), WAIT(0, 1), resets_first ? reset : answer, resets_first ? answer : reset,
            answers ? WAIT(1, s + 1) : DO_NOTHING));
    read_slot(&t, s, s);
  }
}
static void set_back(struct planted *p) { exchange_and_reset(p, !p->is_buggy, true); }
static void set_behind(struct planted *p) { exchange_and_reset(p, true, !p->is_buggy); }

static void tell_beside(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = row_of(&grid, 0);
  struct pto_param params[4 + STEPS];
  const uint32_t count = set_params(&t, NULL, pto_input(&x), DO(PUT(t.next, 0)), params);
  const struct pto_task puts = put(p, (struct pto_launch){.aiv0 = &tell_kernel}, params, count);
  tell(&t, "flag", p->is_buggy ? NULL : &puts, DO(ADD(t.next, 0, 1)));
  talk(&t, "take", own_slots(&t, 0, 1), NULL, DO(WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

/* Each has a part, and gets those of the others: the task that does so declares all of them, and writes its own one
 * not. */
static void told_before(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor own = own_slots(&t, t.rank, 1);
  struct pto_task filled = {0};
  uint64_t all[STEPS] = {0}, gets[STEPS] = {WAIT(0, t.ranks - 1)};
  for (uint32_t i = 1; i < t.ranks; i++) {
    const uint32_t peer = (t.rank + i) % t.ranks;
    all[i - 1] = ADD(peer, 0, 1);
    gets[i] = GET(peer, peer);
  }
  if (!p->is_buggy) filled = put_fill(p, &own, 100 * t.rank);
  tell(&t, "ready", p->is_buggy ? NULL : &filled, all);
  if (p->is_buggy) put_fill(p, &own, 100 * t.rank);
  talk(&t, "gather", own_slots(&t, 0, t.ranks), NULL, gets);
  for (uint32_t i = 0; i < t.ranks; i++) read_slot(&t, i, i);
}

/* Rank 0 puts to rank 2, and rank 1 passes on that it has. */
static void early_relay(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint64_t *steps = p->is_buggy ? DO(ADD(1, 0, 1), PUT(2, 0)) : DO(PUT(2, 0), ADD(1, 0, 1));
  if (t.rank == 0) talk(&t, "give", own_slots(&t, 8, 1), NULL, steps);
  if (t.rank == 1) talk(&t, "relay", own_slots(&t, 8, 1), NULL, DO(WAIT(0, 1), ADD(2, 0, 1)));
  if (t.rank != 2) return;
  talk(&t, "take", own_slots(&t, 0, 1), NULL, DO(WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

/* Rank 0 gives four times by two slots of rank 1. */
static void one_answer_more(struct planted *p) {
  const struct talk t = begin_talk(p);
  struct pto_task has_read = {0};
  for (uint32_t n = 0; n < 4; n++) {
    if (t.rank == 0)
      talk(&t, "give", own_slots(&t, 8, 1), NULL,
           DO(n >= 2 ? WAIT(1, n - 1) : DO_NOTHING, PUT(1, n % 2), ADD(1, 0, 1),
              n == 3 ? WAIT(1, p->is_buggy ? 4 : 3) : DO_NOTHING));
    if (t.rank != 1) continue;
    talk(&t, "take", own_slots(&t, n % 2, 1), n == 0 ? NULL : &has_read, DO(WAIT(0, n + 1)));
    has_read = read_slot(&t, n % 2, n);
    if (n < 3) tell(&t, "free", &has_read, DO(ADD(0, 1, 1)));
  }
}

static void host_beside(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor window_slot = own_slots(&t, 0, 1), z = slot(p, 0);
  uint32_t value = 0;
  talk(&t, "exchange", own_slots(&t, p->is_buggy ? 1 : 0, 1), NULL, DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, 1)));
  if (p->status == PTO_OK) note(p, pto_read_element(p->rt, &window_slot, (const uint64_t[]){0, 3}, &value));
  put_fill(p, &z, value);
}

/* Of ranks 1 to 3.  The slot is the place of the sender. */
static void peer_by_rank(struct planted *p) {
  const uint32_t ranks[] = {1, 2, 3}, rank = pto_runtime_rank(p->rt);
  struct talk t = {.p = p, .ranks = 3};
  if (rank == 0) return;
  note(p, pto_comm_create(p->rt, ranks, 3, 16 * SLOT_ELEMS * 4, 16, &t.comm));
  t.rank = pto_comm_place(p->rt, t.comm);
  const uint32_t next = ((p->is_buggy ? rank : t.rank) + 1) % 3, before = (t.rank + 2) % 3;
  talk(&t, "ring", own_slots(&t, before, 1), NULL, DO(PUT(next, t.rank), ADD(next, 0, 1), WAIT(0, 1)));
  read_slot(&t, before, 0);
}

static void window_before(struct planted *p) {
  const struct talk t = begin_talk(p);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL, DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
  const struct talk u = begin_talk(p), *of = p->is_buggy ? &t : &u;
  talk(&u, "exchange", own_slots(of, 1, 1), NULL, DO(PUT(u.next, 1), ADD(u.next, 0, 1), WAIT(0, 1)));
  read_slot(of, 1, 1);
}

/* The own notify comes before those of others, or behind. */
static void counted_self(struct planted *p) {
  const struct talk t = begin_talk(p);
  uint64_t steps[STEPS] = {0};
  for (uint32_t i = 0; i < t.ranks; i++) steps[1 + i] = ADD((t.rank + i + t.rank % 2) % t.ranks, 0, 1);
  steps[0] = PUT(t.next, 0);
  steps[1 + t.ranks] = WAIT(0, p->is_buggy ? t.ranks - 1 : t.ranks);
  talk(&t, "all", own_slots(&t, 0, 1), NULL, steps);
  read_slot(&t, 0, 0);
}

/* Each adds as many as it gives. */
static void few_by_weight(struct planted *p) {
  const struct talk t = begin_talk(p);
  if (t.rank == 0)
    talk(&t, "take", own_slots(&t, 1, 3), NULL, DO(WAIT(0, p->is_buggy ? 5 : 6)));
  else
    talk(&t, "give", own_slots(&t, 8, 1), NULL, DO(PUT(0, t.rank), ADD(0, 0, t.rank)));
  for (uint32_t i = 1; i < t.ranks && t.rank == 0; i++) read_slot(&t, i, i);
}

/* Each block puts half of a slot to the next rank.  Scalars: communicator, next, what is waited for, and who notifies:
 * both, or block 0; if that is 2, behind a barrier. */
static int halves_run(const struct pto_kernel_args *a) {
  static const uint64_t shape = SLOT_ELEMS / 2, stride = 1;
  const uint64_t comm = a->scalars[0].u64, who = a->scalars[3].u64;
  const uint32_t next = (uint32_t)a->scalars[1].u64, at = a->core->block_index * SLOT_ELEMS * 2;
  const bool is_first = a->core->block_index == 0;
  void *window;
  int status = pto_core_window(a, comm, next, &window);
  if (status != 0) return status;
  status = pto_core_put(a, &(struct pto_kernel_tensor){(char *)window + at, &shape, &stride, 1, PTO_UINT32},
                        &(struct pto_kernel_tensor){(char *)a->tensors[1].addr + at, &shape, &stride, 1, PTO_UINT32});
  if (status == 0 && who == 2) status = pto_core_barrier(a);
  if (status == 0 && (who == 0 || is_first)) status = pto_core_notify(a, comm, next, 0, PTO_NOTIFY_ADD, 1);
  if (status == 0 && is_first) status = pto_core_wait_signal(a, comm, 0, PTO_IF_GE, (int32_t)a->scalars[2].u64);
  return status;
}
static const struct pto_kernel_param of_halves[] = {ANY("own", PTO_INOUT), ANY("x", PTO_INPUT), U64("comm"),
                                                    U64("next"),           U64("value"),        U64("who")};
static const struct pto_kernel halves_kernel = {.name = "halves",
                                                .cores = PTO_AIV,
                                                .params = of_halves,
                                                .param_count = 6,
                                                .run = halves_run,
                                                .flags = PTO_KERNEL_REMOTE};
static void put_halves(struct planted *p, uint32_t value, uint32_t who) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = row_of(&grid, 0), own = own_slots(&t, 0, 1);
  const struct pto_param params[] = {pto_inout(&own),        pto_input(&x),         pto_scalar_u64(t.comm.id),
                                     pto_scalar_u64(t.next), pto_scalar_u64(value), pto_scalar_u64(who)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &halves_kernel, .block_count = 2};
  if (p->status == PTO_OK) note(p, pto_submit_group(p->rt, t.comm, &launch, params, 6, NULL));
  read_slot(&t, 0, 0);
}
static void one_of_blocks(struct planted *p) { put_halves(p, p->is_buggy ? 1 : 2, 0); }
static void block_for_both(struct planted *p) { put_halves(p, 1, p->is_buggy ? 1 : 2); }

/* A ring that adds up, a step a slot; where `all_wait`, all wait for all behind it.  Scalars: communicator, rank, how
 * many rings came before, whether they do.  Tensors: the own slots, and a row of x for each rank. */
static int ring_run(const struct pto_kernel_args *a) {
  enum { RANKS = 4 };
  static const uint64_t shape = SLOT_ELEMS, stride = 1;
  const uint64_t comm = a->scalars[0].u64;
  const uint32_t rank = (uint32_t)a->scalars[1].u64, next = (rank + 1) % RANKS;
  const int32_t before = (int32_t)a->scalars[2].u64;
  uint32_t *x = a->tensors[1].addr, *slots = a->tensors[0].addr;
  void *window;
  int status = pto_core_window(a, comm, next, &window);
  for (uint32_t s = 0; s + 1 < RANKS && status == 0; s++) {
    uint32_t *gives = x + (rank + RANKS - s) % RANKS * SLOT_ELEMS;
    uint32_t *takes = x + (rank + RANKS - s - 1) % RANKS * SLOT_ELEMS;
    status = pto_core_put(
        a, &(struct pto_kernel_tensor){(uint32_t *)window + s * SLOT_ELEMS, &shape, &stride, 1, PTO_UINT32},
        &(struct pto_kernel_tensor){gives, &shape, &stride, 1, PTO_UINT32});
    if (status == 0) status = pto_core_notify(a, comm, next, 0, PTO_NOTIFY_ADD, 1);
    if (status == 0) status = pto_core_wait_signal(a, comm, 0, PTO_IF_GE, before * (RANKS - 1) + (int32_t)s + 1);
    for (uint32_t j = 0; j < SLOT_ELEMS && status == 0 && pto_core_computes(a); j++)
      takes[j] += slots[s * SLOT_ELEMS + j];
  }
  for (uint32_t i = 1; i < RANKS && status == 0 && a->scalars[3].u64; i++)
    status = pto_core_notify(a, comm, (rank + i) % RANKS, 1, PTO_NOTIFY_ADD, 1);
  if (status == 0 && a->scalars[3].u64)
    status = pto_core_wait_signal(a, comm, 1, PTO_IF_GE, (before + 1) * (RANKS - 1));
  return status;
}
static const struct pto_kernel_param of_ring[] = {ANY("own", PTO_INOUT), ANY("x", PTO_INOUT), U64("comm"),
                                                  U64("rank"),           U64("before"),       U64("all_wait")};
static const struct pto_kernel ring_kernel = {
    .name = "ring", .cores = PTO_AIV, .params = of_ring, .param_count = 6, .run = ring_run, .flags = PTO_KERNEL_REMOTE};
static void ring_again(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = box(&grid, 0, 0, 4, SLOT_ELEMS), own = own_slots(&t, 0, 3);
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &ring_kernel};
  for (uint64_t i = 0; i < 2; i++) {
    const struct pto_param params[] = {pto_inout(&own),        pto_inout(&x),     pto_scalar_u64(t.comm.id),
                                       pto_scalar_u64(t.rank), pto_scalar_u64(i), pto_scalar_u64(!p->is_buggy)};
    if (p->status == PTO_OK) note(p, pto_submit_group(p->rt, t.comm, &launch, params, 6, NULL));
  }
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_exchange", .summary = "more mistakes between ranks", .ranks = 4);
