/* SPDX-License-Identifier: MIT */
#include <check/compare/rows.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>

struct pto_gathered *pto_gathered_add(struct pto_gathered_rows *rows, const char *name) {
  struct pto_gathered *item = pto_grow(&rows->items, &rows->count, &rows->capacity, sizeof *item);
  if (!item) return NULL;
  item->row.resource_count = 1;
  item->row.is_own = true;
  snprintf(item->row.name, sizeof item->row.name, "%s", name);
  return item;
}

struct pto_gathered *pto_gathered_find(struct pto_gathered_rows *rows, const char *name) {
  for (size_t i = 0; i < rows->count; i++)
    if (strncmp(rows->items[i].row.name, name, sizeof rows->items[i].row.name - 1) == 0) return &rows->items[i];
  return pto_gathered_add(rows, name);
}

uint64_t pto_alike_ps(json_t *group) {
  json_t *median = json_object_get(group, "median_us");
  if (!median) return pto_ps_of(json_object_get(group, "us"));
  return pto_ps_of(median) * (uint64_t)json_integer_value(json_object_get(group, "calls"));
}

static int order_rows(const void *left, const void *right) {
  const struct pto_compared *a = left, *b = right;
  const double x = fabs(pto_compared_change_us(a)) / a->resource_count,
               y = fabs(pto_compared_change_us(b)) / b->resource_count;
  return x != y ? (x < y) - (x > y) : strcmp(a->name, b->name);
}

bool pto_gathered_take(struct pto_gathered_rows *rows, const uint32_t counts[2], uint32_t rank,
                       struct pto_compared_rows *to) {
  to->items = calloc(rows->count + 1, sizeof *to->items);
  for (; to->items && to->count < rows->count; to->count++) {
    struct pto_gathered *from = &rows->items[to->count];
    struct pto_compared *row = &to->items[to->count];
    *row = from->row;
    if (rank) row->shift = pto_shift_between(from->times[0], counts[0], from->times[1], counts[1], rank);
    for (int side = 0; side < 2; side++) row->times[side] = pto_range_of(from->times[side], counts[side]);
  }
  if (to->items) qsort(to->items, to->count, sizeof *to->items, order_rows);
  free(rows->items);
  *rows = (struct pto_gathered_rows){0};
  return to->items != NULL;
}
