/* SPDX-License-Identifier: MIT */
/*
 * `ptosim run --stats` of every program of tests/regress/examples.list: each account adds up to the makespan, exactly
 * in virtual time, and so does the path; the timeline has the same times under the same names; what each call costs is
 * paid once; on threads the makespan is the run's time, to 1 %.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/trace/segment.h>
#include <tests/support/ptosim_child.h>

#define LINE 512
#define LIST "tests/regress/examples.list"
/* What the begin and the end of a run take beside, on a machine that does other things, too. */
#define BESIDE_US 2000
#define MOST_ROUNDS 5

/* Picoseconds of a number of microseconds with six digits. */
static long long ps(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  assert_true(json_is_number(value));
  return llround(json_number_value(value) * 1e6);
}

static long long sum_of(json_t *us) {
  const char *key;
  json_t *value;
  long long sum = 0;
  json_object_foreach(us, key, value) {
    assert_true(json_number_value(value) > 0);
    sum += llround(json_number_value(value) * 1e6);
  }
  return sum;
}

static void check_accounts(json_t *stats, bool has_contexts) {
  json_t *accounts = json_object_get(stats, "accounts"), *account;
  const long long makespan = ps(stats, "makespan_us");
  size_t i;
  assert_true(json_array_size(accounts) > 0);
  json_array_foreach(accounts, i, account) {
    json_t *us = json_object_get(account, "us");
    assert_true(sum_of(us) == makespan * pto_json_integer(account, "count"));
    assert_null(json_object_get(us, "other"));
    if (strcmp(pto_json_text(account, "kind"), "link") == 0)
      assert_int_equal(pto_json_integer(account, "used"), has_contexts);
  }
}

static size_t gain_count; /* of all runs so far */

/* From 0 to the end, without a gap. */
static void check_path(json_t *stats) {
  json_t *path = json_object_get(stats, "path"), *steps = json_object_get(path, "steps"), *step;
  long long at = 0;
  size_t i;
  assert_true(sum_of(json_object_get(path, "us")) == ps(stats, "makespan_us"));
  json_array_foreach(steps, i, step) {
    if (i || !pto_json_integer(path, "steps_left")) assert_true(ps(step, "begin_us") == at);
    at = ps(step, "end_us");
  }
  assert_true(at == ps(stats, "makespan_us"));
  json_t *gains = json_object_get(json_object_get(stats, "verdict"), "gains"), *gain;
  gain_count += json_array_size(gains);
  json_array_foreach(gains, i, gain) {
    assert_true(ps(gain, "us") > 0);
    assert_true(ps(gain, "us") + ps(gain, "makespan_us") == ps(stats, "makespan_us"));
  }
}

static double moved_bytes(json_t *root) {
  return json_number_value(json_object_get(root, "h2d_bytes")) + json_number_value(json_object_get(root, "d2h_bytes")) +
         json_number_value(json_object_get(root, "d2d_bytes"));
}

/* ---- the timeline ---- */

/* The words of activities in texts, by their names in JSON. */
static const struct {
  const char *name, *text;
} activities[] = {
#define X(name, text, group) {#name, text},
    PTO_ACTIVITY_LIST(X)
#undef X
};

static void add_time(json_t *us, const char *text, json_t *time) {
  const char *name = NULL;
  for (size_t i = 0; i < sizeof activities / sizeof activities[0]; i++)
    if (strcmp(activities[i].text, text) == 0) name = activities[i].name;
  if (!name) fail_msg("no activity is called %s", text);
  const json_int_t before = json_integer_value(json_object_get(us, name));
  json_object_set_new(us, name, json_integer(before + llround(json_number_value(time) * 1e6)));
}

/* A call is its parts, which add up to it. */
static void add_call(json_t *us, json_t *slice) {
  const char *key;
  json_t *value;
  long long sum = 0;
  json_object_foreach(json_object_get(slice, "args"), key, value) {
    const size_t length = strlen(key);
    if (length < 4 || strcmp(&key[length - 3], "_us") != 0 || strcmp(key, "submitted_us") == 0) continue;
    for (size_t i = 0; i < sizeof activities / sizeof activities[0]; i++)
      if (strncmp(activities[i].name, key, length - 3) == 0 && activities[i].name[length - 3] == '\0')
        add_time(us, activities[i].text, value);
    sum += llround(json_number_value(value) * 1e6);
  }
  assert_true(sum == ps(slice, "dur"));
}

/* {"AIC": {"compute": ps, …}, "orchestrator": …}: what the slices of each track say. */
static json_t *sum_up_trace(const char *path) {
  json_t *root = pto_ptosim_load(path), *events = json_object_get(root, "traceEvents"), *event, *tracks = json_object(),
         *sums = json_object();
  size_t i;
  char id[64];
  json_array_foreach(events, i, event) {
    const char *phase = pto_json_text(event, "ph");
    snprintf(id, sizeof id, "%lld %lld", (long long)pto_json_integer(event, "pid"),
             (long long)pto_json_integer(event, "tid"));
    if (strcmp(phase, "M") == 0 && strcmp(pto_json_text(event, "name"), "thread_name") == 0) {
      const char *name = pto_json_text(json_object_get(event, "args"), "name");
      const bool is_core = strncmp(name, "AI", 2) == 0;
      json_object_set_new(tracks, id, is_core ? json_stringn(name, 3) : json_string(name));
    }
    if (strcmp(phase, "X") != 0 || strcmp(pto_json_text(event, "cat"), "path") == 0) continue;
    if (strcmp(pto_json_text(event, "cat"), "ranks") == 0) continue; /* within a call */
    const char *track = json_string_value(json_object_get(tracks, id));
    if (!json_object_get(sums, track)) json_object_set_new(sums, track, json_object());
    json_t *us = json_object_get(sums, track);
    if (strcmp(pto_json_text(event, "cat"), "kernel") == 0)
      add_call(us, event);
    else
      add_time(us, pto_json_text(event, "name"), json_object_get(event, "dur"));
  }
  json_decref(tracks);
  json_decref(root);
  return sums;
}

/* Where the link does nothing it has no slice. */
static void check_timeline(json_t *stats) {
  json_t *sums = sum_up_trace(pto_ptosim_path("t.json")), *account, *time;
  size_t i;
  const char *activity;
  json_array_foreach(json_object_get(stats, "accounts"), i, account) {
    const char *resource = pto_json_text(account, "resource");
    const bool is_link = strcmp(pto_json_text(account, "kind"), "link") == 0;
    json_t *told = json_object_get(sums, resource), *us = json_object_get(account, "us");
    json_object_foreach(us, activity, time) {
      if (is_link && strcmp(activity, "no_work") == 0) continue;
      if (json_integer_value(json_object_get(told, activity)) != ps(us, activity))
        fail_msg("%s, %s: %lld ps in the timeline, %lld in the account", resource, activity,
                 (long long)json_integer_value(json_object_get(told, activity)), ps(us, activity));
    }
    json_object_foreach(told, activity, time) assert_non_null(json_object_get(us, activity));
  }
  json_decref(sums);
}

/* The most that is in use at submits, by depth, is what the rings themselves have counted, which know nothing of
 * records. */
static void check_depths(json_t *root) {
  json_t *depths = json_object_get(json_object_get(root, "stats"), "depths"), *row;
  int64_t tasks = 0, slots = 0, bytes = 0;
  size_t i;
  json_array_foreach(depths, i, row) {
    assert_int_equal(pto_json_integer(row, "depth"), i);
    assert_int_equal(pto_json_integer(row, "ring"), i < PTO_RINGS ? i : PTO_RINGS - 1);
    if (pto_json_integer(row, "window_high_water") > slots) slots = pto_json_integer(row, "window_high_water");
    if (pto_json_integer(row, "heap_high_water_bytes") > bytes) bytes = pto_json_integer(row, "heap_high_water_bytes");
    tasks += pto_json_integer(row, "tasks");
  }
  assert_int_equal(tasks, pto_json_integer(root, "tasks"));
  assert_int_equal(slots, pto_json_integer(root, "window_high_water"));
  assert_int_equal(bytes, pto_json_integer(root, "heap_high_water_bytes"));
}

static bool check_virtual(json_t *root) {
  json_t *stats = json_object_get(root, "stats");
  check_depths(root);
  assert_true(ps(stats, "makespan_us") == ps(root, "virtual_us"));
  check_accounts(stats, moved_bytes(root) > 0);
  if (pto_json_integer(root, "tasks")) check_path(stats);
  return true;
}

static bool check_traced(json_t *root) {
  check_timeline(json_object_get(root, "stats"));
  return check_virtual(root);
}

/* On a chip whose rates say all, a kernel alone takes what its roof permits: the parts of its time that are its own add
 * up to that.  One that waits works in pieces, each rounded up to a picosecond. */
static void check_roofs(json_t *stats) {
  json_t *kernels = json_object_get(stats, "kernels"), *kernel;
  size_t i;
  json_array_foreach(kernels, i, kernel) {
    const double total = json_number_value(json_object_get(kernel, "total_us")),
                 share = json_number_value(json_object_get(kernel, "roof_share")),
                 own = json_number_value(json_object_get(kernel, "compute_us")) +
                       json_number_value(json_object_get(kernel, "memory_us"));
    if (fabs(share * total - own) > 1e-3 * own)
      fail_msg("%s: %g of %g us are permitted, %g are its own", pto_json_text(kernel, "name"), share, total, own);
  }
}

/* What a call costs besides its kernel, on a chip whose prices are the same for each: paid once a call.  Waiting fills
 * up whatever is missing, so that sums alone would not show it. */
static bool check_prices(json_t *root) {
  static const struct {
    const char *activity;
    long long price_ps;
  } prices[] = {{"dispatch", 80000}, {"poll", 50000}, {"start", 250000}, {"end", 150000}};
  json_t *stats = json_object_get(root, "stats"), *account;
  assert_int_equal(json_array_size(json_object_get(json_object_get(stats, "verdict"), "gains")), 0); /* --no-gains */
  for (size_t k = 0; k < sizeof prices / sizeof prices[0]; k++) {
    long long paid = 0;
    size_t i;
    json_array_foreach(json_object_get(stats, "accounts"), i, account) {
      json_t *us = json_object_get(account, "us");
      if (json_object_get(us, prices[k].activity)) paid += ps(us, prices[k].activity);
    }
    if (paid != pto_json_integer(stats, "calls") * prices[k].price_ps)
      fail_msg("%s: %lld ps of %s in %lld calls",
               pto_json_text(root, json_object_get(root, "program") ? "program" : "graph"), paid, prices[k].activity,
               (long long)pto_json_integer(stats, "calls"));
  }
  check_roofs(stats);
  return check_virtual(root);
}

/* Whether the makespan is the time of the run: another process may have been in between. */
static bool check_threads(json_t *root) {
  json_t *stats = json_object_get(root, "stats");
  const double wall = json_number_value(json_object_get(root, "wall_seconds")) * 1e6;
  assert_true(json_is_null(json_object_get(stats, "path")));
  json_t *verdict = json_object_get(stats, "verdict");
  if (!json_is_null(verdict)) assert_true(json_number_value(json_object_get(verdict, "share")) >= 0.75);
  check_accounts(stats, false);
  if (moved_bytes(root) > 0) return true; /* the program does things of its own between runs of its contexts */
  const double makespan = json_number_value(json_object_get(stats, "makespan_us"));
  return fabs(makespan - wall) <= wall * 0.01 + BESIDE_US;
}

/* Of several ranks each has accounts of its own, and the path is of all: both end when the last rank does. */
static bool check_ranks(json_t *root) {
  json_t *results = json_object_get(root, "results"), *rank;
  size_t i;
  long long last = 0;
  assert_true(json_array_size(results) > 1);
  json_array_foreach(results, i, rank) {
    json_t *stats = json_object_get(rank, "stats");
    last = ps(rank, "virtual_us") > last ? ps(rank, "virtual_us") : last;
    assert_true(ps(stats, "makespan_us") == ps(rank, "virtual_us"));
    check_accounts(stats, moved_bytes(rank) > 0);
  }
  assert_true(ps(root, "virtual_us") == last);
  assert_true(ps(json_object_get(root, "path"), "makespan_us") == last);
  assert_string_equal(pto_json_text(json_object_get(root, "path"), "why_no_gains"), "--no-gains is given");
  return true;
}

/* The first case of each program, of one chip or of several ranks, but of those that do not run to their end. */
static void each_program(const char *options, bool of_ranks, bool (*check)(json_t *root)) {
  char line[LINE], last[LINE] = "";
  FILE *list = fopen(LIST, "r");
  uint32_t count = 0;
  if (!list) fail_msg("%s is read from the checkout", LIST);
  while (fgets(line, sizeof line, list)) {
    const size_t name = strcspn(line, " \n");
    char *engine = strstr(line, " --engine ");
    if (line[0] == '#' || !engine || strncmp(line, last, name + 1) == 0 || strncmp(line, "errors/", 7) == 0) continue;
    if ((strstr(line, " --ranks ") != NULL) != of_ranks) continue;
    memcpy(last, line, name);
    last[name] = ' ';
    last[name + 1] = 0;
    *engine = 0;
    const char *verb = strncmp(line, "graph ", 6) == 0 ? "" : "run ";
    bool is_right = false;
    for (uint32_t round = 0; round < MOST_ROUNDS && !is_right; round++) {
      if (pto_ptosim_run("%s%s %s --stats --json -", verb, line, options))
        fail_msg("%s: %s", line, pto_ptosim_last.err);
      json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
      is_right = check(root);
      json_decref(root);
    }
    if (!is_right) fail_msg("%s: the makespan is not the time of the run: %s", line, pto_ptosim_last.out);
    count++;
  }
  fclose(list);
  print_message("%u programs\n", count);
  assert_true(count >= (of_ranks ? 5 : 20));
}

static void test_accounts_of_virtual_time_add_up_exactly(void **state) {
  char options[600];
  snprintf(options, sizeof options, "--engine virtual --chip a2a3 --trace %s", pto_ptosim_path("t.json"));
  each_program(options, false, check_traced);
  assert_true(gain_count > 0);
  each_program("--engine virtual --chip tests/regress/plain.ini --no-gains", false, check_prices);
}

static void test_accounts_of_several_ranks_add_up(void **state) {
  (void)state;
  each_program("--chip a2a3 --no-gains", true, check_ranks);
}

static void test_accounts_of_threads_add_up_to_the_time_of_the_run(void **state) {
  each_program("--engine threads --chip tests/regress/plain.ini", false, check_threads);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accounts_of_virtual_time_add_up_exactly),
      cmocka_unit_test(test_accounts_of_several_ranks_add_up),
      cmocka_unit_test(test_accounts_of_threads_add_up_to_the_time_of_the_run),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
