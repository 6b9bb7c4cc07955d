/* SPDX-License-Identifier: MIT */
/*
 * Gates decide whether tasks run: output elements hold 42 and become 999 where the predicate of their task holds. Every
 * comparison sees gates below, at and above its value, the gates are themselves the output of a task, and what follows
 * a task that did not run still runs.
 */
#include <pto/pto.h>

#define GATES 3u    /* 0, 1 and 2, compared with 1 */
#define COMPARES 6u /* PTO_IF_EQ … PTO_IF_GE */
#define CELLS (GATES * COMPARES)

/* z[i] = i */
static int count_run(const struct pto_kernel_args *a) {
  int32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = (int32_t)i;
  return 0;
}
static const struct pto_kernel_param count_params[] = {
    {.name = "z", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1}};
static const struct pto_kernel count = {
    .name = "count", .cores = PTO_AIV, .params = count_params, .param_count = 1, .run = count_run};

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {CELLS}, host_gates[] = {GATES};
  pto_array_fill(pto_program_array(run, "out", PTO_ARRAY_INOUT, PTO_INT32, 1, shape), 42);
  pto_program_array(run, "copied", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape);
  struct pto_array *gates = pto_program_array(run, "gates", PTO_ARRAY_INPUT, PTO_INT32, 1, host_gates);
  for (uint32_t i = 0; gates && i < GATES; i++) pto_array_set(gates, i, i);
  return PTO_OK;
}

static struct pto_tensor element_of(const struct pto_tensor *t, uint64_t index) {
  return pto_tensor_slice(t, 0, index, index + 1, 1);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const uint64_t shape[] = {GATES};
  struct pto_tensor out = pto_array_tensor(rt, pto_program_find(run, "out"));
  struct pto_tensor copied = pto_array_tensor(rt, pto_program_find(run, "copied"));
  struct pto_tensor gates = pto_array_tensor(rt, pto_program_find(run, "gates"));
  int status = PTO_OK;
  if (pto_option_bool(run, "produced")) {
    gates = pto_managed_tensor(rt, pto_create_buffer(rt, sizeof(int32_t) * GATES), PTO_INT32, 1, shape);
    status = pto_submit_aiv(rt, &count, (struct pto_param[]){pto_output(&gates)}, 1);
  }
  for (uint32_t cell = 0; cell < CELLS && status == PTO_OK; cell++) {
    struct pto_tensor gate = element_of(&gates, cell % GATES), target = element_of(&out, cell);
    struct pto_launch launch = {.aiv0 = pto_kernel_find("fill_int"),
                                .predicate = {.tensor = &gate, .compare = PTO_IF_EQ + cell / GATES, .value = 1}};
    status = pto_submit(rt, &launch, (struct pto_param[]){pto_output(&target), pto_scalar_i64(999)}, 2, NULL);
  }
  if (status != PTO_OK) return status;
  return pto_submit_aiv(rt, pto_kernel_find("copy"), (struct pto_param[]){pto_input(&out), pto_output(&copied)}, 2);
}

static int expect(struct pto_program_run *run) {
  /* For == != < <= > >= in turn: does it hold of 0, 1 and 2 against 1? */
  static const bool runs[COMPARES][GATES] = {{false, true, false}, {true, false, true},  {true, false, false},
                                             {true, true, false},  {false, false, true}, {false, true, true}};
  double *out = pto_array_golden(run, pto_program_find(run, "out"));
  double *copied = pto_array_golden(run, pto_program_find(run, "copied"));
  for (uint32_t cell = 0; out && copied && cell < CELLS; cell++)
    out[cell] = copied[cell] = runs[cell / GATES][cell % GATES] ? 999 : 42;
  return PTO_OK;
}

/* The copy waits for all 18 gated tasks; where a task produces the gates, each of those waits for it. */
const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "predicated",
    .summary = "a gate element decides whether a task runs: 42 stays or becomes 999",
    .options =
        (const struct pto_option[]){{"produced", PTO_OPTION_BOOL, "true", "a task makes the gates, not the host"}, {0}},
    .cases = (const struct pto_case[]){{.name = "produced", .settings = "produced=true", .tasks = 20, .edges = 36},
                                       {.name = "from_host", .settings = "produced=false", .tasks = 19, .edges = 18},
                                       {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
