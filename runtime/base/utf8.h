/* SPDX-License-Identifier: MIT */
/*
 * Text of others in UTF-8 (RFC 3629: no overlong forms, no surrogates): whether it is that, and how it is shown.
 *
 * Owns nothing; functions of their arguments alone.  Any thread.
 */
#ifndef PTO_UTF8_H
#define PTO_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that starts at `text`, 1 to 4; 0 where there is none, and at the terminating zero. */
size_t pto_utf8_length(const char *text);
bool pto_utf8_is_valid(const char *text);
/* Puts a '?' for whatever a terminal might obey, or a reader of JSON refuse: control characters (C0, DEL, C1), marks
 * that turn the direction of what follows (U+202A … U+202E, U+2066 … U+2069), separators of lines (U+2028, U+2029), and
 * bytes that are no character.  In place; the text gets no longer.  Doing it twice is doing it once. */
void pto_utf8_make_printable(char *text);

#endif
