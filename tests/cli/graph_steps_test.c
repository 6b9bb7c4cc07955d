/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --steps` from outside: states that stay on the device, by the counters, and logits that are those of a
 * decoder which shares nothing with graphs or kernels.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bench/support/plain_decoder.h>
#include <formats/npy.h>
#include <formats/llm/tokenizer.h>
#include <tests/support/ptosim_child.h>
#include <tests/support/random_model.h>

#define STEPS 6
#define VOCABULARY 50
#define GPT2 "--model gpt2 --set layers=2 --set width=32 --set heads=4 --set window=8 --set vocabulary=50"
#define LLAMA                                                                                                          \
  "--model llama --set layers=2 --set width=32 --set hidden=48 --set heads=4 --set kv_heads=2 --set window=8 --set "   \
  "vocabulary=50"

/* Two layers, a key and a value each, [heads, 8, width of a head] of 4 bytes. */
#define STATE_BYTES(heads) (4 * (heads)*8 * 8 * 4)

/* Logits alone come back, token and position alone go there; nothing is copied, made or lowered. */
static void assert_state_stays(const char *model, const char *kv, const char *engine, json_int_t state_bytes,
                               char digest[20]) {
  const int code = pto_ptosim_run("graph %s --run --steps %d --kv %s --engine %s --compare reference --json -", model,
                                  STEPS, kv, engine);
  if (code) fail_msg("%s %s %s: %s", model, kv, engine, pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *steps = json_object_get(root, "steps");
  const int sets = strcmp(kv, "pingpong") == 0 ? 2 : 1;
  assert_int_equal(pto_json_integer(steps, "count"), STEPS);
  assert_int_equal(pto_json_integer(steps, "states"), 4);
  assert_int_equal(pto_json_integer(steps, "state_bytes"), state_bytes);
  assert_int_equal(pto_json_integer(steps, "later_h2d_bytes"), (STEPS - 1) * 2 * 4);
  assert_int_equal(pto_json_integer(steps, "later_d2h_bytes"), (STEPS - 1) * VOCABULARY * 4);
  assert_int_equal(pto_json_integer(steps, "later_d2d_bytes"), 0);
  assert_int_equal(pto_json_integer(steps, "later_allocations"), 0);
  assert_int_equal(pto_json_integer(steps, "binding_copied_bytes"), 0);
  assert_int_equal(pto_json_integer(root, "h2d_bytes"), pto_json_integer(root, "constant_bytes") + STEPS * 2 * 4);
  assert_int_equal(pto_json_integer(root, "d2h_bytes"), STEPS * VOCABULARY * 4);
  assert_int_equal(pto_json_integer(root, "lowering_cache_misses"), sets);
  assert_int_equal(pto_json_integer(root, "lowering_cache_hits"), STEPS - sets);
  assert_true(json_number_value(json_object_get(steps, "worst_error")) < 1e-5);
  if (!digest[0]) snprintf(digest, 20, "%s", pto_json_text(root, "output_digest"));
  assert_string_equal(pto_json_text(root, "output_digest"), digest);
  json_decref(root);
}

static void test_caches_never_leave_the_device(void **state) {
  static const char *const kvs[] = {"pingpong", "inplace"}, *const engines[] = {"threads", "virtual --chip a2a3"};
  char gpt2[20] = "", llama[20] = "";
  for (int i = 0; i < 4; i++) {
    assert_state_stays(GPT2, kvs[i / 2], engines[i % 2], STATE_BYTES(4), gpt2);
    assert_state_stays(LLAMA, kvs[i / 2], engines[i % 2], STATE_BYTES(2), llama);
  }
}

static void test_pages_of_a_qwen3_layer_stay_on_the_device(void **state) {
  static const char *const kvs[] = {"pingpong", "inplace"};
  for (int i = 0; i < 2; i++) {
    const int code = pto_ptosim_run("graph --model qwen3_layer --set width=32 --set hidden=48 --set heads=4 --set "
                                    "kv_heads=2 --set head_width=8 --set page=4 --set pages=8 --set table=2 --run "
                                    "--steps %d --kv %s --compare reference --json -",
                                    STEPS, kvs[i]);
    assert_int_equal(code, 0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *steps = json_object_get(root, "steps");
    assert_int_equal(pto_json_integer(steps, "states"), 2);
    assert_int_equal(pto_json_integer(steps, "later_h2d_bytes"), (STEPS - 1) * 4);      /* the position */
    assert_int_equal(pto_json_integer(steps, "later_d2h_bytes"), (STEPS - 1) * 32 * 4); /* the result */
    assert_int_equal(pto_json_integer(steps, "later_d2d_bytes"), 0);
    assert_int_equal(pto_json_integer(steps, "later_allocations"), 0);
    assert_true(json_is_null(json_object_get(steps, "tokens")));
    json_decref(root);
  }
}

static void test_a_named_state_counts_the_steps(void **state) {
  const char *path = pto_ptosim_path("counter.json");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"format\": \"webnn-graph-json\", \"version\": 1,\n"
        " \"inputs\": {\"x\": {\"dataType\": \"float32\", \"shape\": [3]}},\n"
        " \"consts\": {\"one\": {\"dataType\": \"float32\", \"shape\": [], \"init\": {\"kind\": \"scalar\", \"value\": "
        "1}}},\n"
        " \"nodes\": [{\"id\": \"y\", \"op\": \"add\", \"inputs\": [\"x\", \"one\"]}], \"outputs\": {\"y\": \"y\"}}\n",
        file);
  fclose(file);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(
        pto_ptosim_run("graph %s --run --steps 5 --state x=y --kv %s --json -", path, i ? "inplace" : "pingpong"), 0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *y = json_array_get(json_object_get(root, "outputs"), 0);
    assert_true(json_number_value(json_object_get(y, "least")) == 5);
    assert_true(json_number_value(json_object_get(y, "most")) == 5);
    assert_int_equal(pto_json_integer(json_object_get(root, "steps"), "later_h2d_bytes"), 0);
    json_decref(root);
  }
  pto_ptosim_run("graph %s --run --steps 2 --state x=z", path);
  pto_ptosim_assert_complaint(2, "--state x=z: no input and output of one dtype and shape are called so");
}

/* ---- logits ---- */

/* Decodes a model file by the graph, and the same tokens by plain loops: each token is what they choose, and the last
 * logits are theirs to 5e-6 of the largest; both round in float32, in another order. */
static void assert_logits_are_those_of_plain_loops(const char *path, int steps) {
  struct pto_language_model model = {0};
  struct pto_plain_decoder decoder;
  struct pto_error error;
  struct pto_npy npy;
  char dir[400];
  if (pto_language_model_read(&model, path, error.sentence, sizeof error.sentence)) fail_msg("%s", error.sentence);
  assert_true(pto_plain_decoder_init(&decoder, &model));
  snprintf(dir, sizeof dir, "%s", pto_ptosim_path("logits"));
  const int code = pto_ptosim_run("graph --model llama --set file=%s --set window=%d --run --steps %d --json - "
                                  "--output-dir %s",
                                  path, steps, steps, dir);
  if (code) fail_msg("%s", pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out),
         *tokens = json_object_get(json_object_get(root, "steps"), "tokens");
  const float *want = NULL;
  assert_int_equal(json_array_size(tokens), steps);
  for (int t = 0; t < steps; t++) {
    const uint32_t token = (uint32_t)json_integer_value(json_array_get(tokens, (size_t)t));
    for (uint32_t i = 0; want && i < model.vocab_size; i++)
      assert_true(want[i] <= want[token] + 2e-5f * fabsf(want[token]));
    want = pto_plain_decoder_step(&decoder, token, (uint32_t)t);
  }
  json_decref(root);
  strcat(dir, "/logits.npy");
  if (pto_npy_read(dir, &npy, &error)) fail_msg("%s", error.sentence);
  assert_int_equal(npy.numel, model.vocab_size);
  double difference = 0, magnitude = 0;
  for (uint32_t i = 0; i < model.vocab_size; i++) {
    difference = fmax(difference, fabs(pto_npy_get(&npy, PTO_FLOAT32, i) - (double)want[i]));
    magnitude = fmax(magnitude, fabs((double)want[i]));
  }
  print_message("%s: logits differ by %.3g of their size\n", path, difference / magnitude);
  assert_true(difference <= 5e-6 * magnitude);
  pto_npy_fini(&npy);
  pto_plain_decoder_fini(&decoder);
  pto_language_model_fini(&model);
}

static void test_logits_of_a_random_model_are_those_of_plain_loops(void **state) {
  const struct pto_language_model sizes = {.dim = 32,
                                           .hidden_dim = 64,
                                           .layer_count = 2,
                                           .head_count = 4,
                                           .kv_head_count = 2,
                                           .vocab_size = 60,
                                           .sequence_length = 16,
                                           .rope_base = 10000,
                                           .norm_epsilon = 1e-5f};
  struct pto_random_model random;
  char folder[400], path[800];
  pto_random_model_init(&random, &sizes, true, 3);
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("."));
  for (int kind = PTO_MODEL_FILE_LLAMA2C; kind < PTO_MODEL_FILE_KIND_COUNT; kind++) {
    pto_random_model_write(&random, folder, (enum pto_model_file_kind)kind, false);
    snprintf(path, sizeof path, "%s/%s", folder, pto_model_file_name((enum pto_model_file_kind)kind));
    assert_logits_are_those_of_plain_loops(path, 9);
  }
  pto_random_model_fini(&random);
}

static void test_logits_of_the_published_model_are_those_of_plain_loops(void **state) {
  const char *folder = getenv("PTO_LLM_DATA");
  char path[600];
  if (!folder) {
    print_message("PTO_LLM_DATA is not set\n");
    skip();
  }
  snprintf(path, sizeof path, "%s/stories260K.bin", folder);
  assert_logits_are_those_of_plain_loops(path, 64);
}

/* The program `llm` on the same file: the same tokens, and logits to 5e-6 of the largest. */
static void test_logits_are_those_of_the_program_llm(void **state) {
  const struct pto_language_model sizes = {.dim = 32,
                                           .hidden_dim = 64,
                                           .layer_count = 2,
                                           .head_count = 4,
                                           .kv_head_count = 2,
                                           .vocab_size = 300,
                                           .sequence_length = 16,
                                           .rope_base = 10000,
                                           .norm_epsilon = 1e-5f};
  const uint64_t one[] = {1};
  const int32_t begin = PTO_TOKEN_BOS;
  struct pto_random_model random;
  struct pto_error error;
  struct pto_npy all, last, tokens;
  char folder[300], logits_path[700], tokens_path[700], begin_path[700];
  if (pto_ptosim_run("list programs llm") != 0) {
    print_message("there is no program llm\n");
    skip();
  }
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("."));
  pto_random_model_init(&random, &sizes, true, 4);
  pto_random_model_write(&random, folder, PTO_MODEL_FILE_GGUF_F32, true);
  pto_random_model_fini(&random);
  snprintf(logits_path, sizeof logits_path, "%s/llm_logits.npy", folder);
  snprintf(tokens_path, sizeof tokens_path, "%s/llm_tokens.npy", folder);
  snprintf(begin_path, sizeof begin_path, "%s/begin.npy", folder);
  assert_int_equal(pto_npy_write(begin_path, PTO_INT32, 1, one, &begin, &error), PTO_OK);
  const int code = pto_ptosim_run("run llm --set model=%s/f32.gguf --set steps=9 --output logits=%s --output tokens=%s "
                                  "--quiet",
                                  folder, logits_path, tokens_path);
  if (code) fail_msg("%s", pto_ptosim_last.err);
  if (pto_npy_read(logits_path, &all, &error) || pto_npy_read(tokens_path, &tokens, &error))
    fail_msg("%s", error.sentence);
  uint64_t steps = 0; /* it may have ended before */
  while (steps < tokens.numel && pto_npy_get(&tokens, PTO_INT32, steps) >= 0) steps++;
  steps = steps < tokens.numel ? steps + 1 : tokens.numel;
  assert_int_equal(pto_ptosim_run("graph --model llama --set file=%s/f32.gguf --set window=16 --run --steps %d --input "
                                  "token=%s --json - --output-dir %s/graph",
                                  folder, (int)steps, begin_path, folder),
                   0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out),
         *ours = json_object_get(json_object_get(root, "steps"), "tokens");
  for (uint64_t t = 0; t + 1 < steps; t++)
    assert_int_equal(json_integer_value(json_array_get(ours, t + 1)), (int)pto_npy_get(&tokens, PTO_INT32, t));
  json_decref(root);
  strcat(folder, "/graph/logits.npy");
  if (pto_npy_read(folder, &last, &error)) fail_msg("%s", error.sentence);
  double difference = 0, magnitude = 0;
  for (uint64_t i = 0; i < sizes.vocab_size; i++) {
    const double want = pto_npy_get(&all, PTO_FLOAT32, (steps - 1) * sizes.vocab_size + i);
    difference = fmax(difference, fabs(pto_npy_get(&last, PTO_FLOAT32, i) - want));
    magnitude = fmax(magnitude, fabs(want));
  }
  print_message("%d steps: logits differ by %.3g of their size\n", (int)steps, difference / magnitude);
  assert_true(magnitude > 0 && difference <= 5e-6 * magnitude);
  pto_npy_fini(&all);
  pto_npy_fini(&last);
  pto_npy_fini(&tokens);
}

static void test_what_makes_no_sense_with_steps_is_refused(void **state) {
  static const struct {
    const char *words, *part;
  } rows[] = {
      {"graph " GPT2 " --steps 3", "--steps is for --run"},
      {"graph " GPT2 " --run --steps 0", "--steps"},
      {"graph " GPT2 " --run --steps 3 --engine reference", "--steps is not for --engine reference"},
      {"graph " GPT2 " --run --kv inplace", "--kv and --state are for --steps"},
      {"graph " GPT2 " --run --steps 3 --kv host", "\"host\" is none of pingpong, inplace"},
      {"graph " GPT2 " --run --steps 3 --compare reference --first-divergence", "is for one run"},
      {"graph " GPT2 " --run --steps 3 --state key0", "no input and output"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pto_ptosim_run("%s", rows[i].words);
    pto_ptosim_assert_complaint(2, rows[i].part);
  }
}

static void test_steps_beyond_tolerance_are_findings(void **state) {
  assert_int_equal(pto_ptosim_run("graph " GPT2 " --run --steps 3 --compare reference --rtol 0"), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_caches_never_leave_the_device),
      cmocka_unit_test(test_pages_of_a_qwen3_layer_stay_on_the_device),
      cmocka_unit_test(test_a_named_state_counts_the_steps),
      cmocka_unit_test(test_logits_of_a_random_model_are_those_of_plain_loops),
      cmocka_unit_test(test_logits_of_the_published_model_are_those_of_plain_loops),
      cmocka_unit_test(test_logits_are_those_of_the_program_llm),
      cmocka_unit_test(test_what_makes_no_sense_with_steps_is_refused),
      cmocka_unit_test(test_steps_beyond_tolerance_are_findings),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
