/* SPDX-License-Identifier: MIT */
#include <check/explore/strategy.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t strategy_choose(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count);

static bool can_go_on(const struct pto_explore_event *candidates, uint32_t count) {
  return candidates[count - 1].kind == PTO_EXPLORE_GO_ON;
}

/* ---- the strategies ---- */

static uint32_t choose_first(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  return 0;
}

static uint32_t choose_ahead(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  return can_go_on(candidates, count) ? count - 1 : 0;
}

static uint32_t choose_newest(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  return count - 1;
}

/* The orchestration comes last, so it is far ahead of the delayed task too. */
static uint32_t choose_delay(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (candidates[i].kind == PTO_EXPLORE_GO_ON || candidates[i].task != s->name.number) return i;
  return 0;
}

static uint32_t choose_hurry(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  uint32_t first_needed = count;
  for (uint32_t i = 0; i < count && !s->is_done; i++) {
    if (candidates[i].kind == PTO_EXPLORE_GO_ON) continue;
    const uint64_t task = candidates[i].task;
    if (task == s->name.number) {
      s->is_done = s->graph->tasks[task].block_count == 1;
      return i;
    }
    if (first_needed == count && task < s->graph->task_count && s->marks[task]) first_needed = i;
  }
  if (s->is_done) return 0;
  if (first_needed < count) return first_needed;
  return choose_ahead(s, candidates, count);
}

static uint32_t choose_random(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  return (uint32_t)pto_rng_below(&s->rng, count);
}

/* A kernel call keeps its priority over its pieces. */
static bool is_same_actor(const struct pto_explore_event *a, const struct pto_explore_event *b) {
  return a->kind == b->kind && a->task == b->task && a->block_index == b->block_index && a->role == b->role;
}

/* Lowered ones are below all others, the last one lowest. */
static uint64_t priority_of(const struct pto_strategy *s, const struct pto_explore_event *event) {
  for (uint32_t i = s->lowered_count; i-- > 0;)
    if (is_same_actor(&s->lowered[i], event)) return PTO_PRIORITY_MAX_CHANGES - i;
  const uint64_t actor =
      pto_mix64(event->task + 1) ^ ((uint64_t)event->block_index << 16 | (uint64_t)event->role << 8 | event->kind);
  return pto_mix64(actor ^ pto_mix64(s->name.number + 1)) | UINT64_C(1) << 63;
}

static uint32_t highest(const struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  uint32_t best = 0;
  uint64_t best_priority = 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t priority = priority_of(s, &candidates[i]);
    if (priority <= best_priority) continue;
    best = i;
    best_priority = priority;
  }
  return best;
}

static uint32_t choose_priority(struct pto_strategy *s, const struct pto_explore_event *candidates, uint32_t count) {
  uint32_t best = highest(s, candidates, count);
  for (uint32_t i = 0; i < s->change_count; i++)
    if (s->changes[i] == s->step && s->lowered_count < PTO_PRIORITY_MAX_CHANGES) {
      s->lowered[s->lowered_count++] = candidates[best];
      best = highest(s, candidates, count);
    }
  s->step++;
  return best;
}

static const struct {
  const char *name, *meaning;
  bool has_number;
} strategies[] = {
#define X(constant, name, has_number, meaning) {name, meaning, has_number},
    PTO_STRATEGY_LIST(X)
#undef X
};
static strategy_choose *const choosers[] = {
    [PTO_STRATEGY_SEQUENTIAL] = choose_first, [PTO_STRATEGY_AHEAD] = choose_ahead,
    [PTO_STRATEGY_NEWEST] = choose_newest,    [PTO_STRATEGY_DELAY] = choose_delay,
    [PTO_STRATEGY_HURRY] = choose_hurry,      [PTO_STRATEGY_RANDOM] = choose_random,
    [PTO_STRATEGY_PRIORITY] = choose_priority};
_Static_assert(PTO_ARRAY_LENGTH(strategies) == PTO_STRATEGY_COUNT, "a line a strategy");
_Static_assert(PTO_ARRAY_LENGTH(choosers) == PTO_STRATEGY_ALL, "a function a strategy, but for all and file");

/* ---- one run ---- */

void pto_strategy_begin(struct pto_strategy *strategy, struct pto_schedule_name name,
                        const struct pto_explore_graph *graph, uint8_t *marks, uint64_t steps) {
  *strategy = (struct pto_strategy){
      .name = name, .graph = graph, .marks = marks, .rng.state = pto_mix64(name.number ^ ((uint64_t)name.kind << 56))};
  if (name.kind == PTO_STRATEGY_HURRY) {
    pto_explore_graph_mark_producers(graph, name.number, marks);
    strategy->is_done = name.number >= graph->task_count;
  }
  if (name.kind != PTO_STRATEGY_PRIORITY) return;
  strategy->change_count = (uint32_t)(name.number % (PTO_PRIORITY_MAX_CHANGES + 1));
  for (uint32_t i = 0; i < strategy->change_count; i++)
    strategy->changes[i] = pto_rng_below(&strategy->rng, steps ? steps : 1);
}

uint32_t pto_strategy_choose(void *context, const struct pto_explore_event *candidates, uint32_t count,
                             uint64_t position) {
  struct pto_strategy *s = context;
  (void)position;
  return choosers[s->name.kind](s, candidates, count);
}

/* ---- names and plan ---- */

const char *pto_strategy_name(uint32_t kind) { return kind < PTO_STRATEGY_COUNT ? strategies[kind].name : "unknown"; }
const char *pto_strategy_meaning(uint32_t kind) { return kind < PTO_STRATEGY_COUNT ? strategies[kind].meaning : ""; }

const char *pto_schedule_name_format(struct pto_schedule_name name, char *text, size_t size) {
  if (strategies[name.kind].has_number)
    snprintf(text, size, "%s:%" PRIu64, strategies[name.kind].name, name.number);
  else
    snprintf(text, size, "%s", strategies[name.kind].name);
  return text;
}

static bool parse_number(const char *text, uint64_t *number) {
  char *end;
  errno = 0;
  if (text[0] < '0' || text[0] > '9') return false;
  *number = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0;
}

bool pto_schedule_name_parse(const char *text, struct pto_schedule_name *name) {
  *name = (struct pto_schedule_name){.kind = PTO_STRATEGY_RANDOM};
  if (parse_number(text, &name->number)) return true;
  const size_t length = strcspn(text, ":");
  for (uint32_t kind = 0; kind < PTO_STRATEGY_ALL; kind++) {
    if (strlen(strategies[kind].name) != length || strncmp(strategies[kind].name, text, length) != 0) continue;
    name->kind = kind;
    name->number = 0;
    if (!strategies[kind].has_number) return text[length] == '\0';
    return text[length] == ':' && parse_number(text + length + 1, &name->number);
  }
  return false;
}

struct pto_schedule_name pto_schedule_plan(uint64_t index, uint64_t count, uint64_t seed, uint64_t task_count) {
  static const uint32_t cycle[] = {PTO_STRATEGY_DELAY, PTO_STRATEGY_RANDOM, PTO_STRATEGY_HURRY, PTO_STRATEGY_PRIORITY};
  if (index < 2) return (struct pto_schedule_name){index ? PTO_STRATEGY_NEWEST : PTO_STRATEGY_AHEAD, 0};
  const uint64_t turn = (index - 2) / 4, turns = (count + 1) / 4;
  struct pto_schedule_name name = {cycle[(index - 2) % 4], seed + turn};
  if (name.kind == PTO_STRATEGY_RANDOM || name.kind == PTO_STRATEGY_PRIORITY) return name;
  if (turns >= task_count) {
    name.number = turn;
    if (turn < task_count) return name;
    return (struct pto_schedule_name){PTO_STRATEGY_RANDOM, seed + turns + 2 * turn + (name.kind == PTO_STRATEGY_HURRY)};
  }
  name.number = (uint64_t)((unsigned __int128)turn * task_count / turns);
  return name;
}
