/* SPDX-License-Identifier: MIT */
#include <check/validate/verdict.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check/predict/benchmarks.h>

#define USUAL_CHIP "a2a3"

/* ---- where a row was taken ---- */

static void find_file(const struct pto_row *row, const char *rows_path, struct pto_row_place *place) {
  const char *slash = strrchr(rows_path, '/');
  const int folder = slash ? (int)(slash + 1 - rows_path) : 0;
  const int length = snprintf(place->chip, sizeof place->chip, "%.*s%s", folder, rows_path, row->chip);
  const bool is_short = length < (int)sizeof place->chip;
  const char *path = place->chip;
  const bool is_there = is_short && row->chip[0] != '/' && access(path, R_OK) == 0;
  if (!is_there) snprintf(place->chip, sizeof place->chip, "%.*s", (int)sizeof place->chip - 1, row->chip);
}

static void find_era(const struct pto_row *row, struct pto_row_place *place) {
  struct pto_chip chip;
  struct pto_error error;
  const char *name;
  snprintf(place->chip, sizeof place->chip, USUAL_CHIP);
  place->is_prebuilt = strcmp(row->era, PTO_PREBUILT_ERA) == 0;
  if (!*row->era || place->is_prebuilt) return;
  for (uint32_t i = 0; (name = pto_chip_name_at(i)) != NULL; i++) {
    if (pto_chip_load(name, &chip, &error) || strcmp(chip.era, row->era) != 0) continue;
    snprintf(place->chip, sizeof place->chip, "%s", name);
    return;
  }
  snprintf(place->warning, sizeof place->warning, "no chip file is of era \"%.64s\": %s stands for it", row->era,
           USUAL_CHIP);
}

static void compare_era(const struct pto_row *row, struct pto_row_place *place) {
  struct pto_chip chip;
  struct pto_error error;
  if (!*row->era || pto_chip_load(place->chip, &chip, &error) || strcmp(chip.era, row->era) == 0) return;
  if (strcmp(row->era, PTO_PREBUILT_ERA) == 0 && chip.is_graph_prebuilt) return;
  snprintf(place->warning, sizeof place->warning,
           "measured in era \"%.64s\", predicted with chip %.64s of era \"%.64s\"", row->era, chip.name,
           chip.era[0] ? chip.era : "not said");
}

void pto_row_place_find(const struct pto_row *row, const char *rows_path, const char *wanted,
                        struct pto_row_place *place) {
  *place = (struct pto_row_place){.is_prebuilt = false};
  if (*row->chip)
    find_file(row, rows_path, place);
  else if (wanted)
    snprintf(place->chip, sizeof place->chip, "%s", wanted);
  else
    find_era(row, place);
  if (*row->chip || wanted) compare_era(row, place);
}

/* ---- how far off ---- */

double pto_validated_us(const struct pto_validated *validated) {
  const struct pto_prediction *p = validated->prediction;
  const bool is_window = validated->row->metric == PTO_ROW_orchestrator;
  if (validated->row->metric == PTO_ROW_edges) return 0;
  if (p->runs) return (double)(is_window ? p->window : p->makespan).median_ps * 1e-6;
  return (double)(is_window ? p->plain.window_ps : p->plain.makespan_ps) * 1e-6;
}

double pto_validated_error(const struct pto_validated *validated) {
  const struct pto_row *row = validated->row;
  double measured = row->value_us, predicted = pto_validated_us(validated);
  if (row->metric == PTO_ROW_edges) {
    measured = (double)row->edges;
    predicted = (double)validated->prediction->plain.edges;
    if (measured == predicted) return 0;
  }
  return measured > 0 ? 100 * (predicted - measured) / measured : 100;
}

double pto_row_limit(const struct pto_row *row) {
  if (row->metric == PTO_ROW_edges) return 0;
  const struct pto_benchmark *benchmark = row->metric == PTO_ROW_makespan ? pto_benchmark_find(row->row) : NULL;
  if (benchmark && benchmark->limit_percent > 0) return benchmark->limit_percent;
  if (strcmp(row->set, "calibrate") != 0) return 15;
  return row->metric == PTO_ROW_orchestrator ? 3 : 2;
}

uint64_t pto_validated_tasks(const struct pto_validated *validated) {
  const struct pto_forecast *plain = &validated->prediction->plain;
  return validated->place.is_prebuilt ? plain->kernel_tasks : plain->tasks;
}

bool pto_validated_has_counts(const struct pto_validated *validated) {
  const struct pto_row *row = validated->row;
  const struct pto_forecast *plain = &validated->prediction->plain;
  return (!row->has_tasks || row->tasks == pto_validated_tasks(validated)) &&
         (!row->has_kernel_tasks || row->kernel_tasks == plain->kernel_tasks) &&
         (!row->has_edges || row->edges == plain->edges);
}

enum pto_row_verdict pto_validated_verdict(const struct pto_validated *validated) {
  if (!validated->prediction) return PTO_ROW_UNKNOWN;
  const bool is_near = fabs(pto_validated_error(validated)) <= pto_row_limit(validated->row);
  return is_near && pto_validated_has_counts(validated) ? PTO_ROW_GOOD : PTO_ROW_FAILED;
}

/* ---- changes ---- */

struct pto_change pto_change_of(const struct pto_validated *base, const struct pto_validated *validated) {
  struct pto_change change = {
      .measured = 100 * (validated->row->value_us / base->row->value_us - 1),
      .predicted = 100 * (pto_validated_us(validated) / pto_validated_us(base) - 1),
  };
  change.is_large = fabs(change.measured) >= PTO_CHANGE_LEAST_PERCENT;
  change.has_sign = (change.measured > 0) == (change.predicted > 0) && change.predicted != 0;
  change.has_size = fabs(change.predicted - change.measured) <= fabs(change.measured) * PTO_CHANGE_SIZE_PERCENT / 100;
  return change;
}
