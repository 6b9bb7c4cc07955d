/* SPDX-License-Identifier: MIT */
/*
 * A fuzz input as a file with a path, for readers that take one.  In memory; the path is good until fuzz_file_close.
 */
#ifndef PTO_FUZZ_FILE_H
#define PTO_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* What must hold for any input. */
#define FUZZ_HOLDS(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s: does not hold\n", #condition), abort()))

#endif
