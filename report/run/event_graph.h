/* SPDX-License-Identifier: MIT */
/*
 * The event graph of a run in virtual time: what let each segment (runtime/trace/segment.h) begin.
 *
 * A node is a segment, or a moment that only joins causes: a task is ready, a message is asked for, a sync_start group
 * is complete.  It begins when the last of its causes has ended, and takes its duration:
 *
 *   end(n) = max(end(c), c a cause of n) + duration(n)
 *
 * Causes are what the resource did before, and what it waited for: a poll for the kernel's end; a start for the
 * message; a message for the request; a request for the task to be ready; that for the submit and for each producer's
 * completion; the orchestrator after a stall for what a scheduler had done.  Causes stand before what they cause.
 *
 * So the graph holds the decisions of the run: who ran where, in which order on each resource, and how long each
 * segment took.  Where a message found several idle cores it waits for none, as another one would have done.
 *
 * Always true: with the run's own durations each node ends when its segment did, so the durations of the path add up to
 * the end of the run.
 *
 * Owns its arrays until fini.  Reads a trace with a graph and segments, after the run.  Linear in segments and edges.
 */
#ifndef PTO_REPORT_RUN_EVENT_GRAPH_H
#define PTO_REPORT_RUN_EVENT_GRAPH_H

#include <runtime/base/error.h>
#include <runtime/trace/segment.h>

#define PTO_NO_NODE UINT32_MAX

struct pto_event_node {
  uint64_t end, duration;
  uint32_t segment;                /* index; PTO_NO_NODE: none, it only joins causes */
  uint32_t before;                 /* what the resource did before; PTO_NO_NODE: nothing */
  uint32_t cause;                  /* what it waited for, or might have; PTO_NO_NODE: nothing */
  uint32_t first_link, link_count; /* further causes, in links */
  bool has_choice;                 /* a message: other cores of the kind were idle, too */
  bool is_in_turn;                 /* `before` is only what its scheduler had to do first: another order would do */
  uint8_t clock;                   /* of those that do one thing at a time in any order: 1 + which; 0: none */
};

/* Of a task. */
struct pto_event_task {
  uint32_t submitted, completed; /* nodes, the last of each; PTO_NO_NODE: none */
  uint32_t ready;                /* it lacks nothing but a core */
  uint64_t produced_ps;          /* when the last kernel of its producers ended */
  uint64_t ended_ps;             /* when its own last one did */
};

/* Of a record of what went to other ranks, or came (runtime/trace/remote.h). */
struct pto_event_remote {
  uint32_t node;   /* of the time that it took on its core or orchestrator; PTO_NO_NODE: none */
  uint32_t before; /* what its core or orchestrator had done last when it began */
};

struct pto_event_graph {
  const struct pto_trace *trace;
  struct pto_event_node *nodes;
  struct pto_event_task *tasks;     /* by number; trace->tasks.count of them */
  uint32_t *links;                  /* nodes */
  struct pto_event_remote *remotes; /* by index; trace->remotes.count of them */
  size_t node_count, node_capacity, link_count, link_capacity;
  uint64_t end;         /* of the run, ps */
  uint64_t unexplained; /* ps that nodes waited for what is not known; they count as their durations */
  uint64_t untimely;    /* causes left out, because they ended after what they should have caused had begun */
};

/* PTO_OK or PTO_ENOMEM.  A trace without segments gives a graph without nodes. */
PTO_MUST_CHECK int pto_event_graph_init(const struct pto_trace *trace, struct pto_event_graph *graph,
                                        struct pto_error *error);
/* A zeroed one is allowed. */
void pto_event_graph_fini(struct pto_event_graph *graph);

/* The node's segment; NULL where it has none. */
static inline const struct pto_trace_segment *pto_event_segment(const struct pto_event_graph *graph, uint32_t node) {
  const uint32_t segment = graph->nodes[node].segment;
  return segment == PTO_NO_NODE ? NULL : pto_trace_log_at(&graph->trace->segments, segment);
}

/* The cause of the node that ended last, the resource's own where several did; PTO_NO_NODE: it had none. */
uint32_t pto_event_graph_binding(const struct pto_event_graph *graph, uint32_t node);
/* The node that ended last of all, where there is one. */
uint32_t pto_event_graph_last(const struct pto_event_graph *graph);

/* Other runs of the same graph: with durations of their own, and with schedulers that still do first what comes up
 * first.  Of the decisions the order on schedulers is not held, so with the run's own durations the end may be a little
 * off.  Borrows the graph. */
struct pto_event_replay {
  const struct pto_event_graph *graph;
  uint32_t *cause_counts, *left; /* by node: causes, and those that have not ended */
  uint64_t *times;               /* by node: when the last of those ended that have */
  uint64_t *first;               /* by node + 1: of its effects */
  uint32_t *effects;             /* nodes */
  struct pto_event_time *heap;   /* nodes whose causes have all ended */
  size_t heap_count;
};
/* PTO_OK or PTO_ENOMEM, with nothing to free. */
PTO_MUST_CHECK int pto_event_replay_init(const struct pto_event_graph *graph, struct pto_event_replay *replay);
/* A zeroed one is allowed. */
void pto_event_replay_fini(struct pto_event_replay *replay);
/* When the run ends if each node takes what `duration` says. */
typedef uint64_t pto_event_duration(const void *context, const struct pto_event_graph *graph, uint32_t node);
uint64_t pto_event_replay_run(struct pto_event_replay *replay, pto_event_duration *duration, const void *context);

#endif
