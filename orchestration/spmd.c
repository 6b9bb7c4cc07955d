/* SPDX-License-Identifier: MIT */
/*
 * spmd: tasks of many blocks.  Each core of each block writes the slot that is its own, so a block that is lost, run
 * twice on the wrong slot, or told the wrong index shows in the output.
 *
 * The option `tasks` lists what is submitted, in order:  aiv:N  N blocks of one AIV each;  mix:N  N blocks of a whole
 * cluster (AIC, AIV0 and AIV1);  sync:N  the same with sync_start: the blocks start together or not at all.  More
 * blocks than the chip has cores is the normal case but for sync, whose N clusters must exist: a smaller chip is
 * refused.
 *
 * A slot is a 64-byte line: its first element holds 1000·task + 10·block + lane + 1, the rest stays as it was.  A
 * task's output is its own view of the one array, so tasks share no byte: edges = 0, and nothing but cores limits what
 * overlaps.
 */
#include <pto/pto.h>

#include <stdlib.h>
#include <string.h>

enum { LINE_ELEMS = 16, MAX_TASKS = 256, MAX_BLOCKS = 4096 };

enum shape { AIV, MIX, SYNC };

struct spmd_task {
  enum shape shape;
  uint32_t blocks;
  uint64_t first_slot;
};

struct spmd {
  uint32_t task_count;
  uint32_t clusters_needed;
  struct spmd_task tasks[MAX_TASKS];
  struct pto_array *slots;
};

static uint32_t lanes_of(enum shape shape) { return shape == AIV ? 1 : 3; }

static double slot_value(uint64_t task, uint32_t block, uint32_t lane) {
  return 1000.0 * (double)task + 10.0 * block + lane + 1;
}

/* ---- kernels: slots f32[blocks, lanes, 16], task number ---- */

static const struct pto_kernel_param slot_params[] = {
    {.name = "slots", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32), .min_rank = 3, .max_rank = 3},
    {.name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
};

static int write_slot(const struct pto_kernel_args *args, uint32_t lane) {
  const struct pto_kernel_tensor *slots = &args->tensors[0];
  const struct pto_core *core = args->core;
  if (core->block_count != slots->shape[0] || core->block_index >= core->block_count)
    return pto_kernel_error(args, "block %u of %u, but %llu slots", core->block_index, core->block_count,
                            (unsigned long long)slots->shape[0]);
  float *slot = (float *)slots->addr + core->block_index * slots->strides[0] + lane * slots->strides[1];
  *slot = (float)slot_value(args->scalars[0].u64, core->block_index, lane);
  return 0;
}

static int run_alone(const struct pto_kernel_args *args) { return write_slot(args, 0); }

static int run_in_cluster(const struct pto_kernel_args *args) { return write_slot(args, args->core->lane); }

static const struct pto_kernel kernel_alone = {
    .name = "spmd_aiv", .cores = PTO_AIV, .params = slot_params, .param_count = 2, .run = run_alone};
static const struct pto_kernel kernel_aic = {
    .name = "spmd_mix_aic", .cores = PTO_AIC, .params = slot_params, .param_count = 2, .run = run_in_cluster};
static const struct pto_kernel kernel_aiv = {
    .name = "spmd_mix_aiv", .cores = PTO_AIV, .params = slot_params, .param_count = 2, .run = run_in_cluster};

/* ---- the program ---- */

#define STARVATION_ROUND "mix:4,mix:4,mix:4,mix:4,mix:4,mix:4"

static const struct pto_option options[] = {
    {"tasks", PTO_OPTION_TEXT, "aiv:4,aiv:16,aiv:24,aiv:48,aiv:96",
     "what is submitted: aiv:N, mix:N, sync:N, separated by commas"},
    {0},
};

static const struct pto_case cases[] = {
    {"aiv", "tasks=aiv:4,aiv:16,aiv:24,aiv:48,aiv:96", "blocks of one AIV, fewer and more than cores", 5, 0, false},
    {"mix", "tasks=mix:2,mix:8,mix:9,mix:24,mix:48", "blocks of whole clusters", 5, 0, false},
    {"interleaved", "tasks=aiv:16,mix:9,aiv:96,mix:2,aiv:4,mix:48,aiv:48", "both shapes at once", 7, 0, false},
    {"sync", "tasks=sync:2,sync:8,mix:2,sync:12", "blocks that start together; needs 12 clusters", 4, 0, false},
    {"starvation", "tasks=" STARVATION_ROUND ",sync:6," STARVATION_ROUND ",sync:6," STARVATION_ROUND,
     "two sync_start tasks among eighteen that keep every cluster busy; needs 6 clusters", 20, 0, false},
    {0},
};

static bool parse_task(const char *text, size_t length, struct spmd_task *task) {
  static const struct {
    const char *prefix;
    enum shape shape;
  } shapes[] = {{"aiv:", AIV}, {"mix:", MIX}, {"sync:", SYNC}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    size_t prefix = strlen(shapes[i].prefix);
    if (length <= prefix || length > prefix + 5 || memcmp(text, shapes[i].prefix, prefix) != 0) continue;
    uint32_t blocks = 0;
    for (size_t k = prefix; k < length; k++) {
      if (text[k] < '0' || text[k] > '9') return false;
      blocks = blocks * 10 + (uint32_t)(text[k] - '0');
    }
    task->shape = shapes[i].shape;
    task->blocks = blocks;
    return blocks >= 1 && blocks <= MAX_BLOCKS;
  }
  return false;
}

static int parse_tasks(struct pto_program_run *run, struct spmd *state, uint64_t *slot_count) {
  const char *text = pto_option_text(run, "tasks");
  uint64_t slots = 0;
  for (;;) {
    size_t length = strcspn(text, ",");
    struct spmd_task *task = &state->tasks[state->task_count];
    if (state->task_count == MAX_TASKS) return pto_program_fail(run, "spmd: more than %d tasks", MAX_TASKS);
    if (!parse_task(text, length, task))
      return pto_program_fail(run, "spmd: \"%.*s\" is not aiv:N, mix:N or sync:N with 1 ≤ N ≤ %d", (int)length, text,
                              MAX_BLOCKS);
    task->first_slot = slots;
    slots += (uint64_t)task->blocks * lanes_of(task->shape);
    if (task->shape == SYNC && task->blocks > state->clusters_needed) state->clusters_needed = task->blocks;
    state->task_count++;
    if (text[length] == '\0') break;
    text += length + 1;
  }
  *slot_count = slots;
  return PTO_OK;
}

static int prepare(struct pto_program_run *run) {
  struct spmd *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  uint64_t slot_count = 0;
  int status = parse_tasks(run, state, &slot_count);
  if (status != PTO_OK) return status;
  state->slots =
      pto_program_array(run, "slots", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, (uint64_t[]){slot_count, LINE_ELEMS});
  return state->slots == NULL ? PTO_ENOMEM : PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct spmd *state = pto_program_state(run, sizeof *state);
  uint32_t clusters = pto_core_count(rt, PTO_CLUSTER);
  if (clusters < state->clusters_needed)
    return pto_program_fail(run, "spmd: a sync_start task of %u blocks needs %u clusters, the chip has %u",
                            state->clusters_needed, state->clusters_needed, clusters);
  struct pto_tensor all = pto_array_tensor(rt, state->slots);
  for (uint32_t i = 0; i < state->task_count; i++) {
    const struct spmd_task *task = &state->tasks[i];
    uint32_t lanes = lanes_of(task->shape);
    struct pto_tensor rows =
        pto_tensor_slice(&all, 0, task->first_slot, task->first_slot + (uint64_t)task->blocks * lanes, 1);
    struct pto_tensor slots = pto_tensor_reshape(&rows, 3, (uint64_t[]){task->blocks, lanes, LINE_ELEMS});
    struct pto_launch launch = {.block_count = task->blocks, .sync_start = task->shape == SYNC};
    if (task->shape == AIV) {
      launch.aiv0 = &kernel_alone;
    } else {
      launch.aic = &kernel_aic;
      launch.aiv0 = &kernel_aiv;
      launch.aiv1 = &kernel_aiv;
    }
    struct pto_param params[] = {pto_output(&slots), pto_scalar_u64(i)};
    int status = pto_submit(rt, &launch, params, 2, NULL);
    if (status != PTO_OK) return status;
  }
  return PTO_OK;
}

static int expect(struct pto_program_run *run) {
  const struct spmd *state = pto_program_state(run, sizeof *state);
  double *golden = pto_array_golden(run, state->slots);
  if (golden == NULL) return PTO_ENOMEM;
  for (uint32_t i = 0; i < state->task_count; i++) {
    const struct spmd_task *task = &state->tasks[i];
    uint32_t lanes = lanes_of(task->shape);
    for (uint32_t block = 0; block < task->blocks; block++) {
      for (uint32_t lane = 0; lane < lanes; lane++)
        golden[(task->first_slot + (uint64_t)block * lanes + lane) * LINE_ELEMS] = slot_value(i, block, lane);
    }
  }
  return PTO_OK;
}

PTO_API const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "spmd",
    .summary = "tasks of many blocks, alone, on whole clusters and starting together: each core writes its slot",
    .options = options,
    .cases = cases,
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
