/* SPDX-License-Identifier: MIT */
/*
 * Gates decide whether tasks run: output elements hold 42 and become 999 where the predicate of their task holds. Every
 * comparison sees gates below, at and above its value, the gates are themselves the output of a task, and what follows
 * a task that did not run still runs.
 */
#include <orchestration/support/program.h>

#define GATES 3u    /* 0, 1 and 2, compared with 1 */
#define COMPARES 6u /* PTO_IF_EQ … PTO_IF_GE */
#define CELLS (GATES * COMPARES)

/* z[i] = i */
static int count_run(const struct pto_kernel_args *a) {
  int32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = (int32_t)i;
  return 0;
}
static const struct pto_kernel_param count_params[] = {TENSOR("z", PTO_OUTPUT, I32, 1)};
KERNEL(count, count_params, .name = "count", .cores = PTO_AIV, .run = count_run);

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {CELLS}, host_gates[] = {GATES};
  pto_array_fill(pto_program_array(run, "out", PTO_ARRAY_INOUT, PTO_INT32, 1, shape), 42);
  pto_program_array(run, "copied", PTO_ARRAY_OUTPUT, PTO_INT32, 1, shape);
  struct pto_array *gates = pto_program_array(run, "gates", PTO_ARRAY_INPUT, PTO_INT32, 1, host_gates);
  for (uint32_t i = 0; gates && i < GATES; i++) pto_array_set(gates, i, i);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor out = tensor_of(rt, run, "out"), copied = tensor_of(rt, run, "copied");
  struct pto_tensor gates = tensor_of(rt, run, "gates");
  struct pto_task made; /* the rules pto give a predicate no order: that is said */
  uint32_t made_count = 0;
  int status = PTO_OK;
  if (pto_option_bool(run, "produced")) {
    gates = temporary_vector(rt, PTO_INT32, GATES);
    status = pto_submit(rt, &(struct pto_launch){.aiv0 = &count}, PARAMS(pto_output(&gates)), &made);
    made_count = 1;
  }
  for (uint32_t cell = 0; cell < CELLS && status == PTO_OK; cell++) {
    struct pto_tensor gate = rows_of(&gates, cell % GATES, 1), target = rows_of(&out, cell, 1);
    struct pto_launch launch = {.aiv0 = pto_kernel_find("fill_int"),
                                .after = &made,
                                .after_count = made_count,
                                .predicate = {.tensor = &gate, .compare = PTO_IF_EQ + cell / GATES, .value = 1}};
    status = pto_submit(rt, &launch, PARAMS(pto_output(&target), pto_scalar_i64(999)), NULL);
  }
  if (status != PTO_OK) return status;
  return pto_submit_aiv(rt, pto_kernel_find("copy"), PARAMS(pto_input(&out), pto_output(&copied)));
}

static int expect(struct pto_program_run *run) {
  /* For == != < <= > >= in turn: does it hold of 0, 1 and 2 against 1? */
  static const bool runs[COMPARES][GATES] = {{false, true, false}, {true, false, true},  {true, false, false},
                                             {true, true, false},  {false, false, true}, {false, true, true}};
  double *out = golden_of(run, "out"), *copied = golden_of(run, "copied");
  for (uint32_t cell = 0; out && copied && cell < CELLS; cell++)
    out[cell] = copied[cell] = runs[cell / GATES][cell % GATES] ? 999 : 42;
  return PTO_OK;
}

static const struct pto_option options[] = {
    {"produced", PTO_OPTION_BOOL, "true", "a task makes the gates, not the host"}, {0}};

/* The copy waits for all 18 gated tasks; where a task produces the gates, each of those waits for it. */
static const struct pto_case cases[] = {{.name = "produced", .settings = "produced=true", .tasks = 20, .edges = 36},
                                        {.name = "from_host", .settings = "produced=false", .tasks = 19, .edges = 18},
                                        {0}};

PROGRAM("predicated", "a gate element decides whether a task runs: 42 stays or becomes 999");
