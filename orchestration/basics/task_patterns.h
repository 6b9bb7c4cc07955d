/* SPDX-License-Identifier: MIT */
/*
 * The graphs of task_bench: what task i of a pattern reads and writes, and the fold that proves the order.
 *
 * task_bench submits them, and the benches that compare task runtimes give the very same tasks to others; so nothing
 * here depends on the runtime.  A task's number and its place in the walk say all about it.  The last tile of a task is
 * written; all others are read, but for the row of a join, which is updated too.
 *
 *   independent  reads src[i mod width], writes dst[i]
 *   chain        reads src[i mod width], updates dst[0]
 *   stencil_1d   step t, column j: reads j − 1 and j + 1 (around the edge) of the buffer of step t − 1,
 *                writes j of the other
 *   fork_join    `width` tasks read the root and write a tile each; one reads all of these and updates the root
 *   random_dag   task i updates tile i mod 64 and reads those of two of the 63 tasks before it: 3 of the last 64
 *   bgemm        for each of width tiles of C and depth k: P = fold(A, B) on AIC, C = fold(C, P) on AIV
 *
 * To add a pattern: one line in TASK_PATTERNS, and its step function that says what task i reads and writes.
 */
#ifndef PTO_ORCHESTRATION_BASICS_TASK_PATTERNS_H
#define PTO_ORCHESTRATION_BASICS_TASK_PATTERNS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TASK_MAX_PLACES 3
#define TASK_RANDOM_SPAN 64u /* random_dag reaches that far back */
#define TASK_BGEMM_DEPTH 4u  /* k steps of a tile of C */

static inline uint32_t task_fold(uint32_t into, uint32_t value) {
  uint32_t x = (into ^ (value + 0x9e3779b9u + (into << 6) + (into >> 2))) * 0x85ebca6bu;
  return x ^ x >> 13;
}

/* What a task does with its tiles; see the kernels of task_bench. */
enum task_kind { TASK_ONE, TASK_TWO, TASK_PRODUCT, TASK_UPDATE_ONE, TASK_UPDATE_TWO, TASK_JOIN, TASK_KIND_COUNT };

/* The tensor parameters of a task: tiles, each of one of the two buffers.  The last one is written. */
struct task_step {
  uint64_t tiles[TASK_MAX_PLACES];
  uint8_t buffers[TASK_MAX_PLACES];
  uint8_t count;
  uint8_t kind; /* of a join, the first parameter is `width` tiles from tiles[0] on */
};

/* Where task i is: its row of `columns` tasks, that modulo width, and its column in it. */
struct task_walk {
  uint64_t width, row, group, column, columns;
};

static inline void task_walk_advance(struct task_walk *w) {
  if (++w->column < w->columns) return;
  w->column = 0;
  w->row++;
  if (++w->group == w->width) w->group = 0;
}

/* Whether the task keeps what the written tile held. */
static inline bool task_step_is_update(const struct task_step *step) {
  return step->kind == TASK_UPDATE_ONE || step->kind == TASK_UPDATE_TWO || step->kind == TASK_JOIN;
}

static inline struct task_step task_reads_one(enum task_kind kind, uint8_t from, uint64_t tile, uint8_t to,
                                              uint64_t written) {
  return (struct task_step){.kind = (uint8_t)kind, .tiles = {tile, written}, .buffers = {from, to}, .count = 2};
}
static inline struct task_step task_reads_two(enum task_kind kind, uint8_t from, const uint64_t tiles[2], uint8_t to,
                                              uint64_t written) {
  return (struct task_step){
      .kind = (uint8_t)kind, .tiles = {tiles[0], tiles[1], written}, .buffers = {from, from, to}, .count = 3};
}

static inline struct task_step task_independent_step(const struct task_walk *w, uint64_t i) {
  return task_reads_one(TASK_ONE, 0, w->column, 1, i);
}

static inline struct task_step task_chain_step(const struct task_walk *w, uint64_t i) {
  (void)i;
  return task_reads_one(TASK_UPDATE_ONE, 0, w->column, 1, 0);
}

static inline struct task_step task_stencil_1d_step(const struct task_walk *w, uint64_t i) {
  const uint64_t j = w->column, last = w->width - 1, sides[] = {j > 0 ? j - 1 : last, j < last ? j + 1 : 0};
  const uint8_t to = (uint8_t)((w->row + 1) % 2);
  (void)i;
  return task_reads_two(TASK_TWO, (uint8_t)(1 - to), sides, to, j);
}

static inline struct task_step task_fork_join_step(const struct task_walk *w, uint64_t i) {
  (void)i;
  if (w->column < w->width) return task_reads_one(TASK_ONE, 0, 0, 1, w->column);
  return task_reads_one(TASK_JOIN, 1, 0, 0, 0);
}

/* The mix of SplitMix64: what a task draws depends on its number alone, so the graph is the same for every seed. */
static inline uint64_t task_draw(uint64_t i) {
  uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static inline struct task_step task_random_dag_step(const struct task_walk *w, uint64_t i) {
  const uint64_t span = TASK_RANDOM_SPAN, bits = task_draw(i);
  const uint64_t back[] = {1 + (bits & 0xffffffffu) % (span - 1), 1 + (bits >> 32) % (span - 1)};
  const uint64_t tiles[] = {(i + span - back[0]) % span, (i + span - back[1]) % span};
  (void)w;
  return task_reads_two(TASK_UPDATE_TWO, 0, tiles, 0, i % span);
}

/* A row is one tile of C: pairs of tasks, k = 0 … depth − 1.  Buffer 0 holds A and B, buffer 1 first C, then P. */
static inline struct task_step task_bgemm_step(const struct task_walk *w, uint64_t i) {
  const uint64_t depth = TASK_BGEMM_DEPTH, c = w->group, k = w->column / 2, p = w->width + c * depth + k;
  const uint64_t factors[] = {c * depth + k, (w->width + k) * depth + c % depth};
  (void)i;
  if (w->column % 2) return task_reads_one(TASK_UPDATE_ONE, 1, p, 1, c);
  return task_reads_two(TASK_PRODUCT, 0, factors, 1, p);
}

/* X(pattern, tasks of a row, tiles of buffer 0, tiles of buffer 1; all in terms of w and n, width and tasks) */
#define TASK_PATTERNS(X)                                                                                               \
  X(independent, w, w, n)                                                                                              \
  X(chain, w, w, 1)                                                                                                    \
  X(stencil_1d, w, w, w)                                                                                               \
  X(fork_join, w + 1, 1, w)                                                                                            \
  X(random_dag, w, TASK_RANDOM_SPAN, 1)                                                                                \
  X(bgemm, 2 * TASK_BGEMM_DEPTH, (w + TASK_BGEMM_DEPTH) * TASK_BGEMM_DEPTH, w + w * TASK_BGEMM_DEPTH)

struct task_pattern {
  const char *name;
  struct task_step (*step)(const struct task_walk *walk, uint64_t i);
};

static const struct task_pattern task_patterns[] = {
#define X(name_, columns_, first_, second_) {#name_, task_##name_##_step},
    TASK_PATTERNS(X)
#undef X
};

/* NULL where there is none of that name. */
static inline const struct task_pattern *task_pattern_find(const char *name) {
  for (unsigned i = 0; i < sizeof task_patterns / sizeof task_patterns[0]; i++)
    if (strcmp(task_patterns[i].name, name) == 0) return &task_patterns[i];
  return NULL;
}

/* The walk from task 0 on, and how many tiles each buffer has. */
static inline struct task_walk task_pattern_begin(const struct task_pattern *pattern, uint64_t w, uint64_t n,
                                                  uint64_t tiles[2]) {
  const uint64_t sizes[][3] = {
#define X(name_, columns_, first_, second_) {columns_, first_, second_},
      TASK_PATTERNS(X)
#undef X
  };
  const uint64_t *mine = sizes[pattern - task_patterns];
  tiles[0] = mine[1];
  tiles[1] = mine[2];
  return (struct task_walk){.width = w, .columns = mine[0]};
}

#endif
