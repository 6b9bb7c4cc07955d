/* SPDX-License-Identifier: MIT */
#include <kernels/rows/plan.h>

#include <runtime/base/base.h>

#include <string.h>

#define LEAST_VEC 8     /* fewer rows than this side by side are taken one by one */
#define SHORT_LENGTH 16 /* rows shorter than this are taken side by side, however they lie */

static const struct pto_row_dim one = {.extent = 1};

void pto_row_plan_init(struct pto_row_plan *plan, const struct pto_kernel_tensor *tensors, uint32_t count) {
  PTO_ASSERT(count <= PTO_ROW_TENSORS);
  plan->tensor_count = count;
  for (uint32_t i = 0; i < count; i++) {
    plan->tensors[i] = tensors[i];
    plan->elem_bytes[i] = pto_dtype_size(tensors[i].dtype);
  }
  plan->outer_count = plan->inner_count = 0;
  plan->vec = one;
  plan->length = plan->row_count = 1;
  plan->is_across = false;
}

void pto_row_plan_add(struct pto_row_plan *plan, bool is_inner, uint64_t extent, const uint64_t *strides) {
  uint64_t *product = is_inner ? &plan->length : &plan->row_count;
  *product *= extent;
  if (extent == 1) return;
  struct pto_row_dim *dim = is_inner ? &plan->inner[plan->inner_count++] : &plan->outer[plan->outer_count++];
  *dim = (struct pto_row_dim){.extent = extent};
  for (uint32_t i = 0; i < plan->tensor_count; i++) dim->steps[i] = strides[i] * plan->elem_bytes[i];
}

/* Joins neighbours that are one dimension to every tensor; answers how many are left. */
static uint32_t merge(struct pto_row_dim *dims, uint32_t count, uint32_t tensor_count) {
  uint32_t left = 0;
  for (uint32_t d = 0; d < count; d++) {
    bool is_joined = left > 0;
    for (uint32_t i = 0; is_joined && i < tensor_count; i++)
      is_joined = dims[left - 1].steps[i] == dims[d].steps[i] * dims[d].extent;
    if (!is_joined) {
      dims[left++] = dims[d];
      continue;
    }
    const uint64_t extent = dims[left - 1].extent;
    dims[left - 1] = dims[d];
    dims[left - 1].extent *= extent;
  }
  return left;
}

/* A step of 0 repeats the element: vectors have nothing to gain along it. */
static uint64_t distance(uint64_t step) { return step == 0 ? UINT64_MAX : step; }

void pto_row_plan_finish(struct pto_row_plan *plan) {
  for (uint32_t d = 1; d < plan->outer_count; d++) { /* the longest steps outermost */
    const struct pto_row_dim dim = plan->outer[d];
    uint32_t at = d;
    for (; at > 0 && distance(plan->outer[at - 1].steps[0]) < distance(dim.steps[0]); at--)
      plan->outer[at] = plan->outer[at - 1];
    plan->outer[at] = dim;
  }
  plan->outer_count = merge(plan->outer, plan->outer_count, plan->tensor_count);
  plan->inner_count = merge(plan->inner, plan->inner_count, plan->tensor_count);
  if (plan->outer_count > 0) plan->vec = plan->outer[--plan->outer_count];
  const uint64_t along = plan->inner_count == 0 ? UINT64_MAX : distance(plan->inner[plan->inner_count - 1].steps[0]);
  plan->is_across =
      plan->vec.extent >= LEAST_VEC && (distance(plan->vec.steps[0]) < along || plan->length < SHORT_LENGTH);
}

void pto_row_plan_make(struct pto_row_plan *plan, const struct pto_kernel_tensor *tensors, uint32_t count,
                       uint32_t inner) {
  pto_row_plan_init(plan, tensors, count);
  for (uint32_t d = 0; d < tensors[0].ndims; d++) {
    uint64_t strides[PTO_ROW_TENSORS];
    for (uint32_t i = 0; i < count; i++)
      strides[i] = tensors[i].shape[d] == tensors[0].shape[d] ? tensors[i].strides[d] : 0;
    pto_row_plan_add(plan, (inner >> d & 1) != 0, tensors[0].shape[d], strides);
  }
  pto_row_plan_finish(plan);
}

/* ---- the walk ---- */

bool pto_row_walk_begin(struct pto_row_walk *walk, const struct pto_row_plan *plan) {
  for (uint32_t i = 0; i < plan->tensor_count; i++) walk->at[i] = plan->tensors[i].addr;
  for (uint32_t d = 0; d < plan->outer_count; d++) walk->index[d] = 0;
  return plan->row_count > 0;
}

bool pto_row_walk_next(struct pto_row_walk *walk, const struct pto_row_plan *plan) {
  for (uint32_t d = plan->outer_count; d-- > 0;) {
    const struct pto_row_dim *dim = &plan->outer[d];
    const bool has_more = ++walk->index[d] < dim->extent;
    for (uint32_t i = 0; i < plan->tensor_count; i++) {
      if (has_more)
        walk->at[i] += dim->steps[i];
      else
        walk->at[i] -= (dim->extent - 1) * dim->steps[i];
    }
    if (has_more) return true;
    walk->index[d] = 0;
  }
  return false;
}

/* ---- parts ---- */

/* The innermost inner dimension, or one of extent 1. */
static const struct pto_row_dim *last_inner(const struct pto_row_plan *plan) {
  return plan->inner_count == 0 ? &one : &plan->inner[plan->inner_count - 1];
}

/* Where element `index` of a row is, in bytes from the row's first, in tensor `i`. */
static uint64_t inner_offset(const struct pto_row_plan *plan, uint32_t i, uint64_t index) {
  uint64_t offset = 0;
  for (uint32_t d = plan->inner_count; d-- > 0; index /= plan->inner[d].extent)
    offset += index % plan->inner[d].extent * plan->inner[d].steps[i];
  return offset;
}

bool pto_row_is_in_place(const struct pto_row_plan *plan, uint32_t i, enum pto_class class_) {
  const uint64_t size = plan->elem_bytes[i];
  if (plan->tensors[i].dtype != pto_class_dtype(class_) || plan->inner_count > 1) return false;
  if (plan->is_across) return plan->vec.steps[i] == size;
  return plan->length == 1 || last_inner(plan)->steps[i] == size;
}

static struct pto_row_view in_place(const struct pto_row_plan *plan, uint32_t i, char *at,
                                    const struct pto_row_part *part) {
  const struct pto_row_dim *inner = last_inner(plan);
  const uint64_t size = plan->elem_bytes[i];
  const int64_t pitch = (int64_t)((plan->is_across ? inner->steps[i] : plan->vec.steps[i]) / size);
  return (struct pto_row_view){at + part->first * inner->steps[i] + part->col * plan->vec.steps[i], pitch};
}

/* `count` elements `step` bytes apart; those of step 0 are one, repeated. */
static void load(pto_load_loop *loop, char *buffer, const char *from, uint64_t step, uint64_t count, uint64_t size) {
  if (step != 0 || count < 2) {
    loop(buffer, from, step, count);
    return;
  }
  loop(buffer, from, size, 1);
  for (uint64_t done = 1; done < count; done *= 2)
    memcpy(buffer + done * size, buffer, pto_min_u64(done, count - done) * size);
}

/* The lines of a part: rows along, elements across.  Whether tensor `i` has one line for all of them; of tensor 0 each
 * is loaded, for results may take its place. */
static bool is_one_line(const struct pto_row_plan *plan, uint32_t i) {
  if (i == 0) return false;
  if (!plan->is_across) return plan->vec.steps[i] == 0;
  return plan->inner_count <= 1 && last_inner(plan)->steps[i] == 0;
}

/* Whether whole rows of tensor `i` follow one another, so that all of them are one run. */
static bool is_one_run(const struct pto_row_plan *plan, uint32_t i, const struct pto_row_part *part) {
  const uint64_t size = plan->elem_bytes[i];
  return !plan->is_across && plan->inner_count == 1 && part->count == plan->length && plan->inner[0].steps[i] == size &&
         plan->vec.steps[i] == plan->length * size;
}

struct pto_row_view pto_row_load(const struct pto_row_plan *plan, uint32_t i, char *at, const struct pto_row_part *part,
                                 enum pto_class class_, void *buffer) {
  pto_load_loop *loop = pto_loops_best()->load[class_][plan->tensors[i].dtype];
  const struct pto_row_dim *inner = last_inner(plan);
  const uint64_t step = inner->steps[i], vec_step = plan->vec.steps[i], end = part->first + part->count;
  const uint64_t size = pto_dtype_size(pto_class_dtype(class_));
  const bool is_line = is_one_line(plan, i);
  const struct pto_row_view view = {buffer, is_line ? 0 : (int64_t)(plan->is_across ? part->cols : part->count)};
  char *to = buffer;
  at += part->col * vec_step;
  if (is_one_run(plan, i, part)) {
    load(loop, to, at, step, part->count * part->cols, size);
    return view;
  }
  if (!plan->is_across) {
    for (uint64_t col = 0; col < (is_line ? 1 : part->cols); col++, at += vec_step)
      for (uint64_t first = part->first, run; first < end; first += run, to += run * size) {
        run = pto_min_u64(end - first, inner->extent - first % inner->extent);
        load(loop, to, at + inner_offset(plan, i, first), step, run, size);
      }
    return view;
  }
  for (uint64_t first = part->first, run; first < end; first += run) {
    run = is_line ? 1 : pto_min_u64(end - first, inner->extent - first % inner->extent);
    const char *from = at + inner_offset(plan, i, first);
    for (uint64_t row = 0; row < run; row++, from += step, to += part->cols * size)
      load(loop, to, from, vec_step, part->cols, size);
    if (is_line) break;
  }
  return view;
}

struct pto_row_view pto_row_read(const struct pto_row_plan *plan, uint32_t i, char *at, const struct pto_row_part *part,
                                 enum pto_class class_, void *buffer) {
  if (pto_row_is_in_place(plan, i, class_)) return in_place(plan, i, at, part);
  return pto_row_load(plan, i, at, part, class_, buffer);
}

bool pto_row_is_shared(const struct pto_row_plan *plan, uint32_t i) { return plan->vec.steps[i] == 0; }

struct pto_row_view pto_row_read_shared(const struct pto_row_plan *plan, uint32_t i, char *at,
                                        const struct pto_row_part *part, enum pto_class class_, void *buffer) {
  const struct pto_row_dim *inner = last_inner(plan);
  const uint64_t size = pto_dtype_size(pto_class_dtype(class_)), end = part->first + part->count;
  if (plan->tensors[i].dtype == pto_class_dtype(class_) && plan->inner_count <= 1)
    return (struct pto_row_view){at + part->first * inner->steps[i], (int64_t)(inner->steps[i] / size)};
  char *to = buffer;
  for (uint64_t first = part->first, run; first < end; first += run, to += run * size) {
    run = pto_min_u64(end - first, inner->extent - first % inner->extent);
    load(pto_loops_best()->load[class_][plan->tensors[i].dtype], to, at + inner_offset(plan, i, first), inner->steps[i],
         run, size);
  }
  return (struct pto_row_view){buffer, 1};
}

struct pto_row_view pto_row_target(const struct pto_row_plan *plan, uint32_t i, char *at,
                                   const struct pto_row_part *part, enum pto_class class_, void *buffer) {
  if (pto_row_is_in_place(plan, i, class_)) return in_place(plan, i, at, part);
  return (struct pto_row_view){buffer, (int64_t)(plan->is_across ? part->cols : part->count)};
}

void pto_row_write(const struct pto_row_plan *plan, uint32_t i, char *at, const struct pto_row_part *part,
                   enum pto_class class_, struct pto_row_view view) {
  const struct pto_row_dim *inner = last_inner(plan);
  const uint64_t step = inner->steps[i], vec_step = plan->vec.steps[i], end = part->first + part->count;
  const uint64_t size = pto_dtype_size(pto_class_dtype(class_));
  pto_store_loop *loop = pto_loops_best()->store[class_][plan->tensors[i].dtype];
  if (pto_row_is_in_place(plan, i, class_) && in_place(plan, i, at, part).data == view.data) return;
  const char *from = view.data;
  at += part->col * vec_step;
  if (is_one_run(plan, i, part) && view.pitch == (int64_t)part->count) {
    loop(from, at, step, part->count * part->cols);
    return;
  }
  if (!plan->is_across) {
    for (uint64_t col = 0; col < part->cols; col++, at += vec_step, from += view.pitch * (int64_t)size)
      for (uint64_t first = part->first, run; first < end; first += run) {
        run = pto_min_u64(end - first, inner->extent - first % inner->extent);
        loop(from + (first - part->first) * size, at + inner_offset(plan, i, first), step, run);
      }
    return;
  }
  for (uint64_t first = part->first, run; first < end; first += run) {
    run = pto_min_u64(end - first, inner->extent - first % inner->extent);
    char *to = at + inner_offset(plan, i, first);
    for (uint64_t row = 0; row < run; row++, to += step, from += view.pitch * (int64_t)size)
      loop(from, to, vec_step, part->cols);
  }
}
