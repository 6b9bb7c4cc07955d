/* SPDX-License-Identifier: MIT */
#include <check/capture/import.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

/* ---- values ---- */

int pto_import_no_memory(struct pto_json_reader *reader) {
  if (!reader->status) reader->status = pto_error_set(reader->error, PTO_ENOMEM, "out of memory");
  return reader->status;
}

static bool parse_u64(const char *text, const char **end, uint64_t *value) {
  uint64_t number = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow(number, 10u, &number) || __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
      return false;
  *value = number;
  *end = at;
  return at != text;
}

bool pto_import_value_id(json_t *value, uint64_t *id) {
  const char *end;
  if (json_is_string(value)) return parse_u64(json_string_value(value), &end, id) && !*end;
  if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
  *id = (uint64_t)json_integer_value(value);
  return true;
}

uint64_t pto_import_id(struct pto_json_reader *reader, json_t *object, const char *key) {
  uint64_t id = 0;
  json_t *value = reader->status ? NULL : json_object_get(object, key);
  if (reader->status || pto_import_value_id(value, &id)) return id;
  pto_json_read_refuse(reader, value ? "\"%s\" is no whole number of 64 bits" : "has no \"%s\"", key);
  return 0;
}

bool pto_import_parse_id(const char *text, uint64_t *id) {
  uint64_t ring = 0, local;
  if (*text == 'r' && (!parse_u64(text + 1, &text, &ring) || ring > 255)) return false;
  if (*text != 't' || !parse_u64(text + 1, &text, &local) || local > UINT32_MAX) return false;
  *id = ring << 32 | local;
  return true;
}

uint64_t pto_import_us(struct pto_json_reader *reader, json_t *object, const char *key) {
  const double us = pto_json_read_number(reader, object, key);
  if (reader->status) return 0;
  if (us >= 0 && us * 1000 <= (double)PTO_CAPTURE_MAX_NS) return (uint64_t)llround(us * 1000);
  pto_json_read_refuse(reader, "\"%s\" is %g microseconds, and 0 to %g were expected", key, us,
                       (double)PTO_CAPTURE_MAX_NS / 1000);
  return 0;
}

struct pto_capture_span *pto_import_span(struct pto_import *import, struct pto_json_reader *reader, uint64_t task,
                                         uint32_t core, int64_t func_id, const char *name,
                                         const struct pto_capture_place *place) {
  if (reader->status) return NULL;
  struct pto_capture_span *span = pto_capture_add_span(import->capture, task, core, place);
  struct pto_import_label *label =
      span ? pto_grow(&import->labels, &import->label_count, &import->label_capacity, sizeof *label) : NULL;
  if (label) {
    *label = (struct pto_import_label){.task = task, .core = core, .func_id = func_id};
    if (name) label->name = strndup(name, strcspn(name, "("));
  }
  if (label && (!name || label->name)) return span;
  pto_import_no_memory(reader);
  return NULL;
}

/* ---- which form a file has ---- */

static bool is_array(json_t *root, const char *key) { return json_is_array(json_object_get(root, key)); }
static bool looks_joined(json_t *root) {
  json_t *first = json_array_get(json_object_get(root, "tasks"), 0);
  return is_array(root, "tasks") && !json_object_get(root, "edges") && (!first || json_object_get(first, "core_id"));
}
static bool looks_like_deps(json_t *root) { return is_array(root, "edges"); }
static bool looks_like_records(json_t *root) { return is_array(root, "aicore_tasks"); }
static bool looks_like_trace(json_t *root) { return is_array(root, "traceEvents"); }

static const struct {
  const char *what;
  bool (*matches)(json_t *root);
  pto_import_read *read;
  bool is_graph;
} forms[] = {
    {"dependencies", looks_like_deps, pto_import_deps, true},
    {"times", looks_like_records, pto_import_records, false},
    {"times", looks_like_trace, pto_import_trace, false},
    {"times", looks_joined, pto_import_joined, false},
};

static int read_document(struct pto_import *import, const char *path) {
  struct pto_json_reader reader;
  struct pto_error error;
  size_t form = 0;
  json_t *root = pto_json_read_file(&reader, path, PTO_CAPTURE_MAX_BYTES, &error);
  while (root && form < PTO_ARRAY_LENGTH(forms) && !forms[form].matches(root)) form++;
  if (root && json_object_get(root, "format")) {
    pto_json_read_refuse(&reader, "has a \"format\": it is no file of the existing runtime");
  } else if (root && form == PTO_ARRAY_LENGTH(forms)) {
    pto_json_read_refuse(&reader,
                         "is no capture: \"edges\", \"aicore_tasks\", \"tasks\" with times or \"traceEvents\" was "
                         "expected");
  } else if (root) {
    bool *has = forms[form].is_graph ? &import->has_graph : &import->has_times;
    if (*has) pto_json_read_refuse(&reader, "another file gave %s already", forms[form].what);
    *has = true;
    if (!reader.status) forms[form].read(import, &reader, root);
  }
  json_decref(root);
  if (reader.status) *import->error = error;
  return reader.status;
}

static bool is_table(const char *path) {
  static const char head[] = "task,core_tid,";
  struct pto_mapped_file file;
  struct pto_error error;
  if (pto_mapped_file_init(&file, path, &error)) return false;
  const bool is_one = file.size_bytes >= sizeof head - 1 && memcmp(file.data, head, sizeof head - 1) == 0;
  pto_mapped_file_fini(&file);
  return is_one;
}

static int read_one(struct pto_import *import, const char *path) {
  const char *slash = strrchr(path, '/');
  struct pto_capture *c = import->capture;
  import->file = c->file_count;
  if (!(c->files[c->file_count].path = strdup(slash ? slash + 1 : path)))
    return pto_error_set(import->error, PTO_ENOMEM, "out of memory");
  c->file_count++;
  if (!is_table(path)) return read_document(import, path);
  if (import->has_times) return pto_error_set(import->error, PTO_EINVAL, "%s: another file gave times already", path);
  import->has_times = true;
  return pto_import_table(import, path, import->error);
}

/* ---- tasks of times alone, and what labels say ---- */

static uint64_t release_of(const struct pto_capture_span *span) {
  return span->has_dispatch ? span->dispatch_ns : span->begin_ns;
}

static int order_by_release(const void *left, const void *right) {
  const struct pto_capture_span *a = left, *b = right;
  if (release_of(a) != release_of(b)) return release_of(a) < release_of(b) ? -1 : 1;
  return a->task == b->task ? 0 : a->task < b->task ? -1 : 1;
}

static int order_ids(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* In the order in which the first span of each was dispatched. */
static int make_tasks(struct pto_import *import) {
  struct pto_capture *c = import->capture;
  uint64_t *ids = calloc(c->span_count + 1, sizeof *ids);
  bool *is_made = calloc(c->span_count + 1, sizeof *is_made);
  int status = ids && is_made ? PTO_OK : PTO_ENOMEM;
  if (!status && c->span_count) qsort(c->spans, c->span_count, sizeof *c->spans, order_by_release);
  for (size_t i = 0; i < c->span_count && !status; i++) ids[i] = c->spans[i].task;
  if (!status && c->span_count) qsort(ids, c->span_count, sizeof *ids, order_ids);
  for (size_t i = 0; i < c->span_count && !status; i++) {
    const uint64_t *id = bsearch(&c->spans[i].task, ids, c->span_count, sizeof *ids, order_ids);
    while (id > ids && id[-1] == *id) id--;
    if (is_made[id - ids]) continue;
    is_made[id - ids] = true;
    if (!pto_capture_add_task(c, *id, &c->spans[i].place)) status = PTO_ENOMEM;
  }
  free(ids);
  free(is_made);
  return status ? pto_error_set(import->error, status, "out of memory") : PTO_OK;
}

static int order_labels(const void *left, const void *right) {
  const struct pto_import_label *a = left, *b = right;
  if (a->task != b->task) return a->task < b->task ? -1 : 1;
  return a->core == b->core ? 0 : a->core < b->core ? -1 : 1;
}

/* The first of the task's labels; NULL: it has none. */
static struct pto_import_label *labels_of(const struct pto_import *import, uint64_t task) {
  size_t low = 0, high = import->label_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (import->labels[middle].task < task)
      low = middle + 1;
    else
      high = middle;
  }
  return low < import->label_count && import->labels[low].task == task ? &import->labels[low] : NULL;
}

static void name_tasks(struct pto_import *import) {
  struct pto_capture *c = import->capture;
  if (import->label_count) qsort(import->labels, import->label_count, sizeof *import->labels, order_labels);
  for (size_t i = 0; i < c->task_count; i++) {
    struct pto_capture_task *task = &c->tasks[i];
    struct pto_import_label *l = labels_of(import, task->id);
    for (; l && l < import->labels + import->label_count && l->task == task->id; l++) {
      if (!task->name && l->name) {
        task->name = l->name;
        l->name = NULL;
      }
      if (task->has_kernels || l->func_id < 0 || l->core >= c->core_count) continue;
      const int role = c->cores[l->core] == PTO_AIC ? 0 : 1;
      if (task->kernels[role] < 0)
        task->kernels[role] = l->func_id;
      else if (role == 1 && task->kernels[1] != l->func_id)
        task->kernels[2] = l->func_id;
    }
    if (task->kernels[0] >= 0 || task->kernels[1] >= 0) task->has_kernels = true;
  }
}

static void drop_edges_of_times(struct pto_capture *c, const struct pto_import *import, uint32_t graph_file) {
  size_t kept = 0;
  if (!import->has_graph || !import->has_times) return;
  for (size_t i = 0; i < c->edge_count; i++)
    if (c->edges[i].place.file == graph_file) c->edges[kept++] = c->edges[i];
  c->edge_count = kept;
}

int pto_capture_import(const char *const *paths, uint32_t count, struct pto_capture *capture, struct pto_error *error) {
  struct pto_import import = {.capture = capture, .error = error};
  uint32_t graph_file = 0;
  memset(capture, 0, sizeof *capture);
  if (count > PTO_CAPTURE_MAX_FILES)
    return pto_error_set(error, PTO_EINVAL, "%" PRIu32 " files, at most %u are read", count, PTO_CAPTURE_MAX_FILES);
  int status = PTO_OK;
  for (uint32_t i = 0; i < count && !status; i++) {
    const bool had_graph = import.has_graph;
    status = read_one(&import, paths[i]);
    if (import.has_graph && !had_graph) graph_file = i;
  }
  drop_edges_of_times(capture, &import, graph_file);
  if (!status && !import.has_graph) status = make_tasks(&import);
  if (!status) name_tasks(&import);
  capture->has_edges = import.has_graph || capture->edge_count > 0;
  if (!status) status = pto_capture_settle(capture, error);
  for (size_t i = 0; i < import.label_count; i++) free(import.labels[i].name);
  free(import.labels);
  return status;
}
