/* SPDX-License-Identifier: MIT */
#include <check/explore/all.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>

/* The kind of a step that is no choice: the orchestration after it had to wait. */
#define RESUMED (PTO_EXPLORE_GO_ON + 1)

/* A step with what is known of it once it was made. */
struct known {
  struct pto_explore_event event;
  bool has_access; /* of the orchestration: a host access */
};

struct event_set {
  struct known *items;
  size_t count, capacity;
};

/* A decision of the current run, with what has been tried there. */
struct node {
  struct event_set enabled; /* what was offered */
  struct event_set sleep;   /* what would only repeat an earlier run */
  struct event_set wanted;  /* what is to be tried, tried or not: the source set */
  struct known chosen;
  uint64_t position; /* before it */
};

/* The current run, step by step; steps that were no choice stand between those that were. */
struct step {
  struct known known;
  uint32_t node;                      /* UINT32_MAX: no choice */
  uint64_t before_position, position; /* of the orchestration, before and after */
};

struct pto_explore_all {
  struct pto_explore_relation relation;
  struct node *nodes; /* PTO_EXPLORE_ALL_MAX_STEPS of them */
  uint32_t node_count, depth;
  struct step *steps;
  uint32_t step_count;
  uint64_t *before; /* row j: the steps that happen before step j */
  uint64_t row_words;
  uint64_t position;
  bool is_redundant; /* this run, from here on */
  bool has_no_memory;
  struct pto_explore_all_state state;
};

/* ---- sets ---- */

static bool is_same(const struct pto_explore_event *a, const struct pto_explore_event *b) {
  return pto_explore_event_compare(a, b) == 0;
}

static bool contains(const struct event_set *set, const struct pto_explore_event *event) {
  for (uint32_t i = 0; i < set->count; i++)
    if (is_same(&set->items[i].event, event)) return true;
  return false;
}

static void add(struct pto_explore_all *all, struct event_set *set, const struct known *known) {
  struct known *fresh = pto_grow(&set->items, &set->count, &set->capacity, sizeof *fresh);
  if (fresh)
    *fresh = *known;
  else
    all->has_no_memory = true;
}

/* ---- the relation ---- */

static bool is_call(const struct known *known) { return known->event.kind == PTO_EXPLORE_CALL; }

static bool is_dependent(const struct pto_explore_all *all, const struct known *a, const struct known *b) {
  if (!is_call(a) && !is_call(b)) return true;
  if (!is_call(a)) return a->has_access;
  if (!is_call(b)) return b->has_access;
  if (a->event.task == b->event.task) return true;
  return all->relation.is_dependent(all->relation.context, a->event.task, b->event.task);
}

/* Whether step i has to come before step j in every order. */
static bool is_enabling(const struct pto_explore_all *all, const struct step *i, const struct step *j) {
  const struct pto_explore_event *a = &i->known.event, *b = &j->known.event;
  if (is_call(&i->known) && is_call(&j->known)) {
    const bool is_piece = a->task == b->task && a->block_index == b->block_index && a->role == b->role;
    return is_piece || all->relation.is_before(all->relation.context, a, b);
  }
  if (is_call(&i->known)) return false; /* what it waited for is not known; an access depends on all calls */
  if (is_call(&j->known)) return pto_explore_submits(i->before_position) <= b->task; /* it submits it, or one before */
  return true;
}

/* ---- one run ---- */

/* The step made last is over: what is known of it now. */
static void settle(struct pto_explore_all *all, uint64_t position) {
  if (all->step_count == 0) {
    all->position = position;
    return;
  }
  struct step *last = &all->steps[all->step_count - 1];
  const bool has_access = pto_explore_accesses(position) != pto_explore_accesses(all->position);
  if (!is_call(&last->known)) {
    last->known.has_access = has_access;
    if (last->node != UINT32_MAX) all->nodes[last->node].chosen.has_access = has_access;
  }
  last->position = position;
  if (is_call(&last->known) && position != all->position) { /* it went on by itself, having waited */
    last->position = all->position;
    if (all->step_count == PTO_EXPLORE_ALL_MAX_STEPS) return;
    all->steps[all->step_count++] = (struct step){.known = {{.kind = RESUMED}, has_access},
                                                  .node = UINT32_MAX,
                                                  .before_position = all->position,
                                                  .position = position};
  }
  all->position = position;
}

static void make_step(struct pto_explore_all *all, const struct known *known, uint32_t node, uint64_t position) {
  all->steps[all->step_count++] =
      (struct step){.known = *known, .node = node, .before_position = position, .position = position};
}

/* What sleeps at a new node: what slept at the one before and is independent of all that was made since. */
static void fall_asleep(struct pto_explore_all *all, const struct node *parent, struct node *node) {
  uint32_t first = all->step_count;
  while (first > 0 && all->steps[first - 1].node == UINT32_MAX) first--;
  if (first > 0) first--; /* the parent's choice, and what followed it by itself */
  node->sleep.count = 0;
  for (uint32_t i = 0; i < parent->sleep.count; i++) {
    bool is_asleep = true;
    for (uint32_t k = first; k < all->step_count && is_asleep; k++)
      is_asleep = !is_dependent(all, &parent->sleep.items[i], &all->steps[k].known);
    if (is_asleep) add(all, &node->sleep, &parent->sleep.items[i]);
  }
}

static uint32_t open_node(struct pto_explore_all *all, const struct pto_explore_event *candidates, uint32_t count,
                          uint64_t position) {
  struct node *node = &all->nodes[all->node_count];
  node->sleep.count = node->enabled.count = node->wanted.count = 0;
  node->position = position;
  if (all->node_count > 0) fall_asleep(all, node - 1, node);
  uint32_t choice = UINT32_MAX;
  for (uint32_t i = 0; i < count; i++) {
    const struct known known = {candidates[i], false};
    add(all, &node->enabled, &known);
    if (choice == UINT32_MAX && !contains(&node->sleep, &candidates[i])) choice = i;
  }
  if (choice == UINT32_MAX) return choice;
  node->chosen = (struct known){candidates[choice], false};
  add(all, &node->wanted, &node->chosen);
  all->node_count++;
  return choice;
}

void pto_explore_all_begin(struct pto_explore_all *all) {
  all->depth = all->step_count = 0;
  all->position = 0;
  all->is_redundant = false;
}

uint32_t pto_explore_all_choose(void *context, const struct pto_explore_event *candidates, uint32_t count,
                                uint64_t position) {
  struct pto_explore_all *all = context;
  if (all->is_redundant || all->has_no_memory || all->state.is_too_long) return 0;
  position &= ~PTO_EXPLORE_WAITS; /* the steps before it say so */
  settle(all, position);
  if (all->step_count + 1 >= PTO_EXPLORE_ALL_MAX_STEPS) {
    all->state.is_too_long = true;
    return 0;
  }
  uint32_t choice = UINT32_MAX;
  if (all->depth < all->node_count) {
    const struct known *chosen = &all->nodes[all->depth].chosen;
    for (uint32_t i = 0; i < count && choice == UINT32_MAX; i++)
      if (is_same(&candidates[i], &chosen->event)) choice = i;
    all->state.has_strayed |= choice == UINT32_MAX;
  } else {
    choice = open_node(all, candidates, count, position);
  }
  if (choice == UINT32_MAX) {
    all->is_redundant = true;
    return 0;
  }
  make_step(all, &all->nodes[all->depth].chosen, all->depth, position);
  all->depth++;
  return choice;
}

/* ---- races ---- */

static bool happens_before(const struct pto_explore_all *all, uint32_t i, uint32_t j) {
  return all->before[j * all->row_words + i / 64] >> (i & 63) & 1;
}

/* The decision at which another step could have come in the place of step i.  What was no choice followed at once from
 * the one before. */
static struct node *node_of(struct pto_explore_all *all, uint32_t i) {
  while (i > 0 && all->steps[i].node == UINT32_MAX) i--;
  return all->steps[i].node == UINT32_MAX ? NULL : &all->nodes[all->steps[i].node];
}

/* Steps i < j are a race that can be turned round: what could come first instead at the node of i is to be tried there,
 * unless something of it is already.  `open` is scratch for row_words words: the steps so far that need not follow i.
 */
static void turn_round(struct pto_explore_all *all, uint32_t i, uint32_t j, uint64_t *open) {
  struct node *node = node_of(all, i);
  const struct known *found = NULL;
  memset(open, 0, all->row_words * sizeof *open);
  for (uint32_t k = i + 1; node && k <= j; k++) {
    if (k < j && happens_before(all, i, k)) continue;
    const uint64_t *before = &all->before[k * all->row_words];
    bool is_initial = true;
    for (uint64_t word = 0; word < all->row_words && is_initial; word++) is_initial = !(before[word] & open[word]);
    open[k / 64] |= UINT64_C(1) << (k & 63);
    const struct known *initial = &all->steps[k].known;
    if (!is_initial || !contains(&node->enabled, &initial->event)) continue;
    if (contains(&node->wanted, &initial->event) || contains(&node->sleep, &initial->event)) return;
    if (!found) found = initial;
  }
  if (found) add(all, &node->wanted, found);
}

/* Fills row j, and collects the steps that race with j: dependent, in either order, and nothing of the row between. */
static uint32_t relate(struct pto_explore_all *all, uint32_t j, uint32_t *races) {
  uint64_t *row = &all->before[j * all->row_words];
  uint32_t count = 0;
  memset(row, 0, all->row_words * sizeof *row);
  for (uint32_t i = j; i-- > 0;) {
    if (row[i / 64] >> (i & 63) & 1) continue;
    const bool is_fixed = is_enabling(all, &all->steps[i], &all->steps[j]);
    if (!is_fixed && !is_dependent(all, &all->steps[i].known, &all->steps[j].known)) continue;
    for (uint64_t word = 0; word < all->row_words; word++) row[word] |= all->before[i * all->row_words + word];
    row[i / 64] |= UINT64_C(1) << (i & 63);
    if (!is_fixed) races[count++] = i;
  }
  return count;
}

static bool find_races(struct pto_explore_all *all) {
  const uint32_t count = all->step_count;
  all->row_words = (count + 63) / 64;
  uint64_t *rows = realloc(all->before, ((count + 1) * all->row_words + 1) * sizeof *rows);
  uint32_t *races = malloc((count + 1) * sizeof *races);
  if (rows) all->before = rows;
  for (uint32_t j = 0; rows && races && j < count; j++) {
    const uint32_t race_count = relate(all, j, races);
    for (uint32_t r = 0; r < race_count; r++) turn_round(all, races[r], j, &rows[count * all->row_words]);
  }
  free(races);
  return rows && races;
}

/* ---- the search ---- */

static const struct known *next_wanted(const struct node *node) {
  for (uint32_t i = 0; i < node->wanted.count; i++)
    if (!contains(&node->sleep, &node->wanted.items[i].event)) return &node->wanted.items[i];
  return NULL;
}

/* The deepest decision with something left to try; what was tried there sleeps. */
static bool go_back(struct pto_explore_all *all) {
  while (all->node_count > 0) {
    struct node *node = &all->nodes[all->node_count - 1];
    add(all, &node->sleep, &node->chosen);
    const struct known *next = next_wanted(node);
    if (next) {
      node->chosen = *next;
      return true;
    }
    all->node_count--;
  }
  return false;
}

static uint64_t count_wanted(const struct pto_explore_all *all) {
  uint64_t count = 0;
  for (uint32_t n = 0; n < all->node_count; n++)
    for (uint32_t i = 0; i < all->nodes[n].wanted.count; i++)
      count += !contains(&all->nodes[n].sleep, &all->nodes[n].wanted.items[i].event);
  return count;
}

int pto_explore_all_end(struct pto_explore_all *all, uint64_t position) {
  struct pto_explore_all_state *state = &all->state;
  if (!all->is_redundant) settle(all, position);
  state->has_more = false;
  state->was_redundant = all->is_redundant;
  state->explored += !all->is_redundant;
  state->redundant += all->is_redundant;
  if (all->has_no_memory || !find_races(all)) return PTO_ENOMEM;
  state->has_more = !state->is_too_long && !state->has_strayed && go_back(all);
  /* What is left at each decision on the way is one class at least; the last of them is chosen already. */
  state->at_least = state->explored + (state->has_more ? count_wanted(all) : 0);
  return all->has_no_memory ? PTO_ENOMEM : PTO_OK;
}

void pto_explore_all_state(const struct pto_explore_all *all, struct pto_explore_all_state *state) {
  *state = all->state;
}

struct pto_explore_all *pto_explore_all_create(const struct pto_explore_relation *relation) {
  struct pto_explore_all *all = calloc(1, sizeof *all);
  if (!all) return NULL;
  all->relation = *relation;
  all->nodes = calloc(PTO_EXPLORE_ALL_MAX_STEPS, sizeof *all->nodes);
  all->steps = calloc(PTO_EXPLORE_ALL_MAX_STEPS, sizeof *all->steps);
  if (all->nodes && all->steps) return all;
  pto_explore_all_destroy(all);
  return NULL;
}

void pto_explore_all_destroy(struct pto_explore_all *all) {
  if (!all) return;
  for (uint32_t i = 0; all->nodes && i < PTO_EXPLORE_ALL_MAX_STEPS; i++) {
    free(all->nodes[i].enabled.items);
    free(all->nodes[i].sleep.items);
    free(all->nodes[i].wanted.items);
  }
  free(all->nodes);
  free(all->steps);
  free(all->before);
  free(all);
}
