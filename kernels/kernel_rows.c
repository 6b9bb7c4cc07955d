/* SPDX-License-Identifier: MIT */
/*
 * Rows one by one cost a load and a store each, however few bytes they have.  Where several lie within 64 bytes on both
 * sides, a window of them is one masked load, a permutation of bytes and one masked store: see copy_in_windows.
 *
 * One core of an EPYC 9005 takes 0.17 to 0.25 ns for a row of up to 32 bytes in the first cache, 0.4 ns for one of up
 * to 64, and 0.35 to 0.5 ns for a window (`build/bench/bench_kernels strided`, rows and copy).
 */
#include <kernels/kernel_rows.h>

#include <runtime/base/base.h>

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A load waits for a store before it whose address has the same low 12 bits, as if it were the same.  Rows that go to a
 * little ahead of where others come from are therefore copied in reverse, which is up to 2.7 times as fast. */
#define PAGE 4096
static inline bool is_reverse_better(const struct pto_rows *rows) {
  return ((uintptr_t)rows->to - (uintptr_t)rows->from) % PAGE < PAGE / 2;
}

static inline struct pto_rows in_good_order(const struct pto_rows *rows) {
  struct pto_rows ordered = *rows;
  if (rows->count < 16 || !is_reverse_better(rows)) return ordered;
  ordered.to += (int64_t)(rows->count - 1) * rows->to_step;
  ordered.from += (int64_t)(rows->count - 1) * rows->from_step;
  ordered.to_step = -rows->to_step;
  ordered.from_step = -rows->from_step;
  return ordered;
}

#define PTO_LEVEL(name) name##_plain
#define PTO_ROWS_MASKED 0
#include <kernels/kernel_rows.inc>

#if defined(__x86_64__)
PTO_TARGET_PUSH(PTO_AVX2_TARGET)
#define PTO_LEVEL(name) name##_avx2
#define PTO_ROWS_MASKED 0
#include <kernels/kernel_rows.inc>
PTO_TARGET_POP

PTO_TARGET_PUSH(PTO_AVX512_TARGET)
#define PTO_LEVEL(name) name##_avx512
#define PTO_ROWS_MASKED 1
#include <kernels/kernel_rows.inc>
PTO_TARGET_POP

/* ---- windows of 64 bytes ---- */

#define WINDOW 64
#define LEAST_WINDOWS 4 /* below, to find the masks takes longer than they save */
#define LEAST_ROWS 3

/* How many rows lie within a window. */
static uint64_t rows_in_window(uint64_t row_bytes, uint64_t step) { return (WINDOW - row_bytes) / step + 1; }

PTO_TARGET_PUSH("avx512vbmi") /* which is avx512bw and avx512f too */

/* Of each byte of a window: which row it is of, and where in the row or behind it.  In 16 bits, for there is no
 * product of 8. */
struct window {
  __m512i row[2], offset[2];
};

static const uint16_t first_bytes[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static inline __m512i window_bytes(int half) {
  return _mm512_add_epi16(_mm512_loadu_si512(first_bytes), _mm512_set1_epi16((int16_t)(32 * half)));
}

/* The quotient i / step is the upper half of 2i · ⌈2^15 / step⌉, exactly for i and step up to 64. */
static inline struct window window_of(uint32_t step) {
  const __m512i inverse = _mm512_set1_epi16((int16_t)((32768 + step - 1) / step));
  const __m512i steps = _mm512_set1_epi16((int16_t)step);
  struct window w;
  PTO_UNROLL for (int half = 0; half < 2; half++) {
    const __m512i at = window_bytes(half);
    w.row[half] = _mm512_mulhi_epu16(_mm512_add_epi16(at, at), inverse);
    w.offset[half] = _mm512_sub_epi16(at, _mm512_mullo_epi16(w.row[half], steps));
  }
  return w;
}

/* The bytes of the first `count` rows. */
static inline __mmask64 rows_of(const struct window *w, uint64_t row_bytes, uint64_t count) {
  const __m512i bytes = _mm512_set1_epi16((int16_t)row_bytes), rows = _mm512_set1_epi16((int16_t)count);
  uint64_t bits[2];
  PTO_UNROLL for (int half = 0; half < 2; half++) {
    const __mmask32 is_row = _mm512_cmplt_epu16_mask(w->row[half], rows);
    bits[half] = _mm512_mask_cmplt_epu16_mask(is_row, w->offset[half], bytes);
  }
  return bits[0] | bits[1] << 32;
}

/* Byte i of a window of `to` comes from this byte of the window of `from`, if it is one of a row. */
static inline __m512i window_order(const struct window *to, int64_t to_step, int64_t from_step) {
  const __m512i further = _mm512_set1_epi16((int16_t)(from_step - to_step));
  __m256i halves[2];
  PTO_UNROLL for (int half = 0; half < 2; half++) {
    const __m512i from = _mm512_add_epi16(window_bytes(half), _mm512_mullo_epi16(to->row[half], further));
    halves[half] = _mm512_cvtepi16_epi8(from);
  }
  return _mm512_inserti64x4(_mm512_castsi256_si512(halves[0]), halves[1], 1);
}

static inline void move_window(char *to, __mmask64 is_to, __m512i order, const char *from, __mmask64 is_from) {
  _mm512_mask_storeu_epi8(to, is_to, _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(is_from, from)));
}

/* `rows` are windows here, their row_bytes of no meaning.  Two in turn, for a loop takes two cycles of a processor that
 * does one window in little more than one. */
static inline void move_windows(const struct pto_rows *rows, __mmask64 is_to, __m512i order, __mmask64 is_from) {
  const struct pto_rows w = in_good_order(rows);
  char *to = w.to;
  const char *from = w.from;
  for (uint64_t i = 0; i + 2 <= w.count; i += 2, to += 2 * w.to_step, from += 2 * w.from_step) {
    move_window(to, is_to, order, from, is_from);
    move_window(to + w.to_step, is_to, order, from + w.from_step, is_from);
  }
  if (w.count % 2 != 0) move_window(to, is_to, order, from, is_from);
}

/* The same of windows that are half as long where they lie without gaps, by twos: what is there without gaps is one
 * load or one store.  `order` is that of one window. */
#define PAIRED_BYTES (WINDOW / 2)
static inline void gather_pair(char *to, __m512i order, const char *from, int64_t from_step, __mmask64 is_from) {
  const __m512i first = _mm512_maskz_loadu_epi8(is_from, from);
  const __m512i second = _mm512_maskz_loadu_epi8(is_from, from + from_step);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi8(first, order, second));
}
static inline void scatter_pair(char *to, int64_t to_step, __mmask64 is_to, const __m512i order[2], const char *from) {
  const __m512i both = _mm512_loadu_si512(from);
  _mm512_mask_storeu_epi8(to, is_to, _mm512_permutexvar_epi8(order[0], both));
  _mm512_mask_storeu_epi8(to + to_step, is_to, _mm512_permutexvar_epi8(order[1], both));
}
/* How many windows it has done: all but an odd last. */
static inline uint64_t gather_pairs(const struct pto_rows *rows, __m512i order, __mmask64 is_from) {
  const __m512i further = _mm512_add_epi8(order, _mm512_set1_epi8(WINDOW)); /* bytes of the second window */
  const __m512i pair = _mm512_inserti64x4(order, _mm512_castsi512_si256(further), 1);
  struct pto_rows w = *rows;
  w.count /= 2;
  w.to_step *= 2;
  w.from_step *= 2;
  w = in_good_order(&w);
  for (uint64_t i = 0; i < w.count; i++, w.to += w.to_step, w.from += w.from_step)
    gather_pair(w.to, pair, w.from, rows->from_step, is_from);
  return w.count * 2;
}
static inline uint64_t scatter_pairs(const struct pto_rows *rows, __mmask64 is_to, __m512i order) {
  const __m512i orders[2] = {order, _mm512_add_epi8(order, _mm512_set1_epi8(PAIRED_BYTES))};
  struct pto_rows w = *rows;
  w.count /= 2;
  w.to_step *= 2;
  w.from_step *= 2;
  w = in_good_order(&w);
  for (uint64_t i = 0; i < w.count; i++, w.to += w.to_step, w.from += w.from_step)
    scatter_pair(w.to, rows->to_step, is_to, orders, w.from);
  return w.count * 2;
}

/* `in_window` rows at a time, and what is left of a line at its end. */
static void copy_in_windows(const struct pto_rows *rows, uint64_t in_window) {
  const uint64_t left = rows->count % in_window;
  const struct window to = window_of((uint32_t)rows->to_step), from = window_of((uint32_t)rows->from_step);
  const __m512i order = window_order(&to, rows->to_step, rows->from_step);
  const __mmask64 is_to = rows_of(&to, rows->row_bytes, in_window), is_last_to = rows_of(&to, rows->row_bytes, left);
  const __mmask64 is_from = rows_of(&from, rows->row_bytes, in_window);
  const __mmask64 is_last_from = rows_of(&from, rows->row_bytes, left);
  struct pto_rows w = {.to = rows->to,
                       .from = rows->from,
                       .to_step = (int64_t)in_window * rows->to_step,
                       .from_step = (int64_t)in_window * rows->from_step,
                       .count = rows->count / in_window};
  for (uint64_t line = 0; line < rows->lines; line++, w.to += rows->to_line, w.from += rows->from_line) {
    struct pto_rows rest = w;
    uint64_t done = 0;
    if (w.to_step == PAIRED_BYTES && rows->to_step == (int64_t)rows->row_bytes)
      done = gather_pairs(&w, order, is_from);
    else if (w.from_step == PAIRED_BYTES && rows->from_step == (int64_t)rows->row_bytes)
      done = scatter_pairs(&w, is_to, order);
    rest.count -= done;
    rest.to += (int64_t)done * w.to_step;
    rest.from += (int64_t)done * w.from_step;
    if (rest.count > 0) move_windows(&rest, is_to, order, is_from);
    if (left == 0) continue;
    move_window(w.to + (int64_t)w.count * w.to_step, is_last_to, order, w.from + (int64_t)w.count * w.from_step,
                is_last_from);
  }
}

static void copy_windows(const struct pto_rows *rows) {
  const int64_t shortest = rows->to_step < rows->from_step ? rows->to_step : rows->from_step;
  const int64_t longest = rows->to_step < rows->from_step ? rows->from_step : rows->to_step;
  if (shortest >= (int64_t)rows->row_bytes && longest <= PTO_ROWS_CLOSE_BYTES) {
    const uint64_t in_window = rows_in_window(rows->row_bytes, (uint64_t)longest);
    if (rows->count >= LEAST_ROWS && rows->count * rows->lines >= LEAST_WINDOWS * in_window) {
      copy_in_windows(rows, in_window);
      return;
    }
  }
  copy_avx512(rows);
}
PTO_TARGET_POP

static bool has_windows(void) { return __builtin_cpu_supports("avx512vbmi"); }
#endif

enum { SET_PLAIN, SET_AVX2, SET_AVX512, SET_WINDOWS, SET_COUNT };

static const struct pto_rows_set sets[SET_COUNT] = {
    [SET_PLAIN] = {"plain", copy_plain},
#if defined(__x86_64__)
    [SET_AVX2] = {"avx2", copy_avx2},
    [SET_AVX512] = {"avx512", copy_avx512},
    [SET_WINDOWS] = {"avx512 and vbmi", copy_windows},
#endif
};

static uint32_t set_of(enum pto_level level) {
#if defined(__x86_64__)
  if (level == PTO_LEVEL_AVX512) return has_windows() ? SET_WINDOWS : SET_AVX512;
  return level == PTO_LEVEL_AVX2 ? SET_AVX2 : SET_PLAIN;
#else
  return SET_PLAIN;
#endif
}

pto_rows_loop *pto_rows_best(void) { return sets[set_of(pto_level_best())].copy; }

const struct pto_rows_set *pto_rows_at(uint32_t index) {
  return index <= set_of(pto_level_best()) ? &sets[index] : NULL;
}
