/* SPDX-License-Identifier: MIT */
#include <check/what_if/what_if.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <orchestration/loader/program_run.h>
#include <report/run/chip_keys.h>
#include <report/run/run_path.h>
#include <runtime/base/base.h>

#define LEAST_WINDOW UINT64_C(16)
#define MOST_WINDOW UINT64_C(16384)

/* ---- the runs ---- */

/* Chips and jobs of all runs, with where each one's end goes. */
struct pto_what_if_plan {
  struct pto_what_if *asked;
  struct pto_session_options options;
  struct pto_config config;
  struct pto_chip plain;
  struct pto_chip_sheet sheet;
  struct pto_chip *chips;
  struct pto_forecast_job *jobs;
  struct pto_what_if_run **runs;
  struct pto_forecast *forecasts;
  uint32_t count, capacity;
  struct pto_error failure; /* other than that a chip may not be so */
};

/* What a chip file may not have is told as a run that is refused; any other failure is that of the whole. */
static void refuse(struct pto_what_if_plan *plan, struct pto_what_if_run *run, const struct pto_error *error) {
  if (error->status != PTO_EINVAL) plan->failure = *error;
  run->exit_code = PTO_EXIT_USAGE;
  run->status = error->status;
  snprintf(run->sentence, sizeof run->sentence, "%.*s", (int)sizeof run->sentence - 1, error->sentence);
}

static struct pto_forecast_job *add_job(struct pto_what_if_plan *plan, struct pto_what_if_run *run,
                                        const struct pto_chip *chip) {
  PTO_ASSERT(plan->count < plan->capacity);
  const uint32_t at = plan->count++;
  plan->chips[at] = *chip;
  plan->runs[at] = run;
  plan->jobs[at] = (struct pto_forecast_job){.chip = &plan->chips[at],
                                             .ranks = plan->asked->ranks,
                                             .has_kernels = plan->asked->plain.why_run[0] != '\0',
                                             .is_priced = plan->asked->ranks && !plan->asked->plain.why_run[0]};
  return &plan->jobs[at];
}

/* A run with another value of a key. */
static void add_value(struct pto_what_if_plan *plan, const struct pto_chip_note *note, uint64_t value,
                      const char *label, struct pto_what_if_run *run) {
  struct pto_chip_sheet *sheet = malloc(sizeof *sheet);
  struct pto_chip_note changed = *note;
  struct pto_chip chip;
  struct pto_error error;
  run->value = value;
  snprintf(changed.value, sizeof changed.value, "%" PRIu64, value);
  pto_error_set(&error, PTO_ENOMEM, "no memory for a chip description");
  if (sheet) *sheet = plan->sheet;
  if (!sheet || pto_chip_sheet_set(sheet, &changed, &error) || pto_chip_sheet_load(sheet, label, &chip, &error))
    refuse(plan, run, &error);
  else
    (void)add_job(plan, run, &chip);
  free(sheet);
}

static void plan_keys(struct pto_what_if_plan *plan, const char *label) {
  for (uint32_t i = 0; i < plan->sheet.count; i++) {
    const struct pto_chip_note *note = &plan->sheet.notes[i];
    const uint64_t value = pto_chip_key_number(note);
    if (!value || (!plan->asked->ranks && strcmp(note->section, "fabric") == 0)) continue;
    struct pto_what_if_key *key = &plan->asked->keys[plan->asked->key_count++];
    key->note = *note;
    add_value(plan, note, value / 2, label, &key->half);
    add_value(plan, note, value * 2, label, &key->twice);
  }
}

static void add_part(struct pto_what_if_plan *plan, const char *prefix, const char *what, const char *chip_set) {
  struct pto_what_if *asked = plan->asked;
  struct pto_chip chip;
  struct pto_error error;
  char *name;
  if (!chip_set[0] || asked->part_count == PTO_ARRAY_LENGTH(asked->parts)) return;
  struct pto_what_if_part *part = &asked->parts[asked->part_count++];
  snprintf(part->what, sizeof part->what, "%s%s", prefix, what);
  snprintf(part->chip_set, sizeof part->chip_set, "%s", chip_set);
  const bool has_name = asprintf(&name, "%s,%s", plan->config.chip, chip_set) >= 0;
  const int status = has_name ? pto_chip_load(name, &chip, &error)
                              : pto_error_set(&error, PTO_ENOMEM, "no memory for the name of a chip");
  if (has_name) free(name);
  if (status) {
    refuse(plan, &part->half, &error);
    return;
  }
  chip.cluster_count = plan->plain.cluster_count;
  (void)add_job(plan, &part->half, &chip);
}

static void plan_parts(struct pto_what_if_plan *plan) {
  const struct pto_forecast *plain = &plan->asked->plain;
  const char *what, *keys;
  char set[sizeof plan->asked->parts[0].chip_set];
  for (uint32_t i = 0; (what = pto_path_trial_at(i, plan->asked->ranks > 0, &keys)) != NULL; i++)
    add_part(plan, "", what, pto_chip_keys_faster(&plan->sheet, keys, set, sizeof set));
  for (uint32_t i = 0; i < PTO_FORECAST_KERNELS && plain->kernels[i][0]; i++) {
    snprintf(set, sizeof set, "half_kernel=%s", plain->kernels[i]);
    add_part(plan, "kernel ", plain->kernels[i], set);
  }
}

/* Powers of two up to all of them, and all of them. */
static void plan_clusters(struct pto_what_if_plan *plan) {
  struct pto_what_if_curve *curve = &plan->asked->clusters;
  const uint32_t all = plan->plain.cluster_count;
  for (uint32_t count = 1; curve->count < PTO_ARRAY_LENGTH(curve->points); count = pto_min_u64(count * 2, all)) {
    struct pto_chip chip = plan->plain;
    chip.cluster_count = count;
    chip.scheduler_count = pto_min_u64(chip.scheduler_count, count);
    curve->points[curve->count].value = count;
    (void)add_job(plan, &curve->points[curve->count++], &chip);
    if (count == all) break;
  }
}

static void plan_window(struct pto_what_if_plan *plan) {
  struct pto_what_if_curve *curve = &plan->asked->window;
  for (uint64_t window = LEAST_WINDOW; window <= MOST_WINDOW; window *= 2) {
    curve->points[curve->count].value = window;
    add_job(plan, &curve->points[curve->count++], &plan->plain)->window = window;
  }
}

/* ---- what came of them ---- */

/* With the handshake, which a forecast leaves out. */
static void take_end(struct pto_what_if_run *run, const struct pto_forecast *forecast, const struct pto_chip *chip) {
  run->exit_code = forecast->exit_code;
  run->status = forecast->status;
  run->makespan_ps = forecast->exit_code == PTO_EXIT_OK ? forecast->makespan_ps + chip->handshake_ps : 0;
  snprintf(run->sentence, sizeof run->sentence, "%.*s", (int)sizeof run->sentence - 1, forecast->sentence);
}

static uint64_t change_of(const struct pto_what_if_run *run, uint64_t makespan) {
  if (run->exit_code != PTO_EXIT_OK) return 0;
  return run->makespan_ps > makespan ? run->makespan_ps - makespan : makespan - run->makespan_ps;
}

static uint64_t effect_of(const struct pto_what_if_key *key, uint64_t makespan) {
  return pto_max_u64(change_of(&key->half, makespan), change_of(&key->twice, makespan));
}

static void order_parts(struct pto_what_if *asked) {
  for (uint32_t i = 1; i < asked->part_count; i++) {
    const struct pto_what_if_part part = asked->parts[i];
    const uint64_t change = change_of(&part.half, asked->makespan_ps);
    uint32_t at = i;
    for (; at > 0 && change_of(&asked->parts[at - 1].half, asked->makespan_ps) < change; at--)
      asked->parts[at] = asked->parts[at - 1];
    asked->parts[at] = part;
  }
}

/* Of equal effect in the file's order: few keys, so a stable sort by insertion. */
static void order_keys(struct pto_what_if *asked) {
  for (uint32_t i = 1; i < asked->key_count; i++) {
    const struct pto_what_if_key key = asked->keys[i];
    uint32_t at = i;
    for (; at > 0 && effect_of(&asked->keys[at - 1], asked->makespan_ps) < effect_of(&key, asked->makespan_ps); at--)
      asked->keys[at] = asked->keys[at - 1];
    asked->keys[at] = key;
  }
}

double pto_what_if_elasticity(const struct pto_what_if_key *key) {
  if (key->half.exit_code != PTO_EXIT_OK || key->twice.exit_code != PTO_EXIT_OK) return NAN;
  return log((double)key->twice.makespan_ps / (double)key->half.makespan_ps) /
         log((double)key->twice.value / (double)key->half.value);
}

/* ---- shards ---- */

static json_t *pack_forecast(const struct pto_forecast *forecast) {
  return json_pack("{s:i, s:i, s:s, s:I}", "exit", forecast->exit_code, "status", forecast->status, "sentence",
                   forecast->sentence, "makespan_ps", (json_int_t)forecast->makespan_ps);
}

static int unpack_forecast(json_t *result, uint32_t index, struct pto_forecast *forecast, struct pto_error *error) {
  const char *sentence;
  json_int_t makespan;
  if (json_unpack(result, "{s:i, s:i, s:s, s:I}", "exit", &forecast->exit_code, "status", &forecast->status, "sentence",
                  &sentence, "makespan_ps", &makespan))
    return pto_error_set(error, PTO_EINVAL, "item %" PRIu32 " of the lines is no run of what-if", index);
  forecast->makespan_ps = (uint64_t)makespan;
  snprintf(forecast->sentence, sizeof forecast->sentence, "%s", sentence);
  return PTO_OK;
}

static uint64_t digest_of(const struct pto_what_if_plan *plan) {
  const struct pto_forecast *plain = &plan->asked->plain;
  const uint64_t counts[] = {plain->makespan_ps, plain->tasks,      plain->edges,
                             plain->calls,       plain->busy_ps[0], plain->busy_ps[1]};
  uint64_t digest = pto_xxh64(counts, sizeof counts, 0);
  for (uint32_t i = 0; i < plan->sheet.count; i++) {
    const struct pto_chip_note *note = &plan->sheet.notes[i];
    digest = pto_xxh64(note->key, strlen(note->key), digest);
    digest = pto_xxh64(note->value, strlen(note->value), digest);
  }
  for (uint32_t i = 0; i < plan->asked->part_count; i++)
    digest = pto_xxh64(plan->asked->parts[i].chip_set, strlen(plan->asked->parts[i].chip_set), digest);
  for (uint32_t i = 0; i < plan->count; i++) digest = pto_xxh64(&plan->runs[i]->value, sizeof(uint64_t), digest);
  return digest;
}

/* ---- all of it ---- */

/* The jobs of the share, moved to the begin; items[i] is which one the i-th is. */
static uint32_t choose_jobs(const struct pto_what_if_plan *plan, const struct pto_share *share, uint32_t *items) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->count; i++) {
    if (!pto_share_has(share, i)) continue;
    plan->jobs[count] = plan->jobs[i];
    items[count++] = i;
  }
  return count;
}

static int check_lost(const struct pto_what_if_plan *plan, uint32_t count, struct pto_error *error) {
  const struct pto_forecast *lost = pto_forecast_find_lost(plan->forecasts, count);
  return lost ? pto_error_set(error, lost->status, "%s", lost->sentence) : PTO_OK;
}

static int run_jobs(struct pto_what_if_plan *plan, uint32_t at_once, struct pto_share *share, uint32_t *items,
                    struct pto_error *error) {
  const uint32_t count = choose_jobs(plan, share, items);
  int status = pto_forecast_all(&plan->options, plan->jobs, count, at_once, plan->forecasts, error);
  if (status == PTO_OK) status = check_lost(plan, count, error);
  if (status || !pto_share_is_part(share)) return status;
  for (uint32_t i = 0; i < count; i++) {
    plan->asked->is_interrupted |= plan->forecasts[i].exit_code == PTO_EXIT_INTERRUPTED;
    if (plan->forecasts[i].exit_code != PTO_EXIT_INTERRUPTED)
      pto_share_put(share, items[i], NAN, pack_forecast(&plan->forecasts[i]));
  }
  return PTO_OK;
}

static int take_jobs(struct pto_what_if_plan *plan, const struct pto_share *share, struct pto_error *error) {
  int status = PTO_OK;
  for (uint32_t i = 0; i < plan->count && status == PTO_OK; i++)
    status = unpack_forecast(pto_share_result(share, i, NULL), i, &plan->forecasts[i], error);
  return status ? status : check_lost(plan, plan->count, error);
}

int pto_what_if_run(struct pto_what_if *asked, uint32_t at_once, struct pto_share *share, struct pto_error *error) {
  struct pto_what_if_plan *plan = asked->plan;
  if (share && share->lines) {
    const int status = take_jobs(plan, share, error);
    if (status) return status;
  } else {
    uint32_t *items = calloc(plan->count + 1, sizeof *items);
    const int status = items ? run_jobs(plan, at_once, share, items, error)
                             : pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu32 " runs", plan->count);
    free(items);
    if (status || pto_share_is_part(share)) return status;
  }
  for (uint32_t i = 0; i < plan->count; i++) {
    take_end(plan->runs[i], &plan->forecasts[i], &plan->chips[i]);
    asked->is_interrupted |= plan->forecasts[i].exit_code == PTO_EXIT_INTERRUPTED;
  }
  asked->run_count = plan->count;
  order_parts(asked);
  order_keys(asked);
  return PTO_OK;
}

static int make_plan(struct pto_what_if_plan *plan, struct pto_error *error) {
  plan->capacity = (uint32_t)PTO_ARRAY_LENGTH(plan->asked->parts) + 2 * plan->sheet.count +
                   2 * PTO_ARRAY_LENGTH(plan->asked->clusters.points);
  plan->chips = calloc(plan->capacity, sizeof *plan->chips);
  plan->jobs = calloc(plan->capacity, sizeof *plan->jobs);
  plan->runs = calloc(plan->capacity, sizeof(struct pto_what_if_run *));
  plan->forecasts = calloc(plan->capacity, sizeof *plan->forecasts);
  plan->asked->keys = calloc(plan->sheet.count + 1, sizeof *plan->asked->keys);
  if (plan->chips && plan->jobs && plan->runs && plan->forecasts && plan->asked->keys) return PTO_OK;
  return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu32 " runs", plan->capacity);
}

static int make_runs(struct pto_what_if_plan *plan, const char *label, struct pto_error *error) {
  struct pto_what_if *asked = plan->asked;
  asked->makespan_ps = asked->plain.makespan_ps + plan->plain.handshake_ps;
  const int status = make_plan(plan, error);
  if (status) return status;
  plan_parts(plan);
  plan_keys(plan, label);
  plan_clusters(plan);
  plan_window(plan);
  if (plan->failure.status) {
    *error = plan->failure;
    return error->status;
  }
  asked->planned_count = plan->count;
  asked->digest = digest_of(plan);
  return PTO_OK;
}

int pto_what_if_begin(const struct pto_session_options *options, uint32_t ranks, struct pto_what_if *asked,
                      struct pto_error *error) {
  struct pto_what_if_plan *plan = calloc(1, sizeof *plan);
  memset(asked, 0, sizeof *asked);
  asked->ranks = ranks;
  asked->clusters.name = "clusters", asked->clusters.unit = "";
  asked->window.name = "window", asked->window.unit = "slots";
  if (!plan) return pto_error_set(error, PTO_ENOMEM, "no memory for a chip description");
  asked->plan = plan;
  plan->asked = asked;
  plan->options = *options;
  plan->config = *options->config;
  plan->options.config = &plan->config;
  int status = pto_chip_load_sheet(plan->config.chip, &plan->plain, &plan->sheet, error);
  if (status) return status;
  /* The sheet has all numbers: what is set behind the chip's name too. */
  char label[sizeof plan->plain.kernel_times];
  snprintf(label, sizeof label, "%.*s", (int)strcspn(plan->config.chip, ","), plan->config.chip);
  snprintf(asked->chip, sizeof asked->chip, "%s", plan->plain.name);
  if (plan->config.clusters && plan->config.clusters < plan->plain.cluster_count)
    plan->plain.cluster_count = plan->config.clusters;
  const struct pto_forecast_job plain = {.chip = &plan->plain, .ranks = ranks};
  status = pto_forecast_all(&plan->options, &plain, 1, 1, &asked->plain, error);
  return status || asked->plain.exit_code != PTO_EXIT_OK ? status : make_runs(plan, label, error);
}

void pto_what_if_fini(struct pto_what_if *asked) {
  struct pto_what_if_plan *plan = asked->plan;
  free(asked->keys);
  asked->keys = NULL;
  asked->plan = NULL;
  if (!plan) return;
  free(plan->chips);
  free(plan->jobs);
  free(plan->runs);
  free(plan->forecasts);
  free(plan);
}

/* ---- text ---- */

#define US(ps) ((double)(ps) / 1e6)

static double percent_of(uint64_t makespan, uint64_t plain) {
  return 100 * ((double)makespan - (double)plain) / (double)plain;
}

static void print_run(const struct pto_what_if_run *run, uint64_t plain, FILE *to) {
  if (run->exit_code == PTO_EXIT_OK)
    fprintf(to, " %10.2f %+8.2f%%", US(run->makespan_ps), percent_of(run->makespan_ps, plain));
  else
    fprintf(to, " %20s", run->exit_code == PTO_EXIT_INTERRUPTED ? "not run" : "refused");
}

static bool has_effect(const struct pto_what_if *asked, const struct pto_what_if_key *key) {
  return effect_of(key, asked->makespan_ps) > 0 || key->half.exit_code != PTO_EXIT_OK ||
         key->twice.exit_code != PTO_EXIT_OK;
}

static void print_parts(const struct pto_what_if *asked, FILE *to) {
  fprintf(to, "\n%-49s %21s   %s\n", "part of the run in half the time", "us", "`ptosim run` with --chip-set");
  for (uint32_t i = 0; i < asked->part_count; i++) {
    const struct pto_what_if_part *part = &asked->parts[i];
    if (part->half.exit_code == PTO_EXIT_OK && part->half.makespan_ps == asked->makespan_ps) continue;
    fprintf(to, "%-49.49s", part->what);
    print_run(&part->half, asked->makespan_ps, to);
    fprintf(to, "   %s\n", part->chip_set);
  }
}

static void print_keys(const struct pto_what_if *asked, FILE *to) {
  fprintf(to, "\n%-28s %12s %-7s %21s %20s %11s\n", "number of the chip", "", "", "half: us", "twice: us",
          "elasticity");
  for (uint32_t i = 0; i < asked->key_count; i++) {
    const struct pto_what_if_key *key = &asked->keys[i];
    if (!has_effect(asked, key)) continue;
    fprintf(to, "%-28s %12s %-7s", key->note.key, key->note.value, pto_chip_note_unit(&key->note));
    print_run(&key->half, asked->makespan_ps, to);
    print_run(&key->twice, asked->makespan_ps, to);
    const double elasticity = pto_what_if_elasticity(key);
    if (isnan(elasticity))
      fprintf(to, " %11s\n", "-");
    else
      fprintf(to, " %11.3f\n", elasticity);
  }
  int column = 0;
  for (uint32_t i = 0; i < asked->key_count; i++) {
    if (has_effect(asked, &asked->keys[i])) continue;
    if (column == 0) column = fprintf(to, "without effect:");
    if (column > 100) column = fprintf(to, "\n               ") - 1;
    column += fprintf(to, " %s", asked->keys[i].note.key);
  }
  if (column) fputc('\n', to);
}

/* What was refused, each sentence once. */
static void print_refusals(const struct pto_what_if *asked, FILE *to) {
  for (uint32_t i = 0; i < asked->part_count; i++) {
    const struct pto_what_if_part *part = &asked->parts[i];
    if (part->half.exit_code != PTO_EXIT_OK && part->half.exit_code != PTO_EXIT_INTERRUPTED)
      fprintf(to, "%s: %s\n", part->what, part->half.sentence);
  }
  for (uint32_t i = 0; i < asked->key_count; i++) {
    const struct pto_what_if_key *key = &asked->keys[i];
    const struct pto_what_if_run *runs[] = {&key->half, &key->twice};
    for (int k = 0; k < 2; k++)
      if (runs[k]->exit_code != PTO_EXIT_OK && runs[k]->exit_code != PTO_EXIT_INTERRUPTED)
        fprintf(to, "%s = %" PRIu64 ": %s\n", key->note.key, runs[k]->value, runs[k]->sentence);
  }
}

static void print_curve(const struct pto_what_if *asked, const struct pto_what_if_curve *curve, FILE *to) {
  uint64_t longest = 1;
  for (uint32_t i = 0; i < curve->count; i++)
    if (curve->points[i].exit_code == PTO_EXIT_OK) longest = pto_max_u64(longest, curve->points[i].makespan_ps);
  fprintf(to, "\n%s%s%s\n", curve->name, curve->unit[0] ? ", " : "", curve->unit);
  for (uint32_t i = 0; i < curve->count; i++) {
    const struct pto_what_if_run *run = &curve->points[i];
    fprintf(to, "%12" PRIu64, run->value);
    print_run(run, asked->makespan_ps, to);
    if (run->exit_code == PTO_EXIT_OK) fputs("  ", to);
    for (uint64_t k = 0; run->exit_code == PTO_EXIT_OK && k < 50 * run->makespan_ps / longest; k++) fputc('#', to);
    if (run->exit_code != PTO_EXIT_OK && run->exit_code != PTO_EXIT_INTERRUPTED) fprintf(to, "  %s", run->sentence);
    fputc('\n', to);
  }
}

void pto_what_if_print(const struct pto_what_if *asked, FILE *to) {
  if (asked->ranks) fprintf(to, "%" PRIu32 " ranks of ", asked->ranks);
  fprintf(to, "%s: %.2f us in virtual time; %" PRIu32 " other runs, one thing changed in each\n", asked->chip,
          US(asked->makespan_ps), asked->run_count);
  if (asked->plain.why_run[0]) fprintf(to, "kernels are run in each: %s\n", asked->plain.why_run);
  print_parts(asked, to);
  print_keys(asked, to);
  print_refusals(asked, to);
  print_curve(asked, &asked->clusters, to);
  print_curve(asked, &asked->window, to);
}

/* ---- JSON ---- */

static void put_end(const struct pto_what_if_run *run, struct pto_json_writer *w) {
  if (pto_json_try_key(w, "virtual_us", run->exit_code == PTO_EXIT_OK)) pto_json_decimal(w, run->makespan_ps, 6);
  pto_json_put_string(w, "error", run->exit_code == PTO_EXIT_OK ? NULL : run->sentence);
}

static void put_run(const struct pto_what_if_run *run, struct pto_json_writer *w) {
  pto_json_object_begin(w);
  pto_json_put_u64(w, "value", run->value);
  put_end(run, w);
  pto_json_object_end(w);
}

static void put_curve(const struct pto_what_if_curve *curve, struct pto_json_writer *w) {
  pto_json_put_array(w, curve->name);
  for (uint32_t i = 0; i < curve->count; i++) put_run(&curve->points[i], w);
  pto_json_array_end(w);
}

void pto_what_if_put(const struct pto_what_if *asked, struct pto_json_writer *w) {
  pto_json_put_string(w, "chip", asked->chip);
  if (asked->ranks) pto_json_put_u64(w, "ranks", asked->ranks);
  pto_json_key(w, "virtual_us");
  pto_json_decimal(w, asked->makespan_ps, 6);
  pto_json_put_string(w, "kernels_run_because", asked->plain.why_run[0] ? asked->plain.why_run : NULL);
  pto_json_put_array(w, "parts");
  for (uint32_t i = 0; i < asked->part_count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "what", asked->parts[i].what);
    pto_json_put_string(w, "chip_set", asked->parts[i].chip_set);
    put_end(&asked->parts[i].half, w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_array(w, "numbers");
  for (uint32_t i = 0; i < asked->key_count; i++) {
    const struct pto_what_if_key *key = &asked->keys[i];
    pto_json_object_begin(w);
    pto_json_put_string(w, "section", key->note.section);
    pto_json_put_string(w, "key", key->note.key);
    pto_json_put_string(w, "unit", pto_chip_note_unit(&key->note));
    pto_json_put_u64(w, "value", strtoull(key->note.value, NULL, 10));
    pto_json_key(w, "half");
    put_run(&key->half, w);
    pto_json_key(w, "twice");
    put_run(&key->twice, w);
    pto_json_put_double(w, "elasticity", pto_what_if_elasticity(key));
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_object(w, "curves");
  put_curve(&asked->clusters, w);
  put_curve(&asked->window, w);
  pto_json_object_end(w);
}
