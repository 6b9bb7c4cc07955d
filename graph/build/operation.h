/* SPDX-License-Identifier: MIT */
/*
 * What is known of each operation: its parameters and attributes by the specification's names, and the function that
 * infers its results.
 *
 * Owns nothing; a table of constants.
 *
 * Always true: `operands` of a node are in the order of `parameters`, 0 where an optional one is absent; a list
 * parameter is the only one of its operation, and then all operands are its.  `options` of a node is the operation's
 * struct of <pto/graph.h> with everything it points to copied; its operand fields are zeroed (the node has them), and
 * its numbers are as enum pto_number_class says.
 *
 * One way in: files, conformance cases and the typed calls of <pto/graph.h> all end in pto_graph_builder_call.  Any
 * thread may read the table.
 */
#ifndef PTO_GRAPH_BUILD_OPERATION_H
#define PTO_GRAPH_BUILD_OPERATION_H

#include <graph/build/op_list.h>
#include <pto/graph.h>
#include <runtime/base/error.h>

/* What an attribute is, in files and in the options. */
enum pto_attribute_kind {
  PTO_ATTRIBUTE_U32 = 0, /* uint32_t */
  PTO_ATTRIBUTE_AXIS,    /* uint32_t, and behind it uint32_t, a flag: the last axis instead, as where a file has none */
  PTO_ATTRIBUTE_FLAG,    /* uint32_t, enum pto_graph_flag; true and false in files */
  PTO_ATTRIBUTE_WORD,    /* uint32_t, an index into `words` */
  PTO_ATTRIBUTE_DTYPE,   /* uint32_t, enum pto_dtype; its long name in files ("float32") */
  PTO_ATTRIBUTE_NUMBER,  /* struct pto_number; enum pto_number_class says which */
  PTO_ATTRIBUTE_U32_LIST,       /* struct pto_u32_list */
  PTO_ATTRIBUTE_F32_LIST,       /* struct pto_f32_list */
  PTO_ATTRIBUTE_WORD_LIST,      /* struct pto_u32_list of indices into `words` */
  PTO_ATTRIBUTE_OPTIONAL_DTYPE, /* struct pto_number, an enum pto_dtype; its long name in files */
  PTO_ATTRIBUTE_SPLITS          /* struct pto_u32_list, and behind it uint32_t has_sizes; a number or a list in files */
};

/* What a number may be; the first is the specification's MLNumber. */
enum pto_number_class {
  PTO_NUMBERS_ALL = 0,  /* ±∞ too */
  PTO_NUMBERS_FINITE,   /* double */
  PTO_NUMBERS_UNSIGNED, /* unsigned long: 0 … 2^32 − 1; kept as PTO_NUMBER_I64 */
  PTO_NUMBERS_SIGNED    /* long: −2^31 … 2^31 − 1; kept as PTO_NUMBER_I64 */
};

struct pto_op_attribute {
  const char *name;         /* "keepDimensions" */
  const char *old_name;     /* what earlier files call it, or NULL */
  uint32_t kind;            /* enum pto_attribute_kind */
  uint32_t offset;          /* in the options */
  uint32_t number_class;    /* enum pto_number_class */
  bool is_required;         /* in files */
  const char *const *words; /* end with NULL */
};

struct pto_op_parameter {
  const char *name;
  uint32_t dtypes;             /* PTO_DTYPE_BIT of each that is allowed */
  uint32_t same_dtype;         /* 1 + the parameter whose dtype it must have; 0: none */
  uint32_t min_rank, max_rank; /* of the operand */
  uint32_t offset;             /* of an optional one: where it is in the options */
  bool is_optional;
  bool is_list; /* one or more operands */
};

/* What inference sees and fills: descriptors of the operands in their order (zeroed where absent), and of the results.
 * Dtypes and ranks of the operands are within what the parameters say, words, flags and numbers of the options within
 * theirs; byte limits of the results are checked by the caller.  A refusal is PTO_EINVAL with a sentence that names
 * parameter and values, without operation and label, which the caller puts in front. */
struct pto_inference {
  uint32_t op; /* enum pto_graph_op */
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
/* Bytes of one tensor: the data of the specification's tests refuses one of 2147483644. */
#define PTO_GRAPH_MAX_TENSOR_BYTES 2147483643u

struct pto_op_info {
  const char *name; /* "conv2d", as the specification spells it */
  const struct pto_op_parameter *parameters;
  const struct pto_op_attribute *attributes; /* without the label, which all have */
  uint32_t parameter_count, attribute_count, options_size;
  int (*infer)(struct pto_inference *inference);
};

/* The operation's line; `op` is an enum pto_graph_op, or the number of one from outside (graph/build/outside.h). */
const struct pto_op_info *pto_op_info(uint32_t op);
bool pto_op_is_known(uint32_t op);
/* The operation called `name` in files, or PTO_GRAPH_OP_COUNT. */
uint32_t pto_op_find(const char *name);

/* The specification's names of data types ("float32", "uint4"): NULL for a dtype that graphs do not have; -1 for
 * another name. */
const char *pto_graph_dtype_name(uint32_t dtype);
int pto_graph_dtype_find(const char *name);
/* All of them, for sentences: "float32, float16, …". */
const char *pto_graph_dtype_names(void);

/* One call as files make it.  operands[i] is of parameters[i]; with a list parameter there are operand_count of them.
 * Copies all it keeps.  result_count results are written to `results`; PTO_OK, or the refusal (left in the builder). */
struct pto_graph_call {
  uint32_t op;
  const struct pto_graph_operand *operands;
  uint32_t operand_count;
  const void *options;   /* the struct of the operation; its operand fields are not looked at; NULL: all defaults */
  uint32_t result_count; /* how many results there have to be; 0: any number that has room */
};
PTO_MUST_CHECK int pto_graph_builder_call(struct pto_graph_builder *builder, const struct pto_graph_call *call,
                                          struct pto_graph_operand *results, uint32_t result_room,
                                          uint32_t *result_count_out);

#endif
