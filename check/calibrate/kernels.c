/* SPDX-License-Identifier: MIT */
#include <check/calibrate/kernels.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/calibrate/stages.h>

static const struct {
  const char *set, *measured; /* in kernels.csv */
  const char *kernel, *core, *key;
} names[] = {
    {"bpa-2026-03", "qk", "batch_qk", "AIC", "16x128x128 bf16 n16"},
    {"bpa-2026-03", "softmax", "batch_softmax", "AIV", "16x128 bf16 n16"},
    {"bpa-2026-03", "pv", "batch_pv", "AIC", "16x128x128 bf16 n16"},
    {"bpa-2026-03", "update", "batch_update_three_trips", "AIV", "16x128 n16"},
    {"pa-2026", "mean of qk softmax pv update", "mean_of_qk_softmax_pv_update", "MIX", "16x128 bf16"},
    {"qwen3-32b", "rmsnorm", "qwen3_32b_rmsnorm", "AIV", "batch 16"},
    {"qwen3-32b", "q_proj", "qwen3_32b_q_proj", "AIC", "weights 4190000"},
    {"qwen3-32b", "kv_proj", "qwen3_32b_kv_proj", "AIC", "weights 8390000"},
    {"qwen3-32b", "rope_kv_cache", "qwen3_32b_rope_kv_cache", "AIV", "batch 16"},
    {"qwen3-32b", "qk", "qwen3_32b_qk", "AIC", "batch 16"},
    {"qwen3-32b", "softmax", "qwen3_32b_softmax", "AIV", "batch 16"},
    {"qwen3-32b", "sv", "qwen3_32b_sv", "AIC", "batch 16"},
    {"qwen3-32b", "online_softmax", "qwen3_32b_online_softmax", "AIV", "batch 16"},
    {"qwen3-32b", "out_proj_residual", "qwen3_32b_out_proj_residual", "MIX", "weights 8390000"},
    {"qwen3-32b", "post_rmsnorm", "qwen3_32b_post_rmsnorm", "AIV", "batch 16"},
    {"qwen3-32b", "gate_proj", "qwen3_32b_gate_proj", "AIC", "weights 4190000"},
    {"qwen3-32b", "up_proj", "qwen3_32b_up_proj", "AIC", "weights 4190000"},
    {"qwen3-32b", "silu", "qwen3_32b_silu", "AIV", "batch 16"},
    {"qwen3-32b", "down_proj_residual", "qwen3_32b_down_proj_residual", "MIX", "weights 26200000"},
    {"qwen3-14b-90", "rmsnorm", "qwen3_14b_90_rmsnorm", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "q_proj", "qwen3_14b_90_q_proj", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "k_proj", "qwen3_14b_90_k_proj", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "v_proj", "qwen3_14b_90_v_proj", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "qk_norm", "qwen3_14b_90_qk_norm", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "rope", "qwen3_14b_90_rope", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "qk", "qwen3_14b_90_qk", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "softmax", "qwen3_14b_90_softmax", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "sv", "qwen3_14b_90_sv", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "online", "qwen3_14b_90_online", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "out_proj", "qwen3_14b_90_out_proj", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "post_rmsnorm", "qwen3_14b_90_post_rmsnorm", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "gate", "qwen3_14b_90_gate", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "up", "qwen3_14b_90_up", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "silu", "qwen3_14b_90_silu", "AIV", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "down", "qwen3_14b_90_down", "AIC", "decode 90 requests tile 16"},
    {"qwen3-14b-90", "down_residual", "qwen3_14b_90_down_residual", "AIV", "decode 90 requests tile 16"},
    {"pau-480", "qk", "qk_blocks", "AIC", "16x128x128 bf16 n64"},
    {"pau-480", "softmax", "softmax_prepare", "AIV", "16x8192 bf16"},
    {"pau-480", "pv", "pv_blocks", "AIC", "16x128x128 bf16 n64"},
    {"pau-480", "update", "online_update", "AIV", "16x128 first last"},
    {"gemm", "fp16 to f32 on the whole chip 1536 cubed", "gemm_on_24_cores", "AIC", "1536x1536x1536 fp16"},
    {"gemm", "fp16 to f32 on the whole chip 3072 cubed", "gemm_on_24_cores", "AIC", "3072x3072x3072 fp16"},
    {"gemm", "fp16 to f32 on the whole chip 6144 cubed", "gemm_on_24_cores", "AIC", "6144x6144x6144 fp16"},
};

/* What a source says of a commit: "… at 06386f1f". */
static void take_commit(struct pto_kernel_row *row) {
  const char *at = strstr(row->source, " at ");
  if (at && strlen(at + 4) == strspn(at + 4, "0123456789abcdef"))
    snprintf(row->commit, sizeof row->commit, "%.40s", at + 4);
}

static bool fill_row(const struct pto_csv *csv, size_t index, struct pto_kernel_row *row) {
#define CELL(name) pto_csv_cell(csv, index, pto_csv_column(csv, name))
  double number;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) {
    if (strcmp(names[i].set, CELL("set")) != 0 || strcmp(names[i].measured, CELL("kernel")) != 0) continue;
    snprintf(row->kernel, sizeof row->kernel, "%s", names[i].kernel);
    snprintf(row->core, sizeof row->core, "%s", names[i].core);
    snprintf(row->key, sizeof row->key, "%s", names[i].key);
    row->mean_ps = (uint64_t)(strtod(CELL("mean_us"), NULL) * 1e6 + 0.5);
    row->active_cores = (uint32_t)strtoul(CELL("cores_busy"), NULL, 10); /* "few": not known */
    row->count = pto_note_number(CELL("remark"), "# tasks", &number) ? (uint64_t)number : 0;
    snprintf(row->source, sizeof row->source, "%.100s", pto_measured_source(csv, index));
    snprintf(row->date, sizeof row->date, "%.10s", CELL("date"));
    take_commit(row);
    return row->mean_ps > 0;
  }
  return false;
#undef CELL
}

int pto_measured_kernels_read(const char *folder, struct pto_kernel_table *table, struct pto_calibration *c,
                              struct pto_error *error) {
  char path[4096];
  struct pto_csv csv;
  if ((size_t)snprintf(path, sizeof path, "%s/kernels.csv", folder) >= sizeof path || access(path, F_OK) != 0)
    return PTO_OK;
  int status = pto_csv_read(path, &csv, error);
  for (size_t i = 0; i < csv.row_count && !status; i++) {
    struct pto_kernel_row row = {0};
    if (!fill_row(&csv, i, &row))
      pto_calibration_warn(c, "kernels.csv: %.40s of %.40s is no kernel of the list",
                           pto_csv_cell(&csv, i, pto_csv_column(&csv, "kernel")),
                           pto_csv_cell(&csv, i, pto_csv_column(&csv, "set")));
    else if (!pto_kernel_table_add(table, &row))
      status = pto_error_set(error, PTO_ENOMEM, "%s: no memory for its rows", path);
  }
  pto_csv_fini(&csv);
  return status;
}

/* ---- stages ---- */

static int set_stage(struct pto_calibration *c, const char *key, uint64_t value, uint32_t rows,
                     struct pto_error *error) {
  struct pto_fit fit = {.component = "stages", .tag = PTO_CHIP_FITTED, .rows = rows};
  snprintf(fit.key, sizeof fit.key, "%s", key);
  snprintf(fit.value, sizeof fit.value, "%" PRIu64, value);
  snprintf(fit.source, sizeof fit.source, "kernels of known shape in kernels.csv, %" PRIu32 " rows", rows);
  return pto_calibration_set(c, &fit, error);
}

/* The chip as the sheet has it by now; its stages need not be whole yet. */
static int load_chip(const struct pto_calibration *c, struct pto_chip *chip, struct pto_error *error) {
  static const char *const fitted[] = {"start_ps", "trip_ps", "cube_percent"};
  struct pto_chip_sheet *sheet = malloc(sizeof *sheet);
  if (!sheet) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip file");
  *sheet = c->sheet;
  int status = PTO_OK;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(fitted) && !status; i++)
    status = pto_chip_sheet_set(sheet, &(struct pto_chip_note){.key = fitted[i], .value = "1"}, error);
  if (!status) status = pto_chip_sheet_load(sheet, c->path, chip, error);
  free(sheet);
  return status;
}

int pto_calibration_fit_stages(struct pto_calibration *c, const struct pto_kernel_table *table,
                               struct pto_error *error) {
  struct pto_stage_fit fit;
  struct pto_chip chip;
  if (!pto_chip_sheet_find(&c->sheet, "gm_to_l1_mbps") || table->count == 0) return PTO_OK;
  int status = load_chip(c, &chip, error);
  if (status || !pto_stages_fit(&chip, table, NULL, &fit)) return status;
  status = set_stage(c, "start_ps", fit.stages.start_ps, fit.row_count, error);
  if (!status) status = set_stage(c, "trip_ps", fit.stages.trip_ps, fit.row_count, error);
  return status ? status : set_stage(c, "cube_percent", fit.stages.cube_percent, fit.row_count, error);
}
