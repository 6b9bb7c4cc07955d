/* SPDX-License-Identifier: MIT */
/*
 * What a context has recorded, for reports on programs that drive contexts of their own.
 *
 * A context whose configuration records (pto_config.record) keeps what all of its runs did, one behind the other
 * (runtime/trace/trace_append.h): a run ends with a failure, and when this is asked for.  The context owns it.
 */
#ifndef PTO_CONTEXT_RECORDING_H
#define PTO_CONTEXT_RECORDING_H

#include <pto/device.h>
#include <runtime/trace/trace.h>

/* Carries out what is queued, and ends the run that is on its way.  *recording_out: what was recorded of all of them,
 * NULL where the configuration records nothing or nothing has run; borrowed until the next call on the context.
 * PTO_OK; the failure that is kept, with the recording set all the same; or PTO_ENOMEM where some of it was lost. */
PTO_MUST_CHECK int pto_context_recording(struct pto_context *context, const struct pto_trace **recording_out);

#endif
