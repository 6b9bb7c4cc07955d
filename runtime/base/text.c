/* SPDX-License-Identifier: MIT */
#include <runtime/base/text.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pto_text_append(char *text, size_t size, const char *format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, size - used, format, arguments);
  va_end(arguments);
}

void pto_text_append_numbers(char *text, size_t size, const char *separator, const uint64_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) pto_text_append(text, size, "%s%" PRIu64, i ? separator : "", values[i]);
}

void pto_text_append_hex(char *text, size_t size, const unsigned char *bytes, uint64_t count) {
  while (count-- > 0) pto_text_append(text, size, "%02x", bytes[count]);
}

bool pto_text_ends_with(const char *text, const char *ending) {
  const size_t length = strlen(text), end = strlen(ending);
  return length >= end && strcmp(text + length - end, ending) == 0;
}

/* ---- regular files ---- */

static int judge(const char *path, int failure, const struct stat *about, struct pto_error *error) {
  if (!failure && S_ISDIR(about->st_mode)) failure = EISDIR;
  if (failure) {
    pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(failure));
    errno = failure;
    return PTO_ESYSTEM;
  }
  if (!S_ISREG(about->st_mode)) return pto_error_set(error, PTO_EINVAL, "%.400s: no regular file", path);
  return PTO_OK;
}

int pto_regular_file_check(const char *path, struct pto_error *error) {
  struct stat about;
  return judge(path, stat(path, &about) == 0 ? 0 : errno, &about, error);
}

/* Does not wait for who opens the other end of a FIFO. */
static FILE *open_regular(const char *path, uint64_t most_bytes, struct pto_error *error) {
  struct stat about;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int status = judge(path, fd >= 0 && fstat(fd, &about) == 0 ? 0 : errno, &about, error);
  if (!status && (uint64_t)about.st_size > most_bytes)
    status = pto_error_set(error, PTO_EINVAL, "%.400s: %jd bytes, at most %" PRIu64 " are read", path,
                           (intmax_t)about.st_size, most_bytes);
  FILE *stream = status ? NULL : fdopen(fd, "r");
  if (stream) return stream;
  if (!status) pto_error_set(error, PTO_ENOMEM, "%.400s: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  return NULL;
}

FILE *pto_regular_file_open(const char *path, struct pto_error *error) { return open_regular(path, UINT64_MAX, error); }
FILE *pto_text_file_open(const char *path, struct pto_error *error) {
  return open_regular(path, PTO_TEXT_FILE_BYTES, error);
}
