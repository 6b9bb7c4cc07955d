/* SPDX-License-Identifier: MIT */
/*
 * The ways of `ptosim check PROGRAM`, a file each: by its declared accesses (check/order/order_check.h), and on several
 * ranks by what these do to each other (check/ranks/ranks_check.h); by what its kernels touch (--observe,
 * check/observe/observe.h); by the rings that it needs (--advise, check/order/ring_advice.h).
 *
 * And what `ptosim explore` and `ptosim why` do with several ranks.
 *
 * Each runs the one program in `options`, and returns an enum pto_exit, having said why where that is not 0.  Owns
 * nothing beyond the call.  Control thread.
 */
#ifndef PTO_CLI_CHECK_CHECK_H
#define PTO_CLI_CHECK_CHECK_H

#include <check/observe/observe.h>
#include <check/ranks/world_why.h>
#include <check/session/session.h>
#include <cli/run/options.h>

/* Once; whether its output is right, too. */
int pto_check_order(const struct pto_run_options *options);

/* The same on several ranks.  `asked` is what pto_run_options_session has made of the options. */
int pto_check_ranks(const struct pto_run_options *options, const struct pto_session_options *asked,
                    uint32_t rank_count);

/* On the engine "observe", on several ranks "observed virtual". */
int pto_check_observe(const struct pto_run_options *options, const struct pto_observe_options *observe);

/* `ptosim explore` of several ranks: `runs` runs in which they begin late (check/ranks/delayed.h), or those of a
 * shard.  `page`: where its page goes; NULL: nowhere. */
int pto_explore_ranks(struct pto_run_options *options, const struct pto_session_options *asked, uint32_t rank_count,
                      uint64_t runs, const char *page);

/* `ptosim why` of tasks of several ranks. */
int pto_why_ranks(const struct pto_run_options *options, const struct pto_session_options *asked, uint32_t rank_count,
                  const struct pto_world_why_request *request);

/* Once for each pair of sizes, in this process, in virtual time.  Outputs of all runs are compared with the first
 * run's, and those with the golden.  Engine, rounds, and files of a run in `options` are ignored. */
int pto_check_advise(const struct pto_run_options *options);

#endif
