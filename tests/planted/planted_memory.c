/* SPDX-License-Identifier: MIT */
/*
 * Kernels with one mistake each in what they touch, for tests/tree/memory_checkers_test.sh: a program of its own, built
 * by that script.  The line that a tool has to name ends in "planted:" and the mistake.  `mistake=none` runs the same
 * tasks without any.
 *
 * Outputs are multiples of 1 KiB, so that nothing is left over behind them but what the runtime leaves.
 */
#include <pto/pto.h>

#include <string.h>

#define NUMEL 256u /* 1 KiB */
#define ROWS 16u
#define COLUMNS 16u

static int write_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = (uint32_t)i;
  return 0;
}
static int write_past_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0] + 1; i++) z[i] = (uint32_t)i; /* planted: write_past */
  return 0;
}
static int write_half_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0] / 2; i++) z[i] = (uint32_t)i;
  return 0;
}

/* Sum of x into z[0], in the order of the rows. */
static int sum_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr, sum = 0;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) sum += x[i]; /* planted: unwritten, half */
  z[0] = sum;
  return 0;
}
static int sum_past_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr, sum = 0;
  for (uint64_t i = 0; i <= a->tensors[0].shape[0]; i++) sum += x[i]; /* planted: read_past, array_past */
  z[0] = sum;
  return 0;
}
static int sum_tile_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *t = &a->tensors[0];
  const uint32_t *x = t->addr;
  uint32_t *z = a->tensors[1].addr, sum = 0;
  for (uint64_t i = 0; i < t->shape[0]; i++)
    for (uint64_t j = 0; j < t->shape[1] + a->scalars[0].u64; j++)
      sum += x[i * t->strides[0] + j]; /* planted: view, external_view */
  z[0] = sum;
  return 0;
}
/* Reads where a scalar says, which no parameter covers. */
static int sum_at_run(const struct pto_kernel_args *a) {
  const uint32_t *x = (const uint32_t *)(uintptr_t)a->scalars[0].u64;
  uint32_t *z = a->tensors[0].addr;
  z[0] = x[0] + x[1]; /* planted: recycled */
  return 0;
}

#define U32(parameter, way)                                                                                            \
  { .name = parameter, .mode = way, .dtypes = PTO_DTYPE_BIT(PTO_UINT32) }
static const struct pto_kernel_param of_write[] = {U32("z", PTO_OUTPUT)};
static const struct pto_kernel_param of_sum[] = {U32("x", PTO_INPUT), U32("z", PTO_OUTPUT)};
static const struct pto_kernel_param of_tile[] = {
    U32("x", PTO_INPUT), U32("z", PTO_OUTPUT), {.name = "extra", .mode = PTO_SCALAR}};
static const struct pto_kernel_param of_at[] = {U32("z", PTO_OUTPUT), {.name = "address", .mode = PTO_SCALAR}};
#define KERNEL(list, function)                                                                                         \
  { .name = #function, .cores = PTO_AIV, .params = list, .param_count = sizeof list / sizeof *list, .run = function }
static const struct pto_kernel writer = KERNEL(of_write, write_run), write_past = KERNEL(of_write, write_past_run),
                               write_half = KERNEL(of_write, write_half_run), sum = KERNEL(of_sum, sum_run),
                               sum_past = KERNEL(of_sum, sum_past_run), sum_tile = KERNEL(of_tile, sum_tile_run),
                               sum_at = KERNEL(of_at, sum_at_run);

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {1}, grid[] = {ROWS, COLUMNS};
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_UINT32, 1, shape);
  pto_program_array(run, "grid", PTO_ARRAY_INPUT, PTO_UINT32, 2, grid);
  return PTO_OK;
}

/* Each submit's status into *status, the first failure kept. */
static void note(int *status, int next) {
  if (*status == PTO_OK) *status = next;
}

static struct pto_tensor fresh(struct pto_runtime *rt, uint64_t numel) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, numel * 4), PTO_UINT32, 1, &numel);
}

static int submit_sum(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *x,
                      const struct pto_tensor *z) {
  return pto_submit_aiv(rt, kernel, (struct pto_param[]){pto_input(x), pto_output(z)}, 2);
}
static int submit_write(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *z) {
  return pto_submit_aiv(rt, kernel, (struct pto_param[]){pto_output(z)}, 1);
}

/* A tile in the middle of a matrix of tiles, and how many elements too many of each row are read. */
static int submit_tile(struct pto_runtime *rt, const struct pto_tensor *grid, const struct pto_tensor *z,
                       uint64_t extra) {
  const uint64_t offsets[] = {4, 4}, shape[] = {4, 4};
  struct pto_tensor tile = pto_tensor_view(grid, offsets, shape);
  return pto_submit_aiv(rt, &sum_tile, (struct pto_param[]){pto_input(&tile), pto_output(z), pto_scalar_u64(extra)}, 3);
}

/* What an inner scope allocated is written, read, gone, and its place in the ring another task's. */
static int submit_recycled(struct pto_runtime *rt, const struct pto_tensor *z) {
  uint64_t first, index[] = {0};
  uint32_t seen;
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  struct pto_tensor x = fresh(rt, NUMEL);
  note(&status, submit_write(rt, &writer, &x));
  note(&status, pto_read_element(rt, &x, index, &seen));
  first = pto_get_buffer_addr(rt, x.buffer);
  note(&status, pto_scope_end(rt));
  note(&status, pto_scope_begin(rt, PTO_SCOPE_AUTO));
  struct pto_tensor y = fresh(rt, NUMEL);
  note(&status, submit_write(rt, &writer, &y));
  note(&status, pto_submit_aiv(rt, &sum_at, (struct pto_param[]){pto_output(z), pto_scalar_u64(first)}, 2));
  note(&status, pto_scope_end(rt));
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const char *mistake = pto_option_text(run, "mistake");
  const uint64_t shape[] = {ROWS, COLUMNS};
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  struct pto_tensor grid = pto_array_tensor(rt, pto_program_find(run, "grid"));
  struct pto_tensor x = fresh(rt, NUMEL), y = fresh(rt, NUMEL), unwritten = fresh(rt, NUMEL);
  struct pto_tensor x_grid = pto_tensor_reshape(&x, 2, shape);
#define IS(name) (strcmp(mistake, name) == 0)
  const struct pto_kernel *first = IS("half") ? &write_half : IS("write_past") ? &write_past : &writer;
  if (IS("recycled")) return submit_recycled(rt, &z);
  if (IS("array_past")) {
    const uint64_t all[] = {ROWS * COLUMNS};
    struct pto_tensor array = pto_tensor_reshape(&grid, 1, all);
    return submit_sum(rt, &sum_past, &array, &z);
  }
  int status = submit_write(rt, first, &x);
  note(&status, submit_write(rt, &writer, &y)); /* right behind x in the ring */
  note(&status, pto_alloc_tensors(rt, &unwritten, 1, NULL));
  if (IS("unwritten")) note(&status, submit_sum(rt, &sum, &unwritten, &z));
  note(&status, submit_tile(rt, &x_grid, &z, IS("view")));
  note(&status, submit_tile(rt, &grid, &z, IS("external_view")));
  note(&status, submit_sum(rt, IS("read_past") ? &sum_past : &sum, &x, &z));
  return status;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "planted_memory",
    .summary = "kernels that touch what they must not",
    .options = (const struct pto_option[]){{"mistake", PTO_OPTION_TEXT, "none", "which one"}, {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
};
