/* SPDX-License-Identifier: MIT */
/*
 * The program llm from outside: what it computes against plain loops over the same files, and that modes, engines,
 * workers, chips and tiles change nothing. What it moves, prints and refuses is in llm_session_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <bench/support/plain_decoder.h>
#include <formats/npy.h>
#include <formats/llm/tokenizer.h>
#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <tests/support/llm_files.h>
#include <tests/support/ptosim_child.h>
#include <tests/support/random_model.h>

/* ---- what is computed ---- */

struct outputs {
  struct pto_npy tokens, logits;
};

static void read_outputs(struct outputs *o, const char *settings) {
  char all[2048], tokens[256], logits[256];
  struct pto_error error;
  snprintf(tokens, sizeof tokens, "%s", pto_ptosim_path("tokens.npy"));
  snprintf(logits, sizeof logits, "%s", pto_ptosim_path("logits.npy"));
  snprintf(all, sizeof all, "%s --output tokens=%s --output logits=%s", settings, tokens, logits);
  json_decref(run_files(all));
  if (pto_npy_read(tokens, &o->tokens, &error) || pto_npy_read(logits, &o->logits, &error))
    fail_msg("%s", error.sentence);
}
static void outputs_fini(struct outputs *o) {
  pto_npy_fini(&o->tokens);
  pto_npy_fini(&o->logits);
}

static void open_decoder(struct pto_language_model *model, struct pto_plain_decoder *decoder) {
  char sentence[1024];
  if (pto_language_model_read(model, model_path, sentence, sizeof sentence)) fail_msg("%s", sentence);
  assert_true(pto_plain_decoder_init(decoder, model));
}
static void close_decoder(struct pto_language_model *model, struct pto_plain_decoder *decoder) {
  pto_plain_decoder_fini(decoder);
  pto_language_model_fini(model);
}

static uint32_t argmax(const float *x, uint32_t n) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  return best;
}

static void check_logits(const char *settings) {
  struct outputs o;
  struct pto_language_model model;
  struct pto_plain_decoder decoder;
  read_outputs(&o, settings);
  open_decoder(&model, &decoder);
  assert_int_equal(o.logits.numel, POSITIONS * VOCAB);
  uint32_t token = PTO_TOKEN_BOS;
  for (uint32_t step = 0; step < POSITIONS; step++) {
    const float *wanted = pto_plain_decoder_step(&decoder, token, step);
    for (uint32_t i = 0; i < VOCAB; i++) {
      const double got = pto_npy_get(&o.logits, PTO_FLOAT32, (uint64_t)step * VOCAB + i), right = (double)wanted[i];
      if (!(fabs(got - right) <= 1e-4 + 1e-4 * fabs(right)))
        fail_msg("%s: step %u, logit %u is %g, not %g", settings, step, i, got, right);
    }
    token = (uint32_t)pto_npy_get(&o.tokens, PTO_INT32, step);
    assert_int_equal(token, argmax(wanted, VOCAB));
    if (token == PTO_TOKEN_BOS) break;
  }
  close_decoder(&model, &decoder);
  outputs_fini(&o);
}

static void test_logits_and_greedy_tokens_are_those_of_plain_loops(void **state) {
  check_logits("--workers 1");
  check_logits("--engine virtual --chip a2a3 --set kv=pingpong");
}

/* The rule as the documentation says it, over probabilities in double. */
static uint32_t draw(const float *logits, double temperature, double topp, double coin) {
  struct {
    double p;
    uint32_t token;
  } all[VOCAB], moved;
  double sum = 0, kept = 0, so_far = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < VOCAB; i++) {
    all[i].p = exp(((double)logits[i] - (double)logits[argmax(logits, VOCAB)]) / temperature);
    all[i].token = i;
    sum += all[i].p;
  }
  if (topp > 0 && topp < 1) {
    for (uint32_t i = 1; i < VOCAB; i++)
      for (uint32_t j = i; j > 0 && all[j].p > all[j - 1].p; j--) {
        moved = all[j];
        all[j] = all[j - 1];
        all[j - 1] = moved;
      }
    while (count < VOCAB && kept <= topp * sum) kept += all[count++].p;
  } else {
    kept = sum;
    count = VOCAB;
  }
  for (uint32_t i = 0; i < count; i++)
    if ((so_far += all[i].p) > coin * kept) return all[i].token;
  return all[count - 1].token;
}

static double next_coin(uint64_t *s) {
  *s ^= *s >> 12;
  *s ^= *s << 25;
  *s ^= *s >> 27;
  return (double)(((*s * UINT64_C(0x2545F4914F6CDD1D)) >> 32) >> 8) / 16777216.0;
}

/* The prompt "BAD" is BOS, a space and three letters: tokens 2 to 5 are given, and draw no number. */
static void check_draws(const char *settings, double temperature, double topp, uint64_t seed) {
  static const uint32_t prompt[] = {PTO_TOKEN_BOS, FIRST_LETTER, FIRST_LETTER + 2, FIRST_LETTER + 1, FIRST_LETTER + 4};
  char all[256];
  struct outputs o;
  struct pto_language_model model;
  struct pto_plain_decoder decoder;
  snprintf(all, sizeof all, "%s --set prompt=BAD --seed %llu", settings, (unsigned long long)seed);
  read_outputs(&o, all);
  open_decoder(&model, &decoder);
  uint32_t token = PTO_TOKEN_BOS, drawn = 0;
  for (uint32_t step = 0; step < POSITIONS; step++) {
    const float *logits = pto_plain_decoder_step(&decoder, token, step);
    const bool is_given = step + 1 < PTO_ARRAY_LENGTH(prompt);
    token = is_given ? prompt[step + 1] : draw(logits, temperature, topp, next_coin(&seed));
    drawn += !is_given;
    const uint32_t got = (uint32_t)pto_npy_get(&o.tokens, PTO_INT32, step);
    if (got != token) fail_msg("%s: token %u is %u, not %u", settings, step + 1, got, token);
    if (token == PTO_TOKEN_BOS) break;
  }
  assert_true(drawn > 3);
  close_decoder(&model, &decoder);
  outputs_fini(&o);
}

/* 1e-45 is the least float above 0: logits divided by it are infinite. */
static void test_temperatures_too_small_to_divide_by_take_the_most_probable_token(void **state) {
  static const char *const tiny[] = {"0", "-0", "1e-300", "1e-45", "1e-40", "1e-20"};
  struct outputs greedy, o;
  read_outputs(&greedy, "--set temperature=0 --set prompt=BAD");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(tiny); i++) {
    char settings[128];
    snprintf(settings, sizeof settings, "--set temperature=%s --set topp=%s --set prompt=BAD", tiny[i],
             i % 2 ? "0.9" : "1");
    read_outputs(&o, settings);
    for (uint32_t step = 0; step < POSITIONS; step++)
      assert_int_equal((int)pto_npy_get(&o.tokens, PTO_INT32, step), (int)pto_npy_get(&greedy.tokens, PTO_INT32, step));
    outputs_fini(&o);
  }
  outputs_fini(&greedy);
}

static void test_sampled_tokens_are_those_that_the_rule_draws(void **state) {
  check_draws("--set temperature=0.7 --set topp=0.9", 0.7, 0.9, 5);
  check_draws("--set temperature=1.3 --set topp=0.5", 1.3, 0.5, 6);
  check_draws("--set temperature=1 --set topp=1", 1, 1, 7);
  check_draws("--set temperature=1 --set topp=0", 1, 0, 8);
}

static void test_every_format_of_weights_both_rotations_and_a_shared_classifier_are_right(void **state) {
  static const char *const formats[] = {"f32", "f16", "bf16", "q8_0"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(formats); i++) {
    char settings[128];
    snprintf(settings, sizeof settings, "--set weights=%s --set shared=%s --set halves=%s --set steps=12", formats[i],
             i % 2 ? "true" : "false", i < 2 ? "true" : "false");
    json_t *root = run(settings);
    assert_true(json_is_true(json_object_get(root, "verified")));
    assert_int_equal((int)figure(root, "checked_steps"), 12);
    assert_int_equal((int)figure(root, "random_weights"), 1);
    json_decref(root);
  }
}

/* One model in files of every format: each is verified, and those of f32 say the same.  GGUF brings its tokenizer. */
static void test_a_model_is_right_from_files_of_every_format(void **state) {
  static const struct pto_language_model sizes = {.dim = 64,
                                                  .hidden_dim = 96,
                                                  .layer_count = 2,
                                                  .head_count = 4,
                                                  .kv_head_count = 2,
                                                  .vocab_size = 270,
                                                  .sequence_length = 20,
                                                  .rope_base = 10000.0f,
                                                  .norm_epsilon = 1e-5f};
  struct pto_random_model random;
  char folder[256], tokenizer[300], *text = NULL;
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("formats"));
  assert_int_equal(mkdir(folder, 0700), 0);
  snprintf(tokenizer, sizeof tokenizer, "%s/270.bin", folder);
  write_tokenizer(tokenizer, (int32_t)sizes.vocab_size);
  pto_random_model_init(&random, &sizes, false, 3);
  for (uint32_t kind = 0; kind < PTO_MODEL_FILE_KIND_COUNT; kind++) {
    const char *name = pto_model_file_name((enum pto_model_file_kind)kind);
    char settings[2048];
    const bool has_own = strstr(name, "gguf") != NULL;
    pto_random_model_write(&random, folder, (enum pto_model_file_kind)kind, has_own);
    snprintf(settings, sizeof settings, "--set model=%s/%s", folder, name);
    if (!has_own) snprintf(settings, sizeof settings, "--set model=%s/%s --set tokenizer=%s", folder, name, tokenizer);
    json_t *root = run(settings);
    if (!json_is_true(json_object_get(root, "verified"))) fail_msg("%s is not verified", name);
    assert_int_equal((int)figure(root, "random_weights"), 0);
    json_decref(root);
    if (has_own || pto_model_file_format((enum pto_model_file_kind)kind) != PTO_WEIGHT_F32) continue;
    if (text) assert_string_equal(pto_ptosim_last.out, text);
    free(text);
    text = strdup(pto_ptosim_last.out);
  }
  free(text);
  pto_random_model_fini(&random);
}

/* ---- the same everywhere ---- */

static void check_same(const char *settings) {
  static const char *const places[] = {
      "--workers 1",       "--workers 2 --chip a2a3", "--engine virtual", "--engine virtual --chip a2a3",
      "--policy random:3", "--set tile_rows=1",       "--set tile_rows=7"};
  static const char *const kvs[] = {"inplace", "pingpong", "host"};
  char first[32] = "", *text = NULL;
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(kvs); k++)
    for (size_t p = 0; p < PTO_ARRAY_LENGTH(places); p++) {
      char all[512];
      snprintf(all, sizeof all, "%s --set kv=%s --set steps=24 %s", settings, kvs[k], places[p]);
      json_t *root = run_files(all);
      assert_true(json_is_true(json_object_get(root, "verified")));
      if (!first[0]) {
        snprintf(first, sizeof first, "%s", pto_json_text(root, "output_digest"));
        text = strdup(pto_ptosim_last.out);
      }
      assert_string_equal(pto_json_text(root, "output_digest"), first);
      assert_string_equal(pto_ptosim_last.out, text);
      json_decref(root);
    }
  free(text);
}

static void test_modes_engines_workers_chips_policies_and_tiles_give_the_same_bytes_and_text(void **state) {
  check_same("--set prompt=CAFE");
  check_same("--set temperature=0.9 --seed 4");
}

/* Matrices of a dozen tiles, and an attend a key-value head. */
static void test_a_model_of_many_tiles_and_tasks_is_right_and_the_same_on_both_engines(void **state) {
  static const char *const places[] = {"--workers 2", "--engine virtual --chip a2a3 --set kv=pingpong",
                                       "--workers 2 --chip a2a3 --set tile_rows=100 --set kv=host"};
  char first[32] = "";
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(places); p++) {
    char settings[512];
    snprintf(settings, sizeof settings,
             "--set dim=512 --set hidden=160 --set layers=2 --set heads=4 --set kv_heads=2 --set vocab=300 "
             "--set positions=70 --set prompt=ba %s",
             places[p]);
    json_t *root = run(settings);
    assert_true(json_is_true(json_object_get(root, "verified")));
    assert_true(figure(root, "tasks_per_step") > 60);
    if (!first[0]) snprintf(first, sizeof first, "%s", pto_json_text(root, "output_digest"));
    assert_string_equal(pto_json_text(root, "output_digest"), first);
    json_decref(root);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_logits_and_greedy_tokens_are_those_of_plain_loops),
      cmocka_unit_test(test_temperatures_too_small_to_divide_by_take_the_most_probable_token),
      cmocka_unit_test(test_sampled_tokens_are_those_that_the_rule_draws),
      cmocka_unit_test(test_every_format_of_weights_both_rotations_and_a_shared_classifier_are_right),
      cmocka_unit_test(test_a_model_is_right_from_files_of_every_format),
      cmocka_unit_test(test_modes_engines_workers_chips_policies_and_tiles_give_the_same_bytes_and_text),
      cmocka_unit_test(test_a_model_of_many_tiles_and_tasks_is_right_and_the_same_on_both_engines),
  };
  return cmocka_run_group_tests(tests, setup, pto_ptosim_teardown);
}
