/* SPDX-License-Identifier: MIT */
/*
 * Messages and the rates of their flows; which links there are is in links.h.
 *
 * All messages under way are in one heap, each at the time when something happens to it: its join, then its arrival.
 * Those that have joined are flows, in a list without order.  A change of the flows finds all rates anew, once for all
 * changes of one picosecond; a flow whose rate changes is served up to now and gets a new time of arrival.
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
  uint64_t rate, new_rate;     /* of a flow */
  uint64_t served_at;          /* of a flow: when `left` was what is left */
  unsigned __int128 left;
  uint32_t place;     /* among the flows */
  uint32_t next_free; /* of one that is not in use: one more than the index of the next; 0: the last */
  uint32_t link_count;
  bool is_flow;
  uint16_t links[PTO_FABRIC_MAX_HOPS];
};

struct link {
  uint64_t capacity;
  /* While rates are found: what is free of it, for how many flows, and the share of one. */
  uint64_t room, share;
  uint32_t unfixed;
  uint32_t flows_now;
  uint64_t flows, bytes, busy_ps, busy_since;
};

struct pto_fabric {
  struct pto_fabric_links links;
  uint32_t rank_count;
  uint64_t clock;   /* everything until then has happened */
  bool has_changed; /* the flows, since rates were found */
  uint32_t heap_count, flow_count;
  uint32_t capacity, free; /* messages that there is room for; the first that is not in use, as next_free */
  struct message *messages;
  uint32_t *heap, *flows, *unfixed; /* indices of messages; the last is used while rates are found */
  struct link *link;                /* by number */
  uint16_t *used;                   /* links with flows, while rates are found */
  uint64_t sequences[PTO_FABRIC_MAX_RANKS];
  pto_fabric_observer observer;
  void *observer_context;
};

/* ---- creation ---- */

uint32_t pto_fabric_capacity(const struct pto_chip *chip) { return chip->fabric.nodes * chip->fabric.chips_per_node; }

/* Room for twice as many messages; false: no memory, nothing lost. */
static bool grow(struct pto_fabric *fabric) {
  const uint32_t capacity = fabric->capacity ? 2 * fabric->capacity : 64;
  uint32_t **const lists[] = {&fabric->heap, &fabric->flows, &fabric->unfixed};
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
  made->used = calloc((size_t)link_count + 1, sizeof *made->used);
  if (!made->link || !made->used || !grow(made)) goto no_memory;
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
  free(fabric->heap);
  free(fabric->flows);
  free(fabric->unfixed);
  free(fabric->link);
  free(fabric->used);
  free(fabric);
}

uint64_t pto_fabric_lookahead_ps(const struct pto_fabric *fabric, uint32_t source, uint32_t target) {
  PTO_ASSERT(source != target && source < fabric->rank_count && target < fabric->rank_count);
  return pto_fabric_links_lookahead_ps(&fabric->links, source, target);
}

uint64_t pto_fabric_least_lookahead_ps(const struct pto_fabric *fabric) {
  uint64_t least = PTO_FABRIC_NEVER;
  for (uint32_t source = 0; source < fabric->rank_count; source++)
    for (uint32_t target = 0; target < fabric->rank_count; target++)
      if (source != target) least = pto_min_u64(least, pto_fabric_lookahead_ps(fabric, source, target));
  return least;
}

/* ---- the heap: the message first to which something happens first ---- */

static bool is_before(const struct pto_fabric *fabric, uint32_t a, uint32_t b) {
  const struct message *const x = &fabric->messages[a], *const y = &fabric->messages[b];
  if (x->at != y->at) return x->at < y->at;
  if (x->is.source != y->is.source) return x->is.source < y->is.source;
  return x->sequence < y->sequence;
}

/* Lets the message at `place` sink to where it belongs. */
static void sink(struct pto_fabric *fabric, uint32_t place) {
  uint32_t *const heap = fabric->heap, index = heap[place];
  for (;;) {
    uint32_t child = 2 * place + 1;
    if (child >= fabric->heap_count) break;
    if (child + 1 < fabric->heap_count && is_before(fabric, heap[child + 1], heap[child])) child++;
    if (!is_before(fabric, heap[child], index)) break;
    heap[place] = heap[child];
    place = child;
  }
  heap[place] = index;
}

static void insert(struct pto_fabric *fabric, uint32_t index) {
  uint32_t *const heap = fabric->heap, place = fabric->heap_count++;
  for (; place > 0 && is_before(fabric, index, heap[(place - 1) / 2]); place = (place - 1) / 2)
    heap[place] = heap[(place - 1) / 2];
  heap[place] = index;
}

static void remove_first(struct pto_fabric *fabric) {
  fabric->heap[0] = fabric->heap[--fabric->heap_count];
  if (fabric->heap_count > 0) sink(fabric, 0);
}

/* ---- rates ---- */

/* All flows are unfixed, and their links free; how many of these there are. */
static uint32_t begin_rates(struct pto_fabric *fabric) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < fabric->flow_count; i++) {
    const struct message *flow = &fabric->messages[fabric->unfixed[i] = fabric->flows[i]];
    for (uint32_t k = 0; k < flow->link_count; k++) {
      struct link *link = &fabric->link[flow->links[k]];
      if (link->unfixed++ > 0) continue;
      link->room = link->capacity;
      fabric->used[used++] = flow->links[k];
    }
  }
  return used;
}

/* The rate that some unfixed flow cannot exceed, and that all of them can have. */
static uint64_t least_share(struct pto_fabric *fabric, uint32_t *used, uint32_t unfixed) {
  uint64_t least = UINT64_MAX;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < *used; i++) {
    struct link *link = &fabric->link[fabric->used[i]];
    if (link->unfixed == 0) continue;
    link->share = link->room / link->unfixed;
    least = pto_min_u64(least, link->share);
    fabric->used[kept++] = fabric->used[i];
  }
  *used = kept;
  for (uint32_t i = 0; i < unfixed; i++) least = pto_min_u64(least, fabric->messages[fabric->unfixed[i]].cap);
  return least;
}

static bool has_full_link(const struct pto_fabric *fabric, const struct message *flow, uint64_t share) {
  for (uint32_t k = 0; k < flow->link_count; k++)
    if (fabric->link[flow->links[k]].share == share) return true;
  return false;
}

/* The max–min fair rates of all flows, into new_rate.  Links that are full at the same share are full together, so the
 * rates do not depend on the order of links or flows. */
static void find_rates(struct pto_fabric *fabric) {
  uint32_t unfixed = fabric->flow_count, used = begin_rates(fabric);
  while (unfixed > 0) {
    const uint64_t share = least_share(fabric, &used, unfixed);
    uint32_t kept = 0;
    PTO_ASSERT(share > 0);
    for (uint32_t i = 0; i < unfixed; i++) {
      struct message *flow = &fabric->messages[fabric->unfixed[i]];
      if (flow->cap != share && !has_full_link(fabric, flow, share)) {
        fabric->unfixed[kept++] = fabric->unfixed[i];
        continue;
      }
      flow->new_rate = share;
      for (uint32_t k = 0; k < flow->link_count; k++) {
        fabric->link[flow->links[k]].room -= share;
        fabric->link[flow->links[k]].unfixed--;
      }
    }
    PTO_ASSERT(kept < unfixed);
    unfixed = kept;
  }
}

/* ⌈left / rate⌉, at most PTO_TIMING_MAX_PS. */
static uint64_t duration_ps(const struct message *flow) {
  if (flow->left / PTO_TIMING_MAX_PS >= flow->rate) return PTO_TIMING_MAX_PS;
  return (uint64_t)((flow->left + (flow->rate - 1)) / flow->rate);
}

/* The flows have changed at the clock. */
static void share_anew(struct pto_fabric *fabric) {
  fabric->has_changed = false;
  find_rates(fabric);
  for (uint32_t i = 0; i < fabric->flow_count; i++) {
    struct message *flow = &fabric->messages[fabric->flows[i]];
    if (flow->rate == flow->new_rate) continue;
    flow->left -= (unsigned __int128)flow->rate * (fabric->clock - flow->served_at);
    flow->served_at = fabric->clock;
    flow->rate = flow->new_rate;
    flow->at = fabric->clock + duration_ps(flow);
  }
  for (uint32_t i = fabric->heap_count / 2; i-- > 0;) sink(fabric, i);
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
  insert(fabric, index);
  return PTO_OK;
}

uint64_t pto_fabric_next_at(const struct pto_fabric *fabric) {
  return fabric->heap_count > 0 ? fabric->messages[fabric->heap[0]].at : PTO_FABRIC_NEVER;
}

static void observe(const struct pto_fabric *fabric, const struct message *m, bool is_arrival) {
  for (uint32_t k = 0; fabric->observer && k < m->link_count; k++) {
    const struct pto_fabric_event event = {
        .at = fabric->clock, .link = m->links[k], .is_arrival = is_arrival, .message = m->is};
    fabric->observer(fabric->observer_context, &event);
  }
}

/* The first of the heap becomes a flow; when it arrives is found with its rate. */
static void join(struct pto_fabric *fabric, uint32_t index) {
  struct message *m = &fabric->messages[index];
  observe(fabric, m, false);
  for (uint32_t k = 0; k < m->link_count; k++) {
    struct link *link = &fabric->link[m->links[k]];
    if (link->flows_now++ == 0) link->busy_since = fabric->clock;
    link->flows++;
  }
  m->is_flow = true;
  m->at = PTO_FABRIC_NEVER;
  m->place = fabric->flow_count;
  fabric->flows[fabric->flow_count++] = index;
  fabric->has_changed = true;
  sink(fabric, 0);
}

/* The flow leaves its links. */
static void leave(struct pto_fabric *fabric, uint32_t index) {
  const struct message *m = &fabric->messages[index];
  const uint32_t last = fabric->flows[--fabric->flow_count];
  observe(fabric, m, true);
  for (uint32_t k = 0; k < m->link_count; k++) {
    struct link *link = &fabric->link[m->links[k]];
    if (--link->flows_now == 0) link->busy_ps += fabric->clock - link->busy_since;
    link->bytes += m->is.bytes;
  }
  fabric->flows[m->place] = last;
  fabric->messages[last].place = m->place;
  fabric->has_changed = true;
}

bool pto_fabric_advance(struct pto_fabric *fabric, uint64_t until, struct pto_fabric_arrival *arrival) {
  while (pto_fabric_next_at(fabric) <= until) {
    const uint32_t index = fabric->heap[0];
    struct message *m = &fabric->messages[index];
    const bool is_join = !m->is_flow && m->left > 0;
    PTO_ASSERT(m->at >= fabric->clock);
    fabric->clock = m->at;
    if (is_join) {
      join(fabric, index);
    } else {
      if (m->is_flow) leave(fabric, index);
      *arrival = (struct pto_fabric_arrival){.at = m->at, .began_at = m->began_at, .message = m->is};
      remove_first(fabric);
      m->next_free = fabric->free;
      fabric->free = index + 1;
    }
    /* One more of the same picosecond may follow. */
    if (fabric->has_changed && pto_fabric_next_at(fabric) > fabric->clock) share_anew(fabric);
    if (!is_join) return true;
  }
  fabric->clock = pto_max_u64(fabric->clock, until);
  return false;
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

void pto_fabric_observe(struct pto_fabric *fabric, pto_fabric_observer observer, void *context) {
  fabric->observer = observer;
  fabric->observer_context = context;
}

/* ---- validity ---- */

/* On some link of the flow all of the room is taken, but for what rounding left, and none has more than it has. */
static bool is_bounded_by_a_link(const struct pto_fabric *fabric, const struct message *flow) {
  for (uint32_t k = 0; k < flow->link_count; k++) {
    uint64_t room = fabric->link[flow->links[k]].capacity, most = 0;
    for (uint32_t i = 0; i < fabric->flow_count; i++) {
      const struct message *other = &fabric->messages[fabric->flows[i]];
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

bool pto_fabric_is_valid(const struct pto_fabric *fabric) {
  for (uint32_t place = 1; place < fabric->heap_count; place++)
    if (is_before(fabric, fabric->heap[place], fabric->heap[(place - 1) / 2])) return false;
  if (fabric->has_changed) return true; /* rates are to be found */
  for (uint32_t i = 0; i < pto_fabric_link_count(fabric); i++) {
    uint64_t room = fabric->link[i].capacity;
    uint32_t flows = 0;
    for (uint32_t k = 0; k < fabric->flow_count; k++) {
      const struct message *flow = &fabric->messages[fabric->flows[k]];
      for (uint32_t j = 0; j < flow->link_count; j++) {
        if (flow->links[j] != i) continue;
        if (flow->rate > room) return false;
        room -= flow->rate;
        flows++;
      }
    }
    if (flows != fabric->link[i].flows_now) return false;
  }
  for (uint32_t i = 0; i < fabric->flow_count; i++) {
    const struct message *flow = &fabric->messages[fabric->flows[i]];
    if (flow->place != i || flow->rate == 0 || flow->at < fabric->clock) return false;
    if (flow->rate != flow->cap && !is_bounded_by_a_link(fabric, flow)) return false;
  }
  return true;
}
