/* SPDX-License-Identifier: MIT */
/*
 * For tests of the virtual engine: tasks whose cost and result are written into their scalars, so that a test plays the
 * runtime and drives the port by hand.
 *
 * scalars: 0 vector elements, 1 bytes, 2 what the kernel returns.  A kernel that runs appends its task number to the
 * log. One test at a time; statics are reset by pto_script_reset.
 */
#ifndef PTO_TESTS_VIRTUAL_SCRIPT_H
#define PTO_TESTS_VIRTUAL_SCRIPT_H

#include <runtime/port/port.h>
#include <sim/chips/chip.h>
#include <sim/engine/engine.h>

#include <string.h>

#define PTO_SCRIPT_TASKS 4096

union pto_script_task {
  struct pto_payload payload;
  struct {
    char header[sizeof(struct pto_payload)];
    union pto_scalar scalars[4];
  } body;
  struct {
    char header[sizeof(struct pto_payload)];
    struct pto_kernel_tensor tensor;
    union pto_scalar scalars[4];
  } with_tensor;
};

static union pto_script_task pto_script_tasks[PTO_SCRIPT_TASKS];
static uint32_t pto_script_task_count;
static uint64_t pto_script_log[PTO_SCRIPT_TASKS]; /* task numbers in the order in which kernels ran */
static uint32_t pto_script_log_count;

static int pto_script_run(const struct pto_kernel_args *args) {
  const union pto_script_task *task =
      (const void *)((const char *)args->tensors - offsetof(struct pto_payload, tensors));
  pto_script_log[pto_script_log_count++ % PTO_SCRIPT_TASKS] = task->payload.task_number;
  int status = (int)args->scalars[2].i64;
  if (status != 0 && status != -2)
    __builtin_snprintf(args->core->message, args->core->message_size, "task %llu fails",
                       (unsigned long long)task->payload.task_number);
  return status;
}

static struct pto_cost pto_script_cost(const struct pto_kernel_args *args) {
  return (struct pto_cost){.vector_elems = args->scalars[0].u64, .bytes_in = args->scalars[1].u64};
}

/* "b3": fifties of bytes. */
static int pto_script_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  return __builtin_snprintf(text, size, "b%llu", (unsigned long long)args->scalars[1].u64 / 50);
}

static const struct pto_kernel pto_script_kernel = {.name = "script",
                                                    .cores = PTO_AIC | PTO_AIV,
                                                    .run = pto_script_run,
                                                    .cost = pto_script_cost,
                                                    .key = pto_script_key};

/* The same with a parameter list, by the mode of its tensor. */
#define PTO_SCRIPT_KERNEL(mode_)                                                                                       \
  {                                                                                                                    \
    .name = "script", .cores = PTO_AIC | PTO_AIV, .params = (const struct pto_kernel_param[]){{.mode = mode_}},        \
    .param_count = 1, .run = pto_script_run, .cost = pto_script_cost, .key = pto_script_key                            \
  }
static const struct pto_kernel pto_script_kernels[] = {[PTO_INPUT] = PTO_SCRIPT_KERNEL(PTO_INPUT),
                                                       [PTO_OUTPUT] = PTO_SCRIPT_KERNEL(PTO_OUTPUT),
                                                       [PTO_INOUT] = PTO_SCRIPT_KERNEL(PTO_INOUT)};

static inline void pto_script_reset(void) { pto_script_task_count = pto_script_log_count = 0; }

/* A message for `core`: ticket and task number count up from 0. */
static inline struct pto_message pto_script_message(uint32_t core, uint64_t elems, uint64_t bytes, int status) {
  uint32_t number = pto_script_task_count++ % PTO_SCRIPT_TASKS;
  union pto_script_task *task = &pto_script_tasks[number];
  memset(task, 0, sizeof *task);
  task->payload.task_number = number;
  task->payload.block_count = 1;
  task->payload.scalar_count = 3;
  task->payload.kernels[0] = &pto_script_kernel;
  task->body.scalars[0].u64 = elems;
  task->body.scalars[1].u64 = bytes;
  task->body.scalars[2].i64 = status;
  return (struct pto_message){
      .payload = &task->payload, .run = pto_script_run, .ticket = number, .core = (uint16_t)core, .scalar_count = 3};
}

/* The same of a kernel that reads a tensor of `tensor_bytes` at `addr`. */
static inline struct pto_message pto_script_message_of(uint32_t core, uint64_t elems, uint64_t bytes, void *addr,
                                                       const uint64_t *tensor_bytes) {
  static const uint64_t one = 1;
  struct pto_message message = pto_script_message(core, elems, bytes, 0);
  union pto_script_task *task = &pto_script_tasks[message.ticket];
  task->with_tensor.tensor =
      (struct pto_kernel_tensor){.addr = addr, .shape = tensor_bytes, .strides = &one, .ndims = 1, .dtype = PTO_UINT8};
  task->with_tensor.scalars[0].u64 = elems;
  task->with_tensor.scalars[1].u64 = bytes;
  task->with_tensor.scalars[2].i64 = 0;
  task->payload.tensor_count = message.tensor_count = 1;
  return message;
}

/* A chip in small round numbers: an element and (for a core alone) a byte take 1 ps; two cores share the memory without
 * loss. */
static inline struct pto_chip pto_script_chip(uint32_t clusters, uint32_t schedulers) {
  struct pto_chip chip = {.name = "script",
                          .cluster_count = clusters,
                          .scheduler_count = schedulers,
                          .slots_per_core = 2,
                          .ub_bytes = 4096,
                          .l1_bytes = 4096,
                          .l0a_bytes = 4096,
                          .l0b_bytes = 4096,
                          .l0c_bytes = 4096,
                          .aic_clock_khz = 1000000000,
                          .aiv_clock_khz = 1000000000,
                          .cube_macs_per_cycle = 1,
                          .cube_macs_per_cycle_16bit = 1,
                          .cube_macs_per_cycle_8bit = 1,
                          .vector_elems_per_cycle = 1,
                          .vector_elems_per_cycle_16bit = 1,
                          .vector_elems_per_cycle_8bit = 1,
                          .core_bandwidth_mbps = 1000000,
                          .chip_bandwidth_mbps = 2000000,
                          .l2_core_bandwidth_mbps = 4000000,
                          .l2_chip_bandwidth_mbps = 4000000,
                          .kernel_start_ps = 10,
                          .pending_start_ps = 10,
                          .dispatch_more_ps = 3,
                          .kernel_end_ps = 5,
                          .host_bandwidth_mbps = 1};
  chip.work_ps[PTO_WORK_SUBMIT] = 20;
  chip.work_ps[PTO_WORK_DISPATCH] = 3;
  chip.work_ps[PTO_WORK_POLL] = 2;
  chip.work_ps[PTO_WORK_COMPLETE] = 7;
  return chip;
}

#endif
