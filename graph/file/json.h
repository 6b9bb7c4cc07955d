/* SPDX-License-Identifier: MIT */
/*
 * Graphs in files: webnn-graph-json read and written, with their weights, and pictures of them.
 *
 * The public calls (pto_graph_load, pto_graph_save, pto_graph_save_dot) are thin: they take options by size and copy
 * the sentence out.  What is here has the sentence in a pto_error.
 *
 * Format: that of the crate webnn-graph 0.4 and of rustnn; docs/graph.md has what is read and what is written.
 *
 * Owns nothing.  Always true: what load accepts, save writes in one form alone, so that saving twice gives the same
 * bytes; load(save(g)) is g.  Any thread, each with its own arguments.
 */
#ifndef PTO_GRAPH_FILE_JSON_H
#define PTO_GRAPH_FILE_JSON_H

#include <stdio.h>

#include <graph/build/operand_graph.h>
#include <runtime/base/error.h>

#define PTO_GRAPH_FORMAT "webnn-graph-json"
/* A file larger than this is refused: a number of "bytes" takes about 40 of memory while it is read. */
#define PTO_GRAPH_FILE_MAX_BYTES (UINT64_C(256) << 20)
#define PTO_GRAPH_FILE_MAX_NODES 1000000u

/* `options` is not NULL, and its size is not looked at. */
PTO_MUST_CHECK int pto_graph_json_load(struct pto_context *context, const char *path,
                                       const struct pto_graph_file_options *options, struct pto_graph **graph_out,
                                       struct pto_error *error);
PTO_MUST_CHECK int pto_graph_json_save(const struct pto_graph *graph, const char *path,
                                       const struct pto_graph_file_options *options, struct pto_error *error);
/* Graphviz: inputs, constants, intermediates and outputs told apart by shape and colour.  PTO_OK or PTO_ENOMEM; what
 * became of the stream is the caller's to ask. */
PTO_MUST_CHECK int pto_graph_write_dot(const struct pto_graph *graph, FILE *out);

/* A name for each value, unique in the graph: those that were given, made-up ones for the others. */
struct pto_graph_names;
PTO_MUST_CHECK int pto_graph_names_create(const struct pto_graph *graph, struct pto_graph_names **names_out);
void pto_graph_names_destroy(struct pto_graph_names *names);
const char *pto_graph_name_of(const struct pto_graph_names *names, uint32_t value);

#endif
