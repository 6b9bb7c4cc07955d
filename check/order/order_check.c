/* SPDX-License-Identifier: MIT */
#include <check/order/order_check.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/order/access_text.h>
#include <check/order/happens_before.h>
#include <check/order/partial.h>
#include <runtime/trace/trace_words.h>
#include <runtime/base/text.h>

struct reporter {
  const struct pto_order_question *question;
  struct pto_access_graph graph;
  struct pto_reach reach;
  struct pto_access_text text;
  struct pto_findings *findings;
  /* Under exact rules: the graph that the other rules would give, made when a first note asks for it. */
  struct pto_access_graph other;
  struct pto_reach other_reach;
  int other_status; /* PTO_EINVAL: not made yet */
  uint64_t needed;  /* the group of the last explicit edge that these need */
};

/* ---- groups: the same kernels, parameters and places ---- */

static uint64_t node_key(const struct pto_access_graph *graph, uint32_t node) {
  if (graph->nodes[node].is_host) return pto_mix64((uintptr_t)pto_graph_host(graph, node)->call);
  const struct pto_trace_task *task = pto_graph_task(graph, node);
  uint64_t key = pto_mix64((uintptr_t)task->call);
  for (int role = 0; role < 3; role++) key = pto_mix64(key ^ (uintptr_t)task->kernels[role]);
  return key;
}

static uint64_t pair_key(const struct pto_access_graph *graph, uint32_t earlier, uint32_t later) {
  return pto_mix64(node_key(graph, earlier) ^ pto_mix64(node_key(graph, later)));
}

static uint64_t task_of(const struct pto_access_graph *graph, uint32_t node) {
  return graph->nodes[node].is_host ? PTO_FINDING_NONE : graph->nodes[node].index;
}

static uint64_t param_of(const struct pto_access_graph *graph, uint32_t access) {
  const struct pto_trace_param *param = graph->accesses[access].param;
  return param && param->index != UINT32_MAX ? param->index : PTO_FINDING_NONE;
}

/* ---- conflicts ---- */

static uint32_t kind_of(uint32_t reason) {
  return reason == PTO_EDGE_RAW ? PTO_FINDING_RAW : reason == PTO_EDGE_WAW ? PTO_FINDING_WAW : PTO_FINDING_WAR;
}

/* Places and kernels of both; of accesses, which may be PTO_GRAPH_NONE, what they touch. */
static void find_places(const struct reporter *t, const uint32_t nodes[2], const uint32_t accesses[2],
                        struct pto_finding *finding) {
  for (int i = 0; i < 2; i++) {
    pto_text_find(&t->text, nodes[i], &finding->places[i]);
    if (!t->graph.nodes[nodes[i]].is_host)
      pto_trace_task_name(pto_graph_task(&t->graph, nodes[i]), finding->kernels[i], sizeof finding->kernels[i]);
    if (accesses[i] == PTO_GRAPH_NONE) continue;
    pto_text_buffer(&t->text, accesses[i], finding->arrays[i], sizeof finding->arrays[i]);
    pto_text_view(&t->text, accesses[i], finding->extents[i], sizeof finding->extents[i]);
  }
}

/* "it [0:8]", or where the memory is known by two numbers "buffer 7 (x) [0:8], the same memory". */
static void name_again(const struct reporter *t, const struct pto_conflict *c, char *out, size_t size) {
  char buffer[160], view[256];
  pto_text_view(&t->text, c->later_access, view, sizeof view);
  if (pto_text_is_same_buffer(&t->text, c->earlier_access, c->later_access))
    snprintf(out, size, "it %s", view);
  else
    snprintf(out, size, "%s %s, the same memory", pto_text_buffer(&t->text, c->later_access, buffer, sizeof buffer),
             view);
}

/* The rules look at declarations of neither: what these tasks touch may be less. */
static bool is_of_manual(const struct pto_access_graph *graph, const struct pto_conflict *c) {
  return pto_graph_is_manual(graph, c->earlier_access, c->earlier_access, c->later_access) &&
         pto_graph_is_manual(graph, c->later_access, c->earlier_access, c->later_access) &&
         pto_deps_named_of(graph->rules) & PTO_DEPS_NAMED_MANUAL_ENTERS_NOTHING;
}

static const char *name_common(const struct reporter *t, const struct pto_conflict *c, char *out, size_t size) {
  char common[256], left[256], right[256];
  pto_text_common(&t->text, c->earlier_access, c->later_access, common, sizeof common);
  pto_text_view(&t->text, c->earlier_access, left, sizeof left);
  pto_text_view(&t->text, c->later_access, right, sizeof right);
  out[0] = '\0';
  if (strcmp(common, left) || strcmp(common, right)) snprintf(out, size, "; both touch %s", common);
  return out;
}

/* Of two dispatches of a context, where no handle of the one's tasks comes to the other. */
static bool is_between_dispatches(const struct pto_access_graph *graph, const struct pto_conflict *c) {
  return !graph->nodes[c->earlier].is_host && !graph->nodes[c->later].is_host &&
         pto_graph_task(graph, c->earlier)->dispatch != pto_graph_task(graph, c->later)->dispatch;
}

static void name_remedy(const struct reporter *t, const struct pto_conflict *c, enum pto_deps_named_index rule,
                        const struct pto_finding *finding, char *out, size_t size) {
  const struct pto_access_graph *graph = &t->graph;
  const uint32_t number = graph->nodes[c->earlier].index;
  if (graph->nodes[c->later].is_host && pto_graph_host(graph, c->later)->is_move)
    snprintf(out, size, "sync the context first");
  else if (rule == PTO_DEPS_NAMED_INDEX_BASE_ADDRESS && graph->nodes[c->later].is_host)
    snprintf(out, size, "make both tensors views of one");
  else if (graph->nodes[c->later].is_host && rule != PTO_DEPS_NAMED_COUNT)
    snprintf(out, size,
             "read an element first of what a task outside manual scopes writes, submitted `after` task %" PRIu32,
             number);
  else if (graph->nodes[c->later].is_host)
    snprintf(out, size,
             "read an element that task %" PRIu32 " writes first, which waits for it: " PTO_FINDING_READ_LINE, number);
  else if (is_between_dispatches(graph, c))
    snprintf(out, size, PTO_FINDING_SYNC_BETWEEN);
  else {
    const struct pto_finding_after after =
        pto_finding_after_of(t->question->trace, finding->tasks, finding->places[1].own.file);
    pto_finding_say_after(&after, out, size);
  }
  if (rule == PTO_DEPS_NAMED_INDEX_BASE_ADDRESS && !graph->nodes[c->later].is_host && !is_between_dispatches(graph, c))
    pto_text_append(out, size, ", or make both tensors views of one");
}

static void report_conflict(void *context, const struct pto_conflict *c) {
  struct reporter *t = context;
  const struct pto_access_graph *graph = &t->graph;
  char earlier[160], later[160], param[2][32], buffer[160], view[256], again[480], common[280], place[512],
      more[64] = "";
  char remedy[PTO_FINDING_AFTER + 64], rule[80] = "";
  const enum pto_deps_named_index silent = pto_graph_silent_rule(graph, c->earlier_access, c->later_access);
  struct pto_finding finding = {
      .kind = kind_of(c->kind),
      .tasks = {task_of(graph, c->earlier), task_of(graph, c->later)},
      .params = {param_of(graph, c->earlier_access), param_of(graph, c->later_access)},
      .is_manual = is_of_manual(graph, c),
  };
  finding.group = pto_mix64(pair_key(graph, c->earlier, c->later) ^ (finding.params[0] << 8) ^ finding.params[1] ^
                            (uint64_t)finding.is_manual << 63);
  if (pto_findings_counts_alone(t->findings, &finding)) {
    pto_findings_add(t->findings, &finding, NULL, "%s", "");
    return;
  }
  find_places(t, (const uint32_t[]){c->earlier, c->later}, (const uint32_t[]){c->earlier_access, c->later_access},
              &finding);
  name_again(t, c, again, sizeof again);
  name_remedy(t, c, silent, &finding, remedy, sizeof remedy);
  if (silent != PTO_DEPS_NAMED_COUNT) {
    finding.rule = pto_deps_named_name(silent);
    snprintf(rule, sizeof rule, ": %s", pto_deps_named_text(silent));
  }
  if (c->more)
    snprintf(more, sizeof more, "; %" PRIu32 " more pair%s of their accesses", c->more, c->more == 1 ? "" : "s");
  pto_findings_add(t->findings, &finding, remedy, "%s %s%s %s %s; %s %s%s %s%s%s%s; no path under rules %s%s",
                   pto_text_node(&t->text, c->earlier, earlier, sizeof earlier),
                   pto_text_param(&t->text, c->earlier_access, param[0], sizeof param[0]),
                   c->kind == PTO_EDGE_WAR ? "reads" : "writes",
                   pto_text_buffer(&t->text, c->earlier_access, buffer, sizeof buffer),
                   pto_text_view(&t->text, c->earlier_access, view, sizeof view),
                   pto_text_node(&t->text, c->later, later, sizeof later),
                   pto_text_param(&t->text, c->later_access, param[1], sizeof param[1]),
                   c->kind == PTO_EDGE_RAW ? "reads" : "writes", again, name_common(t, c, common, sizeof common), more,
                   pto_finding_say_places(&finding, place, sizeof place), pto_deps_rules_name(graph->rules).text, rule);
}

/* ---- explicit edges that can go ---- */

static void name_reasons(uint32_t reasons, char *out, size_t size) {
  out[0] = '\0';
  for (uint32_t reason = PTO_EDGE_RAW; reason <= PTO_EDGE_CREATOR; reason <<= 1)
    if (reasons & reason) pto_text_append(out, size, "%s%s", out[0] ? " and " : "", pto_edge_reason_name(reason));
}

/* An edge that exact rules imply may be one that the hardware's rules need. */
static bool is_needed_elsewhere(struct reporter *t, uint32_t producer, uint32_t consumer) {
  struct pto_redundancy redundancy;
  struct pto_error error;
  if (t->graph.rules != PTO_DEPS_EXACT) return false;
  if (t->other_status == PTO_EINVAL) {
    t->other_status = pto_access_graph_init(&t->other, t->question->trace, PTO_DEPS_PTO, &error);
    if (t->other_status == PTO_OK) t->other_status = pto_reach_init(&t->other_reach, &t->other);
    if (t->other_status) t->other_status = PTO_ENOMEM;
  }
  return t->other_status == PTO_OK && (t->other.nodes[consumer].is_waited_for ||
                                       !pto_happens_before_implies(&t->other_reach, producer, consumer, &redundancy));
}

/* Of a launch of recorded tasks: its edges are explicit because they were found when it was recorded. */
static bool is_part(const struct reporter *t, uint32_t node) {
  const struct pto_trace_task *task = pto_trace_task_at(t->question->trace, task_of(&t->graph, node));
  return task && task->part_of;
}

static void report_redundancy(void *context, const struct pto_redundancy *r) {
  struct reporter *t = context;
  const struct pto_access_graph *graph = &t->graph;
  if (is_part(t, r->producer) || is_part(t, r->consumer)) return;
  const uint64_t group = pair_key(graph, r->producer, r->consumer);
  const bool is_waited_for = graph->nodes[r->consumer].is_waited_for; /* which may come of this edge */
  const bool is_needed = is_needed_elsewhere(t, r->producer, r->consumer);
  if (!is_needed && t->needed == group) return; /* the same line of the program */
  if (is_needed || is_waited_for) t->needed = group;
  if (is_waited_for) return;
  char earlier[160], later[160], place[512], why[200], name[160];
  struct pto_finding finding = {.kind = PTO_FINDING_REDUNDANT,
                                .tasks = {task_of(graph, r->producer), task_of(graph, r->consumer)},
                                .params = {PTO_FINDING_NONE, PTO_FINDING_NONE}};
  finding.group = pto_mix64(group ^ r->reasons ^ (uint64_t)is_needed << 8);
  find_places(t, (const uint32_t[]){r->producer, r->consumer}, (const uint32_t[]){PTO_GRAPH_NONE, PTO_GRAPH_NONE},
              &finding);
  if (r->reasons) {
    name_reasons(r->reasons, name, sizeof name);
    snprintf(why, sizeof why, "%s gives the same edge", name);
  } else {
    snprintf(why, sizeof why, "a path through %s does the same",
             pto_text_node(&t->text, r->through, name, sizeof name));
  }
  pto_findings_add(
      t->findings, &finding, is_needed ? "keep it for rules pto, or take it out of `after`" : NULL,
      "%s is `after` %s, but %s under rules %s%s%s", pto_text_node(&t->text, r->consumer, later, sizeof later),
      pto_text_node(&t->text, r->producer, earlier, sizeof earlier), why, pto_deps_rules_name(graph->rules).text,
      is_needed ? " (rules pto need it)" : "", pto_finding_say_places(&finding, place, sizeof place));
}

/* ---- after the end of a scope ---- */

static bool is_released(const struct pto_access_graph *graph, uint32_t access) {
  const struct pto_graph_access *a = &graph->accesses[access];
  return a->param ? a->param->is_released : pto_graph_host(graph, a->node)->is_released;
}

static void report_released(struct reporter *t, uint32_t creator_access, uint32_t access) {
  const struct pto_access_graph *graph = &t->graph;
  const uint32_t creator = graph->accesses[creator_access].node, node = graph->accesses[access].node;
  char earlier[160], later[160], use[480], place[512];
  struct pto_finding finding = {.kind = PTO_FINDING_RELEASED,
                                .tasks = {task_of(graph, creator), task_of(graph, node)},
                                .params = {param_of(graph, creator_access), param_of(graph, access)}};
  finding.group = pto_mix64(pair_key(graph, creator, node) ^ (finding.params[0] << 8) ^ finding.params[1]);
  find_places(t, (const uint32_t[]){creator, node}, (const uint32_t[]){creator_access, access}, &finding);
  pto_findings_add(
      t->findings, &finding, NULL, "%s %s after the scope of %s, which allocated it, has ended%s",
      pto_text_node(&t->text, node, later, sizeof later), pto_text_access(&t->text, access, use, sizeof use),
      pto_text_node(&t->text, creator, earlier, sizeof earlier), pto_finding_say_places(&finding, place, sizeof place));
}

/* The first access to a buffer of the runtime's is its allocation. */
static int report_all_released(struct reporter *t) {
  const struct pto_access_graph *graph = &t->graph;
  uint32_t *creators = malloc((graph->space_count + 1u) * sizeof *creators);
  if (!creators) return PTO_ENOMEM;
  memset(creators, 0xff, (graph->space_count + 1u) * sizeof *creators);
  for (uint32_t i = 0; i < graph->access_count; i++) {
    uint32_t *creator = &creators[graph->accesses[i].space];
    if (*creator == PTO_GRAPH_NONE)
      *creator = i;
    else if (graph->accesses[i].space && is_released(graph, i))
      report_released(t, *creator, i);
  }
  free(creators);
  return PTO_OK;
}

/* ---- what no task writes ---- */

static void report_partial(void *context, uint32_t access, uint64_t lo, uint64_t hi) {
  struct reporter *t = context;
  const uint32_t node = t->graph.accesses[access].node;
  const struct pto_trace_host_access *host = pto_graph_host(&t->graph, node);
  char buffer[160], place[2 * PTO_SOURCE_FILE_SIZE], at[2 * PTO_SOURCE_FILE_SIZE + 16] = "";
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_READ_EARLY), .group = host->begin};
  pto_text_find(&t->text, node, &finding.places[0]);
  if (finding.places[0].own.file[0])
    snprintf(at, sizeof at, "; read at %s", pto_source_call_name(&finding.places[0], place, sizeof place));
  pto_text_buffer(&t->text, access, finding.arrays[0], sizeof finding.arrays[0]);
  snprintf(finding.extents[0], sizeof finding.extents[0], "bytes %" PRIu64 ":%" PRIu64, lo - host->begin,
           hi - host->begin);
  pto_findings_add(t->findings, &finding, "let a task write them, or make the tensor smaller",
                   "the host reads a device tensor, %s; no task writes %s of its %" PRIu64 ", so these are zeros%s",
                   pto_text_buffer(&t->text, access, buffer, sizeof buffer), finding.extents[0],
                   host->end - host->begin, at);
}

/* ---- the whole ---- */

static int report_all(struct reporter *t, struct pto_order_counts *counts, struct pto_error *error) {
  struct pto_happens_before result;
  int status = pto_reach_init(&t->reach, &t->graph);
  if (status == PTO_OK) status = pto_access_text_init(&t->text, &t->graph);
  if (status) return pto_error_set(error, status, "no memory to check %" PRIu32 " tasks", t->graph.task_count);
  t->text.lines = pto_source_lines_create();
  t->text.name_of = t->question->name_of;
  t->text.context = t->question->context;
  status = pto_happens_before_check(&t->reach, report_conflict, t, &result);
  if (status == PTO_OK) status = report_all_released(t);
  if (status == PTO_OK) status = pto_partial_find(&t->graph, report_partial, t);
  if (status) return pto_error_set(error, status, "no memory to check %" PRIu32 " tasks", t->graph.task_count);
  pto_happens_before_redundant(&t->reach, report_redundancy, t);
  *counts = (struct pto_order_counts){t->graph.task_count, t->graph.pair_count, result.pairs};
  return PTO_OK;
}

int pto_order_check(const struct pto_order_question *question, struct pto_findings *findings,
                    struct pto_order_counts *counts, struct pto_error *error) {
  struct reporter t = {.question = question, .findings = findings, .other_status = PTO_EINVAL};
  *counts = (struct pto_order_counts){0};
  int status = pto_access_graph_init(&t.graph, question->trace, question->rules, error);
  if (status == PTO_OK) status = report_all(&t, counts, error);
  pto_source_lines_destroy(t.text.lines);
  pto_access_text_fini(&t.text);
  pto_reach_fini(&t.other_reach);
  pto_access_graph_fini(&t.other);
  pto_reach_fini(&t.reach);
  pto_access_graph_fini(&t.graph);
  return status;
}
