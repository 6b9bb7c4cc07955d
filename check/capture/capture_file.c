/* SPDX-License-Identifier: MIT */
/* Format "pto-capture", version 1: docs/schemas/pto-capture.json. */
#include <check/capture/capture.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_read.h>
#include <report/file/output_file.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

static const char *const kind_names[] = {
    [PTO_CAPTURE_KERNEL] = "kernel", [PTO_CAPTURE_ALLOC] = "alloc", [PTO_CAPTURE_EMPTY] = "empty"};
static const char *const source_names[] = {"explicit", "creator", "tensormap"}; /* by bit */
static const struct {
  const char *name;
  uint32_t mode;
} modes[] = {{"input", PTO_INPUT}, {"output", PTO_OUTPUT}, {"inout", PTO_INOUT}};

/* ---- writing ---- */

static void put_id(struct pto_json_writer *w, const char *key, uint64_t id) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, id);
  pto_json_put_string(w, key, text);
}

static void put_u64s(struct pto_json_writer *w, const char *key, const uint64_t *values, uint32_t count) {
  pto_json_put_array(w, key);
  for (uint32_t i = 0; i < count; i++) pto_json_u64(w, values[i]);
  pto_json_array_end(w);
}

static void put_access(struct pto_json_writer *w, const struct pto_capture_access *access) {
  pto_json_object_begin(w);
  pto_json_put_u64(w, "buffer", access->buffer);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(modes); i++)
    if (modes[i].mode == access->mode) pto_json_put_string(w, "mode", modes[i].name);
  pto_json_put_string(w, "dtype", pto_dtype_name(access->dtype));
  pto_json_put_u64(w, "offset", access->offset);
  put_u64s(w, "shape", access->shape, access->ndims);
  put_u64s(w, "strides", access->strides, access->ndims);
  pto_json_object_end(w);
}

static void put_span(struct pto_json_writer *w, const struct pto_capture_span *span) {
  pto_json_object_begin(w);
  pto_json_put_u64(w, "core", span->core);
  if (span->has_dispatch) pto_json_put_u64(w, "dispatch_ns", span->dispatch_ns);
  pto_json_put_u64(w, "begin_ns", span->begin_ns);
  pto_json_put_u64(w, "end_ns", span->end_ns);
  if (span->has_dispatch) pto_json_put_u64(w, "finish_ns", span->finish_ns);
  pto_json_object_end(w);
}

static void put_task(struct pto_json_writer *w, const struct pto_capture *c, const struct pto_capture_task *task) {
  pto_json_newline(w);
  pto_json_object_begin(w);
  put_id(w, "id", task->id);
  if (task->name) pto_json_put_string(w, "name", task->name);
  pto_json_put_string(w, "kind", kind_names[task->kind]);
  pto_json_put_array(w, "kernels");
  for (int role = 0; role < 3; role++) {
    if (task->kernels[role] == PTO_CAPTURE_SOME_KERNEL)
      pto_json_null(w);
    else
      pto_json_i64(w, task->kernels[role]);
  }
  pto_json_array_end(w);
  pto_json_put_u64(w, "blocks", task->block_count);
  pto_json_put_bool(w, "manual", task->is_manual);
  if (task->submit_end_ns) {
    pto_json_put_u64(w, "submit_begin_ns", task->submit_begin_ns);
    pto_json_put_u64(w, "submit_end_ns", task->submit_end_ns);
  }
  pto_json_put_array(w, "accesses");
  for (uint64_t i = 0; i < task->access_count; i++) put_access(w, &c->accesses[task->first_access + i]);
  pto_json_array_end(w);
  pto_json_put_array(w, "spans");
  for (uint64_t i = 0; i < task->span_count; i++) put_span(w, &c->spans[task->first_span + i]);
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_edge(struct pto_json_writer *w, const struct pto_capture_edge *edge) {
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_u64(w, "from", edge->from);
  pto_json_put_u64(w, "to", edge->to);
  pto_json_put_array(w, "sources");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(source_names); i++)
    if (edge->sources >> i & 1) pto_json_string(w, source_names[i]);
  pto_json_array_end(w);
  pto_json_object_end(w);
}

static void put_capture(struct pto_json_writer *w, const void *context) {
  const struct pto_capture *c = context;
  pto_json_put_string(w, "format", PTO_CAPTURE_FORMAT);
  pto_json_put_u64(w, "version", PTO_CAPTURE_VERSION);
  pto_json_put_array(w, "files");
  for (uint32_t i = 0; i < c->file_count; i++) pto_json_string(w, c->files[i].path);
  pto_json_array_end(w);
  pto_json_put_u64(w, "clock_hz", c->clock_hz);
  pto_json_put_bool(w, "has_edges", c->has_edges);
  pto_json_put_array(w, "cores");
  for (size_t i = 0; i < c->core_count; i++)
    pto_json_string(w, c->cores[i] == PTO_AIC ? "aic" : c->cores[i] == PTO_AIV ? "aiv" : NULL);
  pto_json_array_end(w);
  pto_json_put_array(w, "buffers");
  for (size_t i = 0; i < c->buffer_count; i++) {
    pto_json_newline(w);
    pto_json_object_begin(w);
    pto_json_put_u64(w, "bytes", c->buffers[i].size_bytes);
    if (c->buffers[i].creator != PTO_CAPTURE_NONE) pto_json_put_u64(w, "creator", c->buffers[i].creator);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_array(w, "tasks");
  for (size_t i = 0; i < c->task_count; i++) put_task(w, c, &c->tasks[i]);
  pto_json_array_end(w);
  pto_json_put_array(w, "edges");
  for (size_t i = 0; i < c->edge_count; i++) put_edge(w, &c->edges[i]);
  pto_json_array_end(w);
}

int pto_capture_write(const struct pto_capture *capture, const char *path, struct pto_error *error) {
  return pto_output_json(path, put_capture, capture, error);
}

/* ---- reading ---- */

struct reading {
  struct pto_capture *capture;
  struct pto_json_reader *reader;
};

static void no_memory(struct reading *r) {
  if (!r->reader->status) r->reader->status = pto_error_set(r->reader->error, PTO_ENOMEM, "out of memory");
}

/* An index of `names`, each perhaps NULL. */
static uint32_t read_word(struct reading *r, json_t *object, const char *key, const char *const *names, size_t count) {
  const char *word = pto_json_read_string(r->reader, object, key);
  for (size_t i = 0; i < count; i++)
    if (names[i] && strcmp(names[i], word) == 0) return (uint32_t)i;
  pto_json_read_refuse(r->reader, "\"%s\" is \"%.40s\", which is none of what is known", key, word);
  return 0;
}

static uint64_t read_id(struct reading *r, json_t *object, const char *key) {
  const char *text = pto_json_read_string(r->reader, object, key);
  uint64_t id = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow(id, 10u, &id) || __builtin_add_overflow(id, (uint64_t)(*at - '0'), &id)) break;
  if (at == text || *at) pto_json_read_refuse(r->reader, "\"%s\" is \"%.40s\", and a number was expected", key, text);
  return id;
}

static void read_access(struct reading *r, json_t *object, uint64_t task, uint32_t argument) {
  struct pto_capture *c = r->capture;
  struct pto_capture_access *access =
      pto_grow(&c->accesses, &c->access_count, &c->access_capacity, sizeof *c->accesses);
  if (!access) {
    no_memory(r);
    return;
  }
  static const char *const mode_names[] = {"input", "output", "inout"};
  uint32_t count = 0;
  access->task = task;
  access->argument = argument;
  access->mode = modes[read_word(r, object, "mode", mode_names, PTO_ARRAY_LENGTH(mode_names))].mode;
  access->buffer = pto_json_read_u64(r->reader, object, "buffer", UINT32_MAX);
  if (!r->reader->status && access->buffer >= c->buffer_count)
    pto_json_read_refuse(r->reader, "buffer %" PRIu64 " of %zu", access->buffer, c->buffer_count);
  const int dtype = pto_dtype_from_name(pto_json_read_string(r->reader, object, "dtype"));
  if (dtype < 0) pto_json_read_refuse(r->reader, "\"dtype\" is not known");
  access->dtype = dtype < 0 ? PTO_UINT8 : (uint32_t)dtype;
  access->offset = pto_json_read_u64(r->reader, object, "offset", PTO_CAPTURE_MAX_BUFFER_BYTES);
  pto_json_read_u64s(r->reader, object, "shape", PTO_MAX_DIMS, UINT32_MAX, access->shape, &access->ndims);
  pto_json_read_u64s(r->reader, object, "strides", PTO_MAX_DIMS, PTO_CAPTURE_MAX_BUFFER_BYTES, access->strides, &count);
  if (count != access->ndims)
    pto_json_read_refuse(r->reader, "%" PRIu32 " strides for %" PRIu32 " dimensions", count, access->ndims);
  if (r->reader->status) return;
  unsigned __int128 end = access->offset;
  for (uint32_t d = 0; d < access->ndims; d++)
    if (access->shape[d]) end += (unsigned __int128)(access->shape[d] - 1) * access->strides[d];
  if ((end + 1) * pto_dtype_size(access->dtype) > c->buffers[access->buffer].size_bytes)
    pto_json_read_refuse(r->reader, "reaches beyond buffer %" PRIu64 ", which has %" PRIu64 " bytes", access->buffer,
                         c->buffers[access->buffer].size_bytes);
}

static void read_span(struct reading *r, json_t *object, uint64_t id, uint64_t record) {
  const struct pto_capture_place place = {"spans", 0, record};
  const uint32_t core = (uint32_t)pto_json_read_u64(r->reader, object, "core", PTO_CAPTURE_MAX_CORES - 1);
  struct pto_capture_span *span = r->reader->status ? NULL : pto_capture_add_span(r->capture, id, core, &place);
  if (!span) {
    no_memory(r);
    return;
  }
  span->begin_ns = pto_json_read_u64(r->reader, object, "begin_ns", PTO_CAPTURE_MAX_NS);
  span->end_ns = pto_json_read_u64(r->reader, object, "end_ns", PTO_CAPTURE_MAX_NS);
  span->has_dispatch = pto_json_has(object, "dispatch_ns");
  if (!span->has_dispatch) return;
  span->dispatch_ns = pto_json_read_u64(r->reader, object, "dispatch_ns", PTO_CAPTURE_MAX_NS);
  span->finish_ns = pto_json_read_u64(r->reader, object, "finish_ns", PTO_CAPTURE_MAX_NS);
}

static void read_task(struct reading *r, json_t *tasks, size_t i) {
  const struct pto_capture_place place = {"tasks", 0, i};
  pto_json_read_at(r->reader, "tasks[%zu]", i);
  json_t *object = pto_json_read_item(r->reader, tasks, i);
  const uint64_t id = read_id(r, object, "id");
  struct pto_capture_task *task = r->reader->status ? NULL : pto_capture_add_task(r->capture, id, &place);
  if (!task) {
    no_memory(r);
    return;
  }
  if (pto_json_has(object, "name") && !(task->name = strdup(pto_json_read_string(r->reader, object, "name"))))
    no_memory(r);
  task->kind = read_word(r, object, "kind", kind_names, PTO_ARRAY_LENGTH(kind_names));
  task->has_kernels = true;
  task->block_count = (uint32_t)pto_json_read_u64(r->reader, object, "blocks", PTO_CAPTURE_MAX_BLOCKS);
  task->is_manual = pto_json_read_bool(r->reader, object, "manual");
  if (pto_json_has(object, "submit_end_ns")) {
    task->submit_begin_ns = pto_json_read_u64(r->reader, object, "submit_begin_ns", PTO_CAPTURE_MAX_NS);
    task->submit_end_ns = pto_json_read_u64(r->reader, object, "submit_end_ns", PTO_CAPTURE_MAX_NS);
    if (!r->reader->status && task->submit_end_ns < task->submit_begin_ns)
      pto_json_read_refuse(r->reader, "its submit ends before it begins");
  }
  json_t *kernels = pto_json_read_array(r->reader, object, "kernels", 3);
  for (size_t role = 0; role < 3 && !r->reader->status; role++) {
    json_t *kernel = json_array_get(kernels, role);
    if (json_is_null(kernel))
      task->kernels[role] = PTO_CAPTURE_SOME_KERNEL;
    else if (!json_is_integer(kernel) || json_integer_value(kernel) < -1 || json_integer_value(kernel) > INT32_MAX)
      pto_json_read_refuse(r->reader, "\"kernels\": 3 were expected, numbers from -1 on or null");
    else
      task->kernels[role] = json_integer_value(kernel);
  }
  if (!r->reader->status && (pto_capture_role_count(task) > 0) != (task->kind == PTO_CAPTURE_KERNEL))
    pto_json_read_refuse(r->reader, "a task of kind %s with %" PRIu32 " kernels", kind_names[task->kind],
                         pto_capture_role_count(task));
  if (!r->reader->status && !task->block_count) pto_json_read_refuse(r->reader, "\"blocks\" is 0");
  json_t *accesses = pto_json_read_array(r->reader, object, "accesses", 4096);
  for (size_t k = 0; k < json_array_size(accesses) && !r->reader->status; k++) {
    pto_json_read_at(r->reader, "tasks[%zu].accesses[%zu]", i, k);
    read_access(r, pto_json_read_item(r->reader, accesses, k), i, (uint32_t)k);
  }
  json_t *spans = pto_json_read_array(r->reader, object, "spans", 3 * (size_t)PTO_CAPTURE_MAX_BLOCKS);
  for (size_t k = 0; k < json_array_size(spans) && !r->reader->status; k++) {
    pto_json_read_at(r->reader, "tasks[%zu].spans[%zu]", i, k);
    read_span(r, pto_json_read_item(r->reader, spans, k), id, r->capture->span_count);
  }
}

static void read_edge(struct reading *r, json_t *edges, size_t i) {
  const struct pto_capture_place place = {"edges", 0, i};
  json_t *sources, *source;
  size_t k;
  pto_json_read_at(r->reader, "edges[%zu]", i);
  json_t *object = pto_json_read_item(r->reader, edges, i);
  const uint64_t from = pto_json_read_u64(r->reader, object, "from", PTO_CAPTURE_MAX_TASKS);
  const uint64_t to = pto_json_read_u64(r->reader, object, "to", PTO_CAPTURE_MAX_TASKS);
  if (!r->reader->status && (from >= to || to >= r->capture->task_count))
    pto_json_read_refuse(r->reader, "from %" PRIu64 " to %" PRIu64 " of %zu tasks", from, to, r->capture->task_count);
  sources = pto_json_read_array(r->reader, object, "sources", PTO_ARRAY_LENGTH(source_names));
  if (r->reader->status) return;
  struct pto_capture_edge *edge =
      pto_capture_add_edge(r->capture, r->capture->tasks[from].id, r->capture->tasks[to].id, &place);
  if (!edge) {
    no_memory(r);
    return;
  }
  json_array_foreach(sources, k, source) {
    const char *name = json_string_value(source);
    size_t bit = 0;
    while (bit < PTO_ARRAY_LENGTH(source_names) && (!name || strcmp(source_names[bit], name) != 0)) bit++;
    if (bit == PTO_ARRAY_LENGTH(source_names))
      pto_json_read_refuse(r->reader, "\"sources\"[%zu] is none of explicit, creator, tensormap", k);
    else
      edge->sources |= 1u << bit;
  }
}

static void read_head(struct reading *r, json_t *root) {
  struct pto_capture *c = r->capture;
  json_t *item;
  size_t i;
  if (strcmp(pto_json_read_string(r->reader, root, "format"), PTO_CAPTURE_FORMAT) != 0)
    pto_json_read_refuse(r->reader, "\"format\" is not \"" PTO_CAPTURE_FORMAT "\"");
  const uint64_t version = pto_json_read_u64(r->reader, root, "version", UINT32_MAX);
  if (!r->reader->status && version != PTO_CAPTURE_VERSION)
    pto_json_read_refuse(r->reader, "version %" PRIu64 ", and %u was expected", version, PTO_CAPTURE_VERSION);
  c->clock_hz = pto_json_read_u64(r->reader, root, "clock_hz", UINT64_C(1000000000000));
  c->has_edges = pto_json_read_bool(r->reader, root, "has_edges");
  json_t *cores = pto_json_read_array(r->reader, root, "cores", PTO_CAPTURE_MAX_CORES);
  if (r->reader->status) return;
  json_array_foreach(cores, i, item) {
    const char *name = json_is_string(item) ? json_string_value(item) : "";
    const uint32_t kind = strcmp(name, "aic") == 0 ? PTO_AIC : strcmp(name, "aiv") == 0 ? PTO_AIV : 0;
    if (!kind && !json_is_null(item))
      pto_json_read_refuse(r->reader, "\"cores\"[%zu] is none of \"aic\", \"aiv\", null", i);
    if (!pto_capture_set_core(c, (uint32_t)i, kind)) no_memory(r);
  }
}

static void read_buffers(struct reading *r, json_t *root) {
  struct pto_capture *c = r->capture;
  json_t *buffers = pto_json_read_array(r->reader, root, "buffers", UINT32_MAX);
  for (size_t i = 0; i < json_array_size(buffers) && !r->reader->status; i++) {
    struct pto_capture_buffer *buffer =
        pto_grow(&c->buffers, &c->buffer_count, &c->buffer_capacity, sizeof *c->buffers);
    pto_json_read_at(r->reader, "buffers[%zu]", i);
    json_t *object = pto_json_read_item(r->reader, buffers, i);
    if (!buffer) {
      no_memory(r);
      return;
    }
    buffer->size_bytes = pto_json_read_u64(r->reader, object, "bytes", PTO_CAPTURE_MAX_BUFFER_BYTES);
    buffer->creator = PTO_CAPTURE_NONE;
    if (pto_json_has(object, "creator"))
      buffer->creator = pto_json_read_u64(r->reader, object, "creator", PTO_CAPTURE_MAX_TASKS);
  }
}

static void check_creators(struct reading *r) {
  struct pto_capture *c = r->capture;
  for (size_t i = 0; i < c->buffer_count; i++) {
    pto_json_read_at(r->reader, "buffers[%zu]", i);
    if (c->buffers[i].creator != PTO_CAPTURE_NONE && c->buffers[i].creator >= c->task_count)
      pto_json_read_refuse(r->reader, "\"creator\" is task %" PRIu64 " of %zu", c->buffers[i].creator, c->task_count);
  }
}

int pto_capture_read(const char *path, struct pto_capture *capture, struct pto_error *error) {
  struct pto_json_reader reader;
  struct reading r = {capture, &reader};
  memset(capture, 0, sizeof *capture);
  json_t *root = pto_json_read_file(&reader, path, PTO_CAPTURE_MAX_BYTES, error);
  if (!root) return reader.status;
  if (!(capture->files[0].path = strdup(path))) no_memory(&r);
  capture->file_count = 1;
  read_head(&r, root);
  read_buffers(&r, root);
  pto_json_read_at(&reader, "%s", "");
  json_t *tasks = pto_json_read_array(&reader, root, "tasks", PTO_CAPTURE_MAX_TASKS);
  json_t *edges = pto_json_read_array(&reader, root, "edges", PTO_CAPTURE_MAX_TASKS * 16);
  for (size_t i = 0; i < json_array_size(tasks) && !reader.status; i++) read_task(&r, tasks, i);
  for (size_t i = 0; i < json_array_size(edges) && !reader.status; i++) read_edge(&r, edges, i);
  check_creators(&r);
  json_decref(root);
  return reader.status ? reader.status : pto_capture_settle(capture, error);
}
