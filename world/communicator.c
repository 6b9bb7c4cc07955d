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

#include <runtime/base/grow.h>
#include <runtime/control/runtime_state.h>

static struct pto_rank *rank_of(const struct pto_runtime *rt) { return rt->config.rank; }

uint32_t pto_runtime_rank(const struct pto_runtime *rt) { return rank_of(rt) ? rank_of(rt)->index : 0; }
uint32_t pto_runtime_rank_count(const struct pto_runtime *rt) {
  return rank_of(rt) ? rank_of(rt)->world->rank_count : 1;
}

/* ---- finding ---- */

struct pto_world_comm *pto_world_comm_at(const struct pto_world *world, uint64_t id) {
  return id < world->comm_count ? world->comms[id] : NULL;
}

struct pto_comm_part *pto_comm_part_of(const struct pto_rank *rank, uint64_t id, struct pto_world_comm **comm) {
  *comm = rank ? pto_world_comm_at(rank->world, id) : NULL;
  return *comm && (*comm)->parts[rank->index].is_member ? &(*comm)->parts[rank->index] : NULL;
}

uint32_t pto_comm_place(const struct pto_runtime *rt, struct pto_comm comm) {
  struct pto_world_comm *found;
  const struct pto_comm_part *part = pto_comm_part_of(rank_of(rt), comm.id, &found);
  return part ? part->place : UINT32_MAX;
}

uint32_t pto_comm_size(const struct pto_runtime *rt, struct pto_comm comm) {
  struct pto_world_comm *found;
  return pto_comm_part_of(rank_of(rt), comm.id, &found) ? found->size : 0;
}

/* ---- making ---- */

static bool reserve_part(struct pto_comm_part *part, uint32_t size) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t spread = pto_align_up(pto_max_u64(part->window_bytes, 1), page);
  part->peer_spread = spread;
  part->signals = calloc(part->signal_count ? part->signal_count : 1, sizeof *part->signals);
  part->notified = calloc((size_t)(part->signal_count ? part->signal_count : 1) * size, sizeof *part->notified);
  if (!part->signals || !part->notified || !pto_reserve_init(&part->window, spread) ||
      !pto_reserve_init(&part->peers, spread * size))
    return false;
  return mprotect(part->peers.addr, spread * size, PROT_NONE) == 0;
}

void pto_world_comm_destroy(struct pto_world_comm *comm) {
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++) {
    struct pto_comm_part *part = &comm->parts[i];
    pto_reserve_fini(&part->window);
    pto_reserve_fini(&part->peers);
    free(part->signals);
    free(part->notified);
    free(part->groups);
  }
  free(comm);
}

/* The communicator of these ranks that this one has not joined yet; made where it is the first.  NULL: no memory. */
static struct pto_world_comm *find_or_make(struct pto_rank *rank, const uint32_t *ranks, uint32_t count) {
  struct pto_world *world = rank->world;
  for (size_t i = 0; i < world->comm_count; i++) {
    struct pto_world_comm *comm = world->comms[i];
    if (comm->size == count && !comm->parts[rank->index].is_joined &&
        memcmp(comm->ranks, ranks, count * sizeof *ranks) == 0)
      return comm;
  }
  struct pto_world_comm *comm = calloc(1, sizeof *comm);
  if (!comm || !pto_grow(&world->comms, &world->comm_count, &world->comm_capacity, sizeof(struct pto_world_comm *))) {
    free(comm);
    return NULL;
  }
  comm->number = (uint32_t)(world->comm_count - 1);
  comm->size = count;
  memcpy(comm->ranks, ranks, count * sizeof *ranks);
  for (uint32_t i = 0; i < count; i++) comm->parts[ranks[i]] = (struct pto_comm_part){.is_member = true, .place = i};
  world->comms[comm->number] = comm;
  return comm;
}

static bool tell_others(struct pto_rank *rank, const struct pto_world_comm *comm, uint64_t now) {
  const struct pto_comm_part *part = &comm->parts[rank->index];
  for (uint32_t i = 0; i < comm->size; i++) {
    if (comm->ranks[i] == rank->index) continue;
    struct pto_world_message *message = pto_rank_message(rank, comm->ranks[i], PTO_WORLD_JOIN, 0);
    if (!message) return false;
    message->at = now + pto_fabric_lookahead_ps(rank->world->fabric, rank->index, comm->ranks[i]);
    message->comm = comm->number;
    message->window_bytes = part->window_bytes;
    message->signal_count = part->signal_count;
    pto_rank_limit(rank, pto_world_add(message->at, rank->world->lookahead_ps));
    if (!pto_world_send(rank->world, message)) return false;
  }
  return true;
}

void pto_rank_take_join(struct pto_rank *rank, const struct pto_world_message *message) {
  rank->world->comms[message->comm]->parts[rank->index].joined_count++;
}

/* Of the ranks that have come, one with other sizes. */
static const struct pto_comm_part *find_other_sizes(const struct pto_world_comm *comm, const struct pto_comm_part *own,
                                                    uint32_t *other) {
  for (uint32_t i = 0; i < comm->size; i++) {
    const struct pto_comm_part *part = &comm->parts[comm->ranks[i]];
    *other = comm->ranks[i];
    if (part->is_joined && (part->window_bytes != own->window_bytes || part->signal_count != own->signal_count))
      return part;
  }
  return NULL;
}

/* Until all ranks of it have come. */
static int wait_for_others(struct pto_runtime *rt, const struct pto_comm_part *part, uint32_t size) {
  struct pto_rank *rank = rank_of(rt);
  struct pto_stall stall = {0};
  int status = PTO_OK;
  pto_stall_for(rt, &stall, PTO_STALL_poll);
  while (status == PTO_OK && part->joined_count + 1 < size) {
    if (rank->is_stuck) return pto_runtime_fail(rt, PTO_EDEADLOCK, "%s", rank->error.sentence);
    status = pto_progress_pause(rt);
  }
  if (status) return status;
  rt->port->ops->resume(rt->port, rank->taken_at - rank->base_ps);
  pto_stall_end(rt, &stall);
  return PTO_OK;
}

static int check_ranks(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count) {
  const struct pto_rank *rank = rank_of(rt);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (ranks[i] >= rank->world->rank_count)
      return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: rank %" PRIu32 ", the world has %" PRIu32, ranks[i],
                        rank->world->rank_count);
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
  uint32_t all[PTO_MAX_RANKS], other;
  int status = pto_runtime_check(rt);
  if (!status) status = pto_runtime_check_unrecorded(rt, "pto_comm_create");
  if (status) return status;
  if (!rank)
    return PTO_REFUSE(rt, PTO_ENOTSUP, "pto_comm_create: the chip is alone; a communicator is of ranks of a world");
  for (uint32_t i = 0; !ranks && i < rank->world->rank_count; i++) all[i] = i;
  if (!ranks) count = rank->world->rank_count;
  if (!ranks) ranks = all;
  if (signal_count > PTO_COMM_MAX_SIGNALS)
    return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: %" PRIu32 " signals, at most %u", signal_count,
                      PTO_COMM_MAX_SIGNALS);
  if (window_bytes > PTO_FABRIC_MAX_BYTES / PTO_MAX_RANKS)
    return PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_create: a window of %" PRIu64 " bytes, at most %" PRIu64, window_bytes,
                      (uint64_t)(PTO_FABRIC_MAX_BYTES / PTO_MAX_RANKS));
  status = check_ranks(rt, ranks, count);
  if (status) return status;
  struct pto_world_comm *comm = find_or_make(rank, ranks, count);
  struct pto_comm_part *part = comm ? &comm->parts[rank->index] : NULL;
  if (part) part->window_bytes = window_bytes;
  if (part) part->signal_count = signal_count;
  if (!part || !reserve_part(part, count))
    return pto_runtime_fail(rt, PTO_ENOMEM, "pto_comm_create: no memory for a window of %" PRIu64 " bytes",
                            window_bytes);
  const struct pto_comm_part *differs = find_other_sizes(comm, part, &other);
  if (differs)
    return pto_runtime_fail(rt, PTO_EINVAL,
                            "pto_comm_create: rank %" PRIu32 " has a window of %" PRIu64 " bytes and %" PRIu32
                            " signals, rank %" PRIu32 " one of %" PRIu64 " and %" PRIu32,
                            rank->index, window_bytes, signal_count, other, differs->window_bytes,
                            differs->signal_count);
  part->is_joined = true;
  rank->rt = rt;
  if (!tell_others(rank, comm, rank->base_ps + pto_orchestrator_clock(rt)))
    return pto_runtime_fail(rt, PTO_ENOMEM, "pto_comm_create: no memory for messages");
  status = wait_for_others(rt, part, count);
  if (status == PTO_OK) comm_out->id = comm->number;
  return status;
}

/* ---- windows ---- */

void *pto_comm_window_addr(const struct pto_comm_part *part, uint32_t place) {
  return place == part->place ? part->window.addr : (char *)part->peers.addr + place * part->peer_spread;
}

static struct pto_tensor invalid(int status) { return (struct pto_tensor){.status = status}; }

/* The tensor at the begin of a window that is at `addr`. */
static struct pto_tensor at_window(struct pto_runtime *rt, const struct pto_comm_part *part, void *addr, uint32_t dtype,
                                   uint32_t ndims, const uint64_t *shape) {
  struct pto_remote_layout layout = {.dtype = dtype, .ndims = ndims};
  unsigned __int128 bytes = pto_dtype_size(dtype);
  if (ndims > PTO_MAX_DIMS || bytes == 0) return invalid(PTO_EINVAL);
  for (uint32_t i = 0; i < ndims; i++) layout.shape[i] = shape[i];
  for (uint32_t i = 0; i < ndims && bytes <= PTO_FABRIC_MAX_BYTES; i++) bytes *= shape[i];
  if (bytes > PTO_FABRIC_MAX_BYTES || pto_remote_bytes(&layout) > part->window_bytes) {
    (void)PTO_REFUSE(rt, PTO_EINVAL, "a tensor of more bytes than the %" PRIu64 " of the window", part->window_bytes);
    return invalid(PTO_EINVAL);
  }
  return pto_external_tensor(rt, addr, dtype, ndims, shape);
}

struct pto_tensor pto_comm_window(struct pto_runtime *rt, struct pto_comm comm, uint32_t dtype, uint32_t ndims,
                                  const uint64_t *shape) {
  return pto_comm_peer(rt, comm, pto_comm_place(rt, comm), dtype, ndims, shape);
}

struct pto_tensor pto_comm_peer(struct pto_runtime *rt, struct pto_comm comm, uint32_t peer, uint32_t dtype,
                                uint32_t ndims, const uint64_t *shape) {
  struct pto_world_comm *found;
  const struct pto_comm_part *part = pto_comm_part_of(rank_of(rt), comm.id, &found);
  if (!part || peer >= found->size) {
    (void)PTO_REFUSE(rt, PTO_EINVAL, "pto_comm_peer: peer %" PRIu32 " of comm %" PRIu64 ", which has %" PRIu32, peer,
                     comm.id, part ? found->size : 0);
    return invalid(PTO_EINVAL);
  }
  return at_window(rt, part, pto_comm_window_addr(part, peer), dtype, ndims, shape);
}

/* ---- groups ---- */

#define MOST_AFTER 16u

/* Whether a task of this run is so old that its slot may be another's: it is done then. */
static bool is_too_old(const struct pto_runtime *rt, struct pto_task task) {
  const struct pto_task_ring *ring = &rt->rings.rings[task.id >> 62];
  return (task.id & (UINT64_MAX >> 2)) < ring->tail;
}

int pto_submit_group(struct pto_runtime *rt, struct pto_comm comm, const struct pto_launch *launch,
                     const struct pto_param *params, uint32_t count, struct pto_task *task_out) {
  struct pto_rank *rank = rank_of(rt);
  struct pto_world_comm *found;
  struct pto_comm_part *part = pto_comm_part_of(rank, comm.id, &found);
  struct pto_task after[MOST_AFTER], task;
  struct pto_launch its = {0};
  int status = pto_runtime_check(rt);
  if (!status) status = pto_runtime_check_unrecorded(rt, "pto_submit_group");
  if (status) return status;
  if (!part) return PTO_REFUSE(rt, PTO_EINVAL, "pto_submit_group: there is no comm %" PRIu64, comm.id);
  if (launch->after_count >= MOST_AFTER)
    return PTO_REFUSE(rt, PTO_EINVAL, "pto_submit_group: %" PRIu32 " explicit dependencies, at most %u",
                      launch->after_count, MOST_AFTER - 1);
  memcpy(&its, launch, launch->size ? pto_min_u64(launch->size, sizeof its) : offsetof(struct pto_launch, label));
  if (its.after_count) memcpy(after, its.after, its.after_count * sizeof *after);
  if (part->group_count && part->last_run == rank->run && !is_too_old(rt, part->last_group))
    after[its.after_count++] = part->last_group;
  its.size = sizeof its;
  its.after = after;
  its.sync_start = true;
  struct pto_comm_group *group =
      pto_grow(&part->groups, &part->group_count, &part->group_capacity, sizeof(struct pto_comm_group));
  if (!group) return PTO_REFUSE(rt, PTO_ENOMEM, "pto_submit_group: no memory");
  *group = (struct pto_comm_group){.run = rank->run, .task_number = rt->task_count};
  status = pto_submit(rt, &its, params, count, &task);
  if (status) {
    part->group_count--;
    return status;
  }
  rank->rt = rt;
  part->last_group = task;
  part->last_run = rank->run;
  if (task_out) *task_out = task;
  return PTO_OK;
}

uint64_t pto_comm_group_of(const struct pto_rank *rank, const struct pto_comm_part *part, uint64_t task_number) {
  for (size_t i = part->group_count; i-- > 0 && part->groups[i].run == rank->run;)
    if (part->groups[i].task_number <= task_number) return part->groups[i].task_number == task_number ? i : UINT64_MAX;
  return UINT64_MAX;
}
