/* SPDX-License-Identifier: MIT */
/*
 * How a poll without a call is seen: the compiler puts a call in front of each block of code, which counts a number of
 * the thread down.  Where that passes 0, the place (return address, stack pointer) is remembered with a hash of what
 * the function has in registers and on its stack.  If the code comes to that place again with the same hash, within
 * some blocks, then it goes round without having done anything but read: it polls, and yields.  A loop that computes
 * changes a register.  One that counts in memory is taken for a poll; that costs it some time, and no more.
 */
#include <compat/kernel/seam.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pto/core.h>
#include <runtime/base/atomic.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

#define BLOCKS_BETWEEN 4096      /* looks for a poll */
#define BLOCKS_WATCHED 256       /* at most, from a place until the code comes there again */
#define BLOCKS_OF_WORK 1000000u  /* after which others may run, though no poll was seen: it may count its looks */
#define BLOCKS_OF_A_WAIT 20000u  /* that a core runs at most from one wait to the next where it does nothing else */
#define STACK_HASHED_BYTES 1024u /* of the function's frame and those above */

struct exit_call {
  void (*destroy)(void *object);
  void *object;
};

struct core_state {
  const struct pto_compat_call *call;
  jmp_buf escape;    /* out of the kernel: the run ends */
  int status;        /* why */
  uintptr_t top;     /* of the stack that is the kernel's */
  uint32_t held;     /* times that it holds the mutex */
  bool has_notified; /* since it yielded last */
  /* The place that is watched; pc 0: none. */
  uint64_t pc, hash;
  uintptr_t sp;
  uint32_t watched, since; /* blocks since it yielded last */
  uint64_t last_ticks;
  void **variables, **blocks; /* by index of the tables below */
  size_t variable_count, block_count;
  struct exit_call *exits;
  size_t exit_count, exit_capacity;
};

/* initial-exec: the first use of another one in a thread takes memory, without which the system's library ends the
 * process. */
static _Thread_local struct core_state *now __attribute__((tls_model("initial-exec")));
/* Read by the objects, relative to the thread pointer. */
static _Thread_local int32_t countdown __attribute__((tls_model("initial-exec")));

/* ---- yielding ---- */

static _Noreturn void leave(struct core_state *core, int status) {
  core->status = status;
  longjmp(core->escape, 1);
}

static void yield(struct core_state *core, bool has_worked) {
  const int status = pto_core_yield(core->call->core_args, has_worked);
  now = core;
  countdown = core->pc ? 0 : BLOCKS_BETWEEN;
  core->since = 0;
  core->has_notified = false;
  if (PTO_UNLIKELY(status != 0)) leave(core, status);
}

/* Of what the function at `frame` has to go on with. */
__attribute__((no_sanitize("address"))) static uint64_t hash_place(const struct core_state *core, const uint64_t *frame,
                                                                   const uint64_t *registers) {
  const uint64_t *end = frame + STACK_HASHED_BYTES / sizeof *frame;
  uint64_t hash = 0;
  if ((uintptr_t)end > core->top) end = (const uint64_t *)core->top; /* NOLINT */
  for (const uint64_t *word = frame; word < end; word++) hash = (hash ^ *word) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; i < 6; i++) hash = (hash ^ registers[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return hash;
}

static void watch(struct core_state *core, const uint64_t *frame, const uint64_t *registers) {
  core->pc = frame[0];
  core->sp = (uintptr_t)frame;
  core->hash = hash_place(core, frame, registers);
  core->watched = 0;
  countdown = 0;
}

static void block(const uint64_t *frame, const uint64_t *registers) {
  struct core_state *core = now;
  countdown = BLOCKS_BETWEEN;
  if (!core || core->held > 0) return;
  if (core->pc == 0) {
    core->since += BLOCKS_BETWEEN;
    if (core->since >= BLOCKS_OF_WORK) yield(core, true);
    watch(core, frame, registers);
    return;
  }
  if (core->pc == frame[0] && core->sp == (uintptr_t)frame) {
    const bool polls = core->hash == hash_place(core, frame, registers);
    core->pc = 0;
    if (!polls) return;
    watch(core, frame, registers);
    yield(core, core->has_notified || core->since >= BLOCKS_BETWEEN); /* it came from elsewhere */
    return;
  }
  if (++core->watched < BLOCKS_WATCHED)
    countdown = 0;
  else
    core->pc = 0;
}

static void wait(void) {
  if (!now || now->held > 0) return;
  if (countdown > 0) now->since += BLOCKS_BETWEEN - (uint32_t)countdown;
  now->pc = 0;
  yield(now, now->has_notified || now->since > BLOCKS_OF_A_WAIT);
}
static void notify(void) {
  if (now) now->has_notified = true;
}

static __attribute__((noreturn)) void fail(const char *what);

/* ---- the mutex ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
  if (now && now->held++ == 0) pthread_mutex_lock(&mutex);
}
static int try_lock(void) {
  if (now && now->held == 0 && pthread_mutex_trylock(&mutex) != 0) return 0;
  if (now) now->held++;
  return 1;
}
static void unlock(void) {
  if (now && now->held > 0 && --now->held == 0) pthread_mutex_unlock(&mutex);
}
static uint32_t unlock_all(void) {
  const uint32_t held = now ? now->held : 0;
  if (held == 0) return 0;
  now->held = 0;
  pthread_mutex_unlock(&mutex);
  return held;
}
static void lock_again(uint32_t count) {
  if (count == 0 || !now) return;
  pthread_mutex_lock(&mutex);
  now->held = count;
}

static __attribute__((noreturn)) void fail(const char *what) {
  if (!now) {
    (void)fprintf(stderr, "%s\n", what);
    abort();
  }
  (void)unlock_all();
  leave(now, pto_kernel_error(now->call->core_args, "%s", what));
}

/* ---- thread-local variables ---- */

/* What clang emits for one (-femulated-tls); index and unused are a word for the one who answers. */
struct emulated {
  size_t size, align;
  _Atomic uint32_t index; /* from 1 on; 0: not known yet.  All threads, under `table_lock` → all */
  uint32_t unused;
  const void *value; /* at first; NULL: zeroes */
};

struct variable {
  const char *name; /* NULL: of one object alone */
  size_t size, align;
};

struct module {
  size_t number;
  const void *image;
  size_t image_bytes, size_bytes, align;
};

/* All cores' and objects'; entries stay.  Under `table_lock`. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct variable *variables;
static size_t variable_count, variable_capacity;
static struct module *modules;
static size_t module_count, module_capacity;

/* An inline variable of a header is one, however many objects have it: as the language has it, and since each core
 * would have a local memory for each kernel else.  Found by its name, where the object shows that. */
static size_t index_of(struct emulated *control) {
  Dl_info info;
  const char *name = dladdr(control, &info) && info.dli_saddr == control ? info.dli_sname : NULL;
  pthread_mutex_lock(&table_lock);
  size_t index = pto_atomic_load(&control->index, memory_order_relaxed);
  for (size_t i = 0; index == 0 && name && i < variable_count; i++)
    if (variables[i].name && strcmp(variables[i].name, name) == 0 && variables[i].size == control->size) index = i + 1;
  if (index == 0) {
    struct variable *variable = pto_grow(&variables, &variable_count, &variable_capacity, sizeof *variable);
    if (variable) {
      *variable = (struct variable){name, control->size, control->align};
      index = variable_count;
    }
  }
  pto_atomic_store(&control->index, (uint32_t)index, memory_order_release);
  pthread_mutex_unlock(&table_lock);
  return index;
}

/* Slot `index` of a core's array, which grows; NULL where there is no memory. */
static void **slot_at(void ***array, size_t *count, size_t index) {
  if (index >= *count) {
    const size_t wanted = index + 16;
    void **larger = realloc(*array, wanted * sizeof *larger);
    if (!larger) return NULL;
    memset(larger + *count, 0, (wanted - *count) * sizeof *larger);
    *array = larger;
    *count = wanted;
  }
  return *array + index;
}

static void *make(size_t size, size_t align, const void *image, size_t image_bytes) {
  const size_t alignment = align < 16 ? 16 : align;
  void *memory = aligned_alloc(alignment, pto_align_up(size ? size : 1, alignment));
  if (!memory) return NULL;
  memset(memory, 0, size);
  if (image) memcpy(memory, image, image_bytes);
  return memory;
}

static void *emulated(void *argument) {
  struct emulated *control = argument;
  struct core_state *core = now;
  if (!core) fail("a kernel's thread-local variable is used outside of a kernel");
  size_t index = pto_atomic_load(&control->index, memory_order_acquire);
  if (PTO_UNLIKELY(index == 0)) index = index_of(control);
  if (PTO_LIKELY(index != 0 && index <= core->variable_count && core->variables[index - 1]))
    return core->variables[index - 1];
  void **slot = index ? slot_at(&core->variables, &core->variable_count, index - 1) : NULL;
  if (slot) *slot = make(control->size, control->align, control->value, control->size);
  if (!slot || !*slot) fail("no memory for a thread-local variable");
  return *slot;
}

/* g++ has no emulation; but its objects ask __tls_get_addr, and the linker lets the seam answer. */
extern void *__tls_get_addr(void *index); /* NOLINT */

static const struct module *module_of(size_t number, size_t *place) {
  const struct module *found = NULL;
  pthread_mutex_lock(&table_lock);
  for (*place = 0; *place < module_count && !found; (*place)++)
    if (modules[*place].number == number) found = &modules[*place];
  pthread_mutex_unlock(&table_lock);
  return found;
}

static void *block_of(size_t number, size_t offset) {
  struct core_state *core = now;
  size_t asked[2] = {number, offset}, place;
  struct module module;
  if (PTO_LIKELY(core && number < core->block_count && core->blocks[number]))
    return (char *)core->blocks[number] + offset;
  const struct module *found = core ? module_of(number, &place) : NULL;
  if (!found) return __tls_get_addr(asked); /* of a library, or outside of a kernel */
  pthread_mutex_lock(&table_lock);
  module = modules[place - 1]; /* the array may have moved */
  pthread_mutex_unlock(&table_lock);
  void **slot = slot_at(&core->blocks, &core->block_count, number);
  if (slot) *slot = make(module.size_bytes, module.align, module.image, module.image_bytes);
  if (!slot || !*slot) fail("no memory for thread-local variables");
  return (char *)*slot + offset;
}

bool pto_compat_seam_add_module(size_t number, const void *image, size_t image_bytes, size_t size_bytes, size_t align) {
  pthread_mutex_lock(&table_lock);
  struct module *module = pto_grow(&modules, &module_count, &module_capacity, sizeof *module);
  if (module) *module = (struct module){number, image, image_bytes, size_bytes, align};
  pthread_mutex_unlock(&table_lock);
  return module != NULL;
}

static void at_exit(void (*destroy)(void *), void *object) {
  struct core_state *core = now;
  struct exit_call *call = core ? pto_grow(&core->exits, &core->exit_count, &core->exit_capacity, sizeof *call) : NULL;
  if (call) *call = (struct exit_call){destroy, object}; /* else it is never destroyed */
}

static void drop(void *memory) {
  struct core_state *core = memory, *before = now;
  now = core;
  core->held = 1; /* never yields */
  while (core->exit_count > 0) {
    const struct exit_call call = core->exits[--core->exit_count];
    call.destroy(call.object);
  }
  now = before;
  for (size_t i = 0; i < core->variable_count; i++) free(core->variables[i]);
  for (size_t i = 0; i < core->block_count; i++) free(core->blocks[i]);
  free(core->variables);
  free(core->blocks);
  free(core->exits);
}

/* ---- what pto-isa looks for by dlsym ---- */

static uint32_t sub_block(void) { return now ? (uint32_t)now->call->global->sub_block : 0; }

/* A sub-block dimension of 1, as the existing runtime's simulator has it. */
static void execution_context(uint32_t *block_index, uint32_t *sub_block_id, uint32_t *sub_block_dim) {
  *block_index = now ? (uint32_t)now->call->local->block_index : 0;
  *sub_block_id = sub_block();
  *sub_block_dim = 1;
}

static void *pipe_state(uint64_t key, size_t size_bytes) {
  void *memory = NULL;
  if (!now) return NULL;
  const int status = pto_core_shared(now->call->core_args, key, size_bytes, &memory);
  if (status != 0) leave(now, status);
  return memory;
}

static void *find(void *handle, const char *name) {
  static const struct {
    const char *name;
    void (*function)(void);
  } hooks[] = {{"pto_sim_get_subblock_id", (void (*)(void))sub_block},
               {"pto_cpu_sim_get_execution_context", (void (*)(void))execution_context},
               {"pto_sim_get_pipe_shared_state", (void (*)(void))pipe_state}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(hooks); i++)
    if (strcmp(name, hooks[i].name) == 0) return (void *)hooks[i].function;
  return dlsym(handle, name);
}

/* No two readings are equal, so that a kernel that waits for some time to pass ends in virtual time too. */
static uint64_t ticks(uint64_t per_second) {
  struct core_state *core = now;
  uint64_t now_ns = 0;
  if (!core || pto_core_now(core->call->core_args, &now_ns) != 0) return 0;
  const uint64_t read = now_ns / (UINT64_C(1000000000) / per_second);
  core->last_ticks = pto_max_u64(read, core->last_ticks + 1);
  return core->last_ticks;
}

/* ---- the table, and the call ---- */

const struct pto_compat_seam_calls *pto_compat_seam_table(void) {
  static struct pto_compat_seam_calls table = {.abi = PTO_COMPAT_SEAM_ABI,
                                               .block = block,
                                               .wait = wait,
                                               .notify = notify,
                                               .lock = lock,
                                               .try_lock = try_lock,
                                               .unlock = unlock,
                                               .unlock_all = unlock_all,
                                               .lock_again = lock_again,
                                               .emulated = emulated,
                                               .block_of = block_of,
                                               .at_exit = at_exit,
                                               .ticks = ticks,
                                               .find = find,
                                               .fail = fail};
  table.countdown = (char *)&countdown - (char *)__builtin_thread_pointer();
  return &table;
}

int pto_compat_kernel_call(void *context, const struct pto_compat_call *call) {
  (void)context;
  void *memory;
  const int status = pto_core_private(call->core_args, sizeof(struct core_state), drop, &memory);
  if (status != 0) return status;
  struct core_state *core = memory;
  core->call = call;
  core->status = 0;
  core->held = 0;
  core->pc = 0;
  core->since = 0;
  core->has_notified = false;
  core->top = (uintptr_t)__builtin_frame_address(0);
  now = core;
  countdown = BLOCKS_BETWEEN;
  if (setjmp(core->escape) == 0) call->kernel->entry(call->args);
  now = NULL;
  return core->status;
}
