/* SPDX-License-Identifier: MIT */
#include <device/lowering_cache.h>

#include <string.h>

#include <runtime/base/base.h>

static uint32_t id_count(const struct pto_device_program *program) {
  return program->input_count + program->output_count + program->constant_count;
}

static bool is_same_program(const struct pto_device_program *a, const struct pto_device_program *b) {
  return a->orchestrate == b->orchestrate && a->context == b->context && a->repeats == b->repeats;
}

static bool is_same(const struct pto_lowering_entry *entry, const struct pto_lowering_key *key) {
  const struct pto_device_program *a = &entry->program, *b = key->program;
  return is_same_program(a, b) && a->input_count == b->input_count && a->output_count == b->output_count &&
         a->constant_count == b->constant_count && memcmp(entry->ids, key->ids, id_count(b) * sizeof *key->ids) == 0;
}

/* The last entry takes its place. */
static void drop(struct pto_lowering_cache *cache, uint32_t index) {
  struct pto_lowering_entry *entry = &cache->entries[index];
  cache->bytes -= entry->bytes;
  pto_call_list_destroy(entry->submits);
  free(entry->ids);
  *entry = cache->entries[--cache->count];
  cache->entries[cache->count] = (struct pto_lowering_entry){0};
}

void pto_lowering_cache_fini(struct pto_lowering_cache *cache) {
  while (cache->count) drop(cache, cache->count - 1);
}

const struct pto_lowering_entry *pto_lowering_cache_find(struct pto_lowering_cache *cache,
                                                         const struct pto_lowering_key *key) {
  for (uint32_t i = 0; i < cache->count; i++)
    if (is_same(&cache->entries[i], key)) {
      cache->entries[i].last_use = ++cache->uses;
      return &cache->entries[i];
    }
  return NULL;
}

static void drop_oldest(struct pto_lowering_cache *cache) {
  uint32_t oldest = 0;
  for (uint32_t i = 1; i < cache->count; i++)
    if (cache->entries[i].last_use < cache->entries[oldest].last_use) oldest = i;
  drop(cache, oldest);
}

void pto_lowering_cache_insert(struct pto_lowering_cache *cache, const struct pto_lowering_key *key,
                               struct pto_call_list *submits) {
  const uint64_t ids_bytes = (id_count(key->program) + 1) * sizeof *key->ids;
  const uint64_t bytes = ids_bytes + (submits ? pto_call_list_bytes(submits) : 0);
  uint64_t *ids = bytes <= PTO_CALL_LIST_BYTES ? malloc(ids_bytes) : NULL;
  if (!ids) {
    pto_call_list_destroy(submits);
    return;
  }
  while (cache->count == PTO_LOWERING_ENTRIES || cache->bytes + bytes > PTO_CALL_LIST_BYTES) drop_oldest(cache);
  memcpy(ids, key->ids, id_count(key->program) * sizeof *ids);
  cache->bytes += bytes;
  cache->entries[cache->count++] =
      (struct pto_lowering_entry){.last_use = ++cache->uses,
                                  .bytes = bytes,
                                  .program = {.orchestrate = key->program->orchestrate,
                                              .context = key->program->context,
                                              .repeats = key->program->repeats,
                                              .input_count = key->program->input_count,
                                              .output_count = key->program->output_count,
                                              .constant_count = key->program->constant_count},
                                  .ids = ids,
                                  .submits = submits};
}

void pto_lowering_cache_drop_tensor(struct pto_lowering_cache *cache, uint64_t id) {
  for (uint32_t i = cache->count; i-- > 0;) {
    const struct pto_lowering_entry *entry = &cache->entries[i];
    uint32_t k = 0;
    while (k < id_count(&entry->program) && entry->ids[k] != id) k++;
    if (k < id_count(&entry->program)) drop(cache, i);
  }
}

void pto_lowering_cache_drop_program(struct pto_lowering_cache *cache, const struct pto_device_program *program) {
  for (uint32_t i = cache->count; i-- > 0;)
    if (is_same_program(&cache->entries[i].program, program)) drop(cache, i);
}
