/* SPDX-License-Identifier: MIT */
/*
 * Why one node of an access graph comes before another, or why nothing says that it does.
 *
 * Always true: the answer is an edge ⇔ path_length is 2, a path ⇔ it is larger, none ⇔ it is 0; the path is a shortest
 * one.  What the two touch in common is listed whatever the answer: every pair of their accesses in one buffer or in
 * intersecting external memory.
 *
 * Owns path and list until fini; borrows the graph.  One thread.
 */
#ifndef PTO_CHECK_ORDER_EXPLAIN_H
#define PTO_CHECK_ORDER_EXPLAIN_H

#include <check/order/reach.h>

enum pto_answer { PTO_ANSWER_EDGE = 0, PTO_ANSWER_PATH, PTO_ANSWER_NONE };

/* What a pair of accesses is to the rules; where a named rule says so, it has the rule's name.  X(constant, name in
 * JSON, what it says) */
#define PTO_COMMON_LIST(X)                                                                                             \
  X(PTO_COMMON_ORDERED, "ordered", "the rules order these")                                                            \
  X(PTO_COMMON_DISJOINT, "disjoint", "no byte is the same")                                                            \
  X(PTO_COMMON_READS, "reads", "both read")                                                                            \
  X(PTO_COMMON_HELD, "held", "a parameter that is only held orders nothing")                                           \
  X(PTO_COMMON_UNSEEN, "manual-enters-nothing",                                                                        \
    "the earlier task is in a manual scope, and later tasks do not see it")                                            \
  X(PTO_COMMON_PREDICATE, "predicate-orders-nothing", "a predicate has no order")                                      \
  X(PTO_COMMON_BASE, "base-address", "the buffers begin at two addresses, and are two to the rules")                   \
  X(PTO_COMMON_MANUAL, "manual", "the later task is in a manual scope, where explicit dependencies alone order")       \
  X(PTO_COMMON_WAR, "WAR", "rules pto have no edge from a read to a later write")                                      \
  X(PTO_COMMON_WAW, "WAW",                                                                                             \
    "rules pto have an edge between two writes only where the later one also reads, or the earlier made the buffer")

enum pto_common_kind {
#define X(constant, name, text) constant,
  PTO_COMMON_LIST(X)
#undef X
      PTO_COMMON_COUNT
};

struct pto_common {
  uint32_t earlier, later; /* accesses */
  uint32_t kind;           /* enum pto_common_kind */
  uint32_t conflict;       /* PTO_EDGE_RAW, PTO_EDGE_WAW, PTO_EDGE_WAR; 0: they cannot hurt each other */
};

struct pto_explanation {
  enum pto_answer answer;
  uint32_t *path; /* nodes, both ends included */
  uint32_t path_length;
  struct pto_common *commons;
  uint32_t common_count;
};

/* `earlier` < `later` are nodes.  PTO_OK or PTO_ENOMEM; fini of a zeroed one is allowed. */
PTO_MUST_CHECK int pto_explain(struct pto_reach *reach, uint32_t earlier, uint32_t later,
                               struct pto_explanation *explanation);
void pto_explanation_fini(struct pto_explanation *explanation);
const char *pto_common_name(uint32_t kind);
const char *pto_common_text(uint32_t kind);
/* The named rule that says so; PTO_DEPS_NAMED_COUNT: none. */
enum pto_deps_named_index pto_common_rule(uint32_t kind);

#endif
