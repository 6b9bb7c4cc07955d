/* SPDX-License-Identifier: MIT */
/*
 * Operations of graphs from outside: registered at run time, then called by builders and in files by their names as
 * those of the specification are.
 *
 *   struct pto_operation ──register, or a shared object──▶ name ──builder, file──▶ node ──▶ infer, lower, reference
 *
 * A shared object has one symbol, `pto_operations`: the addresses of its operations, then NULL.  ptosim loads those
 * that PTO_OPERATIONS names (paths with colons between them).  docs/outside-operations.md has one, worked out.
 *
 * An operation has 1 to PTO_OPERATION_MOST operands, all of them required, options that are numbers, and 1 to
 * PTO_OPERATION_RESULTS results.  What is registered stays, with everything that it points to, until the process ends.
 * Its functions are called by any thread, several at once, and keep nothing between calls.
 */
#ifndef PTO_OPERATION_H
#define PTO_OPERATION_H

#include <pto/graph.h>
#include <pto/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of the structs here.  An operation of another number is not registered.  In 1 the 4-bit dtypes had other
 * values. */
#define PTO_OPERATION_ABI 2u
/* Operands, and options, of one operation. */
#define PTO_OPERATION_MOST 8u
#define PTO_OPERATION_RESULTS 4u

struct pto_operation_operand {
  const char *name;
  uint32_t dtypes;             /* set of PTO_DTYPE_BIT [any of graphs] */
  uint32_t min_rank, max_rank; /* max_rank 0: PTO_MAX_DIMS */
  bool is_of_first_dtype;      /* its dtype is that of the first operand */
};

struct pto_operation_option {
  const char *name;
  double default_value;
};

/* What inference is given and fills.  Dtypes and ranks of the operands are as the operation says, options are finite.
 */
struct pto_operation_inference {
  const struct pto_graph_desc *operands;
  const double *options;          /* in the order of the operation's */
  struct pto_graph_desc *results; /* zeroed; dtype and shape of each are set */
  char *sentence; /* why it is refused: "x and t have other shapes"; the operation's name stands in front */
  size_t sentence_size;
};

struct pto_graph_lowering;
/* What lowering is given.  Operands may be views of any strides; results are dense and have memory: tasks write the
 * whole or parts of them. */
struct pto_operation_lowering {
  const struct pto_tensor *operands, *results;
  const double *options;
  struct pto_runtime *rt;
  struct pto_graph_lowering *lowering; /* for the two calls below */
};
/* Submits one task of the operation on a core that the kernel can run on.  PTO_OK, or what the lowering has failed
 * with. */
PTO_API int pto_operation_submit(const struct pto_operation_lowering *call, const struct pto_kernel *kernel,
                                 const struct pto_param *params, uint32_t param_count);
/* A dense tensor with memory, for the tasks of this call. */
PTO_API struct pto_tensor pto_operation_temporary(const struct pto_operation_lowering *call, uint32_t dtype,
                                                  uint32_t ndims, const uint64_t *shape);

/* One operand or result of the reference, dense, row-major: of float dtypes `values` has the elements, of integer ones
 * `whole`, sign-extended from their width (uint64 by its bits); the other is NULL. */
struct pto_operation_tensor {
  struct pto_graph_desc desc;
  double *values;
  int64_t *whole;
};
struct pto_operation_reference {
  const struct pto_operation_tensor *operands;
  const double *options;
  const struct pto_operation_tensor *results; /* zeroed; elements are rounded to the dtype afterwards */
};

struct pto_operation {
  uint32_t abi;     /* PTO_OPERATION_ABI */
  const char *name; /* as those of operands and options: letters, digits and _, first a letter */
  const struct pto_operation_operand *operands;
  const struct pto_operation_option *options;
  uint32_t operand_count, option_count, result_count;
  int (*infer)(struct pto_operation_inference *call);           /* PTO_OK, or PTO_EINVAL with a sentence */
  int (*lower)(const struct pto_operation_lowering *call);      /* PTO_OK, or what a call returned */
  int (*reference)(const struct pto_operation_reference *call); /* in double precision.  PTO_OK or PTO_ENOMEM */
};

/* Makes the operation known under its name.  PTO_OK, also for one that is known; PTO_EINVAL with a sentence (may be
 * NULL) for another abi, a name that is taken or none, a function that is missing, and counts out of range; PTO_ENOMEM.
 */
PTO_API PTO_MUST_CHECK int pto_operation_register(const struct pto_operation *operation, char *sentence,
                                                  size_t sentence_size);

/* An option of a call by name. */
struct pto_operation_number {
  const char *name;
  struct pto_number value;
};
/* A call of the operation called `name`, one from outside or of the specification, whose given options are numbers.
 * `label` may be NULL.  PTO_OK and its results, of which there have to be result_count; or the refusal, which stays as
 * that of every call. */
PTO_API int pto_graph_builder_operation(struct pto_graph_builder *builder, const char *name, const char *label,
                                        const struct pto_graph_operand *operands, uint32_t operand_count,
                                        const struct pto_operation_number *options, uint32_t option_count,
                                        struct pto_graph_operand *results, uint32_t result_count);

#ifdef __cplusplus
}
#endif
#endif
