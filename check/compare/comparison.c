/* SPDX-License-Identifier: MIT */
#include <check/compare/comparison.h>

#include <stdlib.h>
#include <string.h>

#include <check/compare/rows.h>
#include <report/run/run_path.h>
#include <runtime/base/base.h>

struct reading {
  json_t *const *const *sides;
  const uint32_t *counts;
  struct pto_gathered_rows makespan, tables[PTO_COMPARED_TABLES];
  uint64_t path[PTO_ACTIVITY_COUNT],
      all[PTO_ACTIVITY_COUNT]; /* of the first results, both sides: on the path, in all */
  uint32_t thread_count;
};

static const char *text_of(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static const char *activity_text(const char *name) {
  const uint32_t activity = pto_activity_find(name);
  return activity < PTO_ACTIVITY_COUNT ? pto_activity_text(activity) : name;
}

/* ---- path and kernels ---- */

static bool add_path(struct reading *r, json_t *stats, int side, uint32_t run) {
  const char *name;
  json_t *us;
  json_object_foreach(json_object_get(json_object_get(stats, "path"), "us"), name, us) {
    struct pto_gathered *row = pto_gathered_find(&r->tables[PTO_COMPARED_PATH], activity_text(name));
    const uint32_t activity = pto_activity_find(name);
    if (!row) return false;
    row->times[side][run] += pto_ps_of(us);
    if (run == 0 && activity < PTO_ACTIVITY_COUNT) r->path[activity] += pto_ps_of(us);
  }
  return true;
}

/* What the groups of its tasks say; the sum of its calls where some are of tasks with other kernels besides. */
uint64_t pto_kernel_ps(json_t *result, json_t *kernel) {
  json_int_t calls = 0;
  uint64_t time = 0;
  size_t i;
  json_t *group;
  json_array_foreach(json_object_get(json_object_get(result, "alike_tasks"), "groups"), i, group) {
    if (strcmp(text_of(group, "kernels"), text_of(kernel, "name")) != 0) continue;
    calls += json_integer_value(json_object_get(group, "calls"));
    time += pto_alike_ps(group);
  }
  const bool is_whole = calls == json_integer_value(json_object_get(kernel, "calls"));
  return is_whole ? time : pto_ps_of(json_object_get(kernel, "total_us"));
}

static bool add_kernels(struct reading *r, json_t *result, int side, uint32_t run) {
  json_t *stats = json_object_get(result, "stats"), *kernel;
  size_t i;
  json_array_foreach(json_object_get(stats, "kernels"), i, kernel) {
    struct pto_gathered *row = pto_gathered_find(&r->tables[PTO_COMPARED_KERNELS], text_of(kernel, "name"));
    if (!row) return false;
    row->times[side][run] += pto_kernel_ps(result, kernel);
    if (run > 0) continue;
    row->row.calls[side] += (uint64_t)json_integer_value(json_object_get(kernel, "calls"));
    row->row.alone[side] +=
        pto_ps_of(json_object_get(kernel, "compute_us")) + pto_ps_of(json_object_get(kernel, "memory_us"));
  }
  return true;
}

/* What of a kernel lies on the path, of the steps that are listed; 0 on threads. */
static uint64_t kernel_on_path(json_t *stats, const char *name) {
  size_t i;
  json_t *step;
  uint64_t time = 0;
  json_array_foreach(json_object_get(json_object_get(stats, "path"), "steps"), i, step) {
    if (strcmp(text_of(step, "kernel"), name) != 0 ||
        strcmp(text_of(step, "group"), pto_activity_group_name(PTO_GROUP_HOP)) == 0)
      continue;
    time += pto_ps_of(json_object_get(step, "end_us")) - pto_ps_of(json_object_get(step, "begin_us"));
  }
  return time;
}

/* ---- accounts ---- */

/* Schedulers are one resource here, and threads but for the first, which the orchestration runs on. */
static const char *resource_of(json_t *account) {
  const char *kind = text_of(account, "kind"), *name = text_of(account, "resource");
  if (strcmp(kind, "scheduler") == 0) return "schedulers";
  if (strcmp(kind, "thread") == 0 && strcmp(name, "thread 0") != 0) return "other threads";
  return name;
}

static bool is_control(json_t *account) {
  return strcmp(text_of(account, "kind"), "orchestrator") == 0 || strcmp(text_of(account, "resource"), "thread 0") == 0;
}

/* Waiting says something where it is the control's, and all shake hands as long as that; a transfer is the link's. */
static bool is_told(json_t *account, uint32_t activity) {
  if (activity == PTO_ACTIVITY_no_work || activity == PTO_ACTIVITY_other) return false;
  const uint32_t group = activity < PTO_ACTIVITY_COUNT ? pto_activity_group(activity) : PTO_GROUP_COUNT;
  if (group == PTO_GROUP_WAIT || activity == PTO_ACTIVITY_handshake) return is_control(account);
  return group != PTO_GROUP_TRANSFER || strcmp(text_of(account, "kind"), "orchestrator") != 0;
}

static uint32_t count_resources(json_t *accounts, const char *resource) {
  size_t i;
  json_t *account;
  json_int_t count = 0;
  json_array_foreach(accounts, i, account)
    if (strcmp(resource_of(account), resource) == 0) count += json_integer_value(json_object_get(account, "count"));
  return count > 0 ? (uint32_t)pto_min_u64((uint64_t)count, UINT32_MAX) : 1;
}

static bool add_account(struct reading *r, json_t *accounts, json_t *account, int side, uint32_t run) {
  const char *name, *resource = resource_of(account);
  json_t *us;
  char row_name[128];
  json_object_foreach(json_object_get(account, "us"), name, us) {
    const uint32_t activity = pto_activity_find(name);
    if (!is_told(account, activity)) continue;
    snprintf(row_name, sizeof row_name, "%s, %s", resource, activity_text(name));
    struct pto_gathered *row = pto_gathered_find(&r->tables[PTO_COMPARED_ACCOUNTS], row_name);
    if (!row) return false;
    row->times[side][run] += pto_ps_of(us);
    row->activity = activity;
    row->row.is_wait = activity < PTO_ACTIVITY_COUNT && pto_activity_group(activity) == PTO_GROUP_WAIT;
    row->row.is_own = !row->row.is_wait && activity != PTO_ACTIVITY_look;
    row->row.resource_count = pto_max_u32(row->row.resource_count, count_resources(accounts, resource));
    if (run == 0 && activity < PTO_ACTIVITY_COUNT) r->all[activity] += pto_ps_of(us);
  }
  return true;
}

static bool add_accounts(struct reading *r, json_t *stats, int side, uint32_t run) {
  json_t *accounts = json_object_get(stats, "accounts"), *account;
  size_t i;
  uint32_t threads = 0;
  json_array_foreach(accounts, i, account) {
    if (!add_account(r, accounts, account, side, run)) return false;
    threads += strcmp(text_of(account, "kind"), "thread") == 0;
  }
  r->thread_count = pto_max_u32(r->thread_count, threads);
  return true;
}

/* ---- how much a change counts ---- */

static double ratio(uint64_t part, uint64_t whole) { return whole ? (double)part / (double)whole : 0; }

/* In virtual time the share of a thing's time that lies on the critical path; on threads they all work at once. */
static void weigh(struct reading *r) {
  const bool is_virtual = r->thread_count == 0;
  json_t *const stats[2] = {json_object_get(r->sides[0][0], "stats"), json_object_get(r->sides[1][0], "stats")};
  struct pto_gathered_rows *kernels = &r->tables[PTO_COMPARED_KERNELS], *accounts = &r->tables[PTO_COMPARED_ACCOUNTS];
  for (size_t i = 0; i < kernels->count; i++) {
    struct pto_gathered *row = &kernels->items[i];
    const uint64_t path = kernel_on_path(stats[0], row->row.name) + kernel_on_path(stats[1], row->row.name);
    row->row.weight = is_virtual ? ratio(path, row->times[0][0] + row->times[1][0]) : 1.0 / r->thread_count;
  }
  for (size_t i = 0; i < accounts->count; i++) {
    struct pto_gathered *row = &accounts->items[i];
    const bool is_of_kernels = row->activity >= PTO_ACTIVITY_compute && row->activity <= PTO_ACTIVITY_kernel;
    if (is_of_kernels || row->activity >= PTO_ACTIVITY_COUNT) continue; /* those of kernels say it by name */
    row->row.weight = is_virtual ? ratio(r->path[row->activity], r->all[row->activity]) : 1.0 / row->row.resource_count;
  }
}

/* ---- reading ---- */

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
  c->task_counts[side] = (uint64_t)json_integer_value(json_object_get(result, "tasks"));
  c->edge_counts[side] = (uint64_t)json_integer_value(json_object_get(result, "edges"));
}

static int gather(struct reading *r, struct pto_compared_tasks *tasks, struct pto_error *error) {
  for (int side = 0; side < 2; side++) {
    for (uint32_t run = 0; run < r->counts[side]; run++) {
      json_t *stats = json_object_get(r->sides[side][run], "stats");
      const int status = check_result(r->sides[side][run], error);
      if (status) return status;
      struct pto_gathered *makespan = pto_gathered_find(&r->makespan, "makespan");
      if (!makespan || !add_path(r, stats, side, run) || !add_kernels(r, r->sides[side][run], side, run) ||
          !add_accounts(r, stats, side, run))
        return pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
      makespan->times[side][run] = pto_ps_of(json_object_get(stats, "makespan_us"));
    }
  }
  weigh(r);
  return pto_compare_tasks(r->sides, r->counts, &r->tables[PTO_COMPARED_TASKS], tasks, error);
}

/* Of the intervals of all rows, the makespan's too; 0: there are none. */
static uint32_t find_rank(const struct reading *r, struct pto_run_comparison *c) {
  size_t rows = 1;
  if (c->is_exact) return 0;
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) rows += r->tables[i].count;
  const double chance = PTO_COMPARE_CHANCE / (double)rows;
  const uint32_t rank = pto_shift_rank(r->counts[0], r->counts[1], chance);
  c->can_tell = rank > 0;
  c->least_runs = pto_shift_least_count(chance);
  return rank;
}

static int take_tables(struct reading *r, struct pto_run_comparison *c, struct pto_error *error) {
  struct pto_compared_rows makespan = {0};
  const uint32_t rank = find_rank(r, c);
  bool is_fine = pto_gathered_take(&r->makespan, r->counts, rank, &makespan);
  if (is_fine) c->makespan = makespan.items[0];
  free(makespan.items);
  for (int i = 0; i < PTO_COMPARED_TABLES; i++)
    is_fine = pto_gathered_take(&r->tables[i], r->counts, rank, &c->tables[i]) && is_fine;
  return is_fine ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
}

int pto_run_comparison_make(json_t *const *const sides[2], const uint32_t counts[2], struct pto_run_comparison *c,
                            struct pto_error *error) {
  struct reading r = {.sides = sides, .counts = counts};
  memset(c, 0, sizeof *c);
  for (int side = 0; side < 2; side++) describe(sides[side][0], side, c);
  memcpy(c->runs, counts, sizeof c->runs);
  c->is_exact = strcmp(c->engines[0], "virtual") == 0 && strcmp(c->engines[1], "virtual") == 0;
  c->can_tell = c->is_exact;
  int status = gather(&r, &c->tasks, error);
  if (status == PTO_OK && !c->is_exact && strcmp(c->engines[0], c->engines[1]) != 0)
    status =
        pto_error_set(error, PTO_EINVAL, "%s is in virtual time and %s is not: their times are of two clocks",
                      c->names[strcmp(c->engines[1], "virtual") == 0], c->names[strcmp(c->engines[0], "virtual") == 0]);
  if (status == PTO_OK) status = take_tables(&r, c, error);
  free(r.makespan.items);
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) free(r.tables[i].items);
  return status;
}

void pto_run_comparison_fini(struct pto_run_comparison *c) {
  for (int i = 0; i < PTO_COMPARED_TABLES; i++) free(c->tables[i].items);
  memset(c, 0, sizeof *c);
}

bool pto_compared_differs(const struct pto_run_comparison *c, const struct pto_compared *row) {
  const struct pto_range *a = &row->times[0], *b = &row->times[1];
  if (c->is_exact) return a->high_ps < b->low_ps || b->high_ps < a->low_ps;
  return c->can_tell && (row->shift.low > 0 || row->shift.high < 0);
}

bool pto_run_comparison_is_same(const struct pto_run_comparison *c) {
  bool is_same = !pto_compared_differs(c, &c->makespan) && c->task_counts[0] == c->task_counts[1] &&
                 c->edge_counts[0] == c->edge_counts[1] && !c->tasks.only[0] && !c->tasks.only[1] && !c->tasks.moved;
  for (int i = 0; i < PTO_COMPARED_TABLES; i++)
    for (size_t k = 0; k < c->tables[i].count; k++) is_same &= !pto_compared_differs(c, &c->tables[i].items[k]);
  return is_same;
}
