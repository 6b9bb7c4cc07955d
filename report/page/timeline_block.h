/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a page: the spans of all tracks in the block "timeline", and before them an item for each
 * PTO_OVERVIEW_SPANS of them in the block "overview", from which the page draws its first picture while it reads the
 * spans.
 *
 *   overview   of each track the number of its items; of each item: begin, length, name, busy time
 *   timeline   of each track the number of its spans; of each span: begin, length, name, task, block
 *
 * An item has the name of its longest span that is no waiting, and the busy time is that of all such spans.  A begin
 * is the difference to the end before.
 *
 * Spans are added track by track, by begin.  Memory that is short is told by the write.  One thread.
 */
#ifndef PTO_REPORT_PAGE_TIMELINE_BLOCK_H
#define PTO_REPORT_PAGE_TIMELINE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <report/export/trace_events.h>
#include <report/page/columns.h>

#define PTO_OVERVIEW_SPANS 64u

struct pto_page_span {
  uint64_t begin, end;
  uint32_t name, task; /* task + 1; 0: none */
  uint32_t block;
  bool is_waiting;
};

struct pto_timeline_block {
  struct pto_column spans[6], items[5];
  uint64_t last_end, last_item_end;
  uint32_t last_task, span_count, item_count; /* of the track */
  struct pto_page_span item;                  /* that is being made: from its first span's begin to the last end */
  uint64_t busy, longest;                     /* of its spans */
  uint32_t item_spans;
};

/* A zeroed one is allowed. */
void pto_timeline_block_add(struct pto_timeline_block *timeline, const struct pto_page_span *span);
void pto_timeline_block_end_track(struct pto_timeline_block *timeline);
/* Writes both blocks and frees the columns.  As pto_columns_write. */
int pto_timeline_block_write(struct pto_timeline_block *timeline, const struct pto_export_info *info, FILE *to);

#endif
