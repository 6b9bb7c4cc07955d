/* SPDX-License-Identifier: MIT */
/*
 * For tests of pictures of stopped runs: a picture is taken once the run has stopped, `picture`, held to what every
 * picture must be, and asked for its path, its links, its tasks and its text.
 */
#ifndef PTO_WAIT_PICTURE_CHECKS_H
#define PTO_WAIT_PICTURE_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <report/stopped/stopped.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static const struct pto_wait_picture *picture; /* of the case that has run */

/* ---- what must hold ---- */

static inline const char *name_of(struct pto_picture_node node, char *text, size_t size) {
  return pto_picture_node_name(picture, node, text, size);
}

static inline void check_node(struct pto_picture_node node) {
  const uint32_t counts[PTO_NODE_KIND_COUNT] = {1,
                                                1,
                                                PTO_RING_COUNT,
                                                PTO_RING_COUNT,
                                                1,
                                                picture->listed_task_count,
                                                picture->scope_count,
                                                picture->listed_core_count};
  assert_true(node.kind < PTO_NODE_KIND_COUNT);
  assert_true(node.index < counts[node.kind]);
}

/* Links name nodes that are there, once each; the path's follow each other and are the marked ones. */
static inline void check_whole(void) {
  uint32_t marked = 0;
  for (uint32_t i = 0; i < picture->link_count; i++) {
    check_node(picture->links[i].from);
    check_node(picture->links[i].to);
    marked += picture->links[i].is_marked;
    assert_true(picture->links[i].is_marked || !picture->links[i].is_in_circle);
    for (uint32_t j = 0; j < i; j++)
      assert_true(memcmp(&picture->links[i].from, &picture->links[j].from, 2 * sizeof picture->links[i].from) != 0);
  }
  assert_int_equal(marked, picture->path_length);
  for (uint32_t i = 1; i < picture->path_length; i++)
    assert_memory_equal(&picture->links[picture->path[i - 1]].to, &picture->links[picture->path[i]].from,
                        sizeof picture->links[0].to);
}

static inline void take(struct fixture *f, int status) {
  picture = pto_runtime_wait_picture(f->rt);
  assert_non_null(picture);
  assert_int_equal(picture->status, status);
  check_whole();
}

/* "orchestration>ring0>task0", and "*" in front where it ends in a circle. */
static inline void expect_path(const char *expected) {
  char text[512] = "", name[64];
  size_t used = 0;
  for (uint32_t i = 0; i < picture->path_length; i++) {
    const struct pto_picture_link *link = &picture->links[picture->path[i]];
    if (i == 0) used += (size_t)snprintf(text + used, sizeof text - used, "%s", name_of(link->from, name, sizeof name));
    used += (size_t)snprintf(text + used, sizeof text - used, ">%s", name_of(link->to, name, sizeof name));
  }
  const bool is_circle = picture->path_length && picture->links[picture->path[picture->path_length - 1]].is_in_circle;
  if (expected[0] != '*' || !is_circle) assert_true(!is_circle && expected[0] != '*');
  assert_string_equal(text, expected + is_circle);
}

static inline const struct pto_picture_link *find_link(const char *from, const char *to) {
  char name[64];
  for (uint32_t i = 0; i < picture->link_count; i++)
    if (strcmp(name_of(picture->links[i].from, name, sizeof name), from) == 0 &&
        strcmp(name_of(picture->links[i].to, name, sizeof name), to) == 0)
      return &picture->links[i];
  return NULL;
}
static inline void expect_link(const char *from, const char *to, const char *reason) {
  const struct pto_picture_link *link = find_link(from, to);
  if (!link) fail_msg("%s does not wait for %s", from, to);
  assert_string_equal(pto_picture_reason_name(link->reason), reason);
}

static inline const struct pto_picture_task *task_of(uint64_t number) {
  for (uint32_t i = 0; i < picture->listed_task_count; i++)
    if (picture->tasks[i].number == number) return &picture->tasks[i];
  fail_msg("task %llu is not in the picture", (unsigned long long)number);
  return NULL;
}
static inline void expect_task(uint64_t number, const char *kernels, uint32_t state) {
  assert_string_equal(task_of(number)->kernels, kernels);
  assert_string_equal(pto_task_state_name(task_of(number)->state), pto_task_state_name(state));
}

static inline void expect_text(const char *part) {
  static char text[PTO_STOPPED_TEXT_BYTES];
  assert_true(pto_stopped_has_waits(picture));
  pto_stopped_format(picture, text, sizeof text);
  if (!strstr(text, part)) fail_msg("no \"%s\" in\n%s", part, text);
}

static inline int fail_run(const struct pto_kernel_args *args) { return pto_kernel_error(args, "on purpose"); }

#define ON_BOTH(sentence, ...)                                                                                         \
  {.name = sentence " (virtual)", .engine = "virtual", __VA_ARGS__}, {                                                 \
    .name = sentence " (threads)", .engine = "threads", __VA_ARGS__                                                    \
  }

#endif
