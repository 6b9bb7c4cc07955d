/* SPDX-License-Identifier: MIT */
#include <report/stopped/stopped.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/text.h>

#define NODE_TEXT 160u
#define LINK_TEXT 640u
#define MOST_OTHER_LINES 12u
#define MOST_CORE_LINES 6u

static const char *lane_name(uint32_t core) {
  static const char *const names[] = {"AIC", "AIV0", "AIV1"};
  return names[core % 3];
}

/* ---- nodes ---- */

static void task_text(const struct pto_picture_task *task, bool is_long, char *text, size_t size) {
  snprintf(text, size, "task %" PRIu64, task->number);
  if (!is_long) return;
  pto_text_append(text, size, " (%s%s%s%s, %s", task->kernels, task->label ? " \"" : "", task->label ? task->label : "",
                  task->label ? "\"" : "", task->has_failed ? "FAILED" : pto_task_state_name(task->state));
  if (task->block_count > 1 && task->calls_left)
    pto_text_append(text, size, ", %" PRIu32 " kernel calls left of %" PRIu32 " blocks", task->calls_left,
                    task->block_count);
  if (task->heap_bytes) pto_text_append(text, size, ", %" PRIu64 " bytes", task->heap_bytes);
  pto_text_append(text, size, ")");
}

static void ring_text(const struct pto_wait_picture *picture, uint32_t index, bool is_long, char *text, size_t size) {
  const struct pto_picture_ring *ring = &picture->rings[index];
  snprintf(text, size, "ring %" PRIu32, index);
  if (is_long)
    pto_text_append(text, size, " (%" PRIu64 " of %" PRIu64 " slots: tail %" PRIu64 ", head %" PRIu64 ")",
                    ring->head - ring->tail, ring->slots, ring->tail, ring->head);
}

static void heap_text(const struct pto_wait_picture *picture, uint32_t index, bool is_long, char *text, size_t size) {
  const struct pto_picture_ring *ring = &picture->rings[index];
  snprintf(text, size, "heap ring %" PRIu32, index);
  if (is_long)
    pto_text_append(text, size, " (%" PRIu64 " of %" PRIu64 " bytes)", ring->heap_used_bytes, ring->heap_size_bytes);
}

static void scope_text(const struct pto_picture_scope *scope, bool is_long, char *text, size_t size) {
  snprintf(text, size, "scope %" PRIu32, scope->serial);
  if (is_long)
    pto_text_append(
        text, size,
        "%s%s%s (depth %" PRIu32 ", %s, keeps %" PRIu64 " task%s and %" PRIu64 " bytes of ring %" PRIu32 ")",
        scope->label ? " \"" : "", scope->label ? scope->label : "", scope->label ? "\"" : "", scope->depth,
        scope->is_manual ? "manual" : "auto", scope->tasks, scope->tasks == 1 ? "" : "s", scope->bytes, scope->ring);
}

static void table_text(const struct pto_wait_picture *picture, bool is_long, char *text, size_t size) {
  snprintf(text, size, "the %s", picture->doing.table ? picture->doing.table : "?");
  if (is_long) pto_text_append(text, size, " (of %" PRIu64 ")", picture->doing.table_capacity);
}

const char *pto_stopped_node_text(const struct pto_wait_picture *picture, struct pto_picture_node node, bool is_long,
                                  char *text, size_t size) {
  switch ((enum pto_node_kind)node.kind) {
  case PTO_NODE_ORCHESTRATION:
    return is_long ? pto_stopped_doing_text(picture, text, size)
                   : (snprintf(text, size, "%s",
                               picture->doing.kind == PTO_DOING_END ? "the end of the run" : "the orchestration"),
                      text);
  case PTO_NODE_RING:
    ring_text(picture, node.index, is_long, text, size);
    break;
  case PTO_NODE_HEAP:
    heap_text(picture, node.index, is_long, text, size);
    break;
  case PTO_NODE_TABLE:
    table_text(picture, is_long, text, size);
    break;
  case PTO_NODE_TASK:
    task_text(&picture->tasks[node.index], is_long, text, size);
    break;
  case PTO_NODE_SCOPE:
    scope_text(&picture->scopes[node.index], is_long, text, size);
    break;
  case PTO_NODE_CORE: {
    const uint32_t core = picture->cores[node.index].core;
    snprintf(text, size, "core %" PRIu32, core);
    if (is_long) pto_text_append(text, size, " (cluster %" PRIu32 " %s)", core / 3, lane_name(core));
    break;
  }
  default:
    snprintf(text, size, "nobody");
  }
  return text;
}

/* ---- the orchestration ---- */

const char *pto_stopped_doing_name(uint32_t kind) {
  static const char *const names[] = {"own_work",   "submit", "new_buffer", "host_read",
                                      "host_write", "poll",   "end_of_run"};
  return kind < PTO_ARRAY_LENGTH(names) ? names[kind] : "?";
}

const char *pto_stopped_doing_text(const struct pto_wait_picture *picture, char *text, size_t size) {
  const struct pto_doing *doing = &picture->doing;
  switch ((enum pto_doing_kind)doing->kind) {
  case PTO_DOING_SUBMIT: {
    snprintf(text, size, "the orchestration, in the submit of task %" PRIu64 " (%s", doing->task_number,
             picture->doing_kernels);
    if (doing->heap_bytes) pto_text_append(text, size, ", outputs of %" PRIu64 " bytes", doing->heap_bytes);
    pto_text_append(text, size, "),");
    break;
  }
  case PTO_DOING_NEW_BUFFER:
    snprintf(text, size, "the orchestration, making a buffer,");
    break;
  case PTO_DOING_HOST_READ:
  case PTO_DOING_HOST_WRITE:
    snprintf(text, size, "the orchestration, %s bytes [%" PRIu64 ", %" PRIu64 ") of buffer %" PRIu64 ",",
             doing->kind == PTO_DOING_HOST_READ ? "reading" : "writing", doing->begin, doing->end,
             doing->buffer_number);
    break;
  case PTO_DOING_POLL:
    snprintf(text, size, "the orchestration, polling memory before task %" PRIu64 ",", doing->task_number);
    break;
  case PTO_DOING_END:
    snprintf(text, size, "the end of the run (%" PRIu64 " of %" PRIu64 " tasks have completed)",
             picture->completed_count, picture->task_count);
    break;
  case PTO_DOING_OWN_WORK:
    snprintf(text, size, "the orchestration, before task %" PRIu64 ",", doing->task_number);
    break;
  }
  return text;
}

/* ---- links ---- */

/* "task 0 (asker) block 0 AIC on core 0 waits for …" */
static void core_link_text(const struct pto_wait_picture *picture, const struct pto_picture_link *link, char *text,
                           size_t size) {
  const struct pto_picture_core *core = &picture->cores[link->from.index];
  struct pto_core_wait wait = core->wait;
  wait.kernel = core->kernel_name;
  const size_t used = pto_core_wait_describe(&wait, text, size);
  if (link->reason != PTO_WAIT_SIGNAL) return;
  if (link->to.kind == PTO_NODE_CORE)
    snprintf(text + used, size - used, ", perhaps of core %" PRIu32 ", which waits",
             picture->cores[link->to.index].core);
  else
    snprintf(text + used, size - used, ", and nobody is left to give it");
}

const char *pto_stopped_link_text(const struct pto_wait_picture *picture, const struct pto_picture_link *link,
                                  bool is_from_long, bool is_to_long, char *text, size_t size) {
  char from[NODE_TEXT], to[NODE_TEXT];
  if (link->from.kind == PTO_NODE_CORE) {
    core_link_text(picture, link, text, size);
    return text;
  }
  snprintf(text, size, "%s waits %s %s", pto_stopped_node_text(picture, link->from, is_from_long, from, sizeof from),
           pto_picture_reason_text(link->reason), pto_stopped_node_text(picture, link->to, is_to_long, to, sizeof to));
  return text;
}

/* ---- all of it ---- */

struct lines {
  const struct pto_wait_picture *picture;
  char *text;
  size_t size;
  bool is_known[PTO_NODE_KIND_COUNT][PTO_CORE_WAITS_MAX]; /* nodes that have been described */
};

#define ADD_LINE(lines, ...) pto_text_append((lines)->text, (lines)->size, __VA_ARGS__)

/* True the first time. */
static bool is_new(struct lines *lines, struct pto_picture_node node) {
  bool *is_known = &lines->is_known[node.kind][node.index];
  const bool was_known = *is_known;
  *is_known = true;
  return !was_known;
}

static void add_link(struct lines *lines, const struct pto_picture_link *link, const char *before, const char *behind) {
  char text[LINK_TEXT];
  const bool is_from_new = is_new(lines, link->from), is_to_new = is_new(lines, link->to);
  pto_stopped_link_text(lines->picture, link, is_from_new, is_to_new, text, sizeof text);
  ADD_LINE(lines, "%s%s%s\n", before, text, behind);
}

bool pto_stopped_has_waits(const struct pto_wait_picture *picture) {
  if (!picture || picture->status != PTO_EKERNEL) return picture && picture->link_count > 0;
  for (uint32_t i = 0; i < picture->link_count; i++)
    if (picture->links[i].reason == PTO_WAIT_PRODUCER) return true;
  return false;
}

/* "core 1 (cluster 0 AIV0) holds task 13 (mark) and 3 messages more": what is in flight. */
static void add_cores(struct lines *lines) {
  const struct pto_wait_picture *picture = lines->picture;
  uint32_t shown = 0, hidden = picture->cores_more;
  for (uint32_t i = 0; i < picture->listed_core_count; i++) {
    const struct pto_picture_core *core = &picture->cores[i];
    if (!core->held || core->waits) continue;
    if (shown++ >= MOST_CORE_LINES) {
      hidden++;
      continue;
    }
    char text[NODE_TEXT];
    const struct pto_picture_node node = {PTO_NODE_CORE, (uint16_t)i};
    ADD_LINE(lines, "    %s runs ", pto_stopped_node_text(picture, node, is_new(lines, node), text, sizeof text));
    if (core->task == PTO_PICTURE_NONE)
      ADD_LINE(lines, "a task");
    else
      ADD_LINE(lines, "task %" PRIu64 " (%s)", picture->tasks[core->task].number, picture->tasks[core->task].kernels);
    if (core->held > 1)
      ADD_LINE(lines, ", and %" PRIu32 " kernel call%s behind it", core->held - 1,
               core->held == 2 ? " waits" : "s wait");
    ADD_LINE(lines, "\n");
  }
  if (hidden) ADD_LINE(lines, "    and %" PRIu32 " cores more are busy\n", hidden);
}

size_t pto_stopped_format(const struct pto_wait_picture *picture, char *text, size_t size) {
  struct lines lines = {.picture = picture, .text = text, .size = size};
  *text = '\0';
  ADD_LINE(&lines, "  who waits for whom:\n");
  for (uint32_t i = 0; i < picture->path_length; i++) {
    const struct pto_picture_link *link = &picture->links[picture->path[i]];
    const bool is_last = i + 1 == picture->path_length && link->is_in_circle;
    add_link(&lines, link, link->is_in_circle ? "  * " : "  > ", is_last ? ": the circle closes" : "");
  }
  uint32_t shown = 0, hidden = picture->links_more;
  for (uint32_t i = 0; i < picture->link_count; i++) {
    if (picture->links[i].is_marked || picture->links[i].reason == PTO_WAIT_KERNEL) continue;
    if (shown == MOST_OTHER_LINES) {
      hidden++;
      continue;
    }
    add_link(&lines, &picture->links[i], "    ", "");
    shown++;
  }
  add_cores(&lines);
  if (hidden) ADD_LINE(&lines, "    and %" PRIu32 " waits more: --json and --waits-dot have them\n", hidden);
  return strlen(text);
}

void pto_stopped_say(const struct pto_wait_picture *picture) {
  char text[PTO_STOPPED_TEXT_BYTES];
  if (!pto_stopped_has_waits(picture)) return;
  const size_t length = pto_stopped_format(picture, text, sizeof text);
  for (size_t done = 0; done < length;) {
    const ssize_t written = write(STDERR_FILENO, text + done, length - done);
    if (written <= 0) return;
    done += (size_t)written;
  }
}
