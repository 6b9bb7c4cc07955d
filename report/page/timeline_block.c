/* SPDX-License-Identifier: MIT */
#include <report/page/timeline_block.h>

#include <report/page/block.h>
#include <runtime/base/base.h>

enum { COUNT, GAP, LENGTH, NAME, BUSY, ITEM_COLUMNS, TASK = BUSY, BLOCK, SPAN_COLUMNS };

static void end_item(struct pto_timeline_block *t) {
  if (t->item_spans == 0) return;
  pto_column_put_signed(&t->items[GAP], (int64_t)(t->item.begin - t->last_item_end));
  pto_column_put(&t->items[LENGTH], t->item.end - t->item.begin);
  pto_column_put(&t->items[NAME], t->item.name);
  pto_column_put(&t->items[BUSY], t->busy);
  t->last_item_end = t->item.end;
  t->item_count++;
  t->item_spans = 0;
}

static void add_to_item(struct pto_timeline_block *t, const struct pto_page_span *span) {
  if (t->item_spans == 0) {
    t->item = *span;
    t->busy = t->longest = 0;
  }
  const uint64_t busy = span->is_waiting ? 0 : span->end - span->begin;
  if (busy > t->longest) {
    t->longest = busy;
    t->item.name = span->name;
  }
  t->busy += busy;
  t->item.end = pto_max_u64(t->item.end, span->end);
  if (++t->item_spans == PTO_OVERVIEW_SPANS) end_item(t);
}

void pto_timeline_block_add(struct pto_timeline_block *t, const struct pto_page_span *span) {
  pto_column_put_signed(&t->spans[GAP], (int64_t)(span->begin - t->last_end));
  pto_column_put(&t->spans[LENGTH], span->end - span->begin);
  pto_column_put(&t->spans[NAME], span->name);
  pto_column_put_signed(&t->spans[TASK], (int64_t)span->task - t->last_task);
  pto_column_put(&t->spans[BLOCK], span->block);
  t->last_end = span->end;
  t->last_task = span->task;
  t->span_count++;
  add_to_item(t, span);
}

void pto_timeline_block_end_track(struct pto_timeline_block *t) {
  end_item(t);
  pto_column_put(&t->spans[COUNT], t->span_count);
  pto_column_put(&t->items[COUNT], t->item_count);
  t->last_end = t->last_item_end = 0;
  t->last_task = t->span_count = t->item_count = 0;
}

int pto_timeline_block_write(struct pto_timeline_block *t, const struct pto_export_info *info, FILE *to) {
  _Static_assert(sizeof t->spans / sizeof *t->spans == SPAN_COLUMNS, "a column for each number of a span");
  _Static_assert(sizeof t->items / sizeof *t->items == ITEM_COLUMNS, "a column for each number of an item");
  const int status = pto_block_write(info, "overview", t->items, ITEM_COLUMNS, to);
  const int spans_status = pto_block_write(info, "timeline", t->spans, SPAN_COLUMNS, to);
  return status ? status : spans_status;
}
