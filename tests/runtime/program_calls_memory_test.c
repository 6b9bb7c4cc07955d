/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, at every point of a program's calls (program.h), which are made from its functions: the
 * program run fails with a sentence, or its output is right, and nothing is lost.  And of the registration of an
 * operation (operation.h).
 *
 * pto_program_rank, _rank_count, _seed, _tolerance, _fail, pto_array_get and _set allocate nothing.
 */
#include <tests/support/memory_scenarios.h>

#include <orchestration/loader/program_run.h>
#include <pto/operation.h>
#include <pto/program.h>

#define NUMEL 64u

static const uint64_t shape[] = {NUMEL};

/* ---- program.h ---- */

static int prepare(struct pto_program_run *run) {
  struct pto_array *in = pto_program_array(run, "in", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, shape);
  struct pto_array *scratch = pto_program_array(run, "scratch", PTO_ARRAY_SCRATCH, PTO_FLOAT32, 1, shape);
  struct pto_array *out = pto_program_array(run, "out", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, shape);
  const char **label = pto_program_state(run, sizeof *label);
  pto_array_fill_uniform(run, in, 1, 2);
  pto_array_fill(scratch, (double)pto_option_int(run, "rest"));
  if (!in || !scratch || !out || !label) return PTO_OK; /* the run has failed, and says why */
  *label = pto_program_text(run, "times %d", 3);
  return PTO_OK;
}

static int orchestrate_program(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor in = pto_array_tensor(rt, pto_program_find(run, "in")),
                          out = pto_array_tensor(rt, pto_program_find(run, "out"));
  if (strcmp(*(const char **)pto_program_state(run, sizeof(char *)), "times 3") != 0) return PTO_EINVAL;
  float *copy = pto_program_alloc(run, 1000);
  if (!copy) return PTO_OK; /* the run has failed */
  pto_program_print(run, "%s of %s", "a line", pto_option_text(run, "name"));
  const struct pto_param params[] = {pto_input(&in), pto_output(&out), pto_scalar_f32(3)};
  return pto_submit_aiv(rt, pto_kernel_find("mul_scalar"), params, 3);
}

static int expect(struct pto_program_run *run) {
  const struct pto_array *in = pto_program_find(run, "in");
  double *golden = pto_array_golden(run, pto_program_find(run, "out"));
  for (uint64_t i = 0; golden && i < NUMEL; i++) golden[i] = 3 * pto_array_get(in, i);
  return PTO_OK;
}

static int drive_contexts(struct pto_program_run *run) {
  struct pto_context *context = NULL;
  struct pto_context_options options = {.size = sizeof options, .memory_bytes = 1 << 20, .tensor_count = 16};
  char sentence[256] = "";
  options.runtime = *pto_program_config(run);
  const int status = pto_context_create(&options, &context, sentence, sizeof sentence);
  if (status) return pto_program_fail_as(run, status, "%s", sentence);
  pto_program_report(run, context);
  pto_context_destroy(context);
  pto_program_figure(run, "contexts", 1);
  return PTO_OK;
}

static const struct pto_option options[] = {
    {"rest", PTO_OPTION_INT, "4", "a number"}, {"name", PTO_OPTION_TEXT, "none", "a name"}, {0}};
static const struct pto_case cases[] = {{.name = "small", .settings = "rest=5 name=small"}, {0}};
static const struct pto_program program = {.abi = PTO_PROGRAM_ABI,
                                           .name = "test",
                                           .rtol = 1e-6,
                                           .options = options,
                                           .cases = cases,
                                           .prepare = prepare,
                                           .orchestrate = orchestrate_program,
                                           .expect = expect},
                                host_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "host",
                                                .options = options,
                                                .cases = cases,
                                                .prepare = prepare,
                                                .host = drive_contexts};
static FILE *printed;

static int run_program(struct pto_program_run *run, struct pto_runtime *rt) {
  int status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_remember(run);
  for (int i = 0; i < 2 && status == PTO_OK; i++) {
    if (i) pto_program_run_rewind(run);
    status = pto_program_run_orchestrate(run, rt);
  }
  return status == PTO_OK ? pto_program_run_expect(run) : status;
}

static void run_programs(const void *context) {
  static struct pto_error error;
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "tiny", .window = 64};
  const struct pto_program_request request = {.case_name = "small", .config = &config, .text = printed};
  const struct pto_program *const its = context;
  struct pto_runtime *rt = NULL;
  struct pto_program_run *run = NULL;
  struct pto_comparison comparison = {0};
  if (!its->host)
    CALL(pto_runtime_create_explained(&config, &rt, error.sentence, sizeof error.sentence), error.sentence);
  CALL(pto_program_run_create(its, &request, &run, &error), error.sentence);
  CALL_ONCE(run_program(run, rt), pto_program_run_error(run)->sentence);
  if (its->expect && !trial.is_over) {
    pto_program_run_compare(run, 1e-6, 0, &comparison);
    CHECK(comparison.is_verified && comparison.compared == NUMEL);
  }
  pto_program_run_destroy(run);
  pto_runtime_destroy(rt);
}

/* ---- operation.h: what is registered stays, so its block does too ---- */

static int infer(struct pto_operation_inference *call) { return PTO_OK; }
static int lower(const struct pto_operation_lowering *call) { return PTO_OK; }
static int refer(const struct pto_operation_reference *call) { return PTO_OK; }

static void test_an_operation_that_is_refused_can_be_registered_again(void **state) {
  static const struct pto_operation_operand operand = {.name = "x"};
  static const struct pto_operation operation = {.abi = PTO_OPERATION_ABI,
                                                 .name = "kept",
                                                 .operands = &operand,
                                                 .operand_count = 1,
                                                 .result_count = 1,
                                                 .infer = infer,
                                                 .lower = lower,
                                                 .reference = refer};
  if (!PTO_HAS_FAILING_MALLOC) skip();
  uint32_t refused = 0;
  int status = PTO_ENOMEM;
  for (uint32_t n = 1; status != PTO_OK; n++) {
    char sentence[256] = "";
    const int64_t live = live_blocks;
    fail_countdown = n;
    status = pto_operation_register(&operation, sentence, sizeof sentence);
    fail_countdown = 0;
    if (status == PTO_OK) break;
    refused++;
    assert_int_equal(status, PTO_ENOMEM);
    assert_non_null(strstr(sentence, "kept"));
    assert_int_equal(live_blocks, live);
  }
  assert_true(refused > 0);
  assert_int_equal(pto_operation_register(&operation, NULL, 0), PTO_OK); /* it is known */
}

int main(void) {
  static const struct memory_scenario scenarios[] = {
      {"a program", run_programs, &program},
      {"a program that drives contexts", run_programs, &host_program},
  };
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_operation_that_is_refused_can_be_registered_again),
  };
  printed = fopen("/dev/null", "w");
  const int failed = memory_run_scenarios("program calls", scenarios, PTO_ARRAY_LENGTH(scenarios), NULL, NULL, NULL);
  fclose(printed);
  return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
