/* SPDX-License-Identifier: MIT */
#include <check/order/order_coverage.h>

#include <runtime/port/core_port.h>
#include <runtime/tensor/tensor_make.h>

/* Between ranks one core of a task has nothing to wait for but peers. */
static bool waits_for_cores(const struct pto_trace_task *task, bool is_rank) {
  uint32_t cores = 0;
  bool waits = false, talks = false;
  for (int role = 0; role < 3; role++) {
    const struct pto_kernel *kernel = task->kernels[role];
    if (!kernel) continue;
    cores += task->block_count;
    talks |= is_rank && (kernel->flags & PTO_KERNEL_REMOTE);
    waits |= pto_kernel_waits(kernel);
  }
  return waits && (!talks || cores > 1);
}

static bool talks_to_ranks(const struct pto_trace_task *task) {
  bool talks = false;
  for (int role = 0; role < 3; role++) talks |= task->kernels[role] && (task->kernels[role]->flags & PTO_KERNEL_REMOTE);
  return talks;
}

static void leave(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count, const char *command,
                  const char *reason) {
  if (reason)
    pto_coverage_leave_because(coverage, kind, count, reason);
  else
    pto_coverage_leave(coverage, kind, count, command);
}

void pto_order_cover_task(const struct pto_trace *trace, const struct pto_trace_task *task, bool is_rank,
                          struct pto_coverage *coverage) {
  const char *not_alone = is_rank && talks_to_ranks(task) ? "a call that talks to other ranks is not made alone" : NULL;
  const char *not_ordered = is_rank ? "no orders of calls are tried on several ranks" : NULL;
  uint64_t held = 0, accesses = 0, tensors = 0;
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, task->first_param + i);
    tensors += param->index != UINT32_MAX;
    if (pto_tensor_is_empty(&param->tensor)) continue;
    held += param->mode == PTO_HOLD;
    accesses += param->mode != PTO_HOLD;
  }
  pto_coverage_add(coverage, PTO_COVERAGE_ACCESSES, accesses);
  leave(coverage, PTO_COVERAGE_HELD, held, "explore", not_ordered);
  if (task->kind != PTO_TASK_KERNEL) return;
  leave(coverage, tensors ? PTO_COVERAGE_TOUCHED : PTO_COVERAGE_WITHOUT_TENSORS, 1, "check --observe", not_alone);
  leave(coverage, PTO_COVERAGE_ADDRESSES, task->address_count, "check --observe", not_alone);
  leave(coverage, PTO_COVERAGE_WAITING_TASKS, waits_for_cores(task, is_rank), "check --observe", not_alone);
  pto_coverage_leave(coverage, PTO_COVERAGE_BETWEEN_WAITS, is_rank && talks_to_ranks(task), "explore");
}

void pto_order_cover(const struct pto_trace *trace, bool is_rank, struct pto_coverage *coverage) {
  uint64_t reads = 0, writes = 0;
  for (uint64_t i = 0; i < trace->tasks.count; i++)
    pto_order_cover_task(trace, pto_trace_log_at(&trace->tasks, i), is_rank, coverage);
  for (uint64_t i = 0; i < trace->host_accesses.count; i++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, i);
    if (access->is_sync) continue;
    reads += !access->is_write;
    writes += access->is_write;
  }
  pto_coverage_add(coverage, PTO_COVERAGE_HOST_READS, reads);
  pto_coverage_add(coverage, PTO_COVERAGE_HOST_WRITES, writes);
  /* What the host reads may decide which tasks there are. */
  if (reads == 0) return;
  coverage->rows[PTO_COVERAGE_SEEDS].judged = 1;
  pto_coverage_leave(coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "check --seed N");
}
