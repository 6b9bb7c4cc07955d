/* SPDX-License-Identifier: MIT */
/*
 * Files that could not be written to their end.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_OUTPUT_FILE_H
#define PTO_OUTPUT_FILE_H

/* Removes the file if it is a regular one: a device, pipe or link that a user named to write to stays.  errno is as it
 * was. */
void pto_output_file_discard(const char *path);

#endif
