/* SPDX-License-Identifier: MIT */
/*
 * A table of comma-separated values: a first line of column names, then a line a row.  A cell may stand in double
 * quotes, which are doubled inside it; a line's end is no part of a cell.
 *
 * Owns all cells until fini.  Always true: each row has as many cells as there are columns.  Files are untrusted.  One
 * thread.
 */
#ifndef PTO_FORMATS_CSV_H
#define PTO_FORMATS_CSV_H

#include <stddef.h>
#include <stdint.h>

#include <runtime/base/error.h>

#define PTO_CSV_MAX_COLUMNS 64u

struct pto_csv {
  char *text;      /* all cells */
  char **cells;    /* the column names, then row by row */
  uint32_t *lines; /* of the file, from 1: that of the column names, then of each row */
  uint32_t column_count;
  size_t row_count;
};

/* PTO_OK; PTO_EINVAL, PTO_ESYSTEM, PTO_ENOMEM with the file, its line and a sentence.  Empty lines are passed over.
 * fini is due in any case. */
PTO_MUST_CHECK int pto_csv_read(const char *path, struct pto_csv *csv, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_csv_fini(struct pto_csv *csv);

/* The column of this name; UINT32_MAX: there is none. */
uint32_t pto_csv_column(const struct pto_csv *csv, const char *name);
/* The cell of a row; "" where `column` is UINT32_MAX. */
const char *pto_csv_cell(const struct pto_csv *csv, size_t row, uint32_t column);

#endif
