/* SPDX-License-Identifier: MIT */
/*
 * Files whose names end with ".gz": what is written to them is compressed when they are closed
 * (report/file/output_file.h).
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_REPORT_FILE_GZIP_H
#define PTO_REPORT_FILE_GZIP_H

#include <stdbool.h>

bool pto_gzip_is_name(const char *path);
/* False in a build without zlib. */
bool pto_gzip_can_write(void);
/* Writes all of `from`, from its begin, compressed to `to`; both stay open.  0, or an errno. */
int pto_gzip_copy(int from, int to);

#endif
