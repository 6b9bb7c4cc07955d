/* SPDX-License-Identifier: MIT */
/*
 * What is known of each operation: its parameters and attributes by the specification's names, and the function that
 * infers its results.
 *
 * Owns nothing; a table of constants.
 *
 * Always true: `operands` of a node are in the order of `parameters`, 0 where an optional one is absent; a list
 * parameter is the only one of its operation, and then all operands are its.  `options` of a node is the operation's
 * struct of <pto/graph.h> with everything it points to copied, its operands too (equal to those of the node).
 *
 * One way in: files, conformance cases and the typed calls of <pto/graph.h> all end in pto_graph_builder_call.  Any
 * thread may read the table.
 */
#ifndef PTO_OPERATION_H
#define PTO_OPERATION_H

#include <graph/op_list.h>
#include <pto/graph.h>
#include <runtime/base/error.h>

/* What an attribute is, in files and in the options. */
enum pto_attribute_kind {
  PTO_ATTRIBUTE_U32 = 0,  /* uint32_t */
  PTO_ATTRIBUTE_FLAG,     /* uint32_t, enum pto_graph_flag; true and false in files */
  PTO_ATTRIBUTE_WORD,     /* uint32_t, an index into `words` */
  PTO_ATTRIBUTE_DTYPE,    /* uint32_t, enum pto_dtype */
  PTO_ATTRIBUTE_NUMBER,   /* struct pto_number; `integer` says whether it is one of whole numbers */
  PTO_ATTRIBUTE_U32_LIST, /* struct pto_u32_list */
  PTO_ATTRIBUTE_F32_LIST, /* struct pto_f32_list */
  PTO_ATTRIBUTE_WORD_LIST /* struct pto_u32_list of indices into `words` */
};

struct pto_op_attribute {
  const char *name;     /* "keepDimensions" */
  const char *old_name; /* what earlier files call it, or NULL */
  uint32_t kind;        /* enum pto_attribute_kind */
  uint32_t offset;      /* in the options */
  bool is_required;
  bool is_integer;          /* of a number */
  const char *const *words; /* ends with NULL */
};

struct pto_op_parameter {
  const char *name;
  bool is_optional; /* then `offset` is where it is in the options */
  bool is_list;     /* one or more operands */
  uint32_t offset;
};

/* What inference sees and fills: descriptors of the operands in their order (zeroed where absent), and of the results.
 * A refusal is PTO_EINVAL with a sentence that names parameter and values, without operation and label, which the
 * caller puts in front. */
struct pto_inference {
  const struct pto_graph_desc *operands;
  const bool *has_operand;
  uint32_t operand_count;
  const void *options;
  struct pto_graph_desc *results; /* room for PTO_GRAPH_MAX_RESULTS */
  uint32_t result_count;
  struct pto_error *error;
};

/* Parts of a split; no other operation has more than 3 results. */
#define PTO_GRAPH_MAX_RESULTS 1024u
/* Operands of a concat. */
#define PTO_GRAPH_MAX_OPERANDS 1024u
/* Bytes of one tensor, as the data of the specification's tests has it. */
#define PTO_GRAPH_MAX_TENSOR_BYTES 2147483644u

struct pto_op_info {
  const char *name; /* "conv2d", as the specification spells it */
  const struct pto_op_parameter *parameters;
  const struct pto_op_attribute *attributes;
  uint32_t parameter_count, attribute_count, options_size;
  int (*infer)(struct pto_inference *inference);
};

/* The operation's line; `op` is an enum pto_graph_op. */
const struct pto_op_info *pto_op_info(uint32_t op);
/* The operation called `name` in files, or PTO_GRAPH_OP_COUNT. */
uint32_t pto_op_find(const char *name);

/* One call as files make it.  operands[i] is of parameters[i]; with a list parameter there are operand_count of them.
 * Copies all it keeps.  result_count results are written to `results`; PTO_OK, or the refusal (left in the builder). */
struct pto_graph_call {
  uint32_t op;
  const struct pto_graph_operand *operands;
  uint32_t operand_count;
  const void *options; /* the struct of the operation; its operand fields are not looked at; NULL: all defaults */
};
PTO_MUST_CHECK int pto_graph_builder_call(struct pto_graph_builder *builder, const struct pto_graph_call *call,
                                          struct pto_graph_operand *results, uint32_t result_room,
                                          uint32_t *result_count_out);

#endif
