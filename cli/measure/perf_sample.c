/* SPDX-License-Identifier: MIT */
#include <cli/measure/perf_sample.h>

#include <ctype.h>
#include <string.h>

#define NANOSECONDS UINT64_C(1000000000)

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* At least one digit, and no overflow. */
static bool take_decimal(const char **at, uint64_t *value) {
  const char *begin = *at;
  for (*value = 0; isdigit((unsigned char)**at); (*at)++) {
    const uint64_t digit = (uint64_t)(**at - '0');
    if (*value > (UINT64_MAX - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return *at > begin;
}

/* "6349.864897009:", exactly; digits behind the ninth are dropped. */
static bool take_time(const char **at, uint64_t *time_ns) {
  uint64_t seconds, fraction = 0, unit = NANOSECONDS;
  if (!take_decimal(at, &seconds) || seconds > UINT64_MAX / NANOSECONDS - 1 || **at != '.') return false;
  for ((*at)++; isdigit((unsigned char)**at); (*at)++) {
    unit /= 10;
    fraction += (uint64_t)(**at - '0') * unit;
  }
  if (unit == NANOSECONDS || **at != ':') return false;
  (*at)++;
  *time_ns = seconds * NANOSECONDS + fraction;
  return true;
}

static void copy_text(char *to, size_t size, const char *from, size_t length) {
  if (length >= size) length = size - 1;
  memcpy(to, from, length);
  to[length] = '\0';
}

/* "cycles:u:": up to the colon before a blank. */
static bool take_event(const char **at, struct pto_perf_sample *sample) {
  size_t length = strcspn(*at, " \t\n");
  if (length < 2 || (*at)[length - 1] != ':') return false;
  copy_text(sample->event, sizeof sample->event, *at, length - 1);
  *at += length;
  return true;
}

/* Symbols and paths may hold blanks and parentheses ("f(int)", "x (deleted)"), but a module begins with / or [. */
static const char *find_module(const char *text) {
  const char *last = NULL;
  for (const char *at = strstr(text, " ("); at; at = strstr(at + 1, " (")) {
    if (at[2] == '/' || at[2] == '[') return at;
    last = at;
  }
  return last;
}

bool pto_perf_sample_parse(const char *line, struct pto_perf_sample *sample) {
  uint64_t tid;
  const char *at = skip_blanks(line);
  if (!take_decimal(&at, &tid) || tid > UINT32_MAX || (*at != ' ' && *at != '\t')) return false;
  sample->tid = (uint32_t)tid;
  at = skip_blanks(at);
  if (!take_time(&at, &sample->time_ns)) return false;
  at = skip_blanks(at);
  if (!take_decimal(&at, &sample->period)) return false;
  at = skip_blanks(at);
  if (!take_event(&at, sample)) return false;
  at = skip_blanks(at);
  size_t digits = strspn(at, "0123456789abcdefABCDEF");
  if (digits == 0 || !strchr(" \t\n", at[digits])) return false;
  at = skip_blanks(at + digits);
  size_t length = strcspn(at, "\n");
  const char *module = find_module(at);
  sample->module[0] = '\0';
  if (module && module < at + length && length > 0 && at[length - 1] == ')') {
    copy_text(sample->module, sizeof sample->module, module + 2, (size_t)(at + length - 1 - (module + 2)));
    length = (size_t)(module - at);
  }
  while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) length--;
  if (length)
    copy_text(sample->symbol, sizeof sample->symbol, at, length);
  else
    strcpy(sample->symbol, "[unknown]");
  return true;
}
