/* SPDX-License-Identifier: MIT */
#include <check/trial/time.h>

#include <runtime/base/clock.h>

double pto_trial_batch_ns(struct pto_trial *trial, uint64_t calls) {
  struct pto_trial_core core;
  int status = pto_trial_core_init(&core, trial->kernel, &trial->args);
  if (status != PTO_OK) return status;
  trial->args.core = &core.core;
  const double begin = (double)pto_clock_ns();
  for (uint64_t i = 0; i < calls && status == PTO_OK; i++) status = trial->kernel->run(&trial->args);
  const double end = (double)pto_clock_ns();
  trial->args.core = &trial->core;
  (void)pto_trial_core_fini(&core);
  return status != PTO_OK ? status : (end - begin) / (double)calls;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double pto_trial_median(double *values, uint32_t count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

int pto_trial_time(struct pto_trial *trial, uint32_t batches, double batch_ns, struct pto_trial_time *time) {
  double ns[PTO_TRIAL_MAX_BATCHES];
  uint64_t calls = 1;
  PTO_ASSERT(batches >= 1 && batches <= PTO_TRIAL_MAX_BATCHES);
  for (;;) { /* warms up, and finds how many calls make a batch */
    const double ns_a_call = pto_trial_batch_ns(trial, calls);
    if (ns_a_call < 0) return (int)ns_a_call;
    if (ns_a_call * (double)calls >= batch_ns / 2 || calls > UINT64_C(1) << 40) break;
    calls *= 2;
  }
  for (uint32_t i = 0; i < batches; i++) {
    ns[i] = pto_trial_batch_ns(trial, calls);
    if (ns[i] < 0) return (int)ns[i];
  }
  time->median_ns = pto_trial_median(ns, batches);
  time->minimum_ns = ns[0];
  time->calls = calls;
  return PTO_OK;
}
