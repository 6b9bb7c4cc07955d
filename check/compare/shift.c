/* SPDX-License-Identifier: MIT */
#include <check/compare/shift.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define MOST_PAIRS (PTO_SHIFT_MOST * PTO_SHIFT_MOST)

/* ways[u] of all orders of a + b times have U = u: the coefficients of the product of (1 − q^(a + i)) / (1 − q^i) over
 * i = 1 … b. */
static void count_ways(uint32_t a, uint32_t b, long double *ways) {
  const uint32_t pairs = a * b;
  memset(ways, 0, (pairs + 1) * sizeof *ways);
  ways[0] = 1;
  for (uint32_t i = 1; i <= b; i++) {
    for (uint32_t u = pairs; u >= a + i && u <= pairs; u--) ways[u] -= ways[u - a - i];
    for (uint32_t u = i; u <= pairs; u++) ways[u] += ways[u - i];
  }
}

uint32_t pto_shift_rank(uint32_t a_count, uint32_t b_count, double probability) {
  long double ways[MOST_PAIRS + 1], all = 0, below = 0;
  PTO_ASSERT(a_count >= 1 && a_count <= PTO_SHIFT_MOST && b_count >= 1 && b_count <= PTO_SHIFT_MOST);
  count_ways(a_count, b_count, ways);
  for (uint32_t u = 0; u <= a_count * b_count; u++) all += ways[u];
  uint32_t rank = 0;
  while (rank <= a_count * b_count / 2 && 2 * (below + ways[rank]) <= probability * all) below += ways[rank++];
  return rank;
}

uint32_t pto_shift_least_count(double probability) {
  uint32_t count = 1;
  while (count <= PTO_SHIFT_MOST && pto_shift_rank(count, count, probability) == 0) count++;
  return count;
}

static int order(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

struct pto_shift pto_shift_between(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count,
                                   uint32_t rank) {
  int64_t differences[MOST_PAIRS];
  const uint32_t count = a_count * b_count;
  PTO_ASSERT(rank >= 1 && rank <= count && count <= MOST_PAIRS);
  for (uint32_t i = 0; i < a_count; i++)
    for (uint32_t k = 0; k < b_count; k++) differences[i * b_count + k] = (int64_t)(b[k] - a[i]);
  qsort(differences, count, sizeof *differences, order);
  return (struct pto_shift){differences[rank - 1], differences[count - rank]};
}
