/* SPDX-License-Identifier: MIT */
/*
 * The orchestration itself reads and writes elements between tasks, and must see what sequential execution would show
 * it: read after a producer · read after an INOUT · write after a reader (the reader saw the old value) · write after a
 * writer (the writer does not undo it) · a value that was read decides what is submitted next.
 */
#include <orchestration/support/program.h>

#define NUMEL 256u

/* z[i] = first + i */
static int count_run(const struct pto_kernel_args *a) {
  int32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = (int32_t)(a->scalars[0].i64 + (int64_t)i);
  return 0;
}
/* x[i] += amount */
static int increase_run(const struct pto_kernel_args *a) {
  int32_t *x = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) x[i] = (int32_t)(x[i] + a->scalars[0].i64);
  return 0;
}

static const struct pto_kernel_param count_params[] = {TENSOR("z", PTO_OUTPUT, I32, 1),
                                                       SCALAR("first", PTO_SCALAR_I64)};
static const struct pto_kernel_param increase_params[] = {TENSOR("x", PTO_INOUT, I32, 1),
                                                          SCALAR("amount", PTO_SCALAR_I64)};
KERNEL(count, count_params, .name = "count", .cores = PTO_AIV, .run = count_run);
KERNEL(increase, increase_params, .name = "increase", .cores = PTO_AIV, .run = increase_run);

static int submit_count(struct pto_runtime *rt, const struct pto_tensor *z, int64_t first) {
  return pto_submit_aiv(rt, &count, PARAMS(pto_output(z), pto_scalar_i64(first)));
}
static int submit_increase(struct pto_runtime *rt, const struct pto_tensor *x, int64_t amount) {
  return pto_submit_aiv(rt, &increase, PARAMS(pto_inout(x), pto_scalar_i64(amount)));
}
static int submit_copy(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *z) {
  return pto_submit_aiv(rt, pto_kernel_find("copy"), PARAMS(pto_input(x), pto_output(z)));
}
static int read_at(struct pto_runtime *rt, const struct pto_tensor *t, uint64_t index, int32_t *value) {
  return pto_read_element(rt, t, &index, value);
}
static int write_at(struct pto_runtime *rt, const struct pto_tensor *t, uint64_t index, int32_t value) {
  return pto_write_element(rt, t, &index, &value);
}

static int prepare(struct pto_program_run *run) {
  uint64_t rounds = 0;
  const int status = READ_WHOLE_OPTIONS(run, {"rounds", 1, 1000, &rounds});
  if (status != PTO_OK) return status;
  return DECLARE_ARRAYS(run, OUTPUT("read", PTO_INT32, rounds, 3), OUTPUT("copies", PTO_INT32, rounds, 2, NUMEL));
}

/* One round: six tasks; what the orchestration read goes to read[0 … 2]. */
static int round_of(struct pto_runtime *rt, const struct pto_tensor *copies, uint64_t round, int32_t *read) {
  struct pto_tensor t = temporary_vector(rt, PTO_INT32, NUMEL), u = temporary_vector(rt, PTO_INT32, NUMEL);
  struct pto_tensor both = part_of(copies, round), first = part_of(&both, 0), second = part_of(&both, 1);
  int s = submit_count(rt, &t, 100 * (int64_t)round);
  if (!s) s = read_at(rt, &t, 5, &read[0]); /* after a producer */
  if (!s) s = submit_increase(rt, &t, 7);
  if (!s) s = read_at(rt, &t, 3, &read[1]); /* after an INOUT */
  if (!s) s = submit_copy(rt, &t, &first);
  if (!s) s = write_at(rt, &t, 0, -1); /* after a reader, which must have seen the old value */
  if (!s) s = read_at(rt, &t, 0, &read[2]);
  if (!s) s = submit_count(rt, &u, read[1]); /* a value that was read goes on as a scalar */
  if (!s) s = write_at(rt, &u, 1, -2);       /* after a writer, which must not undo it */
  if (!s) s = submit_increase(rt, &u, read[0] % 3 == 0 ? 1000 : 2000);
  return s ? s : submit_copy(rt, &u, &second);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_array *read = pto_program_find(run, "read");
  struct pto_tensor copies = tensor_of(rt, run, "copies");
  int status = PTO_OK;
  for (uint64_t round = 0; round < read->shape[0] && status == PTO_OK; round++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = round_of(rt, &copies, round, (int32_t *)read->data + 3 * round);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  struct pto_array *read = pto_program_find(run, "read");
  double *values = pto_array_golden(run, read), *copies = golden_of(run, "copies");
  for (uint64_t round = 0; values && copies && round < read->shape[0]; round++) {
    double base = 100 * (double)round, amount = (100 * round + 5) % 3 == 0 ? 1000 : 2000;
    double *first = copies + 2 * NUMEL * round, *second = first + NUMEL;
    values[3 * round] = base + 5;
    values[3 * round + 1] = base + 3 + 7;
    values[3 * round + 2] = -1;
    for (uint32_t i = 0; i < NUMEL; i++) {
      first[i] = base + i + 7;
      second[i] = (i == 1 ? -2 : base + 10 + i) + amount;
    }
  }
  return PTO_OK;
}

/* A round is twice count → increase → copy; a copy finds the increase alone, which covers the count. */
const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "scalar_data",
    .summary = "the orchestration reads and writes elements between tasks",
    .options =
        (const struct pto_option[]){{"rounds", PTO_OPTION_INT, "10", "times that the sequence is repeated"}, {0}},
    .cases = (const struct pto_case[]){{.name = "once", .settings = "rounds=1", .tasks = 6, .edges = 4},
                                       {.name = "hundred", .settings = "rounds=100", .tasks = 600, .edges = 400},
                                       {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
