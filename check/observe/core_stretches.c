/* SPDX-License-Identifier: MIT */
#include <check/observe/core_stretches.h>

#include <inttypes.h>
#include <stdio.h>

#define SAY PTO_OBSERVE_SAY

/* ---- who, and where in the kernel ---- */

static bool has_blocks(const struct pto_observe_cores *c) {
  for (size_t i = 1; i < c->member_count; i++)
    if (c->members[i].block_index != c->members[0].block_index) return true;
  return false;
}

void pto_cores_say_core(struct pto_observe_text *text, const struct pto_observe_cores *c,
                        const struct pto_core_member *member) {
  SAY(text, "%s", pto_role_name(member->role));
  if (has_blocks(c)) SAY(text, " of block %" PRIu32, member->block_index);
}

/* "a.c:41"; "" where it is not known.  A call that is the last thing a kernel does may be a jump, which returns to who
 * called the kernel. */
const char *pto_cores_name_call(struct pto_observation *o, const void *call, char *text, size_t size) {
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
const char *pto_cores_line_of(const struct pto_observe_cores *c, const void *call, char *text, size_t size) {
  return pto_cores_name_call(c->o, call, text, size);
}

uint32_t pto_cores_next_of(const struct pto_observe_cores *c, uint32_t record) {
  for (uint32_t i = record + 1; i < c->order.count; i++)
    if (c->order.records[i].previous == record)
      return pto_core_is_of_word(c->order.records[i].kind) ? pto_cores_next_of(c, i) : i;
  return PTO_CORE_NO_RECORD;
}

const void *pto_cores_end_call(const struct pto_observe_cores *c, uint32_t record) {
  const uint32_t next = pto_cores_next_of(c, record);
  const bool is_call = next != PTO_CORE_NO_RECORD && c->order.records[next].kind != PTO_CORE_RETURNED;
  return is_call ? c->order.records[next].call : NULL;
}

/* A core that has given something is suspended, and resumed behind that call; its return has its last call too. */
bool pto_cores_is_in_call(const struct pto_observe_cores *c, uint32_t record) {
  const struct pto_core_record *records = c->order.records, *r = &records[record];
  if (r->kind != PTO_CORE_RESUMED)
    return pto_cores_is_given(r->kind) || r->kind == PTO_CORE_HAS_ROOM || r->kind == PTO_CORE_POPPED;
  const uint32_t before = r->previous == PTO_CORE_NO_RECORD ? r->previous : records[r->previous].previous;
  if (before != PTO_CORE_NO_RECORD && pto_cores_is_given(records[before].kind)) return false;
  for (uint32_t i = pto_cores_next_of(c, record); i != PTO_CORE_NO_RECORD && records[i].call == r->call;
       i = pto_cores_next_of(c, i))
    if (records[i].kind != PTO_CORE_RESUMED && records[i].kind != PTO_CORE_SUSPENDED)
      return records[i].kind != PTO_CORE_RETURNED;
  return false;
}

/* ---- operations on words ---- */

uint32_t pto_cores_find_word_of(const struct pto_observe_cores *c, uint32_t reached, uint32_t core, uint32_t lo,
                                uint32_t hi) {
  const struct pto_core_record *records = c->order.records;
  if (records[reached].kind != PTO_CORE_REACHES_WORD) return PTO_CORE_NO_RECORD;
  uint32_t by = records[reached].partner;
  while (by != PTO_CORE_NO_RECORD && !(records[by].core == core && by >= lo && by <= hi))
    by = records[records[by].previous].partner;
  return by;
}

bool pto_cores_find_word_taken(const struct pto_observe_cores *c, const struct pto_cores_wanted *wanted,
                               uint32_t taken[2]) {
  const uint32_t core = c->order.records[wanted->first].core;
  for (taken[0] = wanted->second; taken[0] != PTO_CORE_NO_RECORD; taken[0] = c->order.records[taken[0]].previous) {
    taken[1] = pto_cores_find_word_of(c, taken[0], core, 0, wanted->first);
    if (taken[1] != PTO_CORE_NO_RECORD) return true;
  }
  return false;
}

void pto_cores_say_word(struct pto_observe_text *text, const struct pto_observe_cores *c, uint32_t record) {
  char line[128];
  SAY(text, "the atomic operation of ");
  pto_cores_say_core(text, c, pto_cores_member_of(c, record));
  pto_cores_line_of(c, c->order.records[record].call, line, sizeof line);
  if (line[0]) SAY(text, " at %s", line);
}
