/* SPDX-License-Identifier: MIT */
#include <runtime/control/kept_submits.h>

#include <string.h>

#include <runtime/control/runtime_state.h>

#define RING_SHIFT 62u
#define SEQUENCE_MASK (UINT64_MAX >> 2)
_Static_assert(PTO_RING_COUNT <= 4, "a ring's index has two bits of a task's id");

enum step_kind { STEP_SUBMIT, STEP_BUFFER, STEP_SCOPE_BEGIN, STEP_SCOPE_END };

struct step {
  uint8_t kind;  /* enum step_kind */
  uint8_t which; /* enum pto_submit_call */
  bool has_predicate;
  uint32_t scope_kind;
  const void *call;
  uint32_t param_count, tensor_count; /* the predicate's tensor, which is the last one, counted */
  uint32_t first_param, first_tensor, first_after;
  union {
    struct pto_launch launch; /* what it points to is filled in at each submit */
    uint64_t buffer_bytes;
  };
};

/* An array that grows while submits are kept. */
struct grown {
  void *items;
  uint64_t item_bytes, count, capacity;
};

enum {
  STEPS,   /* struct step */
  PARAMS,  /* struct pto_param; a tensor's number until the end, then a pointer into TENSORS */
  TENSORS, /* struct pto_tensor; the buffers are those of the last submit */
  PLACES,  /* uint32_t, of each tensor: which of the buffers is its own */
  AFTER,   /* struct pto_task: ring, and submits since the beginning */
  BUFFERS, /* struct pto_buffer: the given ones, then those that were created */
  ARRAYS
};

struct pto_kept_submits {
  bool is_unusable;
  uint32_t given_count, scope_depth, most_after;
  uint64_t heads[PTO_RING_COUNT]; /* of the rings at the beginning: of the making, then of each submit */
  struct grown arrays[ARRAYS];
  struct pto_task *tasks; /* most_after of them, for a submit */
};

uint64_t pto_kept_submits_bytes(const struct pto_kept_submits *submits) {
  uint64_t bytes = sizeof *submits + submits->most_after * sizeof *submits->tasks;
  for (int i = 0; i < ARRAYS; i++) bytes += submits->arrays[i].capacity * submits->arrays[i].item_bytes;
  return bytes;
}

/* `count` more items, zeroed; NULL where there is no room, and then the submits are unusable. */
static void *grow(struct pto_kept_submits *submits, int which, uint64_t count) {
  struct grown *array = &submits->arrays[which];
  if (count == 0) return array->items;
  if (array->count + count > array->capacity) {
    const uint64_t capacity = pto_max_u64(array->count + count, 2 * array->capacity + 16);
    void *items = NULL;
    if (pto_kept_submits_bytes(submits) + (capacity - array->capacity) * array->item_bytes <= PTO_KEPT_SUBMITS_BYTES)
      items = realloc(array->items, capacity * array->item_bytes);
    if (!items) {
      submits->is_unusable = true;
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

void pto_kept_submits_spoil(struct pto_kept_submits *submits) { submits->is_unusable = true; }

/* ---- keeping ---- */

/* Which buffer a handle means: buffers have ascending numbers in the order in which they were made. */
static bool find_buffer(const struct pto_kept_submits *submits, const struct pto_buffer *buffer, uint32_t *place_out) {
  const struct pto_buffer *all = submits->arrays[BUFFERS].items;
  uint64_t lo = 0, hi = submits->arrays[BUFFERS].count;
  while (lo < hi) {
    const uint64_t middle = (lo + hi) / 2;
    if (all[middle].id < buffer->id)
      lo = middle + 1;
    else
      hi = middle;
  }
  *place_out = (uint32_t)lo;
  return lo < submits->arrays[BUFFERS].count && all[lo].id == buffer->id && all[lo].generation == buffer->generation;
}

static void add_tensor(struct pto_kept_submits *submits, struct step *step, const struct pto_tensor *t) {
  uint32_t place;
  if (!find_buffer(submits, &t->buffer, &place)) return pto_kept_submits_spoil(submits);
  struct pto_tensor *tensor = grow(submits, TENSORS, 1);
  uint32_t *of_tensor = grow(submits, PLACES, 1);
  if (!tensor || !of_tensor) return;
  *tensor = *t;
  *of_tensor = place;
  step->tensor_count++;
}

static void add_params(struct pto_kept_submits *submits, struct step *step, const struct pto_param *params,
                       uint32_t count) {
  struct pto_param *kept = grow(submits, PARAMS, count);
  if (!kept) return;
  step->param_count = count;
  for (uint32_t i = 0; i < count && !submits->is_unusable; i++) {
    kept[i] = params[i];
    if (params[i].mode == PTO_SCALAR) continue;
    kept[i].value.scalar.u64 = submits->arrays[TENSORS].count;
    add_tensor(submits, step, params[i].value.tensor);
  }
}

static void add_after(struct pto_kept_submits *submits, const struct pto_launch *launch) {
  struct pto_task *kept = grow(submits, AFTER, launch->after_count);
  if (!kept) return;
  for (uint32_t i = 0; i < launch->after_count; i++) {
    const uint64_t id = launch->after[i].id, ring = id >> RING_SHIFT;
    const uint64_t later = (id & SEQUENCE_MASK) - submits->heads[ring];
    if ((int64_t)later < 0) return pto_kept_submits_spoil(submits); /* a task from before */
    kept[i] = (struct pto_task){.id = ring << RING_SHIFT | later};
  }
  if (launch->after_count > submits->most_after) submits->most_after = launch->after_count;
}

void pto_kept_submits_add_submit(struct pto_kept_submits *submits, const struct pto_noted_submit *noted) {
  if (submits->is_unusable) return;
  struct step *step = grow(submits, STEPS, 1);
  if (!step) return;
  *step = (struct step){.kind = STEP_SUBMIT,
                        .which = (uint8_t)noted->which,
                        .call = noted->call,
                        .first_param = (uint32_t)submits->arrays[PARAMS].count,
                        .first_tensor = (uint32_t)submits->arrays[TENSORS].count,
                        .first_after = (uint32_t)submits->arrays[AFTER].count,
                        .launch = *noted->launch};
  if (noted->params) add_params(submits, step, noted->params, noted->count);
  for (uint32_t i = 0; noted->tensors && i < noted->count && !submits->is_unusable; i++)
    add_tensor(submits, step, &noted->tensors[i]);
  step->has_predicate = noted->launch->predicate.tensor != NULL;
  if (step->has_predicate) add_tensor(submits, step, noted->launch->predicate.tensor);
  add_after(submits, noted->launch);
}

static struct step *add_step(struct pto_kept_submits *submits, enum step_kind kind) {
  struct step *step = submits->is_unusable ? NULL : grow(submits, STEPS, 1);
  if (step) step->kind = (uint8_t)kind;
  return step;
}

void pto_kept_submits_add_buffer(struct pto_kept_submits *submits, struct pto_buffer buffer) {
  struct step *step = add_step(submits, STEP_BUFFER);
  struct pto_buffer *kept = step ? grow(submits, BUFFERS, 1) : NULL;
  if (!kept) return;
  step->buffer_bytes = buffer.size_bytes;
  *kept = buffer;
}

void pto_kept_submits_add_scope_begin(struct pto_kept_submits *submits, uint32_t kind) {
  struct step *step = add_step(submits, STEP_SCOPE_BEGIN);
  if (step) step->scope_kind = kind;
}

void pto_kept_submits_add_scope_end(struct pto_kept_submits *submits) { (void)add_step(submits, STEP_SCOPE_END); }

struct pto_kept_submits *pto_kept_submits_begin(struct pto_runtime *rt, const struct pto_tensor *given,
                                                uint32_t given_count) {
  PTO_ASSERT(!rt->kept_submits);
  static const uint64_t item_bytes[ARRAYS] = {
      [STEPS] = sizeof(struct step), [PARAMS] = sizeof(struct pto_param), [TENSORS] = sizeof(struct pto_tensor),
      [PLACES] = sizeof(uint32_t),   [AFTER] = sizeof(struct pto_task),   [BUFFERS] = sizeof(struct pto_buffer)};
  struct pto_kept_submits *submits = calloc(1, sizeof *submits);
  if (!submits) return NULL;
  for (int i = 0; i < ARRAYS; i++) submits->arrays[i].item_bytes = item_bytes[i];
  submits->given_count = given_count;
  submits->scope_depth = rt->scope_depth;
  struct pto_buffer *kept = grow(submits, BUFFERS, given_count);
  for (uint32_t i = 0; kept && i < given_count; i++) kept[i] = given[i].buffer;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) submits->heads[r] = rt->rings.rings[r].head;
  rt->kept_submits = submits;
  pto_runtime_note_calls(rt);
  return submits;
}

/* Gives back what growing had to spare. */
static void fit(struct grown *array) {
  void *items = array->count ? realloc(array->items, array->count * array->item_bytes) : NULL;
  if (!array->count) free(array->items);
  if (items || !array->count) {
    array->items = items;
    array->capacity = array->count;
  }
}

bool pto_kept_submits_end(struct pto_runtime *rt, struct pto_kept_submits *submits) {
  rt->kept_submits = NULL;
  pto_runtime_note_calls(rt);
  if (!submits || submits->is_unusable) return false;
  for (int i = 0; i < ARRAYS; i++) fit(&submits->arrays[i]);
  struct pto_param *params = submits->arrays[PARAMS].items;
  const struct pto_tensor *tensors = submits->arrays[TENSORS].items;
  for (uint64_t i = 0; i < submits->arrays[PARAMS].count; i++)
    if (params[i].mode != PTO_SCALAR) params[i].value.tensor = &tensors[params[i].value.scalar.u64];
  submits->tasks = calloc(submits->most_after + 1, sizeof *submits->tasks);
  submits->is_unusable = submits->tasks == NULL;
  return !submits->is_unusable;
}

void pto_kept_submits_destroy(struct pto_kept_submits *submits) {
  if (!submits) return;
  for (int i = 0; i < ARRAYS; i++) free(submits->arrays[i].items);
  free(submits->tasks);
  free(submits);
}

/* ---- submitting ---- */

static const struct pto_task *tasks_of(const struct pto_runtime *rt, struct pto_kept_submits *submits,
                                       const struct step *step) {
  const struct pto_task *kept = (const struct pto_task *)submits->arrays[AFTER].items + step->first_after;
  for (uint32_t i = 0; i < step->launch.after_count; i++) {
    const uint64_t ring = kept[i].id >> RING_SHIFT, sequence = submits->heads[ring] + (kept[i].id & SEQUENCE_MASK);
    submits->tasks[i] = (struct pto_task){ring << RING_SHIFT | (sequence & SEQUENCE_MASK), rt->task_generation};
  }
  return submits->tasks;
}

static int submit_step(struct pto_runtime *rt, struct pto_kept_submits *submits, const struct step *step) {
  struct pto_tensor *tensors = (struct pto_tensor *)submits->arrays[TENSORS].items + step->first_tensor;
  const uint32_t *places = (const uint32_t *)submits->arrays[PLACES].items + step->first_tensor;
  const struct pto_buffer *buffers = submits->arrays[BUFFERS].items;
  const struct pto_param *params = (const struct pto_param *)submits->arrays[PARAMS].items + step->first_param;
  for (uint32_t i = 0; i < step->tensor_count; i++) tensors[i].buffer = buffers[places[i]];
  if (PTO_LIKELY(!rt->is_noted)) {
    if (step->which == PTO_CALL_AIV) return pto_submit_aiv(rt, step->launch.aiv0, params, step->param_count);
    if (step->which == PTO_CALL_AIC) return pto_submit_aic(rt, step->launch.aic, params, step->param_count);
  }
  struct pto_launch launch = step->launch;
  struct pto_noted_submit noted = {.which = (enum pto_submit_call)step->which,
                                   .call = step->call,
                                   .launch = &launch,
                                   .params = params,
                                   .count = step->param_count};
  if (launch.after_count) launch.after = tasks_of(rt, submits, step);
  if (step->has_predicate) launch.predicate.tensor = &tensors[step->tensor_count - 1];
  if (step->which == PTO_CALL_ALLOC) {
    noted.tensors = tensors;
    noted.count = step->tensor_count;
  }
  return pto_submit_noted(rt, &noted, NULL);
}

int pto_kept_submits_repeat(struct pto_runtime *rt, struct pto_kept_submits *submits, const struct pto_tensor *given,
                            uint32_t given_count) {
  struct pto_buffer *buffers = submits->arrays[BUFFERS].items;
  const struct step *step = submits->arrays[STEPS].items, *end = step + submits->arrays[STEPS].count;
  int status = PTO_OK;
  PTO_ASSERT(!submits->is_unusable && given_count == submits->given_count && rt->scope_depth == submits->scope_depth);
  for (uint32_t i = 0; i < given_count; i++) buffers[i] = given[i].buffer;
  buffers += given_count;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) submits->heads[r] = rt->rings.rings[r].head;
  for (; step < end && PTO_LIKELY(status == PTO_OK); step++) {
    switch ((enum step_kind)step->kind) {
    case STEP_SUBMIT:
      status = submit_step(rt, submits, step);
      break;
    case STEP_BUFFER:
      *buffers = pto_create_buffer(rt, step->buffer_bytes);
      if (PTO_UNLIKELY(buffers++->id == 0)) status = rt->error.status;
      break;
    case STEP_SCOPE_BEGIN:
      status = pto_scope_begin(rt, step->scope_kind);
      break;
    case STEP_SCOPE_END:
      status = pto_scope_end(rt);
      break;
    }
  }
  return status;
}
