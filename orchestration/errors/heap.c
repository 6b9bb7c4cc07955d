/* SPDX-License-Identifier: MIT */
/*
 * Outputs that the heap ring can never hold: one that is larger than the ring, or several that open scopes keep alive.
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

#define HEAP_BYTES (64u * 1024)
static const struct pto_config config = {.size = sizeof config, .heap_bytes = HEAP_BYTES};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  int64_t count = pto_option_int(run, "outputs"), bytes = pto_option_int(run, "output_bytes");
  int status = PTO_OK;
  for (int64_t i = 0; i < count && status == PTO_OK; i++) status = submit_mark(rt, (uint64_t)bytes);
  return status;
}

static int prepare(struct pto_program_run *run) {
  int64_t bytes = pto_option_int(run, "output_bytes");
  if (bytes < 4 || bytes % 4 != 0)
    return pto_program_fail(run, "output_bytes is %lld, no multiple of 4", (long long)bytes);
  return PTO_OK;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/heap",
    .summary = "PTO_EHEAP: outputs larger than the heap ring of 64 KiB, or held by an open scope",
    .config = &config,
    .options = (const struct pto_option[]){{"outputs", PTO_OPTION_INT, "1", "tasks, all in one scope"},
                                           {"output_bytes", PTO_OPTION_INT, "131072", "bytes that each allocates"},
                                           {0}},
    .cases = (const struct pto_case[]){{.name = "too_large", .settings = "outputs=1 output_bytes=131072"},
                                       {.name = "held", .settings = "outputs=5 output_bytes=16384"},
                                       {0}},
    .prepare = prepare,
    .expected_status = PTO_EHEAP,
    .orchestrate = orchestrate,
};
