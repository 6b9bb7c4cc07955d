/* SPDX-License-Identifier: MIT */
/*
 * The data of constants that a graph file refers to: a safetensors file, or a manifest and its blob, beside the graph.
 *
 * Owns the mapped files and lists until fini; tensors point into them.  Opened when the first reference is looked up: a
 * graph without references touches no other file.
 *
 * Where they are looked for, when neither the caller nor the graph says it: STEM.safetensors, STEM.weights with
 * STEM.manifest.json, model.safetensors, model.weights with manifest.json, in the folder of the graph file; STEM is the
 * file's name without its last extension.  Either manifest name goes with either blob.
 *
 * A reference that no tensor is called by is tried again with "." taken as "_" and "::" as "__" in the tensors' names,
 * as converters write references; two tensors of one such name are refused.
 *
 * One thread.
 */
#ifndef PTO_GRAPH_FILE_WEIGHTS_H
#define PTO_GRAPH_FILE_WEIGHTS_H

#include <limits.h>

#include <graph/file/manifest.h>

struct pto_graph_plain_name;

struct pto_graph_weights {
  const char *graph_path, *weights_path, *manifest_path; /* the latter two NULL: looked for */
  bool is_open;
  char path[PATH_MAX]; /* of what holds the data */
  const struct pto_safetensors_tensor *tensors;
  uint64_t tensor_count;
  struct pto_safetensors safetensors;
  struct pto_graph_manifest manifest;
  struct pto_mapped_file blob;
  struct pto_graph_plain_name *plain_names; /* sorted; NULL until needed */
};

/* Borrows the paths until fini; a zeroed struct with paths is one that nothing has been looked up in. */
void pto_graph_weights_fini(struct pto_graph_weights *weights);
/* The tensor that `reference` means, NULL with the sentence (and its status) in `error`. */
const struct pto_safetensors_tensor *pto_graph_weights_find(struct pto_graph_weights *weights, const char *reference,
                                                            struct pto_error *error);
/* "FOLDER/STEM" of `graph_path` followed by `ending`, or FOLDER/`ending` where `is_stem` is not set; false where that
 * is too long. */
bool pto_graph_weights_path(const char *graph_path, bool is_stem, const char *ending, char *path);

#endif
