/* SPDX-License-Identifier: MIT */
/*
 * General kernels one after another, for goldens that are right to the last bit: f32 matrices in memory of the program
 * run, and one core without a runtime.
 *
 * A general kernel's result does not depend on layout, tiles or core (docs/numerics.md), so a golden calls it on whole
 * matrices where the program has cut them up.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_RANKS_SEQUENTIAL_H
#define PTO_ORCHESTRATION_RANKS_SEQUENTIAL_H

#include <math.h>

#include <orchestration/support/kernel.h>

#define SEQUENTIAL_MEMORY_BYTES (UINT64_C(1) << 18) /* each of the core's */

/* Rows of `stride` elements each, of which the first `columns` are meant; at NULL: no memory. */
struct matrix {
  float *at;
  uint64_t rows, columns, stride;
};

static inline struct matrix make_matrix(struct pto_program_run *run, uint64_t rows, uint64_t columns) {
  return (struct matrix){pto_program_alloc(run, rows * columns * sizeof(float)), rows, columns, columns};
}
/* Index `index` of the outermost dimension of an array of three; of two, all of it. */
static inline struct matrix matrix_of(const struct pto_array *array, uint64_t index) {
  const uint64_t rows = array->shape[array->ndims - 2], columns = array->shape[array->ndims - 1];
  return (struct matrix){(float *)array->data + index * rows * columns, rows, columns, columns};
}
static inline struct matrix matrix_rows(struct matrix m, uint64_t first, uint64_t end) {
  return (struct matrix){m.at + first * m.stride, end - first, m.columns, m.stride};
}
static inline struct matrix matrix_columns(struct matrix m, uint64_t first, uint64_t end) {
  return (struct matrix){m.at + first, m.rows, end - first, m.stride};
}

/* The core; its memory is NULL where there was none. */
static inline struct pto_core make_core(struct pto_program_run *run) {
  struct pto_core core = {.block_count = 1};
  struct pto_local_memory *const memories[] = {&core.local, &core.l0a, &core.l0b, &core.l0c};
  char *memory = pto_program_alloc(run, LENGTH(memories) * SEQUENTIAL_MEMORY_BYTES);
  for (size_t i = 0; i < LENGTH(memories); i++)
    *memories[i] =
        (struct pto_local_memory){memory ? memory + i * SEQUENTIAL_MEMORY_BYTES : NULL, SEQUENTIAL_MEMORY_BYTES};
  return core;
}

#define MOST_MATRICES 3
/* Runs the general kernel `name` on as many matrices as `count` says, with the one scalar that it may have.  PTO_OK, or
 * PTO_ENOMEM where one of them, or the core, has no memory. */
static inline int compute(const struct pto_core *core, const char *name, const struct matrix *matrices, uint32_t count,
                          union pto_scalar scalar) {
  uint64_t shapes[MOST_MATRICES][2], strides[MOST_MATRICES][2];
  struct pto_kernel_tensor tensors[MOST_MATRICES];
  const struct pto_kernel_args args = {
      .tensors = tensors, .scalars = &scalar, .core = core, .tensor_count = count, .scalar_count = 1};
  if (!core->local.addr) return PTO_ENOMEM;
  for (uint32_t i = 0; i < count; i++) {
    const struct matrix *m = &matrices[i];
    if (!m->at) return PTO_ENOMEM;
    shapes[i][0] = m->rows;
    shapes[i][1] = m->columns;
    strides[i][0] = m->stride;
    strides[i][1] = 1;
    tensors[i] = (struct pto_kernel_tensor){m->at, shapes[i], strides[i], 2, PTO_FLOAT32};
  }
  return pto_kernel_find(name)->run(&args);
}

#define NO_SCALAR ((union pto_scalar){0})
#define MATRICES(...) (const struct matrix[]){__VA_ARGS__}, (uint32_t)LENGTH(((const struct matrix[]){__VA_ARGS__}))

/* Golden of an output: to the last bit what `golden` has, row by row.  `exact` is the same in double precision, of the
 * whole, without ranks: off by rounding alone, or the program run fails. */
static inline int give_golden(struct pto_program_run *run, const char *output, struct matrix golden,
                              const double *exact) {
  double *to = pto_array_golden(run, pto_program_find(run, output));
  if (!to || !golden.at || !exact) return PTO_ENOMEM;
  for (uint64_t i = 0; i < golden.rows * golden.columns; i++) {
    to[i] = (double)golden.at[i / golden.columns * golden.stride + i % golden.columns];
    if (!(fabs(to[i] - exact[i]) <= 1e-4 * (1 + fabs(exact[i]))))
      return pto_program_fail_as(run, PTO_EUSER, "%s: golden %llu is %.9g, and in double precision %.9g", output,
                                 (unsigned long long)i, to[i], exact[i]);
  }
  return PTO_OK;
}

#endif
