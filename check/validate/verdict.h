/* SPDX-License-Identifier: MIT */
/*
 * A measurement beside its prediction: how far off, by how much it may be, and which chip file stands for it.
 *
 * Values; strings are those of the row.  Pure functions but for the loading of chip files; any thread.
 */
#ifndef PTO_CHECK_VALIDATE_VERDICT_H
#define PTO_CHECK_VALIDATE_VERDICT_H

#include <check/predict/predict.h>
#include <check/validate/rows.h>

/* What the mean error of the makespans of set check may be, in percent. */
#define PTO_MEAN_LIMIT_PERCENT 10.0
/* What a change of a row's prediction and measurement must be to count, in percent of the base; how far its size may be
 * off, in percent of it. */
#define PTO_CHANGE_LEAST_PERCENT 5.0
#define PTO_CHANGE_SIZE_PERCENT 20.0

/* Where a row was taken. */
struct pto_row_place {
  char chip[512]; /* a name or a file, for struct pto_config */
  bool is_prebuilt;
  char warning[256]; /* what does not fit; "": all does */
};
/* The row's chip file (its path counts from the folder of `rows_path`, where there is such a file), else `wanted`,
 * which may be NULL, else the one of its era: "host built graph" is a2a3 with a prebuilt graph, and no era is a2a3. */
void pto_row_place_find(const struct pto_row *row, const char *rows_path, const char *wanted,
                        struct pto_row_place *place);

/* One row with all that is known of it. */
struct pto_validated {
  const struct pto_row *row;
  const char *run; /* program and options; NULL: neither the row nor the list of benchmarks says it */
  char words[160]; /* of a benchmark, for `run` */
  struct pto_row_place place;
  struct pto_prediction *prediction; /* NULL: there is none; then `problem` says why */
  char problem[512];
};

enum pto_row_verdict { PTO_ROW_GOOD, PTO_ROW_FAILED, PTO_ROW_UNKNOWN /* there is no prediction */ };

/* Microseconds: the median of the runs with jitter, else the run without; of edges 0. */
double pto_validated_us(const struct pto_validated *validated);
/* Of the prediction against the value, in percent of it, signed. */
double pto_validated_error(const struct pto_validated *validated);
/* What the error may be: edges 0; of set calibrate 3 for the window and 2 for a makespan (of a prebuilt graph, which
 * alone may be fitted); else 15, or what the list of benchmarks says. */
double pto_row_limit(const struct pto_row *row);
enum pto_row_verdict pto_validated_verdict(const struct pto_validated *validated);
/* Tasks as the row counts them: a graph that is built before holds those with kernels alone. */
uint64_t pto_validated_tasks(const struct pto_validated *validated);
/* Tasks and edges as the row says, where it does. */
bool pto_validated_has_counts(const struct pto_validated *validated);

/* A pair of rows, one being a change of the other. */
struct pto_change {
  double measured, predicted; /* percent of the base */
  bool is_large;              /* the measured one counts */
  bool has_sign, has_size;    /* as measured, where it counts */
};
/* `base` is that of validated->row->base_row; both have a prediction and are no edges. */
struct pto_change pto_change_of(const struct pto_validated *base, const struct pto_validated *validated);

#endif
