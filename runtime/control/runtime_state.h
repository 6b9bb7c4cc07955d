/* SPDX-License-Identifier: MIT */
/*
 * The runtime's state: everything that the control thread owns, and the steps that its files share.
 *
 *   runtime.c      create, run, destroy, statistics
 *   submit.c       a task from its arguments to its edges
 *   params.c       what submit checks of launch and parameters, and the payload it builds
 *   launch_checks.c  the part of that which needs no tensors
 *   submit_form.h, .c  the same for submits that differ from an earlier one in offsets, buffers and scalars alone
 *   progress.c     completions, fan-out, waiting, the end of a failed run
 *   space.c        room in rings and heaps, and the errors where there is none
 *   buffers.c      buffers and registrations
 *   scopes.c       scopes
 *   host_access.c  elements read and written by the orchestration
 *   kept_submits.c what an orchestration submitted, kept to be submitted again
 *   wait_picture.c  who waited for whom when a run stopped; wait_path.c: the circle in it; wait_names.c
 *
 * Always true between calls: every slot from tail to head is WAITING, READY, RUNNING or COMPLETED; messages in flight =
 * Σ messages_left of RUNNING tasks that have been sent; `finished` is empty.
 */
#ifndef PTO_RUNTIME_STATE_H
#define PTO_RUNTIME_STATE_H

#include <runtime/base/error.h>
#include <runtime/control/control.h>
#include <runtime/control/kernel_guard.h>
#include <runtime/control/kept_submits.h>
#include <runtime/control/payload_pool.h>
#include <runtime/control/published_counters.h>
#include <runtime/control/wait_picture.h>
#include <runtime/deps/hazards.h>
#include <runtime/memory/buffer_registry.h>
#include <runtime/memory/gm_arena.h>
#include <runtime/sched/scheduler.h>

#define PTO_MAX_SCOPE_DEPTH 64u
/* A task's tensors and its predicate. */
#define PTO_MAX_ACCESSES (PTO_MAX_TENSORS + 1u)
/* How many submits pass between polls on an engine whose time is real (hot-path.md: publish and poll in batches of
 * 32–64). */
#define PTO_POLL_INTERVAL 32u
#define PTO_POLL_BATCH 64u
/* With so many unfinished tasks, on such an engine, the control thread runs those of its own cores before it submits
 * more: further ones would only push each other out of the caches. */
#define PTO_RUN_AHEAD 512u

struct pto_scope {
  uint32_t kind; /* enum pto_scope_kind */
  uint32_t serial;
  uint32_t ring;
  uint32_t buffers;        /* list of the records that live in it */
  uint64_t begin_sequence; /* head of its ring when it began */
  uint64_t begin_heap;     /* head of its heap ring then */
};

/* A tensor parameter while its submit goes on. */
struct pto_param_work {
  const struct pto_tensor *tensor;
  struct pto_buffer_record *record;
  uint32_t mode;
  uint16_t index;        /* among the task's parameters; PTO_TAG_PREDICATE */
  bool is_allocated_now; /* an output whose buffer gets memory by this submit */
  bool is_empty;
};

struct pto_submit_work {
  uint32_t tensor_count; /* parameters that are tensors; the predicate follows them */
  uint32_t scalar_count;
  uint32_t dim_count;  /* of all tensors but the predicate's */
  uint32_t work_count; /* tensor_count, and 1 more with a predicate */
  uint32_t access_count;
  uint32_t held_count;
  uint64_t block_bytes; /* of all outputs allocated now */
  bool allocates;
  bool accumulates;
  bool advances;    /* an output names the next version of its buffer */
  bool is_serial;   /* its blocks run one after another */
  bool has_waiting; /* a kernel of it waits for other cores */
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
  const struct pto_memory_watch *watch; /* NULL: nobody */
  bool is_told;                         /* somebody is told of memory: a checker, or the watch */
  struct pto_reserve finished_memory;
  uint32_t *finished; /* slots whose completion has to be told to their consumers */
  uint32_t finished_count;
  uint32_t since_poll;
  uint32_t new_count; /* tasks run as they were submitted, since the last poll or row of ready ones */
  bool is_running, has_failed;
  bool is_in_orchestration;   /* of pto_run, or behind it at the run's end */
  bool is_noted;              /* calls that submit are noted: the graph is recorded, or submits kept */
  uint16_t tag;               /* of this runtime, in every handle */
  struct pto_task_ring *ring; /* of the innermost scope */
  uint32_t scope_depth;       /* index of the innermost open scope; the run's is 0 */
  uint32_t scope_serial;      /* scopes begun in the run, modulo 2^32: for reports alone */
  struct pto_scope scopes[PTO_MAX_SCOPE_DEPTH + 1];
  uint32_t outside_buffers;   /* registrations made outside runs */
  uint64_t collect_ranges_at; /* look for external ranges to drop when there are this many */
  uint64_t first_sequence;    /* where rings start; tests begin just below the wrap */
  uint64_t task_count, completed_count, submit_waits;
  uint64_t move_count, moved_bytes;
  uint64_t stall_count; /* waits of the orchestration, whatever for, but for the last tasks */
  uint64_t task_generation;
  uint64_t wall_ns, virtual_ps, begin_ns;
  struct pto_error error;       /* the run's first error, else the last refused call's */
  struct pto_submit_work *work; /* of the submit that goes on: that of its form */
  const void *call;             /* where the public call that goes on returns to; kept while a graph is recorded */
  struct pto_kept_submits *kept_submits; /* that are being made; NULL */
  struct pto_submit_form *forms;         /* PTO_PAYLOAD_FORMS of them, and one for tasks that have none */
  struct pto_reserve forms_memory;
  struct pto_published_counters *published; /* NULL: nobody reads them by PAPI */
  struct pto_doing doing;                   /* where the orchestration waits, or has been refused for ever */
  uint32_t failed_slot;                     /* of the task whose kernel failed; PTO_PICTURE_NONE */
  struct pto_stopped *stopped;
  struct pto_reserve stopped_memory;
  struct pto_core asking[2]; /* what kernels see of an AIC and of an AIV when they are asked before they run */
  char answer[256];          /* where they leave a sentence then */
};

/* Refuses a call: stores the sentence (unless the run has failed already) and returns the status. */
#define PTO_REFUSE(rt, ...) pto_runtime_refuse(rt, __VA_ARGS__)
int pto_runtime_refuse(struct pto_runtime *rt, int status, const char *format, ...) PTO_PRINTF(3, 4);
/* Ends the run with its first error; later ones are dropped. */
int pto_runtime_fail(struct pto_runtime *rt, int status, const char *format, ...) PTO_PRINTF(3, 4);

/* PTO_OK where calls of a run may go on; else the run's error, or PTO_EINVAL outside a run. */
static inline int pto_runtime_check(struct pto_runtime *rt) {
  if (PTO_LIKELY(rt->is_running && !rt->has_failed)) return PTO_OK;
  return rt->has_failed ? rt->error.status : PTO_REFUSE(rt, PTO_EINVAL, "not within a run");
}

static inline uint32_t *pto_runtime_scope_buffers(struct pto_runtime *rt, uint32_t depth) {
  return rt->is_running ? &rt->scopes[depth].buffers : &rt->outside_buffers;
}

/* Whether a submit looks for completions first: in virtual time whenever there may be one, else every so often. */
static inline bool pto_runtime_has_to_poll(struct pto_runtime *rt, bool may_be_virtual) {
  if (may_be_virtual && PTO_UNLIKELY(rt->port->is_virtual)) return rt->port->clock >= rt->port->quiet_until;
  return ++rt->since_poll >= PTO_POLL_INTERVAL;
}

/* After each change of what is recorded. */
static inline void pto_runtime_note_calls(struct pto_runtime *rt) {
  rt->is_noted = rt->kept_submits || pto_trace_has_graph(&rt->trace);
}

/* For the record: each public function that submits or accesses says where it was called.  A macro, as the address is
 * that of the function that it stands in. */
#define PTO_CALLER() __builtin_return_address(0)

/* submit.c: one of the public calls, with a word to whoever keeps a record or submits. */
int pto_submit_noted(struct pto_runtime *rt, const struct pto_noted_submit *noted, struct pto_task *task_out);

/* progress.c */
/* Takes in what has completed, without waiting, and sends what became ready. */
void pto_progress_poll(struct pto_runtime *rt);
/* One step of waiting: something completes, or the run fails.  Its status. */
int pto_progress_wait(struct pto_runtime *rt);
/* Back to the orchestration after waiting for something that has just become true. */
void pto_progress_resume(struct pto_runtime *rt);
/* A task that lacks nothing when it is submitted: to a core, to the scheduler, or done at once where it has nothing to
 * run. */
void pto_progress_submitted(struct pto_runtime *rt, uint32_t slot);
/* The same for a SINGLE task, whose payload is *payload: where kernels are short the control thread runs it at once,
 * and the caller has the payload back; elsewhere it goes with the task, and *payload becomes NULL. */
void pto_progress_start(struct pto_runtime *rt, uint32_t slot, struct pto_payload **payload);
/* After a failure: waits until no core is busy. */
void pto_progress_quiesce(struct pto_runtime *rt);

/* The clock that the timeline is kept in; 0 where there is none. */
static inline uint64_t pto_progress_now(const struct pto_runtime *rt) {
  if (!pto_trace_has_timeline(&rt->trace)) return 0;
  return rt->port->is_virtual ? rt->port->clock : pto_trace_now(&rt->trace);
}
/* What the control thread did since `begin`, for the timeline.  Gives the end. */
static inline uint64_t pto_progress_record(struct pto_runtime *rt, enum pto_control_activity activity, uint64_t begin,
                                           uint64_t task_number) {
  if (!pto_trace_has_timeline(&rt->trace)) return 0;
  const uint64_t end = pto_progress_now(rt);
  struct pto_trace_control *control = pto_trace_log_append(&rt->trace.control);
  if (control)
    *control = (struct pto_trace_control){
        .begin = begin, .end = end, .activity = (uint16_t)activity, .task = (uint32_t)task_number};
  return end;
}

/* A time that the orchestration waits for something; zeroed: it does not.  Counted where it begins. */
struct pto_stall {
  uint64_t begin;
  uint32_t reason; /* enum pto_stall_reason */
};
/* Begins to wait, or goes on waiting, for this. */
void pto_stall_for(struct pto_runtime *rt, struct pto_stall *stall, enum pto_stall_reason reason);
/* No longer; on the timeline it is a PTO_CONTROL_WAIT.  Takes one that has not begun. */
void pto_stall_end(struct pto_runtime *rt, struct pto_stall *stall);

/* space.c */
/* A slot of the current scope's ring and, where `allocates`, a heap block of `block_bytes`: together or not at all. */
int pto_space_reserve(struct pto_runtime *rt, bool allocates, uint64_t block_bytes, uint32_t *slot_out,
                      char **block_out);
/* Retires what can be retired in every ring. */
bool pto_space_retire(struct pto_runtime *rt);
/* The tasks, and bytes of the heap, that the open scope at `depth` keeps in its ring. */
void pto_space_of_scope(const struct pto_runtime *rt, uint32_t depth, uint64_t *tasks, uint64_t *bytes);
/* For the wait picture, before a failure: the submit (or, of buffers, the call) that goes on finds a table full. */
void pto_space_note_table(struct pto_runtime *rt, uint32_t kind, const char *table, uint64_t capacity);

/* launch_checks.c: fill in the counts, has_waiting, accumulates and is_serial of rt->work-> */
int pto_launch_check(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                     uint32_t count, enum pto_shape *shape_out, const char **what_out);
/* The same for a task without a kernel. */
int pto_launch_check_alloc(struct pto_runtime *rt, const struct pto_param *params, uint32_t count);
const char *pto_param_mode_name(uint32_t mode);

/* submit_form.c: as pto_params_prepare, and faster where the submit has the form of an earlier one. */
int pto_submit_prepare(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                       uint32_t count, enum pto_shape *shape_out);
bool pto_submit_forms_init(struct pto_runtime *rt);
/* At the begin of a run: kernels of the last one may be gone. */
void pto_submit_forms_forget(struct pto_runtime *rt);
/* params.c: fills in rt->work; a refusal leaves nothing behind. */
int pto_params_prepare(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                       uint32_t count, enum pto_shape *shape_out);
/* The kernel's check and the local memory that it needs, once the payload is built. */
int pto_params_ask_kernel(struct pto_runtime *rt, const struct pto_kernel *kernel, bool is_aic);
/* Gives back what a prepared submit holds that gets no slot. */
void pto_params_drop(struct pto_runtime *rt);
/* Fills addresses that were not known before, and the list of held memory. */
void pto_params_settle(struct pto_runtime *rt, uint32_t slot);
/* Writes "param 0 …, param 1 …" of a payload for the sentence of a failed kernel. */
void pto_params_describe(const struct pto_payload *payload, struct pto_error *error);
static inline uint32_t *pto_payload_held(struct pto_payload *payload) {
  return (uint32_t *)(uintptr_t)payload->reserved[0];
}
/* Above the count is the address of the kernel guard, where there is one. */
static inline uint32_t pto_payload_held_count(const struct pto_payload *payload) {
  return (uint32_t)payload->reserved[1] & (PTO_GUARD_ALIGN - 1);
}
_Static_assert(PTO_MAX_ACCESSES < PTO_GUARD_ALIGN, "a count of held memory fits below the guard's address");

/* buffers.c */
/* Drops a scope's records, and with managed ones every access to their memory. */
void pto_buffers_end_scope(struct pto_runtime *rt, uint32_t *list);
/* Forgets all accesses and all ranges but those of outside registrations. */
void pto_buffers_end_run(struct pto_runtime *rt);
/* Gives a managed buffer its memory and its address space. */
bool pto_buffers_set_memory(struct pto_runtime *rt, const struct pto_tensor *t, struct pto_buffer_record *record,
                            char *addr, uint32_t owner_slot);

/* scopes.c */
/* Opens a scope at `depth`: 0 for the run's own, else one more than the innermost's. */
void pto_scopes_push(struct pto_runtime *rt, uint32_t depth, uint32_t kind);
void pto_scopes_pop(struct pto_runtime *rt);

#endif
