/* SPDX-License-Identifier: MIT */
#include <check/calibrate/stages.h>

#include <string.h>

#define MICROSECOND_PS UINT64_C(1000000)
#define LEAST_PS (5 * MICROSECOND_PS) /* of shorter rows those are fitted to that say of how many calls they are */

/* ---- the rows ---- */

/* Of paged attention in bf16 with 16 query rows, heads of 128 elements and cache blocks of 128 tokens: bytes of q, of a
 * block of k or v, of scores in f32, of weights in bf16, of o in f32, of a number a row. */
enum { Q = 16 * 128 * 2, KV = 128 * 128 * 2, S = 16 * 128 * 4, P = 16 * 128 * 2, O = 16 * 128 * 4, N = 16 * 4 };
enum { MACS = 16 * 128 * 128, TILE = 16 * 128 };

/* n products of a block; the cube loads the next block while it works, where there are several. */
#define PRODUCT(set_, name_, kernel_, n, cores_, trips_, in_, out_, l2_)                                               \
  {                                                                                                                    \
    .set = set_, .name = name_, .kernel = kernel_, .core = "AIC", .key = "16x128x128 bf16 n" #n,                       \
    .active_cores = cores_, .l2_bytes = l2_, .cost = {                                                                 \
      .bytes_in = in_,                                                                                                 \
      .bytes_out = out_,                                                                                               \
      .multiply_adds = UINT64_C(n) * MACS,                                                                             \
      .dtype = PTO_BFLOAT16,                                                                                           \
      .trips = trips_,                                                                                                 \
      .l0a_bytes = n * Q,                                                                                              \
      .l0b_bytes = n * KV                                                                                              \
    }                                                                                                                  \
  }
/* A vector kernel, all of whose bytes tasks hand to each other. */
#define VECTOR(set_, name_, kernel_, core_, key_, cores_, trips_, in_, out_, elems_)                                   \
  {                                                                                                                    \
    .set = set_, .name = name_, .kernel = kernel_, .core = core_, .key = key_, .active_cores = cores_,                 \
    .l2_bytes = (in_) + (out_), .cost = {                                                                              \
      .bytes_in = in_,                                                                                                 \
      .bytes_out = out_,                                                                                               \
      .vector_elems = elems_,                                                                                          \
      .trips = trips_                                                                                                  \
    }                                                                                                                  \
  }
/* A product n x n x n in fp16 with sums in f32, a 24th of it a core; each matrix comes from global memory once. */
#define GEMM(name_, n)                                                                                                 \
  {                                                                                                                    \
    .set = "gemm", .name = name_, .kernel = "gemm_on_24_cores", .core = "AIC", .key = #n "x" #n "x" #n " fp16",        \
    .active_cores = 24, .has_launch = true, .cost = {                                                                  \
      .bytes_in = UINT64_C(4) * n * n / 24,                                                                            \
      .bytes_out = UINT64_C(4) * n * n / 24,                                                                           \
      .multiply_adds = UINT64_C(1) * n * n * n / 24,                                                                   \
      .dtype = PTO_FLOAT16                                                                                             \
    }                                                                                                                  \
  }
/* So many bytes of bf16 weights, each met by 16 rows. */
#define PROJECTION(name_, kernel_, core_, bytes, cores_)                                                               \
  {                                                                                                                    \
    .set = "qwen3-32b", .name = name_, .kernel = kernel_, .core = core_, .key = "weights " #bytes,                     \
    .active_cores = cores_, .cost = {                                                                                  \
      .bytes_in = bytes,                                                                                               \
      .multiply_adds = UINT64_C(8) * bytes,                                                                            \
      .dtype = PTO_BFLOAT16,                                                                                           \
      .l0a_bytes = bytes / 8,                                                                                          \
      .l0b_bytes = bytes                                                                                               \
    }                                                                                                                  \
  }

/* An element of a tile takes seven operations in softmax (scale, maximum, difference, exponential, rounding and back,
 * sum), in an update three, and a row eight there. */
#define SOFTMAX_ELEMS (7 * TILE)
#define UPDATE_ELEMS (3 * TILE + 8 * 16)
#define UPDATE_IN (2 * N + O + 2 * N + O)
#define UPDATE_OUT (2 * N + O)
#define MEAN "mean of qk softmax pv update"
#define MEAN_KERNEL "mean_of_qk_softmax_pv_update"

/* One product of the mean of four kernels. */
#define MEAN_PRODUCT(left_, out_, l2_)                                                                                 \
  {                                                                                                                    \
    .set = "pa-2026", .name = MEAN, .kernel = MEAN_KERNEL, .core = "MIX", .key = "16x128 bf16", .active_cores = 1,     \
    .l2_bytes = l2_, .cost = {                                                                                         \
      .bytes_in = (left_) + KV,                                                                                        \
      .bytes_out = out_,                                                                                               \
      .multiply_adds = MACS,                                                                                           \
      .dtype = PTO_BFLOAT16,                                                                                           \
      .l0a_bytes = left_,                                                                                              \
      .l0b_bytes = KV                                                                                                  \
    }                                                                                                                  \
  }

static const struct pto_stage_row rows[] = {
    PRODUCT("bpa-2026-03", "qk", "batch_qk", 16, 24, 0, 16 * (Q + KV), 16 * S, 16 * S),
    VECTOR("bpa-2026-03", "softmax", "batch_softmax", "AIV", "16x128 bf16 n16", 48, 32, 16 * S, 16 * (P + 2 * N),
           16 * SOFTMAX_ELEMS),
    PRODUCT("bpa-2026-03", "pv", "batch_pv", 16, 24, 0, 16 * (P + KV), 16 * O, 16 * (P + O)),
    VECTOR("bpa-2026-03", "update", "batch_update_three_trips", "AIV", "16x128 n16", 48, 48, 16 * UPDATE_IN,
           16 * UPDATE_OUT, 16 * UPDATE_ELEMS),
    MEAN_PRODUCT(Q, S, S),
    VECTOR("pa-2026", MEAN, MEAN_KERNEL, "MIX", "16x128 bf16", 1, 0, S, P + 2 * N, SOFTMAX_ELEMS),
    MEAN_PRODUCT(P, O, P + O),
    VECTOR("pa-2026", MEAN, MEAN_KERNEL, "MIX", "16x128 bf16", 1, 0, UPDATE_IN, UPDATE_OUT, UPDATE_ELEMS),
    PRODUCT("pau-480", "qk", "qk_blocks", 64, 24, 0, Q + 64 * KV, 64 * S, 64 * S),
    VECTOR("pau-480", "softmax", "softmax_prepare", "AIV", "16x8192 bf16", 1, 192, 2 * 64 * S, 64 * P + 2 * N,
           64 * SOFTMAX_ELEMS),
    PRODUCT("pau-480", "pv", "pv_blocks", 64, 24, 0, 64 * (P + KV), O, 64 * P + O),
    VECTOR("pau-480", "update", "online_update", "AIV", "16x128 first last", 1, 0, 2 * N + O, 2 * N + 2 * O, TILE),
    GEMM("fp16 to f32 on the whole chip 1536 cubed", 1536),
    GEMM("fp16 to f32 on the whole chip 3072 cubed", 3072),
    GEMM("fp16 to f32 on the whole chip 6144 cubed", 6144),
    PROJECTION("q_proj", "qwen3_32b_q_proj", "AIC", 4190000, 24),
    PROJECTION("kv_proj", "qwen3_32b_kv_proj", "AIC", 8390000, 1),
    PROJECTION("out_proj_residual", "qwen3_32b_out_proj_residual", "MIX", 8390000, 16),
    PROJECTION("gate_proj", "qwen3_32b_gate_proj", "AIC", 4190000, 24),
    PROJECTION("up_proj", "qwen3_32b_up_proj", "AIC", 4190000, 24),
    PROJECTION("down_proj_residual", "qwen3_32b_down_proj_residual", "MIX", 26200000, 16),
};

const struct pto_stage_row *pto_stage_row_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(rows) ? &rows[index] : NULL;
}

static bool is_same(const struct pto_stage_row *a, const struct pto_stage_row *b) {
  return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->core, b->core) == 0 && strcmp(a->key, b->key) == 0;
}

/* The first of those that are one row of a table; *count is how many they are. */
static const struct pto_stage_row *next_row(uint32_t *at, uint32_t *count) {
  if (*at >= PTO_ARRAY_LENGTH(rows)) return NULL;
  const struct pto_stage_row *row = &rows[*at];
  for (*count = 0; *at < PTO_ARRAY_LENGTH(rows) && is_same(&rows[*at], row); ++*at) ++*count;
  return row;
}

/* NULL: the table has it not. */
static const struct pto_kernel_row *find_row(const struct pto_kernel_table *table, const struct pto_stage_row *row) {
  for (uint32_t i = 0; i < table->count; i++) {
    const struct pto_kernel_row *of = &table->rows[i];
    if (strcmp(of->kernel, row->kernel) == 0 && strcmp(of->core, row->core) == 0 && strcmp(of->key, row->key) == 0)
      return of;
  }
  return NULL;
}

uint64_t pto_stages_measured(const struct pto_kernel_table *table, const struct pto_stage_row *row) {
  const struct pto_kernel_row *found = find_row(table, row);
  return found ? found->mean_ps : 0;
}

/* ---- what stages say ---- */

/* ⌈bytes · 10⁶ / what a core has of a memory, where so many share it⌉ */
static uint64_t shared_ps(uint64_t bytes, uint64_t core_mbps, uint64_t chip_mbps, uint32_t cores) {
  return pto_max_u64(pto_timing_scale_wide(bytes, MICROSECOND_PS, core_mbps),
                     pto_timing_scale_wide(bytes, MICROSECOND_PS * cores, chip_mbps));
}

static uint64_t predict_one(const struct pto_chip *chip, const struct pto_timing *timing,
                            const struct pto_stage_fit *fit, const struct pto_stage_row *row) {
  const uint32_t kind = row->cost.multiply_adds ? PTO_AIC : PTO_AIV;
  const struct pto_timing_load load = pto_stages_load(&fit->stages, timing, &row->cost, kind);
  const uint64_t stream =
      shared_ps(load.bytes - row->l2_bytes, chip->core_bandwidth_mbps, chip->chip_bandwidth_mbps, row->active_cores) +
      shared_ps(row->l2_bytes, chip->l2_core_bandwidth_mbps, chip->l2_chip_bandwidth_mbps, row->active_cores);
  return load.serial_ps + pto_max_u64(load.compute_ps, stream) + (row->has_launch ? fit->launch_ps : 0);
}

static uint64_t predict(const struct pto_chip *chip, const struct pto_timing *timing, const struct pto_stage_fit *fit,
                        const struct pto_stage_row *row, uint32_t count) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += predict_one(chip, timing, fit, &row[i]);
  return sum / count;
}

uint64_t pto_stages_predict(const struct pto_chip *chip, const struct pto_stage_fit *fit,
                            const struct pto_stage_row *row) {
  struct pto_timing timing;
  const struct pto_stage_row *found;
  uint32_t at = 0, count;
  pto_timing_init(&timing, chip);
  while ((found = next_row(&at, &count)) != NULL)
    if (is_same(found, row)) return predict(chip, &timing, fit, found, count);
  return 0;
}

/* ---- the fit ---- */

struct search {
  const struct pto_chip *chip;
  const struct pto_timing *timing;
  struct {
    const struct pto_stage_row *row;
    uint32_t count;
    uint64_t measured_ps;
  } rows[PTO_ARRAY_LENGTH(rows)];
  uint32_t row_count;
};

/* Millionths of the measured time, at most twice it, squared. */
static uint64_t badness(const struct search *search, const struct pto_stage_fit *fit) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < search->row_count; i++) {
    const uint64_t is = search->rows[i].measured_ps;
    const uint64_t says = predict(search->chip, search->timing, fit, search->rows[i].row, search->rows[i].count);
    const uint64_t apart = pto_min_u64(says > is ? says - is : is - says, 2 * is);
    const uint64_t millionths = (uint64_t)((unsigned __int128)apart * 1000000 / is);
    sum += millionths * millionths;
  }
  return sum;
}

/* Each unknown in turn goes up or down by its step while that is better; then the steps are halved. */
static void descend(const struct search *search, struct pto_stage_fit *fit) {
  struct unknown {
    uint64_t *value;
    uint64_t step, most;
  } unknowns[] = {{&fit->stages.start_ps, 512000, 5 * MICROSECOND_PS},
                  {&fit->stages.trip_ps, 128000, 2 * MICROSECOND_PS},
                  {&fit->stages.cube_percent, 16, 100},
                  {&fit->launch_ps, 8192000, 100 * MICROSECOND_PS}};
  uint64_t best = badness(search, fit);
  for (bool is_finest = false, has_moved = true; has_moved || !is_finest;) {
    if (!has_moved) {
      is_finest = true;
      for (size_t i = 0; i < PTO_ARRAY_LENGTH(unknowns); i++) {
        const uint64_t finest = unknowns[i].most > 100 ? 1000 : 1;
        is_finest &= unknowns[i].step <= finest;
        if (unknowns[i].step > finest) unknowns[i].step /= 2;
      }
    }
    has_moved = false;
    for (size_t i = 0; i < 2 * PTO_ARRAY_LENGTH(unknowns); i++) {
      const struct unknown *u = &unknowns[i / 2];
      const uint64_t before = *u->value, least = u->most > 100 ? 0 : 1;
      if (i % 2 ? before + u->step > u->most : before < least + u->step) continue;
      *u->value = i % 2 ? before + u->step : before - u->step;
      const uint64_t now = badness(search, fit);
      has_moved |= now < best;
      if (now < best)
        best = now;
      else
        *u->value = before;
    }
  }
}

bool pto_stages_fit(const struct pto_chip *chip, const struct pto_kernel_table *table,
                    const struct pto_stage_row *left_out, struct pto_stage_fit *fit) {
  struct pto_timing timing;
  struct search search = {.chip = chip, .timing = &timing};
  const struct pto_stage_row *row;
  uint32_t at = 0, count;
  pto_timing_init(&timing, chip);
  while ((row = next_row(&at, &count)) != NULL) {
    const struct pto_kernel_row *measured = find_row(table, row);
    if (!measured || (left_out && is_same(row, left_out))) continue;
    if (measured->mean_ps < LEAST_PS && measured->count == 0) continue;
    search.rows[search.row_count].row = row;
    search.rows[search.row_count].count = count;
    search.rows[search.row_count++].measured_ps = measured->mean_ps;
  }
  *fit = (struct pto_stage_fit){.stages = chip->stages, .row_count = search.row_count};
  fit->stages.start_ps = fit->stages.trip_ps = 0;
  fit->stages.cube_percent = 100;
  if (search.row_count == 0) return false;
  descend(&search, fit);
  return true;
}
