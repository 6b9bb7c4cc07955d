/* SPDX-License-Identifier: MIT */
#include <tests/oracle/oracle_cores.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tests/oracle/coroutine.h>

/* ---- cores ---- */

struct element {
  struct element *next;
  uint64_t size_bytes;
  unsigned char bytes[];
};

struct fifo {
  struct element *oldest;
  uint64_t used_bytes; /* Σ (size + 8), ≤ PTO_CORE_FIFO_BYTES */
};

/* What a core can go on from only when something holds. */
enum wait_kind { WAIT_NOTHING, WAIT_FLAG, WAIT_ROOM, WAIT_ELEMENT, WAIT_BARRIER, WAIT_TURN, WAIT_CHANGE };

struct core {
  struct pto_core_port port; /* first: the port's address is the core's */
  struct group *group;
  const struct pto_kernel *kernel; /* NULL: the role has none */
  struct pto_core view;
  struct pto_kernel_args args;
  struct oracle_coroutine coroutine;
  bool has_begun, has_returned;
  enum wait_kind waits;
  uint32_t wait_value;   /* the flag, or the other end of the FIFO */
  uint64_t wanted_bytes; /* of room */
  uint64_t signals[PTO_CORE_FLAGS];
  struct fifo from[PTO_ROLE_COUNT]; /* FIFOs to this core */
  uint64_t barriers;
  bool had_turn;
  void *own;
  uint64_t own_bytes;
  void (*drop_own)(void *memory);
  char message[512];
};

/* Memory that the kernels of a block share. */
struct piece {
  struct piece *next;
  uint32_t block;
  uint64_t key, size_bytes;
  void *memory;
};

#define MOST_LOOKS 10000u /* by cores that poll, while no other can go on */

/* Cores that may wait for each other: of one block, or of all blocks of a task. */
struct group {
  struct pto_runtime *rt;
  const struct oracle_task *task;
  uint32_t first_block, count; /* cores, 3 a block */
  int status;                  /* of the failure that all calls answer from then on */
  struct core *cores;
  unsigned char *local; /* of all cores */
  struct piece *pieces;
  uint32_t looks, next_look; /* since a core went on that does not poll; who looks next */
  uint64_t steps;
};

struct pto_core oracle_core_describe(const struct pto_runtime *rt, const struct oracle_task *task, uint32_t role,
                                     uint32_t block, unsigned char *local) {
  uint32_t cluster = block % rt->clusters;
  struct pto_core core = {.kind = role == PTO_ROLE_AIC ? PTO_AIC : PTO_AIV,
                          .index = 3 * cluster + role,
                          .cluster = cluster,
                          .lane = role,
                          .role = role,
                          .block_index = block,
                          .block_count = task->block_count};
  core.local = (struct pto_local_memory){local, role == PTO_ROLE_AIC ? PTO_ORACLE_AIC_BYTES : PTO_ORACLE_AIV_BYTES};
  if (role != PTO_ROLE_AIC) return core;
  core.l0a = (struct pto_local_memory){local + PTO_ORACLE_AIC_BYTES, PTO_ORACLE_AIC_BYTES};
  core.l0b = (struct pto_local_memory){local + 2 * PTO_ORACLE_AIC_BYTES, PTO_ORACLE_AIC_BYTES};
  core.l0c = (struct pto_local_memory){local + 3 * PTO_ORACLE_AIC_BYTES, PTO_ORACLE_AIC_BYTES};
  return core;
}

struct pto_kernel_args oracle_core_args(const struct oracle_task *task, const struct pto_core *core) {
  return (struct pto_kernel_args){task->tensors, task->scalars, core, task->tensor_count, task->scalar_count};
}

static int refuse_failed(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_core *core,
                         int status) {
  return oracle_refuse(rt, PTO_EKERNEL, "task %llu, kernel %s, block %u on %s failed with %d: %s",
                       (unsigned long long)rt->task_count, kernel->name, core->block_index, pto_role_name(core->role),
                       status, core->message);
}

/* ---- when a core can go on ---- */

static struct core *core_at(const struct group *group, uint32_t block, uint32_t role) {
  return &group->cores[(block - group->first_block) * PTO_ROLE_COUNT + role];
}
static uint32_t place_of(const struct core *core) { return (uint32_t)(core - core->group->cores); }

static bool has_room(const struct fifo *fifo, uint64_t size_bytes) {
  return fifo->used_bytes + size_bytes + 8 <= PTO_CORE_FIFO_BYTES;
}

/* The first core that has not come to the barrier as often as this one, or NULL. */
static const struct core *late_for_barrier(const struct core *self) {
  for (uint32_t i = 0; i < self->group->count; i++) {
    const struct core *other = &self->group->cores[i];
    if (other->kernel && pto_kernel_waits(other->kernel) && other->barriers < self->barriers) return other;
  }
  return NULL;
}

/* The first core whose return this one's turn needs, or NULL.  Blocks before the group's have returned. */
static const struct core *before_in_turn(const struct core *self) {
  for (uint32_t i = 0; i < place_of(self); i++) {
    const struct core *other = &self->group->cores[i];
    bool counts = other->kernel &&
                  (other->view.block_index != self->view.block_index || (other->kernel->flags & PTO_KERNEL_TURNS) != 0);
    if (counts && !other->has_returned) return other;
  }
  return NULL;
}

static bool can_go_on(const struct core *self) {
  if (!self->kernel || self->has_returned) return false;
  if (self->group->status != 0) return self->has_begun;
  switch (self->waits) {
  case WAIT_FLAG:
    return self->signals[self->wait_value] > 0;
  case WAIT_ROOM:
    return has_room(&core_at(self->group, self->view.block_index, self->wait_value)->from[self->view.role],
                    self->wanted_bytes);
  case WAIT_ELEMENT:
    return self->from[self->wait_value].oldest != NULL;
  case WAIT_BARRIER:
    return late_for_barrier(self) == NULL;
  case WAIT_TURN:
    return before_in_turn(self) == NULL;
  case WAIT_CHANGE:
    return false; /* their turn is when no other can go on */
  default:
    return true;
  }
}

/* ---- the calls of kernels ---- */

static struct core *caller(const struct pto_kernel_args *args) { return (struct core *)(void *)args->core->port; }

/* Returns when the core can go on: 0, or what its call answers. */
static int wait_until(struct core *self, enum wait_kind kind, uint32_t value, uint64_t wanted_bytes) {
  self->waits = kind;
  self->wait_value = value;
  self->wanted_bytes = wanted_bytes;
  if (!can_go_on(self)) oracle_coroutine_suspend(&self->coroutine);
  self->waits = WAIT_NOTHING;
  return self->group->status;
}

static int call_signal(const struct pto_kernel_args *args, uint32_t block, uint32_t roles, uint32_t flag) {
  struct core *self = caller(args);
  if (self->group->status != 0) return self->group->status;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
    if (roles & PTO_ROLE_BIT(role)) core_at(self->group, block, role)->signals[flag]++;
  return 0;
}

static int call_wait(const struct pto_kernel_args *args, uint32_t flag) {
  struct core *self = caller(args);
  int status = wait_until(self, WAIT_FLAG, flag, 0);
  if (status == 0) self->signals[flag]--;
  return status;
}

static int call_push(const struct pto_kernel_args *args, uint32_t role, const void *data, uint64_t size_bytes) {
  struct core *self = caller(args);
  struct fifo *fifo = &core_at(self->group, self->view.block_index, role)->from[self->view.role];
  int status = wait_until(self, WAIT_ROOM, role, size_bytes);
  if (status != 0) return status;
  struct element *element = malloc(sizeof *element + size_bytes);
  if (!element) return pto_kernel_error(args, "pto_core_push: the oracle is out of memory");
  element->next = NULL;
  element->size_bytes = size_bytes;
  memcpy(element->bytes, data, size_bytes);
  struct element **end = &fifo->oldest;
  while (*end) end = &(*end)->next;
  *end = element;
  fifo->used_bytes += size_bytes + 8;
  return 0;
}

static int call_pop(const struct pto_kernel_args *args, uint32_t role, void *data, uint64_t size_bytes) {
  struct core *self = caller(args);
  struct fifo *fifo = &self->from[role];
  int status = wait_until(self, WAIT_ELEMENT, role, 0);
  if (status != 0) return status;
  struct element *element = fifo->oldest;
  if (element->size_bytes != size_bytes)
    return pto_kernel_error(args, "pto_core_pop: the element has %llu bytes, %llu are asked for",
                            (unsigned long long)element->size_bytes, (unsigned long long)size_bytes);
  memcpy(data, element->bytes, size_bytes);
  fifo->oldest = element->next;
  fifo->used_bytes -= size_bytes + 8;
  free(element);
  return 0;
}

static int call_barrier(const struct pto_kernel_args *args) {
  struct core *self = caller(args);
  if (self->group->status != 0) return self->group->status;
  self->barriers++;
  return wait_until(self, WAIT_BARRIER, 0, 0);
}

static int call_turn(const struct pto_kernel_args *args) {
  struct core *self = caller(args);
  if (self->had_turn) return self->group->status;
  int status = wait_until(self, WAIT_TURN, 0, 0);
  self->had_turn = status == 0;
  return status;
}

static int call_work(const struct pto_kernel_args *args, const struct pto_cost *cost) {
  (void)cost;
  return caller(args)->group->status;
}

static int call_yield(const struct pto_kernel_args *args, bool has_worked) {
  struct core *self = caller(args);
  if (has_worked) self->group->looks = 0;
  return wait_until(self, WAIT_CHANGE, 0, 0);
}

static int call_shared(const struct pto_kernel_args *args, uint64_t key, uint64_t size_bytes, void **memory) {
  struct core *self = caller(args);
  struct piece *piece = self->group->pieces;
  while (piece && (piece->block != self->view.block_index || piece->key != key)) piece = piece->next;
  if (!piece) {
    piece = calloc(1, sizeof *piece);
    void *bytes = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    if (!piece || !bytes) {
      free(piece);
      free(bytes);
      return pto_kernel_error(args, "pto_core_shared: the oracle is out of memory");
    }
    memset(bytes, 0, (size_bytes + 63) / 64 * 64);
    *piece = (struct piece){self->group->pieces, self->view.block_index, key, size_bytes, bytes};
    self->group->pieces = piece;
  }
  if (piece->size_bytes != size_bytes) return pto_kernel_error(args, "pto_core_shared: another size");
  *memory = piece->memory;
  return self->group->status;
}

/* The cores of a group have theirs; those of the next one begin with new ones. */
static int call_private(const struct pto_kernel_args *args, uint64_t size_bytes, void (*drop)(void *memory),
                        void **memory) {
  struct core *self = caller(args);
  if (!self->own) self->own = calloc(1, size_bytes);
  if (!self->own) return pto_kernel_error(args, "pto_core_private: the oracle is out of memory");
  self->own_bytes = size_bytes;
  self->drop_own = drop;
  *memory = self->own;
  return self->group->status;
}

static int call_now(const struct pto_kernel_args *args, uint64_t *now_ns) {
  *now_ns = caller(args)->group->steps;
  return caller(args)->group->status;
}

static const struct pto_core_port_ops port_ops = {.signal = call_signal,
                                                  .wait = call_wait,
                                                  .push = call_push,
                                                  .pop = call_pop,
                                                  .barrier = call_barrier,
                                                  .turn = call_turn,
                                                  .work = call_work,
                                                  .yield = call_yield,
                                                  .shared = call_shared,
                                                  .private_memory = call_private,
                                                  .now = call_now};

/* ---- a group ---- */

/* What a core does from its beginning to its end, on a stack of its own or, where it does not wait, on ours. */
static void core_main(void *argument) {
  struct core *self = argument;
  int status = self->kernel->run(&self->args);
  self->has_returned = true;
  if (status == 0 || self->group->status != 0) return;
  self->group->status = refuse_failed(self->group->rt, self->kernel, &self->view, status);
}

static int core_go_on(struct core *self) {
  bool is_first = !self->has_begun;
  self->has_begun = true;
  if (!pto_kernel_waits(self->kernel)) {
    core_main(self);
    return PTO_OK;
  }
  if (is_first && !oracle_coroutine_init(&self->coroutine, PTO_CORE_STACK_BYTES, core_main, self)) {
    self->has_returned = true;
    return oracle_refuse(self->group->rt, PTO_EKERNEL, "no memory for a stack");
  }
  oracle_coroutine_resume(&self->coroutine);
  if (self->has_returned) oracle_coroutine_fini(&self->coroutine);
  return PTO_OK;
}

static void say(struct pto_error *error, const struct core *self) {
  const struct core *other = NULL;
  pto_error_append(error, "; %s of block %u (%s) waits for ", pto_role_name(self->view.role), self->view.block_index,
                   self->kernel->name);
  switch (self->waits) {
  case WAIT_FLAG:
    pto_error_append(error, "a signal on flag %u", self->wait_value);
    return;
  case WAIT_ROOM:
    pto_error_append(error, "room in the FIFO to %s", pto_role_name(self->wait_value));
    return;
  case WAIT_ELEMENT:
    pto_error_append(error, "an element from %s", pto_role_name(self->wait_value));
    return;
  case WAIT_BARRIER:
    other = late_for_barrier(self);
    pto_error_append(error, "the barrier, where %s of block %u is missing", pto_role_name(other->view.role),
                     other->view.block_index);
    return;
  case WAIT_CHANGE:
    pto_error_append(error, "a change of memory");
    return;
  default:
    other = before_in_turn(self);
    pto_error_append(error, "its turn, after %s of block %u", pto_role_name(other->view.role), other->view.block_index);
  }
}

static int refuse_deadlock(struct group *group) {
  struct pto_error error = {0};
  (void)pto_error_set(&error, PTO_EDEADLOCK, "task %llu: cores wait for each other for ever",
                      (unsigned long long)group->rt->task_count);
  for (uint32_t i = 0; i < group->count; i++)
    if (group->cores[i].kernel && !group->cores[i].has_returned) say(&error, &group->cores[i]);
  return oracle_refuse(group->rt, PTO_EDEADLOCK, "%s", error.sentence);
}

/* The lowest core that can go on, else one that polls, each in its turn; or NULL. */
static struct core *next_core(struct group *group) {
  for (uint32_t i = 0; i < group->count; i++)
    if (can_go_on(&group->cores[i])) {
      group->looks = 0;
      return &group->cores[i];
    }
  for (uint32_t i = 0; i < group->count && group->looks < MOST_LOOKS; i++) {
    struct core *core = &group->cores[(group->next_look + i) % group->count];
    if (!core->kernel || core->has_returned || core->waits != WAIT_CHANGE) continue;
    group->next_look = (group->next_look + i + 1) % group->count;
    group->looks++;
    return core;
  }
  return NULL;
}

static bool all_have_returned(const struct group *group) {
  for (uint32_t i = 0; i < group->count; i++) {
    const struct core *core = &group->cores[i];
    if (core->kernel && !core->has_returned && (core->has_begun || group->status == 0)) return false;
  }
  return true;
}

static void group_run(struct group *group) {
  while (!all_have_returned(group)) {
    struct core *core = next_core(group);
    group->steps++;
    int status = core ? core_go_on(core) : refuse_deadlock(group);
    if (group->status == 0) group->status = status;
  }
}

static bool group_init(struct group *group, uint32_t blocks) {
  const struct oracle_task *task = group->task;
  group->count = blocks * PTO_ROLE_COUNT;
  group->cores = calloc(group->count, sizeof *group->cores);
  group->local = malloc((size_t)group->count * PTO_ORACLE_LOCAL_BYTES);
  if (!group->cores || !group->local) return false;
  for (uint32_t i = 0; i < group->count; i++) {
    struct core *core = &group->cores[i];
    uint32_t role = i % PTO_ROLE_COUNT, block = group->first_block + i / PTO_ROLE_COUNT;
    core->group = group;
    core->kernel = task->kernels[role];
    core->port = (struct pto_core_port){.ops = &port_ops, .is_sync_start = task->is_sync_start};
    memcpy(core->port.kernels, task->kernels, sizeof core->port.kernels);
    core->view = oracle_core_describe(group->rt, task, role, block, group->local + (size_t)i * PTO_ORACLE_LOCAL_BYTES);
    core->view.message = core->message;
    core->view.message_size = sizeof core->message;
    core->view.port = core->kernel && pto_kernel_waits(core->kernel) ? &core->port : NULL;
    core->args = oracle_core_args(task, &core->view);
  }
  return true;
}

static void group_fini(struct group *group) {
  for (uint32_t i = 0; group->cores && i < group->count; i++) {
    if (group->cores[i].own && group->cores[i].drop_own) group->cores[i].drop_own(group->cores[i].own);
    free(group->cores[i].own);
    for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
      struct element *element = group->cores[i].from[role].oldest;
      while (element) {
        struct element *next = element->next;
        free(element);
        element = next;
      }
    }
  }
  while (group->pieces) {
    struct piece *piece = group->pieces;
    group->pieces = piece->next;
    free(piece->memory);
    free(piece);
  }
  free(group->cores);
  free(group->local);
}

/* The blocks from `first` on as one group. */
static int run_together(struct pto_runtime *rt, const struct oracle_task *task, uint32_t first, uint32_t blocks) {
  struct group group = {.rt = rt, .task = task, .first_block = first};
  int status = group_init(&group, blocks) ? PTO_OK : oracle_refuse(rt, PTO_ENOMEM, "no memory for %u cores", blocks);
  if (status == PTO_OK) {
    group_run(&group);
    status = group.status;
  }
  group_fini(&group);
  return status;
}

/* ---- a task ---- */

static int run_block(struct pto_runtime *rt, const struct oracle_task *task, uint32_t block) {
  char message[512] = "";
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++) {
    if (!task->kernels[role]) continue;
    struct pto_core core = oracle_core_describe(rt, task, role, block, rt->local);
    core.message = message;
    core.message_size = sizeof message;
    struct pto_kernel_args args = oracle_core_args(task, &core);
    int status = task->kernels[role]->run(&args);
    if (status != 0) return refuse_failed(rt, task->kernels[role], &core, status);
  }
  return PTO_OK;
}

int oracle_task_execute(struct pto_runtime *rt, const struct oracle_task *task) {
  bool waits = false;
  int status = PTO_OK;
  for (uint32_t role = 0; role < PTO_ROLE_COUNT; role++)
    if (task->kernels[role] && task->kernels[role]->flags & (PTO_KERNEL_WAITS | PTO_KERNEL_TURNS)) waits = true;
  if (waits && task->is_sync_start) return run_together(rt, task, 0, task->block_count);
  for (uint32_t block = 0; block < task->block_count && status == PTO_OK; block++)
    status = waits ? run_together(rt, task, block, 1) : run_block(rt, task, block);
  return status;
}
