/* SPDX-License-Identifier: MIT */
#include <runtime/base/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/utf8.h>

int pto_error_set(struct pto_error *error, int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->sentence, sizeof error->sentence, format, arguments);
  va_end(arguments);
  pto_utf8_make_printable(error->sentence);
  error->status = status;
  return status;
}

void pto_error_append(struct pto_error *error, const char *format, ...) {
  size_t used = strlen(error->sentence);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->sentence + used, sizeof error->sentence - used, format, arguments);
  va_end(arguments);
  pto_utf8_make_printable(error->sentence);
}

int pto_error_tell(const struct pto_error *error, char *sentence, size_t size) {
  if (sentence && size) {
    snprintf(sentence, size, "%s", error->sentence);
    pto_utf8_make_printable(sentence); /* it may have been cut within a character */
  }
  return error->status;
}

void pto_error_clear(struct pto_error *error) {
  error->status = PTO_OK;
  error->sentence[0] = '\0';
}
