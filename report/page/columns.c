/* SPDX-License-Identifier: MIT */
#include <report/page/columns.h>

#include <stdlib.h>
#include <string.h>

#include <pto/runtime.h>
#include <runtime/base/base.h>

#if PTO_HAVE_ZLIB
#include <zlib.h>
#endif

#define MOST_BYTES 10 /* of one number: 64 bits, 7 a byte */

static bool reserve(struct pto_column *column, size_t more) {
  if (column->has_failed) return false;
  if (column->capacity - column->used >= more) return true;
  const size_t capacity = 2 * column->capacity + more + 1024;
  unsigned char *bytes = realloc(column->bytes, capacity);
  if (!bytes) {
    column->has_failed = true;
    return false;
  }
  column->bytes = bytes;
  column->capacity = capacity;
  return true;
}

void pto_column_put(struct pto_column *column, uint64_t value) {
  if (!reserve(column, MOST_BYTES)) return;
  for (; value > 0x7f; value >>= 7) column->bytes[column->used++] = (unsigned char)(value | 0x80);
  column->bytes[column->used++] = (unsigned char)value;
}

void pto_column_put_signed(struct pto_column *column, int64_t value) {
  const uint64_t bits = (uint64_t)value;
  pto_column_put(column, (bits << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void pto_columns_fini(struct pto_column *columns, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) free(columns[i].bytes);
  memset(columns, 0, count * sizeof *columns);
}

bool pto_columns_can_write(void) { return PTO_HAVE_ZLIB; }

#if PTO_HAVE_ZLIB

static void put_base64(const unsigned char *bytes, size_t count, FILE *to) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    const size_t left = count - i;
    const uint32_t bits =
        (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
    const char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], left > 1 ? digits[bits >> 6 & 63] : '=',
                          left > 2 ? digits[bits & 63] : '='};
    fwrite(four, 1, sizeof four, to);
  }
}

/* All columns in one piece, each with its length. */
static int join(struct pto_column *columns, uint32_t count, struct pto_column *all) {
  for (uint32_t i = 0; i < count; i++) {
    const size_t used = columns[i].used;
    if (columns[i].has_failed || used > UINT32_MAX || !reserve(all, used + 4)) return PTO_ENOMEM;
    for (uint32_t byte = 0; byte < 4; byte++) all->bytes[all->used++] = (unsigned char)(used >> 8 * byte);
    if (used) memcpy(all->bytes + all->used, columns[i].bytes, used);
    all->used += used;
  }
  return PTO_OK;
}

int pto_columns_write(struct pto_column *columns, uint32_t count, FILE *to) {
  struct pto_column all = {0};
  unsigned char *packed = NULL;
  uLongf packed_bytes = 0;
  int status = join(columns, count, &all);
  pto_columns_fini(columns, count);
  if (status == PTO_OK) {
    packed_bytes = compressBound(all.used);
    packed = malloc(packed_bytes);
    if (!packed || compress2(packed, &packed_bytes, all.bytes, all.used, Z_BEST_COMPRESSION) != Z_OK)
      status = PTO_ENOMEM;
  }
  if (status == PTO_OK) put_base64(packed, packed_bytes, to);
  free(packed);
  pto_columns_fini(&all, 1);
  return status;
}

#else

int pto_columns_write(struct pto_column *columns, uint32_t count, FILE *to) {
  (void)to;
  pto_columns_fini(columns, count);
  return PTO_ENOTSUP;
}

#endif
