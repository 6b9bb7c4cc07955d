/* SPDX-License-Identifier: MIT */
/*
 * For tests of contexts: a few kernels and programs on matrices of 2 × 2 floats, and the calls on tensors of that
 * shape.
 *
 * One context is open at a time, `context`; ON_EACH_BACKEND runs what follows it once on each backend, in a context of
 * its own.
 */
#ifndef PTO_CONTEXT_FIXTURE_H
#define PTO_CONTEXT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pto/device.h>
#include <runtime/base/base.h>

#define ROWS 2u
#define COLUMNS 2u
#define NUMEL (ROWS * COLUMNS)
#define BYTES (NUMEL * sizeof(float))

/* ---- kernels and programs ---- */

static inline int scale_run(const struct pto_kernel_args *a) {
  const float *x = a->tensors[0].addr;
  float *z = a->tensors[1].addr;
  for (uint32_t i = 0; i < NUMEL; i++) z[i] = x[i] * a->scalars[0].f32;
  return 0;
}
static inline int sum_run(const struct pto_kernel_args *a) {
  const float *x = a->tensors[0].addr, *y = a->tensors[1].addr;
  float *z = a->tensors[2].addr;
  for (uint32_t i = 0; i < NUMEL; i++) z[i] = x[i] + y[i];
  return 0;
}
static inline int fail_run(const struct pto_kernel_args *a) { return -77; }

static const struct pto_kernel_param two[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};
static const struct pto_kernel_param three[] = {{.mode = PTO_INPUT}, {.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel scale = {
    .name = "scale", .cores = PTO_AIV, .params = two, .param_count = 3, .run = scale_run};
static const struct pto_kernel sum = {
    .name = "sum", .cores = PTO_AIV, .params = three, .param_count = 3, .run = sum_run};
static const struct pto_kernel fail = {
    .name = "fail", .cores = PTO_AIV, .params = two, .param_count = 2, .run = fail_run};

static inline int submit_scale(struct pto_runtime *rt, const struct pto_bound *bound) {
  const float factor = *(const float *)bound->context;
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0]),
                                     pto_scalar_f32(factor)};
  return pto_submit_aiv(rt, &scale, params, 3);
}
static inline int submit_sum(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_input(&bound->inputs[1]),
                                     pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &sum, params, 3);
}
static inline int submit_sum_constant(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_input(&bound->constants[0]),
                                     pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &sum, params, 3);
}
static inline int submit_fail(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param params[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  return pto_submit_aiv(rt, &fail, params, 2);
}
static inline int give_up(struct pto_runtime *rt, const struct pto_bound *bound) { return -1; }

#define MATRIX .dtype = PTO_FLOAT32, .ndims = 2, .shape = {ROWS, COLUMNS}
static const struct pto_operand a_and_b[] = {{.name = "a", MATRIX}, {.name = "b", MATRIX}};
static const struct pto_operand c[] = {{.name = "c", MATRIX}};

static float factor_2 = 2, factor_3 = 3;
static const struct pto_device_program times_2 = {.name = "times 2",
                                                  .inputs = a_and_b,
                                                  .input_count = 1,
                                                  .outputs = c,
                                                  .output_count = 1,
                                                  .orchestrate = submit_scale,
                                                  .context = &factor_2};
static const struct pto_device_program times_3 = {.name = "times 3",
                                                  .inputs = a_and_b,
                                                  .input_count = 1,
                                                  .outputs = c,
                                                  .output_count = 1,
                                                  .orchestrate = submit_scale,
                                                  .context = &factor_3};
static const struct pto_device_program plus = {
    .name = "plus", .inputs = a_and_b, .input_count = 2, .outputs = c, .output_count = 1, .orchestrate = submit_sum};
static const struct pto_device_program failing = {.name = "failing",
                                                  .inputs = a_and_b,
                                                  .input_count = 1,
                                                  .outputs = c,
                                                  .output_count = 1,
                                                  .orchestrate = submit_fail};
static const struct pto_device_program giving_up = {
    .name = "giving up", .inputs = a_and_b, .input_count = 1, .outputs = c, .output_count = 1, .orchestrate = give_up};

/* ---- fixture ---- */

static const struct backend {
  const char *name, *engine;
  uint32_t acceleration, workers;
} backends[] = {{"npu-threads", "threads", PTO_ACCELERATION_DEFAULT, 2},
                {"npu-virtual", "virtual", PTO_ACCELERATION_YES, 0},
                {"host", NULL, PTO_ACCELERATION_NO, 0}};

static struct pto_context *context;
static const struct pto_device_tensor_desc matrix = {MATRIX};

static inline struct pto_context_options options_of(const struct backend *backend) {
  return (struct pto_context_options){
      .size = sizeof(struct pto_context_options),
      .acceleration = backend->acceleration,
      .memory_bytes = 1 << 20,
      .tensor_count = 256,
      .runtime = {
          .engine = backend->engine, .chip = "tiny", .workers = backend->workers, .window = 64, .heap_bytes = 65536}};
}

static inline void open_context(const struct backend *backend) {
  char sentence[256] = "";
  const struct pto_context_options options = options_of(backend);
  int status = pto_context_create(&options, &context, sentence, sizeof sentence);
  if (status) fail_msg("%s: %s", backend->name, sentence);
  assert_string_equal(pto_context_info(context).backend, backend->name);
}

static inline struct pto_context_counters counters(void) {
  struct pto_context_counters all = {.size = sizeof all};
  pto_context_counters(context, &all);
  return all;
}

/* Nothing that a test leaves may be lost. */
static inline void close_context(void) {
  pto_context_destroy(context);
  context = NULL;
}

/* Runs the body on each backend. */
#define ON_EACH_BACKEND                                                                                                \
  for (const struct backend *backend = backends;                                                                       \
       backend < backends + PTO_ARRAY_LENGTH(backends) && (open_context(backend), true); close_context(), backend++)

static inline struct pto_device_tensor host_tensor(void) {
  struct pto_device_tensor t;
  assert_int_equal(pto_device_tensor_create_host(context, &matrix, &t), PTO_OK);
  return t;
}
static inline void write4(struct pto_device_tensor t, float w, float x, float y, float z) {
  const float values[NUMEL] = {w, x, y, z};
  assert_int_equal(pto_device_tensor_write(context, t, values, BYTES), PTO_OK);
}
static inline void reads4(struct pto_device_tensor t, float w, float x, float y, float z) {
  const float wanted[NUMEL] = {w, x, y, z};
  float values[NUMEL] = {-1, -1, -1, -1};
  assert_int_equal(pto_device_tensor_read(context, t, values, BYTES), PTO_OK);
  assert_memory_equal(values, wanted, BYTES);
}
static inline int try_dispatch1(const struct pto_device_program *program, struct pto_device_tensor in,
                                struct pto_device_tensor out) {
  const struct pto_binding inputs[] = {{"a", in}}, outputs[] = {{"c", out}};
  return pto_context_dispatch(
      context, program,
      &(struct pto_dispatch_bindings){.inputs = inputs, .outputs = outputs, .input_count = 1, .output_count = 1});
}
static inline void dispatch1(const struct pto_device_program *program, struct pto_device_tensor in,
                             struct pto_device_tensor out) {
  assert_int_equal(try_dispatch1(program, in, out), PTO_OK);
}
static inline void dispatch2(const struct pto_device_program *program, struct pto_device_tensor a,
                             struct pto_device_tensor b, struct pto_device_tensor out) {
  const struct pto_binding inputs[] = {{"b", b}, {"a", a}}, outputs[] = {{"c", out}};
  assert_int_equal(pto_context_dispatch(context, program,
                                        &(struct pto_dispatch_bindings){
                                            .inputs = inputs, .outputs = outputs, .input_count = 2, .output_count = 1}),
                   PTO_OK);
}
static inline void refused(int status, int wanted, const char *part) {
  assert_int_equal(status, wanted);
  if (!strstr(pto_context_error(context), part))
    fail_msg("\"%s\" does not say \"%s\"", pto_context_error(context), part);
}

#endif
