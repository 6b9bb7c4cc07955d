/* SPDX-License-Identifier: MIT */
#include <check/validate/rows.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/grow.h>

#define MOST_FIELDS 64u
#define MOST_ROWS 100000u

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
  uint32_t line;
  char *fields[MOST_FIELDS]; /* of the line, in its own memory */
  size_t field_count;
  size_t places[COLUMN_COUNT]; /* of each column, its field */
  size_t width;                /* fields of the first line */
  struct pto_error *error;
};

#define REFUSE(reader, format, ...)                                                                                    \
  pto_error_set((reader)->error, PTO_EINVAL, "%s:%u: " format, (reader)->path, (reader)->line, __VA_ARGS__)

/* ---- one line ---- */

/* Takes a field that begins with a quotation mark, in place; where it ends, or NULL where it does not. */
static char *unquote(char *field) {
  char *to = field;
  for (char *from = field + 1; *from; from++) {
    if (from[0] == '"' && from[1] != '"') {
      *to = '\0';
      return from + 1;
    }
    *to++ = *from;
    from += *from == '"'; /* two stand for one */
  }
  return NULL;
}

static int split(struct reader *reader, char *line) {
  line[strcspn(line, "\r\n")] = '\0';
  reader->field_count = 0;
  for (char *rest = line; rest;) {
    if (reader->field_count == MOST_FIELDS) return REFUSE(reader, "at most %u fields were expected", MOST_FIELDS);
    char *field = rest, *end = *field == '"' ? unquote(field) : field + strcspn(field, ",");
    if (!end) return REFUSE(reader, "a quotation mark at the end of field %zu was expected", reader->field_count + 1);
    if (*end && *end != ',') return REFUSE(reader, "a comma behind field %zu was expected", reader->field_count + 1);
    rest = *end ? end + 1 : NULL;
    *end = '\0';
    reader->fields[reader->field_count++] = field;
  }
  return PTO_OK;
}

static int take_header(struct reader *reader) {
  reader->width = reader->field_count;
  for (size_t column = 0; column < COLUMN_COUNT; column++) {
    size_t place = 0, more = 0;
    while (place < reader->field_count && strcmp(reader->fields[place], column_names[column]) != 0) place++;
    if (place == reader->field_count) return REFUSE(reader, "a column \"%s\" was expected", column_names[column]);
    for (size_t i = place + 1; i < reader->field_count; i++)
      more += strcmp(reader->fields[i], column_names[column]) == 0;
    if (more) return REFUSE(reader, "one column \"%s\" was expected, not %zu", column_names[column], more + 1);
    reader->places[column] = place;
  }
  return PTO_OK;
}

static const char *field_of(const struct reader *reader, enum column column) {
  return reader->fields[reader->places[column]];
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
  char **const texts[] = {
#define X(id) &row->id,
      PTO_ROW_TEXT_LIST(X)
#undef X
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++)
    if (!(*texts[i] = strdup(field_of(reader, (enum column)i)))) return PTO_ENOMEM;
  if (!*row->row) return REFUSE(reader, "%s: a name was expected", "row");
  return PTO_OK;
}

static int take_row(struct reader *reader, struct pto_rows *rows) {
  bool has_value;
  if (reader->field_count != reader->width)
    return REFUSE(reader, "%zu fields were expected, as in the first line, not %zu", reader->width,
                  reader->field_count);
  if (rows->count == MOST_ROWS) return REFUSE(reader, "at most %u rows were expected", MOST_ROWS);
  struct pto_row *row = pto_grow(&rows->rows, &rows->count, &rows->capacity, sizeof *row);
  if (!row) return PTO_ENOMEM;
  row->line = reader->line;
  int status = take_texts(reader, row);
  if (status == PTO_OK) status = take_metric(reader, row);
  if (status == PTO_OK) status = take_count(reader, COLUMN_tasks_submitted, &row->has_tasks, &row->tasks);
  if (status == PTO_OK) status = take_count(reader, COLUMN_aicore_tasks, &row->has_kernel_tasks, &row->kernel_tasks);
  if (status == PTO_OK) status = take_count(reader, COLUMN_wait_edges, &row->has_edges, &row->edges);
  if (status == PTO_OK) status = take_number(reader, COLUMN_value_us, &has_value, &row->value_us);
  if (status == PTO_OK) status = take_number(reader, COLUMN_spread_percent, &row->has_spread, &row->spread_percent);
  if (status) return status;
  if (row->metric == PTO_ROW_edges && !row->has_edges)
    return REFUSE(reader, "%s: a whole number was expected, as the metric is edges", "wait_edges");
  if (row->metric != PTO_ROW_edges && row->value_us <= 0)
    return REFUSE(reader, "%s: a number above 0 was expected", "value_us");
  return PTO_OK;
}

/* ---- the file ---- */

/* The rows that others are changes of, once all are there. */
static int find_bases(struct reader *reader, struct pto_rows *rows) {
  for (size_t i = 0; i < rows->count; i++) {
    struct pto_row *row = &rows->rows[i];
    reader->line = row->line;
    for (size_t k = 0; *row->base && k < rows->count && !row->base_row; k++)
      if (k != i && rows->rows[k].metric == row->metric && strcmp(rows->rows[k].row, row->base) == 0)
        row->base_row = &rows->rows[k];
    if (*row->base && !row->base_row)
      return REFUSE(reader, "base: the name of another row of metric %s was expected, not \"%.64s\"",
                    metric_names[row->metric], row->base);
  }
  return PTO_OK;
}

static int read_lines(struct reader *reader, FILE *file, struct pto_rows *rows) {
  char *line = NULL;
  size_t size = 0;
  int status = PTO_OK;
  errno = 0;
  while (status == PTO_OK && getline(&line, &size, file) >= 0) {
    reader->line++;
    if (line[strspn(line, " \t\r\n")] == '\0') continue;
    status = split(reader, line);
    if (status == PTO_OK) status = reader->width ? take_row(reader, rows) : take_header(reader);
  }
  free(line);
  if (status == PTO_OK && ferror(file))
    return pto_error_set(reader->error, PTO_ESYSTEM, "%s: %s", reader->path, strerror(errno));
  reader->line += reader->line == 0;
  if (status == PTO_OK && !reader->width)
    return REFUSE(reader, "a line with the names of %d columns was expected", COLUMN_COUNT);
  if (status == PTO_OK && !rows->count)
    return REFUSE(reader, "a row behind the names of the %zu columns was expected", reader->width);
  return status ? status : find_bases(reader, rows);
}

int pto_rows_read(const char *path, struct pto_rows *rows, struct pto_error *error) {
  struct reader reader = {.path = path, .error = error};
  memset(rows, 0, sizeof *rows);
  FILE *file = fopen(path, "re");
  if (!file) return pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno));
  const int status = read_lines(&reader, file, rows);
  fclose(file);
  if (status == PTO_ENOMEM) pto_error_set(error, status, "%s: no memory for its rows", path);
  if (status) pto_rows_fini(rows);
  return status;
}

void pto_rows_fini(struct pto_rows *rows) {
  for (size_t i = 0; i < rows->count; i++) {
#define X(id) free(rows->rows[i].id);
    PTO_ROW_TEXT_LIST(X)
#undef X
  }
  free(rows->rows);
  memset(rows, 0, sizeof *rows);
}
