/* SPDX-License-Identifier: MIT */
#include <check/diff/graph_diff.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/diff/task_match.h>
#include <runtime/base/base.h>
#include <runtime/base/text.h>

/* ---- which task, and which buffer, of one graph is which of another ---- */

/* Buffers: the first matched parameters that name a buffer decide what it is called in the other graph. */
struct match {
  struct pto_task_match tasks;
  uint64_t buffer_count;
  uint64_t *buffers, *buffers_of_b; /* of A, sorted; what each is in B, or PTO_GRAPH_NONE */
};

static struct pto_task_signature signature_of(const struct pto_graph_file *graph, const struct pto_graph_task *task) {
  uint64_t kernels = pto_signature_add_text(0, task->kind);
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++)
    kernels = pto_signature_add_text(kernels, task->kernels[role]);
  uint64_t form = kernels, views = pto_signature_add_number(task->block_count, task->is_sync_start);
  for (uint64_t i = 0; i < task->param_count; i++) {
    const struct pto_graph_param *param = &graph->params[task->first_param + i];
    form = pto_signature_add_text(pto_signature_add_number(form, param->index), param->mode);
    form = pto_signature_add_text(form, param->dtype);
    for (uint32_t d = 0; d < param->ndims; d++) {
      form = pto_signature_add_number(form, param->shape[d]);
      views = pto_signature_add_number(views, param->strides[d]);
    }
    views = pto_signature_add_number(views, param->offset);
  }
  return (struct pto_task_signature){.whole = pto_signature_add_number(form, views), .form = form, .kernels = kernels};
}

/* Of all tasks; NULL where memory is short. */
static struct pto_task_signature *signatures_of(const struct pto_graph_file *graph) {
  struct pto_task_signature *signatures = calloc(graph->task_count + 1, sizeof *signatures);
  for (uint64_t i = 0; signatures && i < graph->task_count; i++) signatures[i] = signature_of(graph, &graph->tasks[i]);
  return signatures;
}

/* ---- matching buffers ---- */

static int order_u64(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static uint64_t *find_buffer(const struct match *match, uint64_t buffer) {
  if (!match->buffer_count) return NULL;
  return bsearch(&buffer, match->buffers, match->buffer_count, sizeof buffer, order_u64);
}

static void match_buffers(const struct pto_graph_file *a_graph, const struct pto_graph_file *b_graph,
                          struct match *match) {
  for (uint64_t i = 0; i < a_graph->param_count; i++) match->buffers[i] = a_graph->params[i].buffer;
  qsort(match->buffers, a_graph->param_count, sizeof *match->buffers, order_u64);
  for (uint64_t i = 0; i < a_graph->param_count; i++)
    if (!match->buffer_count || match->buffers[match->buffer_count - 1] != match->buffers[i])
      match->buffers[match->buffer_count++] = match->buffers[i];
  for (uint64_t i = 0; i < match->buffer_count; i++) match->buffers_of_b[i] = PTO_GRAPH_NONE;
  for (uint64_t i = 0; i < a_graph->task_count; i++) {
    const struct pto_graph_task *a = &a_graph->tasks[i], *b;
    if (match->tasks.to_b[i] == PTO_GRAPH_NONE) continue;
    b = &b_graph->tasks[match->tasks.to_b[i]];
    for (uint64_t k = 0; k < pto_min_u64(a->param_count, b->param_count); k++) {
      uint64_t *at = find_buffer(match, a_graph->params[a->first_param + k].buffer);
      uint64_t *named = &match->buffers_of_b[at - match->buffers];
      if (*named == PTO_GRAPH_NONE) *named = b_graph->params[b->first_param + k].buffer;
    }
  }
}

/* What a buffer of A is in B; its own number where no matched parameters say. */
static uint64_t buffer_of_b(const struct match *match, uint64_t buffer) {
  const uint64_t *at = find_buffer(match, buffer);
  uint64_t named = at ? match->buffers_of_b[at - match->buffers] : PTO_GRAPH_NONE;
  return named == PTO_GRAPH_NONE ? buffer : named;
}

/* ---- the whole ---- */

/* PTO_OK or PTO_ENOMEM; fini is due in either case. */
static int match_init(const struct pto_graph_file *a, const struct pto_graph_file *b, struct match *match,
                      struct pto_error *error) {
  struct pto_task_signature *of_a = signatures_of(a), *of_b = signatures_of(b);
  *match = (struct match){.buffers = calloc(a->param_count + 1, sizeof *match->buffers),
                          .buffers_of_b = calloc(a->param_count + 1, sizeof *match->buffers_of_b)};
  int status = of_a && of_b && match->buffers && match->buffers_of_b
                   ? pto_task_match_make((struct pto_task_list){of_a, a->task_count},
                                         (struct pto_task_list){of_b, b->task_count}, &match->tasks, error)
                   : pto_error_set(error, PTO_ENOMEM, "no memory to compare two graphs");
  if (status == PTO_OK) match_buffers(a, b, match);
  free(of_a);
  free(of_b);
  return status;
}

static void match_fini(struct match *match) {
  pto_task_match_fini(&match->tasks);
  free(match->buffers);
  free(match->buffers_of_b);
  memset(match, 0, sizeof *match);
}

/* ---- what differs ---- */

struct comparison {
  const struct pto_graph_file *a, *b;
  struct match match;
  struct pto_graph_diff *diff;
  struct pto_findings *findings;
};

/* What differs; with the kernels it makes the group that a finding belongs to. */
enum what { ONLY_A = 1, ONLY_B, KERNELS, BLOCKS, PARAMS, PARAM, EDGE_ONLY_A, EDGE_ONLY_B, REASONS };

static uint64_t group_of(enum what what, const struct pto_graph_task *task, uint64_t more) {
  char name[256];
  uint64_t hash = pto_mix64((uint64_t)what << 32 ^ more);
  pto_graph_task_name(task, name, sizeof name);
  for (const char *c = name; *c; c++) hash = pto_mix64(hash ^ (unsigned char)*c);
  return hash;
}

static struct pto_finding finding_of(enum what what, const struct pto_graph_task *task, uint64_t more, uint64_t first,
                                     uint64_t second) {
  return (struct pto_finding){.kind = PTO_FINDING_DIFFERENCE,
                              .tasks = {first, second},
                              .params = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                              .group = group_of(what, task, more)};
}

/* "task 17 (add)", or "task 17 (add, task 18 of B)". */
static const char *name_of(const struct pto_graph_task *a, const struct pto_graph_task *b, char *text, size_t size) {
  char kernels[200];
  pto_graph_task_name(a, kernels, sizeof kernels);
  if (!b || a->number == b->number)
    snprintf(text, size, "task %" PRIu64 " (%s)", a->number, kernels);
  else
    snprintf(text, size, "task %" PRIu64 " (%s, task %" PRIu64 " of B)", a->number, kernels, b->number);
  return text;
}

/* ---- tasks ---- */

/* Whether two tasks run the same kernels in the same roles. */
static bool is_alike(const struct pto_graph_task *a, const struct pto_graph_task *b) {
  if (strcmp(a->kind, b->kind) != 0) return false;
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(a->kernels); role++) {
    const char *left = a->kernels[role], *right = b->kernels[role];
    if ((left == NULL) != (right == NULL) || (left && strcmp(left, right) != 0)) return false;
  }
  return true;
}

/* "[64, 512]". */
static const char *format_numbers(const uint64_t *values, uint32_t count, char *text, size_t size) {
  snprintf(text, size, "[");
  pto_text_append_numbers(text, size, ", ", values, count);
  pto_text_append(text, size, "]");
  return text;
}

struct difference {
  char text[512];
};

#define ADD(d, ...)                                                                                                    \
  (pto_text_append((d)->text, sizeof(d)->text, "%s", (d)->text[0] ? ", " : ""),                                        \
   pto_text_append((d)->text, sizeof(d)->text, __VA_ARGS__))

static void compare_lists(struct difference *d, const char *what, const uint64_t *a, uint32_t a_count,
                          const uint64_t *b, uint32_t b_count) {
  char left[200], right[200];
  if (a_count == b_count && memcmp(a, b, a_count * sizeof *a) == 0) return;
  ADD(d, "%s %s in A and %s in B", what, format_numbers(a, a_count, left, sizeof left),
      format_numbers(b, b_count, right, sizeof right));
}
static void compare_numbers(struct difference *d, const char *what, uint64_t a, uint64_t b) {
  if (a != b) ADD(d, "%s %" PRIu64 " in A and %" PRIu64 " in B", what, a, b);
}
static void compare_texts(struct difference *d, const char *what, const char *a, const char *b) {
  if (strcmp(a, b) != 0) ADD(d, "%s %.32s in A and %.32s in B", what, a, b);
}

static bool compare_param(struct comparison *c, const struct pto_graph_task *a, const struct pto_graph_task *b,
                          uint64_t i) {
  const struct pto_graph_param *left = &c->a->params[a->first_param + i], *right = &c->b->params[b->first_param + i];
  struct difference d = {""};
  char name[320], which[32] = "predicate";
  compare_numbers(&d, "index", left->index, right->index);
  compare_texts(&d, "mode", left->mode, right->mode);
  compare_texts(&d, "dtype", left->dtype, right->dtype);
  compare_lists(&d, "shape", left->shape, left->ndims, right->shape, right->ndims);
  compare_lists(&d, "strides", left->strides, left->ndims, right->strides, right->ndims);
  compare_numbers(&d, "offset", left->offset, right->offset);
  compare_numbers(&d, "bytes of the buffer", left->buffer_bytes, right->buffer_bytes);
  if (left->version != right->version)
    ADD(&d, "version %" PRId64 " in A and %" PRId64 " in B", left->version, right->version);
  uint64_t expected = buffer_of_b(&c->match, left->buffer);
  if (expected != right->buffer)
    ADD(&d, "buffer %" PRIu64 " in A and %" PRIu64 " in B, which has %" PRIu64 " for it elsewhere", left->buffer,
        right->buffer, expected);
  if (!d.text[0]) return false;
  if (left->index != PTO_GRAPH_NONE) snprintf(which, sizeof which, "param %" PRIu64, left->index);
  struct pto_finding finding = finding_of(PARAM, a, left->index, a->number, b->number);
  if (left->index != PTO_GRAPH_NONE) finding.params[0] = left->index;
  if (right->index != PTO_GRAPH_NONE) finding.params[1] = right->index;
  pto_findings_add(c->findings, &finding, NULL, "%s %s: %s", name_of(a, b, name, sizeof name), which, d.text);
  return true;
}

static bool compare_launch(struct comparison *c, const struct pto_graph_task *a, const struct pto_graph_task *b) {
  struct difference d = {""};
  char name[320], other[200];
  if (!is_alike(a, b)) {
    const struct pto_finding finding = finding_of(KERNELS, a, 0, a->number, b->number);
    pto_findings_add(c->findings, &finding, NULL, "%s runs %s in B", name_of(a, b, name, sizeof name),
                     pto_graph_task_name(b, other, sizeof other));
    return true;
  }
  compare_numbers(&d, "blocks", a->block_count, b->block_count);
  compare_numbers(&d, "sync_start", a->is_sync_start, b->is_sync_start);
  compare_numbers(&d, "scope depth", a->scope_depth, b->scope_depth);
  compare_numbers(&d, "tensor parameters", a->param_count, b->param_count);
  if (!d.text[0]) return false;
  const struct pto_finding finding = finding_of(BLOCKS, a, 0, a->number, b->number);
  pto_findings_add(c->findings, &finding, NULL, "%s: %s", name_of(a, b, name, sizeof name), d.text);
  return true;
}

static void compare_task(struct comparison *c, const struct pto_graph_task *a, const struct pto_graph_task *b) {
  bool differs = compare_launch(c, a, b);
  if (is_alike(a, b))
    for (uint64_t i = 0; i < pto_min_u64(a->param_count, b->param_count); i++) differs |= compare_param(c, a, b, i);
  c->diff->tasks_differ += differs;
}

static void report_only(struct comparison *c, enum what what, const struct pto_graph_task *task) {
  char name[320];
  uint64_t in_a = what == ONLY_A ? task->number : PTO_FINDING_NONE;
  uint64_t in_b = what == ONLY_B ? task->number : PTO_FINDING_NONE;
  const struct pto_finding finding = finding_of(what, task, 0, in_a, in_b);
  *(what == ONLY_A ? &c->diff->tasks_only_a : &c->diff->tasks_only_b) += 1;
  pto_findings_add(c->findings, &finding, NULL, "%s is only in %s", name_of(task, NULL, name, sizeof name),
                   what == ONLY_A ? "A" : "B");
}

static void compare_tasks(struct comparison *c) {
  uint64_t next_b = 0;
  for (uint64_t i = 0; i <= c->a->task_count; i++) {
    uint64_t j = i < c->a->task_count ? c->match.tasks.to_b[i] : c->b->task_count;
    if (j == PTO_GRAPH_NONE) {
      report_only(c, ONLY_A, &c->a->tasks[i]);
      continue;
    }
    for (; next_b < j; next_b++) report_only(c, ONLY_B, &c->b->tasks[next_b]);
    if (i < c->a->task_count) compare_task(c, &c->a->tasks[i], &c->b->tasks[j]);
    next_b = j + 1;
  }
}

/* ---- edges ---- */

/* "RAW (params 2 → 0, buffer 5 [0:4096]), WAW (…)". */
static const char *format_reasons(const struct pto_graph_file *graph, const struct pto_graph_edge *edge, char *text,
                                  size_t size) {
  text[0] = '\0';
  for (uint64_t i = 0; i < edge->reason_count; i++) {
    const struct pto_graph_reason *reason = &graph->reasons[edge->first_reason + i];
    pto_text_append(text, size, "%s%.16s", i ? ", " : "", reason->kind);
    if (reason->buffer == PTO_GRAPH_NONE) continue;
    pto_text_append(text, size, " (params %" PRId64 " → %" PRId64 ", buffer %" PRIu64 " [%" PRId64 ":%" PRId64 "])",
                    (int64_t)reason->from_param, (int64_t)reason->to_param, reason->buffer, reason->begin, reason->end);
  }
  return text;
}

static bool has_same_reasons(const struct comparison *c, const struct pto_graph_edge *a,
                             const struct pto_graph_edge *b) {
  if (a->reason_count != b->reason_count) return false;
  for (uint64_t i = 0; i < a->reason_count; i++) {
    const struct pto_graph_reason *left = &c->a->reasons[a->first_reason + i];
    const struct pto_graph_reason *right = &c->b->reasons[b->first_reason + i];
    if (strcmp(left->kind, right->kind) != 0 || left->from_param != right->from_param ||
        left->to_param != right->to_param || left->begin != right->begin || left->end != right->end)
      return false;
    if (left->buffer == PTO_GRAPH_NONE ? right->buffer != PTO_GRAPH_NONE
                                       : buffer_of_b(&c->match, left->buffer) != right->buffer)
      return false;
  }
  return true;
}

static void report_edge(struct comparison *c, enum what what, const struct pto_graph_file *graph,
                        const struct pto_graph_edge *edge) {
  char from[200], to[200], reasons[320];
  const struct pto_graph_task *consumer = &graph->tasks[edge->to], *producer = &graph->tasks[edge->from];
  uint64_t producer_group = group_of(what, producer, 0);
  const struct pto_finding finding = finding_of(what, consumer, producer_group, edge->from, edge->to);
  pto_findings_add(c->findings, &finding, NULL,
                   "the edge from task %" PRIu64 " (%s) to task %" PRIu64 " (%s) is only in %s: %s", edge->from,
                   pto_graph_task_name(producer, from, sizeof from), edge->to,
                   pto_graph_task_name(consumer, to, sizeof to), what == EDGE_ONLY_A ? "A" : "B",
                   format_reasons(graph, edge, reasons, sizeof reasons));
}

static void report_reasons(struct comparison *c, const struct pto_graph_edge *a, const struct pto_graph_edge *b) {
  char from[200], to[200], left[300], right[300];
  const struct pto_graph_task *consumer = &c->a->tasks[a->to], *producer = &c->a->tasks[a->from];
  const struct pto_finding finding = finding_of(REASONS, consumer, group_of(REASONS, producer, 0), a->from, a->to);
  pto_findings_add(c->findings, &finding, NULL,
                   "the edge from task %" PRIu64 " (%s) to task %" PRIu64 " (%s) is there for %s in A and for %s in B",
                   a->from, pto_graph_task_name(producer, from, sizeof from), a->to,
                   pto_graph_task_name(consumer, to, sizeof to), format_reasons(c->a, a, left, sizeof left),
                   format_reasons(c->b, b, right, sizeof right));
}

static void compare_edges(struct comparison *c) {
  for (uint64_t i = 0; i < c->a->edge_count; i++) {
    const struct pto_graph_edge *a = &c->a->edges[i];
    uint64_t from = c->match.tasks.to_b[a->from], to = c->match.tasks.to_b[a->to];
    const bool is_left = from == PTO_GRAPH_NONE || to == PTO_GRAPH_NONE;
    ++*(is_left ? &c->diff->edges_left : &c->diff->edges_compared);
    if (is_left) continue;
    const struct pto_graph_edge *b = pto_graph_file_find_edge(c->b, from, to);
    if (!b) {
      c->diff->edges_only_a++;
      report_edge(c, EDGE_ONLY_A, c->a, a);
    } else if (!has_same_reasons(c, a, b)) {
      c->diff->edges_differ++;
      report_reasons(c, a, b);
    }
  }
  for (uint64_t i = 0; i < c->b->edge_count; i++) {
    const struct pto_graph_edge *b = &c->b->edges[i];
    uint64_t from = c->match.tasks.to_a[b->from], to = c->match.tasks.to_a[b->to];
    const bool is_left = from == PTO_GRAPH_NONE || to == PTO_GRAPH_NONE;
    if (is_left) c->diff->edges_left++;
    if (is_left || pto_graph_file_find_edge(c->a, from, to)) continue;
    c->diff->edges_compared++;
    c->diff->edges_only_b++;
    report_edge(c, EDGE_ONLY_B, c->b, b);
  }
}

int pto_graph_diff(const struct pto_graph_file *a, const struct pto_graph_file *b, struct pto_graph_diff *diff,
                   struct pto_findings *findings, struct pto_error *error) {
  struct comparison c = {.a = a, .b = b, .diff = diff, .findings = findings};
  memset(diff, 0, sizeof *diff);
  int status = match_init(a, b, &c.match, error);
  if (status == PTO_OK) {
    diff->is_by_number = c.match.tasks.is_by_number;
    compare_tasks(&c);
    compare_edges(&c);
    diff->tasks_compared = a->task_count - diff->tasks_only_a;
  }
  match_fini(&c.match);
  return status;
}
