/* SPDX-License-Identifier: MIT */
/*
 * What a timeline shows, event by event: the one source behind the formats of --trace.  A writer says how an event is
 * written, and nothing of what there is to see.
 *
 * Process 0 is the control CPU: a track of what the orchestration did, one of the host link, in virtual time one of
 * each scheduler and the critical path, and the counters.  Process c + 1 is cluster c, with a track a core. Where tasks
 * are of groups (nodes of a graph), these name the calls, and a further process has each from its first call to its
 * last. Flows go from the last instant of a producer's last call to the first instant of a consumer's first one.
 *
 * Owns each task's first and last call, and the event graph of virtual time with its critical path, from init to fini;
 * the trace is borrowed for as long.
 *
 * Always true: a track is told of before anything on it, and its process before it.  Slices of one lane of a track come
 * in order and do not overlap.  The flows of a consumer follow each other.  In virtual time the slices of orchestrator,
 * schedulers and cores are the intervals of report/run/intervals.h, so they add up to the accounts under the same
 * names; on a core those of a call are one slice, with the parts as its arguments.
 *
 * Threads: any, after the run.
 */
#ifndef PTO_REPORT_EXPORT_TRACE_EVENTS_H
#define PTO_REPORT_EXPORT_TRACE_EVENTS_H

#include <report/export/export.h>
#include <report/run/run_path.h>
#include <report/run/trace_view.h>

/* Kinds of events, a bit each. */
enum pto_event_kind {
  PTO_EVENT_PROCESS = 1, /* name, value: its rank among all */
  PTO_EVENT_TRACK = 2,   /* name, value: its rank in its process */
  PTO_EVENT_SLICE = 4,   /* category, name, begin, end, args; of a call its task */
  PTO_EVENT_VALUE = 8,   /* of a counter from `begin` on: id among the counters, name, unit, value */
  PTO_EVENT_GROUP = 16,  /* category, id, name, begin, end; groups overlap in time, so they are on no track */
  PTO_EVENT_FLOW = 32, /* category, id in the order of flows, name, from `track` at `begin` to `to` at `end`, producer,
                          consumer */
  PTO_EVENT_ALL = 63
};

/* Index: of a core on the chip; in process 0 less than PTO_EVENT_CONTROL_TRACKS.  Lane: in real time a core's calls may
 * have run on several threads at once; each thread's are a lane.  Lanes but the first are told of with the first call
 * on them. */
struct pto_event_track {
  uint32_t process, index, lane;
};
#define PTO_EVENT_CONTROL_TRACKS 64u

/* More of a slice.  text NULL: `value` counts; a time is in the trace's unit. */
struct pto_event_arg {
  const char *name, *text;
  uint64_t value;
  bool is_time;
};
#define PTO_EVENT_MAX_ARGS 24u

/* Fields that its kind does not name are zero.  All is borrowed for the call. */
struct pto_trace_event {
  enum pto_event_kind kind;
  struct pto_event_track track, to;
  const char *category, *name, *unit;
  uint64_t begin, end, value, id;
  const struct pto_event_arg *args; /* NULL: it is of a kind that has none */
  uint32_t arg_count;
  bool is_first_call, is_last_call; /* of `task`: where its flows end and begin */
  uint64_t task, producer, consumer;
};

struct pto_trace_events {
  const struct pto_trace *trace;
  const struct pto_export_info *info;
  struct pto_task_calls *calls; /* by task */
  struct pto_event_graph graph; /* of virtual time; else it has no nodes */
  struct pto_run_path path;
};

/* PTO_OK or PTO_ENOMEM.  fini takes zeroed ones. */
PTO_MUST_CHECK int pto_trace_events_init(struct pto_trace_events *events, const struct pto_trace *trace,
                                         const struct pto_export_info *info, struct pto_error *error);
void pto_trace_events_fini(struct pto_trace_events *events);
/* Calls `put` for each event of these kinds.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_trace_events_each(const struct pto_trace_events *events, uint32_t kinds,
                                         void (*put)(void *writer, const struct pto_trace_event *event), void *writer);

/* Writers, to an open file.  0, or the errno of what failed first. */
int pto_trace_write_json(const struct pto_trace_events *events, int fd);
int pto_trace_write_perfetto(const struct pto_trace_events *events, int fd);
/* This one goes through the tasks by itself: what it writes is no timeline. */
int pto_trace_write_chakra(const struct pto_trace_events *events, int fd);

#endif
