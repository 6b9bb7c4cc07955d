/* SPDX-License-Identifier: MIT */
/*
 * The program llm on several ranks: one text whatever their number, in which each rank is verified, its logits also
 * against those of one chip that has all shares (run_alone of orchestration/llm/llm.c), bit for bit; what a rank has of
 * the model; and models that cannot be shared.
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

#define TEXT_BYTES 1024

/* Runs on so many ranks, all verified; the JSON's root, to be freed, and the text. */
static json_t *run_ranks(uint32_t ranks, const char *settings, char text[TEXT_BYTES]) {
  char all[2048];
  json_t *result;
  size_t index;
  snprintf(all, sizeof all, "--ranks %u --chip a2a3 %s", ranks, settings);
  json_t *root = run(all), *results = json_object_get(root, "results");
  snprintf(text, TEXT_BYTES, "%s", pto_ptosim_last.out);
  assert_string_equal(pto_json_text(root, "status"), "PTO_OK");
  assert_int_equal(json_array_size(results), ranks);
  json_array_foreach(results, index, result) assert_true(json_is_true(json_object_get(result, "verified")));
  return root;
}

/* The text that one chip without a world gives is that of so many ranks, of which each has checked `steps`. */
static void check_one_text(const char *settings, const uint32_t *counts, int steps) {
  char text[TEXT_BYTES], of_ranks[TEXT_BYTES];
  json_decref(run(settings));
  snprintf(text, sizeof text, "%s", pto_ptosim_last.out);
  assert_true(strlen(text) > 8);
  for (; *counts; counts++) {
    json_t *root = run_ranks(*counts, settings, of_ranks), *results = json_object_get(root, "results");
    assert_string_equal(text, of_ranks);
    for (uint32_t r = 0; r < *counts; r++) {
      assert_int_equal((int)figure(json_array_get(results, r), "checked_steps"), steps);
      assert_int_equal((int)figure(json_array_get(results, r), "live_bytes"), 0);
    }
    json_decref(root);
  }
}

static void test_one_to_eight_ranks_give_one_text(void **state) {
  static const uint32_t counts[] = {1, 2, 4, 8, 0};
  (void)state;
  check_one_text("--set steps=32", counts, 32);
  check_one_text("--set steps=16 --set temperature=1 --set prompt=hello", counts, 16);
  check_one_text("--set steps=12 --set kv=pingpong --set weights=f16 --set hidden=172 --seed 7", counts, 12);
  check_one_text("--set steps=12 --set kv=host --set weights=bf16 --set halves=true --set kv_heads=1", counts, 12);
}

/* 3 heads of keys and values on 6 ranks, 44 hidden elements, blocks of q8_0, a vocabulary that ranks do not divide. */
static void test_what_does_not_divide_is_shared_as_well(void **state) {
  static const uint32_t threes[] = {3, 6, 0}, twos[] = {2, 4, 0};
  char settings[1024];
  (void)state;
  snprintf(settings, sizeof settings, "--set model=%s --set tokenizer=%s --set steps=12", model_path, tokenizer_path);
  check_one_text(settings, threes, 12);
  check_one_text("--set steps=12 --set weights=q8_0 --set dim=128 --set heads=4 --set shared=true", twos, 12);
  check_one_text("--set steps=12 --set vocab=501", twos, 12);
}

static void test_threads_change_nothing(void **state) {
  char text[TEXT_BYTES], of_threads[TEXT_BYTES];
  (void)state;
  json_t *one = run_ranks(4, "--set steps=16", text);
  json_t *two = run_ranks(4, "--set steps=16 --world-threads 2", of_threads);
  assert_string_equal(text, of_threads);
  assert_string_equal(pto_json_text(one, "trace_digest"), pto_json_text(two, "trace_digest"));
  assert_string_equal(pto_json_text(one, "output_digest"), pto_json_text(two, "output_digest"));
  json_decref(one);
  json_decref(two);
}

/* Of a model with f32 weights, 8 query heads and 4 of keys and values on 8 ranks: which has one each. */
static void test_a_rank_has_its_share_of_weights_and_caches_alone(void **state) {
  enum { WIDTH = 8, WIDE = 64, HIDDEN_PART = 160 / 8, TOKENS = 512, STEPS = 6, DEPTH = 3 };
  char text[TEXT_BYTES];
  const json_int_t layer = 2 * WIDE + 4 * WIDE * WIDTH + 3 * WIDE * HIDDEN_PART, caches = DEPTH * 2 * WIDTH * STEPS * 4;
  const json_int_t angles = 2 * STEPS * WIDTH / 2, weights = TOKENS * WIDE + TOKENS / 8 * WIDE + WIDE;
  (void)state;
  json_t *root = run_ranks(8, "--set steps=6 --set kv=host", text), *results = json_object_get(root, "results");
  for (uint32_t r = 0; r < 8; r++) {
    json_t *result = json_array_get(results, r);
    assert_int_equal((json_int_t)figure(result, "weight_bytes"), 4 * (weights + DEPTH * layer + angles));
    assert_int_equal(pto_json_integer(result, "d2h_bytes"), STEPS * (4 + caches));
  }
  json_decref(root);
}

static void refused(const char *settings, const char *part) {
  pto_ptosim_run("run llm %s --chip a2a3 --quiet", settings);
  pto_ptosim_assert_complaint(2, part);
}

static void test_models_that_cannot_be_shared_are_refused(void **state) {
  (void)state;
  refused("--ranks 3", "8 heads cannot be shared equally by 3 ranks");
  refused("--ranks 4 --set heads=24 --set dim=48 --set kv_heads=6", "6 heads of keys and values on 4 ranks");
  refused("--ranks 8 --set hidden=7", "a hidden vector of 7 elements, in blocks of 1, cannot be shared by 8 ranks");
  refused("--ranks 4 --set weights=q8_0", "the heads of one of 4 ranks are 16 columns");
  refused("--ranks 4 --set weights=q8_0 --set dim=128 --set heads=4 --set hidden=96", "96 elements, in blocks of 32");
  refused("--ranks 2 --engine threads", "several ranks are for engine virtual");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_to_eight_ranks_give_one_text),
      cmocka_unit_test(test_what_does_not_divide_is_shared_as_well),
      cmocka_unit_test(test_threads_change_nothing),
      cmocka_unit_test(test_a_rank_has_its_share_of_weights_and_caches_alone),
      cmocka_unit_test(test_models_that_cannot_be_shared_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, pto_ptosim_teardown);
}
