/* SPDX-License-Identifier: MIT */
/*
 * Graphs: the first launch records what the function submits (pto/recorded.h), and each launch, the first too, submits
 * the recording.
 *
 * As there, what the function computes is of its first launch.  So that this is seen, the function is called at each
 * launch, and what it would submit is held against the recording: where it would be other tasks, or a scalar that was
 * computed in it has another value, a warning says so once.  A scalar that is passed on from the boundary as it is, is
 * the launch's own.
 *
 * As there, too, the tasks are ordinary ones, of each launch its own, where the boundary has not the first one's form
 * (which is warned of), or more tensors than a recording takes, and of more than PTO_COMPAT_DEFINITIONS graphs.
 */
#include <compat/adapter/state.h>

#include <stdlib.h>
#include <string.h>

#define NODE_BITS 10u /* of a task of a graph in its id: ring 1, number of the graph's task << 10 | its own */

void pto_compat_graph_clear(struct pto_compat *compat) {
  for (uint32_t i = 0; i < compat->definition_count; i++) {
    pto_recorded_destroy(compat->definitions[i].recorded);
    free(compat->definitions[i].steps);
  }
  compat->definition_count = compat->launch_count = 0;
  compat->graph = PTO_COMPAT_NO_GRAPH;
  compat->definition = NULL;
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

/* ---- the boundary ---- */

static bool is_same_tensor(const struct pto_tensor *a, const struct pto_tensor *b) {
  return a->dtype == b->dtype && a->ndims == b->ndims &&
         memcmp(a->shape, b->shape, a->ndims * sizeof a->shape[0]) == 0 &&
         memcmp(a->strides, b->strides, a->ndims * sizeof a->strides[0]) == 0;
}

/* Tensors that share bytes are one parameter, so other ones that do make another list. */
static bool has_form(const struct pto_compat *compat, const struct pto_compat_definition *definition) {
  const struct pto_compat_boundary *now = &compat->boundary, *first = &definition->boundary;
  if (compat->boundary_scalar_count != definition->scalar_count || now->count != first->count ||
      memcmp(now->modes, first->modes, now->count) != 0)
    return false;
  for (uint32_t i = 0; i < now->count; i++)
    if (!is_same_tensor(&now->tensors[i], &first->tensors[i])) return false;
  return true;
}

static void fill_params(const struct pto_compat_boundary *boundary, struct pto_param *params) {
  for (uint32_t i = 0; i < boundary->count; i++)
    params[i] = pto_param_tensor(boundary->modes[i], &boundary->tensors[i]);
}

static bool begin_recording(struct pto_compat *compat, const struct pto_compat_graph *graph,
                            const struct pto_compat_place *place) {
  struct pto_compat_definition *definition = &compat->definitions[compat->definition_count];
  struct pto_param params[PTO_COMPAT_TENSORS];
  *definition = (struct pto_compat_definition){
      .key = graph->key, .boundary = compat->boundary, .scalar_count = graph->scalar_count};
  definition->boundary.after = NULL;
  fill_params(&compat->boundary, params);
  const int status = pto_recorded_begin(compat->rt, params, compat->boundary.count);
  if (status) {
    pto_compat_fail_as(compat, status, place, "rt_submit_graph");
    return false;
  }
  compat->definition_count++;
  compat->definition = definition;
  compat->graph = PTO_COMPAT_GRAPH_RECORDED;
  compat->depth++; /* the recording's own scope */
  return true;
}

static bool begin_ordinary(struct pto_compat *compat, const struct pto_compat_place *place) {
  if (!pto_compat_grow((void **)&compat->launches, compat->launch_count, &compat->launch_capacity,
                       sizeof *compat->launches)) {
    pto_compat_fail_as(compat, PTO_ENOMEM, place, "rt_submit_graph");
    return false;
  }
  compat->launches[compat->launch_count] = (struct pto_compat_launch){.first = compat->id_count};
  compat->graph = PTO_COMPAT_GRAPH_ORDINARY;
  return true;
}

bool pto_compat_graph_begin(const struct pto_compat_graph *graph, const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat) return false;
  const char *sentence = refusal(compat, graph);
  if (sentence) {
    pto_compat_fail(compat, INVALID_ARGS, place, "rt_submit_graph: %s", sentence);
    return false;
  }
  compat->step = 0;
  compat->boundary_scalars = graph->scalars;
  compat->boundary_scalar_count = graph->scalar_count;
  compat->graph_place = *place;
  if (graph->tensor_count > PTO_COMPAT_TENSORS) return begin_ordinary(compat, place);
  if (!pto_compat_prepare_boundary(compat, graph, place)) return false;
  if (compat->boundary.count == PTO_COMPAT_TENSORS) return begin_ordinary(compat, place);
  if (!compat->definitions) compat->definitions = calloc(PTO_COMPAT_DEFINITIONS, sizeof *compat->definitions);
  if (!compat->definitions) {
    pto_compat_fail_as(compat, PTO_ENOMEM, place, "rt_submit_graph");
    return false;
  }
  struct pto_compat_definition *definition = find(compat, graph->key);
  if (!definition)
    return compat->definition_count < PTO_COMPAT_DEFINITIONS ? begin_recording(compat, graph, place)
                                                             : begin_ordinary(compat, place);
  if (!has_form(compat, definition)) {
    if (!definition->has_warned)
      pto_compat_say(compat, PTO_COMPAT_WARN, place,
                     "the boundary of the graph has not the form of its first launch: its tasks are ordinary ones");
    definition->has_warned = true;
    return begin_ordinary(compat, place);
  }
  compat->definition = definition;
  compat->graph = PTO_COMPAT_GRAPH_COMPARED;
  return true;
}

/* ---- a launch ---- */

/* The records of a launch's tasks: as those of the first, with numbers and scalars of its own.  How many have one, or
 * UINT32_MAX. */
static uint32_t make_records(struct pto_compat *compat) {
  const struct pto_compat_definition *definition = compat->definition;
  uint32_t count = 0;
  for (uint32_t i = 0; i < definition->count; i++) {
    const struct pto_compat_step *step = &definition->steps[i];
    const struct pto_compat_record *first = step->task.record;
    if (!first->roles) continue; /* no kernel */
    struct pto_compat_record *record =
        pto_compat_arena_alloc(&compat->arena, sizeof *record + first->scalar_count * sizeof *record->scalars);
    if (!record || !pto_compat_grow((void **)&compat->patches, count, &compat->patch_capacity, sizeof *compat->patches))
      return UINT32_MAX;
    *record = *first;
    record->number = compat->id_count + 1 + i;
    record->scalars = (uint64_t *)(record + 1);
    for (uint32_t k = 0; k < first->scalar_count; k++)
      record->scalars[k] =
          step->sources[k] == UINT8_MAX ? first->scalars[k] : compat->boundary_scalars[step->sources[k]];
    compat->patches[count++] = (struct pto_recorded_scalar){.task = i, .value.u64 = (uintptr_t)record};
  }
  return count;
}

/* Ids of the launch's tasks, in the order in which they are submitted; that of the last stands for all. */
static uint64_t note_launch(struct pto_compat *compat, struct pto_task task) {
  const uint32_t ring = compat->depth < PTO_COMPAT_RINGS ? compat->depth : PTO_COMPAT_RINGS - 1;
  const uint64_t outer = compat->rings[ring].count, count = compat->definition->count;
  uint64_t id = PTO_COMPAT_NO_TASK;
  bool is_noted = pto_compat_note_id(compat, (uint64_t)ring << 32 | outer);
  for (uint64_t i = 0; i < count && is_noted; i++)
    is_noted = pto_compat_note_id(compat, UINT64_C(1) << 32 | (uint32_t)(outer << NODE_BITS | i));
  if (!is_noted)
    pto_compat_fail_as(compat, PTO_ENOMEM, &compat->graph_place, "rt_submit_graph");
  else if (!pto_compat_note_task(compat, task, NULL, &compat->graph_place, &id))
    id = PTO_COMPAT_NO_TASK;
  return id;
}

static bool add_awaited(struct pto_compat *compat) {
  for (uint32_t i = 0; i < compat->boundary.owner_count; i++)
    if (compat->definition->awaited >> i & 1 && compat->boundary.owners[i] != PTO_COMPAT_NO_TASK &&
        !pto_compat_add_boundary_after(compat, compat->boundary.owners[i]))
      return false;
  return true;
}

static uint64_t launch(struct pto_compat *compat) {
  const struct pto_compat_boundary *boundary = &compat->boundary;
  const bool has_after = add_awaited(compat);
  const uint32_t scalar_count = make_records(compat);
  struct pto_param params[PTO_COMPAT_TENSORS];
  struct pto_task task;
  fill_params(boundary, params);
  const struct pto_recorded_launch what = {.size = sizeof what,
                                           .params = params,
                                           .count = boundary->count,
                                           .scalars = compat->patches,
                                           .scalar_count = scalar_count,
                                           .after = boundary->after,
                                           .after_count = boundary->after_count};
  if (!pto_compat_tell_place(compat, &compat->graph_place, "rt_submit_graph")) return PTO_COMPAT_NO_TASK;
  const int status = scalar_count == UINT32_MAX || !has_after
                         ? PTO_ENOMEM
                         : pto_submit_recorded(compat->rt, compat->definition->recorded, &what, &task);
  if (!status) return note_launch(compat, task);
  pto_compat_fail_as(compat, status, &compat->graph_place, "rt_submit_graph");
  return PTO_COMPAT_NO_TASK;
}

static bool end_recording(struct pto_compat *compat) {
  const int status = pto_recorded_end(compat->rt, &compat->definition->recorded);
  if (status) {
    pto_compat_fail_as(compat, status, &compat->graph_place, "rt_submit_graph");
    return false;
  }
  compat->depth--;
  pto_compat_end_scope(compat, compat->depth);
  return true;
}

uint64_t pto_compat_graph_end(void) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat || !compat->graph) return PTO_COMPAT_NO_TASK;
  struct pto_compat_definition *definition = compat->definition;
  const uint32_t mode = compat->graph;
  if (mode == PTO_COMPAT_GRAPH_COMPARED && compat->step < definition->count && !definition->has_warned) {
    definition->has_warned = true;
    pto_compat_say(compat, PTO_COMPAT_WARN, &compat->graph_place,
                   "this launch of the graph has %u tasks and the first had %u, which are replayed", compat->step,
                   definition->count);
  }
  const bool goes_on = mode != PTO_COMPAT_GRAPH_RECORDED || end_recording(compat);
  compat->graph = PTO_COMPAT_NO_GRAPH;
  if (!goes_on) return PTO_COMPAT_NO_TASK;
  if (mode != PTO_COMPAT_GRAPH_ORDINARY) return launch(compat);
  compat->launches[compat->launch_count].end = compat->id_count;
  return PTO_COMPAT_GRAPH_BIT | compat->launch_count++;
}
