/* SPDX-License-Identifier: MIT */
/*
 * What came before what on all ranks of a world, and what each touched of the windows: made of each rank's access graph
 * (check/order/access_graph.h) and of what its trace says of others (runtime/trace/remote.h).
 *
 * A node is a task or an access of the host, as in a rank's graph.  A task that waits for other ranks, or tells them
 * something, is several, one behind the other: a stretch ends where it notifies, and another begins where it has
 * waited.  A rank's nodes are ordered as its graph says, and between ranks nothing orders but
 *
 *   notify → wait     the notifies by which the signal first came to what was waited for, since the wait before it, or
 *                     since something of the rank itself set it; of these those behind the last that set it, and
 *                     without which the others would have been too few
 *   pto_comm_create   what the hosts of its ranks had waited for comes before what they do later
 *
 * A test that holds is a wait for what it asked.  So a wait that was late, and met more than it asked for, is after no
 * more than what it asked for.  Blocks of a task are one, in the order in which they did things in this run: what they
 * tell each other is not kept.
 *
 * A task that says anything to other ranks may touch what it declares of its own window at any of its stretches: such
 * an access has a range of nodes.
 *
 * Always true: a node's number is above those of all that come before it; accesses stand in the order of their nodes.
 *
 * Borrows traces and world until fini.  One thread.
 */
#ifndef PTO_CHECK_RANKS_WORLD_ORDER_H
#define PTO_CHECK_RANKS_WORLD_ORDER_H

#include <check/order/access_graph.h>
#include <check/order/reach.h>
#include <check/ranks/ranks_state.h>

/* A window: of a rank, in a communicator. */
struct pto_order_window {
  uint64_t comm;   /* its uid */
  uint32_t owner;  /* rank */
  uint32_t number; /* of the communicator, on the owner */
};

enum pto_window_verb { PTO_WINDOW_PUTS, PTO_WINDOW_GETS, PTO_WINDOW_READS, PTO_WINDOW_WRITES, PTO_WINDOW_UPDATES };

/* Bytes of a window that a rank reads or writes; counted from its begin. */
struct pto_window_access {
  uint32_t begin, node; /* somewhere from `begin` on to `node`, both included */
  uint32_t rank;
  uint32_t window;
  uint32_t local;    /* what a task declares, or the host does: access of the rank's graph; else PTO_GRAPH_NONE */
  uint32_t its_node; /* in the rank's graph */
  uint8_t verb;      /* enum pto_window_verb */
  bool reads, writes;
  struct pto_region region;
};

/* A notify that no wait was for. */
struct pto_unheard {
  uint32_t rank, signal; /* to which it came */
  uint64_t comm;
  uint32_t source; /* rank that notified */
  uint64_t task;   /* of that one */
  bool is_set;     /* not added */
};

/* A wait that needed no notify but those that waits before it had. */
struct pto_idle_wait {
  uint32_t rank, signal;
  uint64_t task, comm;
  int32_t value;
  bool is_equal;
  bool is_first; /* it needed none at all */
};

/* A notify that sets a signal, and one of another rank that adds to it, in this or the other order. */
struct pto_signal_set {
  uint32_t owner, signal; /* whose signal it is */
  uint64_t comm;
  uint32_t ranks[2], nodes[2]; /* of the set, and of the other one */
  uint64_t tasks[2];
  int32_t values[2];
};

/* What a node of all ranks' is. */
struct pto_order_place {
  uint32_t rank;   /* PTO_GRAPH_NONE: pto_comm_create, of several */
  uint32_t node;   /* in the rank's graph */
  uint32_t record; /* of the rank's trace->remotes, at which the stretch begins; PTO_GRAPH_NONE: the task's first, or of
                    * the host */
};

struct pto_world_order {
  struct pto_ranks *ranks;
  struct pto_access_graph *graphs; /* by rank */
  struct pto_access_graph graph;   /* all nodes, with what comes before them, and nothing else */
  struct pto_reach reach;
  struct pto_order_place *places; /* by node */
  uint32_t **first, **last;       /* by rank and its graph's node: the first stretch and the last */
  struct pto_order_window *windows;
  size_t window_count, window_capacity;
  struct pto_window_access *accesses;
  size_t access_count, access_capacity;
  struct pto_unheard *unheard;
  size_t unheard_count, unheard_capacity;
  struct pto_idle_wait *idle;
  size_t idle_count, idle_capacity;
  struct pto_signal_set *sets;
  size_t set_count, set_capacity;
};

/* PTO_OK; PTO_ENOMEM or PTO_EINVAL (what a rank has recorded lacks something) with the sentence; fini is due in any
 * case.  `rules` as config.deps. */
PTO_MUST_CHECK int pto_world_order_init(struct pto_world_order *order, struct pto_ranks *ranks, uint32_t rules,
                                        struct pto_error *error);
/* A zeroed one is allowed. */
void pto_world_order_fini(struct pto_world_order *order);

/* Whether it is one of pto/collectives.h. */
bool pto_task_is_collective(const struct pto_trace_task *task);

/* Of a READ or a WRITE that the rank has recorded. */
enum pto_window_verb pto_window_verb_of(const struct pto_trace_remote *record, uint32_t rank);
/* "puts", "reads and writes". */
const char *pto_window_verb_name(uint32_t verb);

/* Whether one of the accesses surely comes before the other. */
bool pto_world_order_has(struct pto_world_order *order, const struct pto_window_access *a,
                         const struct pto_window_access *b);

#endif
