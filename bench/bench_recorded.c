/* SPDX-License-Identifier: MIT */
/*
 * One question: what does a task of a launch of recorded tasks cost, beside a submit of the same task?
 *
 * A graph of 4, 16, 64 and 256 tasks with empty kernels, one thread, so that each task runs at its submit or its
 * producer's end.  Two kinds: `temporaries`, where a task reads what the one before wrote and one of four tiles of the
 * boundary, and writes a buffer of its own; `tiles`, where it adds a tile of the boundary into another one in place.
 * Three ways: `submits` in a scope; `replay`, the same calls made from a call list
 * (runtime/submit/replay.h); `launch`.
 *
 * One JSON line a kind, size and way: ns_per_task of the graph's own tasks, and `of_submits`, the median beside that of
 * the submits of the same repeat.  With three words, a kind, a size and a way, that alone is run, and callgrind counts
 * its instructions by --toggle-collect=bench_round.
 *
 *   bench_recorded [KIND SIZE WAY]
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <pto/recorded.h>
#include <runtime/base/base.h>
#include <runtime/submit/replay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS 31u
#define TASKS 65536u /* a repeat */
#define TILES 4u
#define TILE_BYTES UINT64_C(1024)

enum kind { TEMPORARIES, PLACES, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"temporaries", "tiles"};
enum way { SUBMITS, REPLAY, LAUNCH, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = {"submits", "replay", "launch"};
static const uint32_t sizes[] = {4, 16, 64, 256};

static _Alignas(1024) uint8_t memory[TILES * TILE_BYTES];

static int run_nothing(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static const struct pto_kernel_param read_two[] = {{.mode = PTO_INPUT}, {.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel_param add_into[] = {{.mode = PTO_INPUT}, {.mode = PTO_INOUT}};
static const struct pto_kernel kernels[KIND_COUNT] = {
    {.name = "read_two", .cores = PTO_AIV, .params = read_two, .param_count = 3, .run = run_nothing},
    {.name = "add_into", .cores = PTO_AIV, .params = add_into, .param_count = 2, .run = run_nothing}};

struct job {
  enum kind kind;
  uint32_t size;
  enum way way;
  uint32_t rounds;
  struct pto_tensor tiles[TILES];
  struct pto_param boundary[TILES];
  struct pto_recorded *recorded;
  struct pto_call_list *call_list;
};

static int submit_tasks(struct pto_runtime *rt, const struct job *job) {
  struct pto_tensor last = job->tiles[0];
  int status = PTO_OK;
  for (uint32_t i = 0; i < job->size && !status; i++) {
    const struct pto_tensor *tile = &job->tiles[i % TILES], *other = &job->tiles[(i + 1) % TILES];
    if (job->kind == PLACES) {
      const struct pto_param params[] = {pto_input(tile), pto_inout(other)};
      status = pto_submit_aiv(rt, &kernels[PLACES], params, 2);
      continue;
    }
    const uint64_t shape[] = {TILE_BYTES};
    const struct pto_tensor t = pto_managed_tensor(rt, pto_create_buffer(rt, TILE_BYTES), PTO_UINT8, 1, shape);
    const struct pto_param params[] = {pto_input(i ? &last : other), pto_input(tile), pto_output(&t)};
    status = pto_submit_aiv(rt, &kernels[TEMPORARIES], params, 3);
    last = t;
  }
  return status;
}

static int submit_in_scope(struct pto_runtime *rt, const struct job *job) {
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (!status) status = submit_tasks(rt, job);
  return status ? status : pto_scope_end(rt);
}

static int prepare(struct pto_runtime *rt, struct job *job) {
  const uint64_t shape[] = {TILE_BYTES};
  for (uint32_t i = 0; i < TILES; i++) {
    job->tiles[i] = pto_external_tensor(rt, memory + i * TILE_BYTES, PTO_UINT8, 1, shape);
    job->boundary[i] = pto_inout(&job->tiles[i]);
  }
  int status = PTO_OK;
  if (job->way == LAUNCH) {
    status = pto_recorded_begin(rt, job->boundary, TILES);
    if (!status) status = submit_tasks(rt, job);
    if (!status) status = pto_recorded_end(rt, &job->recorded);
  } else if (job->way == REPLAY) {
    job->call_list = pto_call_list_begin(rt, job->tiles, TILES);
    status = submit_in_scope(rt, job);
    if (!pto_call_list_end(rt, job->call_list)) status = PTO_EINVAL;
  }
  return status;
}

/* Once the graph. */
static PTO_NOINLINE int bench_round(struct pto_runtime *rt, struct job *job) {
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = job->boundary, .count = TILES};
  if (job->way == LAUNCH) return pto_submit_recorded(rt, job->recorded, &launch, NULL);
  if (job->way == REPLAY) return pto_call_list_replay(rt, job->call_list, job->tiles, TILES);
  return submit_in_scope(rt, job);
}

/* Launches keep one task of the scope each, so scopes hold so many of them as there are tasks in the others. */
static int orchestrate(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  int status = prepare(rt, job);
  for (uint32_t i = 0; i < job->rounds && !status; i++) {
    if (i % 1024 == 0 && i) status = pto_scope_end(rt);
    if (i % 1024 == 0 && !status) status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (!status) status = bench_round(rt, job);
  }
  return status ? status : pto_scope_end(rt);
}

/* Nanoseconds a task of a run; negative where it failed, which is said. */
static double run_ns(struct pto_runtime *rt, enum kind kind, uint32_t size, enum way way, uint32_t tasks) {
  struct job job = {.kind = kind, .size = size, .way = way, .rounds = tasks / size};
  const double begin = pto_bench_now_ns();
  const int status = pto_run(rt, orchestrate, &job);
  const double ns = (pto_bench_now_ns() - begin) / (job.rounds * size);
  pto_recorded_destroy(job.recorded);
  pto_call_list_destroy(job.call_list);
  if (status == PTO_OK) return ns;
  fprintf(stderr, "bench_recorded: %s\n", pto_last_error(rt));
  return -1;
}

static bool bench(struct pto_runtime *rt, enum kind kind, uint32_t size) {
  struct pto_samples ns[WAY_COUNT] = {0}, beside[WAY_COUNT] = {0};
  const uint32_t repeats = pto_bench_repeats(REPEATS), tasks = pto_bench_size(TASKS);
  for (uint32_t repeat = 0; repeat <= repeats; repeat++) {
    double of[WAY_COUNT];
    for (uint32_t way = 0; way < WAY_COUNT; way++) {
      of[way] = run_ns(rt, kind, size, (enum way)way, tasks);
      if (of[way] < 0) return false;
      if (repeat == 0) continue; /* warms up */
      pto_samples_add(&ns[way], of[way]);
      pto_samples_add(&beside[way], of[way] / of[SUBMITS]);
    }
  }
  for (uint32_t way = 0; way < WAY_COUNT; way++) {
    struct pto_bench_line *line = pto_bench_line_begin("recorded", PTO_BENCH_SYSTEM);
    pto_bench_line_text(line, "kind", kind_names[kind]);
    pto_bench_line_count(line, "size", size);
    pto_bench_line_text(line, "way", way_names[way]);
    pto_bench_line_real(line, "ns_per_task", pto_samples_median(&ns[way]));
    pto_bench_line_real(line, "of_submits", pto_samples_median(&beside[way]));
    pto_bench_line_print(line, &ns[way]);
  }
  return true;
}

static uint32_t index_of(const char *const *names, uint32_t count, const char *name) {
  uint32_t i = 0;
  while (i < count && strcmp(names[i], name) != 0) i++;
  return i;
}

int main(int argc, char **argv) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "threads", .chip = "a2a3", .workers = 1, .window = 16384};
  struct pto_runtime *rt;
  char sentence[256];
  bool is_good = true;
  if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence)) {
    fprintf(stderr, "bench_recorded: %s\n", sentence);
    return 1;
  }
  if (argc == 4) {
    const uint32_t kind = index_of(kind_names, KIND_COUNT, argv[1]), way = index_of(way_names, WAY_COUNT, argv[3]);
    const uint32_t size = (uint32_t)strtoul(argv[2], NULL, 10);
    is_good = kind < KIND_COUNT && way < WAY_COUNT && size > 0 && size <= 4096 &&
              run_ns(rt, (enum kind)kind, size, (enum way)way, 64 * size) >= 0;
  } else {
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++)
      for (size_t s = 0; s < PTO_ARRAY_LENGTH(sizes); s++) is_good &= bench(rt, (enum kind)kind, sizes[s]);
  }
  pto_runtime_destroy(rt);
  return is_good ? 0 : 1;
}
