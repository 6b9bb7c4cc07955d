/* SPDX-License-Identifier: MIT */
/*
 * Float tiles of the matrix product, by instruction set; see gemm_block.h.
 *
 * Multiplications and additions are fused here where the instruction set can: twice the speed, and one rounding less.
 * One micro-kernel computes every element, so all are computed alike.  bf16 and fp16 are converted to f32 when they are
 * packed, which is exact; the processor's own bf16 dot product is not used, since it sums in pairs, rounds in another
 * order and flushes subnormals.
 *
 * Tiles of 14 × 32 sums take 28 of the 32 AVX-512 registers; 8 × 32 and 12 × 32 are as fast or 2 % slower
 * (bench_matmul).
 *
 * To add an instruction set: include gemm_float.inc once more between a push and a pop, and add its line to the table.
 */
#include <kernels/gemm_block.h>

#include <kernels/kernel_level_sets.h>
#include <kernels/kernel_math.h>
#include <runtime/base/base.h>

#include <string.h>

#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("O3", "fp-contract=fast")
#endif

typedef float four_floats __attribute__((vector_size(16)));
typedef uint16_t four_halves __attribute__((vector_size(8)));
static inline four_floats four_from_fp16(four_halves h) {
  return (four_floats){f32_from_fp16(h[0]), f32_from_fp16(h[1]), f32_from_fp16(h[2]), f32_from_fp16(h[3])};
}

/* What is left of a row, where there are no masked loads. */
#define SOME(type, stored, from, count)                                                                                \
  ({                                                                                                                   \
    stored some_[sizeof(type) / sizeof(stored)] = {0};                                                                 \
    for (uint64_t l_ = 0; l_ < (count); l_++) memcpy(&some_[l_], (from) + l_, sizeof some_[0]);                        \
    type all_;                                                                                                         \
    memcpy(&all_, some_, sizeof all_);                                                                                 \
    all_;                                                                                                              \
  })

#define EACH_4(f, s) f(0, s), f(1, s), f(2, s), f(3, s)
#define EACH_8(f, s) EACH_4(f, s), f(4, s), f(5, s), f(6, s), f(7, s)
#define EACH_16(f, s) EACH_8(f, s), f(8, s), f(9, s), f(10, s), f(11, s), f(12, s), f(13, s), f(14, s), f(15, s)

#define SUM float
#define MULTIPLY_ADD(sums, x, row) ((sums) + (x) * (row))
#define PTO_LEVEL(name) name##_plain
#define LANES 4
#define ROWS 4
#define WIDE_ROWS 2
#define EACH_ROWS PTO_GEMM_ROWS_4
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_2
#define FROM_FP16 four_from_fp16
#define SOME_WORDS(from, count) SOME(words_plain, uint32_t, from, count)
#define SOME_HALVES(from, count) SOME(halves_plain, uint16_t, from, count)
#define EACH_LANE EACH_4
#define EACH_STEP(X) X(1) X(2)
#include <kernels/gemm_float.inc>

#if defined(__x86_64__)
#include <immintrin.h>
PTO_TARGET_PUSH(PTO_AVX2_TARGET)
#define SUM float
#define MULTIPLY_ADD(sums, x, row) ((sums) + (x) * (row))
#define PTO_LEVEL(name) name##_avx2
#define LANES 8
#define ROWS 6
#define WIDE_ROWS 2
#define EACH_ROWS PTO_GEMM_ROWS_6
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_2
#define FROM_FP16(halves) _mm256_cvtph_ps((__m128i)(halves))
#define SOME_WORDS(from, count) SOME(words_avx2, uint32_t, from, count)
#define SOME_HALVES(from, count) SOME(halves_avx2, uint16_t, from, count)
#define EACH_LANE EACH_8
#define EACH_STEP(X) X(1) X(2) X(4)
#include <kernels/gemm_float.inc>
PTO_TARGET_POP
PTO_TARGET_PUSH(PTO_AVX512_TARGET)
#define SUM float
#define MULTIPLY_ADD(sums, x, row) ((sums) + (x) * (row))
#define PTO_LEVEL(name) name##_avx512
#define LANES 16
#define ROWS 14
#define WIDE_ROWS 6
#define EACH_ROWS PTO_GEMM_ROWS_14
#define EACH_WIDE_ROWS PTO_GEMM_ROWS_6
#define FROM_FP16(halves) _mm512_cvtph_ps((__m256i)(halves))
#define SOME_WORDS(from, count) ((words_avx512)_mm512_maskz_loadu_epi32((__mmask16)((1u << (count)) - 1), from))
#define SOME_HALVES(from, count) ((halves_avx512)_mm256_maskz_loadu_epi16((__mmask16)((1u << (count)) - 1), from))
#define EACH_LANE EACH_16
#define EACH_STEP(X) X(1) X(2) X(4) X(8)
#include <kernels/gemm_float.inc>
PTO_TARGET_POP
#endif

const struct pto_gemm_set *pto_gemm_float_set(uint32_t set) {
  static const struct pto_gemm_set *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(set);
  return set < PTO_LEVEL_COUNT && pto_level_is_supported(set) ? sets[set] : NULL;
}
