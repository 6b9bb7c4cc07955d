/* SPDX-License-Identifier: MIT */
/*
 * The golden of the paged attention programs: `expect`, of the arrays and options of paged_inputs.h.
 *
 * Two passes over what a query sees in double precision, with no running maximum; the requests are shared out to
 * threads of its own, so that large cases take seconds.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_ATTENTION_PAGED_GOLDEN_H
#define PTO_ORCHESTRATION_ATTENTION_PAGED_GOLDEN_H

#include <orchestration/attention/paged_inputs.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { PTO_PAGED_ONE_PART = 1 << 24, PTO_PAGED_MAX_PARTS = 8 }; /* multiply-adds, threads */

/* The pools, each block and head of it as a matrix in strips of columns: [strips, depth, PAGED_STRIP] of floats, which
 * hold all dtypes' values and are less to move.  So a strip is read in the order in which it lies.  The columns that
 * the last strip has too many are 0. */
enum { PAGED_STRIP = 8, PAGED_MOST_ROWS = 8 };

struct paged_golden {
  const struct paged *p;
  const float *keys;   /* [pool_blocks, kv_heads] of dim × block */
  const float *values; /* [pool_blocks, kv_heads] of block × dim */
  const double *block_table;
  const double *q; /* [group_heads, dim]: the rows of one KV head, over √dim */
  double *scores;  /* [group_heads, pitch] */
  uint64_t pitch;  /* the most tokens of a request, and a cache line, so that rows do not share the places of a cache */
  double *out;     /* [group_heads, dim], part of the golden */
};

static inline uint64_t paged_strips_size(uint64_t depth, uint64_t columns) {
  return paged_divide_up(columns, PAGED_STRIP) * PAGED_STRIP * depth;
}

/* out[rows, columns] = a[rows, depth] · b[depth, columns], or += it; b is the first `depth` rows of strips of
 * `b_depth`. */
struct paged_product {
  const double *a;
  const float *b;
  double *out;
  uint64_t a_pitch, b_depth, out_pitch, rows, depth, columns;
  bool adds;
};

/* A row of a strip, wherever it lies: one of the machine's vectors, or as many as it takes.  What is added to what, in
 * which order, is the same either way, and each product is added with one rounding: so the bits are too. */
typedef double paged_eight __attribute__((vector_size(64), aligned(8)));
typedef float paged_eight_floats __attribute__((vector_size(32), aligned(4)));

/* The sums of a tile, rows × a strip, are in registers. */
static inline __attribute__((always_inline)) void paged_tile(const struct paged_product *m, uint64_t row, uint64_t rows,
                                                             uint64_t column) {
  const float *strip = m->b + column * m->b_depth;
  double *const out = m->out + row * m->out_pitch + column;
  paged_eight sums[PAGED_MOST_ROWS] = {{0}};
#pragma GCC unroll 8
  for (uint64_t h = 0; h < rows; h++)
    if (m->adds) sums[h] = *(paged_eight *)(void *)(out + h * m->out_pitch);
  for (uint64_t k = 0; k < m->depth; k++) {
    const void *const at = strip + k * PAGED_STRIP;
    const paged_eight b = __builtin_convertvector(*(const paged_eight_floats *)at, paged_eight);
#pragma GCC unroll 8
    for (uint64_t h = 0; h < rows; h++) {
      const double a = m->a[(row + h) * m->a_pitch + k];
      const paged_eight sum = sums[h];
      sums[h] = (paged_eight){fma(a, b[0], sum[0]), fma(a, b[1], sum[1]), fma(a, b[2], sum[2]), fma(a, b[3], sum[3]),
                              fma(a, b[4], sum[4]), fma(a, b[5], sum[5]), fma(a, b[6], sum[6]), fma(a, b[7], sum[7])};
    }
  }
#pragma GCC unroll 8
  for (uint64_t h = 0; h < rows; h++) *(paged_eight *)(void *)(out + h * m->out_pitch) = sums[h];
}

static inline __attribute__((always_inline)) void paged_multiply(const struct paged_product *m, uint64_t tile_rows) {
  uint64_t column = 0;
  for (; column + PAGED_STRIP <= m->columns; column += PAGED_STRIP) {
    uint64_t row = 0;
    for (; row + tile_rows <= m->rows; row += tile_rows) paged_tile(m, row, tile_rows, column);
    for (; row < m->rows; row++) paged_tile(m, row, 1, column);
  }
  for (uint64_t c = 0; column + c < m->columns; c++)
    for (uint64_t row = 0; row < m->rows; row++) {
      double *const out = &m->out[row * m->out_pitch + column + c], sum = m->adds ? *out : 0;
      for (uint64_t k = 0; k < m->depth; k++)
        sum = fma(m->a[row * m->a_pitch + k], (double)m->b[column * m->b_depth + k * PAGED_STRIP + c], sum);
      *out = sum;
    }
}

/* By instruction set: as many rows as there are registers for. */
static void paged_multiply_plain(const struct paged_product *m) { paged_multiply(m, 4); }
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void paged_multiply_avx2(const struct paged_product *m) {
  paged_multiply(m, 4);
}
#if defined(__clang__)
#define PAGED_AVX512 "avx512f"
#else
#define PAGED_AVX512 "avx512f,prefer-vector-width=512"
#endif
__attribute__((target(PAGED_AVX512))) static void paged_multiply_avx512(const struct paged_product *m) {
  paged_multiply(m, 8);
}
#endif
static inline void (*paged_choose_multiply(void))(const struct paged_product *) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return paged_multiply_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return paged_multiply_avx2;
#endif
  return paged_multiply_plain;
}

static inline void paged_golden_group(const struct paged_golden *g, uint64_t request, uint64_t kv_head, uint64_t len) {
  const struct paged *p = g->p;
  void (*const multiply)(const struct paged_product *) = paged_choose_multiply();
  const double *blocks = g->block_table + request * p->max_blocks;
  const uint64_t seen = paged_first_token(p, len), first = seen / p->block * p->block;
  for (uint64_t t = first; t < len; t += p->block) {
    const uint64_t index = (uint64_t)blocks[t / p->block] * p->kv_heads + kv_head;
    multiply(&(struct paged_product){g->q, g->keys + index * paged_strips_size(p->dim, p->block), g->scores + t, p->dim,
                                     p->dim, g->pitch, p->group_heads, p->dim, len - t < p->block ? len - t : p->block,
                                     false});
  }
  for (uint64_t h = 0; h < p->group_heads; h++) {
    double *s = g->scores + h * g->pitch, most = s[seen], sum = 0;
    for (uint64_t t = first; t < seen; t++) s[t] = 0;
    for (uint64_t t = seen + 1; t < len; t++) most = s[t] > most ? s[t] : most;
    for (uint64_t t = seen; t < len; t++) sum += s[t] = exp(s[t] - most);
    for (uint64_t t = seen; t < len; t++) s[t] *= 1 / sum;
  }
  for (uint64_t t = first; t < len; t += p->block) {
    const uint64_t index = (uint64_t)blocks[t / p->block] * p->kv_heads + kv_head;
    multiply(&(struct paged_product){g->scores + t, g->values + index * paged_strips_size(p->block, p->dim), g->out,
                                     g->pitch, p->block, p->dim, p->group_heads,
                                     len - t < p->block ? len - t : p->block, p->dim, t > first});
  }
}

/* A share of the requests, on a thread of its own: every `step`th from `first` on.  No two write the same bytes, and
 * each row is summed as it would be alone. */
struct paged_golden_part {
  struct paged_golden g; /* scores are the part's own */
  const double *q, *lens;
  double *golden;
  uint64_t first, step;
  pthread_t thread;
  bool has_thread;
};

static void *paged_golden_main(void *argument) {
  struct paged_golden_part *part = argument;
  const struct paged *p = part->g.p;
  for (uint64_t request = part->first; request < p->batch; request += part->step)
    for (uint64_t kv_head = 0; kv_head < p->kv_heads; kv_head++) {
      uint64_t first = (request * p->heads + kv_head * p->group_heads) * p->dim;
      part->g.q = part->q + first;
      part->g.out = part->golden + first;
      paged_golden_group(&part->g, request, kv_head, (uint64_t)part->lens[request]);
    }
  return NULL;
}

/* One where a thread would take longer to start than to do its part. */
static inline uint64_t paged_part_count(const struct paged *p) {
  const uint64_t multiply_adds = 2 * p->batch * p->heads * p->max_blocks * p->block * p->dim;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t count = multiply_adds < PTO_PAGED_ONE_PART || cpus < 1 ? 1 : (uint64_t)cpus;
  if (count > PTO_PAGED_MAX_PARTS) count = PTO_PAGED_MAX_PARTS;
  return count < p->batch ? count : p->batch;
}

/* A part without a thread is done here. */
static inline void paged_run_parts(struct paged_golden_part *parts, uint64_t count) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the caller's */
  for (uint64_t i = 1; i < count; i++)
    parts[i].has_thread = pthread_create(&parts[i].thread, NULL, paged_golden_main, &parts[i]) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  for (uint64_t i = 0; i < count; i++)
    if (!parts[i].has_thread) paged_golden_main(&parts[i]);
  for (uint64_t i = 1; i < count; i++)
    if (parts[i].has_thread) pthread_join(parts[i].thread, NULL);
}

/* A pool [pool_blocks, block, kv_heads, dim] in strips, of keys turned (dim × block), of values as they are (block ×
 * dim); NULL where there is no memory. */
static inline const float *paged_strips(struct pto_program_run *run, const struct paged *p, const char *pool,
                                        bool turned) {
  const struct pto_array *from = pto_program_find(run, pool);
  const uint64_t depth = turned ? p->dim : p->block, size = paged_strips_size(depth, turned ? p->block : p->dim);
  float *strips = pto_program_alloc(run, p->pool_blocks * p->kv_heads * size * sizeof *strips);
  uint64_t index = 0;
  for (uint64_t b = 0; strips && b < p->pool_blocks; b++)
    for (uint64_t t = 0; t < p->block; t++)
      for (uint64_t head = 0; head < p->kv_heads; head++)
        for (uint64_t i = 0; i < p->dim; i++) {
          const uint64_t row = turned ? i : t, column = turned ? t : i;
          strips[(b * p->kv_heads + head) * size + (column / PAGED_STRIP * depth + row) * PAGED_STRIP +
                 column % PAGED_STRIP] = (float)pto_array_get(from, index++);
        }
  return strips;
}

/* The `expect` of all of them: their state begins with a struct paged. */
static inline int expect(struct pto_program_run *run) {
  const struct paged *p = pto_program_state(run, sizeof *p);
  const double *lens = exact_copy(run, "context_lens");
  double *q = exact_copy(run, "q"), *golden = golden_of(run, "out");
  const struct paged_golden g = {
      .p = p,
      .keys = paged_strips(run, p, "k_pool", true),
      .values = paged_strips(run, p, "v_pool", false),
      .block_table = exact_copy(run, "block_table"),
      .pitch = p->max_blocks * p->block + 8,
  };
  if (!q || !lens || !golden || !g.keys || !g.values || !g.block_table) return PTO_ENOMEM;
  for (uint64_t i = 0; i < p->batch * p->heads * p->dim; i++) q[i] /= sqrt((double)p->dim);
  struct paged_golden_part parts[PTO_PAGED_MAX_PARTS];
  const uint64_t count = paged_part_count(p);
  for (uint64_t i = 0; i < count; i++) {
    parts[i] = (struct paged_golden_part){.g = g, .q = q, .lens = lens, .golden = golden, .first = i, .step = count};
    parts[i].g.scores = pto_program_alloc(run, p->group_heads * g.pitch * sizeof(double));
    if (!parts[i].g.scores) return PTO_ENOMEM;
  }
  paged_run_parts(parts, count);
  return PTO_OK;
}

#endif
