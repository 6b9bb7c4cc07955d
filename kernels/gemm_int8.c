/* SPDX-License-Identifier: MIT */
/*
 * Integer tiles of the matrix product, by instruction set; see gemm_block.h.
 *
 * i8 and u8 are widened to int16 when they are packed, so that all four pairs of signs go one way, and two neighbours
 * in k are multiplied and added at a time: exact, since two products of bytes are far below 2^31, and the sum wraps
 * modulo 2^32.  So every set gives the same bytes.  VNNI has a product of four bytes as well, of one signed and one
 * unsigned operand, which would need a correction for every other pair of signs.
 *
 * To add an instruction set: include gemm_int8.inc once more between a push and a pop, and add its line to the table.
 */
#include <kernels/gemm_block.h>

#include <kernels/gemm.h>
#include <runtime/base/base.h>

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define VNNI_TARGET "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni"
#endif
#if !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define SUM uint32_t
#define PTO_LEVEL(name) name##_plain
#define LANES 4
#define ROWS 4
#define WIDE_ROWS 2
#define EACH_ROWS PTO_GEMM_ROWS_4
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_2
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
#define MULTIPLY_ADD dot_plain
#include <kernels/gemm_int8.inc>

#if defined(__x86_64__)
PTO_TARGET_PUSH(PTO_AVX2_TARGET)
#define SUM uint32_t
#define PTO_LEVEL(name) name##_avx2
#define LANES 8
#define ROWS 6
#define WIDE_ROWS 2
#define EACH_ROWS PTO_GEMM_ROWS_6
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_2
#define MULTIPLY_ADD(sums, x, row)                                                                                     \
  ((sums) + (vector_avx2)_mm256_madd_epi16(_mm256_set1_epi32((int)(x)), (__m256i)(row)))
#include <kernels/gemm_int8.inc>
PTO_TARGET_POP
PTO_TARGET_PUSH(PTO_AVX512_TARGET)
#define SUM uint32_t
#define PTO_LEVEL(name) name##_avx512
#define LANES 16
#define ROWS 12
#define WIDE_ROWS 6
#define EACH_ROWS PTO_GEMM_ROWS_12
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_6
#define MULTIPLY_ADD(sums, x, row)                                                                                     \
  ((sums) + (vector_avx512)_mm512_madd_epi16(_mm512_set1_epi32((int)(x)), (__m512i)(row)))
#include <kernels/gemm_int8.inc>
PTO_TARGET_POP
PTO_TARGET_PUSH(VNNI_TARGET)
#define SUM uint32_t
#define PTO_LEVEL(name) name##_vnni
#define LANES 16
#define ROWS 14
#define WIDE_ROWS 6
#define EACH_ROWS PTO_GEMM_ROWS_14
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_6
#define MULTIPLY_ADD(sums, x, row)                                                                                     \
  ((vector_vnni)_mm512_dpwssd_epi32((__m512i)(sums), _mm512_set1_epi32((int)(x)), (__m512i)(row)))
#include <kernels/gemm_int8.inc>
PTO_TARGET_POP
static bool has_vnni(void) { return pto_level_is_supported(PTO_LEVEL_AVX512) && __builtin_cpu_supports("avx512vnni"); }
#endif

const struct pto_gemm_set *pto_gemm_int8_set(uint32_t set) {
  static const struct pto_gemm_set *const sets[PTO_LEVEL_COUNT] = {
    [PTO_LEVEL_PLAIN] = &set_plain,
#if defined(__x86_64__)
    [PTO_LEVEL_AVX2] = &set_avx2,
    [PTO_LEVEL_AVX512] = &set_avx512,
#endif
  };
#if defined(__x86_64__)
  if (set == PTO_LEVEL_COUNT) return has_vnni() ? &set_vnni : NULL;
#endif
  return set < PTO_LEVEL_COUNT && pto_level_is_supported(set) ? sets[set] : NULL;
}
