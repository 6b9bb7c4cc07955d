/* SPDX-License-Identifier: MIT */
#include <runtime/base/utf8.h>

#include <string.h>

#include <runtime/base/base.h>

size_t pto_utf8_length(const char *text) {
  static const struct {
    unsigned char first, last, second_min, second_max;
    uint8_t length;
  } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
               {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
               {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return s[0] != 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
    if (s[0] < forms[i].first || s[0] > forms[i].last) continue;
    if (s[1] < forms[i].second_min || s[1] > forms[i].second_max) return 0;
    for (size_t k = 2; k < forms[i].length; k++)
      if ((s[k] & 0xc0) != 0x80) return 0;
    return forms[i].length;
  }
  return 0;
}

bool pto_utf8_is_valid(const char *text) {
  size_t length;
  while ((length = pto_utf8_length(text)) > 0) text += length;
  return *text == '\0';
}

/* Of a character of `length` bytes. */
static bool is_printable(const unsigned char *s, size_t length) {
  if (length == 1) return s[0] >= 0x20 && s[0] != 0x7f;
  if (length == 2) return s[0] != 0xc2 || s[1] >= 0xa0;
  if (length != 3 || s[0] != 0xe2) return true;
  if (s[1] == 0x80) return s[2] < 0xa8 || s[2] > 0xae;
  return s[1] != 0x81 || s[2] < 0xa6 || s[2] > 0xa9;
}

void pto_utf8_make_printable(char *text) {
  char *to = text;
  while (*text) {
    const size_t length = pto_utf8_length(text);
    const bool is_kept = length > 0 && is_printable((const unsigned char *)text, length);
    if (is_kept)
      memmove(to, text, length);
    else
      *to = '?';
    to += is_kept ? length : 1;
    text += length ? length : 1;
  }
  *to = '\0';
}
