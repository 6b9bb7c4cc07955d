/* SPDX-License-Identifier: MIT */
#include <report/run/timeline_stats.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <formats/units.h>
#include <report/run/trace_view.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

#define LANES 3u
#define MOST_KERNELS_PRINTED 12u
#define MOST_ACTIVITIES_PRINTED 5
#define MOST_STEPS 10000u  /* of the path, in JSON */
#define ACCOUNTS_A_LINE 8u /* columns of a table of 160 */
#define ACTIVITY_WIDTH 40  /* of their longest text */
#define TEXT 32u
#define PS_DIGITS 6 /* of a microsecond */
#define NS_DIGITS 3

enum { AIC, AIV };

static uint32_t kind_of(uint32_t core) { return core % LANES == 0 ? AIC : AIV; }

/* ---- collecting ---- */

struct collector {
  const struct pto_trace *trace;
  struct pto_timeline_stats *timeline;
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
  const uint64_t time = span->end - span->begin;
  struct pto_kernel_time *row = kernel_time(t, pto_trace_task_kernel(c->trace, span->task, span->role));
  if (!row) return false;
  row->calls++;
  row->total += time;
  row->longest = pto_max_u64(row->longest, time);
  t->busy[kind_of(span->core)] += time;
  t->calls++;
  if (span->core < c->core_count && !c->is_used[span->core]) {
    c->is_used[span->core] = 1;
    t->used_count[kind_of(span->core)]++;
  }
  return true;
}

static bool collect_spans(struct collector *c) {
  const struct pto_trace_span *span;
  c->is_used = calloc(c->core_count + 1, 1);
  bool is_complete = c->is_used != NULL;
  for (struct pto_span_walk walk = {0}; is_complete && (span = pto_trace_next_span(c->trace, &walk)) != NULL;)
    is_complete = collect_span(c, span);
  free(c->is_used);
  return is_complete;
}

/* Which part of its kernel's time a core's segment is, and 1; 0: it is before or behind the call. */
static const uint8_t part_of[PTO_ACTIVITY_COUNT] = {[PTO_ACTIVITY_compute] = 1 + PTO_KERNEL_compute,
                                                    [PTO_ACTIVITY_memory] = 1 + PTO_KERNEL_memory,
                                                    [PTO_ACTIVITY_contention] = 1 + PTO_KERNEL_contention,
                                                    [PTO_ACTIVITY_put] = 1 + PTO_KERNEL_links,
                                                    [PTO_ACTIVITY_get] = 1 + PTO_KERNEL_links,
                                                    [PTO_ACTIVITY_notify] = 1 + PTO_KERNEL_links,
                                                    [PTO_ACTIVITY_wait_peer] = 1 + PTO_KERNEL_ranks,
                                                    [PTO_ACTIVITY_wait_link] = 1 + PTO_KERNEL_ranks};

/* What kernels' times are made of. */
static bool collect_segments(const struct collector *c) {
  for (uint64_t i = 0; i < c->trace->segments.count; i++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(&c->trace->segments, i);
    const uint32_t part = segment->activity < PTO_ACTIVITY_COUNT ? part_of[segment->activity] : 0;
    if (segment->resource.kind != PTO_RESOURCE_CORE || !part) continue;
    struct pto_kernel_time *row =
        kernel_time(c->timeline, pto_trace_task_kernel(c->trace, segment->task, segment->role));
    if (!row) return false;
    row->parts[part - 1] += segment->end - segment->begin;
  }
  for (size_t i = 0; i < c->timeline->kernel_count; i++) {
    struct pto_kernel_time *row = &c->timeline->kernels[i];
    uint64_t known = 0;
    for (uint32_t k = 0; k < PTO_KERNEL_cores; k++) known += row->parts[k];
    row->parts[PTO_KERNEL_cores] = row->total > known ? row->total - known : 0;
  }
  return true;
}

/* What calls cost, and what they could reach. */
static bool collect_costs(const struct collector *c) {
  for (uint64_t i = 0; i < c->trace->costs.count; i++) {
    const struct pto_trace_cost *cost = pto_trace_log_at(&c->trace->costs, i);
    struct pto_kernel_time *row = kernel_time(c->timeline, cost->kernel);
    if (!row) return false;
    pto_roofline_add(&row->roofline, cost, &c->trace->rates);
  }
  pto_roofs_init(&c->timeline->roofs, c->trace, c->core_count);
  return true;
}

static void collect_control(struct collector *c) {
  for (uint64_t i = 0; i < c->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&c->trace->control, i);
    if (control->stall == PTO_STALL_none || control->stall >= PTO_STALL_COUNT) continue;
    c->timeline->stalls[control->stall].count++;
    c->timeline->stalls[control->stall].time += control->end - control->begin;
  }
}

static int collect_graph(struct collector *c, bool has_gains, struct pto_error *error) {
  struct pto_timeline_stats *t = c->timeline;
  struct pto_event_graph graph;
  int status = pto_event_graph_init(c->trace, &graph, error);
  if (status) return status;
  status = pto_accounts_init(&graph, t->core_count[AIC], &t->accounts, error);
  if (status == PTO_OK) status = pto_run_path_init(&graph, &t->path, error);
  if (status == PTO_OK && has_gains) status = pto_run_path_find_gains(&t->path, &graph, error);
  pto_event_graph_fini(&graph);
  return status;
}

static int order_kernels(const void *left, const void *right) {
  const struct pto_kernel_time *a = left, *b = right;
  return (a->total < b->total) - (a->total > b->total);
}

int pto_timeline_stats_init(const struct pto_trace *trace, uint32_t cluster_count, bool has_gains,
                            struct pto_timeline_stats *timeline, struct pto_error *error) {
  memset(timeline, 0, sizeof *timeline);
  struct collector c = {.trace = trace, .timeline = timeline, .core_count = cluster_count * LANES};
  timeline->is_virtual = trace->is_virtual;
  timeline->core_count[AIC] = cluster_count;
  timeline->core_count[AIV] = cluster_count * (LANES - 1);
  timeline->dropped = pto_trace_dropped(trace);
  const bool is_complete =
      collect_spans(&c) && collect_segments(&c) && collect_costs(&c) && pto_depths_init(trace, &timeline->depths);
  const int status =
      is_complete ? collect_graph(&c, has_gains, error) : pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
  if (status) {
    pto_timeline_stats_fini(timeline);
    return status;
  }
  collect_control(&c);
  if (timeline->kernel_count)
    qsort(timeline->kernels, timeline->kernel_count, sizeof *timeline->kernels, order_kernels);
  return PTO_OK;
}

int pto_timeline_stats_take_chip(struct pto_timeline_stats *t, const char *name, struct pto_error *error) {
  struct pto_chip chip;
  t->chip = calloc(1, sizeof *t->chip);
  if (!t->chip) return pto_error_set(error, PTO_ENOMEM, "no memory for what the chip's file says");
  return pto_chip_load_sheet(name, &chip, t->chip, error);
}

void pto_timeline_stats_fini(struct pto_timeline_stats *timeline) {
  free(timeline->kernels);
  free(timeline->chip);
  pto_accounts_fini(&timeline->accounts);
  pto_run_path_fini(&timeline->path);
  pto_depths_fini(&timeline->depths);
  memset(timeline, 0, sizeof *timeline);
}

/* ---- telling ---- */

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
static double percent(uint64_t part, uint64_t whole) { return 100 * share((double)part, (double)whole); }
static const char *kernel_name(const struct pto_kernel_time *row) { return row->kernel ? row->kernel->name : "?"; }
static double seconds_of(const struct pto_timeline_stats *t, uint64_t time) {
  return (double)time * (t->is_virtual ? 1e-12 : 1e-9);
}
/* A time as people read it. */
static const char *time_text(const struct pto_timeline_stats *t, uint64_t time, char *text) {
  return pto_format_seconds(seconds_of(t, time), text, TEXT);
}

static void print_bound(const struct pto_timeline_stats *t, FILE *to) {
  struct pto_thread_bound bound;
  if (pto_accounts_find_bound(&t->accounts, &bound))
    fprintf(to, "  bound    by %s, %.1f %% of the time of %s\n", bound.what, 100 * bound.share, bound.whose);
  else
    fprintf(to,
            "  bound    not told on threads where no one thing takes %.0f %%; --engine virtual tells it of the chip\n",
            100 * PTO_BOUND_LEAST);
}

static struct pto_gains gains_of(const struct pto_timeline_stats *t) {
  return (struct pto_gains){.items = t->path.gains,
                            .count = t->path.gain_count,
                            .untried = &t->path.untried,
                            .makespan = t->path.makespan,
                            .chip = t->chip,
                            .command = t->command,
                            .has_what_if = true};
}

static void print_path(const struct pto_timeline_stats *t, FILE *to) {
  const struct pto_run_path *path = &t->path;
  char text[TEXT], more[TEXT];
  if (!t->is_virtual) print_bound(t, to);
  if (path->makespan == 0) return;
  fprintf(to, "  bound    by %s, %.1f %%: %s of %s on the critical path", pto_activity_group_text(path->group),
          percent(path->groups[path->group], path->makespan), time_text(t, path->groups[path->group], text),
          time_text(t, path->makespan, more));
  if (pto_run_path_group_has_more(path))
    fprintf(to, ", the largest part %s, %s", pto_activity_text(path->activity),
            time_text(t, path->times[path->activity], text));
  putc('\n', to);
  const struct pto_gains gains = gains_of(t);
  pto_gains_print(&gains, to);
  fprintf(to, "  path     ");
  bool is_first = true;
  uint64_t told = 0;
  for (;;) { /* the largest that has not been told */
    uint32_t next = PTO_ACTIVITY_COUNT;
    for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++)
      if (!(told >> i & 1) && path->times[i] && (next == PTO_ACTIVITY_COUNT || path->times[i] > path->times[next]))
        next = i;
    if (next == PTO_ACTIVITY_COUNT || __builtin_popcountll(told) == MOST_ACTIVITIES_PRINTED) break;
    told |= UINT64_C(1) << next;
    fprintf(to, "%s%s %.1f %%", is_first ? "" : ", ", pto_activity_text(next),
            percent(path->times[next], path->makespan));
    is_first = false;
  }
  fprintf(to, "; %zu steps\n", path->step_count);
}

/* Accounts side by side: a row an activity, a column a resource, in shares of the makespan. */
static void print_accounts(const struct pto_timeline_stats *t, FILE *to) {
  const struct pto_accounts *accounts = &t->accounts;
  char text[TEXT];
  fprintf(to, "  time     %s%s, of which %%:\n", time_text(t, accounts->makespan, text),
          t->is_virtual ? " on the chip" : "");
  for (uint32_t first = 0; first < accounts->count; first += ACCOUNTS_A_LINE) {
    const uint32_t end = (uint32_t)pto_min_u64(accounts->count, first + (uint64_t)ACCOUNTS_A_LINE);
    fprintf(to, "             %-*s", ACTIVITY_WIDTH, "");
    for (uint32_t i = first; i < end; i++) fprintf(to, " %12s", accounts->items[i].name);
    putc('\n', to);
    for (uint32_t activity = 0; activity < PTO_ACTIVITY_COUNT; activity++) {
      uint64_t any = 0;
      for (uint32_t i = first; i < end; i++) any |= accounts->items[i].times[activity];
      if (!any) continue;
      fprintf(to, "             %-*s", ACTIVITY_WIDTH, pto_activity_text(activity));
      for (uint32_t i = first; i < end; i++) {
        const struct pto_account *account = &accounts->items[i];
        if (account->times[activity])
          fprintf(to, " %12.2f", percent(account->times[activity], accounts->makespan * account->count));
        else
          fprintf(to, " %12s", "-");
      }
      putc('\n', to);
    }
  }
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
  char text[TEXT];
  for (uint32_t reason = PTO_STALL_none + 1; reason < PTO_STALL_COUNT; reason++) {
    const struct pto_stall_time *stall = &t->stalls[reason];
    if (!stall->count) continue;
    fprintf(to, "  %-8s %s for %s, %" PRIu64 " %s\n", label, time_text(t, stall->time, text),
            stall_reasons[reason].text, stall->count, stall->count == 1 ? "time" : "times");
    label = "";
  }
}

static const char *const part_heads[] = {
#define X(name, head) head,
    PTO_KERNEL_PART_LIST(X)
#undef X
};

/* Those that all kernels have stand there always. */
static bool has_part(const struct pto_timeline_stats *t, uint32_t part) {
  for (size_t i = 0; i < t->kernel_count; i++)
    if (t->kernels[i].parts[part]) return true;
  return part <= PTO_KERNEL_contention;
}

/* So many digits, or all before the point, or four behind it. */
static const char *digits_text(double value, int digits, char *text, size_t size) {
  if (value >= 1000 || value < 0.1)
    snprintf(text, size, "%.*f", value < 0.1 ? 4 : 0, value);
  else
    snprintf(text, size, "%.*g", digits, value);
  return text;
}

/* What the time is made of, and how far it is from the least that the chip permits. */
static void print_roof(const struct pto_timeline_stats *t, const struct pto_kernel_time *row, FILE *to) {
  const struct pto_roofline *roofline = &row->roofline;
  char text[TEXT], intensity[TEXT], gops[TEXT];
  const char *bound = pto_roofline_bound(roofline, text, sizeof text);
  fputs("  ", to);
  for (uint32_t part = 0; part < PTO_KERNEL_PARTS; part++)
    if (has_part(t, part)) fprintf(to, " %6.1f%%", percent(row->parts[part], row->total));
  if (bound)
    fprintf(to, " %7s %7s %7.1f%% %s", digits_text(pto_roofline_intensity(roofline), 3, intensity, sizeof intensity),
            digits_text(pto_roofline_gops(roofline, row->total), 4, gops, sizeof gops),
            percent(roofline->least_ps, row->total), bound);
}

static void print_kernels(const struct pto_timeline_stats *t, FILE *to) {
  char text[TEXT], more[TEXT], longest[TEXT];
  if (t->kernel_count == 0) return;
  fprintf(to, "  kernels  %-28s %10s %8s %12s %12s %12s", "", "calls", "share", "total", "mean", "longest");
  if (t->is_virtual) fputs("  ", to);
  for (uint32_t part = 0; t->is_virtual && part < PTO_KERNEL_PARTS; part++)
    if (has_part(t, part)) fprintf(to, " %7s", part_heads[part]);
  fprintf(to, "%s\n", t->is_virtual ? "   ops/B   Gop/s  of roof" : "");
  for (size_t i = 0; i < t->kernel_count && i < MOST_KERNELS_PRINTED; i++) {
    const struct pto_kernel_time *row = &t->kernels[i];
    if (!row->calls) continue;
    fprintf(to, "             %-26.26s %10" PRIu64 " %7.1f%% %12s %12s %12s", kernel_name(row), row->calls,
            percent(row->total, t->busy[AIC] + t->busy[AIV]), time_text(t, row->total, text),
            pto_format_seconds(seconds_of(t, row->total) / (double)row->calls, more, sizeof more),
            time_text(t, row->longest, longest));
    if (t->is_virtual) print_roof(t, row, to);
    putc('\n', to);
  }
  if (t->kernel_count > MOST_KERNELS_PRINTED)
    fprintf(to, "             … and %zu more\n", t->kernel_count - MOST_KERNELS_PRINTED);
}

void pto_timeline_stats_print(const struct pto_timeline_stats *t, const struct pto_stats *stats, FILE *to) {
  print_path(t, to);
  pto_timeline_stats_print_accounts(t, stats, to);
}

void pto_timeline_stats_print_accounts(const struct pto_timeline_stats *t, const struct pto_stats *stats, FILE *to) {
  print_accounts(t, to);
  fprintf(to, "  cores    %" PRIu64 " calls on %" PRIu32 " of %" PRIu32 " AIC, %" PRIu32 " of %" PRIu32 " AIV\n",
          t->calls, t->used_count[AIC], t->core_count[AIC], t->used_count[AIV], t->core_count[AIV]);
  print_stalls(t, to);
  pto_depths_print(&t->depths, to);
  fprintf(to, "  regions  %" PRIu64 " lookups, %.2f candidates a lookup\n", stats->lookups,
          share((double)stats->candidates, (double)stats->lookups));
  print_kernels(t, to);
  if (t->dropped)
    fprintf(to, "  (%" PRIu64 " records did not fit; the figures are of a part of the run)\n", t->dropped);
}

/* ---- JSON ---- */

static void put_us(struct pto_json_writer *w, const struct pto_timeline_stats *t, const char *key, uint64_t time) {
  pto_json_key(w, key);
  pto_json_decimal(w, time, t->is_virtual ? PS_DIGITS : NS_DIGITS);
}

static void put_activities(struct pto_json_writer *w, const struct pto_timeline_stats *t, const uint64_t *times) {
  pto_json_put_object(w, "us");
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++)
    if (times[i]) put_us(w, t, pto_activity_name(i), times[i]);
  pto_json_object_end(w);
}

/* Gains of virtual time alone. */
static void put_verdict(struct pto_json_writer *w, const struct pto_timeline_stats *t) {
  const struct pto_run_path *path = &t->path;
  struct pto_thread_bound bound;
  const bool is_of_threads = pto_accounts_find_bound(&t->accounts, &bound);
  if (!pto_json_try_key(w, "verdict", path->makespan > 0 || is_of_threads)) return;
  if (!is_of_threads)
    bound = (struct pto_thread_bound){.what = pto_activity_group_text(path->group),
                                      .whose = "the critical path",
                                      .share = share((double)path->groups[path->group], (double)path->makespan)};
  pto_json_object_begin(w);
  pto_json_put_string(w, "bound_by", bound.what);
  pto_json_put_string(w, "of", bound.whose);
  pto_json_put_double(w, "share", bound.share);
  const bool has_more = !is_of_threads && pto_run_path_group_has_more(path);
  pto_json_put_string(w, "activity", has_more ? pto_activity_name(path->activity) : NULL);
  if (pto_json_try_key(w, "activity_us", has_more))
    pto_json_decimal(w, path->times[path->activity], t->is_virtual ? PS_DIGITS : NS_DIGITS);
  put_us(w, t, "us",
         is_of_threads ? (uint64_t)(bound.share * (double)t->accounts.makespan) : path->groups[path->group]);
  const struct pto_gains gains = gains_of(t);
  pto_gains_put(&gains, w);
  pto_json_object_end(w);
}

static void put_accounts(struct pto_json_writer *w, const struct pto_timeline_stats *t) {
  pto_json_put_array(w, "accounts");
  for (uint32_t i = 0; i < t->accounts.count; i++) {
    const struct pto_account *account = &t->accounts.items[i];
    pto_json_object_begin(w);
    pto_json_put_string(w, "resource", account->name);
    pto_json_put_string(w, "kind", account->kind);
    pto_json_put_u64(w, "count", account->count);
    pto_json_put_u64(w, "used", account->used);
    put_activities(w, t, account->times);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_task(struct pto_json_writer *w, const char *key, uint32_t task) {
  if (pto_json_try_key(w, key, task != PTO_SEGMENT_NO_TASK)) pto_json_u64(w, task);
}

static void put_path(struct pto_json_writer *w, const struct pto_timeline_stats *t) {
  const struct pto_run_path *path = &t->path;
  char name[TEXT];
  if (!pto_json_try_key(w, "path", path->makespan > 0)) return;
  pto_json_object_begin(w);
  put_activities(w, t, path->times);
  const size_t left = path->step_count > MOST_STEPS ? path->step_count - MOST_STEPS : 0;
  pto_json_put_array(w, "steps");
  for (size_t i = left; i < path->step_count; i++) {
    const struct pto_path_step *step = &path->steps[i];
    pto_json_object_begin(w);
    pto_json_put_string(w, "resource", pto_resource_name(step->resource, name, sizeof name));
    pto_json_put_string(w, "group", pto_activity_group_name(step->group));
    put_us(w, t, "begin_us", step->begin);
    put_us(w, t, "end_us", step->end);
    put_task(w, "first_task", step->first_task);
    put_task(w, "last_task", step->last_task);
    pto_json_put_string(w, "kernel", step->kernel ? step->kernel->name : NULL);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_u64(w, "steps_left", left);
  pto_json_object_end(w);
}

static void put_kernels(struct pto_json_writer *w, const struct pto_timeline_stats *t) {
  pto_json_put_array(w, "kernels");
  for (size_t i = 0; i < t->kernel_count; i++) {
    const struct pto_kernel_time *row = &t->kernels[i];
    static const char *const keys[] = {
#define X(name, head) #name "_us",
        PTO_KERNEL_PART_LIST(X)
#undef X
    };
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", kernel_name(row));
    pto_json_put_u64(w, "calls", row->calls);
    put_us(w, t, "total_us", row->total);
    put_us(w, t, "longest_us", row->longest);
    for (uint32_t k = 0; k < PTO_KERNEL_PARTS; k++)
      if (pto_json_try_key(w, keys[k], t->is_virtual)) pto_json_decimal(w, row->parts[k], PS_DIGITS);
    pto_roofline_put(&row->roofline, row->total, t->roofs.count > 0, w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_stalls(struct pto_json_writer *w, const struct pto_timeline_stats *t) {
  pto_json_put_object(w, "stalls");
  for (uint32_t reason = PTO_STALL_none + 1; reason < PTO_STALL_COUNT; reason++) {
    pto_json_put_object(w, stall_reasons[reason].key);
    pto_json_put_u64(w, "count", t->stalls[reason].count);
    put_us(w, t, "us", t->stalls[reason].time);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

void pto_timeline_stats_write_json(const struct pto_timeline_stats *t, const struct pto_stats *stats,
                                   struct pto_json_writer *w) {
  pto_json_put_object(w, "stats");
  pto_json_put_string(w, "time", t->is_virtual ? "virtual" : "real");
  put_us(w, t, "makespan_us", t->accounts.makespan);
  pto_json_put_u64(w, "calls", t->calls);
  put_verdict(w, t);
  put_accounts(w, t);
  put_path(w, t);
  put_kernels(w, t);
  pto_roofs_put(&t->roofs, w);
  if (pto_json_try_key(w, "chip_keys", t->chip != NULL)) pto_chip_keys_put(t->chip, w);
  pto_json_put_u64(w, "submit_waits", stats->submit_waits);
  put_stalls(w, t);
  pto_depths_put(&t->depths, w);
  pto_json_put_u64(w, "lookups", stats->lookups);
  pto_json_put_u64(w, "candidates", stats->candidates);
  pto_json_put_u64(w, "overlap_budget_exhausted", stats->overlap_budget_exhausted);
  pto_json_put_u64(w, "dropped_records", t->dropped);
  pto_json_object_end(w);
}
