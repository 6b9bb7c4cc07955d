/* SPDX-License-Identifier: MIT */
#include <report/run/result.h>

#include <inttypes.h>
#include <stdio.h>

#include <formats/json_writer.h>
#include <formats/units.h>
#include <report/file/colour.h>
#include <report/file/output_file.h>
#include <report/stopped/stopped.h>
#include <report/run/alike_tasks.h>
#include <report/run/group_times.h>
#include <report/run/timeline_stats.h>

#define PS_PER_US 6 /* digits */

/* ---- JSON ---- */

static void put_count(struct pto_json_writer *w, const struct pto_run_result *result, const char *key, uint64_t value) {
  if (pto_json_try_key(w, key, result->has_run)) pto_json_u64(w, value);
}

static void put_digest(struct pto_json_writer *w, const char *key, bool is_known, uint64_t digest) {
  if (pto_json_try_key(w, key, is_known)) pto_json_hex(w, digest);
}

/* What the program tells of itself. */
static void put_figures(struct pto_json_writer *w, const struct pto_run_result *result) {
  pto_json_put_object(w, "figures");
  for (uint32_t i = 0; i < result->figure_count; i++)
    pto_json_put_double(w, result->figures[i].name, result->figures[i].value);
  pto_json_object_end(w);
}

/* Of kernels, by where their time comes from. */
static void put_core_times(struct pto_json_writer *w, const struct pto_stats *stats) {
  const struct {
    const char *name;
    uint64_t ps;
  } origins[] = {{"measured", stats->measured_ps},
                 {"interpolated", stats->interpolated_ps},
                 {"modelled", stats->modelled_ps},
                 {"assumed", stats->assumed_ps}};
  pto_json_object_begin(w);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(origins); i++) {
    pto_json_key(w, origins[i].name);
    pto_json_decimal(w, origins[i].ps, PS_PER_US);
  }
  pto_json_object_end(w);
}

void pto_run_result_put(const struct pto_run_result *result, struct pto_json_writer *w) {
  const struct pto_stats *stats = &result->stats;
  const bool has_verdict = result->verified != PTO_VERDICT_NONE;
  pto_json_put_format(w, "pto-run", 1);
  pto_json_put_string(w, "program", result->program);
  pto_json_put_string(w, "case", result->case_name);
  pto_json_put_string(w, "engine", result->engine);
  pto_json_put_string(w, "chip", result->chip);
  pto_json_put_u64(w, "workers", result->workers);
  pto_json_put_string(w, "placement", result->placement);
  pto_json_put_string(w, "deps", result->deps_list);
  pto_json_put_string(w, "policy", result->policy);
  pto_json_put_u64(w, "seed", result->seed);
  pto_json_put_u64(w, "rounds", result->rounds);
  if (pto_json_try_key(w, "jitter_percent", result->jitter_ppm > 0)) pto_json_decimal(w, result->jitter_ppm, 4);
  put_count(w, result, "tasks", stats->tasks);
  put_count(w, result, "edges", stats->edges);
  put_count(w, result, "live_edges", stats->live_edges);
  if (pto_json_try_key(w, "wall_seconds", result->has_time)) pto_json_double(w, result->wall_seconds);
  if (pto_json_try_key(w, "virtual_us", result->has_run && result->is_virtual))
    pto_json_decimal(w, stats->virtual_ps, PS_PER_US);
  if (pto_json_try_key(w, "orchestration_us", result->has_run && result->is_virtual))
    pto_json_decimal(w, stats->orchestration_ps, PS_PER_US);
  if (pto_json_try_key(w, "core_us", result->has_run && result->is_virtual)) put_core_times(w, stats);
  if (pto_json_try_key(w, "verified", has_verdict)) pto_json_bool(w, result->verified == PTO_VERDICT_TRUE);
  if (pto_json_try_key(w, "max_abs_error", has_verdict)) pto_json_double(w, result->max_abs_error);
  if (pto_json_try_key(w, "no_compute", result->is_priced_alone)) {
    pto_json_object_begin(w);
    pto_json_put_u64(w, "calls", result->priced.calls);
    pto_json_put_u64(w, "assumed_prices", result->priced.assumed_prices);
    pto_json_put_u64(w, "given_values", result->priced.given_values);
    pto_json_put_u64(w, "assumed_values", result->priced.assumed_values);
    pto_json_put_u64(w, "unread_values", result->priced.unread_values);
    pto_json_object_end(w);
  }
  put_digest(w, "output_digest", result->has_output_digest, result->output_digest);
  if (pto_json_try_key(w, "exact_outputs", result->has_output_digest)) pto_json_bool(w, result->has_exact_outputs);
  put_digest(w, "trace_digest", result->has_trace_digest, result->trace_digest);
  put_count(w, result, "window_high_water", stats->window_high_water);
  put_count(w, result, "heap_high_water_bytes", stats->heap_high_water_bytes);
  pto_json_put_u64(w, "h2d_bytes", result->h2d_bytes);
  pto_json_put_u64(w, "d2h_bytes", result->d2h_bytes);
  pto_json_put_u64(w, "d2d_bytes", result->d2d_bytes);
  pto_json_put_u64(w, "lowering_cache_hits", result->lowering_cache_hits);
  pto_json_put_u64(w, "lowering_cache_misses", result->lowering_cache_misses);
  if (result->figure_count) put_figures(w, result);
  if (result->timeline) pto_timeline_stats_write_json(result->timeline, stats, w);
  if (result->groups) pto_group_times_put(result->groups, w);
  if (result->labels) pto_group_times_put_labels(result->labels, w);
  if (result->alike) pto_alike_tasks_put(result->alike, w);
  if (result->counters.put) result->counters.put(result->counters.about, w);
  put_count(w, result, "refused", result->refused);
  pto_json_put_string(w, "first_refusal", result->first_refusal);
  pto_json_key(w, "stopped");
  pto_stopped_write_json(result->stopped, w);
  pto_json_put_string(w, "status", pto_status_name(result->error.status));
  pto_json_put_u64(w, "exit", (uint64_t)result->exit_code);
  pto_json_put_string(w, "error", result->error.sentence[0] ? result->error.sentence : NULL);
}

static void put_result(struct pto_json_writer *w, const void *context) { pto_run_result_put(context, w); }

int pto_run_result_write_json(const struct pto_run_result *result, const char *path, struct pto_error *error) {
  return pto_output_json(path, put_result, result, error);
}

/* ---- for people ---- */

static void print_verdict(const struct pto_run_result *result, FILE *to) {
  const struct pto_priced *priced = &result->priced;
  if (result->is_priced_alone) {
    fprintf(to,
            "  result   not verified: kernels were not run; of %" PRIu64 " calls %" PRIu64
            " cost what their bytes cost (assumed)\n           read %" PRIu64 " given and %" PRIu64
            " assumed elements\n",
            priced->calls, priced->assumed_prices, priced->given_values, priced->assumed_values);
    if (priced->unread_values)
      fprintf(to, "           --values gave %" PRIu64 " element%s that nothing read\n", priced->unread_values,
              priced->unread_values == 1 ? "" : "s");
  } else if (result->verified == PTO_VERDICT_NONE)
    fprintf(to, "  result   not verified: there is no golden\n");
  else {
    const bool is_right = result->verified == PTO_VERDICT_TRUE;
    fputs("  result   ", to);
    pto_colour_put(to, is_right ? PTO_COLOUR_GOOD : PTO_COLOUR_BAD, is_right ? "verified" : "WRONG");
    fprintf(to, ", largest error %.3g", result->max_abs_error);
    if (result->nans)
      fprintf(to, "; %" PRIu64 " element%s NaN, as the program expects", result->nans,
              result->nans == 1 ? " is" : "s are");
    fputs("\n", to);
  }
}

/* Where the time of kernels comes from, in virtual time. */
static void print_origins(const struct pto_stats *stats, FILE *to) {
  const double all = (double)(stats->measured_ps + stats->interpolated_ps + stats->modelled_ps + stats->assumed_ps);
  if (all == 0) return;
  fprintf(to, "  origin   of core time %.1f %% measured, %.1f %% interpolated, %.1f %% modelled, %.1f %% assumed\n",
          100 * (double)stats->measured_ps / all, 100 * (double)stats->interpolated_ps / all,
          100 * (double)stats->modelled_ps / all, 100 * (double)stats->assumed_ps / all);
}

void pto_run_result_print(const struct pto_run_result *result, FILE *to) {
  const struct pto_stats *stats = &result->stats;
  char text[32];
  fprintf(to, "%s", result->program);
  if (result->case_name) fprintf(to, ", case %s", result->case_name);
  fprintf(to, "\n  on       %s, %s engine, %" PRIu32 " %s, %s dependencies, seed %" PRIu64, result->chip,
          result->engine, result->workers, result->workers == 1 ? "thread" : "threads", result->deps, result->seed);
  if (result->jitter_ppm) fprintf(to, ", jitter %g %%", (double)result->jitter_ppm * 1e-4);
  putc('\n', to);
  if (result->has_run) {
    fprintf(to, "  tasks    %" PRIu64 ", %" PRIu64 " %s", stats->tasks, stats->edges,
            stats->edges == 1 ? "edge" : "edges");
    if (stats->edges) fprintf(to, " (%" PRIu64 " from a task not yet done at the submit)", stats->live_edges);
    putc('\n', to);
  }
  if (result->has_time) {
    fprintf(to, "  time     %s", pto_format_seconds(result->wall_seconds, text, sizeof text));
    if (result->is_virtual)
      fprintf(to, ", %s on the chip, %s transfers",
              pto_format_seconds((double)stats->virtual_ps * 1e-12, text, sizeof text),
              result->h2d_bytes | result->d2h_bytes | result->d2d_bytes ? "with" : "without");
    if (result->rounds > 1) fprintf(to, " (median of %" PRIu32 " rounds)", result->rounds);
    putc('\n', to);
  }
  if (result->has_run && result->is_virtual) print_origins(stats, to);
  if (result->h2d_bytes | result->d2h_bytes | result->d2d_bytes)
    fprintf(to, "  moved    %" PRIu64 " bytes to the device, %" PRIu64 " back, %" PRIu64 " on it\n", result->h2d_bytes,
            result->d2h_bytes, result->d2d_bytes);
  if (result->lowering_cache_hits | result->lowering_cache_misses)
    fprintf(to, "  lowered  %" PRIu64 " dispatch%s made %s tasks anew, %" PRIu64 " reused kept ones\n",
            result->lowering_cache_misses, result->lowering_cache_misses == 1 ? "" : "es",
            result->lowering_cache_misses == 1 ? "its" : "their", result->lowering_cache_hits);
  if (result->has_run)
    fprintf(to, "  memory   %" PRIu64 " slot%s of a window, %s of a heap\n", stats->window_high_water,
            pto_plural(stats->window_high_water), pto_format_bytes(stats->heap_high_water_bytes, text, sizeof text));
  for (uint32_t i = 0; i < result->figure_count; i++)
    fprintf(to, "  %-8s %s %.6g\n", i ? "" : "figures", result->figures[i].name, result->figures[i].value);
  if (result->refused)
    fprintf(to, "  refused  %" PRIu64 " %s%s; the first, %s\n", result->refused, result->refused_what,
            result->refused == 1 ? "" : "s", result->first_refusal);
  /* A report that could not be written makes an error of a run that was verified. */
  if (result->error.status == PTO_OK || result->verified != PTO_VERDICT_NONE) print_verdict(result, to);
  if (result->has_output_digest) fprintf(to, "  digest   %016" PRIx64 "\n", result->output_digest);
  if (result->timeline && result->placement) fprintf(to, "  machine  %s\n", result->placement);
  const bool has_failed = result->error.status != PTO_OK;
  if (result->timeline && has_failed && result->timeline->calls == 0)
    fputs("  stats    the run failed before any kernel ran: there is nothing to account for\n", to);
  else if (result->timeline)
    pto_timeline_stats_print(result->timeline, stats, to);
  if (result->groups) pto_group_times_print(result->groups, "nodes", to);
  if (result->labels) pto_group_times_print(result->labels, "labels", to);
  if (result->counters.print) result->counters.print(result->counters.about, to);
}
