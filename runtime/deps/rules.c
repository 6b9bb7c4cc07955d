/* SPDX-License-Identifier: MIT */
#include <runtime/deps/rules.h>

#include <string.h>

static const struct {
  uint16_t earlier, later;
  uint8_t reason;
} rules[] = {
#define X(rule, earlier, later, reason) {(earlier), (later), (reason)},
    PTO_DEPS_RULE_LIST(X)
#undef X
};

static const struct {
  const char *name;
  uint32_t rules;
} sets[] = {
#define X(set, name, rules, meaning) [set] = {name, rules},
    PTO_DEPS_SET_LIST(X)
#undef X
};
_Static_assert(PTO_ARRAY_LENGTH(sets) == PTO_DEPS_SET_COUNT, "the sets are numbered from 0 on");
_Static_assert(PTO_ARRAY_LENGTH(rules) <= 32, "a set is a bit a rule");
#define X(rule, earlier, later, reason)                                                                                \
  _Static_assert((earlier) >> 8 < 8 && (later) >> 8 < 4, #rule ": a tag bit more needs a larger table of reasons");
PTO_DEPS_RULE_LIST(X)
#undef X

static uint8_t reasons_of(uint32_t set_rules, uint16_t earlier, uint16_t later) {
  uint8_t reasons = 0;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(rules); i++)
    if (set_rules >> i & 1 && (earlier & rules[i].earlier) == rules[i].earlier &&
        (later & rules[i].later) == rules[i].later)
      reasons |= rules[i].reason;
  return reasons;
}

void pto_deps_table_init(struct pto_deps_table *table, enum pto_deps_rules set) {
  for (uint16_t later = 0; later < 4; later++)
    for (uint16_t earlier = 0; earlier < 8; earlier++)
      table->reasons[later][earlier] = reasons_of(sets[set].rules, (uint16_t)(earlier << 8), (uint16_t)(later << 8));
  PTO_ASSERT(!pto_deps_reasons(table, PTO_TAG_READ, PTO_TAG_READ)); /* hazards.c: a read comes after writes alone */
  const bool waits_for_reads = pto_deps_reasons(table, PTO_TAG_READ, PTO_TAG_WRITE) != 0;
  table->keeps_reads = waits_for_reads;
  table->orders_writes = waits_for_reads && pto_deps_reasons(table, PTO_TAG_WRITE, PTO_TAG_WRITE) != 0;
}

const char *pto_deps_rules_name(uint32_t set) { return set < PTO_DEPS_SET_COUNT ? sets[set].name : "?"; }

bool pto_deps_rules_parse(const char *name, uint32_t *set_out) {
  for (uint32_t i = 0; i < PTO_DEPS_SET_COUNT; i++)
    if (strcmp(name, sets[i].name) == 0) {
      *set_out = i;
      return true;
    }
  return false;
}
