/* SPDX-License-Identifier: MIT */
#include <runtime/base/closest.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Of the letters of names, which are ASCII. */
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Row by row of the table of distances between beginnings of the two words; both have at most PTO_CLOSEST_MAX letters.
 */
static uint32_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  uint32_t rows[3][PTO_CLOSEST_MAX + 1];
  uint32_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (uint32_t j = 0; j <= b_length; j++) last[j] = j;
  for (uint32_t i = 1; i <= a_length; i++) {
    row[0] = i;
    for (uint32_t j = 1; j <= b_length; j++) {
      const char x = lower(a[i - 1]), y = lower(b[j - 1]);
      row[j] = least(last[j - 1] + (x != y), least(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y) row[j] = least(row[j], before[j - 2] + 1);
    }
    uint32_t *oldest = before;
    before = last;
    last = row;
    row = oldest;
  }
  return last[b_length];
}

void pto_closest_begin(struct pto_closest *closest, const char *wanted) {
  size_t length = strlen(wanted);
  closest->wanted = wanted;
  closest->best[0] = '\0';
  closest->distance = length > PTO_CLOSEST_MAX ? 0 : (uint32_t)(length < 6 ? 1 : length / 3) + 1;
}

void pto_closest_consider(struct pto_closest *closest, const char *word) {
  size_t length = strlen(word), wanted_length = strlen(closest->wanted);
  if (closest->distance == 0 || length > PTO_CLOSEST_MAX) return;
  uint32_t found = distance(closest->wanted, wanted_length, word, length);
  if (found >= closest->distance) return;
  closest->distance = found;
  memcpy(closest->best, word, length + 1);
}

const char *pto_closest_question(const struct pto_closest *closest, char *text) {
  text[0] = '\0';
  if (closest->best[0]) snprintf(text, PTO_CLOSEST_TEXT, "; did you mean \"%s\"?", closest->best);
  return text;
}

const char *pto_closest_among(const char *wanted, size_t length, const char *const *first, size_t count, size_t stride,
                              char *text) {
  char word[PTO_CLOSEST_MAX + 2]; /* one more letter than is near to anything */
  struct pto_closest closest;
  snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), wanted);
  pto_closest_begin(&closest, word);
  for (size_t i = 0; i < count; i++)
    pto_closest_consider(&closest, *(const char *const *)((const char *)first + i * stride));
  return pto_closest_question(&closest, text);
}
