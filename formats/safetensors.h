/* SPDX-License-Identifier: MIT */
/*
 * safetensors files: named dense arrays, read in place and written.
 *
 * Owns the mapping of the file (pto_safetensors_init), its header and the list of tensors until fini; names and data
 * point into those.
 *
 * Format (huggingface/safetensors, README "Format"): the header's length as 8 bytes, little-endian; the header, a JSON
 * object of name → {"dtype", "shape", "data_offsets": [begin, end]}, with strings in "__metadata__"; the data,
 * row-major, little-endian.
 *
 * Always true after a successful read: tensors stand in byte order of their names, which differ; the data of all of
 * them fill the rest of the file without a hole and without an overlap; size_bytes is what dtype and shape ask for,
 * where the dtype is one of PTO_SAFETENSORS_DTYPES.  Another dtype is kept by its name, and an error only for who asks
 * for it (pto_safetensors_get).  Files are untrusted: a refusal says what was found.
 *
 * Data need not be aligned to their elements: old writers do not pad the header.  I4 and U4 are names of our own, two
 * elements a byte, the first in the low bits.
 *
 * Threads: any, each with its own arguments; what was read may be shared.  To add a dtype: a line in the list.
 */
#ifndef PTO_SAFETENSORS_H
#define PTO_SAFETENSORS_H

#include <jansson.h>

#include <formats/mapped_file.h>
#include <pto/tensor.h>

/* Larger headers are refused.  A tensor takes about 100 bytes of header; JSON about 100 times its length of memory. */
#define PTO_SAFETENSORS_MAX_HEADER_BYTES (UINT64_C(8) << 20)

#define PTO_SAFETENSORS_NO_DTYPE (-1)

/* X(name in the file, bits of an element, enum pto_dtype or PTO_SAFETENSORS_NO_DTYPE) */
#define PTO_SAFETENSORS_DTYPES(X)                                                                                      \
  X("F32", 32, PTO_FLOAT32)                                                                                            \
  X("F16", 16, PTO_FLOAT16)                                                                                            \
  X("BF16", 16, PTO_BFLOAT16)                                                                                          \
  X("I64", 64, PTO_INT64)                                                                                              \
  X("I32", 32, PTO_INT32)                                                                                              \
  X("I16", 16, PTO_INT16)                                                                                              \
  X("I8", 8, PTO_INT8)                                                                                                 \
  X("I4", 4, PTO_INT4)                                                                                                 \
  X("F8_E4M3", 8, PTO_FLOAT8_E4M3FN)                                                                                   \
  X("F8_E5M2", 8, PTO_FLOAT8_E5M2)                                                                                     \
  X("F8_E8M0", 8, PTO_FLOAT8_E8M0FNU)                                                                                  \
  X("F4", 4, PTO_FLOAT4_E2M1FN)                                                                                        \
  X("U64", 64, PTO_UINT64)                                                                                             \
  X("U32", 32, PTO_UINT32)                                                                                             \
  X("U16", 16, PTO_UINT16)                                                                                             \
  X("U8", 8, PTO_UINT8)                                                                                                \
  X("U4", 4, PTO_UINT4)                                                                                                \
  X("BOOL", 8, PTO_BOOL)                                                                                               \
  X("F64", 64, PTO_SAFETENSORS_NO_DTYPE)                                                                               \
  X("C64", 64, PTO_SAFETENSORS_NO_DTYPE)

struct pto_safetensors_tensor {
  const char *name;
  const char *dtype_name; /* as the file has it */
  int dtype;              /* enum pto_dtype, or PTO_SAFETENSORS_NO_DTYPE */
  uint32_t ndims;
  uint64_t shape[PTO_MAX_DIMS];
  const void *data;
  uint64_t size_bytes;
};

struct pto_safetensors {
  struct pto_safetensors_tensor *tensors;
  uint64_t tensor_count;
  json_t *header;
  struct pto_mapped_file file; /* zeroed where the bytes are the caller's */
};

/* Reads the file at `path`.  PTO_OK; PTO_ESYSTEM where it cannot be read, PTO_EINVAL where it is no such file, cut or
 * inconsistent, PTO_ENOMEM; with path and reason in `error`.  Nothing is left behind then. */
PTO_MUST_CHECK int pto_safetensors_init(struct pto_safetensors *tensors, const char *path, struct pto_error *error);
/* The same of bytes that the caller keeps until fini; sentences begin with `name`. */
PTO_MUST_CHECK int pto_safetensors_init_memory(struct pto_safetensors *tensors, const char *name, const void *bytes,
                                               uint64_t size_bytes, struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_safetensors_fini(struct pto_safetensors *tensors);

/* Whether the bytes begin like such a file: a length that could be a header's, and a brace. */
bool pto_safetensors_is_one(const void *bytes, uint64_t size_bytes);

/* The tensor called `name`; NULL where there is none. */
const struct pto_safetensors_tensor *pto_safetensors_find(const struct pto_safetensors *tensors, const char *name);
/* The same for who needs it: NULL with the sentence (PTO_EINVAL) also where its dtype is none of ours. */
const struct pto_safetensors_tensor *pto_safetensors_get(const struct pto_safetensors *tensors, const char *name,
                                                         struct pto_error *error);

/* The file's name of an enum pto_dtype; NULL where there is none.  A static string. */
const char *pto_safetensors_dtype_name(int dtype);

/* Writes the tensors (name, dtype, ndims, shape and data are read; size_bytes follows from them) to `path`: the widest
 * elements first, so that all data are aligned.  PTO_OK; PTO_EINVAL for a name that is used twice, is "__metadata__" or
 * no UTF-8, or for no dtype of ours; PTO_ESYSTEM, PTO_ENOMEM; with path and reason in `error`.  A file that could not
 * be written to its end is removed. */
PTO_MUST_CHECK int pto_safetensors_write(const char *path, const struct pto_safetensors_tensor *tensors, uint64_t count,
                                         struct pto_error *error);

#endif
