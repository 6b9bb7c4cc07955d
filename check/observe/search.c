/* SPDX-License-Identifier: MIT */
/*
 * Which bytes are read: candidates are cut into elements (pto_observe_element_bytes), and halved as long as a run
 * over other values in them alone differs from the first.  Every element that is told was tried alone.
 *
 * Effort: only the first calls of a form are searched byte by byte.  Later ones are reported as a whole, except reads
 * of an OUTPUT that another unit may have written.  A question costs about RUNS_MAX runs at most, fewer where a call
 * has many pages.  Where that may not do for every element, 1/HOPE of the runs looks for all that matter; if it is not
 * enough, only the first and the last of each array are found, and what lies between is told as not tried.
 */
#include <check/observe/state.h>

#include <signal.h>
#include <string.h>

#include <runtime/base/grow.h>

#define RUNS_MAX 4096u
#define RUNS_OTHERS (RUNS_MAX / 8) /* of what other units of the task write */
/* Bytes that a question's runs may set and compare, all together. */
#define BYTES_MAX (UINT64_C(2) << 30)
#define RUNS_MIN 64u
#define HOPE 4u /* that part of the runs */
/* Runs that do not come back cost a second each: after so many no more is asked. */
#define MOST_STUCK 4u

/* Candidates that follow each other. */
struct piece {
  uint64_t lo, hi, element_bytes;
  uint64_t first; /* element, among all candidates */
};

struct search {
  struct pto_observation *o;
  enum pto_observe_pattern pattern;
  struct piece *pieces;
  size_t count, capacity;
  uint64_t element_count;
  uint32_t stuck_count;
  uint64_t last_run; /* of the call, that the search may make; 0: any */
  bool is_over;      /* it would have been more */
  bool is_short;     /* of memory */
  bool any_matters;  /* all together do: then an element may by a special value alone */
  struct pto_observe_outcome effect;
  struct pto_observe_bytes *found;
};

/* ---- candidates ---- */

static bool is_output(uint8_t c) {
  return (c & PTO_OBSERVE_WRITE) && !(c & PTO_OBSERVE_READ) && pto_observe_must_not_matter(c);
}
static bool is_unwritten(uint8_t c) { return (c & PTO_OBSERVE_UNWRITTEN) && pto_observe_must_not_matter(c); }
static bool is_undeclared(uint8_t c) {
  return !(c & (PTO_OBSERVE_READ | PTO_OBSERVE_WRITE)) && pto_observe_must_not_matter(c);
}
static bool is_shared(uint8_t c) { return (c & PTO_OBSERVE_SHARED) && !(c & PTO_OBSERVE_UNWRITTEN); }

static void selected_kinds(const struct pto_observation *o, uint32_t slot, uint8_t *kinds) {
  memcpy(kinds, pto_observe_at(o->memory, o->memory->sel, slot), o->memory->page_bytes);
}

static void take_piece(struct pto_observation *o, const struct pto_observe_span *span, void *context) {
  struct search *s = context;
  struct piece *piece = pto_grow(&s->pieces, &s->count, &s->capacity, sizeof *piece);
  if (!piece) {
    s->is_short = o->summary.is_short = true;
    return;
  }
  const uint64_t element_bytes = pto_observe_element_bytes(o, span->lo, span->hi);
  *piece = (struct piece){span->lo, span->hi, element_bytes, s->element_count};
  s->element_count += (pto_align_up(span->hi, element_bytes) - (span->lo & ~(element_bytes - 1))) / element_bytes;
}

/* The bytes of elements [first, end) of a piece that has them. */
static struct pto_observe_range bytes_of(const struct piece *piece, uint64_t first, uint64_t end) {
  const uint64_t base = piece->lo & ~(piece->element_bytes - 1);
  return (struct pto_observe_range){pto_max_u64(piece->lo, base + (first - piece->first) * piece->element_bytes),
                                    pto_min_u64(piece->hi, base + (end - piece->first) * piece->element_bytes)};
}

static uint64_t end_of(const struct search *s, uint32_t piece) {
  return piece + 1 < s->count ? s->pieces[piece + 1].first : s->element_count;
}

/* The piece that an element is in. */
static uint32_t piece_of(const struct search *s, uint64_t element) {
  uint32_t lo = 0, hi = (uint32_t)s->count;
  while (hi - lo > 1) {
    const uint32_t mid = (lo + hi) / 2;
    if (s->pieces[mid].first <= element)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

/* ---- questions ---- */

/* Whether other values in elements [first, end) alone, of either kind of the pair, make a difference.  Of that pair
 * some are NaN, and of all together one is enough for what is multiplied by 0: so each is tried as NaN too. */
static bool matters(struct search *s, uint64_t first, uint64_t end) {
  if (s->stuck_count == MOST_STUCK) return false;
  s->is_over |= s->last_run && s->o->call.runs >= s->last_run;
  if (s->is_over) return false;
  pto_observe_select(s->o, NULL);
  for (uint32_t i = piece_of(s, first); i < s->count && s->pieces[i].first < end; i++) {
    const uint64_t from = pto_max_u64(first, s->pieces[i].first), to = pto_min_u64(end, end_of(s, i));
    pto_observe_select_range(s->o, bytes_of(&s->pieces[i], from, to));
  }
  /* What a maximum reads does not show over the one, and not what a minimum reads over the other. */
  struct pto_observe_outcome outcome = pto_observe_run_again(s->o, s->pattern, PTO_OBSERVE_NO_LOCAL);
  if (!outcome.differs)
    outcome = pto_observe_run_again(s->o, pto_observe_other_pattern(s->pattern), PTO_OBSERVE_NO_LOCAL);
  if (!outcome.differs && s->any_matters && s->pattern < PTO_OBSERVE_NAN)
    outcome = pto_observe_run_again(s->o, PTO_OBSERVE_NAN, PTO_OBSERVE_NO_LOCAL);
  if (outcome.caught == SIGVTALRM) s->stuck_count++;
  if (outcome.differs && !s->effect.differs) s->effect = outcome;
  return outcome.differs;
}

static void keep(struct search *s, uint64_t first, uint64_t end) {
  for (uint32_t i = piece_of(s, first); i < s->count && s->pieces[i].first < end; i++) {
    const struct pto_observe_range range =
        bytes_of(&s->pieces[i], pto_max_u64(first, s->pieces[i].first), pto_min_u64(end, end_of(s, i)));
    pto_observe_bytes_add(s->found, range.lo, range.hi);
  }
}

/* Elements of [first, end), in which some matter. */
static void halve(struct search *s, uint64_t first, uint64_t end, bool was_tried) {
  if (end - first == 1) {
    if (was_tried || matters(s, first, end)) keep(s, first, end);
    return;
  }
  const uint64_t middle = first + (end - first) / 2;
  const bool left = matters(s, first, middle);
  if (left) halve(s, first, middle, true);
  if (!left)
    halve(s, middle, end, false); /* where else */
  else if (matters(s, middle, end))
    halve(s, middle, end, true);
}

struct pto_observe_range pto_observe_find_ends(uint64_t begin, uint64_t end,
                                               bool (*any_matters)(void *context, uint64_t first, uint64_t end),
                                               void *context) {
  uint64_t lo = begin, hi = end; /* those below lo do not matter, those below hi do */
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    *(any_matters(context, begin, middle) ? &hi : &lo) = middle;
  }
  const uint64_t first = hi - 1;
  lo = first, hi = end; /* those from lo on do, those from hi on do not */
  while (hi - lo > 1) {
    const uint64_t middle = lo + (hi - lo) / 2;
    *(any_matters(context, middle, end) ? &lo : &hi) = middle;
  }
  return (struct pto_observe_range){first, hi};
}

static bool elements_matter(void *context, uint64_t first, uint64_t end) { return matters(context, first, end); }

static void find_ends(struct search *s, uint64_t begin, uint64_t end) {
  const struct pto_observe_range found = pto_observe_find_ends(begin, end, elements_matter, s);
  keep(s, found.lo, found.hi);
  s->found->is_bounded |= found.hi - found.lo > 1;
}

/* The same of each array that has candidates. */
static void find_ends_of_each(struct search *s) {
  for (uint32_t first = 0, next; first < s->count; first = next) {
    const struct pto_observe_area *area = pto_observe_memory_given(s->o->memory, s->pieces[first].lo);
    for (next = first + 1; next < s->count; next++)
      if (pto_observe_memory_given(s->o->memory, s->pieces[next].lo) != area) break;
    const uint64_t begin = s->pieces[first].first, end = end_of(s, next - 1);
    if (matters(s, begin, end)) find_ends(s, begin, end);
  }
}

/* Each element that matters, or the ends. */
static void search_all(struct search *s, uint64_t runs) {
  if (2 * s->element_count > runs) s->last_run = s->o->call.runs + runs / HOPE;
  halve(s, 0, s->element_count, true);
  if (!s->is_over) return;
  s->last_run = 0;
  s->is_over = false;
  s->found->count = 0;
  find_ends_of_each(s);
}

/* Candidates are what is selected.  True where they matter; then `found` says which: those that `runs` runs find. */
static bool search(struct pto_observation *o, enum pto_observe_pattern pattern, uint64_t runs,
                   struct pto_observe_bytes *found, struct pto_observe_outcome *effect) {
  struct search s = {.o = o, .pattern = pattern, .found = found};
  const uint64_t bytes = (uint64_t)o->memory->pages.count * o->memory->page_bytes;
  if (runs) runs = pto_max_u64(RUNS_MIN, pto_min_u64(runs, BYTES_MAX / pto_max_u64(bytes, 1)));
  pto_observe_each_span(o, selected_kinds, take_piece, &s);
  const bool is_read = s.element_count && matters(&s, 0, s.element_count);
  s.any_matters = is_read;
  if (is_read) {
    if (runs) search_all(&s, runs);
    found->is_unsearched = !runs;
    if (found->count == 0 || s.stuck_count == MOST_STUCK) { /* not asked; or some together, none alone */
      found->count = 0;
      keep(&s, 0, s.element_count);
      found->is_bounded = true;
    }
    *effect = s.effect;
  }
  free(s.pieces);
  return is_read;
}

/* ---- which reads are searched for ---- */

/* Reads of an OUTPUT: of what another unit of the task has written is that task's matter. */
static void report_outputs(struct pto_observation *o, struct pto_observe_bytes *found,
                           const struct pto_observe_outcome *effect) {
  struct pto_observe_bytes own = {.is_bounded = found->is_bounded, .is_unsearched = found->is_unsearched};
  for (uint32_t i = 0; i < found->count; i++) {
    const struct pto_observe_range range = found->ranges[i];
    const bool is_others = pto_observe_task_has_written(o, range.lo, range.hi);
    if (o->call.has_others && !found->is_bounded) pto_observe_task_add(o, range.lo, range.hi, true);
    if (!is_others || found->is_bounded) pto_observe_bytes_add(&own, range.lo, range.hi);
  }
  const bool may_be_others = o->call.has_others && !found->is_bounded;
  if (own.count)
    pto_observe_report_to(o, PTO_FINDING_READ_OUTPUT, &own, effect, may_be_others ? pto_observe_task_hold : NULL);
  pto_observe_bytes_fini(o, &own);
}

static bool search_reads(struct pto_observation *o, enum pto_observe_pattern pattern, uint64_t runs,
                         bool (*wanted)(uint8_t), uint32_t kind) {
  struct pto_observe_bytes found = {0};
  struct pto_observe_outcome effect;
  pto_observe_select(o, wanted);
  const bool is_read = search(o, pattern, runs, &found, &effect);
  if (is_read && kind == PTO_FINDING_READ_UNWRITTEN && !found.is_unsearched) pto_observe_task_take_in_place(o, &found);
  if (is_read && kind == PTO_FINDING_READ_OUTPUT)
    report_outputs(o, &found, &effect);
  else if (is_read && (found.count || found.is_unsearched))
    pto_observe_report(o, kind, &found, &effect);
  if (is_read && kind == PTO_FINDING_READ_UNWRITTEN && !found.is_unsearched) pto_observe_task_blame(o, &found);
  pto_observe_bytes_fini(o, &found);
  return is_read;
}

struct local_search {
  struct pto_observation *o;
  enum pto_observe_pattern pattern;
};

/* Whether other values in words [first, end) of local memory make a difference. */
static bool needs_local(void *context, uint64_t first, uint64_t end) {
  const struct local_search *s = context;
  const struct pto_observe_range local = {first * PTO_OBSERVE_LOCAL_WORD, end * PTO_OBSERVE_LOCAL_WORD};
  return pto_observe_run_again(s->o, s->pattern, local).differs;
}

/* The first and the last word of local memory that matter, on the cores of these roles; 0: all. */
static bool search_local_of(struct pto_observation *o, enum pto_observe_pattern pattern, bool is_full, uint8_t roles) {
  const uint64_t count = pto_align_up(o->call.local_bytes, PTO_OBSERVE_LOCAL_WORD) / PTO_OBSERVE_LOCAL_WORD;
  struct pto_observe_range found = pto_observe_all_local(o);
  o->call.local_roles = roles;
  pto_observe_select(o, NULL);
  const struct pto_observe_outcome effect = pto_observe_run_again(o, pattern, found);
  if (!effect.differs) return false;
  if (is_full && !effect.caught) {
    struct local_search search = {o, pattern};
    found = pto_observe_find_ends(0, count, needs_local, &search);
    found.lo *= PTO_OBSERVE_LOCAL_WORD;
    found.hi *= PTO_OBSERVE_LOCAL_WORD;
  }
  pto_observe_report_local(o, found, &effect);
  return true;
}

/* Of cores of several roles those of each by themselves, or all together where that shows nothing. */
static bool search_local(struct pto_observation *o, enum pto_observe_pattern pattern, bool is_full) {
  const struct pto_observed_unit *unit = o->call.unit;
  uint8_t roles = 0;
  bool any = false;
  for (uint32_t i = 0; i < unit->count; i++) roles |= (uint8_t)PTO_ROLE_BIT(unit->messages[i].role);
  for (uint32_t k = 0; k < PTO_ROLE_COUNT && (roles & (roles - 1)); k++)
    if (roles & PTO_ROLE_BIT(k)) any |= search_local_of(o, pattern, is_full, (uint8_t)PTO_ROLE_BIT(k));
  any = any || search_local_of(o, pattern, is_full, 0);
  o->call.local_roles = 0;
  return any;
}

void pto_observe_search(struct pto_observation *o, enum pto_observe_pattern pattern, bool is_full) {
  const uint64_t runs = is_full ? RUNS_MAX : 0;
  bool any = false;
  if (o->call.local_bytes) any |= search_local(o, pattern, is_full);
  any |= search_reads(o, pattern, o->call.has_others ? pto_max_u64(runs, RUNS_OTHERS) : runs, is_output,
                      PTO_FINDING_READ_OUTPUT);
  any |= search_reads(o, pattern, runs, is_unwritten, PTO_FINDING_READ_UNWRITTEN);
  any |= search_reads(o, pattern, runs, is_undeclared, PTO_FINDING_READ_OUTSIDE);
  if (!any) (void)search_reads(o, pattern, runs, pto_observe_must_not_matter, PTO_FINDING_READ_OUTSIDE);
}

/* Bytes that other units may write: of what the unit writes itself (an element of which some byte changed), it may read
 * all. */
static void select_shared(struct pto_observation *o) {
  const struct pto_observe_memory *m = o->memory;
  uint64_t element_bytes = 1;
  for (uint32_t i = 0; i < o->call.param_count; i++)
    element_bytes = pto_max_u64(element_bytes, o->call.params[i].element_bytes);
  pto_observe_select(o, is_shared);
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    uint8_t *sel = pto_observe_at(m, m->sel, slot);
    const uint8_t *written = pto_observe_at(m, m->written, slot);
    for (uint64_t i = 0; i < m->page_bytes; i++)
      if (written[i]) memset(sel + i / element_bytes * element_bytes, 0, element_bytes);
  }
}

void pto_observe_search_shared(struct pto_observation *o) {
  struct pto_observe_bytes found = {0};
  struct pto_observe_outcome effect;
  select_shared(o);
  if (search(o, PTO_OBSERVE_NEGATIVE, RUNS_OTHERS, &found, &effect) && !found.is_bounded)
    for (uint32_t i = 0; i < found.count; i++) pto_observe_task_add(o, found.ranges[i].lo, found.ranges[i].hi, true);
  pto_observe_bytes_fini(o, &found);
}
