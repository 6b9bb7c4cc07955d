/* SPDX-License-Identifier: MIT */
/* What a graph's function submits, task by task: kept at the first launch, and held against it at later ones (graph.c
 * says why). */
#include <compat/adapter/state.h>

#include <string.h>

static struct pto_compat_step step_of(const struct pto_compat *compat, const struct pto_compat_submit *submit) {
  struct pto_compat_step step = {
      .block_count = submit->block_count, .tensor_count = submit->tensor_count, .scalar_count = submit->scalar_count};
  memcpy(step.kernels, submit->kernels, sizeof step.kernels);
  for (uint32_t i = 0; i < submit->scalar_count; i++) {
    const uint64_t source = ((uintptr_t)submit->scalar_sources[i] - (uintptr_t)compat->boundary_scalars) / 8;
    step.scalars[i] = submit->scalars[i];
    step.sources[i] = submit->scalar_sources[i] && source < compat->boundary_scalar_count ? (uint8_t)source : UINT8_MAX;
  }
  return step;
}

static bool is_same_task(const struct pto_compat_step *a, const struct pto_compat_step *b) {
  return memcmp(a->kernels, b->kernels, sizeof a->kernels) == 0 && a->block_count == b->block_count &&
         a->tensor_count == b->tensor_count && a->scalar_count == b->scalar_count;
}

static void compare(struct pto_compat *compat, const struct pto_compat_step *step, uint32_t number,
                    const struct pto_compat_place *place) {
  struct pto_compat_definition *definition = compat->definition;
  const struct pto_compat_step *first = number < definition->count ? &definition->steps[number] : NULL;
  if (definition->has_warned) return;
  if (!first || !is_same_task(first, step)) {
    definition->has_warned = true;
    pto_compat_say(compat, PTO_COMPAT_WARN, place,
                   "task %u of the graph is not the one that its first launch submitted, and that one is replayed",
                   number);
    return;
  }
  for (uint32_t i = 0; i < step->scalar_count; i++) {
    if (first->sources[i] != UINT8_MAX || first->scalars[i] == step->scalars[i]) continue;
    definition->has_warned = true;
    pto_compat_say(compat, PTO_COMPAT_WARN, place,
                   "scalar %u of task %u of the graph is computed in it, %llu now and %llu at its first launch: %llu "
                   "is passed again",
                   i, number, (unsigned long long)step->scalars[i], (unsigned long long)first->scalars[i],
                   (unsigned long long)first->scalars[i]);
    return;
  }
}

void pto_compat_graph_step(struct pto_compat *compat, const struct pto_compat_submit *submit,
                           const struct pto_compat_place *place) {
  struct pto_compat_definition *definition = compat->definition;
  if (compat->graph == PTO_COMPAT_GRAPH_ORDINARY) return;
  const struct pto_compat_step step = step_of(compat, submit);
  const uint32_t number = compat->step++;
  if (compat->graph == PTO_COMPAT_GRAPH_COMPARED)
    compare(compat, &step, number, place);
  else if (pto_compat_grow((void **)&definition->steps, definition->count, &definition->capacity,
                           sizeof *definition->steps))
    definition->steps[definition->count++] = step;
  else
    pto_compat_fail_as(compat, PTO_ENOMEM, place, submit->what);
}
