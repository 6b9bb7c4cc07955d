/* SPDX-License-Identifier: MIT */
/*
 * Swimlane records: since June 2026 rows of counters, joined here by (core, number of the register write); before, one
 * object a task and core, in microseconds, which until May also had the tasks that follow it ("fanout").
 */
#include <check/capture/import.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define MOST_SPANS (size_t)(PTO_CAPTURE_MAX_TASKS * 4)

static uint32_t kind_of(const char *name) {
  return strcmp(name, "aic") == 0 || strcmp(name, "AIC") == 0   ? PTO_AIC
         : strcmp(name, "aiv") == 0 || strcmp(name, "AIV") == 0 ? PTO_AIV
                                                                : 0;
}

/* ---- rows of counters ---- */

struct row {
  uint64_t values[6];
  size_t count;
};

/* Row `index` of an array: `least` numbers or more. */
static struct row read_row(struct pto_json_reader *reader, json_t *array, const char *name, size_t index,
                           size_t least) {
  struct row row = {0};
  json_t *items = json_array_get(array, index);
  pto_json_read_at(reader, "%s[%zu]", name, index);
  if (reader->status) return row;
  row.count = json_array_size(items);
  if (!json_is_array(items) || row.count < least || row.count > PTO_ARRAY_LENGTH(row.values)) {
    pto_json_read_refuse(reader, "%zu to %zu numbers were expected", least, PTO_ARRAY_LENGTH(row.values));
    return row;
  }
  for (size_t i = 0; i < row.count; i++)
    if (!pto_import_value_id(json_array_get(items, i), &row.values[i])) {
      pto_json_read_refuse(reader, "number %zu is no whole number of 64 bits", i);
      return row;
    }
  if (row.values[0] >= PTO_CAPTURE_MAX_CORES)
    pto_json_read_refuse(reader, "core %" PRIu64 ", at most %u were expected", row.values[0],
                         PTO_CAPTURE_MAX_CORES - 1);
  return row;
}

static void read_cores(struct pto_import *import, struct pto_json_reader *reader, json_t *metadata) {
  json_t *types = pto_json_read_array(reader, metadata, "core_types", PTO_CAPTURE_MAX_CORES), *type;
  size_t i;
  if (reader->status) return;
  if (pto_json_has(metadata, "num_cores") &&
      pto_json_read_u64(reader, metadata, "num_cores", PTO_CAPTURE_MAX_CORES) != json_array_size(types))
    pto_json_read_refuse(reader, "\"num_cores\" is not the number of \"core_types\", %zu", json_array_size(types));
  json_array_foreach(types, i, type) {
    const uint32_t kind = json_is_string(type) ? kind_of(json_string_value(type)) : 0;
    if (!kind) pto_json_read_refuse(reader, "\"core_types\"[%zu] is not \"aic\" or \"aiv\"", i);
    if (!reader->status && !pto_capture_set_core(import->capture, (uint32_t)i, kind)) pto_import_no_memory(reader);
  }
}

struct joined {
  uint64_t core, token, index;
};

static int order_joined(const void *left, const void *right) {
  const struct joined *a = left, *b = right;
  if (a->core != b->core) return a->core < b->core ? -1 : 1;
  if (a->token != b->token) return a->token < b->token ? -1 : 1;
  return 0;
}

/* Counters become nanoseconds: those since `first`. */
static uint64_t ns_of(struct pto_json_reader *reader, uint64_t ticks, uint64_t first, uint64_t hz) {
  const unsigned __int128 ns = (unsigned __int128)(ticks - first) * 1000000000u / hz;
  if (ns <= PTO_CAPTURE_MAX_NS) return (uint64_t)ns;
  pto_json_read_refuse(reader, "is %" PRIu64 " ticks behind the first one: that is no time", ticks - first);
  return 0;
}

/* The orchestrator's records, a list a thread, since level 4: calls that submit a task or allocate. */
struct submit_ticks {
  uint64_t task, begin, end;
};

static struct submit_ticks read_submit(struct pto_json_reader *reader, json_t *thread, size_t t, size_t i) {
  struct submit_ticks submit = {0};
  pto_json_read_at(reader, "aicpu_orchestrator_phases[%zu][%zu]", t, i);
  json_t *object = pto_json_read_item(reader, thread, i);
  submit.task = pto_import_id(reader, object, "task_id");
  submit.begin = pto_json_read_u64(reader, object, "start_cycles", UINT64_MAX);
  submit.end = pto_json_read_u64(reader, object, "end_cycles", UINT64_MAX);
  if (!reader->status && submit.end < submit.begin)
    pto_json_read_refuse(reader, "ends %" PRIu64 " ticks before it begins", submit.begin - submit.end);
  return submit;
}

static json_t *read_submits(struct pto_json_reader *reader, json_t *threads, size_t t) {
  json_t *thread = json_array_get(threads, t);
  pto_json_read_at(reader, "aicpu_orchestrator_phases[%zu]", t);
  if (!json_is_array(thread)) pto_json_read_refuse(reader, "a list of records was expected");
  return thread;
}

static void read_orchestrator(struct pto_import *import, struct pto_json_reader *reader, json_t *threads,
                              uint64_t first) {
  for (size_t t = 0; t < json_array_size(threads) && !reader->status; t++) {
    json_t *thread = read_submits(reader, threads, t);
    for (size_t i = 0; i < json_array_size(thread) && !reader->status; i++) {
      const struct submit_ticks ticks = read_submit(reader, thread, t, i);
      struct pto_capture_submit *submit = reader->status ? NULL : pto_capture_add_submit(import->capture, ticks.task);
      if (!submit) {
        pto_import_no_memory(reader);
        return;
      }
      submit->begin_ns = ns_of(reader, ticks.begin, first, import->capture->clock_hz);
      submit->end_ns = ns_of(reader, ticks.end, first, import->capture->clock_hz);
    }
  }
}

/* The least counter of all rows. */
static uint64_t first_tick(struct pto_json_reader *reader, json_t *aicore, json_t *aicpu, json_t *threads) {
  uint64_t first = UINT64_MAX;
  for (size_t i = 0; i < json_array_size(aicore) && !reader->status; i++)
    first = pto_min_u64(first, read_row(reader, aicore, "aicore_tasks", i, 5).values[3]);
  for (size_t i = 0; i < json_array_size(aicpu) && !reader->status; i++)
    first = pto_min_u64(first, read_row(reader, aicpu, "aicpu_tasks", i, 4).values[2]);
  for (size_t t = 0; t < json_array_size(threads) && !reader->status; t++) {
    json_t *thread = read_submits(reader, threads, t);
    for (size_t i = 0; i < json_array_size(thread) && !reader->status; i++)
      first = pto_min_u64(first, read_submit(reader, thread, t, i).begin);
  }
  return first;
}

static void read_aicore(struct pto_import *import, struct pto_json_reader *reader, json_t *rows, uint64_t first,
                        struct joined *index) {
  for (size_t i = 0; i < json_array_size(rows) && !reader->status; i++) {
    const struct row row = read_row(reader, rows, "aicore_tasks", i, 5);
    const struct pto_capture_place place = {"aicore_tasks", import->file, i};
    if (row.values[4] < row.values[3])
      pto_json_read_refuse(reader, "ends %" PRIu64 " ticks before it begins", row.values[3] - row.values[4]);
    struct pto_capture_span *span =
        pto_import_span(import, reader, row.values[1], (uint32_t)row.values[0], -1, NULL, &place);
    if (!span) return;
    span->begin_ns = ns_of(reader, row.values[3], first, import->capture->clock_hz);
    span->end_ns = ns_of(reader, row.values[4], first, import->capture->clock_hz);
    index[i] = (struct joined){row.values[0], row.values[2], import->capture->span_count - 1};
  }
}

static void join_aicpu(struct pto_import *import, struct pto_json_reader *reader, json_t *rows, uint64_t first,
                       const struct joined *index, size_t count) {
  for (size_t i = 0; i < json_array_size(rows) && !reader->status; i++) {
    const struct row row = read_row(reader, rows, "aicpu_tasks", i, 4);
    const struct joined wanted = {row.values[0], row.values[1], 0};
    const struct joined *found = reader->status ? NULL : bsearch(&wanted, index, count, sizeof wanted, order_joined);
    if (!found) {
      pto_json_read_refuse(reader, "no row of aicore_tasks is of core %" PRIu64 " and register write %" PRIu64,
                           row.values[0], row.values[1]);
      return;
    }
    struct pto_capture_span *span = &import->capture->spans[found->index];
    if (span->has_dispatch)
      pto_json_read_refuse(reader, "is the second for aicore_tasks[%" PRIu64 "]", span->place.record);
    if (row.values[3] < row.values[2])
      pto_json_read_refuse(reader, "finished %" PRIu64 " ticks before its dispatch", row.values[2] - row.values[3]);
    if (reader->status) return;
    span->has_dispatch = true;
    span->dispatch_ns = ns_of(reader, row.values[2], first, import->capture->clock_hz);
    span->finish_ns = ns_of(reader, row.values[3], first, import->capture->clock_hz);
  }
}

void pto_import_records(struct pto_import *import, struct pto_json_reader *reader, json_t *root) {
  json_t *metadata = pto_json_read_object(reader, root, "metadata");
  pto_json_read_at(reader, "metadata");
  import->capture->clock_hz = pto_json_read_u64(reader, metadata, "clock_freq_hz", UINT64_C(1000000000000));
  if (!reader->status && !import->capture->clock_hz) pto_json_read_refuse(reader, "\"clock_freq_hz\" is 0");
  read_cores(import, reader, metadata);
  pto_json_read_at(reader, "%s", "");
  json_t *aicore = pto_json_read_array(reader, root, "aicore_tasks", MOST_SPANS);
  json_t *aicpu =
      pto_json_has(root, "aicpu_tasks") ? pto_json_read_array(reader, root, "aicpu_tasks", MOST_SPANS) : NULL;
  json_t *threads = pto_json_has(root, "aicpu_orchestrator_phases")
                        ? pto_json_read_array(reader, root, "aicpu_orchestrator_phases", PTO_CAPTURE_MAX_CORES)
                        : NULL;
  const uint64_t first = first_tick(reader, aicore, aicpu, threads);
  const size_t count = reader->status ? 0 : json_array_size(aicore);
  struct joined *index = calloc(count + 1, sizeof *index);
  if (!index) pto_import_no_memory(reader);
  if (!reader->status) read_aicore(import, reader, aicore, first, index);
  if (!reader->status && count) qsort(index, count, sizeof *index, order_joined);
  for (size_t i = 1; i < count && !reader->status; i++)
    if (order_joined(&index[i - 1], &index[i]) == 0) {
      pto_json_read_at(reader, "aicore_tasks[%" PRIu64 "]", import->capture->spans[index[i].index].place.record);
      pto_json_read_refuse(reader, "is the second of core %" PRIu64 " and register write %" PRIu64, index[i].core,
                           index[i].token);
    }
  if (!reader->status) join_aicpu(import, reader, aicpu, first, index, count);
  if (!reader->status) read_orchestrator(import, reader, threads, first);
  free(index);
}

/* ---- an object a task and core ---- */

static void read_fanout(struct pto_import *import, struct pto_json_reader *reader, json_t *object, uint64_t task,
                        const struct pto_capture_place *place) {
  json_t *fanout, *item;
  size_t i;
  if (!pto_json_has(object, "fanout")) return;
  fanout = pto_json_read_array(reader, object, "fanout", MOST_SPANS);
  if (!reader->status && pto_json_has(object, "fanout_count") &&
      pto_json_read_u64(reader, object, "fanout_count", MOST_SPANS) != json_array_size(fanout))
    pto_json_read_refuse(reader, "\"fanout_count\" is not the length of \"fanout\", %zu", json_array_size(fanout));
  json_array_foreach(fanout, i, item) {
    uint64_t to;
    if (reader->status) return;
    if (!pto_import_value_id(item, &to))
      pto_json_read_refuse(reader, "\"fanout\"[%zu] is no whole number of 64 bits", i);
    else if (!pto_capture_add_edge(import->capture, task, to, place))
      pto_import_no_memory(reader);
  }
}

static void read_joined(struct pto_import *import, struct pto_json_reader *reader, json_t *object, uint64_t i) {
  const struct pto_capture_place place = {"tasks", import->file, i};
  const uint64_t task = pto_import_id(reader, object, "task_id");
  const uint32_t core = (uint32_t)pto_json_read_u64(reader, object, "core_id", PTO_CAPTURE_MAX_CORES - 1);
  const uint32_t kind = kind_of(pto_json_read_string(reader, object, "core_type"));
  if (!kind) pto_json_read_refuse(reader, "\"core_type\" is not \"aic\" or \"aiv\"");
  if (!reader->status && core < import->capture->core_count && import->capture->cores[core] &&
      import->capture->cores[core] != kind)
    pto_json_read_refuse(reader, "core %" PRIu32 " is of another kind before", core);
  if (!reader->status && !pto_capture_set_core(import->capture, core, kind)) pto_import_no_memory(reader);
  const int64_t func_id = pto_json_has(object, "func_id") ? pto_json_read_i64(reader, object, "func_id") : -1;
  struct pto_capture_span *span = pto_import_span(import, reader, task, core, func_id, NULL, &place);
  if (!span) return;
  span->begin_ns = pto_import_us(reader, object, "start_time_us");
  span->end_ns = pto_import_us(reader, object, "end_time_us");
  if (pto_json_has(object, "dispatch_time_us") && pto_json_has(object, "finish_time_us")) {
    span->dispatch_ns = pto_import_us(reader, object, "dispatch_time_us");
    span->finish_ns = pto_import_us(reader, object, "finish_time_us");
    span->has_dispatch = span->finish_ns > 0; /* 0: not recorded at this level */
  }
  read_fanout(import, reader, object, task, &place);
}

void pto_import_joined(struct pto_import *import, struct pto_json_reader *reader, json_t *root) {
  json_t *tasks = pto_json_read_array(reader, root, "tasks", MOST_SPANS);
  for (size_t i = 0; i < json_array_size(tasks) && !reader->status; i++) {
    pto_json_read_at(reader, "tasks[%zu]", i);
    read_joined(import, reader, pto_json_read_item(reader, tasks, i), i);
  }
}
