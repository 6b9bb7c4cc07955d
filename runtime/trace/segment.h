/* SPDX-License-Identifier: MIT */
/*
 * What virtual time was spent on: segments, one wherever a clock moves.
 *
 * Each resource (the orchestrator, each scheduler, a resolver, each core) has a clock; the one place that moves it
 * appends a segment that says who, from when to when, at what, and for which task.  A clock also stands still: what a
 * resource waited for follows from what it did next, and is no segment, but for the orchestrator's stalls.
 *
 * Always true, of the log of a run that went well:
 *   - segments of one resource do not overlap, and stand in the order of their times;
 *   - what lets something begin stands before it, as the engine handles causes before effects.
 * So the log is an event graph that needs no further links: messages pass a core in order, so the nth `dispatch` to a
 * core, its nth `start` and its nth `poll` are of one message.  report/run/event_graph.h has the graph.
 *
 * Appended where the run records PTO_RECORD_SEGMENTS, else nothing is.  Control thread.
 *
 * To add an activity: a line here, where its clock moves, and a line in event_graph.c if something else lets it begin.
 */
#ifndef PTO_TRACE_SEGMENT_H
#define PTO_TRACE_SEGMENT_H

#include <runtime/trace/trace.h>

/* X(name in JSON, in texts, group of enum pto_activity_group). */
#define PTO_ACTIVITY_LIST(X)                                                                                           \
  /* the orchestrator's */                                                                                             \
  X(submit, "submits", SUBMIT) /* fixed parts */                                                                       \
  X(params, "parameters", SUBMIT)                                                                                      \
  X(lookups, "lookups", SUBMIT)                                                                                        \
  X(edges, "edges", SUBMIT) /* or scheduler 0's, where schedulers wire */                                              \
  X(allocation, "allocation", SUBMIT)                                                                                  \
  X(scope, "scopes", SCOPE)                                                                                            \
  X(host_access, "host accesses", HOST)                                                                                \
  X(to_device, "transfers to the device", TRANSFER)                                                                    \
  X(to_host, "transfers to the host", TRANSFER)                                                                        \
  X(on_device, "transfers on the device", TRANSFER)                                                                    \
  X(own_code, "own code", OWN_CODE) /* on threads: the orchestration between calls */                                  \
  /* a scheduler's, or the resolver's; on the orchestrator's clock of tasks without a kernel */                        \
  X(handshake, "handshake", SCHEDULE)                                                                                  \
  X(look, "looks", SCHEDULE) /* of turns that found something */                                                       \
  X(poll, "completions taken in", SCHEDULE)                                                                            \
  X(completion, "completions handled", SCHEDULE)                                                                       \
  X(fan_out, "consumers notified", SCHEDULE)                                                                           \
  X(dispatch, "messages sent", SCHEDULE)                                                                               \
  /* a core's */                                                                                                       \
  X(start, "kernel starts", HOP)                                                                                       \
  X(compute, "computing", COMPUTE)                                                                                     \
  X(memory, "memory", MEMORY)             /* longer than what is computed beside, alone on the chip */                 \
  X(contention, "contention", CONTENTION) /* what others at the memory add to that */                                  \
  X(signal, "signals", HOP)               /* of kernels that wait: latencies, FIFOs */                                 \
  X(put, "puts to other ranks", LINK)     /* the way and the bytes, as of the next */                                  \
  X(get, "gets from other ranks", LINK)                                                                                \
  X(notify, "signals on links", LINK) /* on a path over ranks alone: the way to the rank that waits */                 \
  X(kernel, "kernels", COMPUTE)       /* on threads: what a call took */                                               \
  X(end, "kernel ends", HOP)                                                                                           \
  /* waiting; the first seven are the stalls of enum pto_stall_reason, in its order */                                 \
  X(wait_window, "waiting for a task slot", WAIT)                                                                      \
  X(wait_heap, "waiting for heap bytes", WAIT)                                                                         \
  X(wait_host_access, "waiting for what the host reads or writes", WAIT)                                               \
  X(wait_sync, "waiting for all tasks so far", WAIT)                                                                   \
  X(wait_drain, "waiting for the last tasks", WAIT)                                                                    \
  X(wait_poll, "waiting for memory that it polls", WAIT)                                                               \
  X(wait_peer, "waiting for other ranks", WAIT) /* a core's too: for one that is late */                               \
  X(wait_event, "waiting for another context", WAIT)                                                                   \
  X(wait_link, "waiting for what is on links", WAIT) /* a core's: a signal, or the put before it */                    \
  X(wait_orchestrator, "waiting for submits", WAIT)                                                                    \
  X(wait_dependency, "waiting for producers", WAIT)                                                                    \
  X(wait_scheduler, "waiting for schedulers", WAIT)                                                                    \
  X(wait_core, "waiting for cores", WAIT)                                                                              \
  X(no_work, "nothing to do", WAIT) /* after its last segment */                                                       \
  X(other, "other", WAIT)           /* not explained */

enum pto_activity {
#define X(name, text, group) PTO_ACTIVITY_##name,
  PTO_ACTIVITY_LIST(X)
#undef X
  /* Marks, which take no time. */
  PTO_ACTIVITY_COUNT,
  PTO_MARK_BEGIN = PTO_ACTIVITY_COUNT, /* a run begins: its clocks at `end`, on `task` cores with `core` schedulers */
  PTO_MARK_REQUEST, /* the resource asks for the next message to `core`, which another one sends, or it later */
  PTO_MARK_WAKE     /* of a kernel that waits: the core goes on because of what `core` has done */
};
_Static_assert(PTO_ACTIVITY_wait_peer - PTO_ACTIVITY_wait_window == PTO_STALL_peer - PTO_STALL_window,
               "a stall's activity is found by its reason");

/* What the verdict adds up.  X(id, name in JSON, "bound by …"). */
#define PTO_ACTIVITY_GROUP_LIST(X)                                                                                     \
  X(SUBMIT, "submit", "submitting tasks")                                                                              \
  X(SCOPE, "scope", "scopes")                                                                                          \
  X(HOST, "host", "host accesses")                                                                                     \
  X(TRANSFER, "transfer", "transfers")                                                                                 \
  X(OWN_CODE, "own_code", "the orchestration's own code")                                                              \
  X(SCHEDULE, "schedule", "scheduling")                                                                                \
  X(HOP, "hop", "the way to kernels and back")                                                                         \
  X(COMPUTE, "compute", "computing")                                                                                   \
  X(MEMORY, "memory", "memory")                                                                                        \
  X(CONTENTION, "contention", "contention for memory")                                                                 \
  X(LINK, "link", "links between ranks")                                                                               \
  X(WAIT, "wait", "waiting")
enum pto_activity_group {
#define X(id, name, text) PTO_GROUP_##id,
  PTO_ACTIVITY_GROUP_LIST(X)
#undef X
      PTO_GROUP_COUNT
};

enum pto_resource_kind {
  PTO_RESOURCE_ORCHESTRATOR = 0,
  PTO_RESOURCE_SCHEDULER,
  PTO_RESOURCE_RESOLVER,
  PTO_RESOURCE_CORE
};
struct pto_resource {
  uint16_t kind;  /* enum pto_resource_kind */
  uint16_t index; /* of the scheduler, or core; else 0 */
};

/* Whose clock a port's is (runtime/port/port.h). */
static inline struct pto_resource pto_segment_actor(bool is_scheduler, uint32_t actor) {
  const bool is_resolver = actor == UINT32_MAX;
  return (struct pto_resource){(uint16_t)(!is_scheduler ? PTO_RESOURCE_ORCHESTRATOR
                                          : is_resolver ? PTO_RESOURCE_RESOLVER
                                                        : PTO_RESOURCE_SCHEDULER),
                               (uint16_t)(is_scheduler && !is_resolver ? actor : 0)};
}

#define PTO_SEGMENT_NO_TASK UINT32_MAX
#define PTO_SEGMENT_NO_CORE UINT16_MAX
struct pto_trace_segment {
  uint64_t begin, end; /* ps; a `start` begins when the last of its causes ends: both are its end here */
  struct pto_resource resource;
  uint32_t task; /* low 32 bits of the number */
  uint16_t core; /* of a poll, dispatch or mark: the core that it is about */
  uint8_t activity;
  uint8_t role; /* on a core: index into the task's kernels */
  uint32_t reserved;
};
_Static_assert(sizeof(struct pto_trace_segment) == 32, "two a cache line: a task has a dozen");

/* NULL, and a run's begin, are of no task. */
static inline uint32_t pto_segment_task(const struct pto_trace_segment *segment) {
  return segment && segment->activity != PTO_MARK_BEGIN ? segment->task : PTO_SEGMENT_NO_TASK;
}

/* `log` is the trace's. */
static inline void pto_trace_add_segment(struct pto_trace_log *log, struct pto_trace_segment segment) {
  struct pto_trace_segment *at = pto_trace_log_append(log);
  if (at) *at = segment;
}

#endif
