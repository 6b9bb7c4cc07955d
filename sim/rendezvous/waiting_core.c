/* SPDX-License-Identifier: MIT */
#include <sim/rendezvous/waiting_core.h>

#include <runtime/base/sanitizer.h>
#include <sim/chips/timing.h>
#include <sim/host/current.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sanitizers put red zones around what lies on a stack. */
#define STACK_BYTES ((PTO_HAS_SANITIZER ? 4 : 1) * (uint64_t)PTO_CORE_STACK_BYTES)

/* A frame larger than the guard can step over it into the stack of another core.  As many bytes as Linux keeps free
 * below a stack (stack_guard_gap, 256 pages), for that reason; they cost address space alone. */
#define GUARD_BYTES (UINT64_C(1) << 20)

static struct pto_waiting_core *core_of(const struct pto_kernel_args *args) {
  return (struct pto_waiting_core *)(void *)args->core->port;
}
static struct pto_rendezvous_table *table_of(struct pto_waiting_core *core) { return &core->all->rendezvous; }
static struct pto_rendezvous_member member_of(const struct pto_waiting_core *core) {
  return (struct pto_rendezvous_member){core->message.rendezvous, core->message.role};
}

static void lock(struct pto_waiting_core *core) {
  if (core->all->hooks->lock) core->all->hooks->lock(core->all->engine);
}
static void unlock(struct pto_waiting_core *core) {
  if (core->all->hooks->unlock) core->all->hooks->unlock(core->all->engine);
}
static void spend_latency(struct pto_waiting_core *core) {
  if (core->all->hooks->latency) core->all->hooks->latency(core);
}
static void spend_transfer(struct pto_waiting_core *core, uint64_t bytes) {
  if (core->all->hooks->transfer) core->all->hooks->transfer(core, bytes);
}

/* ---- who listens ---- */

static void tell(const struct pto_waiting_core *core, struct pto_core_event event) {
  if (PTO_LIKELY(!core->all->watch)) return;
  event.message = &core->message;
  event.call = core->port.call;
  core->all->watch->told(core->all->watch->context, &event);
}
#define TELL(core, ...) tell(core, (struct pto_core_event){__VA_ARGS__})

/* ---- the calls ---- */

/* Lets others go on first, in engines that ask for it. */
static void step(struct pto_waiting_core *core) {
  if (PTO_LIKELY(!core->all->hooks->steps) || !core->all->hooks->steps(core->all->engine)) return;
  core->all->hooks->wake(core->all->engine, core->message.core);
  pto_fiber_suspend(&core->fiber);
}

static void call_step(const struct pto_kernel_args *args, bool polls) {
  struct pto_waiting_core *core = core_of(args);
  if (PTO_LIKELY(!core->all->hooks->steps)) return;
  if (!polls && core->all->hooks->steps(core->all->engine))
    pto_rendezvous_change(table_of(core)); /* what it did before, others may poll for */
  step(core);
}

/* Under the lock.  0, or why the core is not to go on waiting. */
static int broken(struct pto_waiting_core *core) { return table_of(core)->items[core->message.rendezvous].broken; }

/* The answer, which is not WAIT; of BROKEN *status says why. */
static enum pto_rendezvous_answer ask(struct pto_waiting_core *core, struct pto_rendezvous_question *question,
                                      int *status) {
  for (;;) {
    lock(core);
    const enum pto_rendezvous_answer answer = pto_rendezvous_ask(table_of(core), member_of(core), question);
    *status = answer == PTO_RENDEZVOUS_BROKEN ? broken(core) : 0;
    unlock(core);
    if (answer != PTO_RENDEZVOUS_WAIT) return answer;
    pto_fiber_suspend(&core->fiber); /* a wake between the two only makes it resume at once */
  }
}

static int ask_for_status(struct pto_waiting_core *core, struct pto_rendezvous_question *question) {
  int status;
  (void)ask(core, question, &status);
  return status;
}

static int call_signal(const struct pto_kernel_args *args, uint32_t block_index, uint32_t roles, uint32_t flag) {
  struct pto_waiting_core *core = core_of(args);
  TELL(core, .kind = PTO_CORE_SIGNALS, .subject = (uint8_t)flag, .roles = (uint8_t)roles, .block_index = block_index);
  lock(core);
  pto_rendezvous_signal(table_of(core), member_of(core), block_index, roles, flag);
  unlock(core);
  step(core);
  return 0;
}

static int wait_for(struct pto_waiting_core *core, enum pto_waits_for what, uint32_t subject) {
  struct pto_rendezvous_question question = {.what = what, .subject = subject};
  return ask_for_status(core, &question);
}

int pto_waiting_core_wait_for_peer(struct pto_waiting_core *core, const struct pto_peer_wait *wait) {
  struct pto_rendezvous_question question = {.what = PTO_WAITS_FOR_PEER, .peer = *wait};
  return ask_for_status(core, &question);
}

static int call_wait(const struct pto_kernel_args *args, uint32_t flag) {
  const int status = wait_for(core_of(args), PTO_WAITS_FOR_FLAG, flag);
  if (status != 0) return status;
  TELL(core_of(args), .kind = PTO_CORE_TOOK, .subject = (uint8_t)flag);
  spend_latency(core_of(args));
  return 0;
}

static int call_push(const struct pto_kernel_args *args, uint32_t role, const void *data, uint64_t size_bytes) {
  struct pto_waiting_core *core = core_of(args);
  struct pto_rendezvous_question question = {.what = PTO_WAITS_FOR_ROOM, .subject = role, .size_bytes = size_bytes};
  const int status = ask_for_status(core, &question);
  if (status != 0) return status;
  TELL(core, .kind = PTO_CORE_HAS_ROOM, .subject = (uint8_t)role, .size_bytes = size_bytes);
  spend_transfer(core, size_bytes);
  /* The room is this producer's alone until it is published. */
  pto_rendezvous_fifo_copy_in(&table_of(core)->items[core->message.rendezvous].fifos[core->message.role][role], data,
                              size_bytes);
  TELL(core, .kind = PTO_CORE_PUSHES, .subject = (uint8_t)role, .size_bytes = size_bytes);
  lock(core);
  pto_rendezvous_publish(table_of(core), member_of(core), role, size_bytes);
  unlock(core);
  step(core);
  return 0;
}

static int call_pop(const struct pto_kernel_args *args, uint32_t role, void *data, uint64_t size_bytes) {
  struct pto_waiting_core *core = core_of(args);
  struct pto_rendezvous_question question = {.what = PTO_WAITS_FOR_ELEMENT, .subject = role, .size_bytes = size_bytes};
  int status;
  if (ask(core, &question, &status) == PTO_RENDEZVOUS_MISTAKE)
    return pto_kernel_error(args, "pto_core_pop: %llu bytes are wanted, the oldest element from %s has %llu",
                            (unsigned long long)size_bytes, pto_role_name(role),
                            (unsigned long long)question.size_found);
  if (status != 0) return status;
  TELL(core, .kind = PTO_CORE_POPPED, .subject = (uint8_t)role, .size_bytes = size_bytes);
  spend_latency(core);
  spend_transfer(core, size_bytes);
  pto_rendezvous_fifo_copy_out(&table_of(core)->items[core->message.rendezvous].fifos[role][core->message.role], data,
                               size_bytes);
  TELL(core, .kind = PTO_CORE_RELEASES, .subject = (uint8_t)role, .size_bytes = size_bytes);
  lock(core);
  pto_rendezvous_release(table_of(core), member_of(core), role, size_bytes);
  unlock(core);
  return 0;
}

static int call_barrier(const struct pto_kernel_args *args) {
  struct pto_waiting_core *core = core_of(args);
  TELL(core, .kind = PTO_CORE_COMES);
  const int status = wait_for(core, PTO_WAITS_FOR_BARRIER, 0);
  if (status != 0) return status;
  TELL(core, .kind = PTO_CORE_PASSED);
  spend_latency(core);
  return 0;
}

static int call_turn(const struct pto_kernel_args *args) {
  const int status = wait_for(core_of(args), PTO_WAITS_FOR_TURN, 0);
  if (status != 0) return status;
  TELL(core_of(args), .kind = PTO_CORE_HAS_TURN);
  spend_latency(core_of(args));
  return 0;
}

static int call_work(const struct pto_kernel_args *args, const struct pto_cost *cost) {
  struct pto_waiting_core *core = core_of(args);
  if (!core->all->hooks->work) return 0;
  core->stated.bytes_in += cost->bytes_in;
  core->stated.bytes_out += cost->bytes_out;
  core->stated.vector_elems += cost->vector_elems;
  core->stated.multiply_adds += cost->multiply_adds;
  lock(core);
  pto_rendezvous_change(table_of(core)); /* the work's results, for those that poll */
  unlock(core);
  core->all->hooks->work(core, cost);
  return 0;
}

/* Others run before it goes on, also where it need not wait. */
static int call_yield(const struct pto_kernel_args *args, bool has_worked) {
  struct pto_waiting_core *core = core_of(args);
  struct pto_rendezvous_question question = {.what = PTO_WAITS_FOR_CHANGE};
  TELL(core, .kind = has_worked ? PTO_CORE_YIELDS : PTO_CORE_POLLED);
  lock(core);
  if (has_worked) pto_rendezvous_change(table_of(core));
  const enum pto_rendezvous_answer answer = pto_rendezvous_ask(table_of(core), member_of(core), &question);
  if (answer == PTO_RENDEZVOUS_DONE) core->all->hooks->wake(core->all->engine, core->message.core);
  unlock(core);
  if (answer != PTO_RENDEZVOUS_BROKEN) pto_fiber_suspend(&core->fiber);
  if (answer == PTO_RENDEZVOUS_WAIT) spend_latency(core);
  lock(core);
  const int status = broken(core);
  unlock(core);
  if (status == 0) TELL(core, .kind = PTO_CORE_GOES_ON);
  return status;
}

static int call_shared(const struct pto_kernel_args *args, uint64_t key, uint64_t size_bytes, void **memory) {
  struct pto_waiting_core *core = core_of(args);
  lock(core);
  void *found = pto_rendezvous_shared(table_of(core), member_of(core), key, size_bytes);
  unlock(core);
  if (!found)
    return pto_kernel_error(args, "pto_core_shared: no %llu bytes for key %llu", (unsigned long long)size_bytes,
                            (unsigned long long)key);
  TELL(core, .kind = PTO_CORE_HAS_SHARED, .size_bytes = size_bytes, .key = key, .memory = found);
  *memory = found;
  return 0;
}

static void drop_own(struct pto_waiting_core *core) {
  if (core->own && core->drop_own) core->drop_own(core->own);
  free(core->own);
  core->own = NULL;
}

/* The core's worker alone. */
static int call_private(const struct pto_kernel_args *args, uint64_t size_bytes, void (*drop)(void *memory),
                        void **memory) {
  struct pto_waiting_core *core = core_of(args);
  if (!core->own) {
    core->own = calloc(1, size_bytes);
    core->own_bytes = size_bytes;
    core->drop_own = drop;
  }
  if (!core->own || core->own_bytes != size_bytes)
    return pto_kernel_error(args, "pto_core_private: no %llu bytes", (unsigned long long)size_bytes);
  core->own_call = core->port.call;
  *memory = core->own;
  return 0;
}

static int call_now(const struct pto_kernel_args *args, uint64_t *now_ns) {
  struct pto_waiting_core *core = core_of(args);
  lock(core);
  table_of(core)->has_read_clock = true;
  unlock(core);
  *now_ns = core->all->hooks->now_ns ? core->all->hooks->now_ns(core) : 0;
  return 0;
}

static const struct pto_core_port_ops ops = {.step = call_step,
                                             .signal = call_signal,
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

/* ---- a kernel, start to return ---- */

static uint64_t rest(uint64_t total, uint64_t stated) { return total > stated ? total - stated : 0; }

/* What the kernel did beyond what it said. */
static void spend_rest(struct pto_waiting_core *core, const struct pto_kernel_args *args) {
  const struct pto_kernel *kernel = core->message.payload->kernels[core->message.role];
  if (!core->all->hooks->work) return;
  const struct pto_cost total = pto_timing_cost(kernel, args);
  const struct pto_cost left = {.bytes_in = rest(total.bytes_in, core->stated.bytes_in),
                                .bytes_out = rest(total.bytes_out, core->stated.bytes_out),
                                .vector_elems = rest(total.vector_elems, core->stated.vector_elems),
                                .multiply_adds = rest(total.multiply_adds, core->stated.multiply_adds)};
  core->all->hooks->work(core, &left);
}

/* What the completion says.  A core that was let go because another one of its task failed reports nothing: that one
 * does. */
static int final_status(int status, int16_t broken) {
  if (broken == PTO_EDEADLOCK) return PTO_EDEADLOCK;
  if (broken != PTO_OK) return PTO_OK;
  return status == PTO_EDEADLOCK ? PTO_EKERNEL : status; /* a kernel's own number is no verdict of ours */
}

/* Whether the sentence is of the last call: those of kernels begin with their own names. */
static void note_refusal(struct pto_waiting_core *core, int status) {
  if (status == 0 || !core->port.call || strncmp(core->sentence, "pto_core_", strlen("pto_core_")) != 0) return;
  lock(core);
  if (!core->all->refused_call) {
    core->all->refused_call = core->port.call;
    core->all->refused_task = core->message.payload->task_number;
  }
  unlock(core);
}

static void run_kernel(void *context) {
  struct pto_waiting_core *core = context;
  const struct pto_kernel *kernel = core->message.payload->kernels[core->message.role];
  struct pto_kernel_args args;
  pto_message_args(&core->message, core->view, &args);
  lock(core);
  pto_rendezvous_begin(table_of(core), member_of(core));
  unlock(core);
  TELL(core, .kind = PTO_CORE_BEGUN);
  int status = PTO_ENOMEM;
  if (PTO_UNLIKELY(core->refusal != NULL))
    snprintf(core->sentence, sizeof core->sentence, "%s", core->refusal);
  else
    status = core->message.run(&args);
  note_refusal(core, status);
  if (status == 0 && (kernel->flags & PTO_KERNEL_TURNS)) status = wait_for(core, PTO_WAITS_FOR_TURN, 0);
  if (status == 0) spend_rest(core, &args);
  TELL(core, .kind = PTO_CORE_RETURNED);
  lock(core);
  const int16_t broken = table_of(core)->items[core->message.rendezvous].broken;
  pto_rendezvous_return(table_of(core), member_of(core), status != 0 && broken == PTO_OK);
  unlock(core);
  core->status = final_status(status, broken);
}

static uint64_t guard_bytes(void) { return pto_align_up(GUARD_BYTES, (uint64_t)sysconf(_SC_PAGESIZE)); }
static uint64_t stack_spread(void) {
  return guard_bytes() + pto_align_up(STACK_BYTES, (uint64_t)sysconf(_SC_PAGESIZE));
}

/* A stack, with a guard below it that nothing may touch: two more ranges of the process's memory, which take the system
 * longer than all else that a core needs. */
static void give_stack(struct pto_waiting_cores *cores, struct pto_waiting_core *core) {
  char *const guard = (char *)cores->stacks.addr + (uint64_t)(core - cores->cores) * stack_spread();
  core->refusal = NULL;
  if (!core->fiber.stack) pto_fiber_init(&core->fiber, guard + guard_bytes(), STACK_BYTES);
  if (core->stack) return;
  if (mprotect(guard, guard_bytes(), PROT_NONE) == 0)
    core->stack = guard + guard_bytes();
  else
    core->refusal = "no memory for the guard of its core's stack";
}

struct pto_waiting_core *pto_waiting_core_start(struct pto_waiting_cores *cores, const struct pto_message *message,
                                                struct pto_core *view) {
  struct pto_waiting_core *core = &cores->cores[message->core];
  cores->is_used[message->core] = true;
  core->port.ops = &ops;
  core->all = cores;
  give_stack(cores, core);
  core->message = *message;
  core->view = view;
  core->stated = (struct pto_cost){0};
  core->status = 0;
  core->ran_ns = 0;
  core->port.call = NULL;
  core->sentence[0] = '\0';
  memcpy(core->port.kernels, message->payload->kernels, sizeof core->port.kernels);
  core->port.rank = core->all->rank;
  core->port.is_sync_start = (message->flags & PTO_MESSAGE_TOGETHER) != 0;
  core->usual_message = view->message;
  view->message = core->sentence;
  view->port = pto_kernel_waits(message->payload->kernels[message->role]) ? &core->port : NULL;
  pto_fiber_give(&core->fiber, run_kernel, core);
  return core;
}

bool pto_waiting_core_resume(struct pto_waiting_core *core) {
  pto_meter_begin(core->all->meter);
  const bool has_returned = pto_fiber_resume(&core->fiber);
  pto_meter_end(core->all->meter, &core->message, core->view, has_returned);
  if (!has_returned) return false;
  core->view->message = core->usual_message;
  core->view->port = NULL;
  return true;
}

const char *pto_waiting_core_sentence(const struct pto_waiting_core *core) {
  if (core->status == 0) return "";
  return core->status == PTO_EDEADLOCK ? core->all->deadlock : core->sentence;
}

/* Who waits for whom now, and in which calls. */
static void find_waits(const struct pto_waiting_cores *cores, struct pto_core_waits *waits) {
  pto_rendezvous_find_waits(&cores->rendezvous, waits);
  for (uint32_t i = 0; i < waits->count; i++) waits->waits[i].call = cores->cores[waits->waits[i].who.core].port.call;
}

void pto_waiting_cores_break_deadlock(struct pto_waiting_cores *cores) {
  if (pto_rendezvous_look_again(&cores->rendezvous)) return;
  find_waits(cores, &cores->deadlock_waits);
  pto_core_waits_describe(&cores->deadlock_waits, NULL, NULL, cores->deadlock, sizeof cores->deadlock);
  pto_rendezvous_break_deadlock(&cores->rendezvous);
}

void pto_waiting_cores_end_waits(struct pto_waiting_cores *cores, const char *sentence) {
  find_waits(cores, &cores->deadlock_waits);
  snprintf(cores->deadlock, sizeof cores->deadlock, "%s", sentence);
  pto_rendezvous_break_deadlock(&cores->rendezvous);
}

void pto_waiting_cores_find_waits(const struct pto_waiting_cores *cores, struct pto_core_waits *waits) {
  if (cores->deadlock[0])
    *waits = cores->deadlock_waits;
  else
    find_waits(cores, waits);
  waits->refused_call = cores->refused_call;
  waits->refused_task = cores->refused_task;
}

/* ---- all of them ---- */

static void wake_core(void *context, uint32_t core) {
  struct pto_waiting_cores *cores = context;
  cores->hooks->wake(cores->engine, core);
}

bool pto_waiting_core_is_beyond_stack(uintptr_t address) {
  const struct pto_core *view = pto_engine_current.core;
  if (!pto_engine_current.message || !view->port) return false;
  const struct pto_waiting_core *core = (const struct pto_waiting_core *)(const void *)view->port;
  return address < (uintptr_t)core->stack && address >= (uintptr_t)core->stack - GUARD_BYTES;
}

static uint64_t lay_out(struct pto_waiting_cores *cores, char *base) {
  uint64_t used = 0;
  cores->is_used = pto_carve(base, &used, cores->core_count * sizeof *cores->is_used);
  cores->cores = pto_carve(base, &used, cores->core_count * sizeof *cores->cores);
  return used;
}

bool pto_waiting_cores_init(struct pto_waiting_cores *cores, uint32_t cluster_count, uint32_t slots_per_core,
                            const struct pto_waiting_hooks *hooks, void *engine) {
  memset(cores, 0, sizeof *cores);
  cores->core_count = 3 * cluster_count;
  cores->hooks = hooks;
  cores->engine = engine;
  if (!pto_reserve_init(&cores->memory, lay_out(cores, NULL))) return false;
  lay_out(cores, cores->memory.addr);
  if (pto_reserve_init(&cores->stacks, cores->core_count * stack_spread()) &&
      pto_rendezvous_init(&cores->rendezvous, cluster_count, slots_per_core, wake_core, cores))
    return true;
  pto_waiting_cores_fini(cores);
  return false;
}

void pto_waiting_cores_fini(struct pto_waiting_cores *cores) {
  for (uint32_t i = 0; cores->cores && i < cores->core_count; i++) {
    if (!cores->is_used[i]) continue;
    pto_fiber_fini(&cores->cores[i].fiber);
    drop_own(&cores->cores[i]);
  }
  pto_rendezvous_fini(&cores->rendezvous);
  pto_reserve_fini(&cores->stacks);
  pto_reserve_fini(&cores->memory);
  memset(cores, 0, sizeof *cores);
}

void pto_waiting_cores_reset(struct pto_waiting_cores *cores) {
  cores->deadlock[0] = '\0';
  cores->refused_call = NULL;
  pto_rendezvous_reset(&cores->rendezvous);
}
