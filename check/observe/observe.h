/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses: what kernels really touch, found by running each call several times over different bytes.
 *
 * An observation watches the runs of one runtime on the engine "observe" (sim/engine/observed_unit.h).  Each call of a
 * kernel (or all cores of a unit that waits) is run first over the true state; that run counts.  Then it is run again
 * from the same state with other values in every byte that must not matter: what is not declared, what is an OUTPUT,
 * what was never written, local memory.
 *
 *   written   a byte that differs from what it was, in either run
 *   read      a byte that must not matter, and does: changed alone, it changes what is written or returned
 *   unstable  the same bytes, and two results
 *
 * Which bytes are read is found by halving the candidates, each time with a run.  At the end memory is what the first
 * run left, so the program's results are those of any other run.  A read shows by its effect: what is loaded and
 * dropped is no finding; and a byte that is written with what was read there just before is not seen to be written.
 *
 * Ranks of a world are observed together, one observation each, on the engine "observed virtual".  While a kernel of
 * one rank is observed the memory of all ranks is closed, so touches of another rank's memory are found.  A rank's own
 * window is its memory; a peer's window has no memory here.  Tasks whose cores wait for each other are rehearsed
 * (check/observe/rehearsal.c); calls that talk to other ranks run once, and are counted.
 *
 * Under AddressSanitizer, ThreadSanitizer and valgrind the calls are run once, one at a time, and watched by these.
 *
 * Owns its copies of memory; findings are the caller's list.  One thread, the control thread; one observation at a time
 * in a process, or those of one world (signal handlers, check/observe/memory.h).
 */
#ifndef PTO_CHECK_OBSERVE_OBSERVE_H
#define PTO_CHECK_OBSERVE_OBSERVE_H

#include <report/findings/findings.h>
#include <pto/program.h>
#include <pto/runtime.h>

struct pto_observation;
struct pto_observe_group;

/* Where a window lies, or the address space of a peer's. */
struct pto_observe_window {
  uint64_t lo, hi;
  bool is_peer;
  const char *name; /* for people, borrowed until destroy */
};

/* A rank of a world. */
struct pto_observe_rank {
  uint32_t index;
  struct pto_observe_group *group; /* of all ranks */
  void *stack;                     /* that its orchestration runs on; NULL: the thread's */
  uint64_t stack_bytes;
  /* The window that holds external memory at `addr`; false: none does. */
  bool (*find_window)(void *context, uint64_t addr, struct pto_observe_window *window);
  void *context;
};

/* Zeroed: every call of every task is observed. */
struct pto_observe_options {
  bool has_tasks; /* only those numbered first_task … last_task */
  uint64_t first_task, last_task;
  uint64_t calls_a_form;               /* at most so many calls with the same kernels and shapes; 0: no limit */
  const struct pto_observe_rank *rank; /* NULL: of one chip */
  /* Adds the memory at `addr`, which a run registers and no caller has added, where it knows what it is; NULL: none is
   * known. */
  void (*add_memory)(void *context, struct pto_observation *observation, uint64_t addr);
  void *context;
};

struct pto_observe_summary {
  uint64_t tasks, calls;        /* that were looked at: tasks with a kernel, calls or units */
  uint64_t calls_left_out;      /* by the options */
  uint64_t calls_too_large;     /* more pages than there is room for: not looked at */
  uint64_t waiting_units;       /* of `calls`: looked at as a whole */
  uint64_t units_judged;        /* of these: what orders their cores was looked at too */
  uint64_t units_polling;       /* of `units_judged`: some core polls, and its polls are believed */
  uint64_t calls_waiting;       /* of ranks: calls of kernels that wait for other cores; not observed */
  uint64_t calls_remote;        /* of ranks: calls that talk to other ranks; not observed */
  uint64_t outputs_left;        /* outputs that a task did not write in whole, reported or not */
  uint64_t runs;                /* of calls that were looked at, the first included */
  uint64_t kernel_ns, total_ns; /* processor time of the first runs; of all */
  bool is_watched_by_tool;      /* a checker watches, nothing was compared */
  bool is_short;                /* memory ended: what was found may be wrong */
  bool is_refused;              /* another run of the process was being observed: a run of this one was not */
};

/* Whether a checker watches this process, so that nothing is compared. */
bool pto_observation_is_left_to_tool(void);

/* What the observations of a world's ranks share; NULL: no memory.  Destroyed after them. */
struct pto_observe_group *pto_observe_group_create(void);
/* Takes NULL too. */
void pto_observe_group_destroy(struct pto_observe_group *group);

/* Between runs of `rt`, whose engine must be one that can be observed (else PTO_EINVAL).  `findings` is borrowed until
 * destroy, and so is options->rank. */
PTO_MUST_CHECK int pto_observation_create(struct pto_runtime *rt, const struct pto_observe_options *options,
                                          struct pto_findings *findings, struct pto_observation **observation_out,
                                          struct pto_error *error);
/* After the last run, or at destroy: what is known when all calls are, of all runs. */
void pto_observation_finish(struct pto_observation *observation);
/* Before the runtime is destroyed.  Takes NULL too. */
void pto_observation_destroy(struct pto_observation *observation);

/* Before a run: whole pages that hold external memory of the program, with nothing else in them.  Without this,
 * external memory is observed too, but up to 64 bytes past its ends.  Of a context: its tensors have the names that
 * tasks have recorded. */
void pto_observation_add_device(struct pto_observation *observation, void *addr, uint64_t size_bytes);
/* The same for an array, which lies between `margin_bytes` of its own before and behind it, pages or more; it is
 * borrowed until destroy, and sentences know its elements. */
void pto_observation_add_array(struct pto_observation *observation, const struct pto_array *array,
                               uint64_t margin_bytes);

struct pto_observe_summary pto_observation_summary(const struct pto_observation *observation);
/* Whether not all was observed that was to be; then the sentence that says so. */
bool pto_observe_summary_fails(const struct pto_observe_summary *summary, struct pto_error *error);
/* The numbers of both. */
void pto_observe_summary_add(struct pto_observe_summary *all, const struct pto_observe_summary *summary);

#endif
