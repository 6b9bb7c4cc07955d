/* SPDX-License-Identifier: MIT */
#include <check/compare/rows.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/diff/task_match.h>
#include <runtime/base/grow.h>

#define MOST_TASKS (UINT64_C(1) << 24)
#define NONE SIZE_MAX

/* One side's tasks: what their groups are rows of, and the row of each task. */
struct side {
  json_t *alike; /* of the first result */
  size_t *rows;  /* by group */
  uint32_t *row_of;
  struct pto_task_signature *signatures;
  uint64_t count;
};

struct matching {
  struct pto_gathered_rows *rows;
  bool has_labels, has_tensors; /* both sides tell */
  struct side sides[2];
  struct pto_task_match match;
};

static bool is_text_same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* The row of tasks such as the group's, which is new where there was none; NONE where there is no memory. */
static size_t row_of(struct matching *m, json_t *group) {
  const char *kernels = json_string_value(json_object_get(group, "kernels")),
             *label = m->has_labels ? json_string_value(json_object_get(group, "label")) : NULL,
             *tensors = m->has_tensors ? json_string_value(json_object_get(group, "tensors")) : NULL;
  if (!kernels) kernels = "";
  for (size_t i = 0; i < m->rows->count; i++) {
    const struct pto_compared *row = &m->rows->items[i].row;
    if (strncmp(row->name, kernels, sizeof row->name - 1) == 0 && is_text_same(row->label, label) &&
        is_text_same(row->tensors, tensors))
      return i;
  }
  struct pto_gathered *made = pto_gathered_add(m->rows, kernels);
  if (!made) return NONE;
  made->row.label = label;
  made->row.tensors = tensors;
  return m->rows->count - 1;
}

/* ---- reading ---- */

/* Adds what tasks of one result took; of the first one also how many they are, where they stand, and their rows. */
static bool add_times(struct matching *m, json_t *alike, int k, uint32_t run) {
  json_t *groups = json_object_get(alike, "groups"), *group;
  struct side *side = &m->sides[k];
  size_t i;
  if (run == 0) side->rows = calloc(json_array_size(groups) + 1, sizeof *side->rows);
  if (!side->rows) return false;
  json_array_foreach(groups, i, group) {
    const size_t at = row_of(m, group);
    if (at == NONE) return false;
    struct pto_gathered *row = &m->rows->items[at];
    row->times[k][run] += pto_alike_ps(group);
    if (run > 0) continue;
    side->rows[i] = at;
    row->row.calls[k] += (uint64_t)json_integer_value(json_object_get(group, "calls"));
    if (!row->row.places[k]) row->row.places[k] = json_string_value(json_object_get(group, "place"));
  }
  return true;
}

/* How many tasks the order has; 0 where it is none, or of no tasks. */
static uint64_t count_tasks(const struct side *side) {
  size_t i;
  json_t *repeat;
  uint64_t count = 0;
  json_array_foreach(json_object_get(side->alike, "order"), i, repeat) {
    const json_int_t times = json_integer_value(json_array_get(repeat, 0));
    const size_t length = json_array_size(json_array_get(repeat, 1));
    if (times <= 0 || length == 0 || (uint64_t)times > (MOST_TASKS - count) / length) return 0;
    count += (uint64_t)times * length;
  }
  return count;
}

static int refuse(struct pto_error *error) {
  return pto_error_set(error, PTO_EINVAL, "\"alike_tasks\" is none of `ptosim run --stats --json`");
}

/* The row of each task, as its side's order says. */
static int read_order(struct matching *m, struct side *side, int k, struct pto_error *error) {
  const size_t group_count = json_array_size(json_object_get(side->alike, "groups"));
  json_t *order = json_object_get(side->alike, "order"), *repeat, *group;
  const uint64_t count = count_tasks(side);
  size_t i, g;
  if (count == 0 && json_array_size(order) > 0) return refuse(error);
  side->row_of = calloc(count + 1, sizeof *side->row_of);
  if (!side->row_of) return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu64 " tasks", count);
  json_array_foreach(order, i, repeat) {
    for (json_int_t times = json_integer_value(json_array_get(repeat, 0)); times > 0; times--) {
      json_array_foreach(json_array_get(repeat, 1), g, group) {
        const json_int_t number = json_integer_value(group);
        if (number < 0 || (uint64_t)number >= group_count) return refuse(error);
        side->row_of[side->count] = (uint32_t)side->rows[number];
        m->rows->items[side->row_of[side->count++]].row.tasks[k]++;
      }
    }
  }
  return PTO_OK;
}

/* ---- matching ---- */

static struct pto_task_signature signature_of(const struct pto_compared *row) {
  const uint64_t kernels = pto_signature_add_text(0, row->name), form = pto_signature_add_text(kernels, row->tensors);
  return (struct pto_task_signature){
      .whole = pto_signature_add_text(form, row->label), .form = form, .kernels = kernels};
}

static int match_tasks(struct matching *m, struct pto_error *error) {
  struct pto_task_signature *of_rows = calloc(m->rows->count + 1, sizeof *of_rows);
  struct side *a = &m->sides[0], *b = &m->sides[1];
  a->signatures = calloc(a->count + 1, sizeof *a->signatures);
  b->signatures = calloc(b->count + 1, sizeof *b->signatures);
  const bool has_room = of_rows && a->signatures && b->signatures;
  if (has_room) {
    for (size_t i = 0; i < m->rows->count; i++) of_rows[i] = signature_of(&m->rows->items[i].row);
    for (int k = 0; k < 2; k++)
      for (uint64_t i = 0; i < m->sides[k].count; i++) m->sides[k].signatures[i] = of_rows[m->sides[k].row_of[i]];
  }
  free(of_rows);
  if (!has_room) return pto_error_set(error, PTO_ENOMEM, "no memory to match tasks");
  return pto_task_match_make((struct pto_task_list){a->signatures, a->count},
                             (struct pto_task_list){b->signatures, b->count}, &m->match, error);
}

/* ---- what came of it ---- */

/* Tasks of a row of A alone, where all of them are all of one row of B alone. */
struct renamed {
  size_t to;
  bool is_all;
};

/* The row of B takes in that of A, which is then empty. */
static void join(struct pto_gathered *from, struct pto_gathered *to) {
  char name[sizeof to->row.name];
  if (strcmp(from->row.name, to->row.name) != 0) {
    snprintf(name, sizeof name, "%.60s → %.60s", from->row.name, to->row.name);
    memcpy(to->row.name, name, sizeof name);
  }
  memcpy(to->times[0], from->times[0], sizeof to->times[0]);
  to->row.tasks[0] = from->row.tasks[0];
  to->row.calls[0] = from->row.calls[0];
  to->row.places[0] = from->row.places[0];
  memset(from->times, 0, sizeof from->times);
  memset(from->row.tasks, 0, sizeof from->row.tasks);
}

static void join_renamed(struct matching *m, struct renamed *of) {
  const struct side *a = &m->sides[0], *b = &m->sides[1];
  struct pto_gathered *rows = m->rows->items;
  for (size_t i = 0; i < m->rows->count; i++) of[i] = (struct renamed){.to = NONE, .is_all = true};
  for (uint64_t i = 0; i < a->count; i++) {
    const uint64_t task = m->match.to_b[i];
    struct renamed *r = &of[a->row_of[i]];
    const size_t to = task == PTO_TASK_UNMATCHED ? NONE : b->row_of[task];
    r->is_all &= to != NONE && (r->to == NONE || r->to == to);
    r->to = to;
  }
  for (size_t i = 0; i < m->rows->count; i++) {
    const size_t to = of[i].to;
    if (of[i].is_all && to != NONE && to != i && !rows[i].row.tasks[1] && !rows[to].row.tasks[0] &&
        rows[i].row.tasks[0] == rows[to].row.tasks[1])
      join(&rows[i], &rows[to]);
  }
}

static uint64_t only_in(const uint64_t tasks[2], int side) {
  return tasks[side] > tasks[!side] ? tasks[side] - tasks[!side] : 0;
}

/* Tasks by row; those of rows that have not changed in number but stand elsewhere have moved. */
static void count(const struct matching *m, struct pto_compared_tasks *tasks) {
  const struct side *a = &m->sides[0], *b = &m->sides[1];
  uint64_t both = 0, matched = 0;
  for (size_t i = 0; i < m->rows->count; i++) {
    const uint64_t *of = m->rows->items[i].row.tasks;
    for (int k = 0; k < 2; k++) tasks->only[k] += only_in(of, k);
    both += of[0] < of[1] ? of[0] : of[1];
  }
  for (uint64_t i = 0; i < a->count; i++) {
    const uint64_t task = m->match.to_b[i];
    if (task == PTO_TASK_UNMATCHED) continue;
    const size_t row = a->row_of[i], to = b->row_of[task];
    matched += row == to || m->rows->items[row].row.tasks[0] == 0; /* a row that was joined */
  }
  tasks->is_by_number = m->match.is_by_number;
  tasks->moved = tasks->is_by_number ? 0 : both - matched;
}

/* Rows that were joined to others go. */
static void drop_empty(struct pto_gathered_rows *rows) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; i++)
    if (rows->items[i].row.tasks[0] || rows->items[i].row.tasks[1]) rows->items[kept++] = rows->items[i];
  rows->count = kept;
}

static int compare(struct matching *m, json_t *const *const sides[2], const uint32_t counts[2],
                   struct pto_compared_tasks *tasks, struct pto_error *error) {
  for (int k = 0; k < 2; k++) {
    for (uint32_t run = 0; run < counts[k]; run++)
      if (!add_times(m, json_object_get(sides[k][run], "alike_tasks"), k, run))
        return pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
    const int status = read_order(m, &m->sides[k], k, error);
    if (status) return status;
  }
  int status = match_tasks(m, error);
  if (status) return status;
  struct renamed *renamed = calloc(m->rows->count + 1, sizeof *renamed);
  if (!renamed) return pto_error_set(error, PTO_ENOMEM, "no memory for a comparison");
  if (!m->match.is_by_number) join_renamed(m, renamed);
  free(renamed);
  count(m, tasks);
  drop_empty(m->rows);
  return PTO_OK;
}

int pto_compare_tasks(json_t *const *const sides[2], const uint32_t counts[2], struct pto_gathered_rows *rows,
                      struct pto_compared_tasks *tasks, struct pto_error *error) {
  struct matching m = {.rows = rows, .has_labels = true, .has_tensors = true};
  tasks->is_known = true;
  for (int k = 0; k < 2; k++) {
    m.sides[k].alike = json_object_get(sides[k][0], "alike_tasks");
    m.has_labels &= json_is_true(json_object_get(m.sides[k].alike, "has_labels"));
    m.has_tensors &= json_is_true(json_object_get(m.sides[k].alike, "has_tensors"));
    tasks->is_known &= m.sides[k].alike != NULL;
  }
  const int status = tasks->is_known ? compare(&m, sides, counts, tasks, error) : PTO_OK;
  for (int k = 0; k < 2; k++) {
    free(m.sides[k].rows);
    free(m.sides[k].row_of);
    free(m.sides[k].signatures);
  }
  pto_task_match_fini(&m.match);
  return status;
}
