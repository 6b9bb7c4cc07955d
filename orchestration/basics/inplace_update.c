/* SPDX-License-Identifier: MIT */
/*
 * One buffer goes through versions in place: x v0 → x v1 → …, each step an in-place safe kernel that takes x at version
 * v as INPUT and at v + 1 as OUTPUT of the same bytes.  Every version is copied by a reader before the next step may
 * overwrite it, and steps that name a wrong version are refused without harm.
 */
#include <orchestration/support/program.h>

#define NUMEL 4096u

/* z = 3·x + 1 modulo 2³², element by element: x and z may be the same bytes. */
static int step_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = 3u * x[i] + 1u;
  return 0;
}
static int read_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = x[i];
  return 0;
}

static const struct pto_kernel_param in_out[] = {TENSOR("x", PTO_INPUT, U32, 1), TENSOR("z", PTO_OUTPUT, U32, 1)};
KERNEL(step, in_out, .name = "step", .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE, .run = step_run);
KERNEL(reader, in_out, .name = "reader", .cores = PTO_AIV, .run = read_run);

struct state {
  uint32_t start[NUMEL]; /* x before the run, for the golden */
};

static int prepare(struct pto_program_run *run) {
  uint64_t rounds = 0;
  const int status = READ_WHOLE_OPTIONS(run, {"rounds", 1, 4096, &rounds});
  if (status != PTO_OK) return status;
  const uint64_t shape[] = {NUMEL}, seen_shape[] = {rounds + 1, NUMEL};
  struct pto_array *x = pto_program_array(run, "x", PTO_ARRAY_INOUT, PTO_UINT32, 1, shape);
  struct state *state = pto_program_state(run, sizeof *state);
  pto_array_fill_uniform(run, x, 0, 1e6);
  pto_program_array(run, "seen", PTO_ARRAY_OUTPUT, PTO_UINT32, 2, seen_shape);
  for (uint32_t i = 0; x && state && i < NUMEL; i++) state->start[i] = ((const uint32_t *)x->data)[i];
  return PTO_OK;
}

static int read_version(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *seen,
                        int32_t version) {
  struct pto_tensor now = pto_tensor_with_version(x, version), row = part_of(seen, (uint64_t)version);
  return pto_submit_aiv(rt, &reader, PARAMS(pto_input(&now), pto_output(&row)));
}

static int advance(struct pto_runtime *rt, const struct pto_tensor *x, int32_t from, int32_t to) {
  struct pto_tensor before = pto_tensor_with_version(x, from), after = pto_tensor_with_version(x, to);
  return pto_submit_aiv(rt, &step, PARAMS(pto_input(&before), pto_output(&after)));
}

/* Steps from a version that is past, to one that leaves one out, and to one that is past. */
static int try_wrong_versions(struct pto_runtime *rt, const struct pto_tensor *x, int32_t now) {
  const int32_t wrong[][2] = {{now - 1, now + 1}, {now + 1, now + 1}, {now, now + 2}, {now, now - 1}};
  for (unsigned i = 0; i < LENGTH(wrong); i++)
    if (advance(rt, x, wrong[i][0], wrong[i][1]) != PTO_EINVAL)
      return pto_report_error(rt, "a step that names a wrong version was not refused");
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor x = tensor_of(rt, run, "x"), seen = tensor_of(rt, run, "seen");
  int32_t rounds = (int32_t)pto_option_int(run, "rounds");
  int status = read_version(rt, &x, &seen, 0);
  for (int32_t version = 0; version < rounds && status == PTO_OK; version++) {
    status = try_wrong_versions(rt, &x, version);
    if (status == PTO_OK) status = advance(rt, &x, version, version + 1);
    if (status == PTO_OK) status = read_version(rt, &x, &seen, version + 1);
  }
  return status;
}

/* v steps at once, by the closed form of the recurrence: 3ᵛ·x + (3ᵛ − 1)/2. */
static int expect(struct pto_program_run *run) {
  struct pto_array *seen = pto_program_find(run, "seen"), *x = pto_program_find(run, "x");
  const struct state *state = pto_program_state(run, sizeof *state);
  double *golden = pto_array_golden(run, seen), *last = pto_array_golden(run, x);
  uint64_t power = 1, sum = 0; /* 3ᵛ and 3⁰ + … + 3ᵛ⁻¹, modulo 2⁶⁴ */
  if (!golden || !last) return PTO_OK;
  for (uint64_t version = 0; version < seen->shape[0]; version++) {
    for (uint64_t i = 0; i < NUMEL; i++)
      last[i] = golden[version * NUMEL + i] = (uint32_t)(power * state->start[i] + sum);
    sum += power;
    power *= 3;
  }
  return PTO_OK;
}

static const struct pto_option options[] = {{"rounds", PTO_OPTION_INT, "4", "versions after the first"}, {0}};

/* n rounds: n steps and n + 1 readers.  Each step waits for the reader and the step before it, each reader but the
 * first for the step before it: n + (n − 1) + n edges. */
static const struct pto_case cases[] = {{.name = "four", .settings = "rounds=4", .tasks = 9, .edges = 11},
                                        {.name = "hundred", .settings = "rounds=100", .tasks = 201, .edges = 299},
                                        {0}};

PROGRAM("inplace_update", "one buffer goes through versions in place, each read before the next replaces it",
        .expects_refusals = true);
