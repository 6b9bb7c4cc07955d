/* SPDX-License-Identifier: MIT */
/*
 * Which of the calls that can fail are worth failing: a process, and those that it forks, write each call down with a
 * hash of its call stack, and afterwards the first, the second and the last of each stack are chosen.
 *
 * The first fails before the loop that it stands in has made anything, the second where there is something to give
 * back, the last where all of it is there.  What lies between are as a rule rounds of one loop, with more of the same.
 *
 * Calls are numbered by kind from 1, as failing_calls.h and failing_malloc.h count them; a forked process counts on.
 * failing_points_map before the fork, calls of failing_points_add in any thread of the processes, and
 * failing_points_choose when they are gone.
 */
#ifndef PTO_FAILING_POINTS_H
#define PTO_FAILING_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unwind.h>

enum { MOST_POINTS = 1 << 24 }; /* 256 MiB of addresses, of which what is written takes memory */

struct failing_point {
  uint64_t stack;
  uint32_t kind, n;
};
struct failing_points {
  uint64_t count; /* may be more than there is room for */
  struct failing_point points[MOST_POINTS];
};

static struct failing_points *failing_points_map(void) {
  void *memory = mmap(NULL, sizeof(struct failing_points), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* FNV-1a, an address at a time. */
static uint64_t hash_more(uint64_t hash, uint64_t word) { return (hash ^ word) * UINT64_C(0x100000001b3); }

static _Unwind_Reason_Code hash_frame(struct _Unwind_Context *context, void *hash) {
  *(uint64_t *)hash = hash_more(*(uint64_t *)hash, _Unwind_GetIP(context));
  return _URC_NO_REASON;
}

/* The unwinder of gcc 12 with glibc 2.35 locks and allocates nothing; an older one may, once, and comes here again. */
static void failing_points_add(struct failing_points *all, uint32_t kind, uint64_t n) {
  static _Thread_local bool is_inside;
  uint64_t hash = hash_more(UINT64_C(0xcbf29ce484222325), kind);
  if (is_inside) return;
  is_inside = true;
  _Unwind_Backtrace(hash_frame, &hash);
  is_inside = false;
  const uint64_t at = __atomic_fetch_add(&all->count, 1, __ATOMIC_RELAXED);
  if (at < MOST_POINTS) all->points[at] = (struct failing_point){hash, kind, (uint32_t)n};
}

static int order_by_number(const void *a, const void *b) {
  const struct failing_point *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return (x->n > y->n) - (x->n < y->n);
}
static int order_by_stack(const void *a, const void *b) {
  const struct failing_point *x = a, *y = b;
  if (x->stack != y->stack) return x->stack < y->stack ? -1 : 1;
  return order_by_number(a, b);
}

/* Those chosen are the first of the points afterwards, by kind and number: how many. */
static size_t failing_points_choose(struct failing_points *all, uint64_t *stacks) {
  struct failing_point *points = all->points;
  size_t chosen = 0, kept = 0, rank = 0;
  *stacks = 0;
  qsort(points, all->count, sizeof *points, order_by_stack);
  for (size_t i = 0; i < all->count; i++) {
    const struct failing_point point = points[i];
    const bool is_first = i == 0 || points[i - 1].stack != point.stack;
    const bool is_last = i + 1 == all->count || points[i + 1].stack != point.stack;
    *stacks += is_first;
    rank = is_first ? 0 : rank + (points[i - 1].n != point.n); /* of two processes with one number both are met */
    if (rank < 2 || is_last) points[chosen++] = point;
  }
  qsort(points, chosen, sizeof *points, order_by_number);
  for (size_t i = 0; i < chosen; i++)
    if (i == 0 || order_by_number(&points[i - 1], &points[i]) != 0) points[kept++] = points[i];
  return kept;
}

#endif
