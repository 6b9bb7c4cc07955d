/* SPDX-License-Identifier: MIT */
#include <check/observe/cores.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <check/observe/steps.h>
#include <runtime/base/grow.h>

/* What one unit may take: bytes that are copied, and compared in one run; records; pairs of a stretch and a write. */
#define MOST_BYTES (UINT64_C(64) << 20)
#define MOST_COMPARED (UINT64_C(1) << 30)
#define MOST_RECORDS 8192u
#define MOST_PAIRS (UINT64_C(1) << 26)
#define MOST_STUCK 2u
#define RANDOM_ORDERS 48u
#define WORD_BYTES 4u /* that an atomic operation is taken to change */

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

static bool is_sum(const struct pto_observe_cores *c, uint64_t at) {
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, at);
  return (class_at(c, copy, at - copy->base) & PTO_OBSERVE_ACCUMULATE) != 0;
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
  const bool is_written = c->gives != PTO_CORES_OTHERS || c->members[c->order.records[of].core].polls;
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

/* ---- events ---- */

static bool is_trying(const struct pto_observe_cores *c) {
  return !c->has_strayed && c->running >= c->first && c->running < c->end_record;
}

/* The stretch that begins, where it writes the bytes that are asked for. */
static void begin_steps(const struct pto_observe_cores *c) {
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, c->stepped.lo);
  for (size_t w = 0; copy->live && w < c->write_count; w++)
    if (c->writes[w].record == c->running && c->writes[w].lo < c->stepped.hi && c->stepped.lo < c->writes[w].hi) {
      pto_steps_go(copy->live + (c->stepped.lo - copy->base), (uint32_t)(c->stepped.hi - c->stepped.lo));
      return;
    }
}

static void on_trial(struct pto_observe_cores *c, const struct pto_core_event *event) {
  if (c->is_stepping) pto_steps_pause();
  if (c->running != PTO_CORE_NO_RECORD && is_trying(c)) end_trial(c);
  c->running = PTO_CORE_NO_RECORD;
  const struct pto_core_record *record = c->next_record < c->order.count ? &c->order.records[c->next_record] : NULL;
  if (!record || record->kind != event->kind || record->subject != event->subject ||
      c->members[record->core].core != event->message->core)
    c->has_strayed = true;
  if (event->kind == PTO_CORE_HAS_SHARED) take_shared(c, event);
  if (event->kind == PTO_CORE_RETURNED) drop_shared(c, event->message);
  const uint32_t number = (uint32_t)c->next_record++;
  if (c->has_strayed || event->kind == PTO_CORE_SUSPENDED || event->kind == PTO_CORE_RETURNED) return;
  c->running = number;
  if (is_trying(c)) begin_trial(c);
  if (c->is_stepping) begin_steps(c);
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
  if (c->is_too_large) return;
  const uint64_t left_us = pto_observe_memory_try_pause();
  if (c->is_trial)
    on_trial(c, event);
  else
    on_trace(c, event);
  pto_observe_memory_try_resume(left_us);
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

static struct pto_observe_outcome trace(struct pto_observe_cores *c, bool is_reversed) {
  find_copies(c);
  pto_core_order_reset(&c->order, c->members, (uint32_t)c->member_count);
  for (size_t i = 0; i < c->member_count; i++) c->is_eager[c->members[i].core] = c->members[i].polls;
  c->schedule.is_reversed = is_reversed;
  c->is_trial = c->has_begun = false;
  c->write_count = c->value_count = c->atomic_count = 0;
  c->compared_bytes = 0;
  const struct pto_observe_outcome outcome = run(c);
  if (outcome.caught == SIGVTALRM && c->running != PTO_CORE_NO_RECORD && !c->is_too_large)
    c->spinning = c->order.records[c->running].core;
  for (size_t i = 0; i < c->page_copies && !c->is_too_large; i++)
    memcpy(c->end + c->copies[i].base, c->copies[i].live, c->copies[i].size_bytes);
  return outcome;
}

/* Whether other values in these bytes of stretches [first, end) make a difference to the traced run, in which the first
 * status that was not 0 was `status`. */
static bool matters(struct pto_observe_cores *c, uint32_t first, uint32_t end, struct pto_observe_range bytes,
                    int status) {
  if (c->stuck_count >= MOST_STUCK) return false;
  c->is_trial = true;
  c->has_strayed = false;
  c->next_record = 0;
  c->first = first;
  c->end_record = end;
  c->selected = bytes;
  c->overwritten = (struct pto_observe_range){0, 0};
  const struct pto_observe_outcome outcome = run(c);
  bool differs = outcome.caught || outcome.status != status;
  for (size_t i = 0; i < c->page_copies && !differs; i++) {
    const struct pto_cores_copy *copy = &c->copies[i];
    if (memcmp(c->end + copy->base, copy->live, copy->size_bytes) == 0) continue;
    for (uint64_t k = 0; k < copy->size_bytes; k++)
      differs |= c->end[copy->base + k] != copy->live[k] && !pto_observe_is_of_others(class_at(c, copy, k));
  }
  return differs;
}

/* ---- races ---- */

static uint32_t param_at(const struct pto_observe_cores *c, uint64_t at) {
  const struct pto_cores_copy *copy;
  const uint64_t addr = pto_cores_address(c, at, &copy);
  const struct pto_observe_param *param =
      copy->slot == PTO_OBSERVE_NO_SLOT ? NULL : pto_observe_nearest(c->o, addr, addr + 1);
  return param ? param->index : UINT32_MAX;
}

static bool was_reported(const struct pto_observe_cores *c, uint32_t a, uint32_t b, uint64_t at) {
  for (uint32_t i = 0; i < c->reported_count; i++) {
    const struct pto_cores_reported *one = &c->reported[i];
    const bool is_pair = (one->cores[0] == a && one->cores[1] == b) || (one->cores[0] == b && one->cores[1] == a);
    if (is_pair && one->param == param_at(c, at)) return true;
  }
  return false;
}

static bool is_stretch(const struct pto_core_record *record) {
  return record->kind != PTO_CORE_SUSPENDED && record->kind != PTO_CORE_RETURNED;
}

/* By record: whether its stretch is a look that found nothing; and whether it lies before the turn of a core that is
 * to wait for other blocks. */
enum { IS_LOOK = 1, IS_EARLY = 2 };

/* The stretch that ended in this poll, which may have been interrupted at the call. */
static void mark_look(const struct pto_core_order *order, uint32_t polled, uint8_t *kinds) {
  uint32_t i = order->records[polled].previous;
  for (; i != PTO_CORE_NO_RECORD; i = order->records[i].previous) {
    kinds[i] |= IS_LOOK;
    if (order->records[i].kind != PTO_CORE_RESUMED && order->records[i].kind != PTO_CORE_SUSPENDED) return;
  }
}

static void classify(const struct pto_observe_cores *c, uint8_t *kinds) {
  const struct pto_core_order *order = &c->order;
  const bool has_blocks = c->o->call.unit->messages[0].block_index > 0;
  memset(kinds, 0, order->count);
  for (uint32_t i = 0; i < order->count; i++) {
    const struct pto_core_record *record = &order->records[i];
    const bool is_first = record->previous == PTO_CORE_NO_RECORD;
    if (record->kind == PTO_CORE_POLLED) mark_look(order, i, kinds);
    const bool was_early = is_first || (kinds[record->previous] & IS_EARLY);
    if (has_blocks && c->members[record->core].takes_turns && was_early && record->kind != PTO_CORE_HAS_TURN)
      kinds[i] |= IS_EARLY;
  }
}

static bool is_known_atomic(const struct pto_observe_cores *c, uint64_t lo, uint64_t hi) {
  for (uint32_t i = 0; i < c->atomic_count; i++)
    if (lo >= c->atomic[i].lo && hi <= c->atomic[i].hi) return true;
  return false;
}

/* Whether the word of these bytes is changed by atomic operations alone: then no order of them is missing, and they are
 * no race from now on. */
static bool are_atomic(struct pto_observe_cores *c, struct pto_observe_range bytes) {
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, bytes.lo);
  const uint64_t lo = copy->base + ((bytes.lo - copy->base) & ~(uint64_t)(WORD_BYTES - 1));
  const uint64_t hi = copy->base + pto_min_u64(pto_align_up(bytes.hi - copy->base, WORD_BYTES), copy->size_bytes);
  if (hi - lo > PTO_STEPS_BYTES || c->atomic_count == PTO_CORES_MOST_ATOMIC || !pto_steps_begin()) return false;
  c->is_trial = c->is_stepping = true;
  c->has_strayed = false;
  c->next_record = 0;
  c->first = c->end_record = 0;
  c->stepped = (struct pto_observe_range){lo, hi};
  const struct pto_observe_outcome outcome = run(c);
  c->is_stepping = false;
  if (!pto_steps_end() || outcome.caught || c->has_strayed) return false;
  c->atomic[c->atomic_count++] = c->stepped;
  return true;
}

/* Whether what `write` leaves races with stretch `of`: of another core, or of other blocks, which do the same in their
 * turns. */
static bool races_with(const struct pto_observe_cores *c, const struct pto_cores_write *write, uint32_t of,
                       uint8_t kind) {
  const uint32_t a = c->order.records[write->record].core, b = c->order.records[of].core;
  if ((kind & IS_EARLY) && is_sum(c, write->lo)) return !was_reported(c, b, b, write->lo);
  if (a == b || pto_core_order_is_before(&c->order, write->record, of) ||
      pto_core_order_is_before(&c->order, of, write->record))
    return false;
  if (is_known_atomic(c, write->lo, write->hi)) return false;
  return c->reported_count == 0 || !was_reported(c, a, b, write->lo);
}

/* Fills the races of all stretches; false where there are none, or too many. */
static bool find_races(struct pto_observe_cores *c) {
  const size_t count = c->order.count;
  uint8_t *kinds = malloc(count + 1);
  free(c->first_race);
  c->first_race = calloc(count + 2, sizeof *c->first_race);
  c->race_count = 0;
  if (!kinds || !c->first_race || (uint64_t)count * c->write_count > MOST_PAIRS) c->is_too_large = true;
  if (!c->is_too_large) classify(c, kinds);
  for (uint32_t of = 0; of < count && !c->is_too_large; of++) {
    c->first_race[of] = c->race_count;
    if (is_stretch(&c->order.records[of]) && !(kinds[of] & IS_LOOK))
      for (size_t w = 0; w < c->write_count && !c->is_too_large; w++) {
        if (!races_with(c, &c->writes[w], of, kinds[of])) continue;
        struct pto_cores_race *race = pto_grow(&c->races, &c->race_count, &c->race_capacity, sizeof *race);
        if (race)
          *race = (struct pto_cores_race){c->writes[w].lo, c->writes[w].hi, c->writes[w].values, c->writes[w].record};
        else
          c->is_too_large = true;
      }
    c->first_race[of + 1] = c->race_count;
  }
  free(kinds);
  return !c->is_too_large && c->race_count > 0;
}

/* ---- the search ---- */

#define ALL ((struct pto_observe_range){0, UINT64_MAX})

static uint32_t find_stretch(struct pto_observe_cores *c, int status) {
  uint32_t lo = 0, hi = (uint32_t)c->order.count; /* those below lo make no difference, those below hi do */
  while (hi - lo > 1) {
    const uint32_t middle = lo + (hi - lo) / 2;
    *(matters(c, 0, middle, ALL, status) ? &hi : &lo) = middle;
  }
  return hi - 1;
}

/* The first and the last byte of the stretch's races that make a difference. */
static struct pto_observe_range find_bytes(struct pto_observe_cores *c, uint32_t of, int status) {
  uint64_t lo = UINT64_MAX, hi = 0;
  for (size_t r = c->first_race[of]; r < c->first_race[of + 1]; r++) {
    lo = pto_min_u64(lo, c->races[r].lo);
    hi = pto_max_u64(hi, c->races[r].hi);
  }
  const uint64_t begin = lo, end = hi;
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    *(matters(c, of, of + 1, (struct pto_observe_range){begin, middle}, status) ? &hi : &lo) = middle;
  }
  const uint64_t first = hi - 1;
  lo = first, hi = end;
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    *(matters(c, of, of + 1, (struct pto_observe_range){middle, end}, status) ? &lo : &hi) = middle;
  }
  return (struct pto_observe_range){first, lo + 1};
}

/* The stretch that writes the first of these bytes, and with it to where. */
static uint32_t find_writer(const struct pto_observe_cores *c, uint32_t of, struct pto_observe_range *bytes) {
  for (size_t r = c->first_race[of]; r < c->first_race[of + 1]; r++) {
    const struct pto_cores_race *race = &c->races[r];
    if (bytes->lo < race->lo || bytes->lo >= race->hi) continue;
    const struct pto_cores_copy *copy = pto_cores_copy_at(c, bytes->lo);
    bytes->hi = pto_min_u64(bytes->hi, copy->base + copy->size_bytes);
    return race->by;
  }
  return of;
}

static void tell(struct pto_observe_cores *c, struct pto_cores_finding finding) {
  const uint32_t a = c->order.records[finding.writer].core, b = c->order.records[finding.other].core;
  finding.is_turn = a == b;
  pto_cores_report(c, &finding);
  c->reported[c->reported_count++] = (struct pto_cores_reported){{a, b}, param_at(c, finding.bytes.lo)};
}

/* A stretch that writes a sum before its turn. */
static bool tell_early_write(struct pto_observe_cores *c) {
  uint8_t *kinds = malloc(c->order.count + 1);
  bool any = false;
  if (kinds) classify(c, kinds);
  for (size_t w = 0; kinds && w < c->write_count && !any; w++) {
    const struct pto_cores_write *write = &c->writes[w];
    const uint32_t core = c->order.records[write->record].core;
    if (!(kinds[write->record] & IS_EARLY) || !is_sum(c, write->lo) || was_reported(c, core, core, write->lo)) continue;
    tell(c, (struct pto_cores_finding){write->record, write->record, {write->lo, write->hi}, .is_turn = true});
    any = true;
  }
  free(kinds);
  return any;
}

/* Whether some core lets others run to look at memory again.  What it looks for is a lock, perhaps, that orders what
 * nothing else does: values that another core wrote under it would be those of no order. */
static bool any_yields(const struct pto_observe_cores *c) {
  for (uint32_t i = 0; i < c->order.count; i++) {
    const uint8_t kind = c->order.records[i].kind;
    if (kind == PTO_CORE_POLLED || kind == PTO_CORE_YIELDS) return true;
  }
  return false;
}

static bool any_polls(const struct pto_observe_cores *c) {
  for (size_t i = 0; i < c->member_count; i++)
    if (c->members[i].polls) return true;
  return false;
}

/* One finding of the traced run; false where there is none. */
static bool find_one(struct pto_observe_cores *c, int status) {
  if (tell_early_write(c)) return true;
  if (!find_races(c) || c->stuck_count >= MOST_STUCK) return false;
  bool differs = false;
  for (c->gives = PTO_CORES_OTHERS; !differs; c->gives++) {
    differs = matters(c, 0, UINT32_MAX, ALL, status);
    if (differs || c->overwritten.lo < c->overwritten.hi || c->gives + 1 == PTO_CORES_VALUES || any_yields(c)) break;
  }
  if (c->overwritten.lo < c->overwritten.hi) {
    if (are_atomic(c, c->overwritten)) return true;
    tell(c, (struct pto_cores_finding){c->overwritten_by, c->overwriting, c->overwritten, .is_read = false});
    return true;
  }
  if (!differs || c->o->call.is_unstable) return false; /* then it differs by itself */
  const uint32_t of = find_stretch(c, status);
  if (c->first_race[of] == c->first_race[of + 1]) return false;
  struct pto_observe_range bytes = find_bytes(c, of, status);
  const uint32_t writer = find_writer(c, of, &bytes);
  if (are_atomic(c, bytes)) return true;
  tell(c, (struct pto_cores_finding){writer, of, bytes, .is_read = true});
  return true;
}

/* ---- a unit ---- */

static bool list_members(struct pto_observe_cores *c) {
  const struct pto_observed_unit *unit = c->o->call.unit;
  uint32_t most = 0;
  c->member_count = 0;
  for (uint32_t i = 0; i < unit->count; i++) {
    const struct pto_message *message = &unit->messages[i];
    const struct pto_kernel *kernel = message->payload->kernels[message->role];
    struct pto_core_member *member = pto_grow(&c->members, &c->member_count, &c->member_capacity, sizeof *member);
    if (!member) return false;
    most = message->core > most ? message->core : most;
    *member = (struct pto_core_member){.core = message->core,
                                       .role = message->role,
                                       .waits = pto_kernel_waits(kernel),
                                       .takes_turns = (kernel->flags & PTO_KERNEL_TURNS) != 0,
                                       .block_index = message->block_index};
  }
  bool *eager = realloc(c->is_eager, most + 1);
  if (!eager) return false;
  c->is_eager = eager;
  memset(eager, 0, most + 1);
  return true;
}

/* The unit in one order of its cores.  What it came to, where that is not what the first run came to. */
static struct pto_observe_outcome judge(struct pto_observe_cores *c, bool is_reversed) {
  const struct pto_observe_outcome outcome = trace(c, is_reversed);
  c->pattern = is_reversed ? PTO_OBSERVE_NEGATIVE : PTO_OBSERVE_POSITIVE;
  if (outcome.caught || c->is_too_large) return outcome;
  if (!pto_core_order_solve(&c->order)) c->is_too_large = true;
  while (!c->is_too_large && c->reported_count < PTO_CORES_MOST_REPORTED && find_one(c, outcome.status)) {
  }
  return outcome;
}

static void ignore_event(void *context, const struct pto_core_event *event) {
  (void)context;
  (void)event;
}

/* Orders that are neither of the two, where these have shown nothing. */
static void judge_random_orders(struct pto_observe_cores *c) {
  c->schedule.watch = (struct pto_core_watch){ignore_event, NULL};
  for (uint64_t i = 1; i <= RANDOM_ORDERS && c->member_count > 1; i++) {
    c->schedule.random = i;
    const struct pto_observe_outcome outcome = run(c);
    if (!outcome.differs) continue;
    pto_cores_report_order(c, &outcome);
    break;
  }
}

static struct pto_observe_cores *cores_of(struct pto_observation *o) {
  if (!o->cores) o->cores = calloc(1, sizeof *o->cores);
  return o->cores;
}

void pto_observe_judge_cores(struct pto_observation *o, bool runs_were_alike) {
  struct pto_observe_cores *c = cores_of(o);
  if (!c) return;
  c->o = o;
  c->reported_count = c->stuck_count = 0;
  c->spinning = PTO_CORE_NO_RECORD;
  c->is_too_large = !list_members(c);
  c->schedule = (struct pto_observe_schedule){.steps = true, .watch = {on_event, c}};
  pto_observe_select(o, runs_were_alike ? pto_observe_must_not_matter : NULL);
  if (!c->is_too_large) trace(c, false); /* who polls, while none goes first for that */
  struct pto_observe_outcome outcomes[2] = {{.differs = false}, {.differs = false}};
  if (!c->is_too_large) trace(c, true);
  c->schedule.is_eager = c->is_eager;
  if (!c->is_too_large) outcomes[1] = judge(c, true);
  if (!c->is_too_large) outcomes[0] = judge(c, false);
  o->summary.units_judged += !c->is_too_large;
  o->summary.units_polling += !c->is_too_large && any_polls(c);
  if (c->is_too_large) return;
  struct pto_core_left left;
  for (uint32_t at = 0; o->call.status == 0 && outcomes[0].status == 0 && !outcomes[0].caught &&
                        pto_core_order_next_left(&c->order, &at, &left);)
    pto_cores_report_left(c, &left);
  if (c->reported_count > 0 || o->call.is_unstable) return;
  for (int i = 0; i < 2; i++)
    if (outcomes[i].differs) {
      pto_cores_report_order(c, &outcomes[i]);
      return;
    }
  judge_random_orders(c);
}

void pto_observe_cores_destroy(struct pto_observe_cores *c) {
  if (!c) return;
  pto_core_order_fini(&c->order);
  void *all[] = {c->members, c->is_eager, c->copies, c->now,   c->end,
                 c->applied, c->values,   c->writes, c->races, c->first_race};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(all); i++) free(all[i]);
  free(c);
}
