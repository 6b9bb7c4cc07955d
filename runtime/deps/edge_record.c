/* SPDX-License-Identifier: MIT */
#include <runtime/deps/edge_record.h>

static uint32_t param_of(uint16_t tag) {
  uint32_t param = tag & PTO_TAG_PARAM_MASK;
  return param == PTO_TAG_PREDICATE ? UINT32_MAX : param;
}

static void record(void *context, const struct pto_edge *edge) {
  const struct pto_edge_record *recorder = context;
  const struct pto_task_cold *cold = recorder->rings->cold;
  const bool is_explicit = edge->reasons & PTO_EDGE_EXPLICIT;
  for (uint32_t reason = PTO_EDGE_RAW; reason <= PTO_EDGE_EXPLICIT; reason <<= 1) {
    if (!(edge->reasons & reason)) continue;
    struct pto_trace_edge *written = pto_trace_log_append(&recorder->trace->edges);
    if (!written) return;
    *written = (struct pto_trace_edge){.producer = cold[edge->producer].number,
                                       .consumer = cold[edge->consumer].number,
                                       .reason = reason,
                                       .producer_param = is_explicit ? UINT32_MAX : param_of(edge->producer_tag),
                                       .consumer_param = is_explicit ? UINT32_MAX : param_of(edge->consumer_tag),
                                       .begin = edge->begin,
                                       .end = edge->end,
                                       .buffer_number = edge->buffer_number};
  }
}

void pto_edge_record_listen(struct pto_edge_record *recorder, struct pto_hazards *hazards) {
  const bool is_on = pto_trace_has_graph(recorder->trace);
  hazards->listener = is_on ? record : NULL;
  hazards->listener_context = recorder;
}

/* ---- in order ---- */

static bool comes_before(const struct pto_trace_edge *x, const struct pto_trace_edge *y) {
  if (x->producer != y->producer) return x->producer < y->producer;
  if (x->consumer_param != y->consumer_param) return x->consumer_param < y->consumer_param;
  if (x->producer_param != y->producer_param) return x->producer_param < y->producer_param;
  return x->reason < y->reason;
}

/* Shell's sort with Ciura's gaps (2001): in place, as a run allocates nothing, and the order of equals has no meaning.
 */
static void sort_edges(struct pto_trace_edge *edges, uint64_t count) {
  static const uint64_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  for (size_t g = 0; g < PTO_ARRAY_LENGTH(gaps); g++)
    for (uint64_t i = gaps[g]; i < count; i++) {
      struct pto_trace_edge edge = edges[i];
      uint64_t k = i;
      for (; k >= gaps[g] && comes_before(&edge, &edges[k - gaps[g]]); k -= gaps[g]) edges[k] = edges[k - gaps[g]];
      edges[k] = edge;
    }
}

void pto_edge_record_sort(struct pto_edge_record *recorder, uint64_t first) {
  struct pto_trace_log *log = &recorder->trace->edges;
  struct pto_trace_edge *edges = log->memory.addr;
  sort_edges(edges + first, log->count - first);
  for (uint64_t i = first; i < log->count; i++)
    edges[i].is_first = i == first || edges[i].producer != edges[i - 1].producer;
}
