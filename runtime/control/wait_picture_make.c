/* SPDX-License-Identifier: MIT */
#include <runtime/deadlock/wait_picture.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/control/runtime_state.h>

/* Of cores that could give a signal, or that a ready task could have, so many are named for each that waits. */
#define MOST_SIGNALLERS 6u
#define MOST_WANTED_CORES 2u
#define MOST_LOOKS (UINT64_C(1) << 22)            /* at slots, for who waits for whom */
#define MOST_KERNEL_LINKS (PTO_PICTURE_LINKS / 3) /* from tasks to cores: there must be room for the others */

#define ORCHESTRATION ((struct pto_picture_node){PTO_NODE_ORCHESTRATION, 0})
#define NOTHING ((struct pto_picture_node){PTO_NODE_NONE, 0})

static struct pto_picture_node node_of(enum pto_node_kind kind, uint32_t index) {
  return (struct pto_picture_node){(uint16_t)kind, (uint16_t)index};
}

/* "matmul", or "loader+adder" for a MIX task. */
static void copy_names(char *text, const struct pto_kernel *const kernels[3]) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < 3 && used < PTO_PICTURE_NAME; i++)
    if (kernels[i])
      used += (size_t)snprintf(text + used, PTO_PICTURE_NAME - used, "%s%s", used ? "+" : "", kernels[i]->name);
}

/* ---- tasks ---- */

struct view {
  struct pto_runtime *rt;
  struct pto_wait_picture *picture;
  uint64_t *bits;     /* SLOT_BITS of them: of slots whose tasks are in the picture; others may share a bit with one */
  uint64_t *unlisted; /* CORE_BITS of them: of cores that were come across and did not fit */
};
#define SLOT_BITS 4096u
#define CORE_BITS 4096u /* more than any chip has cores */

static const struct pto_task_slot *slot_at(const struct view *view, uint32_t slot) {
  return &view->rt->rings.slots[slot];
}
static uint32_t ring_of(const struct view *view, uint32_t slot) { return slot >> view->rt->rings.window_log2; }

/* Of a slot whose task lives: the newest sequence that has it. */
static uint64_t sequence_of(const struct view *view, uint32_t slot) {
  const uint64_t newest = view->rt->rings.rings[ring_of(view, slot)].head - 1;
  return newest - ((newest - slot) & (view->rt->rings.window - 1));
}

static uint64_t number_of(const struct view *view, const struct pto_task_slot *slot) {
  const uint64_t count = view->rt->task_count;
  return count - (uint32_t)((uint32_t)count - pto_task_slot_number(slot));
}

static void copy_kernels(const struct pto_task_slot *slot, char *text) {
  const struct pto_kernel *first[3] = {NULL};
  if (slot->flags & PTO_TASK_NO_KERNEL)
    snprintf(text, PTO_PICTURE_NAME, "%s", slot->flags & PTO_TASK_HAS_HEAP ? "alloc" : "barrier");
  else if (pto_task_slot_has_payload(slot))
    copy_names(text, slot->payload->kernels);
  else if ((first[0] = slot->kernel) != NULL)
    copy_names(text, first);
  else
    snprintf(text, PTO_PICTURE_NAME, "?");
}

/* The open scope that owns a task: the innermost that began before it. */
static uint32_t scope_of(const struct view *view, uint32_t ring_index, uint64_t sequence) {
  const struct pto_task_ring *ring = &view->rt->rings.rings[ring_index];
  if ((int64_t)(sequence - ring->open_begin) < 0) return PTO_PICTURE_NONE;
  for (uint32_t depth = view->picture->scope_count; depth-- > 0;) {
    const struct pto_scope *scope = &view->rt->scopes[depth];
    if (scope->ring == ring_index && (int64_t)(sequence - scope->begin_sequence) >= 0) return depth;
  }
  return PTO_PICTURE_NONE;
}

/* What its block takes: from the end of the one before. */
static uint64_t heap_bytes_of(const struct view *view, uint32_t ring_index, uint64_t sequence) {
  const struct pto_task_ring *ring = &view->rt->rings.rings[ring_index];
  uint64_t before = ring->heap.tail;
  for (uint64_t s = ring->tail; s != sequence; s++) {
    const uint32_t slot = pto_task_slot_index(&view->rt->rings, ring_index, s);
    if (slot_at(view, slot)->flags & PTO_TASK_HAS_HEAP) before = view->rt->rings.cold[slot].heap_end;
  }
  const uint32_t slot = pto_task_slot_index(&view->rt->rings, ring_index, sequence);
  if (!(slot_at(view, slot)->flags & PTO_TASK_HAS_HEAP)) return 0;
  return view->rt->rings.cold[slot].heap_end - before;
}

/* The task's index; PTO_PICTURE_NONE where there is no room for it. */
static uint32_t add_task(const struct view *view, uint32_t slot_index) {
  struct pto_wait_picture *picture = view->picture;
  const struct pto_task_slot *slot = slot_at(view, slot_index);
  for (uint32_t i = 0; i < picture->listed_task_count; i++)
    if (picture->tasks[i].slot == slot_index) return i;
  if (slot->state == PTO_TASK_FREE) return PTO_PICTURE_NONE;
  if (picture->listed_task_count == PTO_PICTURE_TASKS) {
    picture->tasks_more++;
    return PTO_PICTURE_NONE;
  }
  const uint32_t ring = ring_of(view, slot_index);
  const uint64_t sequence = sequence_of(view, slot_index);
  struct pto_picture_task *task = &picture->tasks[picture->listed_task_count];
  view->bits[slot_index % SLOT_BITS / 64] |= UINT64_C(1) << slot_index % 64;
  *task = (struct pto_picture_task){.number = number_of(view, slot),
                                    .state = slot->state,
                                    .ring = (uint8_t)ring,
                                    .is_held = slot->state == PTO_TASK_COMPLETED && slot->holders,
                                    .scope = scope_of(view, ring, sequence),
                                    .producers = slot->state == PTO_TASK_WAITING ? slot->pending : 0,
                                    .block_count = slot->block_count,
                                    .calls_left = pto_task_slot_has_payload(slot) ? slot->messages_left : 0,
                                    .heap_bytes = heap_bytes_of(view, ring, sequence),
                                    .sequence = sequence,
                                    .slot = slot_index,
                                    .label = pto_runtime_slot_label(view->rt, slot_index, number_of(view, slot))};
  copy_kernels(slot, task->kernels);
  return picture->listed_task_count++;
}

static void add_link(const struct view *view, struct pto_picture_node from, struct pto_picture_node to,
                     enum pto_picture_reason reason) {
  struct pto_wait_picture *picture = view->picture;
  if (from.kind == PTO_NODE_TASK && pto_picture_node_is(from, to)) return;
  for (uint32_t i = 0; i < picture->link_count; i++)
    if (pto_picture_node_is(picture->links[i].from, from) && pto_picture_node_is(picture->links[i].to, to)) return;
  if (picture->link_count == PTO_PICTURE_LINKS)
    picture->links_more++;
  else
    picture->links[picture->link_count++] =
        (struct pto_picture_link){.from = from, .to = to, .reason = (uint8_t)reason};
}

/* The same from or to a task that may have found no room. */
static void link_to_task(const struct view *view, struct pto_picture_node from, uint32_t index,
                         enum pto_picture_reason reason) {
  if (index != PTO_PICTURE_NONE) add_link(view, from, node_of(PTO_NODE_TASK, index), reason);
}

/* ---- rings and scopes ---- */

static void fill_rings(const struct view *view) {
  const struct pto_task_rings *rings = &view->rt->rings;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &rings->rings[r];
    struct pto_picture_ring *filled = &view->picture->rings[r];
    *filled = (struct pto_picture_ring){.head = ring->head,
                                        .tail = ring->tail,
                                        .slots = ring->capacity,
                                        .heap_used_bytes = pto_heap_ring_used(&ring->heap),
                                        .heap_size_bytes = ring->heap.size_bytes,
                                        .oldest = PTO_PICTURE_NONE};
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      const uint8_t state = rings->slots[pto_task_slot_index(rings, r, s)].state;
      if (state < PTO_ARRAY_LENGTH(filled->by_state)) filled->by_state[state]++;
    }
  }
}

static void fill_scopes(const struct view *view) {
  struct pto_wait_picture *picture = view->picture;
  picture->scope_count = view->rt->scope_depth + 1;
  for (uint32_t depth = 0; depth < picture->scope_count; depth++) {
    const struct pto_scope *scope = &view->rt->scopes[depth];
    struct pto_picture_scope *filled = &picture->scopes[depth];
    *filled = (struct pto_picture_scope){.serial = scope->serial,
                                         .depth = depth,
                                         .ring = scope->ring,
                                         .is_manual = scope->kind == PTO_SCOPE_MANUAL,
                                         .label = scope->label};
    pto_space_of_scope(view->rt, depth, &filled->tasks, &filled->bytes);
  }
}

static void add_oldest(const struct view *view, uint32_t r) {
  const struct pto_task_ring *ring = &view->rt->rings.rings[r];
  if (ring->head != ring->tail)
    view->picture->rings[r].oldest = add_task(view, pto_task_slot_index(&view->rt->rings, r, ring->tail));
}

/* Slot of the oldest task of a ring that has not completed; PTO_PICTURE_NONE. */
static uint32_t oldest_unfinished(const struct view *view, uint32_t r) {
  const struct pto_task_ring *ring = &view->rt->rings.rings[r];
  for (uint64_t s = ring->tail; s != ring->head; s++) {
    const uint32_t slot = pto_task_slot_index(&view->rt->rings, r, s);
    if (!pto_task_state_has_finished(slot_at(view, slot)->state)) return slot;
  }
  return PTO_PICTURE_NONE;
}

/* ---- the orchestration ---- */

static void fill_doing(const struct view *view) {
  struct pto_wait_picture *picture = view->picture;
  const struct pto_runtime *rt = view->rt;
  picture->doing = rt->doing;
  if (rt->doing.kind == PTO_DOING_OWN_WORK) picture->doing.task_number = rt->task_count;
  const struct pto_submit_work *submit = rt->doing.submit;
  picture->doing.submit = NULL;
  if (!submit) return;
  if (submit->payload)
    copy_names(picture->doing_kernels, submit->payload->kernels);
  else
    snprintf(picture->doing_kernels, PTO_PICTURE_NAME, "%s", submit->allocates ? "alloc" : "?");
}

static void link_orchestration(const struct view *view) {
  const struct pto_doing *doing = &view->picture->doing;
  const uint32_t ring = doing->ring;
  const bool can_ever_fit = doing->heap_bytes <= view->rt->rings.rings[ring].heap.size_bytes;
  if (doing->needs_slot) add_link(view, ORCHESTRATION, node_of(PTO_NODE_RING, ring), PTO_WAIT_SLOT);
  if (doing->needs_heap) add_link(view, ORCHESTRATION, node_of(PTO_NODE_HEAP, ring), PTO_WAIT_BYTES);
  if (doing->needs_slot || (doing->needs_heap && can_ever_fit)) {
    add_oldest(view, ring);
    link_to_task(view, node_of(doing->needs_slot ? PTO_NODE_RING : PTO_NODE_HEAP, ring),
                 view->picture->rings[ring].oldest, PTO_WAIT_RETIRE);
  }
  if (doing->table) add_link(view, ORCHESTRATION, node_of(PTO_NODE_TABLE, 0), PTO_WAIT_TABLE);
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    if (doing->table && view->rt->rings.rings[r].head != view->rt->rings.rings[r].tail) {
      add_oldest(view, r);
      add_link(view, node_of(PTO_NODE_TABLE, 0), node_of(PTO_NODE_RING, r), PTO_WAIT_LIVE);
      link_to_task(view, node_of(PTO_NODE_RING, r), view->picture->rings[r].oldest, PTO_WAIT_RETIRE);
    }
    const uint32_t unfinished = doing->kind == PTO_DOING_END ? oldest_unfinished(view, r) : PTO_PICTURE_NONE;
    if (unfinished != PTO_PICTURE_NONE) link_to_task(view, ORCHESTRATION, add_task(view, unfinished), PTO_WAIT_END);
  }
  if (doing->awaited_slot != PTO_PICTURE_NONE)
    link_to_task(view, ORCHESTRATION, add_task(view, doing->awaited_slot), PTO_WAIT_HOST);
}

/* ---- cores ---- */

static uint32_t find_core(const struct pto_wait_picture *picture, uint32_t core) {
  for (uint32_t i = 0; i < picture->listed_core_count; i++)
    if (picture->cores[i].core == core) return i;
  return PTO_PICTURE_NONE;
}

static uint32_t add_core(const struct view *view, uint32_t core) {
  struct pto_wait_picture *picture = view->picture;
  const uint32_t found = find_core(picture, core);
  if (found != PTO_PICTURE_NONE) return found;
  if (picture->listed_core_count == PTO_PICTURE_CORES) {
    uint64_t *word = &view->unlisted[core % CORE_BITS / 64];
    picture->cores_more += !(*word >> core % 64 & 1); /* it may be come across again: it waits, and is busy */
    *word |= UINT64_C(1) << core % 64;
    return PTO_PICTURE_NONE;
  }
  picture->cores[picture->listed_core_count] = (struct pto_picture_core){.core = core, .task = PTO_PICTURE_NONE};
  return picture->listed_core_count++;
}

/* The slot of the unfinished task with this number; PTO_PICTURE_NONE. */
static uint32_t find_task(const struct view *view, uint64_t number) {
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &view->rt->rings.rings[r];
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      const uint32_t slot = pto_task_slot_index(&view->rt->rings, r, s);
      if (pto_task_slot_has_payload(slot_at(view, slot)) && slot_at(view, slot)->payload->task_number == number)
        return slot;
    }
  }
  return PTO_PICTURE_NONE;
}

static void link_task_to_core(const struct view *view, uint32_t slot, uint32_t core_index) {
  const uint32_t task = add_task(view, slot);
  struct pto_picture_core *core = &view->picture->cores[core_index];
  if (task == PTO_PICTURE_NONE) return;
  if (core->task == PTO_PICTURE_NONE) core->task = task;
  if (view->picture->link_count >= MOST_KERNEL_LINKS)
    view->picture->links_more++;
  else
    add_link(view, node_of(PTO_NODE_TASK, task), node_of(PTO_NODE_CORE, core_index), PTO_WAIT_KERNEL);
}

/* Cores that wait for each other, and the tasks that they run. */
static void add_waiting_cores(const struct view *view) {
  struct pto_wait_picture *picture = view->picture;
  struct pto_core_waits *waits = &view->rt->stopped->waits;
  waits->count = waits->more = 0;
  if (view->rt->port->ops->find_waits) view->rt->port->ops->find_waits(view->rt->port, waits);
  for (uint32_t i = 0; i < waits->count; i++) {
    const uint32_t index = add_core(view, waits->waits[i].who.core);
    if (index == PTO_PICTURE_NONE) continue;
    struct pto_picture_core *core = &picture->cores[index];
    core->waits = true;
    core->wait = waits->waits[i];
    snprintf(core->kernel_name, sizeof core->kernel_name, "%s", core->wait.kernel ? core->wait.kernel : "?");
    core->wait.kernel = NULL;
    const uint32_t slot = find_task(view, core->wait.task_number);
    if (slot != PTO_PICTURE_NONE) link_task_to_core(view, slot, index);
  }
}

/* Cores that hold messages, and the tasks of those. */
static void add_busy_cores(const struct view *view) {
  const struct pto_core_tracker *cores = &view->rt->scheduler.cores;
  for (uint32_t core = 0; core < cores->cluster_count * PTO_LANES; core++) {
    const uint32_t held = cores->load[core];
    const uint32_t index = held ? add_core(view, core) : PTO_PICTURE_NONE;
    if (index == PTO_PICTURE_NONE) continue;
    view->picture->cores[index].held = held;
    for (uint32_t i = 0; i < held && i < cores->slots_per_core; i++)
      link_task_to_core(view, pto_core_tracker_ticket(cores, core, i), index);
  }
}

/* Who could give the signal that core `index` waits for, or write what it polls: cores of its block, or of its
 * sync_start task, that wait themselves. */
static void link_signallers(const struct view *view, uint32_t index, uint8_t reason) {
  const struct pto_wait_picture *picture = view->picture;
  const struct pto_core_wait *own = &picture->cores[index].wait;
  uint32_t count = 0;
  for (uint32_t i = 0; i < picture->listed_core_count && count < MOST_SIGNALLERS; i++) {
    const struct pto_core_wait *other = &picture->cores[i].wait;
    if (i == index || !picture->cores[i].waits || other->task_number != own->task_number) continue;
    if (!own->is_together && other->who.block_index != own->who.block_index) continue;
    add_link(view, node_of(PTO_NODE_CORE, index), node_of(PTO_NODE_CORE, i), reason);
    count++;
  }
  if (count == 0) add_link(view, node_of(PTO_NODE_CORE, index), NOTHING, reason);
}

static void link_cores(const struct view *view) {
  static const uint8_t reasons[] = {
      [PTO_WAITS_FOR_FLAG] = PTO_WAIT_SIGNAL,     [PTO_WAITS_FOR_ROOM] = PTO_WAIT_ROOM,
      [PTO_WAITS_FOR_ELEMENT] = PTO_WAIT_ELEMENT, [PTO_WAITS_FOR_BARRIER] = PTO_WAIT_BARRIER,
      [PTO_WAITS_FOR_TURN] = PTO_WAIT_TURN,       [PTO_WAITS_FOR_CHANGE] = PTO_WAIT_CHANGE,
      [PTO_WAITS_FOR_PEER] = PTO_WAIT_PEER,
  };
  for (uint32_t i = 0; i < view->picture->listed_core_count; i++) {
    const struct pto_core_wait *wait = &view->picture->cores[i].wait;
    if (!view->picture->cores[i].waits) continue;
    if (wait->waits_for == PTO_WAITS_FOR_FLAG || wait->waits_for == PTO_WAITS_FOR_CHANGE) {
      link_signallers(view, i, reasons[wait->waits_for]);
      continue;
    }
    const bool is_there = wait->has_other && wait->other.state != PTO_SEAT_RETURNED;
    const uint32_t other = is_there ? add_core(view, wait->other.core) : PTO_PICTURE_NONE;
    add_link(view, node_of(PTO_NODE_CORE, i), other == PTO_PICTURE_NONE ? NOTHING : node_of(PTO_NODE_CORE, other),
             reasons[wait->waits_for]);
  }
}

/* A task with kernel calls that no core has taken waits for cores of its kind: for those above all that wait
 * themselves. */
static void link_ready(const struct view *view, uint32_t index, bool has_waiting_cores) {
  static const uint8_t messages[][2] = {
#define X(name, aic, aiv) {aic, aiv},
      PTO_SHAPE_LIST(X)
#undef X
  };
  const struct pto_wait_picture *picture = view->picture;
  const struct pto_task_slot *slot = slot_at(view, picture->tasks[index].slot);
  uint32_t count = 0;
  if (!pto_task_slot_has_payload(slot) || picture->tasks[index].has_failed || slot->shape >= PTO_SHAPE_COUNT) return;
  if (slot->state != PTO_TASK_READY && (slot->state != PTO_TASK_RUNNING || !slot->blocks_left)) return;
  for (uint32_t i = 0; i < picture->listed_core_count && count < MOST_WANTED_CORES; i++) {
    const struct pto_picture_core *core = &picture->cores[i];
    if (has_waiting_cores && !core->waits) continue;
    if (!messages[slot->shape][core->core % PTO_LANES != 0]) continue;
    add_link(view, node_of(PTO_NODE_TASK, index), node_of(PTO_NODE_CORE, i), PTO_WAIT_CORE);
    count++;
  }
}

static void link_all_ready(const struct view *view) {
  bool has_waiting_cores = false;
  for (uint32_t i = 0; i < view->picture->listed_core_count; i++) has_waiting_cores |= view->picture->cores[i].waits;
  for (uint32_t i = 0; i < view->picture->listed_task_count; i++) link_ready(view, i, has_waiting_cores);
}

/* ---- tasks that no core has taken ---- */

/* The index of a task that is in the picture already. */
static uint32_t index_of(const struct view *view, uint32_t slot, uint32_t listed_count) {
  if (!(view->bits[slot % SLOT_BITS / 64] >> slot % 64 & 1)) return PTO_PICTURE_NONE;
  for (uint32_t i = 0; i < listed_count; i++)
    if (view->picture->tasks[i].slot == slot) return i;
  return PTO_PICTURE_NONE;
}

/* `producer` has not finished: is it the producer of a task that was in the picture when the round began? */
static void link_consumer(const struct view *view, uint32_t producer, uint32_t consumer, uint32_t listed_count) {
  const uint32_t index = index_of(view, consumer, listed_count);
  if (index != PTO_PICTURE_NONE)
    link_to_task(view, node_of(PTO_NODE_TASK, index), add_task(view, producer), PTO_WAIT_PRODUCER);
}

typedef void visit_consumer(const struct view *view, uint32_t producer, uint32_t consumer, uint32_t listed_count);
/* Visits the slot of each task that waits for this one. */
static void visit_consumers(const struct view *view, uint32_t producer, uint32_t listed_count, visit_consumer *visit) {
  const struct pto_list_chunks *pool = &view->rt->chunks;
  const struct pto_task_slot *slot = slot_at(view, producer);
  for (uint32_t i = 0; i < slot->consumer_count && i < PTO_INLINE_CONSUMERS; i++)
    visit(view, producer, slot->consumers[i], listed_count);
  uint32_t left = pool->live_count + 1; /* no list is longer, whatever it looks like in the middle of a call */
  for (uint32_t c = slot->more_consumers; c && c <= pool->used && left; c = pool->chunks[c].next, left--)
    for (uint32_t i = 0; i < pool->chunks[c].count && i < PTO_CHUNK_SLOTS; i++)
      visit(view, producer, pool->chunks[c].items.slots[i], listed_count);
}

/* Completed tasks whose memory this unfinished one uses. */
static void link_held(const struct view *view, uint32_t user, uint32_t listed_count) {
  const struct pto_task_slot *slot = slot_at(view, user);
  if (!(slot->flags & PTO_TASK_HAS_HELD) || !pto_task_slot_has_payload(slot)) return;
  const uint32_t *held = slot->payload->held;
  for (uint32_t i = 0; i < pto_payload_held_count(slot->payload) && i < PTO_MAX_ACCESSES; i++) {
    const uint32_t index = index_of(view, held[i], listed_count);
    if (index != PTO_PICTURE_NONE && view->picture->tasks[index].is_held)
      link_to_task(view, node_of(PTO_NODE_TASK, index), add_task(view, user), PTO_WAIT_MEMORY);
  }
}

/* From the tasks that are in the picture on, what they wait for, until nothing new is found.  Each round looks at all
 * tasks that live; of very many, only so many rounds are made as take a moment. */
static void add_awaited_tasks(const struct view *view) {
  const struct pto_task_rings *rings = &view->rt->rings;
  uint64_t looks = 0;
  uint32_t known;
  do {
    known = view->picture->listed_task_count;
    for (uint32_t r = 0; r < PTO_RING_COUNT; r++)
      for (uint64_t s = rings->rings[r].tail; s != rings->rings[r].head; s++) {
        const uint32_t slot = pto_task_slot_index(rings, r, s);
        looks++;
        if (pto_task_state_has_finished(slot_at(view, slot)->state)) continue;
        visit_consumers(view, slot, known, link_consumer);
        link_held(view, slot, known);
      }
  } while (view->picture->listed_task_count != known && looks < MOST_LOOKS);
}

/* Whether the orchestration waits for the retirement of this task: then its open scope keeps it, whatever its state. */
static bool blocks_a_ring(const struct view *view, uint32_t index) {
  const struct pto_doing *doing = &view->picture->doing;
  if (!doing->needs_slot && !doing->needs_heap && !doing->table) return false;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++)
    if (view->picture->rings[r].oldest == index && (doing->table || doing->ring == r)) return true;
  return false;
}

static bool is_waited_for(const struct pto_wait_picture *picture, struct pto_picture_node node) {
  uint32_t i = 0;
  while (i < picture->link_count && !pto_picture_node_is(picture->links[i].to, node)) i++;
  return i < picture->link_count;
}

static void link_scopes(const struct view *view) {
  struct pto_wait_picture *picture = view->picture;
  bool is_awaited[PTO_PICTURE_SCOPES] = {false};
  for (uint32_t i = 0; i < picture->listed_task_count; i++) {
    const struct pto_picture_task *task = &picture->tasks[i];
    if (task->scope == PTO_PICTURE_NONE || !is_waited_for(picture, node_of(PTO_NODE_TASK, i))) continue;
    if (task->state != PTO_TASK_COMPLETED && !blocks_a_ring(view, i)) continue;
    add_link(view, node_of(PTO_NODE_TASK, i), node_of(PTO_NODE_SCOPE, task->scope), PTO_WAIT_SCOPE);
    is_awaited[task->scope] = true;
  }
  for (uint32_t i = 0; i < picture->scope_count; i++)
    if (is_awaited[i]) add_link(view, node_of(PTO_NODE_SCOPE, i), ORCHESTRATION, PTO_WAIT_SUBMITS);
}

static void add_consumer(const struct view *view, uint32_t producer, uint32_t consumer, uint32_t listed_count) {
  add_task(view, consumer);
}

/* The tasks that cannot run because one has failed. */
static void add_behind_failed(const struct view *view, uint32_t failed_slot) {
  const uint32_t failed = add_task(view, failed_slot);
  if (failed == PTO_PICTURE_NONE) return;
  view->picture->tasks[failed].has_failed = true;
  visit_consumers(view, failed_slot, 0, add_consumer);
}

/* ---- all of it ---- */

void pto_wait_picture_take(struct pto_runtime *rt, int status, uint32_t failed_slot, struct pto_wait_picture *picture) {
  uint64_t bits[SLOT_BITS / 64] = {0}, unlisted[CORE_BITS / 64] = {0};
  const struct view view = {rt, picture, bits, unlisted};
  memset(picture, 0, sizeof *picture);
  picture->status = status;
  picture->task_count = rt->task_count;
  picture->completed_count = rt->completed_count;
  fill_rings(&view);
  fill_scopes(&view);
  fill_doing(&view);
  if (failed_slot != PTO_PICTURE_NONE) add_behind_failed(&view, failed_slot);
  link_orchestration(&view);
  add_waiting_cores(&view);
  add_busy_cores(&view);
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) add_oldest(&view, r);
  add_awaited_tasks(&view);
  link_scopes(&view);
  link_all_ready(&view);
  link_cores(&view);
  pto_wait_picture_find_path(picture);
}
