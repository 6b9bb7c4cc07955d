/* SPDX-License-Identifier: MIT */
/*
 * What planted programs of several ranks share: kernels that talk to other ranks.
 *
 * A kernel does the steps that its scalars say, one after another: so a case reads as what each rank tells whom.
 * Windows have 16 slots of 16 numbers; a put is of the first row of x.
 */
#ifndef PTO_PLANTED_TALK_H
#define PTO_PLANTED_TALK_H

#include <tests/planted/planted.h>

#include <pto/remote.h>
#include <pto/world.h>

#define STEPS 7u
#define SLOT_ELEMS 16u

/* ---- steps ---- */

enum step { DO_NOTHING = 0, DO_PUT, DO_GET, DO_FETCH, DO_ADD, DO_SET, DO_WAIT, DO_MEET, DO_POLL, DO_TEST };
/* `what` is a slot, or a signal. */
static inline uint64_t step_of(enum step kind, uint32_t peer, uint32_t what, uint32_t value) {
  return (uint64_t)kind | (uint64_t)peer << 8 | (uint64_t)what << 16 | (uint64_t)value << 32;
}
#define PUT(peer, slot) step_of(DO_PUT, peer, slot, 0)
#define GET(peer, slot) step_of(DO_GET, peer, slot, 0)
#define FETCH(peer, slot) step_of(DO_FETCH, peer, slot, 0) /* a get into x */
#define ADD(peer, signal, value) step_of(DO_ADD, peer, signal, value)
#define SET(peer, signal, value) step_of(DO_SET, peer, signal, value)
#define WAIT(signal, value) step_of(DO_WAIT, 0, signal, value)
#define POLL(signal, value) step_of(DO_POLL, 0, signal, value) /* a wait by tests */
#define TEST(signal, value) step_of(DO_TEST, 0, signal, value) /* late and once, whatever it says */
#define MEET(signal, value) step_of(DO_MEET, 0, signal, value) /* a wait for equal */

/* Slot of a window, of this rank or of another. */
static inline int slot_at(const struct pto_kernel_args *a, uint32_t peer, uint32_t which,
                          struct pto_kernel_tensor *slot) {
  static const uint64_t shape = SLOT_ELEMS, stride = 1;
  void *window = NULL;
  const int status = pto_core_window(a, a->scalars[0].u64, peer, &window);
  *slot = (struct pto_kernel_tensor){(char *)window + which * SLOT_ELEMS * 4, &shape, &stride, 1, PTO_UINT32};
  return status;
}

static inline int poll(const struct pto_kernel_args *a, uint64_t comm, uint32_t signal, int32_t value) {
  bool holds = false;
  int status = 0;
  while (status == 0 && !holds) status = pto_core_test_signal(a, comm, signal, PTO_IF_GE, value, &holds);
  return status;
}

static inline int test_late(const struct pto_kernel_args *a, uint64_t comm, uint32_t signal, int32_t value) {
  bool holds;
  const int status = pto_core_work(a, &(struct pto_cost){.vector_elems = 1 << 20});
  return status ? status : pto_core_test_signal(a, comm, signal, PTO_IF_GE, value, &holds);
}

/* Scalars: communicator, own place, steps.  The last tensor is x. */
static inline int do_step(const struct pto_kernel_args *a, uint64_t word) {
  const uint64_t comm = a->scalars[0].u64;
  const uint32_t peer = word >> 8 & 0xff, what = word >> 16 & 0xffff;
  const int32_t value = (int32_t)(word >> 32);
  static const uint64_t shape = SLOT_ELEMS, stride = 1;
  const struct pto_kernel_tensor x = {a->tensors[a->tensor_count - 1].addr, &shape, &stride, 1, PTO_UINT32};
  struct pto_kernel_tensor slot, own;
  int status = 0;
  switch ((enum step)(word & 0xff)) {
  case DO_PUT:
    status = slot_at(a, peer, what, &slot);
    return status ? status : pto_core_put(a, &slot, &x);
  case DO_GET:
    status = slot_at(a, peer, what, &slot);
    if (!status) status = slot_at(a, (uint32_t)a->scalars[1].u64, what, &own);
    return status ? status : pto_core_get(a, &own, &slot);
  case DO_FETCH:
    status = slot_at(a, peer, what, &slot);
    return status ? status : pto_core_get(a, &x, &slot);
  case DO_ADD:
    return pto_core_notify(a, comm, peer, what, PTO_NOTIFY_ADD, value);
  case DO_SET:
    return pto_core_notify(a, comm, peer, what, PTO_NOTIFY_SET, value);
  case DO_WAIT:
    return pto_core_wait_signal(a, comm, what, PTO_IF_GE, value);
  case DO_MEET:
    return pto_core_wait_signal(a, comm, what, PTO_IF_EQ, value);
  case DO_POLL:
    return poll(a, comm, what, value);
  case DO_TEST:
    return test_late(a, comm, what, value);
  case DO_NOTHING:
    break;
  }
  return 0;
}

static inline int steps_run(const struct pto_kernel_args *a) {
  int status = 0;
  for (uint32_t i = 0; i < STEPS && status == 0; i++) status = do_step(a, a->scalars[2 + i].u64);
  return status;
}

#define STEP_PARAMS(x_mode)                                                                                            \
  ANY("x", x_mode), U64("comm"), U64("place"), U64("s0"), U64("s1"), U64("s2"), U64("s3"), U64("s4"), U64("s5"),       \
      U64("s6")
static const struct pto_kernel_param of_tell[] = {STEP_PARAMS(PTO_INPUT)};
static const struct pto_kernel_param of_talk[] = {ANY("own", PTO_INOUT), STEP_PARAMS(PTO_INPUT)};
static const struct pto_kernel_param of_fetch[] = {ANY("own", PTO_INOUT), STEP_PARAMS(PTO_OUTPUT)};
#define REMOTE(name_, list)                                                                                            \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIV, .params = list, .param_count = sizeof(list) / sizeof *(list), .run = steps_run,   \
    .flags = PTO_KERNEL_REMOTE                                                                                         \
  }
static const struct pto_kernel tell_kernel = REMOTE("tell", of_tell);    /* it waits for nothing in its window */
static const struct pto_kernel talk_kernel = REMOTE("talk", of_talk);    /* it declares what it waits for */
static const struct pto_kernel fetch_kernel = REMOTE("fetch", of_fetch); /* the same, and writes x */

/* ---- submits ---- */

/* A communicator, as one rank of it has it. */
struct talk {
  struct planted *p;
  struct pto_comm comm;
  uint32_t rank, ranks, next;
};

static inline struct talk begin_talk(struct planted *p) {
  struct talk t = {.p = p, .rank = pto_runtime_rank(p->rt), .ranks = pto_runtime_rank_count(p->rt)};
  t.next = (t.rank + 1) % t.ranks;
  note(p, pto_comm_create(p->rt, NULL, 0, 16 * SLOT_ELEMS * 4, 16, &t.comm));
  return t;
}
static inline bool is_last(const struct talk *t) { return t->rank + 1 == t->ranks; }

/* Slots of the own window. */
static inline struct pto_tensor own_slots(const struct talk *t, uint32_t first, uint32_t count) {
  const struct pto_tensor window =
      pto_comm_window(t->p->rt, t->comm, PTO_UINT32, 2, (const uint64_t[]){16, SLOT_ELEMS});
  return box(&window, first, 0, count, SLOT_ELEMS);
}

/* The parameters of `own`, which may be NULL, of x, and steps. */
static inline uint32_t set_params(const struct talk *t, const struct pto_tensor *own, struct pto_param x,
                                  const uint64_t *steps, struct pto_param *params) {
  uint32_t count = 0;
  if (own) params[count++] = pto_inout(own);
  params[count++] = x;
  params[count++] = pto_scalar_u64(t->comm.id);
  params[count++] = pto_scalar_u64(t->rank);
  for (uint32_t i = 0; i < STEPS; i++) params[count++] = pto_scalar_u64(steps[i]);
  return count;
}
#define DO(...) ((const uint64_t[STEPS]){__VA_ARGS__})

/* A group's task that waits for something in these slots, with its own x; `after` may be NULL. */
static inline struct pto_task talk_of(const struct talk *t, const char *label, struct pto_tensor own,
                                      struct pto_param x, const struct pto_task *after, const uint64_t *steps) {
  struct pto_param params[4 + STEPS];
  struct pto_task task = {0};
  const uint32_t count = set_params(t, &own, x, steps, params);
  const struct pto_launch launch = {.size = sizeof launch,
                                    .aiv0 = x.mode == PTO_INPUT ? &talk_kernel : &fetch_kernel,
                                    .label = label,
                                    .after = after,
                                    .after_count = after ? 1 : 0};
  if (t->p->status == PTO_OK) note(t->p, pto_submit_group(t->p->rt, t->comm, &launch, params, count, &task));
  return task;
}
static inline struct pto_task talk(const struct talk *t, const char *label, struct pto_tensor own,
                                   const struct pto_task *after, const uint64_t *steps) {
  const struct pto_tensor grid = array_x(t->p), x = row_of(&grid, 0);
  return talk_of(t, label, own, pto_input(&x), after, steps);
}
/* A task that only tells others, after `after`, which may be NULL. */
static inline void tell(const struct talk *t, const char *label, const struct pto_task *after, const uint64_t *steps) {
  struct pto_param params[4 + STEPS];
  const struct pto_tensor grid = array_x(t->p), x = row_of(&grid, 0);
  const uint32_t count = set_params(t, NULL, pto_input(&x), steps, params);
  const struct pto_launch launch = {
      .size = sizeof launch, .aiv0 = &tell_kernel, .label = label, .after = after, .after_count = after ? 1 : 0};
  (void)put(t->p, launch, params, count);
}
/* Reads a slot of the own window. */
static inline struct pto_task read_slot(const struct talk *t, uint32_t which, uint64_t index) {
  const struct pto_tensor window_slot = own_slots(t, which, 1);
  return put_digest(t->p, &window_slot, index);
}
/* All tell all, and wait for all. */
static inline struct pto_task meet_all(const struct talk *t, const struct pto_task *after) {
  uint64_t steps[STEPS] = {0};
  for (uint32_t i = 1; i < t->ranks; i++) steps[i - 1] = ADD((t->rank + i) % t->ranks, 1, 1);
  steps[t->ranks - 1] = WAIT(1, t->ranks - 1);
  return talk(t, "barrier", own_slots(t, 0, 1), after, steps);
}

#endif
