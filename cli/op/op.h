/* SPDX-License-Identifier: MIT */
/*
 * `ptosim op`: kernels of the list tried, timed and listed one by one, without a runtime; and operations of graphs,
 * each as a graph of one node, on a simulated chip.
 *
 * What the files of the verb share: the options, and the plan, which says what calls of one kernel they ask for.  The
 * tries themselves are check/trial/trial.h, those of operations cli/graph/command.h.  Owns nothing; strings are
 * argv's.  One thread.
 *
 * To add an action: a function and a line in `actions` of cli/verbs/op.c.  To add an option: a line in
 * pto_op_specs of cli/op/plan.c.
 */
#ifndef PTO_CLI_OP_OP_H
#define PTO_CLI_OP_OP_H

#include <check/trial/trial.h>
#include <cli/run/options.h>
#include <formats/json_writer.h>
#include <graph/build/operand_graph.h>
#include <report/findings/coverage.h>
#include <runtime/base/error.h>

#define PTO_OP_MAX_TUPLES 256

struct pto_op_options {
  struct pto_run_options common;                          /* of these --chip, --seed, --set and --json */
  const char *action, *name;                              /* NAME: of a kernel, a pattern with * and ?, or "all" */
  const char *dtypes, *shapes, *scalars, *layout, *level; /* NULL: not given */
};

/* Those of --help, ended by a zeroed one. */
extern const struct pto_option_spec pto_op_specs[];
/* The name of an option that was given and means nothing to the action, which is a known one, of a kernel or of an
 * operation; NULL where there is none. */
const char *pto_op_options_ignored(const struct pto_op_options *options, bool is_operation);
/* "64x32,32x16", "f32,float16": at most PTO_MAX_TENSORS; PTO_OK or PTO_EINVAL. */
PTO_MUST_CHECK int pto_op_parse_shapes(const char *text, struct pto_reference_shape *shapes, uint32_t *count,
                                       struct pto_error *error);
PTO_MUST_CHECK int pto_op_parse_dtypes(const char *text, uint32_t *dtypes, uint32_t *count, struct pto_error *error);

bool pto_op_names(const struct pto_op_options *options, uint32_t kernel);

/* The calls of one kernel: shapes and scalars in `base`, and the combinations of dtypes. */
struct pto_op_plan {
  struct pto_trial_case base;
  struct pto_dtype_tuple tuples[PTO_OP_MAX_TUPLES];
  uint32_t tuple_count; /* ≥ 1 */
};
/* The case of one of its combinations in a layout. */
struct pto_trial_case pto_op_case(const struct pto_op_plan *plan, const struct pto_trial *trial, uint32_t tuple,
                                  uint32_t layout);

/* "f32 f32 → f32", "128x128 128x128 → 128x128".  Truncate to `size`. */
void pto_op_format_dtypes(const struct pto_trial *trial, const struct pto_trial_case *c, char *text, size_t size);
void pto_op_format_shapes(const struct pto_trial *trial, const struct pto_trial_case *c, char *text, size_t size);
/* The members kernel, dtypes, shapes and layout of an object that has begun. */
void pto_op_put_case(struct pto_json_writer *w, const struct pto_trial *trial, const struct pto_trial_case *c,
                     uint32_t layout);

/* Calls `one` for each kernel that NAME means, with the plan of what is asked for; without one where not `is_planned`.
 * A pattern leaves out the kernels that do not take that.  The first answer of `one` that is not PTO_EXIT_OK;
 * after ^C, for which `one` looks too, PTO_EXIT_INTERRUPTED; or PTO_EXIT_USAGE, having said why, where the one kernel
 * does not take it, or none does. */
int pto_op_each_kernel(const struct pto_op_options *options, bool is_planned,
                       int (*one)(void *context, struct pto_trial *trial, const struct pto_op_plan *plan),
                       void *context);

/* The actions: an enum pto_exit, having said why where that is not 0.  `w` is in the object of --json; NULL: there is
 * none. */
int pto_op_perf(const struct pto_op_options *options, struct pto_json_writer *w);
int pto_op_support(const struct pto_op_options *options, struct pto_json_writer *w);

/* Adds to what op test judged what it never does; printed where the rows are, and put into the object of `w`, which may
 * be NULL. */
void pto_op_cover(const struct pto_op_options *options, struct pto_coverage *coverage, struct pto_json_writer *w);

/* ---- operations of graphs ---- */

/* The operation that NAME means: "conv2d", or "graph:exp" where there is a kernel of that name too; PTO_GRAPH_OP_COUNT
 * where it means none. */
uint32_t pto_op_operation_of(const struct pto_op_options *options);
/* The action of the options, of an operation. */
int pto_op_operation(const struct pto_op_options *options, uint32_t op, struct pto_json_writer *w);
/* A line of a list, cut where it would be wider than this many bytes. */
#define PTO_OP_COLUMNS 100
void pto_op_print_line(char *text);
/* "conv2d  input filter [bias] | padding strides …": optional operands in brackets, options behind the bar; then a line
 * an operand. */
void pto_op_print_operation(uint32_t op, bool with_operands);
/* A graph of one node.  Without --shape its operands are 128x128 each, without --dtype they have `dtype` where they
 * may. PTO_OK, or PTO_EINVAL with the sentence of who refused; destroyed by the caller. */
PTO_MUST_CHECK int pto_op_node_create(const struct pto_op_options *options, uint32_t op, uint32_t dtype,
                                      struct pto_graph **graph_out, struct pto_error *error);

#endif
