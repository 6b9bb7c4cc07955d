/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, at every point of the calls of pto/device.h: the call is refused with a sentence, or a
 * later one has the failure that the context keeps; what it gives is right, device memory comes back, and once there is
 * memory again the same context does all of it.  On each backend, recorded and not.
 *
 * pto_context_info, _counters, _clear_error, pto_device_tensor_describe, _size and pto_device_program_serial allocate
 * nothing and cannot be refused for that.
 */
#include <tests/support/memory_points.h>

#include <tests/support/context_fixture.h>

#include <stdio.h>

static const float one_to_four[NUMEL] = {1, 2, 3, 4};
static bool is_clean; /* nothing has been refused since the pass began: values are certain */

/* Whether a call went well; a failure that is kept is forgotten. */
static bool did_or(const char *call, int status, int other_status) {
  char sentence[512];
  snprintf(sentence, sizeof sentence, "%s", pto_context_error(context));
  if (went_or(call, status, sentence, other_status)) return true;
  is_clean = false;
  (void)pto_context_clear_error(context);
  return false;
}
static bool did(const char *call, int status) { return did_or(call, status, is_clean ? PTO_OK : PTO_EINVAL); }

/* Whether they are the numbers from 1 on times a factor; where a call has failed, they may be as at first. */
static void holds_times(const float *values, float factor) {
  const float untouched[NUMEL] = {0};
  float wanted[NUMEL];
  for (uint32_t i = 0; i < NUMEL; i++) wanted[i] = factor * one_to_four[i];
  HOLDS(memcmp(values, wanted, BYTES) == 0 || (!is_clean && memcmp(values, untouched, BYTES) == 0));
}

static void reads_times(struct pto_device_tensor t, float factor) {
  float values[NUMEL];
  if (did("pto_device_tensor_read", pto_device_tensor_read(context, t, values, BYTES))) holds_times(values, factor);
}

/* ---- a few calls each ---- */

static struct pto_device_tensor make(void) {
  struct pto_device_tensor t = {0};
  (void)did("pto_device_tensor_create", pto_device_tensor_create_host(context, &matrix, &t));
  return t;
}
static void drop(struct pto_device_tensor t) {
  if (t.id) (void)did("pto_device_tensor_destroy", pto_device_tensor_destroy(context, t));
}

static void dispatch_twice(struct pto_device_tensor in, struct pto_device_tensor out) {
  struct pto_device_program repeating = times_2;
  repeating.repeats = pto_device_program_serial();
  for (int i = 0; i < 2; i++) (void)did("pto_context_dispatch", try_dispatch1(&repeating, in, out));
  (void)did("pto_context_sync", pto_context_sync(context));
  reads_times(out, 2);
  (void)did("pto_context_forget_program", pto_context_forget_program(context, &repeating));
}

static void dispatch_with_constant(struct pto_device_tensor in, struct pto_device_tensor out) {
  struct pto_device_tensor constant = {0};
  struct pto_device_program program = plus;
  program.input_count = 1;
  program.orchestrate = submit_sum_constant;
  program.constants = &constant;
  program.constant_count = 1;
  if (!did("a constant", pto_device_tensor_create_constant(context, &matrix, one_to_four, BYTES, &constant))) {
    HOLDS(constant.id == 0);
    return;
  }
  (void)did("pto_context_dispatch", try_dispatch1(&program, in, out));
  if (is_clean) reads_times(out, 2);
  (void)did("pto_context_sync", pto_context_sync(context)); /* before the program goes */
  drop(constant);
}

static void compute(void) {
  float values[NUMEL] = {0};
  const struct pto_host_array from = {"a", (void *)(uintptr_t)one_to_four, BYTES}, to = {"c", values, BYTES};
  const struct pto_compute_arrays arrays = {&from, &to, 1, 1};
  if (did("pto_context_compute", pto_context_compute(context, &times_3, &arrays))) {
    for (uint32_t i = 0; i < NUMEL; i++) HOLDS(values[i] == 3 * one_to_four[i]);
  }
}

/* An input that is host memory, and an output that is made. */
static void call(void) {
  struct pto_argument in = {.name = "a", .data = (void *)(uintptr_t)one_to_four, .size_bytes = BYTES},
                      out = {.name = "c"};
  const struct pto_call made = {
      .size = sizeof made, .inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
  if (did("pto_context_call", pto_context_call(context, &times_2, &made))) {
    HOLDS(out.tensor.id != 0);
    reads_times(out.tensor, 2);
    drop(out.tensor);
  } else {
    HOLDS(out.tensor.id == 0);
  }
}

static void call_all(void) {
  is_clean = true;
  const struct pto_device_tensor in = make(), out = make(), copy = make();
  if (in.id) (void)did("pto_device_tensor_write", pto_device_tensor_write(context, in, one_to_four, BYTES));
  if (in.id && out.id) dispatch_twice(in, out);
  if (in.id && copy.id && did("pto_device_tensor_copy", pto_device_tensor_copy(context, in, copy)))
    reads_times(copy, 1);
  if (copy.id && out.id) dispatch_with_constant(copy, out);
  compute();
  call();
  drop(in);
  drop(out);
  drop(copy);
  (void)did("pto_context_sync", pto_context_sync(context));
  HOLDS(counters().live_bytes == 0);
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
  const int status = pto_context_create(&options, &context, sentence, sizeof sentence);
  if (!went_or("pto_context_create", status, sentence, PTO_ESYSTEM)) {
    HOLDS(context == NULL);
    return;
  }
  call_all();
  memory_is_back();
  call_all();
  HOLDS(is_clean);
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
  return memory_run_scenarios("context calls", scenarios, PTO_ARRAY_LENGTH(scenarios));
}
