/* SPDX-License-Identifier: MIT */
/*
 * cast (AIV): y = x in y's dtype, between any two dtypes; docs/numerics.md says how each pair rounds and saturates.
 *
 * A chunk goes from x's class to y's and is stored in y's dtype; what has one class already is only loaded and stored.
 * Between two tensors of one dtype bits move, so that a NaN keeps its payload.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/operand.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

/* How a pair of dtypes is cast. */
struct plan {
  enum pto_class from, to;
  uint32_t target; /* of the cast loop: the class, or PTO_CLASS_F32_ODD */
};

static bool is_narrow_float(uint32_t dtype) { return pto_dtype_is_real(dtype) && pto_dtype_bits(dtype) < 32; }

static enum pto_class bits_class(uint32_t dtype) {
  static const enum pto_class classes[] = {
      [1] = PTO_CLASS_U8, [2] = PTO_CLASS_U16, [4] = PTO_CLASS_U32, [8] = PTO_CLASS_U64};
  return pto_dtype_is_four_bit(dtype) ? pto_class_of(dtype) : classes[pto_dtype_size(dtype)];
}

static struct plan plan_of(const struct pto_kernel_args *args) {
  const uint32_t from = args->tensors[0].dtype, to = args->tensors[1].dtype;
  if (from == to) return (struct plan){bits_class(from), bits_class(from), bits_class(from)};
  struct plan plan = {pto_class_of(from), pto_class_of(to), pto_class_of(to)};
  if (is_narrow_float(to)) plan.target = PTO_CLASS_F32_ODD;
  return plan;
}

/* What saturated to 8 bits, to 4. */
static void saturate_nibbles(const struct pto_loops *loops, uint32_t dtype, void *elements, uint64_t count) {
  const bool is_signed = dtype == PTO_INT4;
  loops->op[PTO_OP_clamp_int][pto_class_of(dtype)](&(struct pto_chunk){.count = count,
                                                                       .a = elements,
                                                                       .out = elements,
                                                                       .scalar = {.i64 = is_signed ? -8 : 0},
                                                                       .scalar2 = {.i64 = is_signed ? 7 : 15}});
}

static int cast_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const struct plan plan = plan_of(args);
  const struct pto_loops *loops = pto_loops_best();
  pto_cast_loop *loop = loops->cast[plan.from][plan.target];
  uint64_t left = pto_kernel_numel(y);
  if (left == 0) return 0;

  struct pto_operand operands[2];
  struct pto_operand *in = &operands[0], *out = &operands[1];
  uint32_t order_of[PTO_MAX_DIMS];
  const uint32_t *order = pto_operand_order(args, y, order_of);
  struct pto_local local = pto_local_begin(&args->core->local);
  pto_operand_init(in, x, plan.from, order, &local);
  pto_operand_init(out, y, plan.to, order, &local);
  while (left > 0) {
    const uint64_t count = pto_operands_next(operands, 2, left);
    const void *elements = pto_operand_read(in, count);
    void *to = pto_operand_begin(out, count);
    loop(to, elements, count);
    if ((PTO_DTYPE_BIT(y->dtype) & PTO_DTYPES_NIBBLE) != 0) saturate_nibbles(loops, y->dtype, to, count);
    pto_operand_end(out, count);
    left -= count;
  }
  return 0;
}

static int cast_check(const struct pto_kernel_args *args) { return pto_check_same_shape(args, "cast", 0, 1); }

static struct pto_cost cast_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const struct plan plan = plan_of(args);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(x),
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = pto_kernel_numel(y),
                           .local_bytes = pto_operand_local_bytes(x, plan.from) + pto_operand_local_bytes(y, plan.to),
                           .dtype = pto_dtype_bits(x->dtype) > pto_dtype_bits(y->dtype) ? x->dtype : y->dtype};
}

static const struct pto_kernel_param cast_params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL},
};

PTO_GENERAL_KERNEL(cast, cast_params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = cast_run, .cost = cast_cost, .check = cast_check);
