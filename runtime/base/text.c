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

/* ---- files of text ---- */

static int check(const char *path, int fd, struct pto_error *error) {
  struct stat about;
  if (fd < 0 || fstat(fd, &about) != 0) return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
  if (S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", path, strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) return pto_error_set(error, PTO_EINVAL, "%.400s: no regular file", path);
  if ((uint64_t)about.st_size <= PTO_TEXT_FILE_BYTES) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%.400s: %jd bytes, at most %" PRIu64 " are read", path,
                       (intmax_t)about.st_size, PTO_TEXT_FILE_BYTES);
}

/* Does not wait for who opens the other end of a FIFO. */
FILE *pto_text_file_open(const char *path, struct pto_error *error) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const int status = check(path, fd, error);
  FILE *stream = status ? NULL : fdopen(fd, "r");
  if (stream) return stream;
  if (!status) pto_error_set(error, PTO_ENOMEM, "%.400s: %s", path, strerror(errno));
  if (fd >= 0) close(fd);
  return NULL;
}
