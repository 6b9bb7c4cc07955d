/* SPDX-License-Identifier: MIT */
/*
 * For the counterparts of WebNN's tests: programs that are what a graph of one operation would be, on 2 × 2 matrices
 * and scalars, and tensors for them.
 *
 * Every test runs twice, with programs that are called each time and with programs that repeat (WEBNN_GROUPS).
 */
#ifndef PTO_WEBNN_GRAPHS_H
#define PTO_WEBNN_GRAPHS_H

#include <stdlib.h>
#include <sys/mman.h>

#include <pto/pto.h>
#include <tests/support/context_fixture.h>

/* ---- programs: one operation of the general kernels, as a graph would have it ---- */

struct operation {
  const char *kernel;
  float scalar;
  bool has_scalar;
};

/* Inputs, then constants, then the first output; smaller tensors are repeated as NumPy does. */
static inline int submit_operation(struct pto_runtime *rt, const struct pto_bound *bound, uint32_t inputs,
                                   uint32_t constants) {
  const struct operation *operation = bound->context;
  const struct pto_tensor *out = &bound->outputs[0];
  struct pto_tensor operands[4];
  struct pto_param params[6];
  uint32_t count = 0;
  for (uint32_t i = 0; i < inputs + constants; i++) {
    const struct pto_tensor *t = i < inputs ? &bound->inputs[i] : &bound->constants[i - inputs];
    operands[i] = pto_tensor_broadcast(t, out->ndims, out->shape);
    params[count++] = pto_input(&operands[i]);
  }
  params[count++] = pto_output(out);
  if (operation->has_scalar) params[count++] = pto_scalar_f32(operation->scalar);
  return pto_submit_aiv(rt, pto_kernel_find(operation->kernel), params, count);
}
static inline int submit_unary(struct pto_runtime *rt, const struct pto_bound *bound) {
  return submit_operation(rt, bound, 1, 0);
}
static inline int submit_binary(struct pto_runtime *rt, const struct pto_bound *bound) {
  return submit_operation(rt, bound, 2, 0);
}
static inline int submit_with_constant(struct pto_runtime *rt, const struct pto_bound *bound) {
  return submit_operation(rt, bound, 1, 1);
}
/* c = a + b, d = a + b. */
static inline int submit_two_outputs(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_bound second = {.inputs = bound->inputs, .outputs = bound->outputs + 1, .context = bound->context};
  const int status = submit_binary(rt, bound);
  return status ? status : submit_binary(rt, &second);
}

static struct operation twice = {"mul_scalar", 2, true}, thrice = {"mul_scalar", 3, true}, add = {"add", 0, false},
                        mul = {"mul", 0, false}, hard_swish = {"hard_swish", 0, false};
static const struct pto_operand c_and_d[] = {{.name = "c", MATRIX}, {.name = "d", MATRIX}};
static const struct pto_operand scalar_and_matrix[] = {{.name = "a", .dtype = PTO_FLOAT32}, {.name = "b", MATRIX}};
static const struct pto_operand f32_in[] = {{.name = "a", .dtype = PTO_FLOAT32}};
static const struct pto_operand f32_out[] = {{.name = "c", .dtype = PTO_FLOAT32}};
static const struct pto_operand i32_in[] = {{.name = "a", .dtype = PTO_INT32}};
static const struct pto_operand i32_out[] = {{.name = "c", .dtype = PTO_INT32}};

#define GRAPH(in, ins, out, outs, how, what)                                                                           \
  {                                                                                                                    \
    .name = #what, .inputs = in, .input_count = ins, .outputs = out, .output_count = outs, .orchestrate = how,         \
    .context = &what                                                                                                   \
  }
static struct pto_device_program graph_twice = GRAPH(a_and_b, 1, c, 1, submit_unary, twice);
static struct pto_device_program graph_thrice = GRAPH(a_and_b, 1, c, 1, submit_unary, thrice);
static struct pto_device_program graph_hard_swish = GRAPH(a_and_b, 1, c, 1, submit_unary, hard_swish);
static struct pto_device_program graph_add = GRAPH(a_and_b, 2, c, 1, submit_binary, add);
static struct pto_device_program graph_mul = GRAPH(a_and_b, 2, c, 1, submit_binary, mul);
static struct pto_device_program graph_two = GRAPH(a_and_b, 2, c_and_d, 2, submit_two_outputs, add);
static struct pto_device_program graph_scalar = GRAPH(scalar_and_matrix, 2, c, 1, submit_binary, add);
static struct pto_device_program graph_f32 = GRAPH(f32_in, 1, f32_out, 1, submit_with_constant, add);
static struct pto_device_program graph_i32 = GRAPH(i32_in, 1, i32_out, 1, submit_with_constant, add);
static struct pto_device_program *const graphs[] = {&graph_twice,  &graph_thrice, &graph_hard_swish,
                                                    &graph_add,    &graph_mul,    &graph_two,
                                                    &graph_scalar, &graph_f32,    &graph_i32};

static inline int with_repeats(uint64_t repeats) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(graphs); i++) graphs[i]->repeats = repeats;
  return 0;
}
static inline int repeating(void **state) { return with_repeats(1); }
static inline int not_repeating(void **state) { return with_repeats(0); }

/* ---- what the tests have in common ---- */

static const float ones[NUMEL] = {1, 1, 1, 1};

static inline void write_all(struct pto_device_tensor t, float x) { write4(t, x, x, x, x); }
static inline void reads_all(struct pto_device_tensor t, float x) { reads4(t, x, x, x, x); }
static inline struct pto_device_tensor holding(float x) {
  const struct pto_device_tensor t = host_tensor();
  write_all(t, x);
  return t;
}
static inline struct pto_device_tensor like(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_device_tensor_desc desc = {.dtype = dtype, .ndims = ndims};
  struct pto_device_tensor t;
  for (uint32_t d = 0; d < ndims; d++) desc.shape[d] = shape[d];
  assert_int_equal(pto_device_tensor_create_host(context, &desc, &t), PTO_OK);
  return t;
}
static inline void destroy(struct pto_device_tensor t) {
  assert_int_equal(pto_device_tensor_destroy(context, t), PTO_OK);
}
/* Memory that other processes could share, as a SharedArrayBuffer is shared by threads. */
static inline float *shared_memory(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  return memory;
}

#define WEBNN_GROUPS(tests)                                                                                            \
  (cmocka_run_group_tests_name("called each time", tests, not_repeating, NULL) +                                       \
   cmocka_run_group_tests_name("from the cache", tests, repeating, NULL))

#endif
