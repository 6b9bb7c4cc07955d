/* SPDX-License-Identifier: MIT */
#include <kernels/rows/fold.h>

#include <string.h>

#define LEAST_WIDTH 8   /* and what is not gone below so that they stay */
#define PARTED_WIDTH 64 /* where they come in parts anyway */

/* ---- local memory ---- */

/* Rows of a group, whatever vec has; across a power of two. */
static uint64_t full_width(const struct pto_row_plan *plan, bool keeps_rows) {
  uint64_t width = PTO_ROW_WIDTH;
  if (!plan->is_across) {
    const uint64_t most = plan->length == 0 ? width : PTO_ROW_ELEMS / plan->length;
    return pto_max_u64(1, pto_min_u64(width, most));
  }
  if (!keeps_rows || pto_row_is_in_place(plan, 0, PTO_CLASS_F32)) return width;
  while (width > LEAST_WIDTH && width * plan->length > PTO_ROW_ELEMS) width /= 2;
  return width * plan->length > PTO_ROW_ELEMS ? PARTED_WIDTH : width;
}

static uint64_t node_count(const struct pto_row_plan *plan) {
  const uint64_t blocks = plan->length / PTO_FOLD_BLOCK + (plan->length % PTO_FOLD_BLOCK != 0);
  return blocks < 2 ? 0 : pto_log2_floor(blocks) + 1;
}

/* Elements of x, of an operand, of a result, of lanes, of nodes. */
struct sizes {
  uint64_t x, operand, result, lanes, nodes;
};
static struct sizes sizes_of(const struct pto_row_plan *plan, bool keeps_rows) {
  const uint64_t width = pto_min_u64(full_width(plan, keeps_rows), plan->vec.extent);
  const uint64_t elems = plan->length > PTO_ROW_ELEMS ? PTO_ROW_ELEMS : plan->length * width;
  return (struct sizes){.x = pto_min_u64(elems, PTO_ROW_ELEMS),
                        .operand = pto_min_u64(elems, PTO_ROW_PART),
                        .result = width,
                        .lanes = plan->is_across ? PTO_SUM_LANES * pto_fold_pitch(width) : 0,
                        .nodes = node_count(plan) * (plan->is_across ? width : 1)};
}

uint64_t pto_row_work_bytes(const struct pto_row_plan *plan, bool keeps_rows, uint32_t operand_count) {
  const struct sizes sizes = sizes_of(plan, keeps_rows);
  return pto_local_bytes(sizes.x * sizeof(float)) + operand_count * pto_local_bytes(sizes.operand * sizeof(float)) +
         2 * pto_local_bytes(sizes.result * sizeof(float)) + pto_local_bytes(sizes.lanes * sizeof(float)) +
         pto_local_bytes(sizes.nodes * sizeof(float));
}

void pto_row_work_init(struct pto_row_work *work, struct pto_local *local) {
  const struct sizes sizes = sizes_of(work->plan, work->keeps_rows);
  const uint64_t width = full_width(work->plan, work->keeps_rows);
  work->loops = pto_row_loops_best();
  work->width = sizes.result;
  work->part = work->plan->is_across ? PTO_ROW_ELEMS / width : PTO_ROW_ELEMS;
  work->x = pto_local_take(local, sizes.x * sizeof(float));
  work->p = work->operand_count < 1 ? NULL : pto_local_take(local, sizes.operand * sizeof(float));
  work->q = work->operand_count < 2 ? NULL : pto_local_take(local, sizes.operand * sizeof(float));
  work->a = pto_local_take(local, sizes.result * sizeof(float));
  work->b = pto_local_take(local, sizes.result * sizeof(float));
  work->lanes = pto_local_take(local, sizes.lanes * sizeof(float));
  work->nodes = pto_local_take(local, sizes.nodes * sizeof(float));
  memset(work->a, 0, sizes.result * sizeof(float));
  memset(work->b, 0, sizes.result * sizeof(float));
}

uint64_t pto_row_reads(const struct pto_row_plan *plan, uint64_t pass_count) {
  return plan->length <= PTO_ROW_ELEMS / (plan->is_across ? LEAST_WIDTH : 1) ? 1 : pass_count;
}

/* ---- groups ---- */

uint64_t pto_row_group_size(const struct pto_row_work *work, uint64_t col) {
  return pto_min_u64(work->width, work->plan->vec.extent - col);
}

struct pto_row_group pto_rows_begin(const struct pto_row_work *work, char *const *at, uint64_t col, uint64_t cols) {
  const struct pto_row_part whole = {0, work->plan->length, col, cols};
  struct pto_row_group group = {.at = at, .col = col, .cols = cols};
  if (pto_row_is_in_place(work->plan, 0, PTO_CLASS_F32) ||
      (work->keeps_rows && work->plan->length <= PTO_ROW_ELEMS / cols))
    group.x = pto_row_read(work->plan, 0, at[0], &whole, PTO_CLASS_F32, work->x);
  return group;
}

/* Elements of the rows from `first` on; of what was not read, nothing. */
static struct pto_row_view view_at(const struct pto_row_plan *plan, struct pto_row_view view, uint64_t first) {
  if (!view.data) return view;
  const int64_t distance = plan->is_across ? view.pitch : 1;
  return (struct pto_row_view){(float *)view.data + (int64_t)first * distance, view.pitch};
}

/* ---- folds ---- */

/* The blocks so far: node l is the join of 2^l of them where bit l of the count is set.  One struct a fold. */
struct tree {
  const struct pto_row_loops *loops;
  enum pto_fold fold;
  uint64_t count, cols;
  float *nodes; /* [level][cols] */
};

static void tree_push(struct tree *tree, float *block) {
  uint32_t level = 0;
  for (; (tree->count >> level & 1) != 0; level++)
    tree->loops->fold_join[tree->fold](block, tree->nodes + level * tree->cols, block, tree->cols);
  memcpy(tree->nodes + level * tree->cols, block, tree->cols * sizeof(float));
  tree->count++;
}

static void tree_finish(const struct tree *tree, float *results) {
  bool has_one = false;
  for (uint32_t level = 0; tree->count >> level != 0; level++) {
    if ((tree->count >> level & 1) == 0) continue;
    const float *node = tree->nodes + level * tree->cols;
    if (has_one)
      tree->loops->fold_join[tree->fold](results, node, results, tree->cols);
    else
      memcpy(results, node, tree->cols * sizeof(float));
    has_one = true;
  }
}

/* A fold that is fed its elements in parts, each but the last of whole blocks or of a divisor of one. */
struct feed {
  const struct pto_row_work *work;
  struct tree tree;
  uint64_t length, done;
  const float *a;
  float *results;
};

static void fill(float *x, float value, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) x[i] = value;
}

/* Rows of more than one block come one by one. */
static void feed_along(struct feed *feed, struct pto_row_view x, uint64_t count) {
  pto_fold_along *loop = feed->tree.loops->fold_along[feed->tree.fold];
  const float *a = feed->a == NULL ? feed->work->a : feed->a;
  for (uint64_t i = 0; i < count; i += PTO_FOLD_BLOCK) {
    const struct pto_panel block = {(const float *)x.data + i, x.pitch, pto_min_u64(PTO_FOLD_BLOCK, count - i),
                                    feed->tree.cols};
    loop(feed->results, &block, a);
    if (feed->length > PTO_FOLD_BLOCK) tree_push(&feed->tree, feed->results);
  }
  feed->done += count;
}

static void feed_across(struct feed *feed, struct pto_row_view x, uint64_t count) {
  const struct pto_row_work *work = feed->work;
  const uint64_t cols = feed->tree.cols;
  const bool has_blocks = feed->length > PTO_FOLD_BLOCK;
  for (uint64_t i = 0; i < count;) {
    const uint64_t first = feed->done % PTO_FOLD_BLOCK;
    const uint64_t n = pto_min_u64(PTO_FOLD_BLOCK - first, count - i);
    feed->done += n;
    const struct pto_fold_part part = {.x = {view_at(work->plan, x, i).data, x.pitch, n, cols},
                                       .a = feed->a == NULL ? work->a : feed->a,
                                       .begins = first == 0,
                                       .ends = first + n == PTO_FOLD_BLOCK || feed->done == feed->length,
                                       .lanes = work->lanes,
                                       .results = feed->results};
    work->loops->fold_across[feed->tree.fold](&part);
    if (part.ends && has_blocks) tree_push(&feed->tree, feed->results);
    i += n;
  }
}

static struct feed feed_begin(const struct pto_row_work *work, uint64_t length, uint64_t cols, enum pto_fold fold) {
  return (struct feed){
      .work = work, .tree = {.loops = work->loops, .fold = fold, .cols = cols, .nodes = work->nodes}, .length = length};
}

static void feed_part(struct feed *feed, struct pto_row_view x, uint64_t count) {
  if (feed->work->plan->is_across)
    feed_across(feed, x, count);
  else
    feed_along(feed, x, count);
}

static void feed_end(const struct feed *feed) {
  if (feed->length == 0) fill(feed->results, pto_fold_neutral(feed->tree.fold), feed->tree.cols);
  if (feed->length > PTO_FOLD_BLOCK) tree_finish(&feed->tree, feed->results);
}

void pto_view_fold(const struct pto_row_work *work, struct pto_row_view x, uint64_t count, uint64_t cols,
                   enum pto_fold fold, const float *a, float *results) {
  const uint64_t at_once = work->plan->is_across || count <= PTO_FOLD_BLOCK ? cols : 1;
  for (uint64_t j = 0; j < cols; j += at_once) {
    struct feed feed = feed_begin(work, count, at_once, fold);
    const struct pto_row_view rows = {(float *)x.data + (int64_t)j * x.pitch, x.pitch};
    feed.a = a == NULL ? NULL : a + j;
    feed.results = results + j;
    feed_part(&feed, rows, count);
    feed_end(&feed);
  }
}

void pto_rows_fold(const struct pto_row_work *work, const struct pto_row_group *group, enum pto_fold fold,
                   const float *a, float *results) {
  const uint64_t length = work->plan->length;
  if (group->x.data != NULL || length == 0) {
    pto_view_fold(work, group->x, length, group->cols, fold, a, results);
    return;
  }
  if (!work->plan->is_across && length <= PTO_ROW_ELEMS) { /* not kept, but read as a whole */
    const struct pto_row_part whole = {0, length, group->col, group->cols};
    const struct pto_row_view x = pto_row_read(work->plan, 0, group->at[0], &whole, PTO_CLASS_F32, work->x);
    pto_view_fold(work, x, length, group->cols, fold, a, results);
    return;
  }
  struct feed feed = feed_begin(work, length, group->cols, fold);
  feed.a = a;
  feed.results = results;
  for (uint64_t first = 0; first < length; first += work->part) {
    const struct pto_row_part part = {first, pto_min_u64(work->part, length - first), group->col, group->cols};
    feed_part(&feed, pto_row_read(work->plan, 0, group->at[0], &part, PTO_CLASS_F32, work->x), part.count);
  }
  feed_end(&feed);
}

/* ---- maps ---- */

struct operands {
  struct pto_row_view x, p, q, out;
  bool has_lines; /* across: p and q are shared by the rows */
};

static void map_views(const struct pto_row_work *work, const struct operands *o, const struct pto_row_part *part,
                      enum pto_map map, const float *a, const float *b) {
  const struct pto_map_panel panel = {.x = {o->x.data, o->x.pitch, part->count, part->cols},
                                      .p = o->p.data,
                                      .q = o->q.data,
                                      .a = a == NULL ? work->a : a,
                                      .b = b == NULL ? work->b : b,
                                      .out = o->out.data,
                                      .p_pitch = o->p.pitch,
                                      .q_pitch = o->q.pitch,
                                      .out_pitch = o->out.pitch};
  if (!work->plan->is_across)
    work->loops->map_along[map](&panel);
  else
    (o->has_lines ? work->loops->map_lines : work->loops->map_across)[map](&panel);
}

void pto_view_map(const struct pto_row_work *work, struct pto_row_view x, struct pto_row_view out,
                  const struct pto_row_part *part, enum pto_map map, const float *a, const float *b) {
  map_views(work, &(struct operands){.x = x, .out = out}, part, map, a, b);
}

/* How many elements of each row of a group operand `i` has room for. */
static uint64_t operand_part(const struct pto_row_plan *plan, uint32_t i, uint64_t cols) {
  if (pto_row_is_in_place(plan, i, PTO_CLASS_F32)) return UINT64_MAX;
  return PTO_ROW_PART / (!plan->is_across && pto_row_is_shared(plan, i) ? 1 : cols);
}

static void read_operands(const struct pto_row_work *work, const struct pto_row_group *group,
                          const struct pto_row_part *part, struct operands *o) {
  const struct pto_row_plan *plan = work->plan;
  const uint32_t count = work->operand_count;
  o->has_lines =
      plan->is_across && count > 0 && pto_row_is_shared(plan, 1) && (count < 2 || pto_row_is_shared(plan, 2));
  for (uint32_t i = 1; i <= count; i++) {
    float *buffer = i == 1 ? work->p : work->q;
    const struct pto_row_view view = o->has_lines
                                         ? pto_row_read_shared(plan, i, group->at[i], part, PTO_CLASS_F32, buffer)
                                         : pto_row_read(plan, i, group->at[i], part, PTO_CLASS_F32, buffer);
    *(i == 1 ? &o->p : &o->q) = view;
  }
}

void pto_rows_map(const struct pto_row_work *work, const struct pto_row_group *group, enum pto_map map, const float *a,
                  const float *b, uint32_t out) {
  const struct pto_row_plan *plan = work->plan;
  uint64_t most = plan->is_across ? work->part : PTO_ROW_ELEMS;
  for (uint32_t i = 1; i <= work->operand_count; i++) most = pto_min_u64(most, operand_part(plan, i, group->cols));
  for (uint64_t first = 0; first < plan->length; first += most) {
    const struct pto_row_part part = {first, pto_min_u64(most, plan->length - first), group->col, group->cols};
    struct operands o = {.x = view_at(plan, group->x, first)};
    struct pto_row_view kept = {work->x, (int64_t)(plan->is_across ? part.cols : part.count)};
    if (group->x.data == NULL)
      o.x = pto_row_read(plan, 0, group->at[0], &part, PTO_CLASS_F32, work->x);
    else if (group->x.data == work->x)
      kept = o.x;
    read_operands(work, group, &part, &o);
    o.out = pto_row_is_in_place(plan, out, PTO_CLASS_F32)
                ? pto_row_target(plan, out, group->at[out], &part, PTO_CLASS_F32, NULL)
                : kept;
    map_views(work, &o, &part, map, a, b);
    pto_row_write(plan, out, group->at[out], &part, PTO_CLASS_F32, o.out);
  }
}

void pto_values_map(const struct pto_row_work *work, enum pto_map map, float *values, const float *others, float a,
                    uint64_t count) {
  const float zero = 0;
  work->loops->map_along[map](
      &(struct pto_map_panel){.x = {values, 0, count, 1}, .p = others, .a = &a, .b = &zero, .out = values});
}

void pto_rows_copy(const struct pto_row_work *work, const struct pto_row_group *group, uint32_t out) {
  const struct pto_row_plan *plan = work->plan;
  for (uint64_t first = 0; first < plan->length; first += work->part) {
    const struct pto_row_part part = {first, pto_min_u64(work->part, plan->length - first), group->col, group->cols};
    const struct pto_row_view x = pto_row_read(plan, 0, group->at[0], &part, PTO_CLASS_F32, work->x);
    pto_row_write(plan, out, group->at[out], &part, PTO_CLASS_F32, x);
  }
}

void pto_rows_put(const struct pto_row_work *work, const struct pto_row_group *group, uint32_t i, const float *values) {
  const struct pto_kernel_tensor *t = &work->plan->tensors[i];
  const uint64_t step = work->plan->vec.steps[i];
  pto_loops_best()->store[PTO_CLASS_F32][t->dtype](values, group->at[i] + group->col * step, step, group->cols);
}

void pto_rows_get(const struct pto_row_work *work, const struct pto_row_group *group, uint32_t i, float *values) {
  const struct pto_kernel_tensor *t = &work->plan->tensors[i];
  const uint64_t step = work->plan->vec.steps[i];
  pto_loops_best()->load[PTO_CLASS_F32][t->dtype](values, group->at[i] + group->col * step, step, group->cols);
}
