/* SPDX-License-Identifier: MIT */
/*
 * The scenes of tests/compat/orchestrations: what stands in their output tensor after a run.
 *
 * adopted_calls_test runs them with kernels in C, over the adapter alone; scenes_test with kernels in C++, by
 * `ptosim adopt`.  Both give them the arguments that orchestrations/kernels.h says, and these settings.
 */
#ifndef PTO_TESTS_COMPAT_SCENES_H
#define PTO_TESTS_COMPAT_SCENES_H

#include <stdint.h>

#define SCENE_ELEMS 64
#define SCENE_FLAGS 8
#define SCENE_CLUSTERS 8
#define SCENE_WINDOW 64
#define SCENE_HEAP_BYTES 65536
#define SCENE_RUNS 9

/* Runs of equal or growing elements: `count` from `at` on, the first `value`, each next `step` more. */
struct scene_run {
  uint32_t at, count;
  float value, step;
};

/* Its name is that of the object that make builds: -a5 and -hbg behind that of the source. */
static const struct scene {
  const char *name;
  uint64_t variant; /* scalar(0) */
  struct scene_run out[SCENE_RUNS];
} scenes[] = {
    {"basics", 0, {{0, 64, 0, 3}}},
    {"views",
     0,
     {{0, 4, 0, 2},
      {10, 4, 10, 1},
      {18, 4, 18, 1},
      {32, 1, 6, 0},
      {34, 1, 6, 0},
      {36, 1, 6, 0},
      {38, 1, 6, 0},
      {48, 4, 5, 0},
      {56, 8, 7, 8}}},
    {"scopes", 0, {{0, 4, 1, 0}, {4, 4, 2, 0}, {8, 4, 3, 0}, {12, 4, 9, 0}, {16, 4, 8, 0}, {20, 8, 7, 0}}},
    {"dependencies", 0, {{0, 8, 0, 5}, {8, 8, 0, 5}, {16, 4, 3, 0}}},
    {"spmd", 0, {{0, 16, 1600, 1}, {16, 16, 1600, 1}}},
    {"spmd-a5", 0, {{0, 16, 1600, 1}, {16, 16, 1600, 1}}},
    {"mix", 0, {{0, 3, 1, 1}, {4, 1, 1, 0}, {6, 1, 3, 0}, {9, 1, 2, 0}}},
    {"predicate", 0, {{1, 1, 1, 0}, {3, 1, 1, 0}, {5, 2, 1, 0}}},
    {"host_access", 0, {{1, 1, 1, 0}, {2, 1, 7, 0}, {3, 1, 3, 0}}},
    {"host_access-hbg", 0, {{1, 1, 1, 0}, {2, 1, 7, 0}, {3, 1, 3, 0}}},
    {"initial", 0, {{0, 4, 2.5, 0}, {4, 4, 1.5, 0}, {8, 4, 2.5, 0}, {12, 4, 1.5, 0}, {16, 4, 4, 0}}},
    {"no_dep", 0, {{0, 8, 4, 0}, {8, 4, 3, 0}}},
    {"scalars",
     7,
     {{0, 1, 10, 0}, {1, 1, 2, 0}, {2, 1, 1, 0}, {3, 1, 7, 0}, {4, 2, 20, 1}, {6, 1, 4294967295.0f, 0}, {7, 2, 31, 1}}},
    {"graphs", 0, {{0, 4, 0, 1}, {4, 4, 0, 2}, {8, 4, 5, 0}, {12, 4, 6, 0}}},
    {"poll", 0, {{0, 4, 1, 0}, {4, 4, 2, 0}}},
    {"same_bytes", 0, {{0, 2, 8, 4}, {2, 4, 8, 2}, {6, 2, 8, 1}, {8, 8, 8, 1}}},
    {"hints", 0, {{0, 4, 1, 0}}},
    {"april", 0, {{0, 8, 2, 0}}},
    {"divided", 0, {{0, 8, 2, 0}, {8, 16, 3, 0}, {24, 4, 2, 0}, {28, 4, 3, 0}}},
    {"lists", 0, {{0, 64, 1, 0}}},
    {"window", 0, {{0, 4, 199, 0}}},
    {"graph_keys", 0, {{0, 4, 8, 1}, {4, 4, 8, 1}, {8, 4, 16, 2}, {12, 4, 16, 2}}},
    {"late", 0, {{0, 4, 201, 201}, {4, 2, 201, 201}}},
    {"tree", 0, {{0, 4, 480, 16}}},
    {"tiles",
     0,
     {{0, 8, 0, 8},
      {8, 8, 1, 8},
      {16, 8, 2, 8},
      {24, 8, 3, 8},
      {32, 8, 4, 8},
      {40, 8, 5, 8},
      {48, 8, 6, 8},
      {56, 8, 7, 8}}},
    {"pages",
     0,
     {{0, 4, 12, 1},
      {4, 4, 8, 1},
      {8, 4, 4, 1},
      {12, 4, 0, 1},
      {16, 4, 28, 1},
      {20, 4, 24, 1},
      {24, 4, 20, 1},
      {28, 4, 16, 1}}},
    {"pipeline", 0, {{0, 4, 112, 8}}},
};
#define SCENE_COUNT (sizeof scenes / sizeof scenes[0])

static inline void scene_expected(const struct scene *scene, float expected[SCENE_ELEMS]) {
  for (uint32_t i = 0; i < SCENE_ELEMS; i++) expected[i] = 0;
  for (uint32_t k = 0; k < SCENE_RUNS; k++)
    for (uint32_t i = 0; i < scene->out[k].count; i++)
      expected[scene->out[k].at + i] = scene->out[k].value + (float)i * scene->out[k].step;
}

#endif
