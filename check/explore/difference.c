/* SPDX-License-Identifier: MIT */
/*
 * From a schedule that differs to the tasks whose order matters.  Part of check/explore/explore.h.
 */
#include <check/explore/run.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <check/explore/shrink.h>
#include <formats/units.h>
#include <runtime/base/text.h>
#include <runtime/control/runtime_state.h>
#include <runtime/port/core_port.h>

/* ---- in words ---- */

/* "task 4 (reader)", "task 4 (reader) block 2". */
static void describe_event(const struct pto_explore *explore, const struct pto_explore_event *event, char *text,
                           size_t size) {
  const struct pto_explore_task *task =
      event->task < explore->graph.task_count ? &explore->graph.tasks[event->task] : NULL;
  int used = snprintf(text, size, "task %" PRIu64 " (%s)", event->task, task ? task->name : "unknown");
  if (task && task->block_count > 1 && used > 0 && (size_t)used < size)
    snprintf(text + used, size - (size_t)used, " block %u", event->block_index);
}

/* A task of the finding, the earlier first; UINT64_MAX: there is no second. */
static void set_tasks(const struct pto_explore *explore, uint64_t first, uint64_t second, struct pto_finding *finding) {
  const uint64_t tasks[2] = {first, second};
  for (int i = 0; i < 2; i++) {
    finding->tasks[i] = tasks[i];
    if (tasks[i] >= explore->graph.task_count) continue;
    const struct pto_explore_task *task = &explore->graph.tasks[tasks[i]];
    pto_source_lines_find(explore->lines, task->call, task->outer, &finding->places[i]);
    finding->places[i].dispatch = task->dispatch;
    snprintf(finding->kernels[i], sizeof finding->kernels[i], "%s", task->name);
  }
}

static const char *mode_in_words(uint32_t mode) {
  return (mode & 3) == 1 ? "reads" : (mode & 3) == 2 ? "writes" : "reads and writes";
}

static void describe_touch(const struct pto_explore_touch *touch, char *text, size_t size) {
  if (touch->param == UINT32_MAX)
    snprintf(text, size, "its predicate %s", mode_in_words(touch->mode));
  else
    snprintf(text, size, "param %u %s", touch->param, mode_in_words(touch->mode));
}

/* ---- what a run made of its order ---- */

/* Pairs of steps that are looked at. */
#define MOST_PAIRS (UINT64_C(1) << 24)

/* Two tasks that declare a byte in common which one of them writes, of which the later submitted one made a call
 * (*early) before a call of the other (*late), in the steps as they were made; of several those with the nearest
 * numbers.  There is no path between them, for edges hold in every order.  False: there are none, or none within a
 * bounded search. */
static bool find_inversion(const struct pto_explore_graph *graph, const struct pto_explore_step *steps, uint64_t count,
                           struct pto_explore_event *late, struct pto_explore_event *early) {
  uint64_t nearest = UINT64_MAX, greatest = 0, pairs = 0;
  for (uint64_t i = 0; i < count; i++) {
    const struct pto_explore_event *event = &steps[i].event;
    if (event->kind != PTO_EXPLORE_CALL) continue;
    for (uint64_t k = i; event->task < greatest && k-- > 0 && pairs < MOST_PAIRS; pairs++) {
      const struct pto_explore_event *before = &steps[k].event;
      const struct pto_explore_touch *a, *b;
      if (before->kind != PTO_EXPLORE_CALL || before->task <= event->task || before->task - event->task >= nearest)
        continue;
      if (!pto_explore_graph_shares_bytes(graph, event->task, before->task, &a, &b)) continue;
      nearest = before->task - event->task;
      *late = *event;
      *early = *before;
    }
    greatest = pto_max_u64(greatest, event->task);
  }
  return nearest != UINT64_MAX;
}

/* A difference in words. */
struct telling {
  struct pto_finding finding;
  char common[320], reason[1040], remedy[PTO_FINDING_AFTER];
};

#define CORES_REMEDY "order these cores with `pto_core_signal` and `pto_core_wait`, or with a barrier"

/* Why an order may matter that no declared byte explains. */
#define BY_ITSELF "the orchestration changes, frees or reads memory by itself, without waiting"
#define UNDECLARED "a kernel touches what its task does not declare (`ptosim check --observe` tells whether one does)"

static void set_access(const struct pto_explore_touch *touch, struct pto_finding *finding, int side) {
  const uint64_t base = touch->base;
  finding->params[side] = touch->param == UINT32_MAX ? PTO_FINDING_NONE : touch->param;
  snprintf(finding->arrays[side], sizeof finding->arrays[side], "buffer %" PRIu64, touch->buffer_number);
  snprintf(finding->extents[side], sizeof finding->extents[side], "bytes %" PRIu64 ":%" PRIu64,
           touch->region.start - base, touch->region.end - base);
}

/* What the two have in common: ends the sentence.  False where they declare no byte that one of them writes. */
static bool describe_common(const struct pto_explore *explore, uint64_t first, uint64_t second,
                            struct telling *telling) {
  const struct pto_explore_touch *a, *b;
  char words_a[64], words_b[64], *const text = telling->common;
  const size_t size = sizeof telling->common;
  if (first >= explore->graph.task_count || second >= explore->graph.task_count) {
    snprintf(text, size, "the record of tasks was full, so what they touch is not known");
    return false;
  }
  if (!pto_explore_graph_shares_bytes(&explore->graph, first, second, &a, &b)) {
    snprintf(text, size, "neither declares to write a byte that the other declares, so " UNDECLARED ", or " BY_ITSELF);
    return false;
  }
  set_access(a, &telling->finding, first > second);
  set_access(b, &telling->finding, first <= second);
  describe_touch(a, words_a, sizeof words_a);
  describe_touch(b, words_b, sizeof words_b);
  if (a->buffer_number == b->buffer_number)
    snprintf(text, size, "both touch buffer %" PRIu64 " (%s, %s)", a->buffer_number, words_a, words_b);
  else
    snprintf(text, size, "buffers %" PRIu64 " (%s) and %" PRIu64 " (%s) are the same memory", a->buffer_number, words_a,
             b->buffer_number, words_b);
  return true;
}

static uint64_t hash_name(const char *name) { return pto_xxh64(name, strlen(name), 0); }

/* Which mistake it is: the same kernels, in the same parameters. */
static uint64_t group_of(const struct pto_explore *explore, uint64_t first, uint64_t second) {
  if (first >= explore->graph.task_count || second >= explore->graph.task_count) return 0;
  return pto_mix64(hash_name(explore->graph.tasks[first].name)) ^ hash_name(explore->graph.tasks[second].name);
}

/* What another core of the held call's task did last before it, in the run made last; NULL: none did anything since its
 * own core ran before. */
static const struct pto_explore_event *find_other_core(const struct pto_explore *explore,
                                                       const struct pto_explore_event *held) {
  const struct pto_explore_step *steps = explore->log.steps;
  uint64_t at = 0;
  while (at < explore->log.step_count && pto_explore_event_compare(&steps[at].event, held) != 0) at++;
  while (at-- > 0) {
    const struct pto_explore_event *event = &steps[at].event;
    if (event->kind != PTO_EXPLORE_CALL || event->task != held->task) continue;
    return event->role == held->role && event->block_index == held->block_index ? NULL : event;
  }
  return NULL;
}

/* "piece 4 of AIV1 of block 0 (behind its call at a.c:57)", as the run made last made it. */
static void describe_piece(const struct pto_explore *explore, const struct pto_explore_event *event, char *text,
                           size_t size) {
  const struct pto_explore_step *steps = explore->log.steps;
  const void *library = (const void *)(uintptr_t)pto_explore_event_compare;
  char line[96] = "";
  uint64_t at = 0;
  while (at < explore->log.step_count && pto_explore_event_compare(&steps[at].event, event) != 0) at++;
  const void *call = at < explore->log.step_count ? steps[at].call : NULL;
  if (call && !pto_source_lines_share_file(call, library)) /* the end of a kernel may be a jump */
    pto_source_lines_name(explore->lines, call, NULL, line, sizeof line);
  snprintf(text, size, "piece %u of %s of block %u", event->piece, pto_role_name(event->role), event->block_index);
  if (line[0]) pto_text_append(text, size, " (behind its call at %s)", line);
}

/* Whether the run made last made its calls in the reference's order: then it is no call that another one disturbs. */
static bool has_usual_order(const struct pto_explore *explore) {
  const uint64_t hash = pto_explore_order_hash(explore->log.steps, explore->log.step_count);
  return hash == explore->reference_order;
}

/* What the orchestration had done that it has not in sequence. */
static void describe_position(const struct pto_explore *explore, const struct pto_explore_hold *hold, const char *held,
                              struct telling *telling) {
  const uint64_t usual = pto_explore_usual_position(explore->calls, explore->call_count, &hold->event);
  const uint64_t accesses = pto_explore_accesses(hold->position);
  const struct pto_explore_event *other = find_other_core(explore, &hold->event);
  char place[512], piece[150], before[150];
  describe_piece(explore, &hold->event, piece, sizeof piece);
  if (other) describe_piece(explore, other, before, sizeof before);
  set_tasks(explore, hold->event.task, PTO_FINDING_NONE, &telling->finding);
  pto_finding_say_places(&telling->finding, place, sizeof place);
  telling->finding.group = group_of(explore, hold->event.task, hold->event.task);
  if (accesses > pto_explore_accesses(usual)) /* so the rules let it wait for writers alone, or for none */
    snprintf(telling->remedy, sizeof telling->remedy,
             "let the orchestration first read an element that task %" PRIu64 " writes, " PTO_FINDING_READ_LINE
             ", or that a task `after` it writes outside of manual scopes",
             hold->event.task);
  else if (other)
    snprintf(telling->remedy, sizeof telling->remedy, CORES_REMEDY);
  else
    snprintf(telling->remedy, sizeof telling->remedy,
             "let the orchestration first read an element that task %" PRIu64 " writes, " PTO_FINDING_READ_LINE
             "; where it touches no memory by itself, declare all that the kernels touch",
             hold->event.task);
  if (accesses > pto_explore_accesses(usual))
    snprintf(telling->reason, sizeof telling->reason,
             "%s ran after host access %" PRIu64 " of the orchestration, which did not wait%s", held, accesses - 1,
             place);
  else if (other)
    snprintf(telling->reason, sizeof telling->reason,
             "%s of %s ran after %s; `ptosim check --observe` says whether anything orders these cores%s", piece, held,
             before, place);
  else
    snprintf(telling->reason, sizeof telling->reason,
             "%s ran after task %" PRIu64 " was submitted%s, and that alone makes the difference%s%s", held,
             pto_explore_submits(hold->position) - 1,
             hold->position & PTO_EXPLORE_WAITS ? " and the orchestration had gone on from there" : "",
             has_usual_order(explore) ? ": calls came in the order of the sequential run. So " BY_ITSELF
                                        "; if it does not, " UNDECLARED
                                      : ", so " BY_ITSELF ", or " UNDECLARED,
             place);
}

static bool accumulates(const struct pto_explore_graph *graph, uint64_t task) {
  if (task >= graph->task_count) return false;
  const struct pto_explore_touch *touches = graph->touches + graph->tasks[task].first_touch;
  for (uint32_t i = 0; i < graph->tasks[task].touch_count; i++)
    if (touches[i].mode == PTO_ACCUMULATE) return true;
  return false;
}

static void describe_blocks(const struct pto_explore *explore, const struct pto_explore_hold *hold,
                            struct telling *telling) {
  const uint64_t task = hold->event.task;
  char place[512];
  telling->finding.group = group_of(explore, task, task) + 1;
  set_tasks(explore, task, PTO_FINDING_NONE, &telling->finding);
  pto_finding_say_places(&telling->finding, place, sizeof place);
  const bool takes_turns = accumulates(&explore->graph, task);
  if (hold->until.role != hold->event.role || hold->until.block_index == hold->event.block_index ||
      (task < explore->graph.task_count && explore->graph.tasks[task].waits && !takes_turns)) {
    char early[150], late[150];
    describe_piece(explore, &hold->until, early, sizeof early);
    describe_piece(explore, &hold->event, late, sizeof late);
    snprintf(telling->reason, sizeof telling->reason,
             "%s ran before %s of task %" PRIu64
             " (%s), and nothing orders these cores there; `ptosim check --observe` says what both touch%s",
             early, late, task, task < explore->graph.task_count ? explore->graph.tasks[task].name : "unknown", place);
    snprintf(telling->remedy, sizeof telling->remedy, CORES_REMEDY);
    return;
  }
  snprintf(telling->remedy, sizeof telling->remedy,
           takes_turns
               ? "let each block call `pto_core_turn(args)` before it touches what it adds to"
               : "declare what blocks add to PTO_ACCUMULATE, so that they take turns, or let one block alone write it");
  snprintf(telling->reason, sizeof telling->reason, "block %u ran before block %u of task %" PRIu64 " (%s); %s%s",
           hold->until.block_index, hold->event.block_index, task,
           task < explore->graph.task_count ? explore->graph.tasks[task].name : "unknown",
           takes_turns ? "before their turns nothing orders blocks" : "blocks of a task have no order", place);
}

static bool is_between_dispatches(const struct pto_explore *explore, uint64_t a, uint64_t b) {
  const struct pto_explore_graph *graph = &explore->graph;
  return a < graph->task_count && b < graph->task_count && graph->tasks[a].dispatch != graph->tasks[b].dispatch;
}

static void say_after(const struct pto_explore *explore, struct telling *telling) {
  const struct pto_explore_graph *graph = &explore->graph;
  const struct pto_explore_task *later = &graph->tasks[telling->finding.tasks[1]];
  struct pto_finding_after after = {.tasks = {telling->finding.tasks[0], telling->finding.tasks[1]},
                                    .launches = {graph->tasks[telling->finding.tasks[0]].part_of, later->part_of},
                                    .file = telling->finding.places[1].own.file,
                                    .given_count = later->given_count};
  for (uint32_t i = 0; i < later->given_count && i < PTO_FINDING_GIVEN; i++)
    after.given[i] = graph->producers[later->first_producer + i];
  pto_finding_say_after(&after, telling->remedy, sizeof telling->remedy);
}

/* Two calls of two tasks: `early` was made before `late`, though the sequential run has them the other way round. */
static void describe_pair(const struct pto_explore *explore, const struct pto_explore_event *late,
                          const struct pto_explore_event *early, struct telling *telling) {
  char held[128], until[128], places[512];
  struct pto_finding as_they_ran = {.kind = PTO_FINDING_ORDER};
  describe_event(explore, late, held, sizeof held);
  describe_event(explore, early, until, sizeof until);
  set_tasks(explore, pto_min_u64(late->task, early->task), pto_max_u64(late->task, early->task), &telling->finding);
  set_tasks(explore, early->task, late->task, &as_they_ran);
  telling->finding.group = group_of(explore, late->task, early->task);
  const bool is_declared = describe_common(explore, early->task, late->task, telling);
  snprintf(telling->reason, sizeof telling->reason, "%s ran before %s%s; no edge between them; %s", until, held,
           pto_finding_say_places(&as_they_ran, places, sizeof places), telling->common);
  if (is_declared && is_between_dispatches(explore, late->task, early->task))
    snprintf(telling->remedy, sizeof telling->remedy, PTO_FINDING_SYNC_BETWEEN);
  else if (is_declared)
    say_after(explore, telling);
}

static bool is_pair(const struct pto_explore_hold *hold) {
  return hold->until.kind == PTO_EXPLORE_CALL && hold->until.task != hold->event.task;
}

/* A hold that was honoured, whose two tasks declare a byte in common. */
static const struct pto_explore_hold *declared_hold(const struct pto_explore *explore,
                                                    const struct pto_explore_holds *holds) {
  const struct pto_explore_touch *a, *b;
  for (uint32_t i = 0; i < holds->count; i++)
    if (is_pair(&holds->items[i]) &&
        pto_explore_graph_shares_bytes(&explore->graph, holds->items[i].event.task, holds->items[i].until.task, &a, &b))
      return &holds->items[i];
  return NULL;
}

static bool is_of_host(const struct pto_explore *explore, const struct pto_explore_hold *hold) {
  const uint64_t usual = pto_explore_usual_position(explore->calls, explore->call_count, &hold->event);
  return hold->until.kind == PTO_EXPLORE_GO_ON && pto_explore_accesses(hold->position) > pto_explore_accesses(usual);
}

static bool is_of_blocks(const struct pto_explore_hold *hold) {
  return hold->until.kind == PTO_EXPLORE_CALL && hold->until.task == hold->event.task;
}

static const struct pto_explore_hold *find_blocks_hold(const struct pto_explore_holds *holds) {
  for (uint32_t i = 0; i < holds->count; i++)
    if (is_of_blocks(&holds->items[i])) return &holds->items[i];
  return NULL;
}

/* Who ran before whom in the run made last, under `holds`, all of which it honoured; and why that was possible.  Where
 * an access of the host or the blocks of a task are what is held first, that is it; else two tasks that declare a byte
 * in common and came in the other order (so there is no path between them: edges are kept in every order); else cores
 * or blocks of a task that another hold has; else the first hold alone. */
static void describe(const struct pto_explore *explore, const struct pto_explore_holds *holds,
                     struct telling *telling) {
  struct pto_explore_event late, early;
  char held[128];
  const struct pto_explore_step *steps = explore->log.steps;
  const uint64_t count = explore->log.step_count;
  const struct pto_explore_hold *first = &holds->items[0], *declared = declared_hold(explore, holds),
                                *blocks = find_blocks_hold(holds);
  *telling = (struct telling){.finding = {PTO_FINDING_OF_RUN(PTO_FINDING_ORDER)}};
  if (is_of_blocks(first)) {
    describe_blocks(explore, first, telling);
  } else if (declared) {
    describe_pair(explore, &declared->event, &declared->until, telling);
  } else if (!is_of_host(explore, first) && find_inversion(&explore->graph, steps, count, &late, &early)) {
    describe_pair(explore, &late, &early, telling);
  } else if (!is_of_host(explore, first) && blocks) {
    describe_blocks(explore, blocks, telling);
  } else if (is_pair(first)) {
    describe_pair(explore, &first->event, &first->until, telling);
  } else {
    describe_event(explore, &first->event, held, sizeof held);
    describe_position(explore, first, held, telling);
  }
}

/* Whether the run made last came to its end with other calls than the reference: then task numbers mean other tasks. */
static bool has_other_tasks(const struct pto_explore *explore, const struct pto_explore_outcome *outcome,
                            uint64_t *calls) {
  const struct pto_explore_step *steps = explore->log.steps;
  const uint64_t count = explore->log.step_count;
  *calls = 0;
  /* Into how many pieces a kernel that waits falls depends on the order. */
  for (uint64_t i = 0; i < count; i++) *calls += steps[i].event.kind == PTO_EXPLORE_CALL && steps[i].event.piece == 0;
  return outcome->status == PTO_OK && *calls != explore->call_count - explore->counts.later_pieces;
}

/* Why it made other calls: by what its tasks declare, and whether the host accessed elements before the last call. */
static const char *tell_other_tasks(const struct pto_explore *explore, struct telling *telling) {
  const struct pto_explore_graph *graph = &explore->graph;
  bool has_predicate = false, has_accesses = false;
  for (uint64_t t = 0; t < graph->task_count; t++)
    for (uint32_t i = 0; i < graph->tasks[t].touch_count; i++)
      has_predicate |= graph->touches[graph->tasks[t].first_touch + i].param == UINT32_MAX;
  for (uint64_t i = 0; i < explore->call_count; i++)
    has_accesses |= pto_explore_accesses(explore->calls[i].position) != 0;
  if (has_predicate && pto_explore_submits(explore->log.position) == graph->task_count) {
    snprintf(telling->remedy, sizeof telling->remedy,
             "submit the task with the predicate `after` the task that writes its element");
    return "the same tasks were submitted, and a predicate, which nothing orders behind who writes its element, was "
           "decided otherwise";
  }
  snprintf(telling->remedy, sizeof telling->remedy,
           "let the orchestration read with `pto_read_element`, which waits for who writes it%s",
           (explore->rt->config.deps & PTO_DEPS_PTO) ? "; under rules pto not for a task of a manual scope" : "");
  if (has_accesses)
    return "the orchestration submits other tasks, by an element that it reads without an order, or by memory that it "
           "reads by itself";
  return "the orchestration reads by itself, without waiting, memory that a task writes, and submits other tasks";
}

/* ---- findings ---- */

static bool is_known(const struct pto_explore *explore, const struct pto_finding *finding) {
  for (uint32_t i = 0; i < explore->findings->count; i++) {
    const struct pto_finding *known = &explore->findings->items[i];
    if (known->kind == finding->kind && known->group == finding->group) return true;
  }
  return false;
}

static void add_unstable(struct pto_explore *explore, const char *schedule, const struct pto_explore_outcome *first,
                         const struct pto_explore_outcome *second) {
  const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_UNSTABLE), .group = 1};
  pto_findings_add(explore->findings, &finding, NULL,
                   "schedule %s gave another result when it was made again: %.300s; then %.300s", schedule, first->text,
                   second->is_different ? second->text : "that of the sequential run");
}

/* The sequential order itself gives another result by now: what orders give says nothing. */
static void add_state(struct pto_explore *explore, const struct pto_explore_outcome *outcome) {
  const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_UNSTABLE), .group = 2};
  explore->is_unstable = true;
  pto_findings_add(explore->findings, &finding, NULL,
                   "the sequential order gave another result when it was made again: %.300s; a kernel or the "
                   "orchestration keeps state from one run to the next, changes an input, reads a local variable that "
                   "it has not set, or takes the time or random numbers; orders are not compared",
                   outcome->text);
}

/* `again` is what the shrunk list gave, in the run made last. */
static void add_order(struct pto_explore *explore, const char *schedule,
                      const struct pto_explore_difference *difference, const struct pto_explore_outcome *again) {
  const struct pto_explore_holds *holds = &difference->holds;
  struct telling telling = {.finding = {PTO_FINDING_OF_RUN(PTO_FINDING_ORDER), .group = 3}};
  char more[48] = "";
  uint64_t calls;
  if (!explore->lines) explore->lines = pto_source_lines_create();
  if (has_other_tasks(explore, again, &calls))
    snprintf(telling.reason, sizeof telling.reason, "it made %" PRIu64 " call%s instead of %" PRIu64 ": %s", calls,
             pto_plural(calls), explore->call_count - explore->counts.later_pieces,
             tell_other_tasks(explore, &telling));
  else
    describe(explore, holds, &telling);
  if (holds->count > 1) snprintf(more, sizeof more, " (and %zu more, all needed)", holds->count - 1);
  explore->in_vain = is_known(explore, &telling.finding) ? explore->in_vain + 1 : 0;
  pto_findings_add(explore->findings, &telling.finding, telling.remedy[0] ? telling.remedy : NULL,
                   "schedule %s: %.200s; shrunk from %u decision%s to %zu: %s%s", schedule, again->text,
                   difference->decisions, difference->decisions == 1 ? "" : "s", holds->count, telling.reason, more);
}

static void add_unshrunk(struct pto_explore *explore, const char *schedule, const char *why,
                         const struct pto_explore_outcome *outcome) {
  const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_ORDER), .group = 2};
  pto_findings_add(explore->findings, &finding, NULL, "schedule %s: %.700s; %s", schedule, outcome->text, why);
}

/* ---- shrinking ---- */

/* A list of which a hold cannot be honoured says no order, so it is none that fails: a hold until a step that needs the
 * held one would mean "as late as possible". */
static int holds_fail(void *context, const struct pto_explore_holds *holds) {
  struct pto_explore_outcome outcome;
  const int status = pto_explore_run_holds(context, holds, &outcome);
  return status ? status : outcome.is_different && !outcome.was_forced;
}

/* `is_shrunk`: the holds are told as they are. */
static int shrink(struct pto_explore *explore, const char *schedule, const struct pto_explore_outcome *first,
                  struct pto_explore_difference *difference, bool is_shrunk) {
  struct pto_explore_trial trial = {.fails = holds_fail, .context = explore, .budget = PTO_EXPLORE_SHRINK_RUNS};
  struct pto_explore_outcome outcome;
  int status = pto_explore_run_holds(explore, &difference->holds, &outcome);
  if (status) return status;
  if (!outcome.is_different || difference->holds.count == 0 || outcome.was_forced) {
    add_unshrunk(explore, schedule, "the order of its steps alone does not bring it back", first);
    return PTO_OK;
  }
  difference->decisions = difference->holds.count;
  if (!is_shrunk) status = pto_explore_shrink(&trial, explore->calls, explore->call_count, &difference->holds);
  if (status == PTO_OK) status = pto_explore_run_holds(explore, &difference->holds, &outcome);
  difference->runs = trial.run_count;
  if (status) return status;
  if (!outcome.is_different || difference->holds.count == 0 || outcome.was_forced)
    add_unstable(explore, schedule, first, &outcome);
  else
    add_order(explore, schedule, difference, &outcome);
  return PTO_OK;
}

/* The holds of the run made last: those that it was made under and honoured, else (NULL) those of its steps. */
static int take_holds(struct pto_explore *explore, const struct pto_explore_holds *given,
                      struct pto_explore_holds *holds) {
  if (given) return pto_explore_holds_copy(given, holds) ? PTO_OK : PTO_ENOMEM;
  return pto_explore_holds_make(explore->log.steps, explore->log.step_count, explore->calls, explore->call_count,
                                holds);
}

/* Whether the sequential order still gives the reference; says so where it does not. */
static bool is_still_stable(struct pto_explore *explore) {
  static const struct pto_explore_holds none;
  struct pto_explore_outcome outcome;
  const int status = pto_explore_run_holds(explore, &none, &outcome);
  if (status == PTO_OK && outcome.is_different) add_state(explore, &outcome);
  return !explore->is_unstable;
}

int pto_explore_report(struct pto_explore *explore, struct pto_schedule_name name,
                       const struct pto_explore_holds *holds, const struct pto_explore_outcome *outcome) {
  struct pto_explore_outcome again;
  char schedule[64];
  if (explore->is_unstable || explore->difference_count == PTO_EXPLORE_MOST_SHRUNK ||
      explore->in_vain == PTO_EXPLORE_SHRUNK_IN_VAIN)
    return PTO_OK;
  pto_schedule_name_format(name, schedule, sizeof schedule);
  struct pto_explore_difference *difference = &explore->differences[explore->difference_count];
  *difference = (struct pto_explore_difference){.name = name};
  int status = holds ? pto_explore_run_holds(explore, holds, &again) : pto_explore_run_named(explore, name, &again);
  const bool is_given = holds && holds->count && !again.was_forced;
  if (status == PTO_OK) status = take_holds(explore, is_given ? holds : NULL, &difference->holds);
  if (status) return status;
  explore->difference_count++;
  if (again.status != outcome->status || again.digest != outcome->digest) {
    add_unstable(explore, schedule, outcome, &again);
    explore->in_vain++;
    return PTO_OK;
  }
  if (!is_still_stable(explore)) return PTO_OK;
  return shrink(explore, schedule, outcome, difference, is_given && name.kind == PTO_STRATEGY_FILE);
}
