/* SPDX-License-Identifier: MIT */
/*
 * core_fifo: kernels that run at the same time and hand data to each other.  y = 2x + 3, twice over:
 *
 *   along the cluster   a MIX task: AIV0 reads tiles and pushes them to the AIC, which doubles them and pushes them on
 *                       to AIV1, which adds 3 and writes them.  A FIFO that is full stops who pushes, an empty one who
 *                       pops; no core knows how far the others are.  Blocks need not run at the same time.
 *   across blocks       a sync_start task: every block doubles its tiles into a scratch buffer, all meet at a barrier,
 *                       then every block finishes the tiles of its right neighbour.  All blocks must run at the same
 *                       time, so there are no more of them than the chip has AIVs; how many changes no result.
 *
 * tasks = 2 · rounds, edges = 0.
 */
#include <orchestration/support/program.h>

struct state {
  uint64_t rounds, blocks;
};

/* ---- along the cluster: x[tiles of all blocks, tile], y of the same shape ---- */

static const struct pto_kernel_param source_params[] = {MATRIX("x", PTO_INPUT), ABSENT};
static const struct pto_kernel_param middle_params[] = {MATRIX("x", PTO_INPUT), ABSENT}; /* it needs the shape alone */
static const struct pto_kernel_param sink_params[] = {ABSENT, MATRIX("y", PTO_OUTPUT)};

/* The rows of a tensor that are a block's. */
struct rows {
  float *first;
  uint64_t count, stride, tile_elems;
};
static struct rows share_of(const struct pto_kernel_args *args, uint32_t tensor, uint64_t block) {
  const struct pto_kernel_tensor *t = &args->tensors[tensor];
  uint64_t begin = t->shape[0] * block / args->core->block_count;
  uint64_t end = t->shape[0] * (block + 1) / args->core->block_count;
  return (struct rows){(float *)t->addr + begin * t->strides[0], end - begin, t->strides[0], t->shape[1]};
}

static uint64_t tile_bytes(const struct pto_kernel_args *args) { return args->tensors[0].shape[1] * sizeof(float); }

/* What a stage does to `tiles` tiles.  A kernel states it tile by tile while it runs, before it lets the next stage
 * know, so that in virtual time the stages overlap; its cost function states the whole. */
static struct pto_cost source_work(const struct pto_kernel_args *args, uint64_t tiles) {
  return (struct pto_cost){.bytes_in = tiles * tile_bytes(args)};
}
static struct pto_cost middle_work(const struct pto_kernel_args *args, uint64_t tiles) {
  return (struct pto_cost){.multiply_adds = tiles * args->tensors[0].shape[1], .local_bytes = tile_bytes(args)};
}
static struct pto_cost sink_work(const struct pto_kernel_args *args, uint64_t tiles) {
  return (struct pto_cost){.bytes_out = tiles * tile_bytes(args),
                           .vector_elems = tiles * args->tensors[0].shape[1],
                           .local_bytes = tile_bytes(args)};
}

static int source_run(const struct pto_kernel_args *args) {
  struct rows x = share_of(args, 0, args->core->block_index);
  const struct pto_cost one = source_work(args, 1);
  for (uint64_t i = 0; i < x.count; i++) {
    int status = pto_core_work(args, &one);
    if (status == 0) status = pto_core_push(args, PTO_ROLE_AIC, x.first + i * x.stride, tile_bytes(args));
    if (status != 0) return status;
  }
  return 0;
}

static int middle_run(const struct pto_kernel_args *args) {
  struct rows x = share_of(args, 0, args->core->block_index);
  float *tile = args->core->local.addr;
  const struct pto_cost one = middle_work(args, 1);
  for (uint64_t i = 0; i < x.count; i++) {
    int status = pto_core_pop(args, PTO_ROLE_AIV0, tile, tile_bytes(args));
    if (status != 0) return status;
    for (uint64_t k = 0; k < x.tile_elems; k++) tile[k] *= 2;
    status = pto_core_work(args, &one);
    if (status == 0) status = pto_core_push(args, PTO_ROLE_AIV1, tile, tile_bytes(args));
    if (status != 0) return status;
  }
  return 0;
}

static int sink_run(const struct pto_kernel_args *args) {
  struct rows y = share_of(args, 1, args->core->block_index);
  float *tile = args->core->local.addr;
  const struct pto_cost one = sink_work(args, 1);
  for (uint64_t i = 0; i < y.count; i++) {
    int status = pto_core_pop(args, PTO_ROLE_AIC, tile, tile_bytes(args));
    if (status != 0) return status;
    for (uint64_t k = 0; k < y.tile_elems; k++) y.first[i * y.stride + k] = tile[k] + 3;
    status = pto_core_work(args, &one);
    if (status != 0) return status;
  }
  return 0;
}

static struct pto_cost source_cost(const struct pto_kernel_args *args) {
  return source_work(args, share_of(args, 0, args->core->block_index).count);
}
static struct pto_cost middle_cost(const struct pto_kernel_args *args) {
  return middle_work(args, share_of(args, 0, args->core->block_index).count);
}
static struct pto_cost sink_cost(const struct pto_kernel_args *args) {
  return sink_work(args, share_of(args, 1, args->core->block_index).count);
}

KERNEL(source, source_params, .name = "read_tiles", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = source_run,
       .cost = source_cost);
KERNEL(middle, middle_params, .name = "double_tiles", .cores = PTO_AIC, .flags = PTO_KERNEL_WAITS, .run = middle_run,
       .cost = middle_cost);
KERNEL(sink, sink_params, .name = "add_and_write", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = sink_run,
       .cost = sink_cost);

/* ---- across blocks: x, a scratch buffer and y of the same shape ---- */

static const struct pto_kernel_param meet_params[] = {MATRIX("x", PTO_INPUT), MATRIX("scratch", PTO_OUTPUT),
                                                      MATRIX("y", PTO_OUTPUT)};

/* Either half of it. */
static struct pto_cost half_work(const struct pto_kernel_args *args) {
  struct rows own = share_of(args, 0, args->core->block_index);
  uint64_t elems = own.count * own.tile_elems;
  return (struct pto_cost){
      .bytes_in = elems * sizeof(float), .bytes_out = elems * sizeof(float), .vector_elems = elems};
}
static struct pto_cost meet_cost(const struct pto_kernel_args *args) {
  struct pto_cost half = half_work(args);
  return (struct pto_cost){
      .bytes_in = 2 * half.bytes_in, .bytes_out = 2 * half.bytes_out, .vector_elems = 2 * half.vector_elems};
}

static int meet_run(const struct pto_kernel_args *args) {
  uint32_t block = args->core->block_index, neighbour = (block + 1) % args->core->block_count;
  struct rows x = share_of(args, 0, block), doubled = share_of(args, 1, block);
  for (uint64_t i = 0; i < x.count; i++) {
    for (uint64_t k = 0; k < x.tile_elems; k++) doubled.first[i * doubled.stride + k] = 2 * x.first[i * x.stride + k];
  }
  const struct pto_cost half = half_work(args);
  int status = pto_core_work(args, &half);
  if (status == 0) status = pto_core_barrier(args);
  if (status != 0) return status;
  struct rows theirs = share_of(args, 1, neighbour), y = share_of(args, 2, neighbour);
  for (uint64_t i = 0; i < y.count; i++) {
    for (uint64_t k = 0; k < y.tile_elems; k++) y.first[i * y.stride + k] = theirs.first[i * theirs.stride + k] + 3;
  }
  return 0;
}

KERNEL(meet, meet_params, .name = "meet_and_swap", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = meet_run,
       .cost = meet_cost);

/* ---- the program ---- */

static const struct pto_option options[] = {
    {"rounds", PTO_OPTION_INT, "4", "times that both tasks are submitted"},
    {"blocks", PTO_OPTION_INT, "8", "blocks of the MIX task"},
    {"together", PTO_OPTION_INT, "0", "blocks that meet; 0: as many as blocks, or as the chip has AIVs for"},
    {"tiles", PTO_OPTION_INT, "4", "tiles a block of the MIX task"},
    {"tile", PTO_OPTION_INT, "1024", "elements a tile"},
    {0},
};

static const struct pto_case cases[] = {
    {"8x4", "rounds=4 blocks=8 tiles=4 tile=1024", NULL, 8, 0, false},
    {"one", "rounds=1 blocks=1 tiles=1 tile=1", "the smallest", 2, 0, false},
    {"full", "rounds=1 blocks=8 tiles=12 tile=16384", "FIFOs that hold 3 tiles of 12", 2, 0, false},
    {"many", "rounds=100 blocks=8 tiles=3 tile=16", "many short tasks in flight", 200, 0, false},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct state *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  uint64_t tiles, tile;
  const int status = READ_WHOLE_OPTIONS(run, {"rounds", 1, 100000, &state->rounds}, {"blocks", 1, 4096, &state->blocks},
                                        {"tiles", 1, 4096, &tiles}, {"tile", 1, 32768, &tile});
  if (status != PTO_OK) return status;
  return DECLARE_ARRAYS(run, INPUT("x", PTO_FLOAT32, -1, 1, state->rounds, state->blocks * tiles, tile),
                        OUTPUT("piped", PTO_FLOAT32, state->rounds, state->blocks * tiles, tile),
                        OUTPUT("met", PTO_FLOAT32, state->rounds, state->blocks * tiles, tile));
}

/* Its scratch buffer dies with the scope that this is called in. */
static int submit_rendezvous(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *y,
                             uint32_t blocks) {
  struct pto_tensor scratch = temporary(rt, PTO_FLOAT32, 2, x->shape);
  struct pto_launch launch = {.aiv0 = &meet, .block_count = blocks, .sync_start = true};
  return pto_submit(rt, &launch, PARAMS(pto_input(x), pto_output(&scratch), pto_output(y)), NULL);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct state *state = pto_program_state(run, sizeof *state);
  uint64_t room = pto_core_count(rt, PTO_AIV), together = (uint64_t)pto_option_int(run, "together");
  if (together > room)
    return pto_program_fail(run, "core_fifo: %llu blocks cannot meet on the chip's %llu AIVs",
                            (unsigned long long)together, (unsigned long long)room);
  if (together == 0) together = state->blocks < room ? state->blocks : room;
  struct pto_tensor x = tensor_of(rt, run, "x"), piped = tensor_of(rt, run, "piped"), met = tensor_of(rt, run, "met");
  int status = PTO_OK;
  for (uint64_t round = 0; round < state->rounds && status == PTO_OK; round++) {
    struct pto_tensor from = part_of(&x, round), to = part_of(&piped, round), to_too = part_of(&met, round);
    struct pto_launch launch = {.aic = &middle, .aiv0 = &source, .aiv1 = &sink, .block_count = (uint32_t)state->blocks};
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = pto_submit(rt, &launch, PARAMS(pto_input(&from), pto_output(&to)), NULL);
    if (status == PTO_OK) status = submit_rendezvous(rt, &from, &to_too, (uint32_t)together);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

/* 2x is exact in f32, and 2x + 3 in double: one rounding, as in the kernels. */
static int expect(struct pto_program_run *run) {
  const struct pto_array *x = pto_program_find(run, "x");
  double *piped = golden_of(run, "piped"), *met = golden_of(run, "met");
  if (piped == NULL || met == NULL) return PTO_ENOMEM;
  for (uint64_t i = 0; i < x->numel; i++) piped[i] = met[i] = (double)(float)(2.0 * pto_array_get(x, i) + 3.0);
  return PTO_OK;
}

PROGRAM("core_fifo", "2x + 3 by cores that hand tiles to each other, and by blocks that meet at a barrier");
