/* SPDX-License-Identifier: MIT */
#include <runtime/control/call_list.h>

#include <string.h>

#include <runtime/control/runtime_state.h>
#include <runtime/control/submit_request.h>

_Static_assert(PTO_RING_COUNT == PTO_ARRAY_LENGTH(((struct pto_call_list *)NULL)->heads),
               "a ring's index has two bits of a task's id");

uint64_t pto_call_list_bytes(const struct pto_call_list *list) {
  uint64_t bytes = sizeof *list + list->most_after * sizeof *list->tasks;
  for (int i = 0; i < PTO_LISTED_ARRAYS; i++) bytes += list->arrays[i].capacity * list->arrays[i].item_bytes;
  return bytes;
}

/* `count` more items, zeroed; NULL where there is no room, and then the submits are unusable. */
static void *grow(struct pto_call_list *list, int which, uint64_t count) {
  struct pto_listed_array *array = &list->arrays[which];
  if (count == 0) return array->items;
  if (array->count + count > array->capacity) {
    const uint64_t capacity = pto_max_u64(array->count + count, 2 * array->capacity + 16);
    void *items = NULL;
    if (pto_call_list_bytes(list) + (capacity - array->capacity) * array->item_bytes <= PTO_CALL_LIST_BYTES)
      items = realloc(array->items, capacity * array->item_bytes);
    if (!items) {
      list->is_unusable = true;
      return NULL;
    }
    array->items = items;
    array->capacity = capacity;
  }
  void *first = (char *)array->items + array->count * array->item_bytes;
  array->count += count;
  memset(first, 0, count * array->item_bytes);
  return first;
}

void pto_call_list_spoil(struct pto_call_list *list) { list->is_unusable = true; }

/* ---- keeping ---- */

/* Which buffer a handle means: buffers have ascending numbers in the order in which they were made. */
static bool find_buffer(const struct pto_call_list *list, const struct pto_buffer *buffer, uint32_t *index_out) {
  const struct pto_buffer *all = list->arrays[PTO_LISTED_BUFFERS].items;
  uint64_t lo = 0, hi = list->arrays[PTO_LISTED_BUFFERS].count;
  while (lo < hi) {
    const uint64_t middle = (lo + hi) / 2;
    if (all[middle].id < buffer->id)
      lo = middle + 1;
    else
      hi = middle;
  }
  *index_out = (uint32_t)lo;
  return lo < list->arrays[PTO_LISTED_BUFFERS].count && all[lo].id == buffer->id &&
         all[lo].generation == buffer->generation;
}

static void add_tensor(struct pto_call_list *list, struct pto_listed_step *step, const struct pto_tensor *t) {
  uint32_t index;
  if (!find_buffer(list, &t->buffer, &index)) return pto_call_list_spoil(list);
  struct pto_tensor *tensor = grow(list, PTO_LISTED_TENSORS, 1);
  uint32_t *of_tensor = grow(list, PTO_LISTED_BUFFER_INDICES, 1);
  if (!tensor || !of_tensor) return;
  *tensor = *t;
  *of_tensor = index;
  step->tensor_count++;
}

static void add_params(struct pto_call_list *list, struct pto_listed_step *step, const struct pto_param *params,
                       uint32_t count) {
  struct pto_param *added = grow(list, PTO_LISTED_PARAMS, count);
  if (!added) return;
  step->param_count = count;
  for (uint32_t i = 0; i < count && !list->is_unusable; i++) {
    added[i] = params[i];
    if (params[i].mode == PTO_SCALAR) continue;
    added[i].value.scalar.u64 = list->arrays[PTO_LISTED_TENSORS].count;
    add_tensor(list, step, params[i].value.tensor);
  }
}

static void add_after(struct pto_call_list *list, const struct pto_launch *launch) {
  struct pto_task *added = grow(list, PTO_LISTED_AFTER, launch->after_count);
  if (!added) return;
  for (uint32_t i = 0; i < launch->after_count; i++) {
    const uint64_t id = launch->after[i].id, ring = id >> PTO_LISTED_RING_SHIFT;
    const uint64_t later = (id & PTO_LISTED_SEQUENCE_MASK) - list->heads[ring];
    if ((int64_t)later < 0) return pto_call_list_spoil(list); /* a task from before */
    added[i] = (struct pto_task){.id = ring << PTO_LISTED_RING_SHIFT | later};
  }
  if (launch->after_count > list->most_after) list->most_after = launch->after_count;
}

void pto_call_list_add_submit(struct pto_call_list *list, const struct pto_submit_request *request) {
  if (list->is_unusable) return;
  const struct pto_launch *launch = request->launch;
  struct pto_listed_step *step = grow(list, PTO_LISTED_STEPS, 1);
  if (!step) return;
  *step = (struct pto_listed_step){.kind = PTO_LISTED_SUBMIT,
                                   .task_kind = request->kind,
                                   .is_single = request->is_single,
                                   .call = request->call,
                                   .first_param = (uint32_t)list->arrays[PTO_LISTED_PARAMS].count,
                                   .first_tensor = (uint32_t)list->arrays[PTO_LISTED_TENSORS].count,
                                   .first_after = (uint32_t)list->arrays[PTO_LISTED_AFTER].count,
                                   .first_initial = (uint32_t)list->arrays[PTO_LISTED_INITIALS].count,
                                   .launch = *launch};
  add_params(list, step, request->params, request->count);
  step->has_predicate = launch->predicate.tensor != NULL;
  if (step->has_predicate) add_tensor(list, step, launch->predicate.tensor);
  add_after(list, launch);
  struct pto_initial *initial = grow(list, PTO_LISTED_INITIALS, launch->initial_count);
  for (uint32_t i = 0; initial && i < launch->initial_count; i++) initial[i] = launch->initial[i];
}

static struct pto_listed_step *add_step(struct pto_call_list *list, enum pto_listed_kind kind) {
  struct pto_listed_step *step = list->is_unusable ? NULL : grow(list, PTO_LISTED_STEPS, 1);
  if (step) step->kind = (uint8_t)kind;
  return step;
}

void pto_call_list_add_buffer(struct pto_call_list *list, struct pto_buffer buffer) {
  struct pto_listed_step *step = add_step(list, PTO_LISTED_BUFFER);
  struct pto_buffer *added = step ? grow(list, PTO_LISTED_BUFFERS, 1) : NULL;
  if (!added) return;
  step->buffer_bytes = buffer.size_bytes;
  *added = buffer;
}

void pto_call_list_add_scope_begin(struct pto_call_list *list, uint32_t kind) {
  struct pto_listed_step *step = add_step(list, PTO_LISTED_SCOPE_BEGIN);
  if (step) step->scope_kind = kind;
}

void pto_call_list_add_scope_end(struct pto_call_list *list) { (void)add_step(list, PTO_LISTED_SCOPE_END); }

struct pto_call_list *pto_call_list_begin(struct pto_runtime *rt, const struct pto_tensor *given,
                                          uint32_t given_count) {
  PTO_ASSERT(!rt->call_list);
  static const uint64_t item_bytes[PTO_LISTED_ARRAYS] = {
      [PTO_LISTED_STEPS] = sizeof(struct pto_listed_step), [PTO_LISTED_PARAMS] = sizeof(struct pto_param),
      [PTO_LISTED_TENSORS] = sizeof(struct pto_tensor),    [PTO_LISTED_BUFFER_INDICES] = sizeof(uint32_t),
      [PTO_LISTED_AFTER] = sizeof(struct pto_task),        [PTO_LISTED_BUFFERS] = sizeof(struct pto_buffer),
      [PTO_LISTED_INITIALS] = sizeof(struct pto_initial)};
  struct pto_call_list *list = calloc(1, sizeof *list);
  if (!list) return NULL;
  for (int i = 0; i < PTO_LISTED_ARRAYS; i++) list->arrays[i].item_bytes = item_bytes[i];
  list->given_count = given_count;
  list->scope_depth = rt->scope_depth;
  struct pto_buffer *added = grow(list, PTO_LISTED_BUFFERS, given_count);
  for (uint32_t i = 0; added && i < given_count; i++) added[i] = given[i].buffer;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) list->heads[r] = rt->rings.rings[r].head;
  rt->call_list = list;
  pto_runtime_count_listeners(rt);
  return list;
}

/* Gives back what growing had to spare. */
static void fit(struct pto_listed_array *array) {
  void *items = array->count ? realloc(array->items, array->count * array->item_bytes) : NULL;
  if (!array->count) free(array->items);
  if (items || !array->count) {
    array->items = items;
    array->capacity = array->count;
  }
}

bool pto_call_list_end(struct pto_runtime *rt, struct pto_call_list *list) {
  rt->call_list = NULL;
  pto_runtime_count_listeners(rt);
  if (!list || list->is_unusable) return false;
  for (int i = 0; i < PTO_LISTED_ARRAYS; i++) fit(&list->arrays[i]);
  struct pto_param *params = list->arrays[PTO_LISTED_PARAMS].items;
  const struct pto_tensor *tensors = list->arrays[PTO_LISTED_TENSORS].items;
  for (uint64_t i = 0; i < list->arrays[PTO_LISTED_PARAMS].count; i++)
    if (params[i].mode != PTO_SCALAR) params[i].value.tensor = &tensors[params[i].value.scalar.u64];
  list->tasks = calloc(list->most_after + 1, sizeof *list->tasks);
  list->is_unusable = list->tasks == NULL;
  return !list->is_unusable;
}

void pto_call_list_destroy(struct pto_call_list *list) {
  if (!list) return;
  for (int i = 0; i < PTO_LISTED_ARRAYS; i++) free(list->arrays[i].items);
  free(list->tasks);
  free(list);
}
