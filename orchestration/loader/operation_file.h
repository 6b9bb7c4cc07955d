/* SPDX-License-Identifier: MIT */
/*
 * Shared objects with operations of graphs (pto/operation.h): mapped, and their one symbol found.
 *
 * Owns the mappings, which last as long as the process: graphs name operations without end.  A file that is loaded
 * again is the same mapping, and gives the same addresses.
 *
 * Any thread.
 */
#ifndef PTO_OPERATION_FILE_H
#define PTO_OPERATION_FILE_H

#include <pto/operation.h>
#include <runtime/base/error.h>

/* The addresses of its operations, ended by NULL.  PTO_OK, or PTO_EINVAL: no such file, none that can be mapped, or
 * without the symbol `pto_operations`. */
PTO_MUST_CHECK int pto_operation_file_load(const char *path, const struct pto_operation *const **operations_out,
                                           struct pto_error *error);

#endif
