/* SPDX-License-Identifier: MIT */
/*
 * The main program of every task runtime that benches compare, which bench/support/systems.c starts:
 *
 *   PEER PATTERN TASKS WORKERS WINDOW OPTION ROUNDS BODY_STEPS
 *
 * One round to warm up, then ROUNDS that are timed: a line each on standard output with nanoseconds a task, of the
 * clock and of CPU time of all threads.  After each round the buffers are compared with what the tasks leave when done
 * one after the other: status 1 if they differ.  Where tasks have a body, a line comes before with the nanoseconds that
 * a task takes in a plain loop on one thread, the least of a loop before all rounds and one after them.
 */
#include <bench/peers/peer.h>
#include <bench/support/bench_clock.h>

#include <stdio.h>
#include <stdlib.h>

#define MAX_ROUNDS 99

static struct pto_task_graph *graph;

static double serial_ns(void) {
  pto_task_graph_rewind(graph);
  const double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < graph->task_count; i++) pto_task_graph_do(graph, i);
  return (pto_bench_now_ns() - begin) / graph->task_count;
}

/* Whether what the tasks left is right. */
static bool run_round(double *wall_ns, double *cpu_ns) {
  pto_task_graph_rewind(graph);
  pto_peer_prepare();
  const double cpu_begin = pto_bench_cpu_ns(), begin = pto_bench_now_ns();
  pto_peer_run();
  *wall_ns = (pto_bench_now_ns() - begin) / graph->task_count;
  *cpu_ns = (pto_bench_cpu_ns() - cpu_begin) / graph->task_count;
  return pto_task_graph_is_right(graph);
}

int main(int argc, char **argv) {
  if (argc != 8) return 2;
  const struct pto_peer_setup setup = {
      .workers = (uint32_t)atoi(argv[3]), .window = (uint32_t)atoi(argv[4]), .is_option = atoi(argv[5]) != 0};
  const int rounds = atoi(argv[6]);
  double wall_ns[MAX_ROUNDS + 1], cpu_ns[MAX_ROUNDS + 1];
  graph = pto_task_graph_create(argv[1], (uint32_t)atoi(argv[2]));
  if (rounds > MAX_ROUNDS || graph == NULL) return 2;
  graph->body_steps = strtoull(argv[7], NULL, 10);
  const double before = graph->body_steps ? serial_ns() : 0;
  if (!pto_peer_begin(graph, &setup)) return 2;
  for (int round = 0; round <= rounds; round++) {
    if (run_round(&wall_ns[round], &cpu_ns[round])) continue;
    fprintf(stderr, "%s: %s with %s threads: a dependency was not kept\n", argv[0], argv[1], argv[3]);
    return 1;
  }
  pto_peer_end();
  if (graph->body_steps) {
    const double after = serial_ns();
    printf("%.3f\n", after < before ? after : before);
  }
  for (int round = 1; round <= rounds; round++) printf("%.3f %.3f\n", wall_ns[round], cpu_ns[round]);
  pto_task_graph_destroy(graph);
  return 0;
}
