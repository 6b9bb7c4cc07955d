/* SPDX-License-Identifier: MIT */
/*
 * Static variables of the files that kernels come from: what a call changes there outlives it.
 *
 * Around a unit: begin keeps a copy of the data segments of its kernels' files, end_first compares after the run that
 * counts, set puts the copy back before each further run, and restore leaves them as the run that counts did.
 *
 * Owns the copies.  Not looked at: files of which this library itself is a part (the runtime changes its own data),
 * files with more than PTO_STATICS_MAX_BYTES of data, thread-local variables, and what else a library keeps for a
 * kernel.  One thread.
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
};

struct pto_observe_statics {
  struct pto_statics_segment segments[PTO_STATICS_MAX_SEGMENTS];
  uint32_t count;
  bool is_changed; /* by the unit's first run */
  /* The file whose segments these are: the kernel that it was looked up for. */
  const void *function;
};

/* The file that has `function`.  Kept until another one is asked for. */
void pto_observe_statics_begin(struct pto_observe_statics *statics, const void *function);
/* Whether the first run has changed any; then the first such bytes, one after another. */
bool pto_observe_statics_end_first(struct pto_observe_statics *statics, const char **data, uint64_t *size_bytes);
void pto_observe_statics_set(const struct pto_observe_statics *statics);
void pto_observe_statics_restore(const struct pto_observe_statics *statics);
void pto_observe_statics_fini(struct pto_observe_statics *statics);

#endif
