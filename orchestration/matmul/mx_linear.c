/* SPDX-License-Identifier: MIT */
/*
 * mx_linear: a linear layer in microscaling formats, y = x·wᵀ.
 *
 * Tiles of rows of the activations x [tokens, inputs] and of the weights w [outputs, inputs] are quantised by AIVs,
 * each to elements of 8 or 4 bits and a power of two for every 32 of them; an AIC multiplies two such tiles into its
 * part of y.  The quantised tiles are temporaries, and each is read by a row or a column of products.
 *
 * The golden quantises by the OCP specification's rule in double and sums in double; y differs by the order and the
 * roundings of f32 sums alone, which is far less than one element that is rounded another way.
 *
 * With R = ⌈tokens / tile_rows⌉ and C = ⌈outputs / tile_cols⌉:  tasks = R + C + R·C,  edges = 2·R·C.
 */
#include <orchestration/support/program.h>

#include <math.h>

enum { BLOCK = 32, MOST_TILES = 64 };

/* Bits of the mantissa, exponents of the smallest normal and the largest number, and that number. */
struct format {
  uint32_t dtype;
  int mantissa, least, most;
  double largest;
};
static const struct format formats[] = {
    {PTO_FLOAT8_E4M3FN, 3, -6, 8, 448}, {PTO_FLOAT8_E5M2, 2, -14, 15, 57344}, {PTO_FLOAT4_E2M1FN, 1, 0, 2, 6}};

struct state {
  uint64_t tokens, inputs, outputs, tile_rows, tile_cols;
  const struct format *activations, *weights;
};

static const struct pto_option options[] = {
    {"tokens", PTO_OPTION_INT, "64", "rows of x"},
    {"inputs", PTO_OPTION_INT, "256", "columns of x and w, a multiple of 32"},
    {"outputs", PTO_OPTION_INT, "128", "rows of w"},
    {"tile_rows", PTO_OPTION_INT, "32", "tokens of a tile"},
    {"tile_cols", PTO_OPTION_INT, "64", "outputs of a tile"},
    {"activations", PTO_OPTION_TEXT, "f8e4m3fn", "elements of x: f8e4m3fn, f8e5m2 or f4e2m1fn"},
    {"weights", PTO_OPTION_TEXT, "f4e2m1fn", "elements of w: the same"},
    {0},
};

static const struct pto_case cases[] = {
    {"64x256x128", "tokens=64", "mxfp8 by mxfp4", 8, 8, false},
    {"fp8", "weights=f8e4m3fn activations=f8e5m2", "8 bits by 8, of two formats", 8, 8, false},
    {"fp4", "activations=f4e2m1fn", "4 bits by 4", 8, 8, false},
    {"uneven", "tokens=37 inputs=96 outputs=45 tile_cols=16", "the last tiles are smaller", 11, 12, false},
    {"128x1024x512", "tokens=128 inputs=1024 outputs=512 tile_rows=64 tile_cols=128", NULL, 14, 16, false},
    {0},
};

static int read_format(struct pto_program_run *run, const char *option, const struct format **format) {
  const char *name = pto_option_text(run, option);
  const int dtype = pto_dtype_from_name(name);
  for (size_t i = 0; i < LENGTH(formats); i++)
    if (dtype == (int)formats[i].dtype) {
      *format = &formats[i];
      return PTO_OK;
    }
  return pto_program_fail(run, "%s \"%s\" is not f8e4m3fn, f8e5m2 or f4e2m1fn", option, name);
}

static uint64_t tiles(uint64_t rows, uint64_t tile) { return (rows + tile - 1) / tile; }

static int prepare(struct pto_program_run *run) {
  struct state *s = pto_program_state(run, sizeof *s);
  if (s == NULL) return PTO_ENOMEM;
  int status = READ_WHOLE_OPTIONS(run, {"tokens", 1, 4096, &s->tokens}, {"inputs", BLOCK, 8192, &s->inputs},
                                  {"outputs", 1, 8192, &s->outputs}, {"tile_rows", 1, 4096, &s->tile_rows},
                                  {"tile_cols", 1, 8192, &s->tile_cols});
  if (status == PTO_OK) status = read_format(run, "activations", &s->activations);
  if (status == PTO_OK) status = read_format(run, "weights", &s->weights);
  if (status != PTO_OK) return status;
  if (s->inputs % BLOCK != 0)
    return pto_program_fail(run, "inputs %llu is no multiple of %d", (unsigned long long)s->inputs, BLOCK);
  if (tiles(s->tokens, s->tile_rows) > MOST_TILES || tiles(s->outputs, s->tile_cols) > MOST_TILES)
    return pto_program_fail(run, "more than %d tiles of tokens or of outputs", MOST_TILES);
  return DECLARE_ARRAYS(run, INPUT("x", PTO_FLOAT32, -1, 1, s->tokens, s->inputs),
                        INPUT("w", PTO_FLOAT32, -0.1, 0.1, s->outputs, s->inputs),
                        OUTPUT("y", PTO_FLOAT32, s->tokens, s->outputs));
}

/* ---- the tasks ---- */

struct tile {
  struct pto_tensor elements, scales;
};

/* Rows first … first + count − 1 of t. */
static int quantize(struct pto_runtime *rt, const struct pto_tensor *t, uint64_t first, uint64_t count,
                    const struct format *format, struct tile *tile) {
  const struct pto_tensor rows = rows_of(t, first, count);
  tile->elements = temporary_matrix(rt, format->dtype, count, t->shape[1]);
  tile->scales = temporary_matrix(rt, PTO_FLOAT8_E8M0FNU, count, t->shape[1] / BLOCK);
  return pto_submit_aiv(rt, pto_kernel_find("quantize_mx"),
                        PARAMS(pto_input(&rows), pto_output(&tile->elements), pto_output(&tile->scales)));
}

/* All rows of t, in tiles of so many. */
static int quantize_all(struct pto_runtime *rt, const struct pto_tensor *t, uint64_t rows, const struct format *format,
                        struct tile *tile) {
  int status = PTO_OK;
  for (uint64_t first = 0; status == PTO_OK && first < t->shape[0]; first += rows) {
    const uint64_t left = t->shape[0] - first;
    status = quantize(rt, t, first, left < rows ? left : rows, format, tile++);
  }
  return status;
}

static int multiply(struct pto_runtime *rt, const struct tile *a, const struct tile *b, const struct pto_tensor *c) {
  return pto_submit_aic(rt, pto_kernel_find("matmul_mx"),
                        PARAMS(pto_input(&a->elements), pto_input(&a->scales), pto_input(&b->elements),
                               pto_input(&b->scales), pto_output(c)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct state *s = pto_program_state(run, sizeof *s);
  const struct pto_tensor x = tensor_of(rt, run, "x"), w = tensor_of(rt, run, "w"), y = tensor_of(rt, run, "y");
  struct tile rows[MOST_TILES], cols[MOST_TILES];
  int status = quantize_all(rt, &w, s->tile_cols, s->weights, cols);
  if (status == PTO_OK) status = quantize_all(rt, &x, s->tile_rows, s->activations, rows);
  for (uint64_t i = 0; i < tiles(s->tokens, s->tile_rows); i++)
    for (uint64_t j = 0; status == PTO_OK && j < tiles(s->outputs, s->tile_cols); j++) {
      const uint64_t offsets[] = {i * s->tile_rows, j * s->tile_cols};
      const uint64_t extents[] = {rows[i].elements.shape[0], cols[j].elements.shape[0]};
      const struct pto_tensor part = pto_tensor_view(&y, offsets, extents);
      status = multiply(rt, &rows[i], &cols[j], &part);
    }
  return status;
}

/* ---- what y should be ---- */

/* The nearest number of the format, of two the one whose last digit is even. */
static double nearest(const struct format *f, double value) {
  const int exponent = value == 0 || ilogb(value) < f->least ? f->least : ilogb(value);
  const double digit = ldexp(1, exponent - f->mantissa), rounded = nearbyint(value / digit) * digit;
  return fmin(fmax(rounded, -f->largest), f->largest);
}

/* An array in double, as its blocks have it. */
static double *quantised(struct pto_program_run *run, const char *name, const struct format *f) {
  double *x = exact_copy(run, name);
  const uint64_t numel = pto_program_find(run, name)->numel;
  for (uint64_t first = 0; x && first < numel; first += BLOCK) {
    double largest = 0;
    for (uint64_t i = first; i < first + BLOCK; i++) largest = fmax(largest, fabs(x[i]));
    const double scale = largest == 0 ? 1 : ldexp(1, ilogb(largest) - f->most);
    for (uint64_t i = first; i < first + BLOCK; i++) x[i] = nearest(f, x[i] / scale) * scale;
  }
  return x;
}

static int expect(struct pto_program_run *run) {
  const struct state *s = pto_program_state(run, sizeof *s);
  const double *x = quantised(run, "x", s->activations), *w = quantised(run, "w", s->weights);
  double *y = golden_of(run, "y");
  if (x == NULL || w == NULL || y == NULL) return PTO_ENOMEM;
  for (uint64_t i = 0; i < s->tokens; i++)
    for (uint64_t j = 0; j < s->outputs; j++)
      for (uint64_t k = 0; k < s->inputs; k++) y[i * s->outputs + j] += x[i * s->inputs + k] * w[j * s->inputs + k];
  return PTO_OK;
}

PROGRAM("mx_linear",
        "a linear layer in microscaling formats: AIVs quantise tiles to mxfp8 and mxfp4, AICs multiply them",
        .rtol = 1e-5, .atol = 1e-5);
