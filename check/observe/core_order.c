/* SPDX-License-Identifier: MIT */
#include <check/observe/core_order.h>

#include <stdlib.h>
#include <string.h>

#include <pto/core.h>
#include <runtime/base/grow.h>

/* Rounds until no clock changes; more are needed only where flags with several signallers hang on each other. */
#define MOST_ROUNDS 16u

/* ---- records ---- */

void pto_core_order_reset(struct pto_core_order *order, struct pto_core_member *members, uint32_t member_count) {
  order->members = members;
  order->member_count = member_count;
  order->count = 0;
  order->is_short = false;
  free(order->clocks);
  order->clocks = NULL;
  for (uint32_t i = 0; i < member_count; i++) members[i].last = PTO_CORE_NO_RECORD;
}

void pto_core_order_fini(struct pto_core_order *order) {
  free(order->records);
  free(order->clocks);
  memset(order, 0, sizeof *order);
}

static uint32_t find_core(const struct pto_core_order *order, uint16_t core) {
  uint32_t i = 0;
  while (i < order->member_count && order->members[i].core != core) i++;
  return i;
}

/* The member of this block and role; the member count where it is none. */
static uint32_t find_role(const struct pto_core_order *order, uint32_t block_index, uint32_t role) {
  uint32_t i = 0;
  while (i < order->member_count && (order->members[i].block_index != block_index || order->members[i].role != role))
    i++;
  return i;
}

uint32_t pto_core_order_add(struct pto_core_order *order, const struct pto_core_event *event) {
  const uint32_t member = find_core(order, event->message->core), number = (uint32_t)order->count;
  if (member == order->member_count) return PTO_CORE_NO_RECORD;
  struct pto_core_record *record = pto_grow(&order->records, &order->count, &order->capacity, sizeof *record);
  if (!record) {
    order->is_short = true;
    return PTO_CORE_NO_RECORD;
  }
  const uint32_t last = order->members[member].last;
  *record = (struct pto_core_record){.kind = event->kind,
                                     .subject = event->subject,
                                     .roles = event->roles,
                                     .core = (uint16_t)member,
                                     .block_index = event->block_index,
                                     .epoch = last == PTO_CORE_NO_RECORD ? 1 : order->records[last].epoch + 1,
                                     .previous = last,
                                     .partner = PTO_CORE_NO_RECORD,
                                     .size_bytes = event->size_bytes,
                                     .word = event->key,
                                     .call = event->call};
  order->members[member].last = number;
  order->members[member].polls |= event->kind == PTO_CORE_POLLED;
  return number;
}

/* ---- partners ---- */

/* Whether this is an event of the FIFO from a member to another: its producer's, or its consumer's. */
static bool is_of_fifo(const struct pto_core_record *record, uint32_t kind, uint32_t core, uint32_t other_role) {
  return record->kind == kind && record->core == core && record->subject == other_role;
}

/* The next record of this kind after `at`; the count where there is none. */
static uint32_t next_of_fifo(const struct pto_core_order *order, uint32_t at, uint32_t kind, uint32_t core,
                             uint32_t other_role) {
  while (at < order->count && !is_of_fifo(&order->records[at], kind, core, other_role)) at++;
  return at;
}

static void match_fifo(struct pto_core_order *order, uint32_t from, uint32_t to) {
  const uint32_t from_role = order->members[from].role, to_role = order->members[to].role;
  uint32_t push = 0, release = 0, freed_by = PTO_CORE_NO_RECORD;
  uint64_t held_bytes = 0; /* at this push, had no pop before it been made but those counted */
  for (uint32_t i = 0; i < order->count; i++) {
    struct pto_core_record *record = &order->records[i];
    if (is_of_fifo(record, PTO_CORE_POPPED, to, from_role)) {
      push = next_of_fifo(order, push, PTO_CORE_PUSHES, from, to_role);
      record->partner = push++;
    }
    if (!is_of_fifo(record, PTO_CORE_HAS_ROOM, from, to_role)) continue;
    held_bytes += pto_core_footprint_bytes(record->size_bytes);
    while (held_bytes > PTO_CORE_FIFO_BYTES) {
      release = next_of_fifo(order, release, PTO_CORE_RELEASES, to, from_role);
      if (release == order->count) break;
      held_bytes -= pto_core_footprint_bytes(order->records[release].size_bytes);
      freed_by = release++;
    }
    record->partner = freed_by;
  }
}

static void match_barriers(struct pto_core_order *order, uint32_t core) {
  uint32_t came = 0;
  for (uint32_t i = 0; i < order->count; i++) {
    struct pto_core_record *record = &order->records[i];
    if (record->core != core) continue;
    if (record->kind == PTO_CORE_COMES) record->partner = came++;
    if (record->kind == PTO_CORE_PASSED) record->partner = came - 1;
  }
}

static bool gives_word(const struct pto_core_record *record, uint64_t word) {
  return record->kind == PTO_CORE_LEAVES_WORD && record->subject != PTO_STEP_LOADS && record->word == word;
}

static void match_words(struct pto_core_order *order) {
  for (uint32_t i = 0; i < order->count; i++) {
    struct pto_core_record *record = &order->records[i];
    if (record->kind != PTO_CORE_REACHES_WORD || record->subject == PTO_STEP_STORES) continue;
    uint32_t before = i;
    while (before > 0 && !gives_word(&order->records[before - 1], record->word)) before--;
    if (before > 0) record->partner = before - 1;
  }
}

static void match(struct pto_core_order *order) {
  match_words(order);
  for (uint32_t i = 0; i < order->member_count; i++) {
    match_barriers(order, i);
    for (uint32_t k = 0; k < order->member_count; k++)
      if (k != i && order->members[k].block_index == order->members[i].block_index) match_fifo(order, i, k);
  }
}

/* ---- clocks ---- */

static uint32_t *clock_of(const struct pto_core_order *order, uint32_t record) {
  return order->clocks + (size_t)record * order->member_count;
}

static void join(const struct pto_core_order *order, uint32_t *clock, uint32_t record) {
  if (record >= order->count) return;
  const uint32_t *other = clock_of(order, record);
  for (uint32_t i = 0; i < order->member_count; i++)
    if (other[i] > clock[i]) clock[i] = other[i];
}

bool pto_core_order_is_before(const struct pto_core_order *order, uint32_t a, uint32_t b) {
  const struct pto_core_record *one = &order->records[a], *other = &order->records[b];
  if (one->core == other->core) return a < b;
  return one->epoch <= clock_of(order, b)[one->core];
}

static bool signals(const struct pto_core_order *order, uint32_t record, uint32_t to, uint32_t flag) {
  const struct pto_core_record *r = &order->records[record];
  const struct pto_core_member *member = &order->members[to];
  return r->kind == PTO_CORE_SIGNALS && r->subject == flag && r->block_index == member->block_index &&
         (r->roles & PTO_ROLE_BIT(member->role));
}

/* How many signals of the wait's flag, without those of `except_core`, may come before the wait is over. */
static uint32_t count_signals(const struct pto_core_order *order, uint32_t wait, uint32_t except_core) {
  const struct pto_core_record *r = &order->records[wait];
  uint32_t count = 0;
  for (uint32_t i = 0; i < order->count; i++)
    if (signals(order, i, r->core, r->subject) && order->records[i].core != except_core &&
        !pto_core_order_is_before(order, wait, i))
      count++;
  return count;
}

/* How many records of its core up to this one took from the same flag, or popped from the same role. */
static uint32_t number_of(const struct pto_core_order *order, uint32_t taken) {
  const struct pto_core_record *r = &order->records[taken];
  uint32_t number = 1;
  for (uint32_t i = r->previous; i != PTO_CORE_NO_RECORD; i = order->records[i].previous)
    number += order->records[i].kind == r->kind && order->records[i].subject == r->subject;
  return number;
}

/* The wait is after the signals of a core without which all others and its earlier ones would be too few. */
static void join_signals(const struct pto_core_order *order, uint32_t wait, uint32_t *clock) {
  const struct pto_core_record *r = &order->records[wait];
  const uint32_t taken = number_of(order, wait);
  for (uint32_t by = 0; by < order->member_count; by++) {
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < order->count; i++) {
      if (order->records[i].core != by || !signals(order, i, r->core, r->subject)) continue;
      if (before == UINT32_MAX) before = count_signals(order, wait, by);
      if (before++ >= taken) break;
      if (i < wait) join(order, clock, i);
    }
  }
}

static void join_barrier(const struct pto_core_order *order, uint32_t passed, uint32_t *clock) {
  for (uint32_t i = passed; i-- > 0;)
    if (order->records[i].kind == PTO_CORE_COMES && order->records[i].partner == order->records[passed].partner)
      join(order, clock, i);
}

/* Those that return before a turn is had: of blocks before all, of the same block the roles before that take turns. */
static void join_turns(const struct pto_core_order *order, uint32_t record, uint32_t *clock) {
  const struct pto_core_member *own = &order->members[order->records[record].core];
  for (uint32_t i = 0; i < order->member_count; i++) {
    const struct pto_core_member *other = &order->members[i];
    const bool is_of_block = other->block_index == own->block_index;
    if (is_of_block ? other->role < own->role && other->takes_turns : other->block_index < own->block_index)
      for (uint32_t k = 0; k < record; k++)
        if (order->records[k].core == i && order->records[k].kind == PTO_CORE_RETURNED) join(order, clock, k);
  }
}

/* All that ran before this record. */
static void join_all(const struct pto_core_order *order, uint32_t record, uint32_t *clock) {
  for (uint32_t i = 0; i < record; i++) {
    const struct pto_core_record *r = &order->records[i];
    if (r->epoch > clock[r->core]) clock[r->core] = r->epoch;
  }
}

static void fill_clock(const struct pto_core_order *order, uint32_t record, uint32_t *clock) {
  const struct pto_core_record *r = &order->records[record];
  memset(clock, 0, order->member_count * sizeof *clock);
  join(order, clock, r->previous);
  if (order->members[r->core].polls) join_all(order, record, clock);
  switch (r->kind) {
  case PTO_CORE_TOOK:
    join_signals(order, record, clock);
    break;
  case PTO_CORE_POPPED:
  case PTO_CORE_HAS_ROOM:
  case PTO_CORE_REACHES_WORD:
    join(order, clock, r->partner);
    break;
  case PTO_CORE_PASSED:
    join_barrier(order, record, clock);
    break;
  case PTO_CORE_HAS_TURN:
    join_turns(order, record, clock);
    break;
  default:
    break;
  }
  clock[r->core] = r->epoch - 1;
}

bool pto_core_order_solve(struct pto_core_order *order) {
  const size_t bytes = order->member_count * sizeof(uint32_t);
  uint32_t *clock = malloc(bytes + 1);
  order->clocks = calloc(order->count + 1, bytes);
  bool has_changed = clock && order->clocks && !order->is_short;
  const bool has_memory = has_changed;
  if (has_memory) match(order);
  for (uint32_t round = 0; has_changed && round < MOST_ROUNDS; round++) {
    has_changed = false;
    for (uint32_t i = 0; i < order->count; i++) {
      fill_clock(order, i, clock);
      has_changed |= memcmp(clock, clock_of(order, i), bytes) != 0;
      memcpy(clock_of(order, i), clock, bytes);
    }
  }
  free(clock);
  return has_memory;
}

uint32_t pto_core_order_giver(const struct pto_core_order *order, uint32_t taken, uint32_t *number) {
  const struct pto_core_record *r = &order->records[taken];
  uint32_t sent = 0, by = PTO_CORE_NO_RECORD, giver = PTO_CORE_NO_RECORD;
  *number = number_of(order, taken);
  if (r->kind != PTO_CORE_TOOK) return r->partner < order->count ? r->partner : PTO_CORE_NO_RECORD;
  for (uint32_t i = 0; i < order->count; i++) {
    if (!signals(order, i, r->core, r->subject)) continue;
    if (by != PTO_CORE_NO_RECORD && by != order->records[i].core) return PTO_CORE_NO_RECORD;
    by = order->records[i].core;
    if (++sent == *number) giver = i;
  }
  return giver;
}

/* ---- what is left ---- */

static bool find_signals_left(const struct pto_core_order *order, uint32_t to, uint32_t flag,
                              struct pto_core_left *left) {
  uint32_t sent = 0, taken = 0;
  for (uint32_t i = 0; i < order->count; i++) {
    const struct pto_core_record *r = &order->records[i];
    if (r->core == to && r->kind == PTO_CORE_TOOK && r->subject == flag) taken++;
    if (!signals(order, i, to, flag)) continue;
    sent++;
    left->last = i;
  }
  left->count = sent - taken;
  left->to = (uint16_t)to;
  left->subject = (uint8_t)flag;
  left->is_element = false;
  return sent > taken;
}

static bool find_elements_left(const struct pto_core_order *order, uint32_t to, uint32_t from_role,
                               struct pto_core_left *left) {
  const uint32_t from = find_role(order, order->members[to].block_index, from_role);
  uint32_t pushed = 0, popped = 0;
  for (uint32_t i = 0; i < order->count; i++) {
    popped += is_of_fifo(&order->records[i], PTO_CORE_POPPED, to, from_role);
    if (!is_of_fifo(&order->records[i], PTO_CORE_PUSHES, from, order->members[to].role)) continue;
    pushed++;
    left->last = i;
  }
  left->count = pushed - popped;
  left->to = (uint16_t)to;
  left->is_element = true;
  return pushed > popped;
}

bool pto_core_order_next_left(const struct pto_core_order *order, uint32_t *at, struct pto_core_left *left) {
  const uint32_t each = PTO_CORE_FLAGS + PTO_ROLE_COUNT;
  while (*at < order->member_count * each) {
    const uint32_t to = *at / each, what = (*at)++ % each;
    if (what < PTO_CORE_FLAGS ? find_signals_left(order, to, what, left)
                              : find_elements_left(order, to, what - PTO_CORE_FLAGS, left))
      return true;
  }
  return false;
}

uint32_t pto_core_order_free_flag(const struct pto_core_order *order, uint32_t to) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < order->count; i++)
    for (uint32_t flag = 0; flag < PTO_CORE_FLAGS; flag++)
      if (signals(order, i, to, flag)) used |= 1u << flag;
  return (uint32_t)__builtin_ctz(~used);
}
