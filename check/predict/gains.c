/* SPDX-License-Identifier: MIT */
#include <check/predict/gains.h>

#include <stdio.h>
#include <stdlib.h>

#include <check/predict/forecast.h>

#define CHIP_NAME 1024u
#define RANK_TRIALS 6u /* each is a run of all ranks */

static void leave_untried(struct pto_path_untried *untried, uint32_t count, const char *why) {
  if (!untried->count) snprintf(untried->why, sizeof untried->why, "%.250s", why);
  untried->count += count;
}
static const char *why_not(const struct pto_forecast *forecast) {
  return forecast->sentence[0] ? forecast->sentence : pto_status_name(forecast->status);
}

/* The chip on which a gain is run.  False: it is not run, as no chip file can say it, or for a reason that is told. */
static bool load_chip(const struct pto_session *session, const struct pto_path_gain *gain, struct pto_chip *chip,
                      struct pto_path_untried *untried) {
  char name[CHIP_NAME], set[PTO_CHIP_SET_SIZE];
  struct pto_error error;
  if (!pto_gain_chip_set(session->timeline.chip, gain, set, sizeof set)[0]) return false;
  untried->of++;
  if ((size_t)snprintf(name, sizeof name, "%s,%s", session->config.chip, set) >= sizeof name) {
    leave_untried(untried, 1, "what --chip would take is too long");
    return false;
  }
  if (pto_chip_load(name, chip, &error)) {
    leave_untried(untried, 1, error.sentence);
    return false;
  }
  chip->cluster_count = session->chip.cluster_count;
  return true;
}

static int compare(const void *left, const void *right) {
  const struct pto_path_gain *a = left, *b = right;
  return (a->gain < b->gain) - (a->gain > b->gain);
}

/* Those that are gains, the largest first.  Returns how many. */
static uint32_t keep_gains(struct pto_path_gain *gains, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (gains[i].gain > 0) gains[kept++] = gains[i];
  qsort(gains, kept, sizeof *gains, compare);
  return kept;
}

int pto_gains_run(struct pto_session *session, uint32_t at_once, struct pto_error *error) {
  struct pto_run_path *path = &session->timeline.path;
  struct pto_session_options asked = session->options;
  struct pto_chip chips[PTO_PATH_GAINS];
  struct pto_forecast_job jobs[PTO_PATH_GAINS] = {0};
  struct pto_forecast forecasts[PTO_PATH_GAINS];
  struct pto_path_gain *gains[PTO_PATH_GAINS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < path->gain_count; i++) {
    if (!load_chip(session, &path->gains[i], &chips[count], &path->untried)) continue;
    jobs[count] = (struct pto_forecast_job){.chip = &chips[count],
                                            .jitter_ppm = session->config.jitter_ppm,
                                            .jitter_seed = session->config.jitter_seed,
                                            .is_priced = true};
    gains[count++] = &path->gains[i];
  }
  asked.text = NULL;
  asked.progress = NULL;
  asked.rounds = 1; /* without computing there are no outputs to compare, to judge or to write */
  asked.outputs = asked.expects = (struct pto_words){0};
  const int status = pto_forecast_all(&asked, jobs, count, at_once, forecasts, error);
  if (status) leave_untried(&path->untried, count, error->sentence);
  if (status) return status;
  for (uint32_t i = 0; i < count; i++) {
    if (forecasts[i].exit_code != PTO_EXIT_OK) {
      leave_untried(&path->untried, 1, why_not(&forecasts[i]));
      continue;
    }
    const uint64_t makespan = forecasts[i].makespan_ps + chips[i].handshake_ps;
    gains[i]->gain = makespan < path->makespan ? path->makespan - makespan : 0;
    gains[i]->is_run = true;
  }
  path->gain_count = keep_gains(path->gains, path->gain_count);
  return PTO_OK;
}

/* Of the run as it is, and of each trial; what they gave is in the path then.  False: it says why not. */
static bool run_trials(struct pto_ranks_path *path, const struct pto_session_options *options, uint32_t at_once,
                       const struct pto_forecast_job *jobs) {
  struct pto_forecast forecasts[1 + RANK_TRIALS];
  struct pto_error error;
  if (pto_forecast_all(options, jobs, 1 + path->gain_count, at_once, forecasts, &error)) {
    snprintf(path->why_no_gains, sizeof path->why_no_gains, "%.200s", error.sentence);
    return false;
  }
  if (forecasts[0].exit_code != PTO_EXIT_OK)
    snprintf(path->why_no_gains, sizeof path->why_no_gains, "it cannot be run without computing: %.200s",
             forecasts[0].sentence);
  for (uint32_t i = 0; i < path->gain_count; i++) {
    const struct pto_forecast *its = &forecasts[1 + i];
    if (its->exit_code != PTO_EXIT_OK && !path->why_no_gains[0]) leave_untried(&path->untried, 1, why_not(its));
    /* Both begin behind the handshake, of which the trial may take half. */
    const uint64_t before = forecasts[0].makespan_ps, after = its->makespan_ps + jobs[1 + i].chip->handshake_ps;
    path->gains[i].is_run = its->exit_code == PTO_EXIT_OK;
    path->gains[i].gain = path->gains[i].is_run && after < before + jobs[0].chip->handshake_ps
                              ? before + jobs[0].chip->handshake_ps - after
                              : 0;
  }
  return !path->why_no_gains[0];
}

void pto_gains_run_ranks(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t at_once) {
  struct pto_ranks_path *path = &ranks->path;
  struct pto_session_options asked = *options;
  struct pto_chip chips[1 + RANK_TRIALS];
  struct pto_forecast_job jobs[1 + RANK_TRIALS];
  struct pto_path_gain found[PTO_PATH_GAINS];
  const struct pto_session *session = &ranks->sessions[0];
  if (!path->makespan || ranks->exit_code != PTO_EXIT_OK) return;
  if (ranks->processes) {
    snprintf(path->why_no_gains, sizeof path->why_no_gains, "the ranks are in several processes");
    return;
  }
  const uint32_t count = pto_path_find_trials(path->times, found);
  chips[0] = session->chip;
  for (uint32_t i = 0; i < count && path->gain_count < RANK_TRIALS; i++)
    if (load_chip(session, &found[i], &chips[1 + path->gain_count], &path->untried))
      path->gains[path->gain_count++] = found[i];
  for (uint32_t i = 0; i <= path->gain_count; i++)
    jobs[i] = (struct pto_forecast_job){.chip = &chips[i],
                                        .ranks = ranks->rank_count,
                                        .jitter_ppm = session->config.jitter_ppm,
                                        .jitter_seed = session->config.jitter_seed,
                                        .is_priced = true};
  asked.text = NULL;
  asked.progress = NULL;
  const bool is_well = run_trials(path, &asked, at_once, jobs);
  path->gain_count = is_well ? keep_gains(path->gains, path->gain_count) : 0;
  if (is_well && !path->gain_count && !path->untried.count)
    snprintf(path->why_no_gains, sizeof path->why_no_gains, "no number of the chip's file makes the run shorter");
}
