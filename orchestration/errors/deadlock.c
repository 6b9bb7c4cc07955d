/* SPDX-License-Identifier: MIT */
/*
 * Cores that wait for each other for ever: of a MIX task, the AIC first pops an answer and then pushes its question,
 * and AIV0 first pops the question and then pushes the answer.  Nothing else runs, so this is known at once, without a
 * time-out.
 */
#include <pto/pto.h>

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
static const struct pto_kernel_param params[] = {
    {.name = "z", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1}};
static const struct pto_kernel_param no_params[] = {{.name = "z", .mode = PTO_UNUSED}};
static const struct pto_kernel asker = {
    .name = "asker", .cores = PTO_AIC, .flags = PTO_KERNEL_WAITS, .params = params, .param_count = 1, .run = ask_run};
static const struct pto_kernel replier = {.name = "replier",
                                          .cores = PTO_AIV,
                                          .flags = PTO_KERNEL_WAITS,
                                          .params = no_params,
                                          .param_count = 1,
                                          .run = reply_run};

static int prepare(struct pto_program_run *run) {
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_INT32, 1, (const uint64_t[]){16});
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  struct pto_launch launch = {.aic = &asker, .aiv0 = &replier};
  return pto_submit(rt, &launch, (struct pto_param[]){pto_output(&z)}, 1, NULL);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/deadlock",
    .summary = "PTO_EDEADLOCK: two cores wait for each other for ever",
    .prepare = prepare,
    .expected_status = PTO_EDEADLOCK,
    .orchestrate = orchestrate,
};
