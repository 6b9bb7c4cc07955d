/* SPDX-License-Identifier: MIT */
/*
 * Prices from the windows of orchestrators, and from a graph that was there before the run.
 *
 * A window is the sum of what the program asks for, each times its price, since a submit waits for nothing while its
 * rings have room.  How often the program asks for each comes from running it with that price alone.
 */
#include <check/calibrate/calibrate.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check/calibrate/least_squares.h>
#include <check/predict/benchmarks.h>
#include <check/predict/forecast.h>

#define ROOMY_HEAP_BYTES (UINT64_C(8) << 30) /* no submit waits */
#define AT_ONCE 2u                           /* processes */
#define UNIT_PS 1000
#define TOLERANCE 0.003 /* of a window: a tenth of the aim of 3 % */
#define WINDOW_LIMIT 0.03
#define PREBUILT_LIMIT 0.02
#define MAX_WINDOWS (PTO_MAX_EQUATIONS - 1)

/* What is fitted: what it usually is, to choose among prices that windows do not tell apart, and what a call of
 * alloc_tensors with three outputs asks for of each. */
static const struct {
  const char *component, *key;
  double usual_ps, in_alloc_call;
} unknowns[] = {{"submit", "submit", 120000, 0},
                {"submit", "param", 20000, 3},
                {"submit", "lookup", 40000, 3},
                {"allocation", "alloc", 60000, 3},
                {"allocation", "alloc_tensors", 400000, 1}};
#define UNKNOWNS (uint32_t) PTO_ARRAY_LENGTH(unknowns)
_Static_assert(PTO_ARRAY_LENGTH(unknowns) <= PTO_MAX_UNKNOWNS, "each is an unknown of the equations");

static int set_number(struct pto_chip_sheet *sheet, const char *key, uint64_t number, struct pto_error *error) {
  struct pto_chip_note note = {.key = key, .tag = PTO_CHIP_ASSUMED};
  snprintf(note.value, sizeof note.value, "%" PRIu64, number);
  return pto_chip_sheet_set(sheet, &note, error);
}

static int set_word(struct pto_chip_sheet *sheet, const char *key, const char *word, struct pto_error *error) {
  struct pto_chip_note note = {.key = key, .tag = PTO_CHIP_ASSUMED};
  snprintf(note.value, sizeof note.value, "%s", word);
  return pto_chip_sheet_set(sheet, &note, error);
}

/* The chip of the sheet as it was in the era of a row, with `unknown` at UNIT_PS alone; UNKNOWNS: with the prices that
 * are known, and the others 0; ALL: with all of them. */
#define ALL UINT32_MAX
static int make_chip(struct pto_calibration *c, const char *era, uint32_t unknown, struct pto_chip *chip,
                     struct pto_error *error) {
  struct pto_chip_sheet *sheet = malloc(sizeof *sheet);
  int status = PTO_OK;
  if (!sheet) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip file");
  *sheet = c->sheet;
  if (strcmp(era, PTO_PREBUILT_ERA) == 0) status = set_word(sheet, "graph", "prebuilt", error);
  if (strcmp(era, "wiring in scheduler") == 0) status = set_word(sheet, "wiring", "scheduler", error);
  for (uint32_t i = 0; i < sheet->count && unknown < UNKNOWNS; i++)
    if (strcmp(sheet->notes[i].section, "control_ps") == 0 && strcmp(sheet->notes[i].key, "loop") != 0)
      strcpy(sheet->notes[i].value, "0"); /* a loop is of a scheduler, and never 0 */
  for (uint32_t k = 0; k < UNKNOWNS && !status && unknown != ALL; k++)
    status = set_number(sheet, unknowns[k].key, k == unknown ? UNIT_PS : 0, error);
  if (!status) status = pto_chip_sheet_load(sheet, c->path, chip, error);
  free(sheet);
  return status;
}

/* A benchmark on each of the chips. */
static int run_on(const struct pto_benchmark *benchmark, bool is_prebuilt, uint64_t heap_bytes,
                  const struct pto_chip *chips, uint32_t count, struct pto_forecast *forecasts,
                  struct pto_error *error) {
  struct pto_config config;
  struct pto_session_options options;
  struct pto_forecast_job jobs[UNKNOWNS + 1];
  pto_benchmark_options(benchmark, &config, &options);
  config.deps = pto_benchmark_deps(is_prebuilt);
  config.heap_bytes = heap_bytes;
  options.has_deps = true;
  for (uint32_t i = 0; i < count; i++) jobs[i] = (struct pto_forecast_job){.chip = &chips[i]};
  const int status = pto_forecast_all(&options, jobs, count, AT_ONCE, forecasts, error);
  for (uint32_t i = 0; i < count && !status; i++)
    if (forecasts[i].exit_code != PTO_EXIT_OK)
      return pto_error_set(error, forecasts[i].status ? forecasts[i].status : PTO_EINVAL, "%s %s: %s",
                           benchmark->program, benchmark->case_name, forecasts[i].sentence);
  return status;
}

struct windows {
  struct pto_calibration *c;
  struct pto_error *error;
  struct pto_equations equations;
  struct pto_measured_row rows[MAX_WINDOWS];
  const struct pto_benchmark *benchmarks[MAX_WINDOWS];
  uint32_t count;
};

/* An equation a window: how often each unknown price is asked for, and what the known ones leave of it. */
static int add_window(struct windows *w, uint32_t index) {
  struct pto_chip chips[UNKNOWNS + 1];
  struct pto_forecast forecasts[UNKNOWNS + 1];
  int status = PTO_OK;
  for (uint32_t k = 0; k <= UNKNOWNS && !status; k++)
    status = make_chip(w->c, w->rows[index].era, k, &chips[k], w->error);
  if (!status) status = run_on(w->benchmarks[index], false, ROOMY_HEAP_BYTES, chips, UNKNOWNS + 1, forecasts, w->error);
  if (status) return status;
  const double measured = w->rows[index].value_us * 1e6;
  const uint32_t r = w->equations.count++;
  for (uint32_t k = 0; k < UNKNOWNS; k++) w->equations.rows[r].counts[k] = (double)forecasts[k].window_ps / UNIT_PS;
  w->equations.rows[r].value = measured - (double)forecasts[UNKNOWNS].window_ps;
  w->equations.rows[r].tolerance = measured * TOLERANCE;
  return PTO_OK;
}

static void find_windows(struct windows *w, const struct pto_measurements *m) {
  struct pto_measured_row row;
  for (size_t i = 0; pto_measured_row_at(m, i, &row); i++) {
    if (strcmp(row.set, "calibrate") != 0 || strcmp(row.metric, "orchestrator") != 0 || row.value_us <= 0) continue;
    const struct pto_benchmark *benchmark = pto_benchmark_find(row.row);
    if (!benchmark || w->count == MAX_WINDOWS) {
      pto_calibration_warn(w->c, "row %.60s: no program of that name, or one too many; its window is not used",
                           row.row);
      continue;
    }
    w->benchmarks[w->count] = benchmark;
    w->rows[w->count++] = row;
  }
}

/* What a call of alloc_tensors takes in all was measured too, less exactly. */
static void add_alloc_call(struct windows *w, const struct pto_measurements *m) {
  double low, high;
  const char *source;
  if (!pto_micro_find(m, "alloc_tensors", PTO_MICRO_LOW, NULL, &low, &source) ||
      !pto_micro_find(m, "alloc_tensors", PTO_MICRO_HIGH, NULL, &high, &source))
    return;
  const uint32_t r = w->equations.count++;
  for (uint32_t k = 0; k < UNKNOWNS; k++) w->equations.rows[r].counts[k] = unknowns[k].in_alloc_call;
  w->equations.rows[r].value = (low + high) / 2;
  w->equations.rows[r].tolerance = (high - low) / 2;
}

/* Whole nanoseconds: windows are not known better. */
static int set_prices(struct windows *w, const double *prices) {
  int status = PTO_OK;
  double worst = 0;
  for (uint32_t r = 0; r < w->count; r++) {
    double off = -w->equations.rows[r].value;
    for (uint32_t k = 0; k < UNKNOWNS; k++)
      off += w->equations.rows[r].counts[k] * 1000 * floor(prices[k] / 1000 + 0.5);
    worst = fmax(worst, fabs(off) / (w->rows[r].value_us * 1e6));
  }
  for (uint32_t k = 0; k < UNKNOWNS && !status; k++) {
    struct pto_fit fit = {.component = unknowns[k].component,
                          .tag = PTO_CHIP_FITTED,
                          .rows = w->equations.count,
                          .residual = worst,
                          .is_joint = !pto_equations_identify(&w->equations, k)};
    snprintf(fit.key, sizeof fit.key, "%s", unknowns[k].key);
    snprintf(fit.value, sizeof fit.value, "%.0f", 1000 * floor(prices[k] / 1000 + 0.5));
    snprintf(fit.source, sizeof fit.source, "%.60s, %.20s; orchestrator windows of %" PRIu32 " programs",
             w->rows[0].source, w->rows[0].date, w->count);
    status = pto_calibration_set(w->c, &fit, w->error);
  }
  return status;
}

/* The windows again, by the engine and with rings as they are. */
static int check_windows(struct windows *w) {
  int status = PTO_OK;
  for (uint32_t r = 0; r < w->count && !status; r++) {
    struct pto_calibration_check check = {.unit = "us", .measured = w->rows[r].value_us, .limit = WINDOW_LIMIT};
    struct pto_forecast forecast;
    struct pto_chip chip;
    status = make_chip(w->c, w->rows[r].era, ALL, &chip, w->error);
    if (!status) status = run_on(w->benchmarks[r], false, 0, &chip, 1, &forecast, w->error);
    if (status) break;
    check.found = (double)forecast.window_ps / 1e6;
    snprintf(check.what, sizeof check.what, "%.60s, orchestrator", w->rows[r].row);
    pto_calibration_check(w->c, &check);
  }
  return status;
}

static int fit_windows(struct pto_calibration *c, const struct pto_measurements *m, struct pto_error *error) {
  struct windows w = {.c = c, .error = error, .equations.unknown_count = UNKNOWNS};
  double prices[PTO_MAX_UNKNOWNS];
  int status = PTO_OK;
  for (uint32_t k = 0; k < UNKNOWNS; k++) w.equations.usual[k] = unknowns[k].usual_ps;
  find_windows(&w, m);
  if (w.count == 0) return PTO_OK;
  for (uint32_t i = 0; i < w.count && !status; i++) status = add_window(&w, i);
  if (status) return status;
  add_alloc_call(&w, m);
  if (!pto_equations_solve(&w.equations, prices)) return PTO_OK;
  status = set_prices(&w, prices);
  return status ? status : check_windows(&w);
}

/* ---- a graph that is there before the run ---- */

static int run_prebuilt(struct pto_calibration *c, const struct pto_benchmark *benchmark, uint64_t fanout_ps,
                        double *makespan_ps, struct pto_error *error) {
  struct pto_forecast forecast;
  struct pto_chip chip;
  int status = make_chip(c, PTO_PREBUILT_ERA, ALL, &chip, error);
  if (status) return status;
  chip.work_ps[PTO_WORK_FANOUT] = fanout_ps;
  status = run_on(benchmark, true, ROOMY_HEAP_BYTES, &chip, 1, &forecast, error);
  if (!status) *makespan_ps = (double)forecast.makespan_ps;
  return status;
}

/* The price by which the makespan comes out, as where it grows evenly with the price. */
static int fit_fanout(struct pto_calibration *c, const struct pto_benchmark *benchmark,
                      const struct pto_measured_row *row, struct pto_error *error) {
  const double target = row->value_us * 1e6;
  double prices[2] = {200000, 400000}, found[2];
  int status = run_prebuilt(c, benchmark, 200000, &found[0], error);
  if (!status) status = run_prebuilt(c, benchmark, 400000, &found[1], error);
  for (uint32_t round = 0; round < 4 && !status && fabs(found[1] / target - 1) > 0.001; round++) {
    const double slope = (found[1] - found[0]) / (prices[1] - prices[0]);
    if (slope <= 0) break;
    const double next = fmax(0, 1000 * floor((prices[1] + (target - found[1]) / slope) / 1000 + 0.5));
    if (next == prices[1]) break;
    prices[0] = prices[1];
    found[0] = found[1];
    prices[1] = next;
    status = run_prebuilt(c, benchmark, (uint64_t)next, &found[1], error);
  }
  if (status) return status;
  struct pto_fit fit = {.component = "dispatch and completion",
                        .key = "fanout",
                        .tag = PTO_CHIP_FITTED,
                        .rows = 1,
                        .residual = fabs(found[1] / target - 1)};
  snprintf(fit.value, sizeof fit.value, "%.0f", prices[1]);
  snprintf(fit.source, sizeof fit.source, "%.80s, %.20s; the makespan of a prebuilt graph", row->source, row->date);
  struct pto_calibration_check check = {
      .unit = "us", .measured = row->value_us, .found = found[1] / 1e6, .limit = PREBUILT_LIMIT};
  snprintf(check.what, sizeof check.what, "%.60s, makespan", row->row);
  pto_calibration_check(c, &check);
  return pto_calibration_set(c, &fit, error);
}

static int fit_prebuilt(struct pto_calibration *c, const struct pto_measurements *m, struct pto_error *error) {
  struct pto_measured_row row;
  int status = PTO_OK;
  for (size_t i = 0; pto_measured_row_at(m, i, &row) && !status; i++) {
    if (strcmp(row.set, "calibrate") != 0 || strcmp(row.metric, "makespan") != 0) continue;
    const struct pto_benchmark *benchmark = pto_benchmark_find(row.row);
    if (strcmp(row.era, PTO_PREBUILT_ERA) == 0 && benchmark)
      status = fit_fanout(c, benchmark, &row, error);
    else
      pto_calibration_warn(c, "row %.60s: a makespan is not fitted", row.row);
  }
  return status;
}

int pto_calibration_from_runs(struct pto_calibration *c, const struct pto_measurements *m, struct pto_error *error) {
  const int status = fit_windows(c, m, error);
  return status ? status : fit_prebuilt(c, m, error);
}
