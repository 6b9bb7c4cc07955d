/* SPDX-License-Identifier: MIT */
/*
 * The ground that every module stands on: assert levels, compiler words, small integer arithmetic.
 *
 * Owns nothing and keeps no state.  Asserts are for broken invariants (our bugs) alone, never for wrong input:
 *   PTO_ASSERT    cheap; on unless NDEBUG-like release builds set PTO_ASSERT_LEVEL 0
 *   PTO_INTERNAL  costs more; on from level 2 (the test builds)
 * `_is_valid()` functions over whole structures are called from tests.
 */
#ifndef PTO_BASE_H
#define PTO_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef PTO_ASSERT_LEVEL
#define PTO_ASSERT_LEVEL 0
#endif

_Noreturn void pto_assert_failed(const char *condition, const char *file, int line);

#if PTO_ASSERT_LEVEL >= 1
#define PTO_ASSERT(condition) ((condition) ? (void)0 : pto_assert_failed(#condition, __FILE__, __LINE__))
#else
#define PTO_ASSERT(condition) ((void)sizeof(condition))
#endif
#if PTO_ASSERT_LEVEL >= 2
#define PTO_INTERNAL(condition) PTO_ASSERT(condition)
#else
#define PTO_INTERNAL(condition) ((void)sizeof(condition))
#endif

#define PTO_LIKELY(x) __builtin_expect(!!(x), 1)
#define PTO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PTO_NOINLINE __attribute__((noinline))
/* Of a hot path, where the compiler would rather share one copy. */
#define PTO_INLINE inline __attribute__((always_inline))
#define PTO_COLD __attribute__((noinline, cold))
#define PTO_CACHE_LINE 64
/* Asks for a line that is to be written and that another CPU may have. */
static inline void pto_prefetch_to_write(const void *addr) {
#if defined __x86_64__
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)addr)); /* which __builtin_prefetch is only with -mprfchw */
#else
  __builtin_prefetch(addr, 1);
#endif
}
#define PTO_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static inline bool pto_is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }
/* Rounds up to a multiple of `align`, a power of two; the caller excludes overflow. */
static inline uint64_t pto_align_up(uint64_t x, uint64_t align) { return (x + align - 1) & ~(align - 1); }
/* floor(log2(x)), x > 0. */
static inline uint32_t pto_log2_floor(uint64_t x) { return 63u - (uint32_t)__builtin_clzll(x); }
static inline uint64_t pto_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint32_t pto_max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint64_t pto_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* A 64-bit mix with good avalanche (the finaliser of SplitMix64, Steele, Lea and Flood 2014). */
static inline uint64_t pto_mix64(uint64_t x) {
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* Deterministic pseudo-random numbers: SplitMix64 over a 64-bit state; any seed is a good one. */
struct pto_rng {
  uint64_t state;
};
static inline uint64_t pto_rng_next(struct pto_rng *rng) {
  rng->state += UINT64_C(0x9e3779b97f4a7c15);
  return pto_mix64(rng->state);
}
/* 0 ≤ result < bound, bound > 0, without bias worth the name (128-bit multiply, Lemire 2019). */
static inline uint64_t pto_rng_below(struct pto_rng *rng, uint64_t bound) {
  return (uint64_t)(((unsigned __int128)pto_rng_next(rng) * bound) >> 64);
}
/* 0 ≤ result < 1. */
static inline double pto_rng_unit(struct pto_rng *rng) { return (double)(pto_rng_next(rng) >> 11) * 0x1.0p-53; }

#endif
