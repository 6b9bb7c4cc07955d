/* SPDX-License-Identifier: MIT */
/*
 * A table of one capture: task,core_tid,dispatch_us,start_us,end_us,finish_us, a line a task.
 *
 * A task is "name(r2t7)"; core_tid is 10000 + 10 · core, and the cores are those of an Atlas A2/A3 die: AIC up to 23,
 * AIV from 24 on.
 */
#include <check/capture/import.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <runtime/base/base.h>

#define COLUMNS 6u
#define FIRST_TID 10000u
#define TIDS_A_CORE 10u
#define AIC_COUNT 24u
#define CORE_COUNT 72u
#define CLOCK_HZ 50000000u

struct table {
  struct pto_import *import;
  struct pto_json_reader reader; /* for its sentences */
  const char *path;
};

/* "48.82" as nanoseconds. */
static uint64_t parse_us(struct table *table, const char *text, const char *column) {
  char *end;
  const double us = strtod(text, &end);
  if (end != text && !*end && us >= 0 && us * 1000 <= (double)PTO_CAPTURE_MAX_NS) return (uint64_t)(us * 1000 + 0.5);
  pto_json_read_refuse(&table->reader, "%s is \"%.40s\", and microseconds were expected", column, text);
  return 0;
}

static void read_cells(struct table *table, char *const cells[COLUMNS], uint64_t line) {
  static const char *const names[] = {"task", "core_tid", "dispatch_us", "start_us", "end_us", "finish_us"};
  struct pto_json_reader *reader = &table->reader;
  struct pto_import *import = table->import;
  const struct pto_capture_place place = {"line", import->file, line};
  const char *paren = strchr(cells[0], '(');
  uint64_t id = 0;
  char *end;
  if (!paren || !pto_import_parse_id(paren + 1, &id))
    pto_json_read_refuse(reader, "task is \"%.60s\", and \"name(r2t7)\" was expected", cells[0]);
  const unsigned long tid = strtoul(cells[1], &end, 10);
  if (end == cells[1] || *end || tid < FIRST_TID || tid >= FIRST_TID + TIDS_A_CORE * CORE_COUNT ||
      (tid - FIRST_TID) % TIDS_A_CORE)
    pto_json_read_refuse(reader, "core_tid is \"%.40s\", and %u + %u times a core below %u was expected", cells[1],
                         FIRST_TID, TIDS_A_CORE, CORE_COUNT);
  if (reader->status) return;
  const uint32_t core = (uint32_t)(tid - FIRST_TID) / TIDS_A_CORE;
  if (!pto_capture_set_core(import->capture, core, core < AIC_COUNT ? PTO_AIC : PTO_AIV)) pto_import_no_memory(reader);
  struct pto_capture_span *span = pto_import_span(import, reader, id, core, -1, cells[0], &place);
  if (!span) return;
  span->has_dispatch = true;
  span->dispatch_ns = parse_us(table, cells[2], names[2]);
  span->begin_ns = parse_us(table, cells[3], names[3]);
  span->end_ns = parse_us(table, cells[4], names[4]);
  span->finish_ns = parse_us(table, cells[5], names[5]);
}

static void read_line(struct table *table, char *text, uint64_t line) {
  char *cells[COLUMNS];
  uint32_t count = 0;
  pto_json_read_at(&table->reader, "line %" PRIu64, line);
  text[strcspn(text, "\r")] = '\0';
  for (char *cell; (cell = strsep(&text, ",")) != NULL; count++)
    if (count < COLUMNS) cells[count] = cell;
  if (count == COLUMNS)
    read_cells(table, cells, line);
  else
    pto_json_read_refuse(&table->reader, "%" PRIu32 " columns, and %u were expected", count, COLUMNS);
}

int pto_import_table(struct pto_import *import, const char *path, struct pto_error *error) {
  struct table table = {.import = import, .reader = {.path = path, .error = error}};
  struct pto_mapped_file file;
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  char *copy = strndup((const char *)file.data, file.size_bytes), *rest = copy;
  pto_mapped_file_fini(&file);
  if (!copy) return pto_import_no_memory(&table.reader);
  uint64_t line = 0;
  for (char *text; !table.reader.status && (text = strsep(&rest, "\n")) != NULL;)
    if (++line > 1 && *text) read_line(&table, text, line);
  import->capture->clock_hz = CLOCK_HZ;
  free(copy);
  return table.reader.status;
}
