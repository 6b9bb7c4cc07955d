/* SPDX-License-Identifier: MIT */
/*
 * One sample as `perf script` prints it, and the fields that it must be asked for.
 *
 * Owns nothing.  Always true of a parsed sample: strings end, and are cut where they do not fit.  Any thread.
 */
#ifndef PTO_CLI_MEASURE_PERF_SAMPLE_H
#define PTO_CLI_MEASURE_PERF_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
