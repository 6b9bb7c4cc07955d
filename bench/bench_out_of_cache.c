/* SPDX-License-Identifier: MIT */
/*
 * One question: which elementwise kernels and casts, of which dtypes, do not keep pace with memory?
 *
 * One JSON line a kernel and dtype: contiguous tensors of which the largest has ARRAY_BYTES, far more than the caches
 * hold, beside a STREAM loop that reads as many bytes and writes as many (bench/support/stream_ratio.h).  `of_peer` is
 * the peer's processor time over the kernel's, of the least of RUNS interleaved runs of each, since others may use the
 * machine.
 * Floats are in [−4, 4), integers in [−100, 100).  Arguments: a kernel's name runs that one, a dtype's that one.
 */
#include <bench/support/bench_line.h>
#include <bench/support/stream_ratio.h>
#include <kernels/levels/level.h>
#include <kernels/api/list.h>
#include <check/trial/trial.h>
#include <runtime/base/clock.h>

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ARRAY_BYTES (UINT64_C(64) << 20)
#define PATTERN_ELEMS 65536
#define RUNS pto_bench_repeats(9)

/* This thread's time: what others take of a busy machine does not count, but for the memory that they use. */
static double now_ns(void) { return (double)pto_clock_of_ns(CLOCK_THREAD_CPUTIME_ID); }

static double *from, *to; /* the peer's arrays */
static struct pto_trial trial, pattern;

/* Tensors of `elems` elements; the scalars are 1.5 or 3. */
static struct pto_trial_case case_of(const uint32_t *dtypes, uint64_t elems) {
  struct pto_trial_case c = {.seed = 1, .is_plain = true};
  uint32_t scalar = 0;
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
    c.shapes[i] = (struct pto_reference_shape){1, {elems}};
    c.dtypes[i] = dtypes[i];
  }
  for (uint32_t i = 0; i < trial.kernel->param_count; i++) {
    if (trial.kernel->params[i].mode != PTO_SCALAR) continue;
    if (trial.kernel->params[i].scalar == PTO_SCALAR_F32)
      c.scalars[scalar++].f32 = 1.5f;
    else
      c.scalars[scalar++].i64 = 3;
  }
  return c;
}

/* The large tensors hold the small ones' elements again and again. */
static void repeat_pattern(void) {
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
    const struct pto_trial_tensor *large = &trial.tensors[i], *small = &pattern.tensors[i];
    const uint64_t period = PATTERN_ELEMS * pto_dtype_bits(small->t.dtype) / 8;
    for (uint64_t at = 0; at < large->memory_bytes; at += period)
      memcpy(large->memory + at, small->memory, pto_min_u64(period, large->memory_bytes - at));
  }
}

/* Bits an element that are read and written, and doubles a turn of the loop that moves as many. */
struct traffic {
  uint64_t read_bits, written_bits;
  struct stream_ratio ratio;
};
static struct traffic traffic_of(void) {
  struct traffic traffic = {0, 0, {0, 0}};
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
    const uint64_t bits = pto_dtype_bits(trial.tensors[i].t.dtype);
    if (pto_trial_is_read(trial.params[i])) traffic.read_bits += bits;
    if (pto_trial_is_written(trial.params[i])) traffic.written_bits += bits;
  }
  uint64_t unit = traffic.written_bits;
  while (traffic.read_bits % unit != 0 || traffic.written_bits % unit != 0) unit--;
  traffic.ratio = (struct stream_ratio){(uint32_t)(traffic.read_bits / unit), (uint32_t)(traffic.written_bits / unit)};
  return traffic;
}

static void print_line(uint64_t elems, const struct traffic *traffic, const double least[3]) {
  const uint32_t last = trial.args.tensor_count - 1;
  const double bytes = (double)((traffic->read_bits + traffic->written_bits) * elems / 8);
  struct pto_bench_line *line = pto_bench_line_begin("kernels_out_of_cache", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "name", trial.kernel->name);
  pto_bench_line_text(line, "from", pto_dtype_name(trial.tensors[last > 1 ? 1 : 0].t.dtype));
  pto_bench_line_text(line, "to", pto_dtype_name(trial.tensors[last].t.dtype));
  pto_bench_line_real(line, "gb_per_s", bytes / least[0]);
  pto_bench_line_real(line, "peer_gb_per_s", bytes / least[1]);
  pto_bench_line_real(line, "nontemporal_gb_per_s", bytes / least[2]);
  pto_bench_line_real(line, "of_peer", least[1] / least[0]);
  pto_bench_line_real(line, "of_nontemporal", least[2] / least[0]);
  pto_bench_line_print(line, NULL);
  fflush(stdout);
}

/* One kernel on tensors of those dtypes, if it takes them. */
static void bench_kernel(uint32_t index, const uint32_t *dtypes) {
  uint64_t widest = 4;
  pto_trial_init(&trial, index);
  pto_trial_init(&pattern, index);
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) widest = pto_max_u64(widest, pto_dtype_bits(dtypes[i]));
  const uint64_t elems = ARRAY_BYTES * 8 / widest;
  const struct pto_trial_case small = case_of(dtypes, PATTERN_ELEMS), large = case_of(dtypes, elems);
  if (pto_trial_check(&trial, &large) != PTO_OK || pto_trial_make(&pattern, &small) != PTO_OK) return;
  if (pto_trial_alloc(&trial, &large) != PTO_OK) return;
  repeat_pattern();
  const struct traffic traffic = traffic_of();
  const uint64_t turns = elems * traffic.written_bits / (traffic.ratio.writes * UINT64_C(64));
  double least[3] = {1e30, 1e30, 1e30};
  for (uint32_t i = 0; i <= RUNS; i++) { /* the first warms up */
    double ns[3] = {now_ns(), 0, 0};
    (void)pto_trial_batch_ns(&trial, 1);
    ns[0] = now_ns() - ns[0];
    for (int past = 0; past < 2; past++) {
      const double begin = now_ns();
      if (!stream_ratio_run(traffic.ratio, to, from, turns, past != 0))
        fprintf(stderr, "bench_out_of_cache: there is no STREAM %u:%u\n", traffic.ratio.reads, traffic.ratio.writes);
      ns[1 + past] = now_ns() - begin;
    }
    for (int j = 0; j < 3 && i > 0; j++) least[j] = ns[j] < least[j] ? ns[j] : least[j];
  }
  print_line(elems, &traffic, least);
  pto_trial_fini(&trial);
  pto_trial_fini(&pattern);
}

/* The kernel at `index` with every dtype for the tensors that its form leaves open. */
static void bench_dtypes(uint32_t index, const char *only) {
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    uint32_t dtypes[PTO_MAX_TENSORS];
    bool is_open = dtype == PTO_BOOL; /* whether there is a choice */
    if (only != NULL && strcmp(only, pto_dtype_name(dtype)) != 0) continue;
    pto_trial_init(&trial, index);
    for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
      const bool is_bool = pto_trial_dtypes(trial.params[i]) == PTO_DTYPES_BOOL;
      dtypes[i] = is_bool ? PTO_BOOL : dtype;
      is_open = is_open || !is_bool;
    }
    if (is_open) bench_kernel(index, dtypes);
  }
}

static void bench_casts(uint32_t index, const char *only) {
  for (uint32_t i = 0; i < PTO_DTYPE_COUNT; i++)
    for (uint32_t j = 0; j < PTO_DTYPE_COUNT; j++)
      if (only == NULL || strcmp(only, pto_dtype_name(i)) == 0 || strcmp(only, pto_dtype_name(j)) == 0)
        bench_kernel(index, (uint32_t[]){i, j});
}

/* The first argument that is a kernel's name, or that is none; NULL: there is no such. */
static const char *argument(int argc, char **argv, bool is_kernel) {
  for (int i = 1; i < argc; i++)
    if ((pto_kernel_find(argv[i]) != NULL) == is_kernel) return argv[i];
  return NULL;
}

int main(int argc, char **argv) {
  const char *kernel = argument(argc, argv, true), *dtype = argument(argc, argv, false);
  /* Freed memory stays: half of the time went into pages of tensors that had just been given back. */
  (void)!mallopt(M_MMAP_MAX, 0);
  (void)!mallopt(M_TRIM_THRESHOLD, -1);
  fprintf(stderr, "bench_out_of_cache: %s level\n", pto_level_name(pto_level_best()));
  if (posix_memalign((void **)&from, 4096, 4 * ARRAY_BYTES) != 0) return 1;
  if (posix_memalign((void **)&to, 4096, 4 * ARRAY_BYTES) != 0) return 1;
  memset(from, 1, 4 * ARRAY_BYTES);
  memset(to, 1, 4 * ARRAY_BYTES);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    const char *name = pto_kernel_at(k)->name;
    if (kernel != NULL && strcmp(kernel, name) != 0) continue;
    if (strcmp(name, "cast") == 0) bench_casts(k, dtype);
    if (k < PTO_OP_COUNT || strcmp(name, "copy") == 0) bench_dtypes(k, dtype);
  }
  free(from);
  free(to);
  return 0;
}
