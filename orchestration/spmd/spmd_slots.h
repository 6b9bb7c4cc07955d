/* SPDX-License-Identifier: MIT */
/*
 * What spmd and spmd_sync_start share: tasks of many blocks in which each core of each block writes the slot that is
 * its own, so a block that is lost, run twice on the wrong slot, or told the wrong index shows in the output.
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
#ifndef PTO_ORCHESTRATION_SPMD_SPMD_SLOTS_H
#define PTO_ORCHESTRATION_SPMD_SPMD_SLOTS_H

#include <orchestration/support/program.h>

#include <string.h>

enum { SPMD_LINE_ELEMS = 16, SPMD_MAX_TASKS = 256, SPMD_MAX_BLOCKS = 4096 };

enum spmd_shape { SPMD_AIV, SPMD_MIX, SPMD_SYNC };

struct spmd_task {
  enum spmd_shape shape;
  uint32_t blocks;
  uint64_t first_slot;
};

struct spmd {
  uint32_t task_count;
  uint32_t clusters_needed;
  struct spmd_task tasks[SPMD_MAX_TASKS];
};

static inline uint32_t spmd_lanes_of(enum spmd_shape shape) { return shape == SPMD_AIV ? 1 : 3; }

static inline double spmd_slot_value(uint64_t task, uint32_t block, uint32_t lane) {
  return 1000.0 * (double)task + 10.0 * block + lane + 1;
}

/* ---- kernels: slots f32[blocks, lanes, 1], task number ---- */

static const struct pto_kernel_param spmd_slot_params[] = {TENSOR("slots", PTO_OUTPUT, F32, 3),
                                                           SCALAR("task", PTO_SCALAR_U64)};

static inline int spmd_write_slot(const struct pto_kernel_args *args, uint32_t lane) {
  const struct pto_kernel_tensor *slots = &args->tensors[0];
  const struct pto_core *core = args->core;
  if (core->block_count != slots->shape[0] || core->block_index >= core->block_count)
    return pto_kernel_error(args, "block %u of %u, but %llu slots", core->block_index, core->block_count,
                            (unsigned long long)slots->shape[0]);
  float *slot = (float *)slots->addr + core->block_index * slots->strides[0] + lane * slots->strides[1];
  *slot = (float)spmd_slot_value(args->scalars[0].u64, core->block_index, lane);
  return 0;
}

static inline int spmd_run_alone(const struct pto_kernel_args *args) { return spmd_write_slot(args, 0); }

static inline int spmd_run_in_cluster(const struct pto_kernel_args *args) {
  return spmd_write_slot(args, args->core->lane);
}

KERNEL(spmd_kernel_alone, spmd_slot_params, .name = "spmd_aiv", .cores = PTO_AIV, .run = spmd_run_alone);
KERNEL(spmd_kernel_aic, spmd_slot_params, .name = "spmd_mix_aic", .cores = PTO_AIC, .run = spmd_run_in_cluster);
KERNEL(spmd_kernel_aiv, spmd_slot_params, .name = "spmd_mix_aiv", .cores = PTO_AIV, .run = spmd_run_in_cluster);

static inline bool spmd_parse_task(const char *text, size_t length, struct spmd_task *task) {
  static const struct {
    const char *prefix;
    enum spmd_shape shape;
  } shapes[] = {{"aiv:", SPMD_AIV}, {"mix:", SPMD_MIX}, {"sync:", SPMD_SYNC}};
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
    return blocks >= 1 && blocks <= SPMD_MAX_BLOCKS;
  }
  return false;
}

static inline int prepare(struct pto_program_run *run) {
  struct spmd *state = pto_program_state(run, sizeof *state);
  const char *text = pto_option_text(run, "tasks");
  uint64_t slots = 0;
  if (state == NULL) return PTO_ENOMEM;
  for (;;) {
    size_t length = strcspn(text, ",");
    struct spmd_task *task = &state->tasks[state->task_count];
    if (state->task_count == SPMD_MAX_TASKS) return pto_program_fail(run, "more than %d tasks", SPMD_MAX_TASKS);
    if (!spmd_parse_task(text, length, task))
      return pto_program_fail(run, "\"%.*s\" is not aiv:N, mix:N or sync:N with 1 ≤ N ≤ %d", (int)length, text,
                              SPMD_MAX_BLOCKS);
    task->first_slot = slots;
    slots += (uint64_t)task->blocks * spmd_lanes_of(task->shape);
    if (task->shape == SPMD_SYNC && task->blocks > state->clusters_needed) state->clusters_needed = task->blocks;
    state->task_count++;
    if (text[length] == '\0') break;
    text += length + 1;
  }
  return DECLARE_ARRAYS(run, OUTPUT("slots", PTO_FLOAT32, slots, SPMD_LINE_ELEMS));
}

static inline int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct spmd *state = pto_program_state(run, sizeof *state);
  uint32_t clusters = pto_core_count(rt, PTO_CLUSTER);
  if (clusters < state->clusters_needed)
    return pto_program_fail(run, "a sync_start task of %u blocks needs %u clusters, the chip has %u",
                            state->clusters_needed, state->clusters_needed, clusters);
  struct pto_tensor all = tensor_of(rt, run, "slots");
  for (uint32_t i = 0; i < state->task_count; i++) {
    const struct spmd_task *task = &state->tasks[i];
    uint32_t lanes = spmd_lanes_of(task->shape);
    struct pto_tensor rows = rows_of(&all, task->first_slot, (uint64_t)task->blocks * lanes);
    struct pto_tensor lines = pto_tensor_reshape(&rows, 3, (uint64_t[]){task->blocks, lanes, SPMD_LINE_ELEMS});
    struct pto_tensor slots = pto_tensor_slice(&lines, 2, 0, 1, 1); /* the rest of each line is room alone */
    struct pto_launch launch = {.block_count = task->blocks, .sync_start = task->shape == SPMD_SYNC};
    launch.aiv0 = task->shape == SPMD_AIV ? &spmd_kernel_alone : &spmd_kernel_aiv;
    if (task->shape != SPMD_AIV) {
      launch.aic = &spmd_kernel_aic;
      launch.aiv1 = &spmd_kernel_aiv;
    }
    int status = pto_submit(rt, &launch, PARAMS(pto_output(&slots), pto_scalar_u64(i)), NULL);
    if (status != PTO_OK) return status;
  }
  return PTO_OK;
}

static inline int expect(struct pto_program_run *run) {
  const struct spmd *state = pto_program_state(run, sizeof *state);
  double *golden = golden_of(run, "slots");
  if (golden == NULL) return PTO_ENOMEM;
  for (uint32_t i = 0; i < state->task_count; i++) {
    const struct spmd_task *task = &state->tasks[i];
    uint32_t lanes = spmd_lanes_of(task->shape);
    for (uint32_t block = 0; block < task->blocks; block++) {
      for (uint32_t lane = 0; lane < lanes; lane++)
        golden[(task->first_slot + (uint64_t)block * lanes + lane) * SPMD_LINE_ELEMS] = spmd_slot_value(i, block, lane);
    }
  }
  return PTO_OK;
}

#endif
