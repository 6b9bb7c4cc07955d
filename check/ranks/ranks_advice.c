/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_advice.h>

#include <inttypes.h>
#include <stdio.h>

#include <check/ranks/ranks_findings.h>
#include <runtime/base/text.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/trace_words.h>

/* Of so many tasks that wait, the nearest before, it is asked whether they wait for the other access. */
#define MOST_ASKED 64u

/* `first` ought to come before `second`, which is of another rank. */
struct pair {
  struct pto_world_order *order;
  const struct pto_window_access *first, *second;
  uint32_t tasks[2]; /* PTO_GRAPH_NONE: the host */
  uint64_t comm;
};

static uint32_t task_of(const struct pto_world_order *order, const struct pto_window_access *access) {
  const struct pto_graph_node *node = &order->graphs[access->rank].nodes[access->its_node];
  return node->is_host ? PTO_GRAPH_NONE : node->index;
}

static const struct pto_trace_log *records_of(const struct pair *pair, uint32_t rank) {
  return &pto_ranks_trace(pair->order->ranks, rank)->remotes;
}

/* Whether the rank waits for the signal anywhere, or looks at it. */
static bool waits_for(const struct pair *pair, uint32_t rank, uint32_t signal) {
  const struct pto_trace_log *records = records_of(pair, rank);
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if ((pto_remote_has_waited(record) || record->kind == PTO_REMOTE_TEST) && record->comm == pair->comm &&
        record->signal == signal)
      return true;
  }
  return false;
}

/* ---- another task of the rank waits for it ---- */

static bool find_waiting_task(const struct pair *pair, uint32_t *task_out) {
  const struct pto_access_graph *graph = &pair->order->graphs[pair->second->rank];
  const uint32_t rank = pair->second->rank;
  const uint32_t own = pair->tasks[1] == PTO_GRAPH_NONE
                           ? (uint32_t)pto_graph_host(graph, pair->second->its_node)->task_count
                           : pair->tasks[1];
  const struct pto_trace_log *records = records_of(pair, rank);
  uint32_t asked = 0, last = own;
  for (uint64_t i = records->count; i-- > 0 && asked < MOST_ASKED;) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (!pto_remote_has_waited(record) || record->task >= own || record->task == last) continue;
    last = record->task;
    asked++;
    const uint32_t node = graph->node_of_task[last];
    if (!pto_reach_has_path(&pair->order->reach, pair->first->node, pair->order->last[rank][node])) continue;
    *task_out = last;
    return true;
  }
  return false;
}

/* "of rank 1, add `after` task 0 to task 1: …". */
static void say_after(const struct pair *pair, uint32_t rank, uint32_t before, uint32_t task,
                      struct pto_ranks_advice *advice) {
  struct pto_finding finding = {.tasks = {before, task}};
  pto_rank_set_side(pair->order->ranks, &finding, 1, rank, task);
  const struct pto_finding_after after =
      pto_finding_after_of(pto_ranks_trace(pair->order->ranks, rank), finding.tasks, finding.places[1].own.file);
  char line[PTO_FINDING_AFTER];
  snprintf(advice->remedy, sizeof advice->remedy, "of rank %" PRIu32 ", %s", rank,
           pto_finding_say_after(&after, line, sizeof line));
}

static bool advise_after(const struct pair *pair, struct pto_ranks_advice *advice) {
  const uint32_t rank = pair->second->rank;
  char name[160];
  uint32_t task;
  if (!find_waiting_task(pair, &task)) return false;
  const struct pto_access_graph *graph = &pair->order->graphs[rank];
  const bool is_host = pair->tasks[1] == PTO_GRAPH_NONE;
  snprintf(advice->cause, sizeof advice->cause, "rank %" PRIu32 " waits for that in task %" PRIu32 " (%.160s), and ",
           rank, task, pto_trace_task_name(pto_graph_task(graph, graph->node_of_task[task]), name, sizeof name));
  if (is_host) {
    pto_text_append(advice->cause, sizeof advice->cause, "its host does not wait for that");
    snprintf(advice->remedy, sizeof advice->remedy,
             "let task %" PRIu32 " of rank %" PRIu32 " declare these bytes too, as `pto_inout`", task, rank);
    return true;
  }
  pto_text_append(advice->cause, sizeof advice->cause, "nothing orders its task %" PRIu32 " behind it", pair->tasks[1]);
  say_after(pair, rank, task, pair->tasks[1], advice);
  return true;
}

/* ---- it is told of too early ---- */

static bool reaches_second(const struct pair *pair, uint32_t node) {
  return pto_reach_has_path(&pair->order->reach, node, pair->second->node);
}

/* The last notify of the task before it puts into the window; NULL: there is none. */
static const struct pto_trace_remote *find_early_notify(const struct pair *pair) {
  const struct pto_trace_log *records = records_of(pair, pair->first->rank);
  const struct pto_trace_remote *found = NULL;
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (record->task != pair->tasks[0] || record->comm != pair->comm) continue;
    if (record->kind == PTO_REMOTE_WRITE && record->peer == pair->order->windows[pair->first->window].owner) break;
    if (record->kind == PTO_REMOTE_NOTIFY) found = record;
  }
  return found;
}

/* Its task notifies first, which the other rank hears of, perhaps by way of a third one, and puts then. */
static bool advise_behind_put(const struct pair *pair, struct pto_ranks_advice *advice) {
  const uint32_t rank = pair->first->rank;
  if (pair->first->verb != PTO_WINDOW_PUTS || !reaches_second(pair, pair->order->first[rank][pair->first->its_node]))
    return false;
  const struct pto_trace_remote *early = find_early_notify(pair);
  if (!early) return false;
  snprintf(advice->cause, sizeof advice->cause,
           "rank %" PRIu32 " task %" PRIu32 " notifies signal %" PRIu32 " of rank %" PRIu32 " before it puts", rank,
           pair->tasks[0], early->signal, early->peer);
  snprintf(advice->remedy, sizeof advice->remedy,
           "let rank %" PRIu32 " notify signal %" PRIu32 " of rank %" PRIu32 " behind its put", rank, early->signal,
           early->peer);
  return true;
}

/* Whether a task of the first one's rank puts or writes there too: then it tells of that. */
static bool touches_window(const struct pair *pair, uint32_t node) {
  for (size_t i = 0; i < pair->order->access_count; i++) {
    const struct pto_window_access *access = &pair->order->accesses[i];
    if (access->rank == pair->first->rank && access->its_node == node && access->window == pair->first->window)
      return true;
  }
  return false;
}

/* Another task of the rank notifies, which the other rank hears of, and has nothing of its own to tell of there: the
 * first one behind this task, or (`is_before`) before it. */
static bool find_teller(const struct pair *pair, bool is_before, uint32_t *task_out) {
  const uint32_t rank = pair->first->rank, own = pair->tasks[0];
  const struct pto_access_graph *graph = &pair->order->graphs[rank];
  const struct pto_trace_log *records = records_of(pair, rank);
  uint32_t asked = 0, last = own;
  for (uint64_t i = 0; own != PTO_GRAPH_NONE && i < records->count && asked < MOST_ASKED; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (record->kind != PTO_REMOTE_NOTIFY || record->task == last || record->task >= graph->task_count ||
        (is_before ? record->task >= own : record->task <= own))
      continue;
    last = record->task;
    asked++;
    const uint32_t node = graph->node_of_task[last];
    if (touches_window(pair, node) || !reaches_second(pair, pair->order->last[rank][node])) continue;
    *task_out = last;
    return true;
  }
  return false;
}

static void say_teller(const struct pair *pair, uint32_t task, const char *how, struct pto_ranks_advice *advice) {
  const uint32_t rank = pair->first->rank;
  const struct pto_access_graph *graph = &pair->order->graphs[rank];
  char name[160];
  snprintf(advice->cause, sizeof advice->cause,
           "rank %" PRIu32 " tells of that in task %" PRIu32 " (%.100s), %s its task %" PRIu32, rank, task,
           pto_trace_task_name(pto_graph_task(graph, graph->node_of_task[task]), name, sizeof name), how,
           pair->tasks[0]);
}

static bool advise_tell_after(const struct pair *pair, struct pto_ranks_advice *advice) {
  uint32_t task;
  if (!find_teller(pair, false, &task)) return false;
  say_teller(pair, task, "and nothing orders that behind", advice);
  say_after(pair, pair->first->rank, pair->tasks[0], task, advice);
  return true;
}

/* Not where the task may be about what has come to it. */
static bool advise_tell_later(const struct pair *pair, struct pto_ranks_advice *advice) {
  uint32_t task;
  if (!pair->first->writes || pair->first->reads || !find_teller(pair, true, &task)) return false;
  say_teller(pair, task, "which it submits before", advice);
  snprintf(advice->remedy, sizeof advice->remedy,
           "let rank %" PRIu32 " submit its task %" PRIu32 " behind task %" PRIu32 ", and that be in its `after`",
           pair->first->rank, task, pair->tasks[0]);
  return true;
}

/* ---- its own wait is over too early ---- */

const char *pto_idle_wait_words(const struct pto_idle_wait *idle) {
  return idle->is_first ? "needs no notify: it is over before anybody notifies"
                        : "is over at once: an earlier wait has seen that value already";
}

/* Whether each wait of the task for the signal needs no more than what was there. */
static bool is_idle_whole(const struct pair *pair, const struct pto_idle_wait *idle) {
  const struct pto_trace_log *records = records_of(pair, idle->rank);
  uint64_t waits = 0;
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    waits += pto_remote_has_waited(record) && record->task == idle->task && record->comm == idle->comm &&
             record->signal == idle->signal;
  }
  for (size_t i = 0; i < pair->order->idle_count; i++) {
    const struct pto_idle_wait *other = &pair->order->idle[i];
    waits -= other->rank == idle->rank && other->task == idle->task && other->comm == idle->comm &&
             other->signal == idle->signal;
  }
  return waits == 0;
}

/* The task itself where it waits, else the last before it that does. */
static uint32_t find_own_wait(const struct pair *pair) {
  const struct pto_trace_log *records = records_of(pair, pair->second->rank);
  uint32_t found = PTO_GRAPH_NONE;
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (pto_remote_has_waited(record) && record->comm == pair->comm && record->task <= pair->tasks[1] &&
        (found == PTO_GRAPH_NONE || record->task > found))
      found = record->task;
  }
  return found;
}

static bool advise_idle(const struct pair *pair, struct pto_ranks_advice *advice) {
  const uint32_t rank = pair->second->rank, task = find_own_wait(pair);
  for (size_t i = 0; i < pair->order->idle_count; i++) {
    const struct pto_idle_wait *idle = &pair->order->idle[i];
    if (idle->rank != rank || idle->task != task || idle->comm != pair->comm || !is_idle_whole(pair, idle)) continue;
    snprintf(advice->cause, sizeof advice->cause,
             "the wait of rank %" PRIu32 " task %" PRIu64 " for signal %" PRIu32 " %s %" PRId32 " %s", rank, idle->task,
             idle->signal, idle->is_equal ? "=" : ">=", idle->value, pto_idle_wait_words(idle));
    snprintf(advice->remedy, sizeof advice->remedy,
             "let rank %" PRIu32 " wait for the value that the signal has behind the notify of rank %" PRIu32, rank,
             pair->first->rank);
    return true;
  }
  return false;
}

/* ---- the other rank notifies something else ---- */

static bool is_notified(const struct pto_rank_comm *comm, uint32_t signal) {
  for (uint32_t place = 0; place < comm->size; place++)
    if (comm->notified[(size_t)signal * comm->size + place]) return true;
  return false;
}

/* Whether the rank waits for any signal of the communicator, or looks at one. */
static bool waits_at_all(const struct pair *pair, uint32_t rank) {
  const struct pto_rank_comm *comm = pto_rank_comm_of(pto_world_rank(pair->order->ranks->world, rank), pair->comm);
  for (uint32_t signal = 0; comm && signal < comm->signal_count; signal++)
    if (waits_for(pair, rank, signal)) return true;
  return false;
}

/* One that came to the second's rank. */
static void say_unheard_here(const struct pair *pair, const struct pto_unheard *unheard,
                             struct pto_ranks_advice *advice) {
  const uint32_t own = pair->second->rank, signal = unheard->signal;
  const bool is_awaited = waits_for(pair, own, signal);
  snprintf(advice->cause, sizeof advice->cause,
           "rank %" PRIu32 " task %" PRIu64 " %s signal %" PRIu32 " of rank %" PRIu32 ", and %s%s", unheard->source,
           unheard->task, unheard->is_set ? "sets" : "notifies", signal, own,
           is_awaited ? "the wait for it is over with what others notify" : "no wait of that rank was for it",
           is_awaited && unheard->is_set ? ": a set does not count" : "");
  if (is_awaited && unheard->is_set)
    snprintf(advice->remedy, sizeof advice->remedy,
             "let rank %" PRIu32 " notify with PTO_NOTIFY_ADD, and rank %" PRIu32 " wait for the sum",
             pair->first->rank, own);
  else if (is_awaited || !waits_at_all(pair, own))
    snprintf(advice->remedy, sizeof advice->remedy,
             "let rank %" PRIu32 " wait for it%s: `pto_core_wait_signal(args, comm, %" PRIu32
             ", PTO_IF_GE, value)`, value being what the signal has behind this",
             own, is_awaited ? " too, or others add less" : " before that", signal);
  else
    snprintf(advice->remedy, sizeof advice->remedy,
             "let rank %" PRIu32 " notify a signal that rank %" PRIu32 " waits for, and that wait for this too",
             pair->first->rank, own);
}

static void say_unheard_elsewhere(const struct pair *pair, const struct pto_unheard *unheard,
                                  struct pto_ranks_advice *advice) {
  snprintf(advice->cause, sizeof advice->cause,
           "rank %" PRIu32 " task %" PRIu64 " notifies signal %" PRIu32 " of rank %" PRIu32
           ", and no wait of that rank was for it",
           unheard->source, unheard->task, unheard->signal, unheard->rank);
  snprintf(advice->remedy, sizeof advice->remedy, "let rank %" PRIu32 " notify rank %" PRIu32 " instead",
           pair->first->rank, pair->second->rank);
}

/* Whether the first task notifies the rank of the second. */
static bool notifies(const struct pair *pair) {
  const struct pto_trace_log *records = records_of(pair, pair->first->rank);
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (record->kind == PTO_REMOTE_NOTIFY && record->task == pair->tasks[0] && record->comm == pair->comm &&
        record->peer == pair->second->rank)
      return true;
  }
  return false;
}

/* What came to the rank itself is likelier to be meant than what came to others. */
static bool advise_unheard(const struct pair *pair, struct pto_ranks_advice *advice) {
  const uint32_t own = pair->second->rank;
  const struct pto_unheard *elsewhere = NULL;
  for (size_t i = 0; i < pair->order->unheard_count; i++) {
    const struct pto_unheard *unheard = &pair->order->unheard[i];
    if (unheard->source != pair->first->rank || unheard->task != pair->tasks[0] || unheard->comm != pair->comm)
      continue;
    if (unheard->rank == own) {
      say_unheard_here(pair, unheard, advice);
      return true;
    }
    if (!elsewhere && waits_for(pair, own, unheard->signal)) elsewhere = unheard;
  }
  if (!elsewhere || notifies(pair)) return false;
  say_unheard_elsewhere(pair, elsewhere, advice);
  return true;
}

/* Whether the first task puts anything into a window of that rank. */
static bool puts_into(const struct pair *pair, uint32_t rank) {
  for (size_t i = 0; i < pair->order->access_count; i++) {
    const struct pto_window_access *access = &pair->order->accesses[i];
    if (access->verb == PTO_WINDOW_PUTS && access->rank == pair->first->rank &&
        access->its_node == pair->first->its_node && pair->order->windows[access->window].owner == rank)
      return true;
  }
  return false;
}

/* It puts into the window, and notifies only others, into whose windows it puts nothing. */
static bool advise_other_peer(const struct pair *pair, struct pto_ranks_advice *advice) {
  const struct pto_trace_log *records = records_of(pair, pair->first->rank);
  const struct pto_trace_remote *other = NULL;
  const uint32_t own = pair->second->rank;
  if (pair->first->verb != PTO_WINDOW_PUTS || pair->order->windows[pair->first->window].owner != own) return false;
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (record->kind != PTO_REMOTE_NOTIFY || record->task != pair->tasks[0] || record->comm != pair->comm) continue;
    if (record->peer == own) return false;
    if (!other && waits_for(pair, own, record->signal) && !puts_into(pair, record->peer)) other = record;
  }
  if (!other) return false;
  snprintf(advice->cause, sizeof advice->cause,
           "rank %" PRIu32 " task %" PRIu32 " notifies signal %" PRIu32 " of rank %" PRIu32
           ", and none of rank %" PRIu32,
           pair->first->rank, pair->tasks[0], other->signal, other->peer, own);
  snprintf(advice->remedy, sizeof advice->remedy, "let rank %" PRIu32 " notify rank %" PRIu32 " instead",
           pair->first->rank, own);
  return true;
}

/* ---- the bytes are used again too early ---- */

static bool has_path(const struct pair *pair, const struct pto_window_access *a, const struct pto_window_access *b) {
  return pto_reach_has_path(&pair->order->reach, a->begin, b->node);
}

/* Whether it writes what `of` touches, and is not of that rank, whose own write of a window may stand for the put that
 * its task waits for. */
static bool writes_for(const struct pto_window_access *access, const struct pto_window_access *of) {
  return access->writes && access->rank != of->rank && access->window == of->window &&
         pto_region_intersects(&access->region, &of->region, NULL);
}

/* The write before both that the first one is about; NULL: there is none. */
static const struct pto_window_access *find_older(const struct pair *pair) {
  const struct pto_window_access *accesses = pair->order->accesses, *at = pair->first;
  for (uint32_t asked = 0; at-- > accesses && asked < MOST_ASKED;) {
    if (at == pair->second || !writes_for(at, pair->first)) continue;
    asked++;
    if (has_path(pair, at, pair->first) && has_path(pair, at, pair->second)) return at;
  }
  return NULL;
}

/* The read behind both, of the first one's rank, that is about the second; NULL: there is none. */
static const struct pto_window_access *find_newer(const struct pair *pair) {
  const struct pto_window_access *end = pair->order->accesses + pair->order->access_count;
  const struct pto_window_access *newer = pair->second + 1, *between = pair->second + 1;
  for (uint32_t asked = 0;; newer++) {
    if (newer >= end || asked == MOST_ASKED) return NULL;
    if (newer == pair->first || !newer->reads || newer->rank != pair->first->rank || !writes_for(pair->second, newer))
      continue;
    asked++;
    if (has_path(pair, pair->second, newer) && has_path(pair, pair->first, newer)) break;
  }
  for (uint32_t asked = 0; between < newer; between++) {
    if (!writes_for(between, newer)) continue;
    if (asked++ == MOST_ASKED || (has_path(pair, pair->second, between) && has_path(pair, between, newer))) return NULL;
  }
  return newer;
}

/* The first one is about older bytes, and the bytes of the second one have a reader of their own. */
static bool is_reuse(const struct pair *pair, struct pto_ranks_advice *advice) {
  const struct pto_window_access *older = pair->second->writes ? find_older(pair) : NULL;
  char task[32] = "its host";
  if (!older || !find_newer(pair)) return false;
  if (task_of(pair->order, older) != PTO_GRAPH_NONE)
    snprintf(task, sizeof task, "task %" PRIu32, task_of(pair->order, older));
  snprintf(advice->cause, sizeof advice->cause,
           "window reused before rank %" PRIu32 " is done with what rank %" PRIu32 " %s there in %s", pair->first->rank,
           older->rank, older->verb == PTO_WINDOW_PUTS ? "put" : "wrote", task);
  return true;
}

/* ---- the whole ---- */

static bool search(const struct pair *pair, struct pto_ranks_advice *advice) {
  static bool (*const ways[])(const struct pair *, struct pto_ranks_advice *) = {
      advise_after,   advise_behind_put, advise_tell_after, advise_idle,
      advise_unheard, advise_other_peer, advise_tell_later};
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
    if (ways[k](pair, advice)) return true;
  return false;
}

/* Of a signal of the second's rank that is not in use; nothing, where there is none, or no kernel that could. */
static void say_new_signal(const struct pair *pair, struct pto_ranks_advice *advice) {
  const uint32_t own = pair->second->rank, from = pair->first->rank;
  const struct pto_rank_comm *comm = pto_rank_comm_of(pto_world_rank(pair->order->ranks->world, own), pair->comm);
  uint32_t signal = 0;
  while (comm && signal < comm->signal_count && (waits_for(pair, own, signal) || is_notified(comm, signal))) signal++;
  if (!comm || signal == comm->signal_count) return;
  pto_text_append(advice->remedy, sizeof advice->remedy,
                  ": `pto_core_notify(args, comm, %" PRIu32 ", %" PRIu32 ", PTO_NOTIFY_ADD, 1)` on rank %" PRIu32
                  ", `pto_core_wait_signal(args, comm, %" PRIu32 ", PTO_IF_GE, n)` on rank %" PRIu32
                  ", n being 1 the first time",
                  pto_comm_place_of(comm, own), signal, from, signal, own);
}

void pto_ranks_advise(struct pto_world_order *order, const struct pto_window_access *earlier,
                      const struct pto_window_access *later, bool searches, struct pto_ranks_advice *advice) {
  const uint64_t comm = order->windows[earlier->window].comm;
  const struct pair pairs[] = {{order, earlier, later, {task_of(order, earlier), task_of(order, later)}, comm},
                               {order, later, earlier, {task_of(order, later), task_of(order, earlier)}, comm}};
  const bool is_first = searches && is_reuse(&pairs[0], advice);
  advice->is_turned = searches && !is_first && is_reuse(&pairs[1], advice);
  const bool is_known = is_first || advice->is_turned; /* which ought to come before which */
  const struct pair *pair = &pairs[advice->is_turned];
  if (searches && (search(pair, advice) || (!is_known && search(&pairs[1], advice)))) return;
  const bool are_puts = !is_known && earlier->verb == PTO_WINDOW_PUTS && later->verb == PTO_WINDOW_PUTS;
  if (!is_known) snprintf(advice->cause, sizeof advice->cause, "no notify and wait orders the two");
  snprintf(advice->remedy, sizeof advice->remedy,
           "%slet rank %" PRIu32 " wait before that for a signal that rank %" PRIu32 " notifies behind its own",
           are_puts ? "let each put have bytes of its own; or, if one is to replace the other, " : "",
           pair->second->rank, pair->first->rank);
  say_new_signal(pair, advice);
}
