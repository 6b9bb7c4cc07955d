/* SPDX-License-Identifier: MIT */
/*
 * What programs share: options that are read and checked, arrays from a table, tensors of them and between tasks, and
 * the program itself.  Arrays go by their names: what prepare declares, orchestrate and expect find.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_PROGRAM_H
#define PTO_ORCHESTRATION_SUPPORT_PROGRAM_H

#include <orchestration/support/kernel.h>

#include <string.h>

/* ---- options ---- */

struct whole_option {
  const char *name;
  int64_t least, most;
  uint64_t *value; /* NULL: it is checked alone */
};

/* PTO_OK, or the program run has failed with the first that is out of its range. */
static inline int read_whole_options(struct pto_program_run *run, const struct whole_option *options, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const int64_t value = pto_option_int(run, options[i].name);
    if (value < options[i].least || value > options[i].most)
      return pto_program_fail(run, "%s %lld is not in %lld … %lld", options[i].name, (long long)value,
                              (long long)options[i].least, (long long)options[i].most);
    if (options[i].value) *options[i].value = (uint64_t)value;
  }
  return PTO_OK;
}
#define READ_WHOLE_OPTIONS(run, ...)                                                                                   \
  read_whole_options(run, (const struct whole_option[]){__VA_ARGS__},                                                  \
                     LENGTH(((const struct whole_option[]){__VA_ARGS__})))

/* An option that is one of two words: whether it is the second. */
static inline int read_choice(struct pto_program_run *run, const char *option, const char *first, const char *second,
                              bool *is_second) {
  const char *word = pto_option_text(run, option);
  *is_second = strcmp(word, second) == 0;
  if (*is_second || strcmp(word, first) == 0) return PTO_OK;
  return pto_program_fail(run, "%s \"%s\" is not %s or %s", option, word, first, second);
}

/* Option "dtype". */
static inline int read_float_dtype(struct pto_program_run *run, uint32_t *dtype_out) {
  const char *name = pto_option_text(run, "dtype");
  const int dtype = pto_dtype_from_name(name);
  if (dtype != PTO_FLOAT32 && dtype != PTO_FLOAT16 && dtype != PTO_BFLOAT16)
    return pto_program_fail(run, "dtype \"%s\" is not f32, fp16 or bf16", name);
  *dtype_out = (uint32_t)dtype;
  return PTO_OK;
}

/* ---- arrays ---- */

struct array_line {
  const char *name;
  uint32_t role, dtype, ndims;
  uint64_t shape[4];
  double low, high; /* filled from the seed where they differ */
};

/* Lines of arrays by role, the shape last: INPUT("x", PTO_FLOAT32, -1, 1, rows, columns). */
#define INPUT(name_, dtype_, low_, high_, ...)                                                                         \
  { name_, PTO_ARRAY_INPUT, dtype_, (uint32_t)LENGTH(((uint64_t[]){__VA_ARGS__})), {__VA_ARGS__}, low_, high_ }
#define OUTPUT(name_, dtype_, ...)                                                                                     \
  { name_, PTO_ARRAY_OUTPUT, dtype_, (uint32_t)LENGTH(((uint64_t[]){__VA_ARGS__})), {__VA_ARGS__}, 0, 0 }
#define SCRATCH(name_, dtype_, ...)                                                                                    \
  { name_, PTO_ARRAY_SCRATCH, dtype_, (uint32_t)LENGTH(((uint64_t[]){__VA_ARGS__})), {__VA_ARGS__}, 0, 0 }

/* PTO_OK, or PTO_ENOMEM at the first that cannot be declared. */
static inline int declare_arrays(struct pto_program_run *run, const struct array_line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct array_line *line = &lines[i];
    struct pto_array *array = pto_program_array(run, line->name, line->role, line->dtype, line->ndims, line->shape);
    if (array == NULL) return PTO_ENOMEM;
    if (line->low != line->high) pto_array_fill_uniform(run, array, line->low, line->high);
  }
  return PTO_OK;
}
#define DECLARE_ARRAYS(run, ...)                                                                                       \
  declare_arrays(run, (const struct array_line[]){__VA_ARGS__}, LENGTH(((const struct array_line[]){__VA_ARGS__})))

/* An array by its name: the tensor of all of it, the golden for expect to fill, its data. */
static inline struct pto_tensor tensor_of(struct pto_runtime *rt, struct pto_program_run *run, const char *name) {
  return pto_array_tensor(rt, pto_program_find(run, name));
}
static inline double *golden_of(struct pto_program_run *run, const char *name) {
  return pto_array_golden(run, pto_program_find(run, name));
}
static inline const void *data_of(struct pto_program_run *run, const char *name) {
  return pto_program_find(run, name)->data;
}
/* All elements in double precision; NULL where there is no memory. */
static inline double *exact_copy(struct pto_program_run *run, const char *name) {
  const struct pto_array *array = pto_program_find(run, name);
  double *copy = pto_program_alloc(run, array->numel * sizeof *copy);
  for (uint64_t i = 0; copy && i < array->numel; i++) copy[i] = pto_array_get(array, i);
  return copy;
}
/* For arrays that a run changes: their bytes as they are now, for expect; nothing where kernels are priced alone. */
static inline int keep_bytes(struct pto_program_run *run, const char *name, const char **kept) {
  const struct pto_array *array = pto_program_find(run, name);
  const struct pto_config *config = pto_program_config(run);
  if (config && config->no_compute) return PTO_OK;
  char *copy = pto_program_alloc(run, array->size_bytes);
  if (copy == NULL) return PTO_ENOMEM;
  memcpy(copy, array->data, array->size_bytes);
  *kept = copy;
  return PTO_OK;
}

/* ---- tensors ---- */

/* A dense tensor in a buffer of its own; it gets memory from the task that writes it first. */
static inline struct pto_tensor temporary(struct pto_runtime *rt, uint32_t dtype, uint32_t ndims,
                                          const uint64_t *shape) {
  uint64_t bits = pto_dtype_bits(dtype);
  for (uint32_t i = 0; i < ndims; i++) bits *= shape[i];
  return pto_managed_tensor(rt, pto_create_buffer(rt, (bits + 7) / 8), dtype, ndims, shape);
}
static inline struct pto_tensor temporary_vector(struct pto_runtime *rt, uint32_t dtype, uint64_t numel) {
  return temporary(rt, dtype, 1, &numel);
}
static inline struct pto_tensor temporary_matrix(struct pto_runtime *rt, uint32_t dtype, uint64_t rows,
                                                 uint64_t columns) {
  return temporary(rt, dtype, 2, (uint64_t[]){rows, columns});
}

/* Indices first … first + count − 1 of the outermost dimension. */
static inline struct pto_tensor rows_of(const struct pto_tensor *t, uint64_t first, uint64_t count) {
  return pto_tensor_slice(t, 0, first, first + count, 1);
}
/* Index `index` of the outermost dimension, without that dimension. */
static inline struct pto_tensor part_of(const struct pto_tensor *t, uint64_t index) {
  const struct pto_tensor row = rows_of(t, index, 1);
  return pto_tensor_reshape(&row, t->ndims - 1, t->shape + 1);
}

/* ---- the program ---- */

/* The symbol that a program exports, of the lists and functions that have these names; the members behind are named. */
#define PROGRAM(name_, summary_, ...)                                                                                  \
  const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,                                                      \
                                          .name = name_,                                                               \
                                          .summary = summary_,                                                         \
                                          .options = options,                                                          \
                                          .cases = cases,                                                              \
                                          .prepare = prepare,                                                          \
                                          .orchestrate = orchestrate,                                                  \
                                          .expect = expect,                                                            \
                                          __VA_ARGS__}

/* A program that is there to fail with `status`; the members behind are named. */
#define ERROR_PROGRAM(name_, summary_, status, ...)                                                                    \
  const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,                                                      \
                                          .name = name_,                                                               \
                                          .summary = summary_,                                                         \
                                          .expected_status = status,                                                   \
                                          .orchestrate = orchestrate,                                                  \
                                          __VA_ARGS__}

#endif
