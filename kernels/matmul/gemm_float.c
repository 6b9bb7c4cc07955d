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
 */
#include <kernels/matmul/gemm_block.h>

#include <kernels/levels/level_sets.h>
#include <kernels/api/math.h>
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

#define PTO_LEVEL_LOOPS <kernels/levels/gemm_float.inc>
#include <kernels/levels/each_level.inc>

const struct pto_gemm_set *pto_gemm_float_set(uint32_t set) {
  static const struct pto_gemm_set *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(set);
  return set < PTO_LEVEL_COUNT && pto_level_is_supported(set) ? sets[set] : NULL;
}
