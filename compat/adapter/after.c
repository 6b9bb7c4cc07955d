/* SPDX-License-Identifier: MIT */
/*
 * Explicit dependencies: the ids that a submit or a graph's launch names, as the runtime's tasks.
 *
 * An id is a task of the run, which has ended where its slot has come round; a graph's, which stands for all tasks of
 * its body; or, in a graph that is recorded, the owner of a tensor of the boundary.
 */
#include <compat/adapter/state.h>

static bool add_task(struct pto_task **tasks, uint32_t *count, uint32_t *capacity, struct pto_task task) {
  if (!pto_compat_grow((void **)tasks, *count, capacity, sizeof **tasks)) return false;
  (*tasks)[(*count)++] = task;
  return true;
}

/* One whose slot has come round has ended. */
static bool has_come_round(const struct pto_compat *compat, uint64_t id) {
  const uint32_t ring = (uint32_t)(id >> 32);
  const uint32_t own_ring = compat->depth < PTO_COMPAT_RINGS ? compat->depth : PTO_COMPAT_RINGS - 1;
  if (id & PTO_COMPAT_INNER_BIT) return false;
  return compat->rings[ring].count + (ring == own_ring) - (uint64_t)(uint32_t)id > compat->window;
}

/* A submit whose tasks are looked for. */
struct named {
  struct pto_compat *compat;
  const char *what;
  const struct pto_compat_place *place;
};

#define FAIL(named, ...) pto_compat_fail((named)->compat, INVALID_ARGS, (named)->place, __VA_ARGS__)

static bool add_id(const struct named *named, uint64_t id) {
  struct pto_compat *compat = named->compat;
  const struct pto_compat_task *task = pto_compat_find_task(compat, id);
  if (!task) {
    FAIL(named, "%s: %llu is no task of this run", named->what, (unsigned long long)id);
    return false;
  }
  if (has_come_round(compat, id) || add_task(&compat->after, &compat->after_count, &compat->after_capacity, task->task))
    return true;
  pto_compat_fail_as(compat, PTO_ENOMEM, named->place, named->what);
  return false;
}

/* A recorded task may name one from before that owns a tensor of the boundary: each launch comes after the owner of its
 * own. */
static bool add_owner(const struct named *named, uint64_t id) {
  const struct pto_compat_boundary *boundary = &named->compat->boundary;
  bool is_owner = false;
  for (uint32_t i = 0; i < boundary->owner_count; i++) {
    if (boundary->owners[i] != id) continue;
    named->compat->definition->awaited |= 1u << i;
    is_owner = true;
  }
  if (!is_owner)
    FAIL(named, "%s: in a graph, %llu is a task from before that owns no tensor of the boundary", named->what,
         (unsigned long long)id);
  return is_owner;
}

static bool add_named(const struct named *named, uint64_t id) {
  struct pto_compat *compat = named->compat;
  if (id == PTO_COMPAT_NO_TASK) {
    FAIL(named, "%s: an explicit dependency is no valid task id", named->what);
    return false;
  }
  if (compat->graph == PTO_COMPAT_GRAPH_RECORDED && !(id & PTO_COMPAT_INNER_BIT)) return add_owner(named, id);
  if (!(id & PTO_COMPAT_GRAPH_BIT) || id & PTO_COMPAT_INNER_BIT) return add_id(named, id);
  const uint64_t launch = id & ~PTO_COMPAT_GRAPH_BIT;
  if (launch >= compat->launch_count) return add_id(named, id);
  for (uint64_t i = compat->launches[launch].first; i < compat->launches[launch].end; i++)
    if (!add_id(named, compat->ids[i])) return false;
  return true;
}

bool pto_compat_add_after(struct pto_compat *compat, uint64_t id, const char *what,
                          const struct pto_compat_place *place) {
  return add_named(&(struct named){compat, what, place}, id);
}

static bool add_boundary_task(struct pto_compat_boundary *boundary, struct pto_task task) {
  return add_task(&boundary->after, &boundary->after_count, &boundary->after_capacity, task);
}

bool pto_compat_take_boundary_after(struct pto_compat *compat) {
  compat->boundary.after_count = 0;
  for (uint32_t i = 0; i < compat->after_count; i++)
    if (!add_boundary_task(&compat->boundary, compat->after[i])) return false;
  return true;
}

bool pto_compat_add_boundary_after(struct pto_compat *compat, uint64_t id) {
  const struct pto_compat_task *task = pto_compat_find_task(compat, id);
  return !task || has_come_round(compat, id) || add_boundary_task(&compat->boundary, task->task);
}
