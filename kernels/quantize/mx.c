/* SPDX-License-Identifier: MIT */
/*
 * quantize_mx, dequantize_mx (AIV): between floats and the blocks of the OCP microscaling specification (MX), 32
 * elements of the last dimension that share a scale, a power of two.
 *
 *     scale = 2^(⌊log2 max|x|⌋ − e)      y = x / scale, cast to y's dtype           y = x · scale
 *
 * with e the exponent of the largest number of y's dtype: 8 of f8e4m3fn, 15 of f8e5m2, 2 of f4e2m1fn.  The scale is
 * kept within 2^-127 … 2^127, which is where a block of zeros is; the cast rounds to nearest even and saturates, as
 * max|x| / scale may be up to 2^(e + 1).  A block with an ∞ has the scale of 2^128, and the ∞ saturates; a block with a
 * NaN has a scale and elements of NaN (6 in f4e2m1fn).  The product is rounded to f32 and then to y's dtype: beyond
 * f32 it is ∞.  The last extent is a multiple of 32, as in the hardware (TQUANT of pto-isa, whose rule this is).  The
 * same bits everywhere.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/api/shape.h>
#include <kernels/levels/loops.h>
#include <kernels/api/math.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <stdio.h>

#define BLOCK 32
#define PIECE_ELEMS 1024 /* of a row, in local memory at a time */

/* What a kernel's tensors are to it. */
struct roles {
  const struct pto_kernel_tensor *x, *y, *scale;
};
static struct roles roles_of(const struct pto_kernel_args *args, bool is_quantized) {
  const struct pto_kernel_tensor *t = args->tensors;
  return is_quantized ? (struct roles){&t[0], &t[1], &t[2]} : (struct roles){&t[0], &t[2], &t[1]};
}

/* ---- checks and costs ---- */

static int check(const struct pto_kernel_args *args, const char *kernel, bool is_quantized) {
  const struct roles r = roles_of(args, is_quantized);
  const uint32_t last = r.x->ndims - 1, scale = is_quantized ? 2 : 1;
  const int status = pto_check_same_shape(args, kernel, 0, is_quantized ? 1 : 2);
  if (status != 0) return status;
  bool is_blocks = r.scale->ndims == r.x->ndims && r.x->shape[last] % BLOCK == 0;
  for (uint32_t d = 0; is_blocks && d <= last; d++)
    is_blocks = r.scale->shape[d] == (d == last ? r.x->shape[d] / BLOCK : r.x->shape[d]);
  if (is_blocks) return 0;
  char x_text[192], scale_text[192];
  pto_format_shape(r.x, x_text, sizeof x_text);
  pto_format_shape(r.scale, scale_text, sizeof scale_text);
  return pto_kernel_error(args, "%s: scale %s is none of blocks of %d of %s (params %" PRIu32 " and 0)", kernel,
                          scale_text, BLOCK, x_text, scale);
}
static int quantize_mx_check(const struct pto_kernel_args *args) { return check(args, "quantize_mx", true); }
static int dequantize_mx_check(const struct pto_kernel_args *args) { return check(args, "dequantize_mx", false); }

static uint64_t piece_elems(const struct pto_kernel_tensor *x) {
  return pto_kernel_numel(x) == 0 ? 0 : pto_min_u64(x->shape[x->ndims - 1], PIECE_ELEMS);
}

/* Elements and scales of a piece of a row. */
static uint64_t local_bytes(uint64_t elems) {
  return pto_local_bytes(elems * sizeof(float)) + pto_local_bytes(elems / BLOCK * sizeof(float));
}

/* A maximum, a multiplication and a cast; a cast and a multiplication. */
static struct pto_cost cost_of(const struct pto_kernel_args *args, bool is_quantized) {
  const struct roles r = roles_of(args, is_quantized);
  const uint64_t scale_bytes = pto_kernel_bytes(r.scale);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(r.x) + (is_quantized ? 0 : scale_bytes),
                           .bytes_out = pto_kernel_bytes(r.y) + (is_quantized ? scale_bytes : 0),
                           .vector_elems = pto_kernel_numel(r.x) * (is_quantized ? 3 : 2),
                           .local_bytes = local_bytes(piece_elems(r.x))};
}
static struct pto_cost quantize_mx_cost(const struct pto_kernel_args *args) { return cost_of(args, true); }
static struct pto_cost dequantize_mx_cost(const struct pto_kernel_args *args) { return cost_of(args, false); }

/* ---- pieces of a row ---- */

/* A row of a tensor, as bytes; tensors of 4 bits are dense, and their rows whole bytes. */
struct line {
  char *at;
  uint64_t step; /* elements */
  uint32_t dtype;
};
static struct line line_of(const struct pto_kernel_tensor *t, uint64_t row) {
  uint64_t at = 0;
  for (uint32_t d = t->ndims - 1; d-- > 0; row /= t->shape[d]) at += row % t->shape[d] * t->strides[d];
  return (struct line){(char *)t->addr + at * pto_dtype_bits(t->dtype) / 8, t->strides[t->ndims - 1], t->dtype};
}
static char *line_at(const struct line *line, uint64_t elem) {
  return line->at + elem * line->step * pto_dtype_bits(line->dtype) / 8;
}
static void load(const struct line *line, uint64_t first, uint64_t count, float *to) {
  pto_loops_best()->load[PTO_CLASS_F32][line->dtype](to, line_at(line, first), line->step * pto_dtype_size(line->dtype),
                                                     count);
}
static void store(const struct line *line, uint64_t first, uint64_t count, const float *from) {
  pto_loops_best()->store[PTO_CLASS_F32][line->dtype](from, line_at(line, first),
                                                      line->step * pto_dtype_size(line->dtype), count);
}

/* What a run works with: a piece of a row, and its scales. */
struct work {
  struct line x, y, scale;
  uint32_t largest_exponent; /* of y's dtype, where x is quantized */
  float *elems, *scales;
};

/* Bits of the largest magnitude; of them NaN's are the largest. */
static uint32_t largest_bits(const float block[BLOCK]) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < BLOCK; i++) {
    const uint32_t magnitude = bits_of_f32(block[i]) & 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

/* The exponent of f32, the scale's code plus that of y's largest number, is moved in place. */
static void quantize_block(const struct work *w, float block[BLOCK], float *scale) {
  const uint32_t largest = largest_bits(block), exponent = largest >> 23;
  const uint32_t code = exponent > w->largest_exponent ? exponent - w->largest_exponent : 0;
  const float factor = largest > 0x7f800000 ? __builtin_nanf("") : f32_of_bits((254 - code) << 23);
  *scale = largest > 0x7f800000 ? factor : f32_from_e8m0((uint8_t)code);
  for (uint32_t i = 0; i < BLOCK; i++) block[i] *= factor;
}

static void quantize_piece(const struct work *w, uint64_t first, uint64_t count) {
  load(&w->x, first, count, w->elems);
  for (uint64_t b = 0; b < count / BLOCK; b++) quantize_block(w, w->elems + b * BLOCK, &w->scales[b]);
  store(&w->y, first, count, w->elems);
  store(&w->scale, first / BLOCK, count / BLOCK, w->scales);
}

static void dequantize_piece(const struct work *w, uint64_t first, uint64_t count) {
  load(&w->x, first, count, w->elems);
  load(&w->scale, first / BLOCK, count / BLOCK, w->scales);
  for (uint64_t i = 0; i < count; i++) w->elems[i] *= w->scales[i / BLOCK];
  store(&w->y, first, count, w->elems);
}

/* ---- runs ---- */

static int run(const struct pto_kernel_args *args, bool is_quantized) {
  const struct roles r = roles_of(args, is_quantized);
  const uint64_t cols = r.x->shape[r.x->ndims - 1], elems = piece_elems(r.x);
  if (elems == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct work w = {.largest_exponent = r.y->dtype == PTO_FLOAT8_E4M3FN ? 8
                                       : r.y->dtype == PTO_FLOAT8_E5M2 ? 15
                                                                       : 2,
                   .elems = pto_local_take(&local, elems * sizeof(float)),
                   .scales = pto_local_take(&local, elems / BLOCK * sizeof(float))};
  for (uint64_t row = 0; row < pto_kernel_numel(r.x) / cols; row++) {
    w.x = line_of(r.x, row);
    w.y = line_of(r.y, row);
    w.scale = line_of(r.scale, row);
    for (uint64_t first = 0; first < cols; first += elems) {
      const uint64_t count = pto_min_u64(elems, cols - first);
      if (is_quantized)
        quantize_piece(&w, first, count);
      else
        dequantize_piece(&w, first, count);
    }
  }
  return 0;
}
static int quantize_mx_run(const struct pto_kernel_args *args) { return run(args, true); }
static int dequantize_mx_run(const struct pto_kernel_args *args) { return run(args, false); }

/* ---- the kernels ---- */

#define ELEMENTS (PTO_DTYPE_BIT(PTO_FLOAT8_E4M3FN) | PTO_DTYPE_BIT(PTO_FLOAT8_E5M2) | PTO_DTYPE_BIT(PTO_FLOAT4_E2M1FN))
#define TENSOR(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = 1 }
static const struct pto_kernel_param quantize_mx_params[] = {
    TENSOR("x", PTO_INPUT, PTO_DTYPES_FLOAT), TENSOR("y", PTO_OUTPUT, ELEMENTS),
    TENSOR("scale", PTO_OUTPUT, PTO_DTYPE_BIT(PTO_FLOAT8_E8M0FNU))};
static const struct pto_kernel_param dequantize_mx_params[] = {
    TENSOR("x", PTO_INPUT, ELEMENTS), TENSOR("scale", PTO_INPUT, PTO_DTYPE_BIT(PTO_FLOAT8_E8M0FNU)),
    TENSOR("y", PTO_OUTPUT, PTO_DTYPES_FLOAT)};

PTO_GENERAL_KERNEL(quantize_mx, quantize_mx_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = quantize_mx_run, .cost = quantize_mx_cost, .check = quantize_mx_check);
PTO_GENERAL_KERNEL(dequantize_mx, dequantize_mx_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = dequantize_mx_run, .cost = dequantize_mx_cost, .check = dequantize_mx_check);
