/* SPDX-License-Identifier: MIT */
#include <sim/host/float_mode.h>

#if defined(__x86_64__)

/* MXCSR, and above it the control word of the x87 unit (Intel SDM, volume 1, 10.2.3 and 8.1.5). */
#define CONTROL_BITS UINT32_C(0xffc0)
#define TINY_BITS UINT64_C(0x8040) /* FTZ, DAZ */
#define ROUNDING(mode) ((mode) >> 13 & 3)
enum { NEAREST, DOWNWARD, UPWARD, TOWARD_ZERO };

static uint32_t mxcsr(void) {
  uint32_t value;
  __asm__ volatile("stmxcsr %0" : "=m"(value));
  return value;
}

uint64_t pto_float_mode(void) {
  uint16_t x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (mxcsr() & CONTROL_BITS) | (uint64_t)x87 << 32;
}

void pto_float_mode_set(uint64_t mode) {
  const uint32_t value = (mxcsr() & ~CONTROL_BITS) | (uint32_t)mode;
  const uint16_t x87 = (uint16_t)(mode >> 32);
  __asm__ volatile("ldmxcsr %0" : : "m"(value));
  __asm__ volatile("fldcw %0" : : "m"(x87));
}

#elif defined(__aarch64__)

/* FPCR (Arm ARM, C5.2.8). */
#define TINY_BITS UINT64_C(0x1080000) /* FZ, FZ16 */
#define ROUNDING(mode) ((mode) >> 22 & 3)
enum { NEAREST, UPWARD, DOWNWARD, TOWARD_ZERO };

uint64_t pto_float_mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void pto_float_mode_set(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }

#else

#include <fenv.h>

#define TINY_BITS UINT64_C(0)
#define ROUNDING(mode) ((int)(mode))
enum { NEAREST = FE_TONEAREST, UPWARD = FE_UPWARD, DOWNWARD = FE_DOWNWARD, TOWARD_ZERO = FE_TOWARDZERO };

uint64_t pto_float_mode(void) { return (uint64_t)fegetround(); }
void pto_float_mode_set(uint64_t mode) { (void)fesetround((int)mode); }

#endif

static const char *rounding_words(uint64_t mode) {
  if (ROUNDING(mode) == UPWARD) return "it rounds upward";
  if (ROUNDING(mode) == DOWNWARD) return "it rounds downward";
  return ROUNDING(mode) == NEAREST ? "it rounds to nearest" : "it rounds toward zero";
}

const char *pto_float_mode_words(uint64_t usual, uint64_t mode) {
  if (mode == usual) return "";
  if (ROUNDING(mode) != ROUNDING(usual)) return rounding_words(mode);
  if ((mode & TINY_BITS) != (usual & TINY_BITS))
    return mode & TINY_BITS ? "it takes denormal numbers for zero" : "it computes with denormal numbers";
  return "its exceptions or its precision are others";
}
