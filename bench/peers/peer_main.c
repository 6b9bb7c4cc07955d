/* SPDX-License-Identifier: MIT */
/*
 * The main program of every peer of bench_task_overhead, which starts it:
 *
 *   PEER PATTERN TASKS WORKERS WINDOW OPTION ROUNDS
 *
 * One round to warm up, then ROUNDS that are timed: a line each on standard output with nanoseconds a task, of the
 * clock and of CPU time of all threads.  After each round the buffers are compared with what the tasks leave when done
 * one after the other: status 1 if they differ.
 */
#include <bench/peers/peer.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  const uint32_t task_count = (uint32_t)atoi(argv[2]);
  const struct pto_peer_setup setup = {
      .workers = (uint32_t)atoi(argv[3]), .window = (uint32_t)atoi(argv[4]), .is_option = atoi(argv[5]) != 0};
  const int rounds = atoi(argv[6]);
  struct pto_task_graph *graph = pto_task_graph_create(argv[1], task_count);
  if (graph == NULL || !pto_peer_begin(graph, &setup)) return 2;
  for (int round = 0; round <= rounds; round++) {
    pto_task_graph_rewind(graph);
    pto_peer_prepare();
    const double cpu_begin = now_ns(CLOCK_PROCESS_CPUTIME_ID), begin = now_ns(CLOCK_MONOTONIC);
    pto_peer_run();
    const double took = now_ns(CLOCK_MONOTONIC) - begin, cpu_took = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
    if (!pto_task_graph_is_right(graph)) {
      fprintf(stderr, "%s: %s with %s threads: a dependency was not kept\n", argv[0], argv[1], argv[3]);
      return 1;
    }
    if (round > 0) printf("%.3f %.3f\n", took / task_count, cpu_took / task_count);
  }
  pto_peer_end();
  pto_task_graph_destroy(graph);
  return 0;
}
