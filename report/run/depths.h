/* SPDX-License-Identifier: MIT */
/*
 * What a run had by scope depth: scopes, tasks, and how full the rings were that these were submitted to.
 *
 * Owns its array until fini.  Made from a trace after the run, whose tasks and scopes were recorded (PTO_RECORD_GRAPH).
 *
 * Always true, where all records fit: tasks add up to those of the run; the largest slots and heap_bytes of the depths
 * of a ring are the most that were in use of it (struct pto_stats).
 */
#ifndef PTO_REPORT_RUN_DEPTHS_H
#define PTO_REPORT_RUN_DEPTHS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <formats/json_writer.h>
#include <runtime/trace/trace.h>

struct pto_depth {
  uint64_t scopes;            /* that began; the one of depth 0 is the run's own */
  uint64_t tasks;             /* submitted in them */
  uint64_t slots, heap_bytes; /* most in use of the depth's ring, by whichever scopes, at a submit in one of these */
};

struct pto_depths {
  struct pto_depth *items; /* by depth */
  size_t count, capacity;
};

/* False: there is no memory. */
PTO_MUST_CHECK bool pto_depths_init(const struct pto_trace *trace, struct pto_depths *depths);
/* A zeroed one is allowed. */
void pto_depths_fini(struct pto_depths *depths);

/* Nothing where the run has one scope alone. */
void pto_depths_print(const struct pto_depths *depths, FILE *to);
/* The key "depths" and its array. */
void pto_depths_put(const struct pto_depths *depths, struct pto_json_writer *w);

#endif
