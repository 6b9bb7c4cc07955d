/* SPDX-License-Identifier: MIT */
/*
 * The end of the program of docs/waiting-cores.md: arrays, golden and the program.  tests/pages/waiting_cores_test.sh
 * puts it behind the pieces of the page.
 */
static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {64, 1000};
  struct pto_array *x = pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 2, shape);
  struct pto_array *y = pto_program_array(run, "y", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, shape);
  if (!x || !y) return PTO_ENOMEM;
  pto_array_fill_uniform(run, x, -1, 1);
  return PTO_OK;
}

static int expect(struct pto_program_run *run) {
  const struct pto_array *x = pto_program_find(run, "x");
  double *golden = pto_array_golden(run, pto_program_find(run, "y"));
  if (!golden) return PTO_ENOMEM;
  for (uint64_t i = 0; i < x->numel; i++) golden[i / 1000] += pto_array_get(x, i) * pto_array_get(x, i);
  return PTO_OK;
}

PTO_API const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "energy",
    .summary = "sums of squares, by two cores that work at the same time",
    .rtol = 1e-5,
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
