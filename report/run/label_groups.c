/* SPDX-License-Identifier: MIT */
#include <report/run/label_groups.h>

#include <stdlib.h>
#include <string.h>

#define NO_LABEL "(no label)"

struct labelled {
  const char *label;
  uint64_t task;
};

static int compare(const void *a, const void *b) {
  const struct labelled *x = a, *y = b;
  const int order = strcmp(x->label, y->label);
  return order ? order : (x->task > y->task) - (x->task < y->task);
}

/* Of each scope its own label or that of the nearest one around it; a scope stands behind its parent. */
static void find_scope_labels(const struct pto_trace *trace, const char **labels) {
  for (uint64_t i = 0; i < trace->scopes.count; i++) {
    const struct pto_trace_scope *scope = pto_trace_log_at(&trace->scopes, i);
    labels[i] = scope->label ? scope->label : scope->parent < i ? labels[scope->parent] : NULL;
  }
}

/* The tasks that have a label; how many. */
static uint64_t find_labelled(const struct pto_trace *trace, const char *const *scope_labels,
                              struct labelled *labelled) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    const char *label = task->label                                ? task->label
                        : task->scope_serial < trace->scopes.count ? scope_labels[task->scope_serial]
                                                                   : NULL;
    if (label) labelled[count++] = (struct labelled){label, i};
  }
  return count;
}

/* Groups in order of their texts, then that of the rest. */
static void fill(struct pto_label_groups *labels, const struct labelled *labelled, uint64_t count,
                 uint64_t task_count) {
  uint32_t groups = 0;
  memset(labels->group_of, 0xff, task_count * sizeof *labels->group_of);
  for (uint64_t i = 0; i < count; i++) {
    if (i == 0 || strcmp(labelled[i].label, labelled[i - 1].label) != 0) labels->names[groups++] = labelled[i].label;
    labels->group_of[labelled[i].task] = groups - 1;
  }
  for (uint64_t i = 0; i < task_count; i++)
    if (labels->group_of[i] == UINT32_MAX) labels->group_of[i] = groups;
  labels->names[groups++] = NO_LABEL;
  labels->groups = (struct pto_task_groups){labels->group_of, task_count, labels->names, groups};
}

int pto_label_groups_init(struct pto_label_groups *labels, const struct pto_trace *trace, struct pto_error *error) {
  const uint64_t task_count = trace->tasks.count;
  const char **scope_labels = calloc(trace->scopes.count + 1, sizeof *scope_labels);
  struct labelled *labelled = calloc(task_count + 1, sizeof *labelled);
  int status = PTO_OK;
  *labels = (struct pto_label_groups){0};
  pto_error_clear(error);
  if (!scope_labels || !labelled) {
    status = pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
  } else {
    find_scope_labels(trace, scope_labels);
    const uint64_t count = find_labelled(trace, scope_labels, labelled);
    if (count) {
      qsort(labelled, count, sizeof *labelled, compare);
      labels->group_of = calloc(task_count, sizeof *labels->group_of);
      labels->names = calloc(count + 1, sizeof *labels->names);
      if (labels->group_of && labels->names)
        fill(labels, labelled, count, task_count);
      else
        status = pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
    }
  }
  free(scope_labels);
  free(labelled);
  if (status) pto_label_groups_fini(labels);
  return status;
}

void pto_label_groups_fini(struct pto_label_groups *labels) {
  free(labels->group_of);
  free((void *)labels->names);
  *labels = (struct pto_label_groups){0};
}
