/* SPDX-License-Identifier: MIT */
/*
 * The graph itself: values and the nodes that make them, as the builder grows it and as a built graph keeps it.
 *
 * Owns arrays of values, nodes and inputs, the data of constants, and an arena with everything else (names, options,
 * lists): the builder's until build, then the graph's.
 *
 * Always true: values are numbered from 1 (0 is none); nodes stand in an order in which every operand is made before it
 * is used; results of a node are consecutive values; value.producer is 0 for inputs and constants; each dtype and shape
 * is one that inference has given, so that its bytes fit PTO_GRAPH_MAX_TENSOR_BYTES, and dimensions beyond its rank are
 * 0.  After build nothing changes but is_unfused.
 *
 * Threads: a built graph is read by any; see <pto/graph.h> for builders.
 */
#ifndef PTO_GRAPH_BUILD_OPERAND_GRAPH_H
#define PTO_GRAPH_BUILD_OPERAND_GRAPH_H

#include <pthread.h>
#include <stdatomic.h>

#include <graph/build/arena.h>
#include <graph/build/operation.h>

enum pto_graph_value_kind { PTO_VALUE_INPUT = 1, PTO_VALUE_CONSTANT, PTO_VALUE_RESULT };

struct pto_graph_value {
  struct pto_graph_desc desc;
  uint32_t kind;                   /* enum pto_graph_value_kind */
  uint32_t producer;               /* 1 + index of the node, 0: none */
  const char *name;                /* of inputs and what has been given one, else that of the output; else NULL */
  const void *data;                /* of constants: dense bytes; NULL where `tensor` has them */
  uint64_t size_bytes;             /* of the dense tensor */
  void *laid;                      /* of filters: the same in the order in which kernels read it; NULL: as `data` */
  bool is_borrowed;                /* data and laid are those of the template (sizes.h) */
  uint8_t order[4];                /* of `laid`: dimensions of `desc`, outermost first */
  struct pto_device_tensor tensor; /* of constants of a context */
};

struct pto_graph_node {
  uint32_t op; /* enum pto_graph_op */
  const char *label;
  const uint32_t *operands; /* values by parameter; 0: absent */
  uint32_t operand_count;
  uint32_t first_result, result_count; /* values */
  const void *options;                 /* never NULL: zeroed where none were given */
};

/* Sizes that stay open until the graph is bound, and where they stand (graph/build/sizes.h). */
struct pto_graph_open_size {
  const char *name;
  uint64_t most;
  bool follows; /* it is not given: a reshape decides it, or nothing needs it */
};
enum { PTO_SIZE_IN_SHAPE = 0 };
struct pto_graph_size_place {
  uint32_t value;     /* an input, or the first result of the node whose option it is */
  uint32_t attribute; /* PTO_SIZE_IN_SHAPE, or 1 + the index of the option among the attributes of the operation */
  uint32_t item;      /* of the shape or list */
  uint32_t size;      /* an index */
};
struct pto_graph_sizes {
  struct pto_graph_open_size *sizes;
  struct pto_graph_size_place *places;
  uint32_t count, capacity, place_count, place_capacity;
};

/* What the graph has on each context that it was dispatched on (graph/run/dispatch.c), under a lock.  Made by build;
 * who adds the first instance says how to close them. */
struct pto_graph_instance;
/* The plain graph of a template with these values of its sizes, made by a dispatch (graph/run/open_dispatch.c). */
struct pto_graph_bound {
  uint64_t *values; /* by size; 0: it follows */
  struct pto_graph *graph;
  uint32_t users; /* dispatches that are being queued */
  uint64_t last_use;
};
struct pto_graph_instances {
  pthread_mutex_t lock;
  struct pto_graph_instance *first;
  void (*close_all)(struct pto_graph_instance *first); /* waits for dispatches that are queued */
  struct pto_graph_bound *bound;                       /* of a template; they use what it has on its contexts */
  size_t bound_count, bound_capacity;
  uint64_t bound_uses, bound_made;
};
/* PTO_OK, PTO_ENOMEM or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_graph_instances_create(struct pto_graph_instances **instances_out);
/* NULL is allowed. */
void pto_graph_instances_destroy(struct pto_graph_instances *instances);

struct pto_graph {
  struct pto_graph_arena arena;
  struct pto_graph_value *values; /* values[0] is none */
  uint32_t value_count;           /* with values[0] */
  struct pto_graph_node *nodes;
  uint32_t node_count;
  uint32_t *inputs, *outputs; /* values, in the order of the calls and of build */
  uint32_t input_count, output_count;
  struct pto_operand *input_operands, *output_operands; /* for dispatch */
  struct pto_graph_instances *instances;
  struct pto_graph_sizes sizes;
  struct pto_graph *origin; /* the template that pto_graph_bind made it of, which it keeps; NULL: none */
  atomic_uint references;   /* the graph's own, and of each graph whose origin it is */
  const struct pto_graph_lowering_watch *watch; /* graph/lower/lowering.h; NULL: none; borrowed while it is set */
  bool reuses_at_once;                          /* as PTO_VALUE_MEMORY_FREE_BYTES were 0 (value_memory.h): for tests */
  bool is_unfused;                              /* every node is lowered by itself (pto_graph_set_fusion) */
};

/* Frees what it has; a zeroed one is allowed. */
void pto_graph_value_fini(struct pto_graph_value *value);
void pto_graph_sizes_fini(struct pto_graph_sizes *sizes);
/* As dispatch knows it; the name is borrowed. */
struct pto_operand pto_graph_value_operand(const struct pto_graph_value *value, const char *name);
/* A constant as dispatches have it: dense bytes, NULL where `tensor` has them; `desc` is in the order of these. */
const void *pto_graph_constant(const struct pto_graph_value *value, struct pto_graph_desc *desc);
static inline uint64_t pto_graph_desc_numel(const struct pto_graph_desc *desc) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < desc->ndims; d++) numel *= desc->shape[d];
  return numel;
}

#endif
