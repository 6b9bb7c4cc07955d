/* SPDX-License-Identifier: MIT */
/*
 * What bounds a run, found by trying: the same run on a chip on which one thing at a time is twice as good.  What
 * shortens it most is what bounds it; where nothing does by PTO_LIMIT_LEAST_PPM, kernels that follow each other do.
 *
 * This is attribution from outside, exact but coarse.  A causal path of the run says more: where there is one, its
 * answer takes this one's place in struct pto_prediction.
 *
 * Values and pure functions; any thread.
 */
#ifndef PTO_CHECK_PREDICT_LIMITS_H
#define PTO_CHECK_PREDICT_LIMITS_H

#include <sim/chips/chip.h>

/* X(id, what it is in reports, what is tried).  Links are the last: one chip has none. */
#define PTO_LIMIT_LIST(X)                                                                                              \
  X(submit, "submitting tasks", "prices of the orchestrator halved")                                                   \
  X(schedule, "schedulers", "prices of schedulers halved")                                                             \
  X(hop, "starts and ends of kernels", "latencies of cores halved")                                                    \
  X(memory, "memory", "bandwidths doubled")                                                                            \
  X(cores, "cores", "clusters doubled")                                                                                \
  X(links, "links between ranks", "links twice as fast")

enum pto_limit {
#define X(id, name, trial) PTO_LIMIT_##id,
  PTO_LIMIT_LIST(X)
#undef X
      PTO_LIMIT_COUNT
};

#define PTO_LIMIT_LEAST_PPM 30000

/* "memory"; of PTO_LIMIT_COUNT "kernels that follow each other". */
const char *pto_limit_name(enum pto_limit limit);
/* The chip on which it is twice as good. */
struct pto_chip pto_limit_chip(const struct pto_chip *chip, enum pto_limit limit);
/* Of what each trial gains, in millionths of the makespan: the one that bounds the run. */
enum pto_limit pto_limit_find(const int64_t gain_ppm[PTO_LIMIT_COUNT]);

#endif
