/* SPDX-License-Identifier: MIT */
/*
 * The main program of every peer of bench_task_overhead, which starts it:
 *
 *   PEER PATTERN TASKS WORKERS WINDOW OPTION ROUNDS
 *
 * One round to warm up, then ROUNDS that are timed; each one's nanoseconds a task are a line on standard output.  After
 * each round the buffers are compared with what the tasks leave when done one after the other: status 1 if they differ.
 */
#include <bench/peers/peer.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
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
    const double begin = now_ns();
    pto_peer_run();
    const double took = now_ns() - begin;
    if (!pto_task_graph_is_right(graph)) {
      fprintf(stderr, "%s: %s with %s threads: a dependency was not kept\n", argv[0], argv[1], argv[3]);
      return 1;
    }
    if (round > 0) printf("%.3f\n", took / task_count);
  }
  pto_peer_end();
  pto_task_graph_destroy(graph);
  return 0;
}
