/* SPDX-License-Identifier: MIT */
#include <check/predict/predict.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/session/session.h>
#include <formats/units.h>
#include <runtime/base/base.h>

/* ---- statistics ---- */

static int order_times(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static uint64_t time_at(const uint64_t *times, uint32_t count, uint32_t percent) {
  const uint64_t position = (uint64_t)(count - 1) * percent, index = position / 100, rest = position % 100;
  const uint64_t low = times[index], high = times[rest ? index + 1 : index];
  return low + ((high - low) * rest + 50) / 100;
}

struct pto_range pto_range_of(uint64_t *times_ps, uint32_t count) {
  PTO_ASSERT(count >= 1);
  qsort(times_ps, count, sizeof *times_ps, order_times);
  return (struct pto_range){time_at(times_ps, count, 10), time_at(times_ps, count, 50), time_at(times_ps, count, 90)};
}

void pto_origin_shares(const struct pto_forecast *forecast, uint32_t permille[PTO_ORIGIN_COUNT]) {
  unsigned __int128 sum = 0, before = 0;
  for (int i = 0; i < PTO_ORIGIN_COUNT; i++) sum += forecast->origin_ps[i];
  for (int i = 0; i < PTO_ORIGIN_COUNT; i++) {
    const unsigned __int128 after = before + forecast->origin_ps[i];
    permille[i] = sum ? (uint32_t)((after * 1000 + sum / 2) / sum) - (uint32_t)((before * 1000 + sum / 2) / sum) : 0;
    before = after;
  }
}

/* ---- the runs ---- */

static int load_chip(const struct pto_prediction_asked *asked, struct pto_config *config, struct pto_chip *chip,
                     struct pto_prediction *prediction, struct pto_error *error) {
  struct pto_chip_sheet *sheet = calloc(1, sizeof *sheet);
  if (!sheet) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip description");
  const int status = pto_chip_load_sheet(config->chip, chip, sheet, error);
  for (uint32_t i = 0; status == PTO_OK && i < sheet->count; i++) prediction->numbers[sheet->notes[i].tag]++;
  free(sheet);
  if (status) return status;
  if (asked->is_prebuilt) chip->is_graph_prebuilt = 1;
  if (config->clusters && config->clusters <= chip->cluster_count) {
    chip->cluster_count = config->clusters; /* so that trials may have more */
    config->clusters = 0;
  }
  snprintf(prediction->chip, sizeof prediction->chip, "%s", chip->name);
  snprintf(prediction->era, sizeof prediction->era, "%s", chip->era);
  return PTO_OK;
}

/* The first run that failed; NULL: none did. */
static const struct pto_forecast *find_failure(const struct pto_forecast *forecasts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (forecasts[i].exit_code != PTO_EXIT_OK) return &forecasts[i];
  return NULL;
}

static void take_ranges(struct pto_prediction *prediction, const struct pto_forecast *forecasts, uint64_t *times) {
  const uint32_t runs = prediction->runs;
  for (uint32_t i = 0; i < runs; i++) times[i] = forecasts[i].makespan_ps;
  prediction->makespan = pto_range_of(times, runs);
  for (uint32_t i = 0; i < runs; i++) times[i] = forecasts[i].window_ps;
  prediction->window = pto_range_of(times, runs);
}

/* Links are the last, and of several ranks. */
static uint32_t count_trials(uint32_t ranks) { return ranks ? PTO_LIMIT_COUNT : PTO_LIMIT_links; }

static void take_gains(struct pto_prediction *prediction, const struct pto_forecast *forecasts) {
  const uint64_t plain = prediction->plain.makespan_ps;
  for (uint32_t i = 0; i < count_trials(prediction->ranks); i++) {
    /* A trial that is refused, as a chip that gets too large for a program may be, says nothing. */
    const bool is_there = forecasts[i].exit_code == PTO_EXIT_OK && plain > 0;
    const __int128 gained = (__int128)plain - (__int128)forecasts[i].makespan_ps;
    prediction->gain_ppm[i] = is_there ? (int64_t)(gained * 1000000 / (__int128)plain) : 0;
  }
  prediction->bound = pto_limit_find(prediction->gain_ppm);
}

static bool is_cut_short(const struct pto_forecast *forecasts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (forecasts[i].exit_code == PTO_EXIT_INTERRUPTED) return true;
  return false;
}

/* Those that came to their end, in front. */
static uint32_t keep_ended(struct pto_forecast *forecasts, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (forecasts[i].exit_code == PTO_EXIT_OK) forecasts[kept++] = forecasts[i];
  return kept;
}

/* Runs with jitter first, then the trials. */
static int run_others(const struct pto_prediction_asked *asked, const struct pto_session_options *options,
                      const struct pto_chip *chip, struct pto_prediction *prediction, struct pto_error *error) {
  const uint32_t runs = asked->runs, trials = asked->is_without_bound ? 0 : count_trials(asked->ranks),
                 count = runs + trials;
  const bool has_kernels = prediction->plain.why_run[0] != '\0';
  struct pto_chip chips[PTO_LIMIT_COUNT];
  struct pto_forecast_job *jobs = calloc(count + 1, sizeof *jobs);
  struct pto_forecast *forecasts = calloc(count + 1, sizeof *forecasts);
  uint64_t *times = calloc(runs + 1, sizeof *times);
  int status = jobs && forecasts && times ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for %u runs", count);
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) {
    if (i >= runs) chips[i - runs] = pto_limit_chip(chip, (enum pto_limit)(i - runs));
    jobs[i] = (struct pto_forecast_job){.chip = i < runs ? chip : &chips[i - runs],
                                        .jitter_ppm = i < runs ? asked->jitter_ppm : 0,
                                        .jitter_seed = options->seed + 1 + i,
                                        .ranks = asked->ranks,
                                        .has_kernels = has_kernels};
  }
  if (status == PTO_OK) status = pto_forecast_all(options, jobs, count, asked->at_once, forecasts, error);
  prediction->is_interrupted = status == PTO_OK && is_cut_short(forecasts, count);
  if (prediction->is_interrupted) prediction->runs = keep_ended(forecasts, runs);
  const bool has_trials = status == PTO_OK && trials && !prediction->is_interrupted;
  const struct pto_forecast *failed = status == PTO_OK ? find_failure(forecasts, prediction->runs) : NULL;
  const struct pto_forecast *lost = has_trials ? pto_forecast_find_lost(forecasts + runs, trials) : NULL;
  if (failed || lost)
    prediction->plain = failed ? *failed : *lost;
  else if (status == PTO_OK && prediction->runs)
    take_ranges(prediction, forecasts, times);
  if (lost) prediction->plain.exit_code = PTO_EXIT_FAILED; /* the same program has run */
  if (has_trials) take_gains(prediction, forecasts + runs);
  free(times);
  free(forecasts);
  free(jobs);
  return status;
}

int pto_predict(const struct pto_prediction_asked *asked, struct pto_prediction *prediction, struct pto_error *error) {
  struct pto_session_options options;
  struct pto_config config;
  struct pto_chip chip;
  memset(prediction, 0, sizeof *prediction);
  prediction->ranks = asked->ranks;
  prediction->runs = asked->runs;
  prediction->jitter_ppm = asked->jitter_ppm;
  prediction->bound = PTO_LIMIT_COUNT;
  int status = pto_session_copy_options(&options, &config, asked->options, error);
  if (status == PTO_OK) status = load_chip(asked, &config, &chip, prediction, error);
  if (status) return status;
  const struct pto_forecast_job plain = {.chip = &chip, .ranks = asked->ranks};
  status = pto_forecast_all(&options, &plain, 1, 1, &prediction->plain, error);
  if (status || prediction->plain.exit_code != PTO_EXIT_OK) return status;
  return run_others(asked, &options, &chip, prediction, error);
}

/* ---- telling ---- */

static double us(uint64_t ps) { return (double)ps * 1e-6; }

static double share_of(const struct pto_forecast *forecast, int kind) {
  const double all = (double)forecast->makespan_ps * forecast->cores[kind];
  return all > 0 ? (double)forecast->busy_ps[kind] / all : 0;
}

static const char *const origin_names[] = {
#define X(kind, name) name,
    PTO_ORIGIN_LIST(X)
#undef X
};
static const char *const kind_names[] = {"AIC", "AIV"}, *const kind_keys[] = {"aic", "aiv"};

static void print_range(const char *label, uint64_t plain, const struct pto_prediction *p,
                        const struct pto_range *range, FILE *to) {
  if (plain == 0) {
    fprintf(to, "  %-8s none\n", label);
    return;
  }
  fprintf(to, "  %-8s %.1f us without jitter", label, us(plain));
  if (p->runs)
    fprintf(to, "; median %.1f us, 10 to 90 %% %.1f to %.1f us", us(range->median_ps), us(range->low_ps),
            us(range->high_ps));
  putc('\n', to);
}

static void print_tags(const struct pto_prediction *p, FILE *to) {
  fprintf(to, "  chip     %s, era \"%s\":", p->chip, p->era[0] ? p->era : "not said");
  for (int tag = PTO_CHIP_UNTAGGED + 1; tag < PTO_CHIP_TAG_COUNT; tag++)
    fprintf(to, " %" PRIu32 " numbers %s,", p->numbers[tag], pto_chip_tag_name((enum pto_chip_tag)tag));
  fprintf(to, " %" PRIu32 " without a source\n", p->numbers[PTO_CHIP_UNTAGGED]);
}

void pto_prediction_print(const struct pto_prediction *p, FILE *to) {
  const struct pto_forecast *plain = &p->plain;
  uint32_t shares[PTO_ORIGIN_COUNT];
  fprintf(to, "  tasks    %" PRIu64 ", %" PRIu64 " edge%s, %" PRIu64 " call%s", plain->tasks, plain->edges,
          pto_plural(plain->edges), plain->calls, pto_plural(plain->calls));
  if (p->ranks) fprintf(to, ", of %" PRIu32 " ranks", p->ranks);
  putc('\n', to);
  if (plain->why_run[0])
    fprintf(to, "  kernels  run: %s\n", plain->why_run);
  else
    fputs("  kernels  priced, not run\n", to);
  if (p->runs) fprintf(to, "  runs     %" PRIu32 " with jitter of %g %%\n", p->runs, (double)p->jitter_ppm * 1e-4);
  print_range("makespan", plain->makespan_ps, p, &p->makespan, to);
  print_range("window", plain->window_ps, p, &p->window, to);
  for (int kind = 0; kind < 2; kind++)
    fprintf(to, "  %-8s %s %5.1f %% busy, %" PRIu32 " of %" PRIu32 " cores used\n", kind ? "" : "cores",
            kind_names[kind], 100 * share_of(plain, kind), plain->used[kind], plain->cores[kind]);
  if (!p->is_interrupted) fprintf(to, "  bound by %s\n", pto_limit_name(p->bound));
#define X(id, name, trial)                                                                                             \
  if (!p->is_interrupted && PTO_LIMIT_##id < count_trials(p->ranks))                                                   \
    fprintf(to, "           %+6.1f %% with %s\n", -(double)p->gain_ppm[PTO_LIMIT_##id] * 1e-4, trial);
  PTO_LIMIT_LIST(X)
#undef X
  pto_origin_shares(plain, shares);
  fputs("  origin   of core time", to);
  for (int i = 0; i < PTO_ORIGIN_COUNT; i++)
    fprintf(to, "%s %.1f %% %s", i ? "," : "", shares[i] * 0.1, origin_names[i]);
  putc('\n', to);
  print_tags(p, to);
}

struct pto_coverage pto_prediction_coverage(const struct pto_prediction *p, const char *subject) {
  struct pto_coverage coverage = {.subject = subject};
  const struct pto_priced *priced = &p->plain.priced;
  pto_coverage_add(&coverage, PTO_COVERAGE_PRICES, p->plain.calls - priced->assumed_prices);
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_PRICES, priced->assumed_prices,
                             "their kernels state no cost, and the bytes of their tensors are taken for it");
  pto_coverage_add(&coverage, PTO_COVERAGE_GIVEN, priced->given_values);
  pto_coverage_leave(&coverage, PTO_COVERAGE_GIVEN, priced->assumed_values, "predict --values FILE.json");
  pto_coverage_add(&coverage, PTO_COVERAGE_JITTERS, p->runs);
  pto_coverage_leave(&coverage, PTO_COVERAGE_JITTERS, PTO_COVERAGE_UNCOUNTED, "predict --runs N");
  return coverage;
}

static void put_range(struct pto_json_writer *w, const struct pto_prediction *p, const char *key,
                      const struct pto_range *range) {
  if (!pto_json_try_key(w, key, p->runs > 0)) return;
  pto_json_object_begin(w);
  pto_json_key(w, "low_us"), pto_json_decimal(w, range->low_ps, 6);
  pto_json_key(w, "median_us"), pto_json_decimal(w, range->median_ps, 6);
  pto_json_key(w, "high_us"), pto_json_decimal(w, range->high_ps, 6);
  pto_json_object_end(w);
}

void pto_prediction_put(const struct pto_prediction *p, struct pto_json_writer *w) {
  const struct pto_forecast *plain = &p->plain;
  uint32_t shares[PTO_ORIGIN_COUNT];
  pto_json_put_string(w, "chip", p->chip);
  pto_json_put_string(w, "era", p->era[0] ? p->era : NULL);
  if (p->ranks) pto_json_put_u64(w, "ranks", p->ranks);
  pto_json_put_u64(w, "tasks", plain->tasks);
  pto_json_put_u64(w, "edges", plain->edges);
  pto_json_put_u64(w, "calls", plain->calls);
  pto_json_put_string(w, "kernels_run_because", plain->why_run[0] ? plain->why_run : NULL);
  pto_json_put_u64(w, "runs", p->runs);
  pto_json_key(w, "jitter_percent"), pto_json_decimal(w, p->jitter_ppm, 4);
  pto_json_key(w, "makespan_us"), pto_json_decimal(w, plain->makespan_ps, 6);
  pto_json_key(w, "window_us"), pto_json_decimal(w, plain->window_ps, 6);
  put_range(w, p, "makespan", &p->makespan);
  put_range(w, p, "window", &p->window);
  for (int kind = 0; kind < 2; kind++) {
    pto_json_put_object(w, kind_keys[kind]);
    pto_json_put_u64(w, "cores", plain->cores[kind]);
    pto_json_put_u64(w, "used", plain->used[kind]);
    pto_json_put_double(w, "busy_share", share_of(plain, kind));
    pto_json_object_end(w);
  }
  pto_json_key(w, "path_us"), pto_json_decimal(w, plain->path_ps, 6);
  pto_json_put_string(w, "bound_by", p->is_interrupted ? NULL : pto_limit_name(p->bound));
  pto_json_put_object(w, "gains");
#define X(id, name, trial)                                                                                             \
  if (!p->is_interrupted && PTO_LIMIT_##id < count_trials(p->ranks))                                                   \
    pto_json_put_double(w, name, (double)p->gain_ppm[PTO_LIMIT_##id] * 1e-6);
  PTO_LIMIT_LIST(X)
#undef X
  pto_json_object_end(w);
  pto_origin_shares(plain, shares);
  pto_json_put_object(w, "origins");
  for (int i = 0; i < PTO_ORIGIN_COUNT; i++) pto_json_put_double(w, origin_names[i], shares[i] * 1e-3);
  pto_json_object_end(w);
  pto_json_put_object(w, "chip_numbers");
  for (int tag = PTO_CHIP_UNTAGGED + 1; tag < PTO_CHIP_TAG_COUNT; tag++)
    pto_json_put_u64(w, pto_chip_tag_name((enum pto_chip_tag)tag), p->numbers[tag]);
  pto_json_put_u64(w, "without_source", p->numbers[PTO_CHIP_UNTAGGED]);
  pto_json_object_end(w);
}
