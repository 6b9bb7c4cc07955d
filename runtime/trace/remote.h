/* SPDX-License-Identifier: MIT */
/*
 * What a rank of a world did to others, and heard of them: the calls of pto/remote.h, a communicator's making, and a
 * task of a group.  Who judges ranks reads it (check/ranks), and who tells where their time went.
 *
 * Each rank's trace has its own log, written on its control thread where segments are recorded.  Times are the trace's,
 * ranks and communicators the world's; so records of two ranks belong together by the number of a message and by what a
 * communicator is.
 *
 * Always true: records stand in the order in which things happened.  A put or a get has a READ and a WRITE where it
 * was called, and its own record where it was over.  A PUT, a GET, a WAIT, and a MAKE that
 * waited, stand behind their segment, which is the last of the core, or of the orchestrator, before `segment`; a WAIT
 * may have two: the peer was late, the signal on its way.  A
 * signal comes to its rank at the end of its NOTIFY, before that rank does anything else of that picosecond.
 */
#ifndef PTO_TRACE_REMOTE_H
#define PTO_TRACE_REMOTE_H

#include <runtime/trace/trace.h>

enum pto_remote_kind {
  PTO_REMOTE_READ,   /* bytes of the peer's window, or of the own one; comm 0: of other memory of the rank */
  PTO_REMOTE_WRITE,  /* the same */
  PTO_REMOTE_PUT,    /* until it has landed */
  PTO_REMOTE_GET,    /* until the bytes are here */
  PTO_REMOTE_NOTIFY, /* until it arrives; the core goes on at `begin` */
  PTO_REMOTE_WAIT,   /* for a signal, until a message of `peer` let it go on */
  PTO_REMOTE_FOUND,  /* a wait for a signal that was so already */
  PTO_REMOTE_TEST,   /* of a signal, whether it is so */
  PTO_REMOTE_MAKE,   /* pto_comm_create, until the message of `peer`, the last that came */
  PTO_REMOTE_GROUP,  /* a group's task is submitted */
  PTO_REMOTE_KINDS
};

struct pto_trace_remote {
  uint64_t begin, end;
  uint64_t comm;     /* its uid, the same on all of its ranks */
  uint64_t bytes;    /* PUT, GET: moved.  MAKE: of the window */
  uint64_t sequence; /* NOTIFY: the message's.  WAIT: of the message that let it go on.  READ, WRITE: place in
                      * trace->remote_regions.  MAKE: tasks submitted before.  GROUP: how many of the communicator came
                      * before */
  uint64_t segment;  /* how many segments stood before this record */
  uint32_t task;     /* low 32 bits of the number; MAKE: PTO_SEGMENT_NO_TASK */
  uint32_t peer;     /* rank.  WAIT: who notified.  FOUND, TEST, and a MAKE that did not wait: its own.  GROUP: how many
                      * ranks */
  uint32_t signal;   /* NOTIFY, WAIT, FOUND, TEST.  GROUP: a collective's root, by place */
  int32_t value;     /* of the notify, that was waited or tested for.  GROUP: a collective's enum pto_reduction */
  uint16_t core;
  uint8_t kind;  /* enum pto_remote_kind */
  bool is_set;   /* NOTIFY: not added */
  bool is_equal; /* WAIT, FOUND, TEST: PTO_IF_EQ */
  bool holds;    /* TEST: it was so */
};

/* For a signal, so that it comes after notifies: a test that holds does as a wait would. */
static inline bool pto_remote_has_waited(const struct pto_trace_remote *record) {
  return record->kind == PTO_REMOTE_WAIT || record->kind == PTO_REMOTE_FOUND ||
         (record->kind == PTO_REMOTE_TEST && record->holds);
}

#endif
