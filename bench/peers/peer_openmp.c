/* SPDX-License-Identifier: MIT */
/*
 * OpenMP tasks with depend clauses; built twice, with gcc for libgomp and with clang for LLVM's runtime.
 *
 * A tile is named by its first element, a row by an iterator over its tiles.  The submitter helps while it waits; with
 * the option it does not: it looks at a count of the tasks done instead of entering the runtime.  libgomp still
 * makes a submitter do a task itself when 64 a thread are waiting, and so does LLVM without
 * KMP_ENABLE_TASK_THROTTLING=0; neither has a switch for a submitter that only submits.
 */
#include <bench/peers/peer.h>

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define SPINS 1000 /* looks at the count between two offers of the CPU */

static const struct pto_task_graph *graph;
static struct pto_peer_setup setup;
static _Alignas(64) atomic_uint done_count; /* workers → submitter: release, all that the tasks wrote */

static void do_task(uint32_t task) {
  pto_task_graph_do(graph, task);
  if (setup.is_option) atomic_fetch_add_explicit(&done_count, 1, memory_order_release);
}

static void submit(uint32_t task) {
  const struct pto_task_node *node = &graph->nodes[task];
  uint32_t *x = pto_task_graph_tile(graph, node->buffers[0], node->tiles[0]);
  uint32_t *y = pto_task_graph_tile(graph, node->buffers[1], node->tiles[1]);
  uint32_t *z = pto_task_graph_tile(graph, node->buffers[2], node->tiles[2]);
  (void)x, (void)y, (void)z; /* gcc does not count a clause as a use */
  switch ((enum pto_task_access)node->access) {
  case PTO_TASK_READ_WRITE: {
#pragma omp task firstprivate(task) depend(in : x[0]) depend(out : y[0])
    do_task(task);
    break;
  }
  case PTO_TASK_READ_READ_WRITE: {
#pragma omp task firstprivate(task) depend(in : x[0], y[0]) depend(out : z[0])
    do_task(task);
    break;
  }
  case PTO_TASK_READ_UPDATE: {
#pragma omp task firstprivate(task) depend(in : x[0]) depend(inout : y[0])
    do_task(task);
    break;
  }
  case PTO_TASK_READ_READ_UPDATE: {
#pragma omp task firstprivate(task) depend(in : x[0], y[0]) depend(inout : z[0])
    do_task(task);
    break;
  }
  case PTO_TASK_ROW_UPDATE: {
    /* clang-format off */
#pragma omp task firstprivate(task) depend(inout : y[0]) \
    depend(iterator(uint32_t i = 0 : PTO_TASK_WIDTH), inout : x[i * PTO_TASK_TILE_ELEMS])
    /* clang-format on */
    do_task(task);
    break;
  }
  }
}

static void wait_for(uint32_t count) {
  for (uint32_t spins = 1; atomic_load_explicit(&done_count, memory_order_acquire) != count; spins++)
    if (spins % SPINS == 0) sched_yield();
}

bool pto_peer_begin(const struct pto_task_graph *g, const struct pto_peer_setup *s) {
  graph = g;
  setup = *s;
  if (!setup.is_option || setup.workers > 1) return true;
  fprintf(stderr, "a submitter that does not help needs another thread\n");
  return false;
}

void pto_peer_prepare(void) { atomic_store_explicit(&done_count, 0, memory_order_relaxed); }

void pto_peer_run(void) {
#pragma omp parallel num_threads((int)setup.workers)
#pragma omp single
  {
    uint32_t left = setup.window;
    for (uint32_t i = 0; i < graph->task_count; i++) {
      submit(i);
      if (setup.window == 0 || --left > 0) continue;
      left = setup.window;
      if (setup.is_option) {
        wait_for(i + 1);
      } else {
#pragma omp taskwait
      }
    }
    if (setup.is_option) wait_for(graph->task_count);
  }
}

void pto_peer_end(void) {}
