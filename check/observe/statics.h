/* SPDX-License-Identifier: MIT */
/*
 * Static variables of the file that a kernel comes from: what a call changes there outlives it.
 *
 * Around a unit: begin keeps a copy of the file's data segments, end_first compares after the run that counts, set puts
 * the copy back before each further run, and restore leaves them as the run that counts did.
 *
 * Thread-local variables are not shared by cores, so they are no mistake unless a call depends on what others left
 * there (check/observe/thread.c).  They are compared alone, and never put back: a run may have freed what an old
 * pointer points to.
 *
 * What is built once, by call_once, pthread_once or a guarded static of C++, is no mistake either: cores that come at
 * the same time wait for it.  So of a file that calls one of these, bytes are told when they change for the second
 * time.
 *
 * Owns the copies.  Not looked at: memory that the run has registered, which is that of tensors; files of which this
 * library itself is a part (the runtime changes its own data; kernels that were adopted are called from there, and keep
 * local memory of a core in thread-local variables); files with more than PTO_STATICS_MAX_BYTES of data; and what else
 * a library keeps for a kernel.  One thread.
 */
#ifndef PTO_CHECK_OBSERVE_STATICS_H
#define PTO_CHECK_OBSERVE_STATICS_H

#include <runtime/base/base.h>

#define PTO_STATICS_MAX_BYTES (UINT64_C(1) << 20)
#define PTO_STATICS_MAX_SEGMENTS 8u

struct pto_statics_segment {
  char *data; /* in place */
  uint64_t size_bytes;
  char *before, *after; /* the unit's beginning, and its first run's end */
  char *has_changed;    /* by byte, in a file that builds once: it has before */
  bool is_thread;       /* variables of this thread; then what a new thread has there, and zeros behind it */
  const char *image;
  uint64_t image_bytes;
};

/* A part of a segment that is no memory of tensors. */
struct pto_statics_piece {
  const struct pto_statics_segment *segment;
  uint64_t lo, hi; /* in it */
};

struct pto_observe_statics {
  struct pto_statics_segment segments[PTO_STATICS_MAX_SEGMENTS];
  uint32_t count;
  struct pto_statics_piece *pieces;
  size_t piece_count, piece_capacity;
  bool has_thread;                    /* the file has thread-local variables */
  bool builds_once;                   /* it calls what builds something once */
  bool was_new;                       /* the unit began with those of a new thread */
  bool is_changed, is_thread_changed; /* by the unit's first run */
  uintptr_t lo, hi;                   /* where the file lies that these are of */
  uint64_t external_list; /* the caller's: what was cut out of the pieces is of that list of registered memory, */
  uint32_t cut_count;     /* the first ones of it */
};

/* The file that has `function`, with pieces as they are until another file or list is asked for; then they are whole.
 */
void pto_observe_statics_find(struct pto_observe_statics *statics, const void *function, uint64_t external_list);
/* What of it lies in [begin, end) is cut out: between find and begin. */
void pto_observe_statics_cut(struct pto_observe_statics *statics, uint64_t begin, uint64_t end);
void pto_observe_statics_begin(struct pto_observe_statics *statics);
/* Whether the first run has changed any that are to be told; then the first such bytes, one after another.  Those of
 * this thread are in `is_thread_changed` alone. */
bool pto_observe_statics_end_first(struct pto_observe_statics *statics, const char **data, uint64_t *size_bytes);
void pto_observe_statics_set(const struct pto_observe_statics *statics);
void pto_observe_statics_restore(const struct pto_observe_statics *statics);
/* Thread-local variables as a new thread has them. */
void pto_observe_statics_renew(const struct pto_observe_statics *statics);
void pto_observe_statics_fini(struct pto_observe_statics *statics);

#endif
