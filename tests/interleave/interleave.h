/* SPDX-License-Identifier: MIT */
/*
 * A stateless model checker for the lock-free modules: runs a scenario of a few threads in every order, and lets every
 * load return every value that the memory model allows.
 *
 * How.  The threads of a scenario are contexts on one real thread.  Each call of runtime/base/atomic.h (built with
 * PTO_INTERLEAVE) and each futex call stops its thread and hands over to the explorer, which chooses who goes on, and
 * which store a load reads. The choices of an execution are a path in a tree; the explorer walks the tree depth first
 * by running the scenario again from the start with the next path.  Orders that differ only in steps that commute are
 * explored once (sleep sets).
 *
 * The memory model.  Each atomic word has a list of stores in modification order; each thread has a view: the oldest
 * store of each word that it may still read.  A release store carries the view and the vector clock of its thread, an
 * acquire load that reads it joins them; a relaxed one hands over nothing.  A seq_cst load reads no store older than
 * the last seq_cst store of the word; their order is that of execution.  A read-modify-write reads the newest store and
 * continues its release sequence. So store buffering (Dekker), message passing and stale reads are all there.  Not
 * modelled: loads of stores that are yet to be executed (load buffering); what they would break shows as a data race
 * instead, because plain accesses (pto_atomic_note_*) are checked against the vector clocks.
 *
 * Found: a data race, an interleave_check that fails, threads that all sleep (a lost wake-up), an execution that does
 * not end.
 *
 * One scenario at a time, one thread, no allocation.  A scenario keeps its state in statics that its `init` sets anew.
 */
#ifndef PTO_INTERLEAVE_H
#define PTO_INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

#define PTO_INTERLEAVE_THREADS 3

struct interleave_scenario {
  const char *name;
  uint32_t thread_count;
  void (*init)(void); /* before the threads start: all of them see what it did */
  void (*threads[PTO_INTERLEAVE_THREADS])(void);
  void (*finish)(void); /* after all have ended, seeing everything; may be NULL */
};

struct interleave_result {
  uint64_t executions;
  bool is_complete;    /* every execution was run; false where the limit was reached or one failed */
  const char *failure; /* of the first execution that failed; NULL: none */
};

struct interleave_result interleave_explore(const struct interleave_scenario *scenario, uint64_t max_executions);

/* Within a scenario: ends the execution as a failure unless `condition` is true. */
void interleave_check(bool condition, const char *failure);
/* The steps of the last execution, for a person: one line a step, "thread 1: store word 0 = 5 (seq_cst)". */
void interleave_print_last(void);

#endif
