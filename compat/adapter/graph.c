/* SPDX-License-Identifier: MIT */
/*
 * Graphs: the body runs at each launch, so each has tasks of its own.
 *
 * The existing runtime records the first launch and replays it.  So later launches are held against the first: where a
 * body submits other tasks, or a scalar that was computed in it has another value, the replay there would not do what
 * the body does here.  A scalar that is passed on from the boundary as it is, is the launch's own there too.
 */
#include <compat/adapter/state.h>

#include <stdlib.h>
#include <string.h>

#define INVALID_ARGS 5

void pto_compat_graph_clear(struct pto_compat *compat) {
  for (uint32_t i = 0; i < compat->definition_count; i++) free(compat->definitions[i].steps);
  compat->definition_count = compat->launch_count = 0;
  compat->graph = 0;
}

static struct pto_compat_definition *find(struct pto_compat *compat, uint64_t key) {
  for (uint32_t i = 0; i < compat->definition_count; i++)
    if (compat->definitions[i].key == key) return &compat->definitions[i];
  return NULL;
}

static const char *refusal(const struct pto_compat *compat, const struct pto_compat_graph *graph) {
  if (graph->mistake) return graph->mistake;
  if (compat->graph) return "a graph within a graph";
  if (compat->manual_depth) return "a graph within a manual scope";
  if (!graph->tensor_count) return "a graph takes at least one tensor";
  if (graph->after_count) return "no explicit dependencies at a graph's boundary";
  for (uint32_t i = 0; i < graph->tensor_count; i++)
    if (graph->directions[i] == PTO_COMPAT_CREATE) return "nothing is created at a graph's boundary: no create-info";
  return NULL;
}

bool pto_compat_graph_begin(const struct pto_compat_graph *graph, const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat) return false;
  const char *sentence = refusal(compat, graph);
  if (sentence) {
    pto_compat_fail(compat, INVALID_ARGS, place, "rt_submit_graph: %s", sentence);
    return false;
  }
  struct pto_compat_definition *definition = find(compat, graph->key);
  if (!pto_compat_grow((void **)&compat->launches, compat->launch_count, &compat->launch_capacity,
                       sizeof *compat->launches) ||
      (!definition && !pto_compat_grow((void **)&compat->definitions, compat->definition_count,
                                       &compat->definition_capacity, sizeof *compat->definitions))) {
    pto_compat_fail_as(compat, PTO_ENOMEM, place, "rt_submit_graph");
    return false;
  }
  compat->is_first_launch = !definition;
  if (!definition) {
    definition = &compat->definitions[compat->definition_count++];
    *definition = (struct pto_compat_definition){.key = graph->key};
  }
  compat->launches[compat->launch_count] = (struct pto_compat_launch){.first = compat->id_count};
  compat->graph = (uint32_t)(definition - compat->definitions) + 1;
  compat->step = 0;
  compat->boundary = graph->scalars;
  compat->boundary_count = graph->scalar_count;
  compat->graph_place = *place;
  return true;
}

/* ---- steps ---- */

static struct pto_compat_step step_of(const struct pto_compat *compat, const struct pto_compat_submit *submit) {
  struct pto_compat_step step = {
      .block_count = submit->block_count, .tensor_count = submit->tensor_count, .scalar_count = submit->scalar_count};
  memcpy(step.kernels, submit->kernels, sizeof step.kernels);
  for (uint32_t i = 0; i < submit->scalar_count; i++) {
    const uint64_t source = (uintptr_t)submit->scalar_sources[i], begin = (uintptr_t)compat->boundary;
    step.scalars[i] = submit->scalars[i];
    if (source >= begin && source < begin + 8u * compat->boundary_count) step.boundary |= 1u << i;
  }
  return step;
}

static bool is_same_task(const struct pto_compat_step *a, const struct pto_compat_step *b) {
  return memcmp(a->kernels, b->kernels, sizeof a->kernels) == 0 && a->block_count == b->block_count &&
         a->tensor_count == b->tensor_count && a->scalar_count == b->scalar_count;
}

void pto_compat_graph_step(struct pto_compat *compat, const struct pto_compat_submit *submit,
                           const struct pto_compat_place *place) {
  struct pto_compat_definition *definition = &compat->definitions[compat->graph - 1];
  const struct pto_compat_step step = step_of(compat, submit);
  const uint32_t number = compat->step++;
  if (compat->is_first_launch) {
    if (pto_compat_grow((void **)&definition->steps, definition->count, &definition->capacity,
                        sizeof *definition->steps))
      definition->steps[definition->count++] = step;
    return;
  }
  if (definition->has_warned) return;
  const struct pto_compat_step *first = number < definition->count ? &definition->steps[number] : NULL;
  if (!first || !is_same_task(first, &step)) {
    definition->has_warned = true;
    pto_compat_say(compat, PTO_COMPAT_WARN, place,
                   "task %u of the graph is not the one that its first launch submitted: the existing runtime would "
                   "replay that one",
                   number);
    return;
  }
  for (uint32_t i = 0; i < step.scalar_count; i++) {
    if (first->boundary >> i & 1 || first->scalars[i] == step.scalars[i]) continue;
    definition->has_warned = true;
    pto_compat_say(compat, PTO_COMPAT_WARN, place,
                   "scalar %u of task %u of the graph is computed in it, %llu now and %llu at its first launch: the "
                   "existing runtime would pass %llu again",
                   i, number, (unsigned long long)step.scalars[i], (unsigned long long)first->scalars[i],
                   (unsigned long long)first->scalars[i]);
    return;
  }
}

uint64_t pto_compat_graph_end(void) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat || !compat->graph) return PTO_COMPAT_NO_TASK;
  struct pto_compat_definition *definition = &compat->definitions[compat->graph - 1];
  if (compat->step < definition->count && !definition->has_warned) {
    definition->has_warned = true;
    pto_compat_say(
        compat, PTO_COMPAT_WARN, &compat->graph_place,
        "this launch of the graph has %u tasks and the first had %u: the existing runtime would replay those",
        compat->step, definition->count);
  }
  compat->graph = 0;
  compat->launches[compat->launch_count].end = compat->id_count;
  return PTO_COMPAT_GRAPH_BIT | compat->launch_count++;
}
