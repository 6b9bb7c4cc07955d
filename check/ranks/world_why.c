/* SPDX-License-Identifier: MIT */
#include <check/ranks/world_why.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/happens_before.h>
#include <check/order/order_coverage.h>
#include <check/ranks/world_order.h>
#include <report/findings/report.h>
#include <runtime/trace/remote.h>
#include <runtime/trace/trace_words.h>

enum extent { NO_WAY, PART, WHOLE };

/* From a task of one rank to one of another. */
struct way {
  enum extent extent;
  uint32_t *path; /* nodes of the world's order, both ends included */
  uint32_t length;
};

struct world_why {
  struct pto_report report;
  struct pto_ranks *ranks;
  struct pto_world_why_request asked;
  struct pto_report *local; /* of one rank; NULL: they are of two */
  struct pto_source_lines *lines;
  struct pto_world_order order;
  struct way ways[2]; /* from the first to the second, and back */
};

/* ---- ways ---- */

/* All of one before all of the other, else a part before a part. */
static int find_way(struct world_why *why, int from, struct way *way) {
  const int to = 1 - from;
  uint32_t nodes[2][2]; /* first and last stretch of each */
  for (int i = 0; i < 2; i++) {
    const uint32_t rank = why->asked.ranks[i], node = why->order.graphs[rank].node_of_task[why->asked.tasks[i]];
    nodes[i][0] = why->order.first[rank][node];
    nodes[i][1] = why->order.last[rank][node];
  }
  way->path = malloc((why->order.graph.node_count + 1u) * sizeof *way->path);
  if (!way->path) return PTO_ENOMEM;
  way->length = pto_reach_shortest_path(&why->order.reach, nodes[from][1], nodes[to][0], way->path);
  if (way->length) way->extent = WHOLE;
  if (!way->length) way->length = pto_reach_shortest_path(&why->order.reach, nodes[from][0], nodes[to][1], way->path);
  if (way->length && !way->extent) way->extent = PART;
  return PTO_OK;
}

/* What a node ends with that the other one, of another rank, waits for; NULL: it is not known. */
static const struct pto_trace_remote *find_notify(const struct world_why *why, const struct pto_order_place *from,
                                                  const struct pto_order_place *to,
                                                  const struct pto_trace_remote *wait) {
  const struct pto_trace_log *records = &pto_ranks_trace(why->ranks, from->rank)->remotes;
  const uint32_t task = why->order.graphs[from->rank].nodes[from->node].index;
  for (uint64_t i = from->record == PTO_GRAPH_NONE ? 0 : from->record; i < records->count; i++) {
    const struct pto_trace_remote *record = pto_trace_log_at(records, i);
    if (record->kind == PTO_REMOTE_NOTIFY && record->task == task && record->peer == to->rank &&
        record->comm == wait->comm && record->signal == wait->signal)
      return record;
  }
  return NULL;
}

static const struct pto_trace_remote *find_wait(const struct world_why *why, const struct pto_order_place *to) {
  return to->record == PTO_GRAPH_NONE ? NULL
                                      : pto_trace_log_at(&pto_ranks_trace(why->ranks, to->rank)->remotes, to->record);
}

static bool is_one_task(const struct pto_order_place *a, const struct pto_order_place *b) {
  return a->rank == b->rank && a->node == b->node;
}

/* ---- text ---- */

static const char *name_place(const struct world_why *why, const struct pto_order_place *place, char *text,
                              size_t size) {
  char name[160];
  if (place->rank == PTO_GRAPH_NONE) {
    snprintf(text, size, "pto_comm_create");
    return text;
  }
  const struct pto_access_graph *graph = &why->order.graphs[place->rank];
  if (graph->nodes[place->node].is_host)
    snprintf(text, size, "rank %" PRIu32 " host access %" PRIu32, place->rank, graph->nodes[place->node].index);
  else
    snprintf(text, size, "rank %" PRIu32 " task %" PRIu32 " (%s)", place->rank, graph->nodes[place->node].index,
             pto_trace_task_name(pto_graph_task(graph, place->node), name, sizeof name));
  return text;
}

static void print_local(const struct world_why *why, FILE *to, const struct pto_order_place *a,
                        const struct pto_order_place *b) {
  uint64_t count;
  const struct pto_graph_edge *edges = pto_graph_edges_between(&why->order.graphs[a->rank], a->node, b->node, &count);
  if (!count) fputs("    the host goes on when its access is over\n", to);
  for (uint64_t i = 0, told = 0; i < count; i++) {
    if (told & edges[i].reason) continue;
    fprintf(to, "%s%s", told ? ", " : "    ", pto_edge_reason_name(edges[i].reason));
    told |= edges[i].reason;
  }
  if (count) putc('\n', to);
}

static void print_message(const struct world_why *why, FILE *to, const struct pto_order_place *a,
                          const struct pto_order_place *b) {
  const struct pto_trace_remote *wait = find_wait(why, b);
  const struct pto_trace_remote *notify = wait ? find_notify(why, a, b, wait) : NULL;
  if (!notify) return;
  const uint32_t comm = pto_rank_comm_number(pto_world_rank(why->ranks->world, b->rank), wait->comm);
  fprintf(to, "    notifies signal %" PRIu32 " of rank %" PRIu32 " in comm %" PRIu32 " (%s %" PRId32 "), ",
          wait->signal, b->rank, comm, notify->is_set ? "set to" : "add", notify->value);
  fprintf(to, "that %s it is %s %" PRId32 "\n", wait->kind == PTO_REMOTE_TEST ? "tests whether" : "waits until",
          wait->is_equal ? "=" : ">=", wait->value);
}

static void print_way(const struct world_why *why, FILE *to, const struct way *way) {
  char first[256], second[256];
  for (uint32_t i = 1; i < way->length; i++) {
    const struct pto_order_place *a = &why->order.places[way->path[i - 1]], *b = &why->order.places[way->path[i]];
    if (is_one_task(a, b)) continue; /* it goes on */
    fprintf(to, "  %s → %s\n", name_place(why, a, first, sizeof first), name_place(why, b, second, sizeof second));
    if (a->rank == PTO_GRAPH_NONE || b->rank == PTO_GRAPH_NONE)
      fputs("    it returns when all ranks have come to it\n", to);
    else if (a->rank == b->rank)
      print_local(why, to, a, b);
    else
      print_message(why, to, a, b);
  }
}

/* ---- what both touch of windows ---- */

static bool is_of(const struct world_why *why, const struct pto_window_access *access, int i) {
  const uint32_t rank = why->asked.ranks[i];
  return access->rank == rank && access->its_node == why->order.graphs[rank].node_of_task[why->asked.tasks[i]];
}

/* The next pair of accesses, of the first task and of the second, of which one writes bytes that the other one touches:
 * from the pair *at on.  False: there is none. */
static bool next_common(const struct world_why *why, uint64_t *at, const struct pto_window_access **a,
                        const struct pto_window_access **b) {
  const uint64_t count = why->order.access_count;
  for (; *at < count * count; ++*at) {
    *a = &why->order.accesses[*at / count];
    *b = &why->order.accesses[*at % count];
    if (!is_of(why, *a, 0)) {
      *at += count - 1;
      continue;
    }
    if (!is_of(why, *b, 1) || (*a)->window != (*b)->window || !((*a)->writes || (*b)->writes) ||
        !pto_region_intersects(&(*a)->region, &(*b)->region, NULL))
      continue;
    ++*at;
    return true;
  }
  return false;
}

static void print_access(const struct world_why *why, FILE *to, const struct pto_window_access *access) {
  fprintf(to, "rank %" PRIu32 " task %" PRIu32 " %s bytes %" PRIu64 ":%" PRIu64, access->rank,
          why->order.graphs[access->rank].nodes[access->its_node].index, pto_window_verb_name(access->verb),
          access->region.start, access->region.end);
}

static void print_commons(struct world_why *why, FILE *to) {
  const struct pto_window_access *a, *b;
  for (uint64_t at = 0; next_common(why, &at, &a, &b);) {
    const struct pto_order_window *window = &why->order.windows[a->window];
    fputs("  ", to);
    print_access(why, to, a);
    fprintf(to, " of the window of rank %" PRIu32 " in comm %" PRIu32 "; ", window->owner, window->number);
    print_access(why, to, b);
    fputs(pto_world_order_has(&why->order, a, b) ? ": ordered\n" : ": nothing orders these\n", to);
  }
}

static void print_heading(const struct world_why *why, FILE *to) {
  char name[256], place[256];
  for (int i = 0; i < 2; i++) {
    const uint32_t rank = why->asked.ranks[i];
    const struct pto_trace_task *task =
        pto_trace_log_at(&pto_ranks_trace(why->ranks, rank)->tasks, why->asked.tasks[i]);
    struct pto_source_call found;
    pto_source_lines_find(why->lines, task->call, task->outer_call, &found);
    pto_source_call_name(&found, place, sizeof place);
    fprintf(to, "%srank %" PRIu32 " task %" PRIu64 " (%s)%s%s", i ? " and " : "", rank, why->asked.tasks[i],
            pto_trace_task_name(task, name, sizeof name), place[0] ? ", " : "", place);
  }
  putc('\n', to);
}

static void print(const struct pto_report *report, FILE *to) {
  static const char *const sentences[] = {
      [PART] = "a part of %s comes before a part of %s:\n", [WHOLE] = "%s comes before %s:\n"};
  struct world_why *why = (struct world_why *)(uintptr_t)report; /* searches mark what they have visited */
  char names[2][64];
  if (why->local) {
    fprintf(to, "rank %" PRIu32 ": ", why->asked.ranks[0]);
    why->local->print(why->local, to);
    if (pto_report_is_clean(why->local)) return;
  } else {
    print_heading(why, to);
  }
  for (int i = 0; i < 2; i++)
    snprintf(names[i], sizeof names[i], "rank %" PRIu32 " task %" PRIu64, why->asked.ranks[i], why->asked.tasks[i]);
  for (int i = 0; i < 2; i++) {
    if (why->ways[i].extent == NO_WAY) continue;
    fprintf(to, sentences[why->ways[i].extent], names[i], names[1 - i]);
    print_way(why, to, &why->ways[i]);
  }
  if (!why->report.is_clean)
    fprintf(to, "no notify and wait orders the two%s\n", why->local ? " through other ranks" : "");
  if (!why->local) print_commons(why, to);
}

/* ---- JSON ---- */

static void put_place(const struct world_why *why, struct pto_json_writer *w, const char *key,
                      const struct pto_order_place *place) {
  pto_json_put_object(w, key);
  if (place->rank != PTO_GRAPH_NONE) {
    const struct pto_graph_node *node = &why->order.graphs[place->rank].nodes[place->node];
    pto_json_put_u64(w, "rank", place->rank);
    pto_json_put_u64(w, node->is_host ? "host" : "task", node->index);
  }
  pto_json_object_end(w);
}

static void put_step(const struct world_why *why, struct pto_json_writer *w, const struct pto_order_place *a,
                     const struct pto_order_place *b) {
  const bool is_message = a->rank != b->rank && a->rank != PTO_GRAPH_NONE && b->rank != PTO_GRAPH_NONE;
  const struct pto_trace_remote *wait = is_message ? find_wait(why, b) : NULL;
  pto_json_object_begin(w);
  put_place(why, w, "from", a);
  put_place(why, w, "to", b);
  pto_json_put_string(w, "kind", is_message ? "notify" : a->rank == b->rank ? "edge" : "communicator");
  if (wait) {
    pto_json_put_u64(w, "comm", pto_rank_comm_number(pto_world_rank(why->ranks->world, b->rank), wait->comm));
    pto_json_put_u64(w, "signal", wait->signal);
  }
  pto_json_object_end(w);
}

static void put_way(const struct world_why *why, struct pto_json_writer *w, int from) {
  const struct way *way = &why->ways[from];
  pto_json_object_begin(w);
  for (int i = 0; i < 2; i++) {
    const int side = i ? 1 - from : from;
    pto_json_put_object(w, i ? "to" : "from");
    pto_json_put_u64(w, "rank", why->asked.ranks[side]);
    pto_json_put_u64(w, "task", why->asked.tasks[side]);
    pto_json_object_end(w);
  }
  pto_json_put_string(w, "extent", way->extent == WHOLE ? "whole" : "part");
  pto_json_put_array(w, "links");
  for (uint32_t i = 1; i < way->length; i++) {
    const struct pto_order_place *a = &why->order.places[way->path[i - 1]], *b = &why->order.places[way->path[i]];
    if (!is_one_task(a, b)) put_step(why, w, a, b);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_access(const struct world_why *why, struct pto_json_writer *w, const char *key,
                       const struct pto_window_access *access) {
  pto_json_put_object(w, key);
  pto_json_put_u64(w, "rank", access->rank);
  pto_json_put_u64(w, "task", why->order.graphs[access->rank].nodes[access->its_node].index);
  pto_json_put_string(w, "verb", pto_window_verb_name(access->verb));
  pto_json_put_u64(w, "begin", access->region.start);
  pto_json_put_u64(w, "end", access->region.end);
  pto_json_object_end(w);
}

static void put_commons(struct world_why *why, struct pto_json_writer *w) {
  const struct pto_window_access *a, *b;
  pto_json_put_array(w, "windows");
  for (uint64_t at = 0; !why->local && next_common(why, &at, &a, &b);) {
    pto_json_object_begin(w);
    pto_json_put_u64(w, "owner", why->order.windows[a->window].owner);
    pto_json_put_u64(w, "comm", why->order.windows[a->window].number);
    pto_json_put_bool(w, "is_ordered", pto_world_order_has(&why->order, a, b));
    put_access(why, w, "from", a);
    put_access(why, w, "to", b);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  struct world_why *why = (struct world_why *)(uintptr_t)context;
  if (why->local) {
    why->local->put(w, why->local);
  } else {
    pto_json_put_format(w, "pto-why", 1);
    pto_json_put_string(w, "program", why->ranks->program);
    pto_json_put_string(w, "case", why->ranks->sessions[0].result.case_name);
    pto_json_put_u64(w, "from", why->asked.tasks[0]);
    pto_json_put_u64(w, "to", why->asked.tasks[1]);
    pto_json_put_array(w, "rules");
    pto_json_array_end(w);
  }
  pto_json_put_array(w, "ranks");
  for (int i = 0; i < 2; i++) pto_json_u64(w, why->asked.ranks[i]);
  pto_json_array_end(w);
  pto_json_put_array(w, "ways");
  for (int i = 0; i < 2; i++)
    if (why->ways[i].extent != NO_WAY) put_way(why, w, i);
  pto_json_array_end(w);
  put_commons(why, w);
}

/* ---- the report ---- */

static void fini(struct pto_report *report) {
  struct world_why *why = (struct world_why *)report;
  for (int i = 0; i < 2; i++) free(why->ways[i].path);
  pto_report_destroy(why->local);
  pto_world_order_fini(&why->order);
  pto_source_lines_destroy(why->lines);
}

static int check_range(const struct world_why *why, struct pto_error *error) {
  for (int i = 0; i < 2; i++) {
    const uint32_t rank = why->asked.ranks[i], last = why->ranks->rank_count - 1;
    if (rank > last)
      return pto_error_set(error, PTO_EINVAL, "there is no rank %" PRIu32 ": they are 0 to %" PRIu32, rank, last);
    if (!pto_ranks_trace(why->ranks, rank))
      return pto_error_set(error, PTO_ENOTSUP, "rank %" PRIu32 " has no record of its run", rank);
    const uint64_t count = pto_ranks_trace(why->ranks, rank)->tasks.count;
    if (why->asked.tasks[i] >= count)
      return pto_error_set(error, PTO_EINVAL, "rank %" PRIu32 " has no task %" PRIu64 ": it submitted %" PRIu64, rank,
                           why->asked.tasks[i], count);
  }
  return PTO_OK;
}

static int explain_local(struct world_why *why, struct pto_error *error) {
  const struct pto_world_why_request *asked = &why->asked;
  const struct pto_why_request request = {.size = sizeof request,
                                          .tasks = {asked->tasks[0], asked->tasks[1]},
                                          .has_rules = asked->has_rules,
                                          .rules = asked->rules};
  return pto_session_why(&why->ranks->sessions[asked->ranks[0]], &request, &why->local, error->sentence,
                         sizeof error->sentence);
}

/* Tasks that are there. */
static void cover(struct world_why *why) {
  for (int i = 0; i < 2; i++) {
    const struct pto_trace *trace = pto_ranks_trace(why->ranks, why->asked.ranks[i]);
    pto_order_cover_task(trace, pto_trace_task_at(trace, why->asked.tasks[i]), true, &why->report.coverage);
  }
}

static int explain(struct world_why *why, struct pto_error *error) {
  int status = check_range(why, error);
  if (status) return status;
  cover(why);
  if (why->asked.ranks[0] == why->asked.ranks[1]) {
    status = explain_local(why, error);
    if (status) return status;
    why->report.is_clean = pto_report_is_clean(why->local);
    if (why->report.is_clean) return PTO_OK;
  }
  status = pto_world_order_init(&why->order, why->ranks, why->ranks->sessions[0].rules, error);
  for (int i = 0; i < 2 && !status; i++) {
    status = find_way(why, i, &why->ways[i]);
    if (status) pto_error_set(error, status, "no memory for the way between two tasks");
    why->report.is_clean |= why->ways[i].extent != NO_WAY;
  }
  return status;
}

int pto_world_why(struct pto_ranks *ranks, const struct pto_world_why_request *request, struct pto_report **report_out,
                  struct pto_error *error) {
  struct world_why *why = calloc(1, sizeof *why);
  if (!why) return pto_error_set(error, PTO_ENOMEM, "no memory for the answer");
  why->report = (struct pto_report){.print = print, .put = put_report, .fini = fini};
  why->ranks = ranks;
  why->asked = *request;
  why->lines = pto_source_lines_create();
  return pto_report_give(&why->report, explain(why, error), report_out, error);
}
