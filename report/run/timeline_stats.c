/* SPDX-License-Identifier: MIT */
#include <report/run/timeline_stats.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/units.h>
#include <report/run/critical_path.h>
#include <report/run/ready_waits.h>
#include <report/run/trace_view.h>
#include <runtime/base/grow.h>

#define LANES 3u
#define MOST_KERNELS_PRINTED 12u

enum { AIC, AIV };
static const char *const kind_names[] = {"AIC", "AIV"};

static uint32_t kind_of(uint32_t core) { return core % LANES == 0 ? AIC : AIV; }

/* ---- collecting ---- */

struct collector {
  const struct pto_trace *trace;
  struct pto_timeline_stats *timeline;
  double unit; /* seconds */
  uint64_t first_begin, last_end;
  uint8_t *is_used; /* by core */
  uint32_t core_count;
};

static struct pto_kernel_time *kernel_time(struct pto_timeline_stats *t, const struct pto_kernel *kernel) {
  for (size_t i = 0; i < t->kernel_count; i++)
    if (t->kernels[i].kernel == kernel) return &t->kernels[i];
  struct pto_kernel_time *row = pto_grow(&t->kernels, &t->kernel_count, &t->kernel_capacity, sizeof *row);
  if (row) row->kernel = kernel;
  return row;
}

static bool collect_span(struct collector *c, const struct pto_trace_span *span) {
  struct pto_timeline_stats *t = c->timeline;
  double seconds = (double)(span->end - span->begin) * c->unit;
  struct pto_kernel_time *row = kernel_time(t, pto_trace_task_kernel(c->trace, span->task, span->role));
  if (!row) return false;
  row->calls++;
  row->total += seconds;
  if (seconds > row->longest) row->longest = seconds;
  t->busy[kind_of(span->core)] += seconds;
  if (t->calls++ == 0 || span->begin < c->first_begin) c->first_begin = span->begin;
  if (span->end > c->last_end) c->last_end = span->end;
  if (span->core < c->core_count && !c->is_used[span->core]) {
    c->is_used[span->core] = 1;
    t->used_count[kind_of(span->core)]++;
  }
  return true;
}

static void collect_control(struct collector *c) {
  for (uint64_t i = 0; i < c->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&c->trace->control, i);
    double seconds = (double)(control->end - control->begin) * c->unit;
    if (control->activity == PTO_CONTROL_WAIT) c->timeline->waiting += seconds;
    if (control->activity == PTO_CONTROL_SUBMIT) c->timeline->submitting += seconds;
    if (control->stall == PTO_STALL_none || control->stall >= PTO_STALL_COUNT) continue;
    c->timeline->stalls[control->stall].count++;
    c->timeline->stalls[control->stall].seconds += seconds;
  }
}

static int collect_graph(struct collector *c, struct pto_error *error) {
  struct pto_timeline_stats *t = c->timeline;
  struct pto_critical_path path;
  struct pto_ready_waits waits;
  if (pto_critical_path_find(c->trace, &path, error)) return PTO_ENOMEM;
  if (pto_ready_waits_find(c->trace, t->core_count, &waits, error)) return PTO_ENOMEM;
  t->critical_path = (double)path.length * c->unit;
  t->critical_tasks = path.task_count;
  t->critical_last = path.last_task;
  for (uint32_t kind = AIC; kind <= AIV; kind++) {
    t->idle_ready[kind] = (double)waits.idle_ready[kind] * c->unit;
    t->any_ready[kind] = (double)waits.any_ready[kind] * c->unit;
  }
  return PTO_OK;
}

static int order_kernels(const void *left, const void *right) {
  const struct pto_kernel_time *a = left, *b = right;
  return (a->total < b->total) - (a->total > b->total);
}

int pto_timeline_stats_init(const struct pto_trace *trace, uint32_t cluster_count, struct pto_timeline_stats *timeline,
                            struct pto_error *error) {
  memset(timeline, 0, sizeof *timeline);
  struct collector c = {.trace = trace,
                        .timeline = timeline,
                        .unit = trace->is_virtual ? 1e-12 : 1e-9,
                        .core_count = cluster_count * LANES};
  c.is_used = calloc(c.core_count + 1, 1);
  bool is_complete = c.is_used != NULL;
  timeline->is_virtual = trace->is_virtual;
  timeline->core_count[AIC] = cluster_count;
  timeline->core_count[AIV] = cluster_count * (LANES - 1);
  timeline->dropped = pto_trace_dropped(trace);
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; is_complete && (span = pto_trace_next_span(trace, &walk)) != NULL;)
    is_complete = collect_span(&c, span);
  free(c.is_used);
  const int status = is_complete ? collect_graph(&c, error) : pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
  if (status) {
    pto_timeline_stats_fini(timeline);
    return status;
  }
  collect_control(&c);
  timeline->makespan = timeline->calls ? (double)(c.last_end - c.first_begin) * c.unit : 0;
  if (timeline->kernel_count)
    qsort(timeline->kernels, timeline->kernel_count, sizeof *timeline->kernels, order_kernels);
  return PTO_OK;
}

void pto_timeline_stats_fini(struct pto_timeline_stats *timeline) {
  free(timeline->kernels);
  memset(timeline, 0, sizeof *timeline);
}

/* ---- telling ---- */

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
static double core_share(const struct pto_timeline_stats *t, const double part[2], uint32_t kind) {
  return share(part[kind], t->makespan * t->core_count[kind]);
}
static const char *kernel_name(const struct pto_kernel_time *row) { return row->kernel ? row->kernel->name : "?"; }

static void print_idle(const struct pto_timeline_stats *t, FILE *to) {
  char text[32], more[32];
  for (uint32_t kind = AIC; kind <= AIV; kind++)
    if (t->idle_ready[kind] > 0)
      fprintf(to, "             %s  %5.1f %% idle while work was ready for them: %s of cores, within %s\n",
              kind_names[kind], 100 * core_share(t, t->idle_ready, kind),
              pto_format_seconds(t->idle_ready[kind], text, sizeof text),
              pto_format_seconds(t->any_ready[kind], more, sizeof more));
}

static const struct {
  const char *key, *text;
} stall_reasons[PTO_STALL_COUNT] = {[PTO_STALL_none] = {"none", "nothing"},
#define X(name, text) {#name, text},
                                    PTO_STALL_LIST(X)
#undef X
};

static void print_stalls(const struct pto_timeline_stats *t, FILE *to) {
  const char *label = "stalls";
  char text[32];
  for (uint32_t reason = PTO_STALL_none + 1; reason < PTO_STALL_COUNT; reason++) {
    const struct pto_stall_time *stall = &t->stalls[reason];
    if (!stall->count) continue;
    fprintf(to, "  %-8s %s for %s, %" PRIu64 " %s\n", label, pto_format_seconds(stall->seconds, text, sizeof text),
            stall_reasons[reason].text, stall->count, stall->count == 1 ? "time" : "times");
    label = "";
  }
}

void pto_timeline_stats_print(const struct pto_timeline_stats *t, const struct pto_stats *stats, FILE *to) {
  char text[32], more[32];
  double all = t->busy[AIC] + t->busy[AIV];
  fprintf(to, "  makespan %s%s\n", pto_format_seconds(t->makespan, text, sizeof text),
          t->is_virtual ? " of the chip's time" : "");
  fprintf(to, "  cores    %" PRIu64 " calls\n", t->calls);
  for (uint32_t kind = AIC; kind <= AIV; kind++)
    fprintf(to, "             %s  %5.1f %% busy, %" PRIu32 " of %" PRIu32 " cores used\n", kind_names[kind],
            100 * core_share(t, t->busy, kind), t->used_count[kind], t->core_count[kind]);
  print_idle(t, to);
  if (t->critical_tasks)
    fprintf(to,
            "  path     %s in %" PRIu64 " tasks that follow each other, to task %" PRIu64 ": %.1f %% of that time\n",
            pto_format_seconds(t->critical_path, text, sizeof text), t->critical_tasks, t->critical_last,
            100 * share(t->critical_path, t->makespan));
  fprintf(to, "  control  %s in submits, %s waiting; %" PRIu64 " submits had to wait for space\n",
          pto_format_seconds(t->submitting, text, sizeof text), pto_format_seconds(t->waiting, more, sizeof more),
          stats->submit_waits);
  print_stalls(t, to);
  fprintf(to, "  regions  %" PRIu64 " lookups, %.2f candidates a lookup\n", stats->lookups,
          share((double)stats->candidates, (double)stats->lookups));
  fprintf(to, "  kernels  %-28s %10s %8s %12s %12s %12s\n", "", "calls", "share", "total", "mean", "longest");
  for (size_t i = 0; i < t->kernel_count && i < MOST_KERNELS_PRINTED; i++) {
    const struct pto_kernel_time *row = &t->kernels[i];
    char longest[32];
    fprintf(to, "             %-26.26s %10" PRIu64 " %7.1f%% %12s %12s %12s\n", kernel_name(row), row->calls,
            100 * share(row->total, all), pto_format_seconds(row->total, text, sizeof text),
            pto_format_seconds(row->total / (double)row->calls, more, sizeof more),
            pto_format_seconds(row->longest, longest, sizeof longest));
  }
  if (t->kernel_count > MOST_KERNELS_PRINTED)
    fprintf(to, "             … and %zu more\n", t->kernel_count - MOST_KERNELS_PRINTED);
  if (t->dropped)
    fprintf(to, "  (%" PRIu64 " records did not fit; the figures are of a part of the run)\n", t->dropped);
}

static void put_kind(struct pto_json_writer *w, const struct pto_timeline_stats *t, uint32_t kind) {
  pto_json_put_object(w, kind == AIC ? "aic" : "aiv");
  pto_json_put_u64(w, "cores", t->core_count[kind]);
  pto_json_put_u64(w, "used", t->used_count[kind]);
  pto_json_put_double(w, "busy_seconds", t->busy[kind]);
  pto_json_put_double(w, "busy_share", core_share(t, t->busy, kind));
  pto_json_put_double(w, "idle_ready_seconds", t->idle_ready[kind]);
  pto_json_put_double(w, "idle_ready_share", core_share(t, t->idle_ready, kind));
  pto_json_put_double(w, "any_ready_seconds", t->any_ready[kind]);
  pto_json_object_end(w);
}

static void put_stalls(struct pto_json_writer *w, const struct pto_timeline_stats *t) {
  pto_json_put_object(w, "stalls");
  for (uint32_t reason = PTO_STALL_none + 1; reason < PTO_STALL_COUNT; reason++) {
    pto_json_put_object(w, stall_reasons[reason].key);
    pto_json_put_u64(w, "count", t->stalls[reason].count);
    pto_json_put_double(w, "seconds", t->stalls[reason].seconds);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

void pto_timeline_stats_write_json(const struct pto_timeline_stats *t, const struct pto_stats *stats,
                                   struct pto_json_writer *w) {
  pto_json_put_object(w, "stats");
  pto_json_put_string(w, "time", t->is_virtual ? "virtual" : "real");
  pto_json_put_double(w, "makespan_seconds", t->makespan);
  pto_json_put_u64(w, "calls", t->calls);
  put_kind(w, t, AIC);
  put_kind(w, t, AIV);
  pto_json_put_double(w, "critical_path_seconds", t->critical_path);
  pto_json_put_u64(w, "critical_path_tasks", t->critical_tasks);
  pto_json_put_double(w, "submit_seconds", t->submitting);
  pto_json_put_double(w, "wait_seconds", t->waiting);
  pto_json_put_u64(w, "submit_waits", stats->submit_waits);
  put_stalls(w, t);
  pto_json_put_u64(w, "lookups", stats->lookups);
  pto_json_put_u64(w, "candidates", stats->candidates);
  pto_json_put_u64(w, "overlap_budget_exhausted", stats->overlap_budget_exhausted);
  pto_json_put_u64(w, "dropped_records", t->dropped);
  pto_json_put_array(w, "kernels");
  for (size_t i = 0; i < t->kernel_count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", kernel_name(&t->kernels[i]));
    pto_json_put_u64(w, "calls", t->kernels[i].calls);
    pto_json_put_double(w, "total_seconds", t->kernels[i].total);
    pto_json_put_double(w, "longest_seconds", t->kernels[i].longest);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}
