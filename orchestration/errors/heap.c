/* SPDX-License-Identifier: MIT */
/*
 * Outputs that the heap ring can never hold: one that is larger than the ring, or several that open scopes keep alive.
 */
#include <orchestration/support/mark.h>

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

static const struct pto_option options[] = {{"outputs", PTO_OPTION_INT, "1", "tasks, all in one scope"},
                                            {"output_bytes", PTO_OPTION_INT, "131072", "bytes that each allocates"},
                                            {0}};
static const struct pto_case cases[] = {{.name = "too_large", .settings = "outputs=1 output_bytes=131072"},
                                        {.name = "held", .settings = "outputs=5 output_bytes=16384"},
                                        {0}};

ERROR_PROGRAM("errors/heap", "PTO_EHEAP: outputs larger than the heap ring of 64 KiB, or held by an open scope",
              PTO_EHEAP, .config = &config, .options = options, .cases = cases, .prepare = prepare);
