/* SPDX-License-Identifier: MIT */
/*
 * Seeded noise on what kernels take in virtual time, since those of hardware are never twice the same.
 *
 * What a kernel takes is multiplied by 1 + jitter · z.  z is a sum of four uniform numbers of 16 bits, less its mean,
 * over its standard deviation: a bell with mean 0 and deviation 1 that ends at ±3.47.  So the factor's mean is 1 and
 * its standard deviation is `jitter`.  The numbers are a hash of seed, task number and block: nothing that happens
 * before or elsewhere changes them.  The kernels of a block that run side by side have one factor.
 *
 * Always true: integers alone; a factor is above 0, as jitter is PTO_JITTER_MOST_PPM at most.  Values and pure
 * functions; any thread.
 */
#ifndef PTO_SIM_VIRTUAL_JITTER_H
#define PTO_SIM_VIRTUAL_JITTER_H

#include <stdint.h>

#include <runtime/base/base.h>

#define PTO_JITTER_MOST_PPM 250000u
/* Of a sum of four numbers of 0 … 65535: twice the mean is 2 · 2 · 65535; √(4 · (2³² − 1) / 12) = 37837.2. */
#define PTO_JITTER_MEAN 131070
#define PTO_JITTER_DEVIATION UINT64_C(37837)

struct pto_jitter {
  uint64_t seed;
  uint32_t ppm; /* standard deviation of the factor, in millionths; 0: there is no noise */
};

/* The sum of four, less its mean. */
static inline int64_t pto_jitter_draw(const struct pto_jitter *jitter, uint64_t task, uint32_t block) {
  const uint64_t bits = pto_mix64(pto_mix64(pto_mix64(jitter->seed + 1) + task) + block);
  return (int64_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48)) - PTO_JITTER_MEAN;
}

/* `value`, a time or bytes that take one, times the factor of that block, rounded to the nearest; what is not 0 stays
 * so. Saturates. */
static inline uint64_t pto_jitter_scale(const struct pto_jitter *jitter, uint64_t task, uint32_t block,
                                        uint64_t value) {
  const uint64_t one = PTO_JITTER_DEVIATION * 1000000;
  const int64_t factor = (int64_t)one + (int64_t)jitter->ppm * pto_jitter_draw(jitter, task, block);
  const unsigned __int128 scaled = ((unsigned __int128)value * (uint64_t)factor + one / 2) / one;
  return scaled > UINT64_MAX ? UINT64_MAX : pto_max_u64((uint64_t)scaled, value > 0);
}

#endif
