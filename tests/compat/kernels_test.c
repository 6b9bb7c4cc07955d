/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the existing runtime's kind, against a stand-in for pto-isa (tests/compat/isa): they compile, and where
 * they wait, in pipes, by sleeping, by polling, their cores wait and not the threads; on threads and in virtual time,
 * by each compiler that there is.  Without a C++ compiler it skips.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <compat/kernel/kernel.h>
#include <pto/core.h>
#include <runtime/base/base.h>

#define CELLS 1024u

struct place {
  const char *engine;
  uint32_t workers;
};
static const struct place places[] = {{"threads", 1}, {"threads", 2}, {"threads", 5}, {"virtual", 1}};

enum { CUBE, VECTOR, HALF, NAMES, SOURCES };
static struct pto_compat_workshop shop = {.compat = "compat", .pto_isa = "tests/compat/isa"};
static char cache[512];
static pto_compat_entry *entries[SOURCES]; /* by the compiler that is tried */

/* ---- a kernel of ours that calls one of theirs, as the adapter does ---- */

static int call_entry(const struct pto_kernel_args *args, pto_compat_entry *entry) {
  const struct pto_core *core = args->core;
  struct pto_compat_tensor tensor = {.addr = (uintptr_t)args->tensors[0].addr,
                                     .size_bytes = CELLS * sizeof(int64_t),
                                     .ndims = 1,
                                     .is_contiguous = 1,
                                     .shape = {CELLS},
                                     .extent = CELLS,
                                     .strides = {1}};
  struct pto_compat_local_context local = {.block_index = (int32_t)core->block_index,
                                           .block_count = (int32_t)core->block_count};
  struct pto_compat_global_context global = {.sub_block = core->role == PTO_ROLE_AIV1};
  int64_t list[PTO_COMPAT_ARGS] = {(int64_t)(uintptr_t)&tensor, args->scalars[0].i64, args->scalars[1].i64};
  const struct pto_compat_kernel kernel = {.name = "theirs", .entry = entry};
  const struct pto_compat_call call = {
      .kernel = &kernel, .args = list, .local = &local, .global = &global, .core_args = args};
  list[PTO_COMPAT_LOCAL_CONTEXT] = (int64_t)(uintptr_t)&local;
  list[PTO_COMPAT_GLOBAL_CONTEXT] = (int64_t)(uintptr_t)&global;
  return pto_compat_kernel_call(NULL, &call);
}

static int run_cube(const struct pto_kernel_args *args) { return call_entry(args, entries[CUBE]); }
static int run_vector(const struct pto_kernel_args *args) { return call_entry(args, entries[VECTOR]); }
static int run_half(const struct pto_kernel_args *args) { return call_entry(args, entries[HALF]); }
static int run_names(const struct pto_kernel_args *args) { return call_entry(args, entries[NAMES]); }

static const struct pto_kernel_param params[] = {
    {.name = "cells", .mode = PTO_INOUT},
    {.name = "what", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
    {.name = "number", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
};
#define KERNEL(name_, cores_, run_)                                                                                    \
  { .name = name_, .cores = cores_, .flags = PTO_COMPAT_KERNEL_FLAGS, .params = params, .param_count = 3, .run = run_ }
static const struct pto_kernel cube = KERNEL("their_cube", PTO_AIC, run_cube);
static const struct pto_kernel vector = KERNEL("their_vector", PTO_AIV, run_vector);
static const struct pto_kernel half = KERNEL("their_half", PTO_AIV, run_half);
static const struct pto_kernel names = KERNEL("their_names", PTO_AIV, run_names);

/* ---- a case ---- */

struct scene {
  const char *name;
  struct pto_launch launch;
  int64_t what, number;
  uint32_t tasks; /* one after the other; 0: 1 */
  void (*check)(const int64_t *cells);
  int status;
  const char *words[4];
};
static int64_t cells[CELLS];

static int submit(struct pto_runtime *rt, void *context) {
  const struct scene *scene = context;
  const uint64_t count = CELLS;
  struct pto_tensor tensor = pto_external_tensor(rt, cells, PTO_INT64, 1, &count);
  int status = PTO_OK;
  for (uint32_t i = 0; i < (scene->tasks ? scene->tasks : 1) && status == PTO_OK; i++) {
    const struct pto_param list[] = {pto_inout(&tensor), pto_scalar_i64(scene->what), pto_scalar_i64(scene->number)};
    status = pto_submit(rt, &scene->launch, list, 3, NULL);
  }
  return status;
}

static void run_scene(const struct scene *scene) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(places); i++) {
    struct pto_config config = {
        .size = sizeof config, .engine = places[i].engine, .chip = "a2a3", .workers = places[i].workers};
    struct pto_runtime *rt = NULL;
    char sentence[256];
    if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence) != PTO_OK) fail_msg("%s", sentence);
    for (int round = 0; round < 2; round++) {
      memset(cells, 0, sizeof cells);
      const int status = pto_run(rt, submit, (void *)(uintptr_t)scene);
      const char *error = pto_last_error(rt);
      if (status != scene->status)
        fail_msg("%s on %s, %u workers: %s: %s", scene->name, places[i].engine, places[i].workers,
                 pto_status_name(status), error);
      for (size_t w = 0; w < PTO_ARRAY_LENGTH(scene->words) && scene->words[w]; w++)
        if (!strstr(error, scene->words[w])) fail_msg("\"%s\" does not say \"%s\"", error, scene->words[w]);
      if (scene->check) scene->check(cells);
    }
    pto_runtime_destroy(rt);
  }
}

static void check_stream(const int64_t *c) {
  assert_int_equal(c[0], 0);
  assert_int_equal(c[1], 300 * 4096);
}
static void check_barrier(const int64_t *c) {
  for (int64_t block = 0; block < 8; block++) assert_int_equal(c[300 + block], 1000 + block);
}
static void check_turns(const int64_t *c) {
  assert_int_equal(c[0], 199);
  assert_int_equal(c[1], 200);
}
static void check_time(const int64_t *c) { assert_int_equal(c[1], 50000000); }
static void check_clock(const int64_t *c) { assert_int_equal(c[1], 20); }
static void check_hooks(const int64_t *c) {
  assert_int_equal(c[0], 0);
  assert_int_equal(c[1], 0);
  assert_int_equal(c[2], 1);
}
static void check_visits(const int64_t *c) { assert_in_range(c[1], 1, 100); }
static void check_half(const int64_t *c) {
  for (int i = 0; i < 4; i++) assert_int_equal(c[i], 1);
}
static void check_names(const int64_t *c) { assert_int_equal(c[0], 42); }

static const struct scene scenes[] = {
    {.name = "a pipe, both local memories full",
     .launch = {.aic = &cube, .aiv0 = &vector},
     .what = 0,
     .number = 300,
     .check = check_stream},
    {.name = "a barrier that blocks poll",
     .launch = {.aiv0 = &vector, .block_count = 8},
     .what = 1,
     .number = 6,
     .check = check_barrier},
    {.name = "sleeping and yielding",
     .launch = {.aic = &cube, .aiv0 = &vector},
     .what = 2,
     .number = 100,
     .check = check_turns},
    {.name = "a poll for ever",
     .launch = {.aic = &cube, .aiv0 = &vector},
     .what = 3,
     .status = PTO_EDEADLOCK,
     .words = {"cores wait for ever", "(their_cube) block 0 AIC on core", "(their_vector) block 0 AIV0 on core",
               "for a change of memory that it polls"}},
    {.name = "a pipe that ends too early",
     .launch = {.aic = &cube, .aiv0 = &vector},
     .what = 4,
     .number = 5,
     .status = PTO_EDEADLOCK,
     .words = {"(their_cube) block 0 AIC on core", "waits for a change of memory"}},
    {.name = "a kernel that aborts",
     .launch = {.aiv0 = &vector},
     .what = 5,
     .status = PTO_EKERNEL,
     .words = {"their_vector", "it called abort"}},
    {.name = "the counter of the system", .launch = {.aiv0 = &vector}, .what = 6, .check = check_time},
    {.name = "a wait for the clock", .launch = {.aiv0 = &vector}, .what = 9, .number = 20, .check = check_clock},
    {.name = "hooks", .launch = {.aic = &cube, .aiv0 = &vector, .aiv1 = &vector}, .what = 7, .check = check_hooks},
    {.name = "local memory stays", .launch = {.aiv0 = &vector}, .what = 8, .tasks = 20, .check = check_visits},
    {.name = "names of its own", .launch = {.aiv0 = &names}, .check = check_names},
};

/* ---- building ---- */

static const struct pto_compat_kernel_source sources[SOURCES] = {
    [CUBE] = {.path = "tests/compat/kernels/cores.cpp", .core = PTO_AIC, .architecture = PTO_COMPAT_A2A3},
    [VECTOR] = {.path = "tests/compat/kernels/cores.cpp", .core = PTO_AIV, .architecture = PTO_COMPAT_A2A3},
    [HALF] = {.path = "tests/compat/kernels/half.cpp", .core = PTO_AIV, .architecture = PTO_COMPAT_A2A3},
    [NAMES] = {.path = "tests/compat/kernels/names.cpp", .core = PTO_AIV, .architecture = PTO_COMPAT_A5},
};
static const struct pto_compat_kernel_source broken = {
    .path = "tests/compat/kernels/broken.cpp", .core = PTO_AIV, .architecture = PTO_COMPAT_A2A3};

static void build_and_load(void) {
  struct pto_compat_kernel_built built[SOURCES];
  struct pto_error error = {0};
  const int status = pto_compat_kernels_build(&shop, sources, SOURCES, built, &error);
  memset(entries, 0, sizeof entries);
  if (status != PTO_OK && status != PTO_EINVAL) fail_msg("%s", error.sentence);
  for (uint32_t i = 0; i < SOURCES; i++) {
    if (i == HALF && !shop.compiler.has_bfloat16) {
      assert_int_equal(built[i].status, PTO_EINVAL);
      if (!strstr(built[i].sentence, "tests/compat/kernels/half.cpp:9: bfloat16_t: "))
        fail_msg("%s", built[i].sentence);
      continue;
    }
    if (built[i].status != PTO_OK) fail_msg("%s", built[i].sentence);
    if (pto_compat_kernel_load(built[i].path, &entries[i], &error) != PTO_OK) fail_msg("%s", error.sentence);
  }
}

static void check_what_does_not_compile(void) {
  struct pto_compat_kernel_built built;
  struct pto_error error = {0};
  assert_int_equal(pto_compat_kernels_build(&shop, &broken, 1, &built, &error), PTO_EINVAL);
  if (!strstr(built.sentence, "tests/compat/kernels/broken.cpp:8: ") || !strstr(built.sentence, "no_such_instruction"))
    fail_msg("%s", built.sentence);
  assert_string_equal(built.path, "");
}

/* The second time nothing is compiled. */
static void check_the_cache(void) {
  struct pto_compat_kernel_built built[2];
  struct pto_error error = {0};
  assert_int_equal(pto_compat_kernels_build(&shop, sources, 2, built, &error), PTO_OK);
  assert_true(built[0].was_cached && built[1].was_cached);
}

static bool use_compiler(const char *name) {
  struct pto_error error = {0};
  if (pto_compat_compiler_find(name, &shop.compiler, &error) != PTO_OK) return false;
  build_and_load();
  return true;
}

static void run_all(const char *name) {
  struct pto_error error = {0};
  if (!use_compiler(name)) {
    print_message("skipped: there is no %s that compiles kernels\n", name ? name : "C++ compiler");
    skip();
  }
  (void)error;
  check_what_does_not_compile();
  check_the_cache();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(scenes); i++) run_scene(&scenes[i]);
  const struct scene in_half = {.name = "bfloat16", .launch = {.aiv0 = &half}, .check = check_half};
  if (shop.compiler.has_bfloat16) run_scene(&in_half);
}

static void test_with_the_compiler_that_is_chosen(void **state) {
  (void)state;
  run_all(NULL);
}
static void test_with_the_compiler_of_debian(void **state) {
  (void)state;
  run_all("g++");
}

/* ---- what is wrong ---- */

static void test_what_is_not_there_is_named(void **state) {
  (void)state;
  struct pto_compat_kernel_built built;
  struct pto_compat_compiler compiler;
  struct pto_error error = {0};
  assert_int_equal(pto_compat_compiler_find("no-such-compiler", &compiler, &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "no-such-compiler compiles no kernels"));
  struct pto_compat_workshop other = shop;
  other.pto_isa = "tests";
  assert_int_equal(pto_compat_kernels_build(&other, sources, 1, &built, &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "tests is no checkout of pto-isa"));
  pto_compat_entry *entry;
  assert_int_equal(pto_compat_kernel_load("tests/compat/none.so", &entry, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "tests/compat/none.so"));
}

static void test_substitutes(void **state) {
  (void)state;
  struct pto_compat_kernel kernel = {.func_id = 3, .core = PTO_AIV};
  struct pto_error error = {0};
  assert_int_equal(pto_compat_kernel_substitute("add", &kernel, &error), PTO_OK);
  assert_non_null(kernel.call);
  assert_int_equal(kernel.func_id, 3);
  assert_int_equal(pto_compat_kernel_substitute(NULL, &kernel, &error), PTO_OK);
  assert_true(kernel.call == NULL && kernel.entry == NULL);
  assert_int_equal(pto_compat_kernel_substitute("no such", &kernel, &error), PTO_EINVAL);
}

int main(void) {
  const char *build = getenv("PTO_BUILD_DIR");
  (void)snprintf(cache, sizeof cache, "%s/adopted/test-kernels", build ? build : "build");
  shop.cache = cache;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_with_the_compiler_that_is_chosen), cmocka_unit_test(test_with_the_compiler_of_debian),
      cmocka_unit_test(test_what_is_not_there_is_named), cmocka_unit_test(test_substitutes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
