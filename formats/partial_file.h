/* SPDX-License-Identifier: MIT */
/*
 * Files that could not be written to their end.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_PARTIAL_FILE_H
#define PTO_PARTIAL_FILE_H

/* Removes the file if it is a regular one: a device, pipe or link that a user named to write to stays.  errno is as it
 * was. */
void pto_partial_file_remove(const char *path);

#endif
