/* SPDX-License-Identifier: MIT */
/*
 * strided_views: kernels that read and write through views, in every dtype.
 *
 * For each dtype a box [4, 6, 10] is read through each view of a table: whole, transposed, stepped, a sub-box, a
 * stepped sub-box of the transpose, a broadcast row, a reshape, and others.  A task copies its view into a dense piece
 * of the output and reports the descriptor that it was given; both are checked.  Then the box is written back through
 * views that interleave: even columns by one task, odd columns by another, which share lines but no byte.  The 4-bit
 * types may only be dense: they are read whole.
 *
 * The golden of a view is a formula for the source index of each of its elements, written without strides.  All values
 * are small integers, as their dtype has them.
 *
 * With the option arithmetic it is general kernels that read each view of one box and the same of another, and write
 * every second element of their output, the task with the two boxes swapped the others: floats within one unit of the
 * last place, integers exact.
 *
 * With V views and D dtypes that can be strided:  tasks = D·(V + 2) + 3,  edges = 0;  arithmetic: 2·V tasks for each
 * dtype and operation.
 */
#include <orchestration/support/program.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLANES = 4, ROWS = 6, COLUMNS = 10, BOX = PLANES * ROWS * COLUMNS, REPORT = 2 + 2 * PTO_MAX_DIMS };

/* ---- kernel: y = x, and what the descriptor of x says ---- */

/* Offset, in elements, of the `number`-th element in row-major order. */
static uint64_t offset_of(const struct pto_kernel_tensor *t, uint64_t number) {
  uint64_t offset = 0;
  for (uint32_t d = t->ndims; d-- > 0;) {
    offset += number % t->shape[d] * t->strides[d];
    number /= t->shape[d];
  }
  return offset;
}

static uint64_t numel_of(const struct pto_kernel_tensor *t) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < t->ndims; d++) numel *= t->shape[d];
  return numel;
}

static int run_copy_and_report(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  uint64_t size = pto_dtype_size(x->dtype), numel = numel_of(x);
  if (x->dtype != y->dtype || numel != numel_of(y))
    return pto_kernel_error(args, "copy_and_report: x and y differ in dtype or size");
  for (uint64_t i = 0; i < numel; i++)
    memcpy((char *)y->addr + offset_of(y, i) * size, (const char *)x->addr + offset_of(x, i) * size, size);
  int64_t *report = args->tensors[2].addr;
  report[0] = x->dtype;
  report[1] = x->ndims;
  for (uint32_t d = 0; d < PTO_MAX_DIMS; d++) {
    report[2 + d] = d < x->ndims ? (int64_t)x->shape[d] : 0;
    report[2 + PTO_MAX_DIMS + d] = d < x->ndims ? (int64_t)x->strides[d] : 0;
  }
  return 0;
}

static const struct pto_kernel_param copy_params[] = {
    {.name = "x", .mode = PTO_INPUT}, {.name = "y", .mode = PTO_OUTPUT}, TENSOR("report", PTO_OUTPUT, I64, 1)};
KERNEL(copy_and_report, copy_params, .name = "copy_and_report", .cores = PTO_AIV, .run = run_copy_and_report);

/* ---- the views: how each is made, what it must look like, and where its elements come from ---- */

static struct pto_tensor make_whole(const struct pto_tensor *box) { return *box; }
static struct pto_tensor make_transposed(const struct pto_tensor *box) { return pto_tensor_transpose(box, 1, 2); }
static struct pto_tensor make_permuted(const struct pto_tensor *box) {
  return pto_tensor_permute(box, (uint32_t[]){2, 0, 1});
}
static struct pto_tensor make_stepped(const struct pto_tensor *box) { return pto_tensor_slice(box, 2, 1, COLUMNS, 3); }
static struct pto_tensor make_sub_box(const struct pto_tensor *box) {
  return pto_tensor_view(box, (uint64_t[]){1, 2, 3}, (uint64_t[]){2, 3, 5});
}
static struct pto_tensor make_mixed(const struct pto_tensor *box) {
  struct pto_tensor inner = pto_tensor_view(box, (uint64_t[]){1, 0, 2}, (uint64_t[]){3, 6, 8});
  struct pto_tensor turned = pto_tensor_transpose(&inner, 0, 2);
  return pto_tensor_slice(&turned, 0, 1, 8, 2);
}
static struct pto_tensor make_reshaped(const struct pto_tensor *box) {
  struct pto_tensor matrix = pto_tensor_reshape(box, 2, (uint64_t[]){PLANES * ROWS, COLUMNS});
  return pto_tensor_slice(&matrix, 0, 3, PLANES * ROWS, 5);
}
static struct pto_tensor make_broadcast(const struct pto_tensor *box) {
  struct pto_tensor row = pto_tensor_view(box, (uint64_t[]){2, 1, 0}, (uint64_t[]){1, 1, COLUMNS});
  return pto_tensor_broadcast(&row, 3, (uint64_t[]){2, 3, COLUMNS});
}
static struct pto_tensor make_single(const struct pto_tensor *box) {
  return pto_tensor_view(box, (uint64_t[]){3, 5, 9}, (uint64_t[]){1, 1, 1});
}

/* Index in the box, row-major. */
static uint64_t at(uint64_t plane, uint64_t row, uint64_t column) { return (plane * ROWS + row) * COLUMNS + column; }

static uint64_t from_whole(const uint64_t *i) { return at(i[0], i[1], i[2]); }
static uint64_t from_transposed(const uint64_t *i) { return at(i[0], i[2], i[1]); }
static uint64_t from_permuted(const uint64_t *i) { return at(i[1], i[2], i[0]); }
static uint64_t from_stepped(const uint64_t *i) { return at(i[0], i[1], 1 + 3 * i[2]); }
static uint64_t from_sub_box(const uint64_t *i) { return at(1 + i[0], 2 + i[1], 3 + i[2]); }
static uint64_t from_mixed(const uint64_t *i) { return at(1 + i[2], i[1], 2 + 1 + 2 * i[0]); }
static uint64_t from_reshaped(const uint64_t *i) { return (3 + 5 * i[0]) * COLUMNS + i[1]; }
static uint64_t from_broadcast(const uint64_t *i) { return at(2, 1, i[2]); }
static uint64_t from_single(const uint64_t *i) { return at(3, 5, 9); }

static const struct {
  struct pto_tensor (*make)(const struct pto_tensor *box);
  uint64_t (*from)(const uint64_t *index);
  uint32_t ndims;
  uint64_t shape[3], strides[3];
} views[] = {
    {make_whole, from_whole, 3, {4, 6, 10}, {60, 10, 1}},
    {make_transposed, from_transposed, 3, {4, 10, 6}, {60, 1, 10}},
    {make_permuted, from_permuted, 3, {10, 4, 6}, {1, 60, 10}},
    {make_stepped, from_stepped, 3, {4, 6, 3}, {60, 10, 3}},
    {make_sub_box, from_sub_box, 3, {2, 3, 5}, {60, 10, 1}},
    {make_mixed, from_mixed, 3, {4, 6, 3}, {2, 10, 60}},
    {make_reshaped, from_reshaped, 2, {5, 10}, {50, 1}},
    {make_broadcast, from_broadcast, 3, {2, 3, 10}, {0, 0, 1}},
    {make_single, from_single, 3, {1, 1, 1}, {60, 10, 1}},
};
enum { VIEWS = LENGTH(views) };

static uint64_t view_numel(int view) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < views[view].ndims; d++) numel *= views[view].shape[d];
  return numel;
}

/* Index in the box of element `number` of a view. */
static uint64_t source_of(int view, uint64_t number) {
  uint64_t index[3] = {0};
  for (uint32_t d = views[view].ndims; d-- > 0; number /= views[view].shape[d])
    index[d] = number % views[view].shape[d];
  return views[view].from(index);
}

static uint64_t all_numels(void) {
  uint64_t sum = 0;
  for (int v = 0; v < VIEWS; v++) sum += view_numel(v);
  return sum;
}

/* ---- the operations of the option arithmetic: general kernels, and what they mean ---- */

static double sum_of(double a, double b) { return a + b; }
static double product_of(double a, double b) { return a * b; }
static double larger_of(double a, double b) { return a > b ? a : b; }
static double quotient_of(double a, double b) { return a / b; }
static double exp_of(double a, double b) { return exp(a); }
static double sqrt_of(double a, double b) { return sqrt(a); }

static const struct {
  const char *kernel;
  double (*of)(double a, double b);
  bool is_unary, is_float;
} operations[] = {
    {"add", sum_of, false, false},     {"mul", product_of, false, false}, {"maximum", larger_of, false, false},
    {"div", quotient_of, false, true}, {"exp", exp_of, true, true},       {"sqrt", sqrt_of, true, true},
};
enum { OPERATIONS = LENGTH(operations) };

/* ---- the program ---- */

/* Arrays of a dtype: box_, or left_ and right_, [PLANES, ROWS, COLUMNS];  pieces_, all views one behind the other, of 4
 * bits the box;  weave_, the box's columns in pairs: even ones, then odd ones, swapped;  report_ i64[VIEWS, REPORT];
 * results_ [OPERATIONS, all views' elements, 2]. */
#define NAME(kind, dtype) array_name((char[32]){0}, kind, dtype)
static const char *array_name(char name[32], const char *kind, uint32_t dtype) {
  snprintf(name, 32, "%s%s", kind, pto_dtype_name(dtype));
  return name;
}

struct strided {
  uint32_t arithmetic; /* set of PTO_DTYPE_BIT; 0: the views are copied */
};

static const struct pto_option options[] = {
    {"arithmetic", PTO_OPTION_TEXT, "", "f32, fp16, bf16 or integers: compute with views instead of copying them"},
    {0},
};

static const struct pto_case cases[] = {
    {"all", "", "nine views of fifteen dtypes copied, and the three of 4 bits", 168, 0, false},
    {"integers", "arithmetic=integers", "three operations on eight dtypes", 432, 0, false},
    {"f32", "arithmetic=f32", "six operations", 108, 0, false},
    {"fp16", "arithmetic=fp16", NULL, 108, 0, false},
    {"bf16", "arithmetic=bf16", NULL, 108, 0, false},
    {0},
};

static bool is_packed(uint32_t dtype) { return pto_dtype_bits(dtype) < 8; }

static int prepare_copies(struct pto_program_run *run) {
  int status = DECLARE_ARRAYS(run, SCRATCH("values", PTO_INT32, PLANES, ROWS, COLUMNS));
  for (uint32_t d = 0; status == PTO_OK && d < PTO_DTYPE_COUNT; d++) {
    status = DECLARE_ARRAYS(run, INPUT(NAME("box_", d), d, 0, 0, PLANES, ROWS, COLUMNS),
                            OUTPUT(NAME("pieces_", d), d, is_packed(d) ? BOX : all_numels()));
    if (status == PTO_OK && !is_packed(d))
      status = DECLARE_ARRAYS(run, OUTPUT(NAME("weave_", d), d, PLANES, ROWS, COLUMNS),
                              OUTPUT(NAME("report_", d), PTO_INT64, VIEWS, REPORT));
    if (status != PTO_OK) return status;
    struct pto_array *values = pto_program_find(run, "values"), *box = pto_program_find(run, NAME("box_", d));
    pto_array_fill_uniform(run, values, 0, d == PTO_BOOL ? 2 : is_packed(d) ? 8 : 100);
    for (uint64_t i = 0; i < BOX; i++) pto_array_set(box, i, pto_array_get(values, i));
  }
  return status;
}

/* Of whole bytes. */
#define X(constant, value, name, bits, class_) | (((class_) == 'i' || (class_) == 'u') && (bits) >= 8) << (value)
enum { INTEGERS = 0 PTO_DTYPE_LIST(X) };
#undef X
static bool is_float(uint32_t dtype) { return (PTO_DTYPES_FLOAT & PTO_DTYPE_BIT(dtype)) != 0; }

/* Integers from 1 to 10: no sum or product of two leaves any dtype. */
static int prepare_arithmetic(struct pto_program_run *run, uint32_t dtypes) {
  int status = PTO_OK;
  for (uint32_t d = 0; status == PTO_OK && d < PTO_DTYPE_COUNT; d++) {
    if ((dtypes & PTO_DTYPE_BIT(d)) == 0) continue;
    const double low = is_float(d) ? 0.1 : 1, high = is_float(d) ? 5 : 11;
    status = DECLARE_ARRAYS(run, INPUT(NAME("left_", d), d, low, high, PLANES, ROWS, COLUMNS),
                            INPUT(NAME("right_", d), d, low, high, PLANES, ROWS, COLUMNS),
                            OUTPUT(NAME("results_", d), d, OPERATIONS, all_numels(), 2));
  }
  return status;
}

static int prepare(struct pto_program_run *run) {
  struct strided *state = pto_program_state(run, sizeof *state);
  const char *arithmetic = pto_option_text(run, "arithmetic");
  int dtype = pto_dtype_from_name(arithmetic);
  if (state == NULL) return PTO_ENOMEM;
  if (*arithmetic == '\0') return prepare_copies(run);
  if (strcmp(arithmetic, "integers") == 0) {
    state->arithmetic = INTEGERS;
  } else if (dtype >= 0 && is_float((uint32_t)dtype)) {
    static const double unit[PTO_DTYPE_COUNT] = {
        [PTO_FLOAT32] = 0x1p-23, [PTO_FLOAT16] = 0x1p-10, [PTO_BFLOAT16] = 0x1p-7};
    _Static_assert(PTO_DTYPES_FLOAT == (F32 | F16 | PTO_DTYPE_BIT(PTO_BFLOAT16)), "a float more: its unit goes here");
    state->arithmetic = PTO_DTYPE_BIT((uint32_t)dtype);
    pto_program_tolerance(run, unit[dtype], 0);
  } else {
    return pto_program_fail(run, "arithmetic \"%s\" is not f32, fp16, bf16 or integers", arithmetic);
  }
  return prepare_arithmetic(run, state->arithmetic);
}

/* Every view of one dtype's box, each to its piece and its report. */
static int submit_views(struct pto_runtime *rt, struct pto_program_run *run, uint32_t dtype) {
  struct pto_tensor box = tensor_of(rt, run, NAME("box_", dtype)), pieces = tensor_of(rt, run, NAME("pieces_", dtype));
  struct pto_tensor reports = tensor_of(rt, run, NAME("report_", dtype));
  uint64_t first = 0;
  for (int v = 0; v < VIEWS; v++) {
    struct pto_tensor x = views[v].make(&box);
    struct pto_tensor piece = rows_of(&pieces, first, view_numel(v)), report = part_of(&reports, (uint64_t)v);
    struct pto_tensor y = pto_tensor_reshape(&piece, views[v].ndims, views[v].shape);
    int status = pto_submit_aiv(rt, &copy_and_report, PARAMS(pto_input(&x), pto_output(&y), pto_output(&report)));
    if (status != PTO_OK) return status;
    first += view_numel(v);
  }
  return PTO_OK;
}

/* Even columns of the box to odd columns of the weave, and odd ones to even ones. */
static int submit_weave(struct pto_runtime *rt, struct pto_program_run *run, uint32_t dtype) {
  struct pto_tensor box = tensor_of(rt, run, NAME("box_", dtype)), weave = tensor_of(rt, run, NAME("weave_", dtype));
  for (uint64_t parity = 0; parity < 2; parity++) {
    struct pto_tensor x = pto_tensor_slice(&box, 2, parity, COLUMNS, 2);
    struct pto_tensor y = pto_tensor_slice(&weave, 2, 1 - parity, COLUMNS, 2);
    int status = pto_submit_aiv(rt, pto_kernel_find("copy"), PARAMS(pto_input(&x), pto_output(&y)));
    if (status != PTO_OK) return status;
  }
  return PTO_OK;
}

static int copy_everything(struct pto_runtime *rt, struct pto_program_run *run) {
  int status = PTO_OK;
  for (uint32_t d = 0; status == PTO_OK && d < PTO_DTYPE_COUNT; d++) {
    if (is_packed(d)) {
      struct pto_tensor box = tensor_of(rt, run, NAME("box_", d)), pieces = tensor_of(rt, run, NAME("pieces_", d));
      struct pto_tensor flat = pto_tensor_reshape(&box, 1, (uint64_t[]){BOX});
      status = pto_submit_aiv(rt, pto_kernel_find("copy"), PARAMS(pto_input(&flat), pto_output(&pieces)));
    } else {
      status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
      if (status == PTO_OK) status = submit_views(rt, run, d);
      if (status == PTO_OK) status = submit_weave(rt, run, d);
      if (status == PTO_OK) status = pto_scope_end(rt);
    }
  }
  return status;
}

/* Room for two results of a view, which alternate: `parity` 0 has the even elements, 1 the odd ones. */
static struct pto_tensor every_second(const struct pto_tensor *room, int view, uint64_t parity) {
  uint32_t last = views[view].ndims - 1;
  uint64_t shape[3] = {views[view].shape[0], views[view].shape[1], views[view].shape[2]};
  shape[last] *= 2;
  struct pto_tensor both = pto_tensor_reshape(room, views[view].ndims, shape);
  return pto_tensor_slice(&both, last, parity, shape[last], 2);
}

/* One operation on every view of two boxes: of the first and the second to the even elements of `results`, of the
 * second and the first to the odd ones. */
static int submit_operation(struct pto_runtime *rt, int operation, const struct pto_tensor boxes[2],
                            const struct pto_tensor *results) {
  const struct pto_kernel *kernel = pto_kernel_find(operations[operation].kernel);
  uint64_t first = 0;
  int status = PTO_OK;
  for (int v = 0; v < VIEWS; v++) {
    uint64_t offsets[] = {(uint64_t)operation, first, 0}, extents[] = {1, view_numel(v), 2};
    struct pto_tensor room = pto_tensor_view(results, offsets, extents);
    for (uint64_t parity = 0; status == PTO_OK && parity < 2; parity++) {
      struct pto_tensor a = views[v].make(&boxes[parity]), b = views[v].make(&boxes[1 - parity]);
      struct pto_tensor y = every_second(&room, v, parity);
      status = operations[operation].is_unary
                   ? pto_submit_aiv(rt, kernel, PARAMS(pto_input(&a), pto_output(&y)))
                   : pto_submit_aiv(rt, kernel, PARAMS(pto_input(&a), pto_input(&b), pto_output(&y)));
    }
    first += view_numel(v);
  }
  return status;
}

static int compute_everything(struct pto_runtime *rt, struct pto_program_run *run, uint32_t dtypes) {
  for (uint32_t d = 0; d < PTO_DTYPE_COUNT; d++) {
    if ((dtypes & PTO_DTYPE_BIT(d)) == 0) continue;
    struct pto_tensor boxes[] = {tensor_of(rt, run, NAME("left_", d)), tensor_of(rt, run, NAME("right_", d))};
    struct pto_tensor results = tensor_of(rt, run, NAME("results_", d));
    for (int operation = 0; operation < OPERATIONS; operation++) {
      if (operations[operation].is_float && !is_float(d)) continue;
      int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
      if (status == PTO_OK) status = submit_operation(rt, operation, boxes, &results);
      if (status == PTO_OK) status = pto_scope_end(rt);
      if (status != PTO_OK) return status;
    }
  }
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct strided *state = pto_program_state(run, sizeof *state);
  return state->arithmetic == 0 ? copy_everything(rt, run) : compute_everything(rt, run, state->arithmetic);
}

static void expect_view(const double *box, uint32_t dtype, int view, double *piece, double *report) {
  for (uint64_t i = 0; i < view_numel(view); i++) piece[i] = box[source_of(view, i)];
  report[0] = dtype;
  report[1] = views[view].ndims;
  for (uint32_t d = 0; d < views[view].ndims; d++) {
    report[2 + d] = (double)views[view].shape[d];
    report[2 + PTO_MAX_DIMS + d] = (double)views[view].strides[d];
  }
}

static int expect_copies(struct pto_program_run *run) {
  for (uint32_t d = 0; d < PTO_DTYPE_COUNT; d++) {
    const double *box = exact_copy(run, NAME("box_", d));
    double *pieces = golden_of(run, NAME("pieces_", d));
    double *weave = is_packed(d) ? pieces : golden_of(run, NAME("weave_", d));
    double *reports = is_packed(d) ? pieces : golden_of(run, NAME("report_", d));
    if (!box || !pieces || !weave || !reports) return PTO_ENOMEM;
    for (uint64_t i = 0; i < BOX; i++) weave[i] = box[is_packed(d) ? i : i % 2 == 0 ? i + 1 : i - 1];
    for (int v = 0; v < VIEWS && !is_packed(d); pieces += view_numel(v++))
      expect_view(box, d, v, pieces, reports + v * REPORT);
  }
  return PTO_OK;
}

static int expect_arithmetic(struct pto_program_run *run, uint32_t dtypes) {
  for (uint32_t d = 0; d < PTO_DTYPE_COUNT; d++) {
    if ((dtypes & PTO_DTYPE_BIT(d)) == 0) continue;
    const double *left = exact_copy(run, NAME("left_", d)), *right = exact_copy(run, NAME("right_", d));
    double *results = golden_of(run, NAME("results_", d));
    if (!left || !right || !results) return PTO_ENOMEM;
    for (int operation = 0; operation < OPERATIONS; operation++) {
      for (int v = 0; v < VIEWS; v++) {
        for (uint64_t i = 0; i < view_numel(v); i++, results += 2) {
          const double a = left[source_of(v, i)], b = right[source_of(v, i)];
          if (operations[operation].is_float && !is_float(d)) continue;
          results[0] = operations[operation].of(a, b);
          results[1] = operations[operation].of(b, a);
        }
      }
    }
  }
  return PTO_OK;
}

static int expect(struct pto_program_run *run) {
  const struct strided *state = pto_program_state(run, sizeof *state);
  return state->arithmetic == 0 ? expect_copies(run) : expect_arithmetic(run, state->arithmetic);
}

PROGRAM("strided_views", "kernels read and write transposed, stepped, sub-box and broadcast views of every dtype");
