/* SPDX-License-Identifier: MIT */
/*
 * What the schedulers of the virtual engine spend their time on (runtime/trace/segment.h): called only where
 * cores->segments is there.  Owns nothing.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_SCHEDULER_SEGMENTS_H
#define PTO_SIM_VIRTUAL_SCHEDULER_SEGMENTS_H

#include <sim/virtual/core.h>

static PTO_COLD void pto_scheduler_add_segment(const struct pto_virtual_cores *cores, uint32_t index,
                                               enum pto_activity activity, uint64_t begin, uint64_t end, uint32_t core,
                                               uint32_t task) {
  pto_trace_add_segment(cores->segments,
                        (struct pto_trace_segment){.begin = begin,
                                                   .end = end,
                                                   .resource = {PTO_RESOURCE_SCHEDULER, (uint16_t)index},
                                                   .task = task,
                                                   .core = (uint16_t)core,
                                                   .activity = (uint8_t)activity});
}

/* Of the next message that arrives at `core`, which its scheduler has sent from `begin` to `end`. */
static PTO_COLD void pto_scheduler_add_dispatch(struct pto_virtual_cores *cores, uint32_t core, uint64_t begin,
                                                uint64_t end) {
  const struct pto_virtual_core *its = &cores->cores[core];
  const struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, core, its->arrived);
  pto_scheduler_add_segment(cores, its->scheduler, PTO_ACTIVITY_dispatch, begin, end, core,
                            (uint32_t)slot->message.payload->task_number);
}

/* Of the last completion of `core` that was taken in. */
static PTO_COLD void pto_scheduler_add_poll(struct pto_virtual_cores *cores, uint32_t index, uint32_t core,
                                            uint64_t begin, uint64_t end) {
  const struct pto_virtual_slot *slot = pto_virtual_slot_at(cores, core, cores->cores[core].polled - 1);
  pto_scheduler_add_segment(cores, index, PTO_ACTIVITY_poll, begin, end, core,
                            (uint32_t)slot->message.payload->task_number);
}

/* The actor of the port's clock asks for a message that is not sent at once. */
static PTO_COLD void pto_scheduler_add_request(const struct pto_virtual_cores *cores, const struct pto_port *port,
                                               const struct pto_message *message, uint64_t time) {
  pto_trace_add_segment(cores->segments,
                        (struct pto_trace_segment){.begin = time,
                                                   .end = time,
                                                   .resource = pto_segment_actor(port->is_scheduler, port->actor),
                                                   .task = (uint32_t)message->payload->task_number,
                                                   .core = message->core,
                                                   .activity = PTO_MARK_REQUEST});
}

#endif
