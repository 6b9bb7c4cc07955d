/* SPDX-License-Identifier: MIT */
#include <check/compare/baselines.h>

#include <stdlib.h>
#include <string.h>

#include <check/compare/clock.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

#define PS_DIGITS 6 /* of a microsecond */

static uint64_t size_of_change(const struct pto_compared_case *c) {
  return c->times[0] > c->times[1] ? c->times[0] - c->times[1] : c->times[1] - c->times[0];
}

/* Relative to what it was: a percent of a short case is as much as one of a long case. */
static int order_cases(const void *left, const void *right) {
  const struct pto_compared_case *a = left, *b = right;
  const double x = (double)size_of_change(a) / (double)pto_max_u64(a->times[0], 1),
               y = (double)size_of_change(b) / (double)pto_max_u64(b->times[0], 1);
  return x != y ? (x < y) - (x > y) : strcmp(a->text, b->text);
}

static bool add(struct pto_compared_baselines *found, const char *text, const char *sentence, uint64_t a, uint64_t b) {
  struct pto_compared_case *row = pto_grow(&found->cases, &found->count, &found->capacity, sizeof *row);
  if (!row) return false;
  *row = (struct pto_compared_case){.text = text, .times = {a, b}};
  snprintf(row->sentence, sizeof row->sentence, "%.*s", (int)sizeof row->sentence - 1, sentence);
  return true;
}

static bool compare_case(const struct pto_baseline *a, const struct pto_baseline *b, const char *text,
                         struct pto_compared_baselines *found) {
  static const struct pto_regress_allowed nothing;
  struct pto_regress_outcome then, now;
  struct pto_error error;
  char parts[256];
  (void)pto_regress_find(a, text, &then);
  if (!pto_regress_find(b, text, &now)) return add(found, text, "only in A", 0, 0);
  json_t *parts_now = json_object_get(json_object_get(b->cases, text), "parts");
  int status = pto_regress_compare(a, text, &now, parts_now, &nothing, &error);
  json_t *clock_now = pto_clock_of(b, text);
  if (status == PTO_OK && clock_now && pto_clock_of(a, text))
    status = pto_clock_compare(a, text, clock_now, &nothing, &error);
  if (status == PTO_OK) {
    found->same++;
    return true;
  }
  pto_regress_say_parts(a, text, parts_now, parts, sizeof parts);
  pto_error_append(&error, "%s", parts);
  const bool has_times = then.has_virtual_time && now.has_virtual_time;
  return add(found, text, error.sentence, has_times ? then.virtual_ps : 0, has_times ? now.virtual_ps : 0);
}

int pto_compared_baselines_make(const struct pto_baseline *a, const struct pto_baseline *b,
                                struct pto_compared_baselines *found, struct pto_error *error) {
  const char *text;
  json_t *value;
  bool is_fine = true;
  memset(found, 0, sizeof *found);
  json_object_foreach(a->cases, text, value) is_fine = is_fine && compare_case(a, b, text, found);
  json_object_foreach(b->cases, text, value)
    if (is_fine && !json_object_get(a->cases, text)) is_fine = add(found, text, "only in B", 0, 0);
  if (!is_fine) return pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
  if (found->count) qsort(found->cases, found->count, sizeof *found->cases, order_cases);
  return PTO_OK;
}

void pto_compared_baselines_fini(struct pto_compared_baselines *found) {
  free(found->cases);
  memset(found, 0, sizeof *found);
}

void pto_compared_baselines_print(const struct pto_compared_baselines *found, FILE *to) {
  for (size_t i = 0; i < found->count; i++) fprintf(to, "%s\n    %s\n", found->cases[i].text, found->cases[i].sentence);
  fprintf(to, "%zu changed, %zu the same\n", found->count, found->same);
}

void pto_compared_baselines_put(const struct pto_compared_baselines *found, struct pto_json_writer *w) {
  pto_json_object_begin(w);
  pto_json_put_u64(w, "same", found->same);
  pto_json_put_array(w, "changed");
  for (size_t i = 0; i < found->count; i++) {
    const struct pto_compared_case *row = &found->cases[i];
    pto_json_object_begin(w);
    pto_json_put_string(w, "case", row->text);
    pto_json_put_string(w, "sentence", row->sentence);
    if (pto_json_try_key(w, "a_virtual_us", row->times[0] > 0)) pto_json_decimal(w, row->times[0], PS_DIGITS);
    if (pto_json_try_key(w, "b_virtual_us", row->times[1] > 0)) pto_json_decimal(w, row->times[1], PS_DIGITS);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
}
