/* SPDX-License-Identifier: MIT */
#include <report/run/depths.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <formats/units.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/task/task_ring.h>

static struct pto_depth *depth_at(struct pto_depths *depths, uint32_t depth) {
  while (depths->count <= depth)
    if (!pto_grow(&depths->items, &depths->count, &depths->capacity, sizeof *depths->items)) return NULL;
  return &depths->items[depth];
}

bool pto_depths_init(const struct pto_trace *trace, struct pto_depths *depths) {
  memset(depths, 0, sizeof *depths);
  for (uint64_t i = 0; i < trace->scopes.count; i++) {
    const struct pto_trace_scope *scope = pto_trace_log_at(&trace->scopes, i);
    struct pto_depth *row = depth_at(depths, scope->depth);
    if (!row) return false;
    row->scopes++;
  }
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    struct pto_depth *row = depth_at(depths, task->scope_depth);
    if (!row) return false;
    row->tasks++;
    row->slots = pto_max_u64(row->slots, task->ring_slots_used);
    row->heap_bytes = pto_max_u64(row->heap_bytes, task->ring_heap_used_bytes);
  }
  return true;
}

void pto_depths_fini(struct pto_depths *depths) {
  free(depths->items);
  memset(depths, 0, sizeof *depths);
}

void pto_depths_print(const struct pto_depths *depths, FILE *to) {
  char text[32];
  for (size_t i = 0; depths->count > 1 && i < depths->count; i++) {
    const struct pto_depth *row = &depths->items[i];
    fprintf(to, "  %-8s %zu: %" PRIu64 " %s, %" PRIu64 " %s", i ? "" : "depths", i, row->scopes,
            row->scopes == 1 ? "scope" : "scopes", row->tasks, row->tasks == 1 ? "task" : "tasks");
    if (row->tasks)
      fprintf(to, "; at most %" PRIu64 " %s and %s of ring %" PRIu32, row->slots, row->slots == 1 ? "slot" : "slots",
              pto_format_bytes(row->heap_bytes, text, sizeof text), pto_task_ring_of_depth((uint32_t)i));
    putc('\n', to);
  }
}

void pto_depths_put(const struct pto_depths *depths, struct pto_json_writer *w) {
  pto_json_put_array(w, "depths");
  for (size_t i = 0; i < depths->count; i++) {
    const struct pto_depth *row = &depths->items[i];
    pto_json_object_begin(w);
    pto_json_put_u64(w, "depth", i);
    pto_json_put_u64(w, "ring", pto_task_ring_of_depth((uint32_t)i));
    pto_json_put_u64(w, "scopes", row->scopes);
    pto_json_put_u64(w, "tasks", row->tasks);
    pto_json_put_u64(w, "window_high_water", row->slots);
    pto_json_put_u64(w, "heap_high_water_bytes", row->heap_bytes);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}
