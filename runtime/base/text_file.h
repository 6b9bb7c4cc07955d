/* SPDX-License-Identifier: MIT */
/*
 * Text files that are read line by line: regular files of a size that a text may have, so that reading ends.
 *
 * The caller closes the stream.  Any thread.
 */
#ifndef PTO_TEXT_FILE_H
#define PTO_TEXT_FILE_H

#include <stdio.h>

#include <runtime/base/error.h>

#define PTO_TEXT_FILE_BYTES (UINT64_C(1) << 30) /* that are read at most */

/* NULL with "PATH: reason": PTO_ESYSTEM where it cannot be opened, PTO_EINVAL where it is none of these. */
FILE *pto_text_file_open(const char *path, struct pto_error *error);

#endif
