/* SPDX-License-Identifier: MIT */
/*
 * Messages and the rates of their flows; which links there are is in links.h.
 *
 * A message is in one of two heaps, by the time when something happens to it: of those that have not joined, by when
 * they join; of the flows, by when they arrive.  A flow that comes or goes touches its links.  Once for all changes of
 * one picosecond, rates are found anew: of the flows on touched links, of those that share a link with these, and so
 * on; all others keep theirs.  A flow whose rate changes is served up to now and gets a new time of arrival.
 */
#include <sim/fabric/fabric.h>
#include <sim/fabric/links.h>

#include <string.h>

#include <sim/chips/timing.h>

struct message {
  struct pto_fabric_message is;
  uint64_t began_at, sequence; /* of its source */
  uint64_t at;                 /* when it joins; of a flow, when it arrives */
  uint64_t cap;                /* UINT64_MAX: none */
  uint64_t rate;               /* of a flow */
  uint64_t served_at;          /* of a flow: when `left` was what is left */
  unsigned __int128 left;
  uint32_t next_free; /* of one that is not in use: one more than the index of the next; 0: the last */
  uint32_t link_count;
  uint16_t links[PTO_FABRIC_MAX_HOPS];
};

struct link {
  uint64_t capacity;
  /* While rates are found: what is free of it, for how many flows, and the share of one. */
  uint64_t room, share;
  uint32_t unfixed;
  bool is_touched;
  uint32_t flows_now;
  uint64_t flows, bytes, busy_ps, busy_since;
};

/* The message first to which something happens first. */
struct heap {
  uint32_t *items; /* indices of messages */
  uint32_t count;
};

struct pto_fabric {
  struct pto_fabric_links links;
  uint32_t rank_count;
  uint64_t clock;          /* everything until then has happened */
  uint32_t capacity, free; /* messages that there is room for; the first that is not in use, as next_free */
  struct message *messages;
  struct heap travelling, flows;
  uint32_t *unfixed; /* indices of flows, while rates are found */
  struct link *link; /* by number */
  uint16_t *touched; /* links that flows came to or left since rates were found */
  uint32_t touched_count;
  uint64_t sequences[PTO_FABRIC_MAX_RANKS];
};

/* ---- creation ---- */

uint32_t pto_fabric_capacity(const struct pto_chip *chip) { return chip->fabric.nodes * chip->fabric.chips_per_node; }

/* Room for twice as many messages; false: no memory, nothing lost. */
static bool grow(struct pto_fabric *fabric) {
  const uint32_t capacity = fabric->capacity ? 2 * fabric->capacity : 64;
  uint32_t **const lists[] = {&fabric->travelling.items, &fabric->flows.items, &fabric->unfixed};
  struct message *messages = realloc(fabric->messages, capacity * sizeof *messages);
  if (!messages) return false;
  fabric->messages = messages;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lists); i++) {
    uint32_t *list = realloc(*lists[i], capacity * sizeof *list);
    if (!list) return false;
    *lists[i] = list;
  }
  for (uint32_t i = capacity; i-- > fabric->capacity;) {
    messages[i].next_free = fabric->free;
    fabric->free = i + 1;
  }
  fabric->capacity = capacity;
  return true;
}

int pto_fabric_create(const struct pto_chip *chip, uint32_t rank_count, struct pto_fabric **fabric,
                      struct pto_error *error) {
  if (rank_count == 0 || rank_count > pto_fabric_capacity(chip))
    return pto_error_set(
        error, PTO_EINVAL, "ranks = %u: the fabric of chip %s holds 1 to %u (nodes = %u, chips_per_node = %u)",
        rank_count, chip->name, pto_fabric_capacity(chip), chip->fabric.nodes, chip->fabric.chips_per_node);
  struct pto_fabric *made = calloc(1, sizeof *made);
  if (!made) goto no_memory;
  pto_fabric_links_init(&made->links, &chip->fabric);
  made->rank_count = rank_count;
  const uint32_t link_count = pto_fabric_link_count(made);
  made->link = calloc((size_t)link_count + 1, sizeof *made->link); /* a fabric of one chip has none */
  made->touched = calloc((size_t)link_count + 1, sizeof *made->touched);
  if (!made->link || !made->touched || !grow(made)) goto no_memory;
  for (uint32_t i = 0; i < link_count; i++) made->link[i].capacity = pto_fabric_links_capacity(&made->links, i);
  *fabric = made;
  return PTO_OK;
no_memory:
  pto_fabric_destroy(made);
  return pto_error_set(error, PTO_ENOMEM, "no memory for the fabric of %u ranks", rank_count);
}

void pto_fabric_destroy(struct pto_fabric *fabric) {
  if (!fabric) return;
  free(fabric->messages);
  free(fabric->travelling.items);
  free(fabric->flows.items);
  free(fabric->unfixed);
  free(fabric->link);
  free(fabric->touched);
  free(fabric);
}

uint64_t pto_fabric_lookahead_ps(const struct pto_fabric *fabric, uint32_t source, uint32_t target) {
  PTO_ASSERT(source != target && source < fabric->rank_count && target < fabric->rank_count);
  return pto_fabric_links_lookahead_ps(&fabric->links, source, target);
}

/* ---- heaps ---- */

static bool is_before(const struct pto_fabric *fabric, uint32_t a, uint32_t b) {
  const struct message *const x = &fabric->messages[a], *const y = &fabric->messages[b];
  if (x->at != y->at) return x->at < y->at;
  if (x->is.source != y->is.source) return x->is.source < y->is.source;
  return x->sequence < y->sequence;
}

/* Lets the message at `place` sink to where it belongs. */
static void sink(const struct pto_fabric *fabric, const struct heap *heap, uint32_t place) {
  const uint32_t index = heap->items[place];
  for (;;) {
    uint32_t child = 2 * place + 1;
    if (child >= heap->count) break;
    if (child + 1 < heap->count && is_before(fabric, heap->items[child + 1], heap->items[child])) child++;
    if (!is_before(fabric, heap->items[child], index)) break;
    heap->items[place] = heap->items[child];
    place = child;
  }
  heap->items[place] = index;
}

static void insert(const struct pto_fabric *fabric, struct heap *heap, uint32_t index) {
  uint32_t place = heap->count++;
  for (; place > 0 && is_before(fabric, index, heap->items[(place - 1) / 2]); place = (place - 1) / 2)
    heap->items[place] = heap->items[(place - 1) / 2];
  heap->items[place] = index;
}

static void remove_first(const struct pto_fabric *fabric, struct heap *heap) {
  heap->items[0] = heap->items[--heap->count];
  if (heap->count > 0) sink(fabric, heap, 0);
}

/* The heap whose first comes first; one that is empty where both are. */
static struct heap *next_heap(struct pto_fabric *fabric) {
  if (fabric->flows.count == 0) return &fabric->travelling;
  if (fabric->travelling.count == 0) return &fabric->flows;
  return is_before(fabric, fabric->flows.items[0], fabric->travelling.items[0]) ? &fabric->flows : &fabric->travelling;
}

/* ---- rates ---- */

static void touch(struct pto_fabric *fabric, uint16_t link) {
  if (fabric->link[link].is_touched) return;
  fabric->link[link].is_touched = true;
  fabric->touched[fabric->touched_count++] = link;
}

static bool is_touched(const struct pto_fabric *fabric, const struct message *flow) {
  for (uint32_t k = 0; k < flow->link_count; k++)
    if (fabric->link[flow->links[k]].is_touched) return true;
  return false;
}

/* Touches what flows on touched links take besides, until there is no more; these flows are the unfixed ones then, and
 * how many. */
static uint32_t reach(struct pto_fabric *fabric) {
  uint32_t *const flows = fabric->unfixed, count = fabric->flows.count;
  uint32_t reached = 0, before;
  if (count > 0) memcpy(flows, fabric->flows.items, count * sizeof *flows);
  do {
    before = reached;
    for (uint32_t i = reached; i < count; i++) {
      const uint32_t index = flows[i];
      const struct message *flow = &fabric->messages[index];
      if (!is_touched(fabric, flow)) continue;
      for (uint32_t k = 0; k < flow->link_count; k++) touch(fabric, flow->links[k]);
      flows[i] = flows[reached];
      flows[reached++] = index;
    }
  } while (reached > before);
  for (uint32_t i = 0; i < fabric->touched_count; i++) {
    struct link *link = &fabric->link[fabric->touched[i]];
    link->room = link->capacity;
    link->unfixed = link->flows_now;
    link->is_touched = false;
  }
  return reached;
}

/* The rate that some unfixed flow cannot exceed, and that all of them can have. */
static uint64_t least_share(struct pto_fabric *fabric, uint32_t unfixed) {
  uint64_t least = UINT64_MAX;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < fabric->touched_count; i++) {
    struct link *link = &fabric->link[fabric->touched[i]];
    if (link->unfixed == 0) continue;
    link->share = link->room / link->unfixed;
    least = pto_min_u64(least, link->share);
    fabric->touched[kept++] = fabric->touched[i];
  }
  fabric->touched_count = kept;
  for (uint32_t i = 0; i < unfixed; i++) least = pto_min_u64(least, fabric->messages[fabric->unfixed[i]].cap);
  return least;
}

static bool has_full_link(const struct pto_fabric *fabric, const struct message *flow, uint64_t share) {
  for (uint32_t k = 0; k < flow->link_count; k++)
    if (fabric->link[flow->links[k]].share == share) return true;
  return false;
}

/* ⌈left / rate⌉, at most PTO_TIMING_MAX_PS. */
static uint64_t duration_ps(const struct message *flow) {
  if (flow->left / PTO_TIMING_MAX_PS >= flow->rate) return PTO_TIMING_MAX_PS;
  return (uint64_t)((flow->left + (flow->rate - 1)) / flow->rate);
}

static void fix(struct pto_fabric *fabric, struct message *flow, uint64_t rate) {
  for (uint32_t k = 0; k < flow->link_count; k++) {
    fabric->link[flow->links[k]].room -= rate;
    fabric->link[flow->links[k]].unfixed--;
  }
  if (flow->rate == rate) return;
  flow->left -= (unsigned __int128)flow->rate * (fabric->clock - flow->served_at);
  flow->served_at = fabric->clock;
  flow->rate = rate;
  flow->at = fabric->clock + duration_ps(flow);
}

/* The max–min fair rates.  Links that are full at the same share are full together, so the rates do not depend on the
 * order of links or flows. */
static void share_anew(struct pto_fabric *fabric) {
  uint32_t unfixed = reach(fabric);
  while (unfixed > 0) {
    const uint64_t share = least_share(fabric, unfixed);
    uint32_t kept = 0;
    PTO_ASSERT(share > 0);
    for (uint32_t i = 0; i < unfixed; i++) {
      struct message *flow = &fabric->messages[fabric->unfixed[i]];
      if (flow->cap == share || has_full_link(fabric, flow, share))
        fix(fabric, flow, share);
      else
        fabric->unfixed[kept++] = fabric->unfixed[i];
    }
    PTO_ASSERT(kept < unfixed);
    unfixed = kept;
  }
  fabric->touched_count = 0;
  for (uint32_t i = fabric->flows.count / 2; i-- > 0;) sink(fabric, &fabric->flows, i);
}

/* ---- messages ---- */

int pto_fabric_begin(struct pto_fabric *fabric, uint64_t now, const struct pto_fabric_message *message) {
  PTO_ASSERT(message->bytes <= PTO_FABRIC_MAX_BYTES);
  if (fabric->free == 0 && !grow(fabric)) return PTO_ENOMEM;
  const uint32_t index = fabric->free - 1, source = message->source;
  struct message *m = &fabric->messages[index];
  fabric->free = m->next_free;
  *m = (struct message){
      .is = *message,
      .began_at = now,
      .sequence = fabric->sequences[source]++,
      .at = now + pto_fabric_lookahead_ps(fabric, source, message->target),
      .cap = message->cap_mbps ? message->cap_mbps << PTO_FABRIC_UNIT_LOG2 : UINT64_MAX,
      .left = message->bytes * PTO_FABRIC_UNITS_PER_BYTE,
  };
  m->link_count = pto_fabric_links_route(&fabric->links, source, message->target, m->links);
  PTO_ASSERT(m->at > fabric->clock);
  insert(fabric, &fabric->travelling, index);
  return PTO_OK;
}

static uint64_t first_at(const struct pto_fabric *fabric, const struct heap *heap) {
  return heap->count > 0 ? fabric->messages[heap->items[0]].at : PTO_FABRIC_NEVER;
}

uint64_t pto_fabric_next_at(const struct pto_fabric *fabric) {
  return pto_min_u64(first_at(fabric, &fabric->travelling), first_at(fabric, &fabric->flows));
}

/* A message becomes a flow; when it arrives is found with its rate. */
static void join(struct pto_fabric *fabric, uint32_t index) {
  struct message *m = &fabric->messages[index];
  for (uint32_t k = 0; k < m->link_count; k++) {
    struct link *link = &fabric->link[m->links[k]];
    if (link->flows_now++ == 0) link->busy_since = fabric->clock;
    link->flows++;
    touch(fabric, m->links[k]);
  }
  m->at = PTO_FABRIC_NEVER;
  insert(fabric, &fabric->flows, index);
}

/* A flow leaves its links. */
static void leave(struct pto_fabric *fabric, uint32_t index) {
  const struct message *m = &fabric->messages[index];
  for (uint32_t k = 0; k < m->link_count; k++) {
    struct link *link = &fabric->link[m->links[k]];
    if (--link->flows_now == 0) link->busy_ps += fabric->clock - link->busy_since;
    link->bytes += m->is.bytes;
    touch(fabric, m->links[k]);
  }
}

/* What comes first happens: true, and *arrival, where that is an arrival. */
static bool step(struct pto_fabric *fabric, struct pto_fabric_arrival *arrival) {
  struct heap *heap = next_heap(fabric);
  const uint32_t index = heap->items[0];
  struct message *m = &fabric->messages[index];
  PTO_ASSERT(m->at >= fabric->clock);
  fabric->clock = m->at;
  remove_first(fabric, heap);
  if (heap == &fabric->travelling && m->is.bytes > 0) {
    join(fabric, index);
    return false;
  }
  if (heap == &fabric->flows) leave(fabric, index);
  *arrival = (struct pto_fabric_arrival){.at = fabric->clock, .began_at = m->began_at, .message = m->is};
  m->next_free = fabric->free;
  fabric->free = index + 1;
  return true;
}

bool pto_fabric_advance(struct pto_fabric *fabric, uint64_t until, struct pto_fabric_arrival *arrival) {
  bool is_arrival = false;
  while (!is_arrival && pto_fabric_next_at(fabric) <= until) {
    is_arrival = step(fabric, arrival);
    /* One more of the same picosecond may follow. */
    if (fabric->touched_count > 0 && pto_fabric_next_at(fabric) > fabric->clock) share_anew(fabric);
  }
  if (!is_arrival) fabric->clock = pto_max_u64(fabric->clock, until);
  return is_arrival;
}

/* ---- links ---- */

uint32_t pto_fabric_link_count(const struct pto_fabric *fabric) { return fabric->links.first[PTO_CHIP_TIER_COUNT]; }

struct pto_fabric_link pto_fabric_link(const struct pto_fabric *fabric, uint32_t link) {
  const struct link *l = &fabric->link[link];
  return (struct pto_fabric_link){.bytes = l->bytes,
                                  .busy_ps = l->busy_ps + (l->flows_now ? fabric->clock - l->busy_since : 0),
                                  .flows = l->flows,
                                  .bandwidth_mbps = l->capacity >> PTO_FABRIC_UNIT_LOG2,
                                  .flows_now = l->flows_now};
}

const char *pto_fabric_link_name(const struct pto_fabric *fabric, uint32_t link, char name[PTO_FABRIC_LINK_NAME]) {
  return pto_fabric_links_name(&fabric->links, link, name);
}

uint32_t pto_fabric_route(const struct pto_fabric *fabric, uint32_t source, uint32_t target,
                          uint16_t links[PTO_FABRIC_MAX_HOPS]) {
  PTO_ASSERT(source != target && source < fabric->rank_count && target < fabric->rank_count);
  return pto_fabric_links_route(&fabric->links, source, target, links);
}

/* ---- validity ---- */

/* On some link of the flow all of the room is taken, but for what rounding left, and none has more than it has. */
static bool is_bounded_by_a_link(const struct pto_fabric *fabric, const struct message *flow) {
  for (uint32_t k = 0; k < flow->link_count; k++) {
    uint64_t room = fabric->link[flow->links[k]].capacity, most = 0;
    for (uint32_t i = 0; i < fabric->flows.count; i++) {
      const struct message *other = &fabric->messages[fabric->flows.items[i]];
      for (uint32_t j = 0; j < other->link_count; j++) {
        if (other->links[j] != flow->links[k]) continue;
        room -= other->rate;
        most = pto_max_u64(most, other->rate);
      }
    }
    if (room < fabric->link[flow->links[k]].flows_now && most == flow->rate) return true;
  }
  return false;
}

static bool is_heap(const struct pto_fabric *fabric, const struct heap *heap) {
  for (uint32_t place = 1; place < heap->count; place++)
    if (is_before(fabric, heap->items[place], heap->items[(place - 1) / 2])) return false;
  return true;
}

bool pto_fabric_is_valid(const struct pto_fabric *fabric) {
  if (!is_heap(fabric, &fabric->travelling) || !is_heap(fabric, &fabric->flows)) return false;
  if (fabric->touched_count > 0) return true; /* rates are to be found */
  for (uint32_t i = 0; i < pto_fabric_link_count(fabric); i++) {
    uint64_t room = fabric->link[i].capacity;
    uint32_t flows = 0;
    for (uint32_t k = 0; k < fabric->flows.count; k++) {
      const struct message *flow = &fabric->messages[fabric->flows.items[k]];
      for (uint32_t j = 0; j < flow->link_count; j++) {
        if (flow->links[j] != i) continue;
        if (flow->rate > room) return false;
        room -= flow->rate;
        flows++;
      }
    }
    if (flows != fabric->link[i].flows_now) return false;
  }
  for (uint32_t i = 0; i < fabric->flows.count; i++) {
    const struct message *flow = &fabric->messages[fabric->flows.items[i]];
    if (flow->rate == 0 || flow->at < fabric->clock) return false;
    if (flow->rate != flow->cap && !is_bounded_by_a_link(fabric, flow)) return false;
  }
  return true;
}
