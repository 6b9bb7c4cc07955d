/* SPDX-License-Identifier: MIT */
/*
 * Names that the existing runtime has given up since 20 April 2026: sources of that time compile.
 *
 * Others are beside what they mean: Tensor, L0TaskArgs, Arg, ContinuousTensor.  What is older is refused by name, and
 * so is aicpu_build_graph, a runtime of its own until 29 April, whose entry takes a PTO2Runtime.
 */
#ifndef PTO_COMPAT_ALIASES_H
#define PTO_COMPAT_ALIASES_H

#include "pto_compat/args_with_deps.h"

#define PTO2Runtime                                                                                                    \
  _Pragma("GCC error \"PTO2Runtime: aicpu_build_graph is another runtime, which was given up on 29 April 2026\"") void

/* Until 29 April. */
#define pto2_rt_submit_task rt_submit_task
#define pto2_rt_submit_aic_task rt_submit_aic_task
#define pto2_rt_submit_aiv_task rt_submit_aiv_task
#define pto2_rt_submit_aiv_task_deferred rt_submit_aiv_task
#define rt_submit_aiv_task_deferred rt_submit_aiv_task
#define pto2_rt_scope_begin rt_scope_begin
#define pto2_rt_scope_end rt_scope_end
#define pto2_rt_is_fatal rt_is_fatal
#define pto2_rt_report_fatal rt_report_fatal
#define pto2_rt_orchestration_done rt_orchestration_done

/* Until 30 April, and from then until 29 July. */
#define LOG_ALWAYS LOG_TIMING
#define LOG_INFO_V0 LOG_DEBUG
#define LOG_INFO_V1 LOG_DEBUG
#define LOG_INFO_V2 LOG_DEBUG
#define LOG_INFO_V3 LOG_DEBUG
#define LOG_INFO_V4 LOG_DEBUG
#define LOG_INFO_V5 LOG_INFO
#define LOG_INFO_V6 LOG_INFO
#define LOG_INFO_V7 LOG_INFO
#define LOG_INFO_V8 LOG_INFO
#define LOG_INFO_V9 LOG_TIMING

/* Until 23 June, and until 4 August. */
template <std::size_t N = 16> using ArgWithDeps = CoreTaskArgsWithDeps<N>;
template <std::size_t N = 16> using L0TaskArgsWithDeps = CoreTaskArgsWithDeps<N>;

#endif
