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
 * Of a world each rank is a part with such processes of its own, in which only cores with calls are told of; the puts,
 * gets, waits and signals of its kernels are slices within their calls, and a flow goes from a notify to the end of the
 * wait that it ended.  A further part has what is of all ranks: the critical path over them, and a track for
 * each link, with what it carried.
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
  uint32_t process, index, lane; /* of links: what they carry at the same time has lanes of its own */
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
  uint32_t flows_out; /* of a notify: so many flows begin there, pto_event_signal(message, 0) and further */
  bool has_flow_in;   /* of a wait's end: `message` is its flow */
  uint64_t message;
};

/* The flow of a message (pto_export_message) to the i-th of the waits that it ended. */
static inline uint64_t pto_event_signal(uint64_t message, uint64_t i) { return message | (i & 127) << 46; }

/* What a link carried. */
struct pto_trace_link_flow {
  uint32_t link, lane; /* no two of a lane at the same time */
  uint32_t source, target, task;
  uint64_t begin, end, bytes;
};
/* What is of all ranks. */
struct pto_trace_between {
  const struct pto_trace_link_flow *flows; /* by link, lane and begin */
  size_t flow_count;
  const char *(*link_name)(const void *context, uint32_t link, char *text, size_t size);
  const void *context;
  const struct pto_rank_step *steps; /* of the critical path over ranks */
  size_t step_count;
};

struct pto_trace_events {
  const struct pto_trace *trace; /* NULL: of all ranks, which `between` has */
  const struct pto_trace_between *between;
  const struct pto_export_info *info;
  struct pto_task_calls *calls; /* by task */
  bool *has_calls;              /* by core, of a rank; NULL: of a chip that is alone */
  struct pto_event_graph graph; /* of virtual time; else it has no nodes */
  struct pto_run_path path;
};

/* PTO_OK or PTO_ENOMEM.  fini of a zeroed one is allowed. */
PTO_MUST_CHECK int pto_trace_events_init(struct pto_trace_events *events, const struct pto_trace *trace,
                                         const struct pto_export_info *info, struct pto_error *error);
void pto_trace_events_fini(struct pto_trace_events *events);
/* Calls `put` for each event of these kinds.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_trace_events_each(const struct pto_trace_events *events, uint32_t kinds,
                                         void (*put)(void *writer, const struct pto_trace_event *event), void *writer);

/* A rank's part of a file, and what joins parts. */
struct pto_trace_part {
  const char *bytes;
  size_t size;
  uint64_t tasks, dropped;
};

/* A format.  Writers, to an open file: 0, or the errno of what failed first. */
struct pto_trace_format {
  const char *ending; /* of the file's name, in front of ".gz" */
  int (*write)(const struct pto_trace_events *events, int fd);
  /* NULL: each rank has a file of its own, which `write` writes. */
  int (*write_part)(const struct pto_trace_events *events, int fd);
  int (*join)(const struct pto_export_info *info, const struct pto_trace_part *parts, size_t count, int fd);
};
/* By the ending of a file's name; JSON has any other too. */
const struct pto_trace_format *pto_trace_format_of(const char *path);

extern const struct pto_trace_format pto_trace_json, pto_trace_perfetto;
/* This one goes through the tasks by itself: what it writes is no timeline. */
extern const struct pto_trace_format pto_trace_chakra;

#endif
