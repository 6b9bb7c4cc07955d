/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, at every point of the calls of pto/device.h: the call is refused with a sentence, or a
 * later one has the failure that the context keeps; what it gives is right, device memory comes back, and once there is
 * memory again the same context does all of it.  On each backend, recorded and not.
 *
 * pto_context_info, _counters, _clear_error, pto_device_tensor_describe, _size and pto_device_program_serial allocate
 * nothing and cannot be refused for that.
 */
#include <tests/support/memory_scenarios.h>

#include <tests/support/context_fixture.h>
#include <tests/support/no_hwloc.h>

static const float one_to_four[NUMEL] = {1, 2, 3, 4};

static bool is_times(const float *values, float factor) {
  for (uint32_t i = 0; i < NUMEL; i++)
    if (values[i] != factor * one_to_four[i]) return false;
  return true;
}

/* ---- a few calls each: what fails while it runs is to be queued again ---- */

static struct pto_device_tensor make(void) {
  struct pto_device_tensor t = {0};
  OF_CONTEXT(pto_device_tensor_create_host(context, &matrix, &t));
  GIVEN_OR_REFUSED(t.id != 0);
  return t;
}
static void drop(struct pto_device_tensor t) {
  if (t.id) OF_CONTEXT(pto_device_tensor_destroy(context, t));
  if (t.id && trial.is_over) (void)pto_device_tensor_destroy(context, t);
}

/* Nothing runs then, and no failure is kept. */
static void settle(void) {
  OF_CONTEXT(pto_context_sync(context));
  if (trial.is_over && pto_context_sync(context) != PTO_OK) (void)pto_context_clear_error(context);
}

static void write_and_copy(struct pto_device_tensor in, struct pto_device_tensor copy) {
  float values[NUMEL] = {0};
  AGAIN_IF_REFUSED {
    OF_CONTEXT(pto_device_tensor_write(context, in, one_to_four, BYTES));
    OF_CONTEXT(pto_device_tensor_copy(context, in, copy));
    OF_CONTEXT(pto_device_tensor_read(context, copy, values, BYTES));
  }
  CHECK(is_times(values, 1));
}

static void dispatch_twice(struct pto_device_tensor in, struct pto_device_tensor out) {
  struct pto_device_program repeating = times_2;
  float values[NUMEL] = {0};
  repeating.repeats = pto_device_program_serial();
  AGAIN_IF_REFUSED {
    for (int i = 0; i < 2; i++) OF_CONTEXT(try_dispatch1(&repeating, in, out));
    settle();
    OF_CONTEXT(pto_device_tensor_read(context, out, values, BYTES));
  }
  CHECK(is_times(values, 2));
  OF_CONTEXT(pto_context_forget_program(context, &repeating));
}

static void dispatch_with_constant(struct pto_device_tensor in, struct pto_device_tensor out) {
  struct pto_device_tensor constant = {0};
  struct pto_device_program program = plus;
  float values[NUMEL] = {0};
  program.input_count = 1;
  program.orchestrate = submit_sum_constant;
  program.constants = &constant;
  program.constant_count = 1;
  AGAIN_IF_REFUSED {
    constant.id = 0;
    OF_CONTEXT(pto_device_tensor_create_constant(context, &matrix, one_to_four, BYTES, &constant));
    GIVEN_OR_REFUSED(constant.id != 0);
    OF_CONTEXT(try_dispatch1(&program, in, out));
    OF_CONTEXT(pto_device_tensor_read(context, out, values, BYTES));
    settle(); /* before the program goes */
    drop(constant);
  }
  CHECK(is_times(values, 2));
}

static void compute(void) {
  float values[NUMEL] = {0};
  const struct pto_host_array from = {"a", (void *)(uintptr_t)one_to_four, BYTES}, to = {"c", values, BYTES};
  const struct pto_compute_arrays arrays = {&from, &to, 1, 1};
  OF_CONTEXT(pto_context_compute(context, &times_3, &arrays));
  CHECK(is_times(values, 3));
}

/* An input that is host memory, and an output that is made. */
static void call(void) {
  struct pto_argument in = {.name = "a", .data = (void *)(uintptr_t)one_to_four, .size_bytes = BYTES},
                      out = {.name = "c"};
  const struct pto_call made = {
      .size = sizeof made, .inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
  float values[NUMEL] = {0};
  AGAIN_IF_REFUSED {
    out.tensor.id = 0;
    OF_CONTEXT(pto_context_call(context, &times_2, &made));
    GIVEN_OR_REFUSED(out.tensor.id != 0);
    OF_CONTEXT(pto_device_tensor_read(context, out.tensor, values, BYTES));
    drop(out.tensor);
  }
  CHECK(is_times(values, 2));
}

static void call_all(void) {
  const struct pto_device_tensor in = make(), out = make(), copy = make();
  write_and_copy(in, copy);
  dispatch_twice(in, out);
  dispatch_with_constant(copy, out);
  compute();
  call();
  drop(in);
  drop(out);
  drop(copy);
  settle();
  memory_check(counters().live_bytes == 0, "device memory is back", __LINE__);
}

/* ---- whole contexts ---- */

static struct way {
  const struct backend *backend;
  uint32_t record;
} ways[] = {{&backends[0], 0},
            {&backends[1], 0},
            {&backends[2], 0},
            {&backends[0], PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE},
            {&backends[1], PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_CALLERS | PTO_RECORD_SEGMENTS}};

static void run_context(const void *state) {
  const struct way *way = state;
  char sentence[256] = "";
  struct pto_context_options options = options_of(way->backend);
  options.runtime.record = way->record;
  context = NULL;
  CALL(pto_context_create(&options, &context, sentence, sizeof sentence), sentence);
  GIVEN_OR_REFUSED(context != NULL);
  if (!context) return;
  call_all();
  memory_is_back();
  call_all();
  close_context();
}

int main(void) {
  static const struct memory_scenario scenarios[] = {
      {"a context on threads", run_context, &ways[0]},
      {"a context in virtual time", run_context, &ways[1]},
      {"a context on the host", run_context, &ways[2]},
      {"a context on threads, recorded", run_context, &ways[3]},
      {"a context in virtual time, recorded", run_context, &ways[4]},
  };
  return memory_run_scenarios("context calls", scenarios, PTO_ARRAY_LENGTH(scenarios), NULL, NULL, NULL);
}
