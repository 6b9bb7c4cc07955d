/* SPDX-License-Identifier: MIT */
/*
 * Text that is put together piece by piece in a caller's buffer, cut where the buffer ends; endings; and regular files,
 * whose reading comes to an end.
 *
 * Always true: the text ends with a zero byte within `size` bytes, as it must before the first call.  Any thread.
 */
#ifndef PTO_TEXT_H
#define PTO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <pto/status.h>
#include <runtime/base/error.h>

void pto_text_append(char *text, size_t size, const char *format, ...) PTO_PRINTF(3, 4);
/* "2, 3, 4" with the separator ", ". */
void pto_text_append_numbers(char *text, size_t size, const char *separator, const uint64_t *values, uint32_t count);
/* The bytes of a little-endian number, its digits as people write them. */
void pto_text_append_hex(char *text, size_t size, const unsigned char *bytes, uint64_t count);

/* What tells kinds of files apart. */
bool pto_text_ends_with(const char *text, const char *ending);

/* ---- regular files ---- */

/* Whether the path names one.  PTO_OK, or with "PATH: reason" PTO_ESYSTEM where it names nothing or a folder,
 * PTO_EINVAL where it names something else.  For what others open, and would wait at a FIFO for ever. */
PTO_MUST_CHECK int pto_regular_file_check(const char *path, struct pto_error *error);
/* For reading; the caller closes the stream.  NULL with the same errors, or PTO_ENOMEM; the reason of
 * PTO_ESYSTEM is in errno too. */
FILE *pto_regular_file_open(const char *path, struct pto_error *error);

#define PTO_TEXT_FILE_BYTES (UINT64_C(1) << 30) /* of a file of text, that are read at most */

/* The same, of a size that a text may have. */
FILE *pto_text_file_open(const char *path, struct pto_error *error);

#endif
