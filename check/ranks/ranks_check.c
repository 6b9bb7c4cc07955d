/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_check.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/access_index.h>
#include <check/order/access_text.h>
#include <check/order/happens_before.h>
#include <check/ranks/ranks_advice.h>
#include <check/ranks/ranks_findings.h>
#include <check/ranks/world_order.h>
#include <runtime/tensor/region_runs.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/trace_words.h>

/* Of more conflicts than this it is not searched what explains them. */
#define MOST_ADVISED 256u

struct reporter {
  struct pto_ranks *ranks;
  struct pto_findings *findings;
  struct pto_order_counts *counts;
  struct pto_world_order order;
  struct pto_access_index index;
  uint64_t conflicts;
};

/* ---- a rank by itself ---- */

void pto_ranks_add_findings(struct pto_findings *all, uint32_t rank, const struct pto_findings *own, bool has_notes) {
  all->is_short |= own->is_short;
  for (size_t i = 0; i < own->count; i++) {
    struct pto_finding finding = own->items[i];
    const size_t length = strlen(finding.sentence), remedy = finding.remedy ? strlen(finding.remedy) + 2 : 0;
    if (!has_notes && pto_finding_kind_is_note(finding.kind)) continue;
    finding.has_ranks = true;
    finding.ranks[0] = finding.ranks[1] = rank;
    pto_findings_add(all, &finding, finding.remedy, "rank %" PRIu32 ": %.*s", rank,
                     (int)(remedy < length ? length - remedy : length), finding.sentence);
  }
}

static int check_rank(struct reporter *t, uint32_t rank, struct pto_error *error) {
  const struct pto_session *session = &t->ranks->sessions[rank];
  struct pto_order_counts counts = {0}; /* stays so where the call fails early */
  struct pto_findings own;
  pto_findings_init(&own);
  const int status = pto_session_check_order(session, session->rules, &own, &counts, error);
  if (status == PTO_OK) pto_ranks_add_findings(t->findings, rank, &own, false);
  pto_findings_fini(&own);
  t->counts->tasks += counts.tasks;
  t->counts->edges += counts.edges;
  t->counts->pairs += counts.pairs;
  return status;
}

/* ---- windows ---- */

static void report(struct reporter *t, const struct pto_window_access *earlier, const struct pto_window_access *later) {
  const struct pto_order_window *window = &t->order.windows[earlier->window];
  struct pto_ranks_advice advice;
  pto_ranks_advise(&t->order, earlier, later, t->conflicts <= MOST_ADVISED, &advice);
  if (advice.is_turned) {
    const struct pto_window_access *told_first = later;
    later = earlier;
    earlier = told_first;
  }
  char first[240], second[240], place[512];
  struct pto_finding finding = {.kind = !earlier->writes ? PTO_FINDING_WAR
                                        : later->reads   ? PTO_FINDING_RAW
                                                         : PTO_FINDING_WAW,
                                .tasks = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                .has_ranks = true,
                                .decided = PTO_DECIDED_THIS_ORDER}; /* by which wait took which notify */
  pto_rank_set_access(&t->order, &finding, 0, earlier);
  pto_rank_set_access(&t->order, &finding, 1, later);
  finding.group = pto_mix64(pto_rank_side_key(&finding, 0) ^ pto_mix64(pto_rank_side_key(&finding, 1)) ^
                            (uint64_t)earlier->verb << 8 ^ later->verb);
  for (int i = 0; i < 2; i++) {
    const struct pto_region *region = i ? &later->region : &earlier->region;
    snprintf(finding.arrays[i], sizeof finding.arrays[i], "window of rank %" PRIu32 " in comm %" PRIu32, window->owner,
             window->number);
    snprintf(finding.extents[i], sizeof finding.extents[i], "bytes %" PRIu64 ":%" PRIu64, region->start, region->end);
  }
  pto_rank_name_access(&t->order, &finding, 0, earlier, first, sizeof first);
  pto_rank_name_access(&t->order, &finding, 1, later, second, sizeof second);
  pto_findings_add(t->findings, &finding, advice.remedy, "%s %s of the %s; %s %s of it%s; %s", first,
                   finding.extents[0], finding.arrays[0], second, finding.extents[1],
                   pto_finding_say_places(&finding, place, sizeof place), advice.cause);
}

/* Whether the task gets something into these bytes: then that, whose bytes are known, is what it declares to write. */
static bool gets_into(const struct reporter *t, const struct pto_window_access *declared) {
  if (declared->local == PTO_GRAPH_NONE || declared->verb != PTO_WINDOW_UPDATES) return false;
  for (size_t i = 0; i < t->order.access_count; i++) {
    const struct pto_window_access *access = &t->order.accesses[i];
    if (access->local == PTO_GRAPH_NONE && access->verb == PTO_WINDOW_WRITES && access->rank == declared->rank &&
        access->its_node == declared->its_node && access->window == declared->window &&
        pto_region_intersects(&access->region, &declared->region, NULL))
      return true;
  }
  return false;
}

/* Of two that nothing orders.  A task that gets parts of a window of which it declares all as INOUT does not write
 * those that others get of it. */
static bool are_alike_reads(const struct reporter *t, const struct pto_window_access *a,
                            const struct pto_window_access *b) {
  return (b->verb == PTO_WINDOW_GETS && gets_into(t, a)) || (a->verb == PTO_WINDOW_GETS && gets_into(t, b));
}

static void meet_list(struct reporter *t, uint32_t list, const struct pto_window_access *later) {
  for (uint32_t i = list; i != PTO_INDEX_NONE; i = t->index.accesses[i].next) {
    const struct pto_window_access *earlier = &t->order.accesses[t->index.accesses[i].access];
    if (earlier->rank == later->rank) continue; /* what the rank's own check is about */
    t->counts->pairs++;
    if (pto_world_order_has(&t->order, earlier, later) || are_alike_reads(t, earlier, later)) continue;
    if (++t->conflicts <= PTO_CONFLICTS_MAX) report(t, earlier, later);
  }
}

/* For what is covered by a write that surely comes after it. */
struct covered {
  struct reporter *t;
  const struct pto_window_access *by;
};

static bool is_still_live(void *context, const struct pto_index_access *access) {
  const struct covered *covered = context;
  const struct pto_window_access *earlier = &covered->t->order.accesses[access->access];
  return !pto_reach_has_path(&covered->t->order.reach, earlier->node, covered->by->node);
}

/* In the order of nodes, each held against the live ones of its bytes.  As in happens_before.h, a write makes those
 * live no more that it covers and comes after; one with a range of nodes does not. */
static bool check_access(struct reporter *t, uint32_t number) {
  const struct pto_window_access *access = &t->order.accesses[number];
  if (pto_access_index_find(&t->index, access->window, &access->region)) return false;
  for (size_t h = 0; h < t->index.hit_count; h++) {
    const struct pto_index_region *hit = &t->index.regions[t->index.hits[h].region];
    meet_list(t, hit->writes, access);
    if (access->writes) meet_list(t, hit->reads, access);
  }
  struct covered covered = {t, access};
  for (size_t h = 0; access->writes && access->begin == access->node && h < t->index.hit_count; h++) {
    const struct pto_index_hit hit = t->index.hits[h];
    if (hit.relation == PTO_EQUAL || hit.relation == PTO_COVERS)
      pto_access_index_filter(&t->index, hit.region, is_still_live, &covered);
  }
  if (pto_access_index_find(&t->index, access->window, &access->region)) return false;
  return pto_access_index_add(&t->index, access->window, &access->region, access->writes, access->node, number) ==
         PTO_OK;
}

static bool check_windows(struct reporter *t) {
  if (pto_access_index_init(&t->index, t->order.window_count + 1)) return false;
  for (uint32_t i = 0; i < t->order.access_count; i++)
    if (!check_access(t, i)) return false;
  return true;
}

/* ---- puts and gets, and what their tasks declare ---- */

/* What a task declares of a window; offsets count from its begin. */
struct declared {
  struct pto_region regions[PTO_MAX_TENSORS];
  uint32_t modes[PTO_MAX_TENSORS];
  uint32_t count;
};

static struct declared declared_of(const struct pto_trace *trace, const struct pto_trace_task *task, uint64_t window,
                                   uint64_t window_bytes) {
  struct declared declared = {.count = 0};
  for (uint32_t i = 0; i < task->param_count && declared.count < PTO_MAX_TENSORS; i++) {
    const struct pto_trace_param *param = pto_trace_param_of(trace, task, i);
    struct pto_region *region = &declared.regions[declared.count];
    pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, region);
    if (pto_region_is_empty(region) || region->start < window || region->start - window >= window_bytes) continue;
    region->start -= window;
    region->end -= window;
    declared.modes[declared.count++] = param->mode;
  }
  return declared;
}

static bool is_of_mode(uint32_t mode, bool is_write) {
  return mode == PTO_HOLD || (mode & (is_write ? PTO_OUTPUT : PTO_INPUT));
}

/* The first of the bytes lo … hi − 1 that no declared region of that mode has, up to the next that one may have. */
static bool find_undeclared(const struct declared *declared, bool is_write, struct pto_region *bytes) {
  bool has_some = false;
  for (uint32_t i = 0; i < declared->count; i++) {
    if (!is_of_mode(declared->modes[i], is_write)) continue;
    const enum pto_overlap overlap = pto_region_overlap(&declared->regions[i], bytes, NULL);
    if (overlap == PTO_EQUAL || overlap == PTO_COVERS) return false;
    has_some |= overlap != PTO_DISJOINT;
  }
  if (!has_some || bytes->run_bytes == 1) return true;
  const struct pto_region whole = *bytes;
  bytes->end = whole.start + whole.run_bytes / 2;
  bytes->run_bytes /= 2;
  if (find_undeclared(declared, is_write, bytes)) return true;
  bytes->start = whole.start + whole.run_bytes / 2;
  bytes->end = whole.end;
  bytes->run_bytes = whole.end - bytes->start;
  return find_undeclared(declared, is_write, bytes);
}

/* The same bytes and those behind them, to the next that a declared region of that mode has. */
static void extend_undeclared(const struct declared *declared, bool is_write, uint64_t end, struct pto_region *bytes) {
  for (uint64_t step = UINT64_C(1) << 63; step > 0; step /= 2) {
    if (step > end - bytes->end) continue;
    const struct pto_region more = {.start = bytes->end, .end = bytes->end + step, .run_bytes = step};
    bool is_free = true;
    for (uint32_t i = 0; is_free && i < declared->count; i++)
      is_free = !is_of_mode(declared->modes[i], is_write) || !pto_region_intersects(&declared->regions[i], &more, NULL);
    if (is_free) bytes->end += step;
  }
  bytes->run_bytes = bytes->end - bytes->start;
}

static bool has_any(const struct declared *declared, const struct pto_region *bytes) {
  for (uint32_t i = 0; i < declared->count; i++)
    if (pto_region_intersects(&declared->regions[i], bytes, NULL)) return true;
  return false;
}

/* What a put or a get touches: a window of a rank, or a buffer of its own. */
struct touched {
  uint64_t begin;
  char name[80]; /* as struct pto_finding has it */
};

static void report_undeclared(struct reporter *t, uint32_t rank, const struct pto_trace_remote *record,
                              const struct declared *declared, const struct touched *touched,
                              const struct pto_region *bytes) {
  const bool is_write = record->kind == PTO_REMOTE_WRITE;
  const bool is_other = has_any(declared, bytes);
  struct pto_finding finding = {
      PTO_FINDING_OF_RUN(is_write ? (is_other ? PTO_FINDING_WRITE_INPUT : PTO_FINDING_WRITE_OUTSIDE)
                                  : (is_other ? PTO_FINDING_READ_OUTPUT : PTO_FINDING_READ_OUTSIDE)),
      .has_ranks = true, .decided = PTO_DECIDED_THIS_ORDER};
  char side[160], place[256] = "", text[300];
  pto_rank_set_side(t->ranks, &finding, 0, rank, record->task);
  finding.ranks[1] = PTO_FINDING_NONE;
  finding.group = pto_rank_side_key(&finding, 0) ^ (uint64_t)(record->peer == rank);
  snprintf(finding.arrays[0], sizeof finding.arrays[0], "%s", touched->name);
  if (finding.places[0].own.file[0])
    snprintf(place, sizeof place, ", submitted at %s,", pto_source_call_name(&finding.places[0], text, sizeof text));
  pto_findings_add(t->findings, &finding,
                   is_write ? "declare them as an OUTPUT or an INOUT" : "declare them as an INPUT or an INOUT",
                   "%s%s %s bytes %" PRIu64 ":%" PRIu64 " of %s%s%s, which it %s",
                   pto_rank_side_name(&finding, 0, side, sizeof side), place,
                   pto_window_verb_name(pto_window_verb_of(record, rank)), bytes->start - touched->begin,
                   bytes->end - touched->begin, record->comm ? "the " : "", touched->name,
                   record->comm ? ""
                   : is_write   ? " by a get"
                                : " for a put",
                   !is_other  ? "does not declare"
                   : is_write ? "declares as an INPUT"
                              : "declares as an OUTPUT");
}

/* The parameter whose buffer has that byte; NULL: the task says nothing of it. */
static const struct pto_trace_param *find_buffer(const struct pto_trace *trace, const struct pto_trace_task *task,
                                                 uint64_t byte) {
  for (uint32_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = pto_trace_param_of(trace, task, i);
    const struct pto_buffer *buffer = &param->tensor.buffer;
    if (byte >= buffer->base && byte - buffer->base < buffer->size_bytes) return param;
  }
  return NULL;
}

/* The first bytes that the task does not declare so are a finding. */
static void check_declared_bytes(struct reporter *t, uint32_t rank, const struct pto_trace_remote *record,
                                 const struct declared *declared, const struct touched *touched) {
  const struct pto_region *region =
      pto_trace_log_at(&pto_ranks_trace(t->ranks, rank)->remote_regions, record->sequence);
  struct pto_region_runs runs = pto_region_runs(region);
  struct pto_region run = {.run_bytes = region->run_bytes};
  while (pto_region_runs_next(&runs, &run.start)) {
    struct pto_region bytes = run;
    bytes.end = run.start + run.run_bytes;
    if (!find_undeclared(declared, record->kind == PTO_REMOTE_WRITE, &bytes)) continue;
    extend_undeclared(declared, record->kind == PTO_REMOTE_WRITE, run.start + run.run_bytes, &bytes);
    report_undeclared(t, rank, record, declared, touched, &bytes);
    return;
  }
}

/* A kernel may ask for a peer's window itself (pto_core_window): a task that declares nothing of it says nothing of
 * it. */
static void check_window(struct reporter *t, uint32_t rank, const struct pto_trace_remote *record,
                         const struct pto_trace_task *task) {
  const struct pto_rank_comm *comm = pto_rank_comm_of(pto_world_rank(t->ranks->world, rank), record->comm);
  struct touched touched = {0};
  if (!comm) return;
  const uint32_t place = pto_comm_place_of(comm, record->peer);
  const struct declared declared =
      declared_of(pto_ranks_trace(t->ranks, rank), task, (uint64_t)(uintptr_t)pto_comm_window_addr(comm, place),
                  comm->window_bytes);
  if (record->peer != rank && declared.count == 0) return;
  snprintf(touched.name, sizeof touched.name, "window of rank %" PRIu32 " in comm %" PRIu32, record->peer,
           comm->number);
  check_declared_bytes(t, rank, record, &declared, &touched);
}

/* The own side, where it begins in a buffer of the task; a kernel may also put from its core's memory. */
static void check_buffer(struct reporter *t, uint32_t rank, const struct pto_trace_remote *record,
                         const struct pto_trace_task *task) {
  const struct pto_region *region =
      pto_trace_log_at(&pto_ranks_trace(t->ranks, rank)->remote_regions, record->sequence);
  struct declared declared = declared_of(pto_ranks_trace(t->ranks, rank), task, 0, UINT64_MAX);
  const struct pto_trace_param *param = find_buffer(pto_ranks_trace(t->ranks, rank), task, region->start);
  if (!param) return;
  for (uint32_t i = 0; i < declared.count; i++) /* what it reads of an output it may have written before */
    if (declared.modes[i] & PTO_OUTPUT) declared.modes[i] |= PTO_INPUT;
  struct touched touched = {.begin = param->tensor.buffer.base};
  const char *label = param->buffer_label;
  if (!label && !param->is_managed) label = pto_session_array_at(&t->ranks->sessions[rank], touched.begin);
  snprintf(touched.name, sizeof touched.name, label ? "buffer %" PRIu64 " (%.40s)" : "buffer %" PRIu64,
           param->buffer_number, label);
  check_declared_bytes(t, rank, record, &declared, &touched);
}

static void check_declared(struct reporter *t, uint32_t rank, const struct pto_trace_remote *record) {
  const struct pto_trace_task *task = pto_rank_task(t->ranks, rank, record->task);
  if (task && record->comm)
    check_window(t, rank, record, task);
  else if (task)
    check_buffer(t, rank, record, task);
}

static void check_all_declared(struct reporter *t) {
  for (uint32_t r = 0; r < t->ranks->rank_count; r++) {
    const struct pto_trace_log *remotes = &pto_ranks_trace(t->ranks, r)->remotes;
    for (uint64_t i = 0; i < remotes->count; i++) {
      const struct pto_trace_remote *record = pto_trace_log_at(remotes, i);
      if (record->kind == PTO_REMOTE_READ || record->kind == PTO_REMOTE_WRITE) check_declared(t, r, record);
    }
  }
}

/* ---- a run that failed ---- */

/* A run that failed for another reason than that ranks wait, and that no interrupt ended. */
static void report_failed(struct reporter *t) {
  const struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_FAILED)};
  const int status = t->ranks->error.status;
  if (status && status != PTO_EDEADLOCK && status != PTO_EINTERRUPTED)
    pto_findings_add(t->findings, &finding, NULL, "%s", t->ranks->error.sentence);
}

/* ---- the whole ---- */

static int check_all(struct reporter *t, struct pto_error *error) {
  for (uint32_t r = 0; r < t->ranks->rank_count; r++) {
    const int status = check_rank(t, r, error);
    if (status) return status;
  }
  const int status = pto_world_order_init(&t->order, t->ranks, t->ranks->sessions[0].rules, error);
  if (status) return status;
  report_failed(t);
  pto_ranks_report_stuck(&t->order, t->findings);
  pto_ranks_check_participation(t->ranks, t->findings);
  if (!check_windows(t))
    return pto_error_set(error, PTO_ENOMEM, "no memory to check %" PRIu32 " ranks", t->ranks->rank_count);
  pto_ranks_check_sets(&t->order, t->findings);
  check_all_declared(t);
  pto_ranks_report_left(&t->order, t->findings);
  return PTO_OK;
}

int pto_ranks_check(struct pto_ranks *ranks, struct pto_findings *findings, struct pto_order_counts *counts,
                    struct pto_error *error) {
  struct reporter t = {.ranks = ranks, .findings = findings, .counts = counts};
  *counts = (struct pto_order_counts){0};
  for (uint32_t r = 0; r < ranks->rank_count; r++)
    if (!pto_ranks_trace(ranks, r))
      return pto_error_set(error, PTO_ENOTSUP,
                           "%s drives contexts of its own: check judges ranks whose program is an orchestration alone",
                           ranks->program);
  if (!ranks->lines) ranks->lines = pto_source_lines_create();
  const int status = check_all(&t, error);
  pto_access_index_fini(&t.index);
  pto_world_order_fini(&t.order);
  return status;
}
