/* SPDX-License-Identifier: MIT */
/*
 * Why no rank goes on, in one sentence: of each rank that waits, for what, and which rank keeps it waiting.
 *
 * What a core waits for is a signal of its own rank.  Who was to notify it is not known, but its group is: the kernels
 * that the ranks of the communicator submit as the same group.  A rank that has not submitted its part, whose part has
 * not begun, or has returned, is named, in this order; then those that have never notified the signal.
 *
 * Parts tell each other how far each rank is with each communicator, and then what they say of their ranks.
 */
#include <world/world_state.h>

#include <inttypes.h>
#include <string.h>

#include <runtime/base/text.h>
#include <runtime/control/runtime_state.h>
#include <sim/rendezvous/waiting_core.h>

/* ---- how far a rank is ---- */

enum orchestration { IS_OVER, HAS_FAILED, HAS_RETURNED, WAITS };
enum group_state { NOT_BEGUN, BEGUN };

/* Of a rank and a communicator, in which a rank's groups run one after another. */
struct fact {
  uint64_t uid;
  uint32_t rank;
  bool is_created;
  uint8_t orchestration;    /* enum orchestration */
  uint8_t state;            /* enum group_state, of the first group that is not done */
  uint64_t task_count;      /* that it has submitted in all */
  uint64_t submitted, done; /* groups */
  uint64_t first_task;      /* of that group */
  uint64_t last_task;       /* of the one before */
};

static bool has_begun(const struct pto_rank *rank, uint64_t task_number) {
  const struct pto_rendezvous_table *table = &rank->clock.cores->solo.waiting.rendezvous;
  for (uint32_t i = 0; i < table->cluster_count * table->per_cluster; i++)
    if (table->payloads[i] && table->payloads[i]->task_number == task_number) return true;
  return false;
}

/* A task of the run that goes on. */
static bool is_done(const struct pto_rank *rank, uint64_t task_number) {
  for (uint32_t r = 0; rank->rt && r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &rank->rt->rings.rings[r];
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      const struct pto_task_slot *slot = &rank->rt->rings.slots[pto_task_slot_index(&rank->rt->rings, r, s)];
      if (slot->state != PTO_TASK_COMPLETED && slot->payload && slot->payload->task_number == task_number) return false;
    }
  }
  return true;
}

static struct fact fact_of(const struct pto_rank *rank, const struct pto_rank_comm *comm) {
  struct fact fact = {.uid = comm->uid,
                      .rank = rank->index,
                      .is_created = comm->is_created,
                      .orchestration = rank->is_over ? (rank->status == PTO_OK ? IS_OVER : HAS_FAILED) : WAITS,
                      .task_count = rank->rt ? rank->rt->task_count : rank->last_task_count,
                      .submitted = comm->group_count,
                      .done = comm->group_count};
  /* One whose submit still waits for room is not submitted. */
  if (rank->rt && fact.submitted > 0 && comm->groups[fact.submitted - 1].run == rank->run &&
      comm->groups[fact.submitted - 1].task_number >= rank->rt->task_count)
    fact.done = --fact.submitted;
  if (!rank->is_over && rank->rt && rank->rt->doing.kind == PTO_DOING_END) fact.orchestration = HAS_RETURNED;
  while (fact.done > 0 && rank->clock.cores && comm->groups[fact.done - 1].run == rank->run &&
         !is_done(rank, comm->groups[fact.done - 1].task_number))
    fact.done--;
  if (fact.done < fact.submitted) fact.first_task = comm->groups[fact.done].task_number;
  if (fact.done < fact.submitted && has_begun(rank, fact.first_task)) fact.state = BEGUN;
  if (fact.done > 0) fact.last_task = comm->groups[fact.done - 1].task_number;
  return fact;
}

/* To `in`: those of all ranks. */
static void exchange_facts(struct pto_part *part) {
  for (uint32_t i = 0; i < part->end - part->first; i++)
    for (size_t k = 0; k < part->ranks[i].comm_count; k++) {
      struct fact *fact = pto_exchange_bytes_add(&part->out, sizeof *fact);
      if (fact) *fact = fact_of(&part->ranks[i], part->ranks[i].comms[k]);
    }
  struct pto_exchange_visit visit = {part->index, 0, &part->out, &part->in};
  (void)pto_exchange_meet(part->world->exchange, &visit, true);
}

/* NULL: the rank knows nothing of the communicator. */
static const struct fact *find_fact(const struct pto_exchange_bytes *facts, uint64_t uid, uint32_t rank) {
  for (size_t at = 0; at + sizeof(struct fact) <= facts->count; at += sizeof(struct fact)) {
    const struct fact *fact = (const struct fact *)(const void *)(facts->data + at);
    if (fact->uid == uid && fact->rank == rank) return fact;
  }
  return NULL;
}

/* ---- why a core waits ---- */

enum part_state { PART_NOT_SUBMITTED, PART_NOT_BEGUN, PART_RETURNED, PART_WAITS };

static enum part_state state_of(const struct fact *fact, uint64_t group) {
  if (!fact || group >= fact->submitted) return PART_NOT_SUBMITTED;
  if (group < fact->done) return PART_RETURNED;
  return group > fact->done || fact->state == NOT_BEGUN ? PART_NOT_BEGUN : PART_WAITS;
}

/* What the rank's orchestration does instead. */
static void add_orchestration(char *text, size_t size, const struct fact *fact) {
  static const char *const doing[] = {"is over", "has failed", "has returned", "waits"};
  if (fact)
    pto_text_append(text, size, " (its orchestration %s after %" PRIu64 " tasks)", doing[fact->orchestration],
                    fact->task_count);
}

/* The first other rank of the communicator that is in this state with the group; comm->size: none is. */
static uint32_t find_in_state(const struct pto_exchange_bytes *facts, const struct pto_rank_comm *comm, uint64_t group,
                              enum part_state state) {
  uint32_t i = 0;
  while (i < comm->size && (i == comm->place || state_of(find_fact(facts, comm->uid, comm->ranks[i]), group) != state))
    i++;
  return i;
}

static void add_silent(char *text, size_t size, const struct pto_rank_comm *comm, uint32_t signal) {
  const char *separator = ", which none notified of rank ";
  for (uint32_t i = 0; i < comm->size; i++) {
    if (i == comm->place || comm->notified[(size_t)signal * comm->size + i]) continue;
    pto_text_append(text, size, "%s%" PRIu32, separator, comm->ranks[i]);
    separator = ", ";
  }
}

static void add_reason(char *text, size_t size, const struct pto_rank *rank, const struct pto_core_wait *wait) {
  const struct pto_exchange_bytes *facts = &rank->part->in;
  if (wait->waits_for != PTO_WAITS_FOR_PEER || wait->peer.call != PTO_PEER_SIGNAL) return;
  const struct pto_rank_comm *comm = pto_rank_comm_at(rank, wait->peer.comm);
  const uint64_t group = comm ? pto_comm_group_of(rank, comm, wait->task_number) : UINT64_MAX;
  if (group == UINT64_MAX) return;
  uint32_t place = find_in_state(facts, comm, group, PART_NOT_SUBMITTED);
  if (place < comm->size) {
    pto_text_append(text, size, ": rank %" PRIu32 " has not submitted its task of group %" PRIu64, comm->ranks[place],
                    group);
    add_orchestration(text, size, find_fact(facts, comm->uid, comm->ranks[place]));
    return;
  }
  place = find_in_state(facts, comm, group, PART_NOT_BEGUN);
  const bool is_begun = place == comm->size;
  if (is_begun) place = find_in_state(facts, comm, group, PART_RETURNED);
  if (place == comm->size) {
    add_silent(text, size, comm, wait->peer.signal);
    return;
  }
  const struct fact *fact = find_fact(facts, comm->uid, comm->ranks[place]);
  if (group == fact->done || group + 1 == fact->done)
    pto_text_append(text, size, ": task %" PRIu64 " of rank %" PRIu32 ", of the same group, has %s",
                    group == fact->done ? fact->first_task : fact->last_task, fact->rank,
                    is_begun ? "returned without notifying it" : "not begun");
  else
    pto_text_append(text, size, ": the task of rank %" PRIu32 " of the same group has %s", fact->rank,
                    is_begun ? "returned without notifying it" : "not begun");
}

/* ---- the sentence ---- */

/* Of a rank whose orchestration waits for others to make a communicator. */
static void add_making(char *text, size_t size, const struct pto_rank *rank) {
  const struct pto_exchange_bytes *facts = &rank->part->in;
  for (size_t i = 0; i < rank->number_count; i++) {
    const struct pto_rank_comm *comm = rank->by_number[i];
    uint32_t first = comm->size;
    if (comm->joined_count + 1 >= comm->size) continue;
    for (uint32_t k = comm->size; k-- > 0;)
      if (k != comm->place && !comm->sizes[k].is_known) first = k;
    pto_text_append(text, size,
                    "; rank %" PRIu32 " waits in pto_comm_create of comm %" PRIu32 " for %" PRIu32 " of %" PRIu32
                    " ranks, first rank %" PRIu32,
                    rank->index, comm->number, comm->size - 1 - comm->joined_count, comm->size, comm->ranks[first]);
    add_orchestration(text, size, find_fact(facts, comm->uid, comm->ranks[first]));
  }
}

/* What is said of a rank, in its part's text. */
struct saying {
  uint32_t rank;
  char text[PTO_SENTENCE_SIZE];
};

static void say(const struct pto_rank *rank, struct saying *saying) {
  struct pto_core_waits waits;
  char one[512];
  saying->rank = rank->index;
  saying->text[0] = '\0';
  add_making(saying->text, sizeof saying->text, rank);
  if (!rank->clock.cores) return;
  pto_rendezvous_find_waits(&rank->clock.cores->solo.waiting.rendezvous, &waits);
  for (uint32_t i = 0; i < waits.count; i++) {
    pto_core_wait_describe(&waits.waits[i], one, sizeof one);
    pto_text_append(saying->text, sizeof saying->text, "; rank %" PRIu32 " %s", rank->index, one);
    add_reason(saying->text, sizeof saying->text, rank, &waits.waits[i]);
  }
}

void pto_part_describe_stuck(struct pto_part *part, char *text, size_t size) {
  exchange_facts(part);
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    struct saying *saying = part->ranks[i].is_over ? NULL : pto_exchange_bytes_add(&part->out, sizeof *saying);
    if (saying) say(&part->ranks[i], saying);
  }
  struct pto_exchange_visit visit = {part->index, 0, &part->out, &part->in};
  (void)pto_exchange_meet(part->world->exchange, &visit, true);
  text[0] = '\0';
  pto_text_append(text, size, "%zu of %" PRIu32 " ranks wait for ever", part->in.count / sizeof(struct saying),
                  part->world->rank_count);
  for (size_t at = 0; at + sizeof(struct saying) <= part->in.count; at += sizeof(struct saying))
    pto_text_append(text, size, "%s", ((const struct saying *)(const void *)(part->in.data + at))->text);
}
