/* SPDX-License-Identifier: MIT */
#include <sim/rendezvous/rendezvous.h>

#include <stdlib.h>
#include <string.h>

#define FIFO_PAIRS 6u /* ordered pairs of different roles */
/* Looks at memory without a change between them after which cores poll for ever.  Two would do for a loop that only
 * reads; one that counts in memory is no poll, but looks like it. */
#define MOST_LOOKS 1000u
#define FIFO_MASK (PTO_CORE_FIFO_BYTES - 1)
_Static_assert((PTO_CORE_FIFO_BYTES & FIFO_MASK) == 0, "positions in a FIFO are taken modulo its size");

/* ---- memory ---- */

static void reset_rendezvous(struct pto_rendezvous *rendezvous) {
  while (rendezvous->pieces) {
    struct pto_rendezvous_piece *piece = rendezvous->pieces;
    rendezvous->pieces = piece->next;
    free(piece);
  }
  for (uint32_t from = 0; from < PTO_ROLE_COUNT; from++)
    for (uint32_t to = 0; to < PTO_ROLE_COUNT; to++)
      rendezvous->fifos[from][to].written = rendezvous->fifos[from][to].read = 0;
  memset(rendezvous->seats, 0, sizeof rendezvous->seats);
  rendezvous->roles = rendezvous->returned = 0;
  rendezvous->broken = PTO_OK;
  rendezvous->expected = rendezvous->arrived = 0;
  rendezvous->has_gone = false;
  rendezvous->payload = NULL;
}

bool pto_rendezvous_init(struct pto_rendezvous_table *table, uint32_t cluster_count, uint32_t slots_per_core,
                         void (*wake)(void *context, uint32_t core), void *context) {
  memset(table, 0, sizeof *table);
  table->cluster_count = cluster_count;
  table->per_cluster = 3 * slots_per_core;
  table->wake = wake;
  table->context = context;
  const uint64_t count = (uint64_t)cluster_count * table->per_cluster;
  PTO_ASSERT(count <= UINT16_MAX); /* a message has 16 bits for it */
  const uint64_t table_bytes = pto_align_up(count * sizeof(struct pto_rendezvous), PTO_CACHE_LINE);
  if (!pto_reserve_init(&table->memory, table_bytes + count * sizeof *table->payloads)) return false;
  if (!pto_reserve_init(&table->fifo_memory, count * FIFO_PAIRS * PTO_CORE_FIFO_BYTES)) {
    pto_rendezvous_fini(table);
    return false;
  }
  table->items = table->memory.addr;
  table->payloads = (const struct pto_payload **)(void *)((char *)table->memory.addr + table_bytes);
  return true;
}

void pto_rendezvous_fini(struct pto_rendezvous_table *table) {
  if (table->items) pto_rendezvous_reset(table);
  pto_reserve_fini(&table->memory);
  pto_reserve_fini(&table->fifo_memory);
}

void pto_rendezvous_reset(struct pto_rendezvous_table *table) {
  table->polling_count = table->looks = 0;
  table->has_read_clock = false;
  if (table->live_count == 0) return;
  for (uint32_t i = 0; i < table->cluster_count * table->per_cluster; i++) {
    if (table->items[i].payload) reset_rendezvous(&table->items[i]);
    table->payloads[i] = NULL;
  }
  table->live_count = 0;
}

/* ---- who is there ---- */

static uint32_t rendezvous_count(const struct pto_rendezvous_table *table) {
  return table->cluster_count * table->per_cluster;
}

static struct pto_rendezvous_seat *seat_at(const struct pto_rendezvous_table *table,
                                           struct pto_rendezvous_member member) {
  return &table->items[member.rendezvous].seats[member.role];
}

static const struct pto_kernel *kernel_of(const struct pto_rendezvous *rendezvous, uint32_t role) {
  return rendezvous->payload->kernels[role];
}

/* The next live rendezvous of a task from index `from` on; PTO_RENDEZVOUS_NONE where there is none. */
static uint32_t next_of_task(const struct pto_rendezvous_table *table, const struct pto_payload *payload,
                             uint32_t from) {
  for (uint32_t i = from; i < rendezvous_count(table); i++)
    if (table->payloads[i] == payload) return i;
  return PTO_RENDEZVOUS_NONE;
}

#define FOR_EACH_OF_TASK(i, table, payload)                                                                            \
  for (uint32_t i = next_of_task(table, payload, 0); i != PTO_RENDEZVOUS_NONE; i = next_of_task(table, payload, i + 1))

static uint32_t find_block(const struct pto_rendezvous_table *table, const struct pto_payload *payload,
                           uint32_t block_index) {
  FOR_EACH_OF_TASK(i, table, payload)
    if (table->items[i].block_index == block_index) return i;
  return PTO_RENDEZVOUS_NONE;
}

static bool takes_turns(const struct pto_rendezvous *rendezvous, uint32_t role) {
  return kernel_of(rendezvous, role) && (kernel_of(rendezvous, role)->flags & PTO_KERNEL_TURNS);
}

static bool has_turns(const struct pto_rendezvous *rendezvous) {
  return takes_turns(rendezvous, 0) || takes_turns(rendezvous, 1) || takes_turns(rendezvous, 2);
}

static void open_rendezvous(struct pto_rendezvous_table *table, uint32_t index, const struct pto_message *message) {
  struct pto_rendezvous *rendezvous = &table->items[index];
  const struct pto_payload *payload = message->payload;
  uint32_t participants = 0;
  char *fifo_memory = (char *)table->fifo_memory.addr + (uint64_t)index * FIFO_PAIRS * PTO_CORE_FIFO_BYTES;
  for (uint32_t from = 0; from < PTO_ROLE_COUNT; from++)
    for (uint32_t to = 0; to < PTO_ROLE_COUNT; to++) {
      if (from == to) continue;
      rendezvous->fifos[from][to].memory = fifo_memory;
      fifo_memory += PTO_CORE_FIFO_BYTES;
    }
  rendezvous->payload = payload;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
    if (!payload->kernels[role]) continue;
    rendezvous->roles |= (uint8_t)PTO_ROLE_BIT(role);
    rendezvous->seats[role].is_participant = pto_kernel_waits(payload->kernels[role]);
    participants += rendezvous->seats[role].is_participant;
  }
  rendezvous->is_together = (message->flags & PTO_MESSAGE_TOGETHER) != 0;
  rendezvous->block_index = message->block_index;
  const bool has_others = rendezvous->is_together || has_turns(rendezvous);
  const uint32_t other = has_others ? next_of_task(table, payload, 0) : PTO_RENDEZVOUS_NONE;
  rendezvous->leader = rendezvous->is_together && other != PTO_RENDEZVOUS_NONE ? table->items[other].leader : index;
  /* A block before may have failed, and the control thread not know: what follows from that is no error of its own. */
  if (other != PTO_RENDEZVOUS_NONE) rendezvous->broken = table->items[other].broken;
  const uint32_t blocks = message->flags & PTO_MESSAGE_BLOCKS ? payload->block_count : 1;
  rendezvous->expected = rendezvous->is_together ? blocks * participants : participants;
  table->payloads[index] = payload;
  table->live_count++;
}

uint32_t pto_rendezvous_join(struct pto_rendezvous_table *table, const struct pto_message *message) {
  const uint32_t first = message->core / 3u * table->per_cluster, end = first + table->per_cluster;
  uint32_t index = PTO_RENDEZVOUS_NONE;
  for (uint32_t i = end; i-- > first;) {
    const struct pto_rendezvous *rendezvous = &table->items[i];
    if (!rendezvous->payload) {
      index = i; /* the lowest free one: its FIFOs are warm */
    } else if (rendezvous->payload == message->payload && rendezvous->block_index == message->block_index) {
      index = i;
      break;
    }
  }
  PTO_ASSERT(index != PTO_RENDEZVOUS_NONE);
  if (!table->items[index].payload) open_rendezvous(table, index, message);
  struct pto_rendezvous_seat *seat = &table->items[index].seats[message->role];
  PTO_ASSERT(seat->state == PTO_SEAT_ABSENT);
  seat->state = PTO_SEAT_SENT;
  seat->core = message->core;
  return index;
}

bool pto_rendezvous_is_complete(const struct pto_rendezvous_table *table, uint32_t rendezvous) {
  for (uint32_t rest = table->items[rendezvous].roles; rest; rest &= rest - 1)
    if (table->items[rendezvous].seats[__builtin_ctz(rest)].state == PTO_SEAT_ABSENT) return false;
  return true;
}

static void wake(struct pto_rendezvous_table *table, struct pto_rendezvous_seat *seat) {
  table->polling_count -= seat->waits_for == PTO_WAITS_FOR_CHANGE;
  seat->waits_for = PTO_WAITS_FOR_NOTHING;
  table->wake(table->context, seat->core);
}

static void wake_polling(struct pto_rendezvous_table *table) {
  for (uint32_t i = 0; table->polling_count > 0; i++) {
    PTO_ASSERT(i < rendezvous_count(table));
    for (uint32_t role = 0; table->payloads[i] && role < PTO_ROLE_COUNT; role++)
      if (table->items[i].seats[role].waits_for == PTO_WAITS_FOR_CHANGE) wake(table, &table->items[i].seats[role]);
  }
}

void pto_rendezvous_change(struct pto_rendezvous_table *table) {
  table->change_count++;
  table->looks = 0;
  wake_polling(table);
}

bool pto_rendezvous_can_look_again(const struct pto_rendezvous_table *table) {
  return table->polling_count > 0 && table->looks < MOST_LOOKS;
}

bool pto_rendezvous_look_again(struct pto_rendezvous_table *table) {
  if (!pto_rendezvous_can_look_again(table)) return false;
  table->looks++;
  table->has_read_clock = false;
  wake_polling(table);
  return true;
}

void *pto_rendezvous_shared(struct pto_rendezvous_table *table, struct pto_rendezvous_member member, uint64_t key,
                            uint64_t size_bytes) {
  struct pto_rendezvous *rendezvous = &table->items[member.rendezvous];
  struct pto_rendezvous_piece *piece = rendezvous->pieces;
  while (piece && piece->key != key) piece = piece->next;
  if (piece) return piece->size_bytes == size_bytes ? piece->memory : NULL;
  if (size_bytes > SIZE_MAX / 2) return NULL;
  const uint64_t bytes = pto_align_up(sizeof *piece + size_bytes, PTO_CACHE_LINE);
  piece = aligned_alloc(PTO_CACHE_LINE, bytes);
  if (!piece) return NULL;
  memset(piece, 0, bytes);
  piece->key = key;
  piece->size_bytes = size_bytes;
  piece->next = rendezvous->pieces;
  rendezvous->pieces = piece;
  return piece->memory;
}

static void break_rendezvous(struct pto_rendezvous_table *table, struct pto_rendezvous *rendezvous, int16_t why) {
  if (rendezvous->broken == PTO_OK) rendezvous->broken = why;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
    if (rendezvous->seats[role].waits_for) wake(table, &rendezvous->seats[role]);
}

void pto_rendezvous_begin(struct pto_rendezvous_table *table, struct pto_rendezvous_member member) {
  PTO_ASSERT(seat_at(table, member)->state == PTO_SEAT_SENT);
  seat_at(table, member)->state = PTO_SEAT_BEGUN;
  pto_rendezvous_change(table);
}

/* ---- turns ---- */

/* Whether a turn waits for this core of the task: any of a block before; of its own block, a role before
 * that takes turns. */
static bool keeps_turn(const struct pto_rendezvous *own, uint32_t own_role, const struct pto_rendezvous *rendezvous,
                       uint32_t role) {
  if (!kernel_of(rendezvous, role) || (rendezvous->returned & PTO_ROLE_BIT(role))) return false;
  if (rendezvous->block_index != own->block_index) return rendezvous->block_index < own->block_index;
  return role < own_role && takes_turns(rendezvous, role);
}

/* Blocks are sent in order, so a core that comes before in the order of turns is live, or has returned. */
static bool has_turn(const struct pto_rendezvous_table *table, struct pto_rendezvous_member member) {
  const struct pto_rendezvous *own = &table->items[member.rendezvous];
  FOR_EACH_OF_TASK(i, table, own->payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
      if (keeps_turn(own, member.role, &table->items[i], role)) return false;
  }
  return true;
}

static void pass_turn(struct pto_rendezvous_table *table, const struct pto_payload *payload) {
  FOR_EACH_OF_TASK(i, table, payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      struct pto_rendezvous_seat *seat = &table->items[i].seats[role];
      if (seat->waits_for != PTO_WAITS_FOR_TURN || !has_turn(table, (struct pto_rendezvous_member){i, role})) continue;
      wake(table, seat);
      return; /* no core after it can have it too */
    }
  }
}

static struct pto_core_seat seat_of(const struct pto_rendezvous *rendezvous, uint32_t role) {
  const struct pto_rendezvous_seat *seat = &rendezvous->seats[role];
  return (struct pto_core_seat){rendezvous->block_index, seat->core, (uint8_t)role, seat->state};
}

/* Who waits at a barrier may be told which block never comes. */
static void tell_gone(struct pto_rendezvous_table *table, const struct pto_rendezvous *gone,
                      const struct pto_payload *payload) {
  uint32_t role = 0;
  while (role < PTO_ROLE_COUNT && !gone->seats[role].is_participant) role++;
  if (!gone->is_together || role == PTO_ROLE_COUNT) return;
  FOR_EACH_OF_TASK(i, table, payload) {
    table->items[i].has_gone = true;
    table->items[i].gone = seat_of(gone, role);
    table->items[i].gone_barriers = gone->seats[role].barriers;
  }
}

void pto_rendezvous_return(struct pto_rendezvous_table *table, struct pto_rendezvous_member member, bool has_failed) {
  struct pto_rendezvous *rendezvous = &table->items[member.rendezvous];
  const struct pto_payload *payload = rendezvous->payload;
  PTO_ASSERT(seat_at(table, member)->state == PTO_SEAT_BEGUN && !seat_at(table, member)->waits_for);
  seat_at(table, member)->state = PTO_SEAT_RETURNED;
  rendezvous->returned |= (uint8_t)PTO_ROLE_BIT(member.role);
  if (PTO_UNLIKELY(has_failed)) {
    FOR_EACH_OF_TASK(i, table, payload) break_rendezvous(table, &table->items[i], PTO_EKERNEL);
  }
  if (has_turns(rendezvous)) pass_turn(table, payload);
  pto_rendezvous_change(table);
  if (rendezvous->returned != rendezvous->roles) return;
  tell_gone(table, rendezvous, payload);
  reset_rendezvous(rendezvous);
  table->payloads[member.rendezvous] = NULL;
  table->live_count--;
}

/* ---- flags and barriers ---- */

void pto_rendezvous_signal(struct pto_rendezvous_table *table, struct pto_rendezvous_member from, uint32_t block_index,
                           uint32_t roles, uint32_t flag) {
  const struct pto_rendezvous *own = &table->items[from.rendezvous];
  uint32_t index = from.rendezvous;
  pto_rendezvous_change(table);
  if (block_index != own->block_index) index = find_block(table, own->payload, block_index);
  if (index == PTO_RENDEZVOUS_NONE) return; /* all of that block has returned */
  for (uint32_t rest = roles; rest; rest &= rest - 1) {
    struct pto_rendezvous_seat *seat = &table->items[index].seats[__builtin_ctz(rest)];
    seat->flags[flag]++;
    seat->sent[flag] += index == from.rendezvous;
    if (index == from.rendezvous) seat->last_role[flag] = (uint8_t)from.role;
    if (seat->waits_for == PTO_WAITS_FOR_FLAG && seat->subject == flag) wake(table, seat);
  }
}

/* The rendezvous that counts this one's barriers; NULL where it is over, so that no barrier can fill any more. */
static struct pto_rendezvous *leader_of(const struct pto_rendezvous_table *table,
                                        const struct pto_rendezvous *rendezvous) {
  struct pto_rendezvous *leader = &table->items[rendezvous->leader];
  return leader->payload == rendezvous->payload ? leader : NULL;
}

/* Comes to the barrier, unless it is there already; true where it is the last. */
static bool fills_barrier(struct pto_rendezvous_table *table, struct pto_rendezvous_member member) {
  struct pto_rendezvous *own = &table->items[member.rendezvous], *leader = leader_of(table, own);
  struct pto_rendezvous_seat *seat = seat_at(table, member);
  if (seat->at_barrier == PTO_AT_BARRIER) return false;
  seat->barriers++;
  if (!leader || ++leader->arrived < leader->expected) {
    seat->at_barrier = PTO_AT_BARRIER;
    return false;
  }
  leader->arrived = 0;
  FOR_EACH_OF_TASK(i, table, own->payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      struct pto_rendezvous_seat *other = &table->items[i].seats[role];
      if (other->waits_for != PTO_WAITS_FOR_BARRIER || table->items[i].leader != own->leader) continue;
      other->at_barrier = PTO_THROUGH_BARRIER;
      wake(table, other);
    }
  }
  return true;
}

/* ---- FIFOs ---- */

static void copy_to_ring(char *ring, uint64_t at, const void *data, uint64_t size_bytes) {
  const uint64_t offset = at & FIFO_MASK, first = pto_min_u64(size_bytes, PTO_CORE_FIFO_BYTES - offset);
  memcpy(ring + offset, data, first);
  memcpy(ring, (const char *)data + first, size_bytes - first);
}

static void copy_from_ring(void *data, const char *ring, uint64_t at, uint64_t size_bytes) {
  const uint64_t offset = at & FIFO_MASK, first = pto_min_u64(size_bytes, PTO_CORE_FIFO_BYTES - offset);
  memcpy(data, ring + offset, first);
  memcpy((char *)data + first, ring, size_bytes - first);
}

void pto_rendezvous_fifo_copy_in(struct pto_rendezvous_fifo *fifo, const void *data, uint64_t size_bytes) {
  copy_to_ring(fifo->memory, fifo->written, &size_bytes, sizeof size_bytes);
  copy_to_ring(fifo->memory, fifo->written + PTO_ELEMENT_HEADER_BYTES, data, size_bytes);
}

void pto_rendezvous_fifo_copy_out(const struct pto_rendezvous_fifo *fifo, void *data, uint64_t size_bytes) {
  copy_from_ring(data, fifo->memory, fifo->read + PTO_ELEMENT_HEADER_BYTES, size_bytes);
}

void pto_rendezvous_publish(struct pto_rendezvous_table *table, struct pto_rendezvous_member from, uint32_t to,
                            uint64_t size_bytes) {
  struct pto_rendezvous *rendezvous = &table->items[from.rendezvous];
  struct pto_rendezvous_seat *consumer = &rendezvous->seats[to];
  rendezvous->fifos[from.role][to].written += pto_core_footprint_bytes(size_bytes);
  pto_rendezvous_change(table);
  if (consumer->waits_for == PTO_WAITS_FOR_ELEMENT && consumer->subject == from.role) wake(table, consumer);
}

void pto_rendezvous_release(struct pto_rendezvous_table *table, struct pto_rendezvous_member to, uint32_t from,
                            uint64_t size_bytes) {
  struct pto_rendezvous *rendezvous = &table->items[to.rendezvous];
  struct pto_rendezvous_seat *producer = &rendezvous->seats[from];
  rendezvous->fifos[from][to.role].read += pto_core_footprint_bytes(size_bytes);
  pto_rendezvous_change(table);
  if (producer->waits_for == PTO_WAITS_FOR_ROOM && producer->subject == to.role) wake(table, producer);
}

/* ---- waiting ---- */

enum pto_rendezvous_answer pto_rendezvous_ask(struct pto_rendezvous_table *table, struct pto_rendezvous_member member,
                                              struct pto_rendezvous_question *question) {
  const struct pto_rendezvous *own = &table->items[member.rendezvous];
  struct pto_rendezvous_seat *seat = seat_at(table, member);
  const uint32_t subject = question->subject;
  const struct pto_rendezvous_fifo *fifo;
  if (seat->at_barrier == PTO_THROUGH_BARRIER) { /* before anything that broke since */
    seat->at_barrier = PTO_AT_NO_BARRIER;
    return PTO_RENDEZVOUS_DONE;
  }
  if (own->broken) return PTO_RENDEZVOUS_BROKEN;
  /* What it did before it waits, others may poll for. */
  if (question->what != PTO_WAITS_FOR_CHANGE && table->polling_count > 0) pto_rendezvous_change(table);
  seat->tests.count = 0;
  if (question->what != PTO_WAITS_FOR_CHANGE) seat->peer = question->peer;
  switch (question->what) {
  case PTO_WAITS_FOR_FLAG:
    if (seat->flags[subject] == 0) break;
    seat->flags[subject]--;
    return PTO_RENDEZVOUS_DONE;
  case PTO_WAITS_FOR_ROOM:
    fifo = &own->fifos[member.role][subject];
    if (fifo->written - fifo->read + pto_core_footprint_bytes(question->size_bytes) <= PTO_CORE_FIFO_BYTES)
      return PTO_RENDEZVOUS_DONE;
    seat->room_bytes = question->size_bytes;
    break;
  case PTO_WAITS_FOR_ELEMENT:
    fifo = &own->fifos[subject][member.role];
    if (fifo->written == fifo->read) break;
    copy_from_ring(&question->size_found, fifo->memory, fifo->read, sizeof question->size_found);
    return question->size_found == question->size_bytes ? PTO_RENDEZVOUS_DONE : PTO_RENDEZVOUS_MISTAKE;
  case PTO_WAITS_FOR_BARRIER:
    if (fills_barrier(table, member)) return PTO_RENDEZVOUS_DONE;
    break;
  case PTO_WAITS_FOR_TURN:
    if (has_turn(table, member)) return PTO_RENDEZVOUS_DONE;
    break;
  case PTO_WAITS_FOR_CHANGE:
    if (seat->seen != table->change_count) {
      seat->seen = table->change_count;
      return PTO_RENDEZVOUS_DONE;
    }
    table->polling_count++;
    break;
  case PTO_WAITS_FOR_PEER:
    if (!seat->is_answered) break;
    seat->is_answered = false;
    return PTO_RENDEZVOUS_DONE;
  case PTO_WAITS_FOR_NOTHING:
    return PTO_RENDEZVOUS_DONE;
  }
  seat->waits_for = (uint8_t)question->what;
  seat->subject = (uint8_t)subject;
  return PTO_RENDEZVOUS_WAIT;
}

/* A kernel may test several signals in turn, so one of them is remembered, and after 1, 2, 4, … tests the next: so each
 * round of tests is found, whatever its length (Brent's algorithm). */
bool pto_rendezvous_test(struct pto_rendezvous_table *table, struct pto_rendezvous_member member,
                         const struct pto_peer_wait *test) {
  struct pto_rendezvous_seat *seat = seat_at(table, member);
  struct pto_rendezvous_tests *tests = &seat->tests;
  seat->peer = *test;
  if (tests->changes != table->change_count) tests->count = 0;
  if (tests->count > 0 && tests->comm == test->comm && tests->signal == test->signal &&
      tests->compare == test->compare && tests->value == test->value)
    return true;
  if (!(tests->count & (tests->count - 1)))
    *tests = (struct pto_rendezvous_tests){table->change_count, tests->count,  test->comm,
                                           test->signal,        test->compare, test->value};
  tests->count++;
  return false;
}

void pto_rendezvous_answer_peer(struct pto_rendezvous_table *table, struct pto_rendezvous_member member) {
  struct pto_rendezvous_seat *seat = seat_at(table, member);
  seat->is_answered = true;
  if (seat->waits_for == PTO_WAITS_FOR_PEER) wake(table, seat);
}

/* ---- waiting for ever ---- */

/* A core of a block that has returned; else the first core that has not come to the barrier. */
static void find_missing(const struct pto_rendezvous_table *table, const struct pto_rendezvous *own,
                         struct pto_core_wait *wait) {
  wait->has_other = own->has_gone;
  wait->other = own->gone;
  wait->other_barriers = own->gone_barriers;
  if (own->has_gone) return;
  FOR_EACH_OF_TASK(i, table, own->payload) {
    const struct pto_rendezvous *rendezvous = &table->items[i];
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      const struct pto_rendezvous_seat *seat = &rendezvous->seats[role];
      if (!seat->is_participant || seat->at_barrier == PTO_AT_BARRIER || rendezvous->leader != own->leader) continue;
      wait->other = seat_of(rendezvous, role);
      wait->other_barriers = seat->barriers;
      wait->has_other = true;
      return;
    }
  }
}

/* The first core whose turn is before. */
static void find_before(const struct pto_rendezvous_table *table, struct pto_rendezvous_member member,
                        struct pto_core_wait *wait) {
  const struct pto_rendezvous *own = &table->items[member.rendezvous];
  FOR_EACH_OF_TASK(i, table, own->payload) {
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      if (!keeps_turn(own, member.role, &table->items[i], role)) continue;
      wait->other = seat_of(&table->items[i], role);
      wait->has_other = true;
      return;
    }
  }
}

/* What it could take instead: signals at another flag, elements of another role. */
static void find_lying(const struct pto_rendezvous *rendezvous, uint32_t role, struct pto_core_wait *wait) {
  const struct pto_rendezvous_seat *seat = &rendezvous->seats[role];
  const bool is_flag = seat->waits_for == PTO_WAITS_FOR_FLAG;
  for (uint32_t i = 0; i < (is_flag ? PTO_CORE_FLAGS : PTO_ROLE_COUNT) && !wait->has_lying; i++) {
    wait->has_lying =
        is_flag ? seat->flags[i] > 0 : rendezvous->fifos[i][role].written > rendezvous->fifos[i][role].read;
    wait->lying_at = (uint8_t)i;
  }
}

/* Who of the block has signalled the flag that it waits for; else where such a signal went instead. */
static void find_sender(const struct pto_rendezvous *rendezvous, uint32_t role, struct pto_core_wait *wait) {
  const struct pto_rendezvous_seat *seat = &rendezvous->seats[role];
  wait->sent = seat->sent[seat->subject];
  uint32_t other = wait->sent ? seat->last_role[seat->subject] : 0;
  while (!wait->sent && other < PTO_ROLE_COUNT && (other == role || !rendezvous->seats[other].flags[seat->subject]))
    other++;
  wait->has_astray = !wait->sent && other < PTO_ROLE_COUNT;
  if (other < PTO_ROLE_COUNT) wait->sender = seat_of(rendezvous, other);
}

static void fill_wait(const struct pto_rendezvous_table *table, struct pto_rendezvous_member member,
                      struct pto_core_wait *wait) {
  const struct pto_rendezvous *rendezvous = &table->items[member.rendezvous];
  const struct pto_rendezvous_seat *seat = &rendezvous->seats[member.role];
  const struct pto_rendezvous *leader = leader_of(table, rendezvous);
  *wait = (struct pto_core_wait){.task_number = rendezvous->payload->task_number,
                                 .kernel = kernel_of(rendezvous, member.role)->name,
                                 .who = seat_of(rendezvous, member.role),
                                 .waits_for = seat->waits_for,
                                 .is_together = rendezvous->is_together};
  switch ((enum pto_waits_for)seat->waits_for) {
  case PTO_WAITS_FOR_FLAG:
    wait->flag = seat->subject;
    find_lying(rendezvous, member.role, wait);
    find_sender(rendezvous, member.role, wait);
    break;
  case PTO_WAITS_FOR_ROOM:
  case PTO_WAITS_FOR_ELEMENT:
    if (seat->waits_for == PTO_WAITS_FOR_ELEMENT) find_lying(rendezvous, member.role, wait);
    wait->room_bytes = seat->room_bytes;
    wait->other = seat_of(rendezvous, seat->subject);
    wait->has_other = true;
    break;
  case PTO_WAITS_FOR_BARRIER:
    wait->barrier = seat->barriers;
    wait->arrived = leader ? leader->arrived : 0;
    wait->expected = leader ? leader->expected : 0;
    find_missing(table, rendezvous, wait);
    break;
  case PTO_WAITS_FOR_TURN:
    find_before(table, member, wait);
    break;
  case PTO_WAITS_FOR_PEER:
  case PTO_WAITS_FOR_CHANGE:
    wait->peer = seat->peer;
    break;
  case PTO_WAITS_FOR_NOTHING:
    break;
  }
}

void pto_rendezvous_find_waits(const struct pto_rendezvous_table *table, struct pto_core_waits *waits) {
  waits->count = waits->more = 0;
  for (uint32_t i = 0; i < rendezvous_count(table); i++)
    for (uint32_t role = 0; table->payloads[i] && role < PTO_ROLE_COUNT; role++) {
      if (!table->items[i].seats[role].waits_for) continue;
      if (waits->count == PTO_CORE_WAITS_MAX)
        waits->more++;
      else
        fill_wait(table, (struct pto_rendezvous_member){i, role}, &waits->waits[waits->count++]);
    }
}

void pto_rendezvous_break_deadlock(struct pto_rendezvous_table *table) {
  for (uint32_t i = 0; i < rendezvous_count(table); i++)
    if (table->payloads[i]) break_rendezvous(table, &table->items[i], PTO_EDEADLOCK);
}
