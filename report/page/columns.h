/* SPDX-License-Identifier: MIT */
/*
 * Columns of integers as the page keeps them: LEB128 numbers one behind the other, signed ones zigzag.  A block is a
 * few columns, each with its length before it, compressed by zlib and written in base64.
 *
 *   block = base64(zlib(column*))     column = length in bytes (4, little-endian), numbers
 *
 * report/page/blocks.js reads it.  A million tasks are kept in this form: small differences take a byte or less.
 *
 * Owns the bytes of its columns until fini.  The home of zlib.  One thread.
 */
#ifndef PTO_REPORT_PAGE_COLUMNS_H
#define PTO_REPORT_PAGE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pto_column {
  unsigned char *bytes;
  size_t used, capacity;
  bool has_failed; /* memory was short: what followed is not in it */
};

void pto_column_put(struct pto_column *column, uint64_t value);
void pto_column_put_signed(struct pto_column *column, int64_t value);

/* Whether this build has zlib. */
bool pto_columns_can_write(void);
/* Writes the block and frees the columns, which are then empty.  PTO_OK, PTO_ENOMEM or PTO_ENOTSUP; what goes wrong
 * with the file is kept by the stream. */
int pto_columns_write(struct pto_column *columns, uint32_t count, FILE *to);
/* Frees the columns, which are then empty. */
void pto_columns_fini(struct pto_column *columns, uint32_t count);

#endif
