/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, at every point of the public calls on runtimes (runtime.h, core.h, recorded.h, dlpack.h):
 * the call is refused with a sentence or gives what is right, nothing is lost, and what there is stays usable.  The
 * calls of programs: tests/runtime/program_calls_memory_test.c; of contexts: tests/device/context_calls_memory_test.c;
 * of worlds: world/world_calls_memory_test.c.
 *
 * In no scenario, as they allocate nothing, whatever is given:
 *   tensor.h       all (dtypes, views, overlap, text), but for the three that take a runtime
 *   kernel.h       pto_kernel_find, _count, _at, pto_kernel_error
 *   core.h         pto_core_signal_block, _turn, _yield, _now, _work
 *   runtime.h      pto_call_from, pto_scope_statistics, pto_report_error, pto_core_count, pto_submit_aic
 * The engines of check (observe, explore) are none of the public ones.  pto_runtime_publish_counters has its test,
 * tests/runtime/published_counters_test.c, as libsde keeps names for ever; pto_graph_builder_operation,
 * pto_operation_submit and pto_operation_temporary are calls of graphs.
 */
#include <tests/support/memory_scenarios.h>

#include <pto/dlpack.h>
#include <pto/pto.h>
#include <tests/support/no_hwloc.h>

#define NUMEL 64u

static const uint64_t shape[] = {NUMEL};
static float input[NUMEL], output[NUMEL], second_output[NUMEL];

/* What runs differ in. */
static const struct kind {
  const char *engine, *chip, *policy, *placement;
  uint32_t workers, record, timeout_ms, deps, jitter_ppm;
} kinds[] = {
    {"virtual", "tiny", "fifo", NULL, 1, 0, 0, PTO_DEPS_EXACT, 0},
    {"virtual", "tiny,submit=1000", "random:3", NULL, 2,
     PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS | PTO_RECORD_CALLERS, 60000, PTO_DEPS_PTO, 1000},
    {"virtual", "a2a3", "fifo", NULL, 1, 0, 0, PTO_DEPS_EXACT, 0},
    {"threads", "tiny", "lifo", "none", 2, 0, 0, PTO_DEPS_EXACT, 0},
    {"threads", "tiny", "fifo", "spread", 2, PTO_RECORD_TASKS | PTO_RECORD_TIMELINE, 60000, PTO_DEPS_EXACT, 0},
};
enum { VIRTUAL, VIRTUAL_RECORDED, VIRTUAL_A2A3, THREADS, THREADS_RECORDED };

static void timed_out(void *context, const char *sentence) {}

/* NULL: it was refused. */
static struct pto_runtime *open_runtime(const struct kind *kind) {
  char sentence[256] = "";
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = kind->engine,
                                    .chip = kind->chip,
                                    .policy = kind->policy,
                                    .placement = kind->placement,
                                    .workers = kind->workers,
                                    .record = kind->record,
                                    .deps = kind->deps,
                                    .jitter_ppm = kind->jitter_ppm,
                                    .timeout_ms = kind->timeout_ms,
                                    .on_timeout = timed_out,
                                    .poison = true,
                                    .window = 64,
                                    .heap_bytes = 1 << 16};
  CALL(pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence), sentence);
  GIVEN_OR_REFUSED(rt != NULL);
  return rt;
}

static struct pto_tensor managed(struct pto_runtime *rt) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, sizeof input), PTO_FLOAT32, 1, shape);
}

static int submit_sum(struct pto_runtime *rt, const struct pto_tensor *a, const struct pto_tensor *b,
                      const struct pto_tensor *sum) {
  const struct pto_param params[] = {pto_input(a), pto_input(b), pto_output(sum)};
  return pto_submit_aiv(rt, pto_kernel_find("add"), params, 3);
}

static void clear_outputs(void) {
  for (uint32_t i = 0; i < NUMEL; i++) input[i] = (float)i;
  memset(output, 0, sizeof output);
  memset(second_output, 0, sizeof second_output);
}
static bool is_times(const float *values, float factor) {
  for (uint32_t i = 0; i < NUMEL; i++)
    if (values[i] != factor * (float)i) return false;
  return true;
}

/* ---- runtime.h, tensor.h, dlpack.h: a run allocates nothing, so no call of it may be refused ---- */

static int submit_in_scopes(struct pto_runtime *rt, const struct pto_tensor *in, const struct pto_tensor *out) {
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  pto_scope_label(rt, "inner");
  const struct pto_tensor inner = managed(rt);
  pto_buffer_label(rt, inner.buffer, "sum");
  if (status == PTO_OK) status = pto_alloc_tensors(rt, &inner, 1, NULL);
  if (status == PTO_OK && pto_get_buffer_addr(rt, inner.buffer) == 0) status = PTO_EINVAL;
  if (status == PTO_OK) status = submit_sum(rt, in, in, &inner);
  if (status == PTO_OK) status = submit_sum(rt, &inner, in, out);
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int submit_more(struct pto_runtime *rt, const struct pto_tensor *out, const struct pto_tensor *more) {
  static const struct pto_place place = {"here.py", 3};
  const struct pto_tensor t = managed(rt);
  const struct pto_initial zero = {.param = 0};
  const struct pto_param fills = pto_output(&t), params[] = {pto_input(out), pto_input(&t), pto_output(more)};
  const struct pto_launch filling = {.size = sizeof filling, .no_kernel = true, .initial = &zero, .initial_count = 1};
  struct pto_task filled = {0}, barrier = {0};
  int status = pto_submit(rt, &filling, &fills, 1, &filled);
  if (status == PTO_OK) status = pto_submit_barrier(rt, &filled, 1, &barrier);
  const struct pto_launch launch = {.size = sizeof launch,
                                    .aiv0 = pto_kernel_find("add"),
                                    .after = &barrier,
                                    .after_count = 1,
                                    .label = "behind a barrier"};
  struct pto_submission submission = {.rt = rt, .launch = &launch, .params = params, .place = &place, .count = 3};
  if (status == PTO_OK) (void)pto_submit_from(&submission);
  return status == PTO_OK ? submission.status : status;
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct pto_dlpack_managed *shown = context;
  const struct pto_tensor in = shown ? pto_tensor_from_dlpack(rt, &shown->tensor)
                                     : pto_external_tensor(rt, input, PTO_FLOAT32, 1, shape),
                          out = pto_external_tensor(rt, output, PTO_FLOAT32, 1, shape),
                          more = pto_external_tensor(rt, second_output, PTO_FLOAT32, 1, shape);
  const uint64_t index[] = {3};
  float value = 0;
  int status = submit_in_scopes(rt, &in, &out);
  if (status == PTO_OK) status = submit_more(rt, &out, &more);
  if (status == PTO_OK) status = pto_poll(rt);
  if (status == PTO_OK) status = pto_read_element(rt, &more, index, &value);
  if (status == PTO_OK && value != 9) status = PTO_EINVAL;
  if (status == PTO_OK) status = pto_write_element(rt, &more, index, &value);
  return status;
}

static void run_well(struct pto_runtime *rt, int (*run)(struct pto_runtime *, void *), void *context) {
  if (trial.is_over) return;
  clear_outputs();
  memory_check(pto_run(rt, run, context) == PTO_OK, pto_last_error(rt), __LINE__);
}

static void run_tasks(const void *kind) {
  struct pto_runtime *rt = open_runtime(kind);
  struct pto_stats stats = {.size = sizeof stats};
  for (int i = 0; i < 2; i++) {
    run_well(rt, orchestrate, NULL);
    CHECK(is_times(output, 3));
    CHECK(is_times(second_output, 3));
    if (!trial.is_over) pto_runtime_stats(rt, &stats);
    CHECK(stats.tasks == 6 && stats.refused == 0);
  }
  pto_runtime_destroy(rt);
}

static uint32_t released;
static void release(void *context) { released++; }

static void show_tensors(const void *kind) {
  struct pto_runtime *rt = open_runtime(kind);
  struct pto_dlpack_managed *shown = NULL;
  if (!rt) return;
  released = 0;
  const struct pto_tensor in = pto_external_tensor(rt, input, PTO_FLOAT32, 1, shape);
  CALL(pto_tensor_to_dlpack(&in, release, NULL, &shown), "it has no sentence, and says so in its header");
  GIVEN_OR_REFUSED(shown != NULL);
  run_well(rt, orchestrate, shown);
  CHECK(is_times(second_output, 3));
  if (shown) shown->deleter(shown);
  memory_check(released == (shown != NULL), "released once", __LINE__);
  pto_runtime_destroy(rt);
}

/* ---- core.h: kernels that wait, and have memory of their own ---- */

/* The cube pushes, the first vector core adds what all share, the second one has the last word. */
static int wait_and_sum(const struct pto_kernel_args *a) {
  const float *in = a->tensors[0].addr;
  float *out = a->tensors[1].addr;
  void *shared, *own;
  float x[NUMEL];
  int status = pto_core_shared(a, 7, sizeof x, &shared);
  if (!status) status = pto_core_private(a, 64, NULL, &own);
  if (status) return status;
  switch (a->core->role) {
  case PTO_ROLE_AIC:
    memcpy(shared, in, sizeof x);
    status = pto_core_push(a, PTO_ROLE_AIV0, in, sizeof x);
    break;
  case PTO_ROLE_AIV0:
    status = pto_core_pop(a, PTO_ROLE_AIC, x, sizeof x);
    for (uint32_t i = 0; !status && i < NUMEL; i++) ((float *)shared)[i] += x[i];
    if (!status) status = pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIV1), 2);
    break;
  default:
    status = pto_core_wait(a, 2);
    for (uint32_t i = 0; !status && i < NUMEL; i++) out[i] = ((float *)shared)[i] + in[i];
  }
  return status ? status : pto_core_barrier(a);
}
static const struct pto_kernel_param two[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel waiting = {.name = "waiting",
                                          .cores = PTO_AIC | PTO_AIV,
                                          .flags = PTO_KERNEL_WAITS,
                                          .params = two,
                                          .param_count = 2,
                                          .run = wait_and_sum};

static int orchestrate_waiting(struct pto_runtime *rt, void *context) {
  const struct pto_tensor in = pto_external_tensor(rt, input, PTO_FLOAT32, 1, shape),
                          out = pto_external_tensor(rt, output, PTO_FLOAT32, 1, shape);
  const struct pto_param params[] = {pto_input(&in), pto_output(&out)};
  const struct pto_launch launch = {.size = sizeof launch, .aic = &waiting, .aiv0 = &waiting, .aiv1 = &waiting};
  int status = PTO_OK;
  for (int i = 0; i < 3 && status == PTO_OK; i++) status = pto_submit(rt, &launch, params, 2, NULL);
  return status;
}

static void run_waiting_cores(const void *kind) {
  struct pto_runtime *rt = open_runtime(kind);
  for (int i = 0; i < 2; i++) {
    clear_outputs();
    CALL(pto_run(rt, orchestrate_waiting, NULL), pto_last_error(rt));
    CHECK(is_times(output, 3));
  }
  pto_runtime_destroy(rt);
}

/* ---- recorded.h ---- */

static struct pto_recorded *recorded;
static int refused_call; /* of the recording */
static char refused_sentence[256];

static bool note(struct pto_runtime *rt, int status) {
  if (status == PTO_OK) return true;
  refused_call = status;
  snprintf(refused_sentence, sizeof refused_sentence, "%s", pto_last_error(rt));
  return false;
}

/* out = 3 · in, in tasks with temporaries and a scope of their own. */
static void record(struct pto_runtime *rt, const struct pto_param *boundary) {
  const struct pto_tensor *in = boundary[0].value.tensor, *out = boundary[1].value.tensor;
  if (!note(rt, pto_recorded_begin(rt, boundary, 2))) return;
  bool is_whole = true;
  for (int i = 0; i < 9; i++) {
    const struct pto_tensor t = managed(rt);
    if (is_whole) is_whole = note(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO));
    if (!is_whole) break;
    is_whole = note(rt, submit_sum(rt, in, in, &t)) && note(rt, submit_sum(rt, &t, in, out));
    if (!note(rt, pto_scope_end(rt))) is_whole = false;
  }
  if (note(rt, pto_recorded_end(rt, &recorded)) && is_whole) return;
  pto_recorded_destroy(recorded);
  recorded = NULL;
}

static int orchestrate_recording(struct pto_runtime *rt, void *context) {
  const struct pto_tensor in = pto_external_tensor(rt, input, PTO_FLOAT32, 1, shape),
                          out = pto_external_tensor(rt, output, PTO_FLOAT32, 1, shape);
  const struct pto_param boundary[] = {pto_input(&in), pto_output(&out)};
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
  if (!recorded) record(rt, boundary);
  int status = PTO_OK;
  for (int i = 0; recorded && i < 2 && status == PTO_OK; i++) status = pto_submit_recorded(rt, recorded, &launch, NULL);
  return recorded ? status : submit_in_scopes(rt, &in, &out); /* the run goes on without it */
}

static int run_and_record(struct pto_runtime *rt) {
  refused_call = PTO_OK;
  run_well(rt, orchestrate_recording, NULL);
  CHECK(is_times(output, 3));
  return refused_call;
}

static void run_recorded(const void *kind) {
  struct pto_runtime *rt = open_runtime(kind);
  for (int i = 0; i < 2; i++) CALL(run_and_record(rt), refused_sentence);
  pto_runtime_destroy(rt);
  pto_recorded_destroy(recorded);
  recorded = NULL;
}

static const struct memory_scenario scenarios[] = {
    {"tasks in virtual time", run_tasks, &kinds[VIRTUAL]},
    {"tasks in virtual time, recorded, on a chip with settings", run_tasks, &kinds[VIRTUAL_RECORDED]},
    {"tasks in virtual time, on a chip with stages of kernels", run_tasks, &kinds[VIRTUAL_A2A3]},
    {"tasks on threads", run_tasks, &kinds[THREADS]},
    {"tasks on threads that are bound, recorded", run_tasks, &kinds[THREADS_RECORDED]},
    {"tensors that are shown and taken, in virtual time", show_tensors, &kinds[VIRTUAL]},
    {"tensors that are shown and taken, on threads", show_tensors, &kinds[THREADS]},
    {"kernels that wait, in virtual time", run_waiting_cores, &kinds[VIRTUAL]},
    {"kernels that wait, in virtual time, recorded", run_waiting_cores, &kinds[VIRTUAL_RECORDED]},
    {"kernels that wait, on threads", run_waiting_cores, &kinds[THREADS]},
    {"recorded tasks in virtual time", run_recorded, &kinds[VIRTUAL]},
    {"recorded tasks on threads", run_recorded, &kinds[THREADS]},
};

int main(void) {
  return memory_run_scenarios("public calls", scenarios, PTO_ARRAY_LENGTH(scenarios), NULL, NULL, NULL);
}
