/* SPDX-License-Identifier: MIT */
/*
 * Models on the reference executor, beside the same models written down as loops.  Longer than 500 lines, since each
 * model is here a second time.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/reference/reference.h>
#include <graph/models/graph_model.h>
#include <runtime/base/base.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/graph_same.h>

static struct pto_graph *create(const char *name, const char *const *settings, uint32_t count, uint64_t seed) {
  struct pto_graph *graph = NULL;
  struct pto_error error;
  const struct pto_graph_model_info *info = pto_graph_model_find(name);
  assert_non_null(info);
  if (pto_graph_model_create(info, settings, count, seed, &graph, &error)) fail_msg("%s", error.sentence);
  return graph;
}

static const float *constant(const struct pto_graph *graph, const char *format, const char *name) {
  char text[80];
  snprintf(text, sizeof text, format, name);
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT && graph->values[v].name &&
        strcmp(graph->values[v].name, text) == 0)
      return graph->values[v].data;
  fail_msg("there is no constant %s", text);
  return NULL;
}

static void run(const struct pto_graph *graph, const void *const *inputs, void *const *outputs) {
  struct pto_error error;
  if (pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error)) fail_msg("%s", error.sentence);
}

/* Float32 results are rounded at each node, loops are not. */
static void assert_close(const float *got, const double *want, size_t count, double relative) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(want[i]));
  for (size_t i = 0; i < count; i++)
    if (!(fabs((double)got[i] - want[i]) <= relative * largest))
      fail_msg("element %zu is %.9g for %.9g", i, (double)got[i], want[i]);
}

/* ---- MobileNetV2 ---- */

struct image {
  uint32_t channels, size;
  double *pixels;
};

static double pixel(const struct image *image, uint32_t channel, int64_t row, int64_t column) {
  if (row < 0 || column < 0 || row >= image->size || column >= image->size) return 0;
  return image->pixels[((uint64_t)channel * image->size + (uint64_t)row) * image->size + (uint64_t)column];
}

static struct image convolve(const struct pto_graph *graph, const char *name, struct image in, uint32_t outputs,
                             uint32_t kernel, uint32_t stride, uint32_t groups, bool is_clamped) {
  const float *weight = constant(graph, "%s.weight", name), *bias = constant(graph, "%s.bias", name);
  const uint32_t inputs = in.channels / groups, edge = kernel / 2;
  struct image out = {outputs, (in.size + 2 * edge - kernel) / stride + 1, NULL};
  out.pixels = malloc((size_t)outputs * out.size * out.size * sizeof *out.pixels);
  assert_non_null(out.pixels);
  for (uint32_t o = 0, at = 0; o < outputs; o++)
    for (uint32_t y = 0; y < out.size; y++)
      for (uint32_t x = 0; x < out.size; x++, at++) {
        double sum = (double)bias[o];
        for (uint32_t i = 0; i < inputs; i++)
          for (uint32_t ky = 0; ky < kernel; ky++)
            for (uint32_t kx = 0; kx < kernel; kx++)
              sum += (double)weight[((o * inputs + i) * kernel + ky) * kernel + kx] *
                     pixel(&in, o / (outputs / groups) * inputs + i, (int64_t)y * stride + ky - edge,
                           (int64_t)x * stride + kx - edge);
        out.pixels[at] = is_clamped ? fmin(fmax(sum, 0), 6) : sum;
      }
  free(in.pixels);
  return out;
}

static struct image copy(const struct image *image) {
  struct image other = *image;
  const size_t size = (size_t)image->channels * image->size * image->size * sizeof *image->pixels;
  other.pixels = malloc(size);
  assert_non_null(other.pixels);
  memcpy(other.pixels, image->pixels, size);
  return other;
}

static struct image bottleneck(const struct pto_graph *graph, const char *name, struct image in, uint32_t outputs,
                               uint32_t expansion, uint32_t stride) {
  char part[64];
  const bool is_residual = stride == 1 && in.channels == outputs;
  struct image x = copy(&in);
  snprintf(part, sizeof part, "%s.expand", name);
  if (expansion > 1) x = convolve(graph, part, x, in.channels * expansion, 1, 1, 1, true);
  snprintf(part, sizeof part, "%s.depthwise", name);
  x = convolve(graph, part, x, x.channels, 3, stride, x.channels, true);
  snprintf(part, sizeof part, "%s.project", name);
  x = convolve(graph, part, x, outputs, 1, 1, 1, false);
  for (size_t i = 0; is_residual && i < (size_t)x.channels * x.size * x.size; i++) x.pixels[i] += in.pixels[i];
  free(in.pixels);
  return x;
}

static void classify(const struct pto_graph *graph, struct image x, uint32_t classes, double *probabilities) {
  const float *weight = constant(graph, "%s.weight", "classifier"), *bias = constant(graph, "%s.bias", "classifier");
  double sum = 0;
  for (uint32_t c = 0; c < classes; c++) {
    double logit = (double)bias[c];
    for (uint32_t k = 0; k < x.channels; k++) {
      double mean = 0;
      for (uint32_t i = 0; i < x.size * x.size; i++) mean += x.pixels[k * x.size * x.size + i];
      logit += mean / (x.size * x.size) * (double)weight[k * classes + c];
    }
    sum += probabilities[c] = exp(logit);
  }
  for (uint32_t c = 0; c < classes; c++) probabilities[c] /= sum;
  free(x.pixels);
}

static void test_mobilenet_v2_on_the_reference_is_the_papers_network(void **state) {
  /* Channels of a quarter of the width, each a multiple of 8 and at least 9/10 of it. */
  static const uint32_t table[][4] = {{1, 8, 1, 1},  {6, 8, 2, 2},  {6, 8, 3, 2}, {6, 16, 4, 2},
                                      {6, 24, 3, 1}, {6, 40, 3, 2}, {6, 80, 1, 1}};
  enum { SIZE = 64, CLASSES = 10 };
  const char *const settings[] = {"size=64", "width=25", "classes=10"};
  struct pto_graph *graph = create("mobilenet_v2", settings, 3, 7);
  static float input[3 * SIZE * SIZE];
  float got[CLASSES];
  double want[CLASSES];
  struct pto_rng rng = {3};
  struct image x = {3, SIZE, malloc(sizeof(double) * 3 * SIZE * SIZE)};
  assert_non_null(x.pixels);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(input); i++)
    x.pixels[i] = (double)(input[i] = (float)pto_rng_unit(&rng) - 0.5f);
  x = convolve(graph, "first", x, 8, 3, 2, 1, true);
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(table); s++)
    for (uint32_t b = 0; b < table[s][2]; b++) {
      char name[32];
      snprintf(name, sizeof name, "stage%u.block%u", s, b);
      x = bottleneck(graph, name, x, table[s][1], table[s][0], b == 0 ? table[s][3] : 1);
    }
  classify(graph, convolve(graph, "last", x, 1280, 1, 1, 1, true), CLASSES, want);
  const void *inputs[] = {input};
  void *outputs[] = {got};
  run(graph, inputs, outputs);
  assert_close(got, want, CLASSES, 1e-5);
  pto_graph_destroy(graph);
}

static void test_mobilenet_v2_has_the_papers_size(void **state) {
  struct pto_graph *graph = create("mobilenet_v2", NULL, 0, 0);
  uint64_t weights = 0, convolutions = 0;
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_CONSTANT) weights += graph->values[v].size_bytes / sizeof(float);
  for (uint32_t n = 0; n < graph->node_count; n++) convolutions += graph->nodes[n].op == PTO_GRAPH_OP_conv2d;
  assert_int_equal(convolutions, 52);
  assert_int_equal(weights, 3487816); /* 3 504 872 of torchvision's less 17 056 that batch normalisation adds */
  assert_int_equal(pto_graph_output_at(graph, 0)->shape[1], 1000);
  pto_graph_destroy(graph);
}

/* ---- decoders ---- */

enum { LAYERS = 2, WIDTH = 12, HEADS = 3, HEAD = WIDTH / HEADS, WINDOW = 5, TOKENS = 11 };
static const int32_t tokens[WINDOW] = {3, 10, 0, 3, 7};

/* y = W · x + b with W [inputs, outputs], or without b and with W [outputs, inputs]. */
static void affine(const struct pto_graph *graph, const char *name, const double *in, uint32_t inputs, uint32_t outputs,
                   double *out) {
  const float *weight = constant(graph, "%s.weight", name), *bias = constant(graph, "%s.bias", name);
  for (uint32_t o = 0; o < outputs; o++) {
    out[o] = (double)bias[o];
    for (uint32_t i = 0; i < inputs; i++) out[o] += in[i] * (double)weight[i * outputs + o];
  }
}
static void multiply(const struct pto_graph *graph, const char *name, const double *in, uint32_t inputs,
                     uint32_t outputs, double *out) {
  const float *weight = constant(graph, "%s.weight", name);
  for (uint32_t o = 0; o < outputs; o++) {
    out[o] = 0;
    for (uint32_t i = 0; i < inputs; i++) out[o] += in[i] * (double)weight[o * inputs + i];
  }
}

static const char *part(const char *format, int layer) {
  static char names[4][40];
  static unsigned next;
  char *name = names[next++ % 4];
  snprintf(name, sizeof names[0], format, layer);
  return name;
}

/* What position p sees of the positions up to it; `kv_heads` heads of keys and values, each for some queries. */
static void see(int p, const double *query, double keys[][WIDTH], double values[][WIDTH], int heads, int kv_heads,
                double *seen) {
  const int width = WIDTH / heads;
  memset(seen, 0, WIDTH * sizeof *seen);
  for (int head = 0; head < heads; head++) {
    const int shared = head / (heads / kv_heads) * width;
    double weights[WINDOW], sum = 0;
    for (int k = 0; k <= p; k++) {
      double score = 0;
      for (int i = 0; i < width; i++) score += query[head * width + i] * keys[k][shared + i];
      sum += weights[k] = exp(score / sqrt((double)width));
    }
    for (int k = 0; k <= p; k++)
      for (int i = 0; i < width; i++) seen[head * width + i] += weights[k] / sum * values[k][shared + i];
  }
}

/* Runs the graph step by step, with two sets of caches that take turns; what they hold beyond the position is never
 * read business. */
static void assert_steps(const struct pto_graph *graph, uint32_t cache_elements, double want[][TOKENS]) {
  static float caches[2][2 * LAYERS][WINDOW * WIDTH];
  float logits[TOKENS];
  for (int k = 0; k < 2 * LAYERS; k++)
    for (uint32_t i = 0; i < cache_elements; i++) caches[0][k][i] = 100;
  for (int32_t p = 0; p < WINDOW; p++) {
    const void *inputs[2 + 2 * LAYERS] = {&tokens[p], &p};
    void *outputs[2 * LAYERS + 1];
    for (int k = 0; k < 2 * LAYERS; k++) {
      inputs[2 + k] = caches[p % 2][k];
      outputs[k] = caches[(p + 1) % 2][k];
    }
    outputs[2 * LAYERS] = logits;
    run(graph, inputs, outputs);
    assert_close(logits, want[p], TOKENS, 1e-5);
  }
}

/* ---- GPT-2 ---- */

static void norm(const struct pto_graph *graph, const char *name, const double *in, double *out) {
  const float *scale = constant(graph, "%s.scale", name), *bias = constant(graph, "%s.bias", name);
  double mean = 0, variance = 0;
  for (int i = 0; i < WIDTH; i++) mean += in[i] / WIDTH;
  for (int i = 0; i < WIDTH; i++) variance += (in[i] - mean) * (in[i] - mean) / WIDTH;
  for (int i = 0; i < WIDTH; i++) out[i] = (in[i] - mean) / sqrt(variance + 1e-5) * (double)scale[i] + (double)bias[i];
}

/* All positions at once: no cache. */
static void decode_gpt2(const struct pto_graph *graph, double logits[][TOKENS]) {
  const float *embedding = constant(graph, "%s.weight", "tokens"), *places = constant(graph, "%s.weight", "positions");
  double x[WINDOW][WIDTH], query[WINDOW][WIDTH], keys[WINDOW][WIDTH], values[WINDOW][WIDTH];
  double all[3 * WIDTH], wide[4 * WIDTH], seen[WIDTH], out[WIDTH];
  for (int p = 0; p < WINDOW; p++)
    for (int i = 0; i < WIDTH; i++) x[p][i] = (double)embedding[tokens[p] * WIDTH + i] + (double)places[p * WIDTH + i];
  for (int layer = 0; layer < LAYERS; layer++) {
    for (int p = 0; p < WINDOW; p++) {
      norm(graph, part("block%d.norm1", layer), x[p], out);
      affine(graph, part("block%d.query_key_value", layer), out, WIDTH, 3 * WIDTH, all);
      memcpy(query[p], all, sizeof query[p]);
      memcpy(keys[p], all + WIDTH, sizeof keys[p]);
      memcpy(values[p], all + 2 * WIDTH, sizeof values[p]);
    }
    for (int p = 0; p < WINDOW; p++) {
      see(p, query[p], keys, values, HEADS, HEADS, seen);
      affine(graph, part("block%d.attention", layer), seen, WIDTH, WIDTH, out);
      for (int i = 0; i < WIDTH; i++) x[p][i] += out[i];
      norm(graph, part("block%d.norm2", layer), x[p], out);
      affine(graph, part("block%d.widen", layer), out, WIDTH, 4 * WIDTH, wide);
      for (int i = 0; i < 4 * WIDTH; i++) wide[i] *= 0.5 * (1 + erf(wide[i] / sqrt(2.0)));
      affine(graph, part("block%d.narrow", layer), wide, 4 * WIDTH, WIDTH, out);
      for (int i = 0; i < WIDTH; i++) x[p][i] += out[i];
    }
  }
  for (int p = 0; p < WINDOW; p++) {
    norm(graph, "norm", x[p], out);
    multiply(graph, "tokens", out, WIDTH, TOKENS, logits[p]);
  }
}

static void test_gpt2_step_by_step_with_caches_is_the_whole_sequence_at_once(void **state) {
  const char *const settings[] = {"layers=2", "width=12", "heads=3", "window=5", "vocabulary=11"};
  struct pto_graph *graph = create("gpt2", settings, 5, 1);
  double want[WINDOW][TOKENS];
  decode_gpt2(graph, want);
  assert_steps(graph, WINDOW * WIDTH, want);
  pto_graph_destroy(graph);
}

/* ---- Llama ---- */

enum { GROUPED = 6, SHARED = 2, KV_WIDTH = WIDTH / GROUPED * SHARED, HIDDEN = 10 };

static void rms_of(const struct pto_graph *graph, const char *name, const double *in, int count, double epsilon,
                   double *out) {
  const float *weight = constant(graph, "%s.weight", name);
  double mean = 0;
  for (int i = 0; i < count; i++) mean += in[i] * in[i] / count;
  for (int i = 0; i < count; i++) out[i] = in[i] / sqrt(mean + epsilon) * (double)weight[i];
}
static void rms(const struct pto_graph *graph, const char *name, const double *in, double *out) {
  rms_of(graph, name, in, WIDTH, 1e-5, out);
}

static void turn(double *x, int heads, int width, int p, bool is_halves, double base) {
  for (int head = 0; head < heads; head++)
    for (int i = 0; i < width / 2; i++) {
      double *a = x + head * width + (is_halves ? i : 2 * i), *b = is_halves ? a + width / 2 : a + 1;
      const double angle = p / pow(base, 2.0 * i / width), first = *a;
      *a = first * cos(angle) - *b * sin(angle);
      *b = first * sin(angle) + *b * cos(angle);
    }
}

static void decode_llama(const struct pto_graph *graph, bool is_halves, double logits[][TOKENS]) {
  const float *embedding = constant(graph, "%s.weight", "tokens");
  double x[WINDOW][WIDTH], query[WINDOW][WIDTH], keys[WINDOW][WIDTH], values[WINDOW][WIDTH];
  double gate[HIDDEN], up[HIDDEN], seen[WIDTH], out[WIDTH];
  for (int p = 0; p < WINDOW; p++)
    for (int i = 0; i < WIDTH; i++) x[p][i] = (double)embedding[tokens[p] * WIDTH + i];
  for (int layer = 0; layer < LAYERS; layer++) {
    for (int p = 0; p < WINDOW; p++) {
      rms(graph, part("block%d.norm1", layer), x[p], out);
      multiply(graph, part("block%d.query", layer), out, WIDTH, WIDTH, query[p]);
      multiply(graph, part("block%d.key", layer), out, WIDTH, KV_WIDTH, keys[p]);
      multiply(graph, part("block%d.value", layer), out, WIDTH, KV_WIDTH, values[p]);
      turn(query[p], GROUPED, WIDTH / GROUPED, p, is_halves, 10000);
      turn(keys[p], SHARED, WIDTH / GROUPED, p, is_halves, 10000);
    }
    for (int p = 0; p < WINDOW; p++) {
      see(p, query[p], keys, values, GROUPED, SHARED, seen);
      multiply(graph, part("block%d.attention", layer), seen, WIDTH, WIDTH, out);
      for (int i = 0; i < WIDTH; i++) x[p][i] += out[i];
      rms(graph, part("block%d.norm2", layer), x[p], out);
      multiply(graph, part("block%d.gate", layer), out, WIDTH, HIDDEN, gate);
      multiply(graph, part("block%d.up", layer), out, WIDTH, HIDDEN, up);
      for (int i = 0; i < HIDDEN; i++) gate[i] *= up[i] / (1 + exp(-gate[i]));
      multiply(graph, part("block%d.down", layer), gate, HIDDEN, WIDTH, out);
      for (int i = 0; i < WIDTH; i++) x[p][i] += out[i];
    }
  }
  for (int p = 0; p < WINDOW; p++) {
    rms(graph, "norm", x[p], out);
    multiply(graph, "logits", out, WIDTH, TOKENS, logits[p]);
  }
}

static const char *const llama_settings[] = {"layers=2",   "width=12", "hidden=10",     "heads=6",
                                             "kv_heads=2", "window=5", "vocabulary=11", "halves=0"};

static void test_llama_step_by_step_with_caches_is_the_whole_sequence_at_once(void **state) {
  for (int is_halves = 0; is_halves < 2; is_halves++) {
    const char *settings[9];
    double want[WINDOW][TOKENS];
    memcpy(settings, llama_settings, sizeof llama_settings);
    settings[8] = is_halves ? "halves=1" : "halves=0";
    struct pto_graph *graph = create("llama", settings, 9, 1);
    decode_llama(graph, is_halves, want);
    assert_steps(graph, WINDOW * KV_WIDTH, want);
    pto_graph_destroy(graph);
  }
}

static void put_weights(FILE *file, const struct pto_graph *graph, const char *format, size_t count) {
  for (int layer = 0; layer < LAYERS; layer++) {
    const float *weights = constant(graph, "%s", part(format, layer));
    assert_int_equal(fwrite(weights, sizeof *weights, count, file), count);
  }
}

/* The graph's weights as a checkpoint of llama2.c: 7 int32, then float32 weights in its order; the classifier is its
 * own where vocab_size is negative. */
static void write_checkpoint(const struct pto_graph *graph, const char *path) {
  const int32_t header[] = {WIDTH, HIDDEN, LAYERS, GROUPED, SHARED, -TOKENS, WINDOW};
  const float frequencies[WINDOW * WIDTH / GROUPED] = {0};
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(header, sizeof header, 1, file), 1);
  assert_int_equal(fwrite(constant(graph, "%s.weight", "tokens"), sizeof(float), TOKENS * WIDTH, file), TOKENS * WIDTH);
  put_weights(file, graph, "block%d.norm1.weight", WIDTH);
  put_weights(file, graph, "block%d.query.weight", WIDTH * WIDTH);
  put_weights(file, graph, "block%d.key.weight", KV_WIDTH * WIDTH);
  put_weights(file, graph, "block%d.value.weight", KV_WIDTH * WIDTH);
  put_weights(file, graph, "block%d.attention.weight", WIDTH * WIDTH);
  put_weights(file, graph, "block%d.norm2.weight", WIDTH);
  put_weights(file, graph, "block%d.gate.weight", HIDDEN * WIDTH);
  put_weights(file, graph, "block%d.down.weight", HIDDEN * WIDTH);
  put_weights(file, graph, "block%d.up.weight", HIDDEN * WIDTH);
  assert_int_equal(fwrite(constant(graph, "%s.weight", "norm"), sizeof(float), WIDTH, file), WIDTH);
  assert_int_equal(fwrite(frequencies, sizeof frequencies, 1, file), 1); /* of no use any more */
  assert_int_equal(fwrite(constant(graph, "%s.weight", "logits"), sizeof(float), TOKENS * WIDTH, file), TOKENS * WIDTH);
  fclose(file);
}

static void test_llama_from_a_checkpoint_is_the_graph_with_these_weights(void **state) {
  char path[] = "/tmp/graph_model_XXXXXX", setting[64], why[256];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  struct pto_graph *seeded = create("llama", llama_settings, 8, 5);
  write_checkpoint(seeded, path);
  snprintf(setting, sizeof setting, "file=%s", path);
  const char *const settings[] = {setting};
  struct pto_graph *read = create("llama", settings, 1, 0);
  if (!pto_graph_is_same(seeded, read, why)) fail_msg("%s", why);
  pto_graph_destroy(read);
  pto_graph_destroy(seeded);
  unlink(path);
}

/* ---- a layer of Qwen3 ---- */

static void layer_of_qwen3(const struct pto_graph *graph, float hidden[][WIDTH], double results[][WIDTH]) {
  double query[WIDTH], keys[WINDOW][WIDTH], values[WINDOW][WIDTH], seen[WIDTH], out[WIDTH], x[WIDTH];
  double gate[HIDDEN], up[HIDDEN];
  const int width = WIDTH / GROUPED;
  for (int p = 0; p < WINDOW; p++) {
    for (int i = 0; i < WIDTH; i++) x[i] = (double)hidden[p][i];
    rms_of(graph, "norm1", x, WIDTH, 1e-6, out);
    multiply(graph, "query", out, WIDTH, WIDTH, query);
    multiply(graph, "key", out, WIDTH, KV_WIDTH, keys[p]);
    multiply(graph, "value", out, WIDTH, KV_WIDTH, values[p]);
    for (int h = 0; h < GROUPED; h++) rms_of(graph, "query.norm", query + h * width, width, 1e-6, query + h * width);
    for (int h = 0; h < SHARED; h++) rms_of(graph, "key.norm", keys[p] + h * width, width, 1e-6, keys[p] + h * width);
    turn(query, GROUPED, width, p, true, 1e6);
    turn(keys[p], SHARED, width, p, true, 1e6);
    see(p, query, keys, values, GROUPED, SHARED, seen);
    multiply(graph, "attention", seen, WIDTH, WIDTH, out);
    for (int i = 0; i < WIDTH; i++) x[i] += out[i];
    rms_of(graph, "norm2", x, WIDTH, 1e-6, out);
    multiply(graph, "gate", out, WIDTH, HIDDEN, gate);
    multiply(graph, "up", out, WIDTH, HIDDEN, up);
    for (int i = 0; i < HIDDEN; i++) gate[i] *= up[i] / (1 + exp(-gate[i]));
    multiply(graph, "down", gate, HIDDEN, WIDTH, out);
    for (int i = 0; i < WIDTH; i++) results[p][i] = x[i] + out[i];
  }
}

static void test_a_layer_of_qwen3_with_pages_in_any_order_is_the_whole_sequence_at_once(void **state) {
  const char *const settings[] = {"width=12",     "hidden=10", "heads=6", "kv_heads=2",
                                  "head_width=2", "page=2",    "pages=4", "table=3"};
  struct pto_graph *graph = create("qwen3_layer", settings, 8, 1);
  static float pages[2][2][4 * 2 * KV_WIDTH];
  static const int32_t table[] = {3, 0, 2};
  float hidden[WINDOW][WIDTH], got[WIDTH];
  double want[WINDOW][WIDTH];
  struct pto_rng rng = {9};
  for (int i = 0; i < WINDOW * WIDTH; i++) hidden[i / WIDTH][i % WIDTH] = (float)(2 * pto_rng_unit(&rng) - 1);
  for (int i = 0; i < 4 * 2 * KV_WIDTH; i++) pages[0][0][i] = pages[0][1][i] = 100; /* of others, or free */
  layer_of_qwen3(graph, hidden, want);
  for (int32_t p = 0; p < WINDOW; p++) {
    const void *inputs[] = {hidden[p], &p, table, pages[p % 2][0], pages[p % 2][1]};
    void *outputs[] = {pages[(p + 1) % 2][0], pages[(p + 1) % 2][1], got};
    run(graph, inputs, outputs);
    assert_close(got, want[p], WIDTH, 1e-5);
  }
  /* Page 1 is in no table. */
  for (int i = 2 * KV_WIDTH; i < 4 * KV_WIDTH; i++) assert_true(pages[WINDOW % 2][0][i] == 100);
  pto_graph_destroy(graph);
}

/* ---- all ---- */

static void test_a_seed_is_the_same_weights_and_another_seed_others(void **state) {
  const char *const settings[] = {"layers=1", "width=12", "heads=3", "window=5", "vocabulary=11"};
  struct pto_graph *graphs[3];
  const float *weights[3];
  for (int i = 0; i < 3; i++) {
    graphs[i] = create("gpt2", settings, 5, i == 2);
    weights[i] = constant(graphs[i], "%s.weight", "tokens");
  }
  assert_memory_equal(weights[0], weights[1], TOKENS * WIDTH * sizeof(float));
  assert_memory_not_equal(weights[0], weights[2], TOKENS * WIDTH * sizeof(float));
  for (int i = 0; i < 3; i++) pto_graph_destroy(graphs[i]);
}

static void test_settings_that_do_not_fit_are_refused_with_a_sentence(void **state) {
  static const struct {
    const char *model, *setting, *part;
    int status;
  } rows[] = {{"gpt2", "depth=1", "model gpt2 has no option \"depth\"; it has layers, ", PTO_EINVAL},
              {"gpt2", "layers=many", "layers is no number from 1 to 48: \"many\"", PTO_EINVAL},
              {"gpt2", "layers", "layers is no number", PTO_EINVAL},
              {"gpt2", "heads=5", "the width is no multiple of the heads", PTO_EINVAL},
              {"llama", "file=/nowhere", "/nowhere", PTO_ESYSTEM},
              {"llama", "kv_heads=3", "none of the kv_heads", PTO_EINVAL},
              {"mobilenet_v2", "size=31", "size is no number from 32", PTO_EINVAL}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    struct pto_graph *graph = NULL;
    struct pto_error error;
    assert_int_equal(
        pto_graph_model_create(pto_graph_model_find(rows[i].model), &rows[i].setting, 1, 0, &graph, &error),
        rows[i].status);
    if (!strstr(error.sentence, rows[i].part)) fail_msg("\"%s\"", error.sentence);
    assert_null(graph);
  }
}

static void test_each_allocation_of_a_model_may_fail(void **state) {
#if PTO_HAS_FAILING_MALLOC
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    struct pto_graph *graph = NULL;
    struct pto_error error = {0};
    const int64_t before = live_blocks;
    fail_countdown = failures + 1;
    const int status = pto_graph_model_create(pto_graph_model_find("llama"), llama_settings, 8, 0, &graph, &error);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    assert_true((status == PTO_OK) == (graph != NULL) && is_done == (status == PTO_OK));
    assert_true(is_done || error.sentence[0]);
    assert_int_equal(status, is_done ? PTO_OK : PTO_ENOMEM);
    pto_graph_destroy(graph);
    if (live_blocks != before) fail_msg("allocation %u: %s: blocks are left", failures, error.sentence);
  }
  assert_true(failures > 10);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mobilenet_v2_on_the_reference_is_the_papers_network),
      cmocka_unit_test(test_mobilenet_v2_has_the_papers_size),
      cmocka_unit_test(test_gpt2_step_by_step_with_caches_is_the_whole_sequence_at_once),
      cmocka_unit_test(test_llama_step_by_step_with_caches_is_the_whole_sequence_at_once),
      cmocka_unit_test(test_llama_from_a_checkpoint_is_the_graph_with_these_weights),
      cmocka_unit_test(test_a_layer_of_qwen3_with_pages_in_any_order_is_the_whole_sequence_at_once),
      cmocka_unit_test(test_a_seed_is_the_same_weights_and_another_seed_others),
      cmocka_unit_test(test_each_allocation_of_a_model_may_fail),
      cmocka_unit_test(test_settings_that_do_not_fit_are_refused_with_a_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
