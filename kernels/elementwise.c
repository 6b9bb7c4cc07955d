/* SPDX-License-Identifier: MIT */
/*
 * The elementwise kernels: one run, check and cost for all, and a struct pto_kernel for each line of the list.
 *
 * Inputs and output have one shape; a tensor that repeats is passed as a broadcast view.  Floats mix freely (fp16 in,
 * f32 out), compute in f32 and round once on store; other tensors are all of one dtype, but for the bools that a form
 * names.  Elements are visited in the order in which the output lies in memory.  Results depend on nothing but the
 * elements.  Any thread.
 */
#include <kernels/half_table.h>
#include <kernels/kernel_list.h>
#include <kernels/kernel_operand.h>
#include <kernels/kernel_shape.h>
#include <kernels/kernel_windows.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define MAX_INPUTS 3

struct form {
  uint32_t input_count;
  uint32_t first;    /* the first tensor of the dtypes that the form leaves open */
  bool reads_output; /* the output is the last input as well */
  bool is_test;      /* the output is bool whatever the inputs */
  bool moves_bits;   /* nothing is computed, so what is of one dtype moves as integers of its size */
};

/* The parameters of each form.  Tensors come before scalars. */
#define SCALAR(name_, type)                                                                                            \
  { .name = name_, .mode = PTO_SCALAR, .scalar = type }
#define TENSOR(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_ }
#define PARAMS_FILL(dtypes) TENSOR("y", PTO_OUTPUT, dtypes), SCALAR("value", PTO_SCALAR_F32)
#define PARAMS_FILL_INT(dtypes) TENSOR("y", PTO_OUTPUT, dtypes), SCALAR("value", PTO_SCALAR_I64)
#define PARAMS_UNARY(dtypes) TENSOR("x", PTO_INPUT, dtypes), TENSOR("y", PTO_OUTPUT, dtypes)
#define PARAMS_LANES(dtypes) PARAMS_UNARY(dtypes)
#define PARAMS_LANES_STEPS(dtypes) PARAMS_UNARY(dtypes)
#define PARAMS_PREDICATE(dtypes) TENSOR("x", PTO_INPUT, dtypes), TENSOR("y", PTO_OUTPUT, PTO_DTYPES_BOOL)
#define PARAMS_BINARY(dtypes)                                                                                          \
  TENSOR("a", PTO_INPUT, dtypes), TENSOR("b", PTO_INPUT, dtypes), TENSOR("y", PTO_OUTPUT, dtypes)
#define PARAMS_COMPARE(dtypes)                                                                                         \
  TENSOR("a", PTO_INPUT, dtypes), TENSOR("b", PTO_INPUT, dtypes), TENSOR("y", PTO_OUTPUT, PTO_DTYPES_BOOL)
#define PARAMS_SELECT(dtypes) TENSOR("condition", PTO_INPUT, PTO_DTYPES_BOOL), PARAMS_BINARY(dtypes)
#define PARAMS_SCALED(dtypes) PARAMS_UNARY(dtypes), SCALAR("value", PTO_SCALAR_F32)
#define PARAMS_LANES_SCALED(dtypes) PARAMS_SCALED(dtypes)
#define PARAMS_LANES_BINARY(dtypes) PARAMS_BINARY(dtypes)
#define PARAMS_LANES_BINARY_STEPS(dtypes) PARAMS_BINARY(dtypes)
#define PARAMS_SCALED2(dtypes) PARAMS_UNARY(dtypes), SCALAR("value", PTO_SCALAR_F32), SCALAR("value2", PTO_SCALAR_F32)
#define PARAMS_SCALED_INT(dtypes) PARAMS_UNARY(dtypes), SCALAR("value", PTO_SCALAR_I64)
#define PARAMS_BOUNDED_INT(dtypes) PARAMS_UNARY(dtypes), SCALAR("bound", PTO_SCALAR_I64)
#define PARAMS_BOUNDED2_INT(dtypes) PARAMS_UNARY(dtypes), SCALAR("low", PTO_SCALAR_I64), SCALAR("high", PTO_SCALAR_I64)
#define PARAMS_INPLACE(dtypes) TENSOR("x", PTO_INPUT, dtypes), TENSOR("y", PTO_INOUT, dtypes)

static const struct form params_of_FILL = {.input_count = 0}, params_of_FILL_INT = {.input_count = 0},
                         params_of_UNARY = {.input_count = 1}, params_of_LANES = {.input_count = 1},
                         params_of_LANES_STEPS = {.input_count = 1},
                         params_of_PREDICATE = {.input_count = 1, .is_test = true},
                         params_of_BINARY = {.input_count = 2}, params_of_COMPARE = {.input_count = 2, .is_test = true},
                         params_of_SELECT = {.input_count = 3, .first = 1, .moves_bits = true},
                         params_of_SCALED = {.input_count = 1}, params_of_LANES_SCALED = {.input_count = 1},
                         params_of_LANES_BINARY = {.input_count = 2}, params_of_LANES_BINARY_STEPS = {.input_count = 2},
                         params_of_SCALED2 = {.input_count = 1}, params_of_SCALED_INT = {.input_count = 1},
                         params_of_BOUNDED_INT = {.input_count = 1}, params_of_BOUNDED2_INT = {.input_count = 1},
                         params_of_INPLACE = {.input_count = 1, .reads_output = true};

/* Whether all that is read and written, bools apart, has one dtype of 16-bit floats. */
static bool is_half(const struct pto_kernel_args *args, const struct form *form) {
  const uint32_t dtype = args->tensors[0].dtype, end = form->input_count + (form->is_test ? 0 : 1);
  if (dtype != PTO_FLOAT16 && dtype != PTO_BFLOAT16) return false;
  for (uint32_t i = 1; i < end; i++)
    if (args->tensors[i].dtype != dtype) return false;
  return true;
}
/* The loop on such floats as they lie, or NULL. */
static pto_op_loop *half_loop(const struct pto_kernel_args *args, enum pto_op op, const struct form *form) {
  return is_half(args, form) ? pto_loops_best()->half_op[op][args->tensors[0].dtype == PTO_BFLOAT16] : NULL;
}

/* The loop on such floats that has a table of results. */
static pto_op_loop *table_loop(enum pto_op op, uint32_t dtype) {
  pto_op_loop *quick = pto_loops_best()->quick_lookup[op][dtype == PTO_BFLOAT16];
  return quick != NULL ? quick : pto_loops_best()->lookup;
}

/* Whether the operation takes so long that its output had better go through the caches: stores past them overlap less
 * with arithmetic.  Those that are not just rounded once.  Out of cache gelu takes 0.9 and a look-up 0.85 times as long
 * so, and the shortest of them, exp, 1.05 times. */
static const bool is_long[PTO_OP_COUNT] = {
#define X(name, form, dtypes, ulps, ...) [PTO_OP_##name] = (ulps) > 0.5,
    PTO_ELEMENTWISE_LIST(X)
#undef X
};
/* Whether the loop writes past the caches where it is told to: those that work on vectors one by one. */
static bool is_streaming(pto_op_loop *loop, enum pto_op op) {
  const struct pto_loops *loops = pto_loops_best();
  return loop == loops->half_op[op][0] || loop == loops->half_op[op][1];
}

/* The class that the operation is done in; what lies in no class of its own moves as bits. */
static enum pto_class class_of(const struct pto_kernel_args *args, enum pto_op op, const struct form *form) {
  if (half_loop(args, op, form) != NULL) return PTO_CLASS_U16;
  const uint32_t dtype = args->tensors[form->first].dtype;
  bool is_same = true;
  for (uint32_t i = form->first; i <= form->input_count; i++) is_same = is_same && args->tensors[i].dtype == dtype;
  if (!form->moves_bits || !is_same || pto_dtype_bits(dtype) < 8) return pto_class_of(dtype);
  switch (pto_dtype_size(dtype)) {
  case 1:
    return PTO_CLASS_U8;
  case 2:
    return PTO_CLASS_U16;
  case 4:
    return PTO_CLASS_U32;
  default:
    return PTO_CLASS_U64;
  }
}

/* The class of tensor i. */
static enum pto_class operand_class(const struct form *form, enum pto_class class_, uint32_t i) {
  const bool is_bool = i < form->first || (form->is_test && i == form->input_count);
  return is_bool ? PTO_CLASS_BOOL : class_;
}

/* Tensors of no more bytes than this that lie as their classes want them are one chunk where they are: their operands
 * would take longer than the elements, and none is streamed or fetched ahead. */
#define DENSE_BYTES (UINT64_C(64) << 10)
static bool is_one_chunk(const struct pto_kernel_args *args, enum pto_class class_, const struct form *form,
                         uint64_t count) {
  for (uint32_t i = 0; i <= form->input_count; i++) {
    const struct pto_kernel_tensor *t = &args->tensors[i];
    const enum pto_class wanted = operand_class(form, class_, i);
    const uint64_t bits = pto_dtype_bits(t->dtype);
    if (bits < 8 || bits != pto_dtype_bits(pto_class_dtype(wanted)) || count * bits > DENSE_BYTES * 8) return false;
    if ((wanted == PTO_CLASS_F32 && t->dtype != PTO_FLOAT32) || !pto_kernel_is_dense(t)) return false;
  }
  return true;
}
static void run_chunk(const struct pto_kernel_args *args, pto_op_loop *loop, const struct form *form,
                      struct pto_chunk *chunk) {
  const void *read[MAX_INPUTS] = {NULL};
  for (uint32_t i = 0; i < form->input_count; i++) read[i] = args->tensors[i].addr;
  chunk->out = args->tensors[form->input_count].addr;
  if (form->reads_output) read[form->input_count] = chunk->out;
  chunk->a = read[0];
  chunk->b = chunk->b == NULL ? read[1] : chunk->b;
  chunk->c = read[2];
  loop(chunk);
}

/* The next rows where they lie; how many elements that are, 0 where they had better go through chunks. */
static uint64_t run_windows(struct pto_operand *operands, uint32_t count, pto_window_loop *loop,
                            const struct pto_chunk *chunk) {
  struct pto_windows windows = {.scalar = chunk->scalar, .scalar2 = chunk->scalar2};
  const uint64_t done = pto_windows_next(operands, count, &windows);
  if (done > 0) loop(&windows);
  return done;
}

static int elementwise_run(const struct pto_kernel_args *args, enum pto_op op, const struct form *form) {
  const uint32_t last = form->input_count;
  const struct pto_kernel_tensor *y = &args->tensors[last];
  uint64_t left = pto_kernel_numel(y);
  if (left == 0) return 0;
  /* Local memory is what is stated for the loops without a table, which take more. */
  const uint16_t *table = is_half(args, form) ? pto_half_table(op, y->dtype, left) : NULL;
  const enum pto_class class_ = table != NULL ? PTO_CLASS_U16 : class_of(args, op, form);
  pto_op_loop *loop = table != NULL ? table_loop(op, y->dtype) : half_loop(args, op, form);
  if (loop == NULL) loop = pto_loops_best()->op[op][class_];
  struct pto_chunk chunk = {.b = table, .count = left};
  if (args->scalar_count > 0) chunk.scalar = args->scalars[0];
  if (args->scalar_count > 1) chunk.scalar2 = args->scalars[1];
  if (is_one_chunk(args, class_, form, left)) {
    run_chunk(args, loop, form, &chunk);
    return 0;
  }

  struct pto_operand operands[MAX_INPUTS + 1]; /* inputs, and the output last; where it is read, once for each */
  uint32_t order_of[PTO_MAX_DIMS];
  const uint32_t read_count = last + (form->reads_output ? 1 : 0);
  const uint32_t *order = pto_operand_order(args, y, order_of);
  struct pto_local local = pto_local_begin(&args->core->local);
  for (uint32_t i = 0; i <= read_count; i++) {
    const uint32_t tensor = i < last ? i : last;
    pto_operand_init(&operands[i], &args->tensors[tensor], operand_class(form, class_, tensor), order, &local);
  }
  struct pto_operand *out = &operands[read_count];
  if (!form->reads_output && !is_long[op]) pto_operand_is_output(out, left, is_streaming(loop, op));

  pto_window_loop *window_loop = loop == pto_loops_best()->op[op][class_] ? pto_window_loop_best(op, class_) : NULL;
  const void *filled = NULL; /* what is not made of inputs, and is in local memory already */
  for (; left > 0; left -= chunk.count) {
    chunk.count = window_loop != NULL ? run_windows(operands, read_count + 1, window_loop, &chunk) : 0;
    if (chunk.count > 0) continue;
    window_loop = NULL; /* what has no windows here has none further on, and to ask takes time */
    chunk.count = pto_operands_next(operands, read_count + 1, left);
    if (read_count > 0) chunk.a = pto_operand_read(&operands[0], chunk.count);
    if (read_count > 1) chunk.b = pto_operand_read(&operands[1], chunk.count);
    if (read_count > 2) chunk.c = pto_operand_read(&operands[2], chunk.count);
    chunk.is_past_caches = pto_operand_is_past_caches(out);
    chunk.out = pto_operand_begin(out, chunk.count);
    if (chunk.out != filled) loop(&chunk);
    if (read_count == 0) filled = chunk.out;
    pto_operand_end(out, chunk.count);
  }
  pto_operand_finish(out);
  return 0;
}

static int elementwise_check(const struct pto_kernel_args *args, const char *kernel, const struct form *form) {
  const uint32_t last = form->input_count, end = form->is_test ? last : last + 1;
  for (uint32_t i = 0; i < last; i++) {
    const int status = pto_check_same_shape(args, kernel, i, last);
    if (status != 0) return status;
  }
  for (uint32_t i = form->first; i < end; i++) {
    const uint32_t dtype = args->tensors[i].dtype, other = args->tensors[end - 1].dtype;
    if (dtype != other && ((PTO_DTYPE_BIT(dtype) | PTO_DTYPE_BIT(other)) & ~PTO_DTYPES_FLOAT) != 0)
      return pto_kernel_error(args, "%s: dtypes %s and %s do not mix (params %" PRIu32 " and %" PRIu32 ")", kernel,
                              pto_dtype_name(dtype), pto_dtype_name(other), i, end - 1);
  }
  return 0;
}

static struct pto_cost elementwise_cost(const struct pto_kernel_args *args, enum pto_op op, const struct form *form) {
  const struct pto_kernel_tensor *y = &args->tensors[form->input_count];
  const enum pto_class class_ = class_of(args, op, form);
  struct pto_cost cost = {.vector_elems = pto_kernel_numel(y), .bytes_out = pto_kernel_bytes(y)};
  for (uint32_t i = 0; i <= form->input_count; i++) {
    const struct pto_kernel_tensor *t = &args->tensors[i];
    const bool is_read_too = i == form->input_count && form->reads_output;
    if (i < form->input_count || is_read_too) cost.bytes_in += pto_kernel_bytes(t);
    cost.local_bytes +=
        pto_operand_local_bytes(t, operand_class(form, class_, i)) * (is_read_too ? UINT64_C(2) : UINT64_C(1));
  }
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
    return elementwise_cost(args, PTO_OP_##name_, &params_of_##form_);                                                 \
  }                                                                                                                    \
  const struct pto_kernel pto_general_##name_ = {.name = #name_,                                                       \
                                                 .cores = PTO_AIV,                                                     \
                                                 .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,                  \
                                                 .params = name_##_params,                                             \
                                                 .param_count = PTO_ARRAY_LENGTH(name_##_params),                      \
                                                 .run = name_##_run,                                                   \
                                                 .cost = name_##_cost,                                                 \
                                                 .check = name_##_check};
PTO_ELEMENTWISE_LIST(X)
#undef X
