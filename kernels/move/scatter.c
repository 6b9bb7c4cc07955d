/* SPDX-License-Identifier: MIT */
/*
 * scatter_elements, scatter_nd, scatter_add (AIV): y = data, but for elements chosen by `indices`, which come from
 * `updates`; bit for bit, for every dtype.  The _inplace forms have no data and write into y as it is.
 *
 *   scatter_elements  y[p… with indices[p…] in place of p_axis] = updates[p…]; other extents are equal
 *   scatter_nd        y[indices[p…, 0], indices[p…, 1], …, i…] = updates[p…, i…]
 *
 * scatter_add: y[p… with indices[p…] in place of p_axis] += updates[p…], for numbers.  Each addition is rounded to y's
 * dtype, integers wrap.  So where several updates meet, the order of the sum is that of their positions, whatever the
 * layout; between tasks it is the order of submits, since y is accumulated into.
 *
 * Updates are written, or added, in row-major order of p: of several that are written to one element the last one
 * stays.  An index out of range is an error before the first byte is written; see kernels/move/index.h.  Any thread.
 */
#include <kernels/move/index.h>
#include <kernels/api/list.h>
#include <kernels/api/math.h>
#include <kernels/api/shape.h>

#include <string.h>

/* data, indices, updates, y; and y, indices, updates. */
enum { DATA, INDICES, UPDATES, Y };
enum { Y_IN_PLACE = 0 };

/* ---- checks and costs ---- */

static int scatter_elements_check(const struct pto_kernel_args *args) {
  int status = pto_check_same_dtype(args, "scatter_elements", DATA, Y);
  if (status == 0) status = pto_check_same_shape(args, "scatter_elements", DATA, Y);
  if (status != 0) return status;
  return pto_index_check_axis(args, "scatter_elements", (struct pto_index_roles){DATA, INDICES, UPDATES});
}
static int scatter_elements_inplace_check(const struct pto_kernel_args *args) {
  return pto_index_check_axis(args, "scatter_elements_inplace", (struct pto_index_roles){Y_IN_PLACE, INDICES, UPDATES});
}
static int scatter_add_check(const struct pto_kernel_args *args) {
  return pto_index_check_axis(args, "scatter_add", (struct pto_index_roles){Y_IN_PLACE, INDICES, UPDATES});
}
static int scatter_nd_check(const struct pto_kernel_args *args) {
  int status = pto_check_same_dtype(args, "scatter_nd", DATA, Y);
  if (status == 0) status = pto_check_same_shape(args, "scatter_nd", DATA, Y);
  if (status != 0) return status;
  return pto_index_check_tuples(args, "scatter_nd", (struct pto_index_roles){DATA, INDICES, UPDATES});
}
static int scatter_nd_inplace_check(const struct pto_kernel_args *args) {
  return pto_index_check_tuples(args, "scatter_nd_inplace", (struct pto_index_roles){Y_IN_PLACE, INDICES, UPDATES});
}

static struct pto_cost cost_of(const struct pto_kernel_args *args, bool is_tuples) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t in = pto_kernel_bytes(&t[INDICES]) + pto_kernel_bytes(&t[UPDATES]);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&t[DATA]) + in,
                           .bytes_out = pto_kernel_bytes(&t[Y]),
                           .vector_elems =
                               pto_kernel_numel(&t[Y]) + pto_kernel_numel(&t[INDICES]) + pto_kernel_numel(&t[UPDATES]),
                           .local_bytes = pto_index_local_bytes(&t[INDICES], is_tuples),
                           .dtype = t[Y].dtype};
}
/* Of y, no more than the updates is written; it is not read. */
static struct pto_cost inplace_cost_of(const struct pto_kernel_args *args, bool is_tuples) {
  const struct pto_kernel_tensor *t = args->tensors, *y = &t[Y_IN_PLACE];
  const uint64_t updates = pto_kernel_bytes(&t[UPDATES]);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&t[INDICES]) + updates,
                           .bytes_out = pto_min_u64(updates, pto_kernel_bytes(y)),
                           .vector_elems = pto_kernel_numel(&t[INDICES]) + pto_kernel_numel(&t[UPDATES]),
                           .local_bytes = pto_index_local_bytes(&t[INDICES], is_tuples),
                           .dtype = y->dtype};
}
static struct pto_cost scatter_elements_cost(const struct pto_kernel_args *args) { return cost_of(args, false); }
static struct pto_cost scatter_nd_cost(const struct pto_kernel_args *args) { return cost_of(args, true); }
static struct pto_cost scatter_elements_inplace_cost(const struct pto_kernel_args *args) {
  return inplace_cost_of(args, false);
}
static struct pto_cost scatter_nd_inplace_cost(const struct pto_kernel_args *args) {
  return inplace_cost_of(args, true);
}
/* What is added to is read too. */
static struct pto_cost scatter_add_cost(const struct pto_kernel_args *args) {
  struct pto_cost cost = inplace_cost_of(args, false);
  cost.bytes_in += cost.bytes_out;
  cost.vector_elems += pto_kernel_numel(&args->tensors[UPDATES]);
  return cost;
}

/* ---- runs ---- */

/* A loop a dtype; integers of one size wrap alike. */
#define ADD_LOOP(name, T, sum)                                                                                         \
  static void add_##name(const struct pto_index_sides *sides, const struct pto_index_pair *pairs, uint64_t count) {    \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      T old, update;                                                                                                   \
      char *to = (char *)sides->indexed + pairs[i].indexed * (int64_t)sizeof old;                                      \
      memcpy(&old, to, sizeof old);                                                                                    \
      memcpy(&update, (const char *)sides->dense + pairs[i].dense * (int64_t)sizeof old, sizeof old);                  \
      const T result = (T)(sum);                                                                                       \
      memcpy(to, &result, sizeof old);                                                                                 \
    }                                                                                                                  \
  }
ADD_LOOP(f32, float, old + update)
ADD_LOOP(fp16, uint16_t, fp16_from_f32(f32_from_fp16(old) + f32_from_fp16(update)))
ADD_LOOP(bf16, uint16_t, bf16_from_f32(f32_from_bf16(old) + f32_from_bf16(update)))
ADD_LOOP(8, uint8_t, old + update)
ADD_LOOP(16, uint16_t, old + update)
ADD_LOOP(32, uint32_t, old + update)
ADD_LOOP(64, uint64_t, old + update)
_Static_assert(PTO_FLOAT_DTYPE_COUNT == 3, "a float more: its loop goes here, and into add_pairs");

static void add_pairs(uint32_t dtype, const struct pto_index_sides *sides, const struct pto_index_pair *pairs,
                      uint64_t count) {
  switch (dtype) {
  case PTO_FLOAT32:
    add_f32(sides, pairs, count);
    return;
  case PTO_FLOAT16:
    add_fp16(sides, pairs, count);
    return;
  case PTO_BFLOAT16:
    add_bf16(sides, pairs, count);
    return;
  default:
    break;
  }
  switch (pto_dtype_size(dtype)) {
  case 1:
    add_8(sides, pairs, count);
    return;
  case 2:
    add_16(sides, pairs, count);
    return;
  case 4:
    add_32(sides, pairs, count);
    return;
  default:
    add_64(sides, pairs, count);
  }
}

/* The walk is checked, then y is made the data, then the updates are written over it, or added to it. */
static int scatter(const struct pto_kernel_args *args, const char *kernel, struct pto_index_walk *walk,
                   struct pto_move *box, bool is_added) {
  const bool is_in_place = args->tensor_count == 3;
  const struct pto_kernel_tensor *updates = &args->tensors[UPDATES];
  const struct pto_kernel_tensor *y = &args->tensors[is_in_place ? Y_IN_PLACE : Y];
  const int status = pto_index_check(args, kernel, walk, INDICES);
  if (status != 0) return status;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct pto_index_pair *pairs = pto_local_take(&local, pto_index_pair_bytes(walk->positions));
  if (!is_in_place) pto_move_tensor(y, &args->tensors[DATA], NULL);
  if (pto_kernel_numel(updates) == 0) return 0;
  const struct pto_index_sides sides = {y->addr, updates->addr, true};
  pto_move_plan(box);
  for (uint64_t count; (count = pto_index_pairs(walk, pairs)) > 0;) {
    if (is_added)
      add_pairs(y->dtype, &sides, pairs, count);
    else
      pto_index_move(box, &sides, pairs, count);
  }
  return 0;
}

static int scatter_elements_of(const struct pto_kernel_args *args, const char *kernel, bool is_added) {
  const struct pto_kernel_tensor *y = &args->tensors[args->tensor_count == 3 ? Y_IN_PLACE : Y];
  const struct pto_kernel_tensor *updates = &args->tensors[UPDATES];
  const uint32_t axis = (uint32_t)args->scalars[0].u64;
  struct pto_index_walk walk;
  struct pto_move box;
  pto_index_walk_axis(&walk, &args->tensors[INDICES], y, axis);
  for (uint32_t d = 0; d < y->ndims; d++) {
    walk.indexed_steps[d] = d == axis ? 0 : (int64_t)y->strides[d];
    walk.dense_steps[d] = (int64_t)updates->strides[d];
  }
  pto_move_init(&box, y->dtype);
  return scatter(args, kernel, &walk, &box, is_added);
}

static int scatter_nd_of(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *y = &args->tensors[args->tensor_count == 3 ? Y_IN_PLACE : Y];
  const struct pto_kernel_tensor *updates = &args->tensors[UPDATES];
  struct pto_index_walk walk;
  struct pto_move box;
  pto_index_walk_tuples(&walk, &args->tensors[INDICES], y);
  for (uint32_t d = 0; d < walk.ndims; d++) walk.dense_steps[d] = (int64_t)updates->strides[d];
  pto_move_init(&box, y->dtype);
  for (uint32_t d = walk.coordinate_count; d < y->ndims; d++)
    pto_move_dim(&box, y->shape[d], (int64_t)y->strides[d],
                 (int64_t)updates->strides[walk.ndims + d - walk.coordinate_count]);
  return scatter(args, kernel, &walk, &box, false);
}

static int scatter_elements_run(const struct pto_kernel_args *args) {
  return scatter_elements_of(args, "scatter_elements", false);
}
static int scatter_elements_inplace_run(const struct pto_kernel_args *args) {
  return scatter_elements_of(args, "scatter_elements_inplace", false);
}
static int scatter_add_run(const struct pto_kernel_args *args) {
  return scatter_elements_of(args, "scatter_add", true);
}
static int scatter_nd_run(const struct pto_kernel_args *args) { return scatter_nd_of(args, "scatter_nd"); }
static int scatter_nd_inplace_run(const struct pto_kernel_args *args) {
  return scatter_nd_of(args, "scatter_nd_inplace");
}

/* ---- the kernels ---- */

#define TENSOR(name_, mode_)                                                                                           \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPES_ALL }
#define INDICES_OF(rank)                                                                                               \
  { .name = "indices", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_INDEX, .min_rank = rank }
#define AXIS                                                                                                           \
  { .name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
static const struct pto_kernel_param scatter_elements_params[] = {
    TENSOR("data", PTO_INPUT), INDICES_OF(0), TENSOR("updates", PTO_INPUT), TENSOR("y", PTO_OUTPUT), AXIS};
static const struct pto_kernel_param scatter_elements_inplace_params[] = {TENSOR("y", PTO_INOUT), INDICES_OF(0),
                                                                          TENSOR("updates", PTO_INPUT), AXIS};
static const struct pto_kernel_param scatter_add_params[] = {
    {.name = "y", .mode = PTO_ACCUMULATE, .dtypes = PTO_DTYPES_NUMBER},
    INDICES_OF(0),
    {.name = "updates", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_NUMBER},
    AXIS};
static const struct pto_kernel_param scatter_nd_params[] = {TENSOR("data", PTO_INPUT), INDICES_OF(1),
                                                            TENSOR("updates", PTO_INPUT), TENSOR("y", PTO_OUTPUT)};
static const struct pto_kernel_param scatter_nd_inplace_params[] = {TENSOR("y", PTO_INOUT), INDICES_OF(1),
                                                                    TENSOR("updates", PTO_INPUT)};

#define KERNEL(name_)                                                                                                  \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = name_##_run,       \
                     .cost = name_##_cost, .check = name_##_check)
KERNEL(scatter_elements);
KERNEL(scatter_elements_inplace);
KERNEL(scatter_add);
KERNEL(scatter_nd);
KERNEL(scatter_nd_inplace);
