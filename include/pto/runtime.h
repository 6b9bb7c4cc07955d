/* SPDX-License-Identifier: MIT */
/*
 * The task runtime: an orchestration submits tasks with tensor parameters, the runtime derives their order from the
 * bytes that they read and write, allocates outputs, and runs kernels on the cores of a simulated chip.
 *
 * A run gives the same bytes as executing its tasks one at a time in submission order (the blocks of a task in block
 * order), on every engine, chip, worker count, window size and policy.
 *
 * Threads: one control thread a runtime, the one that calls pto_run; all functions here are for it, within the
 * orchestration or between runs.  Two runtimes in one process share nothing.
 *
 * Ownership: arguments are borrowed for the call.  Handles (buffers, tensors, tasks) are values; one used after its
 * life, or in another runtime, is PTO_ESTALE.
 */
#ifndef PTO_RUNTIME_H
#define PTO_RUNTIME_H

#include <pto/kernel.h>
#include <pto/kernel_meter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A submitted task.  Its life ends when its slot is reused, `window` submits later in its ring, or with the run. */
struct pto_task {
  uint64_t id;
  uint64_t generation;
};

struct pto_param {
  uint32_t mode;        /* enum pto_mode */
  uint32_t scalar_type; /* enum pto_scalar_type, for PTO_SCALAR */
  union {
    const struct pto_tensor *tensor; /* borrowed for the submit */
    union pto_scalar scalar;
  } value;
};

static inline struct pto_param pto_param_tensor(uint32_t mode, const struct pto_tensor *t) {
  struct pto_param p;
  p.mode = mode;
  p.scalar_type = 0;
  p.value.scalar.u64 = 0;
  p.value.tensor = t;
  return p;
}
static inline struct pto_param pto_input(const struct pto_tensor *t) { return pto_param_tensor(PTO_INPUT, t); }
/* A buffer without memory gets it at this submit (whole and dense only); one with memory is written in place. */
static inline struct pto_param pto_output(const struct pto_tensor *t) { return pto_param_tensor(PTO_OUTPUT, t); }
static inline struct pto_param pto_inout(const struct pto_tensor *t) { return pto_param_tensor(PTO_INOUT, t); }
static inline struct pto_param pto_accumulate(const struct pto_tensor *t) {
  return pto_param_tensor(PTO_ACCUMULATE, t);
}
/* Held, not ordered: no edge follows from it under any rules but creator-edges. */
static inline struct pto_param pto_hold(const struct pto_tensor *t) { return pto_param_tensor(PTO_HOLD, t); }
static inline struct pto_param pto_scalar_f32(float x) {
  struct pto_param p;
  p.mode = PTO_SCALAR;
  p.scalar_type = PTO_SCALAR_F32;
  p.value.scalar.u64 = 0;
  p.value.scalar.f32 = x;
  return p;
}
static inline struct pto_param pto_scalar_i64(int64_t x) {
  struct pto_param p;
  p.mode = PTO_SCALAR;
  p.scalar_type = PTO_SCALAR_I64;
  p.value.scalar.i64 = x;
  return p;
}
static inline struct pto_param pto_scalar_u64(uint64_t x) {
  struct pto_param p;
  p.mode = PTO_SCALAR;
  p.scalar_type = PTO_SCALAR_U64;
  p.value.scalar.u64 = x;
  return p;
}

/* Whether a task runs, decided when its producers are done: one integer element, an INPUT of the task in every respect.
 */
enum pto_compare { PTO_ALWAYS = 0, PTO_IF_EQ, PTO_IF_NE, PTO_IF_LT, PTO_IF_LE, PTO_IF_GT, PTO_IF_GE };
struct pto_predicate {
  const struct pto_tensor *tensor; /* exactly one element of an integer or bool dtype */
  uint32_t compare;                /* enum pto_compare: element <compare> value */
  int64_t value;                   /* against a PTO_UINT64 element: its bits, as an unsigned number */
};

/* What every element of a parameter begins with that gets its memory by the launch (an output; then also an INOUT or
 * ACCUMULATE of a buffer without memory), before a kernel can run.  Virtual time does not price it. */
struct pto_initial {
  uint32_t param; /* its index */
  uint32_t reserved;
  uint64_t bits; /* of an element; the low ones */
};

/* How a task runs; zero is the default.  A size of 0 stands for the fields of version 0.1.
 *
 * A label, here as of scopes and buffers, is what people are told besides a number: borrowed, it must outlive the
 * runtime, all recordings, and what is reported of the run, as a constant does, or memory of pto_program_alloc. */
struct pto_launch {
  size_t size;
  const struct pto_kernel *aic, *aiv0, *aiv1; /* one kernel, or a MIX of two or three on one cluster */
  uint32_t block_count;                       /* copies with their block_index; 0 means 1 */
  bool sync_start;                            /* all blocks start together */
  bool no_kernel; /* no core runs anything: a task that has parameters, edges and outputs as any, and is done when all
                   * that it comes after is */
  const struct pto_task *after; /* explicit dependencies */
  uint32_t after_count;
  uint32_t initial_count; /* of `initial` */
  struct pto_predicate predicate;
  const struct pto_initial *initial;
  const char *label; /* of the task, for people; NULL: none */
};

/* Submits one task.  PTO_OK, or an error with nothing submitted and nothing changed: PTO_EINVAL, PTO_ESTALE, PTO_EFIT
 * name the parameter and the values and the run goes on; PTO_ESCOPE, PTO_EHEAP, PTO_EWINDOW, PTO_ECAPACITY,
 * PTO_EDEADLOCK end it.  It may run kernels on this thread: the task's own, and those of earlier tasks while it waits
 * for space or is far ahead of them.  *task_out is written only on success. */
PTO_API PTO_MUST_CHECK int pto_submit(struct pto_runtime *rt, const struct pto_launch *launch,
                                      const struct pto_param *params, uint32_t count, struct pto_task *task_out);
PTO_API PTO_MUST_CHECK int pto_submit_aic(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                          const struct pto_param *params, uint32_t count);
PTO_API PTO_MUST_CHECK int pto_submit_aiv(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                          const struct pto_param *params, uint32_t count);
/* A task without a kernel that is done when all of `after` are. */
PTO_API PTO_MUST_CHECK int pto_submit_barrier(struct pto_runtime *rt, const struct pto_task *after, uint32_t count,
                                              struct pto_task *task_out);
/* A task without a kernel: the buffers of `tensors` get memory now, and the task counts as the writer of each. */
PTO_API PTO_MUST_CHECK int pto_alloc_tensors(struct pto_runtime *rt, const struct pto_tensor *tensors, uint32_t count,
                                             struct pto_task *task_out);

/* Where an orchestration looks at memory again and again until a task has changed it: between two looks.  Takes in what
 * has completed and lets the machine go on: on threads for a moment, in virtual time until the next event.  PTO_OK; the
 * second call in a row with all tasks done ends the run with PTO_EDEADLOCK, as nothing is left that could change
 * memory: of a rank of a world only where no other rank goes on either. */
PTO_API PTO_MUST_CHECK int pto_poll(struct pto_runtime *rt);

/* For bindings of other languages: the calls that follow were made at a line of a source, and findings name that line.
 * Borrowed until the runtime is destroyed; a line has one struct.  NULL, and the begin of a run: from C, a call is
 * named by where it returns to. */
struct pto_place {
  const char *file;
  uint32_t line;
};
PTO_API void pto_call_from(struct pto_runtime *rt, const struct pto_place *place);
/* pto_submit with one argument, as there a call pays for each: the caller's, filled once, and submitted as often as it
 * likes.  Returns the task; {0} where it is refused, and why is in `status`: also PTO_EINVAL for another thread than
 * that of the orchestration, and PTO_ESTALE for no runtime, which a caller says whose submission outlives it. */
struct pto_submission {
  struct pto_runtime *rt; /* these as of pto_submit, borrowed for the call */
  const struct pto_launch *launch;
  const struct pto_param *params;
  const struct pto_place *place; /* of this call alone; NULL: as pto_call_from says */
  uint32_t count;                /* of `params` */
  int status;                    /* written: what pto_submit returns */
};
PTO_API struct pto_task pto_submit_from(struct pto_submission *submission);

/* Address of a buffer's first byte; 0 while it has no memory, or where the handle is stale. */
PTO_API uint64_t pto_get_buffer_addr(struct pto_runtime *rt, struct pto_buffer buffer);
/* Cores of a kind (PTO_AIC, PTO_AIV) or clusters (PTO_CLUSTER) of the chip; kinds add up. */
PTO_API uint32_t pto_core_count(struct pto_runtime *rt, uint32_t kinds);

/* Scopes own the tasks submitted in them and keep what those allocate alive until they end; they order nothing.  In a
 * manual scope only explicit dependencies order its tasks.  Nest up to 64 deep; no automatic scope inside a manual one.
 */
enum pto_scope_kind { PTO_SCOPE_AUTO = 0, PTO_SCOPE_MANUAL = 1 };
PTO_API PTO_MUST_CHECK int pto_scope_begin(struct pto_runtime *rt, uint32_t kind);
PTO_API PTO_MUST_CHECK int pto_scope_end(struct pto_runtime *rt);
/* Counts of the innermost open scope, with those that ended within it, as far as they use its ring. */
struct pto_scope_stats {
  size_t size;
  uint32_t depth;      /* 0: the run's own */
  uint32_t ring;       /* which it submits to */
  uint64_t tasks;      /* submitted to the ring since the scope began */
  uint64_t heap_bytes; /* of the ring, allocated since then; with what was left at its end when it came round */
  uint64_t window_used, window;              /* of the ring now: slots in use by all scopes, and slots */
  uint64_t heap_used_bytes, heap_size_bytes; /* the same of its heap ring */
};
/* Fills what fits into stats->size bytes; zeros outside a run. */
PTO_API void pto_scope_statistics(const struct pto_runtime *rt, struct pto_scope_stats *stats);
/* Labels the innermost open scope. */
PTO_API void pto_scope_label(struct pto_runtime *rt, const char *label);
/* Labels a buffer or a registration of external memory; nothing where the handle is stale. */
PTO_API void pto_buffer_label(struct pto_runtime *rt, struct pto_buffer buffer, const char *label);

/* Reads or writes one element (of the tensor's dtype; 4-bit types as one int8 or uint8) from the orchestration: waits
 * for the writers of its bytes; a write also for their readers, under PTO_DEPS_PTO as its rules say. */
PTO_API PTO_MUST_CHECK int pto_read_element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index,
                                            void *value);
PTO_API PTO_MUST_CHECK int pto_write_element(struct pto_runtime *rt, const struct pto_tensor *t, const uint64_t *index,
                                             const void *value);

/* Ends the run with PTO_EUSER and this sentence.  Returns PTO_EUSER (or the run's earlier error). */
PTO_API int pto_report_error(struct pto_runtime *rt, const char *sentence);
/* The sentence of the run's first error, or of the last refused call; "" where there was none.  Borrowed until the next
 * call on `rt`. */
PTO_API const char *pto_last_error(struct pto_runtime *rt);

enum pto_deps_rules { PTO_DEPS_EXACT = 0, PTO_DEPS_PTO = 1 };
/* With PTO_DEPS_PTO, by |: a rule is switched against what pto has, in brackets (docs/dependency-rules.md). */
enum pto_deps_switch {
  PTO_DEPS_SWITCH_CREATOR_EDGES = 0x100,            /* [on] */
  PTO_DEPS_SWITCH_MANUAL_ENTERS_NOTHING = 0x200,    /* [on] */
  PTO_DEPS_SWITCH_PREDICATE_ORDERS_NOTHING = 0x400, /* [on] */
  PTO_DEPS_SWITCH_REDUCE_IMPLIED = 0x800,           /* [off] */
  PTO_DEPS_SWITCH_HOST_WAITS_FOR_READERS = 0x1000,  /* [on] */
  PTO_DEPS_SWITCH_BASE_ADDRESS = 0x2000             /* [on] */
};

/* What is kept of a run for later: costs memory and a little time, changes no result. */
enum pto_record {
  PTO_RECORD_GRAPH = 1,    /* tasks, parameters, edges with reasons */
  PTO_RECORD_TIMELINE = 2, /* kernel calls, and what the control thread did */
  PTO_RECORD_SEGMENTS = 4, /* with TIMELINE, in virtual time: what each clock's time was spent on */
  PTO_RECORD_CALLERS = 8,  /* with GRAPH: by which line of the orchestration a function of it came to submit */
  PTO_RECORD_TASKS = 16 /* of GRAPH the tasks, and of their parameters those that they write: a fifth of its memory */
};

#define PTO_RINGS 4 /* pairs of a task ring and a heap ring, by scope depth */

struct pto_chip;
struct pto_context_watch;
struct pto_stop;
struct pto_rank;
struct pto_value_source;

/* Zeroed fields mean the default in brackets.  Start with `struct pto_config config = {.size = sizeof config};`. */
struct pto_config {
  size_t size;
  const char *engine;  /* "threads" or "virtual" ["threads"] */
  const char *chip;    /* "tiny", "a2a3", "a5" or the path of a chip file ["tiny"] */
  uint32_t workers;    /* threads kernels run on, the control thread counted [CPUs; virtual: 1] */
  uint32_t deps;       /* enum pto_deps_rules, and pto_deps_switch bits [exact] */
  const char *policy;  /* "fifo", "lifo", "random:SEED" ["fifo"] */
  uint64_t window;     /* slots of each task ring, a power of two [16384] */
  uint64_t heap_bytes; /* bytes of each heap ring, a multiple of 1024 [256 MiB] */
  bool poison;         /* fill fresh outputs with a pattern that is NaN in floats, −6 in f4e2m1fn */
  uint32_t record;     /* enum pto_record bits */
  uint32_t timeout_ms; /* a kernel may take that long, and the orchestration between two calls that look at tasks; 0: no
                        * watchdog.  ptosim sets 60 s */
  /* Called once, on the watchdog's thread, with the sentence of PTO_ETIMEOUT; the process must leave soon after. */
  void (*on_timeout)(void *context, const char *sentence);
  void *on_timeout_context;
  uint64_t list_chunks;                 /* chunks of 13 consumers or 8 readers beyond the inline ones [64 a slot] */
  uint64_t map_entries;                 /* regions that the map can hold [never short] */
  uint32_t clusters;                    /* of the chip's, the first so many are used [all] */
  const struct pto_kernel_meter *meter; /* told of kernel calls; borrowed for the runtime's life [none] */
  /* Of ptosim's own, which is told of contexts (pto/device.h) that are made of this configuration; borrowed.  Without
   * contexts it means nothing. */
  const struct pto_context_watch *context_watch;
  /* Kernels are priced and not run, and what tasks touch is address space; virtual engine alone.  An element that the
   * orchestration or a predicate reads is asked of `values`, ptosim's own; without it such a read ends the run. */
  bool no_compute;
  const struct pto_value_source *values;
  /* Virtual engine alone: what kernels take varies by so many millionths (standard deviation, at most 250000), by this
   * seed [0: not at all]. */
  uint32_t jitter_ppm;
  uint64_t jitter_seed;
  /* Of ptosim's own: the chip, instead of what the file `chip` says; borrowed while the runtime is made. */
  const struct pto_chip *made_chip;
  /* A buffer whose scope has ended stays usable until its memory is needed for another task; then, as without this
   * from the end of its scope on, each use of it is PTO_ESTALE. */
  bool keep_released;
  struct pto_stop *stop; /* of ptosim's own: what asks the run to end with PTO_EINTERRUPTED; borrowed */
  /* Of engine threads: which CPUs its threads are bound to.  "none"; "spread": one a physical core first, none that
   * another run has spread to; or their numbers, "0,2-3", thread by thread ["none"] */
  const char *placement;
  struct pto_rank *rank; /* the chip is this rank of a world (pto/world.h), of its chip; virtual engine alone [alone] */
  /* By scope depth: ring 0 is the run's own scope's, the last that of all deeper ones.  A power of two, and a multiple
   * of 1024; no more than `window` and `heap_bytes` [those].  Which edges there are depends on `window` alone. */
  uint64_t ring_window[PTO_RINGS], ring_heap_bytes[PTO_RINGS];
  /* Of ptosim's own: the rules by which a recording (pto/recorded.h) orders its own tasks, as `deps` is written
   * [deps].  A run under exact rules whose order is judged by others has them here. */
  uint32_t recorded_deps;
};

/* Counts of the last run, or of the one that is going on. */
struct pto_stats {
  size_t size;
  uint64_t tasks;                 /* submitted */
  uint64_t edges;                 /* distinct pairs found */
  uint64_t live_edges;            /* those whose producer was unfinished at the submit */
  uint64_t window_high_water;     /* most slots in use of any ring */
  uint64_t heap_high_water_bytes; /* most bytes in use of any heap ring */
  uint64_t wall_ns;               /* orchestration start to drain; of the last run that has ended */
  uint64_t virtual_ps;            /* the same in virtual time; 0 on threads */
  uint64_t lookups, candidates;   /* region lookups, and entries whose overlap had to be decided */
  uint64_t overlap_budget_exhausted;
  uint64_t submit_waits; /* submits that had to wait for space */
  uint32_t workers;      /* in use */
  uint32_t cores;
  uint64_t orchestration_ps; /* virtual time from the begin of the orchestration to its return; 0 on threads */
  /* Virtual time of kernels, summed over cores, by where it comes from: a table of measured times has the call; it has
   * others on either side; the chip file's stages; its rates alone. */
  uint64_t measured_ps, interpolated_ps, modelled_ps, assumed_ps;
  uint64_t refused; /* submits that were refused, and the run went on */
  uint64_t ring_window_high_water[PTO_RINGS], ring_heap_high_water_bytes[PTO_RINGS]; /* by scope depth */
};

/* Makes a runtime on a chip of its own.  `config` may be NULL.  On failure *rt_out is untouched; the explained form
 * then writes the reason to `sentence` (sentence_size bytes).  All memory is reserved here; nothing is allocated while
 * a run goes on. */
PTO_API PTO_MUST_CHECK int pto_runtime_create(const struct pto_config *config, struct pto_runtime **rt_out);
PTO_API PTO_MUST_CHECK int pto_runtime_create_explained(const struct pto_config *config, struct pto_runtime **rt_out,
                                                        char *sentence, size_t sentence_size);
/* Runs `orchestration(rt, context)` and everything it submitted; returns PTO_OK or the run's first error (a non-zero
 * return of the orchestration is PTO_EUSER).  Starts from a clean state: the first error of the run before is
 * forgotten. */
PTO_API PTO_MUST_CHECK int pto_run(struct pto_runtime *rt, int (*orchestration)(struct pto_runtime *, void *),
                                   void *context);
/* NULL is allowed.  Not from within a run. */
PTO_API void pto_runtime_destroy(struct pto_runtime *rt);
/* Fills what fits into stats->size bytes. */
PTO_API void pto_runtime_stats(const struct pto_runtime *rt, struct pto_stats *stats);
/* Makes counters of this runtime events of PAPI, readable by its calls in this process until the runtime is destroyed,
 * while runs go on too, as sde:::pto::tasks, pto::edges, pto::stalls, pto::transfers and pto::transfer_bytes (PAPI
 * gives their growth since PAPI_start), pto::ready and pto::heap_bytes (their values now).  Any thread may read; the
 * control thread reads what is true now, others what was true at most 32 submits ago.  Those of a second runtime at the
 * same time are pto2::tasks and so on, up to pto8.  PTO_OK (again, too), PTO_ENOMEM, or PTO_ENOTSUP where the library
 * is built without libsde. */
PTO_API PTO_MUST_CHECK int pto_runtime_publish_counters(struct pto_runtime *rt);

#ifdef __cplusplus
}
#endif
#endif
