/* SPDX-License-Identifier: MIT */
/*
 * Where tests put their files: in the folder that TMPDIR names, /tmp without it, so that the tree may be read-only.
 *
 * Nothing is made here: who uses a path makes the file and removes it.  Any thread.
 */
#ifndef PTO_TEMPORARY_PATH_H
#define PTO_TEMPORARY_PATH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEMPORARY_PATH_BYTES = 320 };

static inline const char *temporary_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder && folder[0] ? folder : "/tmp";
}

/* A file of this process: FOLDER/NAME_PID. */
static inline void temporary_path(char path[TEMPORARY_PATH_BYTES], const char *name) {
  snprintf(path, TEMPORARY_PATH_BYTES, "%.256s/%s_%d", temporary_folder(), name, (int)getpid());
}

/* For mkstemp and mkdtemp: FOLDER/NAME_XXXXXX. */
static inline void temporary_template(char path[TEMPORARY_PATH_BYTES], const char *name) {
  snprintf(path, TEMPORARY_PATH_BYTES, "%.256s/%s_XXXXXX", temporary_folder(), name);
}

#endif
