/* SPDX-License-Identifier: MIT */
#include <check/calibrate/measurements.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>

static int read_file(const char *folder, const char *name, struct pto_csv *csv, bool *is_there,
                     struct pto_error *error) {
  char path[4096];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
    return pto_error_set(error, PTO_EINVAL, "%s: the name is too long", folder);
  *is_there = access(path, F_OK) == 0;
  return *is_there ? pto_csv_read(path, csv, error) : PTO_OK;
}

int pto_measurements_read(const char *folder, struct pto_measurements *m, struct pto_error *error) {
  bool has_micro = false, has_rows = false;
  *m = (struct pto_measurements){0};
  int status = read_file(folder, "micro.csv", &m->micro, &has_micro, error);
  if (!status) status = read_file(folder, "rows.csv", &m->rows, &has_rows, error);
  if (!status && !has_micro && !has_rows)
    status = pto_error_set(error, PTO_ESYSTEM, "%s: has neither micro.csv nor rows.csv", folder);
  return status;
}

void pto_measurements_fini(struct pto_measurements *m) {
  pto_csv_fini(&m->micro);
  pto_csv_fini(&m->rows);
}

/* ---- micro.csv ---- */

static double scale_of(const char *unit) {
  static const struct {
    const char *unit;
    double scale;
  } units[] = {{"ns", 1e3},      {"us", 1e6}, {"TB/s", 1e6}, {"GB/s", 1e3}, {"GiB/s", 1073.741824},
               {"MiB", 1048576}, {"GHz", 1e6}};
  const size_t length = strcspn(unit, " ");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(units); i++)
    if (strlen(units[i].unit) == length && memcmp(units[i].unit, unit, length) == 0) return units[i].scale;
  return 1;
}

/* "85 000": digits in groups of three. */
static bool read_number(const char *text, double *number, const char **end) {
  char digits[32];
  size_t length = 0;
  while (length + 1 < sizeof digits) {
    const bool is_gap = *text == ' ' && length && strspn(text + 1, "0123456789") == 3;
    if (is_gap) text++;
    if (!strchr("0123456789.", *text) || !*text) break;
    digits[length++] = *text++;
  }
  digits[length] = '\0';
  *number = strtod(digits, NULL);
  *end = text;
  return length > 0;
}

bool pto_note_number(const char *note, const char *pattern, double *number) {
  const char *const hash = strchr(pattern, '#'), *const behind = hash + 1;
  const size_t front = (size_t)(hash - pattern);
  for (const char *at = note; *at; at++) {
    const char *end;
    double other;
    if (strncmp(at, pattern, front) != 0 || !read_number(at + front, number, &end)) continue;
    if (strncmp(end, behind, strlen(behind)) != 0) continue;
    if (strncmp(end, " to ", 4) == 0 && read_number(end + 4, &other, &end)) *number = (*number + other) / 2;
    return true;
  }
  return false;
}

static bool read_cell(const struct pto_csv *csv, size_t row, const char *column, double *number) {
  const char *const cell = pto_csv_cell(csv, row, pto_csv_column(csv, column));
  char *end;
  *number = strtod(cell, &end);
  return end != cell && *end == '\0';
}

const char *pto_measured_source(const struct pto_csv *csv, size_t row) {
  const uint32_t column = pto_csv_column(csv, "source");
  while (row > 0 && strcmp(pto_csv_cell(csv, row, column), "same") == 0) row--;
  return pto_csv_cell(csv, row, column);
}

static bool read_take(const struct pto_csv *csv, size_t row, enum pto_micro_take take, const char *pattern,
                      double *number) {
  double high;
  switch (take) {
  case PTO_MICRO_VALUE:
    return read_cell(csv, row, "value", number);
  case PTO_MICRO_LOW:
    return read_cell(csv, row, "low", number);
  case PTO_MICRO_HIGH:
    return read_cell(csv, row, "high", number);
  case PTO_MICRO_MEAN:
    if (!read_cell(csv, row, "low", number) || !read_cell(csv, row, "high", &high)) return false;
    *number = (*number + high) / 2;
    return true;
  case PTO_MICRO_NOTE:
    return pto_note_number(pto_csv_cell(csv, row, pto_csv_column(csv, "note")), pattern, number);
  }
  return false;
}

bool pto_micro_find(const struct pto_measurements *m, const char *key, enum pto_micro_take take, const char *pattern,
                    double *number, const char **source) {
  const struct pto_csv *csv = &m->micro;
  for (size_t row = 0; row < csv->row_count; row++) {
    if (strcmp(pto_csv_cell(csv, row, pto_csv_column(csv, "key")), key) != 0) continue;
    if (!read_take(csv, row, take, pattern, number)) return false;
    *number *= scale_of(pto_csv_cell(csv, row, pto_csv_column(csv, "unit")));
    *source = pto_measured_source(csv, row);
    return true;
  }
  return false;
}

/* ---- rows.csv ---- */

bool pto_measured_row_at(const struct pto_measurements *m, size_t index, struct pto_measured_row *row) {
  const struct pto_csv *csv = &m->rows;
  if (index >= csv->row_count) return false;
#define CELL(name) pto_csv_cell(csv, index, pto_csv_column(csv, name))
  *row = (struct pto_measured_row){.row = CELL("row"),
                                   .metric = CELL("metric"),
                                   .era = CELL("era"),
                                   .set = CELL("set"),
                                   .date = CELL("date"),
                                   .source = pto_measured_source(csv, index)};
#undef CELL
  if (!read_cell(csv, index, "value_us", &row->value_us)) row->value_us = 0;
  return true;
}
