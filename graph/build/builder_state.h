/* SPDX-License-Identifier: MIT */
/*
 * A builder's state: what the calls of <pto/graph.h> share.
 *
 *   graph/build/builder.c         create, destroy, errors; inputs and constants
 *   graph/build/builder_call.c    pto_graph_builder_call: one operation, checked, inferred, kept
 *   graph/build/builder_calls.c   the typed calls, which end in that one
 *   graph/build/build.c           build: what the outputs need becomes a graph
 *   graph/build/laid.c            filters in the order in which kernels read them
 *   graph/build/sizes.c, bind.c   sizes that stay open
 *
 * Owns arena, arrays, names and the data of constants; all but the table of names is handed on to the graph.
 *
 * Always true: values and nodes are as graph/build/operand_graph.h says, but there are those of every call, not only
 * of what outputs need.  A call that is refused leaves everything but `error` as it was; while error.status is set,
 * calls do nothing.
 *
 * One thread.
 */
#ifndef PTO_GRAPH_BUILD_BUILDER_STATE_H
#define PTO_GRAPH_BUILD_BUILDER_STATE_H

#include <graph/build/arena.h>
#include <graph/build/name_table.h>
#include <graph/build/operand_graph.h>

struct pto_graph_builder {
  struct pto_context *context;
  uint32_t id;       /* in every handle */
  uint32_t dtypes;   /* that operands may have */
  uint32_t max_rank; /* of operands */
  uint64_t max_tensor_bytes;
  bool has_built;
  struct pto_error error; /* the first refusal */
  struct pto_graph_arena arena;
  struct pto_graph_value *values; /* values[0] is none */
  uint32_t value_count, value_capacity;
  struct pto_graph_node *nodes;
  uint32_t node_count, node_capacity;
  uint32_t *inputs; /* values */
  uint32_t input_count, input_capacity;
  struct pto_name_table names; /* of inputs and of values that were given one */
  struct pto_graph_sizes sizes;
};

/* Values and operations of one builder. */
#define PTO_GRAPH_MAX_VALUES (UINT32_C(1) << 24)

/* PTO_OK where a call may go on; else the kept refusal, or PTO_ESTALE after build. */
PTO_MUST_CHECK int pto_builder_begin_call(struct pto_graph_builder *builder, const char *call);
/* Keeps a refusal.  Returns `status`. */
int pto_builder_refuse(struct pto_graph_builder *builder, int status, const char *format, ...) PTO_PRINTF(3, 4);
/* Makes room for `more` items in an array of the builder; false without memory. */
bool pto_builder_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t more, size_t item_bytes);
/* Whether a descriptor is one that operands may have, and its bytes; the sentence goes to `error`. */
PTO_MUST_CHECK int pto_builder_check_desc(const struct pto_graph_builder *builder, const struct pto_graph_desc *desc,
                                          uint64_t *size_bytes_out, struct pto_error *error);
/* The value of a handle, or the sentence: not of this builder, or refused. */
PTO_MUST_CHECK int pto_builder_value(const struct pto_graph_builder *builder, struct pto_graph_operand operand,
                                     uint32_t *value_out, struct pto_error *error);

/* A constant whose data are those of `lender`, a value that lasts longer than the builder and its graph. */
struct pto_graph_operand pto_builder_borrow_constant(struct pto_graph_builder *builder,
                                                     const struct pto_graph_value *lender);

/* Gives filters `laid` (operand_graph.h); numbers[v] is 0 of values that no output needs.  False without memory. */
PTO_MUST_CHECK bool pto_builder_lay_filters(struct pto_graph_builder *builder, const uint32_t *numbers);

#endif
