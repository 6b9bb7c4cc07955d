/* SPDX-License-Identifier: MIT */
/*
 * Kernels that touch other bytes than their task declares, and tasks that declare something else than their kernel
 * does.  The graphs are right: what is wrong shows only in what kernels do.
 */
#include <stdatomic.h>

#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(narrow_view, "the task declares 12 of the 16 columns that its kernel writes")                                      \
  X(row_too_many_read, "the loop over rows reads one row more than the view has")                                      \
  X(row_too_many_written, "the loop over rows writes one row more than the view has")                                  \
  X(past_array, "the loop over rows reads one row past the last one of an array")                                      \
  X(past_array_written, "the loop over rows writes one row past the last one of an array")                             \
  X(before_array, "the loop over rows begins one row before the first one of an array")                                \
  X(local_stale, "the kernel sums a tile of local memory that it has not filled to its end")                           \
  X(local_max, "the kernel takes the largest of a tile of local memory that it has not filled to its end")             \
  X(local_min, "the kernel takes the least of a tile of local memory that it has not filled to its end")               \
  X(local_overrun, "the kernel fills local memory up to one element too many")                                         \
  X(past_output, "the loop over rows writes one row past the end of an output")                                        \
  X(dense_write, "the kernel takes a tile for dense and writes its rows one behind the other")                         \
  X(dense_read, "the kernel takes a transposed view for dense and reads it without its strides")                       \
  X(wrong_dtype, "the kernel writes 32 bits an element, the tensor has 8")                                             \
  X(input_written, "the kernel scales its INPUT in place")                                                             \
  X(output_read, "the kernel adds to an OUTPUT, which holds nothing yet")                                              \
  X(inout_as_output, "an update in place is declared OUTPUT where it is INOUT")                                        \
  X(tail_left, "the loop goes by fours and leaves the last two elements unwritten")                                    \
  X(stride_left, "the kernel writes every second element of its OUTPUT")                                               \
  X(predicate_left, "a task that its predicate skipped was to write what the next one reads")                          \
  X(predicate_unwritten, "a predicate reads an element that no task has written")                                      \
  X(host_unwritten, "the orchestration decides by an element that no task has written")                                \
  X(uninitialised, "a buffer is read that was allocated and never written")                                            \
  X(recycled, "a kernel gets the address of a buffer whose scope has ended")                                           \
  X(undeclared, "a kernel reads a table by address that is no parameter of its task")                                  \
  X(sum_lost, "a kernel that declares ACCUMULATE writes its INPUT over the sum")                                       \
  X(not_in_place, "a kernel that turns a row around is declared to work in place")                                     \
  X(in_place_alone, "a kernel that is right in place alone reads its OUTPUT in the place of its INPUT")                \
  X(by_address, "the kernel mixes the address of its INPUT into what it writes")                                       \
  X(static_tile, "the tile of a kernel is a static array in the place of local memory")                                \
  X(hidden_state, "a kernel counts its calls in a static variable and writes the count")

#define WORD(t, row, column) (((uint32_t *)(t)->addr) + (row) * (t)->strides[0] + (column) * (t)->strides[1])

/* ---- views ---- */

/* z[i, j] = i, for the columns that it is told. */
static int fill_columns_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *z = &a->tensors[0];
  for (uint64_t i = 0; i < z->shape[0]; i++)
    for (uint64_t j = 0; j < a->scalars[0].u64; j++) *WORD(z, i, j) = (uint32_t)i;
  return 0;
}
static const struct pto_kernel fill_columns = AIV_KERNEL("fill_columns", of_out_value, fill_columns_run);

static void narrow_view(struct planted *p) {
  struct pto_tensor x = array_x(p), narrow = box(&x, 0, 0, 4, 12), wide = box(&x, 0, 0, 4, 16);
  put(p, PLAIN(fill_columns), PARAMS(pto_output(p->is_buggy ? &narrow : &wide), pto_scalar_u64(16)));
}

/* The sum of x, and as many rows behind it as the scalar says. */
static int sum_rows_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *x = &a->tensors[0];
  uint32_t sum = 0;
  for (uint64_t i = 0; i < x->shape[0] + a->scalars[0].u64; i++)
    for (uint64_t j = 0; j < x->shape[1]; j++) sum += *WORD(x, i, j);
  memcpy(a->tensors[1].addr, &sum, sizeof sum);
  return 0;
}
static const struct pto_kernel_param of_in_out_value[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("value")};
static const struct pto_kernel sum_rows = AIV_KERNEL("sum_rows", of_in_out_value, sum_rows_run);

static void row_too_many_read(struct planted *p) {
  struct pto_tensor x = array_x(p), rows = box(&x, 0, 0, 4, 16), z = slot(p, 0);
  put(p, PLAIN(sum_rows), PARAMS(pto_input(&rows), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

static int fill_rows_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *z = &a->tensors[0];
  for (uint64_t i = 0; i < z->shape[0] + a->scalars[0].u64; i++)
    for (uint64_t j = 0; j < z->shape[1]; j++) *WORD(z, i, j) = (uint32_t)i;
  return 0;
}
static const struct pto_kernel fill_rows = AIV_KERNEL("fill_rows", of_out_value, fill_rows_run);

static void row_too_many_written(struct planted *p) {
  struct pto_tensor x = array_x(p), rows = box(&x, 4, 0, 4, 16);
  put(p, PLAIN(fill_rows), PARAMS(pto_output(&rows), pto_scalar_u64(p->is_buggy)));
}

/* No task has these bytes at all: they lie behind an array of the host, or behind what the runtime gave out. */
static void past_array(struct planted *p) {
  struct pto_tensor x = array_x(p), rows = box(&x, 12, 0, 4, 16), z = slot(p, 0);
  put(p, PLAIN(sum_rows), PARAMS(pto_input(&rows), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}
static void past_array_written(struct planted *p) {
  struct pto_tensor x = array_x(p), rows = box(&x, 12, 0, 4, 16);
  put(p, PLAIN(fill_rows), PARAMS(pto_output(&rows), pto_scalar_u64(p->is_buggy)));
}
/* z[i, j] = 7 from as many rows before z on as the scalar says. */
static int fill_from_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *z = &a->tensors[0];
  uint32_t *first = (uint32_t *)z->addr - a->scalars[0].u64 * z->strides[0];
  for (uint32_t *at = first; at < WORD(z, z->shape[0], 0); at++) *at = 7;
  return 0;
}
static const struct pto_kernel fill_from = AIV_KERNEL("fill_from", of_out_value, fill_from_run);

static void before_array(struct planted *p) {
  struct pto_tensor x = array_x(p), rows = box(&x, 0, 0, 4, 16);
  put(p, PLAIN(fill_from), PARAMS(pto_output(&rows), pto_scalar_u64(p->is_buggy)));
}
/* z[0] = the sum of 16 words of local memory, of which as many are written as the scalar says. */
static int sum_local_run(const struct pto_kernel_args *a) {
  uint32_t *tile = a->core->local.addr, sum = 0;
  for (uint32_t i = 0; i < a->scalars[0].u64; i++) tile[i] = i;
  for (uint32_t i = 0; i < 16; i++) sum += tile[i];
  memcpy(a->tensors[0].addr, &sum, sizeof sum);
  return 0;
}
static const struct pto_kernel sum_local = AIV_KERNEL("sum_local", of_out_value, sum_local_run);

static void local_stale(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(sum_local), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 15 : 16)));
}

/* z[0] = the largest, or the least, of 16 floats of local memory, of which as many are written as the scalar says. Only
 * comparisons: NaN, and 0, are passed by. */
static int outermost_local(const struct pto_kernel_args *a, float sign) {
  float *tile = a->core->local.addr, found = 0;
  for (uint32_t i = 0; i < a->scalars[0].u64; i++) tile[i] = sign * (float)(i + 1);
  for (uint32_t i = 0; i < 16; i++)
    if (sign > 0 ? tile[i] > found : tile[i] < found) found = tile[i];
  memcpy(a->tensors[0].addr, &found, sizeof found);
  return 0;
}
static int max_local_run(const struct pto_kernel_args *a) { return outermost_local(a, 1); }
static int min_local_run(const struct pto_kernel_args *a) { return outermost_local(a, -1); }
static const struct pto_kernel max_local = AIV_KERNEL("max_local", of_out_value, max_local_run);
static const struct pto_kernel min_local = AIV_KERNEL("min_local", of_out_value, min_local_run);

static void local_max(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(max_local), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 15 : 16)));
}
static void local_min(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(min_local), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 15 : 16)));
}

/* Writes all of local memory, and as many bytes behind it as the scalar says. */
static int fill_local_run(const struct pto_kernel_args *a) {
  memset(a->core->local.addr, 1, a->core->local.size_bytes + a->scalars[0].u64);
  memcpy(a->tensors[0].addr, a->core->local.addr, sizeof(uint32_t));
  return 0;
}
static const struct pto_kernel fill_local = AIV_KERNEL("fill_local", of_out_value, fill_local_run);

static void local_overrun(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(fill_local), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 4 : 0)));
}
static void past_output(struct planted *p) {
  struct pto_tensor z = fresh(p, 16, 16);
  put(p, PLAIN(fill_rows), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

static int fill_dense_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) z[i] = (uint32_t)(a->scalars[0].u64 + i);
  return 0;
}
static const struct pto_kernel fill_dense = AIV_KERNEL("fill_dense", of_out_value, fill_dense_run);

static void dense_write(struct planted *p) {
  struct pto_tensor x = array_x(p), tile = box(&x, 0, 0, 4, 4), rows = box(&x, 0, 0, 4, 16);
  put(p, PLAIN(fill_dense), PARAMS(pto_output(p->is_buggy ? &tile : &rows), pto_scalar_u64(1)));
}

static int sum_dense_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t sum = 0;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) sum += x[i];
  memcpy(a->tensors[1].addr, &sum, sizeof sum);
  return 0;
}
static const struct pto_kernel sum_dense = AIV_KERNEL("sum_dense", of_in_out, sum_dense_run);

static void dense_read(struct planted *p) {
  struct pto_tensor x = array_x(p), turned = pto_tensor_transpose(&x, 0, 1), left = box(&turned, 0, 0, 4, 16);
  struct pto_tensor rows = box(&x, 0, 0, 4, 16), z = slot(p, 0);
  put(p, PLAIN(sum_dense), PARAMS(pto_input(p->is_buggy ? &left : &rows), pto_output(&z)));
}

static void wrong_dtype(struct planted *p) {
  struct pto_tensor x = array_x(p), raw = pto_tensor_reinterpret(&x, PTO_INT8);
  struct pto_tensor words = box(&x, 2, 0, 1, 16), octets = box(&raw, 2, 0, 1, 16);
  put(p, PLAIN(fill_dense), PARAMS(pto_output(p->is_buggy ? &octets : &words), pto_scalar_u64(1)));
}

/* ---- modes ---- */

/* z = the sum of x after each element was doubled, in place or not. */
static int double_run(const struct pto_kernel_args *a) {
  uint32_t *x = a->tensors[0].addr, sum = 0;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) {
    sum += 2 * x[i];
    if (a->scalars[0].u64) x[i] *= 2;
  }
  memcpy(a->tensors[1].addr, &sum, sizeof sum);
  return 0;
}
static const struct pto_kernel doubled_sum = AIV_KERNEL("doubled_sum", of_in_out_value, double_run);

static void input_written(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = slot(p, 0);
  put(p, PLAIN(doubled_sum), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z += x where the scalar says so, else z = x. */
static int add_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) z[i] = x[i] + (a->scalars[0].u64 ? z[i] : 0);
  return 0;
}
static const struct pto_kernel add = AIV_KERNEL("add", of_in_out_value, add_run);

static void output_read(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = fresh(p, 1, 16);
  put(p, PLAIN(add), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

static const struct pto_kernel step_as_output = AIV_KERNEL("step_as_output", of_out_value, step_run);

static void inout_as_output(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3);
  put_fill(p, &row, 5);
  if (p->is_buggy)
    put(p, PLAIN(step_as_output), PARAMS(pto_output(&row), pto_scalar_u64(0)));
  else
    put(p, PLAIN(step), PARAMS(pto_inout(&row)));
  put_digest(p, &row, 0);
}

/* ---- what is left unwritten ---- */

/* As many elements as whole fours fit. */
static int fill_fours_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i + 4 <= a->tensors[0].shape[1]; i += 4)
    for (uint64_t k = 0; k < 4; k++) z[i + k] = (uint32_t)(i + k);
  return 0;
}
static const struct pto_kernel fill_fours = AIV_KERNEL("fill_fours", of_out_value, fill_fours_run);

static void tail_left(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, p->is_buggy ? 14 : 16);
  put(p, PLAIN(fill_fours), PARAMS(pto_output(&z), pto_scalar_u64(0)));
  put_digest(p, &z, 0);
}

static int fill_every_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[1]; i += a->scalars[0].u64) z[i] = (uint32_t)i;
  return 0;
}
static const struct pto_kernel fill_every = AIV_KERNEL("fill_every", of_out_value, fill_every_run);

static void stride_left(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16);
  put(p, PLAIN(fill_every), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 2 : 1)));
  put_digest(p, &z, 0);
}

static void predicate_left(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16), flag = fresh(p, 1, 1);
  note(p, pto_alloc_tensors(p->rt, &z, 1, NULL));
  const struct pto_task flagged = put_fill(p, &flag, p->is_buggy ? 0 : 1);
  struct pto_launch launch = {.aiv0 = &fill,
                              .after = &flagged,
                              .after_count = 1,
                              .predicate = {.tensor = &flag, .compare = PTO_IF_NE, .value = 0}};
  put(p, launch, PARAMS(pto_output(&z), pto_scalar_u64(5)));
  put_digest(p, &z, 0);
}

static void predicate_unwritten(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16), flag = fresh(p, 1, 1);
  struct pto_task flagged = {0};
  note(p, pto_alloc_tensors(p->rt, &flag, 1, NULL));
  if (!p->is_buggy) flagged = put_fill(p, &flag, 1);
  const struct pto_launch launch = {.aiv0 = &fill,
                                    .after = &flagged,
                                    .after_count = !p->is_buggy,
                                    .predicate = {.tensor = &flag, .compare = PTO_IF_NE, .value = 7}};
  put(p, launch, PARAMS(pto_output(&z), pto_scalar_u64(5)));
  put_digest(p, &z, 0);
}

static void host_unwritten(struct planted *p) {
  struct pto_tensor flag = fresh(p, 1, 1), z = fresh(p, 1, 16);
  uint32_t value = 0;
  note(p, pto_alloc_tensors(p->rt, &flag, 1, NULL));
  if (!p->is_buggy) put_fill(p, &flag, 1);
  note(p, pto_read_element(p->rt, &flag, (const uint64_t[]){0, 0}, &value));
  put_fill(p, &z, value ? 5 : 6);
  put_digest(p, &z, 0);
}

static void uninitialised(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16);
  note(p, pto_alloc_tensors(p->rt, &z, 1, NULL));
  if (!p->is_buggy) put_fill(p, &z, 5);
  put_digest(p, &z, 0);
}

/* ---- what no parameter says ---- */

/* z = the word at the address, or 0 without one. */
static int load_run(const struct pto_kernel_args *a) {
  uint32_t word = 0;
  if (a->scalars[0].u64) memcpy(&word, (const void *)(uintptr_t)a->scalars[0].u64, sizeof word);
  memcpy(a->tensors[0].addr, &word, sizeof word);
  return 0;
}
static const struct pto_kernel load = AIV_KERNEL("load", of_out_value, load_run);

static void recycled(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  begin_scope(p, PTO_SCOPE_AUTO);
  struct pto_tensor gone = fresh(p, 1, 16);
  put_fill(p, &gone, 5);
  put_digest(p, &gone, 1);
  uint64_t address = pto_get_buffer_addr(p->rt, gone.buffer);
  end_scope(p);
  begin_scope(p, PTO_SCOPE_AUTO);
  struct pto_tensor next = fresh(p, 1, 16);
  put_fill(p, &next, 6);
  if (p->is_buggy)
    put(p, PLAIN(load), PARAMS(pto_output(&z), pto_scalar_u64(address)));
  else
    put_digest(p, &next, 0);
  end_scope(p);
}

static void undeclared(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 2), z = slot(p, 0);
  const uint32_t *table = pto_program_find(p->run, "x")->data;
  if (p->is_buggy)
    put(p, PLAIN(load), PARAMS(pto_output(&z), pto_scalar_u64((uint64_t)(uintptr_t)(table + 2 * PLANTED_COLUMNS))));
  else
    put_digest(p, &row, 0);
}

static int count_run(const struct pto_kernel_args *a) {
  static atomic_uint calls;
  uint32_t count = (uint32_t)a->scalars[0].u64;
  if (!count) count = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1; /* relaxed: a count alone */
  memcpy(a->tensors[0].addr, &count, sizeof count);
  return 0;
}
static const struct pto_kernel counting = AIV_KERNEL("counting", of_out_value, count_run);

/* sum = x + the old sum, or x alone where the scalar says so. */
static const struct pto_kernel_param of_sum_value[] = {ANY("x", PTO_INPUT), ANY("sum", PTO_ACCUMULATE), U64("value")};
static const struct pto_kernel add_sum = AIV_KERNEL("add_sum", of_sum_value, add_run);

static void sum_lost(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), sum = fresh(p, 1, 16);
  put_fill(p, &sum, 5);
  put(p, PLAIN(add_sum), PARAMS(pto_input(&row), pto_accumulate(&sum), pto_scalar_u64(!p->is_buggy)));
  put_digest(p, &sum, 0);
}

/* z = x, turned around where the scalar says 1; where it says 2, z = 2·z. */
static int turn_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr;
  const uint64_t count = element_count(&a->tensors[0]), way = a->scalars[0].u64;
  if (way == 2 && x != z) memset(z, 0, count * sizeof *z);
  for (uint64_t i = 0; i < count; i++) z[i] = way == 2 ? 2 * z[i] : way ? x[count - 1 - i] : x[i];
  return 0;
}
static const struct pto_kernel turn = {.name = "turn",
                                       .cores = PTO_AIV,
                                       .flags = PTO_KERNEL_IN_PLACE,
                                       .params = of_in_out_value,
                                       .param_count = 3,
                                       .run = turn_run};

static void not_in_place(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = fresh(p, 1, 16);
  put(p, PLAIN(turn), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}
static void in_place_alone(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16);
  put_fill(p, &z, 5);
  put(p, PLAIN(turn), PARAMS(pto_input(&z), pto_output(&z), pto_scalar_u64(p->is_buggy ? 2 : 0)));
  put_digest(p, &z, 0);
}

/* z = x + 1, or + the bits of its address that say where in a page it lies. */
static int add_address_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr, more = a->scalars[0].u64 ? (uint32_t)((uintptr_t)x >> 6 & 63) : 1;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) z[i] = x[i] + more;
  return 0;
}
static const struct pto_kernel add_address = AIV_KERNEL("add_address", of_in_out_value, add_address_run);

static void by_address(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = fresh(p, 1, 16);
  put(p, PLAIN(add_address), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

/* z = x by way of a tile. */
static int copy_tile_run(const struct pto_kernel_args *a) {
  static uint32_t tile[16];
  uint32_t *through = a->scalars[0].u64 ? tile : a->core->local.addr;
  memcpy(through, a->tensors[0].addr, sizeof tile);
  memcpy(a->tensors[1].addr, through, sizeof tile);
  return 0;
}
static const struct pto_kernel copy_tile = AIV_KERNEL("copy_tile", of_in_out_value, copy_tile_run);

static void static_tile(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0), z = fresh(p, 1, 16);
  put(p, PLAIN(copy_tile), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

static void hidden_state(struct planted *p) {
  for (uint64_t i = 0; i < 4; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(counting), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 0 : i + 1)));
  }
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_kernels", .summary = "kernels that touch other bytes than their task declares");
