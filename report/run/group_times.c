/* SPDX-License-Identifier: MIT */
#include <report/run/group_times.h>

#include <inttypes.h>
#include <stdlib.h>

#include <formats/units.h>
#include <report/run/trace_view.h>

#define MOST_PRINTED 12u

static int order_times(const void *left, const void *right) {
  const struct pto_group_time *a = left, *b = right;
  if (a->seconds != b->seconds) return (a->seconds < b->seconds) - (a->seconds > b->seconds);
  return (a->group > b->group) - (a->group < b->group);
}

int pto_group_times_init(struct pto_group_times *times, const struct pto_trace *trace,
                         const struct pto_task_groups *groups, struct pto_error *error) {
  const double unit = trace->is_virtual ? 1e-12 : 1e-9;
  *times = (struct pto_group_times){.groups = groups};
  pto_error_clear(error);
  if (!groups || groups->count == 0) return PTO_OK;
  if (!(times->items = calloc(groups->count + 1u, sizeof *times->items)))
    return pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
  for (uint32_t n = 0; n < groups->count; n++) times->items[n].group = n;
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(trace, &walk)) != NULL;) {
    if (span->task >= groups->task_count) continue;
    struct pto_group_time *time = &times->items[groups->group_of[span->task]];
    time->calls++;
    time->seconds += (double)(span->end - span->begin) * unit;
    times->seconds += (double)(span->end - span->begin) * unit;
  }
  qsort(times->items, groups->count, sizeof *times->items, order_times);
  return PTO_OK;
}

void pto_group_times_fini(struct pto_group_times *times) {
  free(times->items);
  *times = (struct pto_group_times){0};
}

void pto_group_times_print(const struct pto_group_times *times, const char *word, FILE *to) {
  char text[32], more[32];
  uint32_t i = 0;
  if (!times->items) return;
  fprintf(to, "  %-8s %-42s %10s %8s %12s %12s\n", word, "", "calls", "share", "total", "mean");
  for (; i < times->groups->count && i < MOST_PRINTED && times->items[i].calls; i++) {
    const struct pto_group_time *time = &times->items[i];
    fprintf(to, "             %-40.40s %10" PRIu64 " %7.1f%% %12s %12s\n", times->groups->names[time->group],
            time->calls, times->seconds > 0 ? 100 * time->seconds / times->seconds : 0,
            pto_format_seconds(time->seconds, text, sizeof text),
            pto_format_seconds(time->seconds / (double)time->calls, more, sizeof more));
  }
  uint32_t left = 0;
  for (; i < times->groups->count && times->items[i].calls; i++) left++;
  if (left) fprintf(to, "             … and %" PRIu32 " more\n", left);
}

static void put_time(const struct pto_group_time *time, struct pto_json_writer *w) {
  pto_json_put_u64(w, "calls", time->calls);
  pto_json_put_double(w, "seconds", time->seconds);
}

void pto_group_times_put(const struct pto_group_times *times, struct pto_json_writer *w) {
  if (!times->items) return;
  pto_json_put_array(w, "node_times");
  for (uint32_t i = 0; i < times->groups->count && times->items[i].calls; i++) {
    const struct pto_group_time *time = &times->items[i];
    pto_json_object_begin(w);
    if (pto_json_try_key(w, "node", time->group + 1 < times->groups->count)) pto_json_u64(w, time->group);
    pto_json_put_string(w, "name", times->groups->names[time->group]);
    put_time(time, w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

void pto_group_times_put_labels(const struct pto_group_times *times, struct pto_json_writer *w) {
  if (!times->items) return;
  pto_json_put_array(w, "label_times");
  for (uint32_t i = 0; i < times->groups->count && i < PTO_GROUP_TIMES_MOST_LABELS && times->items[i].calls; i++) {
    const struct pto_group_time *time = &times->items[i];
    const bool has_label = time->group + 1 < times->groups->count;
    pto_json_object_begin(w);
    pto_json_put_string(w, "label", has_label ? times->groups->names[time->group] : NULL);
    put_time(time, w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}
