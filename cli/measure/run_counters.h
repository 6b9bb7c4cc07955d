/* SPDX-License-Identifier: MIT */
/*
 * --counters of `ptosim run`: events (cli/measure/event_source.h) that are counted while a program runs, all rounds
 * together.
 *
 * pto::tasks and the other counters of libraries (pto_runtime_publish_counters) are counted for the run.  Events of the
 * hardware and of the operating system are counted for the control thread, or with --counters-by kernel for each kernel
 * on all threads (cli/measure/kernel_counters.h), their values then being the sums over kernels.  An event that cannot
 * be counted here has no value; each of them is named once, and the run goes on without it.
 *
 * Owns its copy of the names, what the machine needs between begin and end, and from prepare to fini what kernels are
 * counted with.  Use: parse, prepare, a runtime or contexts with the meter, begin, runs, end, their end, fini.  One
 * thread.
 */
#ifndef PTO_CLI_MEASURE_RUN_COUNTERS_H
#define PTO_CLI_MEASURE_RUN_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cli/measure/kernel_counters.h>
#include <formats/json_writer.h>
#include <pto/runtime.h>
#include <runtime/base/error.h>

#define PTO_RUN_COUNTERS_MAX PTO_KERNEL_COUNTERS_EVENTS

struct pto_run_counters {
  char text[1024];
  const char *names[PTO_RUN_COUNTERS_MAX]; /* within text */
  int64_t values[PTO_RUN_COUNTERS_MAX];
  bool is_counted[PTO_RUN_COUNTERS_MAX];
  uint32_t count;
  bool has_values; /* the run has come to its end */
  void *set;       /* of pto_machine_events, for what is counted of the run: between begin and end */
  int64_t at_begin[PTO_RUN_COUNTERS_MAX];
  bool is_by_kernel;
  struct pto_kernel_counters *by_kernel; /* from prepare to fini, where is_by_kernel */
  const char *kernel_names[PTO_RUN_COUNTERS_MAX];
  struct pto_kernel_counters_table table; /* of these, once has_values */
};

/* `list`: names with commas between them.  PTO_OK, or PTO_EINVAL where there are too many, or an empty one, or one
 * stands twice.  Keeps is_by_kernel. */
PTO_MUST_CHECK int pto_run_counters_parse(const char *list, struct pto_run_counters *counters, struct pto_error *error);
/* "kernel" or "run".  PTO_OK or PTO_EINVAL. */
PTO_MUST_CHECK int pto_run_counters_parse_by(const char *word, struct pto_run_counters *counters,
                                             struct pto_error *error);
/* PTO_EINVAL with a sentence where one of the names is that of no event; PTO_OK. */
PTO_MUST_CHECK int pto_run_counters_check(const struct pto_run_counters *counters, struct pto_error *error);
/* Before runtimes are made: *meter_out is for their configurations, NULL where kernels are not counted.  PTO_OK or
 * PTO_ENOMEM. */
PTO_MUST_CHECK int pto_run_counters_prepare(struct pto_run_counters *counters,
                                            const struct pto_kernel_meter **meter_out, struct pto_error *error);
/* Before the run: counts what can be counted.  Writes a sentence about what cannot to `sentence` (of sentence_size
 * bytes), "" where there is nothing to say.  `rt` may be NULL: then it has no counters to read. */
void pto_run_counters_begin(struct pto_run_counters *counters, struct pto_runtime *rt, char *sentence,
                            size_t sentence_size);
/* After the run, before its runtime is destroyed.  Takes counters that have not begun. */
void pto_run_counters_end(struct pto_run_counters *counters);
/* When runtimes with the meter are gone.  Takes counters that were not prepared. */
void pto_run_counters_fini(struct pto_run_counters *counters);

/* As a part of a result (report/run/result.h): `counters` is a pto_run_counters. */
void pto_run_counters_print(const void *counters, FILE *to);
/* The key "counters": each event's value by its name, null where it was not counted; and by kernel where asked. */
void pto_run_counters_write_json(const void *counters, struct pto_json_writer *w);

#endif
