/* SPDX-License-Identifier: MIT */
/*
 * The manifest of an adopted program: an orchestration in the existing runtime's C++ with its kernels and arguments,
 * as a JSON file (docs/schemas/pto-adopted.json), so that it runs without the Python that it was written in.
 *
 * Owns the document until fini; strings are the document's.  Paths in it count from the folder of the file; those of
 * a pto_adopted_… are as they were given, and pto_adopted_path completes one.
 *
 * Always true after a successful read: there is a source and an entry, kernels have distinct ids for one kind of core,
 * arguments have distinct names, their sizes fit 64 bits, scalars come after all tensors as the runtime wants them.
 * Whether files exist and compile is found out by who uses them.  Files are untrusted.
 *
 * One thread.  To add a key: a field, a line in read_… and one in the schema.
 */
#ifndef PTO_CHECK_ADOPT_MANIFEST_H
#define PTO_CHECK_ADOPT_MANIFEST_H

#include <jansson.h>

#include <pto/tensor.h>
#include <runtime/base/error.h>

#define PTO_ADOPTED_FORMAT "pto-adopted"
#define PTO_ADOPTED_FORMAT_VERSION 1u
#define PTO_ADOPTED_MOST_KERNELS 1024u
#define PTO_ADOPTED_MOST_TENSORS 256u /* of an orchestration, as the existing runtime has it */
#define PTO_ADOPTED_MOST_SCALARS 128u
#define PTO_ADOPTED_MOST_INCLUDES 64u
#define PTO_ADOPTED_NOTHING "nothing" /* a substitute that takes its time alone */
#define PTO_ADOPTED_MOST_DIMS 5u      /* of the existing runtime's tensors */

/* Who says whether outputs are right. */
enum pto_adopted_judge {
  PTO_ADOPTED_BY_NONE = 0,
  PTO_ADOPTED_BY_GOLDEN, /* the files that the manifest names */
  PTO_ADOPTED_BY_TEST    /* its own comparison alone, which runs in Python */
};

/* Two graph modes of the existing runtime. */
enum pto_adopted_mode { PTO_ADOPTED_TRB = 1 /* tensormap_and_ringbuffer */, PTO_ADOPTED_HBG /* host_build_graph */ };

struct pto_adopted_source {
  const char *path;
  const char *includes[PTO_ADOPTED_MOST_INCLUDES]; /* folders */
  uint32_t include_count;
};

struct pto_adopted_kernel {
  uint32_t func_id;
  uint32_t core; /* PTO_AIC or PTO_AIV */
  const char *name;
  const char
      *substitute; /* what runs instead: a kernel of ours, or PTO_ADOPTED_NOTHING; NULL: none, the source is built */
  struct pto_adopted_source source;
};

struct pto_adopted_tensor {
  const char *name;
  uint32_t role;          /* enum pto_array_role of pto/program.h: input, output or both */
  uint32_t dtype;         /* enum pto_dtype: how the bytes are stored here */
  const char *dtype_name; /* as the manifest has it: "fp4e2m1" is stored as PTO_UINT8 */
  uint32_t ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t size_bytes;
  const char *bytes_path;  /* its bytes before the run; NULL: zeros */
  const char *golden_path; /* after it; NULL: none */
};

struct pto_adopted_scalar {
  const char *name;
  uint64_t bits;
  bool is_rank; /* "rank": the number of the rank that runs it, 0 on one chip */
};

struct pto_adopted {
  json_t *root;
  const char *path;  /* of the file */
  const char *name;  /* "TestVector/Case1" */
  const char *scene; /* where it comes from, for people; NULL: it says nothing */
  const char *entry;
  const char *architecture; /* "a2a3" or "a5" */
  uint32_t mode;            /* enum pto_adopted_mode */
  uint32_t judge;           /* enum pto_adopted_judge */
  struct pto_adopted_source orchestration;
  struct pto_adopted_kernel *kernels;
  struct pto_adopted_tensor *tensors;
  struct pto_adopted_scalar *scalars;
  uint32_t kernel_count, tensor_count, scalar_count;
  double rtol, atol;
  const char *chip;                                            /* NULL: that of the architecture */
  uint64_t window, heap_bytes, list_chunks, clusters, workers; /* 0: as without a manifest */
};

/* The chip that it runs on unless another is asked for. */
const char *pto_adopted_chip(const struct pto_adopted *adopted);
/* Whether a file names the format of manifests: for who reads JSON files of several kinds. */
bool pto_adopted_is_file(const char *path);
/* PTO_OK; else the sentence, which names file and place, and a zeroed manifest.  `path` is borrowed until fini. */
PTO_MUST_CHECK int pto_adopted_read(const char *path, struct pto_adopted *adopted, struct pto_error *error);
/* The same of bytes that are called `path`. */
PTO_MUST_CHECK int pto_adopted_read_memory(const char *path, const void *bytes, size_t size,
                                           struct pto_adopted *adopted, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_adopted_fini(struct pto_adopted *adopted);

/* A path of the manifest as seen from the working folder; false where it is too long. */
PTO_MUST_CHECK bool pto_adopted_path(const struct pto_adopted *adopted, const char *path, char *whole, size_t size);

#endif
