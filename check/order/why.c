/* SPDX-License-Identifier: MIT */
#include <check/order/why.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/access_text.h>
#include <check/order/explain.h>
#include <check/order/order_coverage.h>
#include <report/findings/findings.h>
#include <report/findings/report.h>
#include <runtime/deps/rules.h>
#include <runtime/trace/trace_words.h>

/* Under one set of rules. */
struct side {
  struct pto_access_graph graph;
  struct pto_reach reach;
  struct pto_access_text text;
  struct pto_explanation explanation;
};

struct why {
  struct pto_report report;
  struct pto_why_question question;
  struct pto_source_lines *lines;
  uint32_t side_count;     /* how many rules were asked about */
  uint64_t earlier, later; /* task numbers */
  struct side sides[PTO_DEPS_SET_COUNT];
};

static const char *const answers[] = {
    [PTO_ANSWER_EDGE] = "edge", [PTO_ANSWER_PATH] = "path", [PTO_ANSWER_NONE] = "none"};

/* ---- the question ---- */

static int check_range(struct why *why, struct pto_error *error) {
  const uint64_t count = why->question.trace->tasks.count;
  for (int i = 0; i < 2; i++) {
    const uint64_t number = why->question.asked.tasks[i];
    if (number < count) continue;
    if (!count) return pto_error_set(error, PTO_EINVAL, "the program submitted no task");
    return pto_error_set(error, PTO_EINVAL, "there is no task %" PRIu64 ": the program's are 0 to %" PRIu64, number,
                         count - 1);
  }
  if (why->earlier == why->later) return pto_error_set(error, PTO_EINVAL, "both are task %" PRIu64, why->earlier);
  return PTO_OK;
}

static int explain_side(struct why *why, struct side *side, uint32_t rules, struct pto_error *error) {
  int status = pto_access_graph_init(&side->graph, why->question.trace, rules, error);
  /* What a record lacks is no mistake of who asks. */
  if (status) return error->status = status == PTO_EINVAL ? PTO_ENOTSUP : status;
  status = pto_reach_init(&side->reach, &side->graph);
  if (!status) status = pto_access_text_init(&side->text, &side->graph);
  if (!status)
    status = pto_explain(&side->reach, side->graph.node_of_task[why->earlier], side->graph.node_of_task[why->later],
                         &side->explanation);
  side->text.lines = why->lines;
  side->text.name_of = why->question.name_of;
  side->text.context = why->question.context;
  return status ? pto_error_set(error, status, "no memory for the graph") : PTO_OK;
}

/* How many of an edge's reasons, which stand in the order of their bits, are hazards or explicit. */
static uint64_t without_creators(const struct pto_graph_edge *edges, uint64_t count) {
  while (count && edges[count - 1].reason == PTO_EDGE_CREATOR) count--;
  return count;
}

/* The same answer for the same reasons, but for those of creator-edges: then it is told once. */
static bool is_alike(const struct side *a, const struct side *b) {
  const struct pto_explanation *x = &a->explanation, *y = &b->explanation;
  if (x->path_length != y->path_length || x->common_count != y->common_count) return false;
  if (memcmp(x->path, y->path, x->path_length * sizeof *x->path)) return false;
  for (uint32_t i = 0; x->answer == PTO_ANSWER_NONE && i < x->common_count; i++)
    if (x->commons[i].kind != y->commons[i].kind) return false;
  for (uint32_t i = 1; i < x->path_length; i++) {
    uint64_t n, m;
    const struct pto_graph_edge *e = pto_graph_edges_between(&a->graph, x->path[i - 1], x->path[i], &n);
    const struct pto_graph_edge *f = pto_graph_edges_between(&b->graph, x->path[i - 1], x->path[i], &m);
    n = without_creators(e, n);
    if (n != without_creators(f, m) || memcmp(e, f, n * sizeof *e)) return false;
  }
  return true;
}

/* ---- text ---- */

/* "RAW and WAW" of the edges, `count` in number, between the accesses of the first one. */
static void name_reasons(const struct pto_graph_edge *edges, uint64_t count, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (uint64_t i = 0; i < count && used < size; i++)
    if (edges[i].producer_access == edges[0].producer_access && edges[i].consumer_access == edges[0].consumer_access)
      used +=
          (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", pto_edge_reason_name(edges[i].reason));
}

static bool is_told(const struct pto_graph_edge *edges, uint64_t index) {
  for (uint64_t i = 0; i < index; i++)
    if (edges[i].producer_access == edges[index].producer_access &&
        edges[i].consumer_access == edges[index].consumer_access)
      return true;
  return false;
}

/* What two accesses do, and the bytes that both touch where they are not all. */
static void print_pair(FILE *to, const struct side *side, uint32_t earlier, uint32_t later) {
  const struct pto_access_text *text = &side->text;
  char first[480], second[480], common[256];
  fprintf(to, "%s; %s", pto_text_access(text, earlier, first, sizeof first),
          pto_text_access(text, later, second, sizeof second));
  pto_text_view(text, earlier, first, sizeof first);
  pto_text_view(text, later, second, sizeof second);
  pto_text_common(text, earlier, later, common, sizeof common);
  if (strcmp(common, first) || strcmp(common, second)) fprintf(to, "; both touch %s", common);
}

static void print_edges(FILE *to, const struct side *side, const struct pto_graph_edge *edges, uint64_t count) {
  char names[64], buffer[160], param[32];
  for (uint64_t i = 0; i < count; i++) {
    if (is_told(edges, i)) continue;
    name_reasons(edges + i, count - i, names, sizeof names);
    fprintf(to, "    %s: ", names);
    if (edges[i].reason == PTO_EDGE_EXPLICIT && side->graph.nodes[edges[i].producer].is_part)
      fprintf(to, "of the recording, which found it by these rules or was given it as `after`");
    else if (edges[i].reason == PTO_EDGE_EXPLICIT)
      fprintf(to, "submitted with `after`");
    else if (edges[i].reason == PTO_EDGE_CREATOR)
      fprintf(to, "it allocated %s, which %sis given: %s",
              pto_text_buffer(&side->text, edges[i].consumer_access, buffer, sizeof buffer),
              pto_text_param(&side->text, edges[i].consumer_access, param, sizeof param),
              pto_deps_named_text(PTO_DEPS_NAMED_INDEX_CREATOR_EDGES));
    else
      print_pair(to, side, edges[i].producer_access, edges[i].consumer_access);
    putc('\n', to);
  }
}

static bool is_host_order(const struct side *side, uint32_t link) {
  const uint32_t *path = side->explanation.path;
  uint64_t count;
  if (link >= side->explanation.path_length) return false;
  (void)pto_graph_edges_between(&side->graph, path[link - 1], path[link], &count);
  return count == 0;
}

/* The link that ends at path[link], or several in which nothing but the host goes on.  The last one told. */
static uint32_t print_link(FILE *to, const struct side *side, uint32_t link) {
  const uint32_t *path = side->explanation.path;
  uint32_t last = link;
  char earlier[160], later[160];
  uint64_t count;
  while (is_host_order(side, last) && is_host_order(side, last + 1)) last++;
  const struct pto_graph_edge *edges = pto_graph_edges_between(&side->graph, path[link - 1], path[link], &count);
  fprintf(to, "  %s → %s\n", pto_text_node(&side->text, path[link - 1], earlier, sizeof earlier),
          pto_text_node(&side->text, path[last], later, sizeof later));
  if (!count) fputs("    the host goes on when its access is over\n", to);
  print_edges(to, side, edges, count);
  return last;
}

static void print_common(FILE *to, const struct side *side, const struct pto_common *common) {
  char earlier[480], later[480];
  fprintf(to, "    ");
  if (common->kind == PTO_COMMON_DISJOINT)
    fprintf(to, "%s; %s", pto_text_access(&side->text, common->earlier, earlier, sizeof earlier),
            pto_text_access(&side->text, common->later, later, sizeof later));
  else
    print_pair(to, side, common->earlier, common->later);
  const enum pto_deps_named_index rule = pto_common_rule(common->kind);
  const bool is_named = rule != PTO_DEPS_NAMED_COUNT;
  fprintf(to, ": %s%s%s\n", pto_common_text(common->kind), is_named ? ": " : "",
          is_named ? pto_deps_named_text(rule) : "");
}

/* Whether there was an edge that a named rule took away. */
static bool is_reduced(const struct side *side) {
  const struct pto_explanation *e = &side->explanation;
  return e->path_length > 2 && pto_graph_has_dropped(&side->graph, e->path[0], e->path[e->path_length - 1]);
}

static uint64_t dispatch_of(const struct why *why, uint64_t task) {
  return pto_trace_task_at(why->question.trace, task)->dispatch;
}

static const char *name_after(const struct why *why, const struct side *side, char *text, size_t size) {
  const uint64_t tasks[2] = {why->earlier, why->later};
  struct pto_source_call place = {0};
  pto_text_find(&side->text, side->graph.node_of_task[why->later], &place);
  const struct pto_finding_after after = pto_finding_after_of(why->question.trace, tasks, place.own.file);
  return pto_finding_say_after(&after, text, size);
}

static void print_side(FILE *to, const struct why *why, const struct side *side) {
  const struct pto_explanation *e = &side->explanation;
  char after[PTO_FINDING_AFTER];
  bool is_harmful = false;
  if (is_reduced(side))
    fprintf(to, "  the edge is dropped, which the path implies: %s\n",
            pto_deps_named_text(PTO_DEPS_NAMED_INDEX_REDUCE_IMPLIED));
  for (uint32_t link = 1; link < e->path_length; link++) link = print_link(to, side, link);
  if (e->answer != PTO_ANSWER_NONE) return;
  for (uint32_t i = 0; i < e->common_count; i++) {
    print_common(to, side, &e->commons[i]);
    is_harmful |= e->commons[i].conflict != 0;
  }
  if (!e->common_count) fputs("    they touch no memory in common\n", to);
  if (is_harmful && dispatch_of(why, why->earlier) != dispatch_of(why, why->later))
    fputs("    the result depends on which of them comes first; " PTO_FINDING_SYNC_BETWEEN "\n", to);
  else if (is_harmful)
    fprintf(to, "    the result depends on which of them comes first; %s\n",
            name_after(why, side, after, sizeof after));
  else
    fputs("    either may come first\n", to);
}

static void print(const struct pto_report *report, FILE *to) {
  const struct why *why = (const struct why *)report;
  static const char *const sentences[] = {[PTO_ANSWER_EDGE] = "an edge",
                                          [PTO_ANSWER_PATH] = "no edge, but a path",
                                          [PTO_ANSWER_NONE] = "neither edge nor path"};
  const struct side *any = &why->sides[0];
  const bool is_told_once = why->side_count == 2 && is_alike(&why->sides[0], &why->sides[1]);
  char name[160], place[256];
  struct pto_source_call found;
  for (int i = 0; i < 2; i++) {
    const uint32_t node = any->graph.node_of_task[i ? why->later : why->earlier];
    const char *group = why->question.node_of(why->question.context, i ? why->later : why->earlier);
    pto_text_find(&any->text, node, &found);
    if (group)
      snprintf(place, sizeof place, "node %s", group);
    else
      pto_source_call_name(&found, place, sizeof place);
    fprintf(to, "%s%s%s%s", i ? " → " : "", pto_text_node(&any->text, node, name, sizeof name), place[0] ? ", " : "",
            place);
  }
  putc('\n', to);
  for (uint32_t i = 0; i < why->side_count; i++) {
    const struct side *side = &why->sides[i];
    if (is_told_once)
      fprintf(to, "under either rules: %s\n", sentences[side->explanation.answer]);
    else
      fprintf(to, "under rules %s: %s\n", pto_deps_rules_name(side->graph.rules).text,
              sentences[side->explanation.answer]);
    print_side(to, why, side);
    if (is_told_once) break;
  }
}

/* ---- JSON ---- */

static void put_node(struct pto_json_writer *w, const char *key, const struct side *side, uint32_t node) {
  const struct pto_graph_node *n = &side->graph.nodes[node];
  pto_json_put_object(w, key);
  pto_json_put_u64(w, n->is_host ? "host" : "task", n->index);
  pto_json_object_end(w);
}

static void put_access(struct pto_json_writer *w, const char *key, const struct side *side, uint32_t access) {
  const struct pto_trace_param *param = side->graph.accesses[access].param;
  char view[256];
  pto_json_put_object(w, key);
  if (pto_json_try_key(w, "param", param && param->index != UINT32_MAX)) pto_json_u64(w, param->index);
  pto_json_put_string(w, "verb", pto_text_verb(&side->text, access));
  pto_json_put_u64(w, "buffer", pto_text_buffer_number(&side->text, access));
  pto_json_put_string(w, "view", pto_text_view(&side->text, access, view, sizeof view));
  pto_json_object_end(w);
}

static void put_link(struct pto_json_writer *w, const struct side *side, uint32_t from, uint32_t to) {
  uint64_t count;
  const struct pto_graph_edge *edges = pto_graph_edges_between(&side->graph, from, to, &count);
  pto_json_object_begin(w);
  put_node(w, "from", side, from);
  put_node(w, "to", side, to);
  pto_json_put_array(w, "reasons");
  for (uint64_t i = 0; i < count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "kind", pto_edge_reason_name(edges[i].reason));
    if (edges[i].producer_access != PTO_GRAPH_NONE) put_access(w, "from", side, edges[i].producer_access);
    if (edges[i].consumer_access != PTO_GRAPH_NONE) put_access(w, "to", side, edges[i].consumer_access);
    if (edges[i].reason == PTO_EDGE_CREATOR) pto_json_put_string(w, "rule", "creator-edges");
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_side(struct pto_json_writer *w, const struct side *side) {
  const struct pto_explanation *e = &side->explanation;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "deps", pto_deps_rules_list(side->graph.rules).text);
  pto_json_put_string(w, "answer", answers[e->answer]);
  pto_json_put_string(w, "dropped_by", is_reduced(side) ? "reduce-implied" : NULL);
  pto_json_put_array(w, "links");
  for (uint32_t i = 1; i < e->path_length; i++) put_link(w, side, e->path[i - 1], e->path[i]);
  pto_json_array_end(w);
  pto_json_put_array(w, "common");
  for (uint32_t i = 0; i < e->common_count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "kind", pto_common_name(e->commons[i].kind));
    pto_json_put_string(w, "conflict", e->commons[i].conflict ? pto_edge_reason_name(e->commons[i].conflict) : NULL);
    put_access(w, "from", side, e->commons[i].earlier);
    put_access(w, "to", side, e->commons[i].later);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_report(struct pto_json_writer *w, const void *context) {
  const struct why *why = context;
  pto_json_put_format(w, "pto-why", 1);
  pto_json_put_string(w, "program", why->question.program);
  pto_json_put_string(w, "case", why->question.case_name);
  pto_json_put_u64(w, "from", why->earlier);
  pto_json_put_u64(w, "to", why->later);
  pto_json_put_array(w, "rules");
  for (uint32_t i = 0; i < why->side_count; i++) put_side(w, &why->sides[i]);
  pto_json_array_end(w);
}

/* ---- the report ---- */

static void fini(struct pto_report *report) {
  struct why *why = (struct why *)report;
  for (uint32_t i = 0; i < PTO_DEPS_SET_COUNT; i++) {
    struct side *side = &why->sides[i];
    pto_explanation_fini(&side->explanation);
    pto_access_text_fini(&side->text);
    pto_reach_fini(&side->reach);
    pto_access_graph_fini(&side->graph);
  }
  pto_source_lines_destroy(why->lines);
}

/* Its own order was found once, by one set of rules. */
static bool is_of_one_launch(const struct why *why) {
  const uint64_t launch = pto_trace_task_at(why->question.trace, why->earlier)->part_of;
  return launch && (launch == why->later || launch == pto_trace_task_at(why->question.trace, why->later)->part_of);
}

static int explain(struct why *why, struct pto_error *error) {
  struct pto_why_request *asked = &why->question.asked;
  if (asked->has_rules && !pto_deps_is_valid(asked->rules))
    return pto_error_set(error, PTO_EINVAL, "there are no rules %" PRIu32, asked->rules);
  int status = check_range(why, error);
  if (!status && is_of_one_launch(why)) {
    const uint32_t recorded = why->question.recorded_deps;
    if (asked->has_rules && asked->rules != recorded)
      return pto_error_set(error, PTO_EINVAL, "both tasks are of one recording, which was ordered by rules %s",
                           pto_deps_rules_name(recorded).text);
    asked->has_rules = true;
    asked->rules = recorded;
  }
  why->side_count = asked->has_rules ? 1 : PTO_DEPS_SET_COUNT;
  for (uint32_t i = 0; i < why->side_count && !status; i++) {
    status = explain_side(why, &why->sides[i], asked->has_rules ? asked->rules : i, error);
    why->report.is_clean &= why->sides[i].explanation.answer != PTO_ANSWER_NONE;
  }
  for (int i = 0; i < 2 && !status; i++)
    pto_order_cover_task(why->question.trace, pto_trace_task_at(why->question.trace, asked->tasks[i]), false,
                         &why->report.coverage);
  return status;
}

int pto_why(const struct pto_why_question *question, struct pto_report **report_out, struct pto_error *error) {
  struct why *why = calloc(1, sizeof *why);
  if (!why) return pto_error_set(error, PTO_ENOMEM, "no memory for the answer");
  const uint64_t a = question->asked.tasks[0], b = question->asked.tasks[1];
  why->report = (struct pto_report){.print = print, .put = put_report, .fini = fini, .is_clean = true};
  why->question = *question;
  why->earlier = a < b ? a : b; /* what was submitted later never comes first */
  why->later = a < b ? b : a;
  why->lines = pto_source_lines_create();
  return pto_report_give(&why->report, explain(why, error), report_out, error);
}
