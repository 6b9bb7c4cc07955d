/* SPDX-License-Identifier: MIT */
/*
 * Operand graphs in the sense of WebNN's MLGraphBuilder and MLGraph: a builder takes typed calls and infers dtype and
 * shape of each result at once; build makes an immutable graph of what its outputs need; dispatch runs it on device
 * tensors, as tasks of the ordinary runtime.
 *
 *   builder ──input, constant──▶ operand ──operation──▶ operand … ──build(named outputs)──▶ graph ──dispatch──▶
 *
 * The specification is the W3C's Web Neural Network API (state of June 2026); operations, options and defaults are its,
 * in C spelling: `batchNormalization` is pto_graph_builder_batch_normalization.  The calls are in graph_operations.h,
 * their options in graph_options.h, which this header includes.
 *
 * Errors.  A call that is refused returns an operand of index 0, allocates nothing, and leaves its sentence in the
 * builder; all later calls are refused too, and the first sentence stays: a model may be written down without a test at
 * each line, and asked once, by pto_graph_builder_status or by build.  Kinds of the specification:
 * TypeError is PTO_EINVAL, InvalidStateError PTO_ESTALE, NotSupportedError PTO_ENOTSUP, OperationError what a dispatch
 * that failed leaves in its context.  Every sentence of a call begins with its operation and label.
 *
 * Names and labels are UTF-8, as those of the specification are text; any other bytes are refused.
 *
 * Ownership.  Everything is borrowed for the call and copied: names, shapes, lists, the data of constants.  A builder
 * builds one graph, which takes the constants along and lives on without it.  One thread at a time uses a builder; any
 * number may dispatch a graph.
 */
#ifndef PTO_GRAPH_H
#define PTO_GRAPH_H

#include <pto/device.h>
#include <pto/graph_operations.h>
#include <pto/graph_options.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_graph_builder;
struct pto_graph;

/* ---- the builder ---- */

/* A builder of graphs for `context`, whose limits hold and whose constant tensors may be used; with NULL, of graphs for
 * any. */
PTO_API PTO_MUST_CHECK int pto_graph_builder_create(struct pto_context *context,
                                                    struct pto_graph_builder **builder_out);
/* NULL is allowed. */
PTO_API void pto_graph_builder_destroy(struct pto_graph_builder *builder);
/* PTO_OK, or the kind of the first call that was refused; its sentence. */
PTO_API int pto_graph_builder_status(const struct pto_graph_builder *builder);
PTO_API const char *pto_graph_builder_error(const struct pto_graph_builder *builder);
/* Forgets the refusal: calls go on. */
PTO_API void pto_graph_builder_clear_error(struct pto_graph_builder *builder);

/* An input of the graph.  Names are not empty and each is used once. */
PTO_API struct pto_graph_operand pto_graph_builder_input(struct pto_graph_builder *builder, const char *name,
                                                         const struct pto_graph_desc *desc);
/* A constant with these bytes, dense and row-major (two 4-bit values a byte, the low half first). */
PTO_API struct pto_graph_operand pto_graph_builder_constant(struct pto_graph_builder *builder,
                                                            const struct pto_graph_desc *desc, const void *data,
                                                            uint64_t size_bytes);
/* A scalar constant of `dtype`; refused where the dtype cannot hold the number. */
PTO_API struct pto_graph_operand pto_graph_builder_scalar(struct pto_graph_builder *builder, uint32_t dtype,
                                                          struct pto_number value);
/* A constant tensor of the builder's context; both must outlive the graph. */
PTO_API struct pto_graph_operand pto_graph_builder_constant_tensor(struct pto_graph_builder *builder,
                                                                   struct pto_device_tensor tensor);
/* What is known of an operand; zeroed for none. */
PTO_API struct pto_graph_desc pto_graph_builder_desc(const struct pto_graph_builder *builder,
                                                     struct pto_graph_operand operand);

/* A name for a constant or result, in place of one made up: for files, pictures and explanations. */
PTO_API int pto_graph_builder_set_name(struct pto_graph_builder *builder, struct pto_graph_operand operand,
                                       const char *name);

/* ---- sizes that stay open ----
 * A size with a name is a number only when the graph is bound or dispatched.  A graph with such sizes is built with the
 * most that each may be, and checked with it; then it is a template of plain graphs, one for each set of values. */

/* Says that a number that has been given is the size `name`, and is the most that it may be: dimension `item` of an
 * input
 * (`attribute` NULL), or item `item` of the option `attribute` ("newShape", as the specification spells it) of the
 * operation that gave `operand`.  A size may stand at any number of places, with the same most.  One that stands in no
 * input's shape follows from the elements of the first reshape whose newShape has it.  PTO_OK or the refusal, which
 * stays as that of every call. */
PTO_API int pto_graph_builder_set_size(struct pto_graph_builder *builder, struct pto_graph_operand operand,
                                       const char *attribute, uint32_t item, const char *name);

struct pto_graph_output {
  const char *name;
  struct pto_graph_operand operand;
};
/* Makes the graph that computes `outputs`; of what they do not need nothing stays, but inputs.  Refused where the
 * builder is in error, without outputs, for a name used twice or empty, for an input or constant as an output; and with
 * PTO_ENOTSUP for what calls may say but has no result: groups of a transposed convolution that do not divide the
 * channels of its input.  After it the builder takes no more calls (PTO_ESTALE); a build that was refused or failed
 * changes nothing. */
PTO_API PTO_MUST_CHECK int pto_graph_builder_build(struct pto_graph_builder *builder,
                                                   const struct pto_graph_output *outputs, uint32_t output_count,
                                                   struct pto_graph **graph_out);

/* ---- graphs ---- */

/* NULL is allowed.  Dispatches of it that are queued go first.  The contexts that it was dispatched on may have been
 * destroyed before. */
PTO_API void pto_graph_destroy(struct pto_graph *graph);
/* Named inputs and outputs, in the order of their calls and of build; borrowed for the graph's life. */
PTO_API uint32_t pto_graph_input_count(const struct pto_graph *graph);
PTO_API uint32_t pto_graph_output_count(const struct pto_graph *graph);
PTO_API const struct pto_operand *pto_graph_input(const struct pto_graph *graph, uint32_t index);
PTO_API const struct pto_operand *pto_graph_output_at(const struct pto_graph *graph, uint32_t index);

/* A size of a template: its name and the most that it may be; or the value that it is bound to. */
struct pto_graph_size {
  const char *name;
  uint64_t value;
};
/* The sizes that are open, but for those that follow from others: 0 of a plain graph.  Index ≥ count: zeroed.  Inputs
 * and outputs of a template have the shapes of its largest sizes. */
PTO_API uint32_t pto_graph_size_count(const struct pto_graph *graph);
PTO_API struct pto_graph_size pto_graph_size_at(const struct pto_graph *graph, uint32_t index);
/* The plain graph of a template with every size at a value from 1 to its most: its calls, checked anew.  It shares the
 * data of constants in host memory, and moves them to a device of its own accord: dispatches of the template have one
 * copy there for all values.  It may outlive the template.  PTO_OK; PTO_EINVAL for a size that is unknown, missing,
 * given twice or out of range, and for values with which a call is refused; PTO_ENOMEM.  The sentence goes to
 * `sentence` (sentence_size bytes, may be NULL). */
PTO_API PTO_MUST_CHECK int pto_graph_bind(struct pto_graph *graph, const struct pto_graph_size *values,
                                          uint32_t value_count, struct pto_graph **bound_out, char *sentence,
                                          size_t sentence_size);

/* Whether nodes are lowered in groups, by the patterns of docs/lowering.md ("Fusion").  They are, until it is set to
 * 0. PTO_ESTALE once the graph is dispatched on a context that it has not forgotten. */
PTO_API PTO_MUST_CHECK int pto_graph_set_fusion(struct pto_graph *graph, int is_fused);

/* Queues one run of the graph on `context`, as pto_context_dispatch queues an orchestration: the same bindings,
 * order, refusals and errors.  Lowered once a set of bindings.  Of a template, the shapes of what is bound to its
 * inputs say its sizes; the plain graph of them is made once, and kept for the 64 sets of values used last. */
PTO_API PTO_MUST_CHECK int pto_graph_dispatch(struct pto_graph *graph, struct pto_context *context,
                                              const struct pto_dispatch_bindings *bindings);

/* Waits for the graph's dispatches on `context`, and gives back what it has there: its constants, lowered tasks. */
PTO_API void pto_graph_forget(struct pto_graph *graph, struct pto_context *context);
/* The same from host memory to host memory, as pto_context_compute does it: it waits. */
PTO_API PTO_MUST_CHECK int pto_graph_compute(struct pto_graph *graph, struct pto_context *context,
                                             const struct pto_compute_arrays *arrays);

/* The same with tensors, host memory and outputs that are made for it, as pto_context_call. */
PTO_API PTO_MUST_CHECK int pto_graph_call(struct pto_graph *graph, struct pto_context *context,
                                          const struct pto_call *call);

/* ---- limits ---- */

/* What an operand of an operation may be: what the builder refuses by. */
struct pto_graph_limit {
  const char *name; /* of the operand: "input" */
  uint32_t dtypes;  /* set of PTO_DTYPE_BIT */
  uint32_t min_rank, max_rank;
  bool is_optional, is_list; /* it may be absent; there are one or more of it */
};
/* Operations by index, 0 ≤ index < count: "conv2d", as the specification spells them; then those from outside
 * (pto/operation.h).  Static strings. */
PTO_API uint32_t pto_graph_operation_count(void);
PTO_API const char *pto_graph_operation_name(uint32_t index);
/* The operands of an operation on a context's device (NULL: on any), the first `capacity` of them to `limits`.
 * How many there are; 0 where no operation has that name. */
PTO_API uint32_t pto_graph_operation_limits(struct pto_context *context, const char *operation,
                                            struct pto_graph_limit *limits, uint32_t capacity);

/* ---- files ----
 * Graphs as webnn-graph-json, version 1 and 2, or its text form (docs/graph.md).  Saved as text are files whose names
 * end in .webnn; read as text are these and those that begin with webnn_graph.  Data of constants are in the file, or
 * in one beside it: a safetensors file, or a weights manifest and its blob. */

/* Where save puts the data of constants.  Those of one value alone, and of 4 bits in safetensors, stay in the file. */
enum pto_graph_weights_form {
  PTO_GRAPH_WEIGHTS_DEFAULT = 0, /* as INLINE where they are up to 64 KiB in all, else as SAFETENSORS */
  PTO_GRAPH_WEIGHTS_INLINE,
  PTO_GRAPH_WEIGHTS_SAFETENSORS,
  PTO_GRAPH_WEIGHTS_MANIFEST
};

/* Zeroed fields mean the default in brackets.  Start with `struct pto_graph_file_options o = {.size = sizeof o};`. */
struct pto_graph_file_options {
  size_t size;
  uint32_t weights;          /* of save: enum pto_graph_weights_form */
  const char *weights_path;  /* safetensors file or blob [beside the graph: STEM.safetensors, STEM.weights; when reading
                                also model.safetensors, model.weights] */
  const char *manifest_path; /* [STEM.manifest.json; when reading also manifest.json] */
};

/* Reads the graph at `path` as the calls that it holds to a builder of `context` (may be NULL), so that what a builder
 * refuses is refused here; so are names that are unknown or used twice, use before production, circles, results that
 * nothing uses, constants of another length.  `options` may be NULL.  PTO_OK; PTO_EINVAL for what the file says,
 * PTO_ESYSTEM where it cannot be opened or read, PTO_ENOTSUP, PTO_ENOMEM; the reason, with file and place, goes to
 * `sentence` (sentence_size bytes, may be NULL), and *graph_out is untouched. */
PTO_API PTO_MUST_CHECK int pto_graph_load(struct pto_context *context, const char *path,
                                          const struct pto_graph_file_options *options, struct pto_graph **graph_out,
                                          char *sentence, size_t sentence_size);
/* Writes the graph at `path`, in one form alone: the same graph gives the same bytes, and loading gives the same graph.
 * `options` may be NULL.  PTO_OK; PTO_ENOTSUP for a constant tensor of a context, or more inline data than are read
 * again; PTO_ESYSTEM, PTO_ENOMEM.  Files that could not be written to their end are removed. */
PTO_API PTO_MUST_CHECK int pto_graph_save(const struct pto_graph *graph, const char *path,
                                          const struct pto_graph_file_options *options, char *sentence,
                                          size_t sentence_size);
/* Writes the graph for Graphviz: inputs, constants, intermediates and outputs told apart.  PTO_OK, PTO_ESYSTEM,
 * PTO_ENOMEM. */
PTO_API PTO_MUST_CHECK int pto_graph_save_dot(const struct pto_graph *graph, const char *path, char *sentence,
                                              size_t sentence_size);

#ifdef __cplusplus
}
#endif
#endif
