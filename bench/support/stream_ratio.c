/* SPDX-License-Identifier: MIT */
#include <bench/support/stream_ratio.h>

#include <kernels/levels/level.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define RATIO_LIST(X)                                                                                                  \
  X(0, 1)                                                                                                              \
  X(1, 1) X(1, 2) X(1, 4) X(1, 8) X(1, 16) X(2, 1) X(3, 1) X(4, 1) X(8, 1) X(16, 1) X(5, 2) X(9, 4) X(17, 8) X(2, 3)

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The bounds of the inner loops are constants where this is called. */
ALWAYS_INLINE void plain(uint32_t reads, uint32_t writes, double *restrict to, const double *restrict from,
                         uint64_t count) {
  for (uint64_t i = 0; i < count; i++, from += reads, to += writes) {
    double sum = reads == 0 ? 3.0 : from[0];
    PTO_UNROLL
    for (uint32_t j = 1; j < reads; j++) sum += from[j];
    PTO_UNROLL
    for (uint32_t j = 0; j < writes; j++) to[j] = sum;
  }
  __asm__ volatile("" : : "r"(to) : "memory");
}

/* Two turns at a time. */
ALWAYS_INLINE bool past_caches(uint32_t reads, uint32_t writes, double *to, const double *from, uint64_t count) {
#if defined(__SSE2__)
  for (uint64_t i = 0; i + 2 <= count; i += 2, from += 2 * reads, to += 2 * writes) {
    __m128d sum = reads == 0 ? _mm_set1_pd(3.0) : _mm_load_pd(from);
    PTO_UNROLL
    for (uint32_t j = 1; j < reads; j++) sum = _mm_add_pd(sum, _mm_load_pd(from + 2 * j));
    PTO_UNROLL
    for (uint32_t j = 0; j < writes; j++) _mm_stream_pd(to + 2 * j, sum);
  }
  _mm_sfence();
  return true;
#else
  return false;
#endif
}

bool stream_ratio_run(struct stream_ratio ratio, double *to, const double *from, uint64_t count, bool is_past_caches) {
  bool has_run = false;
#define X(reads_, writes_)                                                                                             \
  if (ratio.reads == reads_ && ratio.writes == writes_) {                                                              \
    has_run = !is_past_caches || past_caches(reads_, writes_, to, from, count);                                        \
    if (!is_past_caches) plain(reads_, writes_, to, from, count);                                                      \
  }
  RATIO_LIST(X)
#undef X
  return has_run;
}
