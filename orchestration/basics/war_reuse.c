/* SPDX-License-Identifier: MIT */
/*
 * Writing after someone else's read: in each round fast readers copy X to outputs of their own, then a slow task writes
 * X anew as an OUTPUT.  All in one scope, without host waits, so nothing but the write-after-read hazard keeps round
 * r's readers from seeing the X of a later round.
 *
 * Right under `--deps exact`.  The rules of `--deps pto` know neither write-after-read nor, for an external X,
 * write-after- write: all writers are ready at their submit, while the readers of round r wait for the writer of round
 * r − 1.  By the time that one is done, slow as it is, both vector cores of a cluster have run later writers and more
 * are queued; the readers then see one of those.  That happens every time in virtual time, where a kernel's length is
 * its cost and not the host's mood.
 */
#include <orchestration/support/program.h>

#define NUMEL 16u

static int read_run(const struct pto_kernel_args *a) {
  const int32_t *x = a->tensors[0].addr;
  int32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < NUMEL; i++) z[i] = x[i];
  return 0;
}
/* x[i] = round + i, as if it took slow_elems vector operations. */
static int write_run(const struct pto_kernel_args *a) {
  int32_t *x = a->tensors[0].addr;
  for (uint64_t i = 0; i < NUMEL; i++) x[i] = (int32_t)(a->scalars[0].u64 + i);
  return 0;
}
static struct pto_cost write_cost(const struct pto_kernel_args *a) {
  return (struct pto_cost){.bytes_out = NUMEL * sizeof(int32_t), .vector_elems = a->scalars[1].u64};
}

static const struct pto_kernel_param read_params[] = {TENSOR("x", PTO_INPUT, I32, 1), TENSOR("z", PTO_OUTPUT, I32, 1)};
static const struct pto_kernel_param write_params[] = {TENSOR("x", PTO_OUTPUT, I32, 1), SCALAR("round", PTO_SCALAR_U64),
                                                       SCALAR("slow_elems", PTO_SCALAR_U64)};
KERNEL(reader, read_params, .name = "reader", .cores = PTO_AIV, .run = read_run);
KERNEL(writer, write_params, .name = "writer", .cores = PTO_AIV, .run = write_run, .cost = write_cost);

static int prepare(struct pto_program_run *run) {
  uint64_t rounds, readers;
  const int status = READ_WHOLE_OPTIONS(run, {"rounds", 1, 1000000, &rounds}, {"readers", 1, 64, &readers},
                                        {"slow_elems", 0, INT64_MAX, NULL});
  if (status != PTO_OK) return status;
  const uint64_t x_shape[] = {NUMEL}, seen_shape[] = {rounds * readers, NUMEL};
  pto_program_array(run, "seen", PTO_ARRAY_OUTPUT, PTO_INT32, 2, seen_shape);
  struct pto_array *x = pto_program_array(run, "x", PTO_ARRAY_INOUT, PTO_INT32, 1, x_shape);
  for (uint32_t i = 0; x && i < NUMEL; i++) pto_array_set(x, i, i);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const uint64_t rounds = (uint64_t)pto_option_int(run, "rounds"), readers = (uint64_t)pto_option_int(run, "readers");
  const uint64_t slow_elems = (uint64_t)pto_option_int(run, "slow_elems");
  struct pto_tensor x = tensor_of(rt, run, "x"), seen = tensor_of(rt, run, "seen");
  int status = PTO_OK;
  for (uint64_t round = 0; round < rounds && status == PTO_OK; round++) {
    for (uint64_t i = round * readers; i < (round + 1) * readers && status == PTO_OK; i++) {
      struct pto_tensor z = part_of(&seen, i);
      status = pto_submit_aiv(rt, &reader, PARAMS(pto_input(&x), pto_output(&z)));
    }
    if (status == PTO_OK)
      status =
          pto_submit_aiv(rt, &writer, PARAMS(pto_output(&x), pto_scalar_u64(round + 1), pto_scalar_u64(slow_elems)));
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  const uint64_t rounds = (uint64_t)pto_option_int(run, "rounds"), readers = (uint64_t)pto_option_int(run, "readers");
  double *seen = golden_of(run, "seen"), *x = golden_of(run, "x");
  if (!seen || !x) return PTO_OK;
  for (uint64_t i = 0; i < NUMEL; i++) x[i] = (double)(rounds + i);
  for (uint64_t row = 0; row < rounds * readers; row++)
    for (uint64_t i = 0; i < NUMEL; i++) seen[row * NUMEL + i] = (double)(row / readers + i);
  return PTO_OK;
}

/* Each round: the readers wait for the writer before them; the writer waits for them and for that writer:
 * rounds·(readers + 1) tasks, (rounds − 1)·readers + rounds·readers + (rounds − 1) edges. */
const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "war_reuse",
    .summary = "writes after someone else's reads, thousands of times: what --deps pto gets wrong",
    .options =
        (const struct pto_option[]){{"rounds", PTO_OPTION_INT, "2000", "times that X is read and written anew"},
                                    {"readers", PTO_OPTION_INT, "3", "tasks that read X in a round"},
                                    {"slow_elems", PTO_OPTION_INT, "1048576", "cost of a writer, vector operations"},
                                    {0}},
    .cases = (const struct pto_case[]){{.name = "short", .settings = "rounds=50", .tasks = 200, .edges = 346},
                                       {.name = "long", .settings = "rounds=2000", .tasks = 8000, .edges = 13996},
                                       {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
