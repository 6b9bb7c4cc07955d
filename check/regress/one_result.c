/* SPDX-License-Identifier: MIT */
#include <check/regress/one_result.h>

#include <stdbool.h>
#include <string.h>

static bool is_of(json_t *result, const char *format) {
  const char *its = json_string_value(json_object_get(result, "format"));
  return its && strcmp(its, format) == 0;
}

/* Those of the whole, and of rank 0, that a result has too. */
static int copy_members(json_t *to, json_t *result, json_t *first) {
  static const char *const of_all[] = {"program",      "status",        "exit",       "error",       "verified",
                                       "trace_digest", "output_digest", "virtual_us", "wall_seconds"};
  static const char *const of_first[] = {"case", "engine", "chip", "deps", "seed"};
  int failures = json_object_set_new(to, "format", json_string("pto-run"));
  for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) {
    json_t *value = json_object_get(result, of_all[i]);
    if (value) failures += json_object_set(to, of_all[i], value);
  }
  for (size_t i = 0; i < sizeof of_first / sizeof *of_first; i++) {
    json_t *value = json_object_get(first, of_first[i]);
    if (value) failures += json_object_set(to, of_first[i], value);
  }
  return failures;
}

/* Of a count that all ranks have: the sum, or the highest. */
static int fold_count(json_t *to, json_t *results, const char *key, bool is_sum) {
  json_int_t all = 0;
  json_t *result;
  size_t i;
  json_array_foreach(results, i, result) {
    json_t *value = json_object_get(result, key);
    const json_int_t count = json_integer_value(value);
    if (!json_is_integer(value)) return 0;
    all = is_sum ? all + count : count > all ? count : all;
  }
  return json_object_set_new(to, key, json_integer(all));
}

static int fold_exact(json_t *to, json_t *results) {
  bool is_exact = true;
  json_t *result;
  size_t i;
  json_array_foreach(results, i, result) is_exact &= json_is_true(json_object_get(result, "exact_outputs"));
  return json_object_set_new(to, "exact_outputs", json_boolean(is_exact));
}

static int fold_stats(json_t *to, json_t *ranks, json_t *results) {
  static const char *const lists[] = {"kernels", "accounts"};
  json_t *stats = json_object(), *result, *path = json_object_get(ranks, "path"),
         *makespan = json_object_get(ranks, "virtual_us");
  size_t i;
  int failures = 0;
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    json_t *all = json_array();
    json_array_foreach(results, i, result)
      failures += json_array_extend(all, json_object_get(json_object_get(result, "stats"), lists[k]));
    failures += json_object_set_new(stats, lists[k], all);
  }
  failures += json_object_set(stats, "makespan_us", makespan);
  if (path) failures += json_object_set(stats, "path", path);
  return failures + json_object_set_new(to, "stats", stats);
}

static json_t *take_graph(json_t *result) {
  if (json_object_set_new(result, "format", json_string("pto-run")) == 0 &&
      json_object_set(result, "program", json_object_get(result, "graph")) == 0)
    return result;
  json_decref(result);
  return NULL;
}

json_t *pto_one_result(json_t *result) {
  if (is_of(result, "pto-graph")) return take_graph(result);
  if (!is_of(result, "pto-ranks")) return result;
  json_t *results = json_object_get(result, "results"), *first = json_array_get(results, 0), *folded = json_object();
  int failures = copy_members(folded, result, first);
  failures += fold_count(folded, results, "tasks", true) + fold_count(folded, results, "edges", true) +
              fold_count(folded, results, "window_high_water", false) +
              fold_count(folded, results, "heap_high_water_bytes", false) + fold_exact(folded, results);
  if (json_is_object(json_object_get(first, "stats"))) failures += fold_stats(folded, result, results);
  json_decref(result);
  if (failures == 0) return folded;
  json_decref(folded);
  return NULL;
}
