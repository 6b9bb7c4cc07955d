/* SPDX-License-Identifier: MIT */
/*
 * Coverage: what a verb that judges something has judged, and what it could not.
 *
 * A row a kind: how many were judged, how many were not, and the command that would judge these, or why there is none.
 * The verbs fill rows from what they have counted anyway; a row without either number is not told.  Text is at most two
 * lines, the last of the verb; JSON is one object.
 *
 * Always true: is_known ⇔ the verb came so far that it judged something, or would have; else JSON says null.  What is
 * not judged has a command or a reason, and not both.
 *
 * Owns nothing: commands and reasons are constants, the subject is the verb's.  Zeroed: nothing is known.  One thread.
 * To add a kind: a line in PTO_COVERAGE_LIST.
 */
#ifndef PTO_REPORT_FINDINGS_COVERAGE_H
#define PTO_REPORT_FINDINGS_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <formats/json_writer.h>

/* X(constant, key in JSON, words before the number, behind it of one, behind it of many) */
#define PTO_COVERAGE_LIST(X)                                                                                           \
  X(ACCESSES, accesses, "", "access that a task declares", "accesses that tasks declare")                              \
  X(HOST_READS, host_reads, "", "host read", "host reads")                                                             \
  X(HOST_WRITES, host_writes, "", "host write", "host writes")                                                         \
  X(BY_POINTER, external_buffers, "what the orchestration does by pointers to ", "external buffer",                    \
    "external buffers")                                                                                                \
  X(CALLS, calls, "what ", "kernel call touches", "kernel calls touch")                                                \
  X(REMOTE_CALLS, remote_calls, "", "call that talks to other ranks", "calls that talk to other ranks")                \
  X(WAITING_TOUCH, waiting_calls_touch, "what ", "call that waits for other cores touches",                            \
    "calls that wait for other cores touch")                                                                           \
  X(TOUCHED, touched_by_tasks, "what ", "task touches beside what it declares",                                        \
    "tasks touch beside what they declare")                                                                            \
  X(WITHOUT_TENSORS, tasks_without_tensors, "", "task that declares no tensor", "tasks that declare no tensor")        \
  X(ADDRESSES, addresses, "", "scalar that is an address", "scalars that are addresses")                               \
  X(WAITING_TASKS, waiting_tasks, "the order between cores of ", "task", "tasks")                                      \
  X(BETWEEN_WAITS, tasks_between_waits, "what ", "task that talks to other ranks touches between its waits",           \
    "tasks that talk to other ranks touch between their waits")                                                        \
  X(WAITING_CALLS, waiting_calls, "the order between cores of ", "call", "calls")                                      \
  X(POLLS, polls, "what orders the polls of ", "call", "calls")                                                        \
  X(PIECES, pieces, "the order within ", "later piece of kernels that wait", "later pieces of kernels that wait")      \
  X(HELD, held_params, "", "held parameter", "held parameters")                                                        \
  X(TASK_ORDER, task_order, "the order of ", "task", "tasks")                                                          \
  X(LEFT_OUT, calls_left_out, "", "kernel call left out, as asked", "kernel calls left out, as asked")                 \
  X(TOO_LARGE, calls_too_large, "", "kernel call that touches more pages than there is room for",                      \
    "kernel calls that touch more pages than there is room for")                                                       \
  X(CONTEXTS, contexts, "", "context", "contexts")                                                                     \
  X(BORROWED, borrowed_by_dispatches, "what ", "queued dispatch borrows", "queued dispatches borrow")                  \
  X(ORDERS, orders, "", "order of calls", "orders of calls")                                                           \
  X(RUNS, runs, "", "run with delays", "runs with delays")                                                             \
  X(OUTPUTS, outputs, "", "output", "outputs")                                                                         \
  X(ELEMENTS, elements, "", "element against the reference", "elements against the reference")                         \
  X(DTYPES, dtypes, "", "combination of dtypes", "combinations of dtypes")                                             \
  X(SHAPES, shapes, "", "shape", "shapes")                                                                             \
  X(LAYOUTS, layouts, "", "layout", "layouts")                                                                         \
  X(LEVELS, levels, "", "level of instructions", "levels of instructions")                                             \
  X(NODES, nodes, "", "node", "nodes")                                                                                 \
  X(TASKS, tasks, "", "task", "tasks")                                                                                 \
  X(EDGES, edges, "", "edge", "edges")                                                                                 \
  X(RECORDS, records, "", "record", "records")                                                                         \
  X(TIMES, times, "", "time", "times")                                                                                 \
  X(VALUES, values, "", "value of tensors", "values of tensors")                                                       \
  X(PRICES, prices, "", "price of a kernel call", "prices of kernel calls")                                            \
  X(GIVEN, given_values, "", "value that decides the graph", "values that decide the graph")                           \
  X(JITTERS, jitters, "", "run with jitter", "runs with jitter")                                                       \
  X(RINGS, rings, "", "size of rings", "sizes of rings")                                                               \
  X(CASES, cases, "", "case", "cases")                                                                                 \
  X(WITHOUT_GOLDEN, cases_without_golden, "outputs of ", "case without a golden", "cases without a golden")            \
  X(SKIPPED, cases_skipped, "", "case", "cases")                                                                       \
  X(BASELINES, baselines, "what ", "case came to before", "cases came to before")                                      \
  X(ROWS, rows, "", "measured row", "measured rows")                                                                   \
  X(SEEDS, seeds, "data of ", "seed", "seeds")

enum pto_coverage_kind {
#define X(constant, key, before, one, many) PTO_COVERAGE_##constant,
  PTO_COVERAGE_LIST(X)
#undef X
      PTO_COVERAGE_COUNT
};

/* Why some contexts are not explored and not observed. */
#define PTO_COVERAGE_ONE_CONTEXT "made while another one lived, or with an engine of their own"

/* Some were not judged, and it is not known how many. */
#define PTO_COVERAGE_UNCOUNTED UINT64_MAX

struct pto_coverage_row {
  uint64_t judged, not_judged;
  const char *command; /* a verb and options: "check --observe"; NULL: nothing judges them */
  const char *reason;  /* why nothing does */
};

struct pto_coverage {
  bool is_known;
  const char *subject; /* the words of a shell that say which program, without the verb; NULL: "PROGRAM" */
  struct pto_coverage_row rows[PTO_COVERAGE_COUNT];
};

/* All three add to what the row has, and make the coverage known.  A command takes the place of an earlier one and of a
 * reason, a reason only that of an earlier one; both are kept only where something is not judged. */
void pto_coverage_add(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t judged);
void pto_coverage_leave(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count,
                        const char *command);
void pto_coverage_leave_because(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count,
                                const char *reason);

/* "  judged: 14 accesses that tasks declare, 2 host reads" and "  not judged: what 5 tasks touch beside what they
 * declare (ptosim check moe --observe); 1 context (made while another one lived)"; a line with nothing to tell is left
 * out. */
void pto_coverage_print(const struct pto_coverage *coverage, FILE *stream);
/* Key "coverage" into the object that is open (docs/json.md). */
void pto_coverage_put_json(const struct pto_coverage *coverage, struct pto_json_writer *w);

#endif
