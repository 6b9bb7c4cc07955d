/* SPDX-License-Identifier: MIT */
/*
 * Included before the source of each kernel, whose architecture PTO_COMPAT_ARCHITECTURE is.
 *
 * PTO_COMPAT_OWN_CACHE_NAMES: the source defines dcci, dsb and cache_line_t itself, which pto-isa defines too since
 * July 2026: pto-isa's are read here, under other names.  PTO_COMPAT_NO_FALSE_ASSERTS: the compiler takes a
 * static_assert(false) in a template for a mistake although none is made of it: pto-isa's assertions are off where it
 * has that file.
 */
#include <cstdint>

#if defined(PTO_COMPAT_NO_FALSE_ASSERTS) && !__has_include(<pto/cpu/TReduceIdx.hpp>)
#undef PTO_COMPAT_NO_FALSE_ASSERTS
#endif

/* The counter of the system: 50 MHz on a2a3, 1 GHz on a5. */
extern "C" std::uint64_t pto_compat_ticks(std::uint64_t per_second);
static inline std::int64_t get_sys_cnt() {
  return static_cast<std::int64_t>(pto_compat_ticks(PTO_COMPAT_ARCHITECTURE == 1 ? 50000000u : 1000000000u));
}

#ifdef PTO_COMPAT_NO_FALSE_ASSERTS
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>
#define static_assert(...)
#endif

#ifdef PTO_COMPAT_OWN_CACHE_NAMES
#define dcci pto_isa_dcci
#define dsb pto_isa_dsb
#define cache_line_t pto_isa_cache_line_t
#endif

#if defined(PTO_COMPAT_NO_FALSE_ASSERTS) || defined(PTO_COMPAT_OWN_CACHE_NAMES)
#include <pto/pto-inst.hpp>
#undef static_assert
#undef dcci
#undef dsb
#undef cache_line_t
#endif
