/* SPDX-License-Identifier: MIT */
/*
 * Random programs of cores that wait: tasks of random shapes, each a random script of pushes, pops, signals, waits,
 * barriers and work, or of turns, in a random order among ordinary tasks, over a few regions of memory that chain them
 * together.  All of that memory must equal what a model computes, which executes each script from its first line to its
 * last.
 *
 * A script is a list of operations in one order for all cores of the group (of a block, or of all blocks of a
 * sync_start task); each core performs those that are its own.  In that order every pop comes after its push and every
 * push finds room, so it can be followed to its end; and since a flag has one signalling core and a FIFO two ends, any
 * other order gives the same: no schedule can deadlock, and none can change a number.
 *
 * Each runtime first runs the program spoiled: one core fails at one operation, or a signal that a core waits for is
 * left out.  That must be its error, or be found to wait for ever, and leave nothing behind.
 *
 * PTO_WAITING_PROGRAMS says how many (60; with a sanitizer 20; PTO_TEST_LONG=1: 2000), PTO_SEED which is the first;
 * every fourth is for chips of 8 clusters and more, the rest for any.  Each runs in four places, of every engine, and
 * under twenty schedules of a port that explores them.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <runtime/base/base.h>
#include <runtime/base/sanitizer.h>
#include <runtime/control/control.h>
#include <tests/support/serial_port.h>

enum { REGIONS = 5, CELLS = 2048, TASKS = 30, BLOCKS = 8, CORES = BLOCKS * PTO_ROLE_COUNT, OPERATIONS = 160 };
enum { FINAL_CELLS = 64, BOXES = 40, SUM_CELL = CELLS - 1 }; /* of a region: finals, boxes by block, the sum */

/* ---- scripts ---- */

enum verb { PUSH, POP, SIGNAL, WAIT, BARRIER, WORK, VERBS };

/* A core of a group is block · 3 + role; of a block that runs alone it is its role. */
struct operation {
  uint8_t verb, core, other; /* who; to or from whom */
  uint8_t flag;
  uint16_t box;        /* where a signal's number lies */
  uint32_t size_bytes; /* of an element; of work: its amount */
};

enum kind { PLAIN, ALONE, TOGETHER, TURNS, KINDS };

struct task {
  enum kind kind;
  uint32_t roles, blocks;
  uint32_t own, other; /* regions: written, read */
  uint32_t count;
  struct operation operations[OPERATIONS];
};

struct program {
  bool is_wide;
  uint32_t count;
  struct task tasks[TASKS];
};

static uint64_t mix(uint64_t a, uint64_t b) { return pto_mix64(a * 0x9e3779b97f4a7c15u + b); }

/* ---- making them ---- */

/* What is under way when the script has been followed so far. */
struct making {
  struct pto_rng *rng;
  struct task *task;
  uint32_t cores; /* of a group */
  uint32_t boxes;
  uint64_t used_bytes[CORES][PTO_ROLE_COUNT]; /* by consumer, by producer's role */
  uint32_t sizes[CORES][PTO_ROLE_COUNT][OPERATIONS], pushed[CORES][PTO_ROLE_COUNT], popped[CORES][PTO_ROLE_COUNT];
  uint32_t signals[CORES][PTO_CORE_FLAGS][OPERATIONS], sent[CORES][PTO_CORE_FLAGS], taken[CORES][PTO_CORE_FLAGS];
};

static bool has_kernel(const struct task *task, uint32_t core) {
  return (task->roles & PTO_ROLE_BIT(core % PTO_ROLE_COUNT)) != 0;
}
static uint32_t draw(struct making *m, uint32_t bound) { return (uint32_t)pto_rng_below(m->rng, bound); }
static uint32_t draw_core(struct making *m) {
  uint32_t core;
  do core = draw(m, m->cores);
  while (!has_kernel(m->task, core));
  return core;
}
static void append(struct making *m, struct operation operation) {
  if (m->task->count < OPERATIONS) m->task->operations[m->task->count++] = operation;
}

static void make_push(struct making *m, uint32_t core) {
  uint32_t block = core / PTO_ROLE_COUNT, to = draw(m, PTO_ROLE_COUNT), role = core % PTO_ROLE_COUNT;
  uint32_t consumer = block * PTO_ROLE_COUNT + to, size = draw(m, 4) ? 8 + draw(m, 200) : 8 + draw(m, 100000);
  if (to == role || !has_kernel(m->task, consumer)) return;
  if (m->used_bytes[consumer][role] + size + 8 > PTO_CORE_FIFO_BYTES || m->pushed[consumer][role] == OPERATIONS) return;
  m->used_bytes[consumer][role] += size + 8;
  m->sizes[consumer][role][m->pushed[consumer][role]++] = size;
  append(m, (struct operation){.verb = PUSH, .core = (uint8_t)core, .other = (uint8_t)to, .size_bytes = size});
}
static void make_pop(struct making *m, uint32_t core) {
  uint32_t from = draw(m, PTO_ROLE_COUNT);
  if (m->popped[core][from] == m->pushed[core][from]) return;
  uint32_t size = m->sizes[core][from][m->popped[core][from]++];
  m->used_bytes[core][from] -= size + 8;
  append(m, (struct operation){.verb = POP, .core = (uint8_t)core, .other = (uint8_t)from, .size_bytes = size});
}
/* Core c signals flag c, so that a flag has one signalling core: only the first 16 cores do. */
static void make_signal(struct making *m, uint32_t core) {
  uint32_t to = draw_core(m);
  if (core >= PTO_CORE_FLAGS || m->boxes == BOXES || m->sent[to][core] == OPERATIONS) return;
  m->signals[to][core][m->sent[to][core]++] = m->boxes;
  append(m, (struct operation){.verb = SIGNAL,
                               .core = (uint8_t)core,
                               .other = (uint8_t)to,
                               .flag = (uint8_t)core,
                               .box = (uint16_t)m->boxes++});
}
static void make_wait(struct making *m, uint32_t core) {
  uint32_t first = draw(m, PTO_CORE_FLAGS);
  for (uint32_t i = 0; i < PTO_CORE_FLAGS; i++) {
    uint32_t flag = (first + i) % PTO_CORE_FLAGS;
    if (m->taken[core][flag] == m->sent[core][flag]) continue;
    uint32_t box = m->signals[core][flag][m->taken[core][flag]++];
    append(m, (struct operation){.verb = WAIT, .core = (uint8_t)core, .flag = (uint8_t)flag, .box = (uint16_t)box});
    return;
  }
}

static void make_script(struct pto_rng *rng, struct task *task) {
  static struct making m;
  memset(&m, 0, sizeof m);
  m.rng = rng;
  m.task = task;
  m.cores = PTO_ROLE_COUNT * (task->kind == TOGETHER ? task->blocks : 1);
  uint32_t length = 1 + draw(&m, OPERATIONS);
  for (uint32_t tries = 0; tries < 4 * length && task->count < length; tries++) {
    uint32_t core = draw_core(&m);
    switch ((enum verb)draw(&m, VERBS)) {
    case PUSH:
      make_push(&m, core);
      break;
    case POP:
      make_pop(&m, core);
      break;
    case SIGNAL:
      make_signal(&m, core);
      break;
    case WAIT:
      make_wait(&m, core);
      break;
    case BARRIER:
      if ((task->kind == TOGETHER || task->blocks == 1) && draw(&m, 4) == 0)
        append(&m, (struct operation){.verb = BARRIER});
      break;
    default:
      append(&m, (struct operation){.verb = WORK, .core = (uint8_t)core, .size_bytes = draw(&m, 5000)});
    }
  }
}

static void make_task(struct pto_rng *rng, struct task *task, bool is_wide) {
  *task = (struct task){.kind = (enum kind)pto_rng_below(rng, KINDS),
                        .roles = 1 + (uint32_t)pto_rng_below(rng, 7),
                        .blocks = 1 + (uint32_t)pto_rng_below(rng, BLOCKS)};
  task->own = (uint32_t)pto_rng_below(rng, REGIONS);
  task->other = (task->own + 1 + (uint32_t)pto_rng_below(rng, REGIONS - 1)) % REGIONS;
  bool is_one_aiv = task->roles == PTO_ROLE_BIT(PTO_ROLE_AIV0) || task->roles == PTO_ROLE_BIT(PTO_ROLE_AIV1);
  if (task->kind == TOGETHER && !is_wide) task->blocks = is_one_aiv ? 2 : 1;
  if (task->kind == ALONE || task->kind == TOGETHER) make_script(rng, task);
}

static void make_program(uint64_t seed, struct program *program) {
  struct pto_rng rng = {seed};
  program->is_wide = seed % 4 == 3;
  program->count = 1 + (uint32_t)pto_rng_below(&rng, TASKS);
  for (uint32_t i = 0; i < program->count; i++) make_task(&rng, &program->tasks[i], program->is_wide);
}

/* ---- what a core computes, on the chip and in the model ---- */

static uint64_t first_number(const uint64_t *other, const uint64_t *own, uint32_t block, uint32_t role) {
  uint64_t number = mix(own[block * PTO_ROLE_COUNT + role], block);
  for (uint32_t i = 0; i < FINAL_CELLS; i++) number = mix(number, other[i]);
  return mix(number, other[SUM_CELL]);
}
static uint64_t box_index(const struct task *task, uint32_t block, uint32_t box) {
  return FINAL_CELLS + (uint64_t)(task->kind == TOGETHER ? 0 : block) * BOXES + box;
}
/* The number fills the element, and its length is part of it. */
static void fill(uint8_t *bytes, uint32_t size, uint64_t number) {
  for (uint32_t i = 0; i < size; i++) bytes[i] = (uint8_t)(number >> i % 8 * 8);
}
static uint64_t digest(const uint8_t *bytes, uint32_t size) {
  uint64_t number = size;
  for (uint32_t i = 0; i < size; i++) number = number * 31 + bytes[i];
  return number;
}

static int perform(const struct pto_kernel_args *args, const struct task *task, const struct operation *op,
                   uint64_t *number) {
  uint8_t *bytes = args->core->local.addr;
  uint64_t *box = (uint64_t *)args->tensors[0].addr + box_index(task, args->core->block_index, op->box);
  const struct pto_cost work = {.vector_elems = op->size_bytes, .bytes_in = op->size_bytes};
  int status = 0;
  switch ((enum verb)op->verb) {
  case PUSH:
    fill(bytes, op->size_bytes, *number);
    return pto_core_push(args, op->other, bytes, op->size_bytes);
  case POP:
    status = pto_core_pop(args, op->other, bytes, op->size_bytes);
    if (status == 0) *number = mix(*number, digest(bytes, op->size_bytes));
    return status;
  case SIGNAL:
    *box = *number;
    if (task->kind == TOGETHER)
      return pto_core_signal_block(args, op->other / PTO_ROLE_COUNT, PTO_ROLE_BIT(op->other % PTO_ROLE_COUNT),
                                   op->flag);
    return pto_core_signal(args, PTO_ROLE_BIT(op->other), op->flag);
  case WAIT:
    status = pto_core_wait(args, op->flag);
    if (status == 0) *number = mix(*number, *box);
    return status;
  case BARRIER:
    return pto_core_barrier(args);
  default:
    return pto_core_work(args, &work);
  }
}

static const struct task *task_of(const struct pto_kernel_args *args) {
  return (const struct task *)(uintptr_t)args->scalars[0].u64;
}

/* What goes wrong in the run: nothing where there is no task. */
static struct {
  const struct task *task;
  uint32_t operation;
  bool is_left_out; /* else it fails */
} spoiled;

static int follow(const struct pto_kernel_args *args) {
  const struct task *task = task_of(args);
  uint64_t *own = args->tensors[0].addr;
  uint32_t block = args->core->block_index, role = args->core->role;
  uint32_t self = task->kind == TOGETHER ? block * PTO_ROLE_COUNT + role : role;
  uint64_t number = first_number(args->tensors[1].addr, own, block, role);
  for (uint32_t i = 0; i < task->count; i++) {
    const struct operation *op = &task->operations[i];
    if (op->verb != BARRIER && op->core != self) continue;
    bool is_spoiled = task == spoiled.task && i == spoiled.operation;
    if (is_spoiled && spoiled.is_left_out) continue;
    int status = is_spoiled ? pto_kernel_error(args, "fails on purpose") : perform(args, task, op, &number);
    if (status != 0) return status;
  }
  own[block * PTO_ROLE_COUNT + role] = number;
  return 0;
}
static int add_in_turn(const struct pto_kernel_args *args) {
  uint64_t *own = args->tensors[0].addr;
  uint32_t block = args->core->block_index, role = args->core->role;
  uint64_t number = mix(((const uint64_t *)args->tensors[1].addr)[block], role);
  const struct pto_cost work = {.vector_elems = number % 5000, .bytes_in = number % 3000};
  int status = pto_core_work(args, &work);
  if (status == 0) status = pto_core_turn(args);
  if (status == 0) own[SUM_CELL] = mix(own[SUM_CELL], number);
  return status;
}
static int change(const struct pto_kernel_args *args) {
  uint64_t *own = args->tensors[0].addr;
  uint32_t block = args->core->block_index, role = args->core->role;
  own[block * PTO_ROLE_COUNT + role] = first_number(args->tensors[1].addr, own, block, role);
  return 0;
}

/* ---- the model ---- */

struct element {
  uint32_t size;
  uint64_t number;
};
static void model_group(const struct task *task, uint64_t (*memory)[CELLS], uint32_t first_block, uint32_t blocks) {
  static struct element fifos[CORES][PTO_ROLE_COUNT][OPERATIONS];
  static uint8_t bytes[PTO_CORE_FIFO_BYTES];
  uint32_t pushed[CORES][PTO_ROLE_COUNT] = {{0}}, popped[CORES][PTO_ROLE_COUNT] = {{0}};
  uint64_t numbers[CORES], *own = memory[task->own];
  for (uint32_t i = 0; i < blocks * PTO_ROLE_COUNT; i++)
    numbers[i] = first_number(memory[task->other], own, first_block + i / PTO_ROLE_COUNT, i % PTO_ROLE_COUNT);
  for (uint32_t i = 0; i < task->count; i++) {
    const struct operation *op = &task->operations[i];
    uint32_t block = op->core / PTO_ROLE_COUNT, role = op->core % PTO_ROLE_COUNT;
    uint64_t *box = &own[box_index(task, first_block, op->box)];
    if (op->verb == PUSH) {
      uint32_t consumer = block * PTO_ROLE_COUNT + op->other;
      fifos[consumer][role][pushed[consumer][role]++] = (struct element){op->size_bytes, numbers[op->core]};
    } else if (op->verb == POP) {
      const struct element *element = &fifos[op->core][op->other][popped[op->core][op->other]++];
      fill(bytes, element->size, element->number);
      numbers[op->core] = mix(numbers[op->core], digest(bytes, element->size));
    } else if (op->verb == SIGNAL)
      *box = numbers[op->core];
    else if (op->verb == WAIT)
      numbers[op->core] = mix(numbers[op->core], *box);
  }
  for (uint32_t i = 0; i < blocks * PTO_ROLE_COUNT; i++)
    if (has_kernel(task, i)) own[first_block * PTO_ROLE_COUNT + i] = numbers[i];
}

static void model_task(const struct task *task, uint64_t (*memory)[CELLS]) {
  uint64_t *own = memory[task->own];
  if (task->kind == TOGETHER) {
    model_group(task, memory, 0, task->blocks);
    return;
  }
  for (uint32_t block = 0; block < task->blocks; block++) {
    if (task->kind != TURNS) {
      model_group(task, memory, block, 1); /* of a plain task: its script is empty */
      continue;
    }
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
      if (has_kernel(task, role)) own[SUM_CELL] = mix(own[SUM_CELL], mix(memory[task->other][block], role));
  }
}

/* ---- runs ---- */

static _Alignas(64) uint64_t memory[REGIONS][CELLS], expected[REGIONS][CELLS];

#define PARAMS(mode_)                                                                                                  \
  {                                                                                                                    \
    {.name = "own", .mode = mode_}, {.name = "other", .mode = PTO_INPUT}, {                                            \
      .name = "task", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64                                                     \
    }                                                                                                                  \
  }
static const struct pto_kernel_param inout_params[] = PARAMS(PTO_INOUT), sum_params[] = PARAMS(PTO_ACCUMULATE);
#define KERNEL(name_, flags_, list, run_)                                                                              \
  { .name = name_, .cores = PTO_AIC | PTO_AIV, .flags = flags_, .params = list, .param_count = 3, .run = run_ }
static const struct pto_kernel kernels[KINDS] = {
    [PLAIN] = KERNEL("plain", 0, inout_params, change),
    [ALONE] = KERNEL("alone", PTO_KERNEL_WAITS, inout_params, follow),
    [TOGETHER] = KERNEL("together", PTO_KERNEL_WAITS, inout_params, follow),
    [TURNS] = KERNEL("turns", PTO_KERNEL_TURNS, sum_params, add_in_turn),
};

static int submit_task(struct pto_runtime *rt, const struct task *task) {
  const uint64_t count = CELLS;
  const struct pto_kernel *kernel = &kernels[task->kind];
  struct pto_tensor own = pto_external_tensor(rt, memory[task->own], PTO_UINT64, 1, &count);
  struct pto_tensor other = pto_external_tensor(rt, memory[task->other], PTO_UINT64, 1, &count);
  const struct pto_param params[] = {pto_param_tensor(kernel->params[0].mode, &own), pto_input(&other),
                                     pto_scalar_u64((uint64_t)(uintptr_t)task)};
  struct pto_launch launch = {.block_count = task->blocks, .sync_start = task->kind == TOGETHER};
  if (has_kernel(task, PTO_ROLE_AIC)) launch.aic = kernel;
  if (has_kernel(task, PTO_ROLE_AIV0)) launch.aiv0 = kernel;
  if (has_kernel(task, PTO_ROLE_AIV1)) launch.aiv1 = kernel;
  return pto_submit(rt, &launch, params, 3, NULL);
}
static int submit_program(struct pto_runtime *rt, void *context) {
  const struct program *program = context;
  int status = PTO_OK;
  for (uint32_t i = 0; i < program->count && status == PTO_OK; i++) status = submit_task(rt, &program->tasks[i]);
  return status;
}

static void start(uint64_t (*cells)[CELLS], uint64_t seed) {
  struct pto_rng rng = {~seed};
  for (uint32_t i = 0; i < REGIONS; i++)
    for (uint32_t k = 0; k < CELLS; k++) cells[i][k] = pto_rng_next(&rng);
}

/* The operation that gives the last signal at this one's flag, where each is waited for; `task->count` where not. */
static uint32_t last_signal_of_waits(const struct task *task, const struct operation *like) {
  uint32_t last = task->count, signals = 0, waits = 0;
  for (uint32_t i = 0; i < task->count; i++) {
    const struct operation *op = &task->operations[i];
    if (op->verb == SIGNAL && op->other == like->other && op->flag == like->flag) {
      last = i;
      signals++;
    }
    waits += op->verb == WAIT && op->core == like->other && op->flag == like->flag;
  }
  return waits == signals ? last : task->count;
}

/* Spoils one operation, where the program has one that the rest cannot do without. */
static void spoil(const struct program *program, struct pto_rng *rng) {
  spoiled.is_left_out = pto_rng_below(rng, 2) == 0;
  for (uint32_t tries = 0; tries < 200; tries++) {
    const struct task *task = &program->tasks[pto_rng_below(rng, program->count)];
    if (task->count == 0) continue;
    uint32_t i = (uint32_t)pto_rng_below(rng, task->count);
    if (spoiled.is_left_out) {
      if (task->operations[i].verb != SIGNAL) continue;
      i = last_signal_of_waits(task, &task->operations[i]);
      if (i == task->count) continue;
    }
    spoiled.operation = i;
    spoiled.task = task;
    return;
  }
}

static uint64_t failed_count, deadlocked_count;

/* Runs it spoiled, where that can be. */
static void run_spoiled(struct pto_runtime *rt, struct program *program, uint64_t seed,
                        const struct pto_config *config) {
  struct pto_rng rng = {seed * 1000 + config->workers};
  spoil(program, &rng);
  if (!spoiled.task) return;
  start(memory, seed);
  int status = pto_run(rt, submit_program, program);
  const char *words = spoiled.is_left_out ? "cores wait for ever: " : "fails on purpose";
  if (status != (spoiled.is_left_out ? PTO_EDEADLOCK : PTO_EKERNEL) || !strstr(pto_last_error(rt), words))
    fail_msg("PTO_SEED=%" PRIu64 " on %s %s, %s, %u workers: spoiled at operation %u of task %u, %d %s", seed,
             config->engine, config->chip, config->policy, config->workers, spoiled.operation,
             (unsigned)(spoiled.task - program->tasks), status, pto_last_error(rt));
  *(spoiled.is_left_out ? &deadlocked_count : &failed_count) += 1;
  spoiled.task = NULL;
}

/* Runs it from the start in `rt`, which it destroys. */
static void run_in(struct pto_runtime *rt, struct program *program, uint64_t seed, const struct pto_config *config) {
  char sentence[PTO_SENTENCE_SIZE];
  run_spoiled(rt, program, seed, config);
  start(memory, seed);
  int status = pto_run(rt, submit_program, program);
  snprintf(sentence, sizeof sentence, "%s", pto_last_error(rt));
  pto_runtime_destroy(rt);
  if (status != PTO_OK || memcmp(memory, expected, sizeof memory) != 0)
    fail_msg("PTO_SEED=%" PRIu64 " on %s %s, %s, %u workers: %s", seed, config->engine, config->chip, config->policy,
             config->workers, status != PTO_OK ? sentence : "other numbers than the model's");
}

static void run_program(struct program *program, uint64_t seed, uint32_t place) {
  static const char *const small[] = {"tiny", "a2a3", "tiny", "a5"}, *const wide[] = {"a2a3", "a5", "a5", "a2a3"};
  char policy[32];
  struct pto_error error = {0};
  snprintf(policy, sizeof policy, "random:%" PRIu64, seed);
  const char *const policies[] = {"fifo", "lifo", policy};
  struct pto_config config = {.size = sizeof config,
                              .engine = place < 2 ? "virtual" : "threads",
                              .chip = (program->is_wide ? wide : small)[place],
                              .policy = policies[seed % 3],
                              .workers = 1 + (uint32_t)(seed / 3 + place) % 4,
                              .window = 64,
                              .heap_bytes = 65536};
  struct pto_runtime *rt = NULL;
  if (pto_runtime_create_explained(&config, &rt, error.sentence, sizeof error.sentence)) fail_msg("%s", error.sentence);
  run_in(rt, program, seed, &config);
}

static void explore(struct program *program, uint64_t seed, uint32_t schedule) {
  char policy[32];
  struct pto_error error = {0};
  snprintf(policy, sizeof policy, "random:%u", schedule);
  struct pto_config config = {.size = sizeof config,
                              .engine = "the serial port,",
                              .chip = policy + strlen("random:"),
                              .policy = policy,
                              .window = 64,
                              .heap_bytes = 65536};
  const struct pto_serial_port_config port = {
      .cluster_count = program->is_wide ? 8 : 1 + schedule % 3, .slots_per_core = 1 + schedule % 4, .seed = schedule};
  struct pto_runtime *rt = NULL;
  if (pto_control_create(&config, pto_serial_port_create(&port), NULL, &rt, &error)) fail_msg("%s", error.sentence);
  run_in(rt, program, seed, &config);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 0) : otherwise;
}

static void test_random_programs_of_waiting_cores_equal_the_model(void **state) {
  static struct program program;
  uint64_t first = number_of("PTO_SEED", 1), count = number_of("PTO_WAITING_PROGRAMS", getenv("PTO_TEST_LONG") ? 2000
                                                                                       : PTO_HAS_SANITIZER     ? 20
                                                                                                               : 60);
  uint64_t tasks[KINDS] = {0}, operations = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    memset(&program, 0, sizeof program);
    make_program(seed, &program);
    start(expected, seed);
    for (uint32_t i = 0; i < program.count; i++) {
      model_task(&program.tasks[i], expected);
      tasks[program.tasks[i].kind]++;
      operations += program.tasks[i].count;
    }
    for (uint32_t place = 0; place < 4; place++) run_program(&program, seed, place);
    for (uint32_t schedule = 0; schedule < 20; schedule++) explore(&program, seed, schedule);
  }
  printf("%" PRIu64 " programs from seed %" PRIu64 ": %" PRIu64 " plain tasks, %" PRIu64 " of blocks alone, %" PRIu64
         " together, %" PRIu64 " in turns; %" PRIu64 " operations\n",
         count, first, tasks[PLAIN], tasks[ALONE], tasks[TOGETHER], tasks[TURNS], operations);
  printf("spoiled: %" PRIu64 " runs failed, %" PRIu64 " waited for ever\n", failed_count, deadlocked_count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_programs_of_waiting_cores_equal_the_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
