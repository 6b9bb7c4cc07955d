/* SPDX-License-Identifier: MIT */
#include <tests/support/serial_port.h>

#include <stdio.h>
#include <string.h>

#include <sim/rendezvous/waiting_core.h>

#define MAX_SLOTS 8u

struct serial_core {
  struct pto_message messages[MAX_SLOTS];
  uint64_t order[MAX_SLOTS];
  uint32_t count;
  uint64_t begun;   /* order of the message that it runs */
  bool is_on_fiber; /* a kernel that waits, beside the `count` messages; */
  bool can_go_on;   /* that need not wait */
  struct pto_core view;
  void *local; /* NULL: not yet asked for */
  char message[PTO_DEADLOCK_SENTENCE_BYTES];
};

struct serial_port {
  struct pto_port port;
  struct serial_core *cores;
  uint32_t core_count;
  struct pto_completion *done;
  uint32_t done_count;
  uint64_t next_order, calls;
  struct pto_serial_sent *sent;
  uint32_t sent_count;
  struct pto_rng rng;
  bool is_random;
  struct pto_waiting_cores waiting;
};

static struct serial_port *of(struct pto_port *port) { return (struct serial_port *)(void *)port; }

static int begin_run(struct pto_port *port, char *sentence, size_t size) {
  (void)sentence;
  (void)size;
  of(port)->done_count = of(port)->sent_count = 0;
  if (of(port)->waiting.cores) pto_waiting_cores_reset(&of(port)->waiting);
  return 0;
}
static void end_run(struct pto_port *port) { (void)port; }

static void wake(void *engine, uint32_t core) { ((struct serial_port *)engine)->cores[core].can_go_on = true; }
static const struct pto_waiting_hooks hooks = {.wake = wake};

/* Stacks are made for the first kernel that waits: most tests have none. */
static uint16_t sit(struct serial_port *p, const struct pto_message *message) {
  if (!p->waiting.cores &&
      !pto_waiting_cores_init(&p->waiting, p->port.cluster_count, p->port.slots_per_core, &hooks, p))
    abort();
  return (uint16_t)pto_rendezvous_join(&p->waiting.rendezvous, message);
}

static bool dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                     struct pto_completion *completion) {
  (void)completion;
  struct serial_port *p = of(port);
  struct serial_core *core = &p->cores[message->core];
  (void)ready_at;
  uint32_t load = core->count + core->is_on_fiber;
  if (load == port->slots_per_core) abort();
  if (p->sent_count < PTO_SERIAL_MAX_SENT)
    p->sent[p->sent_count++] = (struct pto_serial_sent){
        message->payload->task_number, message->core, message->block_index, message->role, message->flags, load};
  core->messages[core->count] = *message;
  if (message->flags & PTO_MESSAGE_WAITS) core->messages[core->count].rendezvous = sit(p, message);
  core->order[core->count++] = p->next_order++;
  return false;
}
static void flush(struct pto_port *port) { (void)port; }

static uint32_t poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct serial_port *p = of(port);
  uint32_t count = p->done_count < max ? p->done_count : max;
  memcpy(completions, p->done, count * sizeof *completions);
  memmove(p->done, p->done + count, (p->done_count - count) * sizeof *completions);
  p->done_count -= count;
  return count;
}
static void resume(struct pto_port *port, uint64_t not_before) {
  (void)port;
  (void)not_before;
}

static uint64_t order_of(const struct serial_core *core) { return core->is_on_fiber ? core->begun : core->order[0]; }

static struct serial_core *choose(struct serial_port *p) {
  struct serial_core *best = NULL;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < p->core_count; i++) {
    struct serial_core *core = &p->cores[i];
    if (core->is_on_fiber ? !core->can_go_on : !core->count) continue;
    seen++;
    if (p->is_random ? pto_rng_below(&p->rng, seen) == 0 : !best || order_of(core) < order_of(best)) best = core;
  }
  return best;
}

static void describe(struct pto_port *port, struct serial_core *core, uint32_t index) {
  core->message[0] = '\0';
  core->view = (struct pto_core){.kind = index % 3 ? PTO_AIV : PTO_AIC,
                                 .index = index,
                                 .cluster = index / 3,
                                 .lane = index % 3,
                                 .message = core->message,
                                 .message_size = sizeof core->message};
  core->view.local.size_bytes = core->view.kind == PTO_AIV ? port->aiv_local_bytes : port->aic_local_bytes;
  if (!core->local) core->local = malloc(core->view.local.size_bytes); /* once: a block of this size is a mapping */
  core->view.local.addr = core->local;
}

static void complete(struct serial_port *p, const struct pto_message *message, int status) {
  p->calls++;
  p->done[p->done_count++] = (struct pto_completion){message->ticket, message->core, (int16_t)status};
}

/* Runs a kernel that waits up to where it has to, or to its end. */
static void go_on(struct serial_port *p, struct serial_core *core) {
  struct pto_waiting_core *waiting = &p->waiting.cores[core->view.index];
  core->can_go_on = false;
  if (!pto_waiting_core_resume(waiting)) return;
  core->is_on_fiber = false;
  snprintf(core->message, sizeof core->message, "%s", pto_waiting_core_sentence(waiting));
  complete(p, &waiting->message, waiting->status);
}

static void run_one(struct pto_port *port) {
  struct serial_port *p = of(port);
  struct serial_core *core = choose(p);
  if (!core) { /* messages are in flight, so cores wait, and for ever */
    pto_waiting_cores_break_deadlock(&p->waiting);
    core = choose(p);
  }
  if (!core) abort();
  if (core->is_on_fiber) {
    go_on(p, core);
    return;
  }
  struct pto_message message = core->messages[0];
  core->begun = core->order[0];
  core->count--;
  memmove(core->messages, core->messages + 1, core->count * sizeof core->messages[0]);
  memmove(core->order, core->order + 1, core->count * sizeof core->order[0]);
  describe(port, core, message.core);
  if (message.flags & PTO_MESSAGE_WAITS) {
    core->is_on_fiber = true;
    (void)pto_waiting_core_start(&p->waiting, &message, &core->view);
    go_on(p, core);
    return;
  }
  complete(p, &message, pto_message_run(&message, &core->view));
}

static const char *kernel_message(struct pto_port *port, uint32_t core) { return of(port)->cores[core].message; }
static void destroy(struct pto_port *port) {
  struct serial_port *p = of(port);
  pto_waiting_cores_fini(&p->waiting);
  for (uint32_t i = 0; i < p->core_count; i++) free(p->cores[i].local);
  free(p->cores);
  free(p->sent);
  free(p->done);
  free(p);
}

static const struct pto_port_ops ops = {.begin_run = begin_run,
                                        .end_run = end_run,
                                        .dispatch = dispatch,
                                        .flush = flush,
                                        .poll = poll,
                                        .resume = resume,
                                        .wait = run_one,
                                        .kernel_message = kernel_message,
                                        .destroy = destroy};

struct pto_port *pto_serial_port_create(const struct pto_serial_port_config *config) {
  struct serial_port *p = calloc(1, sizeof *p);
  uint32_t clusters = config->cluster_count ? config->cluster_count : 1;
  p->core_count = clusters * 3;
  p->cores = calloc(p->core_count, sizeof *p->cores);
  p->done = calloc((size_t)p->core_count * MAX_SLOTS, sizeof *p->done);
  p->sent = calloc(PTO_SERIAL_MAX_SENT, sizeof *p->sent);
  p->rng.state = config->seed;
  p->is_random = config->seed != 0;
  p->port = (struct pto_port){.ops = &ops,
                              .cluster_count = clusters,
                              .slots_per_core = config->slots_per_core ? config->slots_per_core : 2,
                              .worker_count = 1,
                              .aiv_local_bytes = config->aiv_local_bytes ? config->aiv_local_bytes : 192 << 10,
                              .aic_local_bytes = config->aic_local_bytes ? config->aic_local_bytes : 512 << 10,
                              .name = "serial",
                              .chip_name = "test chip"};
  return &p->port;
}

uint64_t pto_serial_port_calls(const struct pto_port *port) {
  return ((const struct serial_port *)(const void *)port)->calls;
}

const struct pto_serial_sent *pto_serial_port_sent(const struct pto_port *port, uint32_t *count) {
  const struct serial_port *p = (const struct serial_port *)(const void *)port;
  *count = p->sent_count;
  return p->sent;
}
