/* SPDX-License-Identifier: MIT */
#include <runtime/base/text.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
