/* SPDX-License-Identifier: MIT */
/*
 * What `ptosim perf` says: samples by kernel, core, task and control work, for people and as JSON.
 *
 * Owns nothing.  Shares are of what was sampled within rounds, weighted by the events that samples stand for.
 * docs/json.md explains each key.  One thread.
 */
#ifndef PTO_CLI_MEASURE_PERF_REPORT_H
#define PTO_CLI_MEASURE_PERF_REPORT_H

#include <cli/measure/perf_join.h>
#include <report/run/result.h>

struct pto_perf_report {
  const struct pto_run_result *result;
  const struct pto_perf_join *join; /* finished; NULL where there are no samples: then only the JSON is there */
  uint32_t frequency_hz;
  uint32_t top; /* symbols of a row, and tasks, that are shown */
};

void pto_perf_report_print(const struct pto_perf_report *report);
/* The members of the object of --json; `report` is a pto_perf_report. */
void pto_perf_report_put(struct pto_json_writer *w, const void *report);

#endif
