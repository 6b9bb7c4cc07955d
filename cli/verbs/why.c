/* SPDX-License-Identifier: MIT */
/*
 * `ptosim why`: why one task of a program comes before another, under either rules, or why nothing orders them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/access_text.h>
#include <check/order/explain.h>
#include <check/order/order_check.h>
#include <cli/run/request.h>
#include <report/stopped/stopped.h>
#include <cli/main/verb.h>
#include <runtime/trace/trace_words.h>

/* Under one set of rules. */
struct side {
  struct pto_access_graph graph;
  struct pto_reach reach;
  struct pto_access_text text;
  struct pto_explanation explanation;
};

struct why {
  struct pto_session session;
  struct pto_source_lines *lines;
  uint32_t first_rules, end_rules;       /* which rules were asked about */
  uint64_t earlier, later;               /* task numbers */
  struct side sides[PTO_DEPS_SET_COUNT]; /* by rules */
};

static const char *const answers[] = {
    [PTO_ANSWER_EDGE] = "edge", [PTO_ANSWER_PATH] = "path", [PTO_ANSWER_NONE] = "none"};

/* ---- the question ---- */

static int parse_task(const char *text, uint64_t *number, struct pto_error *error) {
  struct pto_error reason;
  if (pto_parse_u64(text, 0, UINT64_MAX, number, &reason) == PTO_OK) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is no task number", text);
}

static int check_range(struct why *why, struct pto_error *error) {
  const uint64_t count = pto_session_trace(&why->session)->tasks.count;
  for (int i = 0; i < 2; i++) {
    const uint64_t number = i ? why->later : why->earlier;
    if (number < count) continue;
    if (!count) return pto_error_set(error, PTO_EINVAL, "the program submitted no task");
    return pto_error_set(error, PTO_EINVAL, "there is no task %" PRIu64 ": the program's are 0 to %" PRIu64, number,
                         count - 1);
  }
  if (why->earlier == why->later) return pto_error_set(error, PTO_EINVAL, "both are task %" PRIu64, why->earlier);
  return PTO_OK;
}

static int explain_side(struct why *why, uint32_t rules, struct pto_error *error) {
  struct side *side = &why->sides[rules];
  int status = pto_access_graph_init(&side->graph, pto_session_trace(&why->session), rules, error);
  if (status) return status;
  status = pto_reach_init(&side->reach, &side->graph);
  if (!status) status = pto_access_text_init(&side->text, &side->graph);
  if (!status)
    status = pto_explain(&side->reach, side->graph.node_of_task[why->earlier], side->graph.node_of_task[why->later],
                         &side->explanation);
  side->text.lines = why->lines;
  side->text.name_of = pto_session_array_at;
  side->text.context = &why->session;
  return status ? pto_error_set(error, status, "no memory for the graph") : PTO_OK;
}

static void close_side(struct side *side) {
  pto_explanation_fini(&side->explanation);
  pto_access_text_fini(&side->text);
  pto_reach_fini(&side->reach);
  pto_access_graph_fini(&side->graph);
}

/* The same answer for the same reasons: then it is told once. */
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
    if (n != m || memcmp(e, f, n * sizeof *e)) return false;
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
static void print_pair(const struct side *side, uint32_t earlier, uint32_t later) {
  const struct pto_access_text *text = &side->text;
  char first[480], second[480], common[256];
  printf("%s; %s", pto_text_access(text, earlier, first, sizeof first),
         pto_text_access(text, later, second, sizeof second));
  pto_text_view(text, earlier, first, sizeof first);
  pto_text_view(text, later, second, sizeof second);
  pto_text_common(text, earlier, later, common, sizeof common);
  if (strcmp(common, first) || strcmp(common, second)) printf("; both touch %s", common);
}

static void print_edges(const struct side *side, const struct pto_graph_edge *edges, uint64_t count) {
  char names[64];
  for (uint64_t i = 0; i < count; i++) {
    if (is_told(edges, i)) continue;
    name_reasons(edges + i, count - i, names, sizeof names);
    printf("    %s: ", names);
    if (edges[i].reason == PTO_EDGE_EXPLICIT)
      printf("submitted with `after`");
    else
      print_pair(side, edges[i].producer_access, edges[i].consumer_access);
    putchar('\n');
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
static uint32_t print_link(const struct side *side, uint32_t link) {
  const uint32_t *path = side->explanation.path;
  uint32_t last = link;
  char earlier[160], later[160];
  uint64_t count;
  while (is_host_order(side, last) && is_host_order(side, last + 1)) last++;
  const struct pto_graph_edge *edges = pto_graph_edges_between(&side->graph, path[link - 1], path[link], &count);
  printf("  %s → %s\n", pto_text_node(&side->text, path[link - 1], earlier, sizeof earlier),
         pto_text_node(&side->text, path[last], later, sizeof later));
  if (!count) puts("    the host goes on when its access is over");
  print_edges(side, edges, count);
  return last;
}

static void print_common(const struct side *side, const struct pto_common *common) {
  char earlier[480], later[480];
  printf("    ");
  if (common->kind == PTO_COMMON_DISJOINT)
    printf("%s; %s", pto_text_access(&side->text, common->earlier, earlier, sizeof earlier),
           pto_text_access(&side->text, common->later, later, sizeof later));
  else
    print_pair(side, common->earlier, common->later);
  printf(": %s\n", pto_common_text(common->kind));
}

static void print_side(const struct side *side, uint64_t earlier) {
  const struct pto_explanation *e = &side->explanation;
  bool is_harmful = false;
  for (uint32_t link = 1; link < e->path_length; link++) link = print_link(side, link);
  if (e->answer != PTO_ANSWER_NONE) return;
  for (uint32_t i = 0; i < e->common_count; i++) {
    print_common(side, &e->commons[i]);
    is_harmful |= e->commons[i].conflict != 0;
  }
  if (!e->common_count) puts("    they touch no memory in common");
  if (is_harmful)
    printf("    the result depends on which of them comes first; add `after` task %" PRIu64 "\n", earlier);
  else
    puts("    either may come first");
}

static void print(const struct why *why) {
  static const char *const sentences[] = {[PTO_ANSWER_EDGE] = "an edge",
                                          [PTO_ANSWER_PATH] = "no edge, but a path",
                                          [PTO_ANSWER_NONE] = "neither edge nor path"};
  const struct side *any = &why->sides[why->first_rules];
  const bool is_told_once = why->end_rules - why->first_rules == 2 && is_alike(&why->sides[0], &why->sides[1]);
  char name[160], place[128];
  for (int i = 0; i < 2; i++) {
    const uint32_t node = any->graph.node_of_task[i ? why->later : why->earlier];
    pto_text_place(&any->text, node, place, sizeof place);
    printf("%s%s%s%s", i ? " → " : "", pto_text_node(&any->text, node, name, sizeof name), place[0] ? ", " : "", place);
  }
  putchar('\n');
  for (uint32_t rules = why->first_rules; rules < why->end_rules; rules++) {
    const struct side *side = &why->sides[rules];
    if (is_told_once)
      printf("under either rules: %s\n", sentences[side->explanation.answer]);
    else
      printf("under rules %s: %s\n", pto_deps_rules_name(rules), sentences[side->explanation.answer]);
    print_side(side, why->earlier);
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
    if (edges[i].reason != PTO_EDGE_EXPLICIT) {
      put_access(w, "from", side, edges[i].producer_access);
      put_access(w, "to", side, edges[i].consumer_access);
    }
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_side(struct pto_json_writer *w, const struct side *side) {
  const struct pto_explanation *e = &side->explanation;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "deps", pto_deps_rules_name(side->graph.rules));
  pto_json_put_string(w, "answer", answers[e->answer]);
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
  pto_json_put_string(w, "program", why->session.result.program);
  pto_json_put_string(w, "case", why->session.result.case_name);
  pto_json_put_u64(w, "from", why->earlier);
  pto_json_put_u64(w, "to", why->later);
  pto_json_put_array(w, "rules");
  for (uint32_t rules = why->first_rules; rules < why->end_rules; rules++) put_side(w, &why->sides[rules]);
  pto_json_array_end(w);
}

/* ---- the verb ---- */

static int answer(struct why *why, const struct pto_run_options *options) {
  struct pto_error error;
  if (check_range(why, &error)) return pto_complain(PTO_EXIT_USAGE, "why: %s", error.sentence);
  if (why->earlier > why->later) {
    const uint64_t earlier = why->later; /* what was submitted later never comes first */
    why->later = why->earlier;
    why->earlier = earlier;
  }
  why->lines = pto_source_lines_create();
  why->first_rules = options->has_deps ? options->deps : (uint32_t)PTO_DEPS_EXACT;
  why->end_rules = options->has_deps ? options->deps + 1 : (uint32_t)PTO_DEPS_SET_COUNT;
  for (uint32_t rules = why->first_rules; rules < why->end_rules; rules++)
    if (explain_side(why, rules, &error)) return pto_complain(PTO_EXIT_FAILED, "why: %s", error.sentence);
  if (!options->quiet && !pto_run_options_take_stdout(options)) print(why);
  return pto_write_report(options->json_path, put_report, why, PTO_EXIT_OK);
}

static int explain(const struct pto_run_options *options, uint64_t a, uint64_t b) {
  static struct why why;
  memset(&why, 0, sizeof why);
  why.earlier = a;
  why.later = b;
  int code = pto_judged_run_open(&why.session, options);
  if (code != PTO_EXIT_OK) pto_complain(0, "%s", why.session.result.error.sentence);
  if (!options->quiet) pto_stopped_say(why.session.result.stopped);
  if (pto_session_trace(&why.session) && (code == PTO_EXIT_OK || code == PTO_EXIT_FAILED)) {
    const int answered = answer(&why, options);
    if (code == PTO_EXIT_OK) code = answered;
  }
  for (uint32_t i = 0; i < PTO_DEPS_SET_COUNT; i++) close_side(&why.sides[i]);
  pto_source_lines_destroy(why.lines);
  pto_judged_run_close(&why.session);
  return code;
}

static void help(const struct pto_run_options *options) {
  puts("ptosim why PROGRAM A B [OPTION...]\n\n"
       "Runs PROGRAM once, under exact rules and in virtual time unless --engine says otherwise, and tells why task B\n"
       "comes after task A (numbers in order of submission, from 0): the edge and its reasons, else a shortest path, "
       "else\n"
       "what the two touch and why that orders nothing; under both rules, or those of --deps.\n");
  pto_run_options_help(PTO_VERB_why, NULL);
  puts("\nLeaves with 0 whatever the answer, 2 for bad arguments, 3 where the run failed.");
}

int pto_cmd_why(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_why, NULL, help, false};
  struct pto_run_options options;
  struct pto_error error;
  uint64_t a, b;
  int code;
  if (pto_run_options_begin(&form, argc, argv, NULL, &options, &code)) {
    if (options.programs.count != 3)
      code = pto_complain(PTO_EXIT_USAGE, "why: takes a program and two task numbers: ptosim why bgemm 3 17");
    else if (parse_task(options.programs.items[1], &a, &error) || parse_task(options.programs.items[2], &b, &error))
      code = pto_complain(PTO_EXIT_USAGE, "why: %s", error.sentence);
    else if ((code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = explain(&options, a, b);
  }
  pto_run_options_fini(&options);
  return code;
}
