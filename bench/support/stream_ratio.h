/* SPDX-License-Identifier: MIT */
/*
 * STREAM loops for other shares of reads and writes: in each turn some doubles of one array are read and added up, and
 * the sum is written to some of another, both in order.
 *
 * 1:1 is STREAM's copy, 2:1 moves the bytes of its add, 0:1 fills.  Compiled as all else here (-O2).  Keeps nothing;
 * any thread.
 */
#ifndef PTO_BENCH_SUPPORT_STREAM_RATIO_H
#define PTO_BENCH_SUPPORT_STREAM_RATIO_H

#include <stdbool.h>
#include <stdint.h>

struct stream_ratio {
  uint32_t reads, writes; /* doubles a turn */
};

/* `count` turns with ordinary stores, or past the caches.  `from` and `to` are aligned to 16 bytes and do not overlap.
 * False for a ratio that is not in the list of stream_ratio.c, and where there is no such store. */
bool stream_ratio_run(struct stream_ratio ratio, double *to, const double *from, uint64_t count, bool is_past_caches);

#endif
