/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, at every point of the calls of pto/world.h, pto/remote.h and pto/collectives.h: the world
 * is not made, or its run ends with the status and the sentence of a rank that had no memory, or all ranks have what is
 * right; none waits for ever, and nothing is lost.  Ranks on one thread, on two, and each on its own.
 *
 * pto_world_rank, pto_rank_index, _count, _clock_ps, _set_error, pto_comm_place, _size, _window, _peer, pto_core_window
 * and pto_core_computes allocate nothing.  A world runs once, so it is the next one that has memory again.
 */
#include <tests/support/memory_scenarios.h>

#include <pto/collectives.h>
#include <pto/pto.h>
#include <pto/remote.h>

#define RANKS 3u
#define NUMEL 12u
#define ROW 8u

static const uint64_t shape[] = {NUMEL};
static float own[RANKS][NUMEL], back[RANKS][NUMEL], passed[RANKS][NUMEL];

static struct pto_tensor over(struct pto_runtime *rt, float *values, uint64_t count) {
  return pto_external_tensor(rt, values, PTO_FLOAT32, 1, &count);
}

/* ---- put, get and signals ---- */

/* Puts its numbers into the next one's window, and when all have done so gets them back, and takes what has come. */
static int exchange(const struct pto_kernel_args *a) {
  const uint64_t comm = a->scalars[0].u64;
  bool holds = false;
  int status = pto_core_put(a, &a->tensors[1], &a->tensors[0]);
  for (uint32_t i = 0; i < RANKS && !status; i++) status = pto_core_notify(a, comm, i, 0, PTO_NOTIFY_ADD, 1);
  if (!status) status = pto_core_wait_signal(a, comm, 0, PTO_IF_EQ, RANKS);
  if (!status) status = pto_core_test_signal(a, comm, 0, PTO_IF_GE, 1, &holds);
  if (!status) status = pto_core_get(a, &a->tensors[2], &a->tensors[1]);
  if (status) return status;
  if (!holds) return pto_kernel_error(a, "the signal is gone");
  memcpy(a->tensors[4].addr, a->tensors[3].addr, sizeof own[0]);
  return 0;
}
static const struct pto_kernel_param exchange_params[] = {
    {"own", PTO_INPUT, 0, 0, 0, 0},     {"peer", PTO_INOUT, 0, 0, 0, 0},
    {"back", PTO_OUTPUT, 0, 0, 0, 0},   {"window", PTO_INPUT, 0, 0, 0, 0},
    {"passed", PTO_OUTPUT, 0, 0, 0, 0}, {"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel exchange_kernel = {.name = "exchange",
                                                  .cores = PTO_AIV,
                                                  .flags = PTO_KERNEL_REMOTE,
                                                  .params = exchange_params,
                                                  .param_count = 6,
                                                  .run = exchange};

static int submit_exchange(struct pto_runtime *rt, const struct pto_tensor *mine, const struct pto_tensor *again,
                           const struct pto_tensor *come) {
  const uint32_t rank = pto_runtime_rank(rt);
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &exchange_kernel};
  struct pto_comm comm;
  int status = pto_comm_create(rt, NULL, 0, sizeof own[0], 2, &comm);
  if (status) return status;
  const struct pto_tensor peer = pto_comm_peer(rt, comm, (rank + 1) % RANKS, PTO_FLOAT32, 1, shape),
                          window = pto_comm_window(rt, comm, PTO_FLOAT32, 1, shape);
  const struct pto_param params[] = {pto_input(mine),    pto_inout(&peer), pto_output(again),
                                     pto_input(&window), pto_output(come), pto_scalar_u64(comm.id)};
  return pto_submit_group(rt, comm, &launch, params, 6, NULL);
}

static int orchestrate_exchange(struct pto_runtime *rt, void *context) {
  const uint32_t rank = pto_runtime_rank(rt);
  const struct pto_tensor mine = over(rt, own[rank], NUMEL), again = over(rt, back[rank], NUMEL),
                          come = over(rt, passed[rank], NUMEL);
  return submit_exchange(rt, &mine, &again, &come);
}

/* The same as a program of a context. */
static int dispatch_exchange(struct pto_runtime *rt, const struct pto_bound *bound) {
  return submit_exchange(rt, &bound->inputs[0], &bound->outputs[0], &bound->outputs[1]);
}
static const struct pto_operand operands[] = {{.name = "own", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}},
                                              {.name = "back", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}},
                                              {.name = "passed", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}}};
static const struct pto_device_program exchange_program = {.name = "exchange",
                                                           .inputs = operands,
                                                           .input_count = 1,
                                                           .outputs = operands + 1,
                                                           .output_count = 2,
                                                           .orchestrate = dispatch_exchange};

static bool has_exchanged(void) {
  for (uint32_t r = 0; r < RANKS; r++)
    if (memcmp(back[r], own[r], sizeof own[r]) != 0 || memcmp(passed[(r + 1) % RANKS], own[r], sizeof own[r]) != 0)
      return false;
  return true;
}

/* ---- collectives ---- */

static float sums[RANKS][4][NUMEL], scattered[RANKS][NUMEL / RANKS], gathered[RANKS][NUMEL], sent[RANKS][NUMEL],
    turned[RANKS][NUMEL];

static int orchestrate_collectives(struct pto_runtime *rt, void *context) {
  const uint32_t rank = pto_runtime_rank(rt);
  struct pto_comm comm;
  struct pto_task barrier;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, sizeof own[0], &comm);
  if (status) return status;
  const struct pto_tensor in = over(rt, own[rank], NUMEL), part = over(rt, scattered[rank], NUMEL / RANKS),
                          all = over(rt, gathered[rank], NUMEL), of_root = over(rt, sent[rank], NUMEL),
                          of_each = over(rt, turned[rank], NUMEL);
  for (uint32_t i = 0; i < 4 && status == PTO_OK; i++) {
    const struct pto_tensor sum = over(rt, sums[rank][i], NUMEL);
    status = pto_submit_all_reduce(rt, comm, &in, &sum, PTO_REDUCE_SUM, (enum pto_all_reduce)i);
  }
  if (status == PTO_OK) status = pto_submit_reduce_scatter(rt, comm, &in, &part, PTO_REDUCE_SUM);
  if (status == PTO_OK) status = pto_submit_comm_barrier(rt, comm, &barrier);
  if (status == PTO_OK) status = pto_submit_all_gather(rt, comm, &part, &all);
  if (status == PTO_OK) status = pto_submit_broadcast(rt, comm, &in, &of_root, 1);
  return status == PTO_OK ? pto_submit_all_to_all(rt, comm, &in, &of_each) : status;
}

static bool has_collected(void) {
  bool is_so = true;
  for (uint32_t r = 0; r < RANKS; r++)
    for (uint32_t k = 0; k < NUMEL; k++) {
      const uint32_t each = NUMEL / RANKS, from = k / each;
      const float sum = own[0][k] + own[1][k] + own[2][k];
      for (uint32_t i = 0; i < 4; i++) is_so &= sums[r][i][k] == sum;
      is_so &= gathered[r][k] == sum && sent[r][k] == own[1][k];
      is_so &= turned[r][k] == own[from][r * each + k % each];
    }
  return is_so;
}

/* ---- a mixture of experts: each rank has one, and sends its tokens to that of the next ---- */

#define TOKENS 2u
#define CAPACITY 4u

static float x[RANKS][TOKENS * ROW], received[RANKS][CAPACITY * ROW], weights[RANKS][TOKENS], out[RANKS][TOKENS * ROW];
static int32_t experts[RANKS][TOKENS], counts[RANKS][1];

static int orchestrate_experts(struct pto_runtime *rt, void *context) {
  const uint32_t rank = pto_runtime_rank(rt);
  const uint64_t rows[] = {TOKENS, ROW}, choices[] = {TOKENS, 1}, room[] = {1, CAPACITY, ROW}, one[] = {1};
  struct pto_comm comm;
  struct pto_moe_handle handle;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, sizeof received[0], &comm);
  if (status) return status;
  const struct pto_tensor tokens = pto_external_tensor(rt, x[rank], PTO_FLOAT32, 2, rows),
                          idx = pto_external_tensor(rt, experts[rank], PTO_INT32, 2, choices),
                          recv = pto_external_tensor(rt, received[rank], PTO_FLOAT32, 3, room),
                          count = pto_external_tensor(rt, counts[rank], PTO_INT32, 1, one),
                          weight = pto_external_tensor(rt, weights[rank], PTO_FLOAT32, 2, choices),
                          sum = pto_external_tensor(rt, out[rank], PTO_FLOAT32, 2, rows);
  status = pto_submit_moe_dispatch(rt, comm, &tokens, &idx, &recv, &count, &handle);
  return status == PTO_OK ? pto_submit_moe_combine(rt, comm, &recv, &weight, &handle, &sum) : status;
}

static bool has_mixed(void) {
  for (uint32_t r = 0; r < RANKS; r++) {
    if (counts[r][0] != TOKENS) return false;
    for (uint32_t k = 0; k < TOKENS * ROW; k++)
      if (out[r][k] != 2 * x[r][k]) return false;
  }
  return true;
}

/* ---- whole worlds ---- */

static void set_inputs(void) {
  memset(back, 0, sizeof back);
  memset(passed, 0, sizeof passed);
  memset(sums, 0, sizeof sums);
  memset(gathered, 0, sizeof gathered);
  memset(sent, 0, sizeof sent);
  memset(turned, 0, sizeof turned);
  memset(out, 0, sizeof out);
  for (uint32_t r = 0; r < RANKS; r++) {
    for (uint32_t k = 0; k < NUMEL; k++) own[r][k] = (float)(100 * r + k);
    for (uint32_t k = 0; k < TOKENS * ROW; k++) x[r][k] = (float)(50 * r + k);
    for (uint32_t k = 0; k < TOKENS; k++) experts[r][k] = (int32_t)((r + 1) % RANKS), weights[r][k] = 2;
  }
}

static const struct job {
  int (*orchestrate)(struct pto_runtime *rt, void *context); /* NULL: ranks have contexts */
  bool (*has_done)(void);
  uint32_t threads, record;
  bool rank_threads;
} jobs[] = {
    {orchestrate_exchange, has_exchanged, 1, 0, false},
    {NULL, has_exchanged, 1, 0, false}, /* contexts */
    {orchestrate_exchange, has_exchanged, 1, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS, true},
    {orchestrate_exchange, has_exchanged, 2, 0, false},
    {orchestrate_collectives, has_collected, 1, 0, false},
    {orchestrate_experts, has_mixed, 2, 0, false},
};

static int run_runtime(const struct pto_config *config, const struct job *job, char *sentence, size_t size) {
  struct pto_runtime *rt = NULL;
  int status = pto_runtime_create_explained(config, &rt, sentence, size);
  if (status) return status;
  status = pto_run(rt, job->orchestrate, NULL);
  snprintf(sentence, size, "%s", pto_last_error(rt));
  pto_runtime_destroy(rt);
  return status;
}

static int run_context(const struct pto_config *config, char *sentence, size_t size) {
  const uint32_t rank = pto_rank_index(config->rank);
  const struct pto_context_options options = {
      .size = sizeof options, .memory_bytes = 1 << 16, .tensor_count = 16, .runtime = *config};
  const struct pto_host_array in = {"own", own[rank], sizeof own[rank]},
                              results[] = {{"back", back[rank], sizeof back[rank]},
                                           {"passed", passed[rank], sizeof passed[rank]}};
  const struct pto_compute_arrays arrays = {&in, results, 1, 2};
  struct pto_context *context = NULL;
  int status = pto_context_create(&options, &context, sentence, size);
  if (status) return status;
  status = pto_context_compute(context, &exchange_program, &arrays);
  snprintf(sentence, size, "%s", pto_context_error(context));
  pto_context_destroy(context);
  return status;
}

static int run_rank(struct pto_rank *rank, void *context) {
  const struct job *job = context;
  char sentence[256] = "";
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = "tiny",
                                    .rank = rank,
                                    .workers = 1,
                                    .record = job->record,
                                    .window = 64,
                                    .heap_bytes = 1 << 16};
  const int status = job->orchestrate ? run_runtime(&config, job, sentence, sizeof sentence)
                                      : run_context(&config, sentence, sizeof sentence);
  if (status) pto_rank_set_error(rank, sentence);
  return status;
}

static void run_world(const void *state) {
  const struct job *job = state;
  struct pto_world *world = NULL;
  char sentence[256] = "";
  const struct pto_world_config config = {.size = sizeof config,
                                          .ranks = RANKS,
                                          .chip = "tiny",
                                          .threads = job->threads,
                                          .rank_threads = job->rank_threads};
  set_inputs();
  CALL(pto_world_create(&config, &world, sentence, sizeof sentence), sentence);
  GIVEN_OR_REFUSED(world != NULL);
  CALL_ONCE(pto_world_run(world, run_rank, (void *)(uintptr_t)job), pto_world_last_error(world));
  CHECK(job->has_done());
  pto_world_destroy(world);
}

int main(void) {
  static const struct memory_scenario scenarios[] = {
      {"put, get and signals", run_world, &jobs[0]},
      {"put, get and signals of contexts", run_world, &jobs[1]},
      {"put, get and signals of ranks with threads, recorded", run_world, &jobs[2]},
      {"put, get and signals of ranks on two threads", run_world, &jobs[3]},
      {"collectives", run_world, &jobs[4]},
      {"experts of ranks on two threads", run_world, &jobs[5]},
  };
  return memory_run_scenarios("world calls", scenarios, PTO_ARRAY_LENGTH(scenarios), NULL, NULL, NULL);
}
