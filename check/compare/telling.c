/* SPDX-License-Identifier: MIT */
/*
 * A comparison as text and as JSON.
 */
#include <check/compare/comparison.h>

#include <inttypes.h>
#include <string.h>

#include <formats/units.h>

#define PS_DIGITS 6   /* of a microsecond */
#define MOST_ROWS 12u /* of a table, printed */

static const struct {
  const char *key, *title;
} tables[PTO_COMPARED_TABLES] = {[PTO_COMPARED_PATH] = {"path", "the critical path, us"},
                                 [PTO_COMPARED_KERNELS] = {"kernels", "kernels, us; calls behind it"},
                                 [PTO_COMPARED_ACCOUNTS] = {"accounts", "accounts, us; all of a kind together"},
                                 [PTO_COMPARED_TASKS] = {"alike_tasks", "tasks that are alike, us on cores; how many"}};

/* ---- text ---- */

static double us_of(uint64_t ps) { return (double)ps / 1e6; }

/* Label, place and tensors, as far as there are any. */
static void print_whose(const struct pto_compared *row, FILE *to) {
  const char *separator = "\n      ";
  const char *const places[2] = {row->places[0], row->places[1]};
  const bool is_elsewhere = places[0] && places[1] && strcmp(places[0], places[1]) != 0;
  if (row->label) fprintf(to, "%s\"%s\"", separator, row->label);
  if (row->label) separator = ", ";
  if (places[0] || places[1]) {
    fprintf(to, "%s%s%s%s", separator, places[1] ? places[1] : places[0], is_elsewhere ? ", in A " : "",
            is_elsewhere ? places[0] : "");
    separator = ", ";
  }
  if (row->tensors) fprintf(to, "%s%.100s", separator, row->tensors);
}

static void print_row(const struct pto_run_comparison *c, const struct pto_compared *row, FILE *to) {
  const bool has_tasks = row->tasks[0] || row->tasks[1];
  const uint64_t *counts = has_tasks ? row->tasks : row->calls;
  fprintf(to, "  %-40.40s %12.2f %12.2f %+12.2f", row->name, us_of(row->times[0].median_ps),
          us_of(row->times[1].median_ps), pto_compared_change_us(row));
  if (row->times[0].median_ps)
    fprintf(to, " %+9.2f %%", pto_compared_change_percent(row));
  else
    fprintf(to, " %11s", row->times[1].median_ps ? "new" : "");
  if (counts[0] || counts[1]) fprintf(to, "  %8" PRIu64 " %8" PRIu64, counts[0], counts[1]);
  if (!c->is_exact && c->can_tell)
    fprintf(to, "  %+.2f to %+.2f%s", (double)row->shift.low / 1e6, (double)row->shift.high / 1e6,
            pto_compared_differs(c, row) ? "" : ": not told apart");
  if (has_tasks) print_whose(row, to);
  fputc('\n', to);
}

static bool is_changed(const struct pto_compared *row) {
  return row->times[0].median_ps != row->times[1].median_ps || row->tasks[0] != row->tasks[1];
}

static void print_table(const struct pto_run_comparison *c, enum pto_compared_table table, FILE *to) {
  const struct pto_compared_rows *rows = &c->tables[table];
  size_t printed = 0, changed = 0;
  for (size_t i = 0; i < rows->count; i++) changed += is_changed(&rows->items[i]);
  if (changed) fprintf(to, "\n%s\n", tables[table].title);
  for (size_t i = 0; i < rows->count && printed < MOST_ROWS; i++) {
    if (!is_changed(&rows->items[i])) continue;
    print_row(c, &rows->items[i], to);
    printed++;
  }
  if (changed > printed) fprintf(to, "  and %zu more that changed less\n", changed - printed);
  if (changed && rows->count > changed) fprintf(to, "  the same: %zu more\n", rows->count - changed);
}

static void print_tasks(const struct pto_compared_tasks *tasks, FILE *to) {
  if (!tasks->is_known)
    fputs("  tasks are not matched: a result is of several ranks, or of a ptosim that did not write alike_tasks\n", to);
  else if (tasks->only[0] || tasks->only[1] || tasks->moved)
    fprintf(to, "  tasks: %" PRIu64 " only in A, %" PRIu64 " only in B, %" PRIu64 " in another order%s\n",
            tasks->only[0], tasks->only[1], tasks->moved,
            tasks->is_by_number ? "; the two have little in common, and are compared by kernel, label and tensors"
                                : "");
}

void pto_run_comparison_print(const struct pto_run_comparison *c, FILE *to) {
  char verdict[512];
  pto_run_comparison_verdict(c, verdict, sizeof verdict);
  fprintf(to, "%s\n", verdict);
  for (int side = 0; side < 2; side++) {
    fprintf(to, "  %c  %s on %s, %s engine, %" PRIu64 " task%s, %" PRIu64 " edge%s", "AB"[side], c -> names[side],
            c -> chips[side], c -> engines[side], c -> task_counts[side], pto_plural(c->task_counts[side]),
            c -> edge_counts[side], pto_plural(c->edge_counts[side]));
    fprintf(to, c->is_exact ? "\n" : ", %" PRIu32 " runs\n", c->runs[side]);
  }
  print_tasks(&c->tasks, to);
  fprintf(to, "\n  %-40s %12s %12s %12s %11s%s\n", "", "A", "B", "change", "",
          !c->is_exact && c->can_tell ? "  which is from … to …" : "");
  print_row(c, &c->makespan, to);
  enum pto_compared_table first = PTO_COMPARED_PATH;
  if (pto_run_comparison_cause(c, &first)) print_table(c, first, to);
  for (int i = 0; i < PTO_COMPARED_TABLES; i++)
    if (i != (int)first || !pto_run_comparison_cause(c, &first)) print_table(c, (enum pto_compared_table)i, to);
}

/* ---- JSON ---- */

static void put_range(const struct pto_run_comparison *c, const char *key, const struct pto_range *range,
                      struct pto_json_writer *w) {
  pto_json_key(w, key);
  if (c->is_exact) {
    pto_json_decimal(w, range->median_ps, PS_DIGITS);
    return;
  }
  pto_json_object_begin(w);
  pto_json_key(w, "low_us");
  pto_json_decimal(w, range->low_ps, PS_DIGITS);
  pto_json_key(w, "median_us");
  pto_json_decimal(w, range->median_ps, PS_DIGITS);
  pto_json_key(w, "high_us");
  pto_json_decimal(w, range->high_ps, PS_DIGITS);
  pto_json_object_end(w);
}

static void put_counts(const char *a_key, const char *b_key, const uint64_t counts[2], struct pto_json_writer *w) {
  pto_json_put_u64(w, a_key, counts[0]);
  pto_json_put_u64(w, b_key, counts[1]);
}

static void put_row(const struct pto_run_comparison *c, const struct pto_compared *row, struct pto_json_writer *w) {
  const bool has_tasks = row->tasks[0] || row->tasks[1];
  pto_json_object_begin(w);
  pto_json_put_string(w, "name", row->name);
  put_range(c, "a", &row->times[0], w);
  put_range(c, "b", &row->times[1], w);
  pto_json_put_double(w, "change_us", pto_compared_change_us(row));
  if (pto_json_try_key(w, "change_percent", row->times[0].median_ps > 0))
    pto_json_double(w, pto_compared_change_percent(row));
  const bool has_shift = !c->is_exact && c->can_tell;
  pto_json_put_double(w, "change_low_us", has_shift ? (double)row->shift.low / 1e6 : NAN);
  pto_json_put_double(w, "change_high_us", has_shift ? (double)row->shift.high / 1e6 : NAN);
  pto_json_put_bool(w, "differs", pto_compared_differs(c, row));
  if (has_tasks || row->calls[0] || row->calls[1]) put_counts("a_calls", "b_calls", row->calls, w);
  if (has_tasks) {
    put_counts("a_tasks", "b_tasks", row->tasks, w);
    pto_json_put_string(w, "label", row->label);
    pto_json_put_string(w, "tensors", row->tensors);
    pto_json_put_string(w, "a_place", row->places[0]);
    pto_json_put_string(w, "b_place", row->places[1]);
  }
  pto_json_object_end(w);
}

static void put_tasks(const struct pto_compared_tasks *tasks, struct pto_json_writer *w) {
  if (!pto_json_try_key(w, "tasks", tasks->is_known)) return;
  pto_json_object_begin(w);
  pto_json_put_string(w, "matched_by", tasks->is_by_number ? "number" : "sequence");
  put_counts("only_a", "only_b", tasks->only, w);
  pto_json_put_u64(w, "moved", tasks->moved);
  pto_json_object_end(w);
}

void pto_run_comparison_put(const struct pto_run_comparison *c, struct pto_json_writer *w) {
  char verdict[512];
  pto_run_comparison_verdict(c, verdict, sizeof verdict);
  pto_json_put_string(w, "verdict", verdict);
  enum pto_compared_table table;
  const struct pto_compared *cause = pto_run_comparison_cause(c, &table);
  pto_json_put_string(w, "cause_table", cause ? tables[table].key : NULL);
  pto_json_put_string(w, "cause", cause ? cause->name : NULL);
  pto_json_put_bool(w, "is_same", pto_run_comparison_is_same(c));
  pto_json_put_bool(w, "is_exact", c->is_exact);
  pto_json_put_array(w, "runs");
  for (int side = 0; side < 2; side++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "program", c->names[side]);
    pto_json_put_string(w, "chip", c->chips[side]);
    pto_json_put_string(w, "engine", c->engines[side]);
    pto_json_put_u64(w, "count", c->runs[side]);
    pto_json_put_u64(w, "tasks", c->task_counts[side]);
    pto_json_put_u64(w, "edges", c->edge_counts[side]);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  put_tasks(&c->tasks, w);
  pto_json_key(w, "makespan");
  put_row(c, &c->makespan, w);
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) {
    pto_json_put_array(w, tables[i].key);
    for (size_t k = 0; k < c->tables[i].count; k++) put_row(c, &c->tables[i].items[k], w);
    pto_json_array_end(w);
  }
}
