/* SPDX-License-Identifier: MIT */
/*
 * Options of programs, read and checked: whole numbers with their ranges, and the dtype of floats.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_OPTIONS_H
#define PTO_ORCHESTRATION_SUPPORT_OPTIONS_H

#include <pto/pto.h>

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
#define READ_WHOLE_OPTIONS(run, list) read_whole_options(run, list, sizeof(list) / sizeof((list)[0]))

/* Option "dtype". */
static inline int read_float_dtype(struct pto_program_run *run, uint32_t *dtype_out) {
  const char *name = pto_option_text(run, "dtype");
  const int dtype = pto_dtype_from_name(name);
  if (dtype != PTO_FLOAT32 && dtype != PTO_FLOAT16 && dtype != PTO_BFLOAT16)
    return pto_program_fail(run, "dtype \"%s\" is not f32, fp16 or bf16", name);
  *dtype_out = (uint32_t)dtype;
  return PTO_OK;
}

#endif
