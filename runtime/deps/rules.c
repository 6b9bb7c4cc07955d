/* SPDX-License-Identifier: MIT */
#include <runtime/deps/rules.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/closest.h>

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
static const struct {
  const char *name, *text;
  bool is_on; /* under pto */
} named[] = {
#define X(rule, name, is_on, source, meaning) {name, "rule " name " (" source ")", is_on},
    PTO_DEPS_NAMED_LIST(X)
#undef X
};
_Static_assert(PTO_DEPS_NAMED_COUNT <= 32 - PTO_DEPS_SWITCH_SHIFT, "a bit a named rule");
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

uint32_t pto_deps_named_of(uint32_t deps) {
  uint32_t on = 0;
  if ((deps & PTO_DEPS_SET_MASK) != PTO_DEPS_PTO) return 0;
  for (uint32_t i = 0; i < PTO_DEPS_NAMED_COUNT; i++) on |= (uint32_t)named[i].is_on << i;
  return on ^ deps >> PTO_DEPS_SWITCH_SHIFT;
}

bool pto_deps_is_valid(uint32_t deps) {
  const uint32_t set = deps & PTO_DEPS_SET_MASK, switched = deps >> PTO_DEPS_SWITCH_SHIFT;
  return set < PTO_DEPS_SET_COUNT && switched >> PTO_DEPS_NAMED_COUNT == 0 && (!switched || set == PTO_DEPS_PTO);
}

void pto_deps_table_init(struct pto_deps_table *table, uint32_t deps) {
  PTO_ASSERT(pto_deps_is_valid(deps));
  for (uint16_t later = 0; later < 4; later++) {
    table->kinds[later] = 0;
    for (uint16_t earlier = 0; earlier < 8; earlier++) {
      const uint8_t reasons =
          reasons_of(sets[deps & PTO_DEPS_SET_MASK].rules, (uint16_t)(earlier << 8), (uint16_t)(later << 8));
      table->reasons[later][earlier] = reasons;
      if (reasons) table->kinds[later] |= (uint8_t)(1u << earlier);
    }
  }
  PTO_ASSERT(!pto_deps_reasons(table, PTO_TAG_READ, PTO_TAG_READ)); /* hazards.c: a read comes after writes alone */
  const bool waits_for_reads = pto_deps_reasons(table, PTO_TAG_READ, PTO_TAG_WRITE) != 0;
  table->named = pto_deps_named_of(deps);
  table->keeps_reads = waits_for_reads;
  table->orders_writes = waits_for_reads && pto_deps_reasons(table, PTO_TAG_WRITE, PTO_TAG_WRITE) != 0;
}

/* ---- names ---- */

const char *pto_deps_named_name(enum pto_deps_named_index rule) { return named[rule].name; }
const char *pto_deps_named_text(enum pto_deps_named_index rule) { return named[rule].text; }

/* The set, and the named rules of `told`: "no-" before those that do not hold. */
static struct pto_deps_name name_rules(uint32_t deps, uint32_t told) {
  const uint32_t set = deps & PTO_DEPS_SET_MASK, on = pto_deps_named_of(deps);
  struct pto_deps_name name;
  size_t used = (size_t)snprintf(name.text, sizeof name.text, "%s", set < PTO_DEPS_SET_COUNT ? sets[set].name : "?");
  for (uint32_t i = 0; i < PTO_DEPS_NAMED_COUNT && used < sizeof name.text; i++)
    if (told >> i & 1)
      used +=
          (size_t)snprintf(name.text + used, sizeof name.text - used, ",%s%s", on >> i & 1 ? "" : "no-", named[i].name);
  return name;
}

struct pto_deps_name pto_deps_rules_name(uint32_t deps) {
  return name_rules(deps, deps >> PTO_DEPS_SWITCH_SHIFT);
}

struct pto_deps_name pto_deps_rules_list(uint32_t deps) {
  return name_rules(deps, pto_deps_named_of(deps) | deps >> PTO_DEPS_SWITCH_SHIFT);
}

/* The next name of a list, and what is behind its comma; NULL where it was the last. */
static size_t next_name(const char *text, const char **rest_out) {
  const size_t length = strcspn(text, ",");
  *rest_out = text[length] ? text + length + 1 : NULL;
  return length;
}

static bool is_name(const char *text, size_t length, const char *name) {
  return strlen(name) == length && memcmp(text, name, length) == 0;
}

static int parse_named(const char *text, size_t length, uint32_t *deps, struct pto_error *error) {
  static const char no[] = "no-";
  const bool is_off = length > sizeof no - 1 && memcmp(text, no, sizeof no - 1) == 0;
  const size_t skipped = is_off ? sizeof no - 1 : 0;
  for (uint32_t i = 0; i < PTO_DEPS_NAMED_COUNT; i++) {
    if (!is_name(text + skipped, length - skipped, named[i].name)) continue;
    const uint32_t bit = 1u << (i + PTO_DEPS_SWITCH_SHIFT);
    *deps = named[i].is_on == is_off ? *deps | bit : *deps & ~bit;
    return PTO_OK;
  }
  char question[PTO_CLOSEST_TEXT];
  return pto_error_set(error, PTO_EINVAL, "\"%.*s\" is none of %s, each also with no- before it%s", (int)length, text,
                       &PTO_DEPS_NAMED_NAMES[2],
                       pto_closest_among(text + skipped, length - skipped, &named[0].name, PTO_DEPS_NAMED_COUNT,
                                         sizeof named[0], question));
}

int pto_deps_rules_parse(const char *text, uint32_t *deps_out, struct pto_error *error) {
  const char *rest;
  const size_t length = next_name(text, &rest);
  uint32_t deps = PTO_DEPS_SET_COUNT;
  for (uint32_t i = 0; i < PTO_DEPS_SET_COUNT; i++)
    if (is_name(text, length, sets[i].name)) deps = i;
  char question[PTO_CLOSEST_TEXT];
  if (deps == PTO_DEPS_SET_COUNT)
    return pto_error_set(error, PTO_EINVAL, "\"%.*s\" is none of %s%s", (int)length, text, &PTO_DEPS_NAMES[2],
                         pto_closest_among(text, length, &sets[0].name, PTO_DEPS_SET_COUNT, sizeof sets[0], question));
  if (rest && deps != PTO_DEPS_PTO)
    return pto_error_set(error, PTO_EINVAL, "\"%s\": rules are switched under pto alone", text);
  while (rest) {
    const char *name = rest;
    const size_t name_length = next_name(name, &rest);
    const int status = parse_named(name, name_length, &deps, error);
    if (status) return status;
  }
  *deps_out = deps;
  return PTO_OK;
}
