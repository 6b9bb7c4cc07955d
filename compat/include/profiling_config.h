/* SPDX-License-Identifier: MIT */
/*
 * Slots that tasks may be timed in.  The call is accepted and does nothing: timelines have every task.
 */
#ifndef PTO_COMPAT_PROFILING_CONFIG_H
#define PTO_COMPAT_PROFILING_CONFIG_H

#include <cstdint>

inline constexpr std::int32_t NUM_TASK_TIMING_SLOTS = 16, TASK_TIMING_SLOT_NONE = -1;

#endif
