/* SPDX-License-Identifier: MIT */
#include <formats/partial_file.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

void pto_partial_file_remove(const char *path) {
  const int reason = errno;
  struct stat about;
  if (lstat(path, &about) == 0 && S_ISREG(about.st_mode)) unlink(path);
  errno = reason;
}
