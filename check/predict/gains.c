/* SPDX-License-Identifier: MIT */
#include <check/predict/gains.h>

#include <stdio.h>
#include <stdlib.h>

#include <check/predict/forecast.h>

#define CHIP_NAME 1024u

/* False where no chip file can say it. */
static bool load_chip(const struct pto_session *session, const struct pto_path_gain *gain, struct pto_chip *chip) {
  char name[CHIP_NAME], set[PTO_CHIP_SET_SIZE];
  struct pto_error error;
  if (!pto_timeline_stats_chip_set(&session->timeline, gain, set, sizeof set)[0]) return false;
  if ((size_t)snprintf(name, sizeof name, "%s,%s", session->config.chip, set) >= sizeof name) return false;
  if (pto_chip_load(name, chip, &error)) return false;
  chip->cluster_count = session->chip.cluster_count;
  return true;
}

static int compare(const void *left, const void *right) {
  const struct pto_path_gain *a = left, *b = right;
  return (a->gain < b->gain) - (a->gain > b->gain);
}

int pto_gains_run(struct pto_session *session, const struct pto_session_options *options, uint32_t at_once,
                  struct pto_error *error) {
  struct pto_run_path *path = &session->timeline.path;
  struct pto_session_options asked = *options;
  struct pto_chip chips[PTO_PATH_GAINS];
  struct pto_forecast_job jobs[PTO_PATH_GAINS] = {0};
  struct pto_forecast forecasts[PTO_PATH_GAINS];
  struct pto_path_gain *gains[PTO_PATH_GAINS];
  uint32_t count = 0, kept = 0;
  for (uint32_t i = 0; i < path->gain_count; i++) {
    if (!load_chip(session, &path->gains[i], &chips[count])) continue;
    jobs[count] = (struct pto_forecast_job){.chip = &chips[count],
                                            .jitter_ppm = session->config.jitter_ppm,
                                            .jitter_seed = session->config.jitter_seed,
                                            .is_priced = true};
    gains[count++] = &path->gains[i];
  }
  asked.text = NULL;
  asked.progress = NULL;
  const int status = pto_forecast_all(&asked, jobs, count, at_once, forecasts, error);
  if (status) return status;
  for (uint32_t i = 0; i < count; i++) {
    if (forecasts[i].exit_code != PTO_EXIT_OK) continue;
    const uint64_t makespan = forecasts[i].makespan_ps + chips[i].handshake_ps;
    gains[i]->gain = makespan < path->makespan ? path->makespan - makespan : 0;
    gains[i]->is_run = true;
  }
  for (uint32_t i = 0; i < path->gain_count; i++)
    if (path->gains[i].gain > 0) path->gains[kept++] = path->gains[i];
  path->gain_count = kept;
  qsort(path->gains, kept, sizeof *path->gains, compare);
  return PTO_OK;
}
