/* SPDX-License-Identifier: MIT */
#include <runtime/submit/recorded.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/submit/template.h>

/* Where the addresses of temporaries begin while they are recorded: beyond those of any memory. */
#define NO_MEMORY (UINT64_C(1) << 61)
_Static_assert(NO_MEMORY < PTO_ADDRESS_LIMIT, "regions may lie there");

static const uint64_t item_bytes[PTO_RECORDED_ARRAY_COUNT] = {
    [PTO_RECORDED_ARRAY_TASKS] = sizeof(struct pto_recorded_task),
    [PTO_RECORDED_ARRAY_PARAMS] = sizeof(struct pto_param),
    [PTO_RECORDED_ARRAY_TENSORS] = sizeof(struct pto_tensor),
    [PTO_RECORDED_ARRAY_PLACES] = sizeof(struct pto_recorded_place),
    [PTO_RECORDED_ARRAY_BEFORE] = sizeof(uint32_t),
    [PTO_RECORDED_ARRAY_SCALARS] = sizeof(struct pto_recorded_kept_scalar),
    [PTO_RECORDED_ARRAY_INITIALS] = sizeof(struct pto_recorded_initial),
    [PTO_RECORDED_ARRAY_ACCESSES] = sizeof(struct pto_recorded_access)};

static bool make_room(struct pto_recorded *recorded, int which, uint64_t more) {
  struct pto_recorded_list *list = &recorded->lists[which];
  if (list->count + more <= list->capacity) return true;
  const uint64_t capacity = 2 * list->capacity + more + 16;
  void *items = realloc(list->items, capacity * item_bytes[which]);
  if (!items) return false;
  list->items = items;
  list->capacity = capacity;
  return true;
}
/* The next item, for which there is room. */
static void *add(struct pto_recorded *recorded, int which) {
  struct pto_recorded_list *list = &recorded->lists[which];
  PTO_ASSERT(list->count < list->capacity);
  void *item = (char *)list->items + list->count++ * item_bytes[which];
  memset(item, 0, item_bytes[which]);
  return item;
}
static uint32_t count_of(const struct pto_recorded *recorded, int which) {
  return (uint32_t)recorded->lists[which].count;
}

/* ---- what a submit in a recording may not ask for ---- */

static int check_after(struct pto_runtime *rt, const struct pto_launch *launch) {
  const struct pto_recorded *recorded = rt->recorded;
  if (launch->after_count && !launch->after)
    return PTO_REFUSE(rt, PTO_EINVAL, "%u explicit dependencies at a null pointer", launch->after_count);
  for (uint32_t i = 0; i < launch->after_count; i++)
    if (launch->after[i].generation != recorded->generation)
      return PTO_REFUSE(rt, PTO_EINVAL, "explicit dependency %u is not a task of this recording", i);
  return PTO_OK;
}

static bool is_temporary(const struct pto_param_work *work) {
  return work->record->addr >= NO_MEMORY || work->is_allocated_now;
}

/* The boundary argument that has all bytes of the parameter; PTO_RECORDED_TEMPORARY: none has. */
static uint32_t find_source(const struct pto_recorded *recorded, const struct pto_param_work *work) {
  struct pto_tensor t = *work->tensor;
  t.overlap = PTO_OVERLAP_EXACT;
  for (uint32_t i = 0; i < recorded->boundary_count; i++) {
    const struct pto_recorded_boundary *boundary = &recorded->boundary[i];
    struct pto_tensor like = boundary->like;
    if (like.buffer.id != t.buffer.id) continue;
    like.overlap = PTO_OVERLAP_EXACT;
    const enum pto_overlap relation = pto_tensor_overlap(&like, &t);
    if (relation == PTO_EQUAL || relation == PTO_COVERS || work->is_empty) return i;
  }
  return PTO_RECORDED_TEMPORARY;
}

static int check_tensor(struct pto_runtime *rt, const struct pto_param_work *work, uint32_t *source_out) {
  char name[32] = "the predicate";
  if (work->index != PTO_TAG_PREDICATE) snprintf(name, sizeof name, "param %u", work->index);
  *source_out = PTO_RECORDED_TEMPORARY;
  if (is_temporary(work)) return PTO_OK;
  *source_out = find_source(rt->recorded, work);
  if (*source_out == PTO_RECORDED_TEMPORARY)
    return PTO_REFUSE(rt, PTO_EINVAL, "in a recording, %s lies in no boundary argument and in no temporary", name);
  if ((work->mode & PTO_OUTPUT) && !(rt->recorded->boundary[*source_out].mode & (PTO_OUTPUT | PTO_HOLD)))
    return PTO_REFUSE(rt, PTO_EINVAL, "in a recording, %s writes boundary argument %u, which is an input", name,
                      *source_out);
  return PTO_OK;
}

/* Of the rings: a launch may come at any depth. */
static uint64_t least_capacity(const struct pto_runtime *rt) {
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) least = pto_min_u64(least, rt->rings.rings[i].capacity);
  return least;
}
static uint64_t least_heap(const struct pto_runtime *rt) {
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) least = pto_min_u64(least, rt->rings.rings[i].heap.size_bytes);
  return least;
}

static int check(struct pto_runtime *rt, const struct pto_submit_work *submit, const struct pto_submit_request *request,
                 uint32_t *sources) {
  struct pto_recorded *recorded = rt->recorded;
  int status = check_after(rt, request->launch);
  if (!status && submit->advances)
    status = PTO_REFUSE(rt, PTO_EINVAL, "in a recording, an output names the next version of its buffer");
  for (uint32_t i = 0; i < submit->work_count && !status; i++)
    status = check_tensor(rt, &submit->params[i], &sources[i]);
  const uint64_t heap_bytes = least_heap(rt);
  if (!status && submit->heap_bytes > heap_bytes - recorded->temporary_bytes)
    status = PTO_REFUSE(rt, PTO_EFIT, "the recording's temporaries take %llu bytes, a heap has %llu",
                        (unsigned long long)(recorded->temporary_bytes + submit->heap_bytes),
                        (unsigned long long)heap_bytes);
  if (status) return status;
  bool has_room = make_room(recorded, PTO_RECORDED_ARRAY_TASKS, 1) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_PARAMS, request->count) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_SCALARS, submit->scalar_count) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_INITIALS, request->launch->initial_count) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_TENSORS, submit->work_count) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_PLACES, submit->work_count) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_ACCESSES, submit->work_count) &&
                  make_room(recorded, PTO_RECORDED_ARRAY_BEFORE, count_of(recorded, PTO_RECORDED_ARRAY_TASKS) + 1);
  return has_room ? PTO_OK : PTO_REFUSE(rt, PTO_ENOMEM, "no memory to record a task");
}

/* ---- what it comes after ---- */

/* A task once; it has a consumer now. */
static void add_before(struct pto_recorded *recorded, struct pto_recorded_task *task, uint32_t before) {
  struct pto_recorded_task *tasks = recorded->lists[PTO_RECORDED_ARRAY_TASKS].items;
  const uint32_t number = (uint32_t)(task - tasks);
  if (tasks[before].last_consumer == number + 1) return;
  tasks[before].last_consumer = number + 1;
  *(uint32_t *)add(recorded, PTO_RECORDED_ARRAY_BEFORE) = before + 1;
  task->launch.after_count++;
}

static uint64_t base_of(const struct pto_submit_work *submit, const struct pto_access *access) {
  const struct pto_param_work *work = submit->params;
  while (work->index != (access->tag & PTO_TAG_PARAM_MASK)) work++;
  return work->record->addr;
}

/* Whether the rules may find an earlier access from one of the task, as far as memory goes. */
static bool is_one_buffer(const struct pto_runtime *rt, const struct pto_submit_work *submit,
                          const struct pto_access *access, const struct pto_recorded_access *earlier) {
  return !(rt->recorded_rules.named & PTO_DEPS_NAMED_BASE_ADDRESS) || base_of(submit, access) == earlier->base;
}

/* Whether a write of the task replaces an earlier access, as in the map: it covers it and has an edge to it. */
static bool replaces(const struct pto_runtime *rt, const struct pto_submit_work *submit,
                     const struct pto_recorded_access *earlier) {
  const struct pto_recorded *recorded = rt->recorded;
  const struct pto_recorded_task *tasks = recorded->lists[PTO_RECORDED_ARRAY_TASKS].items;
  if (tasks[earlier->task].last_consumer != count_of(recorded, PTO_RECORDED_ARRAY_TASKS)) return false;
  for (uint32_t i = 0; i < submit->access_count; i++) {
    const struct pto_access *access = &submit->accesses[i];
    if (!(access->tag & PTO_TAG_WRITE) || access->region.is_fuzzy || earlier->region.is_fuzzy) continue;
    if (!is_one_buffer(rt, submit, access, earlier)) continue;
    const enum pto_overlap relation = pto_region_overlap(&access->region, &earlier->region, NULL);
    if (relation == PTO_EQUAL || relation == PTO_COVERS) return true;
  }
  return false;
}

static void wire_accesses(struct pto_runtime *rt, const struct pto_submit_work *submit,
                          struct pto_recorded_task *task) {
  const struct pto_recorded_list *list = &rt->recorded->lists[PTO_RECORDED_ARRAY_ACCESSES];
  const struct pto_recorded_access *kept = list->items, *end = kept + list->count;
  for (uint32_t i = 0; i < submit->access_count; i++) {
    const struct pto_access *access = &submit->accesses[i];
    for (const struct pto_recorded_access *earlier = kept; earlier < end; earlier++)
      if (pto_deps_reasons(&rt->recorded_rules, earlier->tag, access->tag) &&
          is_one_buffer(rt, submit, access, earlier) &&
          pto_region_intersects(&earlier->region, &access->region, &rt->map.budget_exhausted))
        add_before(rt->recorded, task, earlier->task);
  }
}

static void enter_accesses(struct pto_runtime *rt, const struct pto_submit_work *submit) {
  struct pto_recorded *recorded = rt->recorded;
  struct pto_recorded_list *list = &recorded->lists[PTO_RECORDED_ARRAY_ACCESSES];
  struct pto_recorded_access *accesses = list->items;
  uint64_t kept = 0;
  for (uint64_t i = 0; i < list->count; i++)
    if (!replaces(rt, submit, &accesses[i])) accesses[kept++] = accesses[i];
  list->count = kept;
  for (uint32_t i = 0; i < submit->access_count; i++)
    *(struct pto_recorded_access *)add(recorded, PTO_RECORDED_ARRAY_ACCESSES) =
        (struct pto_recorded_access){submit->accesses[i].region, base_of(submit, &submit->accesses[i]),
                                     count_of(recorded, PTO_RECORDED_ARRAY_TASKS) - 1, submit->accesses[i].tag};
}

/* As hazards have it: explicit ones, the creators of temporaries, then bytes; else the begin of the launch. */
static void add_edges(struct pto_runtime *rt, const struct pto_submit_work *submit, const struct pto_launch *launch,
                      struct pto_recorded_task *task) {
  struct pto_recorded *recorded = rt->recorded;
  const uint32_t named = rt->recorded_rules.named;
  const bool is_manual = rt->hazards.is_manual;
  task->first_after = count_of(recorded, PTO_RECORDED_ARRAY_BEFORE);
  for (uint32_t i = 0; i < launch->after_count; i++) add_before(recorded, task, (uint32_t)launch->after[i].id);
  for (uint32_t i = 0; i < submit->work_count && !is_manual && (named & PTO_DEPS_NAMED_CREATOR_EDGES); i++) {
    const struct pto_param_work *work = &submit->params[i];
    if (is_temporary(work) && !work->is_allocated_now && !work->is_empty)
      add_before(recorded, task, work->record->owner_slot);
  }
  if (!is_manual) wire_accesses(rt, submit, task);
  if (!is_manual || !(named & PTO_DEPS_NAMED_MANUAL_ENTERS_NOTHING)) enter_accesses(rt, submit);
  if (task->launch.after_count) return;
  *(uint32_t *)add(recorded, PTO_RECORDED_ARRAY_BEFORE) = 0;
  task->launch.after_count = 1;
}

/* ---- keeping ---- */

/* Temporaries lie one behind the other in what a launch allocates. */
static void place_temporaries(struct pto_recorded *recorded, struct pto_submit_work *submit, uint32_t task) {
  for (uint32_t i = 0; i < submit->tensor_count; i++) {
    struct pto_param_work *work = &submit->params[i];
    if (!work->is_allocated_now) continue;
    work->record->addr = NO_MEMORY + recorded->temporary_bytes;
    work->record->owner_slot = task;
    if (work->initial)
      *(struct pto_recorded_initial *)add(recorded, PTO_RECORDED_ARRAY_INITIALS) = (struct pto_recorded_initial){
          recorded->temporary_bytes, work->record->size_bytes, work->initial->bits, work->tensor->dtype};
    recorded->temporary_bytes += pto_align_up(work->record->size_bytes, PTO_OUTPUT_ALIGN);
    if (work->is_empty) continue;
    struct pto_access *access = &submit->accesses[submit->access_count++];
    pto_region_from_tensor(work->tensor, work->record->addr, &access->region);
    access->tag = (uint16_t)(work->index | PTO_TAG_WRITE | PTO_TAG_CREATES);
  }
}

/* From the first byte of a buffer. */
static uint64_t offset_bytes_of(const struct pto_tensor *t) {
  return pto_dtype_is_four_bit(t->dtype) ? t->start_offset / 2 : t->start_offset << pto_dtype_shift(t->dtype);
}

static void keep_tensor(struct pto_recorded *recorded, const struct pto_param_work *work, uint32_t source) {
  struct pto_tensor *tensor = add(recorded, PTO_RECORDED_ARRAY_TENSORS);
  struct pto_recorded_place *place = add(recorded, PTO_RECORDED_ARRAY_PLACES);
  *tensor = *work->tensor;
  place->source = source;
  if (source == PTO_RECORDED_TEMPORARY) {
    place->offset_bytes = work->record->addr - NO_MEMORY + offset_bytes_of(tensor);
    tensor->version = 0; /* the one piece that they lie in has its first */
    return;
  }
  struct pto_recorded_boundary *boundary = &recorded->boundary[source];
  const uint32_t size = (uint32_t)pto_dtype_size(tensor->dtype);
  place->offset_bytes = offset_bytes_of(tensor) - offset_bytes_of(&boundary->like);
  if (work->is_empty) place->offset_bytes = 0;
  if (size > boundary->align_bytes) boundary->align_bytes = size;
}

static void keep_params(struct pto_recorded *recorded, struct pto_recorded_task *task,
                        const struct pto_submit_request *request) {
  task->first_param = count_of(recorded, PTO_RECORDED_ARRAY_PARAMS);
  task->first_scalar = count_of(recorded, PTO_RECORDED_ARRAY_SCALARS);
  if (request->kind == PTO_TASK_ALLOC) return; /* the launch allocates for it */
  for (uint32_t i = 0; i < request->count; i++) {
    const struct pto_param *param = &request->params[i];
    *(struct pto_param *)add(recorded, PTO_RECORDED_ARRAY_PARAMS) = *param;
    if (param->mode == PTO_SCALAR)
      *(struct pto_recorded_kept_scalar *)add(recorded, PTO_RECORDED_ARRAY_SCALARS) =
          (struct pto_recorded_kept_scalar){task->first_param + i, param->value.scalar};
  }
  task->request.count = request->count;
  task->scalar_count = count_of(recorded, PTO_RECORDED_ARRAY_SCALARS) - task->first_scalar;
}

static void keep(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_submit_request *request,
                 const uint32_t *sources) {
  struct pto_recorded *recorded = rt->recorded;
  const uint32_t number = count_of(recorded, PTO_RECORDED_ARRAY_TASKS);
  struct pto_recorded_task *task = add(recorded, PTO_RECORDED_ARRAY_TASKS);
  const bool is_alloc = request->kind == PTO_TASK_ALLOC;
  task->launch = *request->launch;
  task->launch.after_count = task->launch.initial_count = 0;
  task->launch.initial = NULL;
  task->request =
      (struct pto_submit_request){.call = request->call,
                                  .kind = is_alloc ? PTO_TASK_BARRIER : request->kind,
                                  .is_single = request->kind == PTO_TASK_KERNEL && pto_launch_is_single(&task->launch)};
  place_temporaries(recorded, submit, number);
  add_edges(rt, submit, request->launch, task);
  task->first_tensor = count_of(recorded, PTO_RECORDED_ARRAY_TENSORS);
  for (uint32_t i = 0; i < submit->work_count && !is_alloc; i++) keep_tensor(recorded, &submit->params[i], sources[i]);
  keep_params(recorded, task, request);
}

int pto_recorded_keep(struct pto_runtime *rt, struct pto_submit_work *submit, const struct pto_submit_request *request,
                      struct pto_task *task_out) {
  uint32_t sources[PTO_MAX_ACCESSES];
  /* a template's work has those of the submit that made it */
  for (uint32_t i = 0; i < submit->tensor_count; i++)
    submit->params[i].tensor = request->params[submit->params[i].index].value.tensor;
  const int status = check(rt, submit, request, sources);
  if (!status) {
    keep(rt, submit, request, sources);
    if (task_out)
      *task_out = (struct pto_task){count_of(rt->recorded, PTO_RECORDED_ARRAY_TASKS) - 1, rt->recorded->generation};
  }
  return pto_params_drop(rt, submit, status);
}

/* ---- begin and end ---- */

/* As those of a task without kernels. */
static int check_boundary(struct pto_runtime *rt, const struct pto_param *boundary, uint32_t count) {
  const struct pto_launch launch = {.no_kernel = true};
  const struct pto_submit_request request = {
      .launch = &launch, .params = boundary, .count = count, .kind = PTO_TASK_EMPTY};
  struct pto_submit_work *work = &rt->templates[PTO_TEMPLATES].work;
  rt->is_boundary = true;
  int status = pto_params_prepare(rt, work, &request);
  rt->is_boundary = false;
  if (status) return status;
  for (uint32_t i = 0; i < work->tensor_count && !status; i++)
    if (work->params[i].is_allocated_now)
      status = PTO_REFUSE(rt, PTO_EINVAL, "a boundary argument has memory; buffer %llu of argument %u has none yet",
                          (unsigned long long)work->params[i].record->id, i);
  if (!status && work->tensor_count < count)
    status = PTO_REFUSE(rt, PTO_EINVAL, "the boundary is tensors alone; scalars are patched at a launch");
  if (!status && work->advances)
    status = PTO_REFUSE(rt, PTO_EINVAL, "a boundary argument names the next version of its buffer");
  return pto_params_drop(rt, work, status);
}

int pto_recorded_begin(struct pto_runtime *rt, const struct pto_param *boundary, uint32_t count) {
  int status = pto_runtime_check(rt);
  if (status) return status;
  if (rt->recorded) return PTO_REFUSE(rt, PTO_EINVAL, "a recording within a recording");
  if (count > PTO_MAX_TENSORS - 1)
    return PTO_REFUSE(rt, PTO_EINVAL, "a recording with %u boundary arguments; it has at most %u", count,
                      PTO_MAX_TENSORS - 1);
  if (rt->scope_depth == PTO_MAX_SCOPE_DEPTH)
    return PTO_REFUSE(rt, PTO_EINVAL, "scopes nest %u deep at most, and a recording is one", PTO_MAX_SCOPE_DEPTH);
  status = check_boundary(rt, boundary, count);
  if (status) return status;
  struct pto_recorded *recorded = calloc(1, sizeof *recorded);
  if (!recorded) return PTO_REFUSE(rt, PTO_ENOMEM, "no memory for a recording");
  recorded->rt_tag = rt->tag;
  recorded->boundary_count = count;
  for (uint32_t i = 0; i < count; i++)
    recorded->boundary[i] =
        (struct pto_recorded_boundary){.mode = boundary[i].mode, .align_bytes = 1, .like = *boundary[i].value.tensor};
  rt->recorded_count++;
  recorded->generation = rt->task_generation + 2 * (uint64_t)rt->recorded_count;
  if (rt->call_list) pto_call_list_spoil(rt->call_list);
  pto_scopes_push(rt, rt->scope_depth + 1, PTO_SCOPE_AUTO);
  rt->recorded = recorded;
  rt->recorded_depth = rt->scope_depth;
  pto_runtime_count_listeners(rt);
  return PTO_OK;
}

/* Which tasks come last, and pointers into the arrays, which have their places now. */
static bool finish(struct pto_recorded *recorded) {
  struct pto_recorded_list *lists = recorded->lists;
  const uint32_t task_count = count_of(recorded, PTO_RECORDED_ARRAY_TASKS);
  recorded->first_last = count_of(recorded, PTO_RECORDED_ARRAY_BEFORE);
  if (!make_room(recorded, PTO_RECORDED_ARRAY_BEFORE, task_count + 1)) return false;
  struct pto_recorded_task *tasks = lists[PTO_RECORDED_ARRAY_TASKS].items;
  for (uint32_t i = 0; i < task_count; i++)
    if (!tasks[i].last_consumer) *(uint32_t *)add(recorded, PTO_RECORDED_ARRAY_BEFORE) = i + 1;
  if (!task_count) *(uint32_t *)add(recorded, PTO_RECORDED_ARRAY_BEFORE) = 0;
  recorded->handles = calloc(count_of(recorded, PTO_RECORDED_ARRAY_BEFORE), sizeof *recorded->handles);
  if (!recorded->handles) return false;
  struct pto_param *params = lists[PTO_RECORDED_ARRAY_PARAMS].items;
  struct pto_tensor *tensors = lists[PTO_RECORDED_ARRAY_TENSORS].items;
  for (uint32_t i = 0; i < task_count; i++) {
    struct pto_recorded_task *task = &tasks[i];
    struct pto_tensor *tensor = &tensors[task->first_tensor];
    task->request.launch = &task->launch;
    task->request.params = &params[task->first_param];
    task->launch.after = &recorded->handles[task->first_after];
    for (uint32_t k = 0; k < task->request.count; k++)
      if (params[task->first_param + k].mode != PTO_SCALAR) params[task->first_param + k].value.tensor = tensor++;
    if (task->launch.predicate.tensor) task->launch.predicate.tensor = tensor;
  }
  free(lists[PTO_RECORDED_ARRAY_ACCESSES].items);
  lists[PTO_RECORDED_ARRAY_ACCESSES] = (struct pto_recorded_list){0};
  return true;
}

/* The run's state without the recording, which is the caller's. */
static struct pto_recorded *take(struct pto_runtime *rt) {
  struct pto_recorded *recorded = rt->recorded;
  rt->recorded = NULL;
  rt->recorded_depth = 0;
  pto_runtime_count_listeners(rt);
  return recorded;
}

int pto_recorded_end(struct pto_runtime *rt, struct pto_recorded **recorded_out) {
  const int status = pto_runtime_check(rt);
  if (status) return status;
  if (!rt->recorded) return PTO_REFUSE(rt, PTO_EINVAL, "no recording has begun");
  if (rt->scope_depth != rt->recorded_depth)
    return PTO_REFUSE(rt, PTO_EINVAL, "the recording ends with %u of its scopes open",
                      rt->scope_depth - rt->recorded_depth);
  pto_scopes_pop(rt);
  struct pto_recorded *recorded = take(rt);
  const uint64_t slots = (uint64_t)count_of(recorded, PTO_RECORDED_ARRAY_TASKS) + 2;
  const uint64_t capacity = least_capacity(rt);
  if (slots > capacity) {
    pto_recorded_destroy(recorded);
    return PTO_REFUSE(rt, PTO_EFIT, "a launch of the recording takes %llu task slots, a window of %llu has %llu",
                      (unsigned long long)slots, (unsigned long long)capacity + 1, (unsigned long long)capacity);
  }
  if (!finish(recorded)) {
    pto_recorded_destroy(recorded);
    return PTO_REFUSE(rt, PTO_ENOMEM, "no memory for a recording");
  }
  *recorded_out = recorded;
  return PTO_OK;
}

void pto_recorded_abandon(struct pto_runtime *rt) {
  if (!rt->recorded) return;
  if (!rt->has_failed) pto_runtime_fail(rt, PTO_EUSER, "the orchestration returned within a recording");
  pto_recorded_destroy(take(rt));
}

void pto_recorded_destroy(struct pto_recorded *recorded) {
  if (!recorded) return;
  for (int i = 0; i < PTO_RECORDED_ARRAY_COUNT; i++) free(recorded->lists[i].items);
  free(recorded->handles);
  free(recorded);
}
