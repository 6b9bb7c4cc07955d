/* SPDX-License-Identifier: MIT */
#include <sim/kernel_times/call_times.h>

#include <stdlib.h>
#include <string.h>

int pto_call_times_init(struct pto_call_times *times, const struct pto_chip *chip, const struct pto_timing *timing,
                        struct pto_error *error) {
  *times = (struct pto_call_times){.timing = timing, .stages = chip->has_stages ? &chip->stages : NULL};
  if (!chip->kernel_times[0] && !chip->has_stages) return PTO_OK;
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

/* What the shapes and dtypes are; UINT32_MAX: they do not fit. */
static inline uint32_t describe(const struct pto_kernel_args *args, uint32_t *words) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *tensor = &args->tensors[i];
    if (used + 1 + 2 * tensor->ndims > PTO_CALL_TIMES_WORDS) return UINT32_MAX;
    words[used++] = tensor->dtype << 16 | tensor->ndims;
    for (uint32_t d = 0; d < tensor->ndims; d++) {
      words[used++] = (uint32_t)tensor->shape[d];
      words[used++] = (uint32_t)(tensor->shape[d] >> 32);
    }
  }
  return used;
}

static PTO_COLD struct pto_call_time work_out(const struct pto_call_times *times, const struct pto_kernel *kernel,
                                              const struct pto_kernel_args *args, const struct pto_cost *cost) {
  const uint32_t kind = args->core->kind;
  struct pto_call_time time = {.load = pto_timing_load(times->timing, cost, kind), .origin = PTO_ORIGIN_ASSUMED};
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
  time.origin = PTO_ORIGIN_MODELLED;
  return time;
}

struct pto_call_time pto_call_times_find(struct pto_call_times *times, const struct pto_kernel *kernel,
                                         const struct pto_kernel_args *args, const struct pto_cost *cost) {
  uint32_t words[PTO_CALL_TIMES_WORDS];
  const uint32_t word_count = describe(args, words);
  if (PTO_UNLIKELY(word_count == UINT32_MAX)) return work_out(times, kernel, args, cost);
  /* which place it has decides nothing but how often the table is asked */
  const uint64_t mixed = ((uint64_t)(uintptr_t)kernel >> 4) + cost->bytes_in + 3 * cost->bytes_out + 5 * cost->vector_elems;
  struct pto_call_place *place = &times->places[(mixed ^ mixed >> 8 ^ mixed >> 16) % PTO_CALL_TIMES_PLACES];
  if (PTO_LIKELY(place->kernel == kernel && place->core_kind == args->core->kind &&
                 place->block_count == args->core->block_count && place->word_count == word_count &&
                 memcmp(&place->cost, cost, sizeof *cost) == 0 && memcmp(place->words, words, word_count * 4) == 0))
    return place->time;
  place->kernel = kernel;
  place->cost = *cost;
  place->core_kind = args->core->kind;
  place->block_count = args->core->block_count;
  place->word_count = word_count;
  memcpy(place->words, words, word_count * sizeof words[0]);
  place->time = work_out(times, kernel, args, cost);
  return place->time;
}
