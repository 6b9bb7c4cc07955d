/* SPDX-License-Identifier: MIT */
#include <graph/build/name_table.h>

#include <string.h>
#include <sys/random.h>

#include <runtime/base/clock.h>

#define FIRST_CAPACITY 16u

void pto_name_table_fini(struct pto_name_table *table) {
  free(table->slots);
  *table = (struct pto_name_table){0};
}

/* ---- the hash ---- */

static uint64_t rotate(uint64_t x, uint32_t bits) { return x << bits | x >> (64 - bits); }

static void mix(uint64_t v[4], uint32_t rounds) {
  for (; rounds > 0; rounds--) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
  }
}

static void take_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  mix(v, 2);
  v[0] ^= word;
}

uint64_t pto_name_hash(const uint64_t key[2], const void *bytes, size_t size) {
  uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                   key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
  const unsigned char *at = bytes;
  uint64_t last = (uint64_t)size << 56;
  for (size_t left = size; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, at, sizeof word); /* little-endian, as all that runs this */
    take_word(v, word);
  }
  for (size_t i = 0; i < size % sizeof(uint64_t); i++) last |= (uint64_t)at[i] << (8 * i);
  take_word(v, last);
  v[2] ^= 0xff;
  mix(v, 4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Where the system has no random bytes to give, the address and the clock are what little is left. */
static void draw_key(struct pto_name_table *table) {
  if (getrandom(table->key, sizeof table->key, GRND_NONBLOCK) == (ssize_t)sizeof table->key) return;
  table->key[0] = pto_mix64((uintptr_t)table);
  table->key[1] = pto_mix64(pto_clock_ns());
}

/* ---- the table ---- */

/* The name's slot, or the free one where it belongs. */
static struct pto_name_table_slot *find(const struct pto_name_table *table, const char *name) {
  uint64_t i = pto_name_hash(table->key, name, strlen(name)) & (table->capacity - 1);
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
  if (!table->capacity) draw_key(table);
  memcpy(larger.key, table->key, sizeof larger.key);
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
