/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_findings.h>

#include <inttypes.h>

#include <runtime/trace/remote.h>

/* ---- what would end a wait ---- */

/* How many ranks have notified the signal. */
static uint32_t count_notifiers(const struct pto_ranks *ranks, const struct pto_stuck_wait *wait) {
  const struct pto_rank_comm *comm = pto_rank_comm_of(pto_world_rank(ranks->world, wait->rank), wait->comm);
  uint32_t count = 0;
  for (uint32_t i = 0; comm && i < comm->size; i++) count += comm->notified[(size_t)wait->signal * comm->size + i] > 0;
  return count;
}

/* Whether the blamed rank sets the signal, which does not count then. */
static bool is_set(const struct pto_ranks *ranks, const struct pto_stuck_wait *wait) {
  const struct pto_trace_log *records = &pto_ranks_trace(ranks, wait->blamed)->remotes;
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (record->kind == PTO_REMOTE_NOTIFY && record->peer == wait->rank && record->comm == wait->comm &&
        record->signal == wait->signal && record->is_set)
      return true;
  }
  return false;
}

/* The notify of that signal by which another rank than this was told, and which no wait was for; NULL: there is none,
 * or several.  Where the blamed rank is the only one, it is to be of that. */
static const struct pto_unheard *find_misled(const struct pto_world_order *order, const struct pto_stuck_wait *wait) {
  const struct pto_unheard *found = NULL;
  for (size_t i = 0; i < order->unheard_count; i++) {
    const struct pto_unheard *unheard = &order->unheard[i];
    if (unheard->comm != wait->comm || unheard->signal != wait->signal || unheard->rank == wait->rank ||
        unheard->source == wait->rank || (wait->alike == 1 && unheard->source != wait->blamed))
      continue;
    if (found) return NULL;
    found = unheard;
  }
  return found;
}

/* Of the rank that waits, as kernels have it. */
static uint32_t place_of(const struct pto_world_order *order, const struct pto_stuck_wait *wait) {
  return pto_rank_comm_of(pto_world_rank(order->ranks->world, wait->rank), wait->comm)->place;
}

/* Of a task that has returned, and has not notified at all. */
static void say_missing(const struct pto_world_order *order, const struct pto_stuck_wait *wait, char *text,
                        size_t size) {
  char task[48] = "its task of this group";
  if (wait->its_task != UINT64_MAX) snprintf(task, sizeof task, "task %" PRIu64, wait->its_task);
  const struct pto_unheard *misled = find_misled(order, wait);
  if (misled)
    snprintf(text, size, "let task %" PRIu64 " of rank %" PRIu32 " notify rank %" PRIu32 ", not rank %" PRIu32,
             misled->task, misled->source, wait->rank, misled->rank);
  else if (wait->alike > 1)
    snprintf(text, size,
             "add `pto_core_notify(args, comm, %" PRIu32 ", %" PRIu32
             ", PTO_NOTIFY_ADD, 1)` to that of these tasks which owes it%s",
             place_of(order, wait), wait->signal, count_notifiers(order->ranks, wait) ? ", or wait for less" : "");
  else
    snprintf(text, size,
             "add `pto_core_notify(args, comm, %" PRIu32 ", %" PRIu32 ", PTO_NOTIFY_ADD, 1)` to %s of rank %" PRIu32
             "%s",
             place_of(order, wait), wait->signal, task, wait->blamed, wait->has_put ? ", behind its put" : "");
}

/* Of a task of a collective, whose kernels are not the program's. */
static bool is_collective(const struct pto_world_order *order, const struct pto_stuck_wait *wait) {
  const struct pto_trace_task *task = pto_rank_task(order->ranks, wait->rank, wait->task);
  return task && pto_task_is_collective(task);
}

/* Of a task that has returned. */
static void say_notify(const struct pto_world_order *order, const struct pto_stuck_wait *wait, char *text,
                       size_t size) {
  if (is_collective(order, wait))
    snprintf(text, size,
             "submit the same collectives of the communicator, with the same root and counts, on all of its ranks");
  else if (wait->why == PTO_STUCK_NOT_NOTIFIED)
    say_missing(order, wait, text, size);
  else if (count_notifiers(order->ranks, wait) > 1 && is_set(order->ranks, wait))
    snprintf(text, size, "let the ranks notify with PTO_NOTIFY_ADD: a signal that several set does not count them");
  else
    snprintf(text, size,
             "let signal %" PRIu32 " of rank %" PRIu32 " be notified as often as the wait is for, or wait for less",
             wait->signal, wait->rank);
}

/* NULL: as the kind says, of ranks that wait for each other. */
static const char *say_remedy(const struct pto_world_order *order, const struct pto_stuck_wait *wait, char *text,
                              size_t size) {
  switch ((enum pto_stuck_why)wait->why) {
  case PTO_STUCK_NOT_CREATED:
    snprintf(text, size, "let rank %" PRIu32 " come to `pto_comm_create`, too, or make it of fewer ranks",
             wait->blamed);
    return text;
  case PTO_STUCK_OTHER_RANKS:
    return "let all ranks give `pto_comm_create` the same ranks in the same order, and make their communicators in one "
           "order";
  case PTO_STUCK_NOT_SUBMITTED:
    return "let all ranks of the communicator submit this group, or none";
  case PTO_STUCK_NOT_BEGUN:
    snprintf(text, size, "let rank %" PRIu32 "'s task of this group come after none that waits for rank %" PRIu32,
             wait->blamed, wait->rank);
    return text;
  case PTO_STUCK_NEXT_GROUP:
    snprintf(text, size, "let rank %" PRIu32 " notify in its task of this group, before that waits", wait->blamed);
    return text;
  case PTO_STUCK_SKIPPED:
    return "let predicates skip the tasks of a group on all of its ranks, or on none";
  case PTO_STUCK_PASSED:
    return "wait with PTO_IF_GE, or notify it no further than that";
  case PTO_STUCK_NOT_NOTIFIED:
  case PTO_STUCK_NOTIFIED_LESS:
    say_notify(order, wait, text, size);
    return text;
  case PTO_STUCK_OTHERWISE:
    break;
  }
  return NULL;
}

/* Whether another core of the task waits for another rank: those that meet at a barrier then wait for it. */
static bool waits_beside(const struct pto_world_order *order, const struct pto_stuck_wait *wait) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(pto_world_part(order->ranks->world), &count);
  for (size_t i = 0; i < count; i++)
    if (waits[i].rank == wait->rank && waits[i].task == wait->task && waits[i].signal != UINT32_MAX) return true;
  return false;
}

static void report(const struct pto_world_order *order, struct pto_findings *findings,
                   const struct pto_stuck_wait *wait, const struct pto_stuck_wait *cause) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_WAITS), .has_ranks = true};
  char text[240];
  const char *remedy = text;
  if (wait->blamed != UINT32_MAX) pto_rank_set_side(order->ranks, &finding, 0, wait->blamed, wait->its_task);
  if (wait->blamed == UINT32_MAX) finding.ranks[0] = PTO_FINDING_NONE;
  pto_rank_set_side(order->ranks, &finding, 1, wait->rank, wait->task);
  finding.group = pto_mix64(pto_rank_side_key(&finding, 1) ^ wait->blamed);
  if (cause == wait && wait->signal == UINT32_MAX && wait->task != UINT64_MAX)
    remedy = waits_beside(order, wait) ? "mend first what other cores of that task wait for"
                                       : "let each core of that task come to what the others wait for";
  else if (cause != wait && cause->is_cause)
    snprintf(text, sizeof text, "mend first what keeps rank %" PRIu32 " waiting", cause->rank);
  else
    remedy = say_remedy(order, wait, text, sizeof text);
  pto_findings_add(findings, &finding, remedy, "%s", wait->text);
}

void pto_ranks_report_stuck(const struct pto_world_order *order, struct pto_findings *findings) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(pto_world_part(order->ranks->world), &count);
  const size_t first = count ? pto_stuck_cause(waits, count, 0) : 0;
  if (count) report(order, findings, &waits[first], &waits[first]);
  for (size_t i = 0; i < count; i++)
    if (i != first) report(order, findings, &waits[i], &waits[pto_stuck_cause(waits, count, i)]);
}
