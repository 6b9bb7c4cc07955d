/* SPDX-License-Identifier: MIT */
/*
 * The wait-for picture: who waited for whom at the moment a run stopped.
 *
 * A value of bounded size: what does not fit is counted.  The runtime owns one, reserved at its creation and filled by
 * the run's first error, before anything is released; nothing is allocated for it.  Nodes are the orchestration, task
 * and heap rings, a full table, tasks, open scopes and cores; a link says that one waits for another, and why.  Which
 * tasks are in it: the oldest of each ring, those that run or wait on cores, the one that failed or that the host waits
 * for, and from these on what they wait for.  Kernel names are copied; there are no addresses, so two runs that stop
 * alike have the same picture.
 *
 * Always true: links name nodes that are there (PTO_NODE_NONE: what it waits for is gone, the text says what).  The
 * marked links are one path: from the orchestration, if it waits, along who waits for whom to a circle or to a node
 * that waits for nothing; is_in_circle where they are the circle.
 *
 * Control thread, or a process in which no other thread runs any more.
 */
#ifndef PTO_RUNTIME_DEADLOCK_WAIT_PICTURE_H
#define PTO_RUNTIME_DEADLOCK_WAIT_PICTURE_H

#include <runtime/port/core_waits.h>
#include <runtime/task/task_ring.h>

#define PTO_PICTURE_TASKS 48u
#define PTO_PICTURE_LINKS 320u
#define PTO_PICTURE_SCOPES 65u
#define PTO_PICTURE_CORES PTO_CORE_WAITS_MAX
#define PTO_PICTURE_NAME 64u
#define PTO_PICTURE_NONE UINT32_MAX

struct pto_submit_work;

/* What the orchestration was doing. */
enum pto_doing_kind {
  PTO_DOING_OWN_WORK = 0, /* nothing that the runtime has anything to do with, or the beginning of a call */
  PTO_DOING_SUBMIT,
  PTO_DOING_NEW_BUFFER,
  PTO_DOING_HOST_READ,
  PTO_DOING_HOST_WRITE,
  PTO_DOING_POLL,
  PTO_DOING_END /* it has returned; the run waits for its tasks */
};

struct pto_doing {
  uint32_t kind; /* enum pto_doing_kind */
  uint32_t ring; /* of a submit: the ring of its scope */
  bool needs_slot, needs_heap;
  uint64_t heap_bytes;                  /* with needs_heap: of all its outputs */
  const char *table;                    /* what is full; NULL: no table */
  uint64_t table_capacity;              /* entries */
  uint64_t task_number;                 /* of a submit: that the task would have; else of the next one */
  uint64_t buffer_number;               /* of a host access */
  uint64_t begin, end;                  /* bytes of it, relative to the buffer */
  uint32_t awaited_slot;                /* of the task that a host access waits for; PTO_PICTURE_NONE */
  const struct pto_submit_work *submit; /* that waits for room; NULL: none does, and in a picture */
};

static const struct pto_doing pto_doing_nothing = {.awaited_slot = PTO_PICTURE_NONE};

/* X(kind, name in files) */
#define PTO_NODE_LIST(X)                                                                                               \
  X(PTO_NODE_NONE, "nobody")                                                                                           \
  X(PTO_NODE_ORCHESTRATION, "orchestration")                                                                           \
  X(PTO_NODE_RING, "ring")                                                                                             \
  X(PTO_NODE_HEAP, "heap")                                                                                             \
  X(PTO_NODE_TABLE, "table")                                                                                           \
  X(PTO_NODE_TASK, "task")                                                                                             \
  X(PTO_NODE_SCOPE, "scope")                                                                                           \
  X(PTO_NODE_CORE, "core")
enum pto_node_kind {
#define X(kind, name) kind,
  PTO_NODE_LIST(X)
#undef X
      PTO_NODE_KIND_COUNT
};

/* Ring and heap: the ring's number; task, scope, core: the place in the picture's array. */
struct pto_picture_node {
  uint16_t kind, index;
};

static inline bool pto_picture_node_is(struct pto_picture_node a, struct pto_picture_node b) {
  return a.kind == b.kind && a.index == b.index;
}

/* X(reason, name in files, what is said between the two nodes) */
#define PTO_PICTURE_REASON_LIST(X)                                                                                     \
  X(PTO_WAIT_SLOT, "slot", "for a free slot of")                                                                       \
  X(PTO_WAIT_BYTES, "bytes", "for room in")                                                                            \
  X(PTO_WAIT_TABLE, "table", "for room in")                                                                            \
  X(PTO_WAIT_HOST, "host_access", "for the bytes that belong to")                                                      \
  X(PTO_WAIT_END, "end", "for the end of")                                                                             \
  X(PTO_WAIT_RETIRE, "retire", "for the retirement of its oldest,")                                                    \
  X(PTO_WAIT_LIVE, "live", "for what lives in")                                                                        \
  X(PTO_WAIT_PRODUCER, "producer", "for its producer,")                                                                \
  X(PTO_WAIT_MEMORY, "memory", "because its memory is in use by")                                                      \
  X(PTO_WAIT_SCOPE, "scope", "for the end of")                                                                         \
  X(PTO_WAIT_SUBMITS, "submits", "for its end, which comes after this call of")                                        \
  X(PTO_WAIT_KERNEL, "kernel", "for its kernel on")                                                                    \
  X(PTO_WAIT_CORE, "core", "for a core, one being")                                                                    \
  X(PTO_WAIT_SIGNAL, "signal", "for a signal, perhaps of")                                                             \
  X(PTO_WAIT_ROOM, "room", "for room in the FIFO to")                                                                  \
  X(PTO_WAIT_ELEMENT, "element", "for an element from")                                                                \
  X(PTO_WAIT_BARRIER, "barrier", "at a barrier for")                                                                   \
  X(PTO_WAIT_TURN, "turn", "for its turn after")                                                                       \
  X(PTO_WAIT_CHANGE, "change", "for memory to change, perhaps by")                                                     \
  X(PTO_WAIT_PEER, "peer", "for another rank,")
enum pto_picture_reason {
#define X(reason, name, text) reason,
  PTO_PICTURE_REASON_LIST(X)
#undef X
      PTO_PICTURE_REASON_COUNT
};

struct pto_picture_link {
  struct pto_picture_node from, to;
  uint8_t reason; /* enum pto_picture_reason */
  bool is_marked, is_in_circle;
};

struct pto_picture_ring {
  uint64_t head, tail, slots; /* sequences; usable slots */
  uint64_t heap_used_bytes, heap_size_bytes;
  uint32_t by_state[PTO_TASK_RUNNING + 1]; /* tasks, by enum pto_task_state */
  uint32_t oldest;                         /* place in tasks; PTO_PICTURE_NONE: it is empty */
};

struct pto_picture_task {
  uint64_t number;
  char kernels[PTO_PICTURE_NAME]; /* "matmul", "aic+aiv0"; "barrier", "alloc"; "?" is not known */
  uint8_t state;                  /* enum pto_task_state */
  uint8_t ring;
  bool has_failed;
  bool is_held;       /* completed and kept by others that use its memory */
  uint32_t scope;     /* place in scopes: of the open scope that owns it; PTO_PICTURE_NONE: that has ended */
  uint32_t producers; /* unfinished */
  uint32_t block_count, calls_left;
  uint64_t heap_bytes; /* of its outputs in the heap ring */
  uint64_t sequence;   /* in its ring */
  uint32_t slot;
  const char *label; /* NULL: none, as of scopes */
};

struct pto_picture_scope {
  uint32_t serial, depth, ring;
  bool is_manual;
  uint64_t tasks, bytes; /* that it keeps in its ring */
  const char *label;
};

struct pto_picture_core {
  uint32_t core;             /* index: cluster · 3 + lane */
  uint32_t held;             /* messages sent to it and not completed */
  uint32_t task;             /* place in tasks of the oldest of these; PTO_PICTURE_NONE */
  bool waits;                /* in a kernel, for another core: */
  struct pto_core_wait wait; /* kernel is NULL: see kernel_name */
  char kernel_name[PTO_PICTURE_NAME];
};

struct pto_wait_picture {
  int status; /* of the run's error; PTO_OK: there is no picture */
  struct pto_doing doing;
  char doing_kernels[PTO_PICTURE_NAME]; /* of the task that is being submitted */
  uint64_t task_count, completed_count;
  struct pto_picture_ring rings[PTO_RING_COUNT];
  struct pto_picture_task tasks[PTO_PICTURE_TASKS];
  struct pto_picture_scope scopes[PTO_PICTURE_SCOPES]; /* by depth: the run's own first */
  struct pto_picture_core cores[PTO_PICTURE_CORES];
  struct pto_picture_link links[PTO_PICTURE_LINKS];
  uint32_t listed_task_count, scope_count, listed_core_count, link_count;
  uint32_t tasks_more, cores_more, links_more; /* that did not fit, as far as they were come across */
  uint16_t path[PTO_PICTURE_LINKS];            /* the marked links, in order */
  uint32_t path_length;
};

struct pto_runtime;
/* Fills `picture` from the runtime as it is.  `status` is what it stopped with; `failed_slot` the task whose kernel
 * failed or does not come back, or PTO_PICTURE_NONE.  Every loop is bounded by capacities, so that a process forked
 * from within a call gets a picture too. */
void pto_wait_picture_take(struct pto_runtime *rt, int status, uint32_t failed_slot, struct pto_wait_picture *picture);

/* Marks the path of a picture that has all its links: wait_path.c. */
void pto_wait_picture_find_path(struct pto_wait_picture *picture);

/* wait_names.c */
const char *pto_picture_reason_name(uint32_t reason);
/* What is said between the nodes of a link. */
const char *pto_picture_reason_text(uint32_t reason);
const char *pto_task_state_name(uint32_t state);
/* "orchestration", "ring1", "heap1", "table", "task17" (its number), "scope3" (its serial), "core4": stable names,
 * unique in a picture.  Returns `text`. */
const char *pto_picture_node_name(const struct pto_wait_picture *picture, struct pto_picture_node node, char *text,
                                  size_t size);

#endif
