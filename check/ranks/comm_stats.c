/* SPDX-License-Identifier: MIT */
#include <check/ranks/comm_stats.h>

#include <stdlib.h>
#include <string.h>

#include <check/ranks/ranks_state.h>
#include <kernels/collective/collective.h>
#include <report/run/group_call.h>
#include <report/run/trace_view.h>
#include <runtime/base/grow.h>
#include <runtime/trace/remote.h>

/* ---- what a rank tells the others ---- */

/* Of a kind of record (enum pto_remote_kind): a communicator's making, a group's task, or all that went between two
 * ranks. */
struct fact {
  uint64_t comm;
  uint32_t rank, peer, kind;
  uint32_t collective; /* GROUP: enum pto_collective; PTO_COLLECTIVE_COUNT: none */
  bool is_moe;         /* GROUP */
  uint64_t count;      /* GROUP: which of the communicator's */
  uint64_t bytes;      /* MAKE: of the window */
  uint64_t ps;         /* that was waited */
  uint64_t begin, end; /* GROUP: of its task's calls; end 0: it has not ended */
  char kernel[48];     /* GROUP */
};

/* Of one rank, in the order of its records. */
struct facts {
  struct fact *items;
  size_t count, capacity;
};

static struct fact *add_fact(struct facts *facts, const struct fact *fact) {
  struct fact *at = pto_grow(&facts->items, &facts->count, &facts->capacity, sizeof *at);
  if (at) *at = *fact;
  return at;
}

static bool add_group(struct facts *facts, uint32_t rank, const struct pto_trace *trace,
                      const struct pto_task_calls *calls, const struct pto_trace_remote *remote) {
  const struct pto_group_call call = pto_group_call_of(trace, remote);
  struct fact fact = {.comm = remote->comm,
                      .rank = rank,
                      .peer = remote->peer,
                      .kind = PTO_REMOTE_GROUP,
                      .collective = call.collective,
                      .is_moe = call.is_moe,
                      .count = remote->sequence,
                      .bytes = call.bytes};
  if (call.kernel) strncpy(fact.kernel, call.kernel->name, sizeof fact.kernel - 1);
  if (call.kernel && calls[remote->task].first) {
    fact.begin = calls[remote->task].first->begin;
    fact.end = calls[remote->task].last->end;
  }
  return add_fact(facts, &fact) != NULL;
}

/* The bytes that the task of a group moved, where that is no collective; groups stand in the order of their tasks. */
static void add_moved(struct facts *groups, const struct pto_trace *trace) {
  const struct pto_trace_log *log = &trace->remotes;
  uint64_t *moved = calloc(trace->tasks.count + 1, sizeof *moved);
  for (uint64_t i = 0; moved && i < log->count; i++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(log, i);
    if (remote->kind == PTO_REMOTE_PUT || remote->kind == PTO_REMOTE_GET)
      if (remote->task < trace->tasks.count) moved[remote->task] += remote->bytes;
  }
  size_t group = 0;
  for (uint64_t i = 0; moved && i < log->count; i++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(log, i);
    if (remote->kind != PTO_REMOTE_GROUP) continue;
    struct fact *fact = &groups->items[group++];
    if (fact->collective == PTO_COLLECTIVE_COUNT && remote->task < trace->tasks.count)
      fact->bytes = moved[remote->task];
  }
  free(moved);
}

/* What is summed by communicator and peer. */
static bool add_sum(struct facts *facts, uint32_t rank, const struct pto_trace_remote *remote) {
  const bool is_wait = remote->kind == PTO_REMOTE_WAIT;
  const bool is_message =
      remote->kind == PTO_REMOTE_PUT || remote->kind == PTO_REMOTE_GET || remote->kind == PTO_REMOTE_NOTIFY;
  if (!is_wait && !is_message) return true;
  for (size_t i = 0; i < facts->count; i++) {
    struct fact *fact = &facts->items[i];
    if (fact->comm != remote->comm || fact->peer != remote->peer || fact->kind != remote->kind) continue;
    fact->count++;
    fact->bytes += remote->bytes;
    fact->ps += is_wait ? remote->end - remote->begin : 0;
    return true;
  }
  return add_fact(facts, &(struct fact){.comm = remote->comm,
                                        .rank = rank,
                                        .peer = remote->peer,
                                        .kind = remote->kind,
                                        .count = 1,
                                        .bytes = remote->bytes,
                                        .ps = is_wait ? remote->end - remote->begin : 0}) != NULL;
}

static bool add_make(struct facts *facts, uint32_t rank, const struct pto_trace_remote *remote) {
  return add_fact(facts, &(struct fact){.comm = remote->comm,
                                        .rank = rank,
                                        .peer = remote->peer,
                                        .kind = PTO_REMOTE_MAKE,
                                        .count = 1,
                                        .bytes = remote->bytes,
                                        .ps = remote->end - remote->begin}) != NULL;
}

static bool tell(struct pto_exchange_bytes *out, const struct facts *facts) {
  const size_t bytes = facts->count * sizeof *facts->items;
  void *to = bytes ? pto_exchange_bytes_add(out, bytes) : NULL;
  if (to) memcpy(to, facts->items, bytes);
  return to || !bytes;
}

static bool tell_rank(struct pto_exchange_bytes *out, uint32_t rank, const struct pto_trace *trace) {
  struct facts makes = {0}, groups = {0}, sums = {0};
  struct pto_task_calls *calls = pto_trace_task_calls(trace);
  bool is_well = calls != NULL;
  for (uint64_t i = 0; i < trace->remotes.count && is_well; i++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&trace->remotes, i);
    is_well = remote->kind == PTO_REMOTE_MAKE    ? add_make(&makes, rank, remote)
              : remote->kind == PTO_REMOTE_GROUP ? add_group(&groups, rank, trace, calls, remote)
                                                 : add_sum(&sums, rank, remote);
  }
  if (is_well) add_moved(&groups, trace);
  is_well = is_well && tell(out, &makes) && tell(out, &groups) && tell(out, &sums);
  free(makes.items);
  free(groups.items);
  free(sums.items);
  free(calls);
  return is_well;
}

/* ---- all ranks together ---- */

/* By communicator's uid; made where it is new.  NULL: no memory. */
static struct pto_comm_row *row_of(struct pto_comm_stats *stats, uint64_t uid) {
  for (size_t i = 0; i < stats->comm_count; i++)
    if (stats->comms[i].uid == uid) return &stats->comms[i];
  struct pto_comm_row *row = pto_grow(&stats->comms, &stats->comm_count, &stats->comm_capacity, sizeof *row);
  if (row) *row = (struct pto_comm_row){.uid = uid};
  return row;
}

static bool take_wait(struct pto_comm_stats *stats, const struct fact *fact) {
  if (!fact->ps) return true;
  for (size_t i = 0; i < stats->wait_count; i++) {
    struct pto_comm_wait *wait = &stats->waits[i];
    if (wait->rank != fact->rank || wait->peer != fact->peer) continue;
    wait->count += fact->count;
    wait->ps += fact->ps;
    return true;
  }
  struct pto_comm_wait *wait = pto_grow(&stats->waits, &stats->wait_count, &stats->wait_capacity, sizeof *wait);
  if (wait) *wait = (struct pto_comm_wait){fact->rank, fact->peer, fact->count, fact->ps};
  return wait != NULL;
}

static bool take_fact(struct pto_comm_stats *stats, const struct fact *fact) {
  struct pto_comm_row *row = row_of(stats, fact->comm);
  if (!row) return false;
  struct pto_comm_sum *const sums[PTO_REMOTE_KINDS] = {
      [PTO_REMOTE_PUT] = &row->puts, [PTO_REMOTE_GET] = &row->gets, [PTO_REMOTE_NOTIFY] = &row->signals};
  if (sums[fact->kind]) {
    sums[fact->kind]->count += fact->count;
    sums[fact->kind]->bytes += fact->bytes;
  }
  if (fact->kind == PTO_REMOTE_MAKE) {
    row->ranks |= UINT64_C(1) << fact->rank;
    row->window_bytes = fact->bytes;
  }
  return take_wait(stats, fact);
}

static struct pto_comm_calls *calls_of(struct pto_comm_stats *stats, uint32_t comm, const struct fact *fact) {
  const bool is_collective = fact->collective < PTO_COLLECTIVE_COUNT;
  for (size_t i = 0; i < stats->call_count; i++) {
    struct pto_comm_calls *calls = &stats->calls[i];
    if (calls->comm == comm && strcmp(calls->kernel, fact->kernel) == 0 &&
        (!is_collective || calls->bytes == fact->bytes))
      return calls;
  }
  struct pto_comm_calls *calls = pto_grow(&stats->calls, &stats->call_count, &stats->call_capacity, sizeof *calls);
  if (!calls) return NULL;
  *calls = (struct pto_comm_calls){
      .comm = comm, .collective = fact->collective, .is_moe = fact->is_moe, .bytes = is_collective ? fact->bytes : 0};
  memcpy(calls->kernel, fact->kernel, sizeof calls->kernel);
  return calls;
}

static int order_groups(const void *left, const void *right) {
  const struct fact *a = left, *b = right;
  if (a->comm != b->comm) return a->comm < b->comm ? -1 : 1;
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

/* One call: the same group on its ranks. */
static bool take_call(struct pto_comm_stats *stats, uint32_t comm, const struct fact *facts, size_t count) {
  struct pto_comm_calls *calls = calls_of(stats, comm, &facts[0]);
  uint64_t first_begin = UINT64_MAX, last_begin = 0, end = 0, bytes = 0, ended = 0;
  if (!calls) return false;
  for (size_t i = 0; i < count; i++) {
    first_begin = pto_min_u64(first_begin, facts[i].begin);
    last_begin = pto_max_u64(last_begin, facts[i].begin);
    end = pto_max_u64(end, facts[i].end);
    bytes += facts[i].bytes;
    ended += facts[i].end > 0;
  }
  if (ended < facts[0].peer) {
    calls->unfinished++;
    return true;
  }
  calls->calls++;
  calls->ps += end - last_begin;
  calls->skew_ps += last_begin - first_begin;
  if (calls->collective == PTO_COLLECTIVE_COUNT) calls->bytes += bytes;
  return true;
}

/* `groups` are in order. */
static bool take_calls(struct pto_comm_stats *stats, const struct facts *groups) {
  bool is_well = true;
  for (uint32_t comm = 0; comm < stats->comm_count; comm++)
    for (size_t i = 0, end; i < groups->count && is_well; i = end) {
      const struct fact *first = &groups->items[i];
      for (end = i;
           end < groups->count && groups->items[end].comm == first->comm && groups->items[end].count == first->count;)
        end++;
      if (first->comm == stats->comms[comm].uid) is_well = take_call(stats, comm, first, end - i);
    }
  return is_well;
}

static int order_waits(const void *left, const void *right) {
  const struct pto_comm_wait *a = left, *b = right;
  if (a->ps != b->ps) return a->ps < b->ps ? 1 : -1;
  return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank) : (a->peer > b->peer) - (a->peer < b->peer);
}

static bool take_all(struct pto_comm_stats *stats, const struct pto_exchange_bytes *told) {
  struct facts groups = {0};
  bool is_well = true;
  for (size_t at = 0; at < told->count && is_well; at += sizeof(struct fact)) {
    const struct fact *fact = (const struct fact *)(const void *)(told->data + at);
    is_well = fact->kind == PTO_REMOTE_GROUP ? add_fact(&groups, fact) != NULL : take_fact(stats, fact);
  }
  if (groups.count) qsort(groups.items, groups.count, sizeof *groups.items, order_groups);
  is_well = is_well && take_calls(stats, &groups);
  if (stats->wait_count) qsort(stats->waits, stats->wait_count, sizeof *stats->waits, order_waits);
  free(groups.items);
  return is_well;
}

int pto_comm_stats_init(const struct pto_ranks *ranks, struct pto_comm_stats *stats, struct pto_error *error) {
  struct pto_exchange_bytes out = {0}, in = {0};
  bool is_well = true;
  *stats = (struct pto_comm_stats){0};
  for (uint32_t i = 0; i < ranks->rank_count && is_well; i++) {
    const struct pto_trace *trace = pto_ranks_trace(ranks, i);
    is_well = !trace || tell_rank(&out, i, trace);
  }
  is_well = pto_ranks_share(ranks, &out, &in, is_well) && take_all(stats, &in);
  pto_exchange_bytes_fini(&in);
  if (is_well) return PTO_OK;
  pto_comm_stats_fini(stats);
  return pto_error_set(error, PTO_ENOMEM, "no memory for what the ranks told each other");
}

void pto_comm_stats_fini(struct pto_comm_stats *stats) {
  free(stats->comms);
  free(stats->calls);
  free(stats->waits);
  *stats = (struct pto_comm_stats){0};
}
