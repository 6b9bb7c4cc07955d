/* SPDX-License-Identifier: MIT */
#include <runtime/deadlock/wait_picture.h>

#include <inttypes.h>
#include <stdio.h>

const char *pto_picture_reason_name(uint32_t reason) {
  static const char *const names[] = {
#define X(reason, name, text) name,
      PTO_PICTURE_REASON_LIST(X)
#undef X
  };
  return reason < PTO_PICTURE_REASON_COUNT ? names[reason] : "?";
}

const char *pto_picture_reason_text(uint32_t reason) {
  static const char *const texts[] = {
#define X(reason, name, text) text,
      PTO_PICTURE_REASON_LIST(X)
#undef X
  };
  return reason < PTO_PICTURE_REASON_COUNT ? texts[reason] : "?";
}

const char *pto_task_state_name(uint32_t state) {
  static const char *const names[] = {"FREE", "COMPLETED", "WAITING", "READY", "RUNNING"};
  return state < PTO_ARRAY_LENGTH(names) ? names[state] : "?";
}

const char *pto_picture_node_name(const struct pto_wait_picture *picture, struct pto_picture_node node, char *text,
                                  size_t size) {
  static const char *const names[] = {
#define X(kind, name) name,
      PTO_NODE_LIST(X)
#undef X
  };
  uint64_t number = node.index;
  bool has_number = true;
  switch ((enum pto_node_kind)node.kind) {
  case PTO_NODE_TASK:
    number = picture->tasks[node.index].number;
    break;
  case PTO_NODE_SCOPE:
    number = picture->scopes[node.index].serial;
    break;
  case PTO_NODE_CORE:
    number = picture->cores[node.index].core;
    break;
  case PTO_NODE_RING:
  case PTO_NODE_HEAP:
    break;
  default:
    has_number = false;
  }
  if (has_number)
    snprintf(text, size, "%s%" PRIu64, names[node.kind], number);
  else
    snprintf(text, size, "%s", names[node.kind]);
  return text;
}
