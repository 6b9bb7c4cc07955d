/* SPDX-License-Identifier: MIT */
/*
 * Names and the numbers that they stand for: a balanced tree of the C library (tsearch), so that no file can have names
 * that make a lookup slow.
 *
 * Owns its nodes; the names are borrowed and must outlive it.  A zeroed table is an empty one.  One thread.
 */
#ifndef PTO_GRAPH_BUILD_NAME_TABLE_H
#define PTO_GRAPH_BUILD_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct pto_name_table {
  void *root;
};

void pto_name_table_fini(struct pto_name_table *table);
/* The number of the name; false where it is not there. */
bool pto_name_table_lookup(const struct pto_name_table *table, const char *name, uint32_t *number_out);
/* Inserts a name that is not there; false without memory. */
bool pto_name_table_insert(struct pto_name_table *table, const char *name, uint32_t number);

#endif
