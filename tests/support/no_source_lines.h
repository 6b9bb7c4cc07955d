/* SPDX-License-Identifier: MIT */
/*
 * In place of report/findings/source_lines.c: no line of a source is known, and libdw, which is not made for a lack of
 * memory, is not asked.  For the one source of a test program that includes this.
 */
#ifndef PTO_NO_SOURCE_LINES_H
#define PTO_NO_SOURCE_LINES_H

#include <string.h>

#include <report/findings/source_lines.h>

struct pto_source_lines *pto_source_lines_create(void) {
  return NULL;
}
void pto_source_lines_destroy(struct pto_source_lines *lines) { (void)lines; }
void pto_source_lines_find(struct pto_source_lines *lines, const void *call, const void *outer,
                           struct pto_source_call *found) {
  (void)lines, (void)call, (void)outer;
  memset(found, 0, sizeof *found);
}
static const char *nothing(char *text, size_t size) {
  if (size) text[0] = '\0';
  return text;
}
const char *pto_source_call_name(const struct pto_source_call *found, char *text, size_t size) {
  (void)found;
  return nothing(text, size);
}
const char *pto_source_lines_name(struct pto_source_lines *lines, const void *call, const void *outer, char *text,
                                  size_t size) {
  (void)lines, (void)call, (void)outer;
  return nothing(text, size);
}
const char *pto_source_lines_function(struct pto_source_lines *lines, const void *address, char *text, size_t size) {
  (void)lines, (void)address;
  return nothing(text, size);
}
bool pto_source_lines_share_file(const void *a, const void *b) {
  (void)a, (void)b;
  return true;
}

#endif
