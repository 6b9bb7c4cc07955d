/* SPDX-License-Identifier: MIT */
/*
 * What the two forms of graph files share when they are written: graph/file/save.c chooses where constants go and
 * writes JSON, graph/file/save_text.c writes text.  Values are the same in both: graph/file/save_values.c.
 *
 * Owns, while a file is written, the writer, names and what constants become.
 *
 * Always true: forms[v] is that of constant v.
 *
 * One thread.
 */
#ifndef PTO_GRAPH_FILE_SAVE_H
#define PTO_GRAPH_FILE_SAVE_H

#include <limits.h>

#include <formats/json_writer.h>
#include <graph/build/op_options.h>
#include <graph/build/operand_graph.h>
#include <graph/file/load.h>

#define PTO_GRAPH_FILE_VERSION 2u

enum pto_graph_constant_form { PTO_FORM_NONE, PTO_FORM_FILLED, PTO_FORM_INLINE, PTO_FORM_REFERRED };

struct pto_graph_saver {
  struct pto_json_writer w;
  const struct pto_graph *graph;
  const char *path;
  struct pto_graph_names *names;
  unsigned char *forms;                    /* of constants, by value: enum pto_graph_constant_form */
  struct pto_safetensors_tensor *referred; /* those that are in a file of their own */
  uint64_t referred_count;
  json_t *ids;
  bool is_manifest, is_text;
  const char *weights_path, *manifest_path;
  char paths[2][PATH_MAX];
};

/* Whether all elements are one value, which reads back bit by bit. */
bool pto_graph_save_is_filled(const struct pto_graph_value *value);
/* The one value that all elements of constant `index` are. */
void pto_graph_save_filled(struct pto_graph_saver *s, uint32_t index);
/* Its bytes, a list. */
void pto_graph_save_bytes(struct pto_graph_saver *s, uint32_t index);
/* Whether option `value` was given: what is not is the default also when it is read. */
bool pto_graph_save_is_given(const struct pto_op_attribute *attribute, const void *value);
/* Option `attribute` (an index) of a node. */
void pto_graph_save_option(struct pto_graph_saver *s, const struct pto_graph_node *node, uint32_t attribute);
/* A shape, with the names of sizes that are open. */
void pto_graph_save_shape(struct pto_graph_saver *s, uint32_t value);
/* The name of a file that is in the folder of the graph's; NULL: it is in another. */
const char *pto_graph_save_name_beside(const struct pto_graph_saver *s, const char *path);

/* The document as text. */
void pto_graph_save_text(struct pto_graph_saver *s);

#endif
