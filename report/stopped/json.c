/* SPDX-License-Identifier: MIT */
#include <report/stopped/stopped.h>

#define NODE_NAME 64u
#define LINK_TEXT 640u

/* A node's name; null where there is none. */
static void put_node(struct pto_json_writer *w, const char *key, const struct pto_wait_picture *picture,
                     struct pto_picture_node node) {
  char name[NODE_NAME];
  pto_json_put_string(w, key,
                      node.kind == PTO_NODE_NONE ? NULL : pto_picture_node_name(picture, node, name, sizeof name));
}
static void put_listed(struct pto_json_writer *w, const char *key, const struct pto_wait_picture *picture,
                       enum pto_node_kind kind, uint32_t index) {
  const bool is_there = index != PTO_PICTURE_NONE;
  put_node(w, key, picture,
           (struct pto_picture_node){(uint16_t)(is_there ? kind : PTO_NODE_NONE), (uint16_t)(is_there ? index : 0)});
}

static void put_doing(struct pto_json_writer *w, const struct pto_wait_picture *picture) {
  const struct pto_doing *doing = &picture->doing;
  const bool is_submit = doing->kind == PTO_DOING_SUBMIT;
  const bool is_access = doing->kind == PTO_DOING_HOST_READ || doing->kind == PTO_DOING_HOST_WRITE;
  pto_json_put_object(w, "doing");
  pto_json_put_string(w, "what", pto_stopped_doing_name(doing->kind));
  pto_json_put_u64(w, "task", doing->kind == PTO_DOING_END ? picture->task_count : doing->task_number);
  pto_json_put_string(w, "kernels", is_submit ? picture->doing_kernels : NULL);
  pto_json_put_string(w, "needs",
                      doing->needs_slot   ? "slot"
                      : doing->needs_heap ? "heap"
                      : doing->table      ? "table"
                                          : NULL);
  if (doing->needs_slot || doing->needs_heap) {
    pto_json_put_u64(w, "ring", doing->ring);
    pto_json_put_u64(w, "heap_bytes", doing->heap_bytes);
  }
  if (doing->table) {
    pto_json_put_string(w, "table", doing->table);
    pto_json_put_u64(w, "capacity", doing->table_capacity);
  }
  if (is_access) {
    pto_json_put_u64(w, "buffer", doing->buffer_number);
    pto_json_put_u64(w, "begin", doing->begin);
    pto_json_put_u64(w, "end", doing->end);
  }
  pto_json_object_end(w);
}

static void put_rings(struct pto_json_writer *w, const struct pto_wait_picture *picture) {
  pto_json_put_array(w, "rings");
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    const struct pto_picture_ring *ring = &picture->rings[i];
    pto_json_object_begin(w);
    pto_json_put_u64(w, "ring", i);
    pto_json_put_u64(w, "head", ring->head);
    pto_json_put_u64(w, "tail", ring->tail);
    pto_json_put_u64(w, "slots", ring->slots);
    pto_json_put_u64(w, "waiting", ring->by_state[PTO_TASK_WAITING]);
    pto_json_put_u64(w, "ready", ring->by_state[PTO_TASK_READY]);
    pto_json_put_u64(w, "running", ring->by_state[PTO_TASK_RUNNING]);
    pto_json_put_u64(w, "completed", ring->by_state[PTO_TASK_COMPLETED]);
    pto_json_put_u64(w, "heap_used_bytes", ring->heap_used_bytes);
    pto_json_put_u64(w, "heap_bytes", ring->heap_size_bytes);
    put_listed(w, "oldest", picture, PTO_NODE_TASK, ring->oldest);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_scopes(struct pto_json_writer *w, const struct pto_wait_picture *picture) {
  pto_json_put_array(w, "scopes");
  for (uint32_t i = 0; i < picture->scope_count; i++) {
    const struct pto_picture_scope *scope = &picture->scopes[i];
    pto_json_object_begin(w);
    put_listed(w, "name", picture, PTO_NODE_SCOPE, i);
    pto_json_put_u64(w, "serial", scope->serial);
    pto_json_put_u64(w, "depth", scope->depth);
    pto_json_put_string(w, "kind", scope->is_manual ? "manual" : "auto");
    pto_json_put_u64(w, "ring", scope->ring);
    pto_json_put_u64(w, "tasks", scope->tasks);
    pto_json_put_u64(w, "bytes", scope->bytes);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_tasks(struct pto_json_writer *w, const struct pto_wait_picture *picture) {
  pto_json_put_array(w, "tasks");
  for (uint32_t i = 0; i < picture->listed_task_count; i++) {
    const struct pto_picture_task *task = &picture->tasks[i];
    pto_json_object_begin(w);
    put_listed(w, "name", picture, PTO_NODE_TASK, i);
    pto_json_put_u64(w, "number", task->number);
    pto_json_put_string(w, "kernels", task->kernels);
    if (task->label) pto_json_put_string(w, "label", task->label);
    pto_json_put_string(w, "state", pto_task_state_name(task->state));
    pto_json_put_bool(w, "failed", task->has_failed);
    pto_json_put_u64(w, "ring", task->ring);
    pto_json_put_u64(w, "sequence", task->sequence);
    put_listed(w, "scope", picture, PTO_NODE_SCOPE, task->scope);
    pto_json_put_u64(w, "unfinished_producers", task->producers);
    pto_json_put_u64(w, "blocks", task->block_count);
    pto_json_put_u64(w, "calls_left", task->calls_left);
    pto_json_put_u64(w, "block_bytes", task->heap_bytes);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_cores(struct pto_json_writer *w, const struct pto_wait_picture *picture) {
  static const char *const lanes[] = {"AIC", "AIV0", "AIV1"};
  pto_json_put_array(w, "cores");
  for (uint32_t i = 0; i < picture->listed_core_count; i++) {
    const struct pto_picture_core *core = &picture->cores[i];
    char text[LINK_TEXT];
    struct pto_core_wait wait = core->wait;
    wait.kernel = core->kernel_name;
    if (core->waits) pto_core_wait_describe(&wait, text, sizeof text);
    pto_json_object_begin(w);
    put_listed(w, "name", picture, PTO_NODE_CORE, i);
    pto_json_put_u64(w, "core", core->core);
    pto_json_put_u64(w, "cluster", core->core / 3);
    pto_json_put_string(w, "lane", lanes[core->core % 3]);
    pto_json_put_u64(w, "holds", core->held);
    put_listed(w, "task", picture, PTO_NODE_TASK, core->task);
    pto_json_put_string(w, "waits", core->waits ? text : NULL);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_links(struct pto_json_writer *w, const struct pto_wait_picture *picture) {
  pto_json_put_array(w, "waits");
  for (uint32_t i = 0; i < picture->link_count; i++) {
    const struct pto_picture_link *link = &picture->links[i];
    char text[LINK_TEXT];
    pto_json_object_begin(w);
    put_node(w, "from", picture, link->from);
    put_node(w, "to", picture, link->to);
    pto_json_put_string(w, "why", pto_picture_reason_name(link->reason));
    pto_json_put_string(w, "text", pto_stopped_link_text(picture, link, false, false, text, sizeof text));
    pto_json_put_bool(w, "marked", link->is_marked);
    pto_json_put_bool(w, "in_circle", link->is_in_circle);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_array(w, "path");
  for (uint32_t i = 0; i < picture->path_length; i++) pto_json_u64(w, picture->path[i]);
  pto_json_array_end(w);
}

void pto_stopped_write_json(const struct pto_wait_picture *picture, struct pto_json_writer *w) {
  if (!picture) {
    pto_json_null(w);
    return;
  }
  pto_json_object_begin(w);
  put_doing(w, picture);
  put_rings(w, picture);
  put_scopes(w, picture);
  put_tasks(w, picture);
  put_cores(w, picture);
  put_links(w, picture);
  pto_json_put_u64(w, "more_tasks", picture->tasks_more);
  pto_json_put_u64(w, "more_cores", picture->cores_more);
  pto_json_put_u64(w, "more_waits", picture->links_more);
  pto_json_object_end(w);
}
