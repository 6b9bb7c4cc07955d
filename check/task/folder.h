/* SPDX-License-Identifier: MIT */
/*
 * One task in a folder: what it takes to run it again alone, and what it left.
 *
 *   task.json             kernels, launch, parameters, scalars, chip, and how the program was run
 *   memoryM.before.bin    the bytes of memory M before the task: whole buffers, so that strides and views are as they
 *   memoryM.after.bin     were; and after it, where it changed any
 *   paramP.before.npy     the elements of parameter P as its view has them, for people
 *   paramP.after.npy
 *
 * Buffers whose ranges meet are one memory.  task.json names no file and no path but the program, as it was given.
 *
 * Owns, of a pto_task_folder, its document and the bytes that were read, until fini.  Always true after a successful
 * read: counts are within what a task may have; memory M has as many bytes as its files; kernels have names.  Whether
 * views lie inside their memory is found out when tensors are made of them.  Files are untrusted.
 *
 * One thread.  To add a key: a field, a line where check/task/capture.c fills it, one in write_… and one in read_…
 * here.
 */
#ifndef PTO_CHECK_TASK_FOLDER_H
#define PTO_CHECK_TASK_FOLDER_H

#include <jansson.h>

#include <pto/runtime.h>
#include <runtime/base/error.h>

#define PTO_TASK_FORMAT "pto-task"
#define PTO_TASK_FORMAT_VERSION 1u
#define PTO_TASK_PAGE_BYTES 4096u
#define PTO_TASK_NO_MEMORY UINT32_MAX

/* A kernel: which one of its name in the program's shared object, or a general one. */
struct pto_task_kernel {
  const char *name; /* NULL: the role has none */
  bool is_general;
  uint32_t nth;
};

struct pto_task_memory {
  uint64_t size_bytes;
  uint64_t page_offset;          /* of its first byte in a page, so that alignment is as it was */
  bool has_after;                /* the task changed bytes of it */
  unsigned char *before, *after; /* read: after = before where has_after is not set */
};

struct pto_task_param {
  uint32_t mode;
  uint32_t scalar_type; /* of a PTO_SCALAR; else the tensor: */
  union pto_scalar scalar;
  uint32_t dtype, ndims, memory; /* memory: PTO_TASK_NO_MEMORY of a scalar or an empty tensor */
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
  uint64_t offset_bytes; /* of the first element in the memory */
};

struct pto_task_folder {
  json_t *root; /* read: what the strings are of */
  const char *program, *case_name, *engine, *chip, *deps;
  uint64_t seed, number;
  const char *const *settings; /* written alone */
  uint32_t setting_count;
  uint64_t aiv_local_bytes, aic_local_bytes;
  uint32_t block_count;
  bool is_sync_start;
  bool has_ended; /* what `after` says is what the task left */
  struct pto_task_kernel kernels[3];
  uint32_t param_count, memory_count;
  struct pto_task_param params[PTO_MAX_PARAMS];
  struct pto_task_memory memories[PTO_MAX_TENSORS];
};

/* Writes task.json; the folder is there.  PTO_OK, PTO_ESYSTEM or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_task_folder_write(const struct pto_task_folder *folder, const char *path,
                                         struct pto_error *error);
/* Writes one memory's bytes, and the parameters' in it as npy. `when` is "before" or "after". */
PTO_MUST_CHECK int pto_task_folder_write_memory(const struct pto_task_folder *folder, const char *path, uint32_t memory,
                                                const char *when, const unsigned char *bytes, struct pto_error *error);

/* Reads all of it.  PTO_OK, PTO_EINVAL (not there, or not such a folder), PTO_ESYSTEM, PTO_ENOMEM; fini is due only
 * after PTO_OK. */
PTO_MUST_CHECK int pto_task_folder_read(const char *path, struct pto_task_folder *folder, struct pto_error *error);
void pto_task_folder_fini(struct pto_task_folder *folder);

/* Calls `visit` for each element of a tensor parameter, in row-major order: its number, and where its unit begins in
 * the memory (4-bit types: each byte once). */
void pto_task_param_each(const struct pto_task_param *param,
                         void (*visit)(void *context, uint64_t index, uint64_t offset_bytes), void *context);
/* Units that it visits. */
uint64_t pto_task_param_units(const struct pto_task_param *param);

#endif
