/* SPDX-License-Identifier: MIT */
/*
 * Communicators.  Each rank that comes to the making of one tells the others, which takes the way to them; a rank goes
 * on when all have told it.  So no rank sees a window that is not zeroed, and none is at a time that another one has
 * not passed.
 */
#include <world/world_state.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <runtime/base/call_stack.h>
#include <runtime/base/grow.h>
#include <runtime/control/call_list.h>
#include <runtime/control/runtime_state.h>
#include <runtime/tensor/tensor_make.h>
#include <runtime/trace/place.h>
#include <runtime/trace/segment.h>

static struct pto_rank *rank_of(const struct pto_runtime *rt) { return rt->config.rank; }

uint32_t pto_runtime_rank(const struct pto_runtime *rt) { return rank_of(rt) ? rank_of(rt)->index : 0; }
uint32_t pto_runtime_rank_count(const struct pto_runtime *rt) { return rank_of(rt) ? pto_rank_count(rank_of(rt)) : 1; }

/* ---- finding ---- */

struct pto_rank_comm *pto_rank_comm_at(const struct pto_rank *rank, uint64_t number) {
  return rank && number < rank->number_count && rank->by_number[number]->is_usable ? rank->by_number[number] : NULL;
}

struct pto_rank_comm *pto_rank_comm_of(const struct pto_rank *rank, uint64_t uid) {
  for (size_t i = 0; i < rank->comm_count; i++)
    if (rank->comms[i]->uid == uid) return rank->comms[i];
  return NULL;
}

uint32_t pto_rank_comm_number(const struct pto_rank *rank, uint64_t uid) {
  const struct pto_rank_comm *comm = pto_rank_comm_of(rank, uid);
  return comm ? comm->number : 0;
}

uint32_t pto_comm_place(const struct pto_runtime *rt, struct pto_comm comm) {
  const struct pto_rank_comm *its = pto_rank_comm_at(rank_of(rt), comm.id);
  return its ? its->place : UINT32_MAX;
}

uint32_t pto_comm_size(const struct pto_runtime *rt, struct pto_comm comm) {
  const struct pto_rank_comm *its = pto_rank_comm_at(rank_of(rt), comm.id);
  return its ? its->size : 0;
}

/* ---- making ---- */

static bool reserve_window(struct pto_rank_comm *comm) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t spread = pto_align_up(pto_max_u64(comm->window_bytes, 1), page);
  const size_t signals = pto_max_u64(comm->signal_count, 1);
  comm->peer_spread = spread;
  comm->signals = calloc(signals, sizeof *comm->signals);
  comm->notified = calloc(signals * comm->size, sizeof *comm->notified);
  comm->last_notified = calloc(signals, sizeof *comm->last_notified);
  comm->ended_waits = calloc(signals, sizeof *comm->ended_waits);
  if (!comm->signals || !comm->notified || !comm->last_notified || !comm->ended_waits ||
      !pto_reserve_init_large(&comm->window, spread, 0) || !pto_reserve_init(&comm->peers, spread * comm->size))
    return false;
  return mprotect(comm->peers.addr, spread * comm->size, PROT_NONE) == 0;
}

void pto_rank_comm_destroy(struct pto_rank_comm *comm) {
  pto_reserve_fini(&comm->window);
  pto_reserve_fini(&comm->peers);
  free(comm->signals);
  free(comm->notified);
  free(comm->last_notified);
  free(comm->ended_waits);
  free(comm->groups);
  free(comm);
}

/* Fowler, Noll and Vo's hash, FNV-1a of 64 bits: of the ranks, and of how many communicators of them came before. */
static uint64_t uid_of(const uint32_t *ranks, uint32_t count, uint32_t before) {
  uint64_t uid = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i <= count; i++) uid = (uid ^ (i < count ? ranks[i] : before)) * UINT64_C(0x100000001b3);
  return uid;
}

/* The communicator of that uid; made where this rank has not heard of it.  NULL: no memory. */
static struct pto_rank_comm *find_or_make(struct pto_rank *rank, uint64_t uid, const uint32_t *ranks, uint32_t count) {
  struct pto_rank_comm *comm = pto_rank_comm_of(rank, uid);
  if (comm) return comm;
  comm = calloc(1, sizeof *comm);
  if (!comm || !pto_grow(&rank->comms, &rank->comm_count, &rank->comm_capacity, sizeof(struct pto_rank_comm *))) {
    free(comm);
    return NULL;
  }
  comm->uid = uid;
  comm->size = count;
  memcpy(comm->ranks, ranks, count * sizeof *ranks);
  comm->place = pto_comm_place_of(comm, rank->index);
  rank->comms[rank->comm_count - 1] = comm;
  return comm;
}

/* The next of these ranks that this one makes. */
static struct pto_rank_comm *make_next(struct pto_rank *rank, const uint32_t *ranks, uint32_t count) {
  uint32_t before = 0;
  for (size_t i = 0; i < rank->number_count; i++) {
    const struct pto_rank_comm *comm = rank->by_number[i];
    before += comm->size == count && memcmp(comm->ranks, ranks, count * sizeof *ranks) == 0;
  }
  struct pto_rank_comm *comm = find_or_make(rank, uid_of(ranks, count, before), ranks, count);
  if (!comm || !pto_grow(&rank->by_number, &rank->number_count, &rank->number_capacity, sizeof(struct pto_rank_comm *)))
    return NULL;
  comm->number = (uint32_t)(rank->number_count - 1);
  rank->by_number[comm->number] = comm;
  return comm;
}

/* From now on the ranks of the communicator, of this part, may do something to each other: before the first of them
 * hears of it, as that one waits for all. */
static void join_circles(struct pto_rank *rank, const struct pto_rank_comm *comm) {
  const struct pto_part *part = rank->part;
  for (uint32_t i = 0; i < comm->size; i++) {
    if (!pto_part_has(part, comm->ranks[i])) continue;
    const uint32_t joined = pto_part_rank(part, comm->ranks[i])->circle;
    for (uint32_t k = 0; k < part->end - part->first; k++)
      if (part->ranks[k].circle == joined) part->ranks[k].circle = rank->circle;
  }
  pto_rank_limit(rank, pto_rank_horizon(rank));
  pto_rank_limit(rank, pto_rank_first_message_at(rank)); /* of those that it has run past */
}

static bool tell_others(struct pto_rank *rank, const struct pto_rank_comm *comm, uint64_t now) {
  const size_t bytes = comm->size * sizeof *comm->ranks;
  for (uint32_t i = 0; i < comm->size; i++) {
    if (comm->ranks[i] == rank->index) continue;
    struct pto_world_message *message = pto_rank_message(rank, comm->ranks[i], PTO_WORLD_JOIN, bytes);
    if (!message) return false;
    message->at = now + pto_fabric_lookahead_ps(rank->part->fabric, rank->index, comm->ranks[i]);
    message->comm = comm->uid;
    message->window_bytes = comm->window_bytes;
    message->signal_count = comm->signal_count;
    memcpy(message->payload, comm->ranks, bytes);
    pto_rank_limit(rank, pto_world_add(message->at, rank->part->lookahead_ps));
    if (!pto_part_send(rank->part, message)) return false;
  }
  return true;
}

void pto_rank_take_join(struct pto_rank *rank, const struct pto_world_message *message) {
  const uint32_t *ranks = (const uint32_t *)(const void *)message->payload;
  struct pto_rank_comm *comm = find_or_make(rank, message->comm, ranks, (uint32_t)(message->bytes / sizeof *ranks));
  if (!comm) {
    rank->part->is_out_of_memory = true;
    return;
  }
  comm->sizes[pto_comm_place_of(comm, message->source)] =
      (struct pto_comm_sizes){true, message->signal_count, message->window_bytes};
  comm->joined_count++;
  comm->last_joined = message->source;
}

/* Of the ranks that have come, one with other sizes; its place.  comm->size: there is none. */
static uint32_t find_other_sizes(const struct pto_rank_comm *comm) {
  uint32_t i = 0;
  while (i < comm->size && (!comm->sizes[i].is_known || (comm->sizes[i].window_bytes == comm->window_bytes &&
                                                         comm->sizes[i].signal_count == comm->signal_count)))
    i++;
  return i;
}

static int refuse_sizes(struct pto_runtime *rt, const struct pto_rank_comm *comm, uint32_t place) {
  return pto_runtime_fail(rt, PTO_EINVAL,
                          "pto_comm_create: rank %" PRIu32 " has a window of %" PRIu64 " bytes and %" PRIu32
                          " signals, rank %" PRIu32 " one of %" PRIu64 " and %" PRIu32,
                          rank_of(rt)->index, comm->window_bytes, comm->signal_count, comm->ranks[place],
                          comm->sizes[place].window_bytes, comm->sizes[place].signal_count);
}

static bool have_come(const void *context) {
  const struct pto_rank_comm *comm = context;
  return comm->joined_count + 1 == comm->size;
}

/* Until all ranks of it have come. */
static int wait_for_others(struct pto_runtime *rt, const struct pto_rank_comm *comm) {
  const struct pto_rank *rank = rank_of(rt);
  struct pto_stall stall = {0};
  const bool waits = !have_come(comm);
  int status = PTO_OK;
  const uint64_t begin = pto_orchestrator_clock(rt);
  if (waits || rank->late_ps) pto_stall_for(rt, &stall, PTO_STALL_peer);
  while (status == PTO_OK && !have_come(comm)) {
    if (rank->is_stuck) return pto_runtime_fail(rt, PTO_EDEADLOCK, "%s", rank->error.sentence);
    status = pto_progress_pause(rt, have_come, comm);
  }
  if (status) return status;
  /* What others have sent before this run began comes at its begin. */
  if (waits) rt->port->ops->resume(rt->port, pto_max_u64(rank->taken_at, rank->base_ps) - rank->base_ps);
  if (rank->late_ps) rt->port->ops->resume(rt->port, rt->port->clock + rank->late_ps);
  pto_stall_end(rt, &stall);
  pto_rank_record(rank, (struct pto_trace_remote){.kind = PTO_REMOTE_MAKE,
                                                  .begin = begin,
                                                  .end = pto_orchestrator_clock(rt),
                                                  .comm = comm->uid,
                                                  .bytes = comm->window_bytes,
                                                  .sequence = rt->task_count,
                                                  .task = PTO_SEGMENT_NO_TASK,
                                                  .peer = waits ? comm->last_joined : rank->index});
  const uint32_t other = find_other_sizes(comm);
  return other < comm->size ? refuse_sizes(rt, comm, other) : PTO_OK;
}

static int check_ranks(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count) {
  const struct pto_rank *rank = rank_of(rt);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (ranks[i] >= pto_rank_count(rank))
      return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: rank %" PRIu32 ", the world has %" PRIu32, ranks[i],
                        pto_rank_count(rank));
    if (seen >> ranks[i] & 1)
      return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: rank %" PRIu32 " is there twice", ranks[i]);
    seen |= UINT64_C(1) << ranks[i];
  }
  if (seen >> rank->index & 1) return PTO_OK;
  return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: rank %" PRIu32 " calls it and is not among its %" PRIu32 " ranks",
                    rank->index, count);
}

int pto_comm_create(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count, uint64_t window_bytes,
                    uint32_t signal_count, struct pto_comm *comm_out) {
  struct pto_rank *rank = rank_of(rt);
  uint32_t all[PTO_MAX_RANKS];
  int status = pto_runtime_check(rt);
  if (!status) status = pto_runtime_check_unrecorded(rt, "pto_comm_create");
  if (status) return status;
  if (rt->call_list) pto_call_list_spoil(rt->call_list);
  if (!rank)
    return PTO_REFUSE(rt, PTO_ENOTSUP, "pto_comm_create: the chip is alone; a communicator is of ranks of a world");
  for (uint32_t i = 0; !ranks && i < pto_rank_count(rank); i++) all[i] = i;
  if (!ranks) count = pto_rank_count(rank);
  if (!ranks) ranks = all;
  if (signal_count > PTO_COMM_MAX_SIGNALS)
    return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: %" PRIu32 " signals, at most %u", signal_count,
                      PTO_COMM_MAX_SIGNALS);
  if (window_bytes > PTO_FABRIC_MAX_BYTES / PTO_MAX_RANKS)
    return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: a window of %" PRIu64 " bytes, at most %" PRIu64, window_bytes,
                      (uint64_t)(PTO_FABRIC_MAX_BYTES / PTO_MAX_RANKS));
  status = check_ranks(rt, ranks, count);
  if (status) return status;
  struct pto_rank_comm *comm = make_next(rank, ranks, count);
  if (comm) comm->window_bytes = window_bytes;
  if (comm) comm->signal_count = signal_count;
  if (!comm || !reserve_window(comm))
    return pto_runtime_fail(rt, PTO_ENOMEM, "pto_comm_create: no memory for a window of %" PRIu64 " bytes",
                            window_bytes);
  comm->is_created = true;
  rank->rt = rt;
  join_circles(rank, comm);
  if (!tell_others(rank, comm, rank->base_ps + pto_orchestrator_clock(rt)))
    return pto_runtime_fail(rt, PTO_ENOMEM, "pto_comm_create: no memory for messages");
  rt->port->quiet_until = 0; /* the horizon is nearer now */
  status = wait_for_others(rt, comm);
  if (status) return status;
  comm->is_usable = true;
  comm_out->id = comm->number;
  return status;
}

/* ---- windows ---- */

void *pto_comm_window_addr(const struct pto_rank_comm *comm, uint32_t place) {
  return place == comm->place ? comm->window.addr : (char *)comm->peers.addr + place * comm->peer_spread;
}

/* For those who return its status: the runtime's sentence says it too. */
static struct pto_tensor refuse_tensor(struct pto_runtime *rt, struct pto_tensor invalid) {
  char text[160];
  pto_tensor_explain(&invalid, text, sizeof text);
  (void)PTO_REFUSE(rt, invalid.status, "%s", text);
  return invalid;
}

struct pto_tensor pto_comm_window(struct pto_runtime *rt, struct pto_comm comm, uint32_t dtype, uint32_t ndims,
                                  const uint64_t *shape) {
  return pto_comm_peer(rt, comm, pto_comm_place(rt, comm), dtype, ndims, shape);
}

struct pto_tensor pto_comm_peer(struct pto_runtime *rt, struct pto_comm comm, uint32_t peer, uint32_t dtype,
                                uint32_t ndims, const uint64_t *shape) {
  const struct pto_rank_comm *its = pto_rank_comm_at(rank_of(rt), comm.id);
  uint64_t bytes;
  if (!its) return refuse_tensor(rt, pto_tensor_invalid(PTO_MAKER_COMM, PTO_REASON_NO_COMM, comm.id));
  if (peer >= its->size)
    return refuse_tensor(rt, pto_tensor_invalid(PTO_MAKER_COMM, PTO_REASON_PEER, peer, comm.id, its->size));
  if (pto_tensor_dense_bytes(dtype, ndims, shape, &bytes) && bytes > its->window_bytes)
    return refuse_tensor(rt, pto_tensor_invalid(PTO_MAKER_COMM, PTO_REASON_WINDOW, bytes, comm.id, its->window_bytes));
  return pto_external_tensor(rt, pto_comm_window_addr(its, peer), dtype, ndims, shape);
}

/* ---- groups ---- */

#define MOST_AFTER 16u

/* Whether a task of this run is so old that its slot may be another's: it is done then. */
static bool is_too_old(const struct pto_runtime *rt, struct pto_task task) {
  const struct pto_task_ring *ring = &rt->rings.rings[task.id >> 62];
  return (task.id & (UINT64_MAX >> 2)) < ring->tail;
}

static bool is_done(const struct pto_runtime *rt, const struct pto_rank *rank, const struct pto_comm_group *group) {
  return group->run != rank->run || is_too_old(rt, group->task);
}

/* Before there is one more: where there is no room, those go that are done, but for the last of them, which sentences
 * name. */
static struct pto_comm_group *add_group(const struct pto_runtime *rt, struct pto_rank_comm *comm) {
  size_t done = 0;
  if (comm->group_count == comm->group_capacity)
    while (done + 1 < comm->group_count && is_done(rt, rank_of(rt), &comm->groups[done + 1])) done++;
  comm->group_count -= done;
  comm->forgotten_groups += done;
  if (done) memmove(comm->groups, comm->groups + done, comm->group_count * sizeof *comm->groups);
  return pto_grow(&comm->groups, &comm->group_count, &comm->group_capacity, sizeof(struct pto_comm_group));
}

/* Whether the run records callers or not: groups are few, and sentences of what waits for ever name them. */
static const void *find_outer_call(const struct pto_rank *rank, const void *call) {
  return rank->part->world->name_call && !pto_place_of(call) ? pto_call_stack_outer(call) : NULL;
}

int pto_comm_submit(struct pto_runtime *rt, struct pto_comm comm, const struct pto_launch *launch,
                    const struct pto_param *params, uint32_t count, const struct pto_comm_request *request,
                    struct pto_task *task_out) {
  const void *const place = rt->place, *const call = request->call;
  struct pto_rank *rank = rank_of(rt);
  struct pto_rank_comm *own = pto_rank_comm_at(rank, comm.id);
  struct pto_task after[MOST_AFTER], task;
  struct pto_launch its = {0};
  int status = pto_runtime_check(rt);
  if (!status) status = pto_runtime_check_unrecorded(rt, "pto_submit_group");
  if (status) return status;
  if (rt->call_list) pto_call_list_spoil(rt->call_list); /* a collective's epoch is another each time */
  if (!launch || launch->size > sizeof its)
    return pto_submit(rt, launch, params, count, task_out); /* which refuses it */
  if (!own) return PTO_REFUSE(rt, PTO_EINVAL, "pto_submit_group: there is no comm %" PRIu64, comm.id);
  if (launch->after_count >= MOST_AFTER)
    return PTO_REFUSE(rt, PTO_EINVAL, "pto_submit_group: %" PRIu32 " explicit dependencies, at most %u",
                      launch->after_count, MOST_AFTER - 1);
  memcpy(&its, launch, launch->size ? pto_min_u64(launch->size, sizeof its) : offsetof(struct pto_launch, label));
  if (its.after_count) memcpy(after, its.after, its.after_count * sizeof *after);
  const struct pto_comm_group *last = own->group_count ? &own->groups[own->group_count - 1] : NULL;
  if (last && !is_done(rt, rank, last)) after[its.after_count++] = last->task;
  its.size = sizeof its;
  its.after = after;
  its.sync_start = true;
  struct pto_comm_group *group = add_group(rt, own);
  if (!group) return PTO_REFUSE(rt, PTO_ENOMEM, "pto_submit_group: no memory");
  *group = (struct pto_comm_group){
      .run = rank->run, .task_number = rt->task_count, .call = call, .outer_call = find_outer_call(rank, call)};
  rt->place = call;
  status = pto_submit(rt, &its, params, count, &task);
  rt->place = place;
  if (status) {
    own->group_count--;
    return status;
  }
  group->task = task;
  const uint64_t now = pto_orchestrator_clock(rt);
  pto_rank_record(rank, (struct pto_trace_remote){.kind = PTO_REMOTE_GROUP,
                                                  .begin = now,
                                                  .end = now,
                                                  .comm = own->uid,
                                                  .sequence = own->forgotten_groups + own->group_count - 1,
                                                  .task = (uint32_t)group->task_number,
                                                  .peer = own->size,
                                                  .signal = request->root,
                                                  .value = (int32_t)request->reduction});
  rank->rt = rt;
  if (task_out) *task_out = task;
  return PTO_OK;
}

int pto_submit_group(struct pto_runtime *rt, struct pto_comm comm, const struct pto_launch *launch,
                     const struct pto_param *params, uint32_t count, struct pto_task *task_out) {
  return pto_comm_submit(rt, comm, launch, params, count, &(struct pto_comm_request){.call = PTO_CALLER(rt)}, task_out);
}

uint64_t pto_comm_group_of(const struct pto_rank *rank, const struct pto_rank_comm *comm, uint64_t task_number) {
  for (size_t i = comm->group_count; i-- > 0 && comm->groups[i].run == rank->run;)
    if (comm->groups[i].task_number <= task_number)
      return comm->groups[i].task_number == task_number ? comm->forgotten_groups + i : UINT64_MAX;
  return UINT64_MAX;
}
