/* SPDX-License-Identifier: MIT */
/* What a rank records of its calls to others. */
#include <world/world_state.h>

#include <string.h>

#include <runtime/tensor/region.h>
#include <runtime/trace/segment.h>

void pto_rank_record(const struct pto_rank *rank, struct pto_trace_remote remote) {
  struct pto_virtual_cores *cores = rank->clock.cores;
  struct pto_trace_remote *at = cores && cores->remotes ? pto_trace_log_append(cores->remotes) : NULL;
  remote.segment = cores && cores->segments ? cores->segments->count : 0;
  if (at) *at = remote;
}

static void add_segment(const struct pto_virtual_cores *cores, const struct pto_waiting_core *core, uint64_t begin,
                        uint64_t end, uint32_t activity) {
  pto_trace_add_segment(cores->segments,
                        (struct pto_trace_segment){.begin = begin,
                                                   .end = end,
                                                   .resource = {PTO_RESOURCE_CORE, core->message.core},
                                                   .task = (uint32_t)core->message.payload->task_number,
                                                   .core = PTO_SEGMENT_NO_CORE,
                                                   .activity = (uint8_t)activity,
                                                   .role = core->message.role});
}

void pto_rank_record_call(const struct pto_rank *rank, const struct pto_waiting_core *core, uint64_t begin,
                          uint32_t activity, struct pto_trace_remote call) {
  struct pto_virtual_cores *cores = rank->clock.cores;
  if (PTO_LIKELY(!cores || !cores->segments)) return;
  if (activity != PTO_ACTIVITY_COUNT) {
    call.end = cores->now;
    add_segment(cores, core, begin, call.end, activity);
  }
  call.begin = begin;
  call.task = (uint32_t)core->message.payload->task_number;
  call.core = (uint16_t)core->message.core;
  pto_rank_record(rank, call);
}

void pto_rank_record_wait(const struct pto_rank *rank, const struct pto_waiting_core *core, uint64_t begin,
                          uint64_t sent_at, struct pto_trace_remote call) {
  const struct pto_virtual_cores *cores = rank->clock.cores;
  if (PTO_LIKELY(!cores || !cores->segments)) return;
  const uint64_t sent = sent_at > rank->base_ps ? sent_at - rank->base_ps : 0;
  const uint64_t late_until = pto_min_u64(pto_max_u64(sent, begin), cores->now);
  if (late_until > begin) add_segment(cores, core, begin, late_until, PTO_ACTIVITY_wait_peer);
  if (cores->now > late_until) add_segment(cores, core, late_until, cores->now, PTO_ACTIVITY_wait_link);
  call.end = cores->now;
  pto_rank_record_call(rank, core, begin, PTO_ACTIVITY_COUNT, call);
}

void pto_rank_record_now(const struct pto_rank *rank, const struct pto_waiting_core *core,
                         struct pto_trace_remote call) {
  call.end = rank->clock.cores->now;
  pto_rank_record_call(rank, core, call.end, PTO_ACTIVITY_COUNT, call);
}

void pto_rank_record_access(const struct pto_rank *rank, const struct pto_waiting_core *core, uint8_t kind,
                            uint64_t comm, uint32_t owner, const struct pto_remote_layout *layout) {
  const struct pto_virtual_cores *cores = rank->clock.cores;
  struct pto_tensor tensor = {.ndims = layout->ndims, .dtype = layout->dtype};
  if (PTO_LIKELY(!cores || !cores->segments)) return;
  struct pto_region *region = pto_trace_log_append(cores->remote_regions);
  if (!region) return;
  memcpy(tensor.shape, layout->shape, sizeof tensor.shape);
  memcpy(tensor.strides, layout->strides, sizeof tensor.strides);
  pto_region_from_tensor(&tensor, layout->addr, region);
  pto_rank_record_now(rank, core,
                      (struct pto_trace_remote){
                          .kind = kind, .comm = comm, .peer = owner, .sequence = cores->remote_regions->count - 1});
}
