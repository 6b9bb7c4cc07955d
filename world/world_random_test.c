/* SPDX-License-Identifier: MIT */
/*
 * Random programs of several ranks against an interpreter that does one step after another.
 *
 * A program is a list of steps in an order in which they may happen: tasks of one rank, and groups, whose kernels put,
 * get, notify and wait, or test until it is so.  A group declares of its window the columns that it touches; tasks that
 * load from it, some columns of a row, are ordered by that alone.  Each rank does its own steps in that order.  What
 * one rank puts or writes for another lies in a slot of the window that is used once, and is read after a wait; so each
 * step has one result, whatever happens first between ranks.  PTO_RANDOM_WORLDS=N: so many programs, or FIRST-END:
 * those; PTO_TEST_LONG: 100 000. Under mpirun each process has some of the ranks, and compares what these have
 * (tests/long/worlds_mpi_test.sh).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pto/collectives.h>
#include <pto/remote.h>
#include <runtime/base/sanitizer.h>
#include <world/world_state.h>

#define MOST_RANKS 6u
#define LOCAL_SLOTS 8u
#define WINDOW_SLOTS 96u
#define SLOT_ELEMS 12u
#define MOST_STEPS 160u
#define COMMS 3u
#define BLOCKS 2u /* of a group, at most; each keeps to local slots of its own */
/* One for each block that notifies: what counts two may be there for the wrong one. */
#define SIGNALS (BLOCKS * MOST_RANKS)

/* From ALL_REDUCE on: collectives of all ranks. */
enum verb {
  COMPUTE,
  PUT,
  WRITE,
  NOTIFY,
  WAIT,
  COPY,
  GET,
  GROUP_END,
  LOAD,
  ALL_REDUCE,
  REDUCE_SCATTER,
  ALL_GATHER,
  BROADCAST,
  ALL_TO_ALL,
  BARRIER,
  VERBS
};

/* Of one rank; a PUT notifies too.  Those of a group come before its GROUP_END, which is of all of its ranks. */
struct step {
  enum verb verb;
  uint32_t rank, peer, comm; /* peer: a rank */
  uint32_t from, to, slot;   /* local slots, and one of the window */
  uint32_t begin, end;       /* columns of that; of a GROUP_END those of all its steps */
  uint32_t signal;
  int32_t value; /* added, set to, or waited for */
  bool is_set, is_equal, is_test;
  uint32_t block; /* that does it; of a GROUP_END: how many there are */
};

struct program {
  uint32_t ranks, step_count;
  uint32_t member_count[COMMS], members[COMMS][MOST_RANKS];
  struct step steps[MOST_STEPS];
  const char *policy, *chip;
};

static uint32_t random_state;
static uint32_t below(uint32_t limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(random_state >> 8) * limit >> 24);
}

/* ---- making one ---- */

static uint32_t place_of(const struct program *p, uint32_t comm, uint32_t rank) {
  for (uint32_t i = 0; i < p->member_count[comm]; i++)
    if (p->members[comm][i] == rank) return i;
  return UINT32_MAX;
}

static void add_step(struct program *p, struct step step) {
  assert_true(p->step_count < MOST_STEPS);
  p->steps[p->step_count++] = step;
}

/* Some members of the communicator tell each other things. */
static void make_group(struct program *p, uint32_t comm, uint32_t *used, int32_t (*signals)[MOST_RANKS][SIGNALS]) {
  static const uint32_t cuts[][2] = {{0, SLOT_ELEMS}, {0, SLOT_ELEMS / 2}, {SLOT_ELEMS / 2, SLOT_ELEMS}};
  const uint32_t count = p->member_count[comm], events = 1 + below(5), first = p->step_count, *cut = cuts[below(3)];
  /* A chip of two vector cores may have a barrier on one of them, which waits for ranks that wait for this group. */
  const uint32_t blocks = strcmp(p->chip, "a2a3") == 0 ? 1 + below(BLOCKS) : 1;
  for (uint32_t e = 0; e < events && *used + 2 < WINDOW_SLOTS; e++) {
    const uint32_t a = p->members[comm][below(count)], b = p->members[comm][below(count)];
    const uint32_t block = below(blocks), s = BLOCKS * place_of(p, comm, a) + block;
    const uint32_t slot = (*used)++, kind = below(3);
    const struct step told = {.rank = a,
                              .peer = b,
                              .comm = comm,
                              .slot = slot,
                              .begin = cut[0],
                              .end = cut[1],
                              .signal = s,
                              .from = BLOCKS * below(LOCAL_SLOTS / BLOCKS) + block,
                              .block = block,
                              .value = 1 + (int32_t)below(3),
                              .verb = kind == 0   ? PUT
                                      : kind == 1 ? WRITE
                                                  : NOTIFY};
    add_step(p, told);
    if (kind == 2) p->step_count--;
    struct step notify = told;
    notify.verb = NOTIFY;
    notify.is_set = below(3) == 0;
    signals[comm][b][s] += told.value;
    if (notify.is_set) notify.value = signals[comm][b][s];
    add_step(p, notify);
    add_step(p, (struct step){.verb = WAIT,
                              .rank = b,
                              .peer = b,
                              .comm = comm,
                              .signal = s,
                              .value = signals[comm][b][s],
                              .block = block,
                              .is_test = below(3) == 0});
    struct step last = told;
    last.verb = kind == 0 ? COPY : GET;
    last.rank = b;
    last.peer = a;
    last.to = BLOCKS * below(LOCAL_SLOTS / BLOCKS) + block;
    if (kind != 2) add_step(p, last);
  }
  const uint32_t end = p->step_count;
  add_step(p, (struct step){.verb = GROUP_END, .comm = comm, .begin = cut[0], .end = cut[1], .block = blocks});
  for (uint32_t i = first; i < end; i++) {
    struct step load = p->steps[i];
    if ((load.verb != PUT && load.verb != WRITE) || below(2)) continue;
    if (load.verb == PUT) load.rank = load.peer;
    load.verb = LOAD;
    load.begin += below(load.end - load.begin);
    load.end -= below(load.end - load.begin);
    add_step(p, load);
  }
}

/* A wait for a signal that is not notified again may be for equal. */
static void make_some_equal(struct program *p) {
  bool is_notified[COMMS][MOST_RANKS][SIGNALS] = {0};
  for (uint32_t i = p->step_count; i-- > 0;) {
    struct step *s = &p->steps[i];
    if (s->verb == NOTIFY) is_notified[s->comm][s->peer][s->signal] = true;
    if (s->verb == WAIT && !is_notified[s->comm][s->peer][s->signal]) s->is_equal = below(2);
  }
}

static void make_collective(struct program *p) {
  struct step step = {.verb = (enum verb)(ALL_REDUCE + below(VERBS - ALL_REDUCE)),
                      .comm = 2,
                      .from = below(LOCAL_SLOTS),
                      .to = below(LOCAL_SLOTS)};
  if (step.verb == ALL_REDUCE) step.signal = below(4);     /* the algorithm */
  if (step.verb == BROADCAST) step.peer = below(p->ranks); /* the root's place */
  /* Tensors of other sizes are other bytes. */
  if ((step.verb == REDUCE_SCATTER || step.verb == ALL_GATHER) && step.to == step.from)
    step.to = (step.from + 1) % LOCAL_SLOTS;
  add_step(p, step);
}

static void make(struct program *p, uint32_t seed) {
  static const char *const policies[] = {"fifo", "lifo", "random:7"};
  static const char *const chips[] = {"tiny,dies_per_package=1,nodes=1", "a2a3", "tiny"};
  static int32_t signals[COMMS][MOST_RANKS][SIGNALS];
  uint32_t used = 0;
  random_state = seed;
  memset(signals, 0, sizeof signals);
  *p = (struct program){.ranks = 2 + below(MOST_RANKS - 1), .policy = policies[below(3)], .chip = chips[below(3)]};
  for (uint32_t c = 0; c < COMMS; c++) {
    uint32_t order[MOST_RANKS];
    for (uint32_t i = 0; i < p->ranks; i++) order[i] = i;
    for (uint32_t i = p->ranks; i-- > 1;) {
      const uint32_t k = below(i + 1), other = order[k];
      order[k] = order[i];
      order[i] = other;
    }
    p->member_count[c] = c == 2 ? p->ranks : 2 + below(p->ranks - 1); /* the last one is for collectives */
    memcpy(p->members[c], order, sizeof order);
  }
  const uint32_t rounds = 2 + below(6);
  for (uint32_t i = 0; i < rounds && p->step_count + 40 < MOST_STEPS; i++) {
    for (uint32_t k = below(6); k-- > 0;)
      add_step(p, (struct step){.verb = COMPUTE,
                                .rank = below(p->ranks),
                                .from = below(LOCAL_SLOTS),
                                .slot = below(LOCAL_SLOTS),
                                .to = below(LOCAL_SLOTS)});
    if (below(4) == 0)
      make_collective(p);
    else
      make_group(p, below(2), &used, signals);
  }
  make_some_equal(p);
}

/* ---- one step after another ---- */

struct state {
  int32_t local[MOST_RANKS][LOCAL_SLOTS][SLOT_ELEMS];
  int32_t window[COMMS][MOST_RANKS][WINDOW_SLOTS][SLOT_ELEMS];
  int32_t loaded[MOST_RANKS][WINDOW_SLOTS][SLOT_ELEMS];
};

/* to = 3 · from + slot */
static void compute(int32_t (*local)[SLOT_ELEMS], const struct step *step) {
  for (uint32_t k = 0; k < SLOT_ELEMS; k++)
    local[step->to][k] = (int32_t)(3u * (uint32_t)local[step->from][k] + (uint32_t)local[step->slot][k]);
}

/* Elements of one part where a slot is cut in equal ones. */
static uint32_t part_elems(const struct program *p) { return SLOT_ELEMS / p->ranks; }
/* Where a part of a slot begins that is cut in parts of about the same size. */
static uint32_t part_begin(const struct program *p, uint32_t part) { return part * SLOT_ELEMS / p->ranks; }

/* What a collective leaves at element k of the rank at that place; false: what was there. */
static bool collect(const struct program *p, const struct step *s, int32_t (*in)[SLOT_ELEMS], uint32_t place,
                    uint32_t k, int32_t *out) {
  const uint32_t *members = p->members[s->comm], each = part_elems(p), begin = part_begin(p, place);
  const bool is_scattered = s->verb == REDUCE_SCATTER;
  uint32_t sum = 0;
  switch (s->verb) {
  case ALL_REDUCE:
  case REDUCE_SCATTER:
    if (is_scattered && begin + k >= part_begin(p, place + 1)) return false;
    for (uint32_t r = 0; r < p->ranks; r++) sum += (uint32_t)in[r][is_scattered ? begin + k : k];
    *out = (int32_t)sum;
    return true;
  case ALL_GATHER:
    if (k < each * p->ranks) *out = in[members[k / each]][k % each];
    return k < each * p->ranks;
  case BROADCAST:
    *out = in[members[s->peer]][k];
    return true;
  case ALL_TO_ALL:
    if (k < each * p->ranks) *out = in[members[k / each]][place * each + k % each];
    return k < each * p->ranks;
  default:
    return false;
  }
}

static void interpret_collective(const struct program *p, const struct step *s, struct state *state) {
  int32_t in[MOST_RANKS][SLOT_ELEMS];
  for (uint32_t r = 0; r < p->ranks; r++) memcpy(in[r], state->local[r][s->from], sizeof in[r]);
  for (uint32_t place = 0; place < p->ranks; place++)
    for (uint32_t k = 0; k < SLOT_ELEMS; k++)
      (void)collect(p, s, in, place, k, &state->local[p->members[s->comm][place]][s->to][k]);
}

static void interpret(const struct program *p, struct state *state) {
  for (uint32_t i = 0; i < p->step_count; i++) {
    const struct step *s = &p->steps[i];
    const size_t bytes = (s->end - s->begin) * sizeof state->local[0][0][0];
    int32_t *from = &state->local[s->rank][s->from][s->begin], *to = &state->local[s->rank][s->to][s->begin];
    int32_t *own = &state->window[s->comm][s->rank][s->slot][s->begin];
    int32_t *others = &state->window[s->comm][s->peer][s->slot][s->begin];
    switch (s->verb) {
    case COMPUTE:
      compute(state->local[s->rank], s);
      break;
    case PUT:
      memcpy(others, from, bytes);
      break;
    case WRITE:
      memcpy(own, from, bytes);
      break;
    case COPY:
      memcpy(to, own, bytes);
      break;
    case GET:
      memcpy(to, others, bytes);
      break;
    case LOAD:
      memcpy(&state->loaded[s->rank][s->slot][s->begin], own, bytes);
      break;
    case NOTIFY:
    case WAIT:
    case GROUP_END:
      break;
    default:
      interpret_collective(p, s, state);
      break;
    }
  }
}

/* ---- on ranks ---- */

struct job {
  const struct program *program;
  struct state *state;
  uint64_t virtual_ps[MOST_RANKS];
  bool is_own[MOST_RANKS]; /* of this process */
};

static struct pto_exchange *processes; /* NULL: there is one */

/* The kernel's share of a group: steps first to end − 1 of its rank. */
struct share {
  const struct program *program;
  uint32_t rank, first, end;
};

/* The step's columns of a row. */
static struct pto_kernel_tensor slot_at(void *base, uint32_t slot, const struct step *s, const uint64_t *shape) {
  static const uint64_t strides[] = {3, 1};
  return (struct pto_kernel_tensor){(int32_t *)base + slot * SLOT_ELEMS + s->begin, shape, strides, 2, PTO_INT32};
}

static int test_until(const struct pto_kernel_args *args, const struct step *s, uint64_t comm) {
  bool holds;
  int status;
  do status = pto_core_test_signal(args, comm, s->signal, s->is_equal ? PTO_IF_EQ : PTO_IF_GE, s->value, &holds);
  while (status == 0 && !holds);
  return status;
}

static int do_step(const struct pto_kernel_args *args, const struct step *s, uint64_t comm, const struct program *p) {
  const uint64_t shape[] = {(s->end - s->begin) / 3, 3};
  int32_t *local = args->tensors[0].addr, *own = (int32_t *)args->tensors[1].addr - s->begin; /* which begins there */
  int32_t *own_slot = own + s->slot * SLOT_ELEMS + s->begin;
  const uint32_t peer = place_of(p, s->comm, s->peer), bytes = (s->end - s->begin) * (uint32_t)sizeof(int32_t);
  void *window = NULL;
  int status = s->verb == PUT || s->verb == GET ? pto_core_window(args, comm, peer, &window) : 0;
  if (status != 0) return status;
  switch (s->verb) {
  case PUT: {
    const struct pto_kernel_tensor to = slot_at(window, s->slot, s, shape), from = slot_at(local, s->from, s, shape);
    return pto_core_put(args, &to, &from);
  }
  case GET: {
    const struct pto_kernel_tensor from = slot_at(window, s->slot, s, shape), to = slot_at(local, s->to, s, shape);
    return pto_core_get(args, &to, &from);
  }
  case WRITE:
    memcpy(own_slot, local + s->from * SLOT_ELEMS + s->begin, bytes);
    return pto_core_work(args, &(struct pto_cost){.bytes_out = 1000});
  case COPY:
    memcpy(local + s->to * SLOT_ELEMS + s->begin, own_slot, bytes);
    return 0;
  case NOTIFY:
    return pto_core_notify(args, comm, peer, s->signal, s->is_set ? PTO_NOTIFY_SET : PTO_NOTIFY_ADD, s->value);
  case WAIT:
    if (s->is_test) return test_until(args, s, comm);
    return pto_core_wait_signal(args, comm, s->signal, s->is_equal ? PTO_IF_EQ : PTO_IF_GE, s->value);
  default:
    return 0;
  }
}

static int run_share(const struct pto_kernel_args *args) {
  const struct share *share = (const struct share *)(uintptr_t)args->scalars[1].u64;
  int status = 0;
  for (uint32_t i = share->first; i < share->end && status == 0; i++)
    if (share->program->steps[i].rank == share->rank && share->program->steps[i].block == args->core->block_index)
      status = do_step(args, &share->program->steps[i], args->scalars[0].u64, share->program);
  return status;
}
static int run_compute(const struct pto_kernel_args *args) {
  const struct step *step = (const struct step *)(uintptr_t)args->scalars[0].u64;
  compute(args->tensors[0].addr, step);
  return 0;
}
static int run_load(const struct pto_kernel_args *args) {
  memcpy(args->tensors[1].addr, args->tensors[0].addr, args->tensors[0].shape[1] * sizeof(int32_t));
  return 0;
}
static const struct pto_kernel_param share_params[] = {{"local", PTO_INOUT, 0, 0, 0, 0},
                                                       {"window", PTO_INOUT, 0, 0, 0, 0},
                                                       {"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                       {"share", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel_param compute_params[] = {{"local", PTO_INOUT, 0, 0, 0, 0},
                                                         {"step", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel_param load_params[] = {{"window", PTO_INPUT, 0, 0, 0, 0},
                                                      {"loaded", PTO_OUTPUT, 0, 0, 0, 0}};
static const struct pto_kernel load_kernel = {
    .name = "load", .cores = PTO_AIV, .params = load_params, .param_count = 2, .run = run_load};
static const struct pto_kernel share_kernel = {.name = "share",
                                               .cores = PTO_AIV,
                                               .flags = PTO_KERNEL_REMOTE,
                                               .params = share_params,
                                               .param_count = 4,
                                               .run = run_share};
static const struct pto_kernel compute_kernel = {
    .name = "compute", .cores = PTO_AIV, .params = compute_params, .param_count = 2, .run = run_compute};

static struct share shares[MOST_RANKS][MOST_STEPS];

/* The first `count` elements of a local slot. */
static struct pto_tensor part_of(const struct pto_tensor *local, uint32_t slot, uint32_t count) {
  const struct pto_tensor row = pto_tensor_slice(local, 0, slot, slot + 1, 1);
  return pto_tensor_slice(&row, 1, 0, count, 1);
}

/* Some rows of a window, and the step's columns. */
static struct pto_tensor box_of(const struct pto_tensor *window, uint32_t first, uint32_t end, const struct step *s) {
  const struct pto_tensor rows = pto_tensor_slice(window, 0, first, end, 1);
  return pto_tensor_slice(&rows, 1, s->begin, s->end, 1);
}

static int submit_collective(struct pto_runtime *rt, const struct program *p, const struct step *s,
                             struct pto_comm comm, const struct pto_tensor *local) {
  const uint32_t place = pto_comm_place(rt, comm), equal = part_elems(p) * p->ranks;
  const uint32_t own = part_begin(p, place + 1) - part_begin(p, place);
  const bool is_cut = s->verb == ALL_GATHER || s->verb == ALL_TO_ALL;
  const struct pto_tensor in = part_of(local, s->from,
                                       s->verb == ALL_GATHER ? part_elems(p)
                                       : is_cut              ? equal
                                                             : SLOT_ELEMS);
  const struct pto_tensor out = part_of(local, s->to, is_cut ? equal : s->verb == REDUCE_SCATTER ? own : SLOT_ELEMS);
  switch (s->verb) {
  case ALL_REDUCE:
    return pto_submit_all_reduce(rt, comm, &in, &out, PTO_REDUCE_SUM, (enum pto_all_reduce)s->signal);
  case REDUCE_SCATTER:
    return pto_submit_reduce_scatter(rt, comm, &in, &out, PTO_REDUCE_SUM);
  case ALL_GATHER:
    return pto_submit_all_gather(rt, comm, &in, &out);
  case BROADCAST:
    return pto_submit_broadcast(rt, comm, &in, &out, s->peer);
  case ALL_TO_ALL:
    return pto_submit_all_to_all(rt, comm, &in, &out);
  default:
    return pto_submit_comm_barrier(rt, comm, NULL);
  }
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  const struct program *p = job->program;
  const uint32_t rank = pto_runtime_rank(rt);
  const uint64_t local_shape[] = {LOCAL_SLOTS, SLOT_ELEMS}, window_shape[] = {WINDOW_SLOTS, SLOT_ELEMS};
  struct pto_comm comms[COMMS] = {{0}};
  int status = PTO_OK;
  for (uint32_t c = 0; c < 2 && !status; c++)
    if (place_of(p, c, rank) != UINT32_MAX)
      status =
          pto_comm_create(rt, p->members[c], p->member_count[c], sizeof job->state->window[0][0], SIGNALS, &comms[c]);
  if (!status) status = pto_comm_create_for_collectives(rt, p->members[2], p->ranks, SLOT_ELEMS * 4, &comms[2]);
  if (status) return status;
  const struct pto_tensor local = pto_external_tensor(rt, job->state->local[rank], PTO_INT32, 2, local_shape);
  const struct pto_tensor loaded = pto_external_tensor(rt, job->state->loaded[rank], PTO_INT32, 2, window_shape);
  for (uint32_t i = 0, first = 0; i < p->step_count && !status; i++) {
    const struct step *s = &p->steps[i];
    if (s->verb == COMPUTE && s->rank == rank) {
      const struct pto_param params[] = {pto_inout(&local), pto_scalar_u64((uint64_t)(uintptr_t)s)};
      status = pto_submit_aiv(rt, &compute_kernel, params, 2);
    }
    if (s->verb == LOAD && s->rank == rank) {
      const struct pto_tensor window = pto_comm_window(rt, comms[s->comm], PTO_INT32, 2, window_shape);
      const struct pto_tensor from = box_of(&window, s->slot, s->slot + 1, s);
      const struct pto_tensor to = box_of(&loaded, s->slot, s->slot + 1, s);
      const struct pto_param params[] = {pto_input(&from), pto_output(&to)};
      status = pto_submit_aiv(rt, &load_kernel, params, 2);
    }
    if (s->verb >= ALL_REDUCE) status = submit_collective(rt, p, s, comms[2], &local);
    if (s->verb == GROUP_END && place_of(p, s->comm, rank) != UINT32_MAX) {
      shares[rank][i] = (struct share){p, rank, first, i};
      const struct pto_tensor window = pto_comm_window(rt, comms[s->comm], PTO_INT32, 2, window_shape);
      const struct pto_tensor touched = box_of(&window, 0, WINDOW_SLOTS, s);
      const struct pto_param params[] = {pto_inout(&local), pto_inout(&touched), pto_scalar_u64(comms[s->comm].id),
                                         pto_scalar_u64((uint64_t)(uintptr_t)&shares[rank][i])};
      status = pto_submit_group(
          rt, comms[s->comm],
          &(struct pto_launch){.size = sizeof(struct pto_launch), .aiv0 = &share_kernel, .block_count = s->block},
          params, 4, NULL);
    }
    if (s->verb >= GROUP_END || s->verb == COMPUTE) first = i + 1;
  }
  return status;
}

static int run_rank(struct pto_rank *rank, void *context) {
  struct job *job = context;
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = job->program->chip,
                                    .policy = job->program->policy,
                                    .window = 64,
                                    .heap_bytes = 1 << 16,
                                    .rank = rank};
  struct pto_stats stats = {.size = sizeof stats};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, orchestrate, job);
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  pto_runtime_stats(rt, &stats);
  job->virtual_ps[pto_rank_index(rank)] = stats.virtual_ps;
  job->is_own[pto_rank_index(rank)] = true;
  pto_runtime_destroy(rt);
  return status;
}

static void run(struct job *job, uint32_t seed, uint32_t threads) {
  struct pto_world *world = NULL;
  char sentence[256] = "";
  const struct pto_world_config config = {
      .size = sizeof config, .ranks = job->program->ranks, .chip = job->program->chip, .threads = threads};
  if (pto_world_create_across(&config, processes, &world, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_world_run(world, run_rank, job)) fail_msg("seed %u: %s", seed, pto_world_last_error(world));
  pto_world_destroy(world);
}

/* The seeds are first to end - 1. */
static void choose_seeds(uint32_t *first, uint32_t *end) {
  const char *asked = getenv("PTO_RANDOM_WORLDS"), *dash = asked ? strchr(asked, '-') : NULL;
  *first = dash ? (uint32_t)strtoul(asked, NULL, 10) : 0;
  *end = getenv("PTO_TEST_LONG") ? 100000 : PTO_HAS_SANITIZER ? 100 : 1000;
  if (asked) *end = (uint32_t)strtoul(dash ? dash + 1 : asked, NULL, 10);
  assert_true(*first < *end);
}

static void test_random_programs_give_what_the_interpreter_gives(void **unused) {
  (void)unused;
  static struct program program;
  static struct state states[3];
  uint32_t first_seed, end_seed;
  choose_seeds(&first_seed, &end_seed);
  for (uint32_t seed = first_seed; seed < end_seed; seed++) {
    make(&program, seed);
    memset(states, 0, sizeof states);
    for (uint32_t r = 0; r < program.ranks; r++)
      for (uint32_t i = 0; i < LOCAL_SLOTS * SLOT_ELEMS; i++)
        states[0].local[r][i / SLOT_ELEMS][i % SLOT_ELEMS] = (int32_t)below(1000);
    states[1] = states[2] = states[0];
    interpret(&program, &states[0]);
    struct job first = {.program = &program, .state = &states[1]}, again = {.program = &program, .state = &states[2]};
    run(&first, seed, 1);
    for (uint32_t r = 0; r < program.ranks; r++)
      if (first.is_own[r] && (memcmp(states[0].local[r], states[1].local[r], sizeof states[0].local[r]) != 0 ||
                              memcmp(states[0].loaded[r], states[1].loaded[r], sizeof states[0].loaded[r]) != 0))
        fail_msg("seed %u: rank %u has other bytes", seed, r);
    if (processes) continue;
    run(&again, seed, 2 + below(program.ranks - 1));
    assert_memory_equal(first.virtual_ps, again.virtual_ps, sizeof first.virtual_ps);
    assert_memory_equal(states[1].local, states[2].local, sizeof states[1].local);
    assert_memory_equal(states[1].loaded, states[2].loaded, sizeof states[1].loaded);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs_give_what_the_interpreter_gives)};
  struct pto_error error;
  if (pto_exchange_join(&processes, &error)) {
    fprintf(stderr, "%s\n", error.sentence);
    return 1;
  }
  if (processes) printf("one of %u processes\n", processes->part_count);
  const int failed = cmocka_run_group_tests_name("world_random", tests, NULL, NULL);
  if (processes && !failed) pto_exchange_destroy(processes); /* where one has failed, the launcher ends all */
  return failed;
}
