/* SPDX-License-Identifier: MIT */
/*
 * What the cores of the virtual engine spend their time on (runtime/trace/segment.h): called only where cores->segments
 * is there.  Owns nothing.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_WORK_SEGMENTS_H
#define PTO_SIM_VIRTUAL_WORK_SEGMENTS_H

#include <sim/virtual/core.h>

static PTO_COLD void pto_virtual_add_segment(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                             uint32_t activity, uint64_t begin, uint64_t end) {
  pto_trace_add_segment(cores->segments, (struct pto_trace_segment){.begin = begin,
                                                                    .end = end,
                                                                    .resource = {PTO_RESOURCE_CORE, message->core},
                                                                    .task = (uint32_t)message->payload->task_number,
                                                                    .core = PTO_SEGMENT_NO_CORE,
                                                                    .activity = (uint8_t)activity,
                                                                    .role = message->role});
}

/* From `begin` to `end`: first what it computes, then what it is longer for its memory, then for that of others. */
static PTO_COLD void pto_virtual_add_work(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                          uint64_t begin, uint64_t end, uint64_t compute_ps, uint64_t memory_ps) {
  const uint64_t computed = begin + pto_min_u64(compute_ps, end - begin);
  const uint64_t moved = pto_max_u64(computed, begin + pto_min_u64(memory_ps, end - begin));
  pto_virtual_add_segment(cores, message, PTO_ACTIVITY_compute, begin, computed);
  if (moved > computed) pto_virtual_add_segment(cores, message, PTO_ACTIVITY_memory, computed, moved);
  if (end > moved) pto_virtual_add_segment(cores, message, PTO_ACTIVITY_contention, moved, end);
}

/* The record of the kernel's calls; NULL where there is no room for one more. */
static PTO_COLD struct pto_trace_cost *pto_virtual_cost_of(const struct pto_virtual_cores *cores,
                                                           const struct pto_kernel *kernel, uint32_t kind,
                                                           uint32_t dtype) {
  for (uint64_t i = 0; i < cores->costs->count; i++) {
    struct pto_trace_cost *all = pto_trace_log_at(cores->costs, i);
    if (all->kernel == kernel && all->core_kind == kind && all->dtype == dtype) return all;
  }
  struct pto_trace_cost *all = pto_trace_log_append(cores->costs);
  if (all)
    *all = (struct pto_trace_cost){.kernel = kernel,
                                   .vector_mops = cores->timing.compute[dtype].vector.divisor / 1000,
                                   .cube_mops = cores->timing.compute[dtype].cube.divisor / 1000,
                                   .core_kind = kind,
                                   .dtype = dtype};
  return all;
}

/* What a call that begins costs. */
static PTO_COLD void pto_virtual_add_cost(const struct pto_virtual_cores *cores, const struct pto_kernel *kernel,
                                          uint32_t kind, const struct pto_cost *cost, uint32_t halvings) {
  struct pto_trace_cost *all = pto_virtual_cost_of(cores, kernel, kind, cost->dtype % PTO_TIMING_DTYPES);
  const struct pto_timing_load load = pto_timing_load(&cores->timing, cost, kind);
  const uint64_t compute_ps = load.compute_ps >> halvings;
  const uint64_t mbps =
      pto_max_u64(cores->timing.core_bandwidth_mbps.divisor, cores->l2_bytes ? cores->l2_core_bandwidth_mbps : 0);
  const uint64_t memory_ps = pto_timing_scale_wide(load.bytes, UINT64_C(1000000), mbps) >> halvings;
  if (!all) return;
  all->calls++;
  all->bytes += load.bytes;
  all->vector_elems += cost->vector_elems;
  all->multiply_adds += cost->multiply_adds;
  all->memory_ps += memory_ps;
  all->compute_ps += compute_ps;
  all->least_ps += pto_max_u64(memory_ps, compute_ps);
}

static PTO_COLD void pto_virtual_add_end(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                         uint64_t end) {
  pto_virtual_add_segment(cores, message, PTO_ACTIVITY_end, end, end + cores->kernel_end_ps);
}

#endif
