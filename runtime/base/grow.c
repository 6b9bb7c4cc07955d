/* SPDX-License-Identifier: MIT */
#include <runtime/base/grow.h>

#include <stdlib.h>
#include <string.h>

void *pto_grow(void *items, size_t *count, size_t *capacity, size_t item_bytes) {
  char *array;
  memcpy(&array, items, sizeof array); /* a pointer of the caller's type */
  if (*count == *capacity) {
    const size_t larger = *capacity ? 2 * *capacity : 64;
    array = realloc(array, larger * item_bytes);
    if (!array) return NULL;
    memcpy(items, &array, sizeof array);
    *capacity = larger;
  }
  return memset(array + (*count)++ * item_bytes, 0, item_bytes);
}
