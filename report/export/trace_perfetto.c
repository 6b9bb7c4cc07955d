/* SPDX-License-Identifier: MIT */
/*
 * A timeline in Perfetto's own format (perfetto.dev/docs/reference/synthetic-track-event): a protobuf message Trace of
 * TracePackets, each a track's description or an event on it.  tests/cli/perfetto.proto has the fields in use.
 *
 * Times are whole nanoseconds, as the format has no finer ones: picoseconds are cut off, begins as ends, so that what
 * followed each other still does.  A slice is two packets, its begin and its end.  Names are told once, with the first
 * packet that has them, and are numbers after that.  Flows have to stand in the slices that they join: they are
 * collected before slices are written.
 *
 * Owns, for the length of a call, the names told so far, 12 bytes a task and 4 bytes a flow.
 */
#include <report/export/trace_events.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <formats/protobuf_writer.h>
#include <runtime/base/grow.h>

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum {
  PACKET_TIMESTAMP = 8,
  PACKET_SEQUENCE = 10,
  PACKET_TRACK_EVENT = 11,
  PACKET_INTERNED = 12,
  PACKET_FLAGS = 13,
  PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_INTERNED = 2 }; /* of PACKET_FLAGS */
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT = 5, TRACK_COUNTER = 8, TRACK_CHILDREN = 11, TRACK_RANK = 12 };
enum { CHILDREN_BY_RANK = 3 }; /* of TRACK_CHILDREN */
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum { UNIT_COUNT = 2, UNIT_BYTES = 3 }; /* of COUNTER_UNIT */
enum {
  EVENT_CATEGORY = 3,
  EVENT_ARG = 4,
  EVENT_TYPE = 9,
  EVENT_NAME = 10,
  EVENT_TRACK = 11,
  EVENT_VALUE = 30,
  EVENT_FLOW = 47,
  EVENT_LAST_FLOW = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 }; /* of EVENT_TYPE */
enum { ARG_NAME = 1, ARG_UINT = 3, ARG_DOUBLE = 5, ARG_TEXT = 6 };
enum { NAME_ID = 1, NAME_TEXT = 2 };
/* Of PACKET_INTERNED: each has names of its own. */
enum name_kind { NAMES_OF_CATEGORIES = 1, NAMES_OF_EVENTS = 2, NAMES_OF_ARGS = 3 };

/* Identities of tracks; 0 is the root.  The ones that most events have are small numbers, which take fewer bytes. */
#define CONTROL_UUID UINT64_C(1)
#define COUNTER_UUID (CONTROL_UUID + PTO_EVENT_CONTROL_TRACKS)
#define CORE_UUID UINT64_C(128)
#define LANE_UUID (UINT64_C(1) << 20) /* times the lane, to be added */
#define PROCESS_UUID (UINT64_C(1) << 32)
#define GROUP_UUID (UINT64_C(2) << 32)

#define RANK_UUID (UINT64_C(1) << 40)   /* times the number of the rank's part, and 1; to be added */
#define SIGNAL_FLOW (UINT64_C(1) << 62) /* to be added to the number of a message */
#define NO_FLOW UINT32_MAX

struct name {
  char *text;
  uint32_t told; /* a bit a kind */
};
struct names {
  struct name *items; /* the identity is the index + 1 */
  size_t count, capacity;
  uint32_t *slots; /* a hash table of identities; 0: free */
  size_t slot_count;
};

/* Of a task: those that end in its first call follow each other, those that begin in its last call are a list. */
struct task_flows {
  uint32_t first_in, in_count, last_out;
};

struct perfetto {
  struct pto_protobuf_writer out;
  const struct pto_trace_events *events;
  struct names names;
  struct task_flows *tasks;
  uint32_t *next_out; /* by flow: another from the same producer */
  size_t flow_count, flow_capacity;
  uint64_t told_counters; /* a bit each */
  uint64_t nanosecond;    /* in the trace's unit */
  uint64_t part;          /* 0; of a world's part its number, and 1: packets of a part are a sequence of their own */
  bool is_out_of_memory;
  struct {
    enum name_kind kind;
    uint32_t id;
  } new_names[2 + PTO_EVENT_MAX_ARGS]; /* of the open packet */
  uint32_t new_count;
};

/* ---- names ---- */

static uint64_t hash_of(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 32;
}

/* The slot where it is, or where it belongs; there is a free one. */
static uint32_t *slot_of(const struct names *names, const char *text) {
  size_t at = hash_of(text) & (names->slot_count - 1);
  while (names->slots[at] && strcmp(names->items[names->slots[at] - 1].text, text) != 0)
    at = (at + 1) & (names->slot_count - 1);
  return &names->slots[at];
}

static bool grow_slots(struct names *names) {
  const size_t slot_count = names->slot_count ? 2 * names->slot_count : 256;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots) return false;
  free(names->slots);
  names->slots = slots;
  names->slot_count = slot_count;
  for (size_t i = 0; i < names->count; i++) *slot_of(names, names->items[i].text) = (uint32_t)i + 1;
  return true;
}

/* The identity of a name, which the end of the packet tells where it is new; 0 where memory is short. */
static uint32_t id_of(struct perfetto *p, enum name_kind kind, const char *text) {
  struct names *names = &p->names;
  if (2 * names->count >= names->slot_count && !grow_slots(names)) goto no_memory;
  uint32_t *slot = slot_of(names, text);
  if (*slot == 0) {
    char *copy = strdup(text);
    struct name *fresh = copy ? pto_grow(&names->items, &names->count, &names->capacity, sizeof *fresh) : NULL;
    if (!fresh) {
      free(copy);
      goto no_memory;
    }
    fresh->text = copy;
    *slot = (uint32_t)names->count;
  }
  struct name *name = &names->items[*slot - 1];
  if (!(name->told >> kind & 1)) {
    name->told |= 1u << kind;
    p->new_names[p->new_count].kind = kind;
    p->new_names[p->new_count++].id = *slot;
  }
  return *slot;

no_memory:
  p->is_out_of_memory = true;
  return 0;
}

static void free_names(struct names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i].text);
  free(names->items);
  free(names->slots);
}

/* ---- packets ---- */

static uint64_t uuid_of(struct pto_event_track track) {
  return (track.process ? CORE_UUID : CONTROL_UUID) + track.index + LANE_UUID * track.lane;
}

/* Of a rank's process, or of the rank itself. */
static uint64_t rank_uuid(const struct perfetto *p, uint64_t uuid) { return RANK_UUID * p->part + uuid; }
static uint64_t sequence_of(const struct perfetto *p) { return p->part + 1; }

static void begin_event(struct perfetto *p, uint32_t type, uint64_t uuid, uint64_t time) {
  struct pto_protobuf_writer *w = &p->out;
  pto_protobuf_begin(w, TRACE_PACKET);
  pto_protobuf_put_u64(w, PACKET_TIMESTAMP, time / p->nanosecond);
  pto_protobuf_put_u64(w, PACKET_SEQUENCE, sequence_of(p));
  if (type == TYPE_BEGIN || type == TYPE_INSTANT) pto_protobuf_put_u64(w, PACKET_FLAGS, FLAG_NEEDS_INTERNED);
  pto_protobuf_begin(w, PACKET_TRACK_EVENT);
  pto_protobuf_put_u64(w, EVENT_TYPE, type);
  pto_protobuf_put_u64(w, EVENT_TRACK, rank_uuid(p, uuid));
}

static void end_event(struct perfetto *p) {
  struct pto_protobuf_writer *w = &p->out;
  pto_protobuf_end(w);
  if (p->new_count) pto_protobuf_begin(w, PACKET_INTERNED);
  for (uint32_t i = 0; i < p->new_count; i++) {
    pto_protobuf_begin(w, p->new_names[i].kind);
    pto_protobuf_put_u64(w, NAME_ID, p->new_names[i].id);
    pto_protobuf_put_text(w, NAME_TEXT, p->names.items[p->new_names[i].id - 1].text);
    pto_protobuf_end(w);
  }
  if (p->new_count) pto_protobuf_end(w);
  p->new_count = 0;
  pto_protobuf_end(w);
}

/* The caller adds what else there is and ends both messages. */
static void begin_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name) {
  struct pto_protobuf_writer *w = &p->out;
  pto_protobuf_begin(w, TRACE_PACKET);
  pto_protobuf_put_u64(w, PACKET_SEQUENCE, sequence_of(p));
  pto_protobuf_begin(w, PACKET_TRACK);
  pto_protobuf_put_u64(w, TRACK_UUID, rank_uuid(p, uuid));
  if (parent || p->part) pto_protobuf_put_u64(w, TRACK_PARENT, rank_uuid(p, parent));
  if (name) pto_protobuf_put_text(w, TRACK_NAME, name);
}

static void end_track(struct perfetto *p) {
  pto_protobuf_end(&p->out);
  pto_protobuf_end(&p->out);
}

static void put_arg(struct perfetto *p, const struct pto_event_arg *arg) {
  struct pto_protobuf_writer *w = &p->out;
  pto_protobuf_begin(w, EVENT_ARG);
  pto_protobuf_put_u64(w, ARG_NAME, id_of(p, NAMES_OF_ARGS, arg->name));
  if (arg->text)
    pto_protobuf_put_text(w, ARG_TEXT, arg->text);
  else if (arg->is_time)
    pto_protobuf_put_double(w, ARG_DOUBLE, (double)arg->value / (1000.0 * (double)p->nanosecond));
  else
    pto_protobuf_put_u64(w, ARG_UINT, arg->value);
  pto_protobuf_end(w);
}

/* ---- events ---- */

/* What the run was, as an instant at its begin. */
static void put_run(struct perfetto *p, uint64_t uuid) {
  const struct pto_export_info *info = p->events->info;
  const struct pto_event_arg args[] = {
      {.name = "program", .text = info->program},
      {.name = "engine", .text = info->engine},
      {.name = "chip", .text = info->chip},
      {.name = "time", .text = p->events->trace->is_virtual ? "virtual" : "real"},
      {.name = "tasks", .value = p->events->trace->tasks.count},
      {.name = "dropped_records", .value = pto_trace_dropped(p->events->trace)},
  };
  _Static_assert(PTO_ARRAY_LENGTH(args) <= PTO_EVENT_MAX_ARGS, "all may be new names");
  begin_event(p, TYPE_INSTANT, uuid, 0);
  pto_protobuf_put_u64(&p->out, EVENT_NAME, id_of(p, NAMES_OF_EVENTS, "run"));
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(args); i++) put_arg(p, &args[i]);
  end_event(p);
}

static void put_process(struct perfetto *p, const struct pto_trace_event *event) {
  const uint64_t uuid = PROCESS_UUID + event->track.process;
  begin_track(p, uuid, 0, event->name);
  pto_protobuf_put_u64(&p->out, TRACK_CHILDREN, CHILDREN_BY_RANK);
  pto_protobuf_put_u64(&p->out, TRACK_RANK, event->value);
  end_track(p);
  if (event->track.process == 0 && p->events->trace) put_run(p, uuid);
}

/* Lanes of one track have one name, and Perfetto draws them as one. */
static void put_track(struct perfetto *p, const struct pto_trace_event *event) {
  begin_track(p, uuid_of(event->track), PROCESS_UUID + event->track.process, event->name);
  pto_protobuf_put_u64(&p->out, TRACK_RANK, event->value);
  end_track(p);
}

static void put_flows(struct perfetto *p, const struct pto_trace_event *event) {
  const struct task_flows *flows = &p->tasks[event->task];
  if (event->is_last_call)
    for (uint32_t id = flows->last_out; id != NO_FLOW; id = p->next_out[id])
      pto_protobuf_put_fixed64(&p->out, EVENT_FLOW, rank_uuid(p, (uint64_t)id + 1));
  if (event->is_first_call)
    for (uint32_t i = 0; i < flows->in_count; i++)
      pto_protobuf_put_fixed64(&p->out, EVENT_LAST_FLOW, rank_uuid(p, (uint64_t)flows->first_in + i + 1));
}

static void put_slice(struct perfetto *p, const struct pto_trace_event *event, uint64_t uuid) {
  begin_event(p, TYPE_BEGIN, uuid, event->begin);
  pto_protobuf_put_u64(&p->out, EVENT_CATEGORY, id_of(p, NAMES_OF_CATEGORIES, event->category));
  pto_protobuf_put_u64(&p->out, EVENT_NAME, id_of(p, NAMES_OF_EVENTS, event->name));
  for (uint32_t i = 0; i < event->arg_count; i++) put_arg(p, &event->args[i]);
  if (event->is_first_call || event->is_last_call) put_flows(p, event);
  for (uint32_t i = 0; i < event->flows_out; i++)
    pto_protobuf_put_fixed64(&p->out, EVENT_FLOW, SIGNAL_FLOW + pto_event_signal(event->message, i));
  if (event->has_flow_in) pto_protobuf_put_fixed64(&p->out, EVENT_LAST_FLOW, SIGNAL_FLOW + event->message);
  end_event(p);
  begin_event(p, TYPE_END, uuid, event->end);
  end_event(p);
}

/* Groups overlap, and slices of one track must not: each has a track.  Perfetto draws those of one name together. */
static void put_group(struct perfetto *p, const struct pto_trace_event *event) {
  const uint64_t uuid = GROUP_UUID + event->id;
  begin_track(p, uuid, PROCESS_UUID + event->track.process, event->category);
  end_track(p);
  put_slice(p, event, uuid);
}

static void put_value(struct perfetto *p, const struct pto_trace_event *event) {
  const uint64_t uuid = COUNTER_UUID + event->id;
  _Static_assert(CORE_UUID - COUNTER_UUID < 64, "a bit a counter");
  if (!(p->told_counters >> event->id & 1)) {
    p->told_counters |= UINT64_C(1) << event->id;
    begin_track(p, uuid, PROCESS_UUID + event->track.process, event->name);
    pto_protobuf_put_u64(&p->out, TRACK_RANK, PTO_EVENT_CONTROL_TRACKS + event->id);
    pto_protobuf_begin(&p->out, TRACK_COUNTER);
    pto_protobuf_put_u64(&p->out, COUNTER_UNIT, strcmp(event->unit, "bytes") == 0 ? UNIT_BYTES : UNIT_COUNT);
    pto_protobuf_put_text(&p->out, COUNTER_UNIT_NAME, event->unit);
    pto_protobuf_end(&p->out);
    end_track(p);
  }
  begin_event(p, TYPE_COUNTER, uuid, event->begin);
  pto_protobuf_put_u64(&p->out, EVENT_VALUE, event->value);
  end_event(p);
}

static void put_event(void *writer, const struct pto_trace_event *event) {
  struct perfetto *p = writer;
  switch (event->kind) {
  case PTO_EVENT_PROCESS:
    put_process(p, event);
    break;
  case PTO_EVENT_TRACK:
    put_track(p, event);
    break;
  case PTO_EVENT_SLICE:
    put_slice(p, event, uuid_of(event->track));
    break;
  case PTO_EVENT_VALUE:
    put_value(p, event);
    break;
  case PTO_EVENT_GROUP:
    put_group(p, event);
    break;
  case PTO_EVENT_FLOW:
  case PTO_EVENT_ALL:
    break;
  }
}

/* Collects a flow: its index is its id. */
static void note_flow(void *writer, const struct pto_trace_event *event) {
  struct perfetto *p = writer;
  uint32_t *next_out = pto_grow(&p->next_out, &p->flow_count, &p->flow_capacity, sizeof *next_out);
  if (!next_out) {
    p->is_out_of_memory = true;
    return;
  }
  struct task_flows *from = &p->tasks[event->producer], *to = &p->tasks[event->consumer];
  *next_out = from->last_out;
  from->last_out = (uint32_t)event->id;
  if (to->in_count++ == 0) to->first_in = (uint32_t)event->id;
}

/* Tracks stand in the order of their ranks; names are told anew in the packets that follow. */
static void put_root(struct perfetto *p) {
  begin_track(p, 0, 0, NULL);
  pto_protobuf_put_u64(&p->out, TRACK_CHILDREN, CHILDREN_BY_RANK);
  pto_protobuf_end(&p->out);
  pto_protobuf_put_u64(&p->out, PACKET_FLAGS, FLAG_CLEARED);
  pto_protobuf_end(&p->out);
}

/* The same of a rank. */
static void put_rank(struct perfetto *p, const struct pto_export_rank *rank) {
  struct pto_protobuf_writer *w = &p->out;
  pto_protobuf_begin(w, TRACE_PACKET);
  pto_protobuf_put_u64(w, PACKET_SEQUENCE, sequence_of(p));
  pto_protobuf_begin(w, PACKET_TRACK);
  pto_protobuf_put_u64(w, TRACK_UUID, rank_uuid(p, 0));
  pto_protobuf_put_text(w, TRACK_NAME, rank->name);
  pto_protobuf_put_u64(w, TRACK_CHILDREN, CHILDREN_BY_RANK);
  pto_protobuf_put_u64(w, TRACK_RANK, rank->index);
  pto_protobuf_end(w);
  pto_protobuf_put_u64(w, PACKET_FLAGS, FLAG_CLEARED);
  pto_protobuf_end(w);
}

static int write_all(struct perfetto *p) {
  const uint64_t task_count = p->events->trace ? p->events->trace->tasks.count : 0;
  p->tasks = calloc(task_count + 1, sizeof *p->tasks);
  if (!p->tasks) return ENOMEM;
  for (uint64_t i = 0; i < task_count; i++) p->tasks[i].last_out = NO_FLOW;
  int status = pto_trace_events_each(p->events, PTO_EVENT_FLOW, note_flow, p);
  if (status || p->is_out_of_memory) return ENOMEM;
  if (p->part)
    put_rank(p, p->events->info->rank);
  else
    put_root(p);
  status = pto_trace_events_each(p->events, PTO_EVENT_ALL & ~PTO_EVENT_FLOW, put_event, p);
  return status || p->is_out_of_memory ? ENOMEM : 0;
}

static int write_perfetto(const struct pto_trace_events *events, int fd) {
  const struct pto_export_rank *rank = events->info->rank;
  struct perfetto p = {.events = events,
                       .nanosecond = !events->trace || events->trace->is_virtual ? 1000 : 1,
                       .part = rank ? rank->index + UINT64_C(1) : 0};
  pto_protobuf_init(&p.out, fd);
  const int status = write_all(&p), failure = pto_protobuf_finish(&p.out);
  free_names(&p.names);
  free(p.tasks);
  free(p.next_out);
  return failure ? failure : status;
}

/* Packets of one trace may stand behind those of another: their sequences tell them apart. */
static int join(const struct pto_export_info *info, const struct pto_trace_part *parts, size_t count, int fd) {
  struct perfetto p = {0};
  (void)info;
  pto_protobuf_init(&p.out, fd);
  put_root(&p);
  int failure = pto_protobuf_finish(&p.out);
  for (size_t i = 0; i < count && !failure; i++)
    for (size_t written = 0; written < parts[i].size && !failure;) {
      const ssize_t now = write(fd, parts[i].bytes + written, parts[i].size - written);
      if (now > 0) written += (size_t)now;
      if (now < 0 && errno != EINTR) failure = errno;
    }
  return failure;
}

const struct pto_trace_format pto_trace_perfetto = {".pftrace", write_perfetto, write_perfetto, join};
