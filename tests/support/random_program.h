/* SPDX-License-Identifier: MIT */
/*
 * Random orchestrations: a list of operations made from a seed, which can be executed through the runtime and, one
 * operation after the other, by a plain interpreter that shares no code with it.
 *
 * Operations refer to buffers by number, so any subset of a list is a program again (operations on buffers that nothing
 * makes are skipped by both sides), which is what the shrinker needs.  Kernels fold every byte that they read into
 * every byte that they write, so a task that runs too early, too late or twice shows in the bytes.
 *
 * Often an operation repeats the kernel of an earlier one on other tiles or buffers, with the same shapes and strides,
 * as real orchestrations do: that is what template.c takes a short way for.
 *
 * The interpreter also says which edges there must be: by comparing byte sets of all earlier accesses, without any map.
 */
#ifndef PTO_RANDOM_PROGRAM_H
#define PTO_RANDOM_PROGRAM_H

#include <pto/pto.h>
#include <runtime/base/base.h>

#define RANDOM_MAX_OPS 400
#define RANDOM_MAX_PARAMS 5
#define RANDOM_EXTERNALS 3
#define RANDOM_EXTERNAL_BYTES 1536
#define RANDOM_MAX_BUFFERS 160
#define RANDOM_BUFFER_BYTES 512

enum random_op_kind { OP_TASK, OP_ALLOC, OP_BARRIER, OP_SCOPE_BEGIN, OP_SCOPE_END, OP_READ, OP_WRITE };

/* A view, as a chain that is replayed on each side's own base tensor. */
struct random_view {
  uint32_t buffer; /* external: 0 … RANDOM_EXTERNALS − 1; managed from there on */
  uint32_t dtype;
  uint32_t ndims;
  uint64_t root[3]; /* shape of the base tensor */
  uint64_t offset[3], shape[3], step[3];
  uint32_t transpose; /* swaps the two outer dimensions at the end */
  uint32_t fuzzy;
  uint64_t skip_bytes; /* external: the base tensor starts that far into the memory */
};

struct random_param {
  struct random_view view;
  uint32_t mode;
  bool allocates; /* OUTPUT of a buffer that must not exist yet */
  bool advances;  /* OUTPUT: names the next version of a managed buffer */
};

struct random_op {
  enum random_op_kind kind;
  uint32_t param_count;
  struct random_param params[RANDOM_MAX_PARAMS];
  uint32_t kernel;      /* the operation whose kernel it is: its own, or an earlier one's */
  uint32_t shape;       /* 0 AIC, 1 AIV, 2 AIV×2, 3 AIC+AIV, 4 AIC+AIV×2 */
  uint32_t block_count; /* 1 … 3 */
  uint32_t sync_start;
  uint32_t in_place; /* INPUT 0 and OUTPUT 1 are the same view */
  uint32_t compare;  /* not 0: the last parameter is the predicate's tensor, one element of i32 */
  int64_t compare_value;
  uint64_t salt;
  uint32_t scope_kind;
  uint32_t after_count; /* explicit: that many of the last tasks, by distance */
  uint32_t after[3];
  bool is_dropped; /* by the shrinker */
};

/* Those of its kernels: all but the predicate's. */
static inline uint32_t random_op_tensor_count(const struct random_op *op) {
  return op->param_count - (op->compare ? 1 : 0);
}

struct random_program {
  uint64_t seed;
  uint64_t kept_heap_bytes; /* not 0: scopes keep their buffers (config.keep_released), in heap rings of this size */
  bool is_given; /* external memory is a tensor each, of which all uses are views; else each use registers its own */
  uint32_t op_count;
  struct random_op ops[RANDOM_MAX_OPS];
};

/* What the interpreter decided about each operation: the same for every way of running it. */
struct random_plan {
  bool runs[RANDOM_MAX_OPS];
  int32_t versions[RANDOM_MAX_OPS][RANDOM_MAX_PARAMS];
  uint32_t after_count[RANDOM_MAX_OPS];
  uint16_t after[RANDOM_MAX_OPS][RANDOM_MAX_OPS]; /* operations */
};

struct random_result {
  int status;
  char sentence[512];
  _Alignas(64) uint8_t externals[RANDOM_EXTERNALS][RANDOM_EXTERNAL_BYTES];
  uint64_t reads; /* fold of everything that the host read */
  uint64_t tasks, edges;
  uint64_t form_hits, manual_form_hits; /* submits that took the short way; of those, in manual scopes */
};

/* The programs that a test runs: PTO_RANDOM_PROGRAMS of them, else `in_long` with PTO_TEST_LONG, else `usual`, of which
 * builds with a sanitizer run a fifth.  The first seed is PTO_SEED, else 1. */
struct random_seeds {
  uint64_t first, count;
};
struct random_seeds random_program_seeds(uint64_t usual, uint64_t in_long);

/* pto, with some of its named rules switched. */
uint32_t random_program_weak_rules(struct pto_rng *rng);
void random_program_make(struct random_program *program, uint64_t seed);
/* By the plain interpreter, with rules and the window that edges depend on. */
void random_program_interpret(const struct random_program *program, uint32_t rules, uint32_t window,
                              struct random_plan *plan, struct random_result *result);
/* Through the runtime. */
void random_program_run(const struct random_program *program, const struct random_plan *plan, struct pto_runtime *rt,
                        struct random_result *result);
/* Through the runtime, and what it submits kept (runtime/control/call_list.h).  The program is_given and has no
 * reads and no writes of elements; what it left is in `result`.  NULL where the run failed. */
struct random_kept *random_program_keep(const struct random_program *program, const struct random_plan *plan,
                                        struct pto_runtime *rt, struct random_result *result);
/* Submits what was kept in a run of its own, on external memory of its own, behind `before` barriers. */
void random_kept_run(struct random_kept *kept, struct pto_runtime *rt, uint32_t before, struct random_result *result);
/* The same program recorded (include/pto/recorded.h) and launched once, in one run. */
struct random_kept *random_program_record(const struct random_program *program, const struct random_plan *plan,
                                          struct pto_runtime *rt, struct random_result *result);
/* `times` times: launches of what was recorded, all in a run of their own, or the program's own submits, each time in a
 * run, since nothing orders its manual scopes against those of another time. */
void random_recorded_run(struct random_kept *kept, struct pto_runtime *rt, uint32_t times, bool is_launch,
                         struct random_result *result);
void random_kept_destroy(struct random_kept *kept);
void random_program_print(const struct random_program *program);
/* Drops operations of a failing program for as long as `still_fails` says so. */
void random_program_shrink(struct random_program *program, bool (*still_fails)(void *context), void *context);

#endif
