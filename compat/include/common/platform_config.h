/* SPDX-License-Identifier: MIT */
/* The chip in numbers, as far as kernels and orchestrations ask for it. */
#ifndef PTO_COMPAT_PLATFORM_CONFIG_H
#define PTO_COMPAT_PLATFORM_CONFIG_H

#include <cstdint>

constexpr int PLATFORM_MAX_BLOCKDIM = PTO_COMPAT_ARCHITECTURE == 2 ? 36 : 24;
constexpr int PLATFORM_CORES_PER_BLOCKDIM = 3;
constexpr int PLATFORM_AIC_CORES_PER_BLOCKDIM = 1;
constexpr int PLATFORM_AIV_CORES_PER_BLOCKDIM = 2;
constexpr int PLATFORM_MAX_CORES = PLATFORM_MAX_BLOCKDIM * PLATFORM_CORES_PER_BLOCKDIM;

/* Ticks of get_sys_cnt a second. */
constexpr std::uint64_t PLATFORM_PROF_SYS_CNT_FREQ = PTO_COMPAT_ARCHITECTURE == 2 ? 1000000000 : 50000000;
inline double cycles_to_us(std::uint64_t cycles) {
  return static_cast<double>(cycles) / PLATFORM_PROF_SYS_CNT_FREQ * 1000000.0;
}

#endif
