/* SPDX-License-Identifier: MIT */
#include <check/observe/core_runs.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <check/observe/steps.h>
#include <runtime/base/grow.h>

/* What one unit may take: bytes that are copied, and compared in one run; records; operations on words. */
#define MOST_BYTES (UINT64_C(64) << 20)
#define MOST_COMPARED (UINT64_C(1) << 30)
#define MOST_RECORDS 8192u
#define MOST_WORD_RECORDS 2048u

/* ---- copies ---- */

static bool grow_bytes(struct pto_observe_cores *c, uint64_t bytes) {
  if (bytes <= c->copy_bytes) return true;
  if (bytes > MOST_BYTES) return false;
  bytes = pto_max_u64(bytes, 2 * c->copy_bytes);
  uint8_t **all[] = {&c->now, &c->end, &c->applied};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(all); i++) {
    uint8_t *larger = realloc(*all[i], bytes);
    if (!larger) return false;
    *all[i] = larger;
  }
  c->copy_bytes = bytes;
  return true;
}

static struct pto_cores_copy *add_copy(struct pto_observe_cores *c, struct pto_cores_copy copy) {
  struct pto_cores_copy *added = NULL;
  copy.base = c->total_bytes;
  if (grow_bytes(c, c->total_bytes + copy.size_bytes))
    added = pto_grow(&c->copies, &c->copy_count, &c->copy_capacity, sizeof *added);
  if (!added) {
    c->is_too_large = true;
    return NULL;
  }
  *added = copy;
  c->total_bytes += copy.size_bytes;
  return added;
}

static bool is_any_written(const struct pto_observe_memory *m, uint32_t slot) {
  const uint8_t *written = pto_observe_at(m, m->written, slot);
  return written[0] || pto_observe_same_bytes(written, 0, m->page_bytes) < m->page_bytes;
}

/* The unit's pages that it writes at all. */
static void find_copies(struct pto_observe_cores *c) {
  const struct pto_observe_memory *m = c->o->memory;
  c->copy_count = 0;
  c->total_bytes = 0;
  for (uint32_t slot = 0; slot < m->pages.count; slot++)
    if (is_any_written(m, slot))
      add_copy(c, (struct pto_cores_copy){.live = (uint8_t *)(uintptr_t)pto_observe_pages(m)[slot].addr,
                                          .size_bytes = m->page_bytes,
                                          .slot = slot});
  c->page_copies = c->copy_count;
}

/* What the call may do with a byte, enum pto_observe_class; 0 in shared memory. */
static uint8_t class_at(const struct pto_observe_cores *c, const struct pto_cores_copy *copy, uint64_t i) {
  const struct pto_observe_memory *m = c->o->memory;
  return copy->slot == PTO_OBSERVE_NO_SLOT ? 0 : pto_observe_at(m, m->classes, copy->slot)[i];
}

bool pto_cores_is_sum(const struct pto_observe_cores *c, uint64_t at) {
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, at);
  return (class_at(c, copy, at - copy->base) & PTO_OBSERVE_ACCUMULATE) != 0;
}

bool pto_cores_is_one_piece(const struct pto_observe_cores *c, uint64_t at, uint64_t other) {
  const struct pto_cores_copy *one, *its;
  const uint64_t addr = pto_cores_address(c, at, &one), its_addr = pto_cores_address(c, other, &its);
  if (one->slot == PTO_OBSERVE_NO_SLOT || its->slot == PTO_OBSERVE_NO_SLOT) return one == its;
  return pto_observe_nearest(c->o, addr, addr + 1) == pto_observe_nearest(c->o, its_addr, its_addr + 1);
}

/* The memory that a block's kernel asks for is known from now on. */
static void take_shared(struct pto_observe_cores *c, const struct pto_core_event *event) {
  for (size_t i = c->page_copies; i < c->copy_count; i++)
    if (c->copies[i].block_index == event->message->block_index && c->copies[i].key == event->key) {
      c->copies[i].live = event->memory;
      return;
    }
  if (c->is_trial) return;
  const struct pto_cores_copy *copy = add_copy(c, (struct pto_cores_copy){.live = event->memory,
                                                                          .size_bytes = event->size_bytes,
                                                                          .slot = PTO_OBSERVE_NO_SLOT,
                                                                          .block_index = event->message->block_index,
                                                                          .key = event->key});
  if (copy) memcpy(c->now + copy->base, copy->live, copy->size_bytes);
}

/* Shared memory of a block goes with the last of its kernels. */
static void drop_shared(struct pto_observe_cores *c, const struct pto_message *message) {
  bool is_over = true;
  for (size_t i = 0; i < c->member_count; i++) {
    c->members[i].has_returned |=
        c->members[i].core == message->core && c->members[i].block_index == message->block_index;
    is_over &= c->members[i].block_index != message->block_index || c->members[i].has_returned;
  }
  if (!is_over) return;
  for (size_t i = c->page_copies; i < c->copy_count; i++)
    if (c->copies[i].block_index == message->block_index) c->copies[i].live = NULL;
}

/* ---- what a stretch writes ---- */

/* Room for so many more values. */
static bool grow_values(struct pto_observe_cores *c, uint64_t bytes) {
  const uint64_t needed = c->value_count + bytes;
  if (needed <= c->value_capacity) return true;
  if (needed > MOST_BYTES) return false;
  uint8_t *larger = realloc(c->values, 2 * needed);
  if (!larger) return false;
  c->values = larger;
  c->value_capacity = 2 * needed;
  return true;
}

static void add_write(struct pto_observe_cores *c, const struct pto_cores_copy *copy, uint64_t lo, uint64_t hi) {
  struct pto_cores_write *write = NULL;
  if (grow_values(c, hi - lo)) write = pto_grow(&c->writes, &c->write_count, &c->write_capacity, sizeof *write);
  if (!write) {
    c->is_too_large = true;
    return;
  }
  *write = (struct pto_cores_write){copy->base + lo, copy->base + hi, c->value_count, c->running};
  memcpy(c->values + c->value_count, copy->live + lo, hi - lo);
  c->value_count += hi - lo;
}

static void find_writes(struct pto_observe_cores *c, const struct pto_cores_copy *copy) {
  uint8_t *now = c->now + copy->base;
  if (memcmp(now, copy->live, copy->size_bytes) == 0) return;
  for (uint64_t i = 0; i < copy->size_bytes && !c->is_too_large; i++) {
    const uint64_t lo = i;
    while (i < copy->size_bytes && now[i] != copy->live[i] && !pto_observe_is_of_others(class_at(c, copy, i))) i++;
    if (i > lo) add_write(c, copy, lo, i);
  }
  memcpy(now, copy->live, copy->size_bytes);
}

bool pto_cores_is_lone_word(const struct pto_observe_cores *c, const struct pto_cores_write *write) {
  const uint64_t word = write->lo & ~(uint64_t)7;
  for (size_t w = 0; w < c->write_count; w++) {
    const struct pto_cores_write *other = &c->writes[w];
    if (other->record != write->record || other->hi <= word - pto_min_u64(word, 8) || other->lo >= word + 16) continue;
    if (other->lo < word || other->hi > word + 8) return false;
  }
  return true;
}

static void end_traced(struct pto_observe_cores *c) {
  for (size_t i = 0; i < c->copy_count && !c->is_too_large; i++) {
    if (!c->copies[i].live) continue;
    find_writes(c, &c->copies[i]);
    c->compared_bytes += c->copies[i].size_bytes;
  }
  if (c->compared_bytes > MOST_COMPARED || c->order.count > MOST_RECORDS) c->is_too_large = true;
}

/* ---- other values ---- */

static uint8_t other_value(const struct pto_observe_cores *c, uint64_t at, uint8_t value) {
  const uint8_t usual = (uint8_t)((c->pattern == PTO_OBSERVE_NEGATIVE ? 0xf0 : 0x70) | (pto_mix64(at) & 15));
  return value == usual ? usual ^ 8 : usual;
}

/* The part of a race that is selected; false where there is none, or its memory is not there. */
static bool select_race(const struct pto_observe_cores *c, const struct pto_cores_race *race,
                        struct pto_observe_range *range, uint8_t **live) {
  *range = (struct pto_observe_range){pto_max_u64(race->lo, c->selected.lo), pto_min_u64(race->hi, c->selected.hi)};
  if (range->lo >= range->hi) return false;
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, range->lo);
  *live = copy->live ? copy->live + (range->lo - copy->base) : NULL;
  return *live != NULL;
}

/* The true values of a stretch's races into `now`, others into memory. */
static void begin_trial(struct pto_observe_cores *c) {
  const uint32_t of = c->running;
  const bool is_written =
      !c->is_asking && (c->gives != PTO_CORES_OTHERS || c->members[c->order.records[of].core].polls);
  const size_t first = c->first_race[of], end = c->first_race[of + 1];
  struct pto_observe_range range;
  uint8_t *live;
  for (int put = 0; put <= 1; put++)
    for (size_t i_race = first; i_race < end; i_race++) {
      const size_t r = c->gives == PTO_CORES_FIRST_WRITTEN ? end - 1 - (i_race - first) : i_race;
      if (!select_race(c, &c->races[r], &range, &live)) continue;
      for (uint64_t i = 0; i < range.hi - range.lo; i++) {
        const uint64_t at = range.lo + i;
        if (!put) {
          c->now[at] = live[i];
          continue;
        }
        c->applied[at] = live[i] =
            is_written ? c->values[c->races[r].values + (at - c->races[r].lo)] : other_value(c, at, c->now[at]);
      }
    }
}

/* What the stretch left of them becomes what it was; what it did not is its own. */
static void end_trial(struct pto_observe_cores *c) {
  const uint32_t of = c->running;
  struct pto_observe_range range;
  uint8_t *live;
  for (size_t r = c->first_race[of]; r < c->first_race[of + 1]; r++) {
    if (!select_race(c, &c->races[r], &range, &live)) continue;
    for (uint64_t i = 0; i < range.hi - range.lo; i++) {
      const uint64_t at = range.lo + i;
      if (live[i] == c->applied[at]) {
        c->applied[at] = live[i] = c->now[at];
        continue;
      }
      const bool is_next = c->overwriting == of && c->overwritten_by == c->races[r].by && c->overwritten.hi == at;
      if (c->overwritten.lo == c->overwritten.hi) {
        c->overwriting = of;
        c->overwritten_by = c->races[r].by;
        c->overwritten = (struct pto_observe_range){at, at + 1};
      } else if (is_next) {
        c->overwritten.hi++;
      }
      c->applied[at] = c->now[at] = live[i];
    }
  }
}

/* The whole number that is counted, on the machine's side of byte order; NULL: its memory is not there. */
static uint8_t *counted_at(const struct pto_observe_cores *c, uint64_t *value) {
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, c->counted.lo);
  uint8_t *live = copy->live ? copy->live + (c->counted.lo - copy->base) : NULL;
  *value = 0;
  if (live) memcpy(value, live, c->counted.hi - c->counted.lo);
  return live;
}

static void set_counted(const struct pto_observe_cores *c, uint64_t value) {
  uint64_t was;
  uint8_t *live = counted_at(c, &was);
  if (live) memcpy(live, &value, c->counted.hi - c->counted.lo);
}

static void begin_count(struct pto_observe_cores *c) {
  if (counted_at(c, &c->count_begun)) set_counted(c, c->count_begun + c->count_more);
}

static void end_count(struct pto_observe_cores *c) {
  uint64_t value;
  if (!counted_at(c, &value)) return;
  c->count_added = value - (c->count_begun + c->count_more);
  set_counted(c, c->count_begun + c->count_added);
}

/* ---- events ---- */

/* The last record of the stretch: its own, or that of the last operation on a word in it. */
static uint32_t last_part(const struct pto_observe_cores *c, uint32_t record) {
  const uint32_t core = c->order.records[record].core;
  uint32_t last = record;
  for (uint32_t i = record + 1; i < c->order.count; i++) {
    if (c->order.records[i].core != core) continue;
    if (!pto_core_is_of_word(c->order.records[i].kind)) break;
    last = i;
  }
  return last;
}

static bool is_trying(const struct pto_observe_cores *c) {
  return !c->has_strayed && c->running >= c->first && c->running < c->end_record;
}

/* Whether some part of the stretch, of several, gets other values. */
static bool tries_parts(const struct pto_observe_cores *c, uint32_t record) {
  const uint32_t last = last_part(c, record);
  struct pto_observe_range range;
  uint8_t *live;
  for (uint32_t i = record; last != record && i <= last; i++) {
    if (c->order.records[i].core != c->order.records[record].core || i < c->first || i >= c->end_record) continue;
    if (c->is_counting) return true;
    for (size_t r = c->first_race[i]; r < c->first_race[i + 1]; r++)
      if (select_race(c, &c->races[r], &range, &live)) return true;
  }
  return false;
}

/* The run goes on with the next record, which is to be of this kind; false where it is not as the traced one. */
static bool go_on(struct pto_observe_cores *c, const struct pto_message *message, uint8_t kind, uint64_t subject) {
  const struct pto_core_record *record = c->next_record < c->order.count ? &c->order.records[c->next_record] : NULL;
  const bool is_of_word = pto_core_is_of_word(kind);
  if (c->running != PTO_CORE_NO_RECORD && is_trying(c)) c->is_counting ? end_count(c) : end_trial(c);
  c->running = PTO_CORE_NO_RECORD;
  if (!record || record->kind != kind || (is_of_word ? record->word : record->subject) != subject ||
      c->members[record->core].core != message->core) {
    if (!c->has_strayed) c->strayed_at = c->next_record;
    c->has_strayed = true;
  }
  return !c->has_strayed;
}

static void begin_record(struct pto_observe_cores *c, uint32_t number) {
  c->running = number;
  if (is_trying(c)) c->is_counting ? begin_count(c) : begin_trial(c);
}

static void on_trial(struct pto_observe_cores *c, const struct pto_core_event *event) {
  while (c->next_record < c->order.count && pto_core_is_of_word(c->order.records[c->next_record].kind))
    c->next_record++;
  const bool is_as_traced = go_on(c, event->message, event->kind, event->subject);
  if (event->kind == PTO_CORE_HAS_SHARED) take_shared(c, event);
  if (event->kind == PTO_CORE_RETURNED) drop_shared(c, event->message);
  const uint32_t number = (uint32_t)c->next_record++;
  c->is_stepping = false;
  if (!is_as_traced || event->kind == PTO_CORE_SUSPENDED || event->kind == PTO_CORE_RETURNED) return;
  begin_record(c, number);
  c->is_stepping = tries_parts(c, number);
}

static void on_trace(struct pto_observe_cores *c, const struct pto_core_event *event) {
  if (!c->has_begun) /* memory is what the run begins with */
    for (size_t i = 0; i < c->copy_count; i++)
      memcpy(c->now + c->copies[i].base, c->copies[i].live, c->copies[i].size_bytes);
  c->has_begun = true;
  if (c->running != PTO_CORE_NO_RECORD) end_traced(c);
  c->running = pto_core_order_add(&c->order, event);
  if (event->kind == PTO_CORE_HAS_SHARED) take_shared(c, event);
  if (event->kind == PTO_CORE_RETURNED) drop_shared(c, event->message);
  if (event->kind == PTO_CORE_SUSPENDED || event->kind == PTO_CORE_RETURNED) c->running = PTO_CORE_NO_RECORD;
}

static void on_event(void *context, const struct pto_core_event *event) {
  struct pto_observe_cores *c = context;
  if (c->is_stepping) pto_steps_pause();
  if (event->call) c->o->call.calling_roles |= (uint8_t)PTO_ROLE_BIT(event->message->role);
  if (c->is_too_large) return;
  const uint64_t left_us = pto_observe_memory_try_pause();
  if (c->is_trial)
    on_trial(c, event);
  else
    on_trace(c, event);
  pto_observe_memory_try_resume(left_us);
  if (c->is_stepping && c->running != PTO_CORE_NO_RECORD) pto_steps_go();
}

/* ---- operations on words ---- */

#define NO_WORD UINT64_MAX
/* Where the word is in the copies; shared memory lies elsewhere in each run. */
static uint64_t word_at(const struct pto_observe_cores *c, uint64_t addr) {
  for (size_t i = 0; i < c->copy_count; i++)
    if (c->copies[i].live && addr - (uintptr_t)c->copies[i].live < c->copies[i].size_bytes)
      return c->copies[i].base + (addr - (uintptr_t)c->copies[i].live);
  return NO_WORD;
}

/* Whether an atomic operation has changed the word by now, one of this core where `core` is not NO_RECORD. */
static bool is_word(const struct pto_observe_cores *c, uint64_t word, uint32_t core) {
  for (size_t i = c->is_trial ? c->next_record : c->order.count; i-- > 0;) {
    const struct pto_core_record *record = &c->order.records[i];
    if (record->kind == PTO_CORE_LEAVES_WORD && record->word == word && record->subject == PTO_STEP_ATOMIC &&
        (core == PTO_CORE_NO_RECORD || record->core == core))
      return true;
  }
  return false;
}

/* One of the two records of the operation. */
static bool add_word_record(struct pto_observe_cores *c, uint8_t kind, const struct pto_step *step) {
  const struct pto_core_event event = {.message = &c->o->call.unit->messages[c->order.records[c->running].core],
                                       .kind = kind,
                                       .subject = (uint8_t)step->kind,
                                       .key = word_at(c, step->addr),
                                       .call = (const uint8_t *)step->instruction + 1};
  if (c->is_trial) {
    if (go_on(c, event.message, kind, event.key)) begin_record(c, (uint32_t)c->next_record++);
  } else {
    end_traced(c);
    c->running = pto_core_order_add(&c->order, &event);
    c->word_records++;
  }
  return c->running != PTO_CORE_NO_RECORD;
}

/* A load of such a word acquires, and who has changed it by an atomic operation may give it back by a store, as of a
 * lock.  Any other store is one that nothing orders. */
static bool on_reach(void *context, const struct pto_step *step) {
  struct pto_observe_cores *c = context;
  if (c->is_too_large || c->running == PTO_CORE_NO_RECORD) return false;
  const uint32_t core = step->kind == PTO_STEP_STORES ? c->order.records[c->running].core : PTO_CORE_NO_RECORD;
  if (step->kind != PTO_STEP_ATOMIC && !c->word_records) return false;
  const uint64_t word = word_at(c, step->addr);
  if (word == NO_WORD || (step->kind != PTO_STEP_ATOMIC && !is_word(c, word, core))) return false;
  if (!c->is_trial && c->word_records >= MOST_WORD_RECORDS) {
    c->are_words_partly = true;
    return false;
  }
  return add_word_record(c, PTO_CORE_REACHES_WORD, step);
}

static void on_leave(void *context, const struct pto_step *step) {
  (void)add_word_record(context, PTO_CORE_LEAVES_WORD, step);
}

/* ---- runs ---- */

static struct pto_observe_outcome run(struct pto_observe_cores *c) {
  c->running = PTO_CORE_NO_RECORD;
  for (size_t i = 0; i < c->member_count; i++) c->members[i].has_returned = false;
  for (size_t i = c->page_copies; i < c->copy_count; i++) c->copies[i].live = NULL;
  pto_observed_unit_schedule(c->o->port, &c->schedule);
  struct pto_observe_outcome outcome = pto_observe_run_again(c->o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL);
  pto_observed_unit_schedule(c->o->port, NULL);
  if (outcome.caught == SIGVTALRM) c->stuck_count++;
  return outcome;
}

struct pto_observe_outcome pto_cores_trace(struct pto_observe_cores *c, bool is_reversed) {
  find_copies(c);
  pto_core_order_reset(&c->order, c->members, (uint32_t)c->member_count);
  for (size_t i = 0; i < c->member_count; i++) c->is_eager[c->members[i].core] = c->members[i].polls;
  c->schedule.is_reversed = is_reversed;
  c->schedule.watch = (struct pto_core_watch){on_event, c};
  c->is_trial = c->has_begun = false;
  c->write_count = c->value_count = 0;
  c->word_records = 0;
  c->compared_bytes = 0;
  const struct pto_observe_outcome outcome = run(c);
  if (outcome.caught == SIGVTALRM && c->running != PTO_CORE_NO_RECORD && !c->is_too_large)
    c->spinning = c->order.records[c->running].core;
  for (size_t i = 0; i < c->page_copies && !c->is_too_large; i++)
    memcpy(c->end + c->copies[i].base, c->copies[i].live, c->copies[i].size_bytes);
  return outcome;
}

bool pto_cores_trace_words(struct pto_observe_cores *c) {
  if (c->are_words_known) return false;
  c->are_words_known = true;
  c->are_words_partly = !pto_steps_begin((struct pto_steps_watch){on_reach, on_leave, c});
  if (c->are_words_partly) return false;
  c->is_stepping = true;
  const struct pto_observe_outcome outcome = pto_cores_trace(c, c->schedule.is_reversed);
  c->is_stepping = false;
  c->are_words_partly |= !pto_steps_end();
  if (outcome.caught) {
    c->are_words_partly = true;
    (void)pto_cores_trace(c, c->schedule.is_reversed);
  }
  c->is_too_large |= !pto_core_order_solve(&c->order);
  return true;
}

bool pto_cores_matters(struct pto_observe_cores *c, uint32_t first, uint32_t end, struct pto_observe_range bytes,
                       int status) {
  if (c->stuck_count >= PTO_CORES_MOST_STUCK) return false;
  c->is_trial = true;
  c->has_strayed = false;
  c->next_record = 0;
  c->first = first;
  c->end_record = end;
  c->selected = bytes;
  c->overwritten = (struct pto_observe_range){0, 0};
  const bool may_step = c->word_records > 0 && pto_steps_begin((struct pto_steps_watch){on_reach, on_leave, c});
  const struct pto_observe_outcome outcome = run(c);
  c->is_stepping = false;
  if (may_step) (void)pto_steps_end();
  bool differs = outcome.caught || outcome.status != status;
  for (size_t i = 0; i < c->page_copies && !differs; i++) {
    const struct pto_cores_copy *copy = &c->copies[i];
    if (memcmp(c->end + copy->base, copy->live, copy->size_bytes) == 0) continue;
    for (uint64_t k = 0; k < copy->size_bytes; k++)
      differs |= c->end[copy->base + k] != copy->live[k] && !pto_observe_is_of_others(class_at(c, copy, k));
  }
  return differs;
}

/* Fills the races of this stretch alone: with what the other core writes into the piece, but for what may be polled. */
static bool ask_for(struct pto_observe_cores *c, uint32_t of, uint32_t writer, uint64_t at) {
  c->race_count = 0;
  for (size_t w = 0; w < c->write_count; w++) {
    const struct pto_cores_write *write = &c->writes[w];
    if (c->order.records[write->record].core != writer || !pto_cores_is_one_piece(c, at, write->lo) ||
        pto_cores_is_lone_word(c, write))
      continue;
    struct pto_cores_race *race = pto_grow(&c->races, &c->race_count, &c->race_capacity, sizeof *race);
    if (!race) return false;
    *race = (struct pto_cores_race){write->lo, write->hi, write->values, write->record};
  }
  for (size_t i = 0; i <= c->order.count; i++) c->first_race[i] = i <= of ? 0 : c->race_count;
  return c->race_count > 0;
}

bool pto_cores_reads(struct pto_observe_cores *c, uint32_t of, uint32_t writer, uint64_t at, int status) {
  if (!ask_for(c, of, writer, at)) return false;
  c->is_asking = true;
  const bool differs = pto_cores_matters(c, of, of + 1, (struct pto_observe_range){0, UINT64_MAX}, status);
  c->is_asking = false;
  return differs && !c->has_strayed;
}

static void hash_call(void *context, const struct pto_core_event *event) {
  struct pto_observe_cores *c = context;
  const uint64_t what = event->kind | (uint64_t)event->subject << 8 | (uint64_t)event->roles << 16;
  if (event->kind == PTO_CORE_RESUMED || event->kind == PTO_CORE_SUSPENDED || event->kind >= PTO_CORE_POLLED) return;
  for (size_t i = 0; i < c->member_count; i++)
    if (c->members[i].core == event->message->core)
      c->members[i].calls_key = pto_mix64(c->members[i].calls_key ^ what ^ (uint64_t)(uintptr_t)event->call << 24);
}

uint32_t pto_cores_hash_calls(struct pto_observe_cores *c) {
  uint64_t key = 0;
  for (size_t i = 0; i < c->member_count; i++) c->members[i].calls_key = 0;
  c->schedule.watch = (struct pto_core_watch){hash_call, c};
  c->schedule.is_reversed = false;
  (void)run(c);
  for (size_t i = 0; i < c->member_count; i++) key = pto_mix64(key ^ c->members[i].calls_key ^ c->members[i].role);
  return (uint32_t)(key >> 32);
}

static void ignore_event(void *context, const struct pto_core_event *event) {
  (void)context;
  (void)event;
}

struct pto_observe_outcome pto_cores_run_at_random(struct pto_observe_cores *c, uint64_t random) {
  c->schedule.watch = (struct pto_core_watch){ignore_event, NULL};
  c->schedule.random = random;
  return run(c);
}
