/* SPDX-License-Identifier: MIT */
/*
 * Integer tiles of the matrix product, by instruction set; see gemm_block.h.
 *
 * i8 and u8 are widened to int16 when they are packed, so that all four pairs of signs go one way, and two neighbours
 * in k are multiplied and added at a time: exact, since two products of bytes are far below 2^31, and the sum wraps
 * modulo 2^32.  So every set gives the same bytes.
 */
#include <kernels/matmul/gemm_block.h>

#include <kernels/levels/level_sets.h>
#include <kernels/matmul/gemm.h>
#include <runtime/base/base.h>

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

typedef uint32_t four_sums __attribute__((vector_size(16)));
typedef int32_t four_signed __attribute__((vector_size(16)));
#if defined(__SSE2__)
static inline four_sums dot_plain(four_sums sums, uint32_t x, four_sums row) {
  return sums + (four_sums)_mm_madd_epi16(_mm_set1_epi32((int)x), (__m128i)row);
}
#else
static inline four_sums dot_plain(four_sums sums, uint32_t x, four_sums row) {
  const four_sums units = x + (four_sums){0};
  const four_signed low = ((four_signed)(units << 16) >> 16) * ((four_signed)(row << 16) >> 16);
  const four_signed high = ((four_signed)units >> 16) * ((four_signed)row >> 16);
  return sums + (four_sums)low + (four_sums)high;
}
#endif

#define PTO_LEVEL_LOOPS <kernels/levels/gemm_int8.inc>
#include <kernels/levels/each_level.inc>

/* One set more, beyond the levels: the products of two pairs and their sum are one instruction. */
#if defined(__x86_64__)
PTO_TARGET_PUSH("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")
#define PTO_LEVEL(name) name##_vnni
#define PTO_LEVEL_NUMBER 3
#define LANES 16
#include <kernels/levels/gemm_int8.inc>
PTO_TARGET_POP
static const struct pto_gemm_set *vnni_set(void) {
  return pto_level_is_supported(PTO_LEVEL_AVX512) && __builtin_cpu_supports("avx512vnni") ? &set_vnni : NULL;
}
#else
static const struct pto_gemm_set *vnni_set(void) { return NULL; }
#endif

const struct pto_gemm_set *pto_gemm_int8_set(uint32_t set) {
  static const struct pto_gemm_set *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(set);
  if (set == PTO_LEVEL_COUNT) return vnni_set();
  return set < PTO_LEVEL_COUNT && pto_level_is_supported(set) ? sets[set] : NULL;
}
