/* SPDX-License-Identifier: MIT */
/*
 * Graphs with open sizes for tests (graph/build/sizes.h): texts whose sizes are numbers or names, and how they are
 * loaded.  For tests with a test_folder.
 */
#ifndef PTO_TESTS_GRAPH_OPEN_TEMPLATES_H
#define PTO_TESTS_GRAPH_OPEN_TEMPLATES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/build/sizes.h>
#include <graph/run/open_dispatch.h>
#include <runtime/base/base.h>
#include <tests/support/test_folder.h>

static char sentence[1024];

#define MOST_OPEN 3

/* $N is the size of index N, by its number or as dyn("NAME", MOST). */
struct template {
  const char *text;
  struct pto_graph_size open[MOST_OPEN]; /* free ones first */
  uint32_t open_count, free_count;
  uint64_t values[4][MOST_OPEN]; /* sets; of those that follow too */
};

#define HEAD "webnn_graph \"t\" v2 { "
static const struct template templates[] = {
    {HEAD "inputs { x: f32[$0,4]; } consts { w: f32[4,3] @scalar(0.5); } nodes { h = sigmoid(x); s = mul(x, h);"
          " y = matmul(s, w); } outputs { y; } }", /* a silu */
     {{"batch", 8}},
     1,
     1,
     {{1}, {3}, {7}, {8}}},
    /* Products of two sizes, a position table, a broadcast. */
    {HEAD "inputs { x: f32[$0,$1,4]; mask: f32[1,$1,1]; } consts { w: f32[4,3] @scalar(0.25); t: f32[6,3] @scalar(2); }"
          " nodes { flat = reshape(x, newShape=[$2,4]); h = gemm(flat, w); back = reshape(h, newShape=[$0,$1,3]);"
          " part = slice(t, starts=[0,0], sizes=[$1,3]); sum = add(back, part); m = mul(sum, mask);"
          " y = softmax(m, axis=2); wide = expand(mask, newShape=[$0,$1,2]); } outputs { y; wide; } }",
     {{"batch", 4}, {"length", 6}, {"rows", 24}},
     3,
     2,
     {{1, 1, 1}, {2, 5, 10}, {4, 6, 24}, {3, 2, 6}}},
    /* A filter that the kernels read in another order; images of any height and width. */
    {HEAD
     "inputs { x: f32[$0,2,$1,$1]; } consts { f: f32[3,2,3,3] @bytes([" /* 54 floats follow */ "%s]); }"
     " nodes { c = conv2d(x, f, padding=[1,1,1,1], label=\"stem\"); p = averagePool2d(c); y = clamp(p, minValue=0); }"
     " outputs { y; } }",
     {{"images", 3}, {"side", 7}},
     2,
     2,
     {{1, 5}, {2, 7}, {3, 3}, {2, 4}}},
    /* A number of steps; parts of a split; padding and repetitions. */
    {HEAD "inputs { x: f32[$0,2,3]; z: f32[$1,2]; } consts { w: f32[1,6,3] @scalar(0.125); r: f32[1,6,2] @scalar(0.25);"
          " c: f32[1,2] @scalar(3); } nodes { [last, all] = gru(x, w, r, steps=$0, hiddenSize=2, returnSequence=true);"
          " both = concat(z, c, axis=0); [front, end] = split(both, splits=[$1,1], axis=0);"
          " y = pad(front, beginningPadding=[$1,0], endingPadding=[0,1]); t = tile(end, repetitions=[$1,2]); }"
          " outputs { all; y; t; } }",
     {{"steps", 6}, {"parts", 5}},
     2,
     2,
     {{1, 1}, {6, 5}, {2, 3}, {5, 4}}},
};

static float filter_value(uint32_t i) { return (float)((int)(i * 7 % 11) - 5) / 8; }

/* The text with numbers or names in place of its $. */
static inline char *spell(const struct template *t, const uint64_t *values) {
  char *text = calloc(1, 8192), bytes[2048] = "";
  size_t used = 0;
  assert_non_null(text);
  for (uint32_t i = 0, at = 0; i < 54; i++) {
    const float x = filter_value(i);
    unsigned char b[4];
    memcpy(b, &x, 4);
    at += (uint32_t)snprintf(bytes + at, sizeof bytes - at, "%s%u,%u,%u,%u", i ? "," : "", b[0], b[1], b[2], b[3]);
  }
  for (const char *c = t->text; *c; c++) {
    if (c[0] == '$') {
      const uint32_t s = (uint32_t)(*++c - '0');
      if (values)
        used += (size_t)sprintf(text + used, "%llu", (unsigned long long)values[s]);
      else
        used +=
            (size_t)sprintf(text + used, "dyn(\"%s\", %llu)", t->open[s].name, (unsigned long long)t->open[s].value);
    } else if (c[0] == '%') {
      used += (size_t)sprintf(text + used, "%s", bytes);
      c++;
    } else {
      text[used++] = *c;
    }
  }
  return text;
}

static int try_load(const char *text, struct pto_graph **graph_out) {
  FILE *file = fopen(path_of("a.webnn"), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  sentence[0] = '\0';
  return pto_graph_load(NULL, path_of("a.webnn"), NULL, graph_out, sentence, sizeof sentence);
}

static inline struct pto_graph *load(const struct template *t, const uint64_t *values) {
  struct pto_graph *graph = NULL;
  char *text = spell(t, values);
  if (try_load(text, &graph)) fail_msg("%s\n%s", text, sentence);
  free(text);
  return graph;
}

static inline struct pto_graph *bind(struct pto_graph *graph, const struct template *t, const uint64_t *values) {
  struct pto_graph_size sizes[MOST_OPEN];
  struct pto_graph *bound = NULL;
  for (uint32_t s = 0; s < t->free_count; s++) sizes[s] = (struct pto_graph_size){t->open[s].name, values[s]};
  if (pto_graph_bind(graph, sizes, t->free_count, &bound, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return bound;
}

static inline struct pto_context *open_context(const char *engine) {
  const struct pto_context_options options = {.size = sizeof options, .runtime = {.engine = engine, .chip = "tiny"}};
  struct pto_context *context = NULL;
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return context;
}

#endif
