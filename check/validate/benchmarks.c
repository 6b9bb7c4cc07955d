/* SPDX-License-Identifier: MIT */
#include <check/validate/benchmarks.h>

#include <stddef.h>
#include <string.h>

#include <runtime/base/base.h>

static const struct {
  const char *row, *run;
} benchmarks[] = {
    {"alternating C1", "alternating_matmul_add --case C1"},
    {"PAU C1", "paged_attention_unroll --case C1"},
    {"PAU C2", "paged_attention_unroll --case C2"},
    {"BPA C1", "batch_paged_attention --case C1"},
    {"HBG PA", "paged_attention --case 256x16x128x128x8192 --set dtype=bf16 --window 131072"},
    {"bgemm C0", "bgemm --case C0"},
    {"sliding_window_deps", "sliding_window_deps --case C0"},
};

const char *pto_benchmark_run(const char *row) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(benchmarks); i++)
    if (strcmp(benchmarks[i].row, row) == 0) return benchmarks[i].run;
  return NULL;
}
