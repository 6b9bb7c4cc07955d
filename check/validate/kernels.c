/* SPDX-License-Identifier: MIT */
#include <check/validate/kernels.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check/calibrate/stages.h>
#include <runtime/base/grow.h>

static bool is_there(const struct pto_validated_kernels *kernels, const struct pto_validated_kernel *kernel) {
  for (size_t i = 0; i < kernels->count; i++) {
    const struct pto_validated_kernel *other = &kernels->items[i];
    if (strcmp(other->set, kernel->set) == 0 && strcmp(other->name, kernel->name) == 0 &&
        other->measured_ps == kernel->measured_ps && other->predicted_ps == kernel->predicted_ps)
      return true;
  }
  return false;
}

int pto_validated_kernels_add(struct pto_validated_kernels *kernels, const struct pto_chip *chip,
                              struct pto_error *error) {
  const struct pto_stage_fit fit = {.stages = chip->stages};
  const struct pto_stage_row *row;
  struct pto_kernel_table table;
  if (!chip->has_stages || !chip->kernel_times[0]) return PTO_OK;
  int status = pto_kernel_table_load(chip->kernel_times, &table, error);
  if (status) return status;
  for (uint32_t i = 0; status == PTO_OK && (row = pto_stage_row_at(i)) != NULL; i++) {
    const struct pto_validated_kernel kernel = {row->set, row->name, pto_stages_measured(&table, row),
                                                pto_stages_predict(chip, &fit, row)};
    if (kernel.measured_ps == 0 || row->has_launch || is_there(kernels, &kernel)) continue;
    struct pto_validated_kernel *added =
        pto_grow(&kernels->items, &kernels->count, &kernels->capacity, sizeof *kernels->items);
    if (added)
      *added = kernel;
    else
      status = pto_error_set(error, PTO_ENOMEM, "no memory for %zu kernels", kernels->count + 1);
  }
  pto_kernel_table_free(&table);
  return status;
}

double pto_validated_kernel_error(const struct pto_validated_kernel *kernel) {
  return ((double)kernel->predicted_ps / (double)kernel->measured_ps - 1) * 100;
}

double pto_validated_kernel_limit(const struct pto_validated_kernel *kernel) {
  return strcmp(kernel->set, "bpa-2026-03") == 0 || strcmp(kernel->set, "pa-2026") == 0 ? 10 : 0;
}

bool pto_validated_kernel_is_bad(const struct pto_validated_kernel *kernel) {
  const double limit = pto_validated_kernel_limit(kernel);
  return limit != 0 && fabs(pto_validated_kernel_error(kernel)) > limit;
}

void pto_validated_kernels_fini(struct pto_validated_kernels *kernels) {
  free(kernels->items);
  *kernels = (struct pto_validated_kernels){0};
}
