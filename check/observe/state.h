/* SPDX-License-Identifier: MIT */
/*
 * The state of an observation, and the steps that its files share.
 *
 *   observe.c         what is to be looked at, and the order of the steps for each unit
 *   memory.c          guarded pages
 *   shadow.c          who has written what of the arena
 *   statics.c         static variables of kernels
 *   thread.c          thread-local variables: whether a call depends on what others left there
 *   private.c         memory of pto_core_private: the same
 *   call.c            what a unit declares, its runs, what they show
 *   around.c          the floating-point mode, and what kernels are told
 *   rehearsal.c       tasks whose cores wait for each other, on ranks
 *   promises.c        modes, flags, placement
 *   sums.c            what ACCUMULATE adds
 *   uses.c            modes and flags that no call of a kernel needs
 *   scalars.c         scalars that are addresses of memory which no task declares
 *   search.c          which bytes are read
 *   core_order.c      what orders the cores of a unit: vector clocks
 *   cores.c           bytes that cores touch with nothing to order them
 *   core_runs.c       one run of such a unit: what its stretches write, what other values come to
 *   steps.c           operations on words, by the instruction
 *   task.c            what all units of a task come to
 *   places.c          what memory and tasks are called
 *   findings.c        sentences about accesses
 *   state_findings.c  sentences about what outlives a call
 *   core_findings.c   sentences about cores
 *   core_stretches.c  where in a kernel a core is
 *   core_remedies.c   what is to be added between cores
 *
 * Always true within a unit: `call` describes it; between two runs of it memory is anything, and each run begins with
 * setting it.
 */
#ifndef PTO_CHECK_OBSERVE_STATE_H
#define PTO_CHECK_OBSERVE_STATE_H

#include <check/observe/observe.h>
#include <check/observe/memory.h>
#include <check/observe/shadow.h>
#include <check/observe/statics.h>
#include <runtime/base/text.h>
#include <report/findings/source_lines.h>
#include <runtime/control/runtime_state.h>
#include <runtime/port/core_port.h>
#include <pto/world.h>
#include <runtime/tensor/region_runs.h>
#include <sim/engine/observed_unit.h>

/* A tensor parameter of the unit. */
struct pto_observe_param {
  struct pto_region region;
  uint32_t mode;      /* what the unit's kernels do to it */
  uint32_t task_mode; /* what all kernels of the task do */
  uint32_t index;     /* among the task's parameters */
  uint64_t element_bytes;
  bool is_packed;   /* two elements a byte */
  const char *name; /* the kernel's; NULL */
};

/* What is told of a task, also when it is over. */
struct pto_observe_told_task {
  uint64_t number;
  const struct pto_kernel *kernels[PTO_ROLE_COUNT]; /* NULL where a role has none */
};

#define PTO_OBSERVE_NO_CORE UINT32_MAX

/* Values of scalars of which a form's calls are looked at in full; and what cores of a form call, in which order, of
 * which it is looked what orders them. */
#define PTO_OBSERVE_SCALARS 6u
#define PTO_OBSERVE_CORE_CALLS 8u

/* How often calls with the same kernels and shapes have been met. */
struct pto_observe_form {
  uint64_t key; /* 0: free */
  uint32_t calls, searches;
  uint32_t scalars[PTO_OBSERVE_SCALARS], scalar_count;           /* hashes of all that a call has */
  uint32_t core_calls[PTO_OBSERVE_CORE_CALLS], core_calls_count; /* hashes of what its cores call */
  uint16_t params[PTO_FINDING_COUNT]; /* 1 more than that of the last finding of a kind; 0: none */
};
#define PTO_OBSERVE_FORMS 65536u

/* Copies from UB to global memory count blocks of 32 bytes (pto-isa: copy_ubuf_to_gm); another form stores single
 * bytes. */
#define PTO_OBSERVE_STORE_BYTES 32u

/* What a run has left changed and is no memory of tensors; it was put back. */
struct pto_observe_left_changed {
  uint64_t usual_float_mode, float_mode; /* sim/host/float_mode.h */
  bool has_descriptor;                   /* of what the kernels are told */
  uint64_t descriptor_byte;              /* the first of it, from the payload's tensors on */
};

/* As it was before a run. */
struct pto_observe_around {
  uint64_t float_mode, bytes;
  uint8_t descriptors[PTO_MAX_TENSORS * (sizeof(struct pto_kernel_tensor) + 2 * sizeof(uint64_t) * PTO_MAX_DIMS) +
                      PTO_MAX_SCALARS * sizeof(union pto_scalar)];
};

struct pto_observe_call {
  const struct pto_observed_unit *unit;
  const struct pto_payload *payload;
  struct pto_observe_told_task task;
  struct pto_observe_param params[PTO_MAX_TENSORS];
  uint32_t param_count;
  uint32_t label;                       /* of the unit in its task */
  bool is_unstable;                     /* runs alike came out different: it says nothing of its cores */
  bool has_others;                      /* the task has other units */
  bool has_shared;                      /* some byte is of class SHARED */
  struct pto_observed_local local;      /* of each core's local memory, what may matter */
  uint64_t local_bytes;                 /* all of that */
  uint8_t local_roles;                  /* PTO_ROLE_BITs of the cores on which repeated runs fill it; 0: all */
  int status;                           /* of the first run */
  struct pto_observe_left_changed left; /* by the first run */
  uint32_t spinning_core;               /* that never came back in it, with PTO_ETIMEOUT */
  uint64_t first_ns;
  struct pto_observe_form *form_entry;   /* its kernels and shapes; NULL: there is no room for it */
  bool is_full;                          /* all is asked of it, not only what every call is asked */
  uint8_t calling_roles;                 /* PTO_ROLE_BITs of those whose kernels have called pto/core.h, in any run */
  uint64_t runs;                         /* so far */
  const struct pto_observe_param *asked; /* what a child process is asked of */
  uint64_t *asked_scalar;
};

struct pto_observe_text {
  char bytes[PTO_SENTENCE_SIZE];
  char extent[64]; /* the first bytes that it tells of, of their object: "bytes 0:64"; "": of none */
  const struct pto_observe_told_task *earlier;   /* of the earlier access, where it tells of two; else NULL */
  const struct pto_observe_param *earlier_param; /* that it was through; NULL: none */
  enum pto_decided decided;                      /* of the finding */
  bool is_of_calls_before;                       /* the same */
};

/* Bytes that a unit of a task has touched. */
struct pto_observe_access {
  uint64_t lo, hi;
  uint32_t label;
  bool is_read;
};
/* A finding that is told when its task is over, unless other units of the task have written all of the bytes. */
struct pto_observe_held {
  struct pto_observe_told_task task;
  struct pto_observe_param param;
  uint32_t label;
  struct pto_observe_range *ranges;
  uint32_t count;
  struct pto_observe_text *text;
  char array[160];
};
struct pto_observe_task {
  uint64_t number; /* PTO_FINDING_NONE: free */
  uint32_t messages_left;
  bool has_block_order; /* its blocks run one after another */
  bool knows_writes;    /* all that its units wrote is known */
  struct pto_observe_access *accesses;
  size_t count, capacity;
  struct pto_observe_held *held;
  size_t held_count, held_capacity;
};

/* Bytes that a task declared to write and left as they were. */
struct pto_observe_left {
  struct pto_observe_told_task task;
  struct pto_observe_param param;
  uint64_t buffer_number; /* that the memory was of, in the arena; 0: elsewhere */
  struct pto_observe_range *ranges;
  uint32_t count;
  bool is_in_place; /* with its input apart: in place they hold what the input has */
  bool is_told;
};

/* A parameter that a task would have written, had its predicate held. */
struct pto_observe_skipped {
  struct pto_observe_told_task task;
  struct pto_observe_param param;
  uint64_t buffer_number;  /* as of what was left out */
  uint64_t predicate_addr; /* of the element; what it was, and what it was compared with */
  int64_t element, value;
  uint16_t dtype, compare;
};

/* What all calls of a kernel do with a parameter that it declares INOUT or ACCUMULATE, or with its flag
 * PTO_KERNEL_WAITS. */
struct pto_observe_use {
  const struct pto_kernel *kernel;
  uint32_t param;                    /* PTO_OBSERVE_FLAG: the flag */
  bool is_read, is_written, is_kept; /* by some call; the flag: the first two, needed or not known */
  struct pto_observe_told_task task; /* the first */
  struct pto_observe_param as;       /* what it declares */
  uint32_t asked;                    /* calls, at most PTO_OBSERVE_MOST_ASKED */
};
#define PTO_OBSERVE_FLAG PTO_MAX_PARAMS
#define PTO_OBSERVE_MOST_ASKED 256u /* each costs a process */

struct pto_observe_cores;

/* Of one core of the unit, memory that its kernels keep (pto_core_private). */
struct pto_observe_own {
  struct pto_observed_own now;
  uint64_t at; /* of its bytes among those of all cores of the unit */
  uint32_t core, role, block_index;
};
/* What a kind of core was left with by the last call on one of them. */
struct pto_observe_left_own {
  uint8_t *bytes; /* NULL: nothing was */
  uint64_t size_bytes, task_number;
};
struct pto_observe_private {
  struct pto_observe_own *cores; /* of the unit */
  size_t count, capacity;
  uint8_t *begun, *other; /* what the unit began with, of all of them, and what it might have begun with */
  uint64_t begun_bytes, begun_capacity;
  struct pto_observe_left_own left[2]; /* of AIC, AIV */
};

/* Bytes that a rehearsed unit changed, as they were. */
struct pto_observe_undo {
  uint64_t addr, size_bytes;
  uint8_t before[48];
};

/* Calls that were rehearsed together or left out together, of which some did not begin yet. */
struct pto_observe_begun {
  uint64_t number; /* of the task */
  uint32_t block;  /* UINT32_MAX: all */
  uint32_t calls_left;
  uint64_t *why_not; /* what counts them; NULL: they were rehearsed */
  bool gave_up;      /* the rehearsal: they fail as it did */
};

/* Tasks whose cores wait for each other, and that run in virtual time. */
struct pto_observe_rehearsal {
  struct pto_port *port;     /* an engine "observe" of its own; NULL: none was needed yet */
  bool is_going_on, gave_up; /* the last one: a core ran for ever */
  struct pto_message *messages;
  size_t message_count, message_capacity;
  struct pto_observe_undo *undo;
  size_t undo_count, undo_capacity;
  struct pto_observe_begun *begun;
  size_t begun_count, begun_capacity;
};

struct pto_observe_group {
  struct pto_reserve own; /* the memory of this struct */
  struct pto_observe_memory memory;
  const struct pto_observation *members[PTO_MAX_RANKS]; /* by owner; NULL: it has none now */
};

struct pto_observation {
  struct pto_reserve own; /* the memory of this struct */
  struct pto_runtime *rt;
  struct pto_port *port;
  struct pto_observe_options options;
  struct pto_findings *findings;
  struct pto_source_lines *lines; /* NULL: none was needed yet */
  struct pto_observe_range arena;
  const struct pto_observe_rank *rank; /* NULL: of one chip */
  struct pto_observe_group *group;     /* of the ranks, or its own */
  struct pto_observe_memory *memory;   /* the group's */
  struct pto_observe_shadow shadow;
  struct pto_engine_observer observer;
  struct pto_memory_watch watch;
  bool is_in_run;
  bool is_refused; /* another run of the process is being observed, so this one is not */
  struct pto_observe_call call;
  struct pto_observe_statics statics;
  struct pto_observe_private own_memory; /* of cores */
  struct pto_observe_cores *cores;       /* NULL: no unit that waits was met yet */
  struct pto_observe_rehearsal rehearsal;
  struct pto_observe_task *tasks; /* begun and not over */
  size_t task_count, task_capacity;
  struct pto_observe_left *left; /* in order of tasks */
  size_t left_count, left_capacity;
  struct pto_observe_skipped *skipped; /* in order of time */
  size_t skipped_count, skipped_capacity;
  struct pto_observe_use *uses; /* of all runs */
  size_t use_count, use_capacity;
  struct pto_reserve forms_memory;
  struct pto_reserve noise_memory;   /* two pages of it, and two of special values */
  struct pto_reserve scratch_memory; /* a page of kinds, and the unit's slots in order of addresses */
  struct pto_observe_summary summary;
};

/* Sorted ranges of bytes. */
struct pto_observe_bytes {
  struct pto_observe_range *ranges;
  size_t count, capacity;
  bool is_bounded;    /* the search ended early: first and last byte are exact */
  bool is_unsearched; /* all that could be */
  bool is_short;      /* memory ended: some are not here */
};

/* What a repeated run came to. */
struct pto_observe_outcome {
  bool differs; /* from the first run: in what was written, or in the status, or it did not come back */
  int caught;   /* the signal that ended it, SIGVTALRM: its time was over; 0: none */
  int status;
  uint64_t first_difference; /* the lowest byte that is not as the first run left it; 0: none is */
  uint64_t last_difference;
};

/* Values for bytes that must not matter.  Of the first pair each differs from the true one; the other pair has special
 * values of floats, NaN or infinite, one where the other has the other. */
enum pto_observe_pattern { PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_POSITIVE, PTO_OBSERVE_NAN, PTO_OBSERVE_INFINITE };
/* The other one of its pair. */
static inline enum pto_observe_pattern pto_observe_other_pattern(enum pto_observe_pattern pattern) {
  return (enum pto_observe_pattern)(pattern ^ 1u);
}

/* Which of all who are observed together it is. */
static inline uint32_t pto_observe_owner(const struct pto_observation *o) { return o->rank ? o->rank->index : 0; }

static inline struct pto_observe_told_task pto_observe_told_task(const struct pto_payload *payload) {
  struct pto_observe_told_task task = {.number = payload->task_number};
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) task.kernels[k] = payload->kernels[k];
  return task;
}

/* How many kernels a task has: one a role at most. */
static inline uint32_t pto_observe_kernel_count(const struct pto_payload *payload) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) count += payload->kernels[k] != NULL;
  return count;
}

/* A unit in its task: of its first call. */
static inline uint32_t pto_observe_label(uint32_t block_index, uint32_t role) { return block_index * 4 + role; }
static inline uint32_t pto_observe_label_block(uint32_t label) { return label / 4; }
static inline uint32_t pto_observe_label_role(uint32_t label) { return label % 4; }

/* check/observe/call.c */
/* Processor time of this thread. */
uint64_t pto_observe_now_ns(void);
/* Once. */
void pto_observe_make_noise(struct pto_observation *o);
/* What all kernels of a task do to a parameter. */
uint32_t pto_observe_task_mode(const struct pto_payload *payload, uint32_t param);
/* Fills `call` from the unit. */
void pto_observe_describe(struct pto_observation *o, const struct pto_observed_unit *unit);
/* Whether the unit that was described, and is observed, is one of the first of its form, or of the first with these
 * scalars. */
bool pto_observe_is_full(const struct pto_observation *o);
/* Whether the options ask for the unit that was described. */
bool pto_observe_is_wanted(const struct pto_observation *o);
/* Makes the unit's pages and says what it may do with each of their bytes.  False where there are too many. */
bool pto_observe_declare(struct pto_observation *o);
#define PTO_OBSERVE_RUNS_FOR_EVER "it runs for ever without a call of pto/core.h"
/* The run that counts; its end is kept in `after`. */
void pto_observe_run_first(struct pto_observation *o);
/* Another from the same beginning, with other values where `sel` is not 0 and in these bytes of local memory; bytes
 * that it shows to be written are added to `written`. */
struct pto_observe_outcome pto_observe_run_again(struct pto_observation *o, enum pto_observe_pattern pattern,
                                                 struct pto_observe_range local);
/* Whether the last run over these values, which is still in memory, has left another byte there than it began with. */
bool pto_observe_has_changed(const struct pto_observation *o, uint32_t slot, uint64_t at,
                             enum pto_observe_pattern pattern);
#define PTO_OBSERVE_LOCAL_WORD 4u /* as fine as local memory is searched */
#define PTO_OBSERVE_NO_LOCAL ((struct pto_observe_range){0, 0})
static inline struct pto_observe_range pto_observe_all_local(const struct pto_observation *o) {
  return (struct pto_observe_range){0, o->call.local_bytes};
}
/* What stands in `sel` for a byte that is selected: even for what is to be written alone, so that no value which is
 * read elsewhere and written there is the one that it had; without its upper half where no element is there. */
static inline uint8_t pto_observe_selects(uint8_t byte_class) {
  const uint8_t bits = byte_class & PTO_OBSERVE_HALF ? 0x0f : 0xff;
  return (byte_class & (PTO_OBSERVE_READ | PTO_OBSERVE_WRITE)) == PTO_OBSERVE_WRITE ? bits & 0xfe : bits;
}
/* Selects these bytes too, where they are of the call's pages. */
void pto_observe_select_range(struct pto_observation *o, struct pto_observe_range range);
/* Selects the bytes whose class `wanted` answers with true; NULL: none. */
void pto_observe_select(struct pto_observation *o, bool (*wanted)(uint8_t byte_class));
/* What is known of the call's pages while they are those of another call: what they began with, and what was written.
 */
struct pto_observe_kept {
  uint8_t *before, *written;
  uint64_t bytes;
};
/* False where they are too many, or there is no memory. */
bool pto_observe_keep(const struct pto_observation *o, struct pto_observe_kept *kept);
void pto_observe_give_back(const struct pto_observation *o, struct pto_observe_kept *kept);
bool pto_observe_must_not_matter(uint8_t byte_class);
/* Memory as the unit began with it, and other values where `sel` is not 0. */
void pto_observe_set_before(struct pto_observation *o);
/* Memory as the first run left it. */
void pto_observe_restore(struct pto_observation *o);
/* What is declared to be written counts as written: for units that are not looked at, after describe. */
void pto_observe_assume_writes(struct pto_observation *o);

/* How many bytes from `at` < end on are the same. */
static inline uint64_t pto_observe_same_bytes(const uint8_t *bytes, uint64_t at, uint64_t end) {
  const uint64_t begin = at, all = bytes[at] * UINT64_C(0x0101010101010101);
  for (uint64_t word; at + sizeof word <= end; at += sizeof word) {
    __builtin_memcpy(&word, bytes + at, sizeof word);
    if (word != all) break;
  }
  while (at < end && bytes[at] == bytes[begin]) at++;
  return at - begin;
}
/* Bytes one after another of the same kind, which is not 0. */
struct pto_observe_span {
  uint64_t lo, hi;
  uint8_t kind;
};
/* Writes the kind of each byte of a page. */
typedef void pto_observe_kinds_of(const struct pto_observation *o, uint32_t slot, uint8_t *kinds);
/* Calls `take` for each maximal span of the unit's pages, in order of addresses. */
void pto_observe_each_span(struct pto_observation *o, pto_observe_kinds_of *kinds_of,
                           void (*take)(struct pto_observation *o, const struct pto_observe_span *span, void *context),
                           void *context);

/* check/observe/search.c: a repeated run differed from the first, and another over the same bytes did not.  `is_full`:
 * byte by byte, not only of what kind. */
void pto_observe_search(struct pto_observation *o, enum pto_observe_pattern pattern, bool is_full);
/* From the first of [begin, end) that matters to behind the last one, where some do: `any_matters` says whether one of
 * a part does. */
struct pto_observe_range pto_observe_find_ends(uint64_t begin, uint64_t end,
                                               bool (*any_matters)(void *context, uint64_t first, uint64_t end),
                                               void *context);
/* Which bytes that other units of the task may write this one reads. */
void pto_observe_search_shared(struct pto_observation *o);

/* check/observe/promises.c: all runs of the unit were alike. */
void pto_observe_judge_promises(struct pto_observation *o, bool is_first_of_form);
/* Whether the parameter's bytes, which now lie `away` from their place, are as the first run left them. */
bool pto_observe_is_as_first(const struct pto_observation *o, const struct pto_observe_param *param, uint64_t away,
                             uint64_t *first_difference);
/* check/observe/sums.c: of parameters that are ACCUMULATE. */
void pto_observe_judge_sums(struct pto_observation *o);

/* check/observe/around.c: before and behind each run; what it has changed is put back. */
void pto_observe_around_begin(const struct pto_observation *o, struct pto_observe_around *around);
void pto_observe_around_end(struct pto_observation *o, const struct pto_observe_around *around,
                            struct pto_observe_left_changed *left);

/* check/observe/uses.c: what the unit did with what its kernel declares; `is_known`: it was looked at, and its runs
 * were alike. */
void pto_observe_note_uses(struct pto_observation *o, bool is_known);
/* The same of its kernels' flags, when the unit has run in all orders of its cores that it is to run in: who polls may
 * find at once what it looks for, and call nothing. */
void pto_observe_note_flags(struct pto_observation *o, bool is_known);
/* Of a parameter of the unit's task: that its task has not written all of it, or that this is not known. */
void pto_observe_note_kept(struct pto_observation *o, const struct pto_observe_param *param);
/* The last run is over. */
void pto_observe_report_uses(struct pto_observation *o);

/* check/observe/scalars.c: those of the unit's task.  The payload's: between two runs, or in a child. */
static inline union pto_scalar *pto_observe_scalars(const struct pto_observation *o) {
  return (void *)(uintptr_t)&o->call.payload->tensors[o->call.unit->messages[0].tensor_count];
}
/* All runs of the unit were alike. */
void pto_observe_judge_scalars(struct pto_observation *o);

/* check/observe/thread.c: asks in a child process, of which nothing outlives the answer.  False: there is no answer. */
bool pto_observe_in_child(struct pto_observation *o, void (*ask)(struct pto_observation *o, void *answer), void *answer,
                          size_t size);
/* Whether the call comes out different on a new thread. */
void pto_observe_judge_thread(struct pto_observation *o);
/* What a run over the true memory comes to in a child process, in which `set` is called first; as the first run, where
 * there is no child. */
struct pto_observe_outcome pto_observe_run_in_child(struct pto_observation *o,
                                                    void (*set)(struct pto_observation *o, const void *context),
                                                    const void *context);
/* Two runs over the same bytes differ: whether thread-local variables are the reason, as far as can be told. */
bool pto_observe_is_of_thread(struct pto_observation *o);

/* check/observe/private.c: before the first run of a unit, and behind it; nothing where the unit does not wait. */
void pto_observe_private_begin(struct pto_observation *o);
void pto_observe_private_end_first(struct pto_observation *o);
/* Whether the call comes out different on a core of which other calls have used the memory, or none. */
void pto_observe_judge_private(struct pto_observation *o);
/* Two runs over the same bytes differ: whether that memory is the reason; then it is told. */
bool pto_observe_blame_private(struct pto_observation *o);
/* After the last run of a unit: what it leaves. */
void pto_observe_private_leave(struct pto_observation *o);
void pto_observe_private_fini(struct pto_observe_private *own_memory);

/* check/observe/cores.c: of a unit that waits, after its other runs. */
void pto_observe_judge_cores(struct pto_observation *o, bool runs_were_alike);
void pto_observe_cores_destroy(struct pto_observe_cores *cores);
/* check/observe/core_findings.c: the unit's first run ended because cores wait for ever, or one of them runs for ever.
 */
void pto_observe_report_stuck(struct pto_observation *o);
void pto_observe_report_spinning(struct pto_observation *o);

/* check/observe/rehearsal.c: a call of a task whose kernels wait for each other is about to begin in virtual time. True
 * where the task was observed; else it is counted, and what was described is gone. */
bool pto_observe_rehearse(struct pto_observation *o, struct pto_message *message);
/* In a rehearsal: keeps what the unit has changed, after its last run. */
void pto_observe_rehearsal_note(struct pto_observation *o);
void pto_observe_rehearsal_fini(struct pto_observe_rehearsal *rehearsal);

/* check/observe/task.c */
void pto_observe_task_add(struct pto_observation *o, uint64_t lo, uint64_t hi, bool is_read);
/* The predicate of the task in this slot does not hold for its element. */
void pto_observe_task_skip(struct pto_observation *o, uint32_t slot, int64_t element);
/* A read of what an OUTPUT held in these ranges: it is no finding of its own where other units of the task write them,
 * before it or behind it. */
void pto_observe_task_hold(struct pto_observation *o, const struct pto_observe_param *param, const char *array,
                           const struct pto_observe_text *text, const struct pto_observe_range *ranges, uint32_t count);
/* Whether another unit of the task has written one of these bytes. */
bool pto_observe_task_has_written(struct pto_observation *o, uint64_t lo, uint64_t hi);
/* The unit is over, and all that it wrote is known or not; with the last one the task is judged. */
void pto_observe_task_end_unit(struct pto_observation *o, bool knows_writes);
/* Bytes were read that were never written: the task that left them out is told. */
void pto_observe_task_blame(struct pto_observation *o, const struct pto_observe_bytes *read);
/* A call in place would leave these bytes out, had it its input apart.  Takes the ranges. */
void pto_observe_task_leave_in_place(struct pto_observation *o, const struct pto_observe_param *param,
                                     struct pto_observe_bytes *missing);
/* Those of the bytes that such a call has left out are told of it, and taken out. */
void pto_observe_task_take_in_place(struct pto_observation *o, struct pto_observe_bytes *read);
/* The run is over: bytes outside the arena that a task left out, and no later task wrote, are told. */
void pto_observe_tasks_finish(struct pto_observation *o);
void pto_observe_tasks_clear(struct pto_observation *o);

/* check/observe/places.c */
/* Calls come in order of `lo`.  A range that overlaps or touches the last one becomes one with it. */
void pto_observe_bytes_add(struct pto_observe_bytes *bytes, uint64_t lo, uint64_t hi);
/* Also notes for the summary whether memory ended. */
void pto_observe_bytes_fini(struct pto_observation *o, struct pto_observe_bytes *bytes);
#define PTO_OBSERVE_SAY(text, ...) pto_text_append((text)->bytes, sizeof(text)->bytes, __VA_ARGS__)
/* "task 17", of several ranks "rank 2 task 17". */
void pto_observe_say_task(struct pto_observe_text *text, const struct pto_observation *o, uint64_t number);
/* "task 17 (softmax) block 3 AIV1", with what tells its units apart. */
void pto_observe_say_unit(struct pto_observe_text *text, const struct pto_observation *o, uint32_t label);
/* "bytes [64, 80) of array y (buffer 5)"; what they lie in into `object`. */
void pto_observe_say_bytes(struct pto_observe_text *text, const struct pto_observation *o, uint64_t lo, uint64_t hi,
                           char *object, size_t object_size);
/* "param 2 z (output)". */
void pto_observe_say_param(struct pto_observe_text *text, const struct pto_observe_param *param);
/* The number of the buffer at an address; 0 where there is none. */
uint64_t pto_observe_buffer_at(const struct pto_observation *o, uint64_t addr);
/* The last task that left one of these bytes out; NULL where none did. */
struct pto_observe_left *pto_observe_left_find(struct pto_observation *o, uint64_t lo, uint64_t hi);
/* The last task whose predicate kept it from writing one of these bytes; NULL where none did. */
const struct pto_observe_skipped *pto_observe_skipped_find(const struct pto_observation *o, uint64_t lo, uint64_t hi);
/* Whether the byte is of external memory that is registered. */
bool pto_observe_is_external(const struct pto_observation *o, uint64_t addr);
/* What memory bytes lie in, and where it begins: ranges are told from there. */
struct pto_observe_object {
  char name[160];
  uint64_t lo, hi;
  uint64_t buffer_number; /* of the runtime `rt`; 0: it is no buffer, or one that has gone */
  bool has_gone;          /* memory that was a buffer's */
  const struct pto_runtime *rt;
  const struct pto_array *array; /* that begins at `lo` and has this shape; NULL: none is known */
};
/* The bytes that the finding is of, unless some are noted already. */
void pto_observe_note_extent(struct pto_observe_text *text, const struct pto_observe_object *object, uint64_t lo,
                             uint64_t hi);
/* "`pto_tensor_view(&x, (const uint64_t[]){4, 0}, (const uint64_t[]){1, 16})`": the smallest box of the object that has
 * the ranges, and `with`, which may be NULL.  False, and nothing is said, where it has no known elements there. */
bool pto_observe_say_view(struct pto_observe_text *text, const struct pto_observe_object *object,
                          const struct pto_observe_range *ranges, uint32_t count, const struct pto_region *with);
/* Also of another rank that is observed with `o`. */
void pto_observe_object_at(const struct pto_observation *o, uint64_t lo, struct pto_observe_object *object);
/* "bytes [64, 80), [96, 112) and 14 more, 400 bytes in all, of buffer 5 (elements …)": those from `first` on that lie
 * in the object.  Returns the index of the first range that was not said. */
uint32_t pto_observe_say_ranges(struct pto_observe_text *text, const struct pto_observation *o,
                                const struct pto_observe_bytes *bytes, uint32_t first,
                                const struct pto_observe_object *object);
/* " (elements [4,8] to [7,8] of f32[16,16])", from the first byte to the last one; nothing where they are not known. */
void pto_observe_say_elements(struct pto_observe_text *text, const struct pto_observe_object *object, uint64_t lo,
                              uint64_t hi);
/* "right behind param 0 x (input)". */
void pto_observe_say_distance(struct pto_observe_text *text, const struct pto_observation *o,
                              const struct pto_observe_param *param, uint64_t lo, uint64_t hi);
/* The parameter that is nearest to these bytes; NULL where the unit has none with bytes. */
const struct pto_observe_param *pto_observe_nearest(const struct pto_observation *o, uint64_t lo, uint64_t hi);
/* Of what size its elements are: the smallest one's where parameters of several sizes reach into the bytes, as another
 * block may have the rest of the larger element. */
uint64_t pto_observe_element_bytes(const struct pto_observation *o, uint64_t lo, uint64_t hi);

/* check/observe/remedies.c */
/* Of memory that a buffer had. */
#define PTO_OBSERVE_WHILE_IT_LIVES                                                                                     \
  "submit the task with the buffer's tensor before the scope ends that keeps its memory"
/* "…, or let param 0 (z) have them, `pto_tensor_view(…)`"; nothing, for the remedy of the kind, where no view of this
 * rank's has the bytes. */
void pto_observe_say_declaration(struct pto_observe_text *remedy, const struct pto_observation *o, uint32_t kind,
                                 const struct pto_observe_param *param, const struct pto_observe_object *object,
                                 const struct pto_observe_range *ranges, uint32_t count);
/* "declare param 0 INOUT: `.mode = PTO_INOUT` in the kernel's list, `pto_inout` in its submits": a submit has to agree
 * with the list. */
void pto_observe_say_mode(struct pto_observe_text *remedy, const struct pto_observe_param *param, uint32_t mode);
/* INOUT for an OUTPUT of the task, or an INPUT, with values to begin with where the parameter has none. */
void pto_observe_say_inout(struct pto_observe_text *remedy, const struct pto_observation *o,
                           const struct pto_observe_told_task *task, const struct pto_observe_param *param);

/* check/observe/findings.c */
/* "byte 4 of array z comes out different": what a run over other bytes, or at another time, came to. */
void pto_observe_say_difference(struct pto_observe_text *text, const struct pto_observation *o,
                                const struct pto_observe_outcome *outcome);
/* Adds a finding of the task.  `param` NULL: of none; `array` NULL: it is about no memory of its own; `remedy` NULL or
 * "": that of the kind. */
void pto_observe_add(struct pto_observation *o, uint32_t kind, const struct pto_observe_param *param, const char *array,
                     const char *remedy, const struct pto_observe_told_task *task, const struct pto_observe_text *text);
void pto_observe_report(struct pto_observation *o, uint32_t kind, const struct pto_observe_bytes *bytes,
                        const struct pto_observe_outcome *effect);
/* The same, and what would be told goes to `take`, of ranges in one object; where the bytes were not searched for, it
 * is told. */
typedef void pto_observe_take(struct pto_observation *o, const struct pto_observe_param *param, const char *array,
                              const struct pto_observe_text *text, const struct pto_observe_range *ranges,
                              uint32_t count);
void pto_observe_report_to(struct pto_observation *o, uint32_t kind, const struct pto_observe_bytes *bytes,
                           const struct pto_observe_outcome *effect, pto_observe_take *take);
/* A store that left the value that was there. */
void pto_observe_report_store(struct pto_observation *o, uint32_t kind, uint64_t addr);
void pto_observe_report_left(struct pto_observation *o, const struct pto_observe_left *left,
                             const struct pto_observe_bytes *bytes);
/* These bytes of local memory, on the cores of call.local_roles. */
void pto_observe_report_local(struct pto_observation *o, struct pto_observe_range local,
                              const struct pto_observe_outcome *effect);
/* Local memory behind what a cost states: call.local.over. */
void pto_observe_report_over(struct pto_observation *o);
/* The predicate of the task in this slot has read its element; nothing, where that was written. */
void pto_observe_report_predicate(struct pto_observation *o, uint32_t slot, int64_t element);
/* The orchestration, called from `call`, reads these bytes; nothing, where they were written. */
void pto_observe_report_host_read(struct pto_observation *o, uint64_t lo, uint64_t hi, const void *call);
/* "byte 4 of z … WORDS; REMEDY", of a byte of this parameter.  `remedy` NULL: none is known. */
void pto_observe_report_promise(struct pto_observation *o, uint32_t kind, const struct pto_observe_param *param,
                                uint64_t at, const char *words, const char *remedy);
/* The scalar, the kernel's parameter `index`, is the address of memory that it touches and that no task declares. */
void pto_observe_report_heap(struct pto_observation *o, uint32_t index);
void pto_observe_report_unneeded(struct pto_observation *o, const struct pto_observe_use *use, const char *words,
                                 const char *remedy);
/* The kernel's parameter that is its scalar number `index`. */
uint32_t pto_observe_param_of_scalar(const struct pto_kernel *kernel, uint32_t index);
/* Scalars of the unit's task that are addresses of what it does not declare. */
void pto_observe_report_addresses(struct pto_observation *o);
void pto_observe_report_near(struct pto_observation *o, const struct pto_observe_access *a,
                             const struct pto_observe_access *b);
void pto_observe_report_blocks(struct pto_observation *o, const struct pto_observe_access *a,
                               const struct pto_observe_access *b, uint64_t lo, uint64_t hi);

/* check/observe/state_findings.c */
void pto_observe_report_state(struct pto_observation *o, const char *data, uint64_t size_bytes);
/* The call depends on what a call before it left in thread-local variables. */
void pto_observe_report_thread(struct pto_observation *o, const struct pto_observe_outcome *effect);
/* The call depends on these bytes, as own->at counts, of a core's memory of pto_core_private: it comes out different
 * "where …". */
void pto_observe_report_private(struct pto_observation *o, const struct pto_observe_own *own,
                                struct pto_observe_range bytes, const char *words,
                                const struct pto_observe_outcome *effect);
/* call.left, where the first run has left something of it changed. */
void pto_observe_report_left_changed(struct pto_observation *o);
/* Of another time than in the first run. */
void pto_observe_report_time(struct pto_observation *o, const struct pto_observe_outcome *effect);
void pto_observe_report_unstable(struct pto_observation *o, const struct pto_observe_outcome *effect);

#endif
