/* SPDX-License-Identifier: MIT */
#include <check/compare/comparison.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>

#define PS_PER_US 1e6
#define PS_DIGITS 6 /* of a microsecond */

/* ---- from results to rows ---- */

static uint64_t ps_of(json_t *us) {
  return json_is_number(us) ? (uint64_t)llround(json_number_value(us) * PS_PER_US) : 0;
}

static bool is_waiting(const char *activity) {
  return strncmp(activity, "wait_", 5) == 0 || strcmp(activity, "no_work") == 0 || strcmp(activity, "other") == 0;
}

/* Values of one row while results are read: those of result i of a side in [side][i], 0 where it has none. */
struct gathered {
  char name[96];
  uint64_t times[2][PTO_COMPARE_MOST];
  uint64_t calls[2];
};

struct table {
  struct gathered *rows;
  size_t count, capacity;
};

static struct gathered *row_of(struct table *table, const char *name) {
  for (size_t i = 0; i < table->count; i++)
    if (strcmp(table->rows[i].name, name) == 0) return &table->rows[i];
  struct gathered *row = pto_grow(&table->rows, &table->count, &table->capacity, sizeof *row);
  if (!row) return NULL;
  memset(row, 0, sizeof *row);
  snprintf(row->name, sizeof row->name, "%s", name);
  return row;
}

static bool add_time(struct table *table, const char *name, int side, uint32_t run, uint64_t ps) {
  struct gathered *row = row_of(table, name);
  if (row) row->times[side][run] += ps;
  return row != NULL;
}

static bool add_path(struct table *table, json_t *stats, int side, uint32_t run) {
  const char *activity;
  json_t *us;
  bool is_fine = true;
  json_object_foreach(json_object_get(json_object_get(stats, "path"), "us"), activity, us) is_fine &=
      add_time(table, activity, side, run, ps_of(us));
  return is_fine;
}

static bool add_kernels(struct table *table, json_t *stats, int side, uint32_t run) {
  size_t i;
  json_t *kernel;
  json_array_foreach(json_object_get(stats, "kernels"), i, kernel) {
    struct gathered *row = row_of(table, json_string_value(json_object_get(kernel, "name")));
    if (!row) return false;
    row->times[side][run] = ps_of(json_object_get(kernel, "total_us"));
    if (run == 0) row->calls[side] = (uint64_t)json_integer_value(json_object_get(kernel, "calls"));
  }
  return true;
}

static bool add_resources(struct table *table, json_t *stats, int side, uint32_t run) {
  size_t i;
  json_t *account, *us;
  const char *activity;
  json_array_foreach(json_object_get(stats, "accounts"), i, account) {
    const char *name = json_string_value(json_object_get(account, "resource"));
    uint64_t busy = 0;
    json_object_foreach(json_object_get(account, "us"), activity, us) busy += is_waiting(activity) ? 0 : ps_of(us);
    if (busy && !add_time(table, name, side, run, busy)) return false;
  }
  return true;
}

static uint64_t size_of_change(const struct pto_compared *row) {
  const uint64_t a = row->times[0].median_ps, b = row->times[1].median_ps;
  return a > b ? a - b : b - a;
}

static int by_change(const void *left, const void *right) {
  const struct pto_compared *a = left, *b = right;
  const uint64_t x = size_of_change(a), y = size_of_change(b);
  return x != y ? (x < y) - (x > y) : strcmp(a->name, b->name);
}

static struct pto_compared compared_of(struct gathered *row, const uint32_t counts[2]) {
  struct pto_compared made = {.calls = {row->calls[0], row->calls[1]}};
  memcpy(made.name, row->name, sizeof made.name);
  for (int side = 0; side < 2; side++) made.times[side] = pto_range_of(row->times[side], counts[side]);
  return made;
}

static bool take_table(struct table *from, const uint32_t counts[2], struct pto_compared_rows *to) {
  for (size_t i = 0; i < from->count; i++) {
    struct pto_compared *row = pto_grow(&to->items, &to->count, &to->capacity, sizeof *row);
    if (!row) return false;
    *row = compared_of(&from->rows[i], counts);
  }
  if (to->count) qsort(to->items, to->count, sizeof *to->items, by_change);
  return true;
}

/* ---- reading ---- */

static const char *text_of(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static int check_result(json_t *result, struct pto_error *error) {
  const char *format = text_of(result, "format");
  if (strcmp(format, "pto-run") != 0)
    return pto_error_set(error, PTO_EINVAL, "%s is no result of `ptosim run --json`", format[0] ? format : "this");
  if (strcmp(text_of(result, "status"), "PTO_OK") != 0)
    return pto_error_set(error, PTO_EINVAL, "the run of %s did not end well: %s", text_of(result, "program"),
                         text_of(result, "error"));
  if (!json_is_object(json_object_get(result, "stats")))
    return pto_error_set(error, PTO_EINVAL, "the result of %s has no account: run it with --stats",
                         text_of(result, "program"));
  return PTO_OK;
}

static void describe(json_t *result, int side, struct pto_run_comparison *c) {
  const char *case_name = text_of(result, "case");
  snprintf(c->names[side], sizeof c->names[side], "%s%s%s", text_of(result, "program"), case_name[0] ? " --case " : "",
           case_name);
  snprintf(c->chips[side], sizeof c->chips[side], "%s", text_of(result, "chip"));
  snprintf(c->engines[side], sizeof c->engines[side], "%s", text_of(result, "engine"));
  c->tasks[side] = (uint64_t)json_integer_value(json_object_get(result, "tasks"));
  c->edges[side] = (uint64_t)json_integer_value(json_object_get(result, "edges"));
}

static int gather(json_t *const *const sides[2], const uint32_t counts[2], struct table *makespan,
                  struct table tables[PTO_COMPARED_TABLES], struct pto_error *error) {
  for (int side = 0; side < 2; side++) {
    for (uint32_t run = 0; run < counts[side]; run++) {
      json_t *stats = json_object_get(sides[side][run], "stats");
      const int status = check_result(sides[side][run], error);
      if (status) return status;
      if (!add_time(makespan, "makespan", side, run, ps_of(json_object_get(stats, "makespan_us"))) ||
          !add_path(&tables[PTO_COMPARED_PATH], stats, side, run) ||
          !add_kernels(&tables[PTO_COMPARED_KERNELS], stats, side, run) ||
          !add_resources(&tables[PTO_COMPARED_RESOURCES], stats, side, run))
        return pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
    }
  }
  return PTO_OK;
}

int pto_run_comparison_make(json_t *const *const sides[2], const uint32_t counts[2], struct pto_run_comparison *c,
                            struct pto_error *error) {
  struct table makespan = {0}, tables[PTO_COMPARED_TABLES] = {0};
  PTO_ASSERT(counts[0] >= 1 && counts[0] <= PTO_COMPARE_MOST && counts[1] >= 1 && counts[1] <= PTO_COMPARE_MOST);
  memset(c, 0, sizeof *c);
  int status = gather(sides, counts, &makespan, tables, error);
  if (status == PTO_OK) {
    for (int side = 0; side < 2; side++) describe(sides[side][0], side, c);
    memcpy(c->runs, counts, sizeof c->runs);
    c->is_exact = strcmp(c->engines[0], "virtual") == 0 && strcmp(c->engines[1], "virtual") == 0;
    c->can_tell = c->is_exact || pto_min_u64(counts[0], counts[1]) >= PTO_COMPARE_LEAST;
    c->makespan = compared_of(&makespan.rows[0], counts);
    if (!c->is_exact && strcmp(c->engines[0], c->engines[1]) != 0)
      status = pto_error_set(error, PTO_EINVAL, "%s is in virtual time and %s is not: their times are of two clocks",
                             c->names[strcmp(c->engines[1], "virtual") == 0],
                             c->names[strcmp(c->engines[0], "virtual") == 0]);
  }
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) {
    if (status == PTO_OK && !take_table(&tables[i], counts, &c->tables[i]))
      status = pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
    free(tables[i].rows);
  }
  free(makespan.rows);
  return status;
}

void pto_run_comparison_fini(struct pto_run_comparison *c) {
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) free(c->tables[i].items);
  memset(c, 0, sizeof *c);
}

/* ---- verdicts ---- */

bool pto_compared_differs(const struct pto_run_comparison *c, const struct pto_compared *row) {
  const struct pto_range *a = &row->times[0], *b = &row->times[1];
  return c->can_tell && (a->high_ps < b->low_ps || b->high_ps < a->low_ps);
}

bool pto_run_comparison_is_same(const struct pto_run_comparison *c) {
  bool is_same = !pto_compared_differs(c, &c->makespan) && c->tasks[0] == c->tasks[1] && c->edges[0] == c->edges[1];
  for (int i = 0; i < PTO_COMPARED_TABLES; i++)
    for (size_t k = 0; k < c->tables[i].count; k++) is_same &= !pto_compared_differs(c, &c->tables[i].items[k]);
  return is_same;
}

static double us_of(uint64_t ps) { return (double)ps / PS_PER_US; }
static double change_us(const struct pto_compared *row) {
  return us_of(row->times[1].median_ps) - us_of(row->times[0].median_ps);
}
/* 0 where A has nothing. */
static double change_percent(const struct pto_compared *row) {
  return row->times[0].median_ps ? 100 * change_us(row) / us_of(row->times[0].median_ps) : 0;
}

/* The first row of the table whose difference counts; of kernels the one that changed most, calls and all. */
static const struct pto_compared *find_cause(const struct pto_run_comparison *c, enum pto_compared_table table) {
  for (size_t i = 0; i < c->tables[table].count; i++)
    if (pto_compared_differs(c, &c->tables[table].items[i])) return &c->tables[table].items[i];
  return NULL;
}

static void say_cause(const struct pto_compared *kernel, const struct pto_compared *path, char *text, size_t size) {
  if (kernel) {
    pto_text_append(text, size, "; kernel %s %+.2f us (%+.1f %%)", kernel->name, change_us(kernel),
                    change_percent(kernel));
    if (kernel->calls[0] != kernel->calls[1])
      pto_text_append(text, size, " in %" PRIu64 " calls instead of %" PRIu64, kernel->calls[1], kernel->calls[0]);
  }
  if (path) pto_text_append(text, size, "; on the critical path %s %+.2f us", path->name, change_us(path));
}

void pto_run_comparison_verdict(const struct pto_run_comparison *c, char *text, size_t size) {
  const double change = change_us(&c->makespan);
  text[0] = '\0';
  if (!c->can_tell)
    pto_text_append(text, size, "B took %.2f us and A %.2f us, of fewer than %u runs a side: that tells nothing",
                    us_of(c->makespan.times[1].median_ps), us_of(c->makespan.times[0].median_ps), PTO_COMPARE_LEAST);
  else if (pto_compared_differs(c, &c->makespan))
    pto_text_append(text, size, "B takes %.2f us %s (%+.2f %%)", fabs(change), change > 0 ? "longer" : "less",
                    change_percent(&c->makespan));
  else
    pto_text_append(text, size, "%s",
                    pto_run_comparison_is_same(c) ? c->is_exact ? "the same" : "no difference that counts"
                    : c->is_exact                 ? "both take as long"
                                                  : "neither takes longer, as far as can be told");
  if (c->can_tell && !pto_run_comparison_is_same(c))
    say_cause(find_cause(c, PTO_COMPARED_KERNELS), find_cause(c, PTO_COMPARED_PATH), text, size);
}

/* ---- text ---- */

#define MOST_ROWS 12u /* of a table, printed */

static void print_row(const struct pto_run_comparison *c, const struct pto_compared *row, FILE *to) {
  fprintf(to, "  %-28.28s %12.2f %12.2f %+12.2f", row->name, us_of(row->times[0].median_ps),
          us_of(row->times[1].median_ps), change_us(row));
  if (row->times[0].median_ps)
    fprintf(to, " %+9.2f %%", change_percent(row));
  else
    fprintf(to, " %11s", "new");
  if (row->calls[0] || row->calls[1]) fprintf(to, "  %8" PRIu64 " %8" PRIu64, row->calls[0], row->calls[1]);
  if (!c->is_exact)
    fprintf(to, "  %.2f to %.2f, %.2f to %.2f%s", us_of(row->times[0].low_ps), us_of(row->times[0].high_ps),
            us_of(row->times[1].low_ps), us_of(row->times[1].high_ps),
            pto_compared_differs(c, row) ? "" : ": not told apart");
  fputc('\n', to);
}

void pto_run_comparison_print(const struct pto_run_comparison *c, FILE *to) {
  static const char *const titles[] = {"the critical path, us", "kernels, us", "resources, busy us"};
  char verdict[512];
  pto_run_comparison_verdict(c, verdict, sizeof verdict);
  fprintf(to, "%s\n", verdict);
  for (int side = 0; side < 2; side++) {
    fprintf(to, "  %c  %s on %s, %s engine, %" PRIu64 " tasks, %" PRIu64 " edges", "AB"[side], c -> names[side],
            c -> chips[side], c -> engines[side], c -> tasks[side], c -> edges[side]);
    fprintf(to, c->is_exact ? "\n" : ", %" PRIu32 " runs\n", c->runs[side]);
  }
  fprintf(to, "\n  %-28s %12s %12s %12s %11s\n", "", "A", "B", "change", "");
  print_row(c, &c->makespan, to);
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) {
    const struct pto_compared_rows *rows = &c->tables[i];
    size_t same = 0, printed = 0;
    for (size_t k = 0; k < rows->count; k++) {
      const bool is_changed = size_of_change(&rows->items[k]) > 0;
      if (is_changed && printed == 0)
        fprintf(to, "\n%s%s\n", titles[i], i == PTO_COMPARED_KERNELS ? "; calls behind it" : "");
      if (is_changed && printed++ < MOST_ROWS) print_row(c, &rows->items[k], to);
      same += !is_changed;
    }
    if (printed > MOST_ROWS) fprintf(to, "  and %zu more that changed less\n", printed - MOST_ROWS);
    if (printed && same) fprintf(to, "  the same: %zu more\n", same);
  }
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

static void put_row(const struct pto_run_comparison *c, const struct pto_compared *row, struct pto_json_writer *w) {
  pto_json_object_begin(w);
  pto_json_put_string(w, "name", row->name);
  put_range(c, "a", &row->times[0], w);
  put_range(c, "b", &row->times[1], w);
  pto_json_put_double(w, "change_us", change_us(row));
  if (pto_json_try_key(w, "change_percent", row->times[0].median_ps > 0)) pto_json_double(w, change_percent(row));
  pto_json_put_bool(w, "differs", pto_compared_differs(c, row));
  if (row->calls[0] || row->calls[1]) {
    pto_json_put_u64(w, "a_calls", row->calls[0]);
    pto_json_put_u64(w, "b_calls", row->calls[1]);
  }
  pto_json_object_end(w);
}

void pto_run_comparison_put(const struct pto_run_comparison *c, struct pto_json_writer *w) {
  static const char *const names[] = {"path", "kernels", "resources"};
  char verdict[512];
  pto_run_comparison_verdict(c, verdict, sizeof verdict);
  pto_json_put_string(w, "verdict", verdict);
  pto_json_put_bool(w, "is_same", pto_run_comparison_is_same(c));
  pto_json_put_bool(w, "is_exact", c->is_exact);
  pto_json_put_array(w, "runs");
  for (int side = 0; side < 2; side++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "program", c->names[side]);
    pto_json_put_string(w, "chip", c->chips[side]);
    pto_json_put_string(w, "engine", c->engines[side]);
    pto_json_put_u64(w, "count", c->runs[side]);
    pto_json_put_u64(w, "tasks", c->tasks[side]);
    pto_json_put_u64(w, "edges", c->edges[side]);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_key(w, "makespan");
  put_row(c, &c->makespan, w);
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) {
    pto_json_put_array(w, names[i]);
    for (size_t k = 0; k < c->tables[i].count; k++) put_row(c, &c->tables[i].items[k], w);
    pto_json_array_end(w);
  }
}
