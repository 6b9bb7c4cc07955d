/* SPDX-License-Identifier: MIT */
/*
 * Why no rank goes on, in one sentence: of each rank that waits, for what, and which rank keeps it waiting.
 *
 * What a core waits for is a signal of its own rank.  Who was to notify it is not known, but its group is: the kernels
 * that the ranks of the communicator submit as the same group.  A rank that has not submitted its part, whose part has
 * not begun, or has returned, is named, in this order; then those that have never notified the signal.  Where one rank
 * alone has notified it, and a wait for it was over so, only that one is asked: it counts what that rank does.  What
 * the rank has submitted instead is named with its line.  Of a signal that is above the value that it is to be, who
 * notified it last is named.
 *
 * Parts tell each other how far each rank is with each communicator, and then what they say of their ranks.  The wait
 * that the others come down to is said first: from the first one on along who is named, to a rank that does not wait.
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

/* Where a task was submitted. */
struct place {
  const void *call; /* NULL: not known; of the process that it is in alone */
  char text[PTO_STUCK_PLACE];
};

/* Of a rank and a communicator, in which a rank's groups run one after another. */
struct fact {
  uint64_t uid;
  uint32_t rank;
  bool is_created;
  uint8_t orchestration;          /* enum orchestration */
  uint8_t state;                  /* enum group_state, of the first group that is not done */
  uint32_t pending;               /* tasks that this one comes after and that are not done */
  uint64_t task_count;            /* that it has submitted in all */
  uint64_t submitted, done;       /* groups */
  uint64_t first_task;            /* of that group */
  uint64_t last_task;             /* of the one before */
  struct pto_comm_skip last_skip; /* of that task */
  uint64_t last_submitted;        /* task; UINT64_MAX: not known */
  uint64_t next_task;             /* of the one behind the first that is not done, where it is submitted */
  struct place first_place, last_place, submitted_place, next_place; /* of these */
};

static struct place place_of(const struct pto_rank *rank, const void *call, const void *outer) {
  struct place place = {.call = call};
  const struct pto_world *world = rank->part->world;
  if (call && world->name_call) world->name_call(world->name_context, call, outer, place.text, sizeof place.text);
  return place;
}

static struct place place_of_group(const struct pto_rank *rank, const struct pto_rank_comm *comm, uint64_t n) {
  const struct pto_comm_group *group = pto_comm_group_at(comm, n);
  return place_of(rank, group->call, group->outer_call);
}

static bool has_begun(const struct pto_rank *rank, uint64_t task_number) {
  const struct pto_rendezvous_table *table = &rank->clock.cores->solo.waiting.rendezvous;
  for (uint32_t i = 0; i < table->cluster_count * table->per_cluster; i++)
    if (table->payloads[i] && table->payloads[i]->task_number == task_number) return true;
  return false;
}

/* Of a task of the run that goes on and is not done; NULL: it is. */
static const struct pto_task_slot *find_slot(const struct pto_rank *rank, uint64_t task_number, uint32_t *index) {
  for (uint32_t r = 0; rank->rt && r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &rank->rt->rings.rings[r];
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      *index = pto_task_slot_index(&rank->rt->rings, r, s);
      const struct pto_task_slot *slot = &rank->rt->rings.slots[*index];
      if (slot->state != PTO_TASK_COMPLETED && slot->payload && slot->payload->task_number == task_number) return slot;
    }
  }
  return NULL;
}

/* The last task, where the run is recorded; else the last group that is submitted. */
static void find_last_submitted(const struct pto_rank *rank, const struct pto_rank_comm *comm, struct fact *fact) {
  const struct pto_trace_log *tasks = rank->rt ? &rank->rt->trace.tasks : NULL;
  fact->last_submitted = UINT64_MAX;
  if (tasks && tasks->count) {
    const struct pto_trace_task *task = pto_trace_log_at(tasks, tasks->count - 1);
    fact->last_submitted = task->number;
    fact->submitted_place = place_of(rank, task->call, task->outer_call);
  } else if (fact->submitted > comm->forgotten_groups) {
    fact->last_submitted = pto_comm_group_at(comm, fact->submitted - 1)->task_number;
    fact->submitted_place = place_of_group(rank, comm, fact->submitted - 1);
  }
}

/* Its orchestration, in the run that goes on. */
static bool has_returned(const struct pto_rank *rank) {
  return !rank->is_over && rank->rt && rank->rt->doing.kind == PTO_DOING_END;
}

static struct fact fact_of(const struct pto_rank *rank, const struct pto_rank_comm *comm) {
  const struct pto_task_slot *slot;
  uint32_t index;
  struct fact fact = {.uid = comm->uid,
                      .rank = rank->index,
                      .is_created = comm->is_created,
                      .orchestration = rank->is_over ? (rank->status == PTO_OK ? IS_OVER : HAS_FAILED) : WAITS,
                      .task_count = rank->rt ? rank->rt->task_count : rank->last_task_count,
                      .submitted = comm->forgotten_groups + comm->group_count,
                      .done = comm->forgotten_groups + comm->group_count};
  /* One whose submit still waits for room is not submitted. */
  if (rank->rt && comm->group_count > 0 && pto_comm_group_at(comm, fact.submitted - 1)->run == rank->run &&
      pto_comm_group_at(comm, fact.submitted - 1)->task_number >= rank->rt->task_count)
    fact.done = --fact.submitted;
  if (has_returned(rank)) fact.orchestration = HAS_RETURNED;
  while (fact.done > comm->forgotten_groups && rank->clock.cores &&
         pto_comm_group_at(comm, fact.done - 1)->run == rank->run &&
         find_slot(rank, pto_comm_group_at(comm, fact.done - 1)->task_number, &index))
    fact.done--;
  if (fact.done < fact.submitted) {
    const struct pto_comm_group *group = pto_comm_group_at(comm, fact.done);
    fact.first_task = group->task_number;
    fact.first_place = place_of_group(rank, comm, fact.done);
    if (has_begun(rank, group->task_number)) fact.state = BEGUN;
    slot = find_slot(rank, group->task_number, &index);
    if (slot) fact.pending = slot->pending;
  }
  if (fact.done + 1 < fact.submitted) {
    fact.next_task = pto_comm_group_at(comm, fact.done + 1)->task_number;
    fact.next_place = place_of_group(rank, comm, fact.done + 1);
  }
  if (fact.done > comm->forgotten_groups) fact.last_task = pto_comm_group_at(comm, fact.done - 1)->task_number;
  if (fact.done > comm->forgotten_groups)
    fact.last_skip = pto_comm_skip_of(rank, pto_comm_group_at(comm, fact.done - 1));
  if (fact.done > comm->forgotten_groups) fact.last_place = place_of_group(rank, comm, fact.done - 1);
  find_last_submitted(rank, comm, &fact);
  return fact;
}

/* To `in`: those of all ranks.  False: some part has no memory. */
static bool exchange_facts(struct pto_part *part) {
  for (uint32_t i = 0; i < part->end - part->first; i++)
    for (size_t k = 0; k < part->ranks[i].comm_count; k++) {
      struct fact *fact = pto_exchange_bytes_add(&part->out, sizeof *fact);
      part->is_out_of_memory |= !fact;
      if (fact) *fact = fact_of(&part->ranks[i], part->ranks[i].comms[k]);
    }
  struct pto_exchange_visit visit = {part->index, 0, &part->out, &part->in};
  return pto_exchange_meet(part->world->exchange, &visit, !part->is_out_of_memory);
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

static void add_place(char *text, size_t size, const struct place *place) {
  if (place->text[0]) pto_text_append(text, size, ", submitted at %s,", place->text);
}

/* What the rank's orchestration does instead. */
static void add_orchestration(char *text, size_t size, const struct fact *fact) {
  static const char *const doing[] = {"is over", "has failed", "has returned", "waits"};
  if (!fact) return;
  pto_text_append(text, size, " (its orchestration %s after %" PRIu64 " tasks", doing[fact->orchestration],
                  fact->task_count);
  if (fact->last_submitted != UINT64_MAX && fact->submitted_place.text[0])
    pto_text_append(text, size, "; it has submitted task %" PRIu64 " last, at %s", fact->last_submitted,
                    fact->submitted_place.text);
  pto_text_append(text, size, ")");
}

static uint64_t notified(const struct pto_rank_comm *comm, uint32_t signal, uint32_t place) {
  return comm->notified[(size_t)signal * comm->size + place];
}

/* Whether the place may owe a notify of the signal.  Where waits for it are over to which one rank alone has come, it
 * is that one which is waited for again. */
static bool may_owe(const struct pto_rank_comm *comm, uint32_t signal, uint32_t place) {
  uint32_t notifiers = 0;
  for (uint32_t i = 0; i < comm->size; i++) notifiers += notified(comm, signal, i) > 0;
  return place != comm->place && (notifiers != 1 || !comm->ended_waits[signal] || notified(comm, signal, place) > 0);
}

/* The first rank that may owe the signal, and is in this state with the group; comm->size: none is. */
static uint32_t find_in_state(const struct pto_exchange_bytes *facts, const struct pto_rank_comm *comm, uint64_t group,
                              uint32_t signal, enum part_state state) {
  uint32_t i = 0;
  while (i < comm->size &&
         (!may_owe(comm, signal, i) || state_of(find_fact(facts, comm->uid, comm->ranks[i]), group) != state))
    i++;
  return i;
}

/* Its task of the group was, by a predicate. */
static bool is_skipped(const struct fact *fact, uint64_t group) {
  return group + 1 == fact->done && fact->last_skip.compare != PTO_ALWAYS;
}

/* What shows that a rank which has returned owes the notify, the strongest first. */
static uint32_t evidence_of(const struct fact *fact, const struct pto_rank_comm *comm, uint64_t group, uint32_t place) {
  if (is_skipped(fact, group)) return 0;
  return comm->puts[place] > 0 ? 1 : 2;
}

/* Of the ranks that have returned, the first that has notified the signal the least, of these one for which the most
 * speaks; and how many are like it. */
static uint32_t find_returned(const struct pto_exchange_bytes *facts, const struct pto_rank_comm *comm, uint64_t group,
                              uint32_t signal, uint32_t *alike) {
  uint32_t found = comm->size, evidence = 0;
  *alike = 0;
  for (uint32_t i = 0; i < comm->size; i++) {
    const struct fact *fact = find_fact(facts, comm->uid, comm->ranks[i]);
    if (!may_owe(comm, signal, i) || state_of(fact, group) != PART_RETURNED) continue;
    const uint64_t times = notified(comm, signal, i), least = found < comm->size ? notified(comm, signal, found) : 0;
    const uint32_t its = evidence_of(fact, comm, group, i);
    const bool is_less = found == comm->size || times < least || (times == least && its < evidence);
    if (is_less || (times == least && its == evidence)) *alike = is_less ? 1 : *alike + 1;
    if (is_less) found = i;
    if (is_less) evidence = its;
  }
  return found;
}

/* The rank's task of the group, as far as it is known. */
static void add_task(struct pto_stuck_wait *wait, const struct fact *fact, uint64_t group) {
  char *text = wait->text;
  const size_t size = sizeof wait->text;
  const bool is_first = group == fact->done, is_last = group + 1 == fact->done;
  const struct place *place = is_first ? &fact->first_place : &fact->last_place;
  wait->blamed = fact->rank;
  if (!is_first && !is_last) {
    pto_text_append(text, size, ": the task of rank %" PRIu32 " of the same group", fact->rank);
    return;
  }
  wait->its_task = is_first ? fact->first_task : fact->last_task;
  wait->its_call = place->call;
  pto_text_append(text, size, ": task %" PRIu64 " of rank %" PRIu32 ", of the same group", wait->its_task, fact->rank);
  add_place(text, size, place);
}

/* A rank that waits in its own task of the group may have the notify in a later one, if it goes on otherwise than this
 * one does. */
static bool add_next(struct pto_stuck_wait *wait, const struct fact *own, const struct fact *fact, uint64_t group) {
  char *text = wait->text;
  const size_t size = sizeof wait->text;
  if (!own || !fact || group != fact->done || fact->done + 1 >= fact->submitted) return false;
  if (strcmp(own->next_place.text, fact->next_place.text) == 0) return false;
  wait->why = PTO_STUCK_NEXT_GROUP;
  wait->blamed = fact->rank;
  wait->its_task = fact->next_task;
  wait->its_call = fact->next_place.call;
  pto_text_append(text, size, "; the next group of rank %" PRIu32 ", task %" PRIu64, fact->rank, fact->next_task);
  add_place(text, size, &fact->next_place);
  pto_text_append(text, size, " begins only after its own of this one");
  return true;
}

static void add_silent(struct pto_stuck_wait *wait, const struct pto_exchange_bytes *facts,
                       const struct pto_rank_comm *comm, uint64_t group, uint32_t signal) {
  const char *separator = ", which none notified of rank ";
  uint32_t silent = 0;
  for (uint32_t i = 0; i < comm->size; i++) {
    if (i == comm->place || notified(comm, signal, i)) continue;
    if (silent++ == 0) wait->blamed = comm->ranks[i];
    pto_text_append(wait->text, sizeof wait->text, "%s%" PRIu32, separator, comm->ranks[i]);
    separator = ", ";
  }
  const struct fact *own = find_fact(facts, comm->uid, comm->ranks[comm->place]);
  const struct fact *only = silent == 1 ? find_fact(facts, comm->uid, wait->blamed) : NULL;
  if (only) {
    add_task(wait, only, group);
    pto_text_append(wait->text, sizeof wait->text, " has begun, and waits itself");
  }
  for (uint32_t i = 0; i < comm->size; i++)
    if (i != comm->place && !notified(comm, signal, i) &&
        add_next(wait, own, find_fact(facts, comm->uid, comm->ranks[i]), group))
      return;
}

static void add_not_begun(struct pto_stuck_wait *wait, const struct fact *fact, uint64_t group) {
  add_task(wait, fact, group);
  wait->why = PTO_STUCK_NOT_BEGUN;
  pto_text_append(wait->text, sizeof wait->text, " has not begun");
  if (group == fact->done && fact->pending)
    pto_text_append(wait->text, sizeof wait->text, ", as %" PRIu32 " before it %s not done", fact->pending,
                    fact->pending == 1 ? "is" : "are");
}

/* " was skipped, as its predicate asks for >= 1 and has found 0" */
static void add_skip(char *text, size_t size, const struct pto_comm_skip *skip) {
  static const char *const compares[] = {[PTO_IF_EQ] = "=",  [PTO_IF_NE] = "!=", [PTO_IF_LT] = "<",
                                         [PTO_IF_LE] = "<=", [PTO_IF_GT] = ">",  [PTO_IF_GE] = ">="};
  pto_text_append(text, size,
                  skip->is_unsigned ? " was skipped, as its predicate asks for %s %" PRIu64 " and has found %" PRIu64
                                    : " was skipped, as its predicate asks for %s %" PRId64 " and has found %" PRId64,
                  compares[skip->compare], skip->value, skip->found);
}

/* `alike` ranks have returned, and notified the signal so many times. */
static void add_returned(struct pto_stuck_wait *wait, const struct fact *fact, uint64_t group, uint64_t times,
                         uint32_t alike) {
  char *text = wait->text;
  const size_t size = sizeof wait->text;
  add_task(wait, fact, group);
  wait->is_cause = true;
  wait->alike = alike;
  if (is_skipped(fact, group)) {
    wait->why = PTO_STUCK_SKIPPED;
    add_skip(text, size, &fact->last_skip);
    return;
  }
  pto_text_append(text, size, " has returned");
  wait->why = times ? PTO_STUCK_NOTIFIED_LESS : PTO_STUCK_NOT_NOTIFIED;
  if (times)
    pto_text_append(text, size, ", and notified it %" PRIu64 " time%s in all", times, times == 1 ? "" : "s");
  else
    pto_text_append(text, size,
                    wait->has_put ? " without notifying it, and has put into the window" : " without notifying it");
  if (alike > 1)
    pto_text_append(text, size, alike == 2 ? "; so has %" PRIu32 " other rank" : "; so have %" PRIu32 " other ranks",
                    alike - 1);
}

/* Notified too often, or by too much: who did not notify it had not to. */
static bool has_passed(const struct pto_peer_wait *wait) {
  return wait->call == PTO_PEER_SIGNAL && wait->compare == PTO_IF_EQ && wait->found > wait->value;
}

static void add_passed(struct pto_stuck_wait *wait, const struct pto_rank_comm *comm, uint32_t signal) {
  const uint32_t last = comm->last_notified[signal];
  const uint64_t times = notified(comm, signal, last);
  wait->blamed = comm->ranks[last];
  wait->is_cause = true;
  wait->why = PTO_STUCK_PASSED;
  pto_text_append(wait->text, sizeof wait->text,
                  ": it has passed that value; rank %" PRIu32 " notified it last, %" PRIu64 " time%s in all",
                  wait->blamed, times, times == 1 ? "" : "s");
}

/* It waits for one, or polls one. */
static bool is_of_signal(const struct pto_core_wait *wait) {
  const enum pto_peer_call call = (enum pto_peer_call)wait->peer.call;
  return (wait->waits_for == PTO_WAITS_FOR_PEER && call == PTO_PEER_SIGNAL) ||
         (wait->waits_for == PTO_WAITS_FOR_CHANGE && call == PTO_PEER_TEST);
}

static void add_reason(struct pto_stuck_wait *stuck, const struct pto_rank *rank, const struct pto_core_wait *wait) {
  const struct pto_exchange_bytes *facts = &rank->part->in;
  if (!is_of_signal(wait)) return;
  const struct pto_rank_comm *comm = pto_rank_comm_at(rank, wait->peer.comm);
  const uint64_t group = comm ? pto_comm_group_of(rank, comm, wait->task_number) : UINT64_MAX;
  if (group == UINT64_MAX) return;
  const struct place own = place_of_group(rank, comm, group);
  stuck->call = own.call;
  if (own.text[0]) pto_text_append(stuck->text, sizeof stuck->text, ", in the task submitted at %s", own.text);
  if (has_passed(&wait->peer)) {
    add_passed(stuck, comm, wait->peer.signal);
    return;
  }
  uint32_t place = find_in_state(facts, comm, group, wait->peer.signal, PART_NOT_SUBMITTED);
  if (place < comm->size) {
    const struct fact *fact = find_fact(facts, comm->uid, comm->ranks[place]);
    stuck->blamed = comm->ranks[place];
    stuck->its_task = fact ? fact->last_submitted : UINT64_MAX;
    stuck->its_call = fact ? fact->submitted_place.call : NULL;
    stuck->is_cause = fact && fact->orchestration != WAITS;
    if (stuck->is_cause) stuck->why = PTO_STUCK_NOT_SUBMITTED;
    pto_text_append(stuck->text, sizeof stuck->text, ": rank %" PRIu32 " has not submitted its task of group %" PRIu64,
                    comm->ranks[place], group);
    add_orchestration(stuck->text, sizeof stuck->text, fact);
    return;
  }
  place = find_in_state(facts, comm, group, wait->peer.signal, PART_NOT_BEGUN);
  if (place < comm->size) {
    add_not_begun(stuck, find_fact(facts, comm->uid, comm->ranks[place]), group);
    return;
  }
  uint32_t alike;
  place = find_returned(facts, comm, group, wait->peer.signal, &alike);
  if (place < comm->size) stuck->has_put = comm->puts[place] > 0;
  if (place == comm->size)
    add_silent(stuck, facts, comm, group, wait->peer.signal);
  else
    add_returned(stuck, find_fact(facts, comm->uid, comm->ranks[place]), group,
                 notified(comm, wait->peer.signal, place), alike);
}

/* ---- what each waits for ---- */

/* In the own part's text; NULL: no memory. */
static struct pto_stuck_wait *add_stuck(const struct pto_rank *rank, uint64_t task) {
  struct pto_stuck_wait *wait = pto_exchange_bytes_add(&rank->part->out, sizeof *wait);
  if (wait)
    *wait = (struct pto_stuck_wait){.rank = rank->index,
                                    .blamed = UINT32_MAX,
                                    .task = task,
                                    .its_task = UINT64_MAX,
                                    .signal = UINT32_MAX,
                                    .text = ""};
  return wait;
}

/* That the rank has come to, as this one has heard, and this one has not; NULL: there is none. */
static const struct pto_rank_comm *find_other_list(const struct pto_rank *rank, uint32_t other) {
  for (size_t i = 0; i < rank->comm_count; i++) {
    const struct pto_rank_comm *comm = rank->comms[i];
    for (uint32_t k = 0; k < comm->size && !comm->is_created; k++)
      if (comm->ranks[k] == other && comm->sizes[k].is_known) return comm;
  }
  return NULL;
}

#define MOST_LISTED 8u

static void add_list(char *text, size_t size, const struct pto_rank_comm *comm) {
  for (uint32_t i = 0; i < comm->size && i < MOST_LISTED; i++)
    pto_text_append(text, size, "%s%" PRIu32, i ? ", " : " ", comm->ranks[i]);
  if (comm->size > MOST_LISTED) pto_text_append(text, size, ", …");
}

static void add_other_list(struct pto_stuck_wait *wait, const struct pto_rank_comm *comm,
                           const struct pto_rank_comm *other) {
  wait->is_cause = true;
  wait->why = PTO_STUCK_OTHER_RANKS;
  pto_text_append(wait->text, sizeof wait->text, ": it has come to one of ranks");
  add_list(wait->text, sizeof wait->text, other);
  pto_text_append(wait->text, sizeof wait->text, ", not");
  add_list(wait->text, sizeof wait->text, comm);
}

/* Of a rank whose orchestration waits for others to make a communicator. */
static void say_making(const struct pto_rank *rank) {
  const struct pto_exchange_bytes *facts = &rank->part->in;
  for (size_t i = 0; i < rank->number_count; i++) {
    const struct pto_rank_comm *comm = rank->by_number[i];
    uint32_t first = comm->size;
    if (comm->joined_count + 1 >= comm->size) continue;
    for (uint32_t k = comm->size; k-- > 0;)
      if (k != comm->place && !comm->sizes[k].is_known) first = k;
    struct pto_stuck_wait *wait = add_stuck(rank, UINT64_MAX);
    if (!wait) return;
    const struct fact *fact = find_fact(facts, comm->uid, comm->ranks[first]);
    wait->blamed = comm->ranks[first];
    wait->is_cause = fact && fact->orchestration != WAITS;
    if (wait->is_cause) wait->why = PTO_STUCK_NOT_CREATED;
    pto_text_append(wait->text, sizeof wait->text,
                    "rank %" PRIu32 " waits in pto_comm_create of comm %" PRIu32 " for %" PRIu32 " of %" PRIu32
                    " ranks, first rank %" PRIu32,
                    rank->index, comm->number, comm->size - 1 - comm->joined_count, comm->size, comm->ranks[first]);
    add_orchestration(wait->text, sizeof wait->text, fact);
    const struct pto_rank_comm *other = find_other_list(rank, comm->ranks[first]);
    if (other) add_other_list(wait, comm, other);
  }
}

/* The kernel, and the task's label where it has one. */
static void name_task(const struct pto_rank *rank, const struct pto_core_wait *wait, char *text, size_t size) {
  uint32_t index;
  const char *label =
      find_slot(rank, wait->task_number, &index) ? pto_runtime_slot_label(rank->rt, index, wait->task_number) : NULL;
  pto_text_append(text, size, label ? "%s \"%s\"" : "%s", wait->kernel, label);
}

static void say_cores(const struct pto_rank *rank) {
  struct pto_core_waits waits;
  char one[512];
  pto_rendezvous_find_waits(&rank->clock.cores->solo.waiting.rendezvous, &waits);
  for (uint32_t i = 0; i < waits.count; i++) {
    struct pto_core_wait *its = &waits.waits[i];
    const struct pto_rank_comm *comm = pto_rank_comm_at(rank, its->peer.comm);
    struct pto_stuck_wait *wait = add_stuck(rank, its->task_number);
    if (!wait) return;
    if (is_of_signal(its) && comm) {
      its->peer.found = comm->signals[its->peer.signal];
      wait->comm = comm->uid;
      wait->signal = its->peer.signal;
      wait->compare = its->peer.compare;
      wait->value = its->peer.value;
      wait->found = its->peer.found;
    }
    name_task(rank, its, wait->kernel, sizeof wait->kernel);
    its->kernel = wait->kernel;
    pto_core_wait_describe(its, one, sizeof one);
    pto_text_append(wait->text, sizeof wait->text, "rank %" PRIu32 " %s", rank->index, one);
    add_reason(wait, rank, its);
  }
}

static void say(const struct pto_rank *rank) {
  const size_t before = rank->part->out.count;
  say_making(rank);
  if (rank->clock.cores) say_cores(rank);
  struct pto_stuck_wait *wait = rank->part->out.count == before ? add_stuck(rank, UINT64_MAX) : NULL;
  if (wait)
    pto_text_append(wait->text, sizeof wait->text,
                    rank->rt && rank->rt->doing.kind == PTO_DOING_POLL
                        ? "rank %" PRIu32 " polls memory that nothing will change"
                        : "rank %" PRIu32 " waits for tasks that cannot begin",
                    rank->index);
}

/* ---- the sentence ---- */

size_t pto_stuck_next(const struct pto_stuck_wait *waits, size_t count, size_t at) {
  size_t next = 0;
  while (next < count && waits[next].rank != waits[at].blamed) next++;
  return next;
}

size_t pto_stuck_cause(const struct pto_stuck_wait *waits, size_t count, size_t from) {
  size_t at = from;
  for (size_t steps = 0; steps < count; steps++) {
    if (waits[at].is_cause) return at;
    const size_t next = pto_stuck_next(waits, count, at);
    if (next == count) return at;
    at = next;
  }
  return from;
}

static uint32_t count_ranks(const struct pto_stuck_wait *waits, size_t count) {
  uint32_t ranks = 0;
  for (size_t i = 0; i < count; i++) ranks += i == 0 || waits[i].rank != waits[i - 1].rank;
  return ranks;
}

/* For one reason, but for who waits. */
static bool is_alike(const struct pto_stuck_wait *a, const struct pto_stuck_wait *b) {
  return a->blamed == b->blamed && a->its_task == b->its_task && a->signal == b->signal &&
         strcmp(a->kernel, b->kernel) == 0 && a->blamed != UINT32_MAX;
}

/* The wait, and who waits likewise; not where one before it, or the one at `cause`, has said so. */
static void add_wait(const struct pto_part *part, size_t at, size_t cause, char *text, size_t size) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(part, &count);
  if (at != cause && is_alike(&waits[at], &waits[cause])) return;
  for (size_t i = 0; i < at && at != cause; i++)
    if (is_alike(&waits[i], &waits[at])) return;
  pto_text_append(text, size, "; %s", waits[at].text);
  uint32_t last = waits[at].rank;
  const char *separator = "; likewise rank ";
  for (size_t i = 0; i < count; i++) { /* a rank's follow each other, one a core that waits */
    if (waits[i].rank == waits[at].rank || waits[i].rank == last || !is_alike(&waits[i], &waits[at])) continue;
    last = waits[i].rank;
    pto_text_append(text, size, "%s%" PRIu32, separator, last);
    separator = ", ";
  }
}

void pto_part_describe_stuck(struct pto_part *part, char *text, size_t size) {
  text[0] = '\0';
  if (!exchange_facts(part)) {
    pto_text_append(text, size, "ranks wait for ever, and there is no memory to say why");
    return;
  }
  for (uint32_t i = 0; i < part->end - part->first; i++) {
    part->ranks[i].has_returned = has_returned(&part->ranks[i]);
    if (!part->ranks[i].is_over) say(&part->ranks[i]);
  }
  struct pto_exchange_visit visit = {part->index, 0, &part->out, &part->stuck};
  (void)pto_exchange_meet(part->world->exchange, &visit, true);
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(part, &count);
  pto_text_append(text, size, "%" PRIu32 " of %" PRIu32 " ranks wait for ever", count_ranks(waits, count),
                  part->world->rank_count);
  const size_t cause = pto_stuck_cause(waits, count, 0);
  if (cause < count) add_wait(part, cause, cause, text, size);
  for (size_t i = 0; i < count; i++)
    if (i != cause) add_wait(part, i, cause, text, size);
}
