/* SPDX-License-Identifier: MIT */
#include <runtime/memory/buffer_registry.h>

#include <string.h>

bool pto_buffer_registry_init(struct pto_buffer_registry *registry, uint32_t capacity, uint16_t runtime_tag) {
  *registry = (struct pto_buffer_registry){.capacity = capacity, .free_head = PTO_NONE, .next_id = 1};
  registry->tag = (uint64_t)runtime_tag << 48;
  const uint64_t record_bytes = (uint64_t)capacity * sizeof *registry->records;
  const uint64_t label_bytes = (uint64_t)capacity * sizeof *registry->labels;
  if (!pto_reserve_init(&registry->memory, record_bytes + label_bytes + (uint64_t)capacity * sizeof *registry->ranges))
    return false;
  registry->records = registry->memory.addr;
  registry->labels = (const char **)(void *)(registry->records + capacity);
  registry->ranges = (struct pto_external_range *)(void *)(registry->labels + capacity);
  return true;
}

void pto_buffer_registry_fini(struct pto_buffer_registry *registry) { pto_reserve_fini(&registry->memory); }

void pto_buffer_registry_new_epoch(struct pto_buffer_registry *registry) {
  /* The run's 16 bits count round; the runtime's above them stay. */
  uint64_t run = (registry->tag + (UINT64_C(1) << 32)) & UINT64_C(0x0000ffff00000000);
  registry->tag = (registry->tag & UINT64_C(0xffff000000000000)) | run;
  registry->next_id = registry->outside_ids + 1;
}

struct pto_buffer_record *pto_buffer_registry_insert(struct pto_buffer_registry *registry, uint32_t kind,
                                                     uint32_t scope_depth, uint32_t *list_head) {
  uint32_t index = registry->free_head;
  if (index != PTO_NONE) {
    registry->free_head = registry->records[index].next_in_scope;
  } else {
    if (registry->used == registry->capacity) return NULL;
    index = registry->used++;
  }
  struct pto_buffer_record *record = &registry->records[index];
  *record = (struct pto_buffer_record){
      .id = registry->next_id++,
      .generation = registry->tag | index,
      .kind = kind,
      .space = PTO_NONE,
      .owner_slot = PTO_NONE,
      .scope_depth = scope_depth,
      .next_in_scope = *list_head,
      .previous_in_scope = PTO_NONE,
  };
  if (*list_head != PTO_NONE) registry->records[*list_head].previous_in_scope = index;
  *list_head = index;
  registry->live_count++;
  return record;
}

static void unlink_from_scope(struct pto_buffer_registry *registry, struct pto_buffer_record *record, uint32_t *head) {
  if (record->previous_in_scope != PTO_NONE)
    registry->records[record->previous_in_scope].next_in_scope = record->next_in_scope;
  else
    *head = record->next_in_scope;
  if (record->next_in_scope != PTO_NONE)
    registry->records[record->next_in_scope].previous_in_scope = record->previous_in_scope;
}

void pto_buffer_registry_move(struct pto_buffer_registry *registry, struct pto_buffer_record *record,
                              uint32_t *from_head, uint32_t *to_head, uint32_t scope_depth) {
  if (from_head == to_head) return;
  unlink_from_scope(registry, record, from_head);
  uint32_t index = pto_buffer_registry_index(registry, record);
  record->next_in_scope = *to_head;
  record->previous_in_scope = PTO_NONE;
  if (*to_head != PTO_NONE) registry->records[*to_head].previous_in_scope = index;
  *to_head = index;
  record->scope_depth = scope_depth;
}

void pto_buffer_registry_remove(struct pto_buffer_registry *registry, struct pto_buffer_record *record) {
  record->id = 0;
  record->kind = PTO_BUFFER_FREE;
  registry->changes++;
  record->next_in_scope = registry->free_head;
  registry->free_head = pto_buffer_registry_index(registry, record);
  registry->live_count--;
}

/* The first range that ends after `lo`, or by_base begins with it or behind it. */
static uint32_t find_first(const struct pto_buffer_registry *registry, uint64_t lo) {
  uint32_t low = 0, high = registry->range_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const struct pto_external_range *range = &registry->ranges[middle];
    if (registry->by_base ? range->lo >= lo : range->hi > lo)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void pto_buffer_registry_find_ranges(const struct pto_buffer_registry *registry, uint64_t lo, uint64_t hi,
                                     uint32_t *first_out, uint32_t *last_out) {
  const uint64_t end = registry->by_base ? lo + 1 : hi;
  uint32_t last = find_first(registry, lo);
  *first_out = last;
  while (last < registry->range_count && registry->ranges[last].lo < end) last++;
  *last_out = last;
}

bool pto_buffer_registry_find_extent(const struct pto_buffer_registry *registry, uint64_t addr, uint64_t *lo_out,
                                     uint64_t *hi_out) {
  uint64_t lo = 0, hi = 0; /* the run that is being put together */
  for (uint32_t i = registry->by_base ? 0 : find_first(registry, addr); i < registry->range_count; i++) {
    const struct pto_external_range *range = &registry->ranges[i];
    if (range->lo >= hi) {
      if (range->lo > addr) break; /* as it is where the run holds `addr` */
      lo = range->lo;
    }
    hi = pto_max_u64(hi, range->hi);
  }
  if (hi <= addr) return false;
  *lo_out = lo;
  *hi_out = hi;
  return true;
}

bool pto_buffer_registry_replace_ranges(struct pto_buffer_registry *registry, uint32_t first, uint32_t count,
                                        uint64_t lo, uint64_t hi, uint32_t space) {
  if (count == 0 && registry->range_count == registry->capacity) return false;
  struct pto_external_range *at = registry->ranges + first;
  memmove(at + 1, at + count, (registry->range_count - first - count) * sizeof *at);
  *at = (struct pto_external_range){lo, hi, space};
  registry->range_count += 1 - count;
  return true;
}

bool pto_buffer_registry_is_valid(const struct pto_buffer_registry *registry) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < registry->used; i++) {
    const struct pto_buffer_record *record = &registry->records[i];
    if (record->id == 0) continue;
    live++;
    if ((uint32_t)record->generation != i || record->kind == PTO_BUFFER_FREE) return false;
    if (record->next_in_scope != PTO_NONE && registry->records[record->next_in_scope].previous_in_scope != i)
      return false;
  }
  for (uint32_t i = 0; i < registry->range_count; i++) {
    if (registry->ranges[i].lo > registry->ranges[i].hi) return false;
    const struct pto_external_range *before = &registry->ranges[i ? i - 1 : 0];
    if (i && (registry->by_base ? before->lo >= registry->ranges[i].lo : before->hi > registry->ranges[i].lo))
      return false;
  }
  return live == registry->live_count;
}
