/* SPDX-License-Identifier: MIT */
/*
 * Arrays and tensors of programs: a table of arrays to declare and fill, and tensors that live between tasks.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_TENSORS_H
#define PTO_ORCHESTRATION_SUPPORT_TENSORS_H

#include <pto/pto.h>

struct array_line {
  struct pto_array **array;
  const char *name;
  uint32_t role, dtype, ndims;
  uint64_t shape[4];
  double low, high; /* filled from the seed where they differ */
};

/* PTO_OK, or PTO_ENOMEM at the first that cannot be declared. */
static inline int declare_arrays(struct pto_program_run *run, const struct array_line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct array_line *line = &lines[i];
    *line->array = pto_program_array(run, line->name, line->role, line->dtype, line->ndims, line->shape);
    if (*line->array == NULL) return PTO_ENOMEM;
    if (line->low != line->high) pto_array_fill_uniform(run, *line->array, line->low, line->high);
  }
  return PTO_OK;
}
#define DECLARE_ARRAYS(run, lines) declare_arrays(run, lines, sizeof(lines) / sizeof((lines)[0]))

/* A dense tensor in a buffer of its own; it gets memory from the task that writes it first. */
static inline struct pto_tensor temporary(struct pto_runtime *rt, uint32_t dtype, uint32_t ndims,
                                          const uint64_t *shape) {
  uint64_t bytes = pto_dtype_size(dtype);
  for (uint32_t i = 0; i < ndims; i++) bytes *= shape[i];
  return pto_managed_tensor(rt, pto_create_buffer(rt, bytes), dtype, ndims, shape);
}

#endif
