/* SPDX-License-Identifier: MIT */
#include <check/predict/enough_rings.h>

#include <inttypes.h>

#include <check/order/ring_advice.h>
#include <check/predict/forecast.h>
#include <runtime/base/sanitizer.h>
#include <runtime/task/ring_defaults.h>
#include <runtime/task/task_ring.h>

/* Address space alone, until a run fills it. */
#define LARGEST_HEAP (UINT64_C(1) << 40)

struct asked {
  struct pto_session_options options;
  bool needs_kernels; /* the last run */
};

static int run_once(void *context, struct pto_ring_trial *trial) {
  struct asked *asked = context;
  const struct pto_forecast_job job = {.window = trial->window, .heap_bytes = trial->heap_bytes, .no_kernels = true};
  struct pto_forecast forecast;
  struct pto_error error;
  const int status = pto_forecast_all(&asked->options, &job, 1, 1, &forecast, &error);
  if (status) return status;
  asked->needs_kernels = forecast.exit_code == PTO_EXIT_USAGE;
  trial->completes = forecast.exit_code == PTO_EXIT_OK;
  trial->status = forecast.status;
  trial->window_high_water = forecast.window_high_water;
  trial->heap_high_water_bytes = forecast.heap_high_water_bytes;
  return PTO_OK;
}

static bool is_of_rings(int status) { return status == PTO_ESCOPE || status == PTO_EWINDOW || status == PTO_EHEAP; }

void pto_enough_rings_say(const struct pto_session *session, struct pto_error *error) {
  const struct pto_ring_trial largest = {.window = PTO_MAX_WINDOW, .heap_bytes = LARGEST_HEAP};
  const struct pto_config *config = &session->config;
  const uint64_t window = config->window ? config->window : PTO_DEFAULT_WINDOW;
  const uint64_t heap_bytes = config->heap_bytes ? config->heap_bytes : PTO_DEFAULT_HEAP_BYTES;
  struct pto_ring_trial sizes = {.window = window, .heap_bytes = heap_bytes, .status = error->status};
  struct asked asked = {.options = session->options};
  if (!is_of_rings(error->status) || !session->rt || error->status == session->subject.program->expected_status) return;
  if (PTO_HAS_TSAN) return; /* it ends a process that starts threads after a fork, as the run has started some */
  asked.options.text = NULL;
  asked.options.progress = NULL;
  const bool is_found = pto_ring_enough(run_once, &asked, &largest, &sizes);
  if (asked.needs_kernels) pto_error_append(error, "; `ptosim check --advise` tells what is enough for the whole run");
  if (!is_found) return;
  pto_error_append(error, "; enough for the whole run, in virtual time:");
  if (sizes.window > window) pto_error_append(error, " --window %" PRIu64, sizes.window);
  if (sizes.heap_bytes > heap_bytes) pto_error_append(error, " --heap %" PRIu64, sizes.heap_bytes);
}
