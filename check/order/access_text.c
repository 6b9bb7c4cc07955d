/* SPDX-License-Identifier: MIT */
#include <check/order/access_text.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/text.h>
#include <runtime/tensor/tensor_make.h>
#include <runtime/trace/trace_words.h>

/* Ranges of indices in a root; step 1 everywhere where is_plain. */
struct box {
  uint64_t begin[PTO_MAX_DIMS], end[PTO_MAX_DIMS], step[PTO_MAX_DIMS];
  bool is_plain;
};

/* ---- roots ---- */

static bool has_root(const struct pto_text_root *root) { return root->ndims != 0; }

/* The dense tensor whose strides these are: each divides the one before, the last is 1, and the buffer is a whole
 * number of the first. */
static bool infer_root(const struct pto_tensor *t, struct pto_text_root *root) {
  const uint64_t elems = t->buffer.size_bytes / pto_max_u64(pto_dtype_size(t->dtype), 1);
  if (!t->ndims || pto_dtype_is_four_bit(t->dtype) || t->strides[t->ndims - 1] != 1) return false;
  uint64_t above = elems;
  for (uint32_t d = 0; d < t->ndims; d++) {
    const uint64_t stride = t->strides[d];
    if (!stride || stride > above || above % stride) return false;
    root->shape[d] = above / stride;
    root->strides[d] = above = stride;
  }
  root->ndims = t->ndims;
  root->dtype = t->dtype;
  return true;
}

static bool is_whole(const struct pto_tensor *t) {
  return t->ndims && !t->start_offset && pto_tensor_is_contiguous(t) && !pto_dtype_is_four_bit(t->dtype) &&
         pto_tensor_numel(t) * pto_dtype_size(t->dtype) == t->buffer.size_bytes;
}

static void find_roots(struct pto_access_text *text) {
  const struct pto_trace *trace = text->graph->trace;
  for (int pass = 0; pass < 2; pass++) /* whole tensors first */
    for (uint64_t i = 0; i < trace->params.count; i++) {
      const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
      struct pto_text_root *root = &text->roots[param->buffer_number], found = {0};
      root->base = param->tensor.buffer.base;
      root->size_bytes = param->tensor.buffer.size_bytes;
      if (has_root(root) || (pass == 0 && !is_whole(&param->tensor)) || !infer_root(&param->tensor, &found)) continue;
      found.base = root->base;
      found.size_bytes = root->size_bytes;
      *root = found;
    }
}

int pto_access_text_init(struct pto_access_text *text, const struct pto_access_graph *graph) {
  const struct pto_trace *trace = graph->trace;
  *text = (struct pto_access_text){.graph = graph};
  for (uint64_t i = 0; i < trace->params.count; i++)
    text->root_count = pto_max_u64(text->root_count,
                                   ((struct pto_trace_param *)pto_trace_log_at(&trace->params, i))->buffer_number + 1);
  for (uint64_t i = 0; i < trace->host_accesses.count; i++)
    text->root_count =
        pto_max_u64(text->root_count,
                    ((struct pto_trace_host_access *)pto_trace_log_at(&trace->host_accesses, i))->buffer_number + 1);
  text->roots = calloc(text->root_count + 1, sizeof *text->roots);
  if (!text->roots) return PTO_ENOMEM;
  find_roots(text);
  return PTO_OK;
}

void pto_access_text_fini(struct pto_access_text *text) {
  free(text->roots);
  memset(text, 0, sizeof *text);
}

/* ---- boxes ---- */

static const struct pto_text_root *root_of(const struct pto_access_text *text, uint32_t access) {
  return &text->roots[pto_text_buffer_number(text, access)];
}

/* Indices of the element at an offset from the root's first. */
static void unravel(const struct pto_text_root *root, uint64_t elems, struct box *box) {
  box->is_plain = true;
  for (uint32_t r = 0; r < root->ndims; r++) {
    box->begin[r] = elems / root->strides[r];
    box->end[r] = box->begin[r] + 1;
    box->step[r] = 1;
    elems %= root->strides[r];
  }
}

/* One dimension of a view: the outermost of the root's that its stride is a multiple of and where it stays inside. */
static bool place_dimension(const struct pto_text_root *root, uint64_t extent, uint64_t stride, uint32_t *taken,
                            struct box *box) {
  for (uint32_t r = 0; r < root->ndims; r++) {
    if ((*taken >> r & 1) || stride % root->strides[r]) continue;
    const uint64_t step = stride / root->strides[r];
    if (extent > root->shape[r] || box->begin[r] + (extent - 1) * step >= root->shape[r]) continue;
    *taken |= 1u << r;
    box->end[r] = box->begin[r] + (extent - 1) * step + 1;
    box->step[r] = step;
    box->is_plain &= step == 1;
    return true;
  }
  return false;
}

static bool find_box(const struct pto_access_text *text, uint32_t access, struct box *box) {
  const struct pto_text_root *root = root_of(text, access);
  const struct pto_trace_param *param = text->graph->accesses[access].param;
  if (!has_root(root)) return false;
  if (!param) {
    const struct pto_trace_host_access *host = pto_graph_host(text->graph, text->graph->accesses[access].node);
    const uint64_t size = pto_dtype_size(root->dtype), offset = host->begin - host->buffer_base;
    if (host->end - host->begin != size || offset % size) return false;
    unravel(root, offset / size, box);
    return true;
  }
  const struct pto_tensor *t = &param->tensor;
  if (pto_dtype_size(t->dtype) != pto_dtype_size(root->dtype) || pto_dtype_is_four_bit(t->dtype)) return false;
  uint32_t taken = 0;
  unravel(root, t->start_offset, box);
  for (uint32_t d = 0; d < t->ndims; d++) {
    if (t->shape[d] == 1 || t->strides[d] == 0) continue;
    if (!place_dimension(root, t->shape[d], t->strides[d], &taken, box)) return false;
  }
  return true;
}

static void print_box(const struct pto_text_root *root, const struct box *box, char *out, size_t size) {
  snprintf(out, size, "[");
  for (uint32_t r = 0; r < root->ndims; r++) {
    pto_text_append(out, size, "%s%" PRIu64 ":%" PRIu64, r ? ", " : "", box->begin[r], box->end[r]);
    if (box->step[r] != 1) pto_text_append(out, size, ":%" PRIu64, box->step[r]);
  }
  pto_text_append(out, size, "]");
}

static void print_bytes(uint64_t base, uint64_t begin, uint64_t end, char *out, size_t size) {
  snprintf(out, size, "bytes %" PRId64 ":%" PRId64, (int64_t)(begin - base), (int64_t)(end - base));
}

static uint64_t base_of(const struct pto_access_text *text, uint32_t access) {
  const struct pto_graph_access *a = &text->graph->accesses[access];
  return a->param ? a->param->tensor.buffer.base : pto_graph_host(text->graph, a->node)->buffer_base;
}

const char *pto_text_view(const struct pto_access_text *text, uint32_t access, char *out, size_t size) {
  struct box box;
  if (find_box(text, access, &box)) {
    print_box(root_of(text, access), &box, out, size);
    return out;
  }
  struct pto_region region;
  pto_graph_region(text->graph, &text->graph->accesses[access], &region);
  print_bytes(base_of(text, access), region.start, region.end, out, size);
  return out;
}

static bool is_same_root(const struct pto_text_root *a, const struct pto_text_root *b) {
  return a->base == b->base && a->ndims == b->ndims && pto_dtype_size(a->dtype) == pto_dtype_size(b->dtype) &&
         memcmp(a->strides, b->strides, a->ndims * sizeof a->strides[0]) == 0;
}

const char *pto_text_common(const struct pto_access_text *text, uint32_t a, uint32_t b, char *out, size_t size) {
  const struct pto_text_root *root = root_of(text, b);
  struct box x, y;
  if (find_box(text, a, &x) && find_box(text, b, &y) && x.is_plain && y.is_plain &&
      is_same_root(root_of(text, a), root)) {
    for (uint32_t r = 0; r < root->ndims; r++) {
      y.begin[r] = pto_max_u64(x.begin[r], y.begin[r]);
      y.end[r] = pto_min_u64(x.end[r], y.end[r]);
    }
    print_box(root, &y, out, size);
    return out;
  }
  struct pto_region left, right;
  pto_graph_region(text->graph, &text->graph->accesses[a], &left);
  pto_graph_region(text->graph, &text->graph->accesses[b], &right);
  print_bytes(base_of(text, b), pto_max_u64(left.start, right.start), pto_min_u64(left.end, right.end), out, size);
  return out;
}

/* ---- words ---- */

const char *pto_text_node(const struct pto_access_text *text, uint32_t node, char *out, size_t size) {
  const struct pto_graph_node *n = &text->graph->nodes[node];
  if (n->is_host) {
    const struct pto_trace_host_access *host = pto_graph_host(text->graph, node);
    snprintf(out, size, "%s %" PRIu32 " (before task %" PRIu64 ")", host->is_sync ? "sync" : "host access", n->index,
             host->task_count);
    return out;
  }
  char name[128];
  snprintf(out, size, "task %" PRIu32 " (%s)", n->index,
           pto_trace_task_name(pto_graph_task(text->graph, node), name, sizeof name));
  return out;
}

void pto_text_find(const struct pto_access_text *text, uint32_t node, struct pto_source_call *found) {
  const bool is_host = text->graph->nodes[node].is_host;
  const void *call = is_host ? pto_graph_host(text->graph, node)->call : pto_graph_task(text->graph, node)->call;
  const void *outer =
      is_host ? pto_graph_host(text->graph, node)->outer_call : pto_graph_task(text->graph, node)->outer_call;
  pto_source_lines_find(text->lines, call, outer, found);
  if (!is_host) found->dispatch = pto_graph_task(text->graph, node)->dispatch;
}

const char *pto_text_param(const struct pto_access_text *text, uint32_t access, char *out, size_t size) {
  const struct pto_trace_param *param = text->graph->accesses[access].param;
  out[0] = '\0';
  if (param && param->index == UINT32_MAX)
    snprintf(out, size, "predicate ");
  else if (param)
    snprintf(out, size, "param %" PRIu32 " ", param->index);
  return out;
}

const char *pto_text_verb(const struct pto_access_text *text, uint32_t access) {
  const struct pto_graph_access *a = &text->graph->accesses[access];
  return !a->writes && !a->reads ? "holds" : !a->writes ? "reads" : !a->reads ? "writes" : "reads and writes";
}

uint64_t pto_text_buffer_number(const struct pto_access_text *text, uint32_t access) {
  const struct pto_graph_access *a = &text->graph->accesses[access];
  return a->param ? a->param->buffer_number : pto_graph_host(text->graph, a->node)->buffer_number;
}

static const char *label_of(const struct pto_access_text *text, uint32_t access) {
  const struct pto_graph_access *a = &text->graph->accesses[access];
  return a->param ? a->param->buffer_label : pto_graph_host(text->graph, a->node)->buffer_label;
}

bool pto_text_is_same_buffer(const struct pto_access_text *text, uint32_t a, uint32_t b) {
  const char *labels[2] = {label_of(text, a), label_of(text, b)};
  if (pto_text_buffer_number(text, a) == pto_text_buffer_number(text, b)) return true;
  return labels[0] && labels[0] == labels[1] && base_of(text, a) == base_of(text, b);
}

const char *pto_text_buffer(const struct pto_access_text *text, uint32_t access, char *out, size_t size) {
  const struct pto_graph_access *a = &text->graph->accesses[access];
  const char *name = label_of(text, access);
  if (!name && a->space == 0 && text->name_of) name = text->name_of(text->context, base_of(text, access));
  const uint64_t number = pto_text_buffer_number(text, access);
  if (name)
    snprintf(out, size, "buffer %" PRIu64 " (%s)", number, name);
  else
    snprintf(out, size, "buffer %" PRIu64, number);
  return out;
}

const char *pto_text_access(const struct pto_access_text *text, uint32_t access, char *out, size_t size) {
  char param[32], buffer[160], view[256];
  snprintf(out, size, "%s%s %s %s", pto_text_param(text, access, param, sizeof param), pto_text_verb(text, access),
           pto_text_buffer(text, access, buffer, sizeof buffer), pto_text_view(text, access, view, sizeof view));
  return out;
}
