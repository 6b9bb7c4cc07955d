/* SPDX-License-Identifier: MIT */
#include <formats/csv.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>

struct reader {
  struct pto_csv *csv;
  const char *path;
  struct pto_error *error;
  char *at;
  size_t line, cell_count, capacity, line_capacity;
};

static int add_cell(struct reader *r, char *cell) {
  struct pto_csv *csv = r->csv;
  if (r->cell_count == r->capacity) {
    const size_t capacity = r->capacity ? 2 * r->capacity : 256;
    char **cells = realloc(csv->cells, capacity * sizeof *cells);
    if (!cells) return pto_error_set(r->error, PTO_ENOMEM, "%s: no memory for its cells", r->path);
    csv->cells = cells;
    r->capacity = capacity;
  }
  csv->cells[r->cell_count++] = cell;
  return PTO_OK;
}

/* Remembers where a row stands, or the column names. */
static int add_line(struct reader *r, size_t index) {
  struct pto_csv *csv = r->csv;
  if (index == r->line_capacity) {
    const size_t capacity = index ? 2 * index : 64;
    uint32_t *lines = realloc(csv->lines, capacity * sizeof *lines);
    if (!lines) return pto_error_set(r->error, PTO_ENOMEM, "%s: no memory for its rows", r->path);
    csv->lines = lines;
    r->line_capacity = capacity;
  }
  csv->lines[index] = (uint32_t)r->line;
  return PTO_OK;
}

/* Moves a quoted cell to its begin, without the quotes; stops behind the last one. */
static int read_quoted(struct reader *r) {
  char *to = r->at, *from = r->at + 1;
  while (*from != '"' || from[1] == '"') {
    if (*from == '\0' || *from == '\n')
      return pto_error_set(r->error, PTO_EINVAL, "%s:%zu: a quoted cell has no end", r->path, r->line);
    from += *from == '"';
    *to++ = *from++;
  }
  from++;
  *to = '\0';
  r->at = from;
  return PTO_OK;
}

/* One cell; its end becomes a NUL, and `is_last` tells whether the line ends with it. */
static int read_cell(struct reader *r, bool *is_last) {
  char *const cell = r->at;
  if (*cell == '"') {
    const int status = read_quoted(r);
    if (status) return status;
    if (!strchr(",\r\n", *r->at))
      return pto_error_set(r->error, PTO_EINVAL, "%s:%zu: more behind a quoted cell", r->path, r->line);
  } else {
    r->at += strcspn(r->at, ",\r\n");
  }
  *is_last = *r->at != ',';
  if (*r->at == '\r') *r->at++ = '\0';
  if (*r->at) *r->at++ = '\0';
  return add_cell(r, cell);
}

static int read_line(struct reader *r) {
  struct pto_csv *csv = r->csv;
  const size_t first = r->cell_count;
  bool is_last = false;
  int status = PTO_OK;
  r->line++;
  while (!is_last && !status) status = read_cell(r, &is_last);
  if (status) return status;
  const size_t count = r->cell_count - first;
  if (count > PTO_CSV_MAX_COLUMNS)
    return pto_error_set(r->error, PTO_EINVAL, "%s:%zu: %zu columns, and at most %u can be", r->path, r->line, count,
                         PTO_CSV_MAX_COLUMNS);
  if (csv->column_count == 0) {
    csv->column_count = (uint32_t)count;
    return add_line(r, 0);
  }
  if (count != csv->column_count)
    return pto_error_set(r->error, PTO_EINVAL, "%s:%zu: %zu columns, and %u were expected", r->path, r->line, count,
                         csv->column_count);
  return add_line(r, ++csv->row_count);
}

int pto_csv_read(const char *path, struct pto_csv *csv, struct pto_error *error) {
  struct reader reader = {.csv = csv, .path = path, .error = error};
  struct pto_mapped_file file;
  *csv = (struct pto_csv){0};
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  csv->text = strndup(file.size_bytes ? (const char *)file.data : "", file.size_bytes);
  pto_mapped_file_fini(&file);
  if (!csv->text) return pto_error_set(error, PTO_ENOMEM, "%s: no memory to read it", path);
  for (reader.at = csv->text; *reader.at && !status;) {
    if (*reader.at == '\n' || (*reader.at == '\r' && reader.at[1] == '\n')) { /* an empty line */
      reader.at += 1 + (*reader.at == '\r');
      reader.line++;
      continue;
    }
    status = read_line(&reader);
  }
  if (!status && csv->column_count == 0)
    status = pto_error_set(error, PTO_EINVAL, "%s:1: has no line of column names", path);
  return status;
}

void pto_csv_fini(struct pto_csv *csv) {
  free(csv->text);
  free(csv->cells);
  free(csv->lines);
  *csv = (struct pto_csv){0};
}

uint32_t pto_csv_column(const struct pto_csv *csv, const char *name) {
  for (uint32_t i = 0; i < csv->column_count; i++)
    if (strcmp(csv->cells[i], name) == 0) return i;
  return UINT32_MAX;
}

const char *pto_csv_cell(const struct pto_csv *csv, size_t row, uint32_t column) {
  return column < csv->column_count ? csv->cells[(row + 1) * csv->column_count + column] : "";
}
