/* SPDX-License-Identifier: MIT */
/*
 * Elements that the orchestration or a predicate reads in a run whose kernels are not run: of a file of format
 * "pto-values" (docs/schemas/pto-values.json), else 0 where the session's options assume that.
 *
 * An element is the one that was written last before the question: by the orchestration, then it is in memory; by a
 * task, then the file gives it for that task and parameter, or for the array; by none of them, then it is in memory
 * where
 * --input brought it, else the file gives it for the array.
 *
 * Owned by the session, until its fini.  The control thread.
 */
#ifndef PTO_CHECK_SESSION_GIVEN_VALUES_H
#define PTO_CHECK_SESSION_GIVEN_VALUES_H

#include <pto/tools.h>
#include <report/run/result.h>
#include <runtime/control/value_source.h>
#include <runtime/trace/trace.h>

struct pto_given_values;

/* Reads the file of the session's options.  PTO_OK; PTO_EINVAL, PTO_ESYSTEM, PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_given_values_create(struct pto_session *session, struct pto_given_values **values_out,
                                           struct pto_error *error);
/* Once the program has its arrays: whether they have all that the file names.  PTO_OK, or PTO_EINVAL with the sentence.
 */
PTO_MUST_CHECK int pto_given_values_check(const struct pto_given_values *values, struct pto_error *error);
/* After the runtime; NULL is allowed. */
void pto_given_values_destroy(struct pto_given_values *values);
/* Borrowed from it. */
const struct pto_value_source *pto_given_values_source(const struct pto_given_values *values);
/* What the run's times and values rest on. */
void pto_given_values_count(const struct pto_given_values *values, const struct pto_trace *trace,
                            struct pto_priced *priced);

#endif
