/* SPDX-License-Identifier: MIT */
/*
 * The runtime's state: everything that the control thread owns, and the steps that its files share.
 *
 *   error.c        refusals, the failure of the run
 *   progress.c     completions, fan-out, waiting, the end of a failed run
 *   ring_space.c   retiring, and what open scopes hold
 *   space.c        room in rings and heaps, and the errors where there is none
 *   buffers.c      buffers and registrations
 *   scopes.c       scopes
 *   host_access.c  elements read and written by the orchestration
 *   call_list.c    the calls of an orchestration, to be made again
 *
 * Above it: runtime/submit (a task from its arguments to its edges), runtime/join (create, run, destroy, statistics).
 *
 * Always true between calls: every slot from tail to head is WAITING, READY, RUNNING or COMPLETED; messages in flight =
 * Σ messages_left of RUNNING tasks that have been sent; `finished` is empty.
 */
#ifndef PTO_RUNTIME_STATE_H
#define PTO_RUNTIME_STATE_H

#include <pthread.h>

#include <runtime/base/error.h>
#include <runtime/control/control.h>
#include <runtime/watch/kernel_guard.h>
#include <runtime/control/call_list.h>
#include <runtime/task/payload_pool.h>
#include <runtime/control/published_counters.h>
#include <runtime/deadlock/wait_picture.h>
#include <runtime/deps/hazards.h>
#include <runtime/memory/buffer_registry.h>
#include <runtime/memory/gm_arena.h>
#include <runtime/sched/scheduler.h>
#include <runtime/trace/segment.h>

#define PTO_MAX_SCOPE_DEPTH 64u
/* A task's tensors and its predicate. */
#define PTO_MAX_ACCESSES (PTO_MAX_TENSORS + 1u)
/* How many submits pass between polls on an engine whose time is real; a kernel that is run within its submit counts as
 * so many more. */
#define PTO_POLL_INTERVAL 32u
#define PTO_POLL_KERNEL 3u
#define PTO_POLL_BATCH 64u

struct pto_scope {
  uint32_t kind; /* enum pto_scope_kind */
  uint32_t serial;
  uint32_t ring;
  uint32_t buffers;        /* list of the records that live in it */
  uint64_t begin_sequence; /* head of its ring when it began */
  uint64_t begin_heap;     /* head of its heap ring then */
  const void *call;        /* where it was opened; NULL: the run's own */
  const char *label;       /* NULL: none */
};

/* A tensor parameter while its submit goes on. */
struct pto_param_work {
  const struct pto_tensor *tensor;
  struct pto_buffer_record *record;
  const struct pto_initial *initial; /* NULL: fresh bytes, where it is allocated */
  uint32_t mode;
  uint16_t index;        /* among the task's parameters; PTO_TAG_PREDICATE */
  bool is_allocated_now; /* an output whose buffer gets memory by this submit */
  bool is_empty;
};

/* What is known of a submit before it has a slot. */
struct pto_submit_work {
  uint32_t tensor_count; /* parameters that are tensors; the predicate follows them */
  uint32_t scalar_count;
  uint32_t dim_count;  /* of all tensors but the predicate's */
  uint32_t work_count; /* tensor_count, and 1 more with a predicate */
  uint32_t access_count;
  uint32_t held_count;
  uint64_t heap_bytes;                 /* of all outputs allocated now */
  uint32_t block_count, message_count; /* what its slot will say, as the next two */
  uint8_t shape;                       /* enum pto_shape */
  uint8_t slot_flags;                  /* enum pto_task_flags */
  bool allocates;
  bool accumulates;
  bool advances;      /* an output names the next version of its buffer */
  bool is_sequential; /* its blocks run one after another */
  bool has_waiting;   /* a kernel of it waits for other cores */
  bool has_fuzzy;     /* an access is fuzzy */
  bool has_more;      /* something of it needs more than a slot and edges: memory, versions, a predicate */
  bool queries;       /* a kernel of it has a check, or a cost that says what local memory it needs */
  struct pto_payload *payload;
  struct pto_param_work params[PTO_MAX_ACCESSES];
  struct pto_access accesses[PTO_MAX_ACCESSES];
};

/* What is kept of a run that stopped: reserved at creation, touched where a run fails. */
struct pto_stopped {
  struct pto_wait_picture picture;
  struct pto_core_waits waits; /* for the making of it */
};

struct pto_runtime {
  struct pto_config config;
  struct pto_port *port;
  void *chip; /* what the engine behind the port borrows; freed after it */
  struct pto_trace trace;
  struct pto_task_rings rings;
  struct pto_list_chunks chunks;
  struct pto_access_map map;
  struct pto_hazards hazards;
  struct pto_scheduler scheduler;
  struct pto_payload_pool payloads;
  struct pto_buffer_registry buffers;
  struct pto_gm_arena arena;
  struct pto_kernel_guard *guard;       /* NULL where nothing watches memory */
  const struct pto_memory_watch *watch; /* NULL: none */
  bool is_memory_watched;               /* a checker, or the watch, sees memory */
  uint32_t *finished;                   /* slots whose consumers have to be notified */
  uint32_t finished_count;
  uint32_t since_poll; /* submits; PTO_POLL_INTERVAL in virtual time, after a failure and between runs: then every
                          submit polls */
  bool is_running, has_failed;
  bool is_in_orchestration;   /* of pto_run, or behind it at the run's end */
  pthread_t control_thread;   /* of the orchestration that was called last */
  uint16_t tag;               /* of this runtime, in every handle */
  struct pto_task_ring *ring; /* of the innermost scope */
  uint32_t scope_depth;       /* index of the innermost open scope; the run's is 0 */
  uint32_t scope_serial;      /* scopes begun in the run, modulo 2^32: for reports alone */
  struct pto_scope scopes[PTO_MAX_SCOPE_DEPTH + 1];
  uint32_t outside_buffers;             /* registrations made outside runs */
  uint64_t collect_ranges_at;           /* look for external ranges to drop when there are this many */
  uint64_t first_sequence;              /* where rings start; tests begin just below the wrap */
  uint64_t task_count, completed_count; /* side by side: port->orchestration */
  uint64_t submit_waits;
  uint64_t move_count, moved_bytes;
  uint64_t stall_count; /* waits of the orchestration, whatever for, but for the last tasks */
  uint64_t task_generation;
  uint64_t idle_poll; /* tasks submitted before the last poll that found all done, and 1; 0: there was none */
  uint64_t wall_ns, virtual_ps, begin_ns;
  uint64_t orchestration_begin_ps,
      orchestration_ps;         /* the orchestrator's clock, from there to the orchestration's return */
  struct pto_error error;       /* the run's first error, else the last refused call's */
  struct pto_refusals refusals; /* of submits of the run */
  const void *frame_before;     /* of runtime/base/call_stack.h: what the orchestration was called in */
  struct pto_failed_kernel failed_kernel;
  const void *left_open; /* where the scope was opened that the orchestration has left open */
  const void *place;     /* what pto_call_from has said, as of runtime/trace/place.h */
  const void *move_call; /* what pto_host_call_from has said */
  const void *move_outer_call;
  uint64_t dispatch;                        /* the same: of a context, whose tasks these are; 0: of none */
  struct pto_call_list *call_list;          /* that is being made; NULL */
  struct pto_recorded *recorded;            /* what submits go to instead of the run; NULL */
  struct pto_deps_table recorded_rules;     /* how its tasks are ordered */
  uint32_t recorded_depth;                  /* of its scope; 0: there is none */
  uint32_t recorded_count;                  /* begun so far */
  bool is_boundary;                         /* a submit's parameters are a recording's: none is in place of another */
  uint64_t part_of;                         /* number of the task that ends the launch which is submitted now; 0 */
  bool has_listeners;                       /* call_list, recorded, the trace or a virtual clock see each submit */
  struct pto_template *templates;           /* template.h */
  uint32_t templates_used;                  /* bit i: templates[i] has been filled since the begin of the run */
  struct pto_published_counters *published; /* NULL: they are not published */
  struct pto_doing doing;                   /* where the orchestration waits, or has been refused for ever */
  uint32_t failed_slot;                     /* of the task whose kernel failed; PTO_PICTURE_NONE */
  struct pto_stopped *stopped;
  struct pto_reserve memory; /* of finished, templates and stopped */
  struct pto_core probed[2]; /* what kernels see of an AIC and of an AIV when they are queried before they run */
  char refusal[256];         /* where they leave a sentence then */
};

/* Refuses a call: stores the sentence (unless the run has failed already) and returns the status. */
#define PTO_REFUSE(rt, ...) pto_runtime_refuse(rt, __VA_ARGS__)
int pto_runtime_refuse(struct pto_runtime *rt, int status, const char *format, ...) PTO_PRINTF(3, 4);
/* Ends the run with its first error; later ones are dropped. */
int pto_runtime_fail(struct pto_runtime *rt, int status, const char *format, ...) PTO_PRINTF(3, 4);

/* For calls that a recording of tasks has no place for. */
static inline int pto_runtime_check_unrecorded(struct pto_runtime *rt, const char *what) {
  if (PTO_LIKELY(!rt->recorded)) return PTO_OK;
  return PTO_REFUSE(rt, PTO_EINVAL, "%s: not between pto_recorded_begin and pto_recorded_end", what);
}

/* PTO_OK where calls of a run may go on; else the run's error, or PTO_EINVAL outside a run. */
static inline int pto_runtime_check(struct pto_runtime *rt) {
  if (PTO_LIKELY(rt->is_running && !rt->has_failed)) return PTO_OK;
  return rt->has_failed ? rt->error.status : PTO_REFUSE(rt, PTO_EINVAL, "not within a run");
}

/* Whenever one of them may have come or gone. */
static inline void pto_runtime_count_listeners(struct pto_runtime *rt) {
  rt->has_listeners = rt->call_list || rt->recorded || rt->trace.record || rt->port->is_virtual;
}

static inline uint32_t *pto_runtime_scope_buffers(struct pto_runtime *rt, uint32_t depth) {
  return rt->is_running ? &rt->scopes[depth].buffers : &rt->outside_buffers;
}

/* For the record: each public function that submits or accesses says where it was called.  A macro, as the address is
 * that of the function that it stands in. */
#define PTO_CALLER(rt) (PTO_UNLIKELY((rt)->place != NULL) ? (rt)->place : __builtin_return_address(0))

/* progress.c, with pto_poll */
/* Takes in what has completed and sends what became ready.  Waits only where the orchestration is far ahead. */
void pto_progress_poll(struct pto_runtime *rt);
/* One step of waiting: something completes, or the run fails.  Its status. */
int pto_progress_wait(struct pto_runtime *rt);
/* The same for what is no task's: what completes is taken in, or the machine goes on for a while; only where the engine
 * can (ops->pause).  Not on where is_over(context): what is waited for may come while completions are taken in.  It may
 * be NULL. */
int pto_progress_pause(struct pto_runtime *rt, bool (*is_over)(const void *context), const void *context);
/* Back to the orchestration after waiting for something that has just become true. */
void pto_progress_resume(struct pto_runtime *rt);
/* A task that lacks nothing when it is submitted: to a core, to the scheduler, or done at once where it has nothing to
 * run. */
void pto_progress_submitted(struct pto_runtime *rt, uint32_t slot);
/* After a failure: waits until no core is busy. */
void pto_progress_quiesce(struct pto_runtime *rt);

/* The orchestrator's clock, in virtual time. */
static inline uint64_t pto_orchestrator_clock(const struct pto_runtime *rt) {
  return rt->port->is_scheduler ? rt->port->orchestrator_clock : rt->port->clock;
}
/* The clock that the timeline is kept in; 0 where there is none. */
static inline uint64_t pto_progress_now(const struct pto_runtime *rt) {
  if (!pto_trace_has_timeline(&rt->trace)) return 0;
  return rt->port->is_virtual ? pto_orchestrator_clock(rt) : pto_trace_now(&rt->trace);
}
/* What the control thread did until now, for the timeline: `what` has all but the end, and the task where it is not the
 * next one.  Gives the end. */
static inline uint64_t pto_progress_record(struct pto_runtime *rt, struct pto_trace_control what) {
  if (!pto_trace_has_timeline(&rt->trace)) return 0;
  what.end = pto_progress_now(rt);
  struct pto_trace_control *control = pto_trace_log_append(&rt->trace.control);
  if (control) *control = what;
  return what.end;
}

/* The counters as they are now, for the timeline. */
PTO_COLD void pto_progress_sample(struct pto_runtime *rt);

/* What the orchestrator's clock, or the one that is in force, was spent on since `begin`, where that is recorded. */
PTO_COLD void pto_add_segment(struct pto_runtime *rt, enum pto_actor actor, enum pto_activity activity, uint64_t begin,
                              uint32_t task);

/* A time that the orchestration waits for something; zeroed: it does not.  Counted where it begins. */
struct pto_stall {
  uint64_t begin;
  uint32_t reason; /* enum pto_stall_reason */
};
/* Begins to wait, or goes on waiting, for this. */
void pto_stall_for(struct pto_runtime *rt, struct pto_stall *stall, enum pto_stall_reason reason);
/* No longer; on the timeline it is a PTO_CONTROL_WAIT.  One that has not begun is allowed. */
void pto_stall_end(struct pto_runtime *rt, struct pto_stall *stall);

/* space.c, ring_space.c */
/* A slot of the current scope's ring and, where `allocates`, `heap_bytes` of its heap: together or not at all. */
int pto_space_reserve(struct pto_runtime *rt, const struct pto_submit_work *submit, uint32_t *slot_out,
                      char **piece_out);
/* Retires what can be retired in every ring. */
bool pto_space_retire(struct pto_runtime *rt);
/* Drops the records of a list, and with managed ones every access to their memory. */
void pto_space_drop_buffers(struct pto_runtime *rt, uint32_t *list);
/* Where memory of ended scopes is kept: the oldest task of those in this ring may be retired now, and its buffers are
 * stale.  False where there is none. */
bool pto_space_release(struct pto_runtime *rt, uint32_t ring);
/* The tasks, and bytes of the heap, that the open scope at `depth` keeps in its ring. */
void pto_space_of_scope(const struct pto_runtime *rt, uint32_t depth, uint64_t *tasks, uint64_t *bytes);
/* For the wait picture, before a failure: the submit (or, where that is NULL, the call) that goes on finds a table
 * full. */
void pto_space_note_table(struct pto_runtime *rt, uint32_t kind, const char *table, uint64_t capacity,
                          const struct pto_submit_work *submit);

/* error.c, with refuse and fail */
/* Of the task of that number, which lives in the slot; NULL: it has none. */
const char *pto_runtime_slot_label(const struct pto_runtime *rt, uint32_t slot, uint64_t number);
/* Where config.stop is given: says how far the run has come, and ends it if it is asked to; whether it was. */
bool pto_runtime_stops(struct pto_runtime *rt);
const char *pto_param_mode_name(uint32_t mode);
/* Writes "param 0 …, param 1 …" of a payload for the sentence of a failed kernel. */
void pto_params_describe(const struct pto_payload *payload, struct pto_error *error);
static inline uint32_t pto_payload_held_count(const struct pto_payload *payload) {
  return (uint32_t)payload->held_count_and_guard & (PTO_GUARD_ALIGN - 1);
}
_Static_assert(PTO_MAX_ACCESSES < PTO_GUARD_ALIGN, "a count of held memory fits below the guard's address");

/* buffers.c */
/* Drops the records of a scope's buffers, but for those that config.keep_released keeps. */
void pto_buffers_end_scope(struct pto_runtime *rt, uint32_t *list);
/* Forgets all accesses and all ranges but those of outside registrations. */
void pto_buffers_end_run(struct pto_runtime *rt);
/* Gives a managed buffer its memory and its address space. */
bool pto_buffers_set_memory(struct pto_runtime *rt, const struct pto_tensor *t, struct pto_buffer_record *record,
                            char *addr, uint32_t owner_slot);

/* Fills a buffer that has just got its memory, each element with these bits. */
void pto_buffers_fill(struct pto_runtime *rt, const struct pto_buffer_record *record, uint32_t dtype, uint64_t bits);

/* scopes.c */
/* Opens a scope at `depth`: 0 for the run's own, else one more than the innermost's. */
void pto_scopes_push(struct pto_runtime *rt, uint32_t depth, uint32_t kind);
void pto_scopes_pop(struct pto_runtime *rt);

#endif
