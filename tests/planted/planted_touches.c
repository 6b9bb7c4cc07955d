/* SPDX-License-Identifier: MIT */
/*
 * Mistakes of kernels in a rank's own window, or in another rank's memory, which no task declares.  For
 * tests/cli/planted_ranks_test.sh, which has what `ptosim check --observe` has to say of each.
 */
#include <tests/planted/planted_talk.h>

#define BUGS(X)                                                                                                        \
  X(peer_slot, "a digest reads the slot behind its view, which another peer fills")                                    \
  X(whole_window, "a digest of two slots reads all of the window")                                                     \
  X(beyond_part, "a kernel writes beyond its part of the window")                                                      \
  X(through_input, "a kernel writes through an input that is a view of the window")                                    \
  X(left_part, "a kernel declares three slots, and leaves the last, which no peer fills")                              \
  X(left_for_reader, "a kernel leaves a slot that it declares, and another one reads it")                              \
  X(old_sum, "a kernel adds to what an output in the window held")                                                     \
  X(other_rank, "a kernel reads an array of another rank, whose address came by the window")                           \
  X(beyond_array, "a tensor is registered with a row more than its array has")

/* Elements of the first tensor, and as many behind it as the scalar says. */
static int digest_more_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *x = &a->tensors[0];
  const char *bytes = x->addr;
  uint32_t hash = 2166136261u;
  for (uint64_t i = 0; i < (element_count(x) + a->scalars[0].u64) * 4; i++)
    hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
  memcpy(a->tensors[1].addr, &hash, sizeof hash);
  return 0;
}
/* So many elements, whatever is declared. */
static int fill_count_run(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < a->scalars[0].u64; i++) {
    const uint32_t value = (uint32_t)(7 + i);
    memcpy((char *)a->tensors[0].addr + 4 * i, &value, sizeof value);
  }
  return 0;
}
/* z = the sum of x; and x[0], if the scalar says so. */
static int sum_run(const struct pto_kernel_args *a) {
  uint32_t sum = 0, value;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) {
    memcpy(&value, element(&a->tensors[0], i), sizeof value);
    sum += value;
  }
  memcpy(a->tensors[1].addr, &sum, sizeof sum);
  if (a->scalars[0].u64) memcpy(a->tensors[0].addr, &sum, sizeof sum);
  return 0;
}
/* z = x, added to what z held if the scalar says so. */
static int add_run(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < element_count(&a->tensors[1]); i++) {
    uint32_t sum = 0, value;
    if (a->scalars[0].u64) memcpy(&sum, element(&a->tensors[1], i), sizeof sum);
    memcpy(&value, element(&a->tensors[0], i), sizeof value);
    sum += value;
    memcpy(element(&a->tensors[1], i), &sum, sizeof sum);
  }
  return 0;
}
/* z = what is at the address that the first two elements of x are; or whether they are one. */
static int follow_run(const struct pto_kernel_args *a) {
  const uint32_t *at;
  memcpy(&at, a->tensors[0].addr, sizeof at);
  const uint32_t value = a->scalars[0].u64 ? *at : at != NULL;
  memcpy(a->tensors[1].addr, &value, sizeof value);
  return 0;
}

static const struct pto_kernel_param of_in_out_count[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("count")};
static const struct pto_kernel_param of_out_count[] = {ANY("z", PTO_OUTPUT), U64("count")};
static const struct pto_kernel digest_more = AIV_KERNEL("digest_more", of_in_out_count, digest_more_run);
static const struct pto_kernel fill_count = AIV_KERNEL("fill_count", of_out_count, fill_count_run);
static const struct pto_kernel sum = AIV_KERNEL("sum", of_in_out_count, sum_run);
static const struct pto_kernel add = AIV_KERNEL("add", of_in_out_count, add_run);
static const struct pto_kernel follow = AIV_KERNEL("follow", of_in_out_count, follow_run);

static void put_on_slots(const struct talk *t, const struct pto_kernel *kernel, struct pto_tensor slots,
                         uint64_t count) {
  const struct pto_tensor z = slot(t->p, 0);
  put(t->p, (struct pto_launch){.aiv0 = kernel}, PARAMS(pto_input(&slots), pto_output(&z), pto_scalar_u64(count)));
}
static struct pto_task put_fill_count(const struct talk *t, struct pto_tensor slots, uint64_t count) {
  return put(t->p, PLAIN(fill_count), PARAMS(pto_output(&slots), pto_scalar_u64(count)));
}

/* Each puts into a slot of all others, which is that of its rank. */
static void exchange_all(const struct talk *t) {
  uint64_t steps[STEPS] = {0};
  for (uint32_t i = 1; i < t->ranks; i++) steps[i - 1] = PUT((t->rank + i) % t->ranks, t->rank);
  for (uint32_t i = 1; i < t->ranks; i++) steps[t->ranks + i - 2] = ADD((t->rank + i) % t->ranks, 0, 1);
  steps[2 * t->ranks - 2] = WAIT(0, t->ranks - 1);
  talk(t, "exchange", own_slots(t, 0, t->ranks), NULL, steps);
}

/* ---- the mistakes ---- */

static void peer_slot(struct planted *p) {
  const struct talk t = begin_talk(p);
  exchange_all(&t);
  put_on_slots(&t, &digest_more, own_slots(&t, 1, 1), p->is_buggy ? SLOT_ELEMS : 0);
}

static void whole_window(struct planted *p) {
  const struct talk t = begin_talk(p);
  exchange_all(&t);
  put_on_slots(&t, &digest_more, own_slots(&t, 0, 2), p->is_buggy ? 14 * SLOT_ELEMS : 0);
}

static void beyond_part(struct planted *p) {
  const struct talk t = begin_talk(p);
  put_fill_count(&t, own_slots(&t, t.rank, 1), p->is_buggy ? SLOT_ELEMS + 1 : SLOT_ELEMS);
  exchange_all(&t);
  read_slot(&t, t.rank, 0);
}

static void through_input(struct planted *p) {
  const struct talk t = begin_talk(p);
  exchange_all(&t);
  put_on_slots(&t, &sum, own_slots(&t, (t.rank + 1) % t.ranks, 1), p->is_buggy);
}

/* The third slot is one that a peer fills, or none does. */
static void left_part(struct planted *p) {
  const struct talk t = begin_talk(p);
  put_fill_count(&t, own_slots(&t, 0, 3), 2 * SLOT_ELEMS);
  meet_all(&t, NULL);
  talk(&t, "exchange", own_slots(&t, 0, 1), NULL, DO(PUT(t.next, p->is_buggy ? 0 : 2), ADD(t.next, 0, 1), WAIT(0, 1)));
}

static void left_for_reader(struct planted *p) {
  const struct talk t = begin_talk(p);
  put_fill_count(&t, own_slots(&t, 0, 2), p->is_buggy ? SLOT_ELEMS : 2 * SLOT_ELEMS);
  read_slot(&t, 1, 0);
}

static void old_sum(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor from = own_slots(&t, t.next, 1), to = own_slots(&t, 8, 1);
  exchange_all(&t);
  put(p, PLAIN(add), PARAMS(pto_input(&from), pto_output(&to), pto_scalar_u64(p->is_buggy)));
  read_slot(&t, 8, 0);
}

static void other_rank(struct planted *p) {
  const struct talk t = begin_talk(p);
  const struct pto_tensor x = array_x(p);
  const char *addr = (const char *)pto_program_find(p->run, "x")->data + 4 * PLANTED_COLUMNS;
  uint32_t halves[2];
  memcpy(halves, &addr, sizeof halves);
  for (uint64_t i = 0; i < 2 && t.rank == 0; i++)
    note(p, pto_write_element(p->rt, &x, (const uint64_t[]){0, i}, &halves[i]));
  if (t.rank == 0) talk(&t, "give", own_slots(&t, 1, 1), NULL, DO(PUT(1, 0), ADD(1, 0, 1)));
  if (t.rank != 1) return;
  talk(&t, "take", own_slots(&t, 0, 1), NULL, DO(WAIT(0, 1)));
  put_on_slots(&t, &follow, own_slots(&t, 0, 1), p->is_buggy);
}

static void beyond_array(struct planted *p) {
  const struct talk t = begin_talk(p);
  void *const data = pto_program_find(p->run, "x")->data;
  const uint64_t shape[] = {p->is_buggy ? 17 : 16, 16};
  put_on_slots(&t, &follow, pto_external_tensor(p->rt, data, PTO_UINT32, 2, shape), 0);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_touches", .summary = "mistakes of kernels in the memory of ranks", .ranks = 4);
