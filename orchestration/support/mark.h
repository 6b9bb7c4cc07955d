/* SPDX-License-Identifier: MIT */
/*
 * What the programs that are there to fail share: a kernel that writes one word, which nothing depends on, and how a
 * refusal is reported.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_MARK_H
#define PTO_ORCHESTRATION_SUPPORT_MARK_H

#include <pto/pto.h>

#include <stdio.h>

static int mark_run(const struct pto_kernel_args *a) {
  *(uint32_t *)a->tensors[0].addr = 1;
  return 0;
}
static const struct pto_kernel_param mark_params[] = {
    {.name = "z", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_UINT32)}};
static const struct pto_kernel mark = {
    .name = "mark", .cores = PTO_AIV, .params = mark_params, .param_count = 1, .run = mark_run};

/* A task that marks z. */
static inline int submit_mark_of(struct pto_runtime *rt, const struct pto_tensor *z) {
  return pto_submit_aiv(rt, &mark, (struct pto_param[]){pto_output(z)}, 1);
}
/* A task that marks a new buffer of so many bytes. */
static inline int submit_mark(struct pto_runtime *rt, uint64_t bytes) {
  const uint64_t shape[] = {bytes / sizeof(uint32_t)};
  struct pto_tensor z = pto_managed_tensor(rt, pto_create_buffer(rt, bytes), PTO_UINT32, 1, shape);
  return submit_mark_of(rt, &z);
}

/* Ends the run with the sentence of a submit that was refused as it had to be. */
static inline int report_refusal(struct pto_runtime *rt) {
  char sentence[512];
  snprintf(sentence, sizeof sentence, "refused: %s", pto_last_error(rt));
  return pto_report_error(rt, sentence);
}

#endif
