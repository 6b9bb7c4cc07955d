/* SPDX-License-Identifier: MIT */
/*
 * spmd_barrier: the cores of a sync_start task in a ring.  In each step a core writes a number into its slot, all meet
 * at a barrier, and each reads the slot of its right neighbour; the number that it read is what it writes next.  Slots
 * of two steps alternate, so one barrier a step is enough: who writes slot s of step i + 2 has passed the barrier of
 * step i + 1, to which everybody came who had read it in step i.
 *
 * So after s steps a core holds what the core s places to its right began with, and the sum of what it has read on the
 * way.  A core that passes a barrier early, or misses one, reads a number of another step.
 *
 * tasks = rounds, edges = 0.  Twelve blocks of MIX together need twelve clusters: smaller chips are refused.
 */
#include <orchestration/support/program.h>

#include <string.h>

struct state {
  uint64_t rounds, blocks, steps, roles;
};

static int64_t initial(uint64_t round, uint64_t core) { return (int64_t)(1000000 * (round + 1) + 1000 * core + 1); }

/* ---- kernels, of cores = blocks · roles, block by block: held i64[cores], sums i64[cores], slots i64[2, cores],
 * round, steps ---- */

static const struct pto_kernel_param params[] = {
    TENSOR("held", PTO_OUTPUT, I64, 1), TENSOR("sums", PTO_OUTPUT, I64, 1), TENSOR("slots", PTO_OUTPUT, I64, 2),
    SCALAR("round", PTO_SCALAR_U64),    SCALAR("steps", PTO_SCALAR_U64),
};

static int pass_on(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *held = &args->tensors[0], *sums = &args->tensors[1], *slots = &args->tensors[2];
  uint64_t cores = held->shape[0], roles = cores / args->core->block_count;
  uint64_t self = args->core->block_index * roles + (roles == 1 ? 0 : args->core->role);
  int64_t number = initial(args->scalars[0].u64, self), sum = 0;
  for (uint64_t step = 0; step < args->scalars[1].u64; step++) {
    int64_t *slot = (int64_t *)slots->addr + step % 2 * slots->strides[0];
    slot[self] = number;
    int status = pto_core_barrier(args);
    if (status != 0) return status;
    number = slot[(self + 1) % cores];
    sum += number;
  }
  ((int64_t *)held->addr)[self * held->strides[0]] = number;
  ((int64_t *)sums->addr)[self * sums->strides[0]] = sum;
  return 0;
}

/* A line of memory written and one read in each step. */
static struct pto_cost pass_on_cost(const struct pto_kernel_args *args) {
  uint64_t steps = args->scalars[1].u64;
  return (struct pto_cost){.bytes_in = 64 * steps, .bytes_out = 64 * steps, .vector_elems = steps};
}

KERNEL(ring, params, .name = "pass_on", .cores = PTO_AIC | PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = pass_on,
       .cost = pass_on_cost);

/* ---- the program ---- */

static const struct pto_option options[] = {
    {"shape", PTO_OPTION_TEXT, "aiv", "of a block: aiv, one AIV; mix, a whole cluster"},
    {"blocks", PTO_OPTION_INT, "8", "blocks of a task"},
    {"steps", PTO_OPTION_INT, "5", "barriers of a task"},
    {"rounds", PTO_OPTION_INT, "4", "tasks"},
    {0},
};

static const struct pto_case cases[] = {
    {"aiv8", "shape=aiv blocks=8 steps=5 rounds=4", NULL, 4, 0, false},
    {"aiv24", "shape=aiv blocks=24 steps=30 rounds=4", "every AIV of twelve clusters", 4, 0, false},
    {"mix8", "shape=mix blocks=8 steps=5 rounds=4", NULL, 4, 0, false},
    {"mix12", "shape=mix blocks=12 steps=40 rounds=4", "every core of twelve clusters", 4, 0, false},
    {"one", "shape=mix blocks=1 steps=3 rounds=100", "the cores of a single cluster", 100, 0, false},
    {"steps", "shape=aiv blocks=2 steps=1000 rounds=1", "a thousand barriers in a row", 1, 0, false},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct state *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  const int status = READ_WHOLE_OPTIONS(run, {"rounds", 1, 100000, &state->rounds}, {"blocks", 1, 4096, &state->blocks},
                                        {"steps", 1, 1000000, &state->steps});
  if (status != PTO_OK) return status;
  const char *shape = pto_option_text(run, "shape");
  state->roles = strcmp(shape, "mix") == 0 ? 3 : 1;
  if (state->roles == 1 && strcmp(shape, "aiv") != 0)
    return pto_program_fail(run, "spmd_barrier: shape \"%s\" is neither aiv nor mix", shape);
  return DECLARE_ARRAYS(run, OUTPUT("held", PTO_INT64, state->rounds, state->blocks * state->roles),
                        OUTPUT("sums", PTO_INT64, state->rounds, state->blocks * state->roles));
}

static int submit_round(struct pto_runtime *rt, const struct state *state, uint64_t round,
                        const struct pto_tensor *all_held, const struct pto_tensor *all_sums) {
  struct pto_tensor held = part_of(all_held, round), sums = part_of(all_sums, round);
  struct pto_tensor slots = temporary_matrix(rt, PTO_INT64, 2, state->blocks * state->roles);
  struct pto_launch launch = {.aiv0 = &ring, .block_count = (uint32_t)state->blocks, .sync_start = true};
  if (state->roles == 3) launch.aic = launch.aiv1 = &ring;
  return pto_submit(rt, &launch,
                    PARAMS(pto_output(&held), pto_output(&sums), pto_output(&slots), pto_scalar_u64(round),
                           pto_scalar_u64(state->steps)),
                    NULL);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct state *state = pto_program_state(run, sizeof *state);
  uint32_t room = pto_core_count(rt, state->roles == 3 ? PTO_CLUSTER : PTO_AIV);
  if (state->blocks > room)
    return pto_program_fail(run, "spmd_barrier: %llu blocks cannot start together, the chip has room for %u",
                            (unsigned long long)state->blocks, room);
  struct pto_tensor held = tensor_of(rt, run, "held"), sums = tensor_of(rt, run, "sums");
  int status = PTO_OK;
  for (uint64_t round = 0; round < state->rounds && status == PTO_OK; round++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_round(rt, state, round, &held, &sums);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  const struct state *state = pto_program_state(run, sizeof *state);
  double *held = golden_of(run, "held"), *sums = golden_of(run, "sums");
  if (held == NULL || sums == NULL) return PTO_ENOMEM;
  uint64_t cores = state->blocks * state->roles;
  for (uint64_t i = 0; i < state->rounds * cores; i++) {
    held[i] = (double)initial(i / cores, (i % cores + state->steps) % cores);
    for (uint64_t step = 1; step <= state->steps; step++)
      sums[i] += (double)initial(i / cores, (i % cores + step) % cores);
  }
  return PTO_OK;
}

PROGRAM("spmd_barrier", "cores that start together pass numbers around a ring, with a barrier in every step",
        .min_clusters = 12);
