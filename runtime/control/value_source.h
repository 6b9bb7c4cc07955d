/* SPDX-License-Identifier: MIT */
/*
 * Where elements come from in a run whose kernels are priced and not run (pto_config.no_compute): nothing in memory is
 * what a kernel would have left there.  A tool answers instead, through pto_config.values.
 *
 * Owns nothing; borrowed for the runtime's life.  Control thread, within a run.  Without a source, or where it has no
 * answer, the run ends with its sentence: nothing goes on with bytes that mean nothing.
 */
#ifndef PTO_VALUE_SOURCE_H
#define PTO_VALUE_SOURCE_H

#include <pto/runtime.h>
#include <runtime/base/error.h>

struct pto_value_question {
  const void *addr;  /* of the element's first byte */
  uint32_t dtype;    /* at most 8 bytes, at least one */
  bool is_predicate; /* of task `task`; else the orchestration asks */
  uint64_t task;     /* tasks before it have been submitted before the question, or before the predicate's task */
  const void *call;  /* where the orchestration's call returns to; NULL of a predicate */
};

struct pto_value_source {
  /* PTO_OK with the element in *value (of its dtype), or a status with the sentence. */
  int (*find)(void *context, struct pto_runtime *rt, const struct pto_value_question *question, void *value,
              struct pto_error *error);
  void *context;
};

/* Asks the runtime's source; a failure is the run's. */
int pto_value_ask(struct pto_runtime *rt, const struct pto_value_question *question, void *value);

#endif
