/* SPDX-License-Identifier: MIT */
/*
 * The operations that PTO_OPERATIONS names: shared objects, paths with colons between them, made known to graphs.
 *
 * Owns nothing: what is loaded stays (orchestration/loader/operation_file.h).  Call it before a graph is read; calling
 * it again does nothing.  Any thread.
 */
#ifndef PTO_CHECK_SESSION_OUTSIDE_OPERATIONS_H
#define PTO_CHECK_SESSION_OUTSIDE_OPERATIONS_H

#include <runtime/base/error.h>

/* PTO_OK, also without that variable; or what is wrong with one of them, with its path. */
PTO_MUST_CHECK int pto_outside_operations_load(struct pto_error *error);

#endif
