/* SPDX-License-Identifier: MIT */
/*
 * What the programs that are there to fail share: a kernel that writes one word, which nothing depends on, and how a
 * refusal is reported.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_MARK_H
#define PTO_ORCHESTRATION_SUPPORT_MARK_H

#include <orchestration/support/program.h>

#include <stdio.h>

static int mark_run(const struct pto_kernel_args *a) {
  *(uint32_t *)a->tensors[0].addr = 1;
  return 0;
}
static const struct pto_kernel_param mark_params[] = {{.name = "z", .mode = PTO_OUTPUT, .dtypes = U32}};
KERNEL(mark, mark_params, .name = "mark", .cores = PTO_AIV, .run = mark_run);

/* A task that marks z. */
static inline int submit_mark_of(struct pto_runtime *rt, const struct pto_tensor *z) {
  return pto_submit_aiv(rt, &mark, PARAMS(pto_output(z)));
}
/* A task that marks a new buffer of so many bytes. */
static inline int submit_mark(struct pto_runtime *rt, uint64_t bytes) {
  struct pto_tensor z = temporary_vector(rt, PTO_UINT32, bytes / sizeof(uint32_t));
  return submit_mark_of(rt, &z);
}

/* Ends the run with the sentence of a submit that was refused as it had to be. */
static inline int report_refusal(struct pto_runtime *rt) {
  char sentence[512];
  snprintf(sentence, sizeof sentence, "refused: %s", pto_last_error(rt));
  return pto_report_error(rt, sentence);
}

#endif
