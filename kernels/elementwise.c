/* SPDX-License-Identifier: MIT */
/*
 * The elementwise kernels: one run, check and cost for all, and a struct pto_kernel for each line of the list.
 *
 * Inputs and output have one shape; a tensor that repeats is passed as a broadcast view.  Floats mix freely (fp16 in,
 * f32 out), compute in f32 and round once on store; integer tensors are all of one dtype.  Elements are visited in the
 * order in which the output lies in memory.  Results depend on nothing but the elements.  Any thread.
 */
#include <kernels/kernel_cursor.h>
#include <kernels/kernel_list.h>
#include <kernels/kernel_loops.h>
#include <kernels/kernel_shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define CHUNK_ELEMS                                                                                                    \
  256 /* elements between load, operation and store: three buffers of 2 KiB stay in the first-level cache */
#define DIRECT_ELEMS 32 /* shorter runs are gathered into a chunk rather than worked on in place */
#define TILE_ELEMS 4096 /* elements of each operand in local memory at a time; three f32 operands take 48 KiB */

struct form {
  uint32_t input_count;
  bool reads_output; /* the output is the last input as well */
  bool has_scalar;
};

/* The parameters of each form.  Tensors come before scalars. */
#define VALUE(type)                                                                                                    \
  { .name = "value", .mode = PTO_SCALAR, .scalar = type }
#define TENSOR(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_ }
#define PARAMS_FILL(dtypes) TENSOR("y", PTO_OUTPUT, dtypes), VALUE(PTO_SCALAR_F32)
#define PARAMS_FILL_INT(dtypes) TENSOR("y", PTO_OUTPUT, dtypes), VALUE(PTO_SCALAR_I64)
#define PARAMS_UNARY(dtypes) TENSOR("x", PTO_INPUT, dtypes), TENSOR("y", PTO_OUTPUT, dtypes)
#define PARAMS_BINARY(dtypes)                                                                                          \
  TENSOR("a", PTO_INPUT, dtypes), TENSOR("b", PTO_INPUT, dtypes), TENSOR("y", PTO_OUTPUT, dtypes)
#define PARAMS_SCALED(dtypes) PARAMS_UNARY(dtypes), VALUE(PTO_SCALAR_F32)
#define PARAMS_SCALED_INT(dtypes) PARAMS_UNARY(dtypes), VALUE(PTO_SCALAR_I64)
#define PARAMS_INPLACE(dtypes) TENSOR("x", PTO_INPUT, dtypes), TENSOR("y", PTO_INOUT, dtypes)

static const struct form params_of_FILL = {0, false, true}, params_of_FILL_INT = {0, false, true},
                         params_of_UNARY = {1, false, false}, params_of_BINARY = {2, false, false},
                         params_of_SCALED = {1, false, true}, params_of_SCALED_INT = {1, false, true},
                         params_of_INPLACE = {1, true, false};

/* One operand on its way through the chunks. */
struct operand {
  struct pto_cursor cursor;
  pto_load_loop *load;
  pto_store_loop *store;
  bool is_direct; /* its elements lie as the loop wants them, within a run */
  _Alignas(64) unsigned char buffer[CHUNK_ELEMS * sizeof(uint64_t)];
};

static uint64_t class_bytes(enum pto_class class_) { return pto_dtype_size(pto_class_dtype(class_)); }

static void operand_init(struct operand *o, const struct pto_loops *loops, const struct pto_kernel_tensor *t,
                         enum pto_class class_, const uint32_t *order) {
  pto_cursor_init(&o->cursor, t, order);
  o->load = loops->load[class_][t->dtype];
  o->store = loops->store[class_][t->dtype];
  o->is_direct = t->dtype == pto_class_dtype(class_) && o->cursor.run_step == class_bytes(class_);
}

/* How many elements to do next: as much of the runs as lies in place in all operands, where that is worth it, else a
 * chunk. */
static uint64_t next_count(const struct operand *operands, uint32_t count, uint64_t left) {
  uint64_t in_place = left;
  bool all_direct = true;
  for (uint32_t i = 0; i < count; i++) {
    all_direct = all_direct && operands[i].is_direct;
    if (operands[i].is_direct) in_place = pto_min_u64(in_place, operands[i].cursor.run_left);
  }
  if (!all_direct) in_place = pto_min_u64(in_place, CHUNK_ELEMS);
  return in_place >= DIRECT_ELEMS ? in_place : pto_min_u64(left, CHUNK_ELEMS);
}

static bool is_in_place(const struct operand *o, uint64_t count) { return o->is_direct && o->cursor.run_left >= count; }

static const void *operand_read(struct operand *o, uint64_t elem_bytes, uint64_t count) {
  if (!is_in_place(o, count)) {
    pto_cursor_load(&o->cursor, o->load, o->buffer, elem_bytes, count);
    return o->buffer;
  }
  const void *elements = o->cursor.at;
  pto_cursor_advance(&o->cursor, count);
  return elements;
}

static int elementwise_run(const struct pto_kernel_args *args, enum pto_op op, const struct form *form) {
  const struct pto_loops *loops = pto_loops_best();
  const struct pto_kernel_tensor *y = &args->tensors[form->input_count];
  const enum pto_class class_ = pto_class_of(y->dtype);
  const uint64_t elem_bytes = class_bytes(class_);
  uint64_t left = pto_kernel_numel(y);
  if (left == 0) return 0;

  struct operand operands[3]; /* inputs, the output as an input if it is one, the output */
  uint32_t order[PTO_MAX_DIMS];
  const uint32_t read_count = form->input_count + (form->reads_output ? 1 : 0);
  pto_cursor_order(y, order);
  for (uint32_t i = 0; i < read_count; i++) operand_init(&operands[i], loops, &args->tensors[i], class_, order);
  struct operand *out = &operands[read_count];
  operand_init(out, loops, y, class_, order);

  struct pto_chunk chunk = {0};
  if (form->has_scalar) chunk.scalar = args->scalars[0];
  for (; left > 0; left -= chunk.count) {
    chunk.count = next_count(operands, read_count + 1, left);
    chunk.a = read_count > 0 ? operand_read(&operands[0], elem_bytes, chunk.count) : NULL;
    chunk.b = read_count > 1 ? operand_read(&operands[1], elem_bytes, chunk.count) : NULL;
    const bool is_stored = is_in_place(out, chunk.count);
    chunk.out = is_stored ? (void *)out->cursor.at : out->buffer;
    loops->op[op][class_](&chunk);
    if (is_stored)
      pto_cursor_advance(&out->cursor, chunk.count);
    else
      pto_cursor_store(&out->cursor, out->store, out->buffer, elem_bytes, chunk.count);
  }
  return 0;
}

static int elementwise_check(const struct pto_kernel_args *args, const char *kernel, const struct form *form) {
  const uint32_t last = form->input_count;
  const struct pto_kernel_tensor *y = &args->tensors[last];
  for (uint32_t i = 0; i < last; i++) {
    const struct pto_kernel_tensor *x = &args->tensors[i];
    const int status = pto_check_same_shape(args, kernel, i, last);
    if (status != 0) return status;
    if (x->dtype != y->dtype && ((PTO_DTYPE_BIT(x->dtype) | PTO_DTYPE_BIT(y->dtype)) & ~PTO_DTYPES_FLOAT) != 0)
      return pto_kernel_error(args, "%s: dtypes %s and %s do not mix (params %" PRIu32 " and %" PRIu32 ")", kernel,
                              pto_dtype_name(x->dtype), pto_dtype_name(y->dtype), i, last);
  }
  return 0;
}

static struct pto_cost elementwise_cost(const struct pto_kernel_args *args, const struct form *form) {
  const struct pto_kernel_tensor *y = &args->tensors[form->input_count];
  const uint64_t numel = pto_kernel_numel(y), tile = pto_min_u64(numel, TILE_ELEMS);
  struct pto_cost cost = {.vector_elems = numel, .bytes_out = pto_kernel_bytes(y)};
  for (uint32_t i = 0; i < form->input_count; i++) {
    cost.bytes_in += pto_kernel_bytes(&args->tensors[i]);
    cost.local_bytes += tile * pto_dtype_size(args->tensors[i].dtype);
  }
  cost.bytes_in += form->reads_output ? cost.bytes_out : 0;
  cost.local_bytes += tile * pto_dtype_size(y->dtype);
  return cost;
}

#define X(name_, form_, dtypes_, ...)                                                                                  \
  static const struct pto_kernel_param name_##_params[] = {PARAMS_##form_(dtypes_)};                                   \
  static int name_##_run(const struct pto_kernel_args *args) {                                                         \
    return elementwise_run(args, PTO_OP_##name_, &params_of_##form_);                                                  \
  }                                                                                                                    \
  static int name_##_check(const struct pto_kernel_args *args) {                                                       \
    return elementwise_check(args, #name_, &params_of_##form_);                                                        \
  }                                                                                                                    \
  static struct pto_cost name_##_cost(const struct pto_kernel_args *args) {                                            \
    return elementwise_cost(args, &params_of_##form_);                                                                 \
  }                                                                                                                    \
  const struct pto_kernel pto_general_##name_ = {.name = #name_,                                                       \
                                                 .cores = PTO_AIV,                                                     \
                                                 .flags = PTO_KERNEL_IN_PLACE,                                         \
                                                 .params = name_##_params,                                             \
                                                 .param_count = PTO_ARRAY_LENGTH(name_##_params),                      \
                                                 .run = name_##_run,                                                   \
                                                 .cost = name_##_cost,                                                 \
                                                 .check = name_##_check};
PTO_ELEMENTWISE_LIST(X)
#undef X
