/* SPDX-License-Identifier: MIT */
/*
 * A submit request: what one of the public calls that submit asks for.  All of it is borrowed for the call.
 */
#ifndef PTO_SUBMIT_REQUEST_H
#define PTO_SUBMIT_REQUEST_H

#include <pto/runtime.h>

struct pto_submit_request {
  const struct pto_launch *launch;
  const struct pto_param *params;
  const void *call; /* where the orchestration made it */
  uint32_t count;
  uint8_t kind;   /* enum pto_task_kind */
  bool is_single; /* pto_launch_is_single */
};

/* One kernel, nothing else said: explicit dependencies apart. */
static inline bool pto_launch_is_single(const struct pto_launch *launch) {
  return (launch->aic != NULL) != (launch->aiv0 != NULL) && !launch->aiv1 && launch->block_count <= 1 &&
         !launch->sync_start && !launch->predicate.tensor && launch->predicate.compare == PTO_ALWAYS &&
         !launch->initial_count;
}

#endif
