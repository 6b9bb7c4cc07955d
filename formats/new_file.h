/* SPDX-License-Identifier: MIT */
/*
 * Files that are written anew, whole or not at all.
 *
 * Owns the stream between create and finish.  Always true: of what could not be written to its end nothing stays, but
 * for a device, pipe or link that a user named to write to.  Any thread.
 */
#ifndef PTO_NEW_FILE_H
#define PTO_NEW_FILE_H

#include <stdio.h>

#include <runtime/base/error.h>

/* The stream, or NULL with "PATH: reason" (PTO_ESYSTEM). */
FILE *pto_new_file_create(const char *path, struct pto_error *error);
/* Closes it.  `reason` is the errno of what went wrong before, or 0; PTO_OK, or PTO_ESYSTEM with "PATH: reason". */
PTO_MUST_CHECK int pto_new_file_finish(const char *path, FILE *file, int reason, struct pto_error *error);
/* Removes one that was finished, if it is a regular file; errno is as it was. */
void pto_new_file_remove(const char *path);

#endif
