/* SPDX-License-Identifier: MIT */
/*
 * Graphs of one pattern, of any number of tasks of any length: for benches and stress.
 *
 * A tile is `tile` u32 of a shared external buffer; every parameter is a view of the first element of one tile, which
 * is all that kernels touch (the join of fork_join: of many whole tiles).  A task folds the element of each tile that
 * it reads, and its own number, into that of the tile that it writes.  The fold is exact and does not commute, so the
 * outputs' digest proves the order in which the tasks took effect.  The patterns are described and defined in
 * task_patterns.h.
 *
 * A scope is ended and another begun every `scope` tasks, so that slots of the task ring come back.
 *
 * To add a pattern: see task_patterns.h; a task of a new kind needs a kernel and a line in kernels here.
 */
#include <orchestration/support/program.h>

#include <orchestration/basics/task_patterns.h>

#include <time.h>

#define MAX_TASKS 100000000
#define MAX_WIDTH 65536
#define ELEMS_PER_NS 128 /* of a vector core, about: what a nanosecond of grain costs in virtual time */

/* ---- kernels ---- */

/* One multiply-add after another, each waiting for the one before.  The chain goes on from task to task of a thread,
 * since chains that start afresh would overlap in the processor and take less than they say.  No result depends on it.
 */
static uint64_t spin(uint64_t iterations) {
  static _Thread_local uint64_t chain;
  uint64_t x = chain;
  for (uint64_t i = 0; i < iterations; i++) {
    x = x * UINT64_C(6364136223846793005) + 1;
    __asm__ volatile("" : "+r"(x));
  }
  return chain = x;
}

/* The scalar of every task: its number, then what it costs. */
static uint32_t number_of(const struct pto_kernel_args *a) { return (uint32_t)a->scalars[0].u64; }
static void work(const struct pto_kernel_args *a) {
  uint64_t iterations = a->scalars[1].u64 >> 32;
  if (iterations) spin(iterations);
}
static struct pto_cost cost_of(const struct pto_kernel_args *a) {
  uint64_t grain_ns = (uint32_t)a->scalars[1].u64;
  return (struct pto_cost){.bytes_in = 64, .bytes_out = 64, .vector_elems = grain_ns * ELEMS_PER_NS};
}

static uint32_t first_of(const struct pto_kernel_tensor *t) { return *(const uint32_t *)t->addr; }

static int one_run(const struct pto_kernel_args *a) { /* reads one tile, writes one */
  work(a);
  *(uint32_t *)a->tensors[1].addr = task_fold(number_of(a), first_of(&a->tensors[0]));
  return 0;
}
static int two_run(const struct pto_kernel_args *a) { /* reads two tiles, writes one */
  work(a);
  *(uint32_t *)a->tensors[2].addr =
      task_fold(task_fold(number_of(a), first_of(&a->tensors[0])), first_of(&a->tensors[1]));
  return 0;
}
static int update_one_run(const struct pto_kernel_args *a) { /* reads one tile, updates one */
  work(a);
  uint32_t *z = a->tensors[1].addr;
  *z = task_fold(task_fold(number_of(a), first_of(&a->tensors[0])), *z);
  return 0;
}
static int update_two_run(const struct pto_kernel_args *a) { /* reads two tiles, updates one */
  work(a);
  uint32_t *z = a->tensors[2].addr;
  *z = task_fold(task_fold(task_fold(number_of(a), first_of(&a->tensors[0])), first_of(&a->tensors[1])), *z);
  return 0;
}
/* Folds a row of tiles into one tile, and leaves in each of the row what came to it: the next round's writers then meet
 * this one access, which covers all that was there, where a mere reader of the row would never be covered by a writer
 * of one tile. */
static int join_run(const struct pto_kernel_args *a) {
  work(a);
  const struct pto_kernel_tensor *row = &a->tensors[0];
  const uint64_t tile = a->scalars[2].u64;
  uint32_t *tiles = row->addr, *z = a->tensors[1].addr, x = number_of(a);
  for (uint64_t i = 0; i < row->shape[0]; i += tile) tiles[i] = x = task_fold(x, tiles[i]);
  *z = task_fold(x, *z);
  return 0;
}

#define WORK SCALAR("number", PTO_SCALAR_U64), SCALAR("grain", PTO_SCALAR_U64)
static const struct pto_kernel_param one_params[] = {TENSOR("x", PTO_INPUT, U32, 1), TENSOR("z", PTO_OUTPUT, U32, 1),
                                                     WORK};
static const struct pto_kernel_param two_params[] = {TENSOR("x", PTO_INPUT, U32, 1), TENSOR("y", PTO_INPUT, U32, 1),
                                                     TENSOR("z", PTO_OUTPUT, U32, 1), WORK};
static const struct pto_kernel_param update_one_params[] = {TENSOR("x", PTO_INPUT, U32, 1),
                                                            TENSOR("z", PTO_INOUT, U32, 1), WORK};
static const struct pto_kernel_param update_two_params[] = {
    TENSOR("x", PTO_INPUT, U32, 1), TENSOR("y", PTO_INPUT, U32, 1), TENSOR("z", PTO_INOUT, U32, 1), WORK};
static const struct pto_kernel_param join_params[] = {TENSOR("row", PTO_INOUT, U32, 1), TENSOR("z", PTO_INOUT, U32, 1),
                                                      WORK, SCALAR("tile", PTO_SCALAR_U64)};
KERNEL(one, one_params, .name = "one", .cores = PTO_AIV, .run = one_run, .cost = cost_of);
KERNEL(two, two_params, .name = "two", .cores = PTO_AIV, .run = two_run, .cost = cost_of);
KERNEL(product, two_params, .name = "product", .cores = PTO_AIC, .run = two_run, .cost = cost_of);
KERNEL(update_one, update_one_params, .name = "update_one", .cores = PTO_AIV, .run = update_one_run, .cost = cost_of);
KERNEL(update_two, update_two_params, .name = "update_two", .cores = PTO_AIV, .run = update_two_run, .cost = cost_of);
KERNEL(join, join_params, .name = "join", .cores = PTO_AIV, .run = join_run, .cost = cost_of);

static const struct pto_kernel *const kernels[TASK_KIND_COUNT] = {
    [TASK_ONE] = &one,
    [TASK_TWO] = &two,
    [TASK_PRODUCT] = &product,
    [TASK_UPDATE_ONE] = &update_one,
    [TASK_UPDATE_TWO] = &update_two,
    [TASK_JOIN] = &join,
};

struct bench {
  uint64_t tasks, tile, scope, grain;
  struct task_walk walk;
};

static const struct task_pattern *pattern_of(struct pto_program_run *run) {
  return task_pattern_find(pto_option_text(run, "pattern"));
}

/* ---- preparing ---- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Iterations of spin that take grain_ns here: the best of a few tries is the one that nothing disturbed. */
static uint64_t iterations_of(uint64_t grain_ns) {
  const uint64_t sample = 1u << 16;
  uint64_t best = UINT64_MAX;
  if (grain_ns == 0) return 0;
  for (int i = 0; i < 10; i++) {
    uint64_t start = now_ns();
    spin(sample);
    uint64_t took = now_ns() - start;
    if (took < best) best = took;
  }
  uint64_t iterations = (uint64_t)((double)grain_ns * (double)sample / (double)(best ? best : 1));
  return iterations > UINT32_MAX ? UINT32_MAX : iterations;
}

static int prepare(struct pto_program_run *run) {
  const struct task_pattern *pattern = pattern_of(run);
  if (!pattern) return pto_program_fail(run, "there is no pattern \"%s\"", pto_option_text(run, "pattern"));
  struct bench *b = pto_program_state(run, sizeof *b);
  if (!b) return PTO_ENOMEM;
  uint64_t width, grain_ns, tiles[2];
  const int status = READ_WHOLE_OPTIONS(run, {"tasks", 1, MAX_TASKS, &b->tasks}, {"width", 1, MAX_WIDTH, &width},
                                        {"grain_ns", 0, 1000000000, &grain_ns}, {"scope", 1, MAX_TASKS, &b->scope},
                                        {"tile", 1, 1 << 20, &b->tile});
  if (status != PTO_OK) return status;
  b->grain = iterations_of(grain_ns) << 32 | grain_ns;
  b->walk = task_pattern_begin(pattern, width, b->tasks, tiles);
  const uint64_t first[] = {tiles[0] * b->tile}, second[] = {tiles[1] * b->tile};
  struct pto_array *buffer = pto_program_array(run, "buffer0", PTO_ARRAY_INOUT, PTO_UINT32, 1, first);
  pto_array_fill_uniform(run, buffer, 0, 0x1p32);
  pto_program_array(run, "buffer1", PTO_ARRAY_INOUT, PTO_UINT32, 1, second);
  return PTO_OK;
}

/* ---- the orchestration ---- */

/* Descriptors made once: views of one tile differ in start_offset alone, so a parameter's is moved from task to task.
 */
struct views {
  struct pto_tensor tiles[TASK_MAX_PLACES][2]; /* by parameter and buffer */
  struct pto_tensor row;
};

static void make_views(struct pto_runtime *rt, struct pto_program_run *run, const struct bench *b,
                       struct views *views) {
  const uint64_t zero[] = {0}, first[] = {1}, row[] = {b->walk.width * b->tile};
  for (int buffer = 0; buffer < 2; buffer++) {
    struct pto_tensor whole = pto_array_tensor(rt, pto_program_find(run, buffer ? "buffer1" : "buffer0"));
    for (int place = 0; place < TASK_MAX_PLACES; place++)
      views->tiles[place][buffer] = pto_tensor_view(&whole, zero, first);
    views->row = pto_tensor_view(&whole, zero, row);
  }
}

static inline int submit(struct pto_runtime *rt, const struct bench *b, struct views *views,
                         const struct task_step *step, uint64_t i) {
  const struct pto_kernel *kernel = kernels[step->kind];
  const bool is_row = step->kind == TASK_JOIN;
  struct pto_param params[TASK_MAX_PLACES + 3];
  uint32_t count = 0;
  for (; count < step->count; count++) {
    struct pto_tensor *view = &views->tiles[count][step->buffers[count]];
    view->start_offset = step->tiles[count] * b->tile;
    params[count] = pto_param_tensor(kernel->params[count].mode, view);
  }
  if (is_row) params[0].value.tensor = &views->row;
  params[count++] = pto_scalar_u64(i);
  params[count++] = pto_scalar_u64(b->grain);
  if (is_row) params[count++] = pto_scalar_u64(b->tile);
  return step->kind == TASK_PRODUCT ? pto_submit_aic(rt, kernel, params, count)
                                    : pto_submit_aiv(rt, kernel, params, count);
}

/* A loop of its own for each pattern, so that what a bench measures is the runtime and not calls through a table. */
static inline __attribute__((always_inline)) int submit_all(struct pto_runtime *rt, struct bench b, struct views *views,
                                                            struct task_step (*step_of)(const struct task_walk *,
                                                                                        uint64_t)) {
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  uint64_t left_in_scope = b.scope;
  for (uint64_t i = 0; i < b.tasks && status == PTO_OK; i++, task_walk_advance(&b.walk)) {
    const struct task_step step = step_of(&b.walk, i);
    status = submit(rt, &b, views, &step, i);
    if (--left_in_scope > 0 || status != PTO_OK) continue;
    left_in_scope = b.scope;
    status = pto_scope_end(rt);
    if (status == PTO_OK) status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct bench *b = pto_program_state(run, sizeof *b);
  const struct task_pattern *pattern = pattern_of(run);
  int status = PTO_EINVAL;
  struct views views;
  make_views(rt, run, b, &views);
#define X(name_, columns_, first_, second_)                                                                            \
  if (pattern->step == task_##name_##_step) status = submit_all(rt, *b, &views, task_##name_##_step);
  TASK_PATTERNS(X)
#undef X
  return status;
}

/* ---- the golden: the same folds in a plain loop over plain memory ---- */

static int expect(struct pto_program_run *run) {
  struct bench b = *(const struct bench *)pto_program_state(run, sizeof b);
  const struct task_pattern *pattern = pattern_of(run);
  double *memory[2];
  for (int k = 0; k < 2; k++) {
    struct pto_array *array = pto_program_find(run, k ? "buffer1" : "buffer0");
    memory[k] = pto_array_golden(run, array);
    if (!memory[k]) return PTO_ENOMEM;
  }
  /* Where buffer 0 began: the fill again, into an array that no one else has. */
  struct pto_array *first = pto_program_find(run, "buffer0"), start = *first;
  start.data = pto_program_alloc(run, first->size_bytes);
  if (!start.data) return PTO_ENOMEM;
  pto_array_fill_uniform(run, &start, 0, 0x1p32);
  for (uint64_t i = 0; i < first->numel; i++) memory[0][i] = ((const uint32_t *)start.data)[i];
  for (uint64_t i = 0; i < b.tasks; i++, task_walk_advance(&b.walk)) {
    const struct task_step step = pattern->step(&b.walk, i);
    const bool is_row = step.kind == TASK_JOIN;
    uint32_t x = (uint32_t)i;
    for (uint32_t k = 0; k + 1 < step.count; k++) {
      double *from = &memory[step.buffers[k]][step.tiles[k] * b.tile];
      for (uint64_t tile = 0; tile < (is_row ? b.walk.width : 1); tile++, from += b.tile) {
        x = task_fold(x, (uint32_t)*from);
        if (is_row) *from = x;
      }
    }
    double *z = &memory[step.buffers[step.count - 1]][step.tiles[step.count - 1] * b.tile];
    *z = task_step_is_update(&step) ? task_fold(x, (uint32_t)*z) : x;
  }
  return PTO_OK;
}

static const struct pto_option options[] = {
    {"pattern", PTO_OPTION_TEXT, "stencil_1d", "independent, chain, stencil_1d, fork_join, random_dag or bgemm"},
    {"tasks", PTO_OPTION_INT, "10000", "tasks in all"},
    {"width", PTO_OPTION_INT, "64", "tasks side by side"},
    {"grain_ns", PTO_OPTION_INT, "0", "how long a kernel takes"},
    {"scope", PTO_OPTION_INT, "1024", "tasks of a scope"},
    {"tile", PTO_OPTION_INT, "16", "u32 elements of a tile"},
    {0}};

static const struct pto_case cases[] = {
    {.name = "independent", .settings = "pattern=independent", .tasks = 10000},
    {.name = "chain", .settings = "pattern=chain", .tasks = 10000, .edges = 9999},
    {.name = "stencil_1d", .settings = "pattern=stencil_1d", .tasks = 10000, .edges = 29744},
    {.name = "fork_join", .settings = "pattern=fork_join", .tasks = 10000, .edges = 19727},
    {.name = "random_dag", .settings = "pattern=random_dag", .tasks = 10000, .edges = 48900},
    {.name = "bgemm", .settings = "pattern=bgemm", .tasks = 10000, .edges = 19424},
    {0}};

PROGRAM("task_bench", "graphs of one pattern with tasks of any length, for benches and stress");
