/* SPDX-License-Identifier: MIT */
/*
 * GGUF files (versions 2 and 3, little-endian): keys with values, and named arrays, read in place.
 *
 * Owns the mapping of the file (pto_gguf_init) and the lists of keys and tensors until fini; names, strings and data
 * point into the file, and names are not followed by a zero.
 *
 * Format (ggml's): magic, version, counts; keys with typed values; names, shapes, types and offsets of the
 * tensors; padding to general.alignment; the data.
 *
 * Always true after a successful read: keys and tensors stand in byte order of their names, which differ and are
 * printable ASCII; every value lies inside the file, arrays of arrays are at most PTO_GGUF_MAX_DEPTH deep, a bool is 0
 * or 1; the data of tensors of a type in PTO_GGUF_TYPES lie inside the file, aligned to general.alignment (a power of
 * two, 8 at least), and do not overlap.  A tensor of another type is kept by its number and has no data.  Files are
 * untrusted: a refusal says what was found, and at which byte where there is no name yet.
 *
 * Shapes are row-major as everywhere here: shape[ndims − 1] is the file's first dimension, along which elements stand
 * side by side, in blocks for the types that have them.
 *
 * Threads: any, each with its own arguments; what was read may be shared.  To add a type of tensors: a line in the
 * list.
 */
#ifndef PTO_GGUF_H
#define PTO_GGUF_H

#include <stdbool.h>
#include <stddef.h>

#include <formats/mapped_file.h>

#define PTO_GGUF_MAX_KEYS (1u << 20)
#define PTO_GGUF_MAX_TENSORS (1u << 20)
#define PTO_GGUF_MAX_NAME_BYTES 65535u
#define PTO_GGUF_MAX_DIMS 4u
#define PTO_GGUF_MAX_DEPTH 4u
#define PTO_GGUF_MAX_ALIGNMENT (1u << 20)

/* X(enum constant, number in the file, name, elements of a block, bytes of a block); from ggml's ggml-common.h */
#define PTO_GGUF_TYPES(X)                                                                                              \
  X(PTO_GGUF_F32, 0, "F32", 1, 4)                                                                                      \
  X(PTO_GGUF_F16, 1, "F16", 1, 2)                                                                                      \
  X(PTO_GGUF_Q4_0, 2, "Q4_0", 32, 18)                                                                                  \
  X(PTO_GGUF_Q4_1, 3, "Q4_1", 32, 20)                                                                                  \
  X(PTO_GGUF_Q5_0, 6, "Q5_0", 32, 22)                                                                                  \
  X(PTO_GGUF_Q5_1, 7, "Q5_1", 32, 24)                                                                                  \
  X(PTO_GGUF_Q8_0, 8, "Q8_0", 32, 34)                                                                                  \
  X(PTO_GGUF_Q2_K, 10, "Q2_K", 256, 84)                                                                                \
  X(PTO_GGUF_Q3_K, 11, "Q3_K", 256, 110)                                                                               \
  X(PTO_GGUF_Q4_K, 12, "Q4_K", 256, 144)                                                                               \
  X(PTO_GGUF_Q5_K, 13, "Q5_K", 256, 176)                                                                               \
  X(PTO_GGUF_Q6_K, 14, "Q6_K", 256, 210)                                                                               \
  X(PTO_GGUF_I8, 24, "I8", 1, 1)                                                                                       \
  X(PTO_GGUF_I16, 25, "I16", 1, 2)                                                                                     \
  X(PTO_GGUF_I32, 26, "I32", 1, 4)                                                                                     \
  X(PTO_GGUF_I64, 27, "I64", 1, 8)                                                                                     \
  X(PTO_GGUF_F64, 28, "F64", 1, 8)                                                                                     \
  X(PTO_GGUF_BF16, 30, "BF16", 1, 2)

enum pto_gguf_type {
#define X(constant, number, name, elems, bytes) constant = number,
  PTO_GGUF_TYPES(X)
#undef X
};

/* X(enum constant, number in the file, name, bytes; 0 where each says its own) */
#define PTO_GGUF_VALUES(X)                                                                                             \
  X(PTO_GGUF_VALUE_U8, 0, "u8", 1)                                                                                     \
  X(PTO_GGUF_VALUE_I8, 1, "i8", 1)                                                                                     \
  X(PTO_GGUF_VALUE_U16, 2, "u16", 2)                                                                                   \
  X(PTO_GGUF_VALUE_I16, 3, "i16", 2)                                                                                   \
  X(PTO_GGUF_VALUE_U32, 4, "u32", 4)                                                                                   \
  X(PTO_GGUF_VALUE_I32, 5, "i32", 4)                                                                                   \
  X(PTO_GGUF_VALUE_F32, 6, "f32", 4)                                                                                   \
  X(PTO_GGUF_VALUE_BOOL, 7, "bool", 1)                                                                                 \
  X(PTO_GGUF_VALUE_STRING, 8, "string", 0)                                                                             \
  X(PTO_GGUF_VALUE_ARRAY, 9, "array", 0)                                                                               \
  X(PTO_GGUF_VALUE_U64, 10, "u64", 8)                                                                                  \
  X(PTO_GGUF_VALUE_I64, 11, "i64", 8)                                                                                  \
  X(PTO_GGUF_VALUE_F64, 12, "f64", 8)

enum pto_gguf_value_type {
#define X(constant, number, name, bytes) constant = number,
  PTO_GGUF_VALUES(X)
#undef X
      PTO_GGUF_VALUE_TYPE_COUNT = 13
};

/* Bytes in the file, not followed by a zero. */
struct pto_gguf_string {
  const char *bytes;
  uint64_t length;
};

/* A value in the file.  An array's data are its elements: numbers and bools side by side and of any alignment, strings
 * and arrays each behind its own lengths (pto_gguf_next_string). */
struct pto_gguf_value {
  uint32_t type;      /* enum pto_gguf_value_type */
  uint32_t elem_type; /* of an array; else as type */
  uint64_t count;     /* elements of an array; else 1 */
  const unsigned char *data;
  uint64_t size_bytes;
};

struct pto_gguf_key {
  struct pto_gguf_string name;
  struct pto_gguf_value value;
};

struct pto_gguf_tensor {
  struct pto_gguf_string name;
  uint32_t type;  /* enum pto_gguf_type, or a number that is none of them */
  uint32_t ndims; /* 0 to PTO_GGUF_MAX_DIMS */
  uint64_t shape[PTO_GGUF_MAX_DIMS];
  uint64_t offset;  /* of the data, from where data begin */
  const void *data; /* NULL where the type is none of ours */
  uint64_t size_bytes;
};

struct pto_gguf {
  uint32_t version;
  struct pto_gguf_key *keys;
  struct pto_gguf_tensor *tensors;
  uint64_t key_count, tensor_count;
  struct pto_mapped_file file; /* zeroed where the bytes are the caller's */
};

/* Reads the file at `path`.  PTO_OK; PTO_ESYSTEM where it cannot be read, PTO_EINVAL where it is no such file, cut or
 * inconsistent, PTO_ENOMEM; with path and reason in `error`.  Nothing is left behind then. */
PTO_MUST_CHECK int pto_gguf_init(struct pto_gguf *gguf, const char *path, struct pto_error *error);
/* The same of bytes, aligned to 8, that the caller keeps until fini; sentences begin with `name`. */
PTO_MUST_CHECK int pto_gguf_init_memory(struct pto_gguf *gguf, const char *name, const void *bytes, uint64_t size_bytes,
                                        struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_gguf_fini(struct pto_gguf *gguf);

/* Whether the bytes begin with the magic. */
bool pto_gguf_is_one(const void *bytes, uint64_t size_bytes);

/* ---- keys ---- */

/* The value of `key`; NULL where there is none. */
const struct pto_gguf_value *pto_gguf_find(const struct pto_gguf *gguf, const char *key);

/* The getters write *out where the key is there and of a type that fits (any integer for u64, f32 or f64 for f64),
 * leave it alone where it is not there, and answer PTO_EINVAL with the sentence where it is something else. */
PTO_MUST_CHECK int pto_gguf_u64(const struct pto_gguf *gguf, const char *key, uint64_t *out, struct pto_error *error);
PTO_MUST_CHECK int pto_gguf_f64(const struct pto_gguf *gguf, const char *key, double *out, struct pto_error *error);
PTO_MUST_CHECK int pto_gguf_bool(const struct pto_gguf *gguf, const char *key, bool *out, struct pto_error *error);
PTO_MUST_CHECK int pto_gguf_string(const struct pto_gguf *gguf, const char *key, struct pto_gguf_string *out,
                                   struct pto_error *error);
/* An array of `elem_type`. */
PTO_MUST_CHECK int pto_gguf_array(const struct pto_gguf *gguf, const char *key, uint32_t elem_type,
                                  struct pto_gguf_value *out, struct pto_error *error);
/* The string at `at` in an array of strings, and where the next one is. */
const unsigned char *pto_gguf_next_string(const unsigned char *at, struct pto_gguf_string *out);
/* For qsort and bsearch: two keys, or two tensors, in byte order of their names. */
int pto_gguf_compare_names(const void *left, const void *right);
/* Whether a string is `text`. */
bool pto_gguf_string_is(struct pto_gguf_string string, const char *text);

/* ---- tensors ---- */

/* The tensor called `name`; NULL where there is none. */
const struct pto_gguf_tensor *pto_gguf_find_tensor(const struct pto_gguf *gguf, const char *name);
/* "F16"; "type 99" in `text` for a number that is none of ours. */
const char *pto_gguf_type_name(uint32_t type, char *text, size_t size);

#endif
