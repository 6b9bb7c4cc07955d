/* SPDX-License-Identifier: MIT */
/* Ranks, windows and signals of the oracle, and whose turn it is.  Part of oracle_world.h. */
#include <tests/oracle/oracle_world.h>

#include <stdlib.h>
#include <string.h>

#include <pto/remote.h>
#include <runtime/base/dtype.h>
#include <tests/oracle/coroutine.h>

#define STACK_BYTES ((size_t)16 << 20)
#define MOST_COMMS 64u

struct rank {
  struct oracle_coroutine coroutine;
  uint32_t index;
  struct oracle_comm *comms[MOST_COMMS]; /* by what its kernels call them */
  uint32_t comm_count;
};

static struct {
  struct rank *ranks; /* NULL: there is one chip, alone */
  uint32_t count;
  struct rank *current;
  bool has_moved; /* a rank has, since its scheduler looked */
  void (*main)(uint32_t rank, void *context);
  void *context;
} world;

/* ---- turns ---- */

static void rank_main(void *argument) { world.main(((struct rank *)argument)->index, world.context); }

bool oracle_world_run(uint32_t count, void (*its)(uint32_t rank, void *context), void *context) {
  bool is_well = true, is_over = false;
  world.ranks = calloc(count, sizeof *world.ranks);
  world.count = count;
  world.main = its;
  world.context = context;
  for (uint32_t i = 0; i < count && world.ranks && is_well; i++) {
    world.ranks[i].index = i;
    is_well = oracle_coroutine_init(&world.ranks[i].coroutine, STACK_BYTES, rank_main, &world.ranks[i]);
  }
  while (world.ranks && is_well && !is_over) {
    is_over = true;
    world.has_moved = false;
    for (uint32_t i = 0; i < count; i++) {
      world.current = &world.ranks[i];
      if (world.current->coroutine.is_over) continue;
      oracle_coroutine_resume(&world.current->coroutine);
      world.has_moved |= world.current->coroutine.is_over;
      is_over &= world.current->coroutine.is_over;
    }
    is_well = is_over || world.has_moved;
  }
  /* A rank that waits for ever keeps what it holds; the process ends soon. */
  return world.ranks && is_well;
}

/* The rank goes on once that holds; others do meanwhile. */
static void wait_until(bool (*holds)(const void *context), const void *context) {
  while (!holds(context)) oracle_coroutine_suspend(&world.current->coroutine);
  world.has_moved = true;
}

uint32_t pto_runtime_rank(const struct pto_runtime *rt) { return world.ranks ? world.current->index : 0; }
uint32_t pto_runtime_rank_count(const struct pto_runtime *rt) { return world.ranks ? world.count : 1; }

/* ---- communicators ---- */

struct oracle_comm *oracle_comm_at(uint64_t id) {
  return world.ranks && id < world.current->comm_count ? world.current->comms[id] : NULL;
}

uint32_t oracle_comm_place(const struct oracle_comm *comm) {
  uint32_t place = 0;
  while (comm->ranks[place] != world.current->index) place++;
  return place;
}

/* Of these ranks, the one that its other ranks have come to before this one; NULL: it is the first. */
static struct oracle_comm *find_begun(const uint32_t *ranks, uint32_t count) {
  for (uint32_t r = 0; r < world.count; r++)
    for (uint32_t i = 0; i < world.ranks[r].comm_count; i++) {
      struct oracle_comm *comm = world.ranks[r].comms[i];
      bool is_mine = false;
      for (uint32_t k = 0; k < world.current->comm_count; k++) is_mine |= world.current->comms[k] == comm;
      if (!is_mine && comm->size == count && memcmp(comm->ranks, ranks, count * sizeof *ranks) == 0) return comm;
    }
  return NULL;
}

static struct oracle_comm *make(const uint32_t *ranks, uint32_t count, uint64_t window_bytes, uint32_t signal_count) {
  struct oracle_comm *comm = calloc(1, sizeof *comm);
  if (!comm) return NULL;
  comm->size = count;
  comm->window_bytes = window_bytes;
  comm->signal_count = signal_count;
  memcpy(comm->ranks, ranks, count * sizeof *ranks);
  for (uint32_t i = 0; i < count; i++) {
    comm->windows[i] = calloc(1, window_bytes + 1);
    comm->signals[i] = calloc(signal_count + 1, sizeof(int32_t));
    if (!comm->windows[i] || !comm->signals[i]) return NULL;
  }
  return comm;
}

static bool have_joined(const void *context) {
  const struct oracle_comm *comm = context;
  return comm->joined == comm->size;
}

int pto_comm_create(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count, uint64_t window_bytes,
                    uint32_t signal_count, struct pto_comm *comm_out) {
  uint32_t all[PTO_MAX_RANKS];
  if (!world.ranks) return PTO_ENOTSUP;
  for (uint32_t i = 0; !ranks && i < world.count; i++) all[i] = i;
  struct rank *own = world.current;
  if (!ranks) count = world.count, ranks = all;
  struct oracle_comm *comm = find_begun(ranks, count);
  if (!comm) comm = make(ranks, count, window_bytes, signal_count);
  if (!comm || own->comm_count == MOST_COMMS) return oracle_refuse(rt, PTO_ENOMEM, "no memory for a communicator");
  comm_out->id = own->comm_count;
  own->comms[own->comm_count++] = comm;
  comm->joined++;
  wait_until(have_joined, comm);
  return PTO_OK;
}

uint32_t pto_comm_place(const struct pto_runtime *rt, struct pto_comm comm) {
  return oracle_comm_at(comm.id) ? oracle_comm_place(oracle_comm_at(comm.id)) : UINT32_MAX;
}
uint32_t pto_comm_size(const struct pto_runtime *rt, struct pto_comm comm) {
  return oracle_comm_at(comm.id) ? oracle_comm_at(comm.id)->size : 0;
}

struct pto_tensor pto_comm_peer(struct pto_runtime *rt, struct pto_comm comm, uint32_t peer, uint32_t dtype,
                                uint32_t ndims, const uint64_t *shape) {
  const struct oracle_comm *its = oracle_comm_at(comm.id);
  return pto_external_tensor(rt, its && peer < its->size ? its->windows[peer] : NULL, dtype, ndims, shape);
}
struct pto_tensor pto_comm_window(struct pto_runtime *rt, struct pto_comm comm, uint32_t dtype, uint32_t ndims,
                                  const uint64_t *shape) {
  return pto_comm_peer(rt, comm, pto_comm_place(rt, comm), dtype, ndims, shape);
}

/* A task of a group is one like others: it is executed where it is submitted, and others go on where it waits. */
int pto_submit_group(struct pto_runtime *rt, struct pto_comm comm, const struct pto_launch *launch,
                     const struct pto_param *params, uint32_t count, struct pto_task *task_out) {
  if (!oracle_comm_at(comm.id))
    return oracle_refuse(rt, PTO_EINVAL, "there is no comm %llu", (unsigned long long)comm.id);
  return pto_submit(rt, launch, params, count, task_out);
}

/* ---- what kernels call ---- */

/* Element k of it, row-major, of dtypes of whole bytes. */
static char *element(const struct pto_kernel_tensor *t, uint64_t k) {
  uint64_t at = 0;
  for (uint32_t d = t->ndims; d-- > 0; k /= t->shape[d]) at += k % t->shape[d] * t->strides[d];
  return (char *)t->addr + at * pto_dtype_size(t->dtype);
}

static int copy(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                const struct pto_kernel_tensor *from) {
  uint64_t count = 1, other = 1;
  for (uint32_t d = 0; d < from->ndims; d++) count *= from->shape[d];
  for (uint32_t d = 0; d < to->ndims; d++) other *= to->shape[d];
  if (!world.ranks || to->dtype != from->dtype || count != other || pto_dtype_is_four_bit(to->dtype))
    return pto_kernel_error(args, "the oracle copies whole bytes, as many to a window as from it");
  for (uint64_t k = 0; k < count; k++) memcpy(element(to, k), element(from, k), pto_dtype_size(to->dtype));
  return 0;
}

int pto_core_put(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                 const struct pto_kernel_tensor *from) {
  return copy(args, to, from);
}
int pto_core_get(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                 const struct pto_kernel_tensor *from) {
  return copy(args, to, from);
}
bool pto_core_computes(const struct pto_kernel_args *args) { return true; }

/* NULL: there is none. */
static int32_t *signal_of(uint64_t comm, uint32_t place, uint32_t signal) {
  const struct oracle_comm *its = oracle_comm_at(comm);
  return its && place < its->size && signal < its->signal_count ? &its->signals[place][signal] : NULL;
}
static int32_t *own_signal(uint64_t comm, uint32_t signal) {
  const struct oracle_comm *its = oracle_comm_at(comm);
  return its ? signal_of(comm, oracle_comm_place(its), signal) : NULL;
}

int pto_core_notify(const struct pto_kernel_args *args, uint64_t comm, uint32_t peer, uint32_t signal,
                    enum pto_notify notify, int32_t value) {
  int32_t *its = signal_of(comm, peer, signal);
  if (!its) return pto_kernel_error(args, "no signal %u of place %u", signal, peer);
  *its = notify == PTO_NOTIFY_SET ? value : (int32_t)((uint32_t)*its + (uint32_t)value);
  return 0;
}

struct signal_wait {
  const int32_t *signal;
  enum pto_compare compare;
  int32_t value;
};
static bool has_come(const void *context) {
  const struct signal_wait *wait = context;
  return wait->compare == PTO_IF_EQ ? *wait->signal == wait->value : *wait->signal >= wait->value;
}

int pto_core_wait_signal(const struct pto_kernel_args *args, uint64_t comm, uint32_t signal, enum pto_compare compare,
                         int32_t value) {
  const struct signal_wait wait = {own_signal(comm, signal), compare, value};
  if (!wait.signal) return pto_kernel_error(args, "no signal %u", signal);
  wait_until(has_come, &wait);
  return 0;
}

int pto_core_test_signal(const struct pto_kernel_args *args, uint64_t comm, uint32_t signal, enum pto_compare compare,
                         int32_t value, bool *holds) {
  const struct signal_wait wait = {own_signal(comm, signal), compare, value};
  if (!wait.signal) return pto_kernel_error(args, "no signal %u", signal);
  oracle_coroutine_suspend(&world.current->coroutine); /* it may look again and again */
  *holds = has_come(&wait);
  return 0;
}

int pto_core_window(const struct pto_kernel_args *args, uint64_t comm, uint32_t peer, void **window) {
  const struct oracle_comm *its = oracle_comm_at(comm);
  if (!its || peer >= its->size) return pto_kernel_error(args, "no window of place %u", peer);
  *window = its->windows[peer];
  return 0;
}

/* ---- what all ranks do together ---- */

static bool have_met(const void *context) {
  const struct oracle_rendezvous *rendezvous = context;
  return *rendezvous->met >= rendezvous->turn;
}

int oracle_comm_meet(struct oracle_comm *comm, const struct pto_kernel_args *args,
                     int (*all)(struct oracle_comm *comm, const struct pto_kernel_args *const *args)) {
  const uint32_t place = oracle_comm_place(comm);
  int status = 0;
  const struct oracle_rendezvous rendezvous = {&comm->met, comm->met + 1};
  comm->args[place] = args;
  if (++comm->come == comm->size) {
    status = all(comm, comm->args);
    comm->come = 0;
    comm->met++;
  }
  wait_until(have_met, &rendezvous);
  return status;
}
