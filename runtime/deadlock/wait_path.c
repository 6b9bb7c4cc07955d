/* SPDX-License-Identifier: MIT */
#include <runtime/deadlock/wait_picture.h>

#include <string.h>

#define ORCHESTRATION ((struct pto_picture_node){PTO_NODE_ORCHESTRATION, 0})

static struct pto_picture_node core_node(uint32_t place) {
  return (struct pto_picture_node){PTO_NODE_CORE, (uint16_t)place};
}

enum color { UNSEEN = 0, ON_PATH, LEFT };
struct walk {
  struct pto_wait_picture *picture;
  uint8_t colors[PTO_NODE_KIND_COUNT][PTO_CORE_WAITS_MAX];
  uint32_t length;
};
_Static_assert(PTO_PICTURE_TASKS <= PTO_CORE_WAITS_MAX && PTO_PICTURE_SCOPES <= PTO_CORE_WAITS_MAX, "a color a node");

static uint8_t *color_of(struct walk *walk, struct pto_picture_node node) {
  return &walk->colors[node.kind][node.index];
}

/* Depth first; true where `node` leads to a circle, whose last link is the path's last.  Never deeper than there are
 * nodes. */
static bool find_circle(struct walk *walk, struct pto_picture_node node) {
  struct pto_wait_picture *picture = walk->picture;
  *color_of(walk, node) = ON_PATH;
  for (uint32_t i = 0; i < picture->link_count; i++) {
    const struct pto_picture_link *link = &picture->links[i];
    if (!pto_picture_node_is(link->from, node) || link->to.kind == PTO_NODE_NONE) continue;
    const uint8_t color = *color_of(walk, link->to);
    if (color == LEFT) continue;
    picture->path[walk->length++] = (uint16_t)i;
    if (color == ON_PATH || find_circle(walk, link->to)) return true;
    walk->length--;
  }
  *color_of(walk, node) = LEFT;
  return false;
}

/* Along the first link of each node to one that waits for nothing. */
static void follow(struct walk *walk, struct pto_picture_node node) {
  struct pto_wait_picture *picture = walk->picture;
  bool has_moved = true;
  walk->length = 0;
  memset(walk->colors, UNSEEN, sizeof walk->colors);
  while (has_moved) {
    has_moved = false;
    *color_of(walk, node) = LEFT;
    for (uint32_t i = 0; i < picture->link_count && !has_moved; i++) {
      const struct pto_picture_link *link = &picture->links[i];
      if (!pto_picture_node_is(link->from, node) || *color_of(walk, link->to) != UNSEEN) continue;
      picture->path[walk->length++] = (uint16_t)i;
      node = link->to;
      has_moved = true;
    }
  }
}

static void mark(struct walk *walk, bool has_circle) {
  struct pto_wait_picture *picture = walk->picture;
  picture->path_length = walk->length;
  bool is_in_circle = false;
  for (uint32_t i = 0; i < walk->length; i++) {
    struct pto_picture_link *link = &picture->links[picture->path[i]];
    const struct pto_picture_link *last = &picture->links[picture->path[walk->length - 1]];
    is_in_circle |= has_circle && pto_picture_node_is(link->from, last->to);
    link->is_marked = true;
    link->is_in_circle = is_in_circle;
  }
}

void pto_wait_picture_find_path(struct pto_wait_picture *picture) {
  struct walk walk = {.picture = picture};
  bool has_circle = find_circle(&walk, ORCHESTRATION);
  for (uint32_t i = 0; i < picture->listed_core_count && !has_circle; i++)
    if (picture->cores[i].waits && *color_of(&walk, core_node(i)) == UNSEEN)
      has_circle = find_circle(&walk, core_node(i));
  if (!has_circle) follow(&walk, ORCHESTRATION);
  for (uint32_t i = 0; i < picture->link_count && walk.length == 0; i++) {
    const struct pto_picture_node to = picture->links[i].to;
    if (to.kind == PTO_NODE_TASK && picture->tasks[to.index].has_failed) follow(&walk, picture->links[i].from);
  }
  mark(&walk, has_circle);
}
