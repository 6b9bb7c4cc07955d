/* SPDX-License-Identifier: MIT */
/*
 * train_mlp from outside.  The program holds every bit of losses and weights against plain loops, and gradients against
 * differences in double precision; here: for many shapes and engines, what it moves, that it learns, and that
 * checkpoints and outputs are what it learnt.  Gradients of one layer are held against their closed form once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <formats/npy.h>
#include <formats/safetensors.h>
#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

static const char *const engines[] = {"threads --workers 2", "virtual", "threads --workers 3 --chip a2a3"};

/* The default: 3 layers, 2 → 32 → 32 → 3, 4 batches of 64 points, 100 steps. */
#define STEPS 100
#define WEIGHT_BYTES (4 * (2 * 32 + 32 + 32 * 32 + 32 + 32 * 3 + 3))
#define BATCH_BYTES (4 * 64 * (2 + 3))
#define CONSTANT_BYTES (4 * 3) /* of the graph: 0, 1 / batch, rate */

static json_t *run(const char *words) {
  if (pto_ptosim_run("run train_mlp %s --quiet --json -", words)) fail_msg("%s: %s", words, pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_true(json_object_get(root, "verified")));
  assert_true(json_number_value(json_object_get(root, "max_abs_error")) == 0);
  return root;
}

static struct pto_npy read_npy(const char *name) {
  struct pto_error error;
  struct pto_npy npy;
  if (pto_npy_read(pto_ptosim_path(name), &npy, &error)) fail_msg("%s", error.sentence);
  return npy;
}
static void write_npy(const char *name, const float *data, uint64_t rows, uint64_t columns, uint64_t batches) {
  struct pto_error error;
  const uint64_t shape[] = {batches, rows, columns};
  const uint32_t first = batches ? 0 : rows ? 1 : 2; /* a matrix has no batches, a vector no rows */
  if (pto_npy_write(pto_ptosim_path(name), PTO_FLOAT32, 3 - first, shape + first, data, &error))
    fail_msg("%s", error.sentence);
}

/* ---- what is computed ---- */

static void test_every_shape_and_engine_ends_where_the_plain_loops_end(void **state) {
  static const char *const settings[] = {
      "--case rings --set steps=24",
      "--case one",
      "--case deep --set steps=12",
      "--case wide --set steps=3",
      "--set layers=1 --set batch=1 --set steps=9",
      "--set layers=2 --set width=1 --set batch=1 --set classes=2 --set steps=9",
      "--set layers=8 --set width=7 --set batch=33 --set steps=5 --set rate=0.01",
      "--set batch=1024 --set width=5 --set batches=1 --set steps=3",
      "--set classes=40 --set width=17 --set steps=5 --seed 7",
      "--set rate=1e30 --set steps=4", /* ∞ and NaN */
      "--set rate=0 --set steps=3",
  };
  for (size_t s = 0; s < PTO_ARRAY_LENGTH(settings); s++) {
    char first[17] = "";
    for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
      char words[300];
      snprintf(words, sizeof words, "%s --engine %s", settings[s], engines[e]);
      json_t *root = run(words);
      const char *digest = pto_json_text(root, "output_digest");
      if (!first[0]) snprintf(first, sizeof first, "%s", digest);
      assert_string_equal(digest, first);
      json_decref(root);
    }
  }
}

enum { POINTS = 23, CLASSES = 4 };

/* Of logistic regression: dw = xᵀ·(softmax(x·w + b) − label) / n, db the same of ones. */
static void closed_form(const float *x, const float *labels, const float *w, const float *b, double *dw, double *db) {
  for (int i = 0; i < POINTS; i++) {
    double z[CLASSES], sum = 0;
    for (int j = 0; j < CLASSES; j++) {
      z[j] = (double)x[2 * i] * (double)w[j] + (double)x[2 * i + 1] * (double)w[CLASSES + j] + (double)b[j];
      sum += exp(z[j]);
    }
    for (int j = 0; j < CLASSES; j++) {
      const double dz = (exp(z[j]) / sum - (double)labels[i * CLASSES + j]) / POINTS;
      db[j] += dz;
      for (int k = 0; k < 2; k++) dw[k * CLASSES + j] += (double)x[2 * i + k] * dz;
    }
  }
}

static void test_gradients_of_one_layer_are_their_closed_form(void **state) {
  float x[2 * POINTS], labels[POINTS * CLASSES] = {0}, w[2 * CLASSES], b[CLASSES];
  double dw[2 * CLASSES] = {0}, db[CLASSES] = {0};
  struct pto_rng rng = {11};
  for (int i = 0; i < 2 * POINTS; i++) x[i] = (float)(2 * pto_rng_unit(&rng) - 1);
  for (int i = 0; i < POINTS; i++) labels[i * CLASSES + i % CLASSES] = 1;
  for (int i = 0; i < 2 * CLASSES; i++) w[i] = (float)(2 * pto_rng_unit(&rng) - 1);
  for (int i = 0; i < CLASSES; i++) b[i] = (float)(2 * pto_rng_unit(&rng) - 1);
  write_npy("x.npy", x, POINTS, 2, 1);
  write_npy("y.npy", labels, POINTS, CLASSES, 1);
  write_npy("w.npy", w, 2, CLASSES, 0);
  write_npy("b.npy", b, 0, CLASSES, 0);
  char words[2048];
  int used = snprintf(words, sizeof words,
                      "--set layers=1 --set batches=1 --set batch=%d --set classes=%d --set steps=1", POINTS, CLASSES);
  static const char *const files[][3] = {{"input", "points", "x.npy"}, {"input", "labels", "y.npy"},
                                         {"input", "w0", "w.npy"},     {"input", "b0", "b.npy"},
                                         {"output", "dw0", "dw.npy"},  {"output", "db0", "db.npy"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(files); i++)
    used += snprintf(words + used, sizeof words - (size_t)used, " --%s %s=%s", files[i][0], files[i][1],
                     pto_ptosim_path(files[i][2]));
  json_decref(run(words));
  closed_form(x, labels, w, b, dw, db);
  struct pto_npy got_w = read_npy("dw.npy"), got_b = read_npy("db.npy");
  for (uint64_t i = 0; i < 2 * CLASSES; i++)
    assert_true(fabs(pto_npy_get(&got_w, PTO_FLOAT32, i) - dw[i]) <= 32 * 0x1p-24); /* sums of 23, of sizes below 1 */
  for (uint64_t i = 0; i < CLASSES; i++) assert_true(fabs(pto_npy_get(&got_b, PTO_FLOAT32, i) - db[i]) <= 32 * 0x1p-24);
  pto_npy_fini(&got_w);
  pto_npy_fini(&got_b);
}

/* exp of what such logits are off by is ∞: then a probability of 0 may still not be off by more than 1. */
static void test_gradients_of_huge_weights_are_not_wrong(void **state) {
  const float w[2 * 3] = {1e20f, -1e20f, 1, 3e19f, 0, -1e20f};
  char words[600];
  write_npy("huge.npy", w, 2, 3, 0);
  snprintf(words, sizeof words, "--set layers=1 --set batch=9 --set steps=1 --input w0=%s",
           pto_ptosim_path("huge.npy"));
  json_decref(run(words));
}

static double mean_loss(const struct pto_npy *losses, uint64_t first, uint64_t count) {
  double sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += pto_npy_get(losses, PTO_FLOAT32, i);
  return sum / (double)count;
}

static void test_the_loss_of_all_batches_falls(void **state) {
  char words[600];
  for (int seed = 0; seed < 4; seed++) {
    snprintf(words, sizeof words, "--seed %d --set check=false --output losses=%s", seed, pto_ptosim_path("l.npy"));
    json_decref(run(words));
    struct pto_npy losses = read_npy("l.npy");
    assert_int_equal(losses.numel, STEPS);
    const double first = mean_loss(&losses, 0, 4), middle = mean_loss(&losses, 48, 4), last = mean_loss(&losses, 96, 4);
    if (!(last < 0.5 * first && last < middle && middle < first))
      fail_msg("seed %d: %g, %g, %g", seed, first, middle, last);
    pto_npy_fini(&losses);
  }
}

/* ---- what is moved ---- */

static void test_a_step_moves_its_loss_and_no_weight(void **state) {
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    char words[200];
    snprintf(words, sizeof words, "--engine %s", engines[e]);
    json_t *root = run(words);
    assert_int_equal(pto_json_integer(root, "h2d_bytes"), WEIGHT_BYTES + 4 * BATCH_BYTES + CONSTANT_BYTES);
    assert_int_equal(pto_json_integer(root, "d2h_bytes"), STEPS * 4 + WEIGHT_BYTES); /* weights once, at the end */
    assert_int_equal(pto_json_integer(root, "d2d_bytes"), 0);
    assert_int_equal(pto_json_integer(root, "tasks"), STEPS * (11 * 3 + 4));
    assert_int_equal(pto_json_integer(root, "lowering_cache_misses"), 4); /* one a batch */
    json_decref(root);
  }
}

/* Written in place where others still read: what orders the two is a rule that the set pto does not have. */
static void test_in_place_is_right_by_the_edges_after_reads(void **state) {
  assert_int_equal(pto_ptosim_run("check train_mlp --set steps=2"), 0);
  assert_int_equal(pto_ptosim_run("check train_mlp --set steps=2 --deps pto"), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "WAR: "));
  assert_null(strstr(pto_ptosim_last.out, "RAW: "));
}

/* ---- checkpoints ---- */

static const char *const tensors[] = {"w0", "b0", "w1", "b1", "w2", "b2"};

static int add_outputs(char *words, size_t size) {
  int used = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(tensors); i++) {
    char file[16];
    snprintf(file, sizeof file, "%s.npy", tensors[i]);
    used += snprintf(words + used, size - (size_t)used, "--output trained_%s=%s ", tensors[i], pto_ptosim_path(file));
  }
  return used;
}

static void test_a_checkpoint_has_the_trained_bits_and_runs_as_a_graph(void **state) {
  char words[4096], graph[300], points[300];
  int used = add_outputs(words, sizeof words);
  snprintf(graph, sizeof graph, "%s", pto_ptosim_path("mlp.json"));
  snprintf(words + used, sizeof words - (size_t)used, "--set checkpoint=%s --set every=30", graph);
  json_t *root = run(words);
  /* After steps 30, 60, 90 and 100. */
  assert_int_equal(pto_json_integer(root, "d2h_bytes"), STEPS * 4 + 4 * WEIGHT_BYTES);
  json_decref(root);
  struct pto_safetensors saved;
  struct pto_error error;
  if (pto_safetensors_init(&saved, pto_ptosim_path("mlp.safetensors"), &error)) fail_msg("%s", error.sentence);
  assert_int_equal(saved.tensor_count, PTO_ARRAY_LENGTH(tensors));
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(tensors); i++) { /* constants are in the order of their calls, from value 2 */
    char name[24];
    snprintf(name, sizeof name, "%s.npy", tensors[i]);
    struct pto_npy npy = read_npy(name);
    snprintf(name, sizeof name, "const_%zu", 2 + i);
    const struct pto_safetensors_tensor *tensor = pto_safetensors_find(&saved, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->size_bytes, npy.size_bytes);
    assert_memory_equal(tensor->data, npy.data, npy.size_bytes);
    pto_npy_fini(&npy);
  }
  pto_safetensors_fini(&saved);
  /* The middle is of the innermost ring, the corner of the outermost. */
  float at[64 * 2] = {0};
  for (int i = 32; i < 64; i++) at[2 * i] = at[2 * i + 1] = 0.95f;
  snprintf(points, sizeof points, "%s", pto_ptosim_path("p.npy"));
  write_npy("p.npy", at, 64, 2, 0);
  if (pto_ptosim_run("graph %s --run --input points=%s --compare reference --output-dir %s", graph, points,
                     pto_ptosim_path("out")))
    fail_msg("%s", pto_ptosim_last.err);
  struct pto_npy p = read_npy("out/probabilities.npy");
  assert_true(pto_npy_get(&p, PTO_FLOAT32, 0) > 0.5);
  assert_true(pto_npy_get(&p, PTO_FLOAT32, 63 * 3 + 2) > 0.5);
  pto_npy_fini(&p);
}

static void test_training_goes_on_from_outputs_as_if_it_had_not_stopped(void **state) {
  char words[4096];
  snprintf(words, sizeof words, "--set check=false --set steps=60 --output losses=%s", pto_ptosim_path("l.npy"));
  json_decref(run(words));
  int used = add_outputs(words, sizeof words);
  snprintf(words + used, sizeof words - (size_t)used, "--set check=false --set steps=40");
  json_decref(run(words));
  used = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(tensors); i++) {
    char file[16];
    snprintf(file, sizeof file, "%s.npy", tensors[i]);
    used += snprintf(words + used, sizeof words - (size_t)used, "--input %s=%s ", tensors[i], pto_ptosim_path(file));
  }
  snprintf(words + used, sizeof words - (size_t)used, "--set check=false --set steps=20 --output losses=%s",
           pto_ptosim_path("more.npy"));
  json_decref(run(words));
  struct pto_npy once = read_npy("l.npy"), more = read_npy("more.npy");
  assert_memory_equal((const char *)once.data + 40 * sizeof(float), more.data, 20 * sizeof(float));
  pto_npy_fini(&once);
  pto_npy_fini(&more);
}

static void test_sizes_rates_and_paths_that_make_no_sense_are_refused(void **state) {
  pto_ptosim_run("run train_mlp --set layers=9");
  pto_ptosim_assert_complaint(2, "layers 9 is not in 1");
  pto_ptosim_run("run train_mlp --set rate=-1");
  pto_ptosim_assert_complaint(2, "rate is -1");
  pto_ptosim_run("run train_mlp --set steps=1 --quiet --set checkpoint=%s/absent/m.json", pto_ptosim_path("x"));
  pto_ptosim_assert_complaint(3, "checkpoint: ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_shape_and_engine_ends_where_the_plain_loops_end),
      cmocka_unit_test(test_gradients_of_one_layer_are_their_closed_form),
      cmocka_unit_test(test_gradients_of_huge_weights_are_not_wrong),
      cmocka_unit_test(test_the_loss_of_all_batches_falls),
      cmocka_unit_test(test_a_step_moves_its_loss_and_no_weight),
      cmocka_unit_test(test_in_place_is_right_by_the_edges_after_reads),
      cmocka_unit_test(test_a_checkpoint_has_the_trained_bits_and_runs_as_a_graph),
      cmocka_unit_test(test_training_goes_on_from_outputs_as_if_it_had_not_stopped),
      cmocka_unit_test(test_sizes_rates_and_paths_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
