/* SPDX-License-Identifier: MIT */
#include <cli/run/values.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>
#include <sim/virtual/jitter.h>

int pto_parse_u64(const char *text, uint64_t least, uint64_t most, uint64_t *value, struct pto_error *error) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  /* strtoull takes blanks and a minus; we do not. */
  if (text[0] < '0' || text[0] > '9' || *end || errno || number < least || number > most)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no number from %" PRIu64 " to %" PRIu64, text, least, most);
  *value = number;
  return PTO_OK;
}

int pto_parse_bytes(const char *text, uint64_t *bytes, struct pto_error *error) {
  char *end;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  uint32_t shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (text[0] < '0' || text[0] > '9' || end[shift > 0] || errno || number > UINT64_MAX >> shift)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no number of bytes (a suffix K, M or G is fine)", text);
  *bytes = number << shift;
  return PTO_OK;
}

int pto_parse_double(const char *text, double *value, struct pto_error *error) {
  char *end;
  double number = strtod(text, &end);
  if (end == text || *end || !isfinite(number) || number < 0)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is no finite number of at least 0", text);
  *value = number;
  return PTO_OK;
}

int pto_parse_jitter(const char *text, uint32_t *ppm, struct pto_error *error) {
  char *end;
  const double percent = strtod(text, &end), most = PTO_JITTER_MOST_PPM / 1e4;
  if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= most))
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is nothing from 0%% to %g%%, such as 5%% or 0.5%%", text, most);
  *ppm = (uint32_t)lround(percent * 1e4);
  return PTO_OK;
}

int pto_string_list_add(struct pto_string_list *list, const char *text, struct pto_error *error) {
  const char **item = pto_grow(&list->items, &list->count, &list->capacity, sizeof *item);
  if (!item) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  *item = text;
  return PTO_OK;
}
