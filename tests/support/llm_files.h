/* SPDX-License-Identifier: MIT */
/*
 * For tests of the program llm: a random checkpoint and a tokenizer of llama2.c, made by `setup`, and runs of the
 * program on them.
 */
#ifndef PTO_LLM_FILES_H
#define PTO_LLM_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

enum { DIM = 24, HIDDEN = 44, LAYERS = 2, HEADS = 6, KV_HEADS = 3, VOCAB = 300, POSITIONS = 40, KV_DIM = 12 };
enum { FIRST_LETTER = 259 };

static char model_path[256], tokenizer_path[256];

static inline void put(FILE *file, const void *bytes, size_t size) {
  assert_int_equal(fwrite(bytes, 1, size, file), size);
}

static inline void put_floats(FILE *file, struct pto_rng *rng, uint64_t count, float middle, float most) {
  for (uint64_t i = 0; i < count; i++) {
    const float x = middle + (float)(2 * pto_rng_unit(rng) - 1) * most;
    put(file, &x, sizeof x);
  }
}

/* Of `vocab` tokens, a classifier of its own. */
static inline void write_model(const char *path, int32_t vocab, float matrices, uint64_t seed) {
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
static inline void write_tokenizer(const char *path, int32_t vocab) {
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

static inline int setup(void **state) {
  if (pto_ptosim_setup(state)) return -1;
  snprintf(model_path, sizeof model_path, "%s", pto_ptosim_path("model.bin"));
  snprintf(tokenizer_path, sizeof tokenizer_path, "%s", pto_ptosim_path("tokenizer.bin"));
  write_model(model_path, VOCAB, 0.3f, 7);
  write_tokenizer(tokenizer_path, VOCAB);
  return 0;
}

/* Runs with these settings; the JSON's root, to be freed. */
static inline json_t *run(const char *settings) {
  char json[256];
  snprintf(json, sizeof json, "%s", pto_ptosim_path("run.json"));
  if (pto_ptosim_run("run llm %s --quiet --json %s", settings, json)) fail_msg("%s: %s", settings, pto_ptosim_last.err);
  return pto_ptosim_load(json);
}
static inline json_t *run_files(const char *settings) {
  char all[4096];
  snprintf(all, sizeof all, "--set model=%s --set tokenizer=%s %s", model_path, tokenizer_path, settings);
  return run(all);
}

static inline double figure(json_t *root, const char *name) {
  json_t *value = json_object_get(json_object_get(root, "figures"), name);
  if (!json_is_number(value)) fail_msg("no figure %s", name);
  return json_number_value(value);
}

#endif
