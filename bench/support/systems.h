/* SPDX-License-Identifier: MIT */
/*
 * The task runtimes that benches compare, ours among them, and one repeat of one of them: a process of its own that
 * does a task_graph some times (bench/peers).
 *
 * Owns the list.  A system is a program of bench/peers with settings; programs whose library or compiler this machine
 * lacks are not there, which is a normal state.  One thread.
 *
 * To add a system: a line in systems.c; a program: see bench/peers/peer.h.
 */
#ifndef PTO_BENCH_SYSTEMS_H
#define PTO_BENCH_SYSTEMS_H

#include <stdbool.h>
#include <stdint.h>

struct pto_system {
  const char *name, *program;
  uint32_t workers; /* threads in all, the submitter included */
  uint32_t window;  /* the submitter waits for all tasks after this many; 0: only at the end */
  uint32_t fewer;   /* empty tasks are divided by this: it is slow, or its time a task grows with their number */
  bool is_option;   /* OpenMP: the submitter does not help; TBB: goes on with a consumer in the same call */
};

#define PTO_SYSTEM_COUNT 17u
extern const struct pto_system pto_systems[PTO_SYSTEM_COUNT];

struct pto_system_job {
  const char *pattern;
  uint32_t tasks, rounds; /* rounds ≤ 9 that are timed, after one to warm up */
  uint64_t body_steps;    /* see pto_task_body; 0: empty tasks */
};

/* Nanoseconds a task, the medians of the rounds. */
struct pto_system_times {
  double wall_ns, cpu_ns;
  double serial_ns; /* in a plain loop on one thread; 0 for empty tasks */
};

/* Finds the programs, in the folder PTO_BENCH_PEERS of the environment or else in peers/ beside this program, and names
 * on standard error, a line each, those that are not there. */
bool pto_systems_find(const char *bench);
bool pto_system_is_there(const struct pto_system *system);
/* The system of that name and number of threads, or NULL. */
const struct pto_system *pto_system_find(const char *name, uint32_t workers);

/* One process.  False, with a line on standard error: it failed, left a wrong result or took too long. */
bool pto_system_repeat(const struct pto_system *system, const struct pto_system_job *job,
                       struct pto_system_times *times);
/* Its command, to be run by another program; into PTO_SYSTEM_ARGS strings, the last NULL, valid until the next call. */
#define PTO_SYSTEM_ARGS 9u
void pto_system_command(const struct pto_system *system, const struct pto_system_job *job,
                        const char *args[PTO_SYSTEM_ARGS]);
/* What their programs read from the environment. */
void pto_system_set_environment(const struct pto_system *system);

#endif
