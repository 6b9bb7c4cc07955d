/* SPDX-License-Identifier: MIT */
/*
 * StarPU: a handle a tile, implicit dependencies by access modes, the policy lws.
 *
 * The submitter does not do tasks, which StarPU has no way for; so of N threads N − 1 are StarPU's workers, and there
 * is no figure for one.  Registering handles costs microseconds each and is not part of the time.
 */
#include <bench/peers/peer.h>

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static const struct pto_task_graph *graph;
static struct pto_peer_setup setup;
static starpu_data_handle_t *handles[2];

static void do_task(void *buffers[], void *argument) {
  (void)buffers;
  pto_task_graph_do(graph, (uint32_t)(uintptr_t)argument);
}

#define CODELET(count_, ...)                                                                                           \
  {                                                                                                                    \
    .cpu_funcs = {do_task}, .nbuffers = count_, .modes = { __VA_ARGS__ }                                               \
  }
static struct starpu_codelet codelets[] = {
    [PTO_TASK_READ_WRITE] = CODELET(2, STARPU_R, STARPU_W),
    [PTO_TASK_READ_READ_WRITE] = CODELET(3, STARPU_R, STARPU_R, STARPU_W),
    [PTO_TASK_READ_UPDATE] = CODELET(2, STARPU_R, STARPU_RW),
    [PTO_TASK_READ_READ_UPDATE] = CODELET(3, STARPU_R, STARPU_R, STARPU_RW),
    [PTO_TASK_ROW_UPDATE] = {.cpu_funcs = {do_task}, .nbuffers = STARPU_VARIABLE_NBUFFERS},
};

/* More handles than a task has room for; StarPU frees the arrays with the task. */
static void set_row(struct starpu_task *task, const struct pto_task_node *node) {
  const uint32_t count = PTO_TASK_WIDTH + 1;
  task->nbuffers = (int)count;
  task->dyn_handles = malloc(count * sizeof *task->dyn_handles);
  task->dyn_modes = malloc(count * sizeof *task->dyn_modes);
  if (task->dyn_handles == NULL || task->dyn_modes == NULL) abort();
  for (uint32_t i = 0; i < count; i++) task->dyn_modes[i] = STARPU_RW;
  for (uint32_t i = 0; i < PTO_TASK_WIDTH; i++) task->dyn_handles[i] = handles[node->buffers[0]][node->tiles[0] + i];
  task->dyn_handles[PTO_TASK_WIDTH] = handles[node->buffers[1]][node->tiles[1]];
}

static void submit(uint32_t i) {
  const struct pto_task_node *node = &graph->nodes[i];
  struct starpu_task *task = starpu_task_create();
  task->cl = &codelets[node->access];
  task->cl_arg = (void *)(uintptr_t)i;
  if (node->access == PTO_TASK_ROW_UPDATE)
    set_row(task, node);
  else
    for (int place = 0; place < task->cl->nbuffers; place++)
      task->handles[place] = handles[node->buffers[place]][node->tiles[place]];
  if (starpu_task_submit(task) != 0) abort();
}

bool pto_peer_begin(const struct pto_task_graph *g, const struct pto_peer_setup *s) {
  graph = g;
  setup = *s;
  struct starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy_name = "lws";
  conf.ncpus = (int)setup.workers - 1;
  conf.ncuda = conf.nopencl = 0;
  if (setup.workers < 2 || starpu_init(&conf) != 0) {
    fprintf(stderr, "StarPU does not start with %u threads\n", setup.workers);
    return false;
  }
  for (uint32_t buffer = 0; buffer < 2; buffer++) {
    handles[buffer] = malloc(g->tile_counts[buffer] * sizeof(starpu_data_handle_t));
    if (handles[buffer] == NULL) return false;
    for (uint32_t i = 0; i < g->tile_counts[buffer]; i++)
      starpu_variable_data_register(&handles[buffer][i], STARPU_MAIN_RAM, (uintptr_t)pto_task_graph_tile(g, buffer, i),
                                    PTO_TASK_TILE_ELEMS * sizeof(uint32_t));
  }
  return true;
}

void pto_peer_prepare(void) {}

void pto_peer_run(void) {
  for (uint32_t i = 0; i < graph->task_count; i++) {
    submit(i);
    if (setup.window != 0 && (i + 1) % setup.window == 0) starpu_task_wait_for_all();
  }
  starpu_task_wait_for_all();
}

void pto_peer_end(void) {
  for (uint32_t buffer = 0; buffer < 2; buffer++) {
    for (uint32_t i = 0; i < graph->tile_counts[buffer]; i++) starpu_data_unregister(handles[buffer][i]);
    free(handles[buffer]);
  }
  starpu_shutdown();
}
