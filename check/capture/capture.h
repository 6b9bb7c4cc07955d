/* SPDX-License-Identifier: MIT */
/*
 * What was captured of a run of the existing runtime: tasks, what they touch, their dependencies, and when each part of
 * them ran on which core.  The file is of format "pto-capture", docs/schemas/pto-capture.json.
 *
 *   files of the existing runtime → import (check/capture/import.h) → settle → write
 *   NAME.json → read → settle → a program (check/capture/capture_program.h)
 *
 * Owns all arrays and names until fini.
 *
 * Always true after settle: tasks are in an order of submission, every edge goes forward, (from, to) is sorted and
 * there once; spans are sorted by (task, begin, core), those of one core do not overlap, dispatch ≤ begin ≤ end ≤
 * finish, and no task begins before one ends that it depends on; times count from the earliest one; indices are in
 * range.
 *
 * Files are untrusted.  One thread.  A kind of file to import is a line in import.c.
 */
#ifndef PTO_CHECK_CAPTURE_CAPTURE_H
#define PTO_CHECK_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <pto/runtime.h>
#include <runtime/base/error.h>

#define PTO_CAPTURE_FORMAT "pto-capture"
#define PTO_CAPTURE_VERSION 1u
#define PTO_CAPTURE_MAX_BYTES (UINT64_C(2) << 30) /* of a file */
#define PTO_CAPTURE_MAX_TASKS (UINT64_C(1) << 22)
#define PTO_CAPTURE_MAX_CORES 16384u
#define PTO_CAPTURE_MAX_BLOCKS 65536u
#define PTO_CAPTURE_MAX_BUFFER_BYTES (UINT64_C(1) << 40)
#define PTO_CAPTURE_MAX_NS (UINT64_C(1) << 53)
#define PTO_CAPTURE_MAX_FILES 16u
#define PTO_CAPTURE_NONE UINT64_MAX
#define PTO_CAPTURE_SOME_KERNEL INT64_MAX /* of which the number was not captured */

/* How what is missing was found: bits. */
enum pto_capture_source { PTO_CAPTURE_EXPLICIT = 1, PTO_CAPTURE_CREATOR = 2, PTO_CAPTURE_TENSORMAP = 4 };

enum pto_capture_kind {
  PTO_CAPTURE_KERNEL, /* runs on cores */
  PTO_CAPTURE_ALLOC,  /* gives buffers memory */
  PTO_CAPTURE_EMPTY   /* orders others: a task without kernels */
};

struct pto_capture_file {
  char *path; /* the last part of it, in NAME.json */
};

/* A place in a file, for sentences: "aicore_tasks[17]".  `array` is a constant. */
struct pto_capture_place {
  const char *array;
  uint32_t file;
  uint64_t record;
};

struct pto_capture_task {
  uint64_t id; /* ring << 32 | number in the ring */
  char *name;  /* of the kernel; NULL: not known */
  uint32_t kind;
  uint32_t block_count; /* 0: not known, until settle */
  int64_t kernels[3];   /* func_ids of aic, aiv0, aiv1; -1: none */
  bool has_kernels;     /* they are known; of no matter after settle */
  bool is_manual;       /* submitted in a manual scope */
  uint64_t first_access, access_count;
  uint64_t first_span, span_count; /* after settle */
  /* Of the orchestrator's call that submits it; 0, 0: not captured. */
  uint64_t submit_begin_ns, submit_end_ns;
  struct pto_capture_place place;
};

/* When the orchestrator submitted a task, by its id. */
struct pto_capture_submit {
  uint64_t task, begin_ns, end_ns;
};

struct pto_capture_access {
  uint64_t task, buffer; /* indices */
  uint32_t argument;     /* of the task, in its order */
  uint32_t mode, dtype, ndims;
  uint64_t offset; /* elements */
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
};

struct pto_capture_buffer {
  uint64_t size_bytes;
  uint64_t creator; /* index of the task that it got memory from; PTO_CAPTURE_NONE: memory of the caller */
};

struct pto_capture_edge {
  uint64_t from, to; /* ids; after settle indices */
  uint32_t sources;
  struct pto_capture_place place;
};

struct pto_capture_span {
  uint64_t task; /* id; after settle an index */
  uint32_t core;
  bool has_dispatch;
  uint64_t dispatch_ns, begin_ns, end_ns, finish_ns;
  struct pto_capture_place place;
};

struct pto_capture {
  struct pto_capture_file files[PTO_CAPTURE_MAX_FILES];
  uint32_t file_count;
  uint64_t clock_hz; /* of the counter that times were read from; 0: not known */
  bool has_edges;    /* dependencies were captured, perhaps none */
  uint8_t *cores;    /* PTO_AIC, PTO_AIV by core; 0: not known */
  struct pto_capture_task *tasks;
  struct pto_capture_access *accesses;
  struct pto_capture_buffer *buffers;
  struct pto_capture_edge *edges;
  struct pto_capture_span *spans;
  struct pto_capture_submit *submits; /* until settle, which gives them to the tasks that are there */
  size_t submit_count, submit_capacity;
  size_t core_count, task_count, access_count, buffer_count, edge_count, span_count;
  size_t core_capacity, task_capacity, access_capacity, buffer_capacity, edge_capacity, span_capacity;
};

/* A zeroed one is allowed. */
void pto_capture_fini(struct pto_capture *capture);

/* Whether the file says that it is a capture. */
bool pto_capture_is_file(const char *path);
/* PTO_OK; PTO_EINVAL, PTO_ESYSTEM, PTO_ENOMEM with a sentence.  fini is due in any case. */
PTO_MUST_CHECK int pto_capture_read(const char *path, struct pto_capture *capture, struct pto_error *error);
/* "-" is standard output. */
PTO_MUST_CHECK int pto_capture_write(const struct pto_capture *capture, const char *path, struct pto_error *error);

/* ---- for those who fill one; each gives NULL where memory is short ---- */

struct pto_capture_task *pto_capture_add_task(struct pto_capture *capture, uint64_t id,
                                              const struct pto_capture_place *place);
struct pto_capture_edge *pto_capture_add_edge(struct pto_capture *capture, uint64_t from, uint64_t to,
                                              const struct pto_capture_place *place);
struct pto_capture_span *pto_capture_add_span(struct pto_capture *capture, uint64_t task, uint32_t core,
                                              const struct pto_capture_place *place);
struct pto_capture_submit *pto_capture_add_submit(struct pto_capture *capture, uint64_t task);
/* The kind of a core, which is below PTO_CAPTURE_MAX_CORES; false where memory is short. */
bool pto_capture_set_core(struct pto_capture *capture, uint32_t core, uint32_t kind);
/* Brings all into the order that the head of this file tells, and checks it.  PTO_OK, PTO_ENOMEM, or PTO_EINVAL with a
 * sentence that names the record. */
PTO_MUST_CHECK int pto_capture_settle(struct pto_capture *capture, struct pto_error *error);

/* The shipped chip whose counter the times are from, "a5" or "a2a3"; NULL: not known. */
const char *pto_capture_chip(const struct pto_capture *capture);
/* Whether the chip of this name is one like it: "a2a3-2026-04" is like "a2a3".  True where none is known. */
bool pto_capture_suits(const struct pto_capture *capture, const char *chip);
/* "r2t7", as the existing runtime writes an id; returns `text`. */
const char *pto_capture_id_format(uint64_t id, char *text, size_t size);
/* The cores that a block of the task takes, by role. */
uint32_t pto_capture_role_count(const struct pto_capture_task *task);

#endif
