/* SPDX-License-Identifier: MIT */
#include <formats/new_file.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that a path leads to, and the one beside it, of this process alone. */
struct names {
  char target[PATH_MAX], beside[PATH_MAX + 32];
};

static void find_names(const char *path, struct names *names) {
  if (!realpath(path, names->target)) snprintf(names->target, sizeof names->target, "%s", path);
  snprintf(names->beside, sizeof names->beside, "%s.%ld.new", names->target, (long)getpid());
}

static int fail(const char *path, int reason, struct pto_error *error) {
  return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(reason));
}

int pto_new_file_open(const char *path, int *fd_out, struct pto_error *error) {
  struct names names;
  struct stat old;
  find_names(path, &names);
  const bool is_there = stat(path, &old) == 0;
  int fd = -1;
  if (!is_there || (S_ISREG(old.st_mode) && access(path, W_OK) == 0)) {
    fd = open(names.beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && is_there) (void)fchmod(fd, old.st_mode & 07777);
  }
  if (fd < 0) fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail(path, errno, error);
  *fd_out = fd;
  return PTO_OK;
}

int pto_new_file_close(const char *path, int fd, int reason, struct pto_error *error) {
  struct names names;
  struct stat written, beside;
  find_names(path, &names);
  const bool is_beside = fstat(fd, &written) == 0 && lstat(names.beside, &beside) == 0 &&
                         written.st_dev == beside.st_dev && written.st_ino == beside.st_ino;
  if (close(fd) != 0 && reason == 0) reason = errno;
  if (is_beside && reason == 0 && rename(names.beside, names.target) != 0) reason = errno;
  if (reason == 0) return PTO_OK;
  pto_new_file_remove(is_beside ? names.beside : path);
  return fail(path, reason, error);
}

FILE *pto_new_file_create(const char *path, struct pto_error *error) {
  int fd = -1;
  if (pto_new_file_open(path, &fd, error)) return NULL;
  FILE *file = fdopen(fd, "wb");
  if (!file) (void)!pto_new_file_close(path, fd, errno, error);
  return file;
}

/* The descriptor outlives the stream, so that closing is one thing. */
int pto_new_file_finish(const char *path, FILE *file, int reason, struct pto_error *error) {
  const int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
  if (fd < 0 && reason == 0) reason = errno;
  if (fclose(file) != 0 && reason == 0) reason = errno;
  return fd < 0 ? fail(path, reason, error) : pto_new_file_close(path, fd, reason, error);
}

void pto_new_file_remove(const char *path) {
  const int reason = errno;
  struct stat about;
  if (lstat(path, &about) == 0 && S_ISREG(about.st_mode)) unlink(path);
  errno = reason;
}
