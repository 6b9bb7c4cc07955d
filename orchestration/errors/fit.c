/* SPDX-License-Identifier: MIT */
/*
 * Tasks that can never fit on the chip: more local memory than a core has, or more blocks that must start together than
 * there are cores.  Refused as PTO_EFIT at the submit, whose sentence the program reports.
 */
#include <orchestration/support/mark.h>

#include <string.h>

static int huge_run(const struct pto_kernel_args *a) { return 0; }
static struct pto_cost huge_cost(const struct pto_kernel_args *a) {
  return (struct pto_cost){.local_bytes = UINT64_C(1) << 40};
}
static const struct pto_kernel huge = {.name = "huge", .cores = PTO_AIV, .run = huge_run, .cost = huge_cost};
static const struct pto_kernel together = {.name = "together", .cores = PTO_AIV, .run = huge_run};

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_launch launch = {.aiv0 = &huge};
  if (strcmp(pto_option_text(run, "what"), "sync_start") == 0)
    launch = (struct pto_launch){.aiv0 = &together, .block_count = pto_core_count(rt, PTO_AIV) + 1, .sync_start = true};
  int status = pto_submit(rt, &launch, NULL, 0, NULL);
  if (status != PTO_EFIT)
    return pto_program_fail(run, "a task that can never fit was answered with %s", pto_status_name(status));
  return report_refusal(rt);
}

static const struct pto_option options[] = {{"what", PTO_OPTION_TEXT, "local", "local or sync_start"}, {0}};
static const struct pto_case cases[] = {
    {.name = "local", .settings = "what=local"}, {.name = "sync_start", .settings = "what=sync_start"}, {0}};

ERROR_PROGRAM("errors/fit", "PTO_EFIT, reported: too much local memory, or too many blocks at once", PTO_EUSER,
              .options = options, .cases = cases);
