/* SPDX-License-Identifier: MIT */
/*
 * The program llm from outside: what it computes against plain loops over the same files, what it moves to the byte,
 * that modes, engines, workers, chips and tiles change nothing, and what it refuses.
 *
 * Files are made here: a random checkpoint and a tokenizer of llama2.c.
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
#include <pto/tokenizer.h>
#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <tests/support/ptosim_child.h>
#include <tests/support/random_model.h>

enum { DIM = 24, HIDDEN = 44, LAYERS = 2, HEADS = 6, KV_HEADS = 3, VOCAB = 300, POSITIONS = 40, KV_DIM = 12 };
enum { FIRST_LETTER = 259 };

static char model_path[256], tokenizer_path[256];

static void put(FILE *file, const void *bytes, size_t size) { assert_int_equal(fwrite(bytes, 1, size, file), size); }

static void put_floats(FILE *file, struct pto_rng *rng, uint64_t count, float middle, float most) {
  for (uint64_t i = 0; i < count; i++) {
    const float x = middle + (float)(2 * pto_rng_unit(rng) - 1) * most;
    put(file, &x, sizeof x);
  }
}

/* Of `vocab` tokens, a classifier of its own. */
static void write_model(const char *path, int32_t vocab, float matrices, uint64_t seed) {
  const int32_t header[] = {DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, -vocab, POSITIONS};
  struct pto_rng rng = {seed};
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  put(file, header, sizeof header);
  put_floats(file, &rng, (uint64_t)vocab * DIM, 0, 1);
  put_floats(file, &rng, LAYERS * DIM, 1, 0.25f);
  put_floats(file, &rng, LAYERS * (2 * DIM * DIM + 2 * KV_DIM * DIM), 0, matrices);
  put_floats(file, &rng, LAYERS * DIM, 1, 0.25f);
  put_floats(file, &rng, LAYERS * 3 * DIM * HIDDEN, 0, matrices);
  put_floats(file, &rng, DIM, 1, 0.25f);
  put_floats(file, &rng, POSITIONS * DIM / HEADS, 0, 0); /* tables that readers ignore */
  put_floats(file, &rng, (uint64_t)vocab * DIM, 0, 1);
  assert_int_equal(fclose(file), 0);
}

/* Three marks, the bytes, then letters from 'A' on. */
static void write_tokenizer(const char *path, int32_t vocab) {
  const int32_t longest = 8;
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  put(file, &longest, sizeof longest);
  for (int32_t token = 0; token < vocab; token++) {
    char piece[16];
    const float score = -(float)token;
    if (token < 3)
      snprintf(piece, sizeof piece, "%s", token == 0 ? "<unk>" : token == 1 ? "<s>" : "</s>");
    else if (token < FIRST_LETTER)
      snprintf(piece, sizeof piece, "<0x%02X>", token - 3);
    else
      snprintf(piece, sizeof piece, "%c", token == FIRST_LETTER ? ' ' : 'A' + (token - FIRST_LETTER - 1));
    const int32_t length = (int32_t)strlen(piece);
    put(file, &score, sizeof score);
    put(file, &length, sizeof length);
    put(file, piece, (size_t)length);
  }
  assert_int_equal(fclose(file), 0);
}

static int setup(void **state) {
  if (pto_ptosim_setup(state)) return -1;
  snprintf(model_path, sizeof model_path, "%s", pto_ptosim_path("model.bin"));
  snprintf(tokenizer_path, sizeof tokenizer_path, "%s", pto_ptosim_path("tokenizer.bin"));
  write_model(model_path, VOCAB, 0.3f, 7);
  write_tokenizer(tokenizer_path, VOCAB);
  return 0;
}

/* Runs with these settings; the JSON's root, to be freed. */
static json_t *run(const char *settings) {
  char json[256];
  snprintf(json, sizeof json, "%s", pto_ptosim_path("run.json"));
  if (pto_ptosim_run("run llm %s --quiet --json %s", settings, json)) fail_msg("%s: %s", settings, pto_ptosim_last.err);
  return pto_ptosim_load(json);
}
static json_t *run_files(const char *settings) {
  char all[4096];
  snprintf(all, sizeof all, "--set model=%s --set tokenizer=%s %s", model_path, tokenizer_path, settings);
  return run(all);
}

static double figure(json_t *root, const char *name) {
  json_t *value = json_object_get(json_object_get(root, "figures"), name);
  if (!json_is_number(value)) fail_msg("no figure %s", name);
  return json_number_value(value);
}

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

/* ---- what is moved ---- */

/* Norms, matrices, embedding and classifier, and two tables of angles for the positions of the run. */
static json_int_t weight_bytes(json_int_t steps) {
  const json_int_t layer = 2 * DIM + 2 * DIM * DIM + 2 * KV_DIM * DIM + 3 * DIM * HIDDEN;
  return 4 * (2 * VOCAB * DIM + LAYERS * layer + DIM + 2 * steps * (DIM / HEADS / 2));
}

static void check_moves(const char *settings, json_int_t steps, json_int_t in_a_step, json_int_t out_a_step) {
  static const char *const engines[] = {"--workers 1", "--workers 2", "--engine virtual"};
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    char all[512];
    snprintf(all, sizeof all, "%s --set steps=%d %s", settings, (int)steps, engines[e]);
    json_t *root = run_files(all);
    assert_int_equal((int)figure(root, "tokens"), steps);
    assert_int_equal(pto_json_integer(root, "h2d_bytes"), weight_bytes(steps) + steps * in_a_step);
    assert_int_equal(pto_json_integer(root, "d2h_bytes"), steps * out_a_step);
    assert_int_equal(pto_json_integer(root, "d2d_bytes"), 0);
    assert_int_equal((json_int_t)figure(root, "weight_bytes"), weight_bytes(steps));
    assert_int_equal((int)figure(root, "live_bytes"), 0);
    json_decref(root);
  }
}

static void test_a_greedy_step_moves_a_token_and_a_position_in_and_a_token_out(void **state) {
  check_moves("--set kv=inplace", 8, 8, 4);
  check_moves("--set kv=pingpong", 9, 8, 4);
}

static void test_a_sampled_step_moves_the_logits_out(void **state) {
  check_moves("--set kv=inplace --set temperature=1", 8, 8, 4 * VOCAB);
}

static void test_caches_on_the_host_move_both_ways_in_each_step(void **state) {
  const json_int_t caches = 2 * LAYERS * 8 * KV_DIM * 4; /* of 8 positions */
  check_moves("--set kv=host", 8, 8 + caches, 4 + caches);
}

static void test_every_step_submits_the_same_tasks_which_are_lowered_once_for_each_set_of_caches(void **state) {
  json_t *one = run_files("--set steps=1"), *many = run_files("--set steps=20");
  json_t *turns = run_files("--set steps=20 --set kv=pingpong");
  assert_int_equal(20 * pto_json_integer(one, "tasks"), pto_json_integer(many, "tasks"));
  assert_int_equal(pto_json_integer(many, "lowering_cache_misses"), 1);
  assert_int_equal(pto_json_integer(many, "lowering_cache_hits"), 19);
  assert_int_equal(pto_json_integer(turns, "lowering_cache_misses"), 2);
  assert_int_equal(pto_json_integer(turns, "lowering_cache_hits"), 18);
  json_decref(turns);
  json_decref(one);
  json_decref(many);
}

/* ---- the text ---- */

static void test_the_prompt_is_echoed_without_the_space_that_follows_bos(void **state) {
  json_decref(run_files("--set prompt=HELLO"));
  assert_int_equal(strncmp(pto_ptosim_last.out, "HELLO", 5), 0);
  json_decref(run_files("--set prompt=H\xc3\x84\xe2\x82\xacL --set steps=9")); /* characters that are bytes here */
  assert_int_equal(strncmp(pto_ptosim_last.out, "H\xc3\x84\xe2\x82\xacL", 7), 0);
  json_decref(run_files("--set prompt=HELLO --set steps=7")); /* BOS, a space and five letters: one more is chosen */
  assert_true(strlen(pto_ptosim_last.out) >= 5);
}

static void test_the_text_alone_is_on_standard_output(void **state) {
  assert_int_equal(pto_ptosim_run("run llm --set model=%s --set tokenizer=%s --set steps=5 --set prompt=ABC",
                                  model_path, tokenizer_path),
                   0);
  assert_int_equal(strncmp(pto_ptosim_last.out, "ABC", 3), 0);
  assert_null(strstr(pto_ptosim_last.out, "verified"));
  assert_non_null(strstr(pto_ptosim_last.err, "verified"));
  assert_non_null(strstr(pto_ptosim_last.err, "tokens_per_second"));
  assert_int_equal(
      pto_ptosim_run("run llm --set model=%s --set tokenizer=%s --set steps=5 --json -", model_path, tokenizer_path),
      0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal((int)figure(root, "tokens"), 5);
  json_decref(root);
}

/* Without matrices x is the token's embedding; here every classifier row but that of BOS is 0, and BOS is chosen. */
static void test_bos_ends_the_text(void **state) {
  char path[256], settings[2048];
  struct pto_rng rng = {1};
  const int32_t header[] = {DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, -VOCAB, POSITIONS};
  const uint64_t zeros = LAYERS * (2 * DIM * DIM + 2 * KV_DIM * DIM), more = LAYERS * 3 * DIM * HIDDEN;
  snprintf(path, sizeof path, "%s", pto_ptosim_path("bos.bin"));
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  put(file, header, sizeof header);
  put_floats(file, &rng, VOCAB * DIM, 1, 0);
  put_floats(file, &rng, LAYERS * DIM, 1, 0);
  put_floats(file, &rng, zeros, 0, 0);
  put_floats(file, &rng, LAYERS * DIM, 1, 0);
  put_floats(file, &rng, more, 0, 0);
  put_floats(file, &rng, DIM, 1, 0);
  put_floats(file, &rng, POSITIONS * DIM / HEADS + DIM, 0, 0);
  put_floats(file, &rng, DIM, 1, 0); /* row 1 of the classifier */
  put_floats(file, &rng, (VOCAB - 2) * DIM, 0, 0);
  fclose(file);
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=%s --set prompt=AB", path, tokenizer_path);
  json_t *root = run(settings);
  assert_string_equal(pto_ptosim_last.out, "AB");
  assert_int_equal((int)figure(root, "tokens"), 4); /* BOS, space, A, B: the last chooses BOS */
  json_decref(root);
}

/* ---- refusals ---- */

static void refused(const char *settings, const char *part) {
  pto_ptosim_run("run llm %s --quiet", settings);
  pto_ptosim_assert_complaint(2, part);
}

static void copy_part(const char *from, const char *to, long cut) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_true(in && out && fseek(in, 0, SEEK_END) == 0);
  const long size = ftell(in) - cut;
  char *bytes = malloc((size_t)size);
  rewind(in);
  assert_true(bytes && fread(bytes, 1, (size_t)size, in) == (size_t)size);
  put(out, bytes, (size_t)size);
  free(bytes);
  fclose(in);
  fclose(out);
}

static void test_files_that_are_missing_cut_or_inconsistent_are_refused_with_the_reason(void **state) {
  char settings[2048], cut[256];
  snprintf(settings, sizeof settings, "--set model=no-such-model --set tokenizer=%s", tokenizer_path);
  refused(settings, "no-such-model");
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=no-such-tokenizer", model_path);
  refused(settings, "no-such-tokenizer");
  snprintf(cut, sizeof cut, "%s", pto_ptosim_path("cut.bin"));
  copy_part(model_path, cut, 40);
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=%s", cut, tokenizer_path);
  refused(settings, "the file is cut: its sizes ask for 40 bytes more");
  copy_part(tokenizer_path, cut, 1);
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=%s", model_path, cut);
  refused(settings, "the file is cut in token 299 of 300");
  write_model(cut, VOCAB - 1, 0.3f, 7);
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=%s", cut, tokenizer_path);
  refused(settings, "the model has fewer tokens than the file");
  write_tokenizer(cut, 40);
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=%s", model_path, cut);
  refused(settings, "cannot hold 300 tokens");
}

static void test_prompts_steps_and_settings_that_make_no_sense_are_refused(void **state) {
  refused("--set prompt=hello --set steps=2", "tokens, with the one that begins a text, and steps is 2");
  refused("--set steps=49", "49 steps, but the model has 48 positions");
  refused("--set steps=-1", "steps is -1");
  refused("--set kv=cloud", "kv is \"cloud\", none of pingpong, inplace, host");
  refused("--set temperature=-1", "temperature is -1, not 0 or more");
  refused("--set weights=q4", "weights is \"q4\"");
  refused("--set dim=0", "dim is 0, not 1 to 65536");
  refused("--set dim=60 --set heads=8", "dim 60 in 8 heads");
  refused("--set kv_heads=3", "8 heads cannot share 3 key and value heads");
  refused("--set vocab=100", "vocab is 100");
  refused("--set weights=q8_0 --set hidden=40", "multiples of 32");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_logits_and_greedy_tokens_are_those_of_plain_loops),
      cmocka_unit_test(test_sampled_tokens_are_those_that_the_rule_draws),
      cmocka_unit_test(test_every_format_of_weights_both_rotations_and_a_shared_classifier_are_right),
      cmocka_unit_test(test_a_model_is_right_from_files_of_every_format),
      cmocka_unit_test(test_modes_engines_workers_chips_policies_and_tiles_give_the_same_bytes_and_text),
      cmocka_unit_test(test_a_model_of_many_tiles_and_tasks_is_right_and_the_same_on_both_engines),
      cmocka_unit_test(test_a_greedy_step_moves_a_token_and_a_position_in_and_a_token_out),
      cmocka_unit_test(test_a_sampled_step_moves_the_logits_out),
      cmocka_unit_test(test_caches_on_the_host_move_both_ways_in_each_step),
      cmocka_unit_test(test_every_step_submits_the_same_tasks_which_are_lowered_once_for_each_set_of_caches),
      cmocka_unit_test(test_the_prompt_is_echoed_without_the_space_that_follows_bos),
      cmocka_unit_test(test_the_text_alone_is_on_standard_output),
      cmocka_unit_test(test_bos_ends_the_text),
      cmocka_unit_test(test_files_that_are_missing_cut_or_inconsistent_are_refused_with_the_reason),
      cmocka_unit_test(test_prompts_steps_and_settings_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, pto_ptosim_teardown);
}
