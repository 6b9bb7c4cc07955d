/* SPDX-License-Identifier: MIT */
#include <check/observe/cores.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <check/observe/core_runs.h>
#include <runtime/base/dtype.h>
#include <runtime/base/grow.h>

/* Pairs of a stretch and a write that one unit may have. */
#define MOST_PAIRS (UINT64_C(1) << 26)
#define RANDOM_ORDERS 48u
/* Looks of a finding that are asked whether they read, a run each. */
#define MOST_ASKED 256u

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

/* By record: whether its stretch is a look that found nothing; and whether it lies before the turn of its block, of a
 * core that is to wait for other blocks. */
enum { IS_LOOK = 1, IS_EARLY = 2, HAS_WORKED = 4 };

/* The stretch that ended in this poll, which may have been interrupted at the call.  Where it has written something, it
 * had found what it looked for before, and worked. */
static void mark_look(const struct pto_core_order *order, uint32_t polled, uint8_t *kinds) {
  uint32_t i = order->records[polled].previous;
  for (; i != PTO_CORE_NO_RECORD; i = order->records[i].previous) {
    kinds[i] |= IS_LOOK;
    const uint8_t kind = order->records[i].kind;
    if (kind != PTO_CORE_RESUMED && kind != PTO_CORE_SUSPENDED && !pto_core_is_of_word(kind)) return;
  }
}

/* Whether a core of the block has had its turn before: its own, or that of one which it has waited for since. */
static bool is_in_turn(const struct pto_core_order *order, uint32_t record) {
  for (uint32_t i = 0; i < order->count; i++)
    if (order->records[i].kind == PTO_CORE_HAS_TURN &&
        order->members[order->records[i].core].block_index == order->members[order->records[record].core].block_index &&
        (i == record || pto_core_order_is_before(order, i, record)))
      return true;
  return false;
}

static void classify(const struct pto_observe_cores *c, uint8_t *kinds) {
  const struct pto_core_order *order = &c->order;
  const bool has_blocks = c->o->call.unit->messages[0].block_index > 0;
  memset(kinds, 0, order->count);
  for (size_t w = 0; w < c->write_count; w++) kinds[c->writes[w].record] |= HAS_WORKED;
  for (uint32_t i = 0; i < order->count; i++) {
    const struct pto_core_record *record = &order->records[i];
    const bool is_first = record->previous == PTO_CORE_NO_RECORD;
    if (record->kind == PTO_CORE_POLLED) mark_look(order, i, kinds);
    const bool was_early = is_first || (kinds[record->previous] & IS_EARLY);
    if (has_blocks && c->members[record->core].takes_turns && was_early && !is_in_turn(order, i)) kinds[i] |= IS_EARLY;
  }
}

static bool is_mere_look(uint8_t kinds) { return (kinds & (IS_LOOK | HAS_WORKED)) == IS_LOOK; }

static bool is_atomic(const struct pto_core_record *record) {
  return record->kind == PTO_CORE_REACHES_WORD && record->subject == PTO_STEP_ATOMIC;
}

/* Whether what `write` leaves races with stretch `of`: of another core, or of other blocks, which do the same in their
 * turns. */
static bool races_with(const struct pto_observe_cores *c, const struct pto_cores_write *write, uint32_t of,
                       uint8_t kind) {
  const uint32_t a = c->order.records[write->record].core, b = c->order.records[of].core;
  if ((kind & IS_EARLY) && pto_cores_is_sum(c, write->lo)) return !was_reported(c, b, b, write->lo);
  if (a == b || pto_core_order_is_before(&c->order, write->record, of) ||
      pto_core_order_is_before(&c->order, of, write->record))
    return false;
  if (is_atomic(&c->order.records[write->record])) return false; /* its order is taken not to matter */
  if ((kind & IS_LOOK) && pto_cores_is_lone_word(c, write)) return false;
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
    if (is_stretch(&c->order.records[of]) && (c->takes_looks || !is_mere_look(kinds[of])))
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
    *(pto_cores_matters(c, 0, middle, ALL, status) ? &hi : &lo) = middle;
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
    *(pto_cores_matters(c, of, of + 1, (struct pto_observe_range){begin, middle}, status) ? &hi : &lo) = middle;
  }
  const uint64_t first = hi - 1;
  lo = first, hi = end;
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    *(pto_cores_matters(c, of, of + 1, (struct pto_observe_range){middle, end}, status) ? &lo : &hi) = middle;
  }
  return (struct pto_observe_range){first, lo + 1};
}

/* The stretch that writes the first of these bytes, and with it to where. */
static uint32_t find_writer(const struct pto_observe_cores *c, uint32_t of, struct pto_observe_range *bytes) {
  for (size_t r = c->first_race[of]; r < c->first_race[of + 1]; r++) {
    const struct pto_cores_race *race = &c->races[r];
    if (bytes->lo < race->lo || bytes->lo >= race->hi) continue;
    const struct pto_cores_copy *copy = pto_cores_copy_at(c, bytes->lo);
    uint64_t hi = race->hi; /* of all that it writes */
    for (size_t i = c->first_race[of]; i < c->first_race[of + 1]; i++)
      if (c->races[i].by == race->by) hi = pto_max_u64(hi, c->races[i].hi);
    bytes->hi = pto_min_u64(pto_min_u64(bytes->hi, hi), copy->base + copy->size_bytes);
    return race->by;
  }
  return of;
}

/* Of the looks of a core that polls some may have read what the finding is of, and looked for more then. */
static void find_idle(struct pto_observe_cores *c, const struct pto_cores_finding *finding, int status) {
  const uint32_t writer = c->order.records[finding->writer].core, reader = c->order.records[finding->other].core;
  uint8_t *kinds = malloc(c->order.count + 1);
  bool *is_idle = realloc(c->is_idle, c->order.count + 1);
  if (is_idle) c->is_idle = is_idle;
  uint32_t asked = 0;
  if (kinds && is_idle) classify(c, kinds);
  for (uint32_t i = 0; kinds && is_idle && i < c->order.count; i++) {
    is_idle[i] = i != finding->other && is_mere_look(kinds[i]);
    if (is_idle[i] && finding->is_read && c->order.records[i].core == reader && is_stretch(&c->order.records[i]) &&
        asked++ < MOST_ASKED)
      is_idle[i] = !pto_cores_reads(c, i, writer, finding->bytes.lo, status);
  }
  c->is_too_large |= !kinds || !is_idle;
  free(kinds);
}

static void tell(struct pto_observe_cores *c, struct pto_cores_finding finding, int status) {
  find_idle(c, &finding, status);
  if (c->is_too_large) return;
  const uint32_t a = c->order.records[finding.writer].core, b = c->order.records[finding.other].core;
  finding.is_turn = a == b;
  pto_cores_report(c, &finding);
  c->reported[c->reported_count++] = (struct pto_cores_reported){{a, b}, param_at(c, finding.bytes.lo)};
}

/* A stretch that writes a sum before its turn. */
static bool tell_early_write(struct pto_observe_cores *c, int status) {
  uint8_t *kinds = malloc(c->order.count + 1);
  bool any = false;
  if (kinds) classify(c, kinds);
  for (size_t w = 0; kinds && w < c->write_count && !any; w++) {
    const struct pto_cores_write *write = &c->writes[w];
    const uint32_t core = c->order.records[write->record].core;
    if (!(kinds[write->record] & IS_EARLY) || !pto_cores_is_sum(c, write->lo) || was_reported(c, core, core, write->lo))
      continue;
    tell(c, (struct pto_cores_finding){write->record, write->record, {write->lo, write->hi}, .is_turn = true}, status);
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

/* ---- counts ---- */

/* The whole number that has these bytes; false where they are of something else. */
static bool find_number(const struct pto_observe_cores *c, struct pto_observe_range bytes,
                        struct pto_observe_range *number) {
  const struct pto_cores_copy *copy;
  const uint64_t addr = pto_cores_address(c, bytes.lo, &copy);
  uint64_t size = sizeof(uint32_t);
  if (copy->slot != PTO_OBSERVE_NO_SLOT) {
    const struct pto_observe_param *param = pto_observe_nearest(c->o, addr, addr + 1);
    if (!param || param->is_packed || param->element_bytes > sizeof(uint64_t) ||
        !(PTO_DTYPE_BIT(c->o->call.payload->tensors[param - c->o->call.params].dtype) & PTO_DTYPES_INTEGER))
      return false;
    size = param->element_bytes;
  }
  number->lo = bytes.lo - (addr & (size - 1));
  number->hi = number->lo + size;
  return number->lo >= copy->base && bytes.hi <= number->hi;
}

/* What a stretch adds to the number, whatever that is; 0: it does something else. */
static uint64_t find_added(struct pto_observe_cores *c, uint32_t of, struct pto_observe_range number, int status) {
  uint64_t added[2];
  c->counted = number;
  c->is_counting = true;
  for (uint64_t more = 0; more < 2; more++) {
    c->count_more = more;
    c->count_added = 0;
    (void)pto_cores_matters(c, of, of + 1, ALL, status);
    added[more] = c->count_added;
  }
  c->is_counting = false;
  return added[0] == added[1] ? added[0] : 0;
}

static void ask_for_count(struct pto_observe_cores *c, struct pto_cores_finding *finding, int status) {
  struct pto_observe_range number;
  if (!find_number(c, finding->bytes, &number)) return;
  const uint64_t own = find_added(c, finding->writer, number, status);
  const uint64_t other = own ? find_added(c, finding->other, number, status) : 0;
  if (!other) return;
  finding->bytes = number;
  finding->is_count = true;
  finding->added = own == other ? own : 0;
}

/* Whether the core does not come to its poll where these bytes are other ones: they are what it looks for. */
static bool goes_on(struct pto_observe_cores *c, uint32_t of, struct pto_observe_range bytes, int status) {
  uint32_t next = of + 1;
  while (next < c->order.count && c->order.records[next].previous != of) next++;
  if (next == c->order.count || c->order.records[next].kind != PTO_CORE_POLLED) return false;
  (void)pto_cores_matters(c, of, of + 1, bytes, status);
  return c->has_strayed && c->strayed_at <= next;
}

/* One finding of the traced run; false where there is none. */
static bool find_one(struct pto_observe_cores *c, int status) {
  if (tell_early_write(c, status)) return true;
  if (!find_races(c) || c->stuck_count >= PTO_CORES_MOST_STUCK) return false;
  bool differs = false;
  for (c->gives = PTO_CORES_OTHERS; !differs; c->gives++) {
    differs = pto_cores_matters(c, 0, UINT32_MAX, ALL, status);
    if (differs || c->overwritten.lo < c->overwritten.hi || c->gives + 1 == PTO_CORES_VALUES || any_yields(c)) break;
  }
  if (c->overwritten.lo < c->overwritten.hi) {
    if (pto_cores_trace_words(c)) return true;
    struct pto_cores_finding finding = {c->overwritten_by, c->overwriting, c->overwritten, .is_read = false};
    ask_for_count(c, &finding, status);
    tell(c, finding, status);
    return true;
  }
  if (!differs || c->o->call.is_unstable) return false; /* then it differs by itself */
  const uint32_t of = find_stretch(c, status);
  if (c->first_race[of] == c->first_race[of + 1]) return false;
  struct pto_observe_range bytes = find_bytes(c, of, status);
  const uint32_t writer = find_writer(c, of, &bytes);
  if (pto_cores_trace_words(c)) return true;
  if (c->members[c->order.records[of].core].polls && goes_on(c, of, bytes, status)) return false;
  tell(c, (struct pto_cores_finding){writer, of, bytes, .is_read = true}, status);
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
  const struct pto_observe_outcome outcome = pto_cores_trace(c, is_reversed);
  c->are_words_known = c->are_words_partly = false;
  c->pattern = is_reversed ? PTO_OBSERVE_NEGATIVE : PTO_OBSERVE_POSITIVE;
  if (outcome.caught || c->is_too_large) return outcome;
  if (!pto_core_order_solve(&c->order)) c->is_too_large = true;
  while (!c->is_too_large && c->reported_count < PTO_CORES_MOST_REPORTED && find_one(c, outcome.status)) {
  }
  return outcome;
}

/* Orders that are neither of the two, where these have shown nothing. */
static void judge_random_orders(struct pto_observe_cores *c) {
  for (uint64_t i = 1; i <= RANDOM_ORDERS && c->member_count > 1; i++) {
    const struct pto_observe_outcome outcome = pto_cores_run_at_random(c, i);
    if (!outcome.differs) continue;
    pto_cores_report_order(c, &outcome);
    break;
  }
}

static struct pto_observe_cores *cores_of(struct pto_observation *o) {
  if (!o->cores) o->cores = calloc(1, sizeof *o->cores);
  return o->cores;
}

/* Whether no call of the form so far has had its cores call the same: one that takes another branch, as the last of
 * several tiles does.  So that is found too where the form's first calls are like each other. */
static bool has_new_calls(struct pto_observe_cores *c) {
  struct pto_observe_form *form = c->o->call.form_entry;
  const uint32_t key = form && form->core_calls_count < PTO_OBSERVE_CORE_CALLS ? pto_cores_hash_calls(c) : 0;
  for (uint32_t i = 0; key && i < form->core_calls_count; i++)
    if (form->core_calls[i] == key) return false;
  if (key) form->core_calls[form->core_calls_count++] = key;
  return key != 0;
}

void pto_observe_judge_cores(struct pto_observation *o, bool runs_were_alike) {
  struct pto_observe_cores *c = cores_of(o);
  if (!c) return;
  c->o = o;
  c->reported_count = c->stuck_count = 0;
  c->spinning = PTO_CORE_NO_RECORD;
  c->takes_looks = false;
  c->is_too_large = !list_members(c);
  c->schedule = (struct pto_observe_schedule){.steps = true};
  pto_observe_select(o, runs_were_alike ? pto_observe_must_not_matter : NULL);
  if (c->is_too_large || (!has_new_calls(c) && !o->call.is_full)) return;
  if (!c->is_too_large) pto_cores_trace(c, false); /* who polls, while none goes first for that */
  struct pto_observe_outcome outcomes[2] = {{.differs = false}, {.differs = false}};
  if (!c->is_too_large) pto_cores_trace(c, true);
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
  c->takes_looks = true; /* results that differ have a cause: looks may have read what they should not */
  for (int i = 0; i < 2 && any_polls(c) && (outcomes[0].differs || outcomes[1].differs); i++)
    if (c->reported_count == 0) (void)judge(c, i == 0);
  if (c->reported_count > 0) return;
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
  void *all[] = {c->members, c->is_eager, c->copies, c->now,        c->end,    c->applied,
                 c->values,  c->writes,   c->races,  c->first_race, c->is_idle};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(all); i++) free(all[i]);
  free(c);
}
