/* SPDX-License-Identifier: MIT */
/*
 * Figures that were measured on hardware: a folder with micro.csv (single latencies and rates) and rows.csv (whole
 * runs), either of which may be missing.
 *
 * micro.csv has the columns key, value, low, high, unit, note, source; "same" as a source is that of the line before.
 * rows.csv has row, metric, value_us, era, set, date, source among others.
 *
 * Owns all texts until fini.  Files are untrusted.  One thread.
 */
#ifndef PTO_CHECK_CALIBRATE_MEASUREMENTS_H
#define PTO_CHECK_CALIBRATE_MEASUREMENTS_H

#include <stdbool.h>

#include <formats/csv.h>

struct pto_measurements {
  struct pto_csv micro, rows;
};

/* PTO_OK; PTO_EINVAL, PTO_ESYSTEM, PTO_ENOMEM with a sentence; neither file is PTO_ESYSTEM too.  fini is due in any
 * case. */
PTO_MUST_CHECK int pto_measurements_read(const char *folder, struct pto_measurements *m, struct pto_error *error);
void pto_measurements_fini(struct pto_measurements *m);

/* Which number of a line is meant. */
enum pto_micro_take {
  PTO_MICRO_VALUE,
  PTO_MICRO_LOW,
  PTO_MICRO_HIGH,
  PTO_MICRO_MEAN, /* of low and high */
  PTO_MICRO_NOTE  /* in its note: pto_note_number */
};

/* A number of micro.csv in ps, 10⁶ bytes/s, kHz, bytes or as it is, by its unit; false where the file has it not.
 * `source` is borrowed. */
bool pto_micro_find(const struct pto_measurements *m, const char *key, enum pto_micro_take take, const char *pattern,
                    double *number, const char **source);

/* The number that stands for # in a text: "mean #" is the one behind "mean ", or the mean of it and one behind " to ".
 */
bool pto_note_number(const char *note, const char *pattern, double *number);
/* The source of a line, or of the first one above it that says one: "same" says none. */
const char *pto_measured_source(const struct pto_csv *csv, size_t row);

/* A row of rows.csv. */
struct pto_measured_row {
  const char *row, *metric, *era, *set, *date, *source;
  double value_us; /* 0: it has none */
};
/* False past the end. */
bool pto_measured_row_at(const struct pto_measurements *m, size_t index, struct pto_measured_row *row);

#endif
