/* SPDX-License-Identifier: MIT */
/*
 * A folder of a test program's own, for files that it writes and reads: open and close are set-up and tear-down of the
 * group.
 *
 * Owns the folder and whatever files are in it, from open to close.  One folder a program, one thread.
 */
#ifndef PTO_TEST_FOLDER_H
#define PTO_TEST_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tests/support/temporary_path.h>

static char test_folder[TEMPORARY_PATH_BYTES];

/* A file of the folder; valid for the next three calls. */
static inline const char *path_of(const char *name) {
  static char paths[4][2 * TEMPORARY_PATH_BYTES];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%.255s", test_folder, name);
  return path;
}

/* Removes all files; of the tear-down of a test. */
static inline int test_folder_clear(void **state) {
  DIR *folder = opendir(test_folder);
  if (!folder) return -1;
  for (const struct dirent *file; (file = readdir(folder));)
    if (file->d_name[0] != '.') unlink(path_of(file->d_name));
  closedir(folder);
  return 0;
}

static inline int test_folder_open(void **state) {
  temporary_template(test_folder, "pto_test");
  return mkdtemp(test_folder) ? 0 : -1;
}

static inline int test_folder_close(void **state) { return test_folder_clear(state) ? -1 : rmdir(test_folder); }

#endif
