/* SPDX-License-Identifier: MIT */
#include <runtime/control/runtime_state.h>

#include <stdio.h>
#include <string.h>

#include <runtime/tensor/tensor_make.h>

/* Ranges of external memory that nothing is known of any more are looked for when there are twice as many ranges as
 * were left the last time, and this many at least. */
#define RANGES_MIN 1024u

/* Bytes of a row and of a plane of rows in a dense tensor: the coordinates of its space. */
static void grid_of(const struct pto_tensor *t, uint64_t size_bytes, uint64_t *pitch_bytes, uint64_t *plane_bytes) {
  uint64_t bits = pto_dtype_bits(t->dtype);
  *pitch_bytes = *plane_bytes = pto_max_u64(size_bytes, 1);
  if (t->ndims < 2 || t->shape[t->ndims - 1] * bits % 8) return;
  uint64_t pitch = t->shape[t->ndims - 1] * bits / 8;
  if (!pitch) return;
  *pitch_bytes = pitch;
  *plane_bytes = pitch * pto_max_u64(t->shape[t->ndims - 2], 1);
}

struct pto_buffer pto_create_buffer(struct pto_runtime *rt, uint64_t size_bytes) {
  struct pto_buffer none = {0, 0, 0, 0};
  if (pto_runtime_check(rt)) return none;
  struct pto_buffer_record *record = pto_buffer_registry_insert(&rt->buffers, PTO_BUFFER_MANAGED, rt->scope_depth,
                                                                &rt->scopes[rt->scope_depth].buffers);
  if (!record) {
    pto_space_note_table(rt, PTO_DOING_NEW_BUFFER, "buffer registry", rt->buffers.capacity, NULL);
    pto_runtime_fail(rt, PTO_ECAPACITY, "%u live buffers fill the registry", rt->buffers.live_count);
    return none;
  }
  record->size_bytes = size_bytes;
  const struct pto_buffer buffer = pto_buffer_registry_handle(record);
  if (PTO_UNLIKELY(rt->call_list != NULL)) pto_call_list_add_buffer(rt->call_list, buffer);
  return buffer;
}

/* Why a handle has no live record. */
static struct pto_tensor stale_tensor(const struct pto_runtime *rt, struct pto_buffer buffer) {
  bool is_foreign = buffer.id == 0 || (uint16_t)(buffer.generation >> 48) != rt->tag;
  return pto_tensor_invalid(PTO_MAKER_MANAGED, is_foreign ? PTO_REASON_BUFFER_FOREIGN : PTO_REASON_BUFFER_STALE,
                            buffer.id);
}

struct pto_tensor pto_managed_tensor(struct pto_runtime *rt, struct pto_buffer buffer, uint32_t dtype, uint32_t ndims,
                                     const uint64_t *shape) {
  if (!pto_buffer_registry_lookup(&rt->buffers, &buffer)) return stale_tensor(rt, buffer);
  return pto_tensor_dense(buffer, dtype, ndims, shape);
}

/* Drops ranges without registrations and without visible accesses, and their spaces.  Not between a submit's lookups
 * and its commit. */
static void collect_ranges(struct pto_runtime *rt) {
  struct pto_buffer_registry *registry = &rt->buffers;
  pto_access_map_sweep(&rt->map);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < registry->range_count; i++) {
    const struct pto_access_space *space = &rt->map.spaces[registry->ranges[i].space];
    if (space->registrations == 0 && space->entry_count == 0)
      pto_access_map_remove_space(&rt->map, registry->ranges[i].space);
    else
      registry->ranges[kept++] = registry->ranges[i];
  }
  registry->range_count = kept;
  rt->collect_ranges_at = pto_max_u64(2 * (uint64_t)kept, RANGES_MIN);
}

/* The pattern of --poison is something that was written. */
static PTO_COLD void report_allocated(const struct pto_runtime *rt, const struct pto_buffer_record *record) {
  void *addr = (void *)(uintptr_t)record->addr;
  if (rt->arena.is_checked) pto_memory_mark_fresh(addr, record->size_bytes);
  if (rt->arena.is_checked && rt->config.poison) pto_memory_mark_written(addr, record->size_bytes);
  if (rt->watch) rt->watch->allocated(rt->watch->context, record->id, record->addr, record->size_bytes);
}

bool pto_buffers_set_memory(struct pto_runtime *rt, const struct pto_tensor *t, struct pto_buffer_record *record,
                            char *addr, uint32_t owner_slot) {
  uint64_t pitch, plane;
  grid_of(t, record->size_bytes, &pitch, &plane);
  if (PTO_UNLIKELY(!pto_access_map_has_space(&rt->map))) collect_ranges(rt);
  uint32_t space = pto_access_map_add_space(&rt->map, (uint64_t)(uintptr_t)addr, record->size_bytes, pitch, plane);
  if (space == UINT32_MAX) return false;
  record->space = space;
  record->addr = (uint64_t)(uintptr_t)addr;
  record->owner_slot = owner_slot;
  pto_buffer_registry_move(&rt->buffers, record, &rt->scopes[record->scope_depth].buffers,
                           &rt->scopes[rt->scope_depth].buffers, rt->scope_depth);
  if (PTO_UNLIKELY(rt->is_memory_watched)) report_allocated(rt, record);
  if (rt->config.poison) memset(addr, 0xff, record->size_bytes);
  return true;
}

void pto_buffers_fill(struct pto_runtime *rt, const struct pto_buffer_record *record, uint32_t dtype, uint64_t bits) {
  char *addr = (char *)(uintptr_t)record->addr;
  const uint64_t size = record->size_bytes;
  if (pto_dtype_is_four_bit(dtype)) bits = (bits & 15) * 17;
  uint64_t done = pto_min_u64(pto_dtype_size(dtype), size);
  if (PTO_UNLIKELY(rt->arena.is_checked)) pto_memory_mark_written(addr, size);
  if (PTO_UNLIKELY(rt->watch != NULL) && size) rt->watch->host_writes(rt->watch->context, record->addr, size);
  memcpy(addr, &bits, done); /* the low bytes come first on what this runs on */
  for (; done < size; done += pto_min_u64(done, size - done)) memcpy(addr + done, addr, pto_min_u64(done, size - done));
}

/* ---- external memory ---- */

/* The space of [lo, hi): that of the one range which holds it, or a new one that takes in all ranges it is of. */
static uint32_t space_of_range(struct pto_runtime *rt, const struct pto_tensor *t, uint64_t lo, uint64_t hi) {
  struct pto_buffer_registry *registry = &rt->buffers;
  if (registry->range_count >= rt->collect_ranges_at || registry->range_count == registry->capacity ||
      !pto_access_map_has_space(&rt->map))
    collect_ranges(rt);
  uint32_t first, last;
  pto_buffer_registry_find_ranges(registry, lo, hi, &first, &last);
  uint64_t pitch, plane;
  grid_of(t, hi - lo, &pitch, &plane);
  if (last == first + 1 && registry->ranges[first].lo <= lo && registry->ranges[first].hi >= hi) {
    const uint32_t space = registry->ranges[first].space;
    if (rt->map.spaces[space].entry_count == 0 && registry->ranges[first].lo == lo && registry->ranges[first].hi == hi)
      pto_access_map_set_grid(&rt->map, space, pitch, plane); /* nothing depends on the old coordinates */
    return space;
  }
  uint64_t all_lo = lo, all_hi = hi;
  uint32_t registrations = 0;
  for (uint32_t i = first; i < last; i++) {
    all_lo = pto_min_u64(all_lo, registry->ranges[i].lo);
    all_hi = pto_max_u64(all_hi, registry->ranges[i].hi);
    registrations += rt->map.spaces[registry->ranges[i].space].registrations;
  }
  uint32_t space = pto_access_map_add_space(&rt->map, all_lo, all_hi - all_lo, pitch, plane);
  if (space == UINT32_MAX) return space;
  for (uint32_t i = first; i < last; i++) pto_access_map_merge_space(&rt->map, space, registry->ranges[i].space);
  for (uint32_t r = 0; r < registry->used && registrations; r++) {
    struct pto_buffer_record *record = &registry->records[r];
    if (record->kind == PTO_BUFFER_EXTERNAL && record->space != PTO_NONE && !rt->map.spaces[record->space].is_live)
      record->space = space;
  }
  pto_buffer_registry_note_change(registry);
  rt->map.spaces[space].registrations = registrations;
  if (pto_buffer_registry_replace_ranges(registry, first, last - first, all_lo, all_hi, space)) return space;
  pto_access_map_remove_space(&rt->map, space);
  return UINT32_MAX;
}

/* Live registrations have all the room that there is: within a run that ends it. */
static PTO_COLD struct pto_tensor too_many_registrations(struct pto_runtime *rt) {
  uint32_t count = rt->buffers.live_count;
  if (rt->is_running) {
    pto_space_note_table(rt, PTO_DOING_NEW_BUFFER, "buffer registry", rt->buffers.capacity, NULL);
    pto_runtime_fail(rt, PTO_ECAPACITY, "%u live buffers and registrations fill the registry", count);
  }
  return pto_tensor_invalid(PTO_MAKER_EXTERNAL, PTO_REASON_BUFFER_COUNT, count);
}

struct pto_tensor pto_external_tensor(struct pto_runtime *rt, void *addr, uint32_t dtype, uint32_t ndims,
                                      const uint64_t *shape) {
  struct pto_buffer buffer = {1, 0, (uint64_t)(uintptr_t)addr, 0};
  if (!pto_tensor_dense_bytes(dtype, ndims, shape, &buffer.size_bytes)) {
    buffer.base = PTO_CACHE_LINE; /* whatever it is, it is refused for its shape, as external */
    return pto_tensor_dense(buffer, dtype, ndims, shape);
  }
  if (!addr && buffer.size_bytes) return pto_tensor_invalid(PTO_MAKER_EXTERNAL, PTO_REASON_NULL_ADDRESS, 0);
  struct pto_tensor t = pto_tensor_dense(buffer, dtype, ndims, shape);
  if (t.status) return t;
  uint64_t lo = buffer.base, size_bytes = buffer.size_bytes;
  if (size_bytes && pto_gm_arena_overlaps(&rt->arena, lo, lo + size_bytes))
    return pto_tensor_invalid(PTO_MAKER_EXTERNAL, PTO_REASON_OWN_MEMORY, size_bytes, lo);
  uint32_t depth = rt->is_running ? rt->scope_depth : 0;
  struct pto_buffer_record *record =
      pto_buffer_registry_insert(&rt->buffers, PTO_BUFFER_EXTERNAL, depth, pto_runtime_scope_buffers(rt, depth));
  if (!record) return too_many_registrations(rt);
  if (!rt->is_running) rt->buffers.outside_ids = record->id;
  record->addr = lo;
  record->size_bytes = size_bytes;
  if (size_bytes) {
    record->space = space_of_range(rt, &t, lo, lo + size_bytes);
    if (record->space == PTO_NONE) return too_many_registrations(rt);
    rt->map.spaces[record->space].registrations++;
    if (PTO_UNLIKELY(rt->watch != NULL)) rt->watch->registered(rt->watch->context, record->id, lo, size_bytes);
  }
  t.buffer = pto_buffer_registry_handle(record);
  return t;
}

/* ---- ends ---- */

/* The scope of a buffer with memory has ended, and its task keeps it. */
static PTO_COLD void keep_released(struct pto_runtime *rt, uint32_t *list, struct pto_buffer_record *record) {
  record->is_released = true;
  pto_buffer_registry_move(&rt->buffers, record, list, &rt->rings.cold[record->owner_slot].kept, record->scope_depth);
}

void pto_buffers_end_scope(struct pto_runtime *rt, uint32_t *list) {
  for (uint32_t i = rt->config.keep_released ? *list : PTO_NONE; i != PTO_NONE;) {
    struct pto_buffer_record *record = &rt->buffers.records[i];
    i = record->next_in_scope;
    if (record->kind == PTO_BUFFER_MANAGED && record->space != PTO_NONE) keep_released(rt, list, record);
  }
  pto_space_drop_buffers(rt, list);
}

void pto_buffers_end_run(struct pto_runtime *rt) {
  struct pto_buffer_registry *registry = &rt->buffers;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < registry->range_count; i++) {
    uint32_t space = registry->ranges[i].space;
    if (rt->map.spaces[space].registrations == 0) {
      pto_access_map_remove_space(&rt->map, space);
    } else {
      pto_access_map_clear_space(&rt->map, space);
      registry->ranges[kept++] = registry->ranges[i];
    }
  }
  registry->range_count = kept;
  for (uint32_t i = rt->outside_buffers; i != PTO_NONE; i = registry->records[i].next_in_scope)
    registry->records[i].version = 0;
  pto_buffer_registry_note_change(registry);
}

void pto_buffer_label(struct pto_runtime *rt, struct pto_buffer buffer, const char *label) {
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &buffer);
  if (!record) return;
  record->has_label = label != NULL;
  rt->buffers.labels[pto_buffer_registry_index(&rt->buffers, record)] = label;
}

const char *pto_runtime_name_bytes(const struct pto_runtime *rt, uint64_t addr, char *text, size_t size) {
  text[0] = '\0';
  for (uint32_t i = 0; i < rt->buffers.used; i++) {
    const struct pto_buffer_record *record = &rt->buffers.records[i];
    const char *label = pto_buffer_registry_label(&rt->buffers, record);
    if (!record->id || !record->addr || addr < record->addr || addr - record->addr >= record->size_bytes) continue;
    if (label)
      snprintf(text, size, "%s", label);
    else
      snprintf(text, size, "buffer %llu", (unsigned long long)record->id);
    if (label) break; /* of several registrations, one that has a label */
  }
  return text;
}

uint64_t pto_get_buffer_addr(struct pto_runtime *rt, struct pto_buffer buffer) {
  if (rt->call_list) pto_call_list_spoil(rt->call_list);
  const struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &buffer);
  return record ? record->addr : 0;
}
