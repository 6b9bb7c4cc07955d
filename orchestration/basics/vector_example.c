/* SPDX-License-Identifier: MIT */
/*
 * f = (a + b + 1)·(a + b + 2) + (a + b) on 128×128 floats: the smallest program that has everything, its own kernels
 * included.  Five tasks, and six edges that are not in the program: the runtime finds them from what the tasks read and
 * write.
 */
#include <pto/pto.h>

#define SIDE 128u

/* ---- kernels: what runs on a vector core ---- */

static float *at(const struct pto_kernel_tensor *t, uint64_t row, uint64_t column) {
  return (float *)t->addr + row * t->strides[0] + column * t->strides[1];
}
static int add_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *x = &a->tensors[0], *y = &a->tensors[1], *z = &a->tensors[2];
  for (uint64_t i = 0; i < z->shape[0]; i++)
    for (uint64_t j = 0; j < z->shape[1]; j++) *at(z, i, j) = *at(x, i, j) + *at(y, i, j);
  return 0;
}
static int mul_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *x = &a->tensors[0], *y = &a->tensors[1], *z = &a->tensors[2];
  for (uint64_t i = 0; i < z->shape[0]; i++)
    for (uint64_t j = 0; j < z->shape[1]; j++) *at(z, i, j) = *at(x, i, j) * *at(y, i, j);
  return 0;
}
static int add_scalar_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *x = &a->tensors[0], *z = &a->tensors[1];
  for (uint64_t i = 0; i < z->shape[0]; i++)
    for (uint64_t j = 0; j < z->shape[1]; j++) *at(z, i, j) = *at(x, i, j) + a->scalars[0].f32;
  return 0;
}

#define F32(name_, mode_)                                                                                              \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32), .min_rank = 2, .max_rank = 2 }
static const struct pto_kernel_param binary[] = {F32("x", PTO_INPUT), F32("y", PTO_INPUT), F32("z", PTO_OUTPUT)};
static const struct pto_kernel_param with_scalar[] = {
    F32("x", PTO_INPUT), F32("z", PTO_OUTPUT), {.name = "s", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32}};
static const struct pto_kernel add = {"add", PTO_AIV, 0, binary, 3, add_run, NULL, NULL, NULL};
static const struct pto_kernel mul = {"mul", PTO_AIV, 0, binary, 3, mul_run, NULL, NULL, NULL};
static const struct pto_kernel add_scalar = {"add_scalar", PTO_AIV, 0, with_scalar, 3, add_scalar_run, NULL, NULL, NULL};

/* ---- the program: inputs, tasks, what must come out ---- */

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {SIDE, SIDE};
  pto_array_fill(pto_program_array(run, "a", PTO_ARRAY_INPUT, PTO_FLOAT32, 2, shape), 2);
  pto_array_fill(pto_program_array(run, "b", PTO_ARRAY_INPUT, PTO_FLOAT32, 2, shape), 3);
  pto_program_array(run, "f", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, shape);
  return PTO_OK;
}

static struct pto_tensor temporary(struct pto_runtime *rt) { /* gets memory when a task writes it */
  const uint64_t shape[] = {SIDE, SIDE};
  return pto_managed_tensor(rt, pto_create_buffer(rt, sizeof(float) * SIDE * SIDE), PTO_FLOAT32, 2, shape);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor a = pto_array_tensor(rt, pto_program_find(run, "a"));
  struct pto_tensor b = pto_array_tensor(rt, pto_program_find(run, "b"));
  struct pto_tensor f = pto_array_tensor(rt, pto_program_find(run, "f"));
  struct pto_tensor c = temporary(rt);
  int s = pto_submit_aiv(rt, &add, (struct pto_param[]){pto_input(&a), pto_input(&b), pto_output(&c)}, 3);
  if (!s) s = pto_scope_begin(rt, PTO_SCOPE_AUTO); /* d, e and g live until it ends */
  struct pto_tensor d = temporary(rt), e = temporary(rt), g = temporary(rt);
  if (!s)
    s = pto_submit_aiv(rt, &add_scalar, (struct pto_param[]){pto_input(&c), pto_output(&d), pto_scalar_f32(1)}, 3);
  if (!s)
    s = pto_submit_aiv(rt, &add_scalar, (struct pto_param[]){pto_input(&c), pto_output(&e), pto_scalar_f32(2)}, 3);
  if (!s) s = pto_submit_aiv(rt, &mul, (struct pto_param[]){pto_input(&d), pto_input(&e), pto_output(&g)}, 3);
  if (!s) s = pto_submit_aiv(rt, &add, (struct pto_param[]){pto_input(&g), pto_input(&c), pto_output(&f)}, 3);
  return s ? s : pto_scope_end(rt);
}

static int expect(struct pto_program_run *run) {
  const struct pto_array *a = pto_program_find(run, "a"), *b = pto_program_find(run, "b");
  double *golden = pto_array_golden(run, pto_program_find(run, "f"));
  for (uint64_t i = 0; golden && i < a->numel; i++) {
    double c = pto_array_get(a, i) + pto_array_get(b, i);
    golden[i] = (c + 1) * (c + 2) + c;
  }
  return PTO_OK;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "vector_example",
    .summary = "f = (a + b + 1)(a + b + 2) + (a + b): five tasks on vector cores",
    .rtol = 1e-5,
    .atol = 1e-5,
    .cases = (const struct pto_case[]){{.name = "standard", .settings = "", .tasks = 5, .edges = 6}, {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
