/* SPDX-License-Identifier: MIT */
/*
 * Nested scopes that together hold a whole window, though none of them holds more than a few tasks: rings are kept
 * apart by depth, four of them, and the scopes from the fourth depth on share the last.
 */
#include <pto/pto.h>

/* Writes one word; what it writes matters to nobody. */
static int mark_run(const struct pto_kernel_args *a) {
  *(uint32_t *)a->tensors[0].addr = 1;
  return 0;
}
static const struct pto_kernel_param mark_params[] = {
    {.name = "z", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_UINT32)}};
static const struct pto_kernel mark = {
    .name = "mark", .cores = PTO_AIV, .params = mark_params, .param_count = 1, .run = mark_run};

static int submit_mark(struct pto_runtime *rt, uint64_t bytes) {
  const uint64_t shape[] = {bytes / sizeof(uint32_t)};
  struct pto_tensor z = pto_managed_tensor(rt, pto_create_buffer(rt, bytes), PTO_UINT32, 1, shape);
  return pto_submit_aiv(rt, &mark, (struct pto_param[]){pto_output(&z)}, 1);
}

static const struct pto_config config = {.size = sizeof config, .window = 16};

/* 4 tasks a scope: the ring that the inner scopes share is full in the fourth of them. */
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  int status = PTO_OK;
  for (int depth = 0; depth < 16 && status == PTO_OK; depth++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    for (int i = 0; i < 4 && status == PTO_OK; i++) status = submit_mark(rt, 64);
  }
  return status;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/window",
    .summary = "PTO_EWINDOW: nested scopes hold the whole window of 16",
    .config = &config,
    .expected_status = PTO_EWINDOW,
    .orchestrate = orchestrate,
};
