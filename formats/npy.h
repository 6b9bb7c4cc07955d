/* SPDX-License-Identifier: MIT */
/*
 * NumPy's .npy files: reading and writing dense arrays of every dtype.
 *
 * Owns the data of a pto_npy that pto_npy_read filled, until pto_npy_fini.  Nothing else is kept.
 *
 * Always true after a successful read: size_bytes = numel · item_bytes, all of them were in the file, and nothing came
 * after them.  Files are untrusted: every length is checked before it is believed, and a refusal says what was found.
 *
 * Format: versions 1.0, 2.0 and 3.0 are read, 1.0 is written; C order and little-endian alone (NEP 1, and the
 * description in NumPy's numpy/lib/format.py).
 *
 * Dtypes that NumPy has no name for:
 *   bf16   is written as '<u2', the bits of each element; read from '<u2' or '<V2' where a bf16 is wanted
 *   f8e4m3fn, f8e5m2, f8e8m0fnu, f4e2m1fn: as '|u1', a code each; read from '|u1' or '|V1', which ml_dtypes writes
 *   i4, u4 are written as '|i1' and '|u1', one element a byte; read from these where every value fits
 *
 * Threads: any, each with its own arguments.  To add a dtype: npy_types of npy.c makes it of class and bits; a float is
 * asked for there.
 */
#ifndef PTO_NPY_H
#define PTO_NPY_H

#include <pto/tensor.h>
#include <runtime/base/error.h>

struct pto_npy {
  char kind;           /* of the elements in the file: 'f', 'i', 'u', 'b', 'V' */
  uint32_t item_bytes; /* of one element in the file */
  uint32_t ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t numel, size_bytes;
  void *data;
};

/* Reads the file at `path`.  PTO_OK; PTO_ESYSTEM where it cannot be read, PTO_EINVAL where it is no such file or holds
 * what we have no use for (objects, records, Fortran order, big-endian), PTO_ENOMEM; with path and reason in `error`.
 */
PTO_MUST_CHECK int pto_npy_read(const char *path, struct pto_npy *npy, struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_npy_fini(struct pto_npy *npy);

/* The preamble and header alone, out of memory: fills all but `data`, and *header_bytes, where the elements begin.
 * `size` counts the bytes that there are; PTO_EINVAL where they are too few. */
PTO_MUST_CHECK int pto_npy_parse_header(const void *bytes, size_t size, struct pto_npy *npy, size_t *header_bytes,
                                        struct pto_error *error);

/* Whether the elements are stored as those of `dtype` are. */
bool pto_npy_holds(const struct pto_npy *npy, uint32_t dtype);
/* Copies the elements as dense memory of `dtype` (numel elements; 4-bit types packed).  PTO_EINVAL where the file does
 * not hold that dtype, or a value does not fit into 4 bits. */
PTO_MUST_CHECK int pto_npy_copy(const struct pto_npy *npy, uint32_t dtype, void *dest, struct pto_error *error);
/* Element `index` as a number.  What the file stores as `dtype` is stored is taken as that dtype (bits of a bf16), all
 * else by its own kind; NAN for an opaque kind. */
double pto_npy_get(const struct pto_npy *npy, uint32_t dtype, uint64_t index);

/* Writes dense memory of `dtype` (row-major; 4-bit types packed) to `path`.  PTO_OK, PTO_EINVAL or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_npy_write(const char *path, uint32_t dtype, uint32_t ndims, const uint64_t *shape,
                                 const void *data, struct pto_error *error);

/* "<f4[3,4]" for messages.  Returns `text`. */
const char *pto_npy_format(const struct pto_npy *npy, char *text, size_t size);

#endif
