/* SPDX-License-Identifier: MIT */
/*
 * --counters of `ptosim run`: events that PAPI counts while a program runs, all rounds together.
 *
 * Those of the hardware are counted for the control thread; pto::tasks and the other counters of the runtime
 * (pto_runtime_publish_counters) for the run.  An event that cannot be counted here has no value, and why is said once;
 * the run goes on without it.
 *
 * Owns its copy of the names, and what PAPI needs between begin and end.  One thread.
 */
#ifndef PTO_RUN_COUNTERS_H
#define PTO_RUN_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <formats/json_writer.h>
#include <pto/runtime.h>
#include <runtime/base/error.h>

#define PTO_RUN_COUNTERS_MAX 16u

struct pto_papi_events;

struct pto_run_counters {
  char text[1024];
  const char *names[PTO_RUN_COUNTERS_MAX]; /* within text */
  int64_t values[PTO_RUN_COUNTERS_MAX];
  bool is_counted[PTO_RUN_COUNTERS_MAX];
  uint32_t count;
  bool has_values; /* the run has come to its end */
  struct pto_papi_events *events;
};

/* `list`: names with commas between them.  PTO_OK, or PTO_EINVAL where there are too many, or an empty one. */
PTO_MUST_CHECK int pto_run_counters_parse(const char *list, struct pto_run_counters *counters, struct pto_error *error);
/* Before the run: counts what can be counted.  Writes a sentence about what cannot to `sentence` (of sentence_size
 * bytes), "" where there is nothing to say.  `rt` may be NULL: then it has no counters to read. */
void pto_run_counters_begin(struct pto_run_counters *counters, struct pto_runtime *rt, char *sentence,
                            size_t sentence_size);
/* After the run, before its runtime is destroyed.  Takes counters that have not begun. */
void pto_run_counters_end(struct pto_run_counters *counters);

void pto_run_counters_print(const struct pto_run_counters *counters, FILE *to);
/* The key "counters": each event's value by its name, null where it was not counted. */
void pto_run_counters_write_json(const struct pto_run_counters *counters, struct pto_json_writer *w);

#endif
