/* SPDX-License-Identifier: MIT */
/*
 * Names and the numbers that they stand for: an open hash table.
 *
 * Owns its slots; the names are borrowed and must outlive it.  Always true: at most half of the slots are used, so that
 * a lookup is short however many names there are; and each table hashes with a key of its own, so that no file can have
 * names that fall on one slot.  A zeroed table is an empty one.  One thread.
 */
#ifndef PTO_GRAPH_BUILD_NAME_TABLE_H
#define PTO_GRAPH_BUILD_NAME_TABLE_H

#include <runtime/base/base.h>

struct pto_name_table_slot {
  const char *name; /* NULL: free */
  uint32_t number;
};

struct pto_name_table {
  struct pto_name_table_slot *slots;
  uint32_t count, capacity;
  uint64_t key[2]; /* random, drawn with the first slots */
};

void pto_name_table_fini(struct pto_name_table *table);
/* The number of the name; false where it is not there. */
bool pto_name_table_lookup(const struct pto_name_table *table, const char *name, uint32_t *number_out);
/* Room for one more name, so that the next insert cannot fail; false without memory. */
bool pto_name_table_reserve(struct pto_name_table *table);
/* Inserts a name that is not there, after reserve. */
void pto_name_table_insert(struct pto_name_table *table, const char *name, uint32_t number);

/* SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). */
uint64_t pto_name_hash(const uint64_t key[2], const void *bytes, size_t size);

#endif
