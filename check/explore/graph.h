/* SPDX-License-Identifier: MIT */
/*
 * What explore knows of a program's tasks: who waits for whom, and which memory each declares to touch.
 *
 * Made from a record (PTO_RECORD_GRAPH): a copy, which owns all it needs.  Edges and accesses are the same
 * in every run, so that of the reference serves for all schedules.
 *
 * Always true: a producer's number is below its consumer's.  Two tasks are dependent where they touch one
 * managed buffer, or external buffers that have memory in common, and one of them writes it, by the modes that they
 * declare: kernels may be sloppy, so which bytes of a buffer plays no part.  An empty tensor touches nothing.
 *
 * One thread.
 */
#ifndef PTO_CHECK_EXPLORE_GRAPH_H
#define PTO_CHECK_EXPLORE_GRAPH_H

#include <runtime/control/control.h>
#include <runtime/tensor/region.h>

/* Tasks that the closure of `is_before` is made for; more have none. */
#define PTO_EXPLORE_CLOSURE_MAX 4096u

/* One parameter, with its bytes. */
struct pto_explore_touch {
  uint64_t begin, end; /* addresses of the buffer; of a managed one its number alone, whose memory others had too */
  uint64_t base;       /* of the buffer, in the addresses of `region` */
  uint64_t buffer_number;
  uint32_t mode;  /* enum pto_mode */
  uint32_t param; /* UINT32_MAX: the predicate */
  bool is_managed;
  struct pto_region region;
};

struct pto_explore_task {
  char name[48]; /* "matmul", "matmul+copy"; "barrier", "alloc" */
  uint64_t first_touch, first_producer;
  uint32_t touch_count, producer_count;
  uint32_t given_count; /* of the producers, how many the program gives; they stand first */
  uint32_t block_count;
  const void *call;   /* where the program's call that submitted it returns to, as of struct pto_trace_task */
  const void *outer;  /* outer_call of that */
  uint64_t dispatch;  /* as there */
  uint64_t part_of;   /* as there */
  bool is_sequential; /* its blocks run one after another */
  bool waits;         /* a kernel of it declares that it may call pto/core.h, or pto/remote.h */
};

struct pto_explore_graph {
  struct pto_explore_task *tasks;
  uint64_t task_count;
  struct pto_explore_touch *touches;
  uint64_t *producers;
  uint64_t *before; /* closure: task_count rows of row_words words; NULL: too many tasks */
  uint64_t row_words;
  bool is_partial; /* the record was full */
};

/* From what was recorded, perhaps of several runs one behind the other.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_explore_graph_init(struct pto_explore_graph *graph, const struct pto_trace *trace);
/* A zeroed struct is allowed. */
void pto_explore_graph_fini(struct pto_explore_graph *graph);

bool pto_explore_graph_is_dependent(const struct pto_explore_graph *graph, uint64_t a, uint64_t b);
/* Whether they declare a byte in common that one of them writes; through the last two by which parameters.  False where
 * nothing is known of them. */
bool pto_explore_graph_shares_bytes(const struct pto_explore_graph *graph, uint64_t a, uint64_t b,
                                    const struct pto_explore_touch **touch_a, const struct pto_explore_touch **touch_b);
/* Whether there is a path from a to b, of edges and of what waits for all: the sync of a context, or its end.  Where
 * there is no closure: an edge. */
bool pto_explore_graph_is_before(const struct pto_explore_graph *graph, uint64_t a, uint64_t b);
/* How many external buffers, which the orchestration may have pointers to, tasks touch.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_explore_graph_external(const struct pto_explore_graph *graph, uint64_t *count_out);
/* Sets marks[i] to 1 for `task` and all that have a path to it, and to 0 for others.  `marks`: task_count bytes. */
void pto_explore_graph_mark_producers(const struct pto_explore_graph *graph, uint64_t task, uint8_t *marks);

#endif
