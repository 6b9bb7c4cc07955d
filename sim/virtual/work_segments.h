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

static PTO_COLD void pto_virtual_add_end(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                         uint64_t end) {
  pto_virtual_add_segment(cores, message, PTO_ACTIVITY_end, end, end + cores->kernel_end_ps);
}

#endif
