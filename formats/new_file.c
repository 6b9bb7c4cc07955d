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

static int open_unnamed(const struct names *names) {
  char folder[PATH_MAX];
  const char *slash = strrchr(names->target, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - names->target) + 1 : 1, slash ? names->target : ".");
  return access("/proc/self/fd", X_OK) == 0 ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
}

/* Gives a file without a name the one beside.  0, or the reason. */
static int give_name(int fd, const char *beside) {
  char open_file[32];
  snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fd);
  unlink(beside); /* of a process that had this number and was killed */
  return linkat(AT_FDCWD, open_file, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* A program may have closed the standard streams, which this one would be taken for. */
static int move_up(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return moved;
}

int pto_new_file_open(const char *path, int *fd_out, struct pto_error *error) {
  struct names names;
  struct stat old;
  find_names(path, &names);
  const bool is_there = stat(path, &old) == 0;
  int fd = -1;
  if (!is_there || (S_ISREG(old.st_mode) && access(path, W_OK) == 0)) {
    fd = open_unnamed(&names);
    if (fd < 0) fd = open(names.beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && is_there) (void)fchmod(fd, old.st_mode & 07777);
  }
  if (fd < 0) fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  fd = move_up(fd);
  if (fd < 0) return fail(path, errno, error);
  *fd_out = fd;
  return PTO_OK;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int pto_new_file_close(const char *path, int fd, int reason, struct pto_error *error) {
  struct names names;
  struct stat written, other;
  find_names(path, &names);
  if (fstat(fd, &written) != 0) written = (struct stat){0};
  const bool is_in_place = stat(path, &other) == 0 && is_same(&written, &other);
  const bool is_unnamed = !is_in_place && S_ISREG(written.st_mode) && written.st_nlink == 0;
  if (is_unnamed && reason == 0) reason = give_name(fd, names.beside);
  const bool is_beside = lstat(names.beside, &other) == 0 && is_same(&written, &other);
  if (close(fd) != 0 && reason == 0) reason = errno;
  if (is_beside && reason == 0 && rename(names.beside, names.target) != 0) reason = errno;
  if (reason == 0) return PTO_OK;
  if (is_beside || is_in_place) pto_new_file_remove(is_beside ? names.beside : path);
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
