/* SPDX-License-Identifier: MIT */
#include <check/observe/core_remedies.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/observe/core_runs.h>

#define SAY PTO_OBSERVE_SAY

/* ---- which of two is to come first ---- */

/* Whether the other core has what it reads from an earlier write: then the one that is told comes too early. */
static bool is_too_early(const struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  for (size_t w = 0; finding->is_read && w < c->write_count; w++) {
    const struct pto_cores_write *write = &c->writes[w];
    if (write->lo < finding->bytes.hi && finding->bytes.lo < write->hi && write->record != finding->writer &&
        pto_core_order_is_before(&c->order, write->record, finding->other))
      return true;
  }
  return false;
}

struct pto_cores_wanted pto_cores_wanted_order(const struct pto_observe_cores *c,
                                               const struct pto_cores_finding *finding) {
  if (is_too_early(c, finding)) return (struct pto_cores_wanted){finding->other, finding->writer, {true, false}};
  return (struct pto_cores_wanted){finding->writer, finding->other, {false, finding->is_read}};
}

/* ---- how often: stretches of one core in which the same code runs ---- */

struct likes {
  uint32_t *records;
  uint32_t count, at; /* of these, the stretch that they are like */
};

/* Whether two calls of a core are one place of the kernel, which a compiler may have copied. */
static bool is_same_call(const struct pto_observe_cores *c, const void *a, const void *b) {
  char one[128], other[128];
  if (!a || !b || a == b) return a && a == b;
  return pto_cores_line_of(c, a, one, sizeof one)[0] && strcmp(one, pto_cores_line_of(c, b, other, sizeof other)) == 0;
}

static bool is_of_engine(uint8_t kind) { return kind == PTO_CORE_SUSPENDED || kind == PTO_CORE_RESUMED; }

/* What the core does in the call that its stretch follows, or (`is_end`) ends with: two calls of one line may differ.
 */
static uint8_t kind_of_call(const struct pto_observe_cores *c, uint32_t record, bool is_end) {
  const struct pto_core_record *records = c->order.records;
  if (is_end) record = pto_cores_next_of(c, record);
  while (record != PTO_CORE_NO_RECORD && is_of_engine(records[record].kind))
    record = is_end ? pto_cores_next_of(c, record) : records[record].previous;
  return record == PTO_CORE_NO_RECORD ? PTO_CORE_RETURNED : records[record].kind;
}

/* How many bytes the stretch writes, from the first to the last, of what the byte at `at` of the copies lies in: a
 * parameter, or a piece of shared memory. */
static uint64_t written_like(const struct pto_observe_cores *c, uint32_t record, uint64_t at) {
  uint64_t lo = UINT64_MAX, hi = 0;
  for (size_t w = 0; w < c->write_count; w++) {
    if (c->writes[w].record != record || !pto_cores_is_one_piece(c, at, c->writes[w].lo)) continue;
    lo = pto_min_u64(lo, c->writes[w].lo);
    hi = pto_max_u64(hi, c->writes[w].hi);
  }
  return hi > lo ? hi - lo : 0;
}

/* Whether two stretches, of which the code before or behind a call is the same, write the same piece: it may be the
 * code on the call's other side. */
static bool writes_alike(const struct pto_observe_cores *c, uint32_t of, uint32_t record, bool is_whole, uint64_t at) {
  const uint64_t own = written_like(c, of, at), its = written_like(c, record, at);
  return its > 0 && (is_whole || (its <= 2 * own && own <= 2 * its));
}

/* Whether the code that touches the bytes in stretch `of` does so in `record` too, as far as calls and writes show. A
 * read follows what its core has waited for, where the stretch begins with that; else it comes before the next call. */
static bool is_like(const struct pto_observe_cores *c, uint32_t of, uint32_t record, bool is_read, uint64_t at) {
  const struct pto_core_record *a = &c->order.records[of], *b = &c->order.records[record];
  const void *end_a = pto_cores_end_call(c, of), *end_b = pto_cores_end_call(c, record);
  if (of == record) return true;
  if (a->core != b->core || b->kind == PTO_CORE_SUSPENDED || b->kind == PTO_CORE_RETURNED ||
      pto_cores_is_in_call(c, of) != pto_cores_is_in_call(c, record))
    return false;
  const bool begins_alike =
      is_same_call(c, a->call, b->call) && kind_of_call(c, of, false) == kind_of_call(c, record, false);
  const bool ends_alike = is_same_call(c, end_a, end_b) && kind_of_call(c, of, true) == kind_of_call(c, record, true);
  if (!is_read)
    return (begins_alike || ends_alike || is_same_call(c, a->call, end_b) || is_same_call(c, end_a, b->call)) &&
           writes_alike(c, of, record, begins_alike && ends_alike, at);
  if (a->kind == PTO_CORE_RESUMED || a->kind == PTO_CORE_BEGUN || pto_cores_is_given(a->kind)) return ends_alike;
  return begins_alike && a->kind == b->kind && a->subject == b->subject;
}

/* False where there is no memory. */
static bool find_likes(const struct pto_observe_cores *c, uint32_t of, bool is_read, uint64_t at, struct likes *likes) {
  *likes = (struct likes){.records = malloc((c->order.count + 1) * sizeof *likes->records)};
  for (uint32_t i = 0; likes->records && i < c->order.count; i++) {
    if (!is_like(c, of, i, is_read, at) || c->is_idle[i]) continue;
    if (i == of) likes->at = likes->count;
    likes->records[likes->count++] = i;
  }
  return likes->records != NULL;
}

/* Which of the likes of either stretch have to be ordered by a flag of their own: `count` from the first ones on. */
struct pairs {
  uint32_t first[2], count;
};

/* All that keep the distance of the two that were found.  Where the program has some of them the other way round, these
 * two alone. */
static struct pairs pair_likes(const struct pto_observe_cores *c, const struct likes likes[2]) {
  const uint32_t at = (uint32_t)pto_min_u64(likes[0].at, likes[1].at);
  struct pairs pairs = {{likes[0].at - at, likes[1].at - at}, 0};
  pairs.count = (uint32_t)pto_min_u64(likes[0].count - pairs.first[0], likes[1].count - pairs.first[1]);
  for (uint32_t i = 0; i < pairs.count; i++)
    if (pto_core_order_is_before(&c->order, likes[1].records[pairs.first[1] + i], likes[0].records[pairs.first[0] + i]))
      return (struct pairs){{likes[0].at, likes[1].at}, 1};
  return pairs;
}

/* ", except the first 2 and the last 3 times"; nothing where all are paired. */
static void say_times(struct pto_observe_text *remedy, uint32_t first, uint32_t last) {
  if (!first && !last) return;
  SAY(remedy, ", except the ");
  if (first) SAY(remedy, first > 1 ? "first %" PRIu32 : "first", first);
  if (first && last) SAY(remedy, " and the ");
  if (last) SAY(remedy, last > 1 ? "last %" PRIu32 : "last", last);
  SAY(remedy, first > 1 || last > 1 || (first && last) ? " times" : " time");
}

/* Of code that the second core runs too each has to do its part.  Where the wait is for what was read a time before,
 * each can do both, and all go on. */
static void say_same_code(struct pto_observe_text *remedy, const struct pto_observe_cores *c,
                          const struct pto_cores_wanted *wanted, const struct pairs *pairs) {
  const struct pto_core_record *records = c->order.records, *first = &records[wanted->first];
  bool is_same = false;
  for (uint32_t i = 0; i < c->order.count; i++)
    is_same |= records[i].core == records[wanted->second].core && records[i].kind == first->kind &&
               is_same_call(c, first->call, records[i].call) &&
               is_same_call(c, pto_cores_end_call(c, wanted->first), pto_cores_end_call(c, i));
  if (!is_same) return;
  SAY(remedy, wanted->is_read[0] && pairs->first[1] > pairs->first[0]
                  ? "; each core that runs this code does both, and signals the one that writes what it reads"
                  : "; both run this code: let it ask `args->core` which of the two it is on");
}

/* The calls that would order the two stretches, wherever the code of either runs again. */
static void say_calls(struct pto_observe_text *remedy, const struct pto_observe_cores *c,
                      const struct pto_cores_wanted *wanted, uint64_t at) {
  const struct pto_core_member *first = pto_cores_member_of(c, wanted->first),
                               *second = pto_cores_member_of(c, wanted->second);
  const uint32_t flag = pto_core_order_free_flag(&c->order, (uint32_t)(second - c->members));
  if (flag == PTO_CORE_FLAGS) {
    SAY(remedy, "order the two with `pto_core_barrier(args)`, as all %u flags of ", PTO_CORE_FLAGS);
    pto_cores_say_core(remedy, c, second);
    SAY(remedy, " are in use");
    return;
  }
  struct likes likes[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
  struct pairs pairs = {{0, 0}, 0};
  if (find_likes(c, wanted->first, wanted->is_read[0], at, &likes[0]) &&
      find_likes(c, wanted->second, wanted->is_read[1], at, &likes[1]))
    pairs = pair_likes(c, likes);
  else
    likes[0].count = likes[1].count = 0;
  SAY(remedy, "add ");
  if (first->block_index != second->block_index)
    SAY(remedy, "`pto_core_signal_block(args, %" PRIu32 ", PTO_ROLE_BIT(PTO_ROLE_%s), %" PRIu32 ")`",
        second->block_index, pto_role_name(second->role), flag);
  else
    SAY(remedy, "`pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_%s), %" PRIu32 ")`", pto_role_name(second->role), flag);
  SAY(remedy, " behind the %s of ", wanted->is_read[0] ? "read" : "write");
  pto_cores_say_core(remedy, c, first);
  say_times(remedy, pairs.first[0], likes[0].count - pairs.first[0] - pairs.count);
  if (pairs.count < likes[0].count) SAY(remedy, ",");
  SAY(remedy, " and `pto_core_wait(args, %" PRIu32 ")` before the %s of ", flag, wanted->is_read[1] ? "read" : "write");
  pto_cores_say_core(remedy, c, second);
  say_times(remedy, pairs.first[1], likes[1].count - pairs.first[1] - pairs.count);
  say_same_code(remedy, c, wanted, &pairs);
  free(likes[0].records);
  free(likes[1].records);
}

/* ---- a barrier that is missing ---- */

static uint32_t barriers_before(const struct pto_observe_cores *c, uint32_t record) {
  uint32_t count = 0;
  for (uint32_t i = record; i != PTO_CORE_NO_RECORD; i = c->order.records[i].previous)
    count += c->order.records[i].kind == PTO_CORE_PASSED;
  return count;
}

static const struct pto_kernel *kernel_of(const struct pto_observe_cores *c, uint32_t record) {
  return c->o->call.payload->kernels[pto_cores_member_of(c, record)->role];
}

/* Whether one more barrier in the code that the cores run orders the two, and lets all go on: both are between the same
 * two barriers, where no core does anything but go from the one to the next, and their code is the same: that of
 * another block, or behind the same call. */
static bool is_missing_barrier(const struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  const struct pto_core_record *records = c->order.records;
  const uint32_t barriers = barriers_before(c, finding->writer);
  const bool is_same_place = is_same_call(c, records[finding->writer].call, records[finding->other].call);
  if (!finding->is_read || kernel_of(c, finding->writer) != kernel_of(c, finding->other) ||
      barriers_before(c, finding->other) != barriers)
    return false;
  if (!(barriers && is_same_place) &&
      pto_cores_member_of(c, finding->writer)->block_index == pto_cores_member_of(c, finding->other)->block_index)
    return false;
  for (size_t i = 0; i < c->member_count; i++)
    if (!c->members[i].waits) return false;
  for (uint32_t i = 0; i < c->order.count; i++) {
    const uint8_t kind = records[i].kind;
    if (is_of_engine(kind) || kind == PTO_CORE_BEGUN || kind == PTO_CORE_COMES || kind == PTO_CORE_PASSED ||
        kind == PTO_CORE_RETURNED)
      continue;
    if (barriers_before(c, i) == barriers) return false;
  }
  return true;
}

static void say_barrier(struct pto_observe_text *remedy, const struct pto_observe_cores *c,
                        const struct pto_cores_finding *finding, const struct pto_cores_wanted *wanted,
                        bool is_either) {
  char line[128] = "";
  if (barriers_before(c, finding->writer))
    pto_cores_line_of(c, c->order.records[finding->writer].call, line, sizeof line);
  SAY(remedy, "add `pto_core_barrier(args)` to each of the %zu cores", c->member_count);
  if (line[0]) SAY(remedy, ", behind its barrier at %s", line);
  if (is_either)
    SAY(remedy, ", between what it reads and what it writes, whichever is to come first");
  else
    SAY(remedy, wanted->is_read[0] ? ", behind what it reads and before it writes"
                                   : ", behind what it writes and before it reads");
}

/* ---- two stretches ---- */

/* Whether the core has what it waits for: a signal, an element, or what it polls. */
static bool ends_wait(const struct pto_observe_cores *c, uint32_t record) {
  const struct pto_core_record *r = &c->order.records[record];
  if (r->kind == PTO_CORE_GOES_ON) return c->members[r->core].polls && !c->is_idle[record];
  return r->kind == PTO_CORE_TOOK || r->kind == PTO_CORE_POPPED;
}

/* Whether the reader has waited for the very write whose values it has: its last signal, element or poll told of that,
 * and no record before. */
static bool has_waited_for_write(const struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  const struct pto_core_record *records = c->order.records;
  uint32_t took = finding->other;
  while (took != PTO_CORE_NO_RECORD && !ends_wait(c, took)) took = records[took].previous;
  uint32_t before = took == PTO_CORE_NO_RECORD ? took : records[took].previous;
  while (before != PTO_CORE_NO_RECORD && records[took].kind == PTO_CORE_GOES_ON &&
         records[before].kind != PTO_CORE_POLLED)
    before = records[before].previous;
  if (before == PTO_CORE_NO_RECORD) return false;
  for (size_t w = 0; w < c->write_count; w++) {
    const struct pto_cores_write *write = &c->writes[w];
    if (write->lo < finding->bytes.hi && finding->bytes.lo < write->hi && write->record != finding->writer &&
        pto_core_order_is_before(&c->order, write->record, took) &&
        !pto_core_order_is_before(&c->order, write->record, before))
      return true;
  }
  return false;
}

/* Whether the reader waits for another core at all. */
static bool waits_for_any(const struct pto_observe_cores *c, uint32_t core) {
  for (uint32_t i = 0; i < c->order.count; i++) {
    const uint8_t kind = c->order.records[i].kind;
    if (c->order.records[i].core == core &&
        (kind == PTO_CORE_TOOK || kind == PTO_CORE_POPPED || kind == PTO_CORE_PASSED))
      return true;
  }
  return c->members[core].polls;
}

/* Whether the run leaves open which values a core is to read: those that were there, from a write that it has not
 * waited for or from before the unit, or those that the other one writes. */
static bool is_either(const struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  const struct pto_cores_copy *copy = pto_cores_copy_at(c, finding->bytes.lo);
  const struct pto_observe_memory *m = c->o->memory;
  if (!finding->is_read) return false;
  if (is_too_early(c, finding)) return !has_waited_for_write(c, finding);
  if (copy->slot == PTO_OBSERVE_NO_SLOT) return false;
  const uint8_t class = pto_observe_at(m, m->classes, copy->slot)[finding->bytes.lo - copy->base];
  return (class & (PTO_OBSERVE_READ | PTO_OBSERVE_UNWRITTEN)) == PTO_OBSERVE_READ &&
         !waits_for_any(c, c->order.records[finding->other].core);
}

/* The operation of the second core that would let it know of what is to come first, and is behind its stretch. */
static uint32_t find_word_behind(const struct pto_observe_cores *c, const struct pto_cores_wanted *wanted) {
  const struct pto_core_record *records = c->order.records;
  for (uint32_t i = wanted->second; i < c->order.count; i++)
    if (records[i].core == records[wanted->second].core &&
        pto_cores_find_word_of(c, i, records[wanted->first].core, wanted->first + 1, i) != PTO_CORE_NO_RECORD)
      return i;
  return PTO_CORE_NO_RECORD;
}

void pto_cores_say_remedy(struct pto_observe_text *remedy, const struct pto_observe_cores *c,
                          const struct pto_cores_finding *finding, const struct pto_cores_wanted *wanted) {
  uint32_t taken[2];
  if (finding->is_count) {
    SAY(remedy, "let each core add with `__atomic_fetch_add(at, ");
    if (finding->added)
      SAY(remedy, "%" PRId64, (int64_t)finding->added);
    else
      SAY(remedy, "n");
    SAY(remedy, ", __ATOMIC_RELAXED)`, `at` being the address of the number, and go on from what that answers");
    return;
  }
  if (pto_cores_find_word_taken(c, wanted, taken)) {
    SAY(remedy, "move ");
    pto_cores_say_word(remedy, c, taken[1]);
    SAY(remedy, " behind its %s", wanted->is_read[0] ? "read" : "write");
    return;
  }
  const uint32_t behind = find_word_behind(c, wanted);
  if (behind != PTO_CORE_NO_RECORD) {
    SAY(remedy, "move the %s of ", wanted->is_read[1] ? "read" : "write");
    pto_cores_say_core(remedy, c, pto_cores_member_of(c, behind));
    SAY(remedy, " behind ");
    pto_cores_say_word(remedy, c, behind);
    return;
  }
  const struct pto_cores_wanted other = {wanted->second, wanted->first, {wanted->is_read[1], wanted->is_read[0]}};
  if (!pto_cores_member_of(c, wanted->first)->waits || !pto_cores_member_of(c, wanted->second)->waits) {
    SAY(remedy, "declare PTO_KERNEL_WAITS for both kernels, and let one wait for the other");
    return;
  }
  if (is_missing_barrier(c, finding)) {
    say_barrier(remedy, c, finding, wanted, is_either(c, finding));
    return;
  }
  if (!is_either(c, finding)) {
    say_calls(remedy, c, wanted, finding->bytes.lo);
    return;
  }
  SAY(remedy, "if ");
  pto_cores_say_core(remedy, c, pto_cores_member_of(c, finding->other));
  SAY(remedy, " is to read what %s, ", wanted->is_read[0] ? "was there before" : "the other one writes");
  say_calls(remedy, c, wanted, finding->bytes.lo);
  SAY(remedy, "; if what %s, ", wanted->is_read[0] ? "the other one writes" : "was there before");
  say_calls(remedy, c, &other, finding->bytes.lo);
}

/* ---- cores that do not go on ---- */

void pto_cores_say_yield(struct pto_observe_text *remedy, uint32_t role) {
  SAY(remedy, "call `pto_core_yield(args, false)` in the loop of %s, and return what that answers where it is not 0",
      pto_role_name(role));
}

void pto_cores_say_missing(struct pto_observe_text *remedy, const struct pto_core_wait *wait) {
  const char *own = pto_role_name(wait->who.role), *other = pto_role_name(wait->other.role);
  const bool has_returned = wait->has_other && wait->other.state == PTO_SEAT_RETURNED;
  switch ((enum pto_waits_for)wait->waits_for) {
  case PTO_WAITS_FOR_FLAG:
    if (wait->has_lying)
      SAY(remedy, "take what lies there, `pto_core_wait(args, %u)`, or signal flag %u instead", wait->lying_at,
          wait->flag);
    else if (wait->has_astray)
      SAY(remedy, "signal %s instead of %s, `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_%s), %u)`", own,
          pto_role_name(wait->sender.role), own, wait->flag);
    else if (wait->sent && wait->sender.state == PTO_SEAT_RETURNED)
      SAY(remedy,
          "add `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_%s), %u)` to %s, which has to send as many as %s waits "
          "for, or wait once less",
          own, wait->flag, pto_role_name(wait->sender.role), own);
    else
      SAY(remedy,
          "add `pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_%s), %u)` to the core that it waits for, before that "
          "one waits itself",
          own, wait->flag);
    break;
  case PTO_WAITS_FOR_ELEMENT:
    if (wait->has_lying)
      SAY(remedy, "pop from %s, `pto_core_pop(args, PTO_ROLE_%s, data, size)`", pto_role_name(wait->lying_at),
          pto_role_name(wait->lying_at));
    else if (has_returned)
      SAY(remedy, "add `pto_core_push(args, PTO_ROLE_%s, data, size)` to %s, or pop one less", own, other);
    else
      SAY(remedy, "let %s push to %s before it waits", other, own);
    break;
  case PTO_WAITS_FOR_ROOM:
    if (has_returned)
      SAY(remedy, "add `pto_core_pop(args, PTO_ROLE_%s, data, size)` to %s for each element, or push fewer", own,
          other);
    else
      SAY(remedy, "let %s pop from %s, `pto_core_pop(args, PTO_ROLE_%s, data, size)`, before it waits", other, own,
          own);
    break;
  case PTO_WAITS_FOR_BARRIER:
    if (wait->has_other && wait->other.block_index == wait->who.block_index)
      SAY(remedy, "add `pto_core_barrier(args)` to %s, in the place where %s waits, as often as that comes to it",
          other, own);
    else
      SAY(remedy, "let each core come to as many barriers");
    break;
  default:
    break;
  }
}
