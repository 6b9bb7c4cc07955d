/* SPDX-License-Identifier: MIT */
/*
 * Element types by the existing runtime's numbers.  One list; an FP4E2M1 of its is a byte of two of ours.
 */
#include <compat/adapter/compat.h>

#include <string.h>

static const struct {
  const char *name;
  uint32_t dtype;
} dtypes[] = {{"FLOAT32", PTO_FLOAT32},
              {"FLOAT16", PTO_FLOAT16},
              {"INT32", PTO_INT32},
              {"INT16", PTO_INT16},
              {"INT8", PTO_INT8},
              {"UINT8", PTO_UINT8},
              {"BFLOAT16", PTO_BFLOAT16},
              {"INT64", PTO_INT64},
              {"UINT64", PTO_UINT64},
              {"UINT16", PTO_UINT16},
              {"UINT32", PTO_UINT32},
              {"BOOL", PTO_BOOL},
              {"FP8E4M3FN", PTO_FLOAT8_E4M3FN},
              {"FP8E8M0", PTO_FLOAT8_E8M0FNU},
              {"FP4E2M1", PTO_UINT8}};
#define DTYPE_COUNT (sizeof dtypes / sizeof dtypes[0])

int pto_compat_dtype(uint32_t code) { return code < DTYPE_COUNT ? (int)dtypes[code].dtype : -1; }

int pto_compat_dtype_code(uint32_t dtype) {
  for (size_t i = 0; i < DTYPE_COUNT; i++)
    if (dtypes[i].dtype == dtype) return (int)i;
  return -1;
}

int pto_compat_dtype_find(const char *name) {
  for (size_t i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, name) == 0) return (int)i;
  return -1;
}
