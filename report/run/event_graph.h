/* SPDX-License-Identifier: MIT */
/*
 * The event graph of a run in virtual time: what let each segment (runtime/trace/segment.h) begin.
 *
 * A node is a segment, or the moment at which a task was ready, or that at which a sync_start group could begin.  It
 * begins when the last of its causes has ended, and takes its duration:
 *
 *   end(n) = max(end(c), c a cause of n) + duration(n)
 *
 * Causes are: what the resource did before; what it waited for (a poll: the kernel's end; a start: the message; a
 * message: the request, and the task being ready; ready: the submit and each producer's completion; the orchestrator
 * after a stall: what the scheduler had done).  Nodes stand in an order in which causes come first.
 *
 * So the graph holds the decisions of the run: who ran where, in which order on each resource, and how long each
 * segment took.  With other durations pto_event_graph_end says when the run would have ended; the engine itself ends
 * then, unless something there is decided otherwise.
 *
 * Always true: with the run's own durations each node ends when its segment did; the path's durations add up to the end
 * of the run; a node's slack is what it may be longer without any change of the end.
 *
 * Owns its arrays until fini.  Reads a trace with a graph and a timeline, after the run.  Linear in segments and edges.
 */
#ifndef PTO_REPORT_RUN_EVENT_GRAPH_H
#define PTO_REPORT_RUN_EVENT_GRAPH_H

#include <runtime/base/error.h>
#include <runtime/trace/segment.h>

#define PTO_NO_NODE UINT32_MAX

struct pto_event_node {
  uint64_t end, duration;
  uint32_t segment;                /* index; UINT32_MAX: none, it only joins causes */
  uint32_t before;                 /* what the resource did before; PTO_NO_NODE: nothing */
  uint32_t cause;                  /* what it waited for, or was to wait for; PTO_NO_NODE: nothing */
  uint32_t first_link, link_count; /* further causes, in links */
  uint8_t activity;                /* enum pto_activity; of a join other */
};

struct pto_event_graph {
  const struct pto_trace *trace;
  struct pto_event_node *nodes;
  uint32_t *links; /* nodes */
  uint64_t node_count, node_capacity, link_count, link_capacity;
  uint64_t end;         /* of the run, ps */
  uint64_t unexplained; /* ps that nodes waited for a cause that is not known; it counts as their duration */
};

/* PTO_OK or PTO_ENOMEM.  A trace without segments gives a graph without nodes. */
PTO_MUST_CHECK int pto_event_graph_init(const struct pto_trace *trace, struct pto_event_graph *graph,
                                        struct pto_error *error);
/* Takes zeroed ones. */
void pto_event_graph_fini(struct pto_event_graph *graph);

/* The cause of the node that ended last, the resource's own where several did; PTO_NO_NODE: it had none. */
uint32_t pto_event_graph_binding(const struct pto_event_graph *graph, uint32_t node);
/* The node that ended last of all. */
uint32_t pto_event_graph_last(const struct pto_event_graph *graph);

/* When the run would end were each node's duration what `duration` says.  `ends`: room for a time a node. */
uint64_t pto_event_graph_end(const struct pto_event_graph *graph,
                             uint64_t (*duration)(const void *context, const struct pto_event_graph *graph,
                                                  uint32_t node),
                             const void *context, uint64_t *ends);

/* By node, into `slacks`: how much longer it may take without the run ending later. */
void pto_event_graph_slacks(const struct pto_event_graph *graph, uint64_t *slacks);

#endif
