/* SPDX-License-Identifier: MIT */
/*
 * One question: what does an element of each mathematical function cost, beside the C library and SLEEF in the same
 * run?
 *
 * One JSON line a function: nanoseconds an f32 element, with the best instruction set of ours that the processor has
 * (median, min, …), and medians with each; of a plain loop over the C library's float function; and of SLEEF's
 * functions of one unit (u10) for AVX2, for AVX-512, and for AVX-512 without fused operations, which give the same bits
 * as its SSE2 ones.  Medians of RUNS interleaved runs over ELEMS elements, which stay in the first-level cache.  0:
 * there is no such function, or no such processor; a SLEEF that is missing is named once on standard error.
 */
#include <bench/support/bench_line.h>
#include <kernels/levels/level.h>
#include <kernels/levels/loops.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RUNS 15
#define REPEATS 40
#define ELEMS 1024

static _Alignas(64) float x[ELEMS], second[ELEMS], y[ELEMS];

/* ---- the C library ---- */

static float rsqrt_libm(float a) { return 1 / sqrtf(a); }
static float sigmoid_libm(float a) { return 1 / (1 + expf(-a)); }
static float softplus_libm(float a) { return fmaxf(a, 0) + log1pf(expf(-fabsf(a))); }
static float softsign_libm(float a) { return a / (1 + fabsf(a)); }
static float silu_libm(float a) { return a / (1 + expf(-a)); }
static float mish_libm(float a) { return a * tanhf(softplus_libm(a)); }
static float gelu_libm(float a) { return 0.5f * a * (1 + erff(a * (float)M_SQRT1_2)); }
static float gelu_tanh_libm(float a) {
  return 0.5f * a * (1 + tanhf((float)(M_2_SQRTPI * M_SQRT1_2) * (a + 0.044715f * a * a * a)));
}
static float elu_libm(float a) { return a > 0 ? a : 0.25f * expm1f(a); }

/* X(operation, the C library's function, 1 where SLEEF has it, from, to) */
#define UNARY_LIST(X)                                                                                                  \
  X(exp, expf, 1, -8, 8)                                                                                               \
  X(exp2, exp2f, 1, -8, 8)                                                                                             \
  X(expm1, expm1f, 1, -8, 8)                                                                                           \
  X(log, logf, 1, 0.001, 50)                                                                                           \
  X(log2, log2f, 1, 0.001, 50)                                                                                         \
  X(log1p, log1pf, 1, 0.001, 50)                                                                                       \
  X(rsqrt, rsqrt_libm, 0, 0.001, 50)                                                                                   \
  X(sin, sinf, 1, -30, 30)                                                                                             \
  X(cos, cosf, 1, -30, 30)                                                                                             \
  X(tan, tanf, 1, -30, 30)                                                                                             \
  X(asin, asinf, 1, -1, 1)                                                                                             \
  X(acos, acosf, 1, -1, 1)                                                                                             \
  X(atan, atanf, 1, -8, 8)                                                                                             \
  X(sinh, sinhf, 1, -8, 8)                                                                                             \
  X(cosh, coshf, 1, -8, 8)                                                                                             \
  X(tanh, tanhf, 1, -8, 8)                                                                                             \
  X(asinh, asinhf, 1, -8, 8)                                                                                           \
  X(acosh, acoshf, 1, 1, 50)                                                                                           \
  X(atanh, atanhf, 1, -1, 1)                                                                                           \
  X(erf, erff, 1, -8, 8)                                                                                               \
  X(sigmoid, sigmoid_libm, 0, -8, 8)                                                                                   \
  X(softplus, softplus_libm, 0, -8, 8)                                                                                 \
  X(softsign, softsign_libm, 0, -8, 8)                                                                                 \
  X(silu, silu_libm, 0, -8, 8)                                                                                         \
  X(mish, mish_libm, 0, -8, 8)                                                                                         \
  X(gelu, gelu_libm, 0, -8, 8)                                                                                         \
  X(gelu_tanh, gelu_tanh_libm, 0, -8, 8)                                                                               \
  X(elu, elu_libm, 0, -8, 8)

#define X(name, function, ...)                                                                                         \
  static void name##_of_libm(void) {                                                                                   \
    for (uint32_t i = 0; i < ELEMS; i++) y[i] = function(x[i]);                                                        \
  }
UNARY_LIST(X)
#undef X
static void pow_of_libm(void) {
  for (uint32_t i = 0; i < ELEMS; i++) y[i] = powf(x[i], second[i]);
}

/* ---- SLEEF ---- */

enum { SLEEF_AVX2, SLEEF_AVX512, SLEEF_SAME_BITS, SLEEF_COUNT };
static const enum pto_level sleef_levels[SLEEF_COUNT] = {PTO_LEVEL_AVX2, PTO_LEVEL_AVX512, PTO_LEVEL_AVX512};

/* sleef.h declares these only to a file that is compiled for the instruction set throughout. */
#if PTO_HAVE_SLEEF && defined(__x86_64__)
#define HAS_SLEEF 1
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
#define SLEEF_LOOP(name, vector, function, level)                                                                      \
  vector function(vector);                                                                                             \
  static void name##_of_sleef_##level(void) {                                                                          \
    for (uint32_t i = 0; i < ELEMS; i += sizeof(vector) / sizeof(float))                                               \
      *(vector *)(y + i) = function(*(vector *)(x + i));                                                               \
  }
#define SLEEF_LOOP_0(...)
#define SLEEF_LOOP_1 SLEEF_LOOP
PTO_TARGET_PUSH(PTO_AVX2_TARGET)
#define X(name, function, has_sleef, ...) SLEEF_LOOP_##has_sleef(name, v8, Sleef_##name##f8_u10avx2, avx2)
UNARY_LIST(X)
#undef X
v8 Sleef_powf8_u10avx2(v8 a, v8 b);
static void pow_of_sleef_avx2(void) {
  for (uint32_t i = 0; i < ELEMS; i += 8) *(v8 *)(y + i) = Sleef_powf8_u10avx2(*(v8 *)(x + i), *(v8 *)(second + i));
}
PTO_TARGET_POP
PTO_TARGET_PUSH(PTO_AVX512_TARGET)
#define X(name, function, has_sleef, ...)                                                                              \
  SLEEF_LOOP_##has_sleef(name, v16, Sleef_##name##f16_u10avx512f, avx512)                                              \
      SLEEF_LOOP_##has_sleef(name, v16, Sleef_cinz_##name##f16_u10avx512fnofma, same_bits)
UNARY_LIST(X)
#undef X
v16 Sleef_powf16_u10avx512f(v16 a, v16 b), Sleef_cinz_powf16_u10avx512fnofma(v16 a, v16 b);
static void pow_of_sleef_avx512(void) {
  for (uint32_t i = 0; i < ELEMS; i += 16)
    *(v16 *)(y + i) = Sleef_powf16_u10avx512f(*(v16 *)(x + i), *(v16 *)(second + i));
}
static void pow_of_sleef_same_bits(void) {
  for (uint32_t i = 0; i < ELEMS; i += 16)
    *(v16 *)(y + i) = Sleef_cinz_powf16_u10avx512fnofma(*(v16 *)(x + i), *(v16 *)(second + i));
}
PTO_TARGET_POP
#define OF_SLEEF_0(name)                                                                                               \
  { NULL, NULL, NULL }
#define OF_SLEEF_1(name)                                                                                               \
  { name##_of_sleef_avx2, name##_of_sleef_avx512, name##_of_sleef_same_bits }
#else
#define HAS_SLEEF 0
#define OF_SLEEF_0(name)                                                                                               \
  { NULL, NULL, NULL }
#define OF_SLEEF_1 OF_SLEEF_0
#endif

/* ---- measuring ---- */

static const struct function {
  const char *name;
  enum pto_op op;
  double from, to;
  void (*libm)(void);
  void (*sleef[SLEEF_COUNT])(void);
} functions[] = {
#define X(name_, function, has_sleef, from_, to_)                                                                      \
  {.name = #name_,                                                                                                     \
   .op = PTO_OP_##name_,                                                                                               \
   .from = from_,                                                                                                      \
   .to = to_,                                                                                                          \
   .libm = name_##_of_libm,                                                                                            \
   .sleef = OF_SLEEF_##has_sleef(name_)},
    UNARY_LIST(X)
#undef X
        {.name = "pow", .op = PTO_OP_pow, .from = 0.001, .to = 50, .libm = pow_of_libm, .sleef = OF_SLEEF_1(pow)},
};

/* Ours, then the C library, then SLEEF. */
enum { OURS = 0, LIBM = PTO_LEVEL_COUNT, SLEEF, SIDE_COUNT = SLEEF + SLEEF_COUNT };

static void run_side(const struct function *f, uint32_t side) {
  if (side < LIBM) {
    struct pto_chunk chunk = {.count = ELEMS, .a = x, .b = second, .out = y};
    chunk.scalar.f32 = 0.25f;
    pto_loops_at(side)->op[f->op][PTO_CLASS_F32](&chunk);
  } else if (side == LIBM) {
    f->libm();
  } else {
    f->sleef[side - SLEEF]();
  }
}

static bool has_side(const struct function *f, uint32_t side) {
  if (side < LIBM) return pto_level_is_supported(side);
  if (side == LIBM) return true;
  return f->sleef[side - SLEEF] != NULL && pto_level_is_supported(sleef_levels[side - SLEEF]);
}

static void bench(const struct function *f) {
  static struct pto_samples ns[SIDE_COUNT];
  struct pto_rng rng = {1};
  memset(ns, 0, sizeof ns);
  for (uint32_t i = 0; i < ELEMS; i++) {
    x[i] = (float)(f->from + (f->to - f->from) * pto_rng_unit(&rng));
    second[i] = (float)(pto_rng_unit(&rng) * 6 - 3);
  }
  for (uint32_t run = 0; run < pto_bench_repeats(RUNS); run++)
    for (uint32_t side = 0; side < SIDE_COUNT; side++) {
      if (!has_side(f, side)) continue;
      run_side(f, side);
      const double begin = (double)pto_clock_ns();
      for (uint32_t i = 0; i < REPEATS; i++) run_side(f, side);
      pto_samples_add(&ns[side], ((double)pto_clock_ns() - begin) / (REPEATS * (double)ELEMS));
    }
  static const struct {
    const char *key;
    uint32_t side;
  } columns[] = {{"plain_ns", PTO_LEVEL_PLAIN},
                 {"avx2_ns", PTO_LEVEL_AVX2},
                 {"avx512_ns", PTO_LEVEL_AVX512},
                 {"libm_ns", LIBM},
                 {"sleef_avx2_ns", SLEEF + SLEEF_AVX2},
                 {"sleef_avx512_ns", SLEEF + SLEEF_AVX512},
                 {"sleef_same_bits_ns", SLEEF + SLEEF_SAME_BITS}};
  struct pto_bench_line *line = pto_bench_line_begin("math", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "function", f->name);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(columns); i++)
    pto_bench_line_real(line, columns[i].key, pto_samples_median(&ns[columns[i].side]));
  pto_bench_line_print(line, &ns[pto_level_best()]);
}

int main(void) {
  if (!HAS_SLEEF) fprintf(stderr, "without SLEEF (libsleef-dev): its columns are 0\n");
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(functions); i++) bench(&functions[i]);
  return 0;
}
