/* SPDX-License-Identifier: MIT */
/*
 * The oracle's runtime: the public calls of pto/runtime.h by the plainest means there are.  A task is executed at once,
 * where it is submitted: its blocks in block order, the cores of a MIX task in order of their lanes.  It is what "the
 * same bytes as executing the tasks one at a time in submission order" means, and shares no code with the runtime.
 *
 * Owns: the buffers of a run, each a malloc of its own (so an AddressSanitizer build finds a kernel that reads or
 * writes outside of one, or after its scope), freed when their scope ends.
 *
 * Always true: buffers[i].generation is 0 exactly where the entry is free; a live entry is in the list of one scope.
 *
 * Left out, because they cannot change a byte: dependencies, rings and their limits, time.  How the cores of a task
 * are executed, and wait for each other: oracle_cores.h.
 *
 * One thread.
 */
#ifndef PTO_ORACLE_RUNTIME_H
#define PTO_ORACLE_RUNTIME_H

#include <pto/pto.h>
#include <runtime/base/error.h>

#define PTO_ORACLE_SCOPES 65 /* the runtime's own (0), a run's (1), and what it nests */
#define PTO_ORACLE_AIV_BYTES (UINT64_C(192) << 10)
#define PTO_ORACLE_AIC_BYTES (UINT64_C(512) << 10)

struct oracle_buffer {
  uint64_t generation;
  unsigned char *memory; /* NULL: none yet */
  uint64_t size_bytes;
  bool is_external; /* memory is the caller's */
  int32_t version;
  uint32_t scope;
  uint32_t next, previous; /* in the scope's list, or next free; index + 1, 0 ends */
};

struct oracle_scope {
  uint32_t kind;
  uint32_t first_buffer; /* index + 1 */
};

struct pto_runtime {
  uint64_t serial; /* of this runtime, in the upper half of every generation */
  struct oracle_buffer *buffers;
  uint32_t buffer_count, buffer_capacity, first_free;
  uint64_t generations;
  struct oracle_scope scopes[PTO_ORACLE_SCOPES];
  uint32_t scope; /* innermost open */
  bool is_running, poison;
  uint32_t clusters;
  uint64_t run_number;
  uint64_t task_count;
  struct pto_recorded *recorded; /* what submits go to instead of being executed; NULL */
  struct pto_error run_error;    /* the first that ended the run */
  struct pto_error last_error;   /* of the last refused call */
  unsigned char *local;          /* one core's memories */
};

/* Clusters that runtimes made from now on claim to have; the oracle's command line sets it. */
extern uint32_t oracle_clusters;

/* The live buffer of a handle, or NULL. */
struct oracle_buffer *oracle_buffer_find(struct pto_runtime *rt, struct pto_buffer handle);
/* Gives a managed buffer memory, in the current scope.  PTO_OK or PTO_ENOMEM. */
int oracle_buffer_allocate(struct pto_runtime *rt, struct oracle_buffer *buffer);
/* Refuses a call (`last_error`), or ends the run (`run_error`) where the status is one that does. */
int oracle_refuse(struct pto_runtime *rt, int status, const char *format, ...) PTO_PRINTF(3, 4);
/* Keeps a submit of a recording. */
int oracle_recorded_keep(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                         uint32_t count, struct pto_task *task_out);
/* PTO_OK within a run that has not failed; else what every call then answers. */
int oracle_enter(struct pto_runtime *rt);

#endif
