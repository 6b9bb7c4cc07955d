/* SPDX-License-Identifier: MIT */
/*
 * One question: how much memory does a live task take, and a live tile, and a runtime that does nothing?
 *
 * One JSON line each, ours alone: `median` is measured, stated_bytes is what docs/performance.md promises at most.
 *
 *   task    a task of three tensors and a scalar that waits for the one before it, all of them live at once
 *   tile    what it takes more where each task writes a tile of its own instead of the same one
 *   tiny    a process that has made a runtime on the chip tiny and run nothing
 *   a2a3    the same on a chip of 72 cores
 *
 * Measured is resident memory of a process of its own (Rss of /proc/self/smaps_rollup): of `task` and `tile` the
 * difference between many and fewer of them, divided by the difference of their numbers, on the virtual engine, where
 * the first task takes longer than all submits, so that none is done before.  The bytes of the tiles are not counted:
 * nothing touches them.
 */
#include <bench/support/bench_line.h>
#include <pto/runtime.h>
#include <runtime/base/base.h>
#include <runtime/base/reserve.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS 7
#define FEW 20000u
#define MANY 120000u
#define WINDOW (UINT64_C(1) << 17)
#define TILE_BYTES 64u
/* docs/performance.md, Memory */
#define STATED_TASK_BYTES 512
#define STATED_TILE_BYTES 256
#define STATED_EMPTY_BYTES (20 * 1000 * 1000)

/* ---- in a process of its own ---- */

/* 0: it cannot be known. */
static double resident_bytes(void) {
  unsigned long long kib = 0;
  char line[256];
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) (void)sscanf(line, "Rss: %llu", &kib);
  if (file != NULL) fclose(file);
  return (double)kib * 1024;
}

static int nothing_run(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
/* Longer than all submits together. */
static struct pto_cost long_cost(const struct pto_kernel_args *args) {
  (void)args;
  return (struct pto_cost){.vector_elems = UINT64_C(1) << 40};
}
static const struct pto_kernel_param params[] = {{.name = "x", .mode = PTO_INOUT},
                                                 {.name = "y", .mode = PTO_INOUT},
                                                 {.name = "z", .mode = PTO_INOUT},
                                                 {.name = "i", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel lasts = {
    .name = "lasts", .cores = PTO_AIV, .params = params, .param_count = 4, .run = nothing_run, .cost = long_cost};
static const struct pto_kernel nothing = {
    .name = "nothing", .cores = PTO_AIV, .params = params, .param_count = 4, .run = nothing_run};

struct load {
  const char *chip;
  uint32_t tasks;
  bool has_own_tiles;
  char *tiles;
};

static int submit_tasks(struct pto_runtime *rt, void *context) {
  const struct load *load = context;
  const uint64_t shape[] = {(uint64_t)MANY + 2, TILE_BYTES}, one[] = {1, TILE_BYTES};
  const struct pto_tensor whole = pto_external_tensor(rt, load->tiles, PTO_UINT8, 2, shape);
  struct pto_tensor tiles[3];
  int status = PTO_OK;
  for (uint32_t i = 0; i < load->tasks && status == PTO_OK; i++) {
    for (uint32_t k = 0; k < 3; k++) {
      const uint64_t offsets[] = {k == 2 && load->has_own_tiles ? 2 + i : k, 0};
      tiles[k] = pto_tensor_view(&whole, offsets, one);
    }
    const struct pto_param all[] = {pto_inout(&tiles[0]), pto_inout(&tiles[1]), pto_inout(&tiles[2]),
                                    pto_scalar_u64(i)};
    status = pto_submit_aiv(rt, i == 0 ? &lasts : &nothing, all, PTO_ARRAY_LENGTH(all));
  }
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  if (status == PTO_OK && stats.window_high_water < load->tasks)
    return pto_report_error(rt, "tasks were done before all were submitted");
  return status;
}

/* Resident bytes after the run; 0, with a line on standard error: it failed. */
static double resident_after(const struct load *load) {
  struct load mine = *load;
  struct pto_reserve memory = {0};
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = load->tasks ? "virtual" : "threads",
                                    .chip = load->chip,
                                    .workers = load->tasks ? 0 : 2,
                                    .window = load->tasks ? WINDOW : 0};
  char sentence[256] = "no memory";
  if (!pto_reserve_init(&memory, ((uint64_t)MANY + 2) * TILE_BYTES) ||
      pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence) != PTO_OK) {
    fprintf(stderr, "bench_memory: %s\n", sentence);
    return 0;
  }
  mine.tiles = memory.addr;
  const int status = pto_run(rt, submit_tasks, &mine);
  if (status != PTO_OK) fprintf(stderr, "bench_memory: %s\n", pto_last_error(rt));
  return status == PTO_OK ? resident_bytes() : 0;
}

/* ---- results ---- */

static double measure(const struct load *load) {
  double bytes = 0;
  int ends[2], status = 0;
  if (pipe(ends) != 0) return 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    bytes = resident_after(load);
    _exit(write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
  }
  close(ends[1]);
  const bool is_read = read(ends[0], &bytes, sizeof bytes) == sizeof bytes;
  close(ends[0]);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_read ? bytes : 0;
}

static bool is_good = true;

static void keep(struct pto_samples *samples, double bytes) {
  is_good &= bytes > 0;
  if (bytes > 0) pto_samples_add(samples, bytes);
}

static void print(const char *what, uint64_t stated, const struct pto_samples *bytes) {
  struct pto_bench_line *line = pto_bench_line_begin("memory", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "what", what);
  pto_bench_line_text(line, "unit", "bytes");
  pto_bench_line_count(line, "stated_bytes", stated);
  pto_bench_line_print(line, bytes);
}

int main(void) {
  struct pto_samples task = {.count = 0}, tile = {.count = 0}, tiny = {.count = 0}, a2a3 = {.count = 0};
  for (uint32_t run = 0; run < pto_bench_repeats(RUNS); run++) {
    double bytes[2];
    for (uint32_t own = 0; own < 2; own++) {
      const struct load few = {.chip = "tiny", .tasks = FEW, .has_own_tiles = own};
      const struct load many = {.chip = "tiny", .tasks = MANY, .has_own_tiles = own};
      bytes[own] = (measure(&many) - measure(&few)) / (MANY - FEW);
    }
    keep(&task, bytes[0]);
    keep(&tile, bytes[1] - bytes[0]);
    keep(&tiny, measure(&(struct load){.chip = "tiny"}));
    keep(&a2a3, measure(&(struct load){.chip = "a2a3"}));
  }
  print("task", STATED_TASK_BYTES, &task);
  print("tile", STATED_TILE_BYTES, &tile);
  print("tiny", STATED_EMPTY_BYTES, &tiny);
  print("a2a3", STATED_EMPTY_BYTES, &a2a3);
  return is_good ? 0 : 1;
}
