/* SPDX-License-Identifier: MIT */
/*
 * Tasks of ranks whose cores wait for each other.
 *
 * In virtual time such a call goes on while others do theirs, so it cannot be run again.  But all calls of its block
 * have been sent when the first of them begins, and what they may read is there.  So the block is rehearsed then, or
 * all of the task where blocks wait for each other: on an engine "observe" of this observation's own, each unit as
 * often as it takes, as that of one chip is.  Afterwards memory is as it was, and virtual time goes on as if nothing
 * had been.
 *
 * Of a task whose blocks take turns those are rehearsed with it that have no core yet: block by block, on the cores of
 * one that has, as the rehearsal runs one after the other anyhow.
 *
 * Always true: between rehearsals undo_count = 0.  Nothing that talks to other ranks is rehearsed.
 */
#include <check/observe/state.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/grow.h>
#include <sim/engine/engine.h>

void pto_observe_rehearsal_fini(struct pto_observe_rehearsal *rehearsal) {
  if (rehearsal->port) rehearsal->port->ops->destroy(rehearsal->port);
  free(rehearsal->messages);
  free(rehearsal->undo);
  free(rehearsal->begun);
  *rehearsal = (struct pto_observe_rehearsal){0};
}

/* ---- what is undone ---- */

static void keep(struct pto_observation *o, uint64_t addr, const uint8_t *before, uint64_t size_bytes) {
  struct pto_observe_rehearsal *r = &o->rehearsal;
  for (uint64_t at = 0; at < size_bytes; at += sizeof r->undo->before) {
    struct pto_observe_undo *undo = pto_grow(&r->undo, &r->undo_count, &r->undo_capacity, sizeof *undo);
    o->summary.is_short |= !undo;
    if (!undo) return;
    undo->addr = addr + at;
    undo->size_bytes = pto_min_u64(size_bytes - at, sizeof undo->before);
    memcpy(undo->before, before + at, undo->size_bytes);
  }
}

void pto_observe_rehearsal_note(struct pto_observation *o) {
  const struct pto_observe_memory *m = o->memory;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    const uint8_t *before = pto_observe_at(m, m->before, slot), *after = pto_observe_at(m, m->after, slot);
    for (uint64_t i = 0; i < m->page_bytes; i++) {
      const uint64_t lo = i;
      while (i < m->page_bytes && before[i] != after[i]) i++;
      if (i > lo) keep(o, pto_observe_pages(m)[slot].addr + lo, before + lo, i - lo);
    }
  }
  pto_observe_statics_set(&o->statics);
}

static void undo_all(struct pto_observe_rehearsal *r) {
  while (r->undo_count) {
    const struct pto_observe_undo *undo = &r->undo[--r->undo_count];
    memcpy((void *)(uintptr_t)undo->addr, undo->before, undo->size_bytes);
  }
}

/* ---- the calls ---- */

static bool has_kernel(const struct pto_payload *payload, uint32_t flag) {
  bool has = false;
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) has |= payload->kernels[k] && (payload->kernels[k]->flags & flag);
  return has;
}

/* Whether blocks of its task wait for each other. */
static bool waits_across_blocks(const struct pto_message *message) {
  return (message->flags & PTO_MESSAGE_TOGETHER) || has_kernel(message->payload, PTO_KERNEL_TURNS);
}

/* Whether the pages of all its tensors are few enough to be looked at: what was not looked at cannot be undone. */
static bool is_small(const struct pto_observation *o) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < o->call.param_count; i++)
    bytes += o->call.params[i].region.end - o->call.params[i].region.start;
  return bytes < (uint64_t)o->memory->pages.capacity * o->memory->page_bytes / 2;
}

/* Block by block, as they are sent to an engine. */
static int order_messages(const void *left, const void *right) {
  const struct pto_message *a = left, *b = right;
  if (a->block_index != b->block_index) return a->block_index < b->block_index ? -1 : 1;
  return (a->role > b->role) - (a->role < b->role);
}

/* The calls of blocks that are not sent yet, as those of one that is.  The messages are in order.  False: no memory. */
static bool add_unsent(struct pto_observe_rehearsal *r, uint32_t expected) {
  const struct pto_payload *payload = r->messages[0].payload;
  const struct pto_message *roles[PTO_ROLE_COUNT] = {NULL};
  const uint32_t sent = (uint32_t)r->message_count;
  struct pto_message likes[PTO_ROLE_COUNT];
  for (uint32_t i = 0; i < sent; i++) roles[r->messages[i].role] = &r->messages[i];
  for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++)
    if (roles[k]) likes[k] = *roles[k];
  uint32_t at = 0;
  for (uint32_t block = 0; block < payload->block_count; block++) {
    if (at < sent && r->messages[at].block_index == block) { /* whole, as a block is sent */
      while (at < sent && r->messages[at].block_index == block) at++;
      continue;
    }
    for (uint32_t k = 0; k < PTO_ROLE_COUNT; k++) {
      if (!roles[k]) continue;
      struct pto_message *added = pto_grow(&r->messages, &r->message_count, &r->message_capacity, sizeof *added);
      if (!added) return false;
      *added = likes[k];
      added->block_index = block;
    }
  }
  return r->message_count == expected;
}

/* All calls that are rehearsed with this one; false where some have begun, or there is no memory. */
static bool gather(struct pto_observation *o, const struct pto_message *message) {
  struct pto_observe_rehearsal *r = &o->rehearsal;
  const struct pto_payload *payload = message->payload;
  const bool is_all = waits_across_blocks(message);
  const uint32_t sent = pto_observed_siblings(o->port, message, NULL, 0);
  uint32_t expected = pto_observe_kernel_count(payload), kept = 0;
  if (is_all && (message->flags & PTO_MESSAGE_BLOCKS)) expected *= payload->block_count;
  r->message_count = 0;
  while (r->message_count < sent)
    if (!pto_grow(&r->messages, &r->message_count, &r->message_capacity, sizeof *r->messages)) return false;
  (void)pto_observed_siblings(o->port, message, r->messages, sent);
  for (uint32_t i = 0; i < sent; i++)
    if (is_all || r->messages[i].block_index == message->block_index) r->messages[kept++] = r->messages[i];
  r->message_count = kept;
  if (kept == 0) return false;
  qsort(r->messages, kept, sizeof *r->messages, order_messages);
  if (kept != expected) {
    if (!is_all || (message->flags & PTO_MESSAGE_TOGETHER) || !add_unsent(r, expected)) return false;
    qsort(r->messages, r->message_count, sizeof *r->messages, order_messages);
  }
  for (uint32_t i = 0; i < r->message_count; i++) r->messages[i].flags &= (uint8_t)~PTO_MESSAGE_LAST;
  if (message->flags & PTO_MESSAGE_TOGETHER) r->messages[kept - 1].flags |= PTO_MESSAGE_LAST;
  return true;
}

/* Whether there is an engine, ready for a task. */
static bool begin(struct pto_observation *o) {
  struct pto_observe_rehearsal *r = &o->rehearsal;
  const struct pto_config *config = &o->rt->config;
  const struct pto_engine_config engine = {.chip = o->rt->chip,
                                           .workers = 1,
                                           .timeout_ms = config->timeout_ms,
                                           .on_timeout = config->on_timeout,
                                           .on_timeout_context = config->on_timeout_context};
  struct pto_error error;
  char sentence[PTO_SENTENCE_SIZE];
  if (!r->port && (!engine.chip || pto_engine_observe_create(&engine, &r->port, &error) != PTO_OK)) return false;
  pto_port_set_observer(r->port, &o->observer);
  return r->port->ops->begin_run(r->port, sentence, sizeof sentence) == PTO_OK;
}

static bool is_one_unit(const struct pto_message *a, const struct pto_message *b) {
  return a->flags & PTO_MESSAGE_TOGETHER || a->block_index == b->block_index;
}

static void run(struct pto_observation *o) {
  struct pto_observe_rehearsal *r = &o->rehearsal;
  struct pto_port *const own = o->port;
  struct pto_completion completion;
  o->port = r->port;
  r->is_going_on = true;
  r->gave_up = false;
  for (size_t i = 0; i < r->message_count;) {
    size_t left = 0;
    do {
      (void)r->port->ops->dispatch(r->port, &r->messages[i++], 0, &completion);
      left++;
    } while (i < r->message_count && is_one_unit(&r->messages[i - 1], &r->messages[i]));
    while (left) {
      r->port->ops->wait(r->port);
      while (r->port->ops->poll(r->port, &completion, 1)) {
        r->gave_up |= completion.status == PTO_ETIMEOUT;
        left--;
      }
    }
  }
  r->is_going_on = false;
  o->port = own;
  undo_all(r);
}

#define ALL_BLOCKS UINT32_MAX

/* What became of the call when another one of its block or task began; false: it is the first. */
static bool take_begun(struct pto_observe_rehearsal *r, uint64_t number, uint32_t block, uint64_t **why_not,
                       bool *gave_up) {
  for (size_t i = 0; i < r->begun_count; i++) {
    if (r->begun[i].number != number || r->begun[i].block != block) continue;
    *why_not = r->begun[i].why_not;
    *gave_up = r->begun[i].gave_up;
    if (--r->begun[i].calls_left == 0) r->begun[i] = r->begun[--r->begun_count];
    return true;
  }
  return false;
}

/* The others of the gathered calls will begin.  False without memory. */
static bool expect_others(struct pto_observe_rehearsal *r, uint64_t number, uint32_t block, uint64_t *why_not) {
  if (r->message_count == 1) return true;
  struct pto_observe_begun *begun = pto_grow(&r->begun, &r->begun_count, &r->begun_capacity, sizeof *begun);
  if (begun) *begun = (struct pto_observe_begun){number, block, (uint32_t)r->message_count - 1, why_not, false};
  return begun != NULL;
}

static int fail_run(const struct pto_kernel_args *args) {
  snprintf(args->core->message, args->core->message_size, PTO_OBSERVE_RUNS_FOR_EVER);
  return PTO_ETIMEOUT;
}

/* Of the unit that comes first. */
static void describe_first(struct pto_observation *o) {
  const struct pto_observe_rehearsal *r = &o->rehearsal;
  const struct pto_message *first = &r->messages[0];
  uint32_t count = 1;
  while (count < r->message_count && is_one_unit(first, &r->messages[count])) count++;
  pto_observe_describe(o, &(struct pto_observed_unit){.messages = first, .count = count, .waits = true});
}

bool pto_observe_rehearse(struct pto_observation *o, struct pto_message *message) {
  struct pto_observe_rehearsal *r = &o->rehearsal;
  const uint64_t number = message->payload->task_number;
  const uint32_t block = waits_across_blocks(message) ? ALL_BLOCKS : message->block_index;
  uint64_t *why_not = &o->summary.calls_waiting;
  bool gave_up = false;
  if (!take_begun(r, number, block, &why_not, &gave_up) && !has_kernel(message->payload, PTO_KERNEL_REMOTE) &&
      gather(o, message)) {
    describe_first(o);
    if (!pto_observe_is_wanted(o))
      why_not = &o->summary.calls_left_out;
    else if (!is_small(o))
      why_not = &o->summary.calls_too_large;
    else if (begin(o))
      why_not = NULL;
    if (!expect_others(r, number, block, why_not)) why_not = &o->summary.calls_waiting;
    if (!why_not) run(o);
    gave_up = !why_not && r->gave_up;
    if (gave_up && r->message_count > 1) r->begun[r->begun_count - 1].gave_up = true; /* the one just made */
  }
  if (gave_up) message->run = fail_run; /* it would never come back */
  if (why_not) ++*why_not;
  return !why_not;
}
