/* SPDX-License-Identifier: MIT */
/*
 * All-reduces by sum in programs of several ranks: which one is asked for, and what comes of it to the last bit.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_RANKS_REDUCTION_H
#define PTO_ORCHESTRATION_RANKS_REDUCTION_H

#include <string.h>

#include <orchestration/support/kernel.h>
#include <pto/collectives.h>

/* The line of a program's options, for read_algorithm. */
#define ALGORITHM_OPTION(default_)                                                                                     \
  { "algorithm", PTO_OPTION_TEXT, default_, "of the all-reduce: one_phase, two_phase, ring or bidirectional_ring" }

static inline int read_algorithm(struct pto_program_run *run, enum pto_all_reduce *algorithm_out) {
  static const char *const names[] = {[PTO_ALL_REDUCE_ONE_PHASE] = "one_phase",
                                      [PTO_ALL_REDUCE_TWO_PHASE] = "two_phase",
                                      [PTO_ALL_REDUCE_RING] = "ring",
                                      [PTO_ALL_REDUCE_BIDIRECTIONAL_RING] = "bidirectional_ring"};
  const char *name = pto_option_text(run, "algorithm");
  for (uint32_t i = 0; i < LENGTH(names); i++) {
    if (strcmp(names[i], name) != 0) continue;
    *algorithm_out = (enum pto_all_reduce)i;
    return PTO_OK;
  }
  return pto_program_fail(run, "algorithm \"%s\" is none of one_phase, two_phase, ring, bidirectional_ring", name);
}

/* f32 elements of each rank, by rank. */
struct addends {
  const float *const *ranks;
  uint32_t rank_count;
};

/* A part of the elements, and in which order it is added: from the rank `from` on, each the `step`-th behind the last.
 */
struct addition {
  uint64_t first, end;
  uint32_t from, step;
};

static inline void add_part(const struct addends *addends, const struct addition *part, float *sum) {
  const uint32_t n = addends->rank_count;
  for (uint64_t k = part->first; k < part->end; k++)
    for (uint32_t i = 0, at = part->from; i < n; i++, at = (at + part->step) % n)
      sum[k] = i ? sum[k] + addends->ranks[at][k] : addends->ranks[at][k];
}

/* In parts, one a rank: part i begins with the rank `step` behind i, and goes round. */
static inline void add_round(const struct addends *addends, uint64_t first, uint64_t end, uint32_t step, float *sum) {
  const uint32_t n = addends->rank_count;
  for (uint32_t i = 0; i < n; i++)
    add_part(
        addends,
        &(struct addition){first + (end - first) * i / n, first + (end - first) * (i + 1) / n, (i + step) % n, step},
        sum);
}

/* sum = the `numel` elements of all ranks, added in the order that pto/collectives.h says of the algorithm. */
static inline void add_ranks(const struct addends *addends, enum pto_all_reduce algorithm, uint64_t numel, float *sum) {
  const uint32_t n = addends->rank_count;
  /* Two ranks have one way round. */
  const uint64_t half = algorithm == PTO_ALL_REDUCE_BIDIRECTIONAL_RING && n > 2 ? numel / 2 : numel;
  if (algorithm < PTO_ALL_REDUCE_RING) {
    add_part(addends, &(struct addition){0, numel, 0, 1}, sum);
    return;
  }
  add_round(addends, 0, half, 1, sum);
  add_round(addends, half, numel, n - 1, sum);
}

#endif
