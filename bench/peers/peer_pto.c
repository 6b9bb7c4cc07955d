/* SPDX-License-Identifier: MIT */
/*
 * Our own runtime, as one of those that are compared: the engine threads, the chip a2a3, exact dependencies.
 *
 * The submitter helps while it waits.  Registering the two buffers is part of the time, making the runtime is not.
 */
#include <bench/peers/peer.h>
#include <bench/support/graph_run.h>

#include <stdio.h>
#include <stdlib.h>

/* Two scopes: a larger one finds nothing more to do, and its memory comes through the caches. */
#define WINDOW (2 * PTO_GRAPH_SCOPE_TASKS)

static struct pto_graph_run run = {.scope_tasks = PTO_GRAPH_SCOPE_TASKS};
static struct pto_runtime *rt;

bool pto_peer_begin(const struct pto_task_graph *graph, const struct pto_peer_setup *setup) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "threads", .chip = "a2a3", .workers = setup->workers, .window = WINDOW};
  char sentence[256];
  run.graph = graph;
  if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence) == PTO_OK) return true;
  fprintf(stderr, "pto: %s\n", sentence);
  return false;
}

void pto_peer_prepare(void) {}

void pto_peer_run(void) {
  if (pto_run(rt, pto_graph_run_orchestrate, &run) == PTO_OK) return;
  fprintf(stderr, "pto: %s\n", pto_last_error(rt));
  exit(1);
}

void pto_peer_end(void) { pto_runtime_destroy(rt); }
