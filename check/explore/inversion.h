/* SPDX-License-Identifier: MIT */
/*
 * What a run really made of an order: which tasks that depend on each other it made in the other order than the
 * sequential run.
 *
 * Reads the steps as they were made, and nothing else; so what is told of a schedule did happen.  Owns nothing.  One
 * thread.
 */
#ifndef PTO_CHECK_EXPLORE_INVERSION_H
#define PTO_CHECK_EXPLORE_INVERSION_H

#include <check/explore/graph.h>
#include <sim/tools/explore.h>

/* Two tasks that declare a byte in common which one of them writes, of which the later submitted one made a call
 * (*early) before a call of the other (*late); of several those with the nearest numbers.  There is no path between
 * them, for edges hold in every order.  False: there are none, or none within a bounded search. */
bool pto_explore_inversion(const struct pto_explore_graph *graph, const struct pto_explore_step *steps, uint64_t count,
                           struct pto_explore_event *late, struct pto_explore_event *early);

#endif
