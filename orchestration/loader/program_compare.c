/* SPDX-License-Identifier: MIT */
/*
 * The digest of outputs, and outputs against goldens.  Part of program_run.h; keeps no state.
 */
#include <orchestration/loader/program_state.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/dtype.h>

uint64_t pto_program_run_digest(const struct pto_program_run *run) {
  uint64_t digest = 0;
  for (uint32_t i = 0; i < run->array_count; i++) {
    const struct pto_array *array = &run->arrays[i]->array;
    if (pto_array_is_output(array)) digest = pto_xxh64(array->data, array->size_bytes, digest);
  }
  return digest;
}

/* ---- comparison ---- */

/* The golden value as the array's dtype holds it. */
static double as_stored(const struct pto_array *array, double golden) {
  uint64_t memory = 0;
  struct pto_array one = *array;
  one.data = &memory;
  pto_array_set(&one, 0, golden);
  return pto_array_get(&one, 0);
}

static bool is_within(const struct pto_array *array, double actual, double golden, double rtol, double atol) {
  if (isnan(golden) || isnan(actual)) return isnan(golden) && isnan(actual);
  if (rtol == 0 && atol == 0) {
    double stored = as_stored(array, golden);
    return actual == stored && signbit(actual) == signbit(stored);
  }
  if (isinf(golden) || isinf(actual)) return actual == golden;
  return fabs(actual - golden) <= atol + rtol * fabs(golden);
}

static double error_of(double actual, double golden) {
  if (actual == golden || (isnan(actual) && isnan(golden))) return 0;
  double error = fabs(actual - golden);
  return isnan(error) ? (double)INFINITY : error;
}

/* "3,17" for row-major `index`. */
static void format_index(const struct pto_array *array, uint64_t index, char *text, size_t size) {
  uint64_t parts[PTO_MAX_DIMS];
  for (uint32_t i = array->ndims; i-- > 0; index /= array->shape[i]) parts[i] = index % array->shape[i];
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < array->ndims && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? "," : "", (unsigned long long)parts[i]);
}

/* For the sentence: printf shows the sign of a NaN, which means nothing here. */
static double without_nan_sign(double value) { return isnan(value) ? (double)NAN : value; }

static void compare_array(const struct pto_array *array, double rtol, double atol, struct pto_comparison *comparison) {
  comparison->has_golden = true;
  comparison->compared += array->numel;
  for (uint64_t i = 0; i < array->numel; i++) {
    double actual = pto_array_get(array, i), golden = array->golden[i], error = error_of(actual, golden);
    if (error > comparison->max_abs_error) comparison->max_abs_error = error;
    comparison->nans += isnan(actual) && isnan(golden);
    if (is_within(array, actual, golden, rtol, atol)) continue;
    if (comparison->mismatches++ > 0) continue;
    comparison->array = array;
    comparison->index = i;
    comparison->actual = actual;
    comparison->golden = golden;
  }
}

void pto_program_run_compare(const struct pto_program_run *run, double rtol, double atol,
                             struct pto_comparison *comparison) {
  memset(comparison, 0, sizeof *comparison);
  for (uint32_t i = 0; i < run->array_count; i++) {
    const struct pto_array *array = &run->arrays[i]->array;
    if (pto_array_is_output(array) && array->golden) compare_array(array, rtol, atol, comparison);
  }
  comparison->is_verified = comparison->has_golden && comparison->mismatches == 0;
  if (comparison->mismatches == 0) return;
  char place[PTO_MAX_DIMS * 21];
  format_index(comparison->array, comparison->index, place, sizeof place);
  snprintf(comparison->sentence, sizeof comparison->sentence,
           "output %.40s[%.80s]: %.9g instead of %.9g (%llu of %llu elements differ, by %.3g at most)",
           comparison->array->name, place, without_nan_sign(comparison->actual), without_nan_sign(comparison->golden),
           (unsigned long long)comparison->mismatches, (unsigned long long)comparison->compared,
           comparison->max_abs_error);
}

bool pto_program_run_is_exact(const struct pto_program_run *run) {
  for (uint32_t i = 0; i < run->array_count; i++) {
    const struct pto_array *array = &run->arrays[i]->array;
    if (pto_array_is_output(array) && pto_dtype_is_real(array->dtype)) return false;
  }
  return true;
}
