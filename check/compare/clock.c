/* SPDX-License-Identifier: MIT */
#include <check/compare/clock.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check/compare/rows.h>
#include <runtime/base/base.h>

#define KEY "clock_ns"
#define PS_PER_NS 1000u
#define NS_PER_US 1e3

/* ---- times of runs ---- */

static size_t count_runs(json_t *times) { return json_array_size(json_object_iter_value(json_object_iter(times))); }

/* A list of that name gets the time as its last; zeros for the runs that had none. */
static int add_time(json_t *times, const char *name, size_t runs_before, uint64_t ns) {
  json_t *list = json_object_get(times, name);
  int failures = 0;
  if (!list) {
    failures += json_object_set_new(times, name, list = json_array());
    for (size_t i = 0; i < runs_before; i++) failures += json_array_append_new(list, json_integer(0));
  }
  return failures + json_array_append_new(list, json_integer((json_int_t)ns));
}

int pto_clock_add(json_t *times, json_t *result, struct pto_error *error) {
  json_t *stats = json_object_get(result, "stats"), *kernels = json_object_get(stats, "kernels"), *kernel, *list;
  const char *clock = json_string_value(json_object_get(stats, "time")), *name;
  const size_t before = count_runs(times);
  size_t i;
  if (!json_array_size(kernels)) return pto_error_set(error, PTO_EINVAL, "no kernel ran that could be timed");
  if (!clock || strcmp(clock, "real") != 0)
    return pto_error_set(error, PTO_EINVAL,
                         "it is in virtual time, which one run tells: only runs on threads are timed");
  int failures = 0;
  json_array_foreach(kernels, i, kernel) {
    const uint64_t calls = (uint64_t)json_integer_value(json_object_get(kernel, "calls"));
    failures += add_time(times, json_string_value(json_object_get(kernel, "name")), before,
                         pto_kernel_ps(result, kernel) / PS_PER_NS / pto_max_u64(calls, 1));
  }
  json_object_foreach(times, name, list)
    if (json_array_size(list) == before) failures += json_array_append_new(list, json_integer(0));
  return failures ? pto_error_set(error, PTO_ENOMEM, "no memory for times") : PTO_OK;
}

int pto_clock_put(const struct pto_baseline *baseline, const char *text, json_t *times) {
  return json_object_set(json_object_get(baseline->cases, text), KEY, times) ? PTO_ENOMEM : PTO_OK;
}

json_t *pto_clock_of(const struct pto_baseline *baseline, const char *text) {
  json_t *times = json_object_get(json_object_get(baseline->cases, text), KEY);
  return count_runs(times) ? times : NULL;
}

/* ---- judging ---- */

struct change {
  const char *name;
  double before, by; /* medians, ns */
  struct pto_shift shift;
};

static int compare_times(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* Returns the median, of sorted times. */
static double take(json_t *times, const char *name, uint32_t count, uint64_t *to) {
  json_t *list = json_object_get(times, name);
  for (uint32_t i = 0; i < count; i++) {
    const json_int_t ns = json_integer_value(json_array_get(list, i));
    to[i] = ns > 0 ? (uint64_t)ns : 0;
  }
  qsort(to, count, sizeof *to, compare_times);
  return ((double)to[(count - 1) / 2] + (double)to[count / 2]) / 2;
}

static bool counts(const struct change *change, const struct pto_regress_allowed *allowed) {
  const double most = allowed->percent / 100 * change->before + PTO_CLOCK_SLACK_NS;
  return (double)change->shift.low > most || (!allowed->is_less_fine && (double)change->shift.high < -most);
}

static int say(const struct change *change, struct pto_error *error) {
  (void)pto_error_set(error, PTO_EINVAL, "kernel %s %+.2f us a call", change->name, change->by / NS_PER_US);
  if (change->before > 0) pto_error_append(error, " (%+.1f %%)", 100 * change->by / change->before);
  pto_error_append(error, " on the clock, from %+.2f to %+.2f", (double)change->shift.low / NS_PER_US,
                   (double)change->shift.high / NS_PER_US);
  return error->status;
}

int pto_clock_compare(const struct pto_baseline *baseline, const char *text, json_t *times,
                      const struct pto_regress_allowed *allowed, struct pto_error *error) {
  json_t *then = pto_clock_of(baseline, text), *all = json_object(), *list;
  uint64_t a[PTO_SHIFT_MOST], b[PTO_SHIFT_MOST];
  struct change most = {.name = NULL};
  const char *name;
  if (!then || !all || json_object_update(all, then) || json_object_update(all, times)) {
    json_decref(all);
    return pto_error_set(error, then ? PTO_ENOMEM : PTO_ENOTSUP, "%s",
                         then ? "no memory for times" : "the baseline has no times of it (--update puts them there)");
  }
  const uint32_t a_count = (uint32_t)pto_min_u64(count_runs(then), PTO_SHIFT_MOST),
                 b_count = (uint32_t)pto_min_u64(count_runs(times), PTO_SHIFT_MOST);
  const double chance = PTO_COMPARE_CHANCE / (double)json_object_size(all);
  const uint32_t rank = pto_shift_rank(a_count, b_count, chance);
  json_object_foreach(all, name, list) {
    const double before = take(then, name, a_count, a), now = take(times, name, b_count, b);
    if (!rank) break;
    const struct change change = {name, before, now - before, pto_shift_between(a, a_count, b, b_count, rank)};
    if (counts(&change, allowed) && (!most.name || fabs(change.by) > fabs(most.by))) most = change;
  }
  int status = PTO_OK;
  if (!rank)
    status = pto_error_set(error, PTO_ENOTSUP, "runs: %u now, %u in the baseline, which tell nothing; %u are needed",
                           b_count, a_count, pto_shift_least_count(chance));
  else if (most.name)
    status = say(&most, error);
  json_decref(all);
  return status;
}
