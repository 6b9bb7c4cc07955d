/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>

#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <runtime/control/control.h>
#include <string.h>

/* ---- values ---- */

/* When the storage of result `v` is free: after the node being lowered at the earliest. */
static uint32_t end_of(const struct pto_graph_lowering *l, uint32_t v) {
  const struct pto_value_life *life = &l->lives[v];
  return life->output ? PTO_LIFE_LASTING : pto_max_u32(life->storage_end, l->node_index + 1);
}

/* When storage is free that every result of the node may be a view of. */
static uint32_t end_of_node(const struct pto_graph_lowering *l) {
  const struct pto_graph_node *node = &l->graph->nodes[l->node_index];
  uint32_t end = l->node_index + 1;
  for (uint32_t i = 0; i < node->result_count; i++) end = pto_max_u32(end, end_of(l, node->first_result + i));
  return end;
}

/* ---- scopes ---- */

/* Tasks of tiles in a scope: enough for the cores of a large chip, few for a small window. */
#define SCOPE_TASKS 24u

#define LEAST_CHANNELS 16u /* of an image: f32 that a vector has */

/* The first failure stays. */
static void take_status(struct pto_graph_lowering *l, int status) {
  if (l->status == PTO_OK) l->status = status;
}

static void open_scope(struct pto_graph_lowering *l) {
  if (l->status != PTO_OK) return;
  l->status = pto_scope_begin(l->rt, PTO_SCOPE_AUTO);
  if (l->status == PTO_OK) l->depth++;
}

static void close_scopes(struct pto_graph_lowering *l, uint32_t depth) {
  for (; l->depth > depth; l->depth--) take_status(l, pto_scope_end(l->rt));
}

void pto_graph_lowering_end_node(struct pto_graph_lowering *l) {
  l->result_count = l->placed_count = 0;
  close_scopes(l, 0);
}

/* A result that is written by parts gets memory before them. */
static int place_result(struct pto_graph_lowering *l, uint32_t i) {
  return l->is_reused[i] ? pto_value_memory_claim(l->rt, l->results[i].buffer)
                         : pto_alloc_tensors(l->rt, &l->results[i], 1, NULL);
}

/* Gives results memory where they are, before anything of the node is in a scope of its own. */
static void open_node_scope(struct pto_graph_lowering *l) {
  if (l->depth > 0) return;
  for (; l->placed_count < l->result_count && l->status == PTO_OK; l->placed_count++)
    l->status = place_result(l, l->placed_count);
  open_scope(l);
}

void pto_graph_lowering_part(struct pto_graph_lowering *l) {
  close_scopes(l, 0);
  open_node_scope(l);
}

void pto_graph_lowering_tile(struct pto_graph_lowering *l) {
  open_node_scope(l);
  if (l->status != PTO_OK || (l->depth == 2 && l->scope_tasks < SCOPE_TASKS)) return;
  close_scopes(l, 1);
  l->scope_tasks = 0;
  open_scope(l);
}

void pto_graph_lowering_tiles_end(struct pto_graph_lowering *l) {
  if (l->depth > 1) close_scopes(l, 1);
}

/* ---- storage ---- */

static bool is_same_storage(const struct pto_tensor *a, const struct pto_tensor *b) {
  return pto_tensor_overlap(a, b) != PTO_DISJOINT;
}

const struct pto_tensor *pto_graph_lowering_operand(const struct pto_graph_lowering *l,
                                                    const struct pto_graph_node *node, uint32_t parameter) {
  if (parameter >= node->operand_count || node->operands[parameter] == 0) return NULL;
  return &l->tensors[node->operands[parameter]];
}

static uint64_t bytes_of(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  uint64_t bits = pto_dtype_bits(dtype);
  for (uint32_t d = 0; d < ndims; d++) bits *= shape[d];
  return (bits + 7) / 8;
}

struct pto_tensor pto_graph_lowering_kept(struct pto_graph_lowering *l, uint32_t dtype, uint32_t ndims,
                                          const uint64_t *shape) {
  const struct pto_buffer buffer = pto_create_buffer(l->rt, bytes_of(dtype, ndims, shape));
  struct pto_tensor t = pto_managed_tensor(l->rt, buffer, dtype, ndims, shape);
  if (t.status == PTO_OK) return t;
  take_status(l, t.status);
  t.dtype = dtype; /* what goes on until it asks for the status finds extents that are not 0 */
  t.ndims = ndims;
  if (ndims != 0) memcpy(t.shape, shape, ndims * sizeof *shape);
  return t;
}

struct pto_tensor pto_graph_lowering_temporary(struct pto_graph_lowering *l, uint32_t dtype, uint32_t ndims,
                                               const uint64_t *shape) {
  open_node_scope(l);
  return pto_graph_lowering_kept(l, dtype, ndims, shape);
}

/* In the buffer of a value that is dead, or one that has no memory yet. */
static struct pto_tensor tensor_until(struct pto_graph_lowering *l, const struct pto_graph_desc *desc, uint32_t end,
                                      bool *is_reused_out) {
  const uint64_t size_bytes = bytes_of(desc->dtype, desc->ndims, desc->shape);
  struct pto_buffer buffer;
  *is_reused_out = pto_value_memory_reuse(&l->memory, size_bytes, l->node_index, end, &buffer);
  if (*is_reused_out) return pto_managed_tensor(l->rt, buffer, desc->dtype, desc->ndims, desc->shape);
  const struct pto_tensor t = pto_graph_lowering_kept(l, desc->dtype, desc->ndims, desc->shape);
  (void)pto_value_memory_add(&l->memory, t.buffer, end); /* else it stays this one's */
  return t;
}

/* A result that is written whole by one task gets its memory from that; others before the first scope of the node. */
static struct pto_tensor new_result(struct pto_graph_lowering *l, const struct pto_graph_desc *desc, uint32_t end) {
  PTO_ASSERT(l->depth == 0 && l->result_count < PTO_ARRAY_LENGTH(l->results)); /* results come first */
  const uint32_t i = l->result_count++;
  return l->results[i] = tensor_until(l, desc, end, &l->is_reused[i]);
}

/* Whether `t` is `out`, element by element. */
static bool is_same_tensor(const struct pto_tensor *t, const struct pto_tensor *out) {
  return pto_tensor_overlap(t, out) == PTO_EQUAL && t->dtype == out->dtype && t->ndims == out->ndims &&
         memcmp(t->shape, out->shape, out->ndims * sizeof *out->shape) == 0 && pto_tensor_is_contiguous(t);
}

/* Whether `out`, output `o`, may be written by the current node although it shares storage with an input. */
static bool may_overwrite(const struct pto_graph_lowering *l, const struct pto_graph_node *node, uint32_t o,
                          uint32_t in_place) {
  const uint32_t input = l->shared[o];
  const uint32_t last_read = l->lives[input].last_read; /* lives[0] is of no value: 0 */
  if (input == 0 || last_read < l->node_index + 1) return true;
  if (last_read > l->node_index + 1) return false;
  for (uint32_t i = 0; i < node->operand_count; i++) {
    const struct pto_tensor *t = pto_graph_lowering_operand(l, node, i), *out = &l->outputs[o];
    if (t == NULL || !is_same_storage(t, out)) continue;
    if (i >= 32 || (in_place >> i & 1) == 0) return false;
    if (!is_same_tensor(t, out)) return false;
  }
  return true;
}

struct pto_tensor pto_graph_lowering_result(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                            uint32_t index, uint32_t in_place) {
  const uint32_t v = node->first_result + index, output = l->lives[v].output;
  if (output != 0 && may_overwrite(l, node, output - 1, in_place)) {
    l->is_written[output - 1] = true;
    l->tensors[v] = l->outputs[output - 1];
  } else {
    l->tensors[v] = new_result(l, &l->graph->values[v].desc, end_of(l, v));
  }
  return l->tensors[v];
}

static struct pto_tensor channels_last(const struct pto_tensor *t) {
  return pto_tensor_permute(t, (const uint32_t[]){0, 2, 3, 1});
}

bool pto_is_image(const struct pto_tensor *t) {
  if (t->ndims != 4 || t->strides[1] != 1 || pto_tensor_is_contiguous(t)) return false;
  const struct pto_tensor last = channels_last(t);
  return pto_tensor_is_contiguous(&last);
}

struct pto_tensor pto_graph_lowering_image(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                           uint32_t index, uint32_t in_place) {
  const uint32_t v = node->first_result + index;
  struct pto_graph_desc desc = l->graph->values[v].desc;
  if (l->lives[v].output != 0 || desc.ndims != 4 || desc.shape[1] < LEAST_CHANNELS)
    return pto_graph_lowering_result(l, node, index, in_place);
  const uint64_t channels = desc.shape[1];
  desc.shape[1] = desc.shape[2];
  desc.shape[2] = desc.shape[3];
  desc.shape[3] = channels;
  const struct pto_tensor last = new_result(l, &desc, end_of(l, v));
  return l->tensors[v] = pto_tensor_permute(&last, (const uint32_t[]){0, 3, 1, 2});
}

/* Whether an output lies in the storage of `t`, which is then not what it is now for ever. */
static bool is_given_up(const struct pto_graph_lowering *l, const struct pto_tensor *t) {
  for (uint32_t o = 0; o < l->graph->output_count; o++)
    if (is_same_storage(t, &l->outputs[o])) return true;
  return false;
}

/* A result with memory, which a node may have many of. */
static struct pto_tensor kept_now(struct pto_graph_lowering *l, const struct pto_graph_desc *desc) {
  close_scopes(l, 0);
  const struct pto_tensor t = pto_graph_lowering_kept(l, desc->dtype, desc->ndims, desc->shape);
  l->result_count = l->placed_count = 0; /* earlier ones have theirs */
  if (l->status == PTO_OK) l->status = pto_alloc_tensors(l->rt, &t, 1, NULL);
  return t;
}

void pto_graph_lowering_alias(struct pto_graph_lowering *l, const struct pto_graph_node *node, uint32_t index,
                              const struct pto_tensor *t) {
  const uint32_t v = node->first_result + index, output = l->lives[v].output;
  const struct pto_tensor from = *t;
  l->tensors[v] = from;
  if (output == 0) return;
  if (is_same_tensor(t, &l->outputs[output - 1])) {
    l->is_written[output - 1] = true;
    return;
  }
  if (may_overwrite(l, node, output - 1, PTO_IN_PLACE_NONE)) {
    l->is_written[output - 1] = true;
    l->tensors[v] = l->outputs[output - 1];
  } else if (is_given_up(l, t)) { /* what is copied at the end must still be there */
    l->tensors[v] = kept_now(l, &l->graph->values[v].desc);
  } else {
    return;
  }
  const struct pto_tensor to = l->tensors[v];
  pto_graph_lowering_convert(l, &from, &to);
}

/* ---- tasks ---- */

static void tell_watch(const struct pto_graph_lowering *l, const struct pto_kernel *kernel,
                       const struct pto_param *params, uint32_t count) {
  const struct pto_graph_lowering_watch *watch = l->graph->watch;
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(l->rt, &stats);
  watch->observe(watch->context, &(struct pto_lowered_task){l->node_index, kernel, params, count, stats.tasks});
}

void pto_graph_lowering_submit(struct pto_graph_lowering *l, const struct pto_kernel *kernel,
                               const struct pto_param *params, uint32_t count) {
  if (l->status != PTO_OK) return;
  l->scope_tasks++;
  if (l->graph->watch != NULL) tell_watch(l, kernel, params, count);
  l->status = (kernel->cores & PTO_AIV) != 0 ? pto_submit_aiv(l->rt, kernel, params, count)
                                             : pto_submit_aic(l->rt, kernel, params, count);
}

void pto_graph_lowering_product(struct pto_graph_lowering *l, const struct pto_tensor *a, const struct pto_tensor *b,
                                const struct pto_tensor *c, float alpha, float beta, const struct pto_tensor *y) {
  if (c == NULL)
    PTO_LOWER_TASK(l, &pto_general_matmul, pto_input(a), pto_input(b), pto_output(y));
  else
    PTO_LOWER_TASK(l, &pto_general_gemm, pto_input(a), pto_input(b), pto_input(c), pto_output(y), pto_scalar_f32(alpha),
                   pto_scalar_f32(beta));
}

/* Results get theirs with the first scope; what else is the whole of a buffer is a temporary. */
static bool is_temporary(const struct pto_graph_lowering *l, const struct pto_tensor *t) {
  for (uint32_t i = 0; i < l->result_count; i++)
    if (l->results[i].buffer.id == t->buffer.id) return false;
  const uint64_t bits = pto_dtype_bits(t->dtype) * pto_tensor_numel(t);
  return t->buffer.base == 0 && t->start_offset == 0 && pto_tensor_is_contiguous(t) &&
         (bits + 7) / 8 == t->buffer.size_bytes;
}

void pto_graph_lowering_allocate(struct pto_graph_lowering *l, const struct pto_tensor *t) {
  open_node_scope(l);
  if (l->status == PTO_OK && is_temporary(l, t)) l->status = pto_alloc_tensors(l->rt, t, 1, NULL);
}

static void submit_tile(struct pto_graph_lowering *l, const struct pto_tiles *tiles, uint64_t index,
                        const struct pto_tiled_task *task) {
  struct pto_tensor views[PTO_ARRAY_LENGTH(task->tensors)];
  struct pto_param params[PTO_ARRAY_LENGTH(task->tensors) + PTO_ARRAY_LENGTH(task->scalars)];
  for (uint32_t i = 0; i < task->tensor_count; i++) {
    views[i] = pto_tiles_view(tiles, index, &task->tensors[i]);
    params[i] = pto_param_tensor(task->modes[i], &views[i]);
  }
  memcpy(params + task->tensor_count, task->scalars, task->scalar_count * sizeof *params);
  pto_graph_lowering_submit(l, task->kernel, params, task->tensor_count + task->scalar_count);
}

/* Whether a task, if there is only one, is where a temporary gets its memory, which has to live as long as it. */
static bool gives_memory(const struct pto_graph_lowering *l, const struct pto_tiled_task *task) {
  bool is_given = false;
  for (uint32_t i = 0; i < task->tensor_count; i++)
    is_given = is_given || (task->modes[i] == PTO_OUTPUT && is_temporary(l, &task->tensors[i]));
  return is_given;
}

void pto_graph_lowering_submit_tiles(struct pto_graph_lowering *l, const struct pto_tiles *tiles,
                                     const struct pto_tiled_task *task) {
  const bool is_within_tiles = l->depth == 2;
  if (tiles->count == 1 && (l->depth != 1 || gives_memory(l, task))) {
    submit_tile(l, tiles, 0, task);
    return;
  }
  for (uint32_t i = 0; i < task->tensor_count; i++)
    if (task->modes[i] == PTO_OUTPUT) pto_graph_lowering_allocate(l, &task->tensors[i]);
  for (uint64_t i = 0; i < tiles->count && l->status == PTO_OK; i++) {
    if (!is_within_tiles) pto_graph_lowering_tile(l);
    submit_tile(l, tiles, i, task);
  }
  if (!is_within_tiles) pto_graph_lowering_tiles_end(l);
}

void pto_graph_lowering_apply(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tensor *x,
                              const struct pto_tensor *y, const struct pto_cut *cut, const struct pto_param *scalars,
                              uint32_t scalar_count) {
  struct pto_tiled_task task = {.kernel = kernel,
                                .tensors = {*x, *y},
                                .modes = {PTO_INPUT, PTO_OUTPUT},
                                .tensor_count = 2,
                                .scalar_count = scalar_count};
  if (scalar_count != 0) memcpy(task.scalars, scalars, scalar_count * sizeof *scalars);
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, y->ndims, (cut->is_of_x ? x : y)->shape, cut->whole, cut->weight);
  pto_graph_lowering_submit_tiles(l, &tiles, &task);
}

struct pto_tensor pto_graph_lowering_as_bool(const struct pto_tensor *t) {
  struct pto_tensor view = *t;
  view.dtype = PTO_BOOL; /* one byte as uint8 is, whatever the strides */
  return view;
}

/* Every tensor of the task as one dimension, where all are dense and of one shape: fewer dimensions to walk, and cuts
 * that are even.  Of an image in the order of its memory. */
static void flatten(struct pto_tiled_task *task) {
  const struct pto_tensor *out = &task->tensors[task->tensor_count - 1];
  if (pto_is_image(out))
    for (uint32_t i = 0; i < task->tensor_count; i++) task->tensors[i] = channels_last(&task->tensors[i]);
  const uint64_t numel[] = {pto_tensor_numel(out)};
  if (out->ndims < 2) return;
  for (uint32_t i = 0; i < task->tensor_count; i++)
    if (!pto_tensor_is_contiguous(&task->tensors[i])) return;
  for (uint32_t i = 0; i < task->tensor_count; i++) task->tensors[i] = pto_tensor_reshape(&task->tensors[i], 1, numel);
}

void pto_graph_lowering_elementwise(struct pto_graph_lowering *l, const struct pto_kernel *kernel,
                                    const struct pto_tensor *const *inputs, uint32_t input_count,
                                    const struct pto_tensor *out, const struct pto_param *scalars,
                                    uint32_t scalar_count) {
  struct pto_tiled_task task = {.kernel = kernel, .tensor_count = input_count + 1, .scalar_count = scalar_count};
  for (uint32_t i = 0; i < input_count; i++) {
    task.tensors[i] = pto_tensor_broadcast(inputs[i], out->ndims, out->shape);
    task.modes[i] = PTO_INPUT;
  }
  task.tensors[input_count] = *out;
  task.modes[input_count] = PTO_OUTPUT;
  if (scalar_count != 0) memcpy(task.scalars, scalars, scalar_count * sizeof *scalars);
  for (uint32_t i = 0; i <= input_count; i++)
    if (kernel->params[i].dtypes == PTO_DTYPES_BOOL) task.tensors[i] = pto_graph_lowering_as_bool(&task.tensors[i]);
  flatten(&task);
  const struct pto_tensor *whole = &task.tensors[input_count];
  struct pto_tiles tiles;
  if (pto_dtype_bits(out->dtype) < 8) /* two elements share a byte: one task writes them all */
    pto_tiles_make_one(&tiles, whole->ndims, whole->shape);
  else
    pto_tiles_make(&tiles, whole->ndims, whole->shape, 0, 1);
  pto_graph_lowering_submit_tiles(l, &tiles, &task);
}

void pto_graph_lowering_convert(struct pto_graph_lowering *l, const struct pto_tensor *from,
                                const struct pto_tensor *to) {
  const struct pto_kernel *kernel = from->dtype == to->dtype ? &pto_general_copy : &pto_general_cast;
  pto_graph_lowering_elementwise(l, kernel, &from, 1, to, NULL, 0);
}

void pto_graph_lowering_fill(struct pto_graph_lowering *l, struct pto_number number, const struct pto_tensor *to) {
  const bool is_float = (PTO_DTYPE_BIT(to->dtype) & PTO_DTYPES_FLOAT) != 0;
  const struct pto_param value = is_float ? pto_scalar_f32((float)pto_option_f64(number, 0))
                                          : pto_scalar_i64(pto_option_whole(number, to->dtype, 0));
  pto_graph_lowering_elementwise(l, is_float ? &pto_general_fill : &pto_general_fill_int, NULL, 0, to, &value, 1);
}

struct pto_tensor pto_graph_lowering_reshape(struct pto_graph_lowering *l, const struct pto_tensor *t, uint32_t ndims,
                                             const uint64_t *shape) {
  if (pto_tensor_is_contiguous(t)) return pto_tensor_reshape(t, ndims, shape);
  struct pto_tensor dense;
  if (l->depth == 0) {
    struct pto_graph_desc desc = {.dtype = t->dtype, .ndims = t->ndims};
    for (uint32_t d = 0; d < t->ndims; d++) desc.shape[d] = t->shape[d];
    dense = new_result(l, &desc, end_of_node(l));
  } else {
    dense = pto_graph_lowering_kept(l, t->dtype, t->ndims, t->shape);
  }
  pto_graph_lowering_convert(l, t, &dense);
  return pto_tensor_reshape(&dense, ndims, shape);
}
