/* SPDX-License-Identifier: MIT */
#include <check/order/partial.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/tensor/region_runs.h>

/* What tasks do to the tensor of one read. */
struct writes {
  uint64_t lo, hi;
  uint8_t *is_written; /* by byte */
  bool any;            /* some byte is */
};

static void add(struct writes *writes, const struct pto_region *region) {
  struct pto_region_runs runs = pto_region_runs(region);
  for (uint64_t at; pto_region_runs_next(&runs, &at);) {
    const uint64_t begin = pto_max_u64(at, writes->lo), end = pto_min_u64(at + region->run_bytes, writes->hi);
    if (begin >= end) continue;
    memset(writes->is_written + (begin - writes->lo), 1, end - begin);
    writes->any = true;
  }
}

/* False where something else gives it values, or uses them. */
static bool collect(const struct pto_access_graph *graph, struct writes *writes) {
  for (uint64_t i = 0; i < graph->access_count; i++) {
    const struct pto_graph_access *access = &graph->accesses[i];
    struct pto_region region;
    if (access->space) continue;
    pto_graph_region(graph, access, &region);
    if (region.end <= writes->lo || region.start >= writes->hi) continue;
    const bool is_host = graph->nodes[access->node].is_host;
    if (is_host ? access->writes : access->reads || !access->writes) return false;
    if (!is_host) add(writes, &region);
  }
  return writes->any;
}

static bool is_read(const struct pto_access_graph *graph, uint64_t access) {
  const uint32_t node = graph->accesses[access].node;
  if (!graph->nodes[node].is_host) return false;
  const struct pto_trace_host_access *host = pto_graph_host(graph, node);
  return host->is_move && !host->is_write && host->end - host->begin <= PTO_PARTIAL_BYTES;
}

int pto_partial_find(const struct pto_access_graph *graph,
                     void (*tell)(void *context, uint32_t access, uint64_t lo, uint64_t hi), void *context) {
  uint64_t known[PTO_PARTIAL_TENSORS];
  uint32_t count = 0;
  for (uint64_t i = 0; i < graph->access_count && count < PTO_PARTIAL_TENSORS; i++) {
    if (!is_read(graph, i)) continue;
    const struct pto_trace_host_access *host = pto_graph_host(graph, graph->accesses[i].node);
    uint32_t k = 0;
    while (k < count && known[k] != host->begin) k++;
    if (k < count) continue;
    known[count++] = host->begin;
    struct writes writes = {.lo = host->begin, .hi = host->end};
    const uint64_t size_bytes = writes.hi - writes.lo;
    writes.is_written = calloc(size_bytes, 1);
    if (!writes.is_written) return PTO_ENOMEM;
    if (collect(graph, &writes)) {
      const uint8_t *hole = memchr(writes.is_written, 0, size_bytes);
      const uint64_t lo = hole ? (uint64_t)(hole - writes.is_written) : size_bytes;
      const uint8_t *next = hole ? memchr(hole, 1, size_bytes - lo) : NULL;
      const uint64_t hi = next ? (uint64_t)(next - writes.is_written) : size_bytes;
      if (hole) tell(context, (uint32_t)i, writes.lo + lo, writes.lo + hi);
    }
    free(writes.is_written);
  }
  return PTO_OK;
}
