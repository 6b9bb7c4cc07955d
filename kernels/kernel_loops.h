/* SPDX-License-Identifier: MIT */
/*
 * The innermost loops: an operation on contiguous elements, and the loads and stores that bring elements of any dtype
 * and stride into that form.
 *
 * Arithmetic is done in one of three classes, whatever the dtype of the tensors: f32 for floats, int64_t for integers,
 * uint64_t for u64.  So an operation is one function a class, a dtype is one load and one store a class, and all of
 * them go together.  The loops are compiled once for each instruction set in the list below and chosen by what the
 * processor has.  No multiply and add is fused here, so every set gives the same bytes.
 *
 * To add a dtype, add a line to PTO_STORED_LIST in kernel_loops.inc.  To add an instruction set, see kernel_loops.c.
 * Owns constant tables; any thread.
 */
#ifndef PTO_KERNEL_LOOPS_H
#define PTO_KERNEL_LOOPS_H

#include <kernels/kernel_list.h>

enum pto_class { PTO_CLASS_F32, PTO_CLASS_I64, PTO_CLASS_U64, PTO_CLASS_COUNT };

/* Contiguous elements of a class.  `out` may be the same address as an input, and else overlaps none. */
struct pto_chunk {
  uint64_t count;
  const void *a, *b;
  void *out;
  union pto_scalar scalar;
};

/* out[i] = the operation on a[i], b[i] and the scalar. */
typedef void pto_op_loop(const struct pto_chunk *chunk);
/* buffer[i] = the element at addr + i · step_bytes, for i < count. */
typedef void pto_load_loop(void *buffer, const char *addr, uint64_t step_bytes, uint64_t count);
/* The element at addr + i · step_bytes = buffer[i], rounded to nearest even, integers modulo 2 to their bits. */
typedef void pto_store_loop(const void *buffer, char *addr, uint64_t step_bytes, uint64_t count);

/* Partial sums of a row: element i goes to lane i mod 16, in order of i; a row may come in several calls, each but the
 * last of a multiple of 16 elements. */
#define PTO_SUM_LANES 16
typedef void pto_sum_loop(float lanes[PTO_SUM_LANES], const float *x, uint64_t count);
/* The largest of `x` and `start`; NaN where one of them is. */
typedef float pto_max_loop(float start, const float *x, uint64_t count);

struct pto_loops {
  const char *name;
  pto_op_loop *op[PTO_OP_COUNT][PTO_CLASS_COUNT];
  pto_load_loop *load[PTO_CLASS_COUNT][PTO_DTYPE_COUNT]; /* NULL: that class does not hold that dtype */
  pto_store_loop *store[PTO_CLASS_COUNT][PTO_DTYPE_COUNT];
  pto_sum_loop *sum;
  pto_max_loop *max;
};

/* The fastest loops that this processor can run. */
const struct pto_loops *pto_loops_best(void);
/* For tests: each set that this processor can run, from the plainest up; NULL past the end. */
const struct pto_loops *pto_loops_at(uint32_t index);

/* The lanes added up, as a balanced tree. */
float pto_sum_lanes(const float lanes[PTO_SUM_LANES]);
/* The class whose values a dtype holds without loss and computes in. */
enum pto_class pto_class_of(uint32_t dtype);
/* The dtype that has the class's own representation. */
uint32_t pto_class_dtype(enum pto_class class_);

#endif
