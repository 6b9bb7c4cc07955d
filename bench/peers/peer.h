/* SPDX-License-Identifier: MIT */
/*
 * What a task runtime is to the benches that compare several: a program that does the tasks of a task_graph.
 *
 * A peer is one source that defines the four functions below; peer_main.c has the main program, which takes the time.
 * Submission is part of pto_peer_run and so of the figure, as dependency analysis is; what the peer may prepare before
 * (threads, handles, counters) belongs into the others.  All are called on one thread.
 *
 * To add a peer: its source, a line in scripts/probe and in the Makefile (other task runtimes), its systems in
 * bench/support/systems.c.
 * C++ may include this.
 */
#ifndef PTO_BENCH_PEER_H
#define PTO_BENCH_PEER_H

#include <bench/support/task_graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_peer_setup {
  uint32_t workers; /* threads in all, the submitter included */
  uint32_t window;  /* the submitter waits for all tasks after this many; 0: only at the end */
  bool is_option;   /* the peer's one variation; see its source */
};

/* Before the first round.  False, with a line on standard error: cannot be done. */
bool pto_peer_begin(const struct pto_task_graph *graph, const struct pto_peer_setup *setup);
/* Before each round. */
void pto_peer_prepare(void);
/* All tasks, from the first submit until the last is done. */
void pto_peer_run(void);
void pto_peer_end(void);

#ifdef __cplusplus
}
#endif

#endif
