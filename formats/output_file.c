/* SPDX-License-Identifier: MIT */
#include <formats/output_file.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

void pto_output_file_discard(const char *path) {
  const int reason = errno;
  struct stat about;
  if (lstat(path, &about) == 0 && S_ISREG(about.st_mode)) unlink(path);
  errno = reason;
}
