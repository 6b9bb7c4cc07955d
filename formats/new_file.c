/* SPDX-License-Identifier: MIT */
#include <formats/new_file.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *pto_new_file_create(const char *path, struct pto_error *error) {
  FILE *file = fopen(path, "wbe");
  if (!file) (void)pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
  return file;
}

int pto_new_file_finish(const char *path, FILE *file, int reason, struct pto_error *error) {
  if (fclose(file) != 0 && reason == 0) reason = errno;
  if (reason == 0) return PTO_OK;
  pto_new_file_remove(path);
  return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(reason));
}

void pto_new_file_remove(const char *path) {
  const int reason = errno;
  struct stat about;
  if (lstat(path, &about) == 0 && S_ISREG(about.st_mode)) unlink(path);
  errno = reason;
}
