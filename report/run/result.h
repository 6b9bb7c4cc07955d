/* SPDX-License-Identifier: MIT */
/*
 * What a run came to, as people read it and as --json writes it.
 *
 * A value; strings are borrowed from options, program and chip.  Writing the JSON neither allocates nor locks, so that
 * a crash report can write it from what is known by then.  docs/json.md explains each key.
 *
 * To add a key: a field here, a line in put_result of report/run/result.c, a line in docs/json.md.
 */
#ifndef PTO_REPORT_RUN_RESULT_H
#define PTO_REPORT_RUN_RESULT_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <orchestration/loader/program_run.h>
#include <pto/runtime.h>
#include <formats/units.h>
#include <runtime/base/error.h>

struct pto_alike_tasks;
struct pto_group_times;
struct pto_timeline_stats;
struct pto_wait_picture;

/* A question that may not have been asked. */
enum pto_verdict { PTO_VERDICT_NONE = 0, PTO_VERDICT_TRUE, PTO_VERDICT_FALSE };

/* A part of the report that its owner writes. */
struct pto_result_part {
  void (*print)(const void *about, FILE *to);
  void (*put)(const void *about, struct pto_json_writer *w);
  const void *about;
};

/* What a run without kernels rests on: calls that were priced, and those of them that cost what their bytes cost, since
 * the kernel states nothing; elements that were read, of a file or taken for 0, and those of the file that were not. */
struct pto_priced {
  uint64_t calls, assumed_prices, given_values, assumed_values, unread_values;
};

struct pto_run_result {
  const char *program, *case_name, *engine, *chip, *policy; /* NULL: null, as the next two */
  const char *command;                                      /* that does the run again, for a shell; NULL: not known */
  const char *deps, *deps_list;                             /* rules: for people, and for JSON, by name */
  uint64_t seed;
  uint32_t workers, rounds, jitter_ppm;
  const char *placement; /* of threads, in words; NULL: not known, or not real time.  The engine's */
  bool has_run;          /* stats are those of a run, failed or not */
  bool has_time;         /* wall_seconds too; also of programs that drive contexts of their own */
  bool is_virtual;
  struct pto_stats stats; /* of the last round */
  double wall_seconds;    /* median of the rounds */
  bool is_priced_alone;   /* kernels were priced and not run; then `priced` says how much of it was guessed */
  struct pto_priced priced;
  enum pto_verdict verified;
  double max_abs_error; /* where verified was asked */
  uint64_t nans;        /* elements that are NaN, and are expected to be */
  bool has_output_digest, has_trace_digest;
  bool has_exact_outputs; /* all are of integer types; where there is a digest */
  uint64_t output_digest, trace_digest;
  uint64_t h2d_bytes, d2h_bytes, d2d_bytes;            /* of contexts, as the rest of these */
  uint64_t lowering_cache_hits, lowering_cache_misses; /* of dispatches of programs that repeat */
  struct pto_figure figures[PTO_FIGURES];              /* of the program */
  uint32_t figure_count;
  int exit_code;                             /* enum pto_exit */
  struct pto_error error;                    /* status and sentence; PTO_OK and a sentence for a wrong result */
  const struct pto_timeline_stats *timeline; /* of --stats; NULL: not asked */
  const struct pto_group_times *groups;      /* of --stats, of a graph; NULL: not asked */
  const struct pto_group_times *labels;      /* of --stats, by label; NULL: not asked */
  const struct pto_alike_tasks *alike;       /* of --stats, in JSON alone; NULL: not asked */
  struct pto_result_part counters;           /* of --counters; zeroed: not asked */
  uint64_t refused;                          /* submits, and calls on contexts, of the last round */
  const char *refused_what;                  /* what the first is: "submit", or "call" on a context */
  const char *first_refusal;                 /* what is said of the first; NULL: there was none */
  const struct pto_wait_picture *stopped;    /* who waited for whom when it stopped; NULL: it did not */
};

/* The members of the object. */
void pto_run_result_put(const struct pto_run_result *result, struct pto_json_writer *w);
/* Writes the object.  PTO_OK or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_run_result_write_json(const struct pto_run_result *result, const char *path,
                                             struct pto_error *error);
/* A few aligned lines. */
void pto_run_result_print(const struct pto_run_result *result, FILE *to);

#endif
