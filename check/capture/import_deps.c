/* SPDX-License-Identifier: MIT */
/*
 * deps.json, in three forms: pairs of ids ("version" 1); tasks, tensors and edges with shapes and offsets ("version"
 * 2); the same with strides, without a version, since 27 May 2026.
 *
 * A tensor's id is made of address and version, and memory comes again: a buffer is an address and the task that it got
 * its memory from.  That task is the one of the creator edge, else the last one before that is known to have made
 * memory there; without any it is memory of the caller.  Outputs have no tensor: a task writes what creator edges lead
 * from.
 */
#include <check/capture/import.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/grow.h>

#define MOST_EDGES (size_t)(PTO_CAPTURE_MAX_TASKS * 16)
#define MOST_ARGS 512u
#define MOST_DIMS 8u

struct tensor {
  uint64_t id, address;
  uint32_t dtype;
  uint64_t numel;
  uint32_t ndims; /* of raw shapes, where strides are not given */
  uint64_t shape[MOST_DIMS];
};

/* Memory that a task made: task and address. */
struct made {
  uint64_t address, creator, buffer; /* creator: index of the task, or PTO_CAPTURE_NONE */
};

/* A creator edge. */
struct creation {
  uint64_t consumer, arg, creator; /* indices but for the argument */
  uint64_t tensor;                 /* index */
};

struct deps {
  struct pto_import *import;
  struct pto_json_reader *reader;
  struct tensor *tensors;
  struct made *made;
  struct creation *creations;
  uint64_t *by_id; /* indices of tasks */
  size_t tensor_count, tensor_capacity, made_count, made_capacity, creation_count, creation_capacity;
};

static uint32_t dtype_of(struct deps *deps, const char *name) {
  static const struct {
    const char *name;
    uint32_t dtype;
  } names[] = {{"FLOAT32", PTO_FLOAT32},
               {"FLOAT16", PTO_FLOAT16},
               {"BFLOAT16", PTO_BFLOAT16},
               {"INT8", PTO_INT8},
               {"INT16", PTO_INT16},
               {"INT32", PTO_INT32},
               {"INT64", PTO_INT64},
               {"UINT8", PTO_UINT8},
               {"UINT16", PTO_UINT16},
               {"UINT32", PTO_UINT32},
               {"UINT64", PTO_UINT64},
               {"BOOL", PTO_BOOL},
               {"FP8E4M3FN", PTO_FLOAT8_E4M3FN},
               {"FP8E8M0", PTO_FLOAT8_E8M0FNU},
               {"FP4E2M1", PTO_UINT8}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++)
    if (strcmp(names[i].name, name) == 0) return names[i].dtype;
  pto_json_read_refuse(deps->reader, "there is no dtype \"%.40s\"", name);
  return PTO_UINT8;
}

/* ---- tasks ---- */

static void read_task(struct deps *deps, json_t *tasks, size_t i) {
  struct pto_json_reader *reader = deps->reader;
  const struct pto_capture_place place = {"tasks", deps->import->file, i};
  uint64_t ids[3];
  pto_json_read_at(reader, "tasks[%zu]", i);
  json_t *object = pto_json_read_item(reader, tasks, i);
  const uint64_t id = pto_import_id(reader, object, "task_id");
  if (reader->status) return;
  struct pto_capture_task *task = pto_capture_add_task(deps->import->capture, id, &place);
  if (!task) {
    pto_import_no_memory(reader);
    return;
  }
  if (pto_json_has(object, "scope")) {
    const char *scope = pto_json_read_string(reader, object, "scope");
    task->is_manual = strcmp(scope, "manual") == 0;
    if (!task->is_manual && strcmp(scope, "auto") != 0)
      pto_json_read_refuse(reader, "\"scope\" is \"%.40s\", and \"auto\" or \"manual\" was expected", scope);
  }
  if (pto_json_has(object, "block_num"))
    task->block_count = (uint32_t)pto_json_read_u64(reader, object, "block_num", PTO_CAPTURE_MAX_BLOCKS);
  if (!pto_json_has(object, "kernel_ids")) return;
  json_t *kernels = pto_json_read_array(reader, object, "kernel_ids", PTO_ARRAY_LENGTH(ids));
  if (!reader->status && json_array_size(kernels) != 3) pto_json_read_refuse(reader, "\"kernel_ids\": 3 were expected");
  task->has_kernels = true;
  for (size_t role = 0; role < 3 && !reader->status; role++) {
    json_t *kernel = json_array_get(kernels, role);
    if (!json_is_integer(kernel) || json_integer_value(kernel) < -1 || json_integer_value(kernel) > INT32_MAX)
      pto_json_read_refuse(reader, "\"kernel_ids\"[%zu]: -1 or the number of a function was expected", role);
    else
      task->kernels[role] = json_integer_value(kernel);
  }
  if (pto_capture_role_count(task) == 0) task->kind = PTO_CAPTURE_EMPTY;
  /* A lone kernel of the second AIV runs as the first. */
  if (task->kernels[1] < 0 && task->kernels[0] < 0) {
    task->kernels[1] = task->kernels[2];
    task->kernels[2] = -1;
  }
}

static int order_by_id(const void *left, const void *right, void *context) {
  const struct pto_capture_task *tasks = context;
  const uint64_t a = tasks[*(const uint64_t *)left].id, b = tasks[*(const uint64_t *)right].id;
  return (a > b) - (a < b);
}

static void index_tasks(struct deps *deps) {
  struct pto_capture *c = deps->import->capture;
  free(deps->by_id);
  deps->by_id = calloc(c->task_count + 1, sizeof *deps->by_id);
  if (!deps->by_id) pto_import_no_memory(deps->reader);
  for (uint64_t i = 0; i < c->task_count && deps->by_id; i++) deps->by_id[i] = i;
  if (deps->by_id && c->task_count) qsort_r(deps->by_id, c->task_count, sizeof *deps->by_id, order_by_id, c->tasks);
}

/* An index, or PTO_CAPTURE_NONE. */
static uint64_t find_task(const struct deps *deps, uint64_t id) {
  const struct pto_capture *c = deps->import->capture;
  uint64_t low = 0, high = c->task_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (c->tasks[deps->by_id[middle]].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < c->task_count && c->tasks[deps->by_id[low]].id == id ? deps->by_id[low] : PTO_CAPTURE_NONE;
}

/* ---- edges ---- */

static bool is_ordering(json_t *object) {
  json_t *flags = json_object_get(object, "flags"), *flag;
  size_t i;
  if (!json_is_array(flags)) return true; /* before August 2026 all were */
  json_array_foreach(flags, i, flag)
    if (json_is_string(flag) && strcmp(json_string_value(flag), "wait") == 0) return true;
  return false;
}

static uint32_t source_of(struct deps *deps, json_t *object) {
  const char *name = pto_json_read_string(deps->reader, object, "source");
  const uint32_t source = strcmp(name, "explicit") == 0    ? PTO_CAPTURE_EXPLICIT
                          : strcmp(name, "creator") == 0   ? PTO_CAPTURE_CREATOR
                          : strcmp(name, "tensormap") == 0 ? PTO_CAPTURE_TENSORMAP
                                                           : 0;
  if (!source)
    pto_json_read_refuse(deps->reader, "\"source\" is \"%.40s\", and explicit, creator or tensormap was expected",
                         name);
  return source;
}

static void read_edge(struct deps *deps, json_t *edges, size_t i) {
  struct pto_json_reader *reader = deps->reader;
  const struct pto_capture_place place = {"edges", deps->import->file, i};
  json_t *item = json_array_get(edges, i);
  uint64_t from = 0, to = 0;
  uint32_t source = 0;
  pto_json_read_at(reader, "edges[%zu]", i);
  if (json_is_array(item)) {
    if (json_array_size(item) != 2 || !pto_import_value_id(json_array_get(item, 0), &from) ||
        !pto_import_value_id(json_array_get(item, 1), &to))
      pto_json_read_refuse(reader, "two ids of tasks were expected");
  } else {
    json_t *object = pto_json_read_item(reader, edges, i);
    from = pto_import_id(reader, object, "pred");
    to = pto_import_id(reader, object, "succ");
    if (!reader->status && json_object_get(object, "source")) source = source_of(deps, object);
    if (!is_ordering(object)) return;
  }
  if (reader->status) return;
  struct pto_capture_edge *edge = pto_capture_add_edge(deps->import->capture, from, to, &place);
  if (edge)
    edge->sources = source;
  else
    pto_import_no_memory(reader);
}

/* ---- tasks that only edges name: allocations, each in front of its first user ---- */

struct missing {
  uint64_t id, before; /* the first user's index */
  uint64_t edge;
};

static int order_missing(const void *left, const void *right) {
  const struct missing *a = left, *b = right;
  if (a->id != b->id) return a->id < b->id ? -1 : 1;
  return a->before == b->before ? 0 : a->before < b->before ? -1 : 1;
}

static int order_places(const void *left, const void *right) {
  const struct missing *a = left, *b = right;
  if (a->before != b->before) return a->before < b->before ? -1 : 1;
  return a->id == b->id ? 0 : a->id < b->id ? -1 : 1;
}

/* `list` becomes one entry an id, in order of where each goes; `has_tasks`: those there are listed what they run. */
static size_t find_missing(struct deps *deps, struct missing *list) {
  const struct pto_capture *c = deps->import->capture;
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < c->edge_count; i++) {
    const uint64_t ends[] = {c->edges[i].from, c->edges[i].to};
    const uint64_t before = find_task(deps, ends[1]);
    for (int end = 0; end < 2; end++)
      if (find_task(deps, ends[end]) == PTO_CAPTURE_NONE) list[count++] = (struct missing){ends[end], before, i};
  }
  if (count) qsort(list, count, sizeof *list, order_missing);
  for (size_t i = 0; i < count; i++)
    if (!kept || list[kept - 1].id != list[i].id) list[kept++] = list[i];
  if (kept) qsort(list, kept, sizeof *list, order_places);
  return kept;
}

static void add_missing(struct deps *deps) {
  struct pto_capture *c = deps->import->capture;
  const size_t known = c->task_count;
  struct missing *list = calloc(2 * c->edge_count + 1, sizeof *list);
  const size_t count = list ? find_missing(deps, list) : 0;
  struct pto_capture_task *sorted = calloc(known + count + 1, sizeof *sorted);
  if (!list || !sorted) pto_import_no_memory(deps->reader);
  for (size_t i = 0; i < count && !deps->reader->status; i++) {
    const struct pto_capture_place place = {"edges", deps->import->file, c->edges[list[i].edge].place.record};
    struct pto_capture_task *task = pto_capture_add_task(c, list[i].id, &place);
    if (!task) {
      pto_import_no_memory(deps->reader);
    } else if (known) {
      task->kind = PTO_CAPTURE_ALLOC;
      task->has_kernels = true;
    }
  }
  size_t at = 0;
  for (size_t i = 0, m = 0; (i < known || m < count) && !deps->reader->status;)
    sorted[at++] = m < count && (i == known || list[m].before <= i) ? c->tasks[known + m++] : c->tasks[i++];
  if (at) memcpy(c->tasks, sorted, at * sizeof *sorted);
  free(list);
  free(sorted);
  index_tasks(deps);
}

/* ---- tensors and buffers ---- */

static void read_tensor(struct deps *deps, json_t *tensors, size_t i) {
  struct pto_json_reader *reader = deps->reader;
  struct tensor *tensor = pto_grow(&deps->tensors, &deps->tensor_count, &deps->tensor_capacity, sizeof *tensor);
  pto_json_read_at(reader, "tensors[%zu]", i);
  if (!tensor) {
    pto_import_no_memory(reader);
    return;
  }
  json_t *object = pto_json_read_item(reader, tensors, i);
  tensor->id = pto_import_id(reader, object, "tensor_id");
  tensor->address = pto_import_id(reader, object, "buffer_addr");
  tensor->dtype = dtype_of(deps, pto_json_read_string(reader, object, "dtype"));
  if (!reader->status && json_object_get(object, "raw_shapes")) {
    pto_json_read_u64s(reader, object, "raw_shapes", MOST_DIMS, UINT32_MAX, tensor->shape, &tensor->ndims);
    tensor->numel = 1;
    for (uint32_t d = 0; d < tensor->ndims; d++)
      if (__builtin_mul_overflow(tensor->numel, tensor->shape[d], &tensor->numel)) tensor->numel = UINT64_MAX;
  } else {
    tensor->numel = pto_import_id(reader, object, "buffer_numel");
  }
  if (!reader->status && tensor->numel > PTO_CAPTURE_MAX_BUFFER_BYTES / 8)
    pto_json_read_refuse(reader, "a buffer of %" PRIu64 " elements is too large", tensor->numel);
}

static int order_tensors(const void *left, const void *right) {
  const struct tensor *a = left, *b = right;
  return (a->id > b->id) - (a->id < b->id);
}

static const struct tensor *find_tensor(struct deps *deps, uint64_t id) {
  const struct tensor wanted = {.id = id};
  const struct tensor *tensor =
      deps->tensor_count ? bsearch(&wanted, deps->tensors, deps->tensor_count, sizeof wanted, order_tensors) : NULL;
  if (!tensor && !deps->reader->status) pto_json_read_refuse(deps->reader, "tensor %" PRIu64 " is not there", id);
  return tensor;
}

/* What creator edges say of the arguments of their consumers. */
static void read_creation(struct deps *deps, json_t *edges, size_t i) {
  struct pto_json_reader *reader = deps->reader;
  json_t *object = json_array_get(edges, i);
  if (!json_is_object(object) || !json_object_get(object, "source")) return;
  pto_json_read_at(reader, "edges[%zu]", i);
  if (source_of(deps, object) != PTO_CAPTURE_CREATOR || !json_object_get(object, "tensor_id")) return;
  const uint64_t consumer = find_task(deps, pto_import_id(reader, object, "succ"));
  const uint64_t creator = find_task(deps, pto_import_id(reader, object, "pred"));
  const uint64_t arg = pto_json_read_u64(reader, object, "arg", MOST_ARGS);
  const struct tensor *tensor = find_tensor(deps, pto_import_id(reader, object, "tensor_id"));
  if (reader->status || consumer == PTO_CAPTURE_NONE || creator == PTO_CAPTURE_NONE) return;
  struct creation *creation =
      pto_grow(&deps->creations, &deps->creation_count, &deps->creation_capacity, sizeof *creation);
  if (creation)
    *creation = (struct creation){consumer, arg, creator, (uint64_t)(tensor - deps->tensors)};
  else
    pto_import_no_memory(reader);
}

static int order_creations(const void *left, const void *right) {
  const struct creation *a = left, *b = right;
  if (a->consumer != b->consumer) return a->consumer < b->consumer ? -1 : 1;
  return a->arg == b->arg ? 0 : a->arg < b->arg ? -1 : 1;
}

static int order_made(const void *left, const void *right) {
  const struct made *a = left, *b = right;
  if (a->address != b->address) return a->address < b->address ? -1 : 1;
  /* Memory of the caller first: index + 1 wraps. */
  return a->creator == b->creator ? 0 : a->creator + 1 < b->creator + 1 ? -1 : 1;
}

/* All (address, creator) that there are, sorted: those of creator edges, and the caller's memory at every address. */
static void list_memory(struct deps *deps) {
  for (size_t i = 0; i < deps->tensor_count + deps->creation_count && !deps->reader->status; i++) {
    struct made *made = pto_grow(&deps->made, &deps->made_count, &deps->made_capacity, sizeof *made);
    if (!made) {
      pto_import_no_memory(deps->reader);
      return;
    }
    const bool is_external = i < deps->tensor_count;
    const struct creation *creation = is_external ? NULL : &deps->creations[i - deps->tensor_count];
    made->address = deps->tensors[is_external ? i : creation->tensor].address;
    made->creator = is_external ? PTO_CAPTURE_NONE : creation->creator;
    made->buffer = PTO_CAPTURE_NONE;
  }
  size_t kept = 0;
  if (deps->made_count) qsort(deps->made, deps->made_count, sizeof *deps->made, order_made);
  for (size_t i = 0; i < deps->made_count; i++)
    if (!kept || order_made(&deps->made[kept - 1], &deps->made[i]) != 0) deps->made[kept++] = deps->made[i];
  deps->made_count = kept;
}

/* The memory of an argument. */
static struct made *find_memory(struct deps *deps, uint64_t task, uint64_t arg, uint64_t address) {
  const struct creation wanted = {.consumer = task, .arg = arg};
  const struct creation *creation =
      deps->creation_count ? bsearch(&wanted, deps->creations, deps->creation_count, sizeof wanted, order_creations)
                           : NULL;
  const uint64_t latest = creation ? creation->creator : task - 1; /* of task 0: none */
  struct made *found = NULL;
  size_t low = 0, high = deps->made_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (deps->made[middle].address < address)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < deps->made_count && deps->made[low].address == address; low++)
    if (deps->made[low].creator == PTO_CAPTURE_NONE ||
        (latest != PTO_CAPTURE_NONE && deps->made[low].creator <= latest))
      found = &deps->made[low];
  return found;
}

static struct pto_capture_buffer *buffer_of(struct deps *deps, struct made *made) {
  struct pto_capture *c = deps->import->capture;
  if (made->buffer == PTO_CAPTURE_NONE) {
    struct pto_capture_buffer *buffer =
        pto_grow(&c->buffers, &c->buffer_count, &c->buffer_capacity, sizeof *c->buffers);
    if (!buffer) return NULL;
    buffer->creator = made->creator;
    made->buffer = c->buffer_count - 1;
  }
  return &c->buffers[made->buffer];
}

/* Grows the buffer to what an access needs: the tensor may be seen as another type than it was made as. */
static void make_room(struct deps *deps, struct pto_capture_buffer *buffer, const struct tensor *tensor,
                      const struct pto_capture_access *access) {
  unsigned __int128 last = access->offset;
  bool is_empty = false;
  for (uint32_t d = 0; d < access->ndims; d++) {
    is_empty |= access->shape[d] == 0;
    if (access->shape[d]) last += (unsigned __int128)(access->shape[d] - 1) * access->strides[d];
  }
  const unsigned __int128 bytes = (last + !is_empty) * pto_dtype_size(access->dtype);
  if (bytes > PTO_CAPTURE_MAX_BUFFER_BYTES) {
    pto_json_read_refuse(deps->reader, "reaches beyond %" PRIu64 " bytes of a buffer", PTO_CAPTURE_MAX_BUFFER_BYTES);
    return;
  }
  buffer->size_bytes = pto_max_u64(buffer->size_bytes, tensor->numel * pto_dtype_size(tensor->dtype));
  buffer->size_bytes = pto_max_u64(buffer->size_bytes, (uint64_t)bytes);
}

static struct pto_capture_access *add_access(struct deps *deps, uint64_t task, uint32_t argument, uint32_t mode) {
  struct pto_capture *c = deps->import->capture;
  struct pto_capture_access *access =
      pto_grow(&c->accesses, &c->access_count, &c->access_capacity, sizeof *c->accesses);
  if (!access) {
    pto_import_no_memory(deps->reader);
    return NULL;
  }
  access->task = task;
  access->argument = argument;
  access->mode = mode;
  return access;
}

/* Offset and strides, or an offset by dimension into a tensor of raw shapes. */
static void read_view(struct deps *deps, json_t *arg, const struct tensor *tensor, struct pto_capture_access *access) {
  struct pto_json_reader *reader = deps->reader;
  uint64_t offsets[MOST_DIMS], stride = 1;
  uint32_t count = 0;
  pto_json_read_u64s(reader, arg, "shape", MOST_DIMS, UINT32_MAX, access->shape, &access->ndims);
  if (json_object_get(arg, "strides")) {
    pto_json_read_u64s(reader, arg, "strides", MOST_DIMS, PTO_CAPTURE_MAX_BUFFER_BYTES, access->strides, &count);
    access->offset = pto_import_id(reader, arg, "start_offset");
    if (access->offset > PTO_CAPTURE_MAX_BUFFER_BYTES) pto_json_read_refuse(reader, "\"start_offset\" is too large");
  } else {
    pto_json_read_u64s(reader, arg, "offset", MOST_DIMS, UINT32_MAX, offsets, &count);
    if (!reader->status && access->ndims != tensor->ndims)
      pto_json_read_refuse(reader, "%" PRIu32 " dimensions of a tensor of %" PRIu32, access->ndims, tensor->ndims);
    for (uint32_t d = access->ndims; d-- > 0 && !reader->status && d < count;) {
      access->strides[d] = stride;
      access->offset += offsets[d] * stride;
      stride *= tensor->shape[d]; /* numel is bounded */
    }
  }
  if (!reader->status && count != access->ndims)
    pto_json_read_refuse(reader, "%" PRIu32 " strides or offsets for %" PRIu32 " dimensions", count, access->ndims);
}

static void read_arg(struct deps *deps, json_t *arg, uint64_t task, size_t place) {
  struct pto_json_reader *reader = deps->reader;
  const char *type = pto_json_read_string(reader, arg, "type");
  const uint64_t index = reader->status                ? 0
                         : json_object_get(arg, "idx") ? pto_json_read_u64(reader, arg, "idx", MOST_ARGS)
                                                       : place;
  const uint32_t mode = strcmp(type, "INPUT") == 0             ? PTO_INPUT
                        : strcmp(type, "INOUT") == 0           ? PTO_INOUT
                        : strcmp(type, "OUTPUT_EXISTING") == 0 ? PTO_OUTPUT
                                                               : 0;
  if (reader->status || !mode || !json_object_get(arg, "tensor_id"))
    return; /* OUTPUT: has none; NO_DEP: orders nothing */
  const struct tensor *tensor = find_tensor(deps, pto_import_id(reader, arg, "tensor_id"));
  if (!tensor) return;
  struct made *made = find_memory(deps, task, index, tensor->address);
  struct pto_capture_access *access = add_access(deps, task, (uint32_t)index, mode);
  struct pto_capture_buffer *buffer = access ? buffer_of(deps, made) : NULL;
  if (!buffer) {
    pto_import_no_memory(reader);
    return;
  }
  access->buffer = made->buffer;
  access->dtype =
      json_object_get(arg, "dtype") ? dtype_of(deps, pto_json_read_string(reader, arg, "dtype")) : tensor->dtype;
  read_view(deps, arg, tensor, access);
  if (!reader->status) make_room(deps, buffer, tensor, access);
}

static void read_args(struct deps *deps, json_t *tasks, size_t i) {
  struct pto_json_reader *reader = deps->reader;
  json_t *object = json_array_get(tasks, i), *arg;
  size_t k;
  pto_json_read_at(reader, "tasks[%zu]", i);
  if (!pto_json_has(object, "args")) return;
  const uint64_t task = find_task(deps, pto_import_id(reader, object, "task_id"));
  json_t *args = pto_json_read_array(reader, object, "args", MOST_ARGS);
  if (reader->status || task == PTO_CAPTURE_NONE) return;
  json_array_foreach(args, k, arg) {
    pto_json_read_at(reader, "tasks[%zu].args[%zu]", i, k);
    if (!reader->status) read_arg(deps, pto_json_read_item(reader, args, k), task, k);
  }
}

/* A task writes the whole of each buffer that it made. */
static void add_outputs(struct deps *deps) {
  struct pto_capture *c = deps->import->capture;
  for (size_t i = 0; i < c->buffer_count && !deps->reader->status; i++) {
    const struct pto_capture_buffer buffer = c->buffers[i];
    if (buffer.creator == PTO_CAPTURE_NONE) continue;
    struct pto_capture_access *access = add_access(deps, buffer.creator, (uint32_t)(MOST_ARGS + i), PTO_OUTPUT);
    if (!access) return;
    access->buffer = i;
    access->dtype = PTO_UINT8;
    access->ndims = 1;
    access->shape[0] = buffer.size_bytes;
    access->strides[0] = 1;
  }
}

static void read_accesses(struct deps *deps, json_t *root, json_t *tasks, json_t *edges) {
  struct pto_json_reader *reader = deps->reader;
  pto_json_read_at(reader, "%s", "");
  json_t *tensors = pto_json_read_array(reader, root, "tensors", MOST_EDGES);
  for (size_t i = 0; i < json_array_size(tensors) && !reader->status; i++) read_tensor(deps, tensors, i);
  if (deps->tensor_count) qsort(deps->tensors, deps->tensor_count, sizeof *deps->tensors, order_tensors);
  for (size_t i = 0; i < json_array_size(edges) && !reader->status; i++) read_creation(deps, edges, i);
  if (deps->creation_count) qsort(deps->creations, deps->creation_count, sizeof *deps->creations, order_creations);
  list_memory(deps);
  for (size_t i = 0; i < json_array_size(tasks) && !reader->status; i++) read_args(deps, tasks, i);
  if (!reader->status) add_outputs(deps);
}

void pto_import_deps(struct pto_import *import, struct pto_json_reader *reader, json_t *root) {
  struct deps deps = {.import = import, .reader = reader};
  json_t *tasks = NULL;
  if (json_object_get(root, "tasks")) tasks = pto_json_read_array(reader, root, "tasks", PTO_CAPTURE_MAX_TASKS);
  json_t *edges = pto_json_read_array(reader, root, "edges", MOST_EDGES);
  for (size_t i = 0; i < json_array_size(tasks) && !reader->status; i++) read_task(&deps, tasks, i);
  index_tasks(&deps);
  for (size_t i = 0; i < json_array_size(edges) && !reader->status; i++) read_edge(&deps, edges, i);
  if (!reader->status) add_missing(&deps);
  if (!reader->status && pto_json_has(root, "tensors")) read_accesses(&deps, root, tasks, edges);
  free(deps.tensors);
  free(deps.made);
  free(deps.creations);
  free(deps.by_id);
}
