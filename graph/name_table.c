/* SPDX-License-Identifier: MIT */
#include <graph/name_table.h>

#include <string.h>

#define FIRST_CAPACITY 16u

void pto_name_table_fini(struct pto_name_table *table) {
  free(table->slots);
  *table = (struct pto_name_table){0};
}

/* FNV-1a (Fowler, Noll and Vo), mixed. */
static uint64_t hash(const char *name) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return pto_mix64(h);
}

/* The name's slot, or the free one where it belongs. */
static struct pto_name_table_slot *find(const struct pto_name_table *table, const char *name) {
  uint64_t i = hash(name) & (table->capacity - 1);
  while (table->slots[i].name && strcmp(table->slots[i].name, name) != 0) i = (i + 1) & (table->capacity - 1);
  return &table->slots[i];
}

bool pto_name_table_lookup(const struct pto_name_table *table, const char *name, uint32_t *number_out) {
  const struct pto_name_table_slot *slot = table->capacity ? find(table, name) : NULL;
  if (!slot || !slot->name) return false;
  *number_out = slot->number;
  return true;
}

bool pto_name_table_reserve(struct pto_name_table *table) {
  if (2 * ((uint64_t)table->count + 1) <= table->capacity) return true;
  struct pto_name_table larger = {.capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (uint32_t i = 0; i < table->capacity; i++)
    if (table->slots[i].name) pto_name_table_insert(&larger, table->slots[i].name, table->slots[i].number);
  free(table->slots);
  *table = larger;
  return true;
}

void pto_name_table_insert(struct pto_name_table *table, const char *name, uint32_t number) {
  struct pto_name_table_slot *slot = find(table, name);
  PTO_ASSERT(!slot->name);
  *slot = (struct pto_name_table_slot){name, number};
  table->count++;
}
