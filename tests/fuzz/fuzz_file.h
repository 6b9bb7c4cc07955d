/* SPDX-License-Identifier: MIT */
/*
 * A fuzz input as a file with a path, for readers that take one, in memory; the path is good until fuzz_file_close. And
 * a folder in memory, for targets that need files beside, which goes with the process.
 */
#ifndef PTO_FUZZ_FILE_H
#define PTO_FUZZ_FILE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What must hold for any input. */
#define FUZZ_HOLDS(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s: does not hold\n", #condition), abort()))

struct fuzz_file {
  int fd;
  char path[64];
};

static inline void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size) {
  file->fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (file->fd < 0 || (size && write(file->fd, data, size) != (ssize_t)size)) abort();
  snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
}
static inline void fuzz_file_close(struct fuzz_file *file) { close(file->fd); }

enum { FUZZ_FOLDER_BYTES = 32 };
static char *fuzz_folder_opened;

static inline void fuzz_folder_remove(void) {
  DIR *entries = opendir(fuzz_folder_opened);
  for (struct dirent *entry; entries && (entry = readdir(entries));) (void)unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries) closedir(entries);
  (void)rmdir(fuzz_folder_opened);
}

/* One a process; `path` is written and borrowed until the process ends. */
static inline void fuzz_folder_open(char path[FUZZ_FOLDER_BYTES]) {
  snprintf(path, FUZZ_FOLDER_BYTES, "/dev/shm/fuzz_XXXXXX");
  FUZZ_HOLDS(mkdtemp(path));
  fuzz_folder_opened = path;
  FUZZ_HOLDS(atexit(fuzz_folder_remove) == 0);
}

#endif
