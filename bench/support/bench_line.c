/* SPDX-License-Identifier: MIT */
#include <bench/support/bench_line.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS 6 /* of a figure: no bench knows more */

/* A line is jansson's object by another name. */
static json_t *object_of(struct pto_bench_line *line) { return (json_t *)(void *)line; }

static void set(struct pto_bench_line *line, const char *key, json_t *value) {
  if (json_object_set_new(object_of(line), key, value) == 0) return;
  fprintf(stderr, "a bench has no memory for its results\n");
  exit(1);
}

struct pto_bench_line *pto_bench_line_begin(const char *bench, const char *system) {
  struct pto_bench_line *line = (struct pto_bench_line *)(void *)json_object();
  pto_bench_line_text(line, "bench", bench);
  if (system != NULL) pto_bench_line_text(line, "system", system);
  return line;
}

void pto_bench_line_text(struct pto_bench_line *line, const char *key, const char *value) {
  set(line, key, json_string(value));
}
void pto_bench_line_count(struct pto_bench_line *line, const char *key, uint64_t value) {
  set(line, key, json_integer((json_int_t)value));
}
/* Infinity and NaN, which JSON has not, become null. */
void pto_bench_line_real(struct pto_bench_line *line, const char *key, double value) {
  json_t *real = json_real(value);
  set(line, key, real != NULL ? real : json_null());
}
void pto_bench_line_bool(struct pto_bench_line *line, const char *key, bool value) {
  set(line, key, json_boolean(value));
}

void pto_bench_line_print(struct pto_bench_line *line, const struct pto_samples *samples) {
  if (samples != NULL) {
    const struct pto_samples_figures figures = pto_samples_figures(samples);
    pto_bench_line_count(line, "runs", samples->count);
    pto_bench_line_real(line, "median", figures.median);
    pto_bench_line_real(line, "min", figures.min);
    pto_bench_line_real(line, "low", figures.low);
    pto_bench_line_real(line, "high", figures.high);
  } else {
    pto_bench_line_bool(line, "summary", true);
  }
  char *text = json_dumps(object_of(line), JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(DIGITS));
  if (text == NULL) {
    fprintf(stderr, "a bench has no memory for its results\n");
    exit(1);
  }
  puts(text);
  fflush(stdout);
  free(text);
  json_decref(object_of(line));
}

double pto_bench_load(void) {
  double load = 0;
  (void)!getloadavg(&load, 1);
  return load;
}

bool pto_bench_is_quick(void) {
  const char *quick = getenv("PTO_BENCH_QUICK");
  return quick != NULL && *quick != '\0';
}

uint32_t pto_bench_repeats(uint32_t full) { return pto_bench_is_quick() && full > 3 ? 3 : full; }

uint32_t pto_bench_size(uint32_t full) { return pto_bench_is_quick() ? full / 10 : full; }
