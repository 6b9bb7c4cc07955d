/* SPDX-License-Identifier: MIT */
/*
 * What the adapter's files share: one struct pto_compat, the orchestration and what it has submitted.
 *
 * Always true: `externals` and `creations` are stacks in the order of their scopes, so that a scope's end takes its own
 * from the top; entry i of a ring is the task whose id ends with i.  Records are blocks of the arena, and live until
 * the next orchestrate.  Only kernels.c is called on other threads, and reads records alone.
 *
 * Control thread only, but for pto_compat_run_kernel.
 */
#ifndef PTO_COMPAT_STATE_H
#define PTO_COMPAT_STATE_H

#include <compat/adapter/compat.h>
#include <pto/recorded.h>

#define PTO_COMPAT_RINGS 4u /* by depth of scopes, as of PTO2TaskId; deeper scopes share the last */
#define PTO_COMPAT_GRAPH_BIT (UINT64_C(1) << 63) /* of the id of a graph whose tasks are ordinary ones */
#define PTO_COMPAT_INNER_BIT (UINT64_C(1) << 62) /* of the id of a graph's task, while its function runs */
#define PTO_COMPAT_NONE UINT32_MAX

/* ---- memory that a run gives back at once ---- */

struct pto_compat_block;
struct pto_compat_arena {
  struct pto_compat_block *blocks; /* the newest first */
  size_t left, block_count;
};
/* Zeroed and aligned to 64 bytes, or NULL. */
void *pto_compat_arena_alloc(struct pto_compat_arena *arena, size_t size);
void pto_compat_arena_clear(struct pto_compat_arena *arena);
/* Makes room for one more element in an array that grows; false where memory is short. */
bool pto_compat_grow(void **items, uint32_t count, uint32_t *capacity, size_t item_bytes);

/* ---- tasks ---- */

/* A tensor that a task created. */
struct pto_compat_created {
  struct pto_compat_tensor tensor;
  struct pto_buffer buffer;
};

/* What the kernels of a task are called with, and what it created. */
struct PTO_COMPAT_LINES pto_compat_record {
  uint64_t number;               /* of the run */
  const struct pto_place *place; /* of its submit */
  const struct pto_compat_kernel *kernels[3];
  uint32_t roles;
  uint32_t tensor_count, scalar_count, created_count;
  struct pto_compat_tensor *tensors; /* as the submit named them; those created without address */
  uint64_t *scalars;
  uint8_t *param_of;  /* of a tensor: its parameter, where the address comes from; UINT8_MAX: it has its address */
  uint64_t *distance; /* from the first byte of that parameter to its address, modulo 2^64 */
  struct pto_compat_created *created;
};

struct pto_compat_task {
  struct pto_task task;
  struct pto_compat_record *record;
};
struct pto_compat_ring {
  struct pto_compat_task *tasks;
  uint32_t count, capacity;
};

/* ---- memory of the caller's, and of the runtime's ---- */

struct pto_compat_external {
  uint64_t addr, size_bytes;
  struct pto_buffer buffer; /* status says whether it is to be had */
  int32_t status;
  uint32_t depth, next; /* of the same bucket: the one before */
};
struct pto_compat_creation {
  uint64_t addr, size_bytes;
  struct pto_buffer buffer;
  uint64_t owner;
  uint32_t depth;
};

/* ---- kernels ---- */

struct pto_compat_use;
struct pto_compat_uses {
  struct pto_compat_use **table; /* by hash */
  uint32_t count, capacity;
};

/* ---- graphs ---- */

#define PTO_COMPAT_DEFINITIONS 16u /* graphs of a run that are recorded; the tasks of more are ordinary ones */

/* What the tensors of a graph are as parameters. */
struct pto_compat_boundary {
  struct pto_tensor tensors[PTO_COMPAT_TENSORS];
  uint8_t modes[PTO_COMPAT_TENSORS];
  uint32_t count;
  uint64_t owners[PTO_COMPAT_TENSORS]; /* of the tensors as they were passed */
  uint32_t owner_count;
  struct pto_task *after; /* that own them without having created them */
  uint32_t after_count, after_capacity;
};

/* A task of a graph's first launch. */
struct pto_compat_step {
  int32_t kernels[3];
  int32_t block_count;
  uint32_t tensor_count, scalar_count;
  uint64_t scalars[PTO_COMPAT_SCALARS];
  uint8_t sources[PTO_COMPAT_SCALARS]; /* of the boundary's scalars; UINT8_MAX: computed, or a constant */
  struct pto_compat_task task;
};
struct pto_compat_definition {
  uint64_t key;
  struct pto_recorded *recorded;
  struct pto_compat_boundary boundary; /* of the first launch, without its tasks */
  uint32_t scalar_count;
  uint32_t awaited; /* set of tensors: a task names the owner of each as one that it comes after */
  struct pto_compat_step *steps;
  uint32_t count, capacity;
  bool has_warned;
};
/* What becomes of the tasks of the function that runs. */
enum pto_compat_graph_mode {
  PTO_COMPAT_NO_GRAPH = 0,
  PTO_COMPAT_GRAPH_RECORDED,
  PTO_COMPAT_GRAPH_COMPARED, /* with those that were recorded */
  PTO_COMPAT_GRAPH_ORDINARY  /* submitted */
};
/* Tasks [first, end) of the run are of one launch whose tasks are ordinary ones. */
struct pto_compat_launch {
  uint64_t first, end;
};

/* Lines that calls were made at, each once. */
struct pto_compat_line {
  struct pto_place place;
  struct pto_compat_line *next; /* of the same bucket */
};
#define PTO_COMPAT_LINE_BUCKETS 1024u

struct pto_compat {
  const struct pto_compat_orchestration *orchestration;
  struct pto_compat_kernel *kernels;
  uint32_t kernel_count;
  struct pto_compat_tensor *arguments;
  uint64_t *argument_scalars;
  uint32_t argument_count, argument_scalar_count;
  uint64_t window;
  void (*log)(void *context, uint32_t level, const struct pto_compat_place *place, const char *text);
  void *log_context;
  struct pto_compat_uses uses;
  struct pto_compat_line *lines[PTO_COMPAT_LINE_BUCKETS];

  /* of the run */
  struct pto_runtime *rt;
  struct pto_compat_arena arena;
  struct pto_compat_ring rings[PTO_COMPAT_RINGS];
  uint64_t *ids; /* of tasks in order of submission */
  uint32_t id_count, id_capacity;
  uint32_t depth;        /* of open scopes; 0: the run's own */
  uint32_t manual_depth; /* of the outermost manual scope, or 0 */
  struct pto_compat_external *externals;
  uint32_t external_count, external_capacity;
  uint32_t *buckets;
  uint32_t bucket_count; /* a power of two, or 0 */
  struct pto_compat_creation *creations;
  uint32_t creation_count, creation_capacity;
  struct pto_tensor *written; /* of host_build_graph: external tensors with a submitted writer */
  uint32_t written_count, written_capacity;
  struct pto_task *after; /* for a submit */
  uint32_t after_count, after_capacity;
  struct pto_compat_definition *definitions;
  uint32_t definition_count;
  struct pto_compat_launch *launches;
  uint32_t launch_count, launch_capacity;
  struct pto_recorded_scalar *patches; /* for a launch */
  uint32_t patch_capacity;
  /* Of the graph whose function runs. */
  uint32_t graph; /* enum pto_compat_graph_mode */
  struct pto_compat_definition *definition;
  struct pto_compat_boundary boundary;
  uint32_t step; /* its next one */
  const uint64_t *boundary_scalars;
  uint32_t boundary_scalar_count;
  struct pto_compat_place graph_place;

  bool has_failed;
  int32_t code; /* of the first mistake */
};

/* The one whose orchestration runs on this thread; NULL, or it has failed. */
struct pto_compat *pto_compat_current(void);
/* From now on it is this one, or none; gives which it was. */
struct pto_compat *pto_compat_enter(struct pto_compat *compat);

#define INVALID_ARGS 5 /* the code of most mistakes */
/* Ends the run with error `code`; the sentence goes behind its name and the place.  The first one counts. */
void pto_compat_fail(struct pto_compat *compat, int32_t code, const struct pto_compat_place *place, const char *format,
                     ...) PTO_PRINTF(4, 5);
/* A call of the runtime has answered `status`, which is not PTO_OK: the run has ended, or ends with its sentence. */
void pto_compat_fail_as(struct pto_compat *compat, int status, const struct pto_compat_place *place, const char *what);
void pto_compat_say(struct pto_compat *compat, uint32_t level, const struct pto_compat_place *place, const char *format,
                    ...) PTO_PRINTF(4, 5);

/* The runtime's calls that follow, of the name `what`, were made there.  A copy that lives until the destroy.  NULL:
 * memory was short, and the run has ended. */
PTO_MUST_CHECK const struct pto_place *pto_compat_tell_place(struct pto_compat *compat,
                                                             const struct pto_compat_place *place, const char *what);

/* tensors.c */
/* The runtime's descriptor of theirs.  PTO_OK and is_empty: it has no elements, and there is none.  A sentence is left
 * otherwise.  *owner_out: the task that the descriptor names as its creator without being it, else
 * PTO_COMPAT_NO_TASK. */
int pto_compat_resolve(struct pto_compat *compat, const struct pto_compat_tensor *tensor, struct pto_tensor *result,
                       bool *is_empty, uint64_t *owner_out, char *sentence, size_t sentence_size);
/* Drops what belongs to scopes deeper than `depth`. */
void pto_compat_end_scope(struct pto_compat *compat, uint32_t depth);
/* The entry of an id, or NULL. */
struct pto_compat_task *pto_compat_find_task(struct pto_compat *compat, uint64_t id);
uint64_t pto_compat_numel(uint32_t ndims, const uint32_t *shape);

/* kernels.c */
/* The binding of a func_id on a kind of core, or NULL. */
const struct pto_compat_kernel *pto_compat_find_kernel(const struct pto_compat *compat, int32_t func_id, uint32_t core);
/* The constant for a binding with parameters of these modes, the last of them the record; NULL: memory is short.
 */
const struct pto_kernel *pto_compat_kernel_for(struct pto_compat *compat, const struct pto_compat_kernel *kernel,
                                               const uint8_t *modes, uint32_t mode_count);
void pto_compat_uses_fini(struct pto_compat_uses *uses);

/* after.c */
/* One more task, or a graph's, in compat->after, unless it has ended; `what` submit names it.  False: the run has
 * failed. */
bool pto_compat_add_after(struct pto_compat *compat, uint64_t id, const char *what,
                          const struct pto_compat_place *place);
/* What compat->after has is the boundary's.  Either of these two is false without memory. */
bool pto_compat_take_boundary_after(struct pto_compat *compat);
/* One more task in boundary.after, unless it has ended. */
bool pto_compat_add_boundary_after(struct pto_compat *compat, uint64_t id);

/* submit.c */
/* The parameters of a graph's boundary, in compat->boundary; false: the run has failed. */
bool pto_compat_prepare_boundary(struct pto_compat *compat, const struct pto_compat_graph *graph,
                                 const struct pto_compat_place *place);
/* Notes a task of the run: the id that is its number in its ring.  False: the run has failed. */
bool pto_compat_note_task(struct pto_compat *compat, struct pto_task task, struct pto_compat_record *record,
                          const struct pto_compat_place *place, uint64_t *id_out);
/* The id of the run's next task. */
bool pto_compat_note_id(struct pto_compat *compat, uint64_t id);

/* graph_steps.c */
/* A task of a graph's function is asked for. */
void pto_compat_graph_step(struct pto_compat *compat, const struct pto_compat_submit *submit,
                           const struct pto_compat_place *place);

/* graph.c */
void pto_compat_graph_clear(struct pto_compat *compat);

#endif
