/* SPDX-License-Identifier: MIT */
/*
 * Caches of the control processor: memory is coherent here, and both calls do nothing.
 */
#ifndef PTO_COMPAT_AICPU_CACHE_MAINTENANCE_H
#define PTO_COMPAT_AICPU_CACHE_MAINTENANCE_H

#include <cstddef>

inline void cache_invalidate_range(const void *addr, std::size_t size) { (void)addr, (void)size; }
inline void cache_flush_range(const void *addr, std::size_t size) { (void)addr, (void)size; }

#endif
