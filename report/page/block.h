/* SPDX-License-Identifier: MIT */
/*
 * A block of the page: columns (columns.h) in a <script> element, which the page finds by its id.  Of a rank of a world
 * the id begins with "r" and its number: r3-timeline.  Threads: any.
 */
#ifndef PTO_REPORT_PAGE_BLOCK_H
#define PTO_REPORT_PAGE_BLOCK_H

#include <report/export/trace_events.h>
#include <report/page/columns.h>

#define PTO_BLOCK_ID 32 /* characters, the end too */

/* The id of a block; returns `id` where the chip is alone, else `text`. */
const char *pto_block_id(const struct pto_export_info *info, const char *id, char text[PTO_BLOCK_ID]);
/* Writes the element and frees the columns.  As pto_columns_write. */
int pto_block_write(const struct pto_export_info *info, const char *id, struct pto_column *columns, uint32_t count,
                    FILE *to);

#endif
