/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_check.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/access_index.h>
#include <check/order/access_text.h>
#include <check/order/happens_before.h>
#include <check/ranks/ranks_advice.h>
#include <check/ranks/world_order.h>
#include <pto/collectives.h>
#include <runtime/base/dtype.h>
#include <runtime/tensor/region_runs.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/trace_words.h>

/* Of more conflicts than this it is not searched what explains them. */
#define MOST_ADVISED 256u

struct reporter {
  struct pto_ranks *ranks;
  struct pto_findings *findings;
  struct pto_order_counts *counts;
  struct pto_source_lines *lines;
  struct pto_world_order order;
  struct pto_access_index index;
  uint64_t conflicts;
};

/* NULL: the rank has not submitted it. */
static const struct pto_trace_task *task_of(const struct reporter *t, uint32_t rank, uint64_t number) {
  const struct pto_trace *trace = rank < t->ranks->rank_count ? pto_ranks_trace(t->ranks, rank) : NULL;
  return trace && number < trace->tasks.count ? pto_trace_log_at(&trace->tasks, number) : NULL;
}

/* Side `i` of a finding is that task of that rank, which may not be there. */
static void set_side(const struct reporter *t, struct pto_finding *finding, int i, uint32_t rank, uint64_t number) {
  const struct pto_trace_task *task = task_of(t, rank, number);
  finding->ranks[i] = rank;
  if (!task) return;
  finding->tasks[i] = number;
  pto_source_lines_find(t->lines, task->call, task->outer_call, &finding->places[i]);
  pto_trace_task_name(task, finding->kernels[i], sizeof finding->kernels[i]);
}

/* The same mistake on all ranks, which have the program loaded once each. */
static uint64_t key_of(const struct pto_finding *finding, int i) {
  const struct pto_source_call *place = &finding->places[i];
  uint64_t key = pto_xxh64(finding->kernels[i], strlen(finding->kernels[i]), place->own.line);
  key = pto_xxh64(place->own.file, strlen(place->own.file), key ^ place->callee.line << 32);
  return pto_mix64(key ^ finding->params[i]);
}

/* "rank 3 task 812 (dispatch_meta)"; without the task where it has none. */
static const char *name_side(const struct pto_finding *finding, int i, char *text, size_t size) {
  if (finding->tasks[i] == PTO_FINDING_NONE)
    snprintf(text, size, "rank %" PRIu64, finding->ranks[i]);
  else
    snprintf(text, size, "rank %" PRIu64 " task %" PRIu64 " (%s)", finding->ranks[i], finding->tasks[i],
             finding->kernels[i]);
  return text;
}

/* ---- a rank by itself ---- */

void pto_ranks_add_findings(struct pto_findings *all, uint32_t rank, const struct pto_findings *own, bool has_notes) {
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

static uint64_t param_of(const struct reporter *t, const struct pto_window_access *access) {
  if (access->local == PTO_GRAPH_NONE) return PTO_FINDING_NONE;
  const struct pto_trace_param *param = t->order.graphs[access->rank].accesses[access->local].param;
  return param && param->index != UINT32_MAX ? param->index : PTO_FINDING_NONE;
}

static uint64_t number_of_task(const struct reporter *t, const struct pto_window_access *access) {
  const struct pto_graph_node *node = &t->order.graphs[access->rank].nodes[access->its_node];
  return node->is_host ? PTO_FINDING_NONE : node->index;
}

/* The host's place, or the task's. */
static void set_access(const struct reporter *t, struct pto_finding *finding, int i,
                       const struct pto_window_access *access) {
  const struct pto_access_graph *graph = &t->order.graphs[access->rank];
  set_side(t, finding, i, access->rank, number_of_task(t, access));
  if (graph->nodes[access->its_node].is_host)
    pto_source_lines_find(t->lines, pto_graph_host(graph, access->its_node)->call, NULL, &finding->places[i]);
  finding->params[i] = param_of(t, access);
}

/* "rank 1 task 3 (add) param 0 reads". */
static void name_access(const struct reporter *t, const struct pto_finding *finding, int i,
                        const struct pto_window_access *access, char *text, size_t size) {
  char side[160], param[32] = "";
  const bool is_host = t->order.graphs[access->rank].nodes[access->its_node].is_host;
  if (finding->params[i] != PTO_FINDING_NONE) snprintf(param, sizeof param, "param %" PRIu64 " ", finding->params[i]);
  snprintf(text, size, "%s %s%s%s", name_side(finding, i, side, sizeof side), is_host ? "host " : "", param,
           pto_window_verb_name(access->verb));
}

static void report(struct reporter *t, const struct pto_window_access *earlier, const struct pto_window_access *later) {
  const struct pto_order_window *window = &t->order.windows[earlier->window];
  char first[240], second[240], place[512];
  struct pto_finding finding = {.kind = !earlier->writes ? PTO_FINDING_WAR
                                        : later->reads   ? PTO_FINDING_RAW
                                                         : PTO_FINDING_WAW,
                                .tasks = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                .has_ranks = true,
                                .decided = PTO_DECIDED_THIS_ORDER}; /* by which wait took which notify */
  set_access(t, &finding, 0, earlier);
  set_access(t, &finding, 1, later);
  finding.group =
      pto_mix64(key_of(&finding, 0) ^ pto_mix64(key_of(&finding, 1)) ^ (uint64_t)earlier->verb << 8 ^ later->verb);
  for (int i = 0; i < 2; i++) {
    const struct pto_region *region = i ? &later->region : &earlier->region;
    snprintf(finding.arrays[i], sizeof finding.arrays[i], "window of rank %" PRIu32 " in comm %" PRIu32, window->owner,
             window->number);
    snprintf(finding.extents[i], sizeof finding.extents[i], "bytes %" PRIu64 ":%" PRIu64, region->start, region->end);
  }
  name_access(t, &finding, 0, earlier, first, sizeof first);
  name_access(t, &finding, 1, later, second, sizeof second);
  struct pto_ranks_advice advice;
  pto_ranks_advise(&t->order, earlier, later, t->conflicts <= MOST_ADVISED, &advice);
  pto_findings_add(t->findings, &finding, advice.remedy, "%s %s of the %s; %s %s of it%s; %s", first,
                   finding.extents[0], finding.arrays[0], second, finding.extents[1],
                   pto_finding_say_places(&finding, place, sizeof place), advice.cause);
}

static void meet_list(struct reporter *t, uint32_t list, const struct pto_window_access *later) {
  for (uint32_t i = list; i != PTO_INDEX_NONE; i = t->index.accesses[i].next) {
    const struct pto_window_access *earlier = &t->order.accesses[t->index.accesses[i].access];
    if (earlier->rank == later->rank) continue; /* what the rank's own check is about */
    t->counts->pairs++;
    if (pto_world_order_has(&t->order, earlier, later) || ++t->conflicts > PTO_CONFLICTS_MAX) continue;
    report(t, earlier, later);
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
  set_side(t, &finding, 0, rank, record->task);
  finding.ranks[1] = PTO_FINDING_NONE;
  finding.group = key_of(&finding, 0) ^ (uint64_t)(record->peer == rank);
  snprintf(finding.arrays[0], sizeof finding.arrays[0], "%s", touched->name);
  if (finding.places[0].own.file[0])
    snprintf(place, sizeof place, ", submitted at %s,", pto_source_call_name(&finding.places[0], text, sizeof text));
  pto_findings_add(t->findings, &finding,
                   is_write ? "declare them as an OUTPUT or an INOUT" : "declare them as an INPUT or an INOUT",
                   "%s%s %s bytes %" PRIu64 ":%" PRIu64 " of %s%s%s, which it %s",
                   name_side(&finding, 0, side, sizeof side), place,
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
  const struct pto_trace_task *task = task_of(t, rank, record->task);
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

/* ---- signals that no kernel waits for ---- */

/* A wait for the signal goes on for ever: what came of it is told there. */
static bool is_awaited(const struct reporter *t, const struct pto_unheard *unheard) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(pto_world_part(t->ranks->world), &count);
  for (size_t i = 0; i < count; i++)
    if (waits[i].rank == unheard->rank && waits[i].comm == unheard->comm && waits[i].signal == unheard->signal)
      return true;
  return false;
}

static void report_unheard(struct reporter *t) {
  char side[160], place[256] = "", text[300];
  for (size_t i = 0; i < t->order.unheard_count; i++) {
    const struct pto_unheard *unheard = &t->order.unheard[i];
    const struct pto_trace_task *task = task_of(t, unheard->source, unheard->task);
    if (is_awaited(t, unheard) || (task && pto_task_is_collective(task)))
      continue; /* each says that it is done, also where none follows */
    struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_LEFT_OVER), .has_ranks = true};
    set_side(t, &finding, 0, unheard->source, unheard->task);
    finding.ranks[1] = unheard->rank;
    finding.group = key_of(&finding, 0);
    if (finding.places[0].own.file[0])
      snprintf(place, sizeof place, ", submitted at %s", pto_source_call_name(&finding.places[0], text, sizeof text));
    pto_findings_add(t->findings, &finding, NULL,
                     "%s%s, notifies signal %" PRIu32 " of rank %" PRIu32 " in comm %" PRIu32
                     ", and no wait of that rank was for it",
                     name_side(&finding, 0, side, sizeof side), place, unheard->signal, unheard->rank,
                     pto_rank_comm_number(pto_world_rank(t->ranks->world, unheard->rank), unheard->comm));
  }
}

/* ---- collectives that are not the same ---- */

/* A rank's n-th group of a communicator: what the rank said of it, and its task. */
struct said {
  const struct pto_trace *trace;
  const struct pto_trace_remote *group; /* NULL: it has submitted none */
  const struct pto_trace_task *task;    /* NULL: the same */
};

/* The next of that communicator, from *at on. */
static struct said next_said(const struct reporter *t, uint32_t rank, uint64_t uid, uint64_t *at) {
  struct said said = {.trace = pto_ranks_trace(t->ranks, rank)};
  while (*at < said.trace->remotes.count && !said.group) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&said.trace->remotes, (*at)++);
    if (remote->kind == PTO_REMOTE_GROUP && remote->comm == uid) said.group = remote;
  }
  if (said.group) said.task = task_of(t, rank, said.group->task);
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

static void report_participation(struct reporter *t, const struct pto_rank_comm *comm, uint64_t n,
                                 const uint32_t *ranks, const struct said *a, const struct said *b, const char *how) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_PARTICIPATION), .has_ranks = true};
  char first[160], other[160] = "there is none", place[512];
  set_side(t, &finding, 0, ranks[0], a->task->number);
  set_side(t, &finding, 1, ranks[1], b->task ? b->task->number : UINT64_MAX);
  finding.group = key_of(&finding, 0) ^ n;
  if (b->task) snprintf(other, sizeof other, "it is task %" PRIu64 " (%s)", b->task->number, finding.kernels[1]);
  pto_findings_add(t->findings, &finding, how[0] ? "let all ranks give it the same" : NULL,
                   "collective %" PRIu64 " of comm %" PRIu32 " is %s, but on rank %" PRIu32 " %s%s%s", n, comm->number,
                   name_side(&finding, 0, first, sizeof first), ranks[1], other, how,
                   pto_finding_say_places(&finding, place, sizeof place));
}

/* The first that differs, of one communicator: `comm` as its first rank has it. */
static void check_participation(struct reporter *t, const struct pto_rank_comm *comm) {
  uint64_t at[PTO_MAX_RANKS] = {0};
  struct said said[PTO_MAX_RANKS];
  char how[160];
  for (uint64_t n = 0;; n++) {
    uint32_t first = comm->size, submitted = 0;
    for (uint32_t i = 0; i < comm->size; i++) {
      said[i] = next_said(t, comm->ranks[i], comm->uid, &at[i]);
      submitted += said[i].group != NULL;
      if (first == comm->size && is_collective(&said[i])) first = i;
    }
    if (submitted == 0) return;
    for (uint32_t i = 0; first < comm->size && i < comm->size; i++) {
      if (!differs(&said[first], &said[i], how, sizeof how)) continue;
      const uint32_t ranks[] = {comm->ranks[first], comm->ranks[i]};
      report_participation(t, comm, n, ranks, &said[first], &said[i], how);
      return;
    }
  }
}

static void check_all_participation(struct reporter *t) {
  for (uint32_t r = 0; r < t->ranks->rank_count; r++) {
    const struct pto_rank *rank = pto_world_rank(t->ranks->world, r);
    for (size_t i = 0; i < rank->number_count; i++)
      if (rank->by_number[i]->place == 0) check_participation(t, rank->by_number[i]);
  }
}

/* ---- what waits for ever ---- */

static void report_stuck(struct reporter *t) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(pto_world_part(t->ranks->world), &count);
  for (size_t i = 0; i < count; i++) {
    const struct pto_stuck_wait *wait = &waits[i];
    struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_WAITS), .has_ranks = true};
    if (wait->blamed != UINT32_MAX) set_side(t, &finding, 0, wait->blamed, wait->its_task);
    if (wait->blamed == UINT32_MAX) finding.ranks[0] = PTO_FINDING_NONE;
    set_side(t, &finding, 1, wait->rank, wait->task);
    finding.group = pto_mix64(key_of(&finding, 1) ^ wait->blamed);
    pto_findings_add(t->findings, &finding, NULL, "%s", wait->text);
  }
}

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
  report_stuck(t);
  check_all_participation(t);
  if (!check_windows(t))
    return pto_error_set(error, PTO_ENOMEM, "no memory to check %" PRIu32 " ranks", t->ranks->rank_count);
  check_all_declared(t);
  report_unheard(t);
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
  t.lines = ranks->lines;
  const int status = check_all(&t, error);
  pto_access_index_fini(&t.index);
  pto_world_order_fini(&t.order);
  return status;
}
