/* SPDX-License-Identifier: MIT */
/*
 * An execution trace for MLCommons' Chakra and what reads it, such as ASTRA-sim: protobuf messages, each with its
 * length before it, GlobalMetadata and then Nodes.  tests/cli/chakra.proto has the fields in use.  One run is one rank;
 * of a world each rank has a file, whose name is the rank's number before the ending, as readers want it.
 *
 * A node is a task, whose id is its number, or a transfer between host and device, whose ids follow.  Nodes come in the
 * order of submission, so that each depends on earlier ones alone.
 *
 *   data_deps   of a task: every edge that the runtime derived, whatever its reason, because readers go by these alone;
 *               and the transfers that brought what it reads.  Of a transfer to the device: the tasks that used the
 *               bytes before, of one to the host: those that wrote them.
 *   ctrl_deps   the transfer before, which the orchestration waited for
 *
 * The task of a collective is a COMM_COLL_NODE, with comm_type, comm_size (bytes of the larger tensor) and pg_name:
 * which communicator of the rank it is, where that is not of all ranks.  A group that is no collective has no name in
 * this format, and stays a COMP_NODE.
 *
 * Nodes have whole microseconds; the attributes start_ns and duration_ns tell more.  A task lasts from the begin of its
 * first call to the end of its last.  tensor_size is what its tensors have in bytes, read and written ones twice.
 * num_ops, in virtual time, is what calls of its kernels cost in the mean of the run, as single calls are not recorded.
 *
 * Owns, for the length of a call, the bytes of transfers and the tasks that use them.
 */
#include <report/export/trace_events.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <formats/protobuf_writer.h>
#include <kernels/collective/collective.h>
#include <report/run/group_call.h>
#include <report/run/roofline.h>
#include <runtime/base/grow.h>
#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>

/* Numbers of fields, by message. */
enum { METADATA_VERSION = 1, METADATA_ATTRIBUTE = 2 };
enum {
  NODE_ID = 1,
  NODE_NAME = 2,
  NODE_TYPE = 3,
  NODE_CTRL_DEPS = 4,
  NODE_DATA_DEPS = 5,
  NODE_START = 6,
  NODE_DURATION = 7,
  NODE_ATTRIBUTE = 10
};
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INT64 = 9, ATTRIBUTE_UINT64 = 13, ATTRIBUTE_BOOL = 27, ATTRIBUTE_STRING = 29 };
enum node_type { METADATA_NODE = 1, MEM_LOAD_NODE = 2, MEM_STORE_NODE = 3, COMP_NODE = 4, COMM_COLL_NODE = 7 };
/* Of the attribute comm_type. */
enum comm_type { ALL_REDUCE = 0, ALL_GATHER = 2, BROADCAST = 5, ALL_TO_ALL = 6, REDUCE_SCATTER = 7, BARRIER = 9 };

#define VERSION "1.0.0"
#define NONE UINT32_MAX

/* Bytes that transfers move, and who has used them since they were last brought. */
struct moved_bytes {
  uint64_t begin, end;
  uint32_t last_use;  /* of a list; NONE: there is none */
  uint32_t last_load; /* the node that last brought them; NONE: none has */
  uint32_t told_to;   /* the task that last got this as a dependency; NONE: none has */
};
struct use {
  uint32_t node, before; /* before: an earlier use of the same bytes */
  bool is_write;
};

struct chakra {
  struct pto_protobuf_writer out;
  const struct pto_trace *trace;
  const struct pto_trace_events *events;
  struct moved_bytes *moved; /* in order; no two share a byte */
  size_t moved_count, moved_capacity;
  struct use *uses;
  size_t use_count, use_capacity;
  uint64_t next_remote;               /* the same: of groups */
  uint64_t next_control, next_access; /* the records to look at next */
  uint32_t last_move;                 /* a node; NONE: none yet */
  uint32_t next_move;                 /* the node that the next transfer is */
  uint64_t nanosecond;                /* in the trace's unit */
  bool is_out_of_memory;
};

/* ---- the bytes of transfers ---- */

static bool is_move(const struct pto_trace_host_access *access) { return access->is_move; }

static int order_of_bytes(const void *left, const void *right) {
  const struct moved_bytes *a = left, *b = right;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Those of all transfers; what overlaps is one. */
static bool find_moved(struct chakra *c) {
  for (uint64_t i = 0; i < c->trace->host_accesses.count; i++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&c->trace->host_accesses, i);
    if (!is_move(access)) continue;
    struct moved_bytes *fresh = pto_grow(&c->moved, &c->moved_count, &c->moved_capacity, sizeof *fresh);
    if (!fresh) return false;
    *fresh = (struct moved_bytes){access->begin, access->end, NONE, NONE, NONE};
  }
  if (c->moved_count == 0) return true;
  qsort(c->moved, c->moved_count, sizeof *c->moved, order_of_bytes);
  size_t last = 0;
  for (size_t i = 1; i < c->moved_count; i++)
    if (c->moved[i].begin < c->moved[last].end)
      c->moved[last].end = pto_max_u64(c->moved[last].end, c->moved[i].end);
    else
      c->moved[++last] = c->moved[i];
  c->moved_count = last + 1;
  return true;
}

/* The first that ends behind `begin`; moved_count where none does. */
static size_t find_bytes(const struct chakra *c, uint64_t begin) {
  size_t low = 0, high = c->moved_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (c->moved[middle].end <= begin)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ---- nodes ---- */

static void begin_attribute(struct chakra *c, const char *name) {
  pto_protobuf_begin(&c->out, NODE_ATTRIBUTE);
  pto_protobuf_put_text(&c->out, ATTRIBUTE_NAME, name);
}

static void put_number(struct chakra *c, const char *name, uint32_t field, uint64_t value) {
  begin_attribute(c, name);
  pto_protobuf_put_u64(&c->out, field, value);
  pto_protobuf_end(&c->out);
}

static void put_text(struct chakra *c, const char *name, const char *text) {
  begin_attribute(c, name);
  pto_protobuf_put_text(&c->out, ATTRIBUTE_STRING, text);
  pto_protobuf_end(&c->out);
}

static void begin_node(struct chakra *c, uint64_t id, const char *name, enum node_type type) {
  pto_protobuf_begin_delimited(&c->out);
  pto_protobuf_put_u64(&c->out, NODE_ID, id);
  pto_protobuf_put_text(&c->out, NODE_NAME, name);
  pto_protobuf_put_u64(&c->out, NODE_TYPE, type);
  if (c->last_move != NONE) {
    pto_protobuf_begin(&c->out, NODE_CTRL_DEPS);
    pto_protobuf_put_packed(&c->out, c->last_move);
    pto_protobuf_end(&c->out);
  }
}

/* Ends what begin_node began. */
static void end_node(struct chakra *c, uint64_t begin, uint64_t end) {
  const uint64_t begin_ns = begin / c->nanosecond, end_ns = end / c->nanosecond;
  pto_protobuf_put_u64(&c->out, NODE_START, begin_ns / 1000);
  pto_protobuf_put_u64(&c->out, NODE_DURATION, (end_ns - begin_ns + 500) / 1000);
  put_number(c, "is_cpu_op", ATTRIBUTE_BOOL, false);
  put_number(c, "start_ns", ATTRIBUTE_INT64, begin_ns);
  put_number(c, "duration_ns", ATTRIBUTE_INT64, end_ns - begin_ns);
  pto_protobuf_end(&c->out);
}

/* ---- transfers ---- */

/* The bytes of a transfer that is on record as this one; NULL where none is. */
static const struct pto_trace_host_access *find_access(struct chakra *c, const struct pto_trace_control *control) {
  const bool is_write = control->activity != PTO_CONTROL_TO_HOST;
  for (uint64_t i = c->next_access; i < c->trace->host_accesses.count; i++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&c->trace->host_accesses, i);
    if ((uint32_t)access->task_count > control->task) break;
    if (!is_move(access) || (bool)access->is_write != is_write || (uint32_t)access->task_count != control->task ||
        access->end - access->begin != control->moved_bytes)
      continue;
    c->next_access = i + 1;
    return access;
  }
  return NULL;
}

/* Once a node: readers take a dependency that is told twice for two. */
static void add_use(struct chakra *c, struct moved_bytes *bytes, uint32_t node, bool is_write) {
  if (bytes->last_use != NONE && c->uses[bytes->last_use].node == node) {
    c->uses[bytes->last_use].is_write |= is_write;
    return;
  }
  struct use *use = pto_grow(&c->uses, &c->use_count, &c->use_capacity, sizeof *use);
  if (!use) {
    c->is_out_of_memory = true;
    return;
  }
  *use = (struct use){.node = node, .before = bytes->last_use, .is_write = is_write};
  bytes->last_use = (uint32_t)c->use_count - 1;
}

/* Those that it waited for.  It stands for them after that. */
static void put_waited_for(struct chakra *c, const struct pto_trace_host_access *access) {
  struct moved_bytes *bytes = &c->moved[find_bytes(c, access->begin)];
  uint32_t *link = &bytes->last_use;
  pto_protobuf_begin(&c->out, NODE_DATA_DEPS);
  for (uint32_t i = *link; i != NONE; i = c->uses[i].before)
    if (access->is_write || c->uses[i].is_write) {
      pto_protobuf_put_packed(&c->out, c->uses[i].node);
      *link = c->uses[i].before;
    } else {
      link = &c->uses[i].before;
    }
  pto_protobuf_end(&c->out);
  if (access->is_write)
    bytes->last_load = c->next_move;
  else
    add_use(c, bytes, c->next_move, true);
}

static void put_move(struct chakra *c, const struct pto_trace_control *control) {
  const enum node_type type = control->activity == PTO_CONTROL_TO_HOST     ? MEM_STORE_NODE
                              : control->activity == PTO_CONTROL_TO_DEVICE ? MEM_LOAD_NODE
                                                                           : COMP_NODE;
  const struct pto_trace_host_access *access = find_access(c, control);
  begin_node(c, c->next_move, pto_activity_text(pto_control_activity(control)), type);
  if (access) put_waited_for(c, access);
  put_number(c, "tensor_size", ATTRIBUTE_UINT64, control->moved_bytes);
  end_node(c, control->begin, control->end);
  c->last_move = c->next_move++;
}

/* Those that came before this task, or all. */
static void put_moves(struct chakra *c, uint64_t task) {
  for (; c->next_control < c->trace->control.count; c->next_control++) {
    const struct pto_trace_control *control = pto_trace_log_at(&c->trace->control, c->next_control);
    if (!control->moved_bytes) continue;
    if (control->task > task) break;
    put_move(c, control);
  }
}

/* ---- tasks ---- */

/* Notes what the task uses of the bytes that are moved, and puts the transfers that brought what it reads. */
static void put_loads(struct chakra *c, const struct pto_trace_task *task, const struct pto_trace_param *param) {
  struct pto_region region;
  const bool is_read = param->mode & PTO_INPUT, is_write = param->mode & PTO_OUTPUT;
  pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
  for (size_t i = find_bytes(c, region.start); i < c->moved_count && c->moved[i].begin < region.end; i++) {
    struct moved_bytes *bytes = &c->moved[i];
    if (is_read && bytes->last_load != NONE && bytes->told_to != task->number) {
      pto_protobuf_put_packed(&c->out, bytes->last_load);
      bytes->told_to = (uint32_t)task->number;
    }
    add_use(c, bytes, (uint32_t)task->number, is_write);
  }
}

static const struct pto_trace_param *param_at(const struct chakra *c, const struct pto_trace_task *task, uint32_t i) {
  return task->first_param + i < c->trace->params.count ? pto_trace_log_at(&c->trace->params, task->first_param + i)
                                                        : NULL;
}

static void put_data_deps(struct chakra *c, const struct pto_trace_task *task) {
  const struct pto_trace_param *param;
  pto_protobuf_begin(&c->out, NODE_DATA_DEPS);
  for (uint64_t i = task->first_edge; i < task->first_edge + task->edge_count && i < c->trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&c->trace->edges, i);
    if (edge->is_first) pto_protobuf_put_packed(&c->out, edge->producer);
  }
  if (c->moved_count)
    for (uint32_t i = 0; i < task->param_count && (param = param_at(c, task, i)) != NULL; i++)
      if (!pto_tensor_is_empty(&param->tensor)) put_loads(c, task, param);
  pto_protobuf_end(&c->out);
}

static uint64_t bytes_of(const struct chakra *c, const struct pto_trace_task *task) {
  const struct pto_trace_param *param;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < task->param_count && (param = param_at(c, task, i)) != NULL; i++) {
    uint64_t elems = 1;
    for (uint32_t d = 0; d < param->tensor.ndims; d++) elems *= param->tensor.shape[d];
    const uint32_t times = ((param->mode & PTO_INPUT) != 0) + ((param->mode & PTO_OUTPUT) != 0);
    bytes += times * ((elems * pto_dtype_bits(param->tensor.dtype) + 7) / 8);
  }
  return bytes;
}

/* Operations of all its calls; false where calls' costs were not recorded. */
static bool find_operations(const struct chakra *c, const struct pto_trace_task *task, uint64_t *operations_out) {
  *operations_out = 0;
  for (uint32_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++) {
    struct pto_roofline all = {0};
    uint64_t calls = 0;
    for (uint64_t i = 0; task->kernels[role] && i < c->trace->costs.count; i++) {
      const struct pto_trace_cost *cost = pto_trace_log_at(&c->trace->costs, i);
      if (cost->kernel != task->kernels[role] || cost->core_kind != (role == 0 ? PTO_AIC : PTO_AIV)) continue;
      pto_roofline_add(&all, cost, &c->trace->rates);
      calls += cost->calls;
    }
    if (calls) *operations_out += all.operations / calls * task->block_count;
  }
  return c->trace->costs.count != 0;
}

/* The record of the task's group; NULL: it is of none.  Groups stand in the order of their tasks. */
static const struct pto_trace_remote *find_group(struct chakra *c, uint64_t task) {
  for (; c->next_remote < c->trace->remotes.count; c->next_remote++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&c->trace->remotes, c->next_remote);
    if (remote->kind == PTO_REMOTE_GROUP && remote->task >= task) return remote->task == task ? remote : NULL;
  }
  return NULL;
}

/* Which communicator of the rank, in the order in which it made them. */
static uint64_t comm_number(const struct chakra *c, uint64_t comm) {
  uint64_t number = 0;
  for (uint64_t i = 0; i < c->trace->remotes.count; i++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&c->trace->remotes, i);
    if (remote->kind != PTO_REMOTE_MAKE) continue;
    if (remote->comm == comm) break;
    number++;
  }
  return number;
}

static void put_collective(struct chakra *c, const struct pto_trace_remote *group, const struct pto_group_call *call) {
  static const enum comm_type types[PTO_COLLECTIVE_COUNT] = {[PTO_COLLECTIVE_REDUCE_SCATTER] = REDUCE_SCATTER,
                                                             [PTO_COLLECTIVE_ALL_GATHER] = ALL_GATHER,
                                                             [PTO_COLLECTIVE_BROADCAST] = BROADCAST,
                                                             [PTO_COLLECTIVE_ALL_TO_ALL] = ALL_TO_ALL,
                                                             [PTO_COLLECTIVE_BARRIER] = BARRIER};
  char number[24];
  put_number(c, "comm_type", ATTRIBUTE_INT64, types[call->collective]);
  put_number(c, "comm_size", ATTRIBUTE_INT64, call->bytes);
  if (group->peer == c->events->info->rank->count) return;
  snprintf(number, sizeof number, "%llu", (unsigned long long)comm_number(c, group->comm));
  put_text(c, "pg_name", number);
}

static void put_task(struct chakra *c, const struct pto_trace_task *task) {
  const struct pto_task_calls *calls = &c->events->calls[task->number];
  const char *group = pto_export_group(c->events->info, task->number);
  uint64_t operations;
  char name[256];
  const struct pto_trace_remote *remote = c->events->info->rank ? find_group(c, task->number) : NULL;
  const struct pto_group_call call =
      remote ? pto_group_call_of(c->trace, remote) : (struct pto_group_call){.collective = PTO_COLLECTIVE_COUNT};
  const bool is_collective = call.collective < PTO_COLLECTIVE_COUNT;
  begin_node(c, task->number, pto_trace_task_name(task, name, sizeof name),
             is_collective                   ? COMM_COLL_NODE
             : task->kind == PTO_TASK_KERNEL ? COMP_NODE
                                             : METADATA_NODE);
  put_data_deps(c, task);
  if (is_collective) {
    put_collective(c, remote, &call);
  } else if (task->kind == PTO_TASK_KERNEL) {
    put_number(c, "tensor_size", ATTRIBUTE_UINT64, bytes_of(c, task));
    if (find_operations(c, task, &operations)) put_number(c, "num_ops", ATTRIBUTE_INT64, operations);
  }
  if (group) put_text(c, "node", group);
  if (task->label) put_text(c, "label", task->label);
  end_node(c, calls->first ? calls->first->begin : task->submit_time,
           calls->last ? calls->last->end : task->submit_time);
}

/* ---- the file ---- */

static void put_metadata(struct chakra *c) {
  const struct pto_export_info *info = c->events->info;
  const char *const texts[][2] = {{"program", info->program},
                                  {"engine", info->engine},
                                  {"chip", info->chip},
                                  {"time", c->trace->is_virtual ? "virtual" : "real"}};
  pto_protobuf_begin_delimited(&c->out);
  pto_protobuf_put_text(&c->out, METADATA_VERSION, VERSION);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++) {
    pto_protobuf_begin(&c->out, METADATA_ATTRIBUTE);
    pto_protobuf_put_text(&c->out, ATTRIBUTE_NAME, texts[i][0]);
    pto_protobuf_put_text(&c->out, ATTRIBUTE_STRING, texts[i][1]);
    pto_protobuf_end(&c->out);
  }
  pto_protobuf_end(&c->out);
}

static void put_all(struct chakra *c) {
  put_metadata(c);
  for (uint64_t i = 0; i < c->trace->tasks.count; i++) {
    put_moves(c, i);
    put_task(c, pto_trace_log_at(&c->trace->tasks, i));
  }
  put_moves(c, c->trace->tasks.count);
}

static int write_chakra(const struct pto_trace_events *events, int fd) {
  struct chakra c = {.trace = events->trace,
                     .events = events,
                     .last_move = NONE,
                     .next_move = (uint32_t)events->trace->tasks.count,
                     .nanosecond = events->trace->is_virtual ? 1000 : 1};
  pto_protobuf_init(&c.out, fd);
  if (find_moved(&c))
    put_all(&c);
  else
    c.is_out_of_memory = true;
  const int failure = pto_protobuf_finish(&c.out);
  free(c.moved);
  free(c.uses);
  return failure ? failure : c.is_out_of_memory ? ENOMEM : 0;
}

const struct pto_trace_format pto_trace_chakra = {".et", write_chakra, NULL, NULL};
