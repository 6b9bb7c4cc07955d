/* SPDX-License-Identifier: MIT */
/*
 * Files that are written anew, whole or not at all.
 *
 * Owns the stream or descriptor between create and finish.  Always true: what is written stands in a file without a
 * name, and takes the place of the one that was there when it is whole: a process that ends before leaves the old one
 * and nothing else.  A file system without such files has it beside, as PATH.PROCESS.new.  A device, a pipe, or a file
 * in a folder that takes no other is written in place.  Neither allocates nor locks, but for the stream.  Any thread;
 * one path at a time.
 */
#ifndef PTO_NEW_FILE_H
#define PTO_NEW_FILE_H

#include <stdio.h>

#include <runtime/base/error.h>

/* The descriptor through *fd_out, or PTO_ESYSTEM with "PATH: reason". */
PTO_MUST_CHECK int pto_new_file_open(const char *path, int *fd_out, struct pto_error *error);
/* Closes it.  `reason` is the errno of what went wrong before, or 0; PTO_OK, or PTO_ESYSTEM with "PATH: reason". */
PTO_MUST_CHECK int pto_new_file_close(const char *path, int fd, int reason, struct pto_error *error);

/* The same through a stream; NULL with the sentence. */
FILE *pto_new_file_create(const char *path, struct pto_error *error);
PTO_MUST_CHECK int pto_new_file_finish(const char *path, FILE *file, int reason, struct pto_error *error);
/* Removes one that was finished, if it is a regular file; errno is as it was. */
void pto_new_file_remove(const char *path);

#endif
