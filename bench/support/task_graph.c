/* SPDX-License-Identifier: MIT */
/*
 * See task_graph.h.  Everything here is done before or after the clock runs, but for what a task does.
 */
#include <bench/support/task_graph.h>

#include <bench/support/bench_clock.h>
#include <orchestration/basics/task_patterns.h>

#include <math.h>
#include <stdlib.h>

#define NONE UINT32_MAX
#define CACHE_LINE 64

static uint64_t buffer_bytes(const struct pto_task_graph *g, int buffer) {
  return (uint64_t)g->tile_counts[buffer] * PTO_TASK_TILE_ELEMS * sizeof(uint32_t);
}

/* ---- the work ---- */

void pto_task_apply(enum pto_task_access access, uint32_t task, uint32_t *x, uint32_t *y, uint32_t *z) {
  switch (access) {
  case PTO_TASK_READ_WRITE:
    *y = task_fold(task, *x);
    break;
  case PTO_TASK_READ_READ_WRITE:
    *z = task_fold(task_fold(task, *x), *y);
    break;
  case PTO_TASK_READ_UPDATE:
    *y = task_fold(task_fold(task, *x), *y);
    break;
  case PTO_TASK_READ_READ_UPDATE:
    *z = task_fold(task_fold(task_fold(task, *x), *y), *z);
    break;
  case PTO_TASK_ROW_UPDATE: {
    uint32_t folded = task;
    for (uint32_t i = 0; i < PTO_TASK_WIDTH; i++, x += PTO_TASK_TILE_ELEMS) *x = folded = task_fold(folded, *x);
    *y = task_fold(folded, *y);
  }
  }
}

void pto_task_body(uint64_t steps) {
  static _Thread_local uint64_t chain;
  uint64_t x = chain;
  for (uint64_t i = 0; i < steps; i++) {
    x = x * UINT64_C(6364136223846793005) + 1; /* Knuth's MMIX generator */
    __asm__ volatile("" : "+r"(x));
  }
  chain = x;
}

double pto_task_body_steps_per_ns(void) {
  const uint64_t steps = 1 << 20;
  double most = 0;
  for (int i = 0; i < 15; i++) {
    const double begin = pto_bench_now_ns();
    pto_task_body(steps);
    most = fmax(most, (double)steps / (pto_bench_now_ns() - begin));
  }
  return most;
}

void pto_task_graph_do(const struct pto_task_graph *graph, uint32_t task) {
  const struct pto_task_node *node = &graph->nodes[task];
  if (graph->body_steps) pto_task_body(graph->body_steps);
  pto_task_apply((enum pto_task_access)node->access, task, pto_task_graph_tile(graph, node->buffers[0], node->tiles[0]),
                 pto_task_graph_tile(graph, node->buffers[1], node->tiles[1]),
                 pto_task_graph_tile(graph, node->buffers[2], node->tiles[2]));
}

static void copy(const struct pto_task_graph *g, uint32_t *const to[2], uint32_t *const from[2]) {
  for (int buffer = 0; buffer < 2; buffer++) memcpy(to[buffer], from[buffer], buffer_bytes(g, buffer));
}

void pto_task_graph_rewind(struct pto_task_graph *graph) { copy(graph, graph->buffers, graph->begins); }

bool pto_task_graph_is_right(const struct pto_task_graph *graph) {
  return memcmp(graph->buffers[0], graph->ends[0], buffer_bytes(graph, 0)) == 0 &&
         memcmp(graph->buffers[1], graph->ends[1], buffer_bytes(graph, 1)) == 0;
}

/* ---- tasks ---- */

static bool make_nodes(struct pto_task_graph *g, const char *name) {
  static const uint8_t accesses[TASK_KIND_COUNT] = {
      [TASK_ONE] = PTO_TASK_READ_WRITE,          [TASK_TWO] = PTO_TASK_READ_READ_WRITE,
      [TASK_PRODUCT] = PTO_TASK_READ_READ_WRITE, [TASK_UPDATE_ONE] = PTO_TASK_READ_UPDATE,
      [TASK_JOIN] = PTO_TASK_ROW_UPDATE,         [TASK_UPDATE_TWO] = PTO_TASK_READ_READ_UPDATE};
  const struct task_pattern *pattern = task_pattern_find(name);
  uint64_t tiles[2];
  if (pattern == NULL || (g->nodes = calloc(g->task_count, sizeof *g->nodes)) == NULL) return false;
  struct task_walk walk = task_pattern_begin(pattern, PTO_TASK_WIDTH, g->task_count, tiles);
  g->tile_counts[0] = (uint32_t)tiles[0];
  g->tile_counts[1] = (uint32_t)tiles[1];
  for (uint32_t i = 0; i < g->task_count; i++, task_walk_advance(&walk)) {
    const struct task_step step = pattern->step(&walk, i);
    struct pto_task_node *node = &g->nodes[i];
    for (int place = 0; place < step.count; place++) {
      node->tiles[place] = (uint32_t)step.tiles[place];
      node->buffers[place] = step.buffers[place];
    }
    node->access = accesses[step.kind];
    node->is_matrix = step.kind == TASK_PRODUCT;
  }
  return true;
}

static bool make_buffers(struct pto_task_graph *g) {
  for (int buffer = 0; buffer < 2; buffer++) {
    uint32_t **const copies[] = {&g->buffers[buffer], &g->begins[buffer], &g->ends[buffer]};
    for (int i = 0; i < 3; i++)
      if ((*copies[i] = aligned_alloc(CACHE_LINE, buffer_bytes(g, buffer))) == NULL) return false;
    for (uint64_t i = 0; i < buffer_bytes(g, buffer) / sizeof(uint32_t); i++)
      g->begins[buffer][i] = (uint32_t)task_draw(i + 1);
  }
  pto_task_graph_rewind(g);
  for (uint32_t i = 0; i < g->task_count; i++) pto_task_graph_do(g, i);
  copy(g, g->ends, g->buffers);
  pto_task_graph_rewind(g);
  return true;
}

/* ---- edges ---- */

/* The accesses so far, by tile; both buffers' tiles are numbered through. */
struct past {
  uint32_t *writers; /* the last one; NONE */
  uint32_t *readers; /* the first of a list in `links`; NONE */
  struct {
    uint32_t task, next;
  } * links;
  uint32_t link_count;
  uint32_t *latest_consumers; /* of each task: so that a pair of tasks has one edge */
  struct {
    uint32_t from, to;
  } * edges;
  uint32_t edge_count, edge_capacity;
  bool is_out_of_memory;
};

static void add_edge(struct past *p, uint32_t from, uint32_t to) {
  if (from == NONE || from == to || p->latest_consumers[from] == to || p->is_out_of_memory) return;
  p->latest_consumers[from] = to;
  if (p->edge_count == p->edge_capacity) {
    const uint32_t capacity = p->edge_capacity ? 2 * p->edge_capacity : 1024;
    void *larger = realloc(p->edges, capacity * sizeof *p->edges);
    p->is_out_of_memory = larger == NULL;
    if (larger == NULL) return;
    p->edges = larger;
    p->edge_capacity = capacity;
  }
  p->edges[p->edge_count].from = from;
  p->edges[p->edge_count++].to = to;
}

static void read_tile(struct past *p, uint32_t tile, uint32_t task) {
  add_edge(p, p->writers[tile], task);
  p->links[p->link_count].task = task;
  p->links[p->link_count].next = p->readers[tile];
  p->readers[tile] = p->link_count++;
}

static void write_tile(struct past *p, uint32_t tile, uint32_t task) {
  add_edge(p, p->writers[tile], task);
  for (uint32_t link = p->readers[tile]; link != NONE; link = p->links[link].next)
    add_edge(p, p->links[link].task, task);
  p->writers[tile] = task;
  p->readers[tile] = NONE;
}

static void access_tiles(const struct pto_task_graph *g, struct past *p, uint32_t task) {
  const struct pto_task_node *node = &g->nodes[task];
  uint32_t tiles[3];
  for (int place = 0; place < 3; place++)
    tiles[place] = node->tiles[place] + (node->buffers[place] ? g->tile_counts[0] : 0);
  const bool reads_two = node->access == PTO_TASK_READ_READ_WRITE || node->access == PTO_TASK_READ_READ_UPDATE;
  if (node->access == PTO_TASK_ROW_UPDATE) {
    for (uint32_t i = 0; i < PTO_TASK_WIDTH; i++) write_tile(p, tiles[0] + i, task);
  } else {
    read_tile(p, tiles[0], task);
    if (reads_two) read_tile(p, tiles[1], task);
  }
  write_tile(p, tiles[reads_two ? 2 : 1], task);
}

/* The edges by the task that they come from. */
static bool sort_edges(struct pto_task_graph *g, const struct past *p) {
  g->edge_count = p->edge_count;
  g->producer_counts = calloc(g->task_count, sizeof *g->producer_counts);
  g->consumer_begins = calloc((uint64_t)g->task_count + 2, sizeof *g->consumer_begins);
  g->consumers = calloc((uint64_t)p->edge_count + 1, sizeof *g->consumers);
  if (!g->producer_counts || !g->consumer_begins || !g->consumers) return false;
  uint32_t *fill = g->consumer_begins + 1; /* task i's begin, which ends up as the next one's */
  for (uint32_t i = 0; i < p->edge_count; i++) {
    g->producer_counts[p->edges[i].to]++;
    fill[p->edges[i].from + 1]++;
  }
  for (uint32_t i = 0; i < g->task_count; i++) fill[i + 1] += fill[i];
  for (uint32_t i = 0; i < p->edge_count; i++) g->consumers[fill[p->edges[i].from]++] = p->edges[i].to;
  return true;
}

static bool make_edges(struct pto_task_graph *g) {
  const uint64_t tiles = (uint64_t)g->tile_counts[0] + g->tile_counts[1], tasks = g->task_count;
  struct past p = {.writers = malloc(tiles * sizeof *p.writers),
                   .readers = malloc(tiles * sizeof *p.readers),
                   .links = malloc(2 * tasks * sizeof *p.links),
                   .latest_consumers = malloc(tasks * sizeof *p.latest_consumers)};
  bool is_made = p.writers && p.readers && p.links && p.latest_consumers;
  if (is_made) {
    memset(p.writers, 0xff, tiles * sizeof *p.writers);
    memset(p.readers, 0xff, tiles * sizeof *p.readers);
    memset(p.latest_consumers, 0xff, tasks * sizeof *p.latest_consumers);
    for (uint32_t i = 0; i < g->task_count; i++) access_tiles(g, &p, i);
    is_made = !p.is_out_of_memory && sort_edges(g, &p);
  }
  free(p.writers);
  free(p.readers);
  free(p.links);
  free(p.latest_consumers);
  free(p.edges);
  return is_made;
}

/* ---- life ---- */

struct pto_task_graph *pto_task_graph_create(const char *pattern, uint32_t task_count) {
  struct pto_task_graph *g = calloc(1, sizeof *g);
  if (g == NULL) return NULL;
  g->task_count = task_count;
  if (make_nodes(g, pattern) && make_buffers(g) && make_edges(g)) return g;
  pto_task_graph_destroy(g);
  return NULL;
}

void pto_task_graph_destroy(struct pto_task_graph *graph) {
  if (graph == NULL) return;
  free(graph->nodes);
  free(graph->producer_counts);
  free(graph->consumers);
  free(graph->consumer_begins);
  for (int buffer = 0; buffer < 2; buffer++) {
    free(graph->buffers[buffer]);
    free(graph->begins[buffer]);
    free(graph->ends[buffer]);
  }
  free(graph);
}
