/* SPDX-License-Identifier: MIT */
/*
 * The program llm from outside: what it moves to the byte, what it prints, what a trace of it has, and what it refuses.
 * What it computes is in llm_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/llm_files.h>
#include <tests/support/ptosim_child.h>

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

/* Bytes that no UTF-8 text has are tokens like any other byte; a text without a byte is none at all. */
static void test_prompts_that_are_no_utf8_are_echoed_byte_by_byte(void **state) {
  static const char *const prompts[] = {"\xff\xfe", "\xc3",     "\xe2\x82", "\xf8\x88\x80\x80\x80",
                                        "\x80\x80", "A\x01\x7f"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(prompts); i++) {
    char settings[64];
    snprintf(settings, sizeof settings, "--set steps=12 --set prompt=%s", prompts[i]);
    json_decref(run_files(settings));
    assert_memory_equal(pto_ptosim_last.out, prompts[i], strlen(prompts[i]));
  }
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

/* ---- the trace ---- */

static void test_a_trace_has_the_tasks_and_transfers_of_every_step_and_ends_with_the_run(void **state) {
  static const char *const engines[] = {"--engine virtual --chip a2a3", "--workers 2",
                                        "--workers 1 --set temperature=1"};
  char settings[700], path[256];
  snprintf(path, sizeof path, "%s", pto_ptosim_path("t.json"));
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    snprintf(settings, sizeof settings, "--set steps=12 --stats --trace %s %s", path, engines[e]);
    json_t *root = run_files(settings), *trace = pto_ptosim_load(path), *event;
    size_t index;
    json_int_t embeds = 0, to_device = 0, to_host = 0;
    double end_us = 0;
    json_array_foreach(json_object_get(trace, "traceEvents"), index, event) {
      const char *category = json_string_value(json_object_get(event, "cat"));
      if (!category || strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0) continue;
      const char *name = json_string_value(json_object_get(event, "name"));
      const double end =
          json_number_value(json_object_get(event, "ts")) + json_number_value(json_object_get(event, "dur"));
      if (end > end_us) end_us = end;
      embeds += strcmp(name, "embed") == 0;
      if (strcmp(category, "transfer") != 0) continue;
      *(strcmp(name, "transfers to the host") ? &to_device : &to_host) +=
          json_integer_value(json_object_get(json_object_get(event, "args"), "bytes"));
    }
    assert_int_equal(embeds, 12);
    assert_int_equal(to_device, pto_json_integer(root, "h2d_bytes"));
    assert_int_equal(to_host, pto_json_integer(root, "d2h_bytes"));
    if (e == 0) {
      assert_true(end_us <= json_number_value(json_object_get(root, "virtual_us")) + 1e-6);
      assert_true(end_us > json_number_value(json_object_get(root, "virtual_us")) - 1);
    }
    json_decref(trace);
    json_decref(root);
  }
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
  static const char *const numbers[] = {"temperature=nan", "temperature=", "temperature=1x",
                                        "topp=nan",        "steps=1e3",    "steps=99999999999999999999",
                                        "tile_rows=nan"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(numbers); i++) {
    char settings[64];
    snprintf(settings, sizeof settings, "--set %s", numbers[i]);
    refused(settings, "is not a");
  }
  refused("--set temperature=inf", "temperature is inf, not 0 or more");
  refused("--set temperature=1e39", "temperature is 1e+39, not 0 or more");
  refused("--set steps=99999999999999", "99999999999999 steps, but the model has 48 positions");
  refused("--set tile_rows=-1", "tile_rows is negative");
  refused("--set kv=", "kv is \"\"");
  refused("--set model=/dev/null", "/dev/null");
  refused("--set model=/", "directory");
  refused("--set weights=q4", "weights is \"q4\"");
  refused("--set dim=0", "dim is 0, not 1 to 65536");
  refused("--set dim=60 --set heads=8", "dim 60 in 8 heads");
  refused("--set kv_heads=3", "8 heads cannot share 3 key and value heads");
  refused("--set vocab=100", "vocab is 100");
  refused("--set weights=q8_0 --set hidden=40", "multiples of 32");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_greedy_step_moves_a_token_and_a_position_in_and_a_token_out),
      cmocka_unit_test(test_a_sampled_step_moves_the_logits_out),
      cmocka_unit_test(test_caches_on_the_host_move_both_ways_in_each_step),
      cmocka_unit_test(test_every_step_submits_the_same_tasks_which_are_lowered_once_for_each_set_of_caches),
      cmocka_unit_test(test_the_prompt_is_echoed_without_the_space_that_follows_bos),
      cmocka_unit_test(test_prompts_that_are_no_utf8_are_echoed_byte_by_byte),
      cmocka_unit_test(test_the_text_alone_is_on_standard_output),
      cmocka_unit_test(test_bos_ends_the_text),
      cmocka_unit_test(test_a_trace_has_the_tasks_and_transfers_of_every_step_and_ends_with_the_run),
      cmocka_unit_test(test_files_that_are_missing_cut_or_inconsistent_are_refused_with_the_reason),
      cmocka_unit_test(test_prompts_steps_and_settings_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, pto_ptosim_teardown);
}
