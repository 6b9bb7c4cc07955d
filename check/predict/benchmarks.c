/* SPDX-License-Identifier: MIT */
#include <check/predict/benchmarks.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>

#define BANDWIDTH_ALONE 5

static const struct pto_benchmark benchmarks[] = {
    {"alternating C1", "alternating_matmul_add", "C1", NULL, 0, BANDWIDTH_ALONE},
    {"PAU C1", "paged_attention_unroll", "C1", NULL, 0, 0},
    {"PAU C2", "paged_attention_unroll", "C2", NULL, 0, 0},
    {"BPA C1", "batch_paged_attention", "C1", NULL, 0, 0},
    {"HBG PA", "paged_attention", "256x16x128x128x8192", "dtype=bf16", 131072, 0},
    {"bgemm C0", "bgemm", "C0", NULL, 0, 0},
    {"sliding_window_deps", "sliding_window_deps", "C0", NULL, 0, 0},
};

const struct pto_benchmark *pto_benchmark_find(const char *row) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(benchmarks); i++)
    if (strcmp(benchmarks[i].row, row) == 0) return &benchmarks[i];
  return NULL;
}

const char *pto_benchmark_words(const struct pto_benchmark *benchmark, char *text, size_t size) {
  char window[32] = "";
  if (benchmark->window) snprintf(window, sizeof window, " --window %" PRIu32, benchmark->window);
  snprintf(text, size, "%s --case %s%s%s%s", benchmark->program, benchmark->case_name,
           benchmark->setting ? " --set " : "", benchmark->setting ? benchmark->setting : "", window);
  return text;
}

void pto_benchmark_options(const struct pto_benchmark *benchmark, struct pto_config *config,
                           struct pto_session_options *options) {
  *config = (struct pto_config){.size = sizeof *config, .window = benchmark->window};
  *options = (struct pto_session_options){
      .size = sizeof *options, .program = benchmark->program, .case_name = benchmark->case_name, .config = config};
  if (benchmark->setting) options->settings = (struct pto_words){&benchmark->setting, 1};
}

uint32_t pto_benchmark_deps(bool is_prebuilt) {
  return PTO_DEPS_PTO | (is_prebuilt ? (uint32_t)PTO_DEPS_SWITCH_CREATOR_EDGES : 0);
}
