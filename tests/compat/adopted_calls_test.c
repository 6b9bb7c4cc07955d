/* SPDX-License-Identifier: MIT */
/*
 * Orchestrations in C++ against compat/include: what each call does, on both engines, and what each wrong use answers.
 *
 * The orchestrations are tests/compat/orchestrations, the kernels are here; what comes out is held against what the
 * comment of each says.  Skips where there is no C++ compiler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <compat/adapter/compat.h>
#include <runtime/control/runtime_state.h>
#include <report/findings/source_lines.h>
#include <tests/compat/scenes.h>

/* ---- kernels ---- */

static const struct pto_compat_tensor *tensor_of(int64_t *args, int i) {
  return (const struct pto_compat_tensor *)(uintptr_t)args[i];
}
/* Element number `n`, row-major, of four bytes. */
static void *element(const struct pto_compat_tensor *t, uint64_t n) {
  uint64_t offset = t->start_offset;
  for (uint32_t d = t->ndims; d-- > 0; n /= t->shape[d]) offset += n % t->shape[d] * t->strides[d];
  return (char *)(uintptr_t)t->addr + 4 * offset;
}
static float get(const struct pto_compat_tensor *t, uint64_t n) { return *(float *)element(t, n); }
static void put(const struct pto_compat_tensor *t, uint64_t n, float value) { *(float *)element(t, n) = value; }
static uint64_t numel(const struct pto_compat_tensor *t) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < t->ndims; d++) count *= t->shape[d];
  return count;
}
static const struct pto_compat_local_context *local_of(int64_t *args) {
  return (const struct pto_compat_local_context *)(uintptr_t)args[PTO_COMPAT_LOCAL_CONTEXT];
}

static void fill(int64_t *args) {
  const struct pto_compat_tensor *out = tensor_of(args, 0);
  for (uint64_t i = 0; i < numel(out); i++) memcpy(element(out, i), &args[1], 4);
}
static void add(int64_t *args) {
  const struct pto_compat_tensor *a = tensor_of(args, 0), *b = tensor_of(args, 1), *out = tensor_of(args, 2);
  for (uint64_t i = 0; i < numel(out); i++) put(out, i, get(a, i) + get(b, i));
}
static void plus(int64_t *args) {
  const struct pto_compat_tensor *a = tensor_of(args, 0), *io = tensor_of(args, 1);
  for (uint64_t i = 0; i < numel(a); i++) put(io, i, get(io, i) + get(a, i));
}
static void copy(int64_t *args) {
  const struct pto_compat_tensor *a = tensor_of(args, 0), *out = tensor_of(args, 1);
  for (uint64_t i = 0; i < numel(out); i++) put(out, i, get(a, i));
}
static void blocks(int64_t *args) {
  const struct pto_compat_local_context *local = local_of(args);
  put(tensor_of(args, 0), (uint64_t)local->block_index, (float)(100 * local->block_count + local->block_index));
}
static void role_aic(int64_t *args) { put(tensor_of(args, 0), 0, 1); }
static void role_aiv(int64_t *args) {
  const struct pto_compat_global_context *global =
      (const struct pto_compat_global_context *)(uintptr_t)args[PTO_COMPAT_GLOBAL_CONTEXT];
  put(tensor_of(args, 0), 1 + (uint64_t)global->sub_block, 2 + (float)global->sub_block);
}
static void scalars(int64_t *args) {
  for (uint64_t i = 0; i < 9; i++) put(tensor_of(args, 0), i, (float)args[1 + i]);
}

static const struct pto_compat_kernel kernels[] = {{0, PTO_AIV, .name = "fill", .entry = fill},
                                                   {1, PTO_AIC, .entry = add},
                                                   {1, PTO_AIV, .entry = add},
                                                   {2, PTO_AIV, .entry = plus},
                                                   {3, PTO_AIV, .entry = copy},
                                                   {3, PTO_AIC, .entry = copy},
                                                   {4, PTO_AIV, .entry = blocks},
                                                   {5, PTO_AIC, .entry = role_aic},
                                                   {5, PTO_AIV, .entry = role_aiv},
                                                   {6, PTO_AIV, .entry = scalars}};

/* ---- a run ---- */

struct run {
  void *handle;
  struct pto_compat *compat;
  struct pto_runtime *rt;
  _Alignas(64) float in[SCENE_ELEMS], out[SCENE_ELEMS];
  _Alignas(64) int32_t flags[SCENE_FLAGS];
  char log[8][256];
  uint32_t log_count;
  int status;
};

static void note_log(void *context, uint32_t level, const struct pto_compat_place *place, const char *text) {
  struct run *r = context;
  if (r->log_count < 8) snprintf(r->log[r->log_count++], sizeof r->log[0], "%u %u %s", level, place->line, text);
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  return pto_compat_orchestrate(((struct run *)context)->compat, rt);
}

static const struct pto_compat_orchestration *load(struct run *r, const char *name) {
  const char *build = getenv("PTO_BUILD_DIR");
  char path[2048];
  snprintf(path, sizeof path, "%s/compat/%s.so", build ? build : "build", name);
  if (access(path, R_OK) != 0) {
    print_message("no C++ compiler built %s: skipped\n", path);
    skip();
  }
  r->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!r->handle) fail_msg("%s", dlerror());
  const struct pto_compat_orchestration *orchestration = dlsym(r->handle, PTO_COMPAT_SYMBOL);
  assert_non_null(orchestration);
  return orchestration;
}

static void close_run(struct run *r) {
  pto_runtime_destroy(r->rt);
  pto_compat_destroy(r->compat);
  if (r->handle) dlclose(r->handle);
}

static void run(struct run *r, const char *name, const char *engine, uint32_t deps, uint64_t variant) {
  struct pto_error error;
  memset(r, 0, sizeof *r);
  for (int i = 0; i < SCENE_ELEMS; i++) r->in[i] = (float)i;
  const struct pto_compat_orchestration *orchestration = load(r, name);
  const struct pto_compat_argument arguments[] = {{.data = r->in, .ndims = 1, .shape = {SCENE_ELEMS}},
                                                  {.data = r->out, .ndims = 1, .shape = {SCENE_ELEMS}},
                                                  {.data = r->flags, .dtype = 2, .ndims = 1, .shape = {SCENE_FLAGS}},
                                                  {.is_scalar = true, .scalar = variant}};
  const struct pto_compat_binding binding = {.kernels = kernels,
                                             .kernel_count = sizeof kernels / sizeof kernels[0],
                                             .arguments = arguments,
                                             .argument_count = 4,
                                             .window = SCENE_WINDOW,
                                             .log = note_log,
                                             .log_context = r};
  if (pto_compat_create(orchestration, &binding, &r->compat, &error)) fail_msg("%s", error.sentence);
  const struct pto_config config = {.size = sizeof config,
                                    .engine = engine,
                                    .workers = 2,
                                    .deps = deps,
                                    .window = SCENE_WINDOW,
                                    .heap_bytes = SCENE_HEAP_BYTES,
                                    .keep_released = true,
                                    .record = PTO_RECORD_GRAPH,
                                    .chip = "a2a3",
                                    .clusters = SCENE_CLUSTERS};
  if (pto_runtime_create(&config, &r->rt)) fail_msg("no runtime");
  r->status = pto_run(r->rt, orchestrate, r);
}

/* ---- what comes out ---- */

static void check_scene(const struct scene *scene, const char *engine, uint32_t deps) {
  struct run r;
  run(&r, scene->name, engine, deps, scene->variant);
  if (r.status) fail_msg("%s, %s: %s", scene->name, engine, pto_last_error(r.rt));
  assert_int_equal(pto_compat_error_code(r.compat, r.status), 0);
  float expected[SCENE_ELEMS];
  scene_expected(scene, expected);
  for (int i = 0; i < SCENE_ELEMS; i++)
    if (r.out[i] != expected[i])
      fail_msg("%s, %s: out[%d] is %g instead of %g", scene->name, engine, i, (double)r.out[i], (double)expected[i]);
  close_run(&r);
}

static void test_each_orchestration_gives_what_it_says(void **state) {
  (void)state;
  for (size_t i = 0; i < SCENE_COUNT; i++) {
    check_scene(&scenes[i], "threads", PTO_DEPS_PTO);
    check_scene(&scenes[i], "virtual", PTO_DEPS_PTO);
    check_scene(&scenes[i], "virtual", PTO_DEPS_EXACT);
  }
}

/* ---- wrong uses ---- */

static const struct {
  uint64_t variant;
  int32_t code;
  const char *sentence;
} mistakes[] = {
    {1, 5, "tensors stand before scalars"},
    {2, 5, "more than 32 tensors"},
    {3, 5, "more than 16 scalars"},
    {4, 5, "no valid task id"},
    {5, 5, "77 is no task of this run"},
    {6, 5, "no array of tasks"},
    {7, 5, "once for a list of arguments"},
    {8, 5, "no array of kinds"},
    {9, 5, "slots 0 to 15"},
    {10, 5, "the source has no such scalars"},
    {11, 5, "nothing has been added"},
    {12, 9, "said so"},
    {13, 42, "a number of its own"},
    {14, 5, "no scope is open"},
    {15, 5, "scope"},
    {16, 5, "does not lie within the tensor"},
    {17, 5, "slice"},
    {18, 5, "another number of elements"},
    {19, 5, "no such dimension"},
    {20, 5, "index 99 of dimension 0 is not below 64"},
    {21, 5, "2 indices for 1 dimensions"},
    {22, 5, "create-infos alone"},
    {23, 5, "no such output"},
    {24, 9, "threw: thrown"},
    {25, 9, "the orchestration threw"},
    {26, 5, "no kernel is given for func_id 99 on an AIV"},
    {27, 5, "no kernel is named"},
    {28, 5, "0 blocks"},
    {29, 5, "its address is 0"},
    {30, 5, "predicate names no tensor"},
    {32, 5, "more dependencies"},
    {33, 7, ""},
};

static void test_each_wrong_use_ends_the_run_with_its_number_and_line(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    struct run r;
    char number[16];
    run(&r, "mistakes", "virtual", PTO_DEPS_PTO, mistakes[i].variant);
    const char *sentence = pto_last_error(r.rt);
    snprintf(number, sizeof number, "error %d (", mistakes[i].code);
    if (r.status != PTO_EUSER || pto_compat_error_code(r.compat, r.status) != mistakes[i].code ||
        strncmp(sentence, number, strlen(number)) != 0 || !strstr(sentence, mistakes[i].sentence) ||
        (!strstr(sentence, "mistakes.cpp:") && !strstr(sentence, "kernels.h:") && !strstr(sentence, "threw")))
      fail_msg("mistake %llu: %d, \"%s\"", (unsigned long long)mistakes[i].variant, r.status, sentence);
    for (int k = 0; k < SCENE_ELEMS; k++) assert_true(r.out[k] != 77);
    close_run(&r);
  }
}

static void test_each_wrong_use_of_a_graph_ends_the_run(void **state) {
  (void)state;
  const char *const sentences[] = {"at least one tensor",    "no create-info", "no explicit dependencies",
                                   "a graph within a graph", "its own",        "no task has run yet",
                                   "no task has run yet"};
  for (uint64_t i = 0; i < 7; i++) {
    struct run r;
    run(&r, "graph_mistakes", "virtual", PTO_DEPS_PTO, i + 1);
    assert_int_equal(pto_compat_error_code(r.compat, r.status), 5);
    if (!strstr(pto_last_error(r.rt), sentences[i])) fail_msg("%d: \"%s\"", (int)i + 1, pto_last_error(r.rt));
    close_run(&r);
  }
}

static void test_a_tensor_is_refused_once_its_memory_was_given_back(void **state) {
  (void)state;
  for (uint64_t variant = 1; variant <= 4; variant++)
    for (int is_virtual = 0; is_virtual <= 1; is_virtual++) {
      struct run r;
      run(&r, "late", is_virtual ? "virtual" : "threads", PTO_DEPS_PTO, variant);
      assert_int_equal(pto_compat_error_code(r.compat, r.status), 5);
      if (!strstr(pto_last_error(r.rt), "a tensor that task 0 (late.cpp:32) created is used after its scope has ended"))
        fail_msg("%d: \"%s\"", (int)variant, pto_last_error(r.rt));
      close_run(&r);
    }
}

static void test_a_poll_for_what_never_comes_ends_the_run(void **state) {
  (void)state;
  struct run r;
  run(&r, "poll", "threads", PTO_DEPS_PTO, 1);
  assert_int_equal(r.status, PTO_EDEADLOCK);
  assert_int_equal(pto_compat_error_code(r.compat, r.status), 100);
  close_run(&r);
}

/* ---- what is said ---- */

static void test_logs_carry_level_and_line(void **state) {
  (void)state;
  struct run r;
  run(&r, "hints", "virtual", PTO_DEPS_PTO, 0);
  assert_int_equal(r.log_count, 5);
  const char *const texts[] = {"error 1", "warning", "timing x", "info", "debug"};
  for (uint32_t i = 0; i < 5; i++) {
    assert_int_equal(r.log[i][0], '0' + (int)i);
    assert_non_null(strstr(r.log[i], texts[i]));
  }
  close_run(&r);
}

static void test_a_scalar_that_a_replay_would_freeze_is_warned_of_once(void **state) {
  (void)state;
  struct run r;
  run(&r, "graphs", "virtual", PTO_DEPS_PTO, 1);
  assert_int_equal(r.status, PTO_OK);
  assert_int_equal(r.log_count, 1);
  assert_non_null(strstr(r.log[0], "scalar 0 of task 0 of the graph is computed in it"));
  for (int i = 16; i < 24; i++) assert_float_equal(r.out[i], 6, 0); /* of the first launch, in both */
  close_run(&r);
  run(&r, "graphs", "virtual", PTO_DEPS_PTO, 0);
  assert_int_equal(r.log_count, 0);
  close_run(&r);
}

static void test_a_task_is_known_by_its_line_in_the_orchestration(void **state) {
  (void)state;
  struct run r;
  char text[64];
  run(&r, "basics", "virtual", PTO_DEPS_PTO, 0);
  const struct pto_trace_task *task = pto_trace_log_at(&r.rt->trace.tasks, 0);
  assert_string_equal(pto_source_lines_name(NULL, task->call, NULL, text, sizeof text), "basics.cpp:17");
  assert_int_equal(pto_compat_task_id(r.compat, 1), 1);
  assert_true(pto_compat_task_id(r.compat, 2) == PTO_COMPAT_NO_TASK);
  close_run(&r);
}

/* ---- bindings ---- */

static void expect_refusal(const struct pto_compat_orchestration *orchestration,
                           const struct pto_compat_binding *binding, const char *part) {
  struct pto_compat *compat = NULL;
  struct pto_error error;
  assert_int_equal(pto_compat_create(orchestration, binding, &compat, &error), PTO_EINVAL);
  assert_null(compat);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" has no \"%s\"", error.sentence, part);
}

static void test_bindings_that_do_not_match_are_refused(void **state) {
  (void)state;
  struct run r = {0};
  const struct pto_compat_orchestration *orchestration = load(&r, "basics");
  float memory[4];
  const struct pto_compat_kernel twice[] = {{.func_id = 3, .core = PTO_AIV}, {.func_id = 3, .core = PTO_AIV}};
  const struct pto_compat_kernel no_core[] = {{.func_id = 3}};
  const struct pto_compat_argument one[] = {{.data = memory, .ndims = 1, .shape = {4}}};
  const struct pto_compat_argument no_memory[] = {{.ndims = 1, .shape = {4}}};
  const struct pto_compat_argument no_dtype[] = {{.data = memory, .dtype = 15, .ndims = 1, .shape = {4}}};
  const struct pto_compat_argument no_dims[] = {{.data = memory, .ndims = 6}};
  const struct pto_compat_argument late[] = {{.is_scalar = true}, {.data = memory, .ndims = 1, .shape = {4}}};
  expect_refusal(orchestration, &(struct pto_compat_binding){.kernels = twice, .kernel_count = 2},
                 "func_id 3 stands twice for an AIV");
  expect_refusal(orchestration, &(struct pto_compat_binding){.kernels = no_core, .kernel_count = 1},
                 "for an AIC or for an AIV");
  expect_refusal(orchestration, &(struct pto_compat_binding){.arguments = one, .argument_count = 1},
                 "needs 4 arguments; 1 tensors and 0 scalars");
  expect_refusal(orchestration, &(struct pto_compat_binding){.arguments = no_memory, .argument_count = 1},
                 "argument 0 has no memory");
  expect_refusal(orchestration, &(struct pto_compat_binding){.arguments = no_dtype, .argument_count = 1},
                 "15 is no dtype");
  expect_refusal(orchestration, &(struct pto_compat_binding){.arguments = no_dims, .argument_count = 1},
                 "6 dimensions");
  expect_refusal(orchestration, &(struct pto_compat_binding){.arguments = late, .argument_count = 2},
                 "tensors stand first");
  struct pto_compat_orchestration other = *orchestration;
  other.abi++;
  expect_refusal(&other, &(struct pto_compat_binding){0}, "headers of number");
  dlclose(r.handle);
}

static void test_their_dtypes_have_ours(void **state) {
  (void)state;
  assert_int_equal(pto_compat_dtype(9), PTO_UINT16);
  assert_int_equal(pto_compat_dtype(10), PTO_UINT32);
  assert_int_equal(pto_compat_dtype(12), PTO_FLOAT8_E4M3FN);
  assert_int_equal(pto_compat_dtype(13), PTO_FLOAT8_E8M0FNU);
  assert_int_equal(pto_compat_dtype(14), PTO_UINT8); /* two numbers a byte */
  assert_int_equal(pto_compat_dtype(15), -1);
  assert_int_equal(pto_compat_dtype_code(PTO_UINT8), 5);
  assert_int_equal(pto_compat_dtype_code(PTO_INT4), -1);
  assert_int_equal(pto_compat_dtype_find("BFLOAT16"), 6);
  assert_int_equal(pto_compat_dtype_find("bf16"), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_orchestration_gives_what_it_says),
      cmocka_unit_test(test_each_wrong_use_ends_the_run_with_its_number_and_line),
      cmocka_unit_test(test_each_wrong_use_of_a_graph_ends_the_run),
      cmocka_unit_test(test_a_tensor_is_refused_once_its_memory_was_given_back),
      cmocka_unit_test(test_a_poll_for_what_never_comes_ends_the_run),
      cmocka_unit_test(test_logs_carry_level_and_line),
      cmocka_unit_test(test_a_scalar_that_a_replay_would_freeze_is_warned_of_once),
      cmocka_unit_test(test_a_task_is_known_by_its_line_in_the_orchestration),
      cmocka_unit_test(test_bindings_that_do_not_match_are_refused),
      cmocka_unit_test(test_their_dtypes_have_ours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
