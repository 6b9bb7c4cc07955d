/* SPDX-License-Identifier: MIT */
/* Other runs of an event graph: nodes begin in the order in which the last of their causes ends. */
#include <report/run/event_graph.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define NONE PTO_NO_NODE
#define CLOCKS 256u /* places by struct pto_event_node.clock */

struct pto_event_time {
  uint64_t time;
  uint32_t node;
};

/* ---- what follows from what ---- */

static inline void each_cause(struct pto_event_replay *r, uint32_t index,
                              void (*visit)(struct pto_event_replay *r, uint32_t cause, uint32_t effect)) {
  const struct pto_event_node *node = &r->graph->nodes[index];
  if (node->before != NONE && !node->is_in_turn) visit(r, node->before, index);
  if (node->cause != NONE) visit(r, node->cause, index);
  for (uint32_t i = 0; i < node->link_count; i++) visit(r, r->graph->links[node->first_link + i], index);
}

static void count_cause(struct pto_event_replay *r, uint32_t cause, uint32_t effect) {
  r->cause_counts[effect]++;
  r->first[cause + 1]++;
}

/* From behind, so that first[cause + 1] is where they begin in the end. */
static void put_cause(struct pto_event_replay *r, uint32_t cause, uint32_t effect) {
  r->effects[--r->first[cause + 1]] = effect;
}

int pto_event_replay_init(const struct pto_event_graph *graph, struct pto_event_replay *r) {
  const size_t count = graph->node_count;
  *r = (struct pto_event_replay){.graph = graph,
                                 .cause_counts = calloc(count + 1, sizeof *r->cause_counts),
                                 .left = malloc((count + 1) * sizeof *r->left),
                                 .times = malloc((count + 1) * sizeof *r->times),
                                 .first = calloc(count + 2, sizeof *r->first),
                                 .effects = malloc((2 * count + graph->link_count + 1) * sizeof *r->effects),
                                 .heap = malloc((count + 1) * sizeof *r->heap)};
  if (!r->cause_counts || !r->left || !r->times || !r->first || !r->effects || !r->heap) {
    pto_event_replay_fini(r);
    return PTO_ENOMEM;
  }
  for (uint32_t i = 0; i < count; i++) each_cause(r, i, count_cause);
  for (size_t i = 0; i <= count; i++) r->first[i + 1] += r->first[i];
  for (uint32_t i = (uint32_t)count; i-- > 0;) each_cause(r, i, put_cause);
  return PTO_OK;
}

void pto_event_replay_fini(struct pto_event_replay *r) {
  free(r->cause_counts);
  free(r->left);
  free(r->times);
  free(r->first);
  free(r->effects);
  free(r->heap);
  memset(r, 0, sizeof *r);
}

/* ---- the earliest first, of equal times the first node ---- */

static bool is_earlier(const struct pto_event_time *a, const struct pto_event_time *b) {
  return a->time != b->time ? a->time < b->time : a->node < b->node;
}

static void push(struct pto_event_replay *r, struct pto_event_time event) {
  size_t at = r->heap_count++;
  for (; at > 0 && is_earlier(&event, &r->heap[(at - 1) / 2]); at = (at - 1) / 2) r->heap[at] = r->heap[(at - 1) / 2];
  r->heap[at] = event;
}

static uint32_t pop(struct pto_event_replay *r) {
  const struct pto_event_time first = r->heap[0], last = r->heap[--r->heap_count];
  size_t at = 0;
  for (size_t child = 1; child < r->heap_count; child = 2 * at + 1) {
    child += child + 1 < r->heap_count && is_earlier(&r->heap[child + 1], &r->heap[child]);
    if (!is_earlier(&r->heap[child], &last)) break;
    r->heap[at] = r->heap[child];
    at = child;
  }
  r->heap[at] = last;
  return first.node;
}

/* ---- a run ---- */

uint64_t pto_event_replay_run(struct pto_event_replay *r, pto_event_duration *duration, const void *context) {
  const struct pto_event_node *nodes = r->graph->nodes;
  const size_t count = r->graph->node_count;
  uint64_t clocks[CLOCKS] = {0}, last = 0;
  memcpy(r->left, r->cause_counts, count * sizeof *r->left);
  memset(r->times, 0, count * sizeof *r->times);
  for (uint32_t i = 0; i < count; i++)
    if (r->left[i] == 0) push(r, (struct pto_event_time){0, i});
  uint32_t next = NONE; /* what the same scheduler goes on with at once */
  while (next != NONE || r->heap_count) {
    const uint32_t index = next != NONE ? next : pop(r), clock = nodes[index].clock;
    const uint64_t begin = clock ? pto_max_u64(r->times[index], clocks[clock]) : r->times[index];
    const uint64_t end = begin + duration(context, r->graph, index);
    clocks[clock] = end;
    last = pto_max_u64(last, end);
    next = NONE;
    for (uint64_t i = r->first[index + 1]; i < r->first[index + 2]; i++) {
      const uint32_t effect = r->effects[i];
      r->times[effect] = pto_max_u64(r->times[effect], end);
      if (--r->left[effect]) continue;
      if (next == NONE && clock && nodes[effect].before == index && nodes[effect].clock == clock)
        next = effect;
      else
        push(r, (struct pto_event_time){r->times[effect], effect});
    }
  }
  return last;
}
