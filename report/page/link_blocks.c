/* SPDX-License-Identifier: MIT */
/* Links as the page keeps a run: a track a lane of a link. */
#include <report/page/run_blocks.h>

#include <inttypes.h>

#include <pto/world.h>
#include <report/page/block.h>
#include <report/page/escaped_json.h>
#include <report/page/timeline_block.h>

struct links {
  const struct pto_trace_between *between;
  uint32_t name_of[PTO_MAX_RANKS][PTO_MAX_RANKS]; /* of what goes from source to target, and 1; 0: nothing does */
  uint32_t names[PTO_MAX_RANKS * PTO_MAX_RANKS];  /* source · PTO_MAX_RANKS + target */
  uint32_t name_count;
};

static bool is_next_track(const struct pto_trace_link_flow *a, const struct pto_trace_link_flow *b) {
  return a->link != b->link || a->lane != b->lane;
}

static uint32_t name_of(struct links *links, const struct pto_trace_link_flow *flow) {
  uint32_t *name = &links->name_of[flow->source][flow->target];
  if (!*name) {
    links->names[links->name_count++] = flow->source * PTO_MAX_RANKS + flow->target;
    *name = links->name_count;
  }
  return *name - 1;
}

static int put_timeline(struct links *links, const struct pto_export_info *info, FILE *to) {
  struct pto_timeline_block timeline = {0};
  const struct pto_trace_between *between = links->between;
  for (size_t at = 0, first = 0; at < between->flow_count; first = at) {
    for (; at < between->flow_count && !is_next_track(&between->flows[at], &between->flows[first]); at++) {
      const struct pto_trace_link_flow *flow = &between->flows[at];
      const struct pto_page_span span = {.begin = flow->begin, .end = flow->end, .name = name_of(links, flow)};
      pto_timeline_block_add(&timeline, &span);
    }
    pto_timeline_block_end_track(&timeline);
  }
  return pto_timeline_block_write(&timeline, info, to);
}

static void put_names(struct pto_json_writer *w, const void *context) {
  static const char *const lists[] = {"places", "dtypes", "modes"}, *const objects[] = {"buffer_labels"};
  const struct links *links = context;
  const struct pto_trace_between *between = links->between;
  char text[64];
  pto_json_put_bool(w, "virtual", true);
  pto_json_put_u64(w, "units_per_us", 1000000);
  pto_json_put_u64(w, "tasks", 0);
  pto_json_put_u64(w, "first_core", 0);
  pto_json_put_array(w, "tracks");
  for (size_t i = 0; i < between->flow_count; i++)
    if (i == 0 || is_next_track(&between->flows[i], &between->flows[i - 1]))
      pto_json_string(w, between->link_name(between->context, between->flows[i].link, text, sizeof text));
  pto_json_array_end(w);
  pto_json_put_array(w, "names");
  for (uint32_t i = 0; i < links->name_count; i++) {
    snprintf(text, sizeof text, "rank %" PRIu32 " -> rank %" PRIu32, links->names[i] / PTO_MAX_RANKS,
             links->names[i] % PTO_MAX_RANKS);
    pto_json_string(w, text);
  }
  pto_json_array_end(w);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lists); i++) {
    pto_json_put_array(w, lists[i]);
    pto_json_array_end(w);
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(objects); i++) {
    pto_json_put_object(w, objects[i]);
    pto_json_object_end(w);
  }
}

int pto_link_blocks_write(const struct pto_trace_between *between, const struct pto_export_info *info, FILE *to) {
  enum { TASK_COLUMNS = 5, EDGE_COLUMNS = 3, TENSOR_COLUMNS = 8 }; /* of tasks, which there are none of */
  struct links links = {.between = between};
  struct pto_column none[TENSOR_COLUMNS] = {{0}};
  char id[PTO_BLOCK_ID];
  int status = put_timeline(&links, info, to);
  if (status == PTO_OK) status = pto_block_write(info, "tasks", none, TASK_COLUMNS, to);
  if (status == PTO_OK) status = pto_block_write(info, "edges", none, EDGE_COLUMNS, to);
  if (status == PTO_OK) status = pto_block_write(info, "tensors", none, TENSOR_COLUMNS, to);
  return status == PTO_OK ? pto_escaped_json_write(pto_block_id(info, "names", id), put_names, &links, to) : status;
}
