/* SPDX-License-Identifier: MIT */
/*
 * Files that reports are written to: opened by path, "-" being standard output, and complaints that name the path.  A
 * file whose name ends with ".gz" is compressed.
 *
 * Owns the descriptor between open and close.  Any thread.
 */
#ifndef PTO_REPORT_FILE_OUTPUT_FILE_H
#define PTO_REPORT_FILE_OUTPUT_FILE_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <runtime/base/error.h>

/* Opens a file that takes the place of this one when it is closed (formats/new_file.h); the descriptor through *fd_out,
 * or PTO_ESYSTEM.  Locks nothing: a caller that has printed to stdout flushes it before. */
PTO_MUST_CHECK int pto_output_open(const char *path, int *fd_out, struct pto_error *error);
/* Closes it (standard output stays open) and turns what went wrong, `write_error` (an errno, or 0) first, into a
 * status. */
PTO_MUST_CHECK int pto_output_close(const char *path, int fd, int write_error, struct pto_error *error);

/* Whether it could be opened, found out before there is anything to write, and without making it: PTO_OK, or
 * PTO_ESYSTEM.  NULL is fine. */
PTO_MUST_CHECK int pto_output_probe(const char *path, struct pto_error *error);

/* The same through stdio. */
PTO_MUST_CHECK int pto_output_open_stream(const char *path, FILE **stream_out, struct pto_error *error);
/* `written`: PTO_OK, or why not all of it could be made, which leaves the file as it was before. */
PTO_MUST_CHECK int pto_output_close_stream(const char *path, FILE *stream, int written, struct pto_error *error);

/* One JSON object, whose members `put` writes. */
PTO_MUST_CHECK int pto_output_json(const char *path, void (*put)(struct pto_json_writer *w, const void *context),
                                   const void *context, struct pto_error *error);

#endif
