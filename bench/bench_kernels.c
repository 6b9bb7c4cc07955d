/* SPDX-License-Identifier: MIT */
/*
 * One question: how close do the kernels come to what this machine can do, each beside its peer in the same run?
 *
 * One JSON line a result, in four groups; `bench` names the group.
 *   kernels_stream    elementwise kernels out of cache beside STREAM loops on as many arrays of as many bytes
 *                     (McCalpin's copy, scale, add and triad in double), or, where reads and writes are no such arrays,
 *                     beside loops of as many bytes (bench/support/stream_ratio.h); with ordinary and with non-temporal
 *                     stores; and these loops
 *   kernels_rows      softmax, layernorm and rmsnorm beside plain C loops (bench/support/plain_rows.h)
 *   kernels_strided   the same kernel on the same bytes in other layouts beside contiguous tensors, in cache; and
 * beside contiguous tensors of as many cache lines as the layout has elements in kernels_roofline  every kernel on a
 * tile: this machine's time, and the bound of one core of a2a3 from the same cost
 *
 * Peers are measured in turns with the kernel, RUNS times; figures are of medians, with the minimum beside.  A kernel
 * that the list has not is left out with a line on standard error.  An argument runs one group: `bench_kernels rows`.
 */
#include <bench/support/bench_line.h>
#include <bench/support/plain_rows.h>
#include <bench/support/stream_ratio.h>
#include <kernels/levels/level.h>
#include <check/trial/trial.h>
#include <tests/support/trial_help.h>
#include <runtime/base/clock.h>
#include <sim/chips/timing.h>

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define MOST_RUNS 9
#define RUNS ((int)pto_bench_repeats(MOST_RUNS))
#define ROOFLINE_BATCH_NS 1e6
#define IN_CACHE_BATCH_NS 1e6

/* Measurements of one thing. */
struct times {
  double ns[MOST_RUNS];
};
static double median(const struct times *times) {
  struct times sorted = *times;
  return pto_trial_median(sorted.ns, RUNS);
}
static double minimum(const struct times *times) {
  double least = times->ns[0];
  for (int i = 1; i < RUNS; i++) least = times->ns[i] < least ? times->ns[i] : least;
  return least;
}

/* ---- kernels by name ---- */

static struct pto_trial trial, other, same_lines;

/* False, with a line, where the list has no such kernel. */
static bool find(struct pto_trial *found, const char *name) {
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    if (strcmp(pto_kernel_at(k)->name, name) != 0) continue;
    pto_trial_init(found, k);
    return true;
  }
  fprintf(stderr, "bench_kernels: there is no kernel %s; it is left out\n", name);
  return false;
}

/* Tensors as the case says; false, with a line, where the kernel does not take it. */
static bool make(struct pto_trial *made, const struct pto_trial_case *c) {
  char text[256];
  if (pto_trial_check(made, c) == PTO_OK && pto_trial_make(made, c) == PTO_OK) return true;
  pto_trial_describe(made, c, text, sizeof text);
  fprintf(stderr, "bench_kernels: %s is left out: %s\n", text, made->message);
  return false;
}

/* All tensors of one shape and dtype. */
static struct pto_trial_case same_case(const struct pto_trial *t, uint32_t dtype,
                                       const struct pto_reference_shape *shape) {
  struct pto_trial_case c = {.seed = 1, .is_plain = true};
  for (uint32_t i = 0; i < t->args.tensor_count; i++) {
    c.shapes[i] = *shape;
    c.dtypes[i] = dtype;
  }
  uint32_t scalar = 0;
  for (uint32_t i = 0; i < t->kernel->param_count; i++) {
    if (t->kernel->params[i].mode != PTO_SCALAR) continue;
    if (t->kernel->params[i].scalar == PTO_SCALAR_F32)
      c.scalars[scalar++].f32 = 1.5f;
    else
      c.scalars[scalar++].i64 = 3;
  }
  return c;
}

/* ---- STREAM ---- */

/* Bytes of an array: four times the last-level cache, within bounds. */
static uint64_t array_bytes(void) {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const uint64_t wanted = cache > 0 ? 4 * (uint64_t)cache : UINT64_C(128) << 20;
  return pto_min_u64(pto_max_u64(wanted, UINT64_C(64) << 20), UINT64_C(256) << 20);
}

static double *arrays[3];
static uint64_t array_count;

enum stream { COPY, SCALE, ADD, TRIAD, STREAM_COUNT };
static const char *const stream_names[STREAM_COUNT] = {"copy", "scale", "add", "triad"};
static uint32_t stream_arrays(enum stream stream) { return stream == COPY || stream == SCALE ? 2 : 3; }

/* c[i] = f(a[i], b[i]) for i < count, in the four forms. */
static void stream_plain(enum stream stream, uint64_t count) {
  const double *restrict a = arrays[0], *restrict b = arrays[1];
  double *restrict c = arrays[2];
  if (stream == COPY)
    for (uint64_t i = 0; i < count; i++) c[i] = a[i];
  else if (stream == SCALE)
    for (uint64_t i = 0; i < count; i++) c[i] = 3.0 * a[i];
  else if (stream == ADD)
    for (uint64_t i = 0; i < count; i++) c[i] = a[i] + b[i];
  else
    for (uint64_t i = 0; i < count; i++) c[i] = a[i] + 3.0 * b[i];
  __asm__ volatile("" : : "r"(c) : "memory");
}

/* The same past the caches; false where there is no such store. */
static bool stream_past_caches(enum stream stream, uint64_t count) {
#if defined(__SSE2__)
  const double *a = arrays[0], *b = arrays[1];
  double *c = arrays[2];
  const __m128d three = _mm_set1_pd(3.0);
  for (uint64_t i = 0; i + 2 <= count; i += 2) {
    const __m128d x = _mm_load_pd(a + i);
    __m128d y = x;
    if (stream == SCALE) y = _mm_mul_pd(three, x);
    if (stream == ADD) y = _mm_add_pd(x, _mm_load_pd(b + i));
    if (stream == TRIAD) y = _mm_add_pd(x, _mm_mul_pd(three, _mm_load_pd(b + i)));
    _mm_stream_pd(c + i, y);
  }
  _mm_sfence();
  return true;
#else
  return false;
#endif
}

/* Nanoseconds of a stream over `bytes` an array; 0 where there is no such stream. */
static double time_stream(enum stream stream, uint64_t bytes, bool is_past_caches) {
  const uint64_t count = bytes / sizeof(double);
  const double begin = (double)pto_clock_ns();
  if (is_past_caches && !stream_past_caches(stream, count)) return 0;
  if (!is_past_caches) stream_plain(stream, count);
  return (double)pto_clock_ns() - begin;
}

static bool make_arrays(void) {
  array_count = array_bytes() / sizeof(double);
  for (int i = 0; i < 3; i++) {
    if (posix_memalign((void **)&arrays[i], 4096, array_count * sizeof(double)) != 0) return false;
    for (uint64_t j = 0; j < array_count; j++) arrays[i][j] = (double)(j % 1000);
  }
  return true;
}

static void bench_streams(void) {
  const uint64_t bytes = array_count * sizeof(double);
  for (enum stream stream = 0; stream < STREAM_COUNT; stream++) {
    struct times plain, past;
    const double moved = (double)(bytes * stream_arrays(stream));
    for (int i = 0; i < RUNS; i++) {
      plain.ns[i] = time_stream(stream, bytes, false);
      past.ns[i] = time_stream(stream, bytes, true);
    }
    printf("{\"bench\": \"kernels_stream\", \"system\": \"stream\", \"name\": \"STREAM %s\", \"dtype\": \"f64\", "
           "\"array_mib\": %" PRIu64 ", \"gb_per_s\": %.2f, \"max_gb_per_s\": %.2f, \"nontemporal_gb_per_s\": %.2f, "
           "\"runs\": %d, \"median\": %.0f, \"min\": %.0f}\n",
           stream_names[stream], bytes >> 20, moved / median(&plain), moved / minimum(&plain),
           median(&past) > 0 ? moved / median(&past) : 0, RUNS, median(&plain), minimum(&plain));
    fflush(stdout);
  }
}

/* One kernel over arrays of that many bytes, beside the stream of as many arrays. */
static void bench_beside_stream(const char *name, uint32_t dtype) {
  if (!find(&trial, name)) return;
  const uint64_t bytes = array_count * sizeof(double);
  const struct pto_reference_shape shape = {1, {bytes * 8 / pto_dtype_bits(dtype)}};
  struct pto_trial_case c = same_case(&trial, dtype, &shape);
  struct times ours, plain, past;
  if (pto_trial_check(&trial, &c) != PTO_OK || pto_trial_alloc(&trial, &c) != PTO_OK) return;
  /* Values of either sign below 2, quickly, in any dtype: 8192 different ones of 16 bits. */
  for (uint32_t i = 0; i < trial.args.tensor_count; i++)
    for (uint64_t j = 0; j < bytes; j += 8)
      *(uint64_t *)(void *)(trial.tensors[i].memory + j) =
          UINT64_C(0x3000300030003000) | (pto_mix64(j) & UINT64_C(0x8fff8fff8fff8fff));
  const struct pto_cost cost = pto_timing_cost(trial.kernel, &trial.args);
  const uint64_t moved = cost.bytes_in + cost.bytes_out;
  const enum stream stream = moved / bytes <= 2 ? COPY : ADD;
  (void)pto_trial_batch_ns(&trial, 1);
  for (int i = 0; i < RUNS; i++) {
    ours.ns[i] = pto_trial_batch_ns(&trial, 1);
    plain.ns[i] = time_stream(stream, bytes, false);
    past.ns[i] = time_stream(stream, bytes, true);
  }
  const double gb = (double)moved / median(&ours);
  const double peer = (double)(bytes * stream_arrays(stream)) / median(&plain);
  const double best = (double)(bytes * stream_arrays(stream)) / median(&past);
  printf("{\"bench\": \"kernels_stream\", \"system\": \"pto\", \"name\": \"%s\", \"dtype\": \"%s\", \"gb_per_s\": "
         "%.2f, \"max_gb_per_s\": "
         "%.2f, "
         "\"peer\": \"STREAM %s\", \"peer_gb_per_s\": %.2f, \"nontemporal_gb_per_s\": %.2f, \"of_peer\": %.2f, "
         "\"of_nontemporal\": %.2f, \"runs\": %d, \"median\": %.0f, \"min\": %.0f}\n",
         name, pto_dtype_name(dtype), gb, (double)moved / minimum(&ours), stream_names[stream], peer,
         isfinite(best) ? best : 0, gb / peer, isfinite(best) ? gb / best : 0, RUNS, median(&ours), minimum(&ours));
  fflush(stdout);
  pto_trial_fini(&trial);
}

/* A kernel of tensors of several dtypes, the last of which is written. */
struct mixed_case {
  const char *name;
  uint32_t dtypes[4];
};

static double time_ratio(struct stream_ratio ratio, uint64_t turns, bool is_past_caches) {
  const double begin = (double)pto_clock_ns();
  if (!stream_ratio_run(ratio, arrays[1], arrays[0], turns, is_past_caches)) return INFINITY;
  return (double)pto_clock_ns() - begin;
}

/* One kernel beside a loop that reads as many bytes and writes as many, of which the more are an array of STREAM. */
static void bench_beside_ratio(const struct mixed_case *mixed) {
  if (!find(&trial, mixed->name)) return;
  const uint32_t last = trial.args.tensor_count - 1;
  uint32_t in_bytes = 0, out_bytes = (uint32_t)pto_dtype_size(mixed->dtypes[last]); /* an element */
  for (uint32_t i = 0; i < last; i++) in_bytes += (uint32_t)pto_dtype_size(mixed->dtypes[i]);
  uint32_t unit = out_bytes; /* what divides both */
  while (in_bytes % unit != 0 || out_bytes % unit != 0) unit--;
  const struct stream_ratio ratio = {in_bytes / unit, out_bytes / unit};
  const uint64_t elems = array_count * sizeof(double) / pto_max_u64(in_bytes, out_bytes) / 64 * 64;
  const struct pto_reference_shape shape = {1, {elems}};
  struct pto_trial_case c = same_case(&trial, PTO_FLOAT32, &shape);
  struct times ours, plain, past;
  memcpy(c.dtypes, mixed->dtypes, sizeof mixed->dtypes);
  if (pto_trial_check(&trial, &c) != PTO_OK || pto_trial_alloc(&trial, &c) != PTO_OK) return;
  for (uint32_t i = 0; i <= last; i++)
    memset(trial.tensors[i].memory, mixed->dtypes[i] == PTO_BOOL ? 1 : 0x3f, trial.tensors[i].memory_bytes);
  const uint64_t turns = elems * out_bytes / (ratio.writes * sizeof(double));
  (void)pto_trial_batch_ns(&trial, 1);
  for (int i = 0; i < RUNS; i++) {
    ours.ns[i] = pto_trial_batch_ns(&trial, 1);
    plain.ns[i] = time_ratio(ratio, turns, false);
    past.ns[i] = time_ratio(ratio, turns, true);
  }
  const double moved = (double)(elems * (in_bytes + out_bytes));
  printf("{\"bench\": \"kernels_stream\", \"system\": \"pto\", \"name\": \"%s\", \"dtype\": \"%s to %s\", "
         "\"gb_per_s\": %.2f, "
         "\"max_gb_per_s\": %.2f, \"peer\": \"STREAM %" PRIu32 ":%" PRIu32
         "\", \"peer_gb_per_s\": %.2f, \"nontemporal_gb_per_s\": %.2f, \"of_peer\": %.2f, \"of_nontemporal\": %.2f, "
         "\"runs\": %d, \"median\": %.0f, \"min\": %.0f}\n",
         mixed->name, pto_dtype_name(mixed->dtypes[last > 1 ? 1 : 0]), pto_dtype_name(mixed->dtypes[last]),
         moved / median(&ours), moved / minimum(&ours), ratio.reads, ratio.writes, moved / median(&plain),
         moved / median(&past), median(&plain) / median(&ours), median(&past) / median(&ours), RUNS, median(&ours),
         minimum(&ours));
  fflush(stdout);
  pto_trial_fini(&trial);
}

static void bench_mixed_streams(void) {
  static const struct mixed_case cases[] = {{"fill", {PTO_FLOAT32}},
                                            {"fill", {PTO_BFLOAT16}},
                                            {"select", {PTO_BOOL, PTO_FLOAT32, PTO_FLOAT32, PTO_FLOAT32}},
                                            {"select", {PTO_BOOL, PTO_BFLOAT16, PTO_BFLOAT16, PTO_BFLOAT16}},
                                            {"cast", {PTO_FLOAT32, PTO_BFLOAT16}},
                                            {"cast", {PTO_FLOAT32, PTO_FLOAT16}},
                                            {"cast", {PTO_BFLOAT16, PTO_FLOAT32}},
                                            {"cast", {PTO_FLOAT16, PTO_FLOAT32}},
                                            {"cast", {PTO_FLOAT32, PTO_INT8}},
                                            {"cast", {PTO_INT8, PTO_FLOAT32}},
                                            {"cast", {PTO_FLOAT32, PTO_INT32}},
                                            {"cast", {PTO_INT32, PTO_FLOAT32}},
                                            {"cast", {PTO_INT32, PTO_INT8}},
                                            {"cast", {PTO_BFLOAT16, PTO_INT8}},
                                            {"cast", {PTO_INT8, PTO_BFLOAT16}},
                                            {"lesser", {PTO_FLOAT32, PTO_FLOAT32, PTO_BOOL}},
                                            {"lesser", {PTO_BFLOAT16, PTO_BFLOAT16, PTO_BOOL}},
                                            {"equal", {PTO_INT8, PTO_INT8, PTO_BOOL}}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) bench_beside_ratio(&cases[i]);
}

static void bench_stream_group(void) {
  static const char *const names[] = {"copy", "neg", "relu", "add", "mul", "maximum"};
  static const char *const float_names[] = {"mul_scalar", "add_scalar", "sqrt", "exp",   "gelu",      "tanh", "erf",
                                            "sigmoid",    "silu",       "log",  "mish",  "gelu_tanh", "tan",  "pow",
                                            "asin",       "atan",       "sinh", "asinh", "acosh",     "atanh"};
  static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_BFLOAT16, PTO_INT8};
  if (!make_arrays()) {
    fprintf(stderr, "bench_kernels: there is no memory for arrays out of cache\n");
    return;
  }
  bench_streams();
  for (size_t d = 0; d < PTO_ARRAY_LENGTH(dtypes); d++) {
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) bench_beside_stream(names[i], dtypes[d]);
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(float_names) && pto_trial_is_float(dtypes[d]); i++)
      bench_beside_stream(float_names[i], dtypes[d]);
  }
  bench_mixed_streams();
  for (int i = 0; i < 3; i++) free(arrays[i]);
}

/* ---- rows beside a plain loop ---- */

/* Rows of `dtype` [rows, columns] along `axis`.  x, for layernorm and rmsnorm scale and bias of a row's length, y. */
struct rows_case {
  uint64_t rows, columns;
  uint32_t axis, dtype;
};

/* The tensors are [how many rows, their length] with strides as the axis says. */
static bool make_rows(struct pto_trial *made, const struct rows_case *rows) {
  const uint64_t count = rows->axis == 1 ? rows->rows : rows->columns;
  const uint64_t length = rows->axis == 1 ? rows->columns : rows->rows;
  struct pto_trial_case c = {.seed = 1, .is_plain = true};
  const uint32_t y = made->args.tensor_count - 1;
  c.shapes[0] = c.shapes[y] = (struct pto_reference_shape){2, {count, length}};
  for (uint32_t i = 1; i < y; i++) c.shapes[i] = (struct pto_reference_shape){1, {length}};
  for (uint32_t i = 0; i <= y; i++) c.dtypes[i] = rows->dtype;
  if (y > 1)
    c.scalars[0].f32 = 1e-5f;
  else
    c.scalars[0].i64 = 1; /* the axis */
  if (!make(made, &c)) return false;
  for (uint32_t i = 0; i <= y && rows->axis == 0; i += y) {
    made->tensors[i].strides[0] = 1;
    made->tensors[i].strides[1] = count;
  }
  return true;
}

static void bench_rows(const char *name, plain_rows_loop *plain, const struct rows_case *rows) {
  if (!find(&trial, name) || !make_rows(&trial, rows)) return;
  const uint32_t y = trial.args.tensor_count - 1;
  const struct pto_kernel_tensor *x = &trial.views[0];
  struct plain_rows peer = {x->shape[0], x->shape[1], x->strides[0], x->strides[1], rows->dtype, .x = x->addr};
  if (y > 1) peer.scale = trial.views[1].addr;
  if (y > 2) peer.bias = trial.views[2].addr;
  peer.y = malloc(rows->rows * rows->columns * sizeof(float));
  if (peer.y == NULL) return;
  struct pto_trial_time warm;
  struct times ours, loop;
  if (pto_trial_time(&trial, 1, IN_CACHE_BATCH_NS, &warm) != PTO_OK) exit(1);
  double furthest = 0;
  for (int i = 0; i < RUNS; i++) {
    const uint64_t calls = 1 + warm.calls / 4;
    ours.ns[i] = pto_trial_batch_ns(&trial, warm.calls);
    const double begin = (double)pto_clock_ns();
    for (uint64_t k = 0; k < calls; k++) plain(&peer);
    loop.ns[i] = ((double)pto_clock_ns() - begin) / (double)calls;
  }
  struct pto_kernel_tensor plain_y = trial.views[y];
  plain_y.addr = peer.y;
  for (uint64_t i = 0; i < rows->rows * rows->columns; i++)
    furthest = fmax(furthest, fabs(pto_reference_element(&plain_y, i) - pto_reference_element(&trial.views[y], i)));
  printf("{\"bench\": \"kernels_rows\", \"system\": \"pto\", \"name\": \"%s\", \"dtype\": \"%s\", \"rows\": %" PRIu64
         ", \"columns\": %" PRIu64 ", \"axis\": %" PRIu32
         ", \"median\": %.0f, \"min\": %.0f, \"peer\": \"plain C loop\", \"peer_ns\": %.0f, "
         "\"times_faster\": %.2f, \"largest_difference\": %.1e, \"runs\": %d}\n",
         name, pto_dtype_name(rows->dtype), rows->rows, rows->columns, rows->axis, median(&ours), minimum(&ours),
         median(&loop), median(&loop) / median(&ours), furthest, RUNS);
  fflush(stdout);
  free(peer.y);
  pto_trial_fini(&trial);
}

static void bench_rows_group(void) {
  static const struct rows_case cases[] = {
      {128, 128, 1, PTO_FLOAT32}, {64, 512, 1, PTO_FLOAT32},  {32, 1024, 1, PTO_FLOAT32}, {8, 4096, 1, PTO_FLOAT32},
      {512, 64, 1, PTO_FLOAT32},  {100, 129, 1, PTO_FLOAT32}, {64, 1000, 1, PTO_FLOAT32}, {33, 17, 1, PTO_FLOAT32},
      {8, 8, 1, PTO_FLOAT32},     {1, 7, 1, PTO_FLOAT32},     {16, 128, 0, PTO_FLOAT32},  {33, 17, 0, PTO_FLOAT32},
      {8, 8, 0, PTO_FLOAT32},     {100, 129, 1, PTO_FLOAT16}, {16, 128, 0, PTO_FLOAT16},  {100, 129, 1, PTO_BFLOAT16},
      {16, 128, 0, PTO_BFLOAT16}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    bench_rows("softmax", plain_softmax, &cases[i]);
    bench_rows("layernorm", plain_layernorm, &cases[i]);
    bench_rows("rmsnorm", plain_rmsnorm, &cases[i]);
  }
}

/* ---- layouts ---- */

/* What the tensors of the other trial look like. */
struct arrangement {
  const char *name;
  struct pto_reference_shape shape;
  uint32_t layout; /* of all tensors */
  bool is_turned;  /* the first two dimensions of inputs lie in memory the other way round; outputs are contiguous */
};

static void turn_inputs(struct pto_trial *turned) {
  for (uint32_t i = 0; i < turned->args.tensor_count; i++) {
    struct pto_trial_tensor *tensor = &turned->tensors[i];
    if (pto_trial_is_written(turned->params[i])) continue;
    const uint64_t inner = tensor->t.ndims == 2 ? 1 : tensor->shape[2];
    tensor->strides[0] = inner;
    tensor->strides[1] = tensor->shape[0] * inner;
  }
}

/* Cache lines that elements of a tensor are in. */
static uint64_t count_lines(const struct pto_trial_tensor *tensor) {
  const uintptr_t first = (uintptr_t)tensor->memory / PTO_CACHE_LINE;
  const uint64_t numel = pto_trial_numel(tensor), size = pto_dtype_size(tensor->t.dtype);
  bool *is_touched = calloc(tensor->memory_bytes / PTO_CACHE_LINE + 2, sizeof *is_touched);
  uint64_t count = 0;
  if (is_touched == NULL) exit(1);
  for (uint64_t i = 0; i < numel; i++) {
    const uintptr_t at = (uintptr_t)pto_trial_addr(tensor, i);
    for (uintptr_t line = at / PTO_CACHE_LINE; line <= (at + size - 1) / PTO_CACHE_LINE; line++) {
      count += is_touched[line - first] ? 0 : 1;
      is_touched[line - first] = true;
    }
  }
  free(is_touched);
  return count;
}
static uint64_t all_lines(const struct pto_trial *counted) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < counted->args.tensor_count; i++) count += count_lines(&counted->tensors[i]);
  return count;
}

/* Contiguous tensors of about as many cache lines as `other` has, of more rows than the case `c` of `trial`. */
static bool make_same_lines(const struct pto_trial_case *c) {
  struct pto_trial_case longer = *c;
  const uint64_t lines = all_lines(&other), contiguous_lines = all_lines(&trial);
  for (uint32_t i = 0; i < other.args.tensor_count; i++)
    longer.shapes[i].shape[0] = c->shapes[i].shape[0] * lines / contiguous_lines;
  return find(&same_lines, trial.kernel->name) && make(&same_lines, &longer);
}

/* What is in `other` beside what is in `trial`, contiguous tensors of the same elements that the case `c` made; both
 * end here. */
static void bench_beside_contiguous(const struct pto_trial_case *c, const char *layout, uint64_t row_bytes) {
  const uint32_t dtype = c->dtypes[0];
  struct pto_trial_time warm;
  struct times contiguous, laid_out, of_lines;
  if (!make_same_lines(c) || pto_trial_time(&other, 1, IN_CACHE_BATCH_NS, &warm) != PTO_OK) exit(1);
  for (int i = 0; i < RUNS; i++) {
    contiguous.ns[i] = pto_trial_batch_ns(&trial, warm.calls);
    laid_out.ns[i] = pto_trial_batch_ns(&other, warm.calls);
    of_lines.ns[i] = pto_trial_batch_ns(&same_lines, warm.calls);
  }
  bool is_inner_dense = true;
  for (uint32_t i = 0; i < other.args.tensor_count; i++)
    is_inner_dense = is_inner_dense && other.tensors[i].strides[other.tensors[i].t.ndims - 1] == 1;
  printf(
      "{\"bench\": \"kernels_strided\", \"system\": \"pto\", \"name\": \"%s\", \"dtype\": \"%s\", \"layout\": \"%s\", "
      "\"row_bytes\": %" PRIu64
      ", \"innermost_stride_1\": %s, \"median\": %.0f, \"min\": %.0f, \"contiguous_ns\": %.0f, "
      "\"times_slower\": %.2f, \"same_lines_ns\": %.0f, \"times_slower_than_same_lines\": %.2f, \"runs\": %d}\n",
      other.kernel->name, pto_dtype_name(dtype), layout, row_bytes, is_inner_dense ? "true" : "false",
      median(&laid_out), minimum(&laid_out), median(&contiguous), median(&laid_out) / median(&contiguous),
      median(&of_lines), median(&laid_out) / median(&of_lines), RUNS);
  fflush(stdout);
  pto_trial_fini(&trial);
  pto_trial_fini(&other);
  pto_trial_fini(&same_lines);
}

static void bench_layout(const char *name, uint32_t dtype, const struct arrangement *a) {
  if (!find(&trial, name) || !find(&other, name)) return;
  struct pto_trial_case c = same_case(&trial, dtype, &a->shape);
  c.scalars[0].i64 = trial.args.scalar_count > 0 ? (int64_t)a->shape.ndims - 1 : 0; /* the axis */
  const struct pto_trial_case contiguous = c;
  if (!make(&trial, &c)) return;
  c.layout = a->layout;
  if (!make(&other, &c)) return;
  if (a->is_turned) turn_inputs(&other);
  bench_beside_contiguous(&contiguous, a->name, a->shape.shape[a->shape.ndims - 1] * pto_dtype_size(dtype));
}

/* All tensors of ROWS_BYTES in rows of row_bytes, step_bytes from one to the next. */
#define ROWS_BYTES (UINT64_C(16) << 10)
static void bench_short_rows(const char *name, uint32_t dtype, uint64_t row_bytes, uint64_t step_bytes,
                             const char *layout) {
  if (!find(&trial, name) || !find(&other, name)) return;
  const uint64_t size = pto_dtype_size(dtype), rows = ROWS_BYTES / row_bytes;
  struct pto_reference_shape shape = {2, {rows, row_bytes / size}};
  struct pto_trial_case c = same_case(&trial, dtype, &shape);
  const struct pto_trial_case contiguous = c;
  if (!make(&trial, &c)) return;
  shape.shape[1] = step_bytes / size;
  c = same_case(&other, dtype, &shape);
  if (!make(&other, &c)) return;
  for (uint32_t i = 0; i < other.args.tensor_count; i++) other.tensors[i].shape[1] = row_bytes / size;
  bench_beside_contiguous(&contiguous, layout, row_bytes);
}

static void bench_short_rows_of(const char *name, uint32_t dtype) {
  static const uint64_t row_bytes[] = {2, 3, 5, 8, 16, 33, 64};
  const uint64_t size = pto_dtype_size(dtype);
  uint64_t last = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(row_bytes); i++) {
    const uint64_t bytes = pto_align_up(row_bytes[i], size); /* whole elements */
    if (bytes != last) {
      bench_short_rows(name, dtype, bytes, bytes + size, "rows with an element between them");
      bench_short_rows(name, dtype, bytes, 128, "rows of 128 bytes in part");
    }
    last = bytes;
  }
}

static void bench_strided_group(void) {
  static const char *const names[] = {"copy", "add", "exp", "cast", "softmax"};
  static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_INT8};
  static const struct arrangement arrangements[] = {
      {"sub-box", {2, {128, 128}}, PTO_LAYOUT_SUB_BOX, false},
      {"outer dimensions of inputs swapped", {3, {16, 8, 128}}, PTO_LAYOUT_CONTIGUOUS, true},
      {"inputs transposed", {2, {128, 128}}, PTO_LAYOUT_CONTIGUOUS, true},
      {"stepped", {2, {128, 128}}, PTO_LAYOUT_STEPPED, false}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++)
    for (size_t d = 0; d < PTO_ARRAY_LENGTH(dtypes); d++)
      for (size_t a = 0; a < PTO_ARRAY_LENGTH(arrangements); a++) {
        if (!pto_trial_is_float(dtypes[d]) && strcmp(names[i], "copy") != 0 && strcmp(names[i], "add") != 0) continue;
        bench_layout(names[i], dtypes[d], &arrangements[a]);
      }
  for (size_t i = 0; i < 2; i++) /* copy and add */
    for (size_t d = 0; d < PTO_ARRAY_LENGTH(dtypes); d++) bench_short_rows_of(names[i], dtypes[d]);
}

/* ---- roofline ---- */

static void bench_roofline_group(void) {
  static const struct pto_reference_sizes tiles[] = {
      {2, {128, 128}, 1}, {3, {128, 128, 128}, 1}, {1, {16384}, 1}, {3, {4, 32, 128}, 1}, {4, {2, 8, 32, 32}, 1}};
  static struct pto_dtype_tuple tuples[64];
  struct pto_chip chip;
  struct pto_error error;
  struct pto_timing timing;
  if (pto_chip_load("a2a3", &chip, &error) != PTO_OK) return;
  pto_timing_init(&timing, &chip);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    struct pto_trial_case c = {.seed = 1, .is_plain = true};
    struct pto_trial_time time;
    uint32_t uniform_count = 0;
    pto_trial_init(&trial, k);
    for (size_t s = 0; s < PTO_ARRAY_LENGTH(tiles) && uniform_count == 0; s++)
      if (pto_trial_sizes(&trial, &tiles[s], &c))
        (void)pto_trial_dtype_tuples(&trial, &c, tuples, PTO_ARRAY_LENGTH(tuples), &uniform_count);
    for (uint32_t i = 0; i < trial.args.tensor_count; i++) c.dtypes[i] = tuples[0].dtypes[i];
    if (uniform_count == 0 || !make(&trial, &c) || pto_trial_time(&trial, RUNS, ROOFLINE_BATCH_NS, &time) != PTO_OK)
      continue;
    const struct pto_cost cost = pto_timing_cost(trial.kernel, &trial.args);
    const struct pto_timing_bound bound = pto_timing_bound(&timing, &cost, trial.core.kind);
    printf("{\"bench\": \"kernels_roofline\", \"system\": \"pto\", \"name\": \"%s\", \"dtype\": \"%s\", \"bytes\": "
           "%" PRIu64 ", \"elements\": %" PRIu64 ", \"multiply_adds\": %" PRIu64 ", \"median\": %.0f, \"min\": %.0f, "
           "\"gb_per_s\": %.2f, \"gop_per_s\": %.2f, \"a2a3_core_ns\": %.1f, \"bound\": \"%s\", \"runs\": %d}\n",
           trial.kernel->name, pto_dtype_name(c.dtypes[0]), cost.bytes_in + cost.bytes_out, cost.vector_elems,
           cost.multiply_adds, time.median_ns, time.minimum_ns,
           (double)(cost.bytes_in + cost.bytes_out) / time.median_ns,
           ((double)cost.vector_elems + 2 * (double)cost.multiply_adds) / time.median_ns, (double)bound.ps / 1000,
           bound.resource, RUNS);
    fflush(stdout);
    pto_trial_fini(&trial);
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } groups[] = {{"stream", bench_stream_group},
                {"rows", bench_rows_group},
                {"strided", bench_strided_group},
                {"roofline", bench_roofline_group}};
  /* Freed memory stays: half of the time went into pages of tensors that had just been given back. */
  (void)!mallopt(M_MMAP_MAX, 0);
  (void)!mallopt(M_TRIM_THRESHOLD, -1);
  fprintf(stderr, "bench_kernels: %s level\n", pto_level_name(pto_level_best()));
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(groups); i++)
    if (argc < 2 || strcmp(argv[1], groups[i].name) == 0) groups[i].run();
  return 0;
}
