/* SPDX-License-Identifier: MIT */
/*
 * The end of the program of docs/orchestrations.md: arrays, goldens and the program. tests/pages/orchestrations_test.sh
 * puts it behind the pieces of the page.
 */
static int prepare(struct pto_program_run *run) {
  static const char *const matrices[] = {"poly", "turned", "tripled", "doubled", "negative", "scaled", "ninefold"};
  pto_array_fill_uniform(run, pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 2, matrix), -1, 1);
  for (int i = 0; i < 7; i++) pto_program_array(run, matrices[i], PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, matrix);
  pto_program_array(run, "sums", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, column);
  pto_program_array(run, "tens", PTO_ARRAY_OUTPUT, PTO_INT32, 1, numbers);
  pto_program_array(run, "chosen", PTO_ARRAY_OUTPUT, PTO_INT32, 1, pair);
  pto_program_array(run, "begun", PTO_ARRAY_OUTPUT, PTO_INT32, 1, pair);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  static int (*const lessons[])(struct pto_runtime *, struct pto_program_run *) = {
      managed_buffers, views, scopes, manual_scope, blocks, mix, predicates, held, recorded, host_read, refusal};
  int status = PTO_OK;
  for (size_t i = 0; i < sizeof lessons / sizeof *lessons && status == PTO_OK; i++) {
    int (*const lesson)(struct pto_runtime *, struct pto_program_run *) = lessons[i];
    status = lesson(rt, run);
  }
  return status;
}

static double *golden(struct pto_program_run *run, const char *name) {
  return pto_array_golden(run, pto_program_find(run, name));
}

static int expect(struct pto_program_run *run) {
  const struct pto_array *x = pto_program_find(run, "x");
  double *poly = golden(run, "poly"), *turned = golden(run, "turned"), *tripled = golden(run, "tripled");
  double *doubled = golden(run, "doubled"), *negative = golden(run, "negative"), *scaled = golden(run, "scaled");
  double *sums = golden(run, "sums"), *tens = golden(run, "tens"), *chosen = golden(run, "chosen"), most = -1;
  double *begun = golden(run, "begun"), *ninefold = golden(run, "ninefold");
  if (!poly || !turned || !tripled || !doubled || !negative || !scaled || !sums || !tens || !chosen || !begun ||
      !ninefold)
    return PTO_ENOMEM;
  for (uint64_t i = 0; i < N * N; i++) most = pto_array_get(x, i) > most ? pto_array_get(x, i) : most;
  for (uint64_t i = 0; i < N * N; i++) {
    const double value = pto_array_get(x, i);
    poly[i] = value * value + value;
    turned[i % N * N + i / N] = value;
    tripled[i] = 3 * value;
    doubled[i] = 2 * value;
    negative[i] = -value;
    scaled[i] = most * value;
    ninefold[i] = 9 * value;
    sums[i / N] += value * value;
  }
  for (int i = 0; i < BLOCKS; i++) tens[i] = 10 * i;
  chosen[0] = 7;
  begun[0] = begun[1] = 5;
  return PTO_OK;
}

PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "lesson",
                                                .summary = "what an orchestration can say",
                                                .rtol = 1e-5,
                                                .atol = 1e-5,
                                                .expects_refusals = true,
                                                .prepare = prepare,
                                                .orchestrate = orchestrate,
                                                .expect = expect};
