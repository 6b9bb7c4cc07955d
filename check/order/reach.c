/* SPDX-License-Identifier: MIT */
#include <check/order/reach.h>

#include <stdlib.h>
#include <string.h>

/* ---- labels ---- */

struct walk {
  struct pto_reach *reach;
  uint32_t number, next_rank;
};

static struct pto_reach_label *label_of(const struct pto_reach *reach, uint32_t walk, uint32_t node) {
  return &reach->labels[(uint64_t)node * PTO_REACH_WALKS + walk];
}

/* The k-th predecessor in the order of the walk: latest first, earliest first, or turned by a hash. */
static uint32_t predecessor(const struct walk *w, uint32_t node, uint32_t k) {
  const struct pto_graph_node *n = &w->reach->graph->nodes[node];
  const uint32_t *before = w->reach->graph->before + n->first_before;
  if (w->number == 0) return before[n->before_count - 1 - k];
  if (w->number == 1) return before[k];
  return before[(k + pto_mix64(node)) % n->before_count];
}

static void leave(struct walk *w, uint32_t node) {
  const struct pto_graph_node *n = &w->reach->graph->nodes[node];
  struct pto_reach_label *label = label_of(w->reach, w->number, node);
  label->rank = w->next_rank++;
  label->least = label->tree_least; /* the ranks given since it was entered are those below it in the tree */
  for (uint32_t k = 0; k < n->before_count; k++) {
    const struct pto_reach_label *below = label_of(w->reach, w->number, predecessor(w, node, k));
    if (below->least < label->least) label->least = below->least;
  }
}

static void walk_from(struct walk *w, uint32_t root) {
  struct pto_reach *reach = w->reach;
  uint32_t depth = 0;
  reach->stack[depth++] = root;
  reach->next[root] = 0;
  label_of(reach, w->number, root)->tree_least = w->next_rank;
  while (depth) {
    const uint32_t node = reach->stack[depth - 1];
    if (reach->next[node] == reach->graph->nodes[node].before_count) {
      leave(w, node);
      depth--;
      continue;
    }
    const uint32_t below = predecessor(w, node, reach->next[node]++);
    if (reach->next[below] != PTO_GRAPH_NONE) continue; /* met already */
    reach->next[below] = 0;
    label_of(reach, w->number, below)->tree_least = w->next_rank;
    reach->stack[depth++] = below;
  }
}

static void make_levels(struct pto_reach *reach) {
  const struct pto_access_graph *graph = reach->graph;
  for (uint32_t node = 0; node < graph->node_count; node++) {
    const struct pto_graph_node *n = &graph->nodes[node];
    reach->levels[node] = 0;
    for (uint32_t k = 0; k < n->before_count; k++) {
      const uint32_t level = reach->levels[graph->before[n->first_before + k]] + 1;
      if (level > reach->levels[node]) reach->levels[node] = level;
    }
  }
}

int pto_reach_init(struct pto_reach *reach, const struct pto_access_graph *graph) {
  const uint64_t nodes = (uint64_t)graph->node_count + 1;
  *reach = (struct pto_reach){.graph = graph};
  reach->labels = malloc(nodes * PTO_REACH_WALKS * sizeof *reach->labels);
  reach->levels = malloc(nodes * sizeof *reach->levels);
  reach->stack = malloc(nodes * sizeof *reach->stack);
  reach->visited = calloc(nodes, sizeof *reach->visited);
  reach->next = malloc(nodes * sizeof *reach->next);
  if (!reach->labels || !reach->levels || !reach->stack || !reach->visited || !reach->next) {
    pto_reach_fini(reach);
    return PTO_ENOMEM;
  }
  struct walk w = {.reach = reach};
  make_levels(reach);
  for (w.number = 0; w.number < PTO_REACH_WALKS; w.number++) {
    w.next_rank = 0;
    memset(reach->next, 0xff, nodes * sizeof *reach->next);
    for (uint32_t node = graph->node_count; node-- > 0;)
      if (reach->next[node] == PTO_GRAPH_NONE) walk_from(&w, node);
  }
  return PTO_OK;
}

void pto_reach_fini(struct pto_reach *reach) {
  free(reach->labels);
  free(reach->levels);
  free(reach->stack);
  free(reach->visited);
  free(reach->next);
  memset(reach, 0, sizeof *reach);
}

/* ---- questions ---- */

enum verdict { NO, YES, OPEN };

static enum verdict compare_labels(const struct pto_reach *reach, uint32_t earlier, uint32_t later) {
  if (earlier == later) return YES;
  if (earlier > later || reach->levels[earlier] >= reach->levels[later]) return NO;
  const struct pto_reach_label *from = label_of(reach, 0, earlier), *to = label_of(reach, 0, later);
  for (uint32_t w = 0; w < PTO_REACH_WALKS; w++) {
    if (from[w].rank > to[w].rank || from[w].rank < to[w].least) return NO;
    if (from[w].rank >= to[w].tree_least) return YES;
  }
  return OPEN;
}

static uint32_t new_search(struct pto_reach *reach) {
  if (++reach->serial == 0) {
    memset(reach->visited, 0, ((uint64_t)reach->graph->node_count + 1) * sizeof *reach->visited);
    reach->serial = 1;
  }
  return reach->serial;
}

bool pto_reach_has_path(struct pto_reach *reach, uint32_t earlier, uint32_t later) {
  const struct pto_access_graph *graph = reach->graph;
  enum verdict verdict = compare_labels(reach, earlier, later);
  if (verdict != OPEN) return verdict == YES;
  const uint32_t serial = new_search(reach);
  uint32_t depth = 0;
  reach->stack[depth++] = later;
  reach->visited[later] = serial;
  while (depth) {
    const struct pto_graph_node *n = &graph->nodes[reach->stack[--depth]];
    for (uint32_t k = 0; k < n->before_count; k++) {
      const uint32_t below = graph->before[n->first_before + k];
      if (reach->visited[below] == serial) continue;
      reach->visited[below] = serial;
      reach->steps++;
      verdict = compare_labels(reach, earlier, below);
      if (verdict == YES) return true;
      if (verdict == OPEN) reach->stack[depth++] = below;
    }
  }
  return false;
}

uint32_t pto_reach_shortest_path(struct pto_reach *reach, uint32_t earlier, uint32_t later, uint32_t *path) {
  const struct pto_access_graph *graph = reach->graph;
  if (earlier > later) return 0;
  if (earlier == later) {
    path[0] = earlier;
    return 1;
  }
  uint32_t *queue = reach->stack, head = 0, tail = 0, length = 1;
  const uint32_t serial = new_search(reach);
  queue[tail++] = later;
  reach->visited[later] = serial;
  while (head < tail && reach->visited[earlier] != serial) {
    const uint32_t node = queue[head++];
    const struct pto_graph_node *n = &graph->nodes[node];
    for (uint32_t k = n->before_count; k-- > 0;) {
      const uint32_t below = graph->before[n->first_before + k];
      if (reach->visited[below] == serial || compare_labels(reach, earlier, below) == NO) continue;
      reach->visited[below] = serial;
      reach->next[below] = node;
      queue[tail++] = below;
    }
  }
  const bool is_found = reach->visited[earlier] == serial;
  path[0] = earlier;
  for (uint32_t node = earlier; is_found && node != later; length++) path[length] = node = reach->next[node];
  return is_found ? length : 0;
}
