/* SPDX-License-Identifier: MIT */
/*
 * Measurements of whole runs: a CSV file, one a line, whose first line names the columns
 *
 *   row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,set,base,
 *   run,chip
 *
 * in any order; a field with a comma stands in "…".  metric is makespan, orchestrator (its window) or edges (the value
 * is in wait_edges).  settings, tasks_submitted, aicore_tasks, wait_edges, spread_percent, date, era, source, set,
 * base, run and chip may be empty, value_us of edges too.  base names the row that this one is a change of: one of the
 * same metric.
 *
 * Owns its texts until fini.  Values after reading; any thread.
 */
#ifndef PTO_CHECK_VALIDATE_ROWS_H
#define PTO_CHECK_VALIDATE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <formats/csv.h>

/* X(id): as the file has it */
#define PTO_ROW_METRIC_LIST(X) X(makespan) X(orchestrator) X(edges)
enum pto_row_metric {
#define X(id) PTO_ROW_##id,
  PTO_ROW_METRIC_LIST(X)
#undef X
      PTO_ROW_METRIC_COUNT
};
const char *pto_row_metric_name(enum pto_row_metric metric);

/* X(id): columns that are texts */
#define PTO_ROW_TEXT_LIST(X) X(row) X(program) X(settings) X(date) X(era) X(source) X(set) X(base) X(run) X(chip)
struct pto_row {
#define X(id) const char *id; /* "": empty; borrowed from the file */
  PTO_ROW_TEXT_LIST(X)
#undef X
  enum pto_row_metric metric;
  bool has_tasks, has_kernel_tasks, has_edges, has_spread; /* of what follows */
  uint64_t tasks, kernel_tasks, edges;                     /* submitted; on cores; edges */
  double value_us, spread_percent;                         /* value_us > 0, but for edges */
  const struct pto_row *base_row;                          /* NULL: it is no change of another */
  uint32_t line;                                           /* of the file, from 1 */
};

struct pto_rows {
  struct pto_csv csv;
  struct pto_row *rows;
  size_t count;
};

/* PTO_OK; or PTO_EINVAL, PTO_ESYSTEM or PTO_ENOMEM with a sentence that names file, line and what was expected, and no
 * rows. */
PTO_MUST_CHECK int pto_rows_read(const char *path, struct pto_rows *rows, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_rows_fini(struct pto_rows *rows);

#endif
