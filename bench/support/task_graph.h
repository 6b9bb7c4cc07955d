/* SPDX-License-Identifier: MIT */
/*
 * One task_bench graph as plain data, for task runtimes that are not ours: the tasks, their tiles, the true
 * dependencies, what a task does, and whether what was done is right.
 *
 * Owns two buffers of tiles of one cache line each, and what they must hold at the end (found by doing the tasks one
 * after the other).  Each task folds what it reads into what it writes, and the fold does not commute: so the end is
 * right only if every task ran once and after all that it depends on.  An edge goes to a task from the last writer of
 * each tile that it touches, and to one that writes also from all readers since then; each pair of tasks has at most
 * one edge, and these are the edges that ptosim counts.
 *
 * Threads: pto_task_graph_do from any, on tasks that do not depend on each other; all else from one.
 * C++ may include this.
 */
#ifndef PTO_BENCH_TASK_GRAPH_H
#define PTO_BENCH_TASK_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTO_TASK_TILE_ELEMS 16u
#define PTO_TASK_WIDTH 64u
#define PTO_TASK_ROW_ELEMS (PTO_TASK_WIDTH * PTO_TASK_TILE_ELEMS)

/* How a task touches its tiles, in order; the last is the one written. */
enum pto_task_access {
  PTO_TASK_READ_WRITE,       /* in, out */
  PTO_TASK_READ_READ_WRITE,  /* in, in, out */
  PTO_TASK_READ_UPDATE,      /* in, inout */
  PTO_TASK_READ_READ_UPDATE, /* in, in, inout */
  PTO_TASK_ROW_UPDATE,       /* PTO_TASK_WIDTH tiles from the first one on inout, inout */
};

struct pto_task_node {
  uint32_t tiles[3];
  uint8_t buffers[3];
  uint8_t access : 4;    /* enum pto_task_access */
  uint8_t is_matrix : 1; /* where cores differ: for one that multiplies matrices */
};

struct pto_task_graph {
  uint32_t task_count, edge_count;
  struct pto_task_node *nodes;
  uint32_t *producer_counts; /* edges into each task */
  uint32_t *consumers;       /* of task i: from consumer_begins[i] to before consumer_begins[i + 1] */
  uint32_t *consumer_begins;
  uint32_t tile_counts[2];
  uint32_t *buffers[2]; /* what the tasks work on */
  uint32_t *begins[2];  /* what they hold before and after */
  uint32_t *ends[2];
  uint64_t body_steps; /* how long a task is: see pto_task_body; 0, as created: empty */
};

/* NULL: there is no such pattern, or no memory. */
struct pto_task_graph *pto_task_graph_create(const char *pattern, uint32_t task_count);
/* NULL is allowed. */
void pto_task_graph_destroy(struct pto_task_graph *graph);

/* What a task does with the first elements of its tiles, in order; z is for accesses of three. */
void pto_task_apply(enum pto_task_access access, uint32_t task, uint32_t *x, uint32_t *y, uint32_t *z);

/* One multiply-add after another, each waiting for the one before, and no result depends on them.  The chain goes on
 * from task to task of a thread, since chains that start afresh would overlap in the processor and take less time than
 * they say. */
void pto_task_body(uint64_t steps);
/* Of the processor as it is now: the fastest of some tries, which is the one that nothing disturbed. */
double pto_task_body_steps_per_ns(void);

/* The task's own work: its body, then what it applies. */
void pto_task_graph_do(const struct pto_task_graph *graph, uint32_t task);

/* The buffers as before the first task. */
void pto_task_graph_rewind(struct pto_task_graph *graph);
/* Whether all tasks took effect, in an order that keeps the dependencies. */
bool pto_task_graph_is_right(const struct pto_task_graph *graph);

static inline uint32_t *pto_task_graph_tile(const struct pto_task_graph *graph, uint32_t buffer, uint32_t tile) {
  return graph->buffers[buffer] + (uint64_t)tile * PTO_TASK_TILE_ELEMS;
}

#ifdef __cplusplus
}
#endif

#endif
