/* SPDX-License-Identifier: MIT */
/*
 * What ranks told each other in vain: notifies that no wait was for, puts that nothing reads, and what is added to a
 * signal that is set.
 */
#include <check/ranks/ranks_findings.h>

#include <inttypes.h>

#include <check/ranks/ranks_advice.h>
#include <runtime/trace/remote.h>

/* Of more accesses than this it is not asked whether what is put is read anywhere. */
#define MOST_MET 4096u

/* ---- signals that no kernel waits for ---- */

/* A wait for the signal goes on for ever: what came of it is told there. */
static bool is_awaited(const struct pto_world_order *order, const struct pto_unheard *unheard) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(pto_world_part(order->ranks->world), &count);
  for (size_t i = 0; i < count; i++)
    if (waits[i].rank == unheard->rank && waits[i].comm == unheard->comm && waits[i].signal == unheard->signal)
      return true;
  return false;
}

/* A wait for the signal that was over at once, so it took less than it could have; NULL: there is none. */
static const struct pto_idle_wait *find_idle(const struct pto_world_order *order, const struct pto_unheard *unheard) {
  for (size_t i = 0; i < order->idle_count; i++) {
    const struct pto_idle_wait *idle = &order->idle[i];
    if (idle->rank == unheard->rank && idle->comm == unheard->comm && idle->signal == unheard->signal) return idle;
  }
  return NULL;
}

/* "": nothing shows why no wait was for it. */
static const char *say_idle(const struct pto_idle_wait *idle, char *text, size_t size) {
  text[0] = '\0';
  if (idle)
    snprintf(text, size, ": its wait in task %" PRIu64 " for %s %" PRId32 " %s", idle->task,
             idle->is_equal ? "=" : ">=", idle->value, pto_idle_wait_words(idle));
  return text;
}

static void report_unheard(const struct pto_world_order *order, struct pto_findings *findings) {
  char side[160], place[256] = "", text[300], why[200], remedy[160];
  for (size_t i = 0; i < order->unheard_count; i++) {
    const struct pto_unheard *unheard = &order->unheard[i];
    const struct pto_trace_task *task = pto_rank_task(order->ranks, unheard->source, unheard->task);
    if (is_awaited(order, unheard) || (task && pto_task_is_collective(task)))
      continue; /* each says that it is done, also where none follows */
    struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_LEFT_OVER), .has_ranks = true};
    pto_rank_set_side(order->ranks, &finding, 0, unheard->source, unheard->task);
    finding.ranks[1] = unheard->rank;
    finding.group = pto_rank_side_key(&finding, 0);
    if (finding.places[0].own.file[0])
      snprintf(place, sizeof place, ", submitted at %s", pto_source_call_name(&finding.places[0], text, sizeof text));
    const struct pto_idle_wait *idle = find_idle(order, unheard);
    snprintf(remedy, sizeof remedy,
             "let rank %" PRIu32 " wait for the value that the signal has behind this, or do not notify it",
             unheard->rank);
    pto_findings_add(findings, &finding, idle ? remedy : NULL,
                     "%s%s, notifies signal %" PRIu32 " of rank %" PRIu32 " in comm %" PRIu32
                     ", and no wait of that rank was for it%s",
                     pto_rank_side_name(&finding, 0, side, sizeof side), place, unheard->signal, unheard->rank,
                     pto_rank_comm_number(pto_world_rank(order->ranks->world, unheard->rank), unheard->comm),
                     say_idle(idle, why, sizeof why));
  }
}

/* ---- what comes to one place of a rank's windows, where another one is read ---- */

/* Whether the task waits for other ranks, or tells them something: what it declares to write others may have put. */
static bool talks(const struct pto_world_order *order, const struct pto_window_access *access) {
  const struct pto_trace_log *records = &pto_ranks_trace(order->ranks, access->rank)->remotes;
  const struct pto_graph_node *node = &order->graphs[access->rank].nodes[access->its_node];
  for (uint64_t i = 0; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (!node->is_host && record->task == node->index &&
        (record->kind == PTO_REMOTE_NOTIFY || pto_remote_has_waited(record)))
      return true;
  }
  return false;
}

/* Whether any other access reads, or writes, any of its bytes; a write that a task which talks declares is none. */
static bool is_met(const struct pto_world_order *order, const struct pto_window_access *access, bool by_write) {
  for (size_t i = 0; i < order->access_count; i++) {
    const struct pto_window_access *other = &order->accesses[i];
    if (other == access || other->window != access->window || !(by_write ? other->writes : other->reads) ||
        !pto_region_intersects(&other->region, &access->region, NULL))
      continue;
    if (!by_write || other->local == PTO_GRAPH_NONE || !talks(order, other)) return true;
  }
  return false;
}

/* The first put into a window of the rank that none reads (`is_read` false), or the first read there of what none
 * has written; NULL: there is none. */
static const struct pto_window_access *find_unmet(const struct pto_world_order *order, uint32_t owner, bool is_read) {
  for (size_t i = 0; i < order->access_count; i++) {
    const struct pto_window_access *access = &order->accesses[i];
    const bool is_asked =
        is_read ? access->verb == PTO_WINDOW_READS && access->rank == owner : access->verb == PTO_WINDOW_PUTS;
    if (is_asked && order->windows[access->window].owner == owner && !is_met(order, access, is_read)) return access;
  }
  return NULL;
}

static void report_elsewhere(const struct pto_world_order *order, struct pto_findings *findings,
                             const struct pto_window_access *put, const struct pto_window_access *read) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_LEFT_OVER), .has_ranks = true};
  const struct pto_window_access *both[2] = {put, read};
  char first[240], second[240], place[512];
  for (int i = 0; i < 2; i++) {
    const struct pto_order_window *window = &order->windows[both[i]->window];
    pto_rank_set_access(order, &finding, i, both[i]);
    snprintf(finding.arrays[i], sizeof finding.arrays[i], "window of rank %" PRIu32 " in comm %" PRIu32, window->owner,
             window->number);
    snprintf(finding.extents[i], sizeof finding.extents[i], "bytes %" PRIu64 ":%" PRIu64, both[i]->region.start,
             both[i]->region.end);
  }
  finding.group = pto_mix64(pto_rank_side_key(&finding, 0) ^ pto_mix64(pto_rank_side_key(&finding, 1)));
  pto_rank_name_access(order, &finding, 0, put, first, sizeof first);
  pto_rank_name_access(order, &finding, 1, read, second, sizeof second);
  pto_findings_add(findings, &finding, "let what is put and what is read be the same bytes of one window",
                   "%s %s of the %s, and nothing reads them there; %s %s of the %s, and nothing has written them%s",
                   first, finding.extents[0], finding.arrays[0], second, finding.extents[1], finding.arrays[1],
                   pto_finding_say_places(&finding, place, sizeof place));
}

/* Each alone is no mistake: a last put may be in vain, and a window begins with zeros. */
static void report_all_elsewhere(const struct pto_world_order *order, struct pto_findings *findings) {
  if (order->ranks->error.status || order->access_count > MOST_MET) return;
  for (uint32_t rank = 0; rank < order->ranks->rank_count; rank++) {
    const struct pto_window_access *put = find_unmet(order, rank, false);
    const struct pto_window_access *read = put ? find_unmet(order, rank, true) : NULL;
    if (read) report_elsewhere(order, findings, put, read);
  }
}

void pto_ranks_report_left(const struct pto_world_order *order, struct pto_findings *findings) {
  report_unheard(order, findings);
  report_all_elsewhere(order, findings);
}

/* ---- signals that are set, and added to ---- */

static void report_set(const struct pto_world_order *order, struct pto_findings *findings,
                       const struct pto_signal_set *set) {
  struct pto_finding finding = {.kind = PTO_FINDING_WAW,
                                .params = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                .has_ranks = true,
                                .decided = PTO_DECIDED_THIS_ORDER};
  char first[160], second[160], place[512], remedy[400];
  const uint32_t comm = pto_rank_comm_number(pto_world_rank(order->ranks->world, set->owner), set->comm);
  for (int i = 0; i < 2; i++) {
    pto_rank_set_side(order->ranks, &finding, i, set->ranks[i], set->tasks[i]);
    snprintf(finding.arrays[i], sizeof finding.arrays[i], "signal %" PRIu32 " of rank %" PRIu32 " in comm %" PRIu32,
             set->signal, set->owner, comm);
  }
  finding.group = pto_mix64(pto_rank_side_key(&finding, 0) ^ pto_mix64(pto_rank_side_key(&finding, 1)) ^ set->signal);
  snprintf(remedy, sizeof remedy,
           "let the signal count on, and each wait be for a larger value, without the set; or let rank %" PRIu32
           " notify it behind a wait for a signal that rank %" PRIu32 " notifies behind the set",
           set->ranks[1], set->ranks[0]);
  pto_findings_add(findings, &finding, remedy,
                   "%s sets %s to %" PRId32 "; %s adds %" PRId32
                   " to it%s; no notify and wait orders the two: what is added before the set is lost",
                   pto_rank_side_name(&finding, 0, first, sizeof first), finding.arrays[0], set->values[0],
                   pto_rank_side_name(&finding, 1, second, sizeof second), set->values[1],
                   pto_finding_say_places(&finding, place, sizeof place));
}

void pto_ranks_check_sets(struct pto_world_order *order, struct pto_findings *findings) {
  struct pto_reach *reach = &order->reach;
  for (size_t i = 0; i < order->set_count; i++) {
    const uint32_t *nodes = order->sets[i].nodes;
    if (!pto_reach_has_path(reach, nodes[0], nodes[1]) && !pto_reach_has_path(reach, nodes[1], nodes[0]))
      report_set(order, findings, &order->sets[i]);
  }
}
