/* SPDX-License-Identifier: MIT */
/*
 * Dependency rules: which pairs of accesses to the same bytes are edges, and why.
 *
 * A *rule* says of an earlier and a later access that they are ordered, and the reason that edges are recorded with.
 * Sets of rules have a name; a run has one set (enum pto_deps_rules).  What the wiring asks of a set is one table.
 *
 * A *named rule* says something of the set pto beyond pairs of accesses, and can be switched by its name.  A run's
 * `deps` is the set, and a bit for each named rule that is not as pto has it; so 0 and 1 are the sets as they are.
 *
 * To add a rule: a line in PTO_DEPS_RULE_LIST.  To add a set: a constant in enum pto_deps_rules and a line, in that
 * order, in PTO_DEPS_SET_LIST.  To add a named rule: a constant in enum pto_deps_switch and a line, in that order, in
 * PTO_DEPS_NAMED_LIST; then who asks for it (docs/dependency-rules.md has them all).
 *
 * Values and constants; any thread.
 */
#ifndef PTO_DEPS_RULES_H
#define PTO_DEPS_RULES_H

#include <pto/runtime.h>
#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

/* What an access did, in the upper byte of its tag. */
#define PTO_TAG_READ 0x100u
#define PTO_TAG_WRITE 0x200u
#define PTO_TAG_CREATES 0x400u /* the write by whose task the buffer got its memory */

/* X(rule, what the earlier access did at least, what the later one does at least, reason) */
#define PTO_DEPS_RULE_LIST(X)                                                                                          \
  X(RAW, PTO_TAG_WRITE, PTO_TAG_READ, PTO_EDGE_RAW)                                                                    \
  X(WAW, PTO_TAG_WRITE, PTO_TAG_WRITE, PTO_EDGE_WAW)                                                                   \
  X(WAW_OF_INOUT, PTO_TAG_WRITE, PTO_TAG_WRITE | PTO_TAG_READ, PTO_EDGE_WAW)                                           \
  X(WAW_AFTER_CREATOR, PTO_TAG_WRITE | PTO_TAG_CREATES, PTO_TAG_WRITE, PTO_EDGE_WAW)                                   \
  X(WAR, PTO_TAG_READ, PTO_TAG_WRITE, PTO_EDGE_WAR)

enum pto_deps_rule_index {
#define X(rule, earlier, later, reason) PTO_DEPS_RULE_INDEX_##rule,
  PTO_DEPS_RULE_LIST(X)
#undef X
};
enum pto_deps_rule {
#define X(rule, earlier, later, reason) PTO_DEPS_RULE_##rule = 1 << PTO_DEPS_RULE_INDEX_##rule,
  PTO_DEPS_RULE_LIST(X)
#undef X
};

/* X(enum pto_deps_rules, name, its rules, what it is, for help) */
#define PTO_DEPS_SET_LIST(X)                                                                                           \
  X(PTO_DEPS_EXACT, "exact", PTO_DEPS_RULE_RAW | PTO_DEPS_RULE_WAW | PTO_DEPS_RULE_WAR, "every hazard")                \
  X(PTO_DEPS_PTO, "pto", PTO_DEPS_RULE_RAW | PTO_DEPS_RULE_WAW_OF_INOUT | PTO_DEPS_RULE_WAW_AFTER_CREATOR,             \
    "the rules of the existing runtime")

/* Their names in one text, for sentences: ", exact, pto"; the same with their meanings in brackets. */
#define PTO_DEPS_NAME(set, name, rules, meaning) ", " name
#define PTO_DEPS_MEANING(set, name, rules, meaning) ", " name " (" meaning ")"
#define PTO_DEPS_NAMES PTO_DEPS_SET_LIST(PTO_DEPS_NAME)
#define PTO_DEPS_MEANINGS PTO_DEPS_SET_LIST(PTO_DEPS_MEANING)

#define X(set, name, rules, meaning) +1
enum { PTO_DEPS_SET_COUNT = 0 PTO_DEPS_SET_LIST(X) };
#undef X

/* X(NAME, name, whether pto has it, where it comes from: a source of the existing runtime, what it says, for help) */
#define PTO_DEPS_NAMED_LIST(X)                                                                                         \
  X(CREATOR_EDGES, "creator-edges", true, "pto_dep_compute.h", "a task comes after those that allocated its tensors")  \
  X(MANUAL_ENTERS_NOTHING, "manual-enters-nothing", true, "pto_dep_compute.h",                                         \
    "later tasks do not see what tasks of a manual scope touch")                                                       \
  X(PREDICATE_ORDERS_NOTHING, "predicate-orders-nothing", true, "pto_orchestrator.cpp",                                \
    "a predicate's element is read without an order")                                                                  \
  X(REDUCE_IMPLIED, "reduce-implied", false, "pull request 2009", "edges that others imply are dropped")               \
  X(HOST_WAITS_FOR_READERS, "host-waits-for-readers", true, "pto_runtime2.cpp",                                        \
    "a write by the host comes after those who read since a write")                                                    \
  X(BASE_ADDRESS, "base-address", true, "pto_tensormap.h", "a buffer is known by the address of its first byte alone")

enum pto_deps_named_index {
#define X(rule, name, is_on, source, meaning) PTO_DEPS_NAMED_INDEX_##rule,
  PTO_DEPS_NAMED_LIST(X)
#undef X
      PTO_DEPS_NAMED_COUNT
};
/* A set of named rules. */
enum pto_deps_named {
#define X(rule, name, is_on, source, meaning) PTO_DEPS_NAMED_##rule = 1 << PTO_DEPS_NAMED_INDEX_##rule,
  PTO_DEPS_NAMED_LIST(X)
#undef X
};
#define PTO_DEPS_SWITCH_SHIFT 8u /* of those in `deps` */
#define PTO_DEPS_SET_MASK ((1u << PTO_DEPS_SWITCH_SHIFT) - 1)
#define X(rule, name, is_on, source, meaning)                                                                          \
  _Static_assert(PTO_DEPS_SWITCH_##rule == (int)PTO_DEPS_NAMED_##rule << PTO_DEPS_SWITCH_SHIFT, name ": in both "      \
                                                                                                     "lists");
PTO_DEPS_NAMED_LIST(X)
#undef X

/* For sentences: ", creator-edges, manual-enters-nothing, …". */
#define PTO_DEPS_NAMED_NAME(rule, name, is_on, source, meaning) ", " name
#define PTO_DEPS_NAMED_NAMES PTO_DEPS_NAMED_LIST(PTO_DEPS_NAMED_NAME)

/* The reasons of every pair of accesses; 0: no edge. */
struct pto_deps_table {
  uint32_t named;        /* enum pto_deps_named: those that hold */
  uint8_t reasons[4][8]; /* by what the later one does, and what the earlier one did: tag >> 8 */
  uint8_t kinds[4];      /* by what the later one does: which earlier ones have a reason, 1 << (tag >> 8) each */
  bool keeps_reads;      /* a task may have to wait for a reader */
  bool orders_writes;    /* a write has an edge to every access that it overlaps, so it may replace what it covers */
};

/* Those of a later access, by tag >> 8 of the earlier one. */
static inline const uint8_t *pto_deps_reasons_of(const struct pto_deps_table *table, uint16_t later_tag) {
  return table->reasons[later_tag >> 8 & 3];
}
/* What an earlier access must have been for a later one to have a reason: 1 << (tag >> 8) each. */
static inline uint8_t pto_deps_kinds_before(const struct pto_deps_table *table, uint16_t later_tag) {
  return table->kinds[later_tag >> 8 & 3];
}
static inline uint8_t pto_deps_reasons(const struct pto_deps_table *table, uint16_t earlier_tag, uint16_t later_tag) {
  return pto_deps_reasons_of(table, later_tag)[earlier_tag >> 8];
}

/* Of these, whose named rules are all known. */
void pto_deps_table_init(struct pto_deps_table *table, uint32_t deps);
/* The named rules that hold: none under exact. */
uint32_t pto_deps_named_of(uint32_t deps);
/* Whether it is a set, and pto where a named rule is switched. */
bool pto_deps_is_valid(uint32_t deps);

/* The rule's name, as `--deps` takes it. */
const char *pto_deps_named_name(enum pto_deps_named_index rule);
/* Its name and its source, for sentences: "rule NAME (SOURCE)". */
const char *pto_deps_named_text(enum pto_deps_named_index rule);

/* A list of names, for --deps too. */
struct pto_deps_name {
  char text[64 + PTO_DEPS_NAMED_COUNT * 40];
};
/* For sentences: "exact", "pto", "pto,no-creator-edges". */
struct pto_deps_name pto_deps_rules_name(uint32_t deps);
/* The same with every named rule that holds: "exact", "pto,creator-edges,manual-enters-nothing,…". */
struct pto_deps_name pto_deps_rules_list(uint32_t deps);
/* Of "exact", "pto", "pto,no-creator-edges,reduce-implied".  PTO_OK, or PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_deps_rules_parse(const char *text, uint32_t *deps_out, struct pto_error *error);

#endif
