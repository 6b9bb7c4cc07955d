/* SPDX-License-Identifier: MIT */
/*
 * A recorded run as the page keeps it: names in JSON, and blocks of columns (report/page/columns.h) that the page opens
 * when it needs them.
 *
 *   overview   spans of all tracks, 64 in one item (report/page/timeline_block.h)
 *   timeline   the spans, by track and begin
 *   tasks      kernel, submit time and place of each task
 *   edges      of each task, its producers
 *   tensors    of each task, its parameters
 *   samples    window, heap, ready tasks and calls in flight over time
 *
 * Tracks are the orchestrator, a resolver, the schedulers and the cores.  In virtual time those before the cores are
 * what segments say; on threads the orchestrator's is what the control thread did, and there are no schedulers.
 *
 * Ids of blocks are in block.h.  Links are a run of their own, with the
 * number of ranks for one, whose tracks are lanes of links and whose spans are what they carried.
 *
 * Times are in the trace's unit; most are differences to what stands before.  Reads the trace only; memory is one
 * block's at a time, and 40 bytes a span for the sort.
 */
#ifndef PTO_REPORT_PAGE_RUN_BLOCKS_H
#define PTO_REPORT_PAGE_RUN_BLOCKS_H

#include <stdio.h>

#include <report/export/trace_events.h>

/* Writes <script> elements with the ids names, overview, timeline, tasks, edges, tensors and samples.  PTO_OK or
 * PTO_ENOMEM. */
int pto_run_blocks_write(const struct pto_trace *trace, const struct pto_export_info *info, FILE *to);
/* The same of links. */
int pto_link_blocks_write(const struct pto_trace_between *between, const struct pto_export_info *info, FILE *to);

#endif
