/* SPDX-License-Identifier: MIT */
/*
 * One question: what does it cost to find what a task's tensor depends on, and does that grow with the number of live
 * tiles of its buffer?
 *
 * One JSON line a shape of tiles, order, number of live tiles and step, ours alone; ns_per_lookup is the median:
 *
 *   hit      a live tile is looked up: its entry is found
 *   miss     a tile that is not live, between two that are: nothing is found, in table and grid
 *   insert   the tile of a miss is entered: looked for in the table, then put into table and grid (and taken out again,
 *            which is not in the time)
 *   submit   a whole task through the public calls, which reads a live tile and nothing else: submit, lookup, dispatch,
 *            kernel, retirement, with one thread
 *
 * candidates is how many entries had to be compared a lookup, the tile's own included.  `growth` is the time beside
 * that of 64 live tiles, by medians of turns that followed each other; the aim is 2 at 65 536.
 *
 * Tiles of 64 bytes a row, every other one of the buffer live: 1-D, a row of tiles; 2-D, 16 rows each, in a matrix of
 * tiles about twice as wide as high; column strips, the whole height of 64 rows.  They are met in turn, as most
 * programs walk over their tiles, or in an order drawn once: then the entries of 65 536 tiles, 8 MiB and more, come
 * from as far away as they lie, where those of 64 stay in the first-level cache.  No memory of the tiles is touched.
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <pto/runtime.h>
#include <runtime/base/base.h>
#include <runtime/deps/hazards.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS 9
#define LOOKUPS 65536u
#define BATCH 128u /* whose regions are made before the clock runs, and stay in the first-level cache: 20 KiB */
#define LEAST_LIVE 64u
#define MOST_LIVE 65536u
#define TILE_BYTES UINT64_C(64)
#define TILE_ROWS UINT64_C(16)
#define STRIP_ROWS UINT64_C(64)
#define GROWTH_AIM 2
#define CANDIDATES_AIM 2

static const uint32_t live_counts[] = {LEAST_LIVE, 2048, MOST_LIVE};
#define COUNTS PTO_ARRAY_LENGTH(live_counts)

enum shape { ONE_D, TWO_D, STRIPS, SHAPE_COUNT };
static const char *const shape_names[SHAPE_COUNT] = {"1d", "2d", "column_strips"};
enum step { HIT, MISS, INSERT, SUBMIT, STEP_COUNT };
static const char *const step_names[STEP_COUNT] = {"hit", "miss", "insert", "submit"};

/* A buffer of `across` · `down` tiles, each `rows` rows high. */
struct grid {
  uint64_t across, down, rows, pitch_bytes, size_bytes;
};

/* Twice as many tiles as are live. */
static struct grid grid_of(enum shape shape, uint64_t live) {
  struct grid grid = {.across = 2 * live, .down = 1, .rows = shape == STRIPS ? STRIP_ROWS : 1};
  if (shape == TWO_D) {
    grid.rows = TILE_ROWS;
    while (grid.across > 2 * grid.down) {
      grid.across /= 2;
      grid.down *= 2;
    }
  }
  grid.pitch_bytes = grid.across * TILE_BYTES;
  grid.size_bytes = grid.pitch_bytes * grid.down * grid.rows;
  return grid;
}

/* The i-th live tile, or the one beside it: live ones are those whose row and column add up to an even number. */
static void place_of(const struct grid *grid, uint64_t i, bool is_live, uint64_t *row, uint64_t *column) {
  const uint64_t half = grid->across / 2;
  *row = i / half;
  *column = 2 * (i % half) + ((*row + !is_live) & 1);
}

enum order { IN_TURN, SCATTERED, ORDER_COUNT };
static const char *const order_names[ORDER_COUNT] = {"in_turn", "scattered"};
static uint32_t order[LOOKUPS]; /* of tiles, modulo the live ones */
static void make_order(enum order which) {
  struct pto_rng rng = {20240607};
  for (uint32_t i = 0; i < LOOKUPS; i++)
    order[i] = which == IN_TURN ? i : (uint32_t)pto_rng_below(&rng, UINT64_C(1) << 32);
}

/* ---- the map by itself ---- */

#define BASE_ADDR (UINT64_C(1) << 40) /* of the buffer, which is not there */

struct map_side {
  struct grid grid;
  struct pto_reserve arena;
  struct pto_task_rings rings;
  struct pto_list_chunks chunks;
  struct pto_access_map map;
  struct pto_hazards hazards;
  struct pto_task_ref writer; /* of all tiles: a task that has not finished */
  uint32_t space, live;
  uint64_t candidates[2]; /* of all misses, all hits */
};

static struct pto_region region_of(const struct grid *grid, uint64_t i, bool is_live) {
  uint64_t row, column;
  place_of(grid, i, is_live, &row, &column);
  const uint64_t start = BASE_ADDR + row * grid->rows * grid->pitch_bytes + column * TILE_BYTES;
  struct pto_region region = {.start = start, .run_bytes = TILE_BYTES, .end = start + TILE_BYTES};
  if (grid->rows > 1) {
    region.ndims = 1;
    region.extents[0] = grid->rows;
    region.strides[0] = grid->pitch_bytes;
    region.end += (grid->rows - 1) * grid->pitch_bytes;
  }
  return region;
}

/* As hazards.c enters a region that overlaps no other. */
static uint32_t enter(struct map_side *side, const struct pto_region *region, uint32_t bucket) {
  const uint32_t entry = pto_access_map_insert(&side->map, side->space, region, bucket, NULL);
  struct pto_access_entry *made = &side->map.entries[entry];
  made->flags |= PTO_ENTRY_ISOLATED;
  (void)pto_access_map_append(&side->map, made, side->writer, PTO_TAG_WRITE);
  return entry;
}

static struct map_side *make_side(enum shape shape, uint32_t live) {
  struct map_side *side = calloc(1, sizeof *side);
  if (side == NULL) return NULL;
  side->grid = grid_of(shape, live);
  side->live = live;
  const bool is_made = pto_reserve_init(&side->arena, 4 * 4096) &&
                       pto_task_rings_init(&side->rings, 2 * MOST_LIVE, side->arena.addr, 4096) &&
                       pto_list_chunks_init(&side->chunks, 1024) &&
                       pto_access_map_init(&side->map, 4 * MOST_LIVE, 16, 4 * MOST_LIVE, &side->rings, &side->chunks);
  if (!is_made) return NULL;
  side->space = pto_access_map_add_space(&side->map, BASE_ADDR, side->grid.size_bytes, side->grid.pitch_bytes,
                                         side->grid.size_bytes);
  side->writer = side->rings.slots[pto_task_ring_alloc(&side->rings, side->rings.rings)].ref;
  side->hazards = (struct pto_hazards){.map = &side->map, .rings = &side->rings, .chunks = &side->chunks};
  pto_deps_table_init(&side->hazards.table, PTO_DEPS_EXACT);
  for (uint32_t i = 0; i < live; i++) {
    const struct pto_region region = region_of(&side->grid, i, true);
    enter(side, &region, pto_access_map_bucket(&side->map, &region));
  }
  return side;
}

static void destroy_side(struct map_side *side) {
  if (side == NULL) return;
  pto_access_map_fini(&side->map);
  pto_list_chunks_fini(&side->chunks);
  pto_task_rings_fini(&side->rings);
  pto_reserve_fini(&side->arena);
  free(side);
}

/* As hazards.c looks a region up: in the table, and in the grid where that does not answer.  Whether there is a task to
 * wait for. */
static inline bool look_up(struct map_side *side, const struct pto_region *region) {
  struct pto_access_map *map = &side->map;
  const uint32_t entry = pto_access_map_find(map, PTO_ANY_SPACE, region, pto_access_map_bucket(map, region));
  map->candidates += entry != 0;
  if (entry && (map->entries[entry].flags & PTO_ENTRY_ISOLATED)) return true;
  return pto_hazards_find_unfinished(&side->hazards, side->space, region, false) != UINT32_MAX;
}

/* The regions of a batch, from the first-th of the order on. */
static void make_batch(const struct map_side *side, uint32_t first, bool is_live, struct pto_region regions[BATCH]) {
  for (uint32_t k = 0; k < BATCH; k++) regions[k] = region_of(&side->grid, order[first + k] % side->live, is_live);
}

/* Nanoseconds a lookup; negative: it found what is not there, or did not find what is. */
static double measure_lookups(struct map_side *side, bool is_live) {
  static struct pto_region regions[BATCH];
  uint64_t found = 0;
  double ns = 0;
  const uint64_t candidates_before = side->map.candidates;
  for (uint32_t first = 0; first < LOOKUPS; first += BATCH) {
    make_batch(side, first, is_live, regions);
    const double begin = pto_bench_now_ns();
    for (uint32_t k = 0; k < BATCH; k++) found += look_up(side, &regions[k]);
    ns += pto_bench_now_ns() - begin;
  }
  side->candidates[is_live] = side->map.candidates - candidates_before;
  return found == (is_live ? LOOKUPS : 0) ? ns / LOOKUPS : -1;
}

/* Tiles that are entered already when they come again in a batch are passed over. */
static double measure_inserts(struct map_side *side) {
  static struct pto_region regions[BATCH];
  static uint32_t entries[BATCH];
  uint32_t inserted = 0;
  double ns = 0;
  for (uint32_t first = 0; first < LOOKUPS; first += BATCH) {
    uint32_t count = 0, entered = 0;
    make_batch(side, first, false, regions);
    for (uint32_t k = 0; k < BATCH && count < side->live; k++) regions[count++] = regions[k];
    const double begin = pto_bench_now_ns();
    for (uint32_t k = 0; k < count; k++) {
      const uint32_t bucket = pto_access_map_bucket(&side->map, &regions[k]);
      if (pto_access_map_find(&side->map, PTO_ANY_SPACE, &regions[k], bucket) == 0)
        entries[entered++] = enter(side, &regions[k], bucket);
    }
    ns += pto_bench_now_ns() - begin;
    for (uint32_t k = 0; k < entered; k++) pto_access_map_remove(&side->map, entries[k]);
    inserted += entered;
  }
  return ns / inserted;
}

/* ---- whole tasks ---- */

static int nothing_run(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static const struct pto_kernel_param read_params[] = {{.name = "x", .mode = PTO_INPUT}};
static const struct pto_kernel_param write_params[] = {{.name = "x", .mode = PTO_OUTPUT}};
static const struct pto_kernel reads = {
    .name = "reads", .cores = PTO_AIV, .params = read_params, .param_count = 1, .run = nothing_run};
static const struct pto_kernel writes = {
    .name = "writes", .cores = PTO_AIV, .params = write_params, .param_count = 1, .run = nothing_run};

#define SUBMIT_WINDOW (4 * MOST_LIVE) /* all that a run submits stays visible */

struct submit_side {
  struct grid grid;
  uint32_t live;
  struct pto_reserve memory;
  double ns;
  double candidates; /* a lookup of the reads */
};

static struct pto_tensor tile_of(const struct pto_tensor *whole, const struct grid *grid, uint64_t i) {
  uint64_t row, column;
  place_of(grid, i, true, &row, &column);
  const uint64_t offsets[] = {row * grid->rows, column * TILE_BYTES}, shape[] = {grid->rows, TILE_BYTES};
  return pto_tensor_view(whole, offsets, shape);
}

/* Writes every live tile, waits until all is done, then reads tiles: these are timed. */
static int submit_tasks(struct pto_runtime *rt, void *context) {
  struct submit_side *side = context;
  const uint64_t shape[] = {side->grid.size_bytes / side->grid.pitch_bytes, side->grid.pitch_bytes};
  const struct pto_tensor whole = pto_external_tensor(rt, side->memory.addr, PTO_UINT8, 2, shape);
  struct pto_tensor tile;
  struct pto_param param;
  struct pto_stats before = {.size = sizeof before}, after = {.size = sizeof after};
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  for (uint32_t i = 0; i < side->live && status == PTO_OK; i++) {
    tile = tile_of(&whole, &side->grid, i);
    param = pto_output(&tile);
    status = pto_submit_aiv(rt, &writes, &param, 1);
  }
  if (status == PTO_OK) status = pto_scope_end(rt);
  if (status == PTO_OK) status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  pto_runtime_stats(rt, &before);
  const double begin = pto_bench_now_ns();
  for (uint32_t i = 0; i < LOOKUPS && status == PTO_OK; i++) {
    tile = tile_of(&whole, &side->grid, order[i] % side->live);
    param = pto_input(&tile);
    status = pto_submit_aiv(rt, &reads, &param, 1);
  }
  if (status == PTO_OK) status = pto_scope_end(rt);
  side->ns = (pto_bench_now_ns() - begin) / LOOKUPS;
  pto_runtime_stats(rt, &after);
  side->candidates = (double)(after.candidates - before.candidates) / (double)(after.lookups - before.lookups);
  return status;
}

/* ---- results ---- */

static bool is_good = true;

struct result {
  struct pto_samples ns;
  double candidates; /* negative: not counted */
};
static struct result results[STEP_COUNT][COUNTS];

static void keep(enum step step, size_t count, double ns, double candidates) {
  struct result *r = &results[step][count];
  if (ns > 0) {
    pto_samples_add(&r->ns, ns);
    r->candidates = candidates;
    return;
  }
  fprintf(stderr, "bench_lookup: %s with %u live tiles went wrong\n", step_names[step], live_counts[count]);
  is_good = false;
}

static void print_results(enum shape shape, enum order which) {
  for (uint32_t step = 0; step < STEP_COUNT; step++)
    for (size_t count = 0; count < COUNTS; count++) {
      const struct result *r = &results[step][count], *least = &results[step][0];
      struct pto_samples growth = {.count = 0};
      for (uint32_t run = 0; run < r->ns.count && run < least->ns.count; run++)
        pto_samples_add(&growth, r->ns.values[run] / least->ns.values[run]);
      struct pto_bench_line *line = pto_bench_line_begin("lookup", PTO_BENCH_SYSTEM);
      pto_bench_line_text(line, "tiles", shape_names[shape]);
      pto_bench_line_text(line, "order", order_names[which]);
      pto_bench_line_text(line, "step", step_names[step]);
      pto_bench_line_count(line, "live_tiles", live_counts[count]);
      pto_bench_line_real(line, "ns_per_lookup", pto_samples_median(&r->ns));
      pto_bench_line_real(line, "growth", pto_samples_median(&growth));
      if (step != INSERT) pto_bench_line_real(line, "candidates", r->candidates);
      if (live_counts[count] == MOST_LIVE && (step == HIT || step == MISS)) {
        pto_bench_line_count(line, "growth_aim", GROWTH_AIM);
        pto_bench_line_count(line, "candidates_aim", CANDIDATES_AIM);
      }
      pto_bench_line_print(line, &r->ns);
    }
}

static void bench_map(enum shape shape) {
  struct map_side *sides[COUNTS];
  bool is_made = true;
  for (size_t c = 0; c < COUNTS; c++) is_made &= (sides[c] = make_side(shape, live_counts[c])) != NULL;
  is_good &= is_made;
  for (uint32_t run = 0; run <= pto_bench_repeats(RUNS) && is_made; run++)
    for (size_t c = 0; c < COUNTS; c++) {
      const double hit = measure_lookups(sides[c], true), miss = measure_lookups(sides[c], false);
      const double insert = measure_inserts(sides[c]);
      if (run == 0) continue;
      keep(HIT, c, hit, (double)sides[c]->candidates[1] / LOOKUPS);
      keep(MISS, c, miss, (double)sides[c]->candidates[0] / LOOKUPS);
      keep(INSERT, c, insert, 0);
    }
  for (size_t c = 0; c < COUNTS; c++) destroy_side(sides[c]);
}

static void bench_submits(enum shape shape) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "threads", .chip = "tiny", .workers = 1, .window = SUBMIT_WINDOW};
  struct submit_side sides[COUNTS];
  struct pto_runtime *rt = NULL;
  bool is_made = pto_runtime_create(&config, &rt) == PTO_OK;
  for (size_t c = 0; c < COUNTS; c++) {
    sides[c] = (struct submit_side){.grid = grid_of(shape, live_counts[c]), .live = live_counts[c]};
    is_made &= pto_reserve_init(&sides[c].memory, sides[c].grid.size_bytes);
  }
  is_good &= is_made;
  for (uint32_t run = 0; run <= pto_bench_repeats(RUNS) && is_made; run++)
    for (size_t c = 0; c < COUNTS; c++) {
      const int status = pto_run(rt, submit_tasks, &sides[c]);
      if (status != PTO_OK) fprintf(stderr, "bench_lookup: %s\n", pto_last_error(rt));
      if (run > 0) keep(SUBMIT, c, status == PTO_OK ? sides[c].ns : -1, sides[c].candidates);
    }
  pto_runtime_destroy(rt);
  for (size_t c = 0; c < COUNTS; c++) pto_reserve_fini(&sides[c].memory);
}

int main(void) {
  for (uint32_t shape = 0; shape < SHAPE_COUNT; shape++)
    for (uint32_t which = 0; which < ORDER_COUNT; which++) {
      for (uint32_t step = 0; step < STEP_COUNT; step++)
        for (size_t c = 0; c < COUNTS; c++) results[step][c] = (struct result){.candidates = 0};
      make_order(which);
      bench_map(shape);
      bench_submits(shape);
      print_results(shape, which);
    }
  return is_good ? 0 : 1;
}
