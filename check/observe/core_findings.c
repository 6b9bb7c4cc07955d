/* SPDX-License-Identifier: MIT */
/* Sentences about cores of one unit: who, what bytes, between which calls, and the calls that are missing.  Longer than
 * 500 lines, as remedies are made of the same stretches and calls that the sentences name. */
#include <check/observe/cores.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/port/core_waits.h>

#define SAY PTO_OBSERVE_SAY

/* ---- who, and where in the kernel ---- */

static const struct pto_core_member *member_of(const struct pto_observe_cores *c, uint32_t record) {
  return &c->members[c->order.records[record].core];
}

static bool has_blocks(const struct pto_observe_cores *c) {
  for (size_t i = 1; i < c->member_count; i++)
    if (c->members[i].block_index != c->members[0].block_index) return true;
  return false;
}

/* "AIV1", "AIV1 of block 3" where the unit has several. */
static void say_core(struct pto_observe_text *text, const struct pto_observe_cores *c,
                     const struct pto_core_member *member) {
  SAY(text, "%s", pto_role_name(member->role));
  if (has_blocks(c)) SAY(text, " of block %" PRIu32, member->block_index);
}

/* "a.c:41"; "" where it is not known.  A call that is the last thing a kernel does may be a jump, which returns to who
 * called the kernel. */
static const char *name_call(struct pto_observation *o, const void *call, char *text, size_t size) {
  const struct pto_message *first = &o->call.unit->messages[0];
  const void *function = (const void *)(uintptr_t)first->payload->kernels[first->role]->run;
  text[0] = '\0';
  if (!call) return text;
  if (!pto_source_lines_share_file(call, function)) {
    const void *library = (const void *)(uintptr_t)pto_core_signal;
    if (pto_source_lines_share_file(call, library)) snprintf(text, size, "the end of its kernel");
    return text;
  }
  if (!o->lines) o->lines = pto_source_lines_create();
  return pto_source_lines_name(o->lines, call, NULL, text, size);
}
static const char *line_of(const struct pto_observe_cores *c, const void *call, char *text, size_t size) {
  return name_call(c->o, call, text, size);
}

/* The core's next record after a stretch begins, but for operations on words; NO_RECORD: none. */
static uint32_t next_of(const struct pto_observe_cores *c, uint32_t record) {
  for (uint32_t i = record + 1; i < c->order.count; i++)
    if (c->order.records[i].previous == record)
      return pto_core_is_of_word(c->order.records[i].kind) ? next_of(c, i) : i;
  return PTO_CORE_NO_RECORD;
}

/* The call that a stretch ends with; NULL: the kernel's return, or none. */
static const void *end_call(const struct pto_observe_cores *c, uint32_t record) {
  const uint32_t next = next_of(c, record);
  const bool is_call = next != PTO_CORE_NO_RECORD && c->order.records[next].kind != PTO_CORE_RETURNED;
  return is_call ? c->order.records[next].call : NULL;
}

static bool is_given(uint8_t kind) { return kind == PTO_CORE_SIGNALS || kind == PTO_CORE_PUSHES; }

/* Whether the stretch is a part of the call itself: a copy into a FIFO or out of one, or before what it waits for is
 * there.  A core that has given something is suspended, and resumed behind that call; its return has its last call too.
 */
static bool is_in_call(const struct pto_observe_cores *c, uint32_t record) {
  const struct pto_core_record *records = c->order.records, *r = &records[record];
  if (r->kind != PTO_CORE_RESUMED)
    return is_given(r->kind) || r->kind == PTO_CORE_HAS_ROOM || r->kind == PTO_CORE_POPPED;
  const uint32_t before = r->previous == PTO_CORE_NO_RECORD ? r->previous : records[r->previous].previous;
  if (before != PTO_CORE_NO_RECORD && is_given(records[before].kind)) return false;
  for (uint32_t i = next_of(c, record); i != PTO_CORE_NO_RECORD && records[i].call == r->call; i = next_of(c, i))
    if (records[i].kind != PTO_CORE_RESUMED && records[i].kind != PTO_CORE_SUSPENDED)
      return records[i].kind != PTO_CORE_RETURNED;
  return false;
}

/* " between its calls at a.c:41 and a.c:44". */
static void say_stretch(struct pto_observe_text *text, const struct pto_observe_cores *c, uint32_t record) {
  char from[128], to[128];
  line_of(c, c->order.records[record].call, from, sizeof from);
  line_of(c, end_call(c, record), to, sizeof to);
  if (from[0] && pto_core_is_of_word(c->order.records[record].kind))
    SAY(text, " %s its atomic operation at %s", c->order.records[record].kind == PTO_CORE_REACHES_WORD ? "in" : "after",
        from);
  else if (from[0] && is_in_call(c, record))
    SAY(text, " in its call at %s", from);
  else if (from[0] && to[0])
    SAY(text, strcmp(from, to) == 0 ? " between two calls at %s" : " between its calls at %s and %s", from, to);
  else if (from[0])
    SAY(text, " after its call at %s", from);
  else if (to[0])
    SAY(text, " before its call at %s", to);
}

/* ---- races ---- */

/* Whole elements, and their parameter; memory that a block shares has none. */
static const struct pto_observe_param *say_bytes(struct pto_observe_text *text, const struct pto_observe_cores *c,
                                                 struct pto_observe_range bytes, char *object, size_t object_size) {
  const struct pto_cores_copy *copy;
  const uint64_t lo = pto_cores_address(c, bytes.lo, &copy), hi = lo + (bytes.hi - bytes.lo);
  if (copy->slot == PTO_OBSERVE_NO_SLOT) {
    snprintf(object, object_size, "shared memory of key %" PRIu64, copy->key);
    SAY(text, "bytes [%" PRIu64 ", %" PRIu64 ") of the %s", bytes.lo - copy->base, bytes.hi - copy->base, object);
    snprintf(text->extent, sizeof text->extent, "bytes %" PRIu64 ":%" PRIu64, bytes.lo - copy->base,
             bytes.hi - copy->base);
    return NULL;
  }
  const struct pto_observe_param *param = pto_observe_nearest(c->o, lo, hi);
  const uint64_t element_bytes = param ? param->element_bytes : 1;
  pto_observe_say_bytes(text, c->o, lo & ~(element_bytes - 1), pto_align_up(hi, element_bytes), object, object_size);
  if (!param) return NULL;
  SAY(text, " (");
  pto_observe_say_param(text, param);
  SAY(text, ")");
  return param;
}

/* Which of two stretches is to come first. */
struct wanted {
  uint32_t first, second;
  bool is_read[2];
};

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

static struct wanted wanted_order(const struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  if (is_too_early(c, finding)) return (struct wanted){finding->other, finding->writer, {true, false}};
  return (struct wanted){finding->writer, finding->other, {false, finding->is_read}};
}

/* What the second core took last before its stretch: of the first core, if it took anything of that. */
static uint32_t find_taken(const struct pto_observe_cores *c, const struct wanted *wanted) {
  const struct pto_core_record *records = c->order.records;
  uint32_t found = PTO_CORE_NO_RECORD, number;
  for (uint32_t i = wanted->second; i != PTO_CORE_NO_RECORD; i = records[i].previous) {
    if (records[i].kind != PTO_CORE_TOOK && records[i].kind != PTO_CORE_POPPED) continue;
    const uint32_t giver = pto_core_order_giver(&c->order, i, &number);
    if (giver != PTO_CORE_NO_RECORD && records[giver].core == records[wanted->first].core) return i;
    if (found == PTO_CORE_NO_RECORD) found = i;
  }
  return found;
}

/* ", and the wait of AIV1 at a.c:6 took signal 3 at its flag 0, which AIV0 sent at a.c:4 before it wrote them": what
 * let the second one pass. */
static void say_taken(struct pto_observe_text *text, const struct pto_observe_cores *c, const struct wanted *wanted) {
  const struct pto_core_record *records = c->order.records;
  const uint32_t taken = find_taken(c, wanted);
  uint32_t number;
  char line[128];
  if (taken == PTO_CORE_NO_RECORD) return;
  const uint32_t giver = pto_core_order_giver(&c->order, taken, &number);
  const bool is_signal = records[taken].kind == PTO_CORE_TOOK;
  SAY(text, ", and the %s of ", is_signal ? "wait" : "pop");
  say_core(text, c, member_of(c, taken));
  line_of(c, records[taken].call, line, sizeof line);
  if (line[0]) SAY(text, " at %s", line);
  SAY(text, " took %s %" PRIu32, is_signal ? "signal" : "element", number);
  if (is_signal) SAY(text, " at its flag %u", records[taken].subject);
  if (giver == PTO_CORE_NO_RECORD) {
    SAY(text, ", which several cores signal");
    return;
  }
  SAY(text, ", which ");
  say_core(text, c, member_of(c, giver));
  SAY(text, is_signal ? " sent" : " pushed");
  line_of(c, records[giver].call, line, sizeof line);
  if (line[0]) SAY(text, " at %s", line);
  if (records[giver].core == records[wanted->first].core)
    SAY(text, " before it %s them", wanted->is_read[0] ? "read" : "wrote");
}

/* The operations on a word by which the core that reaches it in a record knows of another: the latest of that core
 * from `lo` up to `hi`; NO_RECORD: none. */
static uint32_t find_word_of(const struct pto_observe_cores *c, uint32_t reached, uint32_t core, uint32_t lo,
                             uint32_t hi) {
  const struct pto_core_record *records = c->order.records;
  if (records[reached].kind != PTO_CORE_REACHES_WORD) return PTO_CORE_NO_RECORD;
  uint32_t by = records[reached].partner;
  while (by != PTO_CORE_NO_RECORD && !(records[by].core == core && by >= lo && by <= hi))
    by = records[records[by].previous].partner;
  return by;
}

/* The operation that let the second core know of the first one, which did its own before what is to come first: both
 * through *taken, the later one first.  False where there is none. */
static bool find_word_taken(const struct pto_observe_cores *c, const struct wanted *wanted, uint32_t taken[2]) {
  const uint32_t core = c->order.records[wanted->first].core;
  for (taken[0] = wanted->second; taken[0] != PTO_CORE_NO_RECORD; taken[0] = c->order.records[taken[0]].previous) {
    taken[1] = find_word_of(c, taken[0], core, 0, wanted->first);
    if (taken[1] != PTO_CORE_NO_RECORD) return true;
  }
  return false;
}

/* The operation of the second core that would let it know of what is to come first, and is behind its stretch. */
static uint32_t find_word_behind(const struct pto_observe_cores *c, const struct wanted *wanted) {
  const struct pto_core_record *records = c->order.records;
  for (uint32_t i = wanted->second; i < c->order.count; i++)
    if (records[i].core == records[wanted->second].core &&
        find_word_of(c, i, records[wanted->first].core, wanted->first + 1, i) != PTO_CORE_NO_RECORD)
      return i;
  return PTO_CORE_NO_RECORD;
}

static void say_word(struct pto_observe_text *text, const struct pto_observe_cores *c, uint32_t record) {
  char line[128];
  SAY(text, "the atomic operation of ");
  say_core(text, c, member_of(c, record));
  line_of(c, c->order.records[record].call, line, sizeof line);
  if (line[0]) SAY(text, " at %s", line);
}

/* ", and the atomic operation of AIV1 at a.c:6 follows the atomic operation of AIV0 at a.c:4, which comes before it
 * wrote them". */
static bool say_word_taken(struct pto_observe_text *text, const struct pto_observe_cores *c,
                           const struct wanted *wanted) {
  uint32_t taken[2];
  if (!find_word_taken(c, wanted, taken)) return false;
  SAY(text, ", and ");
  say_word(text, c, taken[0]);
  SAY(text, " follows ");
  say_word(text, c, taken[1]);
  SAY(text, ", which comes before it %s them", wanted->is_read[0] ? "read" : "wrote");
  return true;
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
  return line_of(c, a, one, sizeof one)[0] && strcmp(one, line_of(c, b, other, sizeof other)) == 0;
}

static bool is_of_engine(uint8_t kind) { return kind == PTO_CORE_SUSPENDED || kind == PTO_CORE_RESUMED; }

/* What the core does in the call that its stretch follows, or (`is_end`) ends with: two calls of one line may differ.
 */
static uint8_t kind_of_call(const struct pto_observe_cores *c, uint32_t record, bool is_end) {
  const struct pto_core_record *records = c->order.records;
  if (is_end) record = next_of(c, record);
  while (record != PTO_CORE_NO_RECORD && is_of_engine(records[record].kind))
    record = is_end ? next_of(c, record) : records[record].previous;
  return record == PTO_CORE_NO_RECORD ? PTO_CORE_RETURNED : records[record].kind;
}

/* How many bytes the stretch writes, from the first to the last, of what the byte at `at` of the copies lies in: a
 * parameter, or a piece of shared memory. */
static uint64_t written_like(const struct pto_observe_cores *c, uint32_t record, uint64_t at) {
  const struct pto_cores_copy *copy, *other;
  const uint64_t addr = pto_cores_address(c, at, &copy);
  uint64_t lo = UINT64_MAX, hi = 0;
  for (size_t w = 0; w < c->write_count; w++) {
    if (c->writes[w].record != record) continue;
    const uint64_t written = pto_cores_address(c, c->writes[w].lo, &other);
    const bool is_shared = copy->slot == PTO_OBSERVE_NO_SLOT || other->slot == PTO_OBSERVE_NO_SLOT;
    if (is_shared ? copy != other
                  : pto_observe_nearest(c->o, addr, addr + 1) != pto_observe_nearest(c->o, written, written + 1))
      continue;
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
  const void *end_a = end_call(c, of), *end_b = end_call(c, record);
  if (of == record) return true;
  if (a->core != b->core || b->kind == PTO_CORE_SUSPENDED || b->kind == PTO_CORE_RETURNED ||
      is_in_call(c, of) != is_in_call(c, record))
    return false;
  const bool begins_alike =
      is_same_call(c, a->call, b->call) && kind_of_call(c, of, false) == kind_of_call(c, record, false);
  const bool ends_alike = is_same_call(c, end_a, end_b) && kind_of_call(c, of, true) == kind_of_call(c, record, true);
  if (!is_read)
    return (begins_alike || ends_alike || is_same_call(c, a->call, end_b) || is_same_call(c, end_a, b->call)) &&
           writes_alike(c, of, record, begins_alike && ends_alike, at);
  if (a->kind == PTO_CORE_RESUMED || a->kind == PTO_CORE_BEGUN || is_given(a->kind)) return ends_alike;
  return begins_alike && a->kind == b->kind && a->subject == b->subject;
}

/* Whether the stretch is a look that finds nothing: it ends in a poll and writes nothing. */
static bool is_look(const struct pto_observe_cores *c, uint32_t record) {
  if (kind_of_call(c, record, true) != PTO_CORE_POLLED) return false;
  for (size_t w = 0; w < c->write_count; w++)
    if (c->writes[w].record == record) return false;
  return true;
}

/* False where there is no memory. */
static bool find_likes(const struct pto_observe_cores *c, uint32_t of, bool is_read, uint64_t at, struct likes *likes) {
  *likes = (struct likes){.records = malloc((c->order.count + 1) * sizeof *likes->records)};
  for (uint32_t i = 0; likes->records && i < c->order.count; i++) {
    if (!is_like(c, of, i, is_read, at) || (i != of && is_look(c, i))) continue;
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
                          const struct wanted *wanted, const struct pairs *pairs) {
  const struct pto_core_record *records = c->order.records, *first = &records[wanted->first];
  bool is_same = false;
  for (uint32_t i = 0; i < c->order.count; i++)
    is_same |= records[i].core == records[wanted->second].core && records[i].kind == first->kind &&
               is_same_call(c, first->call, records[i].call) &&
               is_same_call(c, end_call(c, wanted->first), end_call(c, i));
  if (!is_same) return;
  SAY(remedy, wanted->is_read[0] && pairs->first[1] > pairs->first[0]
                  ? "; each core that runs this code does both, and signals the one that writes what it reads"
                  : "; both run this code: let it ask `args->core` which of the two it is on");
}

/* The calls that would order the two stretches, wherever the code of either runs again. */
static void say_calls(struct pto_observe_text *remedy, const struct pto_observe_cores *c, const struct wanted *wanted,
                      uint64_t at) {
  const struct pto_core_member *first = member_of(c, wanted->first), *second = member_of(c, wanted->second);
  const uint32_t flag = pto_core_order_free_flag(&c->order, (uint32_t)(second - c->members));
  if (flag == PTO_CORE_FLAGS) {
    SAY(remedy, "order the two with `pto_core_barrier(args)`, as all %u flags of ", PTO_CORE_FLAGS);
    say_core(remedy, c, second);
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
  say_core(remedy, c, first);
  say_times(remedy, pairs.first[0], likes[0].count - pairs.first[0] - pairs.count);
  if (pairs.count < likes[0].count) SAY(remedy, ",");
  SAY(remedy, " and `pto_core_wait(args, %" PRIu32 ")` before the %s of ", flag, wanted->is_read[1] ? "read" : "write");
  say_core(remedy, c, second);
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
  return c->o->call.payload->kernels[member_of(c, record)->role];
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
      member_of(c, finding->writer)->block_index == member_of(c, finding->other)->block_index)
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
                        const struct pto_cores_finding *finding, const struct wanted *wanted, bool is_either) {
  char line[128] = "";
  if (barriers_before(c, finding->writer)) line_of(c, c->order.records[finding->writer].call, line, sizeof line);
  SAY(remedy, "add `pto_core_barrier(args)` to each of the %zu cores", c->member_count);
  if (line[0]) SAY(remedy, ", behind its barrier at %s", line);
  if (is_either)
    SAY(remedy, ", between what it reads and what it writes, whichever is to come first");
  else
    SAY(remedy, wanted->is_read[0] ? ", behind what it reads and before it writes"
                                   : ", behind what it writes and before it reads");
}

/* ---- what is to be added ---- */

/* Whether the reader has waited for the very write whose values it has: its last signal or element told of that, and no
 * record before. */
static bool has_waited_for_write(const struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  const struct pto_core_record *records = c->order.records;
  uint32_t took = finding->other;
  while (took != PTO_CORE_NO_RECORD && records[took].kind != PTO_CORE_TOOK && records[took].kind != PTO_CORE_POPPED)
    took = records[took].previous;
  if (took == PTO_CORE_NO_RECORD || records[took].previous == PTO_CORE_NO_RECORD) return false;
  for (size_t w = 0; w < c->write_count; w++) {
    const struct pto_cores_write *write = &c->writes[w];
    if (write->lo < finding->bytes.hi && finding->bytes.lo < write->hi && write->record != finding->writer &&
        pto_core_order_is_before(&c->order, write->record, took) &&
        !pto_core_order_is_before(&c->order, write->record, records[took].previous))
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

static void say_remedy(struct pto_observe_text *remedy, const struct pto_observe_cores *c,
                       const struct pto_cores_finding *finding, const struct wanted *wanted) {
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
  if (find_word_taken(c, wanted, taken)) {
    SAY(remedy, "move ");
    say_word(remedy, c, taken[1]);
    SAY(remedy, " behind its %s", wanted->is_read[0] ? "read" : "write");
    return;
  }
  const uint32_t behind = find_word_behind(c, wanted);
  if (behind != PTO_CORE_NO_RECORD) {
    SAY(remedy, "move the %s of ", wanted->is_read[1] ? "read" : "write");
    say_core(remedy, c, member_of(c, behind));
    SAY(remedy, " behind ");
    say_word(remedy, c, behind);
    return;
  }
  const struct wanted other = {wanted->second, wanted->first, {wanted->is_read[1], wanted->is_read[0]}};
  if (!member_of(c, wanted->first)->waits || !member_of(c, wanted->second)->waits) {
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
  say_core(remedy, c, member_of(c, finding->other));
  SAY(remedy, " is to read what %s, ", wanted->is_read[0] ? "was there before" : "the other one writes");
  say_calls(remedy, c, wanted, finding->bytes.lo);
  SAY(remedy, "; if what %s, ", wanted->is_read[0] ? "the other one writes" : "was there before");
  say_calls(remedy, c, &other, finding->bytes.lo);
}

void pto_cores_report(struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  char object[160];
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  SAY(&text, ": ");
  say_core(&text, c, member_of(c, finding->writer));
  SAY(&text, finding->is_turn && finding->is_read ? " reads " : " writes ");
  const struct pto_observe_param *param = say_bytes(&text, c, finding->bytes, object, sizeof object);
  if (finding->is_turn) {
    say_stretch(&text, c, finding->other);
    SAY(&text, " before its turn: the blocks before may be adding to them");
    SAY(&remedy, "call `pto_core_turn(args)` before it touches the sum");
  } else {
    const struct wanted wanted = wanted_order(c, finding);
    say_stretch(&text, c, finding->writer);
    SAY(&text, ", and ");
    say_core(&text, c, member_of(c, finding->other));
    SAY(&text, finding->is_read ? " reads them" : " writes them too");
    say_stretch(&text, c, finding->other);
    SAY(&text, ": nothing orders the two");
    if (c->are_words_partly) SAY(&text, " but atomic operations, perhaps, which could not all be looked at");
    if (finding->is_count)
      SAY(&text, ", and each adds to the number that it has read: of two that read the same one is lost");
    else if (!say_word_taken(&text, c, &wanted))
      say_taken(&text, c, &wanted);
    say_remedy(&remedy, c, finding, &wanted);
    text.earlier = &c->o->call.task;
    text.earlier_param = param;
  }
  pto_observe_add(c->o, PTO_FINDING_CORES, param, object, remedy.bytes, &c->o->call.task, &text);
}

/* What a core must do that polls, and what that is told of. */
static void say_yield(struct pto_observe_text *remedy, uint32_t role) {
  SAY(remedy, "call `pto_core_yield(args, false)` in the loop of %s, and return what that answers where it is not 0",
      pto_role_name(role));
}

static void report_spinning_order(struct pto_observe_cores *c) {
  const struct pto_core_member *member = &c->members[c->spinning];
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  SAY(&text, ": ");
  say_core(&text, c, member);
  SAY(&text,
      " runs for ever without a call of pto/core.h where the other cores have not come first: it polls what they "
      "write, and does not let them run");
  say_yield(&remedy, member->role);
  pto_observe_add(c->o, PTO_FINDING_CORES, NULL, NULL, remedy.bytes, &c->o->call.task, &text);
}

void pto_cores_report_order(struct pto_observe_cores *c, const struct pto_observe_outcome *outcome) {
  struct pto_observe_text text = {.bytes = ""};
  const struct pto_observe_param *param = NULL;
  char object[160] = "";
  if (c->spinning != PTO_CORE_NO_RECORD) {
    report_spinning_order(c);
    return;
  }
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  if (outcome->caught)
    SAY(&text, "%s where its cores run in another order",
        outcome->caught == SIGVTALRM ? " does not come back" : " ends in a signal");
  else if (outcome->status == PTO_EDEADLOCK)
    SAY(&text, ": its cores wait for each other for ever where they run in another order");
  else if (!outcome->first_difference)
    SAY(&text, " returns %d instead of %d where its cores run in another order", outcome->status, c->o->call.status);
  else {
    const uint64_t at = outcome->first_difference;
    param = pto_observe_nearest(c->o, at, at + 1);
    const uint64_t element_bytes = param ? param->element_bytes : 1, lo = at & ~(element_bytes - 1);
    SAY(&text, ": ");
    pto_observe_say_bytes(&text, c->o, lo, lo + element_bytes, object, sizeof object);
    SAY(&text, " come out different where its cores run in another order");
  }
  SAY(&text, ": which of them comes first is left to time");
  pto_observe_add(c->o, PTO_FINDING_CORES, param, object[0] ? object : NULL, NULL, &c->o->call.task, &text);
}

/* ---- what is left ---- */

void pto_cores_report_left(struct pto_observe_cores *c, const struct pto_core_left *left) {
  const struct pto_core_member *to = &c->members[left->to], *from = member_of(c, left->last);
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  char line[128];
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  SAY(&text, ": ");
  say_core(&text, c, to);
  if (left->is_element)
    SAY(&text, " returns without %" PRIu32 " element%s that ", left->count, left->count > 1 ? "s" : "");
  else
    SAY(&text, " returns without %" PRIu32 " signal%s at its flag %u, the last of which ", left->count,
        left->count > 1 ? "s" : "", left->subject);
  say_core(&text, c, from);
  SAY(&text, left->is_element ? " pushed" : " sent");
  line_of(c, c->order.records[left->last].call, line, sizeof line);
  if (line[0]) SAY(&text, " at %s", line);
  if (left->is_element)
    SAY(&remedy, "pop them, `pto_core_pop(args, PTO_ROLE_%s, data, %" PRIu64 ")`, or do not push them",
        pto_role_name(from->role), c->order.records[left->last].size_bytes);
  else
    SAY(&remedy, "take %s with `pto_core_wait(args, %u)`, or do not send %s", left->count > 1 ? "each" : "it",
        left->subject, left->count > 1 ? "them" : "it");
  pto_observe_add(c->o, PTO_FINDING_NOT_TAKEN, NULL, NULL, remedy.bytes, &c->o->call.task, &text);
}

/* ---- waiting for ever ---- */

/* What would let the first core that waits go on. */
static void say_missing(struct pto_observe_text *remedy, const struct pto_core_wait *wait) {
  const char *own = pto_role_name(wait->who.role), *other = pto_role_name(wait->other.role);
  const bool has_returned = wait->has_other && wait->other.state == PTO_SEAT_RETURNED;
  switch ((enum pto_waits_for)wait->waits_for) {
  case PTO_WAITS_FOR_FLAG:
    if (wait->has_lying)
      SAY(remedy, "take what lies there, `pto_core_wait(args, %u)`, or signal flag %u instead", wait->lying_at,
          wait->flag);
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

static void add_line(void *context, const struct pto_core_wait *wait, char *text, size_t size) {
  char line[128];
  if (name_call(context, wait->call, line, sizeof line)[0]) pto_text_append(text, size, " (it waits at %s)", line);
}

void pto_observe_report_stuck(struct pto_observation *o) {
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  struct pto_core_waits *waits = malloc(sizeof *waits);
  if (!waits) return;
  waits->count = 0;
  o->port->ops->find_waits(o->port, waits);
  if (waits->count > 0) {
    pto_core_waits_describe(waits, add_line, o, text.bytes, sizeof text.bytes);
    uint32_t i = 0; /* the one that could take something else says most */
    while (i + 1 < waits->count && !waits->waits[i].has_lying) i++;
    say_missing(&remedy, &waits->waits[waits->waits[i].has_lying ? i : 0]);
    pto_observe_add(o, PTO_FINDING_STUCK, NULL, NULL, remedy.bytes, &o->call.task, &text);
  }
  free(waits);
}

void pto_observe_report_spinning(struct pto_observation *o) {
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  const struct pto_observed_unit *unit = o->call.unit;
  uint32_t i = 0;
  while (i + 1 < unit->count && unit->messages[i].core != o->call.spinning_core) i++;
  const uint32_t role = unit->messages[i].role;
  pto_observe_say_unit(&text, o, pto_observe_label(unit->messages[i].block_index, role));
  SAY(&text,
      " %s on core %" PRIu32 " runs for ever without a call of pto/core.h: it may poll what another core writes, "
      "and does not let that run",
      pto_role_name(role), unit->messages[i].core);
  say_yield(&remedy, role);
  pto_observe_add(o, PTO_FINDING_STUCK, NULL, NULL, remedy.bytes, &o->call.task, &text);
}
