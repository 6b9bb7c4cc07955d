/* SPDX-License-Identifier: MIT */
#include <check/explore/outputs.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/text.h>

static bool is_output(const struct pto_array *array) {
  return array->role != PTO_ARRAY_SCRATCH && (array->role & PTO_ARRAY_OUTPUT);
}

int pto_explore_outputs_init(struct pto_explore_outputs *outputs, struct pto_program_run *run) {
  outputs->count = 0;
  while (pto_program_run_array(run, outputs->count)) outputs->count++;
  outputs->copies = calloc(outputs->count + 1, sizeof *outputs->copies);
  if (!outputs->copies) return PTO_ENOMEM;
  for (uint32_t i = 0; i < outputs->count; i++) {
    const struct pto_array *array = pto_program_run_array(run, i);
    if (!is_output(array)) continue;
    outputs->copies[i] = malloc(array->size_bytes + 1);
    if (!outputs->copies[i]) {
      pto_explore_outputs_fini(outputs);
      return PTO_ENOMEM;
    }
    memcpy(outputs->copies[i], array->data, array->size_bytes);
  }
  return PTO_OK;
}

void pto_explore_outputs_fini(struct pto_explore_outputs *outputs) {
  for (uint32_t i = 0; outputs->copies && i < outputs->count; i++) free(outputs->copies[i]);
  free(outputs->copies);
  memset(outputs, 0, sizeof *outputs);
}

/* The first byte in which two differ; they do. */
static uint64_t first_difference(const unsigned char *a, const unsigned char *b, uint64_t size_bytes) {
  uint64_t i = 0;
  while (i + 1 < size_bytes && a[i] == b[i]) i++;
  return i;
}

/* The row-major element that holds byte `byte`; of two 4-bit ones the one that differs. */
static uint64_t element_at(const struct pto_array *array, const unsigned char *now, const unsigned char *was,
                           uint64_t byte) {
  if (pto_dtype_bits(array->dtype) == 4) return 2 * byte + ((now[byte] & 15) == (was[byte] & 15));
  return byte / pto_dtype_size(array->dtype);
}

static void format_place(const struct pto_array *array, uint64_t element, char *text, size_t size) {
  uint64_t parts[PTO_MAX_DIMS];
  for (uint32_t d = array->ndims; d-- > 0; element /= array->shape[d]) parts[d] = element % array->shape[d];
  text[0] = '\0';
  pto_text_append_numbers(text, size, ",", parts, array->ndims);
}

static void describe(const struct pto_array *array, void *copy, char *text, size_t size) {
  const unsigned char *now = array->data, *was = copy;
  const uint64_t byte = first_difference(now, was, array->size_bytes), element = element_at(array, now, was, byte);
  struct pto_array before = *array;
  char place[PTO_MAX_DIMS * 21], value_now[32], value_was[32], bits_now[24] = "", bits_was[24] = "";
  before.data = copy;
  format_place(array, element, place, sizeof place);
  snprintf(value_now, sizeof value_now, "%.9g", pto_array_get(array, element));
  snprintf(value_was, sizeof value_was, "%.9g", pto_array_get(&before, element));
  if (strcmp(value_now, value_was) != 0) {
    snprintf(text, size, "output %.40s[%s]: %s instead of %s", array->name, place, value_now, value_was);
    return;
  }
  const uint64_t element_bytes = pto_dtype_size(array->dtype), at = byte / element_bytes * element_bytes;
  pto_text_append_hex(bits_now, sizeof bits_now, now + at, element_bytes);
  pto_text_append_hex(bits_was, sizeof bits_was, was + at, element_bytes);
  snprintf(text, size, "output %.40s[%s]: %s with bits %s instead of %s", array->name, place, value_now, bits_now,
           bits_was);
}

bool pto_explore_outputs_are_same(const struct pto_explore_outputs *outputs, struct pto_program_run *run, char *text,
                                  size_t size) {
  for (uint32_t i = 0; i < outputs->count; i++) {
    const struct pto_array *array = pto_program_run_array(run, i);
    if (!outputs->copies[i] || memcmp(array->data, outputs->copies[i], array->size_bytes) == 0) continue;
    describe(array, outputs->copies[i], text, size);
    return false;
  }
  return true;
}
