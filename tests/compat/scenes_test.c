/* SPDX-License-Identifier: MIT */
/*
 * The scenes of scenes.h, and kernels that wait, as programs of `ptosim adopt`: a manifest each, which is built, run on
 * threads and in virtual time, verified against the golden and checked.
 *
 * Orchestrations, kernels and the stand-in for pto-isa are those of this folder; no checkout is needed, and no Python.
 * Skips where there is no C++ compiler, and in sanitizer builds: what it compiles has no instrumentation.
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
#include <runtime/base/base.h>
#include <tests/compat/scenes.h>
#include <tests/support/ptosim_child.h>

#define CELLS 1024

enum { BLOCKS = 4, CORES = 7 }; /* func_ids */

static const char *const engines[] = {"threads", "virtual"};
static char root[512]; /* of the project */

/* ---- manifests ---- */

static void write_bytes(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(pto_ptosim_path(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* All but arguments: `name` is that of an object, as make has it; `only`: the one func_id that it uses, or -1. */
static FILE *begin_manifest(const char *name, int only) {
  const size_t length = strlen(name);
  const bool is_a5 = length > 3 && strcmp(name + length - 3, "-a5") == 0;
  const bool is_hbg = (length > 4 && strcmp(name + length - 4, "-hbg") == 0) || strncmp(name, "graph", 5) == 0;
  static const struct {
    int func_id;
    const char *core, *name;
  } kernels[] = {{0, "aiv", "fill"}, {1, "aic", "add"},     {1, "aiv", "add"},         {2, "aiv", "plus"},
                 {3, "aic", "copy"}, {3, "aiv", "copy"},    {BLOCKS, "aiv", "blocks"}, {5, "aic", "role"},
                 {5, "aiv", "role"}, {6, "aiv", "scalars"}, {CORES, "aic", "cores"},   {CORES, "aiv", "cores"}};
  FILE *file = fopen(pto_ptosim_path("scene.json"), "w");
  assert_non_null(file);
  fprintf(
      file,
      "{\"format\": \"pto-adopted\", \"version\": 1, \"name\": \"%s\", \"architecture\": \"%s\", \"mode\": \"%s\",\n"
      "\"judge\": \"golden\", \"clusters\": %d, \"window\": %d, \"heap_bytes\": %d,\n"
      "\"orchestration\": {\"entry\": \"aicpu_orchestration_entry\","
      " \"source\": \"%s/tests/compat/orchestrations/%.*s.cpp\"},\n\"kernels\": [",
      name, is_a5 ? "a5" : "a2a3", is_hbg ? "host_build_graph" : "tensormap_and_ringbuffer", SCENE_CLUSTERS,
      SCENE_WINDOW, SCENE_HEAP_BYTES, root, (int)strcspn(name, "-"), name);
  const char *comma = "";
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kernels); i++) {
    if (only >= 0 && kernels[i].func_id != only) continue;
    fprintf(file, "%s{\"func_id\": %d, \"core\": \"%s\", \"source\": \"%s/tests/compat/kernels/%s.cpp\"}", comma,
            kernels[i].func_id, kernels[i].core, root, kernels[i].name);
    comma = ",\n";
  }
  fprintf(file, "],\n");
  return file;
}

/* Runs the manifest on both engines.  The scene `late` uses tensors after their scope: its outputs are right, and that
 * they are so by luck is found. */
static void adopt(const char *name) {
  const bool is_luck = strcmp(name, "late") == 0;
  const char *verdict = is_luck ? "by luck " : "verified ";
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++) {
    const int code = pto_ptosim_run("adopt %s --engine %s", pto_ptosim_path("scene.json"), engines[i]);
    if (code != (is_luck ? 1 : 0) || strncmp(pto_ptosim_last.out, verdict, strlen(verdict)) != 0)
      fail_msg("%s on %s left with %d: %s%s", name, engines[i], code, pto_ptosim_last.out, pto_ptosim_last.err);
    if (is_luck) assert_non_null(strstr(pto_ptosim_last.out, "after the scope of task 0 (alloc), which allocated it"));
  }
}

/* ---- scenes ---- */

static void run_scene(const struct scene *scene) {
  float in[SCENE_ELEMS], expected[SCENE_ELEMS];
  for (int i = 0; i < SCENE_ELEMS; i++) in[i] = (float)i;
  scene_expected(scene, expected);
  write_bytes("in.bin", in, sizeof in);
  write_bytes("golden.bin", expected, sizeof expected);
  FILE *file = begin_manifest(scene->name, strncmp(scene->name, "spmd", 4) == 0 ? BLOCKS : -1);
  fprintf(
      file,
      "\"tensors\": [{\"name\": \"in\", \"direction\": \"inout\", \"dtype\": \"f32\", \"shape\": [%d],"
      " \"bytes\": \"in.bin\"},\n"
      "{\"name\": \"out\", \"direction\": \"out\", \"dtype\": \"f32\", \"shape\": [%d], \"golden\": \"golden.bin\"},\n"
      "{\"name\": \"flags\", \"direction\": \"inout\", \"dtype\": \"i32\", \"shape\": [%d]}],\n"
      "\"scalars\": [{\"name\": \"variant\", \"bits\": \"0x%x\"}]}\n",
      SCENE_ELEMS, SCENE_ELEMS, SCENE_FLAGS, (unsigned)scene->variant);
  assert_int_equal(fclose(file), 0);
  adopt(scene->name);
}

static void test_each_scene_verifies(void **state) {
  (void)state;
  for (size_t i = 0; i < SCENE_COUNT; i++) run_scene(&scenes[i]);
}

/* ---- kernels that wait ---- */

/* By what cores.cpp does: what the cells are after it; all others are 0. */
static const struct {
  const char *name;
  uint32_t what, number;
  struct {
    uint32_t at;
    int64_t value;
  } cells[16];
} waits[] = {
    {"a pipe, both local memories full", 0, 30, {{1, 30 * 4096}}},
    {"a barrier that blocks poll",
     1,
     6,
     {{100, 6},
      {101, 6},
      {102, 6},
      {103, 6},
      {104, 6},
      {105, 6},
      {106, 6},
      {107, 6},
      {300, 1000},
      {301, 1001},
      {302, 1002},
      {303, 1003},
      {304, 1004},
      {305, 1005},
      {306, 1006},
      {307, 1007}}},
    {"sleeping and yielding", 2, 100, {{0, 199}, {1, 200}, {200, 200}}},
    {"the counter of the system", 6, 0, {{1, 50000000}}},
    {"hooks and workspaces", 7, 0, {{0, 50}, {1, 50}, {2, 51}}},
    {"a wait for the clock", 9, 20, {{1, 20}}},
};

static void test_each_kernel_that_waits_verifies(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(waits); i++) {
    int64_t expected[CELLS] = {0};
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(waits[i].cells); k++)
      if (waits[i].cells[k].value) expected[waits[i].cells[k].at] = waits[i].cells[k].value;
    write_bytes("golden.bin", expected, sizeof expected);
    FILE *file = begin_manifest("waits", CORES);
    fprintf(file,
            "\"tensors\": [{\"name\": \"cells\", \"direction\": \"inout\", \"dtype\": \"i64\", \"shape\": [%d],"
            " \"golden\": \"golden.bin\"}],\n\"scalars\": [{\"name\": \"what\", \"bits\": \"0x%x\"},"
            " {\"name\": \"number\", \"bits\": \"0x%x\"}]}\n",
            CELLS, waits[i].what, waits[i].number);
    assert_int_equal(fclose(file), 0);
    adopt(waits[i].name);
  }
}

_Static_assert(SCENE_COUNT + sizeof waits / sizeof waits[0] >= 30, "the scenes that are promised");

/* ---- all ---- */

static int setup(void **state) {
  char path[1024];
  if (!realpath(".", root)) return -1;
  const int status = pto_ptosim_setup(state);
  (void)snprintf(path, sizeof path, "%s/tests/compat/isa", root);
  setenv("PTO_ISA", path, 1);
  (void)snprintf(path, sizeof path, "%s/compat", root);
  setenv("PTO_COMPAT", path, 1);
  (void)snprintf(path, sizeof path, "%s/adopted/tests", pto_ptosim_build());
  setenv("PTO_ADOPTED", path, 1);
  return status;
}

/* Before cmocka announces tests that then do not run. */
static void skip_without_compiler(void) {
  struct pto_compat_compiler compiler;
  struct pto_error error;
  if (pto_ptosim_reports_faults && pto_compat_compiler_find(NULL, &compiler, &error) == PTO_OK) return;
  printf("%s: skipped\n", pto_ptosim_reports_faults ? error.sentence : "a sanitizer build");
  exit(77);
}

int main(void) {
  skip_without_compiler();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_scene_verifies),
                                     cmocka_unit_test(test_each_kernel_that_waits_verifies)};
  return cmocka_run_group_tests(tests, setup, pto_ptosim_teardown);
}
