/* SPDX-License-Identifier: MIT */
/*
 * Which task left bytes of an output as they were.  Part of check/observe/state.h.
 */
#include <check/observe/state.h>

uint64_t pto_observe_buffer_at(const struct pto_observation *o, uint64_t addr) {
  const struct pto_observe_buffer *buffer = pto_observe_shadow_find(&o->shadow, addr);
  return buffer ? buffer->number : 0;
}

static bool overlaps(const struct pto_observe_left *left, struct pto_observe_range range) {
  for (uint32_t i = 0; i < left->count; i++)
    if (left->ranges[i].lo < range.hi && range.lo < left->ranges[i].hi) return true;
  return false;
}

struct pto_observe_left *pto_observe_left_find(struct pto_observation *o, uint64_t lo, uint64_t hi) {
  const uint64_t buffer_number = pto_observe_buffer_at(o, lo);
  for (uint32_t i = o->left_count; i-- > 0;) {
    struct pto_observe_left *left = &o->left[i];
    if (left->buffer_number == buffer_number && overlaps(left, (struct pto_observe_range){lo, hi})) return left;
  }
  return NULL;
}
