/* SPDX-License-Identifier: MIT */
#include <report/file/output_file.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <formats/new_file.h>
#include <report/file/gzip.h>

/* A file without a name, which is compressed into the one of this name at its close. */
static int open_unnamed(const char *path, int *fd_out, struct pto_error *error) {
  if (!pto_gzip_can_write())
    return pto_error_set(error, PTO_ESYSTEM, "%s: this build compresses nothing, as it has no zlib", path);
  FILE *file = tmpfile();
  *fd_out = file ? dup(fileno(file)) : -1;
  const int reason = errno;
  if (file) fclose(file);
  return *fd_out >= 0 ? PTO_OK : pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(reason));
}

static int close_unnamed(const char *path, int fd, int write_error, struct pto_error *error) {
  int named, status = write_error ? pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(write_error))
                                  : pto_new_file_open(path, &named, error);
  if (status == PTO_OK) status = pto_new_file_close(path, named, pto_gzip_copy(fd, named), error);
  close(fd);
  return status;
}

int pto_output_open(const char *path, int *fd_out, struct pto_error *error) {
  if (pto_gzip_is_name(path)) return open_unnamed(path, fd_out, error);
  if (strcmp(path, "-") == 0) {
    *fd_out = STDOUT_FILENO;
    return PTO_OK;
  }
  return pto_new_file_open(path, fd_out, error);
}

int pto_output_probe(const char *path, struct pto_error *error) {
  struct stat file;
  if (!path || strcmp(path, "-") == 0) return PTO_OK;
  if (pto_gzip_is_name(path) && !pto_gzip_can_write())
    return pto_error_set(error, PTO_ESYSTEM, "%s: this build compresses nothing, as it has no zlib", path);
  if (stat(path, &file) == 0 && S_ISDIR(file.st_mode))
    return pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(EISDIR));
  if (access(path, W_OK) == 0) return PTO_OK;
  if (errno == ENOENT) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    if (access(slash ? folder : ".", W_OK) == 0) return PTO_OK;
  }
  return pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno));
}

int pto_output_close(const char *path, int fd, int write_error, struct pto_error *error) {
  if (pto_gzip_is_name(path)) return close_unnamed(path, fd, write_error, error);
  if (fd != STDOUT_FILENO) return pto_new_file_close(path, fd, write_error, error);
  return write_error ? pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(write_error)) : PTO_OK;
}

int pto_output_open_stream(const char *path, FILE **stream_out, struct pto_error *error) {
  int fd = -1, status = pto_output_open(path, &fd, error);
  if (status) return status;
  if (fd == STDOUT_FILENO) {
    *stream_out = stdout;
    return PTO_OK;
  }
  FILE *stream = fdopen(fd, "w");
  if (!stream) return pto_output_close(path, fd, errno, error);
  *stream_out = stream;
  return PTO_OK;
}

static int close_stream(const char *path, FILE *stream, bool is_bad, int reason, struct pto_error *error) {
  if (pto_gzip_is_name(path)) {
    const int fd = dup(fileno(stream));
    fclose(stream);
    return close_unnamed(path, fd, fd < 0 ? EBADF : !is_bad ? 0 : reason ? reason : EIO, error);
  }
  if (stream != stdout) return pto_new_file_finish(path, stream, !is_bad ? 0 : reason ? reason : EIO, error);
  return is_bad ? pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, reason ? strerror(reason) : "cannot be written")
                : PTO_OK;
}

int pto_output_close_stream(const char *path, FILE *stream, int written, struct pto_error *error) {
  errno = 0;
  const bool is_bad = fflush(stream) != 0 || ferror(stream);
  const int status = close_stream(path, stream, is_bad || written, errno, error);
  return written ? pto_error_set(error, written, "%s: %s", path, pto_strerror(written)) : status;
}

int pto_output_json(const char *path, void (*put)(struct pto_json_writer *w, const void *context), const void *context,
                    struct pto_error *error) {
  struct pto_json_writer w;
  int fd, status = pto_output_open(path, &fd, error);
  if (status) return status;
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  put(&w, context);
  pto_json_object_end(&w);
  return pto_output_close(path, fd, pto_json_finish(&w), error);
}
