/* SPDX-License-Identifier: MIT */
/*
 * Why no rank goes on, in one sentence: of each rank that waits, for what, and which rank keeps it waiting.
 *
 * What a core waits for is a signal of its own rank.  Who was to notify it is not known, but its group is: the kernels
 * that the ranks of the communicator submit as the same group.  A rank that has not submitted its part, whose part has
 * not begun, or has returned, is named, in this order; then those that have never notified the signal.
 */
#include <world/world_state.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/base/text.h>
#include <runtime/control/runtime_state.h>
#include <sim/rendezvous/waiting_core.h>

/* Where a rank is with a group. */
enum part_state { NOT_SUBMITTED, NOT_BEGUN, WAITS, RETURNED };

static enum part_state state_of(const struct pto_rank *rank, const struct pto_comm_part *part, uint64_t group) {
  if (group >= part->group_count) return NOT_SUBMITTED;
  const struct pto_comm_group its = part->groups[group];
  if (its.run < rank->run || rank->is_over || !rank->clock.cores) return RETURNED;
  const struct pto_rendezvous_table *table = &rank->clock.cores->solo.waiting.rendezvous;
  for (uint32_t i = 0; i < table->cluster_count * table->per_cluster; i++)
    if (table->payloads[i] && table->payloads[i]->task_number == its.task_number) return WAITS;
  for (uint32_t r = 0; rank->rt && r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &rank->rt->rings.rings[r];
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      const struct pto_task_slot *slot = &rank->rt->rings.slots[pto_task_slot_index(&rank->rt->rings, r, s)];
      if (slot->state != PTO_TASK_COMPLETED && slot->payload && slot->payload->task_number == its.task_number)
        return NOT_BEGUN;
    }
  }
  return RETURNED;
}

/* What the rank's orchestration does instead. */
static void add_orchestration(char *text, size_t size, const struct pto_rank *rank) {
  const char *doing = "waits";
  if (rank->is_over)
    doing = rank->status == PTO_OK ? "is over" : "has failed";
  else if (rank->rt && rank->rt->doing.kind == PTO_DOING_END)
    doing = "has returned";
  pto_text_append(text, size, " (its orchestration %s after %" PRIu64 " tasks)", doing,
                  rank->rt ? rank->rt->task_count : rank->last_task_count);
}

/* The first rank of the communicator that is in this state with the group; false: none is. */
static bool find_in_state(const struct pto_world *world, const struct pto_world_comm *comm, const struct pto_rank *own,
                          uint64_t group, enum part_state state, const struct pto_rank **found) {
  for (uint32_t i = 0; i < comm->size; i++) {
    const struct pto_rank *rank = &world->ranks[comm->ranks[i]];
    if (rank == own || state_of(rank, &comm->parts[rank->index], group) != state) continue;
    *found = rank;
    return true;
  }
  return false;
}

static void add_silent(char *text, size_t size, const struct pto_world_comm *comm, const struct pto_rank *own,
                       uint32_t signal) {
  const struct pto_comm_part *part = &comm->parts[own->index];
  const char *separator = ", which none notified of rank ";
  for (uint32_t i = 0; i < comm->size; i++) {
    if (comm->ranks[i] == own->index || part->notified[(size_t)signal * comm->size + i]) continue;
    pto_text_append(text, size, "%s%" PRIu32, separator, comm->ranks[i]);
    separator = ", ";
  }
}

static void add_reason(char *text, size_t size, const struct pto_rank *rank, const struct pto_core_wait *wait) {
  const struct pto_world *world = rank->world;
  const struct pto_rank *other;
  struct pto_world_comm *comm;
  if (wait->waits_for != PTO_WAITS_FOR_PEER || wait->peer.call != PTO_PEER_SIGNAL) return;
  const struct pto_comm_part *part = pto_comm_part_of(rank, wait->peer.comm, &comm);
  const uint64_t group = part ? pto_comm_group_of(rank, part, wait->task_number) : UINT64_MAX;
  if (group == UINT64_MAX) return;
  if (find_in_state(world, comm, rank, group, NOT_SUBMITTED, &other)) {
    pto_text_append(text, size, ": rank %" PRIu32 " has not submitted its task of group %" PRIu64, other->index, group);
    add_orchestration(text, size, other);
    return;
  }
  const bool is_begun = !find_in_state(world, comm, rank, group, NOT_BEGUN, &other);
  if (!is_begun || find_in_state(world, comm, rank, group, RETURNED, &other))
    pto_text_append(text, size, ": task %" PRIu64 " of rank %" PRIu32 ", of the same group, has %s",
                    comm->parts[other->index].groups[group].task_number, other->index,
                    is_begun ? "returned without notifying it" : "not begun");
  else
    add_silent(text, size, comm, rank, wait->peer.signal);
}

static uint32_t missing_of(const struct pto_world *world, const struct pto_world_comm *comm, uint32_t *first) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < comm->size; i++) {
    if (comm->parts[comm->ranks[i]].is_joined) continue;
    if (count++ == 0) *first = comm->ranks[i];
  }
  (void)world;
  return count;
}

/* Of a rank whose orchestration waits for others to make a communicator. */
static void add_making(char *text, size_t size, const struct pto_rank *rank) {
  const struct pto_world *world = rank->world;
  for (size_t i = 0; i < world->comm_count; i++) {
    const struct pto_world_comm *comm = world->comms[i];
    const struct pto_comm_part *part = &comm->parts[rank->index];
    uint32_t first = 0;
    if (!part->is_joined || part->joined_count + 1 >= comm->size) continue;
    const uint32_t count = missing_of(world, comm, &first);
    pto_text_append(text, size,
                    "; rank %" PRIu32 " waits in pto_comm_create of comm %" PRIu32 " for %" PRIu32 " of %" PRIu32
                    " ranks, first rank %" PRIu32,
                    rank->index, comm->number, count, comm->size, first);
    add_orchestration(text, size, &world->ranks[first]);
  }
}

void pto_world_describe_stuck(const struct pto_world *world, char *text, size_t size) {
  struct pto_core_waits waits;
  char one[512];
  uint32_t waiting = 0;
  for (uint32_t i = 0; i < world->rank_count; i++) waiting += !world->ranks[i].is_over;
  text[0] = '\0';
  pto_text_append(text, size, "%" PRIu32 " of %" PRIu32 " ranks wait for ever", waiting, world->rank_count);
  for (uint32_t i = 0; i < world->rank_count; i++) {
    const struct pto_rank *rank = &world->ranks[i];
    if (rank->is_over) continue;
    add_making(text, size, rank);
    if (!rank->clock.cores) continue;
    pto_rendezvous_find_waits(&rank->clock.cores->solo.waiting.rendezvous, &waits);
    for (uint32_t k = 0; k < waits.count; k++) {
      pto_core_wait_describe(&waits.waits[k], one, sizeof one);
      pto_text_append(text, size, "; rank %" PRIu32 " %s", rank->index, one);
      add_reason(text, size, rank, &waits.waits[k]);
    }
  }
}
