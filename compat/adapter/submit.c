/* SPDX-License-Identifier: MIT */
/*
 * Submits: theirs checked, and made one of ours.
 *
 * What differs: bytes that a task names twice, once to write them, are one INOUT here; a tensor without elements is no
 * parameter; a tensor that takes part in order through its creator alone is a held parameter.
 */
#include <compat/adapter/state.h>

#include <string.h>

/* A submit in the making. */
struct work {
  struct pto_compat *compat;
  const struct pto_compat_submit *submit;
  const struct pto_compat_place *place;
  struct pto_compat_record *record;
  struct pto_tensor tensors[PTO_COMPAT_TENSORS];
  uint64_t first[PTO_COMPAT_TENSORS], last[PTO_COMPAT_TENSORS]; /* bytes of its buffer that each lies between */
  uint8_t modes[PTO_COMPAT_TENSORS];
  uint32_t count; /* of parameters */
  struct pto_initial initial[PTO_COMPAT_TENSORS];
  uint32_t initial_count;
  struct pto_tensor predicate;
  char sentence[512];
};

#define FAIL(work, code, ...) pto_compat_fail((work)->compat, code, (work)->place, __VA_ARGS__)
#define OUT_OF_MEMORY(work) pto_compat_fail_as((work)->compat, PTO_ENOMEM, (work)->place, (work)->submit->what)

static bool add_after(struct work *work) {
  for (uint32_t i = 0; i < work->submit->after_count; i++)
    if (!pto_compat_add_after(work->compat, work->submit->after[i], work->submit->what, work->place)) return false;
  return true;
}

/* ---- parameters ---- */

static void note_range(struct work *work, uint32_t param) {
  const struct pto_tensor *t = &work->tensors[param];
  const uint64_t bytes = pto_dtype_size(t->dtype);
  uint64_t last = t->start_offset;
  for (uint32_t d = 0; d < t->ndims; d++) last += (t->shape[d] - 1) * t->strides[d];
  work->first[param] = t->start_offset * bytes;
  work->last[param] = (last + 1) * bytes;
}

/* All bytes from the first to the last of both. */
static void unite(struct work *work, uint32_t into, uint32_t other) {
  struct pto_tensor *t = &work->tensors[into];
  if (work->first[other] < work->first[into]) work->first[into] = work->first[other];
  if (work->last[other] > work->last[into]) work->last[into] = work->last[other];
  t->dtype = PTO_UINT8;
  t->ndims = 1;
  t->start_offset = work->first[into];
  t->shape[0] = work->last[into] - work->first[into];
  t->strides[0] = 1;
}

/* The parameter that is there and names some of the bytes of number `param`, where one of the two writes them. */
static uint32_t find_shared(const struct work *work, uint32_t param) {
  for (uint32_t i = 0; i < work->count; i++) {
    if (i == param || work->tensors[i].buffer.id != work->tensors[param].buffer.id ||
        work->first[i] >= work->last[param] || work->first[param] >= work->last[i] ||
        !((work->modes[i] | work->modes[param]) & PTO_OUTPUT) || work->modes[i] == PTO_HOLD)
      continue;
    if (pto_tensor_overlap(&work->tensors[i], &work->tensors[param]) != PTO_DISJOINT) return i;
  }
  return PTO_COMPAT_NONE;
}

/* Makes one INOUT of the last parameter and those that it shares bytes with.  Which parameter stands for it. */
static void merge_last(struct work *work) {
  for (;;) {
    const uint32_t last = work->count - 1, other = find_shared(work, last);
    if (other == PTO_COMPAT_NONE) return;
    switch (pto_tensor_overlap(&work->tensors[other], &work->tensors[last])) {
    case PTO_EQUAL:
    case PTO_COVERS:
      break;
    case PTO_COVERED:
      work->tensors[other] = work->tensors[last];
      note_range(work, other);
      break;
    default:
      unite(work, other, last);
    }
    work->modes[other] = PTO_INOUT;
    work->count--;
    for (uint32_t i = 0; i < work->record->tensor_count; i++)
      if (work->record->param_of[i] == last) work->record->param_of[i] = (uint8_t)other;
    /* what has grown may now meet others: it becomes the last, to be asked for again */
    const uint32_t end = work->count - 1;
    if (other == end) continue;
    const struct pto_tensor tensor = work->tensors[other];
    const uint8_t mode = work->modes[other];
    for (uint32_t i = 0; i < work->record->tensor_count; i++) {
      uint8_t *param = &work->record->param_of[i];
      if (*param != UINT8_MAX && *param > other)
        --*param;
      else if (*param == other)
        *param = (uint8_t)end;
    }
    memmove(&work->tensors[other], &work->tensors[other + 1], (end - other) * sizeof tensor);
    memmove(&work->modes[other], &work->modes[other + 1], end - other);
    memmove(&work->first[other], &work->first[other + 1], (end - other) * sizeof work->first[0]);
    memmove(&work->last[other], &work->last[other + 1], (end - other) * sizeof work->last[0]);
    work->tensors[end] = tensor;
    work->modes[end] = mode;
    note_range(work, end);
  }
}

/* What a create-info says, as yet without memory; NULL: it says nothing right. */
static struct pto_compat_created *describe(struct work *work, uint32_t index, const struct pto_compat_create *info) {
  const int dtype = pto_compat_dtype(info->dtype);
  if (dtype < 0 || info->ndims == 0 || info->ndims > PTO_COMPAT_DIMS) {
    FAIL(work, INVALID_ARGS, "%s: tensor %u is to have dtype %u and %u dimensions", work->submit->what, index,
         info->dtype, info->ndims);
    return NULL;
  }
  struct pto_compat_created *created = &work->record->created[work->record->created_count++];
  struct pto_compat_tensor *tensor = &work->record->tensors[index];
  *tensor = (struct pto_compat_tensor){.owner = PTO_COMPAT_NO_TASK,
                                       .ndims = info->ndims,
                                       .dtype = info->dtype,
                                       .manual_dep = info->manual_dep,
                                       .is_contiguous = true};
  uint64_t count = 1;
  for (uint32_t d = info->ndims; d-- > 0; count *= info->shape[d]) {
    tensor->shape[d] = info->shape[d];
    tensor->strides[d] = (uint32_t)count;
  }
  tensor->extent = count;
  tensor->size_bytes = count * pto_dtype_size((uint32_t)dtype);
  created->tensor = *tensor;
  return created;
}

static bool create(struct work *work, uint32_t index, const struct pto_compat_create *info) {
  struct pto_compat_created *created = describe(work, index, info);
  if (!created) return false;
  if (created->tensor.extent == 0) return true;
  uint64_t shape[PTO_MAX_DIMS];
  for (uint32_t d = 0; d < info->ndims; d++) shape[d] = info->shape[d];
  created->buffer = pto_create_buffer(work->compat->rt, created->tensor.size_bytes);
  work->record->param_of[index] = (uint8_t)work->count;
  if (info->has_initial_value)
    work->initial[work->initial_count++] = (struct pto_initial){.param = index, .bits = info->initial_value};
  work->modes[work->count] = PTO_OUTPUT;
  work->tensors[work->count] = pto_managed_tensor(work->compat->rt, created->buffer,
                                                  (uint32_t)pto_compat_dtype(info->dtype), info->ndims, shape);
  note_range(work, work->count++);
  return true;
}

static uint8_t mode_of(uint32_t direction) {
  return direction == PTO_COMPAT_INPUT ? PTO_INPUT : direction == PTO_COMPAT_INOUT ? PTO_INOUT : PTO_OUTPUT;
}

/* A tensor that is there. */
static bool name(struct work *work, uint32_t index, const struct pto_compat_tensor *tensor) {
  struct pto_compat *compat = work->compat;
  const uint32_t direction = work->submit->directions[index];
  bool is_empty;
  uint64_t owner;
  work->record->tensors[index] = *tensor;
  if (pto_compat_resolve(compat, tensor, &work->tensors[work->count], &is_empty, &owner, work->sentence,
                         sizeof work->sentence)) {
    FAIL(work, INVALID_ARGS, "%s: tensor %u: %s", work->submit->what, index, work->sentence);
    return false;
  }
  const bool is_recorded = compat->graph == PTO_COMPAT_GRAPH_RECORDED;
  /* what comes before a graph comes before all of its tasks */
  if (owner != PTO_COMPAT_NO_TASK && !compat->manual_depth && (!is_recorded || owner & PTO_COMPAT_INNER_BIT) &&
      !pto_compat_add_after(compat, owner, work->submit->what, work->place))
    return false;
  if (is_empty) return true;
  if (is_recorded) work->record->param_of[index] = (uint8_t)work->count; /* each launch has its own memory */
  const bool is_held = direction == PTO_COMPAT_NO_DEP || tensor->manual_dep;
  work->modes[work->count] = is_held ? PTO_HOLD : mode_of(direction);
  note_range(work, work->count++);
  if (!is_held && work->count > 1) merge_last(work);
  return true;
}

static bool add_tensors(struct work *work) {
  const struct pto_compat_submit *submit = work->submit;
  for (uint32_t i = 0; i < submit->tensor_count; i++)
    if (!(submit->directions[i] == PTO_COMPAT_CREATE ? create(work, i, submit->tensors[i])
                                                     : name(work, i, submit->tensors[i])))
      return false;
  return true;
}

/* Of the tensors that a recorded task names, once no parameter is merged any more. */
static void set_distances(struct work *work) {
  struct pto_compat_record *record = work->record;
  if (work->compat->graph != PTO_COMPAT_GRAPH_RECORDED) return;
  for (uint32_t i = 0; i < record->tensor_count; i++) {
    if (record->param_of[i] == UINT8_MAX || work->submit->directions[i] == PTO_COMPAT_CREATE) continue;
    const uint32_t param = record->param_of[i];
    record->distance[i] = record->tensors[i].addr - work->first[param] -
                          pto_get_buffer_addr(work->compat->rt, work->tensors[param].buffer);
  }
}

/* host_build_graph: what a task writes cannot be read by the host before it has run. */
static bool note_written(struct work *work) {
  struct pto_compat *compat = work->compat;
  if (compat->orchestration->mode != PTO_COMPAT_HBG) return true;
  for (uint32_t i = 0; i < work->count; i++) {
    if (!(work->modes[i] & PTO_OUTPUT)) continue;
    if (!pto_compat_grow((void **)&compat->written, compat->written_count, &compat->written_capacity,
                         sizeof *compat->written)) {
      OUT_OF_MEMORY(work);
      return false;
    }
    compat->written[compat->written_count++] = work->tensors[i];
  }
  return true;
}

/* ---- the predicate ---- */

/* The element as a signed number of its size, whatever its type. */
static bool set_predicate(struct work *work, struct pto_launch *launch) {
  static const uint32_t compares[] = {PTO_ALWAYS, PTO_IF_EQ, PTO_IF_NE, PTO_IF_GT, PTO_IF_LT, PTO_IF_GE, PTO_IF_LE};
  const struct pto_compat_submit *submit = work->submit;
  if (submit->compare == PTO_COMPAT_ALWAYS) return true;
  bool is_empty;
  uint64_t owner;
  if (submit->compare > PTO_COMPAT_LE || !submit->predicate || submit->predicate_ndims != submit->predicate->ndims) {
    FAIL(work, INVALID_ARGS, "%s: the predicate names no tensor, or not one index a dimension", submit->what);
    return false;
  }
  if (pto_compat_resolve(work->compat, submit->predicate, &work->predicate, &is_empty, &owner, work->sentence,
                         sizeof work->sentence) ||
      is_empty) {
    FAIL(work, INVALID_ARGS, "%s: predicate: %s", submit->what, is_empty ? "no elements" : work->sentence);
    return false;
  }
  struct pto_tensor *t = &work->predicate;
  for (uint32_t d = 0; d < t->ndims; d++) {
    if (submit->predicate_index[d] >= t->shape[d]) {
      FAIL(work, INVALID_ARGS, "%s: predicate: index %u of dimension %u is not below %llu", submit->what,
           submit->predicate_index[d], d, (unsigned long long)t->shape[d]);
      return false;
    }
    t->start_offset += submit->predicate_index[d] * t->strides[d];
    t->shape[d] = t->strides[d] = 1;
  }
  t->ndims = 1;
  switch (pto_dtype_size(t->dtype)) {
  case 1:
    t->dtype = PTO_INT8;
    break;
  case 2:
    t->dtype = PTO_INT16;
    break;
  case 4:
    t->dtype = PTO_INT32;
    break;
  default:
    t->dtype = PTO_INT64;
  }
  launch->predicate = (struct pto_predicate){t, compares[submit->compare], submit->predicate_value};
  return true;
}

/* ---- kernels ---- */

static bool set_kernels(struct work *work, struct pto_launch *launch) {
  static const char *const core_names[] = {"AIC", "AIV", "AIV"};
  static const uint32_t cores[] = {PTO_AIC, PTO_AIV, PTO_AIV};
  const struct pto_kernel **places[] = {&launch->aic, &launch->aiv0, &launch->aiv1};
  int32_t ids[3];
  memcpy(ids, work->submit->kernels, sizeof ids);
  if (ids[0] == PTO_COMPAT_NO_KERNEL && ids[1] == PTO_COMPAT_NO_KERNEL) { /* one AIV is AIV0 */
    ids[1] = ids[2];
    ids[2] = PTO_COMPAT_NO_KERNEL;
  }
  for (uint32_t i = 0; i < 3; i++) {
    if (ids[i] == PTO_COMPAT_NO_KERNEL) continue;
    const struct pto_compat_kernel *kernel = pto_compat_find_kernel(work->compat, ids[i], cores[i]);
    if (!kernel) {
      FAIL(work, INVALID_ARGS, "%s: no kernel is given for func_id %d on an %s", work->submit->what, ids[i],
           core_names[i]);
      return false;
    }
    work->record->kernels[i] = kernel;
    work->record->roles |= 1u << i;
    *places[i] = pto_compat_kernel_for(work->compat, kernel, work->modes, work->count);
    if (*places[i]) continue;
    OUT_OF_MEMORY(work);
    return false;
  }
  if (work->record->roles) return true;
  FAIL(work, INVALID_ARGS, "%s: no kernel is named", work->submit->what);
  return false;
}

/* ---- the whole ---- */

static struct pto_compat_record *make_record(struct pto_compat *compat, const struct pto_compat_submit *submit) {
  const uint32_t tensors = submit->tensor_count, scalars = submit->scalar_count;
  uint32_t created = 0;
  for (uint32_t i = 0; i < tensors; i++) created += submit->directions[i] == PTO_COMPAT_CREATE;
  struct pto_compat_record *record = pto_compat_arena_alloc(
      &compat->arena, sizeof *record + tensors * sizeof *record->tensors + created * sizeof *record->created +
                          (scalars + tensors) * sizeof *record->scalars + tensors);
  if (!record) return NULL;
  record->number = compat->id_count;
  record->tensor_count = tensors;
  record->scalar_count = scalars;
  record->tensors = (struct pto_compat_tensor *)(record + 1);
  record->created = (struct pto_compat_created *)(record->tensors + tensors);
  record->scalars = (uint64_t *)(record->created + created);
  record->distance = record->scalars + scalars;
  record->param_of = (uint8_t *)(record->distance + tensors);
  memset(record->param_of, UINT8_MAX, tensors);
  if (scalars) memcpy(record->scalars, submit->scalars, scalars * sizeof *record->scalars);
  return record;
}

bool pto_compat_note_id(struct pto_compat *compat, uint64_t id) {
  if (!pto_compat_grow((void **)&compat->ids, compat->id_count, &compat->id_capacity, sizeof *compat->ids))
    return false;
  compat->ids[compat->id_count++] = id;
  return true;
}

bool pto_compat_note_task(struct pto_compat *compat, struct pto_task task, struct pto_compat_record *record,
                          const struct pto_compat_place *place, uint64_t *id_out) {
  const uint32_t ring_index = compat->depth < PTO_COMPAT_RINGS ? compat->depth : PTO_COMPAT_RINGS - 1;
  struct pto_compat_ring *ring = &compat->rings[ring_index];
  *id_out = (uint64_t)ring_index << 32 | ring->count;
  if (!pto_compat_grow((void **)&ring->tasks, ring->count, &ring->capacity, sizeof *ring->tasks) ||
      !pto_compat_note_id(compat, *id_out)) {
    pto_compat_fail_as(compat, PTO_ENOMEM, place, "a submit");
    return false;
  }
  ring->tasks[ring->count++] = (struct pto_compat_task){task, record};
  return true;
}

static bool note_task(struct work *work, struct pto_task task, uint64_t *id_out) {
  struct pto_compat *compat = work->compat;
  if (compat->graph != PTO_COMPAT_GRAPH_RECORDED)
    return pto_compat_note_task(compat, task, work->record, work->place, id_out);
  const uint32_t step = compat->step - 1;
  compat->definition->steps[step].task = (struct pto_compat_task){task, work->record};
  *id_out = PTO_COMPAT_INNER_BIT | step;
  return true;
}

/* What was created has its memory now. */
static bool give_outputs(struct work *work, uint64_t id, struct pto_compat_outputs *outputs) {
  struct pto_compat *compat = work->compat;
  outputs->task = id;
  for (uint32_t i = 0; i < work->record->created_count; i++) {
    struct pto_compat_created *created = &work->record->created[i];
    if (created->buffer.id) created->tensor.addr = pto_get_buffer_addr(compat->rt, created->buffer);
    created->tensor.owner = id;
    outputs->tensors[outputs->count++] = &created->tensor;
    if (!created->tensor.addr) continue;
    if (!pto_compat_grow((void **)&compat->creations, compat->creation_count, &compat->creation_capacity,
                         sizeof *compat->creations)) {
      OUT_OF_MEMORY(work);
      return false;
    }
    compat->creations[compat->creation_count++] = (struct pto_compat_creation){.addr = created->tensor.addr,
                                                                               .size_bytes = created->tensor.size_bytes,
                                                                               .buffer = created->buffer,
                                                                               .owner = id,
                                                                               .depth = compat->depth};
  }
  return true;
}

/* A later launch of a graph: the function gets outputs that it can name, and nothing is submitted. */
static void give_names(struct work *work, struct pto_compat_outputs *outputs) {
  const struct pto_compat_submit *submit = work->submit;
  const uint64_t id = PTO_COMPAT_INNER_BIT | (work->compat->step - 1);
  for (uint32_t i = 0; i < submit->tensor_count; i++) {
    if (submit->directions[i] != PTO_COMPAT_CREATE) continue;
    struct pto_compat_created *created = describe(work, i, submit->tensors[i]);
    if (!created) return;
    created->tensor.owner = id;
    created->tensor.addr = 64; /* of no memory, and not NULL */
    outputs->tensors[outputs->count++] = &created->tensor;
  }
  outputs->task = id;
}

/* A submit that may go on, with its record; NULL: it may not. */
static struct pto_compat *begin(const struct pto_compat_submit *submit, const struct pto_compat_place *place,
                                struct pto_compat_outputs *outputs, struct work *work) {
  outputs->task = PTO_COMPAT_NO_TASK;
  outputs->count = 0;
  struct pto_compat *compat = pto_compat_current();
  if (!compat) return NULL;
  work->compat = compat;
  work->submit = submit;
  work->place = place;
  work->count = work->initial_count = 0;
  compat->after_count = 0;
  if (submit->mistake) {
    FAIL(work, INVALID_ARGS, "%s: %s", submit->what, submit->mistake);
    return NULL;
  }
  if (submit->tensor_count > PTO_COMPAT_TENSORS || submit->scalar_count > PTO_COMPAT_SCALARS) {
    FAIL(work, INVALID_ARGS, "%s: %u tensors and %u scalars; a task has at most %d and %d", submit->what,
         submit->tensor_count, submit->scalar_count, PTO_COMPAT_TENSORS, PTO_COMPAT_SCALARS);
    return NULL;
  }
  const struct pto_place *known = pto_compat_tell_place(compat, place, submit->what);
  if (!known) return NULL;
  work->record = make_record(compat, submit);
  if (!work->record) {
    OUT_OF_MEMORY(work);
    return NULL;
  }
  work->record->place = known;
  if (!compat->graph) return compat;
  pto_compat_graph_step(compat, submit, place);
  if (compat->graph != PTO_COMPAT_GRAPH_COMPARED || compat->has_failed) return compat->has_failed ? NULL : compat;
  give_names(work, outputs);
  return NULL;
}

static void submit_task(struct work *work, struct pto_launch *launch, struct pto_compat_outputs *outputs) {
  struct pto_compat *compat = work->compat;
  struct pto_param params[PTO_COMPAT_TENSORS + 1];
  for (uint32_t i = 0; i < work->count; i++) params[i] = pto_param_tensor(work->modes[i], &work->tensors[i]);
  params[work->count] = pto_scalar_u64((uintptr_t)work->record);
  launch->after = compat->after;
  launch->after_count = compat->after_count;
  /* merging may have moved them */
  for (uint32_t i = 0; i < work->initial_count; i++)
    work->initial[i].param = work->record->param_of[work->initial[i].param];
  launch->initial = work->initial;
  launch->initial_count = work->initial_count;
  struct pto_task task;
  uint64_t id;
  set_distances(work);
  const int status = pto_submit(compat->rt, launch, params, work->count + !launch->no_kernel, &task);
  if (status)
    pto_compat_fail_as(compat, status, work->place, work->submit->what);
  else if (note_task(work, task, &id) && note_written(work))
    give_outputs(work, id, outputs);
}

void pto_compat_submit_kernels(const struct pto_compat_submit *submit, const struct pto_compat_place *place,
                               struct pto_compat_outputs *outputs) {
  struct work work;
  struct pto_compat *compat = begin(submit, place, outputs, &work);
  if (!compat) return;
  if (submit->block_count < 1) {
    FAIL(&work, INVALID_ARGS, "%s: %d blocks", submit->what, submit->block_count);
    return;
  }
  struct pto_launch launch = {.size = sizeof launch,
                              .block_count = (uint32_t)submit->block_count,
                              .sync_start = submit->sync_start && submit->block_count > 1};
  if (add_after(&work) && add_tensors(&work) && set_predicate(&work, &launch) && set_kernels(&work, &launch))
    submit_task(&work, &launch, outputs);
}

void pto_compat_submit_dummy(const struct pto_compat_submit *submit, const struct pto_compat_place *place,
                             struct pto_compat_outputs *outputs) {
  struct work work;
  if (!begin(submit, place, outputs, &work)) return;
  struct pto_launch launch = {.size = sizeof launch, .no_kernel = true};
  if (add_after(&work) && add_tensors(&work)) submit_task(&work, &launch, outputs);
}

void pto_compat_alloc(const struct pto_compat_submit *submit, const struct pto_compat_place *place,
                      struct pto_compat_outputs *outputs) {
  struct work work;
  struct pto_compat *compat = begin(submit, place, outputs, &work);
  if (!compat) return;
  bool creates_only = submit->tensor_count > 0 && submit->scalar_count == 0;
  for (uint32_t i = 0; i < submit->tensor_count; i++) creates_only &= submit->directions[i] == PTO_COMPAT_CREATE;
  if (!creates_only) {
    FAIL(&work, INVALID_ARGS, "alloc_tensors: takes create-infos alone, and at least one");
    return;
  }
  if (compat->graph == PTO_COMPAT_GRAPH_RECORDED) {
    FAIL(&work, INVALID_ARGS, "alloc_tensors: not in a graph; its tasks create");
    return;
  }
  if (!add_tensors(&work)) return;
  if (work.initial_count) { /* an allocation that fills is a task without kernels */
    struct pto_launch launch = {.size = sizeof launch, .no_kernel = true};
    submit_task(&work, &launch, outputs);
    return;
  }
  struct pto_task task;
  uint64_t id;
  const int status = pto_alloc_tensors(compat->rt, work.tensors, work.count, &task);
  if (status)
    pto_compat_fail_as(compat, status, place, submit->what);
  else if (note_task(&work, task, &id))
    give_outputs(&work, id, outputs);
}

bool pto_compat_prepare_boundary(struct pto_compat *compat, const struct pto_compat_graph *graph,
                                 const struct pto_compat_place *place) {
  const struct pto_compat_submit submit = {.what = "rt_submit_graph",
                                           .tensor_count = graph->tensor_count,
                                           .directions = graph->directions,
                                           .tensors = graph->tensors};
  struct pto_compat_boundary *boundary = &compat->boundary;
  struct pto_compat_outputs outputs;
  struct work work;
  if (!begin(&submit, place, &outputs, &work) || !add_tensors(&work) || !note_written(&work)) return false;
  memcpy(boundary->tensors, work.tensors, work.count * sizeof work.tensors[0]);
  memcpy(boundary->modes, work.modes, work.count);
  boundary->count = work.count;
  boundary->owner_count = graph->tensor_count;
  for (uint32_t i = 0; i < graph->tensor_count; i++)
    boundary->owners[i] = ((const struct pto_compat_tensor *)graph->tensors[i])->owner;
  if (pto_compat_take_boundary_after(compat)) return true;
  OUT_OF_MEMORY(&work);
  return false;
}
