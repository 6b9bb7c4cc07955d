/* SPDX-License-Identifier: MIT */
/*
 * What an operation's lowering is made with: each node becomes a few tasks of general kernels on tiles, through the
 * ordinary submit path.  graph/run/lower_graph.h goes through the nodes.
 *
 * Owns the tensor of each value while a graph is lowered.  Values between nodes are buffers of the runtime; inputs,
 * outputs and constants are tensors of the device, and a result that is an output is written where it belongs.
 *
 * Scopes: results live in the dispatch's own, where one gets the buffer of another that is dead (value_memory.h),
 * temporaries of a node, or of a part of it, in one of the node's, and the tasks of its tiles in short ones inside
 * that, so that the tasks of no scope grow with the size of a tensor.  A lowering asks for its results first, then for
 * temporaries, then for tiles.
 *
 * Always true: the tasks depend on the graph, on which outputs share storage with which inputs, and on the rules of
 * dependencies, on nothing else; a value is submitted as written before any task that reads it; no task writes to
 * storage of an input that a later task reads as that input (see pto_graph_lowering_result).
 *
 * The first failure stays in `status`, and its sentence with the runtime; the node's number, operation and label are
 * added to it.  After it the helpers below submit nothing, so that lowerings ask for it only where they loop.
 *
 * The control thread of a dispatch calls, in orchestrate.  To add an operation: pto_lower_ID in the file of its subject
 * in graph/lower, with the helpers below.
 */
#ifndef PTO_GRAPH_LOWER_LOWERING_H
#define PTO_GRAPH_LOWER_LOWERING_H

#include <graph/lower/tiles.h>
#include <graph/build/operand_graph.h>
#include <graph/lower/value_memory.h>

struct pto_graph_lowering;
typedef void pto_lower_function(struct pto_graph_lowering *l, const struct pto_graph_node *node);
/* Of the lists of one form, and of each other operation. */
pto_lower_function pto_lower_unary, pto_lower_binary, pto_lower_reduce;
#define X(id, ...) pto_lower_function pto_lower_##id;
PTO_OTHER_OP_LIST(X)
#undef X

/* A task as it is submitted: for those who explain.  Borrowed for the call. */
struct pto_lowered_task {
  uint32_t node_index; /* the number of nodes: a copy of outputs at the end */
  const struct pto_kernel *kernel;
  const struct pto_param *params;
  uint32_t param_count;
  uint64_t number; /* of the task in its run */
};

/* Is called whenever a dispatch lowers a graph, not where it repeats a recording: pto_graph.watch. */
struct pto_graph_lowering_watch {
  void (*observe)(void *context, const struct pto_lowered_task *task);
  void *context;
};

/* How long a value is needed.  Time is counted in nodes: n + 1 is after node n, 0 before all, and PTO_LIFE_LASTING
 * after the outputs have been copied at the end. */
#define PTO_LIFE_LASTING UINT32_MAX
struct pto_value_life {
  uint32_t last_read;   /* the last node that may read its storage, itself or through a view */
  uint32_t storage_end; /* the same, and lasting where an output may be copied from its storage at the end */
  uint32_t output;      /* 1 + index of the output that it is, 0: none */
};

struct pto_graph_lowering {
  struct pto_runtime *rt;
  const struct pto_graph *graph;
  struct pto_tensor *tensors;   /* by value; status PTO_ESTALE: not made yet */
  struct pto_value_life *lives; /* by value */
  const struct pto_tensor *outputs;
  uint32_t *shared;             /* by output: the input that it shares its storage with, 0: none */
  bool *is_written;             /* by output */
  uint32_t node_index;          /* being lowered */
  uint32_t depth;               /* scopes of the node that are open: 0, 1 with temporaries, 2 within tiles */
  uint32_t scope_tasks;         /* submitted in the scope of tiles */
  struct pto_tensor results[4]; /* of the node */
  bool is_reused[4];            /* by result: it has the buffer of a value that is dead */
  uint32_t result_count;
  uint32_t placed_count; /* results that have got their memory: with the first scope of the node */
  struct pto_value_memory memory;
  int status; /* the first that was not PTO_OK */
};

/* Between nodes: closes the scopes of the node, whose results have their memory. */
void pto_graph_lowering_end_node(struct pto_graph_lowering *l);

/* An operation from outside (graph/lower/outside.c). */
void pto_lower_outside(struct pto_graph_lowering *l, const struct pto_graph_node *node);

/* ---- for pto_lower_ID ---- */

/* The tensor of a parameter; NULL where it is absent. */
const struct pto_tensor *pto_graph_lowering_operand(const struct pto_graph_lowering *l,
                                                    const struct pto_graph_node *node, uint32_t parameter);
/* Bit p: every task reads of parameter p only the elements that it writes, and reads them before it does, or kernels
 * say so (PTO_KERNEL_IN_PLACE). */
enum { PTO_IN_PLACE_NONE = 0, PTO_IN_PLACE_FIRST = 1 };
#define PTO_IN_PLACE_ANY UINT32_MAX
/* Where result `index` is to be written, dense: the output that it is, or a buffer of its own.  An output in the
 * storage of an input that is still read is written elsewhere and copied at the end, unless those of the node's
 * operands that lie there are in `in_place`. */
struct pto_tensor pto_graph_lowering_result(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                            uint32_t index, uint32_t in_place);
/* The same of an image: [n, c, h, w] whose channels lie side by side in memory, where it is no output and they fill a
 * vector.  Convolutions then need no copies of images, and what follows them element by element keeps the order. */
struct pto_tensor pto_graph_lowering_image(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                           uint32_t index, uint32_t in_place);
/* Whether it lies so. */
bool pto_is_image(const struct pto_tensor *t);
/* Says that result `index` is `t`, a view of something that exists already.  Where the result is an output, `t` is
 * copied there, unless it lies there already. */
void pto_graph_lowering_alias(struct pto_graph_lowering *l, const struct pto_graph_node *node, uint32_t index,
                              const struct pto_tensor *t);
/* A dense buffer that lives as long as results do: for one that is a view of it. */
struct pto_tensor pto_graph_lowering_kept(struct pto_graph_lowering *l, uint32_t dtype, uint32_t ndims,
                                          const uint64_t *shape);
/* A dense buffer for a step of a node; asked for between tiles, for one of them. */
struct pto_tensor pto_graph_lowering_temporary(struct pto_graph_lowering *l, uint32_t dtype, uint32_t ndims,
                                               const uint64_t *shape);

/* Memory for a buffer that is going to be written by parts: once for each, before them.  Nothing for outputs, and for
 * views of a part. */
void pto_graph_lowering_allocate(struct pto_graph_lowering *l, const struct pto_tensor *t);

/* Submits one task on a core that the kernel can run on. */
void pto_graph_lowering_submit(struct pto_graph_lowering *l, const struct pto_kernel *kernel,
                               const struct pto_param *params, uint32_t count);
/* The same with the parameters that follow. */
#define PTO_LOWER_TASK(l, kernel, ...)                                                                                 \
  pto_graph_lowering_submit(l, kernel, (const struct pto_param[]){__VA_ARGS__},                                        \
                            PTO_ARRAY_LENGTH(((const struct pto_param[]){__VA_ARGS__})))
/* y = a · b, or alpha · a · b + beta · c where c is not NULL: one task. */
void pto_graph_lowering_product(struct pto_graph_lowering *l, const struct pto_tensor *a, const struct pto_tensor *b,
                                const struct pto_tensor *c, float alpha, float beta, const struct pto_tensor *y);

/* Before each of the many parts that a node may be made of, each with temporaries of its own; earlier ones are gone. */
void pto_graph_lowering_part(struct pto_graph_lowering *l);

/* Before the tasks of each tile, and after the last tile. */
void pto_graph_lowering_tile(struct pto_graph_lowering *l);
void pto_graph_lowering_tiles_end(struct pto_graph_lowering *l);

/* What a tiled submit is given: tensors of the plan's rank, with the mode of each, then scalars. */
struct pto_tiled_task {
  const struct pto_kernel *kernel;
  struct pto_tensor tensors[8]; /* extents as pto_tiles_view wants them */
  uint32_t modes[8];            /* enum pto_mode */
  uint32_t tensor_count;
  struct pto_param scalars[8];
  uint32_t scalar_count;
};
/* A task a box.  An OUTPUT gets its memory first; what has some already is passed as INOUT, or as a view of a part. */
void pto_graph_lowering_submit_tiles(struct pto_graph_lowering *l, const struct pto_tiles *tiles,
                                     const struct pto_tiled_task *task);
/* `kernel` on x and a result y of the same rank, then scalars; boxes as pto_tiles_make cuts one of the two. */
struct pto_cut {
  bool is_of_x;
  uint32_t whole;
  uint64_t weight;
};
void pto_graph_lowering_apply(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tensor *x,
                              const struct pto_tensor *y, const struct pto_cut *cut, const struct pto_param *scalars,
                              uint32_t scalar_count);

/* The commonest: `kernel` on inputs that are broadcast to the shape of `out`, each element by itself, then scalars.
 * What a kernel knows as bool alone may be bytes of 0 and others. */
void pto_graph_lowering_elementwise(struct pto_graph_lowering *l, const struct pto_kernel *kernel,
                                    const struct pto_tensor *const *inputs, uint32_t input_count,
                                    const struct pto_tensor *out, const struct pto_param *scalars,
                                    uint32_t scalar_count);
/* Copies `from` to the shape and dtype of `to`. */
void pto_graph_lowering_convert(struct pto_graph_lowering *l, const struct pto_tensor *from,
                                const struct pto_tensor *to);

/* Fills `to` with the number, 0 where it is absent; of integer dtypes truncated and saturated. */
void pto_graph_lowering_fill(struct pto_graph_lowering *l, struct pto_number number, const struct pto_tensor *to);

/* Boolean values of graphs are bytes of 0 and others: as a view of dtype bool. */
struct pto_tensor pto_graph_lowering_as_bool(const struct pto_tensor *t);
/* `t` as a dense tensor of `shape`: a view of it where it is dense, else a copy. */
struct pto_tensor pto_graph_lowering_reshape(struct pto_graph_lowering *l, const struct pto_tensor *t, uint32_t ndims,
                                             const uint64_t *shape);

#endif
