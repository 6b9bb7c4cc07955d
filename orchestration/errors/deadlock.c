/* SPDX-License-Identifier: MIT */
/*
 * Cores that wait for each other for ever: of a MIX task, the AIC first pops an answer and then pushes its question,
 * and AIV0 first pops the question and then pushes the answer.  Nothing else runs, so this is known at once, without a
 * time-out.
 */
#include <orchestration/support/program.h>

static int ask_run(const struct pto_kernel_args *a) {
  int32_t answer, question = 1;
  int status = pto_core_pop(a, PTO_ROLE_AIV0, &answer, sizeof answer);
  return status != 0 ? status : pto_core_push(a, PTO_ROLE_AIV0, &question, sizeof question);
}
static int reply_run(const struct pto_kernel_args *a) {
  int32_t question;
  int status = pto_core_pop(a, PTO_ROLE_AIC, &question, sizeof question);
  return status != 0 ? status : pto_core_push(a, PTO_ROLE_AIC, &question, sizeof question);
}
static const struct pto_kernel_param params[] = {TENSOR("z", PTO_OUTPUT, I32, 1)};
static const struct pto_kernel_param no_params[] = {{.name = "z", .mode = PTO_UNUSED}};
KERNEL(asker, params, .name = "asker", .cores = PTO_AIC, .flags = PTO_KERNEL_WAITS, .run = ask_run);
KERNEL(replier, no_params, .name = "replier", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = reply_run);

static int prepare(struct pto_program_run *run) { return DECLARE_ARRAYS(run, OUTPUT("z", PTO_INT32, 16)); }

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor z = tensor_of(rt, run, "z");
  struct pto_launch launch = {.aic = &asker, .aiv0 = &replier};
  return pto_submit(rt, &launch, PARAMS(pto_output(&z)), NULL);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/deadlock",
    .summary = "PTO_EDEADLOCK: two cores wait for each other for ever",
    .prepare = prepare,
    .expected_status = PTO_EDEADLOCK,
    .orchestrate = orchestrate,
};
