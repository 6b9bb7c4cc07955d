/* SPDX-License-Identifier: MIT */
#include <bench/support/bench_line.h>

#include <stdio.h>
#include <stdlib.h>

#define DIGITS 6 /* of a figure: no bench knows more */

static void set_real(json_t *line, const char *key, double value) {
  (void)json_object_set_new(line, key, json_real(value));
}

void pto_bench_line_print_plain(json_t *line) {
  char *text = json_dumps(line, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(DIGITS));
  if (text == NULL) {
    fprintf(stderr, "a bench made a line that is no JSON object\n");
    exit(1);
  }
  puts(text);
  fflush(stdout);
  free(text);
  json_decref(line);
}

void pto_bench_line_print(json_t *line, const struct pto_samples *samples) {
  const struct pto_samples_figures figures = pto_samples_figures(samples);
  (void)json_object_set_new(line, "runs", json_integer(samples->count));
  set_real(line, "median", figures.median);
  set_real(line, "min", figures.min);
  set_real(line, "low", figures.low);
  set_real(line, "high", figures.high);
  pto_bench_line_print_plain(line);
}

void pto_bench_line_print_ns_per_task(json_t *line, const struct pto_samples *samples) {
  set_real(line, "ns_per_task", pto_samples_median(samples));
  pto_bench_line_print(line, samples);
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
