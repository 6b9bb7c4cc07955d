/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_findings.h>

#include <inttypes.h>

#include <check/ranks/world_order.h>
#include <pto/collectives.h>
#include <runtime/base/dtype.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/trace_words.h>

/* A rank's n-th group of a communicator: what the rank said of it, and its task. */
struct said {
  const struct pto_trace *trace;
  const struct pto_trace_remote *group; /* NULL: it has submitted none */
  const struct pto_trace_task *task;    /* NULL: the same */
};

/* The next of that communicator, from *at on. */
static struct said next_said(const struct pto_ranks *ranks, uint32_t rank, uint64_t uid, uint64_t *at) {
  struct said said = {.trace = pto_ranks_trace(ranks, rank)};
  while (*at < said.trace->remotes.count && !said.group) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&said.trace->remotes, (*at)++);
    if (remote->kind == PTO_REMOTE_GROUP && remote->comm == uid) said.group = remote;
  }
  if (said.group) said.task = pto_rank_task(ranks, rank, said.group->task);
  return said;
}

static bool is_collective(const struct said *said) { return said->task && pto_task_is_collective(said->task); }

/* Of collectives that say one count: in, out and the window.  Those of MoE have more. */
#define MOST_PARAMS 3u

static uint64_t elems_of(const struct pto_tensor *tensor, uint32_t first_dim) {
  uint64_t elems = 1;
  for (uint32_t d = first_dim; d < tensor->ndims; d++) elems *= tensor->shape[d];
  return elems;
}

/* Elements that are as many on all ranks: of the larger of in and out; of each tensor of MoE, but for rows that are one
 * a token. */
static uint64_t count_of(const struct said *said, uint32_t index) {
  const struct pto_trace_param *first = pto_trace_param_of(said->trace, said->task, index);
  const bool is_moe = said->task->param_count > MOST_PARAMS;
  const uint64_t elems = elems_of(&first->tensor, is_moe && first->tensor.ndims == 2);
  if (is_moe || index > 0) return elems;
  const struct pto_trace_param *other = pto_trace_param_of(said->trace, said->task, 1);
  return other ? pto_max_u64(elems, elems_of(&other->tensor, 0)) : elems;
}

/* ", of f32, not fp16": how `b` differs from `a` in a tensor.  "": in nothing. */
static void say_tensor(const struct said *a, const struct said *b, uint32_t index, char *text, size_t size) {
  const struct pto_trace_param *own = pto_trace_param_of(a->trace, a->task, index),
                               *its = pto_trace_param_of(b->trace, b->task, index);
  const bool is_moe = a->task->param_count > MOST_PARAMS;
  char which[32] = "";
  if (!own || !its) return;
  if (is_moe) snprintf(which, sizeof which, "param %" PRIu32 " ", index);
  if (own->tensor.dtype != its->tensor.dtype)
    snprintf(text, size, ", %sof %s, not %s", which, pto_dtype_name(its->tensor.dtype),
             pto_dtype_name(own->tensor.dtype));
  else if (count_of(a, index) != count_of(b, index))
    snprintf(text, size, ", %sof %" PRIu64 " elements%s, not %" PRIu64, which, count_of(b, index),
             is_moe && own->tensor.ndims == 2 ? " a row" : "", count_of(a, index));
}

/* False: `b` is the same collective as `a`, which is one, and says the same of it.  `text` is what it says else. */
static bool differs(const struct said *a, const struct said *b, char *text, size_t size) {
  static const char *const reductions[] = {[PTO_REDUCE_SUM] = "sum",
                                           [PTO_REDUCE_PRODUCT] = "product",
                                           [PTO_REDUCE_MAXIMUM] = "maximum",
                                           [PTO_REDUCE_MINIMUM] = "minimum"};
  const bool is_moe = a->task->param_count > MOST_PARAMS;
  text[0] = '\0';
  if (!b->task || a->task->kernels[PTO_ROLE_AIV0] != b->task->kernels[PTO_ROLE_AIV0]) return true;
  if (a->group->value != b->group->value)
    snprintf(text, size, ", a %s, not a %s", reductions[b->group->value], reductions[a->group->value]);
  else if (a->group->signal != b->group->signal)
    snprintf(text, size, ", from place %" PRIu32 ", not %" PRIu32, b->group->signal, a->group->signal);
  for (uint32_t i = 0; !text[0] && i + 1 < a->task->param_count; i++) /* the last is the window */
    if (is_moe || i == 0) say_tensor(a, b, i, text, size);
  return text[0] != '\0';
}

/* Whether the host read anything before that task; UINT64_MAX: at all.  What it reads may decide what it submits. */
static bool has_read(const struct pto_trace *trace, uint64_t task) {
  for (uint64_t i = 0; i < trace->host_accesses.count; i++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, i);
    if (!access->is_write && !access->is_sync && access->task_count <= task) return true;
  }
  return false;
}

/* The last read of the host behind all groups of the communicator that the rank has submitted; NULL: there is none. */
static const struct pto_trace_host_access *find_last_read(const struct pto_trace *trace, uint64_t uid) {
  const struct pto_trace_host_access *found = NULL;
  uint64_t behind = 0;
  for (uint64_t i = 0; i < trace->remotes.count; i++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&trace->remotes, i);
    if (remote->kind == PTO_REMOTE_GROUP && remote->comm == uid) behind = remote->task + 1u;
  }
  for (uint64_t i = 0; i < trace->host_accesses.count; i++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, i);
    if (!access->is_write && !access->is_sync && access->task_count >= behind) found = access;
  }
  return found;
}

/* What the later side has instead. */
static void name_other(const struct pto_ranks *ranks, const struct pto_finding *finding,
                       const struct pto_trace_host_access *read, char *text, size_t size) {
  char place[300];
  if (finding->tasks[1] != PTO_FINDING_NONE)
    snprintf(text, size, "it is task %" PRIu64 " (%s)", finding->tasks[1], finding->kernels[1]);
  else if (!read)
    snprintf(text, size, "there is none");
  else
    snprintf(text, size, "there is none behind the host's read at %s, which may decide how many there are",
             pto_source_lines_name(ranks->lines, read->call, read->outer_call, place, sizeof place));
}

struct pair {
  uint32_t ranks[2];
  const struct said *said[2]; /* the first one is a collective */
};

static void report(const struct pto_ranks *ranks, struct pto_findings *findings, const struct pto_rank_comm *comm,
                   uint64_t n, const struct pair *pair, const char *how) {
  const struct said *a = pair->said[0], *b = pair->said[1];
  const uint64_t its = b->task ? b->task->number : UINT64_MAX;
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_PARTICIPATION), .has_ranks = true};
  const struct pto_trace_host_access *read = b->task ? NULL : find_last_read(b->trace, comm->uid);
  char first[160], other[480], place[512];
  pto_rank_set_side(ranks, &finding, 0, pair->ranks[0], a->task->number);
  pto_rank_set_side(ranks, &finding, 1, pair->ranks[1], its);
  finding.group = pto_rank_side_key(&finding, 0) ^ n;
  if (has_read(a->trace, a->task->number) || has_read(b->trace, its)) finding.decided = PTO_DECIDED_THIS_ORDER;
  name_other(ranks, &finding, read, other, sizeof other);
  pto_findings_add(findings, &finding,
                   how[0] ? "let all ranks give it the same"
                   : read ? "let all ranks decide by a value that they have alike, as of a collective"
                          : NULL,
                   "collective %" PRIu64 " of comm %" PRIu32 " is %s, but on rank %" PRIu32 " %s%s%s", n, comm->number,
                   pto_rank_side_name(&finding, 0, first, sizeof first), pair->ranks[1], other, how,
                   pto_finding_say_places(&finding, place, sizeof place));
}

/* Not where it has failed, or waits for ever, before its orchestration was over: the others have gone on without it. */
static bool has_said_all(const struct pto_ranks *ranks, uint32_t rank) {
  const struct pto_rank *its = pto_world_rank(ranks->world, rank);
  return its->status == PTO_OK || its->has_returned;
}

/* The first that differs, of one communicator: `comm` as its first rank has it. */
static void check_comm(const struct pto_ranks *ranks, struct pto_findings *findings, const struct pto_rank_comm *comm) {
  uint64_t at[PTO_MAX_RANKS] = {0};
  struct said said[PTO_MAX_RANKS];
  char how[160];
  for (uint64_t n = 0;; n++) {
    uint32_t first = comm->size, submitted = 0;
    for (uint32_t i = 0; i < comm->size; i++) {
      said[i] = next_said(ranks, comm->ranks[i], comm->uid, &at[i]);
      submitted += said[i].group != NULL;
      if (first == comm->size && is_collective(&said[i])) first = i;
    }
    if (submitted == 0) return;
    for (uint32_t i = 0; first < comm->size && i < comm->size; i++) {
      if (!differs(&said[first], &said[i], how, sizeof how)) continue;
      if (!said[i].group && !has_said_all(ranks, comm->ranks[i])) continue;
      const struct pair pair = {{comm->ranks[first], comm->ranks[i]}, {&said[first], &said[i]}};
      report(ranks, findings, comm, n, &pair, how);
      return;
    }
  }
}

void pto_ranks_check_participation(const struct pto_ranks *ranks, struct pto_findings *findings) {
  for (uint32_t r = 0; r < ranks->rank_count; r++) {
    const struct pto_rank *rank = pto_world_rank(ranks->world, r);
    for (size_t i = 0; i < rank->number_count; i++)
      if (rank->by_number[i]->place == 0) check_comm(ranks, findings, rank->by_number[i]);
  }
}
