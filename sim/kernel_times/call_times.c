/* SPDX-License-Identifier: MIT */
#include <sim/kernel_times/call_times.h>

#include <stdlib.h>
#include <string.h>

int pto_call_times_init(struct pto_call_times *times, const struct pto_chip *chip, const struct pto_timing *timing,
                        struct pto_error *error) {
  *times = (struct pto_call_times){.timing = timing, .stages = chip->has_stages ? &chip->stages : NULL, .chip = chip};
  if (!chip->kernel_times[0] && !chip->has_stages && !chip->half_kernel[0]) return PTO_OK;
  const int status = chip->kernel_times[0] ? pto_kernel_table_load(chip->kernel_times, &times->table, error) : PTO_OK;
  if (status != PTO_OK) return status;
  times->places = calloc(PTO_CALL_TIMES_PLACES, sizeof *times->places);
  if (times->places) return PTO_OK;
  pto_call_times_fini(times);
  return pto_error_set(error, PTO_ENOMEM, "chip %s: no memory for its kernel times", chip->name);
}

void pto_call_times_fini(struct pto_call_times *times) {
  pto_kernel_table_free(&times->table);
  free(times->places);
  *times = (struct pto_call_times){0};
}

void pto_call_times_reset(struct pto_call_times *times) {
  if (times->places) memset(times->places, 0, PTO_CALL_TIMES_PLACES * sizeof *times->places);
}

static inline uint64_t word_of(const struct pto_kernel_tensor *tensor) {
  return (uint64_t)tensor->dtype << 32 | tensor->ndims;
}

/* Notes blocks, shapes and dtypes; false: there is no room for them. */
static bool describe(struct pto_call_place *place, const struct pto_kernel_args *args) {
  uint64_t *words = place->words;
  uint32_t used = 0;
  place->block_count = args->core->block_count;
  place->tensor_count = args->tensor_count;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *tensor = &args->tensors[i];
    if (used + 1 + tensor->ndims > PTO_CALL_TIMES_WORDS) return false;
    words[used++] = word_of(tensor);
    for (uint32_t d = 0; d < tensor->ndims; d++) words[used++] = tensor->shape[d];
  }
  return true;
}

static inline bool has_shapes(const struct pto_call_place *place, const struct pto_kernel_args *args) {
  const uint64_t *word = place->words;
  if (place->block_count != args->core->block_count || place->tensor_count != args->tensor_count) return false;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *tensor = &args->tensors[i];
    if (*word++ != word_of(tensor)) return false;
    for (uint32_t d = 0; d < tensor->ndims; d++)
      if (*word++ != tensor->shape[d]) return false;
  }
  return true;
}

static inline bool is_same_cost(const struct pto_cost *a, const struct pto_cost *b) {
  return ((a->bytes_in ^ b->bytes_in) | (a->bytes_out ^ b->bytes_out) | (a->vector_elems ^ b->vector_elems) |
          (a->multiply_adds ^ b->multiply_adds) | (a->local_bytes ^ b->local_bytes) | (a->dtype ^ b->dtype) |
          (a->trips ^ b->trips) | (a->l0a_bytes ^ b->l0a_bytes) | (a->l0b_bytes ^ b->l0b_bytes)) == 0;
}

uint32_t pto_half_kernel_times(const struct pto_chip *chip, const char *name) {
  const size_t wanted = strlen(name);
  uint32_t count = 0;
  for (const char *at = chip->half_kernel; *at;) {
    const size_t length = strcspn(at, "+");
    count += length == wanted && memcmp(at, name, length) == 0;
    at += length + (at[length] == '+');
  }
  return count;
}

static PTO_COLD struct pto_call_time work_out(const struct pto_call_times *times, const struct pto_kernel *kernel,
                                              const struct pto_kernel_args *args, const struct pto_cost *cost) {
  const uint32_t kind = args->core->kind;
  struct pto_call_time time = {.load = pto_timing_load(times->timing, cost, kind),
                               .origin = pto_kernel_cost_origin(kernel, PTO_ORIGIN_ASSUMED)};
  char key[PTO_KERNEL_KEY_SIZE];
  const int length = kernel->key && times->table.count ? kernel->key(args, key, sizeof key) : 0;
  if (length > 0 && (size_t)length < sizeof key) {
    const struct pto_kernel_found found = pto_kernel_table_find(&times->table, kernel->name, kind, key);
    if (found.origin != PTO_ORIGIN_ASSUMED) {
      time.load.compute_ps = found.ps;
      time.active_cores = found.active_cores;
      time.origin = found.origin;
      return time;
    }
  }
  if (!times->stages) return time;
  time.load = pto_stages_load(times->stages, times->timing, cost, kind);
  time.origin = pto_kernel_cost_origin(kernel, PTO_ORIGIN_MODELLED);
  return time;
}

struct pto_call_time pto_call_times_find(struct pto_call_times *times, const struct pto_kernel *kernel,
                                         const struct pto_kernel_args *args, const struct pto_cost *cost) {
  /* which place it has decides nothing but how often the table is asked */
  const uint64_t mixed =
      ((uint64_t)(uintptr_t)kernel >> 4) + cost->bytes_in + 3 * cost->bytes_out + 5 * cost->vector_elems;
  struct pto_call_place *place = &times->places[(mixed ^ mixed >> 8 ^ mixed >> 16) % PTO_CALL_TIMES_PLACES];
  if (PTO_LIKELY(place->kernel == kernel && place->core_kind == args->core->kind && is_same_cost(&place->cost, cost) &&
                 (!kernel->key || has_shapes(place, args))))
    return place->time;
  struct pto_call_time time = work_out(times, kernel, args, cost);
  time.halvings = pto_half_kernel_times(times->chip, kernel->name);
  place->kernel = !kernel->key || describe(place, args) ? kernel : NULL;
  place->cost = *cost;
  place->core_kind = args->core->kind;
  place->time = time;
  return time;
}
