/* SPDX-License-Identifier: MIT */
/*
 * Weights manifests: where in a blob of bytes the tensors are that a graph file names.
 *
 * Owns the document and the list of tensors until fini; names point into the document, data into the caller's blob.
 *
 * Format (webnn-graph 0.4, src/weights.rs and src/weights_io.rs): a JSON object with "format" wg-weights-manifest,
 * "version" 1, "endianness" little and "tensors", name → {"dataType", "shape", "byteOffset", "byteLength", "layout"
 * (row-major, may be missing)}.  Offsets count from the blob's first byte, its header included where it has one: "WGWT"
 * and the version 1 as a uint32, little-endian.
 *
 * Always true after a successful read: names differ; every tensor lies within the blob and overlaps no other;
 * size_bytes is what dtype and shape ask for; of 4-bit types that is two elements a byte, the first in the low bits, or
 * one a byte: both are in use.  Files are untrusted: a refusal names file and place and says what was found.
 *
 * Threads: any, each with its own arguments.
 */
#ifndef PTO_GRAPH_FILE_MANIFEST_H
#define PTO_GRAPH_FILE_MANIFEST_H

#include <formats/safetensors.h>

/* Larger manifests are refused.  A tensor takes about 150 bytes. */
#define PTO_GRAPH_MANIFEST_MAX_BYTES (UINT64_C(16) << 20)

struct pto_graph_manifest {
  struct pto_safetensors_tensor *tensors; /* dtype_name as graph files spell it */
  uint64_t tensor_count;
  json_t *document;
};

/* Reads the manifest at `path` of a blob that the caller keeps until fini.  PTO_OK, PTO_EINVAL, PTO_ESYSTEM or
 * PTO_ENOMEM; nothing is left behind then. */
PTO_MUST_CHECK int pto_graph_manifest_init(struct pto_graph_manifest *manifest, const char *path, const void *blob,
                                           uint64_t blob_bytes, struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_graph_manifest_fini(struct pto_graph_manifest *manifest);

/* Writes the tensors, in their order, to a blob with a header at `blob_path` and the manifest of it at `path`.  Tensors
 * are of graph dtypes.  PTO_OK or PTO_ESYSTEM; files that could not be written to their end are removed. */
PTO_MUST_CHECK int pto_graph_manifest_write(const char *path, const char *blob_path,
                                            const struct pto_safetensors_tensor *tensors, uint64_t count,
                                            struct pto_error *error);

/* Bytes of a dense tensor, two 4-bit elements a byte; false where they are more than PTO_GRAPH_MAX_TENSOR_BYTES. */
bool pto_graph_tensor_bytes(uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t *bytes_out);
/* Whether so many bytes can be such a tensor in a file, and whether that is with a byte for each 4-bit element. */
bool pto_graph_tensor_holds(uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t bytes, bool *is_wide_out);

#endif
