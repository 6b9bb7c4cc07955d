/* SPDX-License-Identifier: MIT */
/*
 * The elementwise kernels: one run, check and cost for all, and a struct pto_kernel for each line of the list.
 *
 * Inputs and output have one shape; a tensor that repeats is passed as a broadcast view.  Floats mix freely (fp16 in,
 * f32 out), compute in f32 and round once on store; other tensors are all of one dtype, but for the bools that a form
 * names.  Elements are visited in the order in which the output lies in memory.  Results depend on nothing but the
 * elements.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/operand.h>
#include <kernels/api/shape.h>
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

/* What each word of a form says of the fields. */
#define READS_NOTHING .input_count = 0
#define READS_A .input_count = 1
#define READS_AB .input_count = 2
#define READS_CHOICE .input_count = 3, .first = 1, .moves_bits = true
#define READS_OLD .input_count = 1, .reads_output = true
#define RESULT_SAME .is_test = false
#define RESULT_FLAG .is_test = true
#define FORM(name, dtypes, reads, scalars, result, by)                                                                 \
  static const struct form name##_form = {READS_##reads, RESULT_##result};

/* And of the parameters.  Tensors come before scalars. */
#define SCALAR(name_, type)                                                                                            \
  { .name = name_, .mode = PTO_SCALAR, .scalar = type }
#define TENSOR(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_ }
#define INPUTS_NOTHING(dtypes)
#define INPUTS_A(dtypes) TENSOR("x", PTO_INPUT, dtypes),
#define INPUTS_AB(dtypes) TENSOR("a", PTO_INPUT, dtypes), TENSOR("b", PTO_INPUT, dtypes),
#define INPUTS_CHOICE(dtypes) TENSOR("condition", PTO_INPUT, PTO_DTYPES_BOOL), INPUTS_AB(dtypes)
#define INPUTS_OLD(dtypes) INPUTS_A(dtypes)
#define MODE_NOTHING PTO_OUTPUT
#define MODE_A PTO_OUTPUT
#define MODE_AB PTO_OUTPUT
#define MODE_CHOICE PTO_OUTPUT
#define MODE_OLD PTO_INOUT
#define DTYPES_SAME(dtypes) dtypes
#define DTYPES_FLAG(dtypes) PTO_DTYPES_BOOL
#define SCALARS_NONE
#define SCALARS_F32 SCALAR("value", PTO_SCALAR_F32),
#define SCALARS_TWO_F32 SCALARS_F32 SCALAR("value2", PTO_SCALAR_F32),
#define SCALARS_LOW SCALAR("value", PTO_SCALAR_I64),
#define SCALARS_BOUND SCALAR("bound", PTO_SCALAR_I64),
#define SCALARS_TWO_BOUNDS SCALAR("low", PTO_SCALAR_I64), SCALAR("high", PTO_SCALAR_I64),
#define PARAMS(name, dtypes, reads, scalars, result, by)                                                               \
  static const struct pto_kernel_param name##_params[] = {                                                             \
      INPUTS_##reads(dtypes) TENSOR("y", MODE_##reads, DTYPES_##result(dtypes)), SCALARS_##scalars};

/* The class that the operation is done in; what lies in no class of its own moves as bits. */
static enum pto_class class_of(const struct pto_kernel_args *args, const struct form *form) {
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

static int elementwise_run(const struct pto_kernel_args *args, enum pto_op op, const struct form *form) {
  const uint32_t last = form->input_count;
  const struct pto_kernel_tensor *y = &args->tensors[last];
  uint64_t left = pto_kernel_numel(y);
  if (left == 0) return 0;
  const enum pto_class class_ = class_of(args, form);
  pto_op_loop *loop = pto_loops_best()->op[op][class_];
  struct pto_chunk chunk = {.count = left};
  if (args->scalar_count > 0) chunk.scalar = args->scalars[0];
  if (args->scalar_count > 1) chunk.scalar2 = args->scalars[1];

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

  const void *filled = NULL; /* what is not made of inputs, and is in local memory already */
  for (; left > 0; left -= chunk.count) {
    chunk.count = pto_operands_next(operands, read_count + 1, left);
    if (read_count > 0) chunk.a = pto_operand_read(&operands[0], chunk.count);
    if (read_count > 1) chunk.b = pto_operand_read(&operands[1], chunk.count);
    if (read_count > 2) chunk.c = pto_operand_read(&operands[2], chunk.count);
    chunk.out = pto_operand_begin(out, chunk.count);
    if (chunk.out != filled) loop(&chunk);
    if (read_count == 0) filled = chunk.out;
    pto_operand_end(out, chunk.count);
  }
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

static struct pto_cost elementwise_cost(const struct pto_kernel_args *args, const struct form *form) {
  const struct pto_kernel_tensor *y = &args->tensors[form->input_count];
  const enum pto_class class_ = class_of(args, form);
  struct pto_cost cost = {
      .vector_elems = pto_kernel_numel(y), .bytes_out = pto_kernel_bytes(y), .dtype = args->tensors[0].dtype};
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
  PTO_FORM_APPLY(FORM, name_, dtypes_, PTO_FORM_##form_)                                                               \
  PTO_FORM_APPLY(PARAMS, name_, dtypes_, PTO_FORM_##form_)                                                             \
  static int name_##_run(const struct pto_kernel_args *args) {                                                         \
    return elementwise_run(args, PTO_OP_##name_, &name_##_form);                                                       \
  }                                                                                                                    \
  static int name_##_check(const struct pto_kernel_args *args) {                                                       \
    return elementwise_check(args, #name_, &name_##_form);                                                             \
  }                                                                                                                    \
  static struct pto_cost name_##_cost(const struct pto_kernel_args *args) {                                            \
    return elementwise_cost(args, &name_##_form);                                                                      \
  }                                                                                                                    \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,     \
                     .run = name_##_run, .cost = name_##_cost, .check = name_##_check);
PTO_ELEMENTWISE_LIST(X)
#undef X
