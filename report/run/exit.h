/* SPDX-License-Identifier: MIT */
/*
 * The exit status of ptosim, which is also `exit` in what it writes: the one list of exit codes.
 */
#ifndef PTO_REPORT_RUN_EXIT_H
#define PTO_REPORT_RUN_EXIT_H

#include <pto/status.h>

enum pto_exit {
  PTO_EXIT_OK = 0,
  PTO_EXIT_FINDINGS = 1,     /* ran, wrong result; or something was found */
  PTO_EXIT_USAGE = 2,        /* bad arguments or input, chip too small */
  PTO_EXIT_FAILED = 3,       /* the run failed */
  PTO_EXIT_INTERRUPTED = 130 /* ^C ended it; what is written is what was known by then */
};

/* Errors of the preparation are the caller's mistake, unless the machine is at fault. */
static inline int pto_exit_of_setup(int status) {
  return status == PTO_OK ? PTO_EXIT_OK : status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE;
}

/* Errors of a run. */
static inline int pto_exit_of_run(int status) {
  return status == PTO_EINTERRUPTED ? PTO_EXIT_INTERRUPTED : status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED;
}

#endif
