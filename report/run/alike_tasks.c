/* SPDX-License-Identifier: MIT */
#include <report/run/alike_tasks.h>

#include <stdlib.h>
#include <string.h>

#include <report/findings/source_lines.h>
#include <report/run/trace_view.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>

#define ROLES 3u
#define NO_GROUP UINT32_MAX
#define MOST_PERIOD 512u   /* groups that the order looks for again: a layer of a model has tens of tasks */
#define LONG_ENOUGH 32768u /* tasks: a longer repeat is not looked for */
#define TEXT_SIZE 2048
#define PS_DIGITS 6 /* of a microsecond */
#define NS_DIGITS 3

/* ---- groups ---- */

static uint64_t add_number(uint64_t hash, uint64_t number) { return pto_mix64(hash ^ pto_mix64(number + 1)); }
static uint64_t add_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
  return pto_mix64(hash);
}

/* The first and the last parameter of a task that were recorded. */
static uint64_t first_param(const struct pto_trace *trace, const struct pto_trace_task *task) {
  return pto_min_u64(task->first_param, trace->params.count);
}
static uint64_t end_param(const struct pto_trace *trace, const struct pto_trace_task *task) {
  return pto_min_u64(first_param(trace, task) + task->param_count, trace->params.count);
}

static uint64_t hash_of(const struct pto_alike_tasks *alike, const struct pto_trace_task *task) {
  uint64_t hash = task->kind;
  for (uint32_t role = 0; role < ROLES; role++)
    hash = task->kernels[role] ? add_text(add_number(hash, role), task->kernels[role]->name) : hash;
  if (alike->by == PTO_ALIKE_BY_ALL && task->number < alike->labels->task_count)
    hash = add_number(hash, alike->labels->group_of[task->number]);
  if (alike->by == PTO_ALIKE_BY_KERNELS) return hash;
  for (uint64_t i = first_param(alike->trace, task); i < end_param(alike->trace, task); i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&alike->trace->params, i);
    hash = add_number(add_number(add_number(hash, param->index), param->mode), param->tensor.dtype);
    for (uint32_t d = 0; d < param->tensor.ndims && d < PTO_MAX_DIMS; d++)
      hash = add_number(hash, param->tensor.shape[d]);
  }
  return hash;
}

/* Groups by hash: a table of open addresses. */
struct table {
  uint32_t *groups;
  uint64_t mask;
};

static uint32_t group_of(struct pto_alike_tasks *alike, struct table *table, const struct pto_trace_task *task) {
  const uint64_t hash = hash_of(alike, task);
  uint64_t at = hash & table->mask;
  for (; table->groups[at] != NO_GROUP; at = (at + 1) & table->mask)
    if (alike->groups[table->groups[at]].hash == hash) return table->groups[at];
  struct pto_alike_group *group = pto_grow(&alike->groups, &alike->count, &alike->capacity, sizeof *group);
  if (!group) return NO_GROUP;
  group->hash = hash;
  group->first_task = task->number;
  return table->groups[at] = (uint32_t)(alike->count - 1);
}

/* By less where there are too many.  False where there is no memory. */
static bool find_groups(struct pto_alike_tasks *alike, struct table *table) {
  const struct pto_trace_log *tasks = &alike->trace->tasks;
  bool are_few = true;
  alike->count = 0;
  memset(table->groups, 0xff, (table->mask + 1) * sizeof *table->groups);
  for (uint64_t i = 0; i < tasks->count && are_few; i++) {
    const uint32_t group = group_of(alike, table, pto_trace_log_at(tasks, i));
    if (group == NO_GROUP) return false;
    alike->group_of[i] = group;
    alike->groups[group].task_count++;
    are_few = alike->count <= PTO_ALIKE_MOST || alike->by == PTO_ALIKE_BY_KERNELS;
  }
  if (are_few) return true;
  alike->by++;
  return find_groups(alike, table);
}

static void add_times(struct pto_alike_tasks *alike) {
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(alike->trace, &walk)) != NULL;) {
    if (span->task >= alike->trace->tasks.count) continue;
    struct pto_alike_group *group = &alike->groups[alike->group_of[span->task]];
    group->calls++;
    group->time += span->end - span->begin;
  }
}

static int order_times(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* Times of calls, group after group, each sorted.  False where there is no memory. */
static bool find_medians(struct pto_alike_tasks *alike) {
  uint64_t *ends = calloc(alike->count + 1, sizeof *ends), call_count = 0, *times;
  for (size_t i = 0; ends && i < alike->count; i++) {
    ends[i] = call_count;
    call_count += alike->groups[i].calls;
  }
  times = malloc((call_count + 1) * sizeof *times);
  const bool has_room = ends && times;
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; has_room && (span = pto_trace_next_span(alike->trace, &walk)) != NULL;)
    if (span->task < alike->trace->tasks.count) times[ends[alike->group_of[span->task]]++] = span->end - span->begin;
  for (size_t i = 0; has_room && i < alike->count; i++) {
    const uint64_t count = alike->groups[i].calls, *first = &times[ends[i] - count];
    if (count == 0) continue;
    qsort(&times[ends[i] - count], count, sizeof *times, order_times);
    alike->groups[i].median = first[(count - 1) / 2];
  }
  free(ends);
  free(times);
  return has_room;
}

int pto_alike_tasks_init(struct pto_alike_tasks *alike, const struct pto_trace *trace,
                         const struct pto_task_groups *labels, struct pto_error *error) {
  struct table table = {.mask = 1};
  while (table.mask < 2 * trace->tasks.count) table.mask = 2 * table.mask + 1;
  *alike = (struct pto_alike_tasks){.trace = trace, .labels = labels};
  pto_error_clear(error);
  alike->group_of = calloc(trace->tasks.count + 1, sizeof *alike->group_of);
  table.groups = calloc(table.mask + 1, sizeof *table.groups);
  const bool is_made = alike->group_of && table.groups && find_groups(alike, &table);
  free(table.groups);
  if (is_made) add_times(alike);
  if (is_made && (trace->is_virtual || find_medians(alike))) return PTO_OK;
  pto_alike_tasks_fini(alike);
  return pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
}

void pto_alike_tasks_fini(struct pto_alike_tasks *alike) {
  free(alike->groups);
  free(alike->group_of);
  *alike = (struct pto_alike_tasks){0};
}

/* ---- JSON ---- */

/* "INPUT f32 [128, 128], OUTPUT f32 [128, 128]". */
static const char *tensors_text(const struct pto_trace *trace, const struct pto_trace_task *task, char *text) {
  text[0] = '\0';
  for (uint64_t i = first_param(trace, task); i < end_param(trace, task); i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    const struct pto_tensor *tensor = &param->tensor;
    pto_text_append(text, TEXT_SIZE, "%s%s %s [", text[0] ? ", " : "",
                    param->index == UINT32_MAX ? "predicate" : pto_mode_name(param->mode),
                    pto_dtype_name(tensor->dtype));
    pto_text_append_numbers(text, TEXT_SIZE, ", ", tensor->shape, (uint32_t)pto_min_u64(tensor->ndims, PTO_MAX_DIMS));
    pto_text_append(text, TEXT_SIZE, "]");
  }
  return text;
}

static void put_group(const struct pto_alike_tasks *alike, const struct pto_alike_group *group,
                      struct pto_source_lines *lines, struct pto_json_writer *w) {
  const struct pto_trace *trace = alike->trace;
  const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, group->first_task);
  const struct pto_task_groups *labels = alike->labels;
  const uint32_t label = alike->by == PTO_ALIKE_BY_ALL && task->number < labels->task_count
                             ? labels->group_of[task->number]
                             : labels->count;
  char text[TEXT_SIZE];
  struct pto_trace_task without_label = *task;
  without_label.label = NULL;
  pto_json_object_begin(w);
  pto_json_put_string(w, "kernels", pto_trace_task_name(&without_label, text, sizeof text));
  pto_json_put_string(w, "label", label + 1 < labels->count ? labels->names[label] : NULL);
  pto_json_put_string(w, "tensors", alike->by == PTO_ALIKE_BY_KERNELS ? NULL : tensors_text(trace, task, text));
  pto_source_lines_name(lines, task->call, task->outer_call, text, sizeof text);
  pto_json_put_string(w, "place", text[0] ? text : NULL);
  pto_json_put_u64(w, "tasks", group->task_count);
  pto_json_put_u64(w, "calls", group->calls);
  pto_json_key(w, "us");
  pto_json_decimal(w, group->time, trace->is_virtual ? PS_DIGITS : NS_DIGITS);
  if (!trace->is_virtual) {
    pto_json_key(w, "median_us");
    pto_json_decimal(w, group->median, NS_DIGITS);
  }
  pto_json_object_end(w);
}

/* How often the `period` groups at `at` come there in a row. */
static uint64_t count_times(const struct pto_alike_tasks *alike, uint64_t at, uint64_t period) {
  const uint32_t *groups = alike->group_of;
  uint64_t same = 0;
  while (at + period + same < alike->trace->tasks.count && groups[at + same] == groups[at + period + same]) same++;
  return 1 + same / period;
}

/* The period that goes on for longest at `at`; 0: nothing comes there twice in a row. */
static uint64_t find_period(const struct pto_alike_tasks *alike, uint64_t at, uint64_t *times_out) {
  uint64_t best = 0;
  *times_out = 1;
  for (uint64_t period = 1; period <= MOST_PERIOD && best * *times_out < LONG_ENOUGH; period++) {
    const uint64_t times = count_times(alike, at, period);
    if (times == 1 || times * period <= best * *times_out) continue;
    best = period;
    *times_out = times;
  }
  return best;
}

static void put_repeat(const struct pto_alike_tasks *alike, uint64_t times, uint64_t at, uint64_t period,
                       struct pto_json_writer *w) {
  if (period == 0) return;
  pto_json_array_begin(w);
  pto_json_u64(w, times);
  pto_json_array_begin(w);
  for (uint64_t i = 0; i < period; i++) pto_json_u64(w, alike->group_of[at + i]);
  pto_json_array_end(w);
  pto_json_array_end(w);
}

static void put_order(const struct pto_alike_tasks *alike, struct pto_json_writer *w) {
  uint64_t at = 0, told = 0, times; /* what lies between the two comes once */
  pto_json_put_array(w, "order");
  while (at < alike->trace->tasks.count) {
    const uint64_t period = find_period(alike, at, &times);
    if (period == 0) {
      at++;
      continue;
    }
    put_repeat(alike, 1, told, at - told, w);
    put_repeat(alike, times, at, period, w);
    told = at += times * period;
  }
  put_repeat(alike, 1, told, at - told, w);
  pto_json_array_end(w);
}

void pto_alike_tasks_put(const struct pto_alike_tasks *alike, struct pto_json_writer *w) {
  struct pto_source_lines *lines = pto_source_lines_create();
  pto_json_put_object(w, "alike_tasks");
  pto_json_put_bool(w, "has_labels", alike->by == PTO_ALIKE_BY_ALL);
  pto_json_put_bool(w, "has_tensors", alike->by != PTO_ALIKE_BY_KERNELS);
  pto_json_put_array(w, "groups");
  for (size_t i = 0; i < alike->count; i++) put_group(alike, &alike->groups[i], lines, w);
  pto_json_array_end(w);
  put_order(alike, w);
  pto_json_object_end(w);
  pto_source_lines_destroy(lines);
}
