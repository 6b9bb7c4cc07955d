/* SPDX-License-Identifier: MIT */
#include <runtime/control/recording.h>

#include <string.h>

#include <runtime/control/runtime_state.h>
#include <runtime/control/submit_request.h>

_Static_assert(PTO_RING_COUNT == PTO_ARRAY_LENGTH(((struct pto_recording *)NULL)->heads),
               "a ring's index has two bits of a task's id");

uint64_t pto_recording_bytes(const struct pto_recording *recording) {
  uint64_t bytes = sizeof *recording + recording->most_after * sizeof *recording->tasks;
  for (int i = 0; i < PTO_RECORDED_ARRAYS; i++)
    bytes += recording->arrays[i].capacity * recording->arrays[i].item_bytes;
  return bytes;
}

/* `count` more items, zeroed; NULL where there is no room, and then the submits are unusable. */
static void *grow(struct pto_recording *recording, int which, uint64_t count) {
  struct pto_recorded_array *array = &recording->arrays[which];
  if (count == 0) return array->items;
  if (array->count + count > array->capacity) {
    const uint64_t capacity = pto_max_u64(array->count + count, 2 * array->capacity + 16);
    void *items = NULL;
    if (pto_recording_bytes(recording) + (capacity - array->capacity) * array->item_bytes <= PTO_RECORDING_BYTES)
      items = realloc(array->items, capacity * array->item_bytes);
    if (!items) {
      recording->is_unusable = true;
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

void pto_recording_spoil(struct pto_recording *recording) { recording->is_unusable = true; }

/* ---- keeping ---- */

/* Which buffer a handle means: buffers have ascending numbers in the order in which they were made. */
static bool find_buffer(const struct pto_recording *recording, const struct pto_buffer *buffer, uint32_t *index_out) {
  const struct pto_buffer *all = recording->arrays[PTO_RECORDED_BUFFERS].items;
  uint64_t lo = 0, hi = recording->arrays[PTO_RECORDED_BUFFERS].count;
  while (lo < hi) {
    const uint64_t middle = (lo + hi) / 2;
    if (all[middle].id < buffer->id)
      lo = middle + 1;
    else
      hi = middle;
  }
  *index_out = (uint32_t)lo;
  return lo < recording->arrays[PTO_RECORDED_BUFFERS].count && all[lo].id == buffer->id &&
         all[lo].generation == buffer->generation;
}

static void add_tensor(struct pto_recording *recording, struct pto_recorded_step *step, const struct pto_tensor *t) {
  uint32_t index;
  if (!find_buffer(recording, &t->buffer, &index)) return pto_recording_spoil(recording);
  struct pto_tensor *tensor = grow(recording, PTO_RECORDED_TENSORS, 1);
  uint32_t *of_tensor = grow(recording, PTO_RECORDED_BUFFER_INDICES, 1);
  if (!tensor || !of_tensor) return;
  *tensor = *t;
  *of_tensor = index;
  step->tensor_count++;
}

static void add_params(struct pto_recording *recording, struct pto_recorded_step *step, const struct pto_param *params,
                       uint32_t count) {
  struct pto_param *added = grow(recording, PTO_RECORDED_PARAMS, count);
  if (!added) return;
  step->param_count = count;
  for (uint32_t i = 0; i < count && !recording->is_unusable; i++) {
    added[i] = params[i];
    if (params[i].mode == PTO_SCALAR) continue;
    added[i].value.scalar.u64 = recording->arrays[PTO_RECORDED_TENSORS].count;
    add_tensor(recording, step, params[i].value.tensor);
  }
}

static void add_after(struct pto_recording *recording, const struct pto_launch *launch) {
  struct pto_task *added = grow(recording, PTO_RECORDED_AFTER, launch->after_count);
  if (!added) return;
  for (uint32_t i = 0; i < launch->after_count; i++) {
    const uint64_t id = launch->after[i].id, ring = id >> PTO_RECORDED_RING_SHIFT;
    const uint64_t later = (id & PTO_RECORDED_SEQUENCE_MASK) - recording->heads[ring];
    if ((int64_t)later < 0) return pto_recording_spoil(recording); /* a task from before */
    added[i] = (struct pto_task){.id = ring << PTO_RECORDED_RING_SHIFT | later};
  }
  if (launch->after_count > recording->most_after) recording->most_after = launch->after_count;
}

void pto_recording_add_submit(struct pto_recording *recording, const struct pto_submit_request *request) {
  if (recording->is_unusable) return;
  const struct pto_launch *launch = request->launch;
  struct pto_recorded_step *step = grow(recording, PTO_RECORDED_STEPS, 1);
  if (!step) return;
  *step = (struct pto_recorded_step){.kind = PTO_RECORDED_SUBMIT,
                                     .task_kind = request->kind,
                                     .is_single = request->is_single,
                                     .call = request->call,
                                     .first_param = (uint32_t)recording->arrays[PTO_RECORDED_PARAMS].count,
                                     .first_tensor = (uint32_t)recording->arrays[PTO_RECORDED_TENSORS].count,
                                     .first_after = (uint32_t)recording->arrays[PTO_RECORDED_AFTER].count,
                                     .first_initial = (uint32_t)recording->arrays[PTO_RECORDED_INITIALS].count,
                                     .launch = *launch};
  add_params(recording, step, request->params, request->count);
  step->has_predicate = launch->predicate.tensor != NULL;
  if (step->has_predicate) add_tensor(recording, step, launch->predicate.tensor);
  add_after(recording, launch);
  struct pto_initial *initial = grow(recording, PTO_RECORDED_INITIALS, launch->initial_count);
  for (uint32_t i = 0; initial && i < launch->initial_count; i++) initial[i] = launch->initial[i];
}

static struct pto_recorded_step *add_step(struct pto_recording *recording, enum pto_recorded_kind kind) {
  struct pto_recorded_step *step = recording->is_unusable ? NULL : grow(recording, PTO_RECORDED_STEPS, 1);
  if (step) step->kind = (uint8_t)kind;
  return step;
}

void pto_recording_add_buffer(struct pto_recording *recording, struct pto_buffer buffer) {
  struct pto_recorded_step *step = add_step(recording, PTO_RECORDED_BUFFER);
  struct pto_buffer *added = step ? grow(recording, PTO_RECORDED_BUFFERS, 1) : NULL;
  if (!added) return;
  step->buffer_bytes = buffer.size_bytes;
  *added = buffer;
}

void pto_recording_add_scope_begin(struct pto_recording *recording, uint32_t kind) {
  struct pto_recorded_step *step = add_step(recording, PTO_RECORDED_SCOPE_BEGIN);
  if (step) step->scope_kind = kind;
}

void pto_recording_add_scope_end(struct pto_recording *recording) { (void)add_step(recording, PTO_RECORDED_SCOPE_END); }

struct pto_recording *pto_recording_begin(struct pto_runtime *rt, const struct pto_tensor *given,
                                          uint32_t given_count) {
  PTO_ASSERT(!rt->recording);
  static const uint64_t item_bytes[PTO_RECORDED_ARRAYS] = {
      [PTO_RECORDED_STEPS] = sizeof(struct pto_recorded_step), [PTO_RECORDED_PARAMS] = sizeof(struct pto_param),
      [PTO_RECORDED_TENSORS] = sizeof(struct pto_tensor),      [PTO_RECORDED_BUFFER_INDICES] = sizeof(uint32_t),
      [PTO_RECORDED_AFTER] = sizeof(struct pto_task),          [PTO_RECORDED_BUFFERS] = sizeof(struct pto_buffer),
      [PTO_RECORDED_INITIALS] = sizeof(struct pto_initial)};
  struct pto_recording *recording = calloc(1, sizeof *recording);
  if (!recording) return NULL;
  for (int i = 0; i < PTO_RECORDED_ARRAYS; i++) recording->arrays[i].item_bytes = item_bytes[i];
  recording->given_count = given_count;
  recording->scope_depth = rt->scope_depth;
  struct pto_buffer *added = grow(recording, PTO_RECORDED_BUFFERS, given_count);
  for (uint32_t i = 0; added && i < given_count; i++) added[i] = given[i].buffer;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) recording->heads[r] = rt->rings.rings[r].head;
  rt->recording = recording;
  pto_runtime_count_listeners(rt);
  return recording;
}

/* Gives back what growing had to spare. */
static void fit(struct pto_recorded_array *array) {
  void *items = array->count ? realloc(array->items, array->count * array->item_bytes) : NULL;
  if (!array->count) free(array->items);
  if (items || !array->count) {
    array->items = items;
    array->capacity = array->count;
  }
}

bool pto_recording_end(struct pto_runtime *rt, struct pto_recording *recording) {
  rt->recording = NULL;
  pto_runtime_count_listeners(rt);
  if (!recording || recording->is_unusable) return false;
  for (int i = 0; i < PTO_RECORDED_ARRAYS; i++) fit(&recording->arrays[i]);
  struct pto_param *params = recording->arrays[PTO_RECORDED_PARAMS].items;
  const struct pto_tensor *tensors = recording->arrays[PTO_RECORDED_TENSORS].items;
  for (uint64_t i = 0; i < recording->arrays[PTO_RECORDED_PARAMS].count; i++)
    if (params[i].mode != PTO_SCALAR) params[i].value.tensor = &tensors[params[i].value.scalar.u64];
  recording->tasks = calloc(recording->most_after + 1, sizeof *recording->tasks);
  recording->is_unusable = recording->tasks == NULL;
  return !recording->is_unusable;
}

void pto_recording_destroy(struct pto_recording *recording) {
  if (!recording) return;
  for (int i = 0; i < PTO_RECORDED_ARRAYS; i++) free(recording->arrays[i].items);
  free(recording->tasks);
  free(recording);
}
