/* SPDX-License-Identifier: MIT */
#include <check/validate/rows.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/closest.h>

/* Columns in the order of the enum: texts first. */
enum column {
#define X(id) COLUMN_##id,
  PTO_ROW_TEXT_LIST(X)
#undef X
      COLUMN_tasks_submitted,
  COLUMN_aicore_tasks,
  COLUMN_wait_edges,
  COLUMN_metric,
  COLUMN_value_us,
  COLUMN_spread_percent,
  COLUMN_COUNT
};
static const char *const column_names[COLUMN_COUNT] = {
#define X(id) #id,
    PTO_ROW_TEXT_LIST(X)
#undef X
        "tasks_submitted",
    "aicore_tasks",
    "wait_edges",
    "metric",
    "value_us",
    "spread_percent"};

static const char *const metric_names[PTO_ROW_METRIC_COUNT] = {
#define X(id) #id,
    PTO_ROW_METRIC_LIST(X)
#undef X
};
const char *pto_row_metric_name(enum pto_row_metric metric) { return metric_names[metric]; }

struct reader {
  const char *path;
  const struct pto_csv *csv;
  size_t row;                     /* that is read */
  uint32_t columns[COLUMN_COUNT]; /* of the file */
  struct pto_error *error;
};

static int PTO_PRINTF(3, 4) refuse(const struct reader *reader, uint32_t line, const char *format, ...) {
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return pto_error_set(reader->error, PTO_EINVAL, "%s:%u: %s", reader->path, line, what);
}
#define REFUSE(reader, ...) refuse(reader, (reader)->csv->lines[(reader)->row + 1], __VA_ARGS__)

/* All others may be empty in every row, and may be missing. */
static bool is_needed(size_t column) {
  return column == COLUMN_row || column == COLUMN_metric || column == COLUMN_value_us;
}

/* A name that is no column's is one's own; one that is nearly that of a column that is missing is a mistake. */
static int check_names(const struct reader *reader) {
  const struct pto_csv *csv = reader->csv;
  for (uint32_t i = 0; i < csv->column_count; i++) {
    char question[PTO_CLOSEST_TEXT];
    struct pto_closest closest;
    bool is_column = false;
    pto_closest_begin(&closest, csv->cells[i]);
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
      is_column |= strcmp(csv->cells[i], column_names[column]) == 0;
      if (reader->columns[column] == UINT32_MAX) pto_closest_consider(&closest, column_names[column]);
    }
    if (!is_column && *pto_closest_question(&closest, question))
      return refuse(reader, csv->lines[0], "there is no column \"%.64s\"%s", csv->cells[i], question);
  }
  return PTO_OK;
}

static int find_columns(struct reader *reader) {
  const struct pto_csv *csv = reader->csv;
  for (size_t column = 0; column < COLUMN_COUNT; column++) {
    const char *const name = column_names[column];
    uint32_t count = 0;
    reader->columns[column] = pto_csv_column(csv, name);
    for (uint32_t i = 0; i < csv->column_count; i++) count += strcmp(csv->cells[i], name) == 0;
    if (count > 1) return refuse(reader, csv->lines[0], "the column \"%s\" is there %u times", name, count);
  }
  const int status = check_names(reader);
  if (status) return status;
  for (size_t column = 0; column < COLUMN_COUNT; column++)
    if (is_needed(column) && reader->columns[column] == UINT32_MAX)
      return refuse(reader, csv->lines[0], "there is no column \"%s\"", column_names[column]);
  return PTO_OK;
}

static const char *field_of(const struct reader *reader, enum column column) {
  return pto_csv_cell(reader->csv, reader->row, reader->columns[column]);
}

static int take_count(const struct reader *reader, enum column column, bool *has, uint64_t *value) {
  const char *text = field_of(reader, column);
  char *end;
  *has = *text != '\0';
  if (!*has) return PTO_OK;
  errno = 0;
  *value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno)
    return REFUSE(reader, "%s: a whole number was expected, not \"%.64s\"", column_names[column], text);
  return PTO_OK;
}

static int take_number(const struct reader *reader, enum column column, bool *has, double *value) {
  const char *text = field_of(reader, column);
  char *end;
  *has = *text != '\0';
  if (!*has) return PTO_OK;
  *value = strtod(text, &end);
  if (end == text || *end || !isfinite(*value) || *value < 0)
    return REFUSE(reader, "%s: a number of at least 0 was expected, not \"%.64s\"", column_names[column], text);
  return PTO_OK;
}

static int take_metric(const struct reader *reader, struct pto_row *row) {
  const char *text = field_of(reader, COLUMN_metric);
  for (size_t i = 0; i < PTO_ROW_METRIC_COUNT; i++) {
    if (strcmp(text, metric_names[i]) != 0) continue;
    row->metric = (enum pto_row_metric)i;
    return PTO_OK;
  }
  return REFUSE(reader, "metric: makespan, orchestrator or edges was expected, not \"%.64s\"", text);
}

static int take_texts(const struct reader *reader, struct pto_row *row) {
#define X(id) row->id = field_of(reader, COLUMN_##id);
  PTO_ROW_TEXT_LIST(X)
#undef X
  return *row->row ? PTO_OK : REFUSE(reader, "row: a name was expected");
}

static int take_row(const struct reader *reader, struct pto_row *row) {
  bool has_value;
  row->line = reader->csv->lines[reader->row + 1];
  int status = take_texts(reader, row);
  if (status == PTO_OK) status = take_metric(reader, row);
  if (status == PTO_OK) status = take_count(reader, COLUMN_tasks_submitted, &row->has_tasks, &row->tasks);
  if (status == PTO_OK) status = take_count(reader, COLUMN_aicore_tasks, &row->has_kernel_tasks, &row->kernel_tasks);
  if (status == PTO_OK) status = take_count(reader, COLUMN_wait_edges, &row->has_edges, &row->edges);
  if (status == PTO_OK) status = take_number(reader, COLUMN_value_us, &has_value, &row->value_us);
  if (status == PTO_OK) status = take_number(reader, COLUMN_spread_percent, &row->has_spread, &row->spread_percent);
  if (status) return status;
  if (row->metric == PTO_ROW_edges && !row->has_edges)
    return REFUSE(reader, "wait_edges: a whole number was expected, as the metric is edges");
  if (row->metric != PTO_ROW_edges && row->value_us <= 0)
    return REFUSE(reader, "value_us: a number above 0 was expected");
  return PTO_OK;
}

/* ---- all of them ---- */

/* The rows that others are changes of, once all are there. */
static int find_bases(struct reader *reader, struct pto_rows *rows) {
  for (reader->row = 0; reader->row < rows->count; reader->row++) {
    struct pto_row *row = &rows->rows[reader->row];
    for (size_t k = 0; *row->base && k < rows->count && !row->base_row; k++)
      if (k != reader->row && rows->rows[k].metric == row->metric && strcmp(rows->rows[k].row, row->base) == 0)
        row->base_row = &rows->rows[k];
    if (*row->base && !row->base_row)
      return REFUSE(reader, "base: the name of another row of metric %s was expected, not \"%.64s\"",
                    metric_names[row->metric], row->base);
  }
  return PTO_OK;
}

static int take_rows(struct reader *reader, struct pto_rows *rows) {
  const struct pto_csv *csv = reader->csv;
  int status = find_columns(reader);
  if (status) return status;
  if (csv->row_count == 0) return refuse(reader, csv->lines[0], "a row behind the names of the columns was expected");
  rows->rows = calloc(csv->row_count, sizeof *rows->rows);
  if (!rows->rows) return pto_error_set(reader->error, PTO_ENOMEM, "%s: no memory for its rows", reader->path);
  for (rows->count = csv->row_count; reader->row < rows->count && !status; reader->row++)
    status = take_row(reader, &rows->rows[reader->row]);
  return status ? status : find_bases(reader, rows);
}

int pto_rows_read(const char *path, struct pto_rows *rows, struct pto_error *error) {
  struct reader reader = {.path = path, .csv = &rows->csv, .error = error};
  *rows = (struct pto_rows){0};
  int status = pto_csv_read(path, &rows->csv, error);
  if (!status) status = take_rows(&reader, rows);
  if (status) pto_rows_fini(rows);
  return status;
}

void pto_rows_fini(struct pto_rows *rows) {
  pto_csv_fini(&rows->csv);
  free(rows->rows);
  *rows = (struct pto_rows){0};
}
