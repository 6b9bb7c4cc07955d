/* SPDX-License-Identifier: MIT */
/*
 * What a rank of a world told others of it, and was told: a record a call of pto/remote.h that left the core or waited,
 * a communicator's making, and a task of a group.
 *
 * Each rank's trace has its own log, written on its control thread where segments are recorded.  Times are the trace's,
 * ranks and communicators the world's; so records of two ranks belong together by the number of a message and by what a
 * communicator is.
 *
 * Always true: a PUT, a GET, a WAIT, and a MAKE that waited, stand behind their segment, which is the last of the core,
 * or of the orchestrator, before `segment`.  What did not wait has no WAIT.
 */
#ifndef PTO_TRACE_REMOTE_H
#define PTO_TRACE_REMOTE_H

#include <runtime/trace/trace.h>

/* X(id, name). */
#define PTO_REMOTE_LIST(X)                                                                                             \
  X(PUT, "put")       /* until it has landed */                                                                        \
  X(GET, "get")       /* until the bytes are here */                                                                   \
  X(NOTIFY, "notify") /* until it arrives; the core goes on at `begin` */                                              \
  X(WAIT, "wait")     /* for a signal, until a message of `peer` let it go on */                                       \
  X(MAKE, "make")     /* pto_comm_create, until the message of `peer`, the last that came */                           \
  X(GROUP, "group")   /* a group's task is submitted */
enum pto_remote_kind {
#define X(id, name) PTO_REMOTE_##id,
  PTO_REMOTE_LIST(X)
#undef X
      PTO_REMOTE_KINDS
};

struct pto_trace_remote {
  uint64_t begin, end;
  uint64_t comm;     /* its uid, the same on all of its ranks */
  uint64_t bytes;    /* PUT, GET: moved.  MAKE: of the window */
  uint64_t sequence; /* NOTIFY: the message's.  WAIT: of the message that let it go on.  GROUP: how many of the
                      * communicator came before */
  uint64_t segment;  /* how many segments stood before this record */
  uint32_t task;     /* low 32 bits of the number; MAKE: PTO_SEGMENT_NO_TASK */
  uint32_t peer;     /* rank.  MAKE: its own where it did not wait.  GROUP: how many ranks */
  uint32_t signal;   /* NOTIFY, WAIT */
  int32_t value;
  uint16_t core;
  uint16_t kind; /* enum pto_remote_kind */
};

#endif
