/* SPDX-License-Identifier: MIT */
/* The plain interpreter of random orchestrations: sequential execution, and edges by comparing byte sets one by one. */
#include <tests/support/random_program.h>

#include <string.h>

#define MAX_BYTES RANDOM_EXTERNAL_BYTES
#define BITMAP_BYTES (MAX_BYTES / 8)
#define MAX_DEPTH 6
#define SPACES (RANDOM_MAX_BUFFERS + RANDOM_MAX_PARAMS)
#define RINGS 4

/* A parameter's bytes, in the order of its elements. */
struct bytes {
  uint16_t at[MAX_BYTES];
  uint32_t count, size; /* bytes, bytes an element */
  uint16_t lo, hi;
  uint8_t bits[BITMAP_BYTES];
};

struct record {
  uint32_t task, space;
  uint64_t base; /* where the buffer begins in its memory */
  bool reads, writes, is_fuzzy, is_creator, is_dead;
  uint16_t lo, hi;
  uint8_t bits[BITMAP_BYTES];
};

struct buffer {
  bool exists;
  uint32_t depth;
  int32_t version;
  uint8_t data[MAX_BYTES];
  uint8_t is_written[BITMAP_BYTES];
};

/* A ring whose ended scopes keep their memory until it is needed: positions as in heap_ring.h. */
struct kept_ring {
  uint64_t tail, open_begin, heap_head, heap_tail;
  uint64_t piece_end[RANDOM_MAX_OPS]; /* by sequence; 0: no piece */
  uint32_t op[RANDOM_MAX_OPS];
};

struct interpreter {
  const struct random_program *program;
  struct random_plan *plan;
  struct random_result *result;
  uint32_t rules, window, depth;
  uint32_t kinds[MAX_DEPTH + 2];
  uint64_t head[RINGS];
  uint64_t scope_begin[MAX_DEPTH + 2]; /* head of its ring then */
  struct kept_ring rings[RINGS];
  uint32_t task_ring[RANDOM_MAX_OPS];
  uint64_t task_sequence[RANDOM_MAX_OPS];
  uint32_t tasks[RANDOM_MAX_OPS]; /* operations that became tasks, in order */
  uint32_t task_count, record_count;
  bool has_edge[RANDOM_MAX_OPS];                    /* to the current one, as found */
  bool is_met[RANDOM_MAX_OPS];                      /* of these, by bytes */
  bool comes_after[RANDOM_MAX_OPS][RANDOM_MAX_OPS]; /* of every task, each that leads to it by edges as found */
  uint32_t task_number[RANDOM_MAX_OPS];             /* of an operation that became a task */
  uint32_t creator[SPACES];                         /* the operation that allocated a buffer */
  struct bytes bytes[RANDOM_MAX_PARAMS];
  struct buffer buffers[SPACES];
  struct record records[RANDOM_MAX_OPS * RANDOM_MAX_PARAMS];
};

static bool bit(const uint8_t *bits, uint32_t i) { return bits[i / 8] >> (i % 8) & 1; }
static void set_bit(uint8_t *bits, uint32_t i) { bits[i / 8] |= (uint8_t)(1u << (i % 8)); }

static void bytes_of(const struct random_view *view, struct bytes *out, uint64_t shape[3]) {
  uint64_t stride[3] = {1, 1, 1}, offset = 0, count = 1;
  uint32_t size = (uint32_t)pto_dtype_size(view->dtype);
  for (uint32_t d = view->ndims - 1; d-- > 0;) stride[d] = stride[d + 1] * view->root[d + 1];
  for (uint32_t d = 0; d < view->ndims; d++) {
    offset += view->offset[d] * stride[d];
    stride[d] *= view->step[d];
    shape[d] = view->shape[d];
    count *= shape[d];
  }
  if (view->transpose) {
    uint64_t swap = stride[0];
    stride[0] = stride[1];
    stride[1] = swap;
    swap = shape[0];
    shape[0] = shape[1];
    shape[1] = swap;
  }
  memset(out->bits, 0, sizeof out->bits);
  out->count = 0;
  out->size = size;
  out->lo = UINT16_MAX;
  out->hi = 0;
  for (uint64_t e = 0; e < count; e++) {
    uint64_t rest = e, at = offset;
    for (uint32_t d = view->ndims; d-- > 0;) {
      at += rest % shape[d] * stride[d];
      rest /= shape[d];
    }
    for (uint32_t k = 0; k < size; k++) {
      uint16_t byte = (uint16_t)(view->skip_bytes + at * size + k);
      out->at[out->count++] = byte;
      set_bit(out->bits, byte);
      if (byte < out->lo) out->lo = byte;
      if (byte >= out->hi) out->hi = (uint16_t)(byte + 1);
    }
  }
}

static bool bits_meet(const uint8_t *a, const uint8_t *b) {
  for (uint32_t i = 0; i < BITMAP_BYTES; i++)
    if (a[i] & b[i]) return true;
  return false;
}
static bool bits_cover(const uint8_t *a, const uint8_t *b) {
  for (uint32_t i = 0; i < BITMAP_BYTES; i++)
    if (b[i] & ~a[i]) return false;
  return true;
}

static bool is_visible(const struct interpreter *in, uint32_t task) {
  return in->head[in->task_ring[task]] - in->task_sequence[task] <= in->window;
}
static uint32_t ring_of(uint32_t depth) { return depth < RINGS - 1 ? depth : RINGS - 1; }

static void drop_buffer(struct interpreter *in, uint32_t space) {
  in->buffers[space].exists = false;
  for (uint32_t r = 0; r < in->record_count; r++)
    if (in->records[r].space == space) in->records[r].is_dead = true;
}

/* ---- room, where ended scopes keep their memory ---- */

static bool has_piece(const struct random_op *op, uint64_t *bytes) {
  bool allocates = false;
  *bytes = 0;
  for (uint32_t i = 0; i < op->param_count; i++) {
    const struct random_view *view = &op->params[i].view;
    if (!op->params[i].allocates) continue;
    uint64_t size = pto_dtype_size(view->dtype);
    for (uint32_t d = 0; d < view->ndims; d++) size *= view->root[d];
    *bytes += (size + 1023) / 1024 * 1024;
    allocates = true;
  }
  return allocates;
}

/* The end of a piece; 0: it does not fit now. */
static uint64_t place_piece(struct kept_ring *ring, uint64_t size, uint64_t bytes) {
  if (ring->heap_head == ring->heap_tail)
    ring->heap_head = ring->heap_tail = (ring->heap_head + size - 1) / size * size;
  const uint64_t offset = ring->heap_head % size, skipped = offset + bytes > size ? size - offset : 0;
  if (skipped + bytes > size - (ring->heap_head - ring->heap_tail)) return 0;
  return ring->heap_head + skipped + bytes;
}

/* Makes room for the task, oldest first and no more than is needed.  False, and nothing has changed, where open scopes
 * hold it or the task uses what would go. */
static bool make_room(struct interpreter *in, uint32_t at) {
  const struct random_op *op = &in->program->ops[at];
  const uint32_t r = ring_of(in->depth);
  struct kept_ring ring = in->rings[r];
  const uint64_t first = ring.tail, size = in->program->kept_heap_bytes, sequence = in->head[r];
  uint64_t bytes, end = 0;
  const bool allocates = has_piece(op, &bytes);
  if (bytes > size) return false;
  for (;;) {
    const bool is_full = sequence - ring.tail >= in->window - 1;
    if (!is_full && (!allocates || (end = place_piece(&ring, size, bytes)) != 0 || (bytes == 0 && ring.heap_head == 0)))
      break;
    if (ring.tail == ring.open_begin) return false;
    for (uint32_t i = 0; i < op->param_count; i++) {
      const uint32_t space = op->params[i].view.buffer;
      if (space >= RANDOM_EXTERNALS && !op->params[i].allocates && in->creator[space] == ring.op[ring.tail])
        return false;
    }
    if (ring.piece_end[ring.tail] > ring.heap_tail) ring.heap_tail = ring.piece_end[ring.tail];
    ring.tail++;
  }
  for (uint64_t s = first; s < ring.tail; s++)
    for (uint32_t i = RANDOM_EXTERNALS; i < SPACES; i++)
      if (in->buffers[i].exists && in->creator[i] == ring.op[s]) drop_buffer(in, i);
  if (allocates) ring.heap_head = end;
  ring.piece_end[sequence] = allocates ? end : 0;
  ring.op[sequence] = at;
  in->rings[r] = ring;
  return true;
}

/* ---- may the operation run? ---- */

static bool params_are_valid(struct interpreter *in, const struct random_op *op) {
  for (uint32_t i = 0; i < op->param_count; i++) {
    const struct random_param *p = &op->params[i];
    const struct buffer *b = &in->buffers[p->view.buffer];
    if (p->allocates == b->exists) return false;
    uint64_t shape[3];
    bytes_of(&p->view, &in->bytes[i], shape);
    if (p->allocates) continue;
    if (p->view.buffer >= RANDOM_EXTERNALS && (p->mode & PTO_INPUT) && !bits_cover(b->is_written, in->bytes[i].bits))
      return false;
  }
  if (op->kind != OP_TASK) return true;
  for (uint32_t i = 0; i < op->param_count; i++)
    for (uint32_t j = 0; j < i; j++) {
      bool is_pair = op->in_place && i == 1 && j == 0;
      if (op->params[i].mode == PTO_HOLD || op->params[j].mode == PTO_HOLD) continue;
      if (op->params[i].view.buffer == op->params[j].view.buffer &&
          ((op->params[i].mode | op->params[j].mode) & PTO_OUTPUT) && !is_pair &&
          bits_meet(in->bytes[i].bits, in->bytes[j].bits))
        return false;
    }
  return true;
}

/* ---- edges ---- */

static bool has_rule(const struct interpreter *in, uint32_t rule_switch, bool is_on) {
  return in->rules != PTO_DEPS_EXACT && !(in->rules & rule_switch) == is_on;
}
static bool enters_nothing(const struct interpreter *in, bool is_manual) {
  return is_manual && has_rule(in, PTO_DEPS_SWITCH_MANUAL_ENTERS_NOTHING, true);
}
/* A predicate that orders nothing. */
static bool is_unseen(const struct interpreter *in, const struct random_op *op, uint32_t i) {
  return op->compare && i + 1 == op->param_count && has_rule(in, PTO_DEPS_SWITCH_PREDICATE_ORDERS_NOTHING, true);
}

static bool conflicts(const struct interpreter *in, const struct record *r, bool reads, bool writes) {
  if (r->writes && reads) return true;
  if (r->writes && writes) return in->rules == PTO_DEPS_EXACT || reads || r->is_creator;
  return r->reads && writes && in->rules == PTO_DEPS_EXACT;
}

/* By base-address memory that is registered from elsewhere is other memory. */
static bool is_one_buffer(const struct interpreter *in, const struct record *r, const struct random_view *view) {
  const bool is_one_base = in->program->is_given || r->base == view->skip_bytes;
  return r->space == view->buffer && (is_one_base || !has_rule(in, PTO_DEPS_SWITCH_BASE_ADDRESS, true));
}

static bool record_overlaps(const struct interpreter *in, const struct record *r, const struct random_view *view,
                            const struct bytes *b) {
  if (r->is_dead || !is_one_buffer(in, r, view) || !b->count) return false;
  return r->is_fuzzy || view->fuzzy ? r->lo < b->hi && b->lo < r->hi : bits_meet(r->bits, b->bits);
}

/* What the parameter does: the OUTPUT of an in-place pair is the pair's INOUT, its INPUT is nothing of its own. */
static void access_of(const struct random_op *op, uint32_t i, bool *reads, bool *writes) {
  *reads = op->params[i].mode & PTO_INPUT;
  *writes = op->params[i].mode & PTO_OUTPUT;
  if (op->in_place && i == 0) *reads = *writes = false;
  if (op->in_place && i == 1) *reads = true;
}

static void add_after(struct interpreter *in, uint32_t at, uint32_t task) {
  struct random_plan *plan = in->plan;
  for (uint32_t k = 0; k < plan->after_count[at]; k++)
    if (plan->after[at][k] == task) return;
  plan->after[at][plan->after_count[at]++] = (uint16_t)task;
  in->has_edge[task] = true;
}

/* Whether reduce-implied drops an edge: another producer comes after this one, and it is one of the last 64 tasks. */
static bool is_reduced(const struct interpreter *in, uint32_t producer, uint32_t at) {
  if (!has_rule(in, PTO_DEPS_SWITCH_REDUCE_IMPLIED, false) || in->task_count - in->task_number[producer] > 64)
    return false;
  for (uint32_t other = producer + 1; other < at; other++)
    if (in->has_edge[other] && in->comes_after[other][producer]) return true;
  return false;
}

static void find_edges(struct interpreter *in, uint32_t at, bool is_manual) {
  const struct random_op *op = &in->program->ops[at];
  memset(in->has_edge, 0, sizeof in->has_edge);
  memset(in->is_met, 0, sizeof in->is_met);
  in->plan->after_count[at] = 0;
  for (uint32_t k = 0; k < op->after_count; k++)
    if (op->after[k] <= in->task_count && is_visible(in, in->tasks[in->task_count - op->after[k]]))
      add_after(in, at, in->tasks[in->task_count - op->after[k]]);
  for (uint32_t i = 0; i < op->param_count; i++) {
    bool reads, writes;
    const uint32_t space = op->params[i].view.buffer;
    if (is_unseen(in, op, i)) continue;
    if (!is_manual && space >= RANDOM_EXTERNALS && !op->params[i].allocates && in->bytes[i].count &&
        has_rule(in, PTO_DEPS_SWITCH_CREATOR_EDGES, true))
      in->has_edge[in->creator[space]] = true;
    access_of(op, i, &reads, &writes);
    for (uint32_t r = 0; r < in->record_count; r++) {
      const struct record *record = &in->records[r];
      if (!is_visible(in, record->task) || !record_overlaps(in, record, &op->params[i].view, &in->bytes[i]) ||
          !conflicts(in, record, reads, writes))
        continue;
      if (is_manual)
        add_after(in, at, record->task); /* nothing else would order it */
      else
        in->has_edge[record->task] = in->is_met[record->task] = true;
    }
  }
  for (uint32_t t = 0; t < at; t++)
    for (uint32_t before = 0; in->has_edge[t] && before <= t; before++)
      in->comes_after[at][before] |= before == t || in->comes_after[t][before];
  for (uint32_t t = 0; t < RANDOM_MAX_OPS; t++) in->result->edges += in->has_edge[t] && !is_reduced(in, t, at);
}

static void enter_accesses(struct interpreter *in, uint32_t at) {
  const struct random_op *op = &in->program->ops[at];
  const bool *edges = has_rule(in, PTO_DEPS_SWITCH_REDUCE_IMPLIED, false) ? in->is_met : in->has_edge;
  uint32_t before = in->record_count;
  if (enters_nothing(in, in->kinds[in->depth] == PTO_SCOPE_MANUAL)) return;
  for (uint32_t i = 0; i < op->param_count; i++) {
    bool reads, writes;
    access_of(op, i, &reads, &writes);
    const struct random_view *view = &op->params[i].view;
    if (writes && !view->fuzzy)
      for (uint32_t r = 0; r < before; r++) {
        struct record *old = &in->records[r];
        if (!old->is_dead && is_one_buffer(in, old, view) && !old->is_fuzzy && edges[old->task] &&
            bits_cover(in->bytes[i].bits, old->bits))
          old->is_dead = true;
      }
    if (!(reads || writes) || !in->bytes[i].count || is_unseen(in, op, i)) continue;
    struct record *record = &in->records[in->record_count++];
    *record = (struct record){.task = at,
                              .space = view->buffer,
                              .base = view->skip_bytes,
                              .reads = reads,
                              .writes = writes,
                              .is_fuzzy = view->fuzzy,
                              .is_creator = op->params[i].allocates,
                              .lo = in->bytes[i].lo,
                              .hi = in->bytes[i].hi};
    memcpy(record->bits, in->bytes[i].bits, sizeof record->bits);
  }
}

/* ---- execution ---- */

static uint64_t fold(uint64_t hash, uint8_t byte) { return (hash ^ byte) * UINT64_C(0x100000001b3); }

static bool predicate_holds(struct interpreter *in, const struct random_op *op) {
  if (!op->compare) return true;
  int32_t x;
  memcpy(&x, in->buffers[op->params[op->param_count - 1].view.buffer].data + in->bytes[op->param_count - 1].at[0], 4);
  int64_t y = op->compare_value;
  switch (op->compare) {
  case PTO_IF_EQ:
    return x == y;
  case PTO_IF_NE:
    return x != y;
  case PTO_IF_LT:
    return x < y;
  case PTO_IF_LE:
    return x <= y;
  case PTO_IF_GT:
    return x > y;
  default:
    return x >= y;
  }
}

static void write_param(struct interpreter *in, const struct random_op *op, uint32_t i, uint64_t hash) {
  const struct bytes *b = &in->bytes[i];
  struct buffer *buffer = &in->buffers[op->params[i].view.buffer];
  uint32_t mode = op->in_place && i == 1 ? PTO_INOUT : op->params[i].mode;
  for (uint32_t block = 0; block < op->block_count; block++)
    for (uint32_t n = 0; n < b->count; n++) {
      uint64_t e = n / b->size;
      if (mode != PTO_ACCUMULATE && e % op->block_count != block) continue;
      uint8_t *at = &buffer->data[b->at[n]];
      uint8_t value = (uint8_t)pto_mix64(hash + i + e * 31 + n % b->size);
      if (mode == PTO_INOUT)
        *at = (uint8_t)(*at * 5 + value);
      else if (mode == PTO_ACCUMULATE)
        *at = (uint8_t)(*at * 3 + value + block);
      else
        *at = value;
      set_bit(buffer->is_written, b->at[n]);
    }
}

static void execute_task(struct interpreter *in, const struct random_op *op) {
  if (!predicate_holds(in, op)) return;
  uint32_t count = op->param_count - (op->compare ? 1 : 0);
  uint64_t hash = op->salt;
  for (uint32_t i = 0; i < count; i++) {
    if (op->params[i].mode != PTO_INPUT || (op->in_place && i == 0)) continue;
    for (uint32_t n = 0; n < in->bytes[i].count; n++)
      hash = fold(hash, in->buffers[op->params[i].view.buffer].data[in->bytes[i].at[n]]);
  }
  for (uint32_t i = 0; i < count; i++)
    if (op->params[i].mode & PTO_OUTPUT) write_param(in, op, i, hash);
}

static void make_buffers(struct interpreter *in, const struct random_op *op, uint32_t at) {
  for (uint32_t i = 0; i < op->param_count; i++) {
    const struct random_param *p = &op->params[i];
    struct buffer *b = &in->buffers[p->view.buffer];
    if (p->allocates) {
      b->exists = true;
      in->creator[p->view.buffer] = at;
      b->depth = in->depth;
      b->version = 0;
      memset(b->is_written, 0, sizeof b->is_written);
    }
    int32_t current = p->view.buffer < RANDOM_EXTERNALS ? 0 : b->version;
    in->plan->versions[at][i] = current + (p->mode == PTO_OUTPUT && p->advances);
  }
  for (uint32_t i = 0; i < op->param_count; i++) {
    struct buffer *b = &in->buffers[op->params[i].view.buffer];
    if (op->params[i].view.buffer >= RANDOM_EXTERNALS && in->plan->versions[at][i] > b->version)
      b->version = in->plan->versions[at][i];
  }
}

static void interpret_task(struct interpreter *in, uint32_t at) {
  const struct random_op *op = &in->program->ops[at];
  if (!params_are_valid(in, op)) return;
  if (in->program->kept_heap_bytes && !make_room(in, at)) return;
  in->plan->runs[at] = true;
  make_buffers(in, op, at);
  uint32_t ring = ring_of(in->depth);
  in->task_ring[at] = ring;
  in->task_sequence[at] = in->head[ring]++;
  in->task_number[at] = in->task_count;
  find_edges(in, at, in->kinds[in->depth] == PTO_SCOPE_MANUAL);
  enter_accesses(in, at);
  in->tasks[in->task_count++] = at;
  in->result->tasks++;
  if (op->kind == OP_TASK) execute_task(in, op);
}

static void interpret_host_access(struct interpreter *in, uint32_t at) {
  const struct random_op *op = &in->program->ops[at];
  const struct random_view *view = &op->params[0].view;
  struct buffer *buffer = &in->buffers[view->buffer];
  if (!buffer->exists) return;
  struct bytes *b = &in->bytes[0];
  uint64_t shape[3], element = 0;
  bytes_of(view, b, shape);
  if (!b->count) return;
  for (uint32_t d = 0; d < view->ndims; d++) element = element * shape[d] + op->salt % shape[d];
  const uint16_t *offsets = &b->at[element * b->size];
  uint64_t value = 0;
  for (uint32_t k = 0; k < b->size; k++) {
    if (op->kind == OP_READ && view->buffer >= RANDOM_EXTERNALS && !bit(buffer->is_written, offsets[k])) return;
    value |= (uint64_t)buffer->data[offsets[k]] << (8 * k);
  }
  in->plan->runs[at] = true;
  if (op->kind == OP_READ) {
    for (uint32_t k = 0; k < 8; k++) in->result->reads = fold(in->result->reads, (uint8_t)(value >> (8 * k)));
  } else {
    for (uint32_t k = 0; k < b->size; k++) {
      buffer->data[offsets[k]] = (uint8_t)(op->salt >> (8 * k));
      set_bit(buffer->is_written, offsets[k]);
    }
  }
}

static void interpret_scope(struct interpreter *in, uint32_t at) {
  const struct random_op *op = &in->program->ops[at];
  if (op->kind == OP_SCOPE_BEGIN) {
    if (in->depth == MAX_DEPTH || (in->kinds[in->depth] == PTO_SCOPE_MANUAL && op->scope_kind == PTO_SCOPE_AUTO))
      return;
    in->kinds[++in->depth] = op->scope_kind;
    in->scope_begin[in->depth] = in->head[ring_of(in->depth)];
  } else {
    const uint32_t ring = ring_of(in->depth);
    if (!in->depth) return;
    for (uint32_t i = RANDOM_EXTERNALS; i < SPACES && !in->program->kept_heap_bytes; i++)
      if (in->buffers[i].exists && in->buffers[i].depth == in->depth) drop_buffer(in, i);
    if (in->rings[ring].open_begin >= in->scope_begin[in->depth]) in->rings[ring].open_begin = in->head[ring];
    in->depth--;
  }
  in->plan->runs[at] = true;
}

void random_program_interpret(const struct random_program *program, uint32_t rules, uint32_t window,
                              struct random_plan *plan, struct random_result *result) {
  struct interpreter *in = calloc(1, sizeof *in);
  memset(plan, 0, sizeof *plan);
  memset(result, 0, sizeof *result);
  in->program = program;
  in->plan = plan;
  in->result = result;
  in->rules = rules;
  in->window = window;
  struct pto_rng rng = {~program->seed};
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++) {
    in->buffers[i].exists = true;
    for (uint32_t k = 0; k < RANDOM_EXTERNAL_BYTES; k++) in->buffers[i].data[k] = (uint8_t)pto_rng_next(&rng);
  }
  for (uint32_t i = 0; i < program->op_count; i++) {
    const struct random_op *op = &program->ops[i];
    if (op->is_dropped) continue;
    if (op->kind == OP_SCOPE_BEGIN || op->kind == OP_SCOPE_END)
      interpret_scope(in, i);
    else if (op->kind == OP_READ || op->kind == OP_WRITE)
      interpret_host_access(in, i);
    else
      interpret_task(in, i);
  }
  for (uint32_t i = 0; i < RANDOM_EXTERNALS; i++)
    memcpy(result->externals[i], in->buffers[i].data, RANDOM_EXTERNAL_BYTES);
  free(in);
}
