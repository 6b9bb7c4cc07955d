/* SPDX-License-Identifier: MIT */
/*
 * Programs of the tree at the sizes of benchmarks that were measured on hardware, and their runs without kernels in
 * virtual time.
 *
 * To add one: a line in benchmark.c, by the name that rows.csv has for it.
 *
 * Owns nothing after a call, but for a temporary file that it removes.  The thread of sessions.
 */
#ifndef PTO_CHECK_CALIBRATE_BENCHMARK_H
#define PTO_CHECK_CALIBRATE_BENCHMARK_H

#include <runtime/base/error.h>
#include <sim/chips/chip.h>

struct pto_benchmark {
  const char *row; /* in rows.csv */
  const char *program, *case_name;
  uint32_t deps;                  /* enum pto_deps_rules */
  uint32_t requests, context_len; /* what context_lens holds; 0: the program has no such array */
};

/* NULL: the tree has none for the row. */
const struct pto_benchmark *pto_benchmark_find(const char *row);
const struct pto_benchmark *pto_benchmark_at(uint32_t index); /* NULL past the end */

/* Times of a run, in ps, from the end of the handshake on. */
struct pto_benchmark_times {
  uint64_t makespan_ps;     /* to the latest clock */
  uint64_t orchestrator_ps; /* to the orchestrator's last submit, scope or access */
  uint64_t tasks, edges;
};

/* PTO_OK, or the run's status and sentence.  `heap_bytes` 0: the default. */
PTO_MUST_CHECK int pto_benchmark_run(const struct pto_benchmark *benchmark, const struct pto_chip_sheet *sheet,
                                     uint64_t heap_bytes, struct pto_benchmark_times *times, struct pto_error *error);

/* Writes the sheet to a new file below /tmp; `path` has 64 bytes.  The caller removes it. */
PTO_MUST_CHECK int pto_benchmark_write_chip(const struct pto_chip_sheet *sheet, char *path, struct pto_error *error);

#endif
