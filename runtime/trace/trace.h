/* SPDX-License-Identifier: MIT */
/*
 * What is kept of a run: its graph (tasks, parameters, edges with their reasons, scopes, what the host reads and
 * writes, and where in the program each was asked for) and its timeline (spans on cores, spans of the control thread,
 * samples of counters).
 *
 * Owned by the runtime; engines write spans into it.  Append-only logs, each with one writer, in address space reserved
 * at creation; a log that is full drops records and counts them, and never changes what the run does.  Nothing is
 * written where the matching PTO_RECORD bit is not set.  Readers (command line, tests) come after the run.
 *
 * Times: picoseconds of virtual time, or nanoseconds of the monotonic clock since the run began.  While a run in real
 * time goes on they are readings of pto_trace_now, ticks where the processor's are steady, since a call of the clock
 * takes as long as a third of an empty task; pto_trace_end_run makes nanoseconds of them, by the two moments at which
 * both were read.
 */
#ifndef PTO_TRACE_H
#define PTO_TRACE_H

#include <pto/runtime.h>
#include <runtime/base/reserve.h>
#include <runtime/base/ticks.h>

/* An append-only array of records of one size.  One cache line, so that logs side by side have no line in common. */
struct pto_trace_log {
  struct pto_reserve memory;
  uint32_t record_bytes;
  uint64_t count, capacity, dropped;
  /* Its writer's last reading of the clock, where the next record may begin with it; 0: there is none. */
  uint64_t last_time;
  uint32_t writer_tid; /* of a timeline: the thread that wrote what is in it; 0: none has, or it is not known */
  uint32_t reserved;
};
_Static_assert(sizeof(struct pto_trace_log) == PTO_CACHE_LINE, "each worker's log has a line of its own");

enum pto_task_kind { PTO_TASK_KERNEL = 0, PTO_TASK_BARRIER, PTO_TASK_ALLOC, PTO_TASK_EMPTY /* no_kernel */ };

struct pto_trace_task {
  uint64_t number;                     /* index of this record: submission order */
  const struct pto_kernel *kernels[3]; /* aic, aiv0, aiv1 */
  uint32_t kind;                       /* enum pto_task_kind */
  uint32_t block_count;
  uint32_t scope_depth;
  uint32_t scope_serial;
  uint32_t ring;
  uint32_t param_count; /* tensor parameters, predicate included */
  uint64_t first_param; /* index into params */
  uint64_t first_edge;  /* index into edges */
  uint64_t edge_count;
  uint64_t submit_time;
  uint16_t is_sync_start, has_predicate;
  uint16_t is_sequential; /* its blocks run one after another */
  uint16_t address_count; /* scalars that are addresses of the runtime's memory, or of registered memory, and of no
                           * byte that it declares */
  uint64_t part_of; /* a launch of recorded tasks, but for its last one: the number of that, which stands for all of
                     * them; 0: of none */
  const void *call; /* where the program's call of the public function returns to */
  const void *outer_call; /* the same of the orchestration's own call, where that came to `call` through functions of
                           * its own and PTO_RECORD_CALLERS asks for it; else NULL */
  uint64_t dispatch;      /* of a context, that it was submitted for: they count from 1; 0: of none */
  const char *label;      /* NULL: none, as of params, scopes and host accesses */
  uint64_t ring_heap_used_bytes; /* of its heap ring, with its own outputs */
  uint64_t ring_slots_used;      /* of its task ring, with its own */
};

struct pto_trace_param {
  uint32_t index;           /* among the task's parameters; UINT32_MAX: the predicate */
  uint32_t mode;            /* enum pto_mode */
  struct pto_tensor tensor; /* with the address resolved in buffer.base */
  uint64_t buffer_number;   /* for people: buffers in order of creation; an identity within the run */
  uint16_t is_managed;      /* the buffer's memory is the runtime's: no other buffer has any byte of it */
  uint16_t is_on_stack;     /* it is in a function of the orchestration that has not returned */
  uint16_t is_released;     /* the scope that keeps the buffer had ended (config.keep_released) */
  uint16_t has_initial;     /* its elements begin with initial_bits */
  uint64_t initial_bits;
  const char *buffer_label;
};

/* A scope of the run; the run's own is the first.  Scopes stand in the order of their begin. */
struct pto_trace_scope {
  uint32_t serial; /* index of this record, as in struct pto_trace_task */
  uint32_t parent; /* serial of the scope around it; UINT32_MAX: the run's own has none */
  uint32_t kind;   /* enum pto_scope_kind */
  uint32_t depth;
  uint64_t first_task, end_task; /* tasks [first, end) were submitted while it was open; UINT64_MAX: it still is */
  const char *label;
};

/* An element that the host reads or writes, or a tensor without gaps that it moves, or a sync.  It waits for tasks that
 * were submitted before it, a sync for all of them, and is over before anything later is submitted. */
struct pto_trace_host_access {
  uint64_t begin, end;    /* addresses of its bytes */
  uint64_t tensor_begin;  /* of the tensor that it is an element of, or is, as is the next */
  uint64_t tensor_end;    /* one behind the last byte */
  uint64_t buffer_base;   /* address of the buffer's first byte */
  uint64_t buffer_number; /* as in struct pto_trace_param, as is is_managed */
  uint64_t task_count;    /* tasks submitted before it */
  const void *call;       /* where the program's call of the public function returns to; of a move NULL, but where
                           * PTO_RECORD_CALLERS asks for it */
  const void *outer_call; /* as in struct pto_trace_task, of a move; else NULL */
  uint32_t is_write, is_managed;
  uint32_t is_move;     /* of a whole tensor, to or from a device or on it */
  uint32_t is_sync;     /* then of the rest task_count alone says something */
  uint32_t is_released; /* as in struct pto_trace_param */
  const char *buffer_label;
};

enum pto_edge_reason {
  PTO_EDGE_RAW = 1,
  PTO_EDGE_WAW = 2,
  PTO_EDGE_WAR = 4,
  PTO_EDGE_EXPLICIT = 8,
  PTO_EDGE_CREATOR = 16 /* the rule creator-edges: the producer allocated a tensor of the consumer */
};

/* One reason of one edge; the reasons of an edge follow each other. */
struct pto_trace_edge {
  uint64_t producer, consumer;             /* task numbers */
  uint32_t reason;                         /* one enum pto_edge_reason bit */
  uint32_t producer_param, consumer_param; /* parameter indices; UINT32_MAX where explicit or by the
                                              predicate, and of a creator */
  uint32_t is_first;                       /* first record of its (producer, consumer) pair */
  uint64_t begin, end;                     /* bounding addresses of the bytes both touch; 0, 0 where explicit */
  uint64_t buffer_number;                  /* of the consumer's parameter */
};

/* A kernel call on a core. */
struct pto_trace_span {
  uint64_t begin, end;
  uint32_t task; /* low 32 bits of the task number */
  uint32_t block_index;
  uint16_t core;
  uint8_t role;
  uint8_t worker;
  uint32_t reserved;
};

/* What a kernel's calls cost by what it states (struct pto_cost), on cores of one kind and in one dtype; virtual time.
 * The times are those that the chip's rates permit a core that has the memory to itself. */
struct pto_trace_cost {
  const struct pto_kernel *kernel;
  uint64_t calls, bytes, vector_elems, multiply_adds;
  uint64_t memory_ps, compute_ps;  /* of the bytes; of the rest */
  uint64_t least_ps;               /* of the longer one in each call */
  uint64_t vector_mops, cube_mops; /* the rates: millions of elements, and of multiply-adds, a second */
  uint32_t core_kind, dtype;
};

/* Of memory: MB/s of one core, and of all cores together; 0: there is no L2 cache. */
struct pto_trace_rates {
  uint64_t core_mbps, chip_mbps, l2_core_mbps, l2_chip_mbps;
};

/* Counters at one moment, taken by the control thread at submits and completions. */
struct pto_trace_sample {
  uint64_t time;
  uint32_t ready;           /* tasks ready and not yet dispatched */
  uint32_t in_flight;       /* messages on cores */
  uint32_t window_used;     /* slots in use of the fullest ring, as window_high_water */
  uint32_t taken_core;      /* virtual time: + 1, the core whose completion was taken in just before; 0: none was */
  uint64_t heap_used_bytes; /* of the fullest heap ring, as heap_high_water_bytes */
  uint64_t taken_time;      /* when a scheduler had taken it in */
};

/* What the control thread did. */
enum pto_control_activity {
  PTO_CONTROL_SUBMIT = 0,
  PTO_CONTROL_WAIT,
  PTO_CONTROL_SCOPE,
  PTO_CONTROL_HOST_ACCESS,
  PTO_CONTROL_TO_DEVICE, /* a tensor is moved, after HOST_ACCESS has waited for its users */
  PTO_CONTROL_TO_HOST,
  PTO_CONTROL_ON_DEVICE
};
/* What the orchestration had to wait for before it could go on.  X(name in reports, what). */
#define PTO_STALL_LIST(X)                                                                                              \
  X(window, "a task slot")                                                                                             \
  X(heap, "heap bytes")                                                                                                \
  X(host_access, "what the host reads or writes")                                                                      \
  X(sync, "all tasks so far")                                                                                          \
  X(drain, "the last tasks")                                                                                           \
  X(poll, "memory that it polls")                                                                                      \
  X(peer, "other ranks")
enum pto_stall_reason {
  PTO_STALL_none = 0,
#define X(name, text) PTO_STALL_##name,
  PTO_STALL_LIST(X)
#undef X
      PTO_STALL_COUNT
};
struct pto_trace_control {
  uint64_t begin, end;
  uint64_t moved_bytes; /* 0 where nothing is moved */
  uint16_t activity;    /* enum pto_control_activity */
  uint16_t stall;       /* enum pto_stall_reason: all of it, but for what a host access itself takes, was waiting */
  uint32_t task;        /* low 32 bits of the task number, where there is one */
};
_Static_assert(sizeof(struct pto_trace_control) == 32, "two a cache line: one is written at each recorded submit");

/* Parts of submits in real time, where graph and timeline are recorded; a submit's rest is its record, for the most. */
enum pto_submit_part {
  PTO_SUBMIT_PARAMS = 0, /* checks, and what the parameters touch */
  PTO_SUBMIT_ALLOCATION, /* its slot and memory; waits for them, too */
  PTO_SUBMIT_LOOKUPS,    /* of its producers, with the edges */
  PTO_SUBMIT_DISPATCH,   /* of a task that is ready at once: behind the submit's record, as the next, without kernels */
  PTO_SUBMIT_COMPLETIONS,
  PTO_SUBMIT_PARTS
};

struct pto_trace {
  uint32_t record; /* enum pto_record bits */
  bool is_virtual; /* unit of the times: ps, else ns */
  struct pto_trace_log tasks, params, edges, scopes, host_accesses, samples, control;
  struct pto_trace_log segments;           /* in virtual time; runtime/trace/segment.h */
  struct pto_trace_log costs;              /* recorded with segments: what calls cost, summed */
  struct pto_trace_log remotes;            /* recorded with them, of a rank of a world: runtime/trace/remote.h */
  struct pto_trace_log remote_regions;     /* theirs, struct pto_region each; addresses count from the window's begin */
  struct pto_trace_rates rates;            /* recorded with them; else zeroed */
  uint64_t submit_parts[PTO_SUBMIT_PARTS]; /* time, summed over submits; control thread, as the next */
  uint64_t part_begin;                     /* of the part that goes on */
  struct pto_trace_log *spans;             /* one a worker thread; span_log_count of them */
  uint32_t span_log_count;
  uint64_t start_ns;            /* monotonic clock at the begin of the run */
  uint64_t start_ticks;         /* at the same moment */
  bool has_steady_ticks;        /* the processor has */
  bool is_in_ticks;             /* times of this run are, until it ends */
  uint64_t buffer_end;          /* of a sum of runs (trace_append.h): above all numbers of buffers in it */
  struct pto_reserve span_logs; /* what `spans` points into */
};

/* Reserves the logs that `record` asks for, each with the capacity that trace.c
 * gives it, or with less where the system has less to reserve.  PTO_OK or PTO_ENOMEM, with the trace zeroed.  fini
 * of one that is zeroed or half made is allowed. */
PTO_MUST_CHECK int pto_trace_init(struct pto_trace *trace, uint32_t record, uint32_t worker_count);
/* What the runs from now on record, of what it was made for. */
void pto_trace_set_record(struct pto_trace *trace, uint32_t record);
void pto_trace_fini(struct pto_trace *trace);
/* Empties all logs for a new run (their pages stay resident, so a further round finds them warm) and starts its clock.
 */
void pto_trace_begin_run(struct pto_trace *trace, bool is_virtual);
/* Makes nanoseconds of all times that are in ticks.  No thread writes any more; readers come after this.  Takes a trace
 * whose run has ended before, too. */
void pto_trace_end_run(struct pto_trace *trace);

/* Room for one record, zeroed or holding an older run's bytes; NULL where the log is full (counted as dropped). */
static inline void *pto_trace_log_append(struct pto_trace_log *log) {
  if (PTO_UNLIKELY(log->count == log->capacity)) {
    log->dropped++;
    return NULL;
  }
  return (char *)log->memory.addr + log->count++ * log->record_bytes;
}
static inline void *pto_trace_log_at(const struct pto_trace_log *log, uint64_t index) {
  PTO_ASSERT(index < log->count);
  return (char *)log->memory.addr + index * log->record_bytes;
}

/* Nanoseconds of the monotonic clock since the run began.  Any thread. */
uint64_t pto_trace_now_ns(const struct pto_trace *trace);
/* What a record in real time has for now; not 0, unless the run has just begun.  Any thread, while the run goes on. */
static inline uint64_t pto_trace_now(const struct pto_trace *trace) {
  return PTO_LIKELY(trace->is_in_ticks) ? pto_ticks_now() - trace->start_ticks : pto_trace_now_ns(trace);
}

/* Records that did not fit into their logs, all logs together. */
uint64_t pto_trace_dropped(const struct pto_trace *trace);

static inline bool pto_trace_has_timeline(const struct pto_trace *trace) {
  return PTO_UNLIKELY(trace && (trace->record & PTO_RECORD_TIMELINE));
}
static inline bool pto_trace_has_segments(const struct pto_trace *trace) {
  return PTO_UNLIKELY(trace && trace->is_virtual && trace->segments.capacity);
}
static inline bool pto_trace_has_submit_parts(const struct pto_trace *trace) {
  const uint32_t both = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE;
  return !trace->is_virtual && (trace->record & both) == both;
}
/* Tasks, what they write, scopes, accesses of the host; with the graph also what they read, and edges. */
static inline bool pto_trace_has_tasks(const struct pto_trace *trace) {
  return PTO_UNLIKELY(trace && (trace->record & PTO_RECORD_TASKS));
}
static inline bool pto_trace_has_graph(const struct pto_trace *trace) {
  return PTO_UNLIKELY(trace && (trace->record & PTO_RECORD_GRAPH));
}

#endif
