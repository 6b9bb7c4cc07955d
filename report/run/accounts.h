/* SPDX-License-Identifier: MIT */
/*
 * Where the time of a run went: for each resource all of the makespan, by activity.
 *
 * In virtual time resources are the orchestrator, each scheduler, a resolver, the AIC and the AIV cores (each kind
 * summed), and the host link; on threads, each thread.  The words are those of runtime/trace/segment.h for both.  The
 * makespan is the time from the begin of the run to its last clock (virtual_us), or to the end of the last record.
 *
 * Always true: the times of an account add up to makespan · count exactly, in the trace's unit (ps, or ns).
 *
 * Owns its arrays until fini.  Made from a trace after the run.
 */
#ifndef PTO_REPORT_RUN_ACCOUNTS_H
#define PTO_REPORT_RUN_ACCOUNTS_H

#include <report/run/event_graph.h>

struct pto_account {
  char name[24];        /* "orchestrator", "scheduler 0", "AIC", "thread 0" */
  const char *kind;     /* "orchestrator", "scheduler", "resolver", "aic", "aiv", "link", "thread" */
  uint32_t count, used; /* resources in it, and those of them that did something */
  uint64_t times[PTO_ACTIVITY_COUNT];
};

struct pto_accounts {
  bool is_virtual;
  uint64_t makespan;
  uint64_t chain; /* on threads: the longest chain of kernels */
  struct pto_account *items;
  uint32_t count;
};

/* `graph`: of the same trace; it has no nodes where time is real.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_accounts_init(const struct pto_event_graph *graph, uint32_t cluster_count,
                                     struct pto_accounts *accounts, struct pto_error *error);
/* The same in real time, on zeroed ones; internal. */
PTO_MUST_CHECK int pto_accounts_of_threads(const struct pto_trace *trace, struct pto_accounts *accounts,
                                           struct pto_error *error);
/* On threads no replay tells what a change would give.  But where one of four things takes at least PTO_BOUND_LEAST of
 * its time, that is what bounds the run: kernels, of all threads; what the orchestration does, of its thread; the
 * longest chain of kernels after each other (critical_path.h), of the run; waiting for tasks that are ready, of the
 * others. */
#define PTO_BOUND_LEAST 0.75
struct pto_thread_bound {
  const char *what;  /* "kernels" */
  const char *whose; /* "all threads" */
  double share;
};
/* False: none of them does, or time is virtual. */
bool pto_accounts_find_bound(const struct pto_accounts *accounts, struct pto_thread_bound *bound);
/* A zeroed one is allowed. */
void pto_accounts_fini(struct pto_accounts *accounts);

#endif
