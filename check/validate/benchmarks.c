/* SPDX-License-Identifier: MIT */
#include <check/validate/benchmarks.h>

#include <stddef.h>
#include <string.h>

#include <runtime/base/base.h>

static const struct {
  const char *row, *run;
  double limit_percent;
} benchmarks[] = {
    {"alternating C1", "alternating_matmul_add --case C1", 5 /* bandwidth alone makes it */},
    {"PAU C1", "paged_attention_unroll --case C1", 0},
    {"PAU C2", "paged_attention_unroll --case C2", 0},
    {"BPA C1", "batch_paged_attention --case C1", 0},
    {"HBG PA", "paged_attention --case 256x16x128x128x8192 --set dtype=bf16 --window 131072", 0},
    {"bgemm C0", "bgemm --case C0", 0},
    {"sliding_window_deps", "sliding_window_deps --case C0", 0},
};

const char *pto_benchmark_words(const char *row) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(benchmarks); i++)
    if (strcmp(benchmarks[i].row, row) == 0) return benchmarks[i].run;
  return NULL;
}

double pto_benchmark_limit(const char *row) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(benchmarks); i++)
    if (strcmp(benchmarks[i].row, row) == 0) return benchmarks[i].limit_percent;
  return 0;
}
