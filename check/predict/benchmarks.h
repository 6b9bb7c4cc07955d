/* SPDX-License-Identifier: MIT */
/*
 * The programs of published benchmarks, by the name that a row of measurements has: what is run for a row that does not
 * say it, and what a calibration counts prices in.
 *
 * Constant; any thread.  To add one: a line of the list in benchmarks.c.
 */
#ifndef PTO_CHECK_PREDICT_BENCHMARKS_H
#define PTO_CHECK_PREDICT_BENCHMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pto/tools.h>

/* The era of graphs that are built before the run. */
#define PTO_PREBUILT_ERA "host built graph"

struct pto_benchmark {
  const char *row;
  const char *program, *case_name;
  const char *setting;  /* KEY=VALUE; NULL: none */
  uint32_t window;      /* 0: the default */
  double limit_percent; /* of its makespan's error, where that is less than its set allows; 0: it is not */
};

/* NULL: the list does not have the row. */
const struct pto_benchmark *pto_benchmark_find(const char *row);
/* "bgemm --case C0", as `ptosim run` takes it; returns `text`. */
const char *pto_benchmark_words(const struct pto_benchmark *benchmark, char *text, size_t size);
/* The same as options of a session; `config` is borrowed by them. */
void pto_benchmark_options(const struct pto_benchmark *benchmark, struct pto_config *config,
                           struct pto_session_options *options);
/* The rules that measured runs had their edges from, enum pto_deps_rules: a graph that was built before has no tasks
 * that allocate. */
uint32_t pto_benchmark_deps(bool is_prebuilt);

#endif
