/* SPDX-License-Identifier: MIT */
/* Sentences about cores of one unit: who, what bytes, between which calls, and what let them pass. */
#include <check/observe/core_remedies.h>
#include <check/observe/core_stretches.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY PTO_OBSERVE_SAY

/* ---- races ---- */

/* " between its calls at a.c:41 and a.c:44". */
static void say_stretch(struct pto_observe_text *text, const struct pto_observe_cores *c, uint32_t record) {
  char from[128], to[128];
  pto_cores_line_of(c, c->order.records[record].call, from, sizeof from);
  pto_cores_line_of(c, pto_cores_end_call(c, record), to, sizeof to);
  if (from[0] && pto_core_is_of_word(c->order.records[record].kind))
    SAY(text, " %s its atomic operation at %s", c->order.records[record].kind == PTO_CORE_REACHES_WORD ? "in" : "after",
        from);
  else if (from[0] && pto_cores_is_in_call(c, record))
    SAY(text, " in its call at %s", from);
  else if (from[0] && to[0])
    SAY(text, strcmp(from, to) == 0 ? " between two calls at %s" : " between its calls at %s and %s", from, to);
  else if (from[0])
    SAY(text, " after its call at %s", from);
  else if (to[0])
    SAY(text, " before its call at %s", to);
}

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

/* What the second core took last before its stretch: of the first core, if it took anything of that. */
static uint32_t find_taken(const struct pto_observe_cores *c, const struct pto_cores_wanted *wanted) {
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
static void say_taken(struct pto_observe_text *text, const struct pto_observe_cores *c,
                      const struct pto_cores_wanted *wanted) {
  const struct pto_core_record *records = c->order.records;
  const uint32_t taken = find_taken(c, wanted);
  uint32_t number;
  char line[128];
  if (taken == PTO_CORE_NO_RECORD) return;
  const uint32_t giver = pto_core_order_giver(&c->order, taken, &number);
  const bool is_signal = records[taken].kind == PTO_CORE_TOOK;
  SAY(text, ", and the %s of ", is_signal ? "wait" : "pop");
  pto_cores_say_core(text, c, pto_cores_member_of(c, taken));
  pto_cores_line_of(c, records[taken].call, line, sizeof line);
  if (line[0]) SAY(text, " at %s", line);
  SAY(text, " took %s %" PRIu32, is_signal ? "signal" : "element", number);
  if (is_signal) SAY(text, " at its flag %u", records[taken].subject);
  if (giver == PTO_CORE_NO_RECORD) {
    SAY(text, ", which several cores signal");
    return;
  }
  SAY(text, ", which ");
  pto_cores_say_core(text, c, pto_cores_member_of(c, giver));
  SAY(text, is_signal ? " sent" : " pushed");
  pto_cores_line_of(c, records[giver].call, line, sizeof line);
  if (line[0]) SAY(text, " at %s", line);
  if (records[giver].core == records[wanted->first].core)
    SAY(text, " before it %s them", wanted->is_read[0] ? "read" : "wrote");
}

/* ", and the atomic operation of AIV1 at a.c:6 follows the atomic operation of AIV0 at a.c:4, which comes before it
 * wrote them". */
static bool say_word_taken(struct pto_observe_text *text, const struct pto_observe_cores *c,
                           const struct pto_cores_wanted *wanted) {
  uint32_t taken[2];
  if (!pto_cores_find_word_taken(c, wanted, taken)) return false;
  SAY(text, ", and ");
  pto_cores_say_word(text, c, taken[0]);
  SAY(text, " follows ");
  pto_cores_say_word(text, c, taken[1]);
  SAY(text, ", which comes before it %s them", wanted->is_read[0] ? "read" : "wrote");
  return true;
}

void pto_cores_report(struct pto_observe_cores *c, const struct pto_cores_finding *finding) {
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  char object[160];
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  SAY(&text, ": ");
  pto_cores_say_core(&text, c, pto_cores_member_of(c, finding->writer));
  SAY(&text, finding->is_turn && finding->is_read ? " reads " : " writes ");
  const struct pto_observe_param *param = say_bytes(&text, c, finding->bytes, object, sizeof object);
  if (finding->is_turn) {
    say_stretch(&text, c, finding->other);
    SAY(&text, " before its turn: the blocks before may be adding to them");
    SAY(&remedy, "call `pto_core_turn(args)` before it touches the sum");
  } else {
    const struct pto_cores_wanted wanted = pto_cores_wanted_order(c, finding);
    say_stretch(&text, c, finding->writer);
    SAY(&text, ", and ");
    pto_cores_say_core(&text, c, pto_cores_member_of(c, finding->other));
    SAY(&text, finding->is_read ? " reads them" : " writes them too");
    say_stretch(&text, c, finding->other);
    SAY(&text, ": nothing orders the two");
    if (c->are_words_partly) SAY(&text, " but atomic operations, perhaps, which could not all be looked at");
    if (finding->is_count)
      SAY(&text, ", and each adds to the number that it has read: of two that read the same one is lost");
    else if (!say_word_taken(&text, c, &wanted))
      say_taken(&text, c, &wanted);
    pto_cores_say_remedy(&remedy, c, finding, &wanted);
    text.earlier = &c->o->call.task;
    text.earlier_param = param;
  }
  pto_observe_add(c->o, PTO_FINDING_CORES, param, object, remedy.bytes, &c->o->call.task, &text);
}

static void add_line(void *context, const struct pto_core_wait *wait, char *text, size_t size) {
  char line[128];
  if (pto_cores_name_call(context, wait->call, line, sizeof line)[0])
    pto_text_append(text, size, " (it waits at %s)", line);
}

/* Who waited for whom when the last run ended; nothing where none did. */
static void say_waits(struct pto_observe_text *text, struct pto_observation *o) {
  char waits_text[PTO_SENTENCE_SIZE];
  struct pto_core_waits *waits = malloc(sizeof *waits);
  if (!waits) return;
  waits->count = 0;
  o->port->ops->find_waits(o->port, waits);
  pto_core_waits_describe(waits, add_line, o, waits_text, sizeof waits_text);
  if (waits->count > 0) SAY(text, "; %s", waits_text);
  free(waits);
}

static void report_spinning_order(struct pto_observe_cores *c) {
  const struct pto_core_member *member = &c->members[c->spinning];
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  SAY(&text, ": ");
  pto_cores_say_core(&text, c, member);
  SAY(&text,
      " runs for ever without a call of pto/core.h where the other cores have not come first: it polls what they "
      "write, and does not let them run");
  pto_cores_say_yield(&remedy, member->role);
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
  if (outcome->status == PTO_EDEADLOCK) say_waits(&text, c->o);
  pto_observe_add(c->o, PTO_FINDING_CORES, param, object[0] ? object : NULL, NULL, &c->o->call.task, &text);
}

/* ---- what is left ---- */

void pto_cores_report_left(struct pto_observe_cores *c, const struct pto_core_left *left) {
  const struct pto_core_member *to = &c->members[left->to], *from = pto_cores_member_of(c, left->last);
  struct pto_observe_text text = {.bytes = ""}, remedy = {.bytes = ""};
  char line[128];
  pto_observe_say_unit(&text, c->o, c->o->call.label);
  SAY(&text, ": ");
  pto_cores_say_core(&text, c, to);
  if (left->is_element)
    SAY(&text, " returns without %" PRIu32 " element%s that ", left->count, left->count > 1 ? "s" : "");
  else
    SAY(&text, " returns without %" PRIu32 " signal%s at its flag %u, the last of which ", left->count,
        left->count > 1 ? "s" : "", left->subject);
  pto_cores_say_core(&text, c, from);
  SAY(&text, left->is_element ? " pushed" : " sent");
  pto_cores_line_of(c, c->order.records[left->last].call, line, sizeof line);
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
    pto_cores_say_missing(&remedy, &waits->waits[waits->waits[i].has_lying ? i : 0]);
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
  pto_cores_say_yield(&remedy, role);
  pto_observe_add(o, PTO_FINDING_STUCK, NULL, NULL, remedy.bytes, &o->call.task, &text);
}
