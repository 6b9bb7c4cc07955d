/* SPDX-License-Identifier: MIT */
/*
 * One question: how fast are the matrix products on one thread, beside OpenBLAS and oneDNN in the same run?
 *
 * One JSON line a shape, layout and dtype: nanoseconds of ours (median, min, …); GFLOP/s (a multiply-add is two) at the
 * median and at the least time of RUNS interleaved runs of each, ours over the best library's at the least times, and
 * ours over the rate of one tile alone. Shapes are m x k x n; layouts those of a and b, n row-major and t transposed,
 * so that nt is the q·kᵀ of attention. The peers of 16-bit products are the f32 ones of the same shape, since the aim
 * is stated so; of int8, oneDNN's.  A library that is missing leaves its columns 0 and is named once on standard error.
 *
 * OpenBLAS takes its kernels by processor name, and a processor that is younger than it gets plain ones; so where there
 * is AVX-512 the program starts itself again with OPENBLAS_CORETYPE=SkylakeX, or what PTO_BENCH_OPENBLAS_CORETYPE says.
 */
#include <bench/support/bench_line.h>
#include <kernels/matmul/gemm_block.h>
#include <kernels/levels/level.h>
#include <kernels/api/list.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if PTO_HAVE_OPENBLAS
#include <cblas.h>
#endif
#if PTO_HAVE_DNNL
#include <dnnl.h>
#include <omp.h>
#endif

#define RUNS 31
#define RUN_NS 1e6 /* of one run of one of them */
#define MAX_ELEMS (1024 * 1024)

enum side { OURS, OPENBLAS, DNNL, SIDE_COUNT };

struct product {
  uint64_t m, k, n;
  bool is_a_turned, is_b_turned;
  uint32_t dtype; /* of a and b */
};

static const struct product products[] = {
    {128, 128, 128, false, false, PTO_FLOAT32},    {128, 128, 128, true, false, PTO_FLOAT32},
    {128, 128, 128, false, true, PTO_FLOAT32},     {128, 128, 128, true, true, PTO_FLOAT32},
    {16, 16, 16, false, false, PTO_FLOAT32},       {64, 64, 64, false, false, PTO_FLOAT32},
    {256, 256, 256, false, false, PTO_FLOAT32},    {512, 512, 512, false, false, PTO_FLOAT32},
    {1024, 1024, 1024, false, false, PTO_FLOAT32}, {16, 128, 128, false, false, PTO_FLOAT32},
    {16, 128, 128, false, true, PTO_FLOAT32},      {16, 16, 16, false, true, PTO_FLOAT32},
    {100, 100, 100, false, false, PTO_FLOAT32},    {127, 129, 131, false, false, PTO_FLOAT32},
    {1, 512, 512, false, false, PTO_FLOAT32},      {512, 512, 1, false, false, PTO_FLOAT32},
    {1024, 64, 16, false, false, PTO_FLOAT32},     {16, 64, 1024, false, false, PTO_FLOAT32},
    {16, 1024, 16, false, false, PTO_FLOAT32},     {128, 128, 128, false, false, PTO_FLOAT16},
    {128, 128, 128, false, true, PTO_FLOAT16},     {16, 128, 128, false, true, PTO_FLOAT16},
    {128, 128, 128, false, false, PTO_BFLOAT16},   {128, 128, 128, false, true, PTO_BFLOAT16},
    {16, 128, 128, false, false, PTO_BFLOAT16},    {16, 128, 128, false, true, PTO_BFLOAT16},
    {512, 512, 512, false, false, PTO_BFLOAT16},   {128, 128, 128, false, false, PTO_INT8},
    {512, 512, 512, false, false, PTO_INT8},
};

static _Alignas(64) float f32_a[MAX_ELEMS], f32_b[MAX_ELEMS], f32_c[MAX_ELEMS];
static _Alignas(64) uint16_t half_a[MAX_ELEMS], half_b[MAX_ELEMS];
static _Alignas(64) int8_t int8_a[MAX_ELEMS], int8_b[MAX_ELEMS];
static _Alignas(64) int32_t int32_c[MAX_ELEMS];
static _Alignas(64) char l1[512 << 10], l0a[64 << 10], l0b[64 << 10], l0c[128 << 10];

static void fill(uint32_t dtype) {
  struct pto_rng rng = {1};
  for (uint32_t i = 0; i < MAX_ELEMS; i++) {
    f32_a[i] = (float)(pto_rng_unit(&rng) - 0.5);
    f32_b[i] = (float)(pto_rng_unit(&rng) - 0.5);
    half_a[i] = dtype == PTO_FLOAT16 ? pto_fp16_from_f32(f32_a[i]) : pto_bf16_from_f32(f32_a[i]);
    half_b[i] = dtype == PTO_FLOAT16 ? pto_fp16_from_f32(f32_b[i]) : pto_bf16_from_f32(f32_b[i]);
    int8_a[i] = (int8_t)(127 * f32_a[i]);
    int8_b[i] = (int8_t)(127 * f32_b[i]);
  }
}

/* ---- the sides ---- */

static void run_ours(const struct product *p) {
  const uint64_t shapes[3][2] = {{p->m, p->k}, {p->k, p->n}, {p->m, p->n}};
  const uint64_t strides[3][2] = {{p->is_a_turned ? 1 : p->k, p->is_a_turned ? p->m : 1},
                                  {p->is_b_turned ? 1 : p->n, p->is_b_turned ? p->k : 1},
                                  {p->n, 1}};
  const bool is_int8 = p->dtype == PTO_INT8, is_f32 = p->dtype == PTO_FLOAT32;
  void *addrs[3] = {is_f32 ? (void *)f32_a : half_a, is_f32 ? (void *)f32_b : half_b, f32_c};
  if (is_int8) {
    addrs[0] = int8_a;
    addrs[1] = int8_b;
    addrs[2] = int32_c;
  }
  struct pto_kernel_tensor tensors[3];
  for (uint32_t i = 0; i < 3; i++)
    tensors[i] = (struct pto_kernel_tensor){
        .addr = addrs[i], .shape = shapes[i], .strides = strides[i], .ndims = 2, .dtype = p->dtype};
  tensors[2].dtype = is_int8 ? PTO_INT32 : PTO_FLOAT32;
  const struct pto_core core = {.kind = PTO_AIC,
                                .block_count = 1,
                                .local = {l1, sizeof l1},
                                .l0a = {l0a, sizeof l0a},
                                .l0b = {l0b, sizeof l0b},
                                .l0c = {l0c, sizeof l0c}};
  const struct pto_kernel_args args = {.tensors = tensors, .core = &core, .tensor_count = 3};
  if ((is_int8 ? &pto_general_matmul_int8 : &pto_general_matmul)->run(&args) != 0) exit(1);
}

#if PTO_HAVE_OPENBLAS
static const char *openblas_core(void) { return openblas_get_corename(); }
static void run_openblas(const struct product *p) {
  cblas_sgemm(CblasRowMajor, p->is_a_turned ? CblasTrans : CblasNoTrans, p->is_b_turned ? CblasTrans : CblasNoTrans,
              (int)p->m, (int)p->n, (int)p->k, 1, f32_a, (int)(p->is_a_turned ? p->m : p->k), f32_b,
              (int)(p->is_b_turned ? p->k : p->n), 0, f32_c, (int)p->n);
}
/* Before any of it runs: one thread. */
static void start_openblas(void) { openblas_set_num_threads(1); }
#else
static const char *openblas_core(void) { return "none"; }
static void run_openblas(const struct product *p) { (void)p; }
static void start_openblas(void) { fprintf(stderr, "without OpenBLAS (libopenblas-dev): its columns are 0\n"); }
#endif

#if PTO_HAVE_DNNL
static void run_dnnl(const struct product *p) {
  const char a = p->is_a_turned ? 'T' : 'N', b = p->is_b_turned ? 'T' : 'N';
  const dnnl_dim_t m = (dnnl_dim_t)p->m, n = (dnnl_dim_t)p->n, k = (dnnl_dim_t)p->k;
  const dnnl_dim_t lda = p->is_a_turned ? m : k, ldb = p->is_b_turned ? k : n;
  const int32_t offset = 0;
  if (p->dtype == PTO_INT8)
    dnnl_gemm_s8s8s32(a, b, 'F', m, n, k, 1, int8_a, lda, 0, int8_b, ldb, 0, 0, int32_c, n, &offset);
  else
    dnnl_sgemm(a, b, m, n, k, 1, f32_a, lda, f32_b, ldb, 0, f32_c, n);
}
static void start_dnnl(void) { omp_set_num_threads(1); }
#else
static void run_dnnl(const struct product *p) { (void)p; }
static void start_dnnl(void) { fprintf(stderr, "without oneDNN (libdnnl-dev): its columns are 0\n"); }
#endif

static void (*const runs[SIDE_COUNT])(const struct product *) = {run_ours, run_openblas, run_dnnl};

static bool has_side(enum side side, const struct product *p) {
  if (side == OPENBLAS) return PTO_HAVE_OPENBLAS && p->dtype != PTO_INT8;
  return side != DNNL || PTO_HAVE_DNNL;
}

/* ---- measuring ---- */

static double time_of(enum side side, const struct product *p, uint64_t repeats) {
  const double begin = (double)pto_clock_ns();
  for (uint64_t i = 0; i < repeats; i++) runs[side](p);
  return ((double)pto_clock_ns() - begin) / (double)repeats;
}

/* The roof: GFLOP/s of the largest tile alone, on operands that stay in the first-level cache. */
static double tile_gflops(uint32_t dtype) {
  const struct pto_gemm_set *set = NULL;
  for (uint32_t i = 0; i < PTO_LEVEL_COUNT; i++) {
    const struct pto_gemm_set *higher = dtype == PTO_INT8 ? pto_gemm_int8_set(i) : pto_gemm_float_set(i);
    if (higher != NULL) set = higher;
  }
  const uint64_t depth = 128, cols = 2 * set->lanes, calls = 100;
  const struct pto_gemm_operands operands = {.depth = depth,
                                             .a = l0a,
                                             .b = l0b,
                                             .sums = l0c,
                                             .a_row = (depth + PTO_GEMM_STRIP_GAP) * PTO_GEMM_UNIT,
                                             .a_step = PTO_GEMM_UNIT,
                                             .b_step = cols * PTO_GEMM_UNIT,
                                             .sums_row = cols * PTO_GEMM_UNIT,
                                             .is_first = true};
  const double begin = (double)pto_clock_ns();
  for (uint64_t i = 0; i < calls; i++) set->micro[1][set->rows](&operands);
  return 2.0 * (double)(calls * set->rows * cols * depth * set->unit_depth) / ((double)pto_clock_ns() - begin);
}

static const char *const layout_names[2][2] = {{"nn", "nt"}, {"tn", "tt"}};

static void bench(const struct product *p) {
  static struct pto_samples ns[SIDE_COUNT];
  double median[SIDE_COUNT] = {0}, least[SIDE_COUNT] = {0};
  uint64_t repeats[SIDE_COUNT];
  const double flops = 2 * (double)p->m * (double)p->k * (double)p->n;
  fill(p->dtype);
  memset(ns, 0, sizeof ns);
  for (uint32_t side = 0; side < SIDE_COUNT; side++) {
    time_of(side, p, 3);
    repeats[side] = 1 + (uint64_t)(RUN_NS / (time_of(side, p, 10) + 1));
  }
  double roof = 0;
  for (uint32_t run = 0; run < pto_bench_repeats(RUNS); run++) {
    for (uint32_t side = 0; side < SIDE_COUNT; side++)
      if (has_side(side, p)) pto_samples_add(&ns[side], time_of(side, p, repeats[side]));
    const double tile = tile_gflops(p->dtype);
    roof = tile > roof ? tile : roof;
  }
  for (uint32_t side = 0; side < SIDE_COUNT; side++) {
    if (!has_side(side, p)) continue;
    const struct pto_samples_figures figures = pto_samples_figures(&ns[side]);
    median[side] = flops / figures.median;
    least[side] = flops / figures.min;
  }
  const double peer = least[OPENBLAS] > least[DNNL] ? least[OPENBLAS] : least[DNNL];
  char shape[64];
  snprintf(shape, sizeof shape, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, p->m, p->k, p->n);
  struct pto_bench_line *line = pto_bench_line_begin("matmul", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "shape", shape);
  pto_bench_line_text(line, "layout", layout_names[p->is_a_turned][p->is_b_turned]);
  pto_bench_line_text(line, "dtype", pto_dtype_name(p->dtype));
  pto_bench_line_real(line, "median_gflops", median[OURS]);
  pto_bench_line_real(line, "fastest_gflops", least[OURS]);
  pto_bench_line_text(line, "openblas_core", openblas_core());
  pto_bench_line_real(line, "openblas_median_gflops", median[OPENBLAS]);
  pto_bench_line_real(line, "openblas_fastest_gflops", least[OPENBLAS]);
  pto_bench_line_real(line, "onednn_median_gflops", median[DNNL]);
  pto_bench_line_real(line, "onednn_fastest_gflops", least[DNNL]);
  pto_bench_line_real(line, "of_best_peer", peer == 0 ? 0 : least[OURS] / peer);
  pto_bench_line_real(line, "roof_gflops", roof);
  pto_bench_line_real(line, "of_roof", least[OURS] / roof);
  pto_bench_line_print(line, &ns[OURS]);
}

/* The library reads its environment when it is loaded. */
static void start_again(char **argv) {
  const char *wanted = getenv("PTO_BENCH_OPENBLAS_CORETYPE"), *is = getenv("OPENBLAS_CORETYPE");
  if (wanted == NULL) wanted = "SkylakeX";
  if (!PTO_HAVE_OPENBLAS || !pto_level_is_supported(PTO_LEVEL_AVX512) || (is != NULL && strcmp(is, wanted) == 0))
    return;
  setenv("OPENBLAS_CORETYPE", wanted, 1);
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  (void)argc;
  start_again(argv);
  start_openblas();
  start_dnnl();
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(products); i++) bench(&products[i]);
  return 0;
}
