/* SPDX-License-Identifier: MIT */
/*
 * Mistakes between ranks: in what kernels tell each other, and in what ranks submit.  For
 * tests/cli/planted_ranks_test.sh, which has what `ptosim check` has to say of each.
 *
 * What a kernel does: planted_talk.h.
 */
#include <tests/planted/planted_talk.h>

#include <pto/collectives.h>

#define BUGS(X)                                                                                                        \
  X(notify_missing, "the last rank does not notify")                                                                   \
  X(notify_before_data, "a rank notifies, and then puts")                                                              \
  X(wrong_epoch, "the second wait is for the first notify")                                                            \
  X(set_for_add, "those whom a signal counts set it")                                                                  \
  X(counts_itself, "a rank that waits for the others counts itself")                                                   \
  X(counts_all, "a rank waits for all, and its neighbour alone notifies it")                                           \
  X(one_signal_for_two, "a kernel waits twice for one value of a signal, once for data and once for an answer")        \
  X(wait_for_none, "a wait is for what the signal has from the beginning")                                             \
  X(set_by_two, "both neighbours set a signal, and the wait is for the first")                                         \
  X(other_peer, "each notifies the rank before it, not the one that it puts to")                                       \
  X(polls_for_less, "who polls takes less for enough, though it has met all")                                          \
  X(tests_for_more, "who tests counts itself, and goes on though that does not hold")                                  \
  X(polls_again, "the second poll is for the first notify")                                                            \
  X(other_signal, "the last rank notifies another signal, and who waits takes less for enough")                        \
  X(reads_beside, "who reads what came is not behind the task that waited for it")                                     \
  X(same_place, "the last rank puts where the one before it does")                                                     \
  X(window_reused, "a slot is put again before its reader has read it")                                                \
  X(reused_later, "a slot is taken for two: the sender waits for the reader of the put before the last")               \
  X(reused_at_once, "the sender waits for a value that the signal has from the beginning")                             \
  X(late_zeroing, "a rank fills its window while others put into it")                                                  \
  X(get_unwritten, "a get does not wait for who writes")                                                               \
  X(participation, "the last rank submits another all-reduce")                                                         \
  X(reduction, "the last rank adds up what the others take the maximum of")                                            \
  X(root, "the last rank takes another root")                                                                          \
  X(dtype, "the last rank has another dtype, of the same bytes")                                                       \
  X(count, "the last rank has fewer elements")                                                                         \
  X(capacity, "the last rank's experts take fewer rows")                                                               \
  X(false_edge, "a rank has a dependency that the others have the other way round")                                    \
  X(ring_off_by_one, "the last of a ring tells the second, not the first")                                             \
  X(group_split, "a rank asks in one group, and waits for the answer in the one before")                               \
  X(wait_without_group, "a kernel waits outside a group")                                                              \
  X(barrier_twice, "a rank counts itself twice at a barrier")                                                          \
  X(count_by_data, "each rank decides by data of its own how many collectives it submits")                             \
  X(barrier_within, "the last rank does not notify, and a core beside the one that waits for it is at a barrier")      \
  X(read_waits, "the host waits for what never comes, and the others submit a collective")                             \
  X(other_order, "the last rank gives the ranks of a communicator in another order")                                   \
  X(not_created, "the last rank does not come to a communicator")                                                      \
  X(skipped, "a predicate skips the last rank's task of a group")                                                      \
  X(passed, "a wait for equal comes when more has been notified")                                                      \
  X(get_beyond, "a get goes to the slot behind the one that the task declares")                                        \
  X(put_beyond, "a put goes to the slot behind the one that the task declares")                                        \
  X(source_beyond, "a put takes more than the task declares to read")                                                  \
  X(target_beyond, "a get brings more than the task declares to write")

/* ---- the mistakes ---- */

/* Each rank tells the next one. */
static void notify_missing(struct planted *p) {
  const struct talk t = begin_talk(p);
  const bool is_silent = p->is_buggy && is_last(&t);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL,
       DO(PUT(t.next, 0), is_silent ? DO_NOTHING : ADD(t.next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

static void notify_before_data(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint64_t first = p->is_buggy ? ADD(t.next, 0, 1) : PUT(t.next, 0);
  const uint64_t second = p->is_buggy ? PUT(t.next, 0) : ADD(t.next, 0, 1);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL, DO(first, second, WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

static void wrong_epoch(struct planted *p) {
  const struct talk t = begin_talk(p);
  for (uint32_t epoch = 1; epoch <= 2; epoch++) {
    talk(&t, "exchange", own_slots(&t, epoch, 1), NULL,
         DO(PUT(t.next, epoch), ADD(t.next, 0, 1), WAIT(0, p->is_buggy ? 1 : epoch)));
    read_slot(&t, epoch, epoch);
  }
}

static void wait_for_none(struct planted *p) {
  const struct talk t = begin_talk(p);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL, DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, p->is_buggy ? 0 : 1)));
  read_slot(&t, 0, 0);
}

static void set_by_two(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t before = (t.rank + t.ranks - 1) % t.ranks;
  const enum step tells = p->is_buggy ? DO_SET : DO_ADD;
  talk(&t, "exchange", own_slots(&t, 0, 2), NULL,
       DO(PUT(t.next, 0), PUT(before, 1), step_of(tells, t.next, 0, 1), step_of(tells, before, 0, 1),
          WAIT(0, p->is_buggy ? 1 : 2)));
  read_slot(&t, 0, 0);
  read_slot(&t, 1, 1);
}

static void other_peer(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t before = (t.rank + t.ranks - 1) % t.ranks;
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL,
       DO(PUT(t.next, 0), ADD(p->is_buggy ? before : t.next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

/* All come at one moment. */
static void polls_for_less(struct planted *p) {
  const struct talk t = begin_talk(p);
  if (t.rank == 0)
    talk(&t, "gather", own_slots(&t, 1, t.ranks - 1), NULL, DO(POLL(0, t.ranks - (p->is_buggy ? 2 : 1))));
  else
    talk(&t, "give", own_slots(&t, 0, 1), NULL, DO(PUT(0, t.rank), ADD(0, 0, 1)));
  for (uint32_t i = 1; i < t.ranks && t.rank == 0; i++) read_slot(&t, i, i);
}

static void tests_for_more(struct planted *p) {
  const struct talk t = begin_talk(p);
  if (t.rank == 0)
    talk(&t, "gather", own_slots(&t, 1, t.ranks - 1), NULL, DO(p->is_buggy ? TEST(0, t.ranks) : POLL(0, t.ranks - 1)));
  else
    talk(&t, "give", own_slots(&t, 0, 1), NULL, DO(PUT(0, t.rank), ADD(0, 0, 1)));
  for (uint32_t i = 1; i < t.ranks && t.rank == 0; i++) read_slot(&t, i, i);
}

static void polls_again(struct planted *p) {
  const struct talk t = begin_talk(p);
  for (uint32_t epoch = 1; epoch <= 2; epoch++) {
    talk(&t, "exchange", own_slots(&t, epoch, 1), NULL,
         DO(PUT(t.next, epoch), ADD(t.next, 0, 1), POLL(0, p->is_buggy ? 1 : epoch)));
    read_slot(&t, epoch, epoch);
  }
}

static void other_signal(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t signal = p->is_buggy && is_last(&t) ? 1 : 0;
  if (t.rank == 0)
    talk(&t, "gather", own_slots(&t, 1, t.ranks - 1), NULL, DO(WAIT(0, t.ranks - (p->is_buggy ? 2 : 1))));
  else
    talk(&t, "give", own_slots(&t, 0, 1), NULL, DO(PUT(0, t.rank), ADD(0, signal, 1)));
  for (uint32_t i = 1; i < t.ranks && t.rank == 0; i++) read_slot(&t, i, i);
}

static void reads_beside(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor slot = own_slots(&t, 0, 1);
  const struct pto_task waits =
      talk(&t, "exchange", own_slots(&t, 1, 1), NULL, DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, 1)));
  if (p->is_buggy)
    put_digest(p, &slot, 0);
  else
    put_digest_after(p, &slot, 0, waits);
}

static void set_for_add(struct planted *p) {
  const struct talk t = begin_talk(p);
  if (t.rank == 0)
    talk(&t, "gather", own_slots(&t, 1, t.ranks - 1), NULL, DO(WAIT(0, t.ranks - 1)));
  else
    talk(&t, "give", own_slots(&t, 0, 1), NULL, DO(PUT(0, t.rank), p->is_buggy ? SET(0, 0, 1) : ADD(0, 0, 1)));
  for (uint32_t i = 1; i < t.ranks && t.rank == 0; i++) read_slot(&t, i, i);
}

/* Two ranks each. */
static void one_signal_for_two(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t peer = t.rank ^ 1, answer = p->is_buggy ? 0 : 1;
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL,
       DO(PUT(peer, 0), ADD(peer, 0, 1), WAIT(0, 1), ADD(peer, answer, 1), WAIT(answer, 1)));
}

static void counts_itself(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t others = t.ranks - 1;
  talk(&t, "gather", own_slots(&t, 1, others), NULL,
       DO(t.rank ? ADD(0, 0, 1) : WAIT(0, p->is_buggy ? t.ranks : others)));
}

static void counts_all(struct planted *p) {
  const struct talk t = begin_talk(p);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL,
       DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, p->is_buggy && t.rank == 0 ? t.ranks - 1 : 1)));
  read_slot(&t, 0, 0);
}

static void same_place(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t to = p->is_buggy && is_last(&t) ? t.rank - 1 : t.rank;
  if (t.rank == 0)
    talk(&t, "gather", own_slots(&t, 1, t.ranks - 1), NULL, DO(WAIT(0, t.ranks - 1)));
  else
    talk(&t, "give", own_slots(&t, 0, 1), NULL, DO(PUT(0, to), ADD(0, 0, 1)));
  for (uint32_t i = 1; i < t.ranks && t.rank == 0; i++) read_slot(&t, i, i);
}

/* Rank 0 gives twice, by one slot of rank 1. */
static void window_reused(struct planted *p) {
  const struct talk t = begin_talk(p);
  struct pto_task has_read = {0};
  for (uint32_t epoch = 1; epoch <= 2; epoch++) {
    const bool waits = epoch == 2 && !p->is_buggy;
    if (t.rank == 0)
      talk(&t, "give", own_slots(&t, 1, 1), NULL, DO(waits ? WAIT(1, 1) : DO_NOTHING, PUT(1, 0), ADD(1, 0, 1)));
    if (t.rank != 1) continue;
    talk(&t, "take", own_slots(&t, 0, 1), epoch == 1 ? NULL : &has_read, DO(WAIT(0, epoch)));
    has_read = read_slot(&t, 0, epoch);
    if (epoch == 1 && !p->is_buggy) tell(&t, "free", &has_read, DO(ADD(0, 1, 1)));
  }
}

/* Rank 0 gives four times, by one slot of rank 1, and waits until `free_of(n)` of them are read before the n-th. */
static void give_by_one_slot(struct planted *p, uint32_t free_of(uint32_t n)) {
  const struct talk t = begin_talk(p);
  struct pto_task has_read = {0};
  for (uint32_t n = 0; n < 4; n++) {
    const uint64_t may = free_of(n) == UINT32_MAX ? DO_NOTHING : WAIT(1, free_of(n));
    if (t.rank == 0) talk(&t, "give", own_slots(&t, 1, 1), NULL, DO(may, PUT(1, 0), ADD(1, 0, 1)));
    if (t.rank != 1) continue;
    talk(&t, "take", own_slots(&t, 0, 1), n == 0 ? NULL : &has_read, DO(WAIT(0, n + 1)));
    has_read = read_slot(&t, 0, n);
    if (n < 3) tell(&t, "free", &has_read, DO(ADD(0, 1, 1)));
  }
}

static uint32_t all_before(uint32_t n) { return n == 0 ? UINT32_MAX : n; }
static uint32_t all_but_the_last(uint32_t n) { return n < 2 ? UINT32_MAX : n - 1; }
static uint32_t all_but_one(uint32_t n) { return n == 0 ? UINT32_MAX : n - 1; }
static void reused_later(struct planted *p) { give_by_one_slot(p, p->is_buggy ? all_but_the_last : all_before); }
static void reused_at_once(struct planted *p) { give_by_one_slot(p, p->is_buggy ? all_but_one : all_before); }

/* A barrier in between has all windows filled before any is put into. */
static void late_zeroing(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor whole = own_slots(&t, 0, 16);
  put_fill(p, &whole, 0);
  if (!p->is_buggy) meet_all(&t, NULL);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL, DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

static void get_unwritten(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor first = own_slots(&t, 0, 1);
  if (t.rank == 0) {
    const struct pto_task written = put_fill(p, &first, 7);
    tell(&t, "written", &written, DO(ADD(1, 0, 1)));
  }
  if (t.rank != 1) return;
  talk(&t, "fetch", first, NULL, DO(p->is_buggy ? DO_NOTHING : WAIT(0, 1), GET(0, 0)));
  read_slot(&t, 0, 0);
}

static void participation(struct planted *p) {
  struct pto_comm comm;
  const struct pto_tensor grid = array_x(p), in = row_of(&grid, 0), out = row_of(&grid, 1);
  const bool is_other = p->is_buggy && pto_runtime_rank(p->rt) + 1 == pto_runtime_rank_count(p->rt);
  note(p, pto_comm_create_for_collectives(p->rt, NULL, 0, SLOT_ELEMS * 4, &comm));
  if (p->status == PTO_OK)
    note(p, pto_submit_all_reduce(p->rt, comm, &in, &out, PTO_REDUCE_MAXIMUM,
                                  is_other ? PTO_ALL_REDUCE_TWO_PHASE : PTO_ALL_REDUCE_ONE_PHASE));
}

/* The last rank's collective says something else. */
struct collective {
  struct planted *p;
  struct pto_comm comm;
  struct pto_tensor in, out;
  bool is_other;
};

static struct collective begin_collective(struct planted *p) {
  struct collective c = {.p = p,
                         .is_other = p->is_buggy && pto_runtime_rank(p->rt) + 1 == pto_runtime_rank_count(p->rt)};
  const struct pto_tensor grid = array_x(p);
  c.in = row_of(&grid, 0);
  c.out = row_of(&grid, 1);
  note(p, pto_comm_create_for_collectives(p->rt, NULL, 0, SLOT_ELEMS * 64, &c.comm));
  return c;
}
static void reduce(const struct collective *c, enum pto_reduction reduction) {
  if (c->p->status == PTO_OK)
    note(c->p, pto_submit_all_reduce(c->p->rt, c->comm, &c->in, &c->out, reduction, PTO_ALL_REDUCE_ONE_PHASE));
}

static void reduction(struct planted *p) {
  const struct collective c = begin_collective(p);
  reduce(&c, c.is_other ? PTO_REDUCE_SUM : PTO_REDUCE_MAXIMUM);
}

static void root(struct planted *p) {
  const struct collective c = begin_collective(p);
  if (p->status == PTO_OK) note(p, pto_submit_broadcast(p->rt, c.comm, &c.in, &c.out, c.is_other ? 1 : 0));
}

static void dtype(struct planted *p) {
  struct collective c = begin_collective(p);
  if (c.is_other) c.in.dtype = c.out.dtype = PTO_INT32;
  reduce(&c, PTO_REDUCE_MAXIMUM);
}

static void count(struct planted *p) {
  struct collective c = begin_collective(p);
  if (c.is_other) c.in = box(&c.in, 0, 0, 1, SLOT_ELEMS / 2);
  if (c.is_other) c.out = box(&c.out, 0, 0, 1, SLOT_ELEMS / 2);
  reduce(&c, PTO_REDUCE_MAXIMUM);
}

/* Each round makes 3·v + 1 of v, which is the rank in the beginning. */
static void count_by_data(struct planted *p) {
  const struct collective c = begin_collective(p);
  put_fill(p, &c.in, pto_runtime_rank(p->rt));
  uint32_t value = 0;
  for (uint32_t round = 0; round < 4 && value < 30 && p->status == PTO_OK; round++) {
    put(p, PLAIN(step), PARAMS(pto_inout(&c.in)));
    reduce(&c, PTO_REDUCE_SUM);
    note(p, pto_read_element(p->rt, p->is_buggy ? &c.in : &c.out, (const uint64_t[]){0, 0}, &value));
  }
}

/* Block 0 tells the next rank and waits for the one before; then both blocks meet. */
static int meet_blocks(const struct pto_kernel_args *a) {
  const bool is_first = a->core->block_index == 0, tells = is_first && a->scalars[2].u64;
  int status = tells ? pto_core_notify(a, a->scalars[0].u64, (uint32_t)a->scalars[1].u64, 0, PTO_NOTIFY_ADD, 1) : 0;
  if (status == 0 && is_first) status = pto_core_wait_signal(a, a->scalars[0].u64, 0, PTO_IF_GE, 1);
  return status ? status : pto_core_barrier(a);
}
static const struct pto_kernel_param of_blocks[] = {U64("comm"), U64("next"), U64("tells")};
static const struct pto_kernel meet_blocks_kernel = {.name = "meet_blocks",
                                                     .cores = PTO_AIV,
                                                     .params = of_blocks,
                                                     .param_count = 3,
                                                     .run = meet_blocks,
                                                     .flags = PTO_KERNEL_REMOTE};
static void barrier_within(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_param params[] = {pto_scalar_u64(t.comm.id), pto_scalar_u64(t.next),
                                     pto_scalar_u64(!(p->is_buggy && is_last(&t)))};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &meet_blocks_kernel, .block_count = 2};
  if (p->status == PTO_OK) note(p, pto_submit_group(p->rt, t.comm, &launch, params, 3, NULL));
}

/* The last rank does not notify, so rank 0 does not come to the collective. */
static void read_waits(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct collective c = begin_collective(p);
  const struct pto_tensor z = slot(p, 0);
  const bool is_silent = p->is_buggy && is_last(&t);
  uint32_t value;
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL,
       DO(PUT(t.next, 0), is_silent ? DO_NOTHING : ADD(t.next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
  if (t.rank == 0 && p->status == PTO_OK) note(p, pto_read_element(p->rt, &z, (const uint64_t[]){0}, &value));
  reduce(&c, PTO_REDUCE_MAXIMUM);
}

static void not_created(struct planted *p) {
  if (!p->is_buggy || pto_runtime_rank(p->rt) + 1 < pto_runtime_rank_count(p->rt)) (void)begin_talk(p);
}

static void other_order(struct planted *p) {
  const bool is_turned = p->is_buggy && pto_runtime_rank(p->rt) + 1 == pto_runtime_rank_count(p->rt);
  const uint32_t ranks[] = {0, 1, 2, 3}, turned[] = {3, 2, 1, 0};
  struct pto_comm comm;
  note(p, pto_comm_create(p->rt, is_turned ? turned : ranks, 4, 0, 0, &comm));
}

/* Each notifies the next one, where the flag is 1. */
static void skipped(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = row_of(&grid, 0), flag = box(&grid, 1, 0, 1, 1),
                          own = own_slots(&t, 0, 1);
  const struct pto_task filled = put_fill(p, &flag, p->is_buggy && is_last(&t) ? 0 : 1);
  struct pto_param params[4 + STEPS];
  const uint32_t count = set_params(&t, &own, pto_input(&x), DO(ADD(t.next, 0, 1), WAIT(0, 1)), params);
  const struct pto_launch launch = {.size = sizeof launch,
                                    .aiv0 = &talk_kernel,
                                    .label = "exchange",
                                    .after = &filled,
                                    .after_count = 1,
                                    .predicate = {.tensor = &flag, .compare = PTO_IF_EQ, .value = 1}};
  if (p->status == PTO_OK) note(p, pto_submit_group(p->rt, t.comm, &launch, params, count, NULL));
}

/* Rank 0 comes late. */
static void passed(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = row_of(&grid, 0);
  for (uint32_t i = 0; i < 40 && t.rank == 0; i++) put(p, PLAIN(step), PARAMS(pto_inout(&x)));
  talk(&t, "gather", own_slots(&t, 0, 1), NULL,
       DO(t.rank ? ADD(0, 0, 1) : MEET(0, p->is_buggy ? t.ranks - 2 : t.ranks - 1)));
}

/* One expert a rank, to which the rank's own token goes. */
static void capacity(struct planted *p) {
  const struct collective c = begin_collective(p);
  const uint64_t rows[] = {1, c.is_other ? 4 : 8, 4}, one[] = {1};
  const struct pto_tensor grid = array_x(p), x = box(&grid, 0, 0, 1, 4);
  const struct pto_tensor received = box(&grid, 1, 0, rows[1] / 4, SLOT_ELEMS),
                          recv_x = pto_tensor_reshape(&received, 3, rows);
  const struct pto_tensor chosen = box(&grid, 3, 0, 1, 1), index = pto_tensor_reinterpret(&chosen, PTO_INT32);
  const struct pto_tensor counted = box(&grid, 4, 0, 1, 1), counts = pto_tensor_reinterpret(&counted, PTO_INT32),
                          recv_count = pto_tensor_reshape(&counts, 1, one);
  struct pto_moe_handle handle;
  put_fill(p, &index, pto_runtime_rank(p->rt));
  if (p->status == PTO_OK) note(p, pto_submit_moe_dispatch(p->rt, c.comm, &x, &index, &recv_x, &recv_count, &handle));
}

/* Two barriers, the second after the first; rank 0 has them the other way round. */
static void false_edge(struct planted *p) {
  const struct talk a = begin_talk(p), b = begin_talk(p);
  const bool is_turned = p->is_buggy && a.rank == 0;
  const struct pto_task before = meet_all(is_turned ? &b : &a, NULL);
  meet_all(is_turned ? &a : &b, &before);
}

static void ring_off_by_one(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint32_t next = p->is_buggy && is_last(&t) ? (t.rank + 2) % t.ranks : t.next;
  talk(&t, "ring", own_slots(&t, 0, 1), NULL, DO(PUT(next, 0), ADD(next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

/* The last rank asks all others, and each answers. */
static void group_split(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor own = own_slots(&t, 0, 1);
  if (!is_last(&t))
    talk(&t, "serve", own, NULL, DO(WAIT(0, 1), ADD(t.ranks - 1, 1, 1)));
  else if (p->is_buggy) {
    talk(&t, "answers", own, NULL, DO(WAIT(1, t.ranks - 1)));
    talk(&t, "ask", own, NULL, DO(ADD(0, 0, 1), ADD(1, 0, 1), ADD(2, 0, 1)));
  } else {
    talk(&t, "ask", own, NULL, DO(ADD(0, 0, 1), ADD(1, 0, 1), ADD(2, 0, 1), WAIT(1, t.ranks - 1)));
  }
}

static void wait_without_group(struct planted *p) {
  const struct talk t = begin_talk(p);
  const uint64_t *steps = DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, 1));
  if (p->is_buggy)
    tell(&t, "exchange", NULL, steps);
  else
    talk(&t, "exchange", own_slots(&t, 0, 1), NULL, steps);
}

/* Each gives to all; the last one comes late. */
static void barrier_twice(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = row_of(&grid, 0);
  const uint32_t counts = p->is_buggy && t.rank == 0 ? 2 : 1;
  uint64_t meet[STEPS] = {0};
  for (uint32_t i = 0; i < 40 && is_last(&t); i++) put(p, PLAIN(step), PARAMS(pto_inout(&x)));
  for (uint32_t i = 1; i < t.ranks; i++) meet[i - 1] = PUT((t.rank + i) % t.ranks, t.rank);
  for (uint32_t i = 1; i < t.ranks; i++) meet[t.ranks + i - 2] = ADD((t.rank + i) % t.ranks, 0, counts);
  meet[2 * t.ranks - 2] = WAIT(0, t.ranks - 1);
  talk(&t, "barrier", own_slots(&t, 0, t.ranks), NULL, meet);
  for (uint32_t i = 0; i < t.ranks; i++)
    if (i != t.rank) read_slot(&t, i, i);
}

/* From a slot that none writes; so only the bytes are wrong. */
static void get_beyond(struct planted *p) {
  const struct talk t = begin_talk(p);
  if (t.rank == 1) talk(&t, "fetch", own_slots(&t, p->is_buggy ? 0 : 1, 1), NULL, DO(GET(0, 1)));
}

static void put_beyond(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor window = pto_comm_peer(p->rt, t.comm, t.next, PTO_UINT32, 2, DO(16, SLOT_ELEMS));
  talk(&t, "give", box(&window, p->is_buggy ? 0 : 1, 0, 1, SLOT_ELEMS), NULL, DO(PUT(t.next, 1)));
}

/* Of x a put takes a row, and the task declares half of it. */
static void source_beyond(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor grid = array_x(p), x = box(&grid, 0, 0, 1, p->is_buggy ? SLOT_ELEMS / 2 : SLOT_ELEMS);
  talk_of(&t, "exchange", own_slots(&t, 0, 1), pto_input(&x), NULL, DO(PUT(t.next, 0), ADD(t.next, 0, 1), WAIT(0, 1)));
  read_slot(&t, 0, 0);
}

/* A get writes a row of a buffer, and the task declares half of it. */
static void target_beyond(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor copied = fresh(p, 2, SLOT_ELEMS), half = box(&copied, 0, 0, 1, SLOT_ELEMS / 2),
                          row = row_of(&copied, 0);
  put_fill(p, &copied, 1);
  talk_of(&t, "bring", own_slots(&t, 0, 1), pto_output(p->is_buggy ? &half : &row), NULL, DO(FETCH(t.next, 1)));
  put_digest(p, &half, 0);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_windows", .summary = "mistakes between ranks", .ranks = 4);
