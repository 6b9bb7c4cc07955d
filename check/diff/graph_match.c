/* SPDX-License-Identifier: MIT */
#include <check/diff/graph_match.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/diff/sequence_match.h>
#include <runtime/base/base.h>

/* ---- what a task says of itself, as a number ---- */

static uint64_t add_number(uint64_t hash, uint64_t number) { return pto_mix64(hash ^ pto_mix64(number + 1)); }
static uint64_t add_text(uint64_t hash, const char *text) {
  for (; text && *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
  return pto_mix64(hash);
}

static uint64_t signature_of(const struct pto_graph_file *graph, const struct pto_graph_task *task, bool is_whole) {
  uint64_t hash = add_text(0, task->kind);
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++) hash = add_text(hash, task->kernels[role]);
  if (is_whole) hash = add_number(add_number(hash, task->block_count), task->is_sync_start);
  for (uint64_t i = 0; i < task->param_count; i++) {
    const struct pto_graph_param *param = &graph->params[task->first_param + i];
    hash = add_text(add_text(add_number(hash, param->index), param->mode), param->dtype);
    for (uint32_t d = 0; d < param->ndims; d++) hash = add_number(hash, param->shape[d]);
    if (!is_whole) continue;
    for (uint32_t d = 0; d < param->ndims; d++) hash = add_number(hash, param->strides[d]);
    hash = add_number(hash, param->offset);
  }
  return hash;
}

/* ---- matching tasks ---- */

struct matching {
  const struct pto_graph_file *a, *b;
  struct pto_graph_match *match;
  uint64_t *a_signatures, *b_signatures, *found;
};

static void sign(struct matching *m, bool is_whole) {
  for (uint64_t i = 0; i < m->a->task_count; i++) m->a_signatures[i] = signature_of(m->a, &m->a->tasks[i], is_whole);
  for (uint64_t i = 0; i < m->b->task_count; i++) m->b_signatures[i] = signature_of(m->b, &m->b->tasks[i], is_whole);
}

/* Matches tasks begin … end − 1 of A with those of B by the signatures. */
static int match_range(struct matching *m, uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end) {
  int status = pto_sequence_match(m->a_signatures + a_begin, a_end - a_begin, m->b_signatures + b_begin,
                                  b_end - b_begin, m->found);
  for (uint64_t i = 0; i < a_end - a_begin && status == PTO_OK; i++) {
    if (m->found[i] == PTO_SEQUENCE_UNMATCHED) continue;
    m->match->to_b[a_begin + i] = b_begin + m->found[i];
    m->match->to_a[b_begin + m->found[i]] = a_begin + i;
  }
  return status;
}

bool pto_graph_task_is_alike(const struct pto_graph_task *a, const struct pto_graph_task *b) {
  if (strcmp(a->kind, b->kind) != 0) return false;
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(a->kernels); role++) {
    const char *left = a->kernels[role], *right = b->kernels[role];
    if ((left == NULL) != (right == NULL) || (left && strcmp(left, right) != 0)) return false;
  }
  return true;
}

/* Tasks of the same kernels in order; all of them where they are as many on both sides. */
static int pair_range(struct matching *m, uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end) {
  const bool is_even = a_end - a_begin == b_end - b_begin;
  for (uint64_t i = a_begin, j = b_begin; i < a_end && j < b_end; i++) {
    uint64_t k = j;
    while (!is_even && k < b_end && !pto_graph_task_is_alike(&m->a->tasks[i], &m->b->tasks[k])) k++;
    if (k == b_end) continue;
    m->match->to_b[i] = k;
    m->match->to_a[k] = i;
    j = k + 1;
  }
  return PTO_OK;
}

typedef int on_gap(struct matching *m, uint64_t a_begin, uint64_t a_end, uint64_t b_begin, uint64_t b_end);

/* Calls `what` for each run of tasks of A, and of B, between matched ones. */
static int each_gap(struct matching *m, on_gap *what) {
  const uint64_t *to_b = m->match->to_b;
  uint64_t a_begin = 0, b_begin = 0;
  int status = PTO_OK;
  for (uint64_t i = 0; i <= m->a->task_count && status != PTO_ENOMEM; i++) {
    if (i < m->a->task_count && to_b[i] == PTO_GRAPH_NONE) continue;
    uint64_t b_end = i < m->a->task_count ? to_b[i] : m->b->task_count;
    if (i > a_begin && b_end > b_begin) status = what(m, a_begin, i, b_begin, b_end);
    a_begin = i + 1;
    b_begin = b_end + 1;
  }
  return status;
}

static int match_tasks(struct matching *m) {
  sign(m, true);
  int status = match_range(m, 0, m->a->task_count, 0, m->b->task_count);
  if (status == PTO_ENOMEM) return status;
  sign(m, false);
  if (status == PTO_EFIT) {
    status = match_range(m, 0, m->a->task_count, 0, m->b->task_count);
    m->match->is_by_number = status == PTO_EFIT;
  } else
    status = each_gap(m, match_range);
  if (status == PTO_ENOMEM) return status;
  for (uint64_t i = 0; m->match->is_by_number && i < pto_min_u64(m->a->task_count, m->b->task_count); i++)
    m->match->to_b[i] = m->match->to_a[i] = i;
  return each_gap(m, pair_range);
}

/* ---- matching buffers ---- */

static int order_u64(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static uint64_t *find_buffer(const struct pto_graph_match *match, uint64_t buffer) {
  if (!match->buffer_count) return NULL;
  return bsearch(&buffer, match->buffers, match->buffer_count, sizeof buffer, order_u64);
}

static void match_buffers(struct matching *m) {
  struct pto_graph_match *match = m->match;
  for (uint64_t i = 0; i < m->a->param_count; i++) match->buffers[i] = m->a->params[i].buffer;
  qsort(match->buffers, m->a->param_count, sizeof *match->buffers, order_u64);
  for (uint64_t i = 0; i < m->a->param_count; i++)
    if (!match->buffer_count || match->buffers[match->buffer_count - 1] != match->buffers[i])
      match->buffers[match->buffer_count++] = match->buffers[i];
  for (uint64_t i = 0; i < match->buffer_count; i++) match->buffers_of_b[i] = PTO_GRAPH_NONE;
  for (uint64_t i = 0; i < m->a->task_count; i++) {
    const struct pto_graph_task *a = &m->a->tasks[i], *b;
    if (match->to_b[i] == PTO_GRAPH_NONE) continue;
    b = &m->b->tasks[match->to_b[i]];
    for (uint64_t k = 0; k < pto_min_u64(a->param_count, b->param_count); k++) {
      uint64_t *at = find_buffer(match, m->a->params[a->first_param + k].buffer);
      uint64_t *named = &match->buffers_of_b[at - match->buffers];
      if (*named == PTO_GRAPH_NONE) *named = m->b->params[b->first_param + k].buffer;
    }
  }
}

uint64_t pto_graph_match_buffer(const struct pto_graph_match *match, uint64_t buffer) {
  const uint64_t *at = find_buffer(match, buffer);
  uint64_t named = at ? match->buffers_of_b[at - match->buffers] : PTO_GRAPH_NONE;
  return named == PTO_GRAPH_NONE ? buffer : named;
}

/* ---- the whole ---- */

static uint64_t *numbers(uint64_t count) { return calloc(count ? count : 1, sizeof(uint64_t)); }

int pto_graph_match_init(const struct pto_graph_file *a, const struct pto_graph_file *b, struct pto_graph_match *match,
                         struct pto_error *error) {
  struct matching m = {.a = a, .b = b, .match = match};
  int status = PTO_ENOMEM;
  *match = (struct pto_graph_match){.to_b = numbers(a->task_count), .to_a = numbers(b->task_count)};
  match->buffers = numbers(a->param_count);
  match->buffers_of_b = numbers(a->param_count);
  m.a_signatures = numbers(a->task_count);
  m.b_signatures = numbers(b->task_count);
  m.found = numbers(a->task_count);
  if (match->to_b && match->to_a && match->buffers && match->buffers_of_b && m.a_signatures && m.b_signatures &&
      m.found) {
    for (uint64_t i = 0; i < a->task_count; i++) match->to_b[i] = PTO_GRAPH_NONE;
    for (uint64_t i = 0; i < b->task_count; i++) match->to_a[i] = PTO_GRAPH_NONE;
    status = match_tasks(&m);
  }
  if (status == PTO_OK) match_buffers(&m);
  free(m.a_signatures);
  free(m.b_signatures);
  free(m.found);
  return status ? pto_error_set(error, PTO_ENOMEM, "no memory to compare %" PRIu64 " tasks with %" PRIu64,
                                a->task_count, b->task_count)
                : PTO_OK;
}

void pto_graph_match_fini(struct pto_graph_match *match) {
  free(match->to_b);
  free(match->to_a);
  free(match->buffers);
  free(match->buffers_of_b);
  memset(match, 0, sizeof *match);
}
