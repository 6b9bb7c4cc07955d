/* SPDX-License-Identifier: MIT */
#include <graph/build/name_table.h>

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct named {
  const char *name;
  uint32_t number;
};

static int compare(const void *a, const void *b) {
  return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

void pto_name_table_fini(struct pto_name_table *table) {
  tdestroy(table->root, free);
  table->root = NULL;
}

bool pto_name_table_lookup(const struct pto_name_table *table, const char *name, uint32_t *number_out) {
  const struct named key = {.name = name};
  struct named *const *node = tfind(&key, &table->root, compare);
  if (node) *number_out = (*node)->number;
  return node != NULL;
}

bool pto_name_table_insert(struct pto_name_table *table, const char *name, uint32_t number) {
  struct named *entry = malloc(sizeof *entry);
  if (!entry) return false;
  *entry = (struct named){name, number};
  if (tsearch(entry, &table->root, compare)) return true;
  free(entry);
  return false;
}
