/* SPDX-License-Identifier: MIT */
/*
 * Verdicts as JUnit's XML, which CI systems show: a testsuite with a testcase each.
 *
 * Owns nothing; one thread.
 */
#ifndef PTO_REPORT_FILE_JUNIT_H
#define PTO_REPORT_FILE_JUNIT_H

#include <stddef.h>
#include <stdint.h>

#include <runtime/base/error.h>

enum pto_junit_outcome { PTO_JUNIT_RIGHT, PTO_JUNIT_FAILURE, PTO_JUNIT_ERROR, PTO_JUNIT_SKIPPED };

struct pto_junit_case {
  const char *of, *name; /* classname and name */
  double seconds;
  enum pto_junit_outcome outcome;
  const char *type, *message; /* but of PTO_JUNIT_RIGHT; NULL: "" */
  char text[2048];
};

/* `at` fills in a zeroed case by index; it is asked twice for each.  PTO_OK, or PTO_ESYSTEM with the sentence. */
PTO_MUST_CHECK int pto_junit_write(const char *path, const char *name, size_t count,
                                   void (*at)(const void *context, size_t index, struct pto_junit_case *one),
                                   const void *context, struct pto_error *error);

#endif
