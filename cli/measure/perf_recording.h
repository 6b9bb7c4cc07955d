/* SPDX-License-Identifier: MIT */
/*
 * perf, attached to this very process: started before what is measured, switched on and off around it, and read after.
 *
 *   start (perf is ready, nothing is sampled yet) → enable … → stop → read → fini
 *
 * Owns perf's process, the socket by which it takes commands, and the file of its samples, which is one in memory where
 * no path is given.  Samples have times of CLOCK_MONOTONIC, as the trace has.
 *
 * Always true: start answers PTO_ENOTSUP, with one sentence that says what to do, where perf is missing, is forbidden
 * to sample, or finds no event to sample by.
 *
 * One thread.  The caller must not reap children that are not its own.
 */
#ifndef PTO_CLI_MEASURE_PERF_RECORDING_H
#define PTO_CLI_MEASURE_PERF_RECORDING_H

#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>

#include <runtime/base/error.h>

/* ---- one sample, as `perf script` prints it ---- */

/* What to give to `perf script -F`; with --ns, so that times have nine digits behind the point. */
#define PTO_PERF_SAMPLE_FIELDS "tid,time,period,event,ip,sym,dso"

struct pto_perf_sample {
  uint64_t time_ns; /* of the clock given to perf record -k */
  uint64_t period;  /* how many events this sample stands for; samples differ in it */
  uint32_t tid;
  char event[64];
  char symbol[192]; /* "[unknown]" where there is none */
  char module[256]; /* "/usr/lib/libm.so.6", "[kernel.kallsyms]"; "" where there is none */
};

/* "TID SECONDS.FRACTION: PERIOD EVENT: ADDRESS SYMBOL (MODULE)".  False for a line of any other form, `sample` then
 * holding anything. */
bool pto_perf_sample_parse(const char *line, struct pto_perf_sample *sample);

/* ---- the recording ---- */

struct pto_perf_request {
  const char *event;     /* NULL: cycles, or cpu-clock where the machine does not count them */
  uint32_t frequency_hz; /* of samples, a thread */
  const char *data_path; /* NULL: no file is left */
};

struct pto_perf_recording {
  pid_t pid;     /* 0: no process */
  int socket_fd; /* -1: none, as the others */
  int data_fd;   /* of the file in memory */
  int text_fd;   /* what perf says */
  const char *data_path;
};

/* Attaches to all threads of this process, and to those that they will start. */
PTO_MUST_CHECK int pto_perf_recording_start(struct pto_perf_recording *recording,
                                            const struct pto_perf_request *request, struct pto_error *error);
/* From now on samples are taken (or are no longer); PTO_OK or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_perf_recording_enable(struct pto_perf_recording *recording, bool is_on, struct pto_error *error);
/* Ends perf; its file is complete. */
PTO_MUST_CHECK int pto_perf_recording_stop(struct pto_perf_recording *recording, struct pto_error *error);
/* Calls `visit` for each sample in the order of the file.  *refused_count is the number of lines that were none. */
PTO_MUST_CHECK int pto_perf_recording_read(struct pto_perf_recording *recording,
                                           void (*visit)(void *context, const struct pto_perf_sample *sample),
                                           void *context, uint64_t *refused_count, struct pto_error *error);
/* Ends perf where that has not been done; one that is zeroed or half started is allowed. */
void pto_perf_recording_fini(struct pto_perf_recording *recording);

/* The sentence for a perf that ended with this exit status and text instead of sampling by `event`; `paranoid` is
 * kernel.perf_event_paranoid, or INT32_MIN where it is not known.  Returns PTO_ENOTSUP. */
int pto_perf_recording_explain(struct pto_error *error, const char *event, int exit_status, int paranoid, char *text);

#endif
