/* SPDX-License-Identifier: MIT */
/*
 * All orders of a program's steps that may differ in their result, one of each class of equivalent ones.
 *
 * Dynamic partial-order reduction with source sets and sleep sets, after Abdulla, Aronis, Jonsson and Sagonas, "Optimal
 * dynamic partial order reduction" (POPL 2014), algorithm source-DPOR.  It is stateless: each class is one run of the
 * program from its beginning.  Two orders are equivalent where one becomes the other by exchanging neighbouring steps
 * that are independent.
 *
 * Dependent steps: two calls that the relation says are; two calls of one task; a step of the orchestration with a host
 * access (its bytes are not known here) and any call; two steps of the orchestration.  A submit alone is independent of
 * all calls but those of its own task.  What the orchestration reads of its own memory besides is not seen.
 *
 * Always true: no two runs counted in `explored` are equivalent, and where the search ends by itself there is one for
 * every class.  A run that turns out to be equivalent to an earlier one is counted in `redundant`.
 *
 * One thread.
 */
#ifndef PTO_CHECK_EXPLORE_ALL_H
#define PTO_CHECK_EXPLORE_ALL_H

#include <sim/tools/explore.h>

/* Steps of a run; longer ones are given up (`is_too_long`). */
#define PTO_EXPLORE_ALL_MAX_STEPS 4096u

struct pto_explore_relation {
  /* Whether calls of two different tasks are dependent. */
  bool (*is_dependent)(const void *context, uint64_t a, uint64_t b);
  /* Whether call a has to come before call b in every order: a path of edges, or two blocks that run in order. */
  bool (*is_before)(const void *context, const struct pto_explore_event *a, const struct pto_explore_event *b);
  const void *context;
};

struct pto_explore_all;
/* NULL where there is no memory. */
struct pto_explore_all *pto_explore_all_create(const struct pto_explore_relation *relation);
/* NULL is allowed. */
void pto_explore_all_destroy(struct pto_explore_all *all);

/* A run: begin, choose at each decision (of struct pto_explore_chooser), end.  `position` is the last one.  PTO_OK, or
 * PTO_ENOMEM; the search is over then. */
void pto_explore_all_begin(struct pto_explore_all *all);
uint32_t pto_explore_all_choose(void *all, const struct pto_explore_event *candidates, uint32_t count,
                                uint64_t position);
PTO_MUST_CHECK int pto_explore_all_end(struct pto_explore_all *all, uint64_t position);

struct pto_explore_all_state {
  bool has_more;      /* a further run is due */
  bool was_redundant; /* the last run is equivalent to an earlier one */
  bool is_too_long;
  bool has_strayed; /* a run did not offer what the same choices had offered before */
  uint64_t explored, redundant;
  uint64_t at_least; /* classes: explored, and those that are known to be left */
};
void pto_explore_all_state(const struct pto_explore_all *all, struct pto_explore_all_state *state);

#endif
